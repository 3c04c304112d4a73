"""The dark_current measures: the paper's numbers, special cases, and what they refuse."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from design import instrument_calls
from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.resampling import cluster_totals, percentile_interval
from judgestats.metrics import psychometrics as js
from judgestats.metrics.datasheets import compare_datasheets, datasheet, profile
from judgestats.metrics.psychometrics.threshold import crossing
from judgestats.schema import tally


@pytest.fixture(scope="module")
def calls():
    return instrument_calls()


def value(table, term, **where):
    for column, wanted in where.items():
        table = table[table[column] == wanted]
    (number,) = table.loc[table["term"] == term, "estimate"]
    return number


# ---------------------------------------------------------------- dark current


def test_dark_current_counts_non_ties_by_kind_and_pooled(calls):
    got = js.dark_current(calls)
    vacuum = calls[calls["stimulus"] == "vacuum"]
    assert value(got, "dark_current", vacuum_kind="all") == (vacuum["choice"] != "tie").mean()
    for kind, here in vacuum.groupby("vacuum_kind"):
        assert value(got, "dark_current", vacuum_kind=kind) == (here["choice"] != "tie").mean()
    assert got.loc[got["vacuum_kind"] == "all", "n"].item() == len(vacuum)


def test_an_abstention_in_the_vacuum_is_no_preference():
    counts = pd.DataFrame({"judge": "g", "choice": ["first", "abstain", "tie"], "n": [1, 2, 1]})
    assert js.dark_current(counts)["estimate"].item() == 0.25


@pytest.mark.parametrize(("invalid", "rate", "n"), [("drop", 0.5, 2), ("wrong", 0.75, 4), ("tie", 0.25, 4)])
def test_an_invalid_vacuum_call_is_what_is_asked_for(invalid, rate, n):
    counts = pd.DataFrame({"judge": "g", "choice": ["first", "tie", "invalid"], "n": [1, 1, 2]})
    row = js.dark_current(counts, invalid=invalid).iloc[0]
    assert (row["estimate"], row["n"]) == (rate, n)


def test_dark_current_of_calls_that_share_pairs_is_clustered_and_flagged_where_it_is_not(calls):
    plain, clustered = js.dark_current(calls, cluster=False), js.dark_current(calls, cluster="task")
    assert js.dark_current(calls)["method"].str.contains("clustered by item").all()
    assert plain["flag"].str.contains("calls not independent").all()
    assert not clustered["flag"].str.contains("calls not independent").any()
    assert clustered["method"].str.contains("G = 10").all()
    np.testing.assert_array_equal(plain["estimate"], clustered["estimate"])


def test_dark_current_without_stimuli_says_what_is_missing(calls):
    with pytest.raises(DesignError, match="no column 'stimulus'"):
        js.dark_current(calls.drop(columns="stimulus"))
    with pytest.raises(DesignError, match="no row is one"):
        js.dark_current(calls[calls["stimulus"] == "ladder"])


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
    with pytest.raises(DesignError, match="order_known"):
        js.delta0(calls.assign(order_known=False))
    with pytest.raises(DesignError, match="replicate"):
        js.delta0(pd.concat([calls, calls]))
    with pytest.raises(DesignError, match="consistency"):
        js.delta0(calls.drop(columns="stimulus"))


def test_a_repeat_that_a_condition_tells_apart_is_named(calls):
    twice = pd.concat([calls.assign(session="one"), calls.assign(session="two")])
    with pytest.raises(DesignError, match="'session'"):
        js.delta0(twice)
    assert len(js.delta0(twice, by="session")) == 14


# ---------------------------------------------------------------- ladder


def test_sensitivity_wrong_and_tie_add_up(calls):
    got = js.target_sensitivity(calls).pivot(index="delta", columns="term", values="estimate")
    np.testing.assert_allclose(got["target_sensitivity"] + got["wrong_choice_rate"] + got["miss_by_tie"], 1)
    np.testing.assert_allclose(got["non_tie_accuracy"], got["target_sensitivity"] / (1 - got["miss_by_tie"]))


def test_accuracy_among_non_ties_of_ties_alone_is_no_number():
    counts = pd.DataFrame({"judge": "g", "delta": 1, "outcome": ["tie"], "n": [10]})
    row = js.target_sensitivity(counts, cluster=False).set_index("term").loc["non_tie_accuracy"]
    assert math.isnan(row["estimate"])
    assert row["flag"] == "no data"


def test_a_better_candidate_that_was_not_shown_is_a_fault(calls):
    wrong = calls.copy()
    wrong.loc[wrong["stimulus"] == "ladder", "better"] = "somebody"
    with pytest.raises(SchemaError, match="'better' is 'somebody'"):
        js.target_sensitivity(wrong)


def ladder(*shares, n=40):
    rows = [
        ("g", d, o, k)
        for d, p in enumerate(shares, 1)
        for o, k in (("correct", round(p * n)), ("wrong", n - round(p * n)))
    ]
    return pd.DataFrame(rows, columns=["judge", "delta", "outcome", "n"])


def test_threshold_reached_at_the_first_step_is_left_censored():
    row = js.detection_threshold(ladder(0.8, 0.9, 1.0)).iloc[0]
    assert row["estimate"] == 1
    assert "left-censored" in row["flag"]


def test_threshold_never_reached_is_right_censored_and_no_number():
    row = js.detection_threshold(ladder(0.2, 0.3, 0.5)).iloc[0]
    assert math.isnan(row["estimate"])
    assert "right-censored" in row["flag"]
    assert math.isnan(row["conf_high"]) or row["conf_high"] == math.inf


def test_the_fitted_curve_decides_and_not_the_raw_one():
    # the raw share is 0.8 at the first step; pooled with the next, the fit is below 0.75 there
    row = js.detection_threshold(ladder(0.8, 0.5, 1.0)).iloc[0]
    assert row["estimate"] == pytest.approx(2 + (0.75 - 0.65) / (1 - 0.65))
    assert "censored" not in row["flag"]


def test_the_paper_s_limit_two_and_five_sevenths_fits_linear_interpolation():
    steps, p = np.array([2.0, 3.0]), np.array([0.25, 0.95])
    assert crossing(steps, p, np.array([80.0, 60.0]), 0.75) == pytest.approx(2 + 5 / 7)
    assert crossing(steps, p, np.array([80.0, 60.0]), 0.75, "step") == 3.0


def test_threshold_interval_comes_from_tasks_and_repeats_with_its_seed(calls):
    one, two = (js.detection_threshold(calls, seed=3) for _ in range(2))
    pd.testing.assert_frame_equal(one, two)
    assert "by task (G = 10)" in one["method"].item()
    assert one["conf_low"].item() <= one["estimate"].item() <= one["conf_high"].item()
    other = js.detection_threshold(calls, seed=4)
    assert other["estimate"].item() == one["estimate"].item()


def test_an_end_of_the_interval_may_be_censored():
    row = js.detection_threshold(ladder(0.72, 0.78, 0.95)).iloc[0]
    assert row["conf_low"] == -math.inf
    assert math.isfinite(row["conf_high"])


def test_an_interval_without_width_is_not_given_and_says_why():
    row = js.detection_threshold(ladder(1.0, 1.0, 1.0)).iloc[0]
    assert math.isnan(row["conf_low"])
    assert math.isnan(row["conf_high"])
    assert "all resamples equal" in row["flag"]


def test_a_resample_without_the_first_step_is_not_left_censored():
    """Step 1 was missed 20 times of 20: no resample of tasks may say that it was reached."""
    rows = [(f"t{t}", 1, "wrong", 10) for t in range(2)]
    rows += [(f"t{t}", d, o, n) for t in range(12) for d in (2, 3) for o, n in (("correct", 9), ("wrong", 1))]
    table = pd.DataFrame(rows, columns=["task", "delta", "outcome", "n"]).assign(judge="g")
    row = js.detection_threshold(table).iloc[0]
    assert row["conf_low"] > 1


def test_calls_without_a_step_and_empty_steps_are_left_out_aloud():
    table = pd.concat([ladder(0.5, 0.9), ladder(0.5).assign(delta=np.nan), ladder(0.5).assign(delta=3, n=0)])
    row = js.detection_threshold(table).iloc[0]
    assert row["n"] == 80
    assert "40 calls without a step excluded" in row["flag"]


def test_a_ladder_with_a_step_missing_has_no_threshold():
    gap = ladder(0.5, 0.7, 0.9).query("delta != 2")
    row = js.detection_threshold(gap).iloc[0]
    assert math.isnan(row["estimate"])
    assert math.isnan(row["conf_low"])
    assert row["flag"] == "incomplete ladder: not asked at 2"
    assert row["n"] == 80
    assert js.detection_threshold(gap, steps=[1, 3]).iloc[0]["estimate"] == pytest.approx(1 + 2 * 0.25 / 0.4)


def test_a_ladder_of_other_numbers_is_named():
    halves = ladder(0.5, 0.7, 0.9).assign(delta=lambda t: t["delta"] / 2)
    assert "0.5 is not one of 1, 2, ..., name the steps" in js.detection_threshold(halves).iloc[0]["flag"]
    named = js.detection_threshold(halves, steps=[1.5, 0.5, 1.0]).iloc[0]
    assert named["estimate"] == pytest.approx(1.125)
    assert named["flag"] == ""
    other = js.detection_threshold(halves, steps=[0.5, 1.0]).iloc[0]
    assert math.isnan(other["estimate"])
    assert "1.5 is not one of 0.5, 1" in other["flag"]


@pytest.mark.parametrize("steps", [[1], [1, 1], [0, 1], [1, math.nan], "ab", [[1, 2], [3, 4]]])
def test_steps_that_are_no_ladder_are_refused(steps):
    with pytest.raises(DesignError, match="is no ladder"):
        js.detection_threshold(ladder(0.5, 0.7), steps=steps)


def test_the_interval_of_a_threshold_is_the_expanded_one():
    """Hesterberg's: with few tasks it reaches further out than the percentile interval of the same resamples."""
    rng = np.random.default_rng(3)
    hits = rng.binomial(4, [[0.55, 0.65, 0.8, 0.9]] * 12)
    rows = [
        (f"t{t:02d}", d + 1, o, k) for (t, d), h in np.ndenumerate(hits) for o, k in (("correct", h), ("wrong", 4 - h))
    ]
    table = pd.DataFrame(rows, columns=["task", "delta", "outcome", "n"]).assign(judge="g")
    row = js.detection_threshold(table, seed=np.random.default_rng(1)).iloc[0]
    assert row["method"] == "isotonic; expanded percentile bootstrap by task (G = 12)"
    counts = np.hstack([hits, 4 - hits]).astype(float)
    drawn = cluster_totals(counts, np.random.default_rng(1), 2000)
    found = np.array([crossing(np.arange(1.0, 5.0), d[:4] / 48, np.full(4, 48.0), 0.75) for d in drawn])
    plain, wide = percentile_interval(found), percentile_interval(found, 0.95, 12)
    assert (row["conf_low"], row["conf_high"]) == wide
    assert wide[0] <= plain[0] < plain[1] <= wide[1]
    assert wide[1] - wide[0] > 1.05 * (plain[1] - plain[0])


def test_another_judge_does_not_change_the_interval():
    one = js.detection_threshold(ladder(0.5, 0.7, 0.9))
    two = js.detection_threshold(pd.concat([ladder(0.5, 0.7, 0.9), ladder(0.6, 0.8, 0.9).assign(judge="a")]))
    pd.testing.assert_frame_equal(two[two["judge"] == "g"].reset_index(drop=True), one)


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
    counted = js.delta0(tally(pairs, "delta0")).set_index("term").loc["raw_false_preference"]
    assert counted.to_dict() == found.to_dict()


def test_four_classes_hold_together_by_cluster_too(calls):
    again = pd.concat([calls.assign(replicate=r) for r in range(3)], ignore_index=True)
    once, thrice = (js.delta0(c.drop(columns="task")).set_index("term") for c in (calls, again))
    for term in ("stable_cross_sensitivity", "no_preference"):
        assert once.loc[term, "method"] == "Goodman, 4 classes"
        assert thrice.loc[term, "method"] == "Goodman, 4 classes, clustered by item (G = 60)"
        widths = [t.loc[term, "conf_high"] - t.loc[term, "conf_low"] for t in (once, thrice)]
        assert widths[1] == pytest.approx(widths[0], rel=0.05), "copies are worth no more than one"


def test_d_prime_of_copies_is_that_of_one(calls):
    ladder = calls[calls["delta"].notna()].drop(columns="task")
    again = pd.concat([ladder.assign(replicate=r) for r in range(4)], ignore_index=True)
    one, four = (js.d_prime(c).query("delta == 1").set_index("term") for c in (ladder, again))
    assert four.loc["d_prime", "method"].startswith("log-linear, Gourevitch-Galanter, clustered by item (G = ")
    widths = [t.loc["d_prime", "conf_high"] - t.loc["d_prime", "conf_low"] for t in (one, four)]
    assert widths[1] == pytest.approx(widths[0], rel=0.15)
    apart = js.d_prime(again, cluster=False).query("delta == 1").set_index("term")
    assert apart.loc["d_prime", "conf_high"] - apart.loc["d_prime", "conf_low"] < 0.75 * widths[1]
    assert "calls not independent" in apart.loc["d_prime", "flag"]


def test_filler_preference_clusters_what_is_shared(calls):
    again = pd.concat([calls.assign(replicate=r) for r in range(4)], ignore_index=True).drop(columns="task")
    found, apart = js.filler_preference(again).iloc[0], js.filler_preference(again, cluster=False).iloc[0]
    assert found["method"].startswith("Tango, two shares of one sample, clustered by item")
    assert apart["method"] == "Newcombe, two shares of one sample"
    assert found["conf_high"] - found["conf_low"] > 1.5 * (apart["conf_high"] - apart["conf_low"])


def test_pooled_prompts_and_counted_rows_are_not_independent(calls):
    vacuum = calls[(calls["stimulus"] == "vacuum")].drop_duplicates("item")
    vacuum = vacuum.drop(columns="task")
    assert not js.dark_current(vacuum, cluster=False)["flag"].str.contains("not independent").any()
    both = pd.concat([vacuum, vacuum.assign(prompt="strict")])
    assert js.dark_current(both, cluster=False)["flag"].str.contains("not independent").all()
    assert not js.dark_current(both, by="prompt", cluster=False)["flag"].str.contains("not independent").any()
    assert js.dark_current(vacuum.assign(n_identical=50), cluster=False)["flag"].str.contains("not independent").all()


def test_d_prime_at_ceiling_is_the_printed_number_and_flagged():
    counts = pd.DataFrame(
        {"judge": "g", "delta": 5, "target_slot": ["first", "second"], "choice": ["first", "second"], "n": [10, 10]}
    )
    row = js.d_prime(counts).set_index("term").loc["d_prime"]
    assert round(row["estimate"], 4) == 3.3812
    assert "ceiling" in row["flag"]
    assert math.isnan(row["conf_low"])


def test_d_prime_counts_a_tie_half_to_each_side():
    counts = pd.DataFrame(
        {
            "judge": "g",
            "delta": 1,
            "target_slot": ["first", "first", "second", "second"],
            "choice": ["first", "tie", "second", "tie"],
            "n": [20, 20, 20, 20],
        }
    )
    got = js.d_prime(counts).set_index("term")
    from scipy.stats import norm

    assert got.loc["d_prime", "estimate"] == pytest.approx(norm.ppf(30.5 / 41) - norm.ppf(10.5 / 41))
    assert got.loc["slot_criterion", "estimate"] == pytest.approx(0)


def test_d_prime_of_a_judge_with_one_slot_is_no_number_and_spares_the_others():
    counts = pd.DataFrame(
        {
            "judge": ["g", "h", "h", "i"],
            "delta": 1,
            "target_slot": ["first", "first", "second", "first"],
            "choice": ["first", "first", "second", "invalid"],
            "n": [40, 40, 40, 40],
        }
    )
    got = js.d_prime(counts, cluster=False)
    got = got[got["term"] == "d_prime"].set_index("judge")
    assert math.isnan(got.loc["g", "estimate"])
    assert got.loc["g", "flag"] == "target in one position only"
    assert got.loc["h", "estimate"] > 4
    assert (got.loc["i", "n"], got.loc["i", "flag"]) == (0, "no data; n < 30")


def test_d_prime_refuses_an_unknown_order(calls):
    with pytest.raises(DesignError, match="order_known"):
        js.d_prime(calls.assign(order_known=False))


# ---------------------------------------------------------------- criterion, filler, gates


def test_criterion_shift_pairs_the_calls_that_both_prompts_judged(calls):
    strict = instrument_calls(prompt="strict", criterion=0.9)
    got = js.criterion_shift(pd.concat([calls, strict]), "base", "strict", cluster=False)
    shift = got[got["term"] == "criterion_shift"]
    assert (shift["method"] == "Newcombe, paired").all()
    equal = shift[shift["stimulus"] == "same_subset"].iloc[0]
    tie = [(d.loc[d["stimulus"] == "same_subset", "choice"] == "tie").mean() for d in (calls, strict)]
    assert equal["estimate"] == pytest.approx(tie[1] - tie[0])
    assert equal["conf_low"] < equal["estimate"] < equal["conf_high"]


def test_criterion_shift_of_counts_is_of_independent_samples():
    counts = pd.DataFrame(
        {
            "judge": "g",
            "prompt": ["a", "a", "b", "b"],
            "stimulus": "ladder",
            "delta": 1.0,
            "outcome": ["correct", "tie", "correct", "tie"],
            "n": [94, 6, 50, 50],
        }
    )
    got = js.criterion_shift(counts, "a", "b").set_index("term")
    assert got.loc["criterion_shift", "estimate"] == pytest.approx(0.44)
    assert got.loc["criterion_shift", "method"] == "Newcombe, independent"
    assert got.loc["target_signal_lost", "estimate"] == pytest.approx(0.44)


def test_nothing_lost_has_no_price():
    counts = pd.DataFrame(
        {
            "judge": "g",
            "prompt": ["a", "b", "a", "a", "b"],
            "stimulus": ["ladder", "ladder", *["same_subset"] * 3],
            "delta": [5.0, 5.0, None, None, None],
            "outcome": ["correct", "correct", "preference", "tie", "tie"],
            "n": [20, 20, 31, 89, 120],
        }
    )
    price = js.criterion_shift(counts, "a", "b").set_index("term").loc["saved_per_lost"]
    assert math.isnan(price["estimate"])
    assert "base is zero" in price["flag"]


def test_criterion_shift_names_the_prompts_there_are(calls):
    with pytest.raises(DesignError, match="Prompts: base"):
        js.criterion_shift(calls, "base", "strikt")


def test_filler_preference_is_filler_minus_clean(calls):
    got = js.filler_preference(calls).iloc[0]
    filler = calls[calls["stimulus"] == "filler"]
    picked = np.where(
        filler["choice"] == "first", filler["first"], np.where(filler["choice"] == "second", filler["second"], "tie")
    )
    assert got["estimate"] == pytest.approx((picked == "padded").mean() - (picked == "clean").mean())
    assert got["conf_low"] < got["estimate"] < got["conf_high"]


def test_gates_are_passed_one_after_the_other():
    calls = pd.DataFrame(
        {
            "judge": "g",
            "item": [str(i) for i in range(10)],
            "first": "x",
            "second": "y",
            "choice": ["first"] * 5 + ["invalid"] * 5,
            "status": ["ok"] * 5 + ["error", "parse", "schema", "semantic", "leak"],
        }
    )
    got = js.validity_gates(calls).set_index("term")
    assert got["n"].to_dict() == {
        "answered": 10,
        "parse": 9,
        "schema": 8,
        "semantic": 7,
        "hidden_metadata": 6,
        "valid": 10,
    }
    assert got.loc["valid", "estimate"] == 0.5
    assert got.loc["hidden_metadata", "estimate"] == pytest.approx(5 / 6)


# ---------------------------------------------------------------- datasheet


def test_datasheet_collects_what_the_data_support(calls):
    sheet = datasheet(calls, n_resamples=50)
    assert {"validity", "dark current", "Δ0", "Δ0, different subset", "ladder", "threshold", "d'", "filler"} <= set(
        sheet["section"]
    )
    assert (sheet["symbol"] != "").all()
    assert (sheet["meaning"] != "").all()
    direct = js.delta0(calls).set_index("term")["estimate"]
    section = sheet[sheet["section"] == "Δ0"].set_index("term")["estimate"]
    pd.testing.assert_series_equal(section.sort_index(), direct.sort_index())


def test_datasheet_of_two_prompts_has_the_criterion_section(calls):
    both = pd.concat([calls, instrument_calls(prompt="strict", criterion=0.9)])
    sheet = datasheet(both, n_resamples=50, baseline="base")
    criterion = sheet[sheet["section"] == "criterion, base to strict"]
    assert set(criterion["prompt"]) == {"base to strict"}
    for prompt, one in (("base", calls), ("strict", instrument_calls(prompt="strict", criterion=0.9))):
        own = sheet[
            (sheet["prompt"] == prompt) & (sheet["term"] == "raw_false_preference") & (sheet["section"] == "Δ0")
        ]
        assert own["estimate"].item() == value(js.delta0(one), "raw_false_preference")
    with pytest.raises(DesignError, match="several values of 'prompt'"):
        compare_datasheets(both, calls)


@pytest.mark.slow
def test_datasheets_of_two_judges_are_paired_where_stimuli_are_shared(calls):
    other = instrument_calls(judge="h", seed=9)
    got = compare_datasheets(calls, other, cluster=False)
    row = got[(got["section"] == "Δ0") & (got["term"] == "positional_false_preference")].iloc[0]
    assert row["method"] == "Newcombe, paired"
    assert row["n"] == 60
    one, two = (value(js.delta0(c), "positional_false_preference") for c in (calls, other))
    assert (row["first"], row["second"]) == (one, two)
    assert row["estimate"] == pytest.approx(two - one)
    flipped = compare_datasheets(other, calls, cluster=False)
    again = flipped[(flipped["section"] == "Δ0") & (flipped["term"] == "positional_false_preference")].iloc[0]
    assert again["estimate"] == pytest.approx(-row["estimate"])
    assert again["conf_low"] == pytest.approx(-row["conf_high"])


def test_every_paired_difference_is_the_difference_of_the_two_sheets(calls):
    got = compare_datasheets(calls, instrument_calls(judge="h", seed=9), cluster=False)
    assert (got["method"] == "Newcombe, paired").sum() >= 15
    np.testing.assert_allclose(got["estimate"], got["second"] - got["first"], atol=1e-12, equal_nan=True)


def test_two_datasheets_without_calls_are_independent_samples(calls):
    options = {"n_resamples": 50, "cluster": False}
    sheets = datasheet(calls, **options), datasheet(instrument_calls(judge="h", seed=9), **options)
    got = compare_datasheets(*sheets)
    assert (got["method"] == "Newcombe, independent").all()
    assert {"Δ0", "ladder", "dark current"} <= set(got["section"])


@pytest.mark.parametrize(
    ("dc", "stable", "positional", "one_sided", "sketch"),
    [
        (0.0, 0.05, 0.0, 0.95, "Class A-delta0 / One-sided"),
        (0.0, 0.9, 0.05, 0.0, "Class A-delta0 / Stable cross-sensitive"),
        (0.4, 0.03, 0.97, 0.0, "Class B / Presentation-conflicted"),
        (0.0, 0.0, 0.1, 0.3, "Clean Class A"),
        (0.4, 0.0, 0.1, 0.3, "Class B"),
    ],
)
def test_profile_is_named_after_the_mechanism_that_dominates(dc, stable, positional, one_sided, sketch):
    terms = ["dark_current", "raw_false_preference", "stable_cross_sensitivity", "positional_false_preference"]
    raw = stable + positional + one_sided / 2
    rows = pd.DataFrame({"judge": "g", "term": terms, "estimate": [dc, raw, stable, positional]})
    assert profile(rows)["profile"].item() == sketch


def test_profile_of_a_datasheet_has_no_row_for_a_comparison_of_prompts(calls):
    both = pd.concat([calls, instrument_calls(prompt="strict", criterion=0.9)])
    got = profile(datasheet(both, n_resamples=20))
    assert got[["judge", "prompt"]].to_numpy().tolist() == [["g", "base"], ["g", "strict"]]


def test_profile_needs_both_measurements(calls):
    assert profile(js.delta0(calls))["profile"].item() == "not determined"
