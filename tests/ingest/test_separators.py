"""What separates the columns of a table in text."""

from __future__ import annotations

import pytest

from judgestats.errors import SchemaError
from judgestats.ingest import read
from refusals import refused


@pytest.mark.parametrize(
    "text",
    [
        "judge;item;score\ng;1;3\ng;2;4\n",
        "judge|item|score\ng|1|3\ng|2|4\n",
        "judge\titem\tscore\ng\t1\t3\ng\t2\t4\n",
        'judge;item;score;a note, perhaps\ng;1;3;"x;y"\ng;2;4;\n',
    ],
)
def test_the_separator_is_told_by_the_first_rows(text, tmp_path):
    for name in ("t.csv", "t.txt"):
        (tmp_path / name).write_text(text)
        assert read(tmp_path / name)[["judge", "item", "score"]].values.tolist() == [["g", "1", 3.0], ["g", "2", 4.0]]


def test_a_separator_that_is_named_goes_before_the_first_rows(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("judge~item~score\ng~1~3\n")
    assert read(path, sep="~")["score"].tolist() == [3.0]
    wide = tmp_path / "wide.csv"
    wide.write_text("judge,item,score\ng,1,3\ng,1;2,4,5\n")
    refused(
        SchemaError,
        (lambda: read(path, sep="~~"), r"sep='~~' should be one character, such as ';'"),
        (lambda: read(wide), "4 fields where the header has 3"),  # a row too wide is no other separator
    )


def test_a_decimal_comma_in_a_file_with_semicolons_is_pointed_out(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("judge;item;score\ng;1;3,5\ng;2;4,5\n")
    with pytest.raises(SchemaError, match="Pass decimal=',' if 3,5 is a number with a decimal comma"):
        read(path)
    assert read(path, decimal=",")["score"].tolist() == [3.5, 4.5]
