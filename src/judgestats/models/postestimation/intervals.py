"""Intervals of all parameters: Wald, profile likelihood, parametric bootstrap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from judgestats import flags, methods
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, JudgestatsError, choose, confidence, suggestion
from judgestats.kernels.resampling import generator
from judgestats.models.fitted_models import Fitted
from judgestats.models.postestimation.coefficient_tables import tidy
from judgestats.models.postestimation.design_shortages import between_few
from judgestats.models.postestimation.posterior_summaries import draws_of
from judgestats.models.postestimation.profile_coordinates import Plain, chart_of, chart_of_component
from judgestats.models.postestimation.profile_likelihood import (
    Curve,
    Spreads,
    Surface,
    end,
    ends,
    fixed_of_linear,
    surface,
)
from judgestats.models.postestimation.reference_distributions import t_quantile
from judgestats.models.postestimation.simulated_responses import refitted
from judgestats.models.variance_parameters import Component, component_values, components
from judgestats.typing import Floats, Seed

METHODS = ("wald", "profile", "bootstrap")
COLUMNS = ("group", "term", "estimate", "conf_low", "conf_high", "method", "flag")

#: How far down the log of a standard deviation is followed, and how far out Fisher's z of a correlation.
_FAR, _EDGE = 9.0, 6.0


@dataclass(frozen=True)
class Parameter:
    """A row of the table: a fixed effect or a threshold (`place` in the parameters), or a component."""

    group: str
    term: str
    place: int
    component: Component | None = None


def confint(
    fit: Fitted,
    *,
    method: Literal["wald", "profile", "bootstrap"] = "wald",
    terms: str | Iterable[str] | None = None,
    conf_level: float = CONF_LEVEL,
    n_resamples: int = N_RESAMPLES,
    seed: Seed = SEED,
) -> pd.DataFrame:
    """Intervals of the parameters: :meth:`judgestats.models.Fit.confint`."""
    choose(method, METHODS, "method")
    cut = float(-ndtri((1 - confidence(conf_level)) / 2))
    chosen = _chosen(parameters(fit), terms)
    if method == "wald":
        table = tidy(fit, conf_level=conf_level).iloc[[k for k, _ in chosen]].reset_index(drop=True)
        return table.assign(method=methods.WALD if draws_of(fit) is None else methods.POSTERIOR.on("quantiles", " "))[
            list(COLUMNS)
        ]
    if fit.model.cluster is not None:
        raise DesignError(
            f"method={method!r} ignores that errors are clustered by {fit.model.cluster!r}. Use method='wald', or fit "
            "without cluster=."
        )
    if flags.PERFECT_FIT in fit.notes:
        values = estimates(fit)
        rows = [_row(own, values[k], np.nan, np.nan, method, flags.PERFECT_FIT) for k, own in chosen]
    elif method == "profile":
        _refuse_without_likelihood(fit)
        rows = _profiles(fit, chosen, cut)
    else:
        rows = _bootstrap(fit, chosen, conf_level, n_resamples, seed)
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    for flag, factor, between in between_few(fit, np.eye(fit.n_location)):
        few = [between[p.place] if p.component is None else p.group == factor for _, p in chosen]
        table["flag"] = [flags.join(own, flag if short else "") for own, short in zip(table["flag"], few, strict=True)]
    return table


def parameters(fit: Fitted) -> list[Parameter]:
    """All rows of the table: fixed effects, thresholds, components of variance."""
    location = enumerate(fit.names[: fit.n_location])
    result = [Parameter("fixed", name, k) for k, name in location]
    return result + [Parameter(c.group, c.term, -1, c) for c in components(fit)]


def _chosen(all_: list[Parameter], terms: str | Iterable[str] | None) -> list[tuple[int, Parameter]]:
    if terms is None:
        return list(enumerate(all_))
    names = [terms] if isinstance(terms, str) else list(terms)
    allowed = [*(p.term for p in all_), *dict.fromkeys(p.group for p in all_)]
    for name in names:
        if name not in allowed:
            listed = ", ".join(repr(k) for k in allowed)
            raise DesignError(f"terms={name!r} is not in this fit. Allowed: {listed}.{suggestion(str(name), allowed)}")
    return [(k, p) for k, p in enumerate(all_) if p.term in names or p.group in names]


def estimates(fit: Fitted) -> Floats:
    """Estimates (K,) of :func:`parameters`."""
    return np.concatenate([fit.params[: fit.n_location], component_values(fit)])


def _row(own: Parameter, estimate: float, low: float, high: float, method: str, *notes: str) -> dict[str, object]:
    return dict(zip(COLUMNS, (own.group, own.term, estimate, low, high, method, flags.join(*notes)), strict=True))


def _refuse_without_likelihood(fit: Fitted) -> None:
    if fit.engine != "ml":
        raise DesignError(
            f"method='profile' needs a likelihood that can be minimised again, and engine={fit.engine!r} gives none. "
            "Fit with engine='ml', or use method='wald'."
        )


def _profiles(fit: Fitted, chosen: Sequence[tuple[int, Parameter]], cut: float) -> list[dict[str, object]]:
    values, method = estimates(fit), methods.PROFILE.on("ML") if fit.method == methods.REML else methods.PROFILE
    linear, df = fit.distribution.linear, fit.n - fit.n_fixed
    # without random terms where the likelihood falls as t says, which has the residual's degrees of freedom
    t = float(t_quantile(ndtr(cut), df))
    exact = cut if fit.design.terms else float(np.sqrt(fit.n * np.log1p(t**2 / df)))
    whole = surface(fit) if not linear or any(own.component for _, own in chosen) else None
    rows = []
    for k, own in chosen:
        if own.component is not None:
            assert whole is not None
            low, high, note = _component(fit, whole, own.component, cut)
        elif linear:
            curve, least, estimate, error = fixed_of_linear(fit, own.place)
            low, high = ends(curve, least, estimate, error, exact)
            note = ""
        else:
            assert whole is not None
            along = Curve(whole, chart_of(fit, own.place))
            low, high = ends(along, whole.value, along.estimate, along.error, cut)
            note = ""
        open_ = flags.OPEN_END if np.isinf([low, high]).any() else ""
        rows.append(_row(own, values[k], low, high, method, note, open_))
    return rows


def _component(fit: Fitted, whole: Surface, own: Component, cut: float) -> tuple[float, float, str]:
    """Profile of a standard deviation on the log scale, of a correlation on Fisher's z scale."""
    if own.t < 0:
        along = Curve(whole, Plain(len(whole.x) - 1))  # its log
        low, high = ends(along, whole.value, along.estimate, along.error, cut)
        return float(np.exp(low)), float(np.exp(high)), ""
    shift = fit.n_location if fit.distribution.linear else 0
    along = Curve(whole, chart_of_component(own, shift))
    return _sd(along, whole, own, cut) if own.is_sd else _correlation(along, whole, cut)


def _sd(along: Curve, whole: Surface, own: Component, cut: float) -> tuple[float, float, str]:
    unit = float(np.exp(whole.x[-1])) if isinstance(whole.objective, Spreads) else 1.0
    scale = abs(along.estimate) if abs(along.estimate) > 1e-4 * unit else 0.02 * unit
    sign = 1.0 if along.estimate >= 0 else -1.0

    def curve(t: float) -> float:
        return along(sign * float(np.exp(t)))

    least, t, error = whole.value, float(np.log(scale)), float(np.clip(along.error / scale, 1e-6, 1.0))
    high = float(np.exp(end(curve, least, t, error, cut)))
    if own.size == 1 and along(0.0) - least <= cut**2 / 2:
        return 0.0, high, flags.ZERO_NOT_EXCLUDED
    low = float(np.exp(end(curve, least, t, -error, cut, limit=_FAR)))
    return low, high, "" if low > 0 else flags.ZERO_NOT_EXCLUDED


def _correlation(along: Curve, whole: Surface, cut: float) -> tuple[float, float, str]:
    def curve(z: float) -> float:
        return along(float(np.tanh(z)))

    z, error = float(np.arctanh(along.estimate)), float(np.clip(along.error / (1 - along.estimate**2), 1e-6, 1.0))
    low, high = (
        float(np.tanh(end(curve, whole.value, z, side * error, cut, limit=max(_EDGE - side * z, 0.1))))
        for side in (-1.0, 1.0)
    )
    return low, high, "" if max(-low, high) < 1 else flags.ONE_NOT_EXCLUDED


def _bootstrap(
    fit: Fitted, chosen: Sequence[tuple[int, Parameter]], conf_level: float, n_resamples: int, seed: Seed
) -> list[dict[str, object]]:
    point_estimates = estimates(fit)
    samples, failed = resamples(fit, n_resamples, seed)
    tail = (1 - conf_level) / 2
    rows = []
    for k, own in chosen:
        values = samples[:, k][np.isfinite(samples[:, k])]
        lost = n_resamples - failed - len(values)
        notes = [flags.REFITS_FAILED.of(failed, total=n_resamples)]
        notes.append(flags.REFITS_UNDEFINED.of(lost))
        low, high = np.quantile(values, [tail, 1 - tail]) if len(values) > 1 else (np.nan, np.nan)
        if low == high:
            low, high = np.nan, np.nan
            notes.append(flags.RESAMPLES_AGREE)
        rows.append(_row(own, point_estimates[k], float(low), float(high), "bootstrap", *notes))
    return rows


def resamples(fit: Fitted, n_resamples: int, seed: Seed) -> tuple[Floats, int]:
    """Estimates (B, K) of the refits to drawn responses that converged, and how many did not."""
    if not (isinstance(n_resamples, int | np.integer) and n_resamples > 0):
        raise DesignError(f"n_resamples={n_resamples!r} is not a number of refits. Allowed: 1, 2, 3, ..., e.g. 1000.")
    rng = generator(seed, ("confint",))
    samples, failed = [], 0
    for _ in range(n_resamples):
        try:
            again = refitted(fit, rng)
            values = estimates(again) if again.converged else None
        except (np.linalg.LinAlgError, FloatingPointError):
            values = None
        except DesignError:
            raise
        except JudgestatsError:
            values = None
        if values is None:
            failed += 1
        else:
            samples.append(values)
    return np.reshape(samples, (len(samples), len(estimates(fit)))), failed
