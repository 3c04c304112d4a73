"""Every Bayesian model once, with few draws: that it runs on these versions of PyMC, nutpie and arviz.

Nothing is said of the numbers but that they are numbers: the other tests do that.
"""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pymc")
pytest.importorskip("arviz_stats")

import judgestats as js
from judgestats.models.hierarchical.posterior_checks import parts

FEW = {"draws": 50, "tune": 100, "chains": 2, "progress": False}


def looked_at(found, terms):
    """A posterior has its terms, diagnostics, and predictions of both kinds beside each observed value."""
    assert terms <= set(found.table["term"])
    own = found.table[found.table["term"].isin(terms)]
    assert np.isfinite(own["estimate"]).all()
    chains = ["largest R-hat", "smallest ESS", "divergences"]
    weights = ["Pareto k of the importance weights", "importance ESS"]
    by_importance = "importance" in found.posterior.method
    checks = found.check().set_index("what")
    assert np.isfinite(checks.loc[weights if by_importance else chains, "value"]).all()
    assert not set(checks.index) & set(chains if by_importance else weights)
    assert (checks.loc[checks["flag"] == "", "remedy"] == "").all()
    assert not checks["remedy"].str.contains("target_accept").any()
    tails = checks.loc[checks.index.str.contains("^tail area|smallest tail area"), "value"]
    assert len(tails) >= 1
    assert tails.between(0, 1).all()
    assert set(parts(found.table["flag"])) <= set(checks["flag"])
    assert max(map(len, repr(found).splitlines())) <= 120
    both = found.predictive("both")
    assert both.groupby("kind").size().nunique() == 1
    assert set(both["kind"]) == {"posterior", "prior"}
    assert (both["conf_low"] <= both["conf_high"]).all()


def test_a_formula(capfd):
    table = pd.DataFrame({"judge": [*"abcd"] * 2, "strategy": ["B0"] * 4 + ["S8"] * 4, "n": 40})
    table["k"] = [20, 22, 25, 18, 28, 30, 33, 27]
    fit = js.fit("cbind(k, n - k) ~ strategy + (1|judge)", table, engine="pymc", sampling=FEW)
    assert capfd.readouterr() == ("", "")  # progress=False
    assert fit.tidy()["term"].tolist() == ["Intercept", "strategy[S8]", "sd(Intercept|judge)"]
    assert fit.draws().shape == (100, 5)
    assert (fit.glance()["engine"] == "pymc").all()
    assert np.isfinite(fit.loo()["elpd_loo"]).all()
    assert np.isfinite(fit.predict()["estimate"]).all()
    assert fit.check()["what"].str.contains("R-hat").any()
    assert fit.predictive("both", by="judge").shape[0] == 8


def scores():
    rng = np.random.default_rng(1)
    cells = [(j, s, i) for j in "abc" for s in "abc" for i in range(6)]
    table = pd.DataFrame(cells, columns=["judge", "system", "item"])
    return table.assign(score=5 + (table["judge"] == "a") + rng.normal(size=len(table)).round(2))


def test_agreement():
    looked_at(js.hierarchical.agreement(scores(), sampling={"draws": 200}), {"subject", "judge", "ICC(2,1)"})


def test_severity():
    looked_at(js.hierarchical.severity(scores(), sampling=FEW), {"severity", "quality", "self_preference"})


def test_severity_sampled():
    looked_at(js.hierarchical.severity(scores(), sampled=True, sampling=FEW), {"severity", "quality"})


def test_bias():
    shares = [("g", 30, 10, 10), ("h", 20, 25, 5), ("i", 22, 20, 8)]
    rows = [(j, o, n) for j, *counts in shares for o, n in zip(("target", "other", "tie"), counts, strict=True)]
    looked_at(
        js.hierarchical.bias(pd.DataFrame(rows, columns=["judge", "outcome", "n"]), sampling=FEW), {"bias", "tie"}
    )


def test_strategies():
    table = pd.DataFrame({"judge": [*"gghh"], "strategy": ["B0", "S8"] * 2, "n": 100, "k": [60, 70, 55, 57]})
    table["baseline_only"], table["strategy_only"] = [np.nan, 8, np.nan, 10], [np.nan, 18, np.nan, 12]
    looked_at(js.hierarchical.strategies(table, baseline="B0", sampling=FEW), {"effect", "best", "loss"})


def test_psychometric():
    rows = [("g", 0.0, "preference", 12), ("g", 0.0, "tie", 38)]
    rows += [("g", d, o, n) for d, ns in ((1.0, (30, 14, 6)), (2.0, (42, 6, 2))) for o, n in
             zip(("correct", "tie", "wrong"), ns, strict=True)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["judge", "delta", "outcome", "n"])
    looked_at(
        js.hierarchical.psychometric(table, links="logit", wider=False, sampling=FEW), {"slope", "criterion", "lapse"}
    )


@pytest.mark.slow  # 44 s of processor time, nearly all of it compiling
def test_susceptibility():
    shares = {"blind": (20, 20, 10), "truth": (30, 12, 8)}
    rows = [(j, p, o, n) for j in "gh" for p, ns in shares.items() for o, n in zip(("x", "y", "tie"), ns, strict=True)]
    table = pd.DataFrame(rows, columns=["judge", "probe", "outcome", "n"])
    looked_at(
        js.hierarchical.susceptibility(table, favoured="x", sampling=FEW), {"shift_favoured", "lds", "total_variation"}
    )
