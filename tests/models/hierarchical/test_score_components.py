"""Variance components and ICC with posterior intervals: against REML, PyMC, coverage, and where nothing can be said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from refusals import refused

pytest.importorskip("arviz_stats")

from judgestats.errors import DesignError
from judgestats.models.bayes.centred_priors import CentredPrior
from judgestats.models.hierarchical.score_components import (
    Scores,
    agreement,
    correlations,
    model,
    posterior,
    prior_draw,
)


def crossed(items: int, judges: int, seed: int = 0, sds: tuple[float, float, float] = (1.0, 0.5, 0.7)) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    subject, judge = rng.normal(0, sds[0], items), rng.normal(0, sds[1], judges)
    y = 6 + subject[:, None] + judge + rng.normal(0, sds[2], (items, judges))
    keys = pd.MultiIndex.from_product([range(items), range(judges)], names=["item", "judge"]).to_frame(index=False)
    return keys.astype(str).assign(system="s", score=y.ravel())


def named(found: pd.DataFrame) -> pd.DataFrame:
    return found.set_index("term")


@pytest.mark.slow
def test_many_data_give_reml() -> None:
    table = crossed(150, 25)
    found = named(agreement(table).tidy())
    reml = named(js.variance_components(table, facets=["item", "judge"], interactions=False))
    for ours, theirs in (("subject", "item"), ("judge", "judge"), ("residual", "residual")):
        gap = found.loc[ours, "median"] - reml.loc[theirs, "estimate"]  # a variance is skewed: its mean lies higher
        assert abs(gap) < 0.35 * found.loc[ours, "std_error"]
        assert found.loc[ours, "std_error"] == pytest.approx(reml.loc[theirs, "std_error"], rel=0.4)
    icc = named(js.icc(table, subjects="item", incomplete="reml"))
    for term in ("ICC(1,1)", "ICC(2,1)", "ICC(3,1)", "ICC(2,k)"):
        assert found.loc[term, "estimate"] == pytest.approx(icc.loc[term, "estimate"], abs=0.02)
        assert found.loc[term, "conf_low"] == pytest.approx(icc.loc[term, "conf_low"], abs=0.035)
        assert found.loc[term, "conf_high"] == pytest.approx(icc.loc[term, "conf_high"], abs=0.035)
    assert not found["flag"].str.contains("prior-driven").any()


@pytest.mark.slow
def test_incomplete_design() -> None:
    table = crossed(120, 12, seed=4).sample(frac=0.5, random_state=2)
    found = named(agreement(table).tidy())
    icc = named(js.icc(table, subjects="item", incomplete="reml"))
    for term in ("ICC(1,1)", "ICC(2,1)", "ICC(3,1)"):
        assert found.loc[term, "estimate"] == pytest.approx(icc.loc[term, "estimate"], abs=0.04)
    assert found["flag"].str.contains("incomplete design").all()
    assert found.loc["residual", "n"] == len(table)


@pytest.mark.slow
def test_facets() -> None:
    parts = [
        crossed(60, 8, seed=7).assign(criterion=c, shift=s)
        for c, s in zip("abcdefghij", np.linspace(-3, 3, 10), strict=True)
    ]
    rng = np.random.default_rng(0)
    table = (
        pd.concat(parts)
        .assign(score=lambda t: t["score"] + t["shift"] + rng.normal(0, 0.5, len(t)))
        .drop(columns="shift")
    )
    found = named(agreement(table, facets="criterion", sampling={"draws": 1000}).tidy())
    reml = named(js.variance_components(table, facets=["item", "judge", "criterion"], interactions=False))
    assert found.loc["criterion", "median"] == pytest.approx(reml.loc["criterion", "estimate"], rel=0.35)
    assert found.loc["residual", "estimate"] == pytest.approx(reml.loc["residual", "estimate"], rel=0.02)
    assert "ICC(1,1)" not in found.index


def test_of_sds() -> None:
    made = correlations({"subject": np.array(2.0), "judge": np.array(1.0), "residual": np.array(1.0)}, 2)
    assert [float(v) for v in made.values()] == pytest.approx([4 / 6, 4 / 5, 4 / 5])


@pytest.mark.slow
@pytest.mark.full
def test_intervals_cover() -> None:
    """Calibration: truth drawn from the prior lies in the 80 % interval four times of five."""
    priors = {
        n: CentredPrior(s, None, n != "level")
        for n, s in (("level", 3.0), ("subject", 1.0), ("judge", 0.6), ("residual", 1.0))
    }
    codes = {"subject": np.repeat(np.arange(12), 4), "judge": np.tile(np.arange(4), 12)}
    rng, inside = np.random.default_rng(0), []
    for k in range(60):
        truth, y = prior_draw(Scores(np.zeros(48), codes), priors, rng)
        found = posterior(Scores(y, codes), priors, draws=400, seed=k)
        ends = {n: np.quantile(found.flat(n), [0.1, 0.9]) for n in priors}
        inside.append([ends[n][0] < truth[n] < ends[n][1] for n in priors])
    share = np.mean(inside, axis=0)
    assert (np.abs(share - 0.8) < 3.3 * np.sqrt(0.16 / 60)).all()
    assert abs(np.mean(inside) - 0.8) < 0.09


@pytest.mark.slow
def test_equals_the_sampled_model() -> None:
    pytest.importorskip("pymc")
    from judgestats.models.bayes.sampling import sample

    codes = {"subject": np.repeat(np.arange(15), 4), "judge": np.tile(np.arange(4), 15)}
    priors = {
        n: CentredPrior(s, d, n != "level")
        for n, s, d in (("level", 3.0, None), ("subject", 1.0, None), ("judge", 0.6, 3.0), ("residual", 1.0, None))
    }
    _, y = prior_draw(Scores(np.zeros(60), codes), priors, np.random.default_rng(5))
    data = Scores(y, codes)
    sampled = sample(
        model(data, priors),
        dict.fromkeys(priors, ()),
        draws=800,
        tune=600,
        chains=2,
        target_accept=0.95,
        progress=False,
    )
    theirs, ours = (
        sampled.summary().set_index("term"),
        posterior(data, priors, draws=4000).summary().set_index("term").loc[list(priors)],
    )
    error = theirs["std_error"] * np.sqrt(1 / theirs["ess_bulk"] + 1 / 2000)
    assert (np.abs(theirs["estimate"] - ours["estimate"]) < 4 * error).all()


@pytest.mark.slow
def test_equals_the_closed_form_of_a_balanced_table() -> None:
    """Independent of the engine: mean squares are independent given the sds; the prior is weighted by their law."""
    codes = {"subject": np.repeat(np.arange(15), 4), "judge": np.tile(np.arange(4), 15)}
    scales = (("level", 3.0, None), ("subject", 1.0, None), ("judge", 0.6, 3.0), ("residual", 1.0, None))
    priors = {n: CentredPrior(s, d, n != "level") for n, s, d in scales}
    _, y = prior_draw(Scores(np.zeros(60), codes), priors, np.random.default_rng(5))
    rng = np.random.default_rng(0)
    p = {n: priors[n].draw(rng, 1_000_000) for n in priors}
    Y, (n, k) = y.reshape(15, 4), (15, 4)
    rows, columns, g = Y.mean(axis=1), Y.mean(axis=0), Y.mean()
    squares = (
        k * ((rows - g) ** 2).sum(),
        n * ((columns - g) ** 2).sum(),
        ((Y - rows[:, None] - columns + g) ** 2).sum(),
    )
    e, a, b = p["residual"] ** 2, k * p["subject"] ** 2, n * p["judge"] ** 2
    loss = sum(
        df * np.log(v) + q / v
        for df, v, q in zip((n - 1, k - 1, (n - 1) * (k - 1)), (e + a, e + b, e), squares, strict=True)
    )
    loss += np.log(e + a + b) + n * k * (g - p["level"]) ** 2 / (e + a + b)
    weight = np.exp((loss.min() - loss) / 2)
    found = posterior(Scores(y, codes), priors, draws=8000)
    for name in priors:
        order = np.argsort(p[name])
        at = np.cumsum(weight[order]) / weight.sum()
        exact = p[name][order][np.searchsorted(at, [0.1, 0.5, 0.9])]
        assert np.quantile(found.flat(name), [0.1, 0.5, 0.9]) == pytest.approx(exact, rel=0.05, abs=0.03)


@pytest.mark.slow
def test_prior_driven_and_priors_shown() -> None:
    table = crossed(40, 2, sds=(1.0, 0.0, 0.7))
    told = agreement(table, priors={"judge": 0.02}, sampling={"draws": 1000})
    assert "prior-driven" in named(told.tidy()).loc["judge", "flag"]
    assert "prior-driven" in named(told.tidy()).loc["ICC(2,1)", "flag"]
    assert "prior-driven" not in named(told.tidy()).loc["ICC(3,1)", "flag"]
    assert told.priors.set_index("parameter").loc["judge", "prior"] == "half-normal(0.02)"
    assert (
        agreement(table, priors={"judge": (0.5, 3)}, sampling={"draws": 400}).priors["prior"].tolist()[2]
        == "half-t(3, 0.5)"
    )
    assert (told.checks["flag"] == "").all()
    assert "1 estimate: prior-driven" not in set(told.check()["what"])  # the judges, ICC(2,1) and ICC(2,k)
    assert "3 estimates: prior-driven" in set(told.check()["what"])


@pytest.mark.slow
def test_a_prior_that_did_not_foresee_the_spread_of_judges() -> None:
    table = crossed(20, 12, sds=(1.0, 2.0, 0.5))
    told = agreement(table, priors={"judge": 0.1}, sampling={"draws": 1000})
    assert "prior and data disagree" in named(told.tidy()).loc["judge", "flag"]
    assert "prior and data disagree" in named(told.tidy()).loc["ICC(2,1)", "flag"]
    assert told.check().set_index("what").loc["tail area of judge under its prior", "value"] < 0.01
    assert not agreement(table, sampling={"draws": 1000}).check()["flag"].str.contains("disagree").any()


def test_row_order_and_engine() -> None:
    table = crossed(20, 4)
    one, two = (
        agreement(table, sampling={"draws": 400}),
        agreement(table.sample(frac=1, random_state=0), sampling={"draws": 400}),
    )
    pd.testing.assert_frame_equal(one.tidy(), two.tidy())
    polars = pytest.importorskip("polars")
    pd.testing.assert_frame_equal(one.tidy(), agreement(polars.from_pandas(table), sampling={"draws": 400}).tidy())


@pytest.mark.parametrize(
    ("change", "flag"),
    [
        (lambda t: t.assign(score=5.0), "constant scores"),
        (lambda t: t[t["judge"] == "0"], "one rater"),
        (lambda t: t[t["item"] == "0"], "one subject"),
        (lambda t: t.assign(score=t["item"].astype(float) + t["judge"].astype(float)), "no residual variance"),
    ],
)
def test_nothing_to_say(change: object, flag: str) -> None:
    found = agreement(change(crossed(6, 3))).tidy()  # type: ignore[operator]
    assert found["estimate"].isna().all()
    assert (found["flag"] == flag).all()


def test_refusals() -> None:
    table = crossed(6, 3)
    refused(
        DesignError,
        ({"subjects": "item", "facets": "item"}, "used twice"),
        ({"priors": {"item": 1.0}}, "not a parameter"),
        ({"priors": {"level": (1.0, 3)}}, "one number"),
        of=lambda options: agreement(table, **options),
    )
