"""Every measure on the lazy frames of DuckDB and Spark: the numbers of pandas, and little that leaves the engine."""

import shutil

import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pytest

import judgestats as js
import registry
from judgestats.counting import counts, engines
from judgestats.counting.patterns import PATTERNS
from judgestats.counting.tallies import count, tally
from judgestats.flags import NOT_DRAWN
from judgestats.metrics.measure_registry import measures
from judgestats.schema.opening import refuse_nested
from refusals import refused

MEASURES = registry.registry()
#: The measures that count a pattern: one of each.
COUNTED = {m.counted_as: n for n, m in measures().items() if n in MEASURES and m.pattern is not None}
#: Lazy frames that a measure gathers, for it matches single calls or texts.
GATHERED = {"anchoring", "revision", "criterion_shift"}
CALLS = sorted(p for p in PATTERNS if PATTERNS[p].unit != "cell")


def same(got, want):
    pd.testing.assert_frame_equal(got, want, check_dtype=False, rtol=1e-10, atol=1e-10)


def relation(table):
    """The rows as a DuckDB relation that holds its connection."""
    connection = duckdb.connect()
    connection.register("held", table)
    return connection.table("held")


@pytest.fixture
def leaving(monkeypatch):
    """What every query of the test brought into memory: rows and columns."""
    seen = []
    collect = nw.LazyFrame.collect

    def noted(self, *args, **options):
        result = collect(self, *args, **options)
        seen.append((len(result), tuple(result.columns)))
        return result

    monkeypatch.setattr(nw.LazyFrame, "collect", noted)
    return seen


def counted_data(measure):
    """A frame for a pattern, and the baseline that it asks for."""
    case = MEASURES[COUNTED[measure]]
    return case.data(), case.baseline


@pytest.mark.parametrize("measure", CALLS)
def test_the_tally_of_a_relation_is_that_of_pandas(measure):
    data, baseline = counted_data(measure)
    want = count(data, measure, baseline=baseline)
    got = count(relation(data), measure, baseline=baseline)
    same(got.table, want.table)
    assert got.clusters == want.clusters
    same(tally(relation(data), measure, baseline=baseline), tally(data, measure, baseline=baseline))


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURES)
def test_a_relation_gives_what_pandas_gives(name):
    data = MEASURES[name].data()
    same(MEASURES[name].call(relation(data)), MEASURES[name].call(data))


def repeated(data, times):
    """The same calls again, under the name of another run of the study, so that no pattern is new."""
    parts = [data.assign(item=[f"{i}/{t}" for i in data["item"]]) for t in range(times)]
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize("measure", sorted(set(CALLS) - GATHERED))
def test_only_the_tally_leaves_the_engine(measure, leaving):
    """However many calls there are: without a cluster the tally has as many rows as there are patterns."""
    data, baseline = counted_data(measure)
    few, many = relation(data), relation(repeated(data, 5))
    tally(few, measure, cluster=False, baseline=baseline)
    most = max(rows for rows, _ in leaving)
    leaving.clear()
    result = tally(many, measure, cluster=False, baseline=baseline)
    assert max(rows for rows, _ in leaving) == most <= max(len(result) + 5, 50)


@pytest.mark.parametrize("name", ["best_of_accuracy", "score_error", "judge_against_people", "anchoring", "revision",
                                  "protocol_difference", "criterion_shift", "agreement_shift", "kappa", "alpha", "icc",
                                  "bias_change"])  # fmt: skip
def test_free_text_stays_in_the_engine(name, leaving):
    data = MEASURES[name].data()
    essays = relation(data.assign(essay=[f"{i:04d}" * 50 for i in range(len(data))]))
    same(MEASURES[name].call(essays), MEASURES[name].call(data))
    lengths = [rows for rows, columns in leaving if "essay" in columns]
    assert all(rows == 1 for rows in lengths)  # how long it is on average


def test_a_long_prompt_that_splits_cells_is_found_in_the_engine():
    """It differs in its middle digits only; each is met in many cells, so it belongs to no row."""
    scores = registry.scores().drop(columns="replicate")
    prompt = np.where(np.arange(len(scores)) % 2, "Rate from 1 to 5. " * 10, "Rate from 1 to 10. " * 10)
    with pytest.raises(js.errors.DesignError, match="'wording' splits ratings"):
        js.consensus_deviation(relation(scores.assign(wording=prompt)))


def test_a_nested_column_is_refused_with_its_remedy():
    table = duckdb.connect().sql("SELECT 'g' AS judge, 'i' AS item, 'x' AS first, 'y' AS second, 'first' AS choice, "
                                 "{'a': 1} AS meta, [1, 2] AS scores")  # fmt: skip
    assert tally(table, "position_bias")["n"].sum() == 1  # a measure that does not use it counts all the same
    refuse_nested(nw.from_native(table), ["judge"])
    inside = duckdb.connect().sql("SELECT 'g' AS judge, {'a': 1} AS item, 'x' AS first, 'y' AS second, 'tie' AS choice")
    refused(
        js.errors.SchemaError,
        (lambda: js.preferences(table), r"'meta' \(Struct\), 'scores' \(List\).*Drop it, or take its parts"),
        (lambda: js.position_bias(inside), r"'item' \(Struct\)"),
    )


@pytest.mark.parametrize(
    "measure",
    [
        "position_bias",
        "consistency",
        "gold_agreement",
        *(pytest.param(m, marks=pytest.mark.slow) for m in ("answer_rates", "delta0", "filler_preference",
                                                            "target_sensitivity", "accuracy", "preference_rate")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("cluster", ["auto", "item"])
def test_merged_clusters_give_the_intervals_of_all_clusters(measure, cluster, monkeypatch, leaving):
    """Above the limit, clusters with the same counts leave the engine as one row; every number stays the same."""
    monkeypatch.setattr(engines, "MERGED_ABOVE", 20)
    name = COUNTED[measure]
    data = repeated(MEASURES[name].data(), 9).drop(columns=["task", "vacuum_kind", "prompt"], errors="ignore")
    data = data.assign(item=data["item"] + (data.groupby(["judge", "item"]).cumcount() // 8).astype(str))
    data["replicate"] = data.groupby(
        ["judge", "item", "first", "second"] if "first" in data else ["judge", "item"]
    ).cumcount()
    if "correct" in data:
        data["correct"] = data["correct"].astype("boolean")
    with_counts = data.assign(n_identical=2)
    for table in (data, with_counts):
        merged = count(relation(table), measure, cluster=cluster, merged=True)
        whole = count(table, measure, cluster=cluster)
        assert merged.alike is not None
        assert len(merged.n) < len(whole.n)
        assert merged.n.sum() == whole.n.sum()
        assert merged.clusters == whole.clusters
        leaving.clear()
        got = getattr(js, name)(relation(table), cluster=cluster)
        assert max(rows for rows, _ in leaving) <= len(merged.n)
        same(got, getattr(js, name)(table, cluster=cluster))


def test_clusters_are_merged_only_where_all_is_known(monkeypatch):
    """A repeated call, an unknown answer, few clusters: counted as any frame is, with its errors."""
    calls = registry.calls().drop(columns=["task", "prompt", "vacuum_kind"])
    calls = calls.assign(replicate=calls.groupby(["judge", "item", "first", "second"]).cumcount())
    assert count(relation(calls), "consistency", merged=True).alike is None  # few
    monkeypatch.setattr(engines, "MERGED_ABOVE", 20)
    assert count(relation(calls), "consistency", merged=True).alike is not None
    refused(
        js.errors.DesignError,
        (
            lambda: js.consistency(relation(pd.concat([calls, calls[:1]], ignore_index=True))),
            "repeat a pair",
        ),
        (
            lambda: js.position_bias(relation(calls.replace({"choice": {"tie": "A"}}))),
            js.errors.SchemaError,
            "'choice' has 'A'",
        ),
    )
    assert count(relation(calls), "consistency", cluster=False, merged=True).alike is None


def test_a_bootstrap_draws_no_more_than_its_limit_of_clusters(monkeypatch):
    calls = MEASURES["gold_agreement"].data()
    drawn = js.gold_agreement(calls, interval="percentile", cluster="item", n_resamples=50)
    assert drawn["method"].str.contains("bootstrap of item").any()
    monkeypatch.setattr(counts, "MOST_CLUSTERS", 20)
    flagged = js.gold_agreement(calls, interval="percentile", cluster="item", n_resamples=50)
    analytic = js.gold_agreement(calls, cluster="item")
    numbers = ["estimate", "std_error", "conf_low", "conf_high", "n", "method"]
    shares = flagged["term"].isin(["accuracy", "wrong", "tie", "invalid"])
    pd.testing.assert_frame_equal(flagged.loc[shares, numbers], analytic.loc[shares, numbers])
    assert flagged.loc[shares, "flag"].str.contains(NOT_DRAWN).all()


# ---- Spark ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def spark():
    """A local session, as small as one can be."""
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed (extra: spark)")
    if shutil.which("java") is None:
        pytest.skip("no Java, which Spark runs on")
    assert int(pyspark.__version__.split(".")[0]) >= 4
    from pyspark.sql import SparkSession

    options = {
        "spark.sql.shuffle.partitions": "3",
        "spark.ui.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.adaptive.enabled": "false",
        "spark.driver.memory": "1g",
    }
    builder = SparkSession.builder.master("local[2]").appName("judgestats")
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def spread(spark, table):
    """The rows on Spark, in several partitions and in no order."""
    return spark.createDataFrame(table.sample(frac=1, random_state=1)).repartition(3)


def with_text(frame):
    """With a column that stops the query if anything reads it."""
    from pyspark.sql import functions

    stop = functions.raise_error(functions.lit("the text was read")).cast("string")
    return frame.withColumn("transcript", stop)


@pytest.mark.spark
@pytest.mark.parametrize("measure", CALLS)
def test_counts_on_spark_are_those_of_pandas(spark, measure, leaving):
    """Exactly, and no wide column is read on the way."""
    data, baseline = counted_data(measure)
    want = count(data, measure, baseline=baseline)
    leaving.clear()
    got = count(with_text(spread(spark, data)), measure, baseline=baseline)
    pd.testing.assert_frame_equal(got.table, want.table, check_dtype=False, rtol=0, atol=0)
    assert got.clusters == want.clusters
    assert max(rows for rows, _ in leaving) <= max(len(want.n), 2 * len(data) // 3)


@pytest.mark.spark
@pytest.mark.parametrize("name", MEASURES)
def test_spark_gives_what_pandas_gives(spark, name):
    data = MEASURES[name].data()
    same(MEASURES[name].call(spread(spark, data)), MEASURES[name].call(data))


@pytest.mark.spark
def test_the_cluster_bootstrap_on_spark_draws_the_same_clusters(spark):
    """The clusters are sorted by their names, whatever the order in which Spark gives them."""
    data = MEASURES["bias_score"].data()
    frame = spread(spark, data).cache()
    for cluster in ("auto", ["item", "prompt"]):
        options = {"interval": "percentile", "n_resamples": 200, "cluster": cluster, "seed": 3}
        same(js.bias_score(frame, **options), js.bias_score(data, **options))
    bca = {"interval": "bca", "n_resamples": 200, "cluster": "item"}
    gold = MEASURES["gold_agreement"].data()
    same(js.gold_agreement(spread(spark, gold), **bca), js.gold_agreement(gold, **bca))


@pytest.mark.spark
def test_icc_on_spark_from_one_mean_for_each_item(spark, leaving):
    scores = registry.scores().assign(transcript="x" * 500)
    want = js.icc(scores, by="system")
    leaving.clear()
    same(js.icc(spread(spark, scores), by="system"), want)
    assert max(rows for rows, _ in leaving) == len(scores) // 2  # two runs of each cell


@pytest.mark.spark
def test_a_mixed_model_on_spark_from_counts(spark, leaving):
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"item": rng.integers(0, 30, 3000).astype(str), "strategy": rng.choice(["B0", "S1"], 3000)})
    quality = table["item"].map(dict(zip(sorted(table["item"].unique()), rng.normal(size=30), strict=True)))
    table["correct"] = (rng.random(3000) < 1 / (1 + np.exp(-quality - (table["strategy"] == "S1")))).astype(int)
    want = js.fit("correct ~ strategy + (1|item)", table)
    leaving.clear()
    got = js.fit("correct ~ strategy + (1|item)", spread(spark, table))
    assert max(rows for rows, _ in leaving) <= 30 * 2 * 2
    same(got.tidy(), want.tidy())
    same(got.random_effects(), want.random_effects())


@pytest.mark.spark
def test_spark_frames_are_mapped_where_they_lie(spark):
    table = pd.DataFrame({"model": ["g", "g", "h"], "q": [1, 1, 2], "left": ["x", "y", "x"], "right": ["y", "x", "y"],
                          "says": ["A", "B", None]})  # fmt: skip
    how = {"columns": {"judge": "model", "item": "q", "first": "left", "second": "right", "choice": "says"},
           "labels": {"A": "first", "B": "second"}}  # fmt: skip
    calls = js.read(spark.createDataFrame(table), **how)
    assert type(calls).__module__.startswith("pyspark")
    same(js.answer_rates(calls), js.answer_rates(js.read(table, **how)))
    scored = js.ratings(spark.createDataFrame(table), judge="model", system="left", item="q", correct="says",
                        labels={"A": "right", "B": "wrong"})  # fmt: skip
    assert js.check(js.answer_rates(calls).pipe(lambda _: calls))["level"].isin(["excluded", "counted", "rows"]).all()
    assert set(scored.columns) >= {"judge", "system", "item", "correct"}


@pytest.mark.spark
def test_a_nested_column_of_spark_is_refused_with_its_remedy(spark):
    rows = [("g", "i", "x", "y", "first", {"tokens": 3}), ("g", "i", "y", "x", "first", {"tokens": 4})]
    frame = spark.createDataFrame(rows, "judge string, item string, first string, second string, choice string, "
                                        "meta struct<tokens: int>")  # fmt: skip
    with pytest.raises(js.errors.SchemaError, match=r"'meta' \(Struct\).*withColumn\('meta_x', F.col\('meta.x'\)\)"):
        js.preferences(frame)
    assert js.consistency(frame)["n"].iloc[0] == 1  # it is not used
    from pyspark.sql import functions

    cured = frame.withColumn("tokens", functions.col("meta.tokens")).drop("meta")
    assert js.consistency(js.preferences(cured))["n"].iloc[0] == 1


@pytest.mark.spark
@pytest.mark.parametrize("measure", ["position_bias", "consistency", "preference_rate"])
def test_merged_clusters_on_spark(spark, measure, monkeypatch):
    monkeypatch.setattr(engines, "MERGED_ABOVE", 20)
    calls = registry.calls().drop(columns=["task", "prompt", "vacuum_kind"])
    calls["replicate"] = calls.groupby(["judge", "item", "first", "second"]).cumcount()
    frame = spread(spark, calls)
    assert count(frame, measure, cluster="item", merged=True).alike is not None
    same(getattr(js, measure)(frame, cluster="item"), getattr(js, measure)(calls, cluster="item"))
