"""Agreement on spans that judges mark in texts."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

import judgestats as js
from judgestats.errors import SchemaError
from refusals import refused


def marks(documents=12, segments=3, agree=0.8, seed=0):
    """Three judges who mark, each with probability `agree`, the same errors, and one place of their own."""
    rng, rows = np.random.default_rng(seed), []
    for d in range(documents):
        for s in range(segments):
            errors = [
                (b, b + int(rng.integers(3, 8)), c) for b, c in ((5, "Accuracy"), (30, "Fluency"), (60, "Accuracy"))
            ]
            for j in "abc":
                own = [e for e in errors if rng.random() < agree]
                own += [(80 + rng.integers(0, 5), 90, "Fluency")] if rng.random() > agree else []
                rows += [(j, f"d{d}", s, c, b, e) for b, e, c in own or [(np.nan, np.nan, None)]]
    table = pd.DataFrame(rows, columns=["judge", "item", "segment", "category", "start", "end"])
    return table.assign(length=100)


def test_each_category_and_all_of_them_have_an_alpha_with_an_interval():
    table = marks()
    found = js.unitised_alpha(table)
    assert found["category"].tolist() == ["", "Accuracy", "Fluency"]
    assert found["n"].tolist() == [36] * 3
    assert found["n_marks"].tolist()[0] == found["n_marks"].tolist()[1:][0] + found["n_marks"].tolist()[2]
    assert ((found["conf_low"] < found["estimate"]) & (found["estimate"] < found["conf_high"])).all()
    np.testing.assert_allclose(found["estimate"], 1 - found["observed_disagreement"] / found["expected_disagreement"])
    sums = found[["observed_disagreement", "expected_disagreement"]]
    np.testing.assert_allclose(sums.iloc[0], sums.iloc[1:].sum())
    assert found["method"].iloc[0] == "t, bootstrap of item (B = 2000)"
    again = js.unitised_alpha(pl.from_pandas(table.sample(frac=1, random_state=1)))
    pd.testing.assert_frame_equal(again, found, rtol=1e-9)


def test_judges_who_mark_alike_have_alpha_one_and_those_at_random_none():
    alike = marks(agree=1.0)
    assert js.unitised_alpha(alike, interval=None)["estimate"].tolist() == [1, 1, 1]
    rng = np.random.default_rng(1)
    start = rng.integers(0, 90, 600)
    table = pd.DataFrame({"judge": ["a", "b"] * 300, "item": np.repeat(range(300), 2), "category": "x"})
    table = table.assign(start=start, end=start + 10, length=100)
    estimate = js.unitised_alpha(table, interval=None)["estimate"].iloc[-1]
    assert abs(estimate) < 0.05


@pytest.mark.slow
def test_the_bootstrap_draws_documents_and_covers():
    truth = js.unitised_alpha(marks(2000, 1, seed=99), interval=None)["estimate"].iloc[0]
    inside, spread, errors = 0, [], []
    for seed in range(60):
        row = js.unitised_alpha(marks(30, 1, seed=seed), n_resamples=200).iloc[0]
        inside += row["conf_low"] <= truth <= row["conf_high"]
        spread.append(row["estimate"])
        errors.append(row["std_error"])
    assert inside >= 53
    assert np.mean(errors) == pytest.approx(np.std(spread), rel=0.3)


def test_a_text_that_one_judge_read_is_left_out_and_one_without_marks_counts():
    table = marks(4)
    alone = pd.DataFrame(
        {"judge": ["a"], "item": ["e"], "segment": [0], "category": ["Accuracy"], "start": [0], "end": [5]}
    )
    found = js.unitised_alpha(pd.concat([table, alone.assign(length=9)]), interval=None)
    assert (found["flag"] == "1 unit rated once").all()
    np.testing.assert_allclose(found["estimate"], js.unitised_alpha(table, interval=None)["estimate"])
    unmarked = alone.assign(category=None, start=np.nan, end=np.nan, length=500)
    longer = pd.concat([table, unmarked, unmarked.assign(judge="b")])
    more = js.unitised_alpha(longer, interval=None)
    assert (more["n"] == 13).all()
    assert (more["estimate"] > found["estimate"]).all()  # nobody marks what is there
    nobody = js.unitised_alpha(alone.assign(length=9))
    assert math.isnan(nobody["estimate"].iloc[0])
    assert nobody["flag"].iloc[0] == "no unit with two answers; 1 unit rated once"


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"end": 101}, r"ends beyond its text in 1 rows \(row 0 of the data, from 0\)"),
        ({"start": 8, "end": 5}, "ends before it starts"),
        ({"end": 4, "start": 4}, "is empty in 1 rows"),
        ({"start": 2.5}, "has no start and end in whole numbers from 0"),
        ({"start": np.nan}, "has no start and end in whole numbers from 0"),
        ({"length": 90}, "Text t, 1 has 2 lengths"),
        ({"end": 15}, r"overlaps another of the same judge and category in 1 rows \(row 1 of the data"),
    ],
)
def test_spans_that_cannot_be_are_faults(change, match):
    table = pd.DataFrame({"judge": ["a", "a", "b"], "item": "t", "segment": 1, "category": "x", "start": [2.0, 12, 2]})
    table = table.assign(end=[5.0, 20, 6], length=100.0)
    js.unitised_alpha(table, interval=None)
    for column, value in change.items():
        table.loc[0, column] = value
    refused(
        SchemaError,
        (lambda: js.unitised_alpha(table, interval=None), match),
        (lambda: js.unitised_alpha(table.drop(columns="length")), "Marks lack length"),
    )


@pytest.mark.real
def test_marks_of_talks_say_that_each_text_was_read_once(real_data):
    path = real_data.parent / "real_marks" / "mqm_ted_ende" / "marks.tsv.gz"
    if not path.exists():
        pytest.skip("no error marks")
    table = pd.read_csv(path, sep="\t").rename(columns={"doc": "item", "seg_id": "segment", "target_length": "length"})
    table.loc[table["side"] != "target", ["start", "end"]] = np.nan
    with pytest.raises(SchemaError, match="overlaps another of the same judge and category in"):
        js.unitised_alpha(table.assign(category=table["category"].str.split("/").str[0]), judge="rater")
