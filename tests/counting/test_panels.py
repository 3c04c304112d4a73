"""Tests of judges by things."""

import numpy as np
import pandas as pd

from judgestats.counting.cells import score_panel
from judgestats.counting.judge_answers import answer_panel

SCORES = pd.DataFrame(
    {
        "judge": [*"bbaab"],
        "system": "s",
        "item": [*"22131"],
        "replicate": [0, 1, 0, 0, 0],
        "score": [1.0, 3, 5, np.nan, 7],
    }
)


def test_an_entry_is_the_mean_of_the_runs_of_a_judge_on_a_thing():
    panel = score_panel(SCORES)
    assert [list(panel.judges), list(panel.things["item"].values)] == [["a", "b"], ["1", "2", "3"]]
    assert [panel.thing.tolist(), panel.judge.tolist()] == [[0, 0, 1, 2], [0, 1, 1, 0]]
    np.testing.assert_equal(panel.mean, [5.0, 7, 2, np.nan])
    np.testing.assert_equal(panel.sd, [np.nan, np.nan, np.sqrt(2), np.nan])
    assert [panel.runs.tolist(), panel.missing.tolist()] == [[1, 1, 2, 0], [0, 0, 0, 1]]


def test_a_matrix_has_a_row_for_each_thing_and_a_column_for_each_judge():
    panel = score_panel(SCORES)
    np.testing.assert_equal(panel.matrix(panel.mean, np.nan), [[5, 7], [np.nan, 2], [np.nan, np.nan]])
    assert panel.matrix(np.arange(4), -1).tolist() == [[0, 1], [-1, 2], [3, -1]]


def test_some_things_keep_their_entries():
    some = score_panel(SCORES).where(np.array([True, False, True]))
    assert list(some.things["item"].values) == ["1", "3"]
    assert [some.thing.tolist(), some.judge.tolist()] == [[0, 0, 1], [0, 1, 0]]
    np.testing.assert_equal(some.mean, [5.0, 7, np.nan])
    assert some.of_entries("item").tolist() == [0, 0, 2]


def test_an_answer_is_an_entry_with_its_share_of_the_repeats():
    panel = answer_panel(SCORES, by="item")
    assert panel.answers.tolist() == [1.0, 3.0, 5.0, 7.0]
    assert [panel.thing.tolist(), panel.judge.tolist()] == [[0, 0, 1, 1, 2], [0, 1, 1, 1, 0]]
    assert [panel.answer.tolist(), panel.entries.tolist()] == [[2, 3, 0, 1, -1], [1, 1, 0.5, 0.5, 1]]
    assert panel.weight.tolist() == [1, 1, 1]
    groups = [(key["item"], things, entries) for key, things, entries in panel.each_group(["item"])]
    assert groups == [
        ("1", slice(0, 1), slice(0, 2)),
        ("2", slice(1, 2), slice(2, 4)),
        ("3", slice(2, 3), slice(4, 5)),
    ]
