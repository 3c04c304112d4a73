"""AlpacaEval: graded, the order not recorded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from judgestats.errors import SchemaError
from judgestats.ingest import detect_format, read

Write = Callable[..., Path]


def record(preference: Any, **more: Any) -> dict[str, Any]:
    return {
        "instruction": "i", "output_1": "four", "generator_1": "base", "dataset": "d", "output_2": "eleven",
        "generator_2": "m", "annotator": "a", "preference": preference, "price_per_example": 0.5,
        "time_per_example": 2.0, **more,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("preference", "choice", "strength"),
    [
        (1, "first", 0.0),
        (2.0, "second", 1.0),
        (1.5, "tie", 0.5),
        (0, "tie", 0.5),
        (1.25, "first", 0.25),
        (1.99, "second", 0.99),
    ],
)
def test_levels(write: Write, preference: float, choice: str, strength: float) -> None:
    calls = read(write("annotations.json", [record(preference)]))
    assert calls["choice"].tolist() == [choice]
    assert calls["strength"].tolist() == pytest.approx([strength])
    assert calls[["first", "second", "task", "item"]].iloc[0].tolist() == ["base", "m", "d", "0"]
    assert not calls["order_known"].any()
    assert calls[["length_first", "length_second", "cost", "latency"]].iloc[0].tolist() == [4, 6, 0.5, 2.0]


def test_not_parsed(write: Write) -> None:
    calls = read(write("annotations.json", [record(None), record(2)]))
    assert calls["choice"].tolist() == ["invalid", "second"]
    assert calls["status"].tolist() == ["parse", "ok"]
    assert calls["item"].tolist() == ["0", "1"]


def test_a_generator_against_itself_is_two_candidates(write: Write) -> None:
    calls = read(write("annotations.json", [record(1.5, generator_1="m")]))
    assert calls[["first", "second"]].to_numpy().tolist() == [["m (baseline)", "m"]]


def test_off_the_scale(write: Write) -> None:
    with pytest.raises(SchemaError, match=r"record 2: preference is '3'\. Allowed: 1 to 2"):
        read(write("annotations.json", [record(1), record(3)]))


def test_the_reasons_are_kept_the_log_probabilities_are_not(write: Write) -> None:
    calls = read(write("annotations.json", [record(1, raw_completion={"concise_explanation": "shorter"})]))
    assert calls["rationale"].tolist() == ["shorter"]
    assert "rationale" not in read(write("b.json", [record(1, raw_completion={"logprobs": {}})]))


@pytest.mark.real
def test_real_native_against_its_tidy_twin(real_data: Path) -> None:
    path = real_data / "alpaca_eval" / "native_text_davinci_001_alpaca_eval_gpt4_annotations.json.gz"
    assert detect_format(path).format == "alpaca_eval"
    native = read(path)
    tidy = pd.read_csv(real_data / "alpaca_eval" / "preferences.csv.gz")
    twin = tidy[(tidy["model"] == "text_davinci_001") & (tidy["annotator"] == "alpaca_eval_gpt4")].reset_index(
        drop=True
    )
    assert len(native) == len(twin) == 805
    grade = twin["preference"].replace(0, 1.5) - 1
    assert native["strength"].fillna(-1).tolist() == pytest.approx(grade.fillna(-1).tolist())
    assert native["length_first"].tolist() == twin["chars_output_1"].tolist()
    assert native["length_second"].tolist() == twin["chars_output_2"].tolist()
    side = (
        pd.Series("tie", index=grade.index)
        .mask(grade < 0.5, "first")
        .mask(grade > 0.5, "second")
        .mask(grade.isna(), "invalid")
    )
    assert native["choice"].tolist() == side.tolist()


@pytest.mark.slow
@pytest.mark.real
def test_real_tidy_file_through_a_mapping(real_data: Path) -> None:
    """133 files, the two in which the baseline meets itself included."""
    path = real_data / "alpaca_eval" / "preferences.csv.gz"
    table = pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""])
    calls = read(
        path,
        columns={"judge": "annotator", "item": "instruction_index", "first": "generator_1", "second": "generator_2",
                 "graded": "preference", "order_known": "=false"},
        labels={"1": "first", "2": "second", "0": "tie"},
    )  # fmt: skip
    assert len(calls) == 107_055
    value = pd.to_numeric(table["preference"])
    assert (calls["choice"] == "tie").sum() == value.isin([0, 1.5]).sum()
    assert (calls["choice"] == "second").sum() == (value > 1.5).sum()
    assert (calls["choice"] == "invalid").sum() == value.isna().sum()
    assert not calls["order_known"].any()
