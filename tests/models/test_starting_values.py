"""Laplace's approximation where groups always answer alike: 200 designs against glmmTMB (constant_groups.R)."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from models.reference import FOLDER

ALL = pd.read_csv(FOLDER / "constant_groups.csv", comment="#", dtype={"k": str}).set_index("design")
#: Some of them: with a second maximum at a larger standard deviation, a saddle point at intercept 0, a crossed term.
SOME = (1, 5, 6, 100, 122, 139, 146, 160)


@cache
def fitted(design):
    row = ALL.loc[design]
    own = pd.DataFrame([(g, h) for g in range(row.groups) for h in range(row.cells)], columns=["g", "h"])
    own = own.assign(x=(7 * own["g"] + 3 * own["h"]) % 5 - 2, k=[int(c) for c in row.k], n=row.n)
    own[["g", "h"]] = own[["g", "h"]].map("{:02d}".format)
    crossed = " + (1|h)" if row.terms == 2 else ""
    return js.fit(f"cbind(k, n - k) ~ x + (1|g){crossed}", own, n_quadrature=1)


def assert_highest(design):
    """No lower than glmmTMB, whose value is taken at its parameters where its Hessian is not positive definite."""
    fit, row = fitted(design), ALL.loc[design]
    spreads = [row.sd, row.sd_h][: row.terms]
    there = -fit.objective(np.array([row.b0, row.b1, *spreads]))[0] + fit.loglik + fit.objective(fit.params)[0]
    assert fit.loglik > there - 1e-4
    if row.positive:
        assert fit.loglik > row.loglik - 1e-4
    if fit.converged:
        inside = fit.params != 0
        steps = np.diag(1e-3 * np.maximum(np.abs(fit.params), 1.0))[inside]
        slopes = [(fit.objective(fit.params + s)[1] - fit.objective(fit.params - s)[1])[inside] / 2 for s in steps]
        curvature = np.array(slopes) / steps.sum(axis=1)[:, None]
        size = np.linalg.eigvalsh((curvature + curvature.T) / 2)
        assert size.min() > -1e-6 * size.max()


@pytest.mark.parametrize("design", SOME)
def test_it_is_a_maximum_and_the_higher_one(design):
    assert_highest(design)
    assert fitted(design).converged


@pytest.mark.slow
@pytest.mark.parametrize("design", sorted(set(ALL.index) - set(SOME)))
def test_the_other_designs_too(design):
    assert_highest(design)


def test_the_two_maxima_of_a_symmetric_design_are_told_from_the_saddle_between_them():
    """Ten groups of 12 calls, five always right and five always wrong: the intercept is not 0, by Laplace, and has an error.

    The likelihood itself has no maximum: the groups separate the response.
    """
    rows = [(f"g{g}", (7 * g + 3 * h) % 5 - 2, int(g < 5)) for g in range(10) for h in range(12)]
    fit = js.fit("y ~ x + (1|g)", pd.DataFrame(rows, columns=["g", "x", "y"]), n_quadrature=1)
    assert fit.converged
    assert fit.loglik == pytest.approx(-8.2051, abs=1e-3)  # glmmTMB
    assert abs(fit.beta[0]) == pytest.approx(13.8, abs=0.1)
    assert np.isfinite(fit.covariance).all()
    assert fit.tidy()["flag"].eq("separation").all()
