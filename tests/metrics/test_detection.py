"""Areas under ROC curves beside pROC, scikit-learn and brute force."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.metrics import roc_curve as sklearn_curve

import judgestats as js
from judgestats import flags
from judgestats.errors import DesignError, SchemaError
from judgestats.metrics.correctness.detection import roc, roc_curve
from refusals import refused

REFERENCE = Path(__file__).parents[1] / "reference" / "detection.csv"


def printed() -> dict[str, list[float]]:
    """What detection.csv says of pROC."""
    line = REFERENCE.read_text().splitlines()[1]
    parts = re.findall(r"([a-z]+)((?: -?[0-9.]+)+)", line)
    return {name: [float(x) for x in numbers.split()] for name, numbers in parts}


def detected() -> pd.DataFrame:
    table = pd.read_csv(REFERENCE, comment="#")
    items = [f"i{i}" for i in range(len(table))]
    sides = [pd.DataFrame({"judge": j, "item": items, "score": table[j], "gold": table["y"]}) for j in "ab"]
    return js.ratings(pd.concat(sides, ignore_index=True))


def shared(seed: int = 0, items: int = 30) -> pd.DataFrame:
    """Scores of two judges on several responses to each item."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(items):
        level = rng.normal()
        for s in range(rng.integers(1, 6)):
            right = int(rng.random() < 0.4)
            for judge, skill in (("g", 1.5), ("h", 0.8)):
                rows.append((judge, f"s{s}", f"i{i}", round(skill * right + level + rng.normal(), 1), right))
    return js.ratings(pd.DataFrame(rows, columns=["judge", "system", "item", "score", "gold"]))


def test_proc_gives_the_same() -> None:
    expected, result = printed(), roc(detected(), fpr=0.2, baseline="b", n_resamples=20).set_index(["term", "judge"])
    for i, judge in enumerate("ab"):
        row = result.loc[("auroc", judge)]
        assert row["estimate"] == pytest.approx(expected["auc"][i], rel=1e-12)
        assert row["std_error"] == pytest.approx(math.sqrt(expected["variance"][i]), rel=1e-9)
    difference = result.loc[("auroc_difference", "a")]
    assert difference["estimate"] / difference["std_error"] == pytest.approx(expected["z"][0], rel=1e-9)
    assert result.loc[("partial_auroc", "a"), "estimate"] == pytest.approx(expected["partial"][0], rel=1e-9)
    corrected = roc(detected(), fpr=0.2, standardised=True, n_resamples=20).set_index(["term", "judge"])
    row = corrected.loc[("partial_auroc", "a")]
    assert row["estimate"] == pytest.approx(expected["standardised"][0], rel=1e-9)
    raw = result.loc[("partial_auroc", "a")]
    assert row["conf_low"] == pytest.approx((1 + (raw["conf_low"] - 0.02) / 0.18) / 2, rel=1e-9)


def test_scikit_learn_gives_the_same() -> None:
    calls = detected()
    result = roc(calls).set_index(["judge", "term"])["estimate"]
    curve = roc_curve(calls)
    for judge, part in calls.groupby("judge"):
        assert result[judge, "auroc"] == pytest.approx(roc_auc_score(part["gold"], part["score"]), rel=1e-12)
        precision = average_precision_score(part["gold"], part["score"])
        assert result[judge, "average_precision"] == pytest.approx(precision, rel=1e-12)
        fpr, tpr, _ = sklearn_curve(part["gold"], part["score"], drop_intermediate=False)
        ours = curve[curve["judge"] == judge]
        assert ours["fpr"].tolist() == pytest.approx(fpr.tolist())
        assert ours["tpr"].tolist() == pytest.approx(tpr.tolist())


def test_clusters_are_obuchowskis_by_brute_force() -> None:
    calls = shared().query("judge == 'g'")
    row = roc(calls).iloc[0]
    assert "Obuchowski" in row["method"]
    positive = calls[calls["gold"] == 1]
    negative = calls[calls["gold"] == 0]

    def ordered(a: float, b: float) -> float:
        return 1.0 if a > b else 0.5 if a == b else 0.0

    area = np.mean([ordered(a, b) for a in positive["score"] for b in negative["score"]])
    v10 = {i: np.mean([ordered(a, b) for b in negative["score"]]) for i, a in positive["score"].items()}
    v01 = {i: np.mean([ordered(a, b) for a in positive["score"]]) for i, b in negative["score"].items()}
    m, n = len(positive), len(negative)
    items = calls["item"].unique()
    ten = [sum(v10[i] - area for i in positive.index[positive["item"] == k]) for k in items]
    one = [sum(v01[i] - area for i in negative.index[negative["item"] == k]) for k in items]
    k10, k01, k = positive["item"].nunique(), negative["item"].nunique(), len(items)
    variance = k10 / (k10 - 1) * np.square(ten).sum() / m**2 + k01 / (k01 - 1) * np.square(one).sum() / n**2
    variance += 2 * k / (k - 1) * np.dot(ten, one) / (m * n)
    assert row["estimate"] == pytest.approx(area, rel=1e-12)
    assert row["std_error"] == pytest.approx(math.sqrt(variance), rel=1e-9)
    without = []
    for item in items:
        part = calls[calls["item"] != item]
        without.append(roc_auc_score(part["gold"], part["score"]))
    jackknife = math.sqrt((k - 1) / k * np.square(np.array(without) - np.mean(without)).sum())
    assert row["std_error"] == pytest.approx(jackknife, rel=0.05)


def test_average_precision_has_the_variance_of_its_jackknife() -> None:
    for calls, unit in ((shared().query("judge == 'h'"), "item"), (detected().query("judge == 'a'"), "item")):
        row = roc(calls).query("term == 'average_precision'").iloc[0]
        parts = [calls[calls[unit] != u] for u in calls[unit].unique()]
        without = np.array([average_precision_score(p["gold"], p["score"]) for p in parts])
        g = len(without)
        jackknife = math.sqrt((g - 1) / g * np.square(without - without.mean()).sum())
        assert row["std_error"] == pytest.approx(jackknife, rel=0.06)


def test_an_operating_point_is_the_lowest_threshold_allowed() -> None:
    calls = detected().query("judge == 'a'")
    result = roc(calls, fpr=[0.1, 0.3], n_resamples=200).set_index(["term", "fpr"])
    for rate in (0.1, 0.3):
        threshold = result.loc[("threshold_at_fpr", rate), "estimate"]
        said = calls["score"] >= threshold
        negative = calls["gold"] == 0
        assert said[negative].mean() <= rate
        assert result.loc[("sensitivity_at_fpr", rate), "estimate"] == pytest.approx(said[~negative].mean())
        lower = calls["score"] >= calls.loc[calls["score"] < threshold, "score"].max()
        assert lower[negative].mean() > rate
    inside = result[["estimate", "conf_low", "conf_high"]].dropna()
    assert ((inside["conf_low"] <= inside["estimate"]) & (inside["estimate"] <= inside["conf_high"])).all()


def test_draws_are_the_same_whatever_other_rates_are_wanted() -> None:
    calls = shared().query("judge == 'g'")
    both = roc(calls, fpr=[0.1, 0.3], n_resamples=200)
    alone = roc(calls, fpr=0.3, n_resamples=200)
    pd.testing.assert_frame_equal(both[both["fpr"] != 0.1].reset_index(drop=True), alone)


def test_counts_are_calls_and_order_does_not_matter() -> None:
    calls = detected()
    doubled = js.ratings(calls.assign(n=2), counts="n")
    once, twice = roc(pd.concat([calls, calls.assign(item="x" + calls["item"])])), roc(doubled, cluster=False)
    assert twice["estimate"].tolist() == pytest.approx(once["estimate"].tolist(), rel=1e-12)
    assert twice["std_error"].tolist() == pytest.approx(once["std_error"].tolist(), rel=1e-12)
    pd.testing.assert_frame_equal(roc(calls.sample(frac=1, random_state=1)), roc(calls))
    pl = pytest.importorskip("polars")
    pd.testing.assert_frame_equal(roc(pl.from_pandas(calls)), roc(calls))


def test_labels_name_what_is_detected() -> None:
    calls = detected()
    words = calls.assign(gold=calls["gold"].map({1: "unsafe", 0: "safe"}))
    assert roc(words, positive="unsafe")["estimate"].tolist() == roc(calls)["estimate"].tolist()
    opposite = roc(words, positive="safe").query("term == 'auroc'")["estimate"]
    assert opposite.tolist() == pytest.approx((1 - roc(calls).query("term == 'auroc'")["estimate"]).tolist())
    refused(
        DesignError,
        ({}, r"The labels are safe, unsafe: nothing says which .* positive="),
        ({"positive": "unsave"}, r"positive='unsave' is no label.*Did you mean 'unsafe'"),
        of=lambda options: roc(words, **options),
    )


def test_people_and_other_columns() -> None:
    calls = detected()
    people = calls.query("judge == 'a'").assign(judge="Ann", score=lambda t: t["gold"].astype(float))
    table = pd.concat([calls, people], ignore_index=True).drop(columns="gold")
    result = roc(table, humans="Ann")
    assert result["estimate"].tolist() == roc(calls)["estimate"].tolist()
    assert set(result["other"]) == {"Ann"}
    confident = calls.rename(columns={"score": "confidence"}).assign(correct=True)
    assert roc(confident, value="confidence")["estimate"].tolist() == roc(calls)["estimate"].tolist()
    with pytest.raises(SchemaError, match=r"value='confidense' is not a column"):
        roc(confident, value="confidense")


def test_what_cannot_be_said_says_why() -> None:
    calls = detected().query("judge == 'a'")
    for label in (0, 1):
        rows = roc(calls.assign(gold=label))
        assert rows["estimate"].isna().all()
        assert rows["flag"].str.contains(flags.ONE_CLASS_ONLY).all()
    flat = roc(calls.assign(score=3.0)).set_index("term")
    assert flat.loc["auroc", "estimate"] == 0.5
    assert flags.NO_SPREAD in flat.loc["auroc", "flag"]
    perfect = roc(calls.assign(score=calls["gold"] * 1.0)).set_index("term")
    assert perfect.loc["auroc", "estimate"] == 1
    assert perfect.loc["auroc", ["conf_low", "conf_high"]].isna().all()
    assert roc(calls.assign(score=calls["score"] * 1000 - 7)).equals(roc(calls))  # any score ranks
    few = roc(calls, fpr=0.01, n_resamples=50).query("term == 'sensitivity_at_fpr'")
    assert few["flag"].str.contains("negatives beyond the threshold").all()
    refused(
        DesignError,
        (lambda: roc(calls, fpr=1.5), r"fpr=1\.5 must be between 0 and 1"),
        (lambda: roc(calls, baseline="z"), "baseline='z' is no judge"),
        (lambda: roc(js.datasets.load("llmbar")), SchemaError, "Scores are ratings"),
    )


@pytest.mark.slow
@pytest.mark.parametrize("cluster", [False, True])
def test_areas_cover(cluster: bool) -> None:
    """Intervals of area and average precision, with and without clusters; 300 samples."""
    rng = np.random.default_rng(7)
    hits = {"auroc": 0, "average_precision": 0}

    def sample(items: int, rng: np.random.Generator) -> pd.DataFrame:
        size = rng.integers(1, 5, items) if cluster else np.ones(items, dtype=int)
        item = np.repeat(np.arange(items), size)
        level = rng.normal(size=items)[item] * 0.6 * cluster
        right = (rng.random(item.size) < 0.3).astype(int)
        score = right * 1.0 + level + rng.normal(size=item.size)
        return pd.DataFrame({"judge": "g", "system": np.arange(item.size), "item": item, "score": score, "gold": right})

    truth = roc(sample(200_000, rng), cluster=False).set_index("term")["estimate"]
    for _ in range(300):
        rows = roc(js.ratings(sample(80, rng))).set_index("term")
        for term in hits:
            hits[term] += rows.loc[term, "conf_low"] <= truth[term] <= rows.loc[term, "conf_high"]
    assert min(hits.values()) >= 300 * 0.95 - 3 * math.sqrt(300 * 0.95 * 0.05), hits
