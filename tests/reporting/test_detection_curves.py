"""The ROC curve and precision by recall."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import DesignError
from judgestats.reporting import plots


def curve() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    right = (rng.random(60) < 0.4).astype(int)
    parts = [
        pd.DataFrame({"judge": j, "item": range(60), "score": (right + rng.normal(0, s, 60)).round(1), "gold": right})
        for j, s in (("g", 0.7), ("h", 1.5))
    ]
    return js.roc_curve(pd.concat(parts))


@pytest.mark.parametrize(
    ("plot", "across", "up"), [(plots.roc, "fpr", "tpr"), (plots.precision_recall, "tpr", "precision")]
)
def test_each_judge_has_its_points(plot, across, up):
    points = curve()
    picture = plot(points)
    assert [ax.get_title(loc="left") for ax in picture] == ["g", "h"]
    for ax, (_, part) in zip(picture, points.groupby("judge"), strict=True):
        x, y = ax.lines[1].get_data()
        defined = part[part["precision"].notna()] if up == "precision" else part
        assert x.tolist() == defined[across].tolist()
        assert y.tolist() == defined[up].tolist()


def test_the_line_of_no_skill_is_the_share_of_positives():
    points = curve()
    picture = plots.precision_recall(points)
    assert set(picture[0].lines[0].get_ydata()) == {points["precision"].iloc[-1]}


def test_another_table_is_refused():
    with pytest.raises(DesignError, match=r"needs the columns .*threshold"):
        plots.roc(pd.DataFrame({"judge": ["g"], "estimate": [0.5]}))
