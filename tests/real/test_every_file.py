"""Every public file of verdicts is read by one call, with the rows that its description names; the others are refused.

The files are in ``public_files.py``; docs/formats.md lists them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from judgestats.errors import SchemaError
from judgestats.ingest import read
from judgestats.schema import check
from judgestats.schema.account import account_of
from judgestats.schema.columns import answer_column
from public_files import EMPTY, FILES, LARGE, NONE, NOT_READ, ONE_TWO

pytestmark = pytest.mark.real


def read_as(real_data: Path, name: str, arguments: dict[str, Any], rows: int, missing: int) -> pd.DataFrame:
    """Read a file, and compare its rows with those that its description names."""
    frame: pd.DataFrame = read(real_data / name, **arguments)
    account = account_of(frame)
    assert account is not None
    assert len(frame) == rows
    if "choice" in frame:
        assert int((frame["choice"] == "invalid").sum()) == missing
    else:
        assert int(frame[answer_column(frame.columns)].isna().sum()) == missing
    return frame


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_by_one_call(real_data: Path, name: str) -> None:
    arguments, rows, missing = FILES[name]
    frame = read_as(real_data, name, arguments, rows, missing)
    told = check(frame).set_index("what")["n"]
    assert told["rows in"] == told["rows used"] + told["rows excluded"]
    assert told["rows used"] == rows - missing


@pytest.mark.full
@pytest.mark.parametrize("name", LARGE)
def test_a_large_file_is_read_by_one_call(real_data: Path, name: str) -> None:
    read_as(real_data, name, *LARGE[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", NONE)
def test_a_file_without_a_verdict_is_refused(real_data: Path, name: str) -> None:
    with pytest.raises(SchemaError, match="the columns are not canonical, and no mapping was given"):
        read(real_data / name)


@pytest.mark.slow
@pytest.mark.parametrize("name", EMPTY)
def test_a_file_of_a_tool_without_a_verdict_says_so(real_data: Path, name: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(EMPTY[name])):
        read(real_data / name)


def test_no_file_is_forgotten(real_data: Path) -> None:
    known = {*FILES, *LARGE, *NONE, *NOT_READ, *EMPTY}
    known |= {
        f"{f}/{p.name}" for f in ("llmbar", "judgebench") for p in (real_data / f).glob("*") if "native" in p.name
    }
    known |= {f"judgebench/{p.name}" for p in (real_data / "judgebench").glob("dataset=*")}
    known |= {f"alpaca_eval/{p.name}" for p in (real_data / "alpaca_eval").glob("native_first30*")}
    found = {p.relative_to(real_data).as_posix() for p in real_data.glob("*/*")}
    assert found - known == set()


def test_ties_of_ratings_are_no_wins_of_the_second(real_data: Path) -> None:
    """LLMBar writes equal scores (714 pairs of 2,928) as a win of what was shown second, in either order: a false bias."""
    table = pd.read_csv(real_data / "llmbar" / "verdicts.csv.gz", dtype=str)
    table = table[table["score_1"].notna() & (table["strategy"] == "Rating")]
    equal = (table["score_1"] == table["score_2"]).to_numpy()
    assert equal.sum() > 100
    mapping = {"judge": "evaluator", "item": "subset+item", "first": "=1", "second": "=2", "winner": "winner",
               "swapped": "swapped", "task": "subset", "gold": None}  # fmt: skip
    written = read(table, columns=mapping)
    assert (written["choice"].to_numpy()[equal] == "second").all()
    table.loc[equal, "winner"] = "tie"
    true = read(table, columns=mapping)

    assert (true["choice"].to_numpy()[equal] == "tie").all()
    share = [(f["choice"] == "second").mean() - (f["choice"] == "first").mean() for f in (written, true)]
    assert share[0] > 0.1
    assert share[0] - share[1] == pytest.approx(equal.mean())


def test_failed_calls_scored_zero_are_excluded(real_data: Path) -> None:
    """Without failed= they are scores of 0.0; `check` says so."""
    arguments, rows, _ = FILES["cross_eval_masaomi/evaluations.jsonl"]
    columns = {n: c for n, c in arguments["columns"].items() if n != "failed"}
    kept = read(real_data / "cross_eval_masaomi" / "evaluations.jsonl", wide=arguments["wide"], columns=columns)
    assert len(kept) == rows
    failed = kept["error"].notna()
    assert kept.loc[failed, "score"].tolist() == [0.0] * 20
    frame = read_as(real_data, "cross_eval_masaomi/evaluations.jsonl", arguments, rows, 20)
    assert frame["status"].eq("error").sum() == 20
    assert frame["score"].mean() > kept["score"].mean()


def test_empty_texts_are_told_from_short_ones(real_data: Path) -> None:
    """72 verdicts compare two empty texts, all ties; 306 compare an empty text with a full one, none a tie."""
    name = "self_bias_frontier/pairwise.csv.gz"
    frame = read_as(real_data, name, *FILES[name])
    empty = (frame["chars_first"] == 0).astype(int) + (frame["chars_second"] == 0).astype(int)
    assert frame.loc[empty == 2, "choice"].tolist() == ["tie"] * 72
    assert (empty == 1).sum() == 306
    assert "tie" not in set(frame.loc[empty == 1, "choice"])


def test_mixed_alphabets_of_labels(real_data: Path) -> None:
    """People say 1, 2, 0; one judge says 1, 2, Tie, garbage: one alphabet after labels=, and an error without."""
    name = "pandalm/verdicts.csv"
    frame = read_as(real_data, name, *FILES[name])
    assert set(frame["choice"]) == {"first", "second", "tie", "invalid"}
    assert set(frame.loc[frame["choice"] == "invalid", "judge"]) == {"gpt_3_5_turbo"}
    arguments = {**FILES[name][0], "labels": ONE_TWO}
    with pytest.raises(SchemaError, match=r"has 'Tie'|has 'garbage'"):
        read(real_data / name, **arguments)


def test_line_breaks_in_fields(real_data: Path) -> None:
    """The places count lines of the file, not rows."""
    name = "position_bias_mtbench/verdicts.csv.gz"
    frame = read_as(real_data, name, *FILES[name])
    assert frame["judge_tail"].str.contains("\n").any()
    account = account_of(frame)
    assert account is not None
    assert int(account.places[len(frame) - 1].rpartition(" ")[2]) > len(frame) + 1
