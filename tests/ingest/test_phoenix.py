"""Phoenix: annotations of spans by people, models and code, and the frames of its evaluators."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import judgestats as js
from judgestats.errors import SchemaError
from judgestats.ingest import detect_format
from judgestats.schema.account import account_of
from refusals import refused

DATA = Path(__file__).parent / "data"


def rows(data: pd.DataFrame, *columns: str) -> list[list[Any]]:
    """Some columns as lists, with None for what is missing."""
    return data[[*columns]].astype(object).where(data[[*columns]].notna(), None).to_numpy().tolist()


EVALS = [
    ["code", "a", "short", 1.0, "ok", "code"],
    ["llm", "a", "tone", 0.75, "ok", "model"],
    ["code", "b", "short", 0.0, "ok", "code"],
    ["llm", "b", "tone", 0.75, "ok", "model"],
    ["code", "c", "short", 1.0, "ok", "code"],
    ["llm", "c", "tone", None, "error", None],
]


def test_the_frame_of_evaluators() -> None:
    """Columns of dicts, as the package writes them to JSON, to CSV and in memory; a failed execution is a missing score."""
    path = DATA / "phoenix_evals.json"
    memory = pd.DataFrame(json.loads(path.read_text()))
    for source in (path, DATA / "phoenix_evals.csv", memory):
        data = js.read(source)
        assert rows(data, "judge", "item", "criterion", "score", "status", "rater_type") == EVALS
        assert data.loc[1, "rationale"] == "It says please."
        assert data.loc[1, "output"] == "please"
    assert detect_format(path).why.startswith("there are columns <evaluator>_execution_details")
    assert js.read(path, judge="gpt-4o")["judge"].unique().tolist() == ["gpt-4o"]


def test_a_score_with_another_name_than_its_evaluator(write: Any) -> None:
    """An evaluator that gives two scores is not taken for one that gave none."""
    record = {
        "id": "q", "both_execution_details": {"status": "COMPLETED"},
        "tone_score": {"name": "tone", "score": 1, "kind": "llm", "metadata": {"model": "g"}}, "use_score": {"score": 0},
    }  # fmt: skip
    assert rows(js.read(write("e.json", [record])), "criterion", "score", "judge") == [
        ["tone", 1.0, "g"],
        ["use", 0.0, "llm"],
    ]


ANNOTATIONS = [
    {"id": "1", "span_id": "s1", "name": "tone", "annotator_kind": "HUMAN", "user_id": "ann", "source": "APP",
     "result": {"label": "good", "score": 1, "explanation": "kind"}, "metadata": {}, "identifier": "", "created_at": "x"},
    {"id": "2", "span_id": "s1", "name": "tone", "annotator_kind": "LLM", "user_id": None, "source": "API",
     "result": {"label": "yes", "score": None}, "metadata": {"model": "gpt-4o"}, "identifier": "", "created_at": "y"},
    {"id": "3", "span_id": "s2", "name": "tone", "annotator_kind": "CODE", "user_id": None, "source": "API",
     "result": {"label": "loud", "score": None}, "metadata": {}, "identifier": "regex", "created_at": "z"},
    {"id": "4", "span_id": "s2", "name": "note", "annotator_kind": "HUMAN", "user_id": "ann", "source": "APP",
     "result": {"explanation": "look at this"}, "metadata": {}, "identifier": "n1", "created_at": "z"},
    {"id": "5", "trace_id": "t9", "name": "done", "annotator_kind": "HUMAN", "user_id": None, "source": "APP",
     "result": {"score": 0}, "metadata": {}, "identifier": "", "created_at": "z"},
    {"id": "6", "span_id": "s3", "document_position": 2, "name": "relevant", "annotator_kind": "LLM", "result": {"score": 1}},
]  # fmt: skip


def test_annotations(write: Any) -> None:
    data = js.read(
        write("annotations.json", json.dumps({"data": ANNOTATIONS, "next_cursor": None})), scores={"loud": 0.2}
    )
    assert rows(data, "judge", "item", "criterion", "score", "rater_type") == [
        ["ann", "s1", "tone", 1.0, "human"],
        ["gpt-4o", "s1", "tone", 1.0, "model"],
        ["regex", "s2", "tone", 0.2, "code"],
        ["human", "t9", "done", 0.0, "human"],
        ["llm", "s3/document 2", "relevant", 1.0, "model"],
    ]
    assert [e.reason for e in account_of(data).excluded] == ["a note, no verdict"]


def test_the_frame_of_annotations_has_its_spans_in_the_index() -> None:
    """As get_span_annotations_dataframe of the client builds it: result in columns, span_id as index."""
    frame = pd.DataFrame([a for a in ANNOTATIONS if "span_id" in a and "document_position" not in a])
    result = pd.json_normalize(frame["result"]).add_prefix("result.")
    frame = pd.concat([frame.drop(columns="result"), result], axis=1).rename(columns={"name": "annotation_name"})
    data = js.read(frame.set_index("span_id"))
    assert rows(data, "judge", "item", "score") == [["ann", "s1", 1.0]]
    assert data.loc[0, "rationale"] == "kind"
    assert sorted(e.reason for e in account_of(data).excluded) == [
        "'tone' is left out: its values do not all say right or wrong: 'yes' (1), 'loud' (1)", "a note, no verdict",
    ]  # fmt: skip


def test_evaluations_with_a_label_a_score_and_an_explanation(tmp_path: Path) -> None:
    """The older frames: of spans, and of classifications with their status."""
    spans = pd.DataFrame({"label": ["good", "bad"], "score": [1, 0], "explanation": ["x", None]}, index=["s1", "s2"])
    spans.index.name = "context.span_id"
    spans.to_parquet(tmp_path / "evaluations.parquet")
    for source in (spans, tmp_path / "evaluations.parquet"):
        data = js.read(source, judge="gpt-4", criterion="toxicity")
        assert rows(data, "judge", "item", "criterion", "score") == [
            ["gpt-4", "s1", "toxicity", 1.0],
            ["gpt-4", "s2", "toxicity", 0.0],
        ]
    labels = pd.DataFrame(
        {"label": ["yes", None], "explanation": ["a", None], "exceptions": ["[]", "[x]"], "execution_status": ["COMPLETED", "FAILED"],
         "execution_seconds": [1, 2]}
    )  # fmt: skip
    data = js.read(labels)
    assert data["item"].tolist() == ["0", "1"]
    assert data["score"][0] == 1.0
    assert np.isnan(data["score"][1])
    assert data["status"].tolist() == ["ok", "error"]


def test_one_clear_error(write: Any) -> None:
    refused(
        SchemaError,
        (
            lambda: js.read(write("a.json", [{**ANNOTATIONS[0], "annotator_kind": "ROBOT"}])),
            r"record 1: the kind of annotator is 'ROBOT'\. Allowed: HUMAN, LLM, CODE",
        ),
        (lambda: js.read(write("a.json", ANNOTATIONS[:1]), item="spam"), "lacks 'spam'"),
    )
