"""Which map of its scores brings a judge to a reference, and how near does it get: :func:`calibrate`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError, choose, confidence
from judgestats.metrics.clustered import clustered_by
from judgestats.metrics.consensus.doubts import AVERAGED, NO_REFERENCE
from judgestats.metrics.consensus.maps import (
    METHODS,
    Cells,
    Fit,
    Floats,
    Method,
    cells_of_judges,
    fit,
    folds_of,
    held_out,
    line,
    mapped,
    moments,
    name_of,
    reference_of,
    shuffled,
    usable,
)
from judgestats.metrics.consensus.panel import prepare
from judgestats.metrics.consensus.uncertainty import interval
from judgestats.metrics.resampled import Bootstrap, Statistic, resampled
from judgestats.results import CONSTANT, FEW_CLUSTERS, ONE_UNIT, estimates, flags
from judgestats.schema.clustering import Cluster
from judgestats.schema.coding import as_scores
from judgestats.schema.columns import By, names
from judgestats.schema.splitting import as_runs, reference_as_runs
from judgestats.verdicts.groups import to_native, to_table

Mask = NDArray[np.bool_]
_Row = dict[str, Any]

TOO_FEW = "fewer than 3 cells"
NO_FOLDS = "one item and one system, nothing to hold out"
CONSTANT_GAP = "constant difference"
_PARAMETERS: dict[str, tuple[str, ...]] = {"shift": ("shift",), "linear": ("slope", "intercept"), "rank": ()}
_TERMS = ("deviation_before", "deviation_after", "rmse_before", "rmse_after")


@dataclass(frozen=True)
class _Options:
    """How every judge is treated."""

    method: Method
    folds: int
    include_own: bool
    seed: int | np.random.Generator | None
    n_resamples: int
    conf_level: float
    shuffled: dict[str, NDArray[np.uint64]]
    within: tuple[str, NDArray[Any]]

    def drawn(self, cells: Cells) -> tuple[str, NDArray[Any]]:
        """What is resampled by nature, and its code for each cell."""
        name, unit = cells.unit
        return (self.within[0], self.within[1][unit]) if name == "item" else (name, unit)


def _lies_in(ratings: Any, items: Any, column: str, cluster: Cluster) -> tuple[str, NDArray[Any]]:
    """Column that is resampled, and the code of each item in it."""
    own = np.arange(len(items))
    if column == "item":
        return "item", own
    known = nw.from_native(ratings).lazy().select("item", column).unique().collect(backend="pandas").to_native()
    if known["item"].duplicated().any():
        if cluster == "auto":
            return "item", own
        raise DesignError(f"cluster={column!r} differs within an item. Name a column that every item has one value of.")
    place = pd.Index(known["item"].astype(str)).get_indexer(pd.Index(items).astype(str))
    return column, pd.factorize(known[column], use_na_sentinel=False)[0][place]


def calibrate(
    ratings: Any,
    *,
    reference: Any = "peers",
    method: Method = "shift",
    output: Literal["estimates", "ratings"] = "estimates",
    identity: Mapping[str, str] | None = None,
    own: Literal["exclude", "include"] = "exclude",
    folds: int = 5,
    by: By = (),
    average_over: By = (),
    final: str | None = "final",
    cluster: Cluster = "auto",
    conf_level: float = 0.95,
    n_resamples: int = 2000,
    seed: int | np.random.Generator | None = 0,
) -> Any:
    """Fit for each judge a map of its scores to a reference, and measure on held-out items what the map is worth.

    Parameters
    ----------
    ratings : frame
        Raw ratings in any engine (replicates are averaged for the fit), or means per cell.
    reference : 'peers' or frame
        What a cell should have got. ``'peers'``: the mean of the other judges' scores there, uncalibrated, as in
        :func:`consensus_deviation`. A frame: people's or gold ratings (with ``judge``: their mean) or means, matched on
        ``system`` and, where it has them, the `by` columns, ``item`` and ``criterion``.
    method : {'shift', 'linear', 'rank'}
        - ``shift``: a constant is added, the mean of reference minus score.
        - ``linear``: intercept + slope * score, by least squares of the reference on the score.
        - ``rank``: the monotone regression of the reference on the score (isotonic, straight between scores that occur,
          flat beyond them). It uses the order of a judge's scores alone, and makes ties where the reference disagrees.
    output : {'estimates', 'ratings'}
        What is returned.
    identity : mapping of str to str, optional
        System name -> judge name, where they differ.
    own : {'exclude', 'include'}
        Whether a judge's scores of its own system are left out of the fit and of the errors. They are calibrated in
        either case: a lean towards oneself is not taken for severity, and stays to be seen.
    folds : int
        Parts of the items (of the systems, where there is one item) that are held out in turn; as many as there are
        items at most.
    by : str or sequence of str
        Further columns that split the result: a map for each (``criterion``, say).
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    final : str or None
        Criterion that holds a final score: taken alone where there is one, else one map serves all criteria.
    cluster : "auto", str or False
        Column whose values are resampled by nature: ``"auto"``, items or what they lie in (``prompt``, ``task``);
        False, items. Folds are of items.
    conf_level : float
        Coverage of the intervals.
    n_resamples : int
        Resamples of the bootstrap.
    seed : int, Generator or None
        Of the folds and of the resamples.

    Returns
    -------
    frame
        ``output='estimates'``: pandas, the `by` columns, ``judge`` and the columns of every estimate; ``n`` counts
        cells. Terms:

        - ``shift``, or ``slope`` and ``intercept``, of the fit to all cells;
        - ``deviation_before``, ``deviation_after``: mean of score minus reference, as scored, and with each cell mapped
          by a fit to the other folds;
        - ``rmse_before``, ``rmse_after``: root of the mean squared difference of the same cells.

        NaN, flagged, for a judge with fewer than 3 cells, and (but for ``shift``) for one whose scores are all alike.

        ``output='ratings'``: a frame of the kind given, with the rows of the final score (or all), each score (or
        ``mean``; ``sd`` by the slope, NaN under ``rank``) through the map fitted to all cells. Scores of a judge
        without a map are missing, with status ``missing partner``. Errors computed from it are of the fit, not held
        out. Scores may leave the scale.

    Raises
    ------
    SchemaError
        If a column is missing, or `identity` cannot be right.
    DesignError
        If an option is not known, there is one judge and no reference, or the reference fits no rating.

    Notes
    -----
    Folds hold out whole items, so that no cell of a held-out item is in the fit: not the judge's, and, the reference
    being the others' scores in the same cells, not theirs. Judges of the same items have the same folds. With peers,
    each judge is fitted to the others as they are: two judges may pass each other. Correcting all at once is a model.

    Least squares of the reference on a noisy score flattens the slope by the score's reliability (regression dilution).
    That is right for prediction, and too flat as a statement on how a judge uses the scale; replicates help.

    Intervals: for ``shift`` and the deviations, t over items from the items' sums; else Student's, from a bootstrap
    of items. Those of held-out terms take the folds' fits as given.

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
    choose(method, METHODS, "method")
    choose(output, ("estimates", "ratings"), "output")
    choose(own, ("exclude", "include"), "own")
    confidence(conf_level)
    if not isinstance(folds, int | np.integer) or folds < 2:
        raise DesignError(f"folds={folds!r} holds nothing out. Use 5, say, and 2 at least.")
    if "system" in names(by):
        raise DesignError("by='system' cannot be: a judge has one map for all systems. Leave it out.")
    runs, reference = as_runs(ratings, average_over, by), reference_as_runs(reference, average_over)
    table, groups = prepare(runs, by, level="final", final=final, cluster=None)
    order = {k: shuffled(table.labels[k], seed) for k in ("item", "system")}
    drawn = clustered_by(ratings, names(by), cluster, whole="item")
    within = _lies_in(ratings, table.labels["item"], drawn.column, cluster)
    options = _Options(method, folds, own == "include", seed, n_resamples, conf_level, order, within)
    target = reference_of(table, groups, reference, final, identity)
    rows: list[dict[str, Any]] = []
    maps: dict[tuple[str, ...], Fit | None] = {}
    for key, cells in cells_of_judges(table, groups, target, identity or {}):
        used = cells.where(usable(cells, options.include_own))
        maps[name_of(key.values())] = fit(used.x, used.y, method)
        if output == "estimates":
            rows += [{**key, **row, "flag": flags(drawn.flag, row["flag"])} for row in _rows(cells, used, key, options)]
    if output == "ratings":
        scores = to_table(as_scores(nw.from_native(ratings)).to_native())
        return to_native(mapped(scores, groups, maps, final), ratings)
    return estimates(rows, [*groups, "judge"], sort=False)


def _rows(cells: Cells, used: Cells, key: Mapping[str, Any], options: _Options) -> list[_Row]:
    """Estimates of one judge."""
    told = _doubts(cells, options.include_own)
    terms = [*_PARAMETERS[options.method], *_TERMS]
    why = _unidentified(cells, used, options.method)
    if why and why != CONSTANT:
        return [{"term": t, "estimate": math.nan, "n": used.x.size, "flag": flags(why, *told)} for t in terms]
    rows = _parameters(used, key, told, options)
    name, unit = used.unit
    after = held_out(used.x, used.y, folds_of(unit, options.shuffled[name], options.folds), options.method)
    predicted = ~np.isnan(after)
    if not predicted.all():
        lacking = NO_FOLDS if len(np.unique(used.unit[1])) < 2 else why
        told = [*told, lacking or f"{int((~predicted).sum()):,} cells without a held-out fit"]
    compared = used.where(predicted) if predicted.any() else used
    scored = {"before": compared.x, "after": after[predicted] if predicted.any() else np.full(used.x.size, np.nan)}
    for what in ("deviation", "rmse"):
        for when, score in scored.items():
            gap = score - compared.y
            row = {"term": f"{what}_{when}", "n": int((~np.isnan(gap)).sum())}
            if np.isnan(gap).any():
                rows.append({**row, "estimate": math.nan, "flag": flags(*told)})
            elif what == "deviation":
                rows.append({**row, **_mean(gap, compared, told, options)})
            else:
                rows.append(
                    {**row, **_drawn(np.column_stack([gap * 0 + 1, gap**2]), _root, compared, key, told, options)}
                )
    return rows


def _unidentified(cells: Cells, used: Cells, method: Method) -> str:
    if used.x.size < 3:
        return NO_REFERENCE if np.isnan(cells.y).all() else TOO_FEW
    return CONSTANT if method != "shift" and np.ptp(used.x) == 0 else ""


def _doubts(cells: Cells, include_own: bool) -> list[str]:
    scored = ~np.isnan(cells.x)
    own = 0 if include_own else int((scored & cells.own).sum())
    without = int((scored & np.isnan(cells.y) & (include_own | ~cells.own)).sum())
    aside = int((~scored).sum())
    return [
        *([AVERAGED] if cells.averaged else []),
        *([f"{own:,} own cells left out"] if own else []),
        *([f"{without:,} cells without a reference"] if without else []),
        *([f"{aside:,} cells without a score"] if aside else []),
    ]


def _parameters(used: Cells, key: Mapping[str, Any], told: list[str], options: _Options) -> list[_Row]:
    """Parameters of the fit to all cells."""
    n = used.x.size
    if options.method == "shift":
        return [{"term": "shift", "n": n, **_mean(used.y - used.x, used, told, options)}]
    if options.method == "rank":
        return []
    if np.ptp(used.x) == 0:
        return [
            {"term": t, "n": n, "estimate": math.nan, "flag": flags(CONSTANT, *told)} for t in ("slope", "intercept")
        ]
    centre = float(used.x.mean()), float(used.y.mean())
    counts = moments(used.x - centre[0], used.y - centre[1])

    def intercept(totals: Floats) -> Floats:
        slope, at_centre = line(totals).T
        crossing: Floats = centre[1] + at_centre - slope * centre[0]
        return crossing

    of_slope = _drawn(counts, lambda totals: line(totals)[:, 0], used, key, told, options)
    of_intercept = _drawn(counts, intercept, used, key, told, options)
    return [{"term": "slope", "n": n, **of_slope}, {"term": "intercept", "n": n, **of_intercept}]


def _mean(gap: Floats, cells: Cells, told: list[str], options: _Options) -> _Row:
    """Mean over cells, with t over items: the sd of the items' sums of distances from it."""
    name, unit = options.drawn(cells)
    _, place = np.unique(unit, return_inverse=True)
    mean = float(gap.mean())
    sums = np.bincount(place, weights=gap - mean)
    g = sums.size
    row: _Row = {"estimate": mean}
    if g < 2:
        return {**row, "flag": flags(ONE_UNIT, *told)}
    variance = g / (g - 1) * float((sums**2).sum()) / gap.size**2
    se, low, high = (float(v) for v in interval(mean, variance, g - 1, options.conf_level))
    doubt = CONSTANT_GAP if math.isnan(low) else FEW_CLUSTERS if g < 10 else ""
    return {
        **row,
        "std_error": se,
        "conf_low": low,
        "conf_high": high,
        "method": f"t over {name}s (G = {g})",
        "flag": flags(doubt, *told),
    }


def _drawn(
    counts: Floats, statistic: Statistic, cells: Cells, key: Mapping[str, Any], told: list[str], options: _Options
) -> _Row:
    """Statistic of totals over cells, with a bootstrap of items."""
    name, unit = options.drawn(cells)
    plan = Bootstrap("t", (name,), None, options.n_resamples, options.seed, options.conf_level)
    row = resampled(pd.DataFrame({name: unit, "n": 1.0}), counts, statistic, plan, key)
    return {**row, "estimate": float(statistic(counts.sum(axis=0)[None, :])[0]), "flag": flags(row["flag"], *told)}


def _root(totals: Floats) -> Floats:
    root: Floats = np.sqrt(totals[:, 1] / totals[:, 0])
    return root
