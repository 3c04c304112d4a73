"""Kills and races of the commands that write: no answer is lost, no file is half, no exception is another's.

`make fuzz` has 200 kills and 100 races, or JUDGESTATS_FUZZ of them if that is fewer; `make test` tries a few. Half of the kills
come before an operation on a file (an audit hook counts them), the others after a random time.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from judgestats.cli import app
from judgestats.design import Judge, Plan, simulate_replies, vacuum

ASKED = int(os.environ.get("JUDGESTATS_FUZZ", "0"))
KILLS = [min(ASKED, 200)] if ASKED else [3, pytest.param(33, marks=pytest.mark.slow)]
RACES = [min(ASKED, 100)] if ASKED else [2, pytest.param(18, marks=pytest.mark.slow)]
SEED = 20_261_128
#: Seconds after which a command hangs; the long counts are those over the first.
LONG, HANGS = 10, 120
PLAN = vacuum("m", calls=12)
RATED = "item,system,task_text,response_text\n1,s,Say hello.,{}\n2,s,Say no.,No.\n"
_RUBRIC = ["plan", "rubric", "--judge", "m", "--format", "form", "--responses"]
#: Commands by what they do.
COMMANDS = {
    "plan, a new folder": [*_RUBRIC, "responses.csv", "--out", "new"],
    "plan, an empty folder": [*_RUBRIC, "responses.csv", "--out", "empty"],
    "plan, over another": [*_RUBRIC, "others.csv", "--out", "rated", "--overwrite"],
    "plan, once more": [*_RUBRIC, "responses.csv", "--out", "rated"],
    **{f"next, stage {n}": ["next", f"chain{n}", f"chain{n}.jsonl"] for n in (1, 2, 3)},
    **{f"collect, stage {n}": ["collect", f"chain{n}", f"chain{n}.jsonl"] for n in (1, 2, 3)},
    "collect": ["collect", "plan", "a1.jsonl"],
    "collect, more": ["collect", "begun", "a2.jsonl", "--out", "begun.csv"],
    "collect, the rest": ["collect", "plan", "a1.jsonl", "--left", "left", "--out", "some.csv"],
    "collect, a page": ["collect", "plan", "a2.jsonl", "--out", "two.csv", "--report", "two.html"],
    "report": ["report", "begun.csv", "--out", "page.html"],
}
#: Pairs of commands that run at once, with those whose answers must then count.
PAIRS = [
    ("collect", ["collect", "plan", "a2.jsonl"]),
    ("collect", COMMANDS["collect"]),
    ("collect", ["collect", "plan", "a1.jsonl", "a2.jsonl", "--out", "both.csv"]),
    ("collect, more", COMMANDS["report"]),
    ("collect, a page", COMMANDS["collect, the rest"]),
    *((f"{what}, stage {n}", COMMANDS[f"{what}, stage {n}"]) for what in ("next", "collect") for n in (1, 2, 3)),
    ("plan, a new folder", COMMANDS["plan, a new folder"]),
    ("plan, an empty folder", COMMANDS["plan, an empty folder"]),
    ("plan, over another", COMMANDS["plan, over another"]),
    ("report", COMMANDS["report"]),
]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on Windows")


def typed(*words: str) -> None:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, (words, done.output)


@pytest.fixture(scope="module")
def everything(tmp_path_factory) -> Iterator[Path]:
    """Inputs and plans of all commands; the files that nobody may change begin with `mine`."""
    place, before = tmp_path_factory.mktemp("place"), Path.cwd()
    os.chdir(place)
    Path("responses.csv").write_text(RATED.format("Hello."))
    Path("others.csv").write_text(RATED.format("Good day."))
    for name in ("plan", "begun"):
        PLAN.write(name)
    replies = simulate_replies(PLAN, Judge("m"), seed=1)
    for name, rows in (("a1", slice(0, 5)), ("a2", slice(5, 9)), ("a3", slice(9, 12))):
        replies.iloc[rows].to_json(f"{name}.jsonl", orient="records", lines=True)
    typed("collect", "begun", "a1.jsonl", "--out", "begun.csv")
    typed("report", "begun.csv", "--out", "page.html")
    typed(*_RUBRIC, "responses.csv", "--out", "rated")
    Path("empty").mkdir()
    pairs = pd.DataFrame(
        {"item": ["1", "2"], "first": "u", "second": "v", "task_text": "Sum up.", "first_text": "It rose by 3 %."}
    )
    pairs.assign(second_text="By 3 % it rose.").to_csv("pairs.csv", index=False)
    typed("plan", "cues", "--pairs", "pairs.csv", "--judge", "m", "--out", "chain1")
    said: list[pd.DataFrame] = []
    for n in (1, 2, 3):
        asked = Plan.read(f"chain{n}" if n == 1 else f"chain{n}/stage{n}")
        said.append(simulate_replies(asked, Judge("m")))
        pd.concat(said).iloc[:-1].to_json(f"chain{n}.jsonl", orient="records", lines=True)
        shutil.copytree(f"chain{n}", f"chain{n + 1}")
        pd.concat(said).to_json("whole.jsonl", orient="records", lines=True)
        typed("next", f"chain{n + 1}", "whole.jsonl")
    yield place
    os.chdir(before)


def started(words: list[str], kill_at: int = 0) -> int:
    """A process of a command, which is killed before its operation of this number on a file; its id."""
    if pid := os.fork():
        return pid
    code = 3  # another's exception
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        count = 0

        def killed(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal count
            written = event == "open" and isinstance(arguments[1], str) and arguments[1][:1] in ("w", "x", "a")
            if written or event in ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.chmod"):
                count += 1
                if count == kill_at:
                    os.kill(os.getpid(), signal.SIGKILL)

        if kill_at:
            sys.addaudithook(killed)
        done = CliRunner().invoke(app, words)
        code = done.exit_code if done.exception is None or isinstance(done.exception, SystemExit) else 3
        if code == 3:
            Path("exception.txt").write_text(repr((words, done.exception)))
    finally:
        os._exit(code)


def ended(pid: int, after: float = HANGS) -> int | None:
    """How a process ends, within this time: its exit code, or minus the signal; None if it goes on."""
    stop = time.monotonic() + after
    while time.monotonic() < stop:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    return None


def run_to_end(words: list[str], counts: Counter[str]) -> int:
    """The exit code of a command; a hang ends it, and is counted."""
    pid, start = started(words), time.monotonic()
    code = ended(pid)
    if code is None:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        counts["hangs"] += 1
        return 3
    counts["over 10 s"] += time.monotonic() - start > LONG
    return code


def visible(place: Path) -> dict[str, bytes]:
    """All files but drafts."""
    files = (p for p in sorted(place.rglob("*")) if p.is_file() and ".tmp" not in str(p.relative_to(place)))
    return {str(p.relative_to(place)): p.read_bytes() for p in files}


def fresh(everything: Path, place: Path) -> Path:
    """The folder as it was, and the current one."""
    os.chdir(everything)
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(everything, place)
    os.chdir(place)
    return place


def answers_in(folder: str) -> set[str]:
    """The calls of a plan whose answers count, after its last answers came."""
    typed("collect", folder, "a3.jsonl", "--out", "final.csv", "--left", "final")
    table = pd.read_csv("final.csv")
    return set(table.loc[table["status"] == "ok", "call"])


def called(*names: str) -> set[str]:
    lines = (line for name in names for line in Path(name).read_text().splitlines())
    return {json.loads(line)["call"] for line in lines}


@pytest.mark.parametrize("kills", KILLS)
def test_after_a_kill_everything_is_there_and_the_same_command_goes_on(everything, tmp_path, kills):
    rng, counts, faults = random.Random(SEED), Counter[str](), list[str]()
    wanted: dict[str, tuple[dict[str, bytes], float]] = {}
    before = visible(everything)
    names = rng.sample(list(COMMANDS), len(COMMANDS))
    for number in range(kills):
        name = names[number % len(names)]
        words = COMMANDS[name]
        if name not in wanted:
            fresh(everything, tmp_path / "whole")
            start = time.monotonic()
            assert run_to_end(words, counts) == 0, name
            wanted[name] = visible(Path()), time.monotonic() - start
        whole, seconds = wanted[name]
        fresh(everything, tmp_path / "killed")
        by_time = rng.random() < 0.5
        pid = started(words, 0 if by_time else rng.randrange(1, 30))
        code = ended(pid, rng.random() * seconds if by_time else HANGS)
        if code is None:
            os.kill(pid, signal.SIGKILL)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        counts["kills"] += 1
        counts["ended before"] += code == 0
        left = visible(Path())
        half = [n for n, c in left.items() if c not in (before.get(n), whole.get(n)) and not is_manifest(n, c)]
        lost = [n for n in before if n not in left]
        again = 0 if left == whole else run_to_end(words, counts)  # complete: the same answers may go a stage further
        done = visible(Path())
        if half or lost or code not in (0, -signal.SIGKILL) or again != 0 or done != whole:
            other = [n for n in {*done, *whole} if done.get(n) != whole.get(n)]
            faults.append(f"{number}: {name}: half {half}, lost {lost}, ended {code}, again {again}, other {other}")
    print("kills", dict(counts))
    assert not faults, "\n".join(faults[:20])
    assert counts["hangs"] == 0
    assert counts["ended before"] < kills


def is_manifest(name: str, content: bytes) -> bool:
    """Whether a file is the whole manifest of a plan, which is renewed in steps."""
    return Path(name).name == "manifest.json" and "sha256" in json.loads(content)


@pytest.mark.parametrize("races", RACES)
def test_two_commands_at_once_lose_nothing(everything, tmp_path, races):
    rng, counts, faults = random.Random(SEED), Counter[str](), list[str]()
    before = visible(everything)
    mine = [n for n in before if "/" not in n and n.endswith((".jsonl", ".csv")) and n != "begun.csv"]
    for number in range(races):
        name, other = PAIRS[number % len(PAIRS)]
        fresh(everything, tmp_path / "race")
        pids = [started(COMMANDS[name])]
        time.sleep(rng.random() * 0.3 * (rng.random() < 0.7))
        pids.append(started(other))
        codes = [ended(pid) for pid in pids]
        counts["races"] += 1
        counts["refused"] += codes.count(2)
        counts["hangs"] += codes.count(None)
        left = visible(Path())
        wrong = [n for n in mine if left[n] != before[n]]
        plans = {Path(n).parent for n in left if Path(n).name == "manifest.json"}
        for folder in plans:
            Plan.read(folder)
        whole = all(c.rstrip().endswith(b"-->") for n, c in left.items() if n.endswith(".html"))
        ours = ["begun.csv", "two.csv", *(["verdicts.csv"] if "stage" not in name else [])]  # of the plan of 12 calls
        tables = [pd.read_csv(n)["call"].nunique() == 12 for n in ours if n in left]
        ran = [words for words, code in zip((COMMANDS[name], other), codes, strict=True) if code == 0]
        given = [
            w for words in ran if words[:2] == ["collect", "plan"] for w in words[2:] if w in ("a1.jsonl", "a2.jsonl")
        ]
        lost = called(*given, "a3.jsonl") - answers_in("plan") if given else set()
        if wrong or not whole or not all(tables) or lost or not {*codes} <= {0, 2} or 0 not in codes:
            why = Path("exception.txt").read_text() if Path("exception.txt").exists() else ""
            faults.append(f"{number}: {name}: {codes}, changed {wrong}, whole {whole} {tables}, lost {lost} {why}")
    print("races", dict(counts))
    assert not faults, "\n".join(faults[:20])
    assert counts["hangs"] == 0
