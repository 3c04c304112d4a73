"""Which strategy to use with a judge: the one that the data support within the budget, or none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats.errors import DesignError, suggestion
from judgestats.metrics.bias.strategies import compare_strategies
from judgestats.results import NO_DATA, estimates, flags

#: Calls per verdict of the debiasing paper's strategies (Section 3.3).
CALLS = {"B0": 1.0, "S4": 1.0, "S5": 1.0, "S1": 2.0, "S8": 2.0, "S2": 3.0}
NOT_SUPPORTED = "no supported gain"
OVER_BUDGET = "baseline above the budget"


def recommend(
    results: Any,
    *,
    task: str | None = None,
    judge: str | None = None,
    budget: float | None = None,
    cost: Mapping[str, float] | None = None,
    baseline: str = "B0",
    **options: Any,
) -> pd.DataFrame:
    """Pick the strategy for each judge, and name the comparison that speaks for it.

    Parameters
    ----------
    results : frame
        The result of :func:`compare_strategies` (with ``by="task"`` where there are tasks; every ``by`` column of it
        splits the advice); or calls or their tally, which are compared first.
    task : str, optional
        Advise for this task only.
    judge : str, optional
        Advise for this judge only.
    budget : float, optional
        Highest cost of a verdict, as a multiple of the baseline's; no limit by default. Below 1 the baseline itself is
        above it: where nothing within it is supported, it stays, flagged.
    cost : mapping of str to float, optional
        Cost of a verdict by strategy, in any unit; by default the calls per verdict of the debiasing paper's
        strategies (B0, S4, S5 one, S1, S8 two, S2 three). A strategy that is not in it is passed over where there is a
        budget, and flagged.
    baseline : str
        The strategy to stay with where no other is supported.
    **options
        Given to :func:`compare_strategies`, for calls.

    Returns
    -------
    pandas.DataFrame
        The ``by`` columns of the comparisons, ``judge``, the columns of every estimate (that of the comparison behind
        the advice; NaN without one), ``advice`` (a strategy), ``because``, ``p_adjusted`` and ``cost`` (as a multiple
        of the baseline's). Of strategies whose gain survives the correction for all tests the one that gains most is
        picked; of equal gains the cheapest, then the first by name, and the flag says so.

    Raises
    ------
    DesignError
        If the task does not occur, the baseline is not that of the comparisons, or a budget or cost is no number from
        0.

    Notes
    -----
    Debiasing paper, Algorithm 1, as a rule in place of its fixed answers: it has no opinion about a judge that the data
    do not hold, and advises the baseline there. A gain that is not supported may still be real: see
    :func:`minimum_detectable_effect`. The gain of a winner is flattered by the choice.

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
    """
    table = nw.from_native(results).lazy().collect(backend="pandas").to_native()
    if not {"strategy", "p_adjusted", "survives"} <= set(table.columns):
        grouped = {"by": "task"} if "task" in table.columns else {}
        table = compare_strategies(results, baseline=baseline, **(grouped | options))
    elif options:
        raise DesignError(f"{', '.join(options)} is for calls; these strategies have been compared already.")
    _refuse_other_baseline(table, baseline)
    costs = dict(CALLS if cost is None else cost)
    _refuse_amounts(budget, costs)
    columns = list(table.columns)
    split = [c for c in columns[: columns.index("term")] if c not in ("judge", "strategy")]
    groups = [*split, "judge"]
    table = _of_task(table, task)
    parts = table[split].drop_duplicates().to_dict("records") if split else [{}]
    if judge is not None:
        table = table[table["judge"].astype(str) == judge]
    rows = [
        _advice(part, budget, costs, baseline) | dict(zip(groups, key, strict=True))
        for key, part in _parts(table, groups)
    ]
    if judge is not None and not rows:
        absent = _stay(baseline, f"no comparison of {judge!r} in the data", NO_DATA) | {"judge": judge}
        rows = [absent | here for here in parts]
    return estimates(rows, groups, ("advice", "because", "p_adjusted", "cost"))


def _parts(table: pd.DataFrame, groups: list[str]) -> Any:
    return table.sort_values([*groups, "strategy"], kind="stable").groupby(groups, sort=True, dropna=False)


def _refuse_other_baseline(table: pd.DataFrame, baseline: str) -> None:
    found = sorted(set(table.get("baseline", pd.Series(dtype=str)).astype(str)) - {"", baseline})
    if found:
        raise DesignError(
            f"The strategies were compared with {found[0]!r}, not {baseline!r}. Give baseline={found[0]!r}."
        )


def _refuse_amounts(budget: float | None, costs: Mapping[str, float]) -> None:
    amounts: dict[str, Any] = {f"cost of {s}": c for s, c in costs.items()}
    for name, amount in {"budget": 0 if budget is None else budget, **amounts}.items():
        if not (isinstance(amount, Real) and 0 <= float(amount) < math.inf):
            raise DesignError(f"{name}={amount!r} is no amount. Allowed: numbers from 0; no budget is budget=None.")


def _of_task(table: pd.DataFrame, task: str | None) -> pd.DataFrame:
    if task is None:
        return table
    found = sorted(table["task"].astype(str).unique()) if "task" in table.columns else []
    if task not in found:
        told = f"Tasks: {', '.join(found)}." if found else "There is no column 'task'."
        raise DesignError(f"task={task!r} is not in the results. {told}{suggestion(task, found)}")
    return table[table["task"].astype(str) == task]


def _advice(part: pd.DataFrame, budget: float | None, costs: dict[str, float], baseline: str) -> dict[str, Any]:
    """One row: the best supported strategy that can be paid, or the baseline."""
    unit = costs.get(baseline, math.nan)
    multiple = part["strategy"].map(lambda s: costs.get(s, math.nan) / unit if unit else math.nan).astype(float)
    part = part.assign(_cost=multiple)
    unknown = "" if budget is None else _named("cost not known", part[part["_cost"].isna()])
    payable = part if budget is None else part[part["_cost"] <= budget + 1e-12]
    gains = payable[payable["survives"].astype(bool) & (payable["estimate"] > 0)]
    if not len(gains):
        over = OVER_BUDGET if budget is not None and budget < 1 - 1e-12 else ""
        return _stay(baseline, _nearest(payable, baseline), flags(NOT_SUPPORTED, over, unknown))
    top = gains[np.isclose(gains["estimate"], gains["estimate"].max(), rtol=0, atol=1e-12)]
    top = top.sort_values(["_cost", "strategy"], kind="stable", na_position="last")
    best = top.iloc[0]
    equal = _named("same gain", top.iloc[1:])
    row = {c: best[c] for c in ("term", "estimate", "std_error", "conf_low", "conf_high", "n", "method")}
    words = {"advice": best["strategy"], "because": _words(best, baseline), "p_adjusted": best["p_adjusted"]}
    return {**row, **words, "cost": best["_cost"], "flag": flags(best["flag"], equal, unknown)}


def _stay(baseline: str, because: str, flag: str) -> dict[str, Any]:
    missing = {"estimate": math.nan, "n": math.nan, "p_adjusted": math.nan}
    return {"term": "difference", **missing, "advice": baseline, "because": because, "cost": 1.0, "flag": flag}


def _nearest(payable: pd.DataFrame, baseline: str) -> str:
    """Why the baseline stays: what came nearest."""
    known = payable[payable["p_adjusted"].notna() & (payable["estimate"] > 0)]
    if not len(known):
        return "no comparison shows a gain"
    best = known.sort_values(["p_adjusted", "p_value", "strategy"], kind="stable").iloc[0]
    return f"no comparison supports a gain; the nearest is {_words(best, baseline)}"


def _words(row: pd.Series[Any], baseline: str) -> str:
    p, n = float(row["p_adjusted"]), float(row["n"])
    corrected = str(row.get("adjustment", "")).partition(",")[0]
    name = "" if corrected in ("", "unadjusted") else f"{corrected} "
    text = "p < .001" if p < 0.0005 else f"p = {p:.3f}".replace("0.", ".", 1)
    return f"{row['strategy']} vs {baseline}: {100 * row['estimate']:+.1f} pp, {name}{text}, n = {n:,.0f}"


def _named(what: str, rows: pd.DataFrame) -> str:
    return f"{what}: {', '.join(rows['strategy'].astype(str))}" if len(rows) else ""
