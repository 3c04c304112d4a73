"""Verdicts that are sets of labels: lists, texts, a column for each label."""

from __future__ import annotations

import json

import pandas as pd
import polars as pl
import pytest

import judgestats as js
from judgestats.errors import SchemaError
from judgestats.schema.label_sets import label_sets
from refusals import refused

CALLS = pd.DataFrame({"judge": ["a", "b", "a", "b"], "item": [1, 1, 2, 2]})
LISTS = [["y", "x"], ["x"], None, ["none"]]


def test_lists_become_texts_in_one_order(tmp_path):
    table = CALLS.assign(answer=LISTS)
    ratings = js.ratings(table)
    assert ratings["answer"].astype(object).tolist()[:2] == ["x;y", "x"]
    assert ratings["answer"].isna().tolist() == [False, False, True, False]
    assert js.ratings(table.rename(columns={"answer": "said"}), answer="said")["answer"].equals(ratings["answer"])
    path = tmp_path / "calls.jsonl"
    path.write_text("\n".join(map(json.dumps, table.to_dict("records"))))
    assert js.read(path)["answer"].astype(object).tolist()[0] == "x;y"
    polars = js.ratings(pl.DataFrame({**CALLS.to_dict("list"), "answer": LISTS}))
    assert polars["answer"].to_list() == ["x;y", "x", None, "none"]


def test_a_column_for_each_label_is_a_set():
    table = CALLS.assign(toxic=[1, 0, 0, 1], spam=["yes", "yes", "no", None])
    ratings = js.ratings(table, answer=["toxic", "spam"])
    assert ratings["answer"].astype(object).tolist()[:3] == ["spam;toxic", "spam", "none"]
    assert ratings["answer"].isna().tolist() == [False, False, False, True]
    assert "toxic" not in ratings


def test_other_answers_stay_as_they_are():
    texts = ["[A]", "b;c", "b", "[A]"]
    assert js.ratings(CALLS.assign(answer=texts))["answer"].astype(object).tolist() == texts
    of_system = CALLS.assign(answer=LISTS, score=[1, 2, 3, 4])  # beside a score it is the answer of the system
    assert js.ratings(of_system)["answer"].tolist()[0] == '["y", "x"]'


@pytest.mark.parametrize(
    ("texts", "match"),
    [
        (["x", "x;;y"], "'x;;y' has a blank label. Leave a cell empty where there is no answer, and write 'none'"),
        (["x", "[]"], "has a blank label"),
        (['["x", " "]'], "has a blank label"),
        (["Toxic;x", "toxic"], "Labels look alike: 'Toxic', 'toxic'"),
        (['["x;y"]'], "which stands between labels"),
    ],
)
def test_labels_that_are_none_are_faults(texts, match):
    with pytest.raises(SchemaError, match=match):
        label_sets(texts)


def test_a_list_without_labels_and_a_column_without_yes_and_no_are_faults():
    refused(
        SchemaError,
        (lambda: js.ratings(CALLS.assign(answer=[["x"], [], ["x"], ["x"]])), "has a blank label"),
        (
            lambda: js.ratings(CALLS.assign(toxic=1, spam=["yes", "no", "no", "maybe"]), answer=["toxic", "spam"]),
            r"'spam', which is neither yes nor no in 1 rows \(row 3 of the data, from 0, 'm",
        ),
        (lambda: js.ratings(CALLS.assign(toxic=1, spam=1), answer=["toxic", "spm"]), "answer='spm' is not a column"),
        (lambda: js.ratings(pl.from_pandas(CALLS.assign(toxic=1)).lazy(), answer=["toxic"]), "Collect the table first"),
    )
