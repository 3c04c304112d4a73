"""docs/kernels.csv has what benchmarks/two_forms.py measures, and docs/benchmarks.md shows it."""

import math

import pytest
import two_forms

from judgestats.kernels import compiling

ROWS = two_forms.stored_rows()


def test_each_kernel_has_a_row_and_what_a_first_use_costs():
    assert [row["what"] for row in ROWS] == [*(row.what for row in two_forms.ROWS), two_forms.FIRST_USE]


def test_ratios_are_those_of_the_times():
    for row in ROWS[:-1]:
        assert float(row["ratio"]) == pytest.approx(float(row["numpy_ms"]) / float(row["numba_ms"]), rel=0.05)


def test_the_page_shows_the_table():
    page = two_forms.PAGE.read_text(encoding="utf-8")
    assert page.partition(two_forms.START)[2].partition(two_forms.END)[0] == two_forms.page_of(ROWS)


@pytest.mark.parametrize(
    ("faster", "crossing"),
    [("cccc", "always"), ("nccc", "from 2 x"), ("ccnc", "from 4 x"), ("cccn", "never"), ("nnnn", "never")],
)
def test_where_the_forms_cross_is_the_size_from_which_one_is_faster_at_each(faster, crossing, monkeypatch):
    times = iter({"numba": 1.0, "NumPy": 2.0 if x == "c" else 0.5} for x in faster)
    monkeypatch.setattr(two_forms, "milliseconds", lambda call: next(times))
    row = two_forms.Row("a kernel", lambda size: lambda: size, (1, 2, 3, 4), "x")
    assert two_forms.measured(row)["compiled_faster"] == crossing


@pytest.mark.parametrize("form", two_forms.FORMS)
def test_one_form_is_timed(form):
    usual = compiling.COMPILED_FROM
    with two_forms.only(form):
        assert compiling.TwoForms("NumPy", "numba").of(10) == form
    assert usual == compiling.COMPILED_FROM
    assert math.isfinite(usual)
