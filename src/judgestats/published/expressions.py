"""Expressions over printed cells: parsed (never executed as Python) and evaluated for every rounding of the cells."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, Generic, TypeVar

import numpy as np
from scipy import special

from judgestats.defaults import CONF_LEVEL
from judgestats.errors import AuditError, refuse_unknown, suggestion
from judgestats.kernels.correlation import average_ranks, rowwise
from judgestats.published.printed import grim, grimmer, lines_up
from judgestats.published.printed_tables import Book, Cell
from judgestats.published.selections import LONGEST, Selections, filled, listed, movable, template
from judgestats.typing import Floats

# ---- Values of an expression over printed cells: numbers with their range, truths that may be undecided, texts -------

#: A comparison that the printed precision does not decide.
UNDECIDED = 0.5
#: Two numbers with equal digits: sufficient for "equal", not sufficient against "not equal".
SAME = 0.75
_EPS = 1e-9
#: Rounding error of sums of doubles near zero.
_DUST = 1e-14
V = TypeVar("V", Floats, tuple[str, ...])


@dataclass(frozen=True, eq=False)
class _Several(Generic[V]):
    """Values, and the cells that they are of or about."""

    values: V
    cells: tuple[Cell, ...] = ()

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, eq=False)
class Numbers(_Several[Floats]):
    """Numbers (m,) in P readings: as printed, then with one cell each moved by half a unit of its last digit."""

    #: (m, 2): range that an undecided count leaves open, down and up.
    open: Floats = field(default_factory=lambda: np.zeros((1, 2)))
    texts: tuple[str, ...] = ()
    #: (m, k): where all cells move at once: a product goes further there than the sum of its single moves.
    corners: Floats = field(default_factory=lambda: np.zeros((1, 0)))

    def range(self) -> tuple[Floats, Floats, Floats]:
        """Low, value and high, each of shape (m,): first-order bounds over all cells at once, or the corners."""
        at, pairs = self.values[:, 0], self._pairs()
        with np.errstate(invalid="ignore"):  # infinite ones
            low = at + np.minimum(pairs.min(axis=2, initial=0), 0).sum(axis=1) + self.open[:, 0]
            high = at + np.maximum(pairs.max(axis=2, initial=0), 0).sum(axis=1) + self.open[:, 1]
        corners = np.broadcast_to(self.corners, (len(at), self.corners.shape[1]))
        return np.fmin.reduce([low, *corners.T]), at, np.fmax.reduce([high, *corners.T])

    def directions(self) -> Floats:
        """Moves of the open cells, (cells, 5): none, all that raise a number, all that lower it, all up, all down."""
        pairs = self._pairs()
        most = pairs[np.abs(pairs).max(axis=2).argmax(axis=0), np.arange(pairs.shape[1])]
        up, one = np.where(most[:, 0] >= most[:, 1], 1.0, -1.0), np.ones(len(most))
        return np.column_stack([0 * one, up, -up, one, -one])

    def _pairs(self) -> Floats:
        """What each open cell changes, (m, cells, 2): up and down; 0 in a reading without a value (a root of -0.01)."""
        with np.errstate(invalid="ignore"):
            moved = self.values[:, 1:] - self.values[:, :1]
        return np.where(np.isnan(moved), 0.0, moved).reshape(len(moved), -1, 2)


@dataclass(frozen=True, eq=False)
class Truth(_Several[Floats]):
    """Truths (m,): 1, 0, or one half where the printed precision does not decide; and the cells that they are about."""

    breaks: tuple[tuple[Cell, ...], ...] = ()  # cells, single or in pairs, that each make it fail


class Texts(_Several[tuple[str, ...]]):
    """Texts of cells, or of an expression."""


@dataclass(frozen=True, eq=False)
class Choice:
    """Rows chosen among labelled rows."""

    found: tuple[str, ...]  # by the printed numbers
    sure: frozenset[str]  # for all roundings
    possible: frozenset[str]  # for some
    labels: frozenset[str]
    ranges: Mapping[str, tuple[float, float, float]] = field(default_factory=dict)  # of ordered rows: low, value, high
    unknown: bool = False  # whether a number that it needs is not printed


Value = Numbers | Truth | Texts | Choice


def constant(value: float) -> Numbers:
    """A number that is exact."""
    return Numbers(np.full((1, 1), float(value)))


def combined(
    function: Callable[..., Any], *parts: Numbers, over: bool = False, options: Mapping[str, float] | None = None
) -> Numbers:
    """A function of arrays (m, P) of numbers, in every reading; `over`: whether it reduces the m numbers to one."""
    width = max(p.values.shape[1] for p in parts)
    arrays = [np.broadcast_to(p.values, (len(p), width)) if over else p.values for p in parts]
    made = np.atleast_2d(np.asarray(function(*arrays, **(options or {})), dtype=float))
    opened = np.zeros((len(made), 2))
    for part in parts:
        for end in part.open.T if part.open.any() else ():
            ends = [p.values[:, :1] + (end[:, None] if p is part else 0.0) for p in parts]
            moved = np.atleast_2d(np.asarray(function(*ends, **(options or {})), dtype=float))[:, 0] - made[:, 0]
            opened += np.column_stack([np.fmin(moved, 0.0), np.fmax(moved, 0.0)])
    return Numbers(made, open=opened)


def compared(sign: str, left: Numbers, right: Numbers, difference: Numbers | None = None) -> Truth:
    """Compare numbers within their printed precision; `difference`: left less right, where it is known better."""
    made = combined(np.subtract, left, right) if difference is None else difference
    low, at, high = made.range()
    slack = np.maximum(_EPS * np.maximum(np.abs(left.values[:, 0]), np.abs(right.values[:, 0])), _DUST)
    exact, counted = high - low <= slack, made.open.any(axis=1)
    if sign in ("==", "!="):
        # ranges that only touch print different digits, .53 and .54; an undecided count does reach its ends
        overlap, touch = (low < -slack) & (high > slack), (low <= slack) & (high >= -slack)
        meet = (np.abs(at) <= slack) | overlap | (touch & counted)
        equal = np.where(exact, 1.0, np.where(counted, UNDECIDED, SAME)) * meet
        truth = equal if sign == "==" else 1 - equal
    else:
        low, at, high = (low, at, high) if sign in (">", ">=") else (-high, -at, -low)
        truth = _above(low, at, high, slack, "=" in sign)
        # an undecided count reaches the ends of its range, which rounded digits do not
        reached, missed = (low >= -slack, high < -slack) if "=" in sign else (low > slack, high <= slack)
        truth = np.where(counted, np.where(reached, 1.0, np.where(missed, 0.0, UNDECIDED)), truth)
    cells = next((p.cells for p in (left, right) if len(p.cells) == len(truth)), ())
    return Truth(np.where(np.isnan(made.values[:, 0]), np.nan, truth), cells)


def _above(low: Floats, at: Floats, high: Floats, slack: Floats, even: bool) -> Floats:
    """Whether a difference is above zero, or (`even`) not below."""
    yes, no = (at > slack) & (low >= -slack), (at < -slack) & (high <= slack)
    tie = 1.0 if even else np.where(high - low <= slack, 0.0, UNDECIDED)
    return np.where(np.abs(at) <= slack, tie, np.where(yes, 1.0, np.where(no, 0.0, UNDECIDED)))


def increasing(part: Numbers, strict: bool, down: bool) -> Truth:
    """Whether each number is at least (or above) the one before it."""
    if len(part) < 2:
        return Truth(np.ones(1))
    sign = ("<" if down else ">") + ("" if strict else "=")
    steps = compared(sign, Numbers(part.values[1:]), Numbers(part.values[:-1])).values
    pairs = tuple(pairwise(part.cells)) if len(part.cells) == len(part) else ()
    return Truth(every(steps), breaks=tuple(p for p, v in zip(pairs, steps, strict=False) if v == 0))


def every(values: Floats) -> Floats:
    """Whether all hold, over the first axis: 0 if one does not, whatever is unknown of others; else the least sure."""
    if not len(values):
        return np.full(1, np.nan)
    return np.atleast_1d(np.where((values == 0).any(axis=0), 0.0, values.min(axis=0)))


def quantified(name: str, truth: Truth) -> Numbers | Truth:
    """All, none, any or the count of truths, which is open upwards for undecided or unprinted values."""
    values = truth.values
    if name == "count":
        sure, possible = float((values >= SAME).sum()), float((np.isnan(values) | (values > 0)).sum())
        return replace(constant(sure), open=np.array([[0.0, possible - sure]]))
    cells = truth.cells if len(truth.cells) == len(values) else ()
    decides = values == 0 if name == "all" else values == 1  # any one of these decides it
    breaks = tuple((c,) for c, here in zip(cells, decides, strict=False) if here)
    if name == "any":
        return Truth(1 - every(1 - values), breaks=breaks)
    return Truth(every(values if name == "all" else 1 - values), breaks=breaks)


# ---- Chosen rows: the largest, the smallest, those that satisfy a condition ------------------------------------------


def those(truth: Truth, labels: tuple[str, ...]) -> Choice:
    """The rows that satisfy a condition."""
    named, unknown = np.array(labels), np.isnan(truth.values)
    sure = frozenset(map(str, named[truth.values >= SAME]))
    possible = frozenset(map(str, named[(truth.values > 0) | unknown]))
    return Choice(tuple(sorted(sure)), sure, possible, frozenset(labels), unknown=bool(unknown.any()))


def extreme(part: Numbers, labels: tuple[str, ...], k: int, down: bool) -> Choice:
    """The k rows with the largest (`down`: smallest) numbers, in order."""
    low, at, high = part.range()
    if down:
        low, at, high = -high, -at, -low
    order = np.argsort(-at, kind="stable")
    others = [np.arange(len(part)) != i for i in range(len(part))]
    beaten = [int(_surely_above(low[o], at[o], at[i], high[i]).sum()) for i, o in enumerate(others)]
    beats = [int(_surely_above(low[i], at[i], at[o], high[o]).sum()) for i, o in enumerate(others)]
    rivals = [len(part) - 1 - int(np.isnan(at[o]).sum()) - n for o, n in zip(others, beats, strict=True)]
    return Choice(
        tuple(labels[i] for i in order[:k]),
        frozenset(labels[i] for i in range(len(part)) if rivals[i] < k and not np.isnan(at[i])),
        frozenset(labels[i] for i in range(len(part)) if beaten[i] < k),
        frozenset(labels),
        {label: (low[i], at[i], high[i]) for i, label in enumerate(labels)},
        bool(np.isnan(at).any()),
    )


def _surely_above(low: Any, at: Any, other: Any, high: Any) -> Any:
    """Whether numbers are above others for every rounding; equal printed numbers are not."""
    return (at > other) & (low >= high - _EPS * np.abs(high))


def chosen(part: Choice, wanted: tuple[str, ...]) -> float:
    """Whether these rows are the chosen ones: 1, 0, undecided, or NaN where a number that is not printed decides."""
    asked = frozenset(wanted)
    if not (part.sure <= asked <= part.possible):
        return 0.0
    decided = part.sure == asked == part.possible
    for one, two in pairwise(wanted) if part.ranges else ():
        (low, at, high), (low2, at2, high2) = part.ranges[one], part.ranges[two]
        if _surely_above(low2, at2, at, high):
            return 0.0
        decided = decided and bool(_surely_above(low, at, at2, high2))
    return np.nan if part.unknown else 1.0 if decided else UNDECIDED


# ---- Functions of expressions: arrays of printed numbers in, an array out --------------------------------------------

#: Decimals of a double.
_MOST_DIGITS = 15


def _rounded(x: Floats, decimals: Any = 0) -> Floats:
    """Round as Python formats a double, as an intermediate result would have been."""
    digits = int(np.ravel(decimals)[0])
    if not 0 <= digits <= _MOST_DIGITS:
        raise ValueError(f"{digits} decimals; 0 to {_MOST_DIGITS} are allowed")
    return np.asarray(np.vectorize(lambda v: float(f"{v:.{digits}f}"), otypes=[float])(x))


def _cut(x: Floats, decimals: Any = 0) -> Floats:
    """Digits cut off instead of rounded: 0.9653 to .96."""
    digits = int(np.ravel(decimals)[0])
    if not 0 <= digits <= _MOST_DIGITS:
        raise ValueError(f"{digits} decimals; 0 to {_MOST_DIGITS} are allowed")
    scaled = np.asarray(x) * 10.0**digits
    near = np.where(np.isclose(scaled, np.rint(scaled), rtol=1e-12, atol=1e-9), np.rint(scaled), np.trunc(scaled))
    return np.asarray(near / 10.0**digits)


def _wilson(which: int, k: Floats, n: Floats, conf_level: float = CONF_LEVEL) -> Floats:
    from judgestats.kernels.proportions import wilson  # imports numba

    k, n = np.broadcast_arrays(np.asarray(k, float), np.asarray(n, float))
    ends = wilson(np.ascontiguousarray(k.ravel()), np.ascontiguousarray(n.ravel()), conf_level)
    return np.asarray(ends[which]).reshape(k.shape)


def _wald_half(p: Floats, n: Floats, conf_level: float = CONF_LEVEL) -> Floats:
    return np.asarray(-special.ndtri((1 - conf_level) / 2) * np.sqrt(p * (1 - p) / n))


def _clopper(which: int, k: Floats, n: Floats, conf_level: float = CONF_LEVEL) -> Floats:
    tail = (1 - conf_level) / 2
    if which:
        return np.where(k >= n, 1.0, special.betaincinv(k + 1, np.maximum(n - k, 1e-9), 1 - tail))
    return np.where(k <= 0, 0.0, special.betaincinv(np.maximum(k, 1e-9), n - k + 1, tail))


def _percentile(which: int, k: Floats, n: Floats, conf_level: float = CONF_LEVEL) -> Floats:
    """An end of the percentile bootstrap of a share, which is a quantile of a binomial distribution over n."""
    from judgestats.kernels.resampling import binomial_interval  # imports numba

    return np.asarray(np.vectorize(lambda a, b: binomial_interval(a, b, conf_level)[which], otypes=[float])(k, n))


def _mcnemar(b: Floats, c: Floats, corrected: float = 1.0) -> Floats:
    top = np.maximum(np.abs(b - c) - (1.0 if corrected else 0.0), 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(b + c > 0, top**2 / (b + c), 0.0))


def _p_of_t(t: Floats, df: Floats, sides: float = 2.0) -> Floats:
    return np.asarray(sides * special.stdtr(df, -np.abs(t)))


def _p_of_r(r: Floats, n: Floats, sides: float = 2.0) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        t = r * np.sqrt((n - 2) / np.maximum(1 - r**2, 0.0))
    return _p_of_t(t, n - 2, sides)


def _p_of_binomial(k: Floats, n: Floats, p: float = 0.5, sides: float = 2.0) -> Floats:
    """Of k in n; two-sided by doubling, as symmetric tests do."""
    k = np.floor(k)
    low = np.where(k < n, special.betaincc(k + 1, np.maximum(n - k, 1e-9), p), 1.0)
    high = np.where(k > 0, special.betainc(np.maximum(k, 1e-9), n - k + 1, p), 1.0)
    return np.asarray(np.minimum(1.0, sides * np.minimum(low, high)))


def _dprime(hits: Floats, n: Floats, alarms: Floats, m: Floats) -> Floats:
    """With the log-linear correction, (k + 0.5) / (n + 1)."""
    return np.asarray(special.ndtri((hits + 0.5) / (n + 1)) - special.ndtri((alarms + 0.5) / (m + 1)))


def _sd(x: Floats, ddof: float = 1.0) -> Floats:
    return np.std(x, axis=0, ddof=int(ddof)) if len(x) > ddof else np.full(x.shape[1], np.nan)


def _cohen_d(x: Floats, y: Floats, ddof: float = 1.0, pooled: float = 0.0) -> Floats:
    """Difference of means over the root of the mean variance (``pooled=1``: weighted by degrees of freedom)."""
    u, v = np.var(x, axis=0, ddof=int(ddof)), np.var(y, axis=0, ddof=int(ddof))
    a, b = (len(x) - 1, len(y) - 1) if pooled else (1, 1)
    return np.asarray((x.mean(0) - y.mean(0)) / np.sqrt((a * u + b * v) / (a + b)))


def _correlation(ranked: bool, x: Floats, y: Floats) -> Floats:
    x, y = np.broadcast_arrays(x, y)
    return np.asarray(rowwise(np.ascontiguousarray(x.T), np.ascontiguousarray(y.T), ranked=ranked))


def _ranks(x: Floats) -> Floats:
    """From 1, ties sharing their mean rank; all NaN where one of them has no value."""
    return np.where(np.isnan(x).any(axis=0), np.nan, average_ranks(x.T).T)


def _holm(p: Floats, m: float = np.nan, alpha: float = 0.05) -> Floats:
    """1 where a test survives Holm's procedure over m tests, those given by default; NaN where p is not printed."""
    m = len(p) if np.isnan(m) else m
    least, most = (_holm_of(np.where(np.isnan(p), other, p), m, alpha) for other in (0.0, 1.0))
    return np.where(np.isnan(p) | (least != most), np.nan, most)


def _holm_of(p: Floats, m: float, alpha: float) -> Floats:
    order = np.argsort(p, axis=0, kind="stable")
    ranked = np.take_along_axis(p, order, axis=0)
    divisors = np.maximum(
        m - np.arange(len(p)), 1
    )  # a family that is said to be smaller than it is divides by 1 at last
    alive = np.logical_and.accumulate(ranked <= alpha / divisors[:, None], axis=0)
    out = np.empty_like(p)
    np.put_along_axis(out, order, alive.astype(float), axis=0)
    return out


def within(
    function: Callable[..., bool], low: Sequence[Floats], high: Sequence[Floats], options: Mapping[str, float]
) -> Floats:
    """A function of the ranges of its arguments, row by row: 1 or 0, NaN where an argument has no value."""
    size = max(map(len, low))
    lows, highs = (zip(*(np.broadcast_to(e, size) for e in ends), strict=True) for ends in (low, high))
    made = [
        np.nan if np.isnan([*a, *b]).any() else float(function(*zip(a, b, strict=True), **options))
        for a, b in zip(lows, highs, strict=True)
    ]
    return np.array(made, dtype=float)


# lambdas, as a ufunc would take a third argument for the array to write to
EACH: Mapping[str, Callable[..., Any]] = {
    "abs": lambda x: np.abs(x),
    "sqrt": lambda x: np.sqrt(x),
    "exp": lambda x: np.exp(x),
    "log": lambda x: np.log(x),
    "round": _rounded,
    "cut": _cut,
    "as_printed": lambda x: np.broadcast_to(x[:, :1], x.shape),  # its digits taken as exact, as in a stated bound
    "whole": lambda x: np.rint(x),
    "floor": lambda x: np.floor(x),
    "ceil": lambda x: np.ceil(x),
    "larger": lambda x, y: np.maximum(x, y),
    "smaller": lambda x, y: np.minimum(x, y),
    "where": lambda yes, a, b: np.where(yes > 0.5, a, b),
    "probit": lambda p: special.ndtri(p),
    "logit": lambda p: np.log(p / (1 - p)),
    "wilson_low": partial(_wilson, 0),
    "wilson_high": partial(_wilson, 1),
    "exact_low": partial(_clopper, 0),
    "exact_high": partial(_clopper, 1),
    "wald_half": _wald_half,
    "percentile_low": partial(_percentile, 0),
    "percentile_high": partial(_percentile, 1),
    "mcnemar": _mcnemar,
    "mcnemar_p": lambda b, c, corrected=1.0: np.where(b + c > 0, special.chdtrc(1, _mcnemar(b, c, corrected)), 1.0),
    "chi2_p": lambda x, df: np.where(x < 0, 1.0, special.chdtrc(df, x)),
    "z_p": lambda z, sides=2.0: sides * special.ndtr(-np.abs(z)),
    "t_p": _p_of_t,
    "f_p": lambda f, one, two: special.fdtrc(one, two, np.maximum(f, 0.0)),
    "correlation_p": _p_of_r,
    "binomial_p": _p_of_binomial,
    "kappa": lambda seen, chance: (seen - chance) / (1 - chance),
    # with the log-linear correction
    "dprime": lambda hits, n, alarms, m: (
        special.ndtri((hits + 0.5) / (n + 1)) - special.ndtri((alarms + 0.5) / (m + 1))
    ),
    "rank": _ranks,
    "rank_down": lambda x: _ranks(-x),
    "cumsum": lambda x: np.cumsum(x, axis=0),
    "sort": lambda x: np.sort(x, axis=0),
    "holm_survives": _holm,
}

OVER: Mapping[str, Callable[..., Any]] = {
    "sum": lambda x: x.sum(axis=0),
    "mean": lambda x: x.mean(axis=0),
    "median": lambda x: np.median(x, axis=0),
    "min": lambda x: x.min(axis=0),
    "max": lambda x: x.max(axis=0),
    "first": lambda x: x[0],
    "last": lambda x: x[-1],
    "sd": _sd,
    "pearson": partial(_correlation, False),
    "spearman": partial(_correlation, True),
    "cohen_d": _cohen_d,
    "pairs_above": lambda x, y: (x[:, None, :] > y[None, :, :]).sum(axis=(0, 1)),  # U of Mann and Whitney without ties
    "entropy": lambda x: special.entr(x / x.sum(axis=0)).sum(axis=0),
}

WITHIN: Mapping[str, Callable[..., Any]] = {"grim": grim, "grimmer": grimmer}

ARITHMETIC: Mapping[type[ast.operator], Callable[..., Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
    ast.Mod: np.mod,
    ast.FloorDiv: np.floor_divide,
}

COMPARISONS: Mapping[type[ast.cmpop], str] = {
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}

#: Functions of more than numbers: truths, labels, texts.
SPECIAL = (
    *("all", "none", "any", "count", "len", "increasing", "decreasing"),
    *("argmax", "argmin", "top", "bottom", "which", "distinct", "repeats", "lines_up"),
)

# ---- Evaluation of an expression -------------------------------------------------------------------------------------


@dataclass(eq=False)
class Reading:
    """An expression evaluated on printed tables, in a row of one of them or in none."""

    book: Book
    expression: str
    table: str = ""
    row: int = -1
    cells: dict[Cell, int] = field(default_factory=dict)  # each that was read -> its index in `movable`, or -1
    selections: Selections = field(init=False)
    _selected: dict[int, tuple[Cell, ...]] = field(default_factory=dict)
    _text: str = ""
    _places: tuple[ast.expr, ...] = ()
    _truths: dict[int, Truth] = field(default_factory=dict)
    _moves: Floats = field(default_factory=lambda: np.zeros((0, 1)))

    def __post_init__(self) -> None:
        self.selections = Selections(self.book, self.expression, self.table, self.row)

    def value(self) -> Value:
        """The value of the expression; an AuditError if a name is unknown, or text is printed in place of a number."""
        try:
            tree, self._text, self._places = template(self.expression)
            self._selected = {id(node): self.selections.cells(node) for node in self._places}
            self.cells, self._moves = movable(self.book, self._selected.values())
            with np.errstate(all="ignore"):
                value = self._evaluate(tree)
                return self._at_corners(value, lambda: self._number(tree)) if isinstance(value, Numbers) else value
        except (RecursionError, OverflowError) as error:
            raise AuditError(
                f"{self.expression[:LONGEST]!r} is too deep, or has too large a number ({error})."
            ) from error

    def _at_corners(self, made: Numbers, evaluate: Callable[[], Numbers]) -> Numbers:
        """The same numbers, with their values where all cells move at once."""
        if made.values.shape[1] != self._moves.shape[1] or not len(self._moves):
            return made
        single, self._moves = self._moves, made.directions()
        try:
            return replace(made, corners=evaluate().values[:, 1:])
        finally:
            self._moves = single

    # ------------------------------------------------------------ evaluation

    def _evaluate(self, node: ast.expr) -> Value:
        if id(node) in self._selected:
            return self._read(self._selected[id(node)])
        if id(node) in self._truths:
            return self._truths[id(node)]
        if isinstance(node, ast.Constant):
            return self._constant(node)
        if isinstance(node, ast.List | ast.Tuple | ast.Set):
            return self._listed(node)
        if isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
            function = ARITHMETIC[type(node.op)]
            return self._fitting(node, function, self._number(node.left), self._number(node.right))
        if isinstance(node, ast.UnaryOp):
            return self._unary(node)
        if isinstance(node, ast.BoolOp):
            return self._joined(node)
        if isinstance(node, ast.Compare):
            return self._compare(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self._call(node, node.func.id)
        raise self._refused(node, "Allowed: selections, numbers, texts, arithmetic, comparisons, functions.")

    def _constant(self, node: ast.Constant) -> Value:
        if isinstance(node.value, str):
            return Texts((node.value,))
        if isinstance(node.value, int | float):
            return constant(node.value)
        raise self._refused(node, "Only numbers and texts are allowed here.")

    def _read(self, cells: tuple[Cell, ...]) -> Value:
        """The cells as numbers for every rounding, or as texts where none of them holds a number."""
        texts = tuple(self.book.text(c) for c in cells)
        printed = [self.book.printed(c) for c in cells]
        if all(np.isnan(p.value) for p in printed) and not all(p.missing for p in printed):
            return Texts(texts, cells)
        values = np.array([[p.value] for p in printed])
        if len(self._moves):
            index = np.array([self.cells[c] for c in cells])
            moves = np.where(index[:, None] >= 0, self._moves[index], 0.0)
            up, down = np.array([p.moves for p in printed]).T[:, :, None]
            values = values + np.where(moves > 0, up, np.where(moves < 0, down, 0.0))
        return Numbers(values, cells, texts=texts)

    def _number(self, node: ast.expr) -> Numbers:
        return self._as_number(node, self._evaluate(node))

    def _as_number(self, node: ast.expr, value: Value) -> Numbers:
        if isinstance(value, Truth):
            return Numbers(value.values[:, None], value.cells)
        if not isinstance(value, Numbers):
            self._refuse_text(value)
            shown = listed(list(value.values if isinstance(value, Texts) else value.found))
            raise self._refused(node, f"A number is needed here, got {shown!r}.")
        if np.isnan(value.values).any():
            self._refuse_text(value)
        return value

    def _refuse_text(self, value: Value) -> None:
        for cell in getattr(value, "cells", ()):
            self.book.number(cell)  # raises, naming the cell, unless nothing is printed in it

    def _truth(self, node: ast.expr) -> Truth:
        value = self._evaluate(node)
        if not isinstance(value, Truth):
            raise self._refused(node, "A comparison is needed here.")
        return value

    def _fitting(
        self, node: ast.expr, function: Callable[..., Any], *parts: Numbers, options: Mapping[str, float] | None = None
    ) -> Numbers:
        self._one_size(node, *parts)
        made = combined(function, *parts, options=options)
        return Numbers(made.values, next((p.cells for p in parts if len(p) == len(made)), ()), made.open)

    def _listed(self, node: ast.List | ast.Tuple | ast.Set) -> Value:
        parts = [self._evaluate(e) for e in node.elts]
        if all(isinstance(p, Texts) for p in parts):
            return Texts(
                tuple(t for p in parts for t in p.values),  # type: ignore[union-attr]
                tuple(c for p in parts for c in p.cells),  # type: ignore[union-attr]
            )
        numbers = [self._number(e) for e in node.elts]
        width = max(p.values.shape[1] for p in numbers)
        stacked = np.vstack([np.broadcast_to(p.values, (len(p), width)) for p in numbers])
        opened = np.vstack([np.broadcast_to(p.open, (len(p), 2)) for p in numbers])
        return Numbers(stacked, tuple(c for p in numbers for c in p.cells), opened)

    def _unary(self, node: ast.UnaryOp) -> Value:
        if isinstance(node.op, ast.Not):
            part = self._truth(node.operand)
            return Truth(1.0 - part.values, part.cells, part.breaks)
        if isinstance(node.op, ast.Invert):
            raise self._refused(node, "Allowed: -, + and not.")
        sign = np.negative if isinstance(node.op, ast.USub) else np.positive
        return self._fitting(node, sign, self._number(node.operand))

    def _joined(self, node: ast.BoolOp) -> Truth:
        parts = [self._truth(v) for v in node.values]
        breaks = tuple(b for p in parts if (p.values == 0).any() for b in p.breaks)
        if isinstance(node.op, ast.And):
            return replace(self._together(node, parts), breaks=breaks)
        made = self._together(node, [Truth(1.0 - p.values, p.cells) for p in parts])
        return Truth(1.0 - made.values, made.cells, breaks)

    def _compare(self, node: ast.Compare) -> Truth:
        lefts = [node.left, *node.comparators[:-1]]
        parts = zip(node.ops, lefts, node.comparators, strict=True)
        self._truths[id(node)] = self._together(node, [self._pair(node, *part) for part in parts])
        return self._truths[id(node)]

    def _together(self, node: ast.expr, parts: list[Truth]) -> Truth:
        """Whether all hold, row by row."""
        self._one_size(node, *parts)
        made = every(np.stack(np.broadcast_arrays(*(p.values for p in parts))))
        return Truth(made, next((p.cells for p in parts if len(p.cells) == len(made)), ()))

    def _one_size(self, node: ast.expr, *parts: Value | tuple[str, ...]) -> None:
        sizes = {len(p) for p in parts if not isinstance(p, Choice)} - {1}
        if len(sizes) > 1:
            raise self._refused(node, f"The parts have {' and '.join(map(str, sorted(sizes)))} values.")

    def _pair(self, node: ast.expr, sign: ast.cmpop, left: ast.expr, right: ast.expr) -> Truth:
        a, b = self._evaluate(left), self._evaluate(right)
        if isinstance(a, Choice) and isinstance(b, Texts | Numbers):
            return self._chosen(node, sign, a, self._texts(b))
        if isinstance(sign, ast.In | ast.NotIn):
            among = np.array([float(t in self._texts(b)) for t in self._texts(a)])
            return Truth(among if isinstance(sign, ast.In) else 1 - among, getattr(a, "cells", ()))
        ordered = not isinstance(sign, ast.Eq | ast.NotEq)
        for one, other in ((a, b), (b, a)):
            if isinstance(one, Texts) and (ordered or isinstance(other, Numbers)):
                self._refuse_text(one)  # a number is meant
        if isinstance(a, Texts) or isinstance(b, Texts):
            return self._same_text(node, sign, a, b)
        if type(sign) not in COMPARISONS:
            raise self._refused(node, f"Comparisons: {', '.join(COMPARISONS.values())}, in, not in.")
        one, two = self._as_number(left, a), self._as_number(right, b)
        made = self._fitting(node, np.subtract, one, two)
        made = self._at_corners(made, lambda: self._fitting(node, np.subtract, self._number(left), self._number(right)))
        return compared(COMPARISONS[type(sign)], one, two, made)

    def _chosen(self, node: ast.expr, sign: ast.cmpop, choice: Choice, wanted: tuple[str, ...]) -> Truth:
        if not isinstance(sign, ast.Eq | ast.NotEq):
            raise self._refused(node, "Chosen rows are compared by == or !=.")
        odd = [t for t in wanted if t not in choice.labels]
        if odd:
            near = suggestion(odd[0], choice.labels)
            raise self._refused(node, f"No row is labelled {odd[0]!r}. Rows: {', '.join(sorted(choice.labels))}.{near}")
        made = np.full(1, chosen(choice, wanted))
        return Truth(made if isinstance(sign, ast.Eq) else 1 - made)

    def _same_text(self, node: ast.expr, sign: ast.cmpop, a: Value, b: Value) -> Truth:
        if not isinstance(sign, ast.Eq | ast.NotEq):
            raise self._refused(node, "Texts are compared by ==, != or in.")
        one, two = np.array(self._texts(a)), np.array(self._texts(b))
        self._one_size(node, tuple(one), tuple(two))
        equal = (one == two).astype(float)
        return Truth(equal if isinstance(sign, ast.Eq) else 1 - equal, getattr(a, "cells", ()))

    def _texts(self, value: Value) -> tuple[str, ...]:
        if isinstance(value, Texts):
            return value.values
        if isinstance(value, Numbers) and value.texts:
            return value.texts
        if isinstance(value, Numbers):
            return tuple(f"{v:g}" for v in value.values[:, 0])
        raise AuditError(
            f"In {self.expression!r} a text is compared with a value that is not a text. Compare texts with texts."
        )

    # ------------------------------------------------------------ functions

    def _call(self, node: ast.Call, name: str) -> Value:
        problem = f"{name!r} in {self.expression!r} is not a function"
        refuse_unknown(name, sorted({*EACH, *OVER, *WITHIN, *SPECIAL}), problem, "Functions", error=AuditError)
        try:
            return self._special(node, name) if name in SPECIAL else self._applied(node, name)
        except (TypeError, ValueError, ArithmeticError, IndexError, MemoryError) as error:
            raise self._refused(node, f"{name} does not accept these arguments ({error}).") from error

    def _applied(self, node: ast.Call, name: str) -> Value:
        options = self._options(node)
        if name in WITHIN:
            return self._within(node, WITHIN[name], options)
        parts = [self._number(a) for a in node.args]
        if name in OVER:
            return combined(OVER[name], *parts, over=True, options=options)
        return self._fitting(node, EACH[name], *parts, options=options)

    def _options(self, node: ast.Call) -> dict[str, float]:
        return {str(k.arg): self._option(k.value) for k in node.keywords}

    def _option(self, node: ast.expr) -> float:
        if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
            return float(node.value)
        return float(self._number(node).values[0, 0])

    def _within(self, node: ast.Call, function: Callable[..., bool], options: Mapping[str, float]) -> Truth:
        parts = [self._number(a) for a in node.args]
        ranges = [p.range() for p in parts]
        made = within(function, [r[0] for r in ranges], [r[2] for r in ranges], options)
        cells = parts[-2].cells if len(parts) > 1 else ()  # of the number before n
        return Truth(made, cells if len(cells) == len(made) else ())

    def _special(self, node: ast.Call, name: str) -> Value:
        if not node.args:
            raise self._refused(node, f"{name}() needs an argument.")
        first = node.args[0]
        if name in ("all", "none", "any", "count"):
            return quantified(name, self._truth(first))
        if name == "repeats":
            return self._repeats(node)
        if name == "lines_up":
            return self._lines_up(node)
        if name in ("len", "distinct"):
            value = self._evaluate(first)
            return constant(len(value) if name == "len" else len(set(self._texts(value))))  # type: ignore[arg-type]
        if name in ("increasing", "decreasing"):
            strict = any(k.arg == "strict" and getattr(k.value, "value", False) for k in node.keywords)
            return increasing(self._number(first), strict, name == "decreasing")
        if name == "which":
            truth = self._truth(first)
            return those(truth, self._labels(node, truth.cells, node.args[1:]))
        part = self._number(first)
        k = int(self._option(node.args[1])) if name in ("top", "bottom") else 1
        labels = self._labels(node, part.cells, node.args[1 + (name in ("top", "bottom")) :])
        return extreme(part, labels, k, name in ("argmin", "bottom"))

    def _lines_up(self, node: ast.Call) -> Truth:
        """Whether means and sds fit the steps of a scale: lines_up(means, sds, ns, step=..., low=..., high=...)."""
        ranges, options = [self._number(a).range() for a in node.args], self._options(node)
        parts = np.broadcast_arrays(*(np.column_stack([low, high]) for low, _, high in ranges))
        means, sds, ns = (p.tolist() for p in parts)
        made = np.nan if np.isnan(parts).any() else float(lines_up(means, sds, ns, **options))
        return Truth(np.full(1, made))

    def _repeats(self, node: ast.Call) -> Numbers:
        """How many other groups of rows print the texts of group i: repeats(i, rows in a group, columns ...)."""
        i, width = (int(self._option(a)) for a in node.args[:2])
        columns = [[self.book.text(c) for c in self._selected[id(a)]] for a in node.args[2:]]
        starts = range(0, len(columns[0]), width)
        groups = [[t for texts in columns for t in texts[at : at + width]] for at in starts]
        return constant(sum(g == groups[i] for g in groups) - 1)

    def _labels(self, node: ast.expr, cells: tuple[Cell, ...], columns: list[ast.expr]) -> tuple[str, ...]:
        names = [c.value for c in columns if isinstance(c, ast.Constant) and isinstance(c.value, str)]
        if not cells or not names or len(names) != len(columns):
            raise self._refused(node, "Name the column of labels, as in argmax(table1.r, 'model').")
        for table in {t for t, _, _ in cells}:
            if absent := [name for name in names if name not in self.book.columns[table]]:
                have = ", ".join(self.book.columns[table])
                raise self._refused(node, f"{table!r} has no column {absent[0]!r}: {have}.")
        return tuple(" / ".join(self.book.text((t, i, name)) for name in names) for t, i, _ in cells)

    def written(self) -> str:
        """The expression with the printed values in place of the cells; call it after `value`."""
        text = self._text
        for i, node in enumerate(self._places):
            text = filled(text, i, [self.book.text(c) for c in self._selected[id(node)]])
        return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"

    def _refused(self, node: ast.AST, why: str) -> AuditError:
        return self.selections.refused(node, why)
