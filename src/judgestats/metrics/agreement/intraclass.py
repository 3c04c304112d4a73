"""Intraclass correlations: :func:`icc`."""

from __future__ import annotations

from functools import cache
from typing import Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags, methods
from judgestats.counting.cells import ABOUT, score_panel
from judgestats.counting.clustering import Cluster
from judgestats.counting.panels import ScorePanel
from judgestats.counting.splitting import as_runs
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, SchemaError, refuse_unknown
from judgestats.estimate import ON_LOGIT, student_ends
from judgestats.kernels.proportions import quotient
from judgestats.kernels.reml import Components, fitted
from judgestats.kernels.variance import clustered_correlations, correlations, mean_squares
from judgestats.metrics.clustered import Clustered, clustered_by
from judgestats.metrics.exclusions import missing_counted
from judgestats.metrics.measure_registry import Measure
from judgestats.metrics.pingouin_engine import six_correlations, version
from judgestats.metrics.requirements import several_judges
from judgestats.metrics.scales import columns_apart
from judgestats.results import COLUMNS, text_array
from judgestats.schema.coding import compact
from judgestats.schema.columns import By, grouping, names
from judgestats.schema.factors import Factors
from judgestats.typing import Floats, Integers, Ints, Mask

#: Name of the column ``judge`` while another column is the rater.
_JUDGE = "judge of the rating"


def panel_of_subjects(
    ratings: Study | IntoFrame, subjects: By, raters: str, by: By, cluster: str = ""
) -> tuple[ScorePanel, list[list[str]]]:
    """Raters by subjects, and flags of each group; runs are averaged first, then all further columns."""
    study = Study.of(ratings)
    present = study.names
    by = grouping(by, present)
    subjects = _subject_columns(present, subjects, raters, by)
    called: dict[str, str] = {}
    if raters != "judge":  # a panel calls its raters judge
        called = {raters: "judge", **({"judge": _JUDGE} if "judge" in present else {})}
        data = study.data.rename(called)
        study = Study.of(data.with_columns(nw.lit("").alias("system")) if raters == "system" else data)
    columns = [called.get(c, c) for c in (*by, *subjects, *([cluster] if cluster else []))]
    further = [*(c for c in columns if c not in ABOUT), *([_JUDGE] if _JUDGE in called.values() else [])]
    panel = score_panel(study, list(dict.fromkeys(further)), called={new: old for old, new in called.items()})
    return _with_subjects(panel, by, subjects, called, cluster)


def _subject_columns(present: list[str], subjects: By, raters: str, by: list[str]) -> list[str]:
    subjects = list(dict.fromkeys(names(subjects)))
    for argument, name in [("raters", raters), *(("subjects", s) for s in subjects)]:
        if not (name in ABOUT and argument == "subjects"):
            problem = f"{argument}={name!r} is not a column of the ratings"
            refuse_unknown(name, present, problem, "Columns", error=SchemaError)
    if not subjects:
        raise DesignError("subjects= names no column. Name what is rated, e.g. subjects='item'.")
    for name in subjects:
        if name == raters or name in by:
            other = "raters" if name == raters else "by"
            raise DesignError(f"{name!r} is in subjects= and in {other}=. Name a column in one of them only.")
    if raters in by:
        raise DesignError(f"{raters!r} is in raters= and in by=, which leaves one rater in each group. Drop one.")
    return subjects


def _with_subjects(
    panel: ScorePanel, by: list[str], subjects: list[str], called: dict[str, str], cluster: str
) -> tuple[ScorePanel, list[list[str]]]:
    """The panel with subjects as its things, and flags of each group for what was averaged."""
    things, raters = panel.things, len(panel.judges)
    keys = {c: called.get(c, c) for c in (*by, *subjects, *([cluster] if cluster else []))}
    subject = things.ranked([keys[c] for c in (*by, *subjects)])
    factors = {c: things[key].at(subject.first) for c, key in keys.items()}
    if cluster and (factors[cluster].code[subject.code] != things[keys[cluster]].code).any():
        raise DesignError(
            f"cluster={keys[cluster]!r} differs within a subject. Name a column with one value for each subject, or "
            "put it into subjects=."
        )
    of_subjects = Factors(factors=factors, rows=subject.size)
    of_subject = of_subjects.ranked(by)
    group, notes = of_subject.code[subject.code], [list[str]() for _ in range(of_subject.size)]
    for g in np.unique(group[panel.thing[panel.runs > 1]]):
        notes[g].append(flags.REPLICATES_AVERAGED)
    varied = []
    for name in (c for c in things.names if c not in keys.values() and len(things[c].labels) > 1):
        code = things[name].code
        differs = code != code[subject.first][subject.code]
        for g in np.unique(group[differs]):
            notes[g].append(flags.AVERAGED_OVER.of(what="judge" if name == _JUDGE else name))
        varied += [name] if differs.any() else []
    place = subject.code[panel.thing].astype(np.int64) * raters + panel.judge
    entry, places = compact(place, subject.size * raters)
    thing, judge = np.divmod(places, max(raters, 1))
    scored = ~np.isnan(panel.mean)
    count, missing = (np.bincount(entry, x, places.size) for x in (scored, ~scored))
    total = np.bincount(entry[scored], panel.mean[scored], places.size)
    partial = (count > 0) & (count < np.bincount(subject.code, minlength=subject.size)[thing])
    unequal = np.unique(thing[partial]) if varied else np.zeros(0, np.int64)
    for g, n in zip(*np.unique(of_subject.code[unequal], return_counts=True), strict=True):
        notes[g].append(flags.UNEQUAL_WEIGHTS.of(int(n), what=" x ".join(varied)))
    mean, sd = quotient(total, count, count > 0), np.full(places.size, np.nan)
    return ScorePanel(of_subjects, panel.judges, thing, judge, mean, sd, count, missing), notes


TERMS = ("ICC(1,1)", "ICC(2,1)", "ICC(3,1)", "ICC(1,k)", "ICC(2,k)", "ICC(3,k)")
EXTRA = ("raters", "F", "df1", "df2", "p_value")
#: Subjects from which intervals come from their jackknife; of fewer, F of normal scores.
_JACKKNIFED = 30
_OF_TERMS = [methods.F_SHROUT_FLEISS, methods.F_SATTERTHWAITE, methods.F_SHROUT_FLEISS] * 2


@Measure(
    "How reliable is one judge, and the mean of the panel?",
    "agreement",
    "R, counts",
    "t of log F, jackknife; fewer than 30 subjects: F; approximate by REML",
    "Shrout and Fleiss 1979; McGraw and Wong 1996",
    plot="icc",
    frames=("ratings",),
    needs=(several_judges,),
    table=("ICC(1,1)", "ICC(2,1)", "ICC(3,1)", "ICC(2,k)", "ICC(3,k)"),
    have=("judges",),
    assumes=(
        "Scores are additive in subject, rater and normal error of one variance; which form depends on whether "
        "raters are a sample."
    ),
)
def icc(
    ratings: IntoFrame,
    *,
    subjects: By | None = None,
    raters: str = "judge",
    by: By = (),
    average_over: By = (),
    incomplete: Literal["drop", "reml"] = "drop",
    exchangeable: bool = False,
    cluster: Cluster = "auto",
    conf_level: float = CONF_LEVEL,
    engine: Literal["judgestats", "pingouin"] = "judgestats",
) -> pd.DataFrame:
    """Intraclass correlations of raters over subjects, in the six forms of Shrout & Fleiss.

    Parameters
    ----------
    ratings : frame
        Ratings in any engine, raw (``score``) or averaged over runs (``mean``), a tally included. Runs of a rater on a
        subject are averaged first, then every column that is neither subject, rater nor in `by` (criteria, say), with a
        flag.
    subjects : str or sequence of str, optional
        What is rated: a column, or several whose combinations are the subjects. The default is ``["system", "item"]``
        without the `by` columns; ``"item"`` averages over systems first.
    raters : str
        Column of the raters. ``"replicate"`` with ``by="judge"`` gives the agreement of a judge with itself.
    by : str or sequence of str
        Further grouping columns. ``["system", "temperature"]`` gives one correlation per cell of the paper.
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    incomplete : {'drop', 'reml'}
        Treatment of subjects that some rater did not rate: leave them out, counted in the flag; or estimate the
        variance components from all scores by REML.
    exchangeable : bool
        The labels of the raters are not fixed persons (the first, second and third worker of each story): ICC(1,1) and
        ICC(1,k) only, and k is the largest number of scores of a subject.
    cluster : "auto", str or False
        Column that subjects share, by which intervals are clustered. ``"auto"`` detects it (``item``, say) and names it
        in ``method``. False treats all subjects as independent, with a flag where they are not. Where criteria are
        subjects it is the system. False is the published interval.
    conf_level : float
        Coverage of the intervals.
    engine : {'judgestats', 'pingouin'}
        ``"pingouin"`` computes the correlations of complete subjects, their 95 % intervals and tests with pingouin
        (``pip install "judgestats[pingouin]"``), as a second opinion. It treats subjects as independent.

    Returns
    -------
    pandas.DataFrame
        The `by` columns, those of every estimate with the terms ``ICC(1,1)``, ``ICC(2,1)``, ``ICC(3,1)``, ``ICC(1,k)``,
        ``ICC(2,k)`` and ``ICC(3,k)``, and ``raters`` (k), ``F``, ``df1``, ``df2``, ``p_value`` (of a correlation of 0).
        ``n`` counts the subjects used. Only REML gives a standard error.

    Raises
    ------
    SchemaError
        If a column is missing.
    DesignError
        If a column has two roles, or an option is unknown.

    See Also
    --------
    alpha : Agreement of all judges, with answers possibly missing.
    variance_components : Variance by judge, system and item.
    judgestats.hierarchical.agreement : Bayesian variance components.

    Notes
    -----
    Estimates from mean squares may be negative and are not clipped; the ICC of a mean of k raters may then lie far
    below -1. With one rater, one subject or constant scores the estimate is NaN, flagged. Where all subjects have one
    mean, there is no interval. A rater without any score in a group does not count. Without residual (perfect
    agreement) the interval is NaN (by REML, the estimate too).
    ICC(2,.) treats raters as random: with fewer than 10 of them its interval is too narrow, the more so with many
    subjects, and is flagged. Where the lower limit of ICC(2,1) is below -1/(k - 1), ICC(2,k) has no lower bound, and
    its lower limit is -inf.

    Clustered subjects, and 30 subjects or more: t of log F from the jackknife of clusters or subjects; F takes scores
    for normal, and covers .7 where a few are far off (with ``cluster=False`` it stays). For ICC(2,.) the published
    interval with degrees of freedom divided by the design effect. ``F`` does not change, ``df2`` is Satterthwaite's of
    a mean over the clusters, at most their number - 1. Where F is the same whichever
    cluster is left out (one of two judges gives one score) the published interval stands, flagged; where one cluster
    holds all disagreement there is none. REML ignores clusters, with a flag.

    REML variances are not negative. The REML interval is approximate (normal on the logit, by the observed
    information); ICC(1,.) comes from the one-way model; there is no F test. On complete subjects REML equals the mean
    squares estimate as long as no variance is 0.

    References
    ----------
    Shrout, P. E., & Fleiss, J. L. (1979). Intraclass correlations. Psychological Bulletin, 86, 420-428.
    McGraw, K. O., & Wong, S. P. (1996). Forming inferences about some intraclass correlation coefficients.
    Psychological Methods, 1, 30-46 (Table 7). Beyond the Illusion of Consensus, Sec 2.1 (its ICC(2,1)).

    Examples
    --------
    >>> rows = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> scores = pd.DataFrame([{"judge": j, "system": "s", "item": i, "score": x}
    ...                        for i, row in enumerate(rows) for j, x in enumerate(row)])
    >>> icc(scores)[["term", "estimate", "conf_low", "conf_high", "n", "raters"]].round(3)
           term  estimate  conf_low  conf_high    n  raters
    0  ICC(1,1)     0.166    -0.133      0.723  6.0     4.0
    1  ICC(2,1)     0.290     0.019      0.761  6.0     4.0
    2  ICC(3,1)     0.715     0.342      0.946  6.0     4.0
    3  ICC(1,k)     0.443    -0.884      0.912  6.0     4.0
    4  ICC(2,k)     0.620     0.071      0.927  6.0     4.0
    5  ICC(3,k)     0.909     0.676      0.986  6.0     4.0
    """
    if raters == "replicate" and names(average_over):
        raise DesignError("raters='replicate' compares the repeats that average_over= makes. Name its columns in by=.")
    ratings = as_runs(ratings, average_over, [*names(by), *names(subjects), raters])
    if engine == "pingouin" and (incomplete, conf_level) != ("drop", 0.95):
        raise DesignError("engine='pingouin' is for incomplete='drop' and conf_level=0.95. Leave both out.")
    if subjects is None:
        subjects = [c for c in ("system", "item") if c != raters and c not in names(by)]
    study = Study.of(ratings)
    chosen = clustered_by(study, names(by), cluster, names(subjects))
    if cluster == "auto" and not chosen.column and {"criterion", "system"} <= {*names(subjects)} & {*study.names}:
        chosen = Clustered("system", "")  # the criteria of a response come in one reply
    panel, notes = panel_of_subjects(study, subjects, raters, by, chosen.column)
    rows = _Rows(panel, names(by), notes)
    for of_group in rows.notes:
        of_group += [chosen.flag] if chosen.flag else []
    scores = rows.scores
    if exchangeable:  # scores of each subject first, missing ones last
        scores = np.take_along_axis(scores, np.argsort(np.isnan(scores), axis=1, kind="stable"), axis=1)
    is_scored = ~np.isnan(scores)
    present = np.logical_or.reduceat(is_scored, rows.start, axis=0) if rows.groups else np.zeros((0, 0), bool)
    (_reml_correlations if incomplete == "reml" else _mean_square_correlations)(
        rows, scores, is_scored, present, conf_level
    )
    if engine == "pingouin":
        _pingouin_correlations(rows, scores, is_scored, present)
    ignored_by = "" if (incomplete, engine) == ("drop", "judgestats") else incomplete
    if chosen.column or (cluster == "auto" and not ignored_by):
        code = panel.things[chosen.column].code if chosen.column else np.arange(len(scores))
        _clustered_intervals(rows, scores, is_scored, present, code, chosen.column or "subject", conf_level, ignored_by)
    _without_scales(rows)
    forms = rows.frame(names(by), [0, 3] if exchangeable else list(range(6)))
    return missing_counted(forms, study, names(by))


class _Rows:
    """The six rows of each group, as arrays, and the scores, subjects x raters, with the groups one below the other."""

    def __init__(self, panel: ScorePanel, by: list[str], notes: list[list[str]]) -> None:
        subjects = panel.things.ranked(by)
        self.groups, self.start, self.raters = subjects.size, subjects.first, panel.judges
        self.keys = {c: panel.things[c].at(subjects.first).values for c in by}
        self.scores = panel.matrix(panel.mean, np.nan)
        self.sizes = np.diff(np.append(self.start, len(self.scores)))  # subjects of each group
        shape = (6, self.groups)
        self.cells = {
            c: np.full(shape, np.nan) for c in ("estimate", "std_error", "conf_low", "conf_high", *EXTRA, "n")
        }
        self.notes = notes
        self.of_term: dict[tuple[int, int], list[str]] = {}
        self.method = np.full(shape, methods.NONE, dtype=object)
        scored, raters = ~np.isnan(panel.mean), len(panel.judges)
        place = subjects.code[panel.thing].astype(np.int64) * raters + panel.judge
        silent = np.setdiff1d(place[~scored], place[scored]) // max(raters, 1)
        for g, n in zip(*np.unique(silent, return_counts=True), strict=True):
            self.notes[g].append(flags.SILENT_RATERS.of(int(n)))

    def put(self, groups: Ints | int, **values: Floats | float) -> None:
        for name, value in values.items():
            self.cells[name][:, groups] = value

    def mark(self, flag: str, mask: Mask) -> None:
        """Add a flag where the mask (6, G) is true."""
        for t, g in np.argwhere(mask).tolist():
            self.of_term.setdefault((t, g), []).append(flag)

    def frame(self, by: list[str], terms: list[int]) -> pd.DataFrame:
        """Rows as the tidy result, group by group."""
        group = np.repeat(np.arange(self.groups), len(terms))
        joined, notes = cache(flags.join), []
        for g, of_group in enumerate(self.notes):
            common = joined(*of_group)
            of_terms = (self.of_term.get((t, g)) for t in terms)
            notes += [joined(*of_group, *of_term) if of_term else common for of_term in of_terms]
        columns = {b: self.keys[b].take(group).tolist() for b in by}
        columns |= {"term": text_array([TERMS[t] for t in terms] * self.groups), "flag": text_array(notes)}
        columns |= {"method": text_array(self.method[terms].T.ravel())}
        columns |= {name: values[terms].T.ravel() for name, values in self.cells.items()}
        return pd.DataFrame({name: columns[name] for name in (*dict.fromkeys(by), *COLUMNS, *EXTRA)})


def _without_scales(rows: _Rows) -> None:
    """No correlation where raters are on different scales."""
    for g, (high, low) in columns_apart(rows.scores, list(rows.raters), rows.start):
        rows.put(g, **dict.fromkeys(("estimate", "std_error", "conf_low", "conf_high", *EXTRA[1:]), np.nan))
        rows.notes[g].append(flags.OTHER_SCALE.of(high=high, low=low))


def _mean_square_correlations(rows: _Rows, scores: Floats, is_scored: Mask, present: Mask, conf_level: float) -> None:
    """Mean squares of the complete subjects, for all groups with the same raters at once."""
    if not rows.groups:
        return
    if present.all():
        _rater_set_correlations(rows, np.arange(rows.groups), scores, np.asarray(is_scored.all(axis=1)), conf_level)
        return
    sets, of_group = np.unique(present, axis=0, return_inverse=True)
    for number, raters in enumerate(sets):
        in_set = np.repeat(of_group.ravel() == number, rows.sizes)
        table, complete = scores[in_set][:, raters], is_scored[in_set][:, raters].all(axis=1)
        _rater_set_correlations(rows, np.flatnonzero(of_group.ravel() == number), table, complete, conf_level)


def _rater_set_correlations(rows: _Rows, groups: Ints, table: Floats, complete: Mask, conf_level: float) -> None:
    """Rows of groups with the same raters: `table` (S, k), `complete` (S,)."""
    sizes = rows.sizes[groups]
    start = np.cumsum(sizes) - sizes
    used = np.add.reduceat(complete, start, dtype=np.int64)
    rows.put(groups, n=used.astype(float), raters=float(table.shape[1]))
    for g, n_complete, lost in zip(groups, used, sizes - used, strict=True):
        _note_subjects(rows.notes[g], table.shape[1], int(n_complete), int(lost))
    has_subjects = used > 0
    if table.shape[1] < 2 or not has_subjects.any():
        return
    groups, used = groups[has_subjects], used[has_subjects]
    ms = mean_squares(table if complete.all() else table[complete], np.cumsum(used) - used)
    fit = correlations(ms, conf_level)
    rows.put(groups, estimate=fit.estimate, conf_low=fit.low, conf_high=fit.high)
    rows.put(groups, F=fit.F, df1=fit.df1, df2=fit.df2, p_value=fit.p)
    bounded = ~np.isnan(fit.high) & ~np.isnan(fit.low)
    exact = np.array([True, False, True] * 2)[:, None]
    rows.method[:, groups] = np.where(bounded, np.array(_OF_TERMS, dtype=object)[:, None], methods.NONE)
    defined = ~np.isnan(fit.estimate)
    few = ~exact & (table.shape[1] < 10)
    whole = np.zeros((6, rows.groups), dtype=bool)
    constant = (ms.subjects == 0) & (ms.within == 0)
    divided = (used > 1) & ~constant
    for flag, mask in {
        flags.CONSTANT: np.broadcast_to(constant & (used > 1), defined.shape),
        flags.NO_DIFFERENCE: (~defined | (ms.subjects == 0)) & divided,
        flags.NO_RESIDUAL: defined & ~bounded & np.isinf(fit.F),
        flags.MEAN_SQUARES: defined & ~bounded & ~np.isinf(fit.F) & (ms.subjects > 0),
        flags.NO_LOWER: np.isinf(fit.low),
        flags.FEW_RATERS: bounded & few,
    }.items():
        if mask.any():
            whole[:, groups] = mask
            rows.mark(flag, whole)


def _pingouin_correlations(rows: _Rows, scores: Floats, is_scored: Mask, present: Mask) -> None:
    """Replace the rows of groups whose mean squares are all above 0 by pingouin's; NaN with our flag elsewhere."""
    name = version()
    for g in range(rows.groups):
        group_rows = slice(rows.start[g], rows.start[g] + rows.sizes[g])
        table = scores[group_rows][is_scored[group_rows][:, present[g]].all(axis=1)][:, present[g]]
        has_interval, unbounded = rows.method[:, g] != "", np.isinf(rows.cells["conf_low"][:, g])
        pingouin_cells = six_correlations(table) if has_interval.all() else {}
        for cell in ("estimate", "conf_low", "conf_high", *EXTRA[1:]):
            rows.cells[cell][:, g] = pingouin_cells.get(cell, np.nan)
        rows.cells["conf_low"][unbounded, g] = -np.inf
        of_terms = [name.then(method, ": ") for method in rows.method[:, g]]
        rows.method[:, g] = of_terms if pingouin_cells else methods.NONE


def _clustered_intervals(
    rows: _Rows,
    scores: Floats,
    is_scored: Mask,
    present: Mask,
    cluster: Integers,
    column: str,
    conf_level: float,
    ignored_by: str,
) -> None:
    """Clustered intervals where clusters have several subjects, or there are 30 subjects or more.

    Only a flag if the engine has none (`ignored_by`).
    """
    for g in range(rows.groups):
        group_rows = slice(rows.start[g], rows.start[g] + rows.sizes[g])
        complete = is_scored[group_rows][:, present[g]].all(axis=1)
        if ignored_by == "reml":
            complete = is_scored[group_rows].any(axis=1)
        labels, code = np.unique(cluster[group_rows][complete], return_inverse=True)
        single = labels.size == code.size  # one subject per cluster
        if (single and (ignored_by or code.size < _JACKKNIFED)) or not (rows.method[:, g] != "").any():
            continue
        if ignored_by:
            rows.notes[g].append(flags.NOT_INDEPENDENT)
            continue
        table = scores[group_rows][:, present[g]][complete]
        jackknife = clustered_correlations(table, code.astype(np.int64), conf_level)
        residual = table - table.mean(axis=0) - table.mean(axis=1, keepdims=True)
        large = flags.few_large_errors(np.sqrt(((residual - residual.mean()) ** 2).sum(axis=1)))
        rows.notes[g] += [flag for flag in (flags.few_clusters(np.bincount(code), resampled=True), large) if flag]
        bounded = ~np.isnan(jackknife.low) & ~np.isnan(jackknife.high)
        group, has_interval = np.arange(rows.groups) == g, rows.method[:, g] != ""
        if not single:
            rows.mark(flags.NOT_INDEPENDENT, (jackknife.alike & has_interval)[:, None] & group)
        has_interval &= ~jackknife.alike
        rows.mark(flags.ONE_CLUSTER_DIFFERS, (has_interval & ~bounded)[:, None] & group)
        for name, values in (("conf_low", jackknife.low), ("conf_high", jackknife.high), ("p_value", jackknife.p)):
            rows.cells[name][has_interval, g] = values[has_interval]
        rows.cells["df1"][~jackknife.alike, g], rows.cells["df2"][~jackknife.alike, g] = np.nan, jackknife.df
        over, sizes = f"{column}s", np.bincount(code).astype(np.float64)
        exact = methods.clustered(methods.T, over, sizes, linked=" over ").noting("jackknife of log F")
        wider = methods.F_SATTERTHWAITE.on(f"design effect {jackknife.design_effect:.2f}")
        approximate = methods.clustered(wider, over, sizes, linked=" of ")
        method = np.where(bounded, np.array([exact, approximate, exact] * 2, dtype=object), methods.NONE)
        rows.method[has_interval, g] = method[has_interval]


def _note_subjects(notes: list[str], k: int, used: int, lost: int) -> None:
    """Add flags for too few raters or subjects, and for subjects dropped."""
    if k == 0:
        notes.append(flags.NO_DATA)
        return
    if k == 1:
        notes.append(flags.ONE_RATER)
    elif used < 2:
        notes.append(flags.ONE_SUBJECT if used else flags.NO_COMPLETE)
    if lost:
        notes.append(flags.SUBJECTS_DROPPED.of(lost))


def _reml_correlations(rows: _Rows, scores: Floats, is_scored: Mask, present: Mask, conf_level: float) -> None:
    for g in range(rows.groups):
        group_rows = slice(rows.start[g], rows.start[g] + rows.sizes[g])
        table, scored = scores[group_rows][:, present[g]], is_scored[group_rows][:, present[g]]
        rated = scored.any(axis=1)
        n, k = int(rated.sum()), table.shape[1]
        rows.put(g, n=float(n), raters=float(k))
        partly = int((~scored.all(axis=1) & rated).sum())
        notes = rows.notes[g]
        _note_subjects(notes, k, n, int((~rated).sum()))
        if partly:
            notes.append(flags.INCOMPLETE_SUBJECTS.of(partly))
        if k < 2 or n < 2:
            continue
        s, j = np.nonzero(scored[rated])
        y = table[rated][s, j]
        if np.ptp(y) == 0:
            notes.append(flags.CONSTANT)
            continue
        two, one = fitted(y, [s, j]), fitted(y, [s])
        for t, (fit, weight) in enumerate([(one, [1.0]), (two, [1.0, 1.0]), (two, [0.0, 1.0])] * 2):
            _reml_row(rows, t, g, fit, np.array(weight) / (1 if t < 3 else k), conf_level)
            if t % 3 == 1 and k < 10 and rows.method[t, g]:
                rows.of_term[t, g].append(flags.FEW_RATERS)


def _reml_row(rows: _Rows, t: int, g: int, fit: Components, weight: Floats, conf_level: float) -> None:
    """One correlation: the subjects' variance over its sum with the weighted other components."""
    notes = rows.of_term.setdefault((t, g), [])
    if not (fit.identifiable and fit.has_residual):
        notes.append(flags.NO_RESIDUAL if fit.identifiable else flags.COMPONENTS_NOT_IDENTIFIABLE)
        return
    subjects, error = fit.variance[0], float(weight @ fit.variance[1:])
    total = subjects + error
    rows.cells["estimate"][t, g] = rho = subjects / total if total > 0 else np.nan
    notes += [flags.NOT_CONVERGED] if not fit.converged else []
    notes += [flags.VARIANCE_AT_ZERO.of(what="rater")] if len(fit.variance) > 2 and fit.at_zero[1] else []
    notes += [flags.VARIANCE_AT_ZERO.of(what="subject")] if subjects == 0 else []
    if not (subjects > 0 and error > 0):
        return
    slope = np.concatenate([[1 / subjects], -weight / error])
    interior = ~fit.at_zero
    variance = slope[interior] @ fit.covariance[np.ix_(interior, interior)] @ slope[interior]
    if not variance > 0:
        notes.append(flags.MEAN_SQUARES)
        return
    std_error = rho * (1 - rho) * np.sqrt(variance)
    low, high = student_ends(rho, std_error, np.inf, conf_level, transform=ON_LOGIT)
    for name, value in (("std_error", std_error), ("conf_low", low), ("conf_high", high)):
        rows.cells[name][t, g] = value
    rows.method[t, g] = methods.REML_LOGIT
