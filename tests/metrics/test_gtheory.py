"""Variance components and decision studies: ICC, textbook formulas, REML against mean squares, simulation."""

from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest

import twins_variance as twins
from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.reml import fitted
from judgestats.metrics.agreement import decision_study, icc, variance_components
from judgestats.metrics.agreement.gtheory import designs

SHROUT = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float)
NAMES = ("judge", "system", "item", "replicate")
TRUE = {
    "judge": 0.6,
    "system": 1.0,
    "item": 0.5,
    "judge:system": 0.3,
    "judge:item": 0.2,
    "system:item": 0.4,
    "judge:system:item": 0.25,
    "residual": 0.5,
}


def simulated(shape, seed=0, true=TRUE):
    """Scores of a crossed design with these variances; the last axis is runs."""
    rng = np.random.default_rng(seed)
    y = np.full(shape, 5.0)
    for term, variance in true.items():
        own = NAMES if term == "residual" else term.split(":")
        y = y + rng.normal(0, np.sqrt(variance), [n if a in own else 1 for a, n in zip(NAMES, shape, strict=True)])
    return y


def long(y):
    places = np.indices(y.shape).reshape(y.ndim, -1)
    frame = pd.DataFrame({a: places[i] for i, a in enumerate(NAMES)})
    text = {a: [f"{a}{x:02d}" for x in frame[a]] for a in NAMES[:3]}
    return frame.assign(**text, score=y.ravel())


def table_of(scores):
    return long(np.asarray(scores).T[:, None, :, None]).drop(columns="replicate")


def values(result):
    return dict(zip(result["term"], result["estimate"], strict=True))


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
    whole, gap = decision_study(data, judges=4, items=6), decision_study(data.drop(index=[3, 77]), judges=4, items=6)
    for study in (whole, gap):
        given = study[study["estimate"].notna()]
        assert (given["conf_low"] <= given["estimate"]).all()
        assert (given["conf_high"] >= given["estimate"]).all()
    assert gap["method"].str.endswith("components as independent").any()
    table = decision_study(variance_components(data), judges=4, items=6)
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


def components(**terms):
    return pd.DataFrame({"term": [t.replace("_", ":") for t in terms], "estimate": list(terms.values())})


WHOLE = components(
    judge=0.6,
    system=1.0,
    item=0.5,
    judge_system=0.3,
    judge_item=0.2,
    system_item=0.4,
    judge_system_item=0.25,
    residual=0.5,
)


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
    with pytest.raises(DesignError, match="object='sytem' is not a component"):
        decision_study(WHOLE, object="sytem")
    with pytest.raises(DesignError, match=r"target_reliability=1\.5 is not a reliability"):
        decision_study(WHOLE, target_reliability=1.5)
    with pytest.raises(DesignError, match="judges=0 must be a whole number"):
        decision_study(WHOLE, judges=0)
    with pytest.raises(DesignError, match=r"judges=1\.5 must be a whole number"):
        decision_study(WHOLE, judges=1.5)
    with pytest.raises(SchemaError, match="facets='rater' is not a column"):
        variance_components(data, facets="rater")
    with pytest.raises(DesignError, match="in facets= and in by="):
        variance_components(data, facets="judge", by="judge")
    with pytest.raises(SchemaError, match="facets='criterion' is not a column"):
        variance_components(data, facets="criterion")
    with pytest.raises(SchemaError, match="facets='score' is not a column that can be a facet"):
        variance_components(data, facets="score")
    with pytest.raises(SchemaError, match="lacks score"):
        variance_components(data.drop(columns="score"))


@pytest.mark.parametrize("apart", ["criterion", "item", "system"])
def test_two_ratings_identify_no_component(apart):
    frame = pd.DataFrame({"judge": ["g", "h"], "system": "s", "item": "1", "criterion": "c", "score": [1.0, 2.0]})
    found = variance_components(frame.assign(**{apart: ["a", "b"]}))
    assert set(found["flag"]) == {"not identifiable"}
    assert found["estimate"].isna().all()
