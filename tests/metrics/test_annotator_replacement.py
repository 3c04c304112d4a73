"""The alternative annotator test: a made case with known p-values, brute force, its level, bad input."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import judgestats as js
from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.cluster_robust import degrees_of_freedom
from refusals import refused

PEOPLE = ["Ann", "Bob", "Cyd"]
#: Who flips the label i mod 2 of which of 40 items: where i mod k is r.
FLIPS = {"Ann": (10, 0), "Bob": (8, 1), "Cyd": (5, 2)}


def labels(every, at, frame="ratings"):
    answers = [
        (who, f"i{i}", (i % 2) ^ (i % k == r)) for who, (k, r) in {**FLIPS, "g": (every, at)}.items() for i in range(40)
    ]
    table = pd.DataFrame(answers, columns=["judge", "item", "score"])
    if frame == "ratings":
        return table.assign(system="s", score=table["score"].astype(float))
    # every other pair is shown to the judge the other way round
    turned = (table["judge"] == "g") & table["item"].str[1:].astype(int).mod(3).eq(0)
    choice = np.where(table.pop("score").eq(1) ^ turned, "second", "first")
    return table.assign(first=np.where(turned, "b", "a"), second=np.where(turned, "a", "b"), choice=choice)


KNOWN = [
    ((7, 3), 0.1, [0.08524219, 0.08524219, 0.02086113], 0.0, 0.9),
    ((7, 3), 0.2, [0.00402716, 0.00402716, 0.00101082], 1.0, 0.9),
    ((20, 3), 0.1, [0.00968857, 0.00968857, 0.00193907], 1.0, 0.95),
    ((3, 0), 0.1, None, 0.0, 0.8),
    ((3, 0), 0.2, None, 0.0, 0.8),
]


@pytest.mark.parametrize("frame", ["ratings", "preferences"])
@pytest.mark.parametrize(("flips", "epsilon", "p", "rate", "advantage"), KNOWN)
def test_a_made_case_with_known_answers(frame, flips, epsilon, p, rate, advantage):
    data = labels(*flips, frame=frame)
    for cluster in ("auto", False):  # nothing is shared, so this is the published test
        found = js.alternative_annotator_test(
            data, humans=PEOPLE, epsilon=epsilon, alignment="accuracy", cluster=cluster
        )
        whole = found[found["annotator"].isna()].set_index("term")
        assert whole.loc["winning_rate", "estimate"] == rate
        assert whole.loc["winning_rate", "passed"] == (rate >= 0.5)
        assert whole.loc["advantage_probability", "estimate"] == pytest.approx(advantage)
        if p:
            assert found.loc[found["term"] == "difference", "p_value"].tolist() == pytest.approx(p, abs=5e-9)


def incomplete(judges=("g",), things=75, seed=0, missing=0.15):
    rng = np.random.default_rng(seed)
    quality = rng.normal(3, 1, things)
    rows = []
    for who in (*PEOPLE, *judges):
        given = np.clip(np.round(quality + rng.normal(0, 0.8, things)), 1, 5)
        kept = rng.random(things) > missing
        rows += [(who, "uvw"[i % 3], f"i{i // 3}", s) for i, (s, k) in enumerate(zip(given, kept, strict=True)) if k]
    return pd.DataFrame(rows, columns=["judge", "system", "item", "score"])


def by_brute_force(data, epsilon, alignment):
    wide = data.pivot_table(index=["item", "system"], columns="judge", values="score")
    found = {}
    for left_out in PEOPLE:
        others = [p for p in PEOPLE if p != left_out]
        d, won, item = [], [], []
        for thing, row in wide.iterrows():
            known = row[others].dropna().to_numpy()
            if not len(known) or row[[left_out, "g"]].isna().any():
                continue
            if alignment == "accuracy":
                one, two = ((known == row[who]).mean() for who in ("g", left_out))
            else:
                one, two = (-np.sqrt(((known - row[who]) ** 2).mean()) for who in ("g", left_out))
            same = np.isclose(one, two)
            won.append(float(one > two or same))
            d.append(float(two > one or same) - won[-1])
            item.append(thing[0])
        found[left_out] = np.array(d), np.array(won), np.array(item)
    return found


@pytest.mark.parametrize("alignment", ["accuracy", "rmse"])
def test_by_brute_force(alignment):
    data = incomplete()
    arguments = {"humans": PEOPLE, "epsilon": 0.3, "alignment": alignment}
    plain = js.alternative_annotator_test(data, cluster=False, **arguments)
    robust = js.alternative_annotator_test(data, **arguments)  # three systems share an item
    brute = by_brute_force(data, 0.3, alignment)
    for who, (d, won, item) in brute.items():
        rows = [t[t["annotator"] == who].set_index("term") for t in (plain, robust)]
        assert rows[0].loc["difference", "flag"].startswith("calls not independent; ")
        assert rows[0].loc["difference", ["estimate", "n"]].tolist() == pytest.approx([d.mean(), len(d)])
        test = stats.ttest_1samp(d, 0.3, alternative="less")
        assert rows[0].loc["difference", "p_value"] == pytest.approx(test.pvalue)
        ends = stats.ttest_1samp(d, 0.3).confidence_interval()
        assert rows[0].loc["difference", ["conf_low", "conf_high"]].tolist() == pytest.approx(list(ends))
        by_item = pd.Series(d - d.mean()).groupby(item)
        sums, size = by_item.sum(), by_item.size().to_numpy(dtype=float)
        error = np.sqrt((sums**2 / (1 - size / len(d))).sum()) / len(d)
        df = degrees_of_freedom(size)
        worth = round(len(d) ** 2 / (size**2).sum())
        assert rows[1].loc["difference", "method"] == f"t, clustered by item (G = {len(sums)}, worth {worth})"
        assert rows[1].loc["difference", "std_error"] == pytest.approx(error)
        assert rows[1].loc["difference", "p_value"] == pytest.approx(stats.t.cdf((d.mean() - 0.3) / error, df))
        assert rows[1].loc["difference", "flag"].endswith("fewer than 30 clusters: test lenient")
        assert rows[1].loc["advantage_probability", "estimate"] == pytest.approx(won.mean())
    mean = np.mean([won.mean() for _, won, _ in brute.values()])
    whole = robust[robust["annotator"].isna()].set_index("term")
    assert whole.loc["advantage_probability", "estimate"] == pytest.approx(mean)


def test_p_values_are_adjusted_over_people_and_domains_of_a_judge():
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    data = pd.concat(
        [incomplete(("g", "h"), 120, seed=s, missing=0).assign(domain=d) for s, d in ((1, "law"), (2, "art"))]
    )
    found = js.alternative_annotator_test(data, humans=PEOPLE, epsilon=0.15, by="domain")
    for judge in ("g", "h"):
        own = found[(found["judge"] == judge) & (found["term"] == "difference")]
        assert len(own) == 6
        rejected, adjusted = multitest.multipletests(own["p_value"], 0.05, "fdr_by")[:2]
        assert own["p_adjusted"].tolist() == pytest.approx(adjusted.tolist())
        assert own["passed"].astype(bool).tolist() == rejected.tolist()
        for domain, rows in own.assign(rejected=rejected).groupby("domain"):
            whole = found[(found["judge"] == judge) & (found["domain"] == domain) & (found["term"] == "winning_rate")]
            assert whole["estimate"].item() == pytest.approx(rows["rejected"].mean())


def test_annotators_with_few_items_are_listed_and_not_tested():
    data = labels(20, 3)
    short = data[(data["judge"] != "Cyd") | data["item"].isin([f"i{i}" for i in range(29)])]
    found = js.alternative_annotator_test(short, humans=PEOPLE, epsilon=0.2, alignment="accuracy")
    row = found[(found["annotator"] == "Cyd") & (found["term"] == "difference")].iloc[0]
    assert row["flag"] == "not tested: fewer than 30 items"
    assert (row["n"], np.isnan(row["p_value"])) == (29, True)
    whole = found[found["term"] == "winning_rate"].iloc[0]
    assert whole["n"] == 2
    assert "1 annotator(s) not tested excluded".replace("(s)", "") in whole["flag"]


def test_few_clusters_are_not_tested():
    data = labels(20, 3).assign(task=lambda t: t["item"].str[1:].astype(int).mod(9).astype(str))
    arguments = {"humans": PEOPLE, "epsilon": 0.2, "alignment": "accuracy"}
    found = js.alternative_annotator_test(data, cluster="task", **arguments)
    assert (
        found.loc[found["term"] == "difference", "flag"] == "fewer than 10 clusters; not tested: fewer than 10 clusters"
    ).all()
    assert np.isnan(found.loc[found["term"] == "winning_rate", "estimate"]).all()
    assert "no annotator tested" in found.loc[found["term"] == "winning_rate", "flag"].item()


def test_unequal_clusters_are_worth_fewer():
    """One of 15 tasks has 46 of 60 items: worth 1.7 equal ones."""
    number = labels(20, 3)["item"].str[1:].astype(int)
    data = labels(20, 3).assign(task=np.maximum(number - number.max() + 14, 0).astype(str))
    found = js.alternative_annotator_test(data, cluster="task", humans=PEOPLE, epsilon=0.2, alignment="accuracy")
    rows = found[found["term"] == "difference"]
    unequal = r"clusters of unequal size, worth \d"
    assert rows["flag"].str.fullmatch(f"{unequal}; not tested: {unequal}").all()
    assert rows["p_value"].isna().all()


def test_the_test_holds_for_few_tasks_and_says_so():
    data = labels(20, 3).assign(task=lambda t: t["item"].str[1:].astype(int).mod(6).astype(str))
    found = js.alternative_annotator_test(data, humans=PEOPLE, epsilon=0.2, alignment="accuracy")
    assert found.loc[found["conf_low"].notna(), "method"].str.endswith("holds for these 6 tasks").all()
    assert found.loc[found["term"] == "difference", "p_value"].notna().all()


@pytest.mark.parametrize(("flip", "epsilon", "rate"), [((41, 40), 0.1, 1.0), ((41, 40), 0.0, 0.0), ((1, 0), 0.9, 0.0)])
def test_differences_that_do_not_vary_are_below_epsilon_or_not(flip, epsilon, rate):
    """Nobody errs, and the judge never, or always: the mean decides, with a flag."""
    data = labels(*flip)
    data.loc[data["judge"] != "g", "score"] = data["item"].str[1:].astype(int).mod(2).astype(float)
    found = js.alternative_annotator_test(data, humans=PEOPLE, epsilon=epsilon, alignment="accuracy")
    rows = found[found["term"] == "difference"]
    assert (rows["flag"] == "no variation").all()
    assert rows["conf_low"].isna().all()
    assert found.loc[found["term"] == "winning_rate", "estimate"].item() == rate


def test_two_calls_on_a_pair_are_one_item():
    data = labels(7, 3, frame="preferences")
    own = data[data["judge"] == "g"]
    other = own.assign(first=own["second"], second=own["first"])
    other["choice"] = own["choice"].map({"first": "second", "second": "first"})
    both = js.alternative_annotator_test(pd.concat([data, other]), humans=PEOPLE, epsilon=0.2)
    once = js.alternative_annotator_test(data, humans=PEOPLE, epsilon=0.2)
    pd.testing.assert_frame_equal(both, once)


def test_a_judge_that_never_answers_has_no_estimate():
    data = labels(7, 3, frame="preferences")
    data.loc[data["judge"] == "g", "choice"] = "invalid"
    found = js.alternative_annotator_test(data, humans=PEOPLE, epsilon=0.2)
    assert found["estimate"].isna().all()
    assert found["flag"].str.contains("40 invalid calls excluded").all()


def test_what_people_did_not_answer_is_counted():
    data = pd.concat([labels(7, 3), pd.DataFrame({"judge": ["g"], "item": "x", "score": 1.0, "system": "s"})])
    found = js.alternative_annotator_test(data, humans=PEOPLE, epsilon=0.2, alignment="accuracy")
    assert found["flag"].str.contains("1 call without the answers of two people excluded").all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"humans": "Ann"}, "needs two people or more, and humans= names Ann.*judge_against_people"),
        ({"humans": []}, "humans= names nobody"),
        ({"epsilon": 20}, "epsilon=20 is not a margin. Allowed: 0 to 1"),
        ({"epsilon": "x"}, "epsilon='x' is not a margin"),
        ({"alignment": "pearson"}, "alignment"),
        ({"cluster": ["item", "system"]}, "names 2 columns"),
        ({"conf_level": 95}, "conf_level"),
        ({"by": "domian"}, "'domian' is not a column"),
        ({"cluster": "tsak"}, "'tsak' is not a column"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises((DesignError, SchemaError), match=message):
        js.alternative_annotator_test(labels(7, 3), **{"humans": PEOPLE, "epsilon": 0.2} | arguments)


@pytest.mark.parametrize("classes", [4, 25])
def test_whole_numbers_that_may_be_codes_are_taken_as_a_scale_and_said_so(classes):
    data = incomplete()
    code = np.random.default_rng(1).integers(0, classes, len(data)).astype(float)

    def run(score, **alignment):
        table = data.assign(score=score)
        return js.alternative_annotator_test(table, humans=PEOPLE, epsilon=0.2, **alignment)

    said = run(code)
    assert said["flag"].str.contains("whole numbers taken as a scale").all()
    assert said["method"].str.endswith("alignment by rmse").all()
    for alignment in ("accuracy", "rmse"):
        assert not run(code, alignment=alignment)["flag"].str.contains("taken as a scale").any()
    assert not run(data["score"] + 0.5)["flag"].str.contains("taken as a scale").any()


def test_counts_the_distance_of_preferences_and_no_epsilon_are_refused():
    calls = labels(7, 3, frame="preferences")
    refused(
        DesignError,
        (lambda: js.alternative_annotator_test(labels(7, 3), humans=PEOPLE), TypeError, "epsilon"),
        (
            lambda: js.alternative_annotator_test(calls.assign(n_identical=2), humans=PEOPLE, epsilon=0.2),
            "some rows carry a count",
        ),
        (
            lambda: js.alternative_annotator_test(calls, humans=PEOPLE, epsilon=0.2, alignment="rmse"),
            "alignment='rmse' is of scores",
        ),
    )


# ---- The level of the test, and coverage -----------------------------------------------------------------------------


def mean_difference(q, e):
    """Expected d of a judge with error rate q, one of three people with error rate e left out."""
    found = 0.0
    for one, two, three, judge in itertools.product((0, 1), repeat=4):
        chance = np.prod([e if x else 1 - e for x in (one, two, three)]) * (q if judge else 1 - q)
        s, f = ((x == two) + (x == three) for x in (one, judge))
        found += chance * (float(s >= f) - float(f >= s))
    return found


def simulated(rng, replications, clusters, size, e, q, alike):
    """Replications of three people and a judge, whose answers within an item are all alike with a probability."""
    n = clusters * size
    copied = np.repeat(rng.random(replications * clusters) < alike, size)
    named = {
        "rep": np.repeat(np.arange(replications), n),
        "item": np.tile(np.repeat(np.arange(clusters), size), replications),
        "system": np.tile(np.arange(size).astype(str), replications * clusters),
    }
    parts = []
    for who in (*PEOPLE, "g"):
        wrong = rng.random(replications * n) < (q if who == "g" else e)
        wrong = np.where(copied, np.repeat(wrong[::size], size), wrong)
        judge = [f"g{r:04d}" for r in named["rep"]] if who == "g" else who
        parts.append(pd.DataFrame({"judge": judge, **named, "score": wrong.astype(float)}))
    return pd.concat(parts, ignore_index=True)


@pytest.mark.slow
@pytest.mark.parametrize(("clusters", "size", "alike"), [(60, 1, 0.0), (30, 4, 0.6)])
def test_a_judge_worse_by_epsilon_passes_in_at_most_five_percent(clusters, size, alike):
    from scipy.optimize import brentq

    q = brentq(lambda q: mean_difference(q, 0.2) - 0.2, 0, 1)
    data = simulated(np.random.default_rng(5), 200, clusters, size, 0.2, q, alike)
    found = js.alternative_annotator_test(data, humans=PEOPLE, epsilon=0.2, alignment="accuracy", by="rep")
    rates = found[found["term"] == "winning_rate"]
    assert rates["passed"].astype(bool).mean() <= 0.05
    rows = found[(found["term"] == "difference") & found["conf_low"].notna()]
    assert 0.91 < ((rows["conf_low"] <= 0.2) & (rows["conf_high"] >= 0.2)).mean() < 0.99
    if alike:  # what the published test does with items that share texts
        plain = js.alternative_annotator_test(
            data, humans=PEOPLE, epsilon=0.2, alignment="accuracy", by="rep", cluster=False
        )
        narrow = plain[(plain["term"] == "difference") & plain["conf_low"].notna()]
        assert ((narrow["conf_low"] <= 0.2) & (narrow["conf_high"] >= 0.2)).mean() < 0.9


@pytest.mark.parametrize(("items", "few"), [(60, True), (120, False)])
def test_the_test_of_few_items_is_said_to_be_lenient(items, few):
    data = incomplete(things=items, missing=0.0)
    humans = sorted(set(data["judge"]) - {"g"})
    found = js.alternative_annotator_test(data, humans=humans, epsilon=0.2, cluster=False)
    tested = found[found["p_value"].notna()]
    assert len(tested)
    assert tested["flag"].str.contains("fewer than 100 items").all() == few
