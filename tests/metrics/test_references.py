"""What verdicts are held against: humans=, gold=, baseline=."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import judgestats as js
from judgestats.errors import DesignError
from judgestats.metrics.references import only_people, references, with_gold

CHOICES = ("first", "second", "tie", "first", "second", "first")


def chosen(choices=CHOICES):
    """Two models and two people on the same pairs, in one order."""
    rows = []
    for judge, shift in (("g", 0), ("h", 1), ("Ann", 2), ("Bob", 3)):
        for i in range(12):
            choice = choices[(i + shift * (i % 4 == 0)) % len(choices)]
            rows.append((judge, f"i{i:02d}", "x", "y", choice, "person" if judge in ("Ann", "Bob") else "model"))
    return pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice", "kind"])


def rated(seed=0, items=60):
    rng = np.random.default_rng(seed)
    rows = []
    for s in "uvw":
        for i in range(items):
            quality = rng.normal()
            for judge, severity in (("g", -1.0), ("h", 0.5), ("Ann", 0.0), ("Bob", 0.1), ("Cyd", -0.1)):
                rows.append((judge, s, f"i{i}", np.clip(np.round(3 + quality + severity + rng.normal(0, 0.6)), 1, 5)))
    return pd.DataFrame(rows, columns=["judge", "system", "item", "score"])


PEOPLE = ["Ann", "Bob", "Cyd"]


def test_people_are_left_out_of_what_is_measured():
    known = references(chosen(), humans={"kind": "person"})
    assert known.humans == ("Ann", "Bob")
    assert references(chosen(), humans="kind=person").humans == ("Ann", "Bob")
    assert set(known.models["judge"]) == {"g", "h"}
    assert set(known.people["judge"]) == {"Ann", "Bob"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"humans": "Anne"}, "humans= names 'Anne', who is not a judge.*Did you mean 'Ann'"),
        ({"humans": ["g", "h", "Ann", "Bob"]}, "names every judge"),
        ({"humans": {"kin": "person"}}, "no such column.*Did you mean 'kind'"),
        ({"humans": {"kind": "robot"}}, "matches no row.*model, person"),
        ({"gold": "winer"}, "neither a column .* nor a judge .* nor a candidate"),
        ({"gold": "kind"}, "contains 'model' where the candidates are 'x' and 'y'"),
        ({"baseline": "B0"}, "baseline='B0' is not a condition"),
        ({"baseline": {"strategy": "B0"}}, "not a column of conditions"),
    ],
)
def test_a_name_that_does_not_occur_is_refused_at_once(options, message):
    for function in (references, js.available_measures, js.datasheet):
        with pytest.raises(DesignError, match=message):
            function(chosen(), **options)


def test_a_judge_as_gold_is_the_same_as_its_answers_in_a_column():
    table = chosen()
    found = with_gold(table, "Ann")
    assert "Ann" not in set(found["judge"])
    ann = table[table["judge"] == "Ann"].set_index("item")["choice"].map({"first": "x", "second": "y", "tie": "tie"})
    assert (found["gold"] == found["item"].map(ann)).all()
    by_hand = table[table["judge"] != "Ann"].assign(gold=lambda t: t["item"].map(ann))
    pd.testing.assert_frame_equal(js.datasheet(table, gold="Ann", cluster=False), js.datasheet(by_hand, cluster=False))


def test_a_judge_as_gold_who_differs_between_orders_has_no_preference():
    both = pd.concat([chosen(), chosen().rename(columns={"first": "second", "second": "first"})], ignore_index=True)
    found = with_gold(both, "Ann")  # the same slot in both orders: another candidate each time, unless it was a tie
    assert set(found["gold"]) == {"tie"}


def test_gold_by_slot_is_the_candidate_shown_there():
    table = chosen().assign(truth="second")
    assert set(with_gold(table, "truth")["gold"]) == {"y"}
    assert set(with_gold(table, "x")["gold"]) == {"x"}  # a candidate is right wherever it was shown


def test_a_name_with_two_meanings_is_refused():
    with pytest.raises(DesignError, match="is a column and a judge"):
        with_gold(chosen().assign(Ann="x"), "Ann")


def test_a_baseline_is_named_and_never_the_first_of_the_alphabet():
    """Prompts of equals: 'strict' gives more ties than 'tie_allowed', but not the other way round."""
    rows = [
        ("g", f"{s}{p}{i}", a, b, "tie" if (p == "strict" or i % 3 == 0) else "first", p, s, "ladder" if d else s, d)
        for p in ("strict", "tie_allowed")
        for s, d in (("same_subset", None),)
        for i in range(40)
        for a, b in (("x", "y"), ("y", "x"))
    ]
    columns = ["judge", "item", "first", "second", "choice", "prompt", "_s", "stimulus", "delta"]
    data = pd.DataFrame(rows, columns=columns).drop(columns=["_s", "delta"])
    data["item"] = data["item"].str.replace("strict", "").str.replace("tie_allowed", "")
    plain = js.datasheet(data)
    assert set(plain["prompt"]) == {"strict", "tie_allowed"}  # side by side
    assert "criterion_shift" not in set(plain["term"])
    for base, sign in (("tie_allowed", 1), ("strict", -1)):
        sheet = js.datasheet(data, baseline=base).set_index("term")
        assert sheet.loc["criterion_shift", "estimate"] == pytest.approx(sign * 26 / 40)
    told = js.available_measures(data).set_index("measure").loc["criterion_shift", "missing"]
    assert "needs the baseline among the values of 'prompt' (strict, tie_allowed)" in told


def test_strategies_stand_side_by_side_without_a_baseline():
    data = (
        chosen()
        .assign(strategy=lambda t: np.where(t["judge"] == "g", "S1", "S8"), gold="x")
        .replace({"judge": {"h": "g"}})
    )
    data = data[data["judge"] == "g"]
    assert set(js.datasheet(data)["strategy"]) == {"S1", "S8"}
    found = js.available_measures(data).set_index("measure")
    assert not found.loc["compare_strategies", "supported"]
    assert "name it in baseline=" in found.loc["compare_strategies", "missing"]
    assert js.available_measures(data, baseline="S1").set_index("measure").loc["compare_strategies", "supported"]
    with pytest.raises(DesignError, match=r"2 values \(S1, S8\). Say which is the baseline="):
        js.compare_strategies(data, baseline=None)


def test_judge_against_people_by_brute_force():
    table = rated()
    found = js.judge_against_people(table, humans=PEOPLE)
    wide = table.pivot_table(index=["system", "item"], columns="judge", values="score")

    def concordance(x, y):
        return 2 * np.cov(x, y, bias=True)[0, 1] / (x.var() + y.var() + (x.mean() - y.mean()) ** 2)

    for judge in ("g", "h"):
        x = np.concatenate([wide[judge]] * 3)
        y = np.concatenate([wide[p] for p in PEOPLE])
        rows = found[(found["judge"] == judge)].set_index("term")
        assert rows.loc["concordance", "estimate"] == pytest.approx(concordance(x, y))
        assert rows.loc["agreement", "estimate"] == pytest.approx((x == y).mean())
        assert rows.loc["agreement", "n"] == 540
    pairs = [("Ann", "Bob"), ("Ann", "Cyd"), ("Bob", "Cyd")]
    x = np.concatenate([wide[a] for a, _ in pairs] + [wide[b] for _, b in pairs])
    y = np.concatenate([wide[b] for _, b in pairs] + [wide[a] for a, _ in pairs])
    people = found[found["role"] == "people"].set_index("term")
    assert people.loc["concordance", "estimate"] == pytest.approx(concordance(x, y))
    assert people.loc["agreement", "n"] == 540
    constant = pd.concat([wide[p] for p in PEOPLE]).value_counts(normalize=True).iloc[0]
    assert people.loc["constant_answer", "estimate"] == pytest.approx(constant)
    assert (found["estimate"].between(found["conf_low"], found["conf_high"]) | found["conf_low"].isna()).all()


def test_kappa_with_people_is_cohens_of_the_pooled_pairs():
    sklearn = pytest.importorskip("sklearn.metrics")
    table = chosen()
    found = js.judge_against_people(table, humans=["Ann", "Bob"])
    wide = table.pivot(index="item", columns="judge", values="choice")
    x, y = pd.concat([wide["g"]] * 2), pd.concat([wide["Ann"], wide["Bob"]])
    row = found[(found["judge"] == "g") & (found["term"] == "kappa")].iloc[0]
    assert row["estimate"] == pytest.approx(sklearn.cohen_kappa_score(x, y))
    turned = pd.concat([wide["Ann"], wide["Bob"]]), pd.concat([wide["Bob"], wide["Ann"]])
    row = found[(found["role"] == "people") & (found["term"] == "kappa")].iloc[0]
    assert row["estimate"] == pytest.approx(sklearn.cohen_kappa_score(*turned))


def test_one_person_has_nobody_to_agree_with():
    found = js.judge_against_people(rated(), humans="Ann")
    row = found[(found["role"] == "people") & (found["term"] == "concordance")].iloc[0]
    assert np.isnan(row["estimate"])
    assert row["flag"] == "one person only"


def test_a_datasheet_with_people_is_against_people_and_has_none_of_them():
    table = rated()
    sheet = js.datasheet(table, humans=PEOPLE)
    assert set(sheet["judge"]) == {"g", "h"}
    severity = sheet[sheet["term"] == "mean_others"].set_index("judge")["estimate"]
    wide = table.pivot_table(index=["system", "item"], columns="judge", values="score")
    for judge in ("g", "h"):  # from people, not from the other judge
        assert severity[judge] == pytest.approx((wide[judge] - wide[PEOPLE].mean(axis=1)).mean())


def test_labels_of_people_hold_for_every_condition_of_a_judge():
    """A column that says nothing of the people, such as the judge's prompt, does not keep them from being matched."""
    people = rated()[lambda t: t["judge"].isin(["Ann", "Bob"])]
    models = rated()[lambda t: ~t["judge"].isin(["Ann", "Bob"])]
    table = pd.concat([people, models.assign(condition="mild"), models.assign(condition="strict")])
    found = js.judge_against_people(table, humans=["Ann", "Bob"], by="condition")
    alone = js.judge_against_people(rated(), humans=["Ann", "Bob"])
    expected = alone.loc[alone["role"] == "judge", "estimate"].tolist()
    for condition in ("mild", "strict"):
        assert found.loc[found["condition"] == condition, "estimate"].tolist() == pytest.approx(expected)
    assert found.loc[found["role"] == "people", "estimate"].tolist() == pytest.approx(
        alone.loc[alone["role"] == "people", "estimate"].tolist()
    )
    assert "judge_against_people" in set(
        js.available_measures(table, humans=["Ann", "Bob"]).query("supported")["measure"]
    )


def test_people_who_say_right_or_wrong_are_compared_too():
    answers = {"Ann": [True, True, False, True], "Bob": [True, False, False, True], "g": [True, True, True, False]}
    rows = [(who, "s", str(i), a) for who, given in answers.items() for i, a in enumerate(given)]
    table = pd.DataFrame(rows, columns=["judge", "system", "item", "correct"])
    found = js.judge_against_people(table, humans=["Ann", "Bob"]).set_index(["role", "term"])
    assert found.loc[("judge", "agreement"), "estimate"] == pytest.approx(3 / 8)
    assert found.loc[("people", "agreement"), "estimate"] == pytest.approx(3 / 4)
    assert found.loc[("people", "constant_answer"), "estimate"] == pytest.approx(5 / 8)


@pytest.mark.parametrize("answer", ["correct", "score", "mean"])
def test_a_judge_as_gold_in_any_column_of_answers(answer):
    """Where the judge contradicts itself in as many runs as not, it has no right answer."""
    truth = {"1": True, "2": False, "3": None}
    rows = [("g", i, k, (k == 0) if t is None else t) for i, t in truth.items() for k in range(2)]
    rows += [("h", i, 0, i == "1") for i in truth]
    frame = pd.DataFrame(rows, columns=["judge", "item", "replicate", answer]).assign(system="s")
    table = js.ratings(frame.astype({answer: bool if answer == "correct" else float}))
    gold = with_gold(table, "g").set_index("item")["gold"]
    middle = np.nan if answer == "correct" else 0.5
    assert gold.fillna(-1).to_dict() == pd.Series({"1": 1.0, "2": 0.0, "3": middle}).fillna(-1).to_dict()
    assert isinstance(js.available_measures(table, gold="g"), pd.DataFrame)


def test_people_are_who_rater_type_calls_human():
    """By default they are the reference; `humans=()` measures them as judges; nobody is guessed where it is unclear."""
    answers = {"Ann": "1100", "Bob": "1101", "g": "1011", "h": "1110"}
    rows = [(who, "s", str(i), float(a)) for who, given in answers.items() for i, a in enumerate(given)]
    table = pd.DataFrame(rows, columns=["judge", "system", "item", "score"])
    named = table.assign(rater_type=table["judge"].map({"Ann": "human", "Bob": "human"}).fillna("model"))
    assert references(named).humans == ("Ann", "Bob")
    assert references(named, ()).humans == references(table).humans == ()
    assert references(named.assign(rater_type="human")).humans == ()  # a panel of people
    assert references(named.assign(rater_type=["human", *named["rater_type"][1:-1], "human"])).humans == ()
    assert set(js.datasheet(named)["judge"]) == {"g", "h"}
    assert set(js.datasheet(named, humans=())["judge"]) == {"Ann", "Bob", "g", "h"}
    supported = js.available_measures(named).set_index("measure")["supported"]
    assert supported["judge_against_people"]
    assert not js.available_measures(named, humans=()).set_index("measure")["supported"]["judge_against_people"]


@pytest.mark.parametrize(("types", "people"), [(["human", "human"], True), (["human", "llm"], False)])
def test_that_all_raters_are_people_is_seen_in_a_lazy_frame(types, people):
    table = pd.DataFrame({"judge": ["Ann", "Bob"], "item": "1", "score": [1.0, 2.0], "rater_type": types})
    assert only_people(table) == only_people(pl.from_pandas(table).lazy()) == people


def test_a_judge_who_gives_classes_as_gold():
    """The class given most often; none where two are first, or where there is no answer."""
    given = {"1": ["a", "a", "b"], "2": ["a", "b", None], "3": ["b", "invalid", None], "4": [None, None, None]}
    rows = [("g", item, k, label) for item, labels in given.items() for k, label in enumerate(labels)]
    rows += [("h", item, 0, "a") for item in given]
    table = js.ratings(pd.DataFrame(rows, columns=["judge", "item", "replicate", "answer"]))
    gold = with_gold(table, "g").set_index("item")["gold"]
    assert gold.dropna().to_dict() == {"1": "a", "3": "b"}
    assert set(with_gold(table, "g")["judge"]) == {"h"}
    accuracy = js.classification(table, gold="g").set_index(["term"])["estimate"]["accuracy"]
    assert accuracy == 0.5


def test_a_column_of_classes_as_gold():
    table = pd.DataFrame({"judge": "h", "item": [*"123"], "answer": [*"aab"], "truth": ["a", "b", None]})
    assert with_gold(js.ratings(table), "truth")["gold"].tolist() == ["a", "b", None]


@pytest.mark.parametrize(("column", "holds"), [("choice", "the verdicts"), ("judge", "the names of the judges")])
def test_the_verdicts_are_not_their_own_gold(column, holds):
    with pytest.raises(DesignError, match=f"gold='{column}' holds {holds}, not right answers. Name another"):
        with_gold(chosen(), column)
