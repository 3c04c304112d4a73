"""The committed study of classes and detection: what does not hold is flagged, and little else is.

Each rule allows for the Monte Carlo error of its cell (a bound of 99.9 %).
"""

from functools import partial
from itertools import product
from pathlib import Path

import pandas as pd
import pytest
from coverage_classes import DESIGNS, MEASURES, drawn
from coverage_unequal import COLUMNS, cells

TABLE = Path(__file__).parents[2] / "docs" / "coverage_classes.csv"
BOUND = 3.09


@pytest.fixture(scope="module")
def table():
    rows = pd.read_csv(TABLE)
    calls = {d.name: d.sizes.sum() * min(d.rate, 1 - d.rate) for d in DESIGNS}
    error = BOUND * rows["mc_error"]
    bounds = {"upper": rows["coverage"] + error, "lower": rows["coverage"] - error}
    return rows.assign(**bounds, of_class=rows["design"].map(calls))


def shown(rows):
    return rows[["measure", "design", "term", "truth", "coverage", "flagged"]].to_string()


def test_every_measure_and_design_is_there(table):
    assert tuple(table.columns[: len(COLUMNS)]) == COLUMNS
    assert set(product(MEASURES, (d.name for d in DESIGNS))) == set(zip(table["measure"], table["design"], strict=True))
    assert (table["replications"] == 1000).all()
    assert len(table) == 12 * (24 + 3)


def test_what_covers_too_little_or_too_much_is_flagged(table):
    wrong = table[((table["upper"] < 0.93) | (table["lower"] > 0.98)) & (table["flagged"] < 0.9)]
    assert wrong.empty, shown(wrong)


def test_twenty_of_each_class_are_rarely_flagged(table):
    """Those of shares near 0 and 1 too, of which few clusters have the rarer answer."""
    common = table[table["of_class"] >= 20]
    flagged = common[common["flagged"] > 0.05 + BOUND * (0.05 * 0.95 / common["replications"]) ** 0.5]
    assert len(common) > 200
    assert flagged.empty, shown(flagged)


def test_paired_tests_have_their_size(table):
    """Of two judges who are equally good: .03 to .065, where the interval is not flagged."""
    rows = table[table["term"].str.contains("_difference") & (table["flagged"] < 0.9)]
    assert (rows["truth"] == 0).all()
    assert set(rows["term"].str.partition("_")[0]) == {"accuracy", "sensitivity", "specificity", "auroc"}
    wrong = rows[(rows["upper"] < 0.935) | (rows["lower"] > 0.97)]
    assert wrong.empty, shown(wrong)


def test_a_cell_is_what_the_study_gives(table):
    """Another draw, another interval or another flag would change it."""
    again = pd.DataFrame(cells("roc", DESIGNS[0], 1000, draw=partial(drawn, name="roc"))).set_index("term")
    stored = table[(table["measure"] == "roc") & (table["design"] == DESIGNS[0].name)].set_index("term")
    for column in ("truth", "coverage", "width", "flagged"):
        assert again[column].to_dict() == pytest.approx(stored[column].to_dict(), rel=1e-4)
