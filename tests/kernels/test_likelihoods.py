from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgestats.kernels import likelihoods as lk
from twins_mixed import row_loss

KINDS = range(len(lk.KERNELS))
WITH_THRESHOLDS = [kind for kind in KINDS if lk.has_thresholds(lk.FAMILIES[kind])]


def total(kind: int, y: float, m: float) -> float:
    """The sum of y in a row: of the negative binomial family, m equal counts."""
    return y * m if kind == lk.NEGATIVE_BINOMIAL_LOG else y


finite = st.floats(-6, 6)


@pytest.mark.parametrize("kind", KINDS)
@given(eta=finite, middle=st.floats(-3, 3), gap=st.floats(0.05, 4), y=st.integers(0, 4))
def test_loss_is_minus_the_log_likelihood(kind, eta, middle, gap, y):
    row = (total(kind, y, 4.0), 4.0, eta, middle + gap, middle - gap)
    of_thresholds = lk.apart(kind, *(np.array([x]) for x in (4.0, middle + gap, middle - gap)))[0]
    got = lk.loss(lk.FAMILIES[kind], *row)[0] + of_thresholds[0]
    assert got == pytest.approx(row_loss(kind, *row), rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@given(eta=finite, middle=st.floats(-2, 2), gap=st.floats(0.2, 3), y=st.integers(0, 4))
def test_derivatives_by_the_linear_predictor(kind, eta, middle, gap, y):
    h, hi, lo = 1e-4, middle + gap, middle - gap
    up, down = (lk.loss(lk.FAMILIES[kind], total(kind, y, 4.0), 4.0, eta + s * h, hi, lo) for s in (1, -1))
    here = lk.loss(lk.FAMILIES[kind], total(kind, y, 4.0), 4.0, eta, hi, lo)
    for order in range(3):
        numeric = (up[order] - down[order]) / (2 * h)
        assert here[order + 1] == pytest.approx(numeric, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("kind", WITH_THRESHOLDS)
@given(eta=st.floats(-4, 4), middle=st.floats(-2, 2), gap=st.floats(0.2, 3))
def test_derivatives_by_the_thresholds(kind, eta, middle, gap):
    h, hi, lo = 1e-4, middle + gap, middle - gap
    got = lk.threshold_loss(lk.FAMILIES[kind], 6.0, 3.0, eta, hi, lo)
    for side, (dh, dl) in enumerate(((h, 0.0), (0.0, h))):
        up, down = (lk.loss(lk.FAMILIES[kind], 6.0, 3.0, eta, hi + s * dh, lo + s * dl) for s in (1, -1))
        for order in range(3):
            numeric = (up[order] - down[order]) / (2 * h)
            assert got[3 * side + order] == pytest.approx(numeric, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("kind", WITH_THRESHOLDS)
def test_what_stands_apart_from_the_loss_moves_with_the_gap_of_the_thresholds(kind):
    lo, gap, m, h = np.array([-3.0, 0.4, 2.0]), np.array([0.01, 0.7, 900.0]), np.full(3, 3.0), 1e-6
    value, slope = lk.apart(kind, m, lo + gap, lo)
    up, down = (lk.apart(kind, m, lo + gap * (1 + s * h), lo)[0] for s in (1, -1))
    assert slope == pytest.approx((up - down) / (2 * h * gap), rel=1e-5, abs=1e-8)
    for edge in ((np.inf, 1.0), (1.0, -np.inf)):
        assert [float(x[0]) for x in lk.apart(kind, np.ones(1), *(np.array([e]) for e in edge))] == [0.0, 0.0]
    assert (value[1] > 0) == (kind == lk.CUMULATIVE_LOGIT)


@pytest.mark.parametrize("eta", [-800.0, -40.0, 0.3, 40.0, 800.0])
def test_a_category_far_from_the_linear_predictor(eta):
    """Log P(lo < Y* < hi) of the logistic distribution in both tails, where the share itself is 0 in double precision."""
    with localcontext(prec=800):
        hi, lo = (1 / (1 + (Decimal(eta) - Decimal(x)).exp()) for x in (1.5, 0.5))
        wanted = float(-(hi - lo).ln())
    value, r, w, _ = lk.loss(lk.FAMILIES[lk.CUMULATIVE_LOGIT], 0.0, 1.0, eta, 1.5, 0.5)
    more = lk.apart(lk.CUMULATIVE_LOGIT, np.ones(1), np.array([1.5]), np.array([0.5]))[0][0]
    assert value + more == pytest.approx(wanted, rel=1e-12)
    assert r == pytest.approx(np.clip(eta - 1, -1, 1), abs=0.4)
    assert w >= 0


def test_open_categories_have_one_threshold():
    loss, r, w, _ = lk.loss(lk.FAMILIES[3], 0.0, 1.0, 0.3, 0.8, -np.inf)
    assert loss == pytest.approx(np.log1p(np.exp(-0.5)))
    assert lk.threshold_loss(lk.FAMILIES[3], 0.0, 1.0, 0.3, 0.8, -np.inf)[3:] == (0.0, 0.0, 0.0)
    assert r > 0
    assert w > 0


@pytest.mark.parametrize("x", [-40.0, -12.0, -5.0, -4.999, 0.0, 3.0, 30.0])
def test_probit_is_good_in_both_tails(x):
    from scipy.special import log_ndtr

    assert lk.loss(lk.FAMILIES[1], 1.0, 1.0, x, 0.0, 0.0)[0] == pytest.approx(-log_ndtr(x), rel=1e-12)


def test_between_does_not_cancel_in_the_upper_tail():
    from scipy.stats import norm

    assert lk.between(9.0, 8.0) == pytest.approx(norm.sf(8) - norm.sf(9), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_of_many_rows_are_those_of_each(kind):
    rng, N = np.random.default_rng(0), lk._AT_ONCE + 50  # more than one chunk
    y, m, eta = 3.0 * rng.integers(0, 2, N), np.full(N, 3.0), rng.normal(0, 4, N)
    lo = rng.normal(size=N)
    hi = lo + rng.random(N) + 0.1
    got = lk.derivatives(kind, y, m, eta, hi, lo)
    some = np.r_[:20, N - 20 : N]
    each = np.array([lk.loss(lk.FAMILIES[kind], y[i], m[i], eta[i], hi[i], lo[i]) for i in some])
    assert got[:, some] == pytest.approx(each.T, rel=1e-12, abs=1e-12)
    assert np.array(lk.losses(kind, y, m, eta, hi, lo)) == pytest.approx(got[:3])


def test_the_logit_does_not_overflow():
    far = np.array([-800.0, 800.0])
    value, r, w, w1 = lk.derivatives(0, np.array([1.0, 1.0]), np.ones(2), far, far, far)
    assert value == pytest.approx([800.0, 0.0])
    assert r == pytest.approx([-1.0, 0.0])
    assert w == pytest.approx([0.0, 0.0])
    assert w1 == pytest.approx([0.0, 0.0])


@pytest.mark.parametrize("kind", WITH_THRESHOLDS)
def test_threshold_derivatives_of_many_rows_are_those_of_each(kind):
    b = np.array([-1.0, 0.2, 3.0])
    got = lk.threshold_derivatives(kind, np.full(3, 6.0), np.full(3, 2.0), np.full(3, 0.4), b + 0.7, b)
    each = [lk.threshold_loss(lk.FAMILIES[kind], 6.0, 2.0, 0.4, x + 0.7, x) for x in b]
    assert got == pytest.approx(np.array(each).T, rel=1e-14)


def test_other_families_have_no_thresholds():
    assert [lk.has_thresholds(f) for f in lk.FAMILIES][:6] == [False, False, False, True, True, True]
    assert lk.threshold_loss(lk.FAMILIES[0], 1.0, 1.0, 0.5, 1.0, 0.0) == (0.0,) * 6
