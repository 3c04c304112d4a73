"""Which candidate the cue favours, and what an answer is to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError, SchemaError
from judgestats.results import flags

#: Candidate favoured by the cue: one for all probes, one for each, or a function of the probe.
Favoured = str | Mapping[str, str] | Callable[[str], str]
#: What the column ``favoured`` says where the side differs from item to item.
VARIES = "varies"
#: Codes 0, 1 and 2 of an answer.
ROLES = ("favoured", "opposed", "tie")


def sides(table: pd.DataFrame, favoured: Favoured | None, label: str | None) -> pd.Series[Any]:
    """Return the candidate that the cue favours in each row, None where it favours neither or both."""
    probe = table["probe"]
    if favoured is not None:
        named = {p: _named(favoured, p) for p in sorted(probe.unique())}
        return probe.map(named).astype(object)
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
        "Which candidate does the cue favour? Counts do not tell, nor does a frame without label_first and "
        "label_second. Give favoured={probe: candidate}, a candidate for all probes, a function of the probe, or a "
        "column 'favoured'."
    )


def _named(favoured: Favoured, probe: str) -> str | None:
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
    """Refuse candidates without a name, or with one name for both: the answer would not say which was chosen."""
    absent = int(table[["first", "second"]].isna().any(axis=1).sum())
    if absent:
        raise SchemaError(f"'first' or 'second' is missing in {absent:,} rows. Give the ids of both candidates shown.")
    same = table["first"].astype(str) == table["second"].astype(str)
    if same.any():
        raise SchemaError(
            f"Both candidates are called {str(table['first'][same].iloc[0])!r} in {int(same.sum()):,} rows: an answer "
            "does not say which was chosen. Give two ids, also to one text shown twice."
        )


def refuse_unshown(favoured: Favoured | None, label: str | None) -> None:
    """Refuse a side that was shown in no call."""
    if favoured is not None:
        raise DesignError(
            f"favoured={favoured!r} names no candidate that was shown. It takes the ids in first, second."
        )
    if label is not None:
        raise DesignError(f"favoured_label={label!r} marks one candidate of no call. See label_first and label_second.")


def role(outcome: pd.Series[Any], side: pd.Series[Any] | str) -> NDArray[np.int64]:
    """0 favoured, 1 opposed, 2 tie, -1 invalid or missing."""
    text = outcome.astype(str).to_numpy(dtype=object)
    of = side if isinstance(side, str) else side.to_numpy(dtype=object)
    code = np.where(text == of, 0, 1)
    return np.where(text == "tie", 2, np.where(np.isin(text, ("invalid", "missing")), -1, code))


def side_of_pairs(pairs: pd.DataFrame, side: pd.Series[Any], columns: list[str]) -> pd.Series[Any]:
    """Side shown to the labelled call; where that is missing, the group's side, if it has but one."""
    shown = side.to_numpy(dtype=object)
    own = pd.Series(np.where(pairs["_row"] >= 0, shown[pairs["_row"]], None), index=pairs.index, dtype=object)
    by_group = pairs.assign(_own=own).groupby(columns, dropna=False)["_own"]
    single = by_group.transform("first").where(by_group.transform("nunique") == 1, None)
    return own.where(pairs["_row"] >= 0, single)


def key_of(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return the values of a group as a key: every missing value is the same."""
    return tuple(None if pd.isna(v) else v for v in values)


def one_side(side: pd.Series[Any]) -> str:
    """Return the one side there is, ``varies`` where there are several."""
    found = sorted(set(side.dropna().astype(str)))
    return found[0] if len(found) == 1 else VARIES if found else ""


def set_aside(here: pd.DataFrame) -> str:
    """Flag what of matched answers counts for nothing, and why."""
    n = here["n"].astype(float)
    invalid = sum(float(n[here[c].astype(str) == "invalid"].sum()) for c in ("baseline", "outcome"))
    missing = float(n[(here[["baseline", "outcome"]].astype(str) == "missing").any(axis=1)].sum())
    unknown = float(n[~here["_known"]].sum())
    return flags(
        f"{invalid:,.0f} invalid set aside" if invalid else "",
        f"{missing:,.0f} of {n.sum():,.0f} items in one probe only" if missing else "",
        without_side(unknown),
    )


def without_side(n: float) -> str:
    """Flag of items of which nothing says which side the cue favours."""
    return f"{n:,.0f} items without one favoured side" if n else ""


def the_side(side: pd.Series[Any], key: dict[str, Any]) -> str:
    """Return the one side of counts; refuse several, or none."""
    found = sorted(set(side.dropna().astype(str)))
    if len(found) != 1:
        raise DesignError(
            f"Counts under probe {key['probe']!r} need one favoured candidate, and have {', '.join(found) or 'none'}. "
            "Split them with by=, or give the calls."
        )
    return str(found[0])
