"""Thresholds of confidence below which a judge abstains, with a guarantee for the errors that remain."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from judgestats.typing import Floats


@dataclass(frozen=True)
class RiskCoverage:
    """Answers and errors at each threshold, from the lowest to the highest; each (T,)."""

    # answered, wrong: units with a confidence of at least the threshold, and those of them that are wrong
    answered: Floats
    wrong: Floats


def risk_coverage(confidence: Floats, wrong: Floats, weight: Floats, thresholds: Floats) -> RiskCoverage:
    """Answers and errors of N rows at each of T increasing thresholds; a confidence of NaN never answers."""
    place = np.searchsorted(thresholds, confidence, side="right")  # answered at the thresholds before it
    place = np.where(np.isnan(confidence), 0, place)
    sums = [np.bincount(place, x, thresholds.size + 1) for x in (weight, weight * wrong)]
    answered, errors = (x[::-1].cumsum()[::-1][1:] for x in sums)
    return RiskCoverage(answered, errors)


def upper_risk(wrong: Floats, answered: Floats, delta: float) -> Floats:
    """Exact (Clopper-Pearson) upper limit of the risk among the answered, at level 1 - delta; 1 without answers."""
    sure = wrong >= answered
    limit = betaincinv(np.where(sure, 1.0, wrong + 1), np.where(sure, 1.0, answered - wrong), 1 - delta)
    return np.where(sure, 1.0, limit)


def selective_threshold(curve: RiskCoverage, alpha: float, delta: float) -> int:
    """Index of the lowest threshold at which the risk among the answered is at most alpha; -1 for none.

    Fixed-sequence testing from the highest threshold down, past those where too few answer for any rejection: Jung, J.,
    Brahman, F., Choi, Y. (2024). Trust or escalate. arXiv 2407.18370.
    """
    tested = curve.answered >= least_answers(alpha, delta)
    passes = ~tested | (upper_risk(curve.wrong, curve.answered, delta) <= alpha + 1e-12)
    lowest = int(passes.size - np.logical_and.accumulate(passes[::-1]).sum())
    return lowest if lowest < passes.size and tested[lowest] else -1


def least_answers(alpha: float, delta: float) -> int:
    """Smallest number of answers that, all right, show a risk of at most alpha."""
    return math.ceil(math.log(delta) / math.log1p(-alpha) - 1e-9)


def joint_threshold(curve: RiskCoverage, n: float, alpha: float) -> int:
    """Index of the lowest threshold that holds P(answered and wrong) to alpha, in expectation; -1 for none.

    Conformal risk control, (n R + 1) / (n + 1) <= alpha with `n` units in all: Angelopoulos et al. (2024), arXiv
    2208.02814.
    """
    good = np.flatnonzero((curve.wrong + 1) / (n + 1) <= alpha + 1e-12)
    return int(good[0]) if good.size else -1
