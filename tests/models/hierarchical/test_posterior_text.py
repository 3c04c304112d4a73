"""A posterior as text."""

from __future__ import annotations

import pytest

from judgestats.models.hierarchical.posterior_text import _three_digits
from models.posterior_draws import posterior

pytest.importorskip("arviz_stats")


def test_no_cautions():
    assert "cautions: none" in repr(posterior())
    assert (posterior().check()["flag"] == "").all()


def test_summary_is_short_and_narrow():
    found = posterior(183, "prior-driven", conf_low=-1234.5678, conf_high=0.00123)
    told = found.summary().splitlines()
    assert repr(found) == found.summary()
    assert max(map(len, told)) <= 120
    assert len(told) < 60
    assert "... 143 more rows, see .tidy()" in told
    assert "[-1,235, 0.00123]" in found.summary()
    assert "0.123 " in found.summary()
    assert "[1] prior-driven (183 of the estimates)" in found.summary()
    assert [line in told for line in ("priors", "method: by hand", "What is it?")] == [True] * 3


def test_summary_cuts_long_names_and_says_once_what_never_changes():
    found = posterior(2, "x " * 100, judge="n" * 200, conf_low=0.0, conf_high=1.0)
    assert max(map(len, repr(found).splitlines())) <= 120
    found = posterior(1)
    assert "all rows: judge = j0" in repr(found)


def test_numbers_have_three_significant_digits_or_all_before_the_point():
    assert [_three_digits(v) for v in (0.012345, 12345.6, float("nan"))] == ["0.0123", "12,346", ""]
