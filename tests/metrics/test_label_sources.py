"""Labels of other levels: when they need a margin, and the difference of the gaps."""

import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import DesignError
from metrics.labelled import REAL, arena, counts, frame, of, shared


@pytest.mark.real
@pytest.mark.skipif(not REAL, reason="needs the public verdicts")
def test_what_is_learnt_on_one_policy_is_not_shown_to_hold_for_another():
    """The judge is overconfident by about .09 on base, and by .13 on the fourth policy."""
    table = arena()
    own = js.corrected_rate(table, sampling="random", by="system").query("term == 'corrected_rate'").set_index("system")
    moved = js.corrected_rate(table, sampling="random", by="system", calibrated_on={"system": "base"}, margin=0.05)
    rates = moved[moved["term"] == "corrected_rate"].set_index("system")
    gaps = moved[moved["term"] == "gap_difference"].set_index("system")
    assert "transport" not in rates.loc["base", "flag"]
    assert (rates.drop("base")["flag"].str.contains("transport not shown")).all()
    assert gaps.loc["clone", "estimate"] == pytest.approx(0.0012, abs=5e-4)
    assert gaps.loc["unhelpful", "estimate"] == pytest.approx(0.0478, abs=5e-4)
    assert own.loc["unhelpful", "estimate"] < 0.13 < rates.loc["unhelpful", "estimate"] - 0.02
    wide = js.corrected_rate(table, sampling="random", by="system", calibrated_on={"system": "base"}, margin=0.2)
    assert not wide["flag"].str.contains("transport").any()


def test_labels_of_other_systems_need_a_margin():
    verdicts, labels = shared()
    for call in (
        lambda: js.corrected_difference(verdicts, baseline="b", sampling="by class", calibration=labels),
        lambda: js.corrected_rate(
            frame(systems=("a", "b")), sampling="random", by="system", calibrated_on={"system": "a"}
        ),
    ):
        with pytest.raises(DesignError, match="margin="):
            call()
    found = js.corrected_difference(verdicts, baseline="b", sampling="by class", calibration=labels, margin=0.1)
    assert "transport not shown" in of(found, "corrected_difference")["flag"]
    assert "no labels" in of(found, "gap_difference")["flag"]


@pytest.mark.parametrize("sampling", ["random", "by class"])
def test_transport_is_shown_where_the_gaps_agree(sampling):
    table = frame(seed=2, items=6000, labelled=2500, systems=("a", "b"), share=0.5)
    found = js.corrected_rate(table, sampling=sampling, by="system", calibrated_on={"system": "a"}, margin=0.1)
    row = found[(found["system"] == "b") & (found["term"] == "corrected_rate")].iloc[0]
    assert "transport" not in row["flag"]
    assert row["conf_low"] - 0.02 < 0.5 < row["conf_high"] + 0.02
    narrow = js.corrected_rate(table, sampling=sampling, by="system", calibrated_on={"system": "a"}, margin=0.001)
    assert "transport not shown" in narrow[(narrow["system"] == "b")].iloc[0]["flag"]


def test_the_difference_of_gaps_by_class():
    """At the corrected rate: what the error rates of b would make of it minus what those of a would."""
    table = pd.concat(
        [counts(0.5, 0.9, 0.9, 1000, 200, 200, system="a"), counts(0.6, 0.8, 0.7, 1000, 100, 100, system="b")]
    )
    found = js.corrected_rate(table, sampling="by class", by="system", calibrated_on={"system": "a"}, margin=0.05)
    rate = found[(found["system"] == "b") & (found["term"] == "corrected_rate")].iloc[0]["estimate"]
    gap = of(found, "gap_difference")
    assert rate == pytest.approx((0.6 + 0.9 - 1) / 0.8)
    assert gap["estimate"] == pytest.approx((0.2 - 0.1) * (1 - rate) - (0.3 - 0.1) * rate)
