"""The minimum detectable effect solves its equation, and McNemar's test detects it as often as planned."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq
from scipy.stats import norm

from judgestats.design import minimum_detectable_effect
from judgestats.errors import DesignError


@pytest.mark.parametrize("power", [0.8, 0.5, 0.3, 0.95])
def test_the_closed_form_solves_the_equation(power):
    z1, z2 = norm.ppf(0.975), norm.ppf(power)
    for n, psi in [(400, 0.1), (400, 0.2375), (60, 0.5), (5000, 0.02)]:
        got = minimum_detectable_effect(n, discordance=psi, power=power)["estimate"].item()

        def gap(d, n=n, psi=psi):
            return z1 * np.sqrt(psi) + z2 * np.sqrt(psi - d * d) - d * np.sqrt(n)

        root = brentq(gap, 0, np.sqrt(psi) * (1 - 1e-12), xtol=1e-15)
        assert got == pytest.approx(root, rel=1e-9)


def test_the_effect_found_has_that_power():
    """Simulated: McNemar without correction sees the effect in 80 % of the samples."""
    n, psi = 400, 0.2
    delta = minimum_detectable_effect(n, discordance=psi)["estimate"].item()
    rng = np.random.default_rng(1)
    cells = rng.multinomial(n, [(psi - delta) / 2, (psi + delta) / 2, 1 - psi], size=40_000)
    b, c = cells[:, 0], cells[:, 1]
    assert ((b - c) ** 2 / (b + c) > norm.ppf(0.975) ** 2).mean() == pytest.approx(0.8, abs=0.02)


def test_vectors_counts_and_effects_out_of_reach():
    got = minimum_detectable_effect([100, 400], discordant=40)
    assert list(got["discordance"]) == [0.4, 0.1]
    assert got["estimate"].iloc[1] == minimum_detectable_effect(400, discordance=0.1)["estimate"].item()
    beyond = minimum_detectable_effect(400, discordant=5).iloc[0]  # five of five to one side: p = .06
    assert np.isnan(beyond["estimate"])
    assert "beyond" in beyond["flag"]
    for bad in ({}, {"discordance": 0.1, "discordant": 4}, {"discordance": 1.2}, {"discordant": 0}):
        with pytest.raises(DesignError):
            minimum_detectable_effect(400, **bad)


@pytest.mark.parametrize(
    ("n", "discordance", "words"),
    [
        ([100, 200], [0.1, 0.2, 0.3], "lists of one length"),
        ("many", 0.1, "are numbers"),
        (math.inf, 0.1, "n is a number of items"),
    ],
)
def test_what_is_no_number_of_items_is_refused(n, discordance, words):
    with pytest.raises(DesignError, match=words):
        minimum_detectable_effect(n, discordance=discordance)


@pytest.mark.slow
def test_mcnemar_s_minimum_detectable_effect_has_its_power():
    """Two conditions on 400 items, 80 of them discordant: the closed form's difference is detected in 80 % of studies."""
    n, psi = 400, 0.2
    delta = minimum_detectable_effect(n, discordance=psi)["estimate"].iloc[0]
    rng, hits = np.random.default_rng(0), 0
    for _ in range(400):
        kinds = rng.choice(3, size=n, p=[(psi + delta) / 2, (psi - delta) / 2, 1 - psi])
        b, c = (kinds == 0).sum(), (kinds == 1).sum()
        hits += stats.chi2.sf((b - c) ** 2 / (b + c), 1) < 0.05
    assert abs(hits / 400 - 0.8) < 0.06
