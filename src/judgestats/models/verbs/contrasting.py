"""Estimated marginal means, and contrasts of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError, choose, suggestion
from judgestats.models.coding.frames import label
from judgestats.models.fitted import Fitted
from judgestats.models.verbs import freedom
from judgestats.models.verbs.adjusting import ADJUSTMENTS, adjusted
from judgestats.models.verbs.averaging import inverse
from judgestats.models.verbs.delta import doubts, quantile, spread, trusted
from judgestats.models.verbs.evaluation import estimable
from judgestats.models.verbs.grids import Grid, Means, cell_labels, grid, marginal, specs_of
from judgestats.models.verbs.margining import NUMBERS, inference
from judgestats.models.verbs.prediction import NOT_ESTIMABLE, limits, scale_of
from judgestats.results import flags

Floats = NDArray[np.float64]

WEIGHTS = ("equal", "proportional")
#: Ratio -> the link that it belongs to.
RATIOS = {"odds ratio": "logit", "rate ratio": "log"}


def means(
    fit: Fitted,
    specs: Any,
    *,
    by: Any = None,
    scale: Literal["link", "response"] = "link",
    weights: Literal["equal", "proportional"] = "equal",
    at: Mapping[str, Any] | None = None,
    random: Literal["none", "average"] = "none",
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Estimated marginal means, as R's emmeans gives them.

    Parameters
    ----------
    fit : Fitted
    specs : str or sequence of str
        Columns whose levels, or combinations of levels, have a mean each.
    by : str or sequence of str, optional
        Further columns; the means are the same as with them in `specs`.
    scale : {"link", "response"}
        η, or the response at the mean η.
    weights : {"equal", "proportional"}
        Of the combinations of other factors that a mean averages over: alike, or as frequent as in the data.
    at : mapping, optional
        Column -> a value, or a list of values. Numbers are at their mean otherwise, an offset's too.
    random : {"none", "average"}
        On the response scale: random effects at 0, as emmeans has them, or integrated out.
    conf_level : float

    Returns
    -------
    pandas.DataFrame
        The columns of `specs` and `by`, ``category`` (cumulative models on the response scale), ``estimate``,
        ``std_error``, ``df``, ``conf_low``, ``conf_high``, ``method``, ``flag``; ``df`` as in ``tidy()``.

    Raises
    ------
    DesignError
        If a column or level is unknown.

    Notes
    -----
    Response scale: limits are those of η transformed; with ``average``, and for categories, from the logit scale of the
    probability (a count: its logarithm). The mean of a category is the mean of its probabilities over the grid, that of
    other responses the response at the mean η, as in emmeans. η of a cumulative model is counted from the mean
    threshold (emmeans: ``mode="latent"``).

    Examples
    --------
    >>> import judgestats as js
    >>> counts = pd.DataFrame({"strategy": ["B0", "B0", "S8", "S8"], "correct": [0, 1, 0, 1], "n": [40, 60, 20, 80]})
    >>> fit = js.fit("correct ~ strategy", counts, counts="n")
    >>> fit.means("strategy", scale="response")[["strategy", "estimate", "conf_low", "conf_high"]].round(3)
      strategy  estimate  conf_low  conf_high
    0       B0       0.6     0.501      0.691
    1       S8       0.8     0.710      0.867
    """
    quantile(conf_level)
    _check(scale, ("link", "response"), weights, random)
    own, within = specs_of(specs, by)
    averaging = random == "average" and scale == "response"
    laid = grid(fit, [*own, *within], at, weights, random=averaging)
    found = marginal(fit, laid, scale, random=averaging)
    value = np.where(found.known[:, None], found.value, np.nan)
    error = np.where(found.known[:, None], spread(found.gradient, trusted(fit)), np.nan)
    df = freedom.degrees(fit, _links(fit, laid))
    q = freedom.half_width(conf_level, df)
    numbers = limits(value, error, "score" if scale == "link" else scale_of(fit), q[:, None])
    if scale == "response" and not averaging and not fit.design.categories:
        numbers = _transformed(fit, laid, q, found.known)[:, None]
    J = value.shape[1]
    result = laid.cells.iloc[np.repeat(np.arange(len(value)), J)].reset_index(drop=True)
    if J > 1:
        result["category"] = list(fit.design.categories) * len(value)
    for k, name in enumerate(("estimate", "std_error", "conf_low", "conf_high")):
        result[name] = numbers[..., k].ravel()
    result.insert(result.columns.get_loc("std_error") + 1, "df", np.repeat(df, J))
    return result.assign(
        method=_method(fit, scale, averaging), flag=_flags(fit, np.repeat(found.known, J), error.ravel())
    )


def _links(fit: Fitted, laid: Grid) -> Floats:
    """(K, p') weights of the coefficients in the mean η of each cell."""
    gradient: Floats = marginal(fit, laid, "link", random=False).gradient[:, 0, : fit.n_location]
    return gradient


def _transformed(fit: Fitted, laid: Grid, q: Floats, known: NDArray[np.bool_]) -> Floats:
    """(K, 4) of responses at the mean η, with the limits of η."""
    link = marginal(fit, laid, "link", random=False)
    eta, error = link.value[:, 0], spread(link.gradient[:, 0], trusted(fit))
    value, slope = inverse(fit.link, eta)
    ends = [inverse(fit.link, eta + side * q * error)[0] for side in (-1, 1)]
    return np.where(known[:, None], np.column_stack([value, slope * error, *ends]), np.nan)


def contrasts(
    fit: Fitted,
    specs: Any,
    *,
    method: Literal["pairwise", "baseline"] | Mapping[str, Any] = "pairwise",
    baseline: Any = None,
    adjust: Literal["holm", "tukey", "dunnett", "bonferroni", "none"] = "holm",
    scale: Literal["link", "odds ratio", "rate ratio", "response"] = "link",
    by: Any = None,
    weights: Literal["equal", "proportional"] = "equal",
    at: Mapping[str, Any] | None = None,
    random: Literal["none", "average"] = "none",
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Contrasts of marginal means.

    Parameters
    ----------
    fit : Fitted
    specs : str or sequence of str
        Columns whose levels, or combinations of levels, are compared.
    method : {"pairwise", "baseline"} or mapping
        Every pair, the first minus the second; every other minus the baseline; or a name for each contrast of your own,
        with its weights: a mapping of levels (``"S8"``, ``"S8:judge a"`` for two columns), or one number for each cell.
    baseline : level, optional
        For ``method="baseline"``: by default the first.
    adjust : {"holm", "tukey", "dunnett", "bonferroni", "none"}
        Of the p values within each level of `by`, and of the intervals, which cover together. ``tukey`` is for pairs.
        ``dunnett`` uses the joint normal or t distribution of any contrasts none of which follows from the others.
        Intervals of ``holm`` are Bonferroni's.
    scale : {"link", "odds ratio", "rate ratio", "response"}
        ``response``: differences of probabilities, counts or scores, by the delta method.
    by : str or sequence of str, optional
        Contrasts within each of their levels.
    weights, at, random
        As in :func:`means`.
    conf_level : float

    Returns
    -------
    pandas.DataFrame
        The columns of `by`, ``term``, ``category`` (cumulative models on the response scale), ``estimate``,
        ``std_error``, ``statistic``, ``df``, ``p_value``, ``conf_low``, ``conf_high``, ``adjust``, ``method``,
        ``flag``; ``df`` as in ``tidy()``: those of each contrast, also where it is adjusted. The statistic and p value
        of a ratio are those of its logarithm.

    Raises
    ------
    DesignError
        If a column or level is unknown, or an option does not suit the model or the contrasts.

    Examples
    --------
    >>> import judgestats as js
    >>> counts = pd.DataFrame({"strategy": ["B0", "B0", "S8", "S8"], "correct": [0, 1, 0, 1], "n": [40, 60, 20, 80]})
    >>> fit = js.fit("correct ~ strategy", counts, counts="n")
    >>> fit.contrasts("strategy", method="baseline", scale="odds ratio")[["term", "estimate", "p_value"]].round(4)
                              term  estimate  p_value
    0  strategy[S8] - strategy[B0]    2.6667   0.0024
    """
    quantile(conf_level)
    choose(adjust, ADJUSTMENTS, "adjust")
    _check(scale, ("link", *RATIOS, "response"), weights, random)
    _refuse_ratio(fit, scale)
    if adjust == "tukey" and method != "pairwise":
        raise DesignError("adjust='tukey' is for method='pairwise'. Use 'dunnett' for others, or 'holm'.")
    own, within = specs_of(specs, by)
    averaging = random == "average" and scale == "response"
    laid = grid(fit, [*within, *own], at, weights, random=averaging)
    found = marginal(fit, laid, "response" if scale == "response" else "link", random=averaging)
    size = int(np.prod([laid.cells[c].nunique() for c in own]))
    names, C = _weights(laid.cells[own].iloc[:size], method, baseline)
    tables = []
    for first in range(0, len(laid.cells), size):
        family = slice(first, first + size)
        part = _family(fit, laid, found, family, C, names, adjust, scale, conf_level)
        for name in within[::-1]:
            part.insert(0, name, [laid.cells[name].iloc[first]] * len(part))
        tables.append(part)
    return pd.concat(tables, ignore_index=True).assign(adjust=adjust, method=_method(fit, scale, averaging))[
        [*within, "term", *(["category"] if found.value.shape[1] > 1 else []), *NUMBERS, "adjust", "method", "flag"]
    ]


def _family(
    fit: Fitted, laid: Grid, found: Means, family: slice, C: Floats, names: list[str], adjust: str, scale: str,
    level: float,
) -> pd.DataFrame:  # fmt: skip
    """Contrasts that are adjusted together, for each category."""
    known = _estimable(fit, laid, family, C)
    df = freedom.degrees(fit, C @ _links(fit, laid)[family])
    tables = []
    for j in range(found.value.shape[1]):
        slope = np.tensordot(C, found.gradient[family, j], axes=1)
        estimate = np.where(known, C @ found.value[family, j], np.nan)
        error = np.where(known, spread(slope, trusted(fit)), np.nan)
        numbers = inference(estimate, error, df, level)
        joint = slope @ np.where(np.isfinite(trusted(fit)), trusted(fit), 0.0) @ slope.T
        p, q = adjusted(numbers["statistic"], adjust, level, int(found.known[family].sum()), joint, df)
        numbers |= {"p_value": p, "conf_low": estimate - q * error, "conf_high": estimate + q * error}
        if scale in RATIOS:
            ratio = {k: np.exp(numbers[k]) for k in ("estimate", "conf_low", "conf_high")}
            numbers |= {**ratio, "std_error": ratio["estimate"] * error}
        part = pd.DataFrame({"term": names, **numbers, "flag": _flags(fit, known, error)})
        if fit.design.categories:
            part["category"] = fit.design.categories[j] if found.value.shape[1] > 1 else ""
        tables.append(part)
    return pd.concat(tables, ignore_index=True)


def _estimable(fit: Fitted, laid: Grid, family: slice, C: Floats) -> NDArray[np.bool_]:
    """Whether contrasts can be told from the data: their difference may be where the means are not."""
    return estimable(fit.design, laid.frame, C @ laid.pool[family])


def _weights(cells: pd.DataFrame, method: Any, baseline: Any) -> tuple[list[str], Floats]:
    """Names of contrasts, and their weights of the cells."""
    labels, K = cell_labels(cells), len(cells)
    places = {":".join(label(v) for v in row): k for k, row in enumerate(cells.itertuples(index=False))}
    if not isinstance(method, str):
        if not isinstance(method, Mapping) or not method:
            raise DesignError(
                f"method={method!r} is none. Allowed: 'pairwise', 'baseline', or a mapping of names to weights."
            )
        return [str(n) for n in method], np.array([_own_weights(n, w, places) for n, w in method.items()])
    choose(method, ("pairwise", "baseline"), "method")
    if K < 2:
        raise DesignError(
            f"There is one mean, {labels[0]}: nothing to compare it with. Name a factor in specs, or values in at."
        )
    if method == "pairwise":
        pairs = [(a, b) for a in range(K) for b in range(a + 1, K)]
    else:
        base = 0 if baseline is None else _place(baseline, places, "baseline")
        pairs = [(a, base) for a in range(K) if a != base]
    unit = np.eye(K)
    return [f"{labels[a]} - {labels[b]}" for a, b in pairs], np.array([unit[a] - unit[b] for a, b in pairs])


def _place(level: Any, places: Mapping[str, int], what: str) -> int:
    name = ":".join(label(v) for v in level) if isinstance(level, (tuple, list)) else label(level)
    if name not in places:
        raise DesignError(f"{what}={level!r} is no level. Allowed: {', '.join(places)}.{suggestion(name, places)}")
    return places[name]


def _own_weights(name: str, given: Any, places: Mapping[str, int]) -> Floats:
    result = np.zeros(len(places))
    if isinstance(given, Mapping):
        for level, weight in given.items():
            result[_place(level, places, f"method[{name!r}]")] = float(weight)
        return result
    values = np.asarray(given, float)
    if values.shape != result.shape:
        raise DesignError(f"method[{name!r}] has {values.size} weights for {len(places)} cells: {', '.join(places)}.")
    return values


def _check(scale: str, scales: Any, weights: str, random: str) -> None:
    choose(scale, scales, "scale")
    choose(weights, WEIGHTS, "weights")
    choose(random, ("none", "average"), "random")
    if random == "average" and scale != "response":
        raise DesignError("random='average' is for scale='response': the mean of η does not depend on random effects.")


def _refuse_ratio(fit: Fitted, scale: str) -> None:
    if scale in RATIOS and fit.link != RATIOS[scale]:
        raise DesignError(
            f"scale={scale!r} is for link={RATIOS[scale]!r}; this model has {fit.link!r}. Use scale='link'."
        )


def _method(fit: Fitted, scale: str, averaging: bool) -> str:
    how = scale
    if scale == "response":
        zero = ", random effects at 0" if fit.design.terms else ""
        how += ", averaged over random effects" if averaging else zero
    return f"{how}; {freedom.named(fit)}"


def _flags(fit: Fitted, known: NDArray[np.bool_], error: Floats) -> list[str]:
    own = doubts(fit, np.where(known, error, 0.0))
    return [flags("" if k else NOT_ESTIMABLE, str(d)) for k, d in zip(known, own, strict=True)]
