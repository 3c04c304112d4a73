from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numba
import pytest

from judgestats.kernels import compiling

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
    return set(done.stdout.splitlines()[-1].split()) - {"likelihoods.<lambda>"}


@pytest.mark.slow
def test_a_logit_with_one_intercept_compiles_neither_probit_nor_thresholds(tmp_path):
    assert compiled(FIRST_FIT, tmp_path) == {
        "likelihoods._logit_row",
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
