"""Groups of judges that judged the same things."""

import pandas as pd

from judgestats.metrics.common_items import together


def test_groups_are_judges_with_half_of_their_items_in_common():
    pairs = [("a", range(10)), ("b", range(5, 15)), ("c", range(14, 30)), ("d", range(40, 45))]
    table = pd.DataFrame([(j, i) for j, items in pairs for i in items], columns=["judge", "item"])
    assert together(table["judge"], table["item"]) == [["a", "b"], ["c"], ["d"]]
