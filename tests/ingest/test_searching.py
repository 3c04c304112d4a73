"""Suggested mappings of tables as people write them: what is proposed is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import judgestats as js
import small_frames
from judgestats.errors import SchemaError
from judgestats.ingest import detect_format, suggest_mapping
from refusals import refused

Write = Callable[..., Path]
IDS = {"judge": [*"ggghhh"], "id": [*"123123"]}


@pytest.mark.parametrize(
    ("columns", "options"),
    [
        ({**IDS, "weighted_score": [1, 2, 3, 3, 2, 1]}, "--map item=id,score=weighted_score"),
        ({**IDS, "q1_faithfulness": [1, 2, 3, 3, 2, 1]}, "--map item=id,score=q1_faithfulness"),
        ({**IDS, "label1": ["safe", "unsafe", "safe"] * 2}, "--map item=id,answer=label1"),
        ({"id": [*"1234"], "judge": [1, 2, 4, 5], "gold": [1, 3, 4, 5]}, "--map judge==judge,item=id,score=judge"),
        (
            {**IDS, "fighter_a.name": [*"xxxxxx"], "fighter_b.name": [*"yyyyyy"], "winner": [*"xyxyxy"]},
            "--map item=id,first=fighter_a.name,second=fighter_b.name,winner=winner,order_known==false",
        ),
        (
            {**IDS, "model_a": [*"xxxxxx"], "model_b": [*"yyyyyy"], "winner": [*"xyxyxy"], "ground_truth_winner": [*"xxyyxy"]},
            "--map item=id,first=model_a,second=model_b,winner=winner,order_known==false,gold=ground_truth_winner",
        ),
    ],
)  # fmt: skip
def test_columns_that_people_use(columns: dict[str, list[Any]], options: str, write: Write) -> None:
    frame = pd.DataFrame(columns)
    proposal = suggest_mapping(frame)
    assert (proposal.complete, proposal.options) == (True, options)
    path = write("t.csv", frame.to_csv(index=False))
    mapping = {n: s for n, s in proposal.mapping.items() if n != s or n == "winner"}
    assert len(js.read(path, columns=mapping, labels=proposal.labels or None)) == len(frame)


@pytest.mark.parametrize("name", ["points", "record", "score"])
def test_numbers_of_records_are_no_scores(name: str) -> None:
    frame = pd.DataFrame({"judge": "g", "item": [f"q{i}" for i in range(20)], name: range(20)})
    assert not suggest_mapping(frame).complete


def test_counts_of_errors_are_no_scores() -> None:
    frame = pd.DataFrame({**IDS, "total_errors": [3, 0, 1, 2, 2, 0]})
    assert not suggest_mapping(frame).complete


@pytest.mark.parametrize("names", ["clarity fluency tone style depth", "q1_a q2_b q3_c"])
def test_criteria_are_no_judges(names: str) -> None:
    frame = pd.DataFrame({"id": [*"123"], **{n: [1, 3, 2] for n in names.split()}})
    proposal = suggest_mapping(frame)
    assert proposal.wide == f"criterion={','.join(names.split())}"
    assert (proposal.missing, proposal.complete) == (("judge",), False)
    judges = suggest_mapping(frame.set_axis(["id", *(f"gpt{i}" for i in range(len(names.split())))], axis=1))
    assert judges.wide.startswith("judge=")


def test_of_lists_of_records_those_with_verdicts_are_opened(write: Write) -> None:
    rows = [{"id": i, "judge": "g", "score": i % 3} for i in range(4)]
    path = write("r.jsonl", [{"skipped": [{"id": 9, "why": "x"}], "run": k, "results": rows} for k in range(2)])
    proposal = detect_format(path).proposal
    assert proposal is not None
    assert (proposal.explode, proposal.complete) == ("results", True)
    assert len(js.read(path, explode="results", columns={"item": "id", "replicate": "run"})) == 8


def test_records_by_id(write: Write) -> None:
    document = {f"q{i}": {"judge": "g", "score": i, "note": "x" * (i % 2)} for i in range(3)}
    data = js.read(write("d.json", json.dumps(document)), columns={"item": "id"})
    assert data[["item", "score"]].to_numpy().tolist() == [["q0", 0.0], ["q1", 1.0], ["q2", 2.0]]


REPEATS = [
    {"judge": j, "item": i, "parsed": labels}
    for j, i, labels in (("g", "1", ["Bug", "Bug", "Feature"]), ("g", "2", ["Bug", "Feature", "Feature"]),
                         ("h", "1", ["Bug", "Bug", "Bug"]), ("h", "2", ["Feature", "Bug", "Bug"]))
]  # fmt: skip


def test_a_list_with_a_doubled_entry_is_no_set(write: Write) -> None:
    path = write("r.json", REPEATS)
    refused(
        SchemaError,
        (
            lambda: js.read(path, columns={"answer": "parsed"}),
            r"\['Bug', 'Bug', 'Feature'\], which names a label twice, so it is no set",
        ),
        (lambda: js.ratings(pd.DataFrame(REPEATS), answer="parsed"), "lists of 3 in each row are repeats of one call"),
    )
    proposal = detect_format(path).proposal
    assert proposal is not None
    assert proposal.options == "--explode parsed --map answer=parsed,replicate=parsed.index"
    data = js.read(path, explode="parsed", columns={"answer": "parsed", "replicate": "parsed.index"})
    assert data.groupby(["judge", "item"], observed=True)["replicate"].apply(list).tolist() == [[0, 1, 2]] * 4
    assert data["answer"].value_counts().to_dict() == {"Bug": 8, "Feature": 4}


def test_lists_that_are_sets_are_said_to_be(write: Write) -> None:
    records = [{**r, "parsed": sorted({*r["parsed"]})} for r in REPEATS]
    data = js.read(write("s.json", records), columns={"answer": "parsed"})
    assert sorted({*data["answer"]}) == ["Bug", "Bug;Feature"]
    (note,) = js.check(data).query("column == 'answer' and level == 'counted'").itertuples()
    assert (note.what, note.n) == ("lists in 'parsed' are read as sets of labels", 4)


def test_confidence_may_be_mapped_and_conditions_name_what_works(write: Write) -> None:
    pairs = write("p.csv", "judge,item,first,second,choice,conf\ng,1,a,b,first,0.9\ng,2,a,b,second,0.6\n")
    assert js.read(pairs, columns={"confidence": "conf"})["confidence"].tolist() == [0.9, 0.6]
    scores = write("s.csv", "judge,item,score,conf\ng,1,4,0.9\n")
    assert js.read(scores, columns={"confidence": "conf"})["confidence"].tolist() == [0.9]
    refused(
        SchemaError,
        (
            lambda: js.read(pairs, columns={"condition": "conf"}),
            r"Map prompt='conf' in its place\. Unmapped, 'conf' keeps its name, and by='conf'",
        ),
        (lambda: js.read(scores, columns={"prompt": "conf"}, frame="ratings"), r"Map condition='conf' in its place"),
    )


def test_a_table_that_was_made_long_is_not_made_long_again():
    """The names of the columns as a row: three columns of the same words look like judges, and two more after that."""
    pairs = small_frames.TABLES["pairs"]()
    rows = [list(pairs.columns), *pairs.astype(str).to_numpy().tolist()]
    proposal = suggest_mapping(pd.DataFrame(rows, columns=[f"field_{k}" for k in range(1, 9)]))
    assert proposal.kind is None
    assert "It looks wide, one column per judge: field_3, field_4, field_6" in str(proposal)
