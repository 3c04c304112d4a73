"""Marks: one value of each judge for each thing that it judged, and the cluster of that thing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from judgestats.counting.raters import MatchedRaters, matched_calls
from judgestats.counting.study import Calls, Study
from judgestats.kernels.proportions import quotient
from judgestats.metrics.scales import on_one_scale
from judgestats.schema.coding import Codes, combine, compact, first_rows, joint
from judgestats.schema.columns import UNIT_COLUMNS
from judgestats.schema.factors import Factor
from judgestats.typing import Floats, Mask, Rows

#: Columns of marks: who, on what, of which item, in which cluster and task, the value, and how many answers it is the
#: mean of.
MARKS = ["judge", "unit", "item", "cluster", "task", "value", "weight"]


def _keys(calls: Study, groups: list[str]) -> list[str]:
    """Columns that say what was judged, besides the candidates; conditions in which the contenders differ are none."""
    return ["item", *(c for c in UNIT_COLUMNS if c in calls.names and c not in groups)]


def _marks(calls: Study, keys: list[str], value: Any, cluster: str, weight: Floats | None = None) -> pd.DataFrame:
    """Mean of `value` for each judge and unit; `cluster`: a column or ``pair``, empty if each unit is its own."""
    columns, rows = calls.columns, len(calls.columns)
    weight = calls.counts if weight is None else weight
    owner = calls.pairs if cluster == "pair" and cluster not in columns else columns.codes([cluster or "judge"])
    judge, *things = columns.of(["judge", *keys])
    unit, units = compact(*joint([(f.code, len(f.labels)) for f in things], rows))
    cell, cells = compact(*joint([(judge.code, len(judge.labels)), (unit, units.size)], rows))
    first = first_rows(cell, cells.size)
    total = np.bincount(cell, weight, cells.size)
    return pd.DataFrame(
        {
            "judge": np.asarray(judge.labels, dtype=object)[judge.code[first]],
            "unit": unit[first],
            "item": columns.take(first).series("item").to_numpy(),
            "cluster": owner.code[first] if cluster else unit[first],
            "task": columns.take(first).series("task").to_numpy() if "task" in columns else "",
            "value": np.bincount(cell, np.asarray(value, dtype=float) * weight, cells.size) / total,
            "weight": total,
        }
    )


def _valid(calls: Study) -> Study:
    return calls.where(~calls.columns["choice"].among("invalid"))


def _in_both_orders(calls: Study, keys: list[str]) -> tuple[Codes, Mask]:
    """Rows numbered by judge, unit and pair, and which pairs were judged in both orders."""
    turned, of_pair = calls.ordered[2], calls.pairs
    parts = [(f.code, len(f.labels)) for f in calls.columns.of(["judge", *(k for k in keys if k != "item")])]
    pairs = combine([(of_pair.code, of_pair.size), *parts], len(calls.columns))
    shown = [np.bincount(pairs.code[side], minlength=pairs.size) > 0 for side in (~turned, turned)]
    return pairs, shown[0] & shown[1]


def right_marks(data: Calls, groups: list[str], cluster: str = "item", gold: str = "gold") -> pd.DataFrame:
    """1 where a valid verdict is the right answer, 0 where not; a tie is right where the right answer is one."""
    calls = Study.of(data)
    known = np.array([not pd.isna(x) for x in calls.columns[gold].labels], dtype=bool)[calls.columns[gold].code]
    calls = calls.where(known & ~calls.columns["choice"].among("invalid"))
    choice, right = calls.columns["choice"], calls.columns[gold]
    first, second, names = calls.shown
    place = {name: i for i, name in enumerate(names)}
    meant = np.array([-2 if str(x) == "tie" else place.get(str(x), -3) for x in right.labels], dtype=np.int64)[
        right.code
    ]
    winner = np.where(choice.among("first"), first, np.where(choice.among("second"), second, -2))
    return _marks(calls, [*_keys(calls, groups), "first", "second"], winner == meant, cluster)


def steady_marks(data: Calls, groups: list[str], cluster: str = "item") -> pd.DataFrame:
    """1 where a pair gets the same verdict in both orders, 0 where not."""
    calls = _valid(Study.of(data)).of_two
    keys = _keys(calls, groups)
    pairs, both = _in_both_orders(calls, keys)
    if not both.any():
        return pd.DataFrame(columns=MARKS)
    low, high, turned = calls.ordered
    choice = calls.columns["choice"]
    first, second, _ = calls.shown
    winner = np.where(choice.among("first"), first, np.where(choice.among("second"), second, -1))
    verdicts = np.empty((2, pairs.size), dtype=np.int64)
    for side, rows in enumerate((~turned, turned)):
        verdicts[side, pairs.code[rows][::-1]] = winner[rows][::-1]  # the first of several
    units = Study(calls.columns.but(first=low, second=high).take(pairs.first[both]))
    same = (verdicts[0] == verdicts[1])[both]
    by = cluster if cluster in ("", "pair", "judge", "first", "second", *keys) else "item"
    return _marks(units, [*keys, "first", "second"], same, by, np.ones(same.size))


def order_marks(data: Calls, groups: list[str], cluster: str = "item") -> pd.DataFrame:
    """1 where a valid verdict is for what is shown first, -1 for the second, 0 for a tie; of pairs shown both ways."""
    calls = Study.of(data)
    pairs, both = _in_both_orders(calls, _keys(calls, groups))
    calls = _valid(calls.where(both[pairs.code]))
    choice = calls.columns["choice"]
    value = choice.among("first").astype(float) - choice.among("second")
    return _marks(calls, [*_keys(calls, groups), "first", "second"], value, cluster)


def preference_marks(data: Calls, groups: list[str], cluster: str = "item") -> pd.DataFrame:
    """1 where a verdict prefers one of the two, 0 where it is a tie."""
    calls = _valid(Study.of(data))
    value = calls.columns["choice"].among("first", "second")
    return _marks(calls, [*_keys(calls, groups), "first", "second"], value, cluster)


def people_marks(calls: pd.DataFrame, people: pd.DataFrame, groups: list[str], cluster: str = "item") -> pd.DataFrame:
    """For each answer of a judge, the share of people's answers to the same thing that equal it."""
    matched = _beside_people(calls, people, groups)
    (one, two), (ours, theirs) = matched.met, matched.answers
    return _marks(_with_thing(matched, one), ["thing"], ours[one] == theirs[two], cluster)


def _beside_people(calls: pd.DataFrame, people: pd.DataFrame, groups: list[str]) -> MatchedRaters:
    """Answers of judges and of people, matched as measures of agreement match them."""
    matched = matched_calls(calls, people, groups)
    return matched.where(*matched.answered)


def _with_thing(matched: MatchedRaters, rows: Rows) -> Study:
    """Some calls of judges, with the number of the ``thing``."""
    thing = Factor(matched.thing, range(int(matched.thing.max(initial=-1)) + 1))
    return Study(matched.calls.columns.but(thing=thing).take(rows))


def _scored(names: Iterable[str], groups: list[str]) -> list[str]:
    """Columns that say what was scored."""
    return [c for c in ("item", "system", "criterion") if c in names and c not in groups]


def score_marks(ratings: pd.DataFrame, groups: list[str], cluster: str = "item", value: str = "score") -> pd.DataFrame:
    """The score of each judge for each thing, averaged over repeats."""
    table = ratings[pd.to_numeric(ratings[value], errors="coerce").notna()]
    return _marks(Study.of(table), _scored(table.columns, groups), pd.to_numeric(table[value]).astype(float), cluster)


def distance_marks(
    ratings: pd.DataFrame, people: pd.DataFrame, groups: list[str], cluster: str = "item"
) -> pd.DataFrame:
    """Distance of each score from the people's mean on the same thing, under the same condition where they have it."""
    matched = _beside_people(ratings, people, groups)
    ours, theirs = matched.scores
    size = int(np.append(matched.thing, matched.other_thing).max(initial=-1)) + 1
    n = np.bincount(matched.other_thing, minlength=size)
    middle = quotient(np.bincount(matched.other_thing, theirs, size), n, n > 0)
    beside = np.flatnonzero(n[matched.thing])
    score, right = pd.Series(ours[beside]), pd.Series(middle[matched.thing[beside]])
    alike = on_one_scale(score, right, matched.calls.columns.take(beside).series("judge")).to_numpy()
    return _marks(_with_thing(matched, beside[alike]), ["thing"], (score - right).abs()[alike], cluster)


def error_marks(
    ratings: Calls, groups: list[str], cluster: str = "item", value: str = "score", *, signed: bool = False
) -> pd.DataFrame:
    """Distance of each score from the gold score of its row; none for judges on another scale than gold.

    `signed`: the score minus gold instead.
    """
    calls = Study.of(ratings)
    score, right = (pd.to_numeric(calls.columns.series(c), errors="coerce").astype(float) for c in (value, "gold"))
    alike = on_one_scale(score, right, calls.columns.series("judge"))
    error = (score - right if signed else (score - right).abs()).to_numpy()
    used = alike.to_numpy() & ~np.isnan(error)
    return _marks(calls.where(used), _scored(calls.names, groups), error[used], cluster)


def spread_marks(ratings: pd.DataFrame, groups: list[str], cluster: str = "item", value: str = "score") -> pd.DataFrame:
    """Variance of the repeated scores of a thing."""
    about = [*(c for c in ("item", "system", "criterion") if c not in groups), cluster]
    keys = [c for c in dict.fromkeys(about) if c in ratings]
    score = pd.to_numeric(ratings[value], errors="coerce")
    spread = ratings.assign(score_=score).groupby(["judge", *keys], dropna=False, sort=True)["score_"].var()
    table = spread.dropna().reset_index()
    return _marks(Study.of(table), keys, table["score_"], cluster) if len(table) else pd.DataFrame(columns=MARKS)
