"""Judges beside the best constant answer."""

from __future__ import annotations

from judgestats.reporting.summary_parts import Column


def beside_constant(column: Column) -> tuple[list[str], list[str]]:
    """Judges shown to be worse than the reference of a column, and those not distinguishable from it."""
    sign = -1 if column.lower_is_better else 1
    ends = {j: sorted(sign * float(c[end]) for end in ("conf_low", "conf_high")) for j, c in column.cells.items()}
    level = sign * column.reference
    worse = [j for j, (_, high) in ends.items() if high < level]
    return worse, [j for j, (low, high) in ends.items() if low <= level <= high]
