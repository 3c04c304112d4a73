"""Files that the commands are tried on."""

import pandas as pd
import pytest


@pytest.fixture(autouse=True)
def width_of_a_pipe(monkeypatch):
    """Workers of the tests have COLUMNS; a pipe has not."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def canonical(tmp_path):
    calls = pd.DataFrame(
        {
            "judge": "g",
            "item": [*"112233"],
            "first": [*"xyxyxy"],
            "second": [*"yxyxyx"],
            "choice": ["first", "second", "tie", "tie", "first", "invalid"],
        }
    )
    path = tmp_path / "calls.csv"
    calls.to_csv(path, index=False)
    return path


@pytest.fixture
def unknown(tmp_path):
    table = pd.DataFrame(
        {
            "evaluator": "g",
            "question_id": [1, 1, 2, 2],
            "model_a": [*"xyxy"],
            "model_b": [*"yxyx"],
            "verdict": [*"ABCA"],
            "repetition": 0,
            "has_reference": [0, 1, 0, 1],
        }
    )
    path = tmp_path / "table.csv"
    table.to_csv(path, index=False)
    return path


@pytest.fixture
def scores_file(tmp_path):
    rows = [(j, s, i, 1 + (n * 7 + m * 3 + i) % 5)
            for n, j in enumerate("gh") for m, s in enumerate("xyz") for i in range(4)]  # fmt: skip
    path = tmp_path / "scores.csv"
    pd.DataFrame(rows, columns=["judge", "system", "item", "score"]).to_csv(path, index=False)
    return path


@pytest.fixture
def labelled(tmp_path):
    """Verdicts, and labels of two people in a file of another shape."""
    (tmp_path / "calls.csv").write_text("judge,item,first,second,choice\ng,1,x,y,first\ng,2,x,y,second\ng,3,x,y,tie\n")
    (tmp_path / "labels.csv").write_text("q,who,vote\n1,Ann,x\n1,Bob,x\n2,Ann,y\n2,Bob,x\n9,Ann,x\n")
    options = ["--labels-file", str(tmp_path / "labels.csv"), "--on", "item=q", "--labels-map", "judge=who,winner=vote"]
    return str(tmp_path / "calls.csv"), options
