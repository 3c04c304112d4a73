"""Verdicts with labels beside some of them, from a frame, a tally or printed shares, in groups by judge."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, get_args

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.counting.clustering import CANDIDATES, Cluster, cluster_codes, clusters
from judgestats.counting.clusters import Clusters
from judgestats.counting.patterns import PATTERNS
from judgestats.counting.selection import gathered
from judgestats.counting.splitting import as_runs, eager_splits, refuse_splits
from judgestats.counting.study import Calls, Study
from judgestats.counting.tallies import clustered, count, is_tally
from judgestats.errors import DesignError, SchemaError, choose, suggestion
from judgestats.kernels.cluster_sums import effective_clusters, n_clusters
from judgestats.metrics.references import with_gold
from judgestats.results import frame_of
from judgestats.schema.class_labels import class_named
from judgestats.schema.classes import is_answer
from judgestats.schema.coding import as_scores, as_text, codes_of, column_codes, combine, numbers_of
from judgestats.schema.coding import candidates as candidate_codes
from judgestats.schema.columns import COUNTS, By, Kind, answer_column, grouping, kind_of
from judgestats.schema.factors import Factors
from judgestats.typing import Floats, Integers, Mask

#: How a tie counts for a candidate: as no win, or as half of one.
TiesOfWins = Literal["exact", "half"]
#: The judge of a result that all judges give together.
PANEL = "panel"
#: Columns added to a table: the verdict and the label as numbers, the units of a row, whether it only calibrates.
VERDICT, LABEL, UNITS, CALIBRATES = "_verdict", "_label", "_units", "_calibration"
#: Number of what is judged, where the table says so.
RATED = "_rated"
_WORDS = {"yes": 1.0, "no": 0.0}
#: Columns of a table of printed shares: of positive verdicts, specificity, sensitivity, and their denominators.
_PRINTED = ("p", "q0", "q1", "n", "m0", "m1")


@dataclass(frozen=True)
class LabelReading:
    """Arguments that say what is read, as those of :func:`corrected_rate`."""

    measure: str
    keys: list[str]  # columns of one rate
    apart: list[str]  # those of one estimate
    sampling: str | None
    cluster: Cluster
    gold: str
    candidate: str | None
    ties: TiesOfWins
    average_over: By = ()
    beside: tuple[str, ...] = ()  # further columns that the estimate needs
    positive: object = None  # the class whose rate is asked

    def __post_init__(self) -> None:
        choose(self.ties, get_args(TiesOfWins), "ties")
        if len(clusters(self.cluster) or ()) > 1:
            raise DesignError(f"cluster={self.cluster!r} must be one column, 'auto' or False.")


@dataclass(frozen=True)
class LabelledSample:
    """Verdicts with the labels beside them."""

    table: pd.DataFrame  # `keys`, clusters, verdict, label (NaN: none), units, whether a row is one of separate labels
    keys: list[str]
    shared: tuple[str, ...]  # `keys` that a separate table of labels lacks, so that its labels are everybody's
    invalid: Mapping[tuple[str, ...], float]  # verdicts without an answer, by `keys`
    cluster: str | None
    dependent: str


@dataclass(frozen=True)
class LabelledGroup:
    """Rows of one judge, or of the judges of a panel."""

    columns: Factors  # what the rows are grouped by, and what else stands beside them
    judges: tuple[str, ...]  # whose verdicts the columns of `f` are
    f: Floats  # (N, k): numbers of the verdicts
    y: Floats  # labels
    n: Floats
    unit: Integers | None
    cluster: str | None

    @property
    def labelled(self) -> Mask:
        """Which rows have a label."""
        return ~np.isnan(self.y)

    def size(self, rows: Mask) -> float:
        """Units of some rows."""
        return float(self.n[rows].sum())

    @cached_property
    def rated(self) -> Integers | None:
        """Number of what each row is a verdict on; None where nothing says so."""
        return self.columns[RATED].code if RATED in self.columns else None

    def items(self, rows: Mask) -> float:
        """How many things some rows are about: repeats of a verdict are about one."""
        rows = rows & (self.n > 0)
        return self.size(rows) if self.rated is None else float(np.unique(self.rated[rows]).size)

    def worth(self, rows: Mask, weights: Floats | None = None) -> float:
        """How many labels, or clusters of them, of equal weight some rows are worth; without weights how many items."""
        if weights is None:
            return self.items(rows)
        rows, unit = rows & (self.n > 0), self.rated if self.unit is None else self.unit
        if unit is None:
            return effective_clusters(weights[rows] / self.n[rows], self.n[rows])
        return effective_clusters(np.bincount(unit[rows], weights[rows]).astype(np.float64))

    def clusters(self, rows: Mask) -> float:
        """Clusters of some rows, or units where they are not clustered."""
        return n_clusters(rows, self.n, self.unit)


def read_sample(data: Calls, calibration: IntoFrame | None, reading: LabelReading) -> LabelledSample:
    """Read verdicts, and the labels of a separate table if there is one."""
    if set(_PRINTED) <= set(Study.of(data).names):
        return _printed(data, calibration, reading)
    sides: list[Calls] = [data]
    if calibration is not None:
        sides = [*Study.of(data).in_one_way(Study.of(calibration))]
    parts: list[pd.DataFrame] = []
    own: Clusters | None
    tallied: list[Clusters | None] = []
    shared: tuple[str, ...] = ()
    for calibrates, part in enumerate(sides):
        part_reading, present = reading, Study.of(part).names
        if calibrates:
            shared = tuple(k for k in reading.keys if k != "judge" and k not in present)
            measure = reading.measure
            if "system" in shared and "system" in PATTERNS[measure].columns:
                measure = "corrected_rate"
            part_reading = replace(reading, measure=measure, keys=[k for k in reading.keys if k not in shared])
        of_counts = is_tally(present, PATTERNS[part_reading.measure])
        if of_counts:
            table, own = _tallied(part, part_reading)
        else:
            elsewhere = not calibrates and calibration is not None
            table, own = _verdict_table(part, part_reading, elsewhere), None
        table[CALIBRATES] = bool(calibrates)
        parts.append(table)
        tallied.append(own)
    if calibration is not None:
        _check_calibration(parts[0], parts[1])
    by = tallied[0] or Clusters()
    table = parts[0] if calibration is None else pd.concat(parts, ignore_index=True)
    if not any(tallied):
        study, by = clustered(Study.rows_of(data, table), reading.apart, reading.cluster)
        table = study.data.to_native()
    elif tallied[-1] and set(n := tallied[-1].columns) - {*table}:
        raise DesignError(f"The verdicts lack {', '.join(n)}, by which the labels are clustered. Give it, or False.")
    rated = _rated(table, reading)
    table[UNITS] = table[COUNTS].astype(float)
    if not any(tallied) and rated is not None:
        table[RATED] = rated
    return LabelledSample(table, reading.keys, shared, _invalid_counts(table, reading.keys), by.column, by.flag)


def _invalid_counts(table: pd.DataFrame, keys: list[str]) -> dict[tuple[str, ...], float]:
    """Number of verdicts without an answer, by the labels of `keys`."""
    missing = np.flatnonzero(table[VERDICT].isna())
    numbers: dict[tuple[str, ...], float] = {}
    for *labels, n in zip(*(table[c].array[missing] for c in (*keys, UNITS)), strict=True):
        key = tuple(map(str, labels))
        numbers[key] = numbers.get(key, 0.0) + n
    return numbers


def _printed(data: Calls, calibration: IntoFrame | None, reading: LabelReading) -> LabelledSample:
    """Printed shares and the sizes of their samples, as counts of verdicts and labels."""
    printed = Study.of(data).data.lazy().collect(backend="pandas").to_native()
    if calibration is not None or reading.sampling != "by class":
        raise DesignError(
            f"Printed shares ({', '.join(_PRINTED)}) are corrected with sampling='by class' and without calibration=: "
            "specificity q0 and sensitivity q1 are in them."
        )
    lacking = [k for k in reading.keys if k not in printed.columns]
    if lacking:
        raise DesignError(f"A row of printed shares of a system needs {', '.join(map(repr, lacking))} beside them.")
    for name in _PRINTED:
        value, size = numbers_of(printed[name]), name in ("n", "m0", "m1")
        wrong = ~((value >= 0) & ((value <= 1) | size))
        if wrong.any():
            kind = "a number of verdicts or labels" if size else "a share between 0 and 1"
            raise DesignError(
                f"{name!r} is {value[wrong.argmax()]:g} in {int(wrong.sum()):,} rows, and must be {kind}."
            )
    parts = []
    for share, number, label, hit in (("p", "n", math.nan, 1.0), ("q0", "m0", 0.0, 0.0), ("q1", "m1", 1.0, 1.0)):
        for verdict, part in ((hit, printed[share]), (1 - hit, 1 - printed[share])):
            cells = {VERDICT: verdict, LABEL: label, UNITS: (part * printed[number]).astype(float), CALIBRATES: False}
            parts.append(printed[reading.keys].assign(**cells))
    table = pd.concat(parts, ignore_index=True)
    return LabelledSample(
        table, reading.keys, (), {}, None, flags.CLUSTERING_UNKNOWN if reading.cluster == "auto" else ""
    )


def _tallied(data: Calls, reading: LabelReading) -> tuple[pd.DataFrame, Clusters]:
    """A tally of verdicts and labels, and how it is clustered."""
    if reading.candidate is not None:
        raise DesignError("candidate= is about preferences, and this is a table of counts of yes and no.")
    by = [k for k in reading.keys if k not in PATTERNS[reading.measure].columns]
    counts = count(data, reading.measure, by, cluster=reading.cluster, beside=reading.beside)
    table = counts.table.rename(columns={"n": COUNTS})
    numbers = {VERDICT: table["verdict"].map(_WORDS).astype(float), LABEL: table["label"].map(_WORDS)}
    return table.assign(**numbers), counts.clusters


def _verdict_table(data: Calls, reading: LabelReading, elsewhere: bool = False) -> pd.DataFrame:
    """Verdicts of a frame as numbers, with their labels; `elsewhere`: whether a separate table has the labels."""
    keys = [*reading.keys, *reading.beside]
    columns = clusters(reading.cluster) or ()
    table = gathered(as_runs(data, reading.average_over, reading.keys), [*keys, *columns, reading.gold])
    if elsewhere and reading.gold not in {*table.columns, *table["judge"].astype(str)}:
        table = table.assign(gold=None)
    elif reading.gold == "gold" and "gold" not in table.columns:
        raise DesignError(
            f"{reading.measure} needs labels of people beside some of the verdicts, and there is no column 'gold'. "
            "Join them with join_labels(), or name the column, or the person, in gold=.",
            problem="needs a column 'gold'",
        )
    else:
        table = with_gold(table, reading.gold)
    grouping(keys, list(table.columns))
    new: dict[str, Floats] = {}
    if kind_of(list(table.columns)) == "preferences":
        table = _wins(table, reading)
    else:
        if reading.candidate is not None:
            raise DesignError("candidate= is about preferences, and these are ratings.")
        _refuse_mixtures(table, reading)
        table = _of_class(table, reading.positive)
        units = _row_units(table, [*keys, *columns], "ratings")
        table = as_scores(nw.from_native(table, eager_only=True)).to_native()
        gold = table["gold"]
        gold = gold.where(gold.astype("string") != "") if gold.dtype == object else gold
        verdict = numbers_of(table[answer_column(table.columns)])
        new = {VERDICT: verdict, LABEL: numbers_of(gold), COUNTS: units}
    used = [*keys, *columns, *CANDIDATES, "system", "criterion", "first", "second", VERDICT, LABEL, COUNTS]
    own = {c: table[c].array for c in used if c in table.columns and c not in new}
    return frame_of(own | new, len(table))


def _of_class(table: pd.DataFrame, positive: object) -> pd.DataFrame:
    """Ratings that are classes as scores: 1 for one of these, 0 for the others; other ratings as they are."""
    if answer_column(table.columns) != "answer":
        if positive is not None:
            raise DesignError("positive= is about verdicts that are classes, and these are not. Leave it out.")
        return table
    table = Study.of(table).data.to_native()  # gold may have come from another column
    classes = sorted({str(label) for label in table["answer"][is_answer(table["answer"])].unique()})
    counted = None if positive is None else class_named(positive, classes)
    if counted is None:
        raise DesignError(
            f"A rate of classes is the share of one of them, and positive={positive!r}. Allowed: "
            f"{', '.join(classes[:8])}.{suggestion(str(positive), classes)}",
            problem="needs to know which class is counted: positive=",
        )
    shares = {}
    for name, column in (("score", "answer"), ("gold", "gold")):
        label = table[column].astype("string").where(is_answer(table[column]))
        shares[name] = (label == counted).astype("Float64").to_numpy(dtype=float, na_value=np.nan)
    return table.drop(columns="answer").assign(**shares)


def _row_units(table: pd.DataFrame, keys: list[str], kind: Kind) -> Floats:
    """How many calls each row stands for."""
    study = Study.of(table)
    study.refuse_undeclared(keys, kind)
    return study.counts


def _wins(table: pd.DataFrame, reading: LabelReading) -> pd.DataFrame:
    """Preferences as wins of one candidate: 1, 0, and a tie as 0 or a half."""
    candidate = reading.candidate
    candidates = sorted(set(table["first"].astype(str)) | set(table["second"].astype(str)))
    if candidate is None:
        listed = ", ".join(candidates[:8])
        raise DesignError(
            f"A rate of preferences is the share of wins of one candidate. Name it in candidate=: {listed}.",
            problem="needs to know whose wins are counted: candidate=",
        )
    if candidate not in candidates:
        raise DesignError(
            f"candidate={candidate!r} does not occur. Candidates: {', '.join(candidates[:8])}."
            + suggestion(candidate, candidates)
        )
    units = _row_units(table, [*reading.keys, *reading.beside], "preferences")
    first, second = (table[c].astype(str).to_numpy() == candidate for c in ("first", "second"))
    tie = 0.5 if reading.ties == "half" else 0.0
    choice = table["choice"].astype(object)
    won = choice.map({"first": 0.0, "second": 0.0, "tie": tie, "abstain": tie}).to_numpy(dtype=float, copy=True)
    won[(choice == np.where(first, "first", "second")).to_numpy(dtype=bool)] = 1.0
    label = table["gold"].astype("string").replace("", pd.NA)
    right = label.astype(object).map({"tie": tie, candidate: 1.0}).astype(float).fillna(0.0).where(label.notna())
    table = table.assign(**{VERDICT: won, LABEL: right.to_numpy(dtype=float), COUNTS: units})
    return table[first ^ second]


def _refuse_mixtures(table: pd.DataFrame, reading: LabelReading) -> None:
    """Raise where verdicts on several criteria, or under several conditions, would be mixed."""
    if "criterion" in table.columns and "criterion" not in reading.keys and table["criterion"].nunique() > 1:
        criteria = ", ".join(sorted(table["criterion"].astype(str).unique())[:5])
        raise DesignError(f"There are several criteria ({criteria}). Name by='criterion', or keep the rows of one.")
    keys = dict.fromkeys(["judge", "system", "item", "criterion", *reading.keys, *reading.beside])
    present = [c for c in keys if c in table]
    unit = codes_of(table, present)
    if unit.size < len(table):
        refuse_splits(eager_splits(nw.from_native(table, eager_only=True), unit.code, unit.size, present), present)


def _check_calibration(verdicts: pd.DataFrame, labels: pd.DataFrame) -> None:
    """Raise where a separate table of labels has none, or the verdicts have labels too."""
    if not labels[LABEL].notna().any():
        raise DesignError("calibration= holds verdicts with labels, and no row of it has a label.")
    if verdicts[LABEL].notna().any():
        raise DesignError(
            "The verdicts have labels, and so has calibration=. Give the labels in one place: labelled verdicts in "
            "calibration=, the others without labels; or all of them in one table, without calibration=."
        )


def _rated(table: pd.DataFrame, reading: LabelReading) -> Integers | None:
    """Number of what each row is a verdict on; an error where one is labelled and not: a repeat, or a copy."""
    if "item" not in table.columns:
        return None
    keys = [c for c in dict.fromkeys(["judge", *reading.keys, "system", "item", "criterion"]) if c in table]
    parts = [column_codes(as_text(table[c])) for c in keys]
    unit = combine(parts + list(candidate_codes(table)[:2] if {"first", "second"} <= {*table} else ()), len(table))
    has_label = table[LABEL].notna().to_numpy()
    both = np.logical_and(*(np.bincount(unit.code[rows], minlength=unit.size) > 0 for rows in (has_label, ~has_label)))
    if both.any():
        one = table.iloc[int(unit.first[both.argmax()])]
        raise DesignError(
            f"{int(both.sum()):,} items are among the labelled and among the other verdicts (first: item "
            f"{one['item']!r} of judge {one['judge']!r}). With sampling='by class' the labelled items must be other "
            "items than those whose rate is asked: leave them out of the verdicts. With a random sample an item stands "
            "once: give every repeat of it the label, or leave the copy without the label out."
        )
    return unit.code


def groups(sample: LabelledSample, panel: bool = False) -> Iterator[tuple[object, LabelledGroup]]:
    """Rows of each judge; or of all, with a column of verdicts for each."""
    if panel:
        table, judges = _panelled(sample)
    else:
        answered = sample.table[VERDICT].notna()
        table, judges = sample.table if answered.all() else sample.table[answered], [""]
    verdicts = [f"{VERDICT}{i}" for i in range(len(judges))] if panel else [VERDICT]
    judge_names = (table if panel else sample.table)["judge"].to_numpy(dtype=object)
    place = {name: i for i, name in enumerate(sorted(set(judge_names), key=str))}
    if not place:
        return
    code = np.array([place[name] for name in table["judge"].to_numpy(dtype=object)], dtype=np.intp)
    rows_of = np.split(np.argsort(code, kind="stable"), np.cumsum(np.bincount(code, minlength=len(place)))[:-1])
    unit = cluster_codes(table, sample.cluster) if sample.cluster else None
    y, n, *columns_of_judges = (table[c].to_numpy(dtype=float) for c in (LABEL, UNITS, *verdicts))
    f = np.column_stack(columns_of_judges)
    columns = Factors(table)
    for name, rows in zip(place, rows_of, strict=True):
        own = None if unit is None else np.unique(unit[rows], return_inverse=True)[1]
        yield name, LabelledGroup(columns.take(rows), tuple(judges), f[rows], y[rows], n[rows], own, sample.cluster)


def _panelled(sample: LabelledSample) -> tuple[pd.DataFrame, list[str]]:
    """One row for each rated item that all judges answered, with a column for each judge; and the judges."""
    table = sample.table
    about = [c for c in dict.fromkeys([*sample.keys, "system", "item", "criterion", "first", "second"]) if c in table]
    about = [c for c in about if c != "judge"]
    if "item" not in about:
        raise DesignError("panel=True matches the verdicts of several judges by 'item', and counts have none.")
    judges = sorted(table["judge"].astype(str).unique())
    code = codes_of(table, about)
    place = table["judge"].astype(str).map({j: i for i, j in enumerate(judges)}).to_numpy()
    if codes_of(table.assign(_code=code.code), ["_code", "judge"]).size < len(table):
        raise DesignError("panel=True needs one verdict of each judge on an item. Average repeats first: aggregate().")
    f = np.full((code.size, len(judges)), np.nan)
    f[code.code, place] = table[VERDICT].to_numpy(float)
    labels = pd.Series(table[LABEL].to_numpy(float)).groupby(code.code).agg(["min", "max"])
    if (labels["min"] < labels["max"]).any():
        raise SchemaError("An item has several labels. Give it one: the same for all judges.")
    panel = table.iloc[code.first].reset_index(drop=True).assign(judge=PANEL, **{LABEL: labels["max"].to_numpy(float)})
    panel = panel.assign(**{f"{VERDICT}{i}": f[:, i] for i in range(len(judges))})
    return panel[~np.isnan(f).any(axis=1)].reset_index(drop=True), judges
