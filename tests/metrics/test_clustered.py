"""What the ratings of a table share: the column is found, named in ``method``, and used by every measure of ratings."""

import inspect
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import judgestats as js
from judgestats.errors import DesignError
from judgestats.estimate import jackknifed
from judgestats.flags import NO_SPREAD, NOT_INDEPENDENT, ONE_UNIT
from judgestats.metrics.clustered import clustered_by
from refusals import refused

MEASURES = [
    "ac1", "agreement_levels", "agreement_shift", "agreement_slope", "alpha", "blinding_effect", "calibrate",
    "consensus_deviation", "correlation", "disagreement", "icc", "kappa", "ordering_accuracy", "quality_agreement",
    "rank_correlation", "score_distribution", "score_matrix",
]  # fmt: skip


def in_tasks(tasks=40, items=3, systems="xyz", judges="abc", seed=0):
    """Items in tasks: what is agreed on, and how severe a judge is, is a matter of the task."""
    rng = np.random.default_rng(seed)
    keys = pd.MultiIndex.from_product(
        [list(judges), list(systems), range(tasks), range(items), ["old", "new"]],
        names=["judge", "system", "task", "item", "condition"],
    )
    table = keys.to_frame(index=False)
    table["item"] = table["task"].astype(str) + "." + table["item"].astype(str)
    table["task"] = table["task"].astype(str)
    code = lambda *columns: table.groupby(list(columns)).ngroup().to_numpy()  # noqa: E731
    quality = rng.normal(size=tasks)[code("task")] + 0.3 * code("system")
    lean = rng.normal(size=tasks * len(judges))[code("judge", "task")]
    table["score"] = np.round(2 * (quality + 0.7 * lean + 0.5 * rng.normal(size=len(table)))) / 2
    table["temperature"] = (table["condition"] == "new").astype(float)
    return table


ONE = in_tasks()[lambda t: t["condition"] == "old"].drop(columns=["condition", "temperature"])
CALLS = {
    "icc": partial(js.icc, ONE),
    "icc in a system": partial(js.icc, ONE, by="system"),
    "kappa": partial(js.kappa, ONE),
    "kappa, bootstrap": partial(js.kappa, ONE, interval="percentile", n_resamples=50),
    "ac1": partial(js.ac1, ONE),
    "alpha": partial(js.alpha, ONE, level_of_measurement="interval", n_resamples=50),
    "correlation": partial(js.correlation, ONE, n_resamples=50),
    "correlation of each pair": partial(js.correlation, ONE, pairs="each", n_resamples=50),
    "agreement_levels": partial(js.agreement_levels, ONE, n_resamples=50),
    "agreement_shift": partial(js.agreement_shift, in_tasks(), ("old", "new"), n_resamples=50),
    "agreement_slope": partial(js.agreement_slope, in_tasks(), n_resamples=50),
    "agreement_shift, across": partial(js.agreement_shift, in_tasks(), ("old", "new"), across="pair", n_resamples=50),
    "disagreement": partial(js.disagreement, ONE, top=0, n_resamples=50),
    "score_distribution": partial(js.score_distribution, ONE, n_resamples=50),
    "score_matrix": partial(js.score_matrix, ONE),
    "consensus_deviation": partial(js.consensus_deviation, ONE),
    "calibrate": partial(js.calibrate, ONE, method="linear"),
}


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_of_ratings_takes_a_cluster_and_finds_it_by_itself(name):
    assert inspect.signature(getattr(js, name)).parameters["cluster"].default == "auto"


@pytest.mark.parametrize("name", CALLS)
def test_the_column_is_found_and_named(name):
    call = CALLS[name]
    found, named = call(), call(cluster="task")
    pd.testing.assert_frame_equal(found, named)
    told = found.loc[found["conf_low"].notna(), "method"]
    assert len(told)
    assert told.str.contains("task").all(), told.tolist()
    assert not found["flag"].str.contains(NOT_INDEPENDENT).any()


@pytest.mark.parametrize("name", [n for n in CALLS if n != "consensus_deviation"])  # there False takes the runs
def test_things_taken_as_independent_are_flagged_and_surer(name):
    by_task, free = CALLS[name](), CALLS[name](cluster=False)
    drawn = by_task["term"].isin(["heterogeneity", "i_squared"])  # statistics of the draws themselves
    np.testing.assert_allclose(free["estimate"][~drawn], by_task["estimate"][~drawn], rtol=1e-12)
    used = by_task["conf_low"].notna() & free["conf_low"].notna() & (by_task["n"] > 20)
    assert free.loc[used, "flag"].str.contains(NOT_INDEPENDENT).all()
    width = lambda t: (t["conf_high"] - t["conf_low"])[used].mean()  # noqa: E731
    if used.any() and "shift" not in name and "slope" not in name:
        assert width(by_task) > 1.05 * width(free)


def test_what_things_share():
    table = in_tasks()
    assert clustered_by(ONE, [], "auto") == ("task", "")
    assert clustered_by(ONE, ["task"], "auto").column == "item"  # never one of by=
    assert clustered_by(in_tasks(tasks=10), [], "auto").column == "task"
    assert clustered_by(in_tasks(tasks=9), [], "auto").column == "item"  # 27 items; 9 tasks are too few
    assert clustered_by(ONE.drop(columns="task"), [], "auto").column == "item"
    single = ONE[ONE["system"] == "x"].drop(columns="task")
    assert clustered_by(single, [], "auto") == ("", "")
    assert clustered_by(single, [], "auto", whole="item") == ("item", "")
    assert clustered_by(ONE, [], False) == ("", NOT_INDEPENDENT)
    assert clustered_by(ONE, [], False, whole="item") == ("item", NOT_INDEPENDENT)
    assert clustered_by(single, [], False) == ("", "")
    assert clustered_by(table.assign(prompt=table["condition"]), [], "auto").column == "task"  # arms are no clusters
    refused(
        DesignError,
        (["item", "task"], "must be one column"),
        (None, r"cluster=None names no column"),
        of=lambda wrong: clustered_by(ONE, [], wrong),
    )


def test_correlations_over_systems_keep_fisher():
    rows = js.correlation(ONE, level="system", pairs="each")
    assert rows["method"].str.startswith("Fisher").sum() + rows["flag"].str.contains("perfect|few").sum() >= len(rows)
    drawn = js.correlation(ONE, level="system", pairs="each", cluster="task", n_resamples=50)
    assert drawn["method"].str.contains("bootstrap of task").all()


def test_rank_correlation_with_the_truth_knows_tasks():
    table = ONE[ONE["judge"] == "a"].groupby(["judge", "task", "item"], as_index=False)["score"].mean()
    truth = ONE.groupby("item", as_index=False)["score"].mean().rename(columns={"score": "value"})
    found, free = (js.rank_correlation(table, truth=truth, cluster=c) for c in ("auto", False))
    assert found["method"].str.startswith("t, jackknife of Fisher's z, clustered by task (G = 40)").all()
    assert (found["std_error"] > free["std_error"]).all()
    assert free["flag"].str.contains(NOT_INDEPENDENT).all()
    assert free["method"].str.startswith("Fisher z").all()


def test_families_of_systems_are_named():
    rng = np.random.default_rng(2)
    family = np.repeat(np.arange(12), 4)
    quality = rng.normal(size=12)[family] + 0.2 * rng.normal(size=48)
    table = pd.DataFrame({"system": np.arange(48).astype(str), "family": family.astype(str), "mean_score": quality})
    table = table.assign(r=-quality + rng.normal(size=48), tier=np.where(family % 2, "Base", "Thinking"))
    free, apart = js.quality_agreement(table), js.quality_agreement(table, cluster="family")
    assert apart["method"].iloc[0].endswith("clustered by family (G = 12)")
    assert apart["std_error"].iloc[0] > free["std_error"].iloc[0]
    free, apart = js.ordering_accuracy(table), js.ordering_accuracy(table, cluster="family")
    assert apart["std_error"].iloc[0] > 1.3 * free["std_error"].iloc[0]
    assert "bootstrap of family" in apart["method"].iloc[0]
    with pytest.raises(DesignError, match="same value for whole systems"):
        js.ordering_accuracy(table, cluster="item")


def test_icc_of_responses_that_share_items_is_the_jackknife_of_items():
    """Leave each item out in turn: the log of F, by the published formulas."""
    table = ONE.drop(columns="task")
    found = js.icc(table).set_index("term")
    items = table["item"].unique()
    without = pd.concat([js.icc(table[table["item"] != i], cluster=False).assign(left=i) for i in items])
    for term in ("ICC(1,1)", "ICC(3,1)"):
        row = found.loc[term]
        logs = np.log(without.loc[without["term"] == term, "F"].to_numpy())
        g, z = len(items), np.log(row["F"])
        error, bias = np.sqrt((g - 1) * logs.var()), (g - 1) * (logs.mean() - z)
        squares = (logs - logs.mean()) ** 2
        df = min(g - 1, 2 / ((squares**2).sum() / squares.sum() ** 2 - 1 / g))  # of its own variance
        half = stats.t.ppf(0.975, df) * error
        ends = np.exp([z - half - max(bias, 0), z + half - min(bias, 0)])
        np.testing.assert_allclose(row[["conf_low", "conf_high"]].astype(float), (ends - 1) / (ends + 2), rtol=1e-8)
        assert row["method"] == f"t over items (G = {g}), jackknife of log F"
    assert "design effect" in found.loc["ICC(2,1)", "method"]
    published = js.icc(table, cluster=False).set_index("term")
    assert found.loc["ICC(2,1)", "conf_low"] < published.loc["ICC(2,1)", "conf_low"]
    one = table[table["system"] == "x"]
    alone, by_f = (js.icc(one, cluster=c) for c in ("auto", False))  # an item each: no cluster, but no normal theory
    assert not alone["method"].str.contains("over items").any()
    pd.testing.assert_frame_equal(alone[["term", "estimate", "n"]], by_f[["term", "estimate", "n"]])


def test_icc_of_50_items_of_8_systems_covers():
    """The F interval of such data covers .80."""
    rng = np.random.default_rng(0)
    reps, shape = 150, (150, 50, 8, 3)
    y = rng.normal(size=(reps, 50, 1, 1)) + 0.5 * rng.normal(size=(reps, 50, 8, 1)) + rng.normal(size=shape)
    y = y + 0.5 * rng.normal(size=(reps, 50, 1, 3))
    study, item, system, judge = np.indices(shape).reshape(4, -1)
    table = pd.DataFrame({"study": study, "item": item.astype(str), "system": system.astype(str)})
    table = table.assign(judge=judge.astype(str), score=y.ravel())
    truth, rates = 1.25 / 2.5, {}
    for cluster in ("auto", False):
        rows = js.icc(table, by="study", cluster=cluster).query("term == 'ICC(3,1)'")
        rates[cluster] = ((rows["conf_low"] < truth) & (truth < rows["conf_high"])).mean()
    assert 0.9 <= rates["auto"] <= 0.99
    assert rates[False] < 0.85


@pytest.mark.real
def test_agreement_on_systems_in_hanna_lies_inside_its_interval(real_data):
    """Percentile intervals of rho_system by criterion missed .834 (CH) and .795 (EM)."""
    table = pd.read_csv(real_data / "hanna" / "ratings_long.csv.gz")
    columns = {"judge": "rater", "system": "writer", "item": "prompt_index"}
    for part in (table[table["rater_type"] == "human"], table[table["eval_prompt"] == 1]):
        frame = js.ratings(part, **columns, scale=(1, 5), off_scale="missing")
        rows = js.agreement_levels(frame, by="criterion", n_resamples=500)
        assert (rows["conf_low"] <= rows["estimate"]).all()
        assert (rows["estimate"] <= rows["conf_high"]).all()


def test_pairs_of_few_items_are_clustered_by_the_item_where_they_have_no_column():
    """Several pairs of one item, judged in both orders by a judge and a person."""
    rows = [
        (j, f"i{i}", *(f"x{k}", f"y{k}")[::order], "first" if (i + k) % 3 else "second")
        for j in ("g", "Ann") for i in range(12) for k in range(3) for order in (1, -1)
    ]  # fmt: skip
    calls = pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice"])
    found = js.judge_against_people(calls, humans="Ann").query("role == 'judge' and term == 'agreement'")
    assert found["method"].item() == "Wilson, clustered by item (G = 12)"


@pytest.mark.parametrize(
    ("value", "without", "n", "flag"),
    [
        (0.4, [np.nan], [9], ONE_UNIT),
        (0.4, [np.nan, 0.4, 0.4], [9, 0, 0], ONE_UNIT),
        (0.4, [0.4] * 12, [3] * 12, NO_SPREAD),
        (0.4, [np.nan, *[0.4] * 11], [3] * 12, "1 value without a cluster undefined"),
        (np.nan, [np.nan] * 12, [3] * 12, ""),
    ],
)
def test_a_jackknife_that_has_nothing_to_go_by_gives_no_interval_and_says_why(value, without, n, flag):
    found = jackknifed(value, np.array(without), np.array(n, dtype=float), "item", 0.95)
    assert np.isnan([found.std_error, found.low, found.high, found.p_value]).all()
    assert flag in found.flag


def test_the_jackknife_is_on_the_scale_of_z_unless_a_value_is_at_its_end():
    n = np.full(12, 3.0)
    found = jackknifed(0.9, np.linspace(0.8, 0.97, 12), n, "item", 0.95)
    assert found.method == "t, jackknife of Fisher's z, clustered by item (G = 12)"
    assert -1 < found.low < 0.9 < found.high < 1
    assert (found.p_value < 0.05) == (found.low > 0)
    plain = jackknifed(0.9, np.linspace(0.8, 1.0, 12), n, "item", 0.95)
    assert plain.method == "t, jackknife, clustered by item (G = 12)"
    assert plain.high == 1


def test_large_clusters_that_are_harder_are_seen():
    """Of 20 items with 1 to 20 calls the large ones are judged less often right: their mean is another number."""
    size = np.arange(1, 21)
    right = np.round(size * np.linspace(0.9, 0.3, 20)).astype(int)
    answers = [(f"i{i}", k < r) for i, (n, r) in enumerate(zip(size, right, strict=True)) for k in range(n)]
    calls = pd.DataFrame(answers, columns=["item", "correct"]).assign(judge="g", correct=lambda t: t["correct"] * 1)
    row = js.accuracy(calls.assign(replicate=calls.groupby("item").cumcount())).query("term == 'accuracy'").iloc[0]
    assert row["estimate"] == pytest.approx(right.sum() / size.sum())
    assert f"large and small clusters differ: mean over items {(right / size).mean():.3f}" in row["flag"]
