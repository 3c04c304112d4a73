"""The head of a log of Inspect AI: the model evaluated, and who gives the values of each scorer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from judgestats.ingest.json_values import Fields
from judgestats.ingest.readers import Place
from judgestats.ingest.record_fields import as_text, scalars

#: Scorers of Inspect that ask no model.
_CODE = ("match", "includes", "pattern", "answer", "choice", "exact", "f1", "math", "perplexity", "target_perplexity")
#: Arguments of a scorer that name its grader.
_GRADERS = ("model", "grader_model", "judge_model", "grader", "judge", "scorer_model", "evaluator_model")


class Rater(NamedTuple):
    """Who gives the values of a scorer, and of what."""

    judge: str  # name of the grader, or of the scorer
    type: str  # ``model``, ``code``, ``human`` or ``unknown``
    criterion: str


@dataclass(frozen=True)
class Run:
    """What the head of a log says of all its samples."""

    system: str  # the model that was evaluated
    conditions: Fields  # columns that are constant in the log
    raters: Mapping[str, Rater]  # by scorer
    counted: frozenset[str] = frozenset()  # scorers whose values Inspect's own accuracy counts: :data:`LETTERS`

    def rater(self, scorer: str, metadata: object, graders: Mapping[str, str]) -> Rater:
        """Who gave a score: as the user or the log's head says, or the model whose reply is in the score's metadata."""
        by_head = self.raters.get(scorer) or Rater(scorer, "code" if scorer in _CODE else "unknown", scorer)
        if scorer in graders:
            return Rater(graders[scorer], "model", by_head.criterion)
        if by_head.type != "unknown":
            return by_head
        grading = metadata.get("grading") if isinstance(metadata, dict) else None
        replies = [m for m in grading if isinstance(m, dict)] if isinstance(grading, list) else []
        model = next((as_text(m.get("model")) for m in reversed(replies) if m.get("role") == "assistant"), None)
        return Rater(model, "model", by_head.criterion) if model else by_head


def object_of(value: object, what: str, place: Place) -> Fields:
    """A field that is an object, or absent."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise place.wrong(what, value, "an object")
    return value


def objects_of(value: object, what: str, place: Place) -> list[Fields]:
    """A field that is a list of objects, or absent."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise place.wrong(what, value, "a list of objects")
    return [object_of(v, what, place) for v in value]


def _text(record: Fields, name: str, place: Place) -> str:
    value = place.need(record, name)
    if not isinstance(value, str):
        raise place.wrong(name, value, "a text")
    return value


def run_of(head: Fields, place: Place) -> Run:
    """The run that the head of a log describes."""
    spec = object_of(place.need(head, "eval"), "eval", place)
    system = _text(spec, "model", place)
    roles = {
        role: _model(model) for role, model in object_of(spec.get("model_roles"), "eval.model_roles", place).items()
    }
    raters = {}
    scorers = _scorers(head, spec, place)
    for scorer, (base, options, _) in scorers.items():
        grader = _model_of_scorer(base, options, roles, system)
        kind = "model" if grader else "code" if base in _CODE else "unknown"
        raters[scorer] = (grader or scorer, kind, base)
    n_scorers = Counter((judge, base) for judge, _, base in raters.values())
    run = spec.get("eval_id") or spec.get("run_id")
    return Run(
        system,
        {
            "task": _text(spec, "task", place),
            "eval_id": run if isinstance(run, str) else None,
            **{
                f"task_arg_{k}": v
                for k, v in scalars(object_of(spec.get("task_args"), "eval.task_args", place)).items()
            },
        },
        {
            scorer: Rater(judge, kind, base if kind == "model" and n_scorers[judge, base] == 1 else scorer)
            for scorer, (judge, kind, base) in raters.items()
        },
        frozenset(name for name, scorer in scorers.items() if scorer.counted),
    )


class _Scorer(NamedTuple):
    """What a log says of a scorer: its own name, its arguments and its metrics."""

    base: str
    options: Fields
    metrics: object

    @property
    def counted(self) -> bool:
        """Whether Inspect's accuracy counts the values, without a function of the user's for what they mean."""
        accuracies = [m for m in _flat(self.metrics) if m["name"] in ("accuracy", "inspect_ai/accuracy")]
        arguments = [m.get(name) for m in accuracies for name in ("options", "params")]
        return bool(accuracies) and not any(isinstance(g, dict) and "to_float" in g for g in arguments)


def _flat(metrics: object) -> Iterator[Fields]:
    """Metrics of a scorer, which may be grouped by the keys of its values."""
    if isinstance(metrics, dict) and isinstance(metrics.get("name"), str):
        yield metrics
    elif isinstance(metrics, dict | list):
        for inner in metrics.values() if isinstance(metrics, dict) else metrics:
            yield from _flat(inner)


def _scorers(head: Fields, spec: Fields, place: Place) -> dict[str, _Scorer]:
    """Scorers by the name under which their scores stand."""
    scorers: dict[str, _Scorer] = {}
    for scorer in objects_of(spec.get("scorers"), "eval.scorers", place):
        base = _text(scorer, "name", place).rpartition("/")[2]
        name, again = base, 0
        while name in scorers:
            again += 1
            name = f"{base}{again}"
        options = object_of(scorer.get("options"), "eval.scorers.options", place)
        scorers[name] = _Scorer(base, options, scorer.get("metrics"))
    results = object_of(head.get("results"), "results", place)
    scores = results.get("scores")
    for score in objects_of([scores] if isinstance(scores, dict) else scores, "results.scores", place):
        names = [n for n in (as_text(score.get("name")), as_text(score.get("scorer"))) if n]
        options = object_of(score.get("params"), "results.scores.params", place)
        for name in names:
            listed_scorer = scorers.setdefault(name, _Scorer(names[-1].rpartition("/")[2], options, None))
            if listed_scorer.metrics is None:
                scorers[name] = listed_scorer._replace(metrics=score.get("metrics"))
    return scorers


def _model(value: object) -> str | None:
    """Name of a model, as an argument of a scorer or a role gives it; several are a panel of them."""
    if isinstance(value, dict):
        value = value.get("model")
    if isinstance(value, list):
        names = [_model(v) for v in value]
        return " + ".join(n for n in names if n) if names and all(names) else None
    return as_text(value)


def _model_of_scorer(base: str, options: Fields, roles: Mapping[str, str | None], system: str) -> str | None:
    """The model that a scorer asks: its argument, or that of its role, or (as in Inspect) the one evaluated."""
    argument = next((model for g in _GRADERS if (model := _model(options.get(g)))), None)
    role = options.get("model_role")
    role = role.get("name") if isinstance(role, dict) else role
    graded = base.startswith("model_graded")
    bound = roles.get(role if isinstance(role, str) else "grader") if role or graded else None
    return argument or bound or (system if graded else None)
