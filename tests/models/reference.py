"""Stored results of R's mixed-model packages and the data they were computed from (tests/reference/models)."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

FOLDER = Path(__file__).parents[1] / "reference" / "models"
LARGER = "JUDGESTATS_REFERENCE_DATA"  # names the folder of verbagg.csv and grouseticks.csv, which are not copied here

# factors and the order of their levels in R (None: sorted, numbers by size); the first level is the reference
LEVELS: dict[str, dict[str, list[str] | None]] = {
    "cbpp": {"herd": None, "period": None},
    "sleepstudy": {"Subject": None},
    "penicillin": {"plate": None, "sample": None},
    "wine": {"temp": None, "contact": None, "bottle": None, "judge": None},
    "housing": {
        "Sat": ["Low", "Medium", "High"],
        "Infl": ["Low", "Medium", "High"],
        "Type": ["Tower", "Apartment", "Atrium", "Terrace"],
        "Cont": ["Low", "High"],
    },
    "scores": dict.fromkeys(("judge", "item", "topic", "strategy")),
    "verbagg": dict.fromkeys(("Gender", "item", "id", "btype", "situ", "mode", "r2")),
    "grouseticks": dict.fromkeys(("INDEX", "BROOD", "YEAR", "LOCATION")),
}


def results(name: str, **equal: str) -> pd.DataFrame:
    """Rows of one stored table (`fits`, `vcov`, `emmeans`, `tests`, `confint`, `predict`, `margins`) with these values."""
    text = dict.fromkeys(("term", "level", "group", "method", "row", "column"), str)
    table = pd.read_csv(FOLDER / f"{name}.csv", comment="#", dtype=text)
    for column, value in equal.items():
        table = table[table[column] == value]
    assert len(table), f"no stored result: {name} {equal}"
    return table.reset_index(drop=True)


def value(name: str, column: str = "estimate", **equal: str) -> float:
    """One cell of a stored table: exactly one row may match."""
    rows = results(name, **equal)
    assert len(rows) == 1, f"{len(rows)} rows: {name} {equal}"
    return float(rows[column].iloc[0])


def spelled(term: str, factors: list[str]) -> str:
    """R's name of a coefficient in the package's spelling: `tempwarm:contactyes` is `temp[warm]:contact[yes]`."""
    if term == "(Intercept)":
        return "Intercept"
    parts = []
    for part in term.split(":"):
        factor = next((f for f in sorted(factors, key=len, reverse=True) if part.startswith(f) and part != f), None)
        parts.append(part if factor is None else f"{factor}[{part[len(factor) :]}]")
    return ":".join(parts)


def data(name: str) -> pd.DataFrame:
    """One data set, its factors categorical in R's order; `wine` has `high` and `row`, `cbpp` has `obs`.

    `wine_unbalanced` is `wine` without rows 1, 6, 11, ... (larger ones are skipped where their folder is not named)."""
    source = "wine" if name == "wine_unbalanced" else name
    table = pd.read_csv(_path(source), dtype=dict.fromkeys(LEVELS[source], str))
    for column, levels in LEVELS[source].items():
        table[column] = pd.Categorical(table[column], levels or _sorted(table[column]), ordered=column == "Sat")
    if source == "cbpp":
        table["obs"] = pd.Categorical(
            [str(i) for i in range(1, len(table) + 1)], [str(i) for i in range(1, len(table) + 1)]
        )
    if source == "wine":
        table["high"] = (table["rating"] > 2).astype(int)
        table["row"] = np.arange(1, len(table) + 1)
    if name == "wine_unbalanced":
        table = table[table["row"] % 5 != 1].reset_index(drop=True)
    if source == "verbagg":
        table["y"] = (table["r2"] == "Y").astype(int)
    return table


def _path(name: str) -> Path:
    """File of a data set; skips the test where a larger one is absent."""
    small = FOLDER / f"{name}.csv"
    if small.exists():
        return small
    larger = Path(os.environ.get(LARGER, "")) / f"{name}.csv"
    if not larger.exists():
        pytest.skip(f"{LARGER} does not name a folder with {name}.csv")
    return larger


def _sorted(values: pd.Series) -> list[str]:
    """Levels as R's factor() orders them: numbers by size, words by code point."""
    levels = values.unique().tolist()
    return sorted(levels, key=lambda v: (float(v), v) if v.replace(".", "", 1).isdigit() else (0.0, v))
