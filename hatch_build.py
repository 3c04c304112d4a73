"""Build hook: a wheel or an sdist that is built from a clone says its commit."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FILE = "src/judgestats/_commit.txt"


class CommitHook(BuildHookInterface):
    """Put the commit into the build; an sdist carries it on to wheels that are built without git."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the file of the commit, unless this is an editable installation.

        It is written outside the clone: two builds may run there at once.
        """
        if version == "editable" or not (commit := self._commit()):
            return
        self._folder = tempfile.TemporaryDirectory()
        path = Path(self._folder.name, Path(FILE).name)
        path.write_text(f"{commit}\n")
        inside = FILE.removeprefix("src/") if self.target_name == "wheel" else FILE
        build_data["force_include"][str(path)] = inside

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Leave nothing behind."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()

    def _commit(self) -> str:
        if not Path(self.root, ".git").exists():
            return ""
        run = ["git", "-C", self.root]
        commit = subprocess.run([*run, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False)
        changed = subprocess.run([*run, "diff", "--quiet", "HEAD"], check=False).returncode
        return commit.stdout.strip() + (" with changes" if changed else "") if commit.returncode == 0 else ""
