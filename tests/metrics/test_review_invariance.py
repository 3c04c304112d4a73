"""Anchoring, revision, protocols and rationales: what is set aside is counted, what is bent has an honest interval."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from judgestats.errors import DesignError, SchemaError
from judgestats.metrics.invariance import (
    anchoring,
    protocol_difference,
    rationale_alignment,
    rationale_check,
    rationale_shift,
    revision,
)
from judgestats.metrics.invariance.rationales import stated_winner
from judgestats.results import NOT_INDEPENDENT, RESAMPLES_AGREE
from judgestats.schema import tally

SCHEMES = ("Baseline", "PBP")


def calls(n=40, probes=("blind", "truth"), schemes=("Baseline",), seed=0, **columns):
    """Answers at random of one judge to pairs of a and b."""
    rng = np.random.default_rng(seed)
    rows = [
        {"judge": "g", "scheme": s, "probe": p, "item": f"i{i:02d}", "first": "a", "second": "b", "rationale": "so so"}
        for s, p, i in itertools.product(schemes, probes, range(n))
    ]
    return pd.DataFrame(rows).assign(**{"choice": rng.choice(["first", "second", "tie"], len(rows))} | columns)


def counts(**shares):
    """A tally of one judge: the scheme and probe of each keyword to its counts of a, b and tie."""
    parts = [
        pd.DataFrame(
            {"judge": "g", "scheme": k.split("_")[0], "probe": k.split("_")[1], "outcome": ["a", "b", "tie"], "n": v}
        )
        for k, v in shares.items()
    ]
    return pd.concat(parts, ignore_index=True)


def rows(result, *terms):
    return result.set_index("term").loc[list(terms)]


# revision


def test_the_clustered_net_revision_takes_the_level_the_seed_and_the_number_of_resamples():
    data = calls(60, ("flip", "reveal"))
    wide, narrow, few = (
        rows(revision(data, favoured="a", cluster="item", **k), "net").iloc[0]
        for k in ({"conf_level": 0.99}, {"conf_level": 0.5}, {"n_resamples": 300})
    )
    assert narrow["conf_high"] - narrow["conf_low"] < (wide["conf_high"] - wide["conf_low"]) / 2
    assert "B = 300" in few["method"]


def test_items_without_a_side_are_counted_in_the_directed_terms_only():
    data = calls(40, ("flip", "reveal"), favoured="a")
    data.loc[data["item"] < "i04", "favoured"] = None
    result = rows(revision(data), "revision", "towards", "away", "net")
    assert result["n"].tolist() == [40, 36, 36, 36]
    assert result["flag"].str.contains("4 items without one favoured side").tolist() == [False, True, True, True]


def test_a_later_probe_that_the_counts_lack_is_refused():
    joint = tally(calls(40, ("flip", "reveal")), "revision", baseline="flip")
    with pytest.raises(DesignError, match="Did you mean 'reveal'"):
        revision(joint, after="revael")


# anchoring


def test_neutrality_knows_a_candidate_that_is_never_chosen():
    """a and b were shown, then a and c, which nobody chose: there is no one other candidate."""
    data = calls(40)
    data.loc[data["item"] < "i10", ["second", "choice"]] = ["c", "first"]
    result = anchoring(data, favoured="a", n_resamples=20)
    row = rows(result[result["probe"] == "blind"], "neutrality").iloc[0]
    assert np.isnan(row["estimate"])
    assert row["flag"] == "more than two candidates"


def test_candidates_with_numbers_for_names():
    data = calls(40, first=1, second=2)
    result, text = (anchoring(d, favoured=f, n_resamples=20) for d, f in (
        (data, {"truth": 1}), (data.astype({"first": "str", "second": "str"}), "1"),
    ))  # fmt: skip
    pd.testing.assert_frame_equal(result, text)
    assert result["estimate"].notna().all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"second": "a"}, r"Both candidates are called 'a' in 80 rows"),
        ({"second": None}, r"'first' or 'second' is missing in 80 rows"),
        ({"probe": [None, *["blind"] * 39, *["truth"] * 40]}, r"'probe' is missing in 1 rows"),
        ({"n_identical": -1}, "'n_identical' is a count"),
        ({"n_identical": "x"}, "'n_identical' is a count"),
        ({"n": 7}, r'counts="n".*counts=False'),
        ({"items": "many"}, "'items'"),
    ],
)
def test_tables_that_cannot_be_are_refused(change, message):
    with pytest.raises(SchemaError, match=message):
        anchoring(calls(40).assign(**change), favoured="a")


def test_counts_with_empty_cells_are_refused():
    joint = tally(calls(), "revision", baseline="blind")
    margins = counts(B_blind=[5, 5, 5], B_truth=[5, 5, 5])
    for table in (joint, margins):
        table.loc[0, "outcome"] = None
        with pytest.raises(SchemaError, match="'outcome' has empty cells"):
            anchoring(table, favoured="a")
    with pytest.raises(SchemaError, match="'n' is a count"):
        anchoring(joint.assign(outcome="a", n="x"), favoured="a")


def test_a_side_that_was_never_shown_is_refused():
    labelled = calls(label_first="llm", label_second="ml")
    with pytest.raises(DesignError, match="favoured='A' names no candidate"):
        anchoring(labelled, favoured="A")
    with pytest.raises(DesignError, match="favoured_label='LLM' marks one candidate of no call"):
        anchoring(labelled, favoured_label="LLM")


# protocols


def test_blind_rows_of_several_candidates_are_not_lost():
    data = calls(60, schemes=SCHEMES)
    data.loc[data["item"] < "i20", "second"] = "c"
    result = protocol_difference(data, favoured="a", n_resamples=50)
    blind = rows(result[result["probe"] == "blind"], "equality_detection", "neutrality", "neutrality_deviation")
    ties = data[data["probe"] == "blind"].assign(tie=lambda t: t["choice"] == "tie").groupby("scheme")["tie"].mean()
    assert blind["estimate"].iloc[0] == pytest.approx(ties["PBP"] - ties["Baseline"])
    assert blind["estimate"].iloc[1:].isna().all()
    assert (blind["flag"].iloc[1:] == "more than two candidates").all()


def test_groups_with_their_own_two_candidates_have_all_blind_rows():
    data = pd.concat([calls(40, schemes=SCHEMES, task="1"), calls(40, schemes=SCHEMES, task="2", second="c")])
    result = protocol_difference(data, favoured="a", by="task", n_resamples=50)
    one = protocol_difference(data[data["task"] == "1"], favoured="a", by="task", n_resamples=50)
    pd.testing.assert_frame_equal(result[result["task"] == "1"].reset_index(drop=True), one)
    assert result["estimate"].notna().sum() == 2 * one["estimate"].notna().sum() > 20


def test_invalid_blind_answers_are_counted_for_each_scheme():
    data = calls(40, schemes=SCHEMES)
    data.loc[(data["scheme"] == "PBP") & (data["probe"] == "blind") & (data["item"] < "i03"), "choice"] = "invalid"
    result = protocol_difference(data, favoured="a", n_resamples=50)
    assert result.loc[result["probe"] == "blind", "flag"].tolist() == ["PBP: 3 invalid calls excluded"] * 3


def test_a_scheme_is_not_compared_with_itself():
    with pytest.raises(DesignError, match="does not differ from itself"):
        protocol_difference(calls(schemes=SCHEMES), favoured="a", two="PBP")


def test_lao_is_flagged_where_a_scheme_hardly_moves():
    table = counts(
        Baseline_blind=[400, 400, 200], Baseline_truth=[700, 200, 100], PBP_blind=[50, 50, 900], PBP_truth=[52, 50, 898]
    )
    result = rows(protocol_difference(table, favoured="a", n_resamples=50), "lao", "lds")
    assert "PBP: shift not significant" in result.loc["lao", "flag"]
    assert "Baseline: movement" not in result.loc["lao", "flag"]
    assert "not told" not in result.loc["lds", "flag"]


def test_a_difference_of_clipped_parts_near_their_border_is_that_of_both_intervals():
    """The ends by hand: each arm at 1 - 0.05/2, clipped at 0."""
    table = counts(
        Baseline_blind=[400, 400, 200], Baseline_truth=[700, 200, 100], PBP_blind=[50, 50, 900], PBP_truth=[52, 50, 898]
    )
    result = rows(protocol_difference(table, favoured="a", n_resamples=20_000), "lds", "shift_favoured")
    row = result.loc["lds"]
    each = anchoring(table, favoured="a", conf_level=0.975, interval="percentile", n_resamples=20_000)
    arms = each[each["term"] == "lds"].set_index("scheme")
    assert row["conf_low"] == pytest.approx(arms.loc["PBP", "conf_low"] - arms.loc["Baseline", "conf_high"], abs=0.002)
    assert row["conf_high"] == pytest.approx(arms.loc["PBP", "conf_high"] - arms.loc["Baseline", "conf_low"], abs=0.002)
    assert row["method"].endswith("Bonferroni of two clipped intervals")
    assert np.isnan(row["std_error"])


def test_a_difference_of_parts_far_from_their_border_is_bootstrapped_as_it_is():
    table = counts(
        Baseline_blind=[400, 400, 200],
        Baseline_truth=[700, 200, 100],
        PBP_blind=[400, 400, 200],
        PBP_truth=[550, 300, 150],
    )
    result = rows(protocol_difference(table, favoured="a"), "lds", "shift_favoured", "total_variation")
    assert not result["method"].str.contains("Bonferroni").any()
    signed = result.loc["shift_favoured", ["conf_low", "conf_high"]].astype(float)
    assert result.loc["lds", ["conf_low", "conf_high"]].astype(float).tolist() == pytest.approx(signed.tolist())


@pytest.mark.slow
def test_the_interval_of_a_clipped_difference_covers_where_a_bootstrap_of_it_does_not():
    """One scheme moves by 0.4, the other not at all: the difference of total variation is 0.4."""
    rng, hits = np.random.default_rng(4), []
    blind, moved = [0.4, 0.4, 0.2], [0.8, 0.1, 0.1]
    for _ in range(40):
        drawn = [rng.multinomial(300, p) for p in (blind, moved, blind, blind)]
        keys = ("Baseline_blind", "Baseline_truth", "PBP_blind", "PBP_truth")
        table = counts(**dict(zip(keys, drawn, strict=True)))
        result = protocol_difference(table, favoured="a", n_resamples=150)
        row = rows(result, "total_variation").iloc[0]
        hits.append(row["conf_low"] <= -0.4 <= row["conf_high"])
    assert np.mean(hits) > 0.93  # 0.78 without


def test_a_part_that_no_resample_changes_is_told():
    still = calls(40, schemes=("PBP",), choice="first")
    shifted = pd.concat([calls(40, schemes=("Baseline",)), still])
    result = rows(protocol_difference(shifted, favoured="a", n_resamples=100), "ts", "shift_tie")
    assert result.loc["ts", "flag"] == RESAMPLES_AGREE


# rationales


def test_rates_of_explanations_to_one_pair_are_clustered():
    twice = pd.concat([calls(40, replicate=r, choice="first") for r in (0, 1)])
    alone = calls(40, choice="first")
    for measure in (
        lambda d: rows(rationale_shift(d, threshold=0.1, n_resamples=20), "drift_rate"),
        lambda d: rows(rationale_alignment(d, favoured_text="so", opposed_text="it", n_resamples=20), "cue_aligned"),
        lambda d: rows(rationale_check(d[d["probe"] == "blind"]), "label_mentioned"),
    ):
        assert "clustered by item" in measure(twice)["method"].iloc[0]
        assert measure(alone)["method"].iloc[0] == "Wilson"
        assert NOT_INDEPENDENT not in measure(twice)["flag"].iloc[0] + measure(alone)["flag"].iloc[0]


def test_explanations_set_aside_are_counted_for_every_term():
    data = calls(40, choice="first")
    data.loc[(data["item"] < "i03") & (data["probe"] == "truth"), "rationale"] = ""
    data.loc[(data["item"] < "i02") & (data["probe"] == "blind"), "rationale"] = None
    data.loc[(data["item"] > "i35") & (data["probe"] == "truth"), "choice"] = "invalid"
    result = rationale_alignment(data, favoured_text="so", opposed_text="it", n_resamples=20)
    found = rows(result, "alignment", "cue_aligned", "cue_aligned_blind")
    assert found["n"].tolist() == [33, 33, 34]
    assert found["flag"].str.extract(r"(\d+) items without a vector")[0].tolist() == ["3", "3", "2"]
    assert found["flag"].str.contains("4 items not valid in both excluded").all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"favoured_text": ""}, "is empty"),
        ({"favoured_text": None}, "is no description"),
        ({"favoured_text": {"truth": 3}}, "is no description"),
        ({"embed": lambda texts: ["x" for _ in texts]}, "no array of numbers"),
        ({"embed": {"minilm": "all-MiniLM"}}, "no function of texts"),
    ],
)
def test_texts_that_cannot_be_embedded_are_refused(options, message):
    with pytest.raises(DesignError, match=message):
        rationale_alignment(calls(), **({"favoured_text": "so", "opposed_text": "it"} | options))


def test_a_frame_without_a_needed_column_is_told_which():
    with pytest.raises(DesignError, match="rationale_shift needs a preferences frame, and there is no choice"):
        rationale_shift(calls().drop(columns="choice"))


# checks of texts


@pytest.mark.parametrize(
    ("text", "winner"),
    [
        ("The verdict is a clear win, and nothing else is said.", ""),
        ("The winner is one of taste.", ""),
        ("The final decision is a close call, but summary 2 is better.", "second"),
        ("Verdict: A because it is short.", "first"),
        ("verdict: a", "first"),
        ("Verdict: a tie", "tie"),
        ("The winner is one.", "first"),
    ],
)
def test_an_article_is_no_name(text, winner):
    assert stated_winner(text) == winner


def test_what_a_check_cannot_read_is_refused():
    with pytest.raises(SchemaError, match="'choice' has 'A'"):
        rationale_check(calls(choice="A"))
    with pytest.raises(DesignError, match=r"\['AI'\], say"):
        rationale_check(calls(), lexicon="AI")
    with pytest.raises(SchemaError, match="'zz' is not a column"):
        rationale_check(calls(), cluster="zz")
    with pytest.raises(SchemaError, match="'n_identical' is a count"):
        rationale_check(calls().assign(n_identical="x"))


def test_calls_without_a_case_are_counted():
    data = calls(40, ("blind",), choice="first", rationale="Summary 1 is better.")
    data.loc[data["item"] < "i04", "rationale"] = "No idea."
    data.loc[data["item"] > "i37", "choice"] = None
    result = rows(rationale_check(data), "statement_conflict", "label_mentioned")
    assert result["n"].tolist() == [34, 40]
    assert result["flag"].tolist() == ["6 calls without a case excluded", ""]
