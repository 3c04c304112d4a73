"""Effects of judging strategies on accuracy: :func:`strategy_effects`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.arguments import checked_arguments
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, FitError, suggestion
from judgestats.models.bias_models.calls import ModelCalls, as_category, joined, ordered_labels, scored
from judgestats.models.bias_models.effect_rows import ALL, effect_row, linear, points_row, ratio_row, spread_rows
from judgestats.models.bias_models.model_comparisons import by_rule, comparisons, likelihood_ratio, wald
from judgestats.models.bias_models.reports import VerdictModel
from judgestats.models.coding.model_frames import columns
from judgestats.models.estimation import fit
from judgestats.models.fits import Fit
from judgestats.results import estimates
from judgestats.schema.columns import COUNTS, By, N, names
from judgestats.typing import Floats, Record

#: Smallest number of judges for a variance of the effects between them.
ENOUGH = 5
VARYING, VARYING_BY_BENCHMARK = " + (1|judge:strategy)", " + (1|judge:strategy:benchmark)"
_SPREADS = {
    "item": "sd(item)",
    "judge": "sd(judge)",
    "judge:strategy": "sd(strategy|judge)",
    "judge:strategy:benchmark": "sd(strategy:benchmark|judge)",
    "judge:item": "sd(judge:item)",
}


@checked_arguments
def strategy_effects(
    data: IntoFrame,
    *,
    outcome: str = "correct",
    strategy: str = "strategy",
    baseline: str,
    item: By = "item",
    judge: str = "judge",
    benchmark: str | None = None,
    pooled: bool = True,
    ties: str = "exact",
    invalid: str = "drop",
    conf_level: float = CONF_LEVEL,
) -> VerdictModel:
    """Effect of each strategy on accuracy, against a baseline: per judge, and pooled over judges.

    Parameters
    ----------
    data : frame
        Calls with a column `outcome` (0 and 1, or the outcomes of a tally), or preferences with a column ``gold``. Or a
        tally of them with counts ``n``; without the column `item`, calls are taken as independent.
    outcome, strategy, judge : str
        Columns.
    baseline : str
        The strategy that the others are compared with.
    item : str or sequence of str
        Column, or columns, of what is judged; with `benchmark`, items are nested in benchmarks.
    benchmark : str, optional
        Column of benchmarks: an effect for each, and tests whether the effects differ between them.
    pooled : bool
        Whether the judges are also pooled; needs two or more.
    ties : {'exact', 'drop'}
        Whether a tie is wrong or excluded if the gold is a candidate.
    invalid : {'drop', 'wrong'}
        Whether an invalid call is excluded or wrong.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    VerdictModel
        ``table``: per judge (and benchmark) and strategy the log-odds against the baseline, their odds ratio, and
        percentage points: the change of the share of correct calls, averaged over items (and, pooled, over judges);
        ``n`` is the number of calls in the model. Then the standard deviations of the random effects. ``all judges`` is
        the pooled model. ``tests``: whether strategies matter at all; whether their effects differ between judges (one
        variance, or two if there are benchmarks), and between benchmarks (likelihood ratio and Wald). A judge without
        the baseline, or with one strategy, has a row with NaN and the flag ``no data``.

    Raises
    ------
    DesignError
        If a column is missing, or no judge was asked with `baseline`.

    See Also
    --------
    judgestats.compare_strategies : Accuracy of strategies on the same pairs.
    judgestats.hierarchical.strategies : Bayesian effects of strategies.

    Notes
    -----
    Per judge ``correct ~ strategy + (1|item)``, `baseline` the reference, by numerical integration. Pooled
    ``correct ~ strategy + (1|judge) + (1|item)``, with ``(1|judge:item)`` if a judge answers an item more than once,
    and with ``(1|judge:strategy)`` for 5 judges or more: without it a pooled effect refers to these judges only. With
    it, and with ``(1|judge:strategy:benchmark)`` if there are benchmarks, intervals and tests use t and F with one
    degree of freedom less than judges: in 100 simulations with 6 judges and
    sd(strategy|judge) 0.4, 95 % intervals from the normal distribution included the true value 88 times, those from t
    99 times; with 12 judges 91 and 91 times.
    The debiasing paper (Appendix D, Table 5) states the first model and prints a linear one, in probability units:
    ``fit("correct ~ strategy + (1|item)", data, engine="lpm")``. Log-odds are those of one item; percentage points are
    averages, and move less where items differ more.

    Examples
    --------
    >>> import pandas as pd
    >>> counts = pd.DataFrame({"judge": "g", "strategy": ["B0", "B0", "S8", "S8"],
    ...                        "outcome": ["correct", "wrong"] * 2, "n": [60, 40, 80, 20]})
    >>> effects = strategy_effects(counts, baseline="B0")
    >>> effects.table[["judge", "term", "scale", "estimate", "conf_low", "conf_high"]].round(3)
      judge term              scale  estimate  conf_low  conf_high
    0     g   S8           log-odds     0.981     0.348      1.613
    1     g   S8         odds ratio     2.667     1.417      5.020
    2     g   S8  percentage points    20.000     7.604     32.396
    """
    calls, table, has_item = _accuracy_table(data, outcome, strategy, item, judge, benchmark, ties, invalid)
    strategies = set(table["strategy"])
    if baseline not in strategies:
        raise DesignError(
            f"baseline={baseline!r} is not a value of {strategy!r}. Values: {', '.join(sorted(strategies))}."
            f"{suggestion(str(baseline), strategies)}"
        )
    rows: list[Record] = []
    tests: list[Record] = []
    fits: dict[str, Fit] = {}
    judges = sorted(set(table["judge"]))
    for name in [*judges, *([ALL] if pooled and len(judges) > 1 else [])]:
        of_judge = table if name == ALL else table[table["judge"] == name]
        own, compared, fitted = _judge_results(name, of_judge, baseline, has_item, benchmark is not None, conf_level)
        note = flags.join(calls.flag(None if name == ALL else name), None if has_item else flags.NO_ITEMS)
        rows += [{**row, "judge": name, "flag": flags.join(row["flag"], note)} for row in own]
        tests += [{**test, "judge": name} for test in compared]
        fits |= fitted
    by = ["judge", *([benchmark] if benchmark else [])]
    for row in rows if benchmark else ():
        row[str(benchmark)] = row.pop("benchmark", "")
    frame = estimates(rows, by, ["scale"], sort=False)
    return VerdictModel(f"Accuracy by strategy, against {baseline}", fits, frame, comparisons(tests, ["judge"]))


def _accuracy_table(
    data: IntoFrame, outcome: str, strategy: str, item: By, judge: str, benchmark: str | None, ties: str, invalid: str
) -> tuple[ModelCalls, pd.DataFrame, bool]:
    present = columns(data)
    items = names(item)
    tallied = bool({N, COUNTS} & {*present}) and not set(items) & set(present)
    wanted = [judge, strategy, *([benchmark] if benchmark else []), *([] if tallied else items)]
    calls = scored(data, outcome, wanted, judge, "strategy_effects", ties, invalid)
    labelled = {"judge": joined(calls.table, [judge]), "strategy": joined(calls.table, [strategy])}
    table = pd.DataFrame({**labelled, "correct": calls.table["correct"], "n": calls.table["n"]})
    if benchmark:
        table["benchmark"] = joined(calls.table, [benchmark])
    if not tallied:
        table["item"] = joined(calls.table, [*([benchmark] if benchmark else []), *items])
    return calls, table, not tallied


def _judge_results(
    name: str, table: pd.DataFrame, baseline: str, has_item: bool, crossed: bool, conf_level: float
) -> tuple[list[Record], list[Record], dict[str, Fit]]:
    """Rows, tests and fits of a judge, or of all of them."""
    levels = ordered_labels(table["strategy"], baseline)
    no_estimate = {"term": "strategy", "estimate": math.nan, "n": float(table["n"].sum())}
    if baseline not in set(table["strategy"]) or len(levels) < 2:
        return [{**no_estimate, "flag": flags.NO_DATA}], [], {}
    calls = table.assign(strategy=as_category(table["strategy"], levels))
    benches: Sequence[str] = ordered_labels(table["benchmark"]) if crossed else ()
    crossed = len(benches) > 1
    if crossed:
        calls["benchmark"] = as_category(table["benchmark"], benches)
    random, note = _random_terms(calls, name == ALL, has_item, crossed)
    plain = "strategy + benchmark" if crossed else "strategy"
    try:
        whole = _accuracy_fit(f"strategy * benchmark{random}" if crossed else f"{plain}{random}", calls)
        none = _accuracy_fit(f"{'benchmark' if crossed else '1'}{random}", calls)
    except (DesignError, FitError) as error:
        return [{**no_estimate, "flag": flags.NOT_FITTED.of(reason=error)}], [], {}
    rows: list[Record] = []
    df = table["judge"].nunique() - 1.0 if VARYING in random else None
    for bench in benches or ("",):
        effects = _strategy_rows(whole, levels, bench if crossed else "", conf_level, df)
        rows += [{**r, "benchmark": bench} for r in effects]
    rows = [{**r, "flag": flags.join(r["flag"], note)} for r in (*rows, *spread_rows(whole, _SPREADS, conf_level))]
    if not crossed:
        return rows, _main_tests(calls, plain, random, whole, none, levels, df), {name: whole}
    steady = _accuracy_fit(f"{plain}{random}", calls)
    tests = [*_interaction_tests(steady, whole, df), *_main_tests(calls, plain, random, steady, none, levels, df)]
    return rows, tests, {name: whole, f"{name}, no interaction": steady}


def _random_terms(table: pd.DataFrame, pooled: bool, has_item: bool, crossed: bool) -> tuple[str, str]:
    """Random terms, and a flag."""
    random = " + (1|item)" if has_item and table["item"].nunique() > 1 else ""
    if not pooled:
        return random, ""
    judges = table["judge"].nunique()
    random += " + (1|judge)"
    if has_item and table["n"].sum() > 1.5 * len(table[["judge", "item"]].drop_duplicates()):
        random += " + (1|judge:item)"
    if judges >= ENOUGH:
        return random + VARYING + VARYING_BY_BENCHMARK * crossed, ""
    return random, flags.FEW_JUDGES_EQUAL


def _accuracy_fit(right: str, table: pd.DataFrame, larger: str = "") -> Fit:
    """Fit, with Laplace's approximation if the model `larger` needs it."""
    return fit(f"correct ~ {right}", table, counts="n", n_quadrature=by_rule((larger or right).count("|")))


def _strategy_rows(whole: Fit, levels: Sequence[str], bench: str, conf_level: float, df: float | None) -> list[Record]:
    """Effect of each strategy, in three units."""

    def coded(strategy: str) -> Floats:
        grid = pd.DataFrame({"strategy": as_category(pd.Series([strategy]), levels)})
        if bench:
            kinds = list(whole.design.fixed.coder.factors["benchmark"])
            grid["benchmark"] = as_category(pd.Series([bench]), kinds)
        return whole.design.fixed.coder.matrix(grid)

    rows, base = [], coded(levels[0])
    frame = whole.design.frame
    there = set((frame[frame["benchmark"] == bench] if bench else frame)["strategy"])
    for level in levels[1:]:
        if level not in there or levels[0] not in there:
            rows.append({"term": level, "estimate": math.nan, "n": 0.0, "flag": flags.NO_DATA, "scale": "log-odds"})
            continue
        X = coded(level)
        c = np.concatenate([(X - base)[0], np.zeros(len(whole.params) - whole.n_fixed)])
        odds = effect_row(whole, c, level, conf_level, df=df)
        rows += [odds, ratio_row(odds), points_row(whole, X, base, level, conf_level, df)]
    return rows


def _interaction_tests(steady: Fit, whole: Fit, df: float | None) -> list[Record]:
    """Tests whether effects differ between benchmarks; with `df`, for judges as a sample."""
    terms = [n for n in whole.design.names if ":" in n and n not in steady.design.names]
    C = np.array([linear(whole, {n: 1.0}) for n in terms]).reshape(len(terms), len(whole.params))
    question, compared = "effects differ between benchmarks", "strategy * benchmark against strategy + benchmark"
    if df is not None:
        return [wald(whole, C, question, compared, df)]
    return [likelihood_ratio(steady, whole, question, compared), wald(whole, C, question, compared)]


def _main_tests(
    table: pd.DataFrame, plain: str, random: str, steady: Fit, none: Fit, levels: Sequence[str], df: float | None
) -> list[Record]:
    """Tests whether strategies matter, with `df` for judges as a sample, and whether judges differ in their effects."""
    compared = f"{plain} against without strategy"
    terms = [n for n in steady.design.names if n.startswith("strategy[") and ":" not in n.split("]", 1)[1]]
    C = np.array([linear(steady, {n: 1.0}) for n in terms]).reshape(len(terms), len(steady.params))
    if df is not None:
        varying = [t for t in (VARYING, VARYING_BY_BENCHMARK) if t in random]
        equal = _accuracy_fit(plain + random.removesuffix("".join(varying)), table, random)
        with_variance = f"with {' and '.join(t.removeprefix(' + ') for t in varying)} against without"
        return [
            likelihood_ratio(equal, steady, "effects differ between judges", with_variance, variance=True),
            wald(steady, C, "strategies matter on average", compared, df),
        ]
    return [
        likelihood_ratio(none, steady, "strategies matter", compared),
        wald(steady, C, "strategies matter", f"{', '.join(levels[1:])} all 0"),
    ]
