"""Langfuse: exported scores of people, evaluators and programs, JSON, JSONL or CSV."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from judgestats.errors import choose
from judgestats.ingest.json_values import Fields, Row
from judgestats.ingest.readers import SCORES, Place, Reader, score_and_status
from judgestats.ingest.record_fields import absent, as_text, context, parsed_cell, person_name
from judgestats.ingest.record_versions import IF_TRUE, Identity

#: Field of the API and the tables -> its name in scheduled exports.
_SNAKE = {
    **{"traceId": "trace_id", "observationId": "observation_id", "sessionId": "session_id", "dataType": "data_type"},
    **{"datasetRunId": "dataset_run_id", "stringValue": "string_value", "authorUserId": "author_user_id"},
    "evaluatorId": "evaluator_id",
}
#: What a score is on, from the most to the least specific.
_SUBJECTS = ("observationId", "traceId", "sessionId", "datasetRunId")
_USED = (
    *("id", "name", "source", "value", "comment", "metadata", "subject", "timestamp", "createdAt", "updatedAt"),
    *("created_at", "updated_at", "projectId", "project_id", "configId", "config_id", "queueId", "queue_id"),
    *("executionTraceId", "execution_trace_id", "isDeleted", "is_deleted", *_SNAKE, *_SNAKE.values()),
)
_SOURCES = {"ANNOTATION": "human", "EVAL": "model", "API": None}


def matches(record: Fields) -> str:
    """Recognise a score by its source, value and type."""
    if {"name", "source", "value"} <= set(record) and ("dataType" in record or "data_type" in record):
        return "records have name, source, value and dataType"
    return ""


def rows(
    record: Fields,
    place: Place,
    judge: str | None = None,
    api: str | None = None,
    scores: Mapping[str, float] | None = None,
) -> Iterator[Row]:
    """Read a score: its name is the criterion, and the item is what it is on."""
    if api is not None:
        choose(api, ("human", "model", "code"), "api")
    field = {k: record.get(k, record.get(v)) for k, v in _SNAKE.items()}
    subject = parsed_cell(record.get("subject"))
    if isinstance(subject, dict) and not any(not absent(field[k]) for k in _SUBJECTS):
        kind = {"trace": "traceId", "observation": "observationId", "session": "sessionId"}
        field[kind.get(str(subject.get("kind")), "datasetRunId")] = subject.get("id")
        field["traceId"] = field["traceId"] or subject.get("traceId", subject.get("trace_id"))
    on = next((k for k in _SUBJECTS if not absent(field[k])), None)
    if on is None:
        place.exclude("score on no trace, observation, session or dataset run")
        return
    source, name = str(place.need(record, "source")), str(place.need(record, "name"))
    if source not in _SOURCES:
        raise place.wrong("source", source, ", ".join(_SOURCES))
    if field["dataType"] in ("TEXT", "CORRECTION"):
        place.exclude(f"score of type {field['dataType']}: a text, no verdict")
        return
    raters = {"ANNOTATION": person_name(field["authorUserId"]), "API": person_name(field["authorUserId"], "API")}
    answer = score_and_status(place, name, _value(record, field), scores)
    if answer is not None:
        trace = "" if on != "observationId" or absent(field["traceId"]) else f"{field['traceId']}/"
        yield {
            **context(record, _USED),
            "judge": raters.get(source) or person_name(judge, field["evaluatorId"], "EVAL"),
            "item": f"{trace}{field[on]}",
            "criterion": name,
            **answer,
            "rationale": as_text(record.get("comment")),
            "rater_type": _SOURCES[source] or api,
            "subject": on.removesuffix("Id"),
        }


def _value(record: Fields, field: Fields) -> object:
    """The value of a score; of a category its text, unless its configuration gives it a number (else that is 0)."""
    value, text = record.get("value"), field["stringValue"]
    configured = not absent(record.get("configId", record.get("config_id")))
    if absent(value) or (field["dataType"] == "CATEGORICAL" and not configured and not absent(text)):
        return text
    return value


READER = Reader(
    name="langfuse",
    frame="ratings",
    about="Langfuse scores of people (ANNOTATION), evaluators (EVAL) and programs (API); rater_type says which",
    example='{"traceId": ..., "name": "helpful", "source": "ANNOTATION", "dataType": "NUMERIC", "value": 4, ...}',
    matches=matches,
    rows=rows,
    options={
        "judge": "name of the evaluator of scores with source EVAL",
        "api": "who wrote scores with source API: 'human', 'model' or 'code'",
        **SCORES,
    },
    containers=("json", "jsonl", "csv", "parquet"),
    fields={
        "name": "criterion",
        "value, stringValue, dataType, configId": "score; a category without a configuration needs scores=",
        "source": "rater_type: ANNOTATION human, EVAL model, API empty or api=",
        "authorUserId, evaluatorId": "judge",
        "traceId, observationId, sessionId, datasetRunId, subject": "item, and subject",
        "comment": "rationale",
    },
    sample="a file written with the score types of the langfuse package",
    repeats=True,
    identity=Identity(
        keys=(("id",), ("executionTraceId", "name")),
        time=("updatedAt", "event_ts", "createdAt", "timestamp"),
        withdrawn={"isDeleted": (IF_TRUE, "the score was deleted")},
    ),
)
