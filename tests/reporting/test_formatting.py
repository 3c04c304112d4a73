"""Rounding and spelling: the only place where numbers lose digits."""

import math

import pytest

from judgestats.metrics.measure_registry import terms
from judgestats.reporting import formatting


@pytest.mark.parametrize(
    ("value", "decimals", "shown"),
    [
        (2 / 3, 3, "0.667"),
        (-2 / 3, 3, "−0.667"),
        (-0.0004, 3, "0.000"),
        (-0.0006, 3, "−0.001"),
        (1e6, 0, "1\u202f000\u202f000"),
        (math.inf, 3, "∞"),
        (-math.inf, 3, "−∞"),
        (math.nan, 3, "n/a"),
        (12345.678, 1, "12\u202f345.7"),
    ],
)
def test_numbers(value, decimals, shown):
    assert formatting.number(value, decimals) == shown


@pytest.mark.parametrize(
    ("value", "form", "shown"),
    [(0.25, "share", "25\u202f%"), (0.125, "share", "12.5\u202f%"), (-0.2, "points", "−20"), (0.025, "points", "+2.5"),
     (0.0, "points", "0"), (0.25, "score", "0.25"), (3.0, "count", "3")],
)  # fmt: skip
def test_a_number_of_an_axis_is_printed_as_an_estimate(value, form, shown):
    assert formatting.tick(value, form) == shown


def test_an_interval_says_where_it_is_censored():
    assert formatting.interval(0.57827, 0.74469) == "[0.58, 0.74]"
    assert formatting.interval(0.57827, 0.74469, decimals=3) == "[0.578, 0.745]"
    assert formatting.interval(-math.inf, 3.0, first=1.0, last=5.0) == "[≤ 1, 3.00]"
    assert formatting.interval(2.0, math.inf, first=1.0, last=5.0) == "[2.00, > 5]"
    assert formatting.interval(-math.inf, math.inf, first=0.5, last=5.0) == "[≤ 0.5, > 5]"
    assert formatting.interval(math.nan, math.nan) == "—"
    assert formatting.interval(-math.inf, 2.0) == "[−∞, 2.00]"


def test_an_estimate_says_where_it_is_censored_and_where_there_is_none():
    assert formatting.estimate(1.0, "left-censored; n < 30", first=1.0) == "≤ 1"
    assert formatting.estimate(math.nan, "right-censored", last=5.0) == "> 5"
    assert formatting.estimate(math.nan, "no data", last=5.0) == "n/a"
    assert formatting.estimate(4.0, "") == "4.00"


@pytest.mark.parametrize(
    ("row", "value", "ends"),
    [
        (("x", "Wilson, clustered by item (G = 9)", 0.7271, 0.69, 0.76), "73\u202f%", "[69, 76]\u202f%"),
        (("x", "Wilson", 0.7271, 0.72, 0.73), "72.7\u202f%", "[72.0, 73.0]\u202f%"),
        (("x", "Wilson", math.nan, math.nan, math.nan), "n/a", "—"),
        (("x", "Newcombe", -0.121, -0.2, 0.004), "−12 points", "[−20, 0]"),
        (("x", "Newcombe", 0.01, -0.2, 0.2), "+1 point", "[−20, +20]"),
        (("x", "t, clustered by item (G = 9)", 0.456, 0.2, 0.7), "0.46", "[0.20, 0.70]"),
        (("x", "t, clustered by item (G = 9)", 0.4561, 0.45, 0.46), "0.456", "[0.450, 0.460]"),
        (("rank", "bootstrap", 3.0, 2.0, 4.0), "3", "[2, 4]"),
    ],
)
def test_a_share_is_in_percent_a_difference_of_shares_in_points_and_a_score_has_two_decimals(row, value, ends):
    names = ("term", "method", "estimate", "conf_low", "conf_high")
    assert formatting.with_interval(dict(zip(names, row, strict=True))) == (value, ends)


def test_a_sentence_has_thin_spaces_in_its_thousands_and_nowhere_else():
    assert formatting.spaced("1,234 of 12,345,678 rows (a,b; 1,2 and 3,4567)") == (
        "1\u202f234 of 12\u202f345\u202f678 rows (a,b; 1,2 and 3,4567)"
    )


def test_a_p_value_has_three_decimals():
    assert [formatting.p_value(p) for p in (0.00099, 0.0123, 1.0)] == ["< 0.001", "0.012", "1.000"]


def test_counts_are_whole():
    assert formatting.count(5184) == "5\u202f184"
    assert formatting.count(0) == "0"
    assert formatting.count(2.5) == "2.5"
    assert formatting.noun(1, "judge") == "1 judge"
    assert formatting.noun(2, "judge") == "2 judges"
    assert formatting.noun(0, "reply", "replies") == "0 replies"


def test_a_signed_number_has_its_sign_but_for_zero():
    assert [formatting.signed(v) for v in (0.459, -0.331, 0.001)] == ["+0.46", "−0.33", "0.00"]


def test_a_term_has_the_words_of_its_record_or_its_name_with_spaces():
    assert (
        formatting.in_words("position_bias") == "position bias" == formatting.in_words("position_bias", "position_bias")
    )
    assert formatting.in_words("both_orders") == "both orders"
    assert formatting.in_words("shift", "calibrate") != formatting.in_words("shift")
    assert formatting.in_words("shift", "calibrate") == "constant added to the scores"
    assert formatting.in_words("share_above", threshold=0.25) == "share with a spread above 0.25"


def test_every_bad_direction_of_the_glossary_reads_as_a_sentence():
    told = {formatting.bad_direction(e.bad) for e in terms().values()}
    assert not {t for t in told if "universal" in t or "when the signal" in t or "construct-dependent" in t}
    assert formatting.bad_direction("higher") == "higher is worse"
    assert formatting.bad_direction("construct-dependent") == "depends on the construct"


def test_the_ends_of_a_narrow_interval_are_told_apart():
    for form in ("share", "score", "points"):
        for width in (0.5, 0.02, 0.019, 0.0011, 0.0009, 0.00012):
            ends = [formatting.printed(0.4567 + end, form, width) for end in (0, width)]
            assert ends[0] != ends[1], (form, width)
    assert formatting.printed(0.456, "share", 0.019) == "45.6\u202f%"
