"""Inspect AI: logs, as JSON and as zipped ``.eval``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from judgestats.errors import SchemaError
from judgestats.ingest.archives import Archive
from judgestats.ingest.containers import LOG_HEADERS, LOG_SAMPLE
from judgestats.ingest.json_values import Fields, Record, Row, member_object
from judgestats.ingest.native.inspect_ai_head import Rater, object_of, objects_of, run_of
from judgestats.ingest.native.inspect_values import LETTERS, by_scorer, rating
from judgestats.ingest.readers import Place, Reader
from judgestats.ingest.record_fields import as_text, scalars
from judgestats.ingest.record_versions import IF_GIVEN, Identity
from judgestats.ingest.word_scores import Word

#: Words that they know besides, in any case.
_KNOWN = ("yes", "no", "true", "false")
#: Beginning of the explanation where the grader's reply held no grade; the value was I before Inspect left it out.
_NO_GRADE = "Grade not found in model output"
_FIELDS = ("id", "epoch", "scores", "metadata")
_UNCHANGED = "UNCHANGED"


def matches(record: Fields) -> str:
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
    run = run_of(head, place)
    samples = _samples_of_archive(document, head) if isinstance(document, Archive) else _samples_of_log(head, place)
    empty = True
    for where, sample in samples:
        empty = False
        yield where, {"run": run, "sample": sample, "invalidation": sample.get("invalidation")}
    if empty:
        status = head.get("status", "started")
        raise SchemaError(
            f"{path.name}: a log of Inspect without samples (status {str(status)[:20]!r}), only a header and perhaps "
            "metrics: it holds no verdict. Give the whole log; Inspect writes samples unless log_samples=False."
        )


def _header(archive: Archive) -> str:
    return next(name for name in LOG_HEADERS if name in archive.names())


def _samples_of_log(head: Fields, place: Place) -> Iterator[Record]:
    """Samples of a JSON log."""
    for sample in objects_of(head.get("samples"), "samples", place):
        yield _sample_name(sample), dict(sample)


def _samples_of_archive(archive: Archive, head: Fields) -> Iterator[Record]:
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
                where = _sample_name(sample)
                yield where, sample
                for _ in range(archive.repeated.get(name, 1) - 1):
                    yield f"{where}, an earlier record", {"superseded": True}


def _sample_name(sample: Fields) -> str:
    return f"sample {sample.get('id')}, epoch {sample.get('epoch')}"


def rows(
    record: Fields, place: Place, graders: Mapping[str, str] | None = None, values: Mapping[str, Fields] | None = None
) -> Iterator[Row]:
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
    scores = sample.get("scores")
    if scores is None and sample.get("score") is not None:  # before Inspect had several scorers
        scores = {next(iter(run.raters), "score"): sample["score"]}
    if not object_of(scores, "scores", place):
        place.exclude("the sample failed, so it was not scored" if sample.get("error") else "the sample was not scored")
        return
    head = {
        "system": run.system,
        "item": str(item),
        "replicate": epoch,
        **run.conditions,
        **_prefixed("metadata", object_of(sample.get("metadata"), "metadata", place)),
    }
    for scorer, score in scores.items():
        score = object_of(score, f"scores.{scorer}", place)
        rater = run.rater(scorer, score.get("metadata"), graders)
        for rated in _values_by_rater(score, rater, scorer, place):
            yield from rating_rows(rated, scorer, head, values.get(scorer, {}), place, declared=scorer in run.counted)


def _prefixed(prefix: str, record: Fields) -> Row:
    return {f"{prefix}_{name}": value for name, value in scalars(record).items()} if record else {}


class ScorerValue(NamedTuple):
    """A value as one rater gave it."""

    rater: Rater
    value: object
    explanation: str | None
    metadata: Fields


def _values_by_rater(score: Fields, rater: Rater, scorer: str, place: Place) -> list[ScorerValue]:
    """The scorer's own value; where people edited it, the original and each person's last value."""
    metadata = object_of(score.get("metadata"), f"scores.{scorer}.metadata", place)
    own = ScorerValue(rater, place.need(score, "value"), as_text(score.get("explanation")), metadata)
    history = objects_of(score.get("history"), f"scores.{scorer}.history", place)
    if not history:
        return [own]
    people: dict[str, ScorerValue] = {}
    for edit in history:
        by = object_of(edit.get("provenance"), f"scores.{scorer}.history.provenance", place)
        changed, why = edit.get("value", _UNCHANGED), as_text(edit.get("explanation", _UNCHANGED))
        if by and changed != _UNCHANGED:
            author = as_text(by.get("author")) or "unnamed person"
            said = why if why != _UNCHANGED else as_text(by.get("reason"))
            people[author] = ScorerValue(Rater(author, "human", rater.criterion), changed, said, {})
    first = history[0]
    if first.get("provenance"):  # a score that a person added
        return [*people.values()]
    metadata = object_of(first.get("metadata"), f"scores.{scorer}.history.metadata", place)
    return [
        ScorerValue(rater, place.need(first, "value"), as_text(first.get("explanation")), metadata),
        *people.values(),
    ]


def rating_rows(
    rated: ScorerValue, scorer: str, head: Fields, values: Fields, place: Place, *, declared: bool
) -> Iterator[Row]:
    """Rows of a value: one, or one for each key of a dict or place in a list."""
    rater = rated.rater
    inner: Mapping[object, object] = {None: rated.value}
    if isinstance(rated.value, dict):
        inner = rated.value
    elif isinstance(rated.value, list):
        inner = dict(enumerate(rated.value, start=1))
    if not inner:
        place.exclude("an empty list or dict of values", f"scorer {scorer}")
    reason = as_text(rated.metadata.get("unscored_reason"))
    silent = rater.type == "model" and (rated.explanation or "").startswith(_NO_GRADE)
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
            "rationale": rated.explanation,
            "rater_type": rater.type,
            "label": label,
            **_prefixed("score_metadata", rated.metadata),
            **head,
        }


OPTIONS = {
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
    options=OPTIONS,
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
        "samples[].error": "excluded where there is no score",
        "member of the archive": "of samples that stand in it twice, the last",
    },
    sample="public logs of Inspect's own tests and of inspect_scout; logs written as Inspect writes them",
    identity=Identity(withdrawn={"invalidation": (IF_GIVEN, "the sample was invalidated by hand")}),
)
