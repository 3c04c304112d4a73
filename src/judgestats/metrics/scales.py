"""Whether raters are on one scale: without it, differences of their scores say nothing."""

from __future__ import annotations

from typing import Any

import pandas as pd

from judgestats.errors import DesignError

#: Scores of a rater by which its scale is told, at least.
_FEWEST_SCORES = 10
#: Two raters are on different scales if the top of one is so many times that of the other.
_APART = 5


def tops(scores: pd.Series[Any], raters: pd.Series[Any]) -> pd.Series[Any]:
    """The score that 99 % of a rater's scores do not exceed; raters of few scores, or all 0, left out."""
    grouped = pd.to_numeric(scores, errors="coerce").abs().groupby(raters)
    top = grouped.quantile(0.99)
    return top[(grouped.count() >= _FEWEST_SCORES) & (top > 0)]


def refuse_several_scales(scores: pd.Series[Any], raters: pd.Series[Any], names: Any) -> None:
    """Raise DesignError where raters who are compared by differences of scores are on scales far apart.

    `raters`: their numbers in `names`.
    """
    top = tops(scores, raters)
    if len(top) > 1 and top.max() >= _APART * top.min():
        high, low = (str(names[rater]) for rater in (top.idxmax(), top.idxmin()))
        raise DesignError(
            f"The scores are not on one scale: those of {high!r} go up to {top.max():g}, of {low!r} to {top.min():g}. "
            "Differences of scores say nothing then. Name the scale in a column and in by=, bring all scores to one "
            "scale, or use measures that are free of scale, such as rank correlations."
        )


def on_one_scale(scores: pd.Series[Any], right: pd.Series[Any], judges: pd.Series[Any]) -> pd.Series[bool]:
    """Whether the judge of each score is on the scale of what its scores are compared with."""
    ratio = judges.map(tops(scores, judges) / tops(right, judges))
    return ~((ratio >= _APART) | (ratio <= 1 / _APART))
