"""Peak memory of ours and of the pandas peer, each in a process of its own: ``python benchmarks/memory.py``.

Memory is counted as the system counts it (pages), so that Arrow's and numba's is in it. Linux only.
"""

from __future__ import annotations

import gc
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import peer_bootstrap
import peer_consensus
import peer_delta0

from judgestats import consensus_deviation, delta0, preference_rate

TASKS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[[bool], Any]]] = {
    "Δ0 of 1,000,000 calls": (delta0, peer_delta0.delta0, lambda c: peer_delta0.made_calls(categories=c)),
    "consensus deviation of 1,000,000 ratings": (
        consensus_deviation,
        peer_consensus.consensus_deviation,
        lambda c: peer_consensus.made_ratings(categories=c),
    ),
}


#: The two-way bootstrap of 1,000,000 calls (100,000 items, 10 judges): ours alone.
TWO_WAY = "two-way bootstrap of 1,000,000 calls, B = 2000"


def two_way(calls: Any) -> Any:
    """Win rate of one candidate, items and judges both drawn."""
    calls = calls.drop(columns="judge").assign(judge="all")
    return preference_rate(calls, of="a", cluster=["item", "rater"], interval="percentile")


def crossed_calls() -> Any:
    """Every judge on every item, once."""
    calls = peer_bootstrap.made_calls(1_000_000, 1000, 10)
    return calls.assign(item=[f"item-{i // 10:06d}" for i in range(len(calls))], rater=calls["judge"])


def peak_megabytes(call: Callable[[], Any]) -> float:
    """Highest resident memory during the call over that before it, in MB."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # resets the high-water mark
    before = _status("VmRSS")
    call()
    return (_status("VmHWM") - before) / 1024


def _status(key: str) -> int:
    return int(Path("/proc/self/status").read_text().split(f"{key}:")[1].split()[0])


def _one(task: str, who: str, kind: str) -> None:
    if task == TWO_WAY:
        calls = crossed_calls()
        two_way(calls.head(2000))
        print(peak_megabytes(lambda: two_way(calls)))
        return
    ours, peer, made = TASKS[task]
    function = ours if who == "ours" else peer
    data = made(kind == "categories")
    function(data.head(2000))  # compile
    print(peak_megabytes(lambda: function(data)))


def main() -> None:
    """Print the median of five processes for each task, kind of column and side."""
    for task in TASKS:
        for kind in ("strings", "categories"):
            peak = {}
            for who in ("ours", "peer"):
                command = [sys.executable, __file__, task, who, kind]
                runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(5)]
                peak[who] = statistics.median(float(r.stdout) for r in runs)
            ours, peer = peak["ours"], peak["peer"]
            print(f"{task}, {kind}: {ours:.0f} MB against {peer:.0f} MB ({ours / peer:.2f})")
    run = subprocess.run([sys.executable, __file__, TWO_WAY, "ours", ""], capture_output=True, text=True, check=True)
    print(f"{TWO_WAY}: {float(run.stdout):.0f} MB")


if __name__ == "__main__":
    _one(*sys.argv[1:]) if len(sys.argv) > 1 else main()
