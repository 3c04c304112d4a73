"""Several threads and processes at a time: the same numbers, and nothing of the process is left changed."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import judgestats as js
from judgestats.kernels import reml
from judgestats.models.likelihood.objectives import LinearObjective
from judgestats.reporting import plots
from judgestats.reporting.pictures import drawing
from judgestats.threads import Shared, one_blas_thread, warnings_ignored
from registry import contests, single_scores

LONG = "x" * 150_000  # Python's own limit for a field is 131,072


def asked() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    right = rng.integers(0, 2, 60)
    return pd.DataFrame({"y": right, "x": rng.normal(size=60), "item": np.repeat(np.arange(12).astype(str), 5)})


def one_round(folder: Path, number: int = 0) -> tuple[object, ...]:
    """A fit, another by statsmodels, a failed one, six ICCs, a file with a long field, a picture and now and then a page."""
    fit = js.fit("y ~ scale(x) + (1|item)", asked(), family="binomial")
    parted = js.fit("y ~ x", asked().assign(y=lambda d: (d["x"] > 0).astype(int)), family="binomial", engine="glm")
    with pytest.raises(js.errors.FormulaError):
        js.fit("y ~ bs(x, df=2)", asked(), family="binomial")
    frame = js.read(folder / "calls.csv")
    icc = js.icc(js.ratings(single_scores()))
    picture = "".join(str(part) for part in drawing("icc", "ICC", "All six.", lambda: plots.icc(icc)))
    page = b""
    if number % 5 == 4:
        path = folder / f"{threading.get_ident()}.html"
        page = js.report(js.preferences(contests().head(24)), path, n_resamples=20).read_bytes()
    return (
        fit.tidy().to_csv(), parted.tidy().to_csv(), icc.to_csv(), frame["rationale"].str.len().tolist(), picture, page,
    )  # fmt: skip


def blas_threads() -> list[int]:
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


def process() -> tuple[object, ...]:
    """What all threads share; but for the filters of warnings, which pandas saves and restores in nearly every call."""
    return sys.stdout, blas_threads(), csv.field_size_limit(), dict(mpl.rcParams), os.getcwd()


@pytest.mark.parametrize(("threads", "rounds"), [(4, 2), pytest.param(8, 10, marks=pytest.mark.slow)])
def test_threads_get_what_one_alone_gets_and_leave_nothing_changed(tmp_path, threads, rounds):
    contests().head(24).assign(rationale=LONG).to_csv(tmp_path / "calls.csv", index=False)
    with threadpool_limits(2, "blas"):
        alone = {number: one_round(tmp_path, number) for number in {0, min(4, rounds - 1)}}
        before = process()
        start = threading.Barrier(threads)

        def several(_: int) -> None:
            start.wait()
            for number in range(rounds):
                assert one_round(tmp_path, number) == alone[4 if number % 5 == 4 else 0]

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(several, range(threads)))
        assert process() == before
        assert set(blas_threads()) == {2}


def test_the_last_to_leave_restores_what_the_first_found():
    state = ["found"]

    def change(asked: list[str]):
        before, state[0] = state[0], "+".join(["changed", *asked])
        return lambda: state.__setitem__(0, before)

    shared = Shared(change)
    first, second, third = shared.held(), shared.held(), shared.held("asked")
    first.__enter__()
    second.__enter__()
    assert state == ["changed"]
    third.__enter__()
    first.__exit__(None, None, None)
    assert state == ["changed+asked"]
    third.__exit__(None, None, None)
    assert state == ["changed"]
    second.__exit__(None, None, None)
    assert state == ["found"]


def test_blas_gets_its_threads_back_in_whatever_order_the_fits_end():
    with threadpool_limits(2, "blas"):
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert set(blas_threads()) == {1}
        second.__exit__(None, None, None)
        assert set(blas_threads()) == {2}


def test_one_thread_at_a_time_ignores_warnings_and_none_leaves_the_filter_behind():
    before, shown, warn = [*warnings.filters], warnings.showwarning, warnings.warn
    inside: list[int] = []

    def ignoring(_: int) -> None:
        for _ in range(50):
            with warnings_ignored():
                inside.append(1)
                assert sum(inside) == 1
                warnings.warn("of a library", UserWarning, stacklevel=1)
                inside.pop()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(ignoring, range(4)))
    assert [*warnings.filters] == before
    assert (warnings.showwarning, warnings.warn) == (shown, warn)


def test_no_function_of_warnings_is_replaced_and_filters_change_under_one_lock_only():
    sources = {p: p.read_text(encoding="utf-8") for p in Path(js.__file__).parent.rglob("*.py")}
    for path, text in sources.items():
        changed = re.search(r"warnings\.(warn|showwarning)\s*=|filterwarnings|simplefilter|catch_warnings", text)
        assert changed is None or path.name == "threads.py", path


FORKED = """
import multiprocessing, sys, threading, time
import numba, numpy as np, pandas as pd, judgestats as js
from judgestats.kernels.compiling import njit
from judgestats.reporting.svg import MATPLOTLIB

rng = np.random.default_rng(0)
data = pd.DataFrame({"y": rng.integers(0, 2, 60), "item": np.repeat(np.arange(12).astype(str), 5)})

def fit():
    compiled = njit()(lambda x: x + 1)  # what the parent compiles is not finished when it forks
    assert compiled(1) == 2
    js.fit("y ~ 1 + (1|item)", data, family="binomial")
    with MATPLOTLIB:
        pass

def busy():
    while not stop.is_set():
        fit()

stop = threading.Event()
fit()
threads = [threading.Thread(target=busy, daemon=True) for _ in range(3)]
for thread in threads:
    thread.start()
context = multiprocessing.get_context("fork")
ended = []
for _ in range(int(sys.argv[1])):
    child = context.Process(target=fit)
    child.start()
    child.join(30)
    ended.append(child.exitcode)
    child.kill()
stop.set()
print(ended)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_process_forked_while_threads_fit_does_not_wait_for_them():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED, "2"], capture_output=True, text=True, check=True
    )
    assert done.stdout.split("\n")[-2] == str([0] * 2)


def test_no_kernel_runs_threads_of_its_own():
    """A parallel kernel would end the process: numba's own threads may neither be shared nor forked."""
    import importlib
    import pkgutil

    from judgestats import kernels
    from judgestats.kernels.compiling import Kernel

    found = pkgutil.iter_modules(kernels.__path__, f"{kernels.__name__}.")
    members = [member for module in found for member in vars(importlib.import_module(module.name)).values()]
    ours = {id(d): d for d in members if isinstance(d, Kernel)}.values()
    assert len(ours) > 40
    assert not [d for d in ours if d.targetoptions.get("parallel")]


def test_every_evaluation_of_a_fit_has_one_blas_thread(monkeypatch):
    seen = []
    original = LinearObjective.at

    def at(self, theta):
        seen.append(set(blas_threads()))
        return original(self, theta)

    monkeypatch.setattr(LinearObjective, "at", at)
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"judge": list("abcd") * 12, "item": [str(i) for i in range(12) for _ in "abcd"]})
    data["score"] = rng.normal(size=48) + data["item"].astype(int) / 4
    with threadpool_limits(2, "blas"):
        js.fit("score ~ judge + (1|item)", data, family="gaussian").tidy()
    assert len(seen) > 20
    assert all(threads == {1} for threads in seen)


def test_variance_components_are_fitted_with_one_blas_thread(monkeypatch):
    seen = []
    original = reml.likelihood

    def likelihood(data, ratio):
        seen.append(set(blas_threads()))
        return original(data, ratio)

    monkeypatch.setattr(reml, "likelihood", likelihood)
    rng = np.random.default_rng(0)
    one, two = np.divmod(np.arange(60), 5)
    with threadpool_limits(2, "blas"):
        reml.fitted(rng.normal(size=60) + one, [one, two])
    assert len(seen) > 10
    assert all(threads == {1} for threads in seen)
