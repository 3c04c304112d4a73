"""All readers side by side: no two take the same record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fuzz.mutations import NATIVE
from judgestats.errors import JudgestatsError
from judgestats.ingest import registry
from judgestats.ingest.containers import container_of
from judgestats.ingest.files import File
from judgestats.ingest.qrels import QRELS
from judgestats.ingest.sniffing import _evidence

#: Evidence by the name of the reader: a record, a document, or the columns of a table.
SAMPLES: dict[str, Any] = {
    **NATIVE,
    "qrels": dict.fromkeys(QRELS),
    "inspect_ai": {
        "version": 2,
        "status": "success",
        "eval": {"task": "t", "model": "m", "dataset": {}},
        "samples": [],
    },
    "inspect_ai_samples": dict.fromkeys(("sample_id", "eval_id", "id", "epoch", "score_match")),
    "inspect_scout_labels": dict.fromkeys(("id", "label_safety", "split")),
    "inspect_scout": dict.fromkeys(("transcript_id", "scan_id", "scanner_name", "value", "value_type")),
}


def matching(evidence: Any) -> list[str]:
    return [r.name for r in registry.NATIVE if evidence and r.matches and r.matches(evidence)]


def test_every_reader_has_a_sample() -> None:
    without = sorted({r.name for r in registry.NATIVE} - set(SAMPLES))
    assert without == [], "give each a record in NATIVE of tests/fuzz/mutations.py"


@pytest.mark.parametrize("name", SAMPLES)
def test_a_record_is_of_one_format(name: str) -> None:
    assert matching(SAMPLES[name]) == [name]


@pytest.mark.parametrize("name", SAMPLES)
def test_the_names_alone_of_a_record_are_no_other_format(name: str) -> None:
    """As a table with the same columns, of which only the names are evidence."""
    assert set(matching(dict.fromkeys(SAMPLES[name]))) <= {name}


@pytest.mark.parametrize("name", [r.name for r in registry.NATIVE if r.fields])
def test_a_reader_says_what_it_uses(name: str) -> None:
    found = registry.reader(name)
    assert found.sample
    assert all(field and meaning for field, meaning in found.fields.items())


@pytest.mark.real
@pytest.mark.slow
def test_real_files_are_of_one_format(real_data: Path) -> None:
    taken: dict[str, list[str]] = {}
    for path in sorted(p for p in real_data.rglob("*") if p.is_file()):
        for documents in (True, False):
            try:
                file = File(path, container_of(path))
                found = matching(_evidence(file, documents))
            except JudgestatsError:
                continue
            taken.setdefault(path.name, []).extend(r for r in found if r not in taken.get(path.name, []))
    assert {name: found for name, found in taken.items() if len(found) > 1} == {}
    assert sum(map(len, taken.values())) >= 30
