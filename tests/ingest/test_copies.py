"""Calls that a source holds twice: copies of files, and empty repeats."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from judgestats.errors import SchemaError
from judgestats.ingest import read
from judgestats.metrics.bias import consistency
from judgestats.schema import check

Write = Callable[..., Path]
HEADER = "judge,item,first,second,choice,note\n"


def account(frame: object) -> dict[str, int]:
    return {str(k): int(v) for k, v in check(frame).set_index("what")["n"].items()}


def test_a_copy_under_another_name_counts_once(write: Write, tmp_path: Path) -> None:
    """The texts may be missing, or shortened, in one of the files; the account says where the call stands."""
    long = "because the first answer is far better"
    write("a.csv", HEADER + f"g,1,x,y,first,{long}\ng,2,x,y,tie,\n")
    write("b.csv", HEADER + "g,2,x,y,tie,short\ng,3,x,y,tie,\n")
    write("c.csv", HEADER + f"g,1,x,y,first,{long[8:]}\n")
    frame = read(str(tmp_path / "*.csv"), columns={"rationale": "note"})
    assert frame["item"].tolist() == ["1", "2", "3"]
    told = account(frame)
    assert told["the same call with the same answer stands in a.csv"] == 2
    assert (told["rows in"], told["rows used"], told["rows excluded"]) == (5, 3, 2)
    rows = check(frame).query("level == 'excluded'")
    assert rows["where"].tolist() == ["b.csv, line 2; c.csv, line 2"]
    assert rows["remedy"].str.contains("{replicate}", regex=False).all()


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ("g,1,x,y,second,", r"a\.csv, line 2 and b\.csv, line 2 differ in 'choice' \('first' and 'second'\)"),
        ("g,1,x,y,,", ""),
    ],
)
def test_files_that_contradict_each_other_are_a_fault(write: Write, tmp_path: Path, other: str, message: str) -> None:
    write("a.csv", HEADER + "g,1,x,y,first,\ng,2,x,y,tie,\n")
    write("b.csv", HEADER + other + "\ng,2,x,y,tie,\n")
    if not message:
        assert account(read(str(tmp_path / "*.csv"), columns={"rationale": "note"}))["rows excluded"] == 2
        return
    with pytest.raises(SchemaError, match=message + r".*1 of 2 calls.*\{replicate\}") as caught:
        read(str(tmp_path / "*.csv"), columns={"rationale": "note"})
    assert caught.value.faults is not None
    assert caught.value.faults["what"].tolist() == ["the same call occurs more than once"]


def test_one_letter_is_no_shortened_text(write: Write, tmp_path: Path) -> None:
    write("a.csv", HEADER + "g,1,x,y,first,A\n")
    write("b.csv", HEADER + "g,1,x,y,first,A or B\n")
    with pytest.raises(SchemaError, match="differ in 'note'"):
        read(str(tmp_path / "*.csv"), columns={"rationale": "note"})


def test_a_condition_that_differs_makes_another_call(write: Write, tmp_path: Path) -> None:
    write("run=1/a.csv", HEADER + "g,1,x,y,first,\n")
    write("run=2/a.csv", HEADER + "g,1,x,y,first,\n")
    assert len(read(str(tmp_path / "*" / "a.csv"))) == 2


def test_a_name_that_one_file_lacks_makes_no_other_call(write: Write, tmp_path: Path) -> None:
    """A copy whose name says nothing has an empty cell in the column that the name of the other one gives."""
    record = {"question_id": 1, "model": "m", "judge": "j", "games": [{"score": "A>B"}, {"score": "B>A"}]}
    write("judge_name=j.jsonl", [record])
    write("z.jsonl", [record])
    frame = read(str(tmp_path / "*.jsonl"))
    assert len(frame) == 2
    assert account(frame)["the same call with the same answer stands in judge_name=j.jsonl"] == 2
    write("z.jsonl", [{**record, "games": [{"score": "A>B"}, {"score": "A>B"}]}])
    with pytest.raises(SchemaError, match="differ in 'choice'"):
        read(str(tmp_path / "*.jsonl"))


def test_an_empty_block_of_repeats_is_no_disagreement(write: Write) -> None:
    """400 calls in both orders, consistent, then the same 400 rows once more with empty answers."""
    calls = [
        f"g,{i},{a},{b},{'first' if a == 'x' else 'second'},\n" for i in range(200) for a, b in (("x", "y"), ("y", "x"))
    ]
    empty = [",".join([*c.split(",")[:4], "", "\n"]) for c in calls]
    frame = read(write("calls.csv", HEADER + "".join(calls + empty)))
    told = account(frame)
    assert (told["rows in"], told["rows used"], told["rows excluded"]) == (800, 400, 400)
    assert told["an empty repeat of a call that stands in calls.csv"] == 400
    found = consistency(frame).query("term == 'consistency'")
    assert found["estimate"].tolist() == [1.0]
    assert found["n"].tolist() == [200]


def test_a_call_that_was_never_answered_stays_once(write: Write) -> None:
    frame = read(write("calls.csv", HEADER + "g,1,x,y,,\ng,1,x,y,,\ng,2,x,y,tie,\n"))
    assert frame["choice"].tolist() == ["invalid", "tie"]
    assert account(frame)["an empty repeat of a call that stands in calls.csv"] == 1


def test_calls_of_one_file_each_are_repeats_and_no_copies(write: Write, tmp_path: Path) -> None:
    for n in range(2):
        write(f"calls/{n}.json", json.dumps({"judge": "g", "item": 1, "first": "x", "second": "y", "choice": "first"}))
    assert read(tmp_path / "calls")["replicate"].tolist() == [0, 1]


@pytest.mark.real
def test_judgebench_is_read_by_a_glob(real_data: Path) -> None:
    """350 pairs of six judges and 270 of one, in both orders; the o1-mini file in full is a copy of one of them."""
    calls = read(str(real_data / "judgebench" / "*.jsonl.gz"))
    assert len(calls) == 2 * (6 * 350 + 270)
    sizes = calls.groupby(["response_model", "judge_name"]).size().to_dict()
    assert sizes == {
        ("claude-3-5-sonnet-20240620", "arena_hard"): 540,
        ("gpt-4o-2024-05-13", "arena_hard"): 700,
        ("gpt-4o-2024-05-13", "reward_model"): 3500,
    }
    (copied,) = check(calls).query("what.str.startswith('the same call with the same answer')").itertuples()
    assert copied.n == 700
    assert copied.where.startswith("native_full_gpt-4o_arena_hard_o1-mini.jsonl.gz, line 1; ")
