"""Attacks change the style of a text and keep its content, or are refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgestats.design import attacked, lost_content
from judgestats.design.attacks import HEDGES, sentences
from judgestats.errors import DesignError
from refusals import refused

TEXT = "Sales in Peru rose by 3.5 % in 2024. They did not fall anywhere. The Lima office grew. Costs stayed the same."
WORDS = ("growth", "markets", "slowly", "rising", "report", "shows", "figures", "never", "office")
#: Sentences of words, a name and a number, as a summary has them.
SENTENCE = st.tuples(
    st.lists(st.sampled_from(WORDS), min_size=2, max_size=8),
    st.sampled_from(["Peru", "Lima", ""]), st.integers(0, 999),
).map(lambda t: f"The {' '.join(t[0])} {t[1]} {t[2]}.".replace("  ", " "))  # fmt: skip


def test_each_attack_does_what_it_says():
    longer = attacked(TEXT, "verbosity")
    assert longer.startswith(TEXT)
    assert longer.count("Sales in Peru rose by 3.5 % in 2024.") == 2
    assert len(longer) > 1.5 * len(TEXT)
    surer = attacked(TEXT, "confidence")
    assert surer != TEXT
    for sentence in sentences(TEXT):
        assert surer.count(sentence) == 1
    plain = surer
    for words in ("This is certain: ", "Beyond question: "):
        assert words in plain
        plain = plain.replace(words, "")
    assert plain == TEXT


@settings(max_examples=60, deadline=None)
@given(st.lists(SENTENCE, min_size=1, max_size=8))
def test_our_attacks_keep_the_content_of_any_text(parts):
    text = " ".join(parts)
    for attack in ("verbosity", "confidence"):
        assert lost_content(text, attacked(text, attack)) == ""
        assert attacked(text, attack) == attacked(text, attack)


@pytest.mark.parametrize(
    ("changed", "lost"),
    [
        (TEXT.replace("3.5", "35"), "numbers lost: 3.5; numbers added: 35"),
        (TEXT.replace("did not fall", "fell"), "denials lost: not"),
        (TEXT.replace("The Lima office", "The head office"), "names lost: Lima"),
        (TEXT + " It was led by Ana Paz.", "names added: Ana, Paz"),
        (TEXT.replace("office grew", "branch opened").replace("stayed", "were"), "words lost: office, stayed"),
        (TEXT.replace("rose by", "fell by"), "opposite: fell for rose"),
        (TEXT.replace("office grew", "office shrank"), "opposite: shrank for grew"),
        (TEXT.replace("Sales in Peru rose", "Sales in Peru did not rise"), "denials added: not"),
        (TEXT.replace("did not", "didn't"), ""),
        (TEXT.replace("Costs stayed", "Two costs stayed"), "numbers added: two"),
        (TEXT.replace("They did not fall anywhere. ", ""), "denials lost: not"),
        (TEXT.replace("Costs", "Truly, costs"), ""),
    ],
)
def test_what_is_lost_is_said(changed, lost):
    assert lost_content(TEXT, changed) == lost


def test_a_function_of_ones_own_is_checked():
    assert attacked(TEXT, lambda t: t + " Truly.") == TEXT + " Truly."

    def shorten(text: str) -> str:
        return text.replace(" in 2024", "")

    assert attacked(TEXT, shorten, keeps=lambda before, after: "")  # the user's own check
    refused(
        DesignError,
        (shorten, r"'shorten' does not keep the content of .* numbers lost: 2024"),
        (lambda t: t + " ", "changes nothing"),
        ("verbose", r"'verbose' is not an attack.*Did you mean 'verbosity'"),
        of=lambda wrong: attacked(TEXT, wrong),
    )


def test_a_sentence_ends_before_a_capital_and_not_within_a_number():
    text = "It rose by 2.5 points. Was it e.g. due to rain? Nobody knows!"
    assert sentences(text) == ["It rose by 2.5 points.", "Was it e.g. due to rain?", "Nobody knows!"]


#: A text with hedges -> what the attack makes of it.
REWRITTEN = {
    "Sales perhaps rose.": "This is certain: Sales certainly rose.",
    "Maybe rain caused it.": "This is certain: Certainly rain caused it.",
    "The cause may be cost, and it might fall.": "This is certain: The cause must be cost, and it will fall.",
    "It is likely to rain in May.": "This is certain: It will rain in May.",
    "It seems that I think it fails.": "This is certain: It is certain that certainly it fails.",
    "They might not come.": "This is certain: They will not come.",
    "The data suggests that it works.": "This is certain: The data proves that it works.",
}


@pytest.mark.parametrize("text", REWRITTEN)
def test_the_confidence_attack_rewrites_hedges_and_keeps_numbers_and_denials(text):
    assert attacked(text, "confidence") == REWRITTEN[text]


def test_no_hedge_of_the_list_is_left_and_the_list_is_documented():
    page = (Path(__file__).parents[2] / "docs" / "studies.md").read_text(encoding="utf-8").replace("\n  ", " ")
    for hedge, sure in HEDGES.items():
        text = f"The result of 2024 {hedge} a change in Peru."
        changed = attacked(text, "confidence", keeps=lambda one, two: "")
        assert not re.search(rf"\b{re.escape(hedge)}\b", changed, re.IGNORECASE), changed
        assert sure in changed
        assert hedge in page.lower(), hedge
