"""The verdict under the other readings of its question: on public verdicts, and where the truth is planted."""

from math import nan

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.reporting.page_data import PageArguments, measure_all
from judgestats.reporting.verdict_readings import VerdictReadings
from judgestats.schema import preferences

pytestmark = pytest.mark.usefixtures("_only_the_first_screen")


def summary_of(data, **options):
    return measure_all(data, PageArguments(n_resamples=20, **options)).summary


def judged(rng, per_call, in_both, n=350):
    """Pairs in both orders: each judge is right in a share of calls, and in a share of pairs in both orders.

    Half of the pairs are as hard for one judge as for another.
    """
    rows, hard = [], rng.random(n)
    for judge in per_call:
        both, one = in_both[judge], 2 * (per_call[judge] - in_both[judge])
        own = np.where(rng.random(n) < 0.5, hard, rng.random(n))
        right = np.where(own < both, 2, np.where(own < both + one, 1, 0))
        for i in range(n):
            lone = rng.integers(0, 2)
            for order, (a, b) in enumerate((("x", "y"), ("y", "x"))):
                known = right[i] == 2 or (right[i] == 1 and order == lone)
                winner = "x" if known == (i % 2 == 0) else "y"
                rows.append((judge, f"i{i}", a, b, "first" if winner == a else "second", "x" if i % 2 == 0 else "y"))
    return preferences(pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice", "gold"]))


def test_a_judge_that_is_first_under_every_reading_is_to_be_used():
    table = js.datasets.load("llmbar")
    vanilla = table[table["strategy"] == "Vanilla"].drop(columns=["strategy", "subset"])
    page = summary_of(vanilla)
    assert page.verdict.startswith(
        "Use GPT-4, for these 5 groups of items: right in 84\u202f%, 14 points above the next, PaLM2. It is first under all 4"
    )
    line, heads, rows = page.readings
    assert line == "Under 4 other readings of the data: GPT-4 is first in each"
    assert heads == ["reading", "question", "first", "its value", "GPT-4", "clear of all others"]
    found = js.specifications(vanilla)
    assert [row[0] for row in rows] == list(dict.fromkeys(found["reading"]))
    best = found[found["judge"] == "GPT-4"]
    assert [row[3] for row in rows] == [f"{100 * value:.0f}\u202f%" for value in best["estimate"]]


def test_where_another_is_first_in_both_orders_none_is_to_be_used():
    rng = np.random.default_rng(0)
    data = judged(rng, {"called": 0.80, "sure": 0.72}, {"called": 0.60, "sure": 0.70}, n=600)
    text = summary_of(data).verdict
    assert text.startswith("Which judge is best depends on how the data are read: called is right in ")
    assert "but under “right in both orders” sure is first (" in text
    assert "Use " not in text


def test_a_tie_does_not_hide_a_reversal_either():
    rng = np.random.default_rng(1)
    data = judged(rng, {"called": 0.75, "sure": 0.71}, {"called": 0.52, "sure": 0.70}, n=250)
    text = summary_of(data).verdict
    assert "called is first as counted here, but under “right in both orders” sure is first (" in text


def test_one_judge_and_data_without_another_reading_have_none():
    data = judged(np.random.default_rng(2), {"a": 0.8}, {"a": 0.7}, n=40)
    assert summary_of(data).readings is None
    two = judged(np.random.default_rng(2), {"a": 0.9, "b": 0.6}, {"a": 0.85, "b": 0.5}, n=60)
    one_order = two[two["first"].astype(str) == "x"]
    page = summary_of(one_order)
    assert page.readings is None
    assert page.verdict.startswith("Use a: ")
    assert "reading" not in page.verdict


def test_readings_with_the_same_numbers_are_one_line(tmp_path):
    rows = [
        (j, f"q{i}", a, b, ("first" if a == "x" else "second") if j == "a" or i % 3 else "invalid", "x")
        for j in "ab"
        for i in range(45)
        for a, b in (("x", "y"), ("y", "x"))
    ]
    data = preferences(pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice", "gold"]))
    right = data[data["choice"] != "invalid"]
    same = summary_of(right)
    assert same.readings is not None
    assert same.readings[0] == "1 other reading of the data has the same numbers"
    assert same.readings[1:] == ([], [])
    page = js.report(right, tmp_path / "page.html", n_resamples=20).read_text(encoding="utf-8")
    assert "1 other reading of the data has the same numbers." in page
    assert '<details class="readings">' not in page
    assert summary_of(data).readings[2]  # an invalid verdict is wrong: other numbers


@pytest.mark.real
def test_items_of_one_app_name_no_judge_on_pandalm(real_data, monkeypatch):
    monkeypatch.undo()  # agreement with people is a measure
    calls, humans = js.datasets.load("pandalm"), ["annotator1", "annotator2", "annotator3"]
    app = pd.read_csv(real_data / "pandalm" / "verdicts.csv").set_index("idx")["app"]
    page = summary_of(calls.assign(app=calls["item"].astype(int).map(app)), humans=humans)
    assert page.differences["right"].winner == ""
    assert page.differences["right"].tied == ("pandalm_7b",)


@pytest.mark.real
def test_judgebench_is_a_trade_off(real_data):
    page = summary_of(js.read(sorted((real_data / "judgebench").glob("dataset*.jsonl.gz"))))
    gemma, mini = "Skywork/Skywork-Reward-Gemma-2-27B", "o1-mini-2024-09-12"
    assert f"under “right in both orders” {gemma} is first (64\u202f%; {mini} 58\u202f%)." in page.verdict
    assert f"{mini} is first as counted here" in page.verdict


def test_a_cluster_that_is_named_holds_for_the_readings_as_for_the_verdict():
    """Levels of 12 apps widen both, or, where cluster= names the items, neither."""
    data = judged(np.random.default_rng(6), {"a": 0.82, "b": 0.72}, {"a": 0.74, "b": 0.62}, n=240)
    apps = data.assign(app="app " + (data["item"].astype(str).str[1:].astype(int) % 12).astype(str))
    for cluster in ("auto", "item"):
        page = summary_of(apps, cluster=cluster)
        plain = summary_of(data, cluster=cluster)
        alone = [row[-1] == "yes" for row in page.readings[2]]
        assert alone[0] is (page.differences["right"].winner != "")
        same = page.differences["right"].pairs.equals(plain.differences["right"].pairs)
        assert same is (cluster == "item")


def said(per_call, in_both, replications, seed, n=350):
    rng = np.random.default_rng(seed)
    return [summary_of(judged(rng, per_call, in_both, n)).verdict for _ in range(replications)]


@pytest.mark.slow
def test_clear_leads_and_reversals_are_said_and_a_worse_judge_is_seldom_named():
    lead = said({"a": 0.82, "b": 0.75}, {"a": 0.74, "b": 0.67}, 30, 3)
    assert sum(text.startswith("Use a: ") for text in lead) >= 24
    # b has 9 points more in both orders, three standard errors of the difference; where a is not first per call in the
    # data, either, there is no reversal to be said
    reversed_ = said({"a": 0.80, "b": 0.76}, {"a": 0.64, "b": 0.735}, 30, 4)
    in_data = [text for text in reversed_ if "a is first" in text or "a is right" in text]
    assert len(in_data) >= 26
    assert sum("under “right in both orders” b is first" in text for text in in_data) >= 0.95 * len(in_data)
    equal = said({"a": 0.78, "b": 0.78}, {"a": 0.7, "b": 0.7}, 60, 5)
    assert sum(text.startswith("Use ") for text in equal) <= 3 + 3 * np.sqrt(60 * 0.05 * 0.95)


def test_a_reading_without_estimates_is_named_and_is_none_of_those_under_which_a_judge_is_first():
    rows = pd.DataFrame(
        [(r, k, j, e, rank) for r, k, values in (
            ("headline", "headline", (0.7, 0.6)), ("by item", "the same", (0.6, 0.7)), ("ranks", "another", (nan, nan)))
         for j, e, rank in zip("gh", values, pd.Series(values).rank(ascending=False), strict=True)],
        columns=["reading", "kind", "judge", "estimate", "rank"],
    ).assign(conf_low=0.1, conf_high=0.9, best_set=True)  # fmt: skip
    readings = VerdictReadings(rows, "share", "accuracy")
    assert readings.in_words() == "Under 1 other reading of the data: g is first in 0"
    assert readings.table()[1][2][:5] == ["ranks", "another", "no judge has an estimate", "n/a", "n/a"]
