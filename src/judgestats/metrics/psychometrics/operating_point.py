"""Where a prompt puts the border between tie and preference, and what moving it costs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats.errors import DesignError, suggestion
from judgestats.kernels.proportions import newcombe, newcombe_paired
from judgestats.kernels.resampling import percentile_interval
from judgestats.metrics.rates import rates
from judgestats.results import NO_DATA, NOT_INDEPENDENT, SMALL_N, ZERO_BASE, estimates, flags
from judgestats.schema.columns import PREFERENCES, required
from judgestats.schema.counting import SHARED_PAIRS, tally, units

_KEYS = ["judge", "stimulus", "delta"]


def criterion_shift(
    calls: Any,
    base: str,
    strict: str,
    *,
    n_resamples: int = 2000,
    seed: int | np.random.Generator | None = 0,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """How a prompt moves the tie rate, and what that saves and loses (dark_current paper, Eq. 11).

    Parameters
    ----------
    calls : frame
        Preferences with ``prompt`` and ``stimulus`` (and ``delta``, ``better`` on the ladder); or a tally: ``judge,
        prompt, stimulus, outcome, n`` (and ``delta``), outcomes ``correct``, ``wrong``, ``preference`` (no candidate is
        better), ``tie``.
    base, strict : str
        The two values of ``prompt`` compared.
    n_resamples : int
        Resamples of the counts, for the ratio.
    seed : int or numpy.random.Generator
        The same seed gives the same interval.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge, ``stimulus`` and ``delta`` (NaN off the ladder): ``criterion_base`` and ``criterion_strict`` (tie
        rates) and ``criterion_shift``, their difference, with Newcombe's interval: the paired one on the calls that
        both prompts judged, where the data name them, else the one for independent samples. Beside it
        ``false_preference_saved`` (without a better candidate), ``target_signal_lost`` (on the ladder), and per step of
        the ladder ``saved_per_lost``: false preferences saved on ``same_subset`` per target signal lost there, with a
        percentile interval from resampled counts; NaN where nothing was lost.

    Raises
    ------
    DesignError
        If a prompt does not occur.

    Examples
    --------
    >>> import pandas as pd
    >>> counts = pd.DataFrame({"judge": "Qwen32B", "prompt": ["base", "base", "strict"], "stimulus": "same_subset",
    ...                        "outcome": ["preference", "tie", "tie"], "n": [31, 89, 120]})
    >>> criterion_shift(counts, "base", "strict")[["term", "estimate"]].round(4)
                         term  estimate
    0          criterion_base    0.7417
    1        criterion_strict    1.0000
    2         criterion_shift    0.2583
    3  false_preference_saved    0.2583
    """
    table = tally(calls, "criterion_shift")
    prompts = sorted(map(str, table["prompt"].unique()))
    for name in (base, strict):
        if name not in prompts:
            raise DesignError(
                f"prompt {name!r} does not occur. Prompts: {', '.join(prompts)}.{suggestion(name, prompts)}"
            )
    if "delta" not in table.columns:
        table = table.assign(delta=math.nan)
    table = table[table["outcome"] != "invalid"]
    cells = _cells(table, base, strict)
    paired = _paired(calls, base, strict)
    rng = np.random.default_rng(seed)
    dependent = NOT_INDEPENDENT if table.attrs.get(SHARED_PAIRS) else ""
    rows = []
    for key, (before, after) in cells.items():
        named = dict(zip(_KEYS, key, strict=True))
        rows += [{**named, **r} for r in _levels(table, named, base, strict, conf_level)]
        rows += [{**named, **r} for r in _shifts(before, after, paired.get(_hashable(key)), conf_level, dependent)]
        if named["stimulus"] == "ladder":
            equal = cells.get((key[0], "same_subset", _NO_STEP))
            rows += [{**named, **r} for r in _price(equal, (before, after), n_resamples, rng, conf_level)]
    return estimates(rows, _KEYS)


_NO_STEP = math.nan
_Counts = Mapping[str, float]


def _hashable(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """A key in which a missing step equals itself."""
    return tuple(None if isinstance(k, float) and math.isnan(k) else k for k in key)


class _Cells(dict[tuple[Any, ...], tuple[_Counts, _Counts]]):
    """Counts by (judge, stimulus, step); a missing step is found as such."""

    def get(self, key: tuple[Any, ...], default: Any = None) -> Any:
        wanted = _hashable(key)
        return next((v for k, v in self.items() if _hashable(k) == wanted), default)


def _cells(table: pd.DataFrame, base: str, strict: str) -> _Cells:
    """Counts of each outcome under both prompts, where both were run."""
    cells = _Cells()
    for key, here in table.groupby(_KEYS, dropna=False, sort=True, observed=True):
        both = [here[here["prompt"] == p].groupby("outcome")["n"].sum().to_dict() for p in (base, strict)]
        if all(both):
            cells[key] = (both[0], both[1])
    return cells


def _share(counts: _Counts, *outcomes: str) -> tuple[float, float]:
    return float(sum(counts.get(o, 0.0) for o in outcomes)), float(sum(counts.values()))


def _levels(
    table: pd.DataFrame, named: Mapping[str, Any], base: str, strict: str, conf_level: float
) -> list[dict[str, Any]]:
    step = named["delta"]
    same = table["delta"].isna() if pd.isna(step) else table["delta"] == step
    here = table[(table["judge"] == named["judge"]) & (table["stimulus"] == named["stimulus"]) & same]
    here.attrs.update(table.attrs)
    rows = []
    for term, prompt in (("criterion_base", base), ("criterion_strict", strict)):
        part = here[here["prompt"] == prompt]
        part.attrs.update(table.attrs)
        rows += [
            {k: v for k, v in r.items() if k != "prompt"}
            for r in rates(part, ["prompt"], term, part["outcome"] == "tie", conf_level=conf_level)
        ]
    return rows


def _shifts(before: _Counts, after: _Counts, joint: Any, conf_level: float, dependent: str) -> list[dict[str, Any]]:
    rows = [
        _difference("criterion_shift", _share(after, "tie"), _share(before, "tie"), joint, "tie", conf_level, dependent)
    ]
    if "preference" in {*before, *after} or not {"correct", "wrong"} & {*before, *after}:
        saved = _share(before, "preference"), _share(after, "preference")
        rows.append(
            _difference("false_preference_saved", *saved, joint, "preference", conf_level, dependent, flip=True)
        )
    else:
        lost = _share(before, "correct"), _share(after, "correct")
        rows.append(_difference("target_signal_lost", *lost, joint, "correct", conf_level, dependent, flip=True))
    return rows


def _difference(
    term: str,
    one: tuple[float, float],
    two: tuple[float, float],
    joint: Any,
    outcome: str,
    conf_level: float,
    dependent: str,
    *,
    flip: bool = False,
) -> dict[str, Any]:
    """k1/n1 - k2/n2; `joint` is (before, after) outcomes of the calls both prompts judged, where they are named."""
    (k1, n1), (k2, n2) = one, two
    if joint is not None and len(joint):
        hit_1 = (joint["before" if flip else "after"] == outcome).to_numpy()
        hit_2 = (joint["after" if flip else "before"] == outcome).to_numpy()
        a, b, c, d = (float(x.sum()) for x in (hit_1 & hit_2, hit_1 & ~hit_2, ~hit_1 & hit_2, ~hit_1 & ~hit_2))
        n = a + b + c + d
        low, high = newcombe_paired(a, b, c, d, conf_level)
        value, error, method = (b - c) / n, math.sqrt(b + c - (b - c) ** 2 / n) / n, "Newcombe, paired"
    else:
        n = min(n1, n2)
        low, high = newcombe(k1, n1, k2, n2, conf_level)
        value = k1 / n1 - k2 / n2
        error = math.sqrt(k1 / n1 * (1 - k1 / n1) / n1 + k2 / n2 * (1 - k2 / n2) / n2)
        method = "Newcombe, independent"
    return {
        "term": term,
        "estimate": value,
        "std_error": error,
        "conf_low": low,
        "conf_high": high,
        "n": n,
        "method": method,
        "flag": flags(dependent, SMALL_N if n < 30 else ""),
    }


def _price(
    equal: Any, ladder: tuple[_Counts, _Counts], n_resamples: int, rng: np.random.Generator, conf_level: float
) -> list[dict[str, Any]]:
    """False preferences saved per target signal lost."""
    if equal is None:
        return []
    shares = [
        _share(equal[0], "preference"),
        _share(equal[1], "preference"),
        _share(ladder[0], "correct"),
        _share(ladder[1], "correct"),
    ]
    p = [k / n for k, n in shares]
    lost = p[2] - p[3]
    row: dict[str, Any] = {
        "term": "saved_per_lost",
        "n": min(n for _, n in shares),
        "method": "percentile, resampled counts",
    }
    if lost == 0:
        return [{**row, "estimate": math.nan, "flag": flags(ZERO_BASE, NO_DATA)}]
    draws = [rng.binomial(int(n), k / n, size=n_resamples) / n for k, n in shares]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (draws[0] - draws[1]) / (draws[2] - draws[3])
    low, high = percentile_interval(ratio, conf_level)
    if low == high:
        low = high = math.nan
    return [
        {
            **row,
            "estimate": (p[0] - p[1]) / lost,
            "conf_low": low,
            "conf_high": high,
            "flag": SMALL_N if row["n"] < 30 else "",
        }
    ]


def _paired(calls: Any, base: str, strict: str) -> dict[tuple[Any, ...], pd.DataFrame]:
    """Outcomes of the calls that both prompts judged, by cell; empty for a tally."""
    if not set(required("preferences")) <= set(nw.from_native(calls).collect_schema().names()):
        return {}
    table = units(calls, "criterion_shift")
    table = table[table["outcome"] != "invalid"]
    keys = [c.name for c in PREFERENCES if c.key and c.name in table.columns and c.name != "prompt"]
    one, two = (table[table["prompt"] == p][[*keys, "outcome"]] for p in (base, strict))
    joint = one.rename(columns={"outcome": "before"}).merge(two.rename(columns={"outcome": "after"}), on=keys)
    if "delta" not in joint.columns:
        joint = joint.assign(delta=math.nan)
    return {_hashable(k): g for k, g in joint.groupby(_KEYS, dropna=False, observed=True)}
