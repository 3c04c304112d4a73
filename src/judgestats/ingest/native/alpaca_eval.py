"""AlpacaEval: annotations.json, one graded preference a record, the order shown not recorded."""

from __future__ import annotations

from collections.abc import Iterator

from judgestats.errors import SchemaError
from judgestats.ingest.json_values import Fields, Row
from judgestats.ingest.readers import Place, Reader
from judgestats.ingest.record_fields import as_text, baseline_name, has_fields, length, scalars, to_number

#: Fields that are read, and texts; others become conditions.
_FIELDS = (
    *("instruction", "output_1", "generator_1", "dataset", "output_2", "generator_2", "annotator", "preference"),
    *("price_per_example", "time_per_example", "raw_completion", "date", "time"),
)


def matches(record: Fields) -> str:
    """Recognise a record of AlpacaEval's ``annotations.json``."""
    if has_fields(record, "generator_1", "generator_2", "preference") and (
        "output_1" in record or "annotator" in record
    ):
        return "records have generator_1, generator_2 and preference"
    return ""


def rows(record: Fields, place: Place, judge: str | None = None) -> Iterator[Row]:
    """Read graded preferences: 1 is output_1, 2 is output_2, 1.5 and 0 are ties, null is not parsed.

    AlpacaEval shuffles the order by itself and does not record it: ``first`` is generator_1 by convention only, and
    ``order_known`` is false, so that measures of order refuse these data. A generator that meets itself keeps two names
    (see :func:`judgestats.ingest.record_fields.baseline_name`).
    """
    annotator = record.get("annotator") or judge
    if annotator is None:
        raise SchemaError(f"{place}: the record names no annotator. Pass judge='...'.")
    second = str(place.need(record, "generator_2"))
    completion = record.get("raw_completion")
    yield {
        **scalars(record, _FIELDS),
        "judge": str(annotator),
        "item": str(place.index),
        "first": baseline_name(str(place.need(record, "generator_1")), second),
        "second": second,
        **_graded_choice(place.need(record, "preference"), place),
        "order_known": False,
        "task": None if record.get("dataset") is None else str(record["dataset"]),
        "rationale": as_text(completion.get("concise_explanation") if isinstance(completion, dict) else completion),
        "cost": to_number(record.get("price_per_example")),
        "latency": to_number(record.get("time_per_example")),
        "length_first": length(record.get("output_1")),
        "length_second": length(record.get("output_2")),
    }


def _graded_choice(preference: object, place: Place) -> Row:
    if preference is None or preference != preference:
        return {"choice": "invalid", "status": "parse", "strength": float("nan")}
    if (
        isinstance(preference, bool)
        or not isinstance(preference, int | float)
        or not (preference == 0 or 1 <= preference <= 2)
    ):
        raise place.wrong("preference", preference, "1 to 2, 0 for a tie, null")
    strength = 0.5 if preference == 0 else float(preference) - 1
    choice = "tie" if strength == 0.5 else "first" if strength < 0.5 else "second"
    return {"choice": choice, "status": "ok", "strength": strength}


READER = Reader(
    name="alpaca_eval",
    frame="preferences",
    about="AlpacaEval annotations.json, graded (strength kept); the order shown is not recorded",
    example='[{"instruction": ..., "generator_1": ..., "generator_2": ..., "annotator": ..., "preference": 1.0, ...}]',
    both_orders="no",
    order_known="no",
    verdicts_in="item frame",
    matches=matches,
    rows=rows,
    options={"judge": "name of the annotator, where the records do not give it"},
    fields={
        "annotator": "judge",
        "generator_1, generator_2": "first and second (order not known)",
        "preference": "choice and strength",
        "dataset": "task",
        "raw_completion": "rationale",
        "price_per_example, time_per_example": "cost, latency",
        "output_1, output_2": "length_first, length_second",
    },
    sample="public AlpacaEval annotations",
)
