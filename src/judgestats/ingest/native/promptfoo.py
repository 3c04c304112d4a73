"""promptfoo: results of an evaluation, JSON or JSONL; one verdict per assertion."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from judgestats.ingest.json_values import Fields, Row
from judgestats.ingest.readers import Place, Reader, Record
from judgestats.ingest.record_fields import as_text, fields_below, has_fields, object_in, scalars, to_score
from judgestats.ingest.record_versions import Identity

#: Types of assertion that a model grades; also those that begin with ``promptfoo:redteam:``. All others are code.
_MODEL = {
    *("agent-rubric", "answer-relevance", "classifier", "context-faithfulness", "context-recall", "context-relevance"),
    *("conversation-relevance", "factuality", "g-eval", "llm-rubric", "model-graded-closedqa", "moderation", "pi"),
    *("model-graded-factuality", "search-rubric", "select-best", "trajectory:goal-success"),
}
#: Reasons that promptfoo writes, with score 0, where the grader's answer could not be read, and where its call failed.
_UNREAD = re.compile(r"could not extract json from|.{0,40}produced malformed response|invalid output format", re.I)
_FAILED = re.compile(r"no output$|api (call )?error|request failed after|grader .*(failed|unavailable)", re.I)
_USED = ("type", "metric", "value", "provider", "rubricPrompt", "transform", "contextTransform")
_READ = "_read"


def _test_results(document: object) -> list[object]:
    """Results of an export ({results: {results: [...]}}) or of a summary ({results: [...]})."""
    results = document.get("results") if isinstance(document, Mapping) else None
    results = results.get("results") if isinstance(results, Mapping) else results
    return results if isinstance(results, list) else []


def matches_result(record: Fields) -> str:
    """Recognise one result, as a line of the JSONL output."""
    if has_fields(record, "provider", "vars") and (
        "gradingResult" in record or has_fields(record, "success", "namedScores")
    ):
        return "results have provider, vars and gradingResult"
    return ""


def matches(document: Fields) -> str:
    """Recognise promptfoo's JSON output, of any version."""
    if has_fields(document, "evalId", "results") and isinstance(document["results"], dict):
        return "the object has evalId and results"
    return next((why for r in _test_results(document) if isinstance(r, dict) and (why := matches_result(r))), "")


def records(document: Row, _: Path) -> Iterator[Record]:
    """Yield the results; tests with the same variables and assertions are one item, repeated by ``--repeat``."""
    first: dict[str, str] = {}
    times: Counter[tuple[str, ...]] = Counter()
    grader = _grader(object_in(object_in(object_in(document, "config"), "defaultTest"), "options").get("provider"))
    for i, result in enumerate(_test_results(document), start=1):
        if not isinstance(result, dict):
            result = {"provider": None, "gradingResult": result}
        test = str(result.get("testIdx", i - 1))
        texts = json.dumps([result.get("vars"), _of_test(result, "description"), _of_test(result, "assert")])
        item = first.setdefault(texts, test) if result.get("vars") else test
        call = (item, str(result.get("promptId")), str(result.get("promptIdx")), str(_provider(result)))
        read = {"item": item, "replicate": times[call], "grader": grader, "eval_id": as_text(document.get("evalId"))}
        times[call] += 1
        yield f"result {i}", {**result, _READ: read}


def _of_test(result: Fields, name: str) -> object:
    return object_in(result, "testCase").get(name, result.get(name))


def rows(record: Fields, place: Place, judge: str | None = None) -> Iterator[Row]:
    """Read one verdict per assertion."""
    grading = record.get("gradingResult")
    if not isinstance(grading, dict):
        if grading is not None:
            raise place.wrong("gradingResult", grading, "an object, or null")
        error = as_text(record.get("error"))
        return place.exclude(f"the evaluated call failed ({error[:80]})" if error else "no assertion was evaluated")
    read = object_in(record, _READ)
    system = _provider(record)
    if system is None:
        raise place.wrong("provider", record.get("provider"), "a text, or an object with an id")
    common = {
        "system": system,
        "item": read.get("item", str(record.get("testIdx", place.index))),
        "replicate": read.get("replicate", 0),
        "prompt": as_text(record.get("promptId")) or as_text(object_in(record, "prompt").get("label")),
        "eval_id": read.get("eval_id"),
        **fields_below(record, "vars"),
        **fields_below(record.get("testCase"), "metadata"),
    }
    default = (
        _grader(object_in(object_in(record, "testCase"), "options").get("provider")) or read.get("grader") or judge
    )
    assertions = list(_assertions(grading, place))
    kinds = Counter(_criterion(a) for _, a in assertions)
    verdicts: list[Row] = []
    for result, assertion in assertions:
        kind, criterion = str(assertion.get("type") or "assertion"), _criterion(assertion)
        value = assertion.get("value")
        if kinds[criterion] > 1 and value is not None:
            criterion = f"{criterion}: {value if isinstance(value, str) else json.dumps(value)}"
        rater = _rater_type(kind)
        verdicts.append(
            {
                **common,
                "judge": (_grader(assertion.get("provider")) or default or kind) if rater == "model" else kind,
                "criterion": criterion,
                **_assertion_row(result, rater),
                "rater_type": rater,
                "assertion": kind,
                "rubric": as_text(value) if rater == "model" else None,
                **scalars(assertion, _USED),
            }
        )
    yield from _numbered(verdicts)


def _numbered(verdicts: list[Row]) -> Iterator[Row]:
    """Number the same assertion of one grader, made several times of one response, as replicates."""
    times = Counter((v["judge"], v["criterion"]) for v in verdicts)
    seen: Counter[tuple[str, str]] = Counter()
    for verdict in verdicts:
        key = verdict["judge"], verdict["criterion"]
        yield {**verdict, "replicate": verdict["replicate"] * times[key] + seen[key]}
        seen[key] += 1


def _assertion_row(result: Fields, rater: str) -> Row:
    reason, passed = as_text(result.get("reason")), result.get("pass")
    score = to_score(passed if result.get("score") is None else result["score"])
    status = "ok"
    if object_in(result, "metadata").get("graderError") or (rater == "model" and not score and reason):
        failures = _UNREAD.match(reason or ""), _FAILED.match(reason or "")
        if object_in(result, "metadata").get("graderError") or any(failures):
            status, score, passed = ("parse" if failures[0] else "error"), float("nan"), None
    elif score != score:
        status = "parse"
    return {
        "score": score,
        "status": status,
        "rationale": reason,
        "passed": passed if isinstance(passed, bool) else None,
    }


def _assertions(grading: Fields, place: Place) -> Iterator[tuple[Row, Row]]:
    """Yield each assertion with its result; of a set, which is a sum of verdicts, those in it."""
    listed = grading.get("componentResults") or ([grading] if isinstance(grading.get("assertion"), dict) else [])
    if not isinstance(listed, list) or not all(isinstance(c, dict) for c in listed):
        raise place.wrong("componentResults", listed, "a list of objects")
    if not listed:
        place.exclude("no assertion was evaluated")
    skip = 0
    for i, result in enumerate(listed):
        if skip:
            skip -= 1
            continue
        inner = result.get("componentResults") if result is not grading else None
        inner = [c for c in inner if isinstance(c, dict)] if isinstance(inner, list) else []
        following = listed[i + 1 : i + 1 + len(inner)]  # later versions list the parts of a set after it too
        repeated = bool(inner) and [c.get("reason") for c in following] == [c.get("reason") for c in inner]
        assertion = result.get("assertion")
        if isinstance(assertion, dict) and assertion.get("type") not in (None, "assert-set"):
            yield result, assertion
            if inner:
                place.exclude("parts of one assertion", f"assertion {i + 1}", n=len(inner))
                skip = len(inner) * repeated
        elif inner:
            place.exclude("the sum of a set of assertions", f"assertion {i + 1}")
            if not repeated:
                yield from _assertions({"componentResults": inner}, place)
        else:
            yield result, {}


def _criterion(assertion: Fields) -> str:
    return str(assertion.get("metric") or assertion.get("type") or "assertion")


def _rater_type(kind: str) -> str:
    bare = kind.removeprefix("not-")
    if bare in _MODEL or bare.startswith("promptfoo:redteam:"):
        return "model"
    return "human" if bare == "human" else "code"


def _grader(provider: object) -> str | None:
    """Name of a grader: a text, an object with an id, or one of these under ``text``."""
    if isinstance(provider, Mapping):
        return as_text(provider.get("id")) or _grader(provider.get("text"))
    return as_text(provider)


def _provider(result: Fields) -> str | None:
    provider = result.get("provider")
    if isinstance(provider, Mapping):
        return as_text(provider.get("label")) or as_text(provider.get("id"))
    return as_text(provider)


READER = Reader(
    name="promptfoo",
    frame="ratings",
    about="promptfoo results (JSON, versions 1 to 4); one verdict per assertion, by models, code and people",
    example='{"evalId": ..., "results": {"version": 3, "results": [{"provider": ..., "gradingResult": {...}}]}}',
    matches=matches,
    rows=rows,
    records=records,
    options={"judge": "name of the grader, where the log does not give it; else the type of the assertion"},
    containers=("json",),
    fields={
        "gradingResult.componentResults[].score": "score; pass where there is none",
        "gradingResult.componentResults[].pass": "passed",
        "gradingResult.componentResults[].reason": "rationale; shows which graders failed, whose score is 0",
        "gradingResult.componentResults[].metadata.graderError": "status error; parse where its answer was unreadable",
        "assertion.provider, testCase.options.provider, config.defaultTest.options.provider": "judge: the first",
        "assertion.type": "assertion, rater_type; judge where it is code",
        "assertion.metric": "criterion; else the type, with the value where a result has several of the type",
        "assertion.value": "rubric, if a model grades",
        "assertion.threshold, .weight, other single values": "columns of that name",
        "provider.label, provider.id": "system",
        "testIdx, vars": "item (tests with the same variables and assertions are one) and replicate",
        "vars.<name>, testCase.metadata.<name>": "vars.<name>, metadata.<name>, if it is one value",
        "promptId": "prompt",
        "evalId": "eval_id",
    },
    sample="public: the tool's own test fixture (version 3); other versions from its types",
    identity=Identity(keys=(("id",),)),
)

LINES = replace(
    READER,
    name="promptfoo_jsonl",
    about="promptfoo results, one a line; one verdict per assertion, by models, code and people",
    example='{"provider": {"id": ...}, "vars": {...}, "testIdx": 0, "gradingResult": {"componentResults": [...]}}',
    matches=matches_result,
    records=None,
    containers=("json", "jsonl"),
    sample="records of the public fixture, one a line",
)
