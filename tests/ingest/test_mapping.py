"""Mappings: what they do, what is proposed for tables of unknown shape, and ids joined from several columns."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pytest

from judgestats import bias_score
from judgestats.errors import SchemaError
from judgestats.ingest import (
    detect_format,
    formats,
    parse_identity,
    parse_labels,
    parse_mapping,
    parse_options,
    parse_planted,
    parse_scale,
    preview,
    read,
    suggest_mapping,
)
from judgestats.ingest.guesses import plain, sides
from judgestats.ingest.mapping import canonical, source_columns
from judgestats.ingest.options import joined
from refusals import refused

Write = Callable[..., Path]


WHAT_IS_PROPOSED: dict[str, tuple[str, dict[str, str], dict[str, str], int]] = {
    "position_bias_mtbench/verdicts.csv.gz": (
        "preferences",
        {"judge": "judge", "item": "question_id", "first": "model_first", "second": "model_second",
         "choice": "verdict_letter", "replicate": "repetition", "task": "task"},
        {"A": "first", "B": "second", "C": "tie"}, 5184,
    ),
    "self_bias_frontier/pairwise.csv.gz": (
        "preferences",
        {"judge": "judge", "item": "task_id", "first": "model_first", "second": "model_second", "choice": "verdict",
         "topic": "domain"},
        {"1": "first", "-1": "second", "0": "tie"}, 1716,
    ),
    "self_bias_frontier/rubric_long.csv.gz": (
        "ratings",
        {"judge": "judge", "system": "model", "item": "task_id", "criterion": "rubric_id", "score": "satisfied",
         "domain": "domain"},
        {}, 3726,
    ),
    "mt_bench/human_judgments.csv.gz": (
        "preferences",
        {"judge": "judge", "item": "question_id", "first": "model_a", "second": "model_b", "choice": "winner",
         "order_known": "=false"},
        {"model_a": "first", "model_b": "second"}, 3355,
    ),
    "hanna/ratings_long.csv.gz": (
        "ratings",
        {"judge": "rater", "system": "writer", "item": "prompt_index", "criterion": "criterion", "score": "score",
         "condition": "eval_prompt"},
        {}, 145_728,
    ),
    "llmbar/verdicts.csv.gz": (
        "preferences",
        {"judge": "evaluator", "item": "subset+item", "first": "=1", "second": "=2", "winner": "winner", "swapped": "swapped",
         "gold": "label", "task": "subset", "strategy": "strategy"},
        {}, 61_926,
    ),
}  # fmt: skip


@pytest.mark.real
@pytest.mark.parametrize("name", WHAT_IS_PROPOSED)
def test_real_tables(real_data: Path, name: str) -> None:
    kind, mapping, labels, rows = WHAT_IS_PROPOSED[name]
    proposal = detect_format(real_data / name).proposal
    assert proposal is not None
    assert (proposal.kind, proposal.mapping, proposal.labels) == (kind, mapping, labels)
    assert proposal.complete
    assert set(proposal.reasons) == set(mapping)
    words = shlex.split(proposal.options)
    told = dict(zip(words[::2], words[1::2], strict=True))
    calls = read(
        real_data / name, columns=parse_mapping(told["--map"]), labels=parse_labels(told.get("--labels", "")) or None
    )
    assert len(calls) == rows
    again = read(real_data / name, columns=proposal.mapping, labels=proposal.labels or None)
    pd.testing.assert_frame_equal(calls[sorted(calls)], again[sorted(again)])


@pytest.mark.real
def test_real_position_bias_agrees_with_its_winner(real_data: Path) -> None:
    proposal = detect_format(real_data / "position_bias_mtbench" / "verdicts.csv.gz").proposal
    assert proposal is not None
    calls = read(
        real_data / "position_bias_mtbench" / "verdicts.csv.gz", columns=proposal.mapping, labels=proposal.labels
    )
    assert (calls["choice"] == "invalid").sum() == 28
    won = calls["first"].where(calls["choice"] == "first", calls["second"]).where(calls["choice"] != "tie", "tie")
    assert (won.where(calls["choice"] != "invalid", "-") == calls["winner"].fillna("-")).all()


@pytest.mark.real
def test_real_alpaca_table_is_proposed_as_one_without_an_order(real_data: Path) -> None:
    proposal = detect_format(real_data / "alpaca_eval" / "preferences.csv.gz").proposal
    assert proposal is not None
    assert proposal.mapping["graded"] == "preference"
    assert proposal.mapping["order_known"] == "=false"
    assert proposal.labels == {"1": "first", "2": "second", "0": "tie"}
    assert proposal.complete


@pytest.mark.real
def test_real_wide_tables_are_told_to_be_wide(real_data: Path) -> None:
    proposal = detect_format(real_data / "pandalm" / "verdicts.csv").proposal
    assert proposal is not None
    assert proposal.complete
    assert proposal.wide == "judge=annotator1,annotator2,annotator3,gpt_3_5_turbo,pandalm_7b"
    assert any("annotator1, annotator2, annotator3, gpt_3_5_turbo, pandalm_7b" in note for note in proposal.notes)
    table = pd.read_csv(real_data / "pandalm" / "verdicts.csv", dtype=str)
    rest = ["idx", "model_1", "model_2", "cmp_key", "chars_1", "chars_2", "app"]
    long = table.melt(id_vars=rest, var_name="judge", value_name="verdict")
    again = suggest_mapping(long)
    assert again.complete
    assert again.labels == {"1": "first", "2": "second", "0": "tie", "Tie": "tie", "garbage": "invalid"}
    calls = read(long, columns=again.mapping, labels=again.labels)
    assert len(calls) == 999 * 5
    at_once = read(
        real_data / "pandalm" / "verdicts.csv", wide=proposal.wide, columns=proposal.mapping, labels=proposal.labels
    )
    assert at_once["choice"].tolist() == calls["choice"].tolist()
    assert (calls["choice"] == "invalid").sum() == 25


@pytest.mark.parametrize("trap", ["repetition", "has_reference", "turn", "swapped", "n_tokens", "chars"])
def test_a_trap_is_no_verdict_and_no_score(trap: str) -> None:
    table = pd.DataFrame({"judge": ["g"] * 4, "item": list("abcd"), "first": "x", "second": "y", trap: [0, 1, 1, 0]})
    proposal = suggest_mapping(table)
    assert proposal.missing == ("choice",)
    assert not {"score", "choice", "winner", "graded"} & set(proposal.mapping)
    alone = suggest_mapping(pd.DataFrame({"judge": ["g"] * 4, "model": "m", "item": list("abcd"), trap: [0, 1, 1, 0]}))
    assert "score" not in alone.mapping
    assert not alone.complete


def test_contradicting_columns_are_reported() -> None:
    table = pd.DataFrame(
        {"judge": "g", "item": list("abcd"), "model_first": "x", "model_second": "y", "verdict": list("ABAB"),
         "winner": ["x", "y", "y", "y"]}
    )  # fmt: skip
    proposal = suggest_mapping(table)
    assert proposal.mapping["winner"] == "winner"
    assert "'verdict' and 'winner' contradict each other in 1 rows." in proposal.notes


def test_a_column_that_bears_our_name_is_set_aside() -> None:
    table = pd.DataFrame({"evaluator": ["g"], "item": ["1"], "first": ["x"], "second": ["y"], "choice": ["first"],
                          "status": ["success"], "delta": ["big"]})  # fmt: skip
    proposal = suggest_mapping(table)
    assert proposal.mapping["status"] is None
    assert proposal.mapping["delta"] is None
    assert "delta=,status=" in proposal.options or "status=,delta=" in proposal.options
    assert read(table, columns=proposal.mapping)["status_source"].tolist() == ["success"]


def test_preview() -> None:
    table = pd.DataFrame({"q": list("abcde"), "one": "x", "two": "y", "v": [1, -1, 0, 1, 1], "more": 1})
    columns = {"judge": "=g", "item": "q", "first": "one", "second": "two", "choice": "v"}
    shown = preview(table, columns, {"1": "first", "-1": "second", "0": "tie"})
    assert shown.columns.tolist() == ["judge", "item", "first", "second", "choice"]
    assert shown["choice"].tolist() == ["first", "second", "tie"]


def test_propose_and_preview_take_a_path(write: Write) -> None:
    path = write("t.csv", "evaluator,item,first,second,choice\n007,1,x,y,first\n")
    proposal = suggest_mapping(path)
    assert proposal.options == "--map judge=evaluator"
    assert preview(path, proposal.mapping, proposal.labels)["judge"].tolist() == ["007"]


def test_nothing_is_read_before_the_mapping_is_given(write: Write) -> None:
    path = write("t.csv", "evaluator,item,first,second,choice\ng,1,x,y,first\n")
    with pytest.raises(SchemaError, match="--map judge=evaluator"):
        read(path)
    assert len(read(path, columns={"judge": "evaluator"})) == 1


@pytest.mark.parametrize(
    ("values", "choice", "strength"),
    [([1, 4, 7, 2.5], ["first", "tie", "second", "first"], [0, 0.5, 1, 0.25])],
)
def test_graded(values: list[float], choice: list[str], strength: list[float]) -> None:
    table = pd.DataFrame({"j": "g", "q": range(4), "a": "x", "b": "y", "v": values})
    columns = {"judge": "j", "item": "q", "first": "a", "second": "b", "graded": "v"}
    calls = read(table, columns=columns, labels={"1": "first", "7": "second"})
    assert calls["choice"].tolist() == choice
    assert calls["strength"].tolist() == strength
    refused(
        SchemaError,
        ({"labels": {"1": "first", "5": "second"}}, r"values outside 1 .first. to 5"),
        ({}, "needs labels that name the two ends"),
        of=lambda arguments: read(table, columns=columns, **arguments),
    )


@pytest.mark.parametrize("winner", ["x", "y", "tie"])
@pytest.mark.parametrize("swapped", [0, 1, "true", "no", True])
def test_swapped_is_applied_once(winner: str, swapped: Any) -> None:
    table = pd.DataFrame({"judge": ["g"], "item": ["1"], "one": ["x"], "two": ["y"], "w": [winner], "s": [swapped]})
    calls = read(table, columns={"first": "one", "second": "two", "winner": "w", "swapped": "s"})
    other_way = swapped in (1, "true", True)
    shown = ("y", "x") if other_way else ("x", "y")
    assert (calls["first"][0], calls["second"][0]) == shown
    assert calls["choice"][0] == (winner if winner == "tie" else ("first", "second")[shown.index(winner)])


def both_orders(shorter_wins: bool = True) -> pd.DataFrame:
    """A judge that always picks the shorter (else the longer) answer, each pair in both orders, by output."""
    n = 20
    one, two = ["x"] * n, ["y"] * n
    table = pd.DataFrame(
        {"item": range(n), "model_1": one, "model_2": two, "chars_1": range(10, 10 + n), "chars_2": 19}
    )
    table = table[table["chars_1"] != 19]
    shorter = (table["chars_1"] < table["chars_2"]) == shorter_wins
    table["won"] = shorter.map({True: "x", False: "y"})
    table["number"] = shorter.map({True: "1", False: "2"})
    table["strength"] = shorter.map({True: 0.1, False: 0.9})
    return pd.concat([table.assign(swap=0), table.assign(swap=1)], ignore_index=True)


SIDES = {"judge": "=g", "first": "model_1", "second": "model_2", "swapped": "swap"}


@pytest.mark.parametrize("lazy", [False, True])
def test_swapped_exchanges_the_attributes_too(write: Write, lazy: bool) -> None:
    """Read from a file: the lengths are numbers, and a judge that picks the shorter answer is seen to."""
    table = both_orders().drop(columns=["number", "strength"]).assign(tone_first="calm", tone_second="loud")
    columns = {**SIDES, "winner": "won", "length_first": "chars_1", "length_second": "chars_2"}
    calls = read(write("t.csv", table.to_csv(index=False)), columns=columns, lazy=lazy)
    calls = nw.from_native(calls).lazy().collect("pandas").to_native()
    own = calls["first"].map({"x": "calm", "y": "loud"})
    assert (calls["tone_first"] == own).all()
    assert not {"model_1", "model_2", "chars_1", "chars_2", "swap"} & set(calls.columns)
    shorter = calls["length_first"].astype(int) < calls["length_second"].astype(int)
    assert ((calls["choice"].astype(str) == "first") == shorter).all()
    if not lazy:
        bias = bias_score(calls, attribute="length").set_index("term")["estimate"]
        assert bias["bias"] == -1.0


def test_labels_may_name_the_winner_by_its_column() -> None:
    table = both_orders()
    labels = {"1": "first", "2": "second"}
    named = read(table.drop(columns="number"), columns={**SIDES, "winner": "won"})
    numbered = read(table.drop(columns="won"), columns={**SIDES, "winner": "number"}, labels=labels)
    pd.testing.assert_frame_equal(named, numbered)
    proposal = suggest_mapping(
        table.drop(columns=["won", "strength"]).rename(columns={"number": "verdict"}).assign(judge="g")
    )
    assert (proposal.mapping["winner"], proposal.labels) == ("verdict", labels)
    straight = table[table["swap"] == 0].drop(columns=["swap", "won"])
    unswapped = read(
        straight, columns={**{k: v for k, v in SIDES.items() if k != "swapped"}, "winner": "number"}, labels=labels
    )
    assert unswapped["choice"].tolist() == named.loc[straight.index, "choice"].tolist()


def test_strength_goes_with_a_winner_and_stays_with_a_choice() -> None:
    """Strength is a position of the answer: it turns once where the answer does, and stays where that stays."""
    table = both_orders().drop(columns="number")
    calls = read(table, columns={**SIDES, "winner": "won"})
    assert ((calls["strength"] < 0.5) == (calls["choice"] == "first")).all()
    shown = table.assign(choice=table["strength"].map({0.1: "first", 0.9: "second"})).drop(columns="won")
    assert read(shown, columns=SIDES)["strength"].tolist() == table["strength"].tolist()


def test_half_an_attribute_cannot_be_swapped() -> None:
    table = both_orders().assign(tone_first="calm")
    with pytest.raises(SchemaError, match=r"no 'tone_second' to exchange it with.*tone_first=None"):
        read(table, columns={**SIDES, "winner": "won"})
    assert "tone_first_source" in read(table, columns={**SIDES, "winner": "won", "tone_first": None})


def test_swapped_says_how_the_answer_is_taken() -> None:
    table = both_orders()[["item", "model_1", "model_2", "swap", "number"]].assign(judge="g")
    by_position = suggest_mapping(
        table.assign(verdict=table["number"].map({"1": "A", "2": "B"})).drop(columns="number")
    )
    assert any("by position as shown" in note and "winner=" in note for note in by_position.notes)
    by_candidate = suggest_mapping(table.rename(columns={"number": "verdict"}))
    assert any("item frame" in note for note in by_candidate.notes)


@pytest.mark.real
def test_length_bias_of_gpt_4_on_swapped_pairs(real_data: Path, tmp_path: Path) -> None:
    """LLMBar, GPT-4 on MT-Bench's pairs: what both orders are for is what a mapping must not undo."""
    calls = pd.read_csv(real_data / "llmbar" / "verdicts.csv.gz", dtype=str).drop(columns="completion_tail")
    items = pd.read_csv(real_data / "llmbar" / "items.csv", dtype=str).drop(columns="label")
    table = calls[calls["evaluator"] == "GPT-4"].merge(items, on=["subset", "item"])
    table = table[table["subset"] == "Processed/MT-Bench"]
    table.to_csv(tmp_path / "t.csv", index=False)
    columns = {"judge": "evaluator", "first": "=1", "second": "=2", "winner": "winner", "swapped": "swapped",
               "length_first": "chars_output_1", "length_second": "chars_output_2"}  # fmt: skip
    bias = bias_score(read(tmp_path / "t.csv", columns=columns), attribute="length").set_index("term")["estimate"][
        "bias"
    ]
    won = table["winner"].map({"1": 1.0, "2": -1.0})
    longer = np.sign(table["chars_output_1"].astype(int) - table["chars_output_2"].astype(int))
    assert bias == pytest.approx((won * longer)[won.notna() & (longer != 0)].mean(), abs=1e-12)
    assert bias == pytest.approx(0.3949, abs=5e-5)  # 0.0410 where the lengths stay behind


def test_constants_have_a_type() -> None:
    table = pd.DataFrame({"item": ["1"], "first": ["x"], "second": ["y"], "choice": ["tie"], "judge": ["old"]})
    calls = read(table, columns={"judge": "=new", "order_known": "=false", "temperature": "=0.7"})
    assert calls["judge"].tolist() == ["new"]
    assert calls["judge_source"].tolist() == ["old"]
    assert calls["temperature"].tolist() == [0.7]
    assert calls["order_known"].tolist() == [False]
    with pytest.raises(SchemaError, match="order_known='=perhaps' should be =true or =false"):
        read(table, columns={"order_known": "=perhaps"})


def test_the_frame_that_a_mapping_aims_at() -> None:
    table = pd.DataFrame({"g": ["g"], "m": ["m"], "q": ["1"], "s": [3], "t": ["law"]})
    columns = {"judge": "g", "system": "m", "item": "q", "score": "s"}
    assert "system" in read(table, columns=columns)
    refused(
        SchemaError,
        ({"columns": columns, "labels": {"A": "first"}}, r"labels= of ratings say which .*; got .first."),
        ({"columns": {"judge": "g", "item": "q"}, "frame": "preferences"}, "lacks first, second, choice"),
        of=lambda arguments: read(table, **arguments),
    )


def test_command_line_texts() -> None:
    assert parse_mapping('judge=evaluator, "item=a,b",first==x,task=') == {
        "judge": "evaluator", "item": "a,b", "first": "=x", "task": None,
    }  # fmt: skip
    assert parse_labels("A>B=first,A=B=tie") == {"A>B": "first", "A=B": "tie"}
    assert parse_mapping("") == {}
    assert parse_mapping("n=,delta=None") == {"n": None, "delta": None}
    assert parse_identity("Expert 1=g") == {"Expert 1": "g"}
    assert parse_scale("1, 5") == (1.0, 5.0)
    refused(
        SchemaError,
        *(
            (partial(parse_scale, wrong), "--scale .* is not LOW,HIGH")
            for wrong in ("1", "5,1", "a,b", "1,2,3", "nan,1")
        ),
        (lambda: parse_identity("x"), r"--identity 'x' has no '='\. Write SYSTEM=JUDGE"),
        (lambda: parse_identity("x="), r"--identity 'x=' names no judge"),
        (lambda: parse_identity("x=g,x=h"), r"--identity gives 'x' twice: x=g and x=h"),
        (lambda: parse_mapping("item=a,item=b"), r"--map gives 'item' twice"),
        (lambda: parse_labels("A=first,A=second"), r"--labels gives 'A' twice"),
        (lambda: parse_mapping("judge"), "has no '='"),
        (lambda: parse_labels("A"), "has no '='"),
    )


def test_registry_lists_facts() -> None:
    table = formats().set_index("name")
    assert table.loc["alpaca_eval", "order_known"] == "no"
    assert table.loc["llmbar", "verdicts_in"] == "item frame"
    assert table.loc["arena_hard", "verdicts_in"] == "position frame"
    assert "equal_scores" in table.loc["llmbar", "options"]
    assert table.index.is_unique


TABLE = "judge,subset,item,first,second,choice\ng,a,1.50,x,y,first\ng,b,1.50,x,y,tie\n"


@pytest.mark.parametrize("lazy", [False, True])
def test_columns_are_joined(write: Write, lazy: bool) -> None:
    calls = nw.from_native(read(write("t.csv", TABLE), columns={"item": "subset+item", "task": "subset"}, lazy=lazy))
    table = calls.lazy().collect("pandas").to_native().sort_values("item")
    assert table["item"].tolist() == ["a / 1.50", "b / 1.50"]  # the parts stay text
    assert table["task"].tolist() == ["a", "b"]


def test_a_join_takes_path_columns_and_spaces(write: Write, tmp_path: Path) -> None:
    for run in ("one", "two"):
        write(f"runs/{run}/t.csv", "judge,item,first,second,choice\ng,1,x,y,first\n")
    calls = read(tmp_path / "runs", columns={"item": "path_1 + item"})
    assert calls["item"].tolist() == ["one / 1", "two / 1"]


def test_a_column_of_that_name_wins(write: Write) -> None:
    path = write("t.csv", TABLE.replace("judge,", "a+b,"))
    assert read(path, columns={"judge": "a+b"})["judge"].tolist() == ["g", "g"]


def restarting(**more: list[str]) -> pd.DataFrame:
    return pd.DataFrame(
        {"evaluator": "g", "subset": [*"aabb"], "item": [*"1212"], "model_first": "x", "model_second": "y",
         "verdict": [*"ABAB"], **more}
    )  # fmt: skip


def test_items_numbered_anew_are_joined_with_their_subset() -> None:
    proposal = suggest_mapping(restarting(question=[*"pqrs"]))
    assert proposal.mapping["item"] == "subset+item"
    assert proposal.mapping["task"] == "subset"
    (note,) = [n for n in proposal.notes if "numbered separately" in n]
    assert "('question')" in note
    assert "4 items, not 2" in note
    assert read(restarting(), columns=proposal.mapping, labels=proposal.labels)["item"].nunique() == 4


def test_items_that_come_back_with_the_same_contents_are_left_alone() -> None:
    assert suggest_mapping(restarting(question=[*"pqpq"])).mapping["item"] == "item"
    assert suggest_mapping(restarting(subset_name=["A", "A", "B", "B"])).mapping["item"] == "item"


@pytest.mark.real
def test_real_llmbar_has_885_items(real_data: Path) -> None:
    path = real_data / "llmbar" / "verdicts.csv.gz"
    proposal = suggest_mapping(path)
    assert any("885 items, not 200" in note for note in proposal.notes)
    assert read(path, columns=proposal.mapping)["item"].nunique() == 885


def split_items(kind: str) -> pd.DataFrame:
    """Two judges on six tasks at three lengths: a task alone is no item."""
    pairs = {"system": ["a", "b"]} if kind == "ratings" else {"model_a": ["a"], "model_b": ["b"]}
    rows = pd.MultiIndex.from_product(
        [["g", "h"], range(6), ["long", "short", "tiny"], *pairs.values()],
        names=["grader", "task_id", "length_bin", *pairs],
    ).to_frame(index=False)
    if kind == "ratings":
        return rows.assign(score=np.arange(len(rows)) % 5)
    return rows.assign(winner=np.resize(["A", "B", "tie"], len(rows)))


@pytest.mark.parametrize("kind", ["ratings", "preferences"])
def test_a_proposal_names_the_column_that_splits_its_items(kind):
    proposal = suggest_mapping(split_items(kind))
    assert proposal.kind == kind
    assert proposal.reasons["item"].endswith("rows on one differ in 'length_bin'")
    (note,) = [n for n in proposal.notes if "length_bin" in n]
    assert note.startswith("Rows on one 'task_id' differ in 'length_bin' (long, short, tiny).")
    assert "item=task_id+length_bin" in note
    one = split_items(kind).query("length_bin == 'long'")
    assert not any("length_bin" in n for n in suggest_mapping(one).notes)


# ---- Misspelt columns ------------------------------------------------------------------------------------------------


def unmapped():
    return pd.DataFrame({"model": ["g"], "question_id": ["1"], "answer_a": ["x"], "answer_b": ["y"], "winner": ["A"]})


@pytest.mark.parametrize("given", [{"columns": {"judge": "modle"}}, {"judge": "modle"}], ids=["mapped", "as an option"])
@pytest.mark.parametrize("from_file", [True, False])
def test_a_misspelt_column_is_told_the_near_name_without_a_full_mapping(given, from_file, tmp_path):
    source = unmapped()
    if from_file:
        source.to_csv(tmp_path / "t.csv", index=False)
        source = tmp_path / "t.csv"
    with pytest.raises(SchemaError, match=r"udge column 'modle' is not in the table.*Did you mean 'model'\?"):
        read(source, **given)


def test_columns_that_cannot_be_mapped(write: Write) -> None:
    swapped = pd.DataFrame({"judge": ["g"], "item": ["1"], "one": ["x"], "two": ["y"], "w": ["x"], "s": [None]})
    table = pd.DataFrame({"item": ["1"], "first": ["x"], "second": ["y"], "choice": ["tie"], "evaluator": ["g"]})
    refused(
        SchemaError,
        (
            lambda: read(swapped, columns={"first": "one", "second": "two", "winner": "w", "swapped": "s"}),
            "should hold 0 and 1",
        ),
        (
            lambda: read(table, columns={"judge": "evaluater"}),
            r"judge column 'evaluater' is not in the table.*Did you mean 'evaluator'",
        ),
        (
            lambda: read(table, columns={"juge": "evaluator", "choice": "choice"}),
            r"'juge' is not a column of a preferences frame.*Did you mean 'judge'",
        ),
        (
            lambda: read(write("t.csv", TABLE.replace("g,b", "g,")), columns={"item": "subset+item"}),
            "'item' is missing in 1 row",
        ),
        (
            lambda: read(write("t.csv", TABLE), columns={"item": "subse+item"}),
            r"item column 'subse' is not in the table.*Did you mean 'subset'",
        ),
        (
            lambda: read(write("t.csv", TABLE), columns={"choice": "choice+item"}),
            r"choice column 'choice\+item' is not in the table",
        ),
        (
            lambda: read(unmapped(), judge="model"),
            r"^'judge' is a column, not an option: pass columns=\{'judge': 'model'\}\.$",
        ),
    )


@pytest.mark.parametrize(
    ("columns", "note"),
    [
        (
            ["judge", "item", "first", "second", "verdct"],
            "By 'verdct', did you mean 'verdict'? If so, map choice=verdct.",
        ),
        (["jugde", "item", "first", "second", "choice"], "By 'jugde', did you mean 'judge'? If so, map judge=jugde."),
        (["judge", "item", "scroe"], "By 'scroe', did you mean 'score'? If so, map score=scroe."),
    ],
)
def test_a_column_that_is_nearly_named_is_pointed_out(columns, note):
    values = {"first": "x", "second": "y", "choice": "first", "verdct": "first", "scroe": 3}
    table = pd.DataFrame({c: [values.get(c, "1")] for c in columns})
    assert note in suggest_mapping(table).notes
    with pytest.raises(SchemaError, match="did you mean"):
        read(table)


def test_a_table_without_recognised_verdicts_is_told_how_to_name_them():
    table = pd.DataFrame({"id": ["1", "2"], "text": ["a b", "c d"]})
    said = str(suggest_mapping(table))
    assert "No column was recognised as a verdict or a score." in said
    assert "--map judge=COLUMN,item=COLUMN,score=COLUMN for scores (answer=COLUMN for classes), --map" in said
    assert "columns={'judge': COLUMN, ...}" in said


@pytest.mark.parametrize("values", [("AB", "BA"), ("ab", "ba"), ("original", "swapped"), ("0", "1")])
def test_the_order_shown_is_told_in_several_words(values):
    table = pd.DataFrame(
        {"evaluator": "g", "item": ["1", "1"], "model_a": "x", "model_b": "y", "winner": ["x", "y"], "order": values}
    )
    proposal = suggest_mapping(table)
    assert proposal.mapping["swapped"] == "order"
    data = read(table, columns=proposal.mapping)
    assert data[["first", "second", "choice"]].values.tolist() == [["x", "y", "first"], ["y", "x", "first"]]
    assert "swapped" not in suggest_mapping(table.assign(order=[3, 7])).mapping


def test_the_path_gives_the_judge(tmp_path):
    for judge, score in (("gpt", 3), ("claude", 4)):
        (tmp_path / f"{judge}.csv").write_text(f"item,system,score\n1,a,{score}\n2,a,{score}\n")
    data = read(tmp_path, path="{judge}.csv")
    assert dict(zip(data["judge"], data["score"], strict=True)) == {"gpt": 3, "claude": 4}


def test_ratings_of_one_thing_are_refused_twice_without_a_system_too():
    table = pd.DataFrame({"rater": "g", "id": ["1", "1", "2"], "score": [3, 4, 4]})
    mapping = {"judge": "rater", "item": "id"}
    with pytest.raises(SchemaError, match="the same call occurs more than once"):
        read(table, columns=mapping)
    proposal = suggest_mapping(table)
    assert proposal.mapping["judge"] == "rater"
    assert "system" not in proposal.mapping
    assert not proposal.complete
    assert "the same call occurs more than once" in proposal.refusal


def test_options_and_planted_properties() -> None:
    options = parse_options(["judge=gpt-4", "model_graded=fluency,accuracy", "graders=grade=gpt-4"])
    assert options == {"judge": "gpt-4", "model_graded": ["fluency", "accuracy"], "graders": {"grade": "gpt-4"}}
    assert parse_planted("dark_current=0.2") == {"dark_current": 0.2}
    assert joined(["A=first", "B, rather=second"]) == 'A=first,"B, rather=second"'


RENAMED = pd.DataFrame(
    {"task": ["1"], "bin": ["s"], "first": ["x"], "second": ["y"], "verdikt": ["tie"], "jugde": ["g"], "score": [1]}
)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"item": "task+bin", "choice": "verdict", "judge": "judge"},
            "choice column 'verdict' is not in the table. Columns: task, bin, first, second, verdikt, jugde, score. Did you "
            "mean 'verdikt'? judge column 'judge' is not in the table. Did you mean 'jugde'?",
        ),
        (
            {"item": "task+bim", "choice": "verdict"},
            "item column 'bim' is not in the table. Columns: task, bin, first, second, verdikt, jugde, score. Did you mean "
            "'bin'? choice column 'verdict' is not in the table. Did you mean 'verdikt'? The table lacks judge for a "
            "preferences frame. Name the columns that hold them, as in preferences(frame, judge='jugde'). If one judge",
        ),
        (
            {"item": "task+bin", "winner": "verdikt"},
            "The table lacks judge for a preferences frame. Columns: task, bin, first, second, verdikt, jugde, score. Name",
        ),
    ],
)
def test_all_columns_that_do_not_exist_come_at_once_and_none_of_ours(columns, message) -> None:
    with pytest.raises(SchemaError) as error:
        read(RENAMED, columns=columns)
    assert str(error.value).startswith(f"DataFrame: {message}")
    assert "_joined" not in str(error.value)


def test_sides_of_labels() -> None:
    assert plain("Judge Model") == "judge_model"
    assert sides(["C", "B", "A"]) == {"C": "tie", "B": "second", "A": "first"}
    assert sides(["yes", "first", "no"]) == {"yes": "...", "first": "first", "no": "..."}


def test_swapped_winners_and_columns_of_a_join() -> None:
    table = pd.DataFrame({"q": ["1", "1"], "swap": ["0", "1"], "best": ["x", "x"]})
    mapping = {"judge": "=g", "item": "q", "first": "=x", "second": "=y", "winner": "best", "swapped": "swap"}
    rows = canonical(table, "preferences", mapping)[["judge", "item", "first", "second", "choice"]].to_numpy().tolist()
    assert rows == [["g", "1", "x", "y", "first"], ["g", "1", "y", "x", "second"]]
    sources = source_columns({"judge": "rater", "item": "subset+item", "task": None}, ["rater", "subset", "item"])
    assert sorted(sources) == ["item", "rater", "subset"]


def test_preview_reads_by_the_mapping() -> None:
    table = pd.DataFrame({"rater": ["a"], "writer": ["w"], "story": ["007"], "points": ["3.5"]})
    rows = preview(table, {"judge": "rater", "system": "writer", "item": "story", "score": "points"})
    assert rows.to_dict("records") == [
        {"judge": "a", "system": "w", "item": "007", "criterion": "overall", "score": 3.5}
    ]
