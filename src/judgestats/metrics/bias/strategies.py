"""Comparison of strategies: accuracy gains, cost and recommendation."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from numbers import Real
from typing import Any, Literal, get_args

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray
from scipy.special import stdtrit

from judgestats import flags
from judgestats.counting.clustering import Cluster
from judgestats.counting.counts import Counts, size_flag
from judgestats.counting.patterns import PATTERNS, Invalid, TiesOfVerdicts
from judgestats.counting.selection import gathered
from judgestats.counting.study import Study
from judgestats.counting.tallies import count, is_tally
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, SchemaError, choose, suggestion
from judgestats.kernels.adjustment import holm
from judgestats.kernels.proportions import clustered_tango, normal_quantile
from judgestats.metrics.measure_registry import Measure, Term, control_of
from judgestats.metrics.paired import paired_cells, paired_error
from judgestats.results import estimates, with_interval
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import COUNTS, By, grouping, names
from judgestats.schema.declared_counts import call_counts
from judgestats.schema.opening import engine_errors
from judgestats.typing import Floats, Mask

# ---- Pareto front of cost and value ----------------------------------------------------------------------------------

#: Price of a million tokens in, and out.
Price = tuple[float, float]
#: Name of a configuration without a label.
NAMELESS = "(none)"
_TOKENS = ("input_tokens", "output_tokens")


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
        A separate front for each combination of these columns.

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
    table = nw.from_native(results).lazy().collect(backend="pandas").to_native().reset_index(drop=True)
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
    worth = _number(table, value, "value")
    parts = table[labels].astype(object)
    parts = parts.where(parts.notna(), NAMELESS)
    name = np.array([" / ".join(map(str, row)) for row in parts.itertuples(index=False)], dtype=object)
    cautions = [
        flags.join(
            flags.NO_COST if np.isnan(x) else flags.ESTIMATED_COST if prices is not None else "",
            flags.NO_VALUE if np.isnan(v) else "",
            flags.INFINITE if np.isinf(x) or np.isinf(v) else "",
        )
        for x, v in zip(paid, worth, strict=True)
    ]
    result = table[[*groups, *labels]].assign(cost=paid, value=worth, on_front=False, dominated_by="", flag=cautions)
    if value == "estimate" and {"conf_low", "conf_high"} <= {*table.columns}:
        result = result.assign(**{c: table[c].to_numpy(float) for c in ("conf_low", "conf_high")})
    order = np.lexsort([name, paid, -worth])  # by value, then cost, then name
    code = codes_of(table, groups).code
    for g in np.unique(code):
        here = order[(code[order] == g) & np.isfinite(paid[order]) & np.isfinite(worth[order])]
        on, better = _front(paid[here], worth[here])
        result.loc[here, "on_front"] = on
        result.loc[here, "dominated_by"] = np.where(on, "", name[here][better])
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
    given: Mapping[Any, Any] = prices
    for judge, pair in given.items():
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
    "What does the verdict on an item cost?", "strategies", "P", "Student's t over items",
    "debiasing, App C, App H",
    terms=(
        Term("cost", "cost of an evaluation"),
    ),
    assumes="Tokens are those of the log; where there are none, four characters count as a token.",
)  # fmt: skip
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
        Further grouping columns: ``strategy``, to compare strategies.
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
    quantile = 0.5 + conf_level / 2
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
    each = table[[*groups, "item"]].assign(_paid=paid).groupby([*groups, "item"], dropna=False)["_paid"]
    items = each.agg(lambda v: v.sum(skipna=False)).reset_index()
    method = "Student's t" + (f", a token for {CHARACTERS:g} characters" if parts else "")
    rows = []
    for key, here in items.groupby(groups, dropna=False, sort=True):
        known = here["_paid"].dropna().to_numpy(dtype=float)
        n, lost = known.size, here["_paid"].isna().sum()
        notes = flags.join(
            flags.ESTIMATED_COST if prices is not None else "", flags.EXCLUDED.of(lost, what="item(s) without a cost")
        )
        row: dict[str, Any] = {"term": "cost", "estimate": math.nan, "n": float(n)}
        row |= dict(zip(groups, key, strict=True))
        if n:
            row["estimate"] = mean = float(known.mean())
        if n > 1 and np.ptp(known) > 0:
            error = float(known.std(ddof=1)) / math.sqrt(n)
            half = float(stdtrit(n - 1, quantile)) * error
            row |= {"std_error": error, "conf_low": max(mean - half, 0.0), "conf_high": mean + half, "method": method}
        elif n:
            notes = flags.join(notes, flags.NO_SPREAD)
        rows.append({**row, "flag": flags.join(notes, size_flag(n))})
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


def _front(paid: Floats, worth: Floats) -> tuple[Mask, NDArray[np.intp]]:
    """For points by falling value, then rising cost: is each on the front, and the best point that dominates it."""
    on = np.zeros(paid.size, dtype=bool)
    better = np.zeros(paid.size, dtype=np.intp)
    front: list[int] = []  # by falling value and cost; equal points once
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


# ---- Is a judge more often right under a strategy than under the baseline, on the same pairs? ------------------------

Method = Literal["corrected", "asymptotic", "exact", "mid-p"]
#: Corrections for several tests of ``statsmodels.stats.multitest.multipletests``, and none.
ADJUSTMENTS = (
    "holm",
    "bonferroni",
    "sidak",
    "holm-sidak",
    "simes-hochberg",
    "hommel",
    "fdr_bh",
    "fdr_by",
    "fdr_tsbh",
    "fdr_tsbky",
    "none",
)
#: Columns of the result after the standard ones.
EXTRA = (
    "baseline",
    "baseline_only",
    "strategy_only",
    "accuracy_baseline",
    "accuracy_strategy",
    "statistic",
    "p_value",
    "p_adjusted",
    "survives",
    "adjustment",
)


@Measure(
    "Is a strategy more often right than the baseline on the same pairs?", "strategies", "P, counts",
    "Newcombe, paired; McNemar's p, adjusted", "debiasing, Sec 3.5, App D", plot="strategies", frames=("preferences",),
    needs=(control_of("strategy"),), arguments=lambda _, options: {"baseline": options.baseline["strategy"]},
    caption="Accuracy under the strategy minus under the baseline, on the pairs that both judged. Filled: survives "
    "the correction for all comparisons.",
    terms=(
        Term("difference", "gain in accuracy", neutral=0.0),
    ),
    have=("conditions", "gold",),
    assumes=(
        "The strategies judged the same pairs, which are independent; the p-values are adjusted for the number of "
        "comparisons."
    ),
)  # fmt: skip
def compare_strategies(
    calls: IntoFrame,
    *,
    baseline: str | None = "B0",
    method: Method = "corrected",
    adjust: str = "holm",
    n_tests: int | None = None,
    invalid: Invalid = "drop",
    ties: TiesOfVerdicts = "exact",
    pairs: int | str | None = None,
    by: By = (),
    cluster: Cluster = "auto",
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Compare the accuracy of each strategy with that of the baseline, on the pairs that both were scored on.

    Parameters
    ----------
    calls : frame
        Preferences with the columns ``gold`` and ``strategy``, one verdict per pair and strategy (aggregated, say). Or
        a tally: ``judge, strategy, baseline, outcome, n``, with the outcomes under the baseline and under the
        strategy (``correct``, ``wrong``, ``tie``, ``invalid``, ``missing``) and the number of pairs.
    baseline : str or None
        The strategy that the others are compared with. None only for a tally, whose baseline need not be named.
    method : {'corrected', 'asymptotic', 'exact', 'mid-p'}
        McNemar's test: chi-square with and without continuity correction, the exact binomial, or its mid-p. With
        clusters both chi-squares have no correction and refer to F on 1 and G - 1 degrees of freedom; the binomial
        tests treat pairs as independent, with a flag where they are not.
    adjust : str
        Correction of the p-values over all rows of the result: ``'holm'``, any other method of statsmodels'
        ``multipletests``, or ``'none'``.
    n_tests : int, optional
        Number of tests planned, if it exceeds the number made. (A strategy that a judge never ran is not a test.)
    invalid : {'drop', 'wrong', 'tie'}
        How an invalid call counts, as in :func:`gold_agreement`.
    ties : {'exact', 'drop'}
        How a tie counts where the gold is a candidate: as an error, or excluded with its pair.
    pairs : int or str, optional
        For a tally of the discordant pairs only: the total number of pairs of each comparison, or its column.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str or False
        Column that pairs share, by which the interval is clustered. ``"auto"`` detects it (``item``, say) and names it
        in ``method``. False treats all pairs as independent, with a flag where they are not.
    conf_level : float
        Coverage of the interval; 1 minus it is the significance level of the tests.

    Returns
    -------
    pandas.DataFrame
        Per judge and strategy the term ``difference``, accuracy under the strategy minus under the baseline, with
        Newcombe's paired interval; where clustered, Tango's with the effective n of the clusters, which excludes 0
        where the p-value is below 1 - `conf_level`. Then ``baseline`` (its name), ``baseline_only``, ``strategy_only``
        (pairs right under that one alone), ``accuracy_baseline``, ``accuracy_strategy``, ``statistic`` (chi-square; for
        the exact tests the smaller of the two counts), ``p_value``, ``p_adjusted``, ``survives`` and ``adjustment``.
        ``n`` is the pairs scored under both; the flag counts the others.

    Raises
    ------
    DesignError
        If there is nothing to compare, a pair was judged twice, or an option is not known.

    See Also
    --------
    recommend : Strategy that a comparison supports.
    bias_change : Change of a bias under a strategy.
    judgestats.models.strategy_effects : Strategies, per judge and pooled.

    Notes
    -----
    Debiasing paper, Section 3.5 and Appendix D. No discordant pair: p is 1. The correction is
    ``max(|b - c| - 1, 0)``. All rows of a result are one family of tests: call the function once per family.
    A half-right tie is neither right nor wrong, so McNemar's test has no ``ties='half'``.
    A tally without concordant pairs is assumed to omit them: chi-square and p need the discordant pairs only, the
    difference also the total, `pairs` (interval: Agresti and Min).

    Examples
    --------
    >>> counts = pd.DataFrame({"judge": "g", "strategy": "S8", "n": [209, 23, 69, 99],
    ...                        "baseline": ["correct", "correct", "wrong", "wrong"],
    ...                        "outcome": ["correct", "wrong", "correct", "wrong"]})
    >>> compare_strategies(counts, n_tests=20)[["estimate", "conf_low", "conf_high", "statistic",
    ...     "p_adjusted"]].round(4)
       estimate  conf_low  conf_high  statistic  p_adjusted
    0     0.115    0.0689     0.1604    22.0109      0.0001
    """
    choose(adjust, ADJUSTMENTS, "adjust")
    if n_tests is not None and not isinstance(n_tests, int | np.integer):
        raise DesignError(f"n_tests={n_tests!r} is not a number of tests. Allowed: a whole number (20), or None.")
    column = pairs if isinstance(pairs, str) else None
    kept = [*names(by), *([column] if column else [])]
    counts = count(calls, "compare_strategies", kept, cluster=cluster, baseline=baseline)
    binomial = method in ("exact", "mid-p") and counts.clusters.column is not None
    if binomial and cluster != "auto":
        raise DesignError(
            f"method={method!r} does not allow for clusters. Use method='asymptotic', or cluster=False to treat the "
            "pairs as independent."
        )
    if binomial:
        counts = count(calls, "compare_strategies", kept, cluster=False, baseline=baseline)
    counts = counts.grouped(list(dict.fromkeys([*names(by), "judge", "strategy"])))
    whole = not is_tally(Study.of(calls).names, PATTERNS["compare_strategies"])  # a tally may omit concordant pairs
    crossed, excluded, cells = _crossed(counts, invalid, ties)
    cluster_column, dependent = counts.clusters.column, counts.clusters.flag
    rows = []
    for i, (key, here) in enumerate(counts.rows_of_groups()):
        concordant, b, c, neither = crossed[i]
        known = whole or concordant + neither > 0
        total = math.nan if known else _total(counts.where(here), pairs)
        known = known or (b + c == 0 and math.isnan(total))
        row = _difference(concordant, b, c, neither, conf_level) if known else _of_discordant(b, c, total, conf_level)
        few = flags.FEW_DISCORDANT if method in ("corrected", "asymptotic") and 0 < b + c < 25 else ""
        if row["n"] != 0:
            row["statistic"], row["p_value"] = mcnemar_test(b, c, method)
        if cluster_column is not None and known and row["n"] > 0:
            row |= _clustered(row, counts.where(here), cells[:, here], cluster_column, conf_level)
        row["flag"] = flags.join(row.get("flag", ""), few, dependent, excluded[i])
        rows.append({**key, "term": "difference", "baseline_only": b, "strategy_only": c, **row})
    return _adjusted(estimates(rows, counts.groups, EXTRA), baseline, adjust, n_tests, conf_level)


def mcnemar_test(b: float, c: float, method: Method = "corrected") -> tuple[float, float]:
    """Statistic and p-value of McNemar's test of two discordant counts; p is 1 where both are 0.

    McNemar, Q. (1947). Psychometrika 12, 153-157. Mid-p: Fagerland, M. W., Lydersen, S., Laake, P. (2013). BMC Medical
    Research Methodology 13, 91.
    """
    from statsmodels.stats.contingency_tables import mcnemar

    if method in ("exact", "mid-p") and not (float(b).is_integer() and float(c).is_integer()):
        raise DesignError(
            f"method={method!r} counts whole pairs, and there are {b:g} and {c:g} discordant ones. Use "
            "method='asymptotic' or 'corrected' for counts that are not whole."
        )
    if b + c == 0:
        return (math.nan if method in ("corrected", "asymptotic") else 0.0), 1.0
    if method == "mid-p":
        from scipy.stats import binom

        point = float(binom.pmf(min(b, c), b + c, 0.5))
        p = 1 - point / 2 if b == c else float(mcnemar([[0, b], [c, 0]], exact=True).pvalue) - point
        return min(b, c), p
    if method == "corrected" and b == c:
        return 0.0, 1.0  # statsmodels would correct 0 to 1
    result = mcnemar([[0, b], [c, 0]], exact=method == "exact", correction=method == "corrected")
    return float(result.statistic), float(result.pvalue)


def _crossed(counts: Counts, invalid: Invalid, ties: str) -> tuple[Floats, list[str], Floats]:
    """Pairs of each group right under both, the baseline only, the strategy only, neither; flags of excluded pairs.

    And for each row of the table: pairs right under the baseline only, under the strategy only, and all scored.
    """
    n, sides = counts.n, ("baseline", "outcome")
    right = [counts.among(side, "correct") for side in sides]
    absent = counts.among("baseline", "missing") | counts.among("outcome", "missing")
    scored = [counts.hits_and_trials("correct", ties, invalid, side)[1] for side in sides]
    both = scored[0] & scored[1] & ~absent
    codes = counts.columns.codes(counts.groups)
    cells = (right[0] & right[1], right[0] & ~right[1], ~right[0] & right[1], ~right[0] & ~right[1])
    pairs = np.column_stack([np.bincount(codes.code, n * (both & c), codes.size) for c in cells]).astype(np.float64)
    without = np.bincount(codes.code, n * absent, codes.size)
    dropped = np.bincount(codes.code, n * (~both & ~absent), codes.size)
    excluded = [
        flags.join(flags.UNDER_ONE_ONLY.of(a), flags.EXCLUDED.of(d, what="pairs not scored"))
        for a, d in zip(without, dropped, strict=True)
    ]
    return pairs, excluded, np.vstack([n * (both & cells[1]), n * (both & cells[2]), n * both])


def _clustered(row: dict[str, Any], counts: Counts, cells: Floats, column: str, conf_level: float) -> dict[str, Any]:
    """Clustered interval and test of one comparison, from the last result of :func:`_crossed`."""
    unit = counts.columns.codes([column])
    losses, gains, size = (np.bincount(unit.code, x, unit.size).astype(np.float64) for x in cells)
    found = clustered_tango(gains, losses, size, conf_level)
    test = {"statistic": found.statistic, "p_value": found.p_value}
    method = f"Tango, paired, clustered by {column} (G = {found.clusters})"
    flag = flags.join(row.get("flag", ""), flags.few_clusters(size))
    return with_interval(found.std_error, found.low, found.high, method=method, flag=flag, **test)


def _total(counts: Counts, pairs: int | str | None) -> float:
    """Total number of pairs of one comparison."""
    if not isinstance(pairs, str):
        return math.nan if pairs is None else float(pairs)
    given = counts.columns.series(pairs)
    numbers = pd.to_numeric(given, errors="coerce")
    if (text := numbers.isna() & given.notna()).any():
        first = given[text].iloc[0]
        raise SchemaError(f"pairs={pairs!r} contains text where a number of pairs belongs: {first!r}.")
    values = numbers.unique()
    if len(values) != 1:
        raise DesignError(f"pairs={pairs!r} has several values in one comparison: {', '.join(map(str, values))}.")
    return float(values[0])


def _difference(a: float, b: float, c: float, d: float, conf_level: float) -> dict[str, Any]:
    total = a + b + c + d
    if not total > 0:
        return {"n": 0.0, "method": "Newcombe, paired", "flag": flags.NO_DATA}
    return {
        **paired_cells(a, c, b, d, conf_level),
        "accuracy_baseline": (a + b) / total,
        "accuracy_strategy": (a + c) / total,
        "flag": size_flag(total),
    }


def _of_discordant(b: float, c: float, total: float, conf_level: float) -> dict[str, Any]:
    """The difference from the discordant pairs and the total."""
    if math.isnan(total):
        return {"n": math.nan, "flag": flags.DISCORDANT_ONLY}
    if total < b + c:
        raise DesignError(f"pairs={total:g} is less than the {b + c:g} discordant pairs of a comparison.")
    shifted = total + 2  # Agresti and Min (2005): a half more in each of the four cells
    middle = (c - b) / shifted
    half = normal_quantile(conf_level) * math.sqrt(b + c + 1 - (b - c) ** 2 / shifted) / shifted
    low, high = max(middle - half, -1.0), min(middle + half, 1.0)
    cells = {"estimate": (c - b) / total, "n": total, "method": "Agresti-Min, paired"}
    flag = flags.join(flags.DISCORDANT_ONLY, flags.SMALL_N if total < 30 else "")
    return with_interval(paired_error(b, c, total), low, high, flag=flag, **cells)


def _adjusted(
    result: pd.DataFrame, baseline: str | None, adjust: str, m: int | None, conf_level: float
) -> pd.DataFrame:
    """Add the p-values corrected for all planned tests, by default all tests made."""
    p = result["p_value"].to_numpy(dtype=float)
    known = np.isfinite(p)
    made = int(known.sum())
    planned = made if m is None else m
    if planned < made:
        raise DesignError(f"n_tests={m} is less than the {made} tests made. Give at least {made}.")
    adjusted = p.copy()
    if adjust != "none" and known.any():
        from statsmodels.stats.multitest import multipletests

        padded = np.concatenate([p[known], np.ones(planned - known.sum())])
        every = holm(padded) if adjust == "holm" else multipletests(padded, 1 - conf_level, adjust)[1]
        adjusted[known] = every[: known.sum()]
    adjustment = "unadjusted" if adjust == "none" else f"{adjust}, m = {planned}"
    numbers: dict[str, Any] = {c: pd.to_numeric(result[c]).astype(float) for c in EXTRA[1:7]}
    survives = adjusted <= 1 - conf_level + 1e-12
    numbers |= {"p_adjusted": adjusted, "survives": survives, "adjustment": adjustment}
    return result.assign(baseline=baseline or "", **numbers)


# ---- Recommendation of a strategy for each judge ---------------------------------------------------------------------

#: Calls per verdict of the debiasing paper's strategies (Section 3.3; of S3, S6 and S7 in the authors' release, with
#: panels of three judges).
CALLS = {"B0": 1.0, "S4": 1.0, "S5": 1.0, "S6": 1.0, "S1": 2.0, "S8": 2.0, "S2": 3.0, "S3": 3.0, "S7": 6.0}
#: What the paper's rule treats as adversarial or of high stakes: names of tasks, in lower case.
ADVERSARIAL = ("adversarial", "high-stakes", "high stakes", "high_stakes", "llmbar")
#: The paper's default: the least expensive judge on its frontier (Appendix H).
PAPER_JUDGE = "Gemini 2.5 Flash"
Rule = Literal["tested", "paper"]
#: Columns of advice, besides those of every estimate.
ADVICE = ("advice", "because", "p_adjusted", "cost")


@engine_errors
def recommend(
    results: Any = None,
    *,
    task: str | None = None,
    judge: str | None = None,
    budget: float | None = None,
    cost: Mapping[str, float] | None = None,
    cost_matters: bool = True,
    baseline: str = "B0",
    rule: Rule = "tested",
    **options: Any,
) -> pd.DataFrame:
    """Recommend a strategy for each judge, with the comparison that supports it.

    Parameters
    ----------
    results : frame, optional
        The result of :func:`compare_strategies` (with ``by="task"`` where there are tasks; advice is given for each
        combination of its ``by`` columns); or calls or their tally, which are compared first. The paper's rule does not
        need it.
    task : str, optional
        Advise for this task only. The paper's rule distinguishes ``adversarial`` (also ``high-stakes``, ``llmbar``)
        from all others.
    judge : str, optional
        Advise for this judge only.
    budget : float, optional
        Highest cost of a verdict, as a multiple of the baseline's; no limit by default. Below 1 even the baseline
        exceeds it; it is then still the advice, with a flag, if no strategy within the budget is supported.
    cost : mapping of str to float, optional
        Cost of a verdict by strategy, in any unit; by default the calls per verdict of the debiasing paper's
        strategies (B0, S4, S5 one, S1, S8 two, S2 three). With a budget, strategies without a cost are
        skipped, with a flag.
    cost_matters : bool
        Of the paper's rule, where no judge is named: whether it answers with its least expensive judge.
    baseline : str
        The strategy to keep where no other is supported.
    rule : {'tested', 'paper'}
        ``tested``: the comparisons in `results` decide. ``paper``: Algorithm 1 of the debiasing paper as printed, whose
        answers are those of its judges in 2025.
    **options
        Passed to :func:`compare_strategies`, for calls.

    Returns
    -------
    pandas.DataFrame
        The ``by`` columns of the comparisons, ``judge``, the columns of every estimate (of the comparison of the
        recommended strategy; NaN without one), ``advice`` (a strategy), ``because``, ``p_adjusted``, ``cost`` (as a
        multiple of the baseline's) and ``other_rule``, the advice of the other rule (empty without results). With
        ``rule="tested"`` the advice is the strategy with the largest gain among those significant after correction for
        all tests; of equal gains the cheapest, then the first by name, with a flag.

    Raises
    ------
    DesignError
        If the task does not occur, the baseline is not that of the comparisons, a budget or cost is not a number
        from 0, or the tested rule has no results.

    See Also
    --------
    compare_strategies : Accuracy of strategies on the same pairs.
    pareto_front : Configurations that no other dominates.

    Notes
    -----
    Debiasing paper, Algorithm 1, as a rule in place of its fixed answers: for a judge without data it advises the
    baseline. A gain that is not supported may still be real: see :func:`judgestats.design.minimum_detectable_effect`.
    The gain of the selected strategy is biased upwards by the selection.

    The paper's rule: adversarial tasks S5, with Claude, GPT-4o or Llama; no judge named: Gemini 2.5 Flash with S8 if
    cost matters (the paper calls it the default), else S5 with any;
    Claude S8, or S5 at a budget of one call; Gemini Flash S8, or S1 at a budget of one call (although S1 takes two:
    flagged); Llama S8; Gemini Pro and GPT-4o B0, or S1; any other judge S5. It has no exception for the budget
    elsewhere; advice that exceeds it is flagged. The two rules differ where a judge has no supported gain (``tested``
    keeps the baseline, the paper gives S5 or S8), where another strategy gains more in your data, and on adversarial
    tasks.

    Examples
    --------
    >>> counts = pd.DataFrame({"judge": "g", "strategy": ["S5"] * 4 + ["S8"] * 4,
    ...                        "baseline": ["correct", "correct", "wrong", "wrong"] * 2,
    ...                        "outcome": ["correct", "wrong", "correct", "wrong"] * 2,
    ...                        "n": [199, 33, 62, 106, 209, 23, 69, 99]})
    >>> recommend(counts)[["judge", "advice", "because"]].to_dict("records")
    [{'judge': 'g', 'advice': 'S8', 'because': 'S8 vs B0: +11.5 pp, holm p < .001, n = 400'}]
    >>> recommend(counts, budget=1)["because"].item()
    'S5 vs B0: +7.2 pp, holm p = .004, n = 400'
    >>> recommend(rule="paper", judge="claude-sonnet-4", budget=1)[["judge", "advice"]].to_dict("records")
    [{'judge': 'claude-sonnet-4', 'advice': 'S5'}]
    """
    choose(rule, get_args(Rule), "rule")
    costs = _checked_costs(CALLS if cost is None else cost, budget)
    if results is None:
        if rule == "tested":
            raise DesignError("The tested rule needs results: calls, or what compare_strategies() returned.")
        row = {"judge": judge, "task": task} if task is not None else {"judge": judge}
        return _as_printed(pd.DataFrame([row]), None, budget, costs, baseline, cost_matters)
    table = nw.from_native(results).lazy().collect(backend="pandas").to_native()
    if not {"strategy", "p_adjusted", "survives"} <= set(table.columns):
        grouped = {"by": "task"} if "task" in table.columns else {}
        table = compare_strategies(results, baseline=baseline, **(grouped | options))
    elif options:
        raise DesignError(
            f"{', '.join(options)}: allowed for calls only, and these strategies have been compared already."
        )
    against = sorted(set(table.get("baseline", pd.Series(dtype=str)).astype(str)) - {"", baseline})
    if against:
        raise DesignError(
            f"The strategies were compared with {against[0]!r}, not {baseline!r}. Give baseline={against[0]!r}."
        )
    columns = list(table.columns)
    split = [c for c in columns[: columns.index("term")] if c not in ("judge", "strategy")]
    groups = [*split, "judge"]
    if task is not None:
        found = sorted(table["task"].astype(str).unique()) if "task" in table.columns else []
        if task not in found:
            known = f"Tasks: {', '.join(found)}." if found else "There is no column 'task'."
            raise DesignError(f"task={task!r} is not in the results. {known}{suggestion(task, found)}")
        table = table[table["task"].astype(str) == task]
    parts = table[split].drop_duplicates().to_dict("records") if split else [{}]
    if judge is not None:
        table = table[table["judge"].astype(str) == judge]
    table = table.sort_values([*groups, "strategy"], kind="stable")
    rows = [
        _advice(part, budget, costs, baseline) | dict(zip(groups, key, strict=True))
        for key, part in table.groupby(groups, sort=True, dropna=False)
    ]
    if judge is not None and not rows:
        absent = _stay(baseline, f"no comparison of {judge!r} in the data", flags.NO_DATA) | {"judge": judge}
        rows = [absent | here for here in parts]
    tested = estimates(rows, groups, ADVICE)
    printed = _as_printed(tested[groups], table, budget, costs, baseline, cost_matters)
    if rule == "paper":
        return printed.assign(other_rule=tested["advice"].to_numpy())
    return tested.assign(other_rule=printed["advice"].to_numpy())


def _checked_costs(cost: Mapping[str, float], budget: float | None) -> dict[str, float]:
    costs = dict(cost)
    amounts: dict[str, Any] = {f"cost of {s}": c for s, c in costs.items()}
    for name, amount in {"budget": 0 if budget is None else budget, **amounts}.items():
        if not (isinstance(amount, Real) and 0 <= float(amount) < math.inf):
            raise DesignError(f"{name}={amount!r} is not an amount. Allowed: numbers from 0; budget=None for no limit.")
    return costs


def _as_printed(
    wanted: pd.DataFrame,
    compared: pd.DataFrame | None,
    budget: float | None,
    costs: Mapping[str, float],
    baseline: str,
    cost_matters: bool,
) -> pd.DataFrame:
    """Rows of the paper's rule for each row of `wanted` (``judge``, missing for any; ``task``), in its order."""
    groups = list(wanted.columns)
    rows = []
    for key in wanted.to_dict("records"):
        judge, advice, because = paper_advice(key.get("task"), budget, key["judge"], cost_matters)
        unit = costs.get(baseline, math.nan)
        multiple = costs.get(advice, math.nan) / unit if unit else math.nan
        over = flags.OVER_BUDGET if budget is not None and multiple > budget + 1e-12 else ""
        row = _stay(baseline, because, over) | {"advice": advice, "cost": multiple}
        if compared is not None:
            same = [compared[c].isna() if pd.isna(v) else compared[c] == v for c, v in key.items()]
            here = compared[np.logical_and.reduce([*same, compared["strategy"] == advice])]
            if len(here):
                kept = ("term", "estimate", "std_error", "conf_low", "conf_high", "n", "method", "p_adjusted")
                row |= {c: here.iloc[0][c] for c in kept} | {"flag": flags.join(here.iloc[0]["flag"], over)}
        rows.append({**key, **row, "judge": judge if compared is None else key["judge"]})
    return estimates(rows, groups, ADVICE, sort=False).assign(other_rule="")


def paper_advice(
    task: str | None, budget: float | None, judge: str | None, cost_matters: bool = True
) -> tuple[str, str, str]:
    """Algorithm 1 of the debiasing paper: the judge, the strategy, and the reason as printed.

    >>> paper_advice(None, None, None)[:2]
    ('Gemini 2.5 Flash', 'S8')
    """
    words = set(re.findall(r"[a-z0-9]+", judge.lower())) if isinstance(judge, str) else set()
    one_call = budget is not None and budget < CALLS["S8"]
    claude, llama = (any(w.startswith(name) for w in words) for name in ("claude", "llama"))
    smaller = bool(words & {"mini", "lite"})  # other models than the paper's
    gpt = not smaller and ({"gpt", "4o"} <= words or "gpt4o" in words)
    flash, pro = (not smaller and ({"gemini", name} <= words or words == {name}) for name in ("flash", "pro"))
    if isinstance(task, str) and task.lower() in ADVERSARIAL:
        known = claude or gpt or llama
        return str(judge) if known else "Claude, GPT-4o or Llama", "S5", "adversarial: S5, with Claude, GPT-4o or Llama"
    if not words and cost_matters:
        return PAPER_JUDGE, "S8", "no judge named: Gemini 2.5 Flash with S8, 71.0 %"
    if not words:
        return "any", "S5", "no judge named, cost does not matter: S5"
    name = str(judge)
    if claude:
        return name, *(("S5", "Claude at one call: S5") if one_call else ("S8", "Claude: S8, +11.5 pp"))
    if flash:
        printed = ("S1", "Gemini Flash at k = 1: S1, which takes two calls")
        return name, *(printed if one_call else ("S8", "Gemini Flash: S8, +7.5 pp"))
    if llama:
        return name, "S8", "Llama: S8, +4.5 pp"
    if pro or gpt:
        return name, "B0", "Gemini Pro, GPT-4o: B0, or S1; gains are below what can be detected"
    return name, "S5", "a judge that the paper does not cover: S5"


def _advice(part: pd.DataFrame, budget: float | None, costs: dict[str, float], baseline: str) -> dict[str, Any]:
    """One row: the best supported strategy within the budget, or the baseline."""
    unit = costs.get(baseline, math.nan)
    multiple = part["strategy"].map(lambda s: costs.get(s, math.nan) / unit if unit else math.nan).astype(float)
    part = part.assign(_cost=multiple)
    unknown = "" if budget is None else _named(flags.COST_UNKNOWN, part[part["_cost"].isna()])
    affordable = part if budget is None else part[part["_cost"] <= budget + 1e-12]
    gains = affordable[affordable["survives"].astype(bool) & (affordable["estimate"] > 0)]
    if not len(gains):
        over = flags.OVER_BUDGET if budget is not None and budget < 1 - 1e-12 else ""
        return _stay(baseline, _nearest(affordable, baseline), flags.join(flags.NOT_SUPPORTED, over, unknown))
    top = gains[np.isclose(gains["estimate"], gains["estimate"].max(), rtol=0, atol=1e-12)]
    top = top.sort_values(["_cost", "strategy"], kind="stable", na_position="last")
    best = top.iloc[0]
    equal = _named(flags.SAME_GAIN, top.iloc[1:])
    row = {c: best[c] for c in ("term", "estimate", "std_error", "conf_low", "conf_high", "n", "method")}
    advice = {"advice": best["strategy"], "because": _described(best, baseline), "p_adjusted": best["p_adjusted"]}
    return {**row, **advice, "cost": best["_cost"], "flag": flags.join(best["flag"], equal, unknown)}


def _stay(baseline: str, because: str, flag: str) -> dict[str, Any]:
    """Advice to keep the baseline."""
    missing = {"estimate": math.nan, "n": math.nan, "p_adjusted": math.nan}
    return {"term": "difference", **missing, "advice": baseline, "because": because, "cost": 1.0, "flag": flag}


def _nearest(affordable: pd.DataFrame, baseline: str) -> str:
    """Reason to keep the baseline: the comparison with the smallest p."""
    known = affordable[affordable["p_adjusted"].notna() & (affordable["estimate"] > 0)]
    if not len(known):
        return "no comparison shows a gain"
    best = known.sort_values(["p_adjusted", "p_value", "strategy"], kind="stable").iloc[0]
    return f"no comparison supports a gain; the nearest is {_described(best, baseline)}"


def _described(row: pd.Series[Any], baseline: str) -> str:
    """A comparison in words."""
    p, n = float(row["p_adjusted"]), float(row["n"])
    corrected = str(row.get("adjustment", "")).partition(",")[0]
    name = "" if corrected in ("", "unadjusted") else f"{corrected} "
    text = "p < .001" if p < 0.0005 else f"p = {p:.3f}".replace("0.", ".", 1)
    return f"{row['strategy']} vs {baseline}: {100 * row['estimate']:+.1f} pp, {name}{text}, n = {n:,.0f}"


def _named(flag: flags.Flag, rows: pd.DataFrame) -> str:
    return flag.of(len(rows), what=", ".join(rows["strategy"].astype(str)))
