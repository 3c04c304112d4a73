"""`judgestats check` of 17 MB of nested JSON of several shapes: the whole command, in an interpreter of its own."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from nested_json import SHAPES

BYTES = 17_000_000


@pytest.fixture(scope="module", params=SHAPES, ids=lambda shape: shape.__name__)
def document(request, tmp_path_factory):
    few = 1000
    size = len(json.dumps(request.param(few)))
    path = tmp_path_factory.mktemp("nested") / f"{request.param.__name__}.json"
    path.write_text(json.dumps(request.param(few * BYTES // size)), encoding="utf-8")
    return path


def checked(path) -> int:
    return subprocess.run([sys.executable, "-m", "judgestats", "check", str(path)], capture_output=True).returncode


@pytest.mark.benchmark(group="check of 17 MB of nested JSON")
def test_check(benchmark, document):
    assert benchmark.pedantic(checked, args=(document,), rounds=3, warmup_rounds=1) in (0, 2)
