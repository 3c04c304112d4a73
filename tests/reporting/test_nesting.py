"""Few tasks behind many items."""

import numpy as np
import pandas as pd
import pytest

from judgestats.counting.study import Study
from judgestats.reporting.nesting import nesting, nestings, task_advice


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


def pairs(n=300, **columns):
    """Verdicts of two judges on pairs of four systems, with columns of the items."""
    items = pd.DataFrame({"item": [f"i{i}" for i in range(n)], "first": [f"s{i % 4}" for i in range(n)]})
    items = items.assign(second=[f"s{(i + 1) % 4}" for i in range(n)], gold=items["first"], **columns)
    calls = pd.concat([items.assign(judge=j) for j in "ab"])
    return Study.of(calls.assign(choice="first"))


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"app": [f"app {i % 20}" for i in range(300)]}, [("levels of app", 20)]),
        ({"qid": [i % 25 for i in range(300)]}, [("levels of qid", 25)]),
        ({"chars_1": [i % 25 for i in range(300)]}, []),  # a measured number
        ({"tokens": [str(i % 25) for i in range(300)]}, []),
        ({"answer_of_model": [f"answer {i % 25}" for i in range(300)]}, []),
        ({"both": [f"s{i % 4} and s{(i + 1) % 4} {i % 4}" for i in range(300)]}, []),  # what the candidates say, too
        ({"level": [f"l{i % 5}" for i in range(300)]}, []),  # too few to be a sample
        ({"id_of_row": [f"r{i}" for i in range(300)]}, []),  # each item its own
        (
            {"app": [f"app {i % 20}" for i in range(300)], "same": [f"A{i % 20}" for i in range(300)]},
            [("levels of app", 20)],
        ),
    ],
)
def test_columns_that_nobody_named(columns, expected):
    assert [(n.name, n.levels) for n in nestings(pairs(**columns))] == expected


def test_levels_are_those_of_the_items_that_are_compared():
    """150 labelled items of 24 personas, beside 1,501 with personas of their own."""
    personas = [f"p{i % 24}" if i < 150 else f"own {i}" for i in range(1651)]
    study = pairs(1651, persona=personas)
    assert list(nestings(study)) == []
    labelled = [f"i{i}" for i in range(150)]
    assert [(n.name, n.levels, n.items) for n in nestings(study, labelled)] == [("levels of persona", 24, 150)]
