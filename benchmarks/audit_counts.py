"""The counts of the audit, for README.md (one sentence) and docs/audit.md (a table), and the table of its rules.

python benchmarks/audit_counts.py        # writes the blocks between the marks
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from judgestats.published.audit_summaries import coverage
from judgestats.published.rules import RULES
from judgestats.published.statements import DEPENDS, NOT, UNKNOWN, tallied
from judgestats.published.table_audits import Audited, audited

ROOT = Path(__file__).parents[1]
#: Verdicts that are counted beside the numbers.
ORDER = (NOT, DEPENDS, UNKNOWN)


def table(found: Sequence[Audited]) -> str:
    """The counts as a Markdown table: numbers first, then faults and checks."""
    numbers = coverage(found).set_index("source")
    heads = [*numbers.columns[:-1], "distinct faults", *(f"checks: {v}" for v in ORDER)]
    lines = [f"| paper | {' | '.join(heads)} |", "|---|" + "---:|" * len(heads)]
    for audit, counts in zip(found, numbers.to_numpy().tolist(), strict=True):
        cells = [*counts, *(tallied(audit.decisions)[v] for v in ORDER)]
        lines.append(f"| {audit.paper} | {' | '.join(f'{c:,}' for c in cells)} |")
    return "\n".join(lines)


def sentence(found: Sequence[Audited]) -> str:
    """The totals in one sentence."""
    n = coverage(found).drop(columns="source").sum()
    return (
        f"Which printed numbers follow from the other printed numbers? Of {n['numbers']:,} numbers in five papers "
        f"{n['recomputed']:,} can be\nrecomputed and {n['copied']:,} compared with a copy; they contain "
        f"{n['faults']:,} distinct faults ([by paper](docs/audit.md#five-papers))."
    )


def rules(_: Sequence[Audited]) -> str:
    """The rules with the parameters that they need and take."""
    lines = ["| rule | about | needs | takes |", "|---|---|---|---|"]
    for r in RULES.values():
        needs, takes = (", ".join(f"`{name}`" for name in names) for names in (r.needs, r.takes))
        lines.append(f"| `{r.name}` | {r.about.removesuffix('.')} | {needs} | {takes} |")
    return "\n".join(lines)


README, AUDIT = ROOT / "README.md", ROOT / "docs" / "audit.md"
#: Page, name of the block, and what makes it.
BLOCKS = ((README, "counts", sentence), (AUDIT, "counts", table), (AUDIT, "rules", rules))


def written(page: str, name: str, block: str) -> str:
    """A page with the text between the marks of this name replaced."""
    begin, end = f"<!-- {name}, written by benchmarks/audit_counts.py -->", f"<!-- end of {name} -->"
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"no marks of {name!r}: {begin} ... {end}")
    return f"{before}{begin}\n{block}\n{end}{after}"


if __name__ == "__main__":
    audits = audited()
    for path, name, make in BLOCKS:
        path.write_text(written(path.read_text(encoding="utf-8"), name, make(audits)), encoding="utf-8")
