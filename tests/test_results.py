"""Flags of results: few clusters."""

from __future__ import annotations

from judgestats.results import FEW_CLUSTERS, ONE_UNIT, few_clusters

# ---------------------------------------------------------------- shared words


def test_few_clusters():
    assert [few_clusters(g) for g in (0, 1, 2, 9, 10)] == [ONE_UNIT, ONE_UNIT, FEW_CLUSTERS, FEW_CLUSTERS, ""]
