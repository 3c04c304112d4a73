"""The page of ``make reproduce``."""

import re

import pandas as pd
import pytest

from judgestats.published import reproduce
from judgestats.reporting import reproduction_page


@pytest.fixture(scope="module")
def checks():
    return reproduce()


@pytest.fixture(scope="module")
def page(checks, tmp_path_factory):
    return reproduction_page(checks, tmp_path_factory.mktemp("build") / "report" / "index.html").read_text(
        encoding="utf-8"
    )


def body_rows(page):
    return re.findall(r"<tr[^>]*>(?:(?!</tr>).)*class=\"verdict (?:yes|no)\"(?:(?!</tr>).)*</tr>", page)


def test_every_check_has_its_row_and_what_does_not_follow_stands_on_top_too(checks, page):
    odd = int((checks["verdict"] != "follows").sum())
    assert len(body_rows(page)) == len(checks) + odd
    assert page.count('class="verdict no"') == 2 * odd


def test_counts_are_those_of_the_checks(checks, page):
    for paper, here in checks.groupby("paper"):
        row = next(r for r in re.findall(r"<tr>.*?</tr>", page) if f'href="#{paper.replace("_", "-")}"' in r)
        numbers = [int(n) for n in re.findall(r'class="number">(\d+)<', row)]
        assert numbers[-1] == len(here) == sum(numbers[:-1])
        assert numbers[0] == (here["verdict"] == checks["verdict"].iloc[0]).sum()


def test_recomputed_numbers_are_not_rounded_to_the_printed_precision(checks, page):
    value = checks.loc[checks["quantity"] == "Llama8B, dark current false preference, conf_low", "recomputed"].item()
    assert f"{value:.6g}" in page


def test_figures_are_drawn_again(page):
    names = set(re.findall(r"<figcaption><b>(.*?), drawn again", page))
    assert {
        "Figure 1",
        "Figure 3",
        "Figure 4",
        "Figure 5",
        "Figure 6, attributed",
        "Figure 8, anonymized",
        "Figure 9, attributed",
    } <= names


def test_links_lead_somewhere(page):
    ids = set(re.findall(r'\sid="([^"]*)"', page))
    assert set(re.findall(r'href="#([^"]*)"', page)) <= ids


def test_a_check_that_fails_is_coloured_and_escaped(tmp_path):
    rows = pd.DataFrame(
        [("some_paper", "Table 1", "<b>x</b>", "0.5", 0.25, "0.2", "does not follow", "<script>")],
        columns=["paper", "place", "quantity", "printed", "recomputed", "shown", "verdict", "comment"],
    )
    page = reproduction_page(rows, tmp_path / "index.html").read_text(encoding="utf-8")
    assert "✗ does not follow" in page
    assert "<script" not in page
    assert "&lt;b&gt;x&lt;/b&gt;" in page


def test_same_bytes_twice(checks, page, tmp_path):
    assert reproduction_page(checks, tmp_path / "index.html").read_text(encoding="utf-8") == page
