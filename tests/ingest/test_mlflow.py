"""MLflow: feedback of people, judges and code on traces."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

import judgestats as js
from judgestats.errors import SchemaError
from judgestats.ingest import detect_format
from judgestats.schema.account import account_of
from refusals import refused

FILE = Path(__file__).parent / "data" / "mlflow_traces.json"
TRACES = json.loads(FILE.read_text())
EXPECTED = [
    ["ann@example.org", "tr-1", "correct", 1.0, "ok", "human"],
    ["gpt-4o", "tr-1", "correct", 1.0, "ok", "model"],
    ["count_words", "tr-1", "words", 12.0, "ok", "code"],
    ["gpt-4o", "tr-2", "correct", None, "error", "model"],
    ["ann@example.org", "tr-2/sp-9", "correct", 0.0, "ok", "human"],
    ["ann@example.org", "tr-2", "style.length", 2.0, "ok", "human"],
    ["ann@example.org", "tr-2", "style.tone", 4.0, "ok", "human"],
]


def rows(data: pd.DataFrame) -> list[list[Any]]:
    """The columns of EXPECTED, sorted as there."""
    chosen = data[["judge", "item", "criterion", "score", "status", "rater_type"]].astype(object)
    return sorted(chosen.where(chosen.notna(), None).to_numpy().tolist(), key=lambda r: EXPECTED.index(r))


def test_assessments_in_every_form(write: Any, tmp_path: Path) -> None:
    """A frame of search_traces in memory and in files, whole traces, and single assessments."""
    frame = pd.DataFrame(TRACES)
    frame.to_csv(tmp_path / "traces.csv", index=False)
    frame.assign(assessments=[json.dumps(a) for a in frame["assessments"]]).to_parquet(tmp_path / "traces.parquet")
    whole = [
        {"info": {"trace_id": t["trace_id"], "assessments": t["assessments"]}, "data": {"spans": []}} for t in TRACES
    ]
    single = [{**a, "trace_id": t["trace_id"]} for t in TRACES for a in t["assessments"]]
    for source in (
        FILE, frame, tmp_path / "traces.csv", tmp_path / "traces.parquet", write("t.jsonl", whole), write("a.jsonl", single),
    ):  # fmt: skip
        data = js.read(source)
        assert rows(data) == EXPECTED
        assert "It is right." in set(data["rationale"])
    assert detect_format(FILE).format == "mlflow"


def test_what_is_no_feedback_is_excluded() -> None:
    data = js.read(FILE)
    assert [(e.place, e.reason) for e in account_of(data).excluded] == [
        ("mlflow_traces.json, record 1, expected_response", "expectation without feedback"),
        ("mlflow_traces.json, record 2, assessments 4", "feedback that a later one replaces"),
        ("mlflow_traces.json, record 3", "trace without an assessment"),
    ]
    found = js.check(data).set_index("what")["n"]
    assert found["rows in"] == len(EXPECTED) + 3


def test_a_table_of_results_does_not_say_who_judged() -> None:
    table = pd.DataFrame(
        {"trace_id": ["t1", "t2"], "tone/value": ["yes", None], "tone/rationale": ["kind", None],
         "tone/error_message": [None, "timeout"], "words/value": [3, 4]}
    )  # fmt: skip
    data = js.read(table)
    assert data[["judge", "item", "criterion", "status"]].to_numpy().tolist() == [
        ["tone", "t1", "tone", "ok"], ["words", "t1", "words", "ok"], ["tone", "t2", "tone", "error"], ["words", "t2", "words", "ok"],
    ]  # fmt: skip
    assert "rater_type" not in data
    assert js.read(table, judge="gpt-4o")["judge"].unique().tolist() == ["gpt-4o"]


def test_one_clear_error(write: Any) -> None:
    wrong = {"assessment_name": "x", "source": {"source_type": "ROBOT"}, "feedback": {"value": 1}}
    refused(
        SchemaError,
        (
            [{"trace_id": "t", "assessments": [wrong]}],
            r"record 1: source of an assessment is .*ROBOT.*Allowed: an object",
        ),
        ([{"trace_id": "t", "assessments": "none"}], r"assessments is 'none'\. Allowed: a list"),
        of=lambda unfit: js.read(write("t.json", unfit)),
    )
