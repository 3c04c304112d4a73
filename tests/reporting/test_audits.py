"""The page of an audit and that of ``make reproduce``."""

import re

import pandas as pd
import pytest
from markupsafe import escape

from judgestats.published import audited, load
from judgestats.published.number_checks import CHECKS
from judgestats.published.statements import VERDICTS
from judgestats.reporting import audit_page, reproduction_page
from judgestats.reporting.formatting import interval
from judgestats.reporting.formatting import printed as printed_number


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return reproduction_page(tmp_path_factory.mktemp("build") / "report" / "index.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def audits():
    return audited()


@pytest.mark.slow
def test_counts_are_those_of_the_audit(audits, page):
    for audit in audits:
        row = next(r for r in re.findall(r"<tr>.*?</tr>", page) if f'href="#{audit.paper.replace("_", "-")}"' in r)
        numbers = [
            int(n) for n in re.findall(r'class="number">(\d+)<', row.replace("\u2009", "").replace("\u202f", ""))
        ]
        verdicts = [d.verdict for d in audit.decisions]
        how = list(audit.numbers()["checked"])
        counted = [len(how), *(how.count(w) for w in CHECKS), len(audit.faults())]
        assert numbers == [*counted, *(verdicts.count(v) for v in VERDICTS), len(verdicts)]


@pytest.mark.slow
def test_every_finding_is_there_with_its_arithmetic(audits, page):
    for audit in audits:
        for d in audit.decisions:
            if d.verdict == "does not follow":
                assert escape(d.comment) in page


@pytest.mark.slow
def test_every_printed_table_is_there_cell_by_cell(audits, page):
    for audit in audits:
        for table in audit.book.columns:
            assert table == "claims" or f">{table}, " in page or f"{table}, " in page
    colours = [len(re.findall(rf'class="cell {c}"', page)) for c in ("yes", "no", "maybe")]
    assert colours[0] > 1500
    assert min(colours) > 0


@pytest.mark.slow
def test_a_number_that_does_not_follow_has_its_twin_beside_it(page):
    assert re.search(r'class="cell no"[^>]*>9\.02<span class="twin"> 9\.22</span>', page)


@pytest.mark.slow
def test_figures_are_drawn_again(page):
    names = set(re.findall(r"<figcaption><b>(.*?), drawn again", page))
    assert {"Figure 1", "Figure 3", "Figure 6, attributed", "Figure 8, anonymized", "Figure 9, attributed"} <= names
    drawn = {"Figure 1, drawn again in part", "Figure 4, drawn again", "Figure 3, drawn again", "Table 9, drawn"}
    drawn |= {"Figure 2, drawn again in part", "Figures 2 and 4, drawn again"}
    assert drawn <= set(re.findall(r"<figcaption><b>(.*?)\.</b>", page))


@pytest.mark.slow
def test_figures_that_cannot_be_drawn_are_named(page):
    assert page.count("printed numbers do not determine them") == 5
    told = re.findall(r"determine them:</p><ul>(.*?)</ul>", page)
    assert [t.count("<li>Figure") for t in told] == [4, 3, 1, 5, 3]
    assert "<li>Figure 2: target sensitivity at the steps 2 to 4 is not printed</li>" in page
    assert "<li>Figure 4: three of the domains are printed</li>" in page


@pytest.mark.slow
def test_links_lead_somewhere(page):
    ids = set(re.findall(r'\sid="([^"]*)"', page))
    assert set(re.findall(r'href="#([^"]*)"', page)) <= ids


@pytest.mark.slow
def test_datasheets_from_printed_counts_come_before_the_audit(page):
    datasheets, _, audit = page.partition("Which printed numbers follow from the others</h2>")
    assert audit
    printed = load("dark_current/table6", printed=True).query("metric == 'raw delta0 false preference'")
    assert len(printed) == 4
    for r in printed.to_dict("records"):
        low, high = float(r["conf_low"]), float(r["conf_high"])
        assert interval(low, high, "share") in datasheets
        assert f">{printed_number(float(r['estimate']), 'share', high - low)}<" in datasheets
    assert datasheets.count('<details class="judge"') == 4
    assert "datasheets" not in audit


def test_what_comes_from_a_table_is_text(tmp_path):
    table = pd.DataFrame({"judge": ["<b>x</b>"], "a": ["1"], "b": ["2"], "s": ["4"]})
    rules = [{"rule": "sum", "parts": ["a", "b"], "total": "s", "why": "<script>"}]
    page = audit_page(audited(table, rules=rules), tmp_path / "index.html").read_text(encoding="utf-8")
    assert "✗ does not follow" in page
    assert page.count("<script") == 1  # ours
    assert "&lt;b&gt;x&lt;/b&gt;" in page


def test_of_many_cells_only_those_at_the_break_are_red(tmp_path):
    texts = [f"0.{i}" for i in (10, 20, 30, 40, 50, 60, 55, 70)]
    frame = pd.DataFrame({"m": list("abcdefgh"), "x": texts})
    colours = {}
    for holds in ("increasing(table.x)", "sum(table.x) == 0", "all(table.x > 0)"):
        rules = [{"rule": "check", "table": "table", "holds": holds}]
        page = audit_page(audited(frame, rules=rules), tmp_path / "index.html").read_text(encoding="utf-8")
        body = page.partition("cell by cell")[2].partition("</p>")[2]
        colours[holds] = re.findall(r'class="cell (\w+)"[^>]*>([\d.]+)<', body)
    assert [t for c, t in colours["increasing(table.x)"] if c == "no"] == ["0.60", "0.55"]
    assert {c for c, _ in colours["sum(table.x) == 0"]} == {"used"}
    assert {c for c, _ in colours["all(table.x > 0)"]} == {"yes"}


def test_what_a_rule_is_about_is_red_and_its_inputs_are_not(tmp_path):
    frame = pd.DataFrame({"m": ["a", "b"], "x": ["4.74", "2.00"], "n": ["25", "25"]})
    rules = [{"rule": "grim", "mean": "x", "n": "n"}]
    page = audit_page(audited(frame, rules=rules), tmp_path / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'class="cell no"[^>]*>([\d.]+)<', page.partition("cell by cell")[2].partition("</p>")[2]) == [
        "4.74"
    ]
    assert "<td>4.74</td>" in page


@pytest.mark.slow
def test_same_bytes_twice(tmp_path):
    one, two = (reproduction_page(tmp_path / f"{i}.html", "dark_current").read_bytes() for i in (1, 2))
    assert one == two
