"""Which judge is which system: itself, or its family."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from judgestats.errors import SchemaError
from judgestats.schema.findings import Finding, as_frame


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
    """Whether the system of each pair is the judge itself, or belongs to its family."""
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
        times = Counter(mapped[s] for s in dict.fromkeys(systems))
        for judge in times:
            if times[judge] > 1 and judge in judges:
                same = ", ".join(repr(s) for s in dict.fromkeys(systems) if mapped[s] == judge)
                what = f"{same} are all mapped to {judge!r}"
                found[what] = _fault(what, judge, "identity= is one-to-one; use family= for related systems.")
    return list(found.values())
