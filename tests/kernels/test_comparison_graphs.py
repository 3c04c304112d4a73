"""Which strengths are finite: cases by hand, and the likelihood's own behaviour."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from judgestats.kernels import comparison_graphs
from judgestats.kernels import paired_comparisons as kernel
from kernels.arguments import comparisons


def square(pairs, size):
    table = np.zeros((size, size))
    for i, j in pairs:
        table[i, j] += 1
    return table


@pytest.mark.parametrize(
    ("wins", "ties", "tied", "expected"),
    [
        ([(0, 1), (1, 2), (2, 0)], [], False, [0, 0, 0]),
        ([(0, 1), (0, 2), (1, 2), (2, 1)], [], False, [np.inf, 0, 0]),
        ([(1, 0), (2, 0), (1, 2), (2, 1)], [], False, [-np.inf, 0, 0]),
        # two that beat three others: the larger group is finite
        ([(0, 1), (1, 0), (0, 2), (1, 3), (2, 3), (3, 4), (4, 2)], [], False, [np.inf, np.inf, 0, 0, 0]),
        # 3 lost to 0 only, which beat all: it may stand anywhere below
        ([(0, 1), (0, 3), (1, 2), (2, 1)], [], False, [np.inf, 0, 0, np.nan]),
        ([(0, 1), (1, 2)], [], False, [np.inf, np.nan, -np.inf]),
        ([(0, 1), (1, 0), (2, 3), (3, 2), (0, 2)], [], False, [np.inf, np.inf, -np.inf, -np.inf]),
        # a tie is half a win for each: finite; with a parameter of ties, wins and ties without a loss are not
        ([(0, 1)], [(0, 1)], False, [0, 0]),
        ([(0, 1)], [(0, 1)], True, [np.inf, -np.inf]),
        # a cycle of wins bounds the parameter of ties, and so ties hold
        ([(0, 1), (1, 2), (2, 1)], [(0, 1)], True, [0, 0, 0]),
        # 0 beat 1 beat 2, and 0 tied with 2: no parameters grant both, so that the maximum is finite
        ([(0, 1), (1, 2)], [(0, 2)], True, [0, 0, 0]),
    ],
)
def test_which_strengths_are_finite(wins, ties, tied, expected):
    size = len(expected)
    of_ties = square(ties, size)
    _, limit = comparison_graphs.limits(square(wins, size), of_ties + of_ties.T, tied=tied)
    np.testing.assert_array_equal(limit, np.array(expected, dtype=float))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["bradley-terry", "davidson", "rao-kupper"]))
def test_a_finite_maximum_is_found_and_no_other_is_claimed(seed, model):
    """Where the limits are finite the gradient vanishes at moderate strengths; else the likelihood rises on and on."""
    rng = np.random.default_rng(seed)
    size = 4
    one, two = np.triu_indices(size, 1)
    counts = (rng.random((len(one), 3)) < 0.35).astype(float)
    if model == "bradley-terry":
        counts[:, 2] = 0
    if not counts[:, :2].any() or (model != "bradley-terry" and not counts[:, 2].any()):
        return
    met = np.zeros((size, size), dtype=bool)
    met[one, two] = counts.any(axis=1)
    if comparison_graphs.pieces(met).max() > 0:
        return
    wins = np.zeros((size, size))
    wins[one, two], wins[two, one] = counts[:, 0], counts[:, 1]
    ties = np.zeros((size, size))
    ties[one, two] = ties[two, one] = counts[:, 2]
    component, limit = comparison_graphs.limits(wins, ties, tied=model != "bradley-terry")
    data = comparisons(one, two, counts)

    def loss(p):
        tau = np.exp(np.clip(p[-1], -30, 30)) if model == "rao-kupper" else p[-1]
        return -kernel.derivatives(model, data, np.array([0.0, *p[:-1]]), np.zeros(0), float(tau))[0]

    best = minimize(loss, np.zeros(size), method="Nelder-Mead", options={"maxiter": 4000, "fatol": 1e-10})
    if (component == component[0]).all():
        fit = kernel.strengths(model, data, component.astype(np.int64))
        assert fit.converged
        assert np.abs(fit.beta).max() < 20
        assert fit.log_likelihood >= -best.fun - 1e-6
    else:
        assert (limit != 0).any()
        far = minimize(lambda p: loss(p) + 1e-5 * float(p @ p), best.x, method="BFGS")
        nearer = minimize(lambda p: loss(p) + 1e-2 * float(p @ p), np.zeros(size), method="BFGS")
        assert np.abs(far.x).max() > np.abs(nearer.x).max() + 1
