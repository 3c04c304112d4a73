"""Where a prompt puts the border between tie and preference, and what moving it costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError, suggestion
from judgestats.kernels.proportions import newcombe, newcombe_paired, normal_quantile
from judgestats.metrics.rates import rates
from judgestats.results import NO_DATA, NOT_INDEPENDENT, SMALL_N, ZERO_BASE, estimates, flags
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import PREFERENCES, required
from judgestats.schema.counting import SHARED_PAIRS, tally, units

#: Why two sides that name their stimuli are compared as independent samples all the same.
REPEATED = "not paired: repeated stimuli"
UNEQUAL_COUNTS = "not paired: different counts"
#: Why a ratio has no interval, or a term no value.
UNBOUNDED = "base not told from zero"
NO_SPREAD = "no spread"
BETTER_UNKNOWN = "better candidate unknown"

_KEYS = ["judge", "stimulus", "delta"]
_Key = tuple[Any, ...]
_Row = dict[str, Any]


def criterion_shift(calls: Any, base: str, strict: str, *, conf_level: float = 0.95) -> pd.DataFrame:
    """How a prompt moves the tie rate, and what that saves and loses (dark_current paper, Eq. 11).

    Parameters
    ----------
    calls : frame
        Preferences with ``prompt`` and ``stimulus`` (and ``delta``, ``better`` on the ladder); or a tally: ``judge,
        prompt, stimulus, outcome, n`` (and ``delta``), outcomes ``correct``, ``wrong``, ``preference`` (no candidate is
        better), ``tie``, ``invalid`` (set aside).
    base, strict : str
        The two values of ``prompt`` compared.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge, ``stimulus`` and ``delta`` (NaN where there is no step) that both prompts judged:
        ``criterion_base`` and ``criterion_strict`` (tie rates) and ``criterion_shift``, their difference. Beside it
        ``target_signal_lost`` on the ladder and wherever a candidate is better, ``false_preference_saved`` on every
        other stimulus; and per step of the ladder ``saved_per_lost``: the false preferences saved on ``same_subset``
        (its step missing, or 0) per target signal lost there; NaN where nothing was lost.

    Raises
    ------
    DesignError
        If a prompt does not occur.

    Notes
    -----
    A difference is paired on the calls that both prompts judged, where the data name them: Newcombe's paired interval,
    ``n`` is the calls shared, and the flag says ``k of m stimuli shared`` where either prompt judged others too (m is
    the calls that either judged). Where a call occurs twice under one prompt (``not paired: repeated stimuli``), where
    shared calls carry different counts ``n`` (``not paired: different counts``), and in a tally, it is that of two
    independent samples. Its ``n`` is then the smaller of the two.

    The interval of ``saved_per_lost`` is Fieller's, of two differences on different stimuli, with the variance that
    each has as a paired or an independent difference. It is NaN, flagged ``base not told from zero``, where it is
    unbounded, and flagged ``no spread`` where it would have no width.

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
    rows: list[_Row] = []
    signals: dict[_Key, _Row] = {}
    cells = _cells(calls, base, strict)
    for key, cell in cells.items():
        signals[key] = _signal(cell, conf_level)
        shift = _difference(cell, "criterion_shift", "tie", conf_level)
        rows += [{**cell.named, **r} for r in (*_levels(cell, conf_level), shift, signals[key])]
    for (judge, stimulus, step), lost in signals.items():
        saved = next((signals[k] for s in (None, 0.0) if (k := (judge, "same_subset", s)) in signals), None)
        if stimulus == "ladder" and saved is not None and saved["term"] == "false_preference_saved":
            rows.append({**cells[judge, stimulus, step].named, **_price(saved, lost, conf_level)})
    return estimates(rows, _KEYS)


# ---------------------------------------------------------------- two proportions


@dataclass(frozen=True)
class Answers:
    """What one side of a comparison answered, unit by unit.

    Attributes
    ----------
    units : pandas.DataFrame
        A row a call or a pair, with the columns that name it and its count ``n``, as from ``units()``.
    hit, trial : (N,) or (N, 2) bool arrays
        Whether each unit, or each of the two calls of a pair, is a hit and counts at all.
    """

    units: pd.DataFrame
    hit: NDArray[np.bool_]
    trial: NDArray[np.bool_]

    def at(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.float64]]:
        """Hits, trials and counts of some units, each (M, 1) or (M, 2)."""
        trial, hit = (np.asarray(x, dtype=bool).reshape(len(self.units), -1)[rows] for x in (self.trial, self.hit))
        n = self.units["n"].to_numpy(dtype=float)[rows]
        return hit, trial, np.broadcast_to(n[:, None], hit.shape)


def paired_difference(
    one: Answers, two: Answers, keys: Sequence[str], conf_level: float = 0.95
) -> tuple[_Row | None, str]:
    """Proportion of one side minus that of the other on the units that both name.

    Parameters
    ----------
    one, two : Answers
        The two sides.
    keys : sequence of str
        Columns of both that name a unit; a missing value equals itself.
    conf_level : float
        Coverage of Newcombe's paired interval.

    Returns
    -------
    row : dict or None
        Cells of an estimate; None where the sides cannot be paired.
    flag : str
        Why they cannot, or ``k of m stimuli shared`` where a side has units that the other lacks.
    """
    if not len(one.units) or not len(two.units):
        return None, ""
    shared = _one_to_one(one.units, two.units, keys)
    if shared is None:
        return None, REPEATED
    (hit_1, trial_1, n_1), (hit_2, trial_2, n_2) = one.at(shared[0]), two.at(shared[1])
    both = trial_1 & trial_2
    if not n_1[both].sum() > 0:
        return None, ""
    if (n_1 != n_2)[both].any():
        return None, UNEQUAL_COUNTS
    hits, n = (hit_1[both], hit_2[both]), n_1[both]
    judged = sum(float((w * t).sum()) for _, t, w in (s.at(np.arange(len(s.units))) for s in (one, two)))
    judged -= float(n.sum())
    return _paired(*hits, n, conf_level), "" if judged == n.sum() else f"{n.sum():g} of {judged:g} stimuli shared"


def independent_difference(k1: float, n1: float, k2: float, n2: float, conf_level: float = 0.95) -> _Row:
    """Proportion k1/n1 minus k2/n2 of two independent samples.

    Parameters
    ----------
    k1, n1, k2, n2 : float
        Hits and trials.
    conf_level : float
        Coverage of Newcombe's interval.

    Returns
    -------
    dict
        Cells of an estimate, ``n`` the smaller sample; NaN where a sample is empty.
    """
    if not (n1 > 0 and n2 > 0):
        return {"estimate": math.nan, "n": 0.0}
    low, high = newcombe(k1, n1, k2, n2, conf_level)
    p1, p2 = k1 / n1, k2 / n2
    return {
        "estimate": p1 - p2,
        "std_error": math.sqrt(p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2),
        "conf_low": low,
        "conf_high": high,
        "n": min(n1, n2),
        "method": "Newcombe, independent",
    }


def size_flag(n: float) -> str:
    """Flag of a small sample, or of none."""
    return NO_DATA if not n > 0 else SMALL_N if n < 30 else ""


def _paired(one: NDArray[np.bool_], two: NDArray[np.bool_], n: NDArray[np.float64], conf_level: float) -> _Row:
    a, b, c, d = (float(n[x].sum()) for x in (one & two, one & ~two, ~one & two, ~one & ~two))
    total = a + b + c + d
    low, high = newcombe_paired(a, b, c, d, conf_level)
    return {
        "estimate": (b - c) / total,
        "std_error": math.sqrt(max(b + c - (b - c) ** 2 / total, 0.0)) / total,
        "conf_low": low,
        "conf_high": high,
        "n": total,
        "method": "Newcombe, paired",
    }


def _one_to_one(
    one: pd.DataFrame, two: pd.DataFrame, keys: Sequence[str]
) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    """Rows of the units in both tables, in the same order; None if some are and a table has a unit twice."""
    stacked = {k: pd.concat([one[k].astype(object), two[k].astype(object)], ignore_index=True) for k in keys}
    code = codes_of(pd.DataFrame(stacked), list(keys)).code
    left, right = code[: len(one)], code[len(one) :]
    repeated = np.unique(left).size < left.size or np.unique(right).size < right.size
    if repeated and np.isin(left, right).any():
        return None
    _, rows_1, rows_2 = np.intersect1d(left, right, return_indices=True)
    return rows_1, rows_2


# ---------------------------------------------------------------- cells


@dataclass(frozen=True)
class _Cell:
    """A judge, stimulus and step under the two prompts, base first.

    Attributes
    ----------
    named : dict
        The key columns.
    counts : (2,) tuple of pandas.DataFrame
        Tallies.
    calls : (2,) tuple of pandas.DataFrame or None
        The calls, where they are named.
    dependent : str
        Flag of calls that share a pair.
    """

    named: dict[str, Any]
    counts: tuple[pd.DataFrame, pd.DataFrame]
    calls: tuple[pd.DataFrame, pd.DataFrame] | None
    dependent: str

    def share(self, side: int, outcome: str) -> tuple[float, float]:
        """Hits and trials of one side."""
        n, said = self.counts[side]["n"], self.counts[side]["outcome"]
        return float(n[said == outcome].sum()), float(n[said != "invalid"].sum())


def _cells(calls: Any, base: str, strict: str) -> dict[_Key, _Cell]:
    """Cells that both prompts judged."""
    table = tally(calls, "criterion_shift")
    shared = bool(table.attrs.get(SHARED_PAIRS))
    _require_prompts(table, base, strict)
    counts = _by_cell(table, base, strict)
    named = set(required("preferences")) <= set(nw.from_native(calls).collect_schema().names())
    single = _by_cell(units(calls, "criterion_shift"), base, strict) if named else {}
    cells = {}
    for key, here in counts.items():
        for side in here:
            side.attrs[SHARED_PAIRS] = shared
        columns = dict(zip(_KEYS, here[0].iloc[0][_KEYS], strict=True))
        cells[key] = _Cell(columns, here, single.get(key), NOT_INDEPENDENT if shared else "")
    return cells


def _require_prompts(table: pd.DataFrame, base: str, strict: str) -> None:
    prompts = sorted(str(p) for p in table["prompt"].dropna().unique())
    for name in (base, strict):
        if not (table["prompt"] == name).any():
            raise DesignError(
                f"prompt {name!r} does not occur. Prompts: {', '.join(prompts)}.{suggestion(name, prompts)}"
            )


def _by_cell(table: pd.DataFrame, base: str, strict: str) -> dict[_Key, tuple[pd.DataFrame, pd.DataFrame]]:
    """Rows of both prompts, by judge, stimulus and step; a missing value in a key is None, and equals itself."""
    if "delta" not in table.columns:
        table = table.assign(delta=math.nan)
    codes = codes_of(table, _KEYS)
    prompt = table["prompt"].to_numpy(dtype=object)
    cells = {}
    order = np.argsort(codes.code, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(codes.code[order])) + 1):
        sides = tuple(table.iloc[rows[prompt[rows] == p]] for p in (base, strict))
        if all(map(len, sides)):
            key = tuple(None if pd.isna(k) else k for k in table.iloc[rows[0]][_KEYS])
            cells[key] = (sides[0], sides[1])
    return cells


# ---------------------------------------------------------------- rows


def _levels(cell: _Cell, conf_level: float) -> list[_Row]:
    """Tie rates of the two prompts."""
    rows = []
    for term, side in zip(("criterion_base", "criterion_strict"), cell.counts, strict=True):
        tie, valid = side["outcome"] == "tie", side["outcome"] != "invalid"
        rows += rates(side, ["prompt"], term, tie, valid, conf_level=conf_level)
    return [{k: v for k, v in r.items() if k != "prompt"} for r in rows]


def _signal(cell: _Cell, conf_level: float) -> _Row:
    """What the strict prompt loses where a candidate is better, and saves where none is."""
    outcomes = {o for side in cell.counts for o in side["outcome"]}
    if str(cell.named["stimulus"]) != "ladder" and not outcomes & {"correct", "wrong"}:
        return _difference(cell, "false_preference_saved", "preference", conf_level, loss=True)
    if "preference" in outcomes:
        return {"term": "target_signal_lost", "estimate": math.nan, "n": 0.0, "flag": BETTER_UNKNOWN}
    return _difference(cell, "target_signal_lost", "correct", conf_level, loss=True)


def _difference(cell: _Cell, term: str, outcome: str, conf_level: float, *, loss: bool = False) -> _Row:
    """Share of an outcome under the strict prompt minus that under the base, or the other way round."""
    order = (0, 1) if loss else (1, 0)
    row, doubt = None, ""
    if cell.calls is not None:
        one, two = (_answers(cell.calls[side], outcome) for side in order)
        names = [c.name for c in PREFERENCES if c.key and c.name != "prompt"]
        row, doubt = paired_difference(one, two, [c for c in names if c in one.units.columns], conf_level)
    if row is None:
        row = independent_difference(*cell.share(order[0], outcome), *cell.share(order[1], outcome), conf_level)
    return {"term": term, **row, "flag": flags(cell.dependent, doubt, size_flag(row["n"]))}


def _answers(calls: pd.DataFrame, outcome: str) -> Answers:
    said = calls["outcome"].to_numpy(dtype=object)
    return Answers(calls, said == outcome, said != "invalid")


def _price(saved: Mapping[str, Any], lost: Mapping[str, Any], conf_level: float) -> _Row:
    """False preferences saved per target signal lost."""
    n = min(saved["n"], lost["n"])
    doubts = [f for r in (saved, lost) for f in r["flag"].split("; ") if f not in (SMALL_N, NO_DATA)]
    row: _Row = {"term": "saved_per_lost", "estimate": math.nan, "n": n, "method": "Fieller"}
    if math.isnan(saved["estimate"] + lost["estimate"]):
        return {**row, "flag": flags(*doubts, NO_DATA)}
    if lost["estimate"] == 0:
        return {**row, "flag": flags(*doubts, ZERO_BASE, NO_DATA)}
    low, high, doubt = _fieller(saved, lost, normal_quantile(conf_level))
    row.update(estimate=saved["estimate"] / lost["estimate"], conf_low=low, conf_high=high)
    return {**row, "flag": flags(*doubts, doubt, size_flag(n))}


def _fieller(top: Mapping[str, Any], bottom: Mapping[str, Any], q: float) -> tuple[float, float, str]:
    """Fieller's interval of a ratio of independent estimates, and why it has none."""
    x, y = top["estimate"], bottom["estimate"]
    g = y**2 - (q * bottom["std_error"]) ** 2
    if not g > 0:
        return math.nan, math.nan, UNBOUNDED
    # (xy)² - g (x² - q² var x), written so that equal terms cancel exactly
    root = (q * bottom["std_error"] * x) ** 2 + g * (q * top["std_error"]) ** 2
    if not root > 0:
        return math.nan, math.nan, NO_SPREAD
    return (x * y - math.sqrt(root)) / g, (x * y + math.sqrt(root)) / g, ""
