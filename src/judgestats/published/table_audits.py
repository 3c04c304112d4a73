"""The audit: which printed numbers of a paper, or of any table, follow from its other printed numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import pandas as pd

from judgestats.arguments import checked_arguments
from judgestats.errors import AuditError, refuse_unknown, suggestion
from judgestats.outputs import Outputs
from judgestats.package_data import data_folder
from judgestats.published.catalogue import load, places
from judgestats.published.claims import CLAIMS, claimed
from judgestats.published.declared_rules import declared, statements
from judgestats.published.number_checks import LABELS, UNTOUCHED, checked, faults, printed_numbers
from judgestats.published.printed_tables import Book, Cell, book, printed_table
from judgestats.published.rule_specs import Declaration
from judgestats.published.rules import RULES
from judgestats.published.statements import NOT, UNKNOWN, VERDICTS, Decision, Statement, decide

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
    rules: str | Path | Sequence[Declaration] | None = None,
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
    return Outputs(files_of(audits), overwrite=overwrite).write_table(path, all_findings(audits))


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
        decisions: dict[Cell, list[Decision]] = {}
        for d in self.decisions:
            for cell in d.cells:
                decisions.setdefault(cell, []).append(d)
        return {c: sorted(ds, key=lambda d: d.statement.printed != c) for c, ds in decisions.items()}


def audited(
    source: str | Path | pd.DataFrame | Mapping[str, pd.DataFrame] | None = None,
    *,
    rules: str | Path | Sequence[Declaration] | None = None,
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
    checks = statements(printed, declared(rules)) + (claimed(printed) if prose is not None else [])
    files = tuple(Path(f) for f in (source, rules, claims) if isinstance(f, str | Path))
    decisions = [decide(s, printed) for s in checks]
    doubts = _cautions(decisions)
    decisions = [_with_caution(d, doubts.get(_rule_of(d), "")) for d in decisions]
    cautions = tuple(f"Rule {', '.join(str(p) for p in rule if p)}: {why}." for rule, why in doubts.items())
    return [Audited(name, printed, tuple(decisions), files, cautions)]


#: Fewest findings of a rule by which it may accuse most of what it reads.
_FEWEST = 3


def _rule_of(d: Decision) -> tuple[int, str]:
    return d.statement.number, d.statement.rule


def _cautions(decisions: Sequence[Decision]) -> dict[tuple[int, str], str]:
    """Rules to look at again, and why: their options contradict each other, or most of what they read fails."""
    of: dict[tuple[int, str], list[Decision]] = {}
    for d in decisions:
        if d.statement.rule in RULES:
            of.setdefault(_rule_of(d), []).append(d)
    doubts = {}
    for rule, own in of.items():
        why = list(dict.fromkeys(d.statement.notes.caution for d in own if d.statement.notes.caution))
        accused, decided = sum(d.verdict == NOT for d in own), sum(d.verdict != UNKNOWN for d in own)
        if accused >= _FEWEST and 2 * accused > decided:
            why.append(f"it accuses {accused} of the {decided} that it decides: see whether its options fit the table")
        if why:
            doubts[rule] = "; ".join(why)
    return doubts


def _with_caution(d: Decision, why: str) -> Decision:
    if d.verdict != NOT or not why:
        return d
    parts = (d.comment.removesuffix("."), f"caution about the rule: {why}")
    return replace(d, comment="; ".join(filter(None, parts)))


@lru_cache(maxsize=8)
def _of_paper(paper: str) -> Audited:
    printed, checks = paper_statements(paper)
    return Audited(paper, printed, tuple(decide(s, printed) for s in checks), tuple((data_folder() / paper).iterdir()))


def paper_statements(paper: str) -> tuple[Book, tuple[Statement, ...]]:
    """The printed cells of a paper, and all statements checked on it."""
    where = places(paper)
    printed = book({name: load(f"{paper}/{name}", printed=True) for name in where}, where)
    rules = statements(printed, declared(data_folder() / paper / "rules.toml"))
    return printed, (*rules, *(claimed(printed) if CLAIMS in printed.columns else []))


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


REPRODUCED = ["paper", "place", "quantity", "printed", "recomputed", "shown", "verdict", "comment"]


@checked_arguments
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
        (a.paper, d.statement.place, d.statement.claim, d.printed, d.recomputed, d.as_printed, d.verdict, d.comment)
        for a in audited(paper)
        for d in a.decisions
        if d.statement.printed is not None
    ]
    return pd.DataFrame(rows, columns=REPRODUCED)
