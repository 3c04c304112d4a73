"""Counts of outcomes by judge, scheme and probe, from calls, their tally or printed tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.counting.tallies import count
from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.schema.columns import required
from judgestats.schema.declared_counts import call_counts
from judgestats.typing import Floats

#: Candidate favoured by the cue: one for all probes, one for each, or a function of the probe.
Favoured = str | Mapping[str, str] | Callable[[str], str]
_UNKNOWN = (
    "The candidate that the cue favours is not known. Give favoured={probe: candidate}, or one candidate for all "
    "probes; or, with columns label_first and label_second, favoured_label=."
)
_NO_SIDE = ("tie", "invalid")
#: Scheme that the others are compared with by default.
BASELINE = "Baseline"


@dataclass(frozen=True)
class Outcomes:
    """Counts of a model of outcomes."""

    # judges, schemes, probes, outcomes: labels; the blind probe and the reference outcome come first
    judges: tuple[str, ...]
    schemes: tuple[str, ...]
    probes: tuple[str, ...]
    outcomes: tuple[str, ...]
    counts: Floats  # (J, S, P, K)
    # (judge, scheme, probe) -> flag of excluded calls
    excluded: dict[tuple[int, int, int], str] = field(default_factory=dict)
    dependent: str = ""  # flag of calls that share a pair

    def compared(self, against: str | None = None) -> list[tuple[int, int]]:
        """Each scheme with the one it is compared with, by default :data:`BASELINE`."""
        if against is None and len(self.schemes) < 2:
            return []
        against = BASELINE if against is None else against
        if against not in self.schemes:
            schemes = [s for s in self.schemes if s]
            advice = f"It has: {', '.join(schemes)}." if schemes else "The table has no scheme: leave against= out."
            raise DesignError(f"against={against!r} is not in 'scheme'. {advice}{suggestion(against, schemes)}")
        base = self.schemes.index(against)
        return [(s, base) for s in range(len(self.schemes)) if s != base]


def outcomes(counts: IntoFrame | Mapping[str, IntoFrame], blind: str, reference: str | None = None) -> Outcomes:
    """Read counts of outcomes; `counts` as in :func:`susceptibility`."""
    if isinstance(counts, Mapping):
        table, dependent = _printed(counts), ""
    else:
        counted = count(counts, "anchoring", cluster=False)
        table, dependent = counted.table, counted.clusters.flag
    for name in ("judge", "probe", "outcome"):
        if table[name].isna().any():
            raise SchemaError(
                f"{name!r} has empty cells. Fill in every {name}; an answer outside the categories is 'invalid'."
            )
    scheme = table["scheme"].astype(object) if "scheme" in table else pd.Series("", index=table.index, dtype=object)
    table = table.assign(scheme=scheme.where(scheme.notna(), ""), n=call_counts(table["n"]))
    for name in ("judge", "scheme", "probe", "outcome"):
        table[name] = table[name].astype(str)
    probes = sorted(set(table["probe"]))
    if blind not in probes:
        raise DesignError(
            f"baseline={blind!r} is not in 'probe'. It has: {', '.join(probes)}.{suggestion(blind, probes)}"
        )
    if len(probes) < 2:
        raise DesignError(f"'probe' has only the baseline {blind!r}. Add the calls under a cue.")
    valid = table[table["outcome"] != "invalid"]
    axes = [sorted(set(table["judge"])), sorted(set(table["scheme"])), [blind, *(p for p in probes if p != blind)]]
    kinds = sorted(set(valid["outcome"]))
    if len(kinds) < 2 or not valid["n"].sum() > 0:
        raise DesignError(f"Outcomes are {', '.join(kinds) or 'none'}: a model of outcomes needs two or more.")
    cube = _cube(valid, [*axes, kinds])
    if reference is not None and reference not in kinds:
        raise DesignError(
            f"reference={reference!r} is not an outcome. Outcomes: {', '.join(kinds)}.{suggestion(reference, kinds)}"
        )
    total = cube.sum(axis=-1)
    smallest = (cube[total > 0] / total[total > 0][:, None]).min(axis=0)
    first = int(np.argmax(smallest)) if reference is None else kinds.index(reference)
    order = [first, *(k for k in range(len(kinds)) if k != first)]
    kinds, cube = [kinds[k] for k in order], cube[..., order]
    invalid = _cube(table[table["outcome"] == "invalid"], [*axes, ["invalid"]])[..., 0]
    excluded = {
        (j, s, p): flags.in_part(axes[2][p], flags.INVALID_EXCLUDED.of(invalid[j, s, p]))
        for j, s, p in np.argwhere(invalid > 0).tolist()
    }
    judges, schemes, ordered = (tuple(a) for a in axes)
    return Outcomes(judges, schemes, ordered, tuple(kinds), cube, excluded, dependent)


def _printed(tables: Mapping[str, IntoFrame]) -> pd.DataFrame:
    """Printed tables, one for each probe, as a tally."""
    parts = []
    for probe, table in tables.items():
        frame = nw.from_native(table).lazy().collect(backend="pandas").to_native()
        if "judge" not in frame:
            raise SchemaError(f"The table of probe {probe!r} has no column 'judge'. Columns: {', '.join(frame)}.")
        keys = [c for c in ("judge", "scheme") if c in frame]
        counted = [c for c in frame.columns if c not in keys]
        text = [c for c in counted if not pd.api.types.is_numeric_dtype(frame[c])]
        if text or len(counted) < 2:
            raise SchemaError(
                f"The table of probe {probe!r} has the columns {', '.join(frame)}. Besides judge and scheme it needs "
                f"counts, one column for each of two or more outcomes; {repr(text[0]) if text else 'a second column'} "
                f"{'is text' if text else 'is missing'}."
            )
        parts.append(frame.melt(keys, counted, "outcome", "n").assign(probe=str(probe)))
    if not parts:
        raise SchemaError("The mapping {probe: table} is empty.")
    return pd.concat(parts, ignore_index=True)


def _cube(table: pd.DataFrame, axes: list[list[str]]) -> Floats:
    cube = np.zeros([len(a) for a in axes])
    names = ("judge", "scheme", "probe", "outcome")
    places = [pd.Index(a).get_indexer(table[c].to_numpy(dtype=object)) for c, a in zip(names, axes, strict=True)]
    np.add.at(cube, tuple(places), table["n"].to_numpy(dtype=float))
    return cube


def favoured_sides(
    counts: IntoFrame | Mapping[str, IntoFrame], data: Outcomes, favoured: Favoured | None, label: str | None
) -> dict[str, str]:
    """Candidate that the cue favours, by probe; `favoured` and `label` as in :func:`judgestats.anchoring`."""
    labelled = data.probes[1:]
    by_probe: dict[str, set[str]]
    if favoured is None:
        if isinstance(counts, Mapping):
            raise DesignError(_UNKNOWN)
        by_probe = _sides_of_frame(counts, label)
    elif callable(favoured):
        by_probe = {p: {str(favoured(p))} for p in labelled}
    elif isinstance(favoured, Mapping):
        by_probe = {str(p): {str(c)} for p, c in favoured.items()}
    else:
        by_probe = {p: {str(favoured)} for p in labelled}
    candidates = [o for o in data.outcomes if o not in _NO_SIDE]
    sides = {}
    for probe in labelled:
        choices = sorted(by_probe.get(probe, set()))
        if len(choices) != 1:
            raise DesignError(
                f"Probe {probe!r} needs one favoured candidate, and has {', '.join(choices) or 'none'}. Give favoured= "
                "{probe: candidate}; if it differs between items, relabel the candidates so that it does not."
            )
        if choices[0] not in candidates:
            raise DesignError(
                f"favoured={choices[0]!r} of probe {probe!r} is never chosen. Candidates chosen: "
                f"{', '.join(candidates)}.{suggestion(choices[0], candidates)}"
            )
        sides[probe] = choices[0]
    return sides


def _sides_of_frame(counts: IntoFrame, label: str | None) -> dict[str, set[str]]:
    """Favoured candidates named by the columns of a frame, by probe."""
    present = nw.from_native(counts).collect_schema().names()
    if "favoured" in present:
        table = nw.from_native(counts).lazy().select("probe", "favoured").collect(backend="pandas").to_native()
        side = table["favoured"].astype(object).where(table["favoured"].notna() & (table["favoured"] != ""), None)
    elif {*required("preferences"), "label_first", "label_second"} <= set(present) and label is not None:
        columns = ("probe", "first", "second", "label_first", "label_second")
        table = nw.from_native(counts).lazy().select(*columns).collect(backend="pandas").to_native()
        one, two = (table[f"label_{slot}"].astype(object).astype(str) == label for slot in ("first", "second"))
        side = table["first"].astype(object).where(one & ~two, table["second"].astype(object).where(two & ~one, None))
    else:
        raise DesignError(_UNKNOWN)
    has_side = side.notna()
    pairs = zip(table["probe"][has_side].astype(str), side[has_side].astype(str), strict=True)
    result: dict[str, set[str]] = {}
    for probe, name in pairs:
        result.setdefault(probe, set()).add(name)
    return result
