"""Argilla: records with the responses of users and the suggestions of models, as versions 1 and 2 export them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from judgestats.ingest.json_values import Fields, Row
from judgestats.ingest.readers import SCORES, Place, Reader, score_and_status
from judgestats.ingest.record_fields import absent, context, parsed_cell, person_name
from judgestats.ingest.record_versions import Identity

_FLAT = ".responses.users"
_STATUSES = ("submitted", "draft", "discarded")
_USED = ("id", "_server_id", "external_id", "fields", "responses", "suggestions", "vectors", "metadata", "status")
#: Question, user, value, status.
Response = tuple[str, object, object, object]


def matches(record: Fields) -> str:
    """Recognise a record of version 1 or 2, or a row of a flat export."""
    if isinstance(record.get("fields"), dict) and isinstance(record.get("responses"), dict | list):
        return "records have fields and responses"
    if any(str(k).endswith(_FLAT) for k in record):
        return "there are columns <question>.responses.users"
    return ""


def rows(
    record: Fields,
    place: Place,
    item: str | None = None,
    system: str | None = None,
    scores: Mapping[str, float] | None = None,
    judge: str | None = None,
) -> Iterator[Row]:
    """Read every user's answer to every question, and the suggestions, whose agents are models."""
    parts = [parsed_cell(record.get(k)) for k in ("metadata", "fields")]
    fields = {**record, **{k: v for part in reversed(parts) if isinstance(part, dict) for k, v in part.items()}}
    ids = (fields.get("external_id"), fields.get("id"), fields.get("_server_id"), place.index)
    common = context(parts[0] if isinstance(parts[0], dict) else {}, (item or "", system or ""))
    if not isinstance(record.get("fields"), dict):
        endings = (".responses", _FLAT, ".responses.status", ".suggestion", ".suggestion.agent", ".suggestion.score")
        other_fields = {k: v for k, v in record.items() if not str(k).endswith(endings)}
        common |= context(other_fields, (*_USED, item or "", system or ""))
    common["item"] = str(place.need(fields, item)) if item else str(next(i for i in ids if not absent(i)))
    common |= {"system": str(place.need(fields, system))} if system else {}
    answers = [(*response, "human") for response in _responses(record, place)]
    answers += [(*suggestion, "submitted", "model") for suggestion in _suggestions(record)]
    if not answers:
        place.exclude("record without a response")
    for name, rater, value, status, kind in answers:
        if not absent(status) and str(status) not in _STATUSES:
            raise place.wrong("status of a response", status, ", ".join(_STATUSES))
        if reason := _IDENTITY.withdrawal({"status": status}):
            place.exclude(reason, name)
        elif (answer := score_and_status(place, name, parsed_cell(value), scores)) is not None:
            user = judge or person_name(rater) if kind == "human" else person_name(rater, "suggestion")
            yield {**common, "judge": user, "criterion": name, **answer, "rater_type": kind}


def _responses(record: Fields, place: Place) -> Iterator[Response]:
    """The answers of users, in any of the three shapes."""
    responses = record.get("responses")
    if isinstance(responses, dict):  # version 2: by question
        for name, answers in responses.items():
            for one in answers if isinstance(answers, list) else [answers]:
                if not isinstance(one, dict) or "value" not in one:
                    raise place.wrong(f"a response to {name!r}", one, "an object with value and user_id")
                yield str(name), one.get("user_id"), one["value"], one.get("status")
    elif isinstance(responses, list):  # version 1: by user
        for one in responses:
            if not isinstance(one, dict):
                raise place.wrong("a response", one, "an object with values, user_id and status")
            values = one.get("values") or {}
            if not isinstance(values, dict):
                raise place.wrong("values of a response", values, "an object of questions")
            if not values:
                place.exclude(f"response without values ({one.get('status')})")
            for name, value in values.items():
                value = value.get("value") if isinstance(value, dict) else value
                yield str(name), one.get("user_id"), value, one.get("status")
    else:  # version 2, flat
        for name in (str(k).removesuffix(_FLAT) for k in record if str(k).endswith(_FLAT)):
            users, values, statuses = (
                parsed_cell(record.get(f"{name}.responses{end}")) for end in (".users", "", ".status")
            )
            if absent(users) and absent(values):
                continue
            if not isinstance(users, list) or not isinstance(values, list) or len(users) != len(values):
                raise place.wrong(f"{name}.responses.users", users, "a list as long as that of the responses")
            statuses = statuses if isinstance(statuses, list) else []
            for i, (user, value) in enumerate(zip(users, values, strict=True)):
                yield name, user, value, statuses[i] if i < len(statuses) else None


def _suggestions(record: Fields) -> Iterator[tuple[str, object, object]]:
    """The answers of models: question, agent, value."""
    suggestions = record.get("suggestions")
    if isinstance(suggestions, dict):
        for name, one in suggestions.items():
            if isinstance(one, dict) and not absent(one.get("value")):
                yield str(name), one.get("agent"), one["value"]
    elif isinstance(suggestions, list):
        for one in suggestions:
            if isinstance(one, dict) and not absent(one.get("value")):
                yield str(one.get("question_name")), one.get("agent"), one["value"]
    for key in (str(k) for k in record if str(k).endswith(".suggestion")):
        if not absent(record[key]):
            yield key.removesuffix(".suggestion"), record.get(f"{key}.agent"), record[key]


#: Ids of records are the user's, so that those of two files may be the same.
_IDENTITY = Identity(
    keys=(("_server_id", "[].*", "[].user_id"), ("id", "[].*", "[].user_id"), ("id", "[].*", "[].agent")),
    time=("updated_at",),
    withdrawn={"status": (("draft", "discarded"), "response not submitted")},
    within=("responses", "responses.*", "suggestions", "suggestions.*"),
    per_file=True,
)
READER = Reader(
    name="argilla",
    frame="ratings",
    about="Argilla records, versions 1 and 2: users are raters, agents of suggestions too",
    example='{"id": ..., "fields": {...}, "responses": {"quality": [{"value": 4, "user_id": ...}]}, ...}',
    matches=matches,
    rows=rows,
    options={
        "item": "metadata or field that identifies the item (by default the record's id)",
        "system": "metadata or field that names the system",
        "judge": "name of the user, where user_id is the same for several; a part of the path may give it",
        **SCORES,
    },
    containers=("json", "jsonl", "csv", "parquet"),
    fields={
        "responses": "criterion (the question), score (value), judge (user_id), with rater_type human",
        "suggestions": "criterion, score, judge (agent), with rater_type model",
        "<question>.responses, .users, .status": "the same, in a flat export",
        "external_id, id": "item",
        "metadata": "conditions",
    },
    sample="files written by the argilla package, and by its version 1",
    repeats=True,
    identity=_IDENTITY,
)
