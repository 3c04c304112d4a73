"""ragas: annotated metrics, and the frame of a result."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats import read
from judgestats.errors import SchemaError
from judgestats.ingest import detect_format
from judgestats.schema.account import account_of
from refusals import refused

Write = Callable[..., Path]


def sample(output: Any = 1, accepted: Any = True, text: str = "q", edited: Any = None, **more: Any) -> dict[str, Any]:
    prompt = {"prompt_input": {}, "prompt_output": {"reason": "because", "verdict": output}, "edited_output": edited}
    return {"metric_input": {"user_input": text, "response": "a"}, "metric_output": output, "prompts": {"p": prompt},
            "is_accepted": accepted, **more}  # fmt: skip


def test_the_verdict_and_the_persons_verdict_on_it(write: Write) -> None:
    samples = [
        sample(),
        sample(0, False, "r", edited={"verdict": 1}),
        sample(0.3, None, "s", target=0.8),
        sample(None, False, "t"),
        sample(1, False, "u"),
        sample(0.3, False, "v"),
        sample(1, None, "w"),
    ]
    path = write("a.json", json.dumps({"helpfulness": samples}))
    assert detect_format(path).format == "ragas_annotations"
    data = read(path)
    assert data["judge"].tolist() == data["criterion"].tolist() == ["helpfulness"] * 7
    assert data["score"].tolist()[:3] == [1.0, 0.0, 0.3]
    assert data["status"].tolist() == ["ok", "ok", "ok", "error", "ok", "ok", "ok"]
    nan = float("nan")  # rejected without a word on what is right, or not looked at
    np.testing.assert_array_equal(data["gold"].astype(float), [1.0, 1.0, 0.8, nan, 0.0, nan, nan])
    assert set(data["rationale"]) == {"because"}
    assert read(path, judge="gpt-4o")["judge"].tolist() == ["gpt-4o"] * 7


def test_items_are_inputs(write: Write) -> None:
    """The same input is one item in all metrics, and a replicate within one."""
    document = {"a": [sample(), sample(text="r"), sample()], "b": [sample(text="r"), sample(text="new")]}
    data = read(write("a.json", json.dumps(document)))
    assert data["item"].tolist() == ["0", "1", "0", "1", "b/1"]
    assert data["replicate"].tolist() == [0, 0, 1, 0, 0]


def test_several_files_of_several_metrics(write: Write) -> None:
    """Lists of records of different lengths are no columns."""
    paths = [write(f"{n}.json", json.dumps({"a": [sample(), sample(text="r")], "b": [sample(text=n)]})) for n in "xy"]
    data = read(paths)
    assert data["criterion"].tolist() == ["a", "a", "b"] * 2


def test_a_single_metric(write: Write) -> None:
    data = read(write("a.json", json.dumps({"name": "tone", "samples": [sample(later={"a": 1})]})))
    assert data[["criterion", "score"]].values.tolist() == [["tone", 1.0]]


def test_bad_annotations(write: Write) -> None:
    refused(
        SchemaError,
        (json.dumps({"m": [sample(accepted="maybe")]}), "is_accepted is 'maybe'"),
        (json.dumps({"m": [sample(), 1]}), "the sample is '1'"),
        of=lambda wrong: read(write("a.json", wrong)),
    )


FRAME = pd.DataFrame(
    {
        "user_input": ["q", "r"], "retrieved_contexts": [["c"], ["d"]], "response": ["a", "b"], "reference": ["a", "c"],
        "faithfulness": [0.5, None], "bleu_score": [0.1, 0.2], "tone": ["pass", "fail"],
    }
)  # fmt: skip
ROWS = [
    ["faithfulness", "0", 0.5, "ok", "model"], ["bleu_score", "0", 0.1, "ok", "code"], ["tone", "0", 1.0, "ok", "model"],
    ["faithfulness", "1", None, "error", "model"], ["bleu_score", "1", 0.2, "ok", "code"], ["tone", "1", 0.0, "ok", "model"],
]  # fmt: skip


def rows_of(data: pd.DataFrame) -> list[Any]:
    wanted = data[["criterion", "item", "score", "status", "rater_type"]]
    return wanted.astype(object).where(wanted.notna(), None).values.tolist()


@pytest.mark.parametrize("kind", ["frame", "csv", "indexed csv", "parquet", "jsonl", "json"])
def test_every_container(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"r.{kind.split()[-1]}"
    if kind == "frame":
        data = read(FRAME)
    else:
        if kind.endswith("csv"):
            FRAME.to_csv(path, index=kind.startswith("indexed"))
        elif kind == "parquet":
            FRAME.to_parquet(path)
        else:
            FRAME.to_json(path, orient="records", lines=kind == "jsonl")
        assert detect_format(path).format == "ragas"
        data = read(path)
    assert rows_of(data) == ROWS
    assert data["judge"].tolist() == data["criterion"].tolist()


def test_the_first_names_and_options(tmp_path: Path) -> None:
    old = FRAME.rename(columns={"user_input": "question", "response": "answer", "retrieved_contexts": "contexts"})
    old = old.assign(sample_id=["x", "y"], topic=["t", "u"])
    data = read(old, judge="gpt", system="rag", metrics="faithfulness, bleu_score")
    assert data[["judge", "system", "item", "topic"]].values.tolist() == [
        ["gpt", "rag", "x", "t"], ["bleu_score", "rag", "x", "t"], ["gpt", "rag", "y", "u"], ["bleu_score", "rag", "y", "u"],
    ]  # fmt: skip
    with pytest.raises(SchemaError, match=r"lacks 'faithfullness'. .*faithfulness"):
        read(old, metrics=["faithfullness"])


def test_a_column_without_numbers_is_excluded() -> None:
    data = read(FRAME.assign(note=["good", "bad"]))
    assert [(e.place, e.reason) for e in account_of(data).excluded] == [
        ("DataFrame, row 0, column note", "no number"),
        ("DataFrame, row 1, column note", "no number"),
    ]


def test_a_data_set_without_metrics_is_no_result() -> None:
    assert detect_format(FRAME[["user_input", "response", "reference"]]).confidence == "needs a mapping"


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "verdicts"),
    [
        ("annotated_data.json", {(0.0, True): 9, (1.0, True): 7, (0.0, False): 3, (1.0, False): 2}),
        ("sample_annotated_summary.json", {(1.0, True): 10, (1.0, False): 7, (0.0, False): 2}),
    ],
)
def test_real_annotations(real_data: Path, name: str, verdicts: dict[Any, int]) -> None:
    data = read(real_data / "ragas" / name)
    accepted = data["score"] == data["gold"]
    assert data.groupby(["score", accepted]).size().to_dict() == verdicts
    right = js.accuracy(data)
    assert right.set_index("term").loc["accuracy", "estimate"] == accepted.mean()
