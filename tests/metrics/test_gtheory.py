"""Variance components and decision studies: ICC, textbook formulas, REML against mean squares, simulation."""

from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest

import twins_variance as twins
from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.reml import fitted
from judgestats.metrics.agreement import decision_study, variance_components
from judgestats.metrics.agreement.gtheory import designs
from metrics.designs import SHROUT, TRUE, WHOLE, long, simulated, table_of, values
from refusals import refused


def test_one_facet_is_the_two_way_anova():
    got = variance_components(table_of(SHROUT))
    bms, jms, ems, _ = twins.two_way(SHROUT.tolist())
    expected = {"judge": (jms - ems) / 6, "item": (bms - ems) / 4, "residual": ems}
    assert values(got) == pytest.approx(expected)
    np.testing.assert_allclose(list(expected.values()), [5.2444508, 2.5555628, 1.0194434], rtol=1e-5)  # lmer
    assert got["share"].sum() == pytest.approx(1)
    assert list(got["levels"].iloc[:2]) == [4, 6]
    assert list(got["df"]) == [3, 5, 15]
    assert (got["flag"] == "").all()
    assert got["std_error"].iloc[2] == pytest.approx(np.sqrt(2 * ems**2 / 17))  # Brennan, df + 2


def test_incomplete_one_facet_is_lmers():
    data = table_of(SHROUT)
    lost = (data["item"].eq("item01") & data["judge"].eq("judge02")) | (
        data["item"].eq("item04") & data["judge"].eq("judge00")
    )
    got = variance_components(data[~lost])
    assert values(got) == pytest.approx({"judge": 5.2331364, "item": 2.7131164, "residual": 1.0754133}, rel=1e-5)
    missing = variance_components(data.assign(score=data["score"].mask(lost)))
    assert values(missing) == values(got)
    assert missing["flag"].str.contains("2 missing scores excluded").all()
    assert list(got["flag"]) == ["fewer than 10 levels", "fewer than 10 levels", ""]


def brute(y):
    """Components of judges x systems x items x runs by solving the expected mean squares of the plain twin."""
    effects = [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    squares, _, expected = twins.effect_squares(y, effects)
    return np.linalg.solve(expected, squares)


def test_three_facets_and_runs_by_brute_force():
    y = simulated((3, 4, 4, 2), 1)
    got = variance_components(long(y))
    assert list(got["term"]) == list(TRUE)
    np.testing.assert_allclose(got["raw"], brute(y), rtol=1e-8, atol=1e-10)
    negative = got["raw"] < 0
    assert negative.any()
    assert (got["estimate"][negative] == 0).all()
    assert (got["flag"][negative] == "negative, set to 0").all()
    assert (got["flag"][~negative] == "").all()


def test_textbook_formulas_without_runs():
    """Brennan (2001), p x i x o: σ²(p) from the mean squares of p, pi, po and pio."""
    y = simulated((3, 5, 6, 1), 2)[..., 0]
    got = values(variance_components(long(y[..., None]).drop(columns="replicate")).assign(estimate=lambda t: t["raw"]))
    m = {axes: y.mean(axis=axes, keepdims=True) for axes in [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]}
    system = m[0, 2] - m[0, 1, 2]
    js = m[2,] - m[0, 2] - m[1, 2] + m[0, 1, 2]
    si = m[0,] - m[0, 2] - m[0, 1] + m[0, 1, 2]
    jsi = y - m[2,] - m[0,] - m[1,] + m[0, 1] + m[0, 2] + m[1, 2] - m[0, 1, 2]
    ms_s, ms_js = 18 * (system**2).sum() / 4, 6 * (js**2).sum() / 8
    ms_si, ms_jsi = 3 * (si**2).sum() / 20, (jsi**2).sum() / 40
    assert got["residual"] == pytest.approx(ms_jsi)
    assert got["judge:system"] == pytest.approx((ms_js - ms_jsi) / 6)
    assert got["system:item"] == pytest.approx((ms_si - ms_jsi) / 3)
    assert got["system"] == pytest.approx((ms_s - ms_js - ms_si + ms_jsi) / 18)


def test_balanced_reml_equals_mean_squares():
    data = long(simulated((5, 6, 7, 2), 3))
    got = variance_components(data)
    assert (got["raw"] > 0).all()
    _, [(_, design)] = designs(data, None, ())
    found = fitted(design.y, [design.code(e) for e in design.effects(True)])
    np.testing.assert_allclose(found.variance, got["estimate"], rtol=1e-7)


def test_incomplete_design_is_near_its_complete_one():
    data = long(simulated((5, 6, 7, 2), 3))
    whole, part = variance_components(data), variance_components(data.sample(frac=0.95, random_state=0))
    np.testing.assert_allclose(part["estimate"], whole["estimate"], rtol=0.15)
    assert set(part["method"]) == {"REML, Satterthwaite"}
    assert (part["conf_low"] < part["estimate"]).all()
    assert (part["estimate"] < part["conf_high"]).all()
    residual = part.iloc[-1]
    assert residual["df"] == pytest.approx(2 * (residual["estimate"] / residual["std_error"]) ** 2)


def test_simulated_components_are_recovered_and_covered():
    shape, runs = (8, 10, 12, 2), 150
    results = pd.concat([variance_components(long(simulated(shape, seed))) for seed in range(runs)])
    for term, truth in TRUE.items():
        rows = results[results["term"] == term]
        error = rows["raw"].std() / np.sqrt(runs)
        assert abs(rows["raw"].mean() - truth) < 3.5 * error, term
        inside = ((rows["conf_low"] <= truth) & (truth <= rows["conf_high"])).mean()
        assert 0.90 < inside <= 1, term  # 0.95 less 2.8 standard errors
        assert 0.8 < rows["std_error"].mean() / rows["raw"].std() < 1.25, term


@pytest.mark.parametrize("keep", [1.0, 0.9])
def test_order_names_and_engines_do_not_matter(keep):
    data = long(simulated((4, 5, 6, 2), 5)).sample(frac=keep, random_state=1)
    expected = variance_components(data)
    numbers = expected.select_dtypes("number").columns
    renamed = data.assign(judge=data["judge"].map(lambda j: f"{9 - int(j[-1])}"))
    for other in (data.sample(frac=1, random_state=2), renamed, pl.from_pandas(data), pl.from_pandas(data).lazy()):
        got = variance_components(other)
        assert list(got["term"]) == list(expected["term"])
        np.testing.assert_allclose(got[numbers], expected[numbers], rtol=1e-6, atol=1e-9)
    scaled = variance_components(data.assign(score=100 - 2 * data["score"]))
    np.testing.assert_allclose(scaled["estimate"], 4 * expected["estimate"], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(scaled["share"], expected["share"], rtol=1e-6, atol=1e-9)


def test_groups_are_what_they_are_alone():
    one, two = (long(simulated((3, 4, 5, 2), s)) for s in (6, 7))
    two = two.sample(frac=0.8, random_state=0)
    data = pd.concat([one.assign(domain="a"), two.assign(domain="b")])
    got = variance_components(data, by="domain")
    for domain, alone in (("a", one), ("b", two)):
        mine = got[got["domain"] == domain].drop(columns="domain").reset_index(drop=True)
        pd.testing.assert_frame_equal(mine, variance_components(alone))


def test_what_is_no_facet_is_averaged_and_told():
    data = long(simulated((3, 4, 5, 2), 8))
    got = variance_components(data, facets=["judge", "item"])
    means = data.groupby(["judge", "item"], as_index=False)["score"].mean()
    expected = variance_components(means.assign(system="s"))
    np.testing.assert_allclose(got["raw"], expected["raw"], rtol=1e-9)
    assert (got["flag"].str.contains("averaged over system")).all()
    assert (got["flag"].str.contains("replicates averaged")).all()
    assert (variance_components(data, facets=["judge", "system", "item"])["flag"] != "").all()
    counted = pd.concat([data, data])
    pd.testing.assert_frame_equal(
        variance_components(data.assign(n_identical=2), facets=["judge", "item"])[["estimate", "df"]],
        variance_components(counted, facets=["judge", "item"])[["estimate", "df"]],
    )


def test_interactions_can_stay_in_the_residual():
    y = simulated((3, 4, 5, 1), 9)
    got = variance_components(long(y).drop(columns="replicate"), interactions=False)
    assert list(got["term"]) == ["judge", "system", "item", "residual"]
    squares, df, expected = twins.effect_squares(y, [(0,), (1,), (2,)])
    np.testing.assert_allclose(got["raw"], np.linalg.solve(expected, squares), rtol=1e-8)
    assert list(got["df"]) == pytest.approx(list(df))


def test_nested_items_are_told_apart_from_what_they_are_not():
    data = long(simulated((4, 5, 6, 1), 10)).drop(columns="replicate")
    nested = data.assign(item=data["system"] + data["item"])
    got = variance_components(nested).set_index("term")
    aliased = ["system:item", "judge:item"]
    assert got.loc[aliased, "estimate"].isna().all()
    assert (got.loc[aliased, "flag"] == "not identifiable").all()
    assert (got.drop(aliased)["estimate"] >= 0).all()
    study = decision_study(nested, judges=3)
    assert study["estimate"].isna().all()
    assert (study["flag"] == "components missing").all()


def test_what_is_not_identified_is_nan_and_told():
    data = table_of(SHROUT)
    for rows, flag in [
        (data.assign(score=3.0), "constant scores"),
        (data.assign(score=np.nan), "no data"),
        (data[data["judge"] == "judge00"], "not identifiable"),
    ]:
        got = variance_components(rows, facets=["judge", "item"])
        assert got["estimate"].isna().all(), flag
        assert got["conf_low"].isna().all()
        assert got["flag"].str.contains(flag).any(), got["flag"].tolist()
    additive = table_of(np.add.outer([1.0, 2, 4], [0.0, 1, 3, 4]))
    exact = values(variance_components(additive))
    assert exact["residual"] == 0
    assert exact["item"] == pytest.approx(np.var([1, 2, 4], ddof=1))
    gap = variance_components(additive.iloc[1:])
    assert gap["estimate"].isna().all()
    assert gap["flag"].str.contains("no residual variance").all()


def test_components_at_the_boundary_have_no_interval():
    rng = np.random.default_rng(0)
    y = rng.normal(size=(6, 5))
    y -= y.mean(axis=0)
    data = table_of(y)
    balanced = variance_components(data).set_index("term").loc["judge"]
    assert balanced["estimate"] == 0
    assert balanced["raw"] < 0
    assert np.isnan(balanced["conf_low"])
    assert balanced["flag"] == "negative, set to 0"
    reml = variance_components(data.iloc[1:]).set_index("term").loc["judge"]
    assert reml["estimate"] == 0
    assert np.isnan(reml["conf_low"])
    assert "at 0" in reml["flag"]


def test_any_column_is_a_facet():
    rng = np.random.default_rng(5)
    effects = {f: dict(zip(levels, rng.normal(size=len(levels)), strict=True)) for f, levels in _CROSSED.items()}
    rows = [dict(zip(_CROSSED, place, strict=True)) for place in product(*_CROSSED.values())]
    data = pd.DataFrame(rows)
    data["score"] = sum(data[f].map(effects[f]) for f in _CROSSED) + rng.normal(size=len(data))
    got = variance_components(data, facets=["prompt", "judge", "item"])
    assert got["term"].tolist() == ["judge", "item", "prompt", "judge:item", "judge:prompt", "item:prompt", "residual"]
    known = variance_components(data.rename(columns={"prompt": "criterion"}), facets=["judge", "item", "criterion"])
    np.testing.assert_allclose(got["estimate"], known["estimate"])
    np.testing.assert_allclose(got["conf_high"], known["conf_high"])
    with pytest.raises(DesignError, match="'prompt' splits ratings"):
        variance_components(data)
    averaged = variance_components(data, facets=["judge", "item"], average_over="prompt")
    means = data.groupby(["judge", "item"], as_index=False)["score"].mean()
    np.testing.assert_allclose(averaged["estimate"], variance_components(means)["estimate"])
    study = decision_study(data, object="item", judges=3, average_over="prompt")
    assert study["estimate"].notna().any()


_CROSSED = {"judge": "abcd", "item": [str(i) for i in range(8)], "prompt": ["short", "long", "none"]}


def test_wrong_arguments_say_what_to_do():
    data = table_of(SHROUT)
    refused(
        DesignError,
        (lambda: decision_study(WHOLE, object="sytem"), "object='sytem' is not a component"),
        (
            lambda: decision_study(WHOLE, target_reliability=1.5),
            r"target_reliability=1\.5 is not a reliability",
        ),
        (lambda: decision_study(WHOLE, judges=0), "judges=0 must be a whole number"),
        (lambda: decision_study(WHOLE, judges=1.5), r"judges=1\.5 must be a whole number"),
        (lambda: variance_components(data, facets="rater"), SchemaError, "facets='rater' is not a column"),
        (lambda: variance_components(data, facets="judge", by="judge"), "in facets= and in by="),
        (lambda: variance_components(data, facets="criterion"), SchemaError, "facets='criterion' is not a column"),
        (
            lambda: variance_components(data, facets="score"),
            SchemaError,
            "facets='score' is not a column that can be a facet",
        ),
        (lambda: variance_components(data.drop(columns="score")), SchemaError, "lacks score"),
    )


@pytest.mark.parametrize("apart", ["criterion", "item", "system"])
def test_two_ratings_identify_no_component(apart):
    frame = pd.DataFrame({"judge": ["g", "h"], "system": "s", "item": "1", "criterion": "c", "score": [1.0, 2.0]})
    found = variance_components(frame.assign(**{apart: ["a", "b"]}))
    assert set(found["flag"]) == {"not identifiable"}
    assert found["estimate"].isna().all()
