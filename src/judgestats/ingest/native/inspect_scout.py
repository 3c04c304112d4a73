"""Inspect Scout: labels that people gave to transcripts (CSV), and the results of a scan (Parquet)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from judgestats.ingest.json_values import Fields, Row
from judgestats.ingest.native.inspect_values import by_scorer, rating
from judgestats.ingest.readers import Place, Reader
from judgestats.ingest.record_fields import absent, as_text, having
from judgestats.ingest.record_versions import Identity

_SETS = ("label_", "target_")


def matches_labels(record: Fields) -> str:
    """Recognise a validation set: id, split (without it perhaps a table with a column per judge), target or labels."""
    labels = [name for name in record if name == "target" or (name.startswith(_SETS) and name not in _SETS)]
    columns = {"id", "split", *labels}
    return f"columns id, {', '.join(labels[:3])} and split" if labels and set(record) == columns else ""


def label_rows(
    record: Fields, place: Place, judge: str = "human", values: Mapping[str, Fields] | None = None
) -> Iterator[Row]:
    """Read what people say of a transcript: a rating for each label."""
    item, values = record["id"], by_scorer(values, "values", dict)
    if absent(item):
        raise place.wrong("id", "", "the id of a transcript")
    for name, value in record.items():
        if name in ("id", "split"):
            continue
        criterion = "overall" if name == "target" else name.partition("_")[2]
        if absent(value):
            place.exclude("not labelled", f"column {name}")
            continue
        score, label = rating(value, criterion, f"column {name}", values.get(criterion, {}), place)
        if score is None and label is None:
            place.exclude("not labelled", f"column {name}")
            continue
        yield {
            "judge": judge,
            "item": str(item),
            "criterion": criterion,
            "score": score,
            "rater_type": "human",
            "label": label,
            "split": None if absent(record.get("split")) else str(record["split"]),
        }


def scan_rows(record: Fields, place: Place, values: Mapping[str, Fields] | None = None) -> Iterator[Row]:
    """Read a result: a rating, or one for each key of an object, each place of a list and each result of a set."""
    cells = {name: None if absent(value) else value for name, value in record.items()}
    scanner, item = cells["scanner_name"], cells["transcript_id"]
    if scanner is None or item is None:
        raise place.wrong("scanner_name or transcript_id", "", "the name of the scanner, the id of the transcript")
    usage = _parsed(cells.get("scan_model_usage"), "scan_model_usage", place)
    models = [*usage] if isinstance(usage, dict) else []
    part, values = f"scanner {scanner}", by_scorer(values, "values", dict)
    whole = cells.get("input_id") in (None, item)
    head = {
        "judge": str(scanner),
        "system": str(cells.get("model") or ""),
        "item": str(item) if whole else f"{item} / {cells['input_id']}",
        "rationale": as_text(cells.get("explanation")),
        "rater_type": "model" if models else "code",
        "scanner_model": " + ".join(map(str, models)) or None,
        **{n: as_text(cells.get(n)) for n in ("scan_id", "task_name", "scanner_params")},
    }
    if cells.get("scan_error") is not None:
        yield {**head, "criterion": str(scanner), "score": None, "status": "error"}
        return
    results = list(_scan_results(cells, str(scanner), place))
    if not results:
        place.exclude("the scanner found nothing", part)
    for criterion, value in results:
        score, label = rating(value, str(scanner), f"{part}, {criterion}", values.get(str(scanner), {}), place)
        if score is None and label is None:
            place.exclude("the scanner found nothing", f"{part}, {criterion}")
        else:
            yield {**head, "criterion": criterion, "score": score, "status": "ok", "label": label}


def _scan_results(cells: Fields, scanner: str, place: Place) -> Iterator[tuple[str, object]]:
    """Criterion and value of each result in a row."""
    kind, value = cells["value_type"], cells["value"]
    criterion = f"{scanner}/{cells['label']}" if cells.get("label") else scanner
    if value is None or kind in (None, "null"):
        return
    if kind == "boolean":
        if str(value).lower() not in ("true", "false"):
            raise place.wrong("a value of type boolean", value, "true, false")
        yield criterion, str(value).lower() == "true"
    elif kind in ("number", "string"):
        yield criterion, value
    elif kind == "resultset":
        results = _parsed(value, "value", place)
        for result in results if isinstance(results, list) else [results]:
            if not isinstance(result, dict):
                raise place.wrong("a result of the set", result, "an object with a value")
            label = as_text(result.get("label"))
            yield from _inner_values(f"{scanner}/{label}" if label else scanner, place.need(result, "value"))
    else:
        yield from _inner_values(criterion, _parsed(value, "value", place))


def _inner_values(criterion: str, value: object) -> Iterator[tuple[str, object]]:
    """A value, or each of those in an object or list."""
    if isinstance(value, dict):
        yield from ((f"{criterion}/{key}", inner) for key, inner in value.items())
    elif isinstance(value, list):
        yield from ((f"{criterion}/{place}", inner) for place, inner in enumerate(value, start=1))
    else:
        yield criterion, value


def _parsed(value: object, what: str, place: Place) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        raise place.wrong(what, value, "JSON, as value_type says") from None


_VALUES = {"values": "number of each class, {'scanner or label': {'high': 2, 'low': 1}}"}

LABELS = Reader(
    name="inspect_scout_labels",
    frame="ratings",
    about="validation set of Inspect Scout: what people say of transcripts; without a column split, name the format",
    example="id,label_safety,label_accuracy,split",
    matches=matches_labels,
    rows=label_rows,
    containers=("csv", "tsv", "parquet"),
    options={"judge": "name of who labelled; 'human' without it", **_VALUES},
    fields={
        "id": "item",
        "target": "score of criterion overall: numbers; true and false, or words that all say right or wrong, as such; "
        "other words are left out, unless values= gives them numbers",
        "target_<name>, label_<name>": "score of criterion <name>; an empty cell is excluded",
        "split": "condition column split",
    },
    sample="public files of inspect_scout's own tests",
)

SCAN = Reader(
    name="inspect_scout",
    frame="ratings",
    about="results of a scan by Inspect Scout, Parquet",
    example="transcript_id,scan_id,scanner_name,value,value_type,explanation,model",
    matches=having("transcript_id", "scan_id", "scanner_name", "value", "value_type", lead="columns"),
    rows=scan_rows,
    containers=("csv", "tsv", "parquet"),
    options=_VALUES,
    fields={
        "scanner_name": "judge, and criterion (with / and the label of a result, the key or place of a value)",
        "scan_model_usage": "rater_type model, and scanner_model, the models asked; none: code",
        "model": "system: the model of the transcript",
        "transcript_id, input_id": "item; both where a part of a transcript was scanned",
        "value, value_type": "score: boolean, number; a string as in a label; an object, array or resultset gives "
        "several rows; null is excluded",
        "scan_error": "a missing score with status error",
        "explanation": "rationale",
        "scan_id, task_name, scanner_params": "condition columns; the transcript's own scores are not read",
    },
    sample="a public file of inspect_scout's own tests",
    identity=Identity(keys=(("uuid",),), time=("timestamp",)),
)
