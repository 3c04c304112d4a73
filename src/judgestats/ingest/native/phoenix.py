"""Phoenix: annotations of spans, and the frames of its evaluators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from judgestats.ingest.json_values import Fields, Row
from judgestats.ingest.readers import SCORES, Place, Reader, score_and_status
from judgestats.ingest.record_fields import absent, as_text, context, parsed_cell, person_name, unread
from judgestats.ingest.record_versions import Identity

_KINDS = {"HUMAN": "human", "LLM": "model", "CODE": "code", "HEURISTIC": "code"}
_RESULT = ("label", "score", "explanation")
_DETAILS = "_execution_details"
#: Columns that name what was evaluated.
_IDS = ("context.span_id", "span_id", "context.trace_id", "trace_id", "session_id", "example_id", "id")
_USED = (
    *_RESULT,
    *_IDS,
    "name",
    "annotation_name",
    "annotator_kind",
    "result",
    "metadata",
    "identifier",
    "user_id",
    *("source", "created_at", "updated_at", "document_position", "position", "execution_status", "execution_seconds"),
    *("exceptions", *(f"result.{r}" for r in _RESULT)),
)


def matches(record: Fields) -> str:
    """Recognise an annotation, the scores of evaluators, or an evaluation."""
    if "annotator_kind" in record and ("annotation_name" in record or "name" in record):
        return "there are annotator_kind and the name of an annotation"
    if any(str(k).endswith(_DETAILS) for k in record):
        return "there are columns <evaluator>_execution_details"
    if {"label", "explanation"} <= set(record) and (
        "execution_status" in record or ("score" in record and {"context.span_id", "context.trace_id"} & set(record))
    ):
        return "there are label, explanation, and execution_status or the id of a span"
    return ""


def rows(
    record: Fields,
    place: Place,
    judge: str | None = None,
    item: str | None = None,
    criterion: str | None = None,
    scores: Mapping[str, float] | None = None,
) -> Iterator[Row]:
    """Read the annotations of a span, or the evaluations in one row of a frame."""
    ids = [k for k in ((item,) if item else _IDS) if not absent(place.need(record, k) if item else record.get(k))]
    thing = str(record[ids[0]]) if ids else str(place.index)
    part = record.get("document_position", record.get("position"))
    common = {"item": thing if absent(part) else f"{thing}/document {part}"}
    if "annotator_kind" in record:
        name = str(record.get("annotation_name", record.get("name")))
        if name == "note":
            place.exclude("a note, no verdict")
            return
        evaluations = [(name, _result(record), record.get("annotator_kind"), False)]
    elif details := [str(k) for k in record if str(k).endswith(_DETAILS)]:
        evaluations = list(_evaluations(record, [d.removesuffix(_DETAILS) for d in details]))
    else:
        failed = str(record.get("execution_status", "")).upper() in ("FAILED", "MISSING INPUT", "DID NOT RUN")
        evaluations = [(criterion or "overall", dict(record), None, failed)]
    for name, result, kind, failed in evaluations:
        value, label = result.get("score"), result.get("label")
        answer = score_and_status(
            place, name, label if absent(value) or unread(label) else value, scores, failed=failed
        )
        if answer is None:
            continue
        annotator_kind = str(kind).upper()
        if not absent(kind) and annotator_kind not in _KINDS:
            raise place.wrong("the kind of annotator", kind, ", ".join(_KINDS))
        metadata = parsed_cell(result.get("metadata", record.get("metadata")))
        model = metadata.get("model") if isinstance(metadata, dict) else None
        people = (record.get("user_id"), record.get("identifier"))
        machine = (judge, model, people[1], "llm" if absent(kind) else annotator_kind.lower())
        yield {
            **context({k: v for k, v in record.items() if not str(k).endswith((_DETAILS, "_score"))}, _USED),
            **common,
            "judge": person_name(*(people if annotator_kind == "HUMAN" else machine)),
            "criterion": name,
            **answer,
            "rationale": as_text(result.get("explanation")),
            "rater_type": _KINDS.get(annotator_kind),
        }


def _result(record: Fields) -> Row:
    """The result of an annotation, nested or in columns."""
    nested = parsed_cell(record.get("result"))
    return nested if isinstance(nested, dict) else {r: record.get(f"result.{r}", record.get(r)) for r in _RESULT}


def _evaluations(record: Fields, evaluators: list[str]) -> Iterator[tuple[str, Row, object, bool]]:
    """Each score of a row, and each evaluator that failed: its name, the score, its kind, whether it failed."""
    names = [str(k).removesuffix("_score") for k in record if str(k).endswith("_score")]
    for name in dict.fromkeys([*names, *evaluators]):
        result = parsed_cell(record.get(f"{name}_score"))
        details = parsed_cell(record.get(f"{name}{_DETAILS}"))
        done = not isinstance(details, dict) or str(details.get("status")).upper().startswith("COMPLETED")
        if isinstance(result, dict):
            yield name, result, result.get("kind", result.get("source")), False
        elif name in evaluators and not (done and _others(record, names, evaluators)):
            yield name, {}, None, not done


def _others(record: Fields, names: list[str], evaluators: list[str]) -> bool:
    """Whether a score of a row has another name than its evaluator."""
    return any(n not in evaluators and not absent(record.get(f"{n}_score")) for n in names)


READER = Reader(
    name="phoenix",
    frame="ratings",
    about="Phoenix annotations of spans (people, models, code), and the frames of its evaluators",
    example='{"span_id": ..., "annotation_name": ..., "annotator_kind": "HUMAN", "result.score": 1, ...}',
    matches=matches,
    rows=rows,
    options={
        "judge": "name of the model of an evaluator",
        "item": "column of the item; by default that of the span, trace, session or example, else the row",
        "criterion": "name of the evaluation, for a frame of label, score and explanation",
        **SCORES,
    },
    containers=("json", "jsonl", "csv", "parquet"),
    fields={
        "annotation_name, name, <name>_score": "criterion",
        "annotator_kind, kind": "rater_type: HUMAN human, LLM model, CODE code",
        "result.score, result.label, score, label": "score: the label where there is no score; NOT_PARSABLE is "
        "status parse",
        "result.explanation, explanation": "rationale",
        "user_id, identifier, metadata.model": "judge",
        "span_id, trace_id, session_id, document_position": "item",
        "<evaluator>_execution_details, execution_status": "status",
    },
    sample="frames written by arize-phoenix-evals, and annotations of the schema of arize-phoenix-client",
    repeats=True,
    identity=Identity(
        keys=(
            ("id", "annotator_kind", "span_id"),
            ("id", "annotator_kind", "trace_id"),
            ("id", "annotator_kind", "session_id"),
        ),
        time=("updated_at", "created_at"),
    ),
)
