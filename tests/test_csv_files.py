"""Tables as CSV: what is written reads back as it was, whatever characters stand in it."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import judgestats as js
from judgestats.csv_files import as_csv, guarded, has_answers, unguarded
from judgestats.design import Judge, build, collect, export, simulate_replies
from judgestats.design.plans import opened_table

#: All controls, line separators and signs with a meaning in CSV, and anything else but halves of surrogate pairs.
CHARACTERS = st.sampled_from(
    [
        *map(chr, range(32)),
        *map(chr, range(0x7F, 0xA0)),
        "\u2028",
        "\u2029",
        "\ufeff",
        *"\",;'=+-@\uff1d\uff0b\uff0d\uff20",
    ]
)
TEXTS = st.text(st.one_of(CHARACTERS, st.characters(exclude_categories=["Cs"])), max_size=12)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=6))
@example([("a\rb", "c\r"), ("\r\n", "\n\r")])
def test_any_text_reads_back(rows):
    table = pd.DataFrame(rows, columns=["a", "b"], dtype=object)
    text = as_csv(table)
    assert [tuple(row) for row in csv.reader(io.StringIO(text, newline=""))][1:] == rows
    assert [tuple(map(unguarded, map(guarded, row))) for row in rows] == rows


@given(TEXTS)
def test_no_cell_of_a_form_is_run(text):
    assert not guarded(text).startswith((*"=+-@", *"\uff1d\uff0b\uff0d\uff20", "\t", "\r", "\n"))


def test_numbers_and_gaps_are_written_as_pandas_does():
    table = pd.DataFrame({"a": [0.1 + 0.2, None], "b": [1, 2], "c": [True, False], "d": pd.Categorical(["x", None])})
    assert as_csv(table) == table.to_csv(index=False)


@pytest.mark.slow
@given(st.lists(TEXTS.filter(str.strip), min_size=2, max_size=4, unique=True))
@example(["a\rb", "=1+1"])
@example(["'quoted", "\x00\x1c\x1d\x1e\x85"])
def test_forms_and_calls_come_back_with_their_answers(tmp_path_factory, texts):
    """As many rows as were written, and every answer at its call, in a form and in a table of calls."""
    folder = tmp_path_factory.mktemp("plan")
    responses = pd.DataFrame({"item": [str(i) for i in range(len(texts))], "system": "s", "task_text": "Go."})
    plan = build(responses.assign(response_text=texts), judges="m", prompts="likert")
    (form,) = export(plan, folder, "form")
    with form.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert sorted(unguarded(r["response"]) for r in rows) == sorted(texts)
    assert not has_answers(form)
    table = pd.DataFrame(rows)
    table[table.columns[-2]] = "4"
    form.write_text(as_csv(table), encoding="utf-8", newline="")
    assert has_answers(form)
    scores = collect(plan, form)
    assert scores["score"].dropna().tolist() == [4.0] * len(texts)
    assert set(scores["call"]) == set(plan.calls["call"])
    (calls,) = export(plan, folder, "csv")
    with calls.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    users = {call: user for call, _, user in plan.messages()}
    assert {r["call"]: unguarded(r["user"]) for r in rows} == users
    replies = simulate_replies(plan, Judge("m")).set_index("call")["answer"]
    answered = pd.DataFrame(rows).assign(answer=[replies[r["call"]] for r in rows])
    calls.write_text(as_csv(answered), encoding="utf-8", newline="")
    assert has_answers(calls)
    assert len(collect(plan, calls)) == len(plan) * 3


@pytest.mark.parametrize("text", ["a\rb", "'=1", "NA", "", "nan", " 1 ", "\x0b\x0c\x1c\u2028"])
def test_tables_of_contents_and_verdicts_read_back(tmp_path, text):
    table = pd.DataFrame({"item": ["1"], "system": ["s"], "task_text": ["Go."], "response_text": [text]})
    (tmp_path / "t.csv").write_text(as_csv(table), encoding="utf-8", newline="")
    assert opened_table(tmp_path / "t.csv")["response_text"].tolist() == [text]
    verdicts = pd.DataFrame({"judge": ["g"], "item": ["1"], "first": ["x"], "second": ["y"], "choice": ["tie"]})
    (tmp_path / "v.csv").write_text(as_csv(verdicts.assign(rationale=text)), encoding="utf-8", newline="")
    assert len(js.read(tmp_path / "v.csv")) == 1


@pytest.mark.parametrize("answer", ["", "0"])
@pytest.mark.parametrize("format", ["form", "csv", "jsonl"])
def test_answers_are_seen_in_whatever_shape_a_table_of_calls_comes_back(tmp_path, format, answer):
    """Other separators, encodings, names and orders of columns, further columns; and empty ones are empty in all."""
    responses = pd.DataFrame({"item": ["1"], "system": "s", "task_text": "Go \xe9.", "response_text": "a, b"})
    (path,) = export(build(responses, judges="m", prompts="likert"), tmp_path, format)
    if format == "jsonl":
        calls = pd.read_json(path, lines=True, dtype=False)
        calls.assign(answer=answer or None).to_json(path, orient="records", lines=True)
        assert has_answers(path) == bool(answer)
        return
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    table["comment" if format == "form" else "answer"] = answer
    for encoding in ("utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le", "utf-32"):
        for sep, before in ((",", ""), (";", "sep=;\r\n"), ("\t", "\n"), ("|", "")):
            for shape in (
                table,
                table[table.columns[::-1]],
                table.drop(columns=table.columns[1]),
                table.rename(columns=str.upper),
            ):
                path.write_bytes((before + shape.to_csv(index=False, sep=sep)).encode(encoding))
                assert has_answers(path) == bool(answer), (encoding, sep, list(shape))


def test_other_tables_have_no_answers(tmp_path):
    for text in ("", "call,judge\n", "judge,item,score\ng,1,3\n", "call,item,text\nc1,2,written\n"):
        Path(tmp_path / "t.csv").write_text(text)
        assert not has_answers(tmp_path / "t.csv"), text
