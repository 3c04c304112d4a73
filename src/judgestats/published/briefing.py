"""An audit in a few lines: counts, the first findings of each source, and where the rest is."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

import pandas as pd

from judgestats.published.auditing import Audited
from judgestats.published.statements import DEPENDS, NOT, VERDICTS, Decision, tallied

#: Findings that are told of each of several sources, and of one alone.
EACH, ALONE = 5, 20
#: Characters of a comment, and of the words before it, that are told.
_LONGEST = 110


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
    """What does not follow, the first ones of each source, and how much depends on a choice.

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
        if not odd and not depend:
            continue
        if len(audits) > 1:
            yield a.paper
        for d in odd[:most]:
            yield from _told(d)
        if len(odd) > most:
            yield f"  {len(odd) - most} more {'does' if len(odd) - most == 1 else 'do'} not follow, {where}"
        if depend:
            yield f"  {depend} {'depends' if depend == 1 else 'depend'} on a choice, {where}"
        yield ""


def _told(d: Decision) -> Iterator[str]:
    found = f"{d.recomputed:.6g}" if isinstance(d.recomputed, float) else d.recomputed
    values = [f"printed {_cut(d.printed, 40)}"] if d.printed else []
    values += [f"recomputed {found}" if isinstance(d.recomputed, float) else found] if found else []
    said = ": ".join(t for t in (d.statement.place, d.statement.claim) if t)
    yield f"  ✗ {_cut(said)}: {', '.join(values)}"
    if d.comment:
        yield f"    {_cut(d.comment)}"


def _cut(text: str, most: int = _LONGEST) -> str:
    """The beginning of a text, in whole words."""
    return textwrap.shorten(text, most, placeholder=" …")
