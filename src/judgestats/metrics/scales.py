"""Whether raters are on one scale: without it, differences of their scores say nothing."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from judgestats import flags
from judgestats.counting.study import Calls, Study
from judgestats.errors import DesignError
from judgestats.schema.coding import hashed, rows_of_codes
from judgestats.schema.opening import frame_columns
from judgestats.typing import Column, Floats, Integers, Mask, Record

#: Fewest scores of a rater that show its scale.
_FEWEST_SCORES = 10
#: Two raters are on different scales if the top of one is so many times that of the other.
_APART = 3
#: A name that ends in the range of a scale: ``gpt_0_5``, ``gpt 1-10``, ``0_100``.
_RANGE = re.compile(r"(?:.*[_ ])?([01])[-_](\d+)")
_NUMBERS = ("estimate", "std_error", "conf_low", "conf_high", "p_value", "p_adjusted", "share", "raw")
_REMEDY = (
    "Differences of scores say nothing then. Name the scale in a column and in by=, bring all scores to one scale, or "
    "use measures that are free of scale, such as rank correlations."
)


class _Ends(NamedTuple):
    """Where the scores of raters end."""

    names: list[str]  # of the raters, sorted
    n: Floats  # how many scores they gave
    low: Floats
    high: Floats
    top: Floats  # absolute value that 99 % of their scores do not exceed
    same: Mask  # whether all have one absolute value


def _numbers(scores: Any) -> Floats:
    if isinstance(scores.dtype, np.dtype) and scores.dtype.kind == "f":
        return np.asarray(scores, dtype=float)
    return np.asarray(pd.to_numeric(pd.Series(scores), errors="coerce"), dtype=float)


def _ends(x: Floats, code: Integers, names: Sequence[str]) -> _Ends:
    """Ends of the scores `x` (N,) of each rater, by codes (N,) of sorted names; negative codes are no rater."""
    used = ~np.isnan(x) & (code >= 0)
    x, code = x[used], code[used]
    order = np.lexsort((np.abs(x), code.astype(np.min_scalar_type(len(names)))))  # small codes are sorted in one pass
    x, size = x[order], np.abs(x[order])
    n = np.bincount(code, minlength=len(names))
    present = np.flatnonzero(n)
    n = n[present]
    start = np.cumsum(n) - n
    if not n.size:
        none = np.empty(0)
        return _Ends([], none, none, none, none, none.astype(bool))
    place = 0.99 * (n - 1)
    below, above = start + np.floor(place).astype(int), start + np.ceil(place).astype(int)
    top = size[below] + (size[above] - size[below]) * (place % 1)
    low, high = (f.reduceat(x, start) for f in (np.minimum, np.maximum))
    return _Ends([names[int(k)] for k in present], n.astype(float), low, high, top, size[start] == size[start + n - 1])


def scales_apart(scores: pd.Series, raters: pd.Series) -> tuple[str, str] | None:
    """Two raters who are on different scales, each as ``name, which goes up to top``; None if nothing shows that.

    A name that ends in a range (``gpt_0_5``) declares a scale where the scores bear it out. Else a top that is three
    times another: a rater that gave one score only may be on any scale.
    """
    code, names = hashed(pd.Series(raters))
    rank = np.argsort([str(name) for name in names], kind="stable")
    code = np.append(np.argsort(rank), -1)[code]
    return _apart(_ends(_numbers(scores), code, [str(names[int(k)]) for k in rank]))


def _apart(ends: _Ends) -> tuple[str, str] | None:
    """As :func:`scales_apart`, from the ends of the raters' scores."""
    pair = _declared_apart(ends)
    enough = (ends.n >= _FEWEST_SCORES) & (ends.top > 0)
    varied = enough & ~ends.same
    if pair is None and varied.any():
        highest, lowest = np.where(enough, ends.top, -math.inf), np.where(varied, ends.top, math.inf)
        pair = int(highest.argmax()), int(lowest.argmin())
        if highest.max() < _APART * lowest.min():
            return None
    if pair is None:
        return None
    top_scores = np.where(enough, ends.top, ends.high)
    high, low = (f"{ends.names[k]}, which goes up to {top_scores[k]:g}" for k in pair)
    return high, low


def _declared_apart(ends: _Ends) -> tuple[int, int] | None:
    """Places of two raters whose names declare different ranges, the higher one first."""
    ranges = {k: match for k, name in enumerate(ends.names) if (match := _RANGE.fullmatch(name))}
    spans = {k: (float(m[1]), float(m[2])) for k, m in ranges.items()}
    fit = [k for k, (low, high) in spans.items() if low <= ends.low[k] and ends.high[k] <= high]
    for one in sorted(fit, key=lambda k: spans[k][1], reverse=True):
        for two in fit:
            if spans[one] != spans[two] and ends.high[one] > spans[two][1]:
                return one, two
    return None


def refuse_several_scales(scores: Column, raters: Column) -> None:
    """Raise DesignError where raters who are compared by differences of scores are on scales far apart."""
    if pair := scales_apart(scores, raters):
        raise DesignError(f"The scores are not on one scale: there is {pair[0]}, and {pair[1]}. {_REMEDY}")


def refuse_declared_scales(ratings: Calls, groups: Iterable[str]) -> None:
    """Raise DesignError where a column ``scale`` has several values within what is compared."""
    data, groups = Study.of(ratings).data, list(groups)
    if "scale" not in frame_columns(data) or "scale" in groups:
        return
    table = data.lazy().select(*groups, "scale").unique().collect(backend="pandas").to_native()
    several = table.groupby(groups, dropna=False)["scale"] if groups else [("", table["scale"])]
    for _, values in several:
        if len(levels := sorted(map(str, values.dropna().unique()))) > 1:
            raise DesignError(f"The scores are not on one scale: 'scale' has {', '.join(map(repr, levels))}. {_REMEDY}")


def on_one_scale(scores: Column, right: Column, judges: Column) -> pd.Series[bool]:
    """Whether the judge of each score is on the scale of what its scores are compared with."""
    code, names = pd.factorize(judges)
    x, gold = _numbers(scores), _numbers(right)
    each = zip(names, rows_of_codes(code, len(names)), strict=True)
    return ~judges.isin([name for name, rows in each if apart_from_gold(x[rows], gold[rows], str(name))])


def apart_from_gold(scores: Column | Floats, right: Column | Floats, judge: str) -> tuple[str, str] | None:
    """As :func:`scales_apart`, of a judge's scores and the gold that they are compared with."""
    score, gold = _numbers(scores), _numbers(right)
    names = sorted({judge, "gold"})
    code = np.repeat([names.index(judge), names.index("gold")], [score.size, gold.size])
    return _apart(_ends(np.append(score, gold), code, names))


def columns_apart(scores: Floats, raters: Sequence[object], start: Integers) -> Iterator[tuple[int, tuple[str, str]]]:
    """As :func:`scales_apart`, of raters in the columns of matrices: each that begins at a row of `start` and has two.

    Only matrices in which a score exceeds another's scale, or a name declares one, are looked at closely.
    """
    if not scores.size:
        return
    highest = np.fmax.reduceat(np.abs(scores), start)
    beyond = (highest >= _APART * np.fmin.reduce(highest, axis=1, keepdims=True)).any(axis=1)
    ends, declared = np.append(start, len(scores)), any(_RANGE.fullmatch(str(r)) for r in raters)
    for g in np.flatnonzero(beyond | declared):
        rows = scores[ends[g] : ends[g + 1]]
        if pair := scales_apart(rows.ravel(order="F"), np.repeat(np.array(raters, dtype=object), len(rows))):
            yield int(g), pair


def unmeasured(row: Mapping[str, Any], apart: tuple[str, str] | None) -> Record:
    """A row of results; without numbers, and flagged, if it compares different scales."""
    if apart is None:
        return dict(row)
    none = {c: math.nan for c in _NUMBERS if c in row}
    return {**row, **none, "flag": flags.join(flags.OTHER_SCALE.of(high=apart[0], low=apart[1]), row.get("flag", ""))}


def across_scales(
    table: pd.DataFrame, scores: pd.DataFrame, groups: Sequence[str], compared: Collection[str], own: Collection[str]
) -> pd.DataFrame:
    """Results of judges, checked for scales within each group of `scores` (``judge``, ``mean``).

    `compared`: terms without a number where the judges, or ``judge`` and ``other`` of a row, are on different scales.
    `own`: terms of one judge, which get a flag.
    """
    groups, replaced = [c for c in groups if c != "judge"], dict[int, dict[Any, Any]]()
    for key, part in scores.groupby(groups, dropna=False) if groups else [((), scores)]:
        if not (pair := scales_apart(part["mean"], part["judge"])):
            continue
        in_group = [table[c].isna() if pd.isna(v) else table[c] == v for c, v in zip(groups, key, strict=True)]
        for i in map(int, np.flatnonzero(np.logical_and.reduce([table["term"].isin([*compared, *own]), *in_group]))):
            row: dict[Any, Any] = table.iloc[i].to_dict()
            apart: tuple[str, str] | None = pair
            if row["term"] in own:
                replaced[i] = {**row, "flag": flags.join(flags.OWN_SCALE.of(high=pair[0], low=pair[1]), row["flag"])}
                continue
            if row.get("judge") and row.get("other"):
                two = part[part["judge"].isin([row["judge"], row["other"]])]
                apart = scales_apart(two["mean"], two["judge"])
            replaced[i] = unmeasured(row, apart)
    if not replaced:
        return table
    rows = [replaced.get(i, row) for i, row in enumerate(table.to_dict("records"))]
    return pd.DataFrame(rows, columns=table.columns).astype(table.dtypes)
