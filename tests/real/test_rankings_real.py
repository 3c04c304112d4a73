"""Published rankings: the Elo ratings of a Korean Arena-Hard board, and people's votes on MT-bench."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import judgestats as js

pytestmark = pytest.mark.real

BASELINE = "claude-3.7-sonnet"
#: One of its thousand games is missing in the files; the board had it.
ODD = "o4-mini-high"


@pytest.fixture(scope="module")
def arena(real_data: Path) -> pd.DataFrame:
    """Two games on each question, the baseline first in one and second in the other; a strong win counts three times."""
    rows = []
    with gzip.open(real_data / "arena_hard_ko" / "all_ensemble_judgments.jsonl.gz", "rt") as lines:
        for line in lines:
            record = json.loads(line)
            for turned, game in enumerate(record["games"]):
                shown = (BASELINE, record["model"])[:: -1 if turned else 1]
                score = game["score"]
                choice = {"A": "first", "B": "second"}[score[0]] if "=" not in score else "tie"
                rows.append((record["judge"], record["question_id"], *shown, choice, 3 if len(score) == 4 else 1))
    table = pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice", "n_identical"])
    return table.assign(replicate=range(len(table)))


def test_the_elo_ratings_of_a_board(arena: pd.DataFrame, real_data: Path) -> None:
    """Arena-Hard's board: Bradley-Terry by maximum likelihood, ties half, 1000 for the baseline."""
    found = js.rank_systems(arena, ties="half", reference=BASELINE).query("term == 'strength'").set_index("system")
    elo = 1000 + 400 / np.log(10) * found["estimate"]
    board = pd.read_csv(real_data / "arena_hard_ko" / "published_leaderboard_no_control.csv").set_index("model")
    off = (elo[board.index] - board["elo_score"]).abs()
    assert len(off) == 76
    assert off.drop(ODD).max() < 0.001
    assert off[ODD] < 0.5
    assert found["flag"].str.contains("calls of a system with itself excluded").all()


def test_votes_of_people_on_mt_bench(real_data: Path) -> None:
    """The order of MT-bench's paper; claude-v1 and gpt-3.5-turbo do not differ significantly."""
    votes = pd.read_csv(real_data / "mt_bench" / "human_judgments.csv.gz")
    calls = pd.DataFrame(
        {
            "judge": votes["judge"],
            "item": votes["question_id"].astype(str) + "/" + votes["turn"].astype(str),
            "first": votes["model_a"],
            "second": votes["model_b"],
            "choice": votes["winner"].map({"model_a": "first", "model_b": "second", "tie": "tie"}),
            "replicate": range(len(votes)),
        }
    )
    found = js.rank_systems(calls, stability=["item", "judge"])
    assert "clustered by item x judge (G = 65)" in found["method"].iloc[0]  # 65 people are a sample of people
    ranks = found[found["term"] == "rank"].set_index("system")
    assert list(ranks.index) == ["gpt-4", "claude-v1", "gpt-3.5-turbo", "vicuna-13b-v1.2", "alpaca-13b", "llama-13b"]
    assert ranks.loc[["claude-v1", "gpt-3.5-turbo"], ["conf_low", "conf_high"]].to_numpy().tolist() == [[2, 3], [2, 3]]
    others = ranks.drop(["claude-v1", "gpt-3.5-turbo"])
    assert (others["conf_low"] == others["conf_high"]).all()
    stable = found.set_index("term")["estimate"]
    assert 0.8 < stable["stability_item"] < 1
    assert 0.8 < stable["stability_judge"] < 1
