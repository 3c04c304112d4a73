"""The command line in terminals and pipes of every kind, and under every option of the interpreter."""

import io
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import pytest
from rich.console import Console
from typer.testing import CliRunner

from judgestats.cli import app
from judgestats.terminal import visible, working

run = CliRunner()
#: Red, the title of the window by OSC, and the bell; a C1 control; text that runs backwards.
EVIL = "g\x1b[31m\x1b]0;owned\x07\x9b2J\u202eh"


def obeyed(text):
    return re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)


def lines_of_calls(judge, column="choice"):
    rows = [f"{judge},{i},x,y,{c}" for i, c in enumerate(["first", "second", "tie", "second"])]
    return "\n".join([f"judge,item,first,second,{column}", *rows, ""])


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "calls.csv").write_text(lines_of_calls(EVIL), encoding="utf-8")
    (tmp_path / "greek.csv").write_text(lines_of_calls("Δ判"), encoding="utf-8")
    (tmp_path / "columns.csv").write_text(lines_of_calls(EVIL, f"verdict{EVIL}"), encoding="utf-8")
    (tmp_path / "labels.csv").write_text(lines_of_calls("g").replace("tie", EVIL), encoding="utf-8")
    (tmp_path / "table.csv").write_text(f"model,a,b,total{EVIL}\n{EVIL},1,2,4\n", encoding="utf-8")
    total = f"total{EVIL}".encode("unicode_escape").decode().replace("\\x", "\\u00")
    (tmp_path / "rules.toml").write_text(f'[[rule]]\nrule = "sum"\nparts = ["a", "b"]\ntotal = "{total}"\n')
    (tmp_path / f"{EVIL}.csv").write_text(lines_of_calls("g"), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["check", "{}/calls.csv"], 0),
        (["check", f"{{}}/{EVIL}.csv"], 0),
        (["check", "{}/columns.csv"], 2),
        (["check", "{}/labels.csv"], 2),
        (["check", f"{{}}/no{EVIL}.csv"], 2),
        (["check", "{}/calls.csv", f"--map=judge={EVIL}"], 2),
        (["check", "{}/calls.csv", f"--{EVIL}"], 2),
        (["check", "{}/calls.csv", EVIL], 2),
        ([EVIL], 2),
        (["report", "{}/calls.csv", "--out", f"{{}}/{EVIL}.html"], 0),
        (["report", "{}/calls.csv", f"--by={EVIL}"], 2),
        (["audit", "{}/table.csv", "--rules", "{}/rules.toml", "--out", f"{{}}/{EVIL}.html"], 0),
        (["audit", EVIL], 2),
        (["reproduce", EVIL], 2),
    ],
)
def test_no_name_gives_orders_to_the_terminal(folder, command, code):
    result = run.invoke(app, [part.format(folder) for part in command])
    assert result.exit_code == code, result.output
    assert not obeyed(result.output)
    assert "x1b" in re.sub(r"[\s│]", "", result.output)


def test_what_is_written_out_can_be_read_back():
    assert visible(EVIL).encode("ascii").decode("unicode_escape") == EVIL
    assert visible("Δ\tα\n判") == "Δ\tα\n判"


def command(*arguments, **environment):
    given = {k: v for k, v in os.environ.items() if k not in ("PYTHONIOENCODING", "PYTHONUTF8")}
    return subprocess.run(
        [sys.executable, "-m", "judgestats", *map(str, arguments)],
        capture_output=True, env={**given, **environment}, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_an_output_that_is_not_utf_8_gets_other_signs(folder):
    done = command("check", folder / "greek.csv", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"Delta\\u5224" in done.stdout or b"Delta0" in done.stdout
    done = command("check", folder / "missing-Δ.csv", PYTHONIOENCODING="latin-1")
    assert done.returncode == 2
    assert b"missing-Delta.csv" in done.stderr


def test_help_in_ascii():
    done = command("check", "--help", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"..." in done.stdout


@pytest.mark.slow
def test_without_docstrings_all_commands_work(folder):
    code = f"""
from judgestats.cli import app
for command in (["formats"], ["check", {str(folder / "greek.csv")!r}], ["audit", "dark_current"], ["--help"]):
    assert False, "asserts are not run"
    try:
        app(command)
    except SystemExit as end:
        print("ended", end.code)
"""
    done = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert re.findall(r"^ended (\d)", done.stdout, re.M) == ["0"] * 4


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="pipes of another kind")
def test_a_reader_that_leaves_is_no_error(folder):
    with subprocess.Popen(
        [sys.executable, "-m", "judgestats", "check", folder / "greek.csv"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "COLUMNS": "1000"},
    ) as process:  # fmt: skip
        assert b"greek.csv" in process.stdout.readline()
        process.stdout.close()
        told = process.stderr.read()
        assert (process.wait(), told) == (0, b"")


@pytest.mark.parametrize(("terminal", "after", "shown"), [(True, 0.0, True), (True, 60.0, False), (False, 0.0, False)])
def test_what_takes_long_is_shown_in_a_terminal_only(terminal, after, shown):
    """Not before its time, and nothing that the terminal obeys."""
    console = Console(file=io.StringIO(), force_terminal=terminal, width=60)
    with working("Reading g\x07.csv", console, after):
        for _ in range(100):
            if "Reading" in console.file.getvalue() or not shown:
                break
            time.sleep(0.05)
    assert ("Reading g\\x07.csv" in console.file.getvalue()) == shown
    assert "\x07" not in console.file.getvalue()


def test_work_inside_other_work_is_a_step_of_it():
    console = Console(file=io.StringIO(), force_terminal=True, width=60)
    with working("Reading", console, 0.0), working("fitting") as step:
        for _ in range(100):
            step("evaluation 7")
            if "fitting: evaluation 7" in console.file.getvalue():
                break
            time.sleep(0.05)
    assert "Reading: fitting: evaluation 7" in console.file.getvalue()


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("command", [["report", "calls.csv"], ["audit", "dark_current"]])
@pytest.mark.parametrize("before", [None, "an older page"])
def test_an_interrupt_in_the_middle_of_writing_leaves_no_half_page(tmp_path, command, before):
    """Control-C arrives when the page is written but not yet in its place."""
    (tmp_path / "calls.csv").write_text(lines_of_calls("g"), encoding="utf-8")
    if before:
        (tmp_path / "page.html").write_text(before)
    program = (
        "import os, signal, sys\n"
        "os.fsync = lambda number: os.kill(os.getpid(), signal.SIGINT)\n"
        "from judgestats.cli import app\n"
        "sys.argv[0] = 'judgestats'\n"
        "app()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *command, "--out", "page.html", "--overwrite"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode in (1, 130, -signal.SIGINT)
    assert "Traceback" not in done.stderr
    assert "page.html" not in done.stdout
    left = sorted(p.name for p in tmp_path.iterdir())
    assert left == ["calls.csv", *(["page.html"] if before else [])]
    if before:
        assert (tmp_path / "page.html").read_text() == before


def test_a_long_work_says_its_step():
    console = Console(file=io.StringIO(), force_terminal=True)
    with working("Measuring", console, after=0.0) as say:
        say("alpha\x1b[31m")
        time.sleep(0.3)
    assert "Measuring: alpha\\x1b[31m" in console.file.getvalue()
    with working("Measuring", Console(file=io.StringIO())) as say:
        say("nothing is shown where there is no terminal")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("formats >/dev/full", "judgestats: standard output: No space left on device.\n"),
        ("--help >/dev/full", "judgestats: standard output: No space left on device.\n"),
        ("formats >&-", "judgestats: standard output is closed. Nothing was done. "),
        ("formats >/dev/full 2>&1", ""),
        ("check nowhere.csv 2>/dev/full", ""),
        ("check nowhere.csv >&- 2>&-", ""),
    ],
)
def test_standard_output_that_is_closed_or_full(line: str, message: str) -> None:
    command = f"{shlex.quote(sys.executable)} -c 'from judgestats.cli import app; app()' {line}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    said = "".join(t for t in done.stderr.splitlines(keepends=True) if "nanobind" not in t and "leaked" not in t)
    assert done.returncode == 2
    assert said.startswith(message)
    assert "Traceback" not in said
    assert said.count("\n") == bool(message)
