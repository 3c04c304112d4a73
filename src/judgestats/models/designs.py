"""Formula and table -> arrays: :func:`design`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray

from judgestats import flags
from judgestats.errors import DesignError, choose, suggestion
from judgestats.models.coding.column_rank import finite, independent
from judgestats.models.coding.factor_levels import coded_levels, level_names
from judgestats.models.coding.model_frames import Rows, columns, distinct
from judgestats.models.coding.responses import Response, prior_weights
from judgestats.models.coding.row_counts import count_column, refuse_fractions
from judgestats.models.families import FAMILIES
from judgestats.models.formula import Coder, Formula, RandomPart, coder, parse
from judgestats.schema.columns import N
from judgestats.typing import Floats, Ints


@dataclass(frozen=True)
class Term:
    """A random term, coded."""

    factor: str  # its grouping factor: ``item``, ``item:system``
    names: tuple[str, ...]  # its k columns: ``Intercept``, ``x``
    values: Floats  # (N, k): what the random effects are multiplied with
    codes: Ints  # (N,): level of each row, 0 to q - 1
    levels: tuple[str, ...]  # the q levels that occur, sorted; ``a:b`` for an interaction
    columns: tuple[str, ...]  # the columns of the factor


@dataclass(frozen=True)
class Design:
    """A model's data as arrays, one row for each distinct row of the table."""

    formula: Formula  # the parsed formula
    frame: pd.DataFrame = field(repr=False)  # the N distinct rows of the columns that it names
    y: Floats = field(repr=False)  # (N,): response: successes, counts, values, or codes 0 to J - 1 of the categories
    trials: Floats = field(repr=False)  # (N,): trials behind each `y` of a binomial model; 1 unless ``cbind``
    categories: tuple[str, ...]  # the J categories of a cumulative model, else empty
    # (N, p): fixed effects, of full rank; a cumulative model has no intercept, its thresholds are that
    X: Floats = field(repr=False)
    names: tuple[str, ...]  # the p columns of `X`
    offset: Floats = field(repr=False)  # (N,)
    terms: tuple[Term, ...] = field(repr=False)  # the random terms
    count: Floats = field(repr=False)  # (N,): number of rows of data that each row represents
    weights: Floats = field(repr=False)  # (N,): prior weights; 1 without them
    n_missing: int  # rows of data excluded for a missing value; a row of a tally counts with its n
    n_rows: int  # rows of the table as it was given
    n_zero: int  # those of them with a count of zero
    counted: str | None  # the column of declared counts
    fixed: Coder = field(repr=False)  # codes `X` on new rows
    lefts: tuple[Coder, ...] = field(repr=False)  # one per term, codes its values on new rows
    labels: tuple[str, ...] = ()  # meaning of 0 and 1 in a binomial model
    aliased: tuple[str, ...] = ()  # columns left out of `X` because they are combinations of those before them
    notes: tuple[str, ...] = ()  # remarks for check()

    @property
    def n(self) -> float:
        """Rows of data behind the design."""
        return float(self.count.sum())

    def new(
        self, frame: pd.DataFrame, allow_new_levels: bool = True
    ) -> tuple[Floats, Floats, list[Floats], list[Ints]]:
        """Code M new rows in the same way: X, NaN in a row with a missing value, offset, values and codes of each term.

        A code is -1 for a level that is missing, or new where `allow_new_levels`.
        """
        X, offset = self.fixed.matrix(frame), self.fixed.offset(frame)
        zs = [left.matrix(frame) for left in self.lefts]
        codes = []
        for term in self.terms:
            names = level_names(frame, term.columns, self.formula)
            code = pd.Index(term.levels).get_indexer(names).astype(np.int64)
            if not allow_new_levels and (code < 0).any():
                new = names[code < 0][0]
                raise DesignError(
                    f"{term.factor!r} has {new!r}, which was not there when the model was fitted. Pass "
                    f"allow_new_levels=True.{suggestion(str(new), term.levels)}"
                )
            codes.append(code)
        return X, offset, zs, codes


def taken(design: Design, rows: NDArray[Any], **changes: Any) -> Design:
    """Some rows of a design, (M,) in any order and number, with fields that differ."""
    terms = tuple(replace(t, values=t.values[rows], codes=t.codes[rows]) for t in design.terms)
    arrays = {name: getattr(design, name)[rows] for name in ("y", "trials", "X", "offset", "count", "weights")}
    own = {**arrays, "terms": terms, "frame": design.frame.iloc[rows].reset_index(drop=True), **changes}
    return replace(design, **own)


def design(
    formula: str,
    data: IntoFrame,
    *,
    family: str,
    weights: str | None = None,
    categories: Sequence[Any] | None = None,
    also: Sequence[str] = (),
    counts: str | Literal[False] | None = None,
) -> Design:
    """Code a table for a model, distinct rows first: cost follows their number, not that of the calls.

    Transforms of all rows (``center``, ``scale``, ``poly``, ``bs``) see every row as often as it is counted. A binomial
    response is 0 and 1, booleans, two values (the second one, sorted or by the order of the category, is the success),
    or ``cbind``; a cumulative one numbers, an ordered category, or text with `categories`, lowest first. `weights`
    names prior weights, never a count. `also`: further columns that distinguish rows: of clusters, or of sets of
    thresholds. Rows with a missing value in a column that is used are excluded and counted, as are invalid calls where
    the response is ``choice``.

    >>> calls = pd.DataFrame({"correct": [1, 0, 1, 1], "strategy": ["B0", "B0", "S8", "S8"], "item": [1, 2, 1, 1]})
    >>> coded = design("correct ~ strategy + (1|item)", calls, family="binomial")
    >>> coded.names, coded.count, coded.terms[0].levels
    (('Intercept', 'strategy[S8]'), array([1., 1., 2.]), ('1', '2'))
    """
    parsed = parse(formula)
    own = FAMILIES[choose(family, FAMILIES, "family")]
    present = columns(data)
    _refuse_unknown(parsed, present, weights)
    keys = [c for c in dict.fromkeys(also) if c not in parsed.variables]
    for name in keys:
        if name not in present:
            raise DesignError(f"{name!r} is no column. Columns: {', '.join(present)}.{suggestion(name, present)}")
    counted = count_column(data, counts, parsed, [*keys, *([weights] if weights else [])])
    as_missing = {"choice": "invalid"} if "choice" in parsed.answers else {}
    rows = distinct(data, [*parsed.variables, *keys, *([weights] if weights else [])], counted, as_missing)
    _refuse_empty(parsed, rows, rows.frame)
    refuse_fractions(parsed, rows.frame, rows.count, counted, halves=own.categorical, by_side=own.has_trials)
    answer = own.response(parsed, rows.frame, categories)
    return _coded(parsed, rows, answer, family, weights, counted)


def _coded(
    parsed: Formula, rows: Rows, answer: Response, family: str, weights: str | None, counted: str | None
) -> Design:
    frame, count, kept = rows.frame, rows.count, answer.trials > 0
    if not kept.all():
        frame, count = frame[kept].reset_index(drop=True), count[kept]
        _refuse_empty(parsed, rows, frame)
    without = flags.EXCLUDED.of(rows.count[~kept].sum(), what="row(s) without trials")
    notes = (*answer.notes, without) if without else answer.notes
    fixed, X, aliased = _fixed(parsed, frame, count, family)
    lefts = [_left(part, parsed, frame, count) for part in parsed.random]
    terms = tuple(_term(p, parsed, frame, *left) for p, left in zip(parsed.random, lefts, strict=True))
    if FAMILIES[family].linear:
        _refuse_saturated(terms, float(count.sum()))
    return Design(
        formula=parsed, frame=frame, y=answer.y[kept], trials=answer.trials[kept], categories=answer.categories,
        X=X, names=fixed.names, offset=finite(fixed.offset(frame), "the offset"), terms=terms,
        count=count, weights=prior_weights(frame, weights), counted=counted, n_missing=rows.n_missing,
        n_rows=rows.n_rows, n_zero=rows.n_zero,
        fixed=fixed, lefts=tuple(left for left, _ in lefts), labels=answer.labels, aliased=aliased, notes=notes,
    )  # fmt: skip


def _refuse_unknown(parsed: Formula, present: list[str], weights: str | None) -> None:
    for name in parsed.variables:
        if name not in present:
            todo = f"Columns: {', '.join(present)}.{suggestion(name, present)}"
            raise parsed.fault(name, f"There is no column {name!r}.", todo)
    if weights is None:
        return
    if weights not in present:
        raise DesignError(
            f"weights={weights!r} is no column. Columns: {', '.join(present)}.{suggestion(weights, present)}"
        )
    if weights == N:
        raise DesignError(
            "weights='n': counts of identical rows are declared, counts=\"n\". If it holds prior weights, give it "
            "another name."
        )
    if weights in parsed.variables:
        raise DesignError(f"weights={weights!r} is in the formula too. Copy it to a column of its own.")


def _refuse_empty(parsed: Formula, rows: Rows, frame: pd.DataFrame) -> None:
    if not len(frame):
        raise DesignError(
            f"No row is left for {parsed.source!r}: {rows.n_rows:,} in the table, {rows.n_missing:,} excluded for a "
            f"missing value in {', '.join(parsed.variables)}."
        )


def _fixed(parsed: Formula, frame: pd.DataFrame, count: Floats, family: str) -> tuple[Coder, Floats, tuple[str, ...]]:
    """Code the fixed part, of full rank: coder, matrix, and the columns that were left out for that."""
    if FAMILIES[family].ordered and parsed.fixed.startswith("0"):
        raise DesignError(
            f"The thresholds of a cumulative model are its intercept, and {parsed.source!r} removes it. Leave out "
            "'0 +' or '- 1'."
        )
    coded = coder(parsed.fixed, frame, parsed.source, count)
    _refuse_one_level(coded, parsed)
    X = _finite_columns(coded, frame)
    keep = independent(X)
    aliased = tuple(name for k, name in enumerate(coded.names) if k not in set(keep))
    if FAMILIES[family].ordered:
        keep = [k for k in keep if coded.names[k] != "Intercept"]
    if len(keep) == len(coded.names):
        return coded, X, aliased
    return coded.restricted(keep), np.ascontiguousarray(X[:, keep]), aliased


def _left(part: RandomPart, parsed: Formula, frame: pd.DataFrame, count: Floats) -> tuple[Coder, Floats]:
    coded = coder(part.expression, frame, parsed.source, count)
    _refuse_one_level(coded, parsed)
    return coded, _finite_columns(coded, frame)


def _refuse_one_level(coded: Coder, parsed: Formula) -> None:
    for name, levels in coded.factors.items():
        if len(levels) < 2:
            raise DesignError(
                f"{name!r} is always {levels[0]!r} in the rows that {parsed.source!r} uses: a factor needs two levels. "
                "Leave it out."
            )


def _finite_columns(coded: Coder, frame: pd.DataFrame) -> Floats:
    X = coded.matrix(frame)
    for k in np.flatnonzero(~np.isfinite(X).all(axis=0)):
        finite(X[:, k], repr(coded.names[k]))
    return X


def _term(part: RandomPart, parsed: Formula, frame: pd.DataFrame, left: Coder, values: Floats) -> Term:
    codes, levels = coded_levels(frame, part.columns)
    if len(levels) < 2:
        raise DesignError(
            f"{part.factor!r} is always {levels[0]!r}: a random effect needs two levels or more. Leave {part} out of "
            f"{parsed.source!r}."
        )
    return Term(part.factor, left.names, values, codes, levels, part.columns)


def _refuse_saturated(terms: Sequence[Term], n: float) -> None:
    for term in terms:
        effects = len(term.levels) * len(term.names)
        if effects >= n:
            raise DesignError(
                f"({' + '.join(term.names)}|{term.factor}) has {effects:,} random effects for {n:,.0f} rows: they and "
                "the residuals cannot be distinguished. Leave it out, or take a factor with fewer levels."
            )
