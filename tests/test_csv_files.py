"""Tables as CSV: what is written reads back as it was, whatever characters stand in it."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import narwhals as nw
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import judgestats as js
from command_line import run
from judgestats.cli import app
from judgestats.csv_files import as_csv, guarded, has_answers, unguarded
from judgestats.design import (
    Judge,
    build,
    collect,
    controlled_pairs,
    export,
    read_controlled,
    simulate_replies,
    write_controlled,
)
from judgestats.design.plans import opened_table
from judgestats.published import audited
from judgestats.published.table_audits import write_findings

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
    written = list(csv.reader(io.StringIO(as_csv(table), newline="")))[1:]
    assert [tuple(map(unguarded, row[:2])) for row in written] == rows
    assert all(row[:2] == list(of) or row[2] == "'" for row, of in zip(written, rows, strict=True))


@given(TEXTS)
def test_no_cell_of_a_form_is_run(text):
    runs = guarded(text).startswith((*"=+-@", *"\uff1d\uff0b\uff0d\uff20", "\t", "\r", "\n"))
    assert not runs or re.fullmatch(r"[+-]?[\d.,]+([eE][+-]?\d+)? ?%?", guarded(text))


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


#: Names that a spreadsheet runs, or that look as if they had been guarded, and others.
NAMES = [*("=1+1", "'=1+1", "''=1", "'tis", "''tis", "'", "''", "+", "-5", "'-5", "-5x", "@a", "\uff1d1", "g"), "a\rb"]


@pytest.mark.parametrize("lazy", [False, True])
def test_names_that_a_spreadsheet_runs_are_guarded_and_read_back(tmp_path, lazy):
    """Whatever tables are written for spreadsheets, a name of a column included, the reader gives as they were."""
    calls = pd.DataFrame({"judge": NAMES, "item": "1", "first": "x", "second": "y", "choice": "first", "=1": "c"})
    text = as_csv(calls)
    (tmp_path / "v.csv").write_text(text, encoding="utf-8", newline="")
    cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
    assert [cell for cell in cells if cell.startswith((*"=+-@\uff1d", "\t"))] == ["-5"]
    frame = nw.from_native(js.read(tmp_path / "v.csv", lazy=lazy)).lazy().collect("pandas").to_native()
    assert sorted(frame["judge"]) == sorted(NAMES)
    assert set(frame["=1"]) == {"c"}
    assert not {"spreadsheet_quote", "'=1"} & set(frame)


@pytest.mark.parametrize("lazy", [False, True])
def test_quotes_of_other_tables_stay(tmp_path, lazy):
    """A table without the mark, and rows without it, were written by others."""
    text = "judge,item,first,second,choice{}\n'=1,1,x,y,first{}\n''t,1,x,y,first{}\n"
    for name, parts, read in (
        ("a", ("", "", ""), ["''t", "'=1"]),
        ("b", (",spreadsheet_quote", ",'", ","), ["''t", "=1"]),
    ):
        (tmp_path / f"{name}.csv").write_text(text.format(*parts))
        frame = nw.from_native(js.read(tmp_path / f"{name}.csv", lazy=lazy)).lazy().collect("pandas").to_native()
        assert sorted(frame["judge"]) == read


def test_a_table_without_such_a_text_has_no_mark():
    assert as_csv(pd.DataFrame({"judge": ["g", "1=1"], "n": [-1, -2.5], "d": ["-1", "+2 %"]})).startswith("judge,n,d\n")


def test_pairs_and_answers_with_signs_come_back(tmp_path):
    """Through `write_controlled`, and through `collect` into `read`."""
    texts = pd.DataFrame(
        {"item": ["=q"], "topic": "@food", "task_text": "-How?", "role": "complete", "text": ["Tea. Two. Three."]}
    )
    pairs = controlled_pairs(texts, kinds=["length_truncated"])
    path = write_controlled(pairs, tmp_path / "p.csv")
    again = read_controlled(path)
    assert ",=" not in path.read_text()
    for column in ("item", "topic", "task_text", "first_text", "second_text", "gold"):
        assert again[column].tolist() == pairs[column].tolist(), column
    plan = build(
        pd.DataFrame(
            {"item": ["@1"], "first": "=u", "second": "'v", "task_text": "Go.", "first_text": "a", "second_text": "b"}
        ),
        judges="m",
    )
    plan.write(tmp_path / "plan")
    lines = (json.dumps({"call": call, "answer": "tie"}) for call in plan.calls["call"])
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    out = tmp_path / "v.csv"
    assert (
        run.invoke(app, ["collect", str(tmp_path / "plan"), str(tmp_path / "a.jsonl"), "--out", str(out)]).exit_code
        == 0
    )
    frame = js.read(out)
    assert not re.search(r"(^|,)[=@]", out.read_text(), re.MULTILINE)
    assert {*frame["first"], *frame["second"]} == {"=u", "'v"}
    assert set(frame["item"]) == {"@1"}


def test_every_csv_file_goes_through_one_writer():
    """A file is CSV by this module alone; what a command line takes as a list is joined in another, and is no file."""
    source = Path(js.__file__).parent
    written = re.compile(r"\.to_csv\(|write_csv\(|csv\.writer\(|DictWriter\(|savetxt\(|\bCOPY\b.*\bTO\b")
    files = {str(p.relative_to(source)) for p in source.rglob("*.py") if written.search(p.read_text(encoding="utf-8"))}
    assert files == {"csv_files.py", str(Path("ingest/options.py"))}


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


def test_findings_of_an_audit_are_safe_in_a_spreadsheet(tmp_path):
    """Texts are guarded, numbers as they are printed are not."""
    table = pd.DataFrame({"judge": ["=1+1", "@x", "g"], "wins": ["-3", "+4", "5"], "rate": ["-.5", "+1", ".5"]})
    rules = [{"rule": "share", "share": "rate", "count": "wins", "of": 10}]
    path = write_findings(audited(table, rules=rules), tmp_path / "findings.csv")
    findings = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert findings["printed"].tolist() == ["-.5", "+1", ".5"]
    assert findings["claim"].str[:6].tolist() == ["'=1+1:", "'@x: s", "g: sha"]
    cells = [cell for row in findings.itertuples(index=False) for cell in row]
    assert all(
        re.fullmatch(r"[+-]?[\d.]+", cell) for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    )
    whole = audited(table, rules=rules)[0].findings()
    assert [unguarded(c) for c in findings["claim"]] == whole["claim"].tolist()


@pytest.mark.parametrize("cell", ["-0.3", "+5", "-1,234.5", "-12 %", "+.5", "-1e-5", "-12%"])
def test_numbers_as_printed_are_not_guarded(cell):
    assert as_csv(pd.DataFrame({"a": [cell]})).splitlines()[1].strip('"') == cell


@pytest.mark.parametrize("cell", ["-1+cmd|' /C calc'!A0", "=5", "--5", "-5-", "+1 1", "-", "@5", "'5"])
def test_what_only_begins_as_a_number_is(cell):
    assert next(csv.reader(as_csv(pd.DataFrame({"a": [cell]})).splitlines()[1:])) == [f"'{cell}", "'"]


def test_an_infinite_number_printed_as_text_is_no_formula():
    """A page's table has its numbers as texts: -inf among them needs no mark beside it."""
    assert as_csv(pd.DataFrame({"z": ["-inf", "1.5", "-2"]})) == "z\n-inf\n1.5\n-2\n"
    assert as_csv(pd.DataFrame({"z": ["-info"]})) == "z,spreadsheet_quote\n'-info,'\n"
