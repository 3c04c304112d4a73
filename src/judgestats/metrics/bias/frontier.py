"""Which configurations are worth their cost: those that no other beats in both cost and value."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.results import flags
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import By, grouping, names

#: Price of a million tokens in, and out.
Price = tuple[float, float]
ESTIMATED = "estimated cost"
NO_COST = "no cost"
NO_VALUE = "no value"
INFINITE = "infinite cost or value"
#: What a configuration is called where its label is missing.
NAMELESS = "(none)"
_TOKENS = ("input_tokens", "output_tokens")


def pareto_front(
    results: Any,
    *,
    cost: str = "cost",
    value: str = "estimate",
    prices: Mapping[str, Price] | None = None,
    label: By = ("judge", "strategy"),
    term: str | None = None,
    by: By = (),
) -> pd.DataFrame:
    """Find the configurations that no other dominates.

    Parameters
    ----------
    results : frame
        One row per configuration: its value, its cost, and the columns that name it.
    cost : str
        Column of the cost, less being better: money, ``latency``, calls.
    value : str
        Column of the value, more being better: accuracy, kappa.
    prices : mapping of str to (float, float), optional
        Price of a million input and of a million output tokens, by judge. The cost is then made from the columns
        ``input_tokens`` and ``output_tokens``, and flagged as estimated. 0 is a price.
    label : str or sequence of str
        Columns that name a configuration, those of them that there are.
    term : str, optional
        Of estimates with several terms, the one that is compared.
    by : str or sequence of str
        A front of its own for each combination of these columns.

    Returns
    -------
    pandas.DataFrame
        The `by` columns and the labels, ``cost``, ``value``, ``on_front``, ``dominated_by`` (of the configurations on
        the front that dominate it, the one with most value; empty on the front) and ``flag``, sorted. A configuration
        without cost or value, or with an infinite one, is set aside: not on the front, flagged, and dominating nobody.

    Raises
    ------
    SchemaError
        If a column is missing or holds text for a number, or a cost is negative.
    DesignError
        If there are several terms and none is chosen, or a price is not two numbers.

    Notes
    -----
    Debiasing paper, Appendix H. One configuration dominates another if its cost is no higher and its value no lower,
    and one of the two differs. Two that are equal in both do not dominate each other, and both stay.

    Examples
    --------
    >>> points = pd.DataFrame({"judge": ["Flash", "Claude", "Llama"], "strategy": "S8",
    ...                        "cost": [0.001, 0.015, 0.0], "estimate": [0.71, 0.695, 0.695]})
    >>> pareto_front(points)[["judge", "cost", "value", "on_front", "dominated_by"]]
        judge   cost  value  on_front dominated_by
    0  Claude  0.015  0.695     False   Flash / S8
    1   Flash  0.001  0.710      True
    2   Llama  0.000  0.695      True
    """
    table = nw.from_native(results).lazy().collect(backend="pandas").to_native().reset_index(drop=True)
    table = _of_term(table, term)
    groups = grouping(by, table.columns)
    labels = [c for c in names(label) if c in table.columns and c not in groups]
    if not labels:
        raise SchemaError(
            f"None of label= ({', '.join(names(label))}) is a column. Columns: {', '.join(table.columns)}."
        )
    paid = costs(table, prices) if prices is not None else _number(table, cost, "cost")
    if (paid < 0).any():
        raise SchemaError(f"A cost is negative: {np.nanmin(paid):g}. Costs are 0 or more.")
    worth = _number(table, value, "value")
    name = _joined(table, labels)
    doubt = [
        flags(
            NO_COST if np.isnan(x) else ESTIMATED if prices is not None else "",
            NO_VALUE if np.isnan(v) else "",
            INFINITE if np.isinf(x) or np.isinf(v) else "",
        )
        for x, v in zip(paid, worth, strict=True)
    ]
    result = table[[*groups, *labels]].assign(cost=paid, value=worth, on_front=False, dominated_by="", flag=doubt)
    order = np.lexsort([name, paid, -worth])  # by value, then cost, then name
    code = codes_of(table, groups).code
    for g in np.unique(code):
        here = order[(code[order] == g) & np.isfinite(paid[order]) & np.isfinite(worth[order])]
        on, better = _front(paid[here], worth[here])
        result.loc[here, "on_front"] = on
        result.loc[here, "dominated_by"] = np.where(on, "", name[here][better])
    return result.sort_values([*groups, *labels, "cost", "value"], kind="stable", ignore_index=True)


def costs(table: pd.DataFrame, prices: Mapping[str, Price]) -> NDArray[np.float64]:
    """Cost of each row by its tokens.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns ``judge``, ``input_tokens`` and ``output_tokens``.
    prices : mapping of str to (float, float)
        Price of a million tokens in and out, by judge.

    Returns
    -------
    (N,) float array
        NaN for a judge without a price.

    Raises
    ------
    SchemaError
        If a column is missing, or holds text for a number.
    DesignError
        If a price is not two numbers.

    Examples
    --------
    >>> costs(pd.DataFrame({"judge": ["g"], "input_tokens": [2e6], "output_tokens": [1e5]}), {"g": (0.5, 2.0)})
    array([1.2])
    """
    if "judge" not in table.columns:
        raise SchemaError(f"prices= goes by judge, and there is no such column. Columns: {', '.join(table.columns)}.")
    _refuse_prices(prices)
    tokens = [_number(table, c, "tokens") for c in _TOKENS]
    unknown = (float("nan"), float("nan"))
    price = [np.array([prices.get(j, unknown)[side] for j in table["judge"]], dtype=float) for side in (0, 1)]
    result: NDArray[np.float64] = (tokens[0] * price[0] + tokens[1] * price[1]) / 1e6
    return result


def _refuse_prices(prices: Any) -> None:
    if not isinstance(prices, Mapping):
        raise DesignError(f"prices={prices!r} is no mapping. Give {{judge: (price in, price out)}}.")
    for judge, price in prices.items():
        pair = isinstance(price, tuple | list) and len(price) == 2
        if not (pair and all(isinstance(p, Real) and float(p) >= 0 for p in price)):
            raise DesignError(
                f"prices= has {price!r} for {judge!r}. Allowed: two numbers from 0, the price of a million tokens in "
                "and out. Leave a judge without prices out."
            )


def _joined(table: pd.DataFrame, labels: list[str]) -> NDArray[Any]:
    parts = table[labels].astype(object)
    parts = parts.where(parts.notna(), NAMELESS)
    return np.array([" / ".join(map(str, row)) for row in parts.itertuples(index=False)], dtype=object)


def _front(paid: NDArray[np.float64], worth: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """Of points by falling value, then rising cost: whether none dominates it, and the best of those that do."""
    on = np.zeros(paid.size, dtype=bool)
    better = np.zeros(paid.size, dtype=np.intp)
    front: list[int] = []  # by falling value, hence falling cost; equals once
    for i in range(paid.size):
        last = front[-1] if front else None
        if last is None or paid[i] < paid[last]:
            on[i] = True
            front.append(i)
        elif paid[i] == paid[last] and worth[i] == worth[last]:
            on[i] = True
        else:
            better[i] = next(f for f in front if paid[f] <= paid[i])
    return on, better


def _of_term(table: pd.DataFrame, term: str | None) -> pd.DataFrame:
    if "term" not in table.columns:
        return table
    found = sorted(table["term"].astype(str).unique())
    if term is None and len(found) > 1:
        raise DesignError(f"The results have several terms ({', '.join(found)}). Choose one with term=.")
    if term is not None and term not in found:
        raise DesignError(f"term={term!r} is not in the results: {', '.join(found)}.{suggestion(term, found)}")
    return table if term is None else table[table["term"] == term].reset_index(drop=True)


def _number(table: pd.DataFrame, column: str, what: str) -> NDArray[np.float64]:
    if column not in table.columns:
        hint = " Or give prices= for input_tokens and output_tokens." if what == "cost" else ""
        raise SchemaError(
            f"There is no column {column!r} for the {what}. Columns: {', '.join(table.columns)}."
            f"{suggestion(column, table.columns)}{hint}"
        )
    values = pd.to_numeric(table[column], errors="coerce")
    if (text := values.isna() & table[column].notna()).any():
        raise SchemaError(
            f"{column!r} holds text where the {what} belongs: {table.loc[text, column].iloc[0]!r} in {text.sum():,} "
            "rows. Give numbers, and an empty cell for none."
        )
    numbers: NDArray[np.float64] = values.to_numpy(dtype=float, na_value=np.nan)
    return numbers
