"""Anchoring of verdicts: counts by hand, published tables, intervals, what is excluded, bad input."""

from __future__ import annotations

import json
import math
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, chi2_contingency, f
from statsmodels.stats.contingency_tables import SquareTable

from judgestats.counting.tallies import tally
from judgestats.errors import DesignError, SchemaError
from judgestats.estimate import clustered_difference
from judgestats.flags import NO_DATA, NO_SPREAD, SINGLE_RUN
from judgestats.ingest import read
from judgestats.kernels.proportions import clustered_ratios, clustered_tango, newcombe, newcombe_paired, wilson
from judgestats.metrics.invariance import anchoring, answer_shifts, cue_anchoring, protocol_difference
from judgestats.metrics.invariance.answer_shifts import stuart_maxwell
from metrics.tables import anchored_calls, but_for_clustering, cell, counts, margins, probed_calls, rows
from refusals import refused

FAVOURED = {"truth": "llm", "flip": "ml"}

SHIFTS = ["shift_favoured", "shift_opposed", "shift_tie"]

PARTS = ["lds", "ols", "ts"]


def joint(table):
    """Counts of items from a square table, blind by probe, of llm, ml, tie."""
    names = ["llm", "ml", "tie"]
    rows = [("g", "truth", names[i], names[j], table[i][j]) for i in range(3) for j in range(3)]
    return pd.DataFrame(rows, columns=["judge", "probe", "baseline", "outcome", "n"])


def wide(result):
    return result.pivot(index=["judge", "scheme", "probe"], columns="term", values="estimate")


counts3 = st.lists(st.integers(0, 60), min_size=3, max_size=3).filter(lambda c: sum(c) > 0)


# ---------------------------------------------------------------- arithmetic


@settings(max_examples=15, deadline=None)
@given(counts3, counts3)
def test_shifts_add_up_to_zero_and_their_parts_to_the_total_variation(blind, probe):
    got = wide(anchoring(margins(blind, probe), favoured="llm", n_resamples=5)).loc[("g", "", "truth")]
    p, q = (np.array(c) / sum(c) for c in (blind, probe))
    np.testing.assert_allclose(got[SHIFTS].astype(float), q - p, atol=1e-12)
    np.testing.assert_allclose(got[PARTS].astype(float), np.maximum(q - p, 0), atol=1e-12)
    assert abs(got[SHIFTS].sum()) < 1e-12
    assert got["total_variation"] == pytest.approx(np.abs(q - p).sum() / 2, abs=1e-12)
    assert got["total_variation"] == pytest.approx(np.abs(q - p).max(), abs=1e-12)
    if [x * sum(probe) for x in blind] == [x * sum(blind) for x in probe]:
        assert math.isnan(got["lao"])
    else:
        assert got["lao"] == pytest.approx(max(q[0] - p[0], 0) / (np.abs(q - p).sum() / 2), abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(counts3)
def test_neutrality_deviation_is_the_formula_of_the_paper(blind):
    result = anchoring(margins(blind, [1, 1, 1]), favoured="llm", n_resamples=5)
    one, two, tie = blind
    t = tie / sum(blind)
    paper = abs(2 * one / (one + two) - 1) * (1 - t) if one + two else 0.0
    assert cell(result, "neutrality_deviation")["estimate"] == pytest.approx(paper, abs=1e-12)
    assert cell(result, "neutrality")["estimate"] == pytest.approx((one - two) / sum(blind), abs=1e-12)
    assert cell(result, "equality_detection")["estimate"] == pytest.approx(t)


def test_points_against_a_plain_count_of_the_calls():
    frame = anchored_calls()
    got = wide(anchoring(frame, favoured=FAVOURED, n_resamples=5))
    for judge in "ab":
        share = {}
        for probe in ("blind", "truth", "flip"):
            said = []
            for r in frame[(frame["judge"] == judge) & (frame["probe"] == probe)].to_dict("records"):
                if r["choice"] != "invalid":
                    said.append("tie" if r["choice"] == "tie" else r[r["choice"]])
            share[probe] = {o: said.count(o) / len(said) for o in ("llm", "ml", "tie")}
            nontie = [s for s in said if s != "tie"]
            share[probe]["nontie llm"] = nontie.count("llm") / len(nontie)
        for probe, side, other in (("truth", "llm", "ml"), ("flip", "ml", "llm")):
            row = got.loc[(judge, "", probe)]
            assert row["shift_favoured"] == pytest.approx(share[probe][side] - share["blind"][side])
            assert row["shift_opposed"] == pytest.approx(share[probe][other] - share["blind"][other])
            assert row["tie"] == pytest.approx(share[probe]["tie"])
            assert row["tie_blind"] == pytest.approx(share["blind"]["tie"])
            sign = 1 if side == "llm" else -1
            assert row["shift_nontie"] == pytest.approx(
                sign * (share[probe]["nontie llm"] - share["blind"]["nontie llm"])
            )


def test_abstaining_keeps_lds_small_and_shows_in_the_other_terms():
    result = anchoring(margins([400, 400, 200], [90, 10, 900]), favoured="llm", n_resamples=5)
    assert cell(result, "lds")["estimate"] == 0
    assert cell(result, "lao")["estimate"] == 0
    assert cell(result, "shift_nontie")["estimate"] == pytest.approx(0.4)
    assert cell(result, "tie")["estimate"] == pytest.approx(0.9)
    assert cell(result, "tie_blind")["estimate"] == pytest.approx(0.2)


def test_swapping_the_favoured_side_swaps_lds_and_ols():
    frame = anchored_calls()
    one = wide(anchoring(frame, favoured="llm", n_resamples=5)).loc[("a", "", "truth")]
    two = wide(anchoring(frame, favoured="ml", n_resamples=5)).loc[("a", "", "truth")]
    assert one["shift_favoured"] == two["shift_opposed"] != one["shift_opposed"]
    assert (one["lds"], one["ols"], one["ts"]) == (two["ols"], two["lds"], two["ts"])
    assert one["shift_nontie"] == pytest.approx(-two["shift_nontie"])
    assert one["total_variation"] == two["total_variation"]
    a, b = (anchoring(frame, favoured=s, n_resamples=5).query("term == 'shift_favoured'") for s in (FAVOURED, "llm"))
    assert list(a["favoured"]) == ["ml", "llm"] * 2
    assert list(b["favoured"]) == ["llm", "llm"] * 2


# ---------------------------------------------------------------- inputs


def test_calls_and_their_item_tally_give_the_same_table():
    frame = anchored_calls()
    whole = anchoring(frame, favoured=FAVOURED, n_resamples=50)
    items = anchoring(tally(frame, "revision", baseline="blind"), favoured=FAVOURED, n_resamples=50)
    pd.testing.assert_frame_equal(but_for_clustering(items), whole)


def test_calls_and_their_margins_agree_but_for_the_pairing():
    frame = anchored_calls()
    whole = anchoring(frame, favoured=FAVOURED, n_resamples=50)
    alone = anchoring(tally(frame, "anchoring"), favoured=FAVOURED, n_resamples=50)
    keys = ["judge", "scheme", "probe", "term", "favoured", "n"]
    pd.testing.assert_frame_equal(whole[keys], alone[keys])
    np.testing.assert_allclose(whole["estimate"], alone["estimate"], atol=1e-12)
    same = whole["term"].isin(["equality_detection", "neutrality", "neutrality_deviation", "tie", "tie_blind"])
    pd.testing.assert_frame_equal(but_for_clustering(alone[same]), whole[same])
    moved = whole["term"] == "shift_favoured"
    assert (whole.loc[moved, "std_error"] < alone.loc[moved, "std_error"]).all()  # items keep their answers
    assert alone.loc[moved, "method"].str.contains("two independent multinomials").all()
    assert whole.loc[moved, "method"].str.contains("pair").all()


def test_complete_pairs_have_newcombes_paired_interval():
    frame = anchored_calls(invalid=0)
    result = anchoring(frame, favoured=FAVOURED, n_resamples=5)
    row = cell(result, "shift_favoured", judge="a", probe="truth")
    here = frame[frame["judge"] == "a"].assign(
        said=lambda t: np.where(t["choice"] == "first", t["first"], np.where(t["choice"] == "tie", "tie", t["second"]))
    )
    said = here.pivot(index="item", columns="probe", values="said")
    one, two = said["truth"] == "llm", said["blind"] == "llm"
    a, b, c = (one & two).sum(), (one & ~two).sum(), (~one & two).sum()
    low, high = newcombe_paired(a, b, c, len(said) - a - b - c)
    assert (row["conf_low"], row["conf_high"], row["method"]) == (low, high, "Newcombe, paired")
    assert row["std_error"] == pytest.approx(math.sqrt(b + c - (b - c) ** 2 / 50) / 50)


def test_counts_have_newcombes_independent_interval():
    result = anchoring(margins([97, 63, 840], [680, 105, 220]), favoured="llm", n_resamples=5)
    row = cell(result, "shift_favoured")
    low, high = newcombe(680, 1005, 97, 1000)
    assert (row["conf_low"], row["conf_high"], row["n"]) == (low, high, 1000)
    nontie = cell(result, "shift_nontie")
    assert (nontie["conf_low"], nontie["conf_high"]) == newcombe(680, 785, 97, 160)


def test_partly_paired_intervals_are_those_of_a_bootstrap_of_items():
    frame = anchored_calls(n=400, judges=("a",), invalid=0.2, stick=0.8)
    analytic = anchoring(frame, favoured=FAVOURED, n_resamples=5).set_index(["probe", "term"])
    drawn = anchoring(frame, favoured=FAVOURED, interval="percentile", n_resamples=4000).set_index(["probe", "term"])
    for term in (*SHIFTS, "shift_nontie"):
        one, two = analytic.loc[("truth", term)], drawn.loc[("truth", term)]
        assert "pairs" in one["method"]
        assert one["std_error"] == pytest.approx(two["std_error"], rel=0.05)
        for end in ("conf_low", "conf_high"):
            assert one[end] - one["estimate"] == pytest.approx(two[end] - two["estimate"], rel=0.1)


def test_the_nontie_standard_error_is_that_of_two_ratios_of_the_same_items():
    table = np.array([[30, 4, 10], [25, 20, 2], [6, 15, 40]])
    row = cell(anchoring(joint(table), favoured="llm", n_resamples=5), "shift_nontie")
    items = [(i, j) for i in range(3) for j in range(3) for _ in range(table[i, j])]
    base, probe = np.array(items).T
    p1, p2 = (probe == 0).sum() / (probe < 2).sum(), (base == 0).sum() / (base < 2).sum()
    influence = ((probe == 0) - p1) * (probe < 2) / (probe < 2).sum() - ((base == 0) - p2) * (base < 2) / (
        base < 2
    ).sum()
    assert row["std_error"] == pytest.approx(math.sqrt((influence**2).sum()), rel=1e-9)


def test_the_total_variation_lies_in_three_folded_intervals():
    result = anchoring(margins([97, 63, 840], [680, 105, 215]), favoured="llm", n_resamples=5)
    row = cell(result, "total_variation")
    level = 1 - 0.05 / 3
    ends = [newcombe(k, 1000, b, 1000, level) for k, b in ((680, 97), (105, 63), (215, 840))]
    folded = [(0.0 if lo < 0 < hi else min(abs(lo), abs(hi)), max(abs(lo), abs(hi))) for lo, hi in ends]
    assert row["conf_low"] == pytest.approx(max(f[0] for f in folded))
    assert row["conf_high"] == pytest.approx(max(f[1] for f in folded))


def test_a_judge_without_a_probe_has_no_row_of_it():
    frame = anchored_calls(n=20)
    gap = frame[~((frame["judge"] == "a") & (frame["probe"] == "flip"))]
    for data in (gap, tally(gap, "anchoring")):
        result = anchoring(data, favoured=FAVOURED, n_resamples=5)
        assert set(result.loc[result["judge"] == "a", "probe"]) == {"blind", "truth"}
        assert set(result.loc[result["judge"] == "b", "probe"]) == {"blind", "truth", "flip"}


def test_labels_name_the_side_item_by_item():
    """Candidates that differ from item to item, and a label that does not go with one of them."""
    rng = np.random.default_rng(5)
    frame = anchored_calls(n=80, judges=("a",), invalid=0.05)
    names = {f"i{i}": rng.permutation(["llm", "ml"]) for i in range(80)}
    other = frame.copy()
    for slot in ("first", "second"):
        other[slot] = [
            f"{item}-{int(name == names[item][0])}" for item, name in zip(frame["item"], frame[slot], strict=True)
        ]
    one = anchoring(frame, favoured_label="LLM", n_resamples=20)
    two = anchoring(other, favoured_label="LLM", n_resamples=20)
    moved = ~one["term"].str.startswith("neutrality")
    pd.testing.assert_frame_equal(
        one.loc[moved].drop(columns="favoured"),
        two.loc[~two["term"].str.startswith("neutrality")].drop(columns="favoured"),
    )
    assert set(two.loc[two["probe"] == "flip", "favoured"]) == {"varies"}
    assert cell(two, "neutrality")["flag"] == "more than two candidates"
    pd.testing.assert_frame_equal(one, anchoring(frame, favoured=FAVOURED, n_resamples=20))


def test_a_column_and_a_function_name_the_side_too():
    frame = anchored_calls()
    want = anchoring(frame, favoured=FAVOURED, n_resamples=5)
    pd.testing.assert_frame_equal(want, anchoring(frame, favoured=lambda p: FAVOURED.get(p, ""), n_resamples=5))
    named = frame.assign(favoured=frame["probe"].map(FAVOURED))
    pd.testing.assert_frame_equal(want, anchoring(named, n_resamples=5))
    counts = tally(frame, "anchoring")
    counts["favoured"] = counts["probe"].map(FAVOURED)
    np.testing.assert_allclose(anchoring(counts, n_resamples=5)["estimate"], want["estimate"], atol=1e-12)


def test_an_item_whose_candidates_both_bear_the_label_is_set_aside():
    frame = anchored_calls(n=40, judges=("a",), invalid=0)
    both = (frame["item"] == "i3") & (frame["probe"] == "truth")
    frame.loc[both, ["label_first", "label_second"]] = "LLM"
    row = cell(anchoring(frame, favoured_label="LLM", n_resamples=5), "shift_favoured", probe="truth")
    assert row["n"] == 39
    assert "1 item without one favoured side" in row["flag"]
    without = frame[~((frame["item"] == "i3") & (frame["probe"] != "flip"))]
    assert (
        row["estimate"]
        == cell(anchoring(without, favoured_label="LLM", n_resamples=5), "shift_favoured", probe="truth")["estimate"]
    )


def test_row_order_engine_and_other_judges_do_not_matter():
    frame = anchored_calls()
    want = anchoring(frame, favoured=FAVOURED, n_resamples=50)
    mixed = frame.sample(frac=1, random_state=3)
    pd.testing.assert_frame_equal(want, anchoring(mixed, favoured=FAVOURED, n_resamples=50))
    pd.testing.assert_frame_equal(want, anchoring(pl.from_pandas(mixed), favoured=FAVOURED, n_resamples=50))
    alone = anchoring(frame[frame["judge"] == "b"], favoured=FAVOURED, n_resamples=50)
    pd.testing.assert_frame_equal(want[want["judge"] == "b"].reset_index(drop=True), alone)
    renamed = frame.replace({"judge": {"a": "z", "b": "y"}})
    got = wide(anchoring(renamed, favoured=FAVOURED, n_resamples=50))
    np.testing.assert_array_equal(got.loc["z"].to_numpy(), wide(want).loc["a"].to_numpy())


def test_weird_names_are_names():
    names = {"llm": "Über model, v2|#1", "ml": " "}
    frame = anchored_calls(judges=("jüdge/1",))
    other = frame.replace({"first": names, "second": names}).assign(
        probe=frame["probe"].replace({"truth": "do(C = C*)"})
    )
    one = anchoring(frame, favoured="llm", n_resamples=5)
    two = anchoring(other, favoured=names["llm"], n_resamples=5)
    for term in ("shift_favoured", "lds", "total_variation"):
        assert cell(one, term, probe="truth")["estimate"] == cell(two, term, probe="do(C = C*)")["estimate"]
    assert cell(two, "neutrality")["favoured"] == " "
    assert cell(two, "neutrality")["estimate"] == -cell(one, "neutrality")["estimate"]


def test_schemes_are_compared_with_their_own_blind():
    one, two = anchored_calls(seed=1), anchored_calls(seed=2)
    both = pd.concat([one.assign(scheme="S"), two.assign(scheme="P")])
    result = anchoring(both, favoured=FAVOURED, n_resamples=20)
    for name, frame in (("S", one), ("P", two)):
        alone = anchoring(frame, favoured=FAVOURED, n_resamples=20)
        got = result[result["scheme"] == name].reset_index(drop=True)
        points = ["judge", "probe", "term", "estimate", "n", "p_value"]
        pd.testing.assert_frame_equal(got[points], alone[points])
    assert list(anchoring(one, favoured=FAVOURED, n_resamples=5)["scheme"].unique()) == [""]
    by = anchoring(both, favoured=FAVOURED, by="scheme", n_resamples=20)
    pd.testing.assert_frame_equal(by, result)


# ---------------------------------------------------------------- tests and intervals


def test_stuart_maxwell_of_fleiss_is_14():
    table = np.array([[35.0, 5, 0], [15, 20, 5], [10, 5, 5]])
    statistic, df = stuart_maxwell(table)
    assert (statistic, df) == (pytest.approx(14.0), 2)
    row = cell(anchoring(joint(table), favoured="llm", n_resamples=5), "total_variation")
    assert row["p_value"] == pytest.approx(9.118819656e-04, rel=1e-9)  # R 4.2.2, mantelhaen.test over items
    assert "Stuart-Maxwell, 2 df" in row["method"]


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(1, 30), min_size=9, max_size=9))
def test_stuart_maxwell_against_statsmodels_and_the_closed_form_of_three_classes(cells):
    table = np.array(cells, dtype=float).reshape(3, 3)
    statistic, df = stuart_maxwell(table)
    theirs = SquareTable(table, shift_zeros=False).homogeneity()
    assert (statistic, df) == (pytest.approx(theirs.statistic), theirs.df)
    d = table.sum(axis=1) - table.sum(axis=0)
    n12, n13, n23 = ((table[i, j] + table[j, i]) / 2 for i, j in ((0, 1), (0, 2), (1, 2)))
    by_hand = (n23 * d[0] ** 2 + n13 * d[1] ** 2 + n12 * d[2] ** 2) / (2 * (n12 * n23 + n12 * n13 + n13 * n23))
    assert statistic == pytest.approx(by_hand, rel=1e-9, abs=1e-9)


def test_stuart_maxwell_leaves_out_classes_that_nothing_enters():
    assert stuart_maxwell(np.array([[30.0, 12, 0], [4, 20, 0], [0, 0, 7]])) == (pytest.approx((12 - 4) ** 2 / 16), 1)
    assert stuart_maxwell(np.diag([3.0, 4, 5])) == (0.0, 0)
    row = cell(anchoring(joint([[30, 0, 0], [0, 20, 0], [0, 0, 9]]), favoured="llm", n_resamples=5), "total_variation")
    assert (row["p_value"], row["estimate"]) == (1.0, 0.0)
    assert row["conf_low"] == 0 < row["conf_high"]


def test_counts_have_pearsons_test_and_a_tail_that_is_not_rounded_to_zero():
    result = anchoring(margins([97, 63, 840], [680, 105, 215]), favoured="llm", n_resamples=5)
    row = cell(result, "total_variation")
    assert row["p_value"] == pytest.approx(chi2_contingency([[97, 63, 840], [680, 105, 215]], correction=False).pvalue)
    assert 0 < row["p_value"] < 1e-100
    forced = cell(anchoring(margins([54, 46, 0], [80, 20, 0]), favoured="llm", n_resamples=5), "total_variation")
    square = 200 * (54 * 20 - 46 * 80) ** 2 / (100 * 100 * 134 * 66)
    assert forced["p_value"] == pytest.approx(chi2.sf(square, 1))
    huge = joint([[500, 0, 0], [400, 50, 0], [500, 0, 5]])
    assert 0 < cell(anchoring(huge, favoured="llm", n_resamples=5), "total_variation")["p_value"] < 1e-100


def test_clipped_parts_have_the_signed_interval_clipped():
    result = anchoring(margins([97, 63, 840], [680, 105, 215]), favoured="llm", n_resamples=5)
    signed, part = cell(result, "shift_favoured"), cell(result, "lds")
    assert (part["conf_low"], part["conf_high"]) == (signed["conf_low"], signed["conf_high"])
    tie = cell(result, "ts")
    assert cell(result, "shift_tie")["conf_high"] < 0
    assert math.isnan(tie["conf_low"])
    assert math.isnan(tie["conf_high"])
    assert "no gain" in tie["flag"]
    near = anchoring(margins([50, 40, 10], [52, 36, 12]), favoured="llm", n_resamples=5)
    assert cell(near, "shift_favoured")["conf_low"] < 0 == cell(near, "lds")["conf_low"]
    deviation, lean = cell(near, "neutrality_deviation"), cell(near, "neutrality")
    assert lean["conf_low"] < 0 < lean["conf_high"]
    assert (deviation["conf_low"], deviation["conf_high"]) == (0, max(-lean["conf_low"], lean["conf_high"]))
    below = anchoring(margins([10, 80, 10], [52, 36, 12]), favoured="llm", n_resamples=5)
    deviation, lean = cell(below, "neutrality_deviation"), cell(below, "neutrality")
    assert (deviation["conf_low"], deviation["conf_high"]) == (-lean["conf_high"], -lean["conf_low"])


@pytest.mark.slow
def test_intervals_cover():
    """150 judges whose answers are drawn alike, items paired: shifts, and the total variation conservatively."""
    rng = np.random.default_rng(11)
    p = np.array([[0.25, 0.05, 0.05], [0.10, 0.20, 0.05], [0.10, 0.05, 0.15]])
    tables = rng.multinomial(120, p.ravel(), size=150).reshape(150, 3, 3)
    frame = pd.concat([joint(t).assign(judge=f"j{i}") for i, t in enumerate(tables)])
    result = anchoring(frame, favoured="llm", n_resamples=2)
    shift = p.sum(axis=0) - p.sum(axis=1)
    for term, truth, least, most in (
        ("shift_favoured", shift[0], 0.90, 0.99),
        ("shift_tie", shift[2], 0.90, 0.99),
        ("total_variation", np.abs(shift).max(), 0.95, 1.0),
        ("shift_nontie", (0.45 / 0.75) - (0.35 / 0.70), 0.90, 0.99),
    ):
        here = result[result["term"] == term]
        inside = ((here["conf_low"] <= truth) & (truth <= here["conf_high"])).mean()
        assert least <= inside <= most, (term, inside)


def test_bootstrap_intervals_say_what_was_drawn():
    frame = anchored_calls(n=150, judges=("a",))
    newcombes = cell(anchoring(frame, favoured=FAVOURED, n_resamples=5), "shift_favoured", probe="truth")
    for interval in ("percentile", "bca"):
        row = cell(anchoring(frame, favoured=FAVOURED, interval=interval), "shift_favoured", probe="truth")
        assert "bootstrap of items" in row["method"]
        assert row["conf_low"] == pytest.approx(newcombes["conf_low"], abs=0.03)
        assert row["conf_high"] == pytest.approx(newcombes["conf_high"], abs=0.03)
    counts = tally(frame, "anchoring")
    row = cell(anchoring(counts, favoured=FAVOURED, interval="percentile"), "shift_favoured", probe="truth")
    assert "two independent multinomials" in row["method"]
    row = cell(anchoring(counts, favoured=FAVOURED), "lao", probe="truth")
    assert "two independent multinomials" in row["method"]


def by_item(counts):
    """Counts of two clusters with (blind, probe) favoured and other, as a tally of joint answers of items."""
    rows = [
        {"judge": "g", "probe": "truth", "item": f"c{g}", "baseline": blind, "outcome": probe, "n": float(n)}
        for g, table in enumerate(counts)
        for (blind, probe), n in zip(product(("llm", "ml"), repeat=2), table, strict=True)
    ]
    return pd.DataFrame(rows)


def test_a_shift_by_cluster_is_tangos_where_each_call_has_both_answers():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 6, (40, 4)) + np.array([1, 0, 0, 0])
    row = cell(anchoring(by_item(table), favoured="llm", cluster="item"), "shift_favoured")
    tango = clustered_tango(*(table[:, c].astype(float) for c in (2, 1)), table.sum(axis=1).astype(float))
    assert (row["conf_low"], row["conf_high"]) == pytest.approx((tango.low, tango.high), abs=1e-12)
    assert row["std_error"] == pytest.approx(tango.std_error, abs=1e-12)
    assert row["method"].startswith("Tango, paired, clustered by item (G = 40")


def test_a_shift_between_two_samples_by_cluster_is_students():
    rng = np.random.default_rng(0)
    k, n = rng.integers(0, 5, (40, 2)).astype(float), np.full((40, 2), 5.0)
    sides = [("truth", 0), ("blind", 1)]
    rows = [
        {"judge": "g", "probe": probe, "item": f"c{g}", "outcome": outcome, "n": count}
        for g in range(40)
        for probe, side in sides
        for outcome, count in (("llm", k[g, side]), ("ml", 5 - k[g, side]))
    ]
    row = cell(anchoring(pd.DataFrame(rows), favoured="llm", cluster="item"), "shift_favoured")
    value, error, low, high = clustered_ratios(k, n, np.array([1.0, -1.0]))
    expected = (value, error, low, high)
    assert [row[c] for c in ("estimate", "std_error", "conf_low", "conf_high")] == pytest.approx(expected, abs=1e-12)
    assert row["method"].startswith("t, two shares, clustered by item (G = 40")


def test_a_neutrality_by_cluster_is_tangos_of_one_sample():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 6, (40, 4)) + np.array([1, 0, 0, 0])
    row = cell(anchoring(by_item(table), favoured="llm", cluster="item"), "neutrality")
    blind = np.column_stack([table[:, :2].sum(axis=1), table[:, 2:].sum(axis=1), np.zeros(40)])
    expected = clustered_difference(blind.astype(float), column="item").cells
    for name in ("estimate", "std_error", "conf_low", "conf_high"):
        assert row[name] == pytest.approx(expected[name], abs=1e-12)


def test_clusters_are_drawn_together():
    """Every item ten times: the interval is that of the items, not of the calls."""
    frame = anchored_calls(n=40, judges=("a",), invalid=0)
    again = pd.concat([frame.assign(replicate=k) for k in range(10)])
    alone = anchoring(frame, favoured=FAVOURED, interval="percentile", n_resamples=4000)
    wide_ones = anchoring(again, favoured=FAVOURED, n_resamples=4000)
    naive = anchoring(again, favoured=FAVOURED, cluster=False, n_resamples=5)
    one, ten, bad = (cell(r, "shift_favoured", probe="truth") for r in (alone, wide_ones, naive))
    assert ten["std_error"] == pytest.approx(one["std_error"], rel=0.06)
    assert bad["std_error"] == pytest.approx(one["std_error"] / math.sqrt(10), rel=0.1)
    assert "not independent" in bad["flag"]
    assert "not independent" not in ten["flag"]
    variation = cell(wide_ones, "total_variation", probe="truth")
    plain = cell(anchoring(frame, favoured=FAVOURED, n_resamples=5), "total_variation", probe="truth")
    assert variation["p_value"] == pytest.approx(plain["p_value"], rel=0.5), "copies test no better than one"
    assert "Wald by cluster, F on 2 and 38 df" in variation["method"]
    assert cell(wide_ones, "equality_detection")["method"] == "Wilson, clustered by item (G = 40)"


def test_tallies_of_repeated_items_say_so_too():
    frame = anchored_calls(n=40, judges=("a",), invalid=0)
    again = pd.concat([frame.assign(replicate=k) for k in range(3)])
    for data in (again, tally(again, "revision", baseline="blind"), tally(again, "anchoring")):
        result = anchoring(data, favoured=FAVOURED, cluster=False, n_resamples=5)
        assert result["flag"].str.contains("not independent").all()


def test_groups_may_be_missing_or_categories():
    frame = pd.concat(
        [
            anchored_calls(n=30, judges=("a",)).assign(topic="t"),
            anchored_calls(n=30, judges=("a",), seed=9).assign(topic=None),
        ]
    )
    for data in (frame, tally(frame, "anchoring", "topic"), tally(frame, "revision", "topic", baseline="blind")):
        result = anchoring(data, favoured=FAVOURED, by="topic", n_items=30, n_resamples=5)
        assert result["topic"].isna().sum() == len(result) / 2
        alone = anchoring(frame[frame["topic"] == "t"], favoured=FAVOURED, n_resamples=5)
        got = result[result["topic"] == "t"].reset_index(drop=True)
        np.testing.assert_allclose(got["estimate"], alone["estimate"])
    typed = frame.astype(dict.fromkeys(["judge", "probe", "topic", "first", "second", "choice"], "category"))
    whole = anchoring(frame, favoured=FAVOURED, by="topic", n_resamples=5)
    same = anchoring(typed, favoured=FAVOURED, by="topic", n_resamples=5)
    pd.testing.assert_frame_equal(whole, same, check_dtype=False)


def test_lao_of_hardly_any_movement_is_flagged():
    small = cell(anchoring(margins([34, 29, 937], [39, 36, 925]), favoured="llm"), "lao")
    assert small["estimate"] == pytest.approx(5 / 12)
    assert "shift not significant" in small["flag"]
    assert small["conf_high"] - small["conf_low"] > 0.5
    large = cell(anchoring(margins([97, 63, 840], [680, 105, 215]), favoured="llm", cluster=False), "lao")
    assert large["flag"] == ""
    assert large["estimate"] == pytest.approx(0.583 / 0.625)
    assert large["conf_low"] < large["estimate"] < large["conf_high"]
    sure = cell(anchoring(margins([540, 460, 0], [1000, 0, 0]), favoured="llm"), "lao")
    assert sure["estimate"] == 1
    assert math.isnan(sure["conf_low"])


# ---------------------------------------------------------------- where there is nothing to say


def test_no_movement_has_no_lao():
    result = anchoring(margins([30, 20, 50], [60, 40, 100]), favoured="llm", cluster=False, n_resamples=5)
    row = cell(result, "lao")
    assert math.isnan(row["estimate"])
    assert row["flag"] == "no shift"
    assert cell(result, "lds")["estimate"] == 0
    assert cell(result, "total_variation")["p_value"] == 1
    assert cell(result, "shift_favoured")["conf_low"] < 0 < cell(result, "shift_favoured")["conf_high"]


def test_a_judge_without_blind_answers_is_nan_and_the_others_are_not():
    frame = anchored_calls()
    gap = frame[~((frame["judge"] == "a") & (frame["probe"] == "blind"))]
    for data in (gap, tally(gap, "anchoring")):
        result = anchoring(data, favoured=FAVOURED, n_resamples=5)
        row = cell(result, "lds", judge="a", probe="truth")
        assert math.isnan(row["estimate"])
        assert "no blind answers" in row["flag"]
        assert math.isnan(cell(result, "total_variation", judge="a", probe="truth")["p_value"])
        assert cell(result, "lds", judge="b", probe="truth")["estimate"] >= 0
        assert cell(result, "tie", judge="a", probe="truth")["estimate"] >= 0
        assert not len(result[(result["judge"] == "a") & (result["term"] == "equality_detection")])


def test_blind_alone_has_its_own_terms_and_needs_no_side():
    frame = anchored_calls(probes=("blind",))
    for data in (frame, tally(frame, "anchoring")):
        result = anchoring(data)
        assert list(result["term"].unique()) == ["equality_detection", "neutrality_deviation", "neutrality"]


def test_only_invalid_answers_are_no_answers():
    frame = anchored_calls(judges=("a",)).assign(choice="invalid")
    result = anchoring(frame, favoured=FAVOURED, n_resamples=5)
    assert result["estimate"].isna().all()
    assert (result["n"] == 0).all()
    assert (result["flag"] != "").all()


def test_an_item_in_one_probe_only_counts_there_and_is_told():
    frame = anchored_calls(n=60, judges=("a",), invalid=0)
    gap = frame[~((frame["probe"] == "truth") & frame["item"].isin(["i1", "i2"]))]
    result = anchoring(gap, favoured=FAVOURED, n_resamples=5)
    row = cell(result, "shift_favoured", probe="truth")
    assert "2 of 60 items in one probe only" in row["flag"]
    assert row["method"] == "Newcombe, 58 pairs"
    assert (
        row["estimate"]
        == cell(anchoring(tally(gap, "anchoring"), favoured=FAVOURED, n_resamples=5), "shift_favoured", probe="truth")[
            "estimate"
        ]
    )
    assert "one probe only" not in cell(result, "shift_favoured", probe="flip")["flag"]


def test_items_of_two_samples_are_not_paired():
    frame = anchored_calls(n=60, judges=("a",), invalid=0)
    frame["item"] = frame["item"] + frame["probe"]
    row = cell(anchoring(frame, favoured=FAVOURED, n_resamples=5), "shift_favoured", probe="truth")
    assert row["method"] == "Newcombe, independent"
    alone = anchoring(tally(frame, "anchoring"), favoured=FAVOURED, n_resamples=5)
    assert row["conf_low"] == cell(alone, "shift_favoured", probe="truth")["conf_low"]


def test_forced_choice_is_flagged():
    frame = anchored_calls(judges=("a",)).query("choice != 'tie'").assign(ties_allowed=False)
    result = anchoring(frame, favoured=FAVOURED, n_resamples=5)
    detection = cell(result, "equality_detection")
    assert detection["estimate"] == 0
    assert "forced choice" in detection["flag"]
    assert "forced choice" in cell(result, "ts", probe="truth")["flag"]
    assert "forced choice" not in cell(result, "lds", probe="truth")["flag"]


def test_answers_that_do_not_add_up_are_flagged():
    counts = margins([93, 88, 824], [90, 85, 825])
    result = anchoring(counts, favoured="llm", n_items=1000, n_resamples=5)
    assert (result["flag"].str.contains("blind: 1,005 counted, 1,000 stated")).all()
    named = anchoring(counts.assign(items=1000), favoured="llm", n_resamples=5)
    pd.testing.assert_frame_equal(named, result)
    right = anchoring(counts, favoured="llm", n_resamples=5)
    assert not right["flag"].str.contains("stated").any()
    other = anchoring(margins([93, 88, 819], [90, 85, 830]), favoured="llm", n_items=1000, n_resamples=5)
    told = other["flag"].str.contains("truth: 1,005 counted")
    assert (told == (other["probe"] == "truth")).all()


def test_sensitivity_stands_beside_where_the_right_answer_is_known():
    frame = anchored_calls(judges=("a",)).assign(better="llm")
    result = anchoring(frame, favoured=FAVOURED, n_resamples=5)
    for probe, term in (("truth", "sensitivity"), ("blind", "sensitivity_blind")):
        here = frame[(frame["probe"] == probe) & (frame["choice"] != "invalid")]
        right = sum(r["choice"] in r and r[r["choice"]] == "llm" for r in here.to_dict("records"))
        row = cell(result, term, probe="truth")
        assert row["estimate"] == right / len(here)
        assert row["conf_low"] == wilson(right, len(here))[0]
    gold = anchoring(frame.drop(columns="better").assign(gold="llm"), favoured=FAVOURED, n_resamples=5)
    pd.testing.assert_frame_equal(gold, result)


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"baseline": "Blind"}, "Did you mean 'blind'"),
        ({"favoured": {"truth": "llm"}}, "no candidate for 'flip'"),
        ({"favoured": None}, "favoured_label="),
        ({"interval": "exact"}, "interval="),
        ({"by": "topc"}, "not a column"),
    ],
)
def test_what_cannot_be_asked_is_refused(change, message):
    with pytest.raises((DesignError, SchemaError), match=message):
        anchoring(anchored_calls(), **{"favoured": FAVOURED, **change})


def test_counts_need_a_side_and_two_candidates():
    counts = margins([3, 4, 5], [5, 4, 3])
    refused(
        DesignError,
        (lambda: anchoring(counts), "is not known from counts"),
        (lambda: anchoring(counts, favoured="lm"), r"3 candidates \(llm, lm, ml\)"),
        (lambda: anchoring(joint(np.ones((3, 3))), favoured="lm"), "3 candidates"),
        (lambda: anchoring(anchored_calls().drop(columns="probe"), favoured="llm"), "no column 'probe'"),
        (
            lambda: anchoring(
                anchored_calls().replace({"first": {"ml": "tie"}, "second": {"ml": "tie"}}), favoured="llm"
            ),
            SchemaError,
            "'tie'",
        ),
        (
            lambda: anchoring(anchored_calls().replace({"choice": {"first": "frist"}}), favoured=FAVOURED),
            SchemaError,
            "'frist'",
        ),
        (lambda: anchoring(pd.concat([anchored_calls(), anchored_calls()]), favoured=FAVOURED), "twice"),
    )


# ---------------------------------------------------------------- the joint test by cluster


def test_an_item_a_cluster_is_bhapkars_test():
    """Wald's statistic of singletons is Stuart and Maxwell's over 1 - it / n (Bhapkar 1966), times (n - 1) / n."""
    rng = np.random.default_rng(8)
    joint = np.array([[30.0, 8, 4], [15, 22, 6], [9, 3, 13]])
    n = joint.sum()
    cells = np.repeat(np.arange(9), joint.astype(int).ravel())
    counts = np.zeros((cells.size, 6))
    counts[np.arange(cells.size), cells // 3] = 1
    counts[np.arange(cells.size), 3 + cells % 3] = 1
    order = rng.permutation(cells.size)
    p, words = answer_shifts.clustered_test(counts[order], np.arange(cells.size))
    statistic, df = answer_shifts.stuart_maxwell(joint)
    bhapkar = statistic / (1 - statistic / n) * (n - 1) / n
    assert p == pytest.approx(f.sf(bhapkar * (n - df) / (df * (n - 1)), df, n - df))
    assert words == f"Wald by cluster, F on {df} and {n - df:.0f} df"


def test_the_joint_test_by_cluster_holds_its_level():
    rng = np.random.default_rng(9)
    rejected = 0
    for _ in range(600):
        share = rng.dirichlet([2, 2, 3], 40)
        counts = np.hstack([[rng.multinomial(4, s) for s in share] for _ in range(2)]).astype(float)
        rejected += answer_shifts.clustered_test(counts, np.arange(40))[0] < 0.05
    assert 0.02 < rejected / 600 < 0.085


def test_the_joint_test_of_clusters_that_do_not_move():
    still = np.tile([1.0, 2, 0, 1, 2, 0], (12, 1))
    assert answer_shifts.clustered_test(still, np.arange(12)) == (1.0, "Wald, 0 df")
    assert math.isnan(answer_shifts.clustered_test(np.array([[1.0, 0, 0, 0, 1, 0]]), np.zeros(1, dtype=int))[0])


# anchoring


def test_neutrality_knows_a_candidate_that_is_never_chosen():
    """a and b were shown, then a and c, which nobody chose: there is no one other candidate."""
    data = probed_calls(40)
    data.loc[data["item"] < "i10", ["second", "choice"]] = ["c", "first"]
    result = anchoring(data, favoured="a", n_resamples=20)
    row = rows(result[result["probe"] == "blind"], "neutrality").iloc[0]
    assert np.isnan(row["estimate"])
    assert row["flag"] == "more than two candidates"


def test_candidates_with_numbers_for_names():
    data = probed_calls(40, first=1, second=2)
    result, text = (anchoring(d, favoured=f, n_resamples=20) for d, f in (
        (data, {"truth": 1}), (data.astype({"first": "str", "second": "str"}), "1"),
    ))  # fmt: skip
    pd.testing.assert_frame_equal(result, text)
    assert result["estimate"].notna().all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"second": "a"}, r"Both candidates have the id 'a' in 80 rows"),
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
        anchoring(probed_calls(40).assign(**change), favoured="a")


def test_counts_with_empty_cells_are_refused():
    joint = tally(probed_calls(), "revision", baseline="blind")
    margins = counts(B_blind=[5, 5, 5], B_truth=[5, 5, 5])
    for table in (joint, margins):
        table.loc[0, "outcome"] = None
        with pytest.raises(SchemaError, match="'outcome' has empty cells"):
            anchoring(table, favoured="a")
    with pytest.raises(SchemaError, match="'n' is a count"):
        anchoring(joint.assign(outcome="a", n="x"), favoured="a")


def test_a_side_that_was_never_shown_is_refused():
    labelled = probed_calls(label_first="llm", label_second="ml")
    refused(
        DesignError,
        ({"favoured": "A"}, "favoured='A' names no candidate"),
        ({"favoured_label": "LLM"}, "favoured_label='LLM' marks one candidate of no call"),
        of=lambda options: anchoring(labelled, **options),
    )


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


# ---------------------------------------------------------------- equal candidates, repeated runs, rankings


def repeated(runs: int = 4, items: int = 60, seed: int = 0) -> pd.DataFrame:
    """Calls blind and under flip, each asked several times; the candidates of a third of the items are equal."""
    rng = np.random.default_rng(seed)
    share = {"blind": [0.3, 0.3, 0.4], "flip": [0.5, 0.2, 0.3]}
    rows = [
        ("g", f"i{i}", p, r, "x", "y", rng.choice(["first", "second", "tie"], p=share[p]), i % 3 == 0)
        for r in range(runs)
        for i in range(items)
        for p in share
    ]
    return pd.DataFrame(rows, columns=["judge", "item", "probe", "replicate", "first", "second", "choice", "same"])


def test_equality_detection_is_over_the_items_with_equal_candidates():
    calls = repeated(runs=1)
    blind = calls[calls["probe"] == "blind"]
    among = blind[blind["same"]]
    found = anchoring(calls, favoured="x", equal="same").set_index("term")
    row = found.loc["equality_detection"]
    assert row["estimate"] == pytest.approx((among["choice"] == "tie").mean())
    assert row["n"] == len(among) == 20
    low, high = map(float, wilson((among["choice"] == "tie").sum(), 20))
    assert (row["conf_low"], row["conf_high"]) == pytest.approx((low, high))
    everywhere = anchoring(calls, favoured="x").set_index("term")
    assert everywhere.loc["equality_detection", "n"] == 60
    # the other terms are over all items
    rest = found.index != "equality_detection"
    pd.testing.assert_frame_equal(found[rest], everywhere[rest])


def test_a_heuristic_of_the_users_own_says_which_candidates_are_equal():
    calls = repeated(runs=1)
    texts = calls.assign(text_first="A tea.", text_second=np.where(calls["same"], "a  TEA.", "A coffee."))
    alike = anchoring(texts, favoured="x", equal=lambda a, b: a.lower().split() == b.lower().split())
    pd.testing.assert_frame_equal(alike, anchoring(calls, favoured="x", equal="same"))


def test_no_equal_candidates_is_no_data():
    calls = repeated(runs=1).assign(same="no")
    row = anchoring(calls, favoured="x", equal="same").set_index("term").loc["equality_detection"]
    assert math.isnan(row["estimate"])
    assert (row["n"], row["flag"]) == (0, NO_DATA)
    part = pd.concat([calls, repeated(runs=1, seed=1).assign(judge="h", same="yes")])
    found = anchoring(part, favoured="x", equal="same").query("term == 'equality_detection'").set_index("judge")
    assert found["n"].to_dict() == {"g": 0, "h": 60}


def test_bad_equality():
    calls = repeated(runs=1)
    counts = pd.DataFrame({"judge": "g", "probe": ["blind", "flip"], "outcome": "x", "n": 5})
    refused(
        DesignError,
        (
            lambda: anchoring(calls, favoured="x", equal=lambda a, b: a == b),
            r"equal= needs the column 'text_first'",
        ),
        (lambda: anchoring(calls, favoured="x", equal="alike"), r"equal= needs the column 'alike'"),
        (
            lambda: anchoring(calls.assign(same="perhaps"), favoured="x", equal="same"),
            SchemaError,
            "neither true nor false",
        ),
        (lambda: anchoring(counts, favoured="x", equal="same"), "equal= needs calls"),
    )


def test_the_standard_deviation_over_runs():
    calls = repeated()
    found = anchoring(calls, favoured="x", seeds="replicate", n_resamples=100)
    each = anchoring(calls, favoured="x", by="replicate", n_resamples=100)
    for term in ("equality_detection", "shift_favoured", "shift_tie", "neutrality"):
        values = each.loc[each["term"] == term, "estimate"]
        row = found[found["term"] == f"{term}_sd"].iloc[0]
        assert row["estimate"] == pytest.approx(np.std(values, ddof=1))
        low, high = chi2.ppf([0.975, 0.025], 3)
        assert row["conf_low"] == pytest.approx(row["estimate"] * math.sqrt(3 / low))
        assert row["conf_high"] == pytest.approx(row["estimate"] * math.sqrt(3 / high))
        assert (row["n"], row["method"]) == (4, "χ² of 4 runs")
    assert not found["term"].isin(["lds_sd", "lao_sd", "total_variation_sd"]).any()
    pooled = found[~found["term"].str.endswith("_sd")].reset_index(drop=True)
    pd.testing.assert_frame_equal(pooled, anchoring(calls, favoured="x", n_resamples=100), check_like=True)


def test_one_run_has_no_standard_deviation():
    calls = repeated(runs=1)
    found = anchoring(calls, favoured="x", seeds="replicate").set_index("term")
    assert math.isnan(found.loc["shift_tie_sd", "estimate"])
    assert found.loc["shift_tie_sd", "flag"] == SINGLE_RUN
    same = pd.concat([calls, calls.assign(replicate=1)])
    row = anchoring(same, favoured="x", seeds="replicate", n_resamples=50).set_index("term").loc["shift_tie_sd"]
    assert (row["estimate"], row["flag"]) == (0, NO_SPREAD)
    assert math.isnan(row["conf_low"])
    with pytest.raises(SchemaError, match="'run' is not a column"):
        anchoring(calls, favoured="x", seeds="run")


def test_the_interval_of_the_standard_deviation_covers():
    """Runs that draw every answer anew: a shift is the difference of two binomial shares."""
    rng = np.random.default_rng(5)
    drawn = (rng.binomial(60, 0.5, (1500, 6)) - rng.binomial(60, 0.3, (1500, 6))) / 60
    truth = math.sqrt((0.5 * 0.5 + 0.3 * 0.7) / 60)
    rows = [cue_anchoring._spread(pd.Series(values), 0.95) for values in drawn]
    inside = np.mean([r["conf_low"] <= truth <= r["conf_high"] for r in rows])
    assert 0.935 <= inside <= 0.965


def test_a_ranking_of_several_candidates_is_its_pairs(tmp_path):
    """The shift is the change of the mean rank of the favoured candidate, over the number of the others."""
    rng = np.random.default_rng(3)
    names, records = ["a", "b", "c", "d"], []
    for i in range(40):
        for probe, pull in (("blind", 0.0), ("truth", 1.5)):
            favoured = names[i % 4]
            worth = {n: rng.normal() + pull * (n == favoured) for n in names}
            order = sorted(names, key=worth.__getitem__, reverse=True)
            records.append({"judge": "g", "item": f"i{i}", "probe": probe, "favoured": favoured, "order": order})
    file = tmp_path / "rankings.jsonl"
    file.write_text("\n".join(map(json.dumps, records)))
    calls = read(file, columns={"ranking": "order"})
    row = anchoring(calls, n_resamples=200).set_index("term").loc["shift_favoured"]
    ranks = pd.DataFrame(records).assign(rank=[r["order"].index(r["favoured"]) for r in records])
    mean = ranks.groupby("probe")["rank"].mean()
    assert row["estimate"] == pytest.approx((mean["blind"] - mean["truth"]) / 3)
    assert row["n"] == 120  # the pairs with the favoured candidate
    assert "item" in row["method"]  # the three pairs of a ranking are one cluster


def test_neutrality_is_that_of_the_true_sides_where_ids_are_unique_to_items():
    """As in real tables: the candidates of an item have names of their own."""
    n = 120
    items = [f"i{k}" for k in range(n)]
    pairs = pd.DataFrame(
        {"judge": "g", "item": items, "first": [f"llm-{i}" for i in items], "second": [f"old-{i}" for i in items]}
    )
    pairs.loc[::2, ["first", "second"]] = pairs.loc[::2, ["second", "first"]].to_numpy()
    llm = np.where(pairs["first"].str.startswith("llm"), "first", "second")
    other = np.where(llm == "first", "second", "first")
    third = np.arange(n) % 3
    blind = pairs.assign(
        probe="blind", favoured=None, choice=np.where(third == 0, "tie", np.where(np.arange(n) % 4 == 1, other, llm))
    )
    side = pairs["first"].where(llm == "first", pairs["second"])
    truth = pairs.assign(probe="truth", favoured=side, choice=llm)
    flip = pairs.assign(probe="flip", favoured=pairs["first"].where(llm != "first", pairs["second"]), choice=other)
    found = anchoring(pd.concat([flip, blind, truth])).set_index(["probe", "term"]).loc["blind"]
    by_hand = np.mean(blind["choice"] == llm) - np.mean(blind["choice"] == other)
    assert found.loc["neutrality", "estimate"] == pytest.approx(by_hand)
    assert found.loc["neutrality_deviation", "estimate"] == pytest.approx(abs(by_hand))
    assert found.loc["neutrality", "conf_low"] < by_hand < found.loc["neutrality", "conf_high"]
    assert found.loc["neutrality", "favoured"] == "favoured"
    shared = pd.concat([flip, blind, truth])
    for column in ("first", "second", "favoured"):
        shared[column] = shared[column].str.split("-").str[0]
    same = anchoring(shared).set_index(["probe", "term"]).loc["blind"]
    assert same.loc["neutrality", "estimate"] == pytest.approx(by_hand)
    lacking = anchoring(
        pd.concat([flip, blind, truth.iloc[3:]]).query("probe != 'flip' or item not in ['i0', 'i1', 'i2']")
    )
    assert np.isnan(lacking.set_index(["probe", "term"]).loc[("blind", "neutrality"), "estimate"])
