"""Readings of a question: the defensible ways to make one quantity of the same verdicts (docs/readings.md).

A reading takes the table of marks of the headline and gives another: other values, other weights, or fewer rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from judgestats.schema.coding import compact, first_rows, joint
from judgestats.typing import Column, Floats, Integers, Ints

Kind = Literal["headline", "same question", "another question", "own"]
#: What a reading makes of the table of marks: a table, or None where its condition does not hold.
Making = Callable[[pd.DataFrame], pd.DataFrame | None]
#: Fewest items of a rank correlation.
FEWEST_RANKED = 10
#: Columns of marks that every question has.
COLUMNS = ("judge", "unit", "pair", "order", "item", "task", "cluster", "value", "weight", "tie", "valid")


@dataclass(frozen=True)
class QuestionReading:
    """One way to read a question."""

    name: str
    kind: Kind
    choice: str  # what differs from the headline
    making: Making
    root: bool = False  # the estimate is the root of the mean
    correlation: bool = False  # the highest is the best, between -1 and 1


def once_each(marks: pd.DataFrame) -> pd.DataFrame:
    """Calls of a judge on one unit as one row: the mean of their values, and how many they are."""
    used = np.flatnonzero((marks["value"].notna() & (marks["weight"] > 0)).to_numpy())
    cell, size = _cells(marks, "unit", used)
    value, weight = (marks[c].to_numpy(float)[used] for c in ("value", "weight"))
    total = np.bincount(cell, weight, size)
    mean = np.bincount(cell, value * weight, size) / total
    return marks.iloc[used[first_rows(cell, size)]].assign(value=mean, weight=total)


def _cells(marks: pd.DataFrame, thing: str, used: Ints) -> tuple[Integers, int]:
    """Number of judge and thing of the rows that are used, and how many numbers there are."""
    parts = [pd.factorize(marks[c].to_numpy()[used]) for c in ("judge", thing)]
    cell, cells = compact(*joint([(code, len(names)) for code, names in parts], used.size))
    return cell, cells.size


def _whole(marks: pd.DataFrame, dropped: Column) -> pd.DataFrame | None:
    """The units of which no judge's row is dropped; None where none is dropped, or no unit is left."""
    if not dropped.any():
        return None
    rest = marks[~marks["unit"].isin(marks.loc[dropped, "unit"].unique())]
    return rest if len(rest) else None


def _half(marks: pd.DataFrame) -> pd.DataFrame | None:
    tie = marks["tie"] & marks["valid"]
    return marks.assign(value=marks["value"].mask(tie, 0.5)) if tie.any() else None


def _without_ties(marks: pd.DataFrame) -> pd.DataFrame | None:
    return _whole(marks, marks["tie"])


def _invalid_wrong(marks: pd.DataFrame) -> pd.DataFrame | None:
    return None if marks["valid"].all() else marks.assign(value=marks["value"].mask(~marks["valid"], 0.0))


def _all_valid(marks: pd.DataFrame) -> pd.DataFrame | None:
    return _whole(marks, ~marks["valid"])


def _alike(column: str) -> Making:
    """Every level of a column with the same weight, for each judge; rows without a level have none."""

    def making(marks: pd.DataFrame) -> pd.DataFrame | None:
        table = once_each(marks)
        sizes = table.groupby(["judge", column])["weight"].transform("sum")
        own = sizes.groupby(table["judge"])
        if table[column].nunique() < 2 or (own.transform("max") == own.transform("min")).all():
            return None
        return table.assign(weight=table["weight"] / sizes)

    return making


def _without_empty(marks: pd.DataFrame) -> pd.DataFrame | None:
    return _whole(marks, marks["empty"])


WEIGHTS = (
    QuestionReading("every item alike", "same question", "weights", _alike("item")),
    QuestionReading("every task alike", "same question", "weights", _alike("task")),
)
INVALID = QuestionReading("only where all judges are valid", "same question", "invalid", _all_valid)


def _votes(marks: pd.DataFrame) -> pd.DataFrame | None:
    """Sum of the votes of each judge on each pair, a column for each order; of pairs with valid votes in both."""
    used = np.flatnonzero((marks["valid"] & marks["right"].notna()).to_numpy())
    cell, size = _cells(marks, "pair", used)
    vote, weight, order = (marks[c].to_numpy(float)[used] for c in ("vote", "weight", "order"))
    sums = [np.bincount(cell, vote * weight * (order == k), size) for k in (0, 1)]
    both = np.logical_and(*(np.bincount(cell, order == k, size) > 0 for k in (0, 1)))
    rows = marks.iloc[used[first_rows(cell, size)[both]]]
    return rows.assign(**{f"vote_{k}": votes[both] for k, votes in enumerate(sums)}) if len(rows) else None


def _merged(merge: Callable[[Floats, Floats], Floats], where: Callable[[pd.DataFrame], Column] | None = None) -> Making:
    """Each pair with one verdict, made of the votes in both orders; not if the verdicts are nowhere as `where` says."""

    def making(marks: pd.DataFrame) -> pd.DataFrame | None:
        votes = _votes(marks)
        if votes is None or not (where is None or where(votes).any()):
            return None
        one, two = (np.sign(votes[f"vote_{k}"].to_numpy()) for k in (0, 1))
        value = (merge(one, two) == votes["right"].to_numpy(float)).astype(float)
        return votes.assign(value=value, weight=1.0, unit=votes["pair"], order=0)

    return making


def _with_right_tie(votes: pd.DataFrame) -> Column:
    return votes["right"] == 0


def _with_one_tie(votes: pd.DataFrame) -> Column:
    return (votes["vote_0"] == 0) != (votes["vote_1"] == 0)


def _agreed(one: Floats, two: Floats) -> Floats:
    return np.where(one == two, one, 0.0)


def _summed(one: Floats, two: Floats) -> Floats:
    return np.asarray(np.sign(one + two), np.float64)


def _right_twice(one: Floats, two: Floats) -> Floats:
    """The verdict that both orders have; of two that differ one that is never right."""
    return np.where(one == two, one, np.nan)


def _decided(marks: pd.DataFrame) -> pd.DataFrame | None:
    tie = marks["tie"] & marks["valid"]
    return marks[~tie] if tie.any() else None


RIGHT_OF_PAIRS = (
    QuestionReading("a tie is half right", "same question", "ties", _half),
    QuestionReading("only where no judge ties", "same question", "ties", _without_ties),
    QuestionReading("an invalid verdict is wrong", "same question", "invalid", _invalid_wrong),
    INVALID,
    *WEIGHTS,
    QuestionReading("without empty texts", "same question", "texts", _without_empty),
    QuestionReading("orders merged, a difference is a tie", "same question", "pair", _merged(_agreed, _with_right_tie)),
    QuestionReading("orders merged, by the sum of votes", "same question", "pair", _merged(_summed, _with_one_tie)),
    QuestionReading("right in both orders", "another question", "orders", _merged(_right_twice)),
    QuestionReading("long and short right answers alike", "another question", "lengths", _alike("longer")),
)
STEADY = (
    QuestionReading("a tie and a verdict are half the same", "same question", "ties", _half),
    QuestionReading("only pairs that no judge ties", "same question", "ties", _without_ties),
    QuestionReading("a pair with an invalid verdict is not the same", "same question", "invalid", _invalid_wrong),
    INVALID,
    *WEIGHTS,
)
POSITION = (QuestionReading("of verdicts that are no tie", "same question", "ties", _decided), INVALID, *WEIGHTS)


def _squared(marks: pd.DataFrame) -> pd.DataFrame | None:
    return None if marks["value"].nunique() < 2 else marks.assign(value=marks["value"] ** 2)


def _centred(marks: pd.DataFrame) -> pd.DataFrame | None:
    """Distances after the mean error of each judge is taken off."""
    if marks["item"].nunique() < 2:
        return None
    weight = marks["weight"].where(marks["error"].notna(), 0.0)
    sums = (marks["error"].fillna(0) * weight).groupby(marks["judge"]).transform("sum")
    return marks.assign(value=(marks["error"] - sums / weight.groupby(marks["judge"]).transform("sum")).abs())


def _ranked(marks: pd.DataFrame) -> pd.DataFrame | None:
    """Spearman's correlation of scores with right ones: as the mean of the jackknife's pseudo-values of the clusters.

    The ranks are those of all clusters.
    """
    from scipy.stats import rankdata

    table = once_each(marks.assign(value=marks["error"] + marks["right"]))
    parts = []
    for _, own in table.groupby("judge", sort=False):
        if len(own) < FEWEST_RANKED or own["value"].nunique() < 2 or own["right"].nunique() < 2:
            continue
        x, y = (rankdata(own[c]) - (len(own) + 1) / 2 for c in ("value", "right"))
        cluster, first = np.unique(own["cluster"], return_inverse=True, return_index=True)[1:][::-1]
        sums = np.array([np.bincount(cluster, v, first.size) for v in (x * y, x * x, y * y, x, y, np.ones(len(own)))])
        xy, xx, yy, sx, sy, n = sums.sum(axis=1)[:, None] - sums
        whole, G = float(x @ y / np.sqrt((x @ x) * (y @ y))), first.size
        with np.errstate(invalid="ignore", divide="ignore"):
            without = (xy - sx * sy / n) / np.sqrt((xx - sx**2 / n) * (yy - sy**2 / n))
        pseudo = G * whole - (G - 1) * without
        pseudo += whole - pseudo.mean()  # about the estimate itself
        parts.append(own.iloc[first].assign(unit=own["cluster"].iloc[first], value=pseudo, weight=1.0))
    return pd.concat(parts) if parts else None


def _ranked_systems(marks: pd.DataFrame) -> pd.DataFrame | None:
    """Spearman's correlation of the means of systems with their right means, one row a judge.

    It has no interval: leaving out an item seldom moves a rank, so that the jackknife says nothing.
    """
    from scipy.stats import spearmanr

    table = once_each(marks.assign(value=marks["error"] + marks["right"]))
    rows = []
    for _, own in table.groupby("judge", sort=False):
        means = own.groupby("system")[["value", "right"]].mean()
        if len(means) >= FEWEST_RANKED and (means.nunique() > 1).all():
            value = float(spearmanr(means["value"], means["right"])[0])
            rows.append(own.iloc[[0]].assign(unit=0, cluster=0, value=value, weight=float(len(means))))
    return pd.concat(rows) if rows else None


def _by_half(marks: pd.DataFrame) -> pd.DataFrame | None:
    half = marks["half"].where(marks["valid"])
    return None if half.equals(marks["value"]) else marks.assign(value=half)


def _nobody_ties(marks: pd.DataFrame) -> pd.DataFrame | None:
    return None if _by_half(marks) is None else _whole(marks, marks["tie"])


def _of_majority(marks: pd.DataFrame) -> pd.DataFrame | None:
    """1 for the answer of most people, where people differ somewhere and most give one answer."""
    if not marks["differ"].any() or marks["right"].isna().all():
        return None
    marks = marks[marks["right"].notna()]
    return marks.assign(value=(marks["said"] == marks["right"]).astype(float).where(marks["valid"]))


MAJORITY = QuestionReading("the majority of people", "another question", "people", _of_majority)
ANSWERS_LIKE_PEOPLE = (
    QuestionReading("an invalid answer is wrong", "same question", "invalid", _invalid_wrong),
    INVALID,
    *WEIGHTS,
    MAJORITY,
)
PAIRS_LIKE_PEOPLE = (
    QuestionReading("a tie and a preference agree by half", "same question", "ties", _by_half),
    QuestionReading("only where nobody ties", "same question", "ties", _nobody_ties),
    QuestionReading("an invalid verdict is wrong", "same question", "invalid", _invalid_wrong),
    INVALID,
    *WEIGHTS,
    QuestionReading("without empty texts", "same question", "texts", _without_empty),
    MAJORITY,
    QuestionReading("the majority in both orders", "another question", "orders", _merged(_right_twice)),
)
RIGHT_OF_ANSWERS = (
    QuestionReading("an invalid answer is wrong", "same question", "invalid", _invalid_wrong),
    INVALID,
    *WEIGHTS,
    QuestionReading("every class alike", "another question", "classes", _alike("right")),
)
DISTANCE = (
    QuestionReading("root mean square", "same question", "distance", _squared, root=True),
    *WEIGHTS,
    QuestionReading("without the severity of each judge", "another question", "severity", _centred),
    QuestionReading("rank correlation over items", "another question", "order", _ranked, correlation=True),
    QuestionReading("rank correlation over systems", "another question", "order", _ranked_systems, correlation=True),
)
