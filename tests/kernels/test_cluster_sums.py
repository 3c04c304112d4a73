"""How many clusters unequal ones are worth."""

import numpy as np
import pytest

from judgestats.kernels.cluster_sums import effective_clusters


def test_equal_clusters_are_worth_their_number_and_unequal_ones_less():
    assert effective_clusters(np.array([10.0, 10.0, 10.0])) == 3
    assert effective_clusters(np.array([28.0, 1.0, 1.0])) == pytest.approx(900 / 786)
    assert effective_clusters(np.array([10.0]), 3.0) == 3
