"""criterion_shift: what is paired, with which weight, and what a saved false preference costs."""

import inspect
import math
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from instrument import instrument_calls
from judgestats.counting.tallies import tally
from judgestats.errors import DesignError
from judgestats.kernels.proportions import newcombe, newcombe_paired
from judgestats.metrics import datasheets, psychometrics
from judgestats.metrics import psychometrics as js
from judgestats.metrics.paired import independent_difference
from judgestats.metrics.psychometrics import operating_point
from judgestats.published.paper_tables import criterion_counts

#: Calls as independent, but where a test is about what they share.
criterion_shift = partial(psychometrics.criterion_shift, cluster=False)

datasheet = partial(datasheets.datasheet, cluster=False)


def arm(choices, prompt, **columns):
    """One call an item."""
    items = [f"i{k}" for k in range(len(choices))]
    base = {"judge": "g", "item": items, "first": "a", "second": "b", "choice": choices, "prompt": prompt}
    return pd.DataFrame({**base, "stimulus": "same_subset", **columns})


def row(table, term, **where):
    for column, wanted in where.items():
        table = table[table[column] == wanted]
    (index,) = table.index[table["term"] == term]
    return table.loc[index]


# ---------------------------------------------------------------- pairing


def test_paired_counts_weigh_by_n():
    n = [100, 1, 1, 1]
    calls = pd.concat(
        [arm(["first"] * 4, "base", n_identical=n), arm(["tie", "tie", "first", "first"], "strict", n_identical=n)]
    )
    got = row(criterion_shift(calls, "base", "strict"), "criterion_shift")
    assert got["method"] == "Newcombe, paired"
    assert got["estimate"] == pytest.approx(101 / 103)
    assert got["n"] == 103
    assert (got["conf_low"], got["conf_high"]) == pytest.approx(newcombe_paired(0, 101, 0, 2))


def test_a_row_with_a_count_is_that_many_rows():
    rng = np.random.default_rng(1)
    calls = pd.concat([arm(rng.choice(["first", "tie"], 12), p) for p in ("base", "strict")], ignore_index=True)
    n = calls["item"].map({f"i{k}": k % 3 + 1 for k in range(12)})
    many = calls.loc[calls.index.repeat(n)]
    many = many.assign(replicate=many.groupby(["prompt", "item"]).cumcount())
    columns = ["estimate", "std_error", "conf_low", "conf_high", "n"]
    once, spelled = (criterion_shift(t, "base", "strict") for t in (calls.assign(n_identical=n), many))
    np.testing.assert_allclose(once[columns], spelled[columns])


def test_different_counts_on_the_two_sides_are_not_paired():
    calls = pd.concat(
        [arm(["first", "tie"], "base", n_identical=[100, 10]), arm(["tie", "tie"], "strict", n_identical=[40, 10])]
    )
    got = row(criterion_shift(calls, "base", "strict"), "criterion_shift")
    assert got["method"] == "Newcombe, independent"
    assert "not paired: different counts" in got["flag"]
    assert got["estimate"] == pytest.approx(1 - 10 / 110)
    assert (got["conf_low"], got["conf_high"]) == pytest.approx(newcombe(50, 50, 10, 110))


def versions(seed=0, stimulus="same_subset"):
    """30 items under 4 versions of the model, which no canonical column tells apart."""
    rng = np.random.default_rng(seed)
    parts = [
        arm(rng.choice(["first", "tie"], 30), prompt, model_version=version, stimulus=stimulus)
        for prompt in ("base", "strict")
        for version in range(4)
    ]
    return pd.concat(parts, ignore_index=True)


def test_repeated_stimuli_are_not_joined_many_to_many():
    calls = versions()
    got = criterion_shift(calls, "base", "strict")
    shift, saved = row(got, "criterion_shift"), row(got, "false_preference_saved")
    tie = calls["choice"].eq("tie").groupby(calls["prompt"]).sum()
    for r in (shift, saved):
        assert r["n"] == 120
        assert r["method"] == "Newcombe, independent"
        assert "not paired: repeated stimuli" in r["flag"]
    assert (shift["conf_low"], shift["conf_high"]) == pytest.approx(newcombe(tie["strict"], 120, tie["base"], 120))


def test_a_repeat_that_is_invalid_is_a_repeat():
    calls = versions()
    calls.loc[calls["model_version"] > 0, "choice"] = "invalid"
    assert "not paired" in row(criterion_shift(calls, "base", "strict"), "criterion_shift")["flag"]


def test_repeats_in_one_cell_leave_the_others_paired():
    once = pd.concat([arm(["first", "tie"] * 20, p, stimulus="vacuum") for p in ("base", "strict")])
    got = criterion_shift(pd.concat([versions(), once]), "base", "strict")
    assert row(got, "criterion_shift", stimulus="vacuum")["method"] == "Newcombe, paired"
    assert row(got, "criterion_shift", stimulus="same_subset")["method"] == "Newcombe, independent"


def test_the_flag_says_how_many_stimuli_are_shared():
    base, strict = arm(["first"] * 50, "base"), arm(["tie"] * 40 + ["invalid"] * 5, "strict")
    got = row(criterion_shift(pd.concat([base, strict]), "base", "strict"), "criterion_shift")
    assert got["n"] == 40
    assert "40 of 50 stimuli shared" in got["flag"]
    whole = pd.concat([base, arm(["tie"] * 50, "strict")])
    assert "shared" not in row(criterion_shift(whole, "base", "strict"), "criterion_shift")["flag"]


def test_a_cell_whose_calls_are_all_invalid_under_one_prompt_is_no_data():
    calls = pd.concat([arm(["first"] * 40, "base"), arm(["invalid"] * 40, "strict")])
    got = criterion_shift(calls, "base", "strict").set_index("term")
    assert got.loc["criterion_base", "n"] == 40
    assert got.loc[["criterion_strict", "criterion_shift", "false_preference_saved"], "estimate"].isna().all()
    assert got.loc["criterion_shift", "flag"] == "no data"


# ---------------------------------------------------------------- missing values in keys


def test_missing_values_in_key_columns_are_values():
    kinds = {"base": [None] * 20 + ["empty"] * 20, "strict": [None] * 20 + ["empty"] * 20}
    calls = pd.concat([arm(["first", "tie"] * 20, p, vacuum_kind=kinds[p], task=None) for p in kinds])
    got = row(criterion_shift(calls, "base", "strict"), "criterion_shift")
    assert (got["method"], got["n"]) == ("Newcombe, paired", 40)


def test_a_key_that_is_empty_under_one_prompt_does_not_crash():
    calls = pd.concat(
        [arm(["first", "tie"] * 20, "base", topic=np.nan), arm(["first", "tie"] * 20, "strict", topic="x")]
    )
    got = row(criterion_shift(calls, "base", "strict"), "criterion_shift")
    assert (got["method"], got["n"]) == ("Newcombe, independent", 40)


@pytest.mark.parametrize("column", ["judge", "stimulus"])
@pytest.mark.parametrize("counted", [False, True])
def test_a_cell_without_a_name_keeps_its_rows(column, counted):
    calls = pd.concat([arm(["first"] * 40, "base"), arm(["tie"] * 40, "strict")]).assign(**{column: None})
    data = tally(calls, "criterion_shift") if counted else calls
    got = criterion_shift(data, "base", "strict").set_index("term")
    assert got.loc["criterion_base", "n"] == 40
    assert got.loc["criterion_shift", "estimate"] == 1
    assert got.loc["false_preference_saved", "estimate"] == 1


def test_a_missing_prompt_is_no_prompt():
    calls = pd.concat([arm(["first"] * 40, "base"), arm(["tie"] * 40, "strict"), arm(["tie"] * 9, None)])
    assert row(criterion_shift(calls, "base", "strict"), "criterion_shift")["n"] == 40


# ---------------------------------------------------------------- which term


def counts(**cells):
    """A tally from cell=(base outcomes, strict outcomes)."""
    rows = []
    for name, sides in cells.items():
        stimulus, _, delta = name.partition("__")
        for prompt, side in zip(("base", "strict"), sides, strict=True):
            rows += [("g", prompt, stimulus, float(delta) if delta else math.nan, o, n) for o, n in side.items()]
    return pd.DataFrame(rows, columns=["judge", "prompt", "stimulus", "delta", "outcome", "n"])


def test_the_stimulus_says_which_term_and_not_the_outcomes_that_occur():
    table = counts(ladder__1=({"tie": 50}, {"tie": 50}), vacuum=({"tie": 50}, {"tie": 50}))
    got = criterion_shift(table, "base", "strict")
    assert list(got.loc[got["stimulus"] == "ladder", "term"])[3] == "target_signal_lost"
    assert list(got.loc[got["stimulus"] == "vacuum", "term"])[3] == "false_preference_saved"


def test_a_ladder_that_does_not_say_who_is_better_loses_no_number():
    table = counts(ladder__1=({"preference": 50}, {"tie": 50}))
    got = row(criterion_shift(table, "base", "strict"), "target_signal_lost")
    assert math.isnan(got["estimate"])
    assert got["flag"] == "better candidate unknown"


@pytest.mark.parametrize("equal", ["same_subset", "same_subset__0"])
def test_the_price_finds_equals_with_step_zero_or_none(equal):
    table = counts(
        ladder__1=({"correct": 90, "tie": 10}, {"correct": 50, "tie": 50}),
        **{equal: ({"preference": 60, "tie": 40}, {"preference": 20, "tie": 80})},
    )
    got = row(criterion_shift(table, "base", "strict"), "saved_per_lost")
    assert got["estimate"] == pytest.approx(1.0)
    assert got["delta"] == 1


# ---------------------------------------------------------------- the price


def on_the_border(ratio, saved, lost, conf_level=0.95):
    """Whether a test of saved - ratio * lost = 0 is just rejected: Fieller's definition."""
    z = (saved["estimate"] - ratio * lost["estimate"]) / math.hypot(saved["std_error"], ratio * lost["std_error"])
    return abs(z) == pytest.approx(norm.ppf(0.5 + conf_level / 2))


def priced(got):
    return (
        row(got, "saved_per_lost"),
        row(got, "false_preference_saved", stimulus="same_subset"),
        row(got, "target_signal_lost"),
    )


@pytest.mark.parametrize("conf_level", [0.8, 0.95])
def test_the_price_of_counts_has_fieller_s_interval(conf_level):
    table = counts(
        ladder__1=({"correct": 90, "tie": 10}, {"correct": 50, "tie": 50}),
        same_subset=({"preference": 60, "tie": 40}, {"preference": 20, "tie": 80}),
    )
    price, saved, lost = priced(criterion_shift(table, "base", "strict", conf_level=conf_level))
    assert saved["std_error"] == pytest.approx(math.sqrt(0.6 * 0.4 / 100 + 0.2 * 0.8 / 100))
    assert price["method"] == "Fieller"
    assert price["conf_low"] < price["estimate"] < price["conf_high"]
    assert all(on_the_border(price[c], saved, lost, conf_level) for c in ("conf_low", "conf_high"))


def paired_calls():
    ladder = {"stimulus": "ladder", "delta": 1.0, "better": "a"}
    plain = {"delta": math.nan, "better": None}
    return pd.concat(
        [
            arm(["first"] * 45 + ["tie"] * 15, "base", **plain),
            arm(["first"] * 15 + ["tie"] * 45, "strict", **plain),
            arm(["first"] * 55 + ["tie"] * 5, "base", **ladder),
            arm(["first"] * 30 + ["tie"] * 30, "strict", **ladder),
        ],
        ignore_index=True,
    )


def test_the_price_of_paired_calls_uses_the_paired_variances():
    got = criterion_shift(paired_calls(), "base", "strict")
    price, saved, lost = priced(got)
    assert saved["std_error"] == pytest.approx(math.sqrt(30 - 30**2 / 60) / 60)
    assert all(on_the_border(price[c], saved, lost) for c in ("conf_low", "conf_high"))
    counted = row(criterion_shift(tally(paired_calls(), "criterion_shift"), "base", "strict"), "saved_per_lost")
    assert price["estimate"] == pytest.approx(counted["estimate"])
    assert price["conf_high"] - price["conf_low"] < counted["conf_high"] - counted["conf_low"]


def test_the_price_carries_the_doubts_of_its_parts():
    calls = paired_calls()
    both = pd.concat([calls, calls.assign(first="b", second="a")])
    price = row(criterion_shift(both, "base", "strict"), "saved_per_lost")
    assert "calls not independent" in price["flag"]
    repeated = row(criterion_shift(pd.concat([calls, calls]), "base", "strict"), "saved_per_lost")
    assert "not paired: repeated stimuli" in repeated["flag"]


def test_a_loss_not_told_from_zero_has_no_interval():
    table = counts(
        ladder__1=({"correct": 90, "tie": 10}, {"correct": 88, "tie": 12}),
        same_subset=({"preference": 60, "tie": 40}, {"preference": 20, "tie": 80}),
    )
    price = row(criterion_shift(table, "base", "strict"), "saved_per_lost")
    assert price["estimate"] == pytest.approx(20)
    assert math.isnan(price["conf_low"])
    assert math.isnan(price["conf_high"])
    assert price["flag"] == "interval of the denominator includes 0"


def test_a_price_without_spread_has_no_interval():
    table = counts(
        ladder__1=({"correct": 90, "tie": 10}, {"correct": 50, "tie": 50}),
        same_subset=({"tie": 100}, {"tie": 100}),
    )
    price = row(criterion_shift(table, "base", "strict"), "saved_per_lost")
    assert price["estimate"] == 0
    assert math.isnan(price["conf_low"])
    assert price["flag"] == "no variation"


@pytest.mark.slow
def test_fieller_covers_the_price():
    rng = np.random.default_rng(0)
    p, n = {"saved": (0.6, 0.3), "lost": (0.9, 0.6)}, 150
    covered = 0
    for _ in range(400):
        k = {c: [int(rng.binomial(n, x)) for x in v] for c, v in p.items()}
        table = counts(
            ladder__1=tuple({"correct": x, "tie": n - x} for x in k["lost"]),
            same_subset=tuple({"preference": x, "tie": n - x} for x in k["saved"]),
        )
        price = row(criterion_shift(table, "base", "strict"), "saved_per_lost")
        covered += price["conf_low"] <= 1 <= price["conf_high"]
    assert 0.92 <= covered / 400 <= 0.98


def test_nothing_is_drawn_at_random():
    assert not {"seed", "n_resamples"} & set(inspect.signature(criterion_shift).parameters)
    sheets = [datasheet(paired_calls(), baseline="base", n_resamples=50, seed=s) for s in (1, 2)]
    ends = [s.loc[s["term"] == "saved_per_lost", ["conf_low", "conf_high"]].to_numpy() for s in sheets]
    assert ends[0].size == 2
    np.testing.assert_array_equal(*ends)


# ---------------------------------------------------------------- criterion, filler, gates


def test_criterion_shift_pairs_the_calls_that_both_prompts_judged(calls):
    strict = instrument_calls(prompt="strict", criterion=0.9)
    got = js.criterion_shift(pd.concat([calls, strict]), "base", "strict", cluster=False)
    shift = got[got["term"] == "criterion_shift"]
    assert (shift["method"] == "Newcombe, paired").all()
    equal = shift[shift["stimulus"] == "same_subset"].iloc[0]
    tie = [(d.loc[d["stimulus"] == "same_subset", "choice"] == "tie").mean() for d in (calls, strict)]
    assert equal["estimate"] == pytest.approx(tie[1] - tie[0])
    assert equal["conf_low"] < equal["estimate"] < equal["conf_high"]


def test_criterion_shift_of_counts_is_of_independent_samples():
    counts = pd.DataFrame(
        {
            "judge": "g",
            "prompt": ["a", "a", "b", "b"],
            "stimulus": "ladder",
            "delta": 1.0,
            "outcome": ["correct", "tie", "correct", "tie"],
            "n": [94, 6, 50, 50],
        }
    )
    got = js.criterion_shift(counts, "a", "b").set_index("term")
    assert got.loc["criterion_shift", "estimate"] == pytest.approx(0.44)
    assert got.loc["criterion_shift", "method"] == "Newcombe, independent"
    assert got.loc["target_signal_lost", "estimate"] == pytest.approx(0.44)


def test_nothing_lost_has_no_price():
    counts = pd.DataFrame(
        {
            "judge": "g",
            "prompt": ["a", "b", "a", "a", "b"],
            "stimulus": ["ladder", "ladder", *["same_subset"] * 3],
            "delta": [5.0, 5.0, None, None, None],
            "outcome": ["correct", "correct", "preference", "tie", "tie"],
            "n": [20, 20, 31, 89, 120],
        }
    )
    price = js.criterion_shift(counts, "a", "b").set_index("term").loc["saved_per_lost"]
    assert math.isnan(price["estimate"])
    assert "base is zero" in price["flag"]


def test_criterion_shift_names_the_prompts_there_are(calls):
    with pytest.raises(DesignError, match="Prompts: base"):
        js.criterion_shift(calls, "base", "strikt")


# ---------------------------------------------------------------- an operating point by use


def test_the_operating_point_depends_on_the_use():
    """Table 4: the strict prompt saves .2583 false preferences and loses .44 of the first step, nothing of the fifth."""
    found = criterion_shift(criterion_counts(), "base", "strict", uses={"ranking": 0.5, "adjudication": 5})
    gains = found[found["term"] == "net_gain"]
    assert len(gains) == 4
    for use, cost in (("ranking", 0.5), ("adjudication", 5)):
        got = row(gains, "net_gain", use=use, delta=1)
        saved, lost = row(found, "false_preference_saved"), row(found, "target_signal_lost", delta=1)
        assert got["estimate"] == pytest.approx(cost * 31 / 120 - 0.44)
        low = math.hypot(cost * (saved["estimate"] - saved["conf_low"]), lost["conf_high"] - lost["estimate"])
        assert got["conf_low"] == pytest.approx(got["estimate"] - low)
        assert got["n"] == 100
    assert row(gains, "net_gain", use="ranking", delta=1)["conf_high"] < 0  # the baseline prompt
    assert row(gains, "net_gain", use="adjudication", delta=1)["conf_low"] > 0  # the strict one
    assert (gains.loc[gains["delta"] == 5, "estimate"] > 0).all()
    assert set(found.loc[found["term"] != "net_gain", "use"]) == {""}
    plain = criterion_shift(criterion_counts(), "base", "strict")
    assert "use" not in plain
    pd.testing.assert_frame_equal(found[found["use"] == ""].drop(columns="use").reset_index(drop=True), plain)
    price = row(plain, "saved_per_lost", delta=1)["estimate"]
    even = criterion_shift(criterion_counts(), "base", "strict", uses={"even": 1 / price})
    assert row(even, "net_gain", delta=1)["estimate"] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("cost", [0, -1, math.inf, math.nan, "much"])
def test_a_use_needs_a_cost(cost):
    with pytest.raises(DesignError, match=r"uses= has .* for 'ranking'"):
        criterion_shift(criterion_counts(), "base", "strict", uses={"ranking": cost})


def test_the_interval_of_the_net_gain_covers():
    """Two differences of independent samples of 100 calls: 0.2 saved at a cost of 2, 0.2 lost."""
    rng = np.random.default_rng(4)
    drawn = rng.binomial(100, [0.3, 0.1, 0.9, 0.7], (1500, 4)).astype(float)
    inside = 0
    for a, b, c, d in drawn:
        saved, lost = (independent_difference(x, 100, y, 100) | {"flag": ""} for x, y in ((a, b), (c, d)))
        got = operating_point._net_gain(saved, lost, 2.0)
        inside += got["conf_low"] <= 0.2 <= got["conf_high"]
    assert 0.935 <= inside / 1500 <= 0.965
