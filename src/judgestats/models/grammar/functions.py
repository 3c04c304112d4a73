"""Functions that a formula may call, and the value of a response."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pandas as pd

from judgestats.models.grammar.tokens import Node

#: Functions known without ``np.``.
FUNCTIONS: dict[str, Any] = {
    "log": np.log, "log2": np.log2, "log10": np.log10, "log1p": np.log1p, "exp": np.exp, "expm1": np.expm1,
    "sqrt": np.sqrt, "abs": np.abs,
}  # fmt: skip
#: NumPy functions beside its ufuncs whose value in a row depends on that row alone.
BY_ROW = ("where", "clip", "round", "isin", "nan_to_num")

OPERATIONS: dict[str, Any] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": operator.pow,
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
LITERALS = {"True": True, "False": False, "None": None}


class Scale:
    """``scale(x)`` as in R: less its mean, over its standard deviation with n - 1, those of the rows first seen."""

    def __init__(self) -> None:
        self.fitted: tuple[float, float] | None = None

    def __call__(self, x: Any) -> Any:
        """Scale values."""
        if self.fitted is None:
            if np.size(x) < 2:
                raise ValueError("scale() needs a column, not a single value")
            self.fitted = float(np.mean(x)), float(np.std(x, ddof=1))
        mean, sd = self.fitted
        return (x - mean) / sd


def elementwise(name: str) -> bool:
    """Whether a function is known, and its value in a row depends on that row alone.

    Examples
    --------
    >>> elementwise("log"), elementwise("np.log"), elementwise("np.mean")
    (True, True, False)
    """
    if not name.startswith("np."):
        return name in FUNCTIONS
    return isinstance(getattr(np, name[3:], None), np.ufunc) or name[3:] in BY_ROW


def evaluate(node: Node, frame: pd.DataFrame) -> Any:
    """Value of an arithmetic tree on a table: an array, or a number.

    Parameters
    ----------
    node : Node
        A tree of columns, numbers, arithmetic and functions by row.
    frame : pandas.DataFrame
        The columns it names.

    Returns
    -------
    (N,) array or float

    Examples
    --------
    >>> from judgestats.models.grammar.tokens import ARITHMETIC, Reader, scan
    >>> tree = Reader("n - k", scan("n - k")).expression(ARITHMETIC)
    >>> evaluate(tree, pd.DataFrame({"n": [3, 5], "k": [1, 5]}))
    array([2., 0.])
    """
    if node.kind == "name":
        values = frame[node.value]
        if not pd.api.types.is_numeric_dtype(values):
            return values.to_numpy(dtype=object)
        return values.to_numpy(dtype=float, na_value=np.nan)
    if node.kind == "number":
        return float(node.value)
    if node.kind == "string":
        return node.value
    if node.kind == "literal":
        return LITERALS[node.value]
    parts = [evaluate(p, frame) for p in node.parts if p.kind != "keyword"]
    if node.kind == "unary":
        return -parts[0] if node.value == "-" else parts[0]
    if node.kind == "binary":
        return OPERATIONS[node.value](*parts)
    if node.kind == "call" and node.value != "I":
        named = {p.value: evaluate(p.parts[0], frame) for p in node.parts if p.kind == "keyword"}
        function = FUNCTIONS.get(node.value) or getattr(np, node.value.removeprefix("np."))
        return function(*parts, **named)
    return parts[0]
