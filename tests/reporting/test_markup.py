"""Templates whose values are all escaped."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError
from markupsafe import Markup

from judgestats import reporting
from judgestats.reporting.markup import anchor, bar, breakable, environment, page, places, visible

PARAGRAPH = environment().from_string('<p title="{{ title }}">{{ content }}</p>')


class _Reader(HTMLParser):
    """Elements, attributes and text of a fragment."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.data = ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.data += data


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_text_becomes_an_element_or_an_attribute(content, attribute):
    read = _Reader(PARAGRAPH.render(content=content, title=attribute))
    assert [t for t, _ in read.tags] == ["p"]
    assert list(read.tags[0][1]) == ["title"]


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=60))
def test_plain_text_comes_back_as_it_went_in(content):
    assert _Reader(PARAGRAPH.render(content=content, title="")).data == content


def test_markup_is_not_escaped_and_a_sum_with_text_is():
    assert "<b>x</b>" in PARAGRAPH.render(content=Markup("<b>x</b>"), title="")
    assert "<script>" not in PARAGRAPH.render(content=Markup("<b>x</b>") + "<script>", title="")


@pytest.mark.parametrize("mark", ["\u202e", "\u2066", "\u200f"])
def test_marks_that_turn_the_writing_direction_are_shown_as_such(mark):
    assert visible(f"a{mark}b") == "a\ufffdb"


def test_control_characters_and_lone_surrogates_can_be_written():
    assert PARAGRAPH.render(content="a\x00b\ud800c", title="").encode("utf-8") == b'<p title="">a b c</p>'


def test_a_value_that_a_template_lacks_is_an_error():
    with pytest.raises(UndefinedError):
        PARAGRAPH.render(content="x")


def test_a_bar_stays_on_its_line():
    assert bar(2.0, -1.0, 3.0) == {"at": "92.0", "low": "4.0", "high": "92.0", "mark": None}
    assert bar(0.0, float("nan"), float("nan"), start=-1.0) == {"at": "48.0", "low": None, "high": None, "mark": "48.0"}
    assert bar(0.5, 0.25, 0.75) == {"at": "48.0", "low": "26.0", "high": "70.0", "mark": None}
    assert bar(float("nan"), 0.0, 1.0) is None


def test_anchor_is_an_id():
    assert anchor('Section 4.4, "Figure 9"') == "section-4-4-figure-9"
    assert anchor("Δ") == "section"


def test_a_page_carries_its_style_and_allows_its_own_script_alone():
    made = page("base.html.j2", title="a < b")
    assert "<title>a &lt; b</title>" in made
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', made)
    (script,) = re.findall(r"<script>(.*?)</script>", made, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src &#39;sha256-{digest}&#39;" in policy
    assert "default-src &#39;none&#39;" in policy
    assert "unsafe-inline" not in policy.split("script-src")[1]
    assert not re.search(r"https?://(?!www\.w3\.org)|fetch\(|XMLHttpRequest|eval\(|innerHTML", script)
    assert "font-variant-numeric" in made


@given(st.text(max_size=80))
def test_a_name_that_may_break_is_text_and_the_same_text(name):
    read = _Reader(f"<p>{breakable(name)}</p>")
    assert {t for t, _ in read.tags} <= {"p", "wbr"}
    assert read.data == _Reader(PARAGRAPH.render(content=name, title="")).data


def test_long_names_of_files_break_at_separators_and_lose_their_middle():
    long = "dataset=judgebench,response_model=claude-3-5-sonnet,judge_model=haiku.jsonl.gz"
    shown = str(places(f"{long}, line 20; {long}, line 32; ..."))
    assert f'title="{long}"' in shown
    assert _Reader(shown).data == "dataset=judgebench,r…model=haiku.jsonl.gz, line 20; line 32; ..."
    assert "<wbr>" in shown
    assert str(breakable("runs/first_of_november.csv")) == "runs/<wbr>first_<wbr>of_<wbr>november.<wbr>csv"
    assert str(breakable("calls.csv")) == "calls.csv"
    assert str(places("a.csv, line 2; b.csv, line 3")) == "a.csv, line 2; b.csv, line 3"
    assert "&lt;b&gt;" in str(places(f"<b>{'x' * 60}, line 2"))


def test_folds_stay_closed_in_print_except_the_first_table_of_each_judge():
    style = (Path(reporting.__file__).parent / "style.css").read_text(encoding="utf-8")
    opened = re.findall(r"([\w.> ]*details[\w.]*)::details-content", style)
    assert [selector.strip() for selector in opened] == ["details.judge"]
    assert "details.judge details { display: none; }" in style
