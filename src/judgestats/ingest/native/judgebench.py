"""JudgeBench: pairs with a gold label, each judged in both orders, JSONL."""

from __future__ import annotations

import re
from collections.abc import Iterator

from judgestats.errors import SchemaError
from judgestats.ingest.json_values import Fields, Row
from judgestats.ingest.readers import Place, Reader
from judgestats.ingest.record_fields import as_text, having, scalars

_DECISIONS = {"A>B": "first", "B>A": "second", "A=B": "tie"}
_GOLD = {"A>B": "A", "B>A": "B", "A=B": "tie"}


#: Fields that are read, and texts; others become conditions.
_FIELDS = ("pair_id", "original_id", "source", "question", "response_A", "response_B", "label", "judge_name")


def rows(record: Fields, place: Place, judge: str | None = None) -> Iterator[Row]:
    """Read both presentations of every pair."""
    in_name = re.search(r"judge_model=([^,]+?)(\.jsonl)?(\.gz)?$", place.path.name)
    default = judge or (in_name.group(1) if in_name else None)
    label = place.need(record, "label")
    if not isinstance(label, str) or label not in _GOLD:
        raise place.wrong("label", label, ", ".join(_GOLD))
    calls = place.need(record, "judgments")
    if not isinstance(calls, list) or not 1 <= len(calls) <= 2:
        raise place.wrong("judgments", calls, "a list of one or two judgments")
    common = {
        **scalars(record, _FIELDS),
        "judge": _judge(calls, default, place),
        "item": str(place.need(record, "pair_id")),
        "gold": _GOLD[label],
        "task": _text(record.get("source")),
        "strategy": _text(record.get("judge_name")),
        "response_model": _text(record.get("response_model")),
    }
    for call, (first, second) in zip(calls, (("A", "B"), ("B", "A")), strict=False):
        yield {**common, "first": first, "second": second, **_call_answer(call, place)}


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _judge(calls: list[object], default: str | None, place: Place) -> str:
    for call in calls:
        judgment = call.get("judgment") if isinstance(call, dict) else None
        if isinstance(judgment, dict) and judgment.get("judge_model"):
            return str(judgment["judge_model"])
    if default is None:
        raise SchemaError(
            f"{place}: neither the judgments (judge_model) nor the file name (judge_model=...) name "
            "the judge. Pass judge='...'."
        )
    return default


def _call_answer(call: object, place: Place) -> Row:
    if call is None:
        return {"choice": "invalid", "status": "error"}
    if not isinstance(call, dict):
        raise place.wrong("a judgment", call, "an object with judgment and decision, or null")
    judgment, decision = call.get("judgment"), place.need(call, "decision")
    reason = as_text(judgment.get("response")) if isinstance(judgment, dict) else None
    if decision is None:
        return {"choice": "invalid", "status": "error" if judgment is None else "parse", "rationale": reason}
    if not isinstance(decision, str) or decision not in _DECISIONS:
        raise place.wrong("decision", decision, ", ".join(_DECISIONS) + ", null")
    return {"choice": _DECISIONS[decision], "status": "ok", "rationale": reason}


READER = Reader(
    name="judgebench",
    frame="preferences",
    about="JudgeBench outputs; judgments[1] is the swapped presentation; gold label by construction",
    example='{"pair_id": ..., "label": "A>B", "judgments": [{"judgment": {...}, "decision": "A>B"}, {...}]}',
    both_orders="yes",
    order_known="yes",
    verdicts_in="position frame",
    matches=having("pair_id", "label", "judgments", lists="judgments"),
    rows=rows,
    options={"judge": "name of the judge, where neither judgments nor file name give it"},
    fields={
        "pair_id": "item",
        "source": "task",
        "judge_name": "strategy",
        "label": "gold",
        "judgments[].decision": "choice; the second presentation is swapped",
        "judgments[].judgment.judge_model": "judge",
        "judgments[].judgment.response": "rationale",
        "response_model": "a condition",
    },
    sample="public JudgeBench outputs",
)
