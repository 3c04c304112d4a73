"""Revision of verdicts after the true labels are shown."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

from judgestats.counting.tallies import tally
from judgestats.errors import DesignError
from judgestats.kernels.proportions import newcombe_paired, wilson
from judgestats.metrics.invariance import revision
from metrics.tables import but_for_clustering, probed_calls, rows, terms
from refusals import refused

RANK = {"llm": 1, "tie": 0, "ml": -1}


def revised_calls(n=60, judges=("a", "b"), seed=3, invalid=0.05):
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


def test_shares_against_a_plain_count():
    frame = revised_calls()
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
    frame = revised_calls()
    one, two = (terms(revision(frame, favoured=s), "a") for s in ("llm", "ml"))
    assert one.loc["towards", "estimate"] + one.loc["away", "estimate"] == pytest.approx(
        one.loc["revision", "estimate"]
    )
    assert one.loc["towards", "estimate"] == two.loc["away", "estimate"] > one.loc["away", "estimate"]
    assert one.loc["net", "conf_low"] == pytest.approx(-two.loc["net", "conf_high"])
    assert one.loc["net", "conf_low"] > 0  # the simulated judge follows the label
    assert set(one.loc[["towards", "away", "net"], "favoured"]) == {"llm"}


def test_the_label_shown_after_names_the_side():
    frame = revised_calls()
    pd.testing.assert_frame_equal(revision(frame, favoured_label="LLM"), revision(frame, favoured="llm"))
    assert list(revision(frame)["term"].unique()) == ["revision"]


def test_calls_and_their_tally_give_the_same_table():
    frame = revised_calls()
    kept = frame[frame["probe"].isin(["flip", "reveal"])]
    counts = tally(kept, "revision", baseline="flip")
    want = revision(frame, favoured="llm")
    pd.testing.assert_frame_equal(but_for_clustering(revision(counts, favoured="llm")), want)
    pd.testing.assert_frame_equal(want, revision(pl.from_pandas(frame.sample(frac=1, random_state=1)), favoured="llm"))
    one = revision(frame[frame["judge"] == "b"], favoured="llm")
    pd.testing.assert_frame_equal(want[want["judge"] == "b"].reset_index(drop=True), one)


def test_schemes_stand_apart():
    both = pd.concat([revised_calls(seed=1).assign(scheme="S"), revised_calls(seed=2).assign(scheme="P")])
    result = revision(both, favoured="llm")
    for name, seed in (("S", 1), ("P", 2)):
        alone = revision(revised_calls(seed=seed), favoured="llm")
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
    frame = revised_calls(n=40, judges=("a",), invalid=0)
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
    frame = revised_calls(judges=("a",))
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
        revision(revised_calls(), **change)


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


def test_counts_that_tell_no_revision_are_refused():
    joint = tally(probed_calls(40, ("flip", "reveal")), "revision", baseline="flip")
    refused(
        DesignError,
        (lambda: revision(tally(revised_calls(), "anchoring")), "revision needs"),
        (lambda: revision(joint, after="revael"), "Did you mean 'reveal'"),
    )
