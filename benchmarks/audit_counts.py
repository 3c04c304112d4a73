"""The counts of the README: what of each paper follows from its other printed numbers.

python benchmarks/audit_counts.py        # writes the block between the marks in README.md
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from judgestats.published import audit
from judgestats.published.statements import DEPENDS, FOLLOWS, NOT, UNKNOWN

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- counts of the audit, written by benchmarks/audit_counts.py -->", "<!-- end of the counts -->"
ORDER = (FOLLOWS, NOT, DEPENDS, UNKNOWN)


def block(found: pd.DataFrame) -> str:
    """The counts as a Markdown table, between the marks."""
    lines = [f"| paper | {' | '.join(ORDER)} |", "|---|" + "---:|" * len(ORDER)]
    for paper, here in found.groupby("paper", sort=False):
        counts = here["verdict"].value_counts()
        lines.append(f"| {paper} | {' | '.join(f'{counts.get(v, 0):,}' for v in ORDER)} |")
    return "\n".join([BEGIN, *lines, END])


def written(readme: str, found: pd.DataFrame) -> str:
    """The README with the counts as they are."""
    before, _, rest = readme.partition(BEGIN)
    return before + block(found) + rest.partition(END)[2]


if __name__ == "__main__":
    README.write_text(written(README.read_text(encoding="utf-8"), audit()), encoding="utf-8")
