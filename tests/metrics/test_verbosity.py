"""The reading of length: published counts, the joint level, calls and counts alike."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from judgestats.counting.tallies import tally
from judgestats.kernels.proportions import newcombe_paired, wilson
from judgestats.metrics.bias import verbosity_bias
from metrics.tables import as_counts, pick, signed_calls


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
    result = verbosity_bias(pd.concat([expansion, truncation]), by="strategy")
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
    result = verbosity_bias(counts_of_lengths(expansion, truncation))
    assert set(result["reading"]) == {reading}
    bias, accuracy = result.to_dict("records")
    assert (bias["conf_low"], bias["conf_high"]) == pytest.approx(newcombe_paired(0, *expansion, 0.975))
    low, high = wilson(truncation[0], sum(truncation), 0.975)
    assert (accuracy["conf_low"], accuracy["conf_high"]) == pytest.approx((float(low), float(high)))


def test_verbosity_bias_of_calls_is_that_of_counts():
    calls = pd.concat([signed_calls(seed=1).assign(bias="expansion"), signed_calls(seed=2).assign(bias="truncation")])
    strange = signed_calls(seed=3).assign(bias="style")
    result = verbosity_bias(pd.concat([calls, strange]))
    pd.testing.assert_frame_equal(result, verbosity_bias(tally(calls, "bias_score")))
    valid = calls[(calls["bias"] == "truncation") & (calls["choice"] != "invalid") & (calls["judge"] == "g")]
    right = np.where(valid["first"] == "x", "first", "second") == valid["choice"]
    assert pick(result, "truncation_accuracy")["g"] == pytest.approx(right.mean()), "a tie is an error"


def test_a_verbosity_bias_tells_invalid_calls() -> None:
    kinds = ["expansion", "expansion", "expansion", "truncation", "truncation"]
    answers = ["target", "other", "invalid", "target", "invalid"]
    counts = pd.DataFrame({"judge": "g", "bias": kinds, "outcome": answers, "n": [34, 14, 20, 40, 10]})
    assert verbosity_bias(counts, cluster=False)["flag"].tolist() == [
        "20 invalid calls excluded",
        "10 invalid calls excluded",
    ]
    assert verbosity_bias(counts, invalid="tie", cluster=False)["flag"].tolist() == ["", ""]
