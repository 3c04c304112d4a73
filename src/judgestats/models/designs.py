"""Formula and table -> arrays: :func:`design`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.errors import DesignError, choose, suggestion
from judgestats.models.coding.column_rank import finite, independent
from judgestats.models.coding.factor_levels import coded_levels, level_names
from judgestats.models.coding.model_frames import DistinctRows, columns, distinct
from judgestats.models.coding.responses import Response, prior_weights
from judgestats.models.coding.row_counts import count_column, refuse_fractions
from judgestats.models.families import FAMILIES
from judgestats.models.formula import Coder, Formula, RandomPart, coder, parse
from judgestats.schema.columns import N
from judgestats.typing import Floats, Ints


@dataclass(frozen=True)
class FixedPart:
    """The fixed effects, coded."""

    coder: Coder  # codes `X` on new rows
    X: Floats  # (N, p): of full rank; a cumulative model has no intercept, its thresholds are that
    offset: Floats  # (N,)
    aliased: tuple[str, ...] = ()  # columns left out of `X` because they are combinations of those before them


@dataclass(frozen=True)
class RandomTerm:
    """A random term, coded."""

    factor: str  # its grouping factor: ``item``, ``item:system``
    coder: Coder  # codes its values on new rows
    values: Floats  # (N, k): what the random effects are multiplied with
    codes: Ints  # (N,): level of each row, 0 to q - 1
    levels: tuple[str, ...]  # the q levels that occur, sorted; ``a:b`` for an interaction
    columns: tuple[str, ...]  # the columns of the factor
    predictors: tuple[str, ...] = ("",)  # linear predictors that it has effects in: those of the classes ``unsafe: ``

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Its effects: ``Intercept``, ``x``; of a nominal model ``unsafe: Intercept``, the k columns class by class."""
        return tuple(p + name for p in self.predictors for name in self.coder.names)


@dataclass(frozen=True)
class Design:
    """A model's data as arrays, one row for each of the N distinct rows of the table."""

    formula: Formula
    rows: DistinctRows = field(repr=False)  # the distinct rows of the columns that it names, with their counts
    response: Response = field(repr=False)
    fixed: FixedPart = field(repr=False)
    terms: tuple[RandomTerm, ...] = field(repr=False)  # the random terms
    weights: Floats = field(repr=False)  # (N,): prior weights; 1 without them

    @property
    def frame(self) -> pd.DataFrame:
        """The distinct rows."""
        return self.rows.frame

    @cached_property
    def count(self) -> Floats:
        """(N,) number of rows of data that each row represents."""
        return self.rows.count

    @cached_property
    def y(self) -> Floats:
        """(N,) response: successes, counts, values, or codes 0 to J - 1 of the categories."""
        return self.response.y

    @cached_property
    def trials(self) -> Floats:
        """(N,) trials behind each `y` of a binomial model; 1 unless ``cbind``."""
        return self.response.trials

    @cached_property
    def categories(self) -> tuple[str, ...]:
        """The J categories of a cumulative or nominal model, else empty."""
        return self.response.categories

    @cached_property
    def X(self) -> Floats:
        """(N, p) fixed effects."""
        return self.fixed.X

    @property
    def names(self) -> tuple[str, ...]:
        """The p columns of `X`."""
        return self.fixed.coder.names

    @cached_property
    def offset(self) -> Floats:
        """(N,) offset of the linear predictor."""
        return self.fixed.offset

    @property
    def coders(self) -> tuple[Coder, ...]:
        """Coders of the fixed effects and of each random term."""
        return (self.fixed.coder, *(term.coder for term in self.terms))

    @cached_property
    def n(self) -> float:
        """Rows of data behind the design."""
        return float(self.count.sum())

    def new(
        self, frame: pd.DataFrame, allow_new_levels: bool = True
    ) -> tuple[Floats, Floats, list[Floats], list[Ints]]:
        """Code M new rows in the same way; a missing value is NaN in X, and -1 among codes, as a new level is."""
        X, *zs = (coder.matrix(frame) for coder in self.coders)
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
        return X, self.fixed.coder.offset(frame), zs, codes


def taken(
    design: Design, rows: Ints, *, y: Floats | None = None, trials: Floats | None = None, count: Floats | None = None
) -> Design:
    """Some rows of a design, (M,) in any order and number, where given with another response, trials or counts (M,)."""
    source, response, fixed = design.rows, design.response, design.fixed
    frame, count = source.frame.iloc[rows].reset_index(drop=True), source.count[rows] if count is None else count
    y, trials = response.y[rows] if y is None else y, response.trials[rows] if trials is None else trials
    return Design(
        design.formula,
        replace(source, frame=frame, count=count),
        replace(response, y=y, trials=trials),
        replace(fixed, X=fixed.X[rows], offset=fixed.offset[rows]),
        tuple(replace(t, values=t.values[rows], codes=t.codes[rows]) for t in design.terms),
        design.weights[rows],
    )


def design(
    formula: str,
    data: IntoFrame,
    *,
    family: str,
    weights: str | None = None,
    categories: Sequence[object] | None = None,
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
    _refuse_empty(parsed, rows)
    refuse_fractions(parsed, rows.frame, rows.count, counted, halves=own.categorical, by_side=own.has_trials)
    answer = own.response(parsed, rows.frame, categories)
    return _coded(parsed, rows, answer, family, weights)


def _coded(parsed: Formula, rows: DistinctRows, answer: Response, family: str, weights: str | None) -> Design:
    tried = answer.trials > 0
    if not tried.all():
        note = flags.EXCLUDED.of(rows.count[~tried].sum(), what="row(s) without trials")
        rows = replace(rows, frame=rows.frame[tried].reset_index(drop=True), count=rows.count[tried])
        notes = (*answer.notes, note) if note else answer.notes
        answer = replace(answer, y=answer.y[tried], trials=answer.trials[tried], notes=notes)
        _refuse_empty(parsed, rows)
    fixed = _fixed_part(parsed, rows, family)
    predictors = FAMILIES[family].predictors(answer.categories)
    terms = tuple(replace(_term(part, parsed, rows), predictors=predictors) for part in parsed.random)
    if FAMILIES[family].linear:
        _refuse_saturated(terms, float(rows.count.sum()))
    return Design(parsed, rows, answer, fixed, terms, prior_weights(rows.frame, weights))


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


def _refuse_empty(parsed: Formula, rows: DistinctRows) -> None:
    if not len(rows.frame):
        raise DesignError(
            f"No row is left for {parsed.source!r}: {rows.n_rows:,} in the table, {rows.n_missing:,} excluded for a "
            f"missing value in {', '.join(parsed.variables)}."
        )


def _fixed_part(parsed: Formula, rows: DistinctRows, family: str) -> FixedPart:
    """Code the fixed part, of full rank."""
    if FAMILIES[family].ordered and parsed.fixed.startswith("0"):
        raise DesignError(
            f"The thresholds of a cumulative model are its intercept, and {parsed.source!r} removes it. Leave out "
            "'0 +' or '- 1'."
        )
    coded, X = _coded_part(parsed.fixed, parsed, rows)
    keep = independent(X)
    aliased = tuple(name for k, name in enumerate(coded.names) if k not in set(keep))
    if FAMILIES[family].ordered:
        keep = [k for k in keep if coded.names[k] != "Intercept"]
    if len(keep) < len(coded.names):
        coded, X = coded.restricted(keep), np.ascontiguousarray(X[:, keep])
    offset = finite(coded.offset(rows.frame), "the offset")
    if FAMILIES[family].per_class and (offset != 0).any():
        raise DesignError("A nominal model has a linear predictor of each class, and no offset. Leave it out.")
    return FixedPart(coded, X, offset, aliased)


def _coded_part(expression: str, parsed: Formula, rows: DistinctRows) -> tuple[Coder, Floats]:
    """Coder and finite columns of one side of a term, or of the fixed part."""
    coded = coder(expression, rows.frame, parsed.source, rows.count)
    _refuse_one_level(coded, parsed)
    X = coded.matrix(rows.frame)
    for k in np.flatnonzero(~np.isfinite(X).all(axis=0)):
        finite(X[:, k], repr(coded.names[k]))
    return coded, X


def _refuse_one_level(coded: Coder, parsed: Formula) -> None:
    for name, levels in coded.factors.items():
        if len(levels) < 2:
            raise DesignError(
                f"{name!r} is always {levels[0]!r} in the rows that {parsed.source!r} uses: a factor needs two levels. "
                "Leave it out."
            )


def _term(part: RandomPart, parsed: Formula, rows: DistinctRows) -> RandomTerm:
    coded, values = _coded_part(part.expression, parsed, rows)
    codes, levels = coded_levels(rows.frame, part.columns)
    if len(levels) < 2:
        raise DesignError(
            f"{part.factor!r} is always {levels[0]!r}: a random effect needs two levels or more. Leave {part} out of "
            f"{parsed.source!r}."
        )
    return RandomTerm(part.factor, coded, values, codes, levels, part.columns)


def _refuse_saturated(terms: Sequence[RandomTerm], n: float) -> None:
    for term in terms:
        effects = len(term.levels) * len(term.names)
        if effects >= n:
            raise DesignError(
                f"({' + '.join(term.names)}|{term.factor}) has {effects:,} random effects for {n:,.0f} rows: they and "
                "the residuals cannot be distinguished. Leave it out, or take a factor with fewer levels."
            )
