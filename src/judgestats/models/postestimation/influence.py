"""How much the coefficients depend on single levels of a factor: each left out in turn."""

from __future__ import annotations

import numpy as np
import pandas as pd

from judgestats import flags
from judgestats.errors import FitError, JudgestatsError, choose
from judgestats.models.coding.factor_levels import coded_levels
from judgestats.models.designs import taken
from judgestats.models.fitted_models import Fitted
from judgestats.models.postestimation.delta_method import cautions
from judgestats.typing import Floats, Ints, Mask

COLUMNS = ("level", "n", "cooks_distance", "term", "estimate", "dfbetas", "flag")


def influence(fit: Fitted, group: str) -> pd.DataFrame:
    """See :meth:`judgestats.models.Fit.influence`."""
    if fit.refit is None:
        raise FitError(f"engine={fit.engine!r} cannot fit again without some of the rows. Use engine='ml'.")
    codes, levels = _groups(fit, group)
    if len(levels) < 2:
        raise FitError(f"{group!r} has one level, and a fit without it has no rows. Name a factor with two or more.")
    p, tables = fit.n_location, []
    precision = np.linalg.pinv(fit.covariance[:p, :p], hermitian=True)
    caution = str(cautions(fit, np.zeros(1))[0])
    for code, level in enumerate(levels):
        change, error, note = _without(fit, codes != code)
        table = pd.DataFrame({"term": fit.names[:p], "estimate": fit.params[:p] + change, "dfbetas": change / error})
        distance = float(change @ precision @ change) / np.linalg.matrix_rank(precision)
        n = float((fit.design.count * fit.design.trials)[codes == code].sum())
        tables.append(table.assign(level=level, n=n, cooks_distance=distance, flag=flags.join(caution, note)))
    whole = pd.concat(tables, ignore_index=True)[list(COLUMNS)]
    place = (whole["cooks_distance"] / whole["cooks_distance"].max()).round(9)  # equal ones differ by rounding
    return whole.loc[place.sort_values(ascending=False, kind="stable").index].reset_index(drop=True)


def _groups(fit: Fitted, group: str) -> tuple[Ints, tuple[str, ...]]:
    """Level of each row, and the levels, of a random term's factor or of a column."""
    d = fit.design
    factors = {t.factor: (t.codes, t.levels) for t in d.terms}
    columns = [c for c in d.frame.columns if c not in d.formula.answers]
    choose(group, (*dict.fromkeys([*factors, *columns]),), "group")
    return factors[group] if group in factors else coded_levels(d.frame, [group])


def _without(fit: Fitted, keep: Mask) -> tuple[Floats, Floats, str]:
    """What leaving rows out adds to the coefficients, the errors then, and a flag where that cannot be said."""
    assert fit.refit is not None
    rows, p = np.flatnonzero(keep), fit.n_location
    unknown = np.full(p, np.nan)
    less = taken(fit.design, rows)
    if np.linalg.matrix_rank(less.X) < less.X.shape[1]:
        return unknown, unknown, flags.NOT_FITTED.of(reason="without this level a coefficient is not determined")
    try:
        other = fit.refit(less, rows)
    except JudgestatsError as error:
        return unknown, unknown, flags.NOT_FITTED.of(reason=error)
    note = "" if other.converged else flags.NOT_CONVERGED
    return other.params[:p] - fit.params[:p], np.sqrt(np.diag(other.covariance)[:p]), note
