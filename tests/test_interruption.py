"""Ctrl-C during a read, a bootstrap, a fit or a page ends the process soon, and leaves no half of a file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

#: What each process does over and over, after it has said that it begins.
WORK = {
    "read": "js.read('calls.csv')",
    "bootstrap": "js.alpha(scores, level_of_measurement='interval', n_resamples=200_000)",
    "fit": "js.fit('score ~ judge + (1|item) + (1|system)', scores, family='cumulative')",
    "page": "js.report(js.read('calls.csv'), 'page.html', overwrite=True)",
}
SCRIPT = """
import numpy as np, pandas as pd
import judgestats as js
rng = np.random.default_rng(0)
scores = pd.DataFrame([(j, s, i) for j in "abcd" for s in "xyz" for i in range(200)], columns=["judge", "system", "item"])
scores["score"] = rng.integers(1, 6, len(scores))
calls = pd.DataFrame([(j, i, *o) for j in "gh" for i in range(5000) for o in ("xy", "yx")], columns=["judge", "item", "first", "second"])
calls.assign(choice=rng.choice(["first", "second", "tie"], len(calls))).to_csv("calls.csv", index=False)
print("begins", flush=True)
while True:
    {work}
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send to one process")
@pytest.mark.parametrize("work", WORK)
def test_ctrl_c_ends_it_within_ten_seconds_and_leaves_no_half_file(work, tmp_path):
    command = [sys.executable, "-c", SCRIPT.format(work=WORK[work])]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "begins\n"
        time.sleep(3)  # in the middle of it
        assert process.poll() is None, process.stderr.read()
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        error = process.communicate(timeout=10)[1]
        print(f"{work}: ended after {time.monotonic() - start:.2f} s")
    finally:
        process.kill()
        process.wait()
    assert process.returncode in (130, -signal.SIGINT), error
    assert "KeyboardInterrupt" in error
    assert {path.name for path in tmp_path.iterdir()} <= {"calls.csv", "page.html"}
    if (page := tmp_path / "page.html").exists():
        assert "</html>" in page.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT to send to one process")
def test_ctrl_c_in_a_command_leaves_no_page(tmp_path):
    rows = "".join(f"g,{i},x,y,first\ng,{i},y,x,second\n" for i in range(100_000))
    (tmp_path / "calls.csv").write_text(f"judge,item,first,second,choice\n{rows}")
    command = [sys.executable, "-m", "judgestats", "report", "calls.csv", "--out", "page.html"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        time.sleep(2)
        assert process.poll() is None, "it ended before it was interrupted: give it more calls"
        process.send_signal(signal.SIGINT)
        error = process.communicate(timeout=10)[1]
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, error
    assert "Traceback" not in error
    assert {path.name for path in tmp_path.iterdir()} <= {"calls.csv", "page.html"}
    if (page := tmp_path / "page.html").exists():
        assert "</html>" in page.read_text(encoding="utf-8")
