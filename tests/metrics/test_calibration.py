"""Maps of a judge's scores to a reference: planted ones are found, held-out errors are held out, nothing leaks."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.isotonic import IsotonicRegression

from judgestats.errors import DesignError, SchemaError
from judgestats.flags import CONSTANT, CONSTANT_GAP, FEW_CELLS, FEW_CLUSTERS, NO_FOLDS
from judgestats.metrics.consensus import calibrate, consensus_deviation
from judgestats.schema import check
from metrics.tables import terms
from refusals import refused
from twins_variance import freedom

NUMBERS = ["estimate", "std_error", "conf_low", "conf_high", "n"]


def quality(items=40, systems="abc", seed=0):
    """What every cell is worth."""
    places = list(itertools.product(systems, [f"i{k:03d}" for k in range(items)]))
    table = pd.DataFrame(places, columns=["system", "item"])
    return table.assign(score=np.random.default_rng(seed).uniform(2, 9, len(table)))


def judged(true, judge="g", shift=0.0, slope=1.0, noise=0.0, own=0.0, seed=1):
    """A judge who sees quality through a line, with noise, and favours the system of its name."""
    rng = np.random.default_rng([seed, ord(judge[0])])
    score = shift + slope * true["score"] + rng.normal(0, 1, len(true)) * noise + own * (true["system"] == judge)
    return true.assign(judge=judge, score=score)


def panel(**options):
    """Judges a, b and c, who are the systems too: a severe, b lenient, c neither."""
    true = quality()
    shifts = {"a": -1.5, "b": 1.0, "c": 0.0}
    return pd.concat([judged(true, j, s, noise=0.3, **options) for j, s in shifts.items()], ignore_index=True)


# ---------------------------------------------------------------- recovery


def test_planted_shift_is_recovered():
    true = quality()
    got = terms(calibrate(judged(true, shift=1.7, noise=0.5), reference=true))
    shift = got.loc["shift"]
    assert shift["conf_low"] < -1.7 < shift["conf_high"]
    assert shift["estimate"] == pytest.approx(-1.7, abs=0.15)
    assert got.loc["deviation_before", "estimate"] == pytest.approx(-shift["estimate"])
    assert got.loc["deviation_after", "estimate"] == pytest.approx(0, abs=0.02)
    assert got.loc["rmse_before", "estimate"] == pytest.approx(math.hypot(1.7, 0.5), abs=0.1)
    assert got.loc["rmse_after", "estimate"] == pytest.approx(0.5, abs=0.07)
    assert (got["n"] == 120).all()
    assert (got["flag"] == "").all()


def test_planted_line_is_recovered():
    # score = 1 + 0.5 quality, so quality = -2 + 2 score
    true = quality()
    exact = terms(calibrate(judged(true, shift=1, slope=0.5), reference=true, method="linear"))
    assert exact.loc["slope", "estimate"] == pytest.approx(2)
    assert exact.loc["intercept", "estimate"] == pytest.approx(-2)
    assert exact.loc["rmse_after", "estimate"] == pytest.approx(0, abs=1e-9)
    noisy = judged(true, shift=1, slope=0.5)
    target = true.assign(score=true["score"] + np.random.default_rng(3).normal(0, 0.8, len(true)))
    got = terms(calibrate(noisy, reference=target, method="linear"))
    for term, planted in (("slope", 2), ("intercept", -2)):
        assert got.loc[term, "conf_low"] < planted < got.loc[term, "conf_high"]
        assert got.loc[term, "conf_high"] - got.loc[term, "conf_low"] < 2
    assert got.loc["rmse_after", "estimate"] == pytest.approx(0.8, abs=0.1)
    by_shift = terms(calibrate(noisy, reference=target))
    assert by_shift.loc["rmse_after", "estimate"] > got.loc["rmse_after", "estimate"] + 0.2


def test_line_is_least_squares_and_its_interval_from_the_jackknife_of_items():
    true = quality(items=60, systems="a")
    table = judged(true, shift=1, slope=0.6, noise=0.7)
    got = terms(calibrate(table, reference=true, method="linear"))
    peer = stats.linregress(table["score"], true["score"])
    assert got.loc["slope", "estimate"] == pytest.approx(peer.slope, abs=1e-12)
    assert got.loc["intercept", "estimate"] == pytest.approx(peer.intercept, abs=1e-12)
    without = np.array([stats.linregress(*(f["score"].drop(i) for f in (table, true)))[:2] for i in range(60)])
    for term, values in zip(("slope", "intercept"), without.T, strict=True):
        row, error = got.loc[term], math.sqrt(59 / 60 * ((values - values.mean()) ** 2).sum())
        half, bias = stats.t.ppf(0.975, freedom(values)) * error, 59 * (values.mean() - row["estimate"])
        ends = row["estimate"] - half - max(bias, 0), row["estimate"] + half - min(bias, 0)
        assert row[["std_error", "conf_low", "conf_high"]].tolist() == pytest.approx([error, *ends], abs=1e-10)
        assert row["method"] == "t, jackknife, clustered by item (G = 60)"
    reliability = 0.6**2 * true["score"].var() / table["score"].var()
    assert peer.slope == pytest.approx(reliability / 0.6, rel=0.15), "flattened by noise in the score"


def test_planted_curve_is_recovered_by_rank_alone():
    true = quality(items=150)
    bent = judged(true).assign(score=lambda t: np.exp(t["score"] / 2))
    target = true.assign(score=true["score"] + np.random.default_rng(0).normal(0, 0.5, len(true)))
    rmse = {
        m: terms(calibrate(bent, reference=target, method=m)).loc["rmse_after", "estimate"] for m in ("linear", "rank")
    }
    assert rmse["rank"] == pytest.approx(0.5, abs=0.08)
    assert rmse["linear"] > rmse["rank"] + 0.2
    peer = IsotonicRegression(out_of_bounds="clip").fit(bent["score"], target["score"])
    mapped = calibrate(bent, reference=target, method="rank", output="ratings")
    np.testing.assert_allclose(mapped["score"], peer.predict(bent["score"]), atol=1e-9)
    straight = calibrate(judged(true), reference=target, method="rank", output="ratings")
    np.testing.assert_allclose(straight["score"], mapped["score"], atol=1e-9), "the order is all it uses"


def test_favouring_oneself_is_not_taken_for_severity():
    fair, biased = panel(), panel(own=2.0)
    for method in ("shift", "linear"):
        options = {"reference": quality(), "method": method}
        parameters = ["shift"] if method == "shift" else ["slope", "intercept"]
        one, two = (terms(calibrate(t, **options), "a").loc[parameters, "estimate"] for t in (fair, biased))
        pd.testing.assert_series_equal(one, two)
    included = terms(calibrate(biased, reference=quality(), own="include"), "a")
    excluded = terms(calibrate(biased, reference=quality()), "a")
    assert included.loc["shift", "estimate"] == pytest.approx(excluded.loc["shift", "estimate"] - 2 / 3, abs=0.1)
    assert (excluded["n"] == 80).all()
    assert (included["n"] == 120).all()
    assert (excluded["flag"] == "40 own cells excluded").all()


def test_self_excess_is_unchanged_by_a_shift():
    table = panel(own=2.0)
    before = consensus_deviation(table)
    after = consensus_deviation(calibrate(table, output="ratings"))
    excess = [t[t["term"] == "self_excess"].reset_index(drop=True) for t in (before, after)]
    np.testing.assert_allclose(excess[1][NUMBERS], excess[0][NUMBERS], atol=1e-10)
    assert (excess[0]["estimate"] > 1.5).all(), "it is there to be seen"
    severity = [t[t["term"] == "mean_others"]["estimate"].abs().max() for t in (before, after)]
    assert severity[1] < severity[0]


# ---------------------------------------------------------------- the numbers, by hand


def test_reference_of_peers_is_the_mean_of_the_others():
    table = panel()
    result = calibrate(table)
    wide = table.pivot(index=["system", "item"], columns="judge", values="score")
    for judge in "abc":
        others = wide.drop(columns=judge).mean(axis=1)
        gap = (others - wide[judge])[wide.index.get_level_values("system") != judge]
        got = terms(result, judge).loc["shift"]
        assert got["estimate"] == pytest.approx(gap.mean())
        deviation = consensus_deviation(table).query("judge == @judge and term == 'mean_others'")["estimate"].item()
        assert got["estimate"] == pytest.approx(-deviation)
        items = gap.groupby("item").mean()
        assert got["std_error"] == pytest.approx(items.sem())
        low, high = stats.t.interval(0.95, 39, items.mean(), items.sem())
        assert (got["conf_low"], got["conf_high"]) == (pytest.approx(low), pytest.approx(high))
        assert got["method"] == "t over items (G = 40)"


def test_root_mean_square_has_the_interval_of_its_logarithm():
    true = quality(items=25)
    table = judged(true, shift=0.5, noise=0.7)
    got = terms(calibrate(table, reference=true)).loc["rmse_before"]
    gap = table["score"] - true["score"]
    root = math.sqrt((gap**2).mean())
    without = np.array([math.log((gap[true["item"] != i] ** 2).mean()) / 2 for i in true["item"].unique()])
    error, bias = math.sqrt(24 / 25 * ((without - without.mean()) ** 2).sum()), 24 * (without.mean() - math.log(root))
    half = stats.t.ppf(0.975, 24) * error
    ends = [math.log(root) - half - max(bias, 0), math.log(root) + half - min(bias, 0)]
    expected = [root, root * error, *np.exp(ends)]
    assert got[["estimate", "std_error", "conf_low", "conf_high"]].tolist() == pytest.approx(expected, abs=1e-12)


def test_shift_with_unequal_items_has_the_clustered_standard_error():
    true = quality(items=12)
    table = judged(true, shift=1, noise=0.6).iloc[5:]
    gap = true["score"].iloc[5:] - table["score"]
    sums = (gap - gap.mean()).groupby(true["item"].iloc[5:]).sum()
    got = terms(calibrate(table, reference=true)).loc["shift"]
    left = 1 - true["item"].iloc[5:].value_counts().loc[sums.index] / len(gap)
    assert got["std_error"] == pytest.approx(math.sqrt((sums**2 / left).sum()) / len(gap))


def test_held_out_errors_are_of_the_other_folds():
    true = quality(items=4)
    table = judged(true, shift=1, noise=1.0)
    got = terms(calibrate(table, reference=true, folds=99))  # one item a fold
    gap = (table["score"] - true["score"]).to_numpy()
    item = table["item"].to_numpy()
    after = np.array([gap[i] - gap[item != item[i]].mean() for i in range(len(gap))])
    assert got.loc["rmse_after", "estimate"] == pytest.approx(math.sqrt((after**2).mean()))
    assert got.loc["deviation_after", "estimate"] == pytest.approx(after.mean(), abs=1e-12)
    assert got.loc["rmse_before", "estimate"] == pytest.approx(math.sqrt((gap**2).mean()))
    in_sample = gap - gap.mean()
    assert got.loc["rmse_after", "estimate"] > math.sqrt((in_sample**2).mean())
    assert FEW_CLUSTERS in got.loc["rmse_after", "flag"]


def test_pure_noise_gains_nothing():
    rng = np.random.default_rng(0)
    true = quality(items=30, systems="a")
    table = true.assign(judge="g", score=rng.permutation(true["score"]))
    for method in ("linear", "rank"):
        got = terms(calibrate(table, reference=true, method=method))
        assert got.loc["rmse_after", "estimate"] > true["score"].std(ddof=0) * 0.97, "held out, not fitted"
        fitted = calibrate(table, reference=true, method=method, output="ratings")["score"] - true["score"]
        assert math.sqrt((fitted**2).mean()) < got.loc["rmse_after", "estimate"]


def test_a_held_out_item_is_in_no_fit():
    # change the scores of one item, the judge's and its peers': only the errors of that item's cells may change
    table = panel()
    moved = table.assign(score=table["score"] + 50 * (table["item"] == "i007"))
    one, two = (calibrate(t, folds=40) for t in (table, moved))
    # every cell is scored 50 higher by judge and reference alike: a shift fitted to the others is what it was
    pd.testing.assert_frame_equal(one[NUMBERS], two[NUMBERS])
    moved = table.assign(score=table["score"] + 6 * ((table["item"] == "i007") & (table["judge"] == "a")))
    after = terms(calibrate(moved, folds=40), "a").loc["rmse_after", "estimate"]
    assert after > 6 * math.sqrt(1 / 40), "the outlier is predicted from the others, and missed by all of 6"


@pytest.mark.slow
@given(st.integers(0, 2**31), st.sampled_from(["shift", "linear", "rank"]))
@settings(max_examples=15)
def test_nothing_depends_on_row_order_or_on_the_names_of_judges(seed, method):
    table = panel(own=1.0)
    rng = np.random.default_rng(seed)
    options = {"reference": quality(), "method": method}
    want = calibrate(table, **options)
    got = calibrate(table.iloc[rng.permutation(len(table))], **options)
    pd.testing.assert_frame_equal(got, want)
    alone = calibrate(table[table["judge"] == "b"], **options)
    pd.testing.assert_frame_equal(alone, want[want["judge"] == "b"].reset_index(drop=True))
    ratings = calibrate(table, **{**options, "output": "ratings"})
    assert list(ratings["item"]) == list(table["item"]), "rows stay where they are"


def test_seed_moves_folds_only():
    table, true = panel(), quality()
    one, same, other = (calibrate(table, reference=true, method="linear", seed=s) for s in (0, 0, 1))
    pd.testing.assert_frame_equal(one, same)
    fixed = one["term"].isin(["slope", "intercept", "deviation_before", "rmse_before"])
    pd.testing.assert_frame_equal(one[fixed], other[fixed])
    after = one["term"] == "rmse_after"
    assert (one[after]["estimate"].to_numpy() != other[after]["estimate"].to_numpy()).all()


# ---------------------------------------------------------------- what is missing


def test_constant_judge_has_no_line():
    true = quality()
    table = judged(true).assign(score=5.0)
    for method in ("linear", "rank"):
        got = terms(calibrate(table, reference=true, method=method))
        unknown = [t for t in got.index if t in ("slope", "intercept") or t.endswith("after")]
        assert got.loc[unknown, NUMBERS[:4]].isna().all().all()
        assert got["flag"].str.contains(CONSTANT).all()
        assert got.loc["rmse_before", "estimate"] == pytest.approx(math.sqrt(((true["score"] - 5) ** 2).mean()))
        mapped = calibrate(table, reference=true, method=method, output="ratings")
        assert mapped["score"].isna().all()
        assert (mapped["status"] == "missing partner").all()
    got = terms(calibrate(table, reference=true))
    assert got.loc["shift", "estimate"] == pytest.approx(true["score"].mean() - 5), "a shift is known all the same"


def test_constant_difference_has_no_interval():
    true = quality()
    got = terms(calibrate(judged(true, shift=2.0), reference=true))
    assert got.loc["shift", "estimate"] == pytest.approx(-2)
    assert math.isnan(got.loc["shift", "conf_low"])
    assert got.loc["shift", "flag"] == CONSTANT_GAP
    assert got["conf_low"].isna().all()
    assert (got["flag"] != "").all()


@pytest.mark.parametrize("method", ["shift", "linear", "rank"])
def test_fewer_than_three_cells(method):
    true = quality()
    few = judged(true, "h", noise=0.5).iloc[:2]
    table = pd.concat([judged(true, noise=0.5), few], ignore_index=True)
    result = calibrate(table, reference=true, method=method)
    got = terms(result, "h")
    assert got[NUMBERS[:4]].isna().all().all()
    assert (got["flag"] == FEW_CELLS).all()
    assert (got["n"] == 2).all()
    assert set(got.index) == set(terms(result).index)
    mapped = calibrate(table, reference=true, method=method, output="ratings")
    assert mapped.loc[mapped["judge"] == "h", "score"].isna().all()
    assert mapped.loc[mapped["judge"] == "g", "score"].notna().all()
    assert (check(mapped)["level"] != "fault").all()


def test_cells_without_reference_or_score_are_counted():
    true = quality()
    table = judged(true, shift=1, noise=0.5)
    table.loc[[3, 4], "score"] = np.nan
    got = terms(calibrate(table, reference=true.iloc[:-5]))
    assert (got["n"] == 113).all()
    assert (got["flag"] == "5 cells without a reference excluded; 2 cells without a score excluded").all()
    mapped = calibrate(table, reference=true.iloc[:-5], output="ratings")
    assert mapped["score"].isna().sum() == 2, "all that was scored is mapped"
    assert "status" not in mapped.columns


def test_no_overlap_names_both():
    true = quality()
    apart = pd.concat([judged(true.iloc[:60], "g"), judged(true.iloc[60:], "h")])
    refused(
        DesignError,
        (
            lambda: calibrate(judged(true), reference=true.assign(system="z")),
            r"no mean for any rating.*\['z'\] against \['a', 'b', 'c'\]",
        ),
        (lambda: calibrate(judged(true)), "No two judges scored the same cell; judges: g"),
        (lambda: calibrate(apart), "judges: g, h"),
    )


def test_one_item_is_held_out_by_system():
    true = quality(items=1, systems="abcdefhijk")
    table = judged(true, "g", shift=1, noise=0.5)
    got = terms(calibrate(table, reference=true))
    assert got.loc["shift", "method"] == "t over systems (G = 10)"
    gap = true["score"] - table["score"]
    assert got.loc["shift", "std_error"] == pytest.approx(gap.sem())
    assert got.loc["rmse_after", "n"] == 10
    alone = pd.concat([judged(quality(1, "s"), criterion_, shift=1) for criterion_ in "g"]).merge(
        pd.DataFrame({"criterion": list("pqr")}), how="cross"
    )
    reference = alone.drop(columns="judge").assign(score=lambda t: t["score"] + [0, 1, 2])
    nothing = terms(calibrate(alone, reference=reference))
    assert nothing.loc["shift", "estimate"] == pytest.approx(1)
    assert math.isnan(nothing.loc["rmse_after", "estimate"])
    assert NO_FOLDS in nothing.loc["rmse_after", "flag"]


# ---------------------------------------------------------------- frames and options


def test_calibrated_ratings_of_any_engine():
    table = panel().assign(rationale="because", replicate=0)
    want = calibrate(table, method="linear", output="ratings")
    assert list(want.columns) == list(table.columns)
    assert (check(want)["level"] != "fault").all()
    for made in (pl.from_pandas(table), pl.from_pandas(table).lazy()):
        got = calibrate(made, method="linear", output="ratings")
        assert isinstance(got, type(made))
        got = got.collect() if isinstance(got, pl.LazyFrame) else got
        np.testing.assert_allclose(got["score"].to_numpy(), want["score"])
    pd.testing.assert_frame_equal(calibrate(pl.from_pandas(table)), calibrate(table))


def test_replicates_are_averaged_and_mapped_one_by_one():
    true = quality()
    runs = pd.concat([judged(true, shift=1, noise=0.5, seed=s).assign(replicate=s) for s in range(4)])
    got = terms(calibrate(runs, reference=true))
    assert (got["n"] == 120).all()
    assert (got["flag"] == "replicates averaged").all()
    mapped = calibrate(runs, reference=true, output="ratings")
    np.testing.assert_allclose(mapped["score"] - runs["score"].to_numpy(), got.loc["shift", "estimate"])
    means = runs.groupby(["judge", "system", "item"])["score"].agg(["mean", "std", "count"]).reset_index()
    means = means.rename(columns={"std": "sd", "count": "runs"})
    of_means = terms(calibrate(means, reference=true, method="linear"))
    of_runs = terms(calibrate(runs, reference=true, method="linear"))
    pd.testing.assert_frame_equal(of_means[NUMBERS], of_runs[NUMBERS])
    line = calibrate(means, reference=true, method="linear", output="ratings")
    np.testing.assert_allclose(line["sd"], means["sd"] * of_means.loc["slope", "estimate"])
    ranked = calibrate(means, reference=true, method="rank", output="ratings")
    assert ranked["sd"].isna().all()


def test_a_map_for_each_group():
    true = quality()
    parts = [judged(true, shift=s, noise=0.3).assign(criterion=c) for s, c in ((1, "style"), (-2, "truth"))]
    table = pd.concat(parts, ignore_index=True)
    result = calibrate(table, reference=true, by="criterion")
    shifts = result[result["term"] == "shift"].set_index("criterion")["estimate"]
    assert shifts["style"] == pytest.approx(-1, abs=0.1)
    assert shifts["truth"] == pytest.approx(2, abs=0.1)
    mapped = calibrate(table, reference=true, by="criterion", output="ratings")
    assert mapped.groupby("criterion")["score"].mean().to_numpy() == pytest.approx(true["score"].mean())
    pooled = calibrate(table, reference=true)
    assert pooled.query("term == 'shift'")["estimate"].item() == pytest.approx(shifts.mean())


def test_a_final_score_is_taken_alone():
    true = quality()
    table = pd.concat([judged(true, shift=s, noise=0.3).assign(criterion=c) for s, c in ((1, "final"), (-2, "truth"))])
    final = table[table["criterion"] == "final"]
    pd.testing.assert_frame_equal(calibrate(table, reference=true), calibrate(final, reference=true))
    mapped = calibrate(table, reference=true, output="ratings")
    assert (mapped["criterion"] == "final").all()
    assert len(calibrate(table, reference=true, overall_criterion=None, output="ratings")) == 2 * len(final)


def test_identity_finds_the_own_system():
    table = panel(own=2.0)
    names = {"a": "model A", "b": "model B", "c": "model C"}
    renamed = table.assign(system=table["system"].map(names))
    identity = {v: k for k, v in names.items()}
    # the folds hold items out, so the names of the systems move nothing
    pd.testing.assert_frame_equal(calibrate(renamed, identity=identity), calibrate(table))
    without = calibrate(renamed)
    assert (without["n"] == 120).all()
    with pytest.raises(SchemaError, match="'model Z' is not a system"):
        calibrate(renamed, identity={"model Z": "a"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "cubic"}, "method='cubic' is not known. Allowed: 'shift', 'linear', 'rank'"),
        ({"output": "frame"}, "output='frame' is not known"),
        ({"own": "drop"}, "own='drop' is not known"),
        ({"reference": "people"}, "reference='people' is not known"),
        ({"folds": 1}, "folds=1 is not a number of folds"),
        ({"by": "system"}, "one calibration for all systems"),
    ],
)
def test_options_that_cannot_be(options, message):
    with pytest.raises(DesignError) as error:
        calibrate(panel(), **options)
    assert message in str(error.value)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=25)
def test_holes_anywhere_raise_nothing(data):
    places = list(itertools.product("ab", "abx", "1234"))
    kept = data.draw(st.lists(st.sampled_from(places), unique=True, min_size=2))
    table = pd.DataFrame(kept, columns=["judge", "system", "item"])
    table["score"] = data.draw(
        st.lists(st.sampled_from([1.0, 2.0, 5.0, math.nan]), min_size=len(kept), max_size=len(kept))
    )
    method = data.draw(st.sampled_from(["shift", "linear", "rank"]))
    scored = table.dropna(subset="score")
    assume(scored.duplicated(["system", "item"]).any())
    result = calibrate(table, method=method)
    unknown = result["conf_low"].isna()
    assert (result.loc[unknown, "flag"] != "").all(), "what is not known is flagged"
    known = result[~unknown]
    assert (known["conf_low"] < known["conf_high"]).all()
    assert len(calibrate(table, method=method, output="ratings")) == len(table)


@pytest.mark.real
def test_hanna_models_come_nearer_to_people(real_data):
    table = pd.read_csv(real_data / "hanna" / "ratings_long.csv.gz")
    table = table.rename(columns={"rater": "judge", "writer": "system", "prompt_index": "item"})
    table["score"] = table["score"].where(table["score"].between(1, 5))
    people = table[table["rater_type"] == "human"]
    models = table[(table["rater_type"] == "llm") & (table["eval_prompt"] == 1)]
    columns = ["judge", "system", "item", "criterion", "score"]
    result = calibrate(models[columns], reference=people[columns], method="linear")
    wide = people.groupby(["system", "item", "criterion"])["score"].mean().rename("people")
    for judge, part in models.dropna(subset="score").groupby("judge"):
        both = part.join(wide, on=["system", "item", "criterion"])
        peer = stats.linregress(both["score"], both["people"])
        got = terms(result, judge)
        assert got.loc["slope", "estimate"] == pytest.approx(peer.slope)
        assert got.loc["slope", "n"] == len(both)
        assert got.loc["rmse_before", "estimate"] == pytest.approx(
            math.sqrt(((both["score"] - both["people"]) ** 2).mean())
        )
        residual = both["people"] - peer.intercept - peer.slope * both["score"]
        assert got.loc["rmse_after", "estimate"] == pytest.approx(math.sqrt((residual**2).mean()), rel=0.01)
        assert got.loc["rmse_after", "conf_high"] < got.loc["rmse_before", "conf_low"]
