"""The page of a data set as Markdown."""

from __future__ import annotations

import pandas as pd

from judgestats.metrics.measure_registry import measures
from judgestats.reporting.comparison_tables import plain_comparison, without_numbers
from judgestats.reporting.estimate_tables import estimates_table
from judgestats.reporting.formatting import spaced
from judgestats.reporting.markup import visible
from judgestats.reporting.page_chapters import rows_of_table
from judgestats.reporting.page_data import PageData
from judgestats.reporting.page_method import call_again, cautions, limits_of
from judgestats.reporting.sheets import ladder_bounds, markdown_table, markdown_text, to_markdown


def as_markdown(page: PageData, command: str = "") -> str:
    """The page as Markdown: the summary, the comparison, the datasheets, and what is not supported."""
    summary = page.summary
    lines = [f"# {markdown_text(summary.title)}", "", markdown_text(summary.line), ""]
    lines += [markdown_text(summary.verdict), ""] if summary.verdict else []
    lines += [f"- **{c.head}**: {markdown_text(c.claim)}. {markdown_text(c.detail)}." for c in summary.cards]
    for t in page.tables:
        heads, rows = t.wide(ladder_bounds(page.estimates.sheet))
        lines += ["", f"## {t.title}", "", t.about, *(["", markdown_table(heads, rows)] if rows else [])]
        lines += [f"\n{markdown_text(line)}" for line in t.without_numbers()]
        remarks = {**t.absent, **{spaced(flag): where for flag, where in t.cautions().items()}}
        said = [f"- {markdown_text(what)}: {markdown_text(spaced(why))}" for what, why in remarks.items()]
        lines += ["", *said] if said else []
    for g in summary.groups if summary.columns else ():
        lines += ["", f"## {markdown_text(g.about)}", "", markdown_table(*plain_comparison(summary, g.judges))]
        lines += [f"\n{markdown_text(line)}" for line in without_numbers(summary.columns, g.judges)]
    lines += ["", summary.note] if summary.note else []
    if summary.readings is not None:
        line, heads, rows = summary.readings
        lines += (
            ["", f"## {markdown_text(line)}", "", markdown_table([markdown_text(h) for h in heads], rows)]
            if rows
            else ["", f"{markdown_text(line)}."]
        )
    lines += ["", "## Datasheets", "", *([f"{markdown_text(summary.left_out)}", ""] if summary.left_out else [])]
    lines += [to_markdown(page.of_shown(page.estimates.sheet), decimals=None)]
    for name, record in measures().items():
        if name in page.beyond_sheet:
            rows, more, _ = rows_of_table(record, page.of_shown(page.beyond_sheet[name]))
            lines += _measure_lines(f"## {record.question}", f"`{name}`", rows, page.settings.conf_level, name)
            lines += [f"\n{more} `judgestats.{name}(data)`."] if more else []
    lines += ["", "## Models"] if page.estimates.models else []
    for m in page.estimates.models:
        lines += _measure_lines(f"### {markdown_text(m.name)}", markdown_text(m.line), m.rows, page.settings.conf_level)
    absent = [(m, why) for m, why in page.estimates.taken.items() if isinstance(why, str)]
    if absent:
        lines += [
            "",
            "## Not supported by these data",
            "",
            *(f"- `{m}`: {markdown_text(spaced(why))}" for m, why in absent),
        ]
    if explained := cautions(page.flagged):
        lines += ["", "## Cautions flagged on this page", ""]
        lines += [f"- {markdown_text(c['flag'])}: {markdown_text(c['why'])}" for c in explained]
    lines += ["", "## Method", "", *(f"- {t}" for t in limits_of(page))]
    lines += ["", "## How to make it again", "", "~~~python", str(visible(call_again(page))), "~~~"]
    lines += ["", "~~~sh", str(visible(command)), "~~~"] if command else []
    lines += [""]
    return "\n".join(str(visible(line)) for line in "\n".join(lines).split("\n"))


def _measure_lines(head: str, about: str, rows: pd.DataFrame, conf_level: float, measure: str = "") -> list[str]:
    """A heading, a line, a table of estimates, and lines on what has no number."""
    table = estimates_table(rows, conf_level, measure)
    heads = [*table["labels"], "measure", "estimate", f"{table['level']} interval", "n", *table["beside"]]
    cells = [[*r["labels"], r["measure"], r["value"], r["interval"], r["n"], *r["beside"]] for r in table["rows"]]
    lines = ["", head, "", about, *(["", markdown_table(heads, cells)] if cells else [])]
    return [*lines, *(f"\n{markdown_text(line)}" for line in table["nothing"])]
