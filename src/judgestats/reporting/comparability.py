"""What is said first of a design: judges and systems that cannot be separated, and judges with few answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from judgestats.counting.connectedness import Connected
from judgestats.reporting.formatting import count
from judgestats.reporting.summary_parts import Caution, listed
from judgestats.schema.columns import Kind


def separate_in_words(groups: Sequence[Connected], kind: Kind) -> str:
    """A caution that differences between some judges may be differences between systems; empty if all are connected."""
    if not groups:
        return ""
    systems = "systems" if kind == "ratings" else "pairs of candidates"
    parts = [f"{listed(g.judges)} judged {listed(g.systems)}" for g in groups]
    which = f"{'; '.join(parts[:3])}{f'; and {len(parts) - 3} more such groups' if len(parts) > 3 else ''}"
    return (
        f"Judges and {systems} cannot be separated: {which}, and none was judged by judges of two groups. "
        f"A difference between such judges may be one of their {systems}, and the reverse."
    )


def sparse_in_words(sparse: Mapping[str, tuple[int, int]], kind: Kind) -> str:
    """Which judges answered only a part of what others did; empty where none."""
    if not sparse:
        return ""
    things = "pairs" if kind == "preferences" else "items"
    fewest = sorted(sparse, key=lambda j: (sparse[j][0] / sparse[j][1], j))
    parts = [f"{count(sparse[j][0])} of {count(sparse[j][1])} {things} by {j}" for j in fewest]
    return f"Not all was answered by all: {listed(parts)}."


def lead_cautions(
    apart: Sequence[Connected],
    sparse: Mapping[str, tuple[int, int]],
    ranked: Sequence[Sequence[str]],
    without_people: str,
    kind: Kind,
) -> tuple[list[Caution], list[Caution]]:
    """Cautions with reasons on which judges are comparable: those that come first, and others."""
    thing = "pairs" if kind == "preferences" else "items"
    first: list[Caution] = []
    further: list[Caution] = []
    if apart:
        systems = "systems" if kind == "ratings" else "pairs of candidates"
        judges = tuple(str(j) for group in apart for j in group.judges)
        why = f"no judge judged {systems} of two groups"
        first.append(Caution(f"Judges and {systems} cannot be separated", why, "apart", judges))
    if sparse:
        fewest = min(sparse, key=lambda j: (sparse[j][0] / sparse[j][1], j))
        n, most = map(count, sparse[fewest])
        alone = [j for judges in ranked[1:] for j in judges if j in sparse]
        stands = f"; {listed(alone, 2)} stand{'s' * (len(alone) == 1)} apart" if alone else ""
        claim, why = f"{listed(sparse, 2)}: few of the {thing} answered", f"{fewest} answered {n} of {most}{stands}"
        judges = tuple(sorted(sparse, key=lambda j: (j != fewest, j)))
        first.append(Caution(claim, why, "few", judges, tuple(float(sparse[j][0]) for j in judges), "answered"))
    if without_people:
        further.append(Caution("Not compared with people", without_people, "cannot be said"))
    others = [j for judges in ranked[1:] for j in judges if j not in sparse]
    if others and not apart:
        why = f"It shares too few {thing} with the rest, and stands apart"
        why = why if len(others) == 1 else f"They share too few {thing} with the rest, and stand apart"
        further.append(Caution(f"{listed(others, 2)} judged other {thing}", why, "apart", tuple(others)))
    return first, further
