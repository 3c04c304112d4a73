"""Faults of explanations that can be found without a reference."""

from __future__ import annotations

import math

import pandas as pd
import polars as pl
import pytest

from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.proportions import wilson
from judgestats.metrics.invariance import rationale_check
from judgestats.metrics.invariance.rationale_faults import mentions, stated_winner
from metrics.tables import cell, probed_calls, rows
from refusals import refused


def explained_calls(choice, rationale, **columns):
    size = len(choice)
    base = {"judge": "g", "item": [str(i) for i in range(size)], "first": "x", "second": "y"}
    return pd.DataFrame({**base, "choice": choice, "rationale": rationale, **columns})


@pytest.mark.parametrize(
    ("text", "winner"),
    [
        ("Summary 1 is better.", "first"),
        ("I think that Response B is clearly the better one.", "second"),
        ("Assistant A's answer is longer. [[B]]", "second"),
        ("Final verdict: [[C]]", "tie"),
        ("Verdict: A", "first"),
        ("winner: Summary 2", "second"),
        ("The first summary is stronger on style; overall, the second summary is slightly better.", "second"),
        ("I prefer the second one.", "second"),
        ("I would choose candidate 1 here", "first"),
        ("Option (2) wins.", "second"),
        ("Both are equally good.", "tie"),
        ("Neither summary is clearly better.", "tie"),
        ("Summary 1 is better on length. Still, it is a tie.", "tie"),
        ("Verdict: tie", "tie"),
        ("Summary 1 is not better.", ""),
        ("Summary 12 is better.", ""),
        ("It reads well.", ""),
        ("", ""),
    ],
)
def test_the_last_winner_that_is_stated(text, winner):
    assert stated_winner(text) == winner


def test_statements_are_read_against_the_verdict():
    frame = explained_calls(
        ["first", "second", "tie", "invalid", "first", "abstain"],
        [
            "Summary 1 is better.",
            "Summary 1 is better.",
            "[[C]]",
            "Summary 1 is better.",
            "fine",
            "Summary 2 is better.",
        ],
    )
    row = cell(rationale_check(frame), "statement_conflict")
    assert (row["estimate"], row["n"]) == (0.5, 4)
    assert (row["conf_low"], row["conf_high"]) == tuple(float(x) for x in wilson(2, 4))


def test_scores_are_read_against_the_verdict():
    frame = explained_calls(
        ["first", "first", "tie", "tie", "second", "invalid", "first"],
        [None] * 7,
        score_first=[5, 2, 3, 4, 1, 5, None],
        score_second=[2, 5, 3, 3, "4", 1, 2],
    )
    row = cell(rationale_check(frame), "score_conflict")
    assert (row["estimate"], row["n"]) == (0.4, 5)  # items 2 and 4 of 1 to 5
    alone = rationale_check(frame.drop(columns="rationale"))
    assert list(alone["term"]) == ["score_conflict"]


def test_source_words_are_whole_words_in_any_case():
    texts = [
        "written by an llm",
        "The HUMAN text",
        "a humane style",
        "a fair point",
        "AI-generated prose",
        "maintain",
        "",
    ]
    assert list(mentions(texts, ("human", "AI", "LLM"))) == [True, True, False, False, True, False, False]
    frame = explained_calls(["first"] * 7, texts)
    row = cell(rationale_check(frame, lexicon=("human", "AI", "LLM")), "label_mentioned")
    assert (row["estimate"], row["n"]) == (0.5, 6)
    assert cell(rationale_check(frame, lexicon=()), "label_mentioned")["estimate"] == 0
    assert cell(rationale_check(frame, lexicon=("a+b (c)",)), "label_mentioned")["estimate"] == 0
    assert cell(rationale_check(explained_calls(["first"], ["TradML wins"])), "label_mentioned")["estimate"] == 1


def test_quotations_are_looked_up_in_what_was_read():
    texts = [
        'It says "the cat sat on the mat" clearly.',  # there, in the first
        "It says “The cat, sat  on THE mat!” clearly.",  # there but for case and marks
        'It says "the dog sat on the mat" clearly.',  # nowhere
        'A "short one" only.',  # too short
        'Both "the cat sat on" and "an invented line of text".',  # one absent
        'It cites "source words that are here".',  # in the source only
        "No quotation.",
    ]
    shown = {"text_first": "the cat sat on the mat", "text_second": "a bird sings"}
    row = cell(rationale_check(explained_calls(["first"] * 7, texts, **shown)), "quote_absent")
    assert (row["estimate"], row["n"]) == (0.6, 5)
    sourced = explained_calls(["first"] * 7, texts, **shown, text_source="many source words that are here")
    assert cell(rationale_check(sourced), "quote_absent")["estimate"] == 0.4
    short = rationale_check(explained_calls(["first"] * 7, texts, **shown), min_words=2)
    assert cell(short, "quote_absent")["n"] == 6
    part = explained_calls(["first"], ['"he cat sat on the mat"'], **shown)  # not half a word
    assert cell(rationale_check(part), "quote_absent")["estimate"] == 1


def test_groups_engines_counts_and_order():
    frame = explained_calls(["first", "second"] * 4, ["Summary 1 is better.", "by a human"] * 4)
    frame["probe"] = ["blind", "blind", "truth", "truth"] * 2
    frame["scheme"] = ["S"] * 4 + ["P"] * 4
    result = rationale_check(frame)
    assert list(result.columns[:3]) == ["judge", "scheme", "probe"]
    assert len(result) == 2 * 4
    mixed = frame.sample(frac=1, random_state=0)
    pd.testing.assert_frame_equal(result, rationale_check(mixed))
    pd.testing.assert_frame_equal(result, rationale_check(pl.from_pandas(mixed)))
    counted = rationale_check(frame.assign(n_identical=3))
    assert (counted["n"] == 3 * result["n"]).all()
    pd.testing.assert_series_equal(counted["estimate"], result["estimate"])
    clustered = rationale_check(pd.concat([frame] * 12), cluster="item", by="first")
    assert clustered["method"].str.contains("clustered by item").any()


def test_a_check_without_a_case_is_nan():
    row = cell(rationale_check(explained_calls(["first"], ["fine"])), "statement_conflict")
    assert math.isnan(row["estimate"])
    assert row["flag"] == "no data"


def test_neither_reasons_nor_scores_is_refused():
    refused(
        DesignError,
        (explained_calls(["first"], ["x"]).drop(columns="rationale"), "rationale, or score_first"),
        (explained_calls(["first"], ["x"]).drop(columns="choice"), "needs choice"),
        of=rationale_check,
    )


def test_judges_alone_without_scheme_or_probe_are_counted_too():
    explained_calls = pd.DataFrame(
        {
            "judge": ["gpt-4", "gpt-4"],
            "item": ["1", "2"],
            "first": "a",
            "second": "b",
            "choice": ["first", "second"],
            "rationale": ["Summary 1 is better.", ""],
        }
    )
    found = rationale_check(explained_calls).set_index("term")
    assert found.loc["statement_conflict", "n"] == 1
    assert "1 call without a case excluded" in found.loc["statement_conflict", "flag"]


# checks of texts


@pytest.mark.parametrize(
    ("text", "winner"),
    [
        ("The verdict is a clear win, and nothing else is said.", ""),
        ("The winner is one of taste.", ""),
        ("The final decision is a close call, but summary 2 is better.", "second"),
        ("Verdict: A because it is short.", "first"),
        ("verdict: a", "first"),
        ("Verdict: a tie", "tie"),
        ("The winner is one.", "first"),
    ],
)
def test_an_article_is_no_name(text, winner):
    assert stated_winner(text) == winner


def test_what_a_check_cannot_read_is_refused():
    refused(
        SchemaError,
        (lambda: rationale_check(probed_calls(choice="A")), "'choice' has 'A'"),
        (lambda: rationale_check(probed_calls(), lexicon="AI"), DesignError, r"\['AI'\], say"),
        (lambda: rationale_check(probed_calls(), cluster="zz"), "'zz' is not a column"),
        (lambda: rationale_check(probed_calls().assign(n_identical="x")), "'n_identical' is a count"),
    )


def test_calls_without_a_case_are_counted():
    data = probed_calls(40, ("blind",), choice="first", rationale="Summary 1 is better.")
    data.loc[data["item"] < "i04", "rationale"] = "No idea."
    data.loc[data["item"] > "i37", "choice"] = None
    result = rows(rationale_check(data), "statement_conflict", "label_mentioned")
    assert result["n"].tolist() == [34, 40]
    assert result["flag"].tolist() == ["6 calls without a case excluded", ""]
