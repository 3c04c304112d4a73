"""The numbers of the package, written to a file, compared with one, or compared between two commits.

python benchmarks/same_results.py                        # compare with the stored results: what moved
python benchmarks/same_results.py --out FILE             # write them (the stored ones: benchmarks/same_results.json.gz)
python benchmarks/same_results.py --against FILE         # compare with a file
python benchmarks/same_results.py --commits OLD NEW      # each commit in a worktree of its own
python benchmarks/same_results.py --commits OLD NEW --pythons build/old/bin/python build/new/bin/python

Closed forms may move by 1e-12, relative; what is found by iteration (fits, and what is computed from them) by 1e-7.
"""

from __future__ import annotations

import argparse
import gzip
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import recorded_calls

import judgestats as js
from judgestats.errors import JudgestatsError
from judgestats.metrics.measure_registry import measures
from registry import calls, of_record, registry, scores, single_scores, strategies

STORED = ROOT / "benchmarks" / "same_results.json.gz"
CLOSED_FORM, ITERATIVE = 1e-12, 1e-7
#: Errors of statsmodels' OrderedModel, from differences of its likelihood.
DIFFERENCED = 1e-5
#: Measures that iterate.
ITERATED = (
    "rank_systems",
    "dawid_skene",
    "detection_threshold",
    "delta0",
    "icc",
    "variance_components",
    "decision_study",
)
#: Verbs of a fit that give a table.
VERBS = ("tidy", "glance", "random_effects", "variance_components", "check")
#: Columns by which results are split: the first of these that the data have.
SPLITS = ("criterion", "prompt", "scheme", "system", "target")
#: Values of one argument beside its default, for all measures that take it.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "by": {"by": SPLITS},
    "cluster": {"cluster": "item"},
    "bootstrap": {"interval": "percentile", "n_resamples": 50, "seed": 7},
    "resamples": {"n_resamples": 50, "seed": 7},
    "conf_level": {"conf_level": 0.9},
}


def stated(call: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    """The result, or the error of the package, which must stay the same too."""
    try:
        return call()
    except JudgestatsError as error:
        return pd.DataFrame({"error": [type(error).__name__], "message": [str(error)]})


def of_measures() -> Iterator[tuple[str, pd.DataFrame]]:
    """Every measure on the data of the test registry."""
    for name, case in registry().items():
        yield name, case.call(case.data())


def of_variants() -> Iterator[tuple[str, pd.DataFrame]]:
    """Every measure on the tally of its data, on a lazy frame, and with other arguments."""
    import polars as pl

    from judgestats.counting.tallies import tally

    for name, case in registry().items():
        record = measures()[name.partition(",")[0]]
        data = case.data()
        if "tally" not in {**of_record(record, case.data), **case.exempt}:
            counts = tally(data, record.counted_as, baseline=case.baseline)
            yield f"{name} | tally", stated(lambda c=case, t=counts: c.call(t))
        if "engine" not in case.exempt:
            lazy = pl.from_pandas(data).lazy()
            yield f"{name} | lazy", stated(lambda c=case, t=lazy: c.call(t))
        parameters = inspect.signature(record.function).parameters
        if "," in name or getattr(case.call, "__name__", "") == "<lambda>":
            continue  # the call fixes its arguments
        for title, values in ARGUMENTS.items():
            arguments = {k: next((c for c in v if c in data), None) if v is SPLITS else v for k, v in values.items()}
            if set(values) <= set(parameters) and None not in arguments.values():
                yield f"{name} | {title}", stated(lambda c=case, d=data, a=arguments: c.call(d, **a))


def rated() -> pd.DataFrame:
    """Four judges on sixty items: a score, right or wrong, one of four levels, a number."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame([(j, i) for j in "abcd" for i in range(60)], columns=["judge", "item"])
    item = rng.normal(size=60)
    data["score"] = item[data["item"]] + (data["judge"] == "a") + rng.normal(size=len(data))
    data["correct"] = (data["score"] + rng.logistic(size=len(data)) > 0).astype(int)
    data["level"] = pd.cut(data["score"], [-9, -1, 0, 1, 9], labels=["1", "2", "3", "4"])
    data["number"] = rng.poisson(np.exp(0.5 * data["score"]))
    return data


def of_models() -> Iterator[tuple[str, pd.DataFrame]]:
    """Fits with and without random effects, of every family, and the models of bias."""
    data = rated()
    answers = {
        "gaussian": "score",
        "binomial": "correct",
        "cumulative": "level",
        "poisson": "number",
        "negative_binomial": "number",
    }
    for family, answer in answers.items():
        for terms in ("judge", "judge + (1|item)"):
            fit = js.fit(f"{answer} ~ {terms}", data, family=family)
            for verb in VERBS:
                if hasattr(fit, verb):
                    yield f"fit {answer} ~ {terms} | {family}.{verb}", stated(getattr(fit, verb))
            yield f"fit {answer} ~ {terms} | {family}.contrasts", stated(lambda f=fit: f.contrasts("judge"))
            yield f"fit {answer} ~ {terms} | {family}.margins", stated(lambda f=fit: f.margins("judge"))
            yield f"fit {answer} ~ {terms} | {family}.confint", stated(lambda f=fit: f.confint())
    separated = data.assign(correct=lambda t: t["correct"].where(t["judge"] != "a", 1))
    yield "fit separated", js.fit("correct ~ judge", separated).tidy()
    for engine, answer, terms in (
        ("statsmodels", "correct", "judge + (1|item)"),
        ("glm", "correct", "judge"),
        ("gee", "correct", "judge"),
        ("mixedlm", "score", "judge + (1|item)"),
    ):
        family = "gaussian" if answer == "score" else "binomial"
        formula, cluster = f"{answer} ~ {terms}", {"cluster": "item"} if engine == "gee" else {}
        yield (
            f"fit {formula} | {engine}",
            stated(lambda f=formula, k={"family": family, "engine": engine, **cluster}: js.fit(f, data, **k).tidy()),
        )
    verdicts = calls()[lambda t: t["choice"] != "invalid"]
    bias_models = {
        "position_bias_model": verdicts,
        "tie_model": verdicts,
        "item_difficulty": data[["judge", "item", "correct"]],
        "self_preference": single_scores(),
    }
    for name, table in bias_models.items():
        yield f"fit models.{name}", stated(lambda n=name, t=table: getattr(js.models, n)(t).tidy())
    yield "fit models.strategy_effects", js.models.strategy_effects(strategies(), baseline="B0").tidy()


def ranked() -> pd.DataFrame:
    """Comparisons of four systems on forty items by two judges, with ties; one system never loses."""
    rng = np.random.default_rng(1)
    pairs = [("best", s) for s in "xyz"] + [("x", "y"), ("y", "z"), ("z", "x")]
    rows = [(j, str(i), *pair) for j in "ab" for i in range(40) for pair in pairs]
    data = pd.DataFrame(rows, columns=["judge", "item", "first", "second"])
    choices = rng.choice(["first", "second", "tie"], len(data), p=[0.5, 0.3, 0.2])
    return data.assign(choice=np.where(data["first"] == "best", "first", choices))


def of_other_fits() -> Iterator[tuple[str, pd.DataFrame]]:
    """Penalised rankings, other engines, links and terms; the file of public columns has no line for these."""
    comparisons, data = ranked(), rated()
    data["x"] = data["item"] % 5
    for ties in ("davidson", "rao-kupper", "half", "drop"):
        for pseudo_ties in (0.0, 0.5, 2.0):
            arguments: dict[str, Any] = {"ties": ties, "pseudo_ties": pseudo_ties}
            yield (
                f"rank_systems | {ties}, {pseudo_ties:g} pseudo-ties",
                stated(lambda a=arguments: js.rank_systems(comparisons, **a)),
            )
    fits: dict[str, dict[str, Any]] = {
        "correct ~ judge + (1|item) | lpm": {"engine": "lpm"},
        "level ~ judge | ordered": {"family": "cumulative", "engine": "ordered"},
        "level ~ judge + (1|item) | probit, symmetric": {
            "family": "cumulative", "link": "probit", "thresholds": "symmetric"
        },
        "level ~ 1 + (1|item) | thresholds by judge": {"family": "cumulative", "thresholds_by": "judge"},
        "score ~ judge + (1|item) | restricted": {"family": "gaussian", "reml": True},
        "score ~ x + (1 + x|judge) | slopes": {"family": "gaussian"},
        "correct ~ x + (1|judge) + (1|item) | crossed": {},
        "correct ~ judge + (1|item) | quadrature": {"n_quadrature": 15},
    }  # fmt: skip
    for name, arguments in fits.items():
        formula = name.partition(" | ")[0]
        yield f"fit {name}", stated(lambda f=formula, a=arguments: js.fit(f, data, **a).tidy())


def far_off() -> pd.DataFrame:
    """Scores of forty items, three of them five points off."""
    gold = 1.0 + np.arange(40) % 10
    score = np.where(np.arange(40) % 15 == 3, (gold + 4) % 10 + 1, gold + (np.arange(40) % 4 == 1))
    return pd.DataFrame({"judge": "g", "system": "s", "item": range(40), "score": score, "gold": gold})


def of_tables() -> Iterator[tuple[str, pd.DataFrame]]:
    """What is counted, checked, chosen and audited."""
    pairwise, rating = calls(), scores()
    damaged = pairwise.astype({"choice": object})
    damaged.loc[[0, 5], "choice"] = ["left", None]
    for name, table in (("preferences", pairwise), ("ratings", rating), ("damaged", damaged)):
        yield f"check | {name}", stated(lambda t=table: js.check(t))
        yield f"available_measures | {name}", stated(lambda t=table: js.available_measures(t))
    yield "score_error | damaged by gross errors", js.score_error(far_off())
    yield "aggregate", stated(lambda: js.aggregate(pairwise))
    yield "datasheet", stated(lambda: frame(js.datasheet(pairwise)))
    yield "formats", js.formats()
    for paper in ("dark_current", "merchant_risk", "debiasing", "rationalization", "consensus_illusion"):
        yield f"audit | {paper}", frame(js.audit(paper))


def of_calls() -> Iterator[tuple[str, pd.DataFrame]]:
    """The calls that are kept because they show a flag or a method that nothing else here does."""
    for name, call in recorded_calls.named():
        yield name, stated(call)


def frame(result: Any) -> pd.DataFrame:
    """A result that is a table, or holds one."""
    return result if isinstance(result, pd.DataFrame) else result.to_frame()


def of_outputs() -> Iterator[tuple[str, pd.DataFrame]]:
    """What two pages and ``judgestats check`` say, line by line."""
    with tempfile.TemporaryDirectory() as folder:
        for name, table in (("preferences", calls()), ("ratings", scores())):
            source, page = Path(folder, f"{name}.csv"), Path(folder, f"{name}.html")
            table.to_csv(source, index=False)
            js.report(js.read(source), page, title=name, source={"file": name}, n_resamples=50)
            yield f"page | {name}", lines(text_of(page.read_text(encoding="utf-8")))
            command = [sys.executable, "-m", "judgestats", "check", source.name]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, encoding="utf-8")
            yield f"judgestats check | {name}", lines(f"exit code {done.returncode}\n{done.stdout}{done.stderr}")


def text_of(page: str) -> str:
    """The words and numbers of a page: neither its style, nor its script, nor the coordinates of its pictures."""
    page = re.sub(r"(?s)<(style|script)\b.*?</\1>", "", page)
    text = unescape(re.sub(r"<[^>]+>", "\n", page))
    return re.sub(r"judgestats \d\S*|\d{4}-\d\d-\d\d( \d\d:\d\d)?", "", text)


def lines(text: str) -> pd.DataFrame:
    """Lines of a text that have any words, as a table."""
    return pd.DataFrame({"text": [" ".join(line.split()) for line in text.splitlines() if line.strip()]})


def results() -> dict[str, pd.DataFrame]:
    """Name -> result; what follows a bar says how it was obtained."""
    parts = (of_measures(), of_variants(), of_models(), of_other_fits(), of_tables(), of_outputs(), of_calls())
    return {name: result for part in parts for name, result in part}


def stored(found: dict[str, pd.DataFrame]) -> bytes:
    """Results as compressed JSON, the same bytes for the same numbers."""
    tables = {
        name: {
            "columns": [str(c) for c in table.columns],
            "rows": [[plain(v) for v in row] for row in table.to_numpy(object)],
        }
        for name, table in found.items()
    }
    return gzip.compress(json.dumps(tables, separators=(",", ":"), ensure_ascii=False).encode(), mtime=0)


def plain(value: Any) -> Any:
    """A cell as JSON has it."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value)
    return None if value is None or value is pd.NA or value is pd.NaT else str(value)


def tolerance(name: str) -> float:
    """What a result may move by, relative."""
    recorded = name.partition(": ")[2]
    if "| ordered" in name:
        return DIFFERENCED
    of_model = bool(recorded) and recorded not in measures()
    return ITERATIVE if of_model or (recorded or name).startswith(("fit ", *ITERATED)) else CLOSED_FORM


def moved(before: bytes, after: bytes) -> list[str]:
    """What differs between two stored results, a line for each column of each result."""
    old, new = (json.loads(gzip.decompress(data)) for data in (before, after))
    differences = [f"{name}: gone" for name in old if name not in new]
    differences += [f"{name}: new" for name in new if name not in old]
    for name in old:
        if name in new:
            differences += [f"{name}: {text}" for text in changed(old[name], new[name], tolerance(name))]
    return differences


def changed(old: dict[str, Any], new: dict[str, Any], rtol: float) -> Iterator[str]:
    """What differs between two tables."""
    if old["columns"] != new["columns"]:
        lost = [c for c in old["columns"] if c not in new["columns"]]
        added = [c for c in new["columns"] if c not in old["columns"]]
        yield f"columns lost: {lost}, added: {added}" if lost or added else "columns in another order"
    if len(old["rows"]) != len(new["rows"]):
        yield f"{len(old['rows'])} rows before, {len(new['rows'])} now"
        return
    for column in old["columns"]:
        if column not in new["columns"]:
            continue
        i, j = old["columns"].index(column), new["columns"].index(column)
        cells = [(k, a[i], b[j]) for k, (a, b) in enumerate(zip(old["rows"], new["rows"], strict=True))]
        unequal = [(k, a, b) for k, a, b in cells if not same(a, b, rtol)]
        if unequal:
            k, a, b = unequal[0]
            yield f"{column} differs in {len(unequal)} of {len(cells)} rows; row {k}: {a!r} before, {b!r} now"


def same(one: Any, other: Any, rtol: float) -> bool:
    """Whether two cells are equal; numbers up to a relative difference."""
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in (one, other))
    if not numbers:
        return type(one) is type(other) and one == other
    return bool(np.isclose(one, other, rtol=rtol, atol=1e-12, equal_nan=True))


def at_commit(commit: str, python: str) -> bytes:
    """Results of a commit, from a worktree of its own; this script computes them there too."""
    with tempfile.TemporaryDirectory() as folder:
        tree, out = Path(folder, "tree"), Path(folder, "results.gz")
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", str(tree), commit], check=True)
        try:
            for file in (recorded_calls.__file__, recorded_calls.STORED):
                shutil.copy(file, tree / "benchmarks")
            script = shutil.copy(__file__, tree / "benchmarks")
            environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
            subprocess.run([python, script, "--out", str(out)], cwd=tree, env=environment, check=True)
            return out.read_bytes()
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def main() -> int:
    """Write, or compare and say what moved."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    task = parser.add_mutually_exclusive_group()
    task.add_argument("--out", type=Path, help="write the results to this file")
    task.add_argument("--against", type=Path, default=STORED, help="compare with this file")
    task.add_argument("--commits", nargs=2, metavar=("OLD", "NEW"), help="compare two commits")
    parser.add_argument("--pythons", nargs=2, default=(sys.executable,) * 2, help="an interpreter for each commit")
    options = parser.parse_args()
    if options.out:
        found = results()
        options.out.write_bytes(stored(found))
        print(f"{len(found)} results in {options.out}: {options.out.stat().st_size / 1e6:.2f} MB")
        return 0
    if options.commits:
        before, after = map(at_commit, options.commits, options.pythons)
    else:
        before, after = options.against.read_bytes(), stored(results())
    differences = moved(before, after)
    print("\n".join([*differences, f"{len(differences)} differences"]))
    return bool(differences)


if __name__ == "__main__":
    sys.exit(main())
