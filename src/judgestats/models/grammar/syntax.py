"""The grammar of model formulas, without data: :func:`read`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import comb

from judgestats.errors import FormulaError
from judgestats.models.grammar.parse_trees import ARITHMETIC, TERMS, Node, Token, TokenReader, fault, scan

#: Levels that one term may be nested.
DEEPEST = 60
#: More signs in a row than that.
_SIGNS = re.compile(rf"(?:[-+]\s*){{{DEEPEST + 1}}}")
#: Order of interactions that ``**`` may ask for.
HIGHEST_ORDER = 20
#: Terms that one product or power may stand for.
MOST_TERMS = 2_000
#: Codings that ``C(x, Sum)`` may name.
CONTRASTS = ("Treatment", "Sum", "Helmert", "Poly")


@dataclass(frozen=True)
class RandomPart:
    """One random term."""

    expression: str  # what varies: ``1``, ``1 + x``, ``0 + order``
    factor: str  # over what it varies: ``item``, ``item:system``
    columns: tuple[str, ...]  # the columns of the factor

    def __str__(self) -> str:
        return f"({self.expression}|{self.factor})"


@dataclass(frozen=True)
class Formula:
    """A parsed formula."""

    source: str  # as written, on one line
    response: str  # the left side: ``y``, ``cbind(k, n - k)``, ``choice[first]``
    fixed: str  # the fixed part, its intercept spelled out: ``1 + strategy * x + offset(z)``
    random: tuple[RandomPart, ...]  # the random terms, ``||`` and ``/`` expanded
    variables: tuple[str, ...]  # every column named, first use first
    left: Node = field(repr=False, compare=False)  # the left side as a tree
    nodes: tuple[Node, ...] = field(repr=False, compare=False, default=())  # the terms of the right side as trees

    @property
    def answers(self) -> tuple[str, ...]:
        """Columns of the response."""
        return tuple(dict.fromkeys(n.value for n in columns_of(self.left)))

    @property
    def predictors(self) -> tuple[str, ...]:
        """Columns of the right side."""
        return tuple(v for v in self.variables if v not in self.answers)

    @property
    def groups(self) -> tuple[str, ...]:
        """Columns of the grouping factors."""
        return tuple(dict.fromkeys(c for part in self.random for c in part.columns))

    def fault(self, name: str, what: str, todo: str = "") -> FormulaError:
        """Make an error that underlines the first use of a column (all, where it is not named)."""
        for node in (self.left, *self.nodes):
            for place in columns_of(node):
                if place.value == name:
                    return fault(self.source, place.start, place.end, what, todo)
        return fault(self.source, 0, len(self.source), what, todo)


def columns_of(node: Node) -> list[Node]:
    """Names of columns in a tree, left to right; in ``C(x, Sum)`` the coding is no column."""
    names, waiting = [], [node]
    while waiting:
        current = waiting.pop()
        if current.kind == "name":
            names.append(current)
        else:
            waiting.extend(p for i, p in reversed([*enumerate(current.parts)]) if not is_coding(current, i))
    return names


def is_coding(call: Node, position: int) -> bool:
    """Whether an argument of a call is the bare name of a coding, known or not."""
    part = call.parts[position]
    name = part.parts[0] if part.kind == "keyword" else part
    return call.value == "C" and call.kind == "call" and position > 0 and name.kind == "name"


def read(source: object) -> Formula:
    """Parse a formula; the place of a fault is underlined."""
    if not isinstance(source, str):
        raise FormulaError(f"A formula is text, got {type(source).__name__}. Write 'y ~ x + (1|g)'.")
    source = "".join(" " if c.isspace() else c for c in source).rstrip()
    if not source.strip():
        raise FormulaError("The formula is empty. Write 'y ~ x + (1|g)'.")
    if _SIGNS.search(source):
        raise _deep(source)
    tokens = scan(source)
    left, right = _sides(source, tokens)
    try:
        answer = _response(source, left)
        items = list(_items(TokenReader(source, right).expression(TERMS), "+"))
    except RecursionError:
        raise _deep(source) from None
    if any(_depth(node) > DEEPEST for node in (answer, *(node for _, node in items))):
        raise _deep(source)
    return _assembled(source, answer, items)


def _depth(node: Node) -> int:
    deepest, level = 0, [node]
    while level:
        deepest, level = deepest + 1, [part for above in level for part in above.parts]
    return deepest


def _deep(source: str) -> FormulaError:
    return FormulaError(
        f"A term of {source[:60]!r} is nested more than {DEEPEST} deep. Leave brackets out, or make a column of its "
        "inner part first. (A sum may have any number of terms.)"
    )


def _sides(source: str, tokens: list[Token]) -> tuple[list[Token], list[Token]]:
    """Tokens left and right of ``~``."""
    tildes = [i for i, t in enumerate(tokens) if t.text == "~" and t.kind == "op"]
    if not tildes:
        raise fault(source, 0, len(source), "There is no '~'.", "Write the response, '~' and the predictors: 'y ~ x'.")
    if len(tildes) > 1:
        token = tokens[tildes[1]]
        raise fault(source, token.start, token.end, "There is more than one '~'.", "Keep one.")
    at = tildes[0]
    if at == 0:
        raise fault(source, tokens[0].start, tokens[0].end, "The left side is empty.", "Name the response before '~'.")
    if at == len(tokens) - 2:
        todo = "Name the predictors after '~', or write 1 for an intercept alone."
        raise fault(source, tokens[at].start, tokens[at].end, "The right side is empty.", todo)
    end = Token("end", "", tokens[at].start, tokens[at].start)
    return [*tokens[:at], end], tokens[at + 1 :]


def _response(source: str, tokens: list[Token]) -> Node:
    bar = next((t for t in tokens if t.text in ("|", "||")), None)
    if bar is not None:
        start, end = tokens[0].start, tokens[-2].end
        raise fault(source, start, end, "A random term cannot be the response.", "Put it on the right side of '~'.")
    node = TokenReader(source, tokens).expression(ARITHMETIC)
    if not columns_of(node):
        todo = "Name a column, cbind(k, n - k) or choice[first]."
        raise fault(source, node.start, node.end, "The response names no column.", todo)
    levels = [n for n in node.walk() if n.kind == "level"]
    if levels and node.kind != "level":
        raise fault(source, levels[0].start, levels[0].end, "A level is part of a calculation.", "Write it alone.")
    bound = [n for n in node.walk() if n.kind == "call" and n.value == "cbind"]
    if bound and (bound[0] is not node or len(node.parts) != 2):
        todo = "Write cbind(successes, failures), say cbind(k, n - k)."
        raise fault(
            source,
            bound[0].start,
            bound[0].end,
            "cbind() takes two arguments, and nothing else may be on that side.",
            todo,
        )
    return node


def _items(node: Node, sign: str) -> Iterable[tuple[str, Node]]:
    """Terms of a sum with their signs; brackets around random terms are opened."""
    rest = []
    while node.kind == "binary" and node.value in "+-":
        rest.append((node.value, node.parts[1]))
        node = node.parts[0]
    if rest:
        yield from _items(node, sign)
        for own, part in reversed(rest):
            yield from _items(part, own)
    elif node.kind == "unary":
        yield from _items(node.parts[0], node.value)
    elif (
        sign == "+" and node.kind == "group" and node.parts[0].kind != "bar" and "bar" in {n.kind for n in node.walk()}
    ):
        yield from _items(node.parts[0], sign)
    else:
        yield sign, node


def _assembled(source: str, answer: Node, items: list[tuple[str, Node]]) -> Formula:
    random: list[RandomPart] = []
    fixed: list[tuple[str, Node]] = []
    for sign, node in items:
        if node.kind == "group" and node.parts[0].kind == "bar":
            if sign == "-":
                raise fault(source, node.start, node.end, "A random term cannot be taken away.", "Leave it out.")
            _extend(random, _random(source, node.parts[0]), source, node)
        else:
            _check(source, node)
            fixed.append((sign, node))
    nodes = tuple(node for _, node in items)
    _refuse_both(source, answer, nodes)
    names = [n for tree in (answer, *nodes) for n in columns_of(tree)]
    variables = tuple(dict.fromkeys(n.value for n in names))
    text = _text(source, answer)
    return Formula(source, text, _sum(source, fixed), tuple(random), variables, answer, nodes)


def _extend(random: list[RandomPart], parts: list[RandomPart], source: str, node: Node) -> None:
    """Add random terms, none of whose columns is there already."""
    for part in parts:
        intercepts = [p for p in random if set(p.columns) == set(part.columns)]
        if any(p.expression == part.expression for p in intercepts):
            raise fault(source, node.start, node.end, f"The random term {part} stands twice.", "Remove one.")
        if part.expression.startswith("1") and any(p.expression.startswith("1") for p in intercepts):
            what = f"Two terms give {part.factor!r} a random intercept."
            raise fault(
                source, node.start, node.end, what, f"Write (0 + x|{part.factor}) in one, or (x||{part.factor})."
            )
        random.append(part)


def _refuse_both(source: str, answer: Node, nodes: Iterable[Node]) -> None:
    answers = {n.value for n in columns_of(answer)}
    for tree in nodes:
        for place in columns_of(tree):
            if place.value in answers:
                what = f"{place.value!r} is on both sides."
                raise fault(source, place.start, place.end, what, "A column is the response or a predictor, not both.")


def _check(source: str, node: Node) -> None:
    """Refuse what is no fixed term."""
    if node.kind == "group" and node.parts[0].kind == "name":
        name = node.parts[0].value
        what = f"({name}) adds nothing to {name}."
        raise fault(
            source, node.start, node.end, what, f"Write {name} for a fixed effect or (1|{name}) for a random one."
        )
    if node.kind == "number" and node.value in ("0", "1"):
        return
    _check_term(source, node)
    _refuse_many(source, node)


def _refuse_many(source: str, node: Node) -> None:
    terms = _expansions(node)
    if terms > MOST_TERMS:
        what = f"This expands to {terms:,.0f} terms." if terms < 1e15 else "This expands to too many terms."
        raise fault(source, node.start, node.end, what, f"At most {MOST_TERMS:,}: leave the higher interactions out.")


def _expansions(node: Node) -> float:
    """How many terms one stands for, at most: ``a * b`` for three."""
    if node.kind == "group":
        return _expansions(node.parts[0])
    if node.kind != "binary":
        return 1
    one = _expansions(node.parts[0])
    if node.value == "**":
        return float(sum(comb(int(one), order) for order in range(1, min(int(node.parts[1].value), int(one)) + 1)))
    two = _expansions(node.parts[1])
    product = min(one * two, 1e9)
    return {"+": one + two, "-": one, ":": product, "*": one + two + product, "/": one + product}[node.value]


def _check_term(source: str, node: Node) -> None:
    if node.kind == "bar":
        raise fault(source, node.start, node.end, "A random term stands by itself.", "Add it with +: + (1|g).")
    if node.kind == "level":
        raise fault(
            source, node.start, node.end, "A level is for the response.", f"Write I({node.parts[0].value} == ...)."
        )
    if node.kind in ("number", "string", "literal"):
        todo = "Allowed: 1 or 0 for the intercept. Arithmetic goes into I(): I(2 * x)."
        raise fault(source, node.start, node.end, f"{node.value!r} is no term.", todo)
    if node.kind in ("call", "name"):
        return
    if node.kind == "binary" and node.value == "**":
        power = node.parts[1]
        if power.kind != "number" or power.value.lstrip("0") not in map(str, range(1, HIGHEST_ORDER + 1)):
            what = f"The order of interactions is a whole number, 1 to {HIGHEST_ORDER}."
            raise fault(source, power.start, power.end, what, "Write (a + b)**2.")
        _check_term(source, node.parts[0])
        if node.parts[0].kind != "group" or _expansions(node.parts[0]) == 1:
            what = "'**' between terms means interactions, and one term has none."
            raise fault(source, node.start, node.end, what, "For a power write I(x**2).")
        return
    for part in node.parts:
        _check_term(source, part)


def _text(source: str, node: Node) -> str:
    return " ".join(source[node.start : node.end].split())


def _sum(source: str, items: list[tuple[str, Node]]) -> str:
    """A sum of terms with its intercept spelled out."""
    intercept, text = "1", ""
    for sign, node in items:
        if node.kind == "number":
            intercept = "1" if (node.value == "1") == (sign == "+") else "0"
        else:
            text += f" {sign} {_text(source, node)}"
    return intercept + text


def _random(source: str, bar: Node) -> list[RandomPart]:
    left, right = bar.parts
    items = list(_items(left, "+"))
    for _, node in items:
        if not (node.kind == "number" and node.value in ("0", "1")):
            _check_term(source, node)
            _refuse_many(source, node)
        if any(n.kind == "call" and n.value == "offset" for n in node.walk()):
            raise fault(
                source, node.start, node.end, "An offset has no random effect.", "Put it among the fixed terms."
            )
    whole = _sum(source, items)
    if whole == "0":
        raise fault(
            source, left.start, left.end, "Nothing is left to vary.", "Write 1 for a random intercept, or 0 + x."
        )
    sides = [whole]
    if bar.value != "|":  # without correlations: each term by itself
        terms = [t for sign, node in items if node.kind != "number" for t in _expanded(source, node, sign)]
        sides = [*(["1"] if whole.startswith("1") else []), *(f"0 + {t}" for t in dict.fromkeys(terms))]
    return [RandomPart(side, ":".join(f), f) for f in _factors(source, right) for side in sides]


def _expanded(source: str, node: Node, sign: str = "+") -> list[str]:
    """Single terms of one that may hold ``*``."""
    if (sign == "+" and node.kind in ("name", "call")) or (node.kind == "binary" and node.value == ":"):
        return [_text(source, node)]
    if sign == "+" and node.kind == "binary" and node.value == "*":
        one, two = (_expanded(source, p) for p in node.parts)
        return [*one, *two, *(f"{a}:{b}" for a in one for b in two)]
    raise fault(
        source, node.start, node.end, "'||' cannot split this into terms.", "Write the terms one by one: (x + z||g)."
    )


def _factors(source: str, node: Node) -> list[tuple[str, ...]]:
    """Columns of each grouping factor: ``a/b`` is ``a`` and ``a:b``."""
    while node.kind == "group":
        node = node.parts[0]
    if node.kind == "name":
        return [(node.value,)]
    if node.kind == "binary" and node.value in ("/", ":"):
        outer, inner = (_factors(source, p) for p in node.parts)
        if node.value == "/":
            return [*outer, *(tuple(dict.fromkeys(outer[-1] + i)) for i in inner)]
        if len(outer) == len(inner) == 1:
            return [tuple(dict.fromkeys(outer[0] + inner[0]))]
    todo = "Allowed after the bar: g, g1:g2 and g1/g2. Several factors are several terms: (1|g1) + (1|g2)."
    raise fault(source, node.start, node.end, "This is no grouping factor.", todo)


def terms_of(expression: str) -> list[tuple[str, Node]]:
    """Terms of a fixed expression such as ``1 + x``, with their signs."""
    return list(_items(TokenReader(expression, scan(expression)).expression(TERMS), "+"))
