"""Kappa and alpha of real answers: what the authors print, and what R computes from the definition."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import cohen_kappa_score

from judgestats.counting.tallies import tally
from judgestats.metrics.agreement import ac1, alpha, kappa
from metrics.tables import but_for_clustering

pytestmark = pytest.mark.real
REFERENCE = Path(__file__).parents[1] / "reference" / "alpha.csv"
PEOPLE = ["annotator1", "annotator2", "annotator3"]


@pytest.fixture(scope="module")
def pandalm(real_data):
    """Verdicts of three people: 0 a tie, 1 the first, 2 the second."""
    table = pd.read_csv(real_data / "pandalm" / "verdicts.csv", dtype={"idx": str})
    table = table.rename(columns={"idx": "item", "model_1": "first", "model_2": "second"})
    long = table.melt(["item", "first", "second"], PEOPLE, "judge", "said")
    return long.assign(choice=long["said"].map({0: "tie", 1: "first", 2: "second"})).drop(columns="said")


@pytest.fixture(scope="module")
def hanna(real_data):
    """Scores of five models with four prompts; off the scale of 1 to 5 they are missing."""
    table = pd.read_csv(real_data / "hanna" / "ratings_long.csv.gz", low_memory=False)
    table = table[table["rater_type"] == "llm"]
    names = {"rater": "judge", "writer": "system", "eval_prompt": "prompt"}
    table = table.rename(columns=names).assign(item=table["prompt_index"].astype(str))
    table["prompt"] = table["prompt"].astype(int).astype(str)
    table["score"] = table["score"].where(table["score"].between(1, 5))
    return table[["judge", "system", "item", "criterion", "prompt", "score"]]


def test_the_people_of_pandalm(pandalm):
    """Wang et al. 2024, Section 4: kappa of the pairs of annotators 0.85, 0.86 and 0.88."""
    result = kappa(pandalm)
    assert (result["n"] == 999).all()
    np.testing.assert_allclose(result["estimate"], [0.852, 0.879, 0.862], atol=5e-4)
    wide = pandalm.pivot(index=["item", "first", "second"], columns="judge", values="choice")
    for row in result.itertuples():
        assert row.estimate == pytest.approx(cohen_kappa_score(wide[row.judge], wide[row.other]), rel=1e-12)
    pd.testing.assert_frame_equal(but_for_clustering(kappa(tally(pandalm, "kappa"))), result)
    mean = kappa(pandalm, pairs="average", interval="percentile").iloc[0]
    assert mean["estimate"] == pytest.approx(result["estimate"].mean(), rel=1e-12)
    # the three pairs share their things, so their mean is less steady than three samples would be
    assert result["std_error"].mean() / np.sqrt(3) < mean["std_error"] < result["std_error"].mean()


def test_coefficients_of_all_people(pandalm):
    """Nearly even margins and no missing answers: the coefficients are close, and the intervals hold them."""
    fleiss, gwet = kappa(pandalm, pairs="fleiss").iloc[0], ac1(pandalm).iloc[0]
    krippendorff = alpha(pandalm).iloc[0]
    assert krippendorff["estimate"] == pytest.approx(
        fleiss["estimate"] + (1 - fleiss["estimate"]) / (3 * 999), rel=1e-9
    )
    assert fleiss["estimate"] < gwet["estimate"] < fleiss["estimate"] + 0.05
    assert krippendorff["std_error"] == pytest.approx(fleiss["std_error"], rel=0.05)


def test_the_machines_of_hanna(hanna):
    """48 alphas of R (see the script), of 1,056 stories each."""
    stored = pd.read_csv(REFERENCE, comment="#").query("data == 'hanna'")
    assert len(stored) == 48
    for level, part in stored.groupby("level"):
        result = alpha(hanna, level_of_measurement=level, by=["prompt", "criterion"], interval=None)
        keys = result["prompt"] + " " + result["criterion"]
        np.testing.assert_allclose(result["estimate"], part.set_index("part")["alpha"][keys], rtol=0, atol=1e-12)
    assert result["flag"].str.contains("rated once").any() or result["n"].eq(1056).all()
    whole = alpha(hanna, level_of_measurement="interval", by="prompt", n_resamples=200)
    assert (whole["conf_low"] < whole["estimate"]).all()
    assert (whole["estimate"] < whole["conf_high"]).all()
