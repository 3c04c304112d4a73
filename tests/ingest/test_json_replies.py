"""Answers in the JSON objects of a reply."""

from __future__ import annotations

from typing import Any

from judgestats.ingest import json_replies
from judgestats.ingest.replies import parse_verdicts


def test_damaged_objects_are_read_a_bounded_number_of_times(monkeypatch):
    calls = []
    decode = json_replies._DECODER.raw_decode

    class Counting:
        def raw_decode(self, text: str, at: int) -> Any:
            calls.append(at)
            return decode(text, at)

    monkeypatch.setattr(json_replies, "_DECODER", Counting())
    for text in ('{"' * 5_000, '{"winner": "A" ' * 2_000, '{"a":' * 5_000):
        calls.clear()
        assert parse_verdicts([text])["status"].iloc[0] == "truncated"
        assert len(calls) <= 100
