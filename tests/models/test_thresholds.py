from __future__ import annotations

import numpy as np
import pytest

from judgestats.models.thresholds import thresholds


def test_symmetric_thresholds_of_three_categories_are_midpoint_and_half_width():
    t = thresholds(["loses", "tie", "wins"], "logit", "symmetric")
    assert t.names == ("midpoint", "half-width")
    assert t.at(np.array([0.2, 0.5])).tolist() == [[pytest.approx(-0.3), 0.7]]


def test_symmetric_thresholds_of_more_categories():
    t = thresholds(list("12345"), "probit", "symmetric")
    assert t.names == ("midpoint", "half-width 1", "half-width 2")
    assert t.at(np.array([1.0, 0.5, 2.0]))[0] == pytest.approx([-1.0, 0.5, 1.5, 3.0])
    odd = thresholds(list("1234"), "probit", "symmetric")
    assert odd.at(np.array([1.0, 0.5]))[0] == pytest.approx([0.5, 1.0, 1.5])


def test_a_parameter_may_vary_by_a_factor():
    sets = [{"half-width": "a"}, {"half-width": "b"}]
    t = thresholds(["l", "t", "w"], "logit", "symmetric", {"half-width": ["a", "b"]}, sets)
    assert t.names == ("midpoint", "half-width[a]", "half-width[b]")
    assert t.at(np.array([0.0, 0.5, 2.0])) == pytest.approx(np.array([[-0.5, 0.5], [-2.0, 2.0]]))


def test_start_reproduces_the_margins():
    t = thresholds(["1", "2", "3"], "logit")
    category, weight = np.array([0, 1, 2]), np.array([50.0, 30.0, 20.0])
    start = t.start(category, np.zeros(3, int), weight)
    assert 1 / (1 + np.exp(-start)) == pytest.approx([0.5, 0.8], abs=0.01)


def test_gradient_is_the_transpose_of_the_map():
    rng = np.random.default_rng(0)
    sets = [{"threshold": "a"}, {"threshold": "b"}]
    t = thresholds(list("1234"), "logit", "free", {"threshold": ["a", "b"]}, sets)
    tau, category, part = np.sort(rng.normal(size=6)), rng.integers(0, 4, 30), rng.integers(0, 2, 30)
    by_hi, by_lo = rng.normal(size=30), rng.normal(size=30)
    inside = [(category < 3), (category > 0)]

    def value(tau):
        hi, lo, _ = t.around(tau, category, part)
        return (by_hi * hi)[inside[0]].sum() + (by_lo * lo)[inside[1]].sum()

    plain = [(value(tau + e) - value(tau - e)) / 2e-6 for e in 1e-6 * np.eye(6)]
    got = t.gradient(by_hi * inside[0], by_lo * inside[1], category, part)
    assert got == pytest.approx(np.array(plain), abs=1e-6)


def test_thresholds_out_of_order_are_told():
    t = thresholds(["1", "2", "3"], "logit")
    category, part = np.zeros(1, int), np.zeros(1, int)
    assert t.around(np.array([0.0, 1.0]), category, part)[2]
    assert not t.around(np.array([1.0, 0.0]), category, part)[2]
