"""Krippendorff's alpha: :func:`alpha`."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags, methods
from judgestats.counting.bootstrap import Bootstrap, read_off
from judgestats.counting.clustering import Cluster
from judgestats.counting.judge_answers import answer_panel
from judgestats.counting.panels import AnswerPanel
from judgestats.counting.repeats import ORDER, Repeats, chosen_answers, plain
from judgestats.counting.splitting import as_runs
from judgestats.counting.study import Calls, Study
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, choose
from judgestats.estimate import jackknifed
from judgestats.kernels.cluster_sums import effective_clusters
from judgestats.kernels.coincidences import Units, alpha_draws, alpha_without, distance_within, krippendorff
from judgestats.kernels.proportions import quotient
from judgestats.kernels.resampling import generator
from judgestats.metrics.agreement.rated_units import (
    UnitGroup,
    by_criterion,
    drawing_units,
    few_disagreements,
    interval_method,
    positions,
    unit_groups,
    units_and_cluster,
)
from judgestats.metrics.exclusions import missing_counted
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.metrics.requirements import several_judges
from judgestats.metrics.scales import scales_apart, unmeasured
from judgestats.results import estimates
from judgestats.schema.classes import declared_classes
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import VERDICTS, By, answer_column, kind_of, names
from judgestats.schema.label_sets import label_sets
from judgestats.typing import Floats, Record

#: So many answers are looked at for the scales of judges where identical ones are counted.
_MOST_COUNTED = 10_000

#: Points of a scale of whole numbers up to which its scores are ordinal.
_MOST_POINTS = 12
#: A scale by its ends: ``1-5``, ``0 to 100``.
_RANGE = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*(?:[-\u2013_,:]|\.\.|to)\s*(-?\d+(?:\.\d+)?)\s*")

#: Level of measurement of the answers.
Level = Literal["nominal", "ordinal", "interval", "ratio"]
#: Distance of answers that are sets of labels; ``label`` compares yes and no for each label.
Distance = Literal["jaccard", "masi", "label"]


def level_of(data: Calls) -> Level:
    """Level of measurement, decided on the whole frame where `data` is a part of one.

    Nominal for preferences, right and wrong, and classes; ordinal for classes in order, and for whole numbers with a
    handful of points by the column ``scale`` (``1-5``), or else of different scores; interval for other scores.
    """
    part = Study.of(data)
    name = answer_column(part.names)
    study = part.origin if name in part.origin.names else part
    if kind_of(study.names) == "preferences" or name in VERDICTS:
        return "nominal"
    if declared_classes(study.data):
        return "ordinal"
    answers = study.in_memory([name], distinct=True).columns[name].labels
    scores = pd.to_numeric(pd.Series(list(answers)), errors="coerce").dropna()  # alpha refuses text
    scales = study.in_memory(["scale"], distinct=True).columns["scale"].labels if "scale" in study.names else ()
    ends = [_RANGE.fullmatch(str(x)) for x in scales]
    points = [float(x[2]) - float(x[1]) + 1 for x in ends if x]
    whole = bool((scores == np.floor(scores)).all())
    return "ordinal" if whole and max(points, default=len(scores)) <= _MOST_POINTS else "interval"


@Measure(
    "Do all judges agree beyond chance, with answers possibly missing?",
    "agreement",
    "P, R",
    "t, bootstrap of rated items or clusters",
    "Krippendorff 2011; Zapf et al. 2016",
    frames=("preferences", "ratings"),
    needs=(several_judges,),
    terms=(Term("alpha", "α (Krippendorff)"), Term("mean_alpha", "α, mean over labels")),
    classes=True,
    have=("judges",),
    assumes=(
        "Judges are interchangeable; units are independent, unless they share a cluster; answers are missing at random."
    ),
)
def alpha(
    data: IntoFrame,
    *,
    level_of_measurement: Level | None = None,
    distance: Distance | None = None,
    repeats: Repeats = "single",
    by: By = (),
    average_over: By = (),
    interval: Literal["t", "percentile"] | None = "t",
    cluster: Cluster = "auto",
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Krippendorff's alpha: 1 minus the disagreement within units over that expected by chance.

    Parameters
    ----------
    data : frame
        Preferences or ratings, with units and answers as in :func:`kappa`; answers may be missing. Several criteria are
        not pooled: each has a row.
    level_of_measurement : {'nominal', 'ordinal', 'interval', 'ratio'}, optional
        Level of measurement of the answers, which ``method`` names. By default nominal for preferences, right and wrong
        verdicts, and classes; ordinal for classes in order, and for whole numbers with at most 12 points by the column
        ``scale`` (``1-5``), or, without it, at most 12 different scores in the whole frame, whatever `by`; interval for
        other scores. Preferences may be ordinal, with the tie between the two sides.
        Interval alpha of continuous scores needs no more memory than the scores.
    distance : {'jaccard', 'masi', 'label'}, optional
        Of answers that are sets of labels, ``toxic;spam``: Jaccard's distance, 1 less the share of all labels of two
        sets that both have; MASI's, which counts that share by 2/3 where one set holds the other, and by 1/3 where they
        only overlap. ``label``: yes or no for each label, with a row for each (``label``), and ``mean_alpha``.
    repeats : {'single', 'majority'}
        As in :func:`kappa`. A majority is the mode of a judge's repeats on a unit (of preferences in each order shown;
        without a single mode they are excluded, with a flag), of an ordinal scale the median, else the mean.
    by, average_over
        As in :func:`kappa`.
    interval : {'t', 'percentile', None}
        Bootstrap of the units, with Student's t or percentile limits, or no interval. Ordinal alpha uses the ranks
        within each resample.
    cluster : "auto", str or False
        Column that units share, by which intervals are clustered. ``"auto"`` detects it (``item``, say) and names it in
        ``method``. False treats all units as independent, with a flag where they are not. The bootstrap draws its
        levels whole.
    n_resamples, seed : int
        Number of bootstrap resamples, and seed of the draws.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Term ``alpha``; ``n`` counts the units with two answers or more, ``values`` the answers in them. Further
        columns: ``observed_disagreement`` and ``expected_disagreement``; alpha is 1 minus their ratio. The flag counts
        units with a single answer, which cannot be paired. NaN, flagged, where all answers are equal or no unit can be
        paired.

    Raises
    ------
    SchemaError
        If a column is missing or contains invalid values.
    DesignError
        If an option is unknown, or the ratio level is asked for with negative scores or with preferences.

    See Also
    --------
    kappa : Agreement of two judges beyond chance.
    ac1 : Agreement where one answer is very frequent.
    icc : Intraclass correlations.

    Notes
    -----
    Resamples draw units with all their answers. Krippendorff's own bootstrap draws single disagreements, as if pairs of
    answers on one unit were independent. Only units that can be paired are drawn.

    References
    ----------
    Krippendorff, K. (2011). Computing Krippendorff's alpha-reliability. Bootstrap of units: Zapf, A. et al. (2016).
    BMC Medical Research Methodology 16, 93. MASI: Passonneau, R. (2006). LREC 2006, 831-836.

    Examples
    --------
    >>> import pandas as pd
    >>> scores = pd.DataFrame({"judge": list("aaabbb"), "system": "s", "item": list("xyzxyz"),
    ...                        "score": [1, 2, 3, 1, 2, 4]})
    >>> found = alpha(scores, level_of_measurement="interval", interval=None)
    >>> found[["estimate", "observed_disagreement", "expected_disagreement"]].round(4)
       estimate  observed_disagreement  expected_disagreement
    0     0.878                 0.3333                 2.7333
    >>> sets = scores.assign(answer=["p", "p;q", "q", "p", "p", "q"]).drop(columns="score")
    >>> alpha(sets, distance="masi", interval=None)["estimate"].round(4).tolist()
    [0.6429]
    """
    data = as_runs(data, average_over, by)
    by = by_criterion(data, by)
    level_of_measurement = level_of_measurement or level_of(data)
    study, said = chosen_answers(data, repeats, _TOGETHER[level_of_measurement], by)
    study, column, dependent = units_and_cluster(study, by, cluster)
    panel, kind = answer_panel(study, by, [column] if column else []), kind_of(study.names)
    values = positions(panel.answers)
    measured: dict[str, Floats] = {"": values}
    level: str = level_of_measurement
    compared_by = f"{level} level"
    if distance is not None:
        choose(distance, get_args(Distance), "distance")
        if kind == "preferences" or level_of_measurement != "nominal":
            raise DesignError(
                "distance= is for sets of labels in the column 'answer', whose level_of_measurement is 'nominal'. "
                "Leave it out."
            )
        measured = _distances(label_sets(panel.answers), distance)
        level, compared_by = "distance", f"{distance} distance"
    if level_of_measurement != "nominal" and panel.answers.dtype == object and np.isnan(values).any():
        raise DesignError(
            f"level_of_measurement={level_of_measurement!r} needs an order, and classes have none. {ORDER}"
        )
    if level_of_measurement == "ratio" and kind == "preferences":
        raise DesignError(
            "level_of_measurement='ratio' needs scores with a zero: preferences are 'nominal', or 'ordinal'."
        )
    if level_of_measurement == "ratio" and (values < 0).any():
        raise DesignError(
            f"level_of_measurement='ratio' needs scores of 0 or more, and the lowest is {values.min():g}. Set scores "
            "off the scale to missing, or use level_of_measurement='interval'."
        )
    plan = Bootstrap(interval or "t", (column,) if column else (), None, n_resamples, seed, conf_level)
    rows = []
    apart = _judges_apart(panel, by, values) if level_of_measurement in ("interval", "ratio") else {}
    for group in unit_groups(panel, by, column):
        each = {k: krippendorff(group.units, group.n[None, :], v, level) for k, v in measured.items()}
        compared = [(k, "alpha", [k]) for k in measured]
        if distance == "label":
            compared.append(("", "mean_alpha", [k for k, fit in each.items() if not np.isnan(fit.alpha[0])]))
        for label, term, several in compared:
            fits = [each[k] for k in several]
            value = float(np.mean([fit.alpha[0] for fit in fits])) if fits else np.nan
            cells: Record = {"term": term, "estimate": value, "n": group.paired, "flag": ""}
            if term == "alpha":
                cells |= {"observed_disagreement": fits[0].observed[0], "expected_disagreement": fits[0].expected[0]}
                cells["values"] = fits[0].values[0]
            if np.isnan(value):
                cells["flag"] = flags.ONE_LABEL if group.paired else flags.NO_PAIRS
            elif interval is not None:
                cells |= _alpha_interval(group, value, [measured[k] for k in several], level, plan)
                apart_in = distance_within(group.units, measured[label]) > 0 if distance and term == "alpha" else None
                discordant = group.discordant if apart_in is None else float(group.n[apart_in].sum())
                cells["flag"] = flags.join(cells["flag"], few_disagreements(cells, discordant))
            if term == "mean_alpha" and several:
                cells["flag"] = flags.join(cells["flag"], flags.UNDEFINED.of(len(each) - len(fits), what="label(s)"))
            cells["method"] = cells.get("method", methods.NONE).noting(compared_by).noting(said.method)
            cells = unmeasured(cells, apart.get(plain(group.key)))
            flag = flags.join(cells["flag"], *group.exclusions, said.flag(plain(group.key)), dependent)
            rows.append({**group.key, **cells, "label": label, "flag": flag})
    by = list(dict.fromkeys(names(by)))
    extra = ["observed_disagreement", "expected_disagreement", "values", *(["label"] if distance == "label" else [])]
    return missing_counted(estimates(rows, by, extra), data, by)


def _distances(sets: Sequence[frozenset[str]], distance: Distance) -> dict[str, Floats]:
    """(m, m) distances of the answers, once or for each label."""
    labels = sorted(frozenset().union(*sets))
    held = np.array([[label in own for label in labels] for own in sets], dtype=float).reshape(len(sets), len(labels))
    if distance == "label":
        return {label: np.abs(own[:, None] - own) for label, own in zip(labels, held.T, strict=True)}
    both, size = held @ held.T, held.sum(axis=1)
    least, most = np.minimum(size[:, None], size), np.maximum(size[:, None], size)
    share = both / (size[:, None] + size - both)
    monotone = np.select([both == most, both == least, both > 0], [1.0, 2 / 3, 1 / 3], 0.0)
    return {"": 1 - share * (monotone if distance == "masi" else 1.0)}


def _judges_apart(panel: AnswerPanel, by: By, values: Floats) -> dict[tuple[str, ...], tuple[str, str] | None]:
    """Two judges of each group who are on different scales."""
    n, score = panel.weight[panel.thing], np.where(panel.answer < 0, np.nan, values[panel.answer])
    judge = np.asarray(panel.judges, dtype=object)[panel.judge]
    times = np.ceil(n * min(1.0, max(_MOST_COUNTED, n.size) / max(n.sum(), 1.0))).astype(int)  # may be of millions
    return {
        plain(key): scales_apart(*(np.repeat(x[rows], times[rows]) for x in (score, judge)))
        for key, _, rows in panel.each_group(list(dict.fromkeys(names(by))))
    }


#: Level of measurement -> what most of the repeats of a judge on one unit say.
_TOGETHER = {"nominal": "mode", "ordinal": "median", "interval": "mean", "ratio": "mean"}


#: Patterns of units up to which the interval of alpha is from their jackknife.
_JACKKNIFED = 1000


def _alpha_interval(group: UnitGroup, value: float, measured: list[Floats], level: str, plan: Bootstrap) -> Record:
    """Interval from a bootstrap of the units that can be paired; of several alphas, that of their mean."""
    paired = group.units.judges >= 2
    n = np.where(paired, group.n, 0.0)
    cells: Record = {"method": interval_method(plan)}
    cluster = None
    n_units, few = float(n.sum()), flags.SMALL_N if n.sum() < 30 else ""
    if plan.cluster:
        codes = codes_of(group.table[paired], list(plan.cluster))
        cluster = np.full(n.size, -1, dtype=np.int64)
        cluster[paired] = codes.code
        size = np.bincount(codes.code, n[paired], codes.size).astype(np.float64)
        if plan.method == "t" and codes.size > 1:
            without = _mean([alpha_without(group.units, n, v, level, cluster) for v in measured])
            cells |= jackknifed(value, without, size, plan.cluster[0], plan.conf_level).interval
            return {**cells, "flag": flags.join(cells["flag"], few)}
        n_units = effective_clusters(size) if codes.size > 1 else 1.0
        few = flags.join(flags.few_clusters(size, resampled=plan.method != "t"), few)
    if n_units <= 1:
        return {**cells, "flag": flags.join(flags.ONE_UNIT, few)}
    if not plan.cluster and plan.method == "t" and level in ("interval", "ratio") and paired.sum() <= _JACKKNIFED:
        one_less = n - np.eye(n.size)[n > 0]
        without = _mean([krippendorff(group.units, one_less, v, level).alpha for v in measured])
        estimate = jackknifed(value, without, np.ones(len(one_less)), "", plan.conf_level, alike=n[n > 0])
        return {**cells, **estimate.flagged(_few_large(group.units, measured[0], n), few).interval}
    key = tuple(map(str, group.key.values()))
    draws = _mean(
        [alpha_draws(group.units, n, v, level, generator(plan.seed, key), plan.n_resamples, cluster) for v in measured]
    )
    lost = int(np.isnan(draws).sum())
    interval = read_off(value, draws, n_units, plan, (-math.inf, 1.0))
    flag = flags.join(few, flags.UNDEFINED.of(lost, what="resample(s)"), interval["flag"])
    return {**cells, **interval, "method": drawing_units(interval["method"]), "flag": flag}


def _few_large(units: Units, values: Floats, n: Floats) -> str:
    """Flag where few units hold most of the disagreement: squared deviations from the mean of the unit."""
    answers = values[units.code]
    judges = np.maximum(units.total(units.times), 1.0)
    mean = units.total(units.times * answers) / judges
    spread = units.total(units.times * (answers - mean[units.pattern]) ** 2)
    return flags.few_large_errors(np.sqrt(spread), n)


def _mean(alphas: list[Floats]) -> Floats:
    """Mean of several alphas (B,) of each resample, of those that are defined."""
    number = np.isfinite(alphas).sum(axis=0)
    return quotient(np.nansum(alphas, axis=0), number.astype(np.float64), number > 0)
