"""Every measure with by= refuses what is no column of its frame, and the column of the verdicts."""

import inspect

import pytest

import registry
from judgestats.errors import JudgestatsError
from judgestats.metrics.measure_registry import measures

CASES = registry.registry()
GROUPED = [
    name
    for name, case in CASES.items()
    if "," not in name and case.call is measures()[name].function
    and "by" in inspect.signature(measures()[name].function).parameters
]  # fmt: skip


@pytest.mark.parametrize("name", GROUPED)
def test_a_group_is_a_column_and_not_the_verdicts(name):
    data = CASES[name].data().head(40)
    with pytest.raises(JudgestatsError, match="by='nobody' is not a column of the"):
        CASES[name].call(data, by="nobody")
    number = next((c for c in ("score", "correct") if c in data), None)
    if number and "choice" not in data:
        with pytest.raises(JudgestatsError, match=f"by='{number}'"):
            CASES[name].call(data, by=number)
