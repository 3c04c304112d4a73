"""Label Studio: annotators as raters, predictions as judges; pairwise comparisons as preferences."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import judgestats as js
from judgestats.errors import JudgestatsError, SchemaError
from judgestats.ingest import detect_format
from judgestats.schema.account import account_of

DATA = Path(__file__).parent / "data"
TASKS = json.loads((DATA / "label_studio.json").read_text())


def test_tasks() -> None:
    data = js.read(DATA / "label_studio.json", item="qid", system="model")
    assert data[["judge", "system", "item", "criterion", "score", "rater_type"]].to_numpy().tolist() == [
        ["ann@example.org", "m1", "007", "quality", 4.0, "human"],
        ["ann@example.org", "m1", "007", "correct", 1.0, "human"],
        ["bob@example.org", "m1", "007", "quality", 2.0, "human"],
        ["bob@example.org", "m1", "007", "correct", 0.0, "human"],
        ["gpt-4", "m1", "007", "quality", 5.0, "model"],
        ["ann@example.org", "m2", "008", "quality", 1.0, "human"],
    ]
    assert data["text"].nunique() == 2
    assert [(e.place, e.reason) for e in account_of(data).excluded] == [
        ("label_studio.json, record 2, remark", "no grade: a result of type textarea"),
        ("label_studio.json, record 2, annotations 2", "skipped by the annotator"),
    ]
    assert js.read(DATA / "label_studio.json")["item"].tolist()[0] == "11"


@pytest.mark.parametrize("name", ["label_studio_min.json", "label_studio.csv"])
def test_smaller_exports_of_the_package(name: str) -> None:
    """Answers stand beside the data: ratings are recognised, choices are named."""
    assert detect_format(DATA / name).format == "label_studio"
    data = js.read(DATA / name)
    people = data[["judge", "item", "criterion", "score"]].sort_values(["item", "judge"]).to_numpy().tolist()
    assert people == [
        ["ann@example.org", "11", "quality", 4.0], ["bob@example.org", "11", "quality", 2.0], ["ann@example.org", "12", "quality", 1.0],
    ]  # fmt: skip
    both = js.read(DATA / name, questions="quality,correct", item="qid")[:4]
    assert both.set_index(["item", "judge", "criterion"])["score"].to_dict() == {
        ("007", "bob@example.org", "quality"): 2.0, ("007", "bob@example.org", "correct"): 0.0,
        ("007", "ann@example.org", "quality"): 4.0, ("007", "ann@example.org", "correct"): 1.0,
    }  # fmt: skip
    with pytest.raises(SchemaError, match="no answer to 'qualty'"):
        js.read(DATA / name, questions="qualty")


def pairwise(side: str | None, who: Any = 7, **data: str) -> dict[str, Any]:
    """A task with one comparison."""
    result = {"from_name": "better", "to_name": ["t1", "t2"], "type": "pairwise", "value": {"selected": side}}
    return {
        "id": 3,
        "data": {"text1": "x", "text2": "y", **data},
        "annotations": [{"completed_by": who, "result": [result]}],
    }


def test_comparisons(write: Any) -> None:
    """Left is what was shown first, whatever the candidates are called; no call is flipped twice."""
    tasks = [
        pairwise("left", a="m1", b="m2"),
        {**pairwise("left", a="m2", b="m1"), "id": 4},
        {**pairwise(None, a="m1", b="m2"), "id": 5},
    ]
    path = write("tasks.json", tasks)
    assert detect_format(path).format == "label_studio_pairwise"
    data = js.read(path, first="a", second="b")
    assert data[["item", "first", "second", "choice"]].astype(str).to_numpy().tolist() == [
        ["3", "m1", "m2", "first"], ["4", "m2", "m1", "first"], ["5", "m1", "m2", "invalid"],
    ]  # fmt: skip
    assert data["rater_type"].tolist() == ["human"] * 3
    plain = js.read(write("one.json", [pairwise("right")]))
    assert plain[["judge", "first", "second", "choice"]].astype(str).to_numpy().tolist() == [
        ["7", "left", "right", "second"]
    ]
    with pytest.raises(SchemaError, match=r"selected is 'up'\. Allowed: left, right"):
        js.read(write("two.json", [pairwise("up")]))


def test_comparisons_among_ratings_are_named(write: Any) -> None:
    data = js.read(write("tasks.json", [TASKS[0], pairwise("left")]))
    assert [e.reason for e in account_of(data).excluded] == [
        "pairwise comparison: format='label_studio_pairwise' reads those"
    ]


def test_regions_and_several_choices_are_excluded(write: Any) -> None:
    rating = {"from_name": "q", "type": "rating", "value": {"rating": 4}}
    choices = {"from_name": "kind", "type": "choices", "value": {"choices": ["a", "b"]}}
    tone = {"from_name": "tone", "type": "choices", "value": {"choices": ["good"]}}
    task = {"id": 1, "data": {}, "annotations": [{"completed_by": 1, "result": [rating, rating, choices, tone]}]}
    data = js.read(write("t.json", [task]), scores={"good": 3})
    assert data["score"].tolist() == [3.0]
    assert sorted({e.reason for e in account_of(data).excluded}) == [
        "'kind' has several values", "several results of one question (regions of the item)",
    ]  # fmt: skip


def rating(item: int, grade: float, who: Any = 1, **data: Any) -> dict[str, Any]:
    """A task with one rating."""
    result = {"from_name": "q", "type": "rating", "value": {"rating": grade}}
    return {"id": item, "data": data, "annotations": [{"completed_by": who, "result": [result]}]}


def test_what_several_files_hold_of_one_annotator_is_no_repeat(write: Any, tmp_path: Path) -> None:
    """Each person exported a project of their own, in which they are user 1."""
    for top in (5, 10):
        for i, who in enumerate(("ann", "bob", "cy")):
            tasks = [rating(n, (n + i) % top + 1) for n in range(4)]
            write(f"in/{top}/{who}.json", tasks)
    for folder in (tmp_path / "in", tmp_path / "in" / "5"):
        with pytest.raises(
            SchemaError, match=r"ann\.json.* and .*bob\.json.* differ in 'score'.*path=\"\.\.\.\{judge\}"
        ):
            js.read(folder)
    data = js.read(tmp_path / "in" / "5", path="{judge}.json")
    assert sorted(data["judge"].unique()) == ["ann", "bob", "cy"]
    assert "replicate" not in data
    data = js.read(tmp_path / "in", path="{top}/{judge}.json")
    assert data.groupby("top")["score"].max().to_dict() == {5: 5.0, 10: 6.0}
    with pytest.raises(JudgestatsError, match="top"):  # scales are not averaged
        js.icc(data)


def test_repeats_are_numbered_in_a_file_where_no_condition_tells_them_apart(write: Any) -> None:
    again = js.read(write("again.json", [rating(1, 3), rating(1, 4)]))
    assert again["replicate"].tolist() == [0, 1]
    data = js.read(write("scales.json", [rating(n, 3 * k, range=f"0-{5 * k}") for n in range(4) for k in (1, 2)]))
    assert "replicate" not in data
    with pytest.raises(JudgestatsError, match="'range'"):
        js.alpha(data.assign(system="s"))


def test_choices_are_classes_where_answer_names_their_question(write: Any) -> None:
    def task(number: int, *words: str) -> dict[str, Any]:
        results = [[{"from_name": "kind", "type": "choices", "value": {"choices": [w]}}] for w in words]
        notes = [{"completed_by": i, "result": r} for i, r in enumerate(results)]
        return {"id": number, "data": {"text": "x"}, "annotations": notes}

    path = write(
        "t.json", [task(1, "praise", "praise"), task(2, "praise", "complaint"), task(3, "question", "question")]
    )
    data = js.read(path, answer="kind")
    assert data["answer"].tolist() == ["praise", "praise", "praise", "complaint", "question", "question"]
    assert js.kappa(data)["n"].tolist() == [3]
