"""Argilla: users as raters, agents of suggestions as judges, in the shapes of both versions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import SchemaError
from judgestats.ingest import detect_format
from judgestats.schema.account import account_of

DATA = Path(__file__).parent / "data"
USER = "00000000-0000-0000-0000-00000000000"


def rows(data: pd.DataFrame) -> list[list[Any]]:
    """The columns that matter."""
    return data[["judge", "item", "criterion", "score", "rater_type"]].to_numpy().tolist()


def test_version_2() -> None:
    """The nested export of the package does not say which responses are drafts; the flat one does."""
    nested, flat = (
        js.read(DATA / "argilla_v2.json", system="model"),
        js.read(DATA / "argilla_v2_flat.json", system="model"),
    )
    expected = [
        [f"{USER}1", "r1", "quality", 4.0, "human"],
        [f"{USER}2", "r1", "quality", 5.0, "human"],
        [f"{USER}1", "r1", "correct", 1.0, "human"],
        ["gpt-4", "r1", "quality", 3.0, "model"],
        [f"{USER}1", "r2", "quality", 2.0, "human"],
        ["gpt-4", "r2", "quality", 3.0, "model"],
    ]
    assert rows(flat) == expected
    assert rows(nested) == [*expected[:5], [f"{USER}2", "r2", "quality", 1.0, "human"], expected[5]]
    assert nested["system"].tolist() == ["m1"] * 7
    assert [e.reason for e in account_of(flat).excluded] == [
        "response not submitted (draft)",
        "'rank' has several values",
    ]
    assert detect_format(DATA / "argilla_v2_flat.json").why.startswith("there are columns <question>.responses.users")


def test_version_1() -> None:
    data = js.read(DATA / "argilla_v1.json")
    assert rows(data) == [
        [f"{USER}1", "r1", "quality", 4.0, "human"],
        [f"{USER}1", "r1", "correct", 0.0, "human"],
        ["gpt-4", "r1", "quality", 2.0, "model"],
        ["gpt-4", "r2", "quality", 2.0, "model"],
    ]
    assert [e.reason for e in account_of(data).excluded] == ["response not submitted (discarded)"] * 2


def test_a_flat_table_in_a_file(tmp_path: Path) -> None:
    """Lists as Python or JSON writes them."""
    frame = pd.DataFrame(json.loads((DATA / "argilla_v2_flat.json").read_text()))
    frame.to_csv(tmp_path / "records.csv", index=False)
    whole = js.read(DATA / "argilla_v2_flat.json")
    assert rows(js.read(tmp_path / "records.csv")) == rows(js.read(frame)) == rows(whole)


def test_labels_and_what_has_no_number(write: Any) -> None:
    record = {
        "id": "r",
        "fields": {"text": "x"},
        "metadata": {"score": 9, "topic": "law"},
        "responses": {"tone": [{"value": "good", "user_id": "u"}]},
    }
    data = js.read(write("r.json", [record]), scores={"good": 2})
    assert data[["score", "score_source", "topic"]].to_numpy().tolist() == [[2.0, 9, "law"]]
    with pytest.raises(
        SchemaError,
        match=r"none of its 1 record holds a verdict.*scores= gives each a number: scores=\{'good': \.\.\.\}",
    ):
        js.read(write("r.json", [record]))


@pytest.mark.parametrize(
    ("responses", "message"),
    [
        ({"q": ["four"]}, "a response to 'q' is 'four'. Allowed: an object with value and user_id"),
        ([{"values": [1], "user_id": "u"}], r"values of a response is '\[1\]'"),
        (
            {"q": [{"value": 1, "user_id": "u", "status": "odd"}]},
            "status of a response is 'odd'. Allowed: submitted, draft",
        ),
    ],
)
def test_one_clear_error(write: Any, responses: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        js.read(write("r.json", [{"id": "r", "fields": {}, "responses": responses}]))
