"""From a PyMC model to draws: nutpie where it is installed, PyMC's own sampler otherwise."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from judgestats.errors import FitError
from judgestats.models.bayes.draws import LOG_LIKELIHOOD, Draws, missing, read
from judgestats.threads import warnings_ignored


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


def likely(pm: Any, value: Any) -> None:
    """Add a log likelihood to the PyMC model at hand, and keep it draw by draw.

    Parameters
    ----------
    pm : module
    value : scalar tensor
    """
    pm.Potential("likelihood", value)
    pm.Deterministic(LOG_LIKELIHOOD, value)


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
        All there are by default with nutpie, which has threads; one with PyMC's own sampler, which would fork a process
        whose threads may be in the middle of something.

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
    given = cores if cores is not None or sampler == "nutpie" else 1
    options: dict[str, Any] = {} if given is None else {"cores": given}
    logging.getLogger("pymc").setLevel(logging.ERROR)  # what it says is in check()
    with _told(), warnings_ignored(), model:
        trace = pm.sample(
            draws=draws, tune=tune, chains=chains, random_seed=seed, nuts_sampler=sampler, progressbar=progress,
            target_accept=target_accept, compute_convergence_checks=False, **options,
        )  # fmt: skip
    return read(trace, labels, _method(sampler, chains, draws))


def sample_each(
    model: Any,
    labels: Mapping[str, tuple[tuple[str, ...], ...]],
    given: Sequence[Mapping[str, Any]],
    *,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    seed: int = 0,
    target_accept: float = 0.9,
    progress: bool = True,
) -> list[Draws]:
    """Sample a model once for each of several values of its data; nutpie compiles it once.

    Parameters
    ----------
    model : pymc.Model
        With ``pymc.Data``.
    labels : mapping
        Variable -> labels along its dimensions: what is kept.
    given : sequence of mapping
        Name of the data -> value, of the same shape.
    draws, tune, chains, seed, target_accept, progress
        As :func:`sample` takes them.

    Returns
    -------
    list of Draws
        In the order of `given`.

    Raises
    ------
    FitError
        If PyMC is not installed, or the sampler fails; it says what to try.
    """
    options: dict[str, Any] = {"draws": draws, "tune": tune, "chains": chains, "target_accept": target_accept}
    if not find_spec("nutpie"):
        return [sample(_set(model, own), labels, seed=seed, progress=progress, **options) for own in given]
    import nutpie

    with _told(), warnings_ignored():
        likelihood = [LOG_LIKELIHOOD] if LOG_LIKELIHOOD in model.named_vars else []
        compiled = nutpie.compile_pymc_model(model, var_names=[*labels, *likelihood])
        traces = [
            nutpie.sample(compiled.with_data(**own), seed=seed, progress_bar=progress, **options) for own in given
        ]
    return [read(trace, labels, _method("nutpie", chains, draws)) for trace in traces]


def _set(model: Any, own: Mapping[str, Any]) -> Any:
    with model:
        pymc().set_data(dict(own))
    return model


def _method(sampler: str, chains: int, draws: int) -> str:
    return f"posterior, NUTS ({sampler}), {chains} x {draws}"


@contextmanager
def _told() -> Iterator[None]:
    """Say what to try where the sampler fails."""
    try:
        yield
    except Exception as error:
        raise FitError(
            f"the sampler failed ({type(error).__name__}: {error}). Try more tuning (tune=2000), tighter priors= "
            "or a model with fewer terms; fit(engine='pymc') also takes target_accept=0.99, and check() of a fit by "
            "engine='ml' says what the data carry."
        ) from error
