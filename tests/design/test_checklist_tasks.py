"""Checklist tasks: what counts as an element, what a change of surface keeps, how texts are filled up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgestats.design.checklist_tasks import CHANGES, Checklist, changed, checklists, filled_to
from judgestats.errors import DesignError

TASKS, NEUTRAL = checklists()


def test_neutral_sentences_do_no_part_of_a_task():
    for task in TASKS:
        assert task.elements_in(" ".join([task.opening, *NEUTRAL])) == frozenset()
        assert task.elements_in(task.response(range(5))) == frozenset(range(5))
        assert all(name in task.response(range(5)) for name, _ in task.names)


@given(st.sampled_from(TASKS), st.sets(st.integers(0, 4), min_size=2), st.sampled_from(CHANGES), st.integers(0, 99))
def test_a_change_of_surface_changes_the_text_and_keeps_the_elements(task, chosen, change, seed):
    text = task.response(chosen)
    other = changed(task, text, change, np.random.default_rng(seed))
    assert other != text
    assert task.elements_in(other) == frozenset(chosen)


def test_a_change_that_does_nothing_is_refused():
    task = Checklist("t", "q", ["Ask Anna.", "Go home."], "Hello.")
    for change in ("reorder", "rename"):
        with pytest.raises(DesignError, match=f"{change!r} changes nothing"):
            changed(task, "Hello.", change, np.random.default_rng(0))
    with pytest.raises(DesignError, match="'Maria', which may stand for 'Anna', is in the text"):
        Checklist("t", "q", ["Ask Anna.", "Ask Maria."], "Hello.", [["Anna", "Maria"]])


@given(st.sampled_from(TASKS), st.integers(0, 4), st.integers(0, 99))
def test_filled_texts_are_as_long_as_asked(task, level, seed):
    full = len(task.response(range(5)))
    text = filled_to(task.response(range(level)), full, NEUTRAL, np.random.default_rng(seed), 0.05)
    assert abs(len(text) - full) <= 0.05 * full
    assert task.elements_in(text) == frozenset(range(level))
