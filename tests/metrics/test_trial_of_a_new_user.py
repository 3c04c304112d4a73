"""What a new user stumbled over, each with the smallest table that shows it."""

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import DesignError


def scores(systems=("s", "t"), items=12):
    rng = np.random.default_rng(0)
    keys = pd.MultiIndex.from_product([["ann", "bob", "cy"], systems, range(items)], names=["judge", "system", "item"])
    table = keys.to_frame(index=False)
    quality = rng.normal(0, 2, (len(systems), items))
    at = table["system"].map({s: i for i, s in enumerate(systems)})
    return table.assign(score=quality[at, table["item"]] + rng.normal(0, 1, len(table)))


def test_the_subjects_of_icc_are_the_things_that_were_scored():
    table = scores()
    default = js.icc(table).set_index("term")["estimate"]
    pd.testing.assert_series_equal(default, js.icc(table, subjects=["system", "item"]).set_index("term")["estimate"])
    averaged = js.icc(table, subjects="item")
    assert (averaged["flag"].str.contains("averaged over system")).all()
    one = js.icc(table, by="system")
    pd.testing.assert_frame_equal(one, js.icc(table, by="system", subjects="item"))


def test_a_strategy_that_was_never_run_is_no_test():
    calls = pd.DataFrame(
        [
            {"judge": j, "strategy": s, "item": str(i), "first": "x", "second": "y", "gold": "x", "choice": c}
            for j, s, right in (("g", "B0", 20), ("g", "S1", 30), ("g", "S8", 25), ("h", "B0", 20), ("h", "S1", 28))
            for i in range(40)
            for c in ["first" if i < right else "second"]
        ]
    )
    table = js.compare_strategies(calls)
    made = table["p_value"].notna()
    assert made.sum() == 3
    assert set(table.loc[made, "adjustment"]) == {"holm, m = 3"}
    assert set(js.compare_strategies(calls, n_tests=20).loc[made, "adjustment"]) == {"holm, m = 20"}
    with pytest.raises(DesignError, match="n_tests=2 tests were planned, and 3 could be made"):
        js.compare_strategies(calls, n_tests=2)


def test_a_person_who_never_saw_the_target_is_still_a_person():
    rows = [("ann", "1", "md", "first"), ("ann", "2", "md", "second"), ("g", "1", "md", "first")]
    rows += [("g", "2", "md", "first"), ("bob", "3", "other", "first")]
    calls = pd.DataFrame(rows, columns=["judge", "item", "first", "choice"]).assign(second="plain")
    table = js.preference_gap(calls, humans=["ann", "bob"], target="md")
    assert set(table.loc[table["role"] == "judge", "judge"]) == {"g"}
    with pytest.raises(DesignError, match="humans= names 'cy'"):
        js.preference_gap(calls, humans=["ann", "cy"], target="md")


def test_people_who_judged_the_same_pairs_are_not_independent():
    rows = [(who, str(i), "first" if i % 3 else "second") for who in ("ann", "bob", "g") for i in range(40)]
    calls = pd.DataFrame(rows, columns=["judge", "item", "choice"]).assign(first="md", second="plain", target="md")
    table = js.preference_gap(calls, humans=["ann", "bob"]).set_index(["role", "term"])
    assert "calls not independent" in table.loc[("people", "rate"), "flag"]
    assert not table.loc[("person", "rate"), "flag"].str.contains("independent").any()


def test_attributes_and_gold_scores_are_mapped_like_any_column():
    raw = pd.DataFrame(
        {"j": "g", "i": ["1", "2"], "a": "x", "b": "y", "c": ["first", "second"], "la": [3, 9], "lb": [5, 1]}
    )
    names = {"judge": "j", "item": "i", "first": "a", "second": "b", "choice": "c"}
    calls = js.preferences(raw, **names, length_first="la", length_second="lb")
    assert js.bias_score(calls, attribute="length")["estimate"].iloc[0] == -1.0
    rated = pd.DataFrame({"j": "g", "s": "s", "i": ["1", "2"], "q": [3.0, 4.0], "right": [3.0, 5.0]})
    table = js.ratings(rated, judge="j", system="s", item="i", score="q", gold="right")
    assert js.score_error(table).set_index("term").loc["mae", "estimate"] == 0.5


def test_an_empty_frame_has_no_datasheet_and_says_so():
    calls = js.preferences(pd.DataFrame({"judge": ["g"], "item": "1", "first": "x", "second": "y", "choice": "first"}))
    with pytest.raises(DesignError, match="no rows"):
        js.datasheet(calls.iloc[:0])


def test_thousands_of_systems_are_not_looked_into_one_by_one():
    table = scores(systems=[f"s{i:04d}" for i in range(501)], items=1)
    found = js.available_measures(table).set_index("measure")
    assert "501 systems are too many" in found.loc["agreement_levels", "missing"]
    assert found.loc["icc", "supported"]
