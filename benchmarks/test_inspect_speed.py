"""A log of Inspect with 10,000 samples: read, against reading the bare members of the zip archive, in one run.

The samples are of about 26 kB, compact JSON, and compressed to about a tenth, as Inspect's logs are. Deflated members
are read by Python's ``zipfile``, those in zstd, which it has only since 3.14, by our own archive reader.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

import judgestats as js
from inspect_logs import DEFLATE, ZSTD, long_log
from judgestats.ingest.archives import Archive

SAMPLES = 10_000
METHODS = {"deflate": DEFLATE, "zstd": ZSTD}


@pytest.fixture(scope="module", params=METHODS)
def log(request, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("logs") / f"{request.param}.eval"
    path.write_bytes(long_log(SAMPLES, METHODS[request.param]))
    return path


def members(path: Path) -> int:
    """Unpack all members, and forget them."""
    if path.stem == "deflate":
        with zipfile.ZipFile(path) as archive:
            return sum(len(archive.read(name)) > 0 for name in archive.namelist())
    with Archive(path, 10**9) as archive:
        return sum(len(archive.read(name)) > 0 for name in archive.names())


@pytest.mark.benchmark(group="Inspect log, 10,000 samples")
def test_ours(benchmark, log):
    frame = benchmark.pedantic(js.read, args=(log,), rounds=7, warmup_rounds=1)
    assert len(frame) == SAMPLES


@pytest.mark.benchmark(group="Inspect log, 10,000 samples")
def test_bare_members(benchmark, log):
    assert benchmark.pedantic(members, args=(log,), rounds=7, warmup_rounds=1) == SAMPLES + 3
