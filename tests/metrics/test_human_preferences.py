"""Preferences of judges and of people for a target: the published table, variances, screening, refusals."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

import judgestats as js
from judgestats.counting.tallies import tally
from judgestats.errors import DesignError, SchemaError
from judgestats.flags import FEW_CLUSTERS, NO_SPREAD
from judgestats.kernels.proportions import clustered_wilson, newcombe
from judgestats.metrics.bias import preference_gap
from judgestats.results import COLUMNS

PEOPLE = ["Ann", "Bob"]


def calls_of(answers: dict[str, list[str]], seed: int = 0) -> pd.DataFrame:
    """Answers by content (markdown, prose, tie, invalid); slots drawn for each rater and pair."""
    rng = np.random.default_rng(seed)
    rows = []
    for judge, given in answers.items():
        for item, answer in enumerate(given):
            first, second = ("markdown", "prose") if rng.random() < 0.5 else ("prose", "markdown")
            choice = answer if answer in ("tie", "invalid") else "first" if answer == first else "second"
            rows.append({"judge": judge, "item": str(item), "first": first, "second": second, "choice": choice})
    return pd.DataFrame(rows).assign(target="markdown")


def study() -> dict[str, list[str]]:
    """The margins of Table 9: 19 and 15 of 30 choose markdown, and agree on 16 pairs, which fixes all four cells."""
    both = [("m", "m")] * 10 + [("m", "p")] * 9 + [("p", "m")] * 5 + [("p", "p")] * 6
    ann, bob = zip(*both, strict=True)
    printed = {"Pro": (29, 1), "Flash": (27, 3), "Claude": (25, 5), "Llama": (22, 1), "GPT-4o": (16, 12)}
    result = {"Ann": list(ann), "Bob": list(bob)}
    for judge, (m, p) in printed.items():
        result[judge] = ["m"] * m + ["p"] * p + ["tie"] * (30 - m - p)
    names = {"m": "markdown", "p": "prose"}
    return {j: [names.get(a, a) for a in given] for j, given in result.items()}


def cell(result: pd.DataFrame, judge: str | None, term: str) -> pd.Series:
    here = result["judge"].isna() if judge is None else result["judge"] == judge
    found = result[here & (result["term"] == term)]
    assert len(found) == 1
    return found.iloc[0]


@pytest.fixture(scope="module")
def table9(data_folder):
    return pd.read_csv(data_folder / "debiasing" / "table9.csv")


def as_counts(table9: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for _, rater, n, m, p in table9[["group", "rater", "n", "markdown", "prose"]].itertuples(index=False):
        if rater != "Aggregate":
            k = [round(n * float(m)), round(n * float(p))]
            for outcome, count in zip(("target", "other", "tie"), [*k, n - sum(k)], strict=True):
                rows.append({"judge": rater, "outcome": outcome, "n": count})
    return pd.DataFrame(rows)


def test_table_9_from_its_counts(table9):
    result = preference_gap(as_counts(table9), humans=["Annotator A", "Annotator B"])
    assert result.columns.tolist() == ["role", "judge", *COLUMNS]
    people = cell(result, None, "rate")
    assert (people["estimate"] * 60, people["n"]) == (pytest.approx(34), 60)
    judges = table9[table9["group"] == "judge"].set_index("rater")
    assert len(judges) == 5
    for judge, row in judges.iterrows():
        rate, gap = cell(result, judge, "rate"), cell(result, judge, "gap")
        assert f"{rate['estimate']:.2f}" == f"{float(row['markdown']):.2f}"
        assert f"{gap['estimate']:+.2f}" == f"{float(row['gap']):+.2f}"
        assert (gap["conf_low"], gap["conf_high"]) == pytest.approx(newcombe(30 * rate["estimate"], 30, 34, 60))
        assert gap["method"] == "Newcombe, independent"
    # the printed half-width of 0.13 treats the verdicts as independent
    assert f"{1.96 * people['std_error']:.2f}" == "0.13"
    # ties in the denominator: without them Llama and GPT-4o are further from people
    without = preference_gap(as_counts(table9), humans=["Annotator A", "Annotator B"], ties="drop")
    assert cell(without, "Llama 3.3-70B", "gap")["estimate"] == pytest.approx(22 / 23 - 34 / 60)
    assert cell(without, "GPT-4o", "gap")["estimate"] == pytest.approx(16 / 28 - 34 / 60)
    halves = preference_gap(as_counts(table9), humans=["Annotator A", "Annotator B"], ties="half")
    assert cell(halves, "Llama 3.3-70B", "rate")["estimate"] == pytest.approx(25.5 / 30)


def test_the_study_from_calls():
    calls = calls_of(study())
    result = preference_gap(calls, humans=PEOPLE)
    counted = preference_gap(tally(calls, "bias_score"), humans=PEOPLE)
    for judge in ("Pro", "Flash", "Claude", "Llama", "GPT-4o"):
        for term in ("rate", "gap"):
            assert cell(result, judge, term)["estimate"] == pytest.approx(cell(counted, judge, term)["estimate"])
    among = js.judge_against_people(calls, humans=PEOPLE).query("role == 'people'").set_index("term")
    assert (among.loc["agreement", "estimate"] * 30, among.loc["agreement", "n"]) == (pytest.approx(16), 30)
    cohens = js.kappa(calls[calls["judge"].isin(PEOPLE)])
    assert round(cohens["estimate"].item(), 2) == 0.07  # as printed
    assert set(result["term"]) == {"rate", "gap"}
    assert set(counted["term"]) == {"rate", "gap"}


def two_way(calls: pd.DataFrame, judge: str, annotators: str) -> tuple[float, float]:
    """Variance of a gap by loops over pairs, annotators and their cells; and the degrees of freedom."""
    hit = {
        (r["judge"], r["item"]): float(r["choice"] != "tie" and r[r["choice"]] == "markdown")
        for r in calls.to_dict("records")
    }
    items = sorted({i for _, i in hit})
    p = np.mean([hit[judge, i] for i in items])
    q = np.mean([hit[a, i] for a in PEOPLE for i in items])
    pull = {(a, i): -(hit[a, i] - q) / (2 * len(items)) for a in PEOPLE for i in items}
    mine = {i: (hit[judge, i] - p) / len(items) for i in items}
    g = len(items)
    variance = g / (g - 1) * sum((mine[i] + sum(pull[a, i] for a in PEOPLE)) ** 2 for i in items)
    if annotators == "fixed":
        return variance, g - 1
    among = 2 * sum(sum(pull[a, i] for i in items) ** 2 for a in PEOPLE)
    return max(variance + among - sum(v**2 for v in pull.values()), variance), 1


@pytest.mark.parametrize("annotators", ["random", "fixed"])
def test_the_variance_by_brute_force(annotators):
    calls = calls_of(study())
    result = preference_gap(calls, humans=PEOPLE, annotators=annotators)
    for judge in ("Claude", "GPT-4o"):
        variance, df = two_way(calls, judge, annotators)
        row = cell(result, judge, "gap")
        assert row["std_error"] == pytest.approx(math.sqrt(variance))
        half = student.ppf(0.975, df) * math.sqrt(variance)
        assert row["conf_low"] == pytest.approx(max(row["estimate"] - half, -1))
        assert row["conf_high"] == pytest.approx(min(row["estimate"] + half, 1))
        assert (FEW_CLUSTERS in row["flag"]) == (annotators == "random")
        assert row["method"] == (
            "t, clustered by pair x annotator (G = 30 x 2)"
            if annotators == "random"
            else "t, clustered by pair (G = 30)"
        )


def test_what_pairs_do_to_both_falls_out():
    """Easy and hard pairs move judge and people alike: the paired error is the smaller one."""
    rng = np.random.default_rng(1)
    easy = rng.random(200) < 0.5
    answers = {
        w: np.where(rng.random(200) < np.where(easy, 0.95, 0.15), "markdown", "prose").tolist() for w in [*PEOPLE, "g"]
    }
    calls = calls_of(answers)
    paired = cell(preference_gap(calls, humans=PEOPLE, annotators="fixed"), "g", "gap")
    apart = cell(preference_gap(tally(calls, "bias_score"), humans=PEOPLE), "g", "gap")
    assert paired["estimate"] == pytest.approx(apart["estimate"])
    assert paired["std_error"] < 0.8 * apart["std_error"]


@pytest.mark.slow
def test_coverage_for_people_at_large():
    """Twelve annotators who differ, and pairs that differ: the two-way interval holds what it should."""
    rng = np.random.default_rng(7)
    hits = 0
    people = [f"p{a}" for a in range(12)]
    for _ in range(80):
        taste, pull = rng.normal(0, 0.15, 12), rng.normal(0, 0.15, 30)
        answers = {
            p: np.where(rng.random(30) < np.clip(0.5 + taste[a] + pull, 0, 1), "markdown", "prose").tolist()
            for a, p in enumerate(people)
        }
        answers["g"] = np.where(rng.random(30) < np.clip(0.7 + pull, 0, 1), "markdown", "prose").tolist()
        result = preference_gap(calls_of(answers), humans=people, screen=False)
        row = cell(result, "g", "gap")
        hits += row["conf_low"] <= 0.2 <= row["conf_high"]
    assert 0.9 <= hits / 80 <= 1.0


def test_a_constant_annotator_is_left_out_and_counted():
    calls = calls_of(study())
    rng = np.random.default_rng(4)
    first = rng.permutation(["markdown"] * 14 + ["prose"] * 16)
    third = pd.DataFrame({"judge": "Cy", "item": [str(i) for i in range(30)], "first": first, "choice": "first"})
    third["second"] = np.where(third["first"] == "markdown", "prose", "markdown")
    calls = pd.concat([calls, third.assign(target="markdown")]).assign(confidence=3)
    people = [*PEOPLE, "Cy"]
    screened = preference_gap(calls, humans=people)
    assert cell(screened, None, "rate")[["estimate", "n"]].tolist() == pytest.approx([34 / 60, 60])
    assert "1 constant annotator excluded" in cell(screened, None, "rate")["flag"]
    assert "1 constant annotator excluded" in cell(screened, "Pro", "gap")["flag"]
    assert "Cy" not in set(screened["judge"])
    kept = preference_gap(calls, humans=people, screen=False)
    assert cell(kept, None, "rate")[["estimate", "n"]].tolist() == pytest.approx([48 / 90, 90])
    assert cell(kept, "Cy", "rate")["estimate"] == pytest.approx(14 / 30)
    # a confidence that varies, too few calls, a target that never moved: no screening
    unsure = calls.assign(confidence=np.arange(len(calls)) % 3)
    assert "Cy" in set(preference_gap(unsure, humans=people)["judge"])
    short = calls[calls["item"].isin([str(i) for i in range(9)])]
    assert "Cy" in set(preference_gap(short, humans=people)["judge"])
    still = calls[(calls["judge"] != "Cy") | (calls["first"] == "markdown")]
    assert "Cy" in set(preference_gap(still, humans=people)["judge"])
    # a judge who always answers the first is a finding, not noise
    assert "Pro" in set(screened["judge"])


def test_only_shared_pairs_are_compared():
    calls = calls_of(study())
    part = calls[(calls["judge"] != "GPT-4o") | (calls["item"].astype(int) < 20)]
    row = cell(preference_gap(part, humans=PEOPLE), "GPT-4o", "gap")
    first = {w: study()[w][:20].count("markdown") for w in ("GPT-4o", *PEOPLE)}
    assert row["estimate"] == pytest.approx(first["GPT-4o"] / 20 - (first["Ann"] + first["Bob"]) / 40)
    assert "20 of 30 pairs shared" in row["flag"]
    assert cell(preference_gap(part, humans=PEOPLE), None, "rate")["n"] == 60
    none = calls[(calls["judge"] == "Pro") | calls["judge"].isin(PEOPLE)]
    none = none[(none["judge"] != "Pro") == (none["item"].astype(int) < 15)]
    empty = cell(preference_gap(none, humans=PEOPLE), "Pro", "gap")
    assert math.isnan(empty["estimate"])
    assert "no data" in empty["flag"]


def test_one_annotator_and_unanimity_have_no_interval():
    calls = calls_of(study())
    alone = cell(preference_gap(calls[calls["judge"] != "Bob"], humans=["Ann"]), "Pro", "gap")
    assert alone["estimate"] == pytest.approx(29 / 30 - 19 / 30)
    assert math.isnan(alone["conf_low"])
    assert "one unit" in alone["flag"]
    same = calls_of({w: ["markdown"] * 30 for w in [*PEOPLE, "g"]})
    row = cell(preference_gap(same, humans=PEOPLE, annotators="fixed"), "g", "gap")
    assert row["estimate"] == 0
    assert math.isnan(row["conf_low"])
    assert NO_SPREAD in row["flag"]


def test_people_by_a_column_and_groups():
    calls = calls_of(study())
    typed = calls.assign(rater_type=np.where(calls["judge"].isin(PEOPLE), "human", "llm"))
    whole = preference_gap(calls, humans=PEOPLE)
    pd.testing.assert_frame_equal(preference_gap(typed, humans={"rater_type": "human"}), whole)
    pd.testing.assert_frame_equal(preference_gap(calls.sample(frac=1, random_state=1), humans=PEOPLE), whole)
    topics = calls.assign(topic=np.where(calls["item"].astype(int) < 15, "a", "b"))
    split = preference_gap(topics, humans=PEOPLE, by="topic")
    half = preference_gap(topics[topics["topic"] == "a"].drop(columns="topic"), humans=PEOPLE)
    first = split[split["topic"] == "a"].drop(columns="topic").reset_index(drop=True)
    pd.testing.assert_frame_equal(first, half)
    other = preference_gap(calls, humans=PEOPLE, target="prose")
    no_ties = ["Pro", "Flash", "Claude"]
    for judge in no_ties:
        assert cell(other, judge, "gap")["estimate"] == pytest.approx(-cell(whole, judge, "gap")["estimate"])


def test_invalid_answers():
    answers = study()
    answers["Pro"][:3] = ["invalid"] * 3
    calls = calls_of(answers)
    dropped, wrong, tie = (
        cell(preference_gap(calls, humans=PEOPLE, invalid=i, ties="half"), "Pro", "rate")
        for i in ("drop", "wrong", "tie")
    )
    assert dropped[["estimate", "n"]].tolist() == pytest.approx([26 / 27, 27])
    assert wrong[["estimate", "n"]].tolist() == pytest.approx([26 / 30, 30])
    assert tie[["estimate", "n"]].tolist() == pytest.approx([27.5 / 30, 30])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"humans": ["Ann", "Bobby"]}, DesignError, r"humans= names 'Bobby'.* Did you mean 'Bob'\?"),
        ({"humans": []}, DesignError, "all calls are of judges"),
        ({"humans": ["Ann", "Bob", "g"]}, DesignError, "all calls are of people"),
        ({"humans": {"rater_type": "person"}}, DesignError, r"'rater_type' is never 'person'\. It has: human, llm"),
        ({"humans": {"kind": "person"}}, SchemaError, "humans= names 'kind', which is not a column"),
        ({"humans": {"a": "1", "b": "2"}}, DesignError, "names 2 columns"),
        ({"humans": PEOPLE, "annotators": "some"}, DesignError, "annotators='some' is not known"),
        ({"humans": PEOPLE, "confidence": "sure"}, SchemaError, "confidence= names 'sure', which is not a column"),
        ({"humans": PEOPLE, "cluster": "judge"}, DesignError, "cluster='judge' must be one column"),
        ({"humans": PEOPLE, "cluster": "topic"}, SchemaError, "cluster='topic'"),
        ({"humans": PEOPLE, "target": "html"}, DesignError, "neither a slot nor a candidate"),
    ],
)
def test_clear_refusals(options, error, message):
    calls = calls_of({w: ["markdown", "prose"] * 5 for w in ["Ann", "Bob", "g"]})
    calls["rater_type"] = np.where(calls["judge"] == "g", "llm", "human")
    with pytest.raises(error, match=message):
        preference_gap(calls, **options)


def test_a_strange_answer_is_refused():
    calls = calls_of({w: ["markdown"] * 3 for w in ["Ann", "g"]}).assign(choice="A")
    with pytest.raises(SchemaError, match="'choice' has 'A'"):
        preference_gap(calls, humans=["Ann"])


def test_a_gap_tells_invalid_calls() -> None:
    counts = pd.DataFrame({"judge": ["a", "a", "g", "g"], "outcome": ["target", "invalid"] * 2, "n": [30, 5, 40, 6]})
    result = preference_gap(counts, humans=["a"])
    told = {
        "judge": "6 invalid calls excluded",
        "people": "5 invalid calls excluded",
        "person": "5 invalid calls excluded",
    }
    assert (result["flag"] == result["role"].map(told)).all()
    assert (preference_gap(counts, humans=["a"], invalid="wrong")["flag"] == "").all()


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
    table, flat = (
        js.preference_gap(calls, humans=["ann", "bob"], **c).set_index(["role", "term"])
        for c in ({}, {"cluster": False})
    )
    assert table.loc[("people", "rate"), "method"] == "Wilson, clustered by pair (G = 40)"
    assert table.loc[("people", "rate"), "std_error"] > 1.4 * flat.loc[("people", "rate"), "std_error"]
    assert not table["flag"].str.contains("independent").any()
    assert "calls not independent" in flat.loc[("people", "rate"), "flag"]
    assert not flat.loc[("person", "rate"), "flag"].str.contains("independent").any()


def items_of_pairs(seed: int, sizes: list[int], people: list[str], icc: float = 0.3) -> pd.DataFrame:
    """Pairs of items, of which each rater prefers the target more or less often: the true gap is 0.1."""
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(len(sizes)), sizes)
    rows = []
    for who in [*people, "g"]:
        p = 0.6 if who == "g" else 0.5
        likely = rng.beta(p * (1 - icc) / icc, (1 - p) * (1 - icc) / icc, len(sizes))[item]
        choice = np.where(rng.random(item.size) < likely, "first", "second")
        cells = {"judge": who, "item": item, "first": "md", "second": [f"v{i}" for i in range(item.size)]}
        rows.append(pd.DataFrame({**cells, "choice": choice}))
    return pd.concat(rows, ignore_index=True).assign(target="md")


def test_pairs_of_an_item_are_clustered_by_it() -> None:
    """Unequal items, by sums over them: CR2 with Satterthwaite's degrees of freedom, and Wilson's effective n."""
    calls = items_of_pairs(1, [4, 12] * 16, PEOPLE)
    table = preference_gap(calls, humans=PEOPLE, annotators="fixed")
    assert table["method"].str.contains(r"clustered by item \(G = 32, worth \d+\)").all()
    hit = calls.assign(hit=calls["choice"].eq("first"), person=calls["judge"].ne("g"))
    sums = hit.groupby(["person", "item"])["hit"].agg(["sum", "size"]).astype(float)
    k, n = (sums[c].unstack("person").to_numpy() for c in ("sum", "size"))
    gap = cell(table, "g", "gap")
    share, h = k.sum(axis=0) / n.sum(axis=0), n / n.sum(axis=0)
    scaled = (k - share * n) / n.sum(axis=0) / np.sqrt(1 - h)
    assert gap["estimate"] == pytest.approx(share[0] - share[1])
    assert gap["std_error"] == pytest.approx(np.sqrt(((scaled @ [1, -1]) ** 2).sum()))
    df = (gap["conf_high"] - gap["estimate"]) / gap["std_error"]
    assert student.ppf(0.975, 31) < df < student.ppf(0.975, 20)
    for who, column in (("g", 0), (None, 1)):
        error, low, high = clustered_wilson(k[:, column], n[:, column])
        assert cell(table, who, "rate")[["std_error", "conf_low", "conf_high"]].tolist() == [error, low, high]
    named = preference_gap(calls, humans=PEOPLE, annotators="fixed", cluster="item")
    pd.testing.assert_frame_equal(named, table)
    counted = tally(calls, "bias_score", cluster="item")
    pd.testing.assert_frame_equal(preference_gap(counted, humans=PEOPLE, annotators="fixed", cluster="item"), table)
    flat = preference_gap(calls, humans=PEOPLE, annotators="fixed", cluster=False)
    assert flat["flag"].str.contains("calls not independent").all()
    assert cell(flat, "g", "gap")["method"] == f"t, clustered by pair (G = {16 * 16})"
    assert cell(flat, "g", "gap")["std_error"] < 0.9 * gap["std_error"]


def test_heavy_items_are_flagged_in_every_row() -> None:
    table = preference_gap(items_of_pairs(2, [100, 100] + [4] * 28, PEOPLE), humans=PEOPLE, annotators="fixed")
    assert table["flag"].str.contains("clusters of unequal size, worth 5").all()


@pytest.mark.slow
def test_coverage_by_items() -> None:
    """Forty items of ten pairs: by pair the gap would cover .76, rates .77."""
    hits = np.zeros(3)
    for seed in range(150):
        table = preference_gap(items_of_pairs(seed, [10] * 40, PEOPLE), humans=PEOPLE, annotators="fixed")
        rows = [cell(table, *at) for at in (("g", "gap"), ("g", "rate"), (None, "rate"))]
        hits += [r["conf_low"] <= true <= r["conf_high"] for r, true in zip(rows, (0.1, 0.6, 0.5), strict=True)]
    assert (hits / 150 >= 0.9).all()
