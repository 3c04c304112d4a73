"""Rankings of several candidates become pairs; probabilities of scores become the expected score."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from judgestats.cli import app
from judgestats.errors import SchemaError
from judgestats.ingest import read
from judgestats.ingest.rankings import expected, ranked
from judgestats.metrics.bias import preference_rate
from judgestats.schema import check
from refusals import refused

Write = Callable[..., Path]
#: The same ranking, b > a = c > d, in every form.
FORMS: dict[str, tuple[dict[str, Any], str]] = {
    "list": ({"r": ["b", ["a", "c"], "d"]}, "r"),
    "text": ({"r": "b > a = c > d"}, "r"),
    "object": ({"r": {"a": 2, "b": 1, "c": 2, "d": 7}}, "r.{candidate}"),
    "object as text": ({"r": json.dumps({"a": 2, "b": 1, "c": 2, "d": 7})}, "r"),
    "columns of ranks": ({"a rank": 2, "b rank": 1, "c rank": 2, "d rank": 7, "e rank": None}, "{candidate} rank"),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_pairs(write: Write, form: str) -> None:
    cells, source = FORMS[form]
    path = write("t.jsonl", [{"judge": "g", "item": i, **cells} for i in range(2)])
    frame = read(path, columns={"ranking": source})
    rows = frame[frame["item"] == "0"][["first", "second", "choice"]].values.tolist()
    assert rows == [
        ["a", "b", "second"], ["a", "c", "tie"], ["a", "d", "first"],
        ["b", "c", "first"], ["b", "d", "first"], ["c", "d", "first"],
    ]  # fmt: skip
    assert not frame["order_known"].any()
    assert frame.groupby("call").size().tolist() == [6, 6]
    assert check(frame).query("what == 'rows used'")["n"].tolist() == [12]


def test_columns_of_candidates(write: Write) -> None:
    path = write("t.csv", "judge,item,rank_1,rank_2,rank_3\ng,1,y,x,z\ng,2,x,y,\ng,3,x,,\n")
    frame = read(path, columns={"ranking": "rank_{rank}"})
    assert frame[["item", "first", "second", "choice"]].values.tolist() == [
        ["1", "x", "y", "second"], ["1", "x", "z", "first"], ["1", "y", "z", "first"], ["2", "x", "y", "first"],
    ]  # fmt: skip
    told = check(frame).query("what == 'fewer than two candidates ranked'")
    assert told["where"].tolist() == ["t.csv, line 4, rank_{rank}"]
    seen = CliRunner().invoke(app, ["check", str(path), "--map", "ranking=rank_{rank}"])
    assert "5 rows: 4 used, 1 excluded" in seen.output


def test_pairs_are_clustered_by_their_call() -> None:
    """A judge that ranks at random within 40 items: the interval by call is wider than by independent pairs."""
    rng = np.random.default_rng(1)
    names = [*"abcde"]
    table = pd.DataFrame({"judge": "g", "item": range(40)})
    table["r"] = [json.dumps([str(n) for n in rng.permutation(names)]) for _ in range(40)]
    frame = read(table, columns={"ranking": "r"})
    assert len(frame) == 40 * 10

    def width(**how: Any) -> float:
        found = preference_rate(frame, **how).query("term == 'win'")
        return float((found["conf_high"] - found["conf_low"]).mean())

    assert width(cluster="call") == pytest.approx(width(cluster="item"))
    assert width(cluster="call") > 1.2 * width(cluster=False)
    assert width() == pytest.approx(width(cluster="item"))
    wins = preference_rate(frame).query("term == 'win'").set_index("candidate")["estimate"]
    brute = dict.fromkeys(names, 0.0)
    for text in table["r"]:
        for one, _ in itertools.combinations(json.loads(text), 2):
            brute[one] += 1 / (40 * 4)
    assert wins.to_dict() == pytest.approx(brute)


@pytest.mark.parametrize(
    ("cells", "source", "message"),
    [
        ({"r": ["a", "a"]}, "r", "candidate 'a' occurs twice"),
        ({"r": ["a", None]}, "r", "a candidate has no name"),
        ({"r": "a, b"}, "r", "'a, b' is no ranking"),
        ({"r": "a > > b"}, "r", "is no ranking"),
        ({"r": json.dumps({"a": "best", "b": 1})}, "r", "the rank of 'a' is 'best', which is no number"),
        ({"r": ["a"]}, "r", "no row ranks two candidates"),
        ({"r": ["a", "b"], "choice": "x"}, "r", "makes a column 'choice'"),
        ({"r": ["a", "b"]}, "s", "ranking column 's' is not in the table"),
        ({"r_1": "a", "r_2": "b"}, "r_{place}", r"should name one part, \{rank\} or \{candidate\}"),
        ({"r_1": "a"}, "r_{rank}", "matches 1 columns"),
    ],
)
def test_what_is_no_ranking(write: Write, cells: dict[str, Any], source: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        read(write("t.jsonl", [{"judge": "g", "item": 1, **cells}]), columns={"ranking": source})


def test_rankings_are_not_read_lazily(write: Write) -> None:
    with pytest.raises(SchemaError, match=r"ranking: .*Leave lazy out"):
        read(write("t.jsonl", [{"judge": "g", "item": 1, "r": "a > b"}]), columns={"ranking": "r"}, lazy=True)


def test_the_expected_score() -> None:
    table = pd.DataFrame(
        {"judge": "g", "item": [1, 2, 3], "system": "s", "p1": [0.5, 0.0, None], "p4": [0.499, 1.0, None]}
    )
    frame = read(table, columns={"probabilities": "p{score}"})
    assert frame["score"].tolist()[:2] == pytest.approx([(0.5 + 4 * 0.499) / 0.999, 4])
    assert np.isnan(frame["score"].iloc[2])
    refused(
        SchemaError,
        (table.assign(p4=[0.7, 1, None]), "should match columns that add up to 1 in each row; row 0"),
        (table.assign(p4=[-0.5, 1, None]), "should match columns that add up to 1 in each row; row 0"),
        (table.rename(columns={"p1": "px"}), "a score is no number"),
        of=lambda wrong: read(wrong, columns={"probabilities": "p{score}"}),
    )


@pytest.mark.real
def test_published_error_of_llm_rubric(real_data: Path) -> None:
    """For Q0 on the real dialogues, RMSE .918676 and Pearson .177301 between expected scores and people."""
    folder = real_data / "llm_rubric"
    judge = read(
        folder / "gpt-3.5-turbo-16k_real_evaluations_FIXED.tsv.gz",
        columns={"judge": "=gpt-3.5", "item": "text_id", "probabilities": "answer{score}_prob"},
    )
    people = read(
        folder / "human_judges_real_convs_FIXED_ANON.tsv", wide="criterion=Q*",
        columns={"judge": "annotator_id", "system": "dialogue_system", "item": "text_id"},
    )  # fmt: skip
    both = judge.merge(people, on=["item", "criterion"], suffixes=("", "_people")).query("criterion == 'Q0'")
    assert len(both) == 223
    error = both["score"] - both["score_people"]
    assert np.sqrt((error**2).mean()) == pytest.approx(0.918676, abs=5e-7)
    assert np.corrcoef(both["score"], both["score_people"])[0, 1] == pytest.approx(0.177301, abs=5e-7)


def test_pairs_of_a_ranking_and_mean_of_probabilities() -> None:
    pairs = ranked(pd.DataFrame({"item": ["q"], "order": ['["y", ["x", "z"]]']}), "order").table
    assert list(pairs) == ["item", "call", "first", "second", "choice", "order_known"]
    assert pairs[["first", "second", "choice"]].to_numpy().tolist() == [
        ["x", "y", "second"],
        ["x", "z", "tie"],
        ["y", "z", "first"],
    ]
    assert pairs["order_known"].tolist() == ["false"] * 3
    means = expected(pd.DataFrame({"item": ["q"], "p1": ["0.25"], "p2": ["0.75"]}), "p{score}").table
    assert means.astype({"score": float}).to_dict("records") == [{"item": "q", "score": 1.75}]
