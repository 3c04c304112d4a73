"""Few tasks behind many items."""

import numpy as np
import pandas as pd
import pytest

from judgestats.counting.study import Study
from judgestats.reporting.nesting import nesting, task_advice


def study_of_items(items, **columns):
    return Study.of(pd.DataFrame({"judge": "g", "item": items, "system": "s", "score": 1.0, **columns}))


def test_the_first_part_of_a_joined_item():
    found = nesting(study_of_items([f"q{i % 25} / d{i}" for i in range(400)]))
    assert (found.name, found.levels, found.items) == ("groups of items (by the first part of the id)", 25, 400)
    assert np.unique(found.level).size == 25


@pytest.mark.parametrize(
    ("items", "task"),
    [
        ([f"q{i % 30} / d{i}" for i in range(400)], None),  # 30 are enough
        ([f"q{i % 25} / d{i}" for i in range(50)], None),  # two items each
        ([f"i{i % 100}" for i in range(400)], [f"t{i % 7}" for i in range(400)]),  # an item of several tasks
        (["q / d"] * 10, None),
    ],
)
def test_no_nesting(items, task):
    assert nesting(study_of_items(items, **({"task": task} if task else {}))) is None


def test_tasks_of_some_rows_are_those_of_the_rows():
    study = study_of_items([f"i{i}" for i in range(60)], task=[f"t{i % 6}" for i in range(60)])
    assert nesting(study)[2:] == (6, 60)
    assert nesting(study.where(np.arange(60) % 6 < 3))[2:] == (3, 30)


def test_a_column_for_the_task_is_proposed_only_where_there_is_none():
    joined = study_of_items([f"q{i % 25} / d{i}" for i in range(400)])
    assert task_advice(joined).startswith(
        "25 groups of items (by the first part of the id) stand behind 400 items. Map the column"
    )
    assert task_advice(study_of_items([f"i{i}" for i in range(60)], task=[f"t{i % 6}" for i in range(60)])) == ""
    assert task_advice(study_of_items([f"i{i}" for i in range(60)])) == ""
