"""What the package costs now and what it cost at an earlier commit, measured in turn in one run: docs/weight.csv.

``python benchmarks/weight.py --old WORKTREE`` measures the tree of this file and another one with the same interpreter,
in processes of their own (``PYTHONPATH=<root>/src``): processor time, the least of several runs. Kernels are compiled
before. Data are generated with a seed in build/weight. ``--only`` measures some rows anew. docs/benchmarks.md has the
table, and explains each row.
"""

from __future__ import annotations

import argparse
import csv
import gc
import json
import math
import os
import statistics
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "build" / "weight"
TABLE, PAGE = ROOT / "docs" / "weight.csv", ROOT / "docs" / "benchmarks.md"
START, END = "<!-- weight, written by benchmarks/weight.py -->\n", "<!-- end of weight -->"
COLUMNS = ("what", "unit", "then", "now", "ratio", "limit", "beside")
ITEMS, JUDGES, SYSTEMS, REPEATS = 20_000, 5, 50, 5
FEW = 200  # calls
Numbers = dict[str, float]


# ---- Data ------------------------------------------------------------------------------------------------------------


def made_calls(*, complete: bool) -> Any:
    """Calls of five judges on 20,000 pairs with gold, in both orders, five times; or 950,000 of them, shuffled."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(29)
    item, judge, replicate, reverse = (x.ravel() for x in np.indices((ITEMS, JUDGES, REPEATS, 2)))
    low = np.arange(ITEMS) % SYSTEMS
    high = (np.arange(ITEMS) * 7 + 3) % SYSTEMS
    high = np.where(low == high, (high + 1) % SYSTEMS, high)
    gold = np.where(rng.random(ITEMS) < 0.5, low, high)
    choice = rng.choice(["first", "second", "tie", "invalid"], len(item), p=[0.5, 0.4, 0.08, 0.02])
    names = {"judge": ("judge", judge), "item": ("q", item)}
    names |= {
        "first": ("A", np.where(reverse, high[item], low[item])),
        "second": ("A", np.where(reverse, low[item], high[item])),
    }
    calls = pd.DataFrame({c: np.char.add(prefix, code.astype(str)) for c, (prefix, code) in names.items()})
    calls = calls.assign(choice=choice, replicate=replicate, gold=np.char.add("A", gold[item].astype(str)))
    if complete:
        return calls
    unasked = (replicate == REPEATS - 1) & (reverse == 1) & (item % 2 == 0)
    return calls[~unasked].sample(frac=1, random_state=0, ignore_index=True)


def stored(kind: str, *, complete: bool = False) -> Path:
    """A file of the calls: csv, jsonl or parquet."""
    path = DATA / f"{'complete' if complete else 'calls'}.{kind}"
    if not path.exists():
        DATA.mkdir(parents=True, exist_ok=True)
        calls, draft = made_calls(complete=complete), DATA / f"draft.{kind}"
        if kind == "csv":
            calls.to_csv(draft, index=False)
        elif kind == "jsonl":
            calls.to_json(draft, orient="records", lines=True)
        else:
            calls.to_parquet(draft, index=False)
        draft.rename(path)
    return path


def some(data: Any) -> Any:
    """The rows of the first items, in a random order, that have 200 rows together."""
    import numpy as np
    import pandas as pd

    codes, items = pd.factorize(data["item"])
    place = np.random.default_rng(0).permutation(len(items))[codes]
    rows = np.bincount(place).cumsum()
    return data[place <= np.searchsorted(rows, FEW)].reset_index(drop=True)


# ---- One run of each in a process of its own -------------------------------------------------------------------------


def seconds(call: Callable[[], Any], times: int = 1) -> float:
    """Least processor time of a call."""
    least = math.inf
    for _ in range(times):
        gc.collect()
        begin = time.process_time()
        call()
        least = min(least, time.process_time() - begin)
    return least


def command(*arguments: str) -> Numbers:
    """Processor time and largest memory of a command, imports included."""
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    said = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if status:
        raise SystemExit(f"{' '.join(arguments)}: {said.decode()}")
    return {"seconds": usage.ru_utime + usage.ru_stime, "megabytes": usage.ru_maxrss / 1024}


def root() -> Path:
    """The worktree that is measured."""
    package = find_spec("judgestats")
    assert package is not None
    assert package.origin is not None
    return Path(package.origin).parents[2]


def judgestats(*arguments: str) -> Numbers:
    """The command ``judgestats``, by the entry point of the worktree."""
    project = tomllib.loads((root() / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, name = project["scripts"]["judgestats"].partition(":")
    return command("-c", f"from {module} import {name}; {name}()", *arguments)


def available() -> Numbers:
    """What can be measured of 950,000 calls."""
    import pandas as pd

    import judgestats as js

    calls = pd.read_parquet(stored("parquet"))
    js.available_measures(calls.head(2000))
    return {"seconds": seconds(lambda: js.available_measures(calls))}


def page() -> Numbers:
    """The page of 950,000 calls."""
    import pandas as pd

    import judgestats as js

    calls = pd.read_parquet(stored("parquet"))
    with TemporaryDirectory() as folder:
        js.report(calls.head(2000), Path(folder) / "some.html")
        return {"seconds": seconds(lambda: js.report(calls, Path(folder) / "page.html"))}


def check() -> Numbers:
    """The command on the file of 950,000 calls."""
    return judgestats("check", str(stored("parquet")))


def measures() -> Numbers:
    """Each measure of the tests on 200 calls of its data; on all of them where it refuses those."""
    from judgestats.errors import JudgestatsError
    from registry import registry

    result = {}
    for name, case in registry().items():
        data = case.data()
        few = some(data)
        try:
            found = case.call(few)
        except JudgestatsError:
            few, found = data, case.call(data)
        drawn = found["method"].astype(str).str.contains("bootstrap|draws").any() if "method" in found else False
        result[f"{'drawn' if drawn else 'analytic'}, {name}"] = seconds(lambda c=case, d=few: c.call(d), 3)
    return result


def icc() -> Numbers:
    """The six intraclass correlations of 352 cells x 300 ratings; pingouin has 32 of them, its time is scaled."""
    import peer_icc

    import judgestats as js

    cells, timed = 352, 32
    ratings = peer_icc.made_ratings("strings")
    sample = peer_icc.some_cells(ratings, timed)
    js.icc(ratings, by=["system", "temperature"])
    ours = seconds(lambda: js.icc(ratings, by=["system", "temperature"]), 5)
    return {"ours": ours, "peer": seconds(lambda: peer_icc.icc(sample), 2) * cells / timed}


def gold() -> Numbers:
    """The cluster bootstrap of 105,600 calls, 2,000 resamples; NumPy multiplies counts with its draws."""
    import peer_bootstrap

    import judgestats as js

    calls = peer_bootstrap.made_calls()
    options = {"cluster": "task", "interval": "percentile"}
    js.gold_agreement(calls.head(1000), **options)
    ours = seconds(lambda: js.gold_agreement(calls, **options), 5)
    return {"ours": ours, "peer": seconds(lambda: peer_bootstrap.cluster_bootstrap(calls), 5)}


def small() -> Numbers:
    """The command on 160 rows, and the import that it cannot do without."""
    whole = judgestats("check", str(ROOT / "docs" / "verdicts.csv"))
    return {"ours": whole["seconds"], "pandas": command("-c", "import pandas")["seconds"]}


def start() -> Numbers:
    """What the command says of itself."""
    return {option: judgestats(option)["seconds"] for option in ("--version", "--help")}


def first() -> Numbers:
    """The first page of an interpreter, of 160 rows."""
    import judgestats as js

    calls = js.read(ROOT / "docs" / "verdicts.csv")
    with TemporaryDirectory() as folder:
        return {"seconds": seconds(lambda: js.report(calls, Path(folder) / "page.html"))}


def trec() -> Numbers:
    """The page of the 33 judges of TREC, as a command."""
    labels = Path(os.environ["JUDGESTATS_REAL_DATA"]) / "llmjudge_trec_dl23" / "labels_wide.csv.gz"
    options = ["--wide", "judge=*,-qid,-docid,-gold", "--map", "system==one,item=qid+docid"]
    with TemporaryDirectory() as folder:
        page = ["--scale", "0,3", "--off-scale", "missing", "--out", str(Path(folder) / "page.html")]
        return judgestats("report", str(labels), *options, *page)


def suite() -> Numbers:
    """All tests with lint and types: minutes by the clock."""
    own = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONWARNINGS")}
    begin = time.perf_counter()
    subprocess.run(["make", "test"], cwd=root(), env=own, check=True, stdout=sys.stderr)
    return {"minutes": (time.perf_counter() - begin) / 60}


def reading() -> Numbers:
    """1,000,000 rows by ``read``, and by DuckDB into a table of Arrow."""
    import duckdb

    import judgestats as js

    js.read(ROOT / "docs" / "verdicts.csv")  # loads what is loaded once
    result = {}
    for kind in ("csv", "jsonl", "parquet"):
        path = stored(kind, complete=True)
        result[f"{kind}, peer"] = seconds(lambda p=path: duckdb.sql(f"FROM '{p}'").fetch_arrow_table())
        result[f"{kind}, ours"] = seconds(lambda p=path: js.read(p))
    return result


# ---- The rows of the table -------------------------------------------------------------------------------------------


class Row(NamedTuple):
    """A number of the table: from the least of each measurement to what is written."""

    what: str
    unit: str
    number: Callable[[Numbers], float]
    limit: str


def over(ours: str = "ours", peer: str = "peer") -> Callable[[Numbers], float]:
    """Ours as a multiple of the other's."""
    return lambda numbers: numbers[ours] / numbers[peer]


def slowest(numbers: Numbers) -> float:
    """Slowest of the measures that do not resample."""
    return 1000 * max(s for name, s in numbers.items() if name.startswith("analytic"))


#: What is measured -> the measurement, and the rows that it gives. A limit is of `now`, or of the `ratio` now / then.
TASKS: dict[str, tuple[Callable[[], Numbers], list[Row]]] = {
    "available": (available, [
        Row("available_measures, 950,000 calls", "s", lambda n: n["seconds"], "ratio at most 0.1"),
    ]),
    "check": (check, [
        Row("judgestats check, 950,000 calls in Parquet", "s", lambda n: n["seconds"], "ratio at most 0.125"),
        Row("judgestats check, 950,000 calls in Parquet: memory", "MB", lambda n: n["megabytes"], "now at most 600"),
    ]),
    "report": (page, [Row("report, 950,000 calls", "s", lambda n: n["seconds"], "ratio at most 0.2")]),
    "measures": (measures, [
        Row("a measure of 200 calls, median over the measures", "ms", lambda n: 1000 * statistics.median(n.values()),
            "now at most 8"),
        Row("a measure of 200 calls, slowest without resampling", "ms", slowest, "now at most 20"),
    ]),
    "icc": (icc, [Row("ICC, 352 cells x 300 ratings: times faster than pingouin", "x", over("peer", "ours"),
                      "now at least 250")]),
    "gold": (gold, [Row("gold_agreement, bootstrap: time over NumPy's on counts", "x", over(), "now at most 1")]),
    "small": (small, [Row("judgestats check, 160 rows: above import pandas", "s", lambda n: n["ours"] - n["pandas"],
                          "now at most 1.5")]),
    "start": (start, [
        Row(f"judgestats {option}", "s", lambda n, o=option: n[o], "now at most 0.3")  # type: ignore[misc]
        for option in ("--version", "--help")
    ]),
    "first": (first, [Row("first report of 160 rows", "s", lambda n: n["seconds"], "now at most 2.5")]),
    "trec": (trec, [Row("report of TREC's 33 judges, as a command", "s", lambda n: n["seconds"], "now at most 8")]),
    "suite": (suite, [Row("make test", "min", lambda n: n["minutes"], "now at most 6")]),
    "read": (reading, [
        Row(f"read, 1,000,000 rows of {kind}: time over DuckDB's into Arrow", "x",
            over(f"{kind}, ours", f"{kind}, peer"), f"now at most {limit}")
        for kind, limit in (("csv", 3), ("jsonl", 4), ("parquet", 3))
    ]),
}  # fmt: skip


#: Measured once, of this version only.
ONCE = {"suite"}


def least(task: str, roots: list[Path], runs: int) -> list[Numbers]:
    """The least of each number of a task at each root, run in turn, after a run that compiles."""
    found: list[Numbers] = [{} for _ in roots]
    for run in range(runs + 1):
        for tree, known in zip(roots, found, strict=True):
            paths = f"{tree / 'src'}{os.pathsep}{tree / 'tests'}"
            environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
            environment |= {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
            options = ["--once", task, "--root", str(tree)]
            done = subprocess.run(
                [sys.executable, __file__, *options], env=environment, check=True, stdout=subprocess.PIPE, text=True
            )
            if run or not runs:  # the first compiles
                numbers = json.loads(done.stdout.splitlines()[-1])
                known |= {name: min(known.get(name, math.inf), value) for name, value in numbers.items()}
    return found


def rows_of(task: str, old: Path, runs: int) -> list[dict[str, Any]]:
    """Rows of the table, of what both versions have; and how many processes ran beside, on average."""
    begin = os.times()
    then, now = least(task, [old, ROOT], runs) if task not in ONCE else ({}, *least(task, [ROOT], 0))
    both = [{k: v for k, v in numbers.items() if task in ONCE or (k in then and k in now)} for numbers in (then, now)]
    spent = [b - a for a, b in zip(begin, os.times(), strict=True)]
    beside = max(os.getloadavg()[1] - sum(spent[:4]) / spent[4], 0.0)
    rows = []
    for what, unit, number, limit in TASKS[task][1]:
        a, b = (number(numbers) if numbers else math.nan for numbers in both)
        shown = ["" if math.isnan(x) else f"{float(f'{x:.3g}'):g}" for x in (a, b, b / a)]  # 1410, not 1.41e+03
        rows.append(dict(zip(COLUMNS, (what, unit, *shown, limit, f"{beside:.1f}"), strict=True)))
        print(", ".join(rows[-1].values()), flush=True)
    if task == "measures" and both[0]:
        for name in sorted(both[1], key=lambda k: -both[1][k]):
            print(f"  {name}: {1000 * both[0][name]:.1f} ms, now {1000 * both[1][name]:.1f} ms")
    return rows


def met(row: dict[str, str]) -> bool:
    """Whether a row keeps its limit."""
    column, _, side, limit = row["limit"].split()
    return float(row[column]) <= float(limit) if side == "most" else float(row[column]) >= float(limit)


def page_of(rows: list[dict[str, str]]) -> str:
    """The table as docs/benchmarks.md has it."""
    lines = ["| what | then | now | ratio | limit | processes beside |", "|---|---|---|---|---|---|"]
    for row in rows:
        sides = [f"{row[c]} {row['unit']}" if row[c] else "" for c in ("then", "now")]
        kept = f"{row['limit']}, {'not measured' if not row['now'] else 'met' if met(row) else 'missed'}"
        lines.append(f"| {' | '.join([row['what'], *sides, row['ratio'], kept, row['beside']])} |")
    return "\n".join(lines) + "\n"


def stored_rows() -> list[dict[str, str]]:
    """Rows of docs/weight.csv."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def written(rows: list[dict[str, str]]) -> None:
    """Put rows in their places in docs/weight.csv and docs/benchmarks.md."""
    new = {row["what"]: row for row in (*(stored_rows() if TABLE.exists() else ()), *rows)}
    empty = dict.fromkeys(COLUMNS, "")
    whole = [
        new.get(row.what, {**empty, "what": row.what, "unit": row.unit, "limit": row.limit})
        for _, of_task in TASKS.values()
        for row in of_task
    ]
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(whole)
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    PAGE.write_text(before + START + page_of(whole) + END + rest.partition(END)[2], encoding="utf-8", newline="\n")


def main() -> None:
    """Measure, print, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--old", type=Path, help="root of a worktree of the earlier version")
    parser.add_argument("--only", nargs="+", choices=TASKS, help="measure these anew")
    parser.add_argument("--runs", type=int, default=3, help="runs, of which the least counts")
    parser.add_argument("--once", choices=TASKS, help=argparse.SUPPRESS)
    parser.add_argument("--root", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.once:
        assert root() == asked.root, f"the package of {root()} is measured, not that of {asked.root}"
        print(json.dumps(TASKS[asked.once][0]()))
        return
    if asked.old is None or not (asked.old / "src" / "judgestats").is_dir():
        parser.error(f"--old {asked.old}: it has no src/judgestats. Give the root of a worktree of another version.")
    for kind in ("csv", "jsonl", "parquet"):
        stored(kind), stored(kind, complete=True)
    for task in asked.only or TASKS:
        if task == "trec" and "JUDGESTATS_REAL_DATA" not in os.environ:
            print("trec: set JUDGESTATS_REAL_DATA to the folder of the public verdicts")
            continue
        written(rows_of(task, asked.old.resolve(), asked.runs))


if __name__ == "__main__":
    main()
