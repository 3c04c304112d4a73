"""Power of a plan by simulation, and in closed form the smallest effect that a comparison of strategies detects."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import ArrayLike
from scipy.special import ndtri

from judgestats import flags
from judgestats.arguments import checked_arguments
from judgestats.defaults import CONF_LEVEL, SEED
from judgestats.design.judges import Judge, changed, named_judges
from judgestats.design.plans import Plan
from judgestats.design.simulation import Judges, simulate
from judgestats.errors import DesignError, JudgestatsError, suggestion
from judgestats.kernels.proportions import wilson
from judgestats.kernels.resampling import generator
from judgestats.methods import MCNEMAR, SIMULATED
from judgestats.metrics.measure_registry import measures
from judgestats.results import COLUMNS, estimates
from judgestats.typing import Record

#: Columns of a result that do not say which row it is.
_VALUES = {*COLUMNS, "df", "statistic", "p_value"} - {"term"}


def power(
    plan: Plan | IntoFrame,
    judges: Judges,
    measure: Callable[[pd.DataFrame], pd.DataFrame] | str,
    *,
    null: float = 0.0,
    replications: int = 1000,
    seed: int | np.random.Generator = SEED,
    conf_level: float = CONF_LEVEL,
    processes: int = 1,
    progress: bool = False,
) -> pd.DataFrame:
    """How often the interval of a measure excludes a value, if judges answer a plan as stated.

    Parameters
    ----------
    plan : Plan or frame
        What is asked: a plan, or a frame without answers as for :func:`judgestats.design.simulate`.
    judges : Judge, list of Judge, or mapping
        Who answers, with planted properties.
    measure : callable or str
        Answers -> estimates with intervals: a public measure by its name, or any function of the frame, such as
        ``lambda calls: js.dark_current(calls, cluster=False)`` or ``lambda calls: js.fit(formula, calls).tidy()``.
    null : float
        The value that an interval has to exclude.
    replications : int
        Simulated studies.
    seed : int or Generator
        Seed of the simulated studies.
    conf_level : float
        Level of the Monte Carlo interval of the power.
    processes : int
        Processes that share the work.
    progress : bool
        Show a progress bar, where there is a terminal.

    Returns
    -------
    pandas.DataFrame
        A row per row of the measure's result: its columns (``judge``, ``term``, ...; numbers where only they tell rows
        apart, the steps of a ladder, say), ``estimate``: the power,
        ``std_error``, ``conf_low`` and ``conf_high``: its Monte Carlo error (Wilson), ``n``: replications, ``method``,
        ``flag``; ``mean_estimate``, ``sd_estimate`` and ``mean_width`` of the measure over replications.

    Raises
    ------
    DesignError
        If the measure is not known, gives no intervals, or fails in every replication.

    See Also
    --------
    detectable : Smallest property that is detected.
    simulate : Judges with planted properties.

    Examples
    --------
    >>> from judgestats.design import vacuum
    >>> import judgestats as js
    >>> found = power(vacuum("m"), Judge("m", dark_current=0.2), js.dark_current, null=0.1, replications=20)
    >>> bool(found.set_index("vacuum_kind").loc["all", "estimate"] > 0.5)
    True
    """
    if not isinstance(replications, int) or replications < 1:
        raise DesignError(f"replications={replications!r} is not a number of studies. Allowed: 1 or more.")
    by_name = named_judges(judges)
    calls = plan.calls if isinstance(plan, Plan) else plan
    answer = _measure(measure)
    rng = generator(seed, ("power",))
    seeds = rng.integers(2**62, size=replications).tolist()
    if processes > 1:
        from joblib import Parallel, delayed  # type: ignore[import-untyped]

        parts = [seeds[i::processes] for i in range(processes)]
        done = Parallel(n_jobs=processes)(delayed(_studies)(calls, by_name, answer, part, False) for part in parts)
        results = [row for part in done for row in part]
    else:
        results = _studies(calls, by_name, answer, seeds, progress)
    return _power(results, null, replications, conf_level)


@checked_arguments
def detectable(
    plan: Plan | IntoFrame,
    judge: Judge,
    measure: Callable[[pd.DataFrame], pd.DataFrame] | str,
    property: str,
    values: Iterable[float],
    *,
    target: float = 0.8,
    **options: Any,
) -> pd.DataFrame:
    """Power for several values of one planted property: the smallest that is detected often enough.

    Parameters
    ----------
    plan, judge, measure
        As for :func:`power`.
    property : str
        The property of the judge that varies, such as ``dark_current``, ``slot_bias`` or ``target_preference``.
    values : sequence of float
        Its values, in increasing order of the effect.
    target : float
        Power that is enough.
    **options
        Further arguments of :func:`power`.

    Returns
    -------
    pandas.DataFrame
        The rows of :func:`power` with a column of the property, and ``enough``: whether the power is at least `target`.
        The minimum detectable effect is the first value with ``enough``; the study cannot show anything smaller.

    Raises
    ------
    DesignError
        If the judge has no such property, or no value is given.

    See Also
    --------
    power : Power of a plan.
    minimum_detectable_effect : Difference that McNemar's test detects.

    Examples
    --------
    >>> from judgestats.design import vacuum
    >>> found = detectable(vacuum("m"), Judge("m"), "dark_current", "dark_current", [0.1, 0.5], null=0.1,
    ...                    replications=5)
    >>> found.query("vacuum_kind == 'all'")[["dark_current", "enough"]].to_numpy().tolist()
    [[0.1, False], [0.5, True]]
    """
    if not (tried := list(values)):
        raise DesignError("values= is empty. Give the values of the property to try.")
    parts = []
    for value in tried:
        planted = changed(judge, {property: value}, f"Judge {judge.name!r}")
        parts.append(power(plan, planted, measure, **options).assign(**{property: value}))
    table = pd.concat(parts, ignore_index=True)
    return table.assign(enough=table["estimate"] >= target)


def _measure(measure: Callable[[pd.DataFrame], pd.DataFrame] | str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """A function of the answers; a public measure by its name."""
    if not isinstance(measure, str):
        return measure
    functions = {m.function.__name__: m.function for m in measures().values()}
    if measure not in functions:
        raise DesignError(
            f"There is no measure {measure!r}.{suggestion(measure, functions)} Or give a function of the answers."
        )
    return functions[measure]


def _studies(
    calls: IntoFrame,
    judges: Mapping[str, Judge],
    measure: Callable[[pd.DataFrame], pd.DataFrame],
    seeds: Sequence[int],
    progress: bool,
) -> list[pd.DataFrame | JudgestatsError]:
    """The result of each simulated study, or why there is none."""
    if progress and sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import track

        seeds = track(seeds, "Simulating studies", console=Console(stderr=True))  # type: ignore[assignment]
    results: list[pd.DataFrame | JudgestatsError] = []
    for seed in seeds:
        try:
            results.append(measure(simulate(calls, list(judges.values()), seed=seed)))
        except JudgestatsError as problem:
            results.append(problem)
    return results


def _keys(tables: Sequence[pd.DataFrame]) -> list[str]:
    """Columns that tell rows of a result apart: those that are no numbers; failing that, steps alike in all studies."""
    columns = [c for c in tables[0].columns if c not in _VALUES]
    keys = [c for c in columns if not any(pd.api.types.is_float_dtype(t[c]) for t in tables)]
    apart = [t.assign(_row=0).duplicated([*keys, "_row"]).any() for t in tables]
    if not any(apart):
        return keys
    steps = {c: [np.unique(t[c]) for t in tables] for c in columns if c not in keys}
    alike = {c for c, values in steps.items() if all(np.array_equal(v, values[0], equal_nan=True) for v in values)}
    keys = [c for c in columns if c in keys or c in alike]
    if any(t.assign(_row=0).duplicated([*keys, "_row"]).any() for t in tables):
        what = " x ".join(keys) or "study"
        raise DesignError(f"The measure gives several rows for one {what}. Name its rows, in a column of text.")
    return keys


def _power(
    results: Sequence[pd.DataFrame | JudgestatsError], null: float, replications: int, conf_level: float
) -> pd.DataFrame:
    """Share of studies whose interval excludes the value, for each row of their results."""
    if not (tables := [t for t in results if isinstance(t, pd.DataFrame)]):
        raise DesignError(f"The measure failed in every study: {results[0]}")
    if absent := [c for c in ("estimate", "conf_low", "conf_high") if c not in tables[0]]:
        raise DesignError(f"The measure gives no column {absent[0]!r}. Give one with estimates and intervals.")
    every = pd.concat(tables, ignore_index=True)
    keys = _keys(tables)
    low, high = every["conf_low"], every["conf_high"]
    every = every.assign(_detected=(low > null) | (high < null), _width=high - low, _known=low <= high)
    rows = []
    for key, part in every.groupby(keys, dropna=False, sort=True) if keys else [((), every)]:
        k = int(part["_detected"].sum())
        share = k / replications
        ends = wilson(float(k), float(replications), conf_level)
        row: Record = dict(zip(keys, key if isinstance(key, tuple) else (key,), strict=True))
        row |= {"estimate": share, "std_error": float(np.sqrt(share * (1 - share) / replications))}
        row |= {"conf_low": float(ends[0]), "conf_high": float(ends[1]), "n": float(replications)}
        failed = replications - int(part["_known"].sum())
        row |= {"method": SIMULATED.on("Wilson"), "flag": flags.join(flags.STUDIES_WITHOUT_INTERVAL.of(failed))}
        row |= {"mean_estimate": part["estimate"].mean(), "sd_estimate": part["estimate"].std()}
        rows.append({**row, "mean_width": part["_width"].mean()})
    return pd.DataFrame(rows)


def minimum_detectable_effect(
    n: ArrayLike,
    *,
    discordance: ArrayLike | None = None,
    discordant: ArrayLike | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
) -> pd.DataFrame:
    """Smallest difference of two accuracies on the same items that McNemar's test detects with given power.

    Parameters
    ----------
    n : int or array_like
        Number of items.
    discordance : float or array_like
        Share of items that one condition gets right and the other wrong, assumed or from a pilot.
    discordant : int or array_like
        Number of these items, in place of their share.
    alpha : float
        Two-sided level of the test.
    power : float
        Probability of detecting a difference of that size.

    Returns
    -------
    pandas.DataFrame
        Term ``minimum_detectable_effect``, one row for each broadcast value of `n` and the discordance, with
        ``discordance``, ``alpha`` and ``power``. NaN with a flag where even all discordant items on one side would not
        suffice.

    Raises
    ------
    DesignError
        If not exactly one of `discordance` and `discordant` is given, or a number is out of range.

    See Also
    --------
    power : Power of a plan.
    detectable : Smallest property that is detected.

    Notes
    -----
    Debiasing paper, Appendix D: delta solves ``z1 sqrt(psi) + z2 sqrt(psi - delta**2) = delta sqrt(n)`` with z1 the
    normal quantile of ``1 - alpha/2`` and z2 that of the power. Hence
    ``delta = sqrt(psi) (z1 sqrt(n) + z2 sqrt(n + z2**2 - z1**2)) / (n + z2**2)``.

    Examples
    --------
    >>> minimum_detectable_effect(400, discordant=[40, 50])[["estimate", "n", "discordance"]].round(4)
       estimate      n  discordance
    0    0.0442  400.0        0.100
    1    0.0494  400.0        0.125
    """
    if (discordance is None) == (discordant is None):
        raise DesignError("Give the share of discordant items (discordance=) or their number (discordant=), not both.")
    share = discordance if discordance is not None else discordant
    try:
        size, psi = (np.atleast_1d(x).astype(float) for x in np.broadcast_arrays(np.asarray(n), np.asarray(share)))
    except (TypeError, ValueError):
        raise DesignError("n and the discordance are numbers, or lists of one length. Got something else.") from None
    if not ((size > 0) & np.isfinite(size)).all():
        raise DesignError("n is a number of items: it must be above 0.")
    if discordance is None:
        psi = psi / size
    if not ((psi > 0) & (psi <= 1)).all():
        raise DesignError(
            f"A share of discordant items must be above 0 and at most 1. Got {psi.min():g} to {psi.max():g}."
        )
    if not (0 < alpha < 1 and 0 < power < 1):
        raise DesignError(f"alpha={alpha} and power={power} must lie between 0 and 1.")
    z1, z2 = float(ndtri(1 - alpha / 2)), float(ndtri(power))
    with np.errstate(invalid="ignore"):
        delta = np.sqrt(psi) * (z1 * np.sqrt(size) + z2 * np.sqrt(size + z2**2 - z1**2)) / (size + z2**2)
    attainable = delta <= psi
    rows = pd.DataFrame({"estimate": np.where(attainable, delta, np.nan), "n": size, "discordance": psi})
    rows["flag"] = np.where(attainable, "", flags.BEYOND)
    same = {"term": "minimum_detectable_effect", "method": MCNEMAR.on("normal approximation")}
    rows = rows.assign(**same, alpha=alpha, power=power)
    return estimates(rows.to_dict("records"), extra=("discordance", "alpha", "power"))
