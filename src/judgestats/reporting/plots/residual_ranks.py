"""Picture of residuals that are uniform where a model holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from judgestats.defaults import SEED
from judgestats.errors import DesignError
from judgestats.models.postestimation.scaled_residuals import simulated
from judgestats.models.postestimation.simulated_responses import Random
from judgestats.reporting.plots import canvas
from judgestats.reporting.plots.predictions import equals_together
from judgestats.schema.columns import By
from judgestats.typing import Floats, Ints, Seed

if TYPE_CHECKING:
    from judgestats.models.fits import Fit

#: Fewest residuals in a bin, and most bins; quartiles; coverage of the bands.
LEAST, MOST_BINS, QUARTILES, BAND = 8, 10, (0.25, 0.5, 0.75), 0.95
#: Beyond so many, points are not drawn one by one.
MOST_POINTS = 3000


@canvas.picture("Two axes to draw on.")
def scaled_residuals(
    fit: Fit,
    n_draws: int = 250,
    *,
    by: By = None,
    random: Random = "new",
    seed: Seed = SEED,
    ax: canvas.Panels = None,
    title: str | None = None,
) -> canvas.Picture:
    """Draw whether responses look like those of the fitted model: residuals that should be uniform.

    Parameters
    ----------
    fit : Fit
        A result of :func:`judgestats.fit`.
    n_draws, by, random, seed
        As in :meth:`judgestats.models.Fit.scaled_residuals`.

    Returns
    -------
    Picture
        Residuals in order against the quantiles of a uniform distribution: on the line where the model holds, steeper
        in the middle and flat at the ends where responses vary more than it expects. Their quartiles in bins of the
        expected response: level at 0.25, 0.5 and 0.75 where it holds. Bands have 95 % of what the model itself draws,
        point by point. ``data`` has both: ``panel``, ``x``, ``y``, ``low``, ``high``, ``quartile``.

    Raises
    ------
    DesignError
        If it is not a fit, `ax` does not have two axes, or as :meth:`judgestats.models.Fit.scaled_residuals` does.

    See Also
    --------
    fit_diagnostics : residuals, random effects and calibration. judgestats.models.Fit.residual_tests : tests.

    Examples
    --------
    >>> import judgestats as js
    >>> table = pd.DataFrame({"item": range(40), "edits": [0, 0, 0, 9] * 10})
    >>> picture = scaled_residuals(js.fit("edits ~ 1", table, family="poisson"))
    >>> ordered = picture.data[picture.data["panel"] == "distribution"]
    >>> round(float(((ordered["y"] < ordered["low"]) | (ordered["y"] > ordered["high"])).mean()), 2)
    1.0
    """
    if not callable(getattr(fit, "scaled_residuals", None)):
        raise DesignError(f"The picture needs a result of fit(), and got: {type(fit)!r}.")
    sample = simulated(fit, n_draws, by, random, seed)
    panels = canvas.panels(ax, ["distribution", "by expected response"], [], wide=[3.4] * 2, each=0.0, sharey=False)
    if ax is None:
        canvas.figure_of(panels[0]).set_size_inches(7.4, 3.7)
    tails = (1 - BAND) / 2, (1 + BAND) / 2
    N = len(sample.n)
    ordered = np.sort(sample.ranks, axis=1)
    low, high = np.quantile(ordered[1:], tails, axis=0)
    first = pd.DataFrame({"x": (np.arange(N) + 0.5) / N, "y": ordered[0], "low": low, "high": high})
    expected = sample.expected
    second = _quartiles(expected, sample.ranks, tails)
    one, two = panels
    for panel in panels:
        canvas.grid(panel)
        panel.set(ylim=(-0.02, 1.02))
    _band(one, first, canvas.INK)
    one.plot([0, 1], [0, 1], color=canvas.MUTED, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
    one.plot(first["x"], first["y"], ".", color=canvas.PALETTE[0], markersize=3.5, zorder=3)
    canvas.named(one, "quantile of the uniform distribution", "scaled residual")
    if N <= MOST_POINTS:
        two.plot(expected, sample.ranks[0], ".", color=canvas.MUTED, markersize=3.5, alpha=0.35, zorder=1.5)
    for i, (quartile, level) in enumerate(second.groupby("quartile")):
        two.axhline(quartile, color=canvas.MUTED, linewidth=0.9, linestyle=(0, (4, 3)), zorder=1)
        _band(two, level, canvas.PALETTE[i])
        two.plot(level["x"], level["y"], color=canvas.PALETTE[i], marker="o", markersize=3.5, linewidth=1.3, zorder=3)
    canvas.named(two, "expected response", "scaled residual: quartiles")
    for panel, name in zip(panels, ("distribution", "by expected response"), strict=True):
        panel.set_title(name, fontsize=canvas.TEXT, color=canvas.INK, loc="left")
    canvas.headed(panels, title)
    both = [first.assign(panel="distribution"), second.assign(panel="by expected response")]
    return canvas.Picture(panels, pd.concat(both, ignore_index=True))


def _quartiles(expected: Floats, ranks: Floats, tails: tuple[float, float]) -> pd.DataFrame:
    """Quartiles of the residuals in bins of the expected response, and the band of those of the draws."""
    rows = []
    for in_bin in _bins(expected):
        each = np.quantile(ranks[:, in_bin], QUARTILES, axis=1)  # (3, S + 1)
        low, high = np.quantile(each[:, 1:], tails, axis=1)
        rows += [(expected[in_bin].mean(), *row) for row in zip(each[:, 0], low, high, QUARTILES, strict=True)]
    return pd.DataFrame(rows, columns=["x", "y", "low", "high", "quartile"])


def _bins(expected: Floats) -> list[Ints]:
    """Places of the residuals of each bin, about as many in each, those of one expected response together."""
    order = np.argsort(expected, kind="stable")
    number = int(np.clip(len(order) // LEAST, 1, MOST_BINS))
    code = equals_together(expected[order], np.arange(len(order)) * number // len(order))
    return [order[code == k] for k in np.unique(code)]


def _band(ax: Axes, table: pd.DataFrame, color: str) -> None:
    ax.fill_between(table["x"], table["low"], table["high"], color=color, alpha=0.12, linewidth=0, zorder=1.2)
