"""Pictures show what the estimates say, and nothing that they do not."""

import itertools
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from judgestats.errors import DesignError
from judgestats.metrics import consensus
from judgestats.metrics.bias import consistency, position_bias
from judgestats.metrics.datasheets import datasheet
from judgestats.metrics.psychometrics import criterion_shift, dark_current, delta0, target_sensitivity
from judgestats.reporting import plots
from judgestats.reporting.plots.canvas import PALETTE, literal, shortened, spread
from reporting.designs import dark_current_design, plain_verdicts, self_ratings


@pytest.fixture(scope="module")
def design():
    return dark_current_design()


@pytest.fixture(scope="module")
def sheet(design):
    return datasheet(design, n_resamples=200)


def texts(ax):
    return [t.get_text() for t in [*ax.texts, *ax.get_yticklabels(), *ax.get_xticklabels()]]


def drawn(ax):
    """The picture can be drawn in full."""
    ax.figure.savefig("/dev/null", format="png", dpi=40)
    return ax


def points(ax):
    return np.array([c.get_offsets().data[0] for c in ax.collections if c.get_offsets().size == 2])


# ---------------------------------------------------------------- labels


def test_long_names_keep_head_and_tail_and_stay_apart():
    names = [f"org/a-very-long-name-of-a-judge-{i}-with-the-same-end" for i in (1, 2)]
    short = shortened(names, 20)
    assert len(set(short)) == 2
    assert all(len(s) <= 20 for s in short)
    assert all(s.startswith("org/") for s in short)


def test_a_repeated_name_is_one_label():
    assert shortened(["x" * 50, "x" * 50], 10)[0] == shortened(["x" * 50], 10)[0]


def test_dollar_signs_are_no_formula():
    ax = Figure().add_subplot()
    ax.set_title(literal(r"$\frac{a}$ and $x"))
    drawn(ax)
    assert r"\$" in ax.get_title()


@pytest.mark.parametrize("seed", range(5))
def test_spread_keeps_the_gap_and_the_order(seed):
    values = np.random.default_rng(seed).uniform(size=8)
    placed = np.array(spread(list(values), 0.06, 0.0, 1.0))
    assert (np.diff(np.sort(placed)) >= 0.06 - 1e-9).all()
    assert (np.argsort(placed) == np.argsort(values)).all()
    assert placed.max() <= 1.0


# ---------------------------------------------------------------- the instrument


def test_metrology_map_puts_each_judge_at_its_two_rates(design, sheet):
    pooled = dark_current(design).query("vacuum_kind == 'all'").set_index("judge")["estimate"]
    stable = delta0(design).query("term == 'stable_cross_sensitivity'").set_index("judge")["estimate"]
    ax = drawn(plots.metrology_map(sheet))
    np.testing.assert_allclose(points(ax), np.column_stack([pooled, stable.loc[pooled.index]]))
    assert {"Llama8B", "Qwen14B", "Qwen32B"} <= set(texts(ax))


def test_metrology_map_is_the_same_from_a_datasheet_and_from_stacked_results(design, sheet):
    stacked = pd.concat([dark_current(design), delta0(design), target_sensitivity(design)], ignore_index=True)
    np.testing.assert_allclose(points(plots.metrology_map(stacked)), points(plots.metrology_map(sheet)))


def test_metrology_map_grows_the_marker_with_sensitivity(sheet):
    ax = plots.metrology_map(sheet)
    area = {
        t.get_text(): c.get_sizes()[0]
        for t, c in zip(ax.texts, [c for c in ax.collections if c.get_offsets().size == 2], strict=False)
    }
    assert area["Llama8B"] < area["Qwen32B"] < area["Qwen14B"]


def test_metrology_map_names_the_judges_it_cannot_show(sheet):
    lacking = sheet[~((sheet["judge"] == "Qwen14B") & (sheet["term"] == "dark_current"))]
    ax = plots.metrology_map(lacking)
    assert len(points(ax)) == 2
    assert any("Not shown" in t and "Qwen14B" in t for t in texts(ax))


def test_metrology_map_refuses_data_without_vacuum(sheet):
    with pytest.raises(DesignError, match="dark_current"):
        plots.metrology_map(sheet[sheet["term"] != "dark_current"])


def test_curves_run_through_the_rates_with_their_intervals(design, sheet):
    expected = target_sensitivity(design).query("term == 'target_sensitivity' and judge == 'Llama8B'")
    ax = drawn(plots.psychometric_curves(sheet))
    line = next(line for line in ax.lines if len(line.get_ydata()) == 5)
    np.testing.assert_allclose(line.get_ydata(), expected["estimate"])
    bars = ax.collections[0].get_segments()
    np.testing.assert_allclose([b[:, 1] for b in bars], expected[["conf_low", "conf_high"]])
    assert set(np.round(ax.get_xticks(), 6)) == {1, 2, 3, 4, 5}


def test_decomposition_bars_are_the_classes_and_fill_the_line(design, sheet):
    ax = drawn(plots.decomposition(sheet))
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


def test_stable_positional_points(design, sheet):
    wide = delta0(design).pivot(index="judge", columns="term", values="estimate")
    ax = drawn(plots.stable_positional(sheet))
    np.testing.assert_allclose(points(ax)[:, :2], wide[["stable_cross_sensitivity", "positional_false_preference"]])


def test_operating_point_runs_from_the_base_to_the_strict_prompt():
    calls = dark_current_design(["Qwen32B"], prompts=("base", "strict"))
    shift, sensitivity = (
        criterion_shift(calls, "base", "strict"),
        target_sensitivity(calls, by="prompt"),
    )
    ax = drawn(plots.operating_point(shift, sensitivity))
    ends = np.array(
        [
            [line.get_xdata()[0], line.get_ydata()[0]]
            for line in ax.lines
            if line.get_marker() == "o" and len(line.get_xdata()) == 1
        ]
    )
    rate = {
        p: delta0(calls[calls["prompt"] == p]).query("term == 'raw_false_preference'")["estimate"].item()
        for p in ("base", "strict")
    }
    right = sensitivity.query("term == 'target_sensitivity' and delta == 1").set_index("prompt")["estimate"]
    np.testing.assert_allclose(ends, [[rate["base"], right["base"]], [rate["strict"], right["strict"]]])


@pytest.mark.slow
def test_operating_point_is_the_same_from_a_datasheet():
    calls = dark_current_design(["Qwen32B"], prompts=("base", "strict"))
    shift = criterion_shift(calls, "base", "strict")
    whole = datasheet(calls, n_resamples=100, baseline="base")
    rows = whole[whole["section"].str.startswith("criterion")]
    one, two = (plots.operating_point(s) for s in (shift, rows))
    assert [line.get_xydata().tolist() for line in one.lines] == [line.get_xydata().tolist() for line in two.lines]


# ---------------------------------------------------------------- forests and bars


def test_forest_shows_each_estimate_and_its_interval():
    rows = consistency(plain_verdicts(["a", "b", "c"])).query("term == 'consistency'")
    ax = drawn(plots.forest(rows))
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    np.testing.assert_allclose([d.get_xdata()[0] for d in dots], rows["estimate"])
    whiskers = [line for line in ax.lines if len(line.get_xdata()) == 2 and line.get_color() == PALETTE[0]]
    np.testing.assert_allclose([w.get_xdata() for w in whiskers], rows[["conf_low", "conf_high"]])
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b", "c"]


def test_forest_has_a_panel_a_term_and_signed_terms_around_zero():
    calls = plain_verdicts(["a", "b"])
    rows = pd.concat(
        [consistency(calls).query("term == 'consistency'"), position_bias(calls).query("term == 'position_bias'")]
    )
    left, right = plots.forest(rows)
    assert left.get_xlim() == (-0.02, 1.02)
    assert right.get_xlim()[0] == -right.get_xlim()[1]


def test_forest_says_what_is_not_available_and_clips_infinite_ends():
    rows = pd.DataFrame(
        {
            "judge": ["a", "b"],
            "term": "detection_threshold",
            "estimate": [np.nan, 2.0],
            "conf_low": [np.nan, -np.inf],
            "conf_high": [np.nan, 3.0],
        }
    )
    ax = drawn(plots.forest(rows))
    assert "n/a" in texts(ax)
    assert any(line.get_marker() == "<" for line in ax.lines)


def test_forest_refuses_too_few_axes():
    rows = position_bias(plain_verdicts(["a"]))
    with pytest.raises(DesignError, match="got 1 axes"):
        plots.forest(rows, ax=Figure().add_subplot())
    with pytest.raises(DesignError, match="no estimate"):
        plots.forest(rows.head(0))


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


def test_curves_of_many_judges_get_a_legend_inside_the_figure():
    many = target_sensitivity(dark_current_design([f"a-judge-with-a-long-name-{i}" for i in range(12)]))
    ax = drawn(plots.psychometric_curves(many))
    box = ax.get_legend().get_window_extent()
    assert len(ax.get_legend().get_texts()) == 12
    assert box.x1 <= ax.figure.bbox.x1 + 1
    assert box.x0 >= ax.get_window_extent().x1


def test_the_map_of_many_judges_has_both_legends():
    many = dark_current_design([f"judge {i}" for i in range(12)])
    ax = drawn(plots.metrology_map(pd.concat([dark_current(many), delta0(many), target_sensitivity(many)])))
    found = [a for a in ax.get_children() if isinstance(a, mpl.legend.Legend)]
    assert sorted(len(f.get_texts()) for f in found) == [3, 12]
    assert all(not f.get_clip_on() or f is ax.get_legend() for f in found)


# ---------------------------------------------------------------- matrices


def test_deviations_are_coloured_around_zero_and_own_cells_framed():
    deviations = consensus.consensus_deviation(self_ratings())
    ax = drawn(plots.deviation_matrix(deviations))
    mesh = ax.collections[0]
    assert mesh.norm.vmin == -mesh.norm.vmax
    below, above = mesh.cmap(mesh.norm(-0.5 * mesh.norm.vmax)), mesh.cmap(mesh.norm(0.5 * mesh.norm.vmax))
    assert below[2] > below[0]
    assert above[0] > above[2]
    frames = [(round(p.get_x()), round(p.get_y())) for p in ax.patches]
    assert sorted(frames) == [(0, 0), (1, 1), (2, 2)]


def test_deviation_matrix_writes_each_deviation_with_its_sign():
    deviations = consensus.consensus_deviation(self_ratings())
    ax = plots.deviation_matrix(deviations)
    pairs = deviations[deviations["term"] == "deviation"].set_index(["judge", "system"])["estimate"]
    for cell in (("alpha", "alpha"), ("gamma", "alpha")):
        value = float(pairs[cell])
        assert f"{'−' if value < 0 else '+'}{abs(value):.2f}" in texts(ax)


def test_own_cells_follow_the_identity():
    ratings = self_ratings().assign(system=lambda d: "system of " + d["system"].astype(str))
    identity = {f"system of {n}": n for n in ("alpha", "beta", "gamma")}
    assert len(plots.deviation_matrix(consensus.consensus_deviation(ratings, identity=identity)).patches) == 3
    assert len(plots.score_matrix(ratings, identity=identity).patches) == 3
    assert not plots.score_matrix(ratings).patches


def test_score_matrix_takes_results_ratings_and_wide_matrices():
    ratings = self_ratings()
    result = consensus.score_matrix(ratings)
    wide = result.pivot(index="judge", columns="system", values="estimate")
    shown = [[t for t in texts(plots.score_matrix(x)) if t.replace(".", "").isdigit()] for x in (result, ratings, wide)]
    assert shown[0] == shown[1] == shown[2]
    assert any(t.startswith("±") for t in texts(plots.score_matrix(result)))


def test_score_matrix_ranks_within_the_judge():
    wide = pd.DataFrame({"x": [1.0, 9.0], "y": [2.0, 8.0]}, index=["a", "b"])
    mesh = plots.score_matrix(wide).collections[0]
    np.testing.assert_array_equal(mesh.get_array(), [[1, 2], [2, 1]])
    np.testing.assert_array_equal(plots.score_matrix(wide, shade="score").collections[0].get_array(), wide)


def test_long_names_leave_room_for_the_matrix():
    names = [f"an organisation with a long name / a judge with a long name, version {i}" for i in range(3)]
    deviations = consensus.consensus_deviation(self_ratings(names, n_items=2))
    for shown in (deviations, deviations[deviations["system"].isin([names[0], ""])]):
        ax = drawn(plots.deviation_matrix(shown))
        cell = ax.get_window_extent().width / ax.get_xlim()[1] / ax.figure.dpi
        assert cell > 0.6
        labels = [*ax.texts, *ax.get_xticklabels(), *ax.get_yticklabels()]
        box = ax.figure.bbox
        assert all(t.get_window_extent().x1 <= box.x1 + 1 and t.get_window_extent().y1 <= box.y1 + 1 for t in labels)


def test_matrices_refuse_two_rows_of_one_cell():
    ratings = pd.concat([self_ratings().assign(condition=c) for c in "AB"])
    both = consensus.score_matrix(ratings, by="condition").drop(columns="condition")
    with pytest.raises(DesignError, match="more than one row"):
        plots.score_matrix(both)
    with pytest.raises(DesignError, match="no deviation"):
        plots.deviation_matrix(both)


def test_a_missing_cell_is_said_to_be_missing():
    ratings = self_ratings()
    holed = ratings[~((ratings["judge"] == "alpha") & (ratings["system"] == "beta"))]
    assert "n/a" in texts(drawn(plots.score_matrix(holed)))


# ---------------------------------------------------------------- manners


def test_pictures_draw_on_the_axes_given(sheet):
    ax = Figure().add_subplot()
    assert plots.decomposition(sheet, ax=ax) is ax


@pytest.mark.slow
def test_pictures_leave_pyplot_and_its_settings_alone():
    code = """
import sys, matplotlib
def settings():
    return {k: matplotlib.rcParams[k] for k in matplotlib.rcParams if k != "backend"}  # asking for it imports pyplot
before = settings()
import pandas as pd
from judgestats.reporting import plots
rows = pd.DataFrame({"judge": ["a"], "term": "consistency", "estimate": 0.5, "conf_low": 0.4, "conf_high": 0.6})
plots.forest(rows).figure.savefig("/dev/null", format="svg")
assert "matplotlib.pyplot" not in sys.modules
assert settings() == before
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_own_cells_are_framed_in_every_condition():
    ratings = pd.concat([self_ratings(seed=s).assign(condition=c) for s, c in enumerate("AB")])
    shown = consensus.score_matrix(ratings, by="condition")
    assert len(plots.score_matrix(shown).patches) == 6
    assert len(plots.deviation_matrix(consensus.consensus_deviation(ratings, by="condition")).patches) == 6
