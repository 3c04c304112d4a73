"""MLflow: assessments of traces, and tables of evaluation results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from judgestats.ingest.json_values import Fields, Row
from judgestats.ingest.readers import SCORES, Place, Reader, score_and_status
from judgestats.ingest.record_fields import absent, as_text, context, parsed_cell, person_name
from judgestats.ingest.record_versions import IF_FALSE, Identity

_TYPES = {"HUMAN": "human", "LLM_JUDGE": "model", "AI_JUDGE": "model", "CODE": "code"}
_VALUE = "/value"
_PARTS = (_VALUE, "/rationale", "/error_message", "/error_code")
_USED = (
    *(
        "trace",
        "trace_id",
        "request_id",
        "client_request_id",
        "request",
        "response",
        "inputs",
        "outputs",
        "expectations",
    ),
    *("assessments", "spans", "tags", "trace_metadata", "state", "request_time", "execution_duration", "info", "data"),
)


def _assessments(record: Fields) -> object:
    """The assessments of a trace: a column of a frame, or in the trace itself."""
    if "assessments" in record:
        return parsed_cell(record["assessments"])
    info = parsed_cell(record.get("info"))
    return info.get("assessments", []) if isinstance(info, dict) else None


def matches(record: Fields) -> str:
    """Recognise a trace with its assessments, an assessment, or a row of evaluation results."""
    if "assessments" in record and {"trace_id", "trace"} & set(record):
        return "there are traces with assessments"
    if isinstance(record.get("info"), dict) and "trace_id" in record["info"] and "data" in record:
        return "records are traces: info with trace_id, and data"
    if {"assessment_name", "source"} <= set(record):
        return "records have assessment_name and source"
    if any(str(k).endswith(_VALUE) for k in record) and {"trace_id", "trace", "inputs", "outputs", "request"} & set(
        record
    ):
        return "there are columns <metric>/value"
    return ""


def rows(
    record: Fields, place: Place, judge: str | None = None, scores: Mapping[str, float] | None = None
) -> Iterator[Row]:
    """Read the feedback on a trace: its name is the criterion, its source the judge."""
    info = parsed_cell(record.get("info"))
    info = info if isinstance(info, dict) else {}
    trace = record.get("trace_id", info.get("trace_id", record.get("request_id")))
    common = context(record, _USED)
    if "assessment_name" in record:
        yield from _feedback(record, trace, place, scores)
        return
    assessments = _assessments(record)
    if assessments is not None:
        if not isinstance(assessments, list):
            raise place.wrong("assessments", assessments, "a list of assessments")
        if not assessments:
            place.exclude("trace without an assessment")
        for assessment in assessments:
            if not isinstance(assessment, dict):
                raise place.wrong("an assessment", assessment, "an object with assessment_name, source and feedback")
            for row in _feedback(assessment, trace, place, scores):
                yield {**{k: v for k, v in common.items() if not k.endswith(_PARTS)}, **row}
        return
    for name in (str(k).removesuffix(_VALUE) for k in record if str(k).endswith(_VALUE)):
        failed = not absent(record.get(f"{name}/error_message")) or not absent(record.get(f"{name}/error_code"))
        answer = score_and_status(place, name, record[f"{name}{_VALUE}"], scores, failed=failed)
        if answer is not None:
            yield {
                **{k: v for k, v in common.items() if not k.endswith(_PARTS)},
                "judge": judge or name,
                "item": str(place.index) if absent(trace) else str(trace),
                "criterion": name,
                **answer,
                "rationale": as_text(record.get(f"{name}/rationale")),
            }


def _feedback(assessment: Fields, trace: object, place: Place, scores: Mapping[str, float] | None) -> Iterator[Row]:
    """The rows of one assessment."""
    name = str(place.need(assessment, "assessment_name") if "name" not in assessment else assessment["name"])
    feedback, source = assessment.get("feedback"), assessment.get("source")
    if not isinstance(feedback, dict):
        kind = "expectation" if assessment.get("expectation") else "issue" if assessment.get("issue") else "assessment"
        place.exclude(f"{kind} without feedback", name)
        return
    if not isinstance(source, dict) or str(source.get("source_type")) not in (*_TYPES, "SOURCE_TYPE_UNSPECIFIED"):
        raise place.wrong("source of an assessment", source, f"an object with source_type {', '.join(_TYPES)}")
    trace, span = assessment.get("trace_id") or trace, assessment.get("span_id")
    if absent(trace):
        place.exclude("feedback on no trace", name)
        return
    value = feedback.get("value")
    values = {f"{name}.{k}": v for k, v in value.items()} if isinstance(value, dict) and value else {name: value}
    kind = str(source["source_type"])
    for criterion, one in values.items():
        answer = score_and_status(
            place, criterion, one, scores, failed=bool(feedback.get("error") or assessment.get("error"))
        )
        if answer is not None:
            yield {
                "judge": person_name(source.get("source_id"), kind.lower()),
                "item": f"{trace}/{span}" if span else str(trace),
                "criterion": criterion,
                **answer,
                "rationale": as_text(assessment.get("rationale")),
                "rater_type": _TYPES.get(kind),
            }


READER = Reader(
    name="mlflow",
    frame="ratings",
    about="MLflow assessments of traces by people, judges and code; tables with <metric>/value",
    example='{"trace_id": ..., "assessments": [{"assessment_name": ..., "source": {...}, "feedback": {...}}, ...]}',
    matches=matches,
    rows=rows,
    options={"judge": "name of the scorers of a table with <metric>/value", **SCORES},
    containers=("json", "jsonl", "csv", "parquet"),
    fields={
        "assessment_name, <metric>/value": "criterion",
        "source.source_type": "rater_type: HUMAN human, LLM_JUDGE model, CODE code",
        "source.source_id": "judge",
        "feedback.value, <metric>/value": "score: numbers, booleans, yes and no; each value of a record by itself",
        "feedback.error, <metric>/error_message": "status error",
        "rationale, <metric>/rationale": "rationale",
        "trace_id, span_id": "item",
    },
    sample="a file written by the mlflow package",
    repeats=True,
    identity=Identity(
        keys=(("[].assessment_id",),),
        time=("[].last_update_time", "[].last_update_time_ms"),
        replaces="[].overrides",
        withdrawn={"[].valid": (IF_FALSE, "feedback that a later one replaces")},
        within=("assessments", "info.assessments"),
    ),
)
