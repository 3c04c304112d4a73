"""Smallest effect that a planned comparison can detect, in closed form; :mod:`judgestats.design.power` simulates."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import ndtri

from judgestats import flags
from judgestats.errors import DesignError
from judgestats.results import estimates


def minimum_detectable_effect(
    n: ArrayLike,
    *,
    discordance: ArrayLike | None = None,
    discordant: ArrayLike | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
) -> pd.DataFrame:
    """Smallest difference of two accuracies on the same items that McNemar's test detects with given power.

    Parameters
    ----------
    n : int or array_like
        Number of items.
    discordance : float or array_like
        Share of items that one condition gets right and the other wrong, assumed or from a pilot.
    discordant : int or array_like
        Number of these items, in place of their share.
    alpha : float
        Two-sided level of the test.
    power : float
        Probability of detecting a difference of that size.

    Returns
    -------
    pandas.DataFrame
        Term ``minimum_detectable_effect``, one row for each broadcast value of `n` and the discordance, with
        ``discordance``, ``alpha`` and ``power``. NaN with a flag where even all discordant items on one side would not
        suffice.

    Raises
    ------
    DesignError
        If not exactly one of `discordance` and `discordant` is given, or a number is out of range.

    See Also
    --------
    power : Power of a plan.
    detectable : Smallest property that is detected.

    Notes
    -----
    Debiasing paper, Appendix D: delta solves ``z1 sqrt(psi) + z2 sqrt(psi - delta**2) = delta sqrt(n)`` with z1 the
    normal quantile of ``1 - alpha/2`` and z2 that of the power. Hence
    ``delta = sqrt(psi) (z1 sqrt(n) + z2 sqrt(n + z2**2 - z1**2)) / (n + z2**2)``.

    Examples
    --------
    >>> minimum_detectable_effect(400, discordant=[40, 50])[["estimate", "n", "discordance"]].round(4)
       estimate      n  discordance
    0    0.0442  400.0        0.100
    1    0.0494  400.0        0.125
    """
    if (discordance is None) == (discordant is None):
        raise DesignError("Give the share of discordant items (discordance=) or their number (discordant=), not both.")
    share = discordance if discordance is not None else discordant
    try:
        size, psi = (np.atleast_1d(x).astype(float) for x in np.broadcast_arrays(np.asarray(n), np.asarray(share)))
    except (TypeError, ValueError):
        raise DesignError("n and the discordance are numbers, or lists of one length. Got something else.") from None
    if not ((size > 0) & np.isfinite(size)).all():
        raise DesignError("n is a number of items: it must be above 0.")
    if discordance is None:
        psi = psi / size
    if not ((psi > 0) & (psi <= 1)).all():
        raise DesignError(
            f"A share of discordant items must be above 0 and at most 1. Got {psi.min():g} to {psi.max():g}."
        )
    if not (0 < alpha < 1 and 0 < power < 1):
        raise DesignError(f"alpha={alpha} and power={power} must lie between 0 and 1.")
    z1, z2 = float(ndtri(1 - alpha / 2)), float(ndtri(power))
    with np.errstate(invalid="ignore"):
        delta = np.sqrt(psi) * (z1 * np.sqrt(size) + z2 * np.sqrt(size + z2**2 - z1**2)) / (size + z2**2)
    attainable = delta <= psi
    rows = [
        {
            "term": "minimum_detectable_effect",
            "estimate": d if ok else np.nan,
            "n": s,
            "method": "McNemar, normal approximation",
            "flag": "" if ok else flags.BEYOND,
            "discordance": p,
            "alpha": alpha,
            "power": power,
        }
        for d, ok, s, p in zip(delta, attainable, size, psi, strict=True)
    ]
    return estimates(rows, extra=("discordance", "alpha", "power"))
