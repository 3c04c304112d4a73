"""Dimensions of two judges' rubrics are matched one to one, and their similarity has a chance level beside it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from judgestats.design import (
    matched_dimensions,
    rubric_similarity,
)
from judgestats.errors import DesignError
from refusals import refused


def counts(texts):
    """Words as axes: cosines that can be computed by hand."""
    words = sorted({w for t in texts for w in t.split()})
    return np.array([[t.split().count(w) for w in words] for t in texts], dtype=float)


def test_the_assignment_is_the_best_of_all():
    from itertools import permutations

    rng = np.random.default_rng(5)
    words = list("abcdefg")
    rows = [
        (judge, item, " ".join(rng.choice(words, 3)) + f" {k}", weight)
        for item in "123"
        for judge in "gh"
        for k, weight in zip(range(5), rng.dirichlet(np.ones(5)), strict=True)
    ]
    rubrics = pd.DataFrame(rows, columns=["judge", "item", "criterion", "weight"])
    found = matched_dimensions(rubrics, embed=counts)
    assert found["embed"].unique().tolist() == ["counts"]
    for item, here in found.groupby("item"):
        one, two = (rubrics[(rubrics["judge"] == j) & (rubrics["item"] == item)] for j in "gh")
        x, y = (counts([*one["criterion"], *two["criterion"]])[part] for part in (slice(5), slice(5, 10)))
        cosine = (x @ y.T) / np.outer(np.linalg.norm(x, axis=1), np.linalg.norm(y, axis=1))
        best = max(sum(cosine[i, p[i]] for i in range(5)) for p in permutations(range(5)))
        assert here["similarity"].sum() == pytest.approx(best)
        assert sorted(here["other_criterion"]) == sorted(two["criterion"])
        assert here["weight"].sum() == pytest.approx(1)
        assert here["other_weight"].sum() == pytest.approx(1)


def test_limits_of_similarity_and_distance():
    one = pd.DataFrame({"judge": "g", "criterion": list("vwxyz"), "weight": [0.5, 0.2, 0.1, 0.1, 0.1]})
    one["criterion"] = one["criterion"] + " quality"
    one = pd.concat([one.assign(item=i) for i in ("1", "2", "3")])
    same = one.assign(judge="h").sample(frac=1, random_state=1)
    found = rubric_similarity(pd.concat([one, same]), embed=counts).set_index("term")["estimate"]
    assert found.to_dict() == pytest.approx({"similarity": 1, "similarity_other_items": 1, "weight_distance": 0})
    other = one.assign(
        judge="h", criterion="unlike " + one["criterion"].str[0] * 2, weight=[0.1, 0.1, 0.1, 0.2, 0.5] * 3
    )
    found = rubric_similarity(pd.concat([one, other]), embed=counts).set_index("term")["estimate"]
    assert found["similarity"] == 0
    assert 0 <= found["weight_distance"] <= 0.5
    short = one[one["criterion"] != "v quality"].assign(judge="h", weight=[0.4, 0.2, 0.2, 0.2] * 3)
    matched = matched_dimensions(pd.concat([one, short]), embed=counts)
    left = matched[matched["other_criterion"].isna()]
    assert (
        left[["criterion", "similarity", "weight", "other_weight"]].to_numpy().tolist()
        == [["v quality", 0, 0.5, 0]] * 3
    )
    assert rubric_similarity(pd.concat([one, short]), embed=counts)["estimate"].tolist() == pytest.approx(
        [0.8, 0.8, 0.5]
    )
    swapped = matched_dimensions(pd.concat([one.assign(judge="z"), short]), embed=counts)
    assert swapped["criterion"].isna().sum() == 3


def test_planted_similarity_is_recovered_with_an_interval():
    """A share of the dimensions is of a pool that both judges have: the similarity of orthogonal names is that share."""
    rng = np.random.default_rng(11)
    rows = []
    for item in range(120):
        shared = rng.binomial(5, 0.6)
        for judge in ("g", "h"):
            names = [f"shared{item}x{k}" for k in range(shared)] + [f"{judge}{item}x{k}" for k in range(5 - shared)]
            rows += [(judge, str(item), n, 0.2, "a" if item < 60 else "b") for n in names]
    rubrics = pd.DataFrame(rows, columns=["judge", "item", "criterion", "weight", "domain"])
    found = rubric_similarity(rubrics).set_index("term")
    assert found.loc["similarity", "conf_low"] < 0.6 < found.loc["similarity", "conf_high"]
    assert found.loc["similarity", "conf_high"] - found.loc["similarity", "conf_low"] < 0.1
    assert found.loc["similarity_other_items", "estimate"] == 0
    assert found["n"].tolist() == [120] * 3
    by = rubric_similarity(rubrics, by="domain")
    assert by["n"].tolist() == [60] * 6
    assert by[by["term"] == "similarity"]["estimate"].mean() == pytest.approx(found.loc["similarity", "estimate"])
    unknown = rubrics.assign(domain=rubrics["domain"].where(rubrics["domain"] == "a"))
    assert rubric_similarity(unknown, by="domain")["estimate"].tolist() == by["estimate"].tolist()
    some = rubrics[(rubrics["judge"] == "g") | (rubrics["item"].astype(int) < 100)]
    first = rubric_similarity(some).iloc[0]
    assert first["n"] == 100
    assert "20 items without a rubric of both excluded" in first["flag"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="weight"), "no column 'weight'"),
        (lambda t: t[t["judge"] == "g"], "No item has rubrics of two judges"),
        (lambda t: t.assign(criterion=None), "No item has rubrics of two judges"),
    ],
)
def test_tables_of_rubrics_that_do_not_fit(change, message):
    table = pd.DataFrame({"judge": ["g", "h"], "item": "1", "criterion": ["a", "b"], "weight": 1.0})
    refused(
        DesignError,
        (lambda: rubric_similarity(change(table)), message),
        (lambda: rubric_similarity(table, by="judge"), "by='judge' has several values for one item"),
    )
