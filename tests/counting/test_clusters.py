"""What is known of the clusters of a table of counts, and the flag that follows."""

from __future__ import annotations

import pytest

from judgestats import flags
from judgestats.counting.clustering import UNIT, Sharing
from judgestats.counting.clusters import Clusters, cluster_columns
from judgestats.errors import DesignError


@pytest.mark.parametrize(
    ("columns", "sharing", "auto", "flag", "independent"),
    [
        ((), Sharing("", False), True, "", True),
        ((), Sharing("", False), False, "", False),
        ((), Sharing("item", True), True, flags.NOT_INDEPENDENT, False),
        ((), Sharing("item", True), False, flags.NOT_INDEPENDENT, False),
        ((), None, True, flags.CLUSTERING_UNKNOWN, False),
        ((), None, False, "", False),
        (("item",), Sharing("item", True), True, "", False),
        ((UNIT,), Sharing("item", True), False, flags.NOT_INDEPENDENT, False),
    ],
)
def test_an_interval_is_flagged_where_it_takes_what_shares_something_as_independent(
    columns, sharing, auto, flag, independent
):
    clusters = Clusters.of(columns, sharing, auto=auto)
    assert (clusters.flag, clusters.independent) == (flag, independent)


def test_an_interval_takes_one_cluster():
    assert Clusters().column is None
    assert Clusters(("item",)).column == "item"
    with pytest.raises(DesignError, match="takes one cluster, and cluster= names 'item', 'task'"):
        _ = Clusters(("item", "task")).column


def test_columns_that_are_named_come_before_what_is_shared():
    assert cluster_columns(["task"], Sharing("item", True)) == ("task",)
    assert cluster_columns([], Sharing("item", True)) == ()
    assert cluster_columns(None, Sharing("item", True)) == ("item",)
    assert cluster_columns(None, Sharing("", False)) == cluster_columns(None, None) == ()
