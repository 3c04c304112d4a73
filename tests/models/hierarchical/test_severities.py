"""Severity, quality, taste and self-preference: the paper's means, recovery, PyMC, bad input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import DesignError
from judgestats.models.bayes.centred_priors import CentredPrior
from judgestats.models.hierarchical.crossed import (
    EFFECTS,
    FIXED,
    CrossedMeans,
    default_priors,
    effects,
    model,
    posterior,
    prior_draw,
    replicated,
)
from judgestats.models.hierarchical.severities import severity
from judgestats.published.paper_tables import MODELS, panel, scores
from refusals import refused

pytest.importorskip("arviz_stats")


@pytest.fixture(scope="module")
def merchant() -> js.models.hierarchical.posteriors.Posterior:
    return severity(scores(), reference=panel())


def priors(unit: float = 1.0) -> dict[str, CentredPrior]:
    return default_priors(EFFECTS, unit)


def small(C: int = 2, J: int = 4, S: int = 5, noise: float = 0.01) -> CrossedMeans:
    c, j, s = (a.ravel() for a in np.meshgrid(range(C), range(J), range(S), indexing="ij"))
    names = ("abcdefgh"[:J], "abcdefgh"[:S], "xy"[:C])
    return CrossedMeans(np.zeros(len(c)), np.full(len(c), noise), j, s, c, j == s, *map(tuple, names))


def get(found: pd.DataFrame, term: str, **where: str) -> pd.Series:
    part = found[found["term"] == term]
    for k, v in where.items():
        part = part[part[k] == v]
    assert len(part) == 1
    return part.iloc[0]


def test_merchant_risk_who_is_self_critical(merchant) -> None:
    """The paper calls GPT-5.1 and Claude self-critical; severity apart, it is likely of one, and sure of none."""
    table = merchant.tidy()
    below = {
        (j, c): 1 - get(table, "own_excess", judge=j, condition=c)["probability"]
        for j in MODELS
        for c in ("attributed", "anonymized")
    }
    assert below["GPT-5.1", "attributed"] == pytest.approx(0.88, abs=0.03)
    assert below["Claude 4.5 Sonnet", "attributed"] == pytest.approx(0.72, abs=0.04)
    assert below["Gemini 2.5 Pro", "attributed"] < 0.01 > below["Grok 4", "attributed"]
    assert get(table, "self_preference", judge="Claude 4.5 Sonnet", condition="attributed")[
        "probability"
    ] == pytest.approx(0.60, abs=0.05)


def test_merchant_risk_attenuation_is_not_shown(merchant) -> None:
    table = merchant.tidy()
    mean = get(table, "mean_attenuation")
    assert mean["conf_low"] < -0.1 < 0.1 < mean["conf_high"]
    assert 0.4 < mean["probability"] < 0.7
    assert "interval of the denominator includes 0" in get(table, "attenuation_ratio", judge="GPT-5.1")["flag"]
    assert "base not told" not in get(table, "excess_ratio", judge="Gemini 2.5 Pro")["flag"]
    assert (table.loc[table["term"] == "attenuation", "conf_low"] < 0).all()  # not clipped


def test_merchant_risk_checks(merchant) -> None:
    checks = merchant.check().set_index("what")
    assert checks.loc["mean scores inside the 95 % predictive", "value"] >= 0.9
    assert checks.loc["Pareto k of the importance weights", "value"] < 0.7
    assert (merchant.checks["flag"] == "").all()
    assert set(checks["flag"]) == {"", "interval of the denominator includes 0", "prior-driven"}
    table = merchant.tidy()
    # people are more severe than every judge's posterior mean: the paper's +0.46
    part = table[(table["term"] == "severity_to_reference")]
    assert (part["estimate"] < 0).all()
    quality = table[(table["term"] == "quality") & (table["condition"] == "attributed")].set_index("system")["estimate"]
    order = scores().query("condition == 'attributed'").groupby("system")["mean"].mean()
    assert quality.idxmax() == order.idxmax() == "Claude 4.5 Sonnet"
    assert np.abs(quality - order[quality.index]).max() < 0.25
    deviations = js.consensus_deviation(scores(), by="condition").query("term == 'deviation' and own == True")
    excess = table[table["term"] == "own_excess"].set_index(["judge", "condition"])["estimate"]
    both = deviations.set_index(["judge", "condition"])["estimate"]
    assert np.corrcoef(both, excess[both.index])[0, 1] > 0.8


@pytest.mark.slow
def test_taste_keeps_from_false_certainty() -> None:
    """With taste all but forbidden, and nothing else to take it, intervals of the excess shrink."""
    table = scores()
    honest = severity(table, sampling={"draws": 500}).tidy()
    rigid = severity(table, sampling={"draws": 500}, priors={"taste": 1e-3, "taste_shift": 1e-3}).tidy()
    width = [get(t, "self_preference", judge="Grok 4", condition="attributed")["std_error"] for t in (honest, rigid)]
    assert width[1] < 0.8 * width[0]


@pytest.mark.slow
def test_recovery() -> None:
    """A judge that is generous to all is not self-preferring; one that favours itself is."""
    rng = np.random.default_rng(1)
    names = [f"m{k}" for k in range(8)]
    rows = [
        {"judge": j, "system": s, "condition": c, "sd": 0.2, "runs": 10,
         "mean": 6 + 0.3 * k + 1.5 * (j == "m0") + (1.0 if c == "attributed" else 0.2) * (j == s == "m1") + rng.normal(0, 0.08)}
        for c in ("attributed", "anonymized") for j in names for k, s in enumerate(names)
    ]  # fmt: skip
    table = severity(pd.DataFrame(rows)).tidy()
    at = {"judge": "m1", "condition": "attributed"}
    assert get(table, "severity", judge="m0", condition="attributed")["estimate"] == pytest.approx(
        -1.5 * 7 / 8, abs=0.12
    )
    assert abs(get(table, "own_excess", judge="m0", condition="attributed")["estimate"]) < 0.2
    assert get(table, "own_excess", **at)["estimate"] == pytest.approx(1.0, abs=0.2)
    change = get(table, "excess_attenuation", judge="m1")
    assert change["conf_low"] > 0.3
    assert change["probability"] > 0.99
    ratio = get(table, "excess_ratio", judge="m1")
    assert ratio["estimate"] == pytest.approx(0.2, abs=0.15)
    assert np.isnan(ratio["std_error"])


def five_judges(seed: int, mean: float = 0.5) -> pd.DataFrame:
    """Means of five judges, each of which is one of the five systems and gives itself so much more on average."""
    rng = np.random.default_rng([5, seed])
    leniency, quality = 0.5 * rng.standard_normal((2, 5))
    scores = 5 + leniency[:, None] + quality + 0.2 * rng.standard_normal((5, 5))
    scores += np.diag(mean + 0.2 * rng.standard_normal(5)) + 0.2 * rng.standard_normal((5, 5))
    rows = [(f"m{j}", f"m{s}", x) for (j, s), x in np.ndenumerate(scores)]
    return pd.DataFrame(rows, columns=["judge", "system", "mean"]).assign(sd=0.2 * 10**0.5, runs=10)


def contrast(table: pd.DataFrame) -> float:
    """Least squares of self-preference: what the own cells have beyond row and column."""
    grid = table.pivot(index="judge", columns="system", values="mean").to_numpy()
    rest = grid - grid.mean(axis=0) - grid.mean(axis=1, keepdims=True) + grid.mean()
    return float(np.diag(rest).mean() / (1 - 1 / len(grid)))


@pytest.mark.slow
def test_the_mean_self_preference_of_five_judges_is_not_shrunk() -> None:
    """Within 5 % of least squares; a prior of half the sd of the scores took a fifth of it, and says so where given."""
    tables = [five_judges(k) for k in range(12)]
    plain = np.mean([contrast(t) for t in tables])
    found = [severity(t, sampling={"draws": 250}, sampled=False).tidy() for t in tables]
    rows = [get(t, "mean_self_preference") for t in found]
    assert np.mean([r["estimate"] for r in rows]) == pytest.approx(plain, rel=0.05)
    assert np.mean(["prior-driven" in r["flag"] for r in rows]) < 0.2
    tight = [
        severity(t, sampling={"draws": 250}, sampled=False, priors={"mean_self": t["mean"].std() / 2}).tidy()
        for t in tables
    ]
    narrow = [get(t, "mean_self_preference") for t in tight]
    assert np.mean([r["estimate"] for r in narrow]) < 0.9 * plain
    assert np.mean(["prior-driven" in r["flag"] for r in narrow]) > 0.5


def test_a_prior_that_did_not_foresee_the_data_says_so() -> None:
    found = severity(five_judges(0, mean=2.0), sampling={"draws": 250}, sampled=False, priors={"mean_self": 0.1})
    row = get(found.tidy(), "mean_self_preference")
    assert "prior and data disagree" in row["flag"]
    check = found.check().set_index("what").loc["tail area of mean_self under its prior"]
    assert check["value"] < 0.01
    assert "priors=" in check["remedy"]
    sound = severity(five_judges(0), sampling={"draws": 250}, sampled=False).check().set_index("what")
    assert sound.loc["smallest tail area under a prior", "flag"] == ""


def test_conditional_effects_equal_the_normal_formula() -> None:
    """Mean and sd of the effects given known sds, against the formula with matrices written out."""
    data, own = small(1, 3, 3), priors()
    _, y = prior_draw(data, own, np.random.default_rng(0))
    data = CrossedMeans(
        y,
        *(
            getattr(data, k)
            for k in ("noise", "judge", "system", "condition", "own", "judges", "systems", "conditions")
        ),
    )
    from judgestats.models.bayes.draws import Draws

    sds = Draws({n: np.full((1, 20000), 0.5) for n in data.sds}, {}, 0, "")
    found = effects(data, own, sds)
    blocks, D = [], []
    for name, (code, size) in data.groups.items():
        Z = np.zeros((len(y), size))
        Z[code >= 0, code[code >= 0]] = 1
        blocks.append(Z)
        D += [(own[name].scale if name in FIXED else 0.5) ** 2] * size
    Z, D = np.hstack(blocks), np.diag(D)
    K = Z @ D @ Z.T + np.diag(data.noise)
    mean, cov = D @ Z.T @ np.linalg.solve(K, y), D - D @ Z.T @ np.linalg.solve(K, Z @ D)
    flat = np.hstack([found[n][0] for n in data.groups])
    assert np.abs(flat.mean(axis=0) - mean).max() < 0.04
    assert np.abs(np.cov(flat.T) - cov).max() < 0.06


@pytest.mark.slow
def test_calibration() -> None:
    """Truth drawn from the prior lies in the 80 % interval four times of five, sds and effects."""
    data, own, rng, inside = small(), priors(), np.random.default_rng(0), []
    for k in range(40):
        truth, y = prior_draw(data, own, rng)
        seen = CrossedMeans(
            y,
            *(
                getattr(data, n)
                for n in ("noise", "judge", "system", "condition", "own", "judges", "systems", "conditions")
            ),
        )
        sds = posterior(seen, own, draws=600, seed=k)
        made = effects(seen, own, sds, seed=k)
        pairs = [(truth[n], sds.flat(n)) for n in data.sds]
        pairs += [(truth[f"{n}_effect"][0], made[n][..., 0].ravel()) for n in ("judge", "system", "self", "self_shift")]
        inside.append([np.quantile(d, 0.1) < t < np.quantile(d, 0.9) for t, d in pairs])
    assert abs(np.mean(inside) - 0.8) < 0.06
    assert (np.abs(np.mean(inside, axis=0) - 0.8) < 3.3 * np.sqrt(0.16 / 40)).all()


@pytest.mark.slow
def test_equals_the_sampled_model() -> None:
    pytest.importorskip("pymc")
    from judgestats.models.bayes.sampling import sample

    data, own = small(1, 4, 5), priors()
    _, y = prior_draw(data, own, np.random.default_rng(3))
    data = CrossedMeans(
        y,
        *(
            getattr(data, n)
            for n in ("noise", "judge", "system", "condition", "own", "judges", "systems", "conditions")
        ),
    )
    sampled = sample(model(data, own), dict.fromkeys(data.sds, ()), draws=500, tune=400, chains=2, progress=False)
    theirs, ours = sampled.summary(), posterior(data, own).summary()
    error = theirs["std_error"] * np.sqrt(1 / theirs["ess_bulk"] + 1 / 1000)
    assert (np.abs(theirs["estimate"] - ours["estimate"]) < 4 * error).all()
    assert replicated(data, effects(data, own, sampled), sampled).shape == (200, 20)


def test_order_of_rows_and_one_score() -> None:
    table = scores().query("condition == 'attributed'").drop(columns="condition")
    few = table[(table["judge"] != "Grok 4") | (table["system"] == "GPT-5.1")]
    one, two = (
        severity(few, sampling={"draws": 250}),
        severity(few.sample(frac=1, random_state=0), sampling={"draws": 250}),
    )
    pd.testing.assert_frame_equal(one.tidy(), two.tidy())
    assert "one score" in get(one.tidy(), "severity", judge="Grok 4")["flag"]
    assert not one.tidy()["term"].str.contains("attenuation").any()
    refused(
        DesignError,
        (lambda: severity(table, baseline="x", blinded="y"), "not a condition"),
        (lambda: severity(table[table["judge"] == "Grok 4"]), "two judges"),
        (lambda: severity(table, priors={"nothing": 1.0}), "not a parameter"),
    )
