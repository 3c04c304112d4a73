"""Verdicts and labels of a frame, a tally, printed shares, preferences and people."""

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import DesignError
from metrics.labelled import frame, of
from metrics.tables import but_for_clustering
from refusals import refused


def test_printed_shares_are_by_class_and_lie_between_0_and_1():
    printed = pd.DataFrame({"judge": ["g"], "p": 0.4, "q0": 0.7, "q1": 0.9, "n": 1000, "m0": 200, "m1": 200})
    refused(
        DesignError,
        (lambda: js.corrected_rate(printed, sampling="random"), "sampling='by class'"),
        (lambda: js.corrected_rate(printed.assign(q0=70), sampling="by class"), "'q0' is 70"),
        (lambda: js.corrected_difference(printed, baseline="b", sampling="by class"), "printed shares of a system"),
    )
    two = pd.concat([printed.assign(system="a"), printed.assign(system="b", p=0.5)])
    row = of(js.corrected_difference(two, baseline="a", sampling="by class"), "corrected_difference")
    assert row["estimate"] == pytest.approx(0.1 / 0.6)


def test_a_tally_of_the_frame_gives_the_same():
    table = frame(seed=1, labelled=100, by_class=True)
    for sampling in ("random", "by class"):
        one = js.corrected_rate(table, sampling=sampling)
        two = js.corrected_rate(js.tally(table, "corrected_rate"), sampling=sampling)
        pd.testing.assert_frame_equal(one, but_for_clustering(two), check_exact=False, rtol=1e-12)


def test_correct_and_incorrect_are_yes_and_no():
    table = frame(seed=2)
    words = table.assign(correct=table["score"].eq(1), gold=table["gold"].map({1.0: "yes", 0.0: "no"})).drop(
        columns="score"
    )
    one, two = (js.corrected_rate(t, sampling="random") for t in (table, words))
    pd.testing.assert_frame_equal(one, two)


def test_a_person_among_the_judges_gives_the_labels():
    table = frame(seed=2)
    people = table[table["gold"].notna()].assign(judge="Ann", score=lambda t: t["gold"])
    both = pd.concat([table, people], ignore_index=True).drop(columns="gold")
    one, two = js.corrected_rate(table, sampling="random"), js.corrected_rate(both, sampling="random", gold="Ann")
    pd.testing.assert_frame_equal(one, two)


def test_preferences_are_wins_of_a_candidate():
    table = frame(seed=2)
    calls = pd.DataFrame({"judge": "g", "item": table["item"], "first": "x", "second": "y"})
    calls["choice"] = np.where(table["score"] == 1, "first", "second")
    calls["gold"] = table["gold"].map({1.0: "x", 0.0: "y"}).where(table["gold"].notna(), None)
    turned = calls.index % 2 == 0
    calls.loc[turned, ["first", "second"]] = ["y", "x"]
    calls.loc[turned, "choice"] = calls.loc[turned, "choice"].map({"first": "second", "second": "first"})
    one = js.corrected_rate(table, sampling="random")
    two = js.corrected_rate(calls, sampling="random", candidate="x")
    pd.testing.assert_frame_equal(one, two)
    tie = calls.assign(choice=calls["choice"].where(calls.index != 5, "tie"))
    half = of(js.corrected_rate(tie, sampling="random", candidate="x", ties="half"), "apparent_rate")["estimate"]
    none = of(js.corrected_rate(tie, sampling="random", candidate="x"), "apparent_rate")["estimate"]
    assert half - none == pytest.approx(0.5 / 300)
    with pytest.raises(DesignError, match="candidate="):
        js.corrected_rate(calls, sampling="random")


def test_items_of_one_text_are_clustered():
    """Ten questions on a text, alike in truth and in errors: the interval is wider, and covers."""
    rng = np.random.default_rng(0)
    text = np.repeat(np.arange(60), 10)
    truth = (rng.random(60) < 0.4)[text]
    verdict = np.where((rng.random(60) < 0.8)[text], truth, ~truth) * 1.0
    table = pd.DataFrame(
        {"judge": "g", "system": "s", "item": text, "criterion": np.tile([f"c{i}" for i in range(10)], 60)}
    )
    table = table.assign(score=verdict, gold=np.where(text < 30, truth * 1.0, np.nan)).rename(
        columns={"criterion": "rubric"}
    )
    with pytest.raises(DesignError, match="rubric"):
        js.corrected_rate(table, sampling="random")
    table = table.assign(prompt=table["item"], item=table["item"].astype(str) + table["rubric"]).drop(columns="rubric")
    for sampling in ("random", "by class"):
        wide = of(js.corrected_rate(table, sampling=sampling))
        flat = of(js.corrected_rate(table, sampling=sampling, cluster=False))
        assert "clustered by prompt (G = 60)" in wide["method"]
        assert wide["std_error"] > 1.8 * flat["std_error"]
        assert "calls not independent" in flat["flag"]


@pytest.mark.parametrize("sampling", ["random", "by class"])
def test_a_judge_that_never_answers(sampling):
    table = pd.concat([frame(), frame().assign(judge="mute", score=np.nan)])
    found = js.corrected_rate(table, sampling=sampling)
    row = found[found["judge"] == "mute"].iloc[0]
    assert np.isnan(row["estimate"])
    assert row["n"] == 0
    assert row["flag"] == "no data; 300 invalid calls excluded"
    assert found[(found["judge"] == "g") & (found["term"] == "corrected_rate")]["estimate"].notna().all()


def test_items_that_calibrate_are_others_than_those_corrected():
    verdicts = frame(labelled=0)
    labels = frame(labelled=300).head(80)
    found = js.corrected_rate(verdicts[80:], sampling="by class", calibration=labels)
    assert of(found)["n"] == 220
    again = pd.concat([frame().assign(replicate=0), frame().assign(replicate=1, gold=np.nan)])
    refused(
        DesignError,
        (
            lambda: js.corrected_rate(verdicts, sampling="by class", calibration=labels),
            r"80 items are among the labelled .* leave them out of the verdicts",
        ),
        (lambda: js.corrected_rate(again, sampling="random"), "every repeat of it the label"),
    )


def test_labels_are_needed():
    with pytest.raises(DesignError, match="join_labels"):
        js.corrected_rate(frame().drop(columns="gold"), sampling="random")
    row = of(js.corrected_rate(frame(labelled=0), sampling="by class"))
    assert "no labels" in row["flag"]


def test_several_criteria_are_not_mixed():
    table = pd.concat([frame().assign(criterion=c) for c in ("style", "truth")])
    with pytest.raises(DesignError, match="several criteria"):
        js.corrected_rate(table, sampling="random")
    assert len(js.corrected_rate(table, sampling="random", by="criterion").query("term == 'corrected_rate'")) == 2


@pytest.mark.parametrize("kind", ["yes and no", "classes", "preferences"])
def test_verdicts_need_no_labels_where_a_table_of_their_own_has_them(kind):
    table = frame(seed=3, labelled=80)
    options = {"sampling": "random"}
    if kind == "classes":
        words = {1.0: "bad", 0.0: "good"}
        table = table.assign(answer=table["score"].map(words), gold=table["gold"].map(words)).drop(columns="score")
        options["positive"] = "bad"
    if kind == "preferences":
        sides, candidates = {1.0: "first", 0.0: "second"}, {1.0: "x", 0.0: "y"}
        choice, gold = table["score"].map(sides), table["gold"].map(candidates)
        table = table[["judge", "item"]].assign(first="x", second="y", choice=choice, gold=gold)
        options["candidate"] = "x"
    labels, verdicts = table[table["gold"].notna()], table[table["gold"].isna()]
    found = js.corrected_rate(verdicts.drop(columns="gold"), calibration=labels, **options)
    assert found["estimate"].notna().all()
    pd.testing.assert_frame_equal(found, js.corrected_rate(verdicts, calibration=labels, **options))
    with pytest.raises(DesignError, match="needs labels of people beside some of the verdicts"):
        js.corrected_rate(verdicts.drop(columns="gold"), **options)
