"""How many independent judges a panel is worth, by the correlation of its errors: :func:`effective_judges`."""

from __future__ import annotations

import math
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.counting.bootstrap import Bootstrap
from judgestats.counting.cells import ABOUT, cells
from judgestats.counting.clustering import Cluster, auto_cluster, clusters, coarser_levels
from judgestats.counting.clusters import cluster_columns
from judgestats.counting.counts import Counts
from judgestats.counting.selection import gathered_study
from judgestats.counting.splitting import as_runs
from judgestats.counting.study import Study
from judgestats.counting.tallies import called
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError
from judgestats.kernels.correlation import correlations_of, effective_number, product_sums
from judgestats.metrics.agreement.rated_units import drawing_units
from judgestats.metrics.correctness.gold_labels import labelled_calls, with_right_scores
from judgestats.metrics.measure_registry import Measure, MeasureOptions, Term
from judgestats.metrics.requirements import pairs_of_judges
from judgestats.results import estimates
from judgestats.schema.classes import where_answered
from judgestats.schema.columns import UNIT_COLUMNS, By, answer_column, grouping, kind_of
from judgestats.schema.opening import frame_columns
from judgestats.typing import Floats, Record

#: Wrongness of an outcome; a tie where one candidate is right is half wrong.
_ERROR = {"correct": 0.0, "tie": 0.5, "wrong": 1.0}

#: Kurtosis of a judge's errors above which the interval is flagged; that of a normal distribution is 3.
HEAVY = 5.0


def _gold_or_correct(data: IntoFrame, _: MeasureOptions) -> str:
    columns = Study.of(data).names
    has_gold = "gold" in columns or (kind_of(columns) == "ratings" and answer_column(columns) == "correct")
    return "" if has_gold else "needs a column 'gold'"


@Measure(
    "How many independent judges is the panel worth?",
    "agreement",
    "P, R and gold",
    "bootstrap",
    "design effect (Kish 1965)",
    plot="forest",
    frames=("preferences", "ratings"),
    needs=(pairs_of_judges, _gold_or_correct),
    terms=(
        Term(
            "effective_judges",
            "effective number of judges",
            "unit",
            "things that every judge answered",
            "lower",
            "A panel of independent judges of this number has a mean error with the same variance.",
        ),
        Term(
            "mean_correlation",
            "mean correlation of errors",
            "unit",
            "things that every judge answered",
            "higher",
            "How alike the errors of two judges are, on average over the pairs of judges.",
            neutral=0.0,
        ),
    ),
    have=("judges", "gold"),
    classes=True,
    assumes="Errors of each two judges are equally correlated, or nearly so; gold is right.",
)
def effective_judges(
    data: IntoFrame,
    *,
    gold: Any = "gold",
    by: By = (),
    average_over: By = (),
    cluster: Cluster = "auto",
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Effective number of judges of a panel: k judges whose errors are correlated are worth fewer independent ones.

    Parameters
    ----------
    data : frame
        Preferences with a column ``gold``; or ratings (scores or classes) with one, or with ``correct``.
    gold : str or frame
        Ratings: the right scores, as in :func:`score_error`; of classes a column.
    by : str or sequence of str
        Further grouping columns. Each group is a panel of its own.
    average_over : str or sequence of str
        Ratings: columns averaged over, as in :func:`score_matrix`.
    cluster : "auto", str or False
        Column that things share, by which intervals are clustered. ``"auto"`` detects it (``item``, say) and names it
        in ``method``. False treats all things as independent, with a flag where they are not. The bootstrap draws its
        levels whole.
    n_resamples, seed : int
        Number of bootstrap resamples, and seed of the draws.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        For each panel ``effective_judges``, k squared over the sum of all k x k correlations of the errors; and
        ``mean_correlation``, the mean over pairs of judges. A column ``judges`` has k. ``n`` counts the things that
        every judge of the panel answered; the flag counts the others. Judges whose errors do not vary (never wrong,
        say) have no correlation: they are left out, and the flag names them.

    Raises
    ------
    DesignError
        If the right answers are not known, or there is one judge.

    See Also
    --------
    dawid_skene : True answers and errors of a panel.
    icc : Intraclass correlations.

    Notes
    -----
    Error: the score minus the right one, averaged over repeats; for verdicts 0 if right, 1 if wrong, 1/2 for a tie
    where a candidate is right. With equal correlations r it is k / (1 + (k - 1) r): nine judges with r = 0.5 are worth
    1.8. It concerns the spread of errors: a bias that all judges share is not seen, and no number of judges removes it.
    Negative correlations give more than k. It is about a mean of scores, and only roughly about a majority vote.

    Agreement without gold cannot replace it: judges agree where all are right, too, and by erring together.

    References
    ----------
    Kish, L. (1965). Survey Sampling. Wiley (the design effect).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> shared = rng.normal(size=200)
    >>> rows = [(j, "s", i, 5 + shared[i] + rng.normal(), 5.0) for j in "abcdefghi" for i in range(200)]
    >>> scores = pd.DataFrame(rows, columns=["judge", "system", "item", "score", "gold"])
    >>> effective_judges(scores)[["term", "estimate", "conf_low", "conf_high", "n", "judges"]].round(2)
                   term  estimate  conf_low  conf_high      n  judges
    0  effective_judges      1.78      1.62       1.94  200.0       9
    1  mean_correlation      0.51      0.45       0.56  200.0       9
    """
    calls = Study.of(data)
    by_name = isinstance(gold, str)
    if answer_column(calls.names) == "answer" and kind_of(calls.names) == "ratings" and by_name and gold in calls.names:
        data = _right_or_wrong(calls, gold)
        calls = Study.of(data)
    columns = frame_columns(calls.data)
    groups = [g for g in grouping(by, columns) if g != "judge"]
    chosen = clusters(cluster)
    if chosen is not None and len(chosen) > 1:
        raise DesignError(f"cluster={cluster!r} names several columns. effective_judges allows one: item, say.")
    if chosen and chosen[0] == "judge":
        raise DesignError("cluster='judge': the judges are the panel, and are not drawn. Name what they judged: item.")
    extra = list(dict.fromkeys([*groups, *(chosen or coarser_levels(calls, groups, "item"))]))
    grouping(chosen or (), columns, argument="cluster")
    preferences = kind_of(columns) == "preferences"
    if isinstance(gold, str) and gold not in columns and (preferences or answer_column(columns) != "correct"):
        raise DesignError(
            f"effective_judges needs the right answers, and there is no column {gold!r}. Columns: "
            f"{', '.join(columns)}. Add it, or for ratings name it with gold=; agreement alone cannot tell common "
            "errors from common truth."
        )
    if preferences and not (isinstance(gold, str) and gold == "gold"):
        raise DesignError("gold= is for ratings. Preferences have the right answer in a column 'gold'.")
    if preferences:
        counts, error, about = _of_verdicts(data, extra)
    else:
        counts, error, about = _of_scores(as_runs(data, average_over, extra), gold, extra)
    if counts.columns.n_distinct(["judge"]) < 2:
        raise DesignError("effective_judges compares the errors of judges, and there is one. Give two or more.")
    units = Study(counts.columns.take(counts.columns.codes(about).first))
    sharing = auto_cluster(calls, groups, units.n_calls, units=units) if "item" in columns else None
    dependent = flags.NOT_INDEPENDENT if chosen == () and sharing and sharing.shared else ""
    plan = Bootstrap("t", cluster_columns(chosen, sharing), None, n_resamples, seed, conf_level)
    rows: list[Record] = []
    codes = counts.columns.codes(groups)
    for g, (key, part) in enumerate(counts.grouped(groups).each_group()):
        errors = error if codes.size == 1 else error[codes.code == g]
        rows += [{**key, **row} for row in _panel(part, errors, about, dependent, plan, key)]
    return estimates(rows, groups, ["judges"])


def _right_or_wrong(calls: Study, gold: str) -> IntoFrame:
    """Ratings that are classes as right or wrong; missing where the class or the right one is."""
    answer, right = (nw.col(c).cast(nw.String) for c in ("answer", gold))
    there = where_answered(answer) & where_answered(right)
    data = calls.data.with_columns(nw.when(there).then(answer == right).alias("correct"))
    right_or_wrong: IntoFrame = data.drop(["answer", gold]).to_native()
    return right_or_wrong


def _of_verdicts(calls: IntoFrame, extra: list[str]) -> tuple[Counts, Floats, list[str]]:
    """Calls, whether each errs, and the columns that name a pair."""
    labelled, _ = labelled_calls(calls, [], "effective_judges")
    study, columns = called(gathered_study(labelled, extra), "gold_agreement", extra)
    low, high, _ = study.ordered
    columns = columns.but(first=low, second=high)
    about = [c for c in dict.fromkeys(["item", "first", "second", *UNIT_COLUMNS, *extra]) if c in columns]
    outcome = columns["outcome"]
    error = np.array([_ERROR.get(x, math.nan) for x in outcome.labels], dtype=float)[outcome.code]
    n = study.counts
    return Counts(columns, n), error, [c for c in about if c != "replicate"]


def _of_scores(ratings: IntoFrame, gold: Any, extra: list[str]) -> tuple[Counts, Floats, list[str]]:
    """Error of each judge on each rated response, and the columns that name a response."""
    columns = Study.of(ratings).names
    means = cells(ratings, [c for c in extra if c not in ABOUT])
    about = [c for c in dict.fromkeys([*ABOUT, *extra]) if c in means]
    if isinstance(gold, str) and gold not in columns:  # 'correct' says which verdicts are right
        return Counts.of(means.assign(n=1.0)), means["mean"].to_numpy(dtype=float) - 1.0, about
    matched = with_right_scores(means, ratings, gold, [c for c in extra if c not in ABOUT])
    if not matched["_gold"].notna().any():
        raise DesignError("effective_judges needs the right answers, and no response has one.")
    error = (matched["mean"] - matched["_gold"]).to_numpy(dtype=float)
    return Counts.of(matched.assign(n=1.0)), error, about


def heavy_tailed(errors: Floats) -> bool:
    """Whether the errors (N, k) of a judge, which are scores and no verdicts, have a kurtosis above 5."""
    if np.unique(errors).size <= len(_ERROR):
        return False
    squares = (errors - errors.mean(axis=0)) ** 2
    return bool(((squares**2).mean(axis=0) > HEAVY * squares.mean(axis=0) ** 2).any())


def _panel(
    counts: Counts, error: Floats, about: list[str], dependent: str, plan: Bootstrap, key: Record
) -> list[Record]:
    """The two rows of one panel."""
    thing, judge = counts.columns.codes(about), counts.columns.codes(["judge"])
    has_error = ~np.isnan(error) & (counts.n > 0)
    cell, cells = thing.code[has_error].astype(np.int64) * judge.size + judge.code[has_error], thing.size * judge.size
    total = np.bincount(cell, error[has_error], cells).reshape(thing.size, judge.size)
    calls = np.bincount(cell, minlength=cells).reshape(thing.size, judge.size).astype(float)
    answered = calls.any(axis=0)  # a judge that never answers is no member of the panel
    complete = calls[:, answered].all(axis=1)
    errors = (total[:, answered] / np.where(calls[:, answered] > 0, calls[:, answered], np.nan))[complete]
    name = counts.columns["judge"]
    who = np.array([str(name.labels[code]) for code in name.code[judge.first]])[answered]
    varies = np.zeros(who.size, dtype=bool)
    if len(errors):
        varies |= np.ptp(errors, axis=0) > 1e-12 * np.abs(errors).max(initial=1.0)
    left_out = sorted(who[~varies])
    notes = flags.join(
        flags.ERRORS_CONSTANT.of(len(left_out), who=", ".join(left_out)),
        flags.EXCLUDED.of(int((~answered).sum()), what="judge(s) without an answer"),
        flags.EXCLUDED.of(int((~complete).sum()), what="not answered by all judges"),
    )
    errors, k, n = errors[:, varies], int(varies.sum()), len(errors)
    notes = flags.join(notes, flags.HEAVY_ERRORS if heavy_tailed(errors) else "")
    terms = ("effective_judges", "mean_correlation")
    if k < 2 or n < 2:
        flag = flags.join(flags.NO_DATA if n < 1 else flags.TWO_VARYING, notes)
        return [{"term": t, "estimate": math.nan, "n": float(n), "judges": k, "flag": flag} for t in terms]
    units = Counts(Study(counts.columns.take(thing.first[complete])).candidates, np.ones(n))
    products = product_sums(errors)
    small = flags.SMALL_N if n < 30 else ""

    def number(totals: Floats) -> Floats:
        return effective_number(totals, k)

    def correlation(totals: Floats) -> Floats:
        result: Floats = (correlations_of(totals, k).sum(axis=(-2, -1)) - k) / (k * (k - 1))
        return result

    rows = []
    for term, statistic in zip(terms, (number, correlation), strict=True):
        value = float(statistic(products.sum(axis=0)[None])[0])
        cells_of = units.resampled(products, statistic, {**key, "term": term}, plan=plan)
        cells_of["method"] = drawing_units(cells_of["method"])
        flag = flags.join(cells_of["flag"], dependent, small, flags.ERRORS_CANCEL if math.isnan(value) else "", notes)
        rows.append({"term": term, "estimate": value, **cells_of, "n": float(n), "judges": k, "flag": flag})
    return rows
