"""Agreement of judges who mark spans in texts: :func:`unitised_alpha`."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.counting.bootstrap import Bootstrap, read_off
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import SchemaError, data_rows
from judgestats.kernels.cluster_sums import effective_clusters
from judgestats.kernels.resampling import generator, times_drawn
from judgestats.kernels.unitising import MarkedTexts, Spans, Sums, disagreements, sums_of
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.results import estimates
from judgestats.schema.coding import Codes, codes_of
from judgestats.typing import Floats, Record
from judgestats.verdicts.error_marks import canonical_marks
from judgestats.verdicts.native_frames import to_table


@Measure(
    "Do the judges mark the same places as errors?",
    "agreement",
    "marks",
    "t, bootstrap of documents",
    "Krippendorff 1995",
    terms=(Term("alpha", "unitised α"),),
    classes=True,
    have=("judges",),
    assumes="Judges are interchangeable; documents are a sample of such documents; judges read texts as a whole.",
)
def unitised_alpha(
    marks: IntoFrame,
    *,
    interval: Literal["t", "percentile"] | None = "t",
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
    **columns: str,
) -> pd.DataFrame:
    """Krippendorff's alpha of spans that judges mark in texts: do they mark the same places, in each category?

    Parameters
    ----------
    marks : frame
        A row for each mark, as for :func:`error_scores`: ``judge``, ``item`` (the document), ``category``, ``start``,
        ``end`` (behind the last place) and ``length`` (of the text); ``system`` and ``segment`` where there are such. A
        row without start and end says that a judge read a text: what has no row was not read.
    interval : {'t', 'percentile', None}
        Bootstrap of documents, with Student's t or percentile limits, or no interval.
    n_resamples, seed : int
        Number of bootstrap resamples, and seed of the draws.
    conf_level : float
        Coverage of the intervals.
    **columns : str
        Canonical name = name in the table: ``judge="rater"``.

    Returns
    -------
    pandas.DataFrame
        Term ``alpha`` of each ``category``, and of all of them (empty), whose disagreements are added up. ``n`` counts
        the texts that two judges or more have read, ``n_marks`` the marks in them; ``observed_disagreement`` and
        ``expected_disagreement``: alpha is 1 minus their ratio. NaN, flagged, without such a text.

    Raises
    ------
    SchemaError
        If a column is missing, a span is empty, not in whole numbers, ends beyond its text, or overlaps another of the
        same judge and category; if a text has two lengths.

    See Also
    --------
    error_scores : Scores of marked errors.
    alpha : Agreement on whole units; ``distance="label"`` on which categories a segment has.

    Notes
    -----
    The disagreement of two spans that overlap is the sum of the squared distances of their ends, that of a span where
    another judge marks nothing the square of its length; chance puts all spans anywhere. Several texts are parts of one
    continuum, in no order: judges who mark at random have an alpha near 0 with short texts, too.

    References
    ----------
    Krippendorff, K. (1995). On the reliability of unitizing continuous data. Sociological Methodology 25, 47-76. The
    expected disagreement as corrected in Krippendorff, K. (2004), Content Analysis, 2nd edition.

    Examples
    --------
    >>> marks = pd.DataFrame({"judge": ["a", "a", "b", "b"], "item": "talk", "category": "Accuracy", "length": 24,
    ...                       "start": [2, 14, 4, 15], "end": [10, 20, 8, 17]})
    >>> agreement = unitised_alpha(marks, interval=None)
    >>> agreement[["category", "estimate", "n", "n_marks"]].round(3)
       category  estimate    n  n_marks
    0               0.515  1.0        4
    1  Accuracy     0.515  1.0        4
    """
    table = canonical_marks(to_table(marks), columns, ("judge", "item", "category", "start", "end", "length"))
    keys = [c for c in ("system", "item", "segment") if c in table.columns]
    table = table.assign(**{c: pd.to_numeric(table[c], errors="coerce") for c in ("start", "end", "length")})
    spans = _spans(table, keys)
    table, single = _read_twice(table, keys)
    table = table.sort_values([*keys, "judge"], kind="stable", key=lambda own: own.astype(str))
    plan = Bootstrap(interval or "t", ("item",), None, n_resamples, seed, conf_level)
    if not len(table):
        row: Record = {"category": "", "term": "alpha", "estimate": math.nan, "n": 0.0, "n_marks": 0}
        row["flag"] = flags.join(flags.NO_PAIRS, flags.RATED_ONCE.of(single))
        return estimates([row], ["category"], ["observed_disagreement", "expected_disagreement", "n_marks"])
    text, judge = codes_of(table, keys), codes_of(table, ["judge"])
    read = codes_of(table, [*keys, "judge"]).first
    length = table.groupby(text.code)["length"].max().to_numpy(dtype=float)
    texts = MarkedTexts(text.code[read], judge.code[read], length)
    item = codes_of(table.iloc[text.first], ["item"])
    marked = np.isin(table.index, spans.index)
    start, end = (table[c].to_numpy(dtype=float) for c in ("start", "end"))
    sums: dict[str, Sums] = {}
    numbers: dict[str, int] = {}
    for category, rows in table[marked].groupby("category", sort=True, observed=True).indices.items():
        own = np.flatnonzero(marked)[rows]
        sums[str(category)] = sums_of(Spans(text.code[own], judge.code[own], start[own], end[own]), texts)
        numbers[str(category)] = own.size
    cells = []
    for category, several in {"": list(sums), **{c: [c] for c in sums}}.items():
        n_marks = sum(numbers[c] for c in several)
        row = {"category": category, "term": "alpha", "n": float(length.size), "n_marks": n_marks}
        flag = flags.join(flags.RATED_ONCE.of(single), "" if several else flags.NO_DATA)
        row |= _alpha([sums[c] for c in several], texts, item, interval, plan)
        cells.append({**row, "flag": flags.join(row["flag"], flag)})
    return estimates(cells, ["category"], ["observed_disagreement", "expected_disagreement", "n_marks"])


def _spans(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Rows with a span, refused where it cannot be one."""
    spans = table[table["start"].notna() | table["end"].notna()]
    whole = (spans[["start", "end"]] % 1 == 0).all(axis=1) & (spans["start"] >= 0)
    own = spans.sort_values([*keys, "judge", "category", "start"], kind="stable")
    same = own[[*keys, "judge", "category"]].eq(own[[*keys, "judge", "category"]].shift()).all(axis=1)
    overlap = (same & (own["start"] < own["end"].shift())).reindex(spans.index)
    for wrong, what, remedy in (
        (~whole, "has no start and end in whole numbers from 0", "Correct them."),
        (spans["start"] >= spans["end"], "is empty", "Its end is behind its last place; no mark has neither."),
        (overlap, "overlaps another of the same judge and category", "Make one mark of the two."),
    ):
        if wrong.any():
            rows = data_rows(list(map(int, spans.index[wrong])))
            raise SchemaError(f"A marked span {what} in {int(wrong.sum()):,} rows ({rows}). {remedy}")
    lengths = table.groupby(keys, dropna=False)["length"].nunique()
    if (lengths != 1).any():
        text = ", ".join(map(str, np.atleast_1d(np.asarray(lengths.index[lengths != 1][0], dtype=object))))
        number = int(lengths[lengths != 1].iloc[0])
        raise SchemaError(f"Text {text} has {number} lengths. A text has one, in the column length.")
    return spans


def _read_twice(table: pd.DataFrame, keys: list[str]) -> tuple[pd.DataFrame, int]:
    """Rows of texts that two judges or more have read, and how many other texts there are."""
    judges = table.groupby(keys, dropna=False)["judge"]
    several = judges.transform("nunique") > 1
    return table[several], int((judges.nunique() < 2).sum())


#: Texts below which t of their bootstrap is too narrow, too.
_FEW = 15


def _alpha(sums: list[Sums], texts: MarkedTexts, item: Codes, interval: str | None, plan: Bootstrap) -> Record:
    """Alpha of categories whose disagreements are added up, with its interval."""

    def parts(weight: Floats) -> tuple[Floats, Floats]:
        each = [disagreements(own, texts, weight) for own in sums]
        none = np.zeros(len(weight))
        return sum((o for o, _ in each), none), sum((e for _, e in each), none)

    def values(weight: Floats) -> Floats:
        observed, expected = parts(weight)
        return np.where(expected > 0, 1 - observed / np.where(expected > 0, expected, 1.0), np.nan)

    one = np.ones((1, texts.length.size))
    (observed,), (expected,) = parts(one)
    value = float(values(one)[0])
    cells: Record = {"estimate": value, "observed_disagreement": observed, "expected_disagreement": expected}
    if math.isnan(value) or interval is None:
        return {**cells, "flag": flags.NO_SPREAD if math.isnan(value) else ""}
    sizes = np.bincount(item.code, minlength=item.size).astype(np.float64)
    few = flags.few_clusters(sizes, resampled=plan.method != "t" or sizes.size < _FEW)
    if item.size < 2:
        return {**cells, "method": plan.way, "flag": few}
    times = times_drawn(generator(plan.seed, ("unitised",)), item.size, plan.n_resamples)
    draws = values(times[:, item.code])
    undefined = flags.UNDEFINED.of(int(np.isnan(draws).sum()), what="resample(s)")
    limits = read_off(value, draws, effective_clusters(sizes), plan, (-math.inf, 1.0))
    return {**cells, **limits, "flag": flags.join(few, undefined, limits["flag"])}
