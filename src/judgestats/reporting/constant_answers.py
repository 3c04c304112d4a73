"""Judges beside the best constant answer."""

from __future__ import annotations

import math

from judgestats.defaults import CONF_LEVEL
from judgestats.kernels.proportions import normal_quantile
from judgestats.reporting.summary_parts import CHANCE, Column

_ENDS = ("conf_low", "estimate", "conf_high")


def beside_constant(column: Column) -> tuple[list[str], list[str]]:
    """Judges shown to be worse than the reference of a column, and others that are not shown to be better.

    "Worse" holds for all judges at once (Bonferroni), by wider intervals where the reference is an estimate, too: its
    error is taken to be that of a judge.
    """
    sign = -1 if column.lower_is_better else 1
    wider = 1.0 if column.line == CHANCE else math.sqrt(2)
    wider *= normal_quantile(1 - (1 - CONF_LEVEL) / max(len(column.cells), 1)) / normal_quantile(CONF_LEVEL)
    ends = {j: sorted(sign * (float(c[k]) - column.reference) for k in _ENDS) for j, c in column.cells.items()}
    worse = [j for j, (_, middle, high) in ends.items() if middle + wider * (high - middle) < 0]
    return worse, [j for j, (low, *_) in ends.items() if low <= 0 and j not in worse]
