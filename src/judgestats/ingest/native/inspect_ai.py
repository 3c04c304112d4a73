"""Inspect AI: logs (JSON, and zipped ``.eval``), and the frame that its ``samples_df`` gives."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from judgestats.errors import SchemaError
from judgestats.ingest.readers import (
    LOG_HEADERS,
    LOG_SAMPLE,
    Archive,
    Place,
    Reader,
    Record,
    Word,
    absent,
    has,
    member_object,
    scalars,
    words,
)
from judgestats.schema.columns import RATINGS, N

#: What Inspect's own metrics take its letters and words for; N is "no answer".
LETTERS: Mapping[str, float | bool] = {"C": True, "I": False, "P": 0.5, "N": False}
#: Words that they know besides, in any case.
_KNOWN = ("yes", "no", "true", "false")
#: Scorers of Inspect that ask no model.
_CODE = ("match", "includes", "pattern", "answer", "choice", "exact", "f1", "math", "perplexity", "target_perplexity")
#: Arguments of a scorer that name its grader.
_GRADERS = ("model", "grader_model", "judge_model", "grader", "judge", "scorer_model", "evaluator_model")
#: Beginning of the explanation where the grader's reply held no grade; the value was I before Inspect left it out.
_NO_GRADE = "Grade not found in model output"
_FIELDS = ("id", "epoch", "scores", "metadata")
_UNCHANGED = "UNCHANGED"


class Rater(NamedTuple):
    """Who gives the values of a scorer, and of what."""

    judge: str  # name of the grader, or of the scorer
    type: str  # ``model``, ``code``, ``human`` or ``unknown``
    criterion: str


@dataclass(frozen=True)
class Run:
    """What the head of a log says of all its samples."""

    system: str  # the model that was evaluated
    conditions: Mapping[str, Any]  # columns that are constant in the log
    raters: Mapping[str, Rater]  # by scorer
    counted: frozenset[str] = frozenset()  # scorers whose values Inspect's own accuracy counts: :data:`LETTERS`

    def rater(self, scorer: str, metadata: Any, graders: Mapping[str, str]) -> Rater:
        """Who gave a score: as the user or the log's head says, or the model whose reply is in the score's metadata."""
        known = self.raters.get(scorer) or Rater(scorer, "code" if scorer in _CODE else "unknown", scorer)
        if scorer in graders:
            return Rater(graders[scorer], "model", known.criterion)
        if known.type != "unknown":
            return known
        grading = metadata.get("grading") if isinstance(metadata, dict) else None
        replies = [m for m in grading if isinstance(m, dict)] if isinstance(grading, list) else []
        model = next((words(m.get("model")) for m in reversed(replies) if m.get("role") == "assistant"), None)
        return Rater(model, "model", known.criterion) if model else known


# ---- The head of a log -----------------------------------------------------------------------------------------------


def _object(value: Any, what: str, place: Place) -> Mapping[str, Any]:
    """A field that is an object, or absent."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise place.wrong(what, value, "an object")
    return value


def _objects(value: Any, what: str, place: Place) -> list[Mapping[str, Any]]:
    """A field that is a list of objects, or absent."""
    if value is None:
        return []
    if not isinstance(value, list):
        raise place.wrong(what, value, "a list of objects")
    return [_object(v, what, place) for v in value]


def _text(record: Mapping[str, Any], name: str, place: Place) -> str:
    value = place.need(record, name)
    if not isinstance(value, str):
        raise place.wrong(name, value, "a text")
    return value


def _run(head: Mapping[str, Any], place: Place) -> Run:
    spec = _object(place.need(head, "eval"), "eval", place)
    system = _text(spec, "model", place)
    roles = {role: _model(model) for role, model in _object(spec.get("model_roles"), "eval.model_roles", place).items()}
    raters = {}
    scorers = _scorers(head, spec, place)
    for scorer, (base, options, _) in scorers.items():
        grader = _grader(base, options, roles, system)
        kind = "model" if grader else "code" if base in _CODE else "unknown"
        raters[scorer] = (grader or scorer, kind, base)
    asked = Counter((judge, base) for judge, _, base in raters.values())
    run = spec.get("eval_id") or spec.get("run_id")
    return Run(
        system,
        {
            "task": _text(spec, "task", place),
            "eval_id": run if isinstance(run, str) else None,
            **{f"task_arg_{k}": v for k, v in scalars(_object(spec.get("task_args"), "eval.task_args", place)).items()},
        },
        {
            scorer: Rater(judge, kind, base if kind == "model" and asked[judge, base] == 1 else scorer)
            for scorer, (judge, kind, base) in raters.items()
        },
        frozenset(name for name, scorer in scorers.items() if scorer.counted),
    )


class _Scorer(NamedTuple):
    """What a log says of a scorer: its own name, its arguments and its metrics."""

    base: str
    options: Mapping[str, Any]
    metrics: Any

    @property
    def counted(self) -> bool:
        """Whether Inspect's accuracy counts the values, without a function of the user's for what they mean."""
        found = [m for m in _flat(self.metrics) if m["name"] in ("accuracy", "inspect_ai/accuracy")]
        given = [m.get(name) for m in found for name in ("options", "params")]
        return bool(found) and not any(isinstance(g, dict) and "to_float" in g for g in given)


def _flat(metrics: Any) -> Iterator[Mapping[str, Any]]:
    """Metrics of a scorer, which may be grouped by the keys of its values."""
    if isinstance(metrics, dict) and isinstance(metrics.get("name"), str):
        yield metrics
    elif isinstance(metrics, dict | list):
        for inner in metrics.values() if isinstance(metrics, dict) else metrics:
            yield from _flat(inner)


def _scorers(head: Mapping[str, Any], spec: Mapping[str, Any], place: Place) -> dict[str, _Scorer]:
    """Scorers by the name under which their scores stand."""
    found: dict[str, _Scorer] = {}
    for scorer in _objects(spec.get("scorers"), "eval.scorers", place):
        base = _text(scorer, "name", place).rpartition("/")[2]
        name, again = base, 0
        while name in found:
            again += 1
            name = f"{base}{again}"
        options = _object(scorer.get("options"), "eval.scorers.options", place)
        found[name] = _Scorer(base, options, scorer.get("metrics"))
    results = _object(head.get("results"), "results", place)
    scores = results.get("scores")
    for score in _objects([scores] if isinstance(scores, dict) else scores, "results.scores", place):
        names = [n for n in (words(score.get("name")), words(score.get("scorer"))) if n]
        options = _object(score.get("params"), "results.scores.params", place)
        for name in names:
            known = found.setdefault(name, _Scorer(names[-1].rpartition("/")[2], options, None))
            if known.metrics is None:
                found[name] = known._replace(metrics=score.get("metrics"))
    return found


def _model(value: Any) -> str | None:
    """Name of a model, as an argument of a scorer or a role gives it; several are a panel of them."""
    if isinstance(value, dict):
        value = value.get("model")
    if isinstance(value, list):
        names = [_model(v) for v in value]
        return " + ".join(n for n in names if n) if names and all(names) else None
    return words(value)


def _grader(base: str, options: Mapping[str, Any], roles: Mapping[str, str | None], system: str) -> str | None:
    """The model that a scorer asks: its argument, or that of its role, or (as in Inspect) the one evaluated."""
    named = next((model for g in _GRADERS if (model := _model(options.get(g)))), None)
    role = options.get("model_role")
    role = role.get("name") if isinstance(role, dict) else role
    graded = base.startswith("model_graded")
    bound = roles.get(role if isinstance(role, str) else "grader") if role or graded else None
    return named or bound or (system if graded else None)


# ---- The samples -----------------------------------------------------------------------------------------------------


def matches(record: Mapping[str, Any]) -> str:
    """Recognise a log by its head, or by the members of the archive."""
    members = [name for name in LOG_HEADERS if name in record]
    if members:
        return f"the archive has {members[0]}"
    spec = record.get("eval")
    if "status" in record and isinstance(spec, dict) and {"task", "model", "dataset"} <= set(spec):
        return "the object has status, and eval with task, model and dataset"
    return ""


def records(document: Any, path: Path) -> Iterator[Record]:
    """Samples of a log, each with the head of the log."""
    head = member_object(document, _header(document)) if isinstance(document, Archive) else document
    place = Place(path, "its head", 0)
    run = _run(head, place)
    found = _zipped(document, head) if isinstance(document, Archive) else _listed(head, place)
    empty = True
    for where, sample in found:
        empty = False
        yield where, {"run": run, "sample": sample}
    if empty:
        status = head.get("status", "started")
        raise SchemaError(
            f"{path.name}: a log of Inspect without samples (status {str(status)[:20]!r}), only a header and perhaps "
            "metrics: it holds no verdict. Give the whole log; Inspect writes samples unless log_samples=False."
        )


def _header(archive: Archive) -> str:
    return next(name for name in LOG_HEADERS if name in archive.names())


def _listed(head: Mapping[str, Any], place: Place) -> Iterator[Record]:
    """Samples of a JSON log."""
    for sample in _objects(head.get("samples"), "samples", place):
        yield _named(sample), dict(sample)


def _zipped(archive: Archive, head: Mapping[str, Any]) -> Iterator[Record]:
    """Samples of an archive, from their own members: ``summaries.json`` cuts explanations and has no replies."""
    until = () if head.get("invalidated") else _FIELDS
    names = dict.fromkeys(archive.names())
    with archive:
        for name in names:
            if LOG_SAMPLE.fullmatch(name):
                sample = member_object(archive, name, until)
                apart = name.removesuffix("sample.json") + "metadata.json"
                if name.endswith("/sample.json") and apart in names:
                    sample["metadata"] = member_object(archive, apart)
                where = _named(sample)
                yield where, sample
                for _ in range(archive.repeated.get(name, 1) - 1):
                    yield f"{where}, an earlier record", {"superseded": True}


def _named(sample: Mapping[str, Any]) -> str:
    return f"sample {sample.get('id')}, epoch {sample.get('epoch')}"


def rows(
    record: Mapping[str, Any],
    place: Place,
    graders: Mapping[str, str] | None = None,
    values: Mapping[str, Mapping[str, Any]] | None = None,
) -> Iterator[dict[str, Any]]:
    """Read a sample: a row for each scorer, and for each key of a score that is a dict."""
    sample = record["sample"]
    if sample.get("superseded"):
        place.exclude("a later record of the sample in the same archive replaces it")
        return
    run, graders, values = record["run"], by_scorer(graders, "graders", str), by_scorer(values, "values", dict)
    epoch = place.need(sample, "epoch")
    item = place.need(sample, "id")
    if isinstance(epoch, bool) or not isinstance(epoch, int):
        raise place.wrong("epoch", epoch, "a whole number")
    if isinstance(item, bool) or not isinstance(item, str | int):
        raise place.wrong("id", item, "a text or a whole number")
    if sample.get("invalidation"):
        place.exclude("the sample was invalidated by hand")
        return
    scores = sample.get("scores")
    if scores is None and sample.get("score") is not None:  # before Inspect had several scorers
        scores = {next(iter(run.raters), "score"): sample["score"]}
    if not _object(scores, "scores", place):
        place.exclude("the sample failed, so it was not scored" if sample.get("error") else "the sample was not scored")
        return
    head = {
        "system": run.system,
        "item": str(item),
        "replicate": epoch,
        **run.conditions,
        **_prefixed("metadata", _object(sample.get("metadata"), "metadata", place)),
    }
    for scorer, score in scores.items():
        score = _object(score, f"scores.{scorer}", place)
        rater = run.rater(scorer, score.get("metadata"), graders)
        for given in _as_given(score, rater, scorer, place):
            yield from _ratings(given, scorer, head, values.get(scorer, {}), place, declared=scorer in run.counted)


def by_scorer(given: Any, name: str, kind: type) -> Mapping[str, Any]:
    """An option that says something of each scorer, checked; the command line writes ``scorer=safe:1;unsafe:0``."""
    if kind is dict and isinstance(given, Mapping):
        given = {k: _classes(v) if isinstance(v, str) and ":" in v else v for k, v in given.items()}
    if given is not None and not (isinstance(given, Mapping) and all(isinstance(v, kind) for v in given.values())):
        example = "{'scorer': 'model'}" if kind is str else "{'scorer': {'safe': 1, 'unsafe': 0}}"
        raise SchemaError(f"{name}={given!r} should be a dict such as {example}.")
    return given or {}


def _classes(text: str) -> dict[str, Any]:
    """Numbers of classes, as the command line writes them."""
    pairs = (pair.rpartition(":")[::2] for pair in text.split(";") if pair)
    plain: dict[str, Any] = {"true": True, "false": False, "none": None}
    return {k.strip(): plain.get(v.strip().lower(), _number(v.strip())) for k, v in pairs}


def _prefixed(prefix: str, record: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{prefix}_{name}": value for name, value in scalars(record).items()} if record else {}


class _Given(NamedTuple):
    """A value as one rater gave it."""

    rater: Rater
    value: Any
    explanation: str | None
    metadata: Mapping[str, Any]


def _as_given(score: Mapping[str, Any], rater: Rater, scorer: str, place: Place) -> list[_Given]:
    """The scorer's own value; where people edited it, the original and each person's last value."""
    metadata = _object(score.get("metadata"), f"scores.{scorer}.metadata", place)
    own = _Given(rater, place.need(score, "value"), words(score.get("explanation")), metadata)
    history = _objects(score.get("history"), f"scores.{scorer}.history", place)
    if not history:
        return [own]
    people: dict[str, _Given] = {}
    for edit in history:
        by = _object(edit.get("provenance"), f"scores.{scorer}.history.provenance", place)
        changed, why = edit.get("value", _UNCHANGED), words(edit.get("explanation", _UNCHANGED))
        if by and changed != _UNCHANGED:
            author = words(by.get("author")) or "unnamed person"
            said = why if why != _UNCHANGED else words(by.get("reason"))
            people[author] = _Given(Rater(author, "human", rater.criterion), changed, said, {})
    first = history[0]
    if first.get("provenance"):  # a score that a person added
        return [*people.values()]
    metadata = _object(first.get("metadata"), f"scores.{scorer}.history.metadata", place)
    return [_Given(rater, place.need(first, "value"), words(first.get("explanation")), metadata), *people.values()]


def _ratings(
    given: _Given, scorer: str, head: Mapping[str, Any], values: Mapping[str, Any], place: Place, *, declared: bool
) -> Iterator[dict[str, Any]]:
    """Rows of a value: one, or one for each key of a dict or place in a list."""
    rater = given.rater
    inner: Mapping[Any, Any] = {None: given.value}
    if isinstance(given.value, dict):
        inner = given.value
    elif isinstance(given.value, list):
        inner = dict(enumerate(given.value, start=1))
    if not inner:
        place.exclude("an empty list or dict of values", f"scorer {scorer}")
    reason = words(given.metadata.get("unscored_reason"))
    silent = rater.type == "model" and (given.explanation or "").startswith(_NO_GRADE)
    for key, value in inner.items():
        part = f"scorer {scorer}" if key is None else f"scorer {scorer}, {key}"
        status = "parse" if silent else "ok"
        score, label = (None, None) if silent else rating(value, scorer, part, values, place, LETTERS)
        if declared and isinstance(score, Word) and (score.text in LETTERS or score.text.lower() in _KNOWN):
            score = score._replace(declared="its metric accuracy")
        if score is None and label is None and not silent:
            if not reason:
                place.exclude("unscored", part)
                continue
            status = "parse" if "parse" in reason else "refused" if "refus" in reason else "error"
        yield {
            "judge": rater.judge,
            "criterion": rater.criterion if key is None else f"{rater.criterion}/{key}",
            "score": score,
            "status": status,
            "rationale": given.explanation,
            "rater_type": rater.type,
            "label": label,
            **_prefixed("score_metadata", given.metadata),
            **head,
        }


def rating(
    value: Any,
    scorer: str,
    part: str,
    values: Mapping[str, Any],
    place: Place,
    letters: Mapping[str, float | bool] = MappingProxyType({}),
) -> tuple[float | bool | Word | None, str | None]:
    """Read a value (true or false, a number, a :class:`Word`) and its label if it is more; neither if unscored."""
    if value is None or isinstance(value, bool):
        return value, None
    if isinstance(value, int | float):
        if math.isinf(value):
            raise place.wrong(f"the value of {part}", value, "a finite number, or NaN for unscored")
        return (None, None) if math.isnan(value) else (float(value), None)
    if not isinstance(value, str):
        raise place.wrong(f"the value of {part}", value, "a number, true, false, a text, or a list or object of these")
    if values:
        return _mapped(value, part, values, place), value
    number = _number(value)
    if number is not None:
        return (None, None) if math.isnan(number) else (number, None)
    if not value:
        return None, None
    return Word(value, part, partial(_by_values, scorer), letters), "N" if letters and value == "N" else None


def _by_values(scorer: str, texts: Sequence[str]) -> str:
    """How ``values=`` gives the texts of a scorer a number."""
    return (
        f"values= gives each a number, True, False or None: values={{{scorer!r}: "
        f"{{{', '.join(f'{t!r}: ...' for t in texts)}}}}}, on the command line "
        f"--option 'values={scorer}={';'.join(f'{t}:...' for t in texts)}'"
    )


def _number(text: str) -> float | None:
    """A finite number or NaN, written as a text; None for anything else."""
    try:
        found = float(text) if text.strip() == text and "_" not in text else None
    except ValueError:
        return None
    return None if found is None or math.isinf(found) else found


def _mapped(value: str, part: str, values: Mapping[str, Any], place: Place) -> float | bool | None:
    if value not in values:
        raise place.wrong(f"the value of {part}", value, f"{', '.join(map(str, values))}, as values= says")
    number = values[value]
    if number is None or isinstance(number, bool):
        return number
    if not isinstance(number, int | float) or not math.isfinite(number):
        raise place.wrong(f"values= for {value!r}", number, "a number, True, False, or None for none")
    return float(number)


# ---- The frame of samples_df -----------------------------------------------------------------------------------------

_SCORE = "score_"
_DETAILS = ("answer", "explanation", "metadata")
#: Columns of a canonical frame, which a column of another meaning may not fill.
_TAKEN = {c.name for c in RATINGS} | {N, "label", "rater_type"}


def matches_frame(record: Mapping[str, Any]) -> str:
    """Recognise the frame of ``samples_df`` by the names of its columns."""
    if has(record, "sample_id", "eval_id", "id", "epoch") and any(name.startswith(_SCORE) for name in record):
        return "columns sample_id, eval_id, id, epoch and score_*"
    return ""


def frame_rows(
    record: Mapping[str, Any],
    place: Place,
    graders: Mapping[str, str] | None = None,
    values: Mapping[str, Mapping[str, Any]] | None = None,
) -> Iterator[dict[str, Any]]:
    """Read a row of the frame: a rating for each scorer, and for each key of a score that is a dict."""
    cells = {name: None if absent(value) else value for name, value in record.items()}
    scorers, details = _scorers_of(cells)
    epoch = cells["epoch"]
    if isinstance(epoch, str | float) and _number(str(epoch)) is not None and float(epoch).is_integer():
        epoch = int(float(epoch))
    if isinstance(epoch, bool) or not isinstance(epoch, int):
        raise place.wrong("epoch", epoch, "a whole number")
    if cells["id"] is None:
        raise place.wrong("id", "", "the id of a sample")
    used = {"id", "epoch", "model", "sample_id", "input", "messages", *details, *(_SCORE + s for s in scorers)}
    head = {
        "system": str(cells.get("model") or cells["eval_id"]),
        "item": str(cells["id"]),
        "replicate": epoch,
        **{f"{n}_source" if n in _TAKEN else n: v for n, v in scalars(cells, used).items()},
    }
    graders, values = by_scorer(graders, "graders", str), by_scorer(values, "values", dict)
    nobody = Run("", {}, {})
    for scorer in scorers:
        value = cells[_SCORE + scorer]
        if value is None:
            place.exclude("the sample was not scored", f"scorer {scorer}")
            continue
        metadata = _structure(cells.get(f"{_SCORE}{scorer}_metadata"))
        metadata = metadata if isinstance(metadata, dict) else {}
        explanation = words(cells.get(f"{_SCORE}{scorer}_explanation"))
        rater = nobody.rater(scorer, metadata, graders)
        given = _Given(rater, _structure(value), explanation, metadata)
        yield from _ratings(given, scorer, head, values.get(scorer, {}), place, declared=False)


def _structure(value: Any) -> Any:
    """A list or object that the frame holds as JSON; anything else as it is."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _scorers_of(names: Mapping[str, Any]) -> tuple[list[str], set[str]]:
    """Scorers among the columns, and the columns that are no verdict: details of a score, and metrics of the log."""
    found = [n.removeprefix(_SCORE) for n in names if n.startswith(_SCORE) and len(n) > len(_SCORE)]
    metrics = "score_headline_name" in names  # the columns of EvalScores: score_<scorer>_<metric>
    details = {
        s
        for s in found
        if (metrics and s.startswith("headline_"))
        or any(
            s.startswith(f"{other}_") and (metrics or s.removeprefix(f"{other}_") in _DETAILS)
            for other in found
            if other != s
        )
    }
    return [s for s in found if s not in details], {_SCORE + s for s in details}


_OPTIONS = {
    "graders": "grader of a scorer that the log does not name, {'scorer': 'model'}",
    "values": "number of each class of a scorer, {'scorer': {'safe': 1, 'unsafe': 0}}",
}

LOG = Reader(
    name="inspect_ai",
    frame="ratings",
    about="Inspect AI logs, .json or .eval; a rating for each scorer and epoch",
    example='{"status": ..., "eval": {"task": ..., "model": ...}, "samples": [{"id": 1, "epoch": 1, "scores": ...}]}',
    matches=matches,
    rows=rows,
    records=records,
    containers=("json", "eval"),
    options=_OPTIONS,
    fields={
        "samples[].scores.<scorer>.value": "score: true, false and numbers as they are; C and I right and wrong, P "
        "0.5, N wrong, with label N, where the metrics of the scorer have accuracy or C or I is among its values; yes, "
        "no, pass, fail, ... where all its values in all files are such words. Else the scorer is left out, unless "
        "values= gives its values numbers. NaN or null is excluded, with an unscored_reason it is a missing score. A "
        "dict or list gives a row for each key, criterion <scorer>/<key>",
        "eval.scorers[].options, eval.model_roles.grader, eval.model, metadata.grading": "judge: the scorer's model "
        "(argument model, grader_model, judge_model, grader, judge, scorer_model or evaluator_model), else that of its "
        "role, else for model_graded_* the model evaluated, as Inspect does; else the model of the reply in grading; "
        "else the name of the scorer",
        "scorer": "criterion; rater_type: model, code (match, includes, ...), human (edited scores) or unknown",
        "samples[].scores.<scorer>.explanation": "rationale; Grade not found in model output is status parse, whatever "
        "the value",
        "samples[].scores.<scorer>.history": "the scorer's own value, and a row for each person who edited it",
        "samples[].id, epoch": "item, replicate",
        "eval.model": "system",
        "eval.task, eval_id, task_args": "task, eval_id, task_arg_<name>",
        "samples[].metadata, scores.<scorer>.metadata": "single values as metadata_<name>, score_metadata_<name>",
        "samples[].error, invalidation": "excluded where there is no score; invalidated samples are excluded",
    },
    sample="public logs of Inspect's own tests and of inspect_scout; logs written as Inspect writes them",
)

SAMPLES = Reader(
    name="inspect_ai_samples",
    frame="ratings",
    about="the frame of Inspect's samples_df, as a frame, CSV or Parquet",
    example="sample_id,eval_id,id,epoch,input,target,model,score_match,score_model_graded_qa",
    matches=matches_frame,
    rows=frame_rows,
    containers=("csv", "tsv", "parquet"),
    options=_OPTIONS,
    fields={
        "score_<scorer>": "score, as in a log; a dict or list is JSON in the cell",
        "score_<scorer>_explanation, _metadata": "rationale; the grader, if metadata has grading",
        "score_headline_*, score_<scorer>_<metric>": "metrics of the log, not read",
        "model, else eval_id": "system",
        "id, epoch": "item, replicate",
        "all else with single values": "condition columns, but input and messages",
    },
    sample="written as Inspect's columns are documented",
)
