"""Metrology map, bias map and bias scores show what the measures say."""

import itertools

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from judgestats.errors import DesignError
from judgestats.metrics import bias
from judgestats.metrics.datasheets import datasheet
from judgestats.metrics.psychometrics import dark_current, delta0, target_sensitivity
from judgestats.reporting import plots
from refusals import refused
from registry import fit_for
from registry import strategies as strategy_calls
from reporting.designs import dark_current_design
from reporting.drawing import drawn, marks, names, texts, texts_and_labels, whiskers

ENDS = ["estimate", "conf_low", "conf_high"]


# ---------------------------------------------------------------- changes of biases


@pytest.fixture
def changes():
    rows = [
        ("length", "S1", -0.30, -0.40, -0.20),
        ("length", "S2", 0.05, -0.05, 0.15),
        ("style", "S1", np.nan, np.nan, np.nan),
        ("style", "S2", 0.20, 0.10, 0.30),
    ]
    table = pd.DataFrame(rows, columns=["bias", "strategy", *ENDS]).assign(judge=None, term="mean_change")
    return table[["judge", "bias", "strategy", "term", *ENDS]]


def test_bias_map_has_a_row_a_bias_and_a_column_a_strategy(changes):
    ax = drawn(plots.bias_map(changes))
    assert names(ax) == ["length", "style"]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["S1", "S2"]
    mesh = ax.collections[0].get_array()
    np.testing.assert_allclose(mesh.filled(np.nan), [[-0.3, 0.05], [np.nan, 0.2]])
    assert texts(ax)[:4] == ["−30", "+5", "n/a", "+20"]


def test_bias_map_is_blue_where_the_bias_falls_and_marks_what_is_sure(changes):
    ax = plots.bias_map(changes)
    mesh = ax.collections[0]
    assert mesh.norm.vmin == -mesh.norm.vmax == -0.3
    falls, grows = mesh.cmap(mesh.norm(-0.2)), mesh.cmap(mesh.norm(0.2))
    assert falls[2] > falls[0]
    assert grows[0] > grows[2]
    framed = {(round(p.get_y()), round(p.get_x())) for p in ax.patches}
    assert framed == {(0, 0), (1, 1)}
    assert [t.get_fontweight() for t in ax.texts[:4]] == ["bold", "normal", "normal", "bold"]


def test_bias_map_of_one_judge_is_its_magnitude_change():
    result = bias.bias_change(strategy_calls(), baseline="B0")
    for judge, shown in ((None, "mean_change"), ("h", "magnitude_change")):
        ax = drawn(plots.bias_map(result, judge=judge))
        wanted = result[
            (result["term"] == shown) & (result["judge"].isna() if judge is None else result["judge"] == judge)
        ]
        np.testing.assert_allclose(ax.collections[0].get_array().ravel(), wanted["estimate"])
    with pytest.raises(DesignError, match="judge="):
        plots.bias_map(result, judge="nobody")


# ---------------------------------------------------------------- scores


def test_bias_scores_have_a_panel_a_bias_around_zero():
    result = bias.bias_score(fit_for("bias_score")())
    axes = drawn(plots.bias_scores(result, order="given", title="b"))
    wanted = result[result["term"] == "bias"]
    assert [a.get_title("left") for a in axes] == list(dict.fromkeys(wanted["bias"]))
    for ax in axes:
        here = wanted[wanted["bias"] == ax.get_title("left")]
        assert [m[:2] for m in marks(ax)] == [(v, i) for i, v in enumerate(here["estimate"])]
        assert whiskers(ax) == list(zip(here["conf_low"], here["conf_high"], strict=True))
        low, high = ax.get_xlim()
        assert low == -high
        assert any(set(m.get_xdata()) == {0.0} for m in ax.lines)
    assert names(axes[0]) == ["g", "h"]


def test_bias_scores_over_topics_end_with_their_mean():
    calls = fit_for("bias_score")().query("bias == 'style'")
    calls = calls.assign(topic=np.where(np.arange(len(calls)) % 3, "art", "law"))
    result = bias.bias_score(calls, over="topic")
    axes = drawn(plots.bias_scores(result, order="given"))
    assert [a.get_title("left") for a in axes] == ["style · art", "style · law", "style · mean"]
    mean = result[result["term"] == "mean"].set_index("judge")["estimate"]
    assert [m[0] for m in marks(axes[-1])] == list(mean[names(axes[0])])


def test_bias_scores_say_what_is_not_available_and_refuse_nothing():
    rows = pd.DataFrame({"judge": ["g", "h"], "term": "bias", "estimate": [0.1, np.nan], "conf_low": [0.0, np.nan]})
    ax = drawn(plots.bias_scores(rows.assign(conf_high=rows["conf_low"] + 0.2)))
    assert texts(ax) == ["n/a"]
    assert len(marks(ax)) == 1
    refused(
        DesignError,
        (rows.iloc[1:].assign(conf_high=np.nan), "bias_score"),
        (rows, "columns"),
        of=plots.bias_scores,
    )


def test_twelve_long_names_all_have_a_label_inside_the_figure():
    judges = [f"organisation/judge-{i}-with-quite-a-long-name-for-an-axis" for i in range(12)]
    rows = pd.DataFrame({"judge": judges, "term": "bias", "estimate": 0.1, "conf_low": 0.0, "conf_high": 0.2})
    ax = drawn(plots.bias_scores(rows))
    boxes = [t.get_window_extent() for t in ax.get_yticklabels()]
    assert len(set(names(ax))) == 12
    assert min(b.x0 for b in boxes) >= 0
    assert not any(a.overlaps(b) for a, b in itertools.pairwise(boxes))


@pytest.fixture(scope="module")
def design():
    return dark_current_design()


@pytest.fixture(scope="module")
def sheet(design):
    return datasheet(design, n_resamples=200)


def points(ax):
    return np.array([c.get_offsets().data[0] for c in ax.collections if c.get_offsets().size == 2])


# ---------------------------------------------------------------- the instrument


def test_metrology_map_puts_each_judge_at_its_two_rates(design, sheet):
    pooled = dark_current(design).query("vacuum_kind == 'all'").set_index("judge")["estimate"]
    stable = delta0(design).query("term == 'stable_cross_sensitivity'").set_index("judge")["estimate"]
    ax = drawn(plots.metrology_map(sheet))
    np.testing.assert_allclose(points(ax), np.column_stack([pooled, stable.loc[pooled.index]]))
    assert {"Llama8B", "Qwen14B", "Qwen32B"} <= set(texts_and_labels(ax))


def test_metrology_map_is_the_same_from_a_datasheet_and_from_stacked_results(design, sheet):
    stacked = pd.concat([dark_current(design), delta0(design), target_sensitivity(design)], ignore_index=True)
    np.testing.assert_allclose(points(plots.metrology_map(stacked)), points(plots.metrology_map(sheet)))


def test_metrology_map_grows_the_marker_with_sensitivity(sheet):
    ax = plots.metrology_map(sheet)
    sizes = [c.get_sizes()[0] for c in ax.collections if c.get_offsets().size == 2]
    area = dict(zip(dict.fromkeys(ax.data["judge"]), sizes, strict=True))
    assert area["Llama8B"] < area["Qwen32B"] < area["Qwen14B"]


def test_metrology_map_names_the_judges_it_cannot_show(sheet):
    lacking = sheet[~((sheet["judge"] == "Qwen14B") & (sheet["term"] == "dark_current"))]
    ax = plots.metrology_map(lacking)
    assert len(points(ax)) == 2
    assert any("Not shown" in t and "Qwen14B" in t for t in texts_and_labels(ax))


def test_maps_refuse_what_they_cannot_draw(changes, sheet):
    refused(
        DesignError,
        (lambda: plots.bias_map(pd.concat([changes, changes])), "one group at a time"),
        (lambda: plots.metrology_map(sheet[sheet["term"] != "dark_current"]), "dark_current"),
    )


def test_stable_positional_points(design, sheet):
    wide = delta0(design).pivot(index="judge", columns="term", values="estimate")
    ax = drawn(plots.stable_positional(sheet))
    np.testing.assert_allclose(points(ax)[:, :2], wide[["stable_cross_sensitivity", "positional_false_preference"]])


def test_the_map_of_many_judges_has_both_legends():
    many = dark_current_design([f"judge {i}" for i in range(12)])
    ax = drawn(plots.metrology_map(pd.concat([dark_current(many), delta0(many), target_sensitivity(many)])))
    found = [a for a in ax.get_children() if isinstance(a, mpl.legend.Legend)]
    assert sorted(len(f.get_texts()) for f in found) == [3, 12]
    assert all(not f.get_clip_on() or f is ax.get_legend() for f in found)
