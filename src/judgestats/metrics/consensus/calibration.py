"""Calibration of judges to a reference, with errors on held-out items: :func:`calibrate`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray

from judgestats import flags, methods
from judgestats.counting.bootstrap import Statistic
from judgestats.counting.clustering import Cluster
from judgestats.counting.panels import ScorePanel
from judgestats.counting.splitting import as_runs, reference_as_runs
from judgestats.counting.study import Calls, Study
from judgestats.defaults import CONF_LEVEL, SEED
from judgestats.errors import DesignError
from judgestats.estimate import jackknifed
from judgestats.kernels.cluster_sums import sums_within
from judgestats.kernels.deviation import consensus
from judgestats.kernels.proportions import clustered_mean
from judgestats.metrics.clustered import clustered_by
from judgestats.metrics.consensus.calibration_functions import (
    CalibrationFit,
    Method,
    fit,
    folds_of,
    held_out,
    line,
    mapped,
    moments,
    name_of,
    shuffled,
)
from judgestats.metrics.consensus.judge_identities import identities
from judgestats.metrics.consensus.other_references import reference_matcher
from judgestats.metrics.consensus.pair_deviations import prepare
from judgestats.metrics.measure_registry import Measure, MeasureOptions, Term
from judgestats.metrics.requirements import pairs_of_judges
from judgestats.metrics.scales import apart_from_gold, refuse_several_scales, unmeasured
from judgestats.results import estimates, with_interval
from judgestats.schema.coding import as_scores, compact, joint, rows_of_codes
from judgestats.schema.columns import By, names
from judgestats.typing import Floats, Mask, Record
from judgestats.verdicts.native_frames import to_native, to_table


@dataclass(frozen=True)
class JudgeCells:
    """Cells of one judge in one group: a column of a panel."""

    x: Floats  # (C,), as all arrays below: the judge's mean score
    y: Floats  # the reference; NaN for none
    own: Mask  # whether the system is the judge itself
    item: NDArray[np.generic]
    system: NDArray[np.generic]
    averaged: bool  # whether replicates were averaged

    def where(self, mask: Mask) -> JudgeCells:
        """The cells where the mask is true."""
        return replace(self, **{k: getattr(self, k)[mask] for k in ("x", "y", "own", "item", "system")})

    @property
    def unit(self) -> tuple[str, NDArray[np.generic]]:
        """Units of the folds and of the bootstrap: items, or systems if there is one item."""
        return ("item", self.item) if (self.item != self.item[:1]).any() else ("system", self.system)


def reference_of(
    panel: ScorePanel, groups: list[str], reference: Calls | str, final: str | None, identity: Mapping[str, str] | None
) -> Floats:
    """Reference of each entry."""
    if not isinstance(reference, str):
        target: Floats = reference_matcher(reference, False, final, identity)(panel, groups).of_thing[panel.thing]
        return target
    if reference != "peers":
        raise DesignError(f"reference={reference!r} is not known. Allowed: 'peers', or a frame with system and score.")
    peers = consensus(panel.thing, panel.mean, len(panel.things)).deviation
    if np.isnan(peers).all():
        listed = ", ".join(map(str, panel.judges)) or "none"
        raise DesignError(
            f"No two judges scored the same cell; judges: {listed}. Give judges who score the same systems and items, "
            "or a reference frame."
        )
    return panel.mean - peers


def cells_of_judges(
    panel: ScorePanel, groups: list[str], target: Floats, identity: Mapping[str, str]
) -> Iterator[tuple[Record, JudgeCells]]:
    """Labels and cells of each judge in each group."""
    things, keys = panel.things, [k for k in groups if k != "judge"]
    judges, systems = ([str(x) for x in labels] for labels in (panel.judges, things["system"].labels))
    judge_name = identities([[s] for s in systems], judges, identity)
    place = {j: i for i, j in enumerate(judges)}
    judge_of_system = np.array([place.get(judge_name[s], -1) for s in systems], dtype=np.int64)
    group = things.ranked(keys)
    parts = [(group.code[panel.thing], group.size), (panel.judge, len(judges))]
    number, codes = compact(*joint(parts, panel.thing.size))
    for rows in rows_of_codes(number, codes.size):
        thing = panel.thing[rows]
        system = things["system"].code[thing]
        yield (
            {k: things[k].at(thing[:1]).values[0] for k in keys} | {"judge": panel.judges[panel.judge[rows[0]]]},
            JudgeCells(
                panel.mean[rows],
                target[rows],
                judge_of_system[system] == panel.judge[rows],
                things["item"].code[thing],
                system,
                bool((np.asarray(panel.runs)[rows] > 1).any()),
            ),
        )


def usable(cells: JudgeCells, include_own: bool) -> Mask:
    """Cells with a score and a reference, without those of the judge's own system unless `include_own`."""
    return ~np.isnan(cells.x) & ~np.isnan(cells.y) & (include_own | ~cells.own)


_PARAMETERS: dict[str, tuple[str, ...]] = {"shift": ("shift",), "linear": ("slope", "intercept"), "rank": ()}
_TERMS = ("deviation_before", "deviation_after", "rmse_before", "rmse_after")


@dataclass(frozen=True)
class _CalibrationOptions:
    """Options for all judges; `clusters` is the cluster column and the cluster of each item."""

    method: Method
    folds: int
    include_own: bool
    conf_level: float
    shuffled: dict[str, NDArray[np.uint64]]
    clusters: tuple[str, NDArray[np.generic]]

    def drawn(self, cells: JudgeCells) -> tuple[str, NDArray[np.generic]]:
        """Name of the clusters, and the cluster of each cell."""
        name, unit = cells.unit
        return (self.clusters[0], self.clusters[1][unit]) if name == "item" else (name, unit)


def _clusters_of_items(ratings: Any, items: Any, column: str, cluster: Cluster) -> tuple[str, NDArray[Any]]:
    """The cluster column, and the cluster of each item."""
    if column == "item":
        return "item", np.arange(len(items))
    item_clusters = Study.of(ratings).data.lazy().select("item", column).unique().collect(backend="pandas").to_native()
    if item_clusters["item"].duplicated().any():
        if cluster == "auto":
            return "item", np.arange(len(items))
        raise DesignError(f"cluster={column!r} differs within an item. Name a column with one value per item.")
    place = pd.Index(item_clusters["item"].astype(str)).get_indexer(pd.Index(items).astype(str))
    return column, pd.factorize(item_clusters[column], use_na_sentinel=False)[0][place]


def _peers_or_people(data: Calls, options: MeasureOptions) -> str:
    return "" if options.people is not None else pairs_of_judges(data, options)


@Measure(
    "Which calibration brings a judge to a reference, and what is its error on held-out items?",
    "calibration",
    "R",
    "t over items; root mean square: of its log",
    "ours",
    plot="calibration",
    frames=("ratings",),
    needs=(_peers_or_people,),
    arguments=lambda _, options: {} if options.people is None else {"reference": options.people},
    caption="Distance from the peers (or from people, if they are the reference) before and after a constant is "
    "added to each judge's scores, on held-out items.",
    terms=(
        Term("shift", "constant added to the scores"),
        Term("deviation_before", "distance from the reference, before"),
        Term("deviation_after", "distance from the reference, after"),
        Term("rmse_before", "root mean square, before"),
        Term("rmse_after", "root mean square, after"),
    ),
    have=("judges",),
    assumes="Items are exchangeable: those held out are like those calibrated on.",
)
def calibrate(
    ratings: IntoFrame,
    *,
    reference: IntoFrame | str = "peers",
    method: Method = "shift",
    output: Literal["estimates", "ratings"] = "estimates",
    identity: Mapping[str, str] | None = None,
    own: Literal["exclude", "include"] = "exclude",
    folds: int = 5,
    by: By = (),
    average_over: By = (),
    overall_criterion: str | None = "final",
    cluster: Cluster = "auto",
    conf_level: float = CONF_LEVEL,
    seed: int | np.random.Generator | None = SEED,
) -> Any:
    """Calibrate each judge's scores to a reference, and estimate the errors on held-out items.

    Parameters
    ----------
    ratings : frame
        Raw ratings in any engine (replicates are averaged for the fit), or means per cell.
    reference : 'peers' or frame
        Right scores of the cells. ``'peers'``: the mean of the other judges' uncalibrated scores, as in
        :func:`consensus_deviation`. A frame: people's or gold ratings (with ``judge``: their mean) or means, matched on
        ``system`` and, if present, the `by` columns, ``item`` and ``criterion``.
    method : {'shift', 'linear', 'rank'}
        - ``shift``: a constant is added, the mean of reference minus score.
        - ``linear``: intercept + slope * score, by least squares of the reference on the score.
        - ``rank``: the monotone regression of the reference on the score (isotonic, linear between observed scores,
          constant beyond them). It uses only the order of a judge's scores, with ties where the reference disagrees.
    output : {'estimates', 'ratings'}
        Result: estimates, or calibrated ratings.
    identity : mapping of str to str, optional
        System name -> judge name, where they differ.
    own : {'exclude', 'include'}
        Whether a judge's scores of its own system are excluded from the fit and the errors, so that self-preference is
        not mistaken for severity. They are calibrated in either case.
    folds : int
        Number of parts of the items (of the systems, if there is one item) that are held out in turn, at most the
        number of items.
    by : str or sequence of str
        Further grouping columns. Each group (a ``criterion``, say) has a calibration of its own.
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    overall_criterion : str or None
        Criterion of the final score: if present the only one used, else one calibration applies to all criteria.
    cluster : "auto", str or False
        Column by which the interval is clustered: ``"auto"``, items or a column that groups them (``prompt``,
        ``task``); False, items. Folds are of items.
    conf_level : float
        Coverage of the intervals.
    seed : int, Generator or None
        Seed of the folds.

    Returns
    -------
    frame
        ``output='estimates'``: pandas, the `by` columns, ``judge`` and the columns of every estimate; ``n`` counts
        cells. Terms:

        - ``shift``, or ``slope`` and ``intercept``, of the fit to all cells;
        - ``deviation_before``, ``deviation_after``: mean of score minus reference, as scored, and with each cell
          calibrated by a fit to the other folds;
        - ``rmse_before``, ``rmse_after``: root of the mean squared difference of the same cells.

        NaN with a flag for a judge with fewer than 3 cells, and (except ``shift``) with constant scores.

        ``output='ratings'``: a frame of the same type, with the rows of the final score (or all), each score (or
        ``mean``; ``sd`` times the slope, NaN under ``rank``) calibrated by the fit to all cells. Scores of a judge
        without a fit are missing, with status ``missing partner``. Errors computed from it are in-sample. Scores may
        exceed the scale.

    Raises
    ------
    SchemaError
        If a column is missing, or `identity` is not valid.
    DesignError
        If an option is not known, there is one judge and no reference, or the reference matches no rating.

    See Also
    --------
    consensus_deviation : Distance from the other judges.
    score_error : Error of scores against right ones.

    Notes
    -----
    Folds hold out whole items, so that no cell of a held-out item, of the judge or of its peers, is in the fit. Judges
    of the same items have the same folds. With peers, each judge is fitted to the uncalibrated scores of the others; to
    correct all judges jointly, fit a model.

    Least squares of the reference on a noisy score flattens the slope by the score's reliability (regression dilution).
    That is right for prediction, and too flat as a description of how a judge uses the scale; replicates help.

    Intervals: t over items, for ``shift`` and the deviations from the items' sums, else from the jackknife of items, on
    the scale of its logarithm for the root mean square. Those of held-out terms treat the fits of the folds as fixed.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> true = pd.DataFrame({"system": list("xyz") * 20, "item": np.repeat(np.arange(20), 3),
    ...                      "score": rng.integers(1, 10, 60)})
    >>> scores = true.assign(judge="g", score=true["score"] + 2 + rng.normal(0, 0.1, 60))
    >>> calibrate(scores, reference=true)[["judge", "term", "estimate", "n"]].round(1)
      judge              term  estimate     n
    0     g             shift      -2.0  60.0
    1     g  deviation_before       2.0  60.0
    2     g   deviation_after      -0.0  60.0
    3     g       rmse_before       2.0  60.0
    4     g        rmse_after       0.1  60.0
    >>> calibrate(scores, reference=true, output="ratings")["score"].round(0).tolist()[:3]
    [8.0, 6.0, 5.0]
    >>> true["score"].tolist()[:3]
    [8, 6, 5]
    """
    if not isinstance(folds, int | np.integer) or folds < 2:
        raise DesignError(f"folds={folds!r} is not a number of folds. Allowed: whole numbers from 2, e.g. 5.")
    if "system" in names(by):
        raise DesignError(
            "by='system' is not allowed, because a judge has one calibration for all systems. Leave it out."
        )
    runs, reference = as_runs(ratings, average_over, by), reference_as_runs(reference, average_over)
    panel, groups = prepare(runs, by, per_criterion=False, final=overall_criterion, cluster=None)
    order = {k: shuffled(panel.things[k].labels, seed) for k in ("item", "system")}
    chosen = clustered_by(ratings, names(by), cluster, whole="item")
    of_items = _clusters_of_items(ratings, panel.things["item"].labels, chosen.column, cluster)
    options = _CalibrationOptions(method, folds, own == "include", conf_level, order, of_items)
    target = reference_of(panel, groups, reference, overall_criterion, identity)
    rows: list[Record] = []
    maps: dict[tuple[str, ...], CalibrationFit | None] = {}
    judged = list(cells_of_judges(panel, groups, target, identity or {}))
    if isinstance(reference, str):
        _refuse_several_scales(judged)
    for key, cells in judged:
        used = cells.where(usable(cells, options.include_own))
        apart = apart_from_gold(used.x, used.y, str(key["judge"]))
        maps[name_of(key.values())] = None if apart and method == "shift" else fit(used.x, used.y, method)
        if output == "estimates":
            of_judge = _calibration_rows(cells, used, options)
            far = [row["term"] for row in of_judge if method == "shift" or row["term"].endswith("_before")]
            of_judge = [unmeasured(row, apart if row["term"] in far else None) for row in of_judge]
            rows += [{**key, **row, "flag": flags.join(chosen.flag, row["flag"])} for row in of_judge]
    if output == "ratings":
        scores = to_table(as_scores(Study.of(ratings).data).to_native())
        return to_native(mapped(scores, groups, maps, overall_criterion), Study.of(ratings).data)
    return estimates(rows, [*groups, "judge"], sort=False)


def _refuse_several_scales(judged: list[tuple[Record, JudgeCells]]) -> None:
    """Raise DesignError where the judges of a group, of whom each is the reference of others, have several scales."""
    groups: dict[tuple[str, ...], list[tuple[str, Floats]]] = {}
    for key, cells in judged:
        groups.setdefault(name_of(v for k, v in key.items() if k != "judge"), []).append((str(key["judge"]), cells.x))
    for sides in groups.values():
        names_of = np.repeat(np.array([name for name, _ in sides], dtype=object), [len(x) for _, x in sides])
        refuse_several_scales(pd.Series(np.concatenate([x for _, x in sides])), pd.Series(names_of))


def _calibration_rows(cells: JudgeCells, used: JudgeCells, options: _CalibrationOptions) -> list[Record]:
    """Estimates of one judge."""
    cautions = _cautions(cells, options.include_own)
    if used.x.size < 3:
        flag = flags.join(flags.NO_REFERENCE if np.isnan(cells.y).all() else flags.FEW_CELLS, *cautions)
        terms = [*_PARAMETERS[options.method], *_TERMS]
        return [{"term": t, "estimate": math.nan, "n": used.x.size, "flag": flag} for t in terms]
    constant = flags.CONSTANT if options.method != "shift" and np.ptp(used.x) == 0 else ""
    rows = _parameters(used, cautions, options)
    name, unit = used.unit
    after = held_out(used.x, used.y, folds_of(unit, options.shuffled[name], options.folds), options.method)
    predicted = ~np.isnan(after)
    if not predicted.all():
        lacking = flags.NO_FOLDS if (used.unit[1] == used.unit[1][:1]).all() else constant
        cautions = [
            *cautions,
            lacking or flags.EXCLUDED.of(int((~predicted).sum()), what="cell(s) without a held-out fit"),
        ]
    compared = used.where(predicted) if predicted.any() else used
    scored = {"before": compared.x, "after": after[predicted] if predicted.any() else np.full(used.x.size, np.nan)}
    for what in ("deviation", "rmse"):
        for when, score in scored.items():
            gap = score - compared.y
            row = {"term": f"{what}_{when}", "n": int((~np.isnan(gap)).sum())}
            if np.isnan(gap).any():
                rows.append({**row, "estimate": math.nan, "flag": flags.join(*cautions)})
            elif what == "deviation":
                rows.append({**row, **_mean_cells(gap, compared, cautions, options)})
            else:
                rows.append({**row, **_root_mean_square(gap, compared, cautions, options)})
    return rows


def _cautions(cells: JudgeCells, include_own: bool) -> list[str]:
    """Flags of replicates and of excluded cells."""
    scored = ~np.isnan(cells.x)
    own = 0 if include_own else int((scored & cells.own).sum())
    without = int((scored & np.isnan(cells.y) & (include_own | ~cells.own)).sum())
    unscored = int((~scored).sum())
    return [
        *([flags.REPLICATES_AVERAGED] if cells.averaged else []),
        flags.EXCLUDED.of(own, what="own cell(s)"),
        flags.EXCLUDED.of(without, what="cell(s) without a reference"),
        flags.EXCLUDED.of(unscored, what="cell(s) without a score"),
    ]


def _parameters(used: JudgeCells, cautions: list[str], options: _CalibrationOptions) -> list[Record]:
    """Parameters of the fit to all cells."""
    n = used.x.size
    if options.method == "shift":
        return [{"term": "shift", "n": n, **_mean_cells(used.y - used.x, used, cautions, options)}]
    if options.method == "rank":
        return []
    if np.ptp(used.x) == 0:
        flag = flags.join(flags.CONSTANT, *cautions)
        return [{"term": t, "n": n, "estimate": math.nan, "flag": flag} for t in ("slope", "intercept")]
    centre = float(used.x.mean()), float(used.y.mean())
    counts = moments(used.x - centre[0], used.y - centre[1])

    def intercept(totals: Floats) -> Floats:
        slope, at_centre = line(totals).T
        crossing: Floats = centre[1] + at_centre - slope * centre[0]
        return crossing

    statistics = (("slope", lambda totals: line(totals)[:, 0]), ("intercept", intercept))
    return [{"term": term, "n": n, **_jackknifed(counts, of, used, cautions, options)} for term, of in statistics]


def _mean_cells(gap: Floats, cells: JudgeCells, cautions: list[str], options: _CalibrationOptions) -> Record:
    """Mean over cells, with t over clusters of items."""
    name, unit = options.drawn(cells)
    _, place = np.unique(unit, return_inverse=True)
    k, size = (np.bincount(place, x).astype(np.float64) for x in (gap, np.ones_like(gap)))
    mean, *ends = clustered_mean(k, size, options.conf_level)
    flag = flags.join(flags.CONSTANT_GAP if ends[0] == 0 else flags.few_clusters(size), *cautions)
    by = methods.clustered(methods.T, f"{name}s", size, linked=" over ")
    return with_interval(*ends, estimate=mean, method=by, flag=flag)


def _root_mean_square(gap: Floats, cells: JudgeCells, cautions: list[str], options: _CalibrationOptions) -> Record:
    """Root mean square over cells, with an interval on the scale of its logarithm."""

    def half_log(totals: Floats) -> Floats:
        with np.errstate(divide="ignore"):
            result: Floats = 0.5 * np.log(totals[:, 1] / totals[:, 0])
        return result

    rounding = 1e-12 * max(1.0, float(np.abs(cells.y).max()))
    squares = np.where(np.abs(gap) > rounding, gap, 0.0) ** 2
    row = _jackknifed(np.column_stack([np.ones_like(gap), squares]), half_log, cells, cautions, options)
    with np.errstate(over="ignore"):  # an end may be infinite with two clusters
        ends: Record = {c: float(np.exp(row[c])) for c in ("estimate", "conf_low", "conf_high") if c in row}
    if "std_error" in row:
        ends["std_error"] = ends["estimate"] * row["std_error"]
    return {**row, **ends}


def _jackknifed(
    counts: Floats, statistic: Statistic, cells: JudgeCells, cautions: list[str], options: _CalibrationOptions
) -> Record:
    """Statistic of totals over cells, with the jackknife of clusters of items."""
    name, unit = options.drawn(cells)
    _, place = np.unique(unit, return_inverse=True)
    size = np.bincount(place).astype(np.float64)
    sums = sums_within(counts, place, size.size)
    total = sums.sum(axis=0)
    value = float(statistic(total[None])[0])
    if not math.isfinite(value):
        return {"estimate": value, "flag": flags.join(flags.NO_SPREAD, *cautions)}
    with np.errstate(divide="ignore", invalid="ignore"):  # one cluster: nothing is left without it
        without = statistic(total - sums)
    estimate = jackknifed(value, without, size, name, options.conf_level, coefficient=False)
    return estimate.flagged(*cautions).cells
