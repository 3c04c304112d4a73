"""A posterior of rows written by hand, and exact draws of a normal mean."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import stats

from judgestats.models.bayes.centred_priors import CentredPrior
from judgestats.models.bayes.draws import Draws, TopParameter
from judgestats.models.hierarchical.posterior_checks import finding
from judgestats.models.hierarchical.posteriors import Posterior, prior_table, tabled

PRIORS = prior_table({"mean": ("normal(0, 1)", "a mean"), "sd_item": ("half-normal(1)", "a spread")})


def normal_draws(scale, mean, error, size=20_000):
    """Draws of a normal mean, exact: prior normal(0, scale), data normal(mean, error)."""
    weight = scale**2 / (scale**2 + error**2)
    even = np.random.default_rng(0).permutation(stats.norm.ppf((np.arange(size) + 0.5) / size))
    values = (weight * mean + np.sqrt(weight) * error * even).reshape(4, -1)
    top = TopParameter("x", values, CentredPrior(scale, None, half=False))
    return Draws(
        {"x": values},
        {"x": ()},
        0,
        "exact",
        top_parameters=(top,),
        log_likelihood=-(((values - mean) / error) ** 2) / 2,
    )


def posterior(rows=3, flag="", checks=None, **more):
    table = [{"judge": f"j{i}", "term": "x", "estimate": i + 0.12345, "flag": flag, **more} for i in range(rows)]
    findings = pd.DataFrame(checks or [finding("divergences", 0.0)])
    return Posterior("What is it?", tabled(table, ["judge"]), PRIORS, findings, Draws({}, {}, 0, "by hand"))
