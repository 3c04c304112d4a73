"""Ranks of the systems, and concordance of the judges: :func:`ranks`, :func:`kendall_w`."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from scipy.special import chdtrc

from judgestats import flags, methods
from judgestats.counting.splitting import as_runs
from judgestats.metrics.consensus.scores import mean_scores
from judgestats.metrics.measure_registry import Measure
from judgestats.results import estimates
from judgestats.schema.columns import By
from judgestats.schema.factors import Factors
from judgestats.typing import Floats, Record


@Measure(
    "How does each judge rank the systems?",
    "consensus",
    "R",
    "none",
    "ours",
    plot="forest",
    assumes="Mean scores are on one scale; ranks take no account of their error.",
)
def ranks(
    ratings: IntoFrame,
    *,
    by: By = (),
    average_over: By = (),
    per_criterion: bool = False,
    overall_criterion: str | None = "final",
    ascending: bool = False,
) -> pd.DataFrame:
    """Rank the systems within each judge; ties share their average rank.

    Parameters
    ----------
    ratings : frame
        Ratings or means, as in :func:`score_matrix`.
    by : str or sequence of str
        Further grouping columns.
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    per_criterion, overall_criterion
        As in :func:`score_matrix`.
    ascending : bool
        False gives rank 1 to the highest score.

    Returns
    -------
    pandas.DataFrame
        The `by` columns, ``judge``, ``system``, and the columns of every estimate, with the term ``rank``; ``n`` is the
        number of systems ranked. A rank has no interval.

    See Also
    --------
    rank_correlation : Rank correlation with a reference.
    score_matrix : Mean scores of judges and systems.

    Examples
    --------
    >>> means = pd.DataFrame({"judge": "a", "system": ["x", "y", "z"], "mean": [7.0, 9.0, 7.0]})
    >>> ranks(means)[["judge", "system", "term", "estimate", "n"]]
      judge system  term  estimate    n
    0     a      x  rank       2.5  3.0
    1     a      y  rank       1.0  3.0
    2     a      z  rank       2.5  3.0
    """
    ratings = as_runs(ratings, average_over, by)
    scores, groups = mean_scores(ratings, by, per_criterion, overall_criterion)
    keys = [*groups, "judge"]
    judge, score = Factors(scores).codes(keys), scores["estimate"]
    n = np.bincount(judge.code, score.notna(), judge.size)[judge.code]
    rank = score.groupby(judge.code).rank(method="average", ascending=ascending)
    names = [*keys, "system"]
    rows = [
        {
            **dict(zip(names, labels, strict=True)),
            "term": "rank",
            "estimate": of_system,
            "n": ranked,
            "method": methods.RANKS,
            "flag": flags.NO_DATA if math.isnan(of_system) else "",
        }
        for *labels, of_system, ranked in zip(*(scores[c] for c in names), rank, n, strict=True)
    ]
    return estimates(rows, names)


@Measure(
    "Do all judges rank the systems alike?",
    "agreement",
    "R",
    "none; chi-square p",
    "Kendall's W, corrected for ties",
    have=("judges",),
    assumes="All judges ranked the same systems; the chi-square p needs more than a few systems.",
)
def kendall_w(
    ratings: IntoFrame,
    *,
    by: By = (),
    average_over: By = (),
    per_criterion: bool = False,
    overall_criterion: str | None = "final",
) -> pd.DataFrame:
    """Kendall's coefficient of concordance among the judges' orders of the systems, corrected for ties.

    Parameters
    ----------
    ratings : frame
        Ratings or means.
    by : str or sequence of str
        Further grouping columns.
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    per_criterion, overall_criterion
        As in :func:`score_matrix`.

    Returns
    -------
    pandas.DataFrame
        The `by` columns, the columns of every estimate, and ``p_value`` (chi-square with k (n - 1) W on n - 1 degrees
        of freedom), ``chi2``, ``df``, ``judges``. ``n`` counts the systems that every judge scored. W has no interval.

    See Also
    --------
    rank_correlation : Rank correlation with a reference.
    correlation : Correlation of each pair of judges.

    Notes
    -----
    0 is no concordance, 1 the same order for all judges. A judge that ties all systems has no order and is left out,
    with a flag. NaN with a flag for fewer than two judges with an order, or two systems.

    Examples
    --------
    >>> means = pd.DataFrame({"judge": list("aaabbb"), "system": list("xyz") * 2, "mean": [3.0, 2, 1, 9, 7, 8]})
    >>> kendall_w(means)[["term", "estimate", "n", "judges", "chi2"]]
            term  estimate    n  judges  chi2
    0  kendall_w      0.75  3.0       2   3.0
    """
    ratings = as_runs(ratings, average_over, by)
    scores, groups = mean_scores(ratings, by, per_criterion, overall_criterion)
    parts = scores.groupby(groups, dropna=False) if groups else [((), scores)]
    rows = []
    for key, part in parts:
        judge, system = (Factors(part).ranked([c]) for c in ("judge", "system"))
        wide = np.full((judge.size, system.size), np.nan)
        wide[judge.code, system.code] = part["estimate"]
        complete = ~np.isnan(wide).any(axis=0)
        flag = "" if complete.all() else flags.INCOMPLETE_SYSTEMS
        rows.append({**dict(zip(groups, key, strict=True)), **_concordance(wide[:, complete], flag)})
    return estimates(rows, groups, ("p_value", "chi2", "df", "judges"))


def _concordance(scores: Floats, flag: str) -> Record:
    """Cells of Kendall's W of (judges, systems) scores."""
    judges, n = scores.shape
    row: Record = {"term": "kendall_w", "n": n, "judges": judges, "df": n - 1, "flag": flags.join(flag, flags.ALONE)}
    if judges < 2 or n < 2:
        return row
    scores = scores[np.ptp(scores, axis=1) > 0]
    k = len(scores)
    flag = flags.join(flag, flags.EXCLUDED.of(judges - k, what="judge(s) without an order"))
    if k < 2:
        return {**row, "judges": k, "flag": flags.join(flag, flags.CONSTANT)}
    from scipy.stats import rankdata

    ranked = np.apply_along_axis(rankdata, 1, scores)
    ties = sum(float((c**3 - c).sum()) for c in (np.unique(r, return_counts=True)[1] for r in ranked))
    squares = float(((ranked.sum(axis=0) - k * (n + 1) / 2) ** 2).sum())
    most = k**2 * (n**3 - n) - k * ties
    w = 12 * squares / most
    chi2 = k * (n - 1) * w
    test = {"chi2": chi2, "p_value": float(chdtrc(n - 1, chi2)), "method": methods.CHI_SQUARE_P}
    return {**row, "judges": k, "estimate": w, **test, "flag": flag}
