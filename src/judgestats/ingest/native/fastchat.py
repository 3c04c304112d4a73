"""FastChat (MT-Bench): pairwise and single-answer judgments, JSONL."""

from __future__ import annotations

from collections.abc import Iterator

from judgestats.ingest.json_values import Fields, Row
from judgestats.ingest.readers import Place, Reader
from judgestats.ingest.record_fields import as_text, has_fields, having, scalars

_WINNERS = "model_1, model_2, tie, error"
#: Fields that are read, and texts; others become conditions.
_PAIR_FIELDS = (
    *("question_id", "model_1", "model_2", "g1_winner", "g2_winner", "judge", "g1_user_prompt", "g1_judgment"),
    *("g2_user_prompt", "g2_judgment", "turn", "tstamp"),
)
_SINGLE_FIELDS = ("question_id", "model", "judge", "user_prompt", "judgment", "score", "turn", "tstamp")


def _item(record: Fields) -> str:
    return f"{record['question_id']}/turn {record['turn']}" if "turn" in record else str(record["question_id"])


def _judge(record: Fields, place: Place) -> tuple[str, str | None]:
    """Name and prompt of the judge; FastChat writes both as a list."""
    judge = place.need(record, "judge")
    if isinstance(judge, list) and judge:
        return str(judge[0]), str(judge[1]) if len(judge) > 1 else None
    if isinstance(judge, str):
        return judge, None
    raise place.wrong("judge", judge, "[name, prompt]")


def pair_rows(record: Fields, place: Place) -> Iterator[Row]:
    """Read pairwise judgments: two rows a record, game 1 with model_1 shown first, game 2 with model_2 first."""
    for name in ("question_id", "g1_winner", "g2_winner"):
        place.need(record, name)
    models = {m: str(place.need(record, m)) for m in ("model_1", "model_2")}
    judge, prompt = _judge(record, place)
    for game, first, second in ((1, "model_1", "model_2"), (2, "model_2", "model_1")):
        winner = record[f"g{game}_winner"]
        answers = {first: "first", second: "second", "tie": "tie", "error": "invalid"}
        if not isinstance(winner, str) or winner not in answers:
            raise place.wrong(f"g{game}_winner", winner, _WINNERS)
        yield {
            **scalars(record, _PAIR_FIELDS),
            "judge": judge,
            "item": _item(record),
            "first": models[first],
            "second": models[second],
            "choice": answers[winner],
            "status": "error" if winner == "error" else "ok",
            "prompt": prompt,
            "rationale": as_text(record.get(f"g{game}_judgment")),
            "turn": record.get("turn"),
        }


def matches_single(record: Fields) -> str:
    """Recognise a record of ``model_judgment/*_single.jsonl``."""
    if (
        has_fields(record, "question_id", "model", "judge", "score")
        and "games" not in record
        and isinstance(record["judge"], list)
    ):
        return "records have question_id, model, score and judge as [name, prompt]"
    return ""


def single_rows(record: Fields, place: Place) -> Iterator[Row]:
    """Read single-answer ratings; FastChat's -1 (no score found) is a missing score with status ``parse``."""
    place.need(record, "question_id")
    judge, prompt = _judge(record, place)
    score = place.need(record, "score")
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
        raise place.wrong("score", score, "a number, -1 for none")
    grade = score if score != -1 else None
    yield {
        **scalars(record, _SINGLE_FIELDS),
        "judge": judge,
        "system": str(place.need(record, "model")),
        "item": _item(record),
        "criterion": "overall",
        "score": float("nan") if grade is None else float(grade),
        "condition": prompt,
        "status": "parse" if grade is None else "ok",
        "rationale": as_text(record.get("judgment")),
        "turn": record.get("turn"),
    }


PAIR = Reader(
    name="fastchat_pair",
    frame="preferences",
    about="FastChat (MT-Bench) pairwise judgments; two games a record",
    example='{"question_id": 81, "model_1": ..., "model_2": ..., "g1_winner": "model_1", "g2_winner": "tie", ...}',
    both_orders="yes",
    order_known="yes",
    verdicts_in="item frame",
    matches=having("question_id", "model_1", "model_2", "g1_winner", "g2_winner"),
    rows=pair_rows,
    fields={
        "question_id, turn": "item",
        "model_1, model_2": "first and second in game 1, exchanged in game 2",
        "g1_winner, g2_winner": "choice; `error` is invalid",
        "judge": "judge and prompt",
        "g1_judgment, g2_judgment": "rationale",
    },
    sample="public MT-Bench judgments",
)

SINGLE = Reader(
    name="fastchat_single",
    frame="ratings",
    about="FastChat (MT-Bench) ratings of single answers, 1 to 10; -1 is a missing score",
    example='{"question_id": 81, "model": ..., "judge": ["gpt-4", "single-v1"], "score": 8, "turn": 1}',
    matches=matches_single,
    rows=single_rows,
    fields={
        "question_id, turn": "item",
        "model": "system",
        "judge": "judge and condition (the prompt)",
        "score": "score; -1 is missing",
        "judgment": "rationale",
    },
    sample="public MT-Bench judgments",
)
