"""Answers as counts of favoured, opposed and tie, from calls or from counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from judgestats import flags
from judgestats.errors import DesignError, SchemaError
from judgestats.schema.factors import factor_of
from judgestats.typing import Column, Ints

#: Candidate favoured by the cue: one for all probes, one for each, or a function of the probe.
Favoured = str | Mapping[str, str] | Callable[[str], str]
#: Value of the column ``favoured`` where the side differs between items.
VARIES = "varies"
#: Codes 0, 1 and 2 of an answer.
ROLES = ("favoured", "opposed", "tie")


def sides(table: pd.DataFrame, favoured: Favoured | None, label: str | None) -> Column:
    """The candidate that the cue favours in each row, None where it favours neither or both."""
    probe = table["probe"]
    if favoured is not None:
        candidates = {p: _side_of_probe(favoured, p) for p in sorted(probe.unique())}
        return probe.map(candidates).astype(object)
    if "favoured" in table:
        column = table["favoured"].astype(object)
        return column.where(column.notna() & (column.astype(str) != ""), None).map(lambda v: v if v is None else str(v))
    if {"label_first", "label_second", "first", "second"} <= set(table.columns):
        if label is None:
            raise DesignError("Which label is favoured? Give favoured_label=, or favoured= {probe: candidate}.")
        one, two = (table[c].astype(object).astype(str) == label for c in ("label_first", "label_second"))
        side = np.where(one & ~two, table["first"].astype(str), np.where(two & ~one, table["second"].astype(str), None))
        return pd.Series(side, index=table.index, dtype=object)
    raise DesignError(
        "The candidate that the cue favours is not known from counts, or from a frame without label_first and "
        "label_second. Give favoured={probe: candidate}, a candidate for all probes, a function of the probe, or a "
        "column 'favoured'."
    )


def _side_of_probe(favoured: Favoured, probe: str) -> str | None:
    side: object = favoured
    if callable(favoured):
        side = favoured(probe)
    elif isinstance(favoured, Mapping):
        side = favoured.get(probe)
    return None if side is None else str(side)


def refuse_unnamed(table: pd.DataFrame, blind: str, favoured: Favoured | None) -> None:
    """Refuse a mapping that does not name the side of a labelled probe."""
    if not isinstance(favoured, Mapping):
        return
    missing = sorted(set(table["probe"]) - {blind} - set(favoured))
    if missing:
        raise DesignError(
            f"favoured= names no candidate for {', '.join(map(repr, missing))}. It has: "
            f"{', '.join(map(str, favoured))}. Name one for each labelled probe, or leave the probe's rows out."
        )


def refuse_nameless(table: pd.DataFrame) -> None:
    """Refuse candidates without an id, or with the same id: the choice would be unknown."""
    absent = int(table[["first", "second"]].isna().any(axis=1).sum())
    if absent:
        raise SchemaError(f"'first' or 'second' is missing in {absent:,} rows. Give the ids of both candidates shown.")
    same = table["first"].astype(str) == table["second"].astype(str)
    if same.any():
        raise SchemaError(
            f"Both candidates have the id {str(table['first'][same].iloc[0])!r} in {int(same.sum()):,} rows, so the "
            "choice is not known. Give two ids, even to one text shown twice."
        )


def refuse_unshown(favoured: Favoured | None, label: str | None) -> None:
    """Refuse a side that no call shows."""
    if favoured is not None:
        raise DesignError(f"favoured={favoured!r} names no candidate that was shown. Use the ids in first, second.")
    if label is not None:
        raise DesignError(f"favoured_label={label!r} marks one candidate of no call. See label_first and label_second.")


def role(outcome: Column, side: Column | str) -> Ints:
    """0 favoured, 1 opposed, 2 tie, -1 invalid or missing."""
    text = outcome.astype(str).to_numpy(dtype=object)
    favoured = side if isinstance(side, str) else side.to_numpy(dtype=object)
    code = np.where(text == favoured, 0, 1)
    return np.where(text == "tie", 2, np.where(np.isin(text, ("invalid", "missing")), -1, code))


def side_of_pairs(pairs: pd.DataFrame, side: Column, columns: list[str]) -> Column:
    """Side of the labelled call; if that call is missing, the only side of the group."""
    side_of_call = side.to_numpy(dtype=object)
    labelled = pd.Series(
        np.where(pairs["_row"] >= 0, side_of_call[pairs["_row"]], None), index=pairs.index, dtype=object
    )
    by_group = pairs.assign(_side=labelled).groupby(columns, dropna=False)["_side"]
    single = by_group.transform("first").where(by_group.transform("nunique") == 1, None)
    return labelled.where(pairs["_row"] >= 0, single)


def key_of(values: Iterable[Any]) -> tuple[Any, ...]:
    """Key of a group; missing values are equal."""
    return tuple(None if pd.isna(v) else v for v in values)


def one_side(side: Column) -> str:
    """The only side, or ``varies`` if there are several."""
    candidates = sorted(set(side.dropna().astype(str)))
    return candidates[0] if len(candidates) == 1 else VARIES if candidates else ""


def excluded(pairs: pd.DataFrame) -> str:
    """Flag of the matched answers that are excluded."""
    n = pairs["n"].to_numpy(dtype=float)
    answers = [factor_of(pairs[c]) for c in ("baseline", "outcome")]
    invalid = sum(float(n[side.among("invalid")].sum()) for side in answers)
    missing = float(n[answers[0].among("missing") | answers[1].among("missing")].sum())
    unknown = float(n[~pairs["_known"].to_numpy(dtype=bool)].sum())
    return flags.join(
        flags.INVALID_EXCLUDED.of(invalid), flags.ONE_PROBE.of(missing, total=f"{n.sum():,.0f}"), without_side(unknown)
    )


def without_side(n: float) -> str:
    """Flag of items without a known favoured side."""
    return flags.NO_FAVOURED_SIDE.of(n)
