"""One idea carries the package: a frame and its tally give the same points and the same analytic intervals."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from design import instrument_calls
from judgestats.metrics import bias, consensus, psychometrics
from judgestats.schema import PATTERNS, tally

ANALYTIC = ["estimate", "std_error", "conf_low", "conf_high", "n"]
#: Measure -> (function, what of its result is not a function of the tally, and why).
MEASURES = {
    "dark_current": (psychometrics.dark_current, []),
    "delta0": (psychometrics.delta0, []),
    "consistency": (bias.consistency, []),
    "slot_lean": (bias.slot_lean, []),
    "answer_rates": (bias.answer_rates, []),
    "target_sensitivity": (psychometrics.target_sensitivity, []),
    # the interval resamples tasks where the frame has them, and calls in a tally without them
    "detection_threshold": (psychometrics.detection_threshold, ["conf_low", "conf_high"]),
    "d_prime": (psychometrics.d_prime, []),
    # the frame names the calls that both prompts judged: its interval is the paired one; the ratio takes its spread from them
    "criterion_shift": (
        lambda data: psychometrics.criterion_shift(data, "base", "strict"),
        ["std_error", "conf_low", "conf_high"],
    ),
    "gold_agreement": (bias.gold_agreement, []),
    "filler_preference": (psychometrics.filler_preference, []),
    "consensus_deviation": (consensus.consensus_deviation, []),
}


@pytest.fixture(scope="module")
def calls():
    parts = [
        instrument_calls(judge=j, prompt=p, seed=s, tasks=4, criterion=c)
        for s, (j, p, c) in enumerate(
            [("g", "base", 0.3), ("g", "strict", 0.9), ("h", "base", 0.1), ("h", "strict", 0.5)]
        )
    ]
    table = pd.concat(parts, ignore_index=True)
    rng = np.random.default_rng(0)
    table.loc[rng.random(len(table)) < 0.03, "choice"] = "invalid"
    return table.assign(gold=np.where(rng.random(len(table)) < 0.2, "tie", table["first"]))


@pytest.fixture(scope="module")
def scores():
    rng = np.random.default_rng(1)
    keys = pd.MultiIndex.from_product(
        [list("abc"), list("abcd"), range(5), range(3)], names=["judge", "system", "item", "replicate"]
    )
    table = keys.to_frame(index=False).astype({"item": str})
    table["score"] = rng.integers(1, 11, len(table)).astype(float)
    table.loc[[3, 40], "score"] = np.nan
    return table


def test_every_pattern_has_its_measure_here():
    assert set(MEASURES) == set(PATTERNS)


def data_for(measure, calls, scores):
    if measure == "criterion_shift":  # paired on the calls that both prompts judged: here on all of them
        return calls[calls["choice"] != "invalid"].groupby(["judge", "item", "first"]).filter(lambda g: len(g) == 2)
    return scores if PATTERNS[measure].frame == "ratings" else calls


@pytest.mark.parametrize("measure", MEASURES)
def test_frame_and_tally_agree(measure, calls, scores):
    function, exempt = MEASURES[measure]
    data = data_for(measure, calls, scores)
    whole, counted = function(data), function(tally(data, measure))
    columns = [c for c in ANALYTIC if c not in exempt]
    assert list(whole["term"]) == list(counted["term"])
    np.testing.assert_allclose(whole[columns].to_numpy(float), counted[columns].to_numpy(float), rtol=1e-12, atol=1e-12)
    assert whole["estimate"].notna().any()


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("engine", [pl.from_pandas, lambda t: pl.from_pandas(t).lazy()], ids=["polars", "lazy"])
def test_every_engine_gives_the_same(measure, engine, calls, scores):
    function, _ = MEASURES[measure]
    data = data_for(measure, calls, scores)
    pd.testing.assert_frame_equal(function(engine(data)), function(data), check_dtype=False)


@pytest.mark.parametrize("measure", MEASURES)
def test_row_order_does_not_matter(measure, calls, scores):
    function, _ = MEASURES[measure]
    data = data_for(measure, calls, scores)
    mixed = data.sample(frac=1, random_state=3)
    pd.testing.assert_frame_equal(function(mixed), function(data))


@pytest.mark.parametrize("measure", MEASURES)
def test_judges_are_names_only(measure, calls, scores):
    function, _ = MEASURES[measure]
    data = data_for(measure, calls, scores)
    renamed = data.assign(judge=data["judge"].map(lambda j: f"judge {j}"))
    if measure == "consensus_deviation":  # there a judge may be a system too
        renamed["system"] = renamed["system"].map(lambda j: f"judge {j}")
    numbers = ["estimate", "std_error", "n"]
    np.testing.assert_allclose(
        function(renamed)[numbers].to_numpy(float), function(data)[numbers].to_numpy(float), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize(
    "measure", [m for m, p in PATTERNS.items() if p.frame == "preferences" and m != "criterion_shift"]
)
def test_a_row_may_carry_a_count(measure, calls):
    """Every call three times over: the same rates, three times the n."""
    function, _ = MEASURES[measure]
    once, thrice = function(calls), function(calls.assign(n=3))
    if measure != "d_prime":  # the log-linear correction depends on n
        np.testing.assert_allclose(thrice["estimate"], once["estimate"])
    np.testing.assert_allclose(thrice["n"], 3 * once["n"])
