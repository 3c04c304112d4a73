"""Intraclass correlations cell by cell with pingouin, as its documentation says; and ratings for it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pingouin

KEYS = ["judge", "system", "item", "criterion"]
NAMES = {
    "ICC(1,1)": "ICC(1,1)",
    "ICC(A,1)": "ICC(2,1)",
    "ICC(C,1)": "ICC(3,1)",
    "ICC(1,k)": "ICC(1,k)",
    "ICC(A,k)": "ICC(2,k)",
    "ICC(C,k)": "ICC(3,k)",
    **{f"ICC{t}": f"ICC({t},1)" for t in "123"},
    **{f"ICC{t}k": f"ICC({t},k)" for t in "123"},
}


def made_ratings(
    kind: str, systems: int = 32, temperatures: int = 11, items: int = 100, judges: int = 3
) -> pd.DataFrame:
    """Whole scores of the paper's design, in random order; keys as objects, strings, categories or Arrow strings."""
    rng = np.random.default_rng(20)
    system, temperature, item, judge = (a.ravel() for a in np.indices((systems, temperatures, items, judges)))
    order = rng.permutation(system.size)
    system, temperature, item, judge = system[order], temperature[order], item[order], judge[order]
    quality = rng.normal(size=(systems, items))[system, item]
    score = np.clip(np.round(6 + quality + rng.normal(size=judges)[judge] + rng.normal(size=judge.size)), 1, 10)
    labels = {"judge": (judge, "judge"), "system": (system, "model"), "item": (item, "prompt")}
    columns = {k: np.array([f"{name}-{i:03d}" for i in range(100)], dtype=object)[c] for k, (c, name) in labels.items()}
    frame = pd.DataFrame({**columns, "criterion": "overall", "temperature": temperature / 10, "score": score})
    dtype = {"objects": object, "strings": "str", "categories": "category", "arrow": "string[pyarrow]"}[kind]
    return frame.astype(dict.fromkeys(KEYS, dtype))


def some_cells(ratings: pd.DataFrame, cells: int) -> pd.DataFrame:
    """Rows of the first cells of system x temperature, as a frame of its own."""
    keys = ratings[["system", "temperature"]].astype({"system": str})
    first = keys.drop_duplicates().sort_values(["system", "temperature"]).head(cells)
    kept = ratings[pd.MultiIndex.from_frame(keys).isin(pd.MultiIndex.from_frame(first))].reset_index(drop=True)
    used = [c for c in KEYS if isinstance(kept[c].dtype, pd.CategoricalDtype)]
    return kept.assign(**{c: kept[c].cat.remove_unused_categories() for c in used})


def icc(ratings: pd.DataFrame) -> pd.DataFrame:
    """All six forms of every cell of system x temperature."""
    parts = []
    for (system, temperature), cell in ratings.groupby(["system", "temperature"], observed=True):
        result = pingouin.intraclass_corr(cell, targets="item", raters="judge", ratings="score")
        parts.append(result.assign(system=system, temperature=temperature, term=result["Type"].map(NAMES)))
    return pd.concat(parts, ignore_index=True)
