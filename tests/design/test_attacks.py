"""Attacks change the style of a text and keep its content, or are refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgestats.design import attacked, lost_content
from judgestats.design.attacks import sentences
from judgestats.errors import DesignError

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
        (TEXT.replace("office grew", "branch shrank").replace("stayed", "were"), "words lost: office, stayed"),
        (TEXT.replace("Costs", "Truly, costs"), ""),
    ],
)
def test_what_is_lost_is_said(changed, lost):
    assert lost_content(TEXT, changed) == lost


def test_a_function_of_ones_own_is_checked():
    assert attacked(TEXT, lambda t: t + " Truly.") == TEXT + " Truly."

    def shorten(text: str) -> str:
        return text.replace(" in 2024", "")

    with pytest.raises(DesignError, match=r"'shorten' does not keep the content of .* numbers lost: 2024"):
        attacked(TEXT, shorten)
    assert attacked(TEXT, shorten, keeps=lambda before, after: "")  # the user's own check
    with pytest.raises(DesignError, match="changes nothing"):
        attacked(TEXT, lambda t: t + " ")
    with pytest.raises(DesignError, match=r"'verbose' is not an attack.*Did you mean 'verbosity'"):
        attacked(TEXT, "verbose")


def test_a_sentence_ends_before_a_capital_and_not_within_a_number():
    text = "It rose by 2.5 points. Was it e.g. due to rain? Nobody knows!"
    assert sentences(text) == ["It rose by 2.5 points.", "Was it e.g. due to rain?", "Nobody knows!"]
