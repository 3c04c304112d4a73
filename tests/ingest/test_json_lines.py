"""JSONL by Arrow as by the json module."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ingest.file_contents import contents_or_refusal
from judgestats.ingest import json_lines


@pytest.mark.parametrize("block", [5, 60, 2**24])
def test_arrow_reads_json_lines_as_the_json_module_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    rng = np.random.default_rng(block)
    numbers = ["1", "1.5", "-0", "-0.0", "1e2", "123456789012345678", "9" * 30, "9" * 400, "1e400", "1e15", "01"]
    words = ["NaN", "Infinity", "Inf", "null", "true", "truex", "'x'", '""', '"x"', '"2020-01-01"', '"é"', '"\u2028"']
    texts = [r'"\ud83d"', r'"\ud83d\ude00"', '"\\u0000"', '"\x01"', "[]", "{}", '{"c": 1}', "[1, 2]"]
    odd = [*numbers, *words, *texts, "1}{", '1, "a": 2', '1, "b": 3', "1\n"]
    ends = ["\n", "\n", "\n", "\r\n", "\n\n", " \n", "", "\r"]
    sound = 0
    monkeypatch.setattr(json_lines, "_FIRST_LINES", 2)
    monkeypatch.setattr(json_lines, "BLOCK", block)
    for i in range(300):
        path = tmp_path / f"{i}.jsonl"
        common = rng.choice([*numbers, *words], 2) if i % 2 else ["1", '"y"']
        lines = []
        for _ in range(rng.integers(3, 9)):
            value = rng.choice(odd) if rng.random() < 0.15 else rng.choice(common)
            name = rng.choice(["a", "a", "a", "\\u0061", "d"])
            lines.append(
                f'{{"{name}": {value}, "b": {rng.choice(common)}}}' + rng.choice(ends, p=[0.3] * 3 + [0.02] * 5)
            )
        path.write_bytes("".join(lines).encode())
        by_arrow = contents_or_refusal(path)
        with monkeypatch.context() as strict:
            strict.setattr(json_lines.JsonLines, "_cells", lambda *_: None)
            assert by_arrow == contents_or_refusal(path), lines
        sound += not isinstance(by_arrow, str)
    assert sound > 50
