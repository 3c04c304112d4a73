"""Columns that nobody named make no rows of a page, of a datasheet, or of what ``check`` prints."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from command_line import run
from judgestats.cli import app
from judgestats.reporting.html_pages import as_html
from judgestats.reporting.markdown_pages import as_markdown
from judgestats.reporting.page_data import PageArguments, measure_all


def answers(kind: str, further: str = "wording") -> pd.DataFrame:
    """Three judges on 40 items, each asked under two wordings that a further column names."""
    rng = np.random.default_rng(4)
    rows = pd.MultiIndex.from_product(
        [list("abc"), range(40), ["x", "y"], ["long", "short"]], names=["judge", "item", "system", further]
    ).to_frame(index=False)
    gold = rng.integers(1, 6, 80)[rows["item"] * 2 + (rows["system"] == "y")]
    score = np.clip(gold + rng.integers(-1, 2, len(rows)), 1, 5)
    if kind == "score":
        return js.ratings(rows.assign(score=score, gold=gold))
    if kind == "correct":
        return js.ratings(rows.assign(correct=score == gold, gold=gold > 2))
    shown = rows.rename(columns={"system": "first"}).assign(second=lambda d: d["first"].map({"x": "y", "y": "x"}))
    return js.preferences(shown.assign(choice=np.where(score > 3, "first", "second"), gold="x"))


@pytest.mark.parametrize("kind", ["score", "correct", "pair"])
def test_the_page_says_first_which_column_nobody_named_and_makes_no_rows_of_it(kind):
    page = measure_all(answers(kind), PageArguments(n_resamples=20))
    assert page.summary.verdict.startswith(
        f"A judge answered more than once on one {'pair' if kind == 'pair' else 'thing'}, and the answers differ in "
        "“wording” (2 values: long and short), which nobody named: what would mix it is left out. --by wording has a "
        "row for each value; if it numbers repeats, map it to replicate."
    )
    assert "wording" not in page.estimates.sheet
    assert set(page.estimates.sheet["judge"]) == set("abc")
    assert page.rows.groups == []
    assert sum("wording" in str(why) for why in page.estimates.taken.values() if isinstance(why, str)) >= 2
    for text in (as_html(page), as_markdown(page)):
        assert "No number can be estimated" not in text
        assert "No right answer is known" not in text
    assert [c.term for c in page.summary.columns] == {
        "score": [], "correct": ["accuracy"], "pair": ["accuracy", "position_bias"]
    }[kind]  # fmt: skip


@pytest.mark.parametrize("kind", ["score", "correct", "pair"])
def test_a_datasheet_makes_no_rows_of_it_and_its_first_rows_say_so(kind):
    sheet = js.datasheet(answers(kind), n_resamples=20)
    assert "wording" not in sheet.columns
    said = sheet["flag"].str.contains("calls on one thing differ in wording, not named", regex=False)
    assert said.groupby(sheet["judge"]).sum().to_dict() == {"a": 1, "b": 1, "c": 1}
    assert said[~sheet["judge"].duplicated()].all()
    assert not set(sheet["term"]) & {"mean_score", "run_sd", "consistency"}
    named = js.datasheet(answers(kind), by="wording", n_resamples=20)
    assert not named["flag"].str.contains("not named").any()
    assert set(named["wording"]) >= {"long", "short"}


@pytest.mark.parametrize("kind", ["score", "pair"])
def test_check_says_first_which_column_nobody_named_and_makes_no_rows_of_it(kind, tmp_path):
    answers(kind).to_csv(tmp_path / "calls.csv", index=False)
    said = run.invoke(app, ["check", str(tmp_path / "calls.csv")]).output
    first = next(line for line in said.splitlines() if "wording" in line)
    assert "which nobody named: what would mix it is left out. --by wording has a row for each value" in first
    assert said.index(first) < said.index("rows:") < said.index("Design")
    table = said.partition("Judges (95")[2].partition("Measures available")[0]
    assert "long" not in table
    assert said.splitlines()[-1] == f"Next: judgestats report {tmp_path / 'calls.csv'} --by wording"
    named = run.invoke(app, ["check", str(tmp_path / "calls.csv"), "--by", "wording"]).output
    assert "nobody named" not in named
    assert "long" in named.partition("Judges (95")[2].partition("Measures available")[0]


def test_check_says_which_level_has_no_valid_answer(tmp_path):
    data = answers("correct")
    data.assign(correct=data["correct"].where(data["wording"] == "long")).to_csv(tmp_path / "calls.csv", index=False)
    said = run.invoke(app, ["check", str(tmp_path / "calls.csv")]).output
    assert "wording = short (240 rows) left out: no valid answer" in said
    assert "nobody named" not in said


def test_named_it_makes_a_row_of_each_value_labelled_by_its_column():
    page = measure_all(answers("score"), PageArguments(by="wording", n_resamples=20))
    assert "which nobody named" not in page.summary.verdict
    assert set(page.summary.judges) == {f"{j} · wording = {w}" for j in "abc" for w in ("long", "short")}


def test_a_column_with_the_name_of_a_condition_is_as_mapped():
    page = measure_all(answers("score", "condition"), PageArguments(n_resamples=20))
    assert "which nobody named" not in page.summary.verdict
    assert page.rows.groups == ["condition"]
    assert "a · condition = long" in page.summary.judges


@pytest.mark.parametrize("by", [(), "wording"])
def test_a_level_without_a_valid_answer_goes_with_a_line(by):
    data = answers("correct")
    data["correct"] = data["correct"].where(data["wording"] == "long")
    page = measure_all(data, PageArguments(by=by, n_resamples=20))
    n = int((data["wording"] == "short").sum())
    assert page.summary.line.endswith(f"wording = short ({n} rows) left out: no valid answer")
    assert len(page.summary.judges) == 3
    assert "which nobody named" not in page.summary.verdict
    rest = data[data["wording"] == "long"]
    right = (rest["correct"].astype(float) == rest["gold"].astype(float)).groupby(rest["judge"]).mean()
    cells = next(c.cells for c in page.summary.columns if c.term == "accuracy")
    shown = {j.partition(" · ")[0]: cell["estimate"] for j, cell in cells.items()}
    assert shown == pytest.approx(right.to_dict())


def test_nothing_goes_where_no_answer_is_valid():
    data = answers("score").assign(score=np.nan)
    assert (
        "left out: no valid answer" not in measure_all(data, PageArguments(by="wording", n_resamples=20)).summary.line
    )


def test_judgements_of_trivia_questions_count_each_judge_once(tmp_path: Path):
    """The form of the TriviaQA judgements: one model twice, and answered once, which only a further column tells."""
    rng = np.random.default_rng(2)
    models = ["m1", "m2", "m2"]
    table = pd.DataFrame(
        {
            "model": np.repeat(models, 60),
            "question": np.tile([f"q{i}" for i in range(60)], 3),
            "Human-Eval": rng.random(180) < 0.6,
        }
    ).astype(object)
    for judge, share in (("GPT-4", 0.95), ("JudgeLM", 0.5)):
        table[judge] = np.where(rng.random(180) < share, table["Human-Eval"], ~table["Human-Eval"].astype(bool))
    table.loc[120:, ["Human-Eval", "GPT-4", "JudgeLM"]] = np.nan
    table["Human-Eval_Confidence"] = np.where(np.arange(180) < 120, True, None)
    table.to_csv(tmp_path / "judged.csv", index=False)
    wide = "judge=GPT-4,JudgeLM,Human-Eval"
    data = js.read(tmp_path / "judged.csv", wide=wide, columns={"system": "model", "item": "question"})
    summary = measure_all(data, PageArguments(humans="Human-Eval", n_resamples=20)).summary
    assert summary.title == "Which of 2 judges agrees with people?"
    assert summary.judges == ["GPT-4", "JudgeLM"]
    assert summary.line.endswith("Human-Eval_Confidence = missing (180 rows) left out: no valid answer")
    cells = next(c.cells for c in summary.columns if c.term == "agreement")
    for judge, cell in cells.items():
        assert cell["estimate"] == pytest.approx((table[judge] == table["Human-Eval"])[:120].mean())
