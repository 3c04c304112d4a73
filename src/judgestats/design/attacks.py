"""Changes of style that keep the content: longer, more confident, or any function, with a check: :func:`attacked`."""

from __future__ import annotations

import re
from collections.abc import Callable

from judgestats.errors import DesignError, refuse_unknown

#: A change of a text; or the name of one of ours.
Attack = str | Callable[[str], str]
#: What says which content is lost or added; empty where none is.
Keeps = Callable[[str, str], str]

_AGAIN = ("To say it once more: ", "In other words, as was said above: ", "It bears repeating: ")
_SURE = ("This is certain: ", "Beyond question: ", "The evidence is overwhelming: ", "It is beyond dispute: ")
_NEGATION = re.compile(r"\b(?:no|not|never|none|neither|nor|nothing|nobody|cannot)\b|n[’']t\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
#: Share of the words of a text, of five letters or more, that a change must keep.
_KEPT = 0.9


def sentences(text: str) -> list[str]:
    """The sentences of a text; each ends before a capital, a quotation mark or a digit."""
    parts = re.split(r"(?<=[.!?])[\"”’)]?\s+(?=[\"“‘(]?[A-Z0-9])|\n{2,}", text.strip())
    return [p.strip() for p in parts if p.strip()]


def _verbosity(text: str) -> str:
    """The text, and up to three of its sentences once more."""
    said = sentences(text)
    step = max(len(said) // len(_AGAIN), 1)
    return " ".join([text.rstrip(), *(a + s for a, s in zip(_AGAIN, said[::step], strict=False))])


def _confidence(text: str) -> str:
    """The text with words of certainty before each second sentence."""
    result = text
    for i, sentence in enumerate(sentences(text)[::2]):
        result = result.replace(sentence, _SURE[i % len(_SURE)] + sentence, 1)
    return result


ATTACKS: dict[str, Callable[[str], str]] = {"verbosity": _verbosity, "confidence": _confidence}


def lost_content(text: str, changed: str) -> str:
    """Say which content a changed text has lost or added; empty where none is found.

    Parameters
    ----------
    text, changed : str
        Before and after.

    Returns
    -------
    str
        The first of: numbers that are not the same; a name (a capital within a sentence) that is lost or new; a denial
        (*not*, *never*, ...) that is lost or new; too few of the longer words.

    See Also
    --------
    attacked : Style changed, content kept.

    Notes
    -----
    A screen for gross changes: it does not see that two names were exchanged, or a claim reversed without a *not*.

    Examples
    --------
    >>> lost_content("Sales rose by 3 % in Peru.", "Sales truly rose by 3 % in Peru.")
    ''
    >>> lost_content("Sales rose by 3 % in Peru.", "Sales rose by 5 % in Peru.")
    'numbers lost: 3; numbers added: 5'
    """
    for what, pattern in (("numbers", _NUMBER), ("denials", _NEGATION)):
        before, after = ({word.lower() for word in pattern.findall(t)} for t in (text, changed))
        if before != after:
            parts = {f"{what} lost": before - after, f"{what} added": after - before}
            return "; ".join(f"{k}: {', '.join(sorted(v))}" for k, v in parts.items() if v)
    for what, one, other in (("names lost", text, changed), ("names added", changed, text)):
        absent = _names(one) - set(re.findall(r"\w+", other))
        if absent:
            return f"{what}: {', '.join(sorted(absent))}"
    before, after = _long_words(text), _long_words(changed)
    if len(before & after) < _KEPT * len(before):
        return f"words lost: {', '.join(sorted(before - after)[:5])}"
    return ""


def _names(text: str) -> set[str]:
    return {w for s in re.split(r"[.!?:]\s+|\n", text) for w in re.findall(r"\b[A-Z]\w+", s.strip()[1:]) if w[1:]}


def _long_words(text: str) -> set[str]:
    return set(re.findall(r"\w{5,}", text.lower()))


def attacked(text: str, attack: Attack, keeps: Keeps = lost_content) -> str:
    """Change the style of a text, and check that its content is kept.

    Parameters
    ----------
    text : str
        What is changed.
    attack : {'verbosity', 'confidence'} or function
        ``verbosity`` says up to three sentences once more; ``confidence`` puts words of certainty before each second
        sentence; a function returns the changed text.
    keeps : function
        Of both texts: says what is lost or added, empty for nothing. By default :func:`lost_content`.

    Returns
    -------
    str

    Raises
    ------
    DesignError
        If the attack is not known, changes nothing, or does not keep the content.

    See Also
    --------
    lost_content : What a changed text has lost.
    cues : A study of cues.

    Examples
    --------
    >>> attacked("Boil water. Add the leaves.", "confidence")
    'This is certain: Boil water. Add the leaves.'
    """
    if isinstance(attack, str):
        refuse_unknown(attack, ATTACKS, f"{attack!r} is not an attack", more=", or a function")
    name = attack if isinstance(attack, str) else getattr(attack, "__name__", "attack")
    changed = ATTACKS[attack](text) if isinstance(attack, str) else attack(text)
    if not isinstance(changed, str) or changed.strip() == text.strip():
        raise DesignError(f"{name!r} changes nothing in {text[:60]!r}.")
    lost = keeps(text, changed)
    if lost:
        raise DesignError(f"{name!r} does not keep the content of {text[:60]!r}: {lost}. Change it, or give keeps=.")
    return changed
