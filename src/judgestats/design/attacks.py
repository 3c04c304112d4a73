"""Changes of style that keep the content: longer, more confident, or any function, with a check: :func:`attacked`."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable
from importlib.resources import files

from judgestats.errors import DesignError, refuse_unknown

#: A change of a text; or the name of one of ours.
Attack = str | Callable[[str], str]
#: What says which content is lost or added; empty where none is.
Keeps = Callable[[str, str], str]

_AGAIN = ("To say it once more: ", "In other words, as was said above: ", "It bears repeating: ")
_SURE = ("This is certain: ", "Beyond question: ", "The evidence is overwhelming: ", "It is beyond dispute: ")
_WORDS = tomllib.loads((files("judgestats.design") / "stimuli" / "attack_words.toml").read_text(encoding="utf-8"))
#: Hedges, and what the attack ``confidence`` puts in their place; of two that overlap, the longer.
HEDGES: dict[str, str] = {hedge.lower(): sure for sure, hedges in _WORDS["hedges"].items() for hedge in hedges}
#: Words of which one cannot stand for the other.
ANTONYMS = [pair.split("/") for pairs in _WORDS["antonyms"].values() for pair in pairs]
_DENIALS = re.compile(r"\b(?:no|not|never|none|neither|nor|nothing|nobody|without|cannot)\b|n[’']t\b", re.IGNORECASE)
_SHORT = dict.fromkeys(("cannot", "n't", "n’t"), "not")
_NUMBERS = re.compile(
    r"\d+(?:[.,:]\d+)*|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|"
    r"seventy|eighty|ninety|hundreds?|thousands?|millions?|billions?|half|twice|double|third|quarter)\b",
    re.IGNORECASE,
)
_HEDGE = re.compile(rf"(?<![\w-])(?:{'|'.join(sorted(HEDGES, key=len, reverse=True))})(?![\w-])", re.IGNORECASE)
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
    """The text with its hedges replaced, and words of certainty before each second sentence."""
    result = _HEDGE.sub(_certain, text)
    for i, sentence in enumerate(sentences(result)[::2]):
        result = result.replace(sentence, _SURE[i % len(_SURE)] + sentence, 1)
    return result


def _certain(hedge: re.Match[str]) -> str:
    """What takes the place of a hedge, with a capital where a sentence begins; the month of May stays."""
    if hedge[0] == "May":
        return hedge[0]
    word = HEDGES[hedge[0].lower()]
    before = hedge.string[: hedge.start()].rstrip(' "“‘(')
    return word if before and before[-1] not in ".!?:\n" else word[0].upper() + word[1:]


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
        The first of: a number, in digits or words, that is lost or new; a denial (*not*, *never*, *without*, ...) more
        or fewer; a word in place of its opposite (*fell* for *rose*); a name (a capital within a sentence) that is
        lost or new; too few of the longer words, hedges aside. A sentence said again word for word counts once.

    See Also
    --------
    attacked : Style changed, content kept.

    Notes
    -----
    A screen: it does not see that two names or numbers were exchanged, nor an opposite that is not in its list
    (``judgestats.design.attacks.ANTONYMS``).

    Examples
    --------
    >>> lost_content("Sales rose by 3 % in Peru.", "Sales truly rose by 3 % in Peru.")
    ''
    >>> lost_content("Sales rose by 3 % in Peru.", "Sales fell by 3 % in Peru.")
    'opposite: fell for rose'
    """
    said = sentences(text)
    once = [_said_once(t, said) for t in (text, changed)]
    for what, pattern in (("numbers", _NUMBERS), ("denials", _DENIALS)):
        several = ([_SHORT.get(word, word) for word in pattern.findall(t.lower())] for t in once)
        before, after = map(Counter, several)
        if what == "numbers":  # in a paraphrase a number may be named once more
            before, after = Counter(set(before)), Counter(set(after))
        if before != after:
            parts = {f"{what} lost": before - after, f"{what} added": after - before}
            return "; ".join(f"{k}: {', '.join(sorted(v))}" for k, v in parts.items() if v)
    words = [Counter(re.findall(r"\w+", t.lower())) for t in once]
    for pair in ANTONYMS:
        for one, two in (pair, pair[::-1]):
            if words[0][one] > words[1][one] and words[1][two] > words[0][two]:
                return f"opposite: {two} for {one}"
    for what, earlier, later in (("names lost", text, changed), ("names added", changed, text)):
        if absent := _names(earlier) - set(re.findall(r"\w+", later)):
            return f"{what}: {', '.join(sorted(absent))}"
    long_words, later_words = _long_words(text), _long_words(changed)
    if len(long_words & later_words) < _KEPT * len(long_words):
        return f"words lost: {', '.join(sorted(long_words - later_words)[:5])}"
    return ""


def _said_once(text: str, said: list[str]) -> str:
    """A text without the repeats of these sentences."""
    for sentence in dict.fromkeys(said):
        head, same, rest = text.partition(sentence)
        text = head + same + rest.replace(sentence, "")
    return text


def _names(text: str) -> set[str]:
    return {w for s in re.split(r"[.!?:]\s+|\n", text) for w in re.findall(r"\b[A-Z]\w+", s.strip()[1:]) if w[1:]}


def _long_words(text: str) -> set[str]:
    return set(re.findall(r"\w{5,}", _HEDGE.sub("", text).lower()))


def attacked(text: str, attack: Attack, keeps: Keeps = lost_content) -> str:
    """Change the style of a text, and check that its content is kept.

    Parameters
    ----------
    text : str
        What is changed.
    attack : {'verbosity', 'confidence'} or function
        ``verbosity`` says up to three sentences once more; ``confidence`` replaces hedges (*perhaps* by *certainly*,
        *may* by *will*: the list is ``judgestats.design.attacks.HEDGES``), and puts words of certainty before each
        second sentence; a function returns the changed text.
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
    >>> attacked("Boil water. Perhaps add the leaves.", "confidence")
    'This is certain: Boil water. Certainly add the leaves.'
    """
    if isinstance(attack, str):
        refuse_unknown(attack, ATTACKS, f"{attack!r} is not an attack", more=", or a function")
    name = attack if isinstance(attack, str) else getattr(attack, "__name__", "attack")
    changed = ATTACKS[attack](text) if isinstance(attack, str) else attack(text)
    if not isinstance(changed, str) or changed.strip() == text.strip():
        raise DesignError(f"{name!r} changes nothing in {text[:60]!r}.")
    if lost := keeps(text, changed):
        raise DesignError(f"{name!r} does not keep the content of {text[:60]!r}: {lost}. Change it, or give keeps=.")
    return changed
