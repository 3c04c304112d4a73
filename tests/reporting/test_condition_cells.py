"""Judges under each level of a condition: forests, a matrix or a spread, and no estimate is lost."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from judgestats.errors import DesignError
from judgestats.reporting import plots
from refusals import refused
from reporting.drawing import drawn, marks, names, texts, whiskers


def by_level(judges, levels, condition="criterion", term="accuracy", seed=3):
    """Estimates in (0.2, 0.9) of each judge under each level, with intervals."""
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame([*itertools.product(judges, levels)], columns=["judge", condition]).assign(term=term)
    value = rng.uniform(0.2, 0.9, len(rows))
    return rows.assign(estimate=value, conf_low=value - 0.05, conf_high=value + 0.07, method="Wilson", flag="")


def means(table, column):
    return list(table.groupby(column)["estimate"].mean().sort_values(ascending=False).index)


def test_a_dozen_cells_are_forests_with_one_scale():
    table = by_level("abc", ["w", "x", "y", "z"])
    picture = plots.by_condition(table, "criterion", title="All")
    drawn(list(picture))
    assert [ax.get_title("left") for ax in picture] == means(table, "criterion")
    assert len({ax.get_xlim() for ax in picture}) == 1
    rows = means(table, "judge")
    assert names(picture[0]) == rows
    for ax in picture:
        of_level = table[table["criterion"] == ax.get_title("left")]
        wanted = {(r.estimate, float(rows.index(r.judge))) for r in of_level.itertuples()}
        assert {m[:2] for m in marks(ax)} == wanted
        assert set(whiskers(ax)) == set(zip(of_level["conf_low"], of_level["conf_high"], strict=True))


def test_more_cells_are_a_matrix_whose_bars_have_one_scale():
    table = by_level("abcd", ["w", "x", "y", "z"])
    picture = drawn(plots.by_condition(table, "criterion"))
    rows, columns = means(table, "judge"), means(table, "criterion")
    assert names(picture) == rows
    assert [t.get_text() for t in picture[0].get_xticklabels()] == columns
    cells = table.set_index(["judge", "criterion"])
    low, high = table["conf_low"].min(), table["conf_high"].max()
    bars = [line for line in picture.lines if len(line.get_xdata()) == 2]
    assert len(bars) == 16
    for text, bar, (i, k) in zip(picture.texts, bars, itertools.product(range(4), range(4)), strict=False):
        cell = cells.loc[(rows[i], columns[k])]
        assert text.get_text() == f"{100 * cell['estimate']:.0f}\u202f%"
        place = [k + 0.08 + 0.84 * (cell[end] - low) / (high - low) for end in ("conf_low", "conf_high")]
        np.testing.assert_allclose(bar.get_xdata(), place)
    assert f"from {100 * low:.0f} % to {100 * high:.0f} %" in " ".join(texts(picture)[-1].split())


@pytest.mark.parametrize("n", [3, 5])
def test_own_answers_are_framed_by_name_by_identity_and_as_the_measure_says(n):
    judges = list("abcde")[:n]
    table = by_level(judges, judges, "system", "score")

    def framed(picture):
        """Judge and system of each frame, of forests and of a matrix."""
        if len(picture) > 1:
            names_of = names(picture[0])
            return {(names_of[round(p.get_y() + 0.45)], ax.get_title("left")) for ax in picture for p in ax.patches}
        columns = [t.get_text() for t in picture[0].get_xticklabels()]
        return {(names(picture)[int(p.get_y())], columns[int(p.get_x())]) for p in picture.patches}

    assert framed(plots.by_condition(table, "system")) == {(j, j) for j in judges}
    other = table.assign(system="model " + table["system"])
    assert framed(plots.by_condition(other, "system")) == set()
    identity = {f"model {j}": j for j in judges}
    assert framed(plots.by_condition(other, "system", identity=identity)) == {(j, f"model {j}") for j in judges}
    of_measure = other.assign(own=other["system"] == "model a")
    assert framed(plots.by_condition(of_measure, "system")) == {(j, "model a") for j in judges}


def test_many_levels_are_a_spread_with_the_names_of_its_ends():
    levels = [f"task {k}" for k in range(60)]
    table = by_level("abc", levels, "task")
    picture = drawn(plots.by_condition(table, "task"))
    rows = means(table, "judge")
    assert names(picture) == rows
    for judge, ticks in zip(rows, picture.collections[1:], strict=True):
        at = [segment[0][0] for segment in ticks.get_segments()]
        np.testing.assert_allclose(at, np.sort(table.loc[table["judge"] == judge, "estimate"]))
    means_drawn = [line.get_xdata()[0] for line in picture.lines if line.get_linewidth() == 2.0]
    np.testing.assert_allclose(means_drawn, [table.loc[table["judge"] == j, "estimate"].mean() for j in rows])
    ends = table.sort_values("estimate").groupby("judge")["task"].agg(["first", "last"]).loc[rows]
    assert texts(picture)[:8] == [*ends.to_numpy().ravel(), "lowest", "highest"]
    hashes = table.assign(task=[f"{hash(t) & 0xFFFFFFFFFF:010x}" for t in table["task"]])
    picture = plots.by_condition(hashes, "task")
    assert len(texts(picture)) == 1
    assert "60 levels of task, whose names are hashes" in texts(picture)[0]


def test_a_few_levels_that_are_hashes_have_numbers():
    levels = ["9f3a6c1de204", "02bd77c1a9f0", "77aa0be4c1d2", "c0ffee123456"]
    picture = plots.by_condition(by_level("abcd", levels, "prompt"), "prompt")
    assert [t.get_text() for t in picture[0].get_xticklabels()] == ["1", "2", "3", "4"]
    assert set(picture.data["prompt"]) == set(levels)


def test_levels_that_are_numbers_keep_their_order():
    table = by_level("abcd", [10.0, 2.0, 0.5, 1.0], "temperature")
    ticks = plots.by_condition(table, "temperature")[0].get_xticklabels()
    assert [t.get_text() for t in ticks] == [f"temperature {v}" for v in ("0.5", "1", "2", "10")]


def test_what_cannot_be_drawn_is_refused():
    table = by_level("abcd", ["w", "x", "y", "z"])
    two = pd.concat([table, table.assign(term="kappa")])
    refused(
        DesignError,
        (lambda: plots.by_condition(table, "strategy"), "strategy"),
        (lambda: plots.by_condition(two, "criterion"), "Name one in term="),
        (lambda: plots.by_condition(table, "criterion", term="kappa"), "needs kappa"),
        (lambda: plots.by_condition(pd.concat([table, table]), "criterion"), "drawn on top"),
        (lambda: plots.by_condition(table, "criterion", ax=list(Figure().subplots(1, 2))), "1 panels"),
    )
