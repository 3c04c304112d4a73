"""What a session shows of a measure's frame."""

import html
import pickle

import pandas as pd
import pytest

import judgestats as js
from judgestats.printed_results import Estimates


@pytest.fixture(scope="module")
def bias():
    calls = js.datasets.load("mtbench_position").query("judge.str.startswith('gpt')")
    return js.position_bias(calls)


def test_the_estimate_and_its_interval_are_seen_in_80_columns_and_the_rest_is_listed(bias):
    with pd.option_context("display.width", 80):
        lines = repr(bias).splitlines()
    assert lines[0].split() == ["judge", "term", "estimate", "conf_low", "conf_high", "n"]
    assert max(map(len, lines)) <= 80
    assert lines[1].split()[:4] == ["0", *bias.loc[0, ["judge", "term"]], f"{bias.loc[0, 'estimate']:.6f}"]
    assert f"[{len(bias)} rows x 9 columns; not shown: std_error, method, flag]" in lines


def test_each_flag_is_listed_once_with_its_rows(bias):
    with pd.option_context("display.width", 80):
        text = repr(bias)
    rows = bias.index[bias["flag"].str.contains("ties? excluded")]
    ties = bias.loc[rows, "flag"].str.extract(r"(\d+) ties?", expand=False).astype(int)
    assert text.count("ties excluded") == 1
    first = ", ".join(map(str, rows[:3]))
    assert f"rows {first} and {len(rows) - 3} more: {ties.min()} to {ties.max()} ties excluded" in text


def test_a_wide_display_shows_all_columns(bias):
    with pd.option_context("display.width", 400):
        text = repr(bias)
    assert text.splitlines()[0].split()[-3:] == ["std_error", "method", "flag"]
    assert "not shown" not in text


@pytest.mark.parametrize(
    "plain",
    [
        lambda t: t.copy(),
        lambda t: t[t["n"] > 0],
        lambda t: t[["judge", "estimate"]],
        lambda t: t.merge(t, on=["judge", "term"]),
        lambda t: pd.concat([t, t]),
        lambda t: t.sort_values("estimate"),
        lambda t: pickle.loads(pickle.dumps(t)),
        lambda t: t.assign(x=1),
    ],
)
def test_what_pandas_makes_of_it_is_a_plain_frame(bias, plain):
    assert type(bias) is Estimates
    assert type(plain(bias)) is pd.DataFrame


def test_an_empty_frame_and_one_without_flags_are_printed():
    assert "estimate" in repr(Estimates({"term": [], "estimate": []}))
    assert repr(Estimates({"judge": ["a"], "estimate": [0.5]})).split() == ["judge", "estimate", "0", "a", "0.5"]


def test_a_plain_frame_and_estimates_are_compared_in_either_order(bias):
    pd.testing.assert_frame_equal(bias, bias.copy())
    pd.testing.assert_frame_equal(bias.copy(), bias)
    assert bias.equals(bias.copy())
    assert bias.copy().equals(bias)


def test_fits_and_summaries_are_set_text_in_a_notebook():
    counts = pd.DataFrame({"x<1": [0, 0, 1, 1], "y": [0, 1, 0, 1], "n": [30, 10, 20, 20]})
    fit = js.fit("y ~ `x<1`", counts, counts="n")
    for shown in (fit, fit.summary()):
        text = shown._repr_html_()
        assert text.startswith("<pre>")
        assert text.endswith("</pre>")
        assert html.unescape(text[5:-6]) == fit.summary()
        assert "x<1" not in text
    assert isinstance(fit.summary(), str)
    effects = js.models.strategy_effects(
        pd.DataFrame(
            {"judge": "g", "strategy": ["B0", "B0", "S8", "S8"], "correct": [0, 1] * 2, "n": [40, 60, 20, 80]}
        ),
        baseline="B0",
    )
    assert html.unescape(effects._repr_html_()) == f"<pre>{effects.summary()}</pre>"
