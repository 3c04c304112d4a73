"""TREC relevance judgments (qrels): topic, iteration, document and grade, between spaces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from judgestats.errors import choose
from judgestats.ingest.json_values import Fields, Row
from judgestats.ingest.qrels import QRELS
from judgestats.ingest.readers import RATER_TYPES, Place, Reader
from judgestats.ingest.record_fields import has_fields


def matches(names: Fields) -> str:
    """Recognise the columns of such a file; :func:`judgestats.ingest.containers.container_of` looks at the lines."""
    return "lines of topic, iteration, document and grade" if has_fields(names, *QRELS) else ""


def rows(
    record: Fields, place: Place, judge: str | None = None, rater_type: Literal["model", "code", "human"] | None = None
) -> Iterator[Row]:
    """Read one grade of one document for one topic."""
    if rater_type is not None:
        choose(rater_type, RATER_TYPES, "rater_type")
    grade = str(record["grade"])
    yield {
        "judge": judge or _run(place.path.name),
        "item": f"{record['topic']}/{record['document']}",
        "criterion": "relevance",
        "score": float(grade),
        "rater_type": rater_type,
        "topic": record["topic"],
        "document": record["document"],
    }


def _run(name: str) -> str:
    """Name of a file without its suffixes."""
    for suffix in (".gz", ".txt", ".qrels", ".qrel"):
        name = name.removesuffix(suffix)
    return name


READER = Reader(
    name="qrels",
    frame="ratings",
    about="TREC qrels; a grade per topic and document",
    example="q49 0 p3659 3",
    matches=matches,
    rows=rows,
    options={
        "judge": "the assessor or the run; else the name of the file",
        "rater_type": "'model', 'code' or 'human', which the file does not say",
    },
    containers=("qrels",),
    fields={
        "topic, document": "item (<topic>/<document>); topic, document",
        "grade": "score of the criterion relevance",
        "iteration": "not read",
        "file name": "judge",
    },
    sample="public: a run of LLMJudge (TREC 2023 Deep Learning)",
)
