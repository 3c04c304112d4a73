"""The left side of a formula as numbers, family by family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats import flags
from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.models.coding.factor_levels import label, labels
from judgestats.models.coding.row_counts import first_row
from judgestats.models.grammar.expression_values import evaluate
from judgestats.models.grammar.syntax import Formula
from judgestats.schema.class_labels import alike
from judgestats.typing import Column, Floats, Mask

#: Orders that need no ``categories=``.
ORDERS = (("loses", "tie", "wins"), ("second", "tie", "first"))
#: More numbers than this are no categories.
MOST_CATEGORIES = 100


@dataclass(frozen=True)
class Response:
    """A response as numbers."""

    y: Floats  # (N,): successes; counts; values; or codes of the categories
    trials: Floats  # (N,): trials of each row, 1 where there is no ``cbind``
    categories: tuple[str, ...] = ()  # the categories that occur, in order; of a nominal model the baseline first
    labels: tuple[str, ...] = ()  # meaning of 0 and 1 in a binomial model
    notes: tuple[str, ...] = ()  # what was left out


def refuse_share(formula: Formula, weights: str, *, has_trials: bool) -> None:
    """Refuse trials given as weights, ``k / size`` with ``size``, with the response as ``cbind`` has it."""
    share, left = _as_cbind(formula), formula.left
    if left.kind == "call" and left.value == "cbind" and weights in formula.answers:
        raise DesignError(f"{formula.response!r} counts its trials already. Leave weights={weights!r} out.")
    if share and has_trials:
        raise DesignError(
            f"{formula.response!r} is a share, and weights={weights!r} its number of trials? Write {share} ~ ... and "
            "leave weights= out."
        )


def _as_cbind(formula: Formula) -> str:
    """Return a quotient k / size as ``cbind(k, size - k)``; an empty string for another response."""
    node = formula.left
    while node.kind == "group" or (node.kind == "call" and node.value == "I"):
        node = node.parts[0]
    if node.kind != "binary" or node.value != "/":
        return ""
    k, size = (" ".join(formula.source[p.start : p.end].split()) for p in node.parts)
    return f"cbind({k}, {size} - {k})"


def computed(formula: Formula, frame: pd.DataFrame) -> Column:
    """Values of an expression on the left side, finite."""
    try:
        with np.errstate(all="ignore"):
            values = np.asarray(evaluate(formula.left, frame))
    except (TypeError, ValueError) as error:
        what = f"{formula.response!r} cannot be computed: {error}."
        raise formula.fault(formula.answers[0], what, "Its columns must hold numbers.") from error
    if values.shape != (len(frame),):
        raise formula.fault(formula.answers[0], f"{formula.response!r} is not one value in each row.", "Name a column.")
    series = pd.Series(values)
    if series.dtype.kind == "f" and not np.isfinite(values).all():
        wrong = int((~np.isfinite(values)).sum())
        raise DesignError(
            f"{formula.response!r} is infinite or undefined in {wrong:,} distinct rows. Exclude them first: a "
            "logarithm, say, asks for positive numbers."
        )
    return series


def numbers(formula: Formula, values: Column, family: str) -> Floats:
    """Numbers of a numeric response."""
    if not pd.api.types.is_numeric_dtype(values):
        examples = ", ".join(repr(label(v)) for v in pd.unique(values.astype(object))[:4])
        raise DesignError(
            f"A {family} response holds numbers, {formula.response!r} holds {examples}. Give a numeric column, or "
            "family='cumulative' for ordered categories."
        )
    return values.to_numpy(dtype=float)  # type: ignore[no-any-return]


def refuse(formula: Formula, wrong: Mask, values: Floats, what: str, family: str) -> None:
    """Refuse values that the family does not allow."""
    if wrong.any():
        examples = ", ".join(label(v) for v in pd.unique(values[wrong])[:4])
        raise DesignError(f"A {family} response holds {what}; {formula.response!r} holds {examples}.")


def chosen(formula: Formula, frame: pd.DataFrame) -> Response:
    """``choice[first]``: one level against the rest."""
    node = formula.left
    names = labels(frame[node.parts[0].value])
    y = (names == node.value).to_numpy(dtype=float)
    levels = sorted(pd.unique(names))
    if not y.any():
        hint = suggestion(node.value, levels)
        column = node.parts[0].value
        raise formula.fault(column, f"{column!r} is never {node.value!r}.", f"Allowed: {', '.join(levels)}.{hint}")
    return Response(y, np.ones(len(y)), labels=(f"not {node.value}", node.value))


def bound(formula: Formula, frame: pd.DataFrame) -> Response:
    """``cbind(successes, failures)``."""
    sides = []
    for part in formula.left.parts:
        try:
            values = np.broadcast_to(np.asarray(evaluate(part, frame), dtype=float), (len(frame),))
        except (TypeError, ValueError) as error:
            raise formula.fault(formula.answers[0], "cbind() takes numbers.", f"{error}.") from error
        wrong = ~(values >= 0) | (values % 1 != 0)
        _refuse_counts(formula, frame, wrong, values)
        sides.append(values)
    return Response(sides[0].copy(), sides[0] + sides[1], labels=("failure", "success"))


def _refuse_counts(formula: Formula, frame: pd.DataFrame, wrong: Mask, values: Floats) -> None:
    if not wrong.any():
        return
    examples = ", ".join(label(v) for v in pd.unique(values[wrong])[:4])
    remedy = "More successes than trials? Correct the row." if (values[wrong] < 0).all() else "Correct the row."
    raise DesignError(
        f"A binomial response holds whole numbers of successes and failures, from 0; {formula.response!r} holds "
        f"{examples}, in {wrong.sum():,} of {len(frame):,} distinct rows (first: {first_row(frame, wrong)}). {remedy}"
    )


def binary(formula: Formula, values: Column) -> Response:
    """0 and 1, booleans, or two values."""
    name = formula.response
    ones = np.ones(len(values))
    if pd.api.types.is_bool_dtype(values):
        return Response(values.to_numpy(dtype=float), ones, labels=("False", "True"))
    if pd.api.types.is_numeric_dtype(values):
        y = values.to_numpy(dtype=float)
        if not np.isin(y, (0, 1)).all():
            share = _as_cbind(formula)
            remedy = (
                "Use cbind(k, n - k) for k successes of n, family='cumulative' for scores, or compare: I(score > 3)."
            )
            raise DesignError(
                f"A binomial response holds 0 and 1; {name!r} holds {_shown(np.unique(y))}. "
                f"{f'Write {share} ~ ...' if share else remedy}"
            )
        return Response(y, ones, labels=("0", "1"))
    levels = _levels(values)
    if len(levels) != 2:
        raise DesignError(
            f"A binomial response has two values; {name!r} has {len(levels)}: {_shown(levels)}. Name the success, "
            f"{name}[{levels[0]}] ~ ..." + (", or take family='cumulative'." if len(levels) > 2 else ".")
        )
    return Response((values.astype(object) == levels[1]).to_numpy(dtype=float), ones, labels=tuple(map(label, levels)))


def _levels(values: Column) -> list[object]:
    """Levels that occur: in the order of an ordered category, sorted otherwise."""
    if isinstance(values.dtype, pd.CategoricalDtype):
        return list(values.cat.remove_unused_categories().cat.categories)
    return sorted(pd.unique(values), key=lambda v: (str(type(v)), v))


def _shown(values: Sequence[object] | NDArray[np.generic]) -> str:
    listed = [label(v) for v in values[:4]]
    return ", ".join(listed) + (", ..." if len(values) > 4 else "")


def ordered(name: str, values: Column, categories: Sequence[object] | None) -> Response:
    """Codes of ordered categories."""
    order = _known_order(name, values, _levels(values)) if categories is None else [label(c) for c in categories]
    return _among(name, values, order, "cumulative")


def classes(name: str, values: Column, categories: Sequence[object] | None) -> Response:
    """Codes of classes without an order; the first of them is the baseline."""
    if categories is None:
        categories = values.cat.categories if isinstance(values.dtype, pd.CategoricalDtype) else _levels(values)
    if seen_as_one := alike(map(label, _levels(values))):
        raise DesignError(
            f"{name!r} has classes that look alike: {', '.join(map(repr, seen_as_one[0]))}. Write each in one way, or "
            "rename one of them."
        )
    return _among(name, values, [label(c) for c in categories], "nominal")


def _among(name: str, values: Column, order: list[str], family: str) -> Response:
    """Codes of the categories that occur."""
    names, seen = labels(values), {label(v) for v in _levels(values)}
    unknown = sorted(seen - set(order))
    if unknown or len(set(order)) < len(order):
        wrong = f"do not hold {', '.join(map(repr, unknown))}" if unknown else "hold a value twice"
        first = "baseline" if family == "nominal" else "lowest"
        raise DesignError(f"categories={tuple(order)} {wrong}, for {name!r}. Name every category once, {first} first.")
    used = tuple(c for c in order if c in seen)
    if len(used) < 2:
        raise DesignError(f"A {family} response has two categories or more; {name!r} is always {used[0]!r}.")
    if len(used) > MOST_CATEGORIES:
        raise DesignError(f"{name!r} has {len(used):,} values, too many for categories. Use family='gaussian'.")
    unused = [c for c in order if c not in seen]
    notes = (flags.EMPTY_CATEGORY.of(what=", ".join(unused)),) if unused else ()
    y = pd.Index(used).get_indexer(names.to_numpy(dtype=object)).astype(float)
    return Response(y, np.ones(len(y)), categories=used, notes=notes)


def _known_order(name: str, values: Column, observed: list[object]) -> list[str]:
    """Order of categories that the data themselves give."""
    if isinstance(values.dtype, pd.CategoricalDtype) and values.cat.ordered:
        return [label(c) for c in values.cat.categories]
    if pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        return [label(v) for v in observed]
    for order in ORDERS:
        if set(observed) <= set(order):
            return [c for c in order if c in set(observed)]
    raise DesignError(
        f"{name!r} holds {_shown(sorted(map(label, observed)))}, which have no order of their own. Pass "
        "categories=(lowest, ..., highest), or make the column an ordered category."
    )


def prior_weights(frame: pd.DataFrame, name: str | None) -> Floats:
    """(N,) prior weights, 1 where no column is named; a SchemaError where they are not positive."""
    if name is None:
        return np.ones(len(frame))
    if not pd.api.types.is_numeric_dtype(frame[name]):
        raise SchemaError(f"weights={name!r} holds {frame[name].dtype}, not numbers. Weights are positive numbers.")
    values: Floats = frame[name].to_numpy(dtype=float)
    if not (values > 0).all():
        raise SchemaError(
            f"weights={name!r} is not positive in {(values <= 0).sum():,} distinct rows. Weights are positive "
            "numbers: leave rows without weight out."
        )
    return values
