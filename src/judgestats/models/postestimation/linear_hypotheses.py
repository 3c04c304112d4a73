"""Linear hypotheses as text: ``strategy[S1] = strategy[S8]``."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from judgestats.errors import FormulaError, suggestion
from judgestats.typing import Floats

_NUMBER = re.compile(r"\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+")


def hypothesis(text: str, names: Sequence[str]) -> tuple[Floats, float]:
    """Read a hypothesis about coefficients, sums and products with one ``=``, as ``weights @ coefficients = value``."""
    sides = _split(text, names)
    if len(sides) > 2:
        raise _fault(text, "it has more than one '='")
    left, right = (_sum(text, own, names) for own in (sides if len(sides) == 2 else [sides[0], ["0"]]))
    weights = left[:-1] - right[:-1]
    if not weights.any():
        raise _fault(text, "it constrains no coefficient")
    return weights, float(right[-1] - left[-1])


def _split(text: str, names: Sequence[str]) -> list[list[str]]:
    """Tokens of each side."""
    by_length = sorted(names, key=len, reverse=True)  # a name may begin with another
    sides: list[list[str]] = [[]]
    place = 0
    while place < len(text):
        rest = text[place:]
        name = next((n for n in by_length if rest.startswith(n) and not _goes_on(n, rest)), None)
        number = _NUMBER.match(rest)
        if name is not None:
            sides[-1].append(name)
            place += len(name)
        elif number:
            sides[-1].append(number.group())
            place += number.end()
        elif rest[0] in "+-*/":
            sides[-1].append(rest[0])
            place += 1
        elif rest[0] == "=":
            sides.append([])
            place += 2 if rest.startswith("==") else 1
        elif rest[0].isspace():
            place += 1
        else:
            word = re.match(r"[^\s=+*/-]+", rest)
            wrong = word.group() if word else rest[0]
            listed = ", ".join(names)
            raise FormulaError(
                f"{text!r} names {wrong!r}, which is not a coefficient. Allowed: {listed}.{suggestion(wrong, names)}"
            )
    return sides


def _goes_on(name: str, rest: str) -> bool:
    """Whether what follows belongs to a longer name."""
    after = rest[len(name) : len(name) + 1]
    return bool(after) and (after.isalnum() or after in "_[:|.")


def _sum(text: str, tokens: Sequence[str], names: Sequence[str]) -> Floats:
    """Coefficients of a side, and its number last."""
    place = {n: k for k, n in enumerate(names)}
    total, one = np.zeros(len(names) + 1), None
    sign, divide = 1.0, False
    if not tokens:
        raise _fault(text, "a side is empty")
    for token in [*tokens, "+"]:
        if token in ("+", "-") and token not in place:
            if one is not None:
                total += sign * one
                one, sign = None, 1.0
            sign = -sign if token == "-" else sign
        elif token in ("*", "/"):
            if one is None:
                raise _fault(text, f"{token!r} has nothing before it")
            divide = token == "/"
        else:
            value = np.zeros(len(names) + 1)
            value[place.get(token, -1)] = 1.0 if token in place else float(token)
            one = value if one is None else _product(text, one, value, divide)
            divide = False
    return total


def _product(text: str, one: Floats, other: Floats, divide: bool) -> Floats:
    if divide:
        if other[:-1].any() or other[-1] == 0:
            raise _fault(text, "it divides by a coefficient or by 0")
        return np.asarray(one / other[-1])
    if one[:-1].any() and other[:-1].any():
        raise _fault(text, "it multiplies coefficients")
    return np.asarray(one * other[-1] if one[:-1].any() else other * one[-1])


def _fault(text: str, why: str) -> FormulaError:
    return FormulaError(
        f"{text!r} is not a linear hypothesis: {why}. Write 'a = b', '2 * a + b = 1', or 'a' for a = 0."
    )
