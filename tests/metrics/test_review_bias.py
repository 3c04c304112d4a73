"""Bad and awkward input to the measures of bias, and what must not depend on it."""

from __future__ import annotations

import math

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

from judgestats.errors import DesignError, SchemaError, confidence
from judgestats.kernels.proportions import clustered_wilson
from judgestats.metrics.bias import (
    best_of_accuracy,
    bias_change,
    bias_score,
    length_reading,
    minimum_detectable_effect,
    preference_gap,
    preference_rate,
    score_error,
)
from judgestats.metrics.bias.human_preferences import agreement
from judgestats.metrics.consensus.calibration import calibrate
from judgestats.metrics.rates import Bootstrap, clustered_cell_mean, clustered_difference
from judgestats.schema.counting import tally
from judgestats.verdicts.composites import composite


def calls(n: int = 40, judges: str = "gh", seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame([(j, f"i{i}") for j in judges for i in range(n)], columns=["judge", "item"])
    size = len(table)
    return table.assign(
        first="x",
        second="y",
        choice=rng.choice(["first", "second", "tie", "invalid"], size, p=[0.4, 0.3, 0.2, 0.1]),
        target="x",
        topic=[f"t{i % 3}" for i in range(size)],
        length_first=rng.integers(1, 9, size).astype(float),
        length_second=rng.integers(1, 9, size).astype(float),
        strength=rng.random(size),
    )


def scores(n: int = 12) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    rows = [(j, f"i{i}", s) for j in "gh" for i in range(n) for s in "abc"]
    table = pd.DataFrame(rows, columns=["judge", "item", "system"])
    right = np.tile(rng.random(3 * n), 2)
    return table.assign(criterion="c", score=rng.random(len(table)), gold="a", right=right)


# ---------------------------------------------------------------- rows are told


@pytest.mark.parametrize("lazy", [False, True])
def test_a_length_that_is_not_a_number_has_no_longer_side(lazy: bool) -> None:
    table = calls()
    table.loc[::3, "length_first"] = np.nan
    data = pl.from_pandas(table, nan_to_null=False).with_columns(pl.col("length_first").fill_null(math.nan))
    assert data["length_first"].is_nan().sum() == table["length_first"].isna().sum()
    result = bias_score(data.lazy() if lazy else data, attribute="length")
    pd.testing.assert_frame_equal(result, bias_score(table, attribute="length"), check_dtype=False)


def test_calls_without_the_column_of_a_mean_are_told() -> None:
    table = calls(judges="g")
    table["topic"] = table["topic"].where(np.arange(len(table)) % 4 > 0, None)
    result = bias_score(table, over="topic")
    assert result["flag"].str.contains("10 calls without topic").all()
    assert result.loc[result["term"] == "invalid", "n"].sum() == len(table) - 10


def test_independent_samples_tell_their_invalid_calls_and_keep_a_judge_with_nothing_else() -> None:
    counts = pd.DataFrame(
        {
            "judge": ["g"] * 4 + ["h"] * 2,
            "strategy": ["B0", "B0", "B0", "S5", "B0", "S5"],
            "outcome": ["target", "other", "invalid", "target", "invalid", "invalid"],
            "n": [60, 20, 7, 50, 40, 40],
        }
    )
    result = bias_change(counts, cluster=False)
    told = result[result["term"] == "change"].set_index("judge")["flag"]
    assert told["g"] == "7 calls without an answer excluded"
    assert told["h"] == "no data; 80 calls without an answer excluded"
    assert (result.loc[result["judge"].isna(), "flag"] == "1 of 2 judges").all()


def test_a_length_reading_tells_invalid_calls() -> None:
    kinds = ["expansion", "expansion", "expansion", "truncation", "truncation"]
    answers = ["target", "other", "invalid", "target", "invalid"]
    counts = pd.DataFrame({"judge": "g", "bias": kinds, "outcome": answers, "n": [34, 14, 20, 40, 10]})
    assert length_reading(counts, cluster=False)["flag"].tolist() == [
        "20 invalid calls excluded",
        "10 invalid calls excluded",
    ]
    assert length_reading(counts, invalid="tie", cluster=False)["flag"].tolist() == ["", ""]


def test_a_gap_tells_invalid_calls() -> None:
    counts = pd.DataFrame({"judge": ["a", "a", "g", "g"], "outcome": ["target", "invalid"] * 2, "n": [30, 5, 40, 6]})
    result = preference_gap(counts, people=["a"])
    told = {
        "judge": "6 invalid calls excluded",
        "people": "5 invalid calls excluded",
        "person": "5 invalid calls excluded",
    }
    assert (result["flag"] == result["role"].map(told)).all()
    assert (preference_gap(counts, people=["a"], invalid="wrong")["flag"] == "").all()


def test_an_absent_score_is_a_missing_score() -> None:
    table = scores()
    gone = (table["judge"] == "g") & (table["system"] == "c") & table["item"].isin(["i0", "i1", "i2"])
    absent, missing = best_of_accuracy(table[~gone]), best_of_accuracy(table.assign(score=table["score"].mask(gone)))
    pd.testing.assert_frame_equal(absent, missing)
    assert absent["n"].tolist() == [9.0] * 3 + [12.0] * 3
    assert absent.loc[0, "flag"] == "n < 30; 3 items not scored excluded"


def test_items_not_scored_are_told_for_a_group_without_a_name() -> None:
    table = scores().assign(kind=np.where(np.arange(72) % 36 < 18, 1.0, np.nan))
    table.loc[table["kind"].isna() & (table["system"] == "b"), "score"] = np.nan
    result = best_of_accuracy(table, by="kind")
    assert result.loc[result["kind"].isna(), "flag"].str.contains("6 items not scored").all()


# ---------------------------------------------------------------- intervals


@pytest.mark.parametrize(("k", "n"), [(15, 22), (13, 23), (7, 25), (1, 2)])
def test_clusters_that_are_alike_but_for_rounding(k: int, n: int) -> None:
    hits, sizes = np.full(12, float(k)), np.full(12, float(n))
    error, low, high = clustered_wilson(hits, sizes)
    assert error == 0
    assert high - low > 0.05
    counts = np.column_stack([hits, np.zeros(12), sizes - hits])
    whole = clustered_difference(counts)
    assert whole["conf_high"] - whole["conf_low"] > 0.05
    cells = clustered_cell_mean(counts[:, None, :], np.ones(1))
    assert cells["conf_high"] - cells["conf_low"] > 0.05


def test_a_two_way_bootstrap_that_resamples_alike_leaves_a_doubt() -> None:
    options = {"target": "first", "cluster": ["item", "topic"], "interval": "percentile", "n_resamples": 50}
    same = bias_score(calls().assign(choice="first"), **options)
    assert same["flag"].str.startswith("calls not independent").all()
    mixed = bias_score(calls(), **options)
    assert not mixed["flag"].str.contains("not independent").any()


def test_a_two_way_bootstrap_allows_for_pairs_judged_twice() -> None:
    table = pd.concat([calls(), calls(seed=5)], ignore_index=True).assign(replicate=np.repeat([0, 1], 80))
    table["topic"] = np.resize(["t0", "t1", "t2", "t3", "t4"], len(table))
    options = {"interval": "percentile", "n_resamples": 50}
    crossed = bias_score(table, cluster=["item", "topic"], **options)
    assert not crossed["flag"].str.contains("not independent").any()
    assert bias_score(table, cluster=False, **options)["flag"].str.contains("not independent").any()


# ---------------------------------------------------------------- people


def test_several_answers_of_one_annotator_count_as_shares_in_any_order() -> None:
    rng = np.random.default_rng(3)
    people = pd.DataFrame(
        {
            "judge": rng.choice(["a", "b", "c"], 200),
            "_pair": rng.integers(0, 12, 200),
            "outcome": rng.choice(["target", "other", "tie"], 200),
            "n": 1.0,
        }
    )
    told = agreement(people)["annotator_agreement"]["estimate"]
    assert agreement(people.sample(frac=1, random_state=1))["annotator_agreement"]["estimate"] == pytest.approx(told)
    share = people.groupby(["_pair", "judge"])["outcome"].value_counts(normalize=True).unstack(fill_value=0.0)
    brute = [
        float(one @ two)
        for _, here in share.groupby(level=0)
        for i, one in enumerate(here.to_numpy())
        for two in here.to_numpy()[i + 1 :]
    ]
    assert told == pytest.approx(np.mean(brute))
    assert agreement(people)["annotator_agreement"]["n"] == len(brute)


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize("n", [-1.0, None, "x", math.inf])
def test_a_count_that_is_none_is_refused(n: object) -> None:
    bad = calls().assign(n_identical=1.0).astype({"n_identical": object})
    bad.loc[3, "n_identical"] = n
    bad = bad if isinstance(n, str) else bad.astype({"n_identical": float})
    measures = [bias_score, preference_rate, lambda d: preference_rate(d, graded=True)]
    for measure in [*measures, lambda d: preference_gap(d, people=["h"])]:
        with pytest.raises(SchemaError, match="'n_identical' is a count of calls"):
            measure(bad)
    if n is None:
        with pytest.raises(SchemaError, match="'n_identical' is a count of calls"):
            bias_score(pl.from_pandas(bad).lazy())


@pytest.mark.parametrize("n", [-1, None])
def test_a_lazy_count_that_is_none_is_refused(n: int | None) -> None:
    wrong = pl.when(pl.col("item") == "i3").then(n).otherwise(2)
    data = pl.from_pandas(calls()).with_columns(n_identical=wrong)
    with pytest.raises(SchemaError, match="'n_identical' is a count of calls"):
        tally(data.lazy(), "slot_lean")
    whole = tally(data.with_columns(n_identical=pl.lit(2)).lazy(), "slot_lean")
    assert nw.from_native(whole)["n"].sum() == 160


@pytest.mark.parametrize("level", [0, 1, 95, -0.5, math.nan, "0.95"])
def test_a_coverage_outside_0_and_1_is_refused(level: float) -> None:
    for measure in (bias_score, preference_rate, lambda d, **o: preference_gap(d, people=["h"], **o)):
        with pytest.raises(DesignError, match="conf_level="):
            measure(calls(), conf_level=level)
    with pytest.raises(DesignError, match="conf_level="):
        score_error(scores(), "right", conf_level=level)
    with pytest.raises(DesignError, match="conf_level="):
        calibrate(scores(), conf_level=level)
    with pytest.raises(DesignError, match="conf_level="):
        length_reading(calls().assign(bias=np.resize(["expansion", "truncation"], 80)), conf_level=level)
    assert confidence(0.9) == 0.9


@pytest.mark.parametrize(
    "options",
    [{"seed": -1}, {"seed": "a"}, {"n_resamples": 10.5}, {"n_resamples": "9"}, {"cluster": ("item", "item")}],
)
def test_a_bootstrap_that_cannot_be_is_refused(options: dict[str, object]) -> None:
    with pytest.raises(DesignError, match=f"{next(iter(options))}="):
        Bootstrap(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("column", ["first", "second"])
def test_a_candidate_that_is_missing_is_refused(column: str) -> None:
    bad = calls()
    bad[column] = bad[column].where(np.arange(len(bad)) > 2, None)
    with pytest.raises(SchemaError, match="missing in 3 of 80 rows"):
        preference_rate(bad)


def test_a_strategy_that_is_missing_is_refused() -> None:
    table = calls().assign(strategy=np.resize(["B0", "S5", None], 80))
    with pytest.raises(SchemaError, match="'strategy' is missing"):
        bias_change(table)
    counts = pd.DataFrame({"judge": "g", "strategy": ["B0", "S5", None], "outcome": "target", "n": [30, 30, 1]})
    with pytest.raises(SchemaError, match="'strategy' is missing"):
        bias_change(counts)


@pytest.mark.parametrize(
    ("measure", "words"),
    [
        (lambda: bias_score(calls(), over="judge"), "over='judge' splits the result already"),
        (lambda: bias_score(calls(), by="topic", over="topic"), "over='topic' splits the result already"),
        (lambda: bias_score(calls(), family={"g": None, "h": "H"}), "gives the judge 'g' no family"),
        (lambda: bias_change(calls().assign(strategy="B0"), by="strategy"), "by='strategy'"),
        (
            lambda: length_reading(
                calls().assign(bias=np.resize(["expansion", "truncation"], 80)), cluster=["item", "topic"]
            ),
            "takes one cluster",
        ),
        (lambda: preference_rate(calls(), by="choice"), "by='choice'"),
        (lambda: preference_rate(calls().assign(strength="much"), graded=True), "'strength' is 'much'"),
        (lambda: preference_gap(calls().assign(judge=[None, *"g" * 40, *"h" * 39]), people=["h"]), "'judge' is miss"),
        (lambda: best_of_accuracy(scores().drop(columns="item")), "neither canonical frame"),
        (lambda: best_of_accuracy(scores(), by="system"), "'system' is what"),
        (lambda: best_of_accuracy(scores().assign(replicate=0), runs="a"), "runs='a'"),
        (lambda: score_error(scores().drop(columns="item"), "right"), "neither canonical frame"),
        (lambda: score_error(scores().assign(right="good"), "right"), "'right' is no number: 'good'"),
        (lambda: score_error(scores(), "right", cluster=["item", "system"]), "one column"),
        (lambda: calibrate(scores(), folds="a"), "folds='a'"),
        (lambda: calibrate(scores(), folds=2.5), "folds=2.5"),
        (lambda: composite(scores().assign(score="good")), "'score' is no number: 'good'"),
        (lambda: minimum_detectable_effect([100, 200], discordance=[0.1, 0.2, 0.3]), "lists of one length"),
        (lambda: minimum_detectable_effect("many", discordance=0.1), "are numbers"),
        (lambda: minimum_detectable_effect(math.inf, discordance=0.1), "n is a number of items"),
    ],
)
def test_what_cannot_be_is_refused_in_words(measure: object, words: str) -> None:
    with pytest.raises((DesignError, SchemaError), match=words):
        measure()  # type: ignore[operator]


def test_a_family_need_not_be_text_and_a_frame_may_be_empty() -> None:
    table = calls()
    named = bias_score(table, family={"g": "1", "h": "2", "x": "1", "y": "2"})
    numbered = bias_score(table, family={"g": 1, "h": 2, "x": 1, "y": 2})  # type: ignore[dict-item]
    pd.testing.assert_frame_equal(named, numbered)
    assert not len(bias_score(table.iloc[:0], family={"g": "1"}))


def test_a_mean_over_fewer_cells_than_another_judge_has_is_told() -> None:
    table = calls()
    result = bias_score(table[(table["judge"] == "g") | (table["topic"] != "t2")], over="topic")
    means = result[result["term"] == "mean"].set_index("judge")["flag"]
    assert means.to_dict() == {"g": "", "h": "n < 30; mean of 2 of 3 cells"}


def test_two_candidates_of_one_name_have_no_target() -> None:
    table = calls().assign(second=np.where(np.arange(80) % 4 == 0, "x", "y"))
    result = bias_score(table)
    assert result["flag"].str.contains("10 calls without target excluded").all()
    pd.testing.assert_frame_equal(
        result.drop(columns="flag"), bias_score(table[table["second"] == "y"]).drop(columns="flag")
    )


def test_names_that_are_numbers_match_whatever_their_type() -> None:
    table = scores()
    table["item"] = table["item"].str[1:].astype(int)
    gold = pd.DataFrame({"item": np.arange(12.0), "score": np.arange(12.0)})
    named = gold.assign(item=[str(i) for i in range(12)])
    pd.testing.assert_frame_equal(score_error(table, gold), score_error(table, named))
    assert (score_error(table, gold)["n"] == 36).all()
    table["system"] = table["system"].map({"a": 1, "b": 2, "c": 3})
    told = best_of_accuracy(table, right=1)  # type: ignore[arg-type]
    assert told["n"].tolist() == [12.0] * 6
    table["gold"] = np.where(table["item"] == 0, np.nan, 1.0)
    assert best_of_accuracy(table)["n"].tolist() == [11.0] * 6
