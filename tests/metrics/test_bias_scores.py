"""Signed bias, its change under a strategy, and the reading of length."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import norm

from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.proportions import clustered_wilson, newcombe_paired, wilson
from judgestats.metrics.bias import bias_change, bias_score, length_reading, slot_lean
from judgestats.metrics.rates import cell_mean, clustered_cell_mean, difference, folded
from judgestats.results import COLUMNS, NO_DATA, NOT_INDEPENDENT, SIGN_CHANGED
from judgestats.schema import tally

NUMBERS = ["estimate", "std_error", "conf_low", "conf_high", "n"]
FAMILY = {"g": "G", "h": "H", "k": "K", "x": "G", "y": "H"}


def calls_of(items: int = 24, seed: int = 0, judges: str = "gh", strategies: tuple[str, ...] = ("B0",)) -> pd.DataFrame:
    """Both orders of x against y; x is longer but for every sixth item, where the lengths are equal."""
    rng = np.random.default_rng(seed)
    rows = []
    for judge in judges:
        for strategy in strategies:
            for item in range(items):
                length = {"x": 9, "y": 9 if item % 6 == 0 else 5 + 7 * (item % 4 == 1)}
                kind = {"x": "markdown", "y": "markdown" if item % 8 == 0 else "plain"}
                for first, second in ("xy", "yx"):
                    rows.append(
                        {
                            "judge": judge,
                            "strategy": strategy,
                            "item": str(item),
                            "topic": f"t{item % 3}",
                            "first": first,
                            "second": second,
                            "choice": rng.choice(
                                ["first", "second", "tie", "abstain", "invalid"], p=[0.45, 0.25, 0.1, 0.1, 0.1]
                            ),
                            "target": "x",
                            "length_first": length[first],
                            "length_second": length[second],
                            "format_first": kind[first],
                            "format_second": kind[second],
                        }
                    )
    return pd.DataFrame(rows)


def pick(result: pd.DataFrame, term: str = "bias", column: str = "estimate") -> dict[object, float]:
    rows = result[result["term"] == term]
    return dict(zip(rows["judge"], rows[column], strict=True))


def by_hand(calls: pd.DataFrame, target_of) -> dict[str, tuple[float, int, int]]:
    """Judge -> (b, valid calls with a target, calls without one), a row at a time."""
    told: dict[str, list[float]] = {}
    aside: dict[str, int] = {}
    for row in calls.to_dict("records"):
        target = target_of(row)
        if target is None:
            aside[row["judge"]] = aside.get(row["judge"], 0) + 1
        elif row["choice"] != "invalid":
            chosen = {"first": row["first"], "second": row["second"]}.get(row["choice"])
            told.setdefault(row["judge"], []).append(0.0 if chosen is None else 1.0 if chosen == target else -1.0)
    return {j: (sum(v) / len(v), len(v), aside.get(j, 0)) for j, v in told.items()}


def longer(row):
    a, b = row["length_first"], row["length_second"]
    return None if a == b else row["first"] if a > b else row["second"]


def markdown(row):
    has = [row[f"format_{s}"] == "markdown" for s in ("first", "second")]
    return None if has[0] == has[1] else row["first"] if has[0] else row["second"]


def own(row):
    mine = [FAMILY[row[s]] == FAMILY[row["judge"]] for s in ("first", "second")]
    return None if mine[0] == mine[1] else row["first"] if mine[0] else row["second"]


# --- who the target is


@pytest.mark.parametrize(
    ("options", "target_of", "words"),
    [
        ({}, lambda row: row["target"], ""),
        ({"attribute": "length"}, longer, "calls of equal or unknown length"),
        ({"attribute": "format", "value": "markdown"}, markdown, "calls where both or neither has format markdown"),
        ({"family": FAMILY}, own, ""),
        ({"target": "first"}, lambda row: row["first"], ""),
        ({"target": "second"}, lambda row: row["second"], ""),
        ({"target": "y"}, lambda row: "y", ""),
    ],
    ids=["column", "length", "format", "family", "first", "second", "candidate"],
)
def test_every_kind_of_target_by_brute_force(options, target_of, words):
    calls = calls_of()
    result = bias_score(calls, **options)
    expected = by_hand(calls, target_of)
    assert result.columns.tolist() == ["judge", *COLUMNS]
    rows = result[result["term"] == "bias"].set_index("judge")
    for judge, (b, n, aside) in expected.items():
        assert rows.loc[judge, ["estimate", "n"]].tolist() == pytest.approx([b, n])
        told = f"{aside} {words}"
        assert (told in rows.loc[judge, "flag"]) == bool(words)
    shares = result.pivot(index="judge", columns="term", values="estimate")
    assert (shares["prefers_target"] + shares["prefers_other"] + shares["tie"]).tolist() == pytest.approx([1, 1])
    assert (shares["prefers_target"] - shares["prefers_other"]).tolist() == pytest.approx(shares["bias"].tolist())
    for engine in (pl.from_pandas(calls), pl.from_pandas(calls).lazy()):
        pd.testing.assert_frame_equal(bias_score(engine, **options), result, check_dtype=False)


def test_rows_without_a_target_are_counted_and_not_lost():
    calls = calls_of()
    gone = calls["item"].isin(["0", "1", "2"]) & (calls["judge"] == "g")
    partly = bias_score(calls.assign(target=calls["target"].where(~gone)))
    assert partly.loc[partly["judge"] == "g", "flag"].str.contains("6 calls without target excluded").all()
    assert not partly.loc[partly["judge"] == "h", "flag"].str.contains("without").any()
    wholly = bias_score(calls.assign(target=calls["target"].where(calls["judge"] == "h"), n_identical=2))
    lost = wholly[wholly["judge"] == "g"]
    assert lost["estimate"].isna().all()
    assert lost["flag"].str.contains("96 calls without target excluded").all()
    assert lost["flag"].str.contains(NO_DATA).all()
    assert (lost["n"] == 0).all()


def test_self_preference_needs_exactly_one_own_side():
    calls = calls_of(judges="ghk")
    result = bias_score(calls, family=FAMILY)
    assert math.isnan(pick(result)["k"]), "a judge between strangers has a model preference, not self-preference"
    assert "48 calls with both or neither of its family" in result.query("judge == 'k'")["flag"].iloc[0]
    # g is of the family of x, h of the family of y: h's score is minus its model preference for x
    model = pick(bias_score(calls, target="x"))
    assert pick(result)["g"] == pytest.approx(model["g"])
    assert pick(result)["h"] == pytest.approx(-model["h"])
    beside = calls.assign(family_first=calls["first"].map(FAMILY), family_second=calls["second"].map(FAMILY))
    judges = {j: FAMILY[j] for j in "ghk"}
    pd.testing.assert_frame_equal(bias_score(beside, family=judges), result)
    both = beside.assign(family_second=beside["family_first"])
    with pytest.raises(DesignError, match="no call has a target"):
        bias_score(both, family=judges)


def test_identical_responses_have_slots():
    calls = pd.DataFrame(
        {"judge": "g", "item": list("abcd"), "first": "x", "second": "x", "choice": ["first", "first", "second", "tie"]}
    )
    assert pick(bias_score(calls, target="first")) == {"g": 0.25}
    assert pick(bias_score(calls, target="second")) == {"g": -0.25}


def test_slot_one_is_the_lean_of_slot_lean():
    calls = calls_of()
    lean = slot_lean(calls, cluster="item").query("term == 'lean'")
    score = bias_score(calls, target="first", cluster="item").query("term == 'bias'")
    np.testing.assert_allclose(score[NUMBERS].to_numpy(), lean[NUMBERS].to_numpy())


# --- properties


@pytest.mark.parametrize("options", [{}, {"cluster": "item"}, {"average": "position"}, {"over": "topic"}], ids=str)
def test_the_sign_flips_with_the_target(options):
    calls = calls_of()
    one = bias_score(calls, **options)
    two = bias_score(calls.assign(target="y"), **options)
    signed = one["term"].isin(["bias", "mean"])
    np.testing.assert_allclose(two.loc[signed, "estimate"], -one.loc[signed, "estimate"])
    np.testing.assert_allclose(two.loc[signed, ["conf_low", "conf_high"]], -one.loc[signed, ["conf_high", "conf_low"]])
    size = one["term"].isin(["magnitude", "mean_magnitude"])
    np.testing.assert_allclose(two.loc[size, NUMBERS], one.loc[size, NUMBERS])
    assert (one.loc[size, "conf_low"] >= 0).all()


@pytest.mark.parametrize("options", [{}, {"average": "position"}, {"over": "topic", "average": "position"}], ids=str)
def test_frame_and_tally_row_order_and_names(options):
    calls = calls_of()
    slot = np.where(calls["first"] == "x", "first", "second")
    extra = [c for c, on in (("topic", "over" in options), ("target_slot", "average" in options)) if on]
    counts = tally(calls.assign(target_slot=slot), "bias_score", extra)
    assert len(counts) < len(calls)
    whole = bias_score(calls, **options)
    pd.testing.assert_frame_equal(bias_score(counts, **options), whole)
    pd.testing.assert_frame_equal(bias_score(calls.sample(frac=1, random_state=1), **options), whole)
    renamed = bias_score(calls.assign(judge="judge " + calls["judge"]), **options)
    np.testing.assert_allclose(renamed[NUMBERS], whole[NUMBERS])


def test_abstentions_are_ties_and_invalid_calls_have_two_readings():
    calls = calls_of()
    same = bias_score(calls.assign(choice=calls["choice"].replace({"abstain": "tie"})))
    pd.testing.assert_frame_equal(bias_score(calls), same)
    as_tie = bias_score(calls.assign(choice=calls["choice"].replace({"invalid": "tie"})))
    kept = as_tie["term"] != "invalid"
    pd.testing.assert_frame_equal(bias_score(calls, invalid="tie")[kept], as_tie[kept])
    assert pick(bias_score(calls, invalid="tie"), "invalid")["g"] > 0
    assert pick(as_tie, "invalid")["g"] == 0


def test_several_biases_are_kept_apart():
    calls = pd.concat([calls_of(seed=1).assign(bias="style"), calls_of(seed=2).assign(bias="length")])
    result = bias_score(calls)
    assert result.columns.tolist()[:2] == ["judge", "bias"]
    for name, seed in (("style", 1), ("length", 2)):
        alone = pick(bias_score(calls_of(seed=seed)))
        assert pick(result[result["bias"] == name]) == pytest.approx(alone)


def test_the_folded_interval_is_that_of_the_signed_score():
    row = {"estimate": -0.2, "conf_low": -0.5, "conf_high": 0.1, "std_error": 0.1}
    assert folded(row, "m") == {"estimate": 0.2, "conf_low": 0.0, "conf_high": 0.5, "std_error": 0.1, "term": "m"}
    row = {**row, "conf_high": -0.1}
    assert [folded(row, "m")[c] for c in ("conf_low", "conf_high")] == [0.1, 0.5]
    nothing = folded({**row, "conf_low": math.nan, "conf_high": math.nan}, "m")
    assert math.isnan(nothing["conf_low"])
    assert math.isnan(nothing["conf_high"])


# --- averages


def test_the_position_average_of_balanced_halves_is_the_pooled_score():
    calls = calls_of()
    valid = calls[calls["choice"] != "invalid"].groupby(["judge", "item"]).filter(lambda pair: len(pair) == 2)
    pooled, averaged = bias_score(valid), bias_score(valid, average="position")
    assert pick(averaged) == pytest.approx(pick(pooled))
    halves = {s: pick(averaged, f"target_{s}") for s in ("first", "second")}
    assert {j: (halves["first"][j] + halves["second"][j]) / 2 for j in "gh"} == pytest.approx(pick(pooled))
    # unbalanced halves count the same all the same
    lost = valid.drop(valid[(valid["first"] == "x") & valid["item"].isin(["1", "2", "3", "4"])].index)
    one, two = (pick(bias_score(lost[lost["first"] == f])) for f in "xy")
    assert pick(bias_score(lost, average="position")) == pytest.approx({j: (one[j] + two[j]) / 2 for j in "gh"})


def test_a_slot_that_never_held_the_target_has_no_average():
    calls = calls_of()
    result = bias_score(calls[calls["first"] == "x"], average="position")
    row = result[(result["term"] == "bias") & (result["judge"] == "g")].iloc[0]
    assert math.isnan(row["estimate"])
    assert row["flag"].startswith("target in one position only")


def test_mean_over_topics_is_plain():
    calls = calls_of().drop(index=range(4))
    result = bias_score(calls, over="topic")
    cells = result[(result["term"] == "bias")].groupby("judge")["estimate"].mean()
    assert pick(result, "mean") == pytest.approx(cells.to_dict())
    assert result.loc[result["term"] == "mean", "topic"].isna().all()
    weighted = pick(bias_score(calls))
    assert abs(weighted["g"] - pick(result, "mean")["g"]) > 1e-4, "topics of unequal size"
    one = bias_score(calls.assign(topic="a"), over="topic", cluster=False)
    mean, alone = (one[one["term"] == t][NUMBERS].to_numpy() for t in ("mean", "bias"))
    np.testing.assert_allclose(mean, alone)


def test_the_mean_of_cells_composes_their_intervals():
    counts = np.array([[10.0, 0, 0], [6, 2, 2]])
    row = cell_mean(counts, np.array([0.5, 0.5]))
    cells = [difference(c) for c in counts]
    assert row["estimate"] == pytest.approx(0.7)
    assert row["std_error"] == pytest.approx(math.sqrt(0.64 / 10) / 2), "the cell at 1 has none"
    below = [(c["estimate"] - c["conf_low"]) / 2 for c in cells]
    assert row["conf_low"] == pytest.approx(0.7 - math.hypot(*below))
    assert below[0] > 0.1, "and still widens the interval"
    one = cell_mean(counts[1:], np.ones(1))
    assert (one["conf_low"], one["conf_high"]) == pytest.approx(newcombe_paired(0, 6, 2, 2))


def test_coverage_of_a_mean_over_cells():
    """Five cells of 20 like those of Table 7, two of them near 1."""
    rng = np.random.default_rng(5)
    shares = np.array([[0.97, 0.02, 0.01], [0.95, 0.04, 0.01], [0.6, 0.3, 0.1], [0.5, 0.4, 0.1], [0.7, 0.1, 0.2]])
    truth = (shares[:, 0] - shares[:, 1]).mean()
    weight = np.full(5, 0.2)
    hits = 0
    for _ in range(800):
        row = cell_mean(np.array([rng.multinomial(20, s) for s in shares], dtype=float), weight)
        hits += row["conf_low"] <= truth <= row["conf_high"]
    assert 0.92 <= hits / 800 <= 0.985


def test_clusters_of_copies_are_worth_no_more_than_one():
    calls = calls_of(items=40)
    calls = calls[calls["first"] == "x"]
    thrice = pd.concat([calls.assign(replicate=r) for r in range(3)])
    one, three = (bias_score(c, cluster="item").query("term == 'bias'") for c in (calls, thrice))
    np.testing.assert_allclose(three["std_error"], one["std_error"])
    assert (bias_score(thrice, cluster=False).query("term == 'bias'")["flag"].str.contains(NOT_INDEPENDENT)).all()
    mirrored = np.zeros((10, 2, 3))
    mirrored[np.arange(10), 0, np.arange(10) % 3] = 1
    mirrored[np.arange(10), 1, np.arange(10) % 3] = 1  # the second half repeats the first
    half = mirrored[:, :1].sum(axis=0)
    spread = 10 / 9 * cell_mean(half, np.ones(1))["std_error"] ** 2
    both = clustered_cell_mean(mirrored, np.array([0.5, 0.5]))
    assert both["std_error"] ** 2 == pytest.approx(spread)
    assert both["std_error"] > cell_mean(mirrored.sum(axis=0), np.array([0.5, 0.5]))["std_error"] * 1.3
    assert both["conf_low"] >= -1


def test_bootstrap_intervals():
    calls = calls_of(items=60)
    plain = bias_score(calls).query("term == 'bias'")
    for options in ({}, {"cluster": "item"}, {"cluster": ["item", "topic"]}, {"over": "topic"}):
        term = "mean" if "over" in options else "bias"
        drawn = bias_score(calls, interval="percentile", **options)
        drawn = drawn[drawn["term"] == term]
        assert drawn["method"].str.contains("bootstrap").all()
        assert (drawn["conf_low"] < drawn["estimate"]).all()
        assert (drawn["estimate"] < drawn["conf_high"]).all()
    # of independent calls it is the analytic one, up to the draws
    drawn = bias_score(calls, interval="percentile", n_resamples=20_000).query("term == 'bias'")
    np.testing.assert_allclose(drawn["std_error"], plain["std_error"], rtol=0.03)
    np.testing.assert_allclose(drawn[["conf_low", "conf_high"]], plain[["conf_low", "conf_high"]], atol=0.03)
    all_alike = calls.assign(choice=np.where(calls["first"] == "x", "first", "second"))
    same = bias_score(all_alike, interval="percentile").query("term == 'bias'")
    assert (same["estimate"] == 1).all()
    assert (same["conf_low"] < 1).all(), "no interval of zero width"


# --- published: debiasing paper


@pytest.fixture(scope="module")
def table7(data_folder):
    return pd.read_csv(data_folder / "debiasing" / "table7.csv")


def as_counts(table: pd.DataFrame, n: int, value: str) -> pd.DataFrame:
    """Counts with a printed b: no ties, or one where b n is odd in n."""
    rows = []
    for row in table.to_dict("records"):
        net = round(float(row[value]) * n)
        assert net / n == pytest.approx(float(row[value]))
        tie = (n - net) % 2
        for outcome, k in (("target", (n - tie + net) // 2), ("other", (n - tie - net) // 2), ("tie", tie)):
            rows.append({**{c: row[c] for c in table.columns if c != value}, "outcome": outcome, "n": k})
    return pd.DataFrame(rows)


def test_table_7_and_the_headline_that_does_not_follow(table7):
    counts = as_counts(table7, 20, "bias")
    result = bias_score(counts, over="topic")
    cells = result[result["term"] == "bias"].set_index(["judge", "topic"])["estimate"]
    printed = table7.set_index(["judge", "topic"])["bias"].astype(float)
    assert len(cells) == 25
    np.testing.assert_allclose(cells[printed.index], printed)
    means = pick(result, "mean")
    headline = {"Gemini 2.5 Pro": 0.76, "Gemini 2.5 Flash": 0.72, "Claude Sonnet 4": 0.68, "Llama 3.3-70B": 0.40}
    assert {j: round(means[j], 10) for j in headline} == headline
    # Section 4.1 prints 0.31 for GPT-4o; its topics, and the authors' own table, give 0.10
    assert means["GPT-4o"] == pytest.approx(0.10)
    # equal cells: the plain mean is the pooled score
    assert pick(bias_score(counts.drop(columns="topic"))) == pytest.approx(means)


def test_table_8_and_its_readings(data_folder):
    table = pd.read_csv(data_folder / "debiasing" / "table8.csv")
    assert len(table) == 30
    bias = table[table["measure"] == "expansion_bias"].drop(columns="measure")
    expansion = as_counts(bias, 50, "value").assign(bias="expansion")
    accuracy = table[table["measure"] == "truncation_accuracy"]
    truncation = pd.DataFrame(
        [
            {"judge": j, "strategy": s, "bias": "truncation", "outcome": o, "n": n}
            for j, s, v in accuracy[["judge", "strategy", "value"]].itertuples(index=False)
            for o, n in (("target", round(25 * v)), ("other", 25 - round(25 * v)))
        ]
    )
    result = length_reading(pd.concat([expansion, truncation]), by="strategy")
    for measure, values in table.groupby("measure"):
        mine = result[result["term"] == measure].set_index(["judge", "strategy"])["estimate"]
        np.testing.assert_allclose(
            values["value"].astype(float), mine[list(zip(values["judge"], values["strategy"], strict=True))]
        )
    b0 = result[result["strategy"] == "B0"].drop_duplicates("judge").set_index("judge")
    assert b0["point_reading"].to_dict() == {
        "Gemini 2.5 Pro": "verbose",
        "Llama 3.3-70B": "verbose",
        "Gemini 2.5 Flash": "verbose",
        "Claude Sonnet 4": "quality-sensitive",
        "GPT-4o": "quality-sensitive",
    }
    # at 50 and 25 pairs, and with no tie, the joint interval bears out four of the five
    assert b0["reading"].to_dict() == {
        "Gemini 2.5 Pro": "verbose",
        "Llama 3.3-70B": "verbose",
        "Gemini 2.5 Flash": "undecided",
        "Claude Sonnet 4": "quality-sensitive",
        "GPT-4o": "undecided",
    }


# --- length


def counts_of_lengths(expansion: tuple[int, int, int], truncation: tuple[int, int, int], **columns) -> pd.DataFrame:
    return pd.DataFrame(
        [
            {"judge": "g", "bias": kind, "outcome": o, "n": n, **columns}
            for kind, ns in (("expansion", expansion), ("truncation", truncation))
            for o, n in zip(("target", "other", "tie"), ns, strict=True)
        ]
    )


@pytest.mark.parametrize(
    ("expansion", "truncation", "reading"),
    [
        ((400, 200, 0), (95, 5, 0), "verbose"),
        ((200, 220, 180), (95, 5, 0), "quality-sensitive"),
        ((100, 300, 0), (95, 5, 0), "quality-sensitive"),
        ((200, 200, 200), (50, 50, 0), "indifferent"),
        ((400, 200, 0), (50, 50, 0), "undecided"),
        ((6, 4, 0), (9, 1, 0), "undecided"),
    ],
)
def test_readings_and_their_joint_level(expansion, truncation, reading):
    result = length_reading(counts_of_lengths(expansion, truncation))
    assert set(result["reading"]) == {reading}
    bias, accuracy = result.to_dict("records")
    assert (bias["conf_low"], bias["conf_high"]) == pytest.approx(newcombe_paired(0, *expansion, 0.975))
    low, high = wilson(truncation[0], sum(truncation), 0.975)
    assert (accuracy["conf_low"], accuracy["conf_high"]) == pytest.approx((float(low), float(high)))


def test_length_reading_of_calls_is_that_of_counts():
    calls = pd.concat([calls_of(seed=1).assign(bias="expansion"), calls_of(seed=2).assign(bias="truncation")])
    strange = calls_of(seed=3).assign(bias="style")
    result = length_reading(pd.concat([calls, strange]))
    pd.testing.assert_frame_equal(result, length_reading(tally(calls, "bias_score")))
    valid = calls[(calls["bias"] == "truncation") & (calls["choice"] != "invalid") & (calls["judge"] == "g")]
    right = np.where(valid["first"] == "x", "first", "second") == valid["choice"]
    assert pick(result, "truncation_accuracy")["g"] == pytest.approx(right.mean()), "a tie is an error"


# --- change


def outcome_of(choice: str, first: str) -> float:
    return (
        math.nan
        if choice == "invalid"
        else 0.0
        if choice in ("tie", "abstain")
        else 1.0
        if (choice == "first") == (first == "x")
        else -1.0
    )


def test_changes_by_brute_force():
    calls = calls_of(strategies=("B0", "S1", "S5"), items=30)
    result = bias_change(calls, cluster=False)
    score = calls.assign(y=[outcome_of(c, f) for c, f in zip(calls["choice"], calls["first"], strict=True)])
    wide = score.pivot(index=["judge", "item", "first"], columns="strategy", values="y")
    magnitudes = {}
    for judge in "gh":
        for strategy in ("S1", "S5"):
            both = wide.loc[judge, ["B0", strategy]].dropna()
            rows = result[(result["judge"] == judge) & (result["strategy"] == strategy)].set_index("term")
            base, new = both["B0"].mean(), both[strategy].mean()
            assert rows["estimate"].to_dict() == pytest.approx(
                {"baseline_bias": base, "bias": new, "change": new - base, "magnitude_change": abs(new) - abs(base)}
            )
            assert (rows["n"] == len(both)).all()
            gap = both[strategy] - both["B0"]
            assert rows.loc["change", "std_error"] == pytest.approx(gap.std(ddof=0) / math.sqrt(len(both)))
            assert rows.loc["change", "method"] == "MOVER, paired"
            left = len(wide.loc[judge]) - len(both)
            assert f"{left} pairs without an answer under both" in rows.loc["change", "flag"]
            magnitudes[judge, strategy] = abs(new) - abs(base)
    means = result[result["judge"].isna() & (result["term"] == "mean_change")].set_index("strategy")["estimate"]
    for strategy in ("S1", "S5"):
        assert means[strategy] == pytest.approx((magnitudes["g", strategy] + magnitudes["h", strategy]) / 2)
    one = bias_change(calls, judges=["h"], cluster=False)
    mean = one[one["term"] == "mean_change"].set_index("strategy")
    alone = one[(one["term"] == "magnitude_change") & (one["judge"] == "h")].set_index("strategy")
    np.testing.assert_allclose(mean[NUMBERS], alone[NUMBERS])


def test_changes_of_a_tally_of_pairs_and_of_any_row_order():
    calls = calls_of(strategies=("B0", "S5"))
    whole = bias_change(calls)
    pd.testing.assert_frame_equal(bias_change(tally(calls, "bias_change", baseline="B0")), whole)
    pd.testing.assert_frame_equal(bias_change(calls.sample(frac=1, random_state=2)), whole)
    pd.testing.assert_frame_equal(bias_change(pl.from_pandas(calls)), whole, check_dtype=False)
    flipped = bias_change(calls.assign(target="y"))
    signed = whole["term"].isin(["change", "bias", "baseline_bias", "mean_signed_change"])
    np.testing.assert_allclose(flipped.loc[signed, "estimate"], -whole.loc[signed, "estimate"])
    np.testing.assert_allclose(flipped.loc[~signed, NUMBERS], whole.loc[~signed, NUMBERS])


def test_pairing_tells_more_than_two_samples():
    rng = np.random.default_rng(99)
    calls = calls_of(strategies=("B0", "S5"), items=60, judges="g")
    base = calls[calls["strategy"] == "B0"].reset_index(drop=True)
    changed = base["choice"].where(rng.random(len(base)) < 0.9, "tie")
    calls = pd.concat([base, base.assign(strategy="S5", choice=changed)])
    paired = bias_change(calls).set_index("term")
    apart = bias_change(tally(calls, "bias_score", "strategy", cluster=False), cluster=False).set_index("term")
    assert apart.loc["change", "method"] == "MOVER, independent"
    valid = calls[calls["choice"] != "invalid"]
    scores = pick(bias_score(valid, by="strategy").query("strategy == 'S5'"))
    assert apart.loc["bias", "estimate"] == pytest.approx(scores["g"])
    width = [t.loc["change", "conf_high"] - t.loc["change", "conf_low"] for t in (paired, apart)]
    assert width[0] < 0.6 * width[1]
    drawn = bias_change(calls, interval="percentile", cluster="item", n_resamples=4000).set_index("term")
    assert drawn.loc["change", "std_error"] == pytest.approx(paired.loc["change", "std_error"], rel=0.25)
    assert "bootstrap of item" in drawn.loc["mean_change", "method"]
    free = bias_change(calls, interval="percentile", n_resamples=20_000).set_index("term")
    for term in ("change", "mean_change"):
        assert free.loc[term, "std_error"] == pytest.approx(paired.loc["change", "std_error"], rel=0.03)
        np.testing.assert_allclose(
            free.loc[term, ["conf_low", "conf_high"]].astype(float),
            paired.loc["change", ["conf_low", "conf_high"]].astype(float),
            atol=0.05,
        )


def test_the_same_answers_under_both_have_an_interval_all_the_same():
    calls = calls_of(items=40, judges="g")
    result = bias_change(pd.concat([calls, calls.assign(strategy="S5")])).set_index("term")
    row = result.loc["change"]
    assert row["estimate"] == 0
    assert -0.2 < row["conf_low"] < 0 < row["conf_high"] < 0.2
    opposed = calls.assign(strategy="S5", choice=calls["choice"].replace({"first": "second", "second": "first"}))
    turned = bias_change(pd.concat([calls, opposed])).set_index("term")
    assert turned.loc["magnitude_change", "estimate"] == pytest.approx(0)
    assert SIGN_CHANGED in turned.loc["magnitude_change", "flag"]
    assert "sign of the bias uncertain" in turned.loc["magnitude_change", "flag"]
    assert turned.loc["change", "conf_low"] <= turned.loc["change", "estimate"]


def test_coverage_of_a_change():
    """A paired change from 0.6 to 0.3 over 60 pairs."""
    rng = np.random.default_rng(3)
    joint = np.array([[0.5, 0.1, 0.15], [0.05, 0.06, 0.02], [0.02, 0.02, 0.08]])
    truth = (joint.sum(axis=0) - joint.sum(axis=1)) @ [1, -1, 0]
    names = ["target", "other", "tie"]
    draws = [rng.multinomial(60, joint.ravel()).reshape(3, 3) for _ in range(300)]
    table = pd.DataFrame(
        [
            {"judge": "g", "r": r, "strategy": "S5", "baseline": names[i], "outcome": names[j], "n": d[i, j]}
            for r, d in enumerate(draws)
            for i in range(3)
            for j in range(3)
        ]
    )
    result = bias_change(table, by="r")
    for term in ("change", "magnitude_change"):
        rows = result[result["term"] == term]
        assert len(rows) == 300
        covered = ((rows["conf_low"] <= truth) & (truth <= rows["conf_high"])).mean()
        assert 0.92 <= covered <= 0.99, term


def test_a_map_of_biases_by_strategies():
    calls = pd.concat(
        [calls_of(seed=s, strategies=("B0", "S1", "S5")).assign(bias=b) for s, b in enumerate(["length", "style"])]
    )
    result = bias_change(calls, cluster=False)
    cells = result[result["term"] == "mean_change"]
    assert cells[["bias", "strategy"]].to_numpy().tolist() == [
        ["length", "S1"],
        ["length", "S5"],
        ["style", "S1"],
        ["style", "S5"],
    ]
    assert cells["flag"].str.contains(NOT_INDEPENDENT).all()
    assert (
        not bias_change(calls, cluster="item", interval="percentile")
        .query("term == 'mean_change'")["flag"]
        .str.contains(NOT_INDEPENDENT)
        .any()
    )


# --- what is refused


@pytest.mark.parametrize(
    ("change", "options", "error", "message"),
    [
        ({}, {"target": "first", "attribute": "length"}, DesignError, "target= and attribute= both say"),
        ({}, {"value": "markdown"}, DesignError, "attribute= is not given"),
        ({}, {"attribute": "lenght"}, SchemaError, r"Did you mean 'length'\?"),
        ({}, {"attribute": "format"}, DesignError, "is not a number"),
        ({}, {"attribute": "format", "value": "html"}, DesignError, "value='html' does not occur"),
        ({}, {"target": "z"}, DesignError, "neither a slot nor a candidate. Allowed: first, second, or one of x, y"),
        ({}, {"family": {"g": "G"}}, DesignError, "does not name the judge 'h'"),
        ({}, {"invalid": "wrong"}, DesignError, "no answer is right"),
        ({}, {"average": "slot"}, DesignError, "average='slot' is not known"),
        ({}, {"by": "topik"}, SchemaError, r"Did you mean 'topic'\?"),
        ({}, {"over": "topik"}, SchemaError, r"Did you mean 'topic'\?"),
        ({"target": "z"}, {}, SchemaError, "neither candidate in 96 rows. The first: item '0' shows 'x' and 'y'"),
        ({"target": None}, {}, DesignError, r"no call has a target \(96 calls without target\)"),
        ({"order_known": False}, {"target": "first"}, DesignError, "is not recorded"),
        ({"order_known": False}, {"average": "position"}, DesignError, "is not recorded"),
        ({"choice": "A"}, {}, SchemaError, "'choice' has 'A'"),
    ],
)
def test_clear_refusals(change, options, error, message):
    with pytest.raises(error, match=message):
        bias_score(calls_of().assign(**change), **options)


def test_refusals_of_tables_and_comparisons():
    calls = calls_of(strategies=("B0", "S5"))
    counts = pd.DataFrame({"judge": "g", "outcome": ["target", "other"], "n": [3, 4]})
    with pytest.raises(DesignError, match="There is no column 'target'"):
        bias_score(calls.drop(columns="target"))
    with pytest.raises(DesignError, match="bias_score needs item, first, second, choice"):
        bias_score(pd.DataFrame({"judge": ["g"], "verdict": ["x"]}))
    with pytest.raises(DesignError, match="this is a tally"):
        bias_score(counts, attribute="length")
    with pytest.raises(DesignError, match="needs the slot in which the target stood"):
        bias_score(counts, average="position")
    with pytest.raises(SchemaError, match="in a tally, 'outcome'"):
        bias_score(counts.assign(outcome="won"))
    with pytest.raises(DesignError, match="baseline='B1' is not in 'strategy'"):
        bias_change(calls, baseline="B1")
    with pytest.raises(DesignError, match="baseline='B1' is not in 'strategy'"):
        bias_change(counts.assign(strategy="B0"), baseline="B1")
    with pytest.raises(DesignError, match="no column 'strategy'"):
        bias_change(counts)
    with pytest.raises(DesignError, match="judges= names 'z'"):
        bias_change(calls, judges=["z"])
    with pytest.raises(DesignError, match="two clusters needs interval='percentile'"):
        bias_change(calls, cluster=["item", "first"])
    with pytest.raises(DesignError, match=r"expansion='expansion' is not in 'bias'\. It has: length"):
        length_reading(calls.assign(bias="length"))
    with pytest.raises(DesignError, match="no column 'bias'"):
        length_reading(calls)
    with pytest.raises(DesignError, match="margin=2 is not between 0 and 1"):
        length_reading(calls, margin=2)
    with pytest.raises(DesignError, match="out of place"):
        length_reading(calls, chance=0.9)


def test_shares_match_their_kernels():
    counts = pd.DataFrame({"judge": "g", "outcome": ["target", "other", "tie", "invalid"], "n": [34, 10, 6, 2]})
    result = bias_score(counts).set_index("term")
    assert result.loc["bias", ["conf_low", "conf_high"]].tolist() == pytest.approx(newcombe_paired(0, 34, 10, 6))
    low, high = wilson(34, 50)
    assert result.loc["prefers_target", ["conf_low", "conf_high"]].tolist() == pytest.approx([float(low), float(high)])
    assert result.loc["invalid", ["estimate", "n"]].tolist() == pytest.approx([2 / 52, 52])
    clustered = bias_score(calls_of(), cluster="item").query("term == 'prefers_target' and judge == 'g'").iloc[0]
    valid = calls_of().query("judge == 'g' and choice != 'invalid'")
    hit = [outcome_of(c, f) == 1 for c, f in zip(valid["choice"], valid["first"], strict=True)]
    units = valid.assign(hit=hit).groupby("item")["hit"]
    se, low, high = clustered_wilson(units.sum().to_numpy(float), units.size().to_numpy(float))
    assert clustered[["std_error", "conf_low", "conf_high"]].tolist() == pytest.approx([se, low, high])
    assert norm.ppf(0.975) < (high - low) / se / 2 * 1.2


def test_changes_of_copies_are_worth_those_of_one():
    calls = calls_of(strategies=("B0", "S5"), items=60)
    calls = calls[calls["choice"] != "invalid"]
    copies = pd.concat([calls.assign(replicate=r) for r in range(3)])
    one, three = (bias_change(c, cluster="item").set_index(["judge", "term"]) for c in (calls, copies))
    np.testing.assert_allclose(three["std_error"], one["std_error"])
    width = {n: (t["conf_high"] - t["conf_low"]).droplevel(0)["change"] for n, t in (("one", one), ("three", three))}
    np.testing.assert_allclose(width["three"], width["one"], rtol=0.06)
    plain = bias_change(copies, cluster=False)
    assert plain["flag"].str.contains(NOT_INDEPENDENT).all()
    narrow = plain.set_index(["judge", "term"])
    assert (narrow["std_error"] < 0.75 * one["std_error"]).all()


def test_a_mean_of_judges_of_the_same_items_is_clustered_by_them():
    calls = calls_of(strategies=("B0", "S5"), items=60)
    twin = pd.concat([calls[calls["judge"] == "g"], calls[calls["judge"] == "g"].assign(judge="h")])
    means = bias_change(twin).query("term == 'mean_signed_change'").iloc[0]
    alone = bias_change(twin).query("term == 'change' and judge == 'g'").iloc[0]
    assert "clustered by item" in means["method"]
    assert means["std_error"] == pytest.approx(alone["std_error"]), "a second judge that answers alike adds nothing"
    apart = bias_change(twin, cluster=False).query("term == 'mean_signed_change'").iloc[0]
    assert NOT_INDEPENDENT in apart["flag"]
    assert apart["std_error"] < 0.8 * alone["std_error"]
