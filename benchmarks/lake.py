"""Measures of preference calls in Parquet, counted in DuckDB, beside the plain SQL of the same sums.

``python benchmarks/lake.py --rows 1e5,1e6,1e7`` generates the calls in build/lake, times each measure and its SQL in
processes of their own, with the same limit of memory, and writes the table and the plot of docs/scale.md. With
``--rows 1e7 --items 20000`` there are so many items whatever the number of calls, and their table is written.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import duckdb

ROOT = Path(__file__).parents[1]
LAKE = ROOT / "build" / "lake"
PAGE = ROOT / "docs" / "scale.md"
START, END = "<!-- lake{}, written by benchmarks/lake.py -->", "<!-- end of lake{} -->"
JUDGES, CALLS_OF_ITEM = 10, 100
ANSWERS = ("first", "second", "tie", "abstain", "invalid")
SIDES = ("win", "loss", "tie", "invalid")
HITS = {
    "n": "f IS NOT NULL AND r IS NOT NULL AND f <> 'invalid' AND r <> 'invalid'",
    "consistent": "(f = 'first' AND r = 'second') OR (f = 'second' AND r = 'first') OR (f = 'tie' AND r = 'tie')",
    "first": "f = 'first' AND r = 'first'",
    "second": "f = 'second' AND r = 'second'",
    "tie": "f = 'tie' AND r = 'tie'",
    "one": "(f = 'tie') <> (r = 'tie')",
}
GIVEN = {
    "first": "choice = 'first'",
    "second": "choice = 'second'",
    "tie": "choice IN ('tie', 'abstain')",
    "invalid": "choice = 'invalid'",
}


def _sums(names: tuple[str, ...]) -> str:
    """Sums, squares and products of the counts of each cluster."""
    pairs = [f'sum("{a}" * "{b}")' for i, a in enumerate(names) for b in names[i:]]
    return ", ".join(["count(*)", *(f'sum("{a}")' for a in names), *pairs])


def _counts(of: str, names: tuple[str, ...]) -> str:
    return ", ".join(f"count(*) FILTER ({of} = '{name}') AS \"{name}\"" for name in names)


def sql_of(measure: str, path: Path) -> str:
    """The plain SQL of what a measure needs, clustered by item."""
    if measure == "gold_agreement":
        slots = {"first": "gold = first", "second": "gold = second", "tie": "gold = 'tie'"}
        names = tuple(f"{answer} {slot}" for answer in GIVEN for slot in slots)
        counts = (
            f'count(*) FILTER ({given} AND {slot}) AS "{answer} {name}"'
            for answer, given in GIVEN.items()
            for name, slot in slots.items()
        )
        cells = f"SELECT judge, item, {', '.join(counts)} FROM '{path}' GROUP BY ALL"
        return f"WITH cells AS ({cells}) SELECT judge, {_sums(names)} FROM cells GROUP BY judge"
    if measure in ("position_bias", "answer_rates"):
        cells = f"SELECT judge, item, {_counts('choice', ANSWERS)} FROM '{path}' GROUP BY ALL"
        return f"WITH cells AS ({cells}) SELECT judge, {_sums(ANSWERS)} FROM cells GROUP BY judge"
    if measure == "preference_rate":
        one = "SELECT judge, item, {0} AS candidate, CASE choice WHEN '{0}' THEN 'win' WHEN '{1}' THEN 'loss' "
        one += "WHEN 'abstain' THEN 'tie' ELSE choice END AS outcome FROM '" + str(path) + "'"
        sides = f"{one.format('first', 'second')} UNION ALL {one.format('second', 'first')}"
        cells = f"SELECT judge, candidate, item, {_counts('outcome', SIDES)} FROM ({sides}) GROUP BY ALL"
        return f"WITH cells AS ({cells}) SELECT judge, candidate, {_sums(SIDES)} FROM cells GROUP BY ALL"
    pairs = (
        "SELECT judge, item, replicate, least(first, second) AS low, greatest(first, second) AS high, "
        "max(choice) FILTER (first <= second) AS f, max(choice) FILTER (first > second) AS r "
        f"FROM '{path}' GROUP BY ALL"
    )
    hits = ", ".join(f'count(*) FILTER ({rule}) AS "{name}"' for name, rule in HITS.items())
    cells = f"SELECT judge, item, {hits} FROM ({pairs}) GROUP BY ALL"
    return f"WITH cells AS ({cells}) SELECT judge, {_sums(tuple(HITS))} FROM cells GROUP BY judge"


MEASURES = ("position_bias", "answer_rates", "preference_rate", "gold_agreement", "consistency")


def generate(rows: int, items: int) -> Path:
    """Calls of ten judges: each item has one pair, in both orders, five times, or as often as `items` ask."""
    path = LAKE / f"calls_{rows}_{items}.parquet"
    if not path.exists():
        LAKE.mkdir(parents=True, exist_ok=True)
        each = rows // items if items else CALLS_OF_ITEM
        item, slot = f"(g // {each})", f"(g // {JUDGES}) % 2 = 0"
        system = f"'sys' || (hash({item}) % 6)"
        with duckdb.connect(config={"memory_limit": "1GB", "preserve_insertion_order": False}) as connection:
            connection.execute(
                f"COPY (SELECT 'judge' || (g % {JUDGES}) AS judge, 'item' || {item} AS item, "
                f"CASE WHEN {slot} THEN {system} ELSE 'reference' END AS first, "
                f"CASE WHEN {slot} THEN 'reference' ELSE {system} END AS second, "
                "CASE WHEN hash(g) % 100 < 48 THEN 'first' WHEN hash(g) % 100 < 90 THEN 'second' "
                "WHEN hash(g) % 100 < 98 THEN 'tie' ELSE 'invalid' END AS choice, "
                f"CASE WHEN hash({item}) % 10 = 0 THEN 'tie' WHEN hash({item}) % 10 < 6 THEN {system} "
                "ELSE 'reference' END AS gold, "
                f"(g // {2 * JUDGES} % {each // (2 * JUDGES)})::INTEGER AS replicate, "
                "repeat(md5((g % 1000)::VARCHAR), 4) AS transcript "
                f"FROM range({rows}) AS t(g)) TO '{path}.part' (FORMAT PARQUET, COMPRESSION ZSTD)"
            )
        os.replace(f"{path}.part", path)
    return path


def once(measure: str, how: str, rows: int, items: int, limit: str) -> None:
    """One measure in this process: processor time, largest memory, and the rows that left the engine."""
    path = generate(rows, items)
    config = {"memory_limit": limit, "temp_directory": str(LAKE / "spill"), "preserve_insertion_order": False}
    connection = duckdb.connect(config=config)
    left = 0
    if how == "sql":
        query = sql_of(measure, path)
        begin = time.process_time()
        connection.execute(query).fetchall()
    else:
        import narwhals.stable.v2 as nw

        import judgestats as js

        take = getattr(js, measure)
        first = connection.sql(f"FROM '{path}' LIMIT 2000").df()
        take(connection.from_df(first), cluster="item")  # compiles its kernels
        calls = connection.read_parquet(str(path))
        collect = nw.LazyFrame.collect

        def noted(self, *args, **options):
            nonlocal left
            result = collect(self, *args, **options)
            left += len(result)
            return result

        nw.LazyFrame.collect = noted
        begin = time.process_time()
        take(calls)
    seconds = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak": peak, "left": left}))


def measured(measure: str, how: str, rows: int, items: int, limit: str, times: int) -> dict[str, float]:
    """The fastest of some runs, and the largest memory."""
    command = [sys.executable, __file__, "--once", measure, how, "--rows", str(rows), "--limit", limit]
    command += ["--items", str(items)]
    runs = []
    for _ in range(times):
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    return {
        "seconds": min(r["seconds"] for r in runs),
        "peak": max(r["peak"] for r in runs),
        "left": runs[0]["left"],
    }


def study(
    sizes: list[int], items: int, limit: str, measures: tuple[str, ...], times: int
) -> list[dict[str, float | str]]:
    """Each measure at each size, ours and the SQL in turn."""
    found: list[dict[str, float | str]] = []
    for rows in sizes:
        generate(rows, items)
        for measure in measures:
            sql, ours = (measured(measure, how, rows, items, limit, times) for how in ("sql", "ours"))
            row = {"rows": rows, "measure": measure, "sql": sql["seconds"], "ours": ours["seconds"]}
            found.append({**row, "sql_peak": sql["peak"], "peak": ours["peak"], "left": ours["left"]})
            print(found[-1], flush=True)
    return found


def written(found: list[dict[str, float | str]], items: int, limit: str) -> None:
    """The table of docs/scale.md, and its plot where the number of items grows with that of the calls."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    lines = [
        f"DuckDB {duckdb.__version__}, {os.cpu_count()} cores, `memory_limit` {limit} for both.",
        "",
        "| calls | measure | SQL | ours | ratio | peak, SQL | peak, ours | rows out |",
        "|---:|---|---:|---:|---:|---:|---:|---:|",
    ]
    for r in found:
        ratio = float(r["ours"]) / float(r["sql"])
        lines.append(
            f"| {r['rows']:,} | `{r['measure']}` | {r['sql']:.2f} s | {r['ours']:.2f} s | {ratio:.2f} | "
            f"{r['sql_peak']:,.0f} MB | {r['peak']:,.0f} MB | {r['left']:,.0f} |"
        )
    text = PAGE.read_text()
    start, end = (mark.format(f" of {items:,} items" if items else "") for mark in (START, END))
    before, _, rest = text.partition(start)
    PAGE.write_text(f"{before}{start}\n" + "\n".join(lines) + f"\n{end}{rest.partition(end)[2]}")
    if items:
        return
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for number, measure in enumerate(dict.fromkeys(r["measure"] for r in found)):
        here = [r for r in found if r["measure"] == measure]
        rows = [r["rows"] for r in here]
        axes.plot(rows, [r["ours"] for r in here], f"C{number}o-", label=str(measure))
        axes.plot(rows, [r["sql"] for r in here], f"C{number}x:")
    axes.set(xscale="log", yscale="log", xlabel="calls in Parquet", ylabel="processor time, seconds (dotted: SQL)")
    axes.legend(frameon=False)
    figure.savefig(PAGE.with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="1e5,1e6,1e7")
    parser.add_argument("--items", type=int, default=0, help="by default one for 100 calls")
    parser.add_argument("--limit", default="600MB")
    parser.add_argument("--measures", default=",".join(MEASURES))
    parser.add_argument("--times", type=int, default=3, help="runs, of which the fastest counts")
    parser.add_argument("--once", nargs=2)
    asked = parser.parse_args()
    sizes = [int(float(n)) for n in asked.rows.split(",")]
    if min(sizes) < (fewest := 2 * JUDGES * asked.items):
        parser.error(f"--items {asked.items} needs --rows {fewest:,} or more: each judge has both orders of an item")
    if asked.once:
        once(*asked.once, sizes[0], asked.items, asked.limit)
    else:
        found = study(sizes, asked.items, asked.limit, tuple(asked.measures.split(",")), asked.times)
        written(found, asked.items, asked.limit)
