"""The audit on tables that it has never seen: AlpacaEval's leaderboards, with a rules file of a few lines."""

from pathlib import Path

import pandas as pd
import pytest

import judgestats as js

pytestmark = pytest.mark.real

RULES = Path(__file__).parents[2] / "docs" / "leaderboard.toml"
ERROR, DISCRETE = "standard error", "discrete win rate"


@pytest.fixture(scope="module")
def board(real_data):
    def read(name: str) -> pd.DataFrame:
        return js.audit(real_data / "alpaca_eval" / f"published_leaderboard_{name}.csv", rules=RULES)

    return read


def odd(found: pd.DataFrame, claim: str = "") -> list[str]:
    here = found[found["verdict"].eq("does not follow") & found["claim"].str.contains(claim, regex=False)]
    return [c.partition(",")[0] for c in here["claim"]]


@pytest.mark.parametrize("name", ["gpt4_turbo_fn", "cot_gpt4_turbo_fn"])
def test_two_boards_follow_whole(board, name):
    assert set(board(name)["verdict"]) == {"follows"}


def test_the_first_board_has_three_standard_errors_that_its_counts_do_not_give(board):
    found = board("alpaca_eval_gpt4")
    assert odd(found) == ["humpback-llama2-70b", "humpback-llama-65b", "baize-v2-7b"]
    assert (
        found.loc[found["claim"].str.contains(DISCRETE), "verdict"] == "cannot be decided"
    ).sum() == 42  # not printed


@pytest.mark.slow
def test_the_weighted_board_has_a_discrete_rate_that_its_counts_do_not_give(board):
    found = board("weighted_gpt4_turbo")
    assert odd(found, DISCRETE) == ["aligner-2b_gpt-4-turbo-2024-04-09"]
    (row,) = found[found["claim"].str.contains(DISCRETE) & found["verdict"].eq("does not follow")].to_dict("records")
    assert row["printed"].startswith("40.186")
    assert row["recomputed"] == pytest.approx(100 * (371 + 17 / 2) / 805)
    assert odd(found, "sorted by") == ["sorted by win rate"]  # it is sorted by the length-controlled rate


@pytest.mark.slow
def test_graded_preferences_have_smaller_errors_than_wins_and_losses(board):
    """The weighted judge grades; its printed errors are below those of 0, 1/2 and 1 in nearly every row."""
    found = board("weighted_gpt4_turbo")
    errors = found[found["claim"].str.contains(ERROR) & found["printed"].ne("0.0")]
    below = errors["printed"].astype(float) < errors["recomputed"].astype(float)
    assert below.mean() > 0.95
