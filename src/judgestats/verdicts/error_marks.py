"""Error marks with severities -> scores of segments, items and systems: :func:`error_scores`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.arguments import checked_arguments
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, SchemaError, data_rows, refuse_unknown
from judgestats.estimate import mean_over_clusters
from judgestats.results import estimates
from judgestats.schema.coding import codes_of
from judgestats.schema.opening import engine_errors
from judgestats.typing import Record
from judgestats.verdicts.native_frames import to_native, to_table

#: Weight of a severity, or of a severity in a category.
MarkWeights = Mapping[str | tuple[str, str], float] | Literal["mqm"]
Unit = Literal["segment", "item", "system"]
#: Weights of Freitag et al. (2021), Table 4.
_MQM: dict[str | tuple[str, str], float] = {
    "Major": 5.0,
    "Minor": 1.0,
    "No-error": 0.0,
    ("Major", "Non-translation"): 25.0,
    ("Minor", "Fluency/Punctuation"): 0.1,
}
_COLUMNS = ("judge", "system", "item", "segment", "category", "severity", "start", "end", "length")


@checked_arguments
@engine_errors
def error_scores(
    marks: IntoFrame,
    weights: MarkWeights = "mqm",
    *,
    unit: Unit = "segment",
    conf_level: float = CONF_LEVEL,
    **columns: str,
) -> Any:
    """Turn marked errors into scores, of which a lower one is better.

    Parameters
    ----------
    marks : frame
        A row for each mark: ``judge``, ``item``, ``category`` and ``severity``; ``system`` and ``segment`` (a part of
        the item, such as a sentence of a document) where there are such. What a judge read without finding an error has
        a row too, with a severity of weight 0: what has no row was not judged.
    weights : 'mqm' or mapping
        Weight of each severity, ``{"major": 5, "minor": 1}``; a pair ``("minor", "punctuation")`` is the weight of a
        severity in one category. ``'mqm'``: Major 5, Minor 1, No-error 0, Major Non-translation 25, Minor
        Fluency/Punctuation 0.1.
    unit : {'segment', 'item', 'system'}
        Ratings of segments, or of items (the mean over their segments); or estimates of systems.
    conf_level : float
        Coverage of the intervals.
    **columns : str
        Canonical name = name in the table, as in :func:`ratings`: ``judge="rater"``. ``start``, ``end`` and ``length``
        (of the text) of marked spans are checked where they are there.

    Returns
    -------
    frame
        Ratings of the kind given: ``judge``, ``system``, ``item``, ``score`` and ``n_marks``. A segment is an ``item``
        of its own, ``document: segment``, and its document the ``task``. For systems a data frame of estimates: the
        mean over segments of the mean over judges, with t by item.

    Raises
    ------
    SchemaError
        If a column is missing, a severity has no weight, or a span ends before it starts or beyond its text.

    See Also
    --------
    ratings : Scores from elsewhere.
    icc : Agreement of the judges' scores.

    References
    ----------
    Freitag, M., Foster, G., Grangier, D., Ratnakar, V., Tan, Q., Macherey, W. (2021). Transactions of the ACL 9,
    1460-1474.

    Examples
    --------
    >>> marks = pd.DataFrame({"rater": "r", "system": ["a", "a", "a", "b"], "item": "d", "segment": [1, 1, 2, 1],
    ...                       "category": ["Accuracy/Omission", "Fluency/Punctuation", "No-error", "Other"],
    ...                       "severity": ["Major", "Minor", "No-error", "Minor"]})
    >>> error_scores(marks, judge="rater")
      judge system  item  score  n_marks task
    0     r      a  d: 1    5.1        2    d
    1     r      a  d: 2    0.0        0    d
    2     r      b  d: 1    1.0        1    d
    """
    table = canonical_marks(to_table(marks), columns, ("judge", "item", "category", "severity"))
    table["score"] = _weights_of(table, _MQM if weights == "mqm" else dict(weights))
    thing = [c for c in ("system", "item", "segment") if c in table.columns]
    summed = table.assign(n_marks=(table["score"] != 0).astype(int))
    groups = summed.groupby(["judge", *thing], dropna=False, sort=True, observed=True)
    scores = groups[["score", "n_marks"]].sum().reset_index()
    scores["score"] = scores["score"].round(12)
    if unit == "system":
        return _systems(scores, thing, conf_level)
    if unit == "item" and "segment" in thing:
        keys = ["judge", *(c for c in thing if c != "segment")]
        scores = scores.groupby(keys, dropna=False, sort=True, observed=True).agg({"score": "mean", "n_marks": "sum"})
        scores = scores.reset_index()
    elif "segment" in thing:
        document = scores["item"].astype(str)
        scores["item"] = document + ": " + scores.pop("segment").astype(str)
        scores["task"] = document
    return to_native(scores, marks)


def canonical_marks(table: pd.DataFrame, columns: Mapping[str, str], needed: Sequence[str]) -> pd.DataFrame:
    """Marks with their canonical names, refused where spans cannot be."""
    for name, source in columns.items():
        refuse_unknown(name, _COLUMNS, f"{name!r} is not a column of marks", error=SchemaError)
        refuse_unknown(source, table.columns, f"{name}={source!r} is not a column", "Columns", error=SchemaError)
    table = table.drop(columns=[n for n in columns if n in table.columns and columns[n] != n])
    table = table.rename(columns={source: name for name, source in columns.items()})
    if missing := [c for c in needed if c not in table.columns]:
        raise SchemaError(
            f"Marks lack {', '.join(missing)}. Columns: {', '.join(map(str, table.columns))}. Name them, as in "
            f"{missing[0]}='...'."
        )
    if {"start", "end"} <= {*table.columns}:
        start, end = (pd.to_numeric(table[c], errors="coerce") for c in ("start", "end"))
        length = pd.to_numeric(table["length"], errors="coerce") if "length" in table.columns else end
        for wrong, what in ((end < start, "ends before it starts"), (end > length, "ends beyond its text")):
            if wrong.any():
                rows = data_rows(list(map(int, np.flatnonzero(wrong))))
                raise SchemaError(f"A marked span {what} in {int(wrong.sum()):,} rows ({rows}). Correct start and end.")
    return table


def _weights_of(table: pd.DataFrame, weights: Mapping[str | tuple[str, str], float]) -> pd.Series[float]:
    """Weight of each mark: of its severity in its category, else of its severity."""
    severity, category = (table[c].astype(object) for c in ("severity", "category"))
    pairs = pd.Series(list(zip(severity, category, strict=True)), index=table.index)
    values = pairs.map({k: v for k, v in weights.items() if isinstance(k, tuple)})
    values = values.fillna(severity.map({k: v for k, v in weights.items() if isinstance(k, str)}))
    if values.isna().any():
        without = sorted({f"{s} ({c})" for s, c in pairs[values.isna()]})
        listed = ", ".join(without[:4]) + (f" and {len(without) - 4} more" if len(without) > 4 else "")
        raise SchemaError(
            f"No weight for {listed}, in {int(values.isna().sum()):,} rows. weights= has: "
            f"{', '.join(map(str, weights))}. Spellings count."
        )
    result = values.astype(float)
    if not np.isfinite(result).all():
        raise DesignError("weights= holds a weight that is no finite number.")
    return result


def _systems(scores: pd.DataFrame, thing: list[str], conf_level: float) -> pd.DataFrame:
    """Estimates of systems from scores of segments."""
    scores = scores if "system" in scores.columns else scores.assign(system="")
    of_segments = scores.groupby(["system", *(c for c in thing if c != "system")], sort=True, observed=True)["score"]
    rows: list[Record] = []
    for system, part in of_segments.mean().reset_index().groupby("system", sort=True):
        unit = codes_of(part, ["item"])
        k, n = (np.bincount(unit.code, w, unit.size).astype(float) for w in (part["score"], np.ones(len(part))))
        mean = mean_over_clusters(k, n, "item", conf_level)
        rows.append({"system": system, "term": "error_score", **mean.cells})
    return estimates(rows, ["system"])
