"""Kappa, AC1 and alpha: what is set aside is counted, what rests on little is flagged, what is wrong is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.chance import cohen_kappa
from judgestats.metrics.agreement.chance_corrected import ac1, alpha, kappa
from judgestats.results import FEW_DISAGREEMENTS
from judgestats.schema import tally


def ratings(scores, judge="g", items=None):
    items = range(len(scores)) if items is None else items
    return pd.DataFrame({"judge": judge, "system": "s", "item": list(items), "score": scores})


def two_judges(disagreements, n=200):
    """Judges g and h: half of the things 1, half 2; the first `disagreements` answers of h are turned."""
    one = np.arange(n) % 2 + 1
    two = np.where(np.arange(n) < disagreements, 3 - one, one)
    return pd.concat([ratings(one, "g"), ratings(two, "h")], ignore_index=True)


@pytest.fixture
def people():
    """People on the items 0 to 24; the judges g and h on 0 to 39, and i on others."""
    rng = np.random.default_rng(1)
    calls = pd.concat([ratings(rng.integers(1, 4, 40), j) for j in "gh"], ignore_index=True)
    return calls, ratings(rng.integers(1, 4, 25)).drop(columns="judge")


def test_calls_without_a_partner_are_counted(people):
    calls, reference = people
    result = kappa(calls, against=reference)
    assert result["n"].tolist() == [25, 25]
    assert result["flag"].str.contains("15 units without two answers excluded").all()
    inner = kappa(calls[calls["item"] < 25], against=reference)
    assert not inner["flag"].str.contains("without two answers").any()
    pd.testing.assert_frame_equal(result.drop(columns="flag"), inner.drop(columns="flag"))


def test_calls_without_a_partner_are_counted_for_each_other_and_group(people):
    calls, reference = people
    both = pd.concat([reference.assign(judge="p"), reference.head(10).assign(judge="q")])
    calls = calls.assign(part=np.where(calls["item"] < 20, "a", "b"))
    result = kappa(calls, against=both, by="part").set_index(["part", "judge", "other"])
    assert result["n"].to_dict() == {
        ("a", "g", "p"): 20, ("a", "g", "q"): 10, ("a", "h", "p"): 20, ("a", "h", "q"): 10,
        ("b", "g", "p"): 5, ("b", "h", "p"): 5,
    }  # fmt: skip
    told = result["flag"].str.extract(r"(\d+) units? without two answers")[0].fillna("0").astype(int)
    assert told.tolist() == [0, 10, 0, 10, 15, 15]


def test_calls_without_a_partner_are_counted_beside_a_judge_and_in_its_tally():
    calls = pd.concat([ratings([1, 2, 1, 2], "g"), ratings([1, 2, 2], "h")])
    assert "1 unit without two answers excluded" in kappa(calls, against="h")["flag"].iloc[0]
    counts = tally(calls, "kappa", baseline="h")
    assert counts["n"].sum() == 4
    assert counts["other_answer"].isna().sum() == 1
    pd.testing.assert_frame_equal(kappa(counts), kappa(calls, against="h"))


def test_an_item_is_the_same_as_a_whole_float(people):
    calls, reference = people
    gap = pd.concat([reference, reference.head(1).assign(item=np.nan)])  # a gap makes the ids floats
    assert kappa(calls, against=gap)["n"].tolist() == [25, 25]
    with pytest.raises(DesignError, match="No thing was judged by two"):
        kappa(calls, against=reference.assign(item=reference["item"] + 0.5))


def test_references_that_cannot_be_are_refused(people):
    calls, reference = people
    with pytest.raises(DesignError, match=r"against= is int\. Give 'gold'"):
        kappa(calls, against=5)
    with pytest.raises(DesignError, match="nothing tells the calls apart"):
        kappa(calls, against=reference.assign(item=None))
    with pytest.raises(SchemaError, match="'n_identical' is a count"):
        kappa(calls.assign(n_identical="x"), against=reference)
    with pytest.raises(SchemaError, match="'n_identical' is a count"):
        alpha(calls.assign(n_identical=np.inf))


@pytest.mark.parametrize("engine", [pl.from_pandas, lambda t: pl.from_pandas(t).lazy()])
def test_engines_agree_on_what_has_no_partner(people, engine):
    calls, reference = people
    pd.testing.assert_frame_equal(kappa(engine(calls), against=engine(reference)), kappa(calls, against=reference))


MEASURES = {
    "kappa": kappa,
    "kappa, bootstrap": lambda d: kappa(d, interval="percentile", n_resamples=200),
    "mean kappa": lambda d: kappa(d, pairs="average", interval="percentile", n_resamples=200),
    "Fleiss": lambda d: kappa(d, pairs="fleiss"),
    "AC1": ac1,
    "AC2, BCa": lambda d: ac1(d, weights="linear", interval="bca", n_resamples=200),
    "alpha": lambda d: alpha(d, n_resamples=200),
    "alpha of clusters": lambda d: alpha(d, level="interval", cluster="item", n_resamples=200),
}


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_few_disagreements_are_flagged(measure):
    few, enough, none = (measure(two_judges(k)).iloc[0] for k in (19, 20, 0))
    assert FEW_DISAGREEMENTS in few["flag"]
    assert FEW_DISAGREEMENTS not in enough["flag"]
    assert np.isfinite([few["conf_low"], enough["conf_low"]]).all()
    assert np.isnan(none["conf_low"])  # no interval, nothing to doubt in it
    assert FEW_DISAGREEMENTS not in none["flag"]


def test_disagreements_are_counted_in_things_not_in_patterns():
    table = pd.DataFrame({"judge": "g", "other": "h", "answer": [1, 1, 2], "other_answer": [1, 2, 2]})
    assert FEW_DISAGREEMENTS in kappa(table.assign(n=[90, 19, 90]))["flag"].iloc[0]
    assert FEW_DISAGREEMENTS not in kappa(table.assign(n=[90, 20, 90]))["flag"].iloc[0]
    three = pd.concat([two_judges(10), ratings(two_judges(10)["score"].head(200), "i")])
    assert FEW_DISAGREEMENTS in ac1(three)["flag"].iloc[0]  # 10 things, though 20 pairs of judges disagree


def test_the_threshold_is_where_coverage_falls():
    """Two judges, half of 1000 things either way: true kappa is 1 - 2 x the share of disagreements."""
    rng = np.random.default_rng(2)
    covered = {}
    for expected in (8, 40):
        half, off = (1000 - expected) / 2000, expected / 2000
        fit = cohen_kappa(rng.multinomial(1000, [half, off, off, half], size=8000).reshape(-1, 2, 2))
        known = fit.std_error > 0
        error = np.abs(fit.estimate - (1 - 2 * expected / 1000))
        covered[expected] = np.mean((error <= 1.959964 * fit.std_error)[known])
    assert covered[8] < 0.92
    assert covered[40] > 0.935


def test_resamples_without_alpha_are_counted():
    scores = [1] * 39 + [2]
    result = alpha(pd.concat([ratings(scores, "g"), ratings([*scores[:-1], 1], "h")]), n_resamples=400)
    assert pd.Series(result["flag"]).str.contains(r"1\d\d resamples undefined").all()  # 1/e of them draw no 2
