"""Judges, gold and people on different scales are compared by measures that are free of scale, or not at all."""

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import DesignError
from judgestats.metrics.scales import on_one_scale, scales_apart
from judgestats.reporting.page_data import PageArguments, measure_all
from judgestats.schema import ratings

TERMS = ("estimate", "conf_low", "conf_high")


def rated(tops, items=40, seed=1, noise=0.1):
    """Scores of one quality by raters, each on a scale from 0 to its top."""
    rng = np.random.default_rng(seed)
    quality = rng.uniform(0, 1, items)
    rows = [
        (who, "s", f"i{i}", round(top * float(np.clip(q + rng.normal(0, noise), 0, 1))), round(5 * q))
        for who, top in tops.items() for i, q in enumerate(quality)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["judge", "system", "item", "score", "gold"])


def names_of(pair):
    return None if pair is None else tuple(x.split(",")[0] for x in pair)


@pytest.mark.parametrize(
    ("tops", "apart"),
    [
        ({"a": 5, "b": 5}, None),
        ({"a": 10, "b": 7}, None),
        ({"a": 100, "b": 10}, ("a", "b")),
        ({"a": 20, "b": 5}, ("a", "b")),
        ({"g_0_10": 10, "g_0_5": 5}, ("g_0_10", "g_0_5")),  # declared by the names
        ({"g · 0-10": 10, "g · 0-5": 5}, ("g · 0-10", "g · 0-5")),
        ({"g_1_5": 5, "h_1_3": 5}, None),  # versions: scores of h exceed 3
        ({"g_1_5": 3, "h_1_3": 3}, None),
        ({"g_1_5": 5, "g_1_5_again": 5}, None),
    ],
)
def test_scales_are_known_by_names_and_by_scores(tops, apart):
    table = rated(tops)
    assert names_of(scales_apart(table["score"], table["judge"])) == apart


def test_a_judge_that_says_one_thing_may_be_at_the_foot_of_the_scale():
    table = rated({"a": 5, "b": 5})
    table.loc[table["judge"] == "b", "score"] = 1
    assert scales_apart(table["score"], table["judge"]) is None
    table.loc[table["judge"] == "b", "score"] = 100
    assert names_of(scales_apart(table["score"], table["judge"])) == ("b", "a")


def test_judges_of_one_scale_are_hardly_ever_taken_for_judges_of_two():
    """Scores of 1 to 10 by judges that differ by up to 2 points in leniency, 20 each."""
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(300):
        own = rng.uniform(-2, 2, 4)[:, None]
        score = np.clip(np.round(5.5 + own + rng.normal(0, 2, (4, 20))), 1, 10).ravel()
        wrong += scales_apart(pd.Series(score), pd.Series(np.repeat([*"abcd"], 20))) is not None
    assert wrong <= 3


def test_distances_are_of_judges_on_the_scale_of_gold():
    table = rated({"a": 5, "b": 20})
    near = on_one_scale(table["score"], table["gold"], table["judge"])
    assert set(table.loc[near, "judge"]) == {"a"}


def test_errors_on_another_scale_than_gold_are_not_measured_and_the_correlation_is():
    found = js.score_error(ratings(rated({"a": 5, "b": 100})).assign(gold=rated({"a": 5, "b": 100})["gold"]))
    found = found.set_index(["judge", "term"])
    assert found.loc["a", "estimate"].notna().all()
    far = found.loc["b"]
    assert far.loc[["rmse", "mae", "bias"], list(TERMS)].isna().all(axis=None)
    assert far.loc[["rmse", "mae", "bias"], "flag"].str.contains("not on one scale: b, which goes up to").all()
    assert far.loc["pearson", "estimate"] > 0.9


def test_people_on_another_scale_are_not_agreed_with():
    table = rated({"a": 5, "b": 100, "Ann": 5, "Bob": 5}).drop(columns="gold")
    found = js.judge_against_people(table, humans=["Ann", "Bob"])
    ours = found[found["judge"] == "b"]
    assert set(ours["term"]) == {"concordance", "agreement", "agreement_difference"}
    assert ours["estimate"].isna().all()
    assert ours["flag"].str.contains("not on one scale: b, which goes up to").all()
    assert found.loc[found["judge"] == "a", "estimate"].notna().all()
    with pytest.raises(DesignError, match=r"there is b, which goes up to .*Name the scale in a column and in by="):
        js.alternative_annotator_test(table, humans=["Ann", "Bob"], epsilon=0.1)


def test_a_column_that_declares_scales_is_believed():
    table = rated({"a": 5, "b": 5}).drop(columns="gold").assign(scale=lambda t: t["judge"].map({"a": "5", "b": "7"}))
    with pytest.raises(DesignError, match="'scale' has '5', '7'"):
        js.consensus_deviation(table)
    js.consensus_deviation(table.assign(scale="5"))


@pytest.mark.parametrize("by", [(), ("range",)], ids=["judges", "conditions"])
def test_a_page_does_not_show_scores_of_different_scales_side_by_side(by):
    if by:
        parts = [rated({"a": top, "b": top, "Ann": top}).assign(range=f"0-{top}") for top in (5, 10)]
        table = pd.concat([p.assign(item=p["item"] + p["range"]) for p in parts], ignore_index=True)
    else:
        table = rated({"a": 5, "b": 100, "Ann": 5})
    found = measure_all(
        ratings(table.drop(columns="gold")), PageArguments(n_resamples=20, humans=["Ann"], by=list(by))
    ).summary
    assert [c for c in found.columns if c.term in ("mean_score", "distance", "leniency", "run_sd")] == []
    care = found.cards[-1]
    assert {c.kind for c in found.cards[:-1]} <= {"agreement", "panel"}  # within a condition
    assert care.claim == "Scores on different scales are not compared"
    assert "which goes up to" in care.detail
    one = measure_all(ratings(rated({"a": 5, "b": 5})), PageArguments(n_resamples=20)).summary
    assert "mean_score" in [c.term for c in one.columns]


FAR = {"a": 5, "b": 100, "c": 5}


def repeated(tops):
    """Ratings of which each is repeated three times."""
    table = rated(tops).drop(columns="gold")
    rng = np.random.default_rng(3)
    return pd.concat(
        [table.assign(replicate=r, score=np.round(table["score"] * rng.uniform(0.8, 1, len(table)))) for r in range(3)],
        ignore_index=True,
    )


def apart_in(found):
    return found["estimate"].isna() & found["flag"].str.contains("not on one scale: b, which goes up to")


def test_judges_on_different_scales_do_not_disagree_by_points():
    found = js.disagreement(rated(FAR), n_resamples=50)
    two = (found["term"] == "mean_difference") & (found["judge"] == "a") & (found["other"] == "c")
    assert apart_in(found[~two]).all()
    assert found.loc[two, "estimate"].notna().all()
    one = js.disagreement(rated({"a": 5, "b": 5, "c": 5}), n_resamples=50)
    assert not one["flag"].str.contains("scale").any()


def test_scales_are_looked_at_within_each_condition():
    parts = [rated({"a": top, "b": top}).assign(domain=f"d{top}") for top in (5, 100)]
    table = pd.concat([*parts, rated(FAR).assign(domain="mixed")], ignore_index=True).drop(columns="gold")
    for measure in (js.disagreement, js.score_distribution):
        found = measure(table, by="domain", n_resamples=50)
        assert set(found.loc[found["flag"].str.contains("scale: b, which"), "domain"]) == {"mixed"}
    for found in (js.icc(table, by="domain"), js.alpha(table, by="domain", level_of_measurement="interval")):
        assert set(found.loc[apart_in(found), "domain"]) == {"mixed"}
        assert found.loc[found["domain"] != "mixed", "estimate"].notna().all()


def test_a_share_at_the_top_is_of_the_judge_s_own_scale_and_means_say_that_they_are():
    found = js.score_distribution(rated(FAR), n_resamples=50).set_index("term")
    assert apart_in(found.loc[["ceiling"]]).all()
    assert found.loc[["mean", "sd"], "estimate"].notna().all()
    assert found.loc[["mean", "sd"], "flag"].str.contains("in points of its own scale: b, which goes up to").all()
    assert not found.loc["skew", "flag"].str.contains("scale: b").any()


def test_spreads_of_repeats_are_not_compared_across_scales():
    found = js.run_sd(repeated(FAR))
    alone, two = found[found["term"] == "run_sd"], found[(found["judge"] == "a") & (found["other"] == "c")]
    assert alone["estimate"].notna().all()
    assert alone["flag"].str.contains("in points of its own scale").all()
    assert two["estimate"].notna().all()
    others = found.drop([*alone.index, *two.index])
    assert len(others) == 2
    assert apart_in(others).all()
    assert others[["conf_low", "p_value", "p_adjusted"]].isna().all(axis=None)


@pytest.mark.parametrize("options", [{}, {"incomplete": "reml"}, {"exchangeable": True}], ids=str)
def test_intraclass_correlations_of_different_scales_are_not_computed(options):
    found = js.icc(rated(FAR), **options)
    assert apart_in(found).all()
    assert found[["conf_low", "conf_high", "p_value"]].isna().all(axis=None)
    assert js.icc(rated({"a": 5, "c": 5}), **options)["estimate"].notna().all()


@pytest.mark.parametrize("level", ["interval", "ratio"])
def test_alpha_by_distance_needs_one_scale(level):
    found = js.alpha(rated(FAR), level_of_measurement=level)
    assert apart_in(found).all()
    assert found["conf_low"].isna().all()
    assert js.alpha(rated({"a": 5, "c": 5}), level_of_measurement=level)["estimate"].notna().all()


def test_a_constant_does_not_bring_a_judge_to_another_scale_and_a_line_does():
    people = rated({"p": 100}).drop(columns=["gold", "judge"])
    table = rated({"a": 5, "b": 100}).drop(columns="gold")
    found = js.calibrate(table, reference=people).set_index(["judge", "term"])
    assert found.loc["a", "estimate"].isna().all()
    assert found.loc["a", "flag"].str.contains("not on one scale: gold, which goes up to").all()
    assert found.loc["b", "estimate"].notna().all()
    assert (
        js.calibrate(table, reference=people, output="ratings").loc[lambda t: t["judge"] == "a", "score"].isna().all()
    )
    line = js.calibrate(table, reference=people, method="linear").set_index(["judge", "term"])["estimate"]
    assert line["a", "slope"] > 10
    assert line["a", "rmse_after"] < 40
    assert np.isnan(line["a", "rmse_before"])
    with pytest.raises(DesignError, match="not on one scale: there is b, which goes up to"):
        js.calibrate(rated(FAR).drop(columns="gold"))


def test_versions_on_different_scales_are_compared_by_correlation_only():
    old, new, people = (rated({"j": top}, seed=s).drop(columns="gold") for top, s in ((5, 1), (100, 1), (5, 2)))
    found = js.compare_versions(old, pd.concat([new, people.assign(judge="Ann")]), humans="Ann", n_resamples=50)
    found = found.set_index("term")
    none = ["flips", "mean_shift", "agreement_new", "agreement_change", "concordance_change"]
    assert found.loc[none, list(TERMS)].isna().all(axis=None)
    assert found.loc[none, "flag"].str.contains("not on one scale: the new version, which goes up to").all()
    assert found.loc[["agreement_old", "correlation_change"], "estimate"].notna().all()


def test_variance_and_levels_of_agreement_are_of_one_scale():
    far = pd.concat([rated(FAR, seed=s).assign(system=f"s{s}") for s in range(4)]).drop(columns="gold")
    found = js.variance_components(far)
    assert apart_in(found).all()
    assert found[["share", "conf_low"]].isna().all(axis=None)
    levels = js.agreement_levels(far, n_resamples=50).set_index("term")
    assert apart_in(levels.loc[["icc", "gap_sample_icc", "sd_icc"]]).all()
    assert levels.loc[["rho_system", "r_sample"], "estimate"].notna().all()
    means = js.score_matrix(far)
    assert means["flag"].str.contains("in points of its own scale: b, which goes up to").all()
    assert means["estimate"].notna().all()


def test_means_over_judges_of_different_scales_rank_no_systems():
    far = pd.concat([rated(FAR, seed=s).assign(system=f"s{s}", tier=f"t{s % 2}") for s in range(6)])
    far = far.drop(columns="gold")
    assert apart_in(js.quality_agreement(far)).all()
    order = ["t0", "t1"]
    assert apart_in(js.ordering_accuracy(far, order=order, n_resamples=50)).all()
    assert js.ordering_accuracy(far, order=order, by="judge", n_resamples=50)["estimate"].notna().all()
