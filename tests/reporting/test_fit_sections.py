"""The section of models of a page: parameters, diagnostics, the call, and what is refused."""

import base64
import gzip
import html
import io
import re

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import DesignError
from judgestats.reporting.fit_sections import described
from reporting.designs import plain_verdicts


def graded_calls():
    rng = np.random.default_rng(2)
    items = np.repeat([f"q{i}" for i in range(15)], 8)
    right = rng.random(120) < np.repeat(rng.uniform(0.2, 0.9, 15), 8)
    return pd.DataFrame({"judge": np.tile(["a", "b"], 60), "item": items, "correct": right.astype(int)}).assign(
        grade=rng.integers(1, 4, 120)
    )


@pytest.fixture(scope="module")
def fit():
    return js.fit("correct ~ judge + (1|item)", graded_calls())


@pytest.fixture(scope="module")
def page(fit, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")

    def of(name, **options):
        calls = plain_verdicts(["g", "h"], n_items=12)
        return js.report(calls, folder / name, n_resamples=20, **options).read_text(encoding="utf-8")

    return of


def test_a_model_has_a_line_its_parameters_its_diagnostics_and_its_call(fit):
    (model,) = described({"accuracy": fit}, 0.9)
    assert model.name == "accuracy"
    assert model.line.startswith("correct ~ judge + (1|item); binomial (logit); n = 120; groups: item 15; engine ml")
    tidy = fit.tidy(conf_level=0.9)
    assert list(model.rows["parameter"]) == list(tidy["term"])
    for column in ("estimate", "conf_low", "conf_high", "p_value"):
        np.testing.assert_array_equal(model.rows[column], tidy[column])
    assert list(model.rows["term"]) == ["coefficient, log-odds"] * 2 + ["standard deviation"]
    assert all(t in str(model.picture.svg) for t in ("residuals", "random effects", "calibration"))
    again = eval(model.call, {"judgestats": js, "table": graded_calls()})
    np.testing.assert_array_equal(again.coef(), fit.coef())


def test_a_model_of_verdicts_is_shown_by_its_fits():
    from judgestats.models import position_bias_model

    calls = plain_verdicts(["g", "h"], n_items=40)
    found = position_bias_model(calls)
    shown = described({"position": found}, 0.95)
    assert [m.name for m in shown] == [f"position, {name}" for name in found.fits]
    assert [m.line.partition(";")[0] for m in shown] == [f.formula for f in found.fits.values()]


def test_options_that_differ_from_the_defaults_are_in_the_call():
    found = js.fit("grade ~ judge", graded_calls(), family="cumulative", link="probit")
    (model,) = described(found, 0.95)
    assert model.name == "grade ~ judge"
    assert model.call == "judgestats.fit('grade ~ judge', table, family='cumulative', link='probit')"
    assert list(model.rows["term"]) == ["coefficient, probits"] + ["threshold, probits"] * 2
    assert "random effects" not in str(model.picture.svg)
    assert "groups" not in model.line


@pytest.mark.parametrize("models", [{"x": 3}, {"x": pd.DataFrame()}, "fit", 1.0])
def test_what_is_no_fit_is_refused_before_anything_is_measured(models, tmp_path, monkeypatch):
    from judgestats.reporting import page_data

    monkeypatch.setattr(page_data, "sheet_of", lambda *_: pytest.fail("measured"))
    with pytest.raises(DesignError, match=r"models.*judgestats.fit"):
        js.report(plain_verdicts(["g"]), tmp_path / "page.html", models=models)
    assert not (tmp_path / "page.html").exists()


def test_a_fit_without_diagnostics_is_refused_by_its_name(fit, monkeypatch):
    from judgestats.errors import FitError
    from judgestats.reporting import plots

    def none(_):
        raise FitError("engine='x' has no residuals.")

    monkeypatch.setattr(plots, "fit_diagnostics", none)
    with pytest.raises(DesignError, match=r"models\['accuracy'\].*no residuals"):
        described({"accuracy": fit}, 0.95)


def test_a_page_shows_models_and_one_without_them_has_no_section(fit, page):
    text = page(
        "page.html",
        models={"accuracy": fit, "<b>ordinal": js.fit("grade ~ judge", graded_calls(), family="cumulative")},
    )
    here = text.partition('<section id="models">')[2].partition("</section>")[0]
    assert here.count("<figure") == 2
    assert "<h3>accuracy</h3>" in here
    assert "&lt;b&gt;ordinal" in here
    assert "judge[b]" in here
    assert here.index("coefficient, log-odds") < here.index("threshold, log-odds")
    assert text.index('<section id="do-they-agree">') < text.index('id="models"') < text.index('id="judge-cards"')
    assert "models={'accuracy': judgestats.fit('correct ~ judge + (1|item)', table)" in html.unescape(text)
    packed = re.search(r'<template id="estimates"[^>]*>(.*?)</template>', text).group(1)
    rows = pd.read_csv(io.BytesIO(gzip.decompress(base64.b64decode(packed))), low_memory=False)
    np.testing.assert_allclose(
        rows.loc[rows["measure"] == "model, accuracy", "estimate"], fit.tidy()["estimate"], rtol=1e-7
    )
    without = page("without.html")
    assert 'id="models"' not in without
    assert "models=" not in without


def test_models_are_in_the_markdown(fit, page):
    text = page("page.md", models=fit).partition("## Models")[2].partition("\n## ")[0]
    assert "judge[b]" in text.replace("\\", "")
    assert f"{fit.coef()['judge[b]']:.2f}".replace("-", "−") in text
