"""The results of every measure on the data of the test registry, written to a file or compared with one.

python benchmarks/same_results.py --out before.pkl       # before a restructuring
python benchmarks/same_results.py --against before.pkl   # after it: what differs by more than 1e-9, relative
"""

from __future__ import annotations

import argparse
import pickle
import sys
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import judgestats as js
from registry import registry


def results() -> dict[str, pd.DataFrame]:
    """Name -> result, of measures and of some models."""
    found = {name: measure.call(measure.data()) for name, measure in registry().items()}
    rng = np.random.default_rng(0)
    data = pd.DataFrame([(j, i) for j in "abcd" for i in range(60)], columns=["judge", "item"])
    item = rng.normal(size=60)
    data["score"] = item[data["item"]] + (data["judge"] == "a") + rng.normal(size=len(data))
    data["correct"] = (data["score"] + rng.logistic(size=len(data)) > 0).astype(int)
    data["level"] = pd.cut(data["score"], [-9, -1, 0, 1, 9], labels=["1", "2", "3", "4"])
    for family, answer in (("gaussian", "score"), ("binomial", "correct"), ("cumulative", "level")):
        fit = js.fit(f"{answer} ~ judge + (1|item)", data, family=family)
        for verb in ("tidy", "glance", "random_effects", "variance_components", "check"):
            found[f"{family}.{verb}"] = getattr(fit, verb)()
        found[f"{family}.contrasts"] = fit.contrasts("judge")
    found["audit"] = js.audit("dark_current")
    return found


def different(one: pd.DataFrame, other: pd.DataFrame, aside: str = "") -> str:
    """What differs, in words; empty where nothing does."""
    try:
        one, other = (f.drop(columns=aside, errors="ignore") for f in (one, other))
        pd.testing.assert_frame_equal(one, other, rtol=1e-9, atol=1e-12)
    except AssertionError as error:
        return " ".join(str(error).split())[:200]
    return ""


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--out", type=Path)
    group.add_argument("--against", type=Path)
    parser.add_argument("--but", default="", help="a column that may differ (flag)")
    asked = parser.parse_args()
    now = results()
    if asked.out:
        asked.out.write_bytes(pickle.dumps(now))
        print(f"{len(now)} results in {asked.out}")
    else:
        before = pickle.loads(asked.against.read_bytes())
        gone = sorted(before.keys() ^ now.keys())
        odd = {
            name: told
            for name in sorted(before.keys() & now.keys())
            if (told := different(before[name], now[name], asked.but))
        }
        for name, told in odd.items():
            print(f"{name}: {told}")
        print(
            f"{len(before)} results before, {len(now)} now; {len(odd)} differ; in one only: {', '.join(gone) or 'none'}"
        )
        sys.exit(bool(odd or gone))
