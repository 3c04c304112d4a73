"""Operating points and areas of resamples, and the bias of average precision, by brute force."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_curve

from judgestats.kernels.receiver_operating import (
    average_precision,
    levels,
    operating_points,
    precision_bias,
    precision_influence,
)


def sample(seed, items=12):
    """Scores with ties, labels, weights and clusters."""
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(items), rng.integers(1, 6, items))
    positive = rng.random(unit.size) < 0.4
    score = np.round(positive + rng.normal(size=unit.size), 1)
    return score, positive, rng.integers(1, 4, unit.size).astype(float), unit


@pytest.mark.parametrize("seed", range(5))
def test_a_resample_is_as_the_data_that_it_holds(seed):
    score, positive, weight, unit = sample(seed)
    index = np.random.default_rng(seed).integers(0, 12, (20, 12))
    rates = np.array([0.1, 0.35, 0.9])
    points = operating_points(levels(score, positive, weight), positive, weight, unit, rates, [index[:7], index[7:]])
    for b, units in enumerate(index):
        copies = np.bincount(units, minlength=12)[unit] * weight
        if not (copies[positive].any() and copies[~positive].any()):
            assert np.isnan([side[b] for side in points]).all()
            continue
        fpr, tpr, _ = roc_curve(
            positive[copies > 0], score[copies > 0], sample_weight=copies[copies > 0], drop_intermediate=False
        )
        for f, most in enumerate(rates):
            false = np.array([copies[~positive & (score >= s)].sum() for s in score]) / copies[~positive].sum()
            threshold = score[false <= most + 1e-9].min(initial=np.inf)
            assert points.threshold[b, f] == threshold
            hits = copies[positive & (score >= threshold)].sum() / copies[positive].sum()
            assert points.sensitivity[b, f] == pytest.approx(hits)
            below = np.append(fpr[fpr < most], most)
            area = np.trapezoid(np.append(tpr[fpr < most], _at(most, fpr, tpr)), below)
            assert points.area[b, f] == pytest.approx(area)


def _at(most, fpr, tpr):
    """The curve, linear between points, at the first of those with this false positive rate."""
    i = int(np.argmax(fpr >= most))
    share = (most - fpr[i - 1]) / (fpr[i] - fpr[i - 1])
    return tpr[i - 1] + share * (tpr[i] - tpr[i - 1])


@pytest.mark.parametrize("clustered", [True, False])
def test_bias_of_average_precision_is_half_its_second_derivatives(clustered):
    for seed in range(3):
        score, positive, weight, unit = sample(seed)
        weight = weight if clustered else np.ones(unit.size)
        of = unit if clustered else np.arange(unit.size)

        def precision(more, g, data=(score, positive, weight, of)):
            at = levels(data[0], data[1], data[2] * (1 + more * (data[3] == g)))
            return float(average_precision(at.positive, at.negative))

        step = 1e-3
        second = sum(precision(step, g) - 2 * precision(0, g) + precision(-step, g) for g in np.unique(of)) / step**2
        at = levels(score, positive, weight)
        influence = precision_influence(at, positive)
        bias = precision_bias(at, positive, weight, unit if clustered else None, influence)
        assert bias == pytest.approx(second / 2, rel=1e-4)
