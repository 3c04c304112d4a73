"""Our grammar spelled as formulae reads it: names and literals that its scanner cannot read get an alias."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from judgestats.models.grammar.functions import FUNCTIONS
from judgestats.models.grammar.syntax import columns_of, is_coding
from judgestats.models.grammar.tokens import TERMS, Node

#: What formulae reads as one name and takes for a column.
PLAIN = re.compile(r"[^\W\d_]\w*")
#: Terms of a sum from which it is put in brackets.
_LONG = 40
#: Names that mean something else to formulae.
RESERVED = {"np", "Sum", "Treatment", "True", "False", "None", *FUNCTIONS}


@dataclass(frozen=True)
class Spelling:
    """An expression for formulae, and the way back.

    Attributes
    ----------
    text : str
        The expression as formulae reads it.
    columns : tuple of str
        The columns it names, as in the data.
    aliases : dict
        Column -> its name for formulae, where that is another.
    values : dict
        Name for formulae -> literal that it cannot read.
    back : dict
        Name for formulae -> what was written.
    """

    text: str
    columns: tuple[str, ...]
    aliases: dict[str, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    back: dict[str, str] = field(default_factory=dict)

    def alias(self, column: str) -> str:
        """Name of a column for formulae."""
        return self.aliases.get(column, column)

    def column(self, name: str) -> str:
        """Return the column behind a name of formulae."""
        return self.back.get(name, name)

    def restored(self, text: str) -> str:
        """What formulae prints, with the names that were written."""
        if not self.back:
            return text
        return re.sub("|".join(map(re.escape, self.back)), lambda m: self.back[m.group()], text)


class _Speller:
    def __init__(self, logical: Collection[str]) -> None:
        self.logical = logical
        self.aliases: dict[str, str] = {}
        self.values: dict[str, Any] = {}
        self.back: dict[str, str] = {}

    def name(self, column: str) -> str:
        if PLAIN.fullmatch(column) and column not in RESERVED:
            return column
        if column not in self.aliases:
            self.aliases[column] = self._new(column)
        return self.aliases[column]

    def literal(self, written: str, value: Any) -> str:
        new = self._new(written)
        self.values[new] = value
        return new

    def _new(self, written: str) -> str:
        new = f"zq{len(self.back)}qz"
        self.back[new] = written
        return new

    def text(self, node: Node, *, inside: bool = False, real: bool = False) -> str:
        """A tree as formulae reads it; in a power every number is real: whole ones would overflow, or never end."""
        if node.kind == "name":
            name = self.name(node.value)
            return f"C({name})" if node.value in self.logical and not inside else name
        if node.kind == "number":
            whole = node.value.isdigit() and not real
            return node.value if not inside or whole else self.literal(node.value, float(node.value))
        if node.kind == "string":
            plain = "'" not in node.value and '"' not in node.value
            return f'"{node.value}"' if plain else self.literal(repr(node.value), node.value)
        if node.kind == "call":
            named = [
                p.value if is_coding(node, i) and p.kind == "name" else self.text(p, inside=True)
                for i, p in enumerate(node.parts)
            ]
            return f"{node.value}({', '.join(named)})"
        if node.kind == "keyword":
            inner = node.parts[0]
            coding = inner.kind == "name" and inner.value in ("Sum", "Treatment") and node.value == "contrast"
            return f"{node.value}={inner.value if coding else self.text(inner, inside=True)}"
        return self._joined(node, inside, real or (inside and node.value == "**"))

    def _joined(self, node: Node, inside: bool, real: bool) -> str:
        parts = [self.text(p, inside=inside, real=real) for p in node.parts]
        if node.kind == "group":
            return f"({parts[0]})"
        if node.kind == "unary":  # formulae binds the sign tighter than the power
            return f"({node.value}({parts[0]}))" if inside else f"{node.value}{parts[0]}"
        if node.kind == "binary":
            text = f"{parts[0]} {node.value} {parts[1]}"
            return f"({text})" if (inside and node.value not in TERMS) or (node.value == "**" and inside) else text
        return node.value


def _balanced(several: Sequence[str]) -> str:
    """A sum in brackets of halves of halves: formulae goes as deep as a sum is long."""
    if len(several) <= _LONG:
        return " + ".join(several)
    half = len(several) // 2
    return f"({_balanced(several[:half])}) + ({_balanced(several[half:])})"


def spelled(terms: Sequence[tuple[str, Node]], logical: Collection[str] = ()) -> Spelling:
    """Spell the terms of an expression for formulae.

    Parameters
    ----------
    terms : sequence of (str, Node)
        Its terms with their signs, the first one 0 or 1.
    logical : collection of str
        Columns of booleans: factors where they stand by themselves, as in R.

    Returns
    -------
    Spelling

    Examples
    --------
    >>> from judgestats.models.grammar.syntax import terms_of
    >>> spelled(terms_of("1 + _x")).text
    '1 + zq0qz'
    """
    speller = _Speller(logical)
    spelt = [(sign, speller.text(node)) for sign, node in terms]
    columns = [c.value for _, node in terms for c in columns_of(node)]
    text = spelt[0][1]
    for sign, run in groupby(spelt[1:], key=lambda term: term[0]):
        several = [part for _, part in run]
        if sign == "+" and len(several) > _LONG:
            several = [f"({_balanced(several)})"]
        text += "".join(f" {sign} {part}" for part in several)
    return Spelling(text, tuple(dict.fromkeys(columns)), speller.aliases, speller.values, speller.back)
