"""Effects of judging strategies on accuracy: :func:`strategy_effects`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, FitError, confidence, suggestion
from judgestats.models.bias_models.calls import Calls, as_category, joined, ordered_labels, scored
from judgestats.models.bias_models.effect_rows import ALL, Row, effect_row, linear, points_row, ratio_row, spread_rows
from judgestats.models.bias_models.model_comparisons import by_rule, comparisons, likelihood_ratio, wald
from judgestats.models.bias_models.reports import VerdictModel
from judgestats.models.coding.model_frames import columns
from judgestats.models.estimation import fit
from judgestats.models.fits import Fit
from judgestats.results import estimates
from judgestats.schema.columns import COUNTS, By, N, names

#: Smallest number of judges for a variance of the effects between them.
ENOUGH = 5
VARYING = " + (1|judge:strategy)"
_SPREADS = {
    "item": "sd(item)",
    "judge": "sd(judge)",
    "judge:strategy": "sd(strategy|judge)",
    "judge:item": "sd(judge:item)",
}


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
        the pooled model. ``tests``: whether strategies matter at all; whether their effects differ between judges (a
        variance), and between benchmarks (likelihood ratio and Wald). A judge without the baseline, or with one
        strategy, has a row with NaN and the flag ``no data``.

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
    it, the interval uses t with one degree of freedom less than judges: in 100 simulations with 6 judges and
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
    confidence(conf_level)
    found, table, has_item = _read(data, outcome, strategy, item, judge, benchmark, ties, invalid)
    known = set(table["strategy"])
    if baseline not in known:
        raise DesignError(
            f"baseline={baseline!r} is not a value of {strategy!r}. Values: {', '.join(sorted(known))}."
            f"{suggestion(str(baseline), known)}"
        )
    rows: list[Row] = []
    tests: list[Row] = []
    fits: dict[str, Fit] = {}
    judges = sorted(set(table["judge"]))
    for name in judges:
        here = table[table["judge"] == name]
        _judged(name, here, baseline, has_item, benchmark is not None, conf_level, rows, tests, fits)
    if pooled and len(judges) > 1:
        _judged(ALL, table, baseline, has_item, benchmark is not None, conf_level, rows, tests, fits)
    by = ["judge", *([benchmark] if benchmark else [])]
    for row in rows:
        row["flag"] = flags.join(
            row["flag"], found.flag(None if row["judge"] == ALL else row["judge"]), None if has_item else flags.NO_ITEMS
        )
        if benchmark:
            row[benchmark] = row.pop("benchmark", "")
    made = estimates(rows, by, ["scale"], sort=False)
    return VerdictModel(f"Accuracy by strategy, against {baseline}", fits, made, comparisons(tests, ["judge"]))


def _read(
    data: Any, outcome: str, strategy: str, item: By, judge: str, benchmark: str | None, ties: str, invalid: str
) -> tuple[Calls, pd.DataFrame, bool]:
    present = columns(data)
    items = names(item)
    tallied = bool({N, COUNTS} & {*present}) and not set(items) & set(present)
    wanted = [judge, strategy, *([benchmark] if benchmark else []), *([] if tallied else items)]
    found = scored(data, outcome, wanted, judge, "strategy_effects", ties, invalid)
    labelled = {"judge": joined(found.table, [judge]), "strategy": joined(found.table, [strategy])}
    table = pd.DataFrame({**labelled, "correct": found.table["correct"], "n": found.table["n"]})
    if benchmark:
        table["benchmark"] = joined(found.table, [benchmark])
    if not tallied:
        table["item"] = joined(found.table, [*([benchmark] if benchmark else []), *items])
    return found, table, not tallied


def _judged(
    name: str, table: pd.DataFrame, baseline: str, has_item: bool, crossed: bool, conf_level: float,
    rows: list[Row], tests: list[Row], fits: dict[str, Fit],
) -> None:  # fmt: skip
    """Fit a judge, or all of them, and add its rows."""
    levels = ordered_labels(table["strategy"], baseline)
    no_estimate = {"judge": name, "term": "strategy", "estimate": math.nan, "n": float(table["n"].sum())}
    if baseline not in set(table["strategy"]) or len(levels) < 2:
        rows.append({**no_estimate, "flag": flags.NO_DATA})
        return
    calls = table.assign(strategy=as_category(table["strategy"], levels))
    benches: Sequence[str] = ordered_labels(table["benchmark"]) if crossed else ()
    crossed = len(benches) > 1
    if crossed:
        calls["benchmark"] = as_category(table["benchmark"], benches)
    random, note = _random(calls, name == ALL, has_item)
    plain = "strategy + benchmark" if crossed else "strategy"
    try:
        whole = _fit(f"strategy * benchmark{random}" if crossed else f"{plain}{random}", calls)
        none = _fit(f"{'benchmark' if crossed else '1'}{random}", calls)
    except (DesignError, FitError) as error:
        rows.append({**no_estimate, "flag": flags.NOT_FITTED.of(reason=error)})
        return
    fits[name] = whole
    df = table["judge"].nunique() - 1.0 if VARYING in random else None
    for bench in benches or ("",):
        found = _effects(whole, levels, bench if crossed else "", conf_level, df)
        rows += [{**r, "judge": name, "benchmark": bench, "flag": flags.join(r["flag"], note)} for r in found]
    rows += [
        {**r, "judge": name, "flag": flags.join(r["flag"], note)} for r in spread_rows(whole, _SPREADS, conf_level)
    ]
    steady = whole
    if crossed:
        steady = _fit(f"{plain}{random}", calls)
        fits[f"{name}, no interaction"] = steady
        tests += [{**t, "judge": name} for t in _interaction(steady, whole)]
    tests += [{**t, "judge": name} for t in _main(calls, plain, random, steady, none, levels)]


def _random(table: pd.DataFrame, pooled: bool, has_item: bool) -> tuple[str, str]:
    """Random terms, and a flag."""
    random = " + (1|item)" if has_item and table["item"].nunique() > 1 else ""
    if not pooled:
        return random, ""
    judges = table["judge"].nunique()
    random += " + (1|judge)"
    if has_item and table["n"].sum() > 1.5 * len(table[["judge", "item"]].drop_duplicates()):
        random += " + (1|judge:item)"
    if judges >= ENOUGH:
        return random + VARYING, ""
    return random, flags.FEW_JUDGES_EQUAL


def _fit(right: str, table: pd.DataFrame, beside: str = "") -> Fit:
    """Fit, with Laplace's approximation if the larger model `beside` needs it."""
    return fit(f"correct ~ {right}", table, counts="n", n_quadrature=by_rule((beside or right).count("|")))


def _effects(whole: Fit, levels: Sequence[str], bench: str, conf_level: float, df: float | None) -> list[Row]:
    """Effect of each strategy, in three units."""

    def coded(strategy: str) -> Any:
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


def _interaction(steady: Fit, whole: Fit) -> list[Row]:
    """Tests whether effects differ between benchmarks."""
    terms = [n for n in whole.design.names if ":" in n and n not in steady.design.names]
    C = np.array([linear(whole, {n: 1.0}) for n in terms]).reshape(len(terms), len(whole.params))
    question, compared = "effects differ between benchmarks", "strategy * benchmark against strategy + benchmark"
    return [likelihood_ratio(steady, whole, question, compared), wald(whole, C, question, compared)]


def _main(table: pd.DataFrame, plain: str, random: str, steady: Fit, none: Fit, levels: Sequence[str]) -> list[Row]:
    """Tests whether strategies matter, and whether judges differ in their effects."""
    compared = f"{plain} against without strategy"
    if VARYING in random:
        equal = _fit(plain + random.replace(VARYING, ""), table, random)
        with_variance = "with (1|judge:strategy) against without"
        return [
            likelihood_ratio(equal, steady, "effects differ between judges", with_variance, variance=True),
            likelihood_ratio(none, steady, "strategies matter on average", compared),
        ]
    terms = [n for n in steady.design.names if n.startswith("strategy[") and ":" not in n.split("]", 1)[1]]
    C = np.array([linear(steady, {n: 1.0}) for n in terms]).reshape(len(terms), len(steady.params))
    return [
        likelihood_ratio(none, steady, "strategies matter", compared),
        wald(steady, C, "strategies matter", f"{', '.join(levels[1:])} all 0"),
    ]
