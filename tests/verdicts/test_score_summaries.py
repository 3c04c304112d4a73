"""Scores of several judges or runs become the score of a panel."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import trim_mean

from judgestats.errors import DesignError
from judgestats.schema import check
from judgestats.verdicts import aggregate
from refusals import refused


def scores_of_systems(values: dict[str, list[float | None]], systems: str = "ab") -> pd.DataFrame:
    """Judge -> its scores of the systems."""
    rows = [
        {"judge": judge, "system": system, "item": "1", "criterion": "overall", "score": score}
        for judge, row in values.items()
        for system, score in zip(systems, row, strict=True)
    ]
    return pd.DataFrame(rows).astype({"score": float})


PANEL = scores_of_systems({"a": [9, 5], "b": [6, 8], "c": [7, 4], "d": [1, 4], "e": [6, 4]})


@pytest.mark.parametrize(
    ("how", "expected"), [("mean", [5.8, 5.0]), ("median", [6.0, 4.0]), ("trimmed", [19 / 3, 13 / 3])]
)
def test_rules(how, expected):
    result = aggregate(PANEL, how, over="judge")
    assert result["judge"].tolist() == ["panel", "panel"]
    assert result["system"].tolist() == ["a", "b"]
    assert result["score"].tolist() == pytest.approx(expected)
    assert result["n_calls"].tolist() == [5, 5]
    assert (check(result)["level"] != "fault").all()


def test_trimming_is_an_argument():
    assert aggregate(PANEL, "trimmed", over="judge", trim=0.4)["score"].tolist() == [6.0, 4.0]
    assert aggregate(PANEL, "trimmed", over="judge", trim=0.0)["score"].tolist() == pytest.approx([5.8, 5.0])
    with pytest.raises(DesignError, match=r"trim=0.5"):
        aggregate(PANEL, "trimmed", over="judge", trim=0.5)


def test_own_scores_left_out():
    result = aggregate(PANEL, "mean", over="judge", exclude_own=True)
    assert result["score"].tolist() == [5.0, 4.25]
    assert result["n_calls"].tolist() == [4, 4]
    assert (result["status"] == "ok").all(), "a judge that is left out is not missing"
    named = PANEL.assign(system=PANEL["system"].map({"a": "Expert 1", "b": "Expert 2"}))
    mapped = aggregate(named, "mean", over="judge", exclude_own={"Expert 1": "a"})
    assert mapped["score"].tolist() == [5.0, 5.0]


def test_own_scores_bad_maps():
    refused(
        DesignError,
        (
            lambda: aggregate(PANEL.replace({"system": {"a": "y", "b": "z"}}), "mean", over="judge", exclude_own=True),
            r"exclude_own=True needs judges that are systems too. Judges: a, b",
        ),
        (
            lambda: aggregate(PANEL, "mean", over="judge", exclude_own={"z": "q"}),
            r"maps system to judge. system 'z' is not.* judge 'q' is not",
        ),
        (
            lambda: aggregate(PANEL.assign(replicate=0), "mean", over="replicate", exclude_own=True),
            r"needs over='judge'",
        ),
    )


def test_a_system_that_only_its_own_judge_scored():
    alone = scores_of_systems({"a": [9, 5]})
    result = aggregate(alone, "mean", over="judge", exclude_own=True)
    assert result["score"].isna().tolist() == [True, False]
    assert result["status"].tolist() == ["missing partner", "ok"]
    assert result["n_calls"].tolist() == [0, 1]


def test_missing_scores():
    gaps = PANEL.assign(score=PANEL["score"].where(PANEL.index != 0)).drop(index=3)
    strict = aggregate(gaps, "mean", over="judge")
    assert strict["score"].isna().all()
    assert strict["status"].tolist() == ["parse", "missing partner"]
    lenient = aggregate(gaps, "mean", over="judge", missing="ignore")
    assert lenient["score"].tolist() == [5.0, 4.25]
    told = aggregate(gaps.assign(status=np.where(gaps["score"].isna(), "off scale", "ok")), "mean", over="judge")
    assert told["status"].tolist() == ["off scale", "missing partner"]
    own = aggregate(gaps, "mean", over="judge", exclude_own=True)
    assert own["score"].tolist() == [5.0, 4.25], "what is missing is only each judge's own"


def test_over_replicates_within_judge_and_condition():
    runs = pd.concat([PANEL.assign(replicate=r, score=PANEL["score"] + r) for r in range(3)])
    result = aggregate(runs, "mean", over="replicate")
    assert result["score"].tolist() == (PANEL.sort_values(["judge", "system"])["score"] + 1).tolist()
    assert "replicate" not in result
    assert aggregate(runs, "mean", over="judge")["score"].tolist() == pytest.approx([5.8, 6.8, 7.8, 5.0, 6.0, 7.0])
    assert aggregate(runs, "mean", over=["judge", "replicate"])["score"].tolist() == pytest.approx([6.8, 6.0])


def test_columns_of_scores_are_carried_along():
    table = PANEL.assign(condition="blind", domain="law", rationale="so", era=["n", "o"] * 5, seed=range(10))
    result = aggregate(table, "mean", over="judge")
    assert result["era"].tolist() == ["n", "o"]
    assert result["domain"].tolist() == ["law", "law"]
    assert not {"rationale", "seed"} & set(result.columns)


def test_means_are_scores_too():
    table = PANEL.rename(columns={"score": "mean"}).assign(sd=0.5, runs=3)
    result = aggregate(table, "mean", over="judge")
    assert result["mean"].tolist() == pytest.approx([5.8, 5.0])
    assert not {"sd", "runs", "score"} & set(result.columns)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "how='swap' is not known. Allowed: 'mean', 'median', 'trimmed'"),
        ({"how": "mean"}, "over='order' is not known. Allowed: 'judge'"),
        ({"how": "mean", "over": "system"}, "over='system' is not known"),
        ({"how": lambda *votes: "u", "over": "judge"}, "A callable rule is for preferences"),
    ],
)
def test_unknown_options_for_scores(arguments, message):
    with pytest.raises(DesignError, match=message):
        aggregate(PANEL, **arguments)


def test_polars():
    result = aggregate(pl.from_pandas(PANEL), "median", over="judge", exclude_own=True)
    assert isinstance(result, pl.DataFrame)
    assert result["score"].to_list() == aggregate(PANEL, "median", over="judge", exclude_own=True)["score"].tolist()


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.integers(1, 10), min_size=1, max_size=7), min_size=1, max_size=4),
    st.sampled_from([0.1, 0.2, 0.34]),
)
def test_summaries_against_numpy_and_scipy(groups, trim):
    table = pd.DataFrame(
        [
            {"judge": f"j{k}", "system": "s", "item": str(i), "criterion": "overall", "score": float(score)}
            for i, row in enumerate(groups)
            for k, score in enumerate(row)
        ]
    ).sample(frac=1, random_state=1)
    for how, peer in (("mean", np.mean), ("median", np.median), ("trimmed", lambda x: trim_mean(x, trim))):
        result = aggregate(table, how, over="judge", missing="ignore", trim=trim)
        assert result["score"].tolist() == pytest.approx([peer(row) for row in groups])
