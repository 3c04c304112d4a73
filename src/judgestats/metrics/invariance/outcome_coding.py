"""Answers as counts of favoured, opposed and tie, from calls or from counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
from judgestats.counting.study import Study
from judgestats.counting.tallies import clustered, count, refuse_further, shared_counts
from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.schema.coding import codes_of, count_rows
from judgestats.schema.columns import COUNTS, By, N, grouping, names, required, unit_columns
from judgestats.schema.declared_counts import call_counts, counted
from judgestats.typing import Floats, Ints

# ---- The candidate that the cue favours, and the role of an answer ---------------------------------------------------

#: Candidate favoured by the cue: one for all probes, one for each, or a function of the probe.
Favoured = str | Mapping[str, str] | Callable[[str], str]
#: Value of the column ``favoured`` where the side differs between items.
VARIES = "varies"
#: Codes 0, 1 and 2 of an answer.
ROLES = ("favoured", "opposed", "tie")


def sides(table: pd.DataFrame, favoured: Favoured | None, label: str | None) -> pd.Series[Any]:
    """The candidate that the cue favours in each row, None where it favours neither or both."""
    probe = table["probe"]
    if favoured is not None:
        named = {p: _named(favoured, p) for p in sorted(probe.unique())}
        return probe.map(named).astype(object)
    if "favoured" in table:
        column = table["favoured"].astype(object)
        return column.where(column.notna() & (column.astype(str) != ""), None).map(lambda v: v if v is None else str(v))
    if {"label_first", "label_second", "first", "second"} <= set(table.columns):
        if label is None:
            raise DesignError("Which label is favoured? Give favoured_label=, or favoured= {probe: candidate}.")
        one, two = (table[c].astype(object).astype(str) == label for c in ("label_first", "label_second"))
        side = np.where(one & ~two, table["first"].astype(str), np.where(two & ~one, table["second"].astype(str), None))
        return pd.Series(side, index=table.index, dtype=object)
    raise DesignError(
        "The candidate that the cue favours is not known from counts, or from a frame without label_first and "
        "label_second. Give favoured={probe: candidate}, a candidate for all probes, a function of the probe, or a "
        "column 'favoured'."
    )


def _named(favoured: Favoured, probe: str) -> str | None:
    side: object = favoured
    if callable(favoured):
        side = favoured(probe)
    elif isinstance(favoured, Mapping):
        side = favoured.get(probe)
    return None if side is None else str(side)


def refuse_unnamed(table: pd.DataFrame, blind: str, favoured: Favoured | None) -> None:
    """Refuse a mapping that does not name the side of a labelled probe."""
    if not isinstance(favoured, Mapping):
        return
    missing = sorted(set(table["probe"]) - {blind} - set(favoured))
    if missing:
        raise DesignError(
            f"favoured= names no candidate for {', '.join(map(repr, missing))}. It has: "
            f"{', '.join(map(str, favoured))}. Name one for each labelled probe, or leave the probe's rows out."
        )


def refuse_nameless(table: pd.DataFrame) -> None:
    """Refuse candidates without an id, or with the same id: the choice would be unknown."""
    absent = int(table[["first", "second"]].isna().any(axis=1).sum())
    if absent:
        raise SchemaError(f"'first' or 'second' is missing in {absent:,} rows. Give the ids of both candidates shown.")
    same = table["first"].astype(str) == table["second"].astype(str)
    if same.any():
        raise SchemaError(
            f"Both candidates have the id {str(table['first'][same].iloc[0])!r} in {int(same.sum()):,} rows, so the "
            "choice is not known. Give two ids, even to one text shown twice."
        )


def refuse_unshown(favoured: Favoured | None, label: str | None) -> None:
    """Refuse a side that no call shows."""
    if favoured is not None:
        raise DesignError(f"favoured={favoured!r} names no candidate that was shown. Use the ids in first, second.")
    if label is not None:
        raise DesignError(f"favoured_label={label!r} marks one candidate of no call. See label_first and label_second.")


def role(outcome: pd.Series[Any], side: pd.Series[Any] | str) -> Ints:
    """0 favoured, 1 opposed, 2 tie, -1 invalid or missing."""
    text = outcome.astype(str).to_numpy(dtype=object)
    favoured = side if isinstance(side, str) else side.to_numpy(dtype=object)
    code = np.where(text == favoured, 0, 1)
    return np.where(text == "tie", 2, np.where(np.isin(text, ("invalid", "missing")), -1, code))


def side_of_pairs(pairs: pd.DataFrame, side: pd.Series[Any], columns: list[str]) -> pd.Series[Any]:
    """Side of the labelled call; if that call is missing, the only side of the group."""
    shown = side.to_numpy(dtype=object)
    found = pd.Series(np.where(pairs["_row"] >= 0, shown[pairs["_row"]], None), index=pairs.index, dtype=object)
    by_group = pairs.assign(_side=found).groupby(columns, dropna=False)["_side"]
    single = by_group.transform("first").where(by_group.transform("nunique") == 1, None)
    return found.where(pairs["_row"] >= 0, single)


def key_of(values: Iterable[Any]) -> tuple[Any, ...]:
    """Key of a group; missing values are equal."""
    return tuple(None if pd.isna(v) else v for v in values)


def one_side(side: pd.Series[Any]) -> str:
    """The only side, or ``varies`` if there are several."""
    found = sorted(set(side.dropna().astype(str)))
    return found[0] if len(found) == 1 else VARIES if found else ""


def excluded(here: pd.DataFrame) -> str:
    """Flag of the matched answers that are excluded."""
    n = here["n"].astype(float)
    invalid = sum(float(n[here[c].astype(str) == "invalid"].sum()) for c in ("baseline", "outcome"))
    missing = float(n[(here[["baseline", "outcome"]].astype(str) == "missing").any(axis=1)].sum())
    unknown = float(n[~here["_known"]].sum())
    return flags.join(
        flags.INVALID_EXCLUDED.of(invalid),
        flags.ONE_PROBE.of(missing, total=f"{n.sum():,.0f}"),
        without_side(unknown),
    )


def without_side(n: float) -> str:
    """Flag of items without a known favoured side."""
    return flags.NO_FAVOURED_SIDE.of(n)


# ---- Answers by role -------------------------------------------------------------------------------------------------

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
        return self._named(self.table)

    def candidates_of(self, probe: str, groups: list[str]) -> dict[tuple[Any, ...], list[str]]:
        """The candidates of each group; if there are two in all, both, chosen in the group or not."""
        known = self.candidates
        table = self.margins(probe) if self.kind == "joint" else self.table[self.table["probe"] == probe]
        named = {key_of(key): here for key, here in table.groupby(groups, dropna=False)}
        return {key: known if len(known) <= 2 else self._named(here) for key, here in named.items()}

    def _named(self, table: pd.DataFrame) -> list[str]:
        columns = ("first", "second") if self.kind == "calls" else ("outcome", "baseline")
        found = {str(a) for c in columns if c in table for a in pd.unique(table[c])}
        return sorted(found - set(_NO_SIDE))

    @property
    def counts(self) -> pd.Series[Any] | float:
        """Number of calls of each row."""
        name = COUNTS if self.kind == "calls" else N
        return self.table[name].astype(float) if name in self.table else 1.0

    def margins(self, probe: str) -> pd.DataFrame:
        """Counts of the answers under one probe: the groups, the clusters, ``probe``, ``outcome``, ``n``."""
        if self.kind == "joint":
            return _blind_margin(self.table, [*self.groups, *self.clusters], probe)
        here = self.table[self.table["probe"] == probe]
        return count(here, "anchoring", self.groups, cluster=self.clusters or False).table


@dataclass(frozen=True)
class Answers:
    """Answers of one judge blind and under a probe."""

    key: dict[str, Any]  # the groups and ``probe``
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


def study(calls: Any, by: By, cluster: Cluster, measure: str = "anchoring") -> ProbeCalls:
    """Read and validate calls, or counts of them."""
    named = [*names(by), *(clusters(cluster) or ()), *([] if measure in PATTERNS else ["rationale"])]
    table = gathered(calls, named).reset_index(drop=True)
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
    table, found = _clustered(table, kind, groups, cluster)
    for column in ("judge", *split, *found.columns):
        values = table[column]
        if isinstance(values.dtype, pd.CategoricalDtype) or (values.dtype.kind == "O" and values.hasnans):
            table[column] = values.astype(object).where(values.notna(), math.nan)  # one spelling of missing
    return ProbeCalls(table, kind, groups, found)


def _clustered(table: pd.DataFrame, kind: str, groups: list[str], cluster: Cluster) -> tuple[pd.DataFrame, Clusters]:
    """The table with its cluster columns, and how intervals are clustered."""
    if kind == "calls":
        study, found = clustered(Study.of(table), [*groups, "probe"], cluster)
        return study.columns.frame(), found
    asked = clusters(cluster)
    grouping(asked or (), table.columns)
    pattern = PATTERNS["revision" if kind == "joint" else "anchoring"]
    sharing = shared_counts(Study.of(table), pattern, [*groups, "probe"])
    return table, Clusters.of(cluster_columns(asked, sharing), sharing, auto=asked is None)


def _kind(table: pd.DataFrame, measure: str, by: By, cluster: Cluster) -> str:
    """The kind of a table, see :class:`ProbeCalls`."""
    have = set(table.columns)
    if have >= set(required("preferences")):
        if "probe" not in have:
            raise DesignError(
                f"{measure} compares probes, and the frame has no column 'probe'. Columns: {', '.join(table.columns)}."
            )
        shown = {str(c) for s in ("first", "second") for c in pd.unique(table[s])} & set(_NO_SIDE)
        if shown:
            raise SchemaError(
                f"A candidate has the id {sorted(shown)[0]!r}, which is the name of an answer. Rename it."
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


def refuse_no_probe(found: ProbeCalls, probe: str, argument: str, *, always: bool = False) -> None:
    """Refuse a probe that does not occur; joint counts do not name the earlier one, and are accepted."""
    known = sorted(found.table["probe"].unique())
    if (always or found.kind != "joint") and probe not in known:
        listed = ", ".join(known) or "no row"
        raise DesignError(f"{argument}={probe!r} is not in 'probe'. It has: {listed}.{suggestion(str(probe), known)}")


def answers(
    found: ProbeCalls, blind: str, favoured: Favoured | None, label: str | None, clusters: Sequence[str] | None = None
) -> Iterator[Answers]:
    """Yield the answers of each group under each labelled probe, by role.

    `blind`: the probe that the others are compared with. `favoured`, `label`: the side that the cue favours.
    `clusters`: cluster columns in place of the study's.
    """
    kept = found.clusters if clusters is None else list(clusters)
    if set(found.table["probe"]) <= {blind}:
        return
    if found.kind == "margins":
        yield from _independent(found, blind, sides(found.table, favoured, label), kept)
        return
    pairs = paired(found, blind, favoured, label, kept)
    columns = [*found.groups, "probe"]
    code = codes_of(pairs, columns)
    flag = "" if kept else found.clustering.flag
    for g in range(code.size):
        here = pairs[code.code == g]
        if found.kind == "joint" or (here["_row"] >= 0).any():
            yield _joint(here, columns, kept, flag)


def matched_rows(found: ProbeCalls, blind: str, clusters: Sequence[str] = ()) -> pd.DataFrame:
    """The calls of an item under `blind` and each other probe: ``_base``, ``_row`` number the rows, -1 for none."""
    calls, groups = Study.of(found.table), list(dict.fromkeys([*found.groups, *clusters]))
    pairs = matched_changes(calls, "probe", groups, blind)
    either = np.where(pairs.other < 0, pairs.base, pairs.other)
    n = 1.0 if calls.weight is None else calls.weight[either]
    return pairs.columns.frame(unit_columns(calls.names, groups)).assign(n=n, _base=pairs.base, _row=pairs.other)


def paired(
    found: ProbeCalls, blind: str, favoured: Favoured | None, label: str | None, clusters: Sequence[str]
) -> pd.DataFrame:
    """Pairs of answers with the favoured side and both roles (0, 1, 2; -1 for none)."""
    if found.kind == "joint":
        table = found.table.reset_index(drop=True)
        _refuse_many(table, found.groups, sides(table, favoured, label))
        table = table.assign(_side=sides(table, favoured, label), _base=0, _row=0)
        shown = np.ones(len(table), dtype=bool)
    else:
        table = matched_rows(found, blind, clusters)
        calls = found.table
        table["_side"] = side_of_pairs(table, sides(calls, favoured, label), [*found.groups, "probe"])
        outcome = outcomes_of(calls).to_numpy(dtype=object)
        for name, row in (("baseline", "_base"), ("outcome", "_row")):
            table[name] = np.where(table[row] >= 0, outcome[table[row]], "missing")
        either = table["_row"].where(table["_row"] >= 0, table["_base"]).to_numpy()
        one, two = (calls[c].astype(str).to_numpy(dtype=object)[either] for c in ("first", "second"))
        side = table["_side"].to_numpy(dtype=object)
        shown = (side == one) | (side == two)
    known = shown & table["_side"].notna().to_numpy()
    for name in ("baseline", "outcome"):
        table[f"_{name}"] = np.where(known, role(table[name], table["_side"]), -1)
    if found.kind == "calls" and not known.any():
        refuse_unshown(favoured, label)
    return table.assign(_known=known)


def outcomes_of(calls: pd.DataFrame) -> pd.Series[Any]:
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


def _joint(here: pd.DataFrame, columns: list[str], clusters: list[str], flag: str) -> Answers:
    """Answers of items under both probes."""
    kept = [*clusters, "_baseline", "_outcome"]
    table = count_rows(here[here["_known"]], kept, "n")
    base, probe = (table[c].to_numpy(dtype=int) for c in ("_baseline", "_outcome"))
    n = table["n"].to_numpy(dtype=float)
    counts = np.zeros((len(table), 6))
    for code, start in ((base, 0), (probe, 3)):
        valid = np.flatnonzero(code >= 0)
        counts[valid, start + code[valid]] = n[valid]
    both = (base >= 0) & (probe >= 0)
    joint = np.zeros((3, 3))
    np.add.at(joint, (base[both], probe[both]), n[both])
    return Answers(_key(here, columns), one_side(here["_side"]), table, counts, joint, flags.join(flag, excluded(here)))


def _key(here: pd.DataFrame, columns: list[str]) -> dict[str, Any]:
    return {str(k): v for k, v in here[columns].iloc[0].to_dict().items()}


def _independent(found: ProbeCalls, blind: str, side: pd.Series[Any], clusters: list[str]) -> Iterator[Answers]:
    """Answers from counts of each probe: independent samples."""
    _refuse_many(found.table, found.groups, side.where(found.table["probe"] != blind, None))
    table = count(found.table, "anchoring", found.groups, cluster=clusters or False).table
    columns = [*found.groups, "probe"]
    named = found.table.assign(_side=side).groupby(columns, dropna=False)["_side"]
    side_of = {key_of(key): values for key, values in named}
    dependent = "" if clusters else found.clustering.flag
    code = codes_of(table, found.groups)
    for g in range(code.size):
        group = table[code.code == g]
        base = group[group["probe"] == blind]
        for probe in sorted(set(group["probe"]) - {blind}):
            here = group[group["probe"] == probe]
            key = _key(here, columns)
            sides_found = sorted(set(side_of[key_of(key.values())].dropna().astype(str)))
            if len(sides_found) != 1:
                raise DesignError(
                    f"Counts under probe {probe!r} need one favoured candidate, and have "
                    f"{', '.join(sides_found) or 'none'}. Split them with by=, or give the calls."
                )
            samples = pd.concat([base.assign(side="blind"), here.assign(side="probe")], ignore_index=True)
            roles, n = role(samples["outcome"], sides_found[0]), samples["n"].to_numpy(dtype=float)
            counts = np.zeros((len(samples), 6))
            valid = np.flatnonzero(roles >= 0)
            counts[valid, roles[valid] + np.where(samples["side"].to_numpy() == "probe", 3, 0)[valid]] = n[valid]
            flag = flags.join(dependent, flags.INVALID_EXCLUDED.of(n[roles < 0].sum()))
            yield Answers(key, sides_found[0], samples[[*clusters, "side", "n"]], counts, None, flag)


def _refuse_many(table: pd.DataFrame, groups: list[str], side: pd.Series[Any]) -> None:
    """Refuse counts of more than two candidates, where the pairs shown are not known."""
    for key, here in table.assign(_side=side).groupby(groups, dropna=False):
        shown = set(here["outcome"].astype(str)) | set(here["_side"].dropna().astype(str))
        if "baseline" in here:
            shown |= set(here["baseline"].astype(str))
        shown -= set(_NO_SIDE)
        if len(shown) > 2:
            where = ", ".join(str(k) for k in key if str(k))
            raise DesignError(
                f"The counts of {where} have {len(shown)} candidates ({', '.join(sorted(shown))}), the favoured one "
                "included, so the pairs shown are not known. Split them with by=, check favoured=, or give the calls."
            )


def _blind_margin(table: pd.DataFrame, columns: list[str], probe: str) -> pd.DataFrame:
    """Blind answers of joint counts, from the probe with the most of them."""
    known = table[table["baseline"].astype(str) != "missing"]
    sizes = known.groupby([*columns[: columns.index("scheme") + 1], "probe"], dropna=False)["n"].sum().reset_index()
    groups = columns[: columns.index("scheme") + 1]
    most = sizes.sort_values(["n", "probe"], ascending=[False, True]).drop_duplicates(groups)
    known = known.merge(most[[*groups, "probe"]], on=[*groups, "probe"])
    blind = known.assign(outcome=known["baseline"].astype(str), probe=probe)
    return count_rows(blind, [*columns, "probe", "outcome"], "n")
