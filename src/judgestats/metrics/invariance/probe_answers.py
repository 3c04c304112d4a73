"""Calls under probes, and answers by role: favoured, opposed and tie, blind and under a probe."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from judgestats import flags
from judgestats.counting.bootstrap import Bootstrap
from judgestats.counting.changes import matched_changes
from judgestats.counting.clustering import Cluster, clusters
from judgestats.counting.clusters import Clusters, cluster_columns
from judgestats.counting.counts import Counts
from judgestats.counting.patterns import PATTERNS
from judgestats.counting.selection import gathered, selected
from judgestats.counting.study import Calls, Study
from judgestats.counting.tallies import clustered, count, refuse_further, shared_counts
from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.metrics.invariance.outcome_coding import (
    Favoured,
    excluded,
    key_of,
    one_side,
    refuse_nameless,
    refuse_unshown,
    role,
    side_of_pairs,
    sides,
)
from judgestats.schema.coding import codes_of, count_rows
from judgestats.schema.columns import COUNTS, By, N, grouping, names, required, unit_columns
from judgestats.schema.declared_counts import call_counts, counted
from judgestats.typing import Column, Floats, Record

_NO_SIDE = ("tie", "invalid", "missing")
_JOINT = {*PATTERNS["revision"].columns, "n"}


@dataclass(frozen=True)
class ProbeCalls:
    """Calls, or counts of them, in memory."""

    table: pd.DataFrame  # with ``judge``, ``scheme`` (empty text if there is none), ``probe``
    kind: str  # ``calls``; ``joint``, counts of items by both answers; ``margins``, counts under each probe
    groups: list[str]  # ``judge``, the `by` columns and ``scheme``
    clustering: Clusters

    @property
    def clusters(self) -> list[str]:
        """Cluster columns."""
        return list(self.clustering.columns)

    def counts_of(self, table: pd.DataFrame, plan: Bootstrap | None, conf_level: float) -> Counts:
        """A table of this study as counts by groups and probe, with its intervals."""
        columns = [*self.groups, "probe"]
        return Counts.of(table, columns, self.clustering, conf_level=conf_level, bootstrap=plan)

    @property
    def candidates(self) -> list[str]:
        """All candidates, sorted: those shown in calls, or chosen at least once in counts."""
        return self._candidates_in(self.table)

    def candidates_of(self, probe: str, groups: list[str]) -> dict[tuple[Any, ...], list[str]]:
        """The candidates of each group; if there are two in all, both, chosen in the group or not."""
        all_candidates = self.candidates
        table = self.margins(probe) if self.kind == "joint" else self.table[self.table["probe"] == probe]
        tables = {key_of(key): part for key, part in table.groupby(groups, dropna=False)}
        return {
            key: all_candidates if len(all_candidates) <= 2 else self._candidates_in(part)
            for key, part in tables.items()
        }

    def _candidates_in(self, table: pd.DataFrame) -> list[str]:
        columns = ("first", "second") if self.kind == "calls" else ("outcome", "baseline")
        ids = {str(a) for c in columns if c in table for a in pd.unique(table[c])}
        return sorted(ids - set(_NO_SIDE))

    @property
    def counts(self) -> Column | float:
        """Number of calls of each row."""
        name = COUNTS if self.kind == "calls" else N
        return self.table[name].astype(float) if name in self.table else 1.0

    def margins(self, probe: str) -> pd.DataFrame:
        """Counts of the answers under one probe: the groups, the clusters, ``probe``, ``outcome``, ``n``."""
        if self.kind == "joint":
            return _blind_margin(self.table, [*self.groups, *self.clusters], probe)
        of_probe = self.table[self.table["probe"] == probe]
        return count(of_probe, "anchoring", self.groups, cluster=self.clusters or False).table


@dataclass(frozen=True)
class ProbeAnswers:
    """Answers of one judge blind and under a probe."""

    key: Record  # the groups and ``probe``
    favoured: str  # the candidate that the cue favours, or ``varies``
    table: pd.DataFrame  # rows with a count ``n``, and the clusters or, for independent samples, ``side``
    counts: Floats  # (R, 6): of each row to favoured, opposed and tie, blind and then under the probe
    joint: Floats | None  # (3, 3): items by role blind and under the probe; None if independent
    flag: str  # excluded answers, and dependent calls

    @property
    def total(self) -> Floats:
        """Counts of the six roles, (6,)."""
        result: Floats = self.counts.sum(axis=0)
        return result


def study(calls: Calls, by: By, cluster: Cluster, measure: str = "anchoring") -> ProbeCalls:
    """Read and validate calls, or counts of them."""
    columns = [*names(by), *(clusters(cluster) or ()), *([] if measure in PATTERNS else ["rationale"])]
    table = gathered(calls, columns).reset_index(drop=True)
    kind = _kind(table, measure, by, cluster)
    for column in {"baseline", "outcome"} & set(table.columns) if kind != "calls" else ():
        if table[column].isna().any():
            raise SchemaError(f"{column!r} has empty cells. Write 'missing' for an item not judged, else 'invalid'.")
    unnamed = int(table["probe"].isna().sum())
    if unnamed:
        raise SchemaError(f"'probe' is missing in {unnamed:,} rows. Name every probe, 'blind' too.")
    table = table.assign(probe=table["probe"].astype(str))
    if kind != "calls":
        table["n"] = call_counts(table["n"])
    scheme = table["scheme"].astype(object) if "scheme" in table else pd.Series("", index=table.index, dtype=object)
    table["scheme"] = scheme.where(scheme.notna(), "").astype(str)
    split = [g for g in grouping(by, table.columns) if g not in ("judge", "scheme", "probe")]
    groups = ["judge", *split, "scheme"]
    table, clustering = _with_clustering(Study.rows_of(calls, table), kind, groups, cluster)
    for column in ("judge", *split, *clustering.columns):
        values = table[column]
        if isinstance(values.dtype, pd.CategoricalDtype) or (values.dtype.kind == "O" and values.hasnans):
            table[column] = values.astype(object).where(values.notna(), math.nan)  # one spelling of missing
    return ProbeCalls(table, kind, groups, clustering)


def _with_clustering(study: Study, kind: str, groups: list[str], cluster: Cluster) -> tuple[pd.DataFrame, Clusters]:
    """The table with its cluster columns, and how intervals are clustered."""
    if kind == "calls":
        study, clustering = clustered(study, [*groups, "probe"], cluster)
        return study.columns.frame(), clustering
    requested, table = clusters(cluster), study.data.to_native()
    grouping(requested or (), table.columns)
    pattern = PATTERNS["revision" if kind == "joint" else "anchoring"]
    sharing = shared_counts(study, pattern, [*groups, "probe"])
    return table, Clusters.of(cluster_columns(requested, sharing), sharing, auto=requested is None)


def _kind(table: pd.DataFrame, measure: str, by: By, cluster: Cluster) -> str:
    """The kind of a table, see :class:`ProbeCalls`."""
    have = set(table.columns)
    if have >= set(required("preferences")):
        if "probe" not in have:
            raise DesignError(
                f"{measure} compares probes, and the frame has no column 'probe'. Columns: {', '.join(table.columns)}."
            )
        clashes = {str(c) for s in ("first", "second") for c in pd.unique(table[s])} & set(_NO_SIDE)
        if clashes:
            raise SchemaError(
                f"A candidate has the id {sorted(clashes)[0]!r}, which is the name of an answer. Rename it."
            )
        refuse_nameless(table)
        counted(Study.of(table).data, [*names(by), *(clusters(cluster) or ())])
        return "calls"
    if have >= _JOINT:
        refuse_further(table.columns, "revision", by, clusters(cluster) or ())
        return "joint"
    if measure not in PATTERNS:
        missing = ", ".join(c for c in required("preferences") if c not in have)
        raise DesignError(
            f"{measure} needs a preferences frame, and there is no {missing}. Columns: {', '.join(have)}."
        )
    count(table, measure, by, cluster=cluster)  # raises unless it is a tally
    return "margins"


def refuse_no_probe(probes: ProbeCalls, probe: str, argument: str, *, always: bool = False) -> None:
    """Refuse a probe that does not occur; joint counts do not name the earlier one, and are accepted."""
    levels = sorted(probes.table["probe"].unique())
    if (always or probes.kind != "joint") and probe not in levels:
        listed = ", ".join(levels) or "no row"
        raise DesignError(f"{argument}={probe!r} is not in 'probe'. It has: {listed}.{suggestion(str(probe), levels)}")


def answers(
    probes: ProbeCalls, blind: str, favoured: Favoured | None, label: str | None, clusters: Sequence[str] | None = None
) -> Iterator[ProbeAnswers]:
    """Yield the answers of each group under each labelled probe, by role.

    `blind`: the probe that the others are compared with. `favoured`, `label`: the side that the cue favours.
    `clusters`: cluster columns in place of the study's.
    """
    cluster_columns = probes.clusters if clusters is None else list(clusters)
    if set(probes.table["probe"]) <= {blind}:
        return
    if probes.kind == "margins":
        yield from _independent(probes, blind, sides(probes.table, favoured, label), cluster_columns)
        return
    pairs = paired(probes, blind, favoured, label, cluster_columns)
    columns = [*probes.groups, "probe"]
    code = codes_of(pairs, columns)
    flag = "" if cluster_columns else probes.clustering.flag
    for g in range(code.size):
        of_group = pairs[code.code == g]
        if probes.kind == "joint" or (of_group["_row"] >= 0).any():
            yield _joint(of_group, columns, cluster_columns, flag)


def matched_rows(probes: ProbeCalls, blind: str, clusters: Sequence[str] = ()) -> pd.DataFrame:
    """The calls of an item under `blind` and each other probe: ``_base``, ``_row`` number the rows, -1 for none."""
    calls, groups = Study.of(probes.table), list(dict.fromkeys([*probes.groups, *clusters]))
    pairs = matched_changes(calls, "probe", groups, blind)
    either = np.where(pairs.other < 0, pairs.base, pairs.other)
    n = 1.0 if calls.weight is None else calls.weight[either]
    return pairs.columns.frame(unit_columns(calls.names, groups)).assign(n=n, _base=pairs.base, _row=pairs.other)


def paired(
    probes: ProbeCalls, blind: str, favoured: Favoured | None, label: str | None, clusters: Sequence[str]
) -> pd.DataFrame:
    """Pairs of answers with the favoured side and both roles (0, 1, 2; -1 for none)."""
    if probes.kind == "joint":
        table = probes.table.reset_index(drop=True)
        _refuse_many(table, probes.groups, sides(table, favoured, label))
        table = table.assign(_side=sides(table, favoured, label), _base=0, _row=0)
        is_candidate = np.ones(len(table), dtype=bool)
    else:
        table = matched_rows(probes, blind, clusters)
        calls = probes.table
        table["_side"] = side_of_pairs(table, sides(calls, favoured, label), [*probes.groups, "probe"])
        outcome = outcomes_of(calls).to_numpy(dtype=object)
        for name, row in (("baseline", "_base"), ("outcome", "_row")):
            table[name] = np.where(table[row] >= 0, outcome[table[row]], "missing")
        either = table["_row"].where(table["_row"] >= 0, table["_base"]).to_numpy()
        one, two = (calls[c].astype(str).to_numpy(dtype=object)[either] for c in ("first", "second"))
        side = table["_side"].to_numpy(dtype=object)
        is_candidate = (side == one) | (side == two)
    has_side = is_candidate & table["_side"].notna().to_numpy()
    for name in ("baseline", "outcome"):
        table[f"_{name}"] = np.where(has_side, role(table[name], table["_side"]), -1)
    if probes.kind == "calls" and not has_side.any():
        refuse_unshown(favoured, label)
    return table.assign(_known=has_side)


def outcomes_of(calls: pd.DataFrame) -> Column:
    """The candidate chosen, ``tie`` or ``invalid``."""
    chosen = selected(Study.of(calls).data, PATTERNS["anchoring"], "anchoring", None)
    outcome = chosen.to_native()["outcome"]
    unknown = set(outcome.astype(str)) - {str(c) for s in ("first", "second") for c in pd.unique(calls[s])}
    unknown -= {"tie", "invalid"}
    if unknown:
        raise SchemaError(
            f"'choice' has {sorted(unknown)[0]!r}. Allowed: first, second, tie, abstain, invalid. Map the table with "
            "preferences(frame, labels={...})."
        )
    return outcome


def _joint(pairs: pd.DataFrame, columns: list[str], clusters: list[str], flag: str) -> ProbeAnswers:
    """Answers of items under both probes."""
    coded = [*clusters, "_baseline", "_outcome"]
    table = count_rows(pairs[pairs["_known"]], coded, "n")
    base, probe = (table[c].to_numpy(dtype=int) for c in ("_baseline", "_outcome"))
    n = table["n"].to_numpy(dtype=float)
    counts = np.zeros((len(table), 6))
    for code, start in ((base, 0), (probe, 3)):
        valid = np.flatnonzero(code >= 0)
        counts[valid, start + code[valid]] = n[valid]
    both = (base >= 0) & (probe >= 0)
    joint = np.zeros((3, 3))
    np.add.at(joint, (base[both], probe[both]), n[both])
    return ProbeAnswers(
        _key(pairs, columns), one_side(pairs["_side"]), table, counts, joint, flags.join(flag, excluded(pairs))
    )


def _key(rows: pd.DataFrame, columns: list[str]) -> Record:
    return {str(c): rows[c].iloc[0] for c in columns}


def _independent(probes: ProbeCalls, blind: str, side: Column, clusters: list[str]) -> Iterator[ProbeAnswers]:
    """Answers from counts of each probe: independent samples."""
    _refuse_many(probes.table, probes.groups, side.where(probes.table["probe"] != blind, None))
    table = count(probes.table, "anchoring", probes.groups, cluster=clusters or False).table
    columns = [*probes.groups, "probe"]
    by_group = probes.table.assign(_side=side).groupby(columns, dropna=False)["_side"]
    side_of = {key_of(key): values for key, values in by_group}
    dependent = "" if clusters else probes.clustering.flag
    code = codes_of(table, probes.groups)
    for g in range(code.size):
        group = table[code.code == g]
        base = group[group["probe"] == blind]
        for probe in sorted(set(group["probe"]) - {blind}):
            of_probe = group[group["probe"] == probe]
            key = _key(of_probe, columns)
            sides_found = sorted(set(side_of[key_of(key.values())].dropna().astype(str)))
            if len(sides_found) != 1:
                raise DesignError(
                    f"Counts under probe {probe!r} need one favoured candidate, and have "
                    f"{', '.join(sides_found) or 'none'}. Split them with by=, or give the calls."
                )
            samples = pd.concat([base.assign(side="blind"), of_probe.assign(side="probe")], ignore_index=True)
            roles, n = role(samples["outcome"], sides_found[0]), samples["n"].to_numpy(dtype=float)
            counts = np.zeros((len(samples), 6))
            valid = np.flatnonzero(roles >= 0)
            counts[valid, roles[valid] + np.where(samples["side"].to_numpy() == "probe", 3, 0)[valid]] = n[valid]
            flag = flags.join(dependent, flags.INVALID_EXCLUDED.of(n[roles < 0].sum()))
            yield ProbeAnswers(key, sides_found[0], samples[[*clusters, "side", "n"]], counts, None, flag)


def _refuse_many(table: pd.DataFrame, groups: list[str], side: Column) -> None:
    """Refuse counts of more than two candidates, where the pairs shown are not known."""
    for key, part in table.assign(_side=side).groupby(groups, dropna=False):
        ids = set(part["outcome"].astype(str)) | set(part["_side"].dropna().astype(str))
        if "baseline" in part:
            ids |= set(part["baseline"].astype(str))
        ids -= set(_NO_SIDE)
        if len(ids) > 2:
            where = ", ".join(str(k) for k in key if str(k))
            raise DesignError(
                f"The counts of {where} have {len(ids)} candidates ({', '.join(sorted(ids))}), the favoured one "
                "included, so the pairs shown are not known. Split them with by=, check favoured=, or give the calls."
            )


def _blind_margin(table: pd.DataFrame, columns: list[str], probe: str) -> pd.DataFrame:
    """Blind answers of joint counts, from the probe with the most of them."""
    judged = table[table["baseline"].astype(str) != "missing"]
    sizes = judged.groupby([*columns[: columns.index("scheme") + 1], "probe"], dropna=False)["n"].sum().reset_index()
    groups = columns[: columns.index("scheme") + 1]
    most = sizes.sort_values(["n", "probe"], ascending=[False, True]).drop_duplicates(groups)
    judged = judged.merge(most[[*groups, "probe"]], on=[*groups, "probe"])
    blind = judged.assign(outcome=judged["baseline"].astype(str), probe=probe)
    return count_rows(blind, [*columns, "probe", "outcome"], "n")
