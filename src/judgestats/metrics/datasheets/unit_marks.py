"""Hits and trials of each term that two datasheets compare pair by pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.metrics.paired import Marks

_Marker = Callable[[pd.DataFrame], Marks]


def _preference(table: pd.DataFrame) -> Marks:
    choice = table["choice"].to_numpy(dtype=object)
    return np.isin(choice, ["first", "second"]), choice != "invalid"


def _choice(*answers: str) -> _Marker:
    """Share of all calls."""

    def marks(table: pd.DataFrame) -> Marks:
        return np.isin(table["choice"].to_numpy(dtype=object), answers), np.ones(len(table), dtype=bool)

    return marks


def _outcome(answer: str, *, of_all: bool = False) -> _Marker:
    """Share of the valid calls, or of all."""

    def marks(table: pd.DataFrame) -> Marks:
        outcome = table["outcome"].to_numpy(dtype=object)
        return outcome == answer, (outcome != "invalid") | of_all

    return marks


def _pair(rule: Callable[[NDArray[Any], NDArray[Any]], Any]) -> _Marker:
    """Share of the pairs with two valid answers; a hit matrix of two columns is for the two calls of a pair."""

    def marks(table: pd.DataFrame) -> Marks:
        one, two = (table[c].to_numpy(dtype=object) for c in ("forward", "reverse"))
        hit = np.asarray(rule(one, two), dtype=bool)
        valid = ~(np.isin(one, ["invalid", "missing"]) | np.isin(two, ["invalid", "missing"]))
        return hit, np.broadcast_to(valid if hit.ndim == 1 else valid[:, None], hit.shape)

    return marks


def _twice(answer: str) -> _Marker:
    return _pair(lambda one, two: (one == answer) & (two == answer))


def _stable(one: Any, two: Any) -> Any:
    return (one != two) & (one != "tie") & (two != "tie")


_positional = _pair(lambda one, two: (one == two) & (one != "tie"))
_one_sided = _pair(lambda one, two: (one == "tie") != (two == "tie"))
_agreeing = _pair(lambda one, two: _stable(one, two) | ((one == "tie") & (two == "tie")))
_call_ties = _pair(lambda one, two: np.column_stack([one == "tie", two == "tie"]))
_call_preferences = _pair(lambda one, two: np.column_stack([one != "tie", two != "tie"]))
_EQUALS, _ANSWERED = ("Δ0", "Δ0, different subset"), ("slots", "answers")
# A rate among non-ties has a different denominator on each side, so its samples are independent.
#: Term (prefixed with ``gold`` in that section) -> sections in which it is paired, measure whose units are matched,
#: hits and trials of its units, and the column that ``detail`` refers to.
RULES: dict[str, tuple[tuple[str, ...], str, _Marker, str | None]] = {
    "dark_current": (("dark current",), "dark_current", _preference, "vacuum_kind"),
    "raw_false_preference": (_EQUALS, "delta0", _call_preferences, None),
    "tie_rate": (_EQUALS, "delta0", _call_ties, None),
    "stable_cross_sensitivity": (_EQUALS, "delta0", _pair(_stable), None),
    "positional_false_preference": (_EQUALS, "delta0", _positional, None),
    "one_sided_commit": (_EQUALS, "delta0", _one_sided, None),
    "no_preference": (_EQUALS, "delta0", _twice("tie"), None),
    "target_sensitivity": (("ladder",), "target_sensitivity", _outcome("correct"), "delta"),
    "wrong_choice_rate": (("ladder",), "target_sensitivity", _outcome("wrong"), "delta"),
    "miss_by_tie": (("ladder",), "target_sensitivity", _outcome("tie"), "delta"),
    "consistency": (("swap",), "consistency", _agreeing, None),
    "first_twice": (("swap",), "consistency", _twice("first"), None),
    "second_twice": (("swap",), "consistency", _twice("second"), None),
    "both_tie": (("swap",), "consistency", _twice("tie"), None),
    "one_sided": (("swap",), "consistency", _one_sided, None),
    "first": (_ANSWERED, "position_bias", _choice("first"), None),
    "second": (_ANSWERED, "position_bias", _choice("second"), None),
    "tie": (_ANSWERED, "position_bias", _choice("tie", "abstain"), None),
    "invalid": (_ANSWERED, "position_bias", _choice("invalid"), None),
    "gold accuracy": (("gold",), "gold_agreement", _outcome("correct"), None),
    "gold gold_tie": (("gold",), "gold_agreement", _outcome("tie", of_all=True), None),
    "gold gold_wrong": (("gold",), "gold_agreement", _outcome("wrong", of_all=True), None),
    "gold invalid": (("gold",), "gold_agreement", _outcome("invalid", of_all=True), None),
}
