"""lm-evaluation-harness: samples_<task>_<date>.jsonl, one document of a task a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from judgestats.errors import SchemaError
from judgestats.ingest.json_values import Fields, Row
from judgestats.ingest.readers import Place, Reader
from judgestats.ingest.record_fields import as_text, has_fields, json_beside, scalars, to_score

_NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[^_]+?)\.jsonl?(\.gz)?$")
_USED = (
    *(
        "doc_id",
        "doc",
        "target",
        "arguments",
        "resps",
        "filtered_resps",
        "filter",
        "metrics",
        "doc_hash",
        "prompt_hash",
    ),
    "target_hash",
)


def matches(record: Fields) -> str:
    """Recognise a sample, and the file of results beside the samples."""
    if has_fields(record, "doc_id", "target", "resps", "filtered_resps"):
        return "records have doc_id, target, resps and filtered_resps"
    return "the object has results, configs and versions" if _is_results(record) else ""


def _is_results(record: Fields) -> bool:
    return has_fields(record, "results", "configs", "versions") and isinstance(record["results"], dict)


def rows(
    record: Fields, place: Place, system: str | None = None, model_graded: str | Sequence[str] = ()
) -> Iterator[Row]:
    """Read the scores of one document: a row per metric."""
    if _is_results(record):
        return place.exclude("results over all documents; the scores are in samples_<task>_<date>.jsonl")
    file_name = _NAME.search(place.path.name)
    listed = record.get("metrics")
    if listed is not None and not (isinstance(listed, list) and all(isinstance(m, str) for m in listed)):
        raise place.wrong("metrics", listed, "a list of names")
    if listed is None:  # before version 0.4.7
        listed = [k for k, v in record.items() if k not in _USED and not isinstance(v, str) and v is not None]
    filter_ = as_text(record.get("filter"))
    filter_ = None if filter_ == "none" else filter_
    common = {
        "system": system or _model(place, file_name["date"] if file_name else ""),
        "item": str(place.need(record, "doc_id")),
        "task": file_name["task"] if file_name else None,
        "run": file_name["date"] if file_name else None,
        "filter": filter_,
        **scalars(record, (*_USED, *listed)),
    }
    models = [m.strip() for m in model_graded.split(",")] if isinstance(model_graded, str) else model_graded
    for metric in listed:
        value = place.need(record, metric)
        score = to_score(value)
        if value is not None and not isinstance(value, int | float):
            place.exclude("a part of a metric of the whole corpus, no score of one document", f"metric {metric}")
            continue
        yield {
            "judge": f"{metric},{filter_}" if filter_ else metric,
            **common,
            "criterion": metric,
            "score": score,
            "status": "ok" if score == score else "error",
            "rater_type": "model" if metric in models else "code",
        }


def _model(place: Place, date: str) -> str:
    """The model, from the file of results of the same run."""
    results = _results_file(place.path, date) if date else None
    report = json_beside(results) if results else {}
    model = as_text(report.get("model_name"))
    if model is None:
        raise SchemaError(
            f"{place}: the evaluated model is not named: there is no results_<date>.json beside the file, or it lacks "
            "model_name. Pass system='...'."
        )
    return model


def _results_file(path: Path, date: str) -> Path | None:
    usual = path.with_name(f"results_{date}.json")
    return usual if usual.is_file() else next(iter(sorted(path.parent.glob(f"*_{date}.json"))), None)


READER = Reader(
    name="lm_eval",
    frame="ratings",
    about="lm-evaluation-harness samples; a score per document and metric; results_<date>.json names the model",
    example='{"doc_id": 0, "doc": {...}, "target": ..., "resps": [...], "metrics": ["acc"], "acc": 1.0}',
    matches=matches,
    rows=rows,
    options={
        "system": "the evaluated model, where no results_<date>.json names it",
        "model_graded": "metrics that a model gave ('llm_score,helpfulness'); all others are code",
    },
    fields={
        "<metric>, for each name in metrics": "a row: judge, criterion, score; null or NaN is status error",
        "filter": "filter; in judge, unless it is none",
        "doc_id": "item",
        "file name": "task, and run: the date, by which the file of results is found",
        "results_<date>.json: model_name": "system",
        "doc, arguments, resps, filtered_resps, target and hashes": "not read",
        "other single values": "columns of that name",
    },
    sample="public: a run of every_eval_ever's tests",
)
