"""Confusion tables as a heat map."""

from __future__ import annotations

import pandas as pd

import judgestats as js
from judgestats.reporting import plots


def counts(*judges: str) -> pd.DataFrame:
    table = pd.DataFrame({"answer": ["a", "b", "b", "c"], "other_answer": ["a", "a", "b", "b"], "n": [6, 2, 3, 1]})
    return pd.concat([table.assign(judge=j, other="gold") for j in judges], ignore_index=True)


def test_rows_are_right_classes_and_add_up_to_one():
    picture = plots.confusion(js.confusion(counts("g")))
    assert [t.get_text() for t in picture[0].get_yticklabels()] == ["a", "b", "c"]
    assert [t.get_text() for t in picture[0].texts] == [
        "75\u202f%",
        "25\u202f%",
        "0\u202f%",
        "0\u202f%",
        "75\u202f%",
        "25\u202f%",
        "n/a",
        "n/a",
        "n/a",
    ]
    assert len(picture[0].patches) == 3  # the right answers


def test_several_judges_have_their_names():
    picture = plots.confusion(js.confusion(counts("g", "h")))
    assert [t.get_text() for t in picture[0].get_yticklabels()][:4] == ["g: a", "g: b", "g: c", "h: a"]
