"""Ratings of systems by judges, with holes and without, and how the tests of their measures read a result."""

from __future__ import annotations

import itertools
import math

import pandas as pd
from hypothesis import assume
from hypothesis import strategies as st

SCORES = st.one_of(st.integers(1, 10).map(float), st.floats(0, 1).map(lambda x: round(x, 3)), st.just(math.nan))


def frame(rows, columns=("judge", "system", "item", "criterion", "replicate", "score")):
    return pd.DataFrame(rows, columns=list(columns))


@st.composite
def unbalanced(draw, criteria=("c1", "c2")):
    """Ratings with holes, replicates and missing scores; judges a, b, c, of which a and b are systems too."""
    places = list(itertools.product("abc", "abx", "123", criteria, (0, 1)))
    kept = draw(st.lists(st.sampled_from(places), unique=True, min_size=2, max_size=50))
    scores = draw(st.lists(SCORES, min_size=len(kept), max_size=len(kept)))
    table = frame([(*p, s) for p, s in zip(kept, scores, strict=True)])
    assume(table["judge"].nunique() > 1)
    return table


def complete(rng, judges="abcd", systems="abcd", items="123456", runs=1):
    places = itertools.product(judges, systems, items, ["overall"], range(runs))
    return frame([(*p, s) for p, s in zip(places, rng.normal(6, 2, 10**5).tolist(), strict=False)])


def of(result, term, *keys):
    chosen = result[result["term"] == term]
    return chosen.set_index(list(keys) or ["judge"])


def same(left, right, tolerance=1e-12):
    pd.testing.assert_frame_equal(left, right, check_exact=False, rtol=0, atol=tolerance, check_dtype=False)
