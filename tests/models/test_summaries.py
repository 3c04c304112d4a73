"""The printed summary holds the numbers of R's, where an lme4 user looks for them."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from types import FrameType

import numpy as np
import pandas as pd
import pytest

import judgestats
from judgestats.models.estimation import fit
from judgestats.models.fits import Fit
from models import reference
from models.toys import calls, tallied

PACKAGE = str(Path(judgestats.__file__).parent)
CONSOLE = Path(__file__).parents[1] / "reference" / "models"
CASES = "cbind(incidence, size - incidence) ~ period + (1|herd)"


def console(name: str) -> str:
    return (CONSOLE / f"console_summary_{name}.txt").read_text()


def row(text: str, name: str) -> list[str]:
    """Cells of the line that starts with a name."""
    lines = [line.split() for line in text.splitlines() if line.split()[: len(name.split())] == name.split()]
    assert lines, f"no line {name!r}"
    return lines[0][len(name.split()) :]


@pytest.fixture(scope="module")
def cbpp() -> Fit:
    return fit(CASES, reference.data("cbpp"), n_quadrature=1, df="normal")


def test_a_generalised_model_reads_as_glmmtmbs(cbpp: Fit) -> None:
    own, given = cbpp.summary(), console("glmmTMB")
    assert row(own, "194.1") == row(given, "194.1") == ["204.2", "-92.0", "184.1", "51"]
    assert row(own, "AIC") == row(given, "AIC")
    assert row(own, "herd")[-2:] == row(given, "herd")[-2:] == ["0.4125", "0.6423"]
    for mine, theirs in (("Intercept", "(Intercept)"), ("period[2]", "period2"), ("period[4]", "period4")):
        assert row(own, mine)[:5] == row(given, theirs)[:5]
    assert "Number of obs: 56, groups:  herd, 15" in own
    assert "Number of obs: 56, groups:  herd, 15" in given
    assert "Family: binomial (logit)" in own
    assert own.startswith("Generalized linear mixed model fit by maximum likelihood (Laplace Approximation)")
    assert "842 trials" in own
    assert own.split("Notes:")[1].strip().startswith("- herd: fewer than 30 levels of herd: 15. Intervals of")


def test_a_linear_model_reads_as_lmers() -> None:
    data = reference.data("sleepstudy")
    own = fit("Reaction ~ Days + (Days|Subject)", data, family="gaussian", reml=True).summary()
    given = console("lmer")
    line = "REML criterion at convergence: 1743.6"
    assert line in own
    assert line in given
    assert own.startswith("Linear mixed model fit by REML")
    numbers = re.compile(r"-?\d+\.\d+")
    for name in ("Subject Intercept", "Residual"):
        mine = [float(v) for v in numbers.findall(" ".join(row(own, name)))]
        theirs = [float(v) for v in numbers.findall(" ".join(row(given, name.replace("Intercept", "(Intercept)"))))]
        assert mine == pytest.approx(theirs, rel=5e-5)
    assert row(own, "Days")[:3] == ["35.07", "5.922", "0.07"]
    fixed = own.split("Fixed effects:")[1]
    assert row(fixed, "Days")[:5] == ["10.47", "1.546", "17", "6.771", "3.26e-06"]
    assert "10.467      1.546  17.000   6.771 3.26e-06 ***" in (CONSOLE / "console_lmertest.txt").read_text()
    normal = fit("Reaction ~ Days + (Days|Subject)", data, family="gaussian", reml=True, df="normal").summary()
    assert "10.47      1.546   6.771" in normal


def test_a_cumulative_model_reads_as_clmms() -> None:
    table = reference.data("wine")
    own = fit("rating ~ temp + contact + (1|judge)", table, family="cumulative", n_quadrature=1).summary()
    given = console("clmm")
    for cut in ("1|2", "2|3", "3|4", "4|5"):
        mine, theirs = ([float(v) for v in row(text, cut)[:2]] for text in (own, given))
        assert mine == pytest.approx(theirs, abs=1.01e-4)
    assert "P(Y <= j) = F(threshold - eta)" in own
    assert row(own, "judge")[-2:] == row(given, "judge")[-2:] == ["1.279", "1.131"]
    assert own.startswith("Cumulative link mixed model")
    assert "Latent ICC: judge 0.280" in own  # 1.2795 / (1.2795 + π²/3)


def test_counts_and_missing_rows_are_said() -> None:
    table = tallied(calls()[["y", "s", "g"]])
    text = fit("y ~ s + (1|g)", table, counts="n").summary()
    assert f"Data: 240 rows (n counts 240 in {len(table)})" in text
    gone = calls()
    gone.loc[:4, "s"] = None
    assert "Data: 235 rows; 5 excluded" in fit("y ~ s", gone).summary()


def test_what_is_wrong_is_said_in_words() -> None:
    table = pd.DataFrame({"y": [0, 1, 0, 1, 1], "s": list("aabbc"), "n": [9, 5, 2, 4, 8]})
    text = fit("y ~ s", table, counts="n").summary()
    assert "Notes:\n - s: 'c' always has 1: separation. Its coefficient is infinite." in text
    assert row(text, "s[c]")[1:4] == ["nan", "nan", "NaN"]


@pytest.mark.parametrize(
    ("options", "head"),
    [
        ({}, "fit by maximum likelihood (trapezoidal rule, 28 nodes a group) [engine ml]"),
        ({"n_quadrature": 9}, "fit by maximum likelihood (adaptive Gauss-Hermite quadrature, 9 nodes) [engine ml]"),
        ({"engine": "gee"}, "Generalized linear model fit by generalized estimating equations (exchangeable"),
        ({"engine": "lpm"}, "Linear probability model: coefficients are differences of probability"),
        ({"engine": "statsmodels"}, "fit by variational Bayes [engine statsmodels]"),
    ],
)
def test_every_method_has_its_head(options: dict, head: str) -> None:
    assert head in fit("y ~ s + (1|g)", calls(), **options).summary()


def test_the_success_is_named() -> None:
    assert "Models: probability of 'wins'" in fit("verdict[wins] ~ s", calls()).summary()


def test_a_summary_of_a_small_mixed_model_takes_few_calls() -> None:
    """What a fit derives of its design is derived once, not in each of a hundred steps."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"y": rng.normal(size=60), "x": rng.normal(size=60), "g": np.repeat(list("abcdefghij"), 6)})
    own, calls_of = fit("y ~ x + (1|g)", table, family="gaussian"), Counter[str]()

    def count(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            calls_of[frame.f_code.co_name] += 1

    sys.setprofile(count)
    try:
        text = own.summary()
    finally:
        sys.setprofile(None)
    assert "Random effects" in text
    assert sum(calls_of.values()) <= 700
    assert calls_of["design"] <= 1
