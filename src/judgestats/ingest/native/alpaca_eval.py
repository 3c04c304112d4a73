"""AlpacaEval: annotations.json, one graded preference a record, the order shown not recorded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from judgestats.errors import SchemaError
from judgestats.ingest.readers import Log, Reader, against, has, length, need, tidy, words, wrong


def matches(record: Mapping[str, Any]) -> str:
    """Recognise a record of AlpacaEval's ``annotations.json``."""
    if has(record, "generator_1", "generator_2", "preference") and ("output_1" in record or "annotator" in record):
        return "records have generator_1, generator_2 and preference"
    return ""


def read(log: Log, judge: str | None = None) -> pd.DataFrame:
    """Read graded preferences: 1 is output_1, 2 is output_2, 1.5 and 0 are ties, null is not parsed.

    AlpacaEval shuffles the order by itself and does not record it: ``first`` is generator_1 by convention only, and
    ``order_known`` is false, so that measures of order refuse these data. A generator that meets itself keeps two names
    (see :func:`judgestats.ingest.readers.against`).

    `log`: the records. `judge`: name of the annotator where the records do not give it. Returns preferences with
    ``strength`` (preference - 1), ``cost``, ``latency``, ``length_first`` and ``length_second``. The item is the place
    in the file; the dataset becomes ``task``.
    """
    rows = []
    for index, (place, record) in enumerate(log.records):
        annotator = record.get("annotator") or judge
        if annotator is None:
            raise SchemaError(f"{log.path.name}, {place}: the record names no annotator. Pass judge='...'.")
        second = str(need(record, "generator_2", log, place))
        completion = record.get("raw_completion")
        rows.append(
            {
                "judge": str(annotator),
                "item": str(index),
                "first": against(str(need(record, "generator_1", log, place)), second),
                "second": second,
                **_answer(need(record, "preference", log, place), log, place),
                "order_known": False,
                "task": None if record.get("dataset") is None else str(record["dataset"]),
                "rationale": words(
                    completion.get("concise_explanation") if isinstance(completion, dict) else completion
                ),
                "cost": _number(record.get("price_per_example")),
                "latency": _number(record.get("time_per_example")),
                "length_first": length(record.get("output_1")),
                "length_second": length(record.get("output_2")),
            }
        )
    return tidy(rows)


def _answer(preference: Any, log: Log, place: str) -> dict[str, Any]:
    if preference is None or preference != preference:
        return {"choice": "invalid", "status": "parse", "strength": float("nan")}
    if (
        isinstance(preference, bool)
        or not isinstance(preference, int | float)
        or not (preference == 0 or 1 <= preference <= 2)
    ):
        raise wrong(log, place, "preference", preference, "1 to 2, 0 for a tie, null")
    strength = 0.5 if preference == 0 else float(preference) - 1
    choice = "tie" if strength == 0.5 else "first" if strength < 0.5 else "second"
    return {"choice": choice, "status": "ok", "strength": strength}


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else float("nan")


READER = Reader(
    name="alpaca_eval",
    frame="preferences",
    about="AlpacaEval annotations.json, graded (strength kept); the order shown is not recorded",
    example='[{"instruction": ..., "generator_1": ..., "generator_2": ..., "annotator": ..., "preference": 1.0, ...}]',
    both_orders="no",
    order_known="no",
    verdicts_in="item frame",
    matches=matches,
    read=read,
    options={"judge": "name of the annotator, where the records do not give it"},
)
