"""FastChat: winners in item frame, so game 2 is flipped once."""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from judgestats.errors import SchemaError
from judgestats.ingest import detect_format, read

Write = Callable[..., Path]


def pair(g1: str, g2: str, **more: Any) -> dict[str, Any]:
    return {
        "question_id": 81, "model_1": "m", "model_2": "w", "g1_winner": g1, "g2_winner": g2,
        "judge": ["gpt-4", "pair-v2"], "g1_judgment": "one", "g2_judgment": "two", "turn": 1, "tstamp": 1.5, **more,
    }  # fmt: skip


def won(calls: pd.DataFrame) -> pd.Series:
    """Winning candidate of each call, from the canonical columns alone."""
    return (
        calls["first"]
        .where(calls["choice"] == "first", calls["second"])
        .where(calls["choice"].isin(["first", "second"]))
    )


@pytest.mark.parametrize(("g1", "g2"), list(itertools.product(["model_1", "model_2", "tie", "error"], repeat=2)))
def test_each_game_is_flipped_exactly_once(write: Write, g1: str, g2: str) -> None:
    calls = read(write("p.jsonl", [pair(g1, g2)]))
    assert calls[["first", "second"]].to_numpy().tolist() == [["m", "w"], ["w", "m"]]
    name = {"model_1": "m", "model_2": "w"}
    for winner, winning, choice in zip((g1, g2), won(calls), calls["choice"], strict=True):
        if winner in name:
            assert winning == name[winner]
        else:
            assert choice == {"tie": "tie", "error": "invalid"}[winner]
    assert (calls["status"] == ["error" if g == "error" else "ok" for g in (g1, g2)]).all()


def test_columns_of_a_pair(write: Write) -> None:
    calls = read(write("p.jsonl", [pair("model_1", "tie"), pair("tie", "tie", turn=2)]))
    assert calls["item"].tolist() == ["81/turn 1"] * 2 + ["81/turn 2"] * 2
    assert calls["prompt"].unique().tolist() == ["pair-v2"]
    assert calls["judge"].unique().tolist() == ["gpt-4"]
    assert calls["rationale"].tolist() == ["one", "two", "one", "two"]


def test_single_minus_one_is_missing(write: Write) -> None:
    record = {"question_id": 7, "model": "m", "judge": ["gpt-4", "single-v1"], "judgment": "so so", "turn": 2}
    ratings = read(write("s.jsonl", [{**record, "score": 7}, {**record, "question_id": 8, "score": -1}]))
    assert ratings["item"].tolist() == ["7/turn 2", "8/turn 2"]
    assert ratings["score"].isna().tolist() == [False, True]
    assert ratings["status"].tolist() == ["ok", "parse"]
    assert ratings["condition"].tolist() == ["single-v1"] * 2


def test_a_file_of_missing_scores_alone_still_has_its_score_column(write: Write) -> None:
    record = {"question_id": 7, "model": "m", "judge": ["gpt-4", "single-v1"], "score": -1, "turn": 2}
    assert read(write("s.jsonl", [record]))["score"].isna().all()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"g2_winner": "model_3"}, r"line 2: g2_winner is 'model_3'\. Allowed: model_1, model_2, tie, error"),
        ({"judge": 4}, r"line 2: judge is '4'"),
    ],
)
def test_a_value_that_the_format_does_not_have(write: Write, change: dict[str, Any], says: str) -> None:
    with pytest.raises(SchemaError, match=says):
        read(write("p.jsonl", [pair("tie", "tie"), pair("tie", "tie", **change)]))


def test_a_record_that_lacks_a_field(write: Write) -> None:
    broken = pair("tie", "tie")
    del broken["g2_winner"]
    with pytest.raises(SchemaError, match=r"p\.jsonl, line 2: the record lacks 'g2_winner'"):
        read(write("p.jsonl", [pair("tie", "tie"), broken]))


@pytest.mark.real
def test_real_pairs_against_the_file(real_data: Path) -> None:
    path = real_data / "mt_bench" / "native_gpt-4_pair.jsonl.gz"
    assert detect_format(path).format == "fastchat_pair"
    calls = read(path)
    records = [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
    assert len(calls) == 2 * len(records) == 150
    expected = []
    for r in records:
        for game in ("g1_winner", "g2_winner"):
            expected.append(r[r[game]] if r[game].startswith("model") else None)
    assert won(calls).fillna("-").tolist() == [e or "-" for e in expected]
    assert (calls["status"] == "error").sum() == 3
    assert ((calls["status"] == "error") == (calls["choice"] == "invalid")).all()


@pytest.mark.real
def test_real_single(real_data: Path) -> None:
    ratings = read(real_data / "mt_bench" / "native_gpt-4_single.jsonl.gz")
    assert len(ratings) == 160
    assert ratings["score"].between(1, 10).all()
