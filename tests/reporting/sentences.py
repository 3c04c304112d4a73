"""Each sentence of the cards of a page, held against the numbers of the page's own table."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from judgestats.reporting.page_data import PageData
from judgestats.reporting.summary_parts import Card, Summary, SummaryColumn
from judgestats.schema import preferences, ratings

#: Studies with a planted truth, and in how many of them a sentence may be wrong. One in twenty is allowed: of the 100 of make
#: test-slow 3 may be, by which one in ten is noticed 99 times of 100; of the 500 of make test-full 25.
of_many_studies = pytest.mark.parametrize(
    ("seeds", "most"),
    [
        pytest.param(range(1000, 1100), 3, id="100", marks=pytest.mark.slow),
        pytest.param(range(1000, 1500), 25, id="500", marks=pytest.mark.full),
    ],
)

_TERMS = {
    "right": ("accuracy", "agreement", "distance", "target_sensitivity"), "steady": ("consistency", "run_sd"),
    "dark": ("dark_current",), "biased": ("position_bias", "leniency"),
}  # fmt: skip
_SIDES = {
    "Prefers what is shown first": 1, "Prefers what is shown second": -1, "Prefers the first option": 1, "Avoids the first option": -1, "Scores higher than": 1,
    "Scores lower than": -1,
}  # fmt: skip
_VALUE_OF_BIAS = r"(?:^|; |largest: )([^;(]+?), ([+−]?[\d.]+)(?= points|; | \(|$)"
_TWO_SIDES = re.compile(
    r"(.+?) (prefers? (?:what is shown first|the first option)|scores? higher than .+?) by more than ([\d.]+(?: points)?), (.+?) "
    r"(?:the second|another|lower)$"
)


def contradictions(page: PageData) -> list[str]:
    """Sentences of the summary that the numbers of its table do not bear out; empty where all is well."""
    summary = page.summary
    found = [*_about_table(summary), *_about_line(page), *_about_verdict(page)]
    for card in summary.cards:
        found += [f"{card.head}: {card.claim}; {card.detail} <- {why}" for why in _about_card(card, page)]
    return found


def _interval(column: SummaryColumn, judge: str) -> tuple[float, float, float]:
    cell = column.cells.get(judge)
    if cell is None:
        return math.nan, math.nan, math.nan
    return float(cell["estimate"]), float(cell["conf_low"]), float(cell["conf_high"])


def _clusters(column: SummaryColumn) -> set[str]:
    """What the intervals of a column are clustered by."""
    found = (re.search(r"clustered by (.+?) \(G = ", str(cell["method"])) for cell in column.cells.values())
    return {m[1] for m in found if m}


def _clear(column: SummaryColumn, judge: str) -> int:
    """The side of 0 on which the interval of the table lies; 0 if on both, or if there is none."""
    _, low, high = _interval(column, judge)
    return 1 if low > 0 else -1 if high < 0 else 0


def _order(column: SummaryColumn, judges: Any) -> list[str]:
    known = [j for j in judges if math.isfinite(_interval(column, j)[0])]
    sign = 1 if column.lower_is_better else -1
    return sorted(known, key=lambda j: (round(sign * _interval(column, j)[0], 9), j))


def _about_table(summary: Summary) -> Iterator[str]:
    judges = [j for g in summary.groups for j in g.judges]
    for column in summary.columns:
        if all(column.text(j)[0] == "—" for j in judges):
            yield f"the column {column.label} is empty"
        if len(_clusters(column)) > 1:
            yield f"the judges of {column.label} are clustered by {_clusters(column)}"
    for i, group in enumerate(summary.groups):
        top = next((c for c in summary.columns if _order(c, group.judges)), None)
        if top is None:
            continue
        if list(group.judges)[: len(_order(top, group.judges))] != _order(top, group.judges):
            yield f"table {i} is not in the order of {top.label}"
        if i == 0 and top is not summary.columns[0]:
            yield f"the first table is sorted by {top.label}, which is not its first column"
        label = top.label.translate({ord("“"): "‘", ord("”"): "’"})
        if i == 0 and "Sorted by" in summary.note and label not in summary.note:
            yield f"the note does not name {top.label}: {summary.note}"


def _about_line(page: PageData) -> Iterator[str]:
    line, terms = page.summary.line, {c.term for c in page.summary.columns}
    labelled = "gold" in page.measured and page.measured["gold"].notna().any()
    if "no right answers known" in line and (labelled or {"accuracy", "agreement", "distance"} & terms):
        yield f"right answers, or people's, are in the table: {line}"
    if "as reference" in line and not {"agreement", "distance"} & terms:
        yield f"people are no reference of any column: {line}"


#: What a page says first of its data, whoever is compared.
_LEADS = ("A judge answered more than once on one", "Judges and ", "Not all was answered by all: ")


def _about_verdict(page: PageData) -> Iterator[str]:
    """The sentences at the head against the comparison of the judges, the table and the cards."""
    summary, text = page.summary, page.summary.verdict
    standings = summary.differences
    name = next((n for n in ("right", "steady", "dark") if n in standings), "")
    if not name:
        if text and not text.startswith(_LEADS):
            yield f"nobody is compared: {text}"
        return
    ranking = standings[name]
    winner = re.search(
        r"(?:Use|The (?:steadiest|least inclined to prefer) is) ([^:.]+?)(?:, for these [^:.]+)?: (?!they)", text
    )
    named = (
        re.split(r", | or | and ", found[1])
        if (found := re.search(r"(?:Use|are) ([^:.]+?)(?:, for these [^:.]+)?: they are not", text))
        else []
    )
    if winner and not winner[1].startswith("none") and winner[1] != ranking.winner:
        yield f"{ranking.winner or 'nobody'} stands out: {text}"
    if named and not {n for n in named if not n.endswith("more")} <= {ranking.best, *ranking.tied}:
        yield f"{ranking.tied} are tied with {ranking.best}: {text}"
    column = summary.columns[0]
    if re.search("[Uu]se none: the best.+(is worse|farther)", text) and not _beyond(column, ranking.best, -1):
        yield f"{ranking.best} is not below {column.reference_of(ranking.best)}: {text}"
    line = column.reference_of(ranking.best)
    used = re.search(r"Use (?!none)", text) and math.isfinite(line) and name == "right"
    if used and not _beyond(column, ranking.best, 1):
        yield f"{ranking.best} is not above {line}: {text}"
    if ("Who is right cannot be said" in text) is bool(summary.against):
        yield f"against {summary.against}: {text}"


def _beyond(column: SummaryColumn, judge: str, side: int) -> bool:
    """Whether a judge is above (1) or below (-1) the reference of a column, in the sense that is better."""
    sign = -side if column.lower_is_better else side
    estimate, *ends = _interval(column, judge)
    ends = ends if math.isfinite(ends[0]) else [estimate]  # one that is always right has no interval
    return min(sign * (end - column.reference_of(judge)) for end in ends) > 0


def _about_card(card: Card, page: PageData) -> Iterator[str]:
    if card.kind == "care":
        yield from _about_caution(card, page)
        return
    if card.kind == "people":
        yield from _about_people(card, page)
        return
    if card.kind in ("agreement", "ranking", "panel"):
        yield from _about_panel(card, page)
        return
    if card.kind == "graded":
        yield from _about_graded(card, page)
        return
    column = next((c for c in page.summary.columns if c.term in _TERMS[card.kind]), None)
    if column is None:
        yield "the table has no such column"
        return
    judges = page.summary.groups[0].judges
    for name in _clusters(column):
        if len(judges) > 1 and "; over " in card.method and f"; over {name}s" not in card.method:
            yield f"the table is clustered by {name}, and the card {card.method}"
    if card.kind == "biased":
        yield from _about_bias(card, column, [j for g in page.summary.groups for j in g.judges])
    else:
        yield from _about_best(card, column, judges, page)


def _about_graded(card: Card, page: PageData) -> Iterator[str]:
    """The mean strength and the share above one half, each from the lowest judge to the highest."""
    columns = {c.term: c for c in page.summary.columns}
    for term, text in (("strength", card.claim), ("above_half", card.detail)):
        for end in (min, max):
            value = end(_interval(columns[term], j)[0] for j in columns[term].cells)
            if f"{100 * value:.0f}" not in text:
                yield f"{term} of a judge is {value:.3f}"


def _about_best(card: Card, column: SummaryColumn, judges: Any, page: PageData) -> Iterator[str]:
    order = _order(column, judges)
    sign = -1 if column.lower_is_better else 1
    if len(order) == 1:
        if not card.claim.startswith(f"{order[0]}, {column.text(order[0])[0]}"):
            yield "not the number of the only judge"
        return
    best = order[0]
    value = _interval(column, best)[0]
    equal = [j for j in order if abs(_interval(column, j)[0] - value) < 1e-9]
    if "excludes 0" in card.detail or card.claim.startswith("None of"):
        if not card.claim.startswith("None of"):
            yield "says that no difference excludes 0 and names somebody"
        if not any(f"no difference from {j} excludes 0" in card.detail for j in equal):
            yield f"{best} has the best value"
        if any(_dominates(column, best, j, sign) for j in order[1:]) and "do not overlap" not in card.detail:
            yield f"the interval of {best} is beyond that of another"
        if any(not math.isfinite(_interval(column, j)[1]) for j in order):
            yield "a judge without an interval is called not distinguishable"
        for shown in (column.text(order[0])[0], column.text(order[-1])[0]):
            if shown.removesuffix("\u202f%") not in card.detail:
                yield f"{shown} is an end of the range"
    elif card.claim == "Cannot be said":
        said = re.match(r"(.+?) (has|have) the (?:highest|lowest), (.+?)(?:;|$)", card.detail)
        named = re.split(r", | and ", said[1])
        if not set(named) - {f"{len(equal) - 3} more"} <= set(equal) or (said[2] == "has") is not (len(equal) == 1):
            yield f"{', '.join(equal)} have the best value"
        if said[3] not in {column.text(j)[0] for j in equal}:
            yield f"the best value is {column.text(best)[0]}"
        few = re.search(r"fewer than 10 items on which .+ can be compared with (.+?)(?:;|$)", card.detail)
        if few and column.term == "accuracy" and few[1] in column.cells:
            calls = page.measured
            calls = calls[calls["gold"].notna() & (calls.get("choice", "") != "invalid")]
            calls = calls[[c for c in ("judge", "item", "first", "second") if c in calls]].astype(str)
            one, other = (calls[calls["judge"] == j].drop(columns="judge") for j in (best, few[1]))
            if one.merge(other)["item"].nunique() >= 10:
                yield "both judged ten items or more"
    elif gap := re.match(
        r"([\d.]+)(?: points?)? (?:above|closer than|below|in variance below) (.+?)(?: on what both judged)? \(",
        card.detail,
    ):
        if not any(card.claim == f"{j}, {column.text(j)[0]}" for j in equal):
            yield f"{best}, {column.text(best)[0]}, is the best"
        following = [
            j for j in order[1:] if gap[2] == j and abs(_interval(column, j)[0] - _interval(column, order[1])[0]) < 1e-9
        ]
        if not following:
            yield f"{order[1]} is the next"
        elif " on what both judged" not in card.detail and "variance" not in card.detail:
            scale, room = (100, 0.51) if column.form == "share" else (1, 0.0051)
            difference = scale * abs(value - _interval(column, gap[2])[0])
            if abs(float(gap[1]) - difference) > room:
                yield f"the difference in the table is {difference:.3f}"
        ends = [float(x) for x in re.findall(r"interval ([\d.]+) to ([\d.]+)", card.detail)[0]]
        if not 0 < ends[0] <= ends[1]:
            yield "an interval that does not exclude 0"
        if any(_dominates(column, other, best, sign) for other in order[1:]):
            yield "the interval of another judge is beyond that of the one named"
    elif "not distinguishable" in card.detail:
        if not any(f"from the best, {j};" in card.detail for j in equal):
            yield f"{best} has the best value"
        last, shown = re.search(r"the last, (.+), has (.+)$", card.detail).groups()
        if shown != column.text(last)[0] or abs(_interval(column, last)[0] - _interval(column, order[-1])[0]) > 1e-9:
            yield f"the last is {order[-1]}, {column.text(order[-1])[0]}"
        tied = re.search(r"not distinguishable from the best: (.+)$", card.method)[1].split(", ")
        if any(_dominates(column, best, j, sign) for j in tied) and "do not overlap" not in card.detail:
            yield "a judge whose interval is apart from that of the best is called not distinguishable"
    else:
        yield "a sentence of no known form"


def _dominates(column: SummaryColumn, one: str, other: str, sign: int) -> bool:
    _, low, high = _interval(column, one)
    _, low_2, high_2 = _interval(column, other)
    return low > high_2 if sign > 0 else high < low_2


def _about_bias(card: Card, column: SummaryColumn, judges: Any) -> Iterator[str]:
    known = [j for j in judges if j in column.cells]
    alone = [j for j in known if _clear(column, j)]
    of_some = "of pairs shown in both orders" in card.detail  # the table is of all calls
    named = [(m[1], float(m[2].replace("−", "-"))) for m in re.finditer(_VALUE_OF_BIAS, f"{card.claim}; {card.detail}")]
    for name, value in named if not of_some else ():
        if name not in column.cells:
            continue
        estimate = _interval(column, name)[0] * (100 if column.form == "points" else 1)
        if abs(estimate - value) > (0.51 if column.form == "points" else 0.0051):
            yield f"the table has {column.text(name)[0]} for {name}"
    for words, names in re.findall(r"(?:^|; )(by more than [^:;]+?, too|clear of 0[^:;]*): ([^;]+)", card.detail):
        there = next((s for w, s in _SIDES.items() if card.head.startswith(w)), 0) if "too" in words else 0
        for other in re.split(r", | and ", names):
            if other in column.cells and there and _clear(column, other) == -there:
                yield f"{other} is on the other side: {column.text(other)}"
            straddles = other in column.cells and _interval(column, other)[1] <= 0 <= _interval(column, other)[2]
            if straddles and not of_some:
                yield f"the interval of {other} in the table contains 0"
    if side := next((s for words, s in _SIDES.items() if card.head.startswith(words)), 0):
        name = card.claim.rpartition(", ")[0]
        if np.sign(_interval(column, name)[0]) != side or _clear(column, name) == -side:
            yield f"the table has {column.text(name)} for {name}"
        return
    if counted := _TWO_SIDES.match(card.claim):
        scale = 100 if "points" in counted[3] else 1
        size = float(re.match(r"[\d.]+", counted[3])[0]) / scale
        for who, side in ((counted[1], 1), (counted[4], -1)):
            beyond = [j for j in known if side * _interval(column, j)[0] > size]
            if (int(who) if who.isdigit() else 1) > len(beyond) or not (who.isdigit() or who in beyond):
                yield f"{beyond} are beyond {size} in the table"
        return
    if card.claim.startswith("None shown to be"):
        if not alone:
            yield "no interval in the table excludes 0"
        return
    none = card.claim.startswith(("No ", "None shown to differ"))
    if none and alone:
        yield f"the interval of {alone[0]} in the table excludes 0: {column.text(alone[0])}"
    if none and any(not math.isfinite(_interval(column, j)[1]) for j in known):
        yield "not all judges have an interval"
    if card.claim.startswith("None that holds") and not alone:
        yield "no interval in the table excludes 0"
    if alone and not any(j in card.detail for j in alone) and " more alone exclude 0" not in card.detail:
        yield f"the interval of {alone[0]} in the table excludes 0, and it is not named"
    if "alone exclude" in card.detail and not alone:
        yield "no interval in the table excludes 0"
    if not (none or card.claim.startswith(("None that holds", "Cannot be said"))):
        yield "a sentence of no known form"


def _about_panel(card: Card, page: PageData) -> Iterator[str]:
    """Agreement, ranking and independence of the judges, by the measures themselves."""
    taken = page.estimates.taken
    if card.kind == "agreement" and card.claim == "Cannot be said":
        if (taken["alpha"]["n"] >= 10).any():
            yield "two answered ten things or more"
    elif card.kind == "agreement":
        alphas = taken["alpha"]["estimate"]
        ends = [float(x.replace("−", "-")) for x in re.findall(r"[−\d.]+", card.claim)[:2]]
        expected = [alphas.min(), alphas.max()][-len(ends) :]
        if any(abs(a - b) > 0.0051 for a, b in zip(ends, expected, strict=True)):
            yield f"alpha goes from {alphas.min()} to {alphas.max()}"
    elif card.kind == "ranking":
        ranks = taken["rank_systems"].query("term == 'rank'")
        leading = set(ranks.loc[ranks["conf_low"] == 1, "system"])
        if not card.claim.startswith("Cannot") and not any(s in card.claim for s in leading):
            yield f"{leading} may be first"
    elif worth := re.match(r"(\d+) judges are worth ([\d.]+) independent", card.claim):
        row = taken["effective_judges"].query("term == 'effective_judges'").iloc[0]
        if row["judges"] != int(worth[1]) or abs(row["estimate"] - float(worth[2])) > 0.051:
            yield f"{row['judges']} judges are worth {row['estimate']}"
        if row["conf_high"] > row["judges"] / 2:
            yield f"the interval goes to {row['conf_high']}"
    elif "near copies" not in card.claim:
        yield "a sentence of no known form"


def _about_people(card: Card, page: PageData) -> Iterator[str]:
    """What people have in common, by the measure itself."""
    rows = page.estimates.taken["judge_against_people"]
    if isinstance(rows, str) or not (found := re.search(r"([−0-9.]+)(\u202f%)?$", card.claim)):
        yield "there is no agreement of people"
        return
    term = "agreement" if found[2] else card.claim.split()[0]
    values = rows.loc[(rows["role"] == "people") & (rows["term"] == term), "estimate"] * (100 if found[2] else 1)
    printed = float(found[1].replace("−", "-"))
    if not any(abs(v - printed) <= (0.5 if found[2] else 0.005) + 1e-9 for v in values):
        yield f"people have {values.tolist()}"


def _about_caution(card: Card, page: PageData) -> Iterator[str]:
    summary, text = page.summary, f"{card.claim}; {card.detail}"
    if "judged other" in text and len(summary.groups) < 2:
        yield "there is one table"
    top = summary.columns[0] if summary.columns else None
    for named, word in re.findall(r"(?:^|; |also: )([^;]+?): (worse than|not shown to beat) a constant answer", text):
        assert top is not None
        sign = -1 if top.lower_is_better else 1
        for judge in re.split(r", | and ", named):
            if judge in top.cells:
                _, low, high = _interval(top, judge)
                ends = sorted((sign * low, sign * high))
                line = top.reference_of(judge)
                worse, beyond = ends[1] < sign * line, ends[0] > sign * line
                if beyond or (word == "worse than" and not worse) or not math.isfinite(low):
                    yield f"{judge} has {low} to {high} beside {line}"
    if few := re.search(r"[Oo]nly (\d+) items?", text):
        names = list(page.estimates.sheet.columns[: page.estimates.sheet.columns.get_loc("section")])
        own = next((c for c in summary.columns if c.term == "own"), None)
        most = page.measured.groupby(names, observed=True)["item"].nunique().max()
        if most != int(few[1]) if own is None else most < int(few[1]):
            yield "a judge has another number of items"
    if "Not compared with people" in text and "agreement" in {c.term for c in summary.columns}:
        yield "the table has the agreement with people"


# -- studies of any size, by chance ------------------------------------------------------------------------------------


def random_study(seed: int) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Verdicts of 2 to 40 judges on 3 to 400 items, of a kind and a design drawn by `seed`, and the options of a page."""
    rng = np.random.default_rng(seed)
    judges = [f"j{k:02d}" for k in range(int(np.exp(rng.uniform(np.log(2), np.log(41)))))]
    items = int(np.exp(rng.uniform(np.log(3), np.log(401))))
    items = max(3, min(items, 3000 // len(judges)))
    kind = rng.choice(["preferences", "ratings", "correct"])
    whom = {j: _items_of(rng, k, items, seed) for k, j in enumerate(judges)}
    people = [f"person {k}" for k in range(int(rng.choice([0, 0, 1, 3])))]
    far = people and rng.random() < 0.15  # people who judged something else
    whom |= {p: np.arange(items) + (10_000 if far else 0) for p in people}
    with_gold, nested = rng.random() < 0.5, rng.random() < 0.3
    make = {"preferences": _preferences, "ratings": _ratings, "correct": _correct}[str(kind)]
    table = make(rng, whom, with_gold)
    table["item"] = "i" + table["item"].astype(str)
    if nested:
        levels = int(rng.integers(2, 40))
        table["prompt"] = "p" + (table["item"].str[1:].astype(int) % levels).astype(str)
    frame = preferences(table) if kind == "preferences" else ratings(table)
    return frame, {"humans": people} if people else {}


def _items_of(rng: np.random.Generator, k: int, items: int, seed: int) -> Any:
    everything = np.arange(items)
    design = seed % 4
    if design == 0 or (design == 3 and k % 5):
        return everything
    if design == 3:  # some judges on items of their own
        return everything + 1000 * (1 + k % 2)
    size = items if design == 1 and k % 2 else max(2, int(items * rng.uniform(0.1, 1.0)))
    return np.sort(rng.choice(everything, size, replace=False))


def _preferences(rng: np.random.Generator, whom: dict[str, Any], gold: bool) -> pd.DataFrame:
    ties, design, equal = rng.choice([0.0, 0.2]), rng.choice(["both", "one", "fixed", "some"]), rng.random() < 0.4
    invalid, several = rng.choice([0.0, 0.0, 0.05]), int(rng.choice([1, 1, 3]))
    rows = []
    for judge, things in whom.items():
        skill, bias = (0.75, 0.0) if equal else (rng.uniform(0.4, 1.0), rng.choice([0.0, 0.0, 0.3, -0.3, -0.9]))
        for i in things:
            for k in range(several):
                right = "xy"[(i + k) % 2]
                one = ("x", "y") if design == "fixed" or rng.random() < 0.5 else ("y", "x")
                orders = [one, one[::-1]] if design == "both" or (design == "some" and i % 2) else [one]
                winner = right if rng.random() < skill else "xy"[right == "x"]
                for first, second in orders:
                    choice = "first" if winner == first else "second"
                    if rng.random() < abs(bias):
                        choice = "first" if bias > 0 else "second"
                    choice = "tie" if rng.random() < ties else choice
                    choice = "invalid" if rng.random() < invalid else choice
                    rows.append((judge, i, f"{first}{k}", f"{second}{k}", choice, f"{right}{k}"))
    table = pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice", "gold"])
    return table if gold else table.drop(columns="gold")


def _ratings(rng: np.random.Generator, whom: dict[str, Any], gold: bool) -> pd.DataFrame:
    repeats, spread, coarse = int(rng.choice([1, 1, 3])), rng.uniform(0, 1.5), rng.random() < 0.5
    rows = []
    for judge, things in whom.items():
        leniency, noise = rng.normal(scale=spread), rng.uniform(0.0, 1.5)
        for i in things:
            for r in range(repeats):
                score = 5 + 2 * math.sin(i) + leniency + rng.normal(scale=noise)
                rows.append((judge, i, r, round(score) if coarse else score, round(5 + 2 * math.sin(i))))
    table = pd.DataFrame(rows, columns=["judge", "item", "replicate", "score", "gold"]).assign(system="s")
    table = table if repeats > 1 else table.drop(columns="replicate")
    return table.assign(score=table["score"].astype(float)) if gold else table.drop(columns="gold")


def _correct(rng: np.random.Generator, whom: dict[str, Any], gold: bool) -> pd.DataFrame:
    rows = []
    for judge, things in whom.items():
        skill, yes = rng.uniform(0.5, 1.0), rng.uniform(0.2, 0.9)
        for i in things:
            right = (i * 7919) % 10 < 7
            says = right if rng.random() < skill else rng.random() < yes
            rows.append((judge, i, bool(says), bool(right)))
    table = pd.DataFrame(rows, columns=["judge", "item", "correct", "gold"]).assign(system="s")
    return table if gold else table.drop(columns="gold")
