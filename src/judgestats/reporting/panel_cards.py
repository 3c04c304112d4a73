"""The cards on the judges as a panel: how far they agree, how many of them count, and what they rank first."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from judgestats.counting.study import Study
from judgestats.reporting.formatting import PERCENT, number
from judgestats.reporting.summary_parts import Card, listed
from judgestats.schema.columns import UNIT_COLUMNS, Kind, answer_column
from judgestats.schema.factors import Factor

#: Share of equal answers from which two judges are near copies, and the fewest shared answers that show it.
COPIES, FEWEST = 0.99, 30
#: Share of one answer from which a judge agrees with any other that gives it, too.
_CONSTANT = 0.9
#: More cells of judges and things than these are not searched for copies.
_MOST_CELLS = 5 * 10**7

Estimates = Mapping[str, pd.DataFrame | str]


def agreement_card(taken: Estimates) -> Card | None:
    """How far the judges agree beyond chance: the first question where there are neither right answers nor people."""
    alphas = _rows(taken, "alpha", "alpha")
    if alphas.empty:
        return None
    labels = [" ".join(map(str, row)) for row in alphas[_groups(alphas)].to_numpy()]
    texts = [_with_interval(row) for _, row in alphas.iterrows()]
    parts = ["0 is chance, 1 is perfect"]
    if len(alphas) == 1:
        claim = f"α {number(alphas['estimate'].iloc[0], 2)}"
        parts = [*_interval_of(alphas.iloc[0]), *parts]
    else:
        low, high = (int(alphas["estimate"].to_numpy().argmin()), int(alphas["estimate"].to_numpy().argmax()))
        ends = " to ".join(number(alphas["estimate"].iloc[i], 2) for i in (low, high))
        claim = f"α {ends} by {' and '.join(_groups(alphas))}"
        parts = [f"lowest: {labels[low]}, {texts[low]}; highest: {labels[high]}, {texts[high]}", *parts]
    single = _rows(taken, "icc", "ICC(2,1)")
    if len(single) == 1:
        parts.insert(1, f"ICC(2,1) of one score {_with_interval(single.iloc[0])}")
    return Card("agreement", "How far the judges agree", claim, "; ".join(parts), "Krippendorff's α")


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
    return Card("ranking", "Preferred most", claim, detail, str(ranks["method"].iloc[0]))


def worth_card(taken: Estimates, copies: list[tuple[list[str], float]]) -> Card | None:
    """How many independent judges the panel is worth if at most half of it, and which judges are near copies."""
    worth = _rows(taken, "effective_judges", "effective_judges")
    shares = ["all" if s == 1 else f"{number(100 * s, 1)}{PERCENT} or more of" for _, s in copies]
    alike = [f"{listed(group)} are near copies" for group, _ in copies]
    equal = [f"equal in {share} their answers" for share in shares]
    if len(worth) == 1 and worth["conf_high"].iloc[0] <= worth["judges"].iloc[0] / 2:
        row, errors = worth.iloc[0], _rows(taken, "effective_judges", "mean_correlation")
        claim = f"{row['judges']:.0f} judges are worth {number(row['estimate'], 1)} independent ones"
        parts = [f"interval {number(row['conf_low'], 1)} to {number(row['conf_high'], 1)}"]
        parts += [f"mean correlation of their errors {number(r, 2)}" for r in errors["estimate"]]
        parts += [", ".join(said) for said in zip(alike, equal, strict=True)]
        return Card("panel", "Not independent", claim, "; ".join(parts), str(row["method"]))
    if not copies:
        return None
    further = [", ".join(said) for said in zip(alike[1:], equal[1:], strict=True)]
    return Card("panel", "Not independent", alike[0], "; ".join([equal[0], *further]))


def near_copies(calls: Study, kind: Kind) -> list[tuple[list[str], float]]:
    """Judges who give the same answer to 99 % of what two of them answered; of each group, the smallest such share.

    A judge that nearly always gives one answer is no copy of another. Of several answers to one thing the first counts.
    """
    answer = calls.columns["choice"] if kind == "preferences" else _scores(calls)
    judge, names = calls.columns["judge"]
    keys = [c for c in ("item", "system", "criterion", "first", "second", *UNIT_COLUMNS) if c in calls.names]
    units = calls.columns.codes(list(dict.fromkeys(keys)))
    if len(names) < 2 or len(names) * units.size > _MOST_CELLS:
        return []
    answers = np.full((len(names), units.size), -1, dtype=np.int32)
    answers[judge[::-1], units.code[::-1]] = np.where(_missing(answer), -1, answer.code)[::-1]
    group = np.arange(len(names))
    shares = np.full(len(names), math.inf)
    varies = [j for j in range(len(names)) if _largest_share(answers[j]) < _CONSTANT]
    for place, i in enumerate(varies):
        for j in varies[place + 1 :]:
            both = (answers[i] >= 0) & (answers[j] >= 0)
            share = float((answers[i] == answers[j])[both].mean()) if both.sum() >= FEWEST else 0.0
            if share >= COPIES:
                group[group == group[j]] = group[i]
                shares[[i, j]] = np.minimum(shares[[i, j]], share)
    copies = [np.flatnonzero(group == g) for g in np.unique(group)]
    return [(sorted(str(names[i]) for i in c), float(shares[c].min())) for c in copies if len(c) > 1]


def _scores(calls: Study) -> Factor:
    code, labels = pd.factorize(calls.data.to_native()[answer_column(calls.names)], use_na_sentinel=False)
    return Factor(code, labels)


def _missing(answer: Factor) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.array([label == "invalid" or pd.isna(label) for label in answer.labels], dtype=bool)[answer.code]


def _largest_share(answers: np.ndarray[tuple[int], np.dtype[np.int32]]) -> float:
    """Share of the most frequent answer; 1 without one."""
    valid = answers[answers >= 0]
    return float(np.bincount(valid).max() / valid.size) if valid.size else 1.0


def _rows(taken: Estimates, measure: str, term: str) -> pd.DataFrame:
    """Rows of a term of a measure that have an estimate."""
    rows = taken.get(measure, "")
    if isinstance(rows, str):
        return pd.DataFrame(columns=["estimate"])
    return rows[(rows["term"] == term) & rows["estimate"].notna()]


def _groups(rows: pd.DataFrame) -> list[str]:
    return list(rows.columns[: list(rows.columns).index("term")])


def _interval_of(row: pd.Series[float]) -> list[str]:
    if not math.isfinite(row["conf_low"]):
        return []
    return [f"interval {number(row['conf_low'], 2)} to {number(row['conf_high'], 2)}"]


def _with_interval(row: pd.Series[float]) -> str:
    text = "".join(_interval_of(row)).removeprefix("interval ")
    return number(row["estimate"], 2) + (f" ({text})" if text else "")
