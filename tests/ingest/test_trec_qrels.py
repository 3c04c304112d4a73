"""TREC qrels: told by their lines, whatever the name of the file."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from judgestats import check, read
from judgestats.errors import DesignError, SchemaError
from judgestats.ingest import detect_format, source_info
from judgestats.ingest.native.trec_qrels import _run
from refusals import refused

Write = Callable[..., Path]
LINES = "q1 0 d1 3\nq1 0 d2 -1\n\nq2\t0\td1\t0\n"


@pytest.mark.parametrize("name", ["run-a.qrels.txt", "run-a.qrels", "run-a", "run-a.txt.gz"])
def test_grades(write: Write, name: str) -> None:
    path = write(name, LINES)
    assert (detect_format(path).format, detect_format(path).confidence) == ("qrels", "native")
    data = read(path)
    assert data[["judge", "item", "criterion", "score", "topic", "document"]].values.tolist() == [
        ["run-a", "q1/d1", "relevance", 3.0, "q1", "d1"],
        ["run-a", "q1/d2", "relevance", -1.0, "q1", "d2"],
        ["run-a", "q2/d1", "relevance", 0.0, "q2", "d1"],
    ]
    assert check(data).set_index("what").loc["rows in", "n"] == 3
    assert source_info(path)["rows"].tolist() == [3]


def test_options(write: Write) -> None:
    path = write("a.qrels", LINES)
    data = read(path, judge="NIST", rater_type="human", scale=(0, 3), off_scale="missing")
    assert data[["judge", "rater_type"]].drop_duplicates().values.tolist() == [["NIST", "human"]]
    assert data["status"].tolist() == ["ok", "off scale", "ok"]
    with pytest.raises(DesignError, match="rater_type='robot' is not known"):
        read(path, rater_type="robot")


def test_other_lines_are_not_qrels(write: Write) -> None:
    refused(
        SchemaError,
        ("q1 0 d1 3\n" * 30 + "q1 0 d3\n", r"a.txt, line 31: 'q1 0 d3' is not 'topic iteration document grade'"),
        ("q1 Q0 d1 1 9.5 run\n", "is not CSV"),
        ("q1 0 d1 high\n", "is not CSV"),
        ("a few plain words\n", "is not CSV"),
        of=lambda text: read(write("a.txt", text)),
    )
    assert detect_format(write("t.tsv", "judge\titem\tscore\tn\na\tb\t1\t2\n")).format == "tsv"


def test_several_runs(write: Write, tmp_path: Path) -> None:
    for name in ("one", "two"):
        write(f"{name}.qrels", LINES)
    data = read(f"{tmp_path}/*.qrels")
    assert data["judge"].tolist() == ["one"] * 3 + ["two"] * 3


@pytest.mark.real
def test_real_run(real_data: Path) -> None:
    """The run is a column of the wide table, row for row."""
    path = real_data / "llmjudge_trec_dl23" / "native_h2oloo-zeroshot2.qrels.txt"
    with gzip.open(real_data / "llmjudge_trec_dl23" / "labels_wide.csv.gz") as raw:
        wide = pd.read_csv(raw)
    data = read(path, judge="h2oloo-zeroshot2", rater_type="model")
    assert len(data) == 4423
    wanted = wide.assign(item=wide["qid"] + "/" + wide["docid"]).set_index("item")["h2oloo-zeroshot2"]
    assert (data.set_index("item")["score"] == wanted.reindex(data["item"])).all()


def test_run_is_the_name_without_suffixes() -> None:
    assert _run("h2oloo-zeroshot2.qrels.txt.gz") == "h2oloo-zeroshot2"
