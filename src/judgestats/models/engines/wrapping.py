"""What the engines of statsmodels share: refusals, warnings kept as notes, a Fitted made of their numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgestats.errors import FitError
from judgestats.models.fitted import NOT_CONVERGED, SEPARATION, Fitted
from judgestats.models.ml import Model, parameter_names
from judgestats.threads import warnings_recorded

Floats = NDArray[np.float64]


def refuse_random(model: Model, engine: str) -> None:
    """Refuse random terms.

    Parameters
    ----------
    model : Model
    engine : str

    Raises
    ------
    FitError
        If there are any.
    """
    if model.design.terms:
        parts = " + ".join(str(p) for p in model.design.formula.random)
        raise FitError(f"engine={engine!r} has no random effects, and the formula has {parts}. Use engine='ml'.")


def call(run: Callable[[], Any], engine: str) -> tuple[Any, tuple[str, ...]]:
    """Run another library; its warnings become notes, its failures a FitError.

    Parameters
    ----------
    run : callable
    engine : str

    Returns
    -------
    result : object
    notes : tuple of str

    Raises
    ------
    FitError
        If the library gives up.
    """
    with warnings_recorded() as caught, np.errstate(all="ignore"):
        try:
            result = run()
        except (np.linalg.LinAlgError, ValueError, ZeroDivisionError, FloatingPointError, OverflowError) as error:
            raise FitError(
                f"engine={engine!r} (statsmodels) gave up: {error}. See whether a factor separates the response, or "
                "use engine='ml'."
            ) from error
    return result, tuple(dict.fromkeys(filter(None, (_note(w) for w in caught))))


def _note(warning: Any) -> str:
    """The flag that stands for a warning."""
    name = warning.category.__name__
    if "PerfectSeparation" in name or "PerfectPrediction" in name:
        return SEPARATION
    if "Convergence" in name or "HessianInversion" in name:
        return NOT_CONVERGED
    return ""


def wrapped(
    model: Model, engine: str, method: str, params: Floats, covariance: Floats, *, loglik: float = np.nan,
    converged: bool = True, notes: tuple[str, ...] = (), run: Callable[[Model], Fitted], **further: Any,
) -> Fitted:  # fmt: skip
    """Make a Fitted.

    Parameters
    ----------
    model : Model
        As it was fitted.
    engine, method : str
    params : (P,) float array
    covariance : (P, P) float array
    loglik : float
    converged : bool
    notes : tuple of str
    run : callable
        The engine, to fit another design.
    **further
        More fields.

    Returns
    -------
    Fitted
    """
    own = notes if converged else (*notes, NOT_CONVERGED)
    return Fitted(
        design=model.design,
        family=model.family,
        link=model.link,
        engine=engine,
        method=method,
        names=parameter_names(model),
        params=np.asarray(params, float),
        covariance=np.asarray(covariance, float),
        loglik=float(loglik),
        df=len(params),
        n=float(model.design.count.sum()),
        converged=bool(converged) and NOT_CONVERGED not in own,
        notes=tuple(dict.fromkeys(own)),
        thresholds=model.thresholds,
        part=model.parts,
        refit=lambda design, rows: run(replace(model, design=design, part=model.parts[rows])),
        **further,
    )
