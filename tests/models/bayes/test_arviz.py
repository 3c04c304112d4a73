"""What ArviZ makes of our draws: its diagnostics, leave-one-out, comparisons and plots, by call and by cluster."""

from __future__ import annotations

import warnings
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from refusals import refused

pytest.importorskip("arviz_stats")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    az = pytest.importorskip("arviz")

import judgestats as js
from judgestats.errors import DesignError, FitError
from judgestats.models.bayes.draws import Draws
from judgestats.models.bayes.priors import priors
from judgestats.models.designs import design
from judgestats.models.estimation import as_fit
from judgestats.models.fitted_models import Fitted, Options
from judgestats.models.hierarchical.posteriors import Posterior, row, tabled
from judgestats.models.ml import fit_design
from judgestats.models.postestimation.posterior_summaries import SampledPosterior
from judgestats.models.specifications import Model

mpl.use("Agg")
ITEMS, CALLS = 12, 8
pytestmark = pytest.mark.filterwarnings("ignore")  # ArviZ's own


def binary_calls() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    item = np.repeat(np.arange(ITEMS), CALLS)
    p = 1 / (1 + np.exp(-0.4 - rng.normal(0, 0.8, ITEMS)[item]))
    return pd.DataFrame({"y": rng.binomial(1, p), "item": [f"q{i:02d}" for i in item], "x": np.tile([0.0, 1.0], 48)})


def stats(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {"diverging": rng.random((4, 250)) < 0.01, "energy": rng.normal(30, 2, (4, 250))}


def drawn(formula: str, data: pd.DataFrame | None = None) -> js.models.Fit:
    """A sampled fit without a sampler: draws about the likelihood's own estimates."""
    own = design(formula, binary_calls() if data is None else data, family="binomial")
    model, rng = Model(own, "binomial", "logit"), np.random.default_rng(1)
    found = fit_design(model)
    spread = np.linalg.cholesky(np.nan_to_num(found.covariance) + 1e-9 * np.eye(found.df))
    values = {"parameters": found.params + rng.standard_normal((4, 250, found.df)) @ spread.T}
    labels = {"parameters": (model.parameter_names,)}
    for t, term in enumerate(own.terms):
        b = found.effects().modes[t] + 0.3 * rng.standard_normal((4, 250, len(term.levels), len(term.names)))
        values[f"effects {t}"], labels[f"effects {t}"] = b, (term.levels, term.names)
    draws = Draws(values, labels, 3, "posterior, NUTS", stats=stats(rng))
    about = Options(posterior=SampledPosterior(draws, priors(own, "binomial", "logit", model.thresholds, None)))
    return as_fit(Fitted(model, "pymc", draws.method, found.params, found.covariance, options=about))


@pytest.fixture(scope="module")
def fit() -> js.models.Fit:
    return drawn("y ~ x + (1|item)")


def group(data, name: str):
    return data[name]


def test_the_posterior_has_the_rows_of_tidy_and_the_random_effects(fit: js.models.Fit) -> None:
    posterior = group(fit.to_arviz(), "posterior")
    for term in fit.tidy()["term"]:
        np.testing.assert_array_equal(posterior[term].values.ravel(), fit.draws()[term])
    assert posterior["effects(Intercept|item)"].sel({"item level": "q03"}).shape == (4, 250, 1)
    assert int(group(fit.to_arviz(), "sample_stats")["diverging"].sum()) > 0


@pytest.mark.parametrize("unit", ["call", "item"])
def test_leave_one_out_by_arviz_is_ours(fit: js.models.Fit, unit: str) -> None:
    ours, theirs = fit.loo(unit).iloc[0], az.loo(fit.to_arviz(unit))
    value = theirs.elpd_loo if hasattr(theirs, "elpd_loo") else theirs.elpd
    assert value == pytest.approx(ours["elpd_loo"], abs=0.02)
    assert theirs.n_data_points == ours["n"] == {"call": ITEMS * CALLS, "item": ITEMS}[unit]


def test_counted_calls_are_calls(fit: js.models.Fit) -> None:
    tally = binary_calls().groupby(["item", "x"], as_index=False)["y"].agg(k="sum", n="size")
    counted = drawn("cbind(k, n - k) ~ x + (1|item)", tally)
    one, two = (group(f.to_arviz(), "log_likelihood")["call"].values for f in (fit, counted))
    assert one.shape == two.shape == (4, 250, ITEMS * CALLS)
    assert np.sort(group(counted.to_arviz(), "observed_data")["call"].values).tolist() == sorted(binary_calls()["y"])


def test_compare_works_on_one_unit_and_refuses_two(fit: js.models.Fit) -> None:
    null = drawn("y ~ 1 + (1|item)")
    ranked = az.compare({"x": fit.to_arviz("item"), "null": null.to_arviz("item")})
    assert set(ranked.index) == {"x", "null"}
    with pytest.raises(ValueError, match=r"(?i)observations|data points|same"):
        az.compare({"x": fit.to_arviz("item"), "null": null.to_arviz("call")})


def test_what_has_no_chains_or_no_such_unit_is_refused(fit: js.models.Fit, monkeypatch) -> None:
    refused(
        DesignError,
        (lambda: fit.to_arviz("items"), "Did you mean 'item'"),
        (lambda: js.fit("y ~ x", binary_calls()).to_arviz(), FitError, "has no posterior draws"),
    )
    monkeypatch.setattr("judgestats.models.postestimation.crossvalidation.MOST_LOGLIK", 1000)
    with pytest.raises(DesignError, match="Name a grouping factor"):
        fit.to_arviz()
    fit.to_arviz("item")


def posterior(**more) -> Posterior:
    rng = np.random.default_rng(2)
    values = {"level": rng.normal(size=(4, 250)), "effect": rng.normal(size=(4, 250, 2, 3))}
    labels = {"level": (), "effect": (("a", "b"), ("S1", "S2", "S3"))}
    draws = Draws(values, labels, 0, "posterior, NUTS", stats=stats(rng), **more)
    frame = tabled([row("level", values["level"], draws, conf_level=0.95, n=10)], [])
    return Posterior("What?", frame, pd.DataFrame(), pd.DataFrame(columns=["what", "value", "flag", "remedy"]), draws)


def test_a_hierarchical_posterior_too() -> None:
    found = posterior()
    data = group(found.to_arviz(), "posterior")
    assert data["effect"].dims == ("chain", "draw", "effect 1", "effect 2")
    np.testing.assert_array_equal(data["effect"].sel({"effect 1": "b", "effect 2": "S3"}).values.ravel(),
                                  found.draws()["effect[b, S3]"])  # fmt: skip
    assert found.draws().columns[:3].tolist() == ["chain", "draw", "level"]
    row = found.glance().iloc[0]
    assert (row["chains"], row["draws"], row["n_estimates"]) == (4, 250, 1)
    assert row["rhat"] < 1.05
    with pytest.raises(FitError, match="needs chains"):
        replace(found, posterior=replace(found.posterior, stats={})).to_arviz()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["plot_trace", "plot_forest", "plot_energy", "plot_rank", "plot_ess"])
@pytest.mark.parametrize("made", ["fit", "posterior"])
def test_arviz_draws_it(fit: js.models.Fit, name: str, made: str) -> None:
    if not hasattr(az, name):
        pytest.skip(f"no {name} here")
    data = fit.to_arviz() if made == "fit" else posterior().to_arviz()
    given = {} if name == "plot_energy" else {"var_names": ["x"] if made == "fit" else ["level"]}
    assert getattr(az, name)(data, **given) is not None


# ---- One shape of results -------------------------------------------------------------------------------------------


def test_fits_bias_models_and_posteriors_have_one_shape(fit: js.models.Fit) -> None:
    calls = (
        binary_calls()
        .rename(columns={"y": "correct"})
        .assign(strategy=lambda t: np.where(t["x"] > 0, "S8", "B0"), judge="j")
    )
    model = js.models.strategy_effects(calls, baseline="B0")
    for result in (fit, js.fit("y ~ x", binary_calls()), model, posterior()):
        assert isinstance(result.tidy(), pd.DataFrame)
        assert "estimate" in result.tidy()
        assert isinstance(result.summary(), str)
        assert len(result.glance()) == (len(model.fits) if result is model else 1)
        assert isinstance(result.check(), pd.DataFrame)
    assert set(model.glance()["fit"]) == set(model.fits)
    assert model.check().columns[0] == "fit"
    result = model.tidy()
    result.loc[:, "estimate"] = 0.0
    assert not (model.table["estimate"] == 0).all()
