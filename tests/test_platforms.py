"""What differs on Windows and macOS, as far as it can be shown elsewhere: docs/releasing.md lists it."""

from __future__ import annotations

import ast
import multiprocessing
import os
import pickle
import re
import stat
import subprocess
import sys
import time
import tomllib
import types
import unicodedata
import zipfile
from functools import cache, partial
from pathlib import Path

import pandas as pd
import pytest
import typer.core
from packaging.requirements import Requirement

import judgestats as js
from judgestats import terminal
from judgestats.cli import app, application
from judgestats.errors import DesignError, SchemaError
from judgestats.ingest import sources
from judgestats.outputs import MarkedOutputs, Outputs

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "judgestats"
CALLS = "judge,item,first,second,choice\n" + "".join(f"José,{i},x,y,first\nJosé,{i},y,x,second\n" for i in range(9))
#: Last names of the functions that open, read or write text.
OPENERS = {"read_text", "write_text", "to_csv", "TextIOWrapper", "NamedTemporaryFile", "fdopen", "writer", "savetxt"}
#: Modules that Windows lacks.
POSIX_ONLY = {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"}


def trees(pattern, *folders):
    """Module -> its nodes, of those modules of the folders whose text has the pattern."""
    texts = {path: path.read_text(encoding="utf-8") for folder in folders for path in folder.rglob("*.py")}
    return {path: ast.parse(text) for path, text in texts.items() if re.search(pattern, text)}


@cache
def called():
    """Calls of the source that open, read or write: where, the name of the function, its arguments and keywords, as text."""
    result = []
    for path, tree in trees("|".join([*OPENERS, r"open\b"]), SOURCE).items():
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            last = getattr(call.func, "attr", getattr(call.func, "id", ""))
            if last not in OPENERS and not last.endswith("open"):
                continue
            name = ast.unparse(call.func)
            keywords = {k.arg or "**": ast.unparse(k.value) for k in call.keywords}
            place = f"{path.relative_to(SOURCE).as_posix()}:{call.lineno}"
            result.append((place, name, [*map(ast.unparse, call.args)], keywords))
    return result


# the encoding and the ends of lines: never those of the system


def test_every_text_that_is_read_or_written_names_its_encoding():
    missing = []
    for place, name, arguments, keywords in called():
        last = name.rpartition(".")[2]
        mode = next((a for a in arguments if re.fullmatch(r"'[rwxab+t]+'", a)), keywords.get("mode", ""))
        text = last in ("read_text", "write_text", "to_csv", "TextIOWrapper", "NamedTemporaryFile", "fdopen")
        text |= last == "open" and name.rpartition(".")[0] not in ("outputs", "own", "self", "zipfile")
        stated = {"encoding", "**"} & {*keywords} or any("utf-8" in a or "encoding" in a for a in arguments)
        if text and "b" not in mode and not stated:
            missing.append(f"{place}: {name}({', '.join(arguments)})")
    assert missing == []


def test_ends_of_lines_are_stated_wherever_text_is_written():
    found = [
        f"{place}: {name}" for place, name, _, _ in called() if name.endswith((".write_text", ".to_csv", "savetxt"))
    ]
    found += [
        f"{at}: {name}"
        for at, name, _, more in called()
        if name.endswith("csv.writer") and "lineterminator" not in more
    ]
    for place, name, arguments, keywords in called():
        if name.endswith("open") and {"'w'", "'x'", "'a'"} & {*arguments, keywords.get("mode", "")}:
            found += [place] if "newline" not in keywords else []
    assert found == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "environment",
    [
        pytest.param({"PYTHONIOENCODING": "cp1252"}, id="a terminal in cp1252", marks=pytest.mark.full),
        pytest.param({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, id="a locale of ASCII"),
    ],
)
def test_the_commands_give_the_same_files_under_another_encoding(environment, tmp_path):
    commands = (
        ["check", "calls.csv"],
        ["report", "calls.csv", "--out", "page.html"],
        ["report", "calls.csv", "--out", "page.md"],
        ["plan", "dark-current", "--judge", "my-model", "--out", "plan", "--format", "csv"],
        ["audit", "dark_current", "--out", "audit.html"],
    )
    plain = {k: v for k, v in os.environ.items() if k not in ("PYTHONIOENCODING", "PYTHONUTF8", "LC_ALL", "LANG")}
    written = []
    for name, more in (("utf-8", {"PYTHONUTF8": "1"}), ("other", environment)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "calls.csv").write_bytes(CALLS.encode())
        for command in commands:
            done = subprocess.run(
                [sys.executable, "-m", "judgestats", *command],
                cwd=folder, env={**plain, **more}, capture_output=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
        files = {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
        written.append({k: v for k, v in files.items() if not k.endswith((".html", ".md"))})
        assert all("José" in files[page].decode() for page in ("page.html", "page.md"))
    assert written[0] == written[1]
    assert not any(b"\r\n" in content for name, content in written[1].items() if not name.endswith(".parquet"))


def test_a_console_of_windows_gets_other_signs_for_those_it_lacks(tmp_path, monkeypatch):
    monkeypatch.setattr(terminal, "os", types.SimpleNamespace(name="nt"))
    with (tmp_path / "console").open("w", encoding="cp1252") as console:
        assert terminal._sturdy(console) is console
        console.write("José: α ≥ 0.8")
    assert (tmp_path / "console").read_text(encoding="cp1252") == "José: alpha >= 0.8"


# paths


def test_files_on_two_drives(tmp_path, monkeypatch):
    """ntpath knows no common folder of C: and D:, nor a path from one to the other."""
    import ntpath

    paths = [tmp_path / drive / "calls.csv" for drive in "cd"]
    for path in paths:
        path.parent.mkdir()
        path.write_text(CALLS.replace("José", path.parent.name), encoding="utf-8")

    def on_drives(path):
        below = Path(path).absolute().relative_to(tmp_path).parts if Path(path).is_relative_to(tmp_path) else ()
        return f"{below[0]}:\\" + "\\".join(below[1:]) if below else "c:\\"

    real = os.path.relpath
    monkeypatch.setattr(
        sources.os.path, "commonpath", lambda folders: ntpath.commonpath([*map(on_drives, folders)]) and "/"
    )
    monkeypatch.setattr(
        sources.os.path, "relpath", lambda path, start: ntpath.relpath(on_drives(path), "c:\\") and real(path, start)
    )
    calls = js.read(paths)
    assert calls["judge"].value_counts().to_dict() == {"c": 18, "d": 18}


def test_a_pattern_is_left_to_the_reader(tmp_path, monkeypatch, capsys):
    """On Windows the library of the command line expands ``*``, ``~`` and ``$x`` in every argument."""
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text(CALLS.replace("José", name), encoding="utf-8")
    pattern = str(tmp_path / "*.csv")
    monkeypatch.setattr(typer.core, "os", types.SimpleNamespace(**{**vars(os), "name": "nt"}))
    monkeypatch.setattr(sys, "argv", ["judgestats", "check", pattern])
    seen = []
    monkeypatch.setattr(
        application._CommandGroup, "make_context", lambda self, name, args, **_: seen.append(args) or sys.exit(0)
    )
    with pytest.raises(SystemExit):
        app()
    assert seen == [["check", pattern]]


# names


def test_an_accent_that_the_system_takes_apart_makes_another_judge(tmp_path):
    for form in ("NFC", "NFD"):
        folder = tmp_path / unicodedata.normalize(form, "José")
        folder.mkdir()
        (folder / "calls.csv").write_text(CALLS.replace("José,", "").replace("judge,", ""), encoding="utf-8")
    if len(list(tmp_path.iterdir())) < 2:
        pytest.skip("this system takes the two names for one")
    assert js.read(tmp_path, path="{judge}/calls.csv")["judge"].value_counts().to_list() == [18, 18]


def test_the_package_makes_no_links_and_has_no_numbers_of_a_width_that_differs():
    """A link needs a right on Windows; a long double has 64, 80 or 128 bits."""
    avoided = {"symlink", "symlink_to", "hardlink_to", "longdouble", "float128", "clongdouble"}
    names = [(path.name, node) for path, tree in trees("|".join(avoided), SOURCE).items() for node in ast.walk(tree)]
    assert [(p, n.attr, n.lineno) for p, n in names if isinstance(n, ast.Attribute) and n.attr in avoided] == []


def test_members_of_a_zip_whose_names_are_one_are_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "calls.zip", "w") as out:
        out.writestr("a.csv", CALLS)
        out.writestr("./a.csv", CALLS.replace("José", "g"))
    with pytest.raises(SchemaError, match=r"member '\./a\.csv' cannot be unpacked \(File exists\)"):
        js.read(tmp_path / "calls.zip")


def test_names_that_windows_writes_elsewhere():
    taken = ["runs/a.csv", "./a.csv", "nullable.csv", "a/console/b.csv", "com.csv", "v1.2/a.csv", "a .csv"]
    lost = [
        "NUL",
        "nul.csv",
        "a/COM1.jsonl",
        "aux.tar/b.csv",
        "a:b.csv",
        "runs/2026-01-01T10:00.csv",
        "a.csv.",
        "b /a.csv",
    ]
    assert [name for name in [*taken, *lost] if sources.elsewhere_on_windows(name)] == lost


def test_what_the_system_puts_into_a_folder_is_no_table(tmp_path):
    (tmp_path / "calls.csv").write_text(CALLS, encoding="utf-8")
    (tmp_path / "Thumbs.db").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500))
    (tmp_path / "~$calls.xlsx").write_bytes(b"\x04Anna" + b" " * 160)
    (tmp_path / ".DS_Store").write_bytes(bytes(500))
    (tmp_path / "desktop.ini").write_text("[.ShellClassInfo]\n", encoding="utf-8")
    assert len(js.read(tmp_path)) == 18


def test_a_folder_is_the_same_in_another_case(tmp_path, monkeypatch):
    for name in ("Calls", "calls"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(Path, "samefile", lambda one, other: str(one).casefold() == str(other).casefold())
    with pytest.raises(DesignError, match="would be read with"), Outputs([tmp_path / "Calls"]) as outputs:
        outputs.check(tmp_path / "calls" / "verdicts.csv")


# files that are open, and files that are read-only


def held() -> set[str]:
    """Files that this process has open or mapped, which Windows would neither remove nor replace."""
    opened = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            opened.add(os.readlink(f"/proc/self/fd/{number}"))
        except OSError:
            continue
    lines = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    return opened | {line.split(maxsplit=5)[5] for line in lines if line.count("/")}


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="asks Linux which files are open")
@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "jsonl", "parquet", "feather", "orc", "xlsx", "sqlite", "zip"])
def test_a_file_that_was_read_is_closed(suffix, tmp_path):
    table = pd.DataFrame([line.split(",") for line in CALLS.splitlines()[1:]], columns=CALLS.splitlines()[0].split(","))
    path = tmp_path / f"calls.{suffix}"
    if suffix.startswith("csv"):
        table.to_csv(path, index=False)
    elif suffix == "jsonl":
        table.to_json(path, orient="records", lines=True)
    elif suffix == "xlsx":
        table.to_excel(path, index=False)
    elif suffix == "sqlite":
        import sqlite3
        from contextlib import closing

        with closing(sqlite3.connect(path)) as database:
            table.to_sql("calls", database, index=False)
    elif suffix == "zip":
        with zipfile.ZipFile(path, "w") as out:
            out.writestr("calls.csv", CALLS)
    else:
        getattr(table, f"to_{suffix}")(path)
    before = held()
    calls = js.read(path)
    assert len(calls) == 18
    assert {name for name in held() - before if "calls" in name or "judgestats-" in name} == set()
    with pytest.raises(SchemaError):
        js.read(path, columns={"judge": "nobody"})
    assert {name for name in held() - before if "calls" in name or "judgestats-" in name} == set()


@pytest.mark.parametrize("why", ["it is open", "it is read-only"])
def test_a_page_that_windows_does_not_replace_stays_and_no_draft_remains(why, tmp_path, monkeypatch):
    page = MarkedOutputs("report").write(tmp_path / "page.html", "old\n")
    if why == "it is read-only":
        page.chmod(0o444)
    replace, unlink = Path.replace, Path.unlink

    def replaced(self, target):
        if why == "it is open" or not target.stat().st_mode & stat.S_IWUSR:
            raise PermissionError(13, "Access is denied", str(self))
        return replace(self, target)

    def removed(self, missing_ok=False):
        if self.exists() and not self.stat().st_mode & stat.S_IWUSR:
            raise PermissionError(13, "Access is denied", str(self))
        return unlink(self, missing_ok)

    monkeypatch.setattr(Path, "replace", replaced)
    monkeypatch.setattr(Path, "unlink", removed)
    with pytest.raises(DesignError, match=r"cannot be written: Access is denied"):
        MarkedOutputs("report").write(page, "new\n")
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]
    assert page.read_text(encoding="utf-8").startswith("old\n")


def test_what_a_lazy_reading_could_not_remove_goes_a_day_later(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = tmp_path / "calls.csv"
    path.write_text(CALLS, encoding="utf-8")
    with monkeypatch.context() as windows:  # where the database is open, and stays
        windows.setattr("shutil.rmtree", lambda *_, **__: None)
        first = js.read(path, lazy=True)
    (left,) = tmp_path.glob("judgestats-rows-*")
    js.read(path, lazy=True)
    assert left.is_dir(), "another process may still need it"
    os.utime(left, (time.time() - 100_000,) * 2)
    second = js.read(path, lazy=True)
    assert list(tmp_path.glob("judgestats-rows-*")) == []
    pd.testing.assert_frame_equal(js.consistency(first), js.consistency(second))


# processes that are started anew, not forked


@pytest.mark.slow
def test_measures_fits_and_errors_cross_to_a_process_that_is_spawned():
    calls = js.preferences(pd.read_csv(ROOT / "docs" / "verdicts.csv", dtype=str))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pd.testing.assert_frame_equal(pool.apply(js.consistency, (calls,)), js.consistency(calls))
        bootstrap = partial(js.consistency, cluster="item")
        pd.testing.assert_frame_equal(pool.apply(bootstrap, (calls,)), bootstrap(calls))
        with pytest.raises(DesignError) as refused:
            pool.apply(js.kappa, (calls[calls["judge"] == "large"],))
        with pytest.raises(SchemaError) as faulty:
            pool.apply(js.preferences, (calls.assign(choice="left").astype({"choice": object}),))
    assert refused.value.problem
    assert faulty.value.faults is not None


def test_errors_keep_what_programs_ask_for_in_another_process():
    error = SchemaError("m", pd.DataFrame({"a": [1]}), advice=(("overwrite", True),), reason="r", problem="p")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.advice, again.reason, again.problem) == ("m", error.advice, "r", "p")
    pd.testing.assert_frame_equal(again.faults, error.faults)


# the suite and the versions themselves


def test_no_module_or_file_of_tests_needs_what_windows_lacks_when_it_is_imported():
    needs = []
    for path, tree in trees(rf"\b({'|'.join(POSIX_ONLY)})\b", SOURCE, ROOT / "tests").items():
        names = {a.name for node in tree.body if isinstance(node, ast.Import) for a in node.names}
        names |= {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
        needs += [f"{path.relative_to(ROOT).as_posix()}: {name}" for name in sorted(names & POSIX_ONLY, key=str)]
    assert needs == []


def test_names_of_files_in_the_repository_are_names_everywhere():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False).stdout.decode()
    if not listed:
        pytest.skip("not a clone")
    names = [name for name in listed.split("\0") if name]
    assert [name for name in names if sources.elsewhere_on_windows(name) or re.search(r'[<>"|?*\\]', name)] == []
    assert len({name.casefold() for name in names}) == len(names)
    assert max(map(len, names)) < 150


def test_the_constraints_satisfy_what_the_package_requires():
    pins = {}
    for line in (ROOT / ".github" / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if (pin := re.match(r"([\w.-]+)==(\S+)", line)) is not None:
            pins.setdefault(pin[1].lower(), []).append(pin[2])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    groups = project["dependency-groups"]
    lines = [*project["project"]["dependencies"], *extras["bayes"], *extras["pingouin"]]
    lines += [line for name in ("dev", "bench", "notebooks") for line in groups[name] if isinstance(line, str)]
    for line in lines:
        required = Requirement(line)
        name = required.name.lower().replace("_", "-")
        assert any(required.specifier.contains(v, prereleases=True) for v in pins.get(name, ())), line
