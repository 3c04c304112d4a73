"""Rows of estimates by their labels: no number of one level of a group stands for the whole."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from judgestats.errors import DesignError
from judgestats.metrics.measure_registry import measures
from judgestats.reporting import page_data
from judgestats.reporting.estimate_rows import row_of_each, whose
from judgestats.reporting.page_data import PageArguments, measure_all
from judgestats.schema import preferences, ratings

#: Kinds of frames, and the names of the people in them.
FRAMES = ("gold pairs", "people's pairs", "scores", "gold scores", "people's scores", "right or wrong", "classes")
BY = ("criterion", "system", "task", "item", "version")


def verdicts_of_kind(kind: str, by: str) -> tuple[pd.DataFrame, list[str] | None]:
    """Two judges on 12 items of two tasks, systems and versions, by two criteria that differ in how hard they are."""
    rng = np.random.default_rng(1)
    people = ["Ann", "Bob"] if "people" in kind else None
    cells = [
        (judge, f"i{i}", f"task {i % 2}", system, criterion, f"v{i % 3}")
        for judge in ("g", "h", *(people or ()))
        for i in range(12)
        for system in ("s", "t")
        for criterion in ("x", "z")
    ]
    table = pd.DataFrame(cells, columns=["judge", "item", "task", "system", "criterion", "version"])
    things = table.groupby(["item", "system", "criterion"], sort=False).ngroup()
    hard = table["criterion"].eq("x") * 0.4 + table["system"].eq("t") * 0.2 + table["task"].eq("task 1") * 0.1
    right = rng.random(len(table)) > hard
    truth = rng.integers(0, 2, things.max() + 1)[things]
    answer = np.where(right, truth, 1 - truth)
    if "pairs" in kind:
        table = table.assign(first="a", second="b", choice=np.where(answer == 1, "first", "second"))
        table = table if people else table.assign(gold=np.where(truth == 1, "a", "b"))
        others = [c for c in ("system", "criterion") if c != by]  # each answer on a thing of its own
        table["item"] = table["item"].str.cat(table[others])
        table = table.drop(columns=others)
        return preferences(table), people
    if "scores" in kind:
        table["score"] = 3 + truth + rng.normal(0, 0.3, len(table)).round(2) - right
        table = table.assign(gold=3.0 + truth) if "gold" in kind else table
        return ratings(table), people
    if kind == "classes":
        words = np.array(["no", "yes"])
        return ratings(table.assign(answer=words[answer], gold=words[truth])), people
    return ratings(table.assign(correct=answer, gold=truth)), people


@pytest.fixture
def _people_alone(monkeypatch):
    """Of the measures beside the datasheet only the one that the first table reads."""

    def attempts(rows, settings, *_):
        return {} if settings.people is None else {NAME: measures()[NAME].attempt(rows, settings)}

    monkeypatch.setattr(page_data, "attempts", attempts)


NAME = "judge_against_people"


def first_table(data: pd.DataFrame, people: list[str] | None, by: str = "") -> dict[tuple[str, str], tuple[float, ...]]:
    """Term and label -> estimate, n and line of each number of the first table."""
    page = measure_all(data, PageArguments(by=(by,) if by else (), humans=people, n_resamples=20))
    return {
        (column.term, judge): (float(cell["estimate"]), float(cell["n"]), column.reference_of(judge))
        for column in page.summary.columns
        for judge, cell in column.cells.items()
        if column.form != "count" and math.isfinite(float(cell["estimate"]))
    }


@pytest.mark.usefixtures("_people_alone")
@pytest.mark.parametrize("by", BY)
@pytest.mark.parametrize("kind", FRAMES)
def test_each_number_of_the_first_table_is_of_the_level_that_it_names(kind, by):
    data, people = verdicts_of_kind(kind, by)
    table = first_table(data, people, by)
    levels = sorted(data[by].astype(str).unique())[:3]
    assert {judge for _, judge in table} >= {f"{j} · {by} = {level}" for j in ("g", "h") for level in levels}
    for level in levels:
        alone = first_table(data[data[by].astype(str) == level], people)
        for (term, judge), numbers in alone.items():
            if judge in ("g", "h"):
                of_level = table[term, f"{judge} · {by} = {level}"]
                assert of_level[::2] == pytest.approx(numbers[::2], nan_ok=True)
                assert term == "leniency" or of_level[1] == numbers[1]  # leniency on one system counts its items
    assert all(" · " in judge for _, judge in table)


def test_two_rows_of_one_label_are_refused():
    rows = pd.DataFrame({"judge": ["g", "g"], "criterion": ["x", "z"], "term": "accuracy", "estimate": [0.0, 1.0]})
    assert [*row_of_each(rows, ["criterion"])] == ["g · criterion = x", "g · criterion = z"]
    with pytest.raises(DesignError, match="2 estimates are all named 'g'"):
        row_of_each(rows)


def test_all_columns_before_the_section_of_a_datasheet_are_in_the_label():
    sheet = pd.DataFrame({"judge": ["g"], "system": ["s"], "item": ["1"], "section": "scores", "term": "mean_score"})
    assert whose(sheet).tolist() == ["g · system = s · item = 1"]
    assert whose(sheet.drop(columns="section")).tolist() == ["g"]  # of a deviation, say, which is of a system
