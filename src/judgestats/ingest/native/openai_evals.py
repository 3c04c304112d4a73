"""OpenAI evals: the log of a run, JSONL; a line with the specification, then a line per event."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from judgestats.errors import SchemaError
from judgestats.ingest.json_values import Fields, Row
from judgestats.ingest.readers import Place, Reader
from judgestats.ingest.record_fields import as_text, first_line, has_fields, object_in, scalars, to_score, unread
from judgestats.ingest.record_versions import Identity


def matches(record: Fields) -> str:
    """Recognise the first line of a log: the specification, or an event where there is none."""
    if "eval_name" in object_in(record, "spec") and _models(object_in(record, "spec")):
        return "the first line is a spec with eval_name and completion_fns"
    if has_fields(record, "run_id", "event_id", "sample_id", "type", "data"):
        return "records have run_id, event_id, sample_id, type and data"
    return ""


def rows(
    record: Fields,
    place: Place,
    judge: str | None = None,
    system: str | None = None,
    scores: str | Mapping[str, float] | None = None,
) -> Iterator[Row]:
    """Read the events that hold a verdict: ``match``, ``metrics``, and the errors of model-graded evals."""
    if "type" not in record:
        what = next((n for n in ("spec", "final_report") if n in record), "")
        return place.exclude(f"the {what} of the run, no verdict" if what else "no event")
    kind, data = record["type"], record.get("data")
    if kind not in ("match", "metrics", "error"):
        return place.exclude(f"an event of type {str(kind)[:40]}, no verdict")
    if not isinstance(data, dict):
        raise place.wrong("data", data, "an object")
    spec = object_in(first_line(place.path), "spec")
    models = _models(spec)
    graders = object_in(object_in(object_in(spec, "run_config"), "eval_spec"), "args")
    criterion = as_text(graders.get("modelgraded_spec"))
    evaluated = models[:-1] if len(models) > 1 and (criterion or "choice" in data) else models
    common = {
        "system": system or " + ".join(evaluated) or None,
        "item": str(place.need(record, "sample_id")),
        "eval_name": as_text(spec.get("eval_name")),
        "run_id": as_text(record.get("run_id")),
    }
    grader = {
        "judge": judge or (models[-1] if models else "modelgraded"),
        "criterion": criterion or "score",
        "rater_type": "model",
    }
    if kind == "error":
        if criterion is None:
            return place.exclude(f"the sample failed ({str(data.get('message'))[:80]})")
        yield {**common, **grader, "score": float("nan"), "status": "error", "rationale": as_text(data.get("message"))}
    elif kind == "match":
        yield {
            **common,
            "judge": "match",
            "criterion": "match",
            "score": to_score(place.need(data, "correct")),
            "rater_type": "code",
            **scalars(data, ("correct", "expected", "picked", "options", "sampled", "prompt")),
        }
    elif "choice" in data:
        yield {**common, **grader, **_choice(data, _scores(scores), place)}
    else:
        numbers = {k: v for k, v in data.items() if to_score(v) == to_score(v)}
        for name, value in numbers.items():
            yield {**common, "judge": name, "criterion": name, "score": to_score(value), "rater_type": "code"}
        others = [k for k in data if k not in numbers]
        if others:
            place.exclude("no number", f"metrics {', '.join(others)}"[:120], n=len(others))


def _models(spec: Fields) -> list[str]:
    """Completion functions; before them, a run had models."""
    models = spec.get("completion_fns") or object_in(spec, "model_names").get("completions")
    return [str(m) for m in models] if isinstance(models, list) else []


def _choice(data: Fields, scores: Mapping[str, float], place: Place) -> Row:
    choice, read = str(data["choice"]), data["choice"] is not None and not unread(data["choice"])
    score = to_score(data.get("score"))
    if read and score != score:
        if choice not in scores:
            raise SchemaError(
                f"{place}: the choice {choice!r} has no score: the eval has none for its choices. Pass scores=, such "
                f"as scores='{choice}=1'."
            )
        score = scores[choice]
    return {
        "score": score if read else float("nan"),
        "status": "ok" if read else "parse",
        "verdict": choice if read else None,
        **scalars(data, ("choice", "score")),
    }


def _scores(option: str | Mapping[str, float] | None) -> Mapping[str, float]:
    return _parsed(option) if isinstance(option, str) else option or {}


@lru_cache
def _parsed(text: str) -> dict[str, float]:
    try:
        return {k.strip(): float(v) for k, v in (pair.rsplit("=", 1) for pair in text.split(","))}
    except ValueError:
        raise SchemaError(f"scores={text!r} should name a number for each choice, such as scores='A=1,B=0'.") from None


READER = Reader(
    name="openai_evals",
    frame="ratings",
    about="OpenAI evals log; verdicts of model-graded evals (choice and score), matches and other metrics",
    example='{"run_id": ..., "event_id": 3, "sample_id": ..., "type": "metrics", "data": {"choice": "Y", "score": 1}}',
    matches=matches,
    rows=rows,
    options={
        "judge": "the grader, where the log has no spec",
        "system": "the evaluated model, where the log has no spec",
        "scores": "score of each choice, where the eval has none: 'A=1,B=0'",
    },
    containers=("jsonl",),
    fields={
        "type metrics: data.choice, data.score": "verdict and score of a model; __invalid__ is status parse",
        "type metrics: data.metascore, other single values": "columns of that name",
        "type metrics without choice: data.<name>": "a row per number: judge, criterion and score, rater_type code",
        "type match: data.correct": "score, rater_type code",
        "type error": "status error in a model-graded eval; else excluded",
        "spec.completion_fns": "the last is the judge of a model-graded eval, the others (or the only one) the system",
        "spec.run_config.eval_spec.args.modelgraded_spec": "criterion of a model-graded eval",
        "sample_id": "item",
        "spec.eval_name, run_id": "columns of that name",
        "spec, final_report, events of other types": "excluded, each with its place",
    },
    sample="written from evals/record.py and evals/elsuite/modelgraded",
    identity=Identity(keys=(("run_id", "event_id", "sample_id", "type"),), time=("created_at",)),
)
