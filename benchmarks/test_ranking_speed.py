"""A ranking of 100 systems by 1,000,000 votes on 20,000 items, in one run with scikit-learn's logistic regression.

Ours counts the votes, fits, and gives clustered standard errors and sets of ranks; the peer fits. The times are
reports, never assertions; what is asserted is that both give the same strengths.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import peer_ranking
import pytest

import judgestats as js


@pytest.fixture(scope="module")
def votes() -> pd.DataFrame:
    js.rank_systems(peer_ranking.made_votes(20_000, 10))  # warms up
    return peer_ranking.made_votes()


@pytest.mark.benchmark(group="ranking of 100 systems by 1,000,000 votes (peer: no standard errors)")
def test_ours(benchmark, votes):
    result = benchmark.pedantic(js.rank_systems, args=(votes,), rounds=3)
    assert result["std_error"].notna().sum() == 100


@pytest.mark.benchmark(group="ranking of 100 systems by 1,000,000 votes (peer: no standard errors)")
def test_peer(benchmark, votes):
    expected = benchmark.pedantic(peer_ranking.ranking, args=(votes,), rounds=3)
    result = js.rank_systems(votes)
    strength = result[result["term"] == "strength"].set_index("system")["estimate"]
    np.testing.assert_allclose(strength[expected.index], expected, atol=2e-4)
