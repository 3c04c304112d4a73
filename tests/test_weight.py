"""docs/weight.csv has what benchmarks/weight.py measures, and docs/benchmarks.md shows it."""

import pytest
import weight

ROWS = weight.stored_rows()


def test_each_number_to_reach_has_a_row():
    rows = [(row.what, row.unit, row.limit) for _, rows in weight.TASKS.values() for row in rows]
    assert [(row["what"], row["unit"], row["limit"]) for row in ROWS] == rows
    assert sum(row["now"] == "" for row in ROWS) < len(ROWS) / 2


def test_ratios_are_those_of_the_numbers():
    for row in ROWS:
        if row["then"] and row["now"]:
            assert float(row["ratio"]) == pytest.approx(float(row["now"]) / float(row["then"]), rel=0.02)


def test_the_page_shows_the_table():
    page = weight.PAGE.read_text(encoding="utf-8")
    assert page.partition(weight.START)[2].partition(weight.END)[0] == weight.page_of(ROWS)


@pytest.mark.parametrize(
    ("limit", "now", "ratio", "met"),
    [
        ("ratio at most 0.1", "9", "0.1", True),
        ("ratio at most 0.1", "0", "0.11", False),
        ("now at least 250", "249", "", False),
        ("now at most 8", "8", "9", True),
    ],
)
def test_a_limit_is_kept_or_not(limit, now, ratio, met):
    assert weight.met({"limit": limit, "now": now, "ratio": ratio}) is met
