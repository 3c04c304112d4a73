"""Pictures of models: observed beside predicted values, diagnostics of a fit, posterior draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from scipy.special import ndtri

from judgestats.errors import DesignError
from judgestats.kernels.proportions import wilson
from judgestats.reporting import estimate_rows
from judgestats.reporting.plots import canvas, short_names
from judgestats.typing import Floats, Ints

if TYPE_CHECKING:
    from judgestats.models.fits import Fit

#: Columns of a predictive frame that are not labels.
_NO_LABEL = ("kind", "observed", "estimate", "conf_low", "conf_high", "inside", "n", "scale", "method", "flag")
_COLUMNS = ("kind", "outcome", "observed", "estimate", "conf_low", "conf_high", "inside", "n", "scale")
#: With more rows than this, names are left out.
MOST_NAMED = 40
_HEADS = {"prior": "prior predictive", "posterior": "posterior predictive"}
#: Panels whose ranges differ by more have separate axes.
_MUCH_WIDER = 8.0
_OUTSIDE = canvas.PALETTE[1]


@canvas.picture("Axes to draw on, one a panel.")
def predictive(
    predictions: Fit | pd.DataFrame, *, ax: canvas.Panels = None, title: str | None = None
) -> canvas.Picture:
    """Draw each observed count or mean over the interval that the model predicts for it.

    Parameters
    ----------
    predictions : pandas.DataFrame, Fit or Posterior
        What ``predictive()`` of a fit by ``engine="pymc"`` or of a hierarchical model gives, or the model itself, whose
        prior and posterior are then drawn side by side.

    Returns
    -------
    Picture
        A panel for the prior and for the posterior, where both are there. A row for each value, the highest predicted
        one on top; counts are drawn per call, so that cells of different size are comparable. Bars are 95 % predictive
        intervals, ticks in them predictive means; dots are observed values, red squares those outside. More than 40
        rows lose their names, except those outside.

    Raises
    ------
    DesignError
        If it is not a table of predictions, has no observed value, or two rows have the same labels.

    See Also
    --------
    fit_diagnostics : residuals and calibration of a fit. posterior_intervals : the parameters.

    Examples
    --------
    >>> rows = pd.DataFrame({"kind": "posterior", "judge": ["a", "b"], "outcome": "tie", "observed": [2.0, 9.0],
    ...                      "estimate": [3.0, 4.0], "conf_low": [0.0, 1.0], "conf_high": [6.0, 8.0],
    ...                      "inside": [True, False], "n": 20.0, "scale": "count"})
    >>> [t.get_text() for t in predictive(rows).get_yticklabels()]
    ['b', 'a']
    """
    table = _table(predictions)
    calls = np.where(table["scale"] == "count", table["n"].to_numpy(float), 1.0)
    ends = ("observed", "estimate", "conf_low", "conf_high")
    table = table.assign(**{c: table[c].to_numpy(float) / calls for c in ends})
    labels = _order(table)
    kinds = [k for k in _HEADS if (table["kind"] == k).any()]
    all_named = len(labels) <= MOST_NAMED
    outside = set(table.loc[~table["inside"].astype(bool) & (table["kind"] == kinds[-1]), "_row"])
    names = labels if all_named else [name if name in outside else "" for name in labels]
    sized = sorted(names, key=len, reverse=True)[:MOST_NAMED]  # width of the labels: of at most this many rows
    axes = canvas.panels(ax, kinds, [*sized, "—"], wide=[3.9] * len(kinds), each=0.3 if all_named else 0.24)
    for i, (panel, kind) in enumerate(zip(axes, kinds, strict=True)):
        estimates = table[table["kind"] == kind].set_index("_row")
        canvas.limits(
            panel, _together(table, estimates)[["observed", "conf_low", "conf_high"]], bounds=(-np.inf, np.inf)
        )
        _rows(panel, estimates, labels, names, first=i == 0, thin=not all_named)
        panel.set_xlabel(_scale(table), fontsize=canvas.TEXT, color=canvas.INK)
        inside = int(estimates["inside"].astype(bool).sum())
        canvas.below(panel, f"{inside} of {len(estimates)} observed values inside")
        if len(kinds) > 1:
            panel.set_title(_HEADS[kind], fontsize=canvas.TEXT, color=canvas.INK, loc="left", pad=22)
    bar = Line2D([], [], color=canvas.PALETTE[0], linewidth=5.0, alpha=0.75, label="95 % predicted")
    keys = [bar, canvas.key("observed", canvas.INK)]
    keys += [] if table["inside"].astype(bool).all() else [canvas.key("observed, outside", _OUTSIDE, marker="s")]
    canvas.legend_above(axes[0], keys, 3)
    canvas.headed(axes, title)
    return canvas.Picture(axes, table)


def _table(predictions: Fit | pd.DataFrame) -> pd.DataFrame:
    """The frame of a model, or the frame that was given."""
    method = getattr(predictions, "predictive", None)
    table: pd.DataFrame = method("both") if callable(method) else predictions
    estimate_rows.require(table, *_COLUMNS)
    if unknown := sorted(set(map(str, table["kind"])) - set(_HEADS)):
        raise DesignError(f"kind has {unknown[0]!r}. Allowed: posterior, prior. Give a result of predictive().")
    table = table[np.isfinite(table["observed"].to_numpy(float))]
    if table.empty:
        raise DesignError("There is no observed value to draw. Give a result of predictive() with at least one.")
    columns = [c for c in table.columns if c not in _NO_LABEL]
    varying = [c for c in columns if table[c].astype(object).nunique(dropna=False) > 1]
    table = table.assign(_row=estimate_rows.joined(table, varying))
    estimate_rows.one_row_each(table, ["kind", "_row"])
    return table


def _order(table: pd.DataFrame) -> list[str]:
    """Rows, the highest predicted value first; by the posterior where there is one."""
    last = table[table["kind"] == ("posterior" if (table["kind"] == "posterior").any() else "prior")]
    rest = [r for r in estimate_rows.distinct(table["_row"]) if r not in set(last["_row"])]
    return [*last.sort_values("estimate", ascending=False, kind="stable")["_row"], *rest]


def _together(table: pd.DataFrame, estimates: pd.DataFrame) -> pd.DataFrame:
    """What sets the range of a panel: all panels, unless one is much wider."""
    reach = table.assign(
        _low=table[["observed", "conf_low"]].min(axis=1), _high=table[["observed", "conf_high"]].max(axis=1)
    )
    each = reach.groupby("kind").agg(low=("_low", "min"), high=("_high", "max"))
    wide = each["high"] - each["low"]
    return table if wide.max() <= _MUCH_WIDER * wide.min() else estimates


def _scale(table: pd.DataFrame) -> str:
    what = estimate_rows.distinct(table["outcome"])
    if (table["scale"] == "count").any():
        return (
            f"{short_names.literal(what[0])}: count ÷ calls" if len(what) == 1 else "calls with this answer ÷ all calls"
        )
    return f"mean of {short_names.literal(what[0]).removeprefix('mean ')}" if len(what) == 1 else "mean score"


def _rows(ax: Axes, estimates: pd.DataFrame, labels: list[str], names: list[str], *, first: bool, thin: bool) -> None:
    if thin:
        canvas.grid(ax, "x")
        ax.set(ylim=(len(labels) - 0.5, -0.5), yticks=[i for i, name in enumerate(names) if name])
        ax.set_yticklabels([short_names.literal(name) for name in names if name], fontsize=canvas.SMALL - 1)
        ax.tick_params(axis="y", length=2, labelleft=first)
    else:
        canvas.lanes(ax, labels, first=first)
    for i, name in enumerate(labels):
        if name not in estimates.index:
            continue
        row = estimates.loc[name]
        ends, wide = [row["conf_low"], row["conf_high"]], 1.5 if thin else 5.0
        ax.plot(ends, [i, i], color=canvas.PALETTE[0], linewidth=wide, alpha=0.75, zorder=2.5, solid_capstyle="butt")
        if not thin:
            ax.plot(row["estimate"], i, marker="|", color="white", markersize=4.5, zorder=3)
        seen = bool(row["inside"])
        look = canvas.face(canvas.INK if seen else _OUTSIDE, filled=True)
        look |= {"markersize": 3.5, "markeredgewidth": 0.3} if thin else {}
        ax.plot(row["observed"], i, marker="o" if seen else "s", linestyle="none", zorder=4, **look)


#: Fewest rows in a bin, and most bins.
LEAST_ROWS, MOST_BINS = 8, 12


@canvas.picture("Axes to draw on: three, or two for a model without random effects.")
def fit_diagnostics(fit: Fit, *, ax: canvas.Panels = None, title: str | None = None) -> canvas.Picture:
    """Draw whether a model fits: its residuals, its random effects and its calibration.

    Parameters
    ----------
    fit : Fit
        A result of :func:`judgestats.fit`.

    Returns
    -------
    Picture
        Residuals by linear predictor: means of bins with as many rows each, with an interval of two standard
        errors (a Pearson residual has the standard deviation 1, if the model holds); they should be about 0
        everywhere. Random effects, with their intervals, against normal quantiles; they should be on a line.
        Calibration: observed against fitted means of bins, with the line where they are equal; for an ordinal
        response, the share of each category. ``data`` has the points of all panels.

    Raises
    ------
    DesignError
        If it is not a fit, or `ax` does not have one for each panel.

    Notes
    -----
    Intervals of bins take the rows as independent given the random effects, as the model does. Fitted values include
    the random effects, which shrinkage pulls to the middle: a line a little steeper than the diagonal is expected.

    See Also
    --------
    judgestats.models.Fit.augment : residuals of single rows. predictive : checks of a Bayesian model.

    Examples
    --------
    >>> import judgestats as js
    >>> counts = pd.DataFrame({"strategy": ["B0", "S8"] * 2, "correct": [0, 0, 1, 1], "n": [40, 20, 60, 80]})
    >>> picture = fit_diagnostics(js.fit("correct ~ strategy", counts, counts="n"))
    >>> picture.data.loc[picture.data["panel"] == "calibration", ["x", "y"]].round(2)
         x    y
    2  0.6  0.6
    3  0.8  0.8
    """
    if not all(callable(getattr(fit, name, None)) for name in ("augment", "random_effects", "predict")):
        raise DesignError(f"The picture needs a result of fit(), and got: {type(fit)!r}.")
    table = fit.augment()
    table = table[np.isfinite(table["residual"].to_numpy(float))]
    weight = table[table.columns[list(table.columns).index("link") - 1]].to_numpy(float)
    ordinal = fit.family == "cumulative"
    residual = table["residual" if ordinal else "pearson"].to_numpy(float)
    first = _binned(table["link"].to_numpy(float), residual, weight, None if ordinal else 1.0)
    effects = _quantiles(fit.random_effects()) if fit.design.terms else pd.DataFrame()
    second = _calibrated(fit, table, weight, ordinal)
    names = ["residuals", *(["random effects"] if len(effects) else []), "calibration"]
    panels = canvas.panels(ax, names, [], wide=[3.4] * len(names), each=0.0, sharey=False)
    if ax is None:
        canvas.figure_of(panels[0]).set_size_inches(0.4 + 3.5 * len(names), 3.7)
    one, last = panels[0], panels[-1]
    canvas.grid(one)
    one.axhline(0, color=canvas.MUTED, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
    _crosses(one, first)
    unit = "probability scale, −1 to 1" if ordinal else "Pearson, in standard deviations"
    canvas.named(one, f"linear predictor ({LINKS.get(fit.link, fit.link)})", f"mean residual ({unit})")
    if len(effects):
        _effects(panels[1], effects)
    canvas.grid(last)
    ends = second[["x", "y", "conf_low", "conf_high"]].to_numpy(float)
    ends = ends[np.isfinite(ends)]
    low, high = ends.min(), ends.max()
    last.plot([low, high], [low, high], color=canvas.MUTED, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
    _crosses(last, second)
    share = "share" if ordinal or fit.family == "binomial" else "mean response"
    if share == "share":
        canvas.in_form(last, "share", "x", "y")
    canvas.named(last, f"fitted {share}", f"observed {share}")
    for panel, name in zip(panels, names, strict=True):
        panel.set_title(name, fontsize=canvas.TEXT, color=canvas.INK, loc="left")
    canvas.headed(panels, title)
    axes = [
        t.assign(panel=n) for n, t in zip(names, [first, *([effects] if len(effects) else []), second], strict=True)
    ]
    return canvas.Picture(panels, pd.concat(axes, ignore_index=True))


#: Unit of the linear predictor, by link.
LINKS = {
    "logit": "log-odds",
    "probit": "probits",
    "cloglog": "complementary log-log",
    "log": "log of the mean",
    "identity": "units of the response",
}


def _binned(x: Floats, y: Floats, weight: Floats, sd: float | None = None) -> pd.DataFrame:
    """Means of `y` by `x`, in bins of about the same weight, with an interval of two standard errors.

    `sd`: standard deviation of one `y`, where it is known; else that of the bin. Rows with the same `x` are in one bin.
    """
    order = np.argsort(x, kind="stable")
    x, y, weight = x[order], y[order], weight[order]
    bins = max(2, min(MOST_BINS, int(weight.sum() // LEAST_ROWS)))
    total = np.cumsum(weight) - weight / 2
    code = np.minimum((total / weight.sum() * bins).astype(int), bins - 1)
    code = equals_together(x, code)
    rows = []
    for k in np.unique(code):
        in_bin = code == k
        n = weight[in_bin].sum()
        at, middle = (np.average(v[in_bin], weights=weight[in_bin]) for v in (x, y))
        spread = sd or np.sqrt(np.average((y[in_bin] - middle) ** 2, weights=weight[in_bin]) * n / max(n - 1, 1e-9))
        half = 2 * spread / np.sqrt(n) if n > 1 or sd else np.nan
        rows.append((at, middle, middle - half, middle + half, n))
    return pd.DataFrame(rows, columns=["x", "y", "conf_low", "conf_high", "n"])


def equals_together(x: Floats, code: Ints) -> Ints:
    """Bins of values in their order, equal values all in the bin of the first."""
    same = np.concatenate([[0], np.cumsum(np.diff(x) > 1e-9 * max(float(np.ptp(x)), 1e-300))])
    return np.asarray(pd.Series(code).groupby(same).transform("first"), np.int64)


def _calibrated(fit: Fit, table: pd.DataFrame, weight: Floats, ordinal: bool) -> pd.DataFrame:
    """Observed against fitted means of bins; shares have Wilson intervals."""
    if not ordinal:
        fitted = table["fitted"].to_numpy(float)
        bins = _binned(fitted, fitted + table["residual"].to_numpy(float), weight)
        if fit.family != "binomial":
            return bins
        return _wilson(bins)
    rows = fit.predict(interval=False)
    answer = rows[fit.formula.partition("~")[0].strip()].astype(str)
    counts = rows[rows.columns[list(rows.columns).index("category") - 1]].to_numpy(float)
    hit = (answer == rows["category"].astype(str)).to_numpy(float)
    parts = []
    for category in estimate_rows.distinct(rows["category"]):
        in_category = (rows["category"] == category).to_numpy()
        bins = _wilson(_binned(rows["estimate"].to_numpy(float)[in_category], hit[in_category], counts[in_category]))
        parts.append(bins.assign(label=str(category)))
    return pd.concat(parts, ignore_index=True)


def _wilson(bins: pd.DataFrame) -> pd.DataFrame:
    low, high = wilson(bins["y"] * bins["n"], bins["n"])
    return bins.assign(conf_low=low, conf_high=high)


def _quantiles(effects: pd.DataFrame) -> pd.DataFrame:
    """Each random effect with the normal quantile of its rank in its term."""
    name = effects["group"].astype(str) + np.where(
        effects["term"] == "Intercept", "", ": " + effects["term"].astype(str)
    )
    parts = []
    for label, level in effects.groupby(name, sort=False):
        level = level.sort_values("estimate", kind="stable")
        rank = (np.arange(len(level)) + 0.625) / (len(level) + 0.25)  # Blom 1958
        columns = {"y": level["estimate"], "conf_low": level["conf_low"], "conf_high": level["conf_high"]}
        parts.append(pd.DataFrame({"x": ndtri(rank), **columns, "label": label, "level": level["level"]}))
    return pd.concat(parts, ignore_index=True)


def _effects(ax: Axes, effects: pd.DataFrame) -> None:
    canvas.grid(ax)
    keys = []
    for i, (label, level) in enumerate(effects.groupby("label", sort=False)):
        style = canvas.style_of(i)
        ax.vlines(level["x"], level["conf_low"], level["conf_high"], style["color"], linewidth=0.8, alpha=0.4, zorder=2)
        (points,) = ax.plot(level["x"], level["y"], linestyle="none", zorder=3, markersize=4, **style)
        points.set(markeredgecolor="white", markeredgewidth=0.4)
        if len(level) > 1 and level["x"].var() > 0:
            slope = np.polyfit(level["x"], level["y"], 1)
            ends = np.array([level["x"].min(), level["x"].max()])
            ax.plot(ends, np.polyval(slope, ends), color=style["color"], linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
        keys.append(canvas.key(str(label), style["color"], marker=style["marker"]))
    ax.legend(handles=keys, loc="upper left", frameon=False, fontsize=canvas.SMALL, labelcolor=canvas.INK)
    canvas.named(ax, "normal quantile", "random effect (scale of the linear predictor)")


def _crosses(ax: Axes, table: pd.DataFrame) -> None:
    """Points with vertical intervals, in a colour for each label."""
    labels = table["label"] if "label" in table.columns else pd.Series("", index=table.index)
    keys = []
    for i, (label, level) in enumerate(table.groupby(labels, sort=False)):
        style = canvas.style_of(i)
        ax.vlines(
            level["x"], level["conf_low"], level["conf_high"], color=style["color"], linewidth=1.2, alpha=0.7, zorder=2
        )
        ax.plot(level["x"], level["y"], linestyle="none", markersize=5.5, markeredgecolor="white", zorder=3, **style)
        keys.append(canvas.key(str(label), style["color"], marker=style["marker"]))
    if len(keys) > 1:
        canvas.legend(ax, keys, "category")


#: More parameters than these need a choice.
MOST_PARAMETERS = 80


@canvas.picture()
def posterior_intervals(
    draws: object,
    *,
    variables: str | Sequence[str] | None = None,
    order: estimate_rows.Order = "value",
    ax: Axes | None = None,
    title: str | None = None,
) -> canvas.Picture:
    """Draw posterior distributions as medians with nested intervals of 50 and 95 %.

    Parameters
    ----------
    draws : pandas.DataFrame, Fit or Posterior
        Draws, a column each parameter (``chain`` and ``draw`` are no parameters), or a model that has them: a fit by
        ``engine="pymc"`` or a hierarchical model.
    variables : str or sequence of str, optional
        Parameters to draw, by name; ``"effect"`` also takes all of ``effect[...]``.

    Returns
    -------
    Picture
        Points are medians, thick bars 50 % and thin ones 95 % equal-tailed intervals. ``data`` has them:
        ``parameter``, ``estimate``, ``low_50``, ``high_50``, ``conf_low``, ``conf_high``.

    Raises
    ------
    DesignError
        If there are no draws, no such variable, or more than 80 without a choice.

    See Also
    --------
    predictive : what the model predicts. judgestats.models.Fit.draws : the draws.

    Examples
    --------
    >>> draws = pd.DataFrame({"chain": 0, "draw": range(101), "effect[a]": np.linspace(0, 1, 101)})
    >>> posterior_intervals(draws).data[["parameter", "estimate", "low_50", "high_50"]]
       parameter  estimate  low_50  high_50
    0  effect[a]       0.5    0.25     0.75
    """
    method = getattr(draws, "draws", None)
    table = method() if callable(method) else draws
    if not isinstance(table, pd.DataFrame):
        raise DesignError(f"The picture needs a table of draws or a model with draws, and got: {type(draws)!r}.")
    numbers = table.select_dtypes("number")
    names = [str(c) for c in numbers.columns if c not in ("chain", "draw")]
    if variables is not None:
        wanted = [variables] if isinstance(variables, str) else list(variables)
        for w in wanted:
            if not any(n == w or n.startswith(f"{w}[") for n in names):
                raise DesignError(
                    f"variables has {w!r}, which the draws do not. They have: {', '.join(names[:8])}, ..."
                )
        names = [n for n in names if any(n == w or n.startswith(f"{w}[") for w in wanted)]
    if not {"chain", "draw"} <= {*table.columns} or not names or table.empty:
        raise DesignError(
            "There are no draws. Give draws() of a model by MCMC: chain, draw, and a column for each parameter."
        )
    if len(names) > MOST_PARAMETERS:
        first = ", ".join(estimate_rows.distinct(n.partition("[")[0] for n in names)[:6])
        raise DesignError(f"{len(names)} parameters are too many for a picture. Choose with variables=: {first}.")
    quantiles = np.quantile(table[names].to_numpy(float), [0.5, 0.25, 0.75, 0.025, 0.975], axis=0)
    ends = ("estimate", "low_50", "high_50", "conf_low", "conf_high")
    intervals = pd.DataFrame({"parameter": names, **dict(zip(ends, quantiles, strict=True))})
    labels = estimate_rows.ordered(intervals, order, column="parameter")
    intervals = intervals.set_index("parameter").loc[labels].reset_index()
    ax = canvas.row_axes(ax, labels, 4.8, 0.28)
    canvas.limits(ax, intervals[["conf_low", "conf_high"]], bounds=(-np.inf, np.inf))
    start, end = ax.get_xlim()
    if start < 0 < end:
        canvas.neutral(ax)
    canvas.lanes(ax, labels)
    color = canvas.PALETTE[0]
    for i, row in enumerate(intervals.to_dict("records")):
        canvas.interval(ax, i, row["conf_low"], row["conf_high"], color, 1.2)
        canvas.interval(ax, i, row["low_50"], row["high_50"], color, 4.2)
        ax.plot(row["estimate"], i, marker="o", linestyle="none", zorder=4, **canvas.face(canvas.INK, filled=True))
    bars = [Line2D([], [], color=color, linewidth=w, alpha=0.75, label=t) for w, t in ((4.2, "50 %"), (1.2, "95 %"))]
    canvas.legend_above(ax, [canvas.key("median", canvas.INK), *bars], 3)
    canvas.named(ax, "value of the parameter (scale of the model)", title=title, pad=24)
    return canvas.Picture(ax, intervals)
