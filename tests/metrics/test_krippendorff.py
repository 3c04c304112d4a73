"""Krippendorff's alpha."""

from __future__ import annotations

import math
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import twins_coincidence as twins
from judgestats.errors import DesignError, SchemaError
from judgestats.flags import FEW_CLUSTERS, NO_SPREAD, ONE_UNIT, RESAMPLES_AGREE
from judgestats.metrics.agreement.krippendorff import Level, alpha
from judgestats.results import COLUMNS
from judgestats.schema import ratings
from metrics.tables import FOUR, noisy, scores_of
from refusals import refused

LEVELS = get_args(Level)

NAN = np.nan


REFERENCE = Path(__file__).parents[1] / "reference" / "alpha.csv"

#: Wikipedia, Krippendorff's alpha: three coders of fifteen units.
THREE = np.array([
    [NAN, NAN, NAN, NAN, NAN, 3, 4, 1, 2, 1, 1, 3, 3, NAN, 3],
    [1, NAN, 2, 1, 3, 3, 4, 3, NAN, NAN, NAN, NAN, NAN, NAN, NAN],
    [NAN, NAN, 2, 1, 3, 4, 4, NAN, 2, 1, 1, 3, 3, NAN, 4],
])  # fmt: skip


def point(table, level, **options):
    return alpha(table, level_of_measurement=level, interval=None, **options)["estimate"].iloc[0]


@pytest.mark.parametrize(
    ("data", "level", "expected"),
    [
        (FOUR, "nominal", 904 / 1216),
        (FOUR, "ordinal", 0.8153875037548814),
        (FOUR, "interval", 0.8491071428571428),
        (FOUR, "ratio", 0.7974027747116121),
        (THREE, "nominal", 0.691358024691358),
        (THREE, "ordinal", 0.8067214199413153),
        (THREE, "interval", 0.8108448928121059),
    ],
)
def test_published_numbers(data, level, expected):
    assert point(scores_of(data), level) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("level", LEVELS)
def test_r_gives_the_same(level):
    stored = pd.read_csv(REFERENCE, comment="#").query("data == 'krippendorff'").set_index("level")["alpha"]
    assert point(scores_of(FOUR), level) == pytest.approx(stored[level], abs=1e-13)


def test_what_is_counted():
    row = alpha(scores_of(FOUR)).iloc[0]
    assert (row["n"], row["values"]) == (11, 40)
    assert "1 unit rated once" in row["flag"]
    assert "2 units without an answer excluded" in alpha(scores_of(THREE))["flag"].iloc[0]
    # 26 of Wikipedia's 45 cells are in units with two answers or more
    assert alpha(scores_of(THREE))["values"].iloc[0] == 26
    assert 1 - row["observed_disagreement"] / row["expected_disagreement"] == pytest.approx(row["estimate"], rel=1e-12)


def test_the_bootstrap_is_near_that_of_evalica():
    """Its interval, of seed 42 and 1000 resamples of disagreements, is [.443, .941]; ours draws units, and is wider."""
    row = alpha(scores_of(FOUR), level_of_measurement="nominal", interval="percentile", n_resamples=4000).iloc[0]
    assert row["conf_low"] == pytest.approx(0.443, abs=0.06)
    assert row["conf_high"] == pytest.approx(0.97, abs=0.04)
    assert row["std_error"] == pytest.approx(0.146, abs=0.01)  # irrCAC, by linearization
    assert row["method"] == "percentile, bootstrap of units (B = 4000), nominal level"


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("shape", ["a scale", "continuous"])
def test_the_bootstrap_is_one_of_units(level, shape):
    """Against the definition in a loop over resamples: the ranks of ordinal alpha are those of each resample."""
    if shape == "a scale":
        matrix = noisy(units=40, seed=1)
    else:  # no two units alike
        matrix = np.random.default_rng(2).normal(noisy(2, 12, missing=0, seed=1), 0.3) + 5
    units = [[x for x in unit if not math.isnan(x)] for unit in matrix.T.tolist()]
    units = [u for u in units if len(u) > 1]
    rng = np.random.default_rng(3)
    draws = [twins.alpha([units[i] for i in rng.integers(0, len(units), len(units))], level) for _ in range(300)]
    row = alpha(
        scores_of(matrix), level_of_measurement=level, interval="percentile", n_resamples=4000, conf_level=0.8
    ).iloc[0]
    spread = np.std(draws, ddof=1)
    assert row["std_error"] == pytest.approx(spread, rel=0.2)
    if "t," in row["method"]:  # twelve units that hardly agree: the percentiles lie to one side of the estimate
        assert (shape, level) == ("continuous", "nominal")
        return
    low, high = np.quantile(draws, [0.1, 0.9])
    assert row["conf_low"] == pytest.approx(low, abs=spread / 3)
    assert row["conf_high"] == pytest.approx(high, abs=spread / 3)


def test_the_interval_covers():
    """Alpha of many samples of units: the mean interval holds the value of a large sample about as often as it says."""
    truth = point(scores_of(noisy(units=900, missing=0, seed=9)), "interval")
    table = pd.concat([scores_of(noisy(units=60, missing=0, seed=100 + k), draw=k) for k in range(150)])
    result = alpha(table, level_of_measurement="interval", by="draw", n_resamples=400)
    covered = ((result["conf_low"] < truth) & (truth < result["conf_high"])).mean()
    assert 0.87 < covered < 0.99
    assert result["std_error"].mean() == pytest.approx(result["estimate"].std(), rel=0.2)


def test_clusters_are_left_out_whole():
    """Every unit ten times over: the interval is that of the units."""
    few = scores_of(noisy(units=30, seed=4))
    table = pd.concat([few.assign(system=f"s{k}") for k in range(10)], ignore_index=True)
    one, whole = (
        alpha(few, level_of_measurement="ordinal").iloc[0],
        alpha(table, level_of_measurement="ordinal", cluster="item").iloc[0],
    )
    assert whole["std_error"] == pytest.approx(one["std_error"], rel=0.2)
    without = [
        alpha(few[few["item"] != i], level_of_measurement="ordinal", interval=None)["estimate"].item()
        for i in few["item"].unique()
    ]
    error = math.sqrt((len(without) - 1) * np.var(np.arctanh(without)))
    assert whole["std_error"] == pytest.approx((1 - whole["estimate"] ** 2) * error, rel=1e-3)
    pd.testing.assert_series_equal(alpha(table, level_of_measurement="ordinal").iloc[0], whole)  # by default
    assert alpha(table, level_of_measurement="ordinal", cluster=False)["std_error"].iloc[0] == pytest.approx(
        one["std_error"] / math.sqrt(10), rel=0.15
    )
    assert whole["method"] == "t, jackknife of Fisher's z, clustered by item (G = 29), ordinal level"
    assert FEW_CLUSTERS in alpha(scores_of(noisy(units=8)), cluster="item")["flag"].iloc[0]


# invariances


@settings(max_examples=10)
@given(st.permutations([1.0, 2.0, 3.0, 4.0, 5.0]), st.floats(0.01, 100), st.floats(-1000, 1000))
def test_each_level_has_its_own_indifference(order, scale, shift):
    matrix = noisy(units=25, seed=5)
    known = ~np.isnan(matrix)

    def changed(by):
        result = matrix.copy()
        result[known] = by(matrix[known])
        return scores_of(result)

    same = scores_of(matrix)
    relabelled = changed(lambda x: np.array(order)[x.astype(int) - 1])
    np.testing.assert_allclose(point(relabelled, "nominal"), point(same, "nominal"), rtol=1e-12)
    np.testing.assert_allclose(
        point(changed(lambda x: scale * x**3 + shift), "ordinal"), point(same, "ordinal"), rtol=1e-12
    )
    np.testing.assert_allclose(
        point(changed(lambda x: scale * x + shift), "interval"), point(same, "interval"), rtol=1e-6
    )
    np.testing.assert_allclose(point(changed(lambda x: scale * x), "ratio"), point(same, "ratio"), rtol=1e-9)
    assert point(changed(np.exp), "interval") != pytest.approx(point(same, "interval"), abs=1e-4)


def test_judges_may_change_places_from_unit_to_unit():
    """Alpha knows no judges: columns of a unit may be shuffled, unlike for kappa."""
    matrix = noisy(units=50, seed=6)
    shuffled = np.random.default_rng(0).permuted(matrix, axis=0)
    for level in LEVELS:
        assert point(scores_of(shuffled), level) == pytest.approx(point(scores_of(matrix), level), rel=1e-12)


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_does_not_depend_on_rows_engines_or_categories(level):
    table = pd.concat([scores_of(noisy(seed=k), topic=t) for k, t in enumerate("ba")], ignore_index=True)
    expected = alpha(table, level_of_measurement=level, by="topic", n_resamples=300)
    assert list(expected["topic"]) == ["a", "b"]
    assert tuple(expected.columns) == ("topic", *COLUMNS, "observed_disagreement", "expected_disagreement", "values")
    text = dict.fromkeys(["judge", "item", "system", "topic"], "category")
    for other in (
        table.sample(frac=1, random_state=1),
        table.astype(text),
        pl.from_pandas(table),
        pl.from_pandas(table).lazy(),
    ):
        pd.testing.assert_frame_equal(alpha(other, level_of_measurement=level, by="topic", n_resamples=300), expected)
    alone = alpha(table[table["topic"] == "b"], level_of_measurement=level, by="topic", n_resamples=300)
    pd.testing.assert_frame_equal(expected.iloc[1:].reset_index(drop=True), alone)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(2, 6), st.sampled_from(LEVELS))
def test_whole_frames_are_their_definition(seed, judges, level):
    """With a scale of 40 points units are not made patterns; with 5 they are."""
    for points in (5, 40):
        matrix = noisy(judges, 15, points, 0.3, seed)
        units = [[x for x in unit if not math.isnan(x)] for unit in matrix.T.tolist()]
        np.testing.assert_allclose(point(scores_of(matrix), level), twins.alpha(units, level), rtol=1e-11, atol=1e-12)


# preferences, repeats, counts


def preferences(answers, judge, **columns):
    table = {"judge": judge, "item": [f"i{k}" for k in range(len(answers))], "first": "x", "second": "y"}
    return pd.DataFrame({**table, "choice": answers, **columns})


def test_alpha_of_preferences_does_not_depend_on_the_order_shown():
    said = [["first", "second", "tie", "first", "invalid"], ["first", "first", "abstain", "second", "first"]]
    table = pd.concat([preferences(a, j) for a, j in zip(said, "gh", strict=True)], ignore_index=True)
    codes = {"first": 0, "tie": 1, "abstain": 1, "second": 2}
    units = [[codes[a] for a in unit if a != "invalid"] for unit in zip(*said, strict=True)]
    for level in ("nominal", "ordinal", "interval"):
        assert point(table, level) == pytest.approx(twins.alpha(units, level), rel=1e-12)
    flip = {"first": "second", "second": "first"}
    mixed = table.copy()
    mixed.loc[5:, ["first", "second"]] = ["y", "x"]
    mixed.loc[5:, "choice"] = [flip.get(c, c) for c in table.loc[5:, "choice"]]
    pd.testing.assert_frame_equal(alpha(mixed), alpha(table))
    assert "1 unit rated once" in alpha(table)["flag"].iloc[0]
    with pytest.raises(DesignError, match="preferences are 'nominal'"):
        alpha(table, level_of_measurement="ratio")


@pytest.mark.parametrize(("level", "how"), [("nominal", "mode"), ("ordinal", "median"), ("interval", "mean")])
def test_repeats_of_a_judge_are_put_together_whatever_their_numbers(level, how):
    rng = np.random.default_rng(4)
    runs = pd.concat([scores_of(noisy(seed=s, units=40, missing=0), replicate=s) for s in range(3)], ignore_index=True)
    keys = ["judge", "system", "item"]
    options = {"level_of_measurement": level, "repeats": "majority", "n_resamples": 200}
    found = alpha(runs, **options)
    assert found["method"].str.endswith(f", {how} of repeats").all()
    assert found["n"].item() <= 40
    numbers = runs.groupby(keys)["replicate"].transform(lambda x: rng.permutation(x.to_numpy()))
    renumbered = runs.assign(replicate=numbers).sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(alpha(renumbered, **options), found)
    pick = {"mode": lambda x: x.mode().iloc[0] if len(x.mode()) == 1 else np.nan}.get(how, how)
    once = runs.groupby(keys)["score"].agg(pick).reset_index()
    assert found["estimate"].item() == pytest.approx(point(once, level), rel=1e-12)
    unsettled = int(once["score"].isna().sum())
    assert (f"{unsettled} sets of repeats without a single mode excluded" in found["flag"].item()) == (how == "mode")
    with pytest.raises(DesignError, match="answered twice"):
        alpha(runs.drop(columns="replicate"))


def test_alpha_of_rows_that_carry_a_count():
    """A unit that stands for three is three units."""
    matrix = noisy(units=12)
    n = np.tile(np.arange(12) % 3 + 1, 3)
    table = scores_of(matrix, n_identical=n)
    spread = scores_of(np.repeat(matrix, n[:12], axis=1))
    for level in LEVELS:
        one, many = (alpha(t, level_of_measurement=level, cluster=False).iloc[0] for t in (table, spread))
        assert one["estimate"] == pytest.approx(many["estimate"], rel=1e-12)
        assert one["n"] == many["n"]
        assert one["std_error"] == pytest.approx(many["std_error"], rel=0.1)
    with pytest.raises(DesignError, match="different counts"):
        alpha(scores_of(matrix, n_identical=np.arange(36)))


# what cannot be said


@pytest.mark.parametrize("level", LEVELS)
def test_alpha_is_not_a_number_where_nothing_can_be_said(level):
    same = alpha(scores_of(np.full((3, 40), 0.1)), level_of_measurement=level).iloc[0]
    assert same[["estimate", "std_error", "conf_low"]].isna().all()
    assert (same["observed_disagreement"], same["flag"]) == (0, "one label only")
    apart = alpha(scores_of([[1, NAN, NAN], [NAN, 2, 3]]), level_of_measurement=level).iloc[0]
    assert (apart["n"], apart["values"]) == (0, 0)
    assert apart["flag"] == "no unit with two answers; 3 units rated once; 3 scores missing"
    one = alpha(scores_of([[1, NAN], [2, 2]]), level_of_measurement=level).iloc[0]
    assert ONE_UNIT in one["flag"]
    assert one["estimate"] == 0  # two answers that differ, as two at random do
    assert math.isnan(one["conf_low"])
    perfect = alpha(scores_of([[1, 2] * 20] * 2), level_of_measurement=level).iloc[0]
    assert perfect["estimate"] == 1
    assert math.isnan(perfect["conf_low"])
    assert perfect["flag"] == (NO_SPREAD if level in ("interval", "ratio") else RESAMPLES_AGREE)


def test_resamples_without_alpha_are_counted():
    scores = [1] * 39 + [2]
    result = alpha(scores_of([scores, [*scores[:-1], 1]]), n_resamples=400)
    assert pd.Series(result["flag"]).str.contains(r"1\d\d resamples undefined").all()  # 1/e of them draw no 2


#: Sets of labels of three judges, the third without an answer once.
SETS = {
    "a": ["x", "x;y", "y", "x;y;z", "none", "z", "x;z", "y;z"],
    "b": ["x", "x", "y;z", "x;y", "none", "x", "x;z", "x;y"],
    "c": ["x;y", "x;y", "y", "x", "z", "z", None, "y;z"],
}


def sets_of(times=1):
    rows = [(j, f"{k}-{i}", i, s) for k in range(times) for j, own in SETS.items() for i, s in enumerate(own)]
    return pd.DataFrame(rows, columns=["judge", "item", "topic", "answer"])


@pytest.mark.parametrize(("distance", "expected"), [("masi", 0.3248407643312101), ("jaccard", 0.3662109375)])
def test_alpha_of_sets_is_that_of_nltk(distance, expected):
    """AnnotationTask(rows, distance=masi_distance or jaccard_distance).alpha() of NLTK 3.10.4."""
    (row,) = alpha(sets_of(), distance=distance, interval=None).to_dict("records")
    assert row["estimate"] == pytest.approx(expected, abs=1e-12)
    assert (row["n"], row["values"]) == (8, 23)
    assert 1 - row["observed_disagreement"] / row["expected_disagreement"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("distance", ["masi", "jaccard"])
def test_sets_of_one_label_are_classes(distance):
    table = sets_of(4).assign(answer=lambda t: t["answer"].str[0])
    numbers = ["estimate", "std_error", "conf_low", "conf_high"]
    sets, classes = alpha(table, distance=distance), alpha(table)
    np.testing.assert_allclose(sets[numbers], classes[numbers], rtol=1e-9)


def test_each_label_is_yes_or_no_and_the_mean_is_theirs():
    table = sets_of(3)
    found = alpha(table, distance="label", cluster=False, n_resamples=300).set_index("label")
    assert found.index.tolist() == ["none", "x", "y", "z", ""]
    for label in "xyz":
        yes = table["answer"].str.split(";").map(lambda own, label=label: label in own, na_action="ignore")
        alone = alpha(table.assign(answer=yes.map({True: "yes", False: "no"})), cluster=False, n_resamples=300)
        np.testing.assert_allclose(found.loc[label, "estimate"], alone["estimate"].iloc[0], rtol=1e-12)
        np.testing.assert_allclose(found.loc[label, "std_error"], alone["std_error"].iloc[0], rtol=0.1)
    mean = found.loc[""]
    assert mean["term"] == "mean_alpha"
    assert mean["estimate"] == pytest.approx(found["estimate"].iloc[:4].mean(), rel=1e-12)
    assert mean["conf_low"] < mean["estimate"] < mean["conf_high"]
    assert mean["std_error"] < found["std_error"].iloc[:4].mean()


def test_sets_by_cluster_leave_clusters_out_and_order_of_labels_does_not_count():
    table = sets_of(4)
    swapped = table.assign(
        answer=table["answer"].str.split(";").map(lambda own: ";".join(own[::-1]), na_action="ignore")
    )
    found = alpha(table, distance="masi", cluster="topic")
    assert found["method"].str.startswith("t, jackknife").all()
    without = [alpha(table[table["topic"] != i], distance="masi", interval=None)["estimate"].iloc[0] for i in range(8)]
    spread = np.sqrt(7 / 8 * ((np.array(without) - np.mean(without)) ** 2).sum())
    assert found["std_error"].iloc[0] == pytest.approx(spread, rel=0.15)  # on Fisher's z
    assert alpha(swapped, distance="masi")["estimate"].iloc[0] == pytest.approx(found["estimate"].iloc[0], rel=1e-12)
    mean = alpha(table, distance="label", cluster="topic").iloc[-1]
    assert mean["conf_low"] < mean["estimate"] < mean["conf_high"]


def test_a_label_that_all_give_or_nobody_has_no_alpha_and_is_left_out_of_the_mean():
    table = sets_of(2).assign(answer=lambda t: t["answer"] + ";all")
    found = alpha(table, distance="label", interval=None).set_index("label")
    assert math.isnan(found.loc["all", "estimate"])
    assert found.loc["all", "flag"] == "one label only; 2 scores missing"
    assert found.loc["", "flag"] == "1 label undefined; 2 scores missing"
    assert found.loc["", "estimate"] == pytest.approx(found["estimate"].iloc[:5].drop("all").mean())


def test_options_and_tables_that_cannot_be():
    parts = [scores_of(noisy(seed=r + 2 * (w == "x")), replicate=r, wording=w) for r in range(2) for w in "xy"]
    matrix = FOUR.copy()
    matrix[np.isnan(matrix)] = np.inf
    table = scores_of(FOUR)
    refused(
        DesignError,
        (lambda: alpha(pd.concat(parts, ignore_index=True)), "wording"),
        (lambda: alpha(scores_of(matrix)), SchemaError, "'score' is infinite in 7 rows"),
        (
            lambda: alpha(table, level_of_measurement="ordinl"),
            "level_of_measurement='ordinl'.*Did you mean 'ordinal'".replace(".*", r"[\s\S]*"),
        ),
        (lambda: alpha(table, interval="bca"), "interval='bca'"),
        (lambda: alpha(scores_of(FOUR - 2), level_of_measurement="ratio"), "the lowest is -1"),
        (lambda: alpha(table, cluster="judge"), "cluster='judge'"),
        (lambda: alpha(table, by="topic"), SchemaError, "by='topic' is not a column"),
        (lambda: alpha(table, n_resamples=0), "n_resamples=0"),
        (lambda: alpha(sets_of(), distance="mazi"), "distance='mazi'"),
        (lambda: alpha(sets_of(), distance="masi", level_of_measurement="ordinal"), "distance= is for sets of labels"),
        (
            lambda: alpha(sets_of().replace({"answer": {"x;y;z": "X;y;z"}}), distance="masi"),
            SchemaError,
            "Labels look alike: 'X', 'x'",
        ),
    )


@pytest.mark.parametrize("distance", [None, "masi", "jaccard", "label"])
@pytest.mark.parametrize("interval", [None, "t", "percentile"])
def test_counts_of_sets_give_what_their_calls_give(distance, interval):
    """A unit that stands for several is each of them; its item is their cluster."""
    rng = np.random.default_rng(0)
    rows = [(j, i, rng.choice(["p", "q", "p;q", "q;r", "none"]), 1 + i % 4) for i in range(12) for j in "ghk"]
    counts = pd.DataFrame(rows, columns=["judge", "item", "answer", "n"])
    calls = counts.loc[counts.index.repeat(counts["n"])].drop(columns="n").rename(columns={"item": "topic"})
    calls["topic"] = calls["topic"].astype(str)
    calls["item"] = calls["topic"] + "/" + calls.groupby(["judge", "topic"]).cumcount().astype(str)
    options = {"distance": distance, "interval": interval, "n_resamples": 40}
    want = alpha(ratings(calls), cluster="topic", **options)
    for frame in (counts, pl.from_pandas(counts).lazy()):
        found = alpha(ratings(frame, counts="n"), cluster="item", **options).drop(columns="method")
        pd.testing.assert_frame_equal(found, want.drop(columns="method"), rtol=1e-12, atol=1e-12)


# the level of measurement


def rated(values, **columns):
    """Scores of two judges, of which one is the other's reversed."""
    table = {"item": [f"i{k:02d}" for k in range(len(values))] * 2, "score": [*values, *values[::-1]]}
    return pd.DataFrame({"judge": ["g"] * len(values) + ["h"] * len(values), **table, **columns})


@pytest.mark.parametrize(
    ("table", "level"),
    [
        (rated([1.0, 2, 3, 4, 5] * 4), "ordinal"),
        (rated([0.0, 1] * 8), "ordinal"),
        (rated([1.0, 2.5, 3, 4, 5] * 4), "interval"),
        (rated([float(x) for x in range(0, 101, 5)]), "interval"),
        (rated([10.0, 20, 30, 40] * 4), "ordinal"),
        (rated([10.0, 20, 30, 40] * 4, scale="0-100"), "interval"),
        (rated([10.0, 20, 30, 40] * 4, scale="as in the paper"), "ordinal"),
        (rated([1.0, 2, 3] * 4, scale="1 to 5"), "ordinal"),
        (rated([1.0, 2, 3, 1.5] * 4, scale="1 to 5"), "interval"),
        (rated([1.0, 0] * 8).rename(columns={"score": "correct"}), "nominal"),
        (rated(["a", "b", "c"] * 4).rename(columns={"score": "answer"}), "nominal"),
        (preferences(["first", "second"], "g").pipe(lambda t: pd.concat([t, t.assign(judge="h")])), "nominal"),
    ],
)
def test_the_level_is_that_of_the_answers_and_is_named(table, level):
    for frame in (table, pl.from_pandas(table), pl.from_pandas(table).lazy()):
        row = alpha(frame, interval=None)
        assert row["method"].tolist() == [f"{level} level"]
        expected = alpha(frame, level_of_measurement=level, interval=None)
        pd.testing.assert_frame_equal(row, expected)


def test_classes_in_order_are_ordinal_however_many():
    names = [f"step {k:02d}" for k in range(20)]
    calls = rated(names).rename(columns={"score": "answer"})
    table = ratings(calls, classes=names, ordered=True)
    assert alpha(table, interval=None)["method"].item() == "ordinal level"
    assert alpha(ratings(calls, classes=names), interval=None)["method"].item() == "nominal level"


def test_one_level_for_the_whole_frame_whatever_the_groups():
    table = pd.concat([rated([1.0, 2, 3] * 4, criterion="x"), rated([0.5, 2, 3] * 4, criterion="y")])
    for by in ((), "criterion"):
        assert set(alpha(table, by=by, interval=None)["method"]) == {"interval level"}


def test_a_level_given_as_a_distance_is_answered_with_its_argument():
    table = rated([1.0, 2, 3] * 4)
    refused(
        DesignError,
        ({"distance": "interval"}, r"distance='interval'.* Pass level_of_measurement='interval'\."),
        ({"level_of_measurement": "masi"}, r"level_of_measurement='masi'.* Pass distance='masi'\."),
        of=lambda arguments: alpha(table, **arguments),
    )
    assert (
        alpha(ratings(rated(["a;b", "b"] * 3).rename(columns={"score": "answer"})), distance="masi", interval=None)[
            "method"
        ].item()
        == "masi distance"
    )
