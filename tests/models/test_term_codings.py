"""Codings of factors by name: R's contr.helmert and contr.poly (contrasts.R)."""

import numpy as np
import pytest

import judgestats as js
from judgestats.errors import FormulaError
from judgestats.models.formula import parse
from judgestats.models.grammar.syntax import read
from judgestats.models.grammar.term_codings import contrast
from models.reference import data, results, spelled
from refusals import refused

CODED = results("contrasts", quantity="coding")
MODELS = results("contrasts", quantity="coefficient")["model"].unique().tolist()
FACTORS = ["strategy", "topic", "cot"]


@pytest.fixture(scope="module")
def scores():
    return data("scores")


def fitted(model, scores):
    if "correct" in model:
        return js.fit(model, scores, n_quadrature=1, df="normal")
    return js.fit(model, scores, family="gaussian", reml="|" in model, df="normal" if "|" in model else None)


def name(term, model, scores):
    """R's `strategy1` of a Helmert or Sum coding is `strategy[S1]` here: the label of the level that it is of."""
    parts = []
    for part in spelled(term, FACTORS).split(":"):
        factor, _, label = part.partition("[")
        levels = [str(v) for v in sorted(scores[factor].unique())] if label else []
        if label[:-1].isdigit():
            place = int(label[:-1]) - (f"({factor}, Sum)" in model)
            part = f"{factor}[{levels[place]}]"
        parts.append(part.replace("TRUE", "True"))
    return ":".join(parts)


@pytest.mark.parametrize("model", MODELS)
def test_coefficients_predictions_and_means_are_rs(model, scores):
    fit, close = fitted(model, scores), {"rtol": 2e-5, "atol": 1e-6} if "|" in model else {"rtol": 1e-8, "atol": 1e-9}
    expected = results("contrasts", model=model)
    own = fit.tidy(effects="fixed").set_index("term")
    rows = expected[expected["quantity"] == "coefficient"]
    names = [name(term, model, scores) for term in rows["term"]]
    assert sorted(names) == sorted(own.index)
    np.testing.assert_allclose(own.loc[names, ["estimate", "std_error"]], rows[["estimate", "std_error"]], **close)
    rows = expected[expected["quantity"] == "prediction"]
    new = scores.iloc[rows["level"].astype(int) - 1]
    np.testing.assert_allclose(fit.predict(new, kind="link", interval=False)["estimate"], rows["estimate"], **close)
    rows = expected[expected["quantity"] == "mean"]
    means = fit.means("strategy").set_index("strategy")
    np.testing.assert_allclose(
        means.loc[rows["level"], ["estimate", "std_error"]], rows[["estimate", "std_error"]], **close
    )


@pytest.mark.parametrize("coding", ["Helmert", "Poly"])
@pytest.mark.parametrize("levels", sorted(CODED["level"].astype(int).unique()))
def test_matrices_are_rs(coding, levels):
    rows = CODED[(CODED["model"] == coding) & (CODED["level"] == str(levels))]
    expected = np.zeros((levels, levels - 1))
    expected[tuple(np.array([t.split() for t in rows["term"]], int).T - 1)] = rows["estimate"]
    call = read(f"y ~ C(x, {coding})").nodes[0]
    matrix, labels = contrast(range(levels), call, full=False)
    np.testing.assert_allclose(matrix, expected, atol=1e-11)
    assert len(labels) == levels - 1
    assert np.isclose(contrast(range(95), read("y ~ C(x, Poly)").nodes[0], full=False)[0].sum(axis=0), 0).all()


def test_the_coding_of_a_factor_does_not_move_the_fit(scores):
    fits = [js.fit(f"correct ~ C(strategy, {c}) * C(cot, {c}) + (1|judge)", scores, n_quadrature=1)
            for c in ("Treatment", "Sum", "Helmert", "Poly")]  # fmt: skip
    for fit in fits[1:]:
        assert fit.loglik == pytest.approx(fits[0].loglik, abs=1e-6)
        np.testing.assert_allclose(fit.margins()["estimate"], fits[0].margins()["estimate"], atol=1e-3)
        np.testing.assert_allclose(fit.tests()["statistic"], fits[0].tests()["statistic"], rtol=1e-4)
    np.testing.assert_allclose(fits[2].tests("III")["statistic"], fits[1].tests("III")["statistic"], rtol=1e-4)
    np.testing.assert_allclose(fits[3].tests("III")["statistic"], fits[1].tests("III")["statistic"], rtol=1e-4)


def test_a_coding_that_is_none_is_refused(scores):
    refused(
        FormulaError,
        ("Helmet", r"Helmet is no coding\.(.|\n)*Allowed: Treatment, Sum, Helmert, Poly.*Did you mean 'Helmert'"),
        ("contr.poly", r"contr\.poly is no coding(.|\n)*Did you mean 'Poly'"),
        ("Foo('a')", r"Foo\(\"a\"\) is no coding(.|\n)*Allowed: Treatment"),
        ("3", "3 is no coding"),
        ("Poly('t1')", "take a level"),
        ("Helmert('t1')", "take a level"),
        of=lambda coding: js.fit(f"score ~ C(topic, {coding})", scores, family="gaussian"),
    )
    many = scores.assign(row=range(len(scores)))
    with pytest.raises(FormulaError, match="Poly takes at most 95 levels, got 691"):
        js.fit("score ~ C(row, Poly)", many, family="gaussian")
    assert parse("y ~ C(Helmert, Helmert)").variables == ("y", "Helmert")
