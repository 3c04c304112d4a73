"""What is found of each class, recomputed with pandas, of judges and of each person beside the others."""

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.reporting.html_pages import as_html
from judgestats.reporting.page_data import PageArguments, measure_all

N = 90


def verdicts(labels, gold, people, answer="answer"):
    """Two judges, and people, on 90 items."""
    rng = np.random.default_rng(3)
    truth = rng.choice(labels, N, p=(0.7, 0.3) if len(labels) == 2 else None)
    raters = [("gpt", 0.9, "model"), ("llama", 0.5, "model"), *((f"P{k}", 0.8, "human") for k in range(people))]
    parts = [
        pd.DataFrame({"judge": who, "system": "s", "item": [f"i{k}" for k in range(N)], "rater_type": kind, "gold": truth,
                      "answer": np.where(rng.random(N) < right, truth, rng.choice(labels, N))})
        for who, right, kind in raters
    ]  # fmt: skip
    table = pd.concat(parts, ignore_index=True)
    if answer == "correct":
        table = table.assign(correct=table["answer"] == labels[0], gold=table["gold"] == labels[0])
        table = table.drop(columns="answer")
    return table if gold else table.drop(columns="gold")


def majority(table, raters):
    """The most frequent answer of some raters to each item, none where two are even."""
    counts = table[table["judge"].isin(raters)].groupby("item")["answer"].value_counts().unstack(fill_value=0)
    top = counts.max(axis=1)
    return counts.idxmax(axis=1)[counts.eq(top, axis=0).sum(axis=1) == 1]


def shares(said, truth, name):
    """Sensitivity and specificity of one class."""
    both = pd.concat([said.rename("said"), truth.rename("truth")], axis=1).dropna()
    there = both["truth"] == name
    return (both["said"][there] == name).mean(), (both["said"][~there] != name).mean()


@pytest.mark.parametrize("labels", [("safe", "unsafe"), ("a", "b", "c")])
@pytest.mark.parametrize("gold", [True, False])
def test_sensitivity_and_specificity_are_those_of_the_rows(labels, gold):
    table = verdicts(labels, gold, people=3)
    page = measure_all(js.ratings(table), PageArguments(n_resamples=20))
    people = [f"P{k}" for k in range(3)]
    reference = table.drop_duplicates("item").set_index("item")["gold"] if gold else majority(table, people)
    beside = {who: (table[table["judge"] == who].set_index("item")["answer"], reference) for who in ("gpt", "llama")}
    for person in people:
        others = majority(table, [p for p in people if p != person])
        beside[f"{person}, a person, beside the others"] = (
            table[table["judge"] == person].set_index("item")["answer"],
            others,
        )
    panels = page.summary.classes
    two = len(labels) == 2
    assert list(panels) == (["What is found of “unsafe”"] if two else ["Sensitivity by class", "Specificity by class"])
    columns = [(c, "unsafe" if two else c.label.strip("“”")) for part in panels.values() for c in part]
    assert len(columns) == (2 if two else 6)
    for column, name in columns:
        expected = {who: shares(*sides, name)[column.term == "specificity"] for who, sides in beside.items()}
        assert {who: cell["estimate"] for who, cell in column.cells.items()} == pytest.approx(expected)
    text = as_html(page)
    assert all(head in text for head in panels)
    assert "P0, a person, beside the others" in text
    assert text.index(next(iter(panels))) < text.index("The numbers")  # in no fold


def test_verdicts_of_right_and_wrong_have_the_shares_of_the_rarer_answer():
    table = verdicts(("right", "wrong"), gold=True, people=0, answer="correct")
    (columns,) = measure_all(js.ratings(table), PageArguments(n_resamples=20)).summary.classes.values()
    for judge, rows in table.groupby("judge"):
        wrong = ~rows["gold"].astype(bool)
        assert columns[0].cells[judge]["estimate"] == pytest.approx((~rows["correct"][wrong].astype(bool)).mean())
        assert columns[1].cells[judge]["estimate"] == pytest.approx(rows["correct"][~wrong].astype(bool).mean())


def test_scores_and_pairs_have_no_such_panel():
    scores = verdicts(("1", "2"), gold=True, people=0).rename(columns={"answer": "score"})
    page = measure_all(js.ratings(scores.astype({"score": float, "gold": float})), PageArguments(n_resamples=20))
    assert page.summary.classes == {}
