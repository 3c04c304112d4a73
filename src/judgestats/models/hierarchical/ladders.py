"""Counts of answers by difference in quality: by slot, or relative to the better candidate."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.models import links
from judgestats.models.bias_models.calls import ordered_labels
from judgestats.models.bias_models.tie_answers import answers
from judgestats.models.coding.model_frames import columns
from judgestats.schema.columns import COUNTS, N
from judgestats.typing import Floats, Ints, Mask


@dataclass(frozen=True)
class Ladder:
    """Counts of a psychometric model in N cells."""

    judges: tuple[str, ...]  # judges, conditions: labels, the baseline first
    conditions: tuple[str, ...]
    judge: Ints  # judge, condition (N,): codes
    condition: Ints
    # (N,): quality of the first slot minus that of the second, in smallest steps; 0 or more if slots are unknown
    x: Floats
    counts: Floats  # (N, 4): first, tie, second, either slot; if slots are unknown: correct, tie, wrong, either
    folded: bool  # whether slots are unknown
    random: Floats  # (J, 3): probabilities of a random answer
    unit: float  # the smallest step
    link: str = "logit"
    flag: dict[str, str] = field(default_factory=dict)  # judge -> flags of excluded or dependent calls

    @property
    def merged(self) -> Mask:
        """Cells in which the preferred candidate is not known."""
        return np.asarray(self.folded & (self.x == 0))


def ladder(data: IntoFrame, by: str | None, quality: str | None, baseline: str | None, link: str = "logit") -> Ladder:
    """Read answers by difference in quality; arguments as in :func:`psychometric`."""
    _check_columns(data, by, quality)
    calls, folded = answers(data, by, quality)
    table = calls.table
    table = table[table["n"] > 0]
    if table.empty:
        raise DesignError(
            f"There is no valid call ({flags.join(calls.flag()) or 'all counts are 0'}). Check choice and n."
        )
    if not np.isfinite(table["x"].to_numpy(dtype=float)).all():
        raise SchemaError("A difference in quality is infinite or missing. Leave these calls out.")
    if not (table["x"] != 0).any():
        raise DesignError("The difference in quality is 0 in every call: give delta and better, or quality=.")
    judges, conditions = ordered_labels(table["judge"]), ordered_labels(table["group"])
    if baseline is None and len(conditions) > 1:
        raise DesignError(f"{by!r} has {len(conditions)} values ({', '.join(conditions)}). Choose one as baseline=.")
    if baseline is not None and baseline not in conditions:
        raise DesignError(
            f"baseline={baseline!r} is not a value of {by!r}. Values: {', '.join(conditions)}."
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
    per_judge = table[table["pair"] != ""].groupby("judge").agg(n=("n", "sum"), pairs=("pair", "nunique"))
    shared = {str(j) for j, n, pairs in per_judge.itertuples() if n > pairs}
    notes = {j: flags.join(calls.flag(j), flags.NOT_INDEPENDENT if j in shared else "") for j in judges}
    x = wide["x"].to_numpy(dtype=float) / unit
    return Ladder(judges, conditions, code, group, x, counts, folded, random, unit, link, notes)


def _check_columns(data: IntoFrame, by: str | None, quality: str | None) -> None:
    """Raise if there is no column of counts, of the difference in quality, or of answers."""
    present = columns(data)
    tallied = "outcome" in present and "choice" not in present
    if tallied and not {N, COUNTS} & {*present}:
        raise SchemaError(f"The table has outcomes and no counts 'n'. Columns: {', '.join(present)}.")
    if by is not None and by not in present:
        raise DesignError(f"by={by!r} is not a column. Columns: {', '.join(present)}.{suggestion(by, present)}")
    if tallied:
        lacking = [c for c in ("judge", "delta") if c not in present]
        how = "A tally for psychometric() has judge, delta (difference in quality, 0 or more), outcome and n"
    else:
        sided = quality is not None and {f"{quality}_first", f"{quality}_second"} <= {*present}
        has_quality = sided or quality in present or (quality is None and "better" in present)
        lacking = [c for c in ("judge", "choice") if c not in present] + ([] if has_quality else [quality or "better"])
        how = (
            "Preferences for psychometric() have judge, first, second, choice, and delta and better, or quality= (a "
            "column, or the stem of <quality>_first and <quality>_second)"
        )
    if lacking:
        raise DesignError(
            f"There is no column {lacking[0]!r}. {how}. Columns: {', '.join(present)}.{suggestion(lacking[0], present)}"
        )


def _wide(table: pd.DataFrame, folded: bool) -> pd.DataFrame:
    """One row for each judge, condition and difference; the two halves of a tally without slots are added up."""
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
    """Cumulative distribution function of a link."""
    return links.LINKS[link].inverse(z)


def shares(data: Ladder, slope: Floats, criterion: Floats, bias: Floats, lapse: Floats) -> Floats:
    """Probabilities (..., N, 3) of first, tie and second, or correct, tie and wrong; the lapse is (..., J)."""
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
    """Share of correct answers, averaged over both orders, (..., J, G), at a difference `x` in smallest steps."""
    plain = (cdf(data.link, s * x + b - c) + cdf(data.link, s * x - b - c)) / 2
    return np.asarray((1 - lapse[..., None]) * plain + lapse[..., None] * data.random[:, :1], np.float64)


def threshold(data: Ladder, level: float, s: Floats, c: Floats, b: Floats, lapse: Floats) -> Floats:
    """Difference in quality, in units of the data, at which the share of correct answers is `level`; inf if none is."""
    low, high = np.zeros_like(s), np.full_like(s, 1e4)
    never = correct(data, high, s, c, b, lapse) < level
    for _ in range(60):
        middle = (low + high) / 2
        below = correct(data, middle, s, c, b, lapse) < level
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.where(never, math.inf, high * data.unit)
