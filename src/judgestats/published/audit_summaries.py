"""An audit in a few lines: counts, and the first findings of each source."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

import pandas as pd

from judgestats.published.number_checks import CHECKS
from judgestats.published.statements import DEPENDS, NOT, UNKNOWN, VERDICTS, Decision, tallied
from judgestats.published.table_audits import Audited
from judgestats.typing import Record

#: Number of findings shown of each of several sources, and of a single one.
EACH, ALONE = 5, 20
#: Number of undecidable statements shown of each of several sources.
OPEN = 1
#: Characters shown of a comment, and of the claim before it.
_LONGEST = 110


def coverage(audits: Sequence[Audited]) -> pd.DataFrame:
    """How many printed numbers of each source (if several) were checked in each way, and how many faults were found."""
    rows = []
    for a in audits:
        how = a.numbers()["checked"].value_counts()
        ways = {way: int(how.get(way, 0)) for way in CHECKS}
        rows.append({"source": a.paper, "numbers": int(how.sum()), **ways, "faults": len(a.faults())})
    return _by_source(rows, ["numbers", *CHECKS, "faults"])


def counts(audits: Sequence[Audited]) -> pd.DataFrame:
    """How many verdicts there are of each kind, and ``checks``: a row per source, named where there are several."""
    rows = [{"source": a.paper, **tallied(a.decisions), "checks": len(a.decisions)} for a in audits]
    return _by_source(rows, [*VERDICTS, "checks"])


def _by_source(rows: Sequence[Record], columns: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=[*(["source"] if len(rows) > 1 else []), *columns])


def findings(audits: Sequence[Audited], where: str) -> Iterator[str]:
    """Lines on the first findings that do not follow or cannot be decided, per source; `where` the others are."""
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
            yield from _finding_lines(d)
        if len(odd) > most:
            yield f"  {len(odd) - most} more {'does' if len(odd) - most == 1 else 'do'} not follow, {where}"
        if depend:
            yield f"  {depend} {'depends' if depend == 1 else 'depend'} on a choice, {where}"
        n_unknown = most if len(audits) == 1 else OPEN
        for d in unknown[:n_unknown]:
            yield from _finding_lines(d, "?")
        if len(unknown) > n_unknown:
            yield f"  {len(unknown) - n_unknown} more cannot be decided, {where}"
        yield ""


def _finding_lines(d: Decision, sign: str = "✗") -> Iterator[str]:
    recomputed = f"{d.recomputed:.6g}" if isinstance(d.recomputed, float) else d.recomputed
    recomputed = "" if d.verdict == UNKNOWN else recomputed
    values = [f"printed {_cut(d.printed, 40)}"] if d.printed else []
    values += [f"recomputed {recomputed}" if isinstance(d.recomputed, float) else recomputed] if recomputed else []
    values = values or [d.verdict]
    said = ": ".join(t for t in (d.statement.place, d.statement.claim) if t)
    yield f"  {sign} {_cut(said)}: {', '.join(values)}"
    if d.comment:
        yield f"    {_cut(d.comment)}"


def _cut(text: str, most: int = _LONGEST) -> str:
    """The beginning of a text, in whole words."""
    return textwrap.shorten(text, most, placeholder=" …")
