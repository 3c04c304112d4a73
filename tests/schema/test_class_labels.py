"""Labels of judges, people and gold that are one class, whatever type or spelling each has."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import judgestats as js
from judgestats.errors import SchemaError
from judgestats.schema.class_labels import Source, class_named, label_key, label_text, spellings
from refusals import refused

_RNG = np.random.default_rng(1)
GOLD = _RNG.integers(0, 2, 60)
ANSWER = np.where(_RNG.random(60) < 0.7, GOLD, 1 - GOLD)
SHARE = float((ANSWER == GOLD).mean())


def verdicts(answers: Any, gold: Any) -> pd.DataFrame:
    """One judge's answers beside gold, each of two labels (for 0, for 1)."""
    table = pd.DataFrame({"judge": "g", "item": [f"i{k}" for k in range(60)]})
    return table.assign(answer=[answers[a] for a in ANSWER], gold=[gold[g] for g in GOLD])


ONE_CLASS = {
    "true and 1": ((False, True), (0, 1)),
    "text True and 1": (("False", "True"), (0, 1)),
    "true, as text, and 1, as text": (("false", "true"), ("0", "1")),
    "1.0 and 1": (("0.0", "1.0"), ("0", "1")),
    "text and number": (("0", "1"), (0.0, 1.0)),
    "0.50 and 0.5": (("0.50", "2"), ("0.5", "2")),
    "case": (("Unsafe", "Safe"), ("unsafe", "safe")),
    "a full stop": (("unsafe.", "safe."), ("unsafe", "safe")),
    "blanks": ((" unsafe", "safe "), ("unsafe", "safe")),
    "width": (("ｕnsafe", "ｓafe"), ("unsafe", "safe")),
    "normal forms": (("re\u0301fus", "ok"), ("r\u00e9fus", "ok")),
    "sets": (("c", "a;b"), ("c", "b;a")),
    "lists": (("c", "a;b"), (["c"], ["b", "a"])),
}


@pytest.mark.parametrize("name", ONE_CLASS)
def test_a_class_is_one_whatever_its_type_or_spelling(name: str) -> None:
    table, plain = verdicts(*ONE_CLASS[name]), verdicts(("0", "1"), ("0", "1"))
    for data in (table, js.ratings(table), pl.from_pandas(table), js.ratings(pl.from_pandas(table))):
        scores = js.classification(data).query("term == 'accuracy'")["estimate"]
        assert scores.tolist() == [pytest.approx(SHARE)]
        assert len(js.confusion(data)) == 4
        assert js.kappa(data, reference="gold")["estimate"].tolist() == pytest.approx(
            js.kappa(plain, reference="gold")["estimate"].tolist()
        )
    people = table.assign(judge="p", answer=table["gold"]).drop(columns="gold")
    both = pd.concat([table.drop(columns="gold"), people])
    assert js.alpha(both)["estimate"].tolist() == pytest.approx(
        js.alpha(pd.concat([plain, plain.assign(judge="p", answer=plain["gold"])]))["estimate"].tolist()
    )
    agreed = js.judge_against_people(both, humans="p").query("term == 'agreement'")["estimate"]
    assert SHARE in agreed.round(12).tolist() or pytest.approx(agreed.iloc[0]) == SHARE
    assert js.kappa(table.drop(columns="gold"), reference=people)["estimate"].iloc[0] == pytest.approx(
        js.kappa(plain, reference="gold")["estimate"].iloc[0]
    )


@pytest.mark.parametrize("name", [n for n in ONE_CLASS if n != "lists"])
def test_a_lazy_frame_has_the_same_classes(name: str) -> None:
    calls = verdicts(*ONE_CLASS[name])
    for data in (pl.from_pandas(calls).lazy(), duckdb.sql("SELECT * FROM calls")):
        assert js.classification(data).query("term == 'accuracy'")["estimate"].tolist() == [pytest.approx(SHARE)]


def test_what_is_merged_is_said() -> None:
    table = verdicts(("Unsafe", "Safe"), ("unsafe", "safe"))
    what = js.check(js.ratings(table)).query("level == 'counted'")["what"].tolist()
    assert what == ["labels that look alike are taken as one class: 'Safe' and 'safe'; 'Unsafe' and 'unsafe'"]
    assert not js.check(verdicts(("1.0", "0.0"), ("1", "0")))["what"].str.contains("class").any()


def test_a_source_that_writes_a_class_in_two_ways_is_refused() -> None:
    table = verdicts(("unsafe", "safe"), ("unsafe", "safe"))
    table.loc[:9, "answer"] = table.loc[:9, "answer"].str.title()
    for function in (js.ratings, js.classification, js.confusion, js.effective_judges):
        with pytest.raises(SchemaError, match=r"(?i)classes look alike: 'Safe' and 'safe'.*labels=\{'Safe': 'safe'"):
            function(table)
    merged = js.ratings(table, labels={"Safe": "safe", "Unsafe": "unsafe"})
    assert js.classification(merged).query("term == 'accuracy'")["estimate"].tolist() == [pytest.approx(SHARE)]


@pytest.mark.parametrize(
    ("answers", "gold"),
    [
        (("no", "yes"), (0, 1)),
        (("no", "yes"), (False, True)),
        (("wrong", "right"), ("no", "yes")),
        (("fail", "pass"), ("0", "1")),
        (("N", "Y"), ("no", "yes")),
    ],
)
def test_yes_and_no_in_two_vocabularies_are_refused_with_both_translations(answers: Any, gold: Any) -> None:
    """1 may mean unsafe: a perfect judge would have accuracy 0."""
    table = verdicts(answers, gold)
    zero, one = map(str, gold)
    remedy = rf"labels=\{{'{answers[1]}': '{one}', '{answers[0]}': '{zero}'\}} or labels=\{{'{answers[1]}': '{zero}'"
    people = table.assign(judge="p", answer=table["gold"]).drop(columns="gold")
    refused(
        SchemaError,
        (lambda: js.classification(table), remedy),
        (lambda: js.ratings(table), remedy),
        (
            lambda: js.kappa(table.drop(columns="gold"), reference=people),
            r"has .* where judge 'p' of the other table has",
        ),
    )
    said = js.ratings(table, labels={answers[1]: one, answers[0]: zero})
    assert js.classification(said).query("term == 'accuracy'")["estimate"].tolist() == [pytest.approx(SHARE)]
    other = js.ratings(table, labels={answers[1]: zero, answers[0]: one})
    assert js.classification(other).query("term == 'accuracy'")["estimate"].tolist() == [pytest.approx(1 - SHARE)]


def test_a_judge_who_always_says_no_is_refused_beside_1_and_0() -> None:
    table = verdicts(("no", "no"), (0, 1))
    written = (
        r"Judge 'g' has 'no' where column 'gold' has '1' and '0'. .* Write labels=\{'no': '0'\} or labels=\{'no': '1'\}"
    )
    with pytest.raises(SchemaError, match=written) as error:
        js.classification(table)
    assert error.value.advice == (("either", ("no=0", "no=1")),)


def test_true_is_1_only_where_each_source_writes_one_vocabulary() -> None:
    table = verdicts(("False", "True"), ("0", "1"))
    refused(
        SchemaError,
        (table.assign(answer=["1", *table["answer"][1:]]), "Judge 'g' writes '1' and 'True', which may be one class"),
        (table.assign(answer=["unsure", *table["answer"][1:]]), "'1' and '0'"),
        of=js.classification,
    )


@pytest.mark.parametrize(("one", "other"), [("1.10", "1.1"), ("01", "1")])
def test_equal_numbers_that_one_source_tells_apart_stay_text(one: str, other: str) -> None:
    table = verdicts((one, other), (one, other))
    assert js.classification(table).query("term == 'accuracy'")["estimate"].tolist() == [pytest.approx(SHARE)]
    (note,) = js.check(js.ratings(table)).query("level == 'counted'")["what"]
    assert note.startswith("labels are equal numbers, and taken as different classes: ")
    assert repr(one) in note


def test_criteria_are_told_apart() -> None:
    """One criterion may say yes and no, another 1 and 0."""
    table = pd.concat(
        [
            verdicts(("no", "yes"), ("no", "yes")).assign(criterion="safe"),
            verdicts(("0", "1"), ("0", "1")).assign(criterion="right"),
        ]
    )
    scores = js.classification(table, by="criterion").query("term == 'accuracy'")["estimate"]
    assert scores.tolist() == [pytest.approx(SHARE)] * 2
    with pytest.raises(SchemaError, match="criterion 'right'"):
        js.classification(table.assign(gold=table["gold"].replace({"0": "no", "1": "yes"})), by="criterion")


def test_labels_and_classes_are_matched_by_the_same_rule() -> None:
    table = verdicts((0.0, 1.0), (0, 1))
    translated = js.ratings(table, labels={"1": "safe", 0: "unsafe"})
    assert translated["answer"].astype(str).tolist() == ["safe" if a else "unsafe" for a in ANSWER]
    assert translated["gold"].tolist() == ["safe" if g else "unsafe" for g in GOLD]
    assert js.classification(table, positive=1.0).query("term == 'sensitivity'")["class"].tolist() == ["1"]
    words = verdicts(("bad", "good"), ("Bad", "Good"))
    ordered = js.ratings(words, classes=["bad", "good"], ordered=True)
    assert ordered["gold"].tolist() == [float(g + 1) for g in GOLD]
    assert js.classification(ordered).query("term == 'accuracy'")["estimate"].tolist() == [pytest.approx(SHARE)]
    assert js.kappa(ordered, reference="gold")["estimate"].iloc[0] == pytest.approx(
        js.kappa(words, reference="gold")["estimate"].iloc[0]
    )
    with pytest.raises(SchemaError, match=r"'gold' is 'Poor' in .*which classes= does not name"):
        js.ratings(verdicts(("bad", "good"), ("Poor", "Good")), classes=["bad", "good"], ordered=True)


def test_two_frames_are_two_sources() -> None:
    old, new = verdicts(("Unsafe", "Safe"), ("", "")), verdicts(("unsafe", "safe"), ("", ""))
    flips = js.compare_versions(old.drop(columns="gold"), new.drop(columns="gold")).query("term == 'flips'")
    assert flips["estimate"].tolist() == [0.0]
    labelled = verdicts(("Unsafe", "Safe"), ("unsafe", "safe"))
    rest = labelled.assign(item=labelled["item"] + "x", answer=labelled["answer"].str.lower(), gold=None)
    plain = verdicts(("unsafe", "safe"), ("unsafe", "safe"))
    options = {"sampling": "random", "positive": "safe"}
    pd.testing.assert_frame_equal(
        js.corrected_rate(rest, calibration=labelled, **options), js.corrected_rate(rest, calibration=plain, **options)
    )


def test_texts_keys_and_names() -> None:
    assert [label_text(x) for x in (1, 1.0, "1.0", 1.5, True, '["b", "a"]', "1.00")] == [
        *("1", "1", "1", "1.5", "True", "b;a", "1.00"),
    ]
    assert label_key("Safe.") == label_key("ｓＡＦＥ") == label_key(" safe ")
    assert label_key("1.10") == label_key("1.1") != label_key("1.11")
    assert label_key("a;b") == label_key("B; a")
    assert class_named("SAFE", ["safe", "unsafe"]) == "safe"
    assert class_named("Safe", ["SAFE", "safe"]) is None
    assert class_named("1", ["1.0", "2"]) == "1.0"
    one_way = spellings({Source("", "g"): ["Safe", "no"], Source("", "h"): ["safe"], Source("", "k"): ["safe"]})
    assert one_way.words == {"Safe": "safe"}
    assert one_way.merged == (("Safe", "safe"),)
    assert one_way.problem == ""


def test_gold_of_another_spelling_is_proposed() -> None:
    for answers, gold in (ONE_CLASS["text True and 1"], ONE_CLASS["case"]):
        table = verdicts(answers, gold).rename(columns={"answer": "label", "gold": "truth"})
        proposal = js.suggest_mapping(table)
        assert proposal.mapping["gold"] == "truth"
    assert "gold" not in js.suggest_mapping(table.assign(truth="other")).mapping
