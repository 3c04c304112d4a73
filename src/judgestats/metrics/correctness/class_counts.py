"""Classes that judges gave beside those of people, or right ones, as counts: the cells of confusion tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.counting.clustering import Cluster
from judgestats.counting.counts import Counts
from judgestats.counting.judge_answers import ABOUT, FURTHER
from judgestats.counting.raters import RATERS
from judgestats.counting.selection import gathered
from judgestats.counting.study import Study
from judgestats.counting.tallies import count
from judgestats.errors import DesignError, suggestion
from judgestats.kernels.cluster_sums import sums_within
from judgestats.metrics.references import RATERS as RATER_TYPE
from judgestats.metrics.references import Humans, References, declared_people, references, unordered_pairs
from judgestats.schema.class_labels import class_named
from judgestats.schema.classes import has_answer
from judgestats.schema.coding import yes_or_no
from judgestats.schema.columns import YES, By, answer_column, kind_of, names
from judgestats.typing import Floats, Ints, Mask

#: What stands for several people: the class that most of them gave, or each of them in turn.
People = Literal["majority", "each"]
#: So many different scores are taken as classes.
MOST_CLASSES = 50
#: Column with what another judge said of the same thing; and its label where it said nothing.
BASELINE, ALONE = "_baseline", "\0alone"
#: Classes of a verdict that is yes or no.
_YES_OR_NO = ("no", "yes")


@dataclass(frozen=True)
class ClassCounts:
    """How often each class was given where the reference is each class."""

    counts: Counts  # grouped by the `by` columns, ``judge`` and ``other``
    classes: tuple[str, ...]
    answer: Ints  # (R,): class of the verdicts of each row, -1 for none
    reference: Ints  # (R,): the right one
    without: Mapping[str, Mask]  # calls left out, by reason: rows
    baseline: Ints | None = None  # (R,): what another judge said of the same thing

    @property
    def valid(self) -> Mask:
        """Rows with both classes."""
        return (self.answer >= 0) & (self.reference >= 0)

    def chosen(self, positive: object) -> list[int]:
        """Classes that count as positive, each in turn: all of them, or the one that is named."""
        if positive is None:
            return list(range(len(self.classes)))
        word = class_named(as_class(positive), self.classes) or as_class(positive)
        if word not in self.classes and str(positive).strip().lower() in YES and "yes" in self.classes:
            word = "yes"
        if word not in self.classes:
            raise DesignError(
                f"positive={positive!r} is no class here. Allowed: {', '.join(self.classes)}."
                + suggestion(word, self.classes)
            )
        return [self.classes.index(word)]


def class_counts(
    data: IntoFrame,
    humans: Humans | None,
    gold: str | None,
    people: People,
    invalid: str,
    by: By,
    cluster: Cluster,
    conf_level: float,
) -> ClassCounts:
    """Count the classes of each judge beside the right ones, or those of people."""
    study = Study.of(data)
    if set(RATERS) <= set(study.names):
        if humans is not None or gold is not None:
            raise DesignError("A table of counts already names its reference in 'other'. Leave humans= and gold= out.")
        return _coded(count(data, "kappa", by, cluster=cluster), by, invalid, conf_level)
    counts = _beside_labels(data, humans, gold, people, by, cluster)
    return _coded(counts, by, invalid, conf_level, yes_no=_right_or_wrong(study))


def paired_counts(
    data: IntoFrame,
    baseline: str,
    humans: Humans | None,
    gold: str | None,
    invalid: str,
    by: By,
    cluster: Cluster,
    conf_level: float,
) -> ClassCounts:
    """Count the classes of the other judges beside those of one judge and the right ones."""
    study = Study.of(data)
    if set(RATERS) <= set(study.names):
        raise DesignError("baseline= pairs calls, and a table of counts does not say which are of one thing.")
    labelled, name = with_labels(data, humans, gold, by, cluster)
    paired = _beside_baseline(gathered(labelled, names(by)).reset_index(drop=True), baseline, by)
    counts = count(paired, "kappa", by, cluster=cluster, beside=BASELINE, baseline="gold")
    counts = counts if name == "gold" else _renamed(counts, name)
    return _coded(counts, by, invalid, conf_level, yes_no=_right_or_wrong(study))


def _right_or_wrong(study: Study) -> bool:
    """Whether the verdicts are right or wrong."""
    return kind_of(study.names) == "ratings" and answer_column(study.names) == "correct"


def _coded(counts: Counts, by: By, invalid: str, conf_level: float, *, yes_no: bool = False) -> ClassCounts:
    """The classes of each row as codes, in groups of judge, reference and the `by` columns."""
    counts = counts.grouped([*dict.fromkeys(names(by)), "judge", "other"]).inferred(conf_level)
    labels, codes = [], []
    for column in ("answer", "other_answer", *([BASELINE] if BASELINE in counts.columns else [])):
        factor = counts.columns[column]
        valid = has_answer(factor.labels) & (factor.labels != ALONE)
        labels.append([as_class(x, yes_no=yes_no) if v else None for x, v in zip(factor.labels, valid, strict=True)])
        codes.append(factor.code)
    used = [{one[i] for i in np.unique(code[counts.n > 0])} for one, code in zip(labels, codes, strict=True)]
    every = {x for some in used for x in some if x is not None}
    if len(every) > MOST_CLASSES:
        some = ", ".join(_sorted(every)[:4])
        raise DesignError(
            f"There are {len(every):,} different answers ({some}, ...): no classes. score_error() and roc() are for "
            "scores."
        )
    classes = tuple(_sorted(every))
    if invalid == "wrong" and None in used[0]:
        classes = (*classes, "invalid")
    place: dict[str | None, int] = {name: i for i, name in enumerate(classes)}
    place[None] = -1
    answer, reference, *other = (
        np.array([place.get(x, -1) for x in one], dtype=np.int64)[code] for one, code in zip(labels, codes, strict=True)
    )
    alone = counts.among(BASELINE, ALONE) if other else np.zeros(len(answer), dtype=bool)
    if classes[-1:] == ("invalid",) and invalid == "wrong":
        answer = np.where(answer < 0, place["invalid"], answer)
        other = [np.where((x < 0) & ~alone, place["invalid"], x) for x in other]
    none = reference < 0
    without = {"call(s) without a label": none, "invalid call(s)": (answer < 0) & ~none}
    if other:
        without["call(s) of one judge only"] = (other[0] < 0) & ~none & (answer >= 0)
    return ClassCounts(counts, classes, answer, reference, without, *other)


def as_class(label: object, *, yes_no: bool = False) -> str:
    """An answer as the name of a class: scores without a superfluous point."""
    if yes_no:
        return _YES_OR_NO[int(bool(label))]
    if isinstance(label, bool | np.bool_):
        return _YES_OR_NO[int(label)]
    if isinstance(label, float | np.floating) and float(label).is_integer():
        return str(int(label))
    return str(label)


def _sorted(classes: set[str]) -> list[str]:
    """Classes by value where all are numbers; first, second and tie in this order; else by name."""
    if classes <= {"first", "second", "tie"}:
        return [c for c in ("first", "second", "tie") if c in classes]
    try:
        return sorted(classes, key=float)
    except ValueError:
        return sorted(classes)


def _beside_labels(
    data: IntoFrame, humans: Humans | None, gold: str | None, people: People, by: By, cluster: Cluster
) -> Counts:
    """Counts of a frame of calls beside gold labels, or those of people."""
    if people == "majority" or gold is not None or (humans is None and "gold" in Study.of(data).names):
        labelled, name = with_labels(data, humans, gold, by, cluster)
        counts = count(labelled, "kappa", by, cluster=cluster, baseline="gold")
        return counts if name == "gold" else _renamed(counts, name)
    raters = _raters(data, humans, by, cluster)
    parts = []
    for person in raters.humans:
        labelled = _with_majority(raters.models, raters.people[raters.people["judge"].astype(str) == person])
        one = count(labelled, "kappa", by, cluster=cluster, baseline="gold")
        if one.clusters.column is None:  # verdicts are counted once for each person
            one = count(labelled, "kappa", by, cluster="item", baseline="gold")
        parts.append(one)
    pooled = Counts.of(pd.concat([part.table for part in parts], ignore_index=True), clusters=parts[0].clusters)
    return _renamed(pooled, f"each of {len(raters.humans)} people")


def _beside_baseline(table: pd.DataFrame, baseline: str, by: By) -> pd.DataFrame:
    """Verdicts of the other judges, with what the baseline said of the same thing."""
    judges = sorted(map(str, table["judge"].unique()))
    if baseline not in judges:
        raise DesignError(
            f"baseline={baseline!r} is no judge. Judges: {', '.join(judges)}.{suggestion(baseline, judges)}"
        )
    kind = kind_of(table.columns)
    column = "choice" if kind == "preferences" else answer_column(table.columns)
    keys = dict.fromkeys([*names(by), *ABOUT[kind], "first", "second", *FURTHER[kind]])
    shared = [key for key in keys if key in table.columns]
    own = table["judge"].astype(str) == baseline
    theirs = table.loc[own, [*shared, column]].rename(columns={column: BASELINE})
    if theirs.duplicated(shared).any():
        raise DesignError(
            f"{baseline!r} answered several times on one thing, so that calls are not paired. Number repeats in "
            "'replicate', or aggregate() them to one verdict."
        )
    paired = table[~own].merge(theirs.assign(_both=True), on=shared, how="left")
    both = paired.pop("_both").notna()
    said = paired[BASELINE].astype(object).replace({"abstain": "tie"})
    return paired.assign(**{BASELINE: said.where(said != "", None).where(both, ALONE)})


def with_labels(
    data: IntoFrame, humans: Humans | None, gold: str | None, by: By, cluster: Cluster
) -> tuple[IntoFrame, str]:
    """Verdicts of the judges with a column ``gold``, and what the reference is called."""
    study = Study.of(data)
    if humans is not None and gold is not None:
        raise DesignError("Give humans= or gold=, not both: the verdicts are compared with one reference.")
    if gold == "gold" or (gold is None and humans is None and "gold" in study.names):
        return data, "gold"
    if gold is not None:
        columns = [*names(by), *(names(cluster) if isinstance(cluster, str) and cluster != "auto" else ()), gold]
        table = gathered(data, [c for c in columns if c in study.names])
        if gold in table.columns and kind_of(table.columns) == "ratings":
            return table.assign(gold=table[gold]), gold
        return references(table, (), gold).models, gold
    raters = _raters(data, humans, by, cluster)
    several = len(raters.humans) > 1
    name = f"majority of {len(raters.humans)} people" if several else raters.humans[0]
    return _with_majority(raters.models, raters.people), name


def _raters(data: IntoFrame, humans: Humans | None, by: By, cluster: Cluster) -> References:
    """Judges and people."""
    columns = [*names(by), *(humans if isinstance(humans, Mapping) else ())]
    columns += names(cluster) if isinstance(cluster, str) and cluster != "auto" else []
    table = gathered(data, [*columns, RATER_TYPE])
    if humans is None and declared_people(table) is None:
        raise DesignError(
            "Nothing says what is right. Name the people in humans=, or a column, judge or candidate in gold=.",
            advice=(("humans", None),),
        )
    raters = references(table, humans)
    if not raters.humans:
        raise DesignError("humans= names nobody. Name the judges that are people.", advice=(("humans", None),))
    return raters


def _renamed(counts: Counts, name: str) -> Counts:
    """Counts whose reference has this name."""
    return Counts.of(counts.table.assign(other=name), clusters=counts.clusters)


def _with_majority(models: pd.DataFrame, people: pd.DataFrame) -> pd.DataFrame:
    """Verdicts of the judges with ``gold``, what most people say of the same thing; none where votes are even."""
    kind = kind_of(models.columns)
    if kind == "preferences":
        keys, votes = ["item", "_low", "_high"], _votes(people)
        ours = models.assign(**unordered_pairs(models))
    else:
        keys = [c for c in ABOUT[kind] if c in models.columns and c in people.columns]
        column = answer_column(people.columns)
        votes, ours = people[keys].assign(gold=people[column].astype(object)), models
        votes = votes[people[column].notna().to_numpy()]
        if column == "correct":
            votes["gold"] = yes_or_no(votes["gold"]).astype(object)
    majority = _modes(votes, keys)
    text = [f"_key_{i}" for i in range(len(keys))]
    left = ours.assign(**{t: ours[k].astype(str) for t, k in zip(text, keys, strict=True)})
    right = majority.assign(**{t: majority[k].astype(str) for t, k in zip(text, keys, strict=True)})
    merged = left.drop(columns="gold", errors="ignore").merge(right[[*text, "gold"]], on=text, how="left")
    merged["gold"] = merged["gold"].astype(object).where(merged["gold"].notna(), None)
    if kind == "ratings" and answer_column(models.columns) != "answer":
        merged["gold"] = pd.to_numeric(merged["gold"])
    return merged.drop(columns=[*text, *(c for c in ("_low", "_high") if c in merged)])


def _modes(votes: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """The most frequent ``gold`` of each key; keys with several such are left out."""
    times = votes.groupby([*keys, "gold"], dropna=False, sort=False, observed=True).size().rename("_n").reset_index()
    most = times.groupby(list(keys), dropna=False, observed=True)["_n"].transform("max")
    top = times[times["_n"] == most]
    return top[~top.duplicated(list(keys), keep=False)]


def _votes(people: pd.DataFrame) -> pd.DataFrame:
    """What people prefer in each pair: a candidate, or a tie."""
    choice = people["choice"].astype(object)
    winner = np.select(
        [choice == "first", choice == "second", choice.isin(["tie", "abstain"])],
        [people["first"].astype(str), people["second"].astype(str), "tie"],
        default="",
    )
    votes = unordered_pairs(people).assign(gold=winner)
    return votes[votes["gold"] != ""]


def lost(counts: ClassCounts, rows: Ints) -> list[str]:
    """Flags that count calls left out among some rows."""
    n = counts.counts.n[rows]
    return [flags.EXCLUDED.of(n[mask[rows]].sum(), what=what) for what, mask in counts.without.items()]


#: Sums over the clusters of a group, how many clusters each stands for, and their column; calls without one.
Units = tuple[Floats, Floats, str]


def units_of(group: Counts, cells: Floats) -> Units:
    """Sums of cells (R, P) of the patterns of a group."""
    column = group.clusters.column
    n = group.n
    if column is None:
        there = n > 0
        return cells[there] / n[there, None], n[there], ""
    unit = group.columns.codes([column])
    alike = np.ones(unit.size) if group.alike is None else group.alike[unit.first]
    sums = sums_within(cells, unit.code, unit.size) / alike[:, None]
    there = sums.sum(axis=1) > 0
    return sums[there], alike[there], column
