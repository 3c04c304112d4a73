"""Agreement beyond chance of judges who answer on the same things: :func:`kappa`, :func:`ac1` and :func:`alpha`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr, stdtrit

from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, SchemaError, choose, confidence
from judgestats.kernels.chance import (
    Chance,
    Units,
    agreement_parts,
    chance_agreement,
    chance_corrected,
    cohen_kappa,
    kappa_influence,
    krippendorff,
    unit_weights,
    weighted_kappa,
)
from judgestats.kernels.proportions import normal_quantile
from judgestats.kernels.resampling import generator
from judgestats.metrics.measure_registry import Measure, Term, column_names, pairs_of_judges
from judgestats.metrics.rates import Bootstrap, Statistic, planned, read_off, resampled
from judgestats.results import (
    BY_STRUCTURE,
    EXCLUDED,
    FEW_DISAGREEMENTS,
    NO_PAIRS,
    NOT_INDEPENDENT,
    ONE_LABEL,
    ONE_UNIT,
    PERFECT_AGREEMENT,
    RATED_ONCE,
    SMALL_N,
    UNDEFINED,
    estimates,
    few_clusters,
    flags,
)
from judgestats.schema.clustering import Cluster, auto_cluster, clusters, column_of, columns_of, dependence, with_pair
from judgestats.schema.coding import codes_of, compact, joint
from judgestats.schema.columns import COUNTS, By, N, answer_column, grouping, kind_of, names
from judgestats.schema.counting import is_tally, tally
from judgestats.schema.patterns import PATTERNS
from judgestats.schema.raters import INVALID, SIDES, SLOTS, Labels, labels_of
from judgestats.schema.splitting import as_runs, reference_as_runs

# ---- Frame -> units with the answers of their judges, group by group; and weights between answers --------------------

Floats = NDArray[np.float64]
#: How answers that differ agree in part.
Weights = Literal["linear", "quadratic"]
#: The power of the distance between two answers that each weighting takes.
_POWERS: dict[Weights, float] = {"linear": 1, "quadratic": 2}


@dataclass(frozen=True)
class Group:
    """Units of one group.

    `key`: the `by` columns.
    `units`: patterns of answers, sorted; units without an answer are left out.
    `n` (Q,): how many units show each.
    `table`: ``n`` and the cluster column, if there is one, of each pattern.
    `unanswered`: units without an answer.
    """

    key: dict[str, Any]
    units: Units
    n: Floats
    table: pd.DataFrame
    unanswered: float

    @property
    def single(self) -> float:
        """Units with one answer."""
        return float(self.n[self.units.judges == 1].sum())

    @property
    def paired(self) -> float:
        """Units with two answers or more."""
        return float(self.n[self.units.judges >= 2].sum())

    @property
    def apart(self) -> float:
        """Units with answers that differ."""
        return float(self.n[np.diff(self.units.start) > 1].sum())

    @property
    def doubts(self) -> tuple[str, ...]:
        """What was excluded, in words."""
        single, none = int(self.single), int(self.unanswered)
        return (
            RATED_ONCE.of(single),
            EXCLUDED.of(none, what="unit(s) without an answer"),
        )


def resolved(data: Any, by: By, cluster: Cluster) -> tuple[Any, str | None, str]:
    """The column that keeps things together, the data with it, and a flag where things that share are taken apart.

    Raises DesignError if `cluster` is no column of the things judged.
    """
    columns = clusters(cluster)
    if columns and (len(columns) > 1 or columns[0] == "judge"):
        raise DesignError(
            f"cluster={cluster!r} must be one column of the things judged (item, say), not of the judges."
        )
    frame = nw.from_native(data)
    present = frame.collect_schema().names()
    flag = ""
    if not columns and "judge" in present and "item" in present:
        total = nw.col(COUNTS).sum() if COUNTS in present else nw.len()
        calls = frame.select(total.alias(N)).lazy().collect(backend="pandas")
        n = float(calls.to_native()[N].iloc[0] or 0)
        found = auto_cluster(frame, [*(c for c in names(by) if c in present), "judge"], "item", n)
        columns = (found.column,) if columns is None and found.column else ()
        flag = NOT_INDEPENDENT if found.shared and not columns else ""
    column = columns[0] if columns else None
    if column == "pair" and "pair" not in present:
        data = with_pair(frame).to_native()
    return data, column, flag


def rated(data: Any, by: By, cluster: str | None = None) -> tuple[Labels, Iterator[Group]]:
    """Lay out the answers, and go through the groups.

    `data`: preferences or ratings. `by`: columns that split the result. `cluster`: column whose levels keep their units
    together. Returns `groups`: in the order of their labels.
    """
    labels = labels_of(data, by, [cluster] if cluster else [])
    return labels, _groups(labels, list(dict.fromkeys(names(by))), cluster)


def _groups(labels: Labels, by: Sequence[str], cluster: str | None) -> Iterator[Group]:
    number, codes = compact(*joint([labels.code(c) for c in by], labels.row.size))
    unit, answer = labels.unit, labels.answer
    answered = answer >= 0
    if not answered.all():
        unit, answer = unit[answered], answer[answered]
    begin = np.append(0, np.cumsum(np.bincount(unit, minlength=labels.row.size)))
    coded = None if cluster is None else labels.code(cluster)
    for g in range(codes.size):
        # units are sorted by group, so a group is a slice of them
        low, high = np.searchsorted(number, [g, g + 1])
        rows = slice(begin[low], begin[high])
        first = begin[low : high + 1] - begin[low]
        has = np.diff(first) > 0
        members = np.arange(low, high)[has]
        units, n, kept = _patterns(
            first[np.append(has, True)],
            answer[rows],
            labels.weight[members],
            len(labels.answers),
            None if coded is None else (coded[0][members], coded[1]),
        )
        table = pd.DataFrame({"n": n})
        if cluster is not None:
            table[cluster] = np.asarray(labels.label(cluster, members[kept]))
        key = {c: labels.label(c, np.array([low]))[0] for c in by}
        yield Group(key, units, n, table, float(labels.weight[low:high][~has].sum()))


def _patterns(first: Any, answer: Any, weight: Floats, size: int, cluster: Any) -> tuple[Units, Floats, Any]:
    """Make units with the same answers one pattern; also a unit of each pattern."""
    n_units = first.size - 1
    if not n_units:
        return Units(np.zeros(1, np.int64), np.empty(0, np.int64), np.empty(0)), np.empty(0), np.empty(0, np.int64)
    base = int(np.diff(first).max()) + 1
    if size * np.log2(base) < 60:
        key = np.add.reduceat((np.int64(base) ** np.arange(size, dtype=np.int64))[answer], first[:-1])
        number, codes = compact(key, base**size)
        if cluster is not None:
            number, codes = compact(*joint([cluster, (number, codes.size)], n_units))
        n = np.bincount(number, weights=weight, minlength=codes.size).astype(float)
        kept = np.empty(codes.size, dtype=np.int64)
        kept[number[::-1]] = np.arange(n_units)[::-1]
    else:
        n, kept = weight, np.arange(n_units)
    lengths = np.diff(first)[kept]
    start = np.concatenate([[0], np.cumsum(lengths)])
    entry = np.arange(start[-1]) - np.repeat(start[:-1] - first[kept], lengths)
    pattern = np.repeat(np.arange(kept.size), lengths)
    number, codes = compact(pattern * size + answer[entry], kept.size * size)
    times = np.bincount(number, minlength=codes.size).astype(float)
    units = Units(np.searchsorted(codes // size, np.arange(kept.size + 1)), codes % size, times)
    return units, n, kept


def answer_matrices(
    data: Any, by: Sequence[str], cluster: str | None = None
) -> tuple[Labels, Iterator[tuple[dict[str, Any], pd.DataFrame, NDArray[Any]]]]:
    """Answers as a table of things by judges, things alike made one row.

    `data`, `by`, `cluster`: as in :func:`rated`. Returns `groups` (key, table, answers): ``n`` and the cluster column
    of each row, and the (Q, J) answer codes, -1 where there is none.
    """
    labels = labels_of(data, by, [cluster] if cluster else [])
    return labels, _matrices(labels, by, cluster)


def _matrices(labels: Labels, by: Sequence[str], cluster: str | None) -> Iterator[Any]:
    number, codes = compact(*joint([labels.code(c) for c in by], labels.row.size))
    for g in range(codes.size):
        low, high = np.searchsorted(number, [g, g + 1])
        rows = slice(*np.searchsorted(labels.unit, [low, high]))
        answers = np.full((high - low, len(labels.judges)), -1, dtype=np.int64)
        answers[labels.unit[rows] - low, labels.judge[rows]] = labels.answer[rows]
        parts = [(a + 1, len(labels.answers) + 1) for a in answers.T]
        if cluster is not None:
            parts = [(labels.code(cluster)[0][low:high], labels.code(cluster)[1]), *parts]
        row, found = compact(*joint(parts, high - low))
        first = np.zeros(found.size, dtype=np.int64)
        first[row[::-1]] = np.arange(high - low)[::-1]
        table = pd.DataFrame({"n": np.bincount(row, weights=labels.weight[low:high], minlength=found.size)})
        if cluster is not None:
            table[cluster] = np.asarray(labels.label(cluster, low + first))
        yield {c: labels.label(c, np.array([low]))[0] for c in by}, table, answers[first]


def positions(answers: Any) -> tuple[Floats, Any]:
    """Where the answers lie on a line: their value if they are numbers, else the order of their labels.

    Returns `values` (m,): all NaN where they have no order. `labels`: the answers as given.
    """
    labels = pd.Index(answers)
    numbers = pd.to_numeric(pd.Series(labels.astype(object)), errors="coerce").to_numpy(dtype=float)
    if labels.size and not np.isnan(numbers).any():
        return numbers, labels
    for order in (SIDES, SLOTS):
        if set(labels) <= set(order):
            return np.array([order.index(x) for x in labels], dtype=float), labels
    return np.full(labels.size, np.nan), labels


def agreement_weights(values: Floats, weights: Weights | None) -> Floats:
    """How much two answers agree: 1 for the same, less by their distance or its square, 0 for the farthest.

    `values` (m,): where the answers lie. `weights`: None: 1 on the diagonal, 0 elsewhere. Returns (m, m). Raises
    DesignError if weights are asked for where the answers have no order.
    """
    if weights is None or values.size < 2:
        return np.eye(values.size)
    choose(weights, tuple(_POWERS), "weights")
    if np.isnan(values).any():
        raise DesignError(
            f"weights={weights!r} needs answers with an order: numbers, or {', '.join(SIDES)}. Code the answers as "
            "numbers, or use weights=None."
        )
    distance = np.abs(values[:, None] - values) / (values.max() - values.min())
    result: Floats = 1 - distance ** _POWERS[weights]
    return result


def few_disagreements(cells: Mapping[str, Any], apart: float) -> str:
    """Flag of an interval that rests on few things with answers that differ."""
    return FEW_DISAGREEMENTS if np.isfinite(cells.get("conf_low", np.nan)) and apart < 20 else ""


def is_answer(values: pd.Series[Any]) -> NDArray[np.bool_]:
    """Whether each entry of an ``answer`` column is one."""
    result: NDArray[np.bool_] = (values.notna() & (values.astype(object) != INVALID)).to_numpy(dtype=bool)
    return result


def declared(answers: Any, labels: Sequence[Any] | None) -> tuple[Any, Any]:
    """Answers that could be given, sorted, and the code among them of each answer that was.

    Raises SchemaError if an answer is not among the labels declared.
    """
    found = pd.Index(answers)
    if labels is None:
        return found, np.arange(found.size)
    wanted = pd.Index(list(labels)).union(found[:0]).unique()
    strange = [x for x in found if x not in wanted]
    if strange:
        raise SchemaError(f"An answer is {strange[0]!r}, and labels= has {', '.join(map(str, wanted))}. Add it there.")
    return wanted, wanted.get_indexer(found)


# ---- Coefficients of all judges at once, and the bootstrap of a mean over pairs: what kappa and AC1 share ------------

EXTRA = ("observed", "expected", "z", "p_value")


def planned_or_none(
    interval: str,
    cluster: Sequence[str],
    n_resamples: int,
    seed: int | np.random.Generator | None,
    conf_level: float,
) -> Bootstrap | None:
    """Turn the arguments of a measure into a bootstrap, None for the asymptotic interval."""
    if interval == "asymptotic":
        confidence(conf_level)
        return None
    return planned(interval, list(cluster) or None, None, n_resamples, seed, conf_level)


def drawn(
    table: pd.DataFrame, counts: Floats, statistic: Statistic, plan: Bootstrap, key: dict[str, Any]
) -> dict[str, Any]:
    """Bootstrap as :func:`resampled` does; what is drawn here is a unit, with the answers of its judges."""
    cells = resampled(table, counts, statistic, plan, key)
    small = SMALL_N if table["n"].sum() < 30 else ""
    return {**cells, "method": of_units(cells["method"]), "flag": flags(cells["flag"], small)}


def in_words(plan: Bootstrap | None) -> str:
    """The ``method`` of an estimate."""
    return "asymptotic" if plan is None else of_units(plan.words)


def of_units(words: str) -> str:
    """What is drawn are things with the answers of their judges."""
    return words.replace("bootstrap of calls", "bootstrap of units")


def plain(key: dict[str, Any]) -> tuple[str, ...]:
    """Labels of a group as text, a missing one always the same."""
    return tuple("" if pd.isna(label) else str(label) for label in key.values())


def mean_intervals(
    data: Any, groups: list[str], cluster: str | None, weights: Weights | None, plan: Bootstrap
) -> dict[tuple[str, ...], dict[str, Any]]:
    """Bootstrap cells of the mean kappa of each group: things are drawn with the answers of all judges."""
    intervals = {}
    labels, matrices = answer_matrices(data, groups, cluster)
    w = agreement_weights(positions(labels.answers)[0], weights)
    for key, table, answers in matrices:
        blocks, tables = [], []
        for one, two in combinations(range(answers.shape[1]), 2):
            both = (answers[:, one] >= 0) & (answers[:, two] >= 0)
            cell = np.where(both, answers[:, one] * len(w) + answers[:, two], -1)
            used = np.unique(cell[both])
            if used.size:
                blocks.append((cell[:, None] == used) * table["n"].to_numpy()[:, None])
                tables.append((used // len(w), used % len(w)))
        if not tables:
            continue
        ends = np.cumsum([0, *(len(row) for row, _ in tables)])

        def mean(totals: Floats, tables: Any = tables, ends: Any = ends) -> Floats:
            each = [
                weighted_kappa(totals[:, a:b], t[0], t[1], w) for t, a, b in zip(tables, ends, ends[1:], strict=False)
            ]
            values = np.column_stack(each)
            defined = np.isfinite(values).sum(axis=1)
            result: Floats = np.nansum(values, axis=1) / np.where(defined > 0, defined, np.nan)
            return result

        counts = np.concatenate(blocks, axis=1).astype(float)
        cells = drawn(table, counts, mean, plan, key)
        lowest = np.where(answers < 0, len(w), answers).min(axis=1)
        apart = float(table["n"].to_numpy()[answers.max(axis=1) > lowest].sum())
        intervals[plain(key)] = {**cells, "flag": flags(cells["flag"], few_disagreements(cells, apart))}
    return intervals


def panel(
    data: Any,
    term: str,
    coefficient: str,
    weights: Weights | None,
    labels: Sequence[Any] | None,
    by: By,
    cluster: Cluster,
    drawing: tuple[str, int, int | np.random.Generator | None, float],
) -> pd.DataFrame:
    """A coefficient of all judges at once, per group; `drawing` is interval, resamples, seed and coverage."""
    interval, n_resamples, seed, conf_level = drawing
    data, column, dependent = resolved(data, by, cluster)
    plan = planned_or_none(interval, [column] if column else [], n_resamples, seed, conf_level)
    found, groups = rated(data, by, column)
    answers, code = declared(found.answers, labels)
    w = agreement_weights(positions(answers)[0], weights)
    rows = []
    for group in groups:
        group = replace(group, units=group.units._replace(code=code[group.units.code]))
        rows.append(_row(group, term, coefficient, w, column, plan, conf_level, dependent))
    extra = EXTRA if coefficient == "fleiss" else [c for c in EXTRA if c != "z"]
    return estimates(rows, list(dict.fromkeys(names(by))), extra)


def beside(
    table: pd.DataFrame,
    term: str,
    coefficient: str,
    weights: Weights | None,
    labels: Sequence[Any] | None,
    by: By,
    drawing: tuple[str, int, int | np.random.Generator | None, float],
) -> pd.DataFrame:
    """A coefficient of each pair of judges, or of each judge beside a reference, from the tally of their answers."""
    interval, n_resamples, seed, conf_level = drawing
    column = column_of(table)
    plan = planned_or_none(interval, [column] if column else [], n_resamples, seed, conf_level)
    known = (
        table["answer"].where(is_answer(table["answer"])),
        table["other_answer"].where(is_answer(table["other_answer"])),
    )
    found, answers = pd.factorize(pd.concat(known, ignore_index=True).astype(object), sort=True)
    answers, code = declared(answers, labels)
    w = agreement_weights(positions(answers)[0], weights)
    both = np.where(found < 0, -1, code[found]).reshape(2, -1).T
    keys = [*dict.fromkeys(names(by)), "judge", "other"]
    dependent = dependence(table)
    rows = []
    for key, part in table.reset_index(drop=True).groupby(keys, dropna=False, sort=True):
        named = dict(zip(keys, key, strict=True))
        pair, n = both[part.index], part["n"].to_numpy(dtype=float)
        answered = pair >= 0
        alike = (pair[:, 0] == pair[:, 1]) & answered[:, 0]
        size = np.where(alike, 1, answered.sum(axis=1))
        some = size > 0
        values = [[p[0]] if a else [v for v in p if v >= 0] for p, a in zip(pair[some], alike[some], strict=True)]
        times = np.repeat(np.where(alike[some], 2.0, 1.0), size[some])
        start = np.concatenate([[0], np.cumsum(size[some])]).astype(np.int64)
        units = Units(start, np.array([v for vs in values for v in vs], dtype=np.int64), times)
        group = Group(named, units, n[some], part[some].reset_index(drop=True), float(n[~some].sum()))
        rows.append(_row(group, term, coefficient, w, column, plan, conf_level, dependent))
    return estimates(rows, keys, EXTRA if coefficient == "fleiss" else [c for c in EXTRA if c != "z"])


def _row(
    group: Group,
    term: str,
    coefficient: str,
    w: Floats,
    column: str | None,
    plan: Bootstrap | None,
    conf_level: float,
    dependent: str,
) -> dict[str, Any]:
    """A coefficient of one group of units, with its interval."""
    units = group.units
    fit = chance_corrected(units, group.n, w, coefficient)
    unit = codes_of(group.table, [column]) if column else None
    cells: dict[str, Any] = {"term": term, "estimate": fit.estimate, "n": group.paired, "method": in_words(plan)}
    cells |= {"observed": fit.observed, "expected": fit.expected if group.paired else math.nan}
    if np.isnan(fit.estimate):
        cells["flag"] = ONE_LABEL if group.paired else NO_PAIRS
    elif plan is None:
        cells |= _student(fit, group.n, None if unit is None else unit.code, conf_level)
        cells["method"] = f"linearised, clustered by {column} (G = {unit.size})" if unit else cells["method"]
    else:
        agreement, shares = agreement_parts(units, w)
        counts = np.column_stack([units.judges >= 2, agreement, shares]) * group.n[:, None]
        cells |= drawn(group.table, counts, lambda t: _corrected(t, w, coefficient), plan, group.key)
    cells["flag"] = flags(cells["flag"], few_disagreements(cells, group.apart))
    if coefficient == "fleiss":
        cells |= {"z": math.nan, "p_value": math.nan} if unit else _fleiss_test(units, group.n, fit, w)
    return {**group.key, **cells, "flag": flags(cells["flag"], *group.doubts, dependent)}


def _fleiss_test(units: Units, n: Floats, fit: Chance, w: Floats) -> dict[str, Any]:
    """Test that Fleiss's kappa is 0 (Fleiss, Nee and Landis 1979): for equally many answers on each thing."""
    judges = units.judges[n > 0]
    if np.isnan(fit.estimate) or (judges != judges[0]).any() or (w != np.eye(len(w))).any():
        return {"z": math.nan, "p_value": math.nan}
    p = n @ agreement_parts(units, w)[1] / n.sum()
    chance = (p * (1 - p)).sum()
    spread = chance**2 - (p * (1 - p) * (1 - 2 * p)).sum()
    null_error = math.sqrt(2 * max(spread, 0.0) / (n.sum() * judges[0] * (judges[0] - 1))) / chance
    z = fit.estimate / null_error if null_error > 0 else math.nan
    return {"z": z, "p_value": float(2 * ndtr(-abs(z)))}


def _corrected(totals: Floats, w: Floats, coefficient: str) -> Floats:
    """Agreement beyond chance from totals: units with two answers, their agreement, shares of the answers."""
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = totals[:, 1] / totals[:, 0]
        shares = totals[:, 2:] / totals[:, 2:].sum(axis=1, keepdims=True)
        expected = chance_agreement(shares, w, coefficient)
        result: Floats = (observed - expected) / np.where(expected > 1 - 1e-12, np.nan, 1 - expected)
    return result


def _student(fit: Chance, n: Floats, cluster: Any, conf_level: float) -> dict[str, Any]:
    """Student's interval over units, or over clusters of them."""
    estimate, std_error, units = fit.estimate, fit.std_error, float(n.sum())
    small = SMALL_N if units < 30 else ""
    if cluster is not None:
        sums = np.bincount(cluster, weights=n * fit.influence)
        small, units = flags(small, few_clusters(sums.size)), float(sums.size)
        if units > 1:
            std_error = math.sqrt(units / (units - 1) * float(sums @ sums)) / float(n.sum())
    if units < 2:
        return {"flag": ONE_UNIT}
    if not std_error > 1e-12:
        return {"flag": flags(PERFECT_AGREEMENT if estimate > 1 - 1e-12 else "", small)}
    half = float(stdtrit(units - 1, 0.5 + conf_level / 2)) * std_error
    return {
        "std_error": std_error,
        "conf_low": max(estimate - half, -1.0),
        "conf_high": min(estimate + half, 1.0),
        "p_value": float(2 * stdtr(units - 1, -abs(estimate / std_error))),
        "flag": small,
    }


# ---- Krippendorff's alpha of judges who answer on the same things, some answers missing: :func:`alpha` ---------------

#: What a difference between two answers is.
Level = Literal["nominal", "ordinal", "interval", "ratio"]
LEVELS: tuple[Level, ...] = ("nominal", "ordinal", "interval", "ratio")


def _level_of(data: Any) -> Level:
    """Level of measurement: nominal for verdicts, ordinal for a handful of whole numbers, else interval."""
    present = column_names(data)
    name = answer_column(present)
    if kind_of(present) == "preferences" or name == "correct":
        return "nominal"
    values = nw.from_native(data).lazy().select(name).unique().collect(backend="pandas").to_native()[name].dropna()
    numbers = values.to_numpy(dtype=float)
    return "ordinal" if numbers.size <= 12 and (numbers == np.floor(numbers)).all() else "interval"


@Measure(
    "Do all judges together answer alike, answers missing or not?", "agreement", "P, R",
    "t, bootstrap of things judged or clusters", "Krippendorff 2011; Zapf et al. 2016",
    frames=("preferences", "ratings"), needs=(pairs_of_judges,),
    arguments=lambda data, _: {"level_of_measurement": _level_of(data)},
    terms=(
        Term("alpha", "α (Krippendorff)"),
    ),
)  # fmt: skip
def alpha(
    data: Any,
    *,
    level_of_measurement: Level = "nominal",
    by: By = (),
    average_over: By = (),
    interval: Literal["t", "percentile"] | None = "t",
    cluster: Cluster = "auto",
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Krippendorff's alpha: disagreement of the judges on one thing, over that of answers at random.

    Parameters
    ----------
    data : frame
        Preferences or ratings; answers may be missing. Preferences: the things judged are item and pair of candidates,
        whatever their order; the answer is for the candidate with the lower id, a tie (or abstention), or for the
        other; an invalid call is missing. Ratings: the things are system, item and criterion; the answer is the score.
        Where a judge answered several times on one thing, its calls are told apart by replicate, condition, ..., and
        last by the order shown, and each is a thing of its own.
    level_of_measurement : {'nominal', 'ordinal', 'interval', 'ratio'}
        What the difference of two answers is. Preferences are nominal, or ordinal with the tie between the two sides.
        Interval alpha of continuous scores needs no more memory than the scores.
    by : str or sequence of str
        Further grouping columns.
    average_over : str or sequence of str
        Columns whose values are told apart as repeats are, as in :func:`score_matrix`: a column of ratings that splits
        them and is neither here nor in `by` is refused.
    interval : {'t', 'percentile', None}
        Bootstrap of the things judged, read off by Student's t or by percentile, or none. The ranks of ordinal alpha
        are those of each resample.
    cluster : "auto", str or False
        Column whose levels are drawn whole; ``"auto"`` takes what several things share (``item``, say),
        False takes things as independent.
    n_resamples, seed
        Of the bootstrap.
    conf_level : float
        Coverage of the interval.

    Returns
    -------
    pandas.DataFrame
        Term ``alpha``; ``n`` counts the things with two answers or more, ``values`` the answers in them;
        ``observed_disagreement`` and ``expected_disagreement`` are the means whose ratio alpha is 1 minus. Things rated
        once cannot be paired: they are counted in the flag. NaN, flagged, where all answers are one, and where nothing
        can be paired.

    Raises
    ------
    SchemaError
        If a column is missing or holds what it should not.
    DesignError
        If an option is unknown, or the ratio level meets negative scores or answers that are no numbers.

    Notes
    -----
    Resamples draw things with their answers, which Krippendorff's own bootstrap of single disagreements does not: that
    one takes pairs of answers on one thing for independent. Only things that can be paired are drawn.

    References
    ----------
    Krippendorff, K. (2011). Computing Krippendorff's alpha-reliability. Bootstrap of units: Zapf, A. et al. (2016).
    BMC Medical Research Methodology 16, 93.

    Examples
    --------
    >>> import pandas as pd
    >>> scores = pd.DataFrame({"judge": list("aaabbb"), "system": "s", "item": list("xyzxyz"),
    ...                        "score": [1, 2, 3, 1, 2, 4]})
    >>> found = alpha(scores, level_of_measurement="interval", interval=None)
    >>> found[["estimate", "observed_disagreement", "expected_disagreement"]].round(4)
       estimate  observed_disagreement  expected_disagreement
    0     0.878                 0.3333                 2.7333
    """
    data = as_runs(data, average_over, by)
    choose(level_of_measurement, LEVELS, "level_of_measurement")
    if interval is not None:
        choose(interval, ("t", "percentile"), "interval")
    data, column, dependent = resolved(data, by, cluster)
    found, groups = rated(data, by, column)
    values = positions(found.answers)[0]
    _refuse_unfit(values, level_of_measurement, found.kind)
    plan = Bootstrap(interval or "t", (column,) if column else (), None, n_resamples, seed, conf_level)
    rows = []
    for group in groups:
        fit = krippendorff(group.units, group.n[None, :], values, level_of_measurement)
        cells: dict[str, Any] = {"term": "alpha", "estimate": fit.alpha[0], "n": group.paired, "flag": ""}
        cells |= {"observed_disagreement": fit.observed[0], "expected_disagreement": fit.expected[0]}
        cells["values"] = fit.values[0]
        if np.isnan(fit.alpha[0]):
            cells["flag"] = ONE_LABEL if group.paired else NO_PAIRS
        elif interval is not None:
            cells |= _resampled(group, float(fit.alpha[0]), values, level_of_measurement, plan)
            cells["flag"] = flags(cells["flag"], few_disagreements(cells, group.apart))
        rows.append({**group.key, **cells, "flag": flags(cells["flag"], *group.doubts, dependent)})
    return estimates(rows, list(dict.fromkeys(names(by))), ["observed_disagreement", "expected_disagreement", "values"])


def _refuse_unfit(values: Floats, level: Level, kind: str) -> None:
    if level == "ratio" and kind == "preferences":
        raise DesignError(
            "level_of_measurement='ratio' needs scores with a zero: preferences are 'nominal', or 'ordinal'."
        )
    if level == "ratio" and (values < 0).any():
        raise DesignError(
            f"level_of_measurement='ratio' needs scores of 0 or more, and the lowest is {values.min():g}. Set scores "
            f"off the scale to "
            "missing, or use level_of_measurement='interval'."
        )


def _resampled(group: Group, value: float, values: Floats, level: Level, plan: Bootstrap) -> dict[str, Any]:
    """Student's interval of a bootstrap of the units that can be paired."""
    paired = group.units.judges >= 2
    n = np.where(paired, group.n, 0.0)
    cells: dict[str, Any] = {"method": in_words(plan)}
    cluster = None
    drawn = int(n.sum())
    if plan.cluster:
        codes = codes_of(group.table[paired], list(plan.cluster))
        cluster = np.full(n.size, -1, dtype=np.int64)
        cluster[paired] = codes.code
        drawn = codes.size
    few = flags(few_clusters(drawn, drawn=True) if plan.cluster else "", SMALL_N if n.sum() < 30 else "")
    if drawn < 2:
        return {**cells, "flag": flags(ONE_UNIT, few)}
    rng = generator(plan.seed, tuple(map(str, group.key.values())))
    blocks = unit_weights(n, rng, plan.n_resamples, cluster)
    draws = np.concatenate([krippendorff(group.units, weight, values, level).alpha for weight in blocks])
    lost = int(np.isnan(draws).sum())
    found = read_off(value, draws, drawn, plan, (-math.inf, 1.0))
    return {
        **cells,
        **found,
        "method": of_units(found["method"]),
        "flag": flags(few, UNDEFINED.of(lost, what="resample(s)"), found["flag"]),
    }


# ---- Agreement beyond chance of judges who answer on the same things: :func:`kappa` and :func:`ac1` ------------------

Key = dict[str, Any]
Interval = Literal["asymptotic", "percentile", "bca"]
INTERVALS: tuple[Interval, ...] = ("asymptotic", "percentile", "bca")


@Measure(
    "Do two judges (or all) answer alike beyond chance?", "agreement", "P, R, counts",
    "asymptotic, linearised over clusters; bootstrap", "Cohen 1960, 1968; Light 1971; Fleiss 1971; debiasing, Table 6",
    plot="kappa_matrix", frames=("preferences",), needs=(pairs_of_judges,),
    caption="Agreement of every two judges beyond chance, on what both judged.",
    terms=(
        Term("kappa", "κ (Cohen)"),
    ),
)  # fmt: skip
def kappa(
    data: Any,
    *,
    reference: Any = None,
    weights: Weights | None = None,
    pairs: Literal["all", "average", "fleiss"] = "all",
    by: By = (),
    average_over: By = (),
    interval: Interval = "asymptotic",
    cluster: Cluster = "auto",
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Cohen's kappa of each pair of judges, or of each judge against people or the truth.

    Parameters
    ----------
    data : frame
        Preferences: the things judged are item and pair of candidates, whatever their order; the answer is for the
        candidate with the lower id, a tie (or abstention), or for the other; an invalid call is no answer. Or ratings:
        the things are system, item and criterion; the answer is the score. Where a judge answered several times on one
        thing, its calls are matched by what tells them apart: replicate, condition, ..., and last the order shown. Or
        a tally: ``judge, other, answer, other_answer, n`` (a published table of two raters, say).
    reference : None, 'gold', 'gold_candidate', judge or frame
        None: every pair of judges. ``'gold'``: the column ``gold``; of preferences both answers are then slots (first,
        second, tie), as in the paper and in :func:`gold_agreement`. ``'gold_candidate'``: the same with the answers as
        candidates, as between judges, who may have seen other orders. A judge's name, or a frame with the answers of
        others (without a column ``judge``, of one reference), matched on the columns it has.
    weights : {None, 'linear', 'quadratic'}
        How answers that differ agree in part, by the distance of their values (scores), or of their places (lower id,
        tie, higher id).
    pairs : {'all', 'average', 'fleiss'}
        A row for each pair of judges; or the mean kappa of all pairs (Light); or Fleiss's kappa of all judges, with
        missing answers as Gwet has them.
    by : str or sequence of str
        Further grouping columns; answers are matched within them.
    average_over : str or sequence of str
        Columns whose values are told apart as repeats are, as in :func:`score_matrix`: a column of ratings that splits
        them and is neither here nor in `by` is refused.
    interval : {'asymptotic', 'percentile', 'bca'}
        Large-sample, or a bootstrap of the things judged. Of the mean kappa, a bootstrap only.
    cluster : "auto", str or False
        Column whose levels are taken whole: by the asymptotic interval (linearised, t over clusters) and by a
        bootstrap. ``"auto"`` takes what several things share (``item``, say); False takes things as
        independent.
    n_resamples, seed
        Of the bootstrap.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Term ``kappa``, per ``judge`` and ``other`` where there are pairs; ``n`` counts the things that both answered
        (for Fleiss, that two or more did), and the flag those that the judge of `reference` has not, or not validly,
        answered. Further columns: ``observed`` and ``expected`` agreement; ``z`` and
        ``p_value`` of the hypothesis that kappa is 0, with the standard error that holds there (with clusters the p
        of t, with the interval's standard error). Kappa is NaN, flagged,
        where both gave one and the same answer throughout. Two judges with no thing in common have no row.

    Raises
    ------
    SchemaError
        If a column is missing or holds what it should not.
    DesignError
        If no thing was judged by two, an option is unknown, or answers without an order are to be weighted.

    Notes
    -----
    Intervals end at 1. Where agreement is perfect there is no interval. The test of Fleiss's kappa (Fleiss, Nee and
    Landis 1979) is for equally many answers on each thing, and NaN otherwise.

    References
    ----------
    Cohen (1960, 1968); standard errors: Fleiss, Cohen and Everitt (1969). Mean of pairs: Light (1971). Several judges:
    Fleiss (1971); its standard error: Gwet (2008). Debiasing paper, Table 6.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"judge": "g", "other": "h", "answer": [1, 1, 2, 3, 3], "other_answer": [2, 3, 2, 2, 3],
    ...                       "n": [4, 1, 8, 1, 5]})
    >>> kappa(table)[["judge", "other", "estimate", "std_error", "conf_low", "conf_high", "z", "n"]].round(4)
      judge other  estimate  std_error  conf_low  conf_high       z     n
    0     g     h    0.4842      0.138    0.2137     0.7547  3.2626  19.0
    >>> kappa(table, weights="linear")["estimate"].round(4).tolist()
    [0.4701]
    """
    data, reference = as_runs(data, average_over, by), reference_as_runs(reference, average_over)
    choose(interval, INTERVALS, "interval")
    choose(pairs, ("all", "average", "fleiss"), "pairs")
    if weights is not None:
        choose(weights, tuple(_POWERS), "weights")
    planned_or_none(interval, (), n_resamples, seed, conf_level)
    if pairs == "fleiss":
        if reference is not None:
            raise DesignError("pairs='fleiss' is about all judges at once, and takes no reference=.")
        drawing = (interval, n_resamples, seed, conf_level)
        return panel(data, "kappa", "fleiss", weights, None, by, cluster, drawing)
    table = _pair_counts(data, by, cluster, reference)
    plan = planned_or_none(interval, columns_of(table), n_resamples, seed, conf_level)
    column, dependent = column_of(table) if plan is None else None, dependence(table)
    groups = grouping(by, table.columns)
    if pairs == "average":
        if plan is not None and (reference is not None or _counted(data)):
            raise DesignError("The interval of a mean of pairs needs a frame of all judges, and no reference=.")
        rows = list(_averages(table, data, groups, weights, plan, dependent))
        return estimates(rows, groups, ["observed", "expected", "pairs"])
    rows = []
    keys = [*groups, "judge", "other"]
    table, values = _coded(table, weights)
    for key, part in _split(table, keys):
        cells = _cohen(part, values, weights, plan, column, conf_level, key)
        rows.append({**key, **cells, "flag": flags(cells["flag"], dependent)})
    return estimates(rows, keys, EXTRA)


@Measure(
    "Do judges answer alike beyond chance, where one answer is very frequent?", "agreement", "P, R",
    "asymptotic, t, over clusters too; bootstrap", "Gwet 2008",
    terms=(
        Term("ac1", "AC1 (Gwet)"),
    ),
)  # fmt: skip
def ac1(
    data: Any,
    *,
    reference: Any = None,
    weights: Weights | None = None,
    labels: Sequence[Any] | None = None,
    by: By = (),
    average_over: By = (),
    interval: Interval = "asymptotic",
    cluster: Cluster = "auto",
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Gwet's AC1 of all judges: agreement beyond chance that does not fall when one answer is frequent.

    Parameters
    ----------
    data : frame
        Preferences or ratings, as :func:`kappa` takes them; answers may be missing.
    reference : None, 'gold', 'gold_candidate', judge or frame
        None: all judges together. Else each judge beside this reference, as in :func:`kappa`: a row per ``judge`` and
        ``other``.
    weights : {None, 'linear', 'quadratic'}
        AC1, or AC2 with these weights.
    labels : sequence, optional
        Answers that could be given (the points of the scale; ``low``, ``tie``, ``high``): chance depends on how many
        there are. Without it, those that occur in `data`.
    by, average_over, interval, cluster, n_resamples, seed, conf_level
        As in :func:`kappa`. The asymptotic interval takes t with a degree of freedom less than there are units.

    Returns
    -------
    pandas.DataFrame
        Term ``ac1`` (``ac2`` with weights); ``n`` counts the things that two or more judges answered. Further columns:
        ``observed`` and ``expected`` agreement, ``p_value`` of the hypothesis that it is 0. A thing rated once counts
        in the shares of the answers, and in a flag.

    Raises
    ------
    SchemaError
        If a column is missing, or an answer is not in `labels`.
    DesignError
        If an option is unknown.

    References
    ----------
    Gwet, K. L. (2008). British Journal of Mathematical and Statistical Psychology 61, 29-48.

    Examples
    --------
    >>> import pandas as pd
    >>> scores = pd.DataFrame({"judge": list("aabbcc"), "system": "s", "item": list("xyxyxy"),
    ...                        "score": [1, 2, 1, 2, 1, 1]})
    >>> ac1(scores)[["term", "estimate", "observed", "expected", "n"]].round(4)
      term  estimate  observed  expected    n
    0  ac1       0.4    0.6667    0.4444  2.0
    """
    data = as_runs(data, average_over, by)
    choose(interval, INTERVALS, "interval")
    term = "ac1" if weights is None else "ac2"
    if reference is not None:
        table = _pair_counts(data, by, cluster, reference_as_runs(reference, average_over))
        return beside(table, term, "gwet", weights, labels, by, (interval, n_resamples, seed, conf_level))
    return panel(data, term, "gwet", weights, labels, by, cluster, (interval, n_resamples, seed, conf_level))


@Measure(
    "Do two judges answer alike beyond chance, if both draw on one distribution of answers?", "agreement",
    "P, R, counts", "asymptotic, t, over clusters too; bootstrap", "Scott 1955", plot="kappa_matrix",
    counted_as="kappa",
    terms=(
        Term("pi", "π (Scott)"),
    ),
)  # fmt: skip
def scott_pi(
    data: Any,
    *,
    against: Any = None,
    weights: Weights | None = None,
    by: By = (),
    average_over: By = (),
    interval: Interval = "asymptotic",
    cluster: Cluster = "auto",
    n_resamples: int = 2000,
    seed: int | np.random.Generator | None = 0,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Scott's pi of each pair of judges, or of each judge against people or the truth.

    Chance agreement is that of two judges with one distribution of answers, the mean of their own; Cohen's kappa lets
    each keep its own, so that two judges who differ in how often they give an answer have the higher kappa.

    Parameters
    ----------
    data : frame
        Preferences, ratings or a tally, as :func:`kappa` takes them.
    against : None, 'gold', 'gold_candidate', judge or frame
        As in :func:`kappa`.
    weights : {None, 'linear', 'quadratic'}
        As in :func:`kappa`.
    by, average_over, interval, cluster, n_resamples, seed, conf_level
        As in :func:`kappa`. The asymptotic interval takes t with a degree of freedom less than there are units.

    Returns
    -------
    pandas.DataFrame
        Term ``pi`` per ``judge`` and ``other``; ``n`` counts the things that both answered. Further columns:
        ``observed`` and ``expected`` agreement; ``z`` and ``p_value`` of the hypothesis that pi is 0 (NaN with
        clusters, or weights). A thing that one of the two answered validly counts in the shares of the answers, and
        in a flag.

    Raises
    ------
    SchemaError
        If a column is missing or holds what it should not.
    DesignError
        If no thing was judged by two, an option is unknown, or answers without an order are to be weighted.

    References
    ----------
    Scott, W. A. (1955). Public Opinion Quarterly 19, 321-325. Standard error: Gwet (2008), for Fleiss's kappa, which
    is pi where there are two judges.

    Examples
    --------
    Two coders of a hundred acts (Artstein and Poesio 2008, Table 3):

    >>> import pandas as pd
    >>> table = pd.DataFrame({"judge": "A", "other": "B", "answer": ["stat", "stat", "ireq", "chck", "chck"],
    ...                       "other_answer": ["stat", "ireq", "ireq", "ireq", "chck"], "n": [46, 6, 32, 6, 10]})
    >>> scott_pi(table)[["judge", "other", "term", "estimate", "observed", "expected", "n"]].round(4)
      judge other term  estimate  observed  expected      n
    0     A     B   pi    0.7995      0.88    0.4014  100.0
    """
    data, against = as_runs(data, average_over, by), reference_as_runs(against, average_over)
    choose(interval, INTERVALS, "interval")
    table = _pair_counts(data, by, cluster, against)
    return beside(table, "pi", "fleiss", weights, None, by, (interval, n_resamples, seed, conf_level))


def _pair_counts(data: Any, by: By, cluster: Cluster, against: Any) -> pd.DataFrame:
    if against is not None and _counted(data):
        raise DesignError("A table of counts names its pairs itself: leave reference= out.")
    return tally(data, "kappa", by, cluster=cluster, baseline=against)


def _counted(data: Any) -> bool:
    return is_tally(nw.from_native(data).collect_schema().names(), PATTERNS["kappa"])


def _split(table: pd.DataFrame, keys: list[str]) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    if not keys:
        yield {}, table
        return
    for key, part in table.groupby(keys, dropna=False, sort=True):
        yield dict(zip(keys, key, strict=True)), part


def _coded(table: pd.DataFrame, weights: Weights | None) -> tuple[pd.DataFrame, Floats]:
    """Add the codes of the two answers, -1 for none; and say where the answers lie."""
    both = pd.concat([table["answer"], table["other_answer"]], ignore_index=True)
    code, labels = pd.factorize(both.astype(object).where(is_answer(both)))
    values = positions(labels)[0] if weights is not None else np.zeros(len(labels))
    coded = table.assign(_one=code[: len(table)], _two=code[len(table) :])
    coded.attrs = table.attrs
    return coded, values


def _cohen(
    part: pd.DataFrame,
    values: Floats,
    weights: Weights | None,
    plan: Bootstrap | None,
    cluster: str | None,
    conf_level: float,
    key: Key,
) -> dict[str, Any]:
    """Kappa of one pair of judges: the cells of its row."""
    one, two, n = (part[c].to_numpy() for c in ("_one", "_two", "n"))
    good = (one >= 0) & (two >= 0)
    total, aside = n[good].sum(), n[~good].sum()
    cells: dict[str, Any] = {"term": "kappa", "estimate": math.nan, "n": total, "method": in_words(plan)}
    doubt = EXCLUDED.of(aside, what="unit(s) without two answers")
    if not total > 0:
        return {**cells, "flag": flags(NO_PAIRS, doubt)}
    used, code = np.unique(np.concatenate([one[good], two[good]]), return_inverse=True)
    row, column = code[: good.sum()], code[good.sum() :]
    w = agreement_weights(values[used], weights)
    shares = np.bincount(row * used.size + column, weights=n[good] / total, minlength=used.size**2).reshape(w.shape)
    fit = cohen_kappa(shares * total, w)
    margins = shares.sum(axis=1), shares.sum(axis=0)
    cells |= {"estimate": float(fit.estimate), "observed": (shares * w).sum(), "expected": margins[0] @ w @ margins[1]}
    if np.isnan(fit.estimate):
        return {**cells, "flag": flags(ONE_LABEL, doubt)}
    if min(map(np.count_nonzero, margins)) < 2:  # agreement is what chance gives, whatever the answers of the other
        return {**cells, "estimate": 0.0, "flag": flags(BY_STRUCTURE, doubt)}
    if fit.null_error > 0 and cluster is None:
        cells["z"] = float(fit.estimate / fit.null_error)
        cells["p_value"] = float(2 * ndtr(-abs(cells["z"])))
    if cluster is not None:
        pull = n[good] * kappa_influence(shares, w)[row, column]
        cells |= _clustered(float(fit.estimate), pull, part[good], cluster, conf_level, total)
    elif plan is None:
        cells |= _normal(float(fit.estimate), float(fit.std_error), conf_level, total)
    else:
        cells |= _bootstrapped(part if good.all() else part[good], row, column, w, plan, key)
    few = few_disagreements(cells, n[good][row != column].sum())
    return {**cells, "flag": flags(cells["flag"], few, doubt)}


def _normal(estimate: float, std_error: float, conf_level: float, n: float) -> dict[str, Any]:
    if not std_error > 1e-12:
        return {"flag": flags(PERFECT_AGREEMENT if estimate > 1 - 1e-12 else "", SMALL_N if n < 30 else "")}
    half = normal_quantile(conf_level) * std_error
    return {
        "std_error": std_error,
        "conf_low": max(estimate - half, -1.0),
        "conf_high": min(estimate + half, 1.0),
        "flag": SMALL_N if n < 30 else "",
    }


def _clustered(
    estimate: float, pull: Floats, part: pd.DataFrame, cluster: str, conf_level: float, n: float
) -> dict[str, Any]:
    """Linearised interval over clusters, from what each row pulls at kappa; and the test that goes with it."""
    unit = codes_of(part, [cluster])
    cells: dict[str, Any] = {"method": f"linearised, clustered by {cluster} (G = {unit.size})"}
    few = flags(few_clusters(unit.size), SMALL_N if n < 30 else "")
    if unit.size < 2:
        return {**cells, "flag": few}
    sums = np.bincount(unit.code, weights=pull, minlength=unit.size)
    error = math.sqrt(unit.size / (unit.size - 1) * float(sums @ sums)) / n
    if not error > 1e-12:
        return {**cells, "flag": flags(PERFECT_AGREEMENT if estimate > 1 - 1e-12 else "", few)}
    half = float(stdtrit(unit.size - 1, 0.5 + conf_level / 2)) * error
    cells |= {"std_error": error, "conf_low": max(estimate - half, -1.0), "conf_high": min(estimate + half, 1.0)}
    return {**cells, "p_value": float(2 * stdtr(unit.size - 1, -abs(estimate / error))), "flag": few}


def _bootstrapped(part: pd.DataFrame, row: Any, column: Any, w: Floats, plan: Bootstrap, key: Key) -> dict[str, Any]:
    cell, first = np.unique(row * len(w) + column, return_index=True)
    which = np.searchsorted(cell, row * len(w) + column)
    counts = np.zeros((len(part), cell.size))
    counts[np.arange(len(part)), which] = part["n"].to_numpy(dtype=float)
    one, two = row[first], column[first]
    return drawn(part, counts, lambda totals: weighted_kappa(totals, one, two, w), plan, key)


def _averages(
    table: pd.DataFrame,
    data: Any,
    groups: list[str],
    weights: Weights | None,
    plan: Bootstrap | None,
    dependent: str,
) -> Iterator[dict[str, Any]]:
    """Mean kappa of all pairs of judges, per group."""
    intervals = {} if plan is None else mean_intervals(data, groups, column_of(table), weights, plan)
    table, values = _coded(table, weights)
    for key, part in _split(table, groups):
        found = [
            _cohen(pair, values, weights, None, None, CONF_LEVEL, {}) for _, pair in _split(part, ["judge", "other"])
        ]
        rows = pd.DataFrame(found).reindex(columns=["estimate", "observed", "expected", "n"])
        defined = int(rows["estimate"].notna().sum())
        undefined = len(rows) - defined
        doubt = UNDEFINED.of(undefined, what="pair(s)")
        cells = intervals.get(plain(key), {"method": "mean of pairs", "flag": ""})
        flag = flags(cells["flag"], doubt, dependent)
        means = {c: rows[c].mean() for c in ("estimate", "observed", "expected")}
        yield {**key, "term": "kappa", **cells, **means, "pairs": float(defined), "n": rows["n"].sum(), "flag": flag}
