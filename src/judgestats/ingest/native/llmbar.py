"""LLMBar: the result.json of one evaluator and strategy, each item judged in both orders."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

from judgestats.errors import SchemaError, choose
from judgestats.ingest.json_values import Fields, Row
from judgestats.ingest.readers import Place, Reader
from judgestats.ingest.record_fields import as_text, has_fields, length, scalars

_OUTPUTS = {"1": "output_1", "2": "output_2"}
#: Name of the field, and which output it shows first.
_ORDERS = (("swap = False", "1", "2"), ("swap = True", "2", "1"))
_FLAT_NAME = re.compile(r"native_(?P<subset>[^_]+)_(?P<judge>[^_]+)_(?P<strategy>.+?)_result\.json")


def matches(record: Fields) -> str:
    """Recognise a record of LLMBar's ``result.json``."""
    if not has_fields(record, "output_1", "output_2", "label", "results"):
        return ""
    results = record["results"]
    last = results[-1] if isinstance(results, list) and results else None
    if isinstance(last, dict) and "swap = False" in last:
        return "records have output_1, output_2, label and results with 'swap = False' and 'swap = True'"
    return ""


def rows(
    record: Fields,
    place: Place,
    judge: str | None = None,
    strategy: str | None = None,
    task: str | None = None,
    equal_scores: Literal["winner", "tie"] = "winner",
) -> list[Row]:
    """Read both orders of every item; ``winner`` names an output whatever the order (item frame).

    In the Rating strategies the tool writes equal scores as a win of the output shown second in either order. That
    looks like position bias and is a tie. The published figures count it as written, so that is the default;
    ``equal_scores="tie"`` reads it as the tie it is (and then sets ``ties_allowed``).
    """
    choose(equal_scores, ("winner", "tie"), "equal_scores")
    in_path = names_in_path(place.path)
    common = {"judge": judge or in_path.get("judge"), "strategy": strategy or in_path.get("strategy")}
    missing = [name for name, value in common.items() if value is None]
    if missing:
        raise SchemaError(
            f"{place.path.name}: {' and '.join(missing)} not found in the path "
            "(.../<subset>/evaluators/<judge>/<strategy>/result.json or "
            f"native_<subset>_<judge>_<strategy>_result.json). Pass {', '.join(f'{name}=...' for name in missing)}."
        )
    texts = ("input", *_OUTPUTS.values(), "label")
    head = {**scalars(record, texts), **common, "task": task or in_path.get("subset"), "item": str(place.index)}
    return _rows(record, head, equal_scores, place)


def names_in_path(path: Path) -> dict[str, str]:
    """Read subset, judge and strategy from a path, where they are in it."""
    flat = _FLAT_NAME.match(path.name)
    if flat:
        return flat.groupdict()
    parts = path.parts
    if len(parts) >= 4 and "evaluators" in parts and len(parts) - parts.index("evaluators") == 4:
        at = parts.index("evaluators")
        start = parts.index("Dataset") + 1 if "Dataset" in parts[:at] else max(0, at - 1)
        return {"subset": "/".join(parts[start:at]), "judge": parts[at + 1], "strategy": parts[at + 2]}
    return {}


def _rows(record: Fields, head: Row, equal: str, place: Place) -> list[Row]:
    label = str(place.need(record, "label"))
    if label not in _OUTPUTS:
        raise place.wrong("label", label, "1, 2")
    results = place.need(record, "results")
    if not isinstance(results, list) or not results or not isinstance(results[-1], dict):
        raise place.wrong("results", results, "a list that ends with the verdicts")
    verdicts = results[-1]
    scores = {n: _score(verdicts[n]) for n in ("score_1", "score_2") if n in verdicts}
    tied = equal == "tie" and len(scores) == 2 and scores["score_1"] == scores["score_2"]
    rows = []
    for field, first, second in _ORDERS:
        game = place.need(verdicts, field)
        if not isinstance(game, dict):
            raise place.wrong(field, game, "an object with a winner")
        winner = None if game.get("winner") in (None, "") else str(game["winner"])
        if winner is not None and winner not in _OUTPUTS:
            raise place.wrong(f"winner under {field!r}", winner, "1, 2, null")
        choice = "tie" if tied else "invalid" if winner is None else "first" if winner == first else "second"
        completion = game.get("completion")
        rows.append(
            {
                **head,
                "first": _OUTPUTS[first],
                "second": _OUTPUTS[second],
                "choice": choice,
                "ties_allowed": equal == "tie" and len(scores) == 2,
                "status": "parse" if choice == "invalid" else "ok",
                "gold": _OUTPUTS[label],
                "rationale": as_text(completion[0] if isinstance(completion, list) and completion else completion),
                "length_first": length(record.get(_OUTPUTS[first])),
                "length_second": length(record.get(_OUTPUTS[second])),
                **scores,
            }
        )
    return rows


def _score(answer: Any) -> float:
    """Score in [text, stop reason]; NaN if the text is not a number."""
    text = answer[0] if isinstance(answer, list) and answer else answer
    try:
        return float(text)
    except (TypeError, ValueError):
        return float("nan")


READER = Reader(
    name="llmbar",
    frame="preferences",
    about="LLMBar result.json; forced choice; equal scores of Rating strategies count as a win (see equal_scores)",
    example='[{"output_1": ..., "output_2": ..., "label": 1, "results": [{"swap = False": {"winner": "1"}, ...}]}]',
    both_orders="yes",
    order_known="yes",
    verdicts_in="item frame",
    matches=matches,
    rows=rows,
    options={
        "judge": "name of the evaluator, where the path does not give it",
        "strategy": "name of the strategy, where the path does not give it",
        "task": "name of the subset, where the path does not give it",
        "equal_scores": "'winner' as written (default), or 'tie'",
    },
    fields={
        "label": "gold",
        "results[-1]": "choice under `swap = False` and `swap = True`, rationale, score_1, score_2",
        "output_1, output_2": "length_first, length_second",
        "the path": "judge, strategy, task",
    },
    sample="public LLMBar results",
)
