"""A hierarchical logistic model of 100,000 verdicts, sampled by ours and row by row by bambi: one way for both.

``python benchmarks/peer_bayes.py [item] [judge]`` races them and writes ``build/bayes_speed.json``; ``--table`` prints
that file as Markdown. Each fit has a process of its own: its time starts when libraries and data are loaded, and ends
with the draws, so that compiling is in it on both sides. Both sample with nutpie, the same draws, chains and cores.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

RESULTS = Path(__file__).parent.parent / "build" / "bayes_speed.json"
ROWS = 100_000
#: Grouping factor -> its levels.
LEVELS = {"item": 500, "judge": 20}
SAMPLING = {"draws": 500, "tune": 500, "chains": 2}
AIM = 10.0


def made_verdicts(group: str, rows: int = ROWS, seed: int = 0) -> pd.DataFrame:
    """Verdicts under four strategies, right or wrong, grouped by item or by judge."""
    rng = np.random.default_rng(seed)
    level, strategy = rng.integers(0, LEVELS[group], rows), rng.integers(0, 4, rows)
    eta = 0.4 + np.array([0.0, 0.2, -0.15, 0.4])[strategy] + rng.normal(0, 0.8, LEVELS[group])[level]
    return pd.DataFrame(
        {
            "correct": (rng.random(rows) < 1 / (1 + np.exp(-eta))).astype(np.int64),
            "strategy": np.array(["B0", "S1", "S2", "S3"], dtype=object)[strategy],
            group: np.array([f"{group}-{i:03d}" for i in range(LEVELS[group])], dtype=object)[level],
        }
    )


def ours(data: pd.DataFrame, group: str, sampling: dict[str, int]) -> dict[str, list[float]]:
    """Draws of the fixed effects and of the sd, through the front door, from rows."""
    import judgestats as js

    asked: Any = {"seed": 1, "progress": False, **sampling}
    fit = js.fit(f"correct ~ strategy + (1|{group})", data, engine="pymc", sampling=asked)
    table = fit.draws()
    names = {"strategy[S1]": "S1", "strategy[S2]": "S2", "strategy[S3]": "S3", f"sd(Intercept|{group})": "sd"}
    found = {names.get(c, c): table[c] for c in table.columns}
    return {k: [float(found[k].mean()), float(found[k].std())] for k in ("S1", "S2", "S3", "sd")}


def bambi(data: pd.DataFrame, group: str, sampling: dict[str, int]) -> dict[str, list[float]]:
    """The same of bambi's model, a Bernoulli for each row; its own weakly informative priors, as near as ours."""
    import bambi as bmb

    model = bmb.Model(f"correct ~ strategy + (1|{group})", data, family="bernoulli")
    drawn = model.fit(
        inference_method="nutpie", random_seed=1, progressbar=False, target_accept=0.9, include_response_params=False,
        **sampling,
    )["posterior"]  # fmt: skip
    found = {str(s): drawn["strategy"].sel(strategy_dim=s).to_numpy() for s in ("S1", "S2", "S3")}
    found["sd"] = drawn[f"1|{group}_sigma"].to_numpy()
    return {k: [float(v.mean()), float(v.std())] for k, v in found.items()}


def one(who: str, group: str, rows: int, sampling: dict[str, int]) -> dict[str, Any]:
    """A fit in this process: seconds, and mean and sd of each parameter."""
    import nutpie  # noqa: F401
    import pymc  # noqa: F401

    import judgestats  # noqa: F401

    if who == "bambi":
        import bambi as bmb  # noqa: F401
    data = made_verdicts(group, rows)
    cpu, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    found = {"ours": ours, "bambi": bambi}[who](data, group, sampling)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    return {"seconds": seconds, "cpu": after.ru_utime - cpu.ru_utime + after.ru_stime - cpu.ru_stime, "found": found}


def race(group: str, rows: int = ROWS, sampling: dict[str, int] | None = None) -> dict[str, Any]:
    """Both, each in a process of its own.

    Returns
    -------
    dict
        ``seconds`` and ``cpu`` (processor time of all threads) by side, ``ratio``, ``cpu_ratio``, and ``apart``: the
        largest difference of two posterior means, in posterior sds.
    """
    sampling = sampling or SAMPLING
    runs = {}
    for who in ("ours", "bambi"):
        command = [
            sys.executable,
            __file__,
            "--one",
            who,
            group,
            "--rows",
            str(rows),
            "--sampling",
            json.dumps(sampling),
        ]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        runs[who] = json.loads(done.stdout.splitlines()[-1])
    pairs = [(runs["ours"]["found"][k], runs["bambi"]["found"][k]) for k in runs["ours"]["found"]]
    seconds = {who: run["seconds"] for who, run in runs.items()}
    return {
        "group": group,
        "rows": rows,
        "sampling": sampling,
        "seconds": seconds,
        "cpu": {who: run["cpu"] for who, run in runs.items()},
        "ratio": seconds["bambi"] / seconds["ours"],
        "cpu_ratio": runs["bambi"]["cpu"] / runs["ours"]["cpu"],
        "apart": max(abs(a[0] - b[0]) / b[1] for a, b in pairs),
        "found": {who: run["found"] for who, run in runs.items()},
    }


def write(entry: dict[str, Any], path: Path = RESULTS) -> None:
    """Put an entry in the place of the one of the same group."""
    entries = json.loads(path.read_text()) if path.is_file() else []
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([*(e for e in entries if e["group"] != entry["group"]), entry], indent=1))


def table(path: Path = RESULTS) -> str:
    """The results as Markdown."""
    if not path.is_file():
        return f"no {path}: run python benchmarks/peer_bayes.py first"
    lines = [
        "| what | judgestats | bambi | ratio | aim | processor time | means apart, in posterior sds |",
        "|---|---|---|---|---|---|---|",
    ]
    for e in json.loads(path.read_text()):
        s, met = e["sampling"], "met" if e["ratio"] >= AIM else "missed"
        what = (
            f"{e['rows']:,} rows, (1\\|{e['group']}), {LEVELS[e['group']]} levels, {s['chains']} x {s['draws']} draws"
        )
        took = f"{e['seconds']['ours']:.1f} s | {e['seconds']['bambi']:.1f} s"
        cpu = f"{e['cpu']['ours']:.1f} s / {e['cpu']['bambi']:.1f} s ({e['cpu_ratio']:.1f})" if "cpu" in e else "-"
        lines.append(f"| {what} | {took} | {e['ratio']:.1f} | {AIM:g}, {met} | {cpu} | {e['apart']:.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", help=f"of {', '.join(LEVELS)}; all")
    parser.add_argument("--table", action="store_true", help="print the results as Markdown, and run nothing")
    parser.add_argument("--one", choices=["ours", "bambi"], help="this side alone, in this process")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--sampling", type=json.loads, default=SAMPLING)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(given.one, given.groups[0], given.rows, given.sampling)))
        return
    if absent := [name for name in ("pymc", "nutpie", "bambi") if not find_spec(name)]:
        print(f"left out: {', '.join(absent)} not installed")
        return
    for group in () if given.table else given.groups or LEVELS:
        write(race(group, given.rows, given.sampling))
    print(table())


if __name__ == "__main__":
    main()
