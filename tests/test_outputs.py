"""What is written: whole or not at all, never over what was read, over other files only if told, for all that writes."""

from __future__ import annotations

import ast
import errno
import inspect
import io
import os
import re
import shutil
import signal
import sqlite3
import sys
import threading
import zipfile
from collections.abc import Callable, Hashable
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import get_args

import pandas as pd
import pytest
from typer.testing import CliRunner

import judgestats as js
from judgestats.cli import app
from judgestats.cli.common_options import Overwrite
from judgestats.design import Judge, Plan, collect, controlled_pairs, export, simulate_replies, vacuum, write_controlled
from judgestats.errors import DesignError
from judgestats.outputs import MarkedOutputs, Outputs, note_read
from judgestats.published import audited
from judgestats.reporting import audit_page, reproduction_page
from judgestats.reporting.plots import forest
from refusals import refused

CALLS = "judge,item,first,second,choice\ng,1,x,y,first\ng,1,y,x,second\n"
RULES = '[[rule]]\nrule = "sum"\ntotal = "n"\nparts = ["a", "b"]\n'
TEXTS = pd.DataFrame(
    {
        "item": ["q1"],
        "topic": "food",
        "task_text": "How is tea made?",
        "role": "complete",
        "text": ["Boil water. Add it."],
    }
)
RESPONSES = "item,system,task_text,response_text\n1,s,Say hello.,Hello.\n2,s,Say no.,No.\n"
OLD = b"paid for\n"
#: What writes a file without `Outputs`, and where it may: temporary files that are read at once.
WRITE = ("write_text", "write_bytes", "to_csv", "to_excel", "dump")
TEMPORARY = {("sources.py", "spooled"), ("sources.py", "_archived")}


@dataclass(frozen=True)
class Writer:
    """Something that writes: `run` with the path it writes to, `out` that path, `inputs` what it reads."""

    run: Callable[..., None]
    out: str
    inputs: tuple[str, ...] = ()


def command(*args: str) -> Callable[..., None]:
    """A command, with ``{}`` in its arguments where the output comes; an error is raised as ours."""

    def run(out: str, overwrite: bool = False) -> None:
        typed = [a.replace("{}", out) for a in args] + ["--overwrite"] * overwrite
        result = CliRunner().invoke(app, typed)
        if result.exit_code == 2:
            raise DesignError(" ".join(result.output.split()))
        assert result.exit_code == 0, (result.output, result.exception)

    run.typed = args
    return run


def function(write: Callable[..., object]) -> Callable[..., None]:
    return lambda out, overwrite=False: (write(Path(out), overwrite=overwrite), None)[1]


def _report(path, overwrite):
    from judgestats.ingest import source_info

    return js.report(js.read("in.csv"), path, source=source_info("in.csv"), overwrite=overwrite)


WRITERS = {
    "report": Writer(command("report", "in.csv", "--out", "{}"), "page.html", ("in.csv",)),
    "report, Markdown": Writer(command("report", "in.csv", "--out", "{}"), "page.md", ("in.csv",)),
    **{
        f"report, statements, {kind}": Writer(
            command("report", "in.csv", "--out", "page.html", "--statements", "{}"), f"said.{kind}", ("in.csv",)
        )
        for kind in ("csv", "jsonl")
    },
    "audit": Writer(
        command("audit", "table.csv", "--rules", "rules.toml", "--out", "{}"), "page.html", ("table.csv", "rules.toml")
    ),
    **{
        f"audit, {kind}": Writer(
            command("audit", "table.csv", "--rules", "rules.toml", "--claims", "claims.csv", "--out", "{}"),
            f"findings.{kind}",
            ("table.csv", "rules.toml", "claims.csv"),
        )
        for kind in ("csv", "jsonl")
    },
    "reproduce": Writer(command("reproduce", "dark_current", "--out", "{}"), "page.html"),
    "plan": Writer(
        command("plan", "rubric", "--judge", "m", "--responses", "responses.csv", "--out", "{}"),
        "new",
        ("responses.csv",),
    ),
    "plan, forms": Writer(
        command("plan", "rubric", "--judge", "m", "--responses", "responses.csv", "--format", "form", "--out", "{}"),
        "new",
        ("responses.csv",),
    ),
    "collect": Writer(
        command("collect", "plan", "answers.jsonl", "--out", "{}"),
        "table.out.csv",
        ("answers.jsonl", "plan/calls.parquet", "plan/manifest.json", "plan/texts.jsonl", "plan/prompts.json"),
    ),
    "collect, page": Writer(
        command("collect", "plan", "answers.jsonl", "--report", "{}"),
        "page.html",
        ("answers.jsonl", "plan/manifest.json"),
    ),
    "collect, calls left": Writer(
        command("collect", "plan", "answers.jsonl", "--left", "{}"), "rest", ("answers.jsonl",)
    ),
    "js.report": Writer(function(_report), "page.html", ("in.csv",)),
    "audit_page": Writer(
        function(lambda p, overwrite: audit_page(audited("table.csv", rules="rules.toml"), p, overwrite=overwrite)),
        "page.html",
        ("table.csv", "rules.toml"),
    ),
    "reproduction_page": Writer(
        function(lambda p, overwrite: reproduction_page(p, "dark_current", overwrite=overwrite)), "page.html"
    ),
    "Plan.write": Writer(function(lambda p, overwrite: vacuum("m", calls=6).write(p, overwrite=overwrite)), "new"),
    **{
        f"export, {name}": Writer(
            function(lambda p, overwrite, name=name: export(vacuum("m", calls=6), p, name, overwrite=overwrite)), "new"
        )
        for name in ("jsonl", "csv", "openai", "anthropic", "inspect", "promptfoo", "form")
    },
    "write_controlled": Writer(
        function(
            lambda p, overwrite: write_controlled(
                controlled_pairs(TEXTS, kinds=["length_truncated"]), p, overwrite=overwrite
            )
        ),
        "pairs.jsonl",
    ),
    "Picture.save": Writer(
        function(
            lambda p, overwrite: forest(
                pd.DataFrame({"judge": ["a", "b"], "term": "consistency", "estimate": [0.8, 0.6]})
            ).save(p, overwrite=overwrite)
        ),
        "picture.svg",
    ),
}
NAMES = [pytest.param(name, marks=pytest.mark.slow) if "repro" in name else name for name in WRITERS]
FILES = {name: w for name, w in WRITERS.items() if "." in w.out}


@pytest.fixture(scope="module")
def inputs_of_all(tmp_path_factory):
    """Inputs of every writer, written once."""
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "in.csv").write_text(CALLS)
    (folder / "table.csv").write_text("judge,a,b,n\ng,1,2,4\n")
    (folder / "rules.toml").write_text(RULES)
    (folder / "claims.csv").write_text("id,claim,place,quantity,printed,unit,predicate,otherwise,comment\n")
    (folder / "responses.csv").write_text(RESPONSES)
    plan = vacuum("m", calls=6)
    plan.write(folder / "plan")
    replies = simulate_replies(plan, Judge("m"), error=0.3, seed=3)
    replies.to_json(folder / "answers.jsonl", orient="records", lines=True)
    return folder


@pytest.fixture
def place(inputs_of_all, tmp_path, monkeypatch):
    """A folder with inputs of every writer."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(inputs_of_all, tmp_path, dirs_exist_ok=True)
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    """Every file but the manifest of the plan, which is read and rewritten."""
    kept = folder / "plan" / "manifest.json"
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file() and p != kept}


def spellings(path: str) -> list[str]:
    """A file under other names: a link, a hard link, a detour, another case."""
    ending = Path(path).suffix
    Path(f"link{ending}").symlink_to(Path(path).absolute())
    os.link(path, f"hard{ending}")
    folder, name = os.path.split(path)
    detour = os.path.join(folder, "..", Path(folder or ".").absolute().name, name)
    return [path, f"link{ending}", f"hard{ending}", detour, os.path.join(folder, name.upper())]


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(("name", "read"), [(n, i) for n, w in FILES.items() for i in w.inputs])
def test_inputs_are_never_outputs(place, name, read, overwrite):
    before = {**contents(place), "manifest": (place / "plan" / "manifest.json").read_bytes()}
    for spelling in spellings(read):
        with pytest.raises(DesignError, match=r"is a file that was read|never written over"):
            WRITERS[name].run(spelling, overwrite=overwrite)
    for other in Path().glob("link.*"), Path().glob("hard.*"):
        next(other).unlink()
    assert {**contents(place), "manifest": (place / "plan" / "manifest.json").read_bytes()} == before


def test_nothing_is_put_where_a_pattern_or_folder_would_find_it(place):
    Path("answers").mkdir()
    Path("answers.jsonl").rename("answers/one.jsonl")
    Path("answers/in.csv").write_text(CALLS)
    before = contents(place)
    for args in (
        ["collect", "plan", "answers/*.jsonl", "--out", "answers/new.jsonl", "--overwrite"],
        ["collect", "plan", "answers/o*.jsonl", "--out", "answers/ONE2.jsonl", "--overwrite"],
        ["collect", "plan", "answers", "--out", "answers/verdicts.csv", "--overwrite"],
        ["collect", "plan", "answers/one.jsonl", "--out", "answers/one.jsonl", "--overwrite"],
    ):
        result = CliRunner().invoke(app, args)
        assert (result.exit_code, contents(place)) == (2, before), result.output
    assert CliRunner().invoke(app, ["report", "answers/*.csv", "--out", "answers/page.html"]).exit_code == 0
    assert (
        CliRunner().invoke(app, ["collect", "plan", "answers/*.jsonl", "--out", "answers/verdicts.csv"]).exit_code == 0
    )


def foreign(writer: Writer) -> Path:
    """A file of another maker where this one writes: the file itself, or one of a folder."""
    if "." in writer.out:
        path = Path(writer.out)
    else:
        writer.run("elsewhere")
        path = Path(writer.out) / next(p.name for p in sorted(Path("elsewhere").iterdir()) if p.is_file())
        path.parent.mkdir()
    path.write_bytes(OLD)
    return path


@pytest.mark.parametrize("name", NAMES)
def test_a_file_of_another_maker_is_replaced_only_if_told(place, name):
    """In a folder that a plan or calls are written to, it is not: people and runners fill in what stands there."""
    writer = WRITERS[name]
    path = foreign(writer)
    if "." not in writer.out:
        for overwrite in (False, True):
            with pytest.raises(DesignError, match=r"nothing says how it was written.*Move it away"):
                writer.run(writer.out, overwrite=overwrite)
            assert contents(Path(writer.out)) == {path.name: OLD}
        return
    with pytest.raises(DesignError, match="overwrite"):
        writer.run(writer.out)
    assert path.read_bytes() == OLD
    writer.run(writer.out, overwrite=True)
    assert path.read_bytes() != OLD


@pytest.mark.parametrize("name", NAMES)
def test_twice_is_as_good_as_once_until_somebody_changes_it(place, name):
    writer = WRITERS[name]
    writer.run(writer.out)
    writer.run(writer.out)
    changed = sorted(p for p in ([Path(writer.out)] if "." in writer.out else Path(writer.out).iterdir()))[0]
    changed.write_bytes(changed.read_bytes() + b" ")
    edited = changed.read_bytes()
    with pytest.raises(DesignError):
        writer.run(writer.out)
    assert changed.read_bytes() == edited


def types(hint):
    """All types in an annotation."""
    return {hint, *(inner for part in get_args(hint) for inner in types(part))} if isinstance(hint, Hashable) else set()


def test_every_command_that_writes_is_in_the_table():
    """Each option with a path that is not read, of each command, and each command and function with `overwrite`."""
    typed = [words for w in WRITERS.values() if (words := getattr(w.run, "typed", ()))]
    inputs = {("audit", "--rules"), ("audit", "--claims")}
    for one in app.registered_commands:
        name = one.name or one.callback.__name__
        hints = {p.annotation for p in inspect.signature(one.callback, eval_str=True).parameters.values()}
        paths = {(name, i.param_decls[0]) for h in hints if Path in types(h) for i in h.__metadata__ if i.param_decls}
        for _, option in paths - inputs:
            assert any(words[0] == name and (option, "{}") in pairwise(words) for words in typed), (name, option)
        assert Overwrite not in hints or name == "next" or any(words[0] == name for words in typed), name
    surface = (Path(js.__file__).parents[2] / "docs" / "public_surface.txt").read_text().splitlines()
    functions = {line.split(" | ")[1] for line in surface if re.match(r"..parameter .* \| overwrite \|", line)}
    assert len(functions) > 3
    short = {re.sub(r"^judgestats\.([a-z]+\.)?", "", name) for name in functions}
    assert short <= {name.partition(", ")[0] for name in WRITERS}


@pytest.mark.slow
def test_every_place_that_writes_is_reached_by_the_table(place, monkeypatch):
    """The functions of the package that open outputs are those that the writers of the table ran; nothing else writes."""
    calls, others = set(), set()
    for path in sorted(Path(js.__file__).parent.rglob("*.py")):
        for outer in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for node in ast.walk(outer) if isinstance(outer, ast.FunctionDef) else ():
                if not isinstance(node, ast.Call):
                    continue
                name = getattr(node.func, "attr", getattr(node.func, "id", ""))
                modes = [
                    a.value for a in [*node.args, *(k.value for k in node.keywords)] if isinstance(a, ast.Constant)
                ]
                if name in ("Outputs", "MarkedOutputs"):
                    calls.add((path.name, outer.name))
                drafted = ast.unparse(node.func) in ("self.open", "outputs.open", "own.open")  # of Outputs
                if name in WRITE or (name == "open" and not drafted and any(str(m)[:1] in "wxa" for m in modes)):
                    others.add((path.name, outer.name))
    reached = set()
    start = Outputs.__init__

    def noted(self, *args, **options):
        frame = sys._getframe(1)
        while frame.f_code.co_name == "__init__":  # MarkedOutputs
            frame = frame.f_back
        reached.add((Path(frame.f_code.co_filename).name, frame.f_code.co_name))
        start(self, *args, **options)

    monkeypatch.setattr(Outputs, "__init__", noted)
    for number, writer in enumerate(WRITERS.values()):
        writer.run(f"{number}{writer.out}")
    assert calls == {place for place in reached if place[0] != Path(__file__).name}
    assert others == TEMPORARY


def test_files_that_one_command_writes_are_not_one(place):
    """Neither the calls left, nor the page, go over the verdicts; nor findings over a page."""
    for args in (
        ("collect", "plan", "answers.jsonl", "--out", "rest/calls.jsonl", "--left", "rest"),
        ("collect", "plan", "answers.jsonl", "--left", "rest", "--report", "rest/prompts.json"),
        ("collect", "plan", "answers.jsonl", "--out", "x.csv", "--report", "./x.csv"),
        ("audit", "table.csv", "--rules", "rules.toml", "--out", "y.csv", "--out", "./y.csv"),
    ):
        with pytest.raises(DesignError, match=r"is a file that was read|are one"):
            command(*args)("", overwrite=True)


def test_what_is_no_file_is_written_to_under_any_name(place):
    out, into = os.pipe()
    command("collect", "plan", "answers.jsonl", "--out", f"/dev/fd/{into}")("")
    os.close(into)
    with os.fdopen(out) as file:
        assert file.readline().startswith("judge,item,")


def test_more_answers_renew_the_table_and_the_page(place):
    answers = Path("answers.jsonl").read_text().splitlines(keepends=True)
    Path("first.jsonl").write_text("".join(answers[:3]))
    run = command("collect", "plan", "first.jsonl", "--report", "page.html")
    run("")
    readable = Path("verdicts.csv").read_text().count(",ok,")  # calls without an answer are rows, too
    Path("first.jsonl").write_text("".join(answers))
    run("")
    assert Path("verdicts.csv").read_text().count(",ok,") > readable > 0
    with pytest.raises(DesignError, match="exists, and was not written by the same command"):
        command("audit", "table.csv", "--rules", "rules.toml", "--out", "page.html")("")


def test_without_an_output_the_answers_stand(place):
    Path("answers.jsonl").rename("verdicts.csv")
    pd.read_json("verdicts.csv", lines=True).to_csv("verdicts.csv", index=False)
    before = contents(place)
    result = CliRunner().invoke(app, ["collect", "plan", "verdicts.csv"])
    assert result.exit_code == 2
    assert "is a file that was read" in result.output
    assert contents(place) == before


def test_a_later_stage_is_written_beside_the_others(place):
    pairs = pd.DataFrame({"item": ["1", "2"], "first": "u", "second": "v", "task_text": "Sum up: ..."})
    pairs.assign(first_text="It rose by 3 %.", second_text="By 3 % it rose.").to_csv("pairs.csv", index=False)
    command("plan", "cues", "--pairs", "pairs.csv", "--judge", "m", "--out", "cues")("")
    simulate_replies(Plan.read("cues"), Judge("m")).to_json("one.jsonl", orient="records", lines=True)
    before = contents(place)
    command("next", "cues", "one.jsonl")("")
    after = contents(place)
    assert {name: after[name] for name in before} == before
    assert {name for name in after if name not in before and "stage2/" in name} == after.keys() - before.keys()
    assert contents(place) == after
    refused(
        DesignError,
        (lambda: command("next", "cues", "one.jsonl", "--overwrite")(""), "None of the 10 later calls can be asked"),
        # its stages would be joined to it
        (lambda: vacuum("other", calls=6).write("cues", overwrite=True), "with later stages"),
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_full_disk_leaves_everything_as_it_was(place, name, monkeypatch):
    writer = WRITERS[name]
    if "." in writer.out:
        writer.run(writer.out)
        if "collect" not in name:
            Path(writer.out).write_bytes(OLD)
    before = contents(place)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(DesignError, match="No space left"):
            writer.run(writer.out, overwrite=True)
    after = contents(place)
    assert {k: v for k, v in after.items() if k != "verdicts.csv"} == {
        k: v for k, v in before.items() if k != "verdicts.csv"
    }
    assert not list(place.rglob(".*.tmp"))


def in_child(work: Callable[[], None]) -> int:
    """What a forked process ends with: its exit code, or minus the signal."""
    pid = os.fork()
    if pid == 0:
        code = 3
        with suppress(BaseException):
            try:
                work()
                code = 0
            except DesignError:
                code = 1
        os._exit(code)
    status = os.waitpid(pid, 0)[1]
    return os.waitstatus_to_exitcode(status)


@pytest.mark.parametrize("name", NAMES)
def test_a_limit_on_the_size_of_files_leaves_everything_as_it_was(place, name):
    writer = WRITERS[name]
    writer.run("warm" + Path(writer.out).suffix)
    before = contents(place)

    def limited() -> None:
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
        writer.run(writer.out)

    ended = in_child(limited)
    if ended == -signal.SIGSEGV:  # threads of libraries that a fork cuts off: it says nothing of files
        ended = in_child(limited)
    assert ended == 1
    after = contents(place)
    assert after == before
    assert not list(place.rglob(".*.tmp"))


@pytest.mark.parametrize("name", NAMES)
def test_a_kill_between_two_writes_leaves_whole_files(place, name):
    """Killed before the first, the second, ... file takes its place: each file is the old one, the new one or absent."""
    writer = WRITERS[name]
    writer.run(writer.out)
    whole = contents(place)
    shutil.rmtree(writer.out) if Path(writer.out).is_dir() else Path(writer.out).unlink()
    inputs = {
        k: v for k, v in contents(place).items() if k in ("in.csv", "answers.jsonl", "responses.csv", "table.csv")
    }
    for nth in range(1, 8):
        replace, count = Path.replace, iter(range(1, 100))

        def killed(self: Path, target: Path, replace=replace, count=count, nth=nth) -> Path:
            if next(count) == nth:
                os.kill(os.getpid(), signal.SIGKILL)
            return replace(self, target)

        def interrupted(killed=killed) -> None:
            Path.replace = killed  # in the child only
            writer.run(writer.out)

        code = in_child(interrupted)
        there = {k: v for k, v in contents(place).items() if not k.endswith(".tmp") and ".tmp/" not in k}
        assert {k: v for k, v in there.items() if "picture" not in k} == {
            k: whole[k] for k in there if "picture" not in k
        }
        assert inputs.items() <= there.items()
        if code == 0:
            return
        assert code == -signal.SIGKILL
    pytest.fail("never came to its end")


def test_an_unfinished_plan_is_named(tmp_path):
    vacuum("m", calls=6).write(tmp_path / "p")
    (tmp_path / "p" / "manifest.json").unlink()
    with pytest.raises(DesignError, match=r"unfinished plan.*into a new folder"):
        Plan.read(tmp_path / "p")


# one file


def test_a_page_keeps_permissions_links_and_devices(tmp_path):
    outputs = lambda **options: MarkedOutputs("report", **options)  # noqa: E731
    path = outputs().write(tmp_path / "page.html", "old\n")
    path.chmod(0o640)
    outputs().write(path, "new\n")
    assert (path.read_text().splitlines()[0], path.stat().st_mode & 0o777) == ("new", 0o640)
    (tmp_path / "latest.html").symlink_to(tmp_path / "dated.html")
    outputs().write(tmp_path / "latest.html", "page\n")
    assert (tmp_path / "latest.html").is_symlink()
    assert (tmp_path / "dated.html").read_text().startswith("page\n")
    outputs().write(os.devnull, "page\n")
    assert not os.path.isfile(os.devnull)
    with pytest.raises(DesignError, match="No space left"):
        outputs().write("/dev/full", "page\n")
    plain = tmp_path / "plain.html"
    plain.write_text("")
    assert outputs().write(tmp_path / "other.html", "page\n").stat().st_mode == plain.stat().st_mode


def test_a_pipe_is_written_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    reader.start()
    MarkedOutputs("report").write(tmp_path / "pipe", "page\n")
    reader.join(10)
    assert read[0].startswith("page\n")


def test_what_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    refused(
        DesignError,
        ((tmp_path / "file" / "page.html", "page\n"), "cannot be written"),
        ((tmp_path / "loop", "page\n"), "cannot be written"),
        ((tmp_path / ("x" * 300 + ".html"), "page\n"), "cannot be written: File name too long"),
        ((tmp_path, "page\n"), "is a folder; name a file"),
        ((tmp_path / "page.html", "\ud800"), "half of a surrogate pair"),
        of=lambda output: MarkedOutputs("report").write(*output),
    )
    assert not list(tmp_path.glob("*.html"))


def test_an_error_in_the_work_removes_the_drafts(tmp_path):
    (tmp_path / "a.txt").write_text("old")

    def interrupted() -> None:
        with Outputs(folder=tmp_path / "new") as outputs, outputs.open(tmp_path / "new" / "b.txt") as out:
            out.write("b")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_collected_verdicts_read_back(place):
    command("collect", "plan", "answers.jsonl", "--out", "{}")("out.csv")
    frame = collect("plan", "answers.jsonl")
    assert js.read("out.csv")["choice"].tolist() == frame["choice"].tolist()


def _zipped(path: Path) -> object:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("in.csv", CALLS)
    return js.read(path)


def _streamed(path: Path) -> object:
    path.write_text(CALLS)
    with path.open() as stream:
        return js.read(stream)


def _queried(path: Path) -> object:
    with closing(sqlite3.connect(path)) as database:
        pd.read_csv("in.csv").to_sql("calls", database, index=False)
        database.commit()
        return js.read("SELECT * FROM calls", connection=database)


def _plain(path: Path, **options: object) -> object:
    path.write_text(CALLS)
    return js.read(path, **options)


#: Ways to read a file, whose content is then in memory, elsewhere, or where it was.
READINGS = {
    "plain": _plain,
    "lazy": lambda path: _plain(path, lazy=True),
    "joined": lambda path: pd.concat([_plain(path), js.read("in.csv")]).drop_duplicates(),
    "folder": lambda path: (_plain(path), js.read(path.parent))[1],
    "checked": lambda path: (path.write_text(CALLS), js.detect_format(path))[1] and js.read("in.csv"),
    "zip": _zipped,
    "stream": _streamed,
    "query": _queried,
}
#: Functions and commands that write, by themselves or from what was read.
WRITERS_OF_ANY = {
    "js.report": lambda data, path: js.report(data, path, overwrite=True),
    "picture of a result": lambda data, path: forest(js.consistency(data)).save(path, overwrite=True),
    "controlled pairs": lambda _, path: WRITERS["write_controlled"].run(str(path), overwrite=True),
    "audit_page": lambda _, path: WRITERS["audit_page"].run(str(path), overwrite=True),
    "command": lambda _, path: command("report", "in.csv", "--to", "html", "--out", "{}")(str(path), overwrite=True),
}


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("writer", WRITERS_OF_ANY)
def test_what_was_read_is_not_written_over_by_any_function(place, reading, writer):
    path = Path("data") / ("in.svg" if writer.startswith("picture") and reading != "folder" else "in.csv")
    if writer.startswith("picture") and reading == "folder":
        pytest.skip("a folder has no tables in files of pictures")
    path.parent.mkdir()
    data = READINGS[reading](path)
    content = path.read_bytes()
    names = spellings(str(path))
    for spelling in names if writer == "js.report" else names[:4]:  # others refuse an ending in capitals before
        with pytest.raises(DesignError, match="is a file that was read"):
            WRITERS_OF_ANY[writer](data, Path(spelling))
    assert path.read_bytes() == content


@pytest.mark.parametrize("name", ["Plan.write", "export, jsonl", "export, csv", "export, openai"])
def test_a_plan_goes_over_no_file_that_was_read(place, name):
    WRITERS[name].run("written")
    for part in sorted(p.name for p in Path("written").iterdir() if p.is_file()):
        path = Path("new") / part
        path.parent.mkdir(exist_ok=True)
        path.write_text(CALLS)
        js.read(io.BytesIO(path.read_bytes()))  # no file
        note_read(path)  # some have endings that no reader takes for this content
        why = "manifest|plan" if part == "manifest.json" else "is a file that was read"
        with pytest.raises(DesignError, match=why):
            WRITERS[name].run("new", overwrite=True)
        assert path.read_text() == CALLS
        path.unlink()


def test_prompts_rubrics_and_tasks_are_not_written_over(place):
    questions = Path(js.__file__).parent / "design" / "stimuli" / "questions.toml"
    for name, read in (("questions", js.design.questions), ("checklists", js.design.checklists)):
        shutil.copy(questions.with_name("questions.toml" if name == "questions" else "checklists.toml"), "own.toml")
        content = Path("own.toml").read_bytes()
        read("own.toml")
        with pytest.raises(DesignError, match="is a file that was read"):
            js.report(js.read("in.csv"), "own.toml", overwrite=True)
        assert Path("own.toml").read_bytes() == content


def test_a_file_that_was_read_and_is_gone_may_be_written(place):
    data = _plain(Path("gone.csv"))
    Path("gone.csv").unlink()
    assert js.report(data, "gone.csv").exists()


def test_a_source_that_is_no_record_is_refused(place):
    data = js.read("in.csv")
    for source in ("in.csv", 5, data, {"files": data}):
        with pytest.raises(DesignError, match="does not say what was read"):
            js.report(data, "page.html", source=source)
    assert not Path("page.html").exists()
