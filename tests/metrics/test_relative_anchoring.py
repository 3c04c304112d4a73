"""Is one judging protocol less anchored than another?"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from judgestats.counting.tallies import tally
from judgestats.errors import DesignError
from judgestats.flags import RESAMPLES_AGREE
from judgestats.metrics.invariance import anchoring, protocol_difference
from metrics.tables import anchored_calls, cell, counts, margins, probed_calls, rows
from refusals import refused

SCHEMES = ("Baseline", "PBP")


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
    refused(
        DesignError,
        (lambda: protocol_difference(probed_calls(schemes=SCHEMES), favoured="a", reference="PBP"), "Give two schemes"),
        (lambda: protocol_difference(protocols(), scheme="PBB", favoured=FAVOURED), "Did you mean 'PBP'"),
        (lambda: protocol_difference(anchored_calls(), favoured=FAVOURED), "nothing"),
    )
