"""The Δ0 decomposition of answers to equal responses, its intervals, and filler preference."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgestats.counting.tallies import tally
from judgestats.errors import DesignError
from judgestats.kernels.proportions import wilson
from judgestats.metrics import psychometrics as js
from refusals import refused

# ---------------------------------------------------------------- Δ0


def brute_force_delta0(calls):
    """Pair by pair, as the paper's two-order table reads."""
    classes = dict.fromkeys(["stable", "positional", "one", "none", "dropped"], 0)
    commits = 0
    for _, pair in calls.groupby("item"):
        pair = pair.sort_values("first")
        if len(pair) < 2 or (pair["choice"] == "invalid").any():
            classes["dropped"] += 1
            continue
        slots = ["tie" if c == "abstain" else c for c in pair["choice"]]
        content = [None if c == "tie" else r[c] for c, (_, r) in zip(slots, pair.iterrows(), strict=True)]
        decided = sum(c is not None for c in content)
        commits += decided
        key = (
            "none"
            if decided == 0
            else "one"
            if decided == 1
            else "stable"
            if content[0] == content[1]
            else "positional"
        )
        classes[key] += 1
    return classes, commits


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(*[st.sampled_from(["first", "second", "tie", "abstain", "invalid", None])] * 2),
        min_size=1,
        max_size=25,
    )
)
def test_delta0_is_the_brute_force_decomposition_and_keeps_the_identity(answers):
    rows = []
    for i, (one, two) in enumerate(answers):
        for first, second, choice in (("u", "v", one), ("v", "u", two)):
            if choice is not None:
                rows.append(
                    {
                        "judge": "g",
                        "item": str(i),
                        "first": first,
                        "second": second,
                        "choice": choice,
                        "stimulus": "same_subset",
                    }
                )
    if not rows:
        return
    table = pd.DataFrame(rows)
    want, commits = brute_force_delta0(table)
    pairs = sum(want.values()) - want["dropped"]
    got = js.delta0(table).set_index("term")
    assert (got["n_dropped"] == want["dropped"]).all()
    if not pairs:
        assert got["estimate"].isna().all()
        assert got["flag"].str.contains("no data").all()
        return
    estimate = got["estimate"]
    assert estimate["raw_false_preference"] == pytest.approx(commits / (2 * pairs))
    for term, key in {
        "stable_cross_sensitivity": "stable",
        "positional_false_preference": "positional",
        "one_sided_commit": "one",
        "no_preference": "none",
    }.items():
        assert estimate[term] == pytest.approx(want[key] / pairs)
    assert estimate["raw_false_preference"] == pytest.approx(
        estimate["stable_cross_sensitivity"]
        + estimate["positional_false_preference"]
        + estimate["one_sided_commit"] / 2
        + estimate["other_conflict"],
        abs=1e-12,
    )
    assert estimate["tie_rate"] == pytest.approx(estimate["no_preference"] + estimate["one_sided_commit"] / 2)


def test_other_conflict_is_zero_by_structure_without_an_interval(calls):
    row = js.delta0(calls).set_index("term").loc["other_conflict"]
    assert row["estimate"] == 0
    assert math.isnan(row["conf_low"])
    assert row["flag"] == "structural zero"


def test_delta0_intervals_are_goodman_together_and_wilson_alone():
    counts = pd.DataFrame(
        {"judge": "g", "forward": ["first", "first", "tie"], "reverse": ["second", "first", "tie"], "n": [2, 58, 0]}
    )
    together, alone = js.delta0(counts).set_index("term"), js.delta0(counts, simultaneous=False).set_index("term")
    assert together.loc["stable_cross_sensitivity", "method"] == "Goodman, 4 classes"
    assert alone.loc["stable_cross_sensitivity", "method"] == "Wilson"
    assert together.loc["stable_cross_sensitivity", "conf_high"] > alone.loc["stable_cross_sensitivity", "conf_high"]
    assert together.loc["raw_false_preference", "method"] == "Wilson"


def test_same_subset_and_different_subset_are_never_pooled(calls):
    same, different = js.delta0(calls), js.delta0(calls, stimulus="different_subset")
    assert same["n"].max() == 120
    assert different["n"].max() == 60
    with pytest.raises(DesignError, match="different_subset"):
        js.delta0(calls, stimulus="different")


def test_delta0_refuses_an_unknown_order_a_repeat_and_missing_stimuli(calls):
    refused(
        DesignError,
        (calls.assign(order_known=False), "order_known"),
        (pd.concat([calls, calls]), "replicate"),
        (calls.drop(columns="stimulus"), "consistency"),
        of=js.delta0,
    )


def test_a_repeat_that_a_condition_tells_apart_is_named(calls):
    twice = pd.concat([calls.assign(session="one"), calls.assign(session="two")])
    with pytest.raises(DesignError, match="'session'"):
        js.delta0(twice)
    assert len(js.delta0(twice, by="session")) == 14


def test_a_missing_group_is_a_group_of_its_own(calls):
    filler = calls.assign(size=np.where(calls["task"] == "t0", np.nan, 1.0))
    got = js.filler_preference(filler, by="size")
    assert got["n"].tolist() == [36, 4]
    assert got["estimate"].notna().all()
    assert js.delta0(filler, by="size")["n_dropped"].notna().all()


def test_repeats_of_a_pair_are_not_independent(calls):
    again = pd.concat([calls.assign(replicate=r) for r in range(3)], ignore_index=True)
    stable = js.delta0(again, cluster=False).set_index("term").loc["stable_cross_sensitivity"]
    assert stable["n"] == 180
    assert "calls not independent" in stable["flag"]
    once = js.delta0(calls.drop(columns="task"), cluster=False).set_index("term")
    assert "calls not independent" not in once.loc["stable_cross_sensitivity", "flag"]
    assert "calls not independent" in once.loc["raw_false_preference", "flag"]


def test_the_two_calls_of_a_pair_are_clustered_by_it(calls):
    """Where pairs share nothing, the interval is that of a frame clustered by a column that numbers the pairs."""
    pairs = calls[calls["stimulus"] == "same_subset"].drop(columns="task")
    found = js.delta0(pairs).set_index("term").loc["raw_false_preference"]
    assert found["method"] == "Wilson, clustered by pair (G = 60)"
    assert found["flag"] == ""
    named = js.delta0(pairs, cluster="item").set_index("term").loc["raw_false_preference"]
    assert found[["std_error", "conf_low", "conf_high"]].tolist() == pytest.approx(
        named[["std_error", "conf_low", "conf_high"]].tolist()
    )
    counted = js.delta0(tally(pairs, "delta0", cluster="item")).set_index("term").loc["raw_false_preference"]
    assert counted.to_dict() == found.to_dict()
    unknown = js.delta0(tally(pairs, "delta0")).set_index("term").loc["raw_false_preference"]
    assert unknown[["estimate", "n"]].tolist() == found[["estimate", "n"]].tolist()
    assert (unknown["method"], unknown["flag"]) == ("Wilson", "calls not independent; clustering unknown")
    low, high = wilson(unknown["estimate"] * unknown["n"], unknown["n"])
    assert unknown[["conf_low", "conf_high"]].tolist() == pytest.approx([float(low), float(high)])


def test_four_classes_hold_together_by_cluster_too(calls):
    again = pd.concat([calls.assign(replicate=r) for r in range(3)], ignore_index=True)
    once, thrice = (js.delta0(c.drop(columns="task")).set_index("term") for c in (calls, again))
    for term in ("stable_cross_sensitivity", "no_preference"):
        assert once.loc[term, "method"] == "Goodman, 4 classes"
        assert thrice.loc[term, "method"] == "Goodman, 4 classes, clustered by item (G = 60)"
        widths = [t.loc[term, "conf_high"] - t.loc[term, "conf_low"] for t in (once, thrice)]
        assert widths[1] == pytest.approx(widths[0], rel=0.05), "copies are worth no more than one"


def test_filler_preference_clusters_what_is_shared(calls):
    again = pd.concat([calls.assign(replicate=r) for r in range(4)], ignore_index=True).drop(columns="task")
    found, apart = js.filler_preference(again).iloc[0], js.filler_preference(again, cluster=False).iloc[0]
    assert found["method"].startswith("Tango, two shares of one sample, clustered by item")
    assert apart["method"] == "Newcombe, two shares of one sample"
    assert found["conf_high"] - found["conf_low"] > 1.5 * (apart["conf_high"] - apart["conf_low"])


def test_filler_preference_is_filler_minus_clean(calls):
    got = js.filler_preference(calls).iloc[0]
    filler = calls[calls["stimulus"] == "filler"]
    picked = np.where(
        filler["choice"] == "first", filler["first"], np.where(filler["choice"] == "second", filler["second"], "tie")
    )
    assert got["estimate"] == pytest.approx((picked == "padded").mean() - (picked == "clean").mean())
    assert got["conf_low"] < got["estimate"] < got["conf_high"]
