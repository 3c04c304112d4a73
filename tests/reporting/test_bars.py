"""Psychometric curves, decompositions and answers show what the measures say."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from judgestats.errors import DesignError
from judgestats.metrics.bias import answer_rates, position_bias
from judgestats.metrics.datasheets import datasheet
from judgestats.metrics.psychometrics import criterion_shift, delta0, target_sensitivity
from judgestats.reporting import plots
from refusals import refused
from reporting.designs import dark_current_design, plain_verdicts
from reporting.drawing import drawn, legend


@pytest.fixture(scope="module")
def design():
    return dark_current_design()


@pytest.fixture(scope="module")
def sheet(design):
    return datasheet(design, n_resamples=200)


def test_curves_run_through_the_rates_with_their_intervals(design, sheet):
    expected = target_sensitivity(design).query("term == 'target_sensitivity' and judge == 'Llama8B'")
    ax = drawn(plots.psychometric_curves(sheet))
    line = next(line for line in ax.lines if len(line.get_ydata()) == 5)
    np.testing.assert_allclose(line.get_ydata(), expected["estimate"])
    bars = ax.collections[0].get_segments()
    np.testing.assert_allclose([b[:, 1] for b in bars], expected[["conf_low", "conf_high"]])
    assert set(np.round(ax.get_xticks(), 6)) == {1, 2, 3, 4, 5}


def test_answers_without_sides_fill_the_bar_with_both_of_them():
    choices = ["first"] * 5 + ["second"] * 2 + ["tie"] * 2 + ["invalid"]
    calls = pd.DataFrame({"judge": "g", "item": range(10), "first": "u", "second": "v", "choice": choices})
    ax = drawn(plots.answers(answer_rates(calls)))
    assert legend(ax) == ["one of the two", "tie", "invalid"]
    np.testing.assert_allclose([bar.get_width() for c in ax.containers for bar in c], [0.7, 0.2, 0.1])


def test_decomposition_bars_are_the_classes_and_fill_the_line(design, sheet):
    ax = drawn(plots.decomposition(sheet, order="given"))
    width = np.zeros(3)
    for bar in (b for c in ax.containers for b in c):
        width[round(bar.get_y() + bar.get_height() / 2)] += bar.get_width()
    np.testing.assert_allclose(width, 1)
    stable = delta0(design).query("term == 'stable_cross_sensitivity'")["estimate"]
    np.testing.assert_allclose([b.get_width() for b in ax.containers[0]], stable)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["Llama8B", "Qwen14B", "Qwen32B"]


def test_decomposition_leaves_different_subsets_out(design):
    other = design[design["stimulus"] == "same_subset"].assign(stimulus="different_subset", choice="tie")
    both = datasheet(pd.concat([design, other], ignore_index=True), n_resamples=100)
    alone = plots.decomposition(datasheet(design, n_resamples=100))
    widths = [
        [b.get_width() for c in plots.decomposition(both).containers for b in c],
        [b.get_width() for c in alone.containers for b in c],
    ]
    np.testing.assert_allclose(widths[0], widths[1])


def test_answers_fill_the_line():
    rows = position_bias(plain_verdicts(["a", "b"], invalid=0.2))
    ax = drawn(plots.answers(rows))
    np.testing.assert_allclose([sum(c[i].get_width() for c in ax.containers) for i in range(2)], 1)
    assert len(ax.containers) == 4


def test_thirty_judges_all_have_a_label():
    judges = [f"organisation/judge-{i}-with-quite-a-long-name-for-an-axis" for i in range(30)]
    ax = drawn(plots.answers(position_bias(plain_verdicts(judges, n_items=4))))
    labels = [t.get_text() for t in ax.get_yticklabels()]
    assert len(set(labels)) == 30
    boxes = [t.get_window_extent() for t in ax.get_yticklabels()]
    heights = sorted((b.y0, b.y1) for b in boxes)
    assert all(low[1] <= high[0] for low, high in itertools.pairwise(heights))
    assert min(b.x0 for b in boxes) >= 0


def test_curves_are_the_isotonic_fits_and_points_the_shares(sheet):
    ax = drawn(plots.psychometric_curves(sheet))
    curves = [line for line in ax.lines if line.get_label() == "_fit"]
    points = [line for line in ax.lines if line.get_linestyle() == "None"]
    for curve, seen in zip(curves, points, strict=True):
        shares = seen.get_ydata()
        assert (np.diff(curve.get_ydata()) >= 0).all()
        if (np.diff(shares) >= 0).all():
            np.testing.assert_allclose(curve.get_ydata(), shares)
    rows = pd.DataFrame({"judge": "g", "term": "target_sensitivity", "delta": [1.0, 2.0], "estimate": [0.8, 0.5]})
    rows = rows.assign(conf_low=0.4, conf_high=0.9, n=[30.0, 10.0])
    (pooled,) = [line for line in plots.psychometric_curves(rows).lines if line.get_label() == "_fit"]
    np.testing.assert_allclose(pooled.get_ydata(), 0.8 * 0.75 + 0.5 * 0.25)  # the weighted mean of what decreases


def test_curves_of_many_judges_are_a_matrix_with_a_mark_at_the_threshold():
    many = target_sensitivity(dark_current_design([f"judge {i}" for i in range(12)]))
    picture = drawn(plots.psychometric_curves(many))
    assert len(picture.get_yticklabels()) == 12
    wide = many[many["term"] == "target_sensitivity"].pivot(index="judge", columns="delta", values="estimate")
    shown = picture.collections[0].get_array()
    np.testing.assert_allclose(sorted(np.ravel(shown)), sorted(np.ravel(wide)))
    marks = {line.get_ydata()[0]: line.get_xdata()[0] for line in picture.lines}
    for row, text in enumerate(picture.get_yticklabels()):
        shares = wide.loc[text.get_text()].to_numpy()
        if (np.diff(shares) >= 0).all():
            assert marks[row] == (shares >= 0.75).argmax()


# ---------------------------------------------------------------- manners


def test_pictures_draw_on_the_axes_given(sheet):
    ax = Figure().add_subplot()
    assert plots.decomposition(sheet, ax=ax).axes == [ax]


def test_curves_and_operating_points_need_intervals_and_steps():
    rows = target_sensitivity(dark_current_design())
    calls = dark_current_design(["Qwen32B"], prompts=("base", "strict"))
    shift = criterion_shift(calls, "base", "strict")
    refused(
        DesignError,
        (lambda: plots.psychometric_curves(rows.drop(columns="conf_low")), "conf_low"),
        (lambda: plots.psychometric_curves(rows.drop(columns="delta")), "delta"),
        (lambda: plots.operating_point(shift.drop(columns="conf_high")), "conf_high"),
        (lambda: plots.operating_point(shift, target_sensitivity(calls)), "prompt"),
    )
