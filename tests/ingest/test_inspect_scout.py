"""Inspect Scout: labels of people are ratings by people, results of a scan are ratings by the scanner."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from judgestats.errors import SchemaError
from judgestats.ingest import detect_format, read
from judgestats.schema.account import account_of

Write = Callable[..., Path]


def excluded(frame: Any) -> list[tuple[str, str]]:
    return [(e.place, e.reason) for e in account_of(frame).excluded]


# ---- Labels ----------------------------------------------------------------------------------------------------------


def test_targets(write: Write) -> None:
    path = write("v.csv", "id,target,split\nt1,True,dev\nt2,false,\nt3,,dev\n")
    assert detect_format(path).format == "inspect_scout_labels"
    got = read(path)
    assert got[["judge", "item", "criterion", "correct", "rater_type"]].values.tolist() == [
        ["human", "t1", "overall", True, "human"],
        ["human", "t2", "overall", False, "human"],
    ]
    assert got["split"].isna().tolist() == [False, True]
    assert excluded(got) == [("v.csv, row 2, column target", "not labelled")]
    assert set(read(path, judge="ann")["judge"]) == {"ann"}


@pytest.mark.parametrize("kind", ["csv", "parquet", "frame"])
def test_labels_and_targets_of_several_criteria(tmp_path: Path, kind: str) -> None:
    table = pd.DataFrame({"id": ["t1", "t2"], "label_tone": [3, None], "target_harm": ["low", "high"]})
    source: Any = table
    if kind != "frame":
        source = tmp_path / f"v.{kind}"
        table.to_csv(source, index=False) if kind == "csv" else table.to_parquet(source)
    with pytest.raises(SchemaError, match="columns are not canonical"):  # it might have a column per judge
        read(source)
    got = read(source, format="inspect_scout_labels", values={"harm": {"low": 1, "high": 3}})
    assert got[["item", "criterion", "score"]].values.tolist() == [
        ["t1", "tone", 3.0],
        ["t1", "harm", 1.0],
        ["t2", "harm", 3.0],
    ]
    assert [reason for _, reason in excluded(got)] == ["not labelled"]
    (_, reason), *_ = excluded(read(source, format="inspect_scout_labels"))[1:]
    assert reason == "column target_harm is left out: its values do not all say right or wrong: 'low' (1), 'high' (1)"


@pytest.mark.parametrize("value", ["C", "N", "F"])
def test_letters_of_people_are_not_inspects_letters(write: Write, value: str) -> None:
    got = read(write("v.csv", f"id,target,split\nt1,1,dev\nt2,{value},dev\n"))
    assert got["score"].tolist() == [1.0]
    assert excluded(got)[0][1].startswith("column target is left out")


@pytest.mark.parametrize(
    "header",
    [
        "id,target",
        "id,label_gpt,label_claude",
        "id,split",
        "name,target,split",
        "id,target,split,judge",
        "id,label_,split",
        "id,target,split,x",
    ],
)
def test_other_tables_are_not_taken_for_labels(write: Write, header: str) -> None:
    path = write("v.csv", f"{header}\n{','.join('a' for _ in header.split(','))}\n")
    assert detect_format(path).format == "csv"


def test_a_label_without_an_id(write: Write) -> None:
    with pytest.raises(SchemaError, match=r"v\.csv, row 1: id is ''\. Allowed: the id of a transcript"):
        read(write("v.csv", "id,target,split\nt1,True,dev\n,True,dev\n"))


# ---- Scans -----------------------------------------------------------------------------------------------------------


def result(value: Any, kind: Any, **more: Any) -> dict[str, Any]:
    base = {
        "transcript_id": "t1", "scan_id": "s1", "scanner_name": "risk", "scanner_params": "{}", "task_name": "doors",
        "model": "acme/writer-1", "input_id": "t1", "value": value, "value_type": kind, "label": None, "explanation": "Because.",
        "scan_error": None, "scan_model_usage": '{"a/j": {"total_tokens": 3}}',
    }  # fmt: skip
    return base | more


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("true", "boolean", [("risk", True)]),
        ("False", "boolean", [("risk", False)]),
        ("3.5", "number", [("risk", 3.5)]),
        ('{"style": 2, "tone": 4}', "object", [("risk/style", 2.0), ("risk/tone", 4.0)]),
        ("[1, 5]", "array", [("risk/1", 1.0), ("risk/2", 5.0)]),
        ('[{"value": true, "label": "lie"}, {"value": false}]', "resultset", [("risk/lie", True), ("risk", False)]),
    ],
)
@pytest.mark.parametrize("kind_of_source", ["frame", "parquet"])
def test_values(tmp_path: Path, value: str, kind: str, expected: Any, kind_of_source: str) -> None:
    source: Any = pd.DataFrame([result(value, kind)])
    if kind_of_source == "parquet":
        source.to_parquet(tmp_path / "r.parquet")
        source = tmp_path / "r.parquet"
        assert detect_format(source).format == "inspect_scout"
    got = read(source)
    answer = "correct" if "correct" in got else "score"
    assert list(got[["criterion", answer]].itertuples(index=False, name=None)) == expected
    row = got.iloc[0]
    assert (row["judge"], row["system"], row["item"], row["rater_type"]) == ("risk", "acme/writer-1", "t1", "model")
    assert (row["scanner_model"], row["rationale"], row["scan_id"]) == ("a/j", "Because.", "s1")


def test_a_string_is_a_class_and_its_label_a_criterion() -> None:
    table = pd.DataFrame(
        [result("high", "string", label="x"), result("low", "string", transcript_id="t2", input_id="t2")]
    )
    got = read(table, values={"risk": {"high": 2, "low": 0}})
    assert got[["criterion", "score", "label"]].values.tolist() == [["risk/x", 2.0, "high"], ["risk", 0.0, "low"]]


def test_failed_scans_are_rows_and_empty_results_are_excluded() -> None:
    rows = [
        result("1", "number", input_id="m7", scan_model_usage="{}"),
        result(None, "null", transcript_id="t2", scan_error="RuntimeError"),
        result(None, "null", transcript_id="t3"),
        result("[]", "resultset", transcript_id="t4"),
        result("[null, 2]", "array", transcript_id="t5"),
    ]
    got = read(pd.DataFrame(rows))
    assert got["item"].tolist() == ["t1 / m7", "t2 / t1", "t5 / t1"]
    assert got["status"].tolist() == ["ok", "error", "ok"]
    assert got["score"].isna().tolist() == [False, True, False]
    assert got["rater_type"].tolist() == ["code", "model", "model"]
    assert excluded(got) == [
        ("DataFrame, row 2, scanner risk", "the scanner found nothing"),
        ("DataFrame, row 3, scanner risk", "the scanner found nothing"),
        ("DataFrame, row 4, scanner risk, risk/1", "the scanner found nothing"),
    ]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"value": "maybe", "value_type": "boolean"}, "a value of type boolean is 'maybe'"),
        ({"value": "{", "value_type": "object"}, "value is '{'. Allowed: JSON"),
        ({"value": "[1]", "value_type": "resultset"}, "a result of the set is '1'"),
        ({"value": "[{}]", "value_type": "resultset"}, "lacks 'value'"),
        ({"scanner_name": None}, "scanner_name or transcript_id is ''"),
        ({"scan_model_usage": "x"}, "scan_model_usage is 'x'"),
    ],
)
def test_an_unknown_shape_is_an_error_with_its_place(changed: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=f"DataFrame, row 0: .*{message}"):
        read(pd.DataFrame([{**result("1", "number"), **changed}]))


# ---- Public files ----------------------------------------------------------------------------------------------------


@pytest.mark.real
def test_real_labels(real_data: Path) -> None:
    folder = real_data / "inspect_scout"
    one, several = read(folder / "eval-awareness.csv"), read(folder / "labels-validation.csv")
    assert (len(one), int(one["correct"].sum()), one["split"].value_counts().to_dict()) == (8, 5, {"test": 4, "dev": 4})
    assert several.groupby("criterion")["correct"].agg(["size", "sum"]).to_dict("index") == {
        "accuracy": {"size": 5, "sum": 3}, "safety": {"size": 5, "sum": 3}, "toxicity": {"size": 5, "sum": 2},
    }  # fmt: skip
    assert several["split"].isna().sum() == 6
    assert account_of(several).excluded == ()


@pytest.mark.real
def test_real_scan(real_data: Path) -> None:
    """The scanner counts words, and says so in each explanation: an answer apart from the value."""
    got = read(real_data / "inspect_scout" / "word_counter.parquet")
    assert (len(got), set(got["judge"]), set(got["rater_type"])) == (216, {"word_counter"}, {"code"})
    said = got["rationale"].str.extract(r"'the' (\d+) times")[0].astype(float)
    assert said.notna().all()
    assert (said == got["score"]).all()


def test_strings_and_labels_are_classes_where_answer_names_their_criterion(write: Write) -> None:
    table = pd.DataFrame(
        [result(v, "string", transcript_id=t, input_id=t) for t, v in (("t1", "high"), ("t2", "low"), ("t3", None))]
    )
    got = read(table, answer="risk")
    assert got["answer"].tolist()[:2] == ["high", "low"]
    labels = read(write("v.csv", "id,target,split\nt1,high,dev\nt2,medium,dev\n"), answer="overall")
    assert labels[["judge", "item", "answer"]].values.tolist() == [["human", "t1", "high"], ["human", "t2", "medium"]]
