"""Answers that stand for several: rankings of candidates, and probabilities of scores."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from judgestats.errors import SchemaError, data_rows, suggestion
from judgestats.ingest.paths import NamePattern
from judgestats.ingest.wide import Long, listed
from judgestats.schema.opening import cell_text, few

#: Names in a mapping for what is expanded here.
EXPANDED = ("ranking", "probabilities")
_ORDER = re.compile(r"\s*([>=])\s*")
#: How far from 1 a sum of probabilities may be.
_ROUNDED = 0.02
_MADE = ("first", "second", "choice", "order_known")


def ranked(table: pd.DataFrame, source: str) -> Long:
    """Expand rankings of candidates to a preference for each pair of them.

    `table`: one ranking a row. `source`: a column of lists of candidates, best first (a list within it holds candidates
    that tie), of objects candidate -> rank, or of texts such as ``A > B = C``; or a pattern of columns, ``rank_{rank}``
    that hold the candidate of that rank, or ``rank of {candidate}`` that hold its rank (1 is best). Gives the other
    columns with ``first``, ``second`` (in the order of their names: the order shown is not known),
    ``choice``, ``order_known`` and ``call``, the number of the row. Raises SchemaError for what is no ranking.

    >>> table = pd.DataFrame({"item": ["q"], "order": ['["y", ["x", "z"]]']})
    >>> ranked(table, "order").table
      item call first second  choice order_known
    0    q    0     x      y  second       false
    1    q    0     x      z     tie       false
    2    q    0     y      z   first       false
    """
    rankings, used = _rankings(table, source)
    rest = table.drop(columns=used)
    taken = next((n for n in _MADE if n in rest.columns), None)
    if taken is not None:
        raise SchemaError(f"ranking= makes a column {taken!r}, and the table has one. Rename yours first.")
    rows: list[int] = []
    pairs: list[tuple[str, str, str]] = []
    empty: list[tuple[int, str]] = []
    for number, ranks in enumerate(rankings):
        if len(ranks) < 2:
            empty.append((number, source))
        for (one, a), (two, b) in combinations(sorted(ranks.items()), 2):
            rows.append(number)
            pairs.append((one, two, "tie" if a == b else "first" if a < b else "second"))
    if not pairs:
        raise SchemaError(f"ranking={source!r}: no row ranks two candidates or more.")
    calls = {} if "call" in rest.columns else {"call": [str(r) for r in rows]}
    columns = dict(zip(_MADE[:3], map(list, zip(*pairs, strict=True)), strict=True))
    long = rest.iloc[rows].reset_index(drop=True).assign(**calls, **columns, order_known="false")
    return Long(long, np.array(rows), empty, "fewer than two candidates ranked")


def _rankings(table: pd.DataFrame, source: str) -> tuple[list[dict[str, float]], list[str]]:
    """Candidate -> rank of each row, and the columns that it was read from."""
    if source in table.columns:
        return [_of_cell(cell, f"ranking, {data_rows([i])}") for i, cell in enumerate(table[source])], [source]
    columns = _columns(table, source, "ranking", ("rank", "candidate"))
    by_rank = "rank" in next(iter(columns.values()))
    rankings = []
    for number, cells in enumerate(table[[*columns]].itertuples(index=False, name=None)):
        where = f"ranking, {data_rows([number])}"
        filled = [(c, text) for c, v in zip(columns, cells, strict=True) if (text := cell_text(v)) is not None]
        if by_rank:
            rankings.append(_ranks([(text, columns[c]["rank"]) for c, text in filled], where))
        else:
            rankings.append(_ranks([(columns[c]["candidate"], text) for c, text in filled], where))
    return rankings, [*columns]


def _columns(table: pd.DataFrame, source: str, name: str, parts: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Columns that match a pattern with one named part, and what the part is in each."""
    present = list(map(str, table.columns))
    if "{" not in source:
        raise SchemaError(
            f"{name} column {source!r} is not in the table. Columns: {few(present, 30)}.{suggestion(source, present)}"
        )
    pattern = NamePattern(source, name)
    if len(pattern.names) != 1 or pattern.names[0] not in parts:
        raise SchemaError(f"{name}={source!r} should name one part, {' or '.join(f'{{{p}}}' for p in parts)}.")
    columns = {c: values for c in present if (values := pattern.values(c)) is not None}
    if len(columns) < 2:
        raise SchemaError(f"{name}={source!r} matches {len(columns)} columns of {few(present, 30)}.")
    return columns


def _of_cell(cell: object, where: str) -> dict[str, float]:
    """Candidate -> rank of a list, an object or a text."""
    text = cell_text(cell)
    if text is None:
        return {}
    whole: Any = listed(cell)
    if whole is None and text.lstrip().startswith("{"):
        try:
            whole = json.loads(text)
        except ValueError:
            whole = None
    if isinstance(whole, dict):
        return _ranks(list(whole.items()), where)
    if whole is not None:
        groups = [one if isinstance(one, list) else [one] for one in whole]
        return _ranks([(cell_text(c), rank) for rank, group in enumerate(groups) for c in group], where)
    parts = _ORDER.split(text.strip())
    if len(parts) < 3 or not all(parts):
        raise SchemaError(f"{where}: {text[:60]!r} is no ranking. Allowed: a list, an object, or A > B = C.")
    ranks = np.cumsum([0, *(sign == ">" for sign in parts[1::2])])
    return _ranks(list(zip(parts[::2], ranks.tolist(), strict=True)), where)


def _ranks(pairs: list[tuple[str | None, Any]], where: str) -> dict[str, float]:
    """Pairs of candidate and rank as a mapping; candidates without a rank are left out."""
    ranks: dict[str, float] = {}
    for candidate, rank in pairs:
        if rank is None:
            continue
        if not candidate or candidate in ranks:
            what = f"candidate {candidate!r} occurs twice" if candidate else "a candidate has no name"
            raise SchemaError(f"{where}: {what}.")
        try:
            ranks[candidate] = float(rank)
        except (TypeError, ValueError):
            raise SchemaError(
                f"{where}: the rank of {candidate!r} is {str(rank)[:40]!r}, which is no number."
            ) from None
    if any(rank != rank for rank in ranks.values()):
        raise SchemaError(f"{where}: a rank is not a number.")
    return ranks


def expected(table: pd.DataFrame, source: str) -> Long:
    """Replace columns of probabilities of the scores by the expected score."""
    columns = _columns(table, source, "probabilities", ("score",))
    if "score" in table.columns and "score" not in columns:
        raise SchemaError("probabilities= makes a column 'score', and the table has one. Rename yours first.")
    scores = pd.to_numeric(pd.Series([v["score"] for v in columns.values()]), errors="coerce").to_numpy(dtype=float)
    chances = table[[*columns]].apply(pd.to_numeric, errors="coerce").to_numpy(dtype=float)
    total = chances.sum(axis=1)
    whole = table[[*columns]].isna().all(axis=1).to_numpy()  # a failed call: no score
    wrong = ~whole & ~((chances >= 0).all(axis=1) & (np.abs(total - 1) <= _ROUNDED))
    if np.isnan(scores).any() or wrong.any():
        row = int(np.argmax(wrong))
        what = (
            "a score is no number"
            if np.isnan(scores).any()
            else f"{data_rows([row])}: they are {chances[row].tolist()}"
        )
        raise SchemaError(f"probabilities={source!r} should match columns that add up to 1 in each row; {what}.")
    score = pd.Series(np.where(whole, np.nan, chances @ scores / np.where(whole, 1, total)), index=table.index)
    return Long(table.drop(columns=[*columns]).assign(score=score), np.arange(len(table)))


def expansions(columns: dict[str, str | None]) -> Iterator[tuple[str, str]]:
    """Take what is expanded here out of a mapping."""
    for name in EXPANDED:
        source = columns.pop(name, None)
        if source is not None:
            yield name, source
