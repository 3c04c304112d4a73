"""Arena-Hard: scores in position frame; game 1 shows the baseline first, game 2 the model."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from judgestats.errors import SchemaError
from judgestats.ingest import detect_format, read
from refusals import refused

Write = Callable[..., Path]
LEVELS = {"A>>B": 0.0, "A>B": 0.25, "A=B": 0.5, "B>A": 0.75, "B>>A": 1.0}


def record(*scores: Any, **more: Any) -> dict[str, Any]:
    return {"question_id": "q", "model": "m", "judge": "j", "games": [{"score": s} for s in scores], **more}


@pytest.mark.parametrize("one", LEVELS)
@pytest.mark.parametrize("two", LEVELS)
def test_every_combination(write: Write, one: str, two: str) -> None:
    calls = read(write("a.jsonl", [record(one, two)]))
    assert calls[["first", "second"]].to_numpy().tolist() == [["baseline", "m"], ["m", "baseline"]]
    assert calls["strength"].tolist() == [LEVELS[one], LEVELS[two]]
    for score, choice, first, second in zip((one, two), calls["choice"], calls["first"], calls["second"], strict=True):
        model_is = "A" if first == "m" else "B"  # what the judge was shown
        named = "tie" if "=" in score else ("m" if score.startswith(model_is) else "baseline")
        assert {"first": first, "second": second, "tie": "tie"}[choice] == named


def test_a_single_game_gives_a_single_row(write: Write) -> None:
    calls = read(write("a.jsonl", [record("A>B")]))
    assert len(calls) == 1
    assert calls.loc[0, "first"] == "baseline"


def test_null_score_and_null_game(write: Write) -> None:
    broken = record("A>B", None)
    broken["games"][0] = None
    calls = read(write("a.jsonl", [broken]))
    assert calls["choice"].tolist() == ["invalid", "invalid"]
    assert calls["status"].tolist() == ["error", "parse"]


def test_one_error_names_all_records_that_cannot_be_read(write: Write) -> None:
    lacking = {k: v for k, v in record("A>B").items() if k != "judge"}
    faults = [record("A>>>B"), record("A>B"), {**record(), "games": None}, lacking]
    with pytest.raises(SchemaError) as error:
        read(write("a.jsonl", [record("A>B"), *faults, *[lacking] * 8]))
    text = str(error.value)
    assert text.startswith("a.jsonl, line 2: score of game 1 is 'A>>>B'. Allowed: A>>B, ")
    assert "Also line 4: games is 'None'; line 5: the record lacks 'judge'; line 6: " in text
    assert text.endswith("line 11: the record lacks 'judge'; and 2 more records.")
    with pytest.raises(
        SchemaError, match=r"games is 'None'. Allowed: a list of one or two games, .* leave the record out"
    ):
        read(write("b.jsonl", [record("A>B"), {**record(), "games": None}]))


def test_unknown_score_and_too_many_games(write: Write) -> None:
    refused(
        SchemaError,
        (lambda: read(write("a.jsonl", [record("A>B", "A>C")])), r"line 1: score of game 2 is 'A>C'\. Allowed: A>>B"),
        (lambda: read(write("b.jsonl", [record("A>B", "A>B", "A>B")])), "a list of one or two games"),
    )


V2 = {
    "uid": "u1", "category": "coding", "judge": "gpt-4.1", "model": "m", "baseline": "o3-mini",
    "games": [
        {"score": "A<B", "judgment": {"answer": "B it is"}, "prompt": []},
        {"score": "B=A", "judgment": {"answer": "even"}, "prompt": []},
    ],
}  # fmt: skip


def test_version_2(write: Write) -> None:
    path = write("a.jsonl", [V2, {**V2, "uid": "u2", "games": [None, {"score": None, "judgment": None}]}])
    assert detect_format(path).format == "arena_hard_v2"
    calls = read(path)
    assert calls["first"].tolist() == ["o3-mini", "m"] * 2
    assert calls["choice"].tolist() == ["second", "tie", "invalid", "invalid"]
    assert calls["strength"].tolist()[:2] == [0.75, 0.5]
    assert calls["status"].tolist() == ["ok", "ok", "error", "parse"]
    assert calls["task"].unique().tolist() == ["coding"]
    assert calls["rationale"].tolist()[:2] == ["B it is", "even"]


def test_version_2_baseline_by_category(write: Write) -> None:
    bare = {k: v for k, v in V2.items() if k != "baseline"}
    path = write("a.jsonl", [bare])
    assert read(path)["first"].tolist() == ["baseline", "m"]
    assert read(path, baseline={"coding": "o3"})["first"].tolist() == ["o3", "m"]
    with pytest.raises(SchemaError, match="no baseline for category 'coding'"):
        read(path, baseline={"math": "o3"})


@pytest.mark.slow
@pytest.mark.real
def test_real_ensemble(real_data: Path) -> None:
    path = real_data / "arena_hard_ko" / "all_ensemble_judgments.jsonl.gz"
    calls = read(path, baseline="claude-3.7-sonnet")
    assert len(calls) == 2 * 38_000 - 1  # one record has a single game
    base = "claude-3.7-sonnet"
    itself = (calls["first"] == f"{base} (baseline)") | (calls["second"] == f"{base} (baseline)")
    assert itself.sum() == 1000  # the baseline is also one of the 76 models
    file = 0
    with gzip.open(path, "rt") as lines:
        for r in map(json.loads, lines):
            for game, side in zip(r["games"], "BA", strict=False):  # the side of the model
                file += r["model"] != base and game["score"].startswith(f"{side}>")
    calls = calls[~itself]
    first = (calls["choice"] == "first") & (calls["first"] != base)
    second = (calls["choice"] == "second") & (calls["second"] != base)
    assert int(first.sum() + second.sum()) == file


def test_the_baseline_against_itself_is_two_candidates(write: Write) -> None:
    calls = read(write("a.jsonl", [record("A>B", "A>B", model="b", baseline="b")]))
    assert calls[["first", "second"]].to_numpy().tolist() == [["b (baseline)", "b"], ["b", "b (baseline)"]]
