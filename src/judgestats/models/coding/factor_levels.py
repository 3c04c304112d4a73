"""Levels of factors as text, and the level of each row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.models.grammar.syntax import Formula
from judgestats.schema.coding import as_text
from judgestats.typing import Column, Ints


def label(value: object) -> str:
    """Name of a level: 7 and 7.0 are the same one."""
    return str(int(value)) if isinstance(value, (float, np.floating)) and float(value).is_integer() else str(value)


def labels(values: Column) -> Column:
    """Names of levels as text; missing stays missing."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.cat.rename_categories([label(c) for c in values.cat.categories]).astype(object)
    if pd.api.types.is_bool_dtype(values):
        return values.map(str, na_action="ignore")
    if pd.api.types.is_float_dtype(values):
        return values.map({v: label(v) for v in pd.unique(values.dropna())}).astype(object)
    return as_text(values).astype(object)


def coded_levels(frame: pd.DataFrame, names: Sequence[str]) -> tuple[Ints, tuple[str, ...]]:
    """Code of each row and the levels, sorted: numbers as numbers, text as text."""
    parts = [_sorted_labels(frame[c]) for c in names]
    code = parts[0][0]
    for other, texts in parts[1:]:
        code = code * len(texts) + other
    if len(parts) == 1:
        return code, parts[0][1]
    seen, codes = np.unique(code, return_inverse=True)
    spelled = []
    for _, own in reversed(parts):
        seen, place = np.divmod(seen, len(own))
        names = [_escaped(label) for label in own]
        spelled.append([names[i] for i in place])
    return codes.astype(np.int64), tuple(":".join(several) for several in zip(*reversed(spelled), strict=True))


def _sorted_labels(values: Column) -> tuple[Ints, tuple[str, ...]]:
    """Code of each row and the labels of one column."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(values.cat.categories.dtype)
    codes, unique = pd.factorize(values)
    names = labels(pd.Series(unique)).to_numpy(dtype=object)
    order = np.argsort(unique if pd.api.types.is_numeric_dtype(values) else names, kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return rank[codes], tuple(names[order])


def _escaped(label: str) -> str:
    return label.replace("\\", "\\\\").replace(":", "\\:")


def level_names(frame: pd.DataFrame, names: Sequence[str], parsed: Formula) -> NDArray[np.object_]:
    """Name of the level of each row, None where a column is missing."""
    parts = []
    for name in names:
        if name not in frame.columns:
            raise parsed.fault(name, f"There is no column {name!r} in the new rows.", "Add it, None where it is new.")
        parts.append(labels(frame[name]))
    if len(parts) > 1:
        parts = [part.map(_escaped, na_action="ignore") for part in parts]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole + ":" + part
    joined: NDArray[np.object_] = whole.astype(object).where(whole.notna(), None).to_numpy(dtype=object)
    return joined
