"""A formula in pieces: tokens, their syntax tree, and errors that point into the source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from judgestats.errors import FormulaError

#: What a formula is made of, in the order in which it is tried.
PATTERN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[^\W\d]\w*(?:\.[^\W\d]\w*)*)"
    r"|(?P<string>\"[^\"]*\"|'[^']*')"
    r"|(?P<quoted>`[^`]+`)"
    r"|(?P<op>\*\*|\|\||==|!=|<=|>=|[~+\-*/:|()\[\]{},=<>])"
)
#: How tightly operators bind between terms; in a call, Python's arithmetic.
TERMS = {"+": 1, "-": 1, "*": 2, "/": 2, ":": 3, "**": 4}
ARITHMETIC = {"==": 0, "!=": 0, "<": 0, "<=": 0, ">": 0, ">=": 0, "+": 1, "-": 1, "*": 2, "/": 2, "**": 4}
LITERALS = ("True", "False", "None")
OPERATORS = "+ - * / : **"


@dataclass(frozen=True)
class Token:
    """A piece of a formula and where it stands."""

    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Node:
    """A part of a formula and where it stands."""

    # ``name``, ``number``, ``string``, ``literal``, ``call``, ``keyword``, ``binary``, ``unary``, ``group`` (round
    # brackets), ``list`` (in square ones), ``bar`` (a random term) or ``level`` (``choice[first]``)
    kind: str
    value: str  # the column, number, text, function, operator or level
    start: int  # start, end: place in the source
    end: int
    parts: tuple[Node, ...] = ()  # what it is made of

    def walk(self) -> Iterator[Node]:
        """Yield this node and all below it, left to right."""
        waiting = [self]
        while waiting:  # a sum of many terms is as deep as it is long
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.parts))


def fault(source: str, start: int, end: int, what: str, todo: str = "") -> FormulaError:
    """Make an error that shows the formula, the place underlined: what is wrong, what is allowed, what to do."""
    marks = " " * start + "^" * max(end - start, 1)
    return FormulaError("\n".join([what, f"    {source}", f"    {marks}", *([todo] if todo else [])]))


def scan(source: str) -> list[Token]:
    """Cut a formula into tokens; the last one is ``end``."""
    tokens, at = [], 0
    while at < len(source):
        match = PATTERN.match(source, at)
        if match is None:
            raise _unreadable(source, at)
        kind = str(match.lastgroup)
        if kind != "space":
            tokens.append(Token(kind, match.group(), at, match.end()))
        at = match.end()
    return [*tokens, Token("end", "", len(source), len(source))]


def _unreadable(source: str, at: int) -> FormulaError:
    char = source[at]
    if char in "\"'`":
        return fault(source, at, len(source), f"The quotation mark {char} is never closed.", "Close it.")
    hints = {
        "^": "Interactions up to an order are (a + b)**2; a power is I(x**2).",
        ".": "'.' for all other columns is not supported: name the columns.",
        "%": "Nesting is written a/b.",
    }
    todo = hints.get(
        char, f"Allowed: column names, numbers, {OPERATORS}, brackets. Quote other names with `backquotes`."
    )
    return fault(source, at, at + 1, f"{char!r} is no part of the grammar.", todo)


class TokenReader:
    """Reads tokens, closed by one of kind ``end``, into a tree; :meth:`expression` is the one entry."""

    def __init__(self, source: str, tokens: list[Token]) -> None:
        self.source = source
        self.tokens = tokens
        self.at = 0

    def expression(self, operators: dict[str, int]) -> Node:
        """Read all tokens as one expression."""
        node = self._chain(operators, 0)
        token = self._peek()
        if token.kind == "end":
            return node
        if token.text in ("|", "||"):
            raise self._fault(
                token, f"{token.text!r} stands outside brackets.", "Write a random term as (1|g) or (x|g)."
            )
        raise self._left_over(token)

    def _left_over(self, token: Token) -> FormulaError:
        before = self.tokens[self.at - 1]
        if token.text in (")", "]", "}"):
            return self._fault(token, f"{token.text!r} closes nothing.", "Remove it, or open the bracket.")
        if token.kind == "op" and token.text not in ("(", "{", "["):
            return self._fault(token, f"{token.text!r} cannot stand here.", f"Between terms: {OPERATORS}.")
        return self._fault(
            token,
            f"Nothing joins {before.text!r} and {token.text!r}.",
            f"Write one of {OPERATORS} between them; a column name with a space stands in `backquotes`.",
        )

    def _peek(self) -> Token:
        return self.tokens[self.at]

    def _next(self) -> Token:
        self.at += 1
        return self.tokens[self.at - 1]

    def _fault(self, token: Token, what: str, todo: str = "") -> FormulaError:
        return fault(self.source, token.start, token.end, what, todo)

    def _chain(self, operators: dict[str, int], level: int) -> Node:
        """Read operands joined by operators that bind at least as tightly as `level`."""
        left = self._operand(operators)
        while self._peek().kind == "op" and operators.get(self._peek().text, -1) >= level:
            token = self._next()
            binding = operators[token.text]
            right = self._chain(operators, binding if token.text == "**" else binding + 1)
            left = Node("binary", token.text, left.start, right.end, (left, right))
        return left

    def _operand(self, operators: dict[str, int]) -> Node:
        token = self._next()
        if token.text in ("+", "-") and token.kind == "op":
            inner = self._chain(operators, 4)
            return Node("unary", token.text, token.start, inner.end, (inner,))
        if token.kind in ("number", "string"):
            value = token.text if token.kind == "number" else token.text[1:-1]
            return Node(token.kind, value, token.start, token.end)
        if token.kind == "quoted":
            return self._level(Node("name", token.text[1:-1], token.start, token.end))
        if token.kind == "name":
            return self._named(token)
        if token.text == "(" and token.kind == "op":
            return self._group(token, operators)
        if token.text == "{":
            inner = self._chain(ARITHMETIC, 0)
            return Node("call", "I", token.start, self._close(token, "}").end, (inner,))
        raise self._no_operand(token)

    def _no_operand(self, token: Token) -> FormulaError:
        before = self.tokens[self.at - 2] if self.at > 1 else None
        if token.text in ("|", "||") and before is not None and before.text == "(":
            return self._fault(token, f"Nothing stands before {token.text!r}.", "Write (1|g) for a random intercept.")
        if token.kind == "end" or token.text == ")":
            place = before or token
            return self._fault(
                place, f"Something is missing after {place.text!r}.", "Name a column there, or remove it."
            )
        return self._fault(
            token, f"{token.text!r} stands where a column or a term is expected.", "Remove it, or add one."
        )

    def _named(self, token: Token) -> Node:
        if token.text in LITERALS:
            return Node("literal", token.text, token.start, token.end)
        if self._peek().text == "(" and self._peek().kind == "op":
            return self._call(token)
        return self._level(Node("name", token.text, token.start, token.end))

    def _level(self, name: Node) -> Node:
        """Read ``[first]`` behind a column, where it is there."""
        if self._peek().text != "[":
            return name
        opening, token = self._next(), self._next()
        if token.kind not in ("name", "string", "number", "quoted"):
            raise self._fault(token, "A level is expected in [...].", "Write column[level] or column['level'].")
        value = token.text[1:-1] if token.kind in ("string", "quoted") else token.text
        return Node("level", value, name.start, self._close(opening, "]").end, (name,))

    def _group(self, opening: Token, operators: dict[str, int]) -> Node:
        inner = self._chain(operators, 0)
        token = self._peek()
        if token.text in ("|", "||") and operators is TERMS:
            self._next()
            right = self._chain(operators, 0)
            if self._peek().text in ("|", "||"):
                raise self._fault(
                    self._peek(), "A random term has one bar.", "Write (x|g), or (x||g) without correlations."
                )
            inner = Node("bar", token.text, inner.start, right.end, (inner, right))
        return Node("group", "(", opening.start, self._close(opening, ")").end, (inner,))

    def _call(self, name: Token) -> Node:
        opening = self._next()
        arguments: list[Node] = []
        while self._peek().text != ")":
            if self._peek().kind == "end":
                break
            if arguments and self._next().text != ",":
                self.at -= 1
                break
            arguments.append(self._argument())
        if self._peek().text in ("|", "||"):
            todo = "Write + between them."
            raise self._fault(opening, f"Nothing joins {name.text!r} and the random term.", todo)
        return Node("call", name.text, name.start, self._close(opening, ")").end, tuple(arguments))

    def _argument(self) -> Node:
        token = self._peek()
        if token.kind == "name" and self.tokens[self.at + 1].text == "=":
            self.at += 2
            value = self._list() if self._peek().text == "[" else self._chain(ARITHMETIC, 0)
            return Node("keyword", token.text, token.start, value.end, (value,))
        return self._chain(ARITHMETIC, 0)

    def _list(self) -> Node:
        """Read numbers in square brackets, as of ``knots=[2, 5]``."""
        opening, parts = self._next(), [self._chain(ARITHMETIC, 0)]
        while self._peek().text == ",":
            self._next()
            parts.append(self._chain(ARITHMETIC, 0))
        return Node("list", "[", opening.start, self._close(opening, "]").end, tuple(parts))

    def _close(self, opening: Token, closing: str) -> Token:
        token = self._next()
        if token.text == closing and token.kind == "op":
            return token
        self.at -= 1
        if token.kind == "end" or token.text == "~":
            raise self._fault(opening, f"{opening.text!r} is never closed.", f"Add {closing!r}.")
        if token.text in ("|", "||"):
            raise self._fault(token, f"{token.text!r} cannot stand here.", "A random term stands by itself: + (x|g).")
        raise self._left_over(token)
