"""From a PyMC model to draws: nutpie where it is installed, PyMC's own sampler otherwise."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from judgestats.errors import FitError
from judgestats.models.bayes.draws import Draws, missing, read


def pymc() -> Any:
    """PyMC, loaded now.

    Returns
    -------
    module

    Raises
    ------
    FitError
        If it is not installed.
    """
    try:
        import pymc as module
    except ImportError as error:
        raise missing("PyMC") from error
    return module


def sample(
    model: Any,
    labels: Mapping[str, tuple[tuple[str, ...], ...]],
    *,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    seed: int = 0,
    target_accept: float = 0.9,
    progress: bool = True,
    cores: int | None = None,
) -> Draws:
    """Sample a model.

    Parameters
    ----------
    model : pymc.Model
    labels : mapping
        Variable -> labels along its dimensions: what is kept.
    draws, tune, chains : int
        Kept draws, warm-up draws, chains.
    seed : int
    target_accept : float
        Higher is slower and diverges less.
    progress : bool
        Whether to show progress.
    cores : int, optional
        All there are by default.

    Returns
    -------
    Draws

    Raises
    ------
    FitError
        If PyMC is not installed, or the sampler fails; it says what to try.
    """
    pm = pymc()
    sampler = "nutpie" if find_spec("nutpie") else "pymc"
    options: dict[str, Any] = {} if cores is None else {"cores": cores}
    logging.getLogger("pymc").setLevel(logging.ERROR)  # what it says is in check()
    try:
        with warnings.catch_warnings(), model:
            warnings.simplefilter("ignore")
            trace = pm.sample(
                draws=draws, tune=tune, chains=chains, random_seed=seed, nuts_sampler=sampler, progressbar=progress,
                target_accept=target_accept, compute_convergence_checks=False, **options,
            )  # fmt: skip
    except Exception as error:
        raise FitError(
            f"the sampler failed ({type(error).__name__}: {error}). Try more tuning (tune=2000), target_accept=0.99, "
            "tighter priors, or a model with fewer terms; check() of a fit by engine='ml' says what the data carry."
        ) from error
    return read(trace, labels, f"posterior, NUTS ({sampler}), {chains} x {draws}")
