"""Which models are special cases of others, and that the others are refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import DesignError
from judgestats.flags import BOUNDARY
from judgestats.models.fits import Fit
from refusals import refused


def calls() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    n = 240
    table = pd.DataFrame({"x": rng.normal(size=n), "z": rng.normal(size=n), "s": rng.choice(list("abc"), n)})
    table["g"], table["h"] = rng.integers(0, 12, n).astype(str), rng.choice(list("uv"), n)
    table["number"] = table["s"].map({"a": 0, "b": 1, "c": 2})
    table["y"] = (rng.random(n) < 1 / (1 + np.exp(-0.5 * table["x"] - table["z"]))).astype(int)
    table["class"] = pd.cut(table["z"] + rng.logistic(size=n), [-99, -1, 0, 1, 99], labels=False)
    table["events"] = rng.negative_binomial(2, 2 / (2 + np.exp(0.3 * table["x"])))
    return table


CALLS = calls()


def of(formula: str, **options: object) -> Fit:
    response = formula.split(" ~")[0]
    family = {"class": "cumulative", "events": "poisson", "z": "gaussian"}.get(response, "binomial")
    return js.fit(formula, CALLS, **{"family": family, **options})


NESTED = {
    "a term more": ("y ~ x", "y ~ x + s", {}),
    "a polynomial": ("y ~ x", "y ~ poly(x, 2)", {}),
    "another coding": ("y ~ s", "y ~ 0 + s:h", {}),
    "a number and its levels": ("y ~ number", "y ~ C(number)", {}),
    "an offset and its slope": ("y ~ offset(x)", "y ~ x", {}),
    "a random slope": ("y ~ x + (1|g)", "y ~ x + (x|g)", {}),
    "equal correlations": ("y ~ x + (1|g) + (1|g:h)", "y ~ x + (0 + h|g)", {}),
    "an effect of every threshold": ("class ~ s", "class ~ 1", {"thresholds_by": "s"}),
    "gaussian": ("z ~ 1 + (1|g)", "z ~ x + (1|g)", {}),
}


@pytest.mark.parametrize("pair", NESTED)
def test_special_cases_are_compared(pair: str) -> None:
    small, large, more = NESTED[pair]
    table = js.anova(of(large, **more), of(small))
    assert table["formula"].tolist() == [small, large]
    assert table["statistic"].iloc[1] > -1e-6
    assert np.isfinite(table["p_value"].iloc[1])


def test_others_are_refused() -> None:
    refused(
        DesignError,
        (lambda: js.anova(of("y ~ x"), of("y ~ z + s")), "'y ~ x' is not nested in 'y ~ z \\+ s'.*no column 'x'.*AIC"),
        (lambda: js.anova(of("y ~ x"), of("y ~ I(x**2) + z")), "fixed effects are no combinations"),
        (lambda: js.anova(of("y ~ 1 + offset(z)"), of("y ~ x + offset(2*z)")), "fixed effects are no combinations"),
        (
            lambda: js.anova(of("y ~ x + (1|h)"), of("y ~ x + h + (1|g)")),
            r"no random term that allows for \(Intercept\|h\)",
        ),
        (lambda: js.anova(of("y ~ x + (1|g)"), of("y ~ x + s + (1|g:h)")), r"no random term that allows for .*\|g\)"),
        (lambda: js.anova(of("class ~ 1", thresholds_by="h"), of("class ~ x + s + h")), "fixed effects are no combin"),
        (
            lambda: js.anova(of("events ~ x", family="negative_binomial"), of("events ~ x + s")),
            "variance beyond that of family='poisson'",
        ),
        (lambda: js.anova(of("events ~ x"), of("events ~ x", family="gaussian")), "differ in their family"),
    )


def test_poisson_is_the_end_of_the_negative_binomial() -> None:
    small, large = of("events ~ x"), of("events ~ x", family="negative_binomial")
    table = js.anova(small, large)
    assert table["flag"].tolist() == ["", BOUNDARY]
    assert table["df_difference"].iloc[1] == 1
    assert table["statistic"].iloc[1] == pytest.approx(2 * (large.loglik - small.loglik), abs=1e-9)
