"""Arena-Hard 0.1 and 2.0: five-level comparisons with a baseline, in two games, JSONL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from judgestats.errors import SchemaError
from judgestats.ingest.json_values import Fields, Row
from judgestats.ingest.readers import Place, Reader
from judgestats.ingest.record_fields import as_text, baseline_name, has_fields, scalars

#: Strength of the preference for B, the answer shown second. Both ways of writing each level occur.
LEVELS = {
    **{"A>>B": 0.0, "B<<A": 0.0},
    **{"A>B": 0.25, "B<A": 0.25},
    **{"A=B": 0.5, "B=A": 0.5},
    **{"B>A": 0.75, "A<B": 0.75},
    **{"B>>A": 1.0, "A<<B": 1.0},
}


#: Fields that are read, and texts; others become conditions.
_FIELDS = ("question_id", "uid", "model", "judge", "baseline", "category", "prompt", "tstamp")


def _matches(record: Fields, item: str) -> str:
    """Recognise a record by its fields, of which `item` depends on the version."""
    if has_fields(record, item, "model", "judge", "games") and isinstance(record["games"], list):
        return f"records have {item}, model, judge and games"
    return ""


def _rows(record: Fields, place: Place, baseline: str | Mapping[str, str] = "baseline", *, item: str) -> Iterator[Row]:
    """Read the games: game 1 shows the baseline as A, game 2 shows the model as A."""
    games = place.need(record, "games")
    if not isinstance(games, list) or not 1 <= len(games) <= 2:
        allowed = 'a list of one or two games, [{"score": null}] for no answer; or leave the record out'
        raise place.wrong("games", games, allowed)
    model = str(place.need(record, "model"))
    base = baseline_name(_baseline(record, baseline, place), model)
    common = {
        **scalars(record, _FIELDS),
        "judge": str(place.need(record, "judge")),
        "item": str(place.need(record, item)),
    }
    for number, game in enumerate(games, start=1):
        first, second = (base, model) if number == 1 else (model, base)
        row = {**common, "first": first, "second": second, **_game_answer(game, place, number)}
        yield {**row, "task": record.get("category")}


def _baseline(record: Fields, baseline: str | Mapping[str, str], place: Place) -> str:
    if record.get("baseline"):
        return str(record["baseline"])
    if isinstance(baseline, str):
        return baseline
    category = str(record.get("category"))
    if category not in baseline:
        raise SchemaError(
            f"{place}: baseline= names no baseline for category {category!r}. It has: {', '.join(baseline)}."
        )
    return baseline[category]


def _game_answer(game: object, place: Place, number: int) -> Row:
    if game is None:  # the call itself failed
        return {"choice": "invalid", "status": "error", "strength": float("nan")}
    if not isinstance(game, dict):
        raise place.wrong(f"game {number}", game, "an object with a score")
    score = replace(place, name=f"{place.name}, game {number}").need(game, "score")
    judgment = game.get("judgment")
    reason = as_text(judgment.get("answer") if isinstance(judgment, dict) else judgment)
    if score is None:
        return {"choice": "invalid", "status": "parse", "strength": float("nan"), "rationale": reason}
    if not isinstance(score, str) or score not in LEVELS:
        raise place.wrong(f"score of game {number}", score, ", ".join(LEVELS) + ", null")
    strength = LEVELS[score]
    choice = "tie" if strength == 0.5 else "first" if strength < 0.5 else "second"
    return {"choice": choice, "status": "ok", "strength": strength, "rationale": reason}


V2 = Reader(
    name="arena_hard_v2",
    frame="preferences",
    about="Arena-Hard 2.0, as 0.1 with uid, category (read as task) and the baseline named in the record",
    example='{"uid": ..., "category": "coding", "model": ..., "judge": ..., "games": [{"score": "A>B"}, ...]}',
    both_orders="yes",
    order_known="yes",
    verdicts_in="position frame",
    matches=partial(_matches, item="uid"),
    rows=partial(_rows, item="uid"),
    options={"baseline": "id of the baseline where records do not name it (a text, or a mapping of category to id)"},
    fields={
        "uid": "item",
        "category": "task",
        "baseline": "the candidate shown first in game 1",
        "model": "the candidate shown first in game 2",
        "judge": "judge",
        "games[].score": "choice and strength",
        "games[].judgment": "rationale",
    },
    sample="records in the documented shape",
)

V01 = replace(
    V2,
    name="arena_hard",
    about="Arena-Hard 0.1, five levels (strength kept); game 1 shows the baseline first, game 2 the model",
    example='{"question_id": ..., "model": ..., "judge": ..., "games": [{"score": "A>>B"}, {"score": "B>A"}]}',
    matches=partial(_matches, item="question_id"),
    rows=partial(_rows, item="question_id"),
    fields={"question_id": "item", **{k: v for k, v in V2.fields.items() if k not in ("uid", "category", "baseline")}},
    sample="public Arena-Hard judgments",
)
