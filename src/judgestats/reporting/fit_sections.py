"""The section "Models" of a page: what each fitted model is, its parameters, and whether it fits."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from judgestats.errors import DesignError, JudgestatsError
from judgestats.models import Fit, VerdictModel, fit
from judgestats.reporting import plots
from judgestats.reporting.formatting import count
from judgestats.reporting.pictures import PagePicture
from judgestats.reporting.plots.predictions import LINKS
from judgestats.reporting.svg import MATPLOTLIB, inline
from judgestats.results import COLUMNS

#: What a user gives as ``models=``.
Models = Fit | VerdictModel | Mapping[str, Fit | VerdictModel]
_RESIDUALS = "Left: mean residuals along the linear predictor, with two standard errors; about 0 if the model fits."
_EFFECTS = (
    " Middle: random effects against normal quantiles, on the line if they are normal; that they are shrunk makes the "
    "points on the right a little steeper."
)
_CALIBRATION = " Right: observed against fitted, in bins; on the line if the model is calibrated."


@dataclass(frozen=True)
class PageModel:
    """A model of a page: its name, one line about it, its parameters, its diagnostics and the call that fits it."""

    name: str
    line: str
    rows: pd.DataFrame
    picture: PagePicture
    call: str


def described(models: Models, conf_level: float) -> tuple[PageModel, ...]:
    """Describe each model; one that has no parameters or no diagnostics is refused by its name."""
    models_by_name = models if isinstance(models, Mapping) else {"": models}
    fits_by_name: list[tuple[str, object]] = []
    for name, model in models_by_name.items():
        fits = model.fits if isinstance(model, VerdictModel) else {"": model}
        fits_by_name += [(", ".join(filter(None, (str(name), str(part)))), one) for part, one in fits.items()]
    return tuple(_described(name, model, conf_level, k) for k, (name, model) in enumerate(fits_by_name))


def _described(name: str, fit: object, conf_level: float, place: int) -> PageModel:
    where = f"models[{name!r}]" if name else "models"
    if not isinstance(fit, Fit):
        raise DesignError(
            f"{where} is {type(fit).__name__!r}, which has no diagnostics for the page. Give a result of "
            "judgestats.fit(), of a model of judgestats.models such as position_bias_model(), or several by name: "
            "models={'position': fit}."
        )
    try:
        title = f"Does the model fit{': ' if name else ''}{name}"
        rows = fit.tidy(conf_level=conf_level)
        text = f"{_RESIDUALS}{_EFFECTS if fit.design.terms else ''}{_CALIBRATION}"
        with MATPLOTLIB:
            image = inline(plots.fit_diagnostics(fit), f"{title} ({fit.formula}). {text}", f"model-{place}")
    except JudgestatsError as error:
        raise DesignError(f"{where} ({fit.formula}) has no diagnostics for the page: {error}") from None
    scale = LINKS.get(fit.link, fit.link)
    kinds = {"sd": "standard deviation", "cor": "correlation"}
    fixed = dict.fromkeys(fit.thresholds.names, f"threshold, {scale}")
    terms = [
        kinds.get(t.partition("(")[0], g) if g != "fixed" else fixed.get(t, f"coefficient, {scale}")
        for g, t in zip(rows["group"], rows["term"], strict=True)
    ]
    table = pd.DataFrame(
        {
            "parameter": rows["term"],
            "term": terms,
            **{c: rows[c] for c in ("estimate", "std_error", "conf_low", "conf_high", "p_value", "method", "flag")},
            "n": fit.n,
        }
    )
    table = table[["parameter", *COLUMNS, "p_value"]]
    return PageModel(name or fit.formula, _line(fit), table, PagePicture(title, text, image, wide=True), _call(fit))


def _line(fit: Fit) -> str:
    """Formula, family, rows and groups in one line."""
    groups = str(fit.glance()["n_groups"].iloc[0]).replace(": ", " ")
    parts = [fit.formula, f"{fit.family} ({fit.link})", f"n = {count(fit.n)}"]
    parts += [f"groups: {groups}"] if groups else []
    parts += [f"engine {fit.engine}, {fit.method}", *fit.notes]
    return "; ".join(parts)


def _call(model: Fit) -> str:
    """The call that fits it again; the table is not on the page."""
    if model.call is None:
        return f"judgestats.fit({model.formula!r}, table)"
    usual = {p.name: p.default for p in inspect.signature(fit).parameters.values()}
    arguments = {k: v for k, v in model.call.keywords.items() if v is not usual.get(k) and v != usual.get(k)}
    more = "".join(f", {k}={getattr(v, '__name__', None) or repr(v)}" for k, v in arguments.items())
    return f"judgestats.fit({model.formula!r}, table{more})"
