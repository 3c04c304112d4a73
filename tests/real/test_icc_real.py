"""Intraclass correlations of public verdicts: psych on the TREC labels, HANNA's people and models."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from judgestats.metrics.agreement import decision_study, icc, variance_components
from judgestats.schema import ratings

pytestmark = pytest.mark.real
REFERENCE = Path(__file__).parents[1] / "reference"


@pytest.fixture(scope="module")
def trec(real_data):
    """33 runs label 4,423 query-passage pairs from 0 to 3; three labels are off that scale."""
    wide = pd.read_csv(real_data / "llmjudge_trec_dl23" / "labels_wide.csv.gz")
    long = wide.drop(columns="gold").melt(["qid", "docid"], var_name="judge", value_name="score")
    return ratings(long, system="docid", item="qid", judge="judge", scale=(0, 3), off_scale="missing")


def agree(got, name, **tolerance):
    expected = pd.read_csv(REFERENCE / name, comment="#").iloc[:, 1:].to_numpy(float)
    columns = ["estimate", "F", "df1", "df2", "p_value", "conf_low", "conf_high"]
    np.testing.assert_allclose(got[columns].to_numpy(float), expected, **tolerance)


def test_forty_trec_pairs_as_psych_has_them(trec):
    pairs = trec["item"].astype(str) + "/" + trec["system"].astype(str)
    missing = set(pairs[trec["score"].isna()])
    first = [p for p in dict.fromkeys(pairs) if p not in missing][:40]
    published = icc(trec[pairs.isin(first)], subjects=["item", "system"], cluster=False)
    agree(published, "icc_trec_head.csv", rtol=1e-9, atol=1e-200)


def test_trec_labels_as_psych_has_them(trec):
    """psych's components come from lmer here, which stops about 1e-5 before the optimum."""
    assert (trec["status"] == "off scale").sum() == 3
    got = icc(trec, subjects=["item", "system"], cluster=False)
    agree(got, "icc_trec.csv", rtol=5e-5, atol=1e-12)
    assert (got["flag"] == "calls not independent; 3 subjects dropped; 3 scores missing").all()
    assert (got["n"] == 4420).all()
    assert (got["raters"] == 33).all()


def test_trec_by_reml_uses_all_pairs(trec):
    some = trec[trec["item"].isin(sorted(trec["item"].unique())[:4])]
    dropped, kept = (icc(some, subjects=["item", "system"], incomplete=i) for i in ("drop", "reml"))
    assert (kept["n"] >= dropped["n"]).all()
    np.testing.assert_allclose(kept["estimate"], dropped["estimate"], atol=0.01)
    assert (kept["conf_low"] < kept["estimate"]).all()


@pytest.fixture(scope="module")
def hanna(real_data):
    return pd.read_csv(real_data / "hanna" / "ratings_long.csv.gz")


def read(table):
    columns = {"judge": "rater", "system": "writer", "item": "prompt_index"}
    return ratings(table, **columns, scale=(1, 5), off_scale="missing")


def test_people_of_hanna_are_no_fixed_persons(hanna):
    people = read(hanna[hanna["rater_type"] == "human"])
    got = icc(people, subjects=["system", "item"], by="criterion", exchangeable=True)
    assert set(got["term"]) == {"ICC(1,1)", "ICC(1,k)"}
    assert (got["n"] == 1056).all()
    assert (got["raters"] == 3).all()
    wide = people[people["criterion"] == "CH"].pivot(index=["system", "item"], columns="judge", values="score")
    between = 3 * wide.mean(axis=1).var(ddof=1)
    within = wide.var(axis=1, ddof=1).mean()
    expected = (between - within) / (between + 2 * within)
    row = got[(got["criterion"] == "CH") & (got["term"] == "ICC(1,1)")]
    assert row["estimate"].item() == pytest.approx(expected, rel=1e-10)


def test_models_of_hanna_by_facets(hanna):
    """Five models with failed scores: REML as lme4 has it; the writers are what is measured."""
    some = (hanna["criterion"] == "CH") & (hanna["prompt_index"] < 24)
    models = read(hanna[(hanna["rater_type"] == "llm") & (hanna["eval_prompt"] == 1) & some])
    components = variance_components(models)
    stored = pd.read_csv(REFERENCE / "components_hanna.csv", comment="#").set_index("term")["variance"]
    stored = stored.rename({"Residual": "residual"}).loc[components["term"]]
    np.testing.assert_allclose(components["estimate"], stored, rtol=1e-4, atol=1e-7)
    assert set(components["method"]) == {"REML, Satterthwaite"}
    assert components["flag"].str.contains("missing scores excluded").all()
    assert components["share"].sum() == pytest.approx(1)
    assert (components["conf_low"] < components["estimate"]).all()
    study = decision_study(components, judges=[1, 5])
    five = study[(study["judges"] == 5) & (study["term"] == "generalizability")]["estimate"].item()
    one = study[(study["judges"] == 1) & (study["term"] == "generalizability")]["estimate"].item()
    assert 0 < one < five < 1
