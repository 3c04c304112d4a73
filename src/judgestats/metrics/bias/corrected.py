"""What the rate really is, given that the judge errs: :func:`corrected_rate` and :func:`corrected_difference`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, SchemaError, choose, confidence, suggestion
from judgestats.kernels.corrected import (
    class_rates,
    corrected_interval,
    corrected_share,
    covariance,
    inversely_weighted,
    n_clusters,
    prediction_powered,
    shares,
    small_sample,
)
from judgestats.kernels.proportions import newcombe, normal_quantile, wilson
from judgestats.metrics.measure_registry import Measure, Options, Term
from judgestats.metrics.references import with_gold
from judgestats.results import (
    CLUSTERING_UNKNOWN,
    EXCLUDED,
    FEW_IN_CLASS,
    FEW_LABELS,
    INVALID_EXCLUDED,
    MORE_LABELS,
    NO_DATA,
    NO_LABELS,
    NO_SPREAD,
    NOT_BETTER_THAN_CHANCE,
    ONE_CLASS,
    ONE_UNIT,
    RATES_DO_NOT_FIT,
    SMALL_N,
    TRANSPORT_NOT_SHOWN,
    estimates,
    few_clusters,
    flags,
)
from judgestats.schema.clustering import CANDIDATES, CLUSTERING, Cluster, cluster_codes, clusters, column_of, dependence
from judgestats.schema.coding import as_scores, as_text, codes_of, numbers_of
from judgestats.schema.columns import COUNTS, By, answer_column, grouping, kind_of, names
from judgestats.schema.counting import clustered, is_tally, tally
from judgestats.schema.declared_counts import call_counts, counted
from judgestats.schema.pairing import candidates as candidate_codes
from judgestats.schema.patterns import PATTERNS
from judgestats.schema.selection import gathered
from judgestats.schema.splitting import as_runs, refuse_splits, splits_here

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
#: How the labelled items were drawn: at random from all, or so many of each class of the label.
Sampling = Literal["random", "by class"]
#: How a tie counts for a candidate: as no win, or as half of one.
TiesOfWins = Literal["exact", "half"]
#: Whose labels correct: one's own, those of all, or those of one level: ``{"system": "base"}``.
CalibratedOn = Literal["own", "shared"] | Mapping[str, str]
EXTRA = ("n_labels",)
_WORDS = {"yes": 1.0, "no": 0.0}
_PANEL = "panel"
#: Columns that this module adds to a table.
_F, _Y, _N, _FROM = "_verdict", "_label", "_units", "_calibration"
#: Columns of a table of printed shares: of positive verdicts, specificity, sensitivity, and their denominators.
_PRINTED = ("p", "q0", "q1", "n", "m0", "m1")


# ---- Verdicts and labels of any input --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Verdicts:
    """Verdicts with the labels beside them.

    `table`: `keys`, cluster columns, and further columns asked for; number of the verdict, of the label (NaN where
    there is none), and units of each row. ``_calibration``: rows of a separate table of labels.
    `shared`: columns of `keys` that a separate table of labels lacks, so that its labels are everybody's.
    `invalid`: verdicts without an answer, by `keys`.
    """

    table: pd.DataFrame
    keys: list[str]
    shared: tuple[str, ...]
    invalid: Mapping[tuple[str, ...], float]
    cluster: str | None
    dependent: str


@dataclass(frozen=True)
class _Asked:
    """Arguments that say what is read."""

    measure: str
    sampling: str
    keys: list[str]
    apart: list[str]
    beside: list[str]
    cluster: Cluster
    gold: str
    candidate: str | None
    ties: TiesOfWins
    average_over: By


def _verdicts(data: Any, calibration: Any, asked: _Asked) -> _Verdicts:
    """Read verdicts, and the labels of a separate table if there is one."""
    if set(_PRINTED) <= set(_columns(data)):
        return _printed(data, calibration, asked)
    parts: list[pd.DataFrame] = []
    shared: tuple[str, ...] = ()
    whole = [data] if calibration is None else [data, calibration]
    counts = [is_tally(_columns(part), PATTERNS[asked.measure]) for part in whole]
    pattern = set(PATTERNS[asked.measure].columns)
    for place, part in enumerate(whole):
        lacking = tuple(k for k in asked.keys if k != "judge" and k not in _columns(part)) if place else ()
        shared = lacking or shared
        own = replace(asked, keys=[k for k in asked.keys if k not in lacking])
        if lacking and "system" in lacking and pattern >= {"system"}:
            own = replace(own, measure="corrected_rate")
            counts[place] = is_tally(_columns(part), PATTERNS[own.measure])
        table = _counts(part, own) if counts[place] else _rows(part, own)
        parts.append(table.assign(**{_FROM: place == 1}))
    if calibration is not None:
        _check_calibration(parts[0], parts[1])
    note = parts[0].attrs.get(CLUSTERING)
    table = parts[0] if calibration is None else pd.concat(parts, ignore_index=True)
    if not any(counts):
        native, columns, note = clustered(nw.from_native(table, eager_only=True), asked.apart, asked.cluster)
        table = native.to_native()
        note = {**note, "columns": list(columns)}
    elif calibration is not None and set(n := parts[1].attrs.get(CLUSTERING, {}).get("columns", ())) - {*table}:
        raise DesignError(f"The verdicts lack {', '.join(n)}, by which the labels are clustered. Give it, or False.")
    table.attrs = {CLUSTERING: note} if note else {}
    _refuse_overlap(table, asked)
    kept = table.assign(**{_N: table[COUNTS].astype(float)})
    kept.attrs = table.attrs
    cluster, dependent = column_of(kept), dependence(kept)
    kept.attrs = {}  # copied with every part
    return _Verdicts(kept, asked.keys, shared, _invalid(kept, asked.keys), cluster, dependent)


def _invalid(table: pd.DataFrame, keys: list[str]) -> dict[tuple[str, ...], float]:
    """Number of verdicts without an answer, by the labels of `keys`."""
    missing = table.loc[table[_F].isna(), [*keys, _N]]
    found: dict[tuple[str, ...], float] = {}
    for *key, n in missing.itertuples(index=False, name=None):
        found[tuple(map(str, key))] = found.get(tuple(map(str, key)), 0.0) + n
    return found


def _printed(data: Any, calibration: Any, asked: _Asked) -> _Verdicts:
    """Printed shares and the sizes of their samples, as counts of verdicts and labels."""
    printed = nw.from_native(data).lazy().collect(backend="pandas").to_native()
    if calibration is not None or asked.sampling != "by class":
        raise DesignError(
            f"Printed shares ({', '.join(_PRINTED)}) are corrected with sampling='by class' and without calibration=: "
            "specificity q0 and sensitivity q1 are in them."
        )
    lacking = [k for k in asked.keys if k not in printed.columns]
    if lacking:
        raise DesignError(f"A row of printed shares of a system needs {', '.join(map(repr, lacking))} beside them.")
    for name in _PRINTED:
        value = numbers_of(printed[name])
        wrong = ~((value >= 0) & ((value <= 1) | (name in ("n", "m0", "m1"))))
        if wrong.any():
            kind = "a number of verdicts or labels" if name in ("n", "m0", "m1") else "a share between 0 and 1"
            raise DesignError(
                f"{name!r} is {value[wrong.argmax()]:g} in {int(wrong.sum()):,} rows, and must be {kind}."
            )
    parts = []
    for share, size, label, hit in (("p", "n", math.nan, 1.0), ("q0", "m0", 0.0, 0.0), ("q1", "m1", 1.0, 1.0)):
        for verdict, part in ((hit, printed[share]), (1 - hit, 1 - printed[share])):
            cells = {_F: verdict, _Y: label, _N: (part * printed[size]).astype(float), _FROM: False}
            parts.append(printed[asked.keys].assign(**cells))
    table = pd.concat(parts, ignore_index=True)
    return _Verdicts(table, asked.keys, (), {}, None, CLUSTERING_UNKNOWN if asked.cluster == "auto" else "")


def _columns(data: Any) -> list[str]:
    return list(nw.from_native(data).collect_schema().names())


def _counts(data: Any, asked: _Asked) -> pd.DataFrame:
    """A tally of verdicts and labels."""
    if asked.candidate is not None:
        raise DesignError("candidate= is about preferences, and this is a table of counts of yes and no.")
    by = [k for k in asked.keys if k not in PATTERNS[asked.measure].columns]
    table = tally(data, asked.measure, by, cluster=asked.cluster, beside=asked.beside)
    note = table.attrs
    table = table.assign(**{_F: table["verdict"].map(_WORDS).astype(float), _Y: table["label"].map(_WORDS)})
    table = table.rename(columns={"n": COUNTS})
    table.attrs = note
    return table


def _rows(data: Any, asked: _Asked) -> pd.DataFrame:
    """Verdicts of a frame as numbers, with their labels."""
    columns = clusters(asked.cluster) or ()
    table = gathered(as_runs(data, asked.average_over, asked.keys), [*asked.keys, *asked.beside, *columns, asked.gold])
    if asked.gold != "gold" or "gold" in table.columns:
        table = with_gold(table, asked.gold)
    else:
        raise DesignError(
            f"{asked.measure} needs labels of people beside some of the verdicts, and there is no column 'gold'. Join "
            "them with join_labels(), or name the column, or the person, in gold=.",
            problem="needs a column 'gold'",
        )
    present = list(table.columns)
    grouping([*asked.keys, *asked.beside], present)
    if kind_of(present) == "preferences":
        table = _wins(table, asked)
    else:
        if asked.candidate is not None:
            raise DesignError("candidate= is about preferences, and these are ratings.")
        _refuse_mixtures(table, asked)
        name = counted(nw.from_native(table), [*asked.keys, *asked.beside, *columns], "ratings")
        n = np.ones(len(table)) if name is None else call_counts(table[name])
        table = as_scores(nw.from_native(table, eager_only=True)).to_native()
        value = answer_column(table.columns)
        gold = (
            table["gold"].where(table["gold"].astype("string") != "")
            if table["gold"].dtype == object
            else table["gold"]
        )
        table = table.assign(**{_F: numbers_of(table[value]), _Y: numbers_of(gold), COUNTS: n})
    kept = [*asked.keys, *asked.beside, *columns, *CANDIDATES, "system", "criterion", "first", "second"]
    kept = [c for c in dict.fromkeys([*kept, _F, _Y, COUNTS]) if c in table.columns]
    return table[kept].reset_index(drop=True)


def _wins(table: pd.DataFrame, asked: _Asked) -> pd.DataFrame:
    """Preferences as wins of one candidate: 1, 0, and a tie as 0 or a half."""
    shown = sorted(set(table["first"].astype(str)) | set(table["second"].astype(str)))
    if asked.candidate is None:
        listed = ", ".join(shown[:8])
        raise DesignError(
            f"A rate of preferences is the share of wins of one candidate. Name it in candidate=: {listed}.",
            problem="needs to know whose wins are counted: candidate=",
        )
    if asked.candidate not in shown:
        raise DesignError(
            f"candidate={asked.candidate!r} does not occur. Candidates: {', '.join(shown[:8])}."
            + suggestion(asked.candidate, shown)
        )
    name = counted(nw.from_native(table), [*asked.keys, *asked.beside])
    n = np.ones(len(table)) if name is None else call_counts(table[name])
    first, second = (table[c].astype(str).to_numpy() == asked.candidate for c in ("first", "second"))
    choice, gold = table["choice"].astype(object), table["gold"]
    tie = 0.5 if asked.ties == "half" else 0.0
    won = choice.map({"first": 1.0, "second": 0.0, "tie": tie, "abstain": tie}).to_numpy(dtype=float)
    turned = choice.map({"first": 0.0, "second": 1.0, "tie": tie, "abstain": tie}).to_numpy(dtype=float)
    label = gold.astype("string")
    known = (label.notna() & (label != "")).to_numpy(dtype=bool, na_value=False)
    right = np.where(label.eq(asked.candidate).fillna(False), 1.0, np.where(label.eq("tie").fillna(False), tie, 0.0))
    table = table.assign(**{_F: np.where(first, won, turned), _Y: np.where(known, right, np.nan), COUNTS: n})
    return table[first ^ second]


def _refuse_mixtures(table: pd.DataFrame, asked: _Asked) -> None:
    """Raise where verdicts on several criteria, or under several conditions, would be mixed."""
    if "criterion" in table.columns and "criterion" not in asked.keys and table["criterion"].nunique() > 1:
        found = ", ".join(sorted(table["criterion"].astype(str).unique())[:5])
        raise DesignError(f"There are several criteria ({found}). Name by='criterion', or keep the rows of one.")
    data = nw.from_native(table, eager_only=True)
    keys = [
        c for c in dict.fromkeys(["judge", "system", "item", "criterion", *asked.keys, *asked.beside]) if c in table
    ]
    unit = codes_of(table, keys)
    if unit.size < len(table):
        refuse_splits(splits_here(data, unit.code, unit.size, keys), keys)


def _check_calibration(verdicts: pd.DataFrame, labels: pd.DataFrame) -> None:
    """Raise where a separate table of labels has none, or the verdicts have labels too."""
    if not labels[_Y].notna().any():
        raise DesignError("calibration= holds verdicts with labels, and no row of it has a label.")
    if verdicts[_Y].notna().any():
        raise DesignError(
            "The verdicts have labels, and so has calibration=. Give the labels in one place: labelled verdicts in "
            "calibration=, the others without labels; or all of them in one table, without calibration=."
        )


def _refuse_overlap(table: pd.DataFrame, asked: _Asked) -> None:
    """Raise where one item is labelled and unlabelled: a repeat of it, or a copy in another table."""
    if "item" not in table.columns:
        return
    keys = [c for c in dict.fromkeys(["judge", *asked.keys, "system", "item", "criterion"]) if c in table]
    named = table[keys].apply(as_text)
    if {"first", "second"} <= set(table.columns):
        low, high, _ = candidate_codes(table)
        named = named.assign(_low=low[0], _high=high[0])
    unit = codes_of(named, list(named.columns))
    known = table[_Y].notna().to_numpy()
    both = (np.bincount(unit.code[known], minlength=unit.size) > 0) & (
        np.bincount(unit.code[~known], minlength=unit.size) > 0
    )
    if both.any():
        one = table.iloc[int(unit.first[both.argmax()])]
        raise DesignError(
            f"{int(both.sum()):,} items are among the labelled and among the other verdicts (first: item "
            f"{one['item']!r} of judge {one['judge']!r}). With sampling='by class' the labelled items must be other "
            "items than those whose rate is asked: leave them out of the verdicts. With a random sample an item stands "
            "once: give every repeat of it the label, or leave the copy without the label out."
        )


# ---- One corrected rate ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plan:
    """Options of the estimate, the same for every group."""

    sampling: str
    probability: str | None
    strata: str | None
    weights: Mapping[str, float] | None
    ddof: int
    coefficient: float | None
    calibrated_on: CalibratedOn
    margin: float | None
    conf_level: float


@dataclass(frozen=True)
class _Group:
    """Rows of one judge: number of the verdict (N, k), label, units, cluster.

    `whole`, `rows`: the table, and the rows of it. `judges`: whose verdicts the columns of `f` are, of a panel.
    """

    whole: pd.DataFrame
    rows: NDArray[np.intp]
    judges: tuple[str, ...]
    f: Floats
    y: Floats
    n: Floats
    unit: NDArray[np.integer[Any]] | None
    cluster: str | None

    @cached_property
    def table(self) -> pd.DataFrame:
        """What the rows are grouped by."""
        return self.whole.iloc[self.rows].reset_index(drop=True)

    @property
    def labelled(self) -> Mask:
        return ~np.isnan(self.y)

    def clusters(self, rows: Mask) -> float:
        return n_clusters(rows, self.n, self.unit)


@dataclass(frozen=True)
class _Rate:
    """A corrected rate: what it is and what it rests on.

    `influence` (N,): of a unit of each row of the group. `rows`: the rows that it rests on. `refusal`: why it is no
    number. `parts`: rows of the result about sensitivity, lambda and so on.
    """

    estimate: float
    influence: Floats
    rows: Mask
    n: float
    n_labels: float
    method: str
    binary: bool
    refusal: str
    cautions: str
    parts: list[dict[str, Any]]
    interval: tuple[float, float, float] | None = None


def _error(group: _Group, influence: Floats, rows: Mask) -> tuple[float, float]:
    """Standard error of an estimate, and the number of clusters behind it."""
    held = rows & (group.n > 0)
    unit = None if group.unit is None else group.unit[held]
    variance = float(covariance(influence[held][:, None], group.n[held], unit)[0, 0])
    return math.sqrt(variance), group.clusters(rows)


def _quantile(clusters: float, conf_level: float) -> float:
    return float(stdtrit(clusters - 1, 0.5 + conf_level / 2)) if clusters > 1 else math.nan


def _by(group: _Group, clusters: float) -> str:
    return f", clustered by {group.cluster} (G = {clusters:,.0f})" if group.cluster else ""


def _mean(group: _Group, values: Floats, rows: Mask, conf_level: float) -> dict[str, Any]:
    """Mean of some rows with its interval: Wilson's for a share, t for other numbers."""
    size = float(group.n[rows].sum())
    if size == 0:
        return {"estimate": math.nan, "n": 0.0, "flag": NO_DATA}
    clusters, kept = group.clusters(rows), np.where(rows, values, 0.0)
    mean = float((group.n * kept)[rows].sum() / size)  # exactly 1 if all values are 1
    scale = math.sqrt(small_sample(rows, group.n, group.unit, 1)) if clusters > 1 else math.nan
    error, _ = _error(group, np.where(rows, scale * (kept - mean) / size, 0.0), rows)
    row: dict[str, Any] = {"estimate": mean, "std_error": error, "n": size}
    cautions = flags(few_clusters(int(clusters)) if group.cluster else "", SMALL_N if size < 30 else "")
    if set(np.unique(kept[rows])) <= {0.0, 1.0}:
        effective, df = size, None
        if group.cluster:
            effective = clusters if mean in (0.0, 1.0) else min(mean * (1 - mean) / max(error**2, 1e-300), size)
            df = clusters - 1
        else:
            row["std_error"] = math.sqrt(mean * (1 - mean) / size)
        if clusters > 1 or not group.cluster:
            low, high = wilson(mean * effective, effective, conf_level, df=df)
            row |= {"conf_low": float(low), "conf_high": float(high)}
        return {**row, "method": "Wilson" + _by(group, clusters), "flag": cautions}
    if not error > 1e-12:
        return {**row, "std_error": math.nan, "method": "t", "flag": flags(cautions, NO_SPREAD)}
    half = _quantile(clusters, conf_level) * error
    row |= {"conf_low": mean - half, "conf_high": mean + half, "method": "t" + _by(group, clusters)}
    return {**row, "flag": cautions}


def _is_share(group: _Group, rows: Mask) -> bool:
    used = np.concatenate([group.f[rows].ravel(), group.y[rows & group.labelled]])
    return set(np.unique(used)) <= {0.0, 1.0}


def _cautions(group: _Group, labelled: Mask, binary: bool) -> str:
    """Cautions about the number of labels, and of the clusters that have one."""
    size = float(group.n[labelled].sum())
    few = few_clusters(int(group.clusters(labelled))) if group.cluster else ""
    if not binary:
        return flags(few, FEW_LABELS if size < 30 else "")
    classes = [float(group.n[labelled & (group.y == c)].sum()) for c in (0.0, 1.0)]
    return flags(few, FEW_IN_CLASS if min(classes) < 10 else "")


def _by_class(group: _Group, judged: Mask, labelled: Mask, plan: _Plan) -> _Rate:
    """Rogan and Gladen's rate, with the interval of Lee et al."""
    rows = judged | labelled
    if not _is_share(group, rows):
        used = np.unique(group.f[rows])
        example = next((v for v in [*used, *group.y[labelled]] if v not in (0.0, 1.0)), math.nan)
        raise DesignError(
            f"sampling='by class' needs verdicts and labels of 0 and 1 (yes or no), and finds {example:g}. Make both "
            "so by a threshold, or use sampling='random' if the labelled items were drawn at random."
        )
    f, y = group.f[:, 0], np.where(labelled, group.y, np.nan)
    n = np.where(rows, group.n, 0.0)
    flat = class_rates(f, y, n, judged)
    found = class_rates(f, y, n, judged, group.unit, ddof=1 if group.cluster else 0)
    p, q0, q1 = found.p, found.specificity, found.sensitivity
    sizes = found.sizes
    empty = NO_DATA if sizes[0] == 0 else NO_LABELS if sizes[1:].sum() == 0 else ONE_CLASS if not sizes.all() else ""
    cautions = flags(
        FEW_IN_CLASS if sizes[1:].min() < 10 else "",
        SMALL_N if sizes[0] < 30 else "",
        MORE_LABELS if sizes[1:].sum() > sizes[0] else "",
        few_clusters(int(min(group.clusters(r) for r in (judged, labelled)))) if group.cluster else "",
    )
    part = _mean(group, f, judged, plan.conf_level)
    parts = [{"term": "apparent_rate", **part, "n_labels": 0.0}]
    hits = (("specificity", y == 0, 1 - f), ("sensitivity", y == 1, f))
    parts += [
        {"term": t, **(m := _mean(group, hit, labelled & of, plan.conf_level)), "n_labels": m["n"]}
        for t, of, hit in hits
    ]
    method = "Rogan-Gladen, Lee et al." + _by(group, group.clusters(rows))
    basis: dict[str, Any] = {"rows": rows, "n": float(sizes[0]), "n_labels": float(sizes[1:].sum())}
    if empty:
        return _Rate(math.nan, np.zeros(len(f)), **basis, method="", binary=True, refusal=empty, cautions=cautions,
                     parts=parts)  # fmt: skip
    quantile = _quantile(group.clusters(rows), plan.conf_level) if group.cluster else normal_quantile(plan.conf_level)
    effective, inflation = _effective(
        group, found.influence, flat.influence, (judged, labelled & (y == 0), y == 1), sizes
    )
    level = 2 * float(ndtr(quantile)) - 1
    gap = q0 + q1 - 1
    low, high = newcombe(q1 * effective[2], effective[2], (1 - q0) * effective[1], effective[1], level)
    parts.append({"term": "youden", "estimate": gap, "conf_low": low, "conf_high": high, "n": float(sizes[1:].sum()),
                  "n_labels": float(sizes[1:].sum()), "method": "Newcombe" + _by(group, group.clusters(labelled)),
                  "flag": cautions})  # fmt: skip
    estimate = float(corrected_share(p, q0, q1))
    refusal = "" if low > 0 else NOT_BETTER_THAN_CHANCE
    interval = None
    influence = np.zeros(len(f))
    if not refusal:
        n_verdicts, n_negative, n_positive = effective
        made = corrected_interval(p, q0, q1, n_verdicts, n_negative, n_positive, quantile, inflation)
        interval = (float(made.std_error), float(made.low), float(made.high))
        refusal = RATES_DO_NOT_FIT if interval[2] < 0 or interval[1] > 1 else ""
        influence = np.array([1.0, 1 - estimate, -estimate]) @ found.influence / gap
    return _Rate(estimate, influence, **basis, method=method, binary=True, refusal=refusal, cautions=cautions,
                 parts=parts, interval=interval)  # fmt: skip


def _effective(
    group: _Group, clustered_by: Floats, flat: Floats, rows: Sequence[Mask], sizes: Floats
) -> tuple[Floats, float]:
    """Effective numbers of verdicts and labels, and what shared clusters add to the variance of all together."""
    if group.unit is None:
        return sizes, 1.0
    effective = sizes.copy()
    own = np.zeros(3)
    for i, here in enumerate(rows):
        held = here & (group.n > 0)
        own[i] = covariance(clustered_by[i][held][:, None], group.n[held], group.unit[held])[0, 0]
        independent = covariance(flat[i][held][:, None], group.n[held], None)[0, 0]
        clusters = group.clusters(here)
        effective[i] = min(sizes[i], sizes[i] * independent / own[i]) if own[i] > 0 else clusters
    both = covariance(clustered_by.T, group.n, group.unit)
    together, alone = float(both.sum()), float(own.sum())
    return effective, together / alone if alone > 0 else 1.0


def _powered(group: _Group, judged: Mask, labelled: Mask, plan: _Plan, *, transported: bool) -> _Rate:
    """The mean label, from labels drawn at random or with known probabilities."""
    rows = judged | labelled
    binary = _is_share(group, rows)
    y = np.where(labelled, group.y, np.nan)
    size, rest = float(group.n[labelled].sum()), float(group.n[judged & ~labelled].sum())
    every = judged if transported else rows
    basis: dict[str, Any] = {"rows": rows, "n": float(group.n[every].sum()), "n_labels": size, "binary": binary}
    parts = []
    for j in range(group.f.shape[1]) if group.f.shape[1] == 1 else ():
        parts.append({"term": "apparent_rate", **_mean(group, group.f[:, j], every, plan.conf_level), "n_labels": 0.0})
    parts.append({"term": "label_rate", **(m := _mean(group, y, labelled, plan.conf_level)), "n_labels": m["n"]})
    cautions = flags(_cautions(group, labelled, binary), SMALL_N if basis["n"] < 30 else "")
    refusal = NO_DATA if basis["n"] == 0 else NO_LABELS if size == 0 else ""
    if not refusal and plan.sampling == "random" and size > rest and not transported:
        refusal = MORE_LABELS
    method = "PPI++" if plan.sampling == "random" else "inverse weights"
    if refusal:
        return _Rate(math.nan, np.zeros(len(y)), **basis, method="", refusal=refusal, cautions=cautions, parts=parts)
    total, influence, coefficients = 0.0, np.zeros(len(y)), []
    for weight, stratum, name in _strata(group, rows, plan):
        held = rows & stratum & (group.n > 0)
        if not (held & labelled).any():
            raise DesignError(f"Stratum {name!r} of {plan.strata!r} has no label. Label some of it, or merge strata.")
        found = _estimate(group, held, y, plan, transported=transported)
        total += weight * found.estimate
        influence[held] += weight * found.influence
        coefficients.append((name, found.coefficients))
    for name, values in coefficients:
        for judge, value in zip(group.judges, values, strict=True):
            inside = ", ".join(x for x in (judge, name) if x)
            parts.append({"term": f"lambda[{inside}]" if inside else "lambda", "estimate": float(value),
                          "n": basis["n"], "n_labels": size, "method": method, "flag": ""})  # fmt: skip
    known = group.y[labelled & (group.n > 0)]
    if binary and known.min() == known.max():
        cautions = flags(cautions, ONE_CLASS)
    method += (", Wilson" if binary and 0 < total < 1 else "") + _by(group, group.clusters(rows))
    return _Rate(total, influence, **basis, method=method, refusal="", cautions=cautions, parts=parts)


def _estimate(group: _Group, held: Mask, y: Floats, plan: _Plan, *, transported: bool) -> Any:
    """Corrected mean of one stratum."""
    unit = None if group.unit is None else np.unique(group.unit[held], return_inverse=True)[1]
    given = 1.0 if transported else plan.coefficient
    fixed = None if given is None else np.full(group.f.shape[1], given)
    arguments: dict[str, Any] = {"ddof": plan.ddof, "coefficients": fixed}
    if plan.probability is None:
        return prediction_powered(group.f[held], y[held], group.n[held], unit, **arguments)
    chance = numbers_of(group.table[plan.probability])[held]
    known = ~np.isnan(y[held])
    wrong = known & ~((chance > 0) & (chance <= 1))
    if wrong.any():
        raise DesignError(
            f"label_probability={plan.probability!r} is {chance[wrong.argmax()]:g} in a labelled row ({wrong.sum():,} "
            "rows). Allowed: above 0, and at most 1."
        )
    return inversely_weighted(group.f[held], y[held], chance, group.n[held], unit, **arguments)


def _strata(group: _Group, rows: Mask, plan: _Plan) -> Iterator[tuple[float, Mask, str]]:
    """Weight, rows and name of each stratum; all rows are one stratum if none is named."""
    if plan.strata is None:
        yield 1.0, np.ones(len(rows), dtype=bool), ""
        return
    assert plan.weights is not None
    level = group.table[plan.strata].astype(str).to_numpy()
    found, known = sorted(set(level[rows & (group.n > 0)])), {str(k): float(v) for k, v in plan.weights.items()}
    if set(found) != set(known) or not math.isclose(sum(known.values()), 1.0, abs_tol=1e-6) or min(known.values()) < 0:
        raise DesignError(
            f"weights= are the known shares of the levels of {plan.strata!r} ({', '.join(found[:8])}), each once, with "
            f"the sum 1. Got {known}."
        )
    for name in found:
        yield known[name], level == name, name


def _result(rate: _Rate, group: _Group, plan: _Plan, dependent: str) -> dict[str, Any]:
    """The row of a corrected rate."""
    row: dict[str, Any] = {"term": "corrected_rate", "estimate": math.nan, "n": rate.n, "n_labels": rate.n_labels}
    if rate.refusal:
        return {
            **row,
            "flag": rate.refusal if rate.refusal == NO_DATA else flags(rate.refusal, dependent, rate.cautions),
        }
    row["method"] = rate.method
    if rate.interval is not None:
        error, low, high = rate.interval
        few = ""
    else:
        error, clusters = _error(group, rate.influence, rate.rows)
        few = few_clusters(int(clusters)) if group.cluster else ""
        low, high = _of_mean(rate, error, _quantile(clusters, plan.conf_level))
        if not error > 1e-12 or ONE_CLASS in rate.cautions.split("; "):
            alone = ONE_UNIT if math.isnan(error) else "" if ONE_CLASS in rate.cautions else NO_SPREAD
            return {**row, "estimate": rate.estimate, "flag": flags(alone, dependent, few, rate.cautions)}
    row |= _kept(rate.estimate, error, low, high, 0.0 if rate.binary else -math.inf, 1.0 if rate.binary else math.inf)
    return {**row, "flag": flags(row.get("flag", ""), dependent, few, rate.cautions)}


def _of_mean(rate: _Rate, error: float, quantile: float) -> tuple[float, float]:
    """t; for a rate between 0 and 1 Wilson's interval with t and the number of labels that would give this error."""
    if rate.binary and 0 < rate.estimate < 1 and error > 1e-12:
        effective = rate.estimate * (1 - rate.estimate) / error**2
        low, high = wilson(rate.estimate * effective, effective, 2 * float(ndtr(quantile)) - 1)
        return float(low), float(high)
    return rate.estimate - quantile * error, rate.estimate + quantile * error


def _kept(estimate: float, error: float, low: float, high: float, least: float, most: float) -> dict[str, Any]:
    """Cells of an estimate and its interval, clipped to the possible values; NaN where none of them is possible."""
    if high < least or low > most:
        return {"estimate": math.nan, "method": "", "flag": RATES_DO_NOT_FIT}
    estimate = min(max(estimate, least), most)
    return {
        "estimate": estimate,
        "std_error": error,
        "conf_low": min(max(low, least), estimate),
        "conf_high": max(min(high, most), estimate),
    }


# ---- Whose labels correct what ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Level:
    """What one rate is of: its labels, its rows, the rows of the labels that correct it, and whose they are."""

    labels: dict[str, Any]
    rows: Mask
    source: Mask
    transported: bool


def _groups(read: _Verdicts, panel: bool) -> Iterator[tuple[Any, _Group]]:
    """Rows of each judge; or of all, with a column of verdicts for each."""
    table = _panelled(read) if panel else read.table[read.table[_F].notna()]
    judges = table.attrs.get(_PANEL, [""])
    columns = [f"{_F}{i}" for i in range(len(judges))] if panel else [_F]
    table.attrs = {}  # copied with every part
    known = (table if panel else read.table)["judge"].to_numpy(dtype=object)
    place = {name: i for i, name in enumerate(sorted(set(known), key=str))}
    if not place:
        return
    code = np.array([place[name] for name in table["judge"].to_numpy(dtype=object)], dtype=np.intp)
    rows_of = np.split(np.argsort(code, kind="stable"), np.cumsum(np.bincount(code, minlength=len(place)))[:-1])
    unit = cluster_codes(table, read.cluster) if read.cluster else None
    f, y, n = (table[c].to_numpy(dtype=float) for c in (columns, _Y, _N))
    f = f.reshape(len(table), len(columns))
    for name, rows in zip(place, rows_of, strict=True):
        own = None if unit is None else np.unique(unit[rows], return_inverse=True)[1]
        yield name, _Group(table, rows, tuple(judges), f[rows], y[rows], n[rows], own, read.cluster)


@dataclass(frozen=True)
class Labelled:
    """Verdicts of one judge (and level of `by`), with the labels beside some: for planning.

    `named`: judge and level. `f`, `y`, `n` (N,): verdict, label (NaN where there is none), units of each row. `unit`
    (N,): cluster of each row; None if they are independent. `flag`: cautions about clustering.
    """

    named: dict[str, Any]
    f: Floats
    y: Floats
    n: Floats
    unit: NDArray[np.integer[Any]] | None
    flag: str


def labelled_verdicts(
    data: Any, calibration: Any, sampling: str, by: By, cluster: Cluster, gold: str, candidate: str | None,
    ties: TiesOfWins,
) -> Iterator[Labelled]:  # fmt: skip
    """Verdicts and labels of each judge, as :func:`corrected_rate` reads them; the arguments are its own."""
    plan = _Plan(sampling, None, None, None, 1, None, "own", None, CONF_LEVEL)
    keys = ["judge", *dict.fromkeys(names(by))]
    asked = _asked("corrected_rate", keys, keys, plan, cluster, gold, candidate, ties, ())
    read = _verdicts(data, calibration, asked)
    for judge, group in _groups(read, panel=False):
        for level in _levels(group, read, plan):
            rows = level.rows | level.source
            unit = None if group.unit is None else np.unique(group.unit[rows], return_inverse=True)[1]
            named = {"judge": judge, **level.labels}
            yield Labelled(named, group.f[rows, 0], group.y[rows], group.n[rows], unit, read.dependent)


def _panelled(read: _Verdicts) -> pd.DataFrame:
    """One row for each rated item that all judges answered, with a column for each judge."""
    table = read.table
    about = [c for c in dict.fromkeys([*read.keys, "system", "item", "criterion", "first", "second"]) if c in table]
    about = [c for c in about if c != "judge"]
    if "item" not in about:
        raise DesignError("panel=True matches the verdicts of several judges by 'item', and counts have none.")
    judges = sorted(table["judge"].astype(str).unique())
    code = codes_of(table, about)
    place = table["judge"].astype(str).map({j: i for i, j in enumerate(judges)}).to_numpy()
    if codes_of(table.assign(_code=code.code), ["_code", "judge"]).size < len(table):
        raise DesignError("panel=True needs one verdict of each judge on an item. Average repeats first: aggregate().")
    f = np.full((code.size, len(judges)), np.nan)
    f[code.code, place] = table[_F].to_numpy(float)
    made = table.iloc[code.first].reset_index(drop=True).assign(judge=_PANEL)
    labels = pd.Series(table[_Y].to_numpy(float)).groupby(code.code).agg(["min", "max"])
    if (labels["min"] < labels["max"]).any():
        raise SchemaError("An item has several labels. Give it one: the same for all judges.")
    made = made.assign(**{_Y: labels["max"].to_numpy(float)}, **{f"{_F}{i}": f[:, i] for i in range(len(judges))})
    made = made[~np.isnan(f).any(axis=1)].reset_index(drop=True)
    made.attrs = {**table.attrs, _PANEL: judges}
    return made


def _levels(group: _Group, read: _Verdicts, plan: _Plan) -> list[_Level]:
    """Each combination of the `by` columns, with the rows of the labels that correct it."""
    by = [k for k in read.keys if k != "judge"]
    if not by and not read.shared:
        return [_Level({}, np.ones(len(group.y), dtype=bool), group.labelled, False)]
    table = group.table
    everybody = table[_FROM].to_numpy(dtype=bool) if read.shared else np.zeros(len(table), dtype=bool)
    own = table[~everybody]
    combinations = own[by].drop_duplicates().sort_values(by, key=lambda s: s.astype(str)) if by else own.iloc[:1]
    found = []
    for values in combinations[by].to_dict("records") if by else [{}]:
        here = _equal(table, values) & ~everybody
        labelled = group.labelled
        if read.shared:
            rest = {k: v for k, v in values.items() if k not in read.shared}
            source, away = labelled & everybody & _equal(table, rest), True
        elif plan.calibrated_on == "own":
            source, away = labelled & here, False
        elif plan.calibrated_on == "shared":
            source, away = labelled, len(combinations) > 1
        else:
            at = {**values, **_named_level(table, plan.calibrated_on, by)}
            source, away = labelled & _equal(table, at), at != values
        found.append(_Level(values, here, source, away))
    return found


def _equal(table: pd.DataFrame, values: Mapping[str, Any]) -> Mask:
    mask = np.ones(len(table), dtype=bool)
    for name, value in values.items():
        column = table[name]
        mask &= (column.isna() if pd.isna(value) else column == value).to_numpy(dtype=bool)
    return mask


def _named_level(table: pd.DataFrame, calibrated_on: Mapping[str, str], by: Sequence[str]) -> dict[str, Any]:
    found = {}
    for column, value in calibrated_on.items():
        if column not in by:
            raise DesignError(f"calibrated_on={dict(calibrated_on)!r}: {column!r} is not compared. Name it in by=.")
        known = {str(v): v for v in table[column].dropna().unique()}
        if str(value) not in known:
            raise DesignError(
                f"calibrated_on={value!r} is not in {column!r}. It has: {', '.join(sorted(known)[:8])}."
                + suggestion(str(value), known)
            )
        found[column] = known[str(value)]
    return found


def _rate(group: _Group, level: _Level, plan: _Plan) -> _Rate:
    if plan.sampling == "by class":
        return _by_class(group, level.rows & ~group.labelled, level.source, plan)
    if level.transported:
        return _powered(group, level.rows & ~level.source, level.source, plan, transported=True)
    return _powered(group, level.rows, level.source, plan, transported=False)


def _transport(group: _Group, level: _Level, plan: _Plan, rate: _Rate) -> dict[str, Any]:
    """Difference of the gaps between judge and people: of this level minus that of the labels that correct it.

    Of the gap by class at the corrected rate: what the error rates of both would make of the same items.
    """
    own = level.rows & group.labelled
    other = level.source & ~own
    row: dict[str, Any] = {"term": "gap_difference", "estimate": math.nan, "n": float(group.n[own].sum()),
                           "n_labels": float(group.n[own | other].sum())}  # fmt: skip
    if not own.any() or not other.any():
        return {**row, "flag": NO_LABELS}
    nobody = np.zeros(len(own), dtype=bool)
    if plan.sampling == "by class":
        if rate.refusal:
            return {**row, "flag": rate.refusal}
        share = min(max(rate.estimate, 0.0), 1.0)
        influence = np.zeros(len(own))
        value, slope = 0.0, 0.0
        for sign, rows in ((1, own), (-1, other)):
            y = np.where(rows, group.y, np.nan)
            found = class_rates(group.f[:, 0], y, np.where(rows, group.n, 0.0), nobody, group.unit, ddof=1)
            q0, q1 = found.specificity, found.sensitivity
            value += sign * ((1 - q0) * (1 - share) - (1 - q1) * share)
            slope += sign * (q0 + q1)
            influence += sign * (share * found.influence[2] - (1 - share) * found.influence[1])
        if math.isnan(value):
            return {**row, "flag": ONE_CLASS}
        influence = influence + slope * rate.influence
        rows = own | other | rate.rows
    else:
        value, influence, rows = 0.0, np.zeros(len(own)), own | other
        for sign, part in ((1, own), (-1, other)):
            gap = np.where(part, group.f[:, 0] - group.y, 0.0)
            mean = float(shares(group.n, part) @ gap)
            scale = math.sqrt(small_sample(part, group.n, group.unit, 1))
            value += sign * mean
            influence += sign * np.where(part, scale * (gap - mean) / group.n[part].sum(), 0.0)
    error, clusters = _error(group, influence, rows)
    few = few_clusters(int(min(group.clusters(own), group.clusters(other)))) if group.cluster else ""
    small = FEW_LABELS if min(group.n[own].sum(), group.n[other].sum()) < 30 else ""
    if not error > 1e-12:
        return {**row, "estimate": value, "flag": flags(NO_SPREAD, few, small)}
    half = _quantile(clusters, plan.conf_level) * error
    return {**row, "estimate": value, "std_error": error, "conf_low": value - half, "conf_high": value + half,
            "method": "t, by influences" + _by(group, clusters), "flag": flags(few, small)}  # fmt: skip


def _shown(gap: Mapping[str, Any], margin: float) -> bool:
    """Whether the interval of a difference of gaps lies inside the margin."""
    return bool(gap.get("conf_low", math.nan) > -margin and gap.get("conf_high", math.nan) < margin)


# ---- The measures ----------------------------------------------------------------------------------------------------


def _needs_sampling(data: Any, options: Options) -> str:
    """How the labels were drawn is not in the data."""
    if "gold" not in _columns(data):
        return "needs a column 'gold'"
    return "" if options.sampling else "needs to know how the labelled items were drawn: sampling="


_TERMS = (
    Term("corrected_rate", "rate corrected for the errors of the judge", "verdict", "verdicts",
         "no universal direction", "What people would say of all items, from verdicts on all and labels of some."),
    Term("apparent_rate", "rate by the verdicts alone"),
    Term("label_rate", "rate among the labelled items"),
    Term("specificity", "negative verdicts where the label is negative"),
    Term("sensitivity", "positive verdicts where the label is positive"),
    Term("youden", "sensitivity + specificity - 1", neutral=0.0),
    Term("gap_difference", "difference of the gaps between judge and people", neutral=0.0),
)  # fmt: skip


@Measure(
    "What is the rate really, given that the judge errs?", "people", "R, P (`candidate=`), counts",
    "by class: Lee et al.; random: t, by influences", "Lee et al. 2025; Angelopoulos et al. 2023 (PPI++)",
    plot="forest", frames=("ratings",), needs=(_needs_sampling,), terms=_TERMS,
    arguments=lambda _, options: {"sampling": options.sampling},
    have=("people",),
    assumes="Labels are right, and the labelled items are drawn as stated: at random, or by class of the verdict.",
)  # fmt: skip
def corrected_rate(
    verdicts: IntoFrame,
    *,
    sampling: Sampling | None = None,
    label_probability: str | None = None,
    calibration: IntoFrame | None = None,
    gold: str = "gold",
    candidate: str | None = None,
    ties: TiesOfWins = "exact",
    panel: bool = False,
    strata: str | None = None,
    weights: Mapping[str, float] | None = None,
    calibrated_on: CalibratedOn = "own",
    margin: float | None = None,
    by: By = (),
    average_over: By = (),
    cluster: Cluster = "auto",
    coefficient: float | None = None,
    ddof: int = 1,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Rate, or mean score, that people would give to all items, from many verdicts and fewer labels.

    Parameters
    ----------
    verdicts : frame
        Ratings with a column ``gold`` that holds the label of people where there is one: scores, or verdicts of yes and
        no (``correct``, or a score of 0 and 1). Or preferences, with `candidate`. Or a tally: ``judge, verdict, label,
        n`` with the verdicts ``yes``, ``no`` and ``invalid``, and the labels ``yes``, ``no`` and ``none``. Or printed
        shares, by class: ``judge, p, q0, q1, n, m0, m1``, the share of positive verdicts, specificity, sensitivity and
        their denominators.
    sampling : {'random', 'by class'}
        How the labelled items were drawn; it must be stated. ``"random"``: from the same items as the rest, each with
        the same chance; PPI++ then estimates the mean label. ``"by class"``: so many with a negative label and so many
        with a positive one; sensitivity and specificity come from them, and the verdicts without a label are corrected
        by Rogan and Gladen's formula. The labelled items are then others than those corrected.
    label_probability : str
        In place of `sampling`: the column of known probabilities with which each item was to be labelled (more of the
        disputed ones, say). Labels are weighted by their inverse.
    calibration : frame, optional
        Labelled verdicts in a table of their own; the others then have no labels. Without one of the columns in `by`
        its labels correct all levels of it, and `margin` is needed.
    gold : str
        Column of labels; or a judge (a person) whose answers are the labels.
    candidate : str, optional
        Of preferences: whose share of wins is asked. Pairs without it are left out.
    ties : {'exact', 'half'}
        Whether a tie is no win, or half of one (of verdict and label alike).
    panel : bool
        Correct with the verdicts of all judges at once: one result, ``judge`` is ``panel``, with a coefficient for each
        judge. Items that some judge did not answer are left out. Not for ``sampling="by class"``.
    strata : str, optional
        Column of strata, within which the labelled items were drawn at random; each has its own coefficient.
    weights : mapping, optional
        Known share of each stratum among all items.
    calibrated_on : {'own', 'shared'} or mapping
        Whose labels correct: each level of `by` its own, those of all levels together, or those of one level,
        ``{"system": "base"}``. The last two need `margin`.
    margin : float, optional
        Largest difference of the gaps between judge and people that would not matter. Where labels of other levels
        correct, the flag ``transport not shown`` stands unless the interval of that difference lies inside it.
    by : str or sequence of str
        Further grouping columns (``system``, say).
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    cluster : "auto", str or False
        Column that verdicts share, by which influences are summed. ``"auto"`` detects it (``item``, say) and names it
        in ``method``. False treats all verdicts as independent, with a flag where they are not.
    coefficient : float, optional
        λ, in place of the one with the smallest variance: 1 is prediction-powered inference without tuning, 0 takes the
        labels alone.
    ddof : int
        Taken from the number of clusters in variances (PPI++).
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge ``corrected_rate``, and what it is made of: ``apparent_rate``, by the verdicts alone; by class
        ``specificity``, ``sensitivity`` and ``youden`` (their sum minus 1); else ``label_rate``, by the labels alone,
        and ``lambda``, the coefficient of the verdicts. ``gap_difference`` where labels of other levels correct. ``n``
        counts verdicts (of ``label_rate``, ``specificity``, ``sensitivity``: labels), ``n_labels`` labels.

        NaN with a flag: the interval of ``youden`` reaches 0 (``not better than chance``); the interval, before it is
        clipped, lies outside 0 to 1 (``error rates do not fit these verdicts``); ``labels of one class only``; a random
        sample of ``more labels than verdicts``.

    Raises
    ------
    DesignError
        If it is not stated how the labels were drawn; if an item is among the labelled and among the other verdicts; if
        `margin` is missing where labels of other levels correct; if verdicts on several criteria would be mixed.

    See Also
    --------
    corrected_difference : Difference of two corrected rates.
    label_plan : How many labels a corrected rate needs.

    Notes
    -----
    By class: θ = (p + q0 - 1)/(q0 + q1 - 1) with the interval of Lang and Reiczigel (2014) that Lee et al. use. Where
    verdicts are clustered, numbers of verdicts and labels are the effective ones, with t. Random: PPI++, with λ = Σff⁻¹
    ΣfY/(1 + n/N), between 0 and 1 for one judge; the influences (Y - λ'f - mean)/n and λ'(f - mean)/N are summed within
    clusters, with G/(G - 1) for each of the two samples and t on G - 1; a rate of yes and no has Wilson's interval with
    that standard error and t, since the plain one covers too little near 0 and 1. λ comes from the same clustered
    covariances. Where labels of another level correct, λ is 1. docs/judges_and_people.md says when not to use it.

    References
    ----------
    Lee, C., et al. (2025). How to correctly report LLM-as-a-judge evaluations. arXiv 2511.21140. Angelopoulos, A. N.,
    Duchi, J. C., & Zrnic, T. (2023). PPI++: efficient prediction-powered inference. arXiv 2311.01453.

    Examples
    --------
    The judge passes 400 of 1,000 answers. Of 200 answers that people failed it fails 140, of 200 that they passed it
    passes 180:

    >>> counts = pd.DataFrame([("yes", "none", 400), ("no", "none", 600), ("no", "no", 140), ("yes", "no", 60),
    ...                        ("yes", "yes", 180), ("no", "yes", 20)], columns=["verdict", "label", "n"])
    >>> found = corrected_rate(counts.assign(judge="g"), sampling="by class")
    >>> found[["term", "estimate", "conf_low", "conf_high", "n", "n_labels"]].round(3).head(2)
                 term  estimate  conf_low  conf_high       n  n_labels
    0  corrected_rate     0.167     0.056      0.263  1000.0     400.0
    1   apparent_rate     0.400     0.370      0.431  1000.0       0.0
    """
    plan = _plan(
        sampling, label_probability, strata, weights, ddof, coefficient, calibrated_on, margin, conf_level, panel
    )
    by = list(dict.fromkeys(names(by)))
    asked = _asked("corrected_rate", ["judge", *by], ["judge", *by], plan, cluster, gold, candidate, ties, average_over)
    read = _verdicts(verdicts, calibration, asked)
    _check_margin(plan, read)
    keys = asked.keys
    rows: list[dict[str, Any]] = []
    for judge, group in _groups(read, panel):
        for level in _levels(group, read, plan):
            named = {"judge": judge, **level.labels}
            rate = _rate(group, level, plan)
            found = [_result(rate, group, plan, read.dependent), *rate.parts]
            if level.transported:
                found = _with_transport(found, _transport(group, level, plan, rate), plan)
            excluded = _excluded(read, named)
            rows += [{**named, **row, "flag": flags(row.get("flag", ""), excluded)} for row in found]
    rows += [] if panel else _silent(read, rows)
    return estimates(rows, keys, EXTRA)


@Measure(
    "Which system is better, given that the judge errs?", "people", "R, counts", "t, by influences",
    "Lee et al. 2025; Angelopoulos et al. 2023 (PPI++)", plot="forest",
    terms=(
        Term("corrected_difference", "difference of the corrected rates", "verdict", "verdicts of the smaller side",
             "no universal direction", "What people would say of one system minus what they would say of the other.",
             neutral=0.0),
        Term("apparent_difference", "difference by the verdicts alone", neutral=0.0),
    ),
    have=("people",),
    assumes="Labels are right, and the labelled items are drawn as stated; paired where the systems share items.",
)  # fmt: skip
def corrected_difference(
    verdicts: IntoFrame,
    *,
    baseline: str,
    compare: str = "system",
    sampling: Sampling | None = None,
    label_probability: str | None = None,
    calibration: IntoFrame | None = None,
    gold: str = "gold",
    candidate: str | None = None,
    ties: TiesOfWins = "exact",
    panel: bool = False,
    strata: str | None = None,
    weights: Mapping[str, float] | None = None,
    calibrated_on: CalibratedOn = "own",
    margin: float | None = None,
    by: By = (),
    average_over: By = (),
    cluster: Cluster = "auto",
    coefficient: float | None = None,
    ddof: int = 1,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Difference of the corrected rates of two systems, paired where they share items.

    Parameters
    ----------
    verdicts : frame
        As for :func:`corrected_rate`, with the column `compare`. A tally has ``system`` too.
    baseline : str
        The level that is subtracted from every other one.
    compare : str
        Column whose levels are compared.
    sampling, label_probability, calibration, gold, candidate, ties, panel, strata, weights
        As for :func:`corrected_rate`.
    calibrated_on : {'own', 'shared'} or mapping
        Each level by its own labels, or both by the same ones: of all levels, or of one. The last two need `margin`. A
        table in `calibration` without the column `compare` is shared.
    margin
        As for :func:`corrected_rate`.
    by, average_over, coefficient, ddof, conf_level
        As for :func:`corrected_rate`.
    cluster : "auto", str or False
        Column by which influences are summed, across both levels: where both judged the same items this is the paired
        comparison. False is the unpaired one.

    Returns
    -------
    pandas.DataFrame
        Per judge and other level ``corrected_difference``, ``apparent_difference`` and, where labels of other levels
        correct, ``gap_difference``. ``n`` is the number of verdicts of the smaller side. NaN with a flag where one of
        the rates is.

    Raises
    ------
    DesignError
        As :func:`corrected_rate`; if `baseline` is not a level.

    See Also
    --------
    corrected_rate : A rate corrected for the judge's errors.
    label_plan : How many labels a corrected rate needs.

    Notes
    -----
    Influences of both rates are subtracted, summed within cluster across both levels, and squared; with t. By class
    they are (z - p)/J for a verdict, (1 - θ)(1{z = 0} - q0)/J for a negative label and -θ(1{z = 1} - q1)/J for a
    positive one, each over the size of its sample, J = q0 + q1 - 1. With the same labels for both, Δ = (pA - pB)/J has
    the variance {Var(pA - pB) + Δ²[V(q0) + V(q1)]}/J².

    Examples
    --------
    >>> counts = [("a", "yes", "none", 700), ("a", "no", "none", 300), ("b", "yes", "none", 600),
    ...           ("b", "no", "none", 400)]
    >>> labels = [("no", "no", 90), ("yes", "no", 10), ("yes", "yes", 85), ("no", "yes", 15)]
    >>> columns = ["system", "verdict", "label", "n"]
    >>> found = corrected_difference(
    ...     pd.DataFrame(counts, columns=columns).assign(judge="g"), baseline="b", sampling="by class",
    ...     calibration=pd.DataFrame(labels, columns=columns[1:]).assign(judge="g"), margin=0.05)
    >>> found[["system", "term", "estimate", "conf_low", "conf_high"]].round(3)
      system                  term  estimate  conf_low  conf_high
    0      a  corrected_difference     0.133     0.076      0.191
    1      a   apparent_difference     0.100     0.058      0.142
    2      a        gap_difference       NaN       NaN        NaN
    """
    plan = _plan(
        sampling, label_probability, strata, weights, ddof, coefficient, calibrated_on, margin, conf_level, panel
    )
    by = list(dict.fromkeys(names(by)))
    if compare in by or compare == "judge":
        raise DesignError(f"compare={compare!r} is in by=, or the judges. Name a column that neither holds.")
    keys, apart = ["judge", *by, compare], ["judge", *by]
    asked = _asked("corrected_difference", keys, apart, plan, cluster, gold, candidate, ties, average_over)
    read = _verdicts(verdicts, calibration, asked)
    _check_margin(plan, read)
    known = sorted(read.table[compare].dropna().astype(str).unique())
    if str(baseline) not in known:
        raise DesignError(
            f"baseline={baseline!r} is not in {compare!r}. It has: {', '.join(known[:8])}."
            + suggestion(str(baseline), known)
        )
    rows: list[dict[str, Any]] = []
    for judge, group in _groups(read, panel):
        levels = _levels(group, read, plan)
        rates = [_rate(group, level, plan) for level in levels]
        for i, level in enumerate(levels):
            if str(level.labels[compare]) == str(baseline):
                continue
            rest = {k: v for k, v in level.labels.items() if k != compare}
            named = {"judge": judge, **level.labels}
            base = [j for j, o in enumerate(levels) if str(o.labels[compare]) == str(baseline)
                    and all(_alike(o.labels[k], v) for k, v in rest.items())]  # fmt: skip
            if not base:
                rows.append({**named, "term": "corrected_difference", "estimate": math.nan, "n": 0.0, "flag": NO_DATA})
                continue
            pair = (i, base[0])
            found = _difference(group, [levels[k] for k in pair], [rates[k] for k in pair], plan, read.dependent)
            rows += [{**named, **row, "flag": flags(row["flag"], _excluded(read, named))} for row in found]
    silent = [] if panel else _silent(read, rows, "corrected_difference")
    rows += [row for row in silent if str(row[compare]) != str(baseline)]
    return estimates(rows, keys, EXTRA)


def _alike(one: Any, two: Any) -> bool:
    return bool(one == two or (pd.isna(one) and pd.isna(two)))


def _difference(
    group: _Group, levels: Sequence[_Level], rates: Sequence[_Rate], plan: _Plan, dependent: str
) -> list[dict[str, Any]]:
    """Rows of one system minus the baseline."""
    one, two = rates
    rows = one.rows | two.rows
    n = min(one.n, two.n)
    labels = float(group.n[(levels[0].source | levels[1].source)].sum())
    row: dict[str, Any] = {"term": "corrected_difference", "estimate": math.nan, "n": n, "n_labels": labels}
    small = flags(dependent, one.cautions, two.cautions)
    single = [_result(rate, group, plan, "") for rate in rates]
    refusal = next((r["flag"] for r in single if math.isnan(r["estimate"])), "")
    if refusal:
        row["flag"] = flags(refusal, small)
    else:
        row |= _interval_by_influence(group, one.estimate - two.estimate, one.influence - two.influence, rows, plan,
                                      one.method.partition(",")[0], one.binary and two.binary)  # fmt: skip
        if ONE_CLASS in small.split("; "):
            row |= dict.fromkeys(("std_error", "conf_low", "conf_high"), math.nan)
        row["flag"] = flags(row["flag"], small)
    found = [row]
    if group.f.shape[1] == 1:
        found.append({**_apparent(group, levels, plan), "n": n, "n_labels": 0.0})
        found[-1]["flag"] = flags(found[-1]["flag"], dependent)
    if any(level.transported for level in levels):
        for level, rate in zip(levels, rates, strict=True):
            if level.transported and (level is levels[0] or not levels[0].transported):
                found = _with_transport(found, _transport(group, level, plan, rate), plan)
    return found


def _interval_by_influence(
    group: _Group, estimate: float, influence: Floats, rows: Mask, plan: _Plan, method: str, binary: bool
) -> dict[str, Any]:
    error, clusters = _error(group, influence, rows)
    few = few_clusters(int(clusters)) if group.cluster else ""
    if not error > 1e-12:
        return {"estimate": estimate, "flag": flags(few, ONE_UNIT if math.isnan(error) else NO_SPREAD)}
    half = _quantile(clusters, plan.conf_level) * error
    most = 1.0 if binary else math.inf
    cells = _kept(estimate, error, estimate - half, estimate + half, -most, most)
    method = f"{method}, influences" + _by(group, clusters)
    return {"method": method, **cells, "flag": flags(cells.get("flag", ""), few)}


def _apparent(group: _Group, levels: Sequence[_Level], plan: _Plan) -> dict[str, Any]:
    """Difference of the verdicts alone, without those that only calibrate."""
    value, influence, used = 0.0, np.zeros(len(group.n)), np.zeros(len(group.n), dtype=bool)
    for sign, level in zip((1, -1), levels, strict=True):
        rows = level.rows & ~group.labelled if plan.sampling == "by class" else level.rows
        if not rows.any():
            return {"term": "apparent_difference", "estimate": math.nan, "flag": NO_DATA}
        f = np.where(rows, group.f[:, 0], 0.0)
        mean = float(shares(group.n, rows) @ f)
        scale = math.sqrt(small_sample(rows, group.n, group.unit, 1)) if group.clusters(rows) > 1 else math.nan
        value += sign * mean
        influence += sign * np.where(rows, scale * (f - mean) / group.n[rows].sum(), 0.0)
        used |= rows
    return {"term": "apparent_difference",
            **_interval_by_influence(group, value, influence, used, plan, "t", _is_share(group, used))}  # fmt: skip


def _with_transport(found: list[dict[str, Any]], gap: dict[str, Any], plan: _Plan) -> list[dict[str, Any]]:
    """Add the difference of gaps, and its flag to the corrected number."""
    assert plan.margin is not None
    first = found[0]
    shown = "" if _shown(gap, plan.margin) else TRANSPORT_NOT_SHOWN
    return [{**first, "flag": flags(first["flag"], shown)}, *found[1:], gap]


def _plan(
    sampling: str | None,
    probability: str | None,
    strata: str | None,
    weights: Mapping[str, float] | None,
    ddof: int,
    coefficient: float | None,
    calibrated_on: CalibratedOn,
    margin: float | None,
    conf_level: float,
    panel: bool,
) -> _Plan:
    """Check the options."""
    confidence(conf_level)
    if (sampling is None) == (probability is None):
        raise DesignError(
            "State how the labelled items were drawn, because the method depends on it: sampling='random' (from the "
            "same items as the others), sampling='by class' (so many of each class of the label), or "
            "label_probability= (a column of known probabilities). "
            f"Got {'none' if sampling is None else 'two'} of them.",
            problem="needs to know how the labelled items were drawn: sampling=",
        )
    if sampling is not None:
        choose(sampling, get_args(Sampling), "sampling")
    if sampling == "by class" and (panel or strata):
        raise DesignError(
            f"{'panel=True' if panel else 'strata='} goes with labels drawn at random; sampling='by class' corrects "
            "the verdicts of one judge at a time."
        )
    if (strata is None) != (weights is None):
        raise DesignError("strata= needs weights=, the known share of each of its levels, and weights= needs strata=.")
    if sampling == "by class" and coefficient is not None:
        raise DesignError("coefficient= is that of PPI++; sampling='by class' has none.")
    if ddof not in (0, 1):
        raise DesignError(f"ddof={ddof!r} is not allowed. Allowed: 1 (the default) or 0.")
    if not (isinstance(calibrated_on, Mapping) or calibrated_on in ("own", "shared")):
        raise DesignError(
            f"calibrated_on={calibrated_on!r} is not known. Allowed: 'own', 'shared', or {{column: level}}."
        )
    if calibrated_on != "own" and (probability or panel or strata):
        raise DesignError("calibrated_on= goes with sampling=, one judge at a time and without strata.")
    if margin is not None and not margin > 0:
        raise DesignError(f"margin={margin!r} must be above 0, on the scale of the verdicts: 0.05, say.")
    return _Plan(
        sampling or "weighted", probability, strata, weights, ddof, coefficient, calibrated_on, margin, conf_level
    )


def _asked(
    measure: str,
    keys: list[str],
    apart: list[str],
    plan: _Plan,
    cluster: Cluster,
    gold: str,
    candidate: str | None,
    ties: TiesOfWins,
    average_over: By,
) -> _Asked:
    choose(ties, get_args(TiesOfWins), "ties")
    if len(clusters(cluster) or ()) > 1:
        raise DesignError(f"cluster={cluster!r} must be one column, 'auto' or False.")
    beside = [c for c in (plan.probability, plan.strata) if c is not None]
    return _Asked(measure, plan.sampling, keys, apart, beside, cluster, gold, candidate, ties, average_over)


def _check_margin(plan: _Plan, read: _Verdicts) -> None:
    if plan.margin is None and (plan.calibrated_on != "own" or read.shared):
        raise DesignError(
            "Labels of other systems correct these verdicts, which is right only if the judge errs alike on both. "
            "State in margin= which difference of the gaps between judge and people would not matter: 0.05, say."
        )


def _excluded(read: _Verdicts, named: Mapping[str, Any]) -> str:
    """Flag of the verdicts without an answer."""
    if named["judge"] != _PANEL:
        return INVALID_EXCLUDED.of(read.invalid.get(tuple(str(named[k]) for k in read.keys), 0))
    rest = tuple(str(named[k]) for k in read.keys[1:])
    without = sum(n for key, n in read.invalid.items() if key[1:] == rest)
    return EXCLUDED.of(without, what="verdicts of an incomplete panel")


def _silent(read: _Verdicts, rows: Iterable[Mapping[str, Any]], term: str = "corrected_rate") -> list[dict[str, Any]]:
    """A row without a number for each group of which no verdict is valid."""
    known = read.table[read.keys].drop_duplicates().to_dict("records") if read.invalid else []
    given = {tuple(str(row[k]) for k in read.keys) for row in rows}
    empty = {"term": term, "estimate": math.nan, "n": 0.0, "n_labels": 0.0}
    return [
        {**values, **empty, "flag": flags(NO_DATA, _excluded(read, values))}
        for values in known
        if (key := tuple(str(values[k]) for k in read.keys)) not in given and key in read.invalid
    ]
