"""Label Studio: exported annotations and predictions, as JSON, JSON-MIN and CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from judgestats.ingest.json_values import Fields, Row
from judgestats.ingest.readers import SCORES, Place, Reader, score_and_status
from judgestats.ingest.record_fields import absent, context, parsed_cell, person_name
from judgestats.ingest.record_versions import IF_TRUE, Identity

#: Type of a result -> field of its value that holds the grade.
_GRADES = {"rating": "rating", "choices": "choices", "number": "number"}
_SIDES = {"left": "first", "right": "second"}
#: Columns of JSON-MIN and CSV that are neither data of the task nor answers.
_MIN = ("annotator", "annotation_id", "created_at", "updated_at", "lead_time", "id", "agreement")


class _Result(NamedTuple):
    """One answer: who gave it, whether a person, and the result as it is in the export."""

    rater: str
    rater_type: str
    result: Fields


def _is_task(record: Fields) -> bool:
    return isinstance(record.get("data"), dict) and any(
        isinstance(record.get(k), list) for k in ("annotations", "completions")
    )


def _first_types(record: Fields) -> set[str]:
    """Types of the results in a task."""
    annotations = [record[k] for k in ("annotations", "completions", "predictions") if isinstance(record.get(k), list)]
    results = [a.get("result") for one in annotations for a in one if isinstance(a, dict)]
    return {str(r.get("type")) for one in results if isinstance(one, list) for r in one if isinstance(r, dict)}


def matches(record: Fields) -> str:
    """Recognise a task with its annotations, or an annotation of JSON-MIN or CSV."""
    if _is_task(record):
        return "" if "pairwise" in _first_types(record) else "records have data and annotations"
    return "there are annotator, annotation_id and lead_time" if set(_MIN[:5]) <= set(record) else ""


def matches_pairwise(record: Fields) -> str:
    """Recognise a task with pairwise comparisons."""
    if _is_task(record) and "pairwise" in _first_types(record):
        return "records have data, and annotations with results of type pairwise"
    return ""


def _task_results(record: Fields, place: Place, judge: str | None) -> Iterator[_Result]:
    """The results of a task: of its annotators, and of the models in its predictions."""
    annotations = record.get("annotations", record.get("completions"))
    predictions = record.get("predictions")
    for people, annotated in ((True, annotations), (False, predictions)):
        if not isinstance(annotated, list):
            if people:
                raise place.wrong("annotations", annotated, "a list of annotations")
            continue
        for annotation in annotated:
            if not isinstance(annotation, dict):
                if people:
                    raise place.wrong("an annotation", annotation, "an object with completed_by and result")
                continue  # ids of predictions, in some exports
            who = annotation.get("completed_by")
            who = person_name(who.get("email"), who.get("id")) if isinstance(who, dict) else person_name(who)
            who = judge or who
            rater = who if people else person_name(annotation.get("model_version"), "prediction")
            results = annotation.get("result")
            if not isinstance(results, list) or not results:
                place.exclude("empty annotation", rater)
                continue
            times = Counter(str(r.get("from_name")) for r in results if isinstance(r, dict))
            for result in results:
                if not isinstance(result, dict):
                    raise place.wrong("a result", result, "an object with from_name, type and value")
                if times[str(result.get("from_name"))] > 1:
                    place.exclude("several results of one question (regions of the item)", rater)
                else:
                    yield _Result(rater, "human" if people else "model", result)


def _ids(record: Fields, place: Place, item: str | None, used: tuple[str, ...]) -> Row:
    """Item and conditions of a task, from its data."""
    data = record["data"] if isinstance(record.get("data"), dict) else {}
    thing = place.need(data, item) if item else record.get("id", place.index)
    return {**context(data, [item or "", *used]), "item": str(thing)}


def rows(
    record: Fields,
    place: Place,
    item: str | None = None,
    system: str | None = None,
    questions: str | None = None,
    scores: Mapping[str, float] | None = None,
    judge: str | None = None,
) -> Iterator[Row]:
    """Read the ratings, numbers and single choices of every annotator, and those of models in ``predictions``."""
    if not _is_task(record):
        yield from _minimal(record, place, item, system, questions, scores, judge)
        return
    common = _ids(record, place, item, (system or "",))
    common |= {"system": str(place.need(record["data"], system))} if system else {}
    for rater, kind, result in _task_results(record, place, judge):
        name, type_ = str(result.get("from_name")), str(result.get("type"))
        value = result.get("value")
        if type_ == "pairwise":
            place.exclude("pairwise comparison: format='label_studio_pairwise' reads those", name)
        elif type_ not in _GRADES or not isinstance(value, dict):
            place.exclude(f"no grade: a result of type {type_}", name)
        elif (answer := score_and_status(place, name, _single(value.get(_GRADES[type_])), scores)) is not None:
            yield {**common, "judge": rater, "criterion": name, **answer, "rater_type": kind}


def _single(value: object) -> object:
    """The choice of a list of one."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _minimal(
    record: Fields,
    place: Place,
    item: str | None,
    system: str | None,
    questions: str | None,
    scores: Mapping[str, float] | None,
    judge: str | None,
) -> Iterator[Row]:
    """Read one annotation of JSON-MIN or CSV."""
    opened = {str(k): _single(parsed_cell(v)) for k, v in record.items()}
    columns = [q.strip() for q in (questions or "").split(",") if q.strip()]
    answers = columns or [k for k, v in opened.items() if isinstance(v, dict) and set(v) & set(_GRADES)]
    if not answers:
        place.exclude("no rating or number; questions= names the columns of choices")
    thing = place.need(opened, item) if item else opened.get("id", place.index)
    common = {**context(record, (*_MIN, *answers, item or "", system or "")), "item": str(thing)}
    common |= {"system": str(place.need(opened, system))} if system else {}
    for name in answers:
        value = opened.get(name)
        if absent(value):
            place.exclude(f"no answer to {name!r}")
            continue
        value = next((value[k] for k in _GRADES if k in value), value) if isinstance(value, dict) else value
        answer = score_and_status(place, name, _single(value), scores)
        if answer is not None:
            yield {
                **common,
                "judge": judge or person_name(record.get("annotator")),
                "criterion": name,
                **answer,
                "rater_type": "human",
            }


def pairwise_rows(
    record: Fields,
    place: Place,
    item: str | None = None,
    first: str | None = None,
    second: str | None = None,
    judge: str | None = None,
) -> Iterator[Row]:
    """Read pairwise comparisons: ``left`` is what the task shows first, ``right`` second."""
    common = _ids(record, place, item, (first or "", second or ""))
    for name, field, default in (("first", first, "left"), ("second", second, "right")):
        common[name] = str(place.need(record["data"], field)) if field else default
    for rater, kind, result in _task_results(record, place, judge):
        value = result.get("value")
        if result.get("type") != "pairwise" or not isinstance(value, dict):
            place.exclude(f"no comparison: a result of type {result.get('type')}", str(result.get("from_name")))
            continue
        side = value.get("selected")
        if not absent(side) and str(side) not in _SIDES:
            raise place.wrong("selected", side, ", ".join(_SIDES))
        choice = "invalid" if absent(side) else _SIDES[str(side)]
        yield {
            **common,
            "judge": rater,
            "choice": choice,
            "criterion": str(result.get("from_name")),
            "rater_type": kind,
        }


#: Numbers that one installation counts up, so that those of two files may be the same.
_IDENTITY = Identity(
    keys=(("[].*", "[].id", "id"), ("annotation_id",)),
    time=("[].updated_at", "updated_at"),
    withdrawn={"[].was_cancelled": (IF_TRUE, "skipped by the annotator")},
    within=("annotations", "completions", "predictions"),
    per_file=True,
)
_ABOUT = "Label Studio exports; annotators are raters, models in predictions too"
_ITEM = {
    "item": "field of the task's data that identifies the item (by default the task's id)",
    "judge": "name of the annotator, where completed_by is the same for several; a part of the path may give it",
}
RATINGS = Reader(
    name="label_studio",
    frame="ratings",
    about=f"{_ABOUT}: ratings, numbers, choices",
    example='[{"id": 1, "data": {...}, "annotations": [{"completed_by": 7, "result": [{"type": "rating", ...}]}]}]',
    matches=matches,
    rows=rows,
    options={
        **_ITEM,
        "system": "field of the task's data that names the system",
        "questions": "columns of answers in JSON-MIN and CSV, separated by commas",
        **SCORES,
    },
    containers=("json", "jsonl", "csv", "tsv", "parquet"),
    fields={
        "annotations[].completed_by, annotator": "judge, with rater_type human",
        "predictions[].model_version": "judge, with rater_type model",
        "result[].from_name": "criterion",
        "result[].value.rating, .number, .choices": "score; choices without a number need scores=",
        "id, or item=": "item",
        "data": "conditions",
    },
    sample="the documented schema; JSON-MIN and CSV written by label-studio-sdk",
    repeats=True,
    identity=_IDENTITY,
)
PAIRWISE = Reader(
    name="label_studio_pairwise",
    frame="preferences",
    about=f"{_ABOUT}: pairwise comparisons",
    example='[{"id": 1, "data": {...}, "annotations": [{"result": [{"type": "pairwise", "value": {...}}]}]}]',
    both_orders="no",
    order_known="yes",
    verdicts_in="position frame",
    matches=matches_pairwise,
    rows=pairwise_rows,
    options={
        **_ITEM,
        "first": "field of the task's data that names the candidate on the left",
        "second": "field of the task's data that names the candidate on the right",
    },
    fields={
        "annotations[].completed_by": "judge, with rater_type human",
        "predictions[].model_version": "judge, with rater_type model",
        "result[].value.selected": "choice: left is first, right is second",
        "id, or item=": "item",
        "data": "conditions, and the candidates that first= and second= name",
    },
    sample="the documented schema",
    repeats=True,
    identity=_IDENTITY,
)
