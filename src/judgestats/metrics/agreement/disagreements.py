"""Disagreement of the judges on rated items: :func:`disagreement`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, combinations, islice

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags, methods
from judgestats.counting.bootstrap import Bootstrap
from judgestats.counting.clustering import Cluster
from judgestats.counting.repeats import Unsettled, one_answer, plain
from judgestats.counting.splitting import as_runs
from judgestats.counting.study import Calls, Study
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError
from judgestats.estimate import clustered_share, share
from judgestats.kernels.comparison_graphs import pieces
from judgestats.kernels.correlation import grouped
from judgestats.kernels.proportions import quotient
from judgestats.kernels.resampling import weighted_totals
from judgestats.metrics.agreement.block_correlations import (
    from_draws,
    item_bootstrap,
    mean_defined,
    observed_weights,
    resampled_statistics,
    sd_defined,
    system_means,
)
from judgestats.metrics.agreement.rating_blocks import HELD, Block, Unit, rated_cells, refuse_empty, shared_blocks
from judgestats.metrics.clustered import clustered_by
from judgestats.metrics.exclusions import missing_counted
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.metrics.requirements import pairs_of_judges
from judgestats.metrics.scales import across_scales
from judgestats.results import estimates
from judgestats.schema.classes import class_codes
from judgestats.schema.columns import COUNTS, By, answer_column, names
from judgestats.schema.factors import factor_of
from judgestats.typing import Floats, Ints, Mask, Record


@Measure(
    "How far apart are the judges, which is highest, and on which items?",
    "agreement",
    "R",
    "t, bootstrap; shares: Wilson, clustered",
    "consensus_illusion, App C",
    plot="disagreement",
    frames=("ratings",),
    needs=(pairs_of_judges,),
    caption="How often the judges are far apart, which two, and which is highest.",
    terms=(
        Term("mean_spread", "mean spread, highest minus lowest"),
        Term("share_above", "share with a spread above the threshold", form="share"),
        Term("sd_of_means", "sd over judges of their means"),
        Term("mean_difference", "mean absolute difference"),
        Term("highest_alone", form="share"),
        Term("highest_shared", "highest, ties split", form="share"),
        Term("disputed", "most disputed: spread"),
        Term("disagreement", "pairs of judges whose classes differ", form="share"),
        Term("unanimity", "items on which all judges agree", form="share"),
    ),
    classes=True,
    have=("judges",),
    assumes="The judges use one scale; rated items are a sample of such items.",
)
def disagreement(
    ratings: IntoFrame,
    *,
    thresholds: Sequence[float] | None = None,
    top: int = 10,
    by: By = (),
    average_over: By = (),
    unit: Unit = "item",
    ddof: int = 1,
    cluster: Cluster = "auto",
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """How far apart the judges are on each rated item.

    Parameters
    ----------
    ratings : frame
        Ratings or means; or verdicts that are classes.
    thresholds : sequence of float, optional
        Thresholds for the shares of spreads strictly above each: by default 2, 3 and 4, of right and wrong verdicts 0.
    top : int
        Number of most disputed items listed.
    by : str or sequence of str
        Further grouping columns.
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    unit : {'item', 'criterion'}
        A rated item is a response (the mean of its criteria), or a criterion of it; runs are averaged. Of classes it is
        a criterion where there are several.
    ddof : int
        Divisor of ``sd_of_means``: judges - `ddof`.
    cluster, n_resamples, seed, conf_level
        As in :func:`correlation`.

    Returns
    -------
    pandas.DataFrame
        The `by` columns, the columns of every estimate, ``judge``, ``other``, ``threshold``, ``system``, ``item``
        (where they apply) and ``unit``. Terms:

        - ``mean_spread``: mean over rated items of the highest score minus the lowest.
        - ``share_above``: share of rated items whose spread is above ``threshold`` (Wilson).
        - ``sd_of_means``: standard deviation over judges of their mean scores; ``n`` counts judges. With
          ``by="system"`` that of each system, as in the paper's Table 4.
        - ``mean_difference``: mean absolute difference of two judges.
        - ``highest_alone``: share of rated items on which ``judge`` is above all others (Wilson); ``highest_shared``:
          a tie for the highest is split equally among those who tie.
        - ``disputed``: the `top` rated items with the widest spread, widest first (ties: by system and item);
          ``estimate`` is the spread, ``n`` the number of judges.

        Of classes, of which none is higher:

        - ``disagreement``: mean over rated items of the share of pairs of judges whose classes differ; with ``judge``
          and ``other`` the share of items on which these two differ (Wilson).
        - ``unanimity``: share of rated items on which all judges give one class (Wilson).
        - ``disputed``: the `top` rated items on which most pairs differ; ``estimate`` is their share.

    Raises
    ------
    DesignError
        For one judge, or a `top` below 0; if rows of classes carry counts, or a judge has several without a number.
    SchemaError
        If a column is missing.

    See Also
    --------
    score_distribution : Use of the scale.
    alpha : Agreement of all judges, with answers possibly missing.

    Notes
    -----
    A class that a judge gives again on an item counts once: the most frequent one, as in :func:`kappa`.

    An item counts where two judges or more rated it; the flag counts those that not all judges rated, whose spreads
    are smaller. For three judges the three absolute differences on an item add up to twice its spread. The judges are
    unanimous on items of spread 0: ``share_above`` with the threshold 0 is the share of the others, and a large `top`
    lists the unanimous ones last.

    Source: consensus_illusion paper, Appendix C, and Table 4, whose divisor is not printed; merchant_risk paper,
    Section 5.3 (unanimous items).

    Examples
    --------
    Three judges of the coherence of stories (HANNA):

    >>> from judgestats import datasets
    >>> table = datasets.load("hanna").query("criterion == 'CH'")
    >>> table = table[table["judge"].isin(["ChatGPT", "Llama-13B", "Mistral-7B"])]
    >>> result = disagreement(table, thresholds=(2,), top=1)
    >>> result[["term", "judge", "other", "estimate"]].round(2)
               term       judge       other  estimate
    0       mean_spread                              1.47
    1       sd_of_means                              0.54
    2       share_above                              0.16
    3   mean_difference     ChatGPT   Llama-13B      1.24
    4   mean_difference     ChatGPT  Mistral-7B      0.97
    5   mean_difference   Llama-13B  Mistral-7B      0.73
    6     highest_alone     ChatGPT                  0.06
    7    highest_shared     ChatGPT                  0.08
    8     highest_alone   Llama-13B                  0.49
    9    highest_shared   Llama-13B                  0.56
    10    highest_alone  Mistral-7B                  0.31
    11   highest_shared  Mistral-7B                  0.38
    12         disputed                              3.33
    """
    calls: Calls = as_runs(ratings, average_over, by)
    classes, repeats = answer_column(Study.of(calls).names) == "answer", ""
    unsettled: Unsettled = {}
    if classes:
        one, repeats, unsettled = one_answer(calls, "mode", by)
        calls, unit = _coded(one), "criterion" if "criterion" in one.names else "item"
    try:
        limits = [] if thresholds is None else np.atleast_1d(np.asarray(thresholds, dtype=float)).tolist()
    except (ValueError, TypeError):
        raise DesignError(f"thresholds={thresholds!r} are not numbers. Use e.g. (2, 3, 4).") from None
    if not isinstance(top, int | np.integer) or top < 0:
        raise DesignError(f"top={top} must be a whole number, 0 or more. Use 10, or 0 for none.")
    clustering = clustered_by(calls, names(by), cluster, whole="item")
    plan = item_bootstrap(clustering.column, n_resamples, seed, conf_level)
    table, groups = rated_cells(calls, by, (), clustering.column)
    refuse_empty(table)
    right_or_wrong = answer_column(Study.of(calls).names) == "correct" or bool(
        table["mean"].dropna().isin([0, 1]).all()
    )
    if thresholds is None:
        limits = [0.0] if right_or_wrong else [2.0, 3.0, 4.0]
    if classes and (table["runs"] > 1).any():
        one_of_many = table[table["runs"] > 1].iloc[0]
        raise DesignError(
            f"Judge {one_of_many['judge']!r} has several classes on item {one_of_many['item']!r}, and no mean is one. "
            "Number them in a column 'replicate'."
        )
    rows: list[Record] = []
    for block in shared_blocks(calls, table, groups, (), unit, clustering.column):
        names_of_points = [block.labels.series(c) for c in ("item", "criterion")[: 2 if unit == "criterion" else 1]]
        items = [": ".join(map(str, labels)) for labels in zip(*names_of_points, strict=True)]
        if classes:
            own = _class_rows(block, items, top, plan, clustered=cluster is not False)
            flag = unsettled.get(plain(block.key), "")
            rows += [
                {**r, "method": r.get("method", methods.NONE).noting(repeats), "flag": flags.join(r["flag"], flag)}
                for r in own
            ]
        else:
            most = 1.0 if right_or_wrong else math.inf
            rows += _spread_rows(block, items, limits, top, plan, ddof, clustered=cluster is not False, most=most)
    for row in rows:
        row |= {"unit": unit, "flag": flags.join(row["flag"], clustering.flag)}
        for name in ("judge", "other", "system", "item"):
            if name not in groups:
                row.setdefault(name, "")
    extra = [c for c in ("judge", "other", "threshold", "system", "item", "unit") if c not in groups]
    terms = estimates(rows, groups, extra, sort=False)
    if not classes:
        terms = across_scales(terms, table, groups, set(terms["term"]), ())
    return missing_counted(terms, calls, [*groups, "system", "item"])


def _coded(study: Study) -> Study:
    """Calls whose classes are numbers, of which only equality counts."""
    study = Study.whole(study)
    if COUNTS in study.names:
        raise DesignError("Disagreement of classes is of single calls, and rows carry a count. Give one row a call.")
    code = class_codes(study.columns.series("answer"))[0]
    score = factor_of(pd.Series(np.where(code < 0, np.nan, code)))
    return study.part(study.columns.but(score=score).without("answer"))


def _class_rows(block: Block, items: list[str], top: int, plan: Bootstrap, *, clustered: bool) -> list[Record]:
    """Rows of classes: how many pairs of judges differ, which two how often, and on which items."""
    n_judges = (~np.isnan(block.scores)).sum(axis=1)
    row, point = np.nonzero(n_judges > 1)
    classes, judges, owner = block.scores[row, :, point], n_judges[row, point], block.owner[point]
    pairs = list(combinations(range(len(block.judges)), 2))
    apart = np.stack([(classes[:, i] != classes[:, j]).astype(float) for i, j in pairs], axis=-1)
    apart[np.stack([np.isnan(classes[:, [i, j]]).any(axis=1) for i, j in pairs], axis=-1)] = np.nan
    differing = mean_defined(apart)
    notes = flags.join(
        flags.NOT_RATED_BY_ALL.of(int((judges < len(block.judges)).sum())),
        flags.EXCLUDED.of(int((n_judges == 1).sum()), what="rated by one judge"),
        flags.SMALL_N if 0 < len(row) < 30 else "" if len(row) else flags.NO_DATA,
    )

    def share(hits: Mask, of: Mask) -> Record:
        size = "" if of.all() else flags.NO_DATA if not of.any() else flags.SMALL_N if of.sum() < 30 else ""
        cells_of = share_cells(hits[of], owner[of], plan, clustered)
        return {**cells_of, "flag": flags.join(notes, size, cells_of["flag"])}

    (mean,) = _vector_means([differing], owner, block, plan, (0.0, 1.0))
    rows: list[Record] = [{"term": "disagreement", **mean, "flag": flags.join(notes, mean["flag"])}]
    rows.append({"term": "unanimity", **share(differing == 0, np.ones(len(row), bool))})
    for k, (i, j) in enumerate(pairs):
        labels = {"term": "disagreement", "judge": block.judges[i], "other": block.judges[j]}
        rows.append({**labels, **share(apart[:, k] == 1, ~np.isnan(apart[:, k]))})
    systems = [*map(str, block.rows["system"])]
    for k in np.lexsort((np.arange(len(row)), -differing.round(9)))[:top]:
        labels = {"term": "disputed", "system": systems[row[k]], "item": items[point[k]]}
        rows.append({**labels, "estimate": float(differing[k]), "n": int(judges[k]), "flag": ""})
    return [{**block.key, **r} for r in rows]


def _spread_rows(
    block: Block,
    items: list[str],
    thresholds: Sequence[float],
    top: int,
    plan: Bootstrap,
    ddof: int,
    *,
    clustered: bool,
    most: float,
) -> list[Record]:
    """Rows of scores, which are at most so far apart."""
    is_rated = ~np.isnan(block.scores)
    n_judges = is_rated.sum(axis=1)
    row, point = np.nonzero(n_judges > 1)  # rated items, in the order of their labels
    scores, judges = block.scores[row, :, point], n_judges[row, point]
    high, low = (f(scores, axis=1) if len(scores) else np.empty(0) for f in (np.nanmax, np.nanmin))
    spread, n = high - low, len(row)
    owner = block.owner[point]
    partly = flags.NOT_RATED_BY_ALL.of(int((judges < len(block.judges)).sum()))
    rated_once = flags.EXCLUDED.of(int((n_judges == 1).sum()), what="rated by one judge")
    notes = flags.join(partly, rated_once, flags.SMALL_N if 0 < n < 30 else "", flags.NO_DATA if not n else "")
    best = np.abs(scores - high[:, None]) < 1e-9
    shared = quotient(best, best.sum(axis=1, keepdims=True), ~np.isnan(scores))
    pairs = list(combinations(range(len(block.judges)), 2))
    differences = chain([spread], (np.abs(scores[:, i] - scores[:, j]) for i, j in pairs))
    means = chain(
        _vector_means(differences, owner, block, plan, (0.0, most)),
        _vector_means(shared.T, owner, block, plan, (0.0, 1.0)),
    )

    def share(hits: Mask, of: Mask) -> Record:
        wilson_cells = share_cells(hits[of], owner[of], plan, clustered)
        return {**wilson_cells, "flag": flags.join(notes, wilson_cells["flag"])}

    spreads = next(means)
    rows: list[Record] = [{"term": "mean_spread", **spreads, "flag": flags.join(notes, spreads["flag"])}]
    rows.append({"term": "sd_of_means", **_sd_of_means(block, plan, ddof)})
    for t in thresholds:
        rows.append({"term": "share_above", "threshold": float(t), **share(spread > t + 1e-9, np.ones(n, bool))})
    for i, j in pairs:
        difference, a, b = next(means), block.judges[i], block.judges[j]
        size = flags.NO_DATA if not difference["n"] else flags.SMALL_N if difference["n"] < 30 else ""
        labels = {"term": "mean_difference", "judge": a, "other": b}
        rows.append({**labels, **difference, "flag": flags.join(size, difference["flag"])})
    for i, judge in enumerate(block.judges):
        judge_rated = ~np.isnan(scores[:, i])
        rows.append(
            {"term": "highest_alone", "judge": judge, **share(best[:, i] & (best.sum(axis=1) == 1), judge_rated)}
        )
        cells_of = next(means)
        rows.append({"term": "highest_shared", "judge": judge, **cells_of, "flag": flags.join(notes, cells_of["flag"])})
    systems = [*map(str, block.rows["system"])]
    for k in np.lexsort((np.arange(n), -spread.round(9)))[:top]:
        labels = {"term": "disputed", "system": systems[row[k]], "item": items[point[k]]}
        rows.append({**labels, "estimate": float(spread[k]), "n": int(judges[k]), "flag": ""})
    return [{**block.key, **r} for r in rows]


def _sd_of_means(block: Block, plan: Bootstrap, ddof: int) -> Record:
    """Standard deviation over judges of their means, over systems, of the items they rated."""
    n_scores = (~np.isnan(block.scores)).sum(axis=2)  # (systems, judges)
    n_scores = n_scores[:, n_scores.sum(axis=0) > 0]
    if n_scores.size and pieces(n_scores.T @ n_scores > 0).max() > 0:
        return {"estimate": math.nan, "n": n_scores.shape[1], "flag": flags.SYSTEM_CONFOUNDED}

    def means(weights: Floats) -> Floats:
        return mean_defined(system_means(block, weights), axis=1)

    observed = means(observed_weights(block))
    (draws,) = resampled_statistics(block, plan, means)
    cells_of = from_draws(
        float(sd_defined(observed, ddof)[0]), sd_defined(draws, ddof), block.unit_sizes, plan, (0.0, math.inf)
    )
    missing, n = flags.MISSING.of(block.n_missing, what="score(s)"), int((~np.isnan(observed)).sum())
    return {**cells_of, "n": n, "flag": flags.join("" if n else flags.NO_DATA, missing, cells_of["flag"])}


def _vector_means(
    values: Iterable[Floats],
    owner: Ints,
    block: Block,
    plan: Bootstrap,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> Iterator[Record]:
    """Mean of each vector without its NaN, with its interval; as many vectors at a time as memory allows."""
    values = iter(values)
    while held := list(islice(values, max(HELD // block.n_units, 1))):
        used = [~np.isnan(v) for v in held]
        masks = {u.tobytes(): u for u in used}  # most vectors lack the same points, or none
        filled = [np.where(u, v, 0.0) for u, v in zip(used, held, strict=True)]
        sums = grouped(np.stack([*masks.values(), *filled]).T, owner, block.n_units)
        (totals,) = resampled_statistics(block, plan, partial(weighted_totals, sums=sums))
        by_vector = np.ascontiguousarray(totals.T)
        size = dict(zip(masks, by_vector, strict=False))
        for u, v, total in zip(used, held, by_vector[len(masks) :], strict=True):
            n = int(u.sum())
            value = float(v[u].sum() / n) if n else math.nan
            draws = quotient(total, size[u.tobytes()])
            yield {**from_draws(value, draws, block.unit_sizes, plan, limits), "n": n}


def share_cells(hits: Mask, owner: Ints, plan: Bootstrap, clustered: bool = True) -> Record:
    """Cells of a share with Wilson's interval, clustered by `owner` if it repeats."""
    n, k = hits.size, int(hits.sum())
    row = share(k, n, plan.conf_level).cells
    units, code = np.unique(owner, return_inverse=True)
    if n <= units.size:
        return row
    if not clustered:
        return {**row, "flag": flags.NOT_INDEPENDENT}
    of_hits, of_all = (np.bincount(code, w, units.size).astype(float) for w in (hits.astype(float), np.ones(n)))
    of_clusters = of_hits, of_all, plan.cluster[0], plan.conf_level
    return row | clustered_share(*of_clusters).interval
