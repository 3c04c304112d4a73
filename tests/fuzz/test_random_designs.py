"""Random small designs, many of them degenerate: each fit ends within its bound, in a fit or in an error of ours."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from fuzz.limits import within
from judgestats.models.engines import ENGINES
from judgestats.models.families import FAMILIES

TERMS = ("x", "x + s", "1", "x * s", "x + (1|g)", "x + (1|g) + (1|h)", "x + (x|g)", "s + (0 + x|g)", "(1|g/h)")
#: More seconds than any of these fits may take, on a busy machine.
STOP = 60


def design(seed: int) -> tuple[str, pd.DataFrame]:
    """A formula, and 2 to 60 rows: constant, separated or alike answers, one group, groups of one, a column of zeros."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 61))
    groups = {"one": np.zeros(n, int), "own": np.arange(n), "some": rng.integers(0, max(n // 4, 1), n)}
    x = rng.choice([rng.normal(size=n), np.zeros(n), rng.integers(0, 2, n), 1e6 + rng.normal(size=n)])
    table = pd.DataFrame({"x": x, "s": rng.choice([*"abc"], n), "h": rng.integers(0, 3, n).astype(str)})
    table["g"] = groups[str(rng.choice([*groups]))].astype(str)
    latent = (
        x * rng.choice([0, 1, 20])
        + rng.normal(size=n)
        + rng.normal(size=n)[table["g"].astype(int)] * rng.choice([0, 3])
    )
    ends = ("free", "constant", "separated", "alike")
    kind = rng.choice(ends)
    score = {
        "free": latent,
        "constant": np.zeros(n),
        "separated": np.sign(x),
        "alike": np.where(table["g"] == "0", 9.0, latent),
    }
    table["score"] = score[kind]
    table["yes"] = (table["score"] > 0).astype(int)
    table["count"] = np.floor(np.abs(table["score"])).clip(upper=10**6).astype(int)
    table["level"] = pd.Categorical(np.digitize(table["score"], [-1.0, 0.5, 2.0]), ordered=True)
    table["class"] = table["level"].astype(str).map("c{}".format)
    return TERMS[seed % len(TERMS)], table


ANSWER = {
    "binomial": "yes",
    "gaussian": "score",
    "poisson": "count",
    "negative_binomial": "count",
    "cumulative": "level",
    "nominal": "class",
}
MANY = [pytest.param(seed, marks=[pytest.mark.slow] * (seed >= 20)) for seed in range(300)]


@pytest.mark.parametrize("seed", MANY)
def test_every_fit_ends(seed: int) -> None:
    terms, table = design(seed)
    for name, family in FAMILIES.items():
        for engine in sorted({*family.engines} & {*ENGINES} - {"pymc"}):
            options = {"cluster": "g"} if engine == "gee" else {}
            formula = f"{ANSWER[name]} ~ {terms}"
            with within(STOP, f"{formula}, {name}, {engine}, design {seed}"), warnings.catch_warnings():
                warnings.simplefilter("error")
                try:
                    result = js.fit(formula, table, family=name, engine=engine, **options)
                    assert len(result.tidy()) >= 1
                    assert result.converged or result.glance()["flag"].iloc[0]
                except js.errors.JudgestatsError:
                    pass
