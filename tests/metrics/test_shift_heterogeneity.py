"""Subgroups: differences of shifts, and Cochran's Q."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from judgestats.errors import DesignError
from judgestats.metrics.agreement import agreement_shift
from judgestats.metrics.agreement.shift_heterogeneity import cochran_q
from metrics.tables import ratings

BEFORE, AFTER = ratings(1), ratings(2, noise=2.0)

QUICK = {"n_resamples": 300}


def domains(shifts=(1.0, 4.0, 1.0), items=150):
    before, after = [], []
    for k, noise in enumerate(shifts):
        where = {"domain": f"d{k}", "prefix": f"d{k}-", "items": items, "systems": "A"}
        before.append(ratings(10 + k, 1.0, **where))
        after.append(ratings(20 + k, noise, **where))
    return pd.concat(before), pd.concat(after)


def test_domains_are_drawn_apart_and_q_is_cochrans():
    before, after = domains()
    got = agreement_shift(before, after, across="domain", n_resamples=1000)
    shift = got[got["term"] == "shift"]
    single = agreement_shift(before, after, by="domain", n_resamples=1000)
    assert shift["estimate"].tolist() == pytest.approx(single["estimate"].tolist())
    np.testing.assert_allclose(shift["std_error"], single["std_error"], rtol=0.15)
    w = 1 / shift["std_error"] ** 2
    mean = (w * shift["estimate"]).sum() / w.sum()
    q = (w * (shift["estimate"] - mean) ** 2).sum()
    row = got[got["term"] == "heterogeneity"].iloc[0]
    assert (row["estimate"], row["df"]) == pytest.approx((q, 2), rel=0.01)
    assert row["p_value"] == pytest.approx(stats.chi2.sf(row["estimate"], 2))
    assert row["flag"] == ""
    assert got[got["term"] == "i_squared"]["estimate"].item() == pytest.approx(max(0, 1 - 2 / row["estimate"]))
    difference = got[(got["term"] == "difference")].set_index(["subgroup", "other"])["estimate"]
    assert difference[("d0", "d1")] == pytest.approx(shift["estimate"].iloc[0] - shift["estimate"].iloc[1])
    assert row["p_value"] < 0.05


def test_pairs_and_systems_share_their_items():
    for across in ("pair", "system"):
        got = agreement_shift(BEFORE, AFTER, across=across, **QUICK)
        row = got[got["term"] == "heterogeneity"].iloc[0]
        assert "subgroups share units" in row["flag"]
        assert row["n"] == (3 if across == "pair" else 2)
    two = got[got["term"] == "difference"].iloc[0]
    z = two["estimate"] / two["std_error"]
    assert row["estimate"] == pytest.approx(z**2)  # one degree of freedom
    assert row["p_value"] == pytest.approx(2 * stats.norm.sf(abs(z)))
    assert two["p_value"] > row["p_value"]  # t, and the bias of the draws allowed for, as in its interval


def test_cochran_q_of_dependent_values_is_the_wald_statistic():
    value, covariance = np.array([0.1, 0.3]), np.array([[0.04, 0.03], [0.03, 0.04]])
    assert cochran_q(value, covariance, shared=True) == pytest.approx(0.2**2 / 0.02)
    assert cochran_q(value, covariance) == pytest.approx(0.2**2 / 0.08)
    assert np.isnan(cochran_q(value, np.ones((2, 2)), shared=True))


def test_a_cross_over_is_a_difference_of_differences():
    parts = []
    for language, noises in (("en", (2.5, 0.6)), ("zh", (0.6, 2.5))):
        for system, noise in zip("AB", noises, strict=True):
            for condition, n in (("old", 1.2), ("new", noise)):
                part = ratings(len(parts), n, systems=system, prefix=language)
                parts.append(part.assign(language=language, condition=condition))
    got = agreement_shift(pd.concat(parts), ("old", "new"), across=["system", "language"], **QUICK)
    shift = got[got["term"] == "shift"].set_index("subgroup")["estimate"]
    row = got[got["term"] == "interaction"].iloc[0]
    expected = shift["A, en"] - shift["A, zh"] - shift["B, en"] + shift["B, zh"]
    assert row["estimate"] == pytest.approx(expected)
    assert row["conf_high"] < 0


def test_q_of_equal_shifts_rejects_at_its_level():
    """25 panels of three domains with one shift: p < 0.1 in two or three."""
    p = []
    for seed in range(25):
        tables = []
        for side, noise in ((0, 1.0), (1, 1.5)):
            parts = []
            for k in range(3):
                truth = np.random.default_rng(7000 + 10 * seed + k).normal(size=(1, 60))
                where = {"domain": f"d{k}", "prefix": f"d{k}-", "items": 60, "systems": "A", "truth": truth}
                parts.append(ratings(100 * seed + 10 * side + k, noise, **where))
            tables.append(pd.concat(parts))
        got = agreement_shift(*tables, across="domain", n_resamples=200)
        p.append(got[got["term"] == "heterogeneity"]["p_value"].item())
    assert (np.array(p) < 0.1).sum() <= 7
    assert np.mean(p) == pytest.approx(0.5, abs=0.2)


def test_one_subgroup_is_refused():
    with pytest.raises(DesignError, match="across= gives 1"):
        agreement_shift(BEFORE, AFTER, across="domain", **QUICK)
