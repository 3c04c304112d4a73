"""Kappa of the verdicts and the gold, and the bootstrap intervals of accuracy."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import cohen_kappa_score

from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.chance import cohen_kappa
from judgestats.metrics.agreement import ac1, kappa
from judgestats.metrics.bias import gold_agreement
from judgestats.results import CHANCE_IS_ONE, NO_SPREAD
from judgestats.schema.counting import tally

Z = 1.959963984540054


def verdicts(n: int = 120, seed: int = 4, judges: str = "gh") -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    gold = rng.choice(["x", "y", "tie"], n, p=[0.4, 0.35, 0.25])
    table = pd.DataFrame({"item": [str(i) for i in range(n)], "first": "x", "second": "y", "gold": gold})
    flip = rng.random(n) < 0.5
    table.loc[flip, ["first", "second"]] = table.loc[flip, ["second", "first"]].to_numpy()
    slot = np.where(table["gold"] == table["first"], "first", np.where(table["gold"] == "tie", "tie", "second"))
    parts = []
    for judge in judges:
        other = rng.choice(["first", "second", "tie", "abstain", "invalid"], n, p=[0.35, 0.3, 0.2, 0.05, 0.1])
        parts.append(table.assign(judge=judge, choice=np.where(rng.random(n) < 0.55, slot, other), slot=slot))
    return pd.concat(parts, ignore_index=True)


def kappa_row(result: pd.DataFrame, judge: str = "g") -> pd.Series:
    return result[(result["judge"] == judge) & (result["term"] == "kappa")].iloc[0]


@pytest.mark.parametrize("invalid", ["drop", "wrong", "tie"])
@pytest.mark.parametrize("ties", ["exact", "drop", "half"])
def test_kappa_is_scikit_learns_on_the_calls_scored(invalid, ties):
    calls = verdicts()
    one = calls[calls["judge"] == "g"].assign(answer=lambda t: t["choice"].replace("abstain", "tie"))
    if invalid == "drop":
        one = one[one["answer"] != "invalid"]
    if invalid == "tie":
        as_tie = one["answer"] == "invalid"
        if ties == "drop":
            one = one[~as_tie]
        one = one.assign(answer=one["answer"].mask(as_tie & (one["slot"] != "tie"), "tie"))
    if ties == "drop":
        one = one[(one["answer"] != "tie") | (one["slot"] == "tie")]
    got = gold_agreement(calls, invalid=invalid, ties=ties)
    row = kappa_row(got)
    assert row["estimate"] == pytest.approx(cohen_kappa_score(one["answer"], one["slot"]), abs=1e-13)
    assert row["n"] == len(one)
    if ties != "half":
        assert got.iloc[0][["estimate", "n"]].tolist() == [(one["answer"] == one["slot"]).mean(), len(one)]
    classes = ["first", "second", "tie", "invalid"]
    table = pd.crosstab(one["answer"], one["slot"]).reindex(index=classes, columns=classes, fill_value=0)
    error = float(cohen_kappa(table).std_error)
    assert row["std_error"] == pytest.approx(error, rel=1e-12)
    assert row["conf_low"] == pytest.approx(row["estimate"] - Z * error, abs=1e-12)
    assert row["conf_high"] == pytest.approx(row["estimate"] + Z * error, abs=1e-12)
    assert list(got[got["judge"] == "g"]["term"]) == ["accuracy", "wrong", "tie", "invalid", "kappa"]


def test_a_frame_and_its_tally_agree_in_every_engine():
    calls = verdicts()
    whole = gold_agreement(calls)
    counted = tally(calls, "gold_agreement")
    assert {"answer", "gold_answer"} <= set(counted.columns)
    for same in (counted, pl.from_pandas(calls), pl.from_pandas(calls).lazy(), calls.sample(frac=1, random_state=1)):
        pd.testing.assert_frame_equal(gold_agreement(same), whole, check_dtype=False)


def test_the_order_shown_moves_kappa_only_through_its_margins():
    calls = verdicts()
    turned = calls.assign(first=calls["second"], second=calls["first"])
    turned["choice"] = calls["choice"].replace({"first": "second", "second": "first"})
    pd.testing.assert_frame_equal(gold_agreement(turned), gold_agreement(calls))


def test_a_published_tally_without_slots_has_no_kappa():
    counts = pd.DataFrame({"judge": "g", "outcome": ["correct", "wrong"], "n": [60, 40]})
    assert list(gold_agreement(counts)["term"]) == ["accuracy", "wrong", "tie", "invalid"]


def test_a_tally_with_unknown_slots_is_refused():
    counts = pd.DataFrame({"judge": "g", "outcome": "correct", "answer": "A", "gold_answer": "A", "n": [60]})
    with pytest.raises(SchemaError, match="answer='A'"):
        gold_agreement(counts)


def test_a_column_of_that_name_in_by_is_refused():
    with pytest.raises(DesignError, match="by='answer'"):
        gold_agreement(verdicts().assign(answer="text"), by="answer")


def test_one_class_only_and_perfect_agreement():
    calls = verdicts(40, judges="g")
    chance = kappa_row(gold_agreement(calls.assign(choice="tie", gold="tie")))
    assert np.isnan(chance["estimate"])
    assert chance["flag"] == CHANCE_IS_ONE
    perfect = kappa_row(gold_agreement(calls.assign(choice=calls["slot"])))
    assert perfect["estimate"] == 1
    assert np.isnan(perfect[["std_error", "conf_low", "conf_high"]].astype(float)).all()
    assert perfect["flag"] == NO_SPREAD


def test_clusters_of_one_give_the_plain_standard_error_and_copies_widen_it():
    calls = verdicts(judges="g")
    plain, each = kappa_row(gold_agreement(calls, cluster=False)), kappa_row(gold_agreement(calls, cluster="item"))
    scored = plain["n"]
    assert each["std_error"] == pytest.approx(plain["std_error"] * np.sqrt(scored / (scored - 1)), rel=1e-9)
    copies = pd.concat([calls.assign(replicate=r) for r in range(3)])
    thrice = kappa_row(gold_agreement(copies, cluster="item"))
    assert thrice["std_error"] == pytest.approx(each["std_error"], rel=1e-9)
    assert kappa_row(gold_agreement(copies, cluster=False))["std_error"] < 0.6 * each["std_error"]


@pytest.mark.parametrize("interval", ["percentile", "bca"])
def test_bootstrap_of_kappa_is_near_the_asymptotic_interval(interval):
    calls = verdicts(400)
    plain = kappa_row(gold_agreement(calls))
    for options in ({}, {"cluster": "item"}):
        got = kappa_row(gold_agreement(calls, interval=interval, n_resamples=4000, **options))
        assert got["estimate"] == plain["estimate"]
        assert got["std_error"] == pytest.approx(plain["std_error"], rel=0.06)
        assert got["conf_low"] == pytest.approx(plain["conf_low"], abs=0.012)
        assert got["conf_high"] == pytest.approx(plain["conf_high"], abs=0.012)
        assert "bootstrap" in got["method"]


def test_strata_take_the_spread_between_them_away():
    """All right in one stratum, all wrong in the other: nothing is left to vary, and that is said, not printed as 0."""
    calls = verdicts(60, judges="g").assign(kind=lambda t: np.where(t.index < 40, "easy", "hard"))
    wrong = calls["slot"].map({"first": "second", "second": "tie", "tie": "first"})
    calls["choice"] = np.where(calls["kind"] == "easy", calls["slot"], wrong)
    free = gold_agreement(calls, interval="percentile", cluster="item").iloc[0]
    held = gold_agreement(calls, interval="percentile", strata="kind").iloc[0]
    assert free["std_error"] == pytest.approx(np.sqrt(2 / 9 / 60), rel=0.05)
    assert (held["estimate"], held["method"]) == (2 / 3, "percentile, bootstrap of calls within kind (B = 2000)")
    assert np.isnan(held["conf_low"])
    assert held["flag"] == "all resamples equal"


def test_wilson_takes_no_strata():
    with pytest.raises(DesignError, match="strata="):
        gold_agreement(verdicts(), strata="item")
    with pytest.raises(DesignError, match="interval='wald' is not known"):
        gold_agreement(verdicts(), interval="wald")


def test_percentile_of_a_share_is_the_binomial():
    counts = pd.DataFrame({"judge": "g", "outcome": ["correct", "wrong"], "n": [264, 136]})
    row = gold_agreement(counts, interval="percentile").iloc[0]
    assert (row["conf_low"], row["conf_high"]) == (0.6125, 0.705)


def test_kappa_against_gold_has_one_definition():
    """Slots, as in the paper's Table 6; candidates by another name."""
    table = verdicts()
    known = table[~table["choice"].isin(["invalid"])]
    by_slot = kappa(known, against="gold").set_index("judge")["estimate"]
    by_candidate = kappa(known, against="gold_candidate").set_index("judge")["estimate"]
    of_gold = gold_agreement(known)
    for judge in ("g", "h"):
        assert by_slot[judge] == pytest.approx(kappa_row(of_gold, judge)["estimate"], rel=1e-12)
        here = known[known["judge"] == judge]
        won = np.where(
            here["choice"] == "first", here["first"], np.where(here["choice"] == "second", here["second"], "tie")
        )
        assert by_candidate[judge] == pytest.approx(cohen_kappa_score(won, here["gold"]), rel=1e-12)
        assert abs(by_candidate[judge] - by_slot[judge]) > 1e-4


def test_ac1_beside_a_reference_is_ac1_of_the_two():
    table = verdicts().query("choice != 'invalid'")
    table = table[
        table.groupby("item")["judge"].transform("size") == 2
    ]  # what only one answered counts for one of them
    for reference in ("gold_candidate", "h"):
        found = ac1(table, against=reference).set_index("judge").loc["g"]
        here = table[table["judge"] == "g"]
        other = (
            here.assign(judge="gold", choice=lambda t: t["slot"])
            if reference == "gold_candidate"
            else table[table["judge"] == "h"]
        )
        together = ac1(pd.concat([here, other]), labels=["low", "tie", "high"]).iloc[0]
        assert found["estimate"] == pytest.approx(together["estimate"], rel=1e-12)
        assert found["std_error"] == pytest.approx(together["std_error"], rel=1e-9)
        assert (found["conf_low"], found["conf_high"]) == pytest.approx((together["conf_low"], together["conf_high"]))
    assert set(ac1(table, against="gold")["judge"]) == {"g", "h"}
