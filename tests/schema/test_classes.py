"""Verdicts that are classes: which there are, and what measures take them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import judgestats as js
from judgestats.errors import DesignError, SchemaError
from refusals import refused


def three_classes() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    right = rng.choice(["low", "mid", "top"], 60)
    rows = [
        (judge, f"i{i}", r if rng.random() < skill else rng.choice(["low", "mid", "top"]))
        for judge, skill in (("g", 0.9), ("h", 0.7), ("k", 0.8))
        for i, r in enumerate(right)
    ]
    return pd.DataFrame(rows, columns=["judge", "item", "answer"])


def coded() -> pd.DataFrame:
    """The same with a number for each class."""
    numbers = three_classes()["answer"].map({"low": 1.0, "mid": 2.0, "top": 3.0})
    return js.ratings(three_classes().drop(columns="answer").assign(score=numbers))


@pytest.mark.parametrize("measure", ["kappa", "scott_pi", "ac1", "alpha"])
def test_classes_agree_as_numbers_of_classes_do(measure: str) -> None:
    function = getattr(js, measure)
    expected = function(coded(), **({"level_of_measurement": "nominal"} if measure == "alpha" else {}))
    pd.testing.assert_frame_equal(function(js.ratings(three_classes())), expected)
    polars = js.ratings(pl.from_pandas(three_classes()).lazy())
    pd.testing.assert_frame_equal(function(polars), expected)


def test_repeats_have_their_mode_where_it_is_asked_for() -> None:
    again = pd.concat([three_classes().assign(replicate=r) for r in range(3)], ignore_index=True)
    again.loc[again["replicate"] == 2, "answer"] = "low"
    pd.testing.assert_frame_equal(
        js.kappa(js.ratings(again), repeats="majority").drop(columns="method"),
        js.kappa(js.ratings(three_classes())).drop(columns="method"),
    )
    same = js.consistency(js.ratings(again), over="replicate")
    assert same["term"].tolist()[:1] == ["consistency"]


def test_dawid_skene_takes_classes() -> None:
    fitted, numbers = js.dawid_skene(js.ratings(three_classes())), js.dawid_skene(coded())
    assert fitted.classes == ["low", "mid", "top"]
    assert fitted.loglik == pytest.approx(numbers.loglik)
    assert fitted.tidy()["estimate"].tolist() == pytest.approx(numbers.tidy()["estimate"].tolist())
    verdicts = js.aggregate(js.ratings(three_classes()), "dawid_skene", over="judge")
    assert set(verdicts["answer"]) == {"low", "mid", "top"}


def test_the_mode_of_a_panel_is_one_of_its_answers() -> None:
    calls = pd.DataFrame({"judge": list("ghk") * 2, "item": list("xxxyyy"), "answer": ["a", "a", "b", "a", "b", "c"]})
    verdicts = js.aggregate(js.ratings(calls), "mode", over="judge")
    assert verdicts["answer"].fillna("none").tolist() == ["a", "none"]
    assert verdicts["status"].tolist() == ["ok", "undecided"]
    scores = calls.assign(score=[1, 1, 2, 1, 2, 3]).drop(columns="answer")
    assert js.aggregate(js.ratings(scores), "mode", over="judge")["score"].tolist()[:1] == [1]
    with pytest.raises(DesignError, match=r"how='mean' needs numbers, .* classes\. Allowed: 'mode', 'dawid_skene'"):
        js.aggregate(js.ratings(calls), "mean", over="judge")


def test_people_and_versions_take_classes() -> None:
    calls = js.ratings(three_classes())
    terms = js.judge_against_people(calls, humans=["h", "k"]).set_index(["role", "term"])
    assert ("judge", "kappa") in terms.index
    old, new = (calls[calls["judge"].isin(["k", j])] for j in "gh")
    versions = js.compare_versions(old, new, humans="k").set_index("term")
    assert versions.loc["kappa_change", "estimate"] < 0
    assert "mean_shift" not in versions.index
    replaced = js.alternative_annotator_test(calls, humans=["h", "k"], epsilon=0.1)
    assert replaced["estimate"].notna().any()


def test_ordered_classes_are_scores_too() -> None:
    calls = js.ratings(three_classes(), classes=["low", "mid", "top"], ordered=True)
    assert calls["score"].tolist() == coded()["score"].tolist()
    expected = js.alpha(coded(), level_of_measurement="ordinal")
    pd.testing.assert_frame_equal(js.alpha(calls, level_of_measurement="ordinal"), expected)
    pd.testing.assert_frame_equal(js.kappa(calls, weights="quadratic"), js.kappa(coded(), weights="quadratic"))
    polars = js.ratings(pl.from_pandas(three_classes()), classes=["low", "mid", "top"], ordered=True)
    assert polars["score"].to_list() == coded()["score"].tolist()


def test_a_measure_of_numbers_says_what_classes_lack() -> None:
    calls = js.ratings(three_classes())
    refused(
        DesignError,
        (lambda: js.icc(calls), "icc needs numbers, and the verdicts are classes"),
        (lambda: js.consensus_deviation(calls), "consensus_deviation needs numbers, and the verdicts are classes"),
        (lambda: js.correlation(calls), "correlation needs numbers, and the verdicts are classes"),
        (lambda: js.accuracy(calls), "accuracy needs numbers, and the verdicts are classes"),
        (lambda: js.alpha(calls, level_of_measurement="ordinal"), "level_of_measurement='ordinal' needs an order"),
    )
    supported = js.available_measures(calls).set_index("measure")
    assert supported.loc["alpha", "supported"]
    assert not supported.loc["icc", "supported"]
    assert supported.loc["icc", "missing"] == "the verdicts are classes, not numbers"


def test_labels_are_not_merged_in_silence() -> None:
    spelled = three_classes().assign(
        answer=lambda t: t["answer"].where(t.index % 7 != 0, t["answer"].str.title() + " ")
    )
    remedy = r"classes look alike: 'Low ' and 'low'; .*Write labels=\{'Low ': 'low', 'Mid ': 'mid', 'Top ': 'top'\}"
    with pytest.raises(SchemaError, match=remedy):
        js.ratings(spelled)
    labels = {f"{c.title()} ": c for c in ("low", "mid", "top")}
    assert js.ratings(spelled, labels=labels)["answer"].astype(str).tolist() == three_classes()["answer"].tolist()
    invalid = js.ratings(three_classes(), labels={"top": "invalid"})
    assert invalid["answer"].isna().sum() == (three_classes()["answer"] == "top").sum()


def test_labels_translate_the_column_that_holds_the_verdict() -> None:
    """An answer beside right and wrong is that of the system, and keeps its spelling."""
    calls = pd.DataFrame({"judge": "g", "item": ["x", "y"], "correct": ["C", "I"], "answer": ["C", "Paris"]})
    read = js.ratings(calls, labels={"C": "right", "I": "wrong"})
    assert read["correct"].tolist() == [True, False]
    assert read["answer"].astype(str).tolist() == ["C", "Paris"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": ["low", "mid"]}, r"'answer' is 'top' in \d+ rows, which classes= does not name"),
        ({"classes": ["low"]}, "names fewer than two classes"),
        ({"classes": ["low", "low"]}, "or one of them twice"),
        ({"ordered": True}, "ordered=True needs classes="),
    ],
)
def test_classes_that_cannot_be(options: dict[str, object], message: str) -> None:
    refused(
        SchemaError,
        (lambda: js.ratings(three_classes(), **options), message),
        (lambda: js.ratings(coded(), classes=["1", "2"]), "there is no such column"),
    )


def test_check_counts_missing_answers_once() -> None:
    gaps = js.ratings(three_classes().assign(answer=lambda t: t["answer"].where(t.index % 10 != 0, None)))
    found = js.check(gaps).query("level != 'rows'")
    assert found[["level", "what", "n"]].values.tolist() == [["excluded", "answer is missing", 18]]


@pytest.mark.parametrize("form", ["frame", "lazy", "counts"])
@pytest.mark.parametrize(
    "measure",
    [
        js.kappa,
        js.ac1,
        js.classification,
        js.confusion,
        js.consistency,
        lambda t: js.alpha(t, interval=None),
        lambda t: js.disagreement(t, n_resamples=20),
        lambda t: js.effective_judges(t, n_resamples=20),
        lambda t: js.corrected_rate(t, sampling="random", positive="top"),
    ],
)
def test_no_answer_is_missing_empty_or_invalid(measure, form: str) -> None:
    """One rule for all measures, engines and counts: no measure takes an empty text for a class."""
    rng = np.random.default_rng(4)
    again = pd.concat([three_classes().assign(replicate=r) for r in range(2)], ignore_index=True)
    again["gold"] = rng.choice(["low", "mid", "top"], len(again))
    lost = rng.random(len(again)) < 0.1

    def result(nothing: str | None) -> pd.DataFrame:
        calls = again.assign(answer=again["answer"].astype(object).mask(lost, nothing))
        if form == "counts":
            if measure not in (js.kappa, js.classification, js.confusion):
                pytest.skip("it takes no counts of pairs")
            counts = js.tally(calls.assign(answer=calls["answer"].replace("", None)), "kappa", baseline="gold")
            return measure(counts.assign(answer=counts["answer"].astype(object).fillna(nothing or np.nan)))
        options = {} if measure is not js.consistency else {"over": "replicate"}
        return measure(pl.from_pandas(calls).lazy() if form == "lazy" else calls, **options)

    want = result(None)
    assert want["estimate"].notna().any()
    for nothing in ("", "invalid"):
        pd.testing.assert_frame_equal(result(nothing), want)


def test_classes_pass_gates_and_yes_has_several_names() -> None:
    calls = three_classes().assign(answer=lambda t: t["answer"].astype(object).mask(t.index % 10 == 0, ""))
    gates = js.validity_gates(js.ratings(calls)).query("judge == 'g'").set_index("term")["estimate"]
    assert gates[["answered", "parse", "valid"]].tolist() == pytest.approx([1.0, 0.9, 0.9])
    scores = three_classes().drop(columns="answer").assign(score=lambda t: t.index % 7, gold=lambda t: t.index % 3 == 0)
    want = js.roc(js.ratings(scores), n_resamples=20)
    for positive in (1, True, "yes"):
        pd.testing.assert_frame_equal(js.roc(js.ratings(scores), positive=positive, n_resamples=20), want)
