"""Write docs/flags.md from the records in judgestats.flags: ``python benchmarks/flags_page.py``."""

from __future__ import annotations

from pathlib import Path

from judgestats.flags import FLAGS

HEAD = """# Flags

<!-- written by benchmarks/flags_page.py from the records in src/judgestats/flags.py: change those -->

A flag stands in the column `flag` of the row it is about; several are separated by `; `. `judgestats.results.explain`
takes a result, a column or a cell and returns the code, the severity and the explanation of each flag, and `flag_codes`
the codes of a cell. Codes stay when a wording changes. In the texts, `{n}` and other names in braces are filled in, and
`(s)` is a plural. A flag may name what it is about, as in `blind: no data`.
"""
SEVERITIES = {
    "invalid": "There is no number, or it should not be used",
    "caution": "The number or its interval may mislead",
    "note": "How the number came about",
}


def page() -> str:
    """The page, as it should stand in docs/flags.md."""
    parts = [HEAD]
    for severity, told in SEVERITIES.items():
        rows = [f for f in FLAGS.values() if f.severity == severity]
        cells = (
            f"| {f.replace('|', chr(92) + '|')} | `{f.code}` | {f.explanation.replace('|', chr(92) + '|')} |"
            for f in rows
        )
        parts += [f"\n## {told} (`{severity}`)\n\n| flag | code | what it means, what to do |\n|---|---|---|", *cells]
    return "\n".join(parts).replace("\n\n\n", "\n\n") + "\n"


if __name__ == "__main__":
    Path("docs/flags.md").write_text(page(), encoding="utf-8")
