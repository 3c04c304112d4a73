"""every_eval_ever: the common schema of evaluation results, one sample a line (JSONL)."""

from __future__ import annotations

from collections.abc import Iterator

from judgestats.ingest.json_values import Fields, Row
from judgestats.ingest.readers import Place, Reader
from judgestats.ingest.record_fields import as_text, has_fields, json_beside, object_in, scalars, to_number, to_score

_USED = (
    *("schema_version", "evaluation_id", "model_id", "evaluation_name", "evaluation_result_id", "sample_id"),
    *("sample_hash", "input", "output", "messages", "answer_attribution", "evaluation", "token_usage", "performance"),
    *("error", "metadata"),
)


def matches(record: Fields) -> str:
    """Recognise a sample of the schema, and the file of aggregate results."""
    if has_fields(record, "schema_version", "evaluation_id", "model_id", "sample_id", "evaluation"):
        return "records have schema_version, evaluation_id, model_id, sample_id and evaluation"
    return "the object has schema_version, evaluation_id and evaluation_results" if _is_aggregate(record) else ""


def _is_aggregate(record: Fields) -> bool:
    return has_fields(record, "schema_version", "evaluation_id", "evaluation_results")


def rows(record: Fields, place: Place, judge: str | None = None) -> Iterator[Row]:
    """Read the score of one sample."""
    if _is_aggregate(record):
        return place.exclude("results over all samples; the scores are in <name>_samples.jsonl")
    evaluation = place.need(record, "evaluation")
    if not isinstance(evaluation, dict):
        raise place.wrong("evaluation", evaluation, "an object with a score")
    name = as_text(record.get("evaluation_name")) or "overall"
    config = _config(record, place)
    metric = as_text(config.get("metric_name")) or as_text(config.get("metric_id")) or name
    graders = _judges(config)
    listed = record.get("answer_attribution")
    steps = [a for a in listed if isinstance(a, dict)] if isinstance(listed, list) else []
    model = bool(graders or judge or any("judge" in str(a.get("extraction_method")) for a in steps))
    error, score, passed = as_text(record.get("error")), to_score(evaluation.get("score")), evaluation.get("is_correct")
    failed = error is not None or score != score
    yield {
        "judge": " + ".join(graders) or judge or metric,
        "system": as_text(record.get("model_id")),
        "item": str(place.need(record, "sample_id")),
        "criterion": metric,
        "score": float("nan") if failed else score,
        "status": "error" if failed else "ok",
        "rationale": error,
        "rater_type": "model" if model else "code",
        "evaluation_name": name,
        "passed": passed if isinstance(passed, bool) and not failed else None,
        "latency": to_number(object_in(record, "performance").get("latency_ms")) / 1000,
        **scalars(object_in(record, "metadata")),
        **scalars(record, _USED),
    }


def _config(record: Fields, place: Place) -> Row:
    """Configuration of the metric, from the file of aggregate results."""
    stem, suffix, _ = place.path.name.partition("_samples.jsonl")
    results = json_beside(place.path.with_name(f"{stem}.json")).get("evaluation_results") if suffix else None
    results = [r for r in results if isinstance(r, dict)] if isinstance(results, list) else []
    for name in ("evaluation_result_id", "evaluation_name"):
        same = [r for r in results if record.get(name) and r.get(name) == record[name]]
        if len(same) == 1:
            return object_in(same[0], "metric_config")
    return {}


def _judges(config: Fields) -> list[str]:
    listed = object_in(config, "llm_scoring").get("judges")
    models = [object_in(j, "model_info") for j in listed] if isinstance(listed, list) else []
    return [model_name for m in models if (model_name := as_text(m.get("id")) or as_text(m.get("name")))]


READER = Reader(
    name="every_eval_ever",
    frame="ratings",
    about="every_eval_ever samples; a score per sample; the aggregate file beside it names metric and judge",
    example='{"schema_version": ..., "evaluation_id": ..., "model_id": ..., "sample_id": ..., "evaluation": {...}}',
    matches=matches,
    rows=rows,
    options={"judge": "the model that judged, where the aggregate file does not name it; else the metric"},
    fields={
        "evaluation.score": "score; missing (status error) where error is set",
        "evaluation.is_correct": "passed",
        "model_id": "system",
        "sample_id": "item",
        "evaluation_name": "evaluation_name; criterion where no metric is named",
        "<name>.json: evaluation_results[].metric_config.metric_name": "criterion, and judge of what code gave",
        "<name>.json: evaluation_results[].metric_config.llm_scoring.judges[].model_info": "judge; rater_type model",
        "answer_attribution[].extraction_method": "rater_type model where it is a judge",
        "error": "status error; rationale",
        "performance.latency_ms": "latency, in seconds",
        "metadata.<name>, other single values": "columns of that name",
        "input, output, messages, token_usage, sample_hash": "not read",
    },
    sample="public: the schema's own example of one record; the rest from the schema",
)
