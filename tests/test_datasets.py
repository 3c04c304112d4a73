"""The real data sets of the package: what their authors and their descriptions say of them."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import SchemaError
from judgestats.ingest import example_sets

ROOT = Path(__file__).parents[1]


def test_a_row_a_set_and_it_is_right():
    listed = js.datasets.names().set_index("name")
    assert len(listed) == 6
    for name, row in listed.iterrows():
        table = js.datasets.load(name)
        people = table["judge"][table["rater_type"] == "human"].nunique() if "rater_type" in table else 0
        assert (len(table), table["judge"].nunique() - people, people) == (row["rows"], row["judges"], row["people"])
    assert set(listed["licence"]) == {"MIT", "Apache-2.0"}
    assert sum(p.stat().st_size for p in (ROOT / "data" / "verdicts").iterdir()) < 2**20


def test_consistency_is_that_of_the_authors():
    """Their log for claude-3-haiku: 128 of 192, 129 of 191 and 116 of 192, a verdict without a partner consistent."""
    calls = js.datasets.load("mtbench_position").query("judge == 'claude-3-haiku-20240307'")
    pairs = calls.assign(winner=calls["first"].where(calls["choice"] == "first", calls["second"]))
    pairs["winner"] = pairs["winner"].mask(pairs["choice"] == "tie", "tie")
    valid = pairs[pairs["choice"] != "invalid"]
    other = valid["first"].where(valid["first"] != "vicuna-13b-v1.3", valid["second"])
    answers = valid.groupby(["replicate", "item", other])["winner"].transform("nunique")
    assert (answers == 1).groupby(valid["replicate"].astype(int)).sum().to_dict() == {1: 128, 2: 129, 3: 116}
    assert valid.groupby("replicate").size().tolist() == [192, 191, 192]
    ours = js.consistency(calls, by="replicate").query("term == 'consistency'")
    assert ours.set_index("replicate")["estimate"].round(4).iloc[[0, 2]].tolist() == [
        round(128 / 192, 4),
        round(116 / 192, 4),
    ]


def test_kappas_of_the_people_of_pandalm():
    people = js.datasets.load("pandalm").query("rater_type == 'human'")
    assert sorted(js.kappa(people)["estimate"].round(3)) == [0.852, 0.862, 0.879]


def test_gold_strategies_and_equal_scores_of_llmbar():
    calls = js.datasets.load("llmbar")
    assert (calls["choice"] == "invalid").sum() == 273
    equal = (calls["choice"] == "tie").groupby(calls["strategy"].str.startswith("Rating")).sum()
    assert equal.to_dict() == {False: 0, True: 2 * 714}


def test_scores_off_the_scale_of_hanna_are_counted():
    scores = js.datasets.load("hanna")
    assert scores["score"].between(1, 5).sum() + scores["score"].isna().sum() == len(scores)
    (row,) = js.check(scores).query("what.str.contains('missing')").to_dict("records")
    assert row["n"] == scores["score"].isna().sum() == 346


def test_the_position_of_claude_in_the_frontier_set():
    calls = js.datasets.load("frontier_self_bias").query("judge == 'claude-haiku-4-5'")
    assert calls["choice"].value_counts().to_dict() == {"first": 352, "tie": 141, "second": 79}
    family = js.datasets.names().set_index("name").loc["frontier_self_bias", "family"]
    assert family == {"gpt-5.6-luna": "openai", "gpt-5-mini": "openai", "claude-haiku-4-5": "anthropic"}


@pytest.mark.parametrize("name", ["mtbench_position", "hanna"])
def test_lazy_and_by_name_of_a_source(name):
    frame = js.datasets.load(name)
    pd.testing.assert_frame_equal(js.read(f"example:{name}"), frame)
    assert js.datasets.load(name, lazy=True).count("*").fetchall() == [(len(frame),)]


def test_an_unknown_name_lists_them():
    with pytest.raises(
        SchemaError, match=r"no data set 'llmbr'\. There are: mtbench_position, .*Did you mean 'llmbar'"
    ):
        js.datasets.load("llmbr")


def test_a_damaged_file_is_refused(tmp_path, monkeypatch):
    shutil.copytree(ROOT / "data" / "verdicts", tmp_path / "verdicts")
    path = tmp_path / "verdicts" / "pandalm.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    monkeypatch.setattr(example_sets, "data_folder", lambda: tmp_path)
    with pytest.raises(SchemaError, match=r"'pandalm' is missing or damaged"):
        js.datasets.load("pandalm")


@pytest.mark.real
def test_the_script_writes_what_is_there(real_data, tmp_path, monkeypatch):
    import example_sets as script

    for name, (make, columns, _) in script.SETS.items():
        made = make(real_data)[columns].reset_index(drop=True)
        table = js.datasets.load(name)
        assert len(made) == len(table)
        for column in columns:
            assert made[column].astype("str").tolist() == table[column].astype("str").tolist(), (name, column)
