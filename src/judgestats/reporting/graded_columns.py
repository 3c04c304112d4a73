"""Graded preferences between two candidates: the mean strength beside the share above one half."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from judgestats.counting.study import Study
from judgestats.metrics.bias import preference_rate
from judgestats.metrics.measure_registry import MeasureOptions
from judgestats.reporting.estimate_rows import row_of_each
from judgestats.reporting.formatting import PERCENT, printed
from judgestats.reporting.page_claims import Claim, Relation
from judgestats.reporting.summary_parts import Card, SummaryColumn

_LINE = f"dashed: no preference, 50{PERCENT}"


def graded_columns(calls: Study, options: MeasureOptions) -> list[SummaryColumn]:
    """The columns of each judge, for the candidate that is preferred on the whole; none where no strength is graded."""
    names = [str(name) for name in calls.shown.names]
    if "strength" not in calls.names or "stimulus" in calls.names or len(names) != 2:
        return []
    strength = pd.to_numeric(calls.columns.series("strength"), errors="coerce")
    if not (strength.gt(0) & strength.lt(1) & strength.ne(0.5)).any():
        return []
    rates = preference_rate(calls.data.to_native(), graded=True, cluster=options.cluster, conf_level=options.conf_level)
    means = rates[(rates["term"] == "win_rate") & rates["estimate"].notna()]
    preferred = str(means.groupby("candidate", observed=True)["estimate"].mean().sort_values(kind="stable").index[-1])
    other = next(name for name in names if name != preferred)
    columns = []
    for source, term, label, note, line in (
        ("win_rate", "strength", f"Mean strength for {preferred}", f"from 0{PERCENT} for {other}", _LINE),
        ("win", "above_half", f"Prefers {preferred}", "share of calls above one half", ""),
    ):
        rows = rates[(rates["candidate"] == preferred) & (rates["term"] == source) & rates["estimate"].notna()]
        reference = 0.5 if line else float("nan")
        columns.append(SummaryColumn(term, label, note, "share", row_of_each(rows, ()), False, reference, line))
    return columns


def graded_card(columns: Sequence[SummaryColumn]) -> Card | None:
    """Which of two candidates is preferred, how strongly, and how often."""
    column = {c.term: c for c in columns}
    if "strength" not in column:
        return None
    preferred = column["strength"].label.removeprefix("Mean strength for ")
    (strong, low), often = _span(column["strength"]), _span(column["above_half"])[0]
    claim = preferred if low > 0.5 else f"{preferred}, but not of every judge"
    detail = f"{often} of calls are above one half"
    order = sorted(column["strength"].cells, key=lambda j: float(column["strength"].cells[j]["estimate"]))
    ends = tuple(dict.fromkeys((order[0], order[-1])))
    values = tuple(float(column["strength"].cells[j]["estimate"]) for j in ends)
    relation: Relation = "from to" if len(ends) > 1 else "is"
    says = Claim("", "card", "graded", "strength", ends, relation, values, tuple(order), ("comparison",))
    return Card("graded", "Preferred of two", f"{claim}: mean strength {strong}", detail, "", (says,))


def _span(column: SummaryColumn) -> tuple[str, float]:
    """The values of the judges in words, and the lowest of them."""
    values = [float(cell["estimate"]) for cell in column.cells.values()]
    ends = list(dict.fromkeys(printed(v, "share") for v in (min(values), max(values))))
    return (ends[0] if len(ends) == 1 else f"{ends[0].removesuffix(PERCENT)} to {ends[1]}"), min(values)
