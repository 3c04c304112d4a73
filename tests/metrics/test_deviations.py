"""Deviation from consensus: brute force, published numbers, and what it owes to any input."""

import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from judgestats.counting.cells import cells
from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.cluster_robust import cluster_robust
from judgestats.metrics.consensus import consensus_deviation, score_matrix
from judgestats.metrics.measure_registry import measures
from judgestats.schema import ratings as read_ratings
from judgestats.verdicts import composite
from metrics.rating_tables import complete, frame, of, same, unbalanced
from metrics.tables import SPELLINGS, read
from refusals import refused

NUMBERS = ["estimate", "std_error", "conf_low", "conf_high", "n"]

KEYS = ["judge", "system", "item", "criterion"]


def brute_force(table):
    """Deviation of each pair, and its standard error over items, by the definition."""
    means = table.dropna(subset="score").groupby(["judge", "system", "item", "criterion"])["score"].mean().to_dict()
    deviations = {}
    for (judge, system, item, criterion), mean in means.items():
        others = [m for (j, *rest), m in means.items() if rest == [system, item, criterion] and j != judge]
        if others:
            deviations.setdefault((judge, system), {}).setdefault(item, []).append(mean - np.mean(others))
    result = {}
    for pair, items in deviations.items():
        per_item = [np.mean(d) for d in items.values()]
        error = np.std(per_item, ddof=1) / np.sqrt(len(per_item)) if len(per_item) > 1 else math.nan
        result[pair] = (np.mean(per_item), error, len(per_item))
    return result


@pytest.mark.slow
@given(unbalanced())
def test_deviation_equals_brute_force(table):
    result = consensus_deviation(table)
    expected = brute_force(table)
    pairs = of(result, "deviation", "judge", "system")
    assert set(pairs.index[pairs["estimate"].notna()]) == set(expected)
    assert set(pairs.index) == set(zip(table["judge"], table["system"], strict=True))
    for pair, (estimate, error, items) in expected.items():
        row = pairs.loc[pair]
        assert row["estimate"] == pytest.approx(estimate, abs=1e-12)
        assert row["n"] == items
        if items > 1:
            assert row["std_error"] == pytest.approx(error, abs=1e-12)
        assert row["own"] == (pair[0] == pair[1])
    for judge in table["judge"].unique():
        own = [e for (j, s), (e, *_) in expected.items() if j == judge == s]
        others = [e for (j, s), (e, *_) in expected.items() if j == judge != s]
        for term, value in {"mean_own": own, "mean_others": others}.items():
            got = of(result, term).loc[judge]
            assert got["n"] == len(value)
            assert got["estimate"] == pytest.approx(np.mean(value), abs=1e-12) if value else math.isnan(got["estimate"])
        if own and others:
            excess = of(result, "self_excess")["estimate"][judge]
            assert excess == pytest.approx(np.mean(own) - np.mean(others), abs=1e-12)


@pytest.mark.slow
@settings(max_examples=50)
@given(unbalanced())
def test_frame_tally_and_engines_agree(table):
    whole = consensus_deviation(table)
    same(whole, consensus_deviation(cells(table)))
    same(whole, consensus_deviation(pl.from_pandas(table)))
    same(whole, consensus_deviation(pl.from_pandas(table).lazy()))
    same(whole, consensus_deviation(table.astype(dict.fromkeys(KEYS, "category"))))
    same(whole, consensus_deviation(table.drop(columns="replicate").assign(n_identical=1)))


@pytest.mark.slow
@given(unbalanced(), st.randoms(use_true_random=False))
def test_row_order_and_names_do_not_matter(table, random):
    whole = consensus_deviation(table)
    order = list(range(len(table)))
    random.shuffle(order)
    same(whole, consensus_deviation(table.iloc[order]))
    names = {"a": "z", "b": "m", "c": "a", "x": "b"}
    renamed = consensus_deviation(table.replace({"judge": names, "system": names}))
    back = renamed.replace({"judge": {v: k for k, v in names.items()}, "system": {v: k for k, v in names.items()}})
    keys = ["term", "judge", "system"]
    same(*(x.sort_values(keys, ignore_index=True) for x in (whole, back)))


@pytest.mark.slow
@given(unbalanced(("overall",)))
def test_naive_is_smaller_by_the_share_of_the_judge(table):
    one = table[table["item"] == "1"]
    assume(one["judge"].nunique() > 1)
    fair, naive = (consensus_deviation(one, exclude_self=e) for e in (True, False))
    present = one.dropna(subset="score").groupby("system")["judge"].nunique()
    pairs, shrunk = (of(x, "deviation", "judge", "system") for x in (fair, naive))
    for (judge, system), row in pairs.dropna(subset="estimate").iterrows():
        n = present[system]
        assert shrunk["estimate"][judge, system] == pytest.approx((n - 1) / n * row["estimate"], abs=1e-12)
    assert naive["method"].str.startswith("naive, includes the judge").all()


@pytest.mark.slow
@given(unbalanced())
def test_counts_of_identical_rows_are_rows(table):
    twice = table.assign(n_identical=np.arange(len(table)) % 3 + 1)
    spelled = twice.loc[twice.index.repeat(twice["n_identical"])].drop(columns="n_identical")
    same(consensus_deviation(twice), consensus_deviation(spelled))
    same(cells(twice), cells(spelled))
    same(cells(pl.from_pandas(twice).lazy()), cells(spelled))


@pytest.mark.parametrize("seed", range(3))
def test_self_excess_over_items_is_that_of_each_item(seed):
    table = complete(np.random.default_rng(seed))
    result = consensus_deviation(table)
    score = table.pivot(index=["item", "system"], columns="judge", values="score")
    deviation = score - (score.sum(axis=1).to_numpy()[:, None] - score) / 3
    for judge in "abcd":
        wide = deviation[judge].unstack("system")
        excess = wide[judge] - wide.drop(columns=judge).mean(axis=1)
        row = of(result, "self_excess").loc[judge]
        assert row["estimate"] == pytest.approx(excess.mean())


def residual_variance(cells: pd.DataFrame) -> tuple[float, int]:
    """Of least squares of cells on judges, systems and an effect of each judge's own, and its degrees of freedom."""
    owner = cells["judge"].where(cells["judge"] == cells["system"], "")
    X = np.column_stack([pd.get_dummies(x, dtype=float) for x in (cells["judge"], cells["system"], owner)])
    at, _, rank, _ = np.linalg.lstsq(X, cells["mean"], rcond=None)
    return float(((cells["mean"] - X @ at) ** 2).sum()) / (len(X) - rank), len(X) - int(rank)


@pytest.mark.parametrize("exclude_self", [True, False])
@pytest.mark.parametrize(
    ("judges", "systems", "lost", "df"),
    [("abc", "abc", (), 1), ("abcd", "abcd", (), 5), ("abc", "abcxyz", (), 7), ("abcd", "abcdx", (4, 7), 6)],
)
def test_self_excess_is_tested_against_tastes_as_by_least_squares(judges, systems, lost, df, exclude_self):
    """J² - 3J + 1 degrees of freedom, or (J - 1)(S - 1) - J; what each cell counts is seen by moving its mean."""
    cells = complete(np.random.default_rng(len(systems)), judges, systems).groupby(["judge", "system"])["score"].mean()
    cells = cells.reset_index(name="mean").drop(index=list(lost), errors="ignore")
    rows = of(consensus_deviation(cells, exclude_self=exclude_self), "self_excess")
    moved = [
        of(consensus_deviation(cells.assign(mean=cells["mean"] + (cells.index == i)), exclude_self=exclude_self),
           "self_excess")["estimate"] - rows["estimate"]
        for i in cells.index
    ]  # fmt: skip
    variance, of_table = residual_variance(cells)
    assert of_table == df
    error = np.sqrt(variance * sum(x**2 for x in moved))
    assert rows["std_error"].tolist() == pytest.approx(error.tolist())
    half = scipy.stats.t.ppf(0.975, df) * error
    assert (rows["conf_high"] - rows["estimate"]).tolist() == pytest.approx(half.tolist())
    assert rows["method"].str.endswith("t over cells of judges by systems").all()
    assert not rows["flag"].str.contains("sd unknown|separable").any()


def test_self_excess_of_two_judges_is_not_told_from_a_taste():
    rows = of(consensus_deviation(complete(np.random.default_rng(0), "ab", "ab")), "self_excess")
    assert rows["estimate"].notna().all()
    assert rows[["std_error", "conf_low", "conf_high"]].isna().all(axis=None)
    assert rows["flag"].eq("own or taste: not separable").all()
    assert rows["method"].eq("").all()


def test_self_excess_beyond_people_is_measured_against_the_judges_own_row():
    """What judges agree on is in a deviation from people: the other systems of the judge are all that there is."""
    rng = np.random.default_rng(5)
    table, people = complete(rng, "abc", "abcxy"), complete(rng, "pq", "abcxy")
    rows = consensus_deviation(table, people)
    deviations = rows[rows["term"] == "deviation"].set_index(["judge", "system"])["estimate"]
    for judge in "abc":
        others = deviations[judge].drop(judge)
        row = of(rows, "self_excess").loc[judge]
        assert row["std_error"] == pytest.approx(others.std() * math.sqrt(1 + 1 / 4))
        half = scipy.stats.t.ppf(0.975, 3) * row["std_error"]
        assert row["conf_high"] == pytest.approx(deviations[judge, judge] - others.mean() + half)


@pytest.mark.parametrize("exclude_self", [True, False])
@pytest.mark.parametrize("reference", ["peers", "panel"])
@pytest.mark.parametrize("apart", [True, False])
def test_variance_from_runs_is_that_of_the_linear_form(exclude_self, reference, apart):
    """Move each mean a little: the change is its coefficient, since every estimate is linear in the means.

    Errors of criteria that came in one call have one sign, at worst; of calls apart they are independent.
    """
    rng = np.random.default_rng(5)
    means = frame(itertools.product("abc", "abx", ["1"], ["u", "v"]), ("judge", "system", "item", "criterion"))
    means = means.assign(mean=rng.normal(size=len(means)), sd=rng.uniform(0.5, 2, len(means)), runs=5).drop(
        index=[3, 8]
    )
    means = means.assign(call=range(len(means))) if apart else means
    panel = pd.DataFrame({"system": list("abx"), "mean": [0.0, 1, 2], "sd": [1.0, 2, 3], "runs": 9})
    arguments = {"reference": "peers" if reference == "peers" else panel, "exclude_self": exclude_self}
    base = consensus_deviation(means, **arguments)
    variance, squares = np.zeros(len(base)), np.zeros(len(base))
    for _, reply in means.groupby("call" if apart else ["judge", "system"]):
        error = np.zeros(len(base))
        for i in reply.index:
            moved = consensus_deviation(means.assign(mean=means["mean"] + (means.index == i)), **arguments)
            error += (moved["estimate"] - base["estimate"]).abs().to_numpy() * means["sd"][i] / 5**0.5
        variance, squares = variance + error**2, squares + error**4 / 4
    for i in panel.index if reference == "panel" else ():
        shifted = panel.assign(mean=panel["mean"] + (panel.index == i))
        moved = consensus_deviation(means, shifted, exclude_self=exclude_self)
        part = (moved["estimate"] - base["estimate"]).to_numpy() ** 2 * panel["sd"][i] ** 2 / 9
        variance, squares = variance + part, squares + part**2 / 8
    linear = ~base["term"].isin(["share_positive", "self_excess"]).to_numpy() & base["estimate"].notna().to_numpy()
    assert linear.sum() == (14 if reference == "peers" else 15)
    np.testing.assert_allclose(base["std_error"][linear], np.sqrt(variance[linear]), rtol=1e-9)
    half = scipy.stats.t.ppf(0.975, variance[linear] ** 2 / squares[linear]) * np.sqrt(variance[linear])
    np.testing.assert_allclose((base["conf_high"] - base["estimate"])[linear], half, rtol=1e-9)
    assert base["method"][linear].str.endswith("t from mean, sd, runs (Satterthwaite)").all()
    two = means.groupby(["judge", "system"])["criterion"].nunique() == 2
    told = of(base, "deviation", "judge", "system")["flag"].str.contains("criteria taken as perfectly correlated")
    pd.testing.assert_series_equal(told, two & (not apart), check_names=False)


def planned_study(rng, shared=0.95):
    """Runs of five judges on the five systems that they are, with the true means: five criteria in one reply."""
    keys = ("judge", "system", "replicate", "criterion")
    table = frame(itertools.product("abcde", "abcde", range(10), "12345"), keys).assign(item="1")
    means = rng.normal(7, 1, (5, 5, 1, 5))
    noise = shared**0.5 * rng.normal(size=(5, 5, 10, 1)) + (1 - shared) ** 0.5 * rng.normal(size=(5, 5, 10, 5))
    return table.assign(score=(means + 0.8 * noise).ravel(), true=np.broadcast_to(means, noise.shape).ravel())


def test_criteria_of_one_reply_share_its_noise():
    """The planned study of the first paper: 60 times 25 deviations, and as intervals of the composite of a reply."""
    rng, hits = np.random.default_rng(31), []
    for _ in range(60):
        runs = planned_study(rng)
        result = consensus_deviation(runs).query("term != 'self_excess'")
        truth = consensus_deviation(runs.assign(score=runs["true"]))["estimate"][result.index]
        hits += ((result["conf_low"] <= truth) & (truth <= result["conf_high"])).tolist()
    assert 0.93 <= np.mean(hits) <= 0.97
    result, alone = consensus_deviation(runs), consensus_deviation(composite(runs.drop(columns="true")))
    pd.testing.assert_frame_equal(
        result[["estimate", "conf_low", "conf_high"]], alone[["estimate", "conf_low", "conf_high"]]
    )
    numbered = runs.assign(call=runs.groupby(["judge", "system", "replicate"]).ngroup())
    pd.testing.assert_frame_equal(consensus_deviation(numbered.drop(columns="replicate")), result)
    apart = consensus_deviation(runs.assign(call=range(len(runs))))
    of_runs = result["term"] != "self_excess"
    assert (apart["std_error"] < result["std_error"] / 1.9)[of_runs].all()
    pd.testing.assert_frame_equal(consensus_deviation(pl.LazyFrame(numbered)), result, check_dtype=False)


@pytest.mark.slow
def test_coverage_of_the_interval_over_items():
    """400 designs of 12 items: the interval of the self-excess should hold its true value in about 95 of 100."""
    rng = np.random.default_rng(11)
    hits = 0
    for _ in range(400):
        table = complete(rng, "abc", "abc", "0123456789ef")
        table["score"] += rng.normal(size=12)[pd.factorize(table["item"])[0]] + 0.7 * (
            table["judge"] == table["system"]
        )
        row = of(consensus_deviation(table), "self_excess").loc["a"]
        # own: 0.7 on oneself; others: on b and c the consensus holds one self-preferring judge of two
        hits += row["conf_low"] <= 0.7 + 0.35 <= row["conf_high"]
    assert 0.92 <= hits / 400 <= 0.975


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "normal"), [(2, 0.87), (3, 0.92), (5, 0.94)])
def test_coverage_of_the_interval_from_few_runs(runs, normal):
    """One item, a few runs of each judge, sds that differ: Satterthwaite's t holds where a normal interval does not."""
    rng = np.random.default_rng(runs)
    reps, noise = 1500, np.array([1.0, 0.3, 0.3])
    scores = noise[:, None] * rng.normal(size=(reps, 3, runs))
    rows = np.indices((reps, 3)).reshape(2, -1)
    table = pd.DataFrame({"study": rows[0], "judge": rows[1].astype(str), "system": "x", "runs": runs})
    table = table.assign(mean=scores.mean(axis=2).ravel(), sd=scores.std(axis=2, ddof=1).ravel())
    result = of(consensus_deviation(table, by="study"), "deviation", "judge").loc["0"]
    covered = ((result["conf_low"] < 0) & (result["conf_high"] > 0)).mean()
    assert 0.93 <= covered <= 0.975
    assert (result["estimate"].abs() < 1.96 * result["std_error"]).mean() < normal


def test_a_cluster_of_items_widens_the_interval():
    rng = np.random.default_rng(3)
    table = complete(rng, items=[f"{d}{i}" for d in "pqrs" for i in range(5)])
    table["domain"] = table["item"].str[0]
    drift = dict(zip(itertools.product("abcd", "pqrs"), rng.normal(0, 3, 16), strict=True))
    table["score"] += [drift[k] for k in zip(table["judge"], table["domain"], strict=True)]
    by_item, by_domain = (of(consensus_deviation(table, cluster=c), "mean_others") for c in ("item", "domain"))
    assert (by_item["estimate"] == by_domain["estimate"]).all()
    assert (by_domain["std_error"] > by_item["std_error"]).all()
    assert set(by_domain["method"]) == {"t over domains (G = 4)"}
    # all items in clusters of five: the mean of the domains' means has the same standard error
    wide = table.groupby(["judge", "system", "domain"])["score"].mean().unstack("judge")
    deviation = (wide["a"] - wide[list("bcd")].mean(axis=1)).unstack("system")[list("bcd")].mean(axis=1)
    assert by_domain["std_error"]["a"] == pytest.approx(deviation.sem())


def test_clusters_of_unequal_size_have_the_error_of_least_squares():
    """CR2 with Satterthwaite's degrees of freedom, of one deviation and of a difference of mean deviations."""
    rng, sizes = np.random.default_rng(4), {"p": 9, "q": 1, "r": 4, "s": 2, "t": 2}
    table = complete(rng, systems="abc", items=[f"{d}{i}" for d, n in sizes.items() for i in range(n)])
    table["domain"] = table["item"].str[0]
    table = table.drop(table.index[table["item"].isin(["p3", "q0"]) & (table["system"] == "b")])
    result = consensus_deviation(table, cluster="domain")
    wide = table.pivot(index=["domain", "item", "system"], columns="judge", values="score")
    deviation = wide["a"] - wide[list("bcd")].mean(axis=1)
    k, n = (getattr(deviation.groupby(["domain", "system"]), f)().unstack().fillna(0) for f in ("sum", "count"))
    for weight, row in (
        ([1.0, 0, 0], of(result, "deviation", "judge", "system").loc["a", "a"]),
        ([0, 0.5, 0.5], of(result, "mean_others").loc["a"]),
    ):
        expected = cluster_robust(k.to_numpy(), n.to_numpy(), np.array(weight))
        assert row["std_error"] == pytest.approx(math.sqrt(expected.variance), rel=1e-12)
        t = (row["conf_high"] - row["estimate"]) / row["std_error"]
        whole = weight == [1.0, 0, 0]  # of several means with unlike clusters, degrees of freedom are those of one mean
        assert t == pytest.approx(scipy.stats.t.ppf(0.975, expected.df), rel=1e-9 if whole else 0.1)


def test_no_cluster_takes_the_runs():
    table = complete(np.random.default_rng(0), items="12", runs=3)
    result = consensus_deviation(table, cluster=False)
    by_runs = result[result["term"] != "self_excess"]
    assert (by_runs["method"] == "t from mean, sd, runs (Satterthwaite)").all()
    assert result["flag"].eq("replicates averaged").all()
    cell = table.groupby(["judge", "system", "item"])["score"].agg(["mean", "var"])
    v = cell["var"].unstack(["system", "item"]) / 3
    expected = np.sqrt((v.loc["a"] + v.loc[list("bcd")].sum() / 9).groupby("system").sum() / 4)
    got = of(result, "deviation", "judge", "system").loc["a", "std_error"]
    np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_criterion_level_is_each_criterion_alone():
    table = pd.concat(
        [complete(np.random.default_rng(i)).assign(criterion=c) for i, c in enumerate(("u", "v", "final"))]
    )
    split = consensus_deviation(table, per_criterion=True)
    assert list(split.columns[:3]) == ["criterion", "judge", "system"]
    assert set(split["criterion"]) == {"u", "v"}
    for name in "uv":
        alone = consensus_deviation(table[table["criterion"] == name])
        same(split[split["criterion"] == name].drop(columns="criterion").reset_index(drop=True), alone)
    same(consensus_deviation(table), consensus_deviation(table[table["criterion"] == "final"]))
    both = of(consensus_deviation(table, overall_criterion=None), "deviation", "judge", "system")["estimate"]
    third = of(consensus_deviation(table), "deviation", "judge", "system")["estimate"]
    u, v = (of(split[split["criterion"] == c], "deviation", "judge", "system")["estimate"] for c in "uv")
    np.testing.assert_allclose(both, (u + v + third) / 3, atol=1e-12)


def test_by_splits_and_sorts():
    rng = np.random.default_rng(1)
    table = pd.concat([complete(rng).assign(condition=c) for c in ("q", "p")], ignore_index=True)
    result = consensus_deviation(table, by="condition")
    for c in "pq":
        alone = consensus_deviation(table[table["condition"] == c])
        same(result[result["condition"] == c].drop(columns="condition").reset_index(drop=True), alone)
    assert result["condition"].iloc[0] == "p"
    with pytest.raises(DesignError, match="'condition' splits ratings"):
        consensus_deviation(table)
    assert consensus_deviation(table, average_over="condition")["flag"].str.contains("replicates averaged").all()


# identity and family

NAMES = {"one": "a", "two": "b"}


def test_identity_and_family():
    table = complete(np.random.default_rng(2), "ab", ["one", "two", "x"])
    result = consensus_deviation(table, identity=NAMES)
    own = result[result["own"]]
    assert list(zip(own["judge"], own["system"], strict=True)) == [("a", "one"), ("b", "two")]
    assert not consensus_deviation(table)["own"].any()
    family = {"a": "F", "b": "F", "x": "G"}
    kin = consensus_deviation(table, identity=NAMES, family=family)
    assert of(kin, "mean_own")["n"].tolist() == [2, 2]
    assert of(kin, "mean_others")["n"].tolist() == [1, 1]
    named = consensus_deviation(table, family=family | {"one": "F", "two": "F"})
    same(kin, named)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"identity": {"one": "a", "two": "a"}}, ["'one', 'two' are all mapped to 'a'"]),
        (
            {"identity": {"one": "a", "three": "zed"}},
            ["'three' is not a system", "'three' is mapped to 'zed', which is not a judge"],
        ),
        ({"family": {"a": "F", "one": "F"}}, ["'b' has no family", "'two' has no family", "'x' has no family"]),
    ],
)
def test_a_wrong_map_is_a_fault_with_all_its_names(arguments, told):
    table = complete(np.random.default_rng(2), "ab", ["one", "two", "x"])
    with pytest.raises(SchemaError) as error:
        consensus_deviation(table, **arguments)
    assert error.value.faults["what"].tolist() == told
    assert all(t in str(error.value) for t in told)


def test_identity_is_one_to_one_within_a_condition():
    table = complete(np.random.default_rng(2), "ab", "ab").assign(condition="named")
    hidden = table.assign(condition="hidden", system=table["system"].map({"a": "one", "b": "two"}))
    both = pd.concat([table, hidden], ignore_index=True)
    result = consensus_deviation(both, by="condition", identity=NAMES)
    assert result["own"].sum() == 4
    with pytest.raises(SchemaError, match="'a', 'one' are all mapped to 'a'"):
        consensus_deviation(both, identity=NAMES)


# reference frames


def test_a_panel_of_ratings_is_the_mean_of_its_judges():
    rng = np.random.default_rng(7)
    table, panel = complete(rng, "abc"), complete(rng, "PQR", runs=2)
    result = consensus_deviation(table, panel)
    means = panel.groupby(["system", "item"])["score"].mean().rename("truth")
    gap = table.join(means, on=["system", "item"]).assign(gap=lambda t: t["score"] - t["truth"])
    expected = gap.groupby(["judge", "system"])["gap"].agg(["mean", "sem"])
    got = of(result, "deviation", "judge", "system")
    np.testing.assert_allclose(got[["estimate", "std_error"]], expected, rtol=1e-12)
    overall = of(result, "mean_deviation", "judge").loc[""]
    assert overall["estimate"] == pytest.approx(gap["gap"].mean())
    assert overall["std_error"] == pytest.approx(gap.groupby("item")["gap"].mean().sem())
    assert overall["n"] == 12
    assert of(result, "share_positive", "judge")["estimate"][""] == (expected["mean"] > 0).mean()


def test_share_positive_is_strict():
    table = pd.DataFrame({"judge": list("aabb"), "system": list("xyxy"), "mean": [1.0, 2, 3, 2]})
    reference = pd.DataFrame({"system": ["x", "y"], "mean": [1.0, 1.0]})
    share = of(consensus_deviation(table, reference), "share_positive", "judge").loc[""]
    assert (share["estimate"], share["n"]) == (0.75, 4)
    assert share["flag"].startswith("pairs not independent; n < 30")


def test_noise_of_one_reference_for_all_items_is_added():
    table = complete(np.random.default_rng(7), "ab", "xy")
    means = pd.DataFrame({"system": ["x", "y"], "mean": 6.0, "sd": [2.0, 3.0], "runs": 4})
    loud = of(consensus_deviation(table, means), "deviation", "judge", "system")
    quiet = of(consensus_deviation(table, means.drop(columns=["sd", "runs"])), "deviation", "judge", "system")
    added = loud["std_error"] ** 2 - quiet["std_error"] ** 2
    np.testing.assert_allclose(added, [1.0, 2.25] * 2, rtol=1e-9)
    assert loud["method"].eq("t over items (G = 6) and reference sd").all()


def test_raw_scores_without_a_judge_are_raters():
    table = pd.DataFrame({"judge": ["a", "b"], "system": "x", "mean": [5.0, 7.0], "sd": 1.0, "runs": 4})
    raters = pd.DataFrame({"system": "x", "score": [1.0, 2, 3, 6]})
    row = of(consensus_deviation(table, raters), "deviation").loc["a"]
    assert row["estimate"] == 2
    assert row["std_error"] == pytest.approx(np.sqrt(1 / 4 + np.var([1, 2, 3, 6], ddof=1) / 4))


def test_a_reference_that_fits_nothing_is_refused_and_a_gap_is_told():
    table = complete(np.random.default_rng(7), "ab", "xy")
    part = of(
        consensus_deviation(table, pd.DataFrame({"system": ["x"], "mean": [1.0]})), "deviation", "judge", "system"
    )
    assert part["flag"]["a", "y"].startswith("no reference")
    assert math.isnan(part["estimate"]["a", "y"])
    refused(
        DesignError,
        (pd.DataFrame({"system": ["q"], "mean": [1.0]}), r"no mean for any rating.*\['q'\] against \['x', 'y'\]"),
        ("people", "reference='people' is not known"),
        of=lambda wrong: consensus_deviation(table, wrong),
    )


def test_a_system_is_found_by_its_identity():
    table = complete(np.random.default_rng(2), "ab", ["one", "two"])
    people = pd.DataFrame({"system": ["a", "b"], "mean": [5.0, 6.0]})
    result = of(consensus_deviation(table, people, identity=NAMES), "deviation", "judge", "system")
    expected = table.groupby(["judge", "system"])["score"].mean() - [5, 6, 5, 6]
    np.testing.assert_allclose(result["estimate"], expected)


# bad and thin input


def test_one_judge():
    table = complete(np.random.default_rng(0), "a")
    with pytest.raises(DesignError, match="at least two judges; got a"):
        consensus_deviation(table)
    two = pd.concat([table.assign(condition="p"), complete(np.random.default_rng(0), "ab").assign(condition="q")])
    alone = consensus_deviation(two, by="condition")
    alone = alone[(alone["condition"] == "p") & (alone["term"] == "deviation")]
    assert alone["estimate"].isna().all()
    assert alone["flag"].eq("no other judge").all()


def test_one_system():
    result = consensus_deviation(complete(np.random.default_rng(0), "ab", "a"))
    assert of(result, "mean_others")["flag"]["a"] == "no other system"
    assert of(result, "self_excess")["flag"]["b"] == "no own system"
    assert of(result, "self_excess")["estimate"].isna().all()


def test_missing_scores_and_judges_are_told():
    table = complete(np.random.default_rng(0), "abc", "xy")
    table.loc[(table["judge"] == "a") & (table["system"] == "x") & (table["item"] == "1"), "score"] = math.nan
    result = of(consensus_deviation(table), "deviation", "judge", "system")
    assert result["n"]["a", "x"] == 5
    assert result["flag"]["a", "x"] == "missing scores excluded; fewer than 10 clusters"
    assert result["flag"]["b", "x"] == "judges missing in some cells; fewer than 10 clusters"
    assert result["flag"]["b", "y"] == "fewer than 10 clusters"
    silent = table.assign(score=table["score"].where(table["judge"] != "a"))
    rows = consensus_deviation(silent)
    assert rows[(rows["judge"] == "a") & (rows["term"] == "deviation")]["flag"].str.startswith("no data").all()


def test_constant_scores_have_no_interval():
    result = consensus_deviation(complete(np.random.default_rng(0), "ab").assign(score=5.0))
    pairs = of(result, "deviation", "judge", "system")
    assert (pairs["estimate"] == 0).all()
    assert pairs[["conf_low", "conf_high"]].isna().all(axis=None)
    assert pairs["flag"].str.contains("no variation").all()


def test_one_item_without_sd_has_no_interval():
    table = complete(np.random.default_rng(0), "ab", items="1")
    result = of(consensus_deviation(table), "deviation", "judge", "system")
    assert result["std_error"].isna().all()
    assert result["flag"].eq("single run").all()
    means = table.rename(columns={"score": "mean"}).drop(columns=["item", "replicate"])
    assert of(consensus_deviation(means), "deviation", "judge", "system")["flag"].eq("sd unknown").all()


@pytest.mark.parametrize(
    ("change", "error", "told"),
    [
        (lambda t: t.drop(columns="judge"), SchemaError, "lacks judge"),
        (lambda t: t.rename(columns={"score": "points"}), SchemaError, "lacks score"),
        (lambda t: t.assign(score="good"), SchemaError, "'score' holds text.*row 0 of the data, from 0, 'good'"),
        (lambda t: t.rename(columns={"score": "mean"}).assign(item="1"), DesignError, "several rows of one cell"),
        (lambda t: t.assign(n_identical=-1), SchemaError, "'n_identical' is a count of calls"),
        (lambda t: t.iloc[:0], DesignError, "at least two judges; got none"),
    ],
)
def test_bad_tables_are_refused_with_a_reason(change, error, told):
    with pytest.raises(error, match=told):
        consensus_deviation(change(complete(np.random.default_rng(0), "ab")))


def test_clusters_and_groups_that_cannot_be_are_refused():
    table = complete(np.random.default_rng(0)).assign(half=lambda t: np.where(t["judge"] < "c", "p", "q"))
    refused(
        DesignError,
        (lambda: consensus_deviation(table, cluster="half"), "differs within an item"),
        (
            lambda: consensus_deviation(complete(np.random.default_rng(0), "ab"), by="domian"),
            SchemaError,
            "by='domian' is not a column",
        ),
    )


# cells


@pytest.mark.slow
@given(unbalanced(), st.sampled_from([0, 1, 2]))
def test_cells_equal_pandas(table, ddof):
    got = cells(table, ddof=ddof)
    grouped = table.groupby(["judge", "system", "item", "criterion"])["score"]
    expected = grouped.agg(mean="mean", runs="count", n="size").reset_index()
    expected["sd"] = grouped.std(ddof=ddof).to_numpy()
    expected.loc[expected["runs"] == 1, "sd"] = math.nan
    expected["n_missing"] = expected["n"] - expected["runs"]
    same(got, expected[got.columns], 1e-9)
    assert (got["runs"] + got["n_missing"]).sum() == len(table)
    same(got, cells(pl.from_pandas(table).lazy(), ddof=ddof), 1e-9)
    same(got, cells(got), 0)


def test_cells_of_many_labels_take_the_sparse_way():
    """More label combinations than memory should hold: codes are compacted, with the same result."""
    rng = np.random.default_rng(4)
    n = 3000
    table = pd.DataFrame(
        {c: rng.integers(0, 700, n).astype(str) for c in ("judge", "system", "item", "domain", "topic")}
    )
    table["score"] = rng.normal(size=n)
    got = cells(pd.concat([table, table.head(50).assign(score=0.0)]), by=["domain", "topic"])
    expected = pd.concat([table, table.head(50).assign(score=0.0)]).assign(criterion="overall")
    keys = ["domain", "topic", "judge", "system", "item", "criterion"]
    expected = expected.groupby(keys)["score"].agg(mean="mean", runs="count").reset_index()
    same(got[[*keys, "mean", "runs"]], expected)


def test_consensus_of_many_labels_takes_the_sparse_way():
    rng = np.random.default_rng(4)
    places = pd.DataFrame(
        {"system": rng.integers(0, 2000, 4000).astype(str), "item": rng.integers(0, 2000, 4000).astype(str)}
    )
    table = pd.concat([places.drop_duplicates().assign(judge=j) for j in "ab"], ignore_index=True)
    table["score"] = rng.normal(size=len(table))
    got = of(consensus_deviation(table), "deviation", "judge", "system")["estimate"]["a"]
    wide = table.pivot(index=["system", "item"], columns="judge", values="score")
    expected = (wide["a"] - wide["b"]).groupby("system").agg(["mean", "sem"])
    np.testing.assert_allclose(got, expected["mean"], atol=1e-12)
    errors = of(consensus_deviation(table), "deviation", "judge", "system")["std_error"]["a"]
    np.testing.assert_allclose(errors, expected["sem"].where(expected["sem"] > 0), atol=1e-12)


def test_missing_by_values_are_a_group_of_their_own():
    table = complete(np.random.default_rng(0), "ab", "x").assign(topic=lambda t: t["item"].map({"1": "p", "2": "p"}))
    result = consensus_deviation(table, by="topic")
    counts = of(result, "deviation", "judge", "topic").loc["a", "n"]
    assert counts["p"] == 2
    assert counts[counts.index.isna()].tolist() == [4]


@pytest.mark.parametrize("dtype", ["string", "object", "category", "str"])
def test_a_missing_value_between_equal_ones_is_not_one_of_them(dtype):
    table = complete(np.random.default_rng(0), "ab", "x", "123")
    topic = pd.Series(["p", None, "p"] * 2, dtype=dtype)
    counts = of(consensus_deviation(table.assign(topic=topic)), "deviation")["n"]
    assert counts.tolist() == [3, 3]
    split = of(consensus_deviation(table.assign(topic=topic), by="topic"), "deviation", "judge")
    assert split["n"].tolist() == [2, 2, 1, 1]


def test_by_judge_or_system_changes_nothing_and_judges_are_no_clusters():
    table = complete(np.random.default_rng(0))
    same(consensus_deviation(table, by=["judge", "system"]), consensus_deviation(table))
    same(score_matrix(table, by="judge"), score_matrix(table))
    with pytest.raises(DesignError, match="cluster='judge' must be one column that groups responses"):
        consensus_deviation(table, cluster="judge")


def test_a_reference_of_one_rater_an_item_is_in_the_spread_over_items():
    table, one = complete(np.random.default_rng(0), "ab"), complete(np.random.default_rng(1), "P")
    assert not consensus_deviation(table, one)["flag"].str.contains("exact").any()
    fixed = consensus_deviation(table.assign(runs=3), one.groupby("system", as_index=False)["score"].mean())
    assert of(fixed, "deviation")["flag"].str.contains("reference taken as exact").all()


# canonical input


def test_canonical_frames_go_in():
    table = complete(np.random.default_rng(0)).rename(columns={"judge": "rater", "score": "points"})
    canonical = read_ratings(table, judge="rater", score="points")
    same(consensus_deviation(canonical), consensus_deviation(complete(np.random.default_rng(0))))
    assert set(NUMBERS) <= set(consensus_deviation(canonical).columns)


JUDGES = ["GPT-5.1", "Gemini 2.5 Pro", "Grok 4", "Claude 4.5 Sonnet", "Perplexity Sonar"]

SYSTEMS = ["GPT-5.1", "Gemini 2.5", "Grok 4", "Claude 4.5", "Perplexity Sonar"]

EXPERTS = [f"Expert {i}" for i in range(1, 6)]

IDENTITY = dict(zip(SYSTEMS, JUDGES, strict=True)) | dict(zip(EXPERTS, JUDGES, strict=True))


@pytest.fixture(scope="module")
def people(data_folder):
    panel = read(data_folder, "human_panel").rename(columns={"experts": "runs"})
    panel["system"] = panel["system"].replace(SPELLINGS)
    return panel.astype({"mean": float, "sd": float, "runs": float})


def term(result, name):
    return result[result["term"] == name]


def test_the_ten_diagonal_biases_as_printed(printed_means, data_folder):
    printed = read(data_folder, "self_bias")
    printed["judge"] = printed["system"].replace(SPELLINGS)
    result = consensus_deviation(printed_means, by="condition", identity=IDENTITY)
    own = result[result["own"]].merge(printed, on=["judge", "condition"])
    assert len(own) == 10
    assert [f"{x:+.2f}" for x in own["estimate"]] == own["bias"].tolist()


def test_deviations_of_a_system_sum_to_zero(printed_means):
    deviations = term(consensus_deviation(printed_means, by="condition", identity=IDENTITY), "deviation")
    sums = deviations.groupby(["condition", "system"])["estimate"].sum()
    assert len(sums) == 10
    assert sums.abs().max() < 1e-12


def test_self_excess_separates_severity_from_self_preference(printed_means):
    result = term(consensus_deviation(printed_means, by="condition", identity=IDENTITY), "self_excess")
    excess = result.set_index(["condition", "judge"])["estimate"]["attributed"]
    assert excess["GPT-5.1"] == pytest.approx(-0.11625, abs=1e-9)  # asked for: -0.116
    assert excess["Claude 4.5 Sonnet"] == pytest.approx(-0.0475, abs=1e-9)  # asked for: -0.047
    assert set(result["n"]) == {5}


def test_interval_from_means_sds_and_runs(printed_means):
    result = consensus_deviation(printed_means, by="condition", identity=IDENTITY)
    row = result[(result["judge"] == "GPT-5.1") & (result["condition"] == "attributed") & result["own"]].iloc[0]
    sds = printed_means[
        (printed_means["condition"] == "attributed")
        & (printed_means["criterion"] == "final")
        & (printed_means["system"] == "GPT-5.1")
    ]
    mine = sds["judge"] == "GPT-5.1"
    variance = (sds["sd"][mine] ** 2 / 10).sum() + (sds["sd"][~mine] ** 2 / 10).sum() / 16
    assert row["std_error"] == pytest.approx(np.sqrt(variance))
    squares = (sds["sd"][mine] ** 4 / 100).sum() + (sds["sd"][~mine] ** 4 / 100).sum() / 256
    half = scipy.stats.t.ppf(0.975, 9 * variance**2 / squares) * np.sqrt(variance)  # Satterthwaite
    assert row["conf_high"] - row["estimate"] == pytest.approx(half)
    assert row["method"] == "t from mean, sd, runs (Satterthwaite)"
    assert row["flag"] == "replicates averaged"


def test_against_people(printed_means, people, data_folder):
    result = consensus_deviation(printed_means, people, by="condition", identity=IDENTITY)
    mean = term(result, "mean_deviation").set_index("condition")["estimate"]
    positive = term(result, "share_positive").set_index("condition")
    assert f"{mean['attributed']:+.2f}" == "+0.46"
    assert f"{mean['anonymized']:+.2f}" == "+0.43"
    assert round(positive["estimate"]["attributed"] * 25) == 23
    assert positive["n"]["attributed"] == 25
    own = result[result["own"]].set_index(["judge", "condition"])["estimate"]
    printed = read(data_folder, "human_bias")
    printed = printed[printed["condition"].isin(["attributed", "anonymized"]) & printed["value"].str.match(r"[+-]\d\.")]
    printed = printed[printed["quantity"] != "mean bias"]
    assert len(printed) == 6
    for _, row in printed.iterrows():
        assert f"{own[SPELLINGS.get(row['quantity'], row['quantity']), row['condition']]:+.2f}" == row["value"]


def test_uncertainty_of_the_people_goes_into_the_mean(printed_means, people):
    """Five judges share one human mean: its noise does not average out over them."""
    result = term(consensus_deviation(printed_means, people, by="condition", identity=IDENTITY), "mean_deviation")
    final = printed_means[(printed_means["criterion"] == "final") & (printed_means["condition"] == "attributed")]
    variance = (final["sd"] ** 2 / 10).sum() / 25**2 + (people["sd"] ** 2 / 26).sum() / 5**2
    assert result.set_index("condition")["std_error"]["attributed"] == pytest.approx(np.sqrt(variance))
    without = consensus_deviation(printed_means, people[["system", "mean"]], by="condition", identity=IDENTITY)
    assert term(without, "mean_deviation")["flag"].str.contains("reference taken as exact").all()
    assert (term(without, "mean_deviation")["std_error"].to_numpy() < result["std_error"].to_numpy()).all()


def test_shrout_and_fleiss():
    rows = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float)
    long = (
        pd.DataFrame(rows, columns=list("abcd"))
        .rename_axis("item")
        .reset_index()
        .melt("item", var_name="judge", value_name="score")
    )
    result = consensus_deviation(long.assign(system="s"))
    got = term(result, "deviation")["estimate"].to_numpy()
    np.testing.assert_allclose(got, [3.16666667, -3.72222222, -1.27777778, 1.83333333], atol=5e-9)
    np.testing.assert_allclose(got, 4 / 3 * (rows.mean(axis=0) - rows.mean()), atol=1e-12)
    assert abs(got.sum()) < 1e-12
    others = term(result, "mean_others")
    np.testing.assert_allclose(others["estimate"], got)
    assert (term(result, "self_excess")["flag"] == "no own system").all()


def test_printed_p_needs_fifteen_items():
    """rho .49 and p .063 are printed; N is not. Only N = 15 is compatible with both."""
    from judgestats.metrics.consensus.correlations import spearman_p

    assert {n for n in range(5, 60) if spearman_p(0.495, n) <= 0.0635 and spearman_p(0.485, n) >= 0.0625} == {15}


def test_the_name_of_a_deviation_agrees_with_its_sign():
    """A judge that scores one point higher than its peers is lenient: the label says so, and the number is above 0."""
    rows = [(j, s, f"i{i}", 5 + i % 3 + (j == "a")) for j in "abc" for s in "xy" for i in range(12)]
    found = consensus_deviation(pd.DataFrame(rows, columns=["judge", "system", "item", "score"]))
    (value,) = found.loc[(found["judge"] == "a") & (found["term"] == "mean_others"), "estimate"]
    assert value == pytest.approx(1)
    labels = {t.name: t.label for t in measures()["consensus_deviation"].terms}
    assert labels["mean_others"].startswith("leniency")
    assert labels["mean_deviation"].startswith("leniency")


def on_scales(**tops):
    """Scores of one quality of two systems by judges on scales of their own."""
    quality = np.random.default_rng(0).random(40)
    return read_ratings(
        pd.DataFrame(
            [(j, s, f"i{i}", np.round(top * quality[i])) for j, top in tops.items() for s in "xy" for i in range(40)],
            columns=["judge", "system", "item", "score"],
        )
    )


def test_judges_on_scales_far_apart_have_no_severity():
    with pytest.raises(
        DesignError,
        match=r"there is c, which goes up to 100, and [ab], which goes up to 5.*Name the scale in a column and in by=",
    ):
        consensus_deviation(on_scales(a=5, b=5, c=100))
    scales = on_scales(a=5, b=5, c=100, d=100)
    named = scales.assign(scale=scales["judge"].map({"a": "5", "b": "5"}).fillna("100"))
    assert set(consensus_deviation(named, by="scale")["scale"]) == {"5", "100"}
