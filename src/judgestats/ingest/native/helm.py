"""HELM: per-instance statistics, and each juror's annotations in scenario_state.json."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from judgestats.errors import SchemaError
from judgestats.ingest.json_values import Fields, Row
from judgestats.ingest.readers import Place, Reader, Record
from judgestats.ingest.record_fields import as_text, has_fields, having, json_beside, object_in, scalars, to_score

#: Statistics that describe the request, its cost or the model's probabilities: no scores of the response.
_REQUEST = re.compile(
    r"num_.*|max_num_.*|estimated_num_.*|finish_reason_.*|training_.*|inference_.*|.*runtime|batch_size|prompt_truncated|"
    r"prompt_length|max_prob|logprob(_per_byte)?|perplexity|bits_per_byte|predicted_index|ref\d+_rank|.*_annotator_success"
)
#: Statistics that are means of what models judged.
_JUDGED = re.compile(
    r"safety_.*|wildbench_.*|omni_math_accuracy|air_.*|annotation_.*|live_qa_score|model_judged_score|.*jury.*"
)
#: A field of a juror: ``gpt_score``, ``llama_equivalence_judgement``.
_SCORE = re.compile(r"(?:(?P<juror>.+)_)?(?P<criterion>score|equivalence_judgement)$")
_REASONS = ("reasoning", "explanation", "justification", "reason")
_LABELS = {"correct_answer": 1.0, "incorrect_answer": 0.0, "failure_to_answer": 0.0}


def matches_stats(record: Fields) -> str:
    """Recognise a record of ``per_instance_stats.json``, and ``run_spec.json`` beside it."""
    if has_fields(record, "instance_id", "stats") and isinstance(record["stats"], list):
        return "records have instance_id and stats"
    return "the object has adapter_spec, scenario_spec and metric_specs" if _is_spec(record) else ""


def _is_spec(record: Fields) -> bool:
    return has_fields(record, "adapter_spec", "scenario_spec", "metric_specs")


def stats_rows(record: Fields, place: Place, system: str | None = None) -> Iterator[Row]:
    """Read the scores of one instance; statistics of the request (tokens, runtime, log-probabilities) are excluded."""
    if _is_spec(record):
        return place.exclude("the specification of a run; the scores are in per_instance_stats.json")
    spec = {} if system else json_beside(_spec_path(place.path))
    common = {
        "system": _system(spec, system, place),
        "item": str(place.need(record, "instance_id")),
        **_trial(record),
        **scalars(record, ("instance_id", "train_trial_index", "stats")),
    }
    stats = place.need(record, "stats")
    if not isinstance(stats, list):
        raise place.wrong("stats", stats, "a list")
    others = 0
    for stat in stats:
        name = stat.get("name") if isinstance(stat, dict) else None
        name = name if isinstance(name, dict) else {"name": name}
        metric = as_text(name.get("name"))
        if metric is None:
            raise place.wrong("a statistic", stat, "an object with a name")
        if _REQUEST.fullmatch(metric):
            others += 1
            continue
        score = to_score(stat.get("mean"))
        yield {
            "judge": metric,
            **common,
            "criterion": metric,
            "score": score,
            "status": "error" if score != score else "ok",
            "rater_type": "model" if _JUDGED.fullmatch(metric) or metric in _jury(spec) else "code",
            "split": as_text(name.get("split")),
            "sub_split": as_text(name.get("sub_split")),
            "perturbation": as_text(object_in(name, "perturbation").get("name")) or _perturbation(record),
        }
    if others:
        place.exclude("statistics of the request, no scores", n=others)


def _spec_path(path: Path) -> Path:
    """``run_spec.json`` beside ``per_instance_stats.json``, with the same prefix if it has one."""
    prefix, stem, _ = path.name.partition("per_instance_stats")
    return path.with_name(f"{prefix if stem else ''}run_spec.json")


def _jury(spec: Fields) -> set[str]:
    """Names of the metrics that average a jury."""
    specs = spec.get("metric_specs")
    entries = [s for s in specs if isinstance(s, dict)] if isinstance(specs, list) else []
    return {
        str(object_in(s, "args").get("metric_name"))
        for s in entries
        if str(s.get("class_name")).endswith("LLMJuryMetric")
    }


def _system(spec: Fields, option: str | None, place: Place) -> str:
    model = option or as_text(object_in(spec, "adapter_spec").get("model"))
    if model is None:
        raise SchemaError(
            f"{place}: the evaluated model is not named: there is no run_spec.json beside the file, or it lacks "
            "adapter_spec.model. Pass system='...'."
        )
    return model


def _perturbation(record: Fields) -> str | None:
    return as_text(object_in(record, "perturbation").get("name"))


def _trial(record: Fields) -> Row:
    return {"replicate": record.get("train_trial_index") or 0}


def states(document: Row, path: Path) -> Iterator[Record]:
    """Yield the requests, each with the specification of the model and of the annotators."""
    head = {name: document.get(name) for name in ("adapter_spec", "annotator_specs")}
    requests = document.get("request_states")
    if not isinstance(requests, list):
        raise SchemaError(f"{path.name}: request_states is {str(requests)[:60]!r}. Allowed: a list.")
    for i, state in enumerate(requests, start=1):
        name = object_in(state, "instance").get("id")
        yield f"request {i}" + (f", instance {name}" if name else ""), {**head, "request_state": state}


def state_rows(record: Fields, place: Place, system: str | None = None) -> Iterator[Row]:
    """Read what each juror said of one response."""
    state = place.need(record, "request_state")
    if not isinstance(state, dict):
        raise place.wrong("the request", state, "an object")
    annotations = state.get("annotations")
    if not isinstance(annotations, dict) or not annotations:
        return place.exclude(
            "no annotation: no model judged the response", remedy="Read per_instance_stats.json for the scores by code."
        )
    instance = object_in(state, "instance")
    common = {
        "system": _system(record, system, place),
        "item": str(instance.get("id", place.index)),
        **_trial(state),
        "split": as_text(instance.get("split")),
        "sub_split": as_text(instance.get("sub_split")),
        "perturbation": _perturbation(instance),
    }
    for annotator, annotation in annotations.items():
        verdicts = list(_juror_rows(annotator, annotation, _jurors(record, annotator)))
        if not verdicts:
            empty = isinstance(annotation, dict) and any(n.startswith("empty_output_") for n in annotation)
            reason = "the response was empty, and no model was asked" if empty else "no score of a model"
            place.exclude(reason, f"annotator {annotator}")
        for verdict in verdicts:
            yield {**common, "rater_type": "model", **verdict, "annotator": annotator}


def _jurors(record: Fields, annotator: str) -> dict[str, str]:
    """Short name -> model of the jurors that the annotator's specification names."""
    specs = record.get("annotator_specs")
    specs = [s for s in specs if isinstance(s, dict)] if isinstance(specs, list) else []
    bare = annotator.replace("_", "").lower()
    own_specs = [s for s in specs if object_in(s, "args").get("name") == annotator] or [
        s for s in specs if bare in str(s.get("class_name")).rpartition(".")[2].lower()
    ]
    args = [object_in(s, "args") for s in (own_specs or (specs if len(specs) == 1 else []))]
    return {
        name: as_text(object_in(a["annotator_models"], name).get("model_name")) or name
        for a in args
        for name in object_in(a, "annotator_models")
    }


def _juror_rows(annotator: str, annotation: object, jurors: Mapping[str, str]) -> Iterator[Row]:
    if not isinstance(annotation, dict):
        return
    criteria: dict[str, None] = {}
    for name, value in annotation.items():
        if isinstance(value, dict) and "score" in value:
            yield _juror_row(annotator, name, value["score"], value)
        elif isinstance(value, dict) and any(isinstance(v, dict) and "score" in v for v in value.values()):
            for criterion, verdict in value.items():
                criteria[criterion] = None
                inner = verdict if isinstance(verdict, dict) else {}
                yield _juror_row(jurors.get(name, name), criterion, inner.get("score"), inner)
        elif name.startswith("empty_output_"):
            score = to_score(value)
            if score == score and not jurors:
                criterion = name.removeprefix("empty_output_")
                yield {**_juror_row(annotator, criterion, value, {}), "rater_type": "code"}
        elif name == "label" and isinstance(value, str) and value in _LABELS:
            yield {**_juror_row(annotator, "correct", _LABELS[value], annotation), "verdict": value}
        elif (field := _SCORE.match(name)) and (value is None or to_score(value) == to_score(value)):
            juror = field["juror"]
            about = {n.removeprefix(f"{juror}_"): v for n, v in annotation.items()} if juror else annotation
            yield _juror_row(jurors.get(juror, juror) if juror else annotator, field["criterion"], value, about)
    for juror in jurors:
        if juror not in annotation and not any(n.startswith((f"{juror}_", "empty_output_")) for n in annotation):
            yield from (_juror_row(jurors[juror], criterion, None, {}) for criterion in criteria or ("overall",))


def _juror_row(judge: str, criterion: str, value: object, about: Fields) -> Row:
    score = to_score(value)
    unread = as_text(about.get("response_text")) if score != score else None
    return {
        "judge": judge,
        "criterion": criterion,
        "score": score,
        "status": "ok" if score == score else "parse" if unread else "error",
        "rationale": next((r for n in _REASONS if (r := as_text(about.get(n)))), unread),
    }


_SYSTEM = {"system": "the evaluated model, where the log does not name it"}

STATS = Reader(
    name="helm",
    frame="ratings",
    about="HELM per_instance_stats.json; a score per instance and statistic; run_spec.json beside it names the model",
    example='[{"instance_id": ..., "train_trial_index": 0, "stats": [{"name": {"name": ...}, "mean": ...}]}]',
    matches=matches_stats,
    rows=stats_rows,
    options=_SYSTEM,
    fields={
        "stats[].name.name": "judge and criterion; statistics of the request (tokens, runtime) are excluded",
        "stats[].mean": "score; missing (status error) where nothing was counted",
        "stats[].name.split, .sub_split, .perturbation.name": "split, sub_split, perturbation",
        "instance_id": "item",
        "train_trial_index": "replicate",
        "other single values": "columns of that name",
        "run_spec.json: adapter_spec.model": "system",
        "run_spec.json: metric_specs[].args.metric_name": "rater_type model for the mean of a jury",
    },
    sample="public: a run of every_eval_ever's tests",
)

STATE = Reader(
    name="helm_annotations",
    frame="ratings",
    about="HELM scenario_state.json; what each juror said of each response; a juror is a judge",
    example='{"adapter_spec": {"model": ...}, "request_states": [{"instance": ..., "annotations": {...}}]}',
    matches=having("adapter_spec", "request_states", lead="the object has", lists="request_states"),
    rows=state_rows,
    records=states,
    options=_SYSTEM,
    containers=("json",),
    fields={
        "request_states[].annotations.<annotator>.<juror>_score, .<juror>_equivalence_judgement": "score of that juror",
        "request_states[].annotations.<annotator>.<juror>.<criterion>.score": "score of that juror and criterion",
        "request_states[].annotations.<annotator>.score, .<criterion>.score": "score; the judge is the annotator",
        "request_states[].annotations.<annotator>.label": "score: 1 for correct_answer, 0 for the other two; verdict",
        "..._reasoning, _explanation, _justification": "rationale",
        "annotator_specs[].args.annotator_models": "judge (model_name); a juror without a score is status error",
        "request_states[].instance.id, .split, .sub_split, .perturbation.name": "item, split, sub_split, perturbation",
        "request_states[].train_trial_index": "replicate",
        "adapter_spec.model": "system",
    },
    sample="written from the annotators in HELM's source; no public run with annotations is small",
)
