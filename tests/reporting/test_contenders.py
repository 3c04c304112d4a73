"""Who is compared, and who judged the same things."""

import pandas as pd
import pytest

from judgestats.counting.study import Study
from judgestats.reporting.contenders import Contenders, shared_part, together


def test_groups_are_judges_with_half_of_their_items_in_common():
    pairs = [("a", range(10)), ("b", range(5, 15)), ("c", range(14, 30)), ("d", range(40, 45))]
    table = pd.DataFrame([(j, i) for j, items in pairs for i in items], columns=["judge", "item"])
    assert together(table["judge"], table["item"]) == [["a", "b"], ["c"], ["d"]]


def test_conditions_that_print_alike_are_one():
    calls = pd.DataFrame({"judge": ["g", "g", "h"], "item": "1", "temperature": [0.3, 0.1 + 0.2, 0.3]})
    who = Contenders.of(Study.of(calls), ["judge", "temperature"])
    assert who.said(dict.fromkeys(who.rows.index)) == "2 judges"


def coded(table):
    study = Study.of(table)
    return study.columns["judge"], study.columns.codes(["item"])


def test_rows_of_what_all_judged():
    """a judged 0 to 99, b 50 to 149, and z something else: 50 are shared, half of what each judged."""
    parts = [pd.DataFrame({"judge": j, "item": range(*ends)}) for j, ends in (("a", (0, 100)), ("b", (50, 150)))]
    table = pd.concat([*parts, pd.DataFrame({"judge": "z", "item": range(900, 940)})], ignore_index=True)
    rows, further = shared_part(*coded(table), ["a", "b"])
    assert further.tolist() == [50, 50, 0]
    assert table[rows].groupby("judge")["item"].agg(["min", "max", "size"]).values.tolist() == [
        [50, 99, 50], [50, 99, 50], [900, 939, 40]
    ]  # fmt: skip


@pytest.mark.parametrize("ends", [(0, 100), (51, 151), (71, 100)])
def test_none_where_all_is_shared_or_too_little(ends):
    parts = [pd.DataFrame({"judge": j, "item": range(*e)}) for j, e in (("a", (0, 100)), ("b", ends))]
    assert shared_part(*coded(pd.concat(parts, ignore_index=True)), ["a", "b"]) is None
