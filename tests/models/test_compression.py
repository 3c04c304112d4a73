from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgestats.kernels.laplace import Laplace
from judgestats.models.designs import design
from judgestats.models.likelihood import compression
from judgestats.models.likelihood.compression import compress, distinct
from judgestats.models.likelihood.objectives import laplace
from judgestats.models.thresholds import NONE


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 1)), min_size=1, max_size=50))
def test_distinct_rows_and_their_inverse(rows):
    key = np.array(rows, float)
    first, inverse = distinct(key)
    assert (key[first][inverse] == key).all()
    assert len(first) == len(set(rows))
    assert (np.diff(first) > 0).all()


def test_two_rows_with_one_hash_stay_two(monkeypatch):
    monkeypatch.setattr(compression, "_mixed", lambda key: np.zeros(len(key), np.uint64))
    first, inverse = distinct(np.array([[1.0], [2.0], [1.0]]))
    assert len(first) == 2
    assert inverse[0] == inverse[2] != inverse[1]


def grouped_rows(seed: int, groups: int, size: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    g = rng.integers(0, groups, size)
    return pd.DataFrame(
        {"y": rng.integers(0, 2, size), "x": rng.integers(0, 2, size), "g": g, "h": rng.integers(0, 3, size)}
    )


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(2, 40), st.sampled_from(["(1|g)", "(x|g)", "(1|g) + (0 + x|g)"]))
def test_the_objective_does_not_see_the_compression(seed, groups, random):
    frame = grouped_rows(seed, groups, 120)
    if frame["x"].nunique() < 2 or frame["g"].nunique() < 2 or frame["y"].nunique() < 2:
        return
    d = design(f"y ~ x + {random}", frame, family="binomial")
    part = np.zeros(len(d.y), np.int64)
    params = np.concatenate(
        [[0.2, -0.3], [0.8, 0.3, 0.5][: 1 if random == "(1|g)" else 2 if "||" in random or "+ (" in random else 3]]
    )
    values = [laplace(compress(d, part, groups=g), 0, NONE)(params) for g in (True, False)]
    assert values[0][0] == pytest.approx(values[1][0], rel=1e-10)
    assert values[0][1] == pytest.approx(values[1][1], rel=1e-6, abs=1e-7)


def test_cost_follows_the_number_of_patterns():
    frame = pd.DataFrame({"g": np.repeat(np.arange(500), 4), "x": 1.0})
    frame["y"] = (np.arange(2000) * 7919 % 2000 < 900).astype(int)
    d = design("y ~ 1 + (1|g)", frame, family="binomial")
    table = compress(d, np.zeros(len(d.y), np.int64))
    assert len(table.y) <= 5  # 0 to 4 successes of 4
    assert table.times @ table.m == 2000
    assert table.often.sum() == 500
    target = laplace(table, 0, NONE)
    assert isinstance(target.kernel, Laplace)
    assert target.kernel.layout.q == len(table.y)
