from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numba
import numpy as np
import pytest

from judgestats.kernels import compiling, decomposition, deviation, proportions, resampling, variance
from judgestats.kernels.compiling import TwoForms

UNWRITABLE = """
import pathlib, sys
import numba.core.caching as caching

writable, plain = sys.argv[1:], caching._CacheLocator.ensure_cache_path

def ensure(self):  # as in a package and a home that are read-only
    if not any(pathlib.Path(self.get_cache_path()).is_relative_to(w) for w in writable):
        raise PermissionError(30, "Read-only file system")
    plain(self)

caching._CacheLocator.ensure_cache_path = ensure
"""
FIRST_FIT = """
import numpy as np, pandas as pd, judgestats as js
rng = np.random.default_rng(0)
data = pd.DataFrame({"y": rng.integers(0, 2, 60), "item": np.repeat(np.arange(12).astype(str), 5)})
print(js.fit("y ~ 1 + (1|item)", data, family="binomial").loglik)
"""


def first_fit(temporary: Path, *writable: Path) -> float:
    """A first fit in a process that may write compiled code below the given folders alone."""
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"} | {"TMPDIR": str(temporary)}
    command = [sys.executable, "-c", UNWRITABLE + FIRST_FIT, *map(str, writable)]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return float(done.stdout)


@pytest.mark.slow
def test_where_nothing_is_writable_a_users_own_temporary_folder_is_the_cache(tmp_path):
    loglik = first_fit(tmp_path, tmp_path)
    (folder,) = tmp_path.glob("judgestats-numba*")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert list(folder.rglob("quadrature*.nbi"))
    before = {p: p.stat().st_mtime_ns for p in folder.rglob("quadrature*.nbc")}
    assert first_fit(tmp_path, tmp_path) == loglik
    assert {p: p.stat().st_mtime_ns for p in folder.rglob("quadrature*.nbc")} == before  # it was read


@pytest.mark.slow
def test_without_a_temporary_folder_there_is_no_cache_and_the_fit_is_the_same(tmp_path):
    assert first_fit(tmp_path) == pytest.approx(first_fit(tmp_path, tmp_path), abs=1e-12)


def test_a_folder_that_others_may_write_to_is_not_trusted(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = compiling.temporary_folder()
    assert folder is not None
    folder.chmod(0o777)
    assert compiling.temporary_folder() is None
    folder.rmdir()
    folder.symlink_to(tmp_path)
    assert compiling.temporary_folder() is None


def test_a_system_without_owners_has_a_folder_for_its_user(tmp_path, monkeypatch):
    """Windows: temporary files are a user's own, and the mode of a folder says nothing."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delattr(os, "getuid", raising=False)
    (tmp_path / "judgestats-numba").mkdir()
    (tmp_path / "judgestats-numba").chmod(0o777)
    assert compiling.temporary_folder() == tmp_path / "judgestats-numba"


def test_a_cache_folder_that_was_given_is_left_as_it_was(monkeypatch):
    given = numba.config.CACHE_DIR
    monkeypatch.setattr(compiling, "temporary_folder", lambda: None)
    namespace: dict[str, object] = {}
    exec(compile("def double(x):\n    return 2 * x\n", "<nowhere>", "exec"), namespace)  # no source: no locator
    assert compiling.njit(cache=True)(namespace["double"])(2) == 4
    assert given == numba.config.CACHE_DIR


def test_other_errors_of_the_compiler_are_not_hidden():
    with pytest.raises(TypeError):
        compiling.njit(cache=True)(3)


COMPILED = """
import gc
from numba.core.dispatcher import Dispatcher
own = [d for d in gc.get_objects() if isinstance(d, Dispatcher) and d.overloads and "judgestats" in d.__module__]
print(*sorted({f"{d.__module__.rsplit('.', 1)[1]}.{d.__name__}" for d in own}))
"""
TWO_TERMS = FIRST_FIT.replace("5)})", '5), "judge": np.tile([*"abcde"], 12)})').replace(
    "(1|item)", "(1|item) + (1|judge)"
)


def compiled(code: str, folder: Path) -> set[str]:
    """Functions of ours that a process compiled, its cache empty."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", code + COMPILED], env=environment, check=True, capture_output=True, text=True
    )
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.slow
def test_a_logit_with_one_intercept_compiles_neither_probit_nor_thresholds(tmp_path):
    assert compiled(FIRST_FIT, tmp_path) == {
        *(f"likelihoods.{name}" for name in ("_logit_row", "loss_of_row", "no_threshold", "without_thresholds")),
        *(f"quadrature.{name}" for name in ("_fall", "_group_mode", "_reach", "_sweep", "_trapezoid")),
    }


def test_a_logit_with_two_crossed_intercepts_compiles_nothing(tmp_path):
    assert "(1|item) + (1|judge)" in TWO_TERMS
    assert compiled(TWO_TERMS, tmp_path) == set()


DOUBLE = "from judgestats.kernels.compiling import njit\n\n@njit(cache=True)\ndef double(x):\n    return 2 * x\n"


def doubled(folder: Path, before: str = "") -> str:
    """What a module of a folder gives in a process of its own, its cache beside it."""
    (folder / "module_of_a_test.py").write_text(DOUBLE)
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    code = (
        f"import sys; sys.path.insert(0, {str(folder)!r})\n{before}\nimport module_of_a_test as m; print(m.double(21))"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment, check=False, capture_output=True, text=True)
    return done.stdout + done.stderr


def test_a_full_disk_costs_the_cache_and_nothing_else(tmp_path):
    full = """
from numba.core.caching import IndexDataCacheFile
def save(*_):
    raise OSError(28, "No space left on device")
IndexDataCacheFile.save = save
"""
    assert doubled(tmp_path, full) == "42\n"


@pytest.mark.slow
def test_a_damaged_cache_is_no_cache(tmp_path):
    assert doubled(tmp_path) == "42\n"
    kept = [p for p in (tmp_path / "__pycache__").iterdir() if p.suffix in (".nbi", ".nbc")]
    assert len(kept) == 2
    for content in (b"", b"damaged"):
        for path in kept:
            path.write_bytes(content)
        assert doubled(tmp_path) == "42\n"


def draws() -> np.random.Generator:
    return np.random.default_rng(51)


N, CELLS, RNG = 5000, 400, draws()
UNIT, CELL = (RNG.integers(0, CELLS, N).astype(np.int32) for _ in range(2))
SCORE = np.where(RNG.random(N) < 0.05, np.nan, RNG.normal(7, 2, N))
WEIGHT = RNG.integers(1, 9, N)
SHARES = RNG.integers(0, 30, N).astype(float), RNG.integers(0, 30, N).astype(float)
DF = np.arange(2.0, 52)[:, None]
ANSWERS = RNG.integers(0, 5, (2, N)).astype(np.int8)
COUNTS = RNG.normal(3, 1, (1100, 7))
UNITS = deviation.UnitValues(UNIT, CELL, SCORE, WEIGHT.astype(float))
MEANS = deviation.PairMeans(np.arange(CELLS) % 5, RNG.normal(size=CELLS), RNG.integers(0, 3, CELLS).astype(float))
#: Kernels of two forms -> a call that goes through them, and whether the two forms give the same to the last bit.
CALLS = {
    ("CELL_MEANS",): (lambda: vars(deviation.cell_means(UNIT, SCORE, WEIGHT, CELLS)), False),
    ("CONSENSUS",): (lambda: vars(deviation.consensus(CELL, SCORE, CELLS)), True),
    ("CONSENSUS", "with oneself"): (lambda: vars(deviation.consensus(CELL, SCORE, CELLS, exclude_self=False)), True),
    ("WEIGHTED_SUMS",): (lambda: deviation.weighted_means(UNIT, SCORE, WEIGHT.astype(float), CELLS), True),
    ("CLUSTER_SCORES",): (lambda: deviation.cluster_scores(UNITS, MEANS, np.arange(CELLS) % 40, 5, 40), True),
    ("TWO_WAY_SUMS",): (
        lambda: vars(variance.mean_squares(np.nan_to_num(SCORE, nan=5.0).reshape(-1, 10), np.array([0, 7, 200]))),
        False,
    ),
    ("WILSON",): (lambda: proportions.wilson(*SHARES), True),
    ("WILSON", "by t"): (lambda: proportions.wilson(*SHARES, df=np.arange(2.0, N + 2)), True),
    ("WILSON", "a table"): (lambda: proportions.wilson(SHARES[0].reshape(50, -1), np.full((1, 100), 29.0)), True),
    ("WILSON", "of rows"): (lambda: proportions.wilson(*(x.reshape(50, -1) for x in SHARES), df=DF), True),
    ("MATCHED",): (lambda: vars(decomposition.pair_orders(UNIT, WEIGHT > 4, ANSWERS[0] % 4, CELLS)), True),
    ("CLASSES",): (lambda: vars(decomposition.decompose(*ANSWERS, WEIGHT.astype(float), UNIT, CELLS)), True),
    ("TIMES",): (lambda: [resampling.times_drawn(draws(), 1100, 50), draws().random()], True),
    ("TIMES", "of kinds"): (lambda: [resampling.times_drawn(draws(), N, 50, UNIT, CELLS)], True),
    ("TOTALS",): (lambda: [resampling.resampled_totals(COUNTS, draws(), 100)], False),
    ("TOTALS", "whole"): (lambda: [resampling.cluster_totals(np.rint(4 * COUNTS), draws(), 100)], True),
    ("TWO_WAY",): (lambda: [resampling.two_way_totals(UNIT, CELL, SHARES[0][:, None], draws(), 60)], True),
}
MODULES = (decomposition, deviation, proportions, resampling, variance)
TWO_FORMS = {name: x for module in MODULES for name, x in vars(module).items() if isinstance(x, TwoForms)}


def test_each_kernel_of_two_forms_has_a_call():
    assert {name for name, *_ in CALLS} == set(TWO_FORMS)


@pytest.mark.parametrize("case", CALLS, ids=" ".join)
def test_both_forms_of_a_kernel_give_the_same(case, monkeypatch):
    call, exactly = CALLS[case]
    results = []
    for least in (10**9, 0):
        monkeypatch.setattr(compiling, "COMPILED_FROM", least)
        results.append(call())
    for one, other in zip(*(x.values() if isinstance(x, dict) else x for x in results), strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(one, other, rtol=0 if exactly else 1e-12, atol=0)


def test_the_number_of_rows_decides(monkeypatch):
    forms = TwoForms(lambda: "NumPy", lambda: "compiled")
    assert [forms.of(n)() for n in (0, 999, 1000, 10**6)] == ["NumPy", "NumPy", "compiled", "compiled"]


#: What a user computes -> the call on tables of so many items, and the compiled kernels that it goes through.
ORDINARY = {
    "consensus deviation": ("js.consensus_deviation(ratings(n))", {"_consensus", "_weighted_sums", "_cluster_scores"}),
    "of several runs": ("js.consensus_deviation(pd.concat([ratings(n), ratings(n)]))", {"_cell_means", "_consensus"}),
    "ICC": ("js.icc(ratings(n))", {"_two_way_sums"}),
    "Wilson's intervals": ("js.preference_rate(pairs(n // 2), by='item', cluster=False)", {"_wilson_ends"}),
    "Δ0": ("js.delta0(pairs(n))", {"_matched"}),
    "Δ0 with clusters": ("js.delta0(pairs(n), cluster='item')", {"_matched", "_classes"}),
    "bootstrap": (
        "js.gold_agreement(pairs(10 * n), cluster='task', interval='percentile', n_resamples=200)",
        {"_totals"},
    ),
    "bootstrap of two clusters": (
        "js.preference_rate(pairs(n), cluster=['item', 'judge'], interval='percentile', n_resamples=20)",
        {"_times", "_two_way"},
    ),
}
TABLES = """
import sys
import numpy as np, pandas as pd, judgestats as js

def ratings(n):
    judge, item = (x.ravel() for x in np.indices((3, n)))
    score = np.random.default_rng(1).integers(1, 6, judge.size)
    return pd.DataFrame({"judge": judge.astype(str), "item": item.astype(str), "system": "s", "score": score})

def pairs(n):
    item, order = (x.ravel() for x in np.indices((n, 2)))
    rng = np.random.default_rng(2)
    return pd.DataFrame({
        "judge": rng.choice(["a", "b"], n)[item], "item": item.astype(str), "task": (item // 10).astype(str),
        "first": np.where(order, "y", "x"), "second": np.where(order, "x", "y"), "stimulus": "same_subset",
        "choice": rng.choice(["first", "second", "tie"], 2 * n), "gold": rng.choice(["x", "y"], n)[item],
    })

CALLED = set()

def called():
    names = {*CALLED}
    CALLED.clear()
    return names

from judgestats.kernels.compiling import Kernel
call = Kernel.__call__
Kernel.__call__ = lambda self, *arguments: (CALLED.add(self.__name__), call(self, *arguments))[1]
"""


@pytest.fixture(scope="module")
def loaded():
    """What few rows load, and what many rows compile: a line for each call."""
    few = [f"n = 30; {call}; print('numba' in sys.modules)" for call, _ in ORDINARY.values()]
    many = [f"n = 2500; {call}; print('numba' in sys.modules, *called())" for call, _ in ORDINARY.values()]
    whole = "n = 600; js.describe(pairs(n)); js.available_measures(pairs(n)); print('numba' in sys.modules)"
    code = "\n".join([TABLES, *few, whole, *many])
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    calls = dict(zip(ORDINARY, zip(lines[: len(few)], lines[-len(many) :], strict=True), strict=True))
    return calls | {"what can be measured": (lines[len(few)],)}


@pytest.mark.parametrize("use", ORDINARY)
def test_few_rows_load_no_numba_and_many_are_computed_by_the_compiled_kernels(use, loaded):
    few, many = loaded[use]
    assert few == ["False"]
    assert many[0] == "True"
    assert ORDINARY[use][1] <= set(many[1:])


def test_what_data_are_and_support_is_said_without_numba(loaded):
    assert loaded["what can be measured"] == (["False"],)


def test_no_two_functions_that_are_compiled_have_one_name():
    """numba links stored code by name and types: of two functions of one name another process calls either."""
    names: list[tuple[str, str]] = []
    for file in sorted(Path(compiling.__file__).parent.glob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for function in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)):
            decorators = " ".join(map(ast.unparse, function.decorator_list))
            if "overload" in decorators:
                assert not any(isinstance(n, ast.Lambda) for n in ast.walk(function)), (
                    f"{file.name}: a lambda is compiled"
                )
                nested = [n for n in ast.walk(function) if isinstance(n, ast.FunctionDef) and n is not function]
                names += [(file.name, n.name) for n in nested]
            elif "njit" in decorators:
                names.append((file.name, function.name))
    assert len(names) > 50
    assert len(names) == len(set(names))
