"""Sampling of PyMC models: with nutpie if installed, else with PyMC's sampler."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, TypedDict, Unpack

import numpy as np

from judgestats.defaults import SEED
from judgestats.errors import DesignError, FitError, choose
from judgestats.models.bayes.draws import LOG_LIKELIHOOD, Draws, Labels, missing, read
from judgestats.threads import warnings_ignored


class Sampling(TypedDict, total=False):
    """Options of the sampler, the argument ``sampling=``: ``{"draws": 2000, "seed": 1}``.

    `draws`, `tune`, `chains`: kept draws and warm-up draws per chain (1000 each), and number of chains (4).
    `seed`: 0 by default.
    `target_accept`: target acceptance rate, 0.9 by default; higher is slower, with fewer divergences.
    `progress`: whether to show progress; True by default.
    """

    draws: int
    tune: int
    chains: int
    seed: int
    target_accept: float
    progress: bool


#: Option of the sampler -> its default.
SAMPLING = {"draws": 1000, "tune": 1000, "chains": 4, "seed": SEED, "target_accept": 0.9, "progress": True}


def sampling_options(overrides: Mapping[str, Any] | None, **defaults: Any) -> dict[str, Any]:
    """All options of the sampler: `asked`, else `defaults`, else :data:`SAMPLING`; a DesignError if not valid."""
    if overrides is not None and not isinstance(overrides, Mapping):
        raise DesignError(f"sampling={overrides!r} is not a mapping. Give, for example, sampling={{'draws': 2000}}.")
    for name in overrides or {}:
        choose(name, SAMPLING, "sampling: option")
    result: dict[str, Any] = {**SAMPLING, **defaults, **(overrides or {})}
    for name, least in (("draws", 4), ("tune", 1), ("chains", 1), ("seed", 0)):
        value = result[name]
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise DesignError(f"sampling: {name}={value!r} is not possible. Allowed: {least}, {least + 1}, ...")
    if not 0 < result["target_accept"] < 1:
        raise DesignError(f"sampling: target_accept={result['target_accept']!r} is not in (0, 1). Use 0.9, or 0.99.")
    return result


def pymc() -> ModuleType:
    """The module PyMC; a FitError if it is not installed."""
    try:
        return import_module("pymc")
    except ImportError as error:
        raise missing("PyMC") from error


def likely(pm: ModuleType, value: object) -> None:
    """Add a log likelihood to the current PyMC model, and record it for each draw."""
    pm.Potential("likelihood", value)
    pm.Deterministic(LOG_LIKELIHOOD, value)


def sample(model: Any, labels: Labels, *, cores: int | None = None, **sampling: Unpack[Sampling]) -> Draws:
    """Sample a model; options as in :class:`Sampling`; `labels`: variable to keep -> labels along its dimensions."""
    pm = pymc()
    sampler = "nutpie" if find_spec("nutpie") else "pymc"
    # nutpie uses threads; PyMC's sampler would fork a process with running threads
    n_cores = cores if cores is not None or sampler == "nutpie" else 1
    options: dict[str, Any] = {**SAMPLING, **sampling, **({} if n_cores is None else {"cores": n_cores})}
    options |= {"random_seed": options.pop("seed"), "progressbar": options.pop("progress")}
    logging.getLogger("pymc").setLevel(logging.ERROR)  # its warnings are in check()
    with _sampler_errors(), warnings_ignored(), model:
        trace = pm.sample(nuts_sampler=sampler, compute_convergence_checks=False, **options)
    return read(trace, labels, _nuts_method(sampler, options["chains"], options["draws"]))


def sample_each(
    model: Any, labels: Labels, data_sets: Sequence[Mapping[str, Any]], *, progress: bool = True, **options: Any
) -> list[Draws]:
    """Sample a model with each of several data sets, of ``pymc.Data`` by name, in turn; nutpie compiles it once."""
    if not find_spec("nutpie"):
        samples = []
        for data in data_sets:
            with model:
                pymc().set_data(dict(data))
            samples.append(sample(model, labels, progress=progress, **options))
        return samples
    import nutpie

    with _sampler_errors(), warnings_ignored():
        likelihood = [LOG_LIKELIHOOD] if LOG_LIKELIHOOD in model.named_vars else []
        compiled = nutpie.compile_pymc_model(model, var_names=[*labels, *likelihood])
        traces = [nutpie.sample(compiled.with_data(**data), progress_bar=progress, **options) for data in data_sets]
    method = _nuts_method("nutpie", options["chains"], options["draws"])
    return [read(trace, labels, method) for trace in traces]


def _nuts_method(sampler: str, chains: int, draws: int) -> str:
    return f"posterior, NUTS ({sampler}), {chains} x {draws}"


@contextmanager
def _sampler_errors() -> Iterator[None]:
    """Turn failures of the sampler into a FitError with advice."""
    try:
        yield
    except Exception as error:
        raise FitError(
            f"the sampler failed ({type(error).__name__}: {error}). Try tighter priors=, "
            "sampling={'tune': 2000, 'target_accept': 0.99} or a model with fewer terms; fit with engine='ml' and see "
            "its check() for terms that the data do not determine."
        ) from error
