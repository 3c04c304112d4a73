"""Verdicts that are right or wrong: one frame for accuracy, agreement, models, the account and the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from statsmodels.stats.proportion import proportion_confint
from typer.testing import CliRunner

import judgestats as js
from judgestats.cli import app
from judgestats.errors import DesignError, SchemaError
from judgestats.schema import tally

RNG = np.random.default_rng(0)
TRUE = RNG.random(80) < 0.7


def verdicts(correct: Any = TRUE, name: str = "correct") -> pd.DataFrame:
    """Two judges, two systems, twenty items."""
    table = pd.DataFrame({"judge": np.repeat(list("gh"), 40), "system": np.tile(list("st"), 40)})
    items = [f"i{i:02d}" for i in range(20)]  # ids of one sort: a bootstrap draws in their order
    return table.assign(item=np.tile(np.repeat(items, 2), 2), **{name: correct})


SPELLINGS = {
    "booleans": TRUE,
    "0 and 1": TRUE.astype(int),
    "0.0 and 1.0": TRUE.astype(float),
    "words": np.where(TRUE, "Right", "wrong"),
    "pass and fail": np.where(TRUE, "pass", "fail"),
    "text of a file": np.where(TRUE, "True", "False"),
    "nullable": pd.array(TRUE, dtype="boolean"),
    "objects": TRUE.astype(object),
}


@pytest.mark.slow
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_one_frame_for_all(spelling: str) -> None:
    """As given or as ratings() makes it, without a cast or another name."""
    raw = verdicts(SPELLINGS[spelling])
    frame = js.ratings(raw)
    assert frame["correct"].tolist() == TRUE.tolist()
    assert "score" not in frame
    numbers = verdicts(TRUE.astype(float), "score")
    for data in (raw, frame):
        assert js.accuracy(data).query("term == 'accuracy'")["estimate"].tolist() == [
            TRUE[:40].mean(),
            TRUE[40:].mean(),
        ]
        for measure in (js.kappa, lambda d: js.alpha(d, level="nominal", n_resamples=20), js.icc, js.score_matrix):
            pd.testing.assert_frame_equal(measure(data), measure(numbers))
    model = js.fit("correct ~ system + (1|item)", frame)
    same = js.fit("score ~ system + (1|item)", numbers, family="binomial")
    assert model.tidy()["estimate"].tolist() == pytest.approx(same.tidy()["estimate"].tolist(), abs=1e-6)


@pytest.mark.parametrize("engine", [pl.from_pandas, lambda t: pl.from_pandas(t).lazy()])
def test_other_engines(engine: Any) -> None:
    expected = js.accuracy(verdicts())
    pd.testing.assert_frame_equal(js.accuracy(engine(verdicts())), expected, check_dtype=False)
    gaps = verdicts(pd.array(TRUE, dtype="boolean"))
    gaps.loc[3, "correct"] = pd.NA
    pd.testing.assert_frame_equal(js.accuracy(engine(gaps)), js.accuracy(gaps), check_dtype=False)


def test_wilson_by_another_hand() -> None:
    found = js.accuracy(verdicts(), cluster=False).query("term == 'accuracy' and judge == 'g'").iloc[0]
    low, high = proportion_confint(TRUE[:40].sum(), 40, method="wilson")
    assert (found["conf_low"], found["conf_high"]) == pytest.approx((low, high), abs=1e-12)
    assert "calls not independent" in found["flag"]  # two systems on each item
    clustered = js.accuracy(verdicts()).query("term == 'accuracy' and judge == 'g'").iloc[0]
    assert "clustered by item (G = 20)" in clustered["method"]
    assert "calls not independent" not in clustered["flag"]
    alone = js.accuracy(verdicts(), by="system").query("term == 'accuracy'")
    assert not alone["flag"].str.contains("not independent").any()


def test_missing_verdicts_are_invalid() -> None:
    table = verdicts(np.where(TRUE, "yes", "no").astype(object))
    table.loc[[0, 1, 50], "correct"] = None
    rows = js.accuracy(table).set_index(["judge", "term"])
    assert rows.loc[("g", "accuracy"), "n"] == 38
    assert rows.loc[("g", "invalid"), "estimate"] == 2 / 40
    strict = js.accuracy(table, invalid="wrong").set_index(["judge", "term"])
    assert strict.loc[("g", "accuracy"), "estimate"] == TRUE[2:40].sum() / 40
    found = js.check(js.ratings(table))
    assert found.loc[found["level"] == "set aside", ["what", "n"]].values.tolist() == [["correct is missing", 3]]


def test_against_gold() -> None:
    """With a gold, right is what equals it: verdicts or scores of any scale; rows without one are counted."""
    gold = pd.Series(RNG.random(80) < 0.5, dtype=object)
    gold[5] = None
    table = verdicts().assign(gold=gold)
    row = js.accuracy(js.ratings(table)).query("term == 'accuracy' and judge == 'g'").iloc[0]
    known = gold[:40].notna()
    assert row["estimate"] == (TRUE[:40] == gold[:40])[known].mean()
    assert "1 verdicts without gold excluded" in row["flag"]
    observed = js.kappa(table.dropna(), against="gold").set_index("judge")["observed"]
    assert observed["g"] == pytest.approx(row["estimate"])
    grades = verdicts(RNG.integers(0, 4, 80), "score").assign(gold=RNG.integers(0, 4, 80))
    expected = (grades["score"] == grades["gold"]).groupby(grades["judge"]).mean()
    assert js.accuracy(grades).query("term == 'accuracy'")["estimate"].tolist() == expected.tolist()
    with pytest.raises(SchemaError, match=r"'gold' is no score.*gold=None"):
        js.accuracy(verdicts().assign(gold="A"))
    assert len(js.accuracy(js.ratings(verdicts().assign(gold="A"), gold=None))) == 6


def test_what_is_neither_right_nor_wrong_is_refused() -> None:
    with pytest.raises(DesignError, match=r"'3\.0', neither right nor wrong.*column 'correct'"):
        js.accuracy(verdicts(3.0, "score"))
    for odd in (0.5, "maybe", 7):
        table = verdicts(TRUE.astype(object))
        table.loc[9, "correct"] = odd
        with pytest.raises(SchemaError, match=r"'correct' is neither yes nor no in 1 row.*9"):
            js.ratings(table)
        with pytest.raises(SchemaError, match="'correct' is neither yes nor no in 1 rows"):
            js.accuracy(table)


def test_labels_say_what_is_right() -> None:
    table = verdicts(np.where(TRUE, "C", "I").astype(object), "grade")
    table.loc[0, "grade"] = "N"
    frame = js.ratings(table, correct="grade", labels={"C": "right", "I": "wrong", "N": "invalid"})
    assert frame["correct"].isna().tolist() == [True] + [False] * 79
    assert frame["correct"][1:].tolist() == TRUE[1:].tolist()


def test_a_score_of_booleans_or_words_is_a_verdict() -> None:
    for score in (TRUE, np.where(TRUE, "pass", "fail")):
        frame = js.ratings(verdicts(score, "score"))
        assert frame["correct"].tolist() == TRUE.tolist()
        assert "score" not in frame
    assert "score" in js.ratings(verdicts(TRUE.astype(int), "score"))  # numbers stay scores, and accuracy takes them
    assert len(js.accuracy(verdicts(TRUE.astype(int), "score"))) == 6


def test_a_tally() -> None:
    frame = js.ratings(verdicts())
    counts = tally(frame, "accuracy")
    assert counts.columns.tolist() == ["judge", "item", "outcome", "n"]
    pd.testing.assert_frame_equal(js.accuracy(counts), js.accuracy(frame))


def test_aggregation_and_composites_take_verdicts() -> None:
    panel = js.aggregate(js.ratings(verdicts()), "mean", over="judge")
    both = verdicts().groupby(["system", "item"])["correct"].mean()
    assert panel.set_index(["system", "item"])["score"].to_dict() == both.to_dict()
    parts = pd.concat([verdicts().assign(criterion="a"), verdicts(~TRUE).assign(criterion="b")])
    assert (js.composite(js.ratings(parts))["score"] == 0.5).all()


@pytest.mark.slow
def test_from_a_file_to_the_page(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.csv"
    verdicts(np.where(TRUE, "right", "wrong")).to_csv(path, index=False)
    seen = CliRunner().invoke(app, ["check", str(path)])
    assert seen.exit_code == 0, seen.output
    assert f"right {100 * TRUE.mean():.1f} %" in seen.output
    assert "accuracy" in seen.output.partition("Measures not available")[0]
    page = js.report(js.read(path), tmp_path / "page.html", n_resamples=20).read_text()
    assert f"{100 * TRUE.mean():.1f} % right" in page
    assert "How often is the verdict right?" in page


def test_an_unknown_table_of_verdicts_is_proposed(tmp_path: Path) -> None:
    table = verdicts(np.where(TRUE, "pass", "fail"), "verdict").rename(columns={"judge": "grader", "system": "model"})
    proposal = js.propose(table)
    assert proposal.kind == "ratings"
    assert proposal.mapping == {"judge": "grader", "system": "model", "item": "item", "correct": "verdict"}
    path = tmp_path / "t.csv"
    table.to_csv(path, index=False)
    assert js.read(path, columns=proposal.mapping)["correct"].tolist() == TRUE.tolist()
    assert (
        js.read(path, columns={**proposal.mapping, "correct": None, "score": "verdict"})["correct"].sum() == TRUE.sum()
    )


@pytest.mark.real
def test_rubric_of_yes_and_no(real_data: Path) -> None:
    """Frontier self-bias: one yes or no a criterion, 3,726 of them, read as verdicts."""
    path = real_data / "self_bias_frontier" / "rubric_long.csv.gz"
    columns = {
        "system": "model",
        "item": "task_id",
        "criterion": "rubric_id",
        "correct": "satisfied",
        "domain": "domain",
    }
    frame = js.read(path, columns=columns)
    source = pd.read_csv(path)
    expected = source.groupby("judge")["satisfied"].mean()
    found = js.accuracy(frame).query("term == 'accuracy'").set_index("judge")["estimate"]
    assert found.to_dict() == pytest.approx(expected.to_dict(), abs=1e-12)
