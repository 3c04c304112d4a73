"""Shares of right verdicts: frames, spellings, intervals, and kappa against gold."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.proportion import proportion_confint
from typer.testing import CliRunner

import judgestats as js
from judgestats.cli import app
from judgestats.counting.tallies import tally
from judgestats.errors import DesignError, SchemaError
from judgestats.flags import (
    CHANCE_IS_ONE,
    NO_SPREAD,
    NOT_INDEPENDENT,
)
from judgestats.kernels.cohens_kappa import cohen_kappa
from judgestats.metrics.agreement import ac1, kappa
from judgestats.metrics.bias import answer_rates, position_bias
from judgestats.metrics.correctness import gold_agreement
from judgestats.verdicts import aggregate
from metrics.tables import PAIRS, both_orders, but_for_clustering, calls, calls_of, gold_calls
from refusals import refused

RNG = np.random.default_rng(0)


TRUE = RNG.random(80) < 0.7


def verdicts(correct: Any = TRUE, name: str = "correct") -> pd.DataFrame:
    """Two judges, two systems, twenty items."""
    table = pd.DataFrame({"judge": np.repeat(list("gh"), 40), "system": np.tile(list("st"), 40)})
    items = [f"i{i:02d}" for i in range(20)]  # ids of one sort: a bootstrap draws in their order
    return table.assign(item=np.tile(np.repeat(items, 2), 2), **{name: correct})


SPELLINGS = {
    "booleans": TRUE,
    "0 and 1": TRUE.astype(int),
    "0.0 and 1.0": TRUE.astype(float),
    "words": np.where(TRUE, "Right", "wrong"),
    "pass and fail": np.where(TRUE, "pass", "fail"),
    "text of a file": np.where(TRUE, "True", "False"),
    "nullable": pd.array(TRUE, dtype="boolean"),
    "objects": TRUE.astype(object),
}


@pytest.mark.slow
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_one_frame_for_all(spelling: str) -> None:
    """As given or as ratings() makes it, without a cast or another name."""
    raw = verdicts(SPELLINGS[spelling])
    frame = js.ratings(raw)
    assert frame["correct"].tolist() == TRUE.tolist()
    assert "score" not in frame
    numbers = verdicts(TRUE.astype(float), "score")
    for data in (raw, frame):
        assert js.accuracy(data).query("term == 'accuracy'")["estimate"].tolist() == [
            TRUE[:40].mean(),
            TRUE[40:].mean(),
        ]
        for measure in (
            js.kappa,
            lambda d: js.alpha(d, level_of_measurement="nominal", n_resamples=20),
            js.icc,
            js.score_matrix,
        ):
            pd.testing.assert_frame_equal(measure(data), measure(numbers))
    model = js.fit("correct ~ system + (1|item)", frame)
    same = js.fit("score ~ system + (1|item)", numbers, family="binomial")
    assert model.tidy()["estimate"].tolist() == pytest.approx(same.tidy()["estimate"].tolist(), abs=1e-6)


@pytest.mark.parametrize("engine", [pl.from_pandas, lambda t: pl.from_pandas(t).lazy()])
def test_other_engines(engine: Any) -> None:
    expected = js.accuracy(verdicts())
    pd.testing.assert_frame_equal(js.accuracy(engine(verdicts())), expected, check_dtype=False)
    gaps = verdicts(pd.array(TRUE, dtype="boolean"))
    gaps.loc[3, "correct"] = pd.NA
    pd.testing.assert_frame_equal(js.accuracy(engine(gaps)), js.accuracy(gaps), check_dtype=False)


def test_wilson_by_another_hand() -> None:
    found = js.accuracy(verdicts(), cluster=False).query("term == 'accuracy' and judge == 'g'").iloc[0]
    low, high = proportion_confint(TRUE[:40].sum(), 40, method="wilson")
    assert (found["conf_low"], found["conf_high"]) == pytest.approx((low, high), abs=1e-12)
    assert "calls not independent" in found["flag"]  # two systems on each item
    clustered = js.accuracy(verdicts()).query("term == 'accuracy' and judge == 'g'").iloc[0]
    assert "clustered by item (G = 20)" in clustered["method"]
    assert "calls not independent" not in clustered["flag"]
    alone = js.accuracy(verdicts(), by="system").query("term == 'accuracy'")
    assert not alone["flag"].str.contains("not independent").any()


def test_missing_verdicts_are_invalid() -> None:
    table = verdicts(np.where(TRUE, "yes", "no").astype(object))
    table.loc[[0, 1, 50], "correct"] = None
    rows = js.accuracy(table).set_index(["judge", "term"])
    assert rows.loc[("g", "accuracy"), "n"] == 38
    assert rows.loc[("g", "invalid"), "estimate"] == 2 / 40
    strict = js.accuracy(table, invalid="wrong").set_index(["judge", "term"])
    assert strict.loc[("g", "accuracy"), "estimate"] == TRUE[2:40].sum() / 40
    found = js.check(js.ratings(table))
    assert found.loc[found["level"] == "excluded", ["what", "n"]].values.tolist() == [["correct is missing", 3]]


def test_against_gold() -> None:
    """With a gold, right is what equals it: verdicts or scores of any scale; rows without one are counted."""
    gold = pd.Series(RNG.random(80) < 0.5, dtype=object)
    gold[5] = None
    table = verdicts().assign(gold=gold)
    row = js.accuracy(js.ratings(table)).query("term == 'accuracy' and judge == 'g'").iloc[0]
    known = gold[:40].notna()
    assert row["estimate"] == (TRUE[:40] == gold[:40])[known].mean()
    assert "1 verdicts without gold excluded" in row["flag"]
    observed = js.kappa(table.dropna(), reference="gold").set_index("judge")["observed"]
    assert observed["g"] == pytest.approx(row["estimate"])
    grades = verdicts(RNG.integers(0, 4, 80), "score").assign(gold=RNG.integers(0, 4, 80))
    expected = (grades["score"] == grades["gold"]).groupby(grades["judge"]).mean()
    assert js.accuracy(grades).query("term == 'accuracy'")["estimate"].tolist() == expected.tolist()
    with pytest.raises(SchemaError, match=r"'gold' is no score.*gold=None"):
        js.accuracy(verdicts().assign(gold="A"))
    assert len(js.accuracy(js.ratings(verdicts().assign(gold="A"), gold=None))) == 6


def test_what_is_neither_right_nor_wrong_is_refused() -> None:
    rows = [
        (lambda: js.accuracy(verdicts(3.0, "score")), DesignError, r"'3\.0', neither right nor wrong.*column 'correct'")
    ]
    for odd in (0.5, "maybe", 7):
        table = verdicts(TRUE.astype(object))
        table.loc[9, "correct"] = odd
        rows += [
            (partial(js.ratings, table), r"'correct' is neither yes nor no in 1 row.*9"),
            (partial(js.accuracy, table), "'correct' is neither yes nor no in 1 rows"),
        ]
    refused(SchemaError, *rows)


def test_labels_say_what_is_right() -> None:
    table = verdicts(np.where(TRUE, "C", "I").astype(object), "grade")
    table.loc[0, "grade"] = "N"
    frame = js.ratings(table, correct="grade", labels={"C": "right", "I": "wrong", "N": "invalid"})
    assert frame["correct"].isna().tolist() == [True] + [False] * 79
    assert frame["correct"][1:].tolist() == TRUE[1:].tolist()


def test_a_score_of_booleans_or_words_is_a_verdict() -> None:
    for score in (TRUE, np.where(TRUE, "pass", "fail")):
        frame = js.ratings(verdicts(score, "score"))
        assert frame["correct"].tolist() == TRUE.tolist()
        assert "score" not in frame
    assert "score" in js.ratings(verdicts(TRUE.astype(int), "score"))  # numbers stay scores, and accuracy takes them
    assert len(js.accuracy(verdicts(TRUE.astype(int), "score"))) == 6


def test_a_tally() -> None:
    frame = js.ratings(verdicts())
    counts = tally(frame, "accuracy")
    assert counts.columns.tolist() == ["judge", "item", "outcome", "n"]
    pd.testing.assert_frame_equal(js.accuracy(counts), js.accuracy(frame))


def test_aggregation_and_composites_take_verdicts() -> None:
    panel = js.aggregate(js.ratings(verdicts()), "mean", over="judge")
    both = verdicts().groupby(["system", "item"])["correct"].mean()
    assert panel.set_index(["system", "item"])["score"].to_dict() == both.to_dict()
    parts = pd.concat([verdicts().assign(criterion="a"), verdicts(~TRUE).assign(criterion="b")])
    assert (js.composite(js.ratings(parts))["score"] == 0.5).all()


@pytest.mark.slow
def test_from_a_file_to_the_page(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.csv"
    verdicts(np.where(TRUE, "right", "wrong")).to_csv(path, index=False)
    seen = CliRunner().invoke(app, ["check", str(path)])
    assert seen.exit_code == 0, seen.output
    assert f"“correct” {100 * TRUE.mean():.1f} %" in seen.output
    assert "accuracy" in seen.output.partition("Measures not available")[0]
    page = js.report(js.read(path), tmp_path / "page.html", n_resamples=20).read_text()
    shares = f"“correct” {100 * TRUE.sum() / len(TRUE):.1f}\u202f%, “incorrect” {100 * (~TRUE).sum() / len(TRUE):.1f}\u202f%, 0 missing"
    assert f"80 verdicts: {shares}" in page
    assert "How often is the verdict “correct” or, with gold, right?" in page
    assert "Sorted by “Verdicts ‘correct’”" in page
    thrice = js.report(
        js.ratings(js.read(path).assign(n=3), counts="n"), tmp_path / "thrice.html", n_resamples=20
    ).read_text()
    assert f"240 verdicts: {shares}" in thrice


def test_an_unknown_table_of_verdicts_is_proposed(tmp_path: Path) -> None:
    table = verdicts(np.where(TRUE, "pass", "fail"), "verdict").rename(columns={"judge": "grader", "system": "model"})
    proposal = js.suggest_mapping(table)
    assert proposal.kind == "ratings"
    assert proposal.mapping == {"judge": "grader", "system": "model", "item": "item", "correct": "verdict"}
    path = tmp_path / "t.csv"
    table.to_csv(path, index=False)
    assert js.read(path, columns=proposal.mapping)["correct"].tolist() == TRUE.tolist()
    assert (
        js.read(path, columns={**proposal.mapping, "correct": None, "score": "verdict"})["correct"].sum() == TRUE.sum()
    )


@pytest.mark.real
def test_rubric_of_yes_and_no(real_data: Path) -> None:
    """Frontier self-bias: one yes or no a criterion, 3,726 of them, read as verdicts."""
    path = real_data / "self_bias_frontier" / "rubric_long.csv.gz"
    columns = {
        "system": "model",
        "item": "task_id",
        "criterion": "rubric_id",
        "correct": "satisfied",
        "domain": "domain",
    }
    frame = js.read(path, columns=columns)
    source = pd.read_csv(path)
    expected = source.groupby("judge")["satisfied"].mean()
    found = js.accuracy(frame).query("term == 'accuracy'").set_index("judge")["estimate"]
    assert found.to_dict() == pytest.approx(expected.to_dict(), abs=1e-12)


Z = 1.959963984540054


def labelled_verdicts(n: int = 120, seed: int = 4, judges: str = "gh") -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    gold = rng.choice(["x", "y", "tie"], n, p=[0.4, 0.35, 0.25])
    table = pd.DataFrame({"item": [str(i) for i in range(n)], "first": "x", "second": "y", "gold": gold})
    flip = rng.random(n) < 0.5
    table.loc[flip, ["first", "second"]] = table.loc[flip, ["second", "first"]].to_numpy()
    slot = np.where(table["gold"] == table["first"], "first", np.where(table["gold"] == "tie", "tie", "second"))
    parts = []
    for judge in judges:
        other = rng.choice(["first", "second", "tie", "abstain", "invalid"], n, p=[0.35, 0.3, 0.2, 0.05, 0.1])
        parts.append(table.assign(judge=judge, choice=np.where(rng.random(n) < 0.55, slot, other), slot=slot))
    return pd.concat(parts, ignore_index=True)


def kappa_row(result: pd.DataFrame, judge: str = "g") -> pd.Series:
    return result[(result["judge"] == judge) & (result["term"] == "kappa")].iloc[0]


@pytest.mark.parametrize("invalid", ["drop", "wrong", "tie"])
@pytest.mark.parametrize("ties", ["exact", "drop", "half"])
def test_kappa_is_scikit_learns_on_the_calls_scored(invalid, ties):
    calls = labelled_verdicts()
    one = calls[calls["judge"] == "g"].assign(answer=lambda t: t["choice"].replace("abstain", "tie"))
    if invalid == "drop":
        one = one[one["answer"] != "invalid"]
    if invalid == "tie":
        as_tie = one["answer"] == "invalid"
        if ties == "drop":
            one = one[~as_tie]
        one = one.assign(answer=one["answer"].mask(as_tie & (one["slot"] != "tie"), "tie"))
    if ties == "drop":
        one = one[(one["answer"] != "tie") | (one["slot"] == "tie")]
    got = gold_agreement(calls, invalid=invalid, ties=ties)
    row = kappa_row(got)
    assert row["estimate"] == pytest.approx(cohen_kappa_score(one["answer"], one["slot"]), abs=1e-13)
    assert row["n"] == len(one)
    if ties != "half":
        assert got.iloc[0][["estimate", "n"]].tolist() == [(one["answer"] == one["slot"]).mean(), len(one)]
    classes = ["first", "second", "tie", "invalid"]
    table = pd.crosstab(one["answer"], one["slot"]).reindex(index=classes, columns=classes, fill_value=0)
    error = float(cohen_kappa(table).std_error)
    assert row["std_error"] == pytest.approx(error, rel=1e-12)
    assert row["conf_low"] == pytest.approx(row["estimate"] - Z * error, abs=1e-12)
    assert row["conf_high"] == pytest.approx(row["estimate"] + Z * error, abs=1e-12)
    assert list(got[got["judge"] == "g"]["term"]) == ["accuracy", "wrong", "tie", "invalid", "kappa"]


def test_a_frame_and_its_tally_agree_in_every_engine():
    calls = labelled_verdicts()
    whole = gold_agreement(calls)
    counted = tally(calls, "gold_agreement")
    assert {"answer", "gold_answer"} <= set(counted.columns)
    pd.testing.assert_frame_equal(but_for_clustering(gold_agreement(counted)), whole)
    for same in (pl.from_pandas(calls), pl.from_pandas(calls).lazy(), calls.sample(frac=1, random_state=1)):
        pd.testing.assert_frame_equal(gold_agreement(same), whole, check_dtype=False)


def test_the_order_shown_moves_kappa_only_through_its_margins():
    calls = labelled_verdicts()
    turned = calls.assign(first=calls["second"], second=calls["first"])
    turned["choice"] = calls["choice"].replace({"first": "second", "second": "first"})
    pd.testing.assert_frame_equal(gold_agreement(turned), gold_agreement(calls))


def test_a_published_tally_without_slots_has_no_kappa():
    counts = pd.DataFrame({"judge": "g", "outcome": ["correct", "wrong"], "n": [60, 40]})
    assert list(gold_agreement(counts)["term"]) == ["accuracy", "wrong", "tie", "invalid"]


def test_one_class_only_and_perfect_agreement():
    calls = labelled_verdicts(40, judges="g")
    chance = kappa_row(gold_agreement(calls.assign(choice="tie", gold="tie")))
    assert np.isnan(chance["estimate"])
    assert chance["flag"] == CHANCE_IS_ONE
    perfect = kappa_row(gold_agreement(calls.assign(choice=calls["slot"])))
    assert perfect["estimate"] == 1
    assert np.isnan(perfect[["std_error", "conf_low", "conf_high"]].astype(float)).all()
    assert perfect["flag"] == NO_SPREAD


def test_clusters_of_one_give_the_plain_standard_error_and_copies_widen_it():
    calls = labelled_verdicts(judges="g")
    plain, each = kappa_row(gold_agreement(calls, cluster=False)), kappa_row(gold_agreement(calls, cluster="item"))
    assert each["std_error"] == pytest.approx(plain["std_error"], rel=0.02)
    left = [kappa_row(gold_agreement(calls[calls["item"] != i])) for i in calls["item"].unique()]
    without = [row["estimate"] for row in left if row["n"] < plain["n"]]  # the others have no valid answer
    error = np.sqrt((len(without) - 1) * np.var(np.arctanh(without)))
    assert each["std_error"] == pytest.approx((1 - plain["estimate"] ** 2) * error, rel=1e-9)
    copies = pd.concat([calls.assign(replicate=r) for r in range(3)])
    thrice = kappa_row(gold_agreement(copies, cluster="item"))
    assert thrice["std_error"] == pytest.approx(each["std_error"], rel=1e-9)
    assert kappa_row(gold_agreement(copies, cluster=False))["std_error"] < 0.6 * each["std_error"]


@pytest.mark.parametrize("interval", ["percentile", "bca"])
def test_bootstrap_of_kappa_is_near_the_asymptotic_interval(interval):
    calls = labelled_verdicts(400)
    plain = kappa_row(gold_agreement(calls))
    for options in ({}, {"cluster": "item"}):
        got = kappa_row(gold_agreement(calls, interval=interval, n_resamples=4000, **options))
        assert got["estimate"] == plain["estimate"]
        assert got["std_error"] == pytest.approx(plain["std_error"], rel=0.06)
        assert got["conf_low"] == pytest.approx(plain["conf_low"], abs=0.012)
        assert got["conf_high"] == pytest.approx(plain["conf_high"], abs=0.012)
        assert "bootstrap" in got["method"]


def test_strata_take_the_spread_between_them_away():
    """All right in one stratum, all wrong in the other: nothing is left to vary, and that is said, not printed as 0."""
    calls = labelled_verdicts(60, judges="g").assign(kind=lambda t: np.where(t.index < 40, "easy", "hard"))
    wrong = calls["slot"].map({"first": "second", "second": "tie", "tie": "first"})
    calls["choice"] = np.where(calls["kind"] == "easy", calls["slot"], wrong)
    free = gold_agreement(calls, interval="percentile", cluster="item").iloc[0]
    held = gold_agreement(calls, interval="percentile", strata="kind").iloc[0]
    assert free["std_error"] == pytest.approx(np.sqrt(2 / 9 / 60), rel=0.05)
    assert (held["estimate"], held["method"]) == (2 / 3, "percentile, bootstrap of calls within kind (B = 2000)")
    assert np.isnan(held["conf_low"])
    assert held["flag"] == "all resamples equal"


def test_columns_and_options_of_gold_that_cannot_be_are_refused():
    counts = pd.DataFrame({"judge": "g", "outcome": "correct", "answer": "A", "gold_answer": "A", "n": [60]})
    refused(
        DesignError,
        (lambda: gold_agreement(counts), SchemaError, "answer='A'"),
        (lambda: gold_agreement(labelled_verdicts().assign(answer="text"), by="answer"), "by='answer'"),
        (lambda: gold_agreement(labelled_verdicts(), strata="item"), "strata="),
        (lambda: gold_agreement(labelled_verdicts(), interval="wald"), "interval='wald' is not known"),
    )


def test_percentile_of_a_share_is_the_binomial():
    counts = pd.DataFrame({"judge": "g", "outcome": ["correct", "wrong"], "n": [264, 136]})
    row = gold_agreement(counts, interval="percentile").iloc[0]
    assert (row["conf_low"], row["conf_high"]) == (0.6125, 0.705)


def test_kappa_against_gold_has_one_definition():
    """Slots, as in the paper's Table 6; candidates by another name."""
    table = labelled_verdicts()
    known = table[~table["choice"].isin(["invalid"])]
    by_slot = kappa(known, reference="gold").set_index("judge")["estimate"]
    by_candidate = kappa(known, reference="gold_candidate").set_index("judge")["estimate"]
    of_gold = gold_agreement(known)
    for judge in ("g", "h"):
        assert by_slot[judge] == pytest.approx(kappa_row(of_gold, judge)["estimate"], rel=1e-12)
        here = known[known["judge"] == judge]
        won = np.where(
            here["choice"] == "first", here["first"], np.where(here["choice"] == "second", here["second"], "tie")
        )
        assert by_candidate[judge] == pytest.approx(cohen_kappa_score(won, here["gold"]), rel=1e-12)
        assert abs(by_candidate[judge] - by_slot[judge]) > 1e-4


def test_ac1_beside_a_reference_is_ac1_of_the_two():
    table = labelled_verdicts().query("choice != 'invalid'")
    table = table[
        table.groupby("item")["judge"].transform("size") == 2
    ]  # what only one answered counts for one of them
    for reference in ("gold_candidate", "h"):
        found = ac1(table, reference=reference).set_index("judge").loc["g"]
        here = table[table["judge"] == "g"]
        other = (
            here.assign(judge="gold", choice=lambda t: t["slot"])
            if reference == "gold_candidate"
            else table[table["judge"] == "h"]
        )
        together = ac1(pd.concat([here, other]), labels=["low", "tie", "high"]).iloc[0]
        assert found["estimate"] == pytest.approx(together["estimate"], rel=1e-12)
        assert found["std_error"] == pytest.approx(together["std_error"], rel=1e-9)
        assert (found["conf_low"], found["conf_high"]) == pytest.approx((together["conf_low"], together["conf_high"]))
    assert set(ac1(table, reference="gold")["judge"]) == {"g", "h"}


@pytest.mark.parametrize(
    ("invalid", "ties", "k", "n"),
    [
        ("drop", "exact", 5, 9),
        ("wrong", "exact", 5, 10),
        ("tie", "exact", 5, 10),
        ("drop", "drop", 5, 7),
        ("wrong", "drop", 5, 8),
        ("tie", "drop", 5, 7),
        ("drop", "half", 6, 9),
        ("wrong", "half", 6, 10),
        ("tie", "half", 6.5, 10),
    ],
)
def test_gold_conventions(invalid, ties, k, n):
    result = gold_agreement(gold_calls(), invalid=invalid, ties=ties).set_index("term")
    assert result.loc["accuracy", "estimate"] == pytest.approx(k / n)
    assert result.loc["accuracy", "n"] == n
    excluded = re.findall(r"(\d+) (?:invalid call|tie)s? excluded", result.loc["accuracy", "flag"])
    assert n + sum(map(int, excluded)) == 10
    assert result.loc["accuracy", "flag"].endswith("n < 30")
    assert result.loc[["wrong", "tie", "invalid"], "estimate"].tolist() == pytest.approx([0.2, 0.2, 0.1])
    assert (result.loc[["wrong", "tie", "invalid"], "n"] == 10).all()


def test_gold_needs_no_order():
    calls = calls_of(PAIRS[:3]).assign(gold="x")
    result = gold_agreement(aggregate(calls))
    assert result["estimate"].iloc[0] == pytest.approx(2 / 3)
    assert NOT_INDEPENDENT not in result["flag"].iloc[0]
    assert NOT_INDEPENDENT in gold_agreement(calls, cluster=False)["flag"].iloc[0]
    assert "clustered by item" in gold_agreement(calls)["method"].iloc[0]


@pytest.mark.parametrize("name", ["gold_agreement", "position_bias", "answer_rates"])
def test_rates_name_the_column_they_are_clustered_by(name):
    calls = both_orders(60, 10).assign(gold="x")
    measure = {"gold_agreement": gold_agreement, "position_bias": position_bias, "answer_rates": answer_rates}[name]
    assert measure(calls)["method"].str.contains("clustered by item").all()
    plain = measure(calls, cluster=False)
    assert not plain["method"].str.contains("clustered").any()
    assert plain["flag"].str.contains("calls not independent").all()
    unknown = measure(tally(calls, name, cluster=False))
    assert unknown["flag"].str.contains("clustering unknown").all()
    pd.testing.assert_frame_equal(unknown.drop(columns="flag"), plain.drop(columns="flag"))


def test_pairs_of_too_few_items_are_clusters_and_say_so():
    one = both_orders(9, 5)
    calls = pd.concat([one.assign(first=one["first"] + str(k), second=one["second"] + str(k)) for k in range(3)])
    calls = calls.assign(gold=np.minimum(calls["first"], calls["second"]))
    result = gold_agreement(calls)
    assert result["method"].str.contains("clustered by pair").all()
    assert result["method"].str.endswith("holds for these 9 items").all()
    pd.testing.assert_frame_equal(gold_agreement(tally(calls, "gold_agreement")), result)
    assert not gold_agreement(calls, cluster="item")["method"].str.contains("holds for").any()


def test_gold_of_no_rows_of_no_items_and_of_no_cluster():
    assert gold_agreement(calls().iloc[:0]).empty
    for unfit in (calls().drop(columns="item"), pl.from_pandas(calls().drop(columns="item"))):
        with pytest.raises(DesignError, match="needs item"):
            gold_agreement(unfit)
    pd.testing.assert_frame_equal(gold_agreement(calls(), cluster=[]), gold_agreement(calls()))
