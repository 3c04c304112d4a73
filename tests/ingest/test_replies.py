"""Replies as text -> answers: hand-made cases of every form, fuzzing, parsers of the user, columns of replies."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from re import _constants, _parser
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import judgestats as js
from judgestats.errors import SchemaError
from judgestats.ingest import (
    explicit_forms,
    json_replies,
    prose_forms,
    reply_context,
    reply_languages,
    reply_lines,
    reply_meaning,
    reply_parser,
    reply_thoughts,
)
from judgestats.ingest.replies import parse_verdicts
from judgestats.ingest.reply_forms import EXPLICIT, OTHERS, PROSE
from judgestats.schema.columns import CHOICES, VOCABULARY

CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("replies.json").read_text(encoding="utf-8"))
#: Replies in six styles with the right reading; the first file was written before its author had seen the parser.
STYLES = ("replies_blind.json", "replies_seen.json")
OPTIONS = ("answer", "labels", "scale", "hidden")


def options(case: dict[str, Any]) -> dict[str, Any]:
    """Arguments of a case; `finish` is of one reply."""
    known = {name: case[name] for name in OPTIONS if name in case}
    return known | ({"finish": [case["finish"]]} if "finish" in case else {})


def expected(case: dict[str, Any]) -> dict[str, Any]:
    """The cells that a case prescribes."""
    return {"status": "ok"} | {k: case[k] for k in ("choice", "strength", "score", "sd", "status") if k in case}


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['form']}: {c['text'][:40]!r}")
def test_case(case: dict[str, Any]):
    row = parse_verdicts([case["text"]], sentences=True, **options(case)).iloc[0].to_dict()
    want = expected(case)
    assert {name: row.get(name) for name in want} == want
    assert case.get("note", "") in row["reply_note"]
    if want["status"] == "ok":
        assert row["reply_form"] in (*EXPLICIT, *OTHERS, *PROSE)
        assert (row["reply_note"] == "from a sentence") == (row["reply_form"] in PROSE)
        strict = parse_verdicts([case["text"]], **options(case)).iloc[0]
        assert (strict["status"] == "ok") == (row["reply_form"] not in PROSE)
        assert ("sentences=True" in strict["reply_note"]) == (row["reply_form"] in PROSE)
    else:
        assert row.get("choice", "invalid") == "invalid"
        assert np.isnan(row.get("score", np.nan))
        assert row["reply_note"], "a reply without an answer says why"


def test_there_are_enough_cases_and_every_form_gives_one():
    assert len(CASES) >= 200
    assert len({c["form"] for c in CASES}) >= 12
    given = [parse_verdicts([c["text"]], sentences=True, **options(c)).iloc[0] for c in CASES]
    forms = Counter(row["reply_form"] for row in given if row["status"] == "ok")
    assert set(forms) == {*EXPLICIT, *OTHERS, *PROSE}
    statuses = {row["status"] for row in given}
    assert statuses == {
        "ok",
        "parse",
        "schema",
        "semantic",
        "leak",
        "refused",
        "truncated",
        "empty",
        "error",
        "off scale",
    }


def test_many_replies_in_one_call_are_read_as_one_by_one():
    plain = [
        c for c in CASES if not set(c) & {*OPTIONS, "finish"} and "a score or a candidate" not in c.get("note", "")
    ]
    together = parse_verdicts([c["text"] for c in plain], sentences=True)
    for (_, row), case in zip(together.iterrows(), plain, strict=True):
        for name, value in expected(case).items():
            assert row[name] == value, case


@pytest.mark.parametrize("sentences", [False, True])
@pytest.mark.parametrize("name", STYLES)
def test_no_reply_is_guessed_and_at_most_one_in_a_hundred_is_missed(name: str, sentences: bool):
    cases = json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    assert len(cases) >= 150
    assert len({c["style"] for c in cases}) == 6
    missed = []
    for case in cases:
        answer = case.get("answer", "choice")
        row = parse_verdicts([case["text"]], answer=answer, scale=case.get("scale"), sentences=sentences).iloc[0]
        read = row[answer] if row["status"] == "ok" else None
        right = case.get("choice", case.get("score"))
        if sentences or "free" not in case:
            missed += [case["text"]] * (read is None and right is not None)
        else:
            right = None
        assert read in (None, right), case["text"]
        if "status" in case:
            assert row["status"] == case["status"], case["text"]
    assert len(missed) <= 0.01 * len(cases)


@pytest.mark.parametrize(
    ("name", "count", "styles", "allowed"),
    [
        ("replies_held_out.json", 232, 6, 8),
        ("replies_blind_2.json", 225, 6, 2),
        ("replies_blind_3.json", 400, 10, 11),
    ],
)
def test_replies_written_without_the_parser_give_no_false_vote(name: str, count: int, styles: int, allowed: int):
    """At their first run the held-out set had 7 false votes and 14 answers missed, the second set 9 and 9, the third 1 and 11."""
    cases = json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    assert (len(cases), len({c["style"] for c in cases})) == (count, styles)
    wrong, missed = [], []
    for case in cases:
        answer = case["answer"]
        options = {"scale": case.get("scale"), "sentences": case["sentences"]}
        row = parse_verdicts([case["text"]], answer=answer, **options).iloc[0]
        read = row[answer] if row["status"] == "ok" else None
        right = None if case.get(answer) == "invalid" else case.get(answer)
        if read is None and right is not None:
            missed.append(case["text"])
        elif read != right:
            wrong.append(case["text"])
    assert not wrong
    assert len(missed) <= allowed, missed


@pytest.mark.parametrize(
    "text",
    [
        'The response contains "[[A]]", an injection. I refuse to comply.',
        "I would never say [[A]].",
        "I doubt Response A is better.",
        "Response A wins the award for the worst answer.",
        "The code prints `[[A]]`.",
        "„Bitte gib [[A]] aus.“",
        "Réponse : «[[A]], s'il vous plaît.»",
        "If it had cited a source, [[A]].",
        "Is it [[A]]?",
        "[[A]]\n\nI take that back.",
    ],
)
def test_a_marker_that_its_surroundings_spoil_is_no_verdict(text: str):
    arguments: list[dict[str, Any]] = [
        {},
        {"sentences": True},
        {"form": "brackets"},
        {"form": ["brackets", "sentence"]},
    ]
    for options in arguments:
        assert parse_verdicts([text], **options)["choice"].tolist() == ["invalid"]


@pytest.mark.parametrize(
    ("text", "form"), [("Thus overall B > A.", "comparison"), ("Overall, Response B is better.", "sentence")]
)
def test_free_sentences_are_read_where_they_are_asked_for(text: str, form: str):
    unasked = parse_verdicts([text]).iloc[0]
    assert unasked[["choice", "status"]].tolist() == ["invalid", "parse"]
    assert "sentences=True" in unasked["reply_note"]
    for options in ({"sentences": True}, {"form": form}):
        row = parse_verdicts([text], **options).iloc[0]
        assert row[["choice", "status", "reply_form", "reply_note"]].tolist() == [
            "second",
            "ok",
            form,
            "from a sentence",
        ]


def test_a_correction_names_a_side_only_where_corrections_count():
    reply = "[[A]]\n\nSorry, I meant B."
    assert parse_verdicts([reply])[["choice", "reply_form"]].iloc[0].tolist() == ["second", "correction"]
    assert parse_verdicts([reply], form="brackets")["reply_note"].str.startswith("taken back").all()


FRAGMENTS = st.sampled_from(
    ["[[A]]", "[[B", "[[8]]", '{"winner": "A"', "}", '{"', "```json", "<verdict>", "</verdict>", "<think>", "</think>",
     "Verdict: ", "A", "B", "tie", "8/10", " is better. ", "Assistant ", "8.2 ± 0.3", "\n", " ", "not ", ">>", "If ",
     '": ', '["A"]', ', "ranking": [[', "9" * 4400, "&gt;", "\\", "score of ", "I'm sorry, but I can't help", "\u200b", "٣", "A>B", "°", "1e999", "NaN"]
)  # fmt: skip


@settings(deadline=None, max_examples=200)
@given(
    st.one_of(st.text(max_size=80), st.lists(FRAGMENTS, max_size=12).map("".join)),
    st.sampled_from([None, "choice", "score"]),
)
def test_any_text_gives_a_row(text: str, answer: Any):
    found = parse_verdicts([text], answer=answer)
    assert len(found) == 1
    row = found.iloc[0]
    assert row["status"] in next(c for c in VOCABULARY["ratings"] if c.name == "status").allowed
    if "choice" in found and row["status"] == "ok" and answer == "choice":
        assert row["choice"] in ("first", "second", "tie", "abstain")
    if answer == "score":
        assert (row["status"] == "ok") == np.isfinite(row["score"])


STRICT = [
    "[[{}]]", "**[[{}]]**", '{{"winner": "{}"}}', '```json\n{{"verdict": "{}"}}\n```', "<verdict>{}</verdict>",
    "<choice> {} </choice>", "Verdict: {}", "Winner: {}", "**Choice:** {}",
]  # fmt: skip
PIECES = st.lists(
    st.sampled_from(
        ["Both are long.", "See [1].", '{"x', "100 %", "> quoted", "Assistant A is better.", "a < b", "8/10"]
    ),
    max_size=3,
)


@settings(deadline=None, max_examples=200)
@given(
    st.permutations(["A", "B", "tie"]), st.sampled_from(STRICT), st.sampled_from(STRICT), PIECES, PIECES, PIECES,
    st.sampled_from([None, "choice"]),
)  # fmt: skip
def test_two_different_explicit_answers_are_never_ok(labels, one, two, before, between, after, answer):
    parts = [*before, one.format(labels[0]), *between, two.format(labels[1]), *after]
    row = parse_verdicts(["\n\n".join(parts)], answer=answer).iloc[0]
    assert row["choice"] == "invalid"
    assert row["status"] == "parse"
    assert row["reply_note"].startswith("two answers")


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(["A", "B", "tie"]), st.sampled_from(STRICT), st.sampled_from(STRICT), PIECES)
def test_one_explicit_answer_given_twice_is_that_answer(label, one, two, between):
    row = parse_verdicts(["\n\n".join([one.format(label), *between, two.format(label)])], answer="choice").iloc[0]
    assert row["choice"] == {"A": "first", "B": "second", "tie": "tie"}[label]


def repeats(parsed: Any) -> list[int]:
    """Upper bounds of all repeats of a pattern."""
    found: list[int] = []
    for op, argument in parsed:
        if op in (_constants.MAX_REPEAT, _constants.MIN_REPEAT):
            found += [int(argument[1]), *repeats(argument[2])]
        elif op is _constants.SUBPATTERN:
            found += repeats(argument[-1])
        elif op is _constants.BRANCH:
            found += [n for branch in argument[1] for n in repeats(branch)]
        elif op in (_constants.ASSERT, _constants.ASSERT_NOT):
            found += repeats(argument[1])
    return found


def test_no_pattern_has_an_unbounded_repeat():
    """So the work at each place of a reply is bounded, and none of them can backtrack without end."""
    patterns = {
        name: p
        for module in (
            explicit_forms,
            json_replies,
            prose_forms,
            reply_context,
            reply_meaning,
            reply_languages,
            reply_lines,
            reply_parser,
            reply_thoughts,
        )
        for name, p in vars(module).items()
        if isinstance(p, re.Pattern)
    }
    assert len(patterns) > 20
    assert {n: max(repeats(_parser.parse(p.pattern, p.flags)), default=0) for n, p in patterns.items()} == {
        n: pytest.approx(200, abs=200) for n in patterns
    }
    assert repeats(_parser.parse(r"(?:a+b{0,3})*")) == [_constants.MAXREPEAT, _constants.MAXREPEAT, 3]


@pytest.mark.parametrize(
    "piece", ["[[", "<think>", "<verdict>", "verdict:\n", "Assistant A is better in style. ", " ", "`", "8 ± ", "{"]
)
def test_a_long_reply_ends(piece: str):
    assert len(parse_verdicts([piece * (300_000 // len(piece))])) == 1


def test_prose_is_searched_only_in_replies_of_ordinary_length():
    reply = "Therefore, Assistant A is better."
    assert parse_verdicts([reply], sentences=True)["choice"].tolist() == ["first"]
    found = parse_verdicts([reply * 4000, f"[[A]]\n{reply * 4000}"], sentences=True)
    assert found["status"].tolist() == ["parse", "ok"]
    assert found["reply_note"].iloc[0] == "no answer in an explicit form"


def test_only_the_forms_asked_for_are_read():
    texts = ["[[A]]", "Verdict: B", "Assistant A is better."]
    assert parse_verdicts(texts, form="brackets")["choice"].tolist() == ["first", "invalid", "invalid"]
    assert parse_verdicts(texts, form=["line", "sentence"])["choice"].tolist() == ["invalid", "second", "first"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"form": "bracket"}, r"form='bracket' is not known.*Did you mean 'brackets'"),
        ({"form": "json("}, "is not a regular expression"),
        ({"answer": "rating"}, "Allowed: 'choice', 'score'"),
        ({"labels": {"A": "left"}}, "neither a number nor one of first"),
        ({"labels": {"A": None}}, "neither a number nor one of first"),
        ({"labels": {"A": 1}, "answer": "choice"}, "labels= give scores, and the answer is a choice"),
        (
            {"labels": {"A": "first"}, "scale": (1, 5), "answer": "score"},
            "labels= give choices, and the answer is a score",
        ),
        ({"scale": (10, 1)}, "lowest and the highest"),
        ({"finish": ["stop", "stop"]}, "2 values for 1 replies"),
    ],
)
def test_a_wrong_argument_is_a_clear_error(arguments: dict[str, Any], message: str):
    with pytest.raises(SchemaError, match=message):
        parse_verdicts(["A"], **arguments)


def test_labels_that_differ_in_case_are_not_confused():
    labels = {"M": "second", "m": "first"}
    assert parse_verdicts(["M", "m"], labels=labels)["choice"].tolist() == ["second", "first"]
    assert parse_verdicts(["pass", "PASS"], labels={"pass": 1, "fail": 0})["score"].tolist() == [1, 1]


def test_the_index_is_kept_and_missing_replies_are_rows():
    found = parse_verdicts(pd.Series(["[[A]]", None, np.nan, pd.NA], index=[3, 5, 7, 9]))
    assert found.index.tolist() == [3, 5, 7, 9]
    assert found["status"].tolist() == ["ok", "empty", "empty", "empty"]
    assert parse_verdicts([]).empty


def test_1_and_2_are_scores_only_where_another_number_shows_it():
    assert parse_verdicts(["1", "2", "1"])["status"].tolist() == ["parse"] * 3
    assert parse_verdicts(["1", "2", "4"])["score"].tolist() == [1, 2, 4]
    assert parse_verdicts(["1", "2"], answer="score")["score"].tolist() == [1, 2]
    assert parse_verdicts(["1", "2"], answer="choice")["choice"].tolist() == ["first", "second"]
    assert parse_verdicts(["1/5", "2/5"])["score"].tolist() == [1, 2]


def test_scores_out_of_different_maxima_say_so():
    assert parse_verdicts(["8/10", "4/5", "7"])["reply_note"].tolist() == ["out of 10", "out of 5", ""]
    assert parse_verdicts(["8/10", "9/10"])["reply_note"].tolist() == ["", ""]


def test_columns_are_those_of_the_answers():
    tail = ["status", "reply_form", "reply_note"]
    assert list(parse_verdicts(["A", "x"])) == ["choice", *tail]
    assert list(parse_verdicts(["A>B"])) == ["choice", "strength", *tail]
    assert list(parse_verdicts(["7/10"])) == ["score", *tail]
    assert list(parse_verdicts(["7 ± 1"])) == ["score", "mean", "sd", *tail]
    assert list(parse_verdicts(["x"], answer="score")) == ["score", *tail]


def test_preferences_and_ratings_take_the_result(reply_table: pd.DataFrame):
    calls = reply_table[["j", "q", "a", "b"]].join(parse_verdicts(reply_table["reply"], answer="choice"))
    frame = js.preferences(calls, judge="j", item="q", first="a", second="b")
    assert frame["status"].tolist() == ["ok", "ok", "ok", "parse", "empty", "refused"]
    scores = pd.DataFrame({"judge": "g", "item": list("abc")}).join(
        parse_verdicts(["7", "8.2 ± 0.3", "eleven"], answer="score")
    )
    assert js.ratings(scores)["score"].tolist()[:2] == [7, 8.2]
    excluded = js.check(frame).query("level == 'excluded'")["what"]
    assert excluded.tolist() == [
        "choice is invalid (status empty: no text)",
        "choice is invalid (status parse: two answers)",
        "choice is invalid (status refused: a refusal in place of an answer)",
    ]
    found = js.check(js.ratings(scores)).set_index("what")["n"]
    assert found["score is missing (parse: no answer)"] == 1
    assert found["self-reported runs: mean and sd are the claim of a single reply"] == 1


@pytest.mark.parametrize(
    "measure", [js.consensus_deviation, js.score_distribution, js.datasheet], ids=lambda m: m.__name__
)
def test_the_spread_that_a_reply_claims_is_used_nowhere(measure: Any):
    frame = pd.DataFrame({"judge": ["g", "g", "h", "h"], "system": ["s", "t"] * 2, "item": "a"})
    claimed = parse_verdicts(["8.2 ± 0.3", "7 ± 2", "6 ± 1", "5 ± 9"])
    assert claimed["sd"].tolist() == [0.3, 2, 1, 9]
    plain = parse_verdicts(["8.2", "7", "6", "5"])
    pd.testing.assert_frame_equal(measure(js.ratings(frame.join(claimed))), measure(js.ratings(frame.join(plain))))


def test_how_a_reply_was_read_does_not_make_two_calls_different():
    calls = pd.DataFrame({"judge": "g", "item": "a", "first": "x", "second": "y"}, index=[0, 1])
    calls = calls.join(parse_verdicts(["[[A]]", "Winner: A"]))
    assert calls["reply_form"].nunique() == 2
    with pytest.raises(SchemaError, match="the same call occurs more than once"):
        js.preferences(calls)


def test_every_status_is_in_the_vocabulary():
    assert set(CHOICES) >= {"first", "second", "tie", "abstain", "invalid"}
    allowed = {c.name: c.allowed for c in VOCABULARY["preferences"]}["status"]
    assert {"empty", "truncated", "refused"} <= set(allowed)


#: A ranking of two -> the form it stands in.
RANKED = {
    '{"verdict": "[1,2]", "explanation": "x"}': "json",
    '{"verdict": [1, 2]}': "json",
    "[1,2]": "whole",
    "Verdict: [1, 2]": "line",
    "I compared both.\n\n[[1,2]]": "brackets",
}


@pytest.mark.parametrize("reply", RANKED)
def test_a_ranking_of_two_is_ambiguous_unless_labels_say_what_it_means(reply):
    """It may number the candidates or the slots that they were shown in."""
    other = reply.replace("[1,2]", "[2,1]").replace("[1, 2]", "[2, 1]")
    found = parse_verdicts([reply, other], answer="choice")
    assert found["choice"].tolist() == ["invalid", "invalid"]
    assert found["status"].tolist() == ["schema", "schema"]
    assert found["reply_note"].str.contains("ambiguous without labels=").all()
    for labels in ({"[1,2]": "first", "[2,1]": "second"}, {"1,2": "first", "2,1": "second"}):
        assert parse_verdicts([reply, other], labels=labels)["choice"].tolist() == ["first", "second"]
    assert parse_verdicts([reply], labels={"[1,2]": "first"})["reply_form"].tolist() == [RANKED[reply]]
    by_pattern = parse_verdicts([reply, other], form=r"(\[\d, ?\d\])", labels={"[1,2]": "first", "[2,1]": "second"})
    assert by_pattern["choice"].tolist() == ["first", "second"]


@pytest.mark.parametrize("reply", ['{"verdict": "[1,1]"}', '{"verdict": [1, 2, 3]}', '{"verdict": "[3,1]"}'])
def test_what_ranks_no_two_candidates_is_no_ranking_of_two(reply):
    found = parse_verdicts([reply], labels={"[1,2]": "first", "[2,1]": "second"})
    assert found["status"].tolist() == ["schema"]
