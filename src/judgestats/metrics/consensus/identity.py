"""Which judge is which system: itself, or its family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from judgestats.errors import SchemaError
from judgestats.schema.findings import Finding, as_frame


def identities(
    systems_of_groups: Sequence[Sequence[str]],
    judges: Sequence[str],
    identity: Mapping[str, str] | None = None,
    family: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Say by which name each system is known among the judges, and refuse a map that cannot be right.

    Parameters
    ----------
    systems_of_groups : sequence of sequence of str
        Systems of each group (of each condition, say): within one, no two may be the same judge.
    judges : sequence of str
        All judges.
    identity : mapping of str to str, optional
        System -> judge. A system it does not name keeps its own name.
    family : mapping of str to str, optional
        Name -> family; judges and systems must all be in it, a system by its own name or its identity.

    Returns
    -------
    dict of str to str
        System -> judge name, for every system.

    Raises
    ------
    SchemaError
        If `identity` names an unknown system or judge, or maps two systems of one group to one judge; if `family`
        lacks a name. ``faults`` lists all of them.
    """
    systems = list(dict.fromkeys(s for group in systems_of_groups for s in group))
    mapped = {s: s if identity is None else identity.get(s, s) for s in systems}
    findings = [*_unknown(systems, judges, identity or {}), *_shared(systems_of_groups, judges, mapped)]
    if family is not None:
        lacking = [n for n in dict.fromkeys([*judges, *systems]) if n not in family and mapped.get(n) not in family]
        cure = "Every judge and every system needs one in family=."
        findings += [_fault(f"{n!r} has no family", n, cure) for n in lacking]
    if findings:
        told = "; ".join(f.what for f in findings)
        cure = " ".join(dict.fromkeys(f.cure for f in findings))
        count = f"{len(findings)} fault{'s' * (len(findings) != 1)}"
        raise SchemaError(f"{count} in identity= or family=: {told}. {cure}", faults=as_frame(findings))
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


def _fault(what: str, example: str, cure: str) -> Finding:
    return Finding("fault", "system", what, (), str(example), cure)


def _unknown(systems: Sequence[str], judges: Sequence[str], identity: Mapping[str, str]) -> list[Finding]:
    listed = f"Systems: {', '.join(map(str, systems))}. Judges: {', '.join(map(str, judges))}."
    wrong = [_fault(f"{s!r} is no system", s, listed) for s in identity if s not in systems]
    lost = {s: j for s, j in identity.items() if j not in judges}
    return wrong + [_fault(f"{s!r} is mapped to {j!r}, which is no judge", s, listed) for s, j in lost.items()]


def _shared(groups: Sequence[Sequence[str]], judges: Sequence[str], mapped: Mapping[str, str]) -> list[Finding]:
    found: dict[str, Finding] = {}
    for systems in groups:
        names = pd.Series({s: mapped[s] for s in systems}, dtype=object)
        for judge in names[names.duplicated()].unique():
            if judge in judges:
                same = ", ".join(repr(s) for s in names.index[names == judge])
                what = f"{same} are all mapped to {judge!r}"
                found[what] = _fault(what, judge, "identity= is one-to-one; see family= for kin.")
    return list(found.values())
