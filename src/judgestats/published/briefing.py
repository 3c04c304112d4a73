"""An audit in a few lines: counts, the first findings of each source, and where the rest is."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

import pandas as pd

from judgestats.published.auditing import Audited
from judgestats.published.statements import DEPENDS, NOT, UNKNOWN, VERDICTS, Decision, tallied
from judgestats.published.tallies import CHECKS

#: Findings that are told of each of several sources, and of one alone.
EACH, ALONE = 5, 20
#: What cannot be decided that is told of each of several sources.
OPEN = 1
#: Characters of a comment, and of the words before it, that are told.
_LONGEST = 110


def coverage(audits: Sequence[Audited]) -> pd.DataFrame:
    """How many printed numbers were checked in each way, and how many faults were found.

    Parameters
    ----------
    audits : sequence of Audited

    Returns
    -------
    pandas.DataFrame
        A row per source, named where there are several: ``numbers`` printed, of these ``recomputed``, ``copied``,
        ``only bounded`` and ``not touched`` (:meth:`~judgestats.published.auditing.Audited.numbers`), and ``faults``,
        the findings of one altered number or row taken together.
    """
    rows = []
    for a in audits:
        how = a.numbers()["checked"].value_counts()
        ways = {way: int(how.get(way, 0)) for way in CHECKS}
        rows.append({"source": a.paper, "numbers": int(how.sum()), **ways, "faults": len(a.faults())})
    table = pd.DataFrame(rows, columns=["source", "numbers", *CHECKS, "faults"])
    return table if len(audits) > 1 else table.drop(columns="source")


def counts(audits: Sequence[Audited]) -> pd.DataFrame:
    """How many verdicts there are of each kind.

    Parameters
    ----------
    audits : sequence of Audited

    Returns
    -------
    pandas.DataFrame
        A row per source, named where there are several; a column per verdict, and ``checks``.
    """
    rows = [{"source": a.paper, **tallied(a.decisions), "checks": len(a.decisions)} for a in audits]
    table = pd.DataFrame(rows, columns=["source", *VERDICTS, "checks"])
    return table if len(audits) > 1 else table.drop(columns="source")


def findings(audits: Sequence[Audited], where: str) -> Iterator[str]:
    """What does not follow and what cannot be decided, the first ones of each source, and how much depends on a choice.

    Parameters
    ----------
    audits : sequence of Audited
    where : str
        Where the rest is told, in words.

    Yields
    ------
    str
        Lines.
    """
    most = EACH if len(audits) > 1 else ALONE
    for a in audits:
        odd = [d for d in a.decisions if d.verdict == NOT]
        depend = sum(d.verdict == DEPENDS for d in a.decisions)
        unknown = [d for d in a.decisions if d.verdict == UNKNOWN]
        if not odd and not depend and not unknown:
            continue
        if len(audits) > 1:
            yield a.paper
        for d in odd[:most]:
            yield from _told(d)
        if len(odd) > most:
            yield f"  {len(odd) - most} more {'does' if len(odd) - most == 1 else 'do'} not follow, {where}"
        if depend:
            yield f"  {depend} {'depends' if depend == 1 else 'depend'} on a choice, {where}"
        shown = most if len(audits) == 1 else OPEN
        for d in unknown[:shown]:
            yield from _told(d, "?")
        if len(unknown) > shown:
            yield f"  {len(unknown) - shown} more cannot be decided, {where}"
        yield ""


def _told(d: Decision, sign: str = "✗") -> Iterator[str]:
    found = f"{d.recomputed:.6g}" if isinstance(d.recomputed, float) else d.recomputed
    found = "" if d.verdict == UNKNOWN else found
    values = [f"printed {_cut(d.printed, 40)}"] if d.printed else []
    values += [f"recomputed {found}" if isinstance(d.recomputed, float) else found] if found else []
    values = values or [d.verdict]
    said = ": ".join(t for t in (d.statement.place, d.statement.claim) if t)
    yield f"  {sign} {_cut(said)}: {', '.join(values)}"
    if d.comment:
        yield f"    {_cut(d.comment)}"


def _cut(text: str, most: int = _LONGEST) -> str:
    """The beginning of a text, in whole words."""
    return textwrap.shorten(text, most, placeholder=" …")
