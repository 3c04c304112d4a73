"""Judges and systems that cannot be separated, and judges with few answers: said first."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from command_line import run
from judgestats.cli import app
from judgestats.reporting.page_data import PageArguments, measure_all
from judgestats.schema import preferences, ratings


def summary(data, **options):
    return measure_all(data, PageArguments(n_resamples=20, **options)).summary


def board(systems_of, items=30):
    """Scores of the systems of each judge on the same items."""
    rng = np.random.default_rng(2)
    rows = [
        (j, s, f"i{i}", float(rng.integers(1, 6))) for j, systems in systems_of.items() for s in systems for i in range(items)
    ]  # fmt: skip
    return ratings(pd.DataFrame(rows, columns=["judge", "system", "item", "score"]))


ALONE = {"a": ["s1"], "b": ["s2"], "c": ["s3"]}
CHAIN = {"a": ["s1", "s2"], "b": ["s2", "s3"], "c": ["s3", "s4"]}


@pytest.mark.usefixtures("_only_the_first_screen")
@pytest.mark.parametrize("by", [(), ("system",)])
def test_a_page_leads_with_it_and_compares_no_such_judges(by):
    made = summary(board(ALONE), by=by)
    assert made.verdict.startswith("Judges and systems cannot be separated: a judged s1; b judged s2; c judged s3")
    assert [len(group.judges) for group in made.groups] == [
        1,
        1,
        1,
    ]  # nothing in common, with a row of each system, too
    assert made.cards[-1].claim == "Judges and systems cannot be separated"
    assert "cannot be separated" not in summary(board(CHAIN)).verdict


def test_check_leads_with_it_and_no_measure_says_that_judges_differ(tmp_path):
    path = tmp_path / "board.csv"
    board(ALONE).to_csv(path, index=False)
    text = " ".join(run.invoke(app, ["check", str(path)]).output.split())
    assert "Judges and systems cannot be separated: a judged s1" in text
    assert text.index("cannot be separated") < text.index("90 rows")
    assert "sd over judges" not in text
    parts = js.variance_components(board(ALONE)).set_index("term")
    assert parts.loc[["judge", "system"], "estimate"].isna().all()
    assert parts.loc["judge", "flag"] == parts.loc["system", "flag"] == "not identifiable"
    spread = js.disagreement(board(ALONE)).set_index("term").loc["sd_of_means"]
    assert np.isnan(spread["estimate"])
    assert spread["flag"] == "judge and system confounded"
    assert set(js.datasheet(board(ALONE))["flag"].str.contains("judge and system confounded")) == {True}
    assert np.isfinite(js.disagreement(board(CHAIN)).set_index("term").loc["sd_of_means", "estimate"])


def few_pairs(absent: bool):
    """One judge of 60 pairs, and one that answered 18 of them, all right; the other rows are absent, or not valid."""
    rows = [
        (j, f"i{i}", "x", "y", "first" if j == "skimmer" or i % 8 else "second", "x")
        for j in ("honest", "skimmer")
        for i in range(60)
    ]
    table = pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice", "gold"])
    rest = (table["judge"] == "skimmer") & (table.groupby("judge").cumcount() >= 18)
    return preferences(table[~rest] if absent else table.assign(choice=table["choice"].mask(rest, "invalid")))


@pytest.mark.usefixtures("_only_the_first_screen")
@pytest.mark.parametrize("absent", [True, False])
def test_a_judge_of_few_pairs_is_said_first_and_is_not_first(absent):
    made = summary(few_pairs(absent))
    assert made.verdict.startswith("Not all was answered by all: 18 of 60 pairs by skimmer.")
    assert [group.judges for group in made.groups] == [("honest",), ("skimmer",)]
    assert [group.about for group in made.groups] == ["honest: 60 pairs", "skimmer: 18 pairs"]
    care = made.cards[-1]
    assert (care.claim, care.detail.split(";")[0]) == (
        "skimmer: few of the pairs answered",
        "skimmer answered 18 of 60",
    )


@pytest.mark.usefixtures("_only_the_first_screen")
def test_things_are_counted_where_there_is_an_answer():
    scores = board({"a": ["s1", "s2"]}, items=6)
    scores.loc[scores["item"].isin(["i0", "i1", "i2", "i3"]), "score"] = np.nan
    made = summary(scores)
    assert "4 scores of 2 systems on 2 items" in made.line
    assert [group.about for group in made.groups] == ["a: 2 items"]
    two = board({"a": ["s1"], "b": ["s1"]}, items=40)
    two.loc[(two["judge"] == "b") & (two.groupby("judge").cumcount() >= 32), "score"] = np.nan
    assert summary(two).groups[0].about == "2 judges, 32 items judged by all of them"


@pytest.mark.usefixtures("_only_the_first_screen")
def test_levels_of_a_task_are_no_part_of_each_other():
    calls = few_pairs(absent=False).query("judge == 'honest'")
    calls = calls.assign(task=np.where(calls["item"].str[1:].astype(int) < 20, "u", "v"))
    assert "Not all" not in summary(calls, by=("task",)).verdict


def test_raters_who_are_all_people_are_not_asked_for_people(tmp_path):
    scores = board({"Ann": ["s"], "Bob": ["s"]}, items=12)
    path = tmp_path / "page.html"
    js.report(scores.assign(rater_type="human"), path)
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", path.read_text(encoding="utf-8")))
    assert "How 2 people answer" in text
    assert "How far people agree" in text
    assert "2 people, 12 items judged by all of them" in text
    assert "every rater is a person" in text
    assert "humans=" not in text
    js.report(scores, path)
    assert "humans=" in path.read_text(encoding="utf-8")


@pytest.mark.usefixtures("_only_the_first_screen")
def test_a_judge_of_fewer_other_pairs_lacks_none():
    """It judged other things, which another caution says; 18 of 60 is of the same ones."""
    calls = few_pairs(absent=True)
    calls["item"] = calls["item"].where(calls["judge"] == "honest", "other " + calls["item"])
    made = summary(calls)
    assert "Not all was answered" not in made.verdict
    assert "skimmer judged other pairs" in made.cards[-1].claim + made.cards[-1].detail
