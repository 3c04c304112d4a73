"""Intervals of rates, differences and means of cells: closed forms, and the bootstrap of counts."""

from __future__ import annotations

import inspect
import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import judgestats
import registry
from judgestats.counting.bootstrap import Bootstrap, planned, resampled
from judgestats.counting.differences import cell_mean, clustered_cell_mean, clustered_difference, difference, folded
from judgestats.errors import DesignError, JudgestatsError
from judgestats.flags import BIASED, FEW_CLUSTERS, FEW_DRAWN, LONE_UNIT, NO_DATA, NOT_BCA, ONE_UNIT, RESAMPLES_AGREE
from judgestats.kernels.proportions import clustered_wilson, newcombe_paired, wilson
from judgestats.kernels.resampling import binomial_interval
from judgestats.metrics.rates import rates


def share(totals):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(totals[:, 1] > 0, totals[:, 0] / totals[:, 1], np.nan)


def clustered(seed=0, clusters=40, size=12, spread=1.0):
    """A tally of calls in clusters: hits and misses of each."""
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(-rng.normal(0.5, spread, clusters)))
    n = rng.integers(size // 2, size + 1, clusters)
    k = rng.binomial(n, p)
    table = pd.DataFrame({"judge": "g", "item": np.repeat(np.arange(clusters), 2), "hit": [True, False] * clusters})
    return table.assign(n=np.column_stack([k, n - k]).ravel().astype(float))


def interval_of(table, plan, key=("g",), statistic=share):
    counts = table["n"].to_numpy()[:, None] * np.column_stack([table["hit"], np.ones(len(table))])
    return resampled(table, counts, statistic, plan, dict(enumerate(key)))


def ends(row):
    return row["conf_low"], row["conf_high"]


# ---------------------------------------------------------------- plans


def test_wilson_needs_no_plan():
    assert planned("wilson", "item", None, 2000, 0, 0.95) is None
    assert planned("wilson", None, None, 2000, 0, 0.95) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("bootstrap", None, None), "interval='bootstrap' is not known. Allowed: 'wilson', 'percentile', 'bca'"),
        (("wilson", ["item", "judge"], None), "two clusters needs interval='percentile'"),
        (("wilson", None, "topic"), "strata= needs interval='percentile'"),
        (("percentile", ["a", "b", "c"], None), "cluster= names 3 columns"),
        (("bca", ["a", "b"], None), "percentile interval only"),
        (("percentile", ["a", "b"], "topic"), "no strata"),
    ],
)
def test_plans_that_cannot_be(arguments, message):
    with pytest.raises(DesignError) as error:
        planned(*arguments, 2000, 0, 0.95)
    assert message in str(error.value)


def test_a_number_of_resamples_is_needed():
    with pytest.raises(DesignError, match="n_resamples=0"):
        planned("percentile", None, None, 0, 0, 0.95)


@pytest.mark.parametrize(
    ("plan", "words", "columns"),
    [
        (Bootstrap(), "percentile, bootstrap of calls (B = 2000)", []),
        (Bootstrap("bca", ("item",), "topic", 99), "BCa, bootstrap of item within topic (B = 99)", ["item", "topic"]),
        (
            Bootstrap(cluster=("item", "judge")),
            "percentile, two-way bootstrap of item x judge (B = 2000)",
            ["item", "judge"],
        ),
    ],
)
def test_method_says_what_was_drawn(plan, words, columns):
    assert plan.words == words
    assert plan.columns == columns


# ---------------------------------------------------------------- numbers


def test_cluster_bootstrap_has_the_standard_error_of_the_clustered_wilson():
    table = clustered()
    row = interval_of(table, Bootstrap(cluster=("item",), n_resamples=20_000))
    of_item = table.assign(k=table["n"] * table["hit"]).groupby("item")[["k", "n"]].sum()
    se, low, high = clustered_wilson(of_item["k"].to_numpy(), of_item["n"].to_numpy())
    assert row["std_error"] == pytest.approx(se, rel=0.03)
    assert row["conf_low"] == pytest.approx(low, abs=0.15 * se)
    assert row["conf_high"] == pytest.approx(high, abs=0.3 * se)
    of_calls = interval_of(table, Bootstrap(n_resamples=20_000))
    assert of_calls["std_error"] < 0.8 * row["std_error"], "the clusters are worth fewer calls"


def test_calls_are_the_binomial_whatever_the_number_of_resamples():
    table = pd.DataFrame({"hit": [True, False], "n": [34.0, 17.0]})
    drawn = interval_of(table, Bootstrap(n_resamples=200_000))
    assert ends(drawn) == pytest.approx(binomial_interval(34, 51), abs=1e-12)
    assert drawn["std_error"] == pytest.approx(math.sqrt(2 / 9 / 51), rel=0.01)


def test_a_row_is_a_count_not_a_unit():
    apart = pd.DataFrame({"hit": [True] * 30 + [False] * 10, "n": 1.0})
    counted = pd.DataFrame({"hit": [True, False], "n": [30.0, 10.0]})
    one, two = (interval_of(t, Bootstrap("bca", n_resamples=50_000)) for t in (apart, counted))
    assert ends(one) == pytest.approx(ends(two), abs=0.006)
    assert one["std_error"] == pytest.approx(two["std_error"], rel=0.02)


def test_calls_that_are_no_trials_are_not_drawn():
    table = pd.DataFrame({"hit": [True, False], "n": [12.0, 8.0]})
    more = pd.concat([table, pd.DataFrame({"hit": [False], "n": [500.0]})], ignore_index=True)
    counts = more["n"].to_numpy()[:, None] * np.array([[1.0, 1], [0, 1], [0, 0]])
    got = resampled(more, counts, share, Bootstrap(), {"judge": "g"})
    assert got == resampled(table, counts[:2], share, Bootstrap(), {"judge": "g"})


def test_bca_of_a_clustered_ratio_is_scipys():
    table = clustered(3, clusters=15)
    row = interval_of(table, Bootstrap("bca", ("item",), n_resamples=40_000))
    of_item = table.assign(k=table["n"] * table["hit"]).groupby("item")[["k", "n"]].sum()
    peer = stats.bootstrap(
        (of_item["k"].to_numpy(), of_item["n"].to_numpy()),
        lambda k, n, axis=-1: k.sum(axis=axis) / n.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=40_000,
        method="BCa",
        rng=np.random.default_rng(1),
    )
    assert ends(row) == pytest.approx(tuple(peer.confidence_interval), abs=0.005)
    assert row["std_error"] == pytest.approx(float(peer.standard_error), rel=0.03)
    plain = interval_of(table, Bootstrap("percentile", ("item",), n_resamples=40_000))
    assert abs(plain["conf_low"] - row["conf_low"]) > 1e-3, "the correction shows"


def test_strata_take_the_differences_between_them_out():
    rng = np.random.default_rng(0)
    topic = np.repeat(["easy", "hard"], 20)
    k = np.concatenate([rng.binomial(10, 0.9, 20), rng.binomial(10, 0.2, 20)])
    table = pd.DataFrame({"item": np.repeat(np.arange(40), 2), "topic": np.repeat(topic, 2), "hit": [True, False] * 40})
    table["n"] = np.column_stack([k, 10 - k]).ravel().astype(float)
    free, within = (
        interval_of(table, Bootstrap(cluster=("item",), strata=s, n_resamples=20_000)) for s in (None, "topic")
    )
    exact = math.sqrt(sum(((k[topic == t] - k[topic == t].mean()) ** 2).sum() for t in ("easy", "hard"))) / 400
    assert within["std_error"] == pytest.approx(exact, rel=0.02)
    assert within["std_error"] < 0.6 * free["std_error"]
    of_calls = interval_of(table, Bootstrap(strata="topic", n_resamples=20_000))
    p = np.array([k[:20].mean(), k[20:].mean()]) / 10
    assert of_calls["std_error"] == pytest.approx(math.sqrt((p * (1 - p)).sum() * 200) / 400, rel=0.02)


def crossed(seed=0, rows=25, columns=12):
    rng = np.random.default_rng(seed)
    lean = rng.normal(0, 1, (rows, 1)) + rng.normal(0, 1, columns)
    hit = rng.random((rows, columns)) < 1 / (1 + np.exp(-lean))
    item, judge = (x.ravel() for x in np.indices(hit.shape))
    return pd.DataFrame({"item": item, "judge": judge, "hit": hit.ravel(), "n": 1.0})


def test_two_factors_are_wider_than_either():
    table = crossed()
    both, items, judges = (
        interval_of(table, Bootstrap(cluster=c, n_resamples=8000))["std_error"]
        for c in (("item", "judge"), ("item",), ("judge",))
    )
    assert both > max(items, judges)
    hit = table["hit"].to_numpy(dtype=float).reshape(25, 12)
    rest = hit - hit.mean(axis=0) - hit.mean(axis=1, keepdims=True) + hit.mean()
    assert both**2 == pytest.approx(items**2 + judges**2 + (rest**2).mean() / rest.size, rel=0.06)
    turned = interval_of(table, Bootstrap(cluster=("judge", "item"), n_resamples=8000))
    assert turned["std_error"] == pytest.approx(both, rel=0.05)


# ---------------------------------------------------------------- seeds


def test_same_seed_same_numbers():
    table = clustered()
    plan = Bootstrap(cluster=("item",), n_resamples=300, seed=5)
    assert interval_of(table, plan) == interval_of(table, plan)
    assert ends(interval_of(table, plan)) != ends(interval_of(table, Bootstrap(cluster=("item",), n_resamples=300)))


def test_another_group_changes_nothing():
    one, two = clustered(1), clustered(2).assign(judge="a")
    plan = Bootstrap(cluster=("item",), n_resamples=200)
    alone = rates(one, ["judge"], "rate", one["hit"], bootstrap=plan)
    both = pd.concat([two, one], ignore_index=True)
    together = {r["judge"]: r for r in rates(both, ["judge"], "rate", both["hit"], bootstrap=plan)}
    assert together["g"] == alone[0]
    assert together["a"] != alone[0]


# ---------------------------------------------------------------- doubts


def test_resamples_that_agree_give_no_interval():
    table = pd.DataFrame({"item": range(12), "hit": True, "n": 3.0})
    for plan in (Bootstrap(cluster=("item",)), Bootstrap("bca", ("item",)), Bootstrap()):
        row = interval_of(table, plan)
        assert math.isnan(row["conf_low"])
        assert math.isnan(row["conf_high"])
        assert math.isnan(row["std_error"])
        assert row["flag"] == RESAMPLES_AGREE


def test_rounding_is_no_interval():
    table = pd.DataFrame({"item": range(12), "n": 1.0})
    gap = np.full(12, 0.1 + 0.2)  # the mean of each resample is 0.3, up to rounding
    noise = np.linspace(-1, 1, 12) * 1e-16
    row = resampled(
        table,
        np.column_stack([gap + noise, np.ones(12)]),
        lambda t: t[:, 0] / t[:, 1],
        Bootstrap(cluster=("item",)),
        {},
    )
    assert row["flag"] == RESAMPLES_AGREE
    assert math.isnan(row["conf_low"])


def test_one_unit_and_none():
    table = pd.DataFrame({"item": "1", "hit": [True, False], "n": [3.0, 4.0]})
    row = interval_of(table, Bootstrap(cluster=("item",)))
    assert row["flag"] == ONE_UNIT
    assert math.isnan(row["conf_low"])
    counts = np.zeros((2, 2))
    assert resampled(table, counts, share, Bootstrap(cluster=("item",)), {})["flag"] == NO_DATA


def test_few_clusters_are_flagged():
    assert interval_of(clustered(clusters=9), Bootstrap(cluster=("item",)))["flag"] == FEW_CLUSTERS
    assert (
        interval_of(clustered(clusters=10), Bootstrap(cluster=("item",)))["flag"] == "clusters of unequal size, worth 9"
    )
    assert interval_of(clustered(clusters=12), Bootstrap(cluster=("item",)))["flag"] == FEW_DRAWN
    assert interval_of(clustered(clusters=29), Bootstrap(cluster=("item",)))["flag"] == FEW_DRAWN
    assert interval_of(clustered(clusters=30), Bootstrap(cluster=("item",)))["flag"] == ""
    assert interval_of(clustered(clusters=9), Bootstrap())["flag"] == "", "calls are many"
    table = crossed(rows=30, columns=4)
    assert interval_of(table, Bootstrap(cluster=("item", "judge"), n_resamples=200))["flag"] == FEW_CLUSTERS


def test_clusters_without_trials_are_none():
    table = clustered(clusters=5)
    empty = pd.DataFrame({"judge": "g", "item": np.arange(100, 120), "hit": False, "n": 1.0})
    both = pd.concat([table, empty], ignore_index=True)
    counts = both["n"].to_numpy()[:, None] * np.column_stack([both["hit"], both["item"] < 100])
    assert resampled(both, counts, share, Bootstrap(cluster=("item",)), {})["flag"] == FEW_CLUSTERS


def test_a_stratum_of_one_is_flagged():
    table = clustered(clusters=31).assign(topic=lambda t: np.where(t["item"] == 0, "alone", "rest"))
    row = interval_of(table, Bootstrap(cluster=("item",), strata="topic"))
    assert row["flag"] == LONE_UNIT
    assert row["conf_low"] < row["conf_high"]


def test_clusters_that_cross_the_strata_are_refused():
    table = clustered().assign(topic=lambda t: np.where(t["hit"], "a", "b"))
    with pytest.raises(DesignError, match=r"'item' is not nested in 'topic': one item lies in several"):
        interval_of(table, Bootstrap(cluster=("item",), strata="topic"))


def test_undefined_resamples_are_counted():
    table = pd.DataFrame({"item": range(12), "hit": [True, False] * 6, "n": 1.0})
    trial = np.arange(12) < 2  # a resample may hold no trial
    counts = np.column_stack([table["hit"] & trial, trial, np.ones(12)]).astype(float)
    row = resampled(table, counts, share, Bootstrap(cluster=("item",), n_resamples=3000), {})
    few, told = row["flag"].split("; ")
    assert few == FEW_DRAWN
    lost = int(told.split(" ")[0].replace(",", ""))
    assert told.endswith("resamples undefined")
    assert lost / 3000 == pytest.approx((10 / 12) ** 12, abs=0.03)


def test_bca_on_one_side_says_so():
    # the largest of all: no resample exceeds it, many differ
    table = pd.DataFrame({"item": range(12), "n": 1.0})
    counts = np.eye(12)
    row = resampled(
        table, counts, lambda t: (t > 0) @ np.ones(12), Bootstrap("bca", ("item",), n_resamples=200), {"g": 1}
    )
    assert row["flag"] == NOT_BCA
    assert math.isnan(row["conf_low"])


def test_censored_resamples_have_no_standard_error():
    table = clustered(clusters=20)

    def censored(totals):
        p = share(totals)
        return np.where(p > np.quantile(p, 0.9), np.inf, p) if p.size > 1 else p

    row = interval_of(table, Bootstrap(cluster=("item",)), statistic=censored)
    assert row["conf_high"] == np.inf
    never = interval_of(table, Bootstrap(cluster=("item",)), statistic=lambda t: np.full(len(t), np.inf))
    assert never["flag"] == RESAMPLES_AGREE
    at_most = interval_of(
        table, Bootstrap(cluster=("item",)), statistic=lambda t: np.where(np.arange(len(t)) % 2, 1.0, np.inf)
    )
    assert ends(at_most) == (1.0, np.inf), "an infinite estimate may have a finite end"
    assert math.isfinite(row["conf_low"])
    assert math.isnan(row["std_error"])


# ---------------------------------------------------------------- rates


def test_rates_of_calls_are_in_closed_form():
    table = pd.DataFrame({"judge": "g", "hit": [True, False], "n": [266.0, 134.0]})
    (row,) = rates(table, ["judge"], "rate", table["hit"], bootstrap=Bootstrap(n_resamples=7))
    assert ends(row) == (0.6175, 0.71)
    assert row["method"] == "percentile bootstrap of calls, closed form"
    assert row["std_error"] == pytest.approx(math.sqrt(0.665 * 0.335 / 400))


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_rates_with_a_bootstrap_of_clusters(method):
    table = clustered()
    plan = Bootstrap(method, ("item",), n_resamples=500)
    (row,) = rates(table, ["judge"], "rate", table["hit"], bootstrap=plan)
    assert row["method"] == plan.words
    assert row["estimate"] == pytest.approx(table.loc[table["hit"], "n"].sum() / table["n"].sum())
    want = interval_of(table, plan)
    assert ends(row) == ends(want)
    assert row["flag"] == want["flag"]


def test_rates_with_half_hits_are_drawn():
    table = pd.DataFrame({"judge": "g", "hit": [1.0, 0.5, 0.0], "n": [20.0, 30.0, 10.0]})
    (row,) = rates(table, ["judge"], "rate", table["hit"], bootstrap=Bootstrap(n_resamples=20_000))
    variance = (20 * 1 + 30 * 0.25) / 60 - row["estimate"] ** 2
    assert row["std_error"] == pytest.approx(math.sqrt(variance / 60), rel=0.03)
    assert "closed form" not in row["method"]


def test_pairs_of_calls_are_drawn_as_pairs():
    # both calls of a pair alike: as many pairs, not twice as many calls
    table = pd.DataFrame({"judge": "g", "hit": [True, False], "n": [24.0, 16.0]})
    (row,) = rates(table, ["judge"], "rate", table["hit"], calls_per_count=2, bootstrap=Bootstrap(n_resamples=100_000))
    assert row["n"] == 80
    assert row["std_error"] == pytest.approx(math.sqrt(0.24 / 40), rel=0.02)
    assert ends(row) == pytest.approx(binomial_interval(24, 40), abs=1e-9)


def test_rates_all_alike_keep_wilson():
    table = pd.DataFrame({"judge": "g", "item": range(12), "hit": True, "n": 5.0})
    (of_calls,) = rates(table, ["judge"], "rate", table["hit"], bootstrap=Bootstrap())
    assert (of_calls["method"], of_calls["conf_low"]) == ("Wilson", pytest.approx(float(wilson(60, 60)[0])))
    (of_items,) = rates(table, ["judge"], "rate", table["hit"], bootstrap=Bootstrap(cluster=("item",)))
    assert of_items["method"] == "Wilson, clustered by item (G = 12)"
    assert of_items["conf_low"] == pytest.approx(float(wilson(12, 12, df=11)[0]))
    assert of_items["conf_high"] == 1.0


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=12))
def test_an_interval_is_never_of_zero_width(counts):
    table = pd.DataFrame({"judge": "g", "item": np.repeat(range(len(counts)), 2), "hit": [True, False] * len(counts)})
    table["n"] = np.array(counts, dtype=float).ravel()
    for plan in (
        Bootstrap(),
        Bootstrap(cluster=("item",), n_resamples=50),
        Bootstrap("bca", ("item",), n_resamples=50),
    ):
        (row,) = rates(table, ["judge"], "rate", table["hit"], bootstrap=plan)
        low, high = ends(row)
        assert (math.isnan(low) and math.isnan(high)) or low < high
        assert not math.isnan(low) or row["flag"], "what is not known is flagged"


# ---------------------------------------------------------------- an estimate and its interval

MEASURES = registry.registry()

#: Further intervals of measures that offer several, and of terms that the registry does not ask for.
OPTIONS = {
    "kappa": [
        *({"interval": i} for i in ("percentile", "bca")),
        {"pairs": "average", "interval": "percentile"},
        {"pairs": "fleiss", "interval": "bca"},
    ],
    "ac1": [{"interval": "percentile"}],
    "alpha": [{"interval": "percentile"}, {"level_of_measurement": "ordinal"}],
    "correlation": [
        {"level": level, "pairs": p, "interval": "t"} for level in ("cell", "system") for p in ("mean", "each")
    ],
    "agreement_levels": [{"unit": "criterion"}, {"by": "criterion"}],
    "gold_agreement": [{"interval": "percentile"}, {"interval": "bca"}],
    "preference_rate": [{"interval": "percentile"}],
    "bias_score": [{"interval": "percentile"}, {"interval": "bca"}],
    "bias_change": [{"interval": "percentile"}, {"interval": "bca"}],
    "best_of_accuracy": [{"interval": "percentile"}],
    "score_distribution": [{"by": "system"}],
}


def outside(result):
    """Rows whose estimate lies outside their interval."""
    slack = 1e-9 * (1 + result["estimate"].abs())
    low, high = result["estimate"] < result["conf_low"] - slack, result["estimate"] > result["conf_high"] + slack
    return result[low | high]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(MEASURES))
def test_no_estimate_lies_outside_its_interval(name):
    """On parts of the registry's frames, down to a few rows: where a measure answers, the interval holds the answer."""
    data, call = MEASURES[name].data(), MEASURES[name].call
    measure = getattr(judgestats, name.partition(",")[0])  # "agreement_shift, across": one of its terms
    options = {"n_resamples": 100} if "n_resamples" in inspect.signature(measure).parameters else {}
    calls = [call, *(partial(measure, **options, **more) for more in OPTIONS.get(name, ()))]
    answered = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        part = data[rng.random(len(data)) < rng.choice([0.1, 0.3, 0.7, 1.0])]
        for one in calls:
            try:
                result = one(part)
            except JudgestatsError:
                continue
            answered += 1
            assert not len(outside(result)), outside(result).to_string()
    assert answered >= 3


def noisy_means(rng, systems=11, items=40):
    """Three judges whose noise hides most of the difference of the systems: resamples lower the rank correlation."""
    scores = 0.35 * rng.normal(size=(1, systems, 1)) + rng.normal(size=(3, systems, items))
    judge, system, item = (x.ravel().astype(str) for x in np.indices(scores.shape))
    return pd.DataFrame({"judge": judge, "system": system, "item": item, "score": scores.ravel()})


def test_agreement_of_noisy_means_lies_inside_its_interval_and_is_flagged():
    told = 0
    for seed in range(30):
        result = judgestats.agreement_levels(noisy_means(np.random.default_rng(seed)), n_resamples=200)
        assert not len(outside(result)), (seed, outside(result).to_string())
        told += BIASED in result.set_index("term").loc["rho_system", "flag"]
    assert told > 15


def test_resamples_that_miss_the_estimate_give_student_s_interval():
    """The largest of the data: no resample exceeds it, and most fall below."""
    table = pd.DataFrame({"item": np.arange(20), "n": 1.0})
    counts = np.diag(np.append(np.ones(19), 5.0))

    def top_share(totals):  # the share of the heaviest unit, of those drawn: biased upwards by resampling
        return totals.max(axis=1) / totals.sum(axis=1) if len(totals) > 1 else np.array([0.01])

    row = resampled(table, counts, top_share, Bootstrap("percentile", ("item",), seed=1), {})
    assert row["method"] == "t, bootstrap of item (B = 2000)"
    assert BIASED in row["flag"]
    assert row["conf_low"] < 0.01 < row["conf_high"]


def test_the_folded_interval_is_that_of_the_signed_score():
    row = {"estimate": -0.2, "conf_low": -0.5, "conf_high": 0.1, "std_error": 0.1}
    assert folded(row, "m") == {"estimate": 0.2, "conf_low": 0.0, "conf_high": 0.5, "std_error": 0.1, "term": "m"}
    row = {**row, "conf_high": -0.1}
    assert [folded(row, "m")[c] for c in ("conf_low", "conf_high")] == [0.1, 0.5]
    nothing = folded({**row, "conf_low": math.nan, "conf_high": math.nan}, "m")
    assert math.isnan(nothing["conf_low"])
    assert math.isnan(nothing["conf_high"])


def test_the_mean_of_cells_composes_their_intervals():
    counts = np.array([[10.0, 0, 0], [6, 2, 2]])
    row = cell_mean(counts, np.array([0.5, 0.5]))
    cells = [difference(c) for c in counts]
    assert row["estimate"] == pytest.approx(0.7)
    assert row["std_error"] == pytest.approx(math.sqrt(0.64 / 10) / 2), "the cell at 1 has none"
    below = [(c["estimate"] - c["conf_low"]) / 2 for c in cells]
    assert row["conf_low"] == pytest.approx(0.7 - math.hypot(*below))
    assert below[0] > 0.1, "and still widens the interval"
    one = cell_mean(counts[1:], np.ones(1))
    assert (one["conf_low"], one["conf_high"]) == pytest.approx(newcombe_paired(0, 6, 2, 2))


def test_coverage_of_a_mean_over_cells():
    """Five cells of 20 like those of Table 7, two of them near 1."""
    rng = np.random.default_rng(5)
    shares = np.array([[0.97, 0.02, 0.01], [0.95, 0.04, 0.01], [0.6, 0.3, 0.1], [0.5, 0.4, 0.1], [0.7, 0.1, 0.2]])
    truth = (shares[:, 0] - shares[:, 1]).mean()
    weight = np.full(5, 0.2)
    hits = 0
    for _ in range(800):
        row = cell_mean(np.array([rng.multinomial(20, s) for s in shares], dtype=float), weight)
        hits += row["conf_low"] <= truth <= row["conf_high"]
    assert 0.92 <= hits / 800 <= 0.985


# ---------------------------------------------------------------- intervals


@pytest.mark.parametrize(("k", "n"), [(15, 22), (13, 23), (7, 25), (1, 2)])
def test_clusters_that_are_alike_but_for_rounding(k: int, n: int) -> None:
    hits, sizes = np.full(12, float(k)), np.full(12, float(n))
    error, low, high = clustered_wilson(hits, sizes)
    assert error == 0
    assert high - low > 0.05
    counts = np.column_stack([hits, np.zeros(12), sizes - hits])
    whole = clustered_difference(counts)
    assert whole["conf_high"] - whole["conf_low"] > 0.05
    cells = clustered_cell_mean(counts[:, None, :], np.ones(1))
    assert cells["conf_high"] - cells["conf_low"] > 0.05


@pytest.mark.parametrize(
    "options",
    [{"seed": -1}, {"seed": "a"}, {"n_resamples": 10.5}, {"n_resamples": "9"}, {"cluster": ("item", "item")}],
)
def test_a_bootstrap_that_cannot_be_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(DesignError, match=f"{next(iter(options))}="):
        Bootstrap(**options)  # type: ignore[arg-type]
