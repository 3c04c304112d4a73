"""Effects of a prompt on the tie criterion, and its costs: :func:`criterion_shift`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray

from judgestats import flags, methods
from judgestats.counting.clustering import Cluster
from judgestats.counting.clusters import Clusters
from judgestats.counting.counts import Counts, size_flag
from judgestats.counting.selection import gathered_study
from judgestats.counting.study import Calls, Study
from judgestats.counting.tallies import called, count
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, refuse_unknown
from judgestats.kernels.proportions import normal_quantile
from judgestats.metrics import paired
from judgestats.metrics.measure_registry import Measure, MeasureOptions, Term
from judgestats.metrics.paired import Marks, Sides
from judgestats.metrics.requirements import against_control, control_of
from judgestats.results import estimates
from judgestats.schema.coding import rows_of_codes
from judgestats.schema.columns import PREFERENCES, required
from judgestats.schema.factors import Factors
from judgestats.typing import Record

_KEYS = ["judge", "stimulus", "delta"]
#: Columns that identify a call, except the prompt.
_CALL = [c.name for c in PREFERENCES if c.key and c.name != "prompt"]
_Key = tuple[Any, ...]


def _from_baseline(data: Calls, options: MeasureOptions) -> pd.DataFrame:
    return against_control(data, options, "prompt", lambda *prompts: options.call(criterion_shift, data, *prompts))


@Measure(
    "Does a prompt shift the tie rate, and what is saved and lost?", "strategies", "P, counts",
    "Newcombe, paired or not; the price: Fieller", "dark_current, Eq 11", plot="operating_point",
    frames=("preferences",), needs=(control_of("prompt"),), take=_from_baseline, sheet=("criterion",),
    terms=(
        Term("criterion_base", "tie rate, baseline prompt", "condition", "calls of this condition",
             "no universal direction", "Tie rate under the baseline prompt.", symbol="C_J(base)"),
        Term("criterion_strict", "tie rate, other prompt", "condition", "calls of this condition",
             "no universal direction", "Tie rate under the other prompt.", symbol="C_J(strict)"),
        Term("criterion_shift", "shift of the tie rate", "condition", "calls of this condition",
             "no universal direction", "How far the prompt shifts the tie rate.", symbol="ΔC", neutral=0.0),
        Term("false_preference_saved", "", "condition", "calls of this condition", "lower",
             "False preferences that the prompt turns into ties.", neutral=0.0),
        Term("target_signal_lost", "", "condition", "calls of this condition", "higher",
             "Correct answers that the prompt costs.", neutral=0.0),
        Term("saved_per_lost", "saved per signal lost", "condition", "calls of this step", "lower",
             "False preferences saved for each correct answer lost."),
        Term("net_gain", "net gain of the prompt", "condition", "calls of this step", "lower",
             "What is saved, at the cost of a false preference in this use, minus what is lost.", neutral=0.0),
    ),
    have=("conditions", "pairs of known difference",),
    assumes="Both prompts were asked about the same stimuli; equal pairs are equal by design.",
)  # fmt: skip
def criterion_shift(
    calls: IntoFrame,
    baseline: str,
    prompt: str,
    *,
    uses: Mapping[str, float] | None = None,
    cluster: Cluster = "auto",
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Shift of the tie rate by a prompt, with false preferences saved and signal lost (dark_current paper, Eq. 11).

    Parameters
    ----------
    calls : frame
        Preferences with ``prompt`` and ``stimulus`` (and ``delta``, ``better`` on the ladder); or a tally: ``judge,
        prompt, stimulus, outcome, n`` (and ``delta``), outcomes ``correct``, ``wrong``, ``preference`` (no candidate is
        better), ``tie``, ``invalid`` (excluded).
    baseline, prompt : str
        The two values of ``prompt`` compared.
    uses : mapping of str to float, optional
        Uses of the judge, each with what a false preference costs there, a missed signal costing 1: below 1 where
        preferences are only explored (``{"ranking": 0.5}``), above where each is a claim (``{"adjudication": 5}``).
    cluster : "auto", str or False
        Column that calls share, by which intervals are clustered. ``"auto"`` detects it (``task``, say) and names it in
        ``method``. False treats all calls as independent, with a flag where they are not.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge, ``stimulus`` and ``delta`` (NaN where there is no step) that both prompts judged:
        ``criterion_base`` and ``criterion_strict`` (tie rates) and ``criterion_shift``, their difference. Also
        ``target_signal_lost`` on the ladder and wherever a candidate is better, ``false_preference_saved`` on every
        other stimulus; and per step of the ladder ``saved_per_lost``: the false preferences saved on ``same_subset``
        (its step missing, or 0) per target signal lost at the step; NaN where none was lost. With `uses`, per step and
        ``use`` the ``net_gain``: false preferences saved, times their cost, minus signals lost. Above 0 the prompt is
        the better operating point for this use, below 0 the baseline; with 0 in the interval the data do not decide.

    Raises
    ------
    DesignError
        If a prompt does not occur, or the cost of a use is not a number above 0.

    See Also
    --------
    target_sensitivity : Detection of known differences.
    delta0 : Parts of false preference between equals.
    judgestats.models.tie_model : Slot bias, criterion and resolution.

    Notes
    -----
    A difference is paired on the calls that both prompts judged, if the data identify them: Newcombe's paired interval
    with the shared calls as ``n``, flagged ``k of m stimuli shared`` if either prompt judged others too (m counts the
    calls that either judged). If a call occurs twice under one prompt (``not paired: repeated stimuli``), if shared
    calls have different counts ``n`` (``not paired: different counts``), and in a tally, the samples are independent,
    and ``n`` is the smaller of the two. With clusters, the paired interval is Tango's at the effective n, and that of
    two samples is MOVER, from both clustered Wilson intervals.

    The interval of ``saved_per_lost`` is Fieller's, of two differences on different stimuli with their own variances.
    It is NaN, flagged ``interval of the denominator includes 0``, where it is unbounded, and NaN, flagged ``no
    variation``, where it would have no width.

    The interval of ``net_gain`` is MOVER, from the intervals of both. The paper (Section 6) says that exploratory
    ranking may tolerate a lower threshold than adjudication, and gives no costs: they are the user's. Pairs of equal
    quality and pairs of the step count alike; if the first are k times as frequent in use, give k times the cost. The
    net gain is 0 where a false preference costs ``1 / saved_per_lost``.

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
    costs: Mapping[Any, Any] = uses or {}
    for use, price in costs.items():
        if not (isinstance(price, Real) and 0 < float(price) < math.inf):
            raise DesignError(
                f"uses= has {price!r} for {use!r}. Give a number above 0: the cost of a false preference."
            )
    rows: list[Record] = []
    signals: dict[_Key, Record] = {}
    cells = _cells(calls, baseline, prompt, cluster, conf_level)
    for key, cell in cells.items():
        signals[key] = _signal(cell, conf_level)
        shift = _outcome_difference(cell, "criterion_shift", "tie", conf_level)
        rows += [{**cell.labels, **r} for r in (*cell.tie_rates, shift, signals[key])]
    for (judge, stimulus, step), lost in signals.items():
        saved = next((signals[k] for s in (None, 0.0) if (k := (judge, "same_subset", s)) in signals), None)
        if stimulus == "ladder" and saved is not None and saved["term"] == "false_preference_saved":
            labels = cells[judge, stimulus, step].labels
            rows.append({**labels, **_price(saved, lost, conf_level)})
            rows += [{**labels, "use": use, **_net_gain(saved, lost, cost)} for use, cost in (uses or {}).items()]
    if uses is None:
        return estimates(rows, _KEYS)
    return estimates(rows, _KEYS, ("use",)).assign(use=lambda t: t["use"].astype(object).where(t["use"].notna(), ""))


@dataclass(frozen=True)
class _Cell:
    """A judge, stimulus and step under the two prompts, base first."""

    labels: Record  # the key columns
    counts: tuple[Counts, Counts]  # of the two prompts
    calls: Sides | None  # the matched calls, if the data identify them
    tie_rates: list[Record]  # of the two prompts

    @property
    def clusters(self) -> Clusters:
        """How intervals are clustered."""
        return self.counts[0].clusters

    @property
    def column(self) -> str | None:
        """Cluster column."""
        return self.clusters.column

    def share(self, side: int, outcome: str) -> tuple[float, float]:
        """Hits and trials of one side."""
        counts = self.counts[side]
        return tuple(float(counts.n[rows].sum()) for rows in _hits(counts, outcome))  # type: ignore[return-value]


def _cells(calls: Calls, base: str, strict: str, cluster: Cluster, conf_level: float) -> dict[_Key, _Cell]:
    """Cells that both prompts judged."""
    study = Study.of(calls)
    tallied = replace(count(study, "criterion_shift", cluster=cluster), conf_level=conf_level, groups=())
    column = tallied.clusters.column
    prompts = tallied.columns.labels("prompt")
    for name in (base, strict):
        refuse_unknown(name, prompts, f"prompt {name!r} does not occur", "Prompts")
    calls_of = {}
    if {*required("preferences")} <= {*study.names}:
        beside = [column] if column is not None and column != "pair" else []
        counted, columns = called(gathered_study(study, beside), "criterion_shift", beside)
        number, calls_of = columns.codes([c for c in _CALL if c in columns]).code, _by_cell(columns, base, strict)
    by_prompt = tallied.grouped([k for k in (*_KEYS, "prompt") if k in tallied.columns])
    parts, rates = by_prompt.rows_of_groups(), by_prompt.rates("", *_hits(by_prompt, "tie"))
    rate_of = {part[0]: rate for (_, part), rate in zip(parts, rates, strict=True)}
    cells = {}
    for key, rows in _by_cell(tallied.columns, base, strict).items():
        calls_of_cell = None
        if key in calls_of:
            one, two = calls_of[key]
            both, n = (Study(columns.take(one)), Study(columns.take(two))), (counted.counts[one], counted.counts[two])
            calls_of_cell = paired.sides_by_code(both, n, number[one], number[two])
        labels = dict(zip(_KEYS, (math.nan if k is None else k for k in key), strict=True))
        terms = zip(("criterion_base", "criterion_strict"), rows, strict=True)
        tie_rates = [{**rate_of[part[0]], "term": term} for term, part in terms]
        cells[key] = _Cell(labels, (tallied.where(rows[0]), tallied.where(rows[1])), calls_of_cell, tie_rates)
    return cells


def _by_cell(columns: Factors, base: str, strict: str) -> dict[_Key, tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Rows of both prompts by judge, stimulus and step, with None for a missing value in a key."""
    keys = [k for k in _KEYS if k in columns]
    codes, cells = columns.codes(keys), {}
    of_prompt = [columns["prompt"].among(p) for p in (base, strict)]
    for first, rows in zip(codes.first, rows_of_codes(codes.code, codes.size), strict=True):
        one, two = (rows[prompt[rows]] for prompt in of_prompt)
        if one.size and two.size:
            cells[tuple(columns[k].labels[columns[k].code[first]] if k in keys else None for k in _KEYS)] = (one, two)
    return cells


def _hits(counts: Counts, outcome: str) -> Marks:
    """Which rows have the outcome, and which a valid one."""
    return counts.among("outcome", outcome), ~counts.among("outcome", "invalid")


def _signal(cell: _Cell, conf_level: float) -> Record:
    """Signal lost by the strict prompt if a candidate is better, otherwise false preferences saved."""
    outcomes = {o for side in cell.counts for o in side.columns.labels("outcome")}
    if str(cell.labels["stimulus"]) != "ladder" and not outcomes & {"correct", "wrong"}:
        return _outcome_difference(cell, "false_preference_saved", "preference", conf_level, loss=True)
    if "preference" in outcomes:
        return {"term": "target_signal_lost", "estimate": math.nan, "n": 0.0, "flag": flags.BETTER_UNKNOWN}
    return _outcome_difference(cell, "target_signal_lost", "correct", conf_level, loss=True)


def _outcome_difference(cell: _Cell, term: str, outcome: str, conf_level: float, *, loss: bool = False) -> Record:
    """Share of an outcome under the strict prompt minus that under the base prompt; reversed for a loss."""
    row, flag = None, ""
    if cell.calls is not None:
        sides = cell.calls if loss else cell.calls.swapped()
        one, two = (_marks(side, outcome) for side in sides.units)
        row, flag = paired.paired_difference(sides, one, two, conf_level, cell.column)
    if row is None and cell.column is not None:
        sides_of = [_rate(counts, outcome) for counts in cell.counts]
        row = paired.interval_difference(*(sides_of if loss else sides_of[::-1]))
        flag = flags.join(flag, *(r["flag"] for r in sides_of))
    elif row is None:
        before, after = (cell.share(side, outcome) for side in (0, 1))
        row = paired.independent_difference(*(before + after if loss else after + before), conf_level)
    return {"term": term, **row, "flag": flags.join(cell.clusters.flag, flag, size_flag(row["n"]))}


def _rate(counts: Counts, outcome: str) -> Record:
    """Share of an outcome under one prompt with its clustered interval, without flags of the sample size."""
    (row,) = counts.rates("", *_hits(counts, outcome))
    return {**row, "flag": _but_size(row["flag"])}


def _but_size(*cells: str) -> str:
    """Flags of rows, except those of their sample size."""
    return flags.join(*(flags.without(cell, flags.SMALL_N, flags.NO_DATA) for cell in cells))


def _marks(calls: Study, outcome: str) -> Marks:
    outcomes = calls.columns["outcome"]
    return outcomes.among(outcome), ~outcomes.among("invalid")


def _net_gain(saved: Mapping[str, Any], lost: Mapping[str, Any], cost: float) -> Record:
    """False preferences saved, at their cost, minus target signals lost."""
    notes = _but_size(saved["flag"], lost["flag"])
    if math.isnan(saved["estimate"] + lost["estimate"]):
        return {"term": "net_gain", "estimate": math.nan, "n": 0.0, "flag": flags.join(notes, flags.NO_DATA)}
    scaled = {c: cost * saved[c] for c in ("estimate", "std_error", "conf_low", "conf_high")}
    row = paired.interval_difference({**scaled, "n": saved["n"]}, lost)
    return {"term": "net_gain", **row, "flag": flags.join(notes, size_flag(row["n"]))}


def _price(saved: Mapping[str, Any], lost: Mapping[str, Any], conf_level: float) -> Record:
    """False preferences saved per target signal lost."""
    n = min(saved["n"], lost["n"])
    notes = _but_size(saved["flag"], lost["flag"])
    row: Record = {"term": "saved_per_lost", "estimate": math.nan, "n": n, "method": methods.FIELLER}
    if math.isnan(saved["estimate"] + lost["estimate"]):
        return {**row, "flag": flags.join(notes, flags.NO_DATA)}
    if lost["estimate"] == 0:
        return {**row, "flag": flags.join(notes, flags.ZERO_BASE, flags.NO_DATA)}
    low, high, unbounded = _fieller(saved, lost, normal_quantile(conf_level))
    row.update(estimate=saved["estimate"] / lost["estimate"], conf_low=low, conf_high=high)
    return {**row, "flag": flags.join(notes, unbounded, size_flag(n))}


def _fieller(top: Mapping[str, Any], bottom: Mapping[str, Any], q: float) -> tuple[float, float, str]:
    """Fieller's interval of a ratio of independent estimates, and a flag if there is none."""
    x, y = top["estimate"], bottom["estimate"]
    g = y**2 - (q * bottom["std_error"]) ** 2
    if not g > 0:
        return math.nan, math.nan, flags.UNBOUNDED
    # (xy)² - g (x² - q² var x), written so that equal terms cancel exactly
    root = (q * bottom["std_error"] * x) ** 2 + g * (q * top["std_error"]) ** 2
    if not root > 0:
        return math.nan, math.nan, flags.NO_SPREAD
    return (x * y - math.sqrt(root)) / g, (x * y + math.sqrt(root)) / g, ""
