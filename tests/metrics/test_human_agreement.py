"""Agreement with people: base rates, the difference from people, clusters, coverage; its coefficients: test_references."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score

import judgestats as js
import registry
from judgestats.errors import DesignError
from judgestats.kernels.proportions import clustered_wilson
from judgestats.metrics.agreement.human_agreement import concordances

PEOPLE = ["Ann", "Bob", "Cyd"]


def judged(items=40, candidates=("x", "y"), seed=1):
    """Two models and three people on the same pairs, shown in either order."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(items):
        one, two = rng.choice(candidates, 2, replace=False)
        better = rng.choice([one, two, "tie"], p=[0.5, 0.3, 0.2])
        for judge, right in (("g", 0.7), ("h", 0.4), *((p, 0.75) for p in PEOPLE)):
            first, second = (one, two) if rng.random() < 0.5 else (two, one)
            said = better if rng.random() < right else rng.choice([one, two, "tie"])
            choice = "tie" if said == "tie" else "first" if said == first else "second"
            rows.append((judge, f"i{i}", first, second, choice))
    return pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice"])


def winners(table):
    chosen = np.where(table["choice"] == "first", table["first"], table["second"])
    return table.assign(winner=np.where(table["choice"] == "tie", "tie", chosen)).pivot(
        index="item", columns="judge", values="winner"
    )


def test_base_rates_and_the_constant_answer():
    table = judged()
    found = js.judge_against_people(table, humans=PEOPLE)
    people = winners(table)[PEOPLE].stack()
    rates = found[found["term"] == "base_rate"].set_index("answer")
    assert rates["estimate"].to_dict() == pytest.approx(people.value_counts(normalize=True).to_dict())
    assert (rates["n"] == 120).all()
    for answer, row in rates.iterrows():
        by_item = people.eq(answer).groupby(level=0).sum().to_numpy(float)
        want = clustered_wilson(by_item, np.full(40, 3.0))
        assert row[["std_error", "conf_low", "conf_high"]].tolist() == pytest.approx(list(want))
    constant = found[found["term"] == "constant_answer"].iloc[0]
    top = rates["estimate"].idxmax()
    assert (constant["answer"], constant["estimate"]) == (top, rates.loc[top, "estimate"])
    assert constant["conf_low"] == rates.loc[top, "conf_low"]
    # it is what a judge with this one answer gets
    first, second = np.where(table["judge"] == "g", [["x"], ["y"]], table[["first", "second"]].to_numpy().T)
    choice = np.where(table["judge"] == "g", {"x": "first", "y": "second", "tie": "tie"}[top], table["choice"])
    same = js.judge_against_people(table.assign(first=first, second=second, choice=choice), humans=PEOPLE)
    row = same[(same["judge"] == "g") & (same["term"] == "agreement")]
    assert row["estimate"].item() == pytest.approx(constant["estimate"])


def test_with_many_candidates_the_answers_are_slots():
    table = judged(candidates=tuple("uvwxyz"))
    found = js.judge_against_people(table, humans=PEOPLE)
    rates = found[found["term"] == "base_rate"].set_index("answer")["estimate"]
    people = table[table["judge"].isin(PEOPLE)]
    assert rates.to_dict() == pytest.approx(people["choice"].value_counts(normalize=True).to_dict())


def test_scores_of_many_levels_have_the_constant_answer_only():
    rng = np.random.default_rng(3)
    table = pd.DataFrame([(j, "s", f"i{i}") for j in ("g", *PEOPLE) for i in range(20)])
    table = table.set_axis(["judge", "system", "item"], axis=1).assign(score=rng.integers(0, 100, 80).astype(float))
    found = js.judge_against_people(table, humans=PEOPLE)
    assert "base_rate" not in set(found["term"])
    few = js.judge_against_people(table.assign(score=table["score"] % 3), humans=PEOPLE)
    assert few.loc[few["term"] == "base_rate", "answer"].tolist() == [0.0, 1.0, 2.0]


def test_the_difference_is_that_of_the_two_shares_paired_by_item():
    table = judged(60)
    found = js.judge_against_people(table, humans=PEOPLE)
    wide = winners(table)
    with_people = np.mean([wide["h"] == wide[p] for p in PEOPLE], axis=0)
    among = np.mean([wide[a] == wide[b] for a, b in (("Ann", "Bob"), ("Ann", "Cyd"), ("Bob", "Cyd"))], axis=0)
    row = found[(found["judge"] == "h") & (found["term"] == "agreement_difference")].iloc[0]
    assert row["estimate"] == pytest.approx((with_people - among).mean())
    assert row["std_error"] == pytest.approx((with_people - among).std(ddof=1) / np.sqrt(60))  # paired by item
    assert row["n"] == 180


def test_what_items_share_is_the_cluster():
    table = judged(90).assign(task=lambda t: "t" + (t["item"].str[1:].astype(int) // 3).astype(str))
    shared = js.judge_against_people(table, humans=PEOPLE)
    assert shared.loc[shared["term"] == "agreement", "method"].str.contains("clustered by task \\(G = 30\\)").all()
    named = js.judge_against_people(table, humans=PEOPLE, cluster="item")
    assert named.loc[named["term"] == "agreement", "method"].str.contains("clustered by item \\(G = 90\\)").all()
    plain = js.judge_against_people(table, humans=PEOPLE, cluster=False)
    assert (plain["flag"].str.contains("calls not independent")).all()
    pd.testing.assert_frame_equal(plain.drop(columns="flag"), named.drop(columns="flag"))
    with pytest.raises(DesignError, match="must be one column"):
        js.judge_against_people(table, humans=PEOPLE, cluster=["item", "task"])


def test_invalid_answers_of_people_are_counted():
    table = judged()
    at = table.index[table["judge"] == "Ann"][:4]
    table.loc[at, "choice"] = "invalid"
    found = js.judge_against_people(table, humans=PEOPLE)
    rates = found[found["term"].isin(["base_rate", "constant_answer"])]
    assert (rates["flag"] == "4 invalid calls excluded").all()
    assert (rates["n"] == 116).all()


def test_the_interval_of_kappa_is_students_from_the_jackknife_of_items():
    table = judged().query("judge in ['g', 'Ann']")
    wide = winners(table)
    kappa = cohen_kappa_score(wide["g"], wide["Ann"])
    without = [cohen_kappa_score(*wide.drop(index=i)[["g", "Ann"]].to_numpy().T) for i in wide.index]
    z, value = np.arctanh(without), np.arctanh(kappa)
    error = np.sqrt(39 / 40 * ((z - z.mean()) ** 2).sum())
    bias, half = 39 * (z.mean() - value), stats.t.ppf(0.975, 39) * error
    row = js.judge_against_people(table, humans=["Ann"]).query("term == 'kappa' and role == 'judge'").iloc[0]
    assert row["estimate"] == pytest.approx(kappa)
    assert row["std_error"] == pytest.approx((1 - kappa**2) * error)
    assert row["conf_low"] == pytest.approx(np.tanh(value - half - max(bias, 0)))
    assert row["conf_high"] == pytest.approx(np.tanh(value + half - min(bias, 0)))
    assert row["method"] == "t, jackknife of Fisher's z, clustered by item (G = 40)"


@pytest.mark.parametrize("differing", [0, 1])
def test_kappa_of_people_who_hardly_differ(differing):
    """Without the one item on which they differ kappa is 1, which has no Fisher's z: the interval is on the plain scale."""
    answers = ["first", "second"] * 10
    other = ["second" if i < differing else a for i, a in enumerate(answers)]
    rows = [(j, f"i{i}", "x", "y", a) for j, said in (("g", answers), ("Ann", other)) for i, a in enumerate(said)]
    table = pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice"])
    row = js.judge_against_people(table, humans=["Ann"]).query("term == 'kappa' and role == 'judge'").iloc[0]
    if differing:
        assert row["estimate"] == pytest.approx(0.9)
        assert row["conf_low"] < row["estimate"] < row["conf_high"] <= 1
        assert row["method"] == "t, jackknife, clustered by item (G = 20)"
    else:
        assert row["estimate"] == 1
        assert np.isnan(row["conf_low"])
        assert "no variation" in row["flag"]


@pytest.mark.slow
def test_coverage_of_agreement_and_its_difference_from_people():
    """People and a judge copy the answer of an item with known probabilities; 200 studies of 60 items."""
    rng, studies, items = np.random.default_rng(4), 200, 60
    right = {"g": 0.8, "Ann": 0.6, "Bob": 0.6, "Cyd": 0.6}
    truth = rng.integers(0, 2, studies * items)
    parts = []
    for who, q in right.items():
        copied = np.repeat(rng.random(studies * items) < q, 1)
        answer = np.where(copied, truth, rng.integers(0, 2, studies * items)).astype(float)
        parts.append(pd.DataFrame({"judge": who, "score": answer}))
    table = pd.concat(parts, ignore_index=True).assign(system="s")
    table["study"] = np.tile(np.repeat([f"s{k:03d}" for k in range(studies)], items), 4)
    table["item"] = np.tile(np.tile(np.arange(items).astype(str), studies), 4)
    found = js.judge_against_people(table, humans=PEOPLE, by="study")
    agree = {"judge": 0.5 + 0.8 * 0.6 / 2, "people": 0.5 + 0.6**2 / 2}
    for role, term, value in (
        ("judge", "agreement", agree["judge"]),
        ("people", "agreement", agree["people"]),
        ("judge", "concordance", 0.48),
        ("judge", "agreement_difference", agree["judge"] - agree["people"]),
    ):
        rows = found[(found["role"] == role) & (found["term"] == term)]
        assert len(rows) == studies
        covered = (rows["conf_low"] <= value) & (rows["conf_high"] >= value)
        assert 0.90 < covered.mean() < 0.99, (role, term, covered.mean())


def test_one_judge_alone_is_told_where_people_come_from():
    alone = judged().query("judge == 'g'")
    missing = js.available_measures(alone).set_index("measure")["missing"]
    assert missing["judge_against_people"] == "needs answers of people too: join_labels(), or --labels-file"
    assert "which of the 5 judges are people" in js.available_measures(judged()).set_index("measure")["missing"].iloc[0]


def test_the_difference_from_people_is_over_the_items_of_both():
    """A judge that answered the first items only is compared with people on these."""
    whole = judged()
    first = {f"i{i}" for i in range(15)}
    part = whole[(whole["judge"] != "g") | whole["item"].isin(first)]
    found, alone = (
        js.judge_against_people(t, humans=PEOPLE).query("term == 'agreement_difference' and judge == 'g'").iloc[0]
        for t in (part, whole[whole["item"].isin(first)])
    )
    columns = ["estimate", "std_error", "conf_low", "conf_high", "n"]
    assert found[columns].tolist() == pytest.approx(alone[columns].tolist(), abs=1e-12)
    assert "25 items without both agreements excluded" in found["flag"]
    assert "without both" not in alone["flag"]


def lin(x, y):
    """Lin's concordance correlation, from its definition."""
    return 2 * np.cov(x, y, bias=True)[0, 1] / (x.var() + y.var() + (x.mean() - y.mean()) ** 2)


def test_concordance_of_judges_is_lins():
    data = registry.single_scores()
    wide = data.pivot_table(index=["system", "item"], columns="judge", values="score")
    found = concordances(data).set_index(["judge", "other"])["estimate"]
    assert len(found) == 3
    for (one, two), value in found.items():
        np.testing.assert_allclose(value, lin(wide[one].to_numpy(), wide[two].to_numpy()))


@pytest.mark.parametrize("by", [(), ("criterion",)])
def test_concordance_of_judges_is_that_of_a_judge_with_one_person(by):
    data = registry.scores()  # repeats and missing scores
    found = concordances(data, by)
    person = js.judge_against_people(data, humans=["a"], by=list(by))
    person = person[(person["role"] == "judge") & (person["term"] == "concordance")]
    both = found[found["judge"] == "a"].merge(person, left_on=["other", *by], right_on=["judge", *by])
    assert len(both) == len(person) == 2 * (2 if by else 1)
    np.testing.assert_allclose(both["estimate_x"], both["estimate_y"])
    np.testing.assert_allclose(2 * both["n_x"], both["n_y"])  # things, and two calls on each


def test_judges_without_a_common_item_have_no_concordance():
    data = pd.DataFrame({"judge": ["a", "b"], "system": "s", "item": ["1", "2"], "score": [1.0, 2.0]})
    assert concordances(data).empty
