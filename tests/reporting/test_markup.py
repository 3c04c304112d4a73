"""HTML that is safe by construction."""

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgestats.reporting.markup import Markup, anchor, document, join, row, table, tag, text


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
    read = _Reader(tag("p", content, title=attribute))
    assert [t for t, _ in read.tags] == ["p"]
    assert list(read.tags[0][1]) == ["title"]


@given(st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=60))
def test_plain_text_comes_back_as_it_went_in(content):
    assert _Reader(tag("p", content)).data == content


def test_markup_is_not_escaped_twice():
    inner = tag("b", "a < b")
    assert tag("p", inner) == "<p><b>a &lt; b</b></p>"
    assert text(text("&")) == "&amp;"


def test_a_string_operation_on_markup_is_no_markup():
    joined = Markup("<b>x</b>") + "<script>"
    assert "<script>" not in tag("p", joined)


@pytest.mark.parametrize("mark", ["\u202e", "\u2066", "\u200f"])
def test_marks_that_turn_the_writing_direction_are_shown_as_such(mark):
    assert text(f"a{mark}b") == "a\ufffdb"


def test_control_characters_and_lone_surrogates_can_be_written():
    assert text("a\x00b\ud800c").encode("utf-8") == b"a b c"


def test_attributes():
    assert (
        tag("td", 1, class_="x", rowspan=None, open=True, aria_hidden="true")
        == '<td class="x" open aria-hidden="true">1</td>'
    )
    assert tag("br") == "<br>"


def test_tables_name_their_columns_and_set_numbers_right():
    read = _Reader(table(["a", "b"], [row(["<i>", 3], numbers=(1,))], numbers=(1,)))
    assert [a.get("class") for t, a in read.tags if t in ("th", "td")] == [None, "number", None, "number"]
    assert "<i>" in read.data
    assert all(a.get("scope") == "col" for t, a in read.tags if t == "th")


def test_anchor_is_an_id():
    assert anchor('Section 4.4, "Figure 9"') == "section-4-4-figure-9"
    assert anchor("Δ") == "section"


def test_a_document_carries_its_style_and_forbids_scripts():
    page = document("a < b", join(["x"]))
    assert "<title>a &lt; b</title>" in page
    assert "default-src &#x27;none&#x27;" in page
    assert "font-variant-numeric" in page
