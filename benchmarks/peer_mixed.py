"""Mixed-effects logistic models by lme4, glmmTMB and GPBoost, raced against ours in one run.

``python benchmarks/peer_mixed.py [cases] [--peers ...] [--no-ours]`` runs them, and writes ``build/mixed_speed.json``;
``--table`` prints that file as Markdown. R comes from ``Rscript`` on the path; GPBoost from this interpreter, or from
that named by JUDGESTATS_GPBOOST_PYTHON; VerbAgg from the folder JUDGESTATS_REFERENCE_DATA. What is absent is named,
and left out. Every time is of the fit alone, the data being loaded; standard errors are in it, but for GPBoost's.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

HERE = Path(__file__).parent
RESULTS = HERE.parent / "build" / "mixed_speed.json"
REFERENCE = Path(os.environ.get("JUDGESTATS_REFERENCE_DATA", HERE.parent.parent / "shared" / "reference"))
TIMEOUT = float(os.environ.get("JUDGESTATS_PEER_TIMEOUT", "1200"))


class Absent(Exception):
    """A peer or a data set that is not on this machine; the message names it."""


# --- Ours: the only place that knows the names of the engine ----------------------------------------------------------


def ours(formula: str, data: Any, **options: Any) -> Any:
    """Fit through the front door."""
    import judgestats as js

    return js.fit(formula, data, family="binomial", **options)


def parsed(formula: str, data: Any, **options: Any) -> Any:
    """What :func:`ours_after_parsing` takes: rows coded, and made distinct."""
    from judgestats.models import designs, specifications

    return specifications.Model(designs.design(formula, data, family="binomial"), "binomial", "logit", **options)


def ours_after_parsing(model: Any) -> Any:
    """Fit of a design that is there already."""
    from judgestats.models import ml

    return ml.fit_design(model)


# --- The data ---------------------------------------------------------------------------------------------------------


def _drawn(rng: np.random.Generator, eta: np.ndarray) -> np.ndarray:
    return (rng.random(eta.size) < 1 / (1 + np.exp(-eta))).astype(np.int64)


def _names(name: str, code: np.ndarray) -> np.ndarray:
    labels = np.array([f"{name}-{i:05d}" for i in range(int(code.max()) + 1)], dtype=object)
    return labels[code]


def _shuffled(rng: np.random.Generator, columns: dict[str, Any]) -> pd.DataFrame:
    frame = pd.DataFrame(columns)
    return frame.iloc[rng.permutation(len(frame))].reset_index(drop=True)


def made_study(*, continuous: bool = False) -> pd.DataFrame:
    """105,600 verdicts: 100 items x 32 systems x 33; strategy of four (three effects), and the order or the length."""
    rng = np.random.default_rng(1051)
    item, system, run = (a.ravel() for a in np.indices((100, 32, 33)))
    strategy = run % 4
    last = rng.normal(size=item.size) if continuous else rng.integers(0, 2, item.size)
    effects = np.array([0.0, 0.2, -0.15, 0.4])[strategy] + 0.25 * last
    eta = 0.5 + effects + rng.normal(0, 0.8, 100)[item] + rng.normal(0, 0.5, 32)[system]
    return _shuffled(
        rng,
        {
            "correct": _drawn(rng, eta),
            "strategy": np.array([f"B{i}" for i in range(4)], dtype=object)[strategy],
            "length" if continuous else "first": last,
            "item": _names("item", item),
            "system": _names("model", system),
        },
    )


def made_four_factors() -> pd.DataFrame:
    """120,000 verdicts: 1,000 items x 12 judges x 10 systems once each; `answer` is item by system."""
    rng = np.random.default_rng(120)
    item, judge, system = (a.ravel() for a in np.indices((1000, 12, 10)))
    answer = item * 10 + system
    own, first = (judge == system).astype(np.int64), rng.integers(0, 2, item.size)
    random = rng.normal(0, 0.8, 1000)[item] + rng.normal(0, 0.5, 12)[judge]
    random += rng.normal(0, 0.6, 10)[system] + rng.normal(0, 0.7, 10_000)[answer]
    return _shuffled(
        rng,
        {
            "wins": _drawn(rng, 0.2 + 0.4 * own + 0.2 * first + random),
            "own": own,
            "first": first,
            "item": _names("item", item),
            "judge": _names("judge", judge),
            "system": _names("model", system),
            "answer": _names("answer", answer),
        },
    )


def made_groups(*, continuous: bool = False) -> pd.DataFrame:
    """2,000 verdicts: 400 items, each under the same five criteria; or with a length of its own besides."""
    rng = np.random.default_rng(400)
    item, criterion = (a.ravel() for a in np.indices((400, 5)))
    length = rng.normal(size=item.size) if continuous else np.zeros(item.size)
    eta = np.array([0.6, 0.1, -0.3, 0.9, -0.7])[criterion] + 0.3 * length + rng.normal(0, 1.2, 400)[item]
    columns = {"correct": _drawn(rng, eta), "criterion": _names("criterion", criterion), "item": _names("item", item)}
    return _shuffled(rng, columns | ({"length": length} if continuous else {}))


def verbal_aggression() -> pd.DataFrame:
    """VerbAgg of lme4: 7,584 answers of 316 people to 24 items."""
    path = REFERENCE / "verbagg.csv"
    if not path.is_file():
        raise Absent(f"no verbagg.csv in {REFERENCE}: set JUDGESTATS_REFERENCE_DATA")
    frame = pd.read_csv(path, dtype={"id": str})
    return frame.assign(r2=(frame["r2"] == "Y").astype(int))


CALLS = 10_000_000
COUNTS = "SELECT correct, strategy, first, item, judge, count(*) AS n FROM calls GROUP BY ALL"


def made_calls(folder: Path, calls: int = CALLS) -> Path:
    """10,000,000 calls as Parquet: 500 items, 12 judges, 4 strategies, 2 orders; at most 96,000 patterns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(10_000_000)
    items, judges = rng.normal(0, 0.8, 500), rng.normal(0, 0.5, 12)
    path, size = folder / "calls.parquet", 1_000_000
    writer = None
    for start in range(0, calls, size):
        n = min(size, calls - start)
        item, judge = rng.integers(0, 500, n), rng.integers(0, 12, n)
        strategy, first = rng.integers(0, 4, n), rng.integers(0, 2, n)
        eta = 0.3 + np.array([0.0, 0.2, -0.15, 0.4])[strategy] + 0.25 * first + items[item] + judges[judge]
        labels = {"strategy": (strategy, "B", 4, 1), "item": (item, "item-", 500, 4), "judge": (judge, "judge-", 12, 2)}
        columns: dict[str, Any] = {"correct": _drawn(rng, eta), "first": first}
        for key, (code, name, levels, width) in labels.items():
            label = pa.array([f"{name}{i:0{width}d}" for i in range(levels)])
            columns[key] = label.take(pa.array(code))
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()
    return path


# --- The cases --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A model, its data, and the peers with the ratio aimed at (None: reported only)."""

    title: str
    formula: str
    made: Callable[[], pd.DataFrame]
    peers: dict[str, float | None]
    n_quadrature: int = 1
    repeats: int = 1  # fits of a peer within its process

    @property
    def options(self) -> dict[str, Any]:
        return {"n_quadrature": self.n_quadrature}  # the peers' default is 1, ours is not

    @property
    def response(self) -> str:
        return self.formula.split("~")[0].strip()


_LME4 = {"lme4": 20.0, "lme4-bobyqa": None, "glmmTMB": 8.0}
CASES: dict[str, Case] = {
    "study": Case(
        "105,600 rows, items 100 x systems 32; four effects, all codes",
        "correct ~ strategy + first + (1|item) + (1|system)",
        made_study,
        {**_LME4, "lme4-counts": None, "glmmTMB-counts": None},
    ),
    "study-continuous": Case(
        "the same, one effect of a continuous covariate",
        "correct ~ strategy + length + (1|item) + (1|system)",
        lambda: made_study(continuous=True),
        _LME4,
    ),
    "four-factors": Case(
        "120,000 rows, factors of 1,000, 12, 10 and 10,000 levels",
        "wins ~ own + first + (1|item) + (1|judge) + (1|system) + (1|answer)",
        made_four_factors,
        {"GPBoost": 3.0, "glmmTMB": 8.0},
    ),
    "groups": Case(
        "400 groups of 5, the same covariates in each, 25 points",
        "correct ~ criterion + (1|item)",
        made_groups,
        {"lme4": 50.0},
        n_quadrature=25,
        repeats=5,
    ),
    "groups-continuous": Case(
        "400 groups of 5, a continuous covariate, 25 points",
        "correct ~ criterion + length + (1|item)",
        lambda: made_groups(continuous=True),
        {"lme4": None},
        n_quadrature=25,
        repeats=5,
    ),
    "verbagg": Case(
        "VerbAgg, 7,584 rows, people 316 x items 24",
        "r2 ~ Anger + Gender + btype + situ + (1|id) + (1|item)",
        verbal_aggression,
        {"lme4": 10.0, "lme4-bobyqa": None, "glmmTMB": None, "GPBoost": None},
        repeats=2,
    ),
}
AFTER_PARSING = {"groups": 300.0}
CALLS_CASE, CALLS_FORMULA = "calls", "correct ~ strategy + first + (1|item) + (1|judge)"
CALLS_TITLE, CALLS_AIM = "10,000,000 calls of a DuckDB relation, tallied and fitted", 1.2


@lru_cache(maxsize=1)
def data_of(name: str) -> pd.DataFrame:
    """The table of a case, strings as read from a file."""
    return CASES[name].made()


def counts_of(data: pd.DataFrame, response: str) -> pd.DataFrame:
    """Rows of equal covariates and groups as k of n."""
    keys = [c for c in data.columns if c != response]
    return data.groupby(keys, as_index=False)[response].agg(k="sum", n="size")


# --- The peers --------------------------------------------------------------------------------------------------------


@dataclass
class Run:
    """What a fit took, and what it gave."""

    seconds: list[float]
    user: list[float]
    loglik: float
    fixed: dict[str, float] = field(default_factory=dict)
    sd: dict[str, float] = field(default_factory=dict)
    std_error: dict[str, float] = field(default_factory=dict)
    parse: float | None = None
    rows: int = 0
    version: str = ""
    engine: str = ""
    said: list[str] = field(default_factory=list)


def _answer(command: list[str], what: str, timeout: float) -> Run:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"{what} took more than {timeout:.0f} s") from None
    if done.returncode == 3:
        raise Absent(f"{what} is not installed for {command[0]}")
    if done.returncode:
        raise RuntimeError(f"{what} failed:\n{done.stderr[-2000:]}")
    return Run(**json.loads(done.stdout.splitlines()[-1]))


def by_r(case: Case, data: pd.DataFrame, engine: str, timeout: float = TIMEOUT) -> Run:
    """A fit by R in a process of its own; an engine named `-counts` is given k of n."""
    rscript = shutil.which("Rscript")
    if rscript is None:
        raise Absent(f"{engine}: no Rscript on the path")
    formula = case.formula
    if engine.endswith("-counts"):
        data = counts_of(data, case.response)
        formula = f"cbind(k, n - k) ~ {formula.split('~')[1]}"
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.csv"
        data.to_csv(table, index=False)
        script = str(HERE / "mixed_peers.R")
        numbers = [str(case.n_quadrature), str(case.repeats)]
        command = [rscript, script, engine.removesuffix("-counts"), str(table), formula, *numbers]
        return _answer(command, engine, timeout)


GPBOOST = """
import json, resource, sys, time
try:
    import gpboost as gpb
except ModuleNotFoundError:
    sys.exit(3)
import numpy as np

data = np.load(sys.argv[1], allow_pickle=False)
y, x, groups, names, terms = (data[k] for k in ("y", "x", "groups", "names", "terms"))
cpu, start = resource.getrusage(resource.RUSAGE_SELF).ru_utime, time.perf_counter()
model = gpb.GPModel(group_data=groups, likelihood="bernoulli_logit", matrix_inversion_method="cholesky")
model.fit(y=y, X=x, params={"delta_rel_conv": 1e-12})
seconds, cpu = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_utime - cpu
coefficients, errors = np.asarray(model.get_coef(std_err=True, format_pandas=False), dtype=float)  # not in the time
variances = np.ravel(np.asarray(model.get_cov_pars(std_err=False, format_pandas=False)))
print(json.dumps({
    "engine": "GPBoost", "version": "gpboost " + gpb.__version__, "rows": len(y), "seconds": [seconds], "user": [cpu],
    "loglik": -model.get_current_neg_log_likelihood(), "fixed": dict(zip(names.tolist(), coefficients.tolist())),
    "std_error": dict(zip(names.tolist(), errors.tolist())),
    "sd": dict(zip(terms.tolist(), np.sqrt(variances).tolist())),
}))
"""


def by_gpboost(case: Case, data: pd.DataFrame, timeout: float = TIMEOUT) -> Run:
    """A fit by GPBoost (Cholesky, relative change 1e-12) in a process of its own, on all cores as it comes."""
    terms = [t.strip() for t in case.formula.split("~")[1].split("+")]
    groups = [t.removeprefix("(1|").removesuffix(")") for t in terms if t.startswith("(1|")]
    fixed = pd.get_dummies(data[[t for t in terms if not t.startswith("(1|")]], drop_first=True, dtype=float)
    fixed.insert(0, "(Intercept)", 1.0)
    arrays = {
        "y": data[case.response].to_numpy(float),
        "x": fixed.to_numpy(float),
        "groups": np.column_stack([pd.factorize(data[g])[0] for g in groups]),
        "names": np.array(fixed.columns, dtype=str),
        "terms": np.array(groups, dtype=str),
    }
    python = os.environ.get("JUDGESTATS_GPBOOST_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.npz"
        np.savez(table, **arrays)
        return _answer([python, "-c", GPBOOST, str(table)], "GPBoost", timeout)


def by_peer(name: str, engine: str, timeout: float = TIMEOUT) -> Run:
    """A fit of a case by a peer."""
    case, data = CASES[name], data_of(name)
    return by_gpboost(case, data, timeout) if engine == "GPBoost" else by_r(case, data, engine, timeout)


# --- The race ---------------------------------------------------------------------------------------------------------


def _timed(call: Callable[[], Any]) -> tuple[Any, float, float]:
    cpu, start = resource.getrusage(resource.RUSAGE_SELF).ru_utime, time.perf_counter()
    value = call()
    return value, time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_utime - cpu


def _series(call: Callable[[], Any], times: int) -> tuple[Any, list[float], list[float]]:
    runs = [_timed(call) for _ in range(times)]
    return runs[-1][0], [r[1] for r in runs], [r[2] for r in runs]


def race(
    name: str, engine: str, *, rounds: int = 1, with_ours: bool = True, timeout: float = TIMEOUT
) -> dict[str, Any]:
    """Ours three times, the peer, ours three times, ...: one entry of the results."""
    case = CASES[name]
    data = data_of(name)
    entry: dict[str, Any] = {"case": name, "title": case.title, "peer": engine, "aim": case.peers[engine]}
    mine: dict[str, list[float]] = {"our_seconds": [], "our_user": [], "after_parsing": []}

    def our_turn() -> None:
        fit, seconds, user = _series(lambda: ours(case.formula, data, **case.options), 3)
        mine["our_seconds"] += seconds
        mine["our_user"] += user
        entry["our_loglik"] = float(fit.loglik)
        if name in AFTER_PARSING:
            model = parsed(case.formula, data, **case.options)
            mine["after_parsing"] += _series(lambda: ours_after_parsing(model), 3)[1]

    if with_ours:
        ours(case.formula, data, **case.options)  # compiles, or loads, the kernels
        our_turn()
    peers: list[Run] = []
    for _ in range(rounds):
        peers.append(by_peer(name, engine, timeout))
        if with_ours:
            our_turn()
    last = peers[-1]
    entry |= {
        "peer_seconds": [s for run in peers for s in run.seconds],
        "peer_user": [s for run in peers for s in run.user],
        "peer_parse": last.parse,
        "peer_loglik": last.loglik,
        "peer_rows": last.rows,
        "version": last.version,
        "said": last.said,
        "fixed": last.fixed,
        "std_error": last.std_error,
        "sd": last.sd,
    }
    if with_ours:
        entry |= mine | {"ratio": _ratio(entry["peer_seconds"], mine["our_seconds"])}
        if mine["after_parsing"]:
            entry["ratio_after_parsing"] = _ratio(entry["peer_seconds"], mine["after_parsing"])
            entry["aim_after_parsing"] = AFTER_PARSING[name]
    return entry


def _ratio(one: list[float], other: list[float]) -> float:
    return statistics.median(one) / statistics.median(other)


def race_calls(
    source: str, folder: Path, *, rounds: int = 5, calls: int = CALLS, with_ours: bool = True
) -> dict[str, Any]:
    """`fit` on a DuckDB relation (of a Parquet file, or a table) against the SQL of the counts and the fit of these."""
    import duckdb

    path = folder / "calls.parquet"
    if not path.is_file():
        made_calls(folder, calls)
    con = duckdb.connect()
    con.execute(f"CREATE {'VIEW' if source == 'Parquet' else 'TABLE'} calls AS SELECT * FROM read_parquet('{path}')")
    relation = con.table("calls")
    seconds: dict[str, list[float]] = {
        "sql": [],
        "peer_seconds": [],
        "our_seconds": [],
        "peer_user": [],
        "our_user": [],
    }
    logliks = {}
    patterns = 0
    for turn in range(rounds + 1):  # the first one compiles, and is not counted
        table, sql, cpu = _timed(lambda: con.sql(COUNTS).df())
        patterns = len(table)
        found = {"sql": sql}
        if with_ours:
            fit, wall, user = _timed(lambda table=table: ours(CALLS_FORMULA, table))
            logliks["peer_loglik"] = float(fit.loglik)
            found |= {"peer_seconds": sql + wall, "peer_user": cpu + user}
            fit, found["our_seconds"], found["our_user"] = _timed(lambda: ours(CALLS_FORMULA, relation))
            logliks["our_loglik"] = float(fit.loglik)
        for key, value in found.items() if turn else ():
            seconds[key].append(value)
    con.close()
    entry = {"case": CALLS_CASE, "title": CALLS_TITLE, "peer": f"DuckDB SQL and fit, {source}", "aim": CALLS_AIM}
    entry |= {"patterns": patterns, "version": f"duckdb {duckdb.__version__}", **seconds, **logliks}
    if with_ours:
        entry["ratio"] = _ratio(seconds["our_seconds"], seconds["peer_seconds"])
    return entry


# --- The results ------------------------------------------------------------------------------------------------------


def write(entry: dict[str, Any], path: Path = RESULTS) -> None:
    """Puts an entry in the place of the one of the same case and peer."""
    entries = json.loads(path.read_text()) if path.is_file() else []
    same = (entry["case"], entry["peer"])
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = [e for e in entries if (e["case"], e["peer"]) != same]
    path.write_text(json.dumps([*kept, entry], indent=1))


def _time(seconds: list[float] | None) -> str:
    if not seconds:
        return "-"
    middle = statistics.median(seconds)
    return f"{middle * 1000:.3g} ms" if middle < 1 else f"{middle:.3g} s"


def _row(entry: dict[str, Any], mine: str, ratio: str, aim: str) -> str:
    loglik, peers = entry.get("our_loglik"), entry.get("peer_loglik")
    aimed = entry.get(aim)
    reached = entry.get(ratio)
    met = ""
    if aimed is not None and reached is not None:
        below = entry["case"] == CALLS_CASE
        met = ", met" if (reached <= aimed if below else reached >= aimed) else ", missed"
    cells = [
        entry["title"] + (" (after parsing)" if mine == "after_parsing" else ""),
        entry["peer"],
        _time(entry.get(mine)),
        _time(entry.get("peer_seconds")),
        f"{reached:.3g}" if reached is not None else "-",
        "reported" if aimed is None else f"{aimed:g}{met}",
        f"{_time(entry.get('our_user'))} / {_time(entry.get('peer_user'))}" if mine == "our_seconds" else "",
        f"{loglik:.6f}" if loglik is not None else "-",
        f"{peers:.6f}" if peers is not None else "-",
        f"{loglik - peers:+.2g}" if loglik is not None and peers is not None else "-",
    ]
    return "| " + " | ".join(cells) + " |"


def table(path: Path = RESULTS) -> str:
    """The results as Markdown; the ratio is peer / ours, and ours / peer for the tallied calls."""
    if not path.is_file():
        return f"no {path}: run python benchmarks/peer_mixed.py first"
    entries = json.loads(path.read_text())
    order = {name: i for i, name in enumerate([*CASES, CALLS_CASE])}
    entries.sort(key=lambda e: order[e["case"]])
    head = "what|peer|judgestats|peer takes|ratio|aim|user CPU, ours / peer|logLik, ours|logLik, peer|difference"
    lines = ["| " + head.replace("|", " | ") + " |", "|" + "---|" * (head.count("|") + 1)]
    for entry in entries:
        lines.append(_row(entry, "our_seconds", "ratio", "aim"))
        if entry.get("after_parsing"):
            lines.append(_row(entry, "after_parsing", "ratio_after_parsing", "aim_after_parsing"))
    versions = sorted({e["version"] for e in entries})
    said = sorted({f"{e['peer']} ({e['case']}): {text}" for e in entries for text in e.get("said", ())})
    return "\n".join([*lines, "", "Peers: " + "; ".join(versions) + ".", *(f"- {line}" for line in said)])


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="case", help=f"of {', '.join([*CASES, CALLS_CASE])}; all")
    parser.add_argument("--table", action="store_true", help="print the results as Markdown, and run nothing")
    parser.add_argument("--peers", nargs="+", help="only these; all")
    parser.add_argument("--no-ours", action="store_true", help="the peers alone")
    parser.add_argument("--rounds", type=int, default=1, help="processes of each peer; 1")
    parser.add_argument("--timeout", type=float, default=TIMEOUT, help="seconds for a peer")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    if given.table:
        print(table(given.out))
        return
    if unknown := set(given.cases) - {*CASES, CALLS_CASE}:
        parser.error(f"no case {', '.join(sorted(unknown))}; there are {', '.join([*CASES, CALLS_CASE])}")
    options = {"with_ours": not given.no_ours}
    for name in given.cases or [*CASES, CALLS_CASE]:
        if name == CALLS_CASE:
            with tempfile.TemporaryDirectory() as folder:
                for source in ("Parquet", "table"):
                    _report(name, source, lambda s=source, f=folder: race_calls(s, Path(f), **options), given.out)
            continue
        for engine in (e for e in CASES[name].peers if given.peers is None or e in given.peers):
            more = {**options, "rounds": given.rounds, "timeout": given.timeout}
            _report(name, engine, lambda n=name, e=engine, m=more: race(n, e, **m), given.out)


def _report(name: str, engine: str, run: Callable[[], dict[str, Any]], out: Path) -> None:
    try:
        entry = run()
    except (Absent, TimeoutError) as why:
        print(f"{name}, {engine}: left out, {why}", flush=True)
        return
    write(entry, out)
    taken = f"peer {_time(entry.get('peer_seconds') or entry.get('sql'))}, ours {_time(entry.get('our_seconds'))}"
    print(f"{name}, {engine}: {taken}", flush=True)


if __name__ == "__main__":
    main()
