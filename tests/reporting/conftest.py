"""Chromium, and what it makes of a page; the first screen alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
def rendered(chromium: str, tmp_path: Path) -> Callable[..., str]:
    """Return a function: page, and further flags of Chromium -> its document after Chromium has run it."""

    def dump(page: Path, *flags: str) -> str:
        command = [
            chromium,
            *_FLAGS,
            *flags,
            f"--user-data-dir={tmp_path / 'chromium'}",
            "--virtual-time-budget=3000",
            "--dump-dom",
        ]
        done = subprocess.run(
            [*command, page.resolve().as_uri()], capture_output=True, text=True, timeout=120, check=True
        )
        return done.stdout

    return dump


_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
#: Where ``.ci/run`` puts axe-core, which npm has and PyPI has not.
_AXE = Path(__file__).parents[2] / "build" / "axe" / "node_modules" / "axe-core" / "axe.min.js"


@pytest.fixture
def probed(rendered: Callable[..., str]) -> Callable[..., Any]:
    """Return a function: page, the body of an async function, and flags -> what the function returns in that page."""

    def probe(page: Path, script: str, *flags: str) -> Any:
        source, n = _POLICY.subn("", page.read_text(encoding="utf-8"))
        assert n == 1
        told = "const e = document.createElement('pre'); e.id = 'told'; e.textContent = JSON.stringify(r); "
        run = f"<script>(async () => {{ {script} }})().then((r) => {{ {told} document.body.append(e); }})</script>"
        page = page.with_name(f"probed-{page.name}")
        page.write_text(source.replace("</body>", f"{run}</body>"), encoding="utf-8")
        found = re.search(r'<pre id="told">(.*?)</pre>', rendered(page, *flags), flags=re.DOTALL)
        assert found, "the script did not end"
        return json.loads(found.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))

    return probe


@pytest.fixture(scope="session")
def axe() -> str:
    """Source of axe-core; the test is skipped where it is not installed, but not in CI."""
    path = Path(os.environ.get("JUDGESTATS_AXE", _AXE))
    if not path.exists():
        if os.environ.get("JUDGESTATS_REQUIRE_AXE"):
            pytest.fail(f"axe-core is required here, and is not at {path}")
        pytest.skip("axe-core is not installed: npm install --prefix build/axe axe-core")
    return path.read_text(encoding="utf-8")
