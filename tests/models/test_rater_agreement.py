"""Agreement of many raters by a mixed model, against closed forms and simulated raters."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import DesignError
from judgestats.models.fits import Fit
from judgestats.models.postestimation.rater_agreement import _joint
from refusals import refused


def panel(cuts: list[float], seed: int = 5, raters: int = 8, items: int = 120) -> pd.DataFrame:
    """Scores of raters with severities, items with effects of variance 2.25, cut at thresholds."""
    rng = np.random.default_rng(seed)
    judge, item = (a.ravel() for a in np.indices((raters, items)))
    latent = rng.normal(0, 1.5, items)[item] + rng.normal(0, 0.5, raters)[judge] + rng.normal(size=judge.size)
    names = {"judge": [f"j{j}" for j in judge], "system": "s", "item": [f"i{i:03d}" for i in item]}
    return pd.DataFrame({**names, "score": np.digitize(latent, cuts) + 1})


def fitted(table: pd.DataFrame, link: str = "probit") -> Fit:
    return js.fit("score ~ 1 + (1|item) + (1|judge)", table, family="cumulative", link=link)


def test_two_classes_have_a_closed_form() -> None:
    own = js.fit("y ~ 1 + (1|item) + (1|judge)", panel([0.4]).assign(y=lambda d: d["score"] - 1), link="probit")
    item, judge = (C[0, 0] for C in own.covariances())
    share = item / (item + judge + 1)
    row = own.agreement().iloc[0]
    assert row["estimate"] == pytest.approx(2 * np.arcsin(share) / np.pi, abs=1e-9)
    assert 0 < row["conf_low"] < row["estimate"] < row["conf_high"] < 1
    logs = np.array([C[0, 0] for C in own.covariances()])  # delta method by hand, in the standard deviations
    sds = np.sqrt(logs)
    by_share = 2 / np.pi / np.sqrt(1 - share**2)
    slope = by_share * np.array([2 * sds[0] * (judge + 1), -2 * sds[1] * item]) / (item + judge + 1) ** 2
    at = [own.names.index(f"chol(Intercept,Intercept|{f})") for f in ("item", "judge")]
    wanted = np.sqrt(slope @ own.covariance[np.ix_(at, at)] @ slope)
    assert row["std_error"] == pytest.approx(wanted, rel=1e-5)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_two_simulated_raters_agree_as_often(link: str) -> None:
    rng, n = np.random.default_rng(0), 400_000
    noise = {"logit": rng.logistic, "probit": rng.normal, "cloglog": lambda size: np.log(rng.exponential(size=size))}
    item = rng.normal(0, 1.3, n)
    latent = np.array([item + rng.normal(0, 0.6, n) + noise[link](size=n) for _ in range(2)])
    classes = np.digitize(latent, np.quantile(latent, [0.25, 0.5, 0.75]))
    both = np.zeros((4, 4))
    np.add.at(both, tuple(classes), 1 / n)
    np.testing.assert_allclose(_joint(link, 4, 1.3**2, 0.6**2), (both + both.T) / 2, atol=2e-3)


def test_it_does_not_depend_on_how_frequent_the_classes_are() -> None:
    """One latent scale, cut evenly and far out: Fleiss's kappa falls, and the model's does not."""
    even, rare = panel([0.0], raters=25), panel([2.2], raters=25)
    fleiss = [js.kappa(t, pairs="fleiss", cluster=False)["estimate"].item() for t in (even, rare)]
    own = [fitted(t).agreement().iloc[0] for t in (even, rare)]
    assert fleiss[0] - fleiss[1] > 0.07
    assert abs(own[0]["estimate"] - own[1]["estimate"]) < 0.03
    for row in own:
        assert row["conf_low"] < 2 * np.arcsin(2.25 / 3.5) / np.pi < row["conf_high"]
        assert row["flag"] == "fewer than 30 levels of judge"


def test_partial_agreement_is_more() -> None:
    own = fitted(panel([-1.2, 0.0, 1.2]))
    values = [own.agreement(weights=w)["estimate"].item() for w in (None, "linear", "quadratic")]
    assert values == sorted(values)
    item, judge = (C[0, 0] for C in own.covariances())
    both, place = _joint("probit", 4, item, judge), np.arange(4)
    apart = (place[:, None] - place) ** 2
    assert values[2] == pytest.approx(
        1 - (both * apart).sum() / apart.mean(), abs=1e-12
    )  # Cohen's, by its disagreement


def test_rare_answers_under_laplace_are_flagged() -> None:
    """Eight answers an item, of which one in twelve is 2: Laplace's variance of items, as lme4's, is five times too large."""
    own = fitted(panel([2.5]))
    row = own.agreement().iloc[0]
    assert row["estimate"] > 0.7
    assert row["flag"].startswith("rarer answer less than once per level")
    assert row["flag"].endswith("fewer than 2 rarer answers per level of item")
    flag = own.tidy(effects="random").set_index("term")["flag"]
    assert flag.to_dict() == {
        "sd(Intercept|item)": "fewer than 2 rarer answers per level of item",
        "sd(Intercept|judge)": "",
    }
    enough = fitted(panel([0.6]))
    assert not enough.agreement()["flag"].str.contains("rarer").any()
    assert not enough.tidy()["flag"].str.contains("rarer").any()


def test_what_has_no_such_agreement_is_refused() -> None:
    table = panel([0.0, 1.0], raters=4, items=30)
    refused(
        DesignError,
        (js.fit("score ~ 1 + (1|item)", table, family="gaussian"), "binary or ordered answers; got family='gaussian'"),
        (
            js.fit("score ~ 1 + (1|judge)", table, family="cumulative"),
            r"needs a random term \(1\|item\).*got \(Inter",
        ),
        (js.fit("score ~ 1", table, family="cumulative"), "got none"),
        of=lambda own: own.agreement(),
    )
    with pytest.raises(DesignError, match="weights='cubic'"):
        fitted(table).agreement(weights="cubic")  # type: ignore[arg-type]
