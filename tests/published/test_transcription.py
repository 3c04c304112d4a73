"""The published tables: two independent passes, cell by cell; the package that describes them; where they are found."""

import json
from pathlib import Path

import pandas as pd
import pytest

from judgestats import published
from judgestats.errors import AuditError

SECOND = Path(__file__).parents[1] / "second_pass"
NAMES = sorted(published.tables()["name"])


@pytest.mark.parametrize("name", NAMES)
def test_two_passes_agree_cell_by_cell(name):
    second = pd.read_csv(SECOND / f"{name}.csv", dtype=str, keep_default_na=False)
    first = published.load(name, printed=True)
    kept = ["id", "printed"] if name.endswith("/claims") else list(first.columns)  # the rest of a claim is our words
    pd.testing.assert_frame_equal(first[kept], second)


def test_every_second_pass_has_a_first():
    assert sorted(str(p.relative_to(SECOND).with_suffix("")) for p in SECOND.rglob("*.csv")) == NAMES


def test_every_table_of_both_papers_is_there():
    assert {f"merchant_risk/table{i}" for i in range(1, 11)} <= set(NAMES)
    assert {f"dark_current/table{i}" for i in range(1, 8)} <= set(NAMES)
    assert {"merchant_risk/human_panel", "merchant_risk/picks", "merchant_risk/figure2"} <= set(NAMES)


def test_datapackage_describes_each_column(data_folder):
    package = json.loads((data_folder / "datapackage.json").read_text(encoding="utf-8"))
    assert sorted(r["path"] for r in package["resources"]) == sorted(
        str(p.relative_to(data_folder)) for p in data_folder.rglob("*.csv")
    )
    for resource in package["resources"]:
        fields = [f["name"] for f in resource["schema"]["fields"]]
        assert fields == list(published.load(resource["name"], printed=True).columns)
        assert resource["sources"]
        assert all(f["type"] and f["description"] for f in resource["schema"]["fields"])


def test_load_keeps_the_printed_precision_or_gives_numbers():
    assert published.load("merchant_risk/table2", printed=True)["mean"].iloc[3] == "10.0"
    assert published.load("merchant_risk/table2")["mean"].iloc[3] == 10.0
    assert published.load("dark_current/table6")["n"].iloc[-1] == "60"  # a column with N/A stays text


def test_an_unknown_table_lists_those_that_are_near():
    with pytest.raises(AuditError, match="Did you mean 'dark_current/table6'"):
        published.load("dark_current/tabel6")
