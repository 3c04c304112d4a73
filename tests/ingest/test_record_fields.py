"""Fields of the records that tools write."""

from __future__ import annotations

import pytest

from judgestats.ingest import record_fields


def test_values_of_records() -> None:
    record = {"id": 7, "model": "m", "usage": {"tokens": 3}, "note": None, "mean": 2}
    assert record_fields.scalars(record, used=["id"]) == {"model": "m", "note": None, "mean_source": 2}
    assert record_fields.context({"topic": "law", "score": 9, "texts": ["a", "b"]}) == {
        "topic": "law",
        "score_source": 9,
    }
    assert record_fields.fields_below({"vars": {"topic": "law", "text": "x" * 300}}, "vars") == {"vars.topic": "law"}
    assert record_fields.object_in({"metricsData": None, "metrics": {"a": 1}}, "metricsData", "metrics") == {"a": 1}
    cells = [record_fields.parsed_cell(cell) for cell in ('{"label": "good"}', "{'label': None}", "plain")]
    assert cells == [{"label": "good"}, {"label": None}, "plain"]


def test_grades_and_baselines() -> None:
    grades = [record_fields.category_score(v, {"good": 2}) for v in (True, "0.5", "good", "poor")]
    assert grades == pytest.approx([1, 0.5, 2, float("nan")], nan_ok=True)
    assert [record_fields.to_score(v) for v in (True, 3, "3")] == pytest.approx([1, 3, float("nan")], nan_ok=True)
    assert record_fields.baseline_name("gpt-4", "gpt-4") == "gpt-4 (baseline)"
    assert record_fields.baseline_name("gpt-4", "phi-3") == "gpt-4"
