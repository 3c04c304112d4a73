"""Pages of audits: findings first, each with its arithmetic, then every printed table, cell by cell."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgestats.outputs import MarkedOutputs
from judgestats.published.audit_summaries import coverage
from judgestats.published.claims import CLAIMS
from judgestats.published.printed import parse
from judgestats.published.printed_tables import Book, Cell
from judgestats.published.statements import DEPENDS, FOLLOWS, NOT, UNKNOWN, VERDICTS, Decision, tallied
from judgestats.published.table_audits import Audited, files_of
from judgestats.reporting.formatting import count, noun
from judgestats.reporting.markup import anchor, page
from judgestats.typing import Record

if TYPE_CHECKING:
    from judgestats.reporting.pictures import PagePicture

#: Findings of one rule in one place that are shown before the rest is folded away.
_OPEN = 5
#: Rows of a statement that are coloured as a whole where it does not follow; of more, only those where it breaks.
_MANY = 5
_CLASSES = {FOLLOWS: "yes", NOT: "no", DEPENDS: "maybe", UNKNOWN: "unknown"}
SIGNS = {FOLLOWS: "✓", NOT: "✗", DEPENDS: "≈", UNKNOWN: "?"}
_HEADS = ("what is said", "printed", "recomputed", "verdict", "arithmetic and comment")
_MEANING = {
    NOT: "the other printed numbers give something else, whatever digits were rounded away",
    DEPENDS: "on a rounding, a denominator, a definition or digits that are not printed; the comment names which",
    UNKNOWN: "no printed number can check it, as with experiments whose data are not printed, or a cell that it "
    "needs holds no number",
    FOLLOWS: "the other printed numbers give it, within the precision of their print",
}
#: Makes the figures of a paper.
Figures = Callable[[], "Iterator[PagePicture]"]


def audit_page(
    audits: Sequence[Audited],
    path: str | os.PathLike[str],
    *,
    titles: Mapping[str, str] | None = None,
    figures: Mapping[str, Figures] | None = None,
    example: Mapping[str, Any] | None = None,
    overwrite: bool = False,
) -> Path:
    """Write the page of an audit, with `titles` and `figures` by paper and an `example` before it, if given."""
    outputs = audit_outputs(audits, overwrite)
    outputs.check(path)
    return outputs.write(path, html(audits, titles or {}, figures or {}, example))


def audit_outputs(audits: Sequence[Audited], overwrite: bool, maker: str = "audit") -> MarkedOutputs:
    """Where a page of an audit may go."""
    return MarkedOutputs(maker, files_of(audits), overwrite=overwrite)


def html(
    audits: Sequence[Audited],
    titles: Mapping[str, str],
    figures: Mapping[str, Figures],
    example: Mapping[str, Any] | None,
) -> str:
    """The page of an audit."""
    titles_of = {a.paper: titles.get(a.paper, a.paper) for a in audits}
    total = sum(len(a.decisions) for a in audits)
    lead = (
        f"{noun(total, 'check')} of printed numbers and statements against the other numbers that are printed. "
        "A finding says that a number does not follow from others, not which of them is off, and not that another "
        "experiment could not have given it."
    )
    heading = "Which printed numbers follow from the others"
    return page(
        "audit.html.j2",
        title=f"judgestats: {heading.lower()}",
        heading=heading,
        lead=lead,
        example=example,
        summary=_summary(audits, titles_of),
        verdicts=[{**_verdict(v), "meaning": _MEANING[v]} for v in VERDICTS],
        papers=[_paper(a, titles_of[a.paper], figures.get(a.paper)) for a in audits],
    )


def _summary(audits: Sequence[Audited], titles_of: Mapping[str, str]) -> Record:
    rows, numbers = [], coverage(audits).drop(columns="source", errors="ignore")
    for a, sizes in zip(audits, numbers.to_numpy().tolist(), strict=True):
        tally = tallied(a.decisions)
        counts = [*map(count, sizes), *(count(tally[v]) for v in VERDICTS), count(len(a.decisions))]
        rows.append({"name": titles_of[a.paper], "id": anchor(a.paper), "counts": counts})
    heads = ["paper" if len(audits) > 1 else "table", *numbers.columns, *VERDICTS, "checks"]
    return {"heads": heads, "rows": rows}


def _verdict(verdict: str) -> dict[str, str]:
    return {"name": verdict, "sign": SIGNS[verdict], "class": _CLASSES[verdict]}


def _paper(a: Audited, title: str, figures: Figures | None) -> Record:
    findings = []
    for verdict in (NOT, DEPENDS):
        decisions = [d for d in a.decisions if d.verdict == verdict]
        heading = f"{noun(len(decisions), 'finding')}: {verdict}" if decisions else f"Nothing: {verdict}"
        findings.append({"title": heading, "groups": _findings(decisions, by_place=verdict == NOT)})
    prose = [d for d in a.decisions if d.statement.rule in ("number", "statement", "printed twice")]
    unknown = [d for d in a.decisions if d.verdict == UNKNOWN]
    folded = [
        _folded(name, decisions_of_part)
        for name, decisions_of_part in (
            ("Numbers and statements of the text", prose),
            ("What cannot be decided, and why", unknown),
        )
        if decisions_of_part
    ]
    return {
        "id": anchor(a.paper),
        "paper": a.paper,
        "title": title,
        "cautions": a.cautions,
        "findings": findings,
        "tables": [*_tables(a)],
        "folded": folded,
        "figures": None if figures is None else [*figures()],
    }


def _findings(decisions: Sequence[Decision], *, by_place: bool) -> list[Record]:
    """Findings of one rule together, by place if `by_place`; the first of many open and the rest folded."""
    groups: dict[tuple[str, str], list[Decision]] = {}
    for d in decisions:
        groups.setdefault((d.statement.place if by_place else "", d.statement.rule), []).append(d)
    return [
        {
            "place": place,
            "rule": f"rule: {rule}, {noun(len(group), 'finding')}",
            "found": _listed(group[:_OPEN], place=not by_place),
            "rest": _folded(f"{len(group) - _OPEN} more", group[_OPEN:]) if len(group) > _OPEN else None,
        }
        for (place, rule), group in groups.items()
    ]


def _listed(decisions: Sequence[Decision], *, place: bool = False) -> Record:
    rows = [
        {
            "cells": [*([d.statement.place] if place else []), d.statement.claim, d.printed, _recomputed(d)],
            "verdict": _verdict(d.verdict),
            "comment": d.comment,
            "wrong": d.verdict == NOT,
        }
        for d in decisions
    ]
    return {"heads": ["place", *_HEADS] if place else [*_HEADS], "rows": rows, "placed": place}


def _recomputed(d: Decision) -> str:
    if isinstance(d.recomputed, str):
        return d.recomputed
    return "" if d.recomputed != d.recomputed else f"{d.recomputed:.6g}".replace("-", "−")


def _folded(title: str, decisions: Sequence[Decision]) -> Record:
    counts = ", ".join(f"{v} {count(n)}" for v, n in tallied(decisions).items() if n)
    return {"title": title, "counts": counts, "found": _listed(decisions, place=True)}


def _tables(a: Audited) -> Iterator[Record]:
    verdicts = a.cells()
    for name in a.book.columns:
        if name == CLAIMS:
            continue
        touched = [c for c in verdicts if c[0] == name and a.book.printed(c).readable]
        yield {
            **_table(a.book, name, verdicts),
            "place": f"{a.book.places[name]} " if a.book.places[name] != name else "",
            "heading": f"{name}, {noun(len(touched), 'cell')} checked" if touched else f"{name}, nothing to check",
            "worst": any(verdict_of(c, v) == NOT for c, v in verdicts.items() if c[0] == name),
        }


def _table(book: Book, name: str, verdicts: Mapping[Cell, list[Decision]]) -> Record:
    columns = book.table(name)
    numeric = [i for i, c in enumerate(columns) if any(parse(t).readable for t in columns[c])]
    rows = [[_cell((name, i, c), texts[i], verdicts) for c, texts in columns.items()] for i in range(book.size(name))]
    return {"heads": list(columns), "rows": rows, "numbers": numeric}


def verdict_of(cell: Cell, decisions: Sequence[Decision]) -> str:
    """The worst verdict on a cell itself, or else on its row or within its table; empty where it is an input only."""
    own = [d.verdict for d in decisions if d.statement.printed == cell]
    return min(own or [d.verdict for d in decisions if _within(cell, d)], key=VERDICTS.index, default="")


def _within(cell: Cell, decision: Decision) -> bool:
    """Whether a statement is about a cell: where it breaks, what it names, its row, or a small table as a whole."""
    statement = decision.statement
    if statement.printed is not None or statement.scope.table != cell[0]:
        return False
    if decision.at_fault or statement.subject.cells:
        return cell in (decision.at_fault or statement.subject.cells)
    if decision.verdict != FOLLOWS and len({c[:2] for c in decision.cells}) > _MANY:
        return False  # where it breaks is not known: to colour them all would accuse them all
    return statement.scope.row == cell[1] or all(c[0] == cell[0] for c in decision.cells)


def _cell(cell: Cell, text: str, verdicts: Mapping[Cell, list[Decision]]) -> dict[str, str]:
    verdict = verdicts.get(cell)
    if not verdict or not parse(text).readable:
        return {"text": text, "class": ""}
    heading = "; ".join(dict.fromkeys(f"{d.statement.rule}: {d.verdict}" for d in verdict[:6]))
    twins = [d for d in verdict if d.statement.printed == cell and d.as_printed and d.as_printed != text]
    twin = twins[0].as_printed if twins else ""
    return {"text": text, "class": _CLASSES.get(verdict_of(cell, verdict), "used"), "title": heading, "twin": twin}
