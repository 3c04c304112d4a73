"""The model of self-preference: planted values, and what goes wrong without its terms."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit

from judgestats.errors import DesignError
from judgestats.models.bias_models.own_systems import self_preference
from judgestats.results import COLUMNS
from models.toys import cell
from refusals import refused

# ---------------------------------------------------------------- self-preference


def favouring(seed, own=0.8, sd=1.5, judges=5, items=40):
    """Every judge judges every pair of the judges' responses once; a response is worth something of its own."""
    rng = np.random.default_rng(seed)
    worth, quality = sd * rng.standard_normal((judges, items)), rng.normal(0, 0.5, judges)
    a, b = np.triu_indices(judges, 1)
    i, pair, j = (x.ravel() for x in np.meshgrid(np.arange(items), np.arange(len(a)), np.arange(judges), indexing="ij"))
    turned = rng.random(len(i)) < 0.5
    f, s = np.where(turned, b[pair], a[pair]), np.where(turned, a[pair], b[pair])
    lean = own * ((f == j).astype(float) - (s == j))
    eta = 0.2 + quality[f] - quality[s] + worth[f, i] - worth[s, i] + lean
    choice = np.where(rng.random(len(i)) < expit(eta), "first", "second")
    names = np.array([f"m{k}" for k in range(judges)])
    return pd.DataFrame(
        {"judge": names[j], "item": i.astype(str), "first": names[f], "second": names[s], "choice": choice}
    )


def rated(seed, own=0.3, sd=1.0, residual=0.5, judges=4, items=40):
    rng = np.random.default_rng(seed)
    worth, item = sd * rng.standard_normal((judges, items)), rng.normal(0, 0.5, items)
    j, s, i = (x.ravel() for x in np.meshgrid(np.arange(judges), np.arange(judges), np.arange(items), indexing="ij"))
    score = 5 + item[i] + worth[s, i] + own * (j == s) + residual * rng.standard_normal(len(i))
    names = np.array([f"m{k}" for k in range(judges)])
    return pd.DataFrame({"judge": names[j], "system": names[s], "item": i.astype(str), "score": score})


def own_effects(tables, scale):
    """(simulation, model) estimates and standard errors of the effect over all judges."""
    rows = [
        t[(t["judge"] == "all judges") & (t["term"] == "own") & (t["scale"] == scale)].set_index("model")
        for t in tables
    ]
    return (pd.DataFrame([r[c] for r in rows]).reset_index(drop=True) for c in ("estimate", "std_error"))


@pytest.mark.slow
def test_without_system_by_item_the_preference_shrinks():
    tables = [self_preference(favouring(seed), without_worth=True).table for seed in range(8)]
    estimate, se = own_effects(tables, "log-odds")
    mean = estimate.mean()
    assert mean["with system:item"] == pytest.approx(0.8, abs=0.1)
    assert mean["without system:item"] == pytest.approx(0.5, abs=0.08)
    covered = (estimate - 0.8).abs() < 1.96 * se
    assert covered["with system:item"].sum() >= 6
    assert covered["without system:item"].sum() <= 1
    points, _ = own_effects(tables, "percentage points")
    np.testing.assert_allclose(points["with system:item"], points["without system:item"], atol=1.5)


def test_the_biased_model_of_preferences_is_shown_when_asked_for_and_flagged():
    calls = favouring(0, judges=3, items=20)
    shown = self_preference(calls)
    assert set(shown.table["model"]) == {"with system:item"}
    assert not shown.tests["compared"].str.contains(", without").any()
    assert not any("without" in name for name in shown.fits)
    both = self_preference(calls, without_worth=True)
    wrong = both.table[(both.table["model"] == "without system:item") & (both.table["term"] == "own")]
    assert wrong["flag"].str.contains("biased: quality of each response not modelled").all()
    assert both.tests.loc[both.tests["compared"].str.contains(", without"), "flag"].str.contains("biased").all()
    right = both.table[both.table["model"] == "with system:item"].reset_index(drop=True)
    pd.testing.assert_frame_equal(right, shown.table)
    assert not right["flag"].str.contains("biased").any()
    question = "responses differ in worth"
    pd.testing.assert_series_equal(
        cell(both.tests, question=question), cell(shown.tests, question=question), check_names=False
    )


@pytest.mark.slow
def test_without_system_by_item_the_standard_error_of_ratings_is_twice_too_large():
    tables = [self_preference(rated(seed)).table for seed in range(20)]
    estimate, se = own_effects(tables, "score")
    np.testing.assert_allclose(estimate["with system:item"], estimate["without system:item"], atol=1e-6)
    assert estimate["with system:item"].mean() == pytest.approx(0.3, abs=0.03)
    true = estimate["with system:item"].std()
    # two-way table of judges and systems, 40 items: the interaction of a diagonal cell
    exact = 0.5 / math.sqrt(40 * 4 * (1 - 1 / 4))
    assert exact < se["with system:item"].mean() < 1.12 * exact  # an sd of tastes is not below 0
    assert true == pytest.approx(exact, rel=0.4)
    assert se["without system:item"].mean() > 1.9 * exact


def test_own_by_judge_and_tests():
    calls = favouring(0)
    model = self_preference(calls)
    each = model.table[(model.table["scale"] == "log-odds") & (model.table["term"] == "own")]
    each = each[(each["model"] == "with system:item") & (each["judge"] != "all judges")]
    assert len(each) == 5
    assert ((each["estimate"] - 0.8).abs() < 3 * each["std_error"]).all()
    questions = set(model.tests["question"])
    assert questions == {"own responses are favoured", "judges differ", "responses differ in worth"}
    favoured, differ = (cell(model.tests, question=q) for q in ("own responses are favoured", "judges differ"))
    assert (favoured["test"], favoured["df"]) == ("t", 15)
    assert (differ["test"], differ["df"], differ["df_error"]) == ("F", 4, 11)
    row = cell(model.table, judge="all judges", term="own", scale="log-odds")
    assert row["method"].endswith("t on 15")
    t = row["estimate"] / row["std_error"]
    assert favoured["p_value"] == pytest.approx(2 * stats.t.sf(abs(t), 15))
    assert row["conf_low"] == pytest.approx(row["estimate"] - stats.t.ppf(0.975, 15) * row["std_error"])
    assert cell(model.tests, question="responses differ in worth")["p_value"] < 1e-20
    assert list(model.table.columns) == ["judge", "model", *COLUMNS, "scale"]


def test_identity_and_family_are_the_same_here():
    calls = favouring(0, judges=3)
    renamed = calls.assign(judge=calls["judge"].str.replace("m", "judge "))
    wanted = self_preference(calls).table["estimate"]
    identity = {f"m{k}": f"judge {k}" for k in range(3)}
    np.testing.assert_allclose(self_preference(renamed, identity=identity).table["estimate"], wanted, rtol=1e-6)
    family = {**{f"m{k}": f"f{k}" for k in range(3)}, **{f"judge {k}": f"f{k}" for k in range(3)}}
    np.testing.assert_allclose(self_preference(renamed, family=family).table["estimate"], wanted, rtol=1e-6)
    told = renamed.assign(**{f"family_{s}": renamed[s].map(family) for s in ("first", "second")})
    judges_only = {k: v for k, v in family.items() if k.startswith("judge")}
    np.testing.assert_allclose(self_preference(told, family=judges_only).table["estimate"], wanted, rtol=1e-6)


def test_two_judges_and_two_systems_leave_no_tastes():
    with pytest.raises(DesignError, match=r"cannot be separated from a judge's taste.*third judge"):
        self_preference(rated(3, judges=2))
    third = self_preference(rated(3, judges=3, items=10).query("judge != 'm2'"))  # a system of neither judge
    each = third.table[(third.table["term"] == "own") & third.table["judge"].isin(["m0", "m1"])]
    assert each["estimate"].isna().all()
    assert each["flag"].str.contains("confounded with the quality").all()
    assert cell(third.tests, compared="own against none, with system:item")["df"] == 1
    assert "judges differ" not in set(third.tests["question"])


def tasted(seed, judges=4, items=12, sd=0.6):
    """Ratings without a self-preference, by judges with a taste for each system."""
    calls = rated(seed, own=0.0, judges=judges, items=items)
    tastes = sd * np.random.default_rng([seed, 1]).standard_normal((judges, judges))
    places = calls[["judge", "system"]].apply(lambda c: c.str[1:].astype(int)).to_numpy()
    return calls.assign(score=calls["score"] + tastes[places[:, 0], places[:, 1]])


@pytest.mark.parametrize("judges", [3, 4])
def test_tests_and_intervals_of_ratings_are_those_of_the_table_of_judges_by_systems(judges):
    """Complete ratings: least squares in the J x J means, by t on (J - 1)² - 1 and F on J - 1 and J² - 3J + 1."""
    calls = tasted(2, judges)
    model = self_preference(calls)
    means = calls.groupby(["judge", "system"], as_index=False)["score"].mean()
    names = [means["judge"], means["system"]]
    main = np.hstack([pd.get_dummies(n).to_numpy(float) for n in names])
    own = np.eye(judges)[:, :, None] * np.eye(judges)[:, None, :]
    own = own.reshape(judges, -1).T

    def squares(own_part):
        X = np.column_stack([main, own_part])
        effect, *_ = np.linalg.lstsq(X, means["score"].to_numpy(), rcond=None)
        rest = means["score"] - X @ effect
        return effect[-own_part.shape[1] :], float(rest @ rest), len(means) - np.linalg.matrix_rank(X)

    (effect, common, df), (_, each, df_each) = squares(own.sum(axis=1, keepdims=True)), squares(own)
    assert (df, df_each) == ((judges - 1) ** 2 - 1, judges**2 - 3 * judges + 1)
    row = cell(model.table, judge="all judges", term="own", model="with system:item")
    _, without, _ = squares(np.zeros((len(means), 0)))
    t = effect[0] / math.sqrt(effect[0] ** 2 * common / df / (without - common))
    test = cell(model.tests, compared="own against none, with system:item")
    assert row["estimate"] == pytest.approx(effect[0], abs=1e-6)
    assert test["statistic"] == pytest.approx(t, rel=1e-4)
    assert test["df"] == df
    assert test["p_value"] == pytest.approx(2 * stats.t.sf(abs(t), df), rel=1e-3)
    half = stats.t.ppf(0.975, df) * effect[0] / t
    assert [row["conf_low"], row["conf_high"]] == pytest.approx([effect[0] - half, effect[0] + half], rel=1e-3)
    F = (common - each) / (judges - 1) / (each / df_each)
    differ = cell(model.tests, compared="own by judge against common, with system:item")
    assert (differ["df"], differ["df_error"]) == (judges - 1, df_each)
    assert differ["statistic"] == pytest.approx(F, rel=1e-3)
    assert differ["p_value"] == pytest.approx(stats.f.sf(F, judges - 1, df_each), rel=1e-3)
    assert "sd(judge:system)" in set(model.table["term"])


def test_a_judge_that_judges_strangers():
    calls = rated(0)
    model = self_preference(calls.assign(judge=calls["judge"].replace("m3", "z")))
    row = model.table[model.table["judge"] == "z"].iloc[0]
    assert np.isnan(row["estimate"])
    assert "judges nothing of its own" in row["flag"]


def test_nobody_judges_its_own():
    calls = rated(0)
    refused(
        DesignError,
        (lambda: self_preference(calls.assign(judge="z" + calls["judge"])), "no judge judges its own"),
        (lambda: self_preference(calls, identity={"m9": "m0"}), "which is not a system"),
        (lambda: self_preference(calls, family={"m0": "a", "m1": "a", "m2": "b"}), "does not name 'm3'"),
    )


@pytest.mark.slow
def test_self_preference_of_scores_has_the_degrees_of_freedom_of_its_fit() -> None:
    rng = np.random.default_rng(4)
    seen = [(j, s, i) for i in range(6) for j in "abc" for s in "abc"]
    scores = pd.DataFrame(seen, columns=["judge", "system", "item"])
    worth = dict(
        zip(scores[["system", "item"]].drop_duplicates().itertuples(index=False), rng.normal(size=18), strict=True)
    )
    scores["score"] = [5 + worth[s, i] + (j == s) + rng.normal() / 2 for j, s, i in seen]
    found = self_preference(scores)
    own = found.table[found.table["term"] == "own"]
    fits = [f for f in found.fits.values() if "own" in f.names]
    assert fits
    halves = (own["conf_high"] - own["conf_low"]) / own["std_error"] / 2
    assert (halves > 1.97).all()
    assert own["method"].str.contains(", t on ").all()
