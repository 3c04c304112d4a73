"""Ratings as a panel of judges: deviations of units and their means per judge x system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.counting.cells import ABOUT, CellTable, cell_table
from judgestats.counting.study import Study
from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.deviation import consensus, weighted_means
from judgestats.kernels.proportions import quotient
from judgestats.schema.coding import compact, joint
from judgestats.schema.columns import By, names
from judgestats.schema.findings import Finding, as_frame
from judgestats.typing import Floats

# ---- Which judge is which system: itself, or its family --------------------------------------------------------------


def identities(
    systems_of_groups: Sequence[Sequence[str]],
    judges: Sequence[str],
    identity: Mapping[str, str] | None = None,
    family: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Judge name of each system, after validation of `identity` (system -> judge) and `family` (name -> family)."""
    systems = list(dict.fromkeys(s for group in systems_of_groups for s in group))
    mapped = {s: s if identity is None else identity.get(s, s) for s in systems}
    listed = f"Systems: {', '.join(map(str, systems))}. Judges: {', '.join(map(str, judges))}."
    given = identity or {}
    findings = [_fault(f"{s!r} is not a system", s, listed) for s in given if s not in systems]
    findings += [
        _fault(f"{s!r} is mapped to {j!r}, which is not a judge", s, listed)
        for s, j in given.items()
        if j not in judges
    ]
    findings += _shared(systems_of_groups, judges, mapped)
    if family is not None:
        lacking = [n for n in dict.fromkeys([*judges, *systems]) if n not in family and mapped.get(n) not in family]
        remedy = "Every judge and every system needs one in family=."
        findings += [_fault(f"{n!r} has no family", n, remedy) for n in lacking]
    if findings:
        what = "; ".join(f.what for f in findings)
        remedy = " ".join(dict.fromkeys(f.remedy for f in findings))
        count = f"{len(findings)} fault{'s' * (len(findings) != 1)}"
        advice = (("identity", None),)
        raise SchemaError(
            f"{count} in identity= or family=: {what}. {remedy}", faults=as_frame(findings), advice=advice
        )
    return mapped


def own_pairs(
    judge: Sequence[str], system: Sequence[str], mapped: Mapping[str, str], family: Mapping[str, str] | None = None
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Whether the system of each pair is the judge itself, or of its family."""
    known = [mapped[s] for s in system]
    if family is None:
        return np.fromiter((j == k for j, k in zip(judge, known, strict=True)), dtype=bool, count=len(known))
    of_system = [family[s] if s in family else family[k] for s, k in zip(system, known, strict=True)]
    return np.fromiter((family[j] == f for j, f in zip(judge, of_system, strict=True)), dtype=bool, count=len(known))


def _fault(what: str, example: str, remedy: str) -> Finding:
    return Finding("fault", "system", what, (), str(example), remedy)


def _shared(groups: Sequence[Sequence[str]], judges: Sequence[str], mapped: Mapping[str, str]) -> list[Finding]:
    """Faults of systems of a group that are the same judge."""
    found: dict[str, Finding] = {}
    for systems in groups:
        names = pd.Series({s: mapped[s] for s in systems}, dtype=object)
        for judge in names[names.duplicated()].unique():
            if judge in judges:
                same = ", ".join(repr(s) for s in names.index[names == judge])
                what = f"{same} are all mapped to {judge!r}"
                found[what] = _fault(what, judge, "identity= is one-to-one; use family= for related systems.")
    return list(found.values())


# ---- References other than the peers: a panel of people, other judges, a table of means ------------------------------


@dataclass(frozen=True)
class Reference:
    """Reference means of cells."""

    used: bool  # False if judges are compared with their peers
    row: NDArray[np.int64]  # (C,): row of the reference for each cell, -1 for none
    mean: Floats  # (R,)
    variance: Floats  # (R,): of that mean (NaN where unknown)
    df: Floats  # (R,): degrees of freedom of the variance
    shared: bool = False  # whether several items have the same row

    @property
    def of_cell(self) -> Floats:
        """Reference mean of each cell, NaN for none."""
        return np.append(self.mean, np.nan)[self.row]

    @property
    def known(self) -> bool:
        """Whether all variances are known."""
        return bool(self.mean.size) and not bool(np.isnan(self.variance).any())


def no_reference(n_cells: int) -> Reference:
    """The unused reference, for comparison with peers."""
    return Reference(False, np.full(n_cells, -1), np.zeros(0), np.zeros(0), np.zeros(0))


def against(frame: Any, per_criterion: bool, final: str | None, identity: Mapping[str, str] | None) -> Any:
    """A function that matches a reference frame, of a panel or of means, to a CellTable and its `by` columns."""
    return lambda table, by: _matched(table, _means(frame, by, per_criterion, final), identity or {})


def _means(frame: Any, by: Sequence[str], per_criterion: bool, final: str | None) -> pd.DataFrame:
    """Key columns of the reference, ``mean``, ``variance`` and its ``df``."""
    present = Study.of(frame).names
    split = [c for c in by if c in present and c not in ABOUT]
    judge = "judge" if "judge" in present else None
    table = cell_table(frame, split, judge=judge)
    if not per_criterion and final is not None and final in table.labels["criterion"]:
        table = table.where(np.asarray(table.label("criterion") == final))
    keys = [*split, *(k for k in ABOUT if k in present)]
    runs = np.asarray(table.runs, dtype=float)
    noise = quotient(table.sd**2, runs, runs > 1)
    scored = ~np.isnan(table.mean)
    cell = table.cell[scored]
    raters = np.bincount(cell, minlength=table.n_cells)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.bincount(cell, weights=table.mean[scored], minlength=table.n_cells) / raters
        squares = np.bincount(cell, weights=(table.mean[scored] - mean[cell]) ** 2, minlength=table.n_cells)
        between = squares / (raters - 1) / raters
    run_noise, run_df = (np.bincount(cell, weights=x[scored], minlength=table.n_cells) for x in (noise, runs - 1))
    result = pd.DataFrame({k: table.label(k) for k in keys})
    result["mean"], result["variance"] = mean, np.where(raters > 1, between, run_noise)
    result["df"] = np.where(raters > 1, raters - 1, run_df)
    return result[raters > 0]


def _matched(table: CellTable, means: pd.DataFrame, identity: Mapping[str, str]) -> Reference:
    """The reference mean of each cell; a system has its own name in the reference, else that of its identity."""
    place = pd.DataFrame({k: table.label(k) for k in table.keys if k in means.columns})
    place = place.astype(object).astype("str")
    if "system" in place:
        known = set(means["system"].astype(str))
        place["system"] = place["system"].map(lambda s: s if s in known else str(identity.get(s, s)))
    keys = [k for k in means.columns if k not in ("mean", "variance", "df")]
    if "criterion" in keys:  # a single criterion under another name stands for the whole
        theirs = set(means["criterion"].astype(str))
        ours = {str(c) for c in np.unique(np.asarray(table.label("criterion"), dtype=object))}
        if len(theirs) == 1 and not theirs & ours:
            keys.remove("criterion")
    lookup = means[keys].astype(object).astype("str").assign(_row=np.arange(len(means)))
    merged = place[keys].merge(lookup, on=keys, how="left")
    row = merged["_row"].fillna(-1).to_numpy(dtype=np.int64)
    if not len(means) or (row < 0).all():
        listed = ", ".join(f"{k} {sorted(set(lookup[k]))[:5]} against {sorted(set(place[k]))[:5]}" for k in keys)
        raise DesignError(f"The reference has no mean for any rating. Matched on {', '.join(keys)}: {listed}.")
    shared = "item" not in keys and len(table.labels["item"]) > 1
    mean, variance, df = (means[c].to_numpy() for c in ("mean", "variance", "df"))
    return Reference(True, row, mean, variance, df, shared)


# ---- Ratings as a panel of judges ------------------------------------------------------------------------------------

Ints = NDArray[np.int32]


@dataclass(frozen=True)
class Panel:
    """Units (a judge in a cell) with their deviations, and pairs (judge x system in a group) of units."""

    table: CellTable  # means of the units
    by: list[str]  # columns of the groups
    cluster: str | None  # column of the clusters; None for uncertainty from the runs alone
    exclude_self: bool  # whether a judge is excluded from its own consensus
    reference: Reference  # reference means in place of the peers'
    deviation: Floats  # (U,)
    present: NDArray[np.int64]  # (C,): number of judges with a score in each cell
    share: Floats  # (U,): one over the number of criteria of the unit's item; empty for a single criterion
    pair: Ints  # (U,): pair of each unit
    pair_group: Ints  # (P,), as the next two
    pair_judge: Ints
    pair_system: Ints
    group_cell: Ints  # (C,): group of each cell
    group_first: NDArray[np.int64]  # (G,): a cell of each group
    estimate: Floats  # (P,): mean deviation over items
    items: Floats  # (P,): their number

    @property
    def n_pairs(self) -> int:
        """Number of judge x system pairs, over all groups."""
        return int(self.estimate.size)

    @cached_property
    def shares_cluster(self) -> bool:
        """Whether all of several items are of one cluster, so that there is no interval: not from the runs either."""
        sizes = {name: len(self.table.labels[name]) for name in ("item", self.cluster or "item")}
        return sizes["item"] > 1 and sizes[self.cluster or "item"] == 1

    @cached_property
    def worth(self) -> Floats:
        """How many clusters of equal size those of each pair are worth, (P,)."""
        used = ~np.isnan(self.deviation)
        cluster = self.table.keys[self.cluster or "item"][self.table.cell[used]].astype(np.int64)
        _, at, sizes = np.unique((self.pair[used], cluster), axis=1, return_index=True, return_counts=True)
        pair = self.pair[used][at]
        total, squares = (np.bincount(pair, x, self.n_pairs) for x in (sizes, sizes.astype(float) ** 2))
        return np.divide(total**2, squares, out=np.zeros(self.n_pairs), where=squares > 0)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.group_first.size)

    @property
    def judges(self) -> Any:
        """Labels of the judges."""
        return self.table.labels["judge"]

    @property
    def systems(self) -> Any:
        """Labels of the systems."""
        return self.table.labels["system"]

    def group_labels(self, group: int) -> dict[str, Any]:
        """Labels of a group."""
        first = self.group_first[group]
        return {k: self.table.labels[k][self.table.keys[k][first]] for k in self.by}

    @property
    def unit_share(self) -> Floats:
        """Weight of each unit in its item."""
        return self.share if self.share.size else np.ones(self.pair.size)


def prepare(
    ratings: Any, by: By, *, per_criterion: bool, final: str | None, cluster: str | None = "item"
) -> tuple[CellTable, list[str]]:
    """Cells of ratings, and the columns that split the result.

    `per_criterion`: False selects the criterion named `final` if it exists, else all criteria; True adds ``criterion``
    to the `by` columns, and excludes `final` where there are others.
    """
    if cluster == "judge":
        raise DesignError(
            "cluster='judge' is not allowed, because each estimate is of one judge. Name a column that groups items."
        )
    by = [c for c in dict.fromkeys(names(by)) if c not in ("judge", "system")]  # they always split the result
    extra = [] if cluster in (None, "item", "system", *by) else [str(cluster)]
    table = cell_table(ratings, [*by, *extra])
    if extra:
        keys = [*by, "system", "item", "criterion"]
        code, size = joint([(table.keys[k], len(table.labels[k])) for k in keys], table.n_cells)
        if compact(code, size)[1].size < table.n_cells:
            raise DesignError(
                f"cluster={cluster!r} differs within an item, so that items are not nested in clusters. Name a column "
                "with one value per item (a domain, a prompt), or pass it in by=."
            )
    criteria = table.labels["criterion"]
    if final is not None and final in criteria:
        is_final = np.asarray(criteria == final, dtype=bool)[table.keys["criterion"]]
        if not per_criterion:
            table = table.where(is_final)
        elif not is_final.all():
            table = table.where(~is_final)
    return table, [*by, "criterion"] if per_criterion and "criterion" not in by else by


def panel(
    ratings: Any,
    by: By,
    *,
    per_criterion: bool,
    final: str | None,
    cluster: str | None,
    exclude_self: bool = True,
    reference: Any = None,
) -> Panel:
    """Panel of all deviations from the consensus, or from what `reference` makes of the table and the `by` columns."""
    table, groups = prepare(ratings, by, per_criterion=per_criterion, final=final, cluster=cluster)
    source = no_reference(table.n_cells) if reference is None else reference(table, groups)
    peers = consensus(table.cell, table.mean, table.n_cells, exclude_self=exclude_self)
    deviation = table.mean - source.of_cell[table.cell] if source.used else peers.deviation
    group_code, group_size = joint([(table.keys[k], len(table.labels[k])) for k in groups], table.n_cells)
    group_cell, codes = compact(group_code, group_size)
    group_first = np.full(codes.size, table.n_cells, dtype=np.int64)
    np.minimum.at(group_first, group_cell, np.arange(table.n_cells))
    pair, pair_group, pair_judge, pair_system = _pairs(table, group_cell, codes.size)
    share = _shares(table, pair, deviation, groups)
    estimate, items = weighted_means(pair, deviation, share, pair_group.size)
    return Panel(
        table,
        groups,
        cluster,
        exclude_self,
        source,
        deviation,
        peers.present,
        share,
        pair,
        pair_group,
        pair_judge,
        pair_system,
        group_cell,
        group_first,
        estimate,
        np.round(items) if share.size else items,
    )


def _pairs(table: CellTable, group_cell: Ints, n_groups: int) -> tuple[Ints, Ints, Ints, Ints]:
    judges, systems = len(table.labels["judge"]), len(table.labels["system"])
    place, size = joint([(group_cell, n_groups), (table.keys["system"], systems)], table.n_cells)
    code, size = joint([(place[table.cell], size), (table.judge, judges)], table.cell.size)
    code, codes = compact(code, size)
    judge, place = codes % judges, codes // judges
    return code, (place // systems).astype(np.int32), judge.astype(np.int32), (place % systems).astype(np.int32)


def _shares(table: CellTable, pair: Ints, deviation: Floats, groups: Sequence[str]) -> Floats:
    """One over the number of criteria with a deviation in the unit's item; empty for a single criterion."""
    if "criterion" in groups or len(np.unique(table.keys["criterion"])) < 2:
        return np.zeros(0)
    items = len(table.labels["item"])
    pairs = int(pair.max(initial=-1)) + 1
    code, size = joint([(pair, pairs), (table.keys["item"][table.cell], items)], pair.size)
    code, codes = compact(code, size)
    criteria = np.bincount(code[~np.isnan(deviation)], minlength=codes.size)[code]
    return 1 / np.maximum(criteria, 1)
