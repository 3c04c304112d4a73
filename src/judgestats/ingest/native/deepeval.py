"""DeepEval: a test run, JSON; one verdict per metric of a test case, of a conversation or of a span of its trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from judgestats.ingest.json_values import Fields, Row
from judgestats.ingest.readers import Place, Reader, Record
from judgestats.ingest.record_fields import as_text, fields_below, object_in, scalars, to_score

#: Lists of test cases, as written by alias, by name, and by ``evaluate()``.
_CASES = (
    *("testCases", "test_cases", "conversationalTestCases", "conversational_test_cases", "testResults", "test_results"),
)
_METRICS = ("metricsData", "metrics_data", "metricsMetadata", "metrics_metadata")
_SPANS = (
    *("baseSpans", "base_spans", "agentSpans", "agent_spans", "llmSpans", "llm_spans", "retrieverSpans"),
    *("retriever_spans", "toolSpans", "tool_spans"),
)
_USED = (
    *("name", "metric", "score", "success", "reason", "error", "evaluationModel", "evaluation_model", "strictMode"),
    *("strict_mode", "evaluationCost", "evaluation_cost", "verboseLogs", "verbose_logs", "skipped"),
)


#: Columns of a metric, which a hyperparameter of that name does not fill.
_METRIC_COLUMNS = ("rater_type", "passed", "strict_mode", "threshold", "span", "identifier")


def _first(record: object, *names: str) -> Any:
    """Value of the first of these fields that is there and not null."""
    return next((record[n] for n in names if isinstance(record, Mapping) and record.get(n) is not None), None)


def _entries(record: object, names: tuple[str, ...]) -> list[Any]:
    """All entries of the lists with these names."""
    entries = [record.get(n) for n in names] if isinstance(record, Mapping) else []
    return [entry for listed in entries if isinstance(listed, list) for entry in listed]


def _run(document: object) -> Any:
    """The test run; the file with the latest run holds it under ``testRunData``."""
    return object_in(document, "testRunData") or document


def matches(document: Fields) -> str:
    """Recognise a test run of DeepEval, by alias or by name."""
    run = _run(document)
    if "testPassed" in run and isinstance(run.get("testCases"), list):
        return "the object has testCases and testPassed"
    cases = _entries(run, _CASES)
    if any(isinstance(c, dict) and any(n in c for n in (*_METRICS, "trace")) for c in cases):
        return "the object has test cases with metrics"
    return ""


def records(document: object, _: Path) -> Iterator[Record]:
    """Yield the test cases; two that share a name and differ in their input keep their order in the item."""
    run = _run(document)
    cases = _entries(run, _CASES)
    names: dict[str, set[str]] = {}
    for case in cases:
        names.setdefault(_name(case, ""), set()).add(_text_of(case))
    head = {"hyperparameters": run.get("hyperparameters"), "identifier": run.get("identifier")}
    for i, case in enumerate(cases):
        name = _name(case, f"test_case_{i}")
        alone = len(names.get(name, ())) == 1
        yield f"test case {i + 1}", {**head, "item": name if alone else f"{name}/{i}", "case": case}


def _name(case: object, default: str) -> str:
    return str(_first(case, "name") or default)


def _text_of(case: object) -> str:
    return str([_first(case, n) for n in ("input", "scenario", "turns")])


def rows(record: Fields, place: Place, judge: str | None = None, system: str | None = None) -> Iterator[Row]:
    """Read one verdict per metric."""
    case = record.get("case")
    if not isinstance(case, dict):
        raise place.wrong("the test case", case, "an object")
    item = str(record.get("item", place.index))
    settings = object_in(record, "hyperparameters")
    model = settings.get("model")
    common = {
        "system": system or as_text(model) or as_text(_first(model, "model", "name")),
        "identifier": as_text(record.get("identifier")),
        **scalars(settings, ("model", *_METRIC_COLUMNS)),
    }
    trace = _first(case, "trace")
    levels: list[tuple[object, str, str | None]] = [(case, item, None)]
    used: dict[str, int] = {}
    for span in _entries(trace, _SPANS):
        name = str(_first(span, "name", "type") or "span")
        if _entries(span, _METRICS):
            used[name] = used.get(name, 0) + 1
            levels.append((span, f"{item}/{name}" + (f" {used[name]}" if used[name] > 1 else ""), name))
    of_case = _entries(case, _METRICS)
    of_trace = [m for m in _entries(trace, _METRICS) if m not in of_case]
    copies = len(_entries(trace, _METRICS)) - len(of_trace)
    if copies:
        place.exclude("the trace repeats the metrics of its test case", n=copies)
    if of_trace:
        levels.append(({"metricsData": of_trace}, f"{item}/trace", "trace"))
    if not any(_entries(level, _METRICS) for level, *_ in levels):
        place.exclude("no metric was evaluated")
    for level, name, span in levels:
        for metric in _entries(level, _METRICS):
            yield {
                **common,
                "item": name,
                **_metric_row(metric, place, judge),
                "span": span,
                **fields_below(case, "metadata"),
            }


def _metric_row(metric: Row, place: Place, judge: str | None) -> Row:
    name = as_text(_first(metric, "name", "metric"))
    if name is None:
        raise place.wrong("a metric", metric, "an object with a name")
    model = as_text(_first(metric, "evaluationModel", "evaluation_model")) or judge
    error, score, passed = as_text(metric.get("error")), to_score(metric.get("score")), metric.get("success")
    failed = error is not None or score != score
    return {
        "judge": model or name,
        "criterion": name,
        "score": float("nan") if failed else score,
        "status": "error" if failed else "ok",
        "rationale": error or as_text(metric.get("reason")),
        "rater_type": "model" if model else "code",
        "passed": passed if isinstance(passed, bool) and not failed else None,
        "strict_mode": _first(metric, "strictMode", "strict_mode"),
        "cost": _first(metric, "evaluationCost", "evaluation_cost"),
        **scalars(metric, _USED),
    }


READER = Reader(
    name="deepeval",
    frame="ratings",
    about="DeepEval test run (camelCase or snake_case); one verdict per metric of a test case, conversation or span",
    example='{"testCases": [{"name": ..., "metricsData": [{"name": ..., "score": 0.9, "evaluationModel": ...}]}], ...}',
    matches=matches,
    rows=rows,
    records=records,
    options={
        "judge": "model behind metrics that name none; without it these are code",
        "system": "what was tested, where hyperparameters.model does not say",
    },
    containers=("json",),
    fields={
        "testCases[], conversationalTestCases[], test_results[]": "records",
        "metricsData[].name": "criterion; judge where there is no evaluationModel",
        "metricsData[].evaluationModel": "judge; rater_type model with it, else code",
        "metricsData[].score": "score; missing (status error) where null, or where error is set",
        "metricsData[].success": "passed",
        "metricsData[].reason, .error": "rationale",
        "metricsData[].threshold, .strictMode, .evaluationCost, other single values": "columns",
        "trace.<kind>Spans[].metricsData": "rows of the item <test case>/<span>; span",
        "name": "item, with the order where the name is not unique",
        "hyperparameters.model": "system",
        "hyperparameters.<name>": "columns of that name",
        "identifier": "identifier",
        "testCases[].metadata.<name>": "metadata.<name>, if it is one value",
    },
    sample="public: the tool's own fixture; snake_case, errors and conversations from its types",
)
