"""Power of a plan by simulation: how often a measure's interval excludes a value, if judges answer as stated."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.defaults import CONF_LEVEL, SEED
from judgestats.design.judges import Judge, changed, named_judges
from judgestats.design.plans import Plan
from judgestats.design.simulation import Judges, simulate
from judgestats.errors import DesignError, JudgestatsError, suggestion
from judgestats.kernels.proportions import wilson
from judgestats.kernels.resampling import generator
from judgestats.metrics.measure_registry import measures
from judgestats.results import COLUMNS

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
        Seed of all of them.
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
    >>> bool(found.set_index("vacuum_kind").loc["all", "estimate"] > 0.7)
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
    tried = list(values)
    if not tried:
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
    tables = [t for t in results if isinstance(t, pd.DataFrame)]
    if not tables:
        raise DesignError(f"The measure failed in every study: {results[0]}")
    absent = [c for c in ("estimate", "conf_low", "conf_high") if c not in tables[0]]
    if absent:
        raise DesignError(f"The measure gives no column {absent[0]!r}. Give one with estimates and intervals.")
    every = pd.concat(tables, ignore_index=True)
    keys = _keys(tables)
    low, high = every["conf_low"], every["conf_high"]
    every = every.assign(
        _detected=(low > null) | (high < null), _width=high - low, _known=low.notna() & high.notna() & (low <= high)
    )
    rows = []
    for key, part in every.groupby(keys, dropna=False, sort=True) if keys else [((), every)]:
        k = int(part["_detected"].sum())
        share = k / replications
        ends = wilson(float(k), float(replications), conf_level)
        failed = replications - int(part["_known"].sum())
        rows.append(
            {
                **dict(zip(keys, key if isinstance(key, tuple) else (key,), strict=True)),
                "estimate": share,
                "std_error": float(np.sqrt(share * (1 - share) / replications)),
                "conf_low": float(ends[0]),
                "conf_high": float(ends[1]),
                "n": float(replications),
                "method": "simulated, Wilson",
                "flag": flags.join(flags.STUDIES_WITHOUT_INTERVAL.of(failed)),
                "mean_estimate": part["estimate"].mean(),
                "sd_estimate": part["estimate"].std(),
                "mean_width": part["_width"].mean(),
            }
        )
    return pd.DataFrame(rows)
