"""Codes of labels: numbering by first appearance against its twin."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import twins
from judgestats.schema.coding import BLANKS, by_appearance


@given(st.lists(st.integers(0, 40), max_size=60), st.sampled_from([np.int16, np.int32, np.int64]))
def test_by_appearance_equals_its_twin(code, dtype):
    number, first = by_appearance(np.array(code, dtype=dtype), 41)
    want_number, want_first = twins.by_appearance(code)
    np.testing.assert_array_equal(number, want_number)
    np.testing.assert_array_equal(first, want_first)


def test_blanks_are_those_of_python():
    assert set(BLANKS) == {sign for sign in map(chr, range(0x110000)) if sign.isspace()}
