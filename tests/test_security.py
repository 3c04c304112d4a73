"""The promises of SECURITY.md: each guard holds against an attack, and the attack succeeds where the guard is switched off."""

from __future__ import annotations

import gzip
import json
import os
import re
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from io import StringIO
from pathlib import Path
from time import perf_counter

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from jinja2.nodes import Node

import judgestats as js
from command_line import run
from judgestats import csv_files, errors, outputs
from judgestats.cli import app, application
from judgestats.design import (
    Plan,
    Prompt,
    build,
    collect,
    collection,
    earlier_answers,
    export,
    exports,
    plan_files,
    prompt_templates,
    vacuum,
)
from judgestats.errors import DesignError, JudgestatsError, SchemaError
from judgestats.ingest import compressed_files, databases, delimited, files, registry, sources
from judgestats.ingest.paths import PathPattern
from judgestats.models import formula
from judgestats.outputs import MarkedOutputs, Outputs
from judgestats.published import audited
from judgestats.published.expressions import Reading
from judgestats.published.printed_tables import Book
from judgestats.published.table_audits import write_findings
from judgestats.reporting import markup, source_tables

PAGE = (Path(js.__file__).parents[2] / "SECURITY.md").read_text(encoding="utf-8")
CALLS = "judge,item,first,second,choice\n{0},1,x,y,first\n{0},1,y,x,second\n"
PLAN = vacuum("m", calls=6)


@dataclass(frozen=True)
class Guard:
    """A `promise` of the page, an `attack` that asserts it, and how its guard is switched off: attributes to replace."""

    promise: str
    attack: Callable[[], object]
    off: tuple[tuple[object, str, object], ...]


def answers(name: str = "a.jsonl", calls: slice = slice(None)) -> str:
    lines = [json.dumps({"call": c, "answer": "tie"}) + "\n" for c in PLAN.calls["call"][calls]]
    Path(name).write_text("".join(lines))
    return name


def rated(text: str = "Hello.", judges: str | list[str] = "m") -> Plan:
    table = pd.DataFrame({"item": ["1"], "system": "s", "task_text": "Go.", "response_text": [text]})
    return build(table, judges=judges, prompts="likert")


def attempt(work: Callable[[], object]) -> None:
    with suppress(JudgestatsError):
        work()


def bomb() -> None:
    Path("in.csv.gz").write_bytes(gzip.compress(bytes(100_000)))
    open_packed = compressed_files.open_bytes
    with compressed_files.unpacking(1000), open_packed(Path("in.csv.gz")) as file, pytest.raises(JudgestatsError):
        file.read()


def secret_in_an_error() -> None:
    assert "s3cret" not in str(DesignError("postgresql://ann:s3cret@db/calls"))


def secret_in_a_manifest() -> None:
    with suppress(DesignError):
        build(pd.DataFrame({"item": ["1"], "first": "u", "second": "v", "task_text": "a", "first_text": "b", "second_text": "c"}),
              judges="m", about={"from": "postgresql://ann:s3cret@db/calls"}).write("secret")  # fmt: skip
    assert "s3cret" not in Path("secret/manifest.json").read_text()


def secret_in_a_name() -> None:
    with pytest.raises(DesignError):
        rated(judges="https://ann:s3cret@host/m")


def over_what_was_read() -> None:
    PLAN.write("plan")
    Path("link.jsonl").symlink_to(answers())
    before = Path("a.jsonl").read_bytes()
    run.invoke(app, ["collect", "plan", "a.jsonl", "--out", "link.jsonl", "--overwrite"])
    assert Path("a.jsonl").read_bytes() == before


def where_a_pattern_looks() -> None:
    PLAN.write("plan")
    answers("a1.jsonl")
    run.invoke(app, ["collect", "plan", "a*.jsonl", "--out", "a2.jsonl"])
    assert not Path("a2.jsonl").exists()


def over_a_page_of_mine() -> None:
    Path("in.csv").write_text(CALLS.format("g"))
    js.report(js.read("in.csv"), "page.html")
    Path("page.html").write_text(mine := Path("page.html").read_text().replace("g", "h", 1))
    attempt(lambda: js.report(js.read("in.csv"), "page.html"))
    assert Path("page.html").read_text() == mine


def over_a_table_of_mine() -> None:
    PLAN.write("plan")
    run.invoke(app, ["collect", "plan", answers()])
    Path("verdicts.csv").write_text("judge,item\nmine,1\n")
    run.invoke(app, ["collect", "plan", "a.jsonl"])
    assert "mine" in Path("verdicts.csv").read_text()


def over_a_form() -> None:
    """Written with its plan, then saved as something else by the person who filled it in."""
    (path,) = exports.write_with_calls(rated(), Path("p"), "form", overwrite=False, inputs=())
    path.write_text("Form of Ann\n" + path.read_text())
    mine = path.read_bytes()
    attempt(lambda: exports.write_with_calls(rated("Hi."), Path("p"), "form", overwrite=True, inputs=()))
    attempt(lambda: export(rated("Hi."), "p", "form", overwrite=True))
    assert path.read_bytes() == mine


def over_calls_without_a_digest() -> None:
    (path,) = export(rated(), "loose", "csv")
    path.write_text(path.read_text().replace("call,", "id,"))
    mine = path.read_bytes()
    attempt(lambda: export(rated("Hi."), "loose", "csv", overwrite=True))
    assert path.read_bytes() == mine


def over_a_plan_with_answers() -> None:
    PLAN.write("plan")
    run.invoke(app, ["collect", "plan", answers()])
    attempt(lambda: rated().write("plan", overwrite=True))
    assert Plan.read("plan").calls["call"].tolist() == PLAN.calls["call"].tolist()


def record_without_a_reply() -> None:
    a, b, *_ = PLAN.calls["call"]
    data = collect(PLAN, [{"call": a, "remark": "rate limit"}, {"call": b, "answer": "A"}])
    assert data.set_index("call")["status"].astype(str)[a] == "error"


def call_without_an_answer() -> None:
    a, *_ = PLAN.calls["call"]
    assert len(collect(PLAN, [{"call": a, "answer": "A"}])) == 6


def two_judges_in_one_file() -> None:
    attempt(lambda: export(rated(judges=["a/b", "a_b"]), "calls", "openai"))
    written = [path for path in Path().glob("calls/*") if path.read_text()]
    assert len(written) in (0, 2)


def fewer_calls_than_planned() -> None:
    rows = exports._rows
    exports._rows = lambda plan: list(rows(plan))[1:]
    try:
        attempt(lambda: export(PLAN, "calls"))
    finally:
        exports._rows = rows
    assert not list(Path().glob("calls/*"))


def half_a_file() -> None:
    Path("old.html").write_text("old")

    def broken() -> None:
        with Outputs(overwrite=True) as files, files.open("old.html") as out:
            out.write("new")
            raise DesignError("full")

    attempt(broken)
    assert Path("old.html").exists()
    assert Path("old.html").read_text() == "old"


def forgotten_answers() -> None:
    PLAN.write("plan")
    run.invoke(app, ["collect", "plan", answers("a1.jsonl", slice(0, 3))])
    Path("a1.jsonl").unlink()
    run.invoke(app, ["collect", "plan", answers("a2.jsonl", slice(3, 6))])
    assert (pd.read_csv("verdicts.csv")["status"] == "ok").all()


def answers_through_a_link() -> None:
    PLAN.write("plan")
    run.invoke(app, ["collect", "plan", answers("a1.jsonl", slice(0, 3)), "--out", "first.csv"])
    Path("plan/collected").rename("outside")
    Path("plan/collected").symlink_to(Path("outside").absolute())
    run.invoke(app, ["collect", "plan", answers("a2.jsonl", slice(3, 6))])
    assert not Path("verdicts.csv").exists()


def answers_that_a_manifest_names() -> None:
    PLAN.write("plan")
    manifest = Path("plan/manifest.json")
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "answers": ["../fake.jsonl"]}))
    answers("fake.jsonl", slice(0, 3))
    run.invoke(app, ["collect", "plan", answers("a2.jsonl", slice(3, 6))])
    assert not Path("verdicts.csv").exists()


def changed_answers() -> None:
    PLAN.write("plan")
    run.invoke(app, ["collect", "plan", answers("a1.jsonl", slice(0, 3)), "--out", "first.csv"])
    (copy,) = Path("plan/collected").glob("*/a1.jsonl")
    copy.write_text(copy.read_text().replace("tie", "A"))
    run.invoke(app, ["collect", "plan", answers("a2.jsonl", slice(3, 6))])
    assert not Path("verdicts.csv").exists()


def changed_plan() -> None:
    PLAN.write("plan")
    texts = Path("plan/texts.jsonl")
    texts.write_text(texts.read_text() + "\n")
    with pytest.raises(DesignError, match="was changed"):
        Plan.read("plan")


def part_that_is_a_link() -> None:
    PLAN.write("plan")
    Path("plan/texts.jsonl").rename("texts.jsonl")
    Path("plan/texts.jsonl").symlink_to(Path("texts.jsonl").absolute())
    with pytest.raises(DesignError, match="link"):
        Plan.read("plan", trust=True)


def formula_in_a_form() -> None:
    (path,) = export(rated("=1+1"), "forms", "form")
    assert ",=1+1" not in path.read_text()


def formula_in_a_finding() -> None:
    rule = {"rule": "share", "share": "rate", "count": "wins", "of": 4}
    table = pd.DataFrame({"judge": ["=1+1"], "wins": ["1"], "rate": [".25"]})
    write_findings(audited(table, rules=[rule]), "findings.csv")
    assert pd.read_csv("findings.csv")["claim"][0].startswith("'=1+1")


def formula_in_verdicts() -> None:
    pairs = pd.DataFrame(
        {"item": ["=1+1"], "first": "u", "second": "v", "task_text": "a", "first_text": "b", "second_text": "c"}
    )
    build(pairs, judges="m").write("named")
    Path("a.jsonl").write_text(
        "".join(json.dumps({"call": c, "answer": "tie"}) + "\n" for c in Plan.read("named").calls["call"])
    )
    run.invoke(app, ["collect", "named", "a.jsonl"])
    assert ",=1+1" not in Path("verdicts.csv").read_text()


def guard_that_stays() -> None:
    Path("in.csv").write_text(csv_files.as_csv(pd.read_csv(StringIO(CALLS.format("=1+1")))))
    assert set(js.read("in.csv")["judge"]) == {"=1+1"}


def quote_of_others() -> None:
    Path("in.csv").write_text(CALLS.format("'=1+1"))
    assert set(js.read("in.csv")["judge"]) == {"'=1+1"}


def over_what_a_function_read() -> None:
    Path("verdicts.csv").write_text(CALLS.format("g"))
    attempt(lambda: js.report(js.read("verdicts.csv"), "verdicts.csv", overwrite=True))
    assert Path("verdicts.csv").read_text() == CALLS.format("g")


def word_of_a_link() -> None:
    Path("folder").mkdir()
    Path("folder/in.csv").write_text(CALLS.format("g"))
    Path("secret").write_text("s3cret\n1\n")
    Path("folder/link.csv").symlink_to(Path("secret").absolute())
    with pytest.raises(JudgestatsError) as error:
        js.read("folder")
    assert "s3cret" not in str(error.value)


def script_on_a_page() -> None:
    Path("in.csv").write_text(CALLS.format("<script>alert(1)</script>"))
    js.report(js.read("in.csv"), "page.html", n_resamples=20)
    assert "<script>alert" not in Path("page.html").read_text()


def secret_in_a_source() -> None:
    Path("in.csv").write_text(CALLS.format("g"))
    js.report(js.read("in.csv"), "page.html", n_resamples=20, source={"database": "postgresql://ann:s3cret@db/calls"})
    assert "s3cret" not in Path("page.html").read_text()


def secret_on_the_command_line() -> None:
    assert "s3cret" not in run.invoke(app, ["postgresql://ann:s3cret@db/calls"]).output


def loop_in_a_template() -> None:
    with pytest.raises(DesignError):
        Prompt("loops", "{{ first }}{{ second }}{% for sign in task %}{{ task }}{% endfor %}")


def reader_that_is_none() -> None:
    entry_points = registry.entry_points
    registry.native_readers.cache_clear()
    registry.entry_points = lambda group: [EntryPoint("bad", "json:loads", group)]
    try:
        with pytest.warns(UserWarning, match="'bad'.*left out"):
            registry.native_readers()
    except AttributeError as problem:
        pytest.fail(str(problem))
    finally:
        registry.entry_points = entry_points
        registry.native_readers.cache_clear()


def over_what_exists() -> None:
    Path("in.csv").write_text(CALLS.format("g"))
    Path("page.html").write_text("mine")
    attempt(lambda: js.report(js.read("in.csv"), "page.html", n_resamples=20))
    assert Path("page.html").read_text() == "mine"


def over_a_copy_of_a_form() -> None:
    """A form that was filled in, elsewhere, named as the file of the verdicts."""
    PLAN.write("plan")
    (path,) = export(rated(), "forms", "form")
    table = pd.read_csv(path).assign(comment="mine")
    table.to_csv("copy.csv", index=False)
    run.invoke(app, ["collect", "plan", answers(), "--out", "copy.csv", "--overwrite"])
    assert "mine" in Path("copy.csv").read_text()


def link_without_a_name() -> None:
    for folder in ("folder", "other"):
        Path(folder).mkdir()
        Path(folder, "in.csv").write_text(CALLS.format(folder))
    Path("folder/link.csv").symlink_to(Path("other/in.csv").absolute())
    for source in ("folder", ["folder"]):
        assert str(Path("other/in.csv").resolve()) in " ".join(js.check(js.read(source))["where"].astype(str))


def file_of_a_formula() -> None:
    calls = pd.DataFrame({"y": [0, 1, 0, 1, 1, 0], "x": [1.0, 2, 3, 4, 5, 6]})
    attempt(lambda: js.fit("y ~ np.savetxt('taken', x)", calls))
    assert not Path("taken").exists()


def file_of_a_rule() -> None:
    book = Book({"rates": {"value": ["1"]}}, {})
    attempt(lambda: Reading(book, "__import__('pathlib').Path('taken').touch()", "rates", 0).value())
    assert not Path("taken").exists()


def picture_from_elsewhere() -> None:
    Path("in.csv").write_text(CALLS.format("<img src=http://elsewhere/x.png>"))
    js.report(js.read("in.csv"), "page.html", n_resamples=20)
    page = Path("page.html").read_text()
    assert "<img src=http" not in page
    assert "default-src &#39;none&#39;" in page


def pattern_without_end() -> None:
    seconds = []
    for letters in (8, 18):
        start = perf_counter()
        assert PathPattern("{run:(a|a)*}b").values("a" * letters) is None
        seconds.append(perf_counter() - start)
    assert seconds[1] < 0.02 + 20 * seconds[0]


def by_backtracking(names: pa.Array, pattern: str) -> pa.Array:
    match = re.match(pattern.replace(r"\z", r"\Z"), names[0].as_py())
    return pa.array([match and match.groupdict()])


class Lost:
    """A connection whose driver quotes its password."""

    def cursor(self) -> None:
        raise ValueError("host=db password=s3cret")

    def rollback(self) -> None:
        pass


def secret_in_a_cause() -> None:
    with pytest.raises(JudgestatsError) as caught:
        js.read("SELECT 1", connection=Lost())
    assert "s3cret" not in "".join(traceback.format_exception(caught.value))


def chained(problem: Exception, *_: object) -> str:
    raise SchemaError("The query failed.") from problem


def half_a_folder() -> None:
    with Outputs(folder=Path("new")) as out, out.open("new/a.csv") as file:
        file.write("x")
        assert not Path("new").exists()


def always(value: object) -> Callable[..., object]:
    return lambda *_, **__: value


def written(plan: Plan, files: dict[Path, Callable[..., int]], outputs: Outputs) -> None:
    """Calls as they are written, without a look at how many they are."""
    for path, write in files.items():
        with outputs.open(path) as out:
            write(out)


def as_in_the_manifest(content: bytes) -> str:
    """The digest of a part; of one that was changed, that of the part as it was."""
    digests = json.loads(Path("plan/manifest.json").read_text())["sha256"]
    return digests["texts.jsonl"] if content.endswith(b"\n\n") else outputs.digest(content)


def all_unguarded(*source: object) -> Iterator[pa.RecordBatch]:
    """Rows of CSV without the quotes, whoever wrote them."""
    for batch in delimited.delimited_batches(*source):
        marked = batch.append_column(csv_files.GUARD, pa.array(["'"] * batch.num_rows))
        yield delimited._unguarded(marked)


copies = earlier_answers._copies
pages_of = markup.environment
GUARDS = [
    Guard("archives unpack to a bounded size", bomb, ((compressed_files, "unpacked_limit", always(1 << 40)),)),
    Guard("runs no script that comes from the data", script_on_a_page, ((markup, "environment", lambda: pages_of().overlay(autoescape=False)),)),
    Guard("in what a page says of its source", secret_in_a_source, ((source_tables, "masked", str),)),
    Guard("on the command line", secret_on_the_command_line, ((application, "masked", str),)),
    Guard("no loops, no arithmetic, no calls", loop_in_a_template, ((prompt_templates, "_ALLOWED", (Node,)),)),
    Guard("left out with a warning that names it", reader_that_is_none, ((registry, "_fault", always("")),)),
    Guard("is replaced only with", over_what_exists, ((MarkedOutputs, "_has_mark", always(True)),)),
    Guard("is known by its columns", over_a_copy_of_a_form, ((outputs, "has_answers", always(False)),)),
    Guard("named with its target in `check`", link_without_a_name, ((sources, "_outside", always({})),)),
    Guard("masked in every error", secret_in_an_error, ((errors, "masked", str),)),
    Guard("in the manifest of a plan", secret_in_a_manifest, ((plan_files, "masked", str),)),
    Guard("a judge whose name shows one is not planned", secret_in_a_name, ((js.design.plans, "masked", str),)),
    Guard("never written over, with or without", over_what_was_read, ((outputs, "_is_same", always(False)), (outputs, "has_answers", always(False)))),
    Guard("same glob or folder", where_a_pattern_looks, ((outputs, "_would_read", always(False)),)),
    Guard("Pages and pictures end with a mark", over_a_page_of_mine, ((MarkedOutputs, "_has_mark", always(True)),)),
    Guard("tables that were collected from it", over_a_table_of_mine, ((plan_files, "file_digest", lambda path: json.loads(Path("plan/manifest.json").read_text())["written"][0]),)),
    Guard("only if its bytes have the digest", over_a_form, ((plan_files, "as_written", always(always(True))), (exports, "as_written", always(always(True))))),
    Guard("without a digest too", over_calls_without_a_digest, ((exports, "as_written", always(None)), (outputs, "has_answers", always(False)))),
    Guard("more than was written with it", over_a_plan_with_answers, ((plan_files, "_refuse_another", always(None)),)),
    Guard("accounts for every record", record_without_a_reply, ((collection, "malformed_reply", always(None)),)),
    Guard("every planned call", call_without_an_answer, ((collection.Account, "attached", lambda self, frame: frame[frame["status"] != "missing"]),)),
    Guard("Judges have files of their own", two_judges_in_one_file, ((exports, "file_stems", lambda names: dict.fromkeys(names, "a_b")), (exports, "_write", written))),
    Guard("as many calls are written as were planned", fewer_calls_than_planned, ((exports, "_write", written),)),
    Guard("replaced whole or not at all", half_a_file, ((Outputs, "_draft", lambda self, target: target.unlink(missing_ok=True) or target),)),
    Guard("keeps a copy of the answers", forgotten_answers, ((earlier_answers, "earlier_answers", always([])),)),
    Guard("opens nothing outside that folder", answers_through_a_link, ((earlier_answers, "inner_folders", lambda folder, pattern: sorted(folder.glob(pattern))),)),
    Guard("that its command line does not name", answers_that_a_manifest_names, ((earlier_answers, "earlier_answers", always([Path("fake.jsonl")])),)),
    Guard("its answers are read from regular files", changed_answers, ((earlier_answers, "_copies", lambda folder, trust: copies(folder, True)),)),
    Guard("whose digests fit", changed_plan, ((plan_files, "digest", as_in_the_manifest),)),
    Guard("links, and other names in the manifest", part_that_is_a_link, ((plan_files, "regular_file", lambda folder, name: folder / name),)),
    Guard("run as a formula have a quote before them", formula_in_a_form, ((csv_files, "guarded", lambda cell: cell),)),
    Guard("findings of an audit", formula_in_a_finding, ((csv_files, "guarded", lambda cell: cell),)),
    Guard("In every CSV file", formula_in_verdicts, ((csv_files, "guarded", lambda cell: cell),)),
    Guard("reads them without the quotes", guard_that_stays, ((delimited, "_unguarded", lambda batch: batch),)),
    Guard("where nothing says so, a quote stays", quote_of_others, ((files, "delimited_batches", all_unguarded),)),
    Guard("read before in the same process", over_what_a_function_read, ((outputs, "_was_read", always(False)),)),
    Guard("parsed and never evaluated as Python", file_of_a_formula, ((formula, "_check_calls", always(None)),)),
    Guard("parsed and never evaluated as Python", file_of_a_rule, ((Reading, "value", lambda self: eval(self.expression)),)),
    Guard("loads nothing from elsewhere", picture_from_elsewhere, ((markup, "environment", lambda: pages_of().overlay(autoescape=False)),)),
    Guard("take time in proportion to the name", pattern_without_end, ((pc, "extract_regex", by_backtracking),)),
    Guard("(its causes too)", secret_in_a_cause, ((databases, "failure", chained),)),
    Guard("a new folder appears when all is in it", half_a_folder, ((Outputs, "__enter__", lambda self: self),)),
    Guard("quoted in no error", word_of_a_link, ((sources, "_outside", always({})),)),
]  # fmt: skip


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
@pytest.mark.parametrize("guard", GUARDS, ids=[g.attack.__name__ for g in GUARDS])
def test_a_guard_holds_and_without_it_the_attack_succeeds(guard, tmp_path, monkeypatch):
    assert guard.promise in " ".join(PAGE.split())
    for name in ("with", "without"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "with")
    guard.attack()
    monkeypatch.chdir(tmp_path / "without")
    for module, name, replacement in guard.off:
        monkeypatch.setattr(module, name, replacement)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        guard.attack()


def test_each_promise_on_what_is_written_has_a_guard():
    promises = [
        " ".join(p.split())
        for p in PAGE.partition("It also promises")[2].partition("Supported is")[0].split("\n- ")[1:]
    ]
    assert len(promises) > 8
    for promise in promises:
        assert any(g.promise in promise for g in GUARDS), promise
