"""What the sizes of a design say against the approximations that its fit rests on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from judgestats.models.fitted import FEW_CALLS, Fitted
from judgestats.models.verbs.sampled import drawn
from judgestats.models.verbs.separation import sparse

#: Levels of a factor under which Wald and profile intervals of what varies between them are too short; and by REML.
LEVELS, LEVELS_REML = 30, 10
#: The rarer answer, per level, under which Laplace's approximation shifts the intercept.
RARE = "rarer answer less than once per level"


@dataclass(frozen=True)
class Shortage:
    """A factor that is small for the method of its fit.

    Attributes
    ----------
    flag : str
        :data:`judgestats.models.fitted.FEW_CALLS`, :data:`RARE` or ``fewer than 30 levels of judge``.
    kind : {'calls', 'answers', 'levels'}
        What is short.
    factor : str
    levels : tuple of str
        The levels that it has.
    seen : float
        Calls per level, rarer answers in all, or levels.
    """

    flag: str
    kind: str
    factor: str
    levels: tuple[str, ...]
    seen: float


def shortages(fit: Fitted) -> tuple[Shortage, ...]:
    """What is short, factor by factor; the limits are those of docs/coverage_models.csv.

    Parameters
    ----------
    fit : Fitted

    Returns
    -------
    tuple of Shortage
    """
    return tuple(dict.fromkeys([*_calls(fit), *_answers(fit), *_levels(fit)]))


def scarce(fit: Fitted) -> tuple[str, ...]:
    """Return the flags of a design that is small for its method; the limits are those of docs/coverage_models.csv.

    Parameters
    ----------
    fit : Fitted

    Returns
    -------
    tuple of str
        ``fewer than 5 calls per level``, on average, of a binary or ordered response by Laplace's approximation: it
        makes standard deviations too small. ``rarer answer less than once per level``, of a binary response by the
        same: it makes the intercept too extreme. Quadrature cures both. ``fewer than 30 levels of judge`` (10 by
        REML): intervals of the intercept and of effects that vary between judges cover too little, and so do profiles
        of the standard deviation; effects that vary within judges do not suffer.
    """
    return tuple(dict.fromkeys(s.flag for s in shortages(fit)))


def _calls(fit: Fitted) -> Iterator[Shortage]:
    for term, calls in zip(fit.design.terms, sparse(fit), strict=True):
        if calls:
            yield Shortage(FEW_CALLS, "calls", term.factor, term.levels, calls)


def _answers(fit: Fitted) -> Iterator[Shortage]:
    """Factors with more levels than there are answers of the rarer kind."""
    d = fit.design
    if fit.method != "Laplace" or fit.family != "binomial":
        return
    rarer = min(float(d.count @ d.y), float(d.count @ (d.trials - d.y)))
    for term in d.terms:
        if rarer < len(term.levels):
            yield Shortage(RARE, "answers", term.factor, term.levels, rarer)


def _levels(fit: Fitted) -> Iterator[Shortage]:
    least = LEVELS_REML if fit.method == "REML" else 0 if drawn(fit) is not None else LEVELS
    for term in fit.design.terms:
        if len(term.levels) < least:
            flag = f"fewer than {least} levels of {term.factor}"
            yield Shortage(flag, "levels", term.factor, term.levels, float(len(term.levels)))
