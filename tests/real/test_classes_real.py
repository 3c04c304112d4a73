"""Public verdicts that are classes, passes or choices: read, and classified as scikit-learn does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import confusion_matrix, matthews_corrcoef, precision_recall_fscore_support, roc_auc_score

import judgestats as js

pytestmark = pytest.mark.real


def as_scikit_learn(rows: pd.DataFrame, right: Any, said: Any) -> None:
    """Compare the rows of one judge with scikit-learn's numbers of the same calls."""
    right, said = (np.asarray(x).astype(str) for x in (right, said))
    ours = rows.set_index(["class", "term"])["estimate"]
    classes = sorted({*right, *said})
    precision, sensitivity, f1, support = precision_recall_fscore_support(
        right, said, labels=classes, zero_division=np.nan
    )
    for i, c in enumerate(classes):
        for term, value in (("precision", precision), ("sensitivity", sensitivity), ("f1", f1)):
            assert ours[c, term] == pytest.approx(value[i], rel=1e-12, nan_ok=True), (c, term)
        assert ours[c, "prevalence"] == pytest.approx(support[i] / len(right), rel=1e-12)
    assert ours["", "accuracy"] == pytest.approx((right == said).mean(), rel=1e-12)
    if len(set(right)) > 1 and len(set(said)) > 1:
        assert ours["", "mcc"] == pytest.approx(matthews_corrcoef(right, said), rel=1e-12)


def test_pandalm(real_data: Path) -> None:
    """First, second and tie of a model and three people, 999 pairs: against the second of these, and their majority."""
    table = pd.read_csv(real_data / "pandalm" / "verdicts.csv", dtype=str)
    said = {"0": "tie", "1": "first", "2": "second"}
    table = table.rename(columns={"idx": "item", "model_1": "first", "model_2": "second"})
    people = ["annotator1", "annotator2", "annotator3"]
    long = table.melt(["item", "first", "second"], [*people, "pandalm_7b"], "judge", "said")
    calls = js.preferences(long.assign(choice=long["said"].map(said)).drop(columns="said"))
    words = table[[*people, "pandalm_7b"]].replace(said)
    as_scikit_learn(
        js.classification(calls, humans="annotator2").query("judge == 'pandalm_7b'"),
        words["annotator2"],
        words["pandalm_7b"],
    )
    majority = words[people].mode(axis=1)
    clear = majority[1].isna() if 1 in majority else np.ones(len(words), dtype=bool)
    rows = js.classification(calls, humans=people)
    as_scikit_learn(rows, majority[0][clear], words["pandalm_7b"][clear])
    cells = js.confusion(calls, humans=people).pivot(index="reference", columns="answer", values="count")
    expected = confusion_matrix(majority[0][clear], words["pandalm_7b"][clear], labels=list(cells.index))
    np.testing.assert_array_equal(cells.to_numpy(), expected)


def test_judgebench(real_data: Path) -> None:
    """The slot that is right, and the slot that the judge chose."""
    path = next((real_data / "judgebench").glob("*judge_name=arena_hard,judge_model=o1-mini*.jsonl.gz"))
    calls = js.read(path)
    calls = calls[calls["gold"].notna() & calls["choice"].isin(["first", "second", "tie"])]
    right = np.where(
        calls["gold"] == calls["first"], "first", np.where(calls["gold"] == calls["second"], "second", "tie")
    )
    as_scikit_learn(js.classification(calls), right, calls["choice"])


@pytest.mark.parametrize("name", ["deepeval/test_run_sample.json", "promptfoo/sample-export.json"])
def test_passes(real_data: Path, name: str) -> None:
    """Whether a metric passed, from whether its score is one half or more; and how well the score tells it."""
    calls = js.read(real_data / name)
    calls = calls[calls["score"].notna() & calls["passed"].notna()]
    calls = calls.assign(judge="all", item=calls["item"].astype(str) + np.arange(len(calls)).astype(str))
    passed, half = calls["passed"].astype(bool), calls["score"] >= 0.5
    plain = calls[["judge", "item", "score"]].assign(gold=passed.astype(int))
    area = js.roc(js.ratings(plain)).query("term == 'auroc'")["estimate"]
    assert area.tolist() == pytest.approx([roc_auc_score(passed, calls["score"])])
    words = {True: "pass", False: "fail"}
    classes = plain.drop(columns="score").assign(answer=half.map(words), gold=passed.map(words))
    as_scikit_learn(js.classification(js.ratings(classes)), passed.map(words), half.map(words))


def test_labels_of_inspect_scout(real_data: Path) -> None:
    """Labels of transcripts, read as classes: whether what is safe is also called accurate."""
    path = real_data / "inspect_scout" / "labels-validation.csv"
    labels = js.read(path, answer=["safety", "accuracy"])
    assert sorted(labels["answer"].unique()) == ["false", "true"]
    wide = labels.pivot(index="item", columns="criterion", values="answer").astype(str)
    two = labels.assign(judge=labels["criterion"]).drop(columns=["criterion", "rater_type"])
    as_scikit_learn(js.classification(js.ratings(two), humans="safety"), wide["safety"], wide["accuracy"])


def test_epochs_of_inspect(real_data: Path) -> None:
    """Right and wrong of a scorer in two epochs: the second beside the first, as yes and no and as classes."""
    path = real_data / "inspect_ai" / "popularity_2_epochs.eval"
    calls = js.read(path)
    wide = calls.pivot(index="item", columns="replicate", values="correct").astype(bool)
    epochs = calls.assign(judge="epoch " + calls["replicate"].astype(str))[["judge", "item", "correct"]]
    yes = {True: "yes", False: "no"}
    expected = wide[1].map(yes), wide[2].map(yes)
    as_scikit_learn(js.classification(js.ratings(epochs), humans="epoch 1"), *expected)
    classes = js.read(path, answer="match")
    assert sorted(classes["answer"].unique()) == ["C", "I"]
    assert classes.set_index(["item", "replicate"])["answer"].eq("C").to_dict() == wide.stack().to_dict()
