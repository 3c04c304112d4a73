"""Functions that a formula may call, and the value of an expression on a table."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import add, eq, ge, gt, le, lt, mul, ne, pow, sub, truediv
from typing import Any

import numpy as np
import pandas as pd

from judgestats.models.grammar.parse_trees import Node
from judgestats.models.grammar.splines import Cubic, ThinPlate
from judgestats.typing import Floats

#: A transform of all rows, that remembers what it has seen.
Transform = Callable[..., Any]
#: Functions known without ``np.``.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: getattr(np, name) for name in ("log", "log2", "log10", "log1p", "exp", "expm1", "sqrt", "abs")
}
#: Functions of a formula that make a factor of a column, and transforms that look at all rows.
CODINGS = ("C", "S", "T")
TRANSFORMS = ("center", "scale", "standardize", "bs", "cr", "cc", "tp", "poly")
#: NumPy functions beside its ufuncs whose value in a row depends on that row alone.
BY_ROW = ("where", "clip", "round", "isin", "nan_to_num")
_ARITHMETIC = {"+": add, "-": sub, "*": mul, "/": truediv, "**": pow}
_COMPARISONS = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
OPERATIONS: dict[str, Callable[..., Any]] = {**_ARITHMETIC, **_COMPARISONS}
LITERALS = {"True": True, "False": False, "None": None}


class Scale:
    """``scale(x)`` as in R: less its mean, over its standard deviation with n - 1, those of the rows first seen."""

    def __init__(self) -> None:
        self.fitted: tuple[float, float] | None = None

    def __call__(self, x: Floats) -> Floats:
        """Scale values."""
        if self.fitted is None:
            if np.size(x) < 2:
                raise ValueError("scale() needs a column, not a single value")
            self.fitted = float(np.mean(x)), float(np.std(x, ddof=1))
        mean, sd = self.fitted
        return (x - mean) / sd


OWN_TRANSFORMS: dict[str, Callable[[], Transform]] = {
    "scale": Scale,
    "standardize": Scale,
    "cr": Cubic,
    "cc": partial(Cubic, cyclic=True),
    "tp": ThinPlate,
}


def elementwise(name: str) -> bool:
    """Whether a function is known, and its value in a row depends on that row alone, as that of ``log`` does."""
    if not name.startswith("np."):
        return name in FUNCTIONS
    return isinstance(getattr(np, name[3:], None), np.ufunc) or name[3:] in BY_ROW


def evaluate(node: Node, frame: pd.DataFrame, fitted: dict[str, Transform] | None = None) -> Any:
    """Value of an arithmetic tree on a table, (N,) or a number; transforms of all rows are kept in `fitted`."""
    if node.kind == "name":
        values = frame[node.value]
        if not pd.api.types.is_numeric_dtype(values):
            return values.to_numpy(dtype=object)
        return values.to_numpy(dtype=float, na_value=np.nan)
    if node.kind == "number":
        return float(node.value)
    if node.kind == "string":
        return node.value
    if node.kind == "list":
        return [evaluate(part, frame, fitted) for part in node.parts]
    if node.kind == "literal":
        return LITERALS[node.value]
    parts = [evaluate(p, frame, fitted) for p in node.parts if p.kind != "keyword"]
    if node.kind == "unary":
        return -parts[0] if node.value == "-" else parts[0]
    if node.kind == "binary":
        return OPERATIONS[node.value](*parts)
    if node.kind == "call" and node.value != "I":
        keywords = {p.value: evaluate(p.parts[0], frame, fitted) for p in node.parts if p.kind == "keyword"}
        if fitted is not None and node.value in TRANSFORMS:
            if first := (name := written(node)) not in fitted:
                fitted[name] = _transform(node.value)
            if node.value == "bs" and not {"df", "knots"} & {*keywords} and len(parts) == 1:
                keywords["df"] = keywords.get("degree", 3.0)  # no inner knots, as in R
            values = fitted[name](*map(_whole, parts), **{key: _whole(value) for key, value in keywords.items()})
            if first and node.value == "poly" and not keywords.get("raw", False) and not _orthogonal(values):
                raise ValueError(
                    f"the degree of {name} is too high for its values in double precision; take a lower one"
                )
            return values
        function = FUNCTIONS.get(node.value) or getattr(np, node.value.removeprefix("np."))
        return function(*parts, **keywords)
    return parts[0]


def _orthogonal(columns: Floats) -> bool:
    """Whether columns of length 1 are orthogonal but for rounding."""
    return bool(np.abs(columns.T @ columns - np.eye(columns.shape[1])).max() < 1e-6)


def _transform(name: str) -> Transform:
    """A transform that has not seen any rows."""
    if name in OWN_TRANSFORMS:
        return OWN_TRANSFORMS[name]()
    from formulae.transforms import TRANSFORMS as known  # type: ignore[import-untyped]

    return known[name]()  # type: ignore[no-any-return]


def _whole(value: object) -> Any:
    """A number of columns or a degree as a whole number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def written(node: Node) -> str:
    """A term or a part of one in its usual spelling, as its columns are named."""
    if node.kind == "string":
        return f'"{node.value}"' if '"' not in node.value else repr(node.value)
    inner = [written(p) for p in node.parts]
    shapes = {
        "call": f"{node.value}({', '.join(inner)})",
        "keyword": f"{node.value}={''.join(inner)}",
        "group": f"({''.join(inner)})",
        "list": f"[{', '.join(inner)}]",
        "unary": f"{node.value}{''.join(inner)}",
        "binary": f" {node.value} ".join(inner),
    }
    return shapes.get(node.kind, node.value)
