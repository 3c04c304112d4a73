"""Readings of a question: each cell against pandas on public sets and tables by hand, ranks, best sets, refusals."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

import judgestats as js
from judgestats.errors import DesignError
from judgestats.metrics.marks import order_marks, right_marks, steady_marks
from judgestats.metrics.standings import means_of, standing
from refusals import refused

SAME, ANOTHER = "same question", "another question"


def cells(table, reading):
    rows = table[table["reading"] == reading]
    assert len(rows), f"no reading {reading!r}: {list(dict.fromkeys(table['reading']))}"
    return rows.set_index("judge")["estimate"]


def equal(table, reading, expected):
    """Every judge's estimate is the mean that pandas gives."""
    got = cells(table, reading)
    pd.testing.assert_series_equal(got, expected.reindex(got.index), check_names=False, rtol=1e-12)


@pytest.fixture(scope="module")
def llmbar():
    table = js.datasets.load("llmbar")
    return table[table["strategy"] == "Vanilla"].drop(columns=["strategy", "subset"]).reset_index(drop=True)


@pytest.fixture(scope="module")
def mtbench():
    return js.datasets.load("mtbench_position")


@pytest.fixture(scope="module")
def hard():
    """Ties, ties that are right, invalid verdicts, tasks of unlike size, repeats, and judges with unlike pools."""
    rng = np.random.default_rng(8)
    rows = []
    for j, skill in (("a", 0.8), ("b", 0.7), ("c", 0.55)):
        for i in range(60 if j != "c" else 45):
            gold = ("x", "y", "x", "y", "tie")[i % 5]
            for order in (("x", "y"), ("y", "x")):
                for _ in range(2 if i % 7 == 0 else 1):
                    lucky = rng.random()
                    wrong = "y" if gold == "x" else "x"
                    winner = gold if lucky < skill else "tie" if lucky > 0.9 else wrong
                    choice = "tie" if winner == "tie" else "first" if winner == order[0] else "second"
                    rows.append(
                        (
                            j,
                            f"q{i}",
                            "t1" if i < 40 else "t2",
                            *order,
                            "invalid" if rng.random() < 0.06 else choice,
                            gold,
                        )
                    )
    table = pd.DataFrame(rows, columns=["judge", "item", "task", "first", "second", "choice", "gold"])
    return table.assign(
        replicate=table.groupby(["judge", "item", "first"]).cumcount(),
        length_first=np.where(table["item"] == "q3", 0, 9),
    )


def call_table(table):
    """The calls with winner and value by pandas alone."""
    names = table[["first", "second"]].astype(str)
    choice = table["choice"].astype(str)
    winner = names["first"].where(choice == "first", names["second"]).mask(choice.isin(["tie", "abstain"]), "tie")
    valid = choice != "invalid"
    low = names.min(axis=1)
    pair = table["item"].astype(str) + "|" + low + "|" + names.max(axis=1)
    pair += table["replicate"].astype(str) if "replicate" in table else ""  # each repeat is asked in both orders
    gold = table["gold"].astype(str) if "gold" in table else "tie"
    side = (choice == "first") * 1.0 - (choice == "second")
    own = {
        "winner": winner.where(valid),
        "valid": valid,
        "pair": pair,
        "cell": pair + names["first"],
        "low": low,
        "side": side,
    }
    own["vote"] = ((winner == low) * 1.0 - ((winner != low) & (winner != "tie"))).where(valid)
    return table.assign(
        **own, value=(winner == gold).astype(float).where(valid), tie=valid & (winner == "tie") & (gold != "tie")
    )


def mean(table, value="value", key="cell"):
    """Mean over units, each weighted by its valid calls: that of the calls."""
    return table.dropna(subset=[value]).groupby("judge")[value].mean()


def whole(table, dropped, key="cell"):
    return table[~table[key].isin(table.loc[dropped, key])]


def alike(table, column):
    by_level = table.dropna(subset=["value"]).groupby(["judge", column], observed=True)["value"].mean()
    return by_level.groupby("judge").mean()


def merged(table, rule):
    """Right verdicts of pairs with valid votes in both orders, merged by a rule for two signs."""
    valid = table[table["valid"]].assign(turned=table["first"].astype(str) != table["low"])
    votes = valid.groupby(["judge", "pair", "turned"])["vote"].sum().unstack().dropna()
    first = valid.groupby(["judge", "pair"])[["gold", "low"]].first().astype(str).loc[votes.index]
    right = np.where(first["gold"] == "tie", 0, np.where(first["gold"] == first["low"], 1, -1))
    one, two = np.sign(votes[False].to_numpy()), np.sign(votes[True].to_numpy())
    return pd.Series(rule(one, two, right), index=votes.index, dtype=float).groupby("judge").mean()


def assert_right(table, *, ties, empty, tasks):
    own, found = call_table(table), js.specifications(table)
    equal(found, "headline", mean(own))
    equal(found, "an invalid verdict is wrong", own["value"].fillna(0).groupby(own["judge"]).mean())
    equal(found, "only where all judges are valid", mean(whole(own, ~own["valid"])))
    equal(found, "every item alike", alike(own, "item"))
    equal(found, "right in both orders", merged(own, lambda a, b, r: (a == r) & (b == r)))
    expected = {
        "headline",
        "an invalid verdict is wrong",
        "only where all judges are valid",
        "every item alike",
        "right in both orders",
    }
    if ties:
        equal(found, "a tie is half right", mean(own.assign(value=own["value"].mask(own["tie"], 0.5))))
        equal(found, "only where no judge ties", mean(whole(own, own["tie"])))
        equal(found, "orders merged, a difference is a tie", merged(own, lambda a, b, r: np.where(a == b, a, 0) == r))
        equal(found, "orders merged, by the sum of votes", merged(own, lambda a, b, r: np.sign(a + b) == r))
        expected |= {
            "a tie is half right",
            "only where no judge ties",
            "orders merged, a difference is a tie",
            "orders merged, by the sum of votes",
        }
    if empty:
        nothing = own["length_first"] == 0
        equal(found, "without empty texts", mean(whole(own, nothing)))
        expected |= {"without empty texts"}
    if tasks:
        equal(found, "every task alike", alike(own, "task"))
        expected |= {"every task alike"}
    assert set(found["reading"]) == expected


def test_right_verdicts_are_those_of_pandas(llmbar, hard):
    assert_right(llmbar, ties=False, empty=False, tasks=False)
    assert_right(hard, ties=True, empty=True, tasks=True)


def test_the_headline_is_that_of_the_measure_and_its_best_set_that_of_the_page(llmbar):
    found = js.specifications(llmbar)
    measure = js.gold_agreement(llmbar).query("term == 'accuracy'").set_index("judge")["estimate"]
    equal(found, "headline", measure)
    ranking = standing(right_marks(llmbar, [], "item"), bounds=(0.0, 1.0))
    first = found[found["reading"] == "headline"].set_index("judge")
    assert first.index[first["best_set"]].tolist() == [ranking.best, *ranking.tied] == ["GPT-4"]
    ends = ranking.means.set_index("judge")[["conf_low", "conf_high"]]
    np.testing.assert_allclose(first[["conf_low", "conf_high"]], ends.loc[first.index])
    assert found.loc[found["rank"] == 1, "judge"].tolist() == ["GPT-4"] * found["reading"].nunique()


def test_steady_verdicts_are_those_of_pandas(mtbench, llmbar):
    for table in (mtbench, llmbar):
        found, own = js.specifications(table, question="steady"), call_table(table)
        own["turned"] = own["first"].astype(str) != own["low"]
        own["vote"] = own["vote"].fillna(9)
        votes = own.set_index(["judge", "pair", "turned"])["vote"].unstack().dropna()
        valid = (votes != 9).all(axis=1)
        tie = ((votes == 0).sum(axis=1) == 1) & valid
        pairs = pd.DataFrame(
            {"value": (votes[False] == votes[True]).astype(float), "valid": valid, "tie": tie}
        ).reset_index()
        pairs["value"] = pairs["value"].where(pairs["valid"])
        equal(found, "headline", mean(pairs))
        equal(
            found,
            "a pair with an invalid verdict is not the same",
            pairs["value"].fillna(0).groupby(pairs["judge"]).mean(),
        )
        equal(found, "only where all judges are valid", mean(whole(pairs, ~pairs["valid"], "pair")))
        if tie.any():
            equal(
                found,
                "a tie and a verdict are half the same",
                mean(pairs.assign(value=pairs["value"].mask(pairs["tie"], 0.5))),
            )
            equal(found, "only pairs that no judge ties", mean(whole(pairs, pairs["tie"], "pair")))
        equal(found, "headline", means_of(steady_marks(table, [])).set_index("judge")["estimate"])


def test_preferences_for_a_place_are_those_of_pandas(mtbench):
    found, own = js.specifications(mtbench, question="position"), call_table(mtbench)
    own["value"] = own["side"].where(own["valid"])
    equal(found, "headline", means_of(order_marks(mtbench, [])).set_index("judge")["estimate"])
    equal(found, "headline", mean(own))
    equal(found, "of verdicts that are no tie", mean(own[own["winner"] != "tie"]))
    equal(found, "every item alike", alike(own, "item"))
    rows = found[found["reading"] == "headline"]
    assert rows.loc[rows["estimate"].abs().idxmin(), "rank"] == 1
    assert rows.loc[rows["best_set"], "judge"].str.startswith("gpt-").all()  # those without a bias that is shown


def test_distances_are_those_of_pandas():
    rng = np.random.default_rng(2)
    items = pd.DataFrame({"item": range(40), "task": ["u"] * 30 + ["v"] * 10, "gold": rng.integers(1, 8, 40)})
    table = items.merge(pd.DataFrame({"judge": list("abc")}), how="cross").assign(system="s")
    table["score"] = table["gold"] + rng.normal(0, 1, 120) + table["judge"].map({"a": 0, "b": 2, "c": 0})
    found = js.specifications(table)
    error = table["score"] - table["gold"]
    by = table["judge"]
    equal(found, "headline", error.abs().groupby(by).mean())
    equal(found, "root mean square", (error**2).groupby(by).mean() ** 0.5)
    equal(found, "every task alike", error.abs().groupby([by, table["task"]]).mean().groupby("judge").mean())
    equal(
        found,
        "without the severity of each judge",
        (error - error.groupby(by).transform("mean")).abs().groupby(by).mean(),
    )
    ranked = {j: spearmanr(own["score"], own["gold"])[0] for j, own in table.groupby("judge")}
    equal(found, "rank correlation over items", pd.Series(ranked))
    assert set(found["reading"]) == {
        "headline",
        "root mean square",
        "every task alike",
        "without the severity of each judge",
        "rank correlation over items",
    }
    rank = found.pivot(index="reading", columns="judge", values="rank")
    assert rank.loc["headline", "b"] == 3
    assert rank.loc["without the severity of each judge", "b"] < 3 or rank.loc["rank correlation over items", "b"] < 3
    assert (found["conf_low"] <= found["estimate"]).all()
    assert (found["estimate"] <= found["conf_high"]).all()


def test_classes_have_a_balanced_accuracy():
    rng = np.random.default_rng(3)
    gold = np.where(np.arange(80) < 60, "safe", "unsafe")
    table = pd.DataFrame(
        {"judge": np.repeat(["a", "b"], 80), "item": np.tile(np.arange(80), 2), "system": "s", "gold": np.tile(gold, 2)}
    )
    table["answer"] = np.where(rng.random(160) < 0.8, table["gold"], "safe")
    table.loc[5, "answer"] = "invalid"
    found = js.specifications(table)
    right = (table["answer"] == table["gold"]).astype(float).where(table["answer"] != "invalid")
    equal(found, "headline", right.groupby(table["judge"]).mean())
    equal(found, "every class alike", right.groupby([table["judge"], table["gold"]]).mean().groupby("judge").mean())
    equal(found, "an invalid answer is wrong", right.fillna(0).groupby(table["judge"]).mean())
    assert found.loc[found["reading"] == "every class alike", "kind"].eq(ANOTHER).all()


def test_counts_are_rows(hard):
    own = hard.drop(columns=["replicate", "length_first"])
    tally = own.groupby(list(own.columns), dropna=False).size().rename("n_calls").reset_index()
    one = js.specifications(js.preferences(tally, counts="n_calls"))
    other = js.specifications(own)
    pd.testing.assert_frame_equal(
        one[["reading", "judge", "estimate", "rank"]], other[["reading", "judge", "estimate", "rank"]]
    )


def test_the_cluster_is_named_and_calls_that_share_one_are_flagged(hard):
    found, plain, named = (js.specifications(hard, cluster=c) for c in ("auto", False, "task"))
    assert found["method"].str.contains("clustered by item").all()
    assert not found["flag"].str.contains("calls not independent").any()
    assert plain["flag"].str.contains("calls not independent").all()
    assert named["method"].str.contains("clustered by task").all()
    headline = [t[t["reading"] == "headline"] for t in (found, plain)]
    np.testing.assert_allclose(*(t["estimate"] for t in headline))
    expected = means_of(right_marks(hard, [], "item"), bounds=(0.0, 1.0)).set_index("judge")
    np.testing.assert_allclose(headline[0]["conf_low"], expected.loc[headline[0]["judge"], "conf_low"])


def test_two_candidates_of_one_name_are_one(hard):
    same = hard.assign(second=hard["first"], gold=hard["first"])
    found = js.specifications(same)
    decided = same[~same["choice"].isin(["invalid"])]
    right = decided["choice"].isin(["first", "second"]).groupby(decided["judge"]).mean()
    equal(found, "headline", right)


def test_a_reading_of_ones_own_is_beside_the_others(llmbar):
    even = js.specifications(llmbar, readings={"first half": lambda marks: marks[marks["item"] < 200]})
    own = even[even["reading"] == "first half"]
    assert own["kind"].eq("own").all()
    assert (own["n"] < even.loc[even["reading"] == "headline", "n"].to_numpy()).all()
    none = js.specifications(llmbar, readings={"nobody": lambda marks: marks[marks["judge"] == "GPT-4"]})
    rest = none[(none["reading"] == "nobody") & (none["judge"] != "GPT-4")]
    assert rest["estimate"].isna().all()
    assert rest["flag"].eq("no data").all()
    assert not rest["best_set"].any()


def test_readings_of_one_judge_or_one_item_are_numbers(llmbar):
    one = js.specifications(llmbar[llmbar["judge"] == "GPT-4"])
    assert one["rank"].eq(1).all()
    assert one["best_set"].all()
    single = js.specifications(llmbar[llmbar["item"] == llmbar["item"].iloc[0]])
    assert single["estimate"].notna().all()
    assert single["best_set"].all()


def test_refusals(llmbar):
    scores = pd.DataFrame({"judge": "a", "item": [1, 2], "system": "s", "score": [1, 2]})
    refused(
        DesignError,
        (lambda: js.specifications(llmbar.drop(columns="gold")), "needs right answers"),
        (lambda: js.specifications(scores, question="steady"), "needs verdicts on pairs"),
        (lambda: js.specifications(llmbar, question="best"), "Allowed: 'right', 'people', 'steady', 'position'"),
        (lambda: js.specifications(llmbar[llmbar["first"] == "output_1"], question="steady"), "both orders"),
        (lambda: js.specifications(llmbar[llmbar["first"] == "output_1"], question="position"), "both orders"),
        (lambda: js.specifications(llmbar, readings={"x": lambda marks: marks["value"]}), "is Series"),
        (lambda: js.specifications(llmbar, readings={"x": lambda marks: marks.drop(columns="value")}), "lacks value"),
        (lambda: js.specifications(llmbar, readings={"x": "item"}), "Give a function"),
        (lambda: js.specifications(scores.assign(gold="good")), "no score beside a right one"),
        (lambda: js.specifications(llmbar, cluster=["item", "first"]), "must be one column"),
    )


def beside_people(table, humans, keys):
    """A row for each answer of a judge and of a person to the same thing."""
    is_person = table["judge"].isin(humans)
    return table[~is_person].merge(table[is_person], on=keys, suffixes=("", "_person"))


def by_call(pairs, value):
    """The mean over people of a value of each call, averaged over calls as often as people answered."""
    return value.groupby(pairs["judge"].astype(str)).mean()


@pytest.fixture(scope="module")
def people_and_judges():
    """Two judges and up to three people on pairs in both orders, with ties, invalid verdicts and unlike numbers of people."""
    rng = np.random.default_rng(3)
    rows = []
    for i in range(80):
        truth = ("x", "y")[i % 2]
        for who, skill in (("m", 0.8), ("k", 0.6), ("p1", 0.9), ("p2", 0.85), ("p3", 0.8)):
            if who == "p3" and i % 3:
                continue
            for order in (("x", "y"), ("y", "x")) if who in "mk" else (("x", "y"),):
                lucky = rng.random()
                winner = truth if lucky < skill else "tie" if lucky > 0.93 else "xy".replace(truth, "")
                choice = "tie" if winner == "tie" else "first" if winner == order[0] else "second"
                choice = "invalid" if who in "mk" and rng.random() < 0.05 else choice
                rows.append((who, f"q{i}", *order, choice))
    return pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice"])


def test_agreement_with_people_is_that_of_pandas(people_and_judges):
    humans = ["p1", "p2", "p3"]
    found = js.specifications(people_and_judges, question="people", humans=humans)
    table = call_table(people_and_judges.assign(gold="x"))
    pairs = beside_people(table, humans, ["item"])
    valid = pairs["vote"].notna()
    equality = (pairs["vote"] == pairs["vote_person"]).astype(float)
    near = equality + 0.5 * ((pairs["vote"] == 0) != (pairs["vote_person"] == 0))
    of_valid = pairs[valid]
    equal(found, "headline", by_call(of_valid, equality[valid]))
    equal(found, "a tie and a preference agree by half", by_call(of_valid, near[valid]))
    equal(found, "an invalid verdict is wrong", by_call(pairs, equality.where(valid, 0)))
    tied = pairs[((pairs["vote"] == 0) & valid) | (pairs["vote_person"] == 0)]
    rest = valid & ~pairs["item"].isin(tied["item"])
    equal(found, "only where nobody ties", by_call(pairs[rest], equality[rest]))
    decided = valid & ~pairs["item"].isin(pairs.loc[~valid, "item"])
    equal(found, "only where all judges are valid", by_call(pairs[decided], equality[decided]))
    items = equality[valid].groupby([of_valid["judge"], of_valid["item"]]).mean()
    equal(found, "every item alike", items.groupby(level=0).mean())
    of_people = table[table["judge"].isin(humans)].groupby("item")["vote"].agg(lambda v: v.mode().tolist())
    majority = of_people[of_people.map(len) == 1].map(lambda v: v[0])
    of_judges = table[~table["judge"].isin(humans) & table["item"].isin(majority.index)].dropna(subset=["vote"])
    right = (of_judges["vote"] == of_judges["item"].map(majority)).astype(float)
    of_calls = pairs[valid & pairs["item"].isin(majority.index)]
    equal(
        found,
        "the majority of people",
        by_call(of_calls, (of_calls["vote"] == of_calls["item"].map(majority)).astype(float)),
    )
    twice = right.groupby([of_judges["judge"], of_judges["item"]]).agg(["size", "min"]).query("size == 2")["min"]
    equal(found, "the majority in both orders", twice.groupby(level=0).mean())
    assert found["reading"].nunique() == 8


def test_agreement_with_people_is_that_of_the_measure():
    calls, humans = js.datasets.load("pandalm"), ["annotator1", "annotator2", "annotator3"]
    found = js.specifications(calls, question="people", humans=humans)
    measure = js.judge_against_people(calls, humans=humans).query("role == 'judge' and term == 'agreement'")
    equal(found, "headline", measure.set_index("judge")["estimate"])
    first = found[found["judge"] == "gpt_3_5_turbo"]
    assert (first["rank"] == 1).all()
    alone = found[found["judge"] == "pandalm_7b"].set_index("reading")["best_set"]
    assert alone[alone].index.tolist() == ["an invalid verdict is wrong"]


def test_scores_and_classes_beside_people_are_those_of_pandas():
    rng = np.random.default_rng(5)
    rows = [
        (who, f"q{i}", float(np.clip(i % 5 + rng.integers(-1, 2) + shift, 0, 5)))
        for i in range(60)
        for who, shift in (("m", 0), ("k", 1), ("p1", 0), ("p2", 0))
    ]
    scores = pd.DataFrame(rows, columns=["judge", "item", "score"])
    found = js.specifications(scores, question="people", humans=["p1", "p2"])
    middle = scores[scores["judge"].isin(["p1", "p2"])].groupby("item")["score"].mean()
    judges = scores[scores["judge"].isin(["m", "k"])]
    error = judges["score"] - judges["item"].map(middle)
    equal(found, "headline", error.abs().groupby(judges["judge"]).mean())
    equal(found, "root mean square", (error**2).groupby(judges["judge"]).mean() ** 0.5)
    severity = error - error.groupby(judges["judge"]).transform("mean")
    equal(found, "without the severity of each judge", severity.abs().groupby(judges["judge"]).mean())
    classes = scores.assign(answer=np.where(scores["score"] > 2, "high", "low")).drop(columns="score")
    said = js.specifications(classes, question="people", humans=["p1", "p2"])
    pairs = beside_people(classes, ["p1", "p2"], ["item"])
    equal(said, "headline", by_call(pairs, (pairs["answer"] == pairs["answer_person"]).astype(float)))
    both = pairs.groupby(["judge", "item"])["answer_person"].transform("nunique") == 1
    agreed = pairs[both]
    equal(said, "the majority of people", by_call(agreed, (agreed["answer"] == agreed["answer_person"]).astype(float)))


@pytest.mark.parametrize("column", ["strategy", "temperature", "seed"])
def test_judges_asked_in_several_ways_are_compared_in_each(llmbar, column):
    """Ways of asking are apart, named or not; another column as named, and flagged where it is not."""
    other = llmbar.assign(choice=llmbar["choice"].map({"first": "second", "second": "first"}).fillna("tie"))
    both = pd.concat([llmbar.assign(**{column: "low"}), other.assign(**{column: "high"})])
    named = js.specifications(both, by=column)
    for level, part in (("low", llmbar), ("high", other)):
        alone = js.specifications(part)
        got = named[named[column] == level].merge(alone, on=["reading", "judge"], suffixes=("", "_alone"))
        same = got[got["reading"].isin(["headline", "right in both orders"])]
        assert len(same) == 2 * part["judge"].nunique()
        np.testing.assert_allclose(same["estimate"], same["estimate_alone"], rtol=1e-12)
    unnamed = js.specifications(both)
    if column == "seed":
        assert column not in unnamed
        assert unnamed["flag"].str.contains("seed, not named").all()
    else:
        pd.testing.assert_frame_equal(unnamed, named)
    legend = js.plot.specifications(named)[0].get_legend()
    assert legend is not None
    texts = [text.get_text() for text in legend.get_texts()]
    assert any("GPT-4" in text and text.endswith("low") for text in texts), texts


def test_long_and_short_right_answers_weigh_alike(hard):
    """A judge that takes the longer is right in half, however often the right answer is the longer."""
    table = hard[hard["gold"] != "tie"].drop(columns="length_first")
    long = {"x": 100, "y": 60}
    short = {"x": 60, "y": 100}
    number = table["item"].str[1:].astype(int)
    lengths = [np.where(number % 3 > 0, table[side].map(long), table[side].map(short)) for side in ("first", "second")]
    table = table.assign(length_first=lengths[0], length_second=lengths[1])
    found, own = js.specifications(table), call_table(table)
    right_is_first = own["gold"] == own["first"]
    longer = np.where(right_is_first, lengths[0] > lengths[1], lengths[1] > lengths[0])
    by_class = own.assign(longer=longer).dropna(subset=["value"]).groupby(["judge", "longer"])["value"].mean()
    equal(found, "long and short right answers alike", by_class.groupby(level=0).mean())
    greedy = table.assign(judge="greedy", choice=np.where(lengths[0] > lengths[1], "first", "second"))
    alone = js.specifications(pd.concat([table, greedy], ignore_index=True))
    assert cells(alone, "long and short right answers alike")["greedy"] == pytest.approx(0.5)


def test_systems_are_ranked_by_their_means_without_an_interval():
    rng = np.random.default_rng(9)
    rows = [
        (j, f"s{s:02d}", f"q{i}", s / 3 + rng.normal(0, noise), s / 3 + (i % 3 - 1) / 4)
        for j, noise in (("near", 0.5), ("far", 2.0))
        for s in range(12)
        for i in range(8)
    ]
    table = pd.DataFrame(rows, columns=["judge", "system", "item", "score", "gold"])
    found = js.specifications(table)
    means = table.groupby(["judge", "system"])[["score", "gold"]].mean()
    expected = pd.Series({j: spearmanr(m["score"], m["gold"])[0] for j, m in means.groupby(level=0)})
    equal(found, "rank correlation over systems", expected)
    over_systems = found[found["reading"] == "rank correlation over systems"]
    assert over_systems["conf_low"].isna().all()
    assert over_systems["best_set"].all()
    nine = js.specifications(table[table["system"] < "s09"])
    assert "rank correlation over systems" not in set(nine["reading"])


def test_people_who_are_not_named_or_share_nothing_are_refused(llmbar, people_and_judges):
    others = people_and_judges.assign(
        item=people_and_judges["item"].where(people_and_judges["judge"].isin(["m", "k"]), "z")
    )
    refused(
        DesignError,
        (lambda: js.specifications(llmbar, question="people"), "name them with humans="),
        (
            lambda: js.specifications(
                others.drop_duplicates(["judge", "item", "first"]), question="people", humans=["p1", "p2", "p3"]
            ),
            "and there is none",
        ),
    )


def test_levels_that_print_alike_are_refused(llmbar):
    both = pd.concat([llmbar.assign(way="1"), llmbar.assign(way=1)])
    refused(DesignError, (lambda: js.specifications(both, by="way"), "both printed as"))
