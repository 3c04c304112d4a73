"""Parquet: texts that it stores once are codes."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from judgestats.ingest.files import File


def test_texts_that_parquet_stores_once_are_codes_until_the_frame_is_made(tmp_path: Path) -> None:
    table = pd.DataFrame({"judge": ["g", "", None, "h"] * 50, "item": [f"{i}" for i in range(200)], "n": range(200)})
    path = tmp_path / "t.parquet"
    table.to_parquet(path, row_group_size=30)
    coded, _ = File.of(path).coded_table
    assert coded["judge"].dtype == "category"
    plain = File.of(path).table()
    assert plain["judge"].dtype == "str"
    assert plain["judge"].isna().to_numpy().tolist() == [False, True, True, False] * 50
    assert plain["item"].tolist() == table["item"].tolist()
