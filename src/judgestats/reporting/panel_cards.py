"""The cards on the judges as a panel: how far they agree, how many of them count, and what they rank first."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import pandas as pd

from judgestats.metrics.standings import FEWEST
from judgestats.reporting.formatting import PERCENT, number, printed
from judgestats.reporting.page_claims import Claim, Number, Relation
from judgestats.reporting.summary_parts import Card, listed

Estimates = Mapping[str, pd.DataFrame | str]


#: Level of measurement -> by what answers are compared.
_COMPARED = {
    "nominal": "answers compared as equal or not",
    "ordinal": "scores compared by their order",
    "interval": "scores compared by their distance",
}


def panel_numbers(taken: Estimates) -> list[Number]:
    """The numbers that the page shows of the judges as a panel, and of systems."""
    return [
        Number(measure, term, name, float(value), lower_is_better=term == "rank")
        for measure, term in (("alpha", "alpha"), ("rank_systems", "rank"), ("effective_judges", "effective_judges"))
        for rows in [_rows(taken, measure, term)]
        for name, value in zip(_names(rows), rows["estimate"], strict=True)
    ]


def agreement_card(taken: Estimates, level: str, *, people: bool = False) -> Card | None:
    """How far the judges, or `people`, agree beyond chance: the first question where there is no reference."""
    alphas = _rows(taken, "alpha", "alpha")
    if alphas.empty:
        return None
    head, method = "How far people agree" if people else "How far the judges agree", f"Krippendorff's α, {level}"
    alphas, few = alphas[alphas["n"] >= FEWEST], alphas
    if alphas.empty:
        why = f"fewer than {FEWEST} things that two answered"
        unknown = Claim("", "card", "agreement", "alpha", (), "cannot be said", (), tuple(_names(few)), ("alpha",))
        detail = f"{why}; α is {_with_interval(few.iloc[0])}"
        return Card("agreement", head, "Cannot be said", detail, method, (unknown,))
    labels = _names(alphas)
    ends: tuple[int, ...] = (0,)
    texts = [_with_interval(row) for _, row in alphas.iterrows()]
    parts = [_COMPARED[level], "0 is chance, 1 is perfect"]
    if len(alphas) == 1:
        claim = f"α {number(alphas['estimate'].iloc[0], 2)}"
        parts = [*_interval_of(alphas.iloc[0]), *parts]
    else:
        ends = low, high = int(alphas["estimate"].to_numpy().argmin()), int(alphas["estimate"].to_numpy().argmax())
        claim = (
            f"α {' to '.join(number(alphas['estimate'].iloc[i], 2) for i in ends)} by {' and '.join(_groups(alphas))}"
        )
        parts = [f"lowest: {labels[low]}, {texts[low]}; highest: {labels[high]}, {texts[high]}", *parts]
    single = _rows(taken, "icc", "ICC(2,1)")
    if len(single) == 1:
        parts.insert(1, f"ICC(2,1) of one score {_with_interval(single.iloc[0])}")
    values, scope = tuple(map(float, alphas["estimate"].iloc[[*ends]])), tuple(_names(few))
    relation: Relation = "is" if len(ends) == 1 else "from to"
    names = tuple(labels[i] for i in ends)
    says = Claim("", "card", "agreement", "alpha", names, relation, values, scope, ("alpha",))
    return Card("agreement", head, claim, "; ".join(parts), method, (says,))


def ranking_card(taken: Estimates) -> Card | None:
    """The system that ranks first of three or more, or those that may."""
    ranks = _rows(taken, "rank_systems", "rank")
    if len(ranks) < 3 or _groups(ranks) != ["system"]:
        return None
    ranks = ranks.sort_values(["estimate", "conf_low"], kind="stable")
    names = ranks["system"].astype(str).tolist()
    may_lead = [s for s, low in zip(names, ranks["conf_low"], strict=True) if low == 1]
    if not may_lead:
        claim, detail = "Cannot be said", f"{names[0]} has the highest strength; the ranks have no interval"
    elif len(may_lead) == 1:
        claim, detail = names[0], f"first of {len(names)}; next: {names[1]}"
    else:
        claim, detail = f"{listed(may_lead)} may each be first", f"highest strength: {names[0]}, of {len(names)}"
    top, scope = tuple(may_lead or names[:1]), tuple(names)
    values = tuple(float(ranks["estimate"].iloc[names.index(s)]) for s in top)
    relation: Relation = "may be best" if may_lead else "cannot be said"
    says = Claim("", "card", "ranking", "rank", top, relation, values, scope, ("rank_systems",))
    return Card("ranking", "Preferred most", claim, detail, str(ranks["method"].iloc[0]), (says,))


def worth_card(taken: Estimates, copies: list[tuple[list[str], float]]) -> Card | None:
    """How many independent judges the panel is worth if at most half of it, and which judges are near copies."""
    worth = _rows(taken, "effective_judges", "effective_judges")
    shares = ["all" if s == 1 else f"{number(100 * s, 1)}{PERCENT} or more of" for _, s in copies]
    alike = [f"{listed(group)} are near copies" for group, _ in copies]
    equal = [f"equal in {share} their answers" for share in shares]
    of_copies = tuple(
        Claim(f"{names}, {share}.", "card", "panel", "equal answers", tuple(group), "is", (least,), tuple(group))
        for names, share, (group, least) in zip(alike, equal, copies, strict=True)
    )
    if len(worth) == 1 and worth["conf_high"].iloc[0] <= worth["judges"].iloc[0] / 2:
        row, errors = worth.iloc[0], _rows(taken, "effective_judges", "mean_correlation")
        decimals = 1 + int(number(row["conf_low"], 1) == number(row["conf_high"], 1))
        estimate, *ends = (number(row[k], decimals) for k in ("estimate", "conf_low", "conf_high"))
        claim = f"{row['judges']:.0f} judges are worth {estimate} independent ones"
        parts = [f"interval {' to '.join(ends)}"]
        parts += [f"mean correlation of their errors {number(r, 2)}" for r in errors["estimate"]]
        parts += [", ".join(said) for said in zip(alike, equal, strict=True)]
        whole = _names(worth)[0]
        says = Claim(
            "",
            "card",
            "panel",
            "effective_judges",
            (whole,),
            "is",
            (float(row["estimate"]),),
            (),
            ("effective_judges",),
        )
        return Card("panel", "Not independent", claim, "; ".join(parts), str(row["method"]), (says, *of_copies))
    if not copies:
        return None
    of_copies = (replace(of_copies[0], sentence=""), *of_copies[1:])
    further = [", ".join(said) for said in zip(alike[1:], equal[1:], strict=True)]
    return Card("panel", "Not independent", alike[0], "; ".join([equal[0], *further]), "", of_copies)


def _rows(taken: Estimates, measure: str, term: str) -> pd.DataFrame:
    """Rows of a term of a measure that have an estimate."""
    rows = taken.get(measure, "")
    if isinstance(rows, str):
        return pd.DataFrame(columns=["estimate"])
    return rows[(rows["term"] == term) & rows["estimate"].notna()]


def _names(rows: pd.DataFrame) -> list[str]:
    """What each row is of: its groups, or all."""
    return [" ".join(map(str, row)) or "all" for row in rows[_groups(rows)].to_numpy()] if len(rows) else []


def _groups(rows: pd.DataFrame) -> list[str]:
    return list(rows.columns[: list(rows.columns).index("term")])


def _interval_of(row: pd.Series[float]) -> list[str]:
    if not math.isfinite(row["conf_low"]):
        return []
    ends = (printed(row[k], "score", row["conf_high"] - row["conf_low"]) for k in ("conf_low", "conf_high"))
    return [f"interval {' to '.join(ends)}"]


def _with_interval(row: pd.Series[float]) -> str:
    text = "".join(_interval_of(row)).removeprefix("interval ")
    return number(row["estimate"], 2) + (f" ({text})" if text else "")
