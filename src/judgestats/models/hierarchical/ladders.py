"""Counts of answers over differences of quality: by slot, or against the better candidate."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.models.coding.frames import columns
from judgestats.models.verdicts.answers import answers
from judgestats.models.verdicts.calls import ordered_labels
from judgestats.results import NOT_INDEPENDENT, flags
from judgestats.schema.columns import COUNTS, N

Floats = NDArray[np.float64]
#: Name -> scale of the prior.
PRIORS: dict[str, float] = {
    "slope": 1.5, "criterion": 1.5, "bias": 1.0, "lapse": 1.0, "ratio": 1.0, "spread": 0.5, "spread_ratio": 0.5,
}  # fmt: skip
MEANING = {
    "slope": ("normal", "log of the slope per smallest step"),
    "criterion": ("normal", "log of the half-width of the range of ties"),
    "bias": ("normal", "lean to the first slot, in units of the latent scale; half-normal where slots are unknown"),
    "lapse": ("normal", "log-odds of twice the share of answers at random, around -2.75 (3 % of answers)"),
    "ratio": ("normal", "log ratio of slope and of criterion between conditions; difference of bias"),
    "spread": ("half-normal", "of the judges around each of the first four"),
    "spread_ratio": ("half-normal", "of the judges around each change between conditions"),
}
#: A judge that answers at random more often than not has no curve: without this bound, a wide prior finds one.
MOST_LAPSE = 0.5
#: Log-odds of a lapse among the lapses that may be: 3 % of answers.
LAPSE_CENTRE = -2.75
#: Log slope, log criterion, bias.
NAMES = ("slope", "criterion", "bias")


@dataclass(frozen=True)
class Ladder:
    """Counts of a psychometric model.

    Attributes
    ----------
    judges, conditions : tuple of str
        The baseline first.
    judge, condition : (N,) int arrays
        Of each cell.
    x : (N,) float array
        By how much the first slot is better, in smallest steps; of the better candidate (0 or more) where slots are
        unknown.
    counts : (N, 4) float array
        First, tie, second, and either of the slots; against the better candidate: correct, tie, wrong, either.
    folded : bool
        Whether slots are unknown.
    random : (J, 3) float array
        What an answer at random is.
    unit : float
        The smallest step.
    link : str
    flag : dict of str to str
        Judge -> what was set aside.
    """

    judges: tuple[str, ...]
    conditions: tuple[str, ...]
    judge: NDArray[np.int64]
    condition: NDArray[np.int64]
    x: Floats
    counts: Floats
    folded: bool
    random: Floats
    unit: float
    link: str = "logit"
    flag: dict[str, str] = field(default_factory=dict)

    @property
    def merged(self) -> NDArray[np.bool_]:
        """Cells in which it is not known which candidate was preferred."""
        return np.asarray(self.folded & (self.x == 0))


def ladder(data: Any, by: str | None, quality: str | None, baseline: str | None, link: str = "logit") -> Ladder:
    """Read answers over differences of quality.

    Parameters
    ----------
    data, by, quality, baseline, link
        As :func:`judgestats.models.hierarchical.curves.psychometric` takes them.

    Returns
    -------
    Ladder
    """
    _refuse_without_counts(data)
    _refuse_without_quality(data, by, quality)
    found, folded = answers(data, by, quality)
    table = found.table
    table = table[table["n"] > 0]
    if table.empty:
        raise DesignError(f"No call is left ({flags(found.flag()) or 'all counts are 0'}).")
    if not np.isfinite(table["x"].to_numpy(dtype=float)).all():
        raise SchemaError("A difference of quality is infinite or missing. Leave these calls out.")
    if not (table["x"] != 0).any():
        raise DesignError("The difference of quality is 0 in every call: give delta and better, or quality=.")
    judges, conditions = ordered_labels(table["judge"]), ordered_labels(table["group"])
    if baseline is None and len(conditions) > 1:
        raise DesignError(f"{by!r} has {len(conditions)} values ({', '.join(conditions)}). Say which is the baseline=.")
    if baseline is not None and baseline not in conditions:
        raise DesignError(
            f"baseline={baseline!r} is no value of {by!r}. Values: {', '.join(conditions)}."
            f"{suggestion(baseline, conditions)}"
        )
    conditions = ordered_labels(table["group"], baseline)
    wide = _wide(table, folded)
    unit = float(np.abs(wide["x"][wide["x"] != 0]).min())
    code = pd.Index(judges).get_indexer(wide["judge"].astype(str).to_numpy(dtype=object))
    group = pd.Index(conditions).get_indexer(wide["group"].astype(str).to_numpy(dtype=object))
    counts = wide[["first", "tie", "second", "either"]].to_numpy(dtype=float)
    tied = np.bincount(code, counts[:, 1], minlength=len(judges)) > 0
    random = np.where(tied[:, None], 1 / 3, np.array([0.5, 0.0, 0.5])[None])
    known = table[table["pair"] != ""].groupby("judge").agg(n=("n", "sum"), pairs=("pair", "nunique"))
    shared = {str(j) for j, n, pairs in known.itertuples() if n > pairs}
    told = {j: flags(found.flag(j), NOT_INDEPENDENT if j in shared else "") for j in judges}
    return Ladder(judges, conditions, code, group, wide["x"].to_numpy(dtype=float) / unit, counts, folded, random, unit,
                  link, told)  # fmt: skip


def _refuse_without_counts(data: Any) -> None:
    present = columns(data)
    if "outcome" in present and "choice" not in present and not {N, COUNTS} & {*present}:
        raise SchemaError(f"The table has outcomes and no counts 'n'. Columns: {', '.join(present)}.")


def _refuse_without_quality(data: Any, by: str | None, quality: str | None) -> None:
    """Raise where a column is missing that says by how much one candidate is better, or what was answered."""
    present = columns(data)
    if by is not None and by not in present:
        raise DesignError(f"by={by!r} is no column. Columns: {', '.join(present)}.{suggestion(by, present)}")
    tallied = "outcome" in present and "choice" not in present
    if tallied:
        lacking = [c for c in ("judge", "delta") if c not in present]
        how = "A tally for psychometric() has judge, delta (difference of quality, 0 or more), outcome and n"
    else:
        sided = quality is not None and {f"{quality}_first", f"{quality}_second"} <= {*present}
        known = sided or quality in present or (quality is None and "better" in present)
        lacking = [c for c in ("judge", "choice") if c not in present] + ([] if known else [quality or "better"])
        how = (
            "Preferences for psychometric() have judge, first, second, choice, and delta and better, or quality= (a "
            "column, or the stem of <quality>_first and <quality>_second)"
        )
    if lacking:
        raise DesignError(
            f"There is no column {lacking[0]!r}. {how}. Columns: {', '.join(present)}.{suggestion(lacking[0], present)}"
        )


def _wide(table: pd.DataFrame, folded: bool) -> pd.DataFrame:
    """One row for each judge, condition and difference; the halves of a tally without slots put together again."""
    keys = ["judge", "group", "x"]
    table = table.assign(x=table["x"].astype(float) + 0.0)
    wide = table.pivot_table(index=keys, columns="answer", values="n", aggfunc="sum", observed=True)
    wide = wide.reindex(columns=["first", "tie", "second"]).fillna(0.0).reset_index().assign(either=0.0)
    if not folded:
        return wide
    wide = wide[wide["x"] >= 0].reset_index(drop=True)
    level, two = wide["x"] == 0, np.where(wide["x"] > 0, 2.0, 1.0)
    wide["either"] = (wide["first"] + wide["second"]).where(level, 0.0)
    for name in ("first", "second"):
        wide[name] = (wide[name] * two).where(~level, 0.0)
    wide["tie"] = wide["tie"] * two
    return wide


def cdf(link: str, z: Floats) -> Floats:
    """Distribution function of a link.

    Parameters
    ----------
    link : {'logit', 'probit'}
    z : array

    Returns
    -------
    array
    """
    result: Floats = expit(z) if link == "logit" else ndtr(z)
    return result


def shares(data: Ladder, slope: Floats, criterion: Floats, bias: Floats, lapse: Floats) -> Floats:
    """Probabilities of first, tie and second (correct, tie and wrong) in each cell.

    Parameters
    ----------
    data : Ladder
    slope, criterion, bias : (..., J, G) float arrays
        Slope per smallest step.
    lapse : (..., J) float array

    Returns
    -------
    (..., N, 3) float array
    """
    j, g = data.judge, data.condition
    s, c, b = (v[..., j, g] for v in (slope, criterion, bias))
    one, two = cdf(data.link, s * data.x + b - c), cdf(data.link, -s * data.x - b - c)
    if data.folded:
        one = (one + cdf(data.link, s * data.x - b - c)) / 2
        two = (two + cdf(data.link, -s * data.x + b - c)) / 2
    plain = np.stack([one, np.clip(1 - one - two, 0.0, 1.0), two], axis=-1)
    at_random = lapse[..., j, None]
    return (1 - at_random) * plain + at_random * data.random[j]


def correct(data: Ladder, x: Floats, s: Floats, c: Floats, b: Floats, lapse: Floats) -> Floats:
    """Share of correct answers, both orders alike, at a difference `x` in smallest steps.

    Parameters
    ----------
    data : Ladder
    x, s, c, b : (..., J, G) float arrays
    lapse : (..., J) float array

    Returns
    -------
    (..., J, G) float array
    """
    plain = (cdf(data.link, s * x + b - c) + cdf(data.link, s * x - b - c)) / 2
    result: Floats = (1 - lapse[..., None]) * plain + lapse[..., None] * data.random[:, :1]
    return result


def threshold(data: Ladder, level: float, s: Floats, c: Floats, b: Floats, lapse: Floats) -> Floats:
    """Difference of quality at which the share of correct answers is `level`; inf where it never is.

    Parameters
    ----------
    data : Ladder
    level : float
    s, c, b : (..., J, G) float arrays
    lapse : (..., J) float array

    Returns
    -------
    (..., J, G) float array
        In the units of the data.
    """
    low, high = np.zeros_like(s), np.full_like(s, 1e4)
    never = correct(data, high, s, c, b, lapse) < level
    for _ in range(60):
        middle = (low + high) / 2
        below = correct(data, middle, s, c, b, lapse) < level
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.where(never, math.inf, high * data.unit)
