"""A ratings datasheet: its mean is that of the score matrix, and spread is only what repeats show."""

import math

import numpy as np
import pandas as pd
import pytest

from judgestats.metrics.consensus import score_matrix
from judgestats.metrics.datasheets import datasheet


@pytest.fixture(scope="module")
def scores():
    """Unequal items per system and criteria per item; three numbered repeats."""
    rng = np.random.default_rng(2)
    rows = [
        {
            "judge": j,
            "system": s,
            "item": str(i),
            "criterion": c,
            "replicate": r,
            "score": float(rng.integers(1, 8) + 2 * (s == "b")),
        }
        for j in "gh"
        for s, items in (("a", 3), ("b", 12))
        for i in range(items)
        for c in ("x", "y")[: 1 + i % 2]
        for r in range(3)
    ]
    return pd.DataFrame(rows)


def row(table, term, judge="g"):
    return table[(table["term"] == term) & (table["judge"] == judge)].iloc[0]


def test_mean_score_is_the_mean_of_the_row_of_the_matrix(scores):
    sheet = datasheet(scores)
    matrix = score_matrix(scores)
    for judge in "gh":
        assert row(sheet, "mean_score", judge)["estimate"] == pytest.approx(
            matrix.loc[matrix["judge"] == judge, "estimate"].mean()
        )


def test_interval_of_a_balanced_mean_is_that_of_the_item_means():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        [{"judge": "g", "system": s, "item": str(i), "score": rng.normal()} for s in "abc" for i in range(20)]
    )
    got = row(datasheet(table), "mean_score")
    items = table.groupby("item")["score"].mean()
    assert got["std_error"] == pytest.approx(items.std(ddof=1) / math.sqrt(20))


def test_spread_is_over_numbered_repeats_only(scores):
    within = scores.groupby(["judge", "system", "item", "criterion"])["score"].std(ddof=1)
    want = math.sqrt((within["g"] ** 2).mean())
    assert row(datasheet(scores), "run_sd")["estimate"] == pytest.approx(want)
    apart = datasheet(scores.rename(columns={"replicate": "batch"}))  # what tells calls apart is not averaged over
    assert set(apart["batch"]) == set(scores["replicate"])
    unnumbered = scores.drop(columns="replicate")
    got = row(datasheet(unnumbered), "run_sd")
    assert math.isnan(got["estimate"])
    assert got["flag"] == "single run"
    assert "several scores per item averaged" in row(datasheet(unnumbered), "mean_score")["flag"]


def test_spread_does_not_mix_conditions(scores):
    shifted = pd.concat([scores.assign(condition="a"), scores.assign(condition="b", score=scores["score"] + 50)])
    assert row(datasheet(shifted), "run_sd")["estimate"] == pytest.approx(row(datasheet(scores), "run_sd")["estimate"])


def test_missing_counts_what_was_asked_for(scores):
    gone = scores.copy()
    gone.loc[gone.index[:4], "score"] = np.nan
    got = row(datasheet(gone), "missing")
    assert (round(got["estimate"] * got["n"]), got["n"]) == (4, (scores["judge"] == "g").sum())


def test_a_missing_group_has_a_mean(scores):
    some = scores.assign(language=np.where(scores["item"] == "0", None, "en"))
    sheet = datasheet(some, by="language")
    means = sheet[(sheet["term"] == "mean_score") & (sheet["judge"] == "g")]
    assert len(means) == 2
    assert means["estimate"].notna().all()
