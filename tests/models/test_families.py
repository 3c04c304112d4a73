"""Each family's record against its own definition, and the negative binomial family against R and statsmodels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import nbinom

import judgestats as js
from judgestats.errors import DesignError, FitError
from judgestats.kernels import likelihoods as lk
from judgestats.models.engines import ENGINES
from judgestats.models.families import FAMILIES, At
from judgestats.models.links import LINKS
from judgestats.models.threshold_sets import Partition
from models.reference import FOLDER, results, spelled, value
from refusals import refused

CASES = [(name, link) for name, own in FAMILIES.items() for link in own.links]
SHAPES = {"gaussian": [0.7], "negative_binomial": [np.log(1.8)], "cumulative": [-0.8, 0.4, 1.1]}


def at(name: str, link: str, eta: float, n: int = 1) -> At:
    parameters = FAMILIES[name].thresholds(Partition({}, {}, ((),)), (), link, "free").names
    shape = np.tile(SHAPES.get(name, [0.3] * len(parameters)), (n, 1))
    predictors = (n, 3) if FAMILIES[name].per_class else n
    return At(LINKS[link], np.full(predictors, eta), shape, np.ones(n), np.ones(n), np.ones(n))


def support(name: str) -> np.ndarray:
    own = FAMILIES[name]
    counts = np.arange(2.0 if own.has_trials else 4.0 if own.ordered or own.per_class else 400.0)
    return counts if own.holds or own.categorical else np.linspace(-9, 9, 4001)


def probabilities(name: str, link: str, eta: float) -> tuple[np.ndarray, np.ndarray]:
    y = support(name)
    here = at(name, link, eta, len(y))
    p = np.exp(FAMILIES[name].loglik(here.link, y, here.eta[None], here.shape[None])[0])
    return y, p * (y[1] - y[0])


@pytest.mark.parametrize(("name", "link"), CASES)
def test_probabilities_add_up_and_have_the_mean_and_the_variance_of_the_record(name: str, link: str) -> None:
    own, eta = FAMILIES[name], 0.4
    y, p = probabilities(name, link, eta)
    assert p.sum() == pytest.approx(1, abs=1e-9)
    if own.per_class:
        np.testing.assert_allclose(np.log(p[1:] / p[0]), eta, rtol=1e-12)
    elif not own.ordered:
        mean = y @ p
        assert mean == pytest.approx(LINKS[link].inverse(np.array([eta]))[0], rel=1e-9)
        here = at(name, link, eta)
        assert (y - mean) ** 2 @ p == pytest.approx(own.variance(np.array([mean]), here.shape)[0], rel=1e-8)


@pytest.mark.parametrize(("name", "link"), CASES)
def test_draws_have_these_probabilities_alone_and_summed(name: str, link: str) -> None:
    own, rng = FAMILIES[name], np.random.default_rng(1)
    y, p = probabilities(name, link, 0.4)
    mean, sd = y @ p, np.sqrt((y**2) @ p - (y @ p) ** 2)
    drawn = own.draw(rng, at(name, link, 0.4, 20_000))
    assert drawn.mean() == pytest.approx(mean, abs=4 * sd / 141)
    assert drawn.std() == pytest.approx(sd, rel=0.05)
    here = at(name, link, 0.4, 4000)
    sums = own.draw_sums(rng, At(here.link, here.eta, here.shape, here.trials, np.full(4000, 5.0), here.weights))
    score = sums @ np.arange(sums.shape[1]) if own.ordered or own.per_class else sums[:, 0]
    assert score.mean() == pytest.approx(5 * mean, abs=4 * sd * np.sqrt(5 / 4000))
    assert score.std() == pytest.approx(sd * np.sqrt(5), rel=0.08)


@pytest.mark.parametrize(("name", "link"), [c for c in CASES if FAMILIES[c[0]].kernels])
def test_the_kernel_is_the_log_likelihood_less_its_constant(name: str, link: str) -> None:
    own, y = FAMILIES[name], support(name)[:4]
    here = at(name, link, -0.3, len(y))
    cuts = np.pad(here.shape, ((0, 0), (1, 1)), constant_values=((0, 0), (-np.inf, np.inf)))
    row = np.arange(len(y))
    place = y.astype(int) if own.ordered else np.zeros(len(y), int)
    hi, lo = cuts[row, place + 1], cuts[row, place]
    kind = own.kernels[link]
    loss = lk.losses(kind, y, here.trials, here.eta, hi, lo)[0] + lk.apart(kind, here.trials, hi, lo)[0]
    wanted = own.loglik(here.link, y, here.eta[None], here.shape[None])[0]
    np.testing.assert_allclose(own.constant(y, here.trials) - loss, wanted, rtol=1e-10, atol=1e-12)


def test_engines_of_the_records_exist_and_each_fits_some_family() -> None:
    assert {e for own in FAMILIES.values() for e in own.engines} == set(ENGINES)


@pytest.mark.parametrize("link", LINKS)
def test_a_link_is_undone_by_its_other_way_and_averages_to_it_without_variance(link: str) -> None:
    own, eta = LINKS[link], np.linspace(-2, 2, 9)
    np.testing.assert_allclose(own.forward(own.inverse(eta)), eta, atol=1e-12)
    np.testing.assert_allclose(own.average(eta, 0 * eta)[0], own.inverse(eta), rtol=1e-12)


# ---- Negative binomial ----------------------------------------------------------------------------------------------


def counts() -> pd.DataFrame:
    return pd.read_csv(FOLDER / "counts.csv")


FORMULAS = {
    "plain": "y ~ strategy + x",
    "item": "y ~ strategy + x + (1|item)",
    "crossed": "y ~ strategy + x + (1|item) + (1|judge)",
}


@pytest.mark.parametrize("model", FORMULAS)
def test_negative_binomial_is_that_of_glmmtmb(model: str) -> None:
    fit = js.fit(FORMULAS[model], counts(), family="negative_binomial", n_quadrature=1)
    assert fit.loglik == pytest.approx(
        value("negative_binomial", model=model, engine="glmmTMB", quantity="loglik"), abs=1e-4
    )
    own = fit.tidy().set_index("term")
    for row in results("negative_binomial", model=model, engine="glmmTMB").to_dict("records"):
        if row["quantity"] not in ("fixed", "log_size", "sd"):
            continue
        term = {"log_size": "log(size)", "sd": f"sd(Intercept|{row['group']})"}.get(row["quantity"])
        term = term or spelled(row["term"], ["strategy"])
        assert own.loc[term, "estimate"] == pytest.approx(row["estimate"], abs=1e-4)
        if row["std_error"] == row["std_error"]:
            assert own.loc[term, "std_error"] == pytest.approx(row["std_error"], rel=1e-3)


def test_negative_binomial_without_random_effects_is_that_of_glm_nb_and_statsmodels() -> None:
    import statsmodels.api as sm

    table = counts()
    fit = js.fit(FORMULAS["plain"], table, family="negative_binomial")
    assert np.exp(fit.coef()["log(size)"]) == pytest.approx(
        value("negative_binomial", model="plain", engine="glm.nb", quantity="size"), rel=1e-5
    )
    X = np.column_stack([np.ones(len(table)), table["strategy"] == "S8", table["x"]]).astype(float)
    theirs = sm.NegativeBinomial(table["y"], X).fit(disp=False, maxiter=200)
    np.testing.assert_allclose(fit.beta, theirs.params[:3], rtol=1e-4)
    assert np.exp(-fit.tau[0]) == pytest.approx(theirs.params.iloc[3], rel=1e-4)
    assert fit.loglik == pytest.approx(theirs.llf, abs=1e-6)


def test_a_tally_of_counts_is_the_same_fit() -> None:
    table = counts()
    tally = table.groupby(["strategy", "y"], as_index=False).size().rename(columns={"size": "times"})
    one = js.fit("y ~ strategy", table, family="negative_binomial")
    two = js.fit("y ~ strategy", tally, family="negative_binomial", counts="times")
    np.testing.assert_allclose(two.params, one.params, rtol=1e-7)
    assert two.loglik == pytest.approx(one.loglik, rel=1e-12)
    assert (one.n, two.n) == (320, 320)


def test_counts_that_are_poisson_have_the_poisson_fit() -> None:
    rng = np.random.default_rng(3)
    table = pd.DataFrame(
        {"y": rng.binomial(6, 0.5, 300), "g": rng.integers(0, 2, 300).astype(str)}
    )  # less than Poisson
    fit, poisson = (js.fit("y ~ g", table, family=f) for f in ("negative_binomial", "poisson"))
    np.testing.assert_allclose(fit.beta, poisson.beta, rtol=1e-5)
    assert fit.loglik == pytest.approx(poisson.loglik, abs=1e-3)


@pytest.mark.parametrize(
    ("y", "size"), [(0, 2.0), (3, 1e-3), (50, 0.4), (50, 300.0), (4000, 2.5), (4000, 1e9), (21, 1e12)]
)
def test_large_counts_and_sizes_keep_their_digits(y: int, size: float) -> None:
    mean = max(y, 1) * 1.1
    got = lk.loss(lk.FAMILIES[lk.NEGATIVE_BINOMIAL_LOG], float(y), 1.0, np.log(mean), np.log(size), -np.inf)[0]
    from math import fsum, log, log1p

    p = [log(size + j) for j in range(y)]
    wanted = fsum([*p, -y * log(size), y * log(mean), -(y + size) * log1p(mean / size)])
    assert -got == pytest.approx(wanted, rel=1e-10, abs=1e-6 if size > 1e6 else 1e-9)
    if size < 1e6:
        from scipy.special import gammaln

        theirs = nbinom.logpmf(y, size, size / (size + mean)) + gammaln(y + 1)
        assert -got == pytest.approx(theirs, rel=1e-9, abs=1e-9)


@pytest.fixture(scope="module")
def fitted() -> js.models.Fit:
    return js.fit(FORMULAS["item"], counts(), family="negative_binomial")


def test_every_verb_knows_a_negative_binomial_fit(fitted: js.models.Fit) -> None:
    assert "Dispersion, variance = mean + mean²/size" in fitted.summary()
    assert fitted.tidy(exponentiate=True).set_index("term").loc["strategy[S8]", "scale"] == "rate ratio"
    means = fitted.means("strategy", scale="response", random="average")
    assert (means["estimate"] > 0).all()
    ratio = fitted.contrasts("strategy", scale="rate ratio")["estimate"].iloc[0]
    assert max(ratio, 1 / ratio) == pytest.approx(np.exp(fitted.coef()["strategy[S8]"]))
    residuals = fitted.augment()
    sd = np.sqrt(residuals["fitted"] + residuals["fitted"] ** 2 / np.exp(fitted.tau[0]))
    np.testing.assert_allclose(residuals["pearson"], residuals["residual"] / sd, rtol=1e-10)
    profile = fitted.confint(method="profile", terms="log(size)").iloc[0]
    assert profile["conf_low"] < fitted.tau[0] < profile["conf_high"]
    drawn = fitted.simulate(3, seed=1).filter(like="sim_")
    assert drawn.dtypes.eq("int64").all()
    components = fitted.variance_components().set_index("term")
    eta = fitted.design.X @ fitted.beta
    mean = np.average(np.exp(eta + fitted.covariances()[0][0, 0] / 2), weights=fitted.design.count)
    assert components.loc["residual", "variance"] == pytest.approx(np.log1p(1 / mean + np.exp(-fitted.tau[0])))


def test_what_is_no_count_and_other_engines_are_refused() -> None:
    table = counts().assign(half=0.5)
    refused(
        DesignError,
        (
            lambda: js.fit("half ~ 1", table, family="negative_binomial"),
            "counts: whole numbers from 0; 'half' holds 0",
        ),
        (lambda: js.fit("y ~ 1", table, family="negative_binomial", engine="glm"), FitError, "Engines for it: ml"),
    )
