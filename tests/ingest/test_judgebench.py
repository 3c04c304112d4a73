"""JudgeBench: judgments[1] is swapped and its decision is in position frame."""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgestats.errors import SchemaError
from judgestats.ingest import detect_format, read

Write = Callable[..., Path]


def record(one: str | None, two: str | None, label: str = "A>B") -> dict[str, Any]:
    def judgment(decision: str | None) -> dict[str, Any]:
        return {"judgment": {"judge_model": "j", "response": "because"}, "decision": decision}

    return {
        "pair_id": "p", "original_id": 3, "source": "law", "response_model": "gpt-4o", "label": label,
        "judge_name": "arena_hard", "judgments": [judgment(one), judgment(two)],
    }  # fmt: skip


@pytest.mark.parametrize("label", ["A>B", "B>A"])
@pytest.mark.parametrize(("one", "two"), list(itertools.product(["A>B", "B>A", "A=B", None], repeat=2)))
def test_every_combination(write: Write, one: str | None, two: str | None, label: str) -> None:
    calls = read(write("j.jsonl", [record(one, two, label)]))
    # by hand: in the second presentation, "A" on the judge's screen is content B
    content = [{"A>B": "A", "B>A": "B", "A=B": "tie", None: "invalid"}[one],
               {"A>B": "B", "B>A": "A", "A=B": "tie", None: "invalid"}[two]]  # fmt: skip
    got = [{"first": r.first, "second": r.second}.get(r.choice, r.choice) for r in calls.itertuples()]
    assert got == content
    assert calls["gold"].tolist() == [label[0]] * 2
    assert (calls["status"] == ["parse" if d is None else "ok" for d in (one, two)]).all()


def test_null_judgments(write: Write) -> None:
    broken = record("A>B", None)
    broken["judgments"][1]["judgment"] = None
    nothing = {
        **record(None, None),
        "pair_id": "q",
        "judgments": [None, {"judgment": {"judge_model": "j"}, "decision": None}],
    }
    calls = read(write("j.jsonl", [broken, nothing]))
    assert calls["status"].tolist() == ["ok", "error", "error", "parse"]
    assert calls["choice"].tolist() == ["first", "invalid", "invalid", "invalid"]


def test_judge_from_the_file_name_or_the_option(write: Write) -> None:
    bare = {**record("A>B", "A=B"), "judgments": [{"judgment": {}, "decision": "A>B"}]}
    path = write("dataset=judgebench,judge_name=x,judge_model=o1-mini.jsonl.gz", [bare])
    assert read(path)["judge"].tolist() == ["o1-mini"]  # one judgment, one row
    assert read(write("j.jsonl", [bare]), judge="me")["judge"].tolist() == ["me"]
    with pytest.raises(SchemaError, match="Pass judge="):
        read(write("j.jsonl", [bare]))


def test_unknown_decision(write: Write) -> None:
    with pytest.raises(SchemaError, match=r"line 1: decision is 'A>>B'\. Allowed: A>B, B>A, A=B, null"):
        read(write("j.jsonl", [record("A>>B", None)]))


@pytest.mark.real
def test_real_o1_mini_by_hand(real_data: Path) -> None:
    """Net of votes, flipped by hand from the file, gives the authors' 65.71."""
    (path,) = (real_data / "judgebench").glob("*judge_model=o1-mini*")
    assert detect_format(path).format == "judgebench"
    calls = read(path)
    assert len(calls) == 700
    picked = calls["first"].where(calls["choice"] == "first", calls["second"])
    vote = (picked == calls["gold"]).astype(int).replace(0, -1).where(calls["choice"] != "tie", 0)
    net = vote.groupby(calls["item"]).sum()
    assert round(100 * (net > 0).mean(), 2) == 65.71
    right = 0
    for r in map(json.loads, gzip.decompress(path.read_bytes()).decode().splitlines()):
        one, two = (j["decision"] for j in r["judgments"])
        flipped = {"A>B": "B>A", "B>A": "A>B", "A=B": "A=B"}[two]
        other = {"A>B": "B>A", "B>A": "A>B"}[r["label"]]
        right += sum((d == r["label"]) - (d == other) for d in (one, flipped)) > 0
    assert right == int((net > 0).sum())


@pytest.mark.real
def test_real_glob_of_all_judges(real_data: Path) -> None:
    calls = read(str(real_data / "judgebench" / "dataset*.jsonl.gz"))
    assert len(calls) == 2 * (6 * 350 + 270)
    assert calls["judge"].nunique() == 7
    assert calls["response_model"].nunique() == 2
