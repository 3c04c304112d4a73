"""Twelve small tables of verdicts, one of each kind that people have, as they lie in files."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pandas as pd

import judgestats as js

ITEMS = [f"q{i:02d}" for i in range(10)]


def _drawn(values: list[object], n: int, seed: int, favoured: float = 0.0) -> list[object]:
    """Answers, of which the first is favoured."""
    rng = np.random.default_rng(seed)
    share = np.full(len(values), (1 - favoured) / len(values))
    share[0] += favoured
    return [values[i] for i in rng.choice(len(values), n, p=share)]


def _asked(**columns: list[object]) -> pd.DataFrame:
    """A row for each combination of the values of some columns."""
    return pd.DataFrame(list(product(*columns.values())), columns=list(columns))


def pairs() -> pd.DataFrame:
    """Two judges on pairs in both orders, with the right answer, the task, and how sure they are."""
    table = _asked(judge=["g", "h"], item=ITEMS, first=["x", "y"])
    table.insert(3, "second", table["first"].map({"x": "y", "y": "x"}))
    answers = _drawn(["first", "second", "tie", "invalid"], len(table), 1, 0.3)
    sure = np.random.default_rng(2).integers(5, 11, len(table)) / 10
    task = table["item"].str[-1].map(lambda d: "law" if d < "5" else "art")
    gold = table["item"].str[-1].map(lambda d: "x" if d < "6" else "y")
    return table.assign(choice=answers, gold=gold, task=task, confidence=sure)


def pairs_of_one_judge() -> pd.DataFrame:
    """One judge on pairs of three candidates, each in one order."""
    table = _asked(judge=["g"], item=ITEMS, first=["x", "y"])
    table.insert(3, "second", [*"yzzxyxzz" * 3][: len(table)])
    table = table[table["first"] != table["second"]]
    return table.assign(choice=_drawn(["first", "second", "tie"], len(table), 3))


def pairs_with_people() -> pd.DataFrame:
    """Two judges under two prompts and two people on the same pairs; the judges answer twice."""
    judges = _asked(judge=["g", "h"], item=ITEMS, prompt=["v1", "v2"], replicate=[0, 1]).assign(rater_type="model")
    people = _asked(judge=["Ann", "Bob"], item=ITEMS, prompt=[None], replicate=[0]).assign(rater_type="human")
    table = pd.concat([judges, people], ignore_index=True)
    odd = table["item"].str[-1].isin([*"13579"])
    table = table.assign(first=np.where(odd, "x", "y"), second=np.where(odd, "y", "x"))
    return table.assign(choice=_drawn(["first", "second", "tie"], len(table), 4, 0.2))


def scores() -> pd.DataFrame:
    """Two judges, who are rated as systems too, under two prompts, with the right score and reasons."""
    table = _asked(judge=["g", "h"], item=ITEMS, system=["g", "h"], prompt=["v1", "v2"])
    gold = table["item"].str[-1].astype(int) % 5 + 1
    return table.assign(score=_drawn([5, 4, 3, 2, 1], len(table), 5, 0.2), gold=gold, rationale="short and clear")


def scores_of_one_judge() -> pd.DataFrame:
    """One judge, one score for an item."""
    return _asked(judge=["g"], item=ITEMS).assign(score=_drawn([1, 2, 3, 4, 5], len(ITEMS), 6))


def scores_with_people() -> pd.DataFrame:
    """Two judges and two people by two criteria, with repeats."""
    table = _asked(judge=["g", "h", "Ann", "Bob"], item=ITEMS, criterion=["style", "truth"], replicate=[0, 1])
    people = table["judge"].isin(["Ann", "Bob"])
    table = table.assign(rater_type=np.where(people, "human", "model"))[~(people & (table["replicate"] == 1))]
    return table.assign(score=_drawn([4.5, 4, 3, 2, 1], len(table), 7, 0.2))


def right_wrong() -> pd.DataFrame:
    """Two judges under two prompts say whether the answers of two systems are right, with what is so."""
    table = _asked(judge=["g", "h"], item=ITEMS, system=["s", "t"], prompt=["v1", "v2"])
    gold = (table["item"].str[-1] < "6").astype(int)
    return table.assign(correct=_drawn([1, 0], len(table), 8, 0.2), gold=gold)


def right_wrong_of_one_judge() -> pd.DataFrame:
    """One judge three times, with a person."""
    table = _asked(judge=["g"], item=ITEMS, replicate=[0, 1, 2])
    table = pd.concat([table, _asked(judge=["Ann"], item=ITEMS, replicate=[0])], ignore_index=True)
    table = table.assign(rater_type=np.where(table["judge"] == "Ann", "human", "model"))
    return table.assign(correct=_drawn([True, False], len(table), 9, 0.1))


def classes() -> pd.DataFrame:
    """Two judges on two systems under two prompts, with the right class."""
    table = _asked(judge=["g", "h"], item=ITEMS, system=["s", "t"], prompt=["v1", "v2"])
    gold = np.where(table["item"].str[-1] < "6", "safe", "unsafe")
    return table.assign(answer=_drawn(["safe", "unsafe"], len(table), 10, 0.2), gold=gold)


def classes_of_one_judge() -> pd.DataFrame:
    """One judge twice on three classes, with the right class and how sure it is."""
    table = _asked(judge=["g"], item=ITEMS, replicate=[0, 1])
    gold = table["item"].str[-1].map(lambda d: "low" if d < "4" else "mid" if d < "7" else "high")
    sure = np.random.default_rng(3).integers(5, 11, len(table)) / 10
    return table.assign(answer=_drawn(["low", "mid", "high"], len(table), 11, 0.2), gold=gold, confidence=sure)


def classes_with_people() -> pd.DataFrame:
    """Two judges and two people by two criteria."""
    table = _asked(judge=["g", "h", "Ann", "Bob"], item=ITEMS, criterion=["tone", "topic"])
    people = table["judge"].isin(["Ann", "Bob"])
    table = table.assign(rater_type=np.where(people, "human", "model"))
    return table.assign(answer=_drawn(["a", "b", "c"], len(table), 12, 0.2))


def sets() -> pd.DataFrame:
    """Two judges who give sets of labels."""
    table = _asked(judge=["g", "h"], item=ITEMS)
    return table.assign(answer=_drawn(["toxic;spam", "spam", "toxic", "ad;spam"], len(table), 13))


TABLES: dict[str, Callable[[], pd.DataFrame]] = {
    build.__name__: build
    for build in (
        pairs,
        pairs_of_one_judge,
        pairs_with_people,
        scores,
        scores_of_one_judge,
        scores_with_people,
        right_wrong,
        right_wrong_of_one_judge,
        classes,
        classes_of_one_judge,
        classes_with_people,
        sets,
    )
}


def verdicts(name: str) -> pd.DataFrame:
    """A table as the package reads it."""
    table = TABLES[name]()
    return js.preferences(table) if "choice" in table else js.ratings(table)
