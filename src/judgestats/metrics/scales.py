"""Whether raters are on one scale: without it, differences of their scores say nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from judgestats.counting.study import Study
from judgestats.errors import DesignError

#: Fewest scores of a rater that show its scale.
_FEWEST_SCORES = 10
#: Two raters are on different scales if the top of one is so many times that of the other.
_APART = 3
#: A name that ends in the range of a scale: ``gpt_0_5``, ``gpt 1-10``, ``0_100``.
_RANGE = re.compile(r"(?:.*[_ ])?([01])[-_](\d+)")
_CURE = (
    "Differences of scores say nothing then. Name the scale in a column and in by=, bring all scores to one scale, or "
    "use measures that are free of scale, such as rank correlations."
)


def tops(scores: pd.Series[Any], raters: pd.Series[Any]) -> pd.DataFrame:
    """The score that 99 % of a rater's scores do not exceed (``top``); whether it gave one score only (``same``)."""
    grouped = pd.to_numeric(scores, errors="coerce").abs().groupby(raters.astype(object))
    top = grouped.quantile(0.99)
    table = pd.DataFrame({"top": top, "same": grouped.nunique() == 1})
    return table[(grouped.count() >= _FEWEST_SCORES) & (top > 0)]


def scales_apart(scores: pd.Series[Any], raters: pd.Series[Any]) -> tuple[str, str] | None:
    """Two raters who are on different scales, each as ``name, which goes up to top``; None if nothing shows that.

    A name that ends in a range (``gpt_0_5``) declares a scale where the scores bear it out. Else a top that is three
    times another: scales of 5 and 10 points look alike without names, and a rater that gave one score only may be on
    any scale.
    """
    table = tops(scores, raters)
    pair = _declared_apart(pd.to_numeric(scores, errors="coerce").groupby(raters.astype(object)).agg(["min", "max"]))
    varied = table.loc[~table["same"], "top"]
    if pair is None and len(varied) and table["top"].max() >= _APART * varied.min():
        pair = table["top"].idxmax(), varied.idxmin()
    if pair is None:
        return None
    high, low = (f"{name}, which goes up to {table['top'].get(name, scores[raters == name].max()):g}" for name in pair)
    return high, low


def _declared_apart(ends: pd.DataFrame) -> tuple[Any, Any] | None:
    """Names of two raters that declare different ranges, the higher one first; `ends`: their ``min`` and ``max``."""
    ranges = {name: found for name in ends.index if (found := _RANGE.fullmatch(str(name)))}
    spans = {name: (float(m[1]), float(m[2])) for name, m in ranges.items()}
    fit = [n for n, (low, high) in spans.items() if low <= ends.loc[n, "min"] and ends.loc[n, "max"] <= high]
    for one in sorted(fit, key=lambda n: spans[n][1], reverse=True):
        for two in fit:
            if spans[one] != spans[two] and ends.loc[one, "max"] > spans[two][1]:
                return one, two
    return None


def refuse_several_scales(scores: pd.Series[Any], raters: pd.Series[Any]) -> None:
    """Raise DesignError where raters who are compared by differences of scores are on scales far apart."""
    if pair := scales_apart(scores, raters):
        raise DesignError(f"The scores are not on one scale: there is {pair[0]}, and {pair[1]}. {_CURE}")


def refuse_declared_scales(ratings: Any, groups: Iterable[str]) -> None:
    """Raise DesignError where a column ``scale`` has several values within what is compared."""
    data, groups = Study.of(ratings).data, list(groups)
    if "scale" not in data.collect_schema().names() or "scale" in groups:
        return
    table = data.lazy().select(*groups, "scale").unique().collect(backend="pandas").to_native()
    several = table.groupby(groups, dropna=False)["scale"] if groups else [("", table["scale"])]
    for _, values in several:
        if len(levels := sorted(map(str, values.dropna().unique()))) > 1:
            raise DesignError(f"The scores are not on one scale: 'scale' has {', '.join(map(repr, levels))}. {_CURE}")


def on_one_scale(scores: pd.Series[Any], right: pd.Series[Any], judges: pd.Series[Any]) -> pd.Series[bool]:
    """Whether the judge of each score is on the scale of what its scores are compared with."""
    other = {
        judge
        for judge, rows in judges.groupby(judges.astype(object)).groups.items()
        if beside_gold(scores.loc[rows], right.loc[rows], str(judge))
    }
    return ~judges.isin(list(other))


def beside_gold(scores: Any, right: Any, judge: str, whose: Sequence[Any] = ()) -> tuple[str, str] | None:
    """As :func:`scales_apart`, of a judge's scores and what they are compared with, by default gold."""
    score, gold = (pd.Series(x).reset_index(drop=True) for x in (scores, right))
    names = list(whose) if len(whose) else ["gold"] * len(gold)
    return scales_apart(
        pd.concat([score, gold], ignore_index=True), pd.Series([judge] * len(score) + names, dtype=object)
    )
