"""p-values adjusted for several tests."""

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from judgestats.kernels.adjustment import holm


@pytest.mark.parametrize("p", [[], [0.2], [0.03, 0.01, 0.9, 0.01], [1.0, 1.0, 0.4]])
def test_holm_is_that_of_statsmodels(p):
    np.testing.assert_array_equal(holm(np.array(p)), multipletests(np.array(p, dtype=float), method="holm")[1])
