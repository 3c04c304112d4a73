"""Dawid and Skene's model on frames: the anaesthetists of 1979, pairs, what is refused."""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import judgestats as js
from judgestats.errors import DesignError
from judgestats.flags import explain
from refusals import refused

REFERENCE = Path(os.environ.get("JUDGESTATS_REFERENCE_DATA", "absent"))
ANSWERS = {"g": "1112212212", "h": "1112211212", "k": "1212212211"}


def graded(answers=ANSWERS, **columns):
    rows = [(j, "s", f"i{i}", float(a)) for j, given in answers.items() for i, a in enumerate(given) if a != "."]
    return pd.DataFrame(rows, columns=["judge", "system", "item", "score"]).assign(**columns)


def pairs(n=120, candidates="pqrs", accuracy=(("a", 0.9), ("b", 0.75), ("c", 0.7), ("d", 0.6)), seed=0, ties=0.2):
    """Calls of four judges on pairs with a known answer; each judge sees its own order."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        x, y = rng.choice(list(candidates), 2, replace=False)
        truth = rng.choice([x, y, "tie"], p=[(1 - ties) / 2, (1 - ties) / 2, ties])
        for judge, p in accuracy:
            others = [z for z in (x, y, "tie") if z != truth and (ties or z != "tie")]
            said = truth if rng.random() < p else rng.choice(others)
            one, two = (x, y) if rng.random() < 0.5 else (y, x)
            choice = {"tie": "tie", one: "first", two: "second"}[said]
            rows.append((judge, f"i{i:03d}", one, two, choice, truth))
    return pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice", "gold"])


@pytest.fixture(scope="module")
def anaesthetists():
    if not (REFERENCE / "anaesthetists.csv").exists():
        pytest.skip("JUDGESTATS_REFERENCE_DATA names no folder with anaesthetists.csv")
    table = pd.read_csv(REFERENCE / "anaesthetists.csv")
    names = {"rater": "judge", "patient": "item", "occasion": "replicate", "label": "score"}
    return table.rename(columns=names).assign(system="s")


def estimate(result, term, **values):
    for name, value in values.items():
        result = result[result[name] == value]
    return result.loc[result["term"] == term, "estimate"].to_numpy()


def test_the_anaesthetists_of_the_paper(anaesthetists):
    """Table 1 of Dawid and Skene (1979), from the majority vote."""
    found = js.dawid_skene(anaesthetists, n_starts=0)
    assert found.loglik == pytest.approx(-192.8908812142, abs=1e-8)
    table = found.tidy()
    np.testing.assert_allclose(estimate(table, "prior"), [0.39955, 0.42198, 0.11180, 0.06667], atol=1e-5)
    first = estimate(table, "confusion", judge=1, true=1)
    np.testing.assert_allclose(first, [0.8895, 0.1105, 0, 0], atol=5e-5)
    probabilities = estimate(table, "confusion")[: 5 * 16]
    assert probabilities.size == 80
    assert (probabilities == 0).sum() == 38
    zero = table[(table["term"] == "confusion") & (table["estimate"] == 0)]
    assert zero["std_error"].isna().all()
    assert (zero["flag"] == "on boundary").all()
    inside = table[(table["estimate"] > 0) & (table["estimate"] < 1)]
    assert inside["std_error"].notna().all()
    assert ((inside["conf_low"] > 0) & (inside["conf_low"] < inside["estimate"])).all()
    assert ((inside["conf_high"] < 1) & (inside["conf_high"] > inside["estimate"])).all()


def test_a_higher_likelihood_than_that_of_the_majority_vote(anaesthetists):
    """Most starts miss it, and the flag says so."""
    found = js.dawid_skene(anaesthetists, over=["judge", "replicate"])
    assert found.loglik == pytest.approx(-191.5688564532, abs=1e-8)
    told = found.glance().iloc[0]
    assert 1 <= told["n_best"] < told["n_starts"] / 2
    assert (explain(found.tidy())["code"] == "several_optima").any()


def test_the_verdict_is_the_likeliest_class():
    panel = js.aggregate(graded(), "dawid_skene", over="judge")
    found = js.dawid_skene(graded())
    posterior = found.augment()[["p(1.0)", "p(2.0)"]].to_numpy()
    assert panel["score"].tolist() == [1.0 + i for i in posterior.argmax(axis=1)]
    np.testing.assert_allclose(panel["confidence"], posterior.max(axis=1))
    assert (panel["judge"] == "panel").all()
    assert (panel["n_calls"] == 3).all()
    assert (panel["status"] == "ok").all()
    assert repr(found) == "DawidSkene: 2 classes, 3 raters, 10 units, loglik -14.44"


def test_good_judges_count_more_than_many():
    """Two good judges against three who guess: the majority follows the crowd."""
    calls = pairs(400, accuracy=[("a", 0.95), ("b", 0.95), ("x", 0.45), ("y", 0.45), ("z", 0.45)], ties=0.2)
    right = {}
    for how in ("majority", "dawid_skene"):
        panel = js.aggregate(calls, how, over="judge", n_starts=2)
        right[how] = js.gold_agreement(panel)["estimate"].iloc[0]
    assert right["dawid_skene"] > right["majority"] + 0.05
    assert right["dawid_skene"] > 0.9


def test_names_of_candidates_do_not_matter():
    """With several pairs of candidates the alphabet tells the two sides apart, and nothing else."""
    calls = pairs(100)
    names = dict(zip("pqrs", ["x3", "x1", "x4", "x2"], strict=True))
    renamed = calls.assign(**{c: calls[c].map(lambda v: names.get(v, v)) for c in ("first", "second", "gold")})
    one, two = js.dawid_skene(calls), js.dawid_skene(renamed)
    assert one.loglik == pytest.approx(two.loglik, abs=1e-6)
    pd.testing.assert_frame_equal(one.tidy(), two.tidy(), rtol=1e-4, atol=1e-5)
    assert one.classes == ["candidate", "tie"]
    verdicts = [js.aggregate(c, "dawid_skene", over="judge") for c in (calls, renamed)]
    chosen = [
        v["first"].where(v["choice"] == "first", v["second"]).where(v["choice"] != "tie", "tie") for v in verdicts
    ]
    assert chosen[0].map(lambda v: names.get(v, v)).tolist() == chosen[1].tolist()


def test_parameters_of_a_symmetric_model_are_found():
    found = js.dawid_skene(pairs(4000), n_starts=0).tidy()
    for judge, p in (("a", 0.9), ("b", 0.75), ("c", 0.7), ("d", 0.6)):
        for true in ("candidate", "tie"):
            here = (found["judge"] == judge) & (found["true"] == true) & (found["answer"] == true)
            row = found[here].iloc[0]
            assert row["conf_low"] - row["std_error"] < p < row["conf_high"] + row["std_error"]
    np.testing.assert_allclose(found.query("term == 'prior'")["estimate"], [0.8, 0.2], atol=0.02)
    rows = found[found["term"] == "confusion"].groupby(["judge", "true"])["estimate"].sum()
    np.testing.assert_allclose(rows, 1)


def test_one_pair_of_candidates_are_classes():
    calls = pairs(200, candidates="pq")
    found = js.dawid_skene(calls, n_starts=0)
    assert found.classes == ["p", "q", "tie"]
    assert {"p(p)", "p(q)", "p(tie)"} < set(found.augment().columns)
    panel = js.aggregate(calls, "dawid_skene", over="judge", n_starts=0)
    assert js.gold_agreement(panel)["estimate"].iloc[0] > 0.85


def test_orders_and_repeats_are_answers_of_the_same_rater():
    calls = pairs(60).assign(replicate=0)
    turned = calls.rename(columns={"first": "second", "second": "first"})
    turned["choice"] = turned["choice"].map({"first": "second", "second": "first", "tie": "tie"})
    both = pd.concat([calls, turned], ignore_index=True)
    found = js.dawid_skene(both, over=["judge", "order"], n_starts=0)
    again = pd.concat([calls, calls.assign(replicate=1)], ignore_index=True)
    want = js.dawid_skene(again, over=["judge", "replicate"], n_starts=0)
    assert found.loglik == pytest.approx(want.loglik)
    assert found.glance()["n_labels"].iloc[0] == 480
    with pytest.raises(DesignError, match="They differ in the order"):
        js.dawid_skene(both)


def test_missing_answers():
    answers = {"g": "1112212212", "h": "11.2211212", "k": "12122.2211"}
    strict, kept = (
        js.aggregate(graded(answers), "dawid_skene", over="judge", missing=m) for m in ("invalid", "ignore")
    )
    lost = strict["item"].isin(["i2", "i5"])
    assert strict.loc[lost, "score"].isna().all()
    assert strict.loc[lost, "confidence"].isna().all()
    assert (strict.loc[lost, "status"] == "missing partner").all()
    assert kept["score"].notna().all()
    pd.testing.assert_series_equal(strict.loc[~lost, "score"], kept.loc[~lost, "score"])
    calls = pairs(30)
    calls.loc[calls["item"] == "i003", "choice"] = "invalid"
    calls.loc[(calls["item"] == "i004") & (calls["judge"] == "a"), "choice"] = "invalid"
    strict, kept = (js.aggregate(calls, "dawid_skene", over="judge", missing=m) for m in ("invalid", "ignore"))
    assert strict.set_index("item")["choice"].loc[["i003", "i004"]].tolist() == ["invalid", "invalid"]
    assert (kept["choice"] == "invalid").sum() == 1
    assert np.isnan(kept.set_index("item").loc["i003", "confidence"])


def test_equally_likely_classes_are_a_tie():
    """Two judges, exchangeable, who disagree as often one way as the other."""
    rows = [("g", "1", "p", "q", "first"), ("h", "1", "p", "q", "second")]
    rows += [("g", "2", "r", "s", "second"), ("h", "2", "r", "s", "first")]
    calls = pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice"])
    panel = js.aggregate(calls, "dawid_skene", over="judge", n_starts=0)
    assert panel["choice"].tolist() == ["tie", "tie"]
    assert panel["tie_kind"].tolist() == ["disagreement", "disagreement"]
    np.testing.assert_allclose(panel["confidence"], 0.5)
    scored = js.aggregate(graded({"g": "12", "h": "21"}), "dawid_skene", over="judge", n_starts=0)
    assert scored["status"].tolist() == ["undecided", "undecided"]
    assert scored["score"].isna().all()


def test_ties_that_win_are_native():
    panel = js.aggregate(pairs(200), "dawid_skene", over="judge", n_starts=0)
    ties = panel[panel["choice"] == "tie"]
    assert len(ties) > 20
    assert (ties["tie_kind"] == "native").all()


def test_each_way_of_asking_has_a_model_of_its_own():
    both = pd.concat([pairs(60, seed=s).assign(prompt=p) for s, p in enumerate(("short", "long"))], ignore_index=True)
    found = js.dawid_skene(both)
    alone = js.dawid_skene(both[both["prompt"] == "long"])
    assert len(found.glance()) == 2
    here = found.tidy().query("prompt == 'long'").reset_index(drop=True)
    np.testing.assert_allclose(here["estimate"], alone.tidy()["estimate"], atol=1e-5)
    assert found.loglik == pytest.approx(found.glance()["loglik"].sum())


def test_own_scores_are_left_out():
    table = graded().assign(system=lambda t: np.where(t["item"] < "i5", "g", "s"))
    kept = js.dawid_skene(table, exclude_own={"g": "g"})
    assert kept.glance()["n_labels"].iloc[0] == 25
    panel = js.aggregate(table, "dawid_skene", over="judge", exclude_own={"g": "g"})
    assert panel["n_calls"].tolist() == [2] * 5 + [3] * 5


def test_counts_of_identical_units():
    table = graded()
    one, three = js.dawid_skene(table), js.dawid_skene(table.assign(n_identical=3))
    assert three.loglik == pytest.approx(3 * one.loglik)
    np.testing.assert_allclose(three.tidy()["estimate"], one.tidy()["estimate"], atol=1e-9)
    np.testing.assert_allclose(three.tidy()["std_error"] * np.sqrt(3), one.tidy()["std_error"], rtol=1e-6)


def test_polars_in_polars_out():
    panel = js.aggregate(pl.from_pandas(graded()), "dawid_skene", over="judge")
    assert isinstance(panel, pl.DataFrame)
    want = js.aggregate(graded(), "dawid_skene", over="judge")
    pd.testing.assert_frame_equal(panel.to_pandas(), want, check_dtype=False)


def test_one_answer_only():
    found = js.dawid_skene(graded({"g": "111", "h": "111", "k": "111"}))
    assert (found.tidy()["estimate"] == 1).all()
    assert found.tidy()["std_error"].isna().all()
    assert (found.tidy()["flag"] == "on boundary").all()
    assert (js.aggregate(graded({"g": "111", "h": "111"}), "dawid_skene", over="judge")["score"] == 1).all()


def test_two_raters_are_flagged():
    found = js.dawid_skene(graded({"g": "11122122112212112212", "h": "11122112122212111222"}))
    inside = found.tidy()[lambda t: (t["estimate"] > 1e-6) & (t["estimate"] < 1 - 1e-6)]
    assert inside["std_error"].isna().all()
    assert inside["flag"].str.contains("not identifiable").all()


@pytest.mark.parametrize(
    ("calls", "arguments", "message"),
    [
        (graded(), {"over": "replicate"}, "over='replicate' is not known"),
        (graded(replicate=0), {"over": "replicate"}, "dawid_skene compares raters, and over=.'replicate'. names none"),
        (pairs(5), {"over": "order"}, "dawid_skene compares raters.*over='judge'"),
        (graded({"g": "1212"}), {}, "1 rater gave a valid answer.*two or more"),
        (graded({"g": "1212", "h": "...."}), {}, "1 rater gave"),
        (graded().assign(score=lambda t: np.arange(len(t)) / 7), {}, "30 .*up to 12. Round or bin the scores"),
        (graded(), {"n_starts": -1}, "n_starts=-1 is not a number of random starts"),
    ],
)
def test_what_is_refused(calls, arguments, message):
    with pytest.raises(DesignError, match=message):
        js.dawid_skene(calls, **arguments)


def test_panels_that_cannot_be_are_refused():
    calls = pairs(5)
    refused(
        DesignError,
        (
            lambda: js.dawid_skene(calls.assign(item=calls["judge"] + calls["item"].astype(str))),
            r"none of the .* units has answers of two of them",
        ),
        (lambda: js.dawid_skene(calls.iloc[:0]), "there are no answers"),
        (
            lambda: js.aggregate(pairs(5).assign(choice="invalid"), "dawid_skene", over="judge"),
            "0 raters gave a valid answer",
        ),
    )


def test_a_class_that_is_not_its_label():
    """Two kinds of "1", one of which some raters call 2; 3 is a slip: the third class is the second kind."""
    rng = np.random.default_rng(0)
    kind = rng.choice(3, 400, p=[0.4, 0.3, 0.3])
    rows = []
    for r in range(8):
        second = [0.5, 0.5, 0.0] if r % 2 else [1.0, 0.0, 0.0]
        says = np.array([[0.96, 0.01, 0.03], second, [0.02, 0.95, 0.03]])
        rows += [(f"r{r}", "s", i, float(rng.choice(3, p=says[k]) + 1)) for i, k in enumerate(kind)]
    table = pd.DataFrame(rows, columns=["judge", "system", "item", "score"])
    found = js.dawid_skene(table).tidy()
    strange = found[found["flag"].str.contains("class is not its label")]
    assert strange["true"].unique().tolist() == [3.0]
    with pytest.raises(DesignError, match=r"found no class for the answer 3\.0: raters give it more often where"):
        js.aggregate(table, "dawid_skene", over="judge")


def test_repeats_are_answers_of_the_same_rater():
    repeated = pd.concat([graded().assign(replicate=r) for r in (0, 1)])
    found = js.dawid_skene(repeated)
    assert found.glance()["n"].item() == 10
    assert found.loglik == js.dawid_skene(repeated, over=["judge", "replicate"]).loglik
    with pytest.raises(DesignError, match="Repeats of a judge would count as further items"):
        js.aggregate(repeated, "dawid_skene", over="judge")


@pytest.mark.parametrize(("units", "few"), [(60, True), (1500, False)])
def test_probabilities_near_the_end_of_their_range_are_flagged_where_few_answers_are_there(units, few):
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 2, units)
    parts = []
    for judge in "abcd":
        given = np.where(rng.random(units) < 0.97, truth, 1 - truth)
        parts.append(pd.DataFrame({"judge": judge, "system": "s", "item": range(units), "score": given * 1.0}))
    result = js.dawid_skene(pd.concat(parts, ignore_index=True)).tidy()
    confusion = result[result["conf_low"].notna() & result["term"].str.contains("confusion")]
    assert confusion["flag"].str.contains("fewer than 5 of the rarer answer").any() == few


def opposites(n=40, third=None, **columns):
    """Two judges who always differ, and perhaps a third."""
    answers = {"g": ["yes", "no"] * (n // 2), "h": ["no", "yes"] * (n // 2)} | ({"k": third} if third else {})
    rows = [(judge, f"i{i:02d}", x) for judge, given in answers.items() for i, x in enumerate(given)]
    return pd.DataFrame(rows, columns=["judge", "item", "answer"]).assign(**columns)


@pytest.mark.parametrize(
    "third",
    [
        None,
        ["yes"] * 40,
        ["no"] + ["yes"] * 39,
        [("yes", "no")[x] for x in np.random.default_rng(1).integers(0, 2, 40)],
    ],
)
def test_two_judges_who_always_differ_have_no_true_class(third):
    table = js.ratings(opposites(third=third))
    fitted, verdicts = js.dawid_skene(table), js.aggregate(table, "dawid_skene", over="judge")
    assert fitted.augment()[["p(no)", "p(yes)"]].to_numpy() == pytest.approx(0.5)
    parameters = fitted.tidy()
    assert parameters["flag"].str.contains("not identifiable").all()
    assert parameters[["std_error", "conf_low", "conf_high"]].isna().all(axis=None)
    assert verdicts["confidence"].tolist() == pytest.approx([0.5] * 40)
    assert verdicts["answer"].isna().all()
    assert set(verdicts["status"]) == {"undecided"}


def test_a_third_judge_who_agrees_with_one_decides():
    third = ["yes", "no"] * 17 + ["no", "yes"] * 3
    verdicts = js.aggregate(js.ratings(opposites(third=third)), "dawid_skene", over="judge")
    assert verdicts.sort_values("item")["answer"].tolist() == ["yes", "no"] * 20


@pytest.mark.parametrize("names", ["one pair", "many pairs"])
def test_preferences_that_are_always_opposite_are_ties(names):
    choice = opposites()["answer"].map({"yes": "first", "no": "second"})
    item = opposites()["item"]
    sides = ("x", "y") if names == "one pair" else ("x" + item, "y" + item)
    table = opposites().drop(columns="answer").assign(first=sides[0], second=sides[1], choice=choice)
    verdicts = js.aggregate(table, "dawid_skene", over="judge")
    assert set(verdicts["choice"]) == {"tie"}
    assert verdicts["confidence"].tolist() == pytest.approx([0.5] * 40)
    confusion = js.dawid_skene(table).tidy().query("term == 'confusion'")
    assert confusion["flag"].eq("not identifiable").all()
    assert confusion["conf_low"].isna().all()


def test_only_the_classes_whose_names_may_be_exchanged_are_unknown():
    """Of three classes the judges agree on c, and always take a for b."""
    one, two = [*"abc" * 12], [*"bac" * 12]
    rows = [(j, f"i{i:02d}", x) for j, given in (("g", one), ("h", two), ("k", ["a", "a", "c"] * 12))
            for i, x in enumerate(given)]  # fmt: skip
    table = js.ratings(pd.DataFrame(rows, columns=["judge", "item", "answer"]))
    posterior = js.dawid_skene(table).augment()[["p(a)", "p(b)", "p(c)"]].to_numpy()
    assert posterior[2] == pytest.approx([0, 0, 1], abs=1e-6)
    assert posterior[:2] == pytest.approx(np.array([[0.5, 0.5, 0]] * 2), abs=1e-6)
    verdicts = js.aggregate(table, "dawid_skene", over="judge").sort_values("item")
    assert verdicts["answer"].fillna("none").tolist() == ["none", "none", "c"] * 12
