"""Data that tests of several measures share."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from instrument import instrument_calls
from metrics.tables import read


@pytest.fixture(scope="module")
def calls() -> pd.DataFrame:
    """The calls of one judge on vacuum, equal pairs, a ladder and filler."""
    return instrument_calls()


@pytest.fixture(scope="module")
def printed_means(data_folder: Path) -> pd.DataFrame:
    """Means, standard deviations and numbers of runs that a paper prints for each judge and system."""
    tables = pd.concat([read(data_folder, f"table{i}") for i in range(1, 11)], ignore_index=True)
    return tables.astype({"mean": float, "sd": float, "runs": float})
