"""Logs of Inspect AI, written as it writes them."""

from __future__ import annotations

import io
import json
import random
import struct
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

STORED, DEFLATE, ZSTD = 0, 8, 93


def zipped(members: Mapping[str, bytes] | list[tuple[str, bytes]], method: int = ZSTD) -> bytes:
    """A zip archive as bytes, written by hand where ``zipfile`` has no such method."""
    pairs = [*members.items()] if isinstance(members, Mapping) else members
    body, directory = io.BytesIO(), io.BytesIO()
    for name, content in pairs:
        packed = {
            0: lambda c: c,
            8: lambda c: zlib.compress(c)[2:-4],
            93: lambda c: pa.Codec("zstd").compress(c, asbytes=True),
        }.get(method, lambda c: c)(content)
        at, encoded = body.tell(), name.encode()
        head = struct.pack("<HHHHIII", 0x800, method, 0, 33, zlib.crc32(content), len(packed), len(content))
        body.write(
            b"PK\x03\x04" + struct.pack("<H", 20) + head + struct.pack("<HH", len(encoded), 0) + encoded + packed
        )
        directory.write(
            b"PK\x01\x02"
            + struct.pack("<HH", 20, 20)
            + head
            + struct.pack("<HHHHHII", len(encoded), 0, 0, 0, 0, 0, at)
            + encoded
        )
    listed = directory.getvalue()
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, len(pairs), len(pairs), len(listed), body.tell(), 0)
    return body.getvalue() + listed + end


def head(
    scorers: Sequence[Mapping[str, Any]] = ({"name": "model_graded_qa", "options": {}},), **changed: Any
) -> dict[str, Any]:
    """The head of a log; `changed`: fields of ``eval``."""
    spec = {
        "eval_id": "e1", "run_id": "r1", "created": "2026-05-01T10:00:00+00:00", "task": "riddles", "task_id": "t1",
        "task_args": {"hard": True}, "dataset": {"name": "riddles", "samples": 2}, "model": "acme/writer-1",
        "model_roles": {}, "config": {"epochs": 1}, "packages": {"inspect_ai": "0.3.210"}, "scorers": [*scorers],
    } | changed  # fmt: skip
    return {
        "version": 2,
        "status": "success",
        "eval": spec,
        "plan": {"name": "plan", "steps": []},
        "results": {"scores": []},
    }


def score(value: Any, explanation: str | None = "Because.", **more: Any) -> dict[str, Any]:
    """A score; `more`: further fields."""
    return {"value": value, "answer": "a door"} | ({"explanation": explanation} if explanation else {}) | more


def sample(number: Any, scores: Any, epoch: int = 1, **more: Any) -> dict[str, Any]:
    """A sample in the order of Inspect's fields: events, error and the like follow the scores."""
    before = {
        "id": number,
        "epoch": epoch,
        "input": "A riddle.",
        "target": "door",
        "messages": [],
        "output": {"choices": []},
    }
    after = {
        "metadata": {},
        "store": {},
        "events": [{"event": "score", "scores": {"x": 1}}],
        "uuid": f"u{number}-{epoch}",
    }
    return before | ({} if scores is None else {"scores": scores}) | after | more


def zipped_log(
    samples: Iterable[Mapping[str, Any]],
    header: Mapping[str, Any] | None = None,
    method: int = ZSTD,
    ended: bool = True,
) -> bytes:
    """A log as ``.eval``; one that has not `ended` has no header, only what was known at the start."""
    header = head() if header is None else header
    start = {name: header[name] for name in ("version", "eval", "plan") if name in header}
    members = [("_journal/start.json", start)]
    members += [(f"samples/{s.get('id')}_epoch_{s.get('epoch')}.json", s) for s in samples]
    if ended:
        members += [("summaries.json", []), ("header.json", header)]
    return zipped([(name, json.dumps(content, separators=(",", ":")).encode()) for name, content in members], method)


def long_log(n: int, method: int = ZSTD) -> bytes:
    """A log of `n` model-graded samples of about 30 kB each: prompts, replies, the grader's reasons, and the events."""
    rng = random.Random(0)
    words = ["".join(rng.choices("etaoinshrdlucmfwypvbgk", k=rng.randint(2, 9))) for _ in range(3000)]
    weights = [1 / rank for rank in range(1, 3001)]  # as in prose, so that the log is compressed as a real one is

    def text(length: int) -> str:
        found = rng.choices(words, weights, k=length)
        return "\n".join(" ".join(found[i : i + 12]) for i in range(0, length, 12))

    def call(prompt: str, reply: str) -> dict[str, Any]:
        message = {
            "id": f"{rng.getrandbits(90):x}",
            "content": reply,
            "source": "generate",
            "role": "assistant",
            "model": "writer-1",
        }
        request = {"messages": [{"role": "user", "content": prompt}], "model": "writer-1", "tools": []}
        usage = {"input_tokens": len(prompt), "output_tokens": len(reply), "total_tokens": len(prompt) + len(reply)}
        return {
            "span_id": f"{rng.getrandbits(128):x}", "timestamp": "2026-05-01T10:00:00+00:00", "event": "model", "model": "acme/writer-1",
            "input": [{"id": f"{rng.getrandbits(90):x}", "content": prompt, "role": "user"}], "config": {},
            "output": {"model": "writer-1", "choices": [{"message": message, "stop_reason": "stop"}], "usage": usage},
            "call": {"request": request, "response": {"choices": [{"index": 0, "message": message}], "usage": usage}},
        }  # fmt: skip

    def made(number: int) -> dict[str, Any]:
        question, answer, reasons = text(120), text(60), text(300)
        prompt = f"Compare.\n{question}\n{answer}\n{text(100)}"
        replies = [{"content": prompt, "role": "user"}, {"content": reasons, "role": "assistant", "model": "judge-1"}]
        given = score(rng.choice("CI"), reasons, metadata={"grading": replies})
        events = [call(question, answer), call(prompt, reasons), {"event": "score", "score": given}]
        messages = [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
        more = {"messages": messages, "metadata": {"topic": rng.choice("abc")}, "events": events}
        return sample(number, {"model_graded_qa": given}, **more)

    return zipped_log((made(i) for i in range(n)), method=method)
