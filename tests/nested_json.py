"""Nested JSON of several shapes, of any size."""

from __future__ import annotations

import random
from typing import Any

_WORDS = ("alpha", "beta", "gamma", "delta", "judge", "answer", "long")


def _text(rng: random.Random, n: int) -> str:
    return " ".join(rng.choices(_WORDS, k=n))


def records(n: int) -> list[dict[str, Any]]:
    """Records with objects and lists within objects and lists."""
    rng = random.Random(0)
    return [
        {
            "id": i,
            "meta": {"a": {"b": {"c": rng.random(), "d": [{"x": k, "y": _text(rng, 5)} for k in range(5)]}}},
            "text": _text(rng, 60),
            "evals": [{"by": f"j{k}", "v": {"s": rng.randint(1, 5), "t": _text(rng, 10)}} for k in range(4)],
        }
        for i in range(n)
    ]


def by_judge(n: int) -> dict[str, dict[str, int]]:
    """An object of each judge, with a score of each item."""
    rng = random.Random(0)
    return {f"judge{j}": {f"item{i}": rng.randint(1, 5) for i in range(n)} for j in range(20)}


def by_item(n: int) -> dict[str, dict[str, Any]]:
    """An object of each item, with a text and the scores."""
    rng = random.Random(0)
    return {
        f"item-{i}": {"text": _text(rng, 60), "scores": {f"j{k}": rng.randint(1, 5) for k in range(5)}}
        for i in range(n)
    }


def long_text(n: int) -> dict[str, Any]:
    """One object with a long text beside a list of records."""
    return {"config": {"a": 1}, "log": _text(random.Random(0), 60 * n), "results": {"inner": records(n // 2)}}


def nested_names(n: int) -> list[dict[str, Any]]:
    """Records with an object whose names differ from record to record."""
    rng = random.Random(0)
    return [
        {"id": i, "notes": {f"f{i}_{k}": _text(rng, 3) for k in range(5)}, "text": _text(rng, 20)} for i in range(n)
    ]


def own_names(n: int) -> list[dict[str, Any]]:
    """Records of which each has a name of its own."""
    rng = random.Random(0)
    return [{"id": i, f"f{i}": 1, "text": _text(rng, 20)} for i in range(n)]


SHAPES = (records, by_judge, by_item, long_text, nested_names, own_names)
