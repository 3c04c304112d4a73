"""Which pictures a data set supports, and what each shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd
from markupsafe import Markup

from judgestats import flags
from judgestats.counting.study import Calls, Study
from judgestats.errors import JudgestatsError
from judgestats.metrics.consensus.deviations import deviations_of
from judgestats.metrics.consensus.scores import score_matrix
from judgestats.metrics.measure_registry import MeasureOptions, measures
from judgestats.metrics.psychometrics import target_sensitivity
from judgestats.reporting import plots
from judgestats.reporting.estimate_rows import step
from judgestats.reporting.formatting import count, noun
from judgestats.reporting.markup import anchor
from judgestats.reporting.summary_parts import listed
from judgestats.reporting.svg import MATPLOTLIB, inline
from judgestats.wording import as_one, without_numbers

_Drawing = Callable[[], object]
#: Rows or columns of a matrix above which only the extremes are drawn.
LARGEST = 40
#: Groups of calls (prompts, say) of which each gets a picture of its own.
MOST_GROUPS = 6
#: Measure whose pairs of judges are drawn as a matrix at the head of the section, by kind of data.
PAIRS = {"preferences": "kappa", "ratings": "correlation"}
#: Pictures of the instrument: name, function, title, how to read it.
_INSTRUMENT = (
    (
        "metrology-map",
        plots.metrology_map,
        "Metrology map",
        "To the right: the judge prefers where nothing differs. Up: it holds on to one of two equals in both "
        "orders. A judge at the lower left does "
        "neither. The larger the marker, the more of the smallest real differences it finds.",
    ),
    (
        "psychometric-curves",
        plots.psychometric_curves,
        "Psychometric curves",
        "Share of right choices at each step of the quality ladder, with Wilson intervals on calls; a tie counts "
        "as a miss. Where the fitted curve "
        "crosses the dashed line is the detection threshold.",
    ),
    (
        "decomposition",
        plots.decomposition,
        "What false preference between equals is made of",
        "Every pair of equals, judged in both orders, falls into one class. Only “stable” is a preference for "
        "content; “positional” is a preference "
        "for the slot. The mark shows the raw rate over calls, to which a one-sided commit adds one half.",
    ),
    (
        "stable-positional",
        plots.stable_positional,
        "Positional against stable",
        "The same two classes against each other. Lower left: few preferences between equals at all.",
    ),
)


@dataclass(frozen=True)
class PagePicture:
    """A picture as SVG, its title and how to read it."""

    title: str
    caption: str
    svg: Markup
    wide: bool = False


def pictures(
    data: Calls, kind: str, sheet: pd.DataFrame, options: MeasureOptions, left_out: str = ""
) -> list[PagePicture]:
    """Draw all pictures that calls or ratings support; `left_out` says which judges its `sheet` leaves out."""
    if kind == "ratings":
        return [*_of_ratings(data, options)]
    if "dark current" in set(sheet["section"]) or "Δ0" in set(sheet["section"]) or "ladder" in set(sheet["section"]):
        images = [
            picture
            for name, draw, title, caption in _INSTRUMENT
            for picture in drawing(name, title, caption, partial(draw, sheet))
        ]
        images += _of_prompts(data, sheet, options)
    else:
        images = [*_of_verdicts(sheet)]
    return [replace(picture, caption=f"{picture.caption} {left_out}".strip()) for picture in images]


def drawing(name: str, title: str, caption: str, draw: _Drawing, *, wide: bool = False) -> Iterator[PagePicture]:
    """Draw a picture, unless its estimates are not there."""
    with MATPLOTLIB:
        try:
            axes = draw()
        except JudgestatsError:
            return
        picture = inline(axes, f"{title}. {caption}", name)
    yield PagePicture(title, caption, picture, wide)


def _of_prompts(data: Calls, sheet: pd.DataFrame, options: MeasureOptions) -> Iterator[PagePicture]:
    shifts = sheet[sheet["section"].astype(str).str.startswith("criterion, ")]
    for _, shift in shifts.groupby("section", sort=False) if not options.by else ():
        base, strict = options.baseline["prompt"], str(shift["prompt"].iloc[0]).partition(" to ")[2]
        at = step(shift)
        ends = shift[at.isna() | at.isin([at.min(), at.max()])]

        def draw(ends: pd.DataFrame = ends, prompts: tuple[str, str] = (base, strict)) -> Any:
            sensitivity = options.call(target_sensitivity, data, by=["prompt"])
            return plots.operating_point(ends, sensitivity, prompts=prompts)

        caption = (
            f"From the prompt “{base}” to “{strict}”: to the left, fewer false preferences between equals; down, "
            "fewer right choices. Two operating points and the segment between them, not an ROC curve."
        )
        yield from drawing(f"operating-point-{anchor(strict)}", f"Operating point, {base} to {strict}", caption, draw)


def _of_verdicts(sheet: pd.DataFrame) -> Iterator[PagePicture]:
    caption = (
        "Share of all calls that got each answer. With every pair shown in both orders, a judge without position bias "
        "picks both slots alike."
    )
    yield from drawing("answers", "What the judges answer", caption, partial(plots.answers, sheet), wide=True)


def _of_ratings(data: Calls, options: MeasureOptions) -> Iterator[PagePicture]:
    options = replace(options, cluster="auto")  # as in the datasheet
    try:
        scores, cut = _extremes(options.call(score_matrix, data))
    except JudgestatsError:  # a column that nobody named splits the ratings
        return
    wide = scores["system"].nunique() > 5 or len(scores) > 40
    if scores["system"].nunique() > 1:
        draw: _Drawing = partial(plots.score_matrix, scores, identity=options.identity or None)
        yield from drawing("score-matrix", "Score matrix", f"{_SCORES}{cut}{_doubts(scores)}", draw, wide=wide)
    people = options.people
    if scores["judge"].nunique() > 1 or people is not None:
        try:
            deviations, cut = _extremes(deviations_of(data, options))
        except JudgestatsError:  # people who rated nothing that a judge rated
            return
        draw = partial(plots.deviation_matrix, deviations)
        title, caption = (
            ("Deviation from peers", _DEVIATIONS) if people is None else ("Deviation from people", _FROM_PEOPLE)
        )
        yield from drawing("deviation-matrix", title, caption + cut, draw, wide=wide)


def _extremes(cells: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Cells of the judges and systems with the highest and lowest means where there are more than 40, and a note."""
    cut = []
    for name in ("judge", "system"):
        if name not in cells or cells[name].nunique() <= LARGEST:
            continue
        levels, note = _ends(cells.groupby(name)["estimate"].mean(), f"{name}s")
        cut.append(note)
        cells = cells[cells[name].isin(levels) | cells[name].isna()]
    return cells, _cut(cut)


def _ends(means: pd.Series[float], what: str) -> tuple[list[object], str]:
    """Labels of the highest and the lowest means, and which they are of how many."""
    means = means.sort_values(kind="stable")
    note = f"the {LARGEST // 2} highest and lowest of {count(len(means))} {what}"
    return [*means.index[: LARGEST // 2], *means.index[-LARGEST // 2 :]], note


def _cut(notes: list[str]) -> str:
    return f" Drawn are {' and '.join(notes)}; the CSV at the end of the page has all." if notes else ""


def between_judges(data: Calls, kind: str, taken: Mapping[str, Any], options: MeasureOptions) -> Iterator[PagePicture]:
    """A clustered matrix of the agreement of each pair of judges, where three or more share items."""
    name = PAIRS[kind]
    pairs = taken.get(name)
    if not isinstance(pairs, pd.DataFrame):
        return
    caption = measures()[name].caption
    if kind == "ratings":
        several = pairs["system"].nunique() > 1
        caption = _CORRELATIONS.format(", averaged over the systems" if several else "")
        pairs = pairs[pairs["term"] == "mean"].assign(term="r")
    groups = _groups(pairs, options)
    for k, (label, part) in enumerate(groups[:MOST_GROUPS]):
        shared = part[part["n"] > 0]
        judges = {*shared["judge"].astype(str), *shared["other"].astype(str)}
        part = part[part["judge"].isin(judges) & part["other"].isin(judges)]
        if len(judges) < 3:
            continue
        part, cut = _most_and_least(part)
        alone = sorted({*Study.of(data).columns.labels("judge")} - judges)
        note = f" Not drawn, because no other judge has the same items: {listed(alone)}." if alone else ""
        more = f" Drawn are {MOST_GROUPS} of {count(len(groups))} groups." if len(groups) > MOST_GROUPS else ""
        title = f"Which judges agree{label and f', {label}'}"
        text = f"{caption} Judges that agree stand together.{cut}{note}{more}"
        draw = partial(plots.kappa_matrix, part)
        yield from drawing(f"agreement-{k}", title, text, draw, wide=len(judges) > 8)


def beside_people(
    taken: Mapping[str, Any], peers: pd.DataFrame | None, options: MeasureOptions
) -> Iterator[PagePicture]:
    """Each judge with people beside each judge with its peers, where there are people and two judges or more."""
    agreement = taken.get("judge_against_people")
    if not isinstance(agreement, pd.DataFrame) or peers is None or peers.empty:
        return
    agreement = agreement[agreement["term"] == peers["term"].iloc[0]]
    judges, people = agreement[agreement["role"] == "judge"], agreement[agreement["role"] == "people"]
    by = [g for g in options.by if g in agreement]
    unsplit = [g for g in by if people[g].isna().all()]  # people answered once for all conditions
    if unsplit:
        people = people.drop(columns=unsplit).merge(
            judges[by].drop_duplicates(), "left" if len(unsplit) < len(by) else "cross"
        )
    rows = pd.concat([judges, people.assign(judge=_EACH_OTHER)[judges.columns]], ignore_index=True)
    judges_shown, cut = rows["judge"], ""
    if judges["judge"].nunique() > LARGEST:
        ends, note = _ends(judges.groupby("judge")["estimate"].mean(), "judges")
        judges_shown, cut = [*ends, _EACH_OTHER], _cut([note])
    rows = rows[rows["judge"].isin(judges_shown) & rows["estimate"].notna()]
    peers = peers[peers["judge"].isin(judges_shown) & peers["other"].isin(judges_shown)]
    draw = partial(plots.judges_and_people, peers, rows)
    yield from drawing("judges-and-people", "Judges and people", f"{_WITH_PEOPLE}{cut}", draw, wide=bool(by))


def _groups(table: pd.DataFrame, options: MeasureOptions) -> list[tuple[str, pd.DataFrame]]:
    """The table by the grouping columns of the page, each part with its name; one part without a name if none."""
    by = [g for g in options.by if g in table]
    if not by:
        return [("", table)]
    groups = []
    for key, part in table.groupby(by, sort=False, dropna=False):
        names = [str(v) if any(map(str.isalpha, str(v))) else f"{c} {v}" for c, v in zip(by, key, strict=True)]
        groups.append((", ".join(names), part))
    return groups


def _most_and_least(pairs: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Pairs of the judges that agree most and least with the others where there are more than 40, and a note."""
    both = pd.concat([pairs, pairs.assign(judge=pairs["other"])])
    means = both.groupby("judge")["estimate"].mean()
    if len(means) <= LARGEST:
        return pairs, ""
    judges_shown, note = _ends(means, "judges (by their mean agreement)")
    return pairs[pairs["judge"].isin(judges_shown) & pairs["other"].isin(judges_shown)], _cut([note])


def _doubts(scores: pd.DataFrame) -> str:
    """Flags of the cells of a matrix, those that differ in a count as one, how many bear them and what they say."""
    alike: dict[str, Counter[flags.Flag]] = {}
    for flag in (flag for cell in scores["flag"] for flag in flags.flags_of(cell)):
        alike.setdefault(without_numbers(str(flag)), Counter())[flag] += 1
    cells = noun(len(scores), "cell")
    return "".join(
        f" Flagged “{as_one(map(str, of))}” ({count(of.total())} of {cells}): {next(iter(of)).explanation}"
        for of in alike.values()
    )


_SCORES = (
    "Mean score of each judge for each system, ± the spread over runs where there are any. Colours rank the systems "
    "within each judge. A judge's mean score is the mean of its row."
)
_DEVIATIONS = (
    "How far each judge is from the mean of the other judges on the same things. In every column the cells of judges "
    "that rated the same things sum to 0: it is a relative measure."
)
_EACH_OTHER = "people with each other"
_CORRELATIONS = (
    "Correlation of the scores of each pair of judges over the items that both rated{}. A judge that is harsher than "
    "another throughout still correlates with it."
)
_WITH_PEOPLE = (
    "Agreement of each judge with people beside its agreement with each of the other judges, by one coefficient. "
    "Judges that agree with each other far more than with people may share errors; the row “people with each other” "
    "shows what to expect of one more person."
)
_FROM_PEOPLE = "How far each judge is from the mean of the people on the same things."
