"""Pictures of models show what the tables say."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import judgestats as js
from judgestats.errors import DesignError
from judgestats.kernels.proportions import wilson
from judgestats.reporting import plots
from judgestats.reporting.plots.canvas import PALETTE
from judgestats.reporting.plots.predictions import MOST_NAMED
from refusals import refused
from reporting.drawing import drawn, names


def dots(ax, shape):
    found = [m for m in ax.lines if m.get_marker() == shape and len(m.get_xdata()) == 1]
    return [(float(m.get_xdata()[0]), float(m.get_ydata()[0])) for m in found]


def bars(ax):
    lines = [m for m in ax.lines if m.get_marker() == "None" and m.get_color() == PALETTE[0]]
    return [tuple(map(float, m.get_xdata())) for m in lines if len(m.get_xdata()) == 2]


@pytest.fixture
def rows():
    cells = [("a", 8.0, 5.0, 2.0, 9.0, True), ("b", 30.0, 20.0, 15.0, 25.0, False), ("c", 1.0, 2.0, 0.0, 4.0, True)]
    table = pd.DataFrame(cells, columns=["judge", "observed", "estimate", "conf_low", "conf_high", "inside"])
    return table.assign(kind="posterior", outcome="tie", n=[20.0, 50.0, 10.0], scale="count", method="by hand", flag="")


@pytest.fixture
def both(rows):
    before = rows.assign(kind="prior", conf_low=0.0, conf_high=rows["n"], estimate=rows["n"] / 2, inside=True)
    return pd.concat([rows, before], ignore_index=True)


def test_counts_are_drawn_per_call_the_highest_predicted_on_top(rows):
    ax = drawn(plots.predictive(rows))
    assert names(ax) == ["b", "a", "c"]
    assert dots(ax, "o") == [(0.4, 1.0), (0.1, 2.0)]
    assert dots(ax, "s") == [(0.6, 0.0)]
    assert bars(ax) == [(0.3, 0.5), (0.1, 0.45), (0.0, 0.4)]
    assert ax.get_xlabel() == "tie: count ÷ calls"
    assert [t.get_text() for t in ax.texts] == ["2 of 3 observed values inside"]
    assert [t.get_text() for t in ax.get_legend().get_texts()][-1] == "observed, outside"


def test_prior_and_posterior_side_by_side_in_one_order(both):
    before, after = drawn(plots.predictive(both, title="calls"))
    assert [a.get_title(loc="left") for a in (before, after)] == ["prior predictive", "posterior predictive"]
    assert names(before) == ["b", "a", "c"]
    assert before.get_xlim() == after.get_xlim()
    assert dots(before, "s") == []
    assert dots(after, "s") == [(0.6, 0.0)]


def test_a_prior_much_wider_has_a_range_of_its_own(both):
    both.loc[both["kind"] == "prior", "conf_high"] *= 100
    before, after = drawn(plots.predictive(both))
    assert before.get_xlim()[1] > 50 > 1 > after.get_xlim()[1]


def test_a_model_is_asked_for_both(both):
    class Model:
        def predictive(self, kind):
            return {"both": both}[kind]

    assert len(drawn(plots.predictive(Model()))) == 2


def test_means_are_drawn_as_they_are(rows):
    ax = drawn(plots.predictive(rows.assign(scale="mean", outcome="mean score")))
    assert dots(ax, "s") == [(30.0, 0.0)]
    assert ax.get_xlabel() == "mean of score"


def test_outcomes_and_groups_name_the_rows_where_they_tell_them_apart(rows):
    more = pd.concat([rows, rows.assign(outcome="wins", estimate=0.0)], ignore_index=True)
    ax = drawn(plots.predictive(more.assign(probe="one")))
    assert names(ax)[:3] == ["b · tie", "a · tie", "c · tie"]


def test_many_rows_keep_the_names_of_those_outside(rows):
    size = 3 * MOST_NAMED
    many = pd.concat([rows.head(1)] * size, ignore_index=True).assign(judge=[f"j{i:03d}" for i in range(size)])
    many.loc[7, ["observed", "inside"]] = [19.0, False]
    ax = drawn(plots.predictive(many))
    assert names(ax) == ["j007"]
    assert len(dots(ax, "o")) + len(dots(ax, "s")) == size
    assert ax.figure.get_size_inches()[1] < 13


def test_what_was_not_observed_is_left_out(rows):
    rows.loc[0, "observed"] = np.nan
    assert names(drawn(plots.predictive(rows))) == ["b", "c"]


def test_refusals(rows, both):
    refused(
        DesignError,
        (lambda: plots.predictive(rows.drop(columns="observed")), "needs the columns"),
        (lambda: plots.predictive(rows.assign(observed=np.nan)), "no observed value"),
        (lambda: plots.predictive(rows.assign(kind="after")), "Allowed: posterior, prior"),
        (lambda: plots.predictive(pd.concat([rows, rows])), "drawn on top of another"),
        (lambda: plots.predictive(both, ax=Figure().add_subplot()), "got 1 axes"),
    )


# ---------------------------------------------------------------- diagnostics of a fit, posterior draws


def test_diagnostics_of_a_saturated_model_are_on_the_lines():
    counts = pd.DataFrame({"arm": ["x", "y"] * 2, "correct": [0, 0, 1, 1], "n": [40, 20, 60, 80]})
    picture = drawn(plots.fit_diagnostics(js.fit("correct ~ arm", counts, counts="n")))
    part = picture.data.set_index("panel")
    assert len(picture) == 2  # no random effects
    np.testing.assert_allclose(part.loc["calibration", "x"], [0.6, 0.8], atol=1e-5)
    np.testing.assert_allclose(part.loc["calibration", "y"], [0.6, 0.8])
    low, high = wilson([60, 80], [100, 100])
    np.testing.assert_allclose(part.loc["calibration", ["conf_low", "conf_high"]], np.column_stack([low, high]))
    np.testing.assert_allclose(part.loc["residuals", "y"], 0, atol=1e-4)
    np.testing.assert_allclose(part.loc["residuals", "conf_high"] - part.loc["residuals", "y"], 2 / np.sqrt(100))


def test_diagnostics_have_every_random_effect_against_its_normal_quantile():
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"item": np.repeat([f"q{i}" for i in range(12)], 10)})
    table["score"] = np.repeat(rng.normal(0, 1, 12), 10) + rng.normal(0, 1, 120)
    fit = js.fit("score ~ 1 + (1|item)", table, family="gaussian")
    picture = drawn(plots.fit_diagnostics(fit))
    here = picture.data[picture.data["panel"] == "random effects"]
    modes = fit.random_effects().sort_values("estimate")
    np.testing.assert_allclose(here["y"], modes["estimate"])
    assert list(here["level"]) == list(modes["level"])
    assert here["x"].is_monotonic_increasing
    np.testing.assert_allclose(here["x"] + here["x"].to_numpy()[::-1], 0, atol=1e-12)
    bins = picture.data[picture.data["panel"] == "calibration"]
    np.testing.assert_allclose(np.average(bins["y"], weights=bins["n"]), table["score"].mean())


def test_diagnostics_of_an_ordinal_model_have_each_category():
    rng = np.random.default_rng(2)
    table = pd.DataFrame({"judge": np.tile(["a", "b"], 60), "grade": rng.integers(1, 4, 120)})
    picture = drawn(plots.fit_diagnostics(js.fit("grade ~ judge", table, family="cumulative")))
    bins = picture.data[picture.data["panel"] == "calibration"]
    for grade, here in bins.groupby("label"):
        assert here["n"].sum() == 120
        np.testing.assert_allclose(np.average(here["y"], weights=here["n"]), (table["grade"] == int(grade)).mean())


def test_posterior_intervals_are_nested_quantiles():
    rng = np.random.default_rng(2)
    draws = pd.DataFrame(
        {"chain": 0, "draw": range(400), "sd": rng.gamma(2, 1, 400), "effect[a]": rng.normal(-1, 1, 400)}
    )
    ax = drawn(plots.posterior_intervals(draws))
    assert names(ax) == ["sd", "effect[a]"]
    for row, name in zip(ax.data.to_dict("records"), ["sd", "effect[a]"], strict=True):
        ends = [row[c] for c in ("conf_low", "low_50", "estimate", "high_50", "conf_high")]
        np.testing.assert_allclose(ends, np.quantile(draws[name], [0.025, 0.25, 0.5, 0.75, 0.975]))
    shown = {(float(m.get_xdata()[0]), float(m.get_xdata()[1])) for m in ax.lines if len(m.get_xdata()) == 2}
    assert {tuple(r) for r in ax.data[["low_50", "high_50"]].to_numpy()} <= shown
    assert names(plots.posterior_intervals(draws, variables="effect")) == ["effect[a]"]
    many = pd.DataFrame(rng.normal(size=(4, 90)), columns=[f"v[{i}]" for i in range(90)]).assign(chain=0, draw=range(4))
    refused(
        DesignError,
        (lambda: plots.posterior_intervals(draws, variables="none"), "effect"),
        (lambda: plots.posterior_intervals(many), "variables="),
    )
