"""Rules that turn the votes on a pair into its verdict: :data:`RULES`, or a function of the user."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from judgestats.errors import DesignError, choose
from judgestats.typing import Ints, Mask
from judgestats.verdicts.latent_classes import DAWID_SKENE

#: Verdicts of a pair: for its lower candidate id, for its higher one, no preference, none.
VERDICTS = ("u", "v", "tie", "invalid")
U, V, TIE, INVALID = range(4)

#: A custom rule: ``rule(n_u, n_v, n_tie, n_missing)`` -> ``'u'``, ``'v'``, ``'tie'`` or ``'invalid'``.
Custom = Callable[[int, int, int, int], str]
Votes = Ints
Verdicts = Ints


@dataclass(frozen=True)
class Rule:
    """Votes (G, 4) for u, for v, ties, missing -> (G,) verdict, and whether a tie is the judges' own (`native`)."""

    decide: Callable[[Votes], Verdicts]
    native: Callable[[Votes], Mask]


def _unanimous(votes: Votes) -> Verdicts:
    u, v, tie, _ = votes.T
    return np.where((v == 0) & (tie == 0), U, np.where((u == 0) & (tie == 0), V, TIE))


def _plurality(votes: Votes) -> Verdicts:
    u, v, tie, _ = votes.T
    return np.where(u > np.maximum(v, tie), U, np.where(v > np.maximum(u, tie), V, TIE))


def _net(votes: Votes) -> Verdicts:
    u, v, _, _ = votes.T
    return np.where(u > v, U, np.where(v > u, V, TIE))


def _no_side_taken(votes: Votes) -> Mask:
    return np.asarray((votes[:, U] == 0) & (votes[:, V] == 0))


def _ties_lead(votes: Votes) -> Mask:
    return np.asarray(votes[:, TIE] > np.maximum(votes[:, U], votes[:, V]))


RULES: dict[str, Rule] = {
    "swap": Rule(_unanimous, _no_side_taken),
    "majority": Rule(_plurality, _ties_lead),
    "net": Rule(_net, _no_side_taken),
}


def rule_of(how: str | Custom) -> Rule:
    """A rule of :data:`RULES` by its name, or one of your own, asked once for each combination of counts."""
    if callable(how):
        return Rule(_by_pattern(how), _no_side_taken)
    return RULES[choose(how, [*RULES, DAWID_SKENE], "how")]


def _by_pattern(rule: Custom) -> Callable[[Votes], Verdicts]:
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
