"""The audit: which printed numbers of a paper, or of any table, follow from its other printed numbers."""

from __future__ import annotations

import ast
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from judgestats.csv_files import as_csv
from judgestats.errors import AuditError, refuse_unknown, suggestion
from judgestats.outputs import Outputs
from judgestats.published.catalogue import data_folder, declared, load, places, printed_table
from judgestats.published.printed import parse
from judgestats.published.printed_tables import Book, Cell, book
from judgestats.published.rules import RULES, statements
from judgestats.published.selections import Selections, copied, nodes, template
from judgestats.published.statements import DEPENDS, NOT, UNKNOWN, VERDICTS, Decision, Statement, decide, tallied

# ---- Claims of the text: numbers and statements against their predicates, and quantities printed twice ---------------

#: Name of the table of claims.
CLAIMS = "claims"
NEEDED = ("id", "place", "claim", "quantity", "printed", "unit", "predicate", "otherwise", "comment")
#: Unit of a claim that is not a number.
STATEMENT = "statement"
#: Unit -> factor that converts its numbers to the common unit.
_SCALES = {"percent": 0.01}


def claimed(printed: Book) -> list[Statement]:
    """The statements that the table ``claims`` makes."""
    columns = printed.table(CLAIMS)
    missing = [c for c in NEEDED if c not in columns]
    if missing:
        raise AuditError(f"claims lacks the columns {', '.join(missing)}. Got: {', '.join(columns)}.")
    ids = list(columns["id"])
    twice = sorted({i for i in ids if ids.count(i) > 1})
    if twice:
        raise AuditError(f"claims has ids that are used twice: {', '.join(twice)}.")
    rows = [{c: columns[c][i] for c in (*NEEDED, *({"fault"} & columns.keys()))} for i in range(len(ids))]
    repeated, again = _printed_twice(rows)
    stated = [i for i, r in enumerate(rows) if r["predicate"].strip() or i not in repeated]
    return [_claim(i, rows[i]) for i in stated] + again


def _claim(i: int, r: dict[str, str]) -> Statement:
    parts = [p.partition("=") for p in r["otherwise"].split("||") if p.strip()]
    for name, sign, expression in parts:
        if not (sign and name.strip() and expression.strip()):
            raise AuditError(f"claim {r['id']!r}: otherwise is {r['otherwise']!r}. Write name = expression || ...")
    number = r["unit"] != STATEMENT
    return Statement(
        "number" if number else STATEMENT, r["place"], r["claim"], r["predicate"].strip(),
        printed=(CLAIMS, i, "printed") if number else None, said=r["printed"],
        otherwise=tuple((name.strip(), expression.strip()) for name, _, expression in parts),
        comment=r["comment"], stands=(CLAIMS, i, "printed"), fault=r.get("fault", ""),
    )  # fmt: skip


def _printed_twice(rows: list[dict[str, str]]) -> tuple[set[int], list[Statement]]:
    """Rows whose quantity is printed in several places, and statements that compare each with the most precise one."""
    groups: dict[str, list[int]] = {}
    for i, r in enumerate(rows):
        if r["quantity"] and r["unit"] != STATEMENT and parse(r["printed"]).readable:
            groups.setdefault(r["quantity"], []).append(i)
    several = [here for here in groups.values() if len(here) > 1]
    for r in rows:
        if r["unit"] == "proportion" and parse(r["printed"]).unit == "%":
            raise AuditError(f"claim {r['id']!r} prints {r['printed']!r} in the unit 'proportion'. Write 'percent'.")
    made = []
    for here in several:
        best = max(here, key=lambda i: parse(rows[i]["printed"]).decimals + 2 * (rows[i]["unit"] == "proportion"))
        made += [_again(rows[i]["quantity"], rows[i], rows[best], i) for i in here if i != best]
    return {i for here in several for i in here}, made


def _again(quantity: str, one: dict[str, str], other: dict[str, str], i: int) -> Statement:
    ratio = _SCALES.get(other["unit"], 1.0) / _SCALES.get(one["unit"], 1.0) if one["unit"] != other["unit"] else 1.0
    twin = f"claims.printed(id={other['id']!r})"
    twin = twin if ratio == 1 else f"{ratio:g} * {twin}"
    return Statement(
        "printed twice", one["place"], f"{one['claim']}, as in {other['place']}", twin,
        printed=(CLAIMS, i, "printed"), comment=f"quantity {quantity}", fault=one.get("fault", ""),
    )  # fmt: skip


# ---- Summary of an audit: how each printed number was checked, and how many faults its findings are ------------------

RECOMPUTED, COPIED, BOUNDED, UNTOUCHED = "recomputed", "copied", "only bounded", "not touched"
#: How a printed number was checked, the strongest first.
CHECKS = (RECOMPUTED, COPIED, BOUNDED, UNTOUCHED)
#: Columns of the published tables that hold labels, or a number printed once for all rows.
LABELS = frozenset({"temperature", "sample", "row", "runs", "experts", "tasks"})
#: A finding with at most this many cells is counted with a smaller finding whose cells it contains.
_SMALL = 12


def printed_numbers(book: Book, *, labels: frozenset[str] = frozenset()) -> list[Cell]:
    """Every cell in which a number is printed, those of the text included, but for columns of `labels`."""
    columns = [(t, c) for t in book.columns for c in book.columns[t] if c not in labels]
    cells = [(t, i, c) for t, c in columns for i in range(book.size(t)) if t != CLAIMS]
    claims = book.columns.get(CLAIMS)
    cells += [(CLAIMS, i, "printed") for i, u in enumerate(claims["unit"]) if u != STATEMENT] if claims else []
    return [c for c in cells if parse(book.text(c)).readable]


def checked(decisions: Sequence[Decision], book: Book) -> dict[Cell, str]:
    """How each cell that a verdict uses was checked: the strongest of :data:`CHECKS`."""
    found: dict[Cell, str] = {}
    for d in decisions:
        if d.verdict == UNKNOWN:
            continue
        for cell, how in [*dict.fromkeys(d.cells, BOUNDED).items(), *_twins(d, book)]:
            found[cell] = min(found.get(cell, UNTOUCHED), how, key=CHECKS.index)
    return found


def _twins(d: Decision, book: Book) -> Iterator[tuple[Cell, str]]:
    """Cells that a statement compares with a number made of others, or with a copy."""
    said = d.statement
    selections, tree = Selections(book, said.expression, said.table, said.row), template(said.expression)[0]
    if said.printed is None:
        for one, other in _equalities(tree):
            sides = [selections.cells(c[0]) if (c := copied(side)) else () for side in (one, other)]
            if all(sides):
                yield from ((c, COPIED) for side in sides for c in side)
            elif any(nodes(other if sides[0] else one)):
                yield from ((c, RECOMPUTED) for side in sides for c in side)
    elif copy := copied(tree):
        cells = [*selections.cells(copy[0]), *([said.printed] if isinstance(said.printed, tuple) else [])]
        yield from ((c, COPIED) for c in cells)
    elif isinstance(said.printed, tuple) and d.cells - {said.printed}:
        yield said.printed, RECOMPUTED


def _equalities(node: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The equalities that must all hold."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        for part in node.values:
            yield from _equalities(part)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "all" and node.args:
        yield from _equalities(node.args[0])
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
        yield node.left, node.comparators[0]


def faults(decisions: Sequence[Decision]) -> list[list[Decision]]:
    """The findings that do not follow, those of one fault together (docs/audit.md says when they are)."""
    odd = [d for d in decisions if d.verdict == NOT]
    groups: list[list[Decision]] = []
    for d in odd:
        near = [g for g in groups if any(_one_fault(d, other) for other in g)]
        groups = [g for g in groups if g not in near] + [[x for g in near for x in g] + [d]]
    order = {id(d): i for i, d in enumerate(odd)}
    return sorted((sorted(g, key=lambda d: order[id(d)]) for g in groups), key=lambda g: order[id(g[0])])


def _one_fault(a: Decision, b: Decision) -> bool:
    if a.fault or b.fault:
        return a.fault == b.fault
    one, other = (d.statement.row_of for d in (a, b))
    if one is not None and one == other:
        return True
    small, large = sorted((a.cells, b.cells), key=len)
    if small and small <= large and len(large) <= _SMALL:
        return True
    inputs = [d.cells - {d.statement.printed} for d in (a, b)]
    within = bool(inputs[0]) and (inputs[0] <= inputs[1] or inputs[1] <= inputs[0])
    if isinstance(a.recomputed, str) or isinstance(b.recomputed, str):
        return within and inputs[0] == inputs[1]
    return within and math.isclose(abs(a.recomputed), abs(b.recomputed), rel_tol=1e-9, abs_tol=1e-12)


# ---- The audit itself ------------------------------------------------------------------------------------------------

PAPERS = ("merchant_risk", "debiasing", "dark_current", "consensus_illusion", "rationalization")
COLUMNS = [
    *("paper", "place", "claim", "printed", "recomputed", "rule", "verdict", "fault", "comment"),
    *("table", "row", "column"),
]
#: Name of a single user-supplied table in its rules.
OWN = "table"


def audit(
    source: str | Path | pd.DataFrame | Mapping[str, pd.DataFrame] | None = None,
    *,
    rules: str | Path | Sequence[Mapping[str, Any]] | None = None,
    claims: str | Path | pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Check which printed numbers follow from the other printed numbers.

    Parameters
    ----------
    source : str, path, DataFrame or mapping of DataFrames, optional
        A paper of the package (``merchant_risk``, ``debiasing``, ``dark_current``, ``consensus_illusion``,
        ``rationalization``), all of them by default; a CSV file; or a table of your own, called ``table`` in the
        rules, or several by name. Keep printed numbers as text (``pd.read_csv(path, dtype=str)``): 0.30 as a float has
        lost its last digit, and so its precision. A file is read as text.
    rules : path or sequence of mappings, optional
        A rules file (TOML: ``[[rule]]`` tables), or the same as mappings. Required except for the papers.
    claims : DataFrame or path, optional
        Numbers and statements of the prose, as a table or a CSV file: ``id, place, claim, quantity, printed, unit,
        predicate, otherwise, comment``, and ``fault`` if several findings may have one.

    Returns
    -------
    pandas.DataFrame
        A finding per row: ``paper``, ``place``, ``claim``, ``printed``, ``recomputed``, ``rule``, ``verdict``
        (``follows``, ``does not follow``, ``depends``: on digits, a rounding, a denominator or a definition that the
        comment names; ``cannot be decided``), ``fault`` (of what does not follow: findings of one misprint share it;
        empty where a finding is one by itself), ``comment`` (the arithmetic written out), ``table``, ``row`` (counted
        from 1; missing where it is about several) and ``column`` (empty where it is about several). In the order of
        the rules.

    Raises
    ------
    AuditError
        If the paper, a rule, a parameter, a table or a column is not known. A cell that a rule needs as a number and
        that holds none is not an error: statements that use it cannot be decided, and the comment names the cell.

    See Also
    --------
    judgestats.published.reproduce : Printed numbers recomputed.

    Notes
    -----
    A printed decimal represents every number that rounds to it, half a unit of its last digit either way; a whole
    number is exact unless its column is in ``rounded``. The twin of a number is computed from the others as printed,
    and its range from theirs, cell by cell, to first order; what is printed follows where half-up, half-even or
    formatting a double gives it, or where the ranges meet. A finding says that a number does not follow from others; it
    does not say which of them is wrong, nor that another experiment could not have given it.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"judge": ["A", "B"], "wins": ["214", "180"], "rate": [".535", ".460"]})
    >>> rule = {"rule": "share", "share": "rate", "count": "wins", "of": 400}
    >>> audit(table, rules=[rule])[["claim", "printed", "recomputed", "verdict"]]
                    claim printed  recomputed          verdict
    0  A: share of wins    .535       0.535          follows
    1  B: share of wins    .460       0.450  does not follow
    """
    return all_findings(audited(source, rules=rules, claims=claims))


def all_findings(audits: Sequence[Audited]) -> pd.DataFrame:
    """The findings of several sources in one table: the columns of :func:`audit`."""
    return pd.concat([a.findings() for a in audits], ignore_index=True)


def files_of(audits: Sequence[Audited]) -> list[Path]:
    """All files that were read."""
    return [file for a in audits for file in a.files]


#: Ending -> what a file with it holds.
_HOLDS = {".html": "page", ".htm": "page", ".csv": "findings", ".jsonl": "findings"}


def content_of(path: str | Path, audits: Sequence[Audited]) -> str:
    """Whether a file is to hold a page or findings, by its ending; never a file that was read."""
    Outputs(files_of(audits), overwrite=True).check(path)
    ending = Path(path).suffix.lower()
    if ending not in _HOLDS:
        raise AuditError(f"{str(path)!r} has an unknown ending. Allowed: .html (a page), .csv or .jsonl (findings).")
    return _HOLDS[ending]


def write_findings(audits: Sequence[Audited], path: str | Path, *, overwrite: bool = False) -> Path:
    """Write the findings, with the columns of :func:`audit`: CSV, or JSON lines where the file ends so."""
    table = all_findings(audits)
    lines = Path(path).suffix.lower() == ".jsonl"
    text = (
        table.to_json(orient="records", lines=True, force_ascii=False, double_precision=15) if lines else as_csv(table)
    )
    with (
        Outputs(files_of(audits), overwrite=overwrite) as outputs,
        outputs.open(path) as file,
    ):
        file.write(text)
    return Path(path)


@dataclass(frozen=True, eq=False)
class Audited:
    """A paper, or tables of your own, and the verdict on each checked statement, with the files they were read from."""

    paper: str
    book: Book
    decisions: tuple[Decision, ...]
    files: tuple[Path, ...] = ()
    cautions: tuple[str, ...] = ()  # on rules whose options contradict each other, or that accuse most numbers

    def findings(self) -> pd.DataFrame:
        """A row per verdict: the columns of :func:`audit`."""
        rows = [
            (self.paper, s.place, s.claim, d.printed, d.recomputed, s.rule, d.verdict, d.fault, d.comment, *s.location)
            for d in self.decisions
            for s in [d.statement]
        ]
        frame = pd.DataFrame(rows, columns=COLUMNS)
        return frame.assign(row=(frame["row"] + 1).where(frame["row"] >= 0).astype("Int64"))

    def numbers(self) -> pd.DataFrame:
        """A row per printed number, with how it was ``checked`` and the worst ``verdict`` on it."""
        how, decisions = checked(self.decisions, self.book), self.cells()
        rows = []
        for cell in printed_numbers(self.book, labels=LABELS if self.paper in PAPERS else frozenset()):
            verdicts = [d.verdict for d in decisions.get(cell, ()) if d.statement.printed == cell]
            worst = min(verdicts, key=VERDICTS.index, default="")
            table, row, column = cell
            rows.append((self.paper, table, row + 1, column, self.book.text(cell), how.get(cell, UNTOUCHED), worst))
        return pd.DataFrame(rows, columns=["paper", "table", "row", "column", "printed", "checked", "verdict"])

    def faults(self) -> list[list[Decision]]:
        """The findings that do not follow, grouped by fault (one altered number, or one swapped row)."""
        return faults(self.decisions)

    def cells(self) -> dict[Cell, list[Decision]]:
        """Every printed cell that a verdict uses -> the verdicts, those on the cell itself first."""
        found: dict[Cell, list[Decision]] = {}
        for d in self.decisions:
            for cell in d.cells:
                found.setdefault(cell, []).append(d)
        return {c: sorted(ds, key=lambda d: d.statement.printed != c) for c, ds in found.items()}


def audited(
    source: str | Path | pd.DataFrame | Mapping[str, pd.DataFrame] | None = None,
    *,
    rules: str | Path | Sequence[Mapping[str, Any]] | None = None,
    claims: str | Path | pd.DataFrame | None = None,
) -> list[Audited]:
    """The audit with the printed cells that each verdict rests on, as pages need it.

    Parameters
    ----------
    source, rules, claims
        Those of :func:`audit`.

    Returns
    -------
    list of Audited
        One a paper.

    Raises
    ------
    AuditError
        As :func:`audit`.

    See Also
    --------
    judgestats.audit : Which printed numbers follow from the others.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"judge": ["A", "B"], "wins": ["214", "180"], "rate": [".535", ".460"]})
    >>> [found] = audited(table, rules=[{"rule": "share", "share": "rate", "count": "wins", "of": 400}])
    >>> [d.verdict for d in found.decisions]
    ['follows', 'does not follow']
    """
    if source is None or (isinstance(source, str) and source in PAPERS):
        if rules is not None or claims is not None:
            raise AuditError("The papers come with their rules and claims. Leave rules= and claims= out.")
        return [_of_paper(p) for p in ([str(source)] if source else PAPERS)]
    tables, name = _tables(source)
    if rules is None and claims is None:
        raise AuditError(
            f"{name!r} needs rules=, a file or a list. Papers, which need none: {', '.join(PAPERS)}.",
            advice=(("rules", None),),
        )
    prose = _claims(claims)
    printed = book({**tables, **({CLAIMS: prose} if prose is not None else {})})
    made = statements(printed, declared(rules)) + (claimed(printed) if prose is not None else [])
    files = tuple(Path(f) for f in (source, rules, claims) if isinstance(f, str | Path))
    decisions = [decide(s, printed) for s in made]
    doubts = _cautions(decisions)
    decisions = [_with_caution(d, doubts.get(_rule_of(d), "")) for d in decisions]
    told = tuple(f"Rule {', '.join(str(p) for p in rule if p)}: {why}." for rule, why in doubts.items())
    return [Audited(name, printed, tuple(decisions), files, told)]


#: Fewest findings of a rule by which it may accuse most of what it reads.
_FEWEST = 3


def _rule_of(d: Decision) -> tuple[int, str]:
    return d.statement.number, d.statement.rule


def _cautions(decisions: Sequence[Decision]) -> dict[tuple[int, str], str]:
    """Rules whose options contradict each other, or that accuse most of what they read, and why to look again."""
    of: dict[tuple[int, str], list[Decision]] = {}
    for d in decisions:
        if d.statement.rule in RULES:
            of.setdefault(_rule_of(d), []).append(d)
    doubts = {}
    for rule, own in of.items():
        why = list(dict.fromkeys(d.statement.caution for d in own if d.statement.caution))
        accused, decided = sum(d.verdict == NOT for d in own), sum(d.verdict != UNKNOWN for d in own)
        if accused >= _FEWEST and 2 * accused > decided:
            why.append(f"it accuses {accused} of the {decided} that it decides: see whether its options fit the table")
        if why:
            doubts[rule] = "; ".join(why)
    return doubts


def _with_caution(d: Decision, why: str) -> Decision:
    if d.verdict != NOT or not why:
        return d
    return replace(
        d, comment="; ".join(p for p in (d.comment.removesuffix("."), f"caution about the rule: {why}") if p)
    )


@lru_cache(maxsize=8)
def _of_paper(paper: str) -> Audited:
    printed, made = paper_statements(paper)
    return Audited(paper, printed, tuple(decide(s, printed) for s in made), tuple((data_folder() / paper).iterdir()))


def paper_statements(paper: str) -> tuple[Book, tuple[Statement, ...]]:
    """The printed cells of a paper, and all statements checked on it."""
    where = places(paper)
    printed = book({name: load(f"{paper}/{name}", printed=True) for name in where}, where)
    made = statements(printed, declared(data_folder() / paper / "rules.toml"))
    return printed, (*made, *(claimed(printed) if CLAIMS in printed.columns else []))


def _claims(claims: str | Path | pd.DataFrame | None) -> pd.DataFrame | None:
    if not isinstance(claims, str | Path):
        return claims
    if not Path(claims).is_file():
        raise AuditError(f"There is no file of claims {str(claims)!r}.")
    return printed_table(Path(claims))


def _tables(source: str | Path | pd.DataFrame | Mapping[str, pd.DataFrame]) -> tuple[Mapping[str, pd.DataFrame], str]:
    if isinstance(source, pd.DataFrame):
        return {OWN: source}, OWN
    if isinstance(source, Mapping):
        return source, ", ".join(map(str, source))
    if not isinstance(source, str | Path):
        raise AuditError(
            f"source is a {type(source).__name__}. Allowed: a DataFrame, a mapping of them, a CSV file, or a paper:"
            f" {', '.join(PAPERS)}."
        )
    path = Path(source)
    if not path.is_file():
        near = suggestion(str(source), PAPERS)
        raise AuditError(f"{str(source)!r} is neither a file nor a paper. Papers: {', '.join(PAPERS)}.{near}")
    return {OWN: printed_table(path)}, path.stem


# ---- An audit in a few lines: counts, and the first findings of each source ------------------------------------------

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
    table = pd.DataFrame(rows, columns=["source", "numbers", *CHECKS, "faults"])
    return table if len(audits) > 1 else table.drop(columns="source")


def counts(audits: Sequence[Audited]) -> pd.DataFrame:
    """How many verdicts there are of each kind, and ``checks``: a row per source, named where there are several."""
    rows = [{"source": a.paper, **tallied(a.decisions), "checks": len(a.decisions)} for a in audits]
    table = pd.DataFrame(rows, columns=["source", *VERDICTS, "checks"])
    return table if len(audits) > 1 else table.drop(columns="source")


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
        shown = most if len(audits) == 1 else OPEN
        for d in unknown[:shown]:
            yield from _finding_lines(d, "?")
        if len(unknown) > shown:
            yield f"  {len(unknown) - shown} more cannot be decided, {where}"
        yield ""


def _finding_lines(d: Decision, sign: str = "✗") -> Iterator[str]:
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


# ---- Printed numbers recomputed --------------------------------------------------------------------------------------

REPRODUCED = ["paper", "place", "quantity", "printed", "recomputed", "shown", "verdict", "comment"]


def reproduce(paper: str | None = None) -> pd.DataFrame:
    """Recompute the printed numbers of a paper from its other printed numbers.

    Like :func:`judgestats.audit`, but for numbers only; statements of the text are left out.

    Parameters
    ----------
    paper : str, optional
        ``merchant_risk``, ``debiasing``, ``dark_current``, ``consensus_illusion`` or ``rationalization``; all by
        default.

    Returns
    -------
    pandas.DataFrame
        ``paper``, ``place``, ``quantity``, ``printed`` (text), ``recomputed`` (number; NaN where no other printed
        number determines it), ``shown`` (recomputed, in the printed precision), ``verdict`` (those of
        :func:`judgestats.audit`), ``comment`` (the arithmetic).

    Raises
    ------
    AuditError
        If the paper is not known.

    See Also
    --------
    load : One published table.
    judgestats.audit : Which printed numbers follow from the others.

    Examples
    --------
    >>> result = reproduce("dark_current")
    >>> row = result["quantity"].str.contains("Qwen32B, raw delta0.*wilson interval, high")
    >>> result.loc[row, ["printed", "shown", "verdict"]].head(1).to_dict("records")
    [{'printed': '0.3433', 'shown': '0.3433', 'verdict': 'follows'}]
    """
    if paper is not None:
        refuse_unknown(paper, PAPERS, f"No paper {paper!r}", "Papers", error=AuditError)
    rows = [
        (a.paper, d.statement.place, d.statement.claim, d.printed, d.recomputed, d.shown, d.verdict, d.comment)
        for a in audited(paper)
        for d in a.decisions
        if d.statement.printed is not None
    ]
    return pd.DataFrame(rows, columns=REPRODUCED)
