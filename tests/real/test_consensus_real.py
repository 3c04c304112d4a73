"""Consensus measures on public verdicts, against plain pandas."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from judgestats.metrics.consensus import consensus_deviation, kendall_w, rank_correlation, score_matrix
from judgestats.schema import ratings

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def hanna(real_data):
    return pd.read_csv(real_data / "hanna" / "ratings_long.csv.gz")


@pytest.fixture(scope="module")
def models(hanna):
    """Five LLM raters with the first prompt; off-scale scores are failures."""
    return read(hanna[(hanna["rater_type"] == "llm") & (hanna["eval_prompt"] == 1)])


@pytest.fixture(scope="module")
def people(hanna):
    return read(hanna[hanna["rater_type"] == "human"])


def read(table):
    columns = {"judge": "rater", "system": "writer", "item": "prompt_index"}
    return ratings(table, **columns, scale=(1, 5), off_scale="missing")


def per_item(gaps, keys):
    """Mean over the criteria of an item, then over items: estimate, standard error, items."""
    items = gaps.dropna(subset="gap").groupby([*keys, "item"], observed=True)["gap"].mean()
    return items.groupby(keys, observed=True).agg(["mean", "sem", "count"])


def terms(result, name):
    return result[result["term"] == name]


def test_hanna_among_models(models):
    assert models["score"].isna().sum() > 0
    given = models.dropna(subset="score")
    cell = ["system", "item", "criterion"]
    total = given.groupby(cell, observed=True)["score"].transform("sum")
    count = given.groupby(cell, observed=True)["score"].transform("count")
    gaps = given.assign(gap=(given["score"] - (total - given["score"]) / (count - 1)).where(count > 1))
    expected = per_item(gaps, ["judge", "system"])
    result = consensus_deviation(models)
    got = terms(result, "deviation").set_index(["judge", "system"])
    assert len(got) == 55
    np.testing.assert_allclose(got[["estimate", "std_error", "n"]], expected.reindex(got.index), atol=1e-12)
    assert (got["method"] == [f"t over items (G = {int(n)})" for n in got["n"]]).all()
    aside = models.assign(lost=models["score"].isna()).groupby(["judge", "system"])["lost"].any()
    told = got["flag"].str.contains("missing scores excluded")
    pd.testing.assert_series_equal(told, aside.reindex(got.index), check_names=False)
    by_criterion = consensus_deviation(models, per_criterion=True)
    deviations = terms(by_criterion, "deviation").set_index(["criterion", "judge", "system"])
    expected = per_item(gaps, ["criterion", "judge", "system"]).reindex(deviations.index)
    np.testing.assert_allclose(deviations[["estimate", "std_error", "n"]], expected, atol=1e-12)


def test_hanna_zero_sum_in_every_complete_cell(models):
    complete = models.groupby(["system", "item"])["score"].transform(lambda s: s.notna().all())
    result = consensus_deviation(models[complete])
    sums = terms(result, "deviation").groupby("system")["estimate"].sum()
    assert len(sums) == 11
    assert sums.abs().max() < 1e-12


def test_hanna_against_people(models, people):
    truth = people.groupby(["system", "item", "criterion"])["score"].mean().rename("truth")
    gaps = models.join(truth, on=["system", "item", "criterion"]).assign(gap=lambda t: t["score"] - t["truth"])
    result = consensus_deviation(models, people)
    got = terms(result, "deviation").set_index(["judge", "system"])
    expected = per_item(gaps, ["judge", "system"])
    np.testing.assert_allclose(got[["estimate", "std_error", "n"]], expected.reindex(got.index), atol=1e-12)
    mean = terms(result, "mean_deviation").iloc[0]
    assert mean["estimate"] == pytest.approx(expected["mean"].mean(), abs=1e-12)
    assert mean["n"] == 55
    assert terms(result, "share_positive")["estimate"].item() == (expected["mean"] > 0).mean()
    assert not result["own"].any()


def test_hanna_orders_of_the_writers(models, people):
    got = rank_correlation(models, people).set_index(["judge", "term"])
    means = score_matrix(models).pivot(index="judge", columns="system", values="estimate")
    human = score_matrix(people).groupby("system")["estimate"].mean()
    for judge, scores in means.iterrows():
        for term, known in (("spearman", stats.spearmanr), ("kendall", stats.kendalltau)):
            expected = known(scores, human)
            assert got["estimate"][judge, term] == pytest.approx(expected.statistic, abs=1e-12)
            assert got["p_value"][judge, term] == pytest.approx(expected.pvalue, abs=1e-9)
    w = kendall_w(models).iloc[0]
    assert w["chi2"] == pytest.approx(stats.friedmanchisquare(*means.to_numpy().T).statistic)
    assert (w["judges"], w["n"]) == (5, 11)


def test_models_that_judge_each_other(real_data):
    """cross_eval: in a self-bias test the text is the judge's own, under another's label; failed calls have no score."""
    lines = (real_data / "cross_eval_masaomi" / "evaluations.jsonl").read_text().splitlines()
    rows = [
        {
            "judge": e["evaluator_key"],
            "system": e["evaluator_key"] if e["is_self_bias_test"] else e["evaluated_key"],
            "item": f"{e['run']}/{e['task_id']}",
            "criterion": c,
            "score": None if e["error"] else s,
        }
        for e in map(json.loads, lines)
        for c, s in e["scores"].items()
    ]
    table = pd.DataFrame(rows)
    again = table.groupby(["judge", "system", "item", "criterion"]).cumcount()  # one text, both other labels in turn
    table = ratings(table.assign(replicate=again))
    assert table["score"].isna().sum() == 20
    result = consensus_deviation(table)
    means = table.dropna(subset="score").groupby(["judge", "system", "item", "criterion"])["score"].mean().reset_index()
    cell = means.groupby(["system", "item", "criterion"])["score"]
    count = cell.transform("count")
    gaps = means.assign(gap=((means["score"] - cell.transform("mean")) * count / (count - 1)).where(count > 1))
    expected = per_item(gaps, ["judge", "system"])
    got = terms(result, "deviation").set_index(["judge", "system"])
    known = got.dropna(subset="estimate")
    assert set(known.index) == set(expected.index)
    assert len(known) >= 4
    np.testing.assert_allclose(known[["estimate", "n"]], expected.reindex(known.index)[["mean", "count"]], atol=1e-12)
    own = expected[expected.index.get_level_values(0) == expected.index.get_level_values(1)]["mean"].droplevel(1)
    assert len(own) >= 2
    mean_own = terms(result, "mean_own").set_index("judge")["estimate"]
    np.testing.assert_allclose(mean_own.dropna(), own.reindex(mean_own.dropna().index), atol=1e-12)
