"""The counts of the README: what of each paper follows from its other printed numbers.

python benchmarks/audit_counts.py        # writes the block between the marks in README.md
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from judgestats.published.auditing import Audited, audited, coverage
from judgestats.published.statements import DEPENDS, NOT, UNKNOWN, tallied

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- counts of the audit, written by benchmarks/audit_counts.py -->", "<!-- end of the counts -->"
#: Verdicts that are counted beside the numbers.
ORDER = (NOT, DEPENDS, UNKNOWN)


def block(found: Sequence[Audited]) -> str:
    """The counts as a Markdown table, between the marks: numbers first, then faults and checks."""
    numbers = coverage(found).set_index("source")
    heads = [*numbers.columns[:-1], "distinct faults", *(f"checks: {v}" for v in ORDER)]
    lines = [f"| paper | {' | '.join(heads)} |", "|---|" + "---:|" * len(heads)]
    for audit, counts in zip(found, numbers.to_numpy().tolist(), strict=True):
        cells = [*counts, *(tallied(audit.decisions)[v] for v in ORDER)]
        lines.append(f"| {audit.paper} | {' | '.join(f'{c:,}' for c in cells)} |")
    return "\n".join([BEGIN, *lines, END])


def written(readme: str, found: Sequence[Audited]) -> str:
    """The README with the counts as they are."""
    before, _, rest = readme.partition(BEGIN)
    return before + block(found) + rest.partition(END)[2]


if __name__ == "__main__":
    README.write_text(written(README.read_text(encoding="utf-8"), audited()), encoding="utf-8")
