"""Decision studies."""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from judgestats.metrics.agreement import decision_study, icc, variance_components
from metrics.designs import SHROUT, TRUE, WHOLE, components, long, simulated, table_of, values


@pytest.mark.parametrize("k", [1, 2, 4, 9])
def test_one_facet_study_is_icc_and_spearman_brown(k):
    study = decision_study(table_of(SHROUT), object="item", judges=k)
    got = values(study)
    known = values(icc(table_of(SHROUT)))
    for term, form in (("generalizability", "3"), ("dependability", "2")):
        single = known[f"ICC({form},1)"]
        assert got[term] == pytest.approx(k * single / (1 + (k - 1) * single))
    if k == 4:
        assert got["dependability"] == pytest.approx(known["ICC(2,k)"])
        assert got["generalizability"] == pytest.approx(known["ICC(3,k)"])


@pytest.mark.parametrize("k", [1, 4])
def test_the_interval_of_generalizability_is_the_f_interval_of_the_icc(k):
    study = decision_study(table_of(SHROUT), object="item", judges=k, n_resamples=40_000).set_index("term")
    known = icc(table_of(SHROUT)).set_index("term").loc[f"ICC(3,{'k' if k == 4 else 1})"]
    row = study.loc["generalizability"]
    np.testing.assert_allclose(row[["conf_low", "conf_high"]].astype(float), known[["conf_low", "conf_high"]].astype(float),
                               atol=0.012)  # fmt: skip
    assert row["method"] == "generalized (40,000 draws)"
    needed = study.loc["judges_for_generalizability"]
    assert needed["conf_low"] <= needed["estimate"] <= needed["conf_high"]


def test_intervals_of_a_study_need_degrees_of_freedom():
    assert decision_study(WHOLE, judges=3, items=20)["conf_low"].isna().all()
    data = long(simulated((4, 12, 6, 2), 1))
    planned = partial(decision_study, judges=4, items=6, n_resamples=400)
    whole, gap = planned(data), planned(data.drop(index=[3, 77]))
    for study in (whole, gap):
        given = study[study["estimate"].notna()]
        assert (given["conf_low"] <= given["estimate"]).all()
        assert (given["conf_high"] >= given["estimate"]).all()
    assert gap["method"].str.endswith("components as independent").any()
    table = planned(variance_components(data))
    pd.testing.assert_frame_equal(whole, table)
    infinite = whole[whole["term"] == "judges_for_generalizability"]["conf_high"].item()
    assert infinite > whole[whole["term"] == "judges_for_generalizability"]["estimate"].item()


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "low", "high"), [((6, 15, 8, 1), 0.91, 0.99), ((8, 30, 5, 2), 0.91, 0.99)])
def test_intervals_of_reliability_cover(shape, low, high):
    """Simulated studies; the truth is that of the known components."""
    true = {t: v for t, v in TRUE.items() if shape[3] > 1 or t != "judge:system:item"}
    parts = [long(simulated(shape, 100 + s, true)).assign(domain=f"d{s:03d}") for s in range(150)]
    study = decision_study(pd.concat(parts, ignore_index=True), by="domain", judges=4, items=8, n_resamples=400)
    truth = decision_study(components(**{t.replace(":", "_"): v for t, v in true.items()}), judges=4, items=8)
    for term in ("generalizability", "dependability"):
        rows = study[study["term"] == term]
        value = truth.loc[truth["term"] == term, "estimate"].item()
        inside = ((rows["conf_low"] <= value) & (rows["conf_high"] >= value)).mean()
        assert low <= inside <= high, (term, inside)


def test_error_variances_by_hand():
    got = decision_study(WHOLE, judges=3, items=20, runs=2).set_index("term")
    relative = 0.3 / 3 + 0.4 / 20 + 0.25 / 60 + 0.5 / 120
    absolute = relative + 0.6 / 3 + 0.5 / 20 + 0.2 / 60
    assert got.loc["generalizability", "error_variance"] == pytest.approx(relative)
    assert got.loc["generalizability", "estimate"] == pytest.approx(1 / (1 + relative))
    assert got.loc["dependability", "error_variance"] == pytest.approx(absolute)
    assert got.loc["dependability", "estimate"] == pytest.approx(1 / (1 + absolute))
    assert got["systems"].isna().all()
    assert (got["runs"][["generalizability", "dependability"]] == 2).all()


def test_relative_error_is_the_variance_of_observed_differences():
    """Simulated means over 4 judges and 5 items: their variance between systems is τ plus the relative error."""
    means = simulated((4, 20_000, 5, 1)).mean(axis=(0, 2, 3))
    study = decision_study(WHOLE, judges=4, items=5).set_index("term")
    expected = 1 + study.loc["generalizability", "error_variance"]
    assert means.var(ddof=1) == pytest.approx(expected, rel=0.03)  # three standard errors


def test_smallest_numbers_are_smallest():
    study = decision_study(WHOLE, judges=range(1, 31), items=20, target_reliability=0.85)
    for term in ("generalizability", "dependability"):
        curve = study[study["term"] == term]
        first = curve.loc[curve["estimate"] >= 0.85, "judges"].min()
        needed = study[study["term"] == f"judges_for_{term}"]
        assert len(needed) == 1
        assert needed["estimate"].item() == first == needed["judges"].item()
    runs = decision_study(WHOLE, judges=5, items=3, runs=range(1, 40), target_reliability=0.82)
    curve = runs[runs["term"] == "generalizability"]
    first = curve.loc[curve["estimate"] >= 0.82, "runs"].min()
    assert 1 < first < 40
    assert runs.loc[runs["term"] == "runs_for_generalizability", "estimate"].item() == first


def test_a_whole_solution_is_not_rounded_up():
    """τ = 1, error 1/n: 0.8 is reached at exactly 4."""
    got = values(decision_study(components(item=1.0, judge=0.0, residual=1.0), object="item", judges=1))
    assert got["judges_for_generalizability"] == 4
    tenth = values(decision_study(components(item=0.1, judge=0.0, residual=0.1), object="item", judges=1))
    assert tenth["judges_for_generalizability"] == 4


def test_what_cannot_be_reached_is_told():
    got = decision_study(WHOLE, judges=[1, 2], items=1, target_reliability=0.9).set_index("term")
    row = got.loc["judges_for_generalizability"]
    assert np.isnan(row["estimate"])
    assert row["flag"] == "0.9 not reached with any number of judges"
    assert (got.loc["runs_for_dependability", "flag"] == "0.9 not reached with any number of runs").all()
    nothing = decision_study(components(item=0.0, judge=1.0, residual=1.0), object="item", judges=2).set_index("term")
    assert nothing.loc["generalizability", "estimate"] == 0
    assert np.isnan(nothing.loc["judges_for_generalizability", "estimate"])


def test_runs_need_repeated_cells():
    data = long(simulated((3, 4, 5, 1), 11)).drop(columns="replicate")
    got = decision_study(data, judges=3, runs=[1, 4])
    blind = got["runs"] == 4
    assert got["estimate"][blind].isna().all()
    assert (got["flag"][blind] == "runs not separable from the residual").all()
    assert got["estimate"][(got["runs"] == 1) & got["judges"].eq(3)].notna().all()
    assert not got["term"].str.startswith("runs_for").any()
    repeated = decision_study(long(simulated((3, 4, 5, 2), 11)), judges=3, runs=[1, 4])
    curve = repeated[repeated["term"] == "generalizability"].set_index("runs")["estimate"]
    assert curve[4] > curve[1]


def test_study_of_ratings_is_that_of_their_components_in_every_group():
    data = pd.concat([long(simulated((3, 4, 5, 2), s)).assign(domain=d) for s, d in ((1, "a"), (2, "b"))])
    one = decision_study(data, by="domain", judges=[2, 3])
    two = decision_study(variance_components(data, by="domain"), judges=[2, 3])
    pd.testing.assert_frame_equal(one, two)
    assert set(one["domain"]) == {"a", "b"}
    assert (one.loc[one["term"] == "generalizability", "items"] == 5).all()  # the observed number


def test_a_variance_at_zero_has_no_interval_of_its_draws():
    """An incomplete design whose system variance is estimated as 0: draws of it are 0, and bound nothing."""
    rng = np.random.default_rng(0)
    keys = [(j, s, i) for j in "abc" for s in "xyz" for i in range(8)]
    table = pd.DataFrame(
        [(*k, rng.normal()) for k in keys if rng.random() < 0.85], columns=["judge", "system", "item", "score"]
    )
    own = decision_study(table, judges=[1, 3])
    zero = own[own["estimate"] == 0]
    assert len(zero)
    assert zero[["conf_low", "conf_high"]].isna().all(axis=None)
    assert zero["flag"].str.contains("system variance at 0").all()
