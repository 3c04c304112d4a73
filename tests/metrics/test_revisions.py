"""Revision of verdicts after the true labels are shown, and the difference of two protocols."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

from judgestats.counting.tallies import tally
from judgestats.errors import DesignError
from judgestats.flags import RESAMPLES_AGREE
from judgestats.kernels.proportions import newcombe_paired, wilson
from judgestats.metrics.invariance import anchoring, protocol_difference, revision
from metrics.tables import anchored_calls, but_for_clustering, cell, counts, margins, probed_calls

RANK = {"llm": 1, "tie": 0, "ml": -1}


def calls(n=60, judges=("a", "b"), seed=3, invalid=0.05):
    rng = np.random.default_rng(seed)
    rows = []
    for judge in judges:
        for i in range(n):
            for probe in ("blind", "flip", "reveal"):
                first, second = rng.permutation(["llm", "ml"])
                p = [0.6, 0.2, 0.2 - invalid, invalid]
                want = rng.choice(["llm", "ml", "tie", "invalid"], p=p if probe == "reveal" else [p[1], p[0], *p[2:]])
                choice = want if want in ("tie", "invalid") else "first" if want == first else "second"
                labels = {"llm": "LLM", "ml": "ML"} if probe != "flip" else {"llm": "ML", "ml": "LLM"}
                shown = ("", "") if probe == "blind" else (labels[first], labels[second])
                rows.append((judge, f"i{i}", probe, first, second, choice, *shown))
    return pd.DataFrame(
        rows, columns=["judge", "item", "probe", "first", "second", "choice", "label_first", "label_second"]
    )


def said(frame, judge, probe):
    result = {}
    for r in frame[(frame["judge"] == judge) & (frame["probe"] == probe)].to_dict("records"):
        result[r["item"]] = r[r["choice"]] if r["choice"] in ("first", "second") else r["choice"]
    return result


def terms(result, judge="a"):
    return result[result["judge"] == judge].set_index("term")


def test_shares_against_a_plain_count():
    frame = calls()
    result = revision(frame, favoured="llm")
    for judge in "ab":
        before, after = said(frame, judge, "flip"), said(frame, judge, "reveal")
        both = [(before[i], after[i]) for i in before if "invalid" not in (before[i], after[i])]
        got = terms(result, judge)
        changed = sum(x != y for x, y in both)
        towards = sum(RANK[y] > RANK[x] for x, y in both)
        assert got.loc["revision", "estimate"] == changed / len(both)
        assert (got["n"] == len(both)).all()
        assert got.loc["towards", "estimate"] == towards / len(both)
        assert got.loc["away", "estimate"] == (changed - towards) / len(both)
        assert got.loc["net", "estimate"] == pytest.approx((2 * towards - changed) / len(both))
        low, high = wilson(changed, len(both))
        assert (got.loc["revision", "conf_low"], got.loc["revision", "conf_high"]) == (low, high)
        net = newcombe_paired(0, towards, changed - towards, len(both) - changed)
        assert tuple(got.loc["net", ["conf_low", "conf_high"]]) == net
        assert (got["flag"].str.contains(f"{60 - len(both)} items not valid in both")).all()


def test_towards_and_away_add_up_and_change_places_with_the_side():
    frame = calls()
    one, two = (terms(revision(frame, favoured=s)) for s in ("llm", "ml"))
    assert one.loc["towards", "estimate"] + one.loc["away", "estimate"] == pytest.approx(
        one.loc["revision", "estimate"]
    )
    assert one.loc["towards", "estimate"] == two.loc["away", "estimate"] > one.loc["away", "estimate"]
    assert one.loc["net", "conf_low"] == pytest.approx(-two.loc["net", "conf_high"])
    assert one.loc["net", "conf_low"] > 0  # the simulated judge follows the label
    assert set(one.loc[["towards", "away", "net"], "favoured"]) == {"llm"}


def test_the_label_shown_after_names_the_side():
    frame = calls()
    pd.testing.assert_frame_equal(revision(frame, favoured_label="LLM"), revision(frame, favoured="llm"))
    assert list(revision(frame)["term"].unique()) == ["revision"]


def test_calls_and_their_tally_give_the_same_table():
    frame = calls()
    kept = frame[frame["probe"].isin(["flip", "reveal"])]
    counts = tally(kept, "revision", baseline="flip")
    want = revision(frame, favoured="llm")
    pd.testing.assert_frame_equal(but_for_clustering(revision(counts, favoured="llm")), want)
    pd.testing.assert_frame_equal(want, revision(pl.from_pandas(frame.sample(frac=1, random_state=1)), favoured="llm"))
    one = revision(frame[frame["judge"] == "b"], favoured="llm")
    pd.testing.assert_frame_equal(want[want["judge"] == "b"].reset_index(drop=True), one)


def test_schemes_stand_apart():
    both = pd.concat([calls(seed=1).assign(scheme="S"), calls(seed=2).assign(scheme="P")])
    result = revision(both, favoured="llm")
    for name, seed in (("S", 1), ("P", 2)):
        alone = revision(calls(seed=seed), favoured="llm")
        got = result[result["scheme"] == name].reset_index(drop=True)
        pd.testing.assert_frame_equal(got.drop(columns="scheme"), alone.drop(columns="scheme"))


def test_a_published_share_of_1000_items():
    """Section V.F prints 85 % for one judge: 850 of 1000 without direction."""
    counts = pd.DataFrame(
        {"judge": "g", "probe": "reveal", "baseline": ["ml", "ml"], "outcome": ["llm", "ml"], "n": [850, 150]}
    )
    row = terms(revision(counts), "g").loc["revision"]
    assert row["estimate"] == 0.85
    assert (round(row["conf_low"], 4), round(row["conf_high"], 4)) == (0.8265, 0.8708)


def test_movement_through_tie_has_a_direction():
    moves = [("ml", "tie", "towards"), ("tie", "llm", "towards"), ("llm", "tie", "away"), ("tie", "ml", "away")]
    for before, after, way in moves:
        counts = pd.DataFrame(
            {"judge": "g", "probe": "reveal", "baseline": [before, "tie"], "outcome": [after, "tie"], "n": [3, 1]}
        )
        got = terms(revision(counts, favoured="llm"), "g")["estimate"]
        assert got["revision"] == got[way] == 0.75
        assert got["net"] == (0.75 if way == "towards" else -0.75)


def test_clusters_widen_the_interval_of_repeated_items():
    frame = calls(n=40, judges=("a",), invalid=0)
    again = pd.concat([frame.assign(replicate=k) for k in range(6)])
    naive, clustered = revision(again, favoured="llm", cluster=False), revision(again, favoured="llm")
    alone = revision(frame, favoured="llm")
    assert naive["flag"].str.contains("not independent").all()
    assert not clustered["flag"].str.contains("not independent").any()
    widths = [(r["conf_high"] - r["conf_low"]).to_numpy() for r in (naive, clustered, alone)]
    assert (widths[0] < 0.6 * widths[2]).all()
    np.testing.assert_allclose(widths[1], widths[2], rtol=0.12)
    drawn = revision(frame, favoured="llm", interval="percentile")
    np.testing.assert_allclose(drawn["conf_low"], alone["conf_low"], atol=0.04)


def test_nothing_valid_in_both_is_nan():
    frame = calls(judges=("a",))
    frame.loc[frame["probe"] == "reveal", "choice"] = "invalid"
    result = revision(frame, favoured="llm")
    assert result["estimate"].isna().all()
    assert (result["n"] == 0).all()
    assert result["flag"].str.contains("no data").all()
    same = pd.DataFrame({"judge": "g", "probe": "reveal", "baseline": ["llm"], "outcome": ["llm"], "n": [40]})
    row = terms(revision(same, favoured="llm"), "g")
    assert row.loc["revision", "estimate"] == row.loc["net", "estimate"] == 0
    assert row.loc["net", "conf_low"] < 0 < row.loc["net", "conf_high"]
    assert math.isfinite(row.loc["revision", "conf_high"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"before": "flipped"}, "Did you mean 'flip'"),
        ({"after": "revealed"}, "Did you mean 'reveal'"),
        ({"cluster": "topic"}, "not a column"),
    ],
)
def test_what_cannot_be_asked_is_refused(change, message):
    with pytest.raises(Exception, match=message):
        revision(calls(), **change)


def test_margins_do_not_tell_a_revision():
    margins = tally(calls(), "anchoring")
    with pytest.raises(DesignError, match="revision needs"):
        revision(margins)


SCHEMES = ("Baseline", "PBP")


def rows(result, *terms):
    return result.set_index("term").loc[list(terms)]


# revision


def test_the_clustered_net_revision_takes_the_level_the_seed_and_the_number_of_resamples():
    data = probed_calls(60, ("flip", "reveal"))
    wide, narrow, few = (
        rows(revision(data, favoured="a", cluster="item", **k), "net").iloc[0]
        for k in ({"conf_level": 0.99}, {"conf_level": 0.5}, {"n_resamples": 300})
    )
    assert narrow["conf_high"] - narrow["conf_low"] < (wide["conf_high"] - wide["conf_low"]) / 2
    assert "B = 300" in few["method"]


def test_items_without_a_side_are_counted_in_the_directed_terms_only():
    data = probed_calls(40, ("flip", "reveal"), favoured="a")
    data.loc[data["item"] < "i04", "favoured"] = None
    result = rows(revision(data), "revision", "towards", "away", "net")
    assert result["n"].tolist() == [40, 36, 36, 36]
    assert result["flag"].str.contains("4 items without one favoured side").tolist() == [False, True, True, True]


def test_a_later_probe_that_the_counts_lack_is_refused():
    joint = tally(probed_calls(40, ("flip", "reveal")), "revision", baseline="flip")
    with pytest.raises(DesignError, match="Did you mean 'reveal'"):
        revision(joint, after="revael")


# protocols


def test_blind_rows_of_several_candidates_are_not_lost():
    data = probed_calls(60, schemes=SCHEMES)
    data.loc[data["item"] < "i20", "second"] = "c"
    result = protocol_difference(data, favoured="a", n_resamples=50)
    blind = rows(result[result["probe"] == "blind"], "equality_detection", "neutrality", "neutrality_deviation")
    ties = data[data["probe"] == "blind"].assign(tie=lambda t: t["choice"] == "tie").groupby("scheme")["tie"].mean()
    assert blind["estimate"].iloc[0] == pytest.approx(ties["PBP"] - ties["Baseline"])
    assert blind["estimate"].iloc[1:].isna().all()
    assert (blind["flag"].iloc[1:] == "more than two candidates").all()


def test_groups_with_their_own_two_candidates_have_all_blind_rows():
    data = pd.concat(
        [probed_calls(40, schemes=SCHEMES, task="1"), probed_calls(40, schemes=SCHEMES, task="2", second="c")]
    )
    result = protocol_difference(data, favoured="a", by="task", n_resamples=50)
    one = protocol_difference(data[data["task"] == "1"], favoured="a", by="task", n_resamples=50)
    pd.testing.assert_frame_equal(result[result["task"] == "1"].reset_index(drop=True), one)
    assert result["estimate"].notna().sum() == 2 * one["estimate"].notna().sum() > 20


def test_invalid_blind_answers_are_counted_for_each_scheme():
    data = probed_calls(40, schemes=SCHEMES)
    data.loc[(data["scheme"] == "PBP") & (data["probe"] == "blind") & (data["item"] < "i03"), "choice"] = "invalid"
    result = protocol_difference(data, favoured="a", n_resamples=50)
    assert result.loc[result["probe"] == "blind", "flag"].tolist() == ["PBP: 3 invalid calls excluded"] * 3


def test_a_scheme_is_not_compared_with_itself():
    with pytest.raises(DesignError, match="Give two schemes"):
        protocol_difference(probed_calls(schemes=SCHEMES), favoured="a", reference="PBP")


def test_lao_is_flagged_where_a_scheme_hardly_moves():
    table = counts(
        Baseline_blind=[400, 400, 200], Baseline_truth=[700, 200, 100], PBP_blind=[50, 50, 900], PBP_truth=[52, 50, 898]
    )
    result = rows(protocol_difference(table, favoured="a", n_resamples=50), "lao", "lds")
    assert "PBP: shift not significant" in result.loc["lao", "flag"]
    assert "Baseline: movement" not in result.loc["lao", "flag"]
    assert "not told" not in result.loc["lds", "flag"]


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
    still = probed_calls(40, schemes=("PBP",), choice="first")
    shifted = pd.concat([probed_calls(40, schemes=("Baseline",)), still])
    result = rows(protocol_difference(shifted, favoured="a", n_resamples=100), "ts", "shift_tie")
    assert result.loc["ts", "flag"] == RESAMPLES_AGREE


FAVOURED = {"truth": "llm", "flip": "ml"}


# ---------------------------------------------------------------- two protocols


def protocols(seed=7, n=80):
    one = anchored_calls(n=n, seed=seed, invalid=0.02)
    rng = np.random.default_rng(seed)
    two = one.copy()
    two["choice"] = np.where(rng.random(len(two)) < 0.6, "tie", two["choice"])
    return pd.concat([one.assign(scheme="Baseline"), two.assign(scheme="PBP")], ignore_index=True)


def test_a_protocol_difference_is_the_difference_of_the_two_anchorings():
    frame = protocols()
    result = protocol_difference(frame, favoured=FAVOURED, n_resamples=20)
    each = anchoring(frame, favoured=FAVOURED, n_resamples=5).set_index(["scheme", "judge", "probe", "term"])[
        "estimate"
    ]
    assert set(result["term"]) == set(each.index.get_level_values("term")) - {"tie_blind"}
    for r in result.to_dict("records"):
        key = (r["judge"], r["probe"], r["term"])
        assert r["estimate"] == pytest.approx(each[("PBP", *key)] - each[("Baseline", *key)], abs=1e-12), key
    swapped = protocol_difference(frame, scheme="Baseline", reference="PBP", favoured=FAVOURED, n_resamples=20)
    np.testing.assert_allclose(swapped["estimate"], -result["estimate"])
    counts = protocol_difference(tally(frame, "anchoring"), favoured=FAVOURED, n_resamples=20)
    np.testing.assert_allclose(counts["estimate"], result["estimate"], atol=1e-12)
    assert counts["method"].str.contains("independent samples").all()


def test_items_pair_the_protocols():
    frame = protocols(n=200)
    paired = protocol_difference(frame, favoured=FAVOURED).set_index(["judge", "probe", "term"])
    apart = protocol_difference(tally(frame, "anchoring"), favoured=FAVOURED).set_index(["judge", "probe", "term"])
    for term in ("equality_detection", "tie"):
        probe = "blind" if term == "equality_detection" else "truth"
        assert paired.loc[("a", probe, term), "std_error"] < 0.9 * apart.loc[("a", probe, term), "std_error"]
    table = tally(frame[(frame["judge"] == "a") & (frame["probe"] == "blind")], "anchoring")
    variance = 0.0
    for _, here in table.groupby("scheme"):
        valid = here[here["outcome"] != "invalid"]
        t = valid.loc[valid["outcome"] == "tie", "n"].sum() / valid["n"].sum()
        variance += t * (1 - t) / valid["n"].sum()
    got = apart.loc[("a", "blind", "equality_detection"), "std_error"]
    assert got == pytest.approx(math.sqrt(variance), rel=0.06)


def test_the_joint_tally_gives_protocols_of_independent_items():
    frame = protocols()
    items = protocol_difference(tally(frame, "revision", baseline="blind"), favoured=FAVOURED, n_resamples=50)
    calls_ = protocol_difference(frame, favoured=FAVOURED, n_resamples=50)
    np.testing.assert_allclose(items["estimate"], calls_["estimate"], atol=1e-12)
    assert items["method"].str.contains("independent samples").all()


def test_a_difference_without_spread_or_movement_has_no_interval():
    base = margins([50, 50, 0], [50, 50, 0]).assign(scheme="Baseline")
    other = margins([5, 5, 90], [6, 4, 90]).assign(scheme="PBP")
    result = protocol_difference(pd.concat([base, other]), favoured="llm", n_resamples=200)
    assert math.isnan(cell(result, "lao")["estimate"])
    assert "no shift" in cell(result, "lao")["flag"]
    same = pd.concat([margins([0, 0, 9], [0, 0, 9]).assign(scheme=s) for s in ("PBP", "Baseline")])
    tie = cell(protocol_difference(same, favoured="llm", n_resamples=20), "equality_detection")
    assert tie["estimate"] == 0
    assert math.isnan(tie["conf_low"])
    assert "all resamples equal" in tie["flag"]


def test_an_unknown_scheme_is_refused():
    with pytest.raises(DesignError, match="Did you mean 'PBP'"):
        protocol_difference(protocols(), scheme="PBB", favoured=FAVOURED)
    with pytest.raises(DesignError, match="nothing"):
        protocol_difference(anchored_calls(), favoured=FAVOURED)
