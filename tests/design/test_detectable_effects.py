"""Power by simulation agrees with closed forms, and is the same for any number of processes; McNemar's test detects the
minimum detectable effect as often as planned.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.optimize import brentq
from scipy.stats import norm

import judgestats as js
from judgestats.design import Judge, detectable, minimum_detectable_effect, power, vacuum
from judgestats.errors import DesignError
from judgestats.kernels.proportions import wilson

CALLS = functools.partial(js.dark_current, cluster=False)


def exact(n, p, null):
    """Probability that Wilson's interval of a binomial count excludes a value."""
    k = np.arange(n + 1)
    low, high = wilson(k, n)
    return stats.binom.pmf(k, n, p)[(low > null) | (high < null)].sum()


@pytest.mark.slow
@pytest.mark.parametrize(("p", "null"), [(0.2, 0.1), (0.15, 0.1), (0.1, 0.1)])
def test_power_of_a_rate_is_the_binomial_sum(p, null):
    found = power(vacuum("m"), Judge("m", dark_current=p), CALLS, null=null, replications=300, seed=3)
    row = found.set_index("vacuum_kind").loc["all"]
    wanted = exact(120, p, null)
    assert row["n"] == 300
    assert abs(row["estimate"] - wanted) < 4 * np.sqrt(wanted * (1 - wanted) / 300)
    assert row["conf_low"] < row["estimate"] < row["conf_high"]
    assert row["mean_estimate"] == pytest.approx(p, abs=0.01)
    assert row["sd_estimate"] == pytest.approx(np.sqrt(p * (1 - p) / 120), rel=0.15)


@pytest.mark.slow
def test_processes_share_the_work_and_give_the_same():
    plan, judge = vacuum("m", calls=12), Judge("m", dark_current=0.4)
    one = power(plan, judge, "dark_current", replications=6)
    pd.testing.assert_frame_equal(power(plan, judge, "dark_current", replications=6, processes=2), one)


def test_a_measure_of_ones_own_and_studies_without_an_interval():
    def mean(calls):
        share = (calls["choice"] != "tie").mean()
        if share < 0.3:
            raise js.JudgestatsError("nothing")
        return pd.DataFrame({"estimate": [share], "conf_low": [share - 0.1], "conf_high": [share + 0.1]})

    row = power(vacuum("m", calls=12), Judge("m", dark_current=0.3), mean, null=0.0, replications=40).iloc[0]
    assert 0 < row["estimate"] < 1
    assert row["flag"].endswith("simulated studies without an interval")
    assert row["estimate"] == 1 - int(row["flag"].split()[0]) / 40


@pytest.mark.slow
def test_the_smallest_effect_that_is_detected():
    found = detectable(vacuum("m"), Judge("m"), CALLS, "dark_current", [0.12, 0.2, 0.3], null=0.1, replications=60)
    whole = found[found["vacuum_kind"] == "all"].set_index("dark_current")
    assert whole["estimate"].is_monotonic_increasing
    assert whole["enough"].tolist() == [exact(120, p, 0.1) >= 0.8 for p in (0.12, 0.2, 0.3)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p, j: power(p, j, "dark_curent"), "Did you mean 'dark_current'"),
        (lambda p, j: power(p, j, CALLS, replications=0), "replications=0 is not a number of studies"),
        (lambda p, j: power(p, j, lambda c: pd.DataFrame({"estimate": [1.0]}), replications=1), "no column 'conf_low'"),
        (lambda p, j: power(p, j, "target_sensitivity", replications=2), "failed in every study"),
        (lambda p, j: detectable(p, j, CALLS, "dark_curent", [0.1]), "dark_curent"),
        (lambda p, j: detectable(p, j, CALLS, "dark_current", []), "values= is empty"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(DesignError, match=message):
        call(vacuum("m", calls=6), Judge("m"))


def test_steps_in_a_column_of_numbers_are_rows_of_their_own():
    """Detected in 1 of 20 studies at the first step, in 9 at the second."""
    studies = iter(range(20))

    def steps(calls):
        k = next(studies)
        low = [1.0 if k < 1 else -1.0, 1.0 if k < 9 else -1.0]
        value = [0.1 * k, 0.2 * k]
        return pd.DataFrame({"delta": [0.5, 1.5], "estimate": value, "conf_low": low, "conf_high": 2.0, "other": value})

    found = power(vacuum("m", calls=6), Judge("m"), steps, replications=20)
    assert found["delta"].tolist() == [0.5, 1.5]
    assert found["estimate"].tolist() == [0.05, 0.45]
    assert (found["n"] == 20).all()
    assert (found["flag"] == "").all()
    assert "other" not in found


def test_rows_that_nothing_tells_apart_are_refused():
    twice = pd.DataFrame({"estimate": [0.0, 1.0], "conf_low": [0.0, 0.5], "conf_high": [1.0, 2.0]})
    with pytest.raises(DesignError, match="several rows for one study"):
        power(vacuum("m", calls=6), Judge("m"), lambda calls: twice, replications=2)


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
