"""Rates corrected by a random sample of labels: published figures, strata, panels, known probabilities."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import stdtrit

import judgestats as js
from judgestats.errors import DesignError
from judgestats.kernels.proportions import wilson
from metrics.labelled import REAL, arena, frame, of


def freedom(table, coefficient):
    """Satterthwaite's degrees of freedom: residuals of the labelled rows, and verdicts of the others."""
    labelled = table["gold"].notna()
    samples = (table["gold"] - coefficient * table["score"])[labelled], coefficient * table["score"][~labelled]
    parts = [(x.var() / len(x), len(x) - 1) for x in samples]
    return sum(v for v, _ in parts) ** 2 / sum(v**2 / df for v, df in parts)


@pytest.mark.real
@pytest.mark.skipif(not REAL, reason="needs the public verdicts")
@pytest.mark.parametrize(
    ("ddof", "want"),
    [(1, (0.7552125043, 0.0099386434, 0.3708541005)), (0, (0.7552112572, 0.0099283136, 0.3704519397))],
)
def test_the_mean_of_the_arena_sample(ddof, want):
    table = arena()
    found = js.corrected_rate(table[table["system"] == "base"], sampling="random", ddof=ddof)
    row = of(found)
    got = (row["estimate"], row["std_error"], of(found, "lambda")["estimate"])
    np.testing.assert_allclose(got, want, atol=5e-11)
    np.testing.assert_allclose(got[:2], (0.75521011, 0.00992831), atol=1.1e-5)  # ppi_py 0.2.3
    given = js.corrected_rate(table[table["system"] == "base"], sampling="random", ddof=0, coefficient=0.37008149)
    np.testing.assert_allclose(of(given)[["estimate", "std_error"]].astype(float), (0.75521011, 0.00992831), atol=1e-8)
    df = freedom(table[table["system"] == "base"], got[2])
    half = float(stdtrit(df, 0.975)) * row["std_error"]
    assert row["conf_high"] - row["estimate"] == pytest.approx(half)


def test_strata_have_their_own_coefficient_and_known_weights():
    table = frame(seed=7, items=600, labelled=200).assign(topic=lambda t: np.where(t.index % 3 == 0, "law", "art"))
    weights = {"law": 0.6, "art": 0.4}
    found = js.corrected_rate(table, sampling="random", strata="topic", weights=weights)
    each = js.corrected_rate(table, sampling="random", by="topic").query("term == 'corrected_rate'").set_index("topic")
    row = of(found)
    assert row["estimate"] == pytest.approx(sum(weights[k] * each.loc[k, "estimate"] for k in weights))
    assert row["std_error"] == pytest.approx(np.hypot(*(weights[k] * each.loc[k, "std_error"] for k in weights)))
    assert {"lambda[law]", "lambda[art]"} <= set(found["term"])


def test_several_judges_together():
    table = frame(seed=8, judges=("g", "h"), right=0.8)
    found = js.corrected_rate(table, sampling="random", panel=True)
    assert found["judge"].eq("panel").all()
    assert {"lambda[g]", "lambda[h]"} <= set(found["term"])
    alone = js.corrected_rate(table[table["judge"] == "g"], sampling="random")
    assert of(found)["std_error"] <= of(alone)["std_error"]
    gap = table.assign(score=table["score"].where(table.index != 3))
    assert "1 verdict of an incomplete panel" in of(js.corrected_rate(gap, sampling="random", panel=True))[
        "flag"
    ].replace("verdicts", "verdict")


def test_a_rate_of_yes_and_no_has_wilsons_interval_with_its_standard_error():
    table = frame(seed=4, share=0.1)
    found = js.corrected_rate(table, sampling="random")
    row, df = of(found), freedom(table, of(found, "lambda")["estimate"])
    size = row["estimate"] * (1 - row["estimate"]) / row["std_error"] ** 2
    low, high = wilson(row["estimate"] * size, size, df=df)
    np.testing.assert_allclose((row["conf_low"], row["conf_high"]), (low, high), rtol=1e-12)


def test_probabilities_of_being_labelled():
    rng = np.random.default_rng(99)
    table = frame(seed=5, items=4000, labelled=4000, share=0.3)
    chance = np.where(table["score"] == 1, 0.5, 0.05)
    table["gold"] = table["gold"].where(rng.random(4000) < chance)
    found = js.corrected_rate(table.assign(chance=chance), label_probability="chance")
    row = of(found)
    assert row["conf_low"] < 0.3 < row["conf_high"]
    assert row["method"] == "inverse weights, MOVER of strata"
    labels = table.dropna(subset="gold").assign(w=1 / chance[table["gold"].notna()])
    by_labels = of(found, "label_rate")
    assert by_labels["estimate"] == pytest.approx(np.average(labels["gold"], weights=labels["w"]))
    assert by_labels["conf_low"] < 0.3 < by_labels["conf_high"]
    with pytest.raises(DesignError, match="above 0, and at most 1"):
        js.corrected_rate(table.assign(chance=0.0), label_probability="chance")


def rare_verdicts(rng, reps, n=3000, share=0.05, spread=0.0):
    """Labels are drawn with probability .5 where the verdict is yes, else .02, or about so."""
    truth = rng.random((reps, n)) < share
    verdict = np.where(rng.random((reps, n)) < 0.1, ~truth, truth)
    chance = np.clip(np.where(verdict, 0.5, 0.02) * np.exp(spread * rng.normal(size=truth.shape)), 0, 1)
    gold = np.where(rng.random((reps, n)) < chance, truth, np.nan)
    columns = {"correct": verdict, "gold": gold, "chance": chance}
    about = {"judge": "g", "study": np.repeat(np.arange(reps), n), "item": np.tile(np.arange(n), reps)}
    return pd.DataFrame({**about, **{k: v.ravel().astype(float) for k, v in columns.items()}})


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.0, 0.4])
def test_a_rare_answer_that_is_seldom_labelled_is_in_the_interval(spread):
    """Positive items that the judge misses are labelled with probability .02: most samples hold none of them."""
    table = rare_verdicts(np.random.default_rng(2), 60, spread=spread)
    found = js.corrected_rate(table, label_probability="chance", by="study").query("term == 'corrected_rate'")
    assert found["method"].eq("inverse weights, MOVER of strata").all()
    assert ((found["conf_low"] <= 0.05) & (found["conf_high"] >= 0.05)).mean() > 0.88


def test_repeats_of_a_verdict_are_no_more_labels():
    table = pd.concat([frame(seed=6, labelled=60).assign(replicate=k) for k in range(3)])
    found = js.corrected_rate(table, sampling="random")
    assert of(found)["n_labels"] == of(found, "label_rate")["n_labels"] == 60
    few = pd.concat([frame(seed=6, labelled=12).assign(replicate=k) for k in range(3)])
    assert "fewer than 10 labels in a class" in of(js.corrected_rate(few, sampling="random"))["flag"]


def test_ten_labelled_tasks_have_the_degrees_of_freedom_of_ten():
    table = frame(seed=7, items=1500, labelled=100).assign(task=lambda t: t.index // 10)
    found = js.corrected_rate(table, sampling="random", cluster="task")
    row = of(found)
    size = row["estimate"] * (1 - row["estimate"]) / row["std_error"] ** 2
    many = wilson(row["estimate"] * size, size, df=149)
    assert row["conf_high"] - row["conf_low"] > 1.05 * (many[1] - many[0])


def test_a_skewed_score_is_flagged():
    rng = np.random.default_rng(12)
    score = rng.lognormal(size=2000)
    table = pd.DataFrame({"judge": "g", "item": np.arange(2000), "score": score * rng.lognormal(size=2000)})
    table["gold"] = np.where(np.arange(2000) < 40, score, np.nan)
    assert "skewed scores" in of(js.corrected_rate(table, sampling="random"))["flag"]
    assert (
        "skewed scores"
        not in of(
            js.corrected_rate(
                np.log(table.drop(columns=["judge", "item"])).join(table[["judge", "item"]]), sampling="random"
            )
        )["flag"]
    )


def test_a_random_sample_of_one_class_has_no_interval():
    table = frame().assign(gold=lambda t: t["gold"].where(t["gold"].isna(), 1.0))
    row = of(js.corrected_rate(table, sampling="random"))
    assert row["estimate"] == 1.0
    assert np.isnan(row["conf_low"])
    assert "labels of one class only" in row["flag"]


def test_few_errors_among_the_labels_are_flagged():
    """With 40 labels and no error among them the judge may still err in 7 of 100 verdicts."""
    cells = [("yes", "yes", 12), ("no", "no", 28), ("yes", "none", 1320), ("no", "none", 2640)]
    table = pd.DataFrame(cells, columns=["verdict", "label", "n"]).assign(judge="g")
    said = "fewer than 5 errors of the judge among the labels"
    assert said in js.corrected_rate(table, sampling="random")["flag"].iloc[0]
    more = pd.DataFrame([("yes", "no", 3), ("no", "yes", 2)], columns=["verdict", "label", "n"]).assign(judge="g")
    assert said not in js.corrected_rate(pd.concat([table, more]), sampling="random")["flag"].iloc[0]


@pytest.mark.parametrize("chance", [0.0, 1.2, -0.1])
def test_a_probability_of_an_unlabelled_row_is_checked_too(chance):
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"judge": "g", "item": np.arange(60), "correct": rng.random(60) < 0.5, "chance": 0.5})
    table["gold"] = pd.Series(rng.random(60) < 0.5).where(np.arange(60) < 30)
    js.corrected_rate(table, label_probability="chance")
    with pytest.raises(DesignError, match=r"label_probability='chance' is .* in 1 row.*could never be labelled"):
        js.corrected_rate(table.assign(chance=np.where(np.arange(60) == 59, chance, 0.5)), label_probability="chance")
