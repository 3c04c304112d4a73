"""What the data must have for a measure to apply."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from judgestats.counting.study import Calls, Study
from judgestats.metrics.measure_registry import MeasureOptions, Need, column_names
from judgestats.metrics.references import labels, only_people

#: Largest number of levels of an incomplete design whose components a page computes.
QUICK = 500
#: Largest number of systems that are analysed one by one.
SYSTEMS = 500
#: Largest number of candidates, or judges, for comparisons of all pairs.
MANY = 60
#: Largest number of values listed in a message.
MOST = 12


def values_of(column: str, least: int = 2) -> Need:
    """Requires at least this many values of a column."""

    def missing(data: Calls, _: MeasureOptions) -> str:
        levels = labels(data, column)
        if len(levels) >= least:
            return ""
        needed = f"needs {('two', 'three', 'four')[least - 2]} values in a column {column!r}"
        return needed + (f", and finds {', '.join(map(repr, levels))}" if levels else "")

    return missing


def control_of(column: str) -> Need:
    """Requires two values of a column of conditions, one of them the known control condition."""

    def missing(data: Calls, options: MeasureOptions) -> str:
        why = values_of(column)(data, options)
        if why or column in options.baseline:
            return why
        listed = ", ".join(labels(data, column)[:MOST])
        return f"needs the baseline among the values of {column!r} ({listed}): name it in baseline="

    return missing


def against_control(
    data: Calls, options: MeasureOptions, column: str, call: Callable[[str, str], pd.DataFrame]
) -> pd.DataFrame:
    """Results of `call` for the control condition and each other condition, with the other in `column`."""
    base = options.baseline[column]
    others = [other for other in labels(data, column) if other != base]
    return pd.concat([call(base, other).assign(**{column: other}) for other in others], ignore_index=True)


def several_judges(data: Calls, _: MeasureOptions) -> str:
    """Requires two judges or more."""
    return "needs two judges" if len(labels(data, "judge")) < 2 else ""


def pairs_of_judges(data: Calls, options: MeasureOptions) -> str:
    """Requires two judges or more, but not too many for all pairs."""
    judges = len(labels(data, "judge"))
    return several_judges(data, options) or (
        f"{judges:,} judges are {judges * (judges - 1) // 2:,} pairs, too many for every pair (at most {MANY} judges): "
        "choose some of them first"
        if judges > MANY
        else ""
    )


def few_systems(data: Calls, _: MeasureOptions) -> str:
    """Requires few enough systems to analyse each."""
    systems = len(labels(data, "system"))
    return f"{systems:,} systems are too many to look into each" if systems > SYSTEMS else ""


def gold_column(data: Calls, _: MeasureOptions) -> str:
    """Requires a column of gold answers."""
    return "" if "gold" in column_names(data) else "needs a column 'gold'"


def people_named(data: Calls, options: MeasureOptions) -> str:
    """Requires judges that are known to be people."""
    if options.people is not None:
        return ""
    if only_people(data):
        return "every rater is a person: no judge is there to compare with them"
    judges = len(labels(data, "judge"))
    if judges == 1:
        return "needs answers of people too: join_labels(), or --labels-file"
    return f"needs to know which of the {judges} judges are people: name them in humans="


def items_shared(data: Calls, options: MeasureOptions) -> str:
    """Requires an item that a judge and a person answered."""
    if options.people is None or {*labels(data, "item")} & {*labels(options.people, "item")}:
        return ""
    return "people and judges have no item in common"


def with_people(data: Calls, options: MeasureOptions) -> tuple[Study, list[str]]:
    """Answers of judges and people in one table, and the names of the people."""
    assert options.people is not None
    study = Study.whole(data)
    everybody = study.part(pd.concat([study.data.to_native(), options.people]))
    return everybody, sorted(options.people["judge"].astype(str).unique())
