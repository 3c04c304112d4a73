"""Reasoning that a model sets off from its reply is no answer."""

from __future__ import annotations

import json

import pandas as pd
import pytest

import judgestats as js
from judgestats.ingest.replies import parse_verdicts
from judgestats.ingest.reply_thoughts import without_thoughts

ANALYSIS, FINAL = "<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"
#: Start and end of reasoning, as models write them.
FORMS = [
    *((f"<{t}>", f"</{t}>") for t in ("think", "thinking", "Thought", "thoughts", "reasoning", "reflection", "seed:think",
                                      "mm:think", "scratchpad", "inner_monologue", "longcat_think")),
    ('<think duration="3">', "</think>"), ("[THINK]", "[/THINK]"), ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"), ("<|START_THINKING|>", "<|END_THINKING|>"), ("<|think|>", "<|/think|>"),
    ("<|channel>thought\n", "<channel|>"), ("<unused94>thought\n", "<unused95>"),
    ("Here is my thought process:", "Here is my response:"), (ANALYSIS, FINAL),
    (ANALYSIS, "<|end|>" + ANALYSIS + "More.<|end|><|channel|>final <|constrain|>json<|message|>"), ("analysis", "assistantfinal"),
]  # fmt: skip


@pytest.mark.parametrize(("opened", "closed"), FORMS)
@pytest.mark.parametrize("draft", ["[[A]]", "Verdict: A", '{"winner": "A"}', "<verdict>A</verdict>", "A"])
@pytest.mark.parametrize("last", ["[[B]]", "Verdict: B", '{"winner": "B"}', "B"])
def test_the_reply_after_reasoning_counts_and_reasoning_left_open_has_none(opened, closed, draft, last):
    thought = f"{opened}Draft:\n{draft}\nNo, B has the facts."
    texts = [f"{thought}{closed}{last}", f"{thought}{closed}\n\n{last}<|return|>", thought, f"{thought}{closed}"]
    verdicts = parse_verdicts(texts, answer="choice")
    assert verdicts["choice"].tolist() == ["second", "second", "invalid", "invalid"]
    assert verdicts["status"].tolist()[:3] == ["ok", "ok", "truncated"]


def test_a_score_in_a_channel_is_no_score():
    reply = f"{ANALYSIS}Maybe.\nRating: 3\nThe facts hold, raise it.{FINAL}Rating: 7"
    assert parse_verdicts([reply], answer="score")["score"].tolist() == [7]


@pytest.mark.parametrize(
    "text",
    ["Analysis: A is short.\n\nVerdict: B", "analysis of both\n\n[[B]]", "Here is my response: [[B]]", "I think [THIS]. [[B]]",
     "Answer: <|begin_of_box|>B<|end_of_box|>", "Verdict: B<|im_end|>", "B</s>"],
)  # fmt: skip
def test_words_that_are_no_marks_and_tokens_of_a_template_cost_no_answer(text):
    assert parse_verdicts([text], answer="choice")["choice"].tolist() == ["second"]


def test_only_what_stands_before_a_lone_end_is_reasoning():
    assert without_thoughts("[[A]] first.</think>\n[[B]]") == ("\n[[B]]", False)
    assert without_thoughts("a<think>b<think>c</think>d</think>e") == ("ae", False)
    assert without_thoughts("a<think>b") == ("a", True)


def test_a_judge_with_channels_has_no_position_bias_of_its_drafts(tmp_path):
    reply = f'{ANALYSIS}{{"winner": "A"}}\nbut the facts of B hold.{FINAL}{{"winner": "B"}}'
    rows = [{"judge": "j", "item": i, "first": "xy"[i % 2], "second": "yx"[i % 2], "reply": reply} for i in range(12)]
    path = tmp_path / "channels.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    frame = js.read(path, parse="auto", columns={"choice": "reply"})
    assert isinstance(frame, pd.DataFrame)
    assert frame["choice"].astype(str).tolist() == ["second"] * 12
