"""Langfuse: people and evaluators in one table, by the source of each score."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import judgestats as js
from judgestats.errors import DesignError, SchemaError
from judgestats.ingest import detect_format
from judgestats.schema.account import account_of

FILE = Path(__file__).parent / "data" / "langfuse_scores.json"
RECORDS = json.loads(FILE.read_text())["data"]


def test_the_file_of_the_package() -> None:
    """Scores as Langfuse's own types write them: nine records, six of which are grades with a number."""
    assert detect_format(FILE).why.startswith("records have name, source, value and dataType")
    data = js.read(FILE)
    columns = ["judge", "item", "criterion", "score", "replicate", "rater_type", "subject"]
    assert data[columns].astype(object).where(data[columns].notna(), None).to_numpy().tolist() == [
        ["ann", "t1", "helpful", 4.0, 0, "human", "trace"],
        ["bob", "t1", "helpful", 3.0, 0, "human", "trace"],
        ["EVAL", "t1", "helpful", 5.0, 0, "model", "trace"],
        ["EVAL", "t1/o1", "toxic", 0.0, 0, "model", "observation"],
        ["ann", "t2", "tone", -1.0, 0, "human", "trace"],
        ["API", "u1", "thumbs", 1.0, 0, None, "session"],
        ["EVAL", "t1", "helpful", 2.0, 1, "model", "trace"],
    ]
    assert data.loc[0, "rationale"] == "clear"
    assert {e.reason for e in account_of(data).excluded} == {
        "'tone' is left out: its values do not all say right or wrong: 'fine' (1)", "score of type TEXT: a text, no verdict",
    }  # fmt: skip
    found = js.check(data).set_index("what")["n"]
    assert found["rows in"] == found["rows used"] + found["rows excluded"] == len(RECORDS)


def test_a_category_without_a_configuration_is_no_zero() -> None:
    """Langfuse writes the value 0 for it, whatever the category."""
    data = js.read(FILE, scores={"fine": 1, "rude": -1}, judge="gpt-4o", api="code")
    tone = data[data["criterion"] == "tone"].set_index("judge")["score"]
    assert tone.to_dict() == {"ann": -1.0, "gpt-4o": 1.0}
    assert data.loc[data["judge"] == "API", "rater_type"].tolist() == ["code"]
    with pytest.raises(DesignError, match="api='robot' is not known"):
        js.read(FILE, api="robot")


def test_csv_and_scheduled_exports_give_the_same(write: Any) -> None:
    """The table's CSV has the names of the API without the author, scheduled exports have snake case."""
    whole = js.read(FILE)
    out = io.StringIO()
    writer = csv.DictWriter(out, [*RECORDS[1], "sessionId"], extrasaction="ignore")
    writer.writeheader()
    writer.writerows([{**r, "value": r.get("value")} for r in RECORDS if "stringValue" not in r])
    table = js.read(write("scores.csv", out.getvalue()))
    assert table["score"].tolist() == [4.0, 3.0, 5.0, 1.0, 2.0]
    snake = [{"".join(f"_{c.lower()}" if c.isupper() else c for c in k): v for k, v in r.items()} for r in RECORDS]
    again = js.read(write("scores.jsonl", snake))
    assert again[["judge", "item", "score"]].equals(whole[["judge", "item", "score"]])


def test_the_third_version_of_the_api(write: Any) -> None:
    """One typed value, and the subject as an object."""
    base = {"id": "1", "projectId": "p", "name": "ok", "source": "EVAL", "environment": "default", "timestamp": "now"}
    records = [
        {**base, "dataType": "BOOLEAN", "value": True, "subject": {"kind": "observation", "id": "o", "traceId": "t"}},
        {**base, "dataType": "CATEGORICAL", "value": "poor", "subject": {"kind": "session", "id": "s"}},
        {**base, "dataType": "NUMERIC", "value": None, "subject": {"kind": "experiment", "id": "x"}},
        {**base, "dataType": "NUMERIC", "value": 1},
    ]
    data = js.read(write("v3.jsonl", records), scores={"poor": 0.25})
    assert data["item"].tolist() == ["t/o", "s", "x"]
    assert data["score"].tolist()[:2] == [1.0, 0.25]
    assert np.isnan(data["score"][2])
    assert data["status"].tolist() == ["ok", "ok", "parse"]
    assert [e.reason for e in account_of(data).excluded] == ["score on no trace, observation, session or dataset run"]


def test_an_unknown_source_is_an_error(write: Any) -> None:
    with pytest.raises(SchemaError, match=r"line 1: source is 'ROBOT'\. Allowed: ANNOTATION, EVAL, API"):
        js.read(write("scores.jsonl", [{**RECORDS[0], "source": "ROBOT"}]))


def test_people_and_judges_in_one_table(write: Any) -> None:
    """The sources say who is a person, so that one word names them."""
    rows = [
        {
            **RECORDS[0],
            "id": f"{k}/{i}",
            "traceId": f"t{i % 40}",
            "source": s,
            "authorUserId": a,
            "value": 1 + (i * k) % 5,
        }
        for k, (s, a) in enumerate([("ANNOTATION", "ann"), ("ANNOTATION", "bob"), ("EVAL", None)], start=1)
        for i in range(40)
    ]
    found = js.judge_against_people(js.read(write("s.jsonl", rows)), humans="rater_type=human")
    assert found.loc[found["role"] == "judge", ["judge", "n"]].drop_duplicates().to_numpy().tolist() == [["EVAL", 80.0]]


def test_categories_are_classes_where_answer_names_their_question(write: Any) -> None:
    rows = [
        {**RECORDS[1], "id": f"{t}{s}", "traceId": t, "name": "kind", "dataType": "CATEGORICAL", "source": s,
         "value": 0, "stringValue": word, "configId": None}
        for t, words in (("t1", ("safe", "safe")), ("t2", ("refusal", "unsafe")), ("t3", ("unsafe", "unsafe")))
        for s, word in zip(("ANNOTATION", "EVAL"), words, strict=True)
    ]  # fmt: skip
    path = write("s.jsonl", [*rows, RECORDS[0]])
    data = js.read(path, answer="kind")
    assert list(data.columns[:5]) == ["judge", "item", "criterion", "answer", "status"]
    assert sorted(data["answer"]) == ["refusal", "safe", "safe", "unsafe", "unsafe", "unsafe"]
    assert [(e.reason, e.n) for e in account_of(data).excluded] == [("not of a criterion in answer=", 1)]
    found = js.classification(data, humans="rater_type=human").query("term == 'accuracy'")
    assert found["estimate"].tolist() == [pytest.approx(2 / 3)]
    without = account_of(js.read(path)).excluded[0]
    assert "answer='kind' reads them as classes" in without.remedy
    with pytest.raises(
        SchemaError, match=r"answer='kinds' is no criterion here\. Criteria: helpful, kind\. Did you mean 'kind'"
    ):
        js.read(path, answer="kinds")
