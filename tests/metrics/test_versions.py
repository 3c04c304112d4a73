"""Two versions of a judge: brute force, the measures that it calls, both ways to name the versions, coverage, bad input."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import judgestats as js
from judgestats.errors import DesignError
from judgestats.kernels.proportions import clustered_tango
from refusals import refused

PEOPLE = ["Ann", "Bob"]


def versioned(items=40, replicates=(3, 2), seed=1, drift=0.3, people=True):
    """Calls under v1 and v2, repeated, in both orders; and of two people. v2 says tie more often."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(items):
        better = rng.choice(["x", "y"])
        for version, runs, tie in (("v1", replicates[0], 0.1), ("v2", replicates[1], 0.1 + drift)):
            for first, second in (("x", "y"), ("y", "x")):
                for r in range(runs):
                    says = (
                        "tie" if rng.random() < tie else better if rng.random() < 0.8 else {"x": "y", "y": "x"}[better]
                    )
                    choice = "tie" if says == "tie" else "first" if says == first else "second"
                    rows.append(("g", version, f"i{i}", first, second, r, choice, "model"))
        for who in PEOPLE if people else ():
            says = "tie" if rng.random() < 0.2 else better
            rows.append(
                (
                    who,
                    None,
                    f"i{i}",
                    "x",
                    "y",
                    0,
                    "tie" if says == "tie" else {"x": "first", "y": "second"}[says],
                    "human",
                )
            )
    columns = ["judge", "version", "item", "first", "second", "replicate", "choice", "rater_type"]
    return pd.DataFrame(rows, columns=columns)


def sides(table):
    people = table["rater_type"] == "human"
    return [table[(table["version"] == v) | people].drop(columns="version") for v in ("v1", "v2")]


def cell(found, term, stimulus=""):
    return found[(found["term"] == term) & (found["stimulus"] == stimulus)].iloc[0]


def test_flips_by_brute_force():
    table = versioned(people=False)
    found = js.compare_versions(*sides(table), n_resamples=20)
    models = table[table["rater_type"] == "model"]
    answers = {k: g["choice"].to_numpy() for k, g in models.groupby(["item", "first", "version"])}
    across = within = 0
    above = []
    for item, first in {k[:2] for k in answers}:
        old, new = answers[item, first, "v1"], answers[item, first, "v2"]
        between = [a != b for a, b in itertools.product(old, new)]
        again = [[a != b for a, b in itertools.combinations(side, 2)] for side in (old, new)]
        across, within = across + sum(between), within + sum(again[0])
        above.append((item, np.mean(between) - np.mean([np.mean(a) for a in again])))
    assert cell(found, "flips")["estimate"] == pytest.approx(across / (80 * 6))
    assert cell(found, "flips")["n"] == 80 * 6
    assert cell(found, "flips")["flag"] == ""
    assert cell(found, "rerun_flips_old")["estimate"] == pytest.approx(within / (80 * 3))
    by_item = pd.DataFrame(above).groupby(0)[1].mean()
    row = cell(found, "flips_above_noise")
    assert row["estimate"] == pytest.approx(by_item.mean())
    assert row["std_error"] == pytest.approx(by_item.std(ddof=1) / np.sqrt(40))
    assert row["n"] == 80


def test_rerun_noise_is_what_consistency_says():
    table = versioned(people=False)
    found = js.compare_versions(*sides(table), n_resamples=20)
    for version, term in (("v1", "rerun_flips_old"), ("v2", "rerun_flips_new")):
        own = table[table["version"] == version].drop(columns="version")
        same = js.consistency(own, over="replicate", cluster="item").iloc[0]
        row = cell(found, term)
        assert row[["estimate", "conf_low", "conf_high"]].tolist() == pytest.approx(
            [1 - same["estimate"], 1 - same["conf_high"], 1 - same["conf_low"]]
        )


def test_without_repeats_the_noise_is_unknown():
    table = versioned(replicates=(1, 1), people=False).drop(columns="replicate")
    found = js.compare_versions(*sides(table), n_resamples=20)
    assert cell(found, "flips")["flag"] == "rerun noise unknown"
    assert np.isnan(cell(found, "flips_above_noise")["estimate"])
    assert cell(found, "flips_above_noise")["flag"] == "rerun noise unknown"
    assert not set(found["term"]) & {"rerun_flips_old", "rerun_flips_new"}
    one = js.compare_versions(*sides(versioned(replicates=(2, 1), people=False)), n_resamples=20)
    assert cell(one, "flips_above_noise")["flag"] == "noise of one version only"


def test_agreement_with_people_by_brute_force():
    table = versioned()
    found = js.compare_versions(*sides(table), humans="rater_type=human", n_resamples=20)
    content = np.where(table["choice"] == "first", table["first"], table["second"])
    table = table.assign(says=np.where(table["choice"] == "tie", "tie", content))
    people = table[table["rater_type"] == "human"].groupby("item")["says"].agg(list)
    models = table[table["rater_type"] == "model"]
    equal = [np.mean([s == p for p in people[i]]) for i, s in zip(models["item"], models["says"], strict=True)]
    wide = models.assign(equal=equal).pivot_table(index="item", columns="version", values="equal")
    for version, term in (("v1", "agreement_old"), ("v2", "agreement_new")):
        assert cell(found, term)["estimate"] == pytest.approx(wide[version].mean())
    row, d = cell(found, "agreement_change"), (wide["v2"] - wide["v1"]).to_numpy()
    assert row["estimate"] == pytest.approx(d.mean())
    want = clustered_tango(np.maximum(d, 0), np.maximum(-d, 0), np.ones(40))
    assert row[["std_error", "conf_low", "conf_high"]].tolist() == pytest.approx([want.std_error, want.low, want.high])
    kappas = [
        js.judge_against_people(side, humans=PEOPLE).set_index(["role", "term"])["estimate"] for side in sides(table)
    ]
    change = kappas[1]["judge", "kappa"] - kappas[0]["judge", "kappa"]
    assert cell(found, "kappa_change")["estimate"] == pytest.approx(change)


def test_the_shift_of_the_criterion_is_criterion_shifts():
    table = versioned()
    found = js.compare_versions(*sides(table), humans=PEOPLE, n_resamples=20)
    people = table[table["rater_type"] == "human"]
    votes = people.groupby("item")["choice"].agg(lambda c: c.iloc[0] if c.nunique() == 1 else "tie")
    models = table[table["rater_type"] == "model"].rename(columns={"version": "prompt"})
    better = models["item"].map(votes).map({"first": "x", "second": "y"})
    models = models.assign(better=better, stimulus=np.where(better.isna(), "people tied", "people decided"))
    want = js.criterion_shift(models, "v1", "v2", cluster="item")
    for term, stimulus in (
        ("criterion_shift", "people decided"),
        ("criterion_shift", "people tied"),
        ("target_signal_lost", "people decided"),
        ("false_preference_saved", "people tied"),
    ):
        row = want[(want["term"] == term) & (want["stimulus"] == stimulus)].iloc[0]
        numbers = ["estimate", "std_error", "conf_low", "conf_high", "n"]
        assert cell(found, term, stimulus)[numbers].tolist() == pytest.approx(row[numbers].tolist())
    assert cell(found, "target_signal_lost", "people decided")["conf_low"] > 0  # more ties were planted
    alone = js.compare_versions(*sides(versioned(people=False)))
    assert set(alone.loc[alone["stimulus"] == "all", "term"]) == {"criterion_shift"}
    assert "agreement_change" not in set(alone["term"])


def test_a_prompt_of_one_value_changes_nothing():
    old, new = sides(versioned())
    people = {"humans": {"rater_type": "human"}, "n_resamples": 20}
    got = js.compare_versions(old.assign(prompt="p"), new.assign(prompt="p"), **people)
    pd.testing.assert_frame_equal(got, js.compare_versions(old, new, **people))
    assert got["conf_low"].notna().any()


def test_calls_clustered_by_prompt_give_what_another_name_of_it_gives():
    table = versioned()
    old, new = (t.assign(topic="t" + (t["item"].factorize()[0] % 12).astype(str)) for t in sides(table))
    renamed = [t.rename(columns={"topic": "prompt"}) for t in (old, new)]
    got = js.compare_versions(*renamed, humans={"rater_type": "human"}, cluster="prompt", n_resamples=20)
    want = js.compare_versions(old, new, humans={"rater_type": "human"}, cluster="topic", n_resamples=20)
    assert got["method"].str.contains(r"clustered by prompt \(G = 12\)").sum() > 3
    want["method"] = want["method"].str.replace("topic", "prompt")
    pd.testing.assert_frame_equal(got, want)


def rerated(items=50, shift=0.5, noise=0.5, seed=2, replicates=1):
    rng = np.random.default_rng(seed)
    quality = rng.normal(3, 1, items)
    rows = []
    for who, version, runs, moved, sd in (
        ("g", "v1", replicates, 0.0, 0.5), ("g", "v2", replicates, shift, noise), ("Ann", None, 1, 0, 0.5),
        ("Bob", None, 1, 0, 0.5),
    ):  # fmt: skip
        for r in range(runs):
            given = np.clip(np.round(quality + moved + rng.normal(0, sd, items)), 1, 6)
            rows += [(who, version, "s", f"i{i}", r, s) for i, s in enumerate(given)]
    columns = ["judge", "version", "system", "item", "replicate", "score"]
    return pd.DataFrame(rows, columns=columns).assign(
        rater_type=lambda t: np.where(t["judge"] == "g", "model", "human")
    )


def test_ratings_tell_a_shift_from_a_loss_of_resolution():
    for shift, noise in ((1.0, 0.5), (0.0, 1.5)):
        table = rerated(200, shift, noise)
        found = js.compare_versions(*sides(table), humans=PEOPLE, n_resamples=200).set_index("term")
        wide = table.assign(who=table["judge"] + table["version"].fillna("")).pivot(
            index="item", columns="who", values="score"
        )
        d = wide["gv2"] - wide["gv1"]
        test = stats.ttest_1samp(d, 0).confidence_interval()
        assert found.loc["mean_shift", ["estimate", "conf_low", "conf_high"]].tolist() == pytest.approx(
            [d.mean(), *test]
        )
        people = pd.concat([wide["Ann"], wide["Bob"]])
        r = [np.corrcoef(pd.concat([wide[v]] * 2), people)[0, 1] for v in ("gv1", "gv2")]
        assert found.loc["correlation_change", "estimate"] == pytest.approx(r[1] - r[0])
        lost = found.loc["correlation_change", "conf_high"] < 0
        moved = found.loc["mean_shift", "conf_low"] > 0
        assert (moved, lost) == (shift > 0, noise > 1)
        assert (found.loc["flips", "n"], found.loc["flips", "estimate"]) == (200, pytest.approx((d != 0).mean()))


def test_repeats_of_ratings_are_compared():
    table = rerated(replicates=3)
    own = table[table["version"] == "v1"].drop(columns="version")
    same = js.consistency(own, over="replicate")
    wide = own.pivot(index="item", columns="replicate", values="score")
    brute = np.mean([wide[a] == wide[b] for a, b in itertools.combinations(range(3), 2)])
    assert same[["term", "estimate", "n"]].iloc[0].tolist() == ["consistency", pytest.approx(brute), 150]
    found = js.compare_versions(*sides(table), n_resamples=20).set_index("term")
    assert found.loc["rerun_flips_old", "estimate"] == pytest.approx(1 - brute)


def test_one_frame_and_its_baseline_give_what_two_frames_give():
    table = versioned()
    two = js.compare_versions(*sides(table), humans=PEOPLE, n_resamples=50)
    one = js.compare_versions(table, baseline={"version": "v1"}, humans=PEOPLE, n_resamples=50)
    assert set(one["version"]) == {"v2"}
    pd.testing.assert_frame_equal(one.drop(columns="version"), two.drop(columns="version"))
    back = js.compare_versions(table, baseline={"version": "v2"}, humans=PEOPLE, n_resamples=50)
    assert cell(back, "agreement_change")["estimate"] == pytest.approx(-cell(one, "agreement_change")["estimate"])
    named = table.rename(columns={"version": "prompt"}).replace({"prompt": {"v1": "new", "v2": "old"}})
    turned = js.compare_versions(named, baseline="new", humans=PEOPLE, n_resamples=50)
    pd.testing.assert_frame_equal(turned.drop(columns="version"), one.drop(columns="version"))
    assert js.available_measures(named, baseline="new").set_index("measure").loc["compare_versions", "supported"]


def test_versions_may_be_whole_numbers_that_people_lack():
    old, new = sides(versioned())
    frames = [t.assign(version=v) for t, v in ((old, 1), (new[~new["judge"].isin(PEOPLE)], 2))]
    frames[0].loc[frames[0]["judge"].isin(PEOPLE), "version"] = None
    table = pd.concat(frames, ignore_index=True)
    assert table["version"].dtype.kind == "f"
    one, text = (
        js.compare_versions(t, baseline={"version": b}, humans=PEOPLE, n_resamples=20)
        for t, b in ((table, 1), (table.assign(version=table["version"].map({1: "1", 2: "2"})), "1"))
    )
    pd.testing.assert_frame_equal(one, text)


def test_each_version_is_a_judge_or_each_judge_has_two():
    old, new = sides(versioned(people=False))
    found = js.compare_versions(old.assign(judge="g-1106"), new.assign(judge="g-0125"))
    assert set(found["judge"]) == {"g-1106 to g-0125"}
    two = [pd.concat([side, side.assign(judge="h")]) for side in (old, new)]
    assert set(js.compare_versions(*two)["judge"]) == {"g", "h"}
    alone = js.compare_versions(two[0], new)
    assert alone.loc[alone["judge"] == "h", "flag"].tolist() == ["not paired: no stimulus shared"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "needs two frames, or one frame and the old version"),
        ({"baseline": {"vers": "v1"}}, "no such column.*Did you mean 'version'"),
        ({"baseline": {"version": "v3"}}, "'version' has v1, v2"),
        ({"baseline": {"version": "v1", "item": "i1"}}, "names 2 columns"),
        ({"baseline": {"version": "v1"}, "humans": "Anne"}, "'Anne', who is not a judge"),
        ({"baseline": {"version": "v1"}, "cluster": ["item", "judge"]}, "must be one column"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(DesignError, match=message):
        js.compare_versions(versioned(), **arguments)


def test_frames_that_cannot_be_compared():
    old, new = sides(versioned(people=False))
    two = pd.concat([new.assign(judge="h"), new.assign(judge="k")])
    refused(
        DesignError,
        (lambda: js.compare_versions(old, new, baseline="v1"), "baseline= names the old version in one frame"),
        (lambda: js.compare_versions(old, sides(rerated())[1]), "old version has preferences, the new one ratings"),
        (lambda: js.compare_versions(old, two), "share no judge: g in the old, h, k in the new"),
        (lambda: js.compare_versions(pd.concat([old, old]), new), "same replicate number"),
    )
    other = js.compare_versions(old, new.assign(item="other " + new["item"]))
    assert other.loc[other["term"] == "flips", "flag"].str.contains("not paired: no stimulus shared").all()


def test_versions_that_agree_in_every_call_have_an_interval_of_change():
    table = versioned(replicates=(1, 1))
    old = sides(table)[0]
    found = js.compare_versions(old, old, humans=PEOPLE, n_resamples=20)
    row = cell(found, "agreement_change")
    assert row["estimate"] == 0
    assert row["conf_low"] < 0 < row["conf_high"]
    assert cell(found, "flips")["conf_high"] > 0


@pytest.mark.parametrize("make", [versioned, rerated])
def test_coefficients_have_students_interval_within_their_range(make):
    """A percentile interval of 40 items is too narrow; no change of a coefficient is beyond 2."""
    table, reach = make(40), stats.t.ppf(0.975, 39)
    found = js.compare_versions(*sides(table), humans=PEOPLE, n_resamples=200).set_index("term")
    for term in set(found.index) & {"kappa_change", "concordance_change", "correlation_change"}:
        row = found.loc[term]
        assert row["method"] == "t, jackknife, clustered by item (G = 40)"
        assert row["conf_low"] <= row["estimate"] - reach * row["std_error"] + 1e-12
        assert row["conf_high"] >= row["estimate"] + reach * row["std_error"] - 1e-12
    short = js.compare_versions(*sides(make(3, seed=4)), humans=PEOPLE, n_resamples=50)
    short = short[short["term"].isin(["kappa_change", "concordance_change", "correlation_change"])]
    assert (short["flag"].str.contains("fewer than 10 clusters")).all()
    assert not ((short["conf_low"] < -2) | (short["conf_high"] > 2)).any()


def test_coefficients_of_answers_that_never_vary_are_flagged():
    """Kappa of one answer, and the correlation of a constant, do not exist: NaN, and the flag says why."""
    always = js.compare_versions(*sides(versioned().assign(choice="tie")), humans=PEOPLE, n_resamples=20)
    assert np.isnan(cell(always, "kappa_change")["estimate"])
    assert cell(always, "kappa_change")["flag"] == "no variation"
    table = rerated()
    table["score"] = table["score"].where(table["version"] != "v1", 3.0)
    found = js.compare_versions(*sides(table), humans=PEOPLE, n_resamples=20)
    assert cell(found, "correlation_change")["flag"] == "no variation"
    assert np.isfinite(cell(found, "concordance_change")["conf_low"])


@pytest.mark.slow
def test_coverage_of_changes():
    """100 studies of 50 items: answers of two versions, repeated, and of two people, with known probabilities."""
    rng, studies, items = np.random.default_rng(6), 100, 50
    shape = (studies, items)
    truth = rng.integers(0, 2, shape)
    right = {"v1": 0.9, "v2": 0.7, "Ann": 0.8, "Bob": 0.8}
    parts = []
    for who, q in right.items():
        for r in range(2 if who in ("v1", "v2") else 1):
            answer = np.where(rng.random(shape) < q, truth, 1 - truth)
            keys = {
                "study": np.repeat([f"s{k:03d}" for k in range(studies)], items),
                "item": np.tile(range(items), studies),
            }
            part = pd.DataFrame({**keys, "replicate": r, "choice": np.where(answer, "first", "second").ravel()})
            parts.append(part.assign(judge="g" if who in ("v1", "v2") else who, version=who if "v" in who else None))
    table = pd.concat(parts, ignore_index=True).assign(first="x", second="y")
    table["item"] = table["item"].astype(str)
    found = js.compare_versions(table, baseline={"version": "v1"}, humans=PEOPLE, by="study", n_resamples=150)

    def equal(p, q):
        return p * q + (1 - p) * (1 - q)

    truths = {
        "agreement_change": equal(0.7, 0.8) - equal(0.9, 0.8),
        "kappa_change": 2 * (equal(0.7, 0.8) - equal(0.9, 0.8)),
        "flips": 1 - equal(0.9, 0.7),
        "flips_above_noise": 1 - equal(0.9, 0.7) - (2 - equal(0.9, 0.9) - equal(0.7, 0.7)) / 2,
    }
    for term, value in truths.items():
        rows = found[found["term"] == term]
        assert len(rows) == studies
        covered = (rows["conf_low"] <= value) & (rows["conf_high"] >= value)
        assert 0.88 < covered.mean() <= 1, (term, covered.mean())


def test_right_and_wrong_verdicts_have_flips_and_shares():
    """Of 20 items 11 were right under v1 and 14 under v2; 4 became right and 1 wrong."""
    old = [1] * 10 + [0] * 4 + [1] + [0] * 5
    new = [1] * 10 + [1] * 4 + [0] + [0] * 5
    rows = [("j", str(i), v, c) for v, given in (("v1", old), ("v2", new)) for i, c in enumerate(given)]
    table = pd.DataFrame(rows, columns=["judge", "item", "prompt", "correct"]).astype({"correct": bool})
    found = js.compare_versions(table, baseline="v1").set_index("term")
    expected = {"flips": 0.25, "mean_old": 0.55, "mean_new": 0.7, "mean_shift": 0.15}
    assert found["estimate"].dropna().round(9).to_dict() == expected
    scores = table.assign(score=table["correct"].astype(float)).drop(columns="correct")
    assert js.compare_versions(scores, baseline="v1").set_index("term")["estimate"].equals(found["estimate"])
    assert found.loc["mean_old", ["conf_low", "conf_high"]].between(0, 1).all()


@pytest.mark.parametrize("column", ["judge", "item", "choice"])
def test_what_was_judged_by_whom_is_no_version(column):
    table = versioned(items=3, people=False)
    with pytest.raises(DesignError, match=r"no such column of versions\. Columns: version"):
        js.compare_versions(table, baseline={column: str(table[column].iloc[0])})
