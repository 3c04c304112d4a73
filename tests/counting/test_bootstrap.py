"""Bootstrap intervals of counts: plans, numbers, seeds and doubts."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from counting.tables import clustered, ends, interval_of
from judgestats.counting.bootstrap import Bootstrap, planned, ratio
from judgestats.counting.counts import Counts
from judgestats.errors import DesignError
from judgestats.flags import BIASED, FEW_CLUSTERS, FEW_DRAWN, LONE_UNIT, NO_DATA, NOT_BCA, ONE_UNIT, RESAMPLES_AGREE
from judgestats.kernels.proportions import clustered_wilson
from judgestats.kernels.resampling import binomial_interval
from refusals import refused

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


@pytest.mark.parametrize(
    "options",
    [{"seed": -1}, {"seed": "a"}, {"n_resamples": 10.5}, {"n_resamples": "9"}, {"cluster": ("item", "item")}],
)
def test_a_bootstrap_that_cannot_be_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(DesignError, match=f"{next(iter(options))}="):
        Bootstrap(**options)  # type: ignore[arg-type]


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
    assert plan.way == words
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
    got = Counts.of(more).resampled(counts, ratio, {"judge": "g"}, plan=Bootstrap())
    assert got == Counts.of(table).resampled(counts[:2], ratio, {"judge": "g"}, plan=Bootstrap())


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
    added = np.column_stack([gap + noise, np.ones(12)])
    plan = Bootstrap(cluster=("item",))
    row = Counts.of(table).resampled(added, lambda t: t[:, 0] / t[:, 1], {}, plan=plan)
    assert row["flag"] == RESAMPLES_AGREE
    assert math.isnan(row["conf_low"])


def test_one_unit_and_none():
    table = pd.DataFrame({"item": "1", "hit": [True, False], "n": [3.0, 4.0]})
    row = interval_of(table, Bootstrap(cluster=("item",)))
    assert row["flag"] == ONE_UNIT
    assert math.isnan(row["conf_low"])
    counts = np.zeros((2, 2))
    assert Counts.of(table).resampled(counts, ratio, {}, plan=Bootstrap(cluster=("item",)))["flag"] == NO_DATA


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
    assert Counts.of(both).resampled(counts, ratio, {}, plan=Bootstrap(cluster=("item",)))["flag"] == FEW_CLUSTERS


def test_a_stratum_of_one_is_flagged():
    table = clustered(clusters=31).assign(topic=lambda t: np.where(t["item"] == 0, "alone", "rest"))
    row = interval_of(table, Bootstrap(cluster=("item",), strata="topic"))
    assert row["flag"] == LONE_UNIT
    assert row["conf_low"] < row["conf_high"]


def test_resamples_that_cannot_be_are_refused():
    refused(
        DesignError,
        (lambda: planned("percentile", None, None, 0, 0, 0.95), "n_resamples=0"),
        (
            lambda: interval_of(
                clustered().assign(topic=lambda t: np.where(t["hit"], "a", "b")),
                Bootstrap(cluster=("item",), strata="topic"),
            ),
            r"'item' is not nested in 'topic': one item lies in several",
        ),
    )


def test_undefined_resamples_are_counted():
    table = pd.DataFrame({"item": range(12), "hit": [True, False] * 6, "n": 1.0})
    trial = np.arange(12) < 2  # a resample may hold no trial
    counts = np.column_stack([table["hit"] & trial, trial, np.ones(12)]).astype(float)
    row = Counts.of(table).resampled(counts, ratio, {}, plan=Bootstrap(cluster=("item",), n_resamples=3000))
    few, told = row["flag"].split("; ")
    assert few == FEW_DRAWN
    lost = int(told.split(" ")[0].replace(",", ""))
    assert told.endswith("resamples undefined")
    assert lost / 3000 == pytest.approx((10 / 12) ** 12, abs=0.03)


def test_bca_on_one_side_says_so():
    # the largest of all: no resample exceeds it, many differ
    table = pd.DataFrame({"item": range(12), "n": 1.0})
    counts = np.eye(12)
    row = Counts.of(table).resampled(
        counts, lambda t: (t > 0) @ np.ones(12), {"g": 1}, plan=Bootstrap("bca", ("item",), n_resamples=200)
    )
    assert row["flag"] == NOT_BCA
    assert math.isnan(row["conf_low"])


def test_censored_resamples_have_no_standard_error():
    table = clustered(clusters=20)

    def censored(totals):
        p = ratio(totals)
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


def test_resamples_that_miss_the_estimate_give_student_s_interval():
    """The largest of the data: no resample exceeds it, and most fall below."""
    table = pd.DataFrame({"item": np.arange(20), "n": 1.0})
    counts = np.diag(np.append(np.ones(19), 5.0))

    def top_share(totals):  # the share of the heaviest unit, of those drawn: biased upwards by resampling
        return totals.max(axis=1) / totals.sum(axis=1) if len(totals) > 1 else np.array([0.01])

    row = Counts.of(table).resampled(counts, top_share, {}, plan=Bootstrap("percentile", ("item",), seed=1))
    assert row["method"] == "t, bootstrap of item (B = 2000)"
    assert BIASED in row["flag"]
    assert row["conf_low"] < 0.01 < row["conf_high"]
