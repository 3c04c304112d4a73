"""Fixtures shared by all tests."""

from __future__ import annotations

import gc
import os
from pathlib import Path

import pytest
from hypothesis import settings

# a first call compiles its kernel; the same examples on every machine
settings.register_profile("judgestats", deadline=None, derandomize=True)
settings.load_profile("judgestats")

REAL = os.environ.get("JUDGESTATS_REAL_DATA", "")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Compare pictures with their images where pytest-mpl is installed, unless it is asked to draw them anew."""
    if hasattr(config.option, "mpl") and not config.option.mpl_generate_path:
        config.option.mpl = True


# The collector would walk ten thousand collected tests again and again: it rests while they are collected, and then
# leaves them out.
gc.disable()


def pytest_collection_finish() -> None:
    """Put what was collected out of the garbage collector's sight, and let it look at the rest less often."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what needs the public verdicts where they are absent."""
    if REAL and Path(REAL).is_dir():
        return
    why = f"JUDGESTATS_REAL_DATA={REAL!r} is not a folder" if REAL else "JUDGESTATS_REAL_DATA is not set"
    skip = pytest.mark.skip(reason=f"real verdicts absent: {why}")
    for item in items:
        if "real" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Folder of the public verdicts."""
    return Path(REAL)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Folder of the published tables in the source tree."""
    return Path(__file__).parents[1] / "data"
