"""A column of replies in a table is parsed where it is read."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import judgestats as js
from judgestats.errors import SchemaError
from refusals import refused

MAPPING = {"judge": "j", "item": "q", "first": "a", "second": "b", "choice": "reply"}


@pytest.mark.parametrize("kind", ["pandas", "polars", "csv"])
def test_read_parses_a_column_of_replies(kind: str, replies: list[str], reply_table: pd.DataFrame, tmp_path: Path):
    source: Any = {"pandas": reply_table, "polars": pl.from_pandas(reply_table), "csv": tmp_path / "calls.csv"}[kind]
    if kind == "csv":
        reply_table.to_csv(source, index=False)
    frame = js.read(source, columns=MAPPING, parse="auto")
    frame = frame if isinstance(frame, pd.DataFrame) else frame.to_pandas()
    assert frame["choice"].tolist() == ["first", "second", "tie", "invalid", "invalid", "invalid"]
    assert frame["status"].tolist() == ["ok", "ok", "ok", "parse", "empty", "refused"]
    assert frame["rationale"].tolist()[:4] == replies[:4]
    assert frame["reply_note"].tolist()[3] == "two answers: A, B"
    assert set(frame) == {
        "judge",
        "item",
        "first",
        "second",
        "choice",
        "status",
        "rationale",
        "reply_form",
        "reply_note",
    }


def test_read_exchanges_swapped_candidates_of_parsed_replies(reply_table: pd.DataFrame):
    calls = reply_table.assign(a="x", b="y", swap=[0, 1] * 3)
    frame = js.read(calls, columns={**MAPPING, "swapped": "swap"}, parse="auto")
    assert frame["first"].tolist() == ["x", "y"] * 3
    assert frame["choice"].tolist()[:2] == ["first", "second"]


def test_read_takes_labels_a_scale_and_why_replies_ended(reply_table: pd.DataFrame):
    calls = reply_table.assign(
        reply=["left", "right", "x", "left", "right", "left"], why=["stop"] * 3 + ["content_filter"] * 3
    )
    mapping = {**MAPPING, "finish": "why"}
    frame = js.read(calls, columns=mapping, parse=r"(\w+)", labels={"left": "first", "right": "second"})
    assert frame["choice"].tolist() == ["first", "second", "invalid", "first", "second", "first"]
    assert frame["status"].tolist()[2] == "schema"
    scores = pd.DataFrame({"judge": "g", "item": list("abcd"), "score": ["Rating: 7", "11", "8.2 +/- 0.3", "n/a"]})
    rated = js.read(scores, parse="auto", scale=(1, 10))
    assert rated["status"].tolist() == ["ok", "off scale", "ok", "parse"]
    assert rated["sd"].tolist()[2] == 0.3


def test_read_parses_a_wide_table_and_a_query():
    wide = pd.DataFrame(
        {"item": ["1", "2"], "a": "x", "b": "y", "gpt": ["[[A]]", "[[B]]"], "claude": ["Winner: B", "?"]}
    )
    mapping = {"item": "item", "first": "a", "second": "b", "choice": "verdict"}
    frame = js.read(wide, wide="judge=gpt,claude", columns=mapping, parse="auto").sort_values(["judge", "item"])
    assert frame["choice"].tolist() == ["second", "invalid", "first", "second"]
    with sqlite3.connect(":memory:") as connection:
        wide.rename(columns={"gpt": "reply"}).to_sql("calls", connection)
        mapping |= {"judge": "=gpt", "choice": "reply"}
        frame = js.read("SELECT item, a, b, reply FROM calls", connection=connection, columns=mapping, parse="brackets")
    assert frame["choice"].tolist() == ["first", "second"]


def test_a_status_of_the_call_has_priority(reply_table: pd.DataFrame):
    calls = reply_table.assign(status=["ok", "error", "", None, "ok", "leak"])
    frame = js.read(calls, columns={**MAPPING, "status": "status"}, parse="auto")
    assert frame["status"].tolist() == ["ok", "error", "ok", "parse", "empty", "leak"]
    assert frame["choice"].tolist() == ["first", "invalid", "tie", "invalid", "invalid", "invalid"]


def test_parse_is_refused_where_it_cannot_work(reply_table: pd.DataFrame, tmp_path: Path):
    log = tmp_path / "log.jsonl"
    log.write_text('{"question_id": "1", "model": "m", "judge": "g", "games": [{"score": "A>B"}]}\n')
    refused(
        SchemaError,
        (
            lambda: js.read(reply_table, columns={**MAPPING, "choice": None}, parse="auto"),
            "needs one column of replies",
        ),
        (lambda: js.read(tmp_path / "x.csv", columns=MAPPING, parse="auto", lazy=True), "Leave lazy out"),
        (
            lambda: js.read(pl.from_pandas(reply_table).lazy(), columns=MAPPING, parse="auto"),
            r"lazy\. Collect it first",
        ),
        (lambda: js.read(reply_table, columns={**MAPPING, "finish": "why"}, parse="auto"), "'why' is not a column"),
        (lambda: js.read(log, parse="auto"), "parse= is for plain tables"),
    )


def test_replies_that_nobody_parses_are_one_fault_that_names_the_remedy(reply_table: pd.DataFrame, tmp_path: Path):
    calls = reply_table.assign(reply=[f"Reply {i}: Assistant A is better because it is shorter." for i in range(6)])
    with pytest.raises(SchemaError, match=r"replies as text, such as 'Reply 0: .*' in 6 rows") as raised:
        js.read(calls, columns=MAPPING)
    assert len(raised.value.faults) == 1
    assert raised.value.advice == (("parse", "auto"),)
    assert js.read(calls, columns=MAPPING, parse="auto")["choice"].tolist() == ["invalid"] * 6
    assert js.read(calls, columns=MAPPING, parse="sentences")["choice"].tolist() == ["first"] * 6
    scores = tmp_path / "scores.csv"
    scores.write_text("judge,item,score\ng,1,Rating: 7\ng,2,Rating: 8\n")
    with pytest.raises(SchemaError, match='replies as text are read with parse="auto"'):
        js.read(scores)
    assert js.read(scores, parse="auto")["score"].tolist() == [7, 8]
