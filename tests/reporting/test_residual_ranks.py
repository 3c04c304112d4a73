"""The picture of scaled residuals: its two panels have the residuals and the bands of the model's own draws."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import judgestats as js
from judgestats import plot as plots
from judgestats.errors import DesignError
from refusals import refused


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(5)
    table = pd.DataFrame({"x": rng.normal(size=200)})
    return table.assign(y=rng.poisson(np.exp(0.5 + 0.8 * table["x"])))


def outside(part):
    return float(((part["y"] < part["low"]) | (part["y"] > part["high"])).mean())


def test_a_model_that_holds_is_inside_of_its_bands(counts):
    fit = js.fit("y ~ x", counts, family="poisson")
    picture = plots.scaled_residuals(fit, 400)
    ordered = picture.data[picture.data["panel"] == "distribution"]
    np.testing.assert_allclose(ordered["y"], np.sort(fit.scaled_residuals(400)["scaled_residual"]))
    np.testing.assert_allclose(ordered["x"], (np.arange(200) + 0.5) / 200)
    assert outside(ordered) < 0.2
    quartiles = picture.data[picture.data["panel"] == "by expected response"]
    assert sorted(set(quartiles["quartile"])) == [0.25, 0.5, 0.75]
    assert outside(quartiles) < 0.2
    assert [ax.get_title("left") for ax in picture] == ["distribution", "by expected response"]


def test_what_a_model_lacks_is_outside(counts):
    flat = plots.scaled_residuals(js.fit("y ~ 1", counts, family="poisson")).data
    assert outside(flat[flat["panel"] == "distribution"]) > 0.5
    bent = counts.assign(z=counts["x"] ** 2, y=np.random.default_rng(1).poisson(np.exp(counts["x"] ** 2)))
    missed = plots.scaled_residuals(js.fit("y ~ x", bent, family="negative_binomial")).data
    whole = plots.scaled_residuals(js.fit("y ~ z", bent, family="negative_binomial")).data
    by_bin = [outside(d[d["panel"] == "by expected response"]) for d in (missed, whole)]
    assert by_bin[0] > 0.2 > by_bin[1]


def test_cells_are_points(counts):
    table = counts.assign(item=np.arange(200) % 25, right=(counts["y"] > 1).astype(int))
    picture = plots.scaled_residuals(js.fit("right ~ x + (1|item)", table), by="item")
    assert (picture.data["panel"] == "distribution").sum() == 25
    assert len(picture[1].lines[0].get_xdata()) == 25


def test_it_needs_two_axes(counts):
    fit = js.fit("y ~ x", counts, family="poisson")
    axes = Figure().subplots(1, 2)
    assert list(plots.scaled_residuals(fit, ax=axes, title="Counts")) == list(axes)
    refused(DesignError, (lambda: plots.scaled_residuals(fit, ax=Figure().add_subplot()), "got 1 axes"))
