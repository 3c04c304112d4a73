"""Wide tables: found, made long, and led to a page by what `check` prints."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from judgestats.cli import app
from judgestats.errors import SchemaError
from judgestats.ingest import read, suggest_mapping
from judgestats.ingest.wide import exploded, lengthened, listed, parse_wide
from judgestats.metrics.agreement import kappa
from judgestats.schema import check
from refusals import refused

Write = Callable[..., Path]
RNG = np.random.default_rng(0)


def followed(path: Path) -> str:
    """Output of the last `check` after all that it says to type, and nothing else, was typed, to the page."""
    arguments, seen = ["check", str(path)], ""
    for _ in range(4):
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0 or arguments[0] == "check", result.output
        if arguments[0] == "report":
            return seen
        seen = result.output
        (following,) = re.findall(r"^Next: judgestats (.*)$", seen, re.MULTILINE)
        arguments = shlex.split(following)
        if arguments[0] == "report":
            arguments += ["--out", str(path.parent / "page.html")]
    raise AssertionError("check goes in circles")


def wide_table(kind: str) -> pd.DataFrame:
    table = pd.DataFrame({"item": [f"q{i}" for i in range(40)], "model": np.tile(["m", "o"], 20)})
    table["item"] = np.repeat([f"q{i}" for i in range(20)], 2)
    right = RNG.random((40, 3)) < 0.7
    values = {
        "booleans": right,
        "0 and 1": right.astype(int),
        "words": np.where(right, "pass", "fail"),
        "grades": RNG.integers(0, 4, (40, 3)),
    }[kind]
    for k, name in enumerate(["gpt_4", "claude", "human"]):
        table[name] = values[:, k]
    return table


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["booleans", "0 and 1", "words", "grades"])
def test_no_judge_is_left_among_the_ids(kind: str, write: Write) -> None:
    table = wide_table(kind)
    proposal = suggest_mapping(table)
    assert proposal.wide == "judge=gpt_4,claude,human"
    assert proposal.complete
    (note,) = [n for n in proposal.notes if "wide" in n]
    assert "'item', 'model' stay" in note
    path = write("t.csv", table.to_csv(index=False))
    seen = followed(path)
    assert "claude, gpt_4, human" in seen
    supported = seen.partition("Measures not available")[0]
    assert "kappa" in supported or "alpha" in supported
    assert ("accuracy" in supported) == (kind != "grades")


def test_a_judge_that_strays_is_a_judge() -> None:
    """One label more in a few cells, or fewer labels, makes no id of a judge."""
    table = wide_table("grades").assign(late=np.where(np.arange(40) == 7, 10, RNG.integers(0, 2, 40)), harsh=0)
    assert suggest_mapping(table).wide == "judge=gpt_4,claude,human,late,harsh"


def test_judge_scale_and_criterion() -> None:
    """Every judge on every scale and criterion: the names of the columns say which, the judge's may have a "_"."""
    names = [f"{j}_{s}_{c}" for j in ("gpt_4", "claude") for s in ("5", "100") for c in ("style", "truth")]
    table = pd.DataFrame({"item": range(30), **{n: RNG.integers(0, int(n.split("_")[-2]) + 1, 30) for n in names}})
    proposal = suggest_mapping(table.astype(str))
    assert proposal.wide.partition("=")[0] == "judge_scale_criterion"
    assert proposal.complete
    frame = read(table, wide=proposal.wide, columns=proposal.mapping)
    assert sorted(frame["judge"].unique()) == ["claude", "gpt_4"]
    assert sorted(frame["criterion"].unique()) == ["style", "truth"]
    assert sorted(frame["scale"].unique()) == [5, 100]
    assert len(frame) == 240
    one = frame[(frame["judge"] == "gpt_4") & (frame["scale"] == 100) & (frame["criterion"] == "truth")]
    assert one["score"].tolist() == table["gpt_4_100_truth"].tolist()


def test_scores_up_to_a_hundred() -> None:
    table = pd.DataFrame({"item": range(40), **{j: RNG.integers(60, 101, 40) for j in ("gpt", "claude", "human")}})
    assert suggest_mapping(table).wide == "judge=gpt,claude,human"


def test_measurements_are_no_judges() -> None:
    table = pd.DataFrame({"item": range(30), "chars_a_x": 5, "chars_a_y": 6, "chars_b_x": 7, "chars_b_y": range(30)})
    assert suggest_mapping(table).wide == ""


def test_missing_cells_stay() -> None:
    table = pd.DataFrame({"id": [1, 2], "a_x": [True, None], "b_x": [False, True]})
    long = lengthened(table, "judge_criterion=a_x,b_x").table
    assert long["correct"].isna().tolist() == [False, True, False, False]
    assert long["judge"].tolist() == ["a", "a", "b", "b"]


@pytest.mark.parametrize(
    ("wide", "message"),
    [
        ("gpt", r"should be NAME=COLUMN"),
        ("judge=nobody", r"'nobody' is not in the table"),
        ("judge_criterion=gpt", r"'gpt' has fewer parts than 'judge_criterion'"),
        ("item=gpt,claude", r"makes a column 'item', and the table has one"),
    ],
)
def test_what_wide_cannot_be(wide: str, message: str) -> None:
    table = pd.DataFrame({"item": [1], "gpt": [1], "claude": [2]})
    with pytest.raises(SchemaError, match=message):
        read(table, wide=wide, columns={"system": "=s"})


def test_columns_may_be_named_by_a_pattern() -> None:
    present = ["id", "gpt_style", "gpt_truth", "odd, name"]
    assert parse_wide("judge=gpt_*", present).columns == ("gpt_style", "gpt_truth")
    wide = parse_wide('judge="odd, name",gpt_style', present)
    assert wide.columns == ("odd, name", "gpt_style")
    assert parse_wide(str(wide), present) == wide


def test_lists_of_numbers_are_told() -> None:
    table = pd.DataFrame({"id": [1, 2], "full_scores": ["[[1, 2], [3, 4]]", "[[5, null], [1, 1]]"]})
    proposal = suggest_mapping(table)
    assert proposal.wide == "judge[system][replicate]=full_scores"
    assert proposal.complete
    assert read(table, wide=proposal.wide, columns=proposal.mapping)["score"].tolist()[:5] == [1, 2, 3, 4, 5]
    proposal = suggest_mapping(table.assign(other=["[1]", "[2]"]))
    assert any("'full_scores', 'other' holds lists of numbers" in n and "[replicate]" in n for n in proposal.notes)


@pytest.mark.parametrize(
    ("wide", "message"),
    [
        ("judge=a_scores,b_scores", r"'a_scores' holds lists \('\[\[1, 2\], \[3\]\]'\)\. Name what the place"),
        ("{judge}_scores[item]", "holds lists within lists, and wide= names fewer"),
        ("{judge}_scores[item][system][replicate]", "holds fewer lists within lists"),
        ("{judge}_scores[id][replicate]", "makes a column 'id', and the table has one"),
        ("judge[system]=note", r"'words' is no list\. Leave \[system\] out"),
        ("{judge}_score", "matches no column"),
        ("{judge}_{judge}", "names 'judge' twice"),
        ("{judge}_scores[system][replicate]=id", "'id' does not match"),
    ],
)
def test_lists_that_are_named_otherwise(wide: str, message: str) -> None:
    table = pd.DataFrame(
        {"id": ["q"], "a_scores": ["[[1, 2], [3]]"], "b_scores": ["[[2, 1], [nan]]"], "note": ["words"]}
    )
    with pytest.raises(SchemaError, match=message):
        read(table, wide=wide, columns={"item": "id"})


def test_lists_in_cells_become_rows(write: Write) -> None:
    """Ragged lists, a missing number, and a cell without a list: each is accounted for."""
    records = [
        {"id": 1, "a_scores": [[1, 2], [3, None]], "b_scores": [[5], [4]], "errors": [[0], [1]], "k": 2},
        {"id": 2, "a_scores": [], "b_scores": [[1], [2]], "errors": [], "k": 2},
    ]
    frame = read(write("t.jsonl", records), wide="{judge}_scores[system][replicate]", columns={"item": "id"})
    cells = {tuple(r[:4]): r[4] for r in frame[["judge", "item", "system", "replicate", "score"]].values.tolist()}
    assert np.isnan(cells.pop(("a", "1", "1", 1)))
    assert cells == {
        ("a", "1", "0", 0): 1, ("a", "1", "0", 1): 2, ("a", "1", "1", 0): 3, ("b", "1", "0", 0): 5, ("b", "1", "1", 0): 4,
        ("b", "2", "0", 0): 1, ("b", "2", "1", 0): 2,
    }  # fmt: skip
    assert "errors" not in frame.columns
    assert frame["k"].unique().tolist() == [2]
    told = check(frame)
    row = told.query("what == 'an empty list'").iloc[0]
    assert (row["n"], row["where"]) == (1, "t.jsonl, line 2, a_scores")
    assert told.query("what == 'score is missing'")["where"].tolist() == ["t.jsonl, line 1"]
    assert told.set_index("what").loc[["rows in", "rows used", "rows excluded"], "n"].tolist() == [9, 7, 2]


@pytest.mark.parametrize(
    ("tops", "wide", "message"),
    [
        ((5, 100), "judge=a_x,b_x", r"not on one scale: 'b_x' goes up to 100, 'a_x' to 5\."),
        ((5, 100), "{criterion}_x", ""),
        ((5, 10), "judge=a_x,b_x", ""),
        ((5, "good"), "judge=a_x,b_x", "not of one kind: 'a_x' holds numbers, 'b_x' holds words"),
    ],
)
def test_columns_of_several_scales(tops: tuple[Any, Any], wide: str, message: str) -> None:
    table = pd.DataFrame({"item": range(9), "a_x": tops[0], "b_x": tops[1], "system": "s"})
    columns = {"judge": "=j"} if wide.startswith("{") else {}
    if message:
        with pytest.raises(SchemaError, match=message):
            read(table, wide=wide, columns=columns)
        if "scale" in message:
            assert len(read(table, wide=wide, columns=columns, scale=(0, 100))) == 18
    else:
        assert len(read(table, wide=wide, columns=columns)) == 18


def test_many_columns_are_proposed_in_few_words() -> None:
    table = pd.DataFrame({"qid": range(40), **{f"a long name of run {i}": RNG.integers(0, 4, 40) for i in range(30)}})
    assert suggest_mapping(table).wide == "judge=*,-qid"
    assert suggest_mapping(table.assign(more="x", other="y", last="z")).wide == "judge=a long name of run *"


def test_a_list_of_labels_becomes_rows(write: Write) -> None:
    """Two annotators' labels of each item, nested in one record; one record has none."""
    records = [
        {"id": i, "labels": [{"annotator": a, "value": {"score": s}} for a, s in (("ann", 3), ("bob", 4))]}
        for i in range(3)
    ]
    path = write("t.jsonl", [*records, {"id": 3, "labels": []}])
    frame = read(path, explode="labels", columns={"judge": "annotator", "item": "id", "score": "value.score"})
    assert frame[["judge", "item", "score"]].values.tolist() == [
        [a, str(i), s] for i in range(3) for a, s in (("ann", 3), ("bob", 4))
    ]
    told = check(frame).query("what == 'an empty list'")
    assert told["where"].tolist() == ["t.jsonl, line 4, labels"]
    flat = [{"id": i, "labels": [{"annotator": a, "score": 3} for a in ("ann", "bob")]} for i in range(3)]
    assert suggest_mapping(write("flat.jsonl", flat)).options == "--explode labels --map judge=annotator,item=id"
    refused(
        SchemaError,
        ("labls", "explode='labls' is not a column"),
        ("id", "row 0 of the data, from 0, holds no list, but '0'"),
        of=lambda explode: read(path, explode=explode),
    )


def test_one_object_per_file_with_lists_inside(write: Write, tmp_path: Path) -> None:
    for task in ("a", "b"):
        inner = [{"by": j, "of": s, "scores": {"style": 3, "truth": 4}} for j in ("g", "h") for s in ("x", "y")]
        write(f"runs/{task}.json", json.dumps({"task": task, "evaluations": inner}))
    frame = read(
        tmp_path / "runs", explode="evaluations", wide="scores.{criterion}",
        columns={"judge": "by", "system": "of", "item": "task"},
    )  # fmt: skip
    assert len(frame) == 16
    assert sorted(frame["criterion"].unique()) == ["style", "truth"]


REAL = {
    "pandalm/verdicts.csv": (4995, "annotator1, annotator2, annotator3, gpt_3_5_turbo,"),
    "llmjudge_trec_dl23/labels_wide.csv.gz": (4423 * 33, "33: NISTRetrieval-instruct0"),
    "llm_rubric/human_judges_real_convs_FIXED_ANON.tsv": (223 * 9, "9: Q0, Q1, Q2"),
    "llm_rubric/human_judges_synth_all_FIXED_ANON.tsv": (743 * 12, "12: DQQ0, DQQ1"),
}


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize("name", REAL)
def test_real_wide_tables_lead_to_a_page(real_data: Path, tmp_path: Path, name: str) -> None:
    """Only what is printed is typed; TREC's page is long, so of it the first 40 pairs and eight runs."""
    source = real_data / name
    path = tmp_path / source.name
    path.write_bytes(source.read_bytes())
    rows, judges = REAL[name]
    proposal = suggest_mapping(path)
    assert len(read(path, wide=proposal.wide, columns=proposal.mapping, labels=proposal.labels or None)) == rows
    if "trec" in name:
        path = tmp_path / "some.csv"
        pd.read_csv(source).iloc[:40, :11].to_csv(path, index=False)
        rows, judges = 40 * 8, "8: NISTRetrieval-instruct0"
    seen = followed(path)
    assert f"{rows:,} rows: ".replace(",", "\u202f") in seen
    assert judges in re.sub(r"\s+", " ", seen)


def on_scales(*columns: str) -> pd.DataFrame:
    """Scores of one quality by columns whose names end in the top of their scale."""
    quality = np.random.default_rng(1).random(30)
    tops = {c: int(re.findall("[0-9]+", c)[-1]) for c in columns}
    return pd.DataFrame(
        {"item": range(30)} | {c: np.round(quality * k).clip(1, k).astype(int) for c, k in tops.items()}
    )


@pytest.mark.parametrize(
    ("columns", "wide", "judges", "scales"),
    [
        (
            ("llama33_score_0_5", "deepseek_score_0_5", "llama33_score_0_100", "deepseek_score_0_100"),
            "{judge}_score_{scale:0_5|0_100}", {"llama33", "deepseek"}, {"0_5", "0_100"},
        ),
        (("GPT-4o_0_5", "GPT-4o_0_10", "GPT-4o_0_100"), "{judge}_{scale:0_5|0_10|0_100}", {"GPT-4o"}, {"0_5", "0_10", "0_100"}),
        (("gpt_1-10", "claude_1-10"), "{judge}_{scale:1-10}", {"gpt", "claude"}, {"1-10"}),
        (("gemini_1_5", "claude_3_5"), "judge=gemini_1_5,claude_3_5", {"gemini_1_5", "claude_3_5"}, None),
    ],
)  # fmt: skip
def test_a_range_in_a_name_is_the_scale(columns: Any, wide: str, judges: set[str], scales: set[str] | None) -> None:
    table = on_scales(*columns)
    proposal = suggest_mapping(table)
    assert proposal.wide == wide
    data = read(table, wide=wide, columns=proposal.mapping)
    assert set(data["judge"]) == judges
    assert scales is None or set(data["scale"]) == scales


def test_columns_on_several_scales_are_not_proposed_as_judges_of_one() -> None:
    proposal = suggest_mapping(on_scales("gpt5", "claude10", "human10"))
    assert proposal.wide == ""
    assert not proposal.complete


def test_what_is_told_beside_an_answer_and_a_side_of_the_order_are_no_judges() -> None:
    table = on_scales("gpt5", "claude5", "Human-Eval_Rating5").assign(**{"Human-Eval_Confidence": [3, 5, 4] * 10})
    assert suggest_mapping(table).wide == "judge=gpt5,claude5,Human-Eval_Rating5"
    answers = np.tile(["A", "B"], 15)
    sides = pd.DataFrame({"item": range(30), "forward": answers, "backward": answers[::-1]})
    assert suggest_mapping(sides).wide == ""
    inside = sides.rename(columns={"forward": "result.q1", "backward": "result.q2"})
    assert suggest_mapping(inside).wide == ""
    assert (
        suggest_mapping(inside.rename(columns=lambda c: c.replace("result.", "judges."))).wide
        == "judge=judges.q1,judges.q2"
    )


def test_lists_in_one_row_are_a_summary() -> None:
    assert suggest_mapping(pd.DataFrame({"run_id": ["a"], "length_bins": ["[50, 100, 250]"]})).wide == ""


@pytest.mark.parametrize("turned", [False, True])
def test_answers_by_judge_and_item_are_a_wide_table(turned: bool, write: Write) -> None:
    answers = {"gpt": {"q1": 1, "q2": 3, "q3": 5}, "claude": {"q1": 2, "q2": 3, "q3": 4}}
    by_item = {q: {judge: scores[q] for judge, scores in answers.items()} for q in answers["gpt"]}
    path = write("t.json", json.dumps(by_item if turned else answers))
    proposal = suggest_mapping(path)
    assert proposal.wide == "judge=gpt,claude"
    data = read(path, wide=proposal.wide, columns=proposal.mapping)
    assert {j: dict(zip(g["item"], g["score"], strict=True)) for j, g in data.groupby("judge")} == answers


def test_letters_and_numbers_are_not_the_answers_of_one_wide_table():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "pick": rng.choice(["A", "B", "C"], 60),
            "assessor": rng.choice(["x", "y"], 60),
            "prompt_no": range(60),
            "pass_no": rng.choice([1, 2, 3], 60),
            "left": rng.choice(["s", "t"], 60),
            "right": rng.choice(["u", "v"], 60),
        }
    )
    assert "pass_no" not in str(suggest_mapping(table)).split("Note: It looks wide")[-1].partition(":")[0]
    assert "wide=" not in str(suggest_mapping(table))


def test_columns_named_by_wide() -> None:
    assert parse_wide("judge_criterion=gpt_*", ["id", "gpt_style", "gpt_truth"]).columns == ("gpt_style", "gpt_truth")
    assert parse_wide("judge=*,-id", ["id", "gpt", "claude"]).columns == ("gpt", "claude")
    wide = parse_wide("{judge}_scores[system][replicate]", ["id", "mini_scores", "full_scores"])
    assert wide.levels == ("system", "replicate")
    assert [wide.parts(c) for c in wide.columns] == [["mini"], ["full"]]


def test_long_tables_of_columns_and_lists() -> None:
    long = lengthened(pd.DataFrame({"id": [1], "gpt_style": [4], "gpt_truth": [5]}), "judge_criterion=gpt_*").table
    assert list(long) == ["id", "judge", "criterion", "score"]
    assert long.astype(str).to_numpy().tolist() == [["1", "gpt", "style", "4"], ["1", "gpt", "truth", "5"]]
    table = pd.DataFrame({"id": [1], "a_scores": ["[[1, 2], [3, 4]]"]})
    long = lengthened(table, "{judge}_scores[system][replicate]").table
    assert list(long) == ["id", "judge", "system", "replicate", "score"]
    assert ["".join(row) for row in long.astype(str).to_numpy()] == ["1a001", "1a012", "1a103", "1a114"]
    table = pd.DataFrame({"item": ["1"], "labels": ['[{"by": "ann", "value": 3}, {"by": "bob", "value": 4}]']})
    long = exploded(table, "labels").table
    assert list(long) == ["item", "by", "value"]
    assert long.astype(str).to_numpy().tolist() == [["1", "ann", "3"], ["1", "bob", "4"]]
    assert listed("[1, nan, 2.5]") == [1, None, 2.5]
    assert listed("[1") is None


def test_wide_columns_of_words_are_classes():
    table = pd.DataFrame({"item": [1, 2, 3], "g": ["safe", "unsafe", "refusal"], "h": ["safe", "safe", "refusal"]})
    long = read(table, wide="judge=g,h")
    assert long.set_index(["judge", "item"])["answer"].to_dict() == {
        ("g", "1"): "safe", ("g", "2"): "unsafe", ("g", "3"): "refusal", ("h", "1"): "safe", ("h", "2"): "safe", ("h", "3"): "refusal",
    }  # fmt: skip
    assert kappa(long)["n"].tolist() == [3]


def words(**columns):
    """Three judges that give classes to forty prompts."""
    rng = np.random.default_rng(0)
    right = rng.choice(["safe", "unsafe", "refusal"], 40, p=[0.6, 0.3, 0.1])
    table = pd.DataFrame({"prompt_id": [f"q{i}" for i in range(40)]})
    for judge in ("gpt-4o", "claude", "llama"):
        table[judge] = np.where(rng.random(40) < 0.8, right, rng.choice(["safe", "unsafe", "refusal"], 40))
    return table.assign(**columns)


def test_columns_of_the_same_words_are_proposed_as_judges_and_not_read_unasked():
    table = words(gold="safe", prompt=[f"A text of prompt {i}" for i in range(40)], language=["en", "de"] * 20)
    found = suggest_mapping(table)
    assert found.arguments == {"wide": "judge=gpt-4o,claude,llama", "map": "item=prompt_id"}
    assert {"answer", "gold"} <= {*found.mapping}
    with pytest.raises(SchemaError, match="wide='judge=gpt-4o,claude,llama'"):
        read(table)
    calls = read(table, wide="judge=gpt-4o,claude,llama", columns={"item": "prompt_id"})
    assert calls.groupby("judge").size().to_dict() == {"claude": 40, "gpt-4o": 40, "llama": 40}
    want = table.set_index("prompt_id")["claude"]
    got = calls[calls["judge"] == "claude"].set_index("item")["answer"].astype(str)
    assert got[want.index].tolist() == want.tolist()


def test_a_judge_with_one_class_or_another_spelling_is_among_them():
    one = suggest_mapping(words(llama="safe"))
    assert one.arguments["wide"] == "judge=gpt-4o,claude,llama"
    spelt = words(claude=words()["claude"].str.capitalize())
    assert suggest_mapping(spelt).arguments == {"wide": "judge=gpt-4o,claude,llama", "map": "item=prompt_id"}
    calls = read(spelt, wide="judge=gpt-4o,claude,llama", columns={"item": "prompt_id"})
    said = "labels that look alike are taken as one class: 'Refusal' and 'refusal'; 'Safe' and 'safe'"
    assert check(calls)["what"].str.startswith(said).any()
    mixed = words(claude=words()["claude"].where(words().index % 2 > 0, words()["claude"].str.capitalize()))
    refused = str(suggest_mapping(mixed))
    assert "classes look alike: 'Refusal' and 'refusal'" in refused
    assert "labels={'Refusal': 'refusal', 'Safe': 'safe', 'Unsafe': 'unsafe'}" in refused


def test_words_without_an_item_say_that_it_lacks():
    found = suggest_mapping(words().drop(columns="prompt_id"))
    assert found.kind == "ratings"
    assert found.missing == ("item",)


@pytest.mark.parametrize(
    "columns",
    [
        {"gpt-4o": range(40), "claude": [f"w{i}" for i in range(40)]},  # numbers, and a word for each row
        {"claude": ["red", "blue"] * 20, "llama": ["high", "low"] * 20, "gpt-4o": ["a b", "c d"] * 20},  # no two alike
    ],
)
def test_words_that_are_not_the_same_are_no_judges(columns):
    assert suggest_mapping(words(**columns)).kind is None
