"""What an evaluation costs, and what no other dominates: :func:`evaluation_cost`, :func:`pareto_front`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray

from judgestats import flags, methods
from judgestats.arguments import checked_arguments
from judgestats.counting.counts import size_flag
from judgestats.counting.selection import gathered
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.estimate import AT_LEAST_0, student
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.results import estimates
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import COUNTS, By, grouping, names
from judgestats.schema.declared_counts import call_counts
from judgestats.schema.factors import Factors
from judgestats.schema.opening import engine_errors, narwhals_frame
from judgestats.typing import Floats, Mask, Record

#: Price of a million tokens in, and out.
Price = tuple[float, float]


#: Name of a configuration without a label.
NAMELESS = "(none)"


_TOKENS = ("input_tokens", "output_tokens")


@checked_arguments
@engine_errors
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
        Column of the cost (money, ``latency``, calls); lower is better.
    value : str
        Column of the value (accuracy, kappa); higher is better.
    prices : mapping of str to (float, float), optional
        Price of a million input and of a million output tokens, by judge. The cost is then made from the columns
        ``input_tokens`` and ``output_tokens``, and flagged as estimated. 0 is a price.
    label : str or sequence of str
        Columns that identify a configuration; those not in the table are ignored.
    term : str, optional
        The term to compare, of estimates with several.
    by : str or sequence of str
        Further grouping columns. Each group has a front of its own.

    Returns
    -------
    pandas.DataFrame
        The `by` columns and the labels, ``cost``, ``value``, ``on_front``, ``dominated_by`` (the configuration
        with the highest value among those on the front that dominate it; empty on the front) and ``flag``, sorted. A
        configuration whose cost or value is missing or infinite is excluded: not on the front, flagged, and not
        compared. Where the value is ``estimate``, its ``conf_low`` and ``conf_high`` are kept, at the end; the front
        takes no account of them.

    Raises
    ------
    SchemaError
        If a column is missing or contains text for a number, or a cost is negative.
    DesignError
        If there are several terms and none is chosen, or a price is not two numbers.

    See Also
    --------
    evaluation_cost : Mean cost of an evaluation.
    recommend : Strategy that a comparison supports.

    Notes
    -----
    Debiasing paper, Appendix H. One configuration dominates another if its cost is no higher and its value no lower,
    and one of the two differs. Configurations equal in both do not dominate each other.

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
    table = narwhals_frame(results).lazy().collect(backend="pandas").to_native().reset_index(drop=True)
    table = _of_term(table, term)
    groups = grouping(by, table.columns)
    labels = [c for c in names(label) if c in table.columns and c not in groups]
    if not labels:
        raise SchemaError(
            f"No column of label= ({', '.join(names(label))}) is in the table. Columns: {', '.join(table.columns)}."
        )
    paid = costs(table, prices) if prices is not None else _number(table, cost, "cost")
    if (paid < 0).any():
        raise SchemaError(f"A cost is negative: {np.nanmin(paid):g}. Costs are 0 or more.")
    values = _number(table, value, "value")
    parts = table[labels].astype(object)
    parts = parts.where(parts.notna(), NAMELESS)
    name = np.array([" / ".join(map(str, row)) for row in parts.itertuples(index=False)], dtype=object)
    cautions = [
        flags.join(
            flags.NO_COST if np.isnan(x) else flags.ESTIMATED_COST if prices is not None else "",
            flags.NO_VALUE if np.isnan(v) else "",
            flags.INFINITE if np.isinf(x) or np.isinf(v) else "",
        )
        for x, v in zip(paid, values, strict=True)
    ]
    result = table[[*groups, *labels]].assign(cost=paid, value=values, on_front=False, dominated_by="", flag=cautions)
    if value == "estimate" and {"conf_low", "conf_high"} <= {*table.columns}:
        result = result.assign(**{c: table[c].to_numpy(float) for c in ("conf_low", "conf_high")})
    order = np.lexsort([name, paid, -values])  # by value, then cost, then name
    code = codes_of(table, groups).code
    for g in np.unique(code):
        group_order = order[(code[order] == g) & np.isfinite(paid[order]) & np.isfinite(values[order])]
        on, better = _front(paid[group_order], values[group_order])
        result.loc[group_order, "on_front"] = on
        result.loc[group_order, "dominated_by"] = np.where(on, "", name[group_order][better])
    return result.sort_values([*groups, *labels, "cost", "value"], kind="stable", ignore_index=True)


def costs(table: pd.DataFrame, prices: Mapping[str, Price]) -> Floats:
    """Cost of each row from its columns ``judge``, ``input_tokens`` and ``output_tokens``; NaN without a price.

    >>> costs(pd.DataFrame({"judge": ["g"], "input_tokens": [2e6], "output_tokens": [1e5]}), {"g": (0.5, 2.0)})
    array([1.2])
    """
    if "judge" not in table.columns:
        raise SchemaError(f"prices= needs the column 'judge', which is missing. Columns: {', '.join(table.columns)}.")
    if not isinstance(prices, Mapping):
        raise DesignError(f"prices={prices!r} is not a mapping. Give {{judge: (price in, price out)}}.")
    price_pairs: Mapping[Any, Any] = prices
    for judge, pair in price_pairs.items():
        numbers = isinstance(pair, tuple | list) and len(pair) == 2
        if not (numbers and all(isinstance(p, Real) and float(p) >= 0 for p in pair)):
            raise DesignError(
                f"prices= has {pair!r} for {judge!r}. Allowed: two numbers from 0, the price of a million tokens in "
                "and out. Leave a judge without prices out."
            )
    tokens = [_number(table, c, "tokens") for c in _TOKENS]
    unknown = (float("nan"), float("nan"))
    price = [np.array([prices.get(j, unknown)[side] for j in table["judge"]], dtype=float) for side in (0, 1)]
    result: Floats = (tokens[0] * price[0] + tokens[1] * price[1]) / 1e6
    return result


#: Characters of a token, where a log has texts and no tokens (debiasing paper, Appendix C).
CHARACTERS = 4.0


@Measure(
    "What does the verdict on an item cost?",
    "strategies",
    "P",
    "Student's t over items",
    "debiasing, App C, App H",
    terms=(Term("cost", "cost of an evaluation"),),
    assumes="Tokens are those of the log; where there are none, four characters count as a token.",
)
def evaluation_cost(
    calls: IntoFrame,
    *,
    prices: Mapping[str, Price] | None = None,
    characters: Mapping[str, By] | None = None,
    by: By = (),
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Mean cost of the evaluation of an item: of all calls that a judge was asked about it.

    Parameters
    ----------
    calls : frame
        Preferences or ratings, with a column ``cost``; or, with `prices`, with ``input_tokens`` and ``output_tokens``.
    prices : mapping of str to (float, float), optional
        Price of a million input and of a million output tokens, by judge; 0 is a price.
    characters : mapping, optional
        Where there are no tokens: ``{"input": columns, "output": columns}`` of texts, or of numbers of characters. A
        token is then counted for every four characters, as the paper does for the judge without a count of tokens.
    by : str or sequence of str
        Further grouping columns. Name ``strategy`` to compare strategies.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge the term ``cost``, with ``n`` the items. The calls of an item are added up: both orders of a strategy
        that asks in both, and all repeats.

    Raises
    ------
    SchemaError
        If a column is missing or contains text for a number.
    DesignError
        If a price is not two numbers, or `characters` names other parts than input and output.

    See Also
    --------
    pareto_front : Configurations that no other dominates.
    compare_strategies : Accuracy of strategies on the same pairs.

    Notes
    -----
    The interval is Student's t, of items as independent draws. Items of which a call has no known cost are excluded and
    counted. Computed costs are flagged as estimated.

    Examples
    --------
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "1", "2"], "input_tokens": [1000, 1000, 3000],
    ...                       "output_tokens": [100, 100, 100]})
    >>> evaluation_cost(calls, prices={"g": (2.0, 10.0)})[["judge", "term", "estimate", "n"]]
      judge  term  estimate    n
    0     g  cost    0.0065  2.0
    """
    parts = _parts(characters)
    table = gathered(calls, [*names(by), *(c for columns in parts.values() for c in columns)]).reset_index(drop=True)
    groups = list(dict.fromkeys(["judge", *grouping(by, table.columns)]))
    if absent := [c for c in ("judge", "item") if c not in table]:
        raise SchemaError(f"There is no column {absent[0]!r}. Columns: {', '.join(table.columns)}.")
    for part, columns in parts.items():
        table[f"{part}_tokens"] = sum(_characters(table, c) for c in columns) / CHARACTERS
    paid = costs(table, prices) if prices is not None else _number(table, "cost", "cost")
    paid = paid * (call_counts(table[COUNTS]) if COUNTS in table else 1.0)
    if (paid < 0).any():
        raise SchemaError(f"A cost is negative: {np.nanmin(paid):g}. Costs are 0 or more.")
    coded = Factors(table)
    items = coded.ranked([*groups, "item"])
    of_item = np.bincount(items.code, np.asarray(paid, dtype=float), items.size)
    method = methods.STUDENT.on(f"a token for {CHARACTERS:g} characters") if parts else methods.STUDENT
    rows = []
    for key, of_group in coded.take(items.first).each_group(groups, sort=True):
        item_costs = of_item[of_group]
        item_costs = item_costs[~np.isnan(item_costs)]
        n = item_costs.size
        lost = flags.EXCLUDED.of(of_group.size - n, what="item(s) without a cost")
        notes = flags.join(flags.ESTIMATED_COST if prices is not None else "", lost)
        row: Record = {**key, "term": "cost", "estimate": math.nan, "n": float(n)}
        if n > 1 and np.ptp(item_costs) > 0:
            mean, error = float(item_costs.mean()), float(item_costs.std(ddof=1)) / math.sqrt(n)
            row |= student(mean, error, n - 1, conf_level=conf_level, method=method, bounds=AT_LEAST_0).cells
        elif n:
            row |= {"estimate": float(item_costs.mean()), "flag": flags.NO_SPREAD}
        rows.append({**row, "flag": flags.join(notes, row.get("flag"), size_flag(n))})
    return estimates(rows, groups)


def _parts(characters: Mapping[str, By] | None) -> dict[str, list[str]]:
    """Columns of the characters in and out."""
    if characters is None:
        return {}
    if not isinstance(characters, Mapping) or set(characters) != {"input", "output"}:
        raise DesignError(
            f"characters={characters!r} must name the columns of what went in and came out: "
            '{"input": ["prompt"], "output": ["reply"]}.'
        )
    return {part: names(columns) for part, columns in characters.items()}


def _characters(table: pd.DataFrame, column: str) -> Floats:
    """Characters of each cell: their number, or the length of the text; 0 where a text is missing."""
    if column in table and not pd.api.types.is_numeric_dtype(table[column]):
        text = table[column].astype(object)
        lengths: Floats = text.where(text.notna(), "").astype(str).str.len().to_numpy(dtype=float)
        return lengths
    return _number(table, column, "number of characters")


def _front(paid: Floats, values: Floats) -> tuple[Mask, NDArray[np.intp]]:
    """For points by falling value, then rising cost: is each on the front, and the best point that dominates it."""
    on = np.zeros(paid.size, dtype=bool)
    better = np.zeros(paid.size, dtype=np.intp)
    front: list[int] = []  # by falling value and cost; equal points once
    for i in range(paid.size):
        last = front[-1] if front else None
        if last is None or paid[i] < paid[last]:
            on[i] = True
            front.append(i)
        elif paid[i] == paid[last] and values[i] == values[last]:
            on[i] = True
        else:
            better[i] = next(f for f in front if paid[f] <= paid[i])
    return on, better


def _of_term(table: pd.DataFrame, term: str | None) -> pd.DataFrame:
    if "term" not in table.columns:
        return table
    term_names = sorted(table["term"].astype(str).unique())
    if term is None and len(term_names) > 1:
        raise DesignError(f"The results have several terms ({', '.join(term_names)}). Choose one with term=.")
    if term is not None and term not in term_names:
        raise DesignError(
            f"term={term!r} is not in the results: {', '.join(term_names)}.{suggestion(term, term_names)}"
        )
    return table if term is None else table[table["term"] == term].reset_index(drop=True)


def _number(table: pd.DataFrame, column: str, what: str) -> Floats:
    if column not in table.columns:
        hint = " Or give prices= for input_tokens and output_tokens." if what == "cost" else ""
        raise SchemaError(
            f"There is no column {column!r} for the {what}. Columns: {', '.join(table.columns)}."
            f"{suggestion(column, table.columns)}{hint}"
        )
    values = pd.to_numeric(table[column], errors="coerce")
    if (text := values.isna() & table[column].notna()).any():
        raise SchemaError(
            f"{column!r} contains text where the {what} belongs: {table.loc[text, column].iloc[0]!r} in "
            f"{text.sum():,} rows. Give numbers, or empty cells."
        )
    numbers: Floats = values.to_numpy(dtype=float, na_value=np.nan)
    return numbers
