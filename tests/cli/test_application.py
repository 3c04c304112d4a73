"""What holds for every command: errors are one message and an exit code."""

import re
import subprocess
import sys

import pytest
import typer

import judgestats as js
from command_line import run, words
from judgestats.cli import app


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("empty.csv", "", "empty"),
        ("cut.jsonl", '{"judge": "g", "item": 1}\n{"judge": "g", ', "line 2"),
        ("label.csv", "judge,item,first,second,choice\ng,1,x,y,left\n", "'choice' has 'left'"),
        ("twice.csv", "judge,item,first,second,choice\ng,1,x,y,tie\ng,1,x,y,tie\n", "more than once"),
        ("latin.csv", b"judge,item,first,second,choice\nJos\xe9,1,x,y,tie\n", "encoding"),
        ("d.csv", "judge,item,first,second,choice,delta\ng,1,x,y,tie,many\n", "On the command line: --map delta="),
        ("n.csv", "judge,item,first,second,choice,n\ng,1,x,y,tie,3\n", "--counts n; --no-counts"),
        ("cp.csv", b"judge,item,first,second,choice\nJos\xe9,1,x,y,tie\n", "--encoding cp1252"),
        ("answer.csv", "judge,item,first,second,choice\ng,1,x,y,B\n", "--labels B=second"),
        ("comma.csv", 'judge,system,item,score\ng,s,1,"3,5"\n', "--decimal ,"),
        (
            "na.csv",
            "judge,system,item,score\ng,s,1,NA\n",
            "'NA' in 1 row (row 0 of the data, from 0). Leave the cell empty",
        ),
    ],
)
@pytest.mark.parametrize("command", ["check", "report"])
def test_a_broken_file_is_one_message_and_exit_code_2(tmp_path, command, name, content, told):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    result = run.invoke(app, [command, str(path)])
    assert result.exit_code == 2
    assert "Traceback" not in result.output
    assert told in words(result)
    assert name in result.output


@pytest.mark.slow
def test_the_console_script_is_the_same(canonical):
    done = subprocess.run([sys.executable, "-m", "judgestats", "check", str(canonical)], capture_output=True, text=True)
    assert done.returncode == 0
    assert "6 rows:" in done.stdout


@pytest.mark.slow
def test_a_path_that_cannot_be_written_is_one_message(canonical, tmp_path):
    folder = tmp_path / "emptydir"
    folder.mkdir()
    for out in (folder, canonical / "page.html"):
        for command in (["report", str(canonical)], ["reproduce", "dark_current"]):
            result = run.invoke(app, [*command, "--out", str(out)])
            assert result.exit_code == 2, result.output
            assert isinstance(result.exception, SystemExit)
            assert "judgestats: " in result.output
            assert re.search("directory|exists|folder", words(result))


def test_the_version_is_said():
    result = run.invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.output.strip() == f"judgestats {js.__version__}"


def test_an_option_given_twice_adds_up(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("rater,q,one,two,said\ng,1,x,y,A\ng,2,x,y,B\n")
    once = ["check", str(path), "--map", "judge=rater,item=q,first=one,second=two,choice=said"]
    several = ["check", str(path), "--map", "judge=rater", "--labels", "A=first", "--map=item=q,first=one"]
    several += ["--map", "second=two,choice=said", "--labels=B=second"]
    results = [run.invoke(app, arguments) for arguments in ([*once, "--labels", "A=first,B=second"], several)]
    assert [r.exit_code for r in results] == [0, 0], results[1].output
    shown = [r.output.rpartition("\nNext: ") for r in results]  # the next command is as it was typed
    assert shown[0][0] == shown[1][0] != ""


@pytest.mark.parametrize("command", ["check", "report"])
def test_a_file_that_is_not_there_is_refused_before_anything_that_reads_is_loaded(command, tmp_path):
    (tmp_path / "verdicts.csv").write_text("judge,item,score\n")
    code = (
        "import sys\nfrom judgestats.cli import app\ntry:\n    app()\nexcept SystemExit as end:\n"
        "    print(end.code, [m for m in ('pandas', 'numpy', 'numba') if m in sys.modules])"
    )
    path = tmp_path / "verdict.csv"
    run = subprocess.run([sys.executable, "-c", code, command, str(path)], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "2 []"
    assert f"There is no file {str(path)!r}. Near by: verdicts.csv." in run.stderr.replace("\n", "")


@pytest.mark.parametrize("command", ["", *sorted(c.name or c.callback.__name__ for c in app.registered_commands)])
def test_help_says_in_words_what_a_value_is(command):
    said = run.invoke(app, [command, "--help"] if command else ["--help"])
    assert said.exit_code == 0, said.output
    shown = said.output
    if tuple(map(int, typer.__version__.split(".")[:2])) < (
        0,
        29,
    ):  # shows the type of an argument named as its metavar
        shown = shown.partition(" Options ")[2]
    assert not re.findall(r"\b(TEXT|INTEGER|FLOAT|PATH|RANGE)\b", shown)


def test_no_cycles_are_searched_for_when_the_process_ends():
    code = (
        "import atexit, gc; atexit.register(lambda: print('kept as it is:', gc.get_freeze_count() > 10_000)); "
        "from judgestats.cli import app; app(['--version'])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "kept as it is: True"
