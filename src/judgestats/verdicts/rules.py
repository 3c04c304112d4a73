"""Counted votes of a pair -> its verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgestats.errors import DesignError, choose

#: Verdicts of a pair: for its lower candidate id, for its higher one, no preference, none.
VERDICTS = ("u", "v", "tie", "invalid")
U, V, TIE, INVALID = range(4)

#: A rule of one's own: ``rule(n_u, n_v, n_tie, n_missing)`` -> ``'u'``, ``'v'``, ``'tie'`` or ``'invalid'``.
Custom = Callable[[int, int, int, int], str]
Votes = NDArray[np.int64]
Verdicts = NDArray[np.int64]


@dataclass(frozen=True)
class Rule:
    """How votes become a verdict.

    Attributes
    ----------
    decide : callable
        (G, 4) votes (for u, for v, ties, missing) -> (G,) codes into :data:`VERDICTS`.
    native : callable
        (G, 4) votes -> (G,) bool: whether a tie there is one that the judges gave, and not one that the rule made.
    about : str
        One line, for people.
    """

    decide: Callable[[Votes], Verdicts]
    native: Callable[[Votes], NDArray[np.bool_]]
    about: str


def _unanimous(votes: Votes) -> Verdicts:
    u, v, tie, _ = votes.T
    return np.where((v == 0) & (tie == 0), U, np.where((u == 0) & (tie == 0), V, TIE))


def _plurality(votes: Votes) -> Verdicts:
    u, v, tie, _ = votes.T
    return np.where(u > np.maximum(v, tie), U, np.where(v > np.maximum(u, tie), V, TIE))


def _net(votes: Votes) -> Verdicts:
    u, v, _, _ = votes.T
    return np.where(u > v, U, np.where(v > u, V, TIE))


def _no_side_taken(votes: Votes) -> NDArray[np.bool_]:
    return np.asarray((votes[:, U] == 0) & (votes[:, V] == 0))


def _ties_lead(votes: Votes) -> NDArray[np.bool_]:
    return np.asarray(votes[:, TIE] > np.maximum(votes[:, U], votes[:, V]))


#: The built-in rules.
RULES: dict[str, Rule] = {
    "swap": Rule(_unanimous, _no_side_taken, "all agree: their verdict; else a tie"),
    "majority": Rule(_plurality, _ties_lead, "the most frequent of u, v and tie; a draw is a tie"),
    "net": Rule(_net, _no_side_taken, "the side with more votes, ties counting 0"),
}


def rule_of(how: str | Custom) -> Rule:
    """Look up a rule, or wrap a callable as one.

    Parameters
    ----------
    how : str or callable
        A name in :data:`RULES`, or a :data:`Custom` rule. A callable is asked once for each distinct combination of
        counts.

    Returns
    -------
    Rule

    Raises
    ------
    DesignError
        If the name is not known. A callable that answers something else raises it when it is asked.
    """
    if callable(how):
        return Rule(_asked(how), _no_side_taken, "a rule of your own")
    return RULES[choose(how, RULES, "how")]


def _asked(rule: Custom) -> Callable[[Votes], Verdicts]:
    def decide(votes: Votes) -> Verdicts:
        patterns, which = np.unique(votes, axis=0, return_inverse=True)
        answers = [_answer(rule, [int(c) for c in pattern]) for pattern in patterns]
        return np.array(answers, dtype=np.int64)[which.reshape(-1)]

    return decide


def _answer(rule: Custom, pattern: list[int]) -> int:
    answer = rule(*pattern)
    if answer not in VERDICTS:
        name = getattr(rule, "__name__", repr(rule))
        raise DesignError(
            f"how={name} answered {answer!r} to (n_u, n_v, n_tie, n_missing) = {tuple(pattern)}. "
            f"Allowed: {', '.join(map(repr, VERDICTS))}."
        )
    return VERDICTS.index(answer)
