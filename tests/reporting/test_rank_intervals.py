"""The picture of a ranking."""

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import DesignError
from judgestats.reporting.plots import rank_sets


def ranking(**arguments):
    wins = pd.DataFrame([[0, 9, 9], [0, 0, 6], [0, 3, 0]], index=list("ABC"), columns=list("ABC"))
    return js.rank_systems(wins, **arguments)


def test_strengths_and_ranks_are_those_of_the_result():
    result = ranking(pseudo_ties=1)
    left, right = rank_sets(result)
    for axes, term in ((left, "strength"), (right, "rank")):
        points = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "o"]
        np.testing.assert_allclose(points, result.loc[result["term"] == term, "estimate"])
        assert axes.get_xlim()[0] < min(points) <= max(points) < axes.get_xlim()[1]
    assert [t.get_text() for t in left.get_yticklabels()] == ["A", "B", "C"]


def test_an_infinite_strength_is_an_arrow_at_the_end():
    left, right = rank_sets(ranking())
    arrows = [line for line in left.lines if line.get_marker() == ">"]
    assert any(line.get_xdata()[0] == left.get_xlim()[1] and line.get_ydata()[0] == 0 for line in arrows)
    assert len([line for line in right.lines if line.get_marker() == "o"]) == 3


def test_a_result_of_another_measure_is_refused():
    calls = pd.DataFrame({"judge": ["g"], "choice": ["first"], "n": [3]})
    with pytest.raises(DesignError, match="Missing: system"):
        rank_sets(js.position_bias(calls))
