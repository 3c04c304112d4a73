"""What the sizes of a design say against the approximations that its fit rests on."""

from __future__ import annotations

from judgestats.models.fitted import FEW_CALLS, Fitted
from judgestats.models.verbs.separation import sparse

#: Levels of a factor under which Wald and profile intervals of what varies between them are too short; and by REML.
LEVELS, LEVELS_REML = 30, 10


#: The rarer answer, per level, under which Laplace's approximation shifts the intercept.
RARE = "rarer answer less than once per level"


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
    least = LEVELS_REML if fit.method == "REML" else LEVELS
    found = [FEW_CALLS] if any(sparse(fit)) else []
    found += [RARE] if fit.method == "Laplace" and _rare(fit) else []
    found += [f"fewer than {least} levels of {t.factor}" for t in fit.design.terms if len(t.levels) < least]
    return tuple(dict.fromkeys(found))


def _rare(fit: Fitted) -> bool:
    """Whether the rarer of two answers is seen less than once per level of a factor."""
    d = fit.design
    if fit.family != "binomial":
        return False
    rarer = min(float(d.count @ d.y), float(d.count @ (d.trials - d.y)))
    return any(rarer < len(t.levels) for t in d.terms)
