"""Datasheets as tables of a paper."""

import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

from judgestats.errors import DesignError
from judgestats.metrics.datasheets import datasheet
from judgestats.reporting import to_great_table, to_latex, to_markdown
from judgestats.reporting.sheets import SECTIONS, datasheet_rows, ladder_bounds, printed
from reporting.designs import dark_current_design, plain_verdicts


@pytest.fixture(scope="module")
def sheet():
    return datasheet(dark_current_design(), n_resamples=100)


def test_printed_keeps_every_row_and_says_bounds(sheet):
    table = printed(sheet)
    assert len(table) == len(sheet)
    assert (table["estimate"] == "≤ 1").sum() == 2


def test_markdown_has_a_row_a_measure(sheet):
    lines = to_markdown(sheet).splitlines()
    assert len(lines) == len(sheet) + 2
    assert len({line.count("|") for line in lines}) == 1


def test_markdown_and_latex_escape_names():
    hostile = datasheet(plain_verdicts(["a|b_c & 50% $x$ <script>"]))
    assert "a\\|b_c & 50% $x$ \\<script>" in to_markdown(hostile)
    assert r"a|b\_c \& 50\% \$x\$ $<$script$>$" in to_latex(hostile)


LINKS = (
    "[x](javascript:alert(1))",
    "![i](http://a.b/c)",
    "[x][y]",
    "https://a.b",
    "www.a.b",
    "<http://a.b>",
    "[ ] todo",
)


@pytest.mark.parametrize("name", LINKS)
def test_no_name_is_a_link_in_markdown(name):
    rows = pd.DataFrame(
        {"judge": [name], "term": ["consistency"], "estimate": [0.5], "conf_low": [0.4], "conf_high": [0.6]}
    )
    text = to_markdown(rows)
    assert "[0.400, 0.600]" in text
    mistune = pytest.importorskip("mistune")
    page = mistune.create_markdown(plugins=["table", "url", "task_lists"])(f"{text}\n\n[y]: http://a.b\n")
    assert "<table>" in page
    assert not any(mark in page for mark in ("<a ", "<img", "href", "checkbox"))
    assert re.sub(r"<[^>]*>", "", page).count(name.replace("<", "&lt;").replace(">", "&gt;")) == 1


@pytest.mark.parametrize(("name", "cell"), [("[2cm] x", "{[}2cm] x"), ("*x", "{*}x"), (" [x", "{[}x"), ("a[b", "a[b")])
def test_a_row_of_latex_begins_with_no_option(name, cell):
    rows = pd.DataFrame({"judge": [name], "term": ["consistency"], "estimate": [0.5]})
    assert to_latex(rows).splitlines()[4].startswith(f"{cell} & ")


def test_a_caption_makes_a_centred_table_environment():
    rows = pd.DataFrame({"judge": ["a_b"], "term": ["position_bias"], "estimate": [-0.5], "n": [60.0]})
    assert to_latex(rows, caption="x & y").splitlines() == [
        r"\begin{table}",
        r"\centering",
        r"\caption{x \& y}",
        r"\begin{tabular}{llrlr}",
        r"\toprule",
        r"judge & measure & estimate & interval & n \\",
        r"\midrule",
        r"a\_b & position bias & $-$0.500 & --- & 60 \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]


def test_decimals_are_an_argument(sheet):
    assert "0.667" not in to_markdown(
        sheet.head(0).reindex(range(1)).assign(judge="a", term="position_bias", estimate=2 / 3), decimals=1
    )


def test_great_table_groups_by_judge_and_escapes():
    html = to_great_table(datasheet(plain_verdicts(["<script>alert(1)</script>"])), title="<b>t</b>").as_raw_html()
    assert "<script>" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert "&amp;lt;" not in html


def test_a_frame_that_is_no_estimate_is_refused():
    with pytest.raises(DesignError, match="term"):
        to_markdown(pd.DataFrame({"judge": ["a"]}))


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex is installed")
def test_latex_compiles(sheet, tmp_path):
    source = (
        r"\documentclass{article}\usepackage{booktabs,longtable}\begin{document}"
        + to_latex(sheet.head(20), caption="x_y")
        + r"\end{document}"
    )
    (tmp_path / "t.tex").write_text(source, encoding="utf-8")
    subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )


def test_a_section_without_a_number_is_a_line_with_the_reason():
    sheet = datasheet(dark_current_design(), n_resamples=20)
    rows = sheet[sheet["judge"] == sheet["judge"].iloc[0]].copy()
    part = rows["section"] == "ladder"
    rows.loc[part, ["estimate", "conf_low", "conf_high"]] = np.nan
    rows.loc[part, "flag"] = "no data"
    records = rows.to_dict("records")
    sections = {s["title"]: s for s in datasheet_rows(records, ladder_bounds(rows), "g", 0.95)["sections"]}
    assert sections[SECTIONS["ladder"]]["terms"] == []
    assert sections[SECTIONS["ladder"]]["none"] == "No number: no data."
    assert all(s["terms"] and not s["none"] for title, s in sections.items() if title != SECTIONS["ladder"])
