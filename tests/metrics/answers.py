"""Random answers of two judges in both orders, and one column of a result by term."""

from __future__ import annotations

from itertools import product

import pandas as pd
from hypothesis import strategies as st


def pick(result: pd.DataFrame, column: str = "estimate") -> dict[str, float]:
    return dict(zip(result["term"], result[column], strict=True))


CELLS = list(product("gh", "123", ("xy", "yx"), (0, 1), "st"))


random_answers = st.lists(
    st.sampled_from(["first", "second", "tie", "abstain", "invalid", None]), min_size=len(CELLS), max_size=len(CELLS)
).filter(lambda answers: all(any(answers[i : i + len(CELLS) // 2]) for i in (0, len(CELLS) // 2)))


def random_calls(answers: list[str | None]) -> pd.DataFrame:
    rows = [(j, i, a, b, r, s) for j, i, (a, b), r, s in CELLS]
    calls = pd.DataFrame(rows, columns=["judge", "item", "first", "second", "replicate", "strategy"])
    calls = calls.assign(choice=answers, gold=calls["item"].map({"1": "x", "2": "y", "3": "tie"}))
    return calls[calls["choice"].notna()]
