"""Levels in which the items nest: what limits how far a page speaks, and which judges it can tell apart."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from judgestats.counting.clustering import SAMPLED
from judgestats.counting.splitting import open_columns
from judgestats.counting.study import Study
from judgestats.reporting.formatting import count
from judgestats.schema.coding import combine
from judgestats.schema.columns import VOCABULARY, kind_of
from judgestats.typing import Integers

#: Name of the levels that are the first part of a joined id.
PARTS = "groups of items (by the first part of the id)"
#: Between the columns that an id joins.
_JOINT = " / "
#: With fewer such levels they are named.
_FEW_PARTS = 30
#: Items in each level, on average, that make the level a unit of its own.
_MANY = 3
#: With so many levels a sentence holds for these; with fewer it says nothing of them.
FEWEST_NAMED = 3
#: Longer text is no id.
_LONG = 60
#: Words in the name of a column of whole numbers that is an id, and of one that is no id, whatever it holds.
_ID = re.compile(
    "q?ids?|idx|index|key|no|number|group|cluster|task|query|topic|prompt|persona|user|doc|document|session"
)
_NO_ID = re.compile(
    "gold|labels?|answers?|truth|reference|correct|response|output|completion|scores?|rating|text|verdict"
)


class Nesting(NamedTuple):
    """Levels in which items nest."""

    name: str  # as a sentence names several of them
    level: pd.Series  # number of the level of each item, by the name of the item
    levels: int
    items: int


def nestings(calls: Study, items: Collection[object] | None = None) -> Iterator[Nesting]:
    """Tasks, prompts, first parts of a joined id and further ids in which items nest, three or more in each.

    `items`: those that are compared, by default all. Further ids are columns that nobody named with 10 levels or more:
    neither answers, texts and measured numbers nor what the candidates say, too.
    """
    code, names = calls.columns["item"]
    used = np.bincount(code, minlength=len(names)) > 0
    if items is not None:
        used &= pd.Series(names, dtype=object).isin(list(items)).to_numpy()
    rows = used[code]
    seen: list[Integers] = []
    for name, level, fewest in _levels(calls):
        of_item = np.full(len(names), -1, dtype=np.int64)
        of_item[code[rows]] = level[rows]
        if (of_item[code[rows]] != level[rows]).any():
            continue
        own, levels = np.unique(of_item[used], return_inverse=True)
        if own.size < fewest or used.sum() < _MANY * own.size or any(np.array_equal(levels, s) for s in seen):
            continue
        seen.append(levels)
        yield Nesting(name, pd.Series(levels, index=pd.Index(names, dtype=object)[used]), own.size, int(used.sum()))


def _levels(calls: Study) -> Iterator[tuple[str, Integers, int]]:
    """Name and levels (N,) of what items may nest in, and how many levels it must have."""
    item, names = calls.columns["item"]
    for column in ("task", "prompt"):
        if column in calls.names:
            yield f"{column}s", calls.columns[column].code, 2
    parts = [str(name).split(_JOINT) for name in names]
    if parts and min(map(len, parts)) > 1:
        yield PARTS, pd.factorize(np.array([p[0] for p in parts], dtype=object))[0][item], 2
    for column in _further_ids(calls):
        yield f"levels of {column}", calls.columns[column].code, SAMPLED


def _further_ids(calls: Study) -> Iterator[str]:
    """Columns that nobody named and that may be ids of what items have in common."""
    kind = kind_of(calls.names)
    canonical = {c.name for c in VOCABULARY[kind]}
    schema = calls.data.collect_schema()
    for column in open_columns([c for c in calls.names if c in schema], schema.__getitem__, canonical, kind):
        words = {*re.split(r"[^a-z0-9]+", str(column).lower())}
        if any(map(_NO_ID.fullmatch, words)) or schema[column].is_float() or schema[column].is_boolean():
            continue
        code, labels = calls.columns[column]
        texts = [x for x in labels if isinstance(x, str)]
        if len(texts) == len(labels):
            if len(labels) < SAMPLED or np.median([len(x) for x in texts]) > _LONG:
                continue
        elif len(labels) < SAMPLED or not any(map(_ID.fullmatch, words)):
            continue
        if not _of_candidates(calls, code):
            yield str(column)


def _of_candidates(calls: Study, level: Integers) -> bool:
    """Whether the two candidates, or the system, decide the level, and are not themselves others for each item."""
    if "first" in calls.names:
        low, high, _ = calls.ordered
        who = combine([(f.code, len(f.labels)) for f in (low, high)], len(level))
    elif "system" in calls.names:
        who = calls.columns.codes(["system"])
    else:
        return False
    if _MANY * who.size > calls.columns.n_distinct(["item"]):
        return False
    first = np.full(who.size, -1, dtype=np.int64)
    first[who.code] = level
    return bool((first[who.code] == level).all())


def nesting(calls: Study) -> Nesting | None:
    """The fewer than 10 tasks or prompts, or 30 other levels, in which the items nest, or None.

    Ten tasks or more are the clusters of all intervals.

    >>> ids = [f"q{i % 4} / d{i}" for i in range(40)]
    >>> found = nesting(Study.of(pd.DataFrame({"judge": "g", "item": ids, "system": "s", "score": 1.0})))
    >>> found.name, found.levels, found.items
    ('groups of items (by the first part of the id)', 4, 40)
    """
    return few_levels(nestings(calls))


def few_levels(nests: Iterable[Nesting]) -> Nesting | None:
    """The first of some levels that are few, as :func:`nesting` has it."""
    most = {"tasks": SAMPLED, "prompts": SAMPLED}
    return next((n for n in nests if n.levels < most.get(n.name, _FEW_PARTS)), None)


def for_these(nests: Iterable[Nesting]) -> str:
    """Words that limit a sentence to the 3 to 9 levels in which the items nest; empty where there are none."""
    nested = few_levels(nests)
    if nested is None or not FEWEST_NAMED <= nested.levels < SAMPLED:
        return ""
    return f", for these {nested.levels} {nested.name.partition(' (')[0]}"


def task_advice(calls: Study) -> str:
    """What to map as ``task`` where items nest in the few levels of a column that is not mapped; else empty."""
    nested = nesting(calls)
    if nested is None or nested.name != PARTS:
        return ""
    return (
        f"{nested.levels} {nested.name} stand behind {count(nested.items)} items. Map the column with them to task "
        "(--map task=COLUMN): tasks then have columns of their own, and reports say how wide the intervals are by task."
    )
