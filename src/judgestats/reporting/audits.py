"""The page of an audit: findings first, each with its arithmetic; then every printed table, cell by cell."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from judgestats.published.auditing import Audited
from judgestats.published.books import Book, Cell
from judgestats.published.briefing import coverage
from judgestats.published.claims import CLAIMS
from judgestats.published.printed import parse
from judgestats.published.statements import DEPENDS, FOLLOWS, NOT, UNKNOWN, VERDICTS, Decision, tallied
from judgestats.reporting.account import head
from judgestats.reporting.markup import Markup, anchor, document, join, row, table, tag
from judgestats.reporting.pages import foot, refuse_path, write
from judgestats.reporting.words import count, noun

#: Findings of one rule in one place that are shown before the rest is folded away.
_OPEN = 5
#: Rows of a statement that are coloured as a whole where it does not follow; of more, only those where it breaks.
_MANY = 5
_CLASSES = {FOLLOWS: "yes", NOT: "no", DEPENDS: "maybe", UNKNOWN: "unknown"}
_SIGNS = {FOLLOWS: "✓", NOT: "✗", DEPENDS: "≈", UNKNOWN: "?"}
_HEADS = ("what is said", "printed", "recomputed", "verdict", "arithmetic and comment")
_MEANING = {
    NOT: "the other printed numbers give something else, whatever digits were rounded away",
    DEPENDS: "on a rounding, a denominator, a definition or digits that are not printed; the comment names which",
    UNKNOWN: "nothing that is printed bears on it, as with experiments whose data are not printed, or a cell that it "
    "needs holds no number",
    FOLLOWS: "the other printed numbers give it, within the precision of their print",
}
_COUNTED = (
    "Numbers are counted first: every one that is printed, by the strongest check on it: recomputed from other printed "
    "numbers, copied (compared with the same quantity printed elsewhere), only bounded (an input of other numbers, or "
    "within bounds), or not touched. Faults are findings that do not follow, those of one altered number or one row "
    "taken together. Then the verdicts of all checks."
)
#: Makes the figures of a paper.
Figures = Callable[[], Iterator[Markup]]


def audit_page(
    audits: Sequence[Audited],
    path: str | os.PathLike[str],
    *,
    titles: Mapping[str, str] | None = None,
    figures: Mapping[str, Figures] | None = None,
) -> Path:
    """Write the page of an audit.

    Parameters
    ----------
    audits : sequence of Audited
        Those of :func:`judgestats.published.audited`.
    path : path
        File to write; its folder is made.
    titles : mapping, optional
        Paper -> its title.
    figures : mapping, optional
        Paper -> figures drawn from its printed numbers.

    Returns
    -------
    pathlib.Path
        The file. The same audits give the same bytes.

    Raises
    ------
    DesignError
        If `path` is a folder, a file that was audited or holds its rules, or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from judgestats.published import audited
    >>> page = audit_page(audited("dark_current"), Path(tempfile.mkdtemp()) / "index.html")
    >>> "Table 6" in page.read_text(encoding="utf-8")
    True
    """
    refuse_path(path, [file for a in audits for file in a.files])
    named = {a.paper: (titles or {}).get(a.paper, a.paper) for a in audits}
    total = sum(len(a.decisions) for a in audits)
    lead = (
        f"{noun(total, 'check')} of printed numbers and statements against the other numbers that are printed. "
        "A finding says that a number does not follow from others, not which of them is off, and not that another "
        "experiment could not have given it."
    )
    sections = [_paper(a, named[a.paper], (figures or {}).get(a.paper)) for a in audits]
    body = [_summary(audits, named), _legend(), tag("main", *sections), foot()]
    title = "Which printed numbers follow from the others"
    return write(path, document(f"judgestats: {title.lower()}", head("audit", title, lead), *body))


def _summary(audits: Sequence[Audited], named: Mapping[str, str]) -> Markup:
    rows, numbers = [], coverage(audits).drop(columns="source", errors="ignore")
    for a, told in zip(audits, numbers.to_numpy().tolist(), strict=True):
        found = tallied(a.decisions)
        link = tag("a", named[a.paper], href=f"#{anchor(a.paper)}")
        cells = [link, *map(count, told), *(count(found[v]) for v in VERDICTS), count(len(a.decisions))]
        rows.append(row(cells, numbers=range(1, len(cells))))
    heads = ["paper" if len(audits) > 1 else "table", *numbers.columns, *VERDICTS, "checks"]
    return join([table(heads, rows, numbers=range(1, len(heads)), class_="audit-summary"), tag("p", _COUNTED)])


def _legend() -> Markup:
    items = [tag("li", _verdict(v), f" {_MEANING[v]}") for v in VERDICTS]
    return tag("ul", *items, class_="legend")


def _verdict(verdict: str) -> Markup:
    return tag("span", f"{_SIGNS[verdict]} {verdict}", class_=f"verdict {_CLASSES[verdict]}")


def _paper(a: Audited, title: str, figures: Figures | None) -> Markup:
    parts: list[Markup] = [tag("h2", title)]
    for verdict in (NOT, DEPENDS):
        found = [d for d in a.decisions if d.verdict == verdict]
        parts.append(tag("h3", f"{noun(len(found), 'finding')}: {verdict}" if found else f"Nothing: {verdict}"))
        parts.append(_findings(found, apart=verdict == NOT))
    parts += [tag("h3", "Printed tables, cell by cell"), _key(), *_tables(a)]
    prose = [d for d in a.decisions if d.statement.rule in ("number", "statement", "printed twice")]
    if prose:
        parts.append(_folded("Numbers and statements of the text", prose))
    unknown = [d for d in a.decisions if d.verdict == UNKNOWN]
    if unknown:
        parts.append(_folded("What cannot be decided, and why", unknown))
    if figures is not None:
        drawn = tag("div", *figures(), class_="figures")
        parts += [tag("h3", "Figures drawn again from the printed counts and means"), drawn]
    return tag("section", *parts, id=anchor(a.paper))


def _findings(found: Sequence[Decision], *, apart: bool) -> Markup:
    """Findings of one rule together, by place if `apart`; the first of many open and the rest folded."""
    groups: dict[tuple[str, str], list[Decision]] = {}
    for d in found:
        groups.setdefault((d.statement.place if apart else "", d.statement.rule), []).append(d)
    parts = []
    for (place, rule), here in groups.items():
        told = tag("h4", f"{place} ", tag("span", f"rule: {rule}, {noun(len(here), 'finding')}", class_="muted"))
        shown, rest = here[:_OPEN], here[_OPEN:]
        more = [_folded(f"{len(rest)} more", rest)] if rest else []
        parts.append(tag("div", told, _listed(shown, place=not apart), *more))
    return join(parts)


def _listed(found: Sequence[Decision], *, place: bool = False) -> Markup:
    rows = []
    for d in found:
        where = [d.statement.place] if place else []
        cells = [*where, d.statement.claim, d.printed, _recomputed(d), _verdict(d.verdict), d.comment]
        rows.append(row(cells, class_=_CLASSES[d.verdict] if d.verdict == NOT else None))
    heads = ["place", *_HEADS] if place else [*_HEADS]
    return table(heads, rows, class_="findings placed" if place else "findings")


def _recomputed(d: Decision) -> str:
    if isinstance(d.recomputed, str):
        return d.recomputed
    return "" if d.recomputed != d.recomputed else f"{d.recomputed:.6g}".replace("-", "−")


def _folded(title: str, found: Sequence[Decision]) -> Markup:
    told = ", ".join(f"{v} {count(n)}" for v, n in tallied(found).items() if n)
    return tag("details", tag("summary", f"{title} ", tag("span", told, class_="muted")), _listed(found, place=True))


# ---------------------------------------------------------------- tables


def _key() -> Markup:
    swatch = [
        tag("span", "12", class_=f"cell {_CLASSES[v]}", title=v) + Markup(f" {v} &nbsp; ") for v in VERDICTS
    ]  # fmt: skip
    used = Markup(tag("span", "12", class_="cell used") + " only an input of others &nbsp; ")
    alone = Markup(tag("span", "12", class_="cell") + " no other printed number bears on it")
    return tag("p", *map(Markup, swatch), used, alone, class_="small")


def _tables(a: Audited) -> Iterator[Markup]:
    verdicts = a.cells()
    for name in a.book.columns:
        if name == CLAIMS:
            continue
        touched = [c for c in verdicts if c[0] == name and a.book.printed(c).readable]
        body = _table(a.book, name, verdicts)
        title = f"{a.book.places[name]} " if a.book.places[name] != name else ""
        told = f"{name}, {noun(len(touched), 'cell')} checked" if touched else f"{name}, nothing to check"
        worst = any(_own(c, v) == NOT for c, v in verdicts.items() if c[0] == name)
        summary = tag("summary", title, tag("span", told, class_="muted"))
        yield tag("details", summary, body, open=True if worst else None)


def _table(book: Book, name: str, verdicts: Mapping[Cell, list[Decision]]) -> Markup:
    columns = book.table(name)
    numeric = [i for i, c in enumerate(columns) if any(parse(t).readable for t in columns[c])]
    rows = [
        row([_cell((name, i, c), texts[i], verdicts) for c, texts in columns.items()], numbers=numeric)
        for i in range(book.size(name))
    ]
    return table(list(columns), rows, numbers=numeric, class_="printed")


def _own(cell: Cell, found: Sequence[Decision]) -> str:
    """The worst verdict on a cell itself, or else on its row or within its table; empty where it is an input only."""
    own = [d.verdict for d in found if d.statement.printed == cell]
    return min(own or [d.verdict for d in found if _within(cell, d)], key=VERDICTS.index, default="")


def _within(cell: Cell, decision: Decision) -> bool:
    """Whether a statement is about a cell: where it breaks, what it names, its row, or a small table as a whole."""
    said = decision.statement
    if said.printed is not None or said.table != cell[0]:
        return False
    if decision.at_fault or said.about:
        return cell in (decision.at_fault or said.about)
    if decision.verdict != FOLLOWS and len({c[:2] for c in decision.cells}) > _MANY:
        return False  # where it breaks is not known: to colour them all would accuse them all
    return said.row == cell[1] or all(c[0] == cell[0] for c in decision.cells)


def _cell(cell: Cell, text: str, verdicts: Mapping[Cell, list[Decision]]) -> Markup | str:
    found = verdicts.get(cell)
    if not found or not parse(text).readable:
        return text
    verdict = _own(cell, found)
    told = "; ".join(dict.fromkeys(f"{d.statement.rule}: {d.verdict}" for d in found[:6]))
    twins = [d for d in found if d.statement.printed == cell and d.shown and d.shown != text]
    twin = [tag("span", f" {twins[0].shown}", class_="twin")] if twins else []
    return tag("span", text, *twin, class_=f"cell {_CLASSES.get(verdict, 'used')}", title=told)
