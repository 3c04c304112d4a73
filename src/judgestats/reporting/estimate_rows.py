"""Rows of a table of estimates: which judge, which step of the ladder, which term, and their names."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from typing import Literal, TypeAlias, TypeVar

import numpy as np
import pandas as pd

from judgestats.errors import DesignError
from judgestats.metrics.standings import DECIMALS
from judgestats.reporting.formatting import lower_is_better
from judgestats.results import COLUMNS
from judgestats.schema.coding import codes_of
from judgestats.typing import Record

T = TypeVar("T", bound=Hashable)
#: How the rows of a picture are ordered.
Order: TypeAlias = Literal["value", "given"]
#: Columns before ``term`` that are not part of the label of a row, where nobody says what the groups are.
_NOT_WHOSE = {"section", "vacuum_kind", "stimulus", "delta", "system", "item", "criterion", "own", *COLUMNS}
_STEP = re.compile(r"Δ = (-?[\d.]+(?:e[+-]?\d+)?)$")


def require(frame: pd.DataFrame, *columns: str) -> None:
    """Raise DesignError, which names what is needed and what there is, unless `frame` has these columns."""
    wanted = ", ".join(columns)
    if not isinstance(frame, pd.DataFrame):
        raise DesignError(f"The picture needs a pandas table of estimates with {wanted}, and got: {type(frame)!r}.")
    absent = [c for c in columns if c not in frame.columns]
    if absent:
        have = ", ".join(map(str, frame.columns)) or "none"
        raise DesignError(f"The picture needs the columns {wanted}. Missing: {', '.join(absent)}. Columns: {have}.")


def whose(frame: pd.DataFrame, groups: Sequence[str] | None = None) -> pd.Series:
    """Label of each row, on its index: the judge, and the values of the further grouping columns.

    `groups`: the further columns. By default all those before ``section`` in a datasheet; in other tables of estimates
    all before ``term``, without those that describe the estimate.

    >>> whose(pd.DataFrame({"judge": ["g"], "strategy": ["CoT"], "term": ["x"], "estimate": [1.0]})).item()
    'g · strategy = CoT'
    >>> whose(pd.DataFrame({"judge": ["g"], "system": ["s"], "section": ["scores"], "term": ["x"]})).item()
    'g · system = s'
    """
    if "judge" not in frame.columns:
        raise DesignError(f"A picture needs a column judge. Columns: {', '.join(map(str, frame.columns))}.")
    if groups is None:
        columns = list(frame.columns)
        end = min((columns.index(c) for c in ("section", "term") if c in columns), default=len(columns))
        groups = [c for c in columns[:end] if "section" in columns or c not in _NOT_WHOSE]
    groups = ["judge", *(c for c in groups if c != "judge")]
    codes = codes_of(frame, groups)
    parts = [frame[g].iloc[codes.first].astype(object).map(_cell_text) for g in groups]
    parts[1:] = [f"{g} = " + part for g, part in zip(groups[1:], parts[1:], strict=True)]
    labels = np.array([" · ".join(p) for p in zip(*parts, strict=True)], dtype=object)
    return pd.Series(labels[codes.code], index=frame.index, dtype=object)


def row_of_each(rows: pd.DataFrame, groups: Sequence[str] | None = None) -> dict[str, Record]:
    """Label of a row, as of :func:`whose` -> the row.

    Raise DesignError where two rows have one label: a number of one level never stands for the whole.
    """
    labels = whose(rows, groups) if len(rows) else pd.Series(dtype=object)
    if (twice := labels.duplicated()).any():
        label = labels[twice].iloc[0]
        raise DesignError(
            f"{int((labels == label).sum())} estimates are all named {label!r}. Give the levels of the grouping "
            "columns names that differ in print."
        )
    records = rows.to_dict("records")
    return {str(label): {str(k): v for k, v in r.items()} for label, r in zip(labels, records, strict=True)}


def _cell_text(value: object) -> str:
    if isinstance(value, float):
        return "—" if np.isnan(value) else f"{value:.15g}"
    return "—" if value is None else str(value)


def step(frame: pd.DataFrame) -> pd.Series:
    """Step of the ladder of each row, from ``delta`` or from the ``detail`` of a datasheet; NaN off the ladder."""
    if "delta" in frame.columns:
        return frame["delta"].astype(float)
    if "detail" not in frame.columns:
        return pd.Series(np.nan, index=frame.index)
    matches = [_STEP.search(str(c)) for c in frame["detail"]]
    return pd.Series([float(m.group(1)) if m else np.nan for m in matches], index=frame.index)


def terms(frame: pd.DataFrame, *wanted: str, needed: bool = True) -> pd.DataFrame:
    """Rows of these terms, with columns ``who`` and ``step``; `needed`: refuse a frame without a value of any."""
    require(frame, "judge", "term", "estimate")
    estimates = frame[frame["term"].isin(wanted)]
    if "section" in estimates.columns:
        estimates = estimates[~estimates["section"].astype(str).str.endswith("different subset")]
    if needed:
        _require_value(estimates, frame, ", ".join(wanted))
    return estimates.assign(who=whose(estimates), step=step(estimates))


def _require_value(estimates: pd.DataFrame, frame: pd.DataFrame, wanted: str, advice: str = "") -> None:
    if not estimates["estimate"].notna().any():
        have = ", ".join(sorted(set(map(str, frame["term"])))) or "none"
        raise DesignError(
            f"The picture needs {wanted}, and the estimates have no such row with a value. Terms: {have}.{advice}"
        )


def one_each(frame: pd.DataFrame, term: str) -> pd.DataFrame:
    """One row per judge for a term, indexed by ``who``; for dark current, the row pooled over the kinds of vacuum."""
    estimates = terms(frame, term, needed=False)
    for column in ("vacuum_kind", "detail"):
        if term == "dark_current" and column in estimates.columns:
            pooled = estimates[column].isna() | estimates[column].astype(object).isin(["all", ""])
            estimates = estimates[pooled | ~estimates["who"].isin(estimates.loc[pooled, "who"])]
    return estimates.drop_duplicates("who").set_index("who")


def order_of(frame: pd.DataFrame) -> list[str]:
    """Judges in the order in which they come."""
    return list(dict.fromkeys(whose(frame)))


def chosen(frame: pd.DataFrame, wanted: Sequence[str], *columns: str, source: str) -> pd.DataFrame:
    """Rows of these terms, given by the measure `source`; a frame without a column, or without a value, is refused."""
    require(frame, "term", "estimate", *columns)
    estimates = frame[frame["term"].isin(wanted)]
    _require_value(estimates, frame, " or ".join(wanted), f" Give a result of {source}().")
    return estimates


def of_one_term(frame: pd.DataFrame, term: str | None, *columns: str) -> pd.DataFrame:
    """Rows with a value of one term, which is named where there are several."""
    require(frame, "term", "estimate", *columns)
    estimates = frame[frame["estimate"].notna() & frame[[c for c in columns if "conf" not in c]].notna().all(axis=1)]
    available = distinct(estimates["term"].astype(str))
    if term is None and len(available) > 1:
        raise DesignError(f"The result has the terms {', '.join(available)}. Name one in term=.")
    wanted = term or (available or [""])[0]
    _require_value(estimates[estimates["term"] == wanted], frame, wanted)
    return estimates[estimates["term"] == wanted]


def groups_of(table: pd.DataFrame, *skip: str) -> list[str]:
    """Grouping columns (those before ``term``), without those in `skip`."""
    columns = [str(c) for c in table.columns]
    return [c for c in columns[: columns.index("term")] if c not in skip]


def names_of(table: pd.DataFrame, *skip: str) -> pd.Series:
    """Name of the group of each row by all columns but `skip`, numbers with their column; ``all`` without any.

    >>> names_of(pd.DataFrame({"pair": ["a/b"], "temperature": [0.3], "term": ["shift"]})).item()
    'a/b · temperature 0.3'
    """
    return joined(table, groups_of(table, *skip))


def joined(table: pd.DataFrame, columns: Sequence[str]) -> pd.Series:
    """The values of `columns` as one text a row."""
    if not columns:
        return pd.Series("all", index=table.index, dtype=object)
    parts = [[_value_label(c, v) for v in table[c].astype(object)] for c in columns]
    return pd.Series([" · ".join(filter(None, p)) or "all" for p in zip(*parts, strict=True)], table.index, object)


def _value_label(column: str, value: object) -> str:
    if pd.isna(value):
        return ""
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, (bool, np.bool_))
    return f"{column} {value:g}" if number else str(value)


def distinct(values: Iterable[T]) -> list[T]:
    """Values in the order in which they come, each once."""
    return list(dict.fromkeys(values))


def ordered(
    table: pd.DataFrame,
    order: Order = "value",
    first: pd.DataFrame | None = None,
    *,
    column: str = "_row",
    value: str = "estimate",
) -> list[str]:
    """Labels of rows as the table of a page has them: the best first, those alike by name, those without a value last.

    `order`: "given" leaves them as they come. `first`: the rows that decide, by the mean of the first term with a value
    there; by default all. `column`, `value`: where the labels and the numbers are.

    >>> rows = pd.DataFrame({"_row": ["a", "b", "c"], "term": "brier", "estimate": [0.3, np.nan, 0.2]})
    >>> ordered(rows), ordered(rows, "given")
    (['c', 'a', 'b'], ['a', 'b', 'c'])
    """
    labels = distinct(table[column])
    decisive = table if first is None else first
    decisive = decisive[decisive[value].notna()]
    if order == "given" or decisive.empty:
        return labels
    term = str(decisive["term"].iloc[0]) if "term" in decisive else ""
    decisive = decisive[decisive["term"] == term] if term else decisive
    sign = 1 if lower_is_better(term) else -1
    means = (sign * decisive[value].astype(float)).groupby(decisive[column]).mean().round(DECIMALS).to_dict()
    return sorted(labels, key=lambda label: (label not in means, means.get(label, 0.0), label))


def one_row_each(table: pd.DataFrame, columns: Sequence[str]) -> None:
    """Raise DesignError, which names the first, if two rows would be drawn in the same place."""
    twice = table.duplicated(list(columns))
    if twice.any():
        first = " · ".join(map(str, table.loc[twice, list(columns)].iloc[0]))
        raise DesignError(
            f"{int(twice.sum())} rows would be drawn on top of another (first: {first}). Draw one group at a time."
        )
