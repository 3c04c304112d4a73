"""Sensitivity, precision and their kin, and confusion tables, beside caret, epiR and scikit-learn."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import balanced_accuracy_score, matthews_corrcoef, precision_recall_fscore_support

import judgestats as js
from judgestats import flags
from judgestats.errors import DesignError
from judgestats.kernels.proportions import clustered_tango, newcombe_paired
from judgestats.metrics.correctness.classifications import classification, confusion
from judgestats.results import COLUMNS
from refusals import refused

REFERENCE = Path(__file__).parents[1] / "reference" / "classification.csv"
#: The tables of classification.R: (answers, counts by right class).
TABLES = {
    "two": (("safe", "unsafe"), [[70, 10], [4, 16]]),
    "rare": (("no", "yes"), [[190, 2], [3, 5]]),
    "three": (("a", "b", "c"), [[50, 8, 1], [6, 30, 4], [4, 5, 12]]),
}


def counts_of(name: str) -> pd.DataFrame:
    classes, table = TABLES[name]
    cells = [(a, r, table[i][j]) for (i, a), (j, r) in product(enumerate(classes), enumerate(classes))]
    return pd.DataFrame(cells, columns=["answer", "other_answer", "n"]).assign(judge="g", other="gold")


def calls_of(name: str) -> pd.DataFrame:
    counts = counts_of(name)
    calls = counts.loc[counts.index.repeat(counts["n"])].reset_index(drop=True)
    return calls.rename(columns={"other_answer": "gold"}).assign(item=lambda t: t.index.astype(str))[
        ["judge", "item", "answer", "gold"]
    ]


def clustered(seed: int = 0, items: int = 40) -> pd.DataFrame:
    """Classes of two judges on several responses to each item, some of them missing."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(items):
        lean = rng.dirichlet([2, 1, 1])
        for s in range(rng.integers(1, 6)):
            right = rng.choice(["a", "b", "c"], p=lean)
            for judge in ("g", "h"):
                answer = right if rng.random() < 0.75 else rng.choice(["a", "b", "c"])
                rows.append((judge, f"s{s}", f"i{i}", answer if rng.random() < 0.95 else None, right))
    return pd.DataFrame(rows, columns=["judge", "system", "item", "answer", "gold"])


@pytest.mark.parametrize("source", ["caret", "epiR"])
def test_r_gives_the_same(source: str) -> None:
    expected = pd.read_csv(REFERENCE, comment="#").query("source == @source")
    assert len(expected) == 49
    for name, rows in expected.groupby("table"):
        ours = classification(counts_of(name)).set_index(["class", "term"])
        for row in rows.itertuples():
            mine = ours.loc[(row[4], row.term)]
            assert mine["estimate"] == pytest.approx(row.estimate, rel=1e-12), row
            if source == "epiR":
                assert mine["conf_low"] == pytest.approx(row.low, rel=1e-9), row
                assert mine["conf_high"] == pytest.approx(row.high, rel=1e-9), row


@pytest.mark.parametrize("name", TABLES)
def test_scikit_learn_gives_the_same(name: str) -> None:
    calls = calls_of(name)
    ours = classification(js.ratings(calls)).set_index(["class", "term"])["estimate"]
    classes = list(TABLES[name][0])
    per_class = precision_recall_fscore_support(calls["gold"], calls["answer"], labels=classes)
    for i, term in enumerate(("precision", "sensitivity", "f1")):
        assert [ours[c, term] for c in classes] == pytest.approx(per_class[i].tolist(), rel=1e-12)
        for average in ("macro", "weighted"):
            one = precision_recall_fscore_support(calls["gold"], calls["answer"], average=average)
            assert ours["", f"{average}_{term}"] == pytest.approx(one[i], rel=1e-12)
    assert ours["", "mcc"] == pytest.approx(matthews_corrcoef(calls["gold"], calls["answer"]), rel=1e-12)
    assert ours["", "macro_sensitivity"] == pytest.approx(
        balanced_accuracy_score(calls["gold"], calls["answer"]), rel=1e-12
    )
    for c in classes:
        one = matthews_corrcoef(calls["gold"] == c, calls["answer"] == c)
        assert ours[c, "mcc"] == pytest.approx(one, rel=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 12), min_size=9, max_size=9).filter(lambda n: sum(n) > 1))
def test_counts_and_calls_agree_and_no_estimate_is_outside_its_interval(cells: list[int]) -> None:
    classes = ("a", "b", "c")
    table = pd.DataFrame(
        [(*pair, n) for pair, n in zip(product(classes, classes), cells, strict=True)],
        columns=["answer", "other_answer", "n"],
    ).assign(judge="g", other="gold")
    of_counts = classification(table[table["n"] > 0])
    calls = table.loc[table.index.repeat(table["n"])].rename(columns={"other_answer": "gold"}).reset_index(drop=True)
    calls = calls.assign(item=calls.index.astype(str))[["judge", "item", "answer", "gold"]]
    of_calls = classification(js.ratings(calls))
    numbers = of_counts.columns.drop("flag")  # a table of counts does not say what its calls share
    pd.testing.assert_frame_equal(of_counts[numbers], of_calls[numbers], check_exact=False, rtol=1e-9)
    inside = of_counts[["estimate", "conf_low", "conf_high"]].dropna()
    assert (inside["conf_low"] <= inside["estimate"] + 1e-12).all()
    assert (inside["estimate"] <= inside["conf_high"] + 1e-12).all()
    assert of_counts.loc[of_counts["conf_low"].isna(), "flag"].ne("").all()


def test_engines_give_the_same() -> None:
    duckdb = pytest.importorskip("duckdb")
    calls = clustered()
    ours = classification(js.ratings(calls))
    assert list(ours.columns) == ["judge", "other", *COLUMNS, "class"]
    for other in (pl.from_pandas(calls), pl.from_pandas(calls).lazy(), duckdb.from_df(calls)):
        pd.testing.assert_frame_equal(classification(other), ours)


def test_intervals_are_clustered_by_what_calls_share() -> None:
    """A jackknife by hand of the clusters gives the interval of the MCC; shares are those of accuracy."""
    calls = js.ratings(clustered()).query("judge == 'g' and answer.notna()")
    row = classification(calls).query("`class` == '' and term == 'mcc'").iloc[0]
    assert "clustered by item" in row["method"]

    def mcc(part: pd.DataFrame) -> float:
        return matthews_corrcoef(part["gold"], part["answer"].astype(str))

    items = calls["item"].unique()
    without = np.arctanh([mcc(calls[calls["item"] != i]) for i in items])
    g = len(items)
    error = math.sqrt((g - 1) / g * ((without - without.mean()) ** 2).sum()) * (1 - row["estimate"] ** 2)
    assert row["estimate"] == pytest.approx(mcc(calls))
    assert row["std_error"] == pytest.approx(error, rel=1e-9)
    right = calls.assign(correct=calls["gold"] == calls["answer"].astype(str)).drop(columns=["answer", "gold"])
    share = js.accuracy(right).iloc[0]
    ours = classification(calls).query("term == 'accuracy'").iloc[0]
    columns = ["estimate", "std_error", "conf_low", "conf_high", "n"]
    assert ours[columns].tolist() == pytest.approx(share[columns].tolist(), rel=1e-12)
    assert ours["method"] == share["method"]


def test_a_confusion_table_has_every_cell() -> None:
    table = confusion(counts_of("three"))
    assert table.set_index(["answer", "reference"])["count"].to_dict() == {
        (a, r): TABLES["three"][1][i][j]
        for (i, a), (j, r) in product(enumerate(("a", "b", "c")), enumerate(("a", "b", "c")))
    }
    assert table.groupby("reference")["estimate"].sum().tolist() == pytest.approx([1, 1, 1])


def test_a_row_that_stands_for_several_calls_is_as_so_many_rows() -> None:
    """Every call three times over, as a count of identical ones or as rows of other items."""
    calls = clustered().dropna().query("judge == 'g'")
    copies = pd.concat([calls.assign(item=f"{k} " + calls["item"]) for k in range(3)])
    counts = js.ratings(calls.assign(n=3), counts="n")
    once, thrice = (classification(c, cluster=False).set_index(["class", "term"]) for c in (copies, counts))
    columns = ["estimate", "std_error", "conf_low", "conf_high", "n"]
    pd.testing.assert_frame_equal(once[columns], thrice[columns], rtol=1e-9)


def test_people_are_a_reference_by_majority_or_each() -> None:
    rows = [
        ("g", "1", "x"), ("g", "2", "x"), ("g", "3", "y"), ("g", "4", "y"), ("g", "5", "x"),
        *(("Ann", i, a) for i, a in zip("12345", "xxyyy", strict=True)),
        *(("Bob", i, a) for i, a in zip("12345", "xyyxy", strict=True)),
        *(("Cyd", i, a) for i, a in zip("1234", "xxxy", strict=True)),
    ]  # fmt: skip
    calls = js.ratings(pd.DataFrame(rows, columns=["judge", "item", "answer"]))
    people = ["Ann", "Bob", "Cyd"]
    majority = classification(calls, humans=people).query("term == 'accuracy'").iloc[0]
    assert (majority["other"], majority["estimate"], majority["n"]) == ("majority of 3 people", 0.8, 5)
    each = classification(calls, humans=people, people="each").query("term == 'accuracy'").iloc[0]
    assert each["other"] == "each of 3 people"
    assert (each["estimate"], each["n"]) == (pytest.approx(9 / 14), 14)
    assert "clustered by item" in each["method"]
    typed = calls.assign(rater_type=np.where(calls["judge"] == "g", "model", "human"))
    by_type = classification(typed, people="each").query("term == 'accuracy'").iloc[0]
    assert by_type[["other", "estimate", "n"]].tolist() == each[["other", "estimate", "n"]].tolist()
    two = classification(calls[calls["judge"] != "Cyd"], humans=["Ann", "Bob"])
    even = two.query("term == 'accuracy'").iloc[0]
    assert (even["n"], "2 calls without a label excluded" in even["flag"]) == (3, True)


def test_preferences_are_classes_by_slot() -> None:
    calls = js.datasets.load("pandalm")
    people = sorted(calls.loc[calls["rater_type"] == "human", "judge"].unique())
    table = confusion(calls, humans=people)
    assert set(table["reference"]) == {"first", "second", "tie"}
    ours = classification(calls, humans=people).query("`class` == '' and term == 'accuracy'").set_index("judge")
    pairs = calls[calls["choice"] != "invalid"].pivot_table(
        index=["item", "first", "second"], columns="judge", values="choice", aggfunc="first", observed=True
    )
    votes = pairs[people].apply(lambda row: row.mode().iloc[0] if len(row.mode()) == 1 else None, axis=1)
    for judge in ours.index:
        both = pd.DataFrame({"a": pairs[judge], "b": votes}).dropna().astype(str)
        assert ours.loc[judge, "estimate"] == pytest.approx((both["a"] == both["b"]).mean())


def test_what_cannot_be_said_says_why() -> None:
    """A class that people never use, a judge with one class, a class that the judge never gives."""
    base = {"judge": "g", "other": "gold"}
    never = pd.DataFrame({**base, "answer": ["a", "b", "c"], "other_answer": ["a", "b", "a"], "n": [20, 20, 3]})
    rows = classification(never).set_index(["class", "term"])
    assert np.isnan(rows.loc[("c", "sensitivity"), "estimate"])
    assert flags.CLASS_NOT_IN_REFERENCE in rows.loc[("c", "sensitivity"), "flag"]
    assert rows.loc[("c", "precision"), "estimate"] == 0
    one = pd.DataFrame({**base, "answer": ["a", "a"], "other_answer": ["a", "b"], "n": [30, 10]})
    rows = classification(one).set_index(["class", "term"])
    assert flags.CLASS_NEVER_ANSWERED in rows.loc[("b", "precision"), "flag"]
    assert rows.loc[("b", "sensitivity"), "estimate"] == 0
    assert flags.ONE_CLASS_ONLY in rows.loc[("b", "mcc"), "flag"]
    assert flags.ZERO_CELL in rows.loc[("b", "diagnostic_odds_ratio"), "flag"]
    alone = pd.DataFrame({**base, "answer": ["a"], "other_answer": ["a"], "n": [30]})
    rows = classification(alone).set_index(["class", "term"])
    assert flags.ONE_CLASS_ONLY in rows.loc[("a", "specificity"), "flag"]
    assert flags.ONE_CLASS_ONLY in rows.loc[("a", "informedness"), "flag"]


def test_invalid_verdicts_are_left_out_or_a_class() -> None:
    calls = js.ratings(calls_of("two").assign(answer=lambda t: t["answer"].where(t.index % 10 != 0, None)))
    dropped = classification(calls).query("term == 'accuracy'").iloc[0]
    assert (dropped["n"], "10 invalid calls excluded" in dropped["flag"]) == (90, True)
    wrong = classification(calls, invalid="wrong").query("term == 'accuracy'").iloc[0]
    assert (wrong["n"], wrong["estimate"]) == (100, pytest.approx(dropped["estimate"] * 0.9))
    assert "invalid" in set(confusion(calls, invalid="wrong")["answer"])
    assert "invalid" not in set(confusion(calls, invalid="wrong")["reference"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"positive": "unsave"}, r"positive='unsave' is no class here\. Allowed: safe, unsafe\. Did you mean 'unsafe'"),
        ({"humans": "g", "gold": "gold"}, "Give humans= or gold=, not both"),
        ({"humans": "Ann"}, "humans= names 'Ann', who is not a judge"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(DesignError, match=message):
        classification(js.ratings(calls_of("two")), **options)


def test_a_reference_is_needed_and_scores_are_no_classes() -> None:
    calls = calls_of("two")
    scores = calls.drop(columns="answer").assign(score=np.arange(100.0), gold=1.0)
    refused(
        DesignError,
        (js.ratings(calls.drop(columns="gold")), "Nothing says what is right"),
        (js.ratings(scores), "There are 100 different answers"),
        of=classification,
    )


def test_verdicts_of_yes_and_no_and_scores_have_their_names() -> None:
    calls = calls_of("two").assign(correct=lambda t: t["answer"] == "unsafe", gold=lambda t: t["gold"] == "unsafe")
    rows = classification(js.ratings(calls.drop(columns="answer")), positive=True)
    assert set(rows["class"]) == {"yes", ""}
    assert rows.set_index(["class", "term"]).loc[("yes", "sensitivity"), "estimate"] == pytest.approx(16 / 26)
    scores = calls.assign(score=calls["correct"] * 1.0, gold=calls["gold"] * 1.0).drop(columns=["answer", "correct"])
    assert set(classification(js.ratings(scores), positive=1)["class"]) == {"1", ""}


def test_a_judge_may_be_the_reference() -> None:
    calls = pd.concat([calls_of("two"), calls_of("two").assign(judge="key", answer=lambda t: t["gold"])])
    rows = classification(js.ratings(calls.drop(columns="gold")), humans="key")
    assert rows.query("term == 'accuracy'")["estimate"].tolist() == [pytest.approx(0.86)]


@pytest.mark.parametrize("cluster", ["item", False])
def test_differences_of_judges_are_paired(cluster: str | bool) -> None:
    """Right for one judge and wrong for the other, on what both answered: Tango's interval by cluster."""
    calls = js.ratings(clustered())
    rows = classification(calls, baseline="h", cluster=cluster)
    rows = rows[rows["term"].str.endswith("_difference")].set_index(["class", "term"])
    assert (set(rows["judge"]), len(rows)) == ({"g"}, 7)
    wide = clustered().pivot(index=["system", "item", "gold"], columns="judge", values="answer").dropna().reset_index()
    for (c, term), row in rows.iterrows():
        part = wide if not c else wide[(wide["gold"] == c) == (term == "sensitivity_difference")]
        right = [part[j] == part["gold"] if not c else (part[j] == c) == (part["gold"] == c) for j in "gh"]
        gain = right[0].astype(int) - right[1].astype(int)
        assert (row["estimate"], row["n"]) == (pytest.approx(gain.mean()), len(part))
        if cluster:
            net = gain.groupby(part["item"]).sum().to_numpy(dtype=float)
            size = part.groupby("item").size().to_numpy(dtype=float)
            interval = clustered_tango(np.maximum(net, 0), np.maximum(-net, 0), size)
        else:
            b, d = float((gain > 0).sum()), float((gain < 0).sum())
            interval = newcombe_paired(0.0, b, d, len(part) - b - d)
        low, high = (interval.low, interval.high) if cluster else interval
        assert (row["conf_low"], row["conf_high"]) == (pytest.approx(low), pytest.approx(high))
    alone = classification(calls, cluster=cluster)
    both = classification(calls, cluster=cluster, baseline="h")
    pd.testing.assert_frame_equal(both[~both["term"].str.endswith("_difference")].reset_index(drop=True), alone)


def test_differences_say_what_is_left_out_and_what_they_need() -> None:
    calls = js.ratings(clustered())
    part = calls[(calls["judge"] == "g") | (calls["item"] != "i0")]
    row = classification(part, baseline="h").query("term == 'accuracy_difference'").iloc[0]
    assert "of one judge only excluded" in row["flag"]
    swapped = classification(calls, baseline="g").query("term == 'accuracy_difference'").iloc[0]
    straight = classification(calls, baseline="h").query("term == 'accuracy_difference'").iloc[0]
    assert (swapped["estimate"], swapped["conf_low"]) == (
        pytest.approx(-straight["estimate"]),
        pytest.approx(-straight["conf_high"]),
    )
    refused(
        DesignError,
        (lambda: classification(calls, baseline="k"), r"baseline='k' is no judge\. Judges: g, h"),
        (
            lambda: classification(counts_of("two"), baseline="g"),
            "a table of counts does not say which are of one thing",
        ),
        (
            lambda: classification(pd.concat([calls, calls[calls["judge"] == "h"]]), baseline="h"),
            "'h' answered several times on one thing",
        ),
    )
    people = pd.concat(
        [calls.drop(columns="gold"), calls.query("judge == 'g'").assign(judge="Ann", answer=calls["gold"])]
    )
    beside = classification(js.ratings(people.drop(columns="gold")), humans="Ann", baseline="h")
    row = beside.query("term == 'accuracy_difference'").iloc[0]
    assert (row["other"], row["estimate"]) == ("Ann", pytest.approx(straight["estimate"]))


def test_differences_of_preferences_and_of_yes_and_no() -> None:
    calls = js.datasets.load("pandalm")
    people = sorted(calls.loc[calls["rater_type"] == "human", "judge"].unique())
    judges = sorted(set(calls["judge"]) - set(people))
    rows = classification(calls, humans=people, baseline=judges[0])
    pairs = calls.pivot_table(
        index=["item", "first", "second"], columns="judge", values="choice", aggfunc="first", observed=True
    )
    votes = pairs[people].apply(lambda row: row.mode().iloc[0] if len(row.mode()) == 1 else None, axis=1)
    both = pairs[judges].astype(str).assign(right=votes).dropna()
    both = both[(both[judges] != "invalid").all(axis=1)]
    found = rows.query("term == 'accuracy_difference' and judge == @judges[1]").iloc[0]
    gain = (both[judges[1]] == both["right"]).mean() - (both[judges[0]] == both["right"]).mean()
    assert (found["estimate"], found["n"]) == (pytest.approx(gain), len(both))
    right = clustered().dropna().assign(correct=lambda t: t["answer"] == "a", gold=lambda t: t["gold"] == "a")
    yes = classification(js.ratings(right.drop(columns="answer")), baseline="h", positive=True)
    words = js.ratings(clustered().dropna())
    as_classes = classification(words, baseline="h", positive="a")
    for term in ("sensitivity_difference", "specificity_difference"):
        one, two = (r.set_index("term").loc[term, "estimate"] for r in (yes, as_classes))
        assert one == pytest.approx(two)


def never_answered(copies=4, **columns):
    """Class c is in the reference and never answered."""
    rows = [("g", i, answer, gold) for i, (answer, gold) in enumerate([*zip("abbab", "abcab", strict=True)] * copies)]
    return pd.DataFrame(rows, columns=["judge", "item", "answer", "gold"]).assign(**columns)


def test_a_class_that_is_never_answered_has_no_likelihood_ratio_with_an_interval():
    rows = js.classification(never_answered()).set_index(["class", "term"])
    ratio = rows.loc[("c", "likelihood_ratio_negative")]
    assert ratio["estimate"] == 1
    assert np.isnan(ratio["conf_low"])
    assert np.isnan(ratio["conf_high"])
    assert "class never answered" in ratio["flag"]
    always = js.classification(never_answered().assign(answer="a")).set_index(["class", "term"])
    ratio = always.loc[("a", "likelihood_ratio_positive")]
    assert (ratio["estimate"], ratio["flag"].split("; ")[0]) == (1, "no variation")
    assert np.isnan(ratio["conf_low"])
    assert not (rows["conf_low"] == rows["conf_high"]).any()
    assert not (always["conf_low"] == always["conf_high"]).any()


def test_an_average_says_what_it_leaves_out():
    from sklearn.metrics import f1_score, precision_score

    table = never_answered()
    rows = js.classification(table).query("`class` == ''").set_index("term")
    precision = [1.0, 2 / 3]
    assert rows.loc["macro_precision", "estimate"] == pytest.approx(np.mean(precision))
    as_zero = precision_score(table["gold"], table["answer"], average="macro", zero_division=0)
    assert f"undefined classes left out: 1 (counted as 0: {as_zero:.3g})" in rows.loc["macro_precision", "flag"]
    weighted = precision_score(table["gold"], table["answer"], average="weighted", zero_division=0)
    assert f"left out: 1 (counted as 0: {weighted:.3g})" in rows.loc["weighted_precision", "flag"]
    assert rows.loc["macro_f1", "estimate"] == pytest.approx(f1_score(table["gold"], table["answer"], average="macro"))
    balanced = balanced_accuracy_score(table["gold"], table["answer"])
    assert rows.loc["macro_sensitivity", "estimate"] == pytest.approx(balanced)
    for term in ("macro_f1", "macro_sensitivity", "weighted_f1"):
        assert "left out" not in rows.loc[term, "flag"]
    swapped = table.rename(columns={"answer": "gold", "gold": "answer"})
    rows = js.classification(swapped).query("`class` == ''").set_index("term")
    assert "undefined classes left out: 1 (counted as 0: 0.556)" in rows.loc["macro_sensitivity", "flag"]
    assert "left out" not in rows.loc["weighted_sensitivity", "flag"]
