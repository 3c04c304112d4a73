"""Matrices of scores and of deviations show what the measures say."""

import numpy as np
import pandas as pd
from matplotlib.collections import QuadMesh

from judgestats.errors import DesignError
from judgestats.metrics import consensus
from judgestats.reporting import plots
from refusals import refused
from reporting.designs import self_ratings
from reporting.drawing import drawn, texts_and_labels

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


def test_data_without_systems_have_no_unnamed_system():
    rows = pd.DataFrame({"judge": ["a", "b"], "system": "", "term": "deviation", "estimate": [-0.4, 0.4]})
    ax = plots.deviation_matrix(rows)
    assert [t.get_text() for t in ax.get_xticklabels()] == ["all items"]
    assert ax.get_xlabel() == ""


def test_the_colour_bar_has_no_stripes_between_its_colours():
    ax = plots.deviation_matrix(consensus.consensus_deviation(self_ratings()))
    (solids,) = (c for c in ax.figure.axes[1].collections if isinstance(c, QuadMesh))
    ax.figure.canvas.draw()
    assert np.array_equal(solids.get_edgecolor(), solids.get_facecolor())


def test_deviation_matrix_writes_each_deviation_with_its_sign():
    deviations = consensus.consensus_deviation(self_ratings())
    ax = plots.deviation_matrix(deviations)
    pairs = deviations[deviations["term"] == "deviation"].set_index(["judge", "system"])["estimate"]
    for cell in (("alpha", "alpha"), ("gamma", "alpha")):
        value = float(pairs[cell])
        assert f"{'−' if value < 0 else '+'}{abs(value):.2f}" in texts_and_labels(ax)


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
    shown = [
        [t for t in texts_and_labels(plots.score_matrix(x)) if t.replace(".", "").isdigit()]
        for x in (result, ratings, wide)
    ]
    assert shown[0] == shown[1] == shown[2]
    assert any(t.startswith("±") for t in texts_and_labels(plots.score_matrix(result)))


def test_score_matrix_ranks_within_the_judge():
    wide = pd.DataFrame({"x": [1.0, 9.0], "y": [2.0, 8.0]}, index=["a", "b"])
    mesh = plots.score_matrix(wide, order="given").collections[0]
    np.testing.assert_array_equal(mesh.get_array(), [[1, 2], [2, 1]])
    np.testing.assert_array_equal(
        plots.score_matrix(wide, shade="score", order="given").collections[0].get_array(), wide
    )


def test_matrices_have_the_highest_means_first_and_own_systems_on_the_diagonal():
    wide = pd.DataFrame({"x": [1.0, 3.0], "a": [5.0, 7.0], "z": [9.0, 9.0]}, index=["a", "b"])
    ax = plots.score_matrix(wide)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["b", "a"]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["a", "z", "x"]  # its own system, then by the mean
    assert ax.data.set_index(["judge", "system"])["estimate"].to_dict() == wide.stack().to_dict()


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
    refused(
        DesignError,
        (plots.score_matrix, "more than one row"),
        (plots.deviation_matrix, "no deviation"),
        of=lambda function: function(both),
    )


def test_a_missing_cell_is_said_to_be_missing():
    ratings = self_ratings()
    holed = ratings[~((ratings["judge"] == "alpha") & (ratings["system"] == "beta"))]
    assert "n/a" in texts_and_labels(drawn(plots.score_matrix(holed)))


def test_own_cells_are_framed_in_every_condition():
    ratings = pd.concat([self_ratings(seed=s).assign(condition=c) for s, c in enumerate("AB")])
    shown = consensus.score_matrix(ratings, by="condition")
    assert len(plots.score_matrix(shown).patches) == 6
    assert len(plots.deviation_matrix(consensus.consensus_deviation(ratings, by="condition")).patches) == 6
