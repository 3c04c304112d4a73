"""ragas: annotated metrics (JSON) and the frame of an evaluation result."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from judgestats.ingest.json_values import Fields, Row
from judgestats.ingest.readers import Place, Reader, Record
from judgestats.ingest.record_fields import as_text, has_fields, object_in, scalars, to_score
from judgestats.schema.columns import NO, YES

#: Columns of a data set of ragas, in its present and its first names; every other column is a metric.
_DATA = (
    *("user_input", "response", "retrieved_contexts", "reference_contexts", "retrieved_context_ids"),
    *(
        "reference_context_ids",
        "multi_responses",
        "reference",
        "rubrics",
        "persona_name",
        "query_style",
        "query_length",
    ),
    *("reference_tool_calls", "reference_topics", "synthesizer_name", "question", "answer", "contexts", "ground_truth"),
    *("ground_truths", "column_1"),
)
_ID = ("id", "sample_id", "question_id")
#: Metrics that are computed without a language model.
_CODE = (
    *("bleu_score", "rouge_score", "chrf_score", "exact_match", "string_present", "non_llm", "id_based"),
    *("data_compare_score", "tool_call_", "semantic_similarity", "answer_similarity"),
)


def _samples(document: object) -> dict[str, list[object]]:
    """Samples by metric: {metric: [...]}, or {name: metric, samples: [...]}."""
    if not isinstance(document, Mapping):
        return {}
    if isinstance(document.get("samples"), list) and isinstance(document.get("name"), str):
        return {document["name"]: document["samples"]}
    return {name: samples for name, samples in document.items() if isinstance(samples, list)}


def matches_annotations(document: Fields) -> str:
    """Recognise annotated metrics."""
    for listed in _samples(document).values():
        if any(isinstance(s, dict) and has_fields(s, "metric_input", "metric_output") for s in listed):
            return "samples have metric_input, metric_output and is_accepted"
    return ""


def samples(document: object, _: Path) -> Iterator[Record]:
    """Yield the samples; those with the same input are one item, and replicates of it within a metric."""
    first: dict[str, str] = {}
    times: Counter[tuple[str, str]] = Counter()
    for metric, listed in _samples(document).items():
        for i, sample in enumerate(listed):
            key = json.dumps(object_in(sample, "metric_input"), sort_keys=True)
            item = first.setdefault(key, str(i) if str(i) not in first.values() else f"{metric}/{i}")
            yield f"{metric} {i + 1}", {"metric": metric, "item": item, "times": times[metric, item], "sample": sample}
            times[metric, item] += 1


def annotation_rows(record: Fields, place: Place, judge: str | None = None) -> Iterator[Row]:
    """Read the verdict of the metric's model, and as gold that of the person who accepted or rejected it."""
    metric, sample = str(place.need(record, "metric")), place.need(record, "sample")
    if not isinstance(sample, dict):
        raise place.wrong("the sample", sample, "an object")
    score, accepted = to_score(sample.get("metric_output")), sample.get("is_accepted")
    if accepted is not None and not isinstance(accepted, bool):
        raise place.wrong("is_accepted", accepted, "true, false, null")
    prompts = [p for p in object_in(sample, "prompts").values() if isinstance(p, dict)]
    last = prompts[-1] if prompts else {}
    target = sample.get("target")
    edited = object_in(last, "edited_output").get("verdict") if target is None and len(prompts) == 1 else target
    yield {
        "judge": judge or metric,
        "item": str(record.get("item", place.index)),
        "replicate": record.get("times", 0),
        "criterion": metric,
        "score": score,
        "status": "ok" if score == score else "error",
        "rationale": as_text(object_in(last, "prompt_output").get("reason")),
        "rater_type": "model",
        "gold": _gold(score, accepted, to_score(edited)),
        **scalars(sample, ("metric_output", "is_accepted", "target")),
    }


def _gold(score: float, accepted: bool | None, edited: float) -> float:
    """A person's score: the model's where it is accepted; else the edited one, or the other of 0 and 1."""
    if accepted:
        return score
    return 1 - score if edited != edited and accepted is False and score in (0, 1) else edited


def matches_frame(names: Fields) -> str:
    """Recognise the frame of a result by its columns."""
    data = has_fields(names, "user_input") and (
        "response" in names or "retrieved_contexts" in names or "reference" in names
    )
    data = data or (has_fields(names, "question", "answer") and ("contexts" in names or "ground_truth" in names))
    metrics = [n for n in names if n not in _DATA and n not in _ID]
    if not data or not metrics or has_fields(names, "first", "second") or "judge" in names:
        return ""
    return f"the columns are those of a data set of ragas, and {', '.join(metrics[:3])}"


def frame_rows(
    record: Fields,
    place: Place,
    judge: str | None = None,
    system: str | None = None,
    metrics: str | list[str] | None = None,
) -> Iterator[Row]:
    """Read a verdict per metric: every column that is no field of ragas' data sets."""
    metric_names = [m.strip() for m in metrics.split(",")] if isinstance(metrics, str) else metrics
    for name in metric_names or ():
        place.need(record, name)
    chosen = [n for n in record if (n in metric_names if metric_names else n not in _DATA and n not in _ID)]
    item = next((str(record[n]) for n in _ID if record.get(n) is not None), str(place.index))
    others = scalars(record, (*_DATA, *_ID, *chosen))
    for name in chosen:
        score, missing = _score(record[name])
        if score != score and not missing:
            place.exclude("no number", f"column {name}", "Name the metrics: metrics='faithfulness,...'.")
            continue
        code = name.startswith(_CODE)
        yield {
            "judge": name if code or judge is None else judge,
            "system": system,
            "item": item,
            "criterion": name,
            "score": score,
            "status": "error" if missing else "ok",
            "rater_type": "code" if code else "model",
            **others,
        }


def _score(value: object) -> tuple[float, bool]:
    """A cell as a score, and whether it is missing; text is a number or a word for yes or no."""
    if value is None or value != value:
        return float("nan"), True
    if not isinstance(value, str):
        return to_score(value.item() if hasattr(value, "item") else value), False
    text = value.strip().lower()
    try:
        score = float(text)
    except ValueError:
        score = 1.0 if text in YES else 0.0 if text in NO else float("nan")
    return score, text in ("", "nan")


ANNOTATIONS = Reader(
    name="ragas_annotations",
    frame="ratings",
    about="ragas annotated metrics; the model's verdict, and a person's",
    example='{"helpfulness": [{"metric_input": {...}, "metric_output": 1, "prompts": {...}, "is_accepted": true}]}',
    matches=matches_annotations,
    rows=annotation_rows,
    records=samples,
    options={"judge": "the model behind the metrics; else the metric's name"},
    containers=("json",),
    fields={
        "<metric>": "criterion; judge, unless judge= names the model",
        "metric_input": "item: the place of the first sample with this input; replicate",
        "metric_output": "score; missing (status error) where null",
        "is_accepted, target, prompts.<prompt>.edited_output.verdict": "gold, the person's score: the model's where "
        "accepted; else the edited one, or the other of 0 and 1",
        "prompts.<prompt>.prompt_output.reason": "rationale",
    },
    sample="public: two files of ragas' documentation",
)

FRAME = Reader(
    name="ragas",
    frame="ratings",
    about="ragas result (to_pandas(), CSV, Parquet, JSON records); a column per metric",
    example="user_input,retrieved_contexts,response,reference,faithfulness,answer_relevancy",
    matches=matches_frame,
    rows=frame_rows,
    options={
        "judge": "the model behind the metrics; else the metric's name",
        "system": "whose responses these are",
        "metrics": "names of the metrics, where the frame has further columns",
    },
    containers=("csv", "tsv", "parquet", "json", "jsonl"),
    fields={
        "<metric>": "a row: criterion, score; missing is status error; rater_type code for metrics without a model",
        "id, sample_id, question_id": "item; else the number of the row",
        "user_input, response, retrieved_contexts, reference, ...": "not read: the fields of a data set",
    },
    sample="written from EvaluationResult.to_pandas() in ragas' source",
)
