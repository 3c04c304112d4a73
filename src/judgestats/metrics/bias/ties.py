"""Who could not answer *tie*: a share of ties is then no finding."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import narwhals.stable.v2 as nw

from judgestats.results import FORCED_CHOICE, flags


def flag_forced(
    rows: list[dict[str, Any]], calls: Any, groups: Sequence[str], terms: Collection[str]
) -> list[dict[str, Any]]:
    """Flag the rows of `terms` in groups all of whose calls were forced choices (``ties_allowed`` False)."""
    data = nw.from_native(calls)
    present = data.collect_schema().names()
    if "ties_allowed" not in present or not set(groups) <= set(present):
        return rows
    allowed = nw.col("ties_allowed").fill_null(True).cast(nw.Boolean).alias("_allowed")
    seen = data.lazy().select(*groups, allowed).unique().collect(backend="pandas").to_native()
    free = {tuple(key) for *key, allowed in seen.itertuples(index=False) if allowed}
    for row in rows:
        if row["term"] in terms and tuple(row[g] for g in groups) not in free:
            row["flag"] = flags(row["flag"], FORCED_CHOICE)
    return rows
