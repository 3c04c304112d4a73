"""Error marks to scores, beside the printed scores of a translation shared task."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import judgestats as js
from judgestats.errors import SchemaError
from judgestats.verdicts.error_marks import error_scores
from refusals import refused

#: Printed in the README of google/wmt-mqm-human-evaluation; that of eTranslation is 1.97 in the data.
PRINTED = {
    "ref": 0.91, "Facebook-AI": 1.06, "Online-W": 1.12, "VolcTrans-AT": 1.24, "metricsystem3": 1.44,
    "VolcTrans-GLAT": 1.49, "HuaweiTSC": 1.50, "metricsystem1": 1.63, "metricsystem2": 1.69, "metricsystem5": 1.72,
    "UEdin": 1.77, "metricsystem4": 1.78, "eTranslation": 1.97, "Nemo": 2.14,
}  # fmt: skip


def marks() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "judge": ["r", "r", "r", "q", "q"],
            "system": ["a", "a", "a", "a", "b"],
            "item": "d",
            "segment": [1, 1, 2, 1, 1],
            "category": ["Accuracy", "Fluency/Punctuation", "No-error", "Non-translation", "Other"],
            "severity": ["Major", "Minor", "No-error", "Major", "Minor"],
        }
    )


@pytest.mark.real
def test_published_scores_of_translations_follow(real_data: Path) -> None:
    path = real_data.parent / "real_marks" / "mqm_ted_ende" / "marks.tsv.gz"
    if not path.exists():
        pytest.skip("the marks are not beside the verdicts")
    table = pd.read_csv(path, sep="\t")
    systems = error_scores(table, unit="system", judge="rater", item="doc_id", segment="seg_id")
    assert systems.set_index("system")["estimate"].round(2).to_dict() == PRINTED
    assert systems["n"].tolist() == [529] * 14
    scores = error_scores(table, judge="rater", item="doc_id", segment="seg_id")
    by_hand = scores.groupby(["system", "item"])["score"].mean().groupby("system").mean()
    assert by_hand.round(2).to_dict() == PRINTED


def test_marks_add_up_by_segment_and_item() -> None:
    segments = error_scores(marks()).set_index(["judge", "system", "item"])
    assert segments["score"].to_dict() == {
        ("q", "a", "d: 1"): 25, ("q", "b", "d: 1"): 1, ("r", "a", "d: 1"): 5.1, ("r", "a", "d: 2"): 0,
    }  # fmt: skip
    assert segments["n_marks"].tolist() == [1, 1, 2, 0]
    items = error_scores(marks(), unit="item").set_index(["judge", "system"])
    assert items["score"].to_dict() == {("q", "a"): 25, ("q", "b"): 1, ("r", "a"): 2.55}
    assert list(js.ratings(error_scores(marks()))["score"]) == [25, 1, 5.1, 0]


def test_weights_are_of_severities_or_of_pairs() -> None:
    weights = {"Major": 10, "Minor": 2, "No-error": 0, ("Minor", "Other"): 3}
    scores = error_scores(marks(), weights).set_index(["judge", "system", "item"])["score"]
    assert scores.tolist() == [10, 3, 12, 0]
    with pytest.raises(SchemaError, match=r"No weight for Major \(Accuracy\), Major \(Non-translation\), in 2 rows"):
        error_scores(marks(), {"Minor": 1, "No-error": 0})


@pytest.mark.parametrize(
    ("start", "end", "message"), [(5, 3, "ends before it starts in 5 rows"), (5, 30, "ends beyond its text in 5 rows")]
)
def test_spans_lie_within_their_text(start: int, end: int, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        error_scores(marks().assign(start=start, end=end, length=20))
    assert len(error_scores(marks().assign(start=5, end=9, length=20))) == 4


def test_columns_have_names_and_engines_stay() -> None:
    named = marks().rename(columns={"judge": "rater", "segment": "seg"})
    assert error_scores(named, judge="rater", segment="seg").equals(error_scores(marks()))
    assert isinstance(error_scores(pl.from_pandas(marks())), pl.DataFrame)
    refused(
        SchemaError,
        ({}, "Marks lack judge"),
        ({"judge": "rator"}, "judge='rator' is not a column"),
        of=lambda options: error_scores(named, **options),
    )
