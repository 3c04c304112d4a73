"""Who is compared, and who judged the same things."""

import pandas as pd

from judgestats.counting.study import Study
from judgestats.reporting.contenders import Contenders, together


def test_groups_are_judges_with_half_of_their_items_in_common():
    pairs = [("a", range(10)), ("b", range(5, 15)), ("c", range(14, 30)), ("d", range(40, 45))]
    table = pd.DataFrame([(j, i) for j, items in pairs for i in items], columns=["judge", "item"])
    assert together(table["judge"], table["item"]) == [["a", "b"], ["c"], ["d"]]


def test_conditions_that_print_alike_are_one():
    calls = pd.DataFrame({"judge": ["g", "g", "h"], "item": "1", "temperature": [0.1, 0.1000000001, 0.1]})
    who = Contenders.of(Study.of(calls), ["judge", "temperature"])
    assert who.said(dict.fromkeys(who.rows.index)) == "2 judges"
