"""compare_datasheets: what is paired, over which denominator, and what the rest is given."""

import io
import math
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from instrument import instrument_calls
from judgestats import published
from judgestats.errors import DesignError
from judgestats.kernels.proportions import newcombe, newcombe_paired
from judgestats.metrics import datasheets
from judgestats.metrics import psychometrics as js
from metrics.tables import value
from refusals import refused

#: Calls as independent, but where a test is about what they share.
compare_datasheets = partial(datasheets.compare_datasheets, cluster=False)

datasheet = partial(datasheets.datasheet, cluster=False)


@pytest.fixture(scope="module")
def sides():
    """The same stimuli judged by two judges, with some invalid calls."""
    rng = np.random.default_rng(4)
    made = []
    for judge, seed in (("g", 0), ("h", 9)):
        calls = instrument_calls(judge=judge, seed=seed)
        made.append(calls.assign(choice=calls["choice"].where(rng.random(len(calls)) > 0.05, "invalid")))
    return made


def plain(judge, choices, orders=1, **columns):
    """Calls without a stimulus, both orders of an item side by side if there are two."""
    size = len(choices)
    item = [f"i{k // orders}" for k in range(size)]
    swapped = np.arange(size) % orders == 1
    first, second = np.where(swapped, "y", "x"), np.where(swapped, "x", "y")
    table = {"judge": judge, "item": item, "first": first, "second": second, "choice": choices}
    return pd.DataFrame({**table, **columns})


def answers(seed, size, p=(0.4, 0.2, 0.3, 0.1)):
    return np.random.default_rng(seed).choice(["first", "second", "tie", "invalid"], size, p=p)


def row(table, section, term, detail=None):
    here = table[(table["section"] == section) & (table["term"] == term)]
    (index,) = here.index if detail is None else here.index[here["detail"] == detail]
    return here.loc[index]


# ---------------------------------------------------------------- counts and repeats


def test_paired_counts_weigh_by_n():
    n = [99, 1]
    one, two = plain("g", ["first", "first"], n_identical=n), plain("h", ["second", "first"], n_identical=n)
    got = row(compare_datasheets(one, two), "slots", "first")
    assert (got["first"], got["second"]) == (1, 0.01)
    assert got["estimate"] == pytest.approx(-0.99)
    assert (got["method"], got["n"]) == ("Newcombe, paired", 100)
    assert (got["conf_low"], got["conf_high"]) == pytest.approx(newcombe_paired(1, 0, 99, 0))


def test_paired_pairs_weigh_by_n():
    n = [99, 99, 1, 1]
    one = plain("g", ["first", "second", "first", "first"], 2, n_identical=n)
    two = plain("h", ["first", "first", "first", "second"], 2, n_identical=n)
    got = row(compare_datasheets(one, two), "swap", "consistency")
    assert got["estimate"] == pytest.approx(got["second"] - got["first"])
    assert got["estimate"] == pytest.approx(-0.98)
    assert got["n"] == 100


def test_different_counts_on_the_two_sides_are_not_paired():
    one, two = plain("g", ["first", "tie"], n_identical=[99, 1]), plain("h", ["first", "tie"], n_identical=[50, 50])
    got = row(compare_datasheets(one, two), "slots", "first")
    assert got["estimate"] == pytest.approx(0.5 - 0.99)
    assert got["method"] == "Newcombe, independent"
    assert "not paired: different counts" in got["flag"]


def test_repeated_stimuli_are_not_joined_many_to_many():
    one, two = (
        pd.concat([plain(judge, answers(s + 10 * k, 30), model_version=k) for k in range(4)])
        for s, judge in enumerate("gh")
    )
    got = row(compare_datasheets(one, two), "slots", "first")
    assert got["n"] == 120
    assert got["method"] == "Newcombe, independent"
    assert "not paired: repeated stimuli" in got["flag"]
    assert got["estimate"] == pytest.approx(got["second"] - got["first"])


def test_several_temperatures_without_a_stimulus_are_repeats():
    one, two = (
        pd.concat([plain(judge, answers(s + 10 * k, 40), temperature=float(k)) for k in range(3)])
        for s, judge in enumerate("gh")
    )
    got = compare_datasheets(one, two)
    slots = got[got["section"] == "slots"]
    assert slots["n"].max() == 120
    assert (slots["method"] == "Newcombe, independent").all()
    paired_terms = slots[slots["term"].isin(["first", "second", "tie", "invalid"])]
    assert paired_terms["flag"].str.contains("not paired: repeated stimuli").all()


def test_repeats_of_one_judge_leave_another_paired():
    one, two = (pd.concat([plain(j, answers(s + k, 40)) for k, j in enumerate("gh")]) for s in (0, 10))
    got = compare_datasheets(pd.concat([one, plain("h", answers(7, 40))]), two)
    method = got[(got["section"] == "slots") & (got["term"] == "first")].set_index("judge")["method"]
    assert method.to_dict() == {"g": "Newcombe, paired", "h": "Newcombe, independent"}


# ---------------------------------------------------------------- denominators


def test_every_paired_row_over_all_stimuli_is_the_difference_of_its_two_shares(sides):
    got = compare_datasheets(*sides)
    paired = got[got["method"] == "Newcombe, paired"]
    whole = paired[~paired["flag"].str.contains("shared")]
    np.testing.assert_allclose(whole["estimate"], whole["second"] - whole["first"], atol=1e-12)
    part = paired[paired["flag"].str.contains("shared")]
    assert len(part) > 10
    assert (part["estimate"] - (part["second"] - part["first"])).abs().max() < 0.1


@pytest.mark.parametrize("orders", [1, 2])
def test_slot_terms_are_shares_of_all_calls(orders):
    one, two = (plain(j, answers(s, 80), orders) for s, j in enumerate("gh"))
    got = compare_datasheets(one, two)
    for term in ("first", "second", "tie", "invalid"):
        r = row(got, "slots", term)
        assert (r["method"], r["n"]) == ("Newcombe, paired", 80)
        assert r["estimate"] == pytest.approx((two["choice"] == term).mean() - (one["choice"] == term).mean())
        assert "shared" not in r["flag"]


def test_answers_without_an_order_are_paired_too():
    one, two = (plain(j, answers(s, 80), order_known=False) for s, j in enumerate("gh"))
    r = row(compare_datasheets(one, two), "answers", "invalid")
    assert (r["method"], r["n"]) == ("Newcombe, paired", 80)
    assert r["estimate"] == pytest.approx(r["second"] - r["first"])


@pytest.mark.parametrize("engine", [lambda t: t, pl.from_pandas], ids=["pandas", "polars"])
def test_gold_terms_have_the_denominators_of_gold_agreement(engine):
    gold = np.random.default_rng(3).choice(["x", "y", "tie"], 90).astype(object)
    gold[:10] = None
    one, two = (plain(j, answers(s, 90), gold=gold) for s, j in enumerate("gh"))
    got = compare_datasheets(engine(one), engine(two))
    for term in ("gold_wrong", "gold_tie", "invalid"):
        r = row(got, "gold", term)
        assert (r["method"], r["n"]) == ("Newcombe, paired", 80)
        assert r["estimate"] == pytest.approx(r["second"] - r["first"], abs=1e-12)
        assert r["flag"] == "10 calls without gold excluded"
    valid = (one["choice"] != "invalid")[10:] & (two["choice"] != "invalid")[10:]
    either = (one["choice"] != "invalid")[10:] | (two["choice"] != "invalid")[10:]
    r = row(got, "gold", "accuracy")
    assert r["n"] == valid.sum()
    assert f"{valid.sum()} of {either.sum()} stimuli shared" in r["flag"]


@pytest.mark.parametrize("term", ["raw_false_preference", "tie_rate"])
def test_rates_over_the_calls_of_pairs_are_paired_per_call(sides, term):
    got = row(compare_datasheets(*sides), "Δ0", term)
    wide = [s[s["stimulus"] == "same_subset"].set_index(["item", "first"])["choice"].unstack() for s in sides]
    kept = (wide[0] != "invalid").all(axis=1) & (wide[1] != "invalid").all(axis=1)
    hit = [((w[kept] == "tie") == (term == "tie_rate")).to_numpy() for w in wide]
    table = [(a & b).sum() for a in (hit[1], ~hit[1]) for b in (hit[0], ~hit[0])]
    assert got["n"] == 2 * kept.sum()
    assert got["method"] == "Newcombe, paired"
    assert "calls not independent" in got["flag"]
    assert (got["conf_low"], got["conf_high"]) == pytest.approx(newcombe_paired(*map(float, table)))
    assert got["estimate"] == pytest.approx(hit[1].mean() - hit[0].mean())


def test_the_flag_says_how_many_stimuli_are_shared():
    one, two = plain("g", ["first"] * 60), plain("h", ["tie"] * 40 + ["first"] * 30)[20:]
    got = row(compare_datasheets(one, two), "slots", "first")
    assert got["n"] == 40
    assert "40 of 70 stimuli shared" in got["flag"]


# ---------------------------------------------------------------- independent samples


def repeats(judge, seed):
    rng = np.random.default_rng(seed)
    lean = rng.choice(["first", "second"], 20)
    parts = [np.where(rng.random(20) < 0.8, lean, "tie") for _ in range(4)]
    return pd.concat([plain(judge, p, replicate=k) for k, p in enumerate(parts)], ignore_index=True)


def mover(r1, r2):
    p1, l1, u1, p2, l2, u2 = (float(r[c]) for r in (r1, r2) for c in ("estimate", "conf_low", "conf_high"))
    d = p2 - p1
    return d - math.sqrt((p2 - l2) ** 2 + (u1 - p1) ** 2), d + math.sqrt((u2 - p2) ** 2 + (p1 - l1) ** 2)


def test_clustered_intervals_are_combined_by_mover():
    one, two = repeats("g", 1), repeats("h", 2)
    got = row(datasheets.compare_datasheets(one, two), "repeats", "repeat_consistency")
    own = [row(datasheets.datasheet(t, n_resamples=50), "repeats", "repeat_consistency") for t in (one, two)]
    assert got["method"] == "MOVER, from both intervals"
    assert (got["conf_low"], got["conf_high"]) == pytest.approx(mover(*own))
    assert got["std_error"] == pytest.approx(math.hypot(own[0]["std_error"], own[1]["std_error"]))
    k = [r["estimate"] * r["n"] for r in own]
    naive = newcombe(k[1], own[1]["n"], k[0], own[0]["n"])
    assert got["conf_high"] - got["conf_low"] > naive[1] - naive[0]


def test_one_clustered_sheet_and_one_plain():
    calls, other = instrument_calls(), instrument_calls(judge="h", seed=9)
    sheets = datasheet(calls, cluster="task", n_resamples=50), datasheet(other, n_resamples=50)
    got = row(compare_datasheets(*sheets), "dark current", "dark_current", "all")
    own = [row(s, "dark current", "dark_current", "all") for s in sheets]
    assert got["method"] == "MOVER, from both intervals"
    assert (got["conf_low"], got["conf_high"]) == pytest.approx(mover(*own))
    assert "calls not independent" in got["flag"]
    again = row(compare_datasheets(*sheets[::-1]), "dark current", "dark_current", "all")
    assert (again["conf_low"], again["conf_high"]) == pytest.approx((-got["conf_high"], -got["conf_low"]))


def test_simultaneous_intervals_are_not_carried_into_a_difference():
    sheets = [datasheet(instrument_calls(judge=j, seed=s), n_resamples=50) for j, s in (("g", 0), ("h", 9))]
    got = row(compare_datasheets(*sheets), "Δ0", "one_sided_commit")
    own = [row(s, "Δ0", "one_sided_commit") for s in sheets]
    assert own[0]["method"].startswith("Goodman")
    k = [r["estimate"] * r["n"] for r in own]
    assert got["method"] == "Newcombe, independent"
    assert (got["conf_low"], got["conf_high"]) == pytest.approx(newcombe(k[1], 60, k[0], 60))


def test_flags_of_both_sides_are_carried_over():
    one = plain("g", answers(1, 40, (0.5, 0.5, 0, 0)), ties_allowed=False)
    two = plain("h", answers(2, 60), 2)
    sheets = [datasheet(t, n_resamples=50) for t in (one, two)]
    for got in (compare_datasheets(*sheets), compare_datasheets(one, two)):
        told = row(got, "slots", "tie")["flag"].split("; ")
        assert {"forced choice", "calls not independent"} <= set(told)
    few = compare_datasheets(datasheet(repeats("g", 1)[:48:6], n_resamples=50), sheets[1])
    assert row(few, "slots", "first")["flag"] == "calls not independent; n < 30"


def test_a_rate_without_data_on_one_side_is_no_number():
    one, two = plain("g", ["invalid"] * 40, gold="x"), plain("h", answers(1, 40), gold="x")
    got = row(compare_datasheets(one, two), "gold", "accuracy")
    assert math.isnan(got["estimate"])
    assert got["flag"] == "first: 40 invalid calls excluded; second: 6 invalid calls excluded; no data"


# ---------------------------------------------------------------- judges


def several(judges, seed):
    return pd.concat([plain(j, answers(seed + k, 40)) for k, j in enumerate(judges)], ignore_index=True)


def test_a_judge_on_one_side_only_keeps_its_rows():
    got = compare_datasheets(several("abc", 0), several("bcd", 5))
    alone = got[got["flag"].str.contains("judge on one side only")]
    assert set(alone["judge"]) == {"a", "d"}
    assert alone["estimate"].isna().all()
    assert alone.loc[alone["judge"] == "a", "first"].notna().any()
    assert alone.loc[alone["judge"] == "a", "second"].isna().all()
    assert alone.loc[alone["judge"] == "d", "first"].isna().all()
    assert got.loc[~got.index.isin(alone.index), "judge"].isin(["b", "c"]).all()


# ---------------------------------------------------------------- missing values in keys


def test_missing_values_in_key_columns_are_values(sides):
    one, two = (
        s.assign(
            vacuum_kind=s["vacuum_kind"].where(s["vacuum_kind"] != "empty", None),
            topic=np.where(s["task"] < "t4", "t", None),
        )
        for s in sides
    )
    got, want = compare_datasheets(one, two), compare_datasheets(*sides)
    kinds = [row(got, "dark current", "dark_current", d) for d in ("all", "", "whitespace", "identical")]
    assert {r["method"] for r in kinds} == {"Newcombe, paired"}
    assert kinds[0]["n"] == sum(r["n"] for r in kinds[1:])
    assert len(got) == len(want)
    np.testing.assert_allclose(got["n"].sort_values(), want["n"].sort_values())


def test_a_key_that_is_empty_on_one_side_does_not_crash():
    one, two = plain("g", answers(1, 40), topic=np.nan), plain("h", answers(2, 40), topic="x")
    got = row(compare_datasheets(one, two), "slots", "first")
    assert (got["method"], got["n"]) == ("Newcombe, independent", 40)


def test_judges_without_a_name_are_compared():
    one, two = (pd.concat([plain(None, answers(s, 40)), plain("g", answers(s + 1, 40))]) for s in (0, 5))
    got = compare_datasheets(one, two)
    nameless = got[got["judge"].isna()]
    assert (nameless.loc[nameless["term"] == "first", "method"] == "Newcombe, paired").all()
    assert set(nameless["term"]) == set(got.loc[got["judge"] == "g", "term"])


def test_a_sheet_from_a_file_compares_like_the_sheet():
    sheets = [datasheet(instrument_calls(judge=j, seed=s), n_resamples=50) for j, s in (("g", 0), ("h", 9))]
    read = [pd.read_csv(io.StringIO(s.to_csv(index=False))) for s in sheets]
    pd.testing.assert_frame_equal(compare_datasheets(*read), compare_datasheets(*sheets), check_dtype=False)


def test_a_condition_that_is_nowhere_named_is_the_whole():
    one, two = (instrument_calls(judge=j, seed=s).assign(vacuum_kind=np.nan) for j, s in (("g", 0), ("h", 9)))
    got = compare_datasheets(one, two)
    vacuum = got[got["section"] == "dark current"]
    assert set(vacuum["detail"]) == {"all", ""}
    assert (vacuum["method"] == "Newcombe, paired").all()
    assert (vacuum["n"] == 60).all()


@pytest.mark.slow
def test_stimuli_that_share_an_item_widen_a_paired_difference():
    """Copies of every call say nothing new."""
    one, two = (instrument_calls(judge=j, seed=s).drop(columns="task") for j, s in (("g", 0), ("h", 9)))
    again = [pd.concat([t.assign(replicate=k) for k in range(4)], ignore_index=True) for t in (one, two)]
    alone, copies = (
        row(datasheets.compare_datasheets(*sides), "Δ0", "positional_false_preference") for sides in ((one, two), again)
    )
    naive = row(compare_datasheets(*again), "Δ0", "positional_false_preference")
    assert alone["method"] == "Newcombe, paired"
    assert copies["method"] == "Tango, paired, clustered by item (G = 60)"
    assert naive["method"] == "Newcombe, paired"
    widths = [r["conf_high"] - r["conf_low"] for r in (alone, copies, naive)]
    assert widths[1] == pytest.approx(widths[0], rel=0.12)
    assert widths[2] < 0.6 * widths[0]


def test_the_two_calls_of_a_pair_are_one_cluster_of_a_difference():
    one, two = (instrument_calls(judge=j, seed=s).drop(columns="task") for j, s in (("g", 0), ("h", 9)))
    got = row(datasheets.compare_datasheets(one, two), "Δ0", "raw_false_preference")
    assert got["method"] == "Tango, paired, clustered by pair (G = 60)"
    assert got["n"] == 120


@pytest.mark.slow
def test_judges_without_a_stimulus_in_common_are_told_apart():
    one = instrument_calls(judge="g").drop(columns="task")
    other = instrument_calls(judge="h", seed=9).drop(columns="task")
    other["item"] = "other " + other["item"]
    got = row(datasheets.compare_datasheets(one, other), "Δ0", "positional_false_preference")
    assert got["method"] == "Newcombe, independent"
    assert "not paired: no stimulus shared" in got["flag"]
    both = datasheets.datasheet(pd.concat([one, other], ignore_index=True), n_resamples=50)
    assert both["flag"].str.contains("some judges share no item with it").all()
    alike = datasheets.datasheet(pd.concat([one, one.assign(judge="h")], ignore_index=True), n_resamples=50)
    assert not alike["flag"].str.contains("no item shared").any()


@pytest.mark.slow
def test_datasheets_of_two_judges_are_paired_where_stimuli_are_shared(calls):
    other = instrument_calls(judge="h", seed=9)
    got = compare_datasheets(calls, other, cluster=False)
    row = got[(got["section"] == "Δ0") & (got["term"] == "positional_false_preference")].iloc[0]
    assert row["method"] == "Newcombe, paired"
    assert row["n"] == 60
    one, two = (value(js.delta0(c), "positional_false_preference") for c in (calls, other))
    assert (row["first"], row["second"]) == (one, two)
    assert row["estimate"] == pytest.approx(two - one)
    flipped = compare_datasheets(other, calls, cluster=False)
    again = flipped[(flipped["section"] == "Δ0") & (flipped["term"] == "positional_false_preference")].iloc[0]
    assert again["estimate"] == pytest.approx(-row["estimate"])
    assert again["conf_low"] == pytest.approx(-row["conf_high"])


def test_every_paired_difference_is_the_difference_of_the_two_sheets(calls):
    got = compare_datasheets(calls, instrument_calls(judge="h", seed=9), cluster=False)
    assert (got["method"] == "Newcombe, paired").sum() >= 15
    np.testing.assert_allclose(got["estimate"], got["second"] - got["first"], atol=1e-12, equal_nan=True)


# ---------------------------------------------------------------- a comparator as a ceiling


def test_a_comparator_is_a_ceiling_by_the_direction_that_is_worse():
    """The counts of Tables 3 and 6: Qwen32B as the comparator of Llama8B."""
    printed = {"Llama8B": (80, 61), "Qwen32B": (0, 94)}
    made = []
    for judge, (dark, right) in printed.items():
        dark_rows = [("vacuum", "all", k, c) for k, c in ((dark, "first"), (120 - dark, "tie"))]
        vacuum = pd.DataFrame(dark_rows, columns=["stimulus", "detail", "k", "choice"])
        vacuum = vacuum.loc[vacuum.index.repeat(vacuum["k"])].reset_index(drop=True)
        vacuum = vacuum.assign(item=[f"v{i}" for i in range(120)], first="a", second="b", vacuum_kind="empty")
        ladder = pd.DataFrame({"choice": ["first"] * right + ["second"] * (100 - right), "stimulus": "ladder"})
        ladder = ladder.assign(item=[f"l{i}" for i in range(100)], first="hi", second="lo", better="hi", delta=1.0)
        made.append(pd.concat([vacuum, ladder]).assign(judge=judge).drop(columns=["detail", "k"]))
    found = compare_datasheets(*made, role="ceiling")
    dark = row(found, "dark current", "dark_current", "all")
    right = row(found, "ladder", "target_sensitivity")
    assert (dark["first"], dark["second"]) == (pytest.approx(0.6667, abs=5e-5), 0)
    assert (right["first"], right["second"]) == (0.61, 0.94)
    assert (dark["ceiling"], right["ceiling"]) == ("below", "below")  # lower is better there, higher here
    other = compare_datasheets(*made[::-1], role="ceiling")
    assert row(other, "dark current", "dark_current", "all")["ceiling"] == "above"
    same = compare_datasheets(made[0], made[0].assign(judge="again"), role="ceiling")
    assert set(same["ceiling"]) <= {"not distinguishable", ""}
    plain_one = compare_datasheets(*made)
    pd.testing.assert_frame_equal(found.drop(columns="ceiling"), plain_one)
    with pytest.raises(DesignError, match="role"):
        compare_datasheets(*made, role="truth")


def test_a_read_datasheet_has_a_ceiling_too(sides):
    sheets = [pd.read_csv(io.StringIO(datasheet(s).to_csv(index=False))) for s in sides]
    found = compare_datasheets(*sheets, role="ceiling")
    assert set(found["ceiling"]) <= {"below", "above", "not distinguishable", ""}
    assert row(found, "Δ0", "stable_cross_sensitivity")["ceiling"] == ""  # neither direction is worse
    assert (found["ceiling"] != "").sum() >= 8


# ---------------------------------------------------------------- ratings


def rated(judge, shift=0.0, noise=1.0, seed=0, items=15, systems="xy"):
    """Three repeats of each rating."""
    rng = np.random.default_rng(seed)
    keys = pd.MultiIndex.from_product([[judge], list(systems), [f"i{k:02d}" for k in range(items)], range(3)])
    table = keys.set_names(["judge", "system", "item", "replicate"]).to_frame(index=False)
    quality = np.random.default_rng(99).normal(0, 3, items)
    place = table["item"].str[1:].astype(int)
    return table.assign(score=quality[place] + shift + rng.normal(0, noise, len(table)))


def test_two_versions_of_a_rating_judge_are_paired():
    one, two = rated("v1"), rated("v2", 0.5, seed=1)
    got = row(compare_datasheets(one, two), "scores", "mean_score")
    cells = [t.groupby(["system", "item"])["score"].mean() for t in (one, two)]
    by_item = (cells[1] - cells[0]).groupby("item").mean()
    test = stats.ttest_1samp(by_item, 0.0).confidence_interval()
    assert got["estimate"] == pytest.approx(by_item.mean())
    assert got["estimate"] == pytest.approx(got["second"] - got["first"])
    assert (got["conf_low"], got["conf_high"]) == pytest.approx(tuple(test))
    assert got["method"] == "paired, mean over systems, t clustered by item"
    apart = row(compare_datasheets(datasheet(one), datasheet(two)), "scores", "mean_score")
    assert apart["estimate"] == pytest.approx(got["estimate"])
    assert apart["std_error"] > 3 * got["std_error"]  # items differ far more than versions
    assert apart["method"].startswith("MOVER")


def test_the_spread_and_missing_scores_of_two_versions():
    one, two = rated("v1"), rated("v2", noise=3.0, seed=1)
    two.loc[:9, "score"] = np.nan
    result = compare_datasheets(one, two)
    spread, missing = row(result, "scores", "run_sd"), row(result, "scores", "missing")
    assert spread["estimate"] == pytest.approx(spread["second"] - spread["first"])
    assert spread["conf_low"] > 0
    assert missing["estimate"] == pytest.approx(10 / 90)


def test_ratings_that_one_version_lacks_are_counted():
    one, two = rated("v1", items=15), rated("v2", items=20, seed=1).query("item > 'i02'")
    got = row(compare_datasheets(one, two), "scores", "mean_score")
    assert (got["n"], "24 of 40 stimuli shared" in got["flag"]) == (24, True)
    two = two.assign(item=two["item"] + "b")
    assert "no stimulus shared" in row(compare_datasheets(one, two), "scores", "mean_score")["flag"]


def test_the_printed_scores_of_two_conditions():
    """Tables 1 and 6 of the merchant_risk paper: GPT-5.1 with and without the names of the systems."""
    tables = [published.load(f"merchant_risk/table{i}") for i in (1, 6)]
    sides = [t[t["criterion"] == "final"].drop(columns="condition").assign(item="all") for t in tables]
    got = row(compare_datasheets(*sides), "scores", "mean_score")
    assert (got["first"], got["second"]) == pytest.approx((8.604, 8.66))


def test_sides_that_cannot_be_compared_are_refused(sides):
    both = pd.concat([rated("g").assign(prompt=p) for p in "ab"])
    prompts = pd.concat([instrument_calls(), instrument_calls(prompt="strict", criterion=0.9)])
    refused(
        DesignError,
        (lambda: compare_datasheets(both, plain("g", answers(5, 40))), "several values of 'prompt'"),
        (lambda: compare_datasheets(several("ab", 0), several("cd", 5)), r"first has: a, b\. The second has: c, d\."),
        (
            lambda: compare_datasheets(
                datasheet(prompts, n_resamples=50), datasheet(instrument_calls(), n_resamples=50)
            ),
            "several rows for",
        ),
        (lambda: compare_datasheets(sides[0], rated("g")), "One side has preferences, the other ratings"),
        (lambda: compare_datasheets(both, both), "several values of 'prompt'"),
    )
