"""Chromium, and what it makes of a page."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of a Chromium; the test is skipped where there is none."""
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium is installed")
    return found


@pytest.fixture
def rendered(chromium: str, tmp_path: Path) -> Callable[[Path], str]:
    """Return a function: page -> its document after Chromium has run it."""

    def dump(page: Path) -> str:
        command = [
            chromium,
            *_FLAGS,
            f"--user-data-dir={tmp_path / 'chromium'}",
            "--virtual-time-budget=3000",
            "--dump-dom",
        ]
        done = subprocess.run(
            [*command, page.resolve().as_uri()], capture_output=True, text=True, timeout=120, check=True
        )
        return done.stdout

    return dump
