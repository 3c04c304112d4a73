"""Which strategy a judge should use, by a comparison or by the rule of the debiasing paper: :func:`recommend`."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from judgestats import flags
from judgestats.arguments import checked_arguments
from judgestats.errors import DesignError, choose, suggestion
from judgestats.metrics.bias.strategy_comparisons import compare_strategies
from judgestats.results import estimates
from judgestats.schema.opening import engine_errors, narwhals_frame
from judgestats.typing import Column, Record

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


@checked_arguments
@engine_errors
def recommend(
    results: Any = None,
    *,
    task: str | None = None,
    judge: str | None = None,
    budget: float | None = None,
    cost: Mapping[str, float] | None = None,
    cost_matters: bool = True,
    baseline: str | None = None,
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
    baseline : str, optional
        The strategy to keep where no other is supported; needed for calls. By default that of the comparisons, or the
        paper's, ``B0``, where there are no results.
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
    >>> recommend(counts, baseline="B0")[["judge", "advice", "because"]].to_dict("records")
    [{'judge': 'g', 'advice': 'S8', 'because': 'S8 vs B0: +11.5 pp, holm p < .001, n = 400'}]
    >>> recommend(counts, budget=1, baseline="B0")["because"].item()
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
        return _as_printed(pd.DataFrame([row]), None, budget, costs, baseline or "B0", cost_matters)
    table = narwhals_frame(results).lazy().collect(backend="pandas").to_native()
    if not {"strategy", "p_adjusted", "survives"} <= set(table.columns):
        grouped = {"by": "task"} if "task" in table.columns else {}
        table = compare_strategies(results, baseline=baseline, **(grouped | options))
    elif options:
        raise DesignError(
            f"{', '.join(options)}: allowed for calls only, and these strategies have been compared already."
        )
    against = sorted(set(table.get("baseline", pd.Series(dtype=str)).astype(str)) - {"", baseline})
    if baseline is None:
        if len(against) != 1:
            raise DesignError("The results do not name their baseline. Say which strategy it is: baseline=.")
        baseline = against[0]
    elif against:
        raise DesignError(
            f"The strategies were compared with {against[0]!r}, not {baseline!r}. Give baseline={against[0]!r}."
        )
    columns = list(table.columns)
    split = [c for c in columns[: columns.index("term")] if c not in ("judge", "strategy")]
    groups = [*split, "judge"]
    if task is not None:
        tasks = sorted(table["task"].astype(str).unique()) if "task" in table.columns else []
        if task not in tasks:
            task_hint = f"Tasks: {', '.join(tasks)}." if tasks else "There is no column 'task'."
            raise DesignError(f"task={task!r} is not in the results. {task_hint}{suggestion(task, tasks)}")
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
        absent = _baseline_advice(baseline, f"no comparison of {judge!r} in the data", flags.NO_DATA) | {"judge": judge}
        rows = [absent | group_key for group_key in parts]
    tested = estimates(rows, groups, ADVICE)
    printed = _as_printed(tested[groups], table, budget, costs, baseline, cost_matters)
    if rule == "paper":
        return printed.assign(other_rule=tested["advice"].to_numpy())
    return tested.assign(other_rule=printed["advice"].to_numpy())


def _checked_costs(cost: Mapping[str, float], budget: float | None) -> dict[str, float]:
    costs = dict(cost)
    amounts: Record = {f"cost of {s}": c for s, c in costs.items()}
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
        row = _baseline_advice(baseline, because, over) | {"advice": advice, "cost": multiple}
        if compared is not None:
            same = [compared[c].isna() if pd.isna(v) else compared[c] == v for c, v in key.items()]
            rows_compared = compared[np.logical_and.reduce([*same, compared["strategy"] == advice])]
            if len(rows_compared):
                same_advice = rows_compared.iloc[0]
                cells = ("term", "estimate", "std_error", "conf_low", "conf_high", "n", "method", "p_adjusted")
                row |= {c: same_advice[c] for c in cells} | {"flag": flags.join(same_advice["flag"], over)}
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
        listed = claude or gpt or llama
        return (
            str(judge) if listed else "Claude, GPT-4o or Llama",
            "S5",
            "adversarial: S5, with Claude, GPT-4o or Llama",
        )
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


def _advice(part: pd.DataFrame, budget: float | None, costs: dict[str, float], baseline: str) -> Record:
    """One row: the best supported strategy within the budget, or the baseline."""
    unit = costs.get(baseline, math.nan)
    multiple = part["strategy"].map(lambda s: costs.get(s, math.nan) / unit if unit else math.nan).astype(float)
    part = part.assign(_cost=multiple)
    unknown = "" if budget is None else _strategies_flag(flags.COST_UNKNOWN, part[part["_cost"].isna()])
    affordable = part if budget is None else part[part["_cost"] <= budget + 1e-12]
    gains = affordable[affordable["survives"].astype(bool) & (affordable["estimate"] > 0)]
    if not len(gains):
        over = flags.OVER_BUDGET if budget is not None and budget < 1 - 1e-12 else ""
        return _baseline_advice(
            baseline, _nearest(affordable, baseline), flags.join(flags.NOT_SUPPORTED, over, unknown)
        )
    top = gains[np.isclose(gains["estimate"], gains["estimate"].max(), rtol=0, atol=1e-12)]
    top = top.sort_values(["_cost", "strategy"], kind="stable", na_position="last")
    best = top.iloc[0]
    equal = _strategies_flag(flags.SAME_GAIN, top.iloc[1:])
    row = {c: best[c] for c in ("term", "estimate", "std_error", "conf_low", "conf_high", "n", "method")}
    advice = {"advice": best["strategy"], "because": _described(best, baseline), "p_adjusted": best["p_adjusted"]}
    return {**row, **advice, "cost": best["_cost"], "flag": flags.join(best["flag"], equal, unknown)}


def _baseline_advice(baseline: str, because: str, flag: str) -> Record:
    """Advice to keep the baseline."""
    missing = {"estimate": math.nan, "n": math.nan, "p_adjusted": math.nan}
    return {"term": "difference", **missing, "advice": baseline, "because": because, "cost": 1.0, "flag": flag}


def _nearest(affordable: pd.DataFrame, baseline: str) -> str:
    """Reason to keep the baseline: the comparison with the smallest p."""
    gains = affordable[affordable["p_adjusted"].notna() & (affordable["estimate"] > 0)]
    if not len(gains):
        return "no comparison shows a gain"
    best = gains.sort_values(["p_adjusted", "p_value", "strategy"], kind="stable").iloc[0]
    return f"no comparison supports a gain; the nearest is {_described(best, baseline)}"


def _described(row: Column, baseline: str) -> str:
    """A comparison in words."""
    p, n = float(row["p_adjusted"]), float(row["n"])
    corrected = str(row.get("adjustment", "")).partition(",")[0]
    name = "" if corrected in ("", "unadjusted") else f"{corrected} "
    text = "p < .001" if p < 0.0005 else f"p = {p:.3f}".replace("0.", ".", 1)
    return f"{row['strategy']} vs {baseline}: {100 * row['estimate']:+.1f} pp, {name}{text}, n = {n:,.0f}"


def _strategies_flag(flag: flags.Flag, rows: pd.DataFrame) -> str:
    return flag.of(len(rows), what=", ".join(rows["strategy"].astype(str)))
