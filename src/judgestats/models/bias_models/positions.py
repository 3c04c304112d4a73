"""Position bias of judges adjusted for the quality of the contents: :func:`position_bias_model`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.arguments import checked_arguments
from judgestats.counting.patterns import TiesOfPositions
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, FitError
from judgestats.models.bias_models.calls import as_category, joined, ordered_labels, slotted
from judgestats.models.bias_models.effect_rows import ALL, effect_row, linear, points_row, ratio_row, spread_rows
from judgestats.models.bias_models.model_comparisons import (
    by_rule,
    comparisons,
    likelihood_ratio,
    student,
    tested,
    wald,
)
from judgestats.models.bias_models.reports import VerdictModel
from judgestats.models.estimation import fit
from judgestats.models.fits import Fit
from judgestats.results import estimates
from judgestats.schema.columns import By, names
from judgestats.typing import Floats, Record

FIRST = "first slot"
UNSIGNED = "first slot, (1|pair)"
#: Smallest number of judges without a flag of the variance between them.
ENOUGH = 5
SIGNED = " + (0 + order|pair)"
#: Judge-by-pair interaction.
BY_JUDGE = " + (0 + order|judge:pair)"
#: Shifts between groups that differ between judges.
SHIFTS = " + (1|judge:group)"
_SPREADS = {"pair": "sd(content)", "judge:pair": "sd(content|judge)", "judge": "sd(first slot|judge)"}


@checked_arguments
def position_bias_model(
    preferences: IntoFrame,
    *,
    attribute: str | Sequence[str] | None = None,
    by: By = None,
    ties: TiesOfPositions = "half",
    pooled: bool = True,
    unsigned: bool = False,
    conf_level: float = CONF_LEVEL,
) -> VerdictModel:
    """Log-odds of choosing the first slot for contents of equal quality: per judge, and pooled over judges.

    Parameters
    ----------
    preferences : frame
        Calls with a known order. Rows may carry a count ``n``.
    attribute : str or sequence of str, optional
        Numbers of both candidates, ``<attribute>_first`` and ``<attribute>_second`` (``length``): the slope on their
        difference, first minus second, per standard deviation of the difference over all calls.
    by : str or sequence of str, optional
        Columns (``strategy``, ``prompt``): a model for each group, and a test whether the slot bias differs between
        them.
    ties : {'half', 'drop', 'model'}
        A tie is half a vote for each slot (standard errors are then conservative); or excluded; or modelled:
        ``second < tie < first`` with thresholds symmetric around the slot bias (see :func:`tie_model`).
    pooled : bool
        Whether the judges are also pooled; needs two or more.
    unsigned : bool
        Whether the misspecified model ``(1|pair)`` is shown too, flagged.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    VerdictModel
        ``table``: per judge (and `by`) ``first slot`` as log-odds, odds ratio and percentage points (above one half, or
        with ties='model' the share of first minus the share of second), averaged over the contents; the attribute's
        slopes; ``sd(content)``, the effect of the contents; pooled also ``sd(content|judge)``, the judge-by-pair
        interaction, ``sd(first slot|judge)``, and the sd of each slope between judges. ``tests``: whether there is a
        slot bias, or a slope; whether the groups of `by`, or judges, differ; the column of `by` is empty text if groups
        are compared.

    Raises
    ------
    DesignError
        If the order is not known, a column is missing, or no call is valid.

    See Also
    --------
    judgestats.position_bias : Preference for the slot shown first.
    tie_model : Slot bias, criterion and resolution.

    Notes
    -----
    ``chosen first ~ 1 + (0 + order|pair)``, order = 1 if the candidate with the lower name is first, -1 if it is
    second. The better content changes slots with the order, so its effect has that sign. ``(1|pair)`` assumes the same
    effect in both orders, which contradicts the data: its variance goes to 0, and the log-odds shrink to those of an
    average over contents. In a simulation with 20,000 pairs in both orders, true slot bias 0.60 and contents of sd 2.0,
    the signed model gives 0.61 (standard error 0.015), ``(1|pair)`` gives 0.37 (0.010; 0.364 in the limit).
    One judge: numerical integration, refined until the result is stable. Several judges: Laplace's approximation,
    flagged with fewer than 5 calls per level. Judges are a sample there: they differ in the slot bias, in slopes, and
    (``(1|judge:group)``) in what a strategy does to it; intervals and tests of the means use t, or F, with one degree
    of freedom less than judges. A pair that was shown in one order only has no information on the content; if this
    holds for all pairs, the content is left out, flagged.

    Examples
    --------
    >>> import pandas as pd
    >>> answers = "f s f s  s f f f  f f f s  s f s f".split() * 5  # x, y, x, y first, four calls an item
    >>> choice = ["first" if a == "f" else "second" for a in answers]
    >>> calls = pd.DataFrame({"judge": "g", "item": [str(i // 4) for i in range(80)], "first": ["x", "y"] * 40,
    ...                       "second": ["y", "x"] * 40, "replicate": [0, 0, 1, 1] * 20, "choice": choice})
    >>> bias = position_bias_model(calls)
    >>> bias.table[["judge", "term", "scale", "estimate", "conf_low", "conf_high"]].round(2)
      judge         term              scale  estimate  conf_low  conf_high
    0     g   first slot           log-odds      1.32      0.33       2.31
    1     g   first slot         odds ratio      3.73      1.39      10.06
    2     g   first slot  percentage points     13.06      4.87      21.26
    3     g  sd(content)           log-odds      3.53      1.75       7.13
    """
    slopes, groups = names(attribute), names(by)
    counted = slotted(preferences, list(dict.fromkeys(["judge", *groups])), "position_bias_model", slopes, ties)
    table = _prepared(counted.table, slopes, groups)
    analysis = _Analysis(slopes, groups, ties, unsigned, conf_level)
    kinds = ordered_labels(table["group"])
    judges = sorted(set(table["judge"]))
    for name in [*judges, *([ALL] if pooled and len(judges) > 1 else [])]:
        calls = table if name == ALL else table[table["judge"] == name]
        for kind in kinds:
            _add_group(name, kind, calls[calls["group"] == kind], analysis)
        if len(kinds) > 1:
            _add_group_test(name, calls, kinds, analysis)
    for row in analysis.rows:
        row["flag"] = flags.join(row["flag"], counted.flag(None if row["judge"] == ALL else row["judge"]))
    frame = estimates(analysis.rows, ["judge", *groups], ["scale"], sort=False)
    return VerdictModel("Slot bias", analysis.fits, frame, comparisons(analysis.tests, ["judge", *groups]))


@dataclass(frozen=True)
class _Analysis:
    slopes: Sequence[str]
    groups: Sequence[str]
    ties: TiesOfPositions
    unsigned: bool
    conf_level: float
    rows: list[Record] = field(default_factory=list)
    tests: list[Record] = field(default_factory=list)
    fits: dict[str, Fit] = field(default_factory=dict)


def _prepared(table: pd.DataFrame, slopes: Sequence[str], groups: Sequence[str]) -> pd.DataFrame:
    """Labels as text, slopes standardised over all calls, `groups` as one column."""
    prepared = table.drop(columns=["first", "second"]).assign(judge=joined(table, ["judge"]), group="")
    if groups:
        prepared["group"] = joined(table, list(groups))
    n = table["n"].to_numpy()
    for k, name in enumerate(slopes):
        x = table[name].to_numpy(dtype=float)
        mean = (n @ x) / n.sum()
        sd = math.sqrt(n @ (x - mean) ** 2 / n.sum())
        if not sd > 0:
            raise DesignError(f"attribute={name!r}: the difference is the same in every call. Leave it out.")
        prepared[f"slope{k}"] = x / sd  # not centred: at 0 the candidates are equal
    return prepared


def _add_group(name: str, kind: str, table: pd.DataFrame, analysis: _Analysis) -> None:
    """Fit one judge, or all, in one group, and add its rows."""
    keys = {"judge": name}
    if len(table) and analysis.groups:
        keys |= {g: table[g].iloc[0] for g in analysis.groups}
    elif analysis.groups:
        keys |= dict.fromkeys(analysis.groups, kind)
    label = ", ".join([name, *([kind] if kind else [])])
    right, note = _random_part(table, name == ALL)
    slopes = "".join(f" + slope{k}" for k in range(len(analysis.slopes)))
    if name == ALL:
        right += "".join(f" + (0 + slope{k}|judge)" for k in range(len(analysis.slopes)))
    try:
        whole = _slot_fit(f"1{slopes}{right}", table, analysis)
    except (DesignError, FitError) as error:
        reason = flags.NO_DATA if not len(table) else flags.NOT_FITTED.of(reason=error)
        analysis.rows.append(
            {**keys, "term": FIRST, "estimate": math.nan, "n": float(table["n"].sum()), "flag": reason}
        )
        return
    analysis.fits[label] = whole
    rows = _slot_rows(whole, analysis)
    if analysis.unsigned and SIGNED in right:
        wrong = _slot_fit(f"1{slopes}{' + (1|pair)'}", table, analysis)
        analysis.fits[f"{label}, (1|pair)"] = wrong
        row = effect_row(wrong, _slot(wrong), UNSIGNED, analysis.conf_level)
        rows.append({**row, "flag": flags.join(flags.UNSIGNED_CONTENT, flags.join(*wrong.notes), row["flag"])})
    analysis.rows.extend({**r, **keys, "flag": flags.join(r["flag"], note)} for r in rows)
    analysis.tests.extend({**t, **keys} for t in _slot_tests(whole, table, slopes, right, analysis))


def _random_part(table: pd.DataFrame, pooled: bool) -> tuple[str, str]:
    """Random terms, and a flag."""
    sides = table[table["order"] != 0][["judge", "pair", "order"]].drop_duplicates()
    pairs = sides[["judge", "pair"]].drop_duplicates()
    random = " + (1|judge)" if pooled else ""
    if not len(sides) or sides["pair"].nunique() < 2:
        return random, ""
    if len(sides) == len(pairs):
        return random, flags.ONE_ORDER
    if pooled:
        return f"{random}{SIGNED}{BY_JUDGE}", flags.FEW_JUDGES if table["judge"].nunique() < ENOUGH else ""
    return SIGNED, ""


def _slot_fit(right: str, table: pd.DataFrame, analysis: _Analysis, larger: str = "") -> Fit:
    """Fit, with Laplace's approximation if the model `larger` needs it."""
    rule = by_rule((larger or right).count("|"))
    if analysis.ties != "model":
        return fit(f"chosen ~ {right}", table, counts="n", n_quadrature=rule)
    bare = right.removeprefix("1").removeprefix("0").removeprefix(" + ") or "1"
    bare = bare if not bare.startswith("(") else f"1 + {bare}"
    return fit(f"answer ~ {bare}", table, counts="n", family="cumulative", thresholds="symmetric", n_quadrature=rule)


def _slot(whole: Fit) -> Floats:
    """The slot bias as a function of the parameters."""
    return linear(whole, {"Intercept": 1.0} if not whole.distribution.ordered else {"midpoint": -1.0})


def _df(whole: Fit) -> float | None:
    """Degrees of freedom of a slot bias that varies between judges."""
    judges = [len(t.levels) for t in whole.design.terms if t.factor == "judge"]
    return judges[0] - 1.0 if judges else None


def _slot_rows(whole: Fit, analysis: _Analysis) -> list[Record]:
    df = _df(whole)
    slot = effect_row(whole, _slot(whole), FIRST, analysis.conf_level, df=df)
    rows = [slot, ratio_row(slot), _slot_points(whole, analysis, df)]
    for k, name in enumerate(analysis.slopes):
        if f"slope{k}" in whole.names:
            slope = _slope_row(whole, k, name, analysis.conf_level)
            rows += [slope, ratio_row(slope)]
    if "half-width" in whole.names:
        rows.append(effect_row(whole, linear(whole, {"half-width": 1.0}), "tie criterion", analysis.conf_level))
    by_judge = {f"slope{k}|judge": f"sd({name}, per sd|judge)" for k, name in enumerate(analysis.slopes)}
    return [*rows, *spread_rows(whole, _SPREADS | by_judge, analysis.conf_level)]


def _slope_row(whole: Fit, k: int, name: str, conf_level: float) -> Record:
    """The slope on attribute k, which varies between judges as the slot bias does."""
    return effect_row(whole, linear(whole, {f"slope{k}": 1.0}), f"{name}, per sd", conf_level, df=_df(whole))


def _slot_points(whole: Fit, analysis: _Analysis, df: float | None) -> Record:
    """Share of the first slot minus one half; with a tie model, share of first minus share of second."""
    if not whole.distribution.ordered:
        X = np.zeros((1, whole.n_fixed))
        X[0, whole.names.index("Intercept")] = 1.0
        return points_row(whole, X, None, FIRST, analysis.conf_level, df)
    # P(first) - P(second) = F(-upper) - F(lower), thresholds in place of fixed effects
    lower, upper = whole.thresholds.map[0][0], whole.thresholds.map[0][-1]
    pad = np.zeros((1, whole.n_fixed))
    state, base = np.hstack([pad, -upper[None]]), np.hstack([pad, lower[None]])
    return points_row(whole, state, base, FIRST, analysis.conf_level, df)


def _slot_tests(whole: Fit, table: pd.DataFrame, slopes: str, right: str, analysis: _Analysis) -> list[Record]:
    rows = [_no_bias(whole, table, slopes, right, analysis)]
    for k, name in enumerate(analysis.slopes):
        if (df := _df(whole)) is not None:
            row = _slope_row(whole, k, name, analysis.conf_level)
            rows.append(student(row, df, f"{name} matters", f"mean slope on {name} is 0"))
            continue
        without = _slot_fit(f"1{slopes.replace(f' + slope{k}', '')}{right}", table, analysis)
        rows.append(likelihood_ratio(without, whole, f"{name} matters", f"slope on {name} against none"))
    if " + (1|judge)" in right:
        alike = _slot_fit(f"1{slopes}{right.replace(' + (1|judge)', '')}", table, analysis, right)
        rows.append(likelihood_ratio(alike, whole, "judges differ", "with (1|judge) against without", variance=True))
    return rows


def _no_bias(whole: Fit, table: pd.DataFrame, slopes: str, right: str, analysis: _Analysis) -> Record:
    question, compared = "there is a slot bias", "with a slot bias against without"
    df = _df(whole)
    if not whole.distribution.ordered and df is None:
        return likelihood_ratio(_slot_fit(f"0{slopes}{right}", table, analysis), whole, question, compared)
    z = effect_row(whole, _slot(whole), FIRST, analysis.conf_level, df=df)
    if df is not None:  # like its interval, for judges as a sample
        return student(z, df, question, "mean slot bias is 0")
    square = (z["estimate"] / z["std_error"]) ** 2
    p = math.erfc(math.sqrt(square / 2)) if square == square else math.nan
    return tested(question, "slot bias is 0", "Wald", square, 1, math.nan, p, z["flag"])


def _add_group_test(name: str, table: pd.DataFrame, kinds: Sequence[str], analysis: _Analysis) -> None:
    """Test whether the slot bias differs between groups, with the same contents in all groups."""
    subset = table[table["group"].isin(kinds)]
    if subset["group"].nunique() < 2:
        return
    calls = subset.assign(group=as_category(subset["group"], ordered_labels(subset["group"])))
    right, _ = _random_part(subset, name == ALL)
    right += SHIFTS if name == ALL else ""
    slopes = "".join(f" + slope{k}" for k in range(len(analysis.slopes)))
    try:
        by_group = _slot_fit(f"1 + group{slopes}{right}", calls, analysis)
        common = None if name == ALL else _slot_fit(f"1{slopes}{right}", calls, analysis)
    except (DesignError, FitError):
        return
    analysis.fits[f"{name}, by {', '.join(analysis.groups)}"] = by_group
    question, compared = f"slot bias differs by {', '.join(analysis.groups)}", "one for each group against one for all"
    if common is not None:
        row = likelihood_ratio(common, by_group, question, compared)
    else:  # like its mean, for judges as a sample
        shifts = [linear(by_group, {n: 1.0}) for n in by_group.design.names if n.startswith("group[")]
        row = wald(by_group, np.array(shifts), question, compared, calls["judge"].nunique() - 1.0)
    analysis.tests.append({**row, "judge": name})
