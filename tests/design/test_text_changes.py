"""Changes of a text keep its words, or cut it off where a sentence ends."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgestats.design import (
    truncated,
    with_markdown,
    without_markdown,
)
from judgestats.errors import DesignError
from refusals import refused

MARKDOWN = """## Tea, in short

**Tea** is *simple*; see [the page](https://example.org/tea_page).

1. Boil `water`
2. **Add** the leaves:
   - green
   - black

### 3. Costs

| leaf | price |
|---|---|
| green | 3 |

```python
# not a heading
x = a_b * 2 ** 3  # *not* emphasis
```
"""
PROSE = """Tea, in short.

Tea is simple; see the page.

Boil water. Add the leaves: green. black.

Costs.

leaf, price. green, 3.

# not a heading
x = a_b * 2 ** 3  # *not* emphasis"""


def test_markdown_is_taken_out_and_code_is_left_as_it_is():
    assert without_markdown(MARKDOWN) == PROSE


@pytest.mark.parametrize(
    "text", ["Plain words only.", "Two.\n\nParagraphs, a*b*c and 2 * 3 * 4, snake_case_name.", "5 > 3 | 2"]
)
def test_plain_text_has_no_markdown_to_take_out(text):
    with pytest.raises(DesignError, match="There is no Markdown"):
        without_markdown(text)


WORDS = st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True), min_size=1, max_size=6).map(" ".join)
SENTENCES = st.lists(WORDS.map(lambda w: f"{w}."), min_size=2, max_size=9)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(SENTENCES)
def test_markdown_put_in_and_taken_out_keeps_every_word(sentences):
    plain = " ".join(sentences)
    marked = with_markdown(plain)
    assert marked != plain
    assert without_markdown(marked).replace("\n\n", " ") == plain
    assert re.findall(r"\w+", marked) == re.findall(r"\w+", plain)


@settings(max_examples=25, deadline=None)
@given(SENTENCES, st.floats(0.05, 0.95))
def test_truncation_keeps_the_first_sentences_closest_to_the_share(sentences, share):
    text = " ".join(sentences)
    kept = truncated(text, share)
    cuts = [" ".join(sentences[: i + 1]) for i in range(len(sentences) - 1)]
    assert kept in cuts
    wanted = share * len(text.split())
    assert abs(len(kept.split()) - wanted) == min(abs(len(c.split()) - wanted) for c in cuts)


def test_a_text_is_not_cut_within_a_number_an_abbreviation_or_code():
    text = "It is 3.5 m, e.g. for Dr. Who.\n```\nx. y. z.\n```\nThen it ends here. And more words follow after it."
    assert truncated(text, 0.01) == "It is 3.5 m, e.g. for Dr. Who."
    assert truncated(text, 0.6).endswith("ends here.")
    refused(
        DesignError,
        (lambda: truncated("One sentence only, without a second."), "no two sentences"),
        (lambda: truncated(text, 1), "share=1 is not between"),
        (lambda: with_markdown("One sentence."), "one sentence"),
    )


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("```markdown\n# A\n\n**b**\n```", "A.\n\nb"),
        ("```\n# A\n\n**b**\n```", "A.\n\nb"),
        ("~~~md\n- one\n- two\n~~~", "one. two."),
        (
            "Here it is:\n\n```markdown\n# A\n\n**b**\n```\n\nI hope *that* helps.",
            "Here it is:\n\nA.\n\nb\n\nI hope that helps.",
        ),
        ("```markdown\n# A\n\n```python\nx = 2**3  # y\n```\n\n**b**\n```", "A.\n\nx = 2**3  # y\n\nb"),
        ("````markdown\n**b**\n````", "b"),
        ("```markdown\n# A\n\n**b**", "A.\n\nb"),
        ("Run it:\n\n```\nx = a ** b  # y\n```\n\n**b**", "Run it:\n\nx = a ** b  # y\n\nb"),
        ("```python\nx = 2**3  # y\n```\n\n**b**", "x = 2**3  # y\n\nb"),
    ],
)
def test_markdown_in_a_fence_is_taken_out_and_code_stays(text, plain):
    assert without_markdown(text) == plain
