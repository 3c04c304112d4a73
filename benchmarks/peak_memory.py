"""Peak memory of a call, as the system counts it (pages, so that Arrow's and numba's memory is in it)."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peak_megabytes(call: Callable[[], Any]) -> float:
    """Highest resident memory during the call over that before it, in MB. Linux; one call a process."""
    gc.collect()
    CLEAR.write_text("5")  # resets the high-water mark
    before = _status("VmRSS")
    call()
    return (_status("VmHWM") - before) / 1024


def _status(key: str) -> int:
    return int(STATUS.read_text().split(f"{key}:")[1].split()[0])
