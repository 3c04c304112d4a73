"""The numbers of the two papers, recomputed through the public functions."""

import pandas as pd
import pytest

from judgestats import published
from judgestats.errors import AuditError
from judgestats.metrics.consensus import blinding_effect, consensus_deviation
from judgestats.metrics.psychometrics import criterion_shift, delta0, detection_threshold
from judgestats.published import paper_tables
from measured import dark_current as measured_dark
from measured import merchant_risk as measured_merchant
from measured.checks import Check
from refusals import refused


def measured(paper):
    rows = [(c.place, c.quantity, c.printed, c.shown, c.verdict) for c in paper.checks()]
    return pd.DataFrame(rows, columns=["place", "quantity", "printed", "shown", "verdict"])


@pytest.fixture(scope="module")
def dark():
    return measured(measured_dark)


@pytest.fixture(scope="module")
def merchant():
    return measured(measured_merchant)


# ---------------------------------------------------------------- dark_current


def test_all_27_wilson_rows_of_table_6_to_four_decimals(dark):
    table = published.load("dark_current/table6", printed=True)
    wilson = table[table["method"] == "Wilson binomial"]
    assert len(wilson) == 27
    for r in wilson.to_dict("records"):
        k = paper_tables.count_of(r["estimate"], int(r["n"]))
        assert abs(k / int(r["n"]) - float(r["estimate"])) <= 5e-5
    rows = dark[(dark["place"] == "Table 6") & dark["quantity"].str.contains("conf_")]
    assert len(rows) == 54
    assert (rows["verdict"] == "follows").all()


def test_decompositions_are_whole_numbers_that_satisfy_the_identity():
    counts = paper_tables.delta0_counts()
    one_sided = counts[(counts["forward"] == "first") & (counts["reverse"] == "tie")].set_index("judge")["n"]
    assert one_sided.to_dict() == {"Llama8B": 0, "Qwen14B": 1, "Qwen32B": 21, "Qwen32B strict criterion": 0}
    wide = delta0(counts).pivot(index="judge", columns="term", values="estimate")
    identity = wide["stable_cross_sensitivity"] + wide["positional_false_preference"] + wide["one_sided_commit"] / 2
    pd.testing.assert_series_equal(wide["raw_false_preference"], identity, check_names=False)
    assert counts["n"].dtype.kind == "i"


def test_d_prime_at_ceiling_is_printed_four_times(dark):
    rows = dark[dark["quantity"].str.contains("d' at")]
    assert list(rows["shown"]) == ["3.3812"] * 4


def test_criterion_shift_of_qwen32b():
    shift = criterion_shift(paper_tables.criterion_counts(), "base", "strict")
    got = shift[shift["term"] == "criterion_shift"].set_index(["stimulus", "delta"])["estimate"].round(4)
    assert [got.loc["same_subset"].item(), got.loc[("ladder", 1.0)], got.loc[("ladder", 5.0)]] == [0.2583, 0.44, 0.0]
    price = shift[(shift["term"] == "saved_per_lost") & (shift["delta"] == 1)].iloc[0]
    assert price["estimate"] == pytest.approx((31 / 120) / 0.44)
    assert price["conf_low"] < price["estimate"] < price["conf_high"]


def test_thresholds_of_the_printed_steps_are_censored_as_printed():
    """Only Δ1 and Δ5 are printed: they settle Qwen14B and Qwen32B (at most 1) and leave Llama8B between the two."""
    got = detection_threshold(paper_tables.ladder_counts(), steps=(1, 5), seed=0).set_index("judge")
    for judge in ("Qwen14B", "Qwen32B"):
        assert got.loc[judge, "estimate"] == 1
        assert "left-censored" in got.loc[judge, "flag"]
    assert 1 < got.loc["Llama8B", "estimate"] <= 5
    never = paper_tables.ladder_counts().replace({"correct": "tie"})
    assert detection_threshold(never, steps=(1, 5))["flag"].str.contains("right-censored").all()


def test_a_threshold_of_steps_1_and_5_alone_is_none_as_in_table_6():
    """Table 6 has N/A for the strict arm, which has steps 1 and 5 only; a straight line would give 3."""
    got = detection_threshold(paper_tables.ladder_counts(), seed=0)
    assert got[["estimate", "conf_low", "conf_high"]].isna().all(axis=None)
    assert set(got["flag"]) == {"incomplete ladder: not asked at 2, 3, 4"}
    line = detection_threshold(paper_tables.ladder_counts(), steps=(1, 5), seed=0).set_index("judge")
    assert line.loc["Qwen32B strict criterion", "estimate"] == 3.0


def test_everything_recomputed_of_dark_current_follows(dark):
    assert dark[dark["verdict"] != "follows"].empty
    assert len(dark) > 100


# ---------------------------------------------------------------- merchant_risk


def test_the_ten_self_biases(merchant):
    rows = merchant[merchant["place"] == "Section 4.3.1"]
    assert len(rows) == 10
    assert list(rows["shown"]) == list(rows["printed"])


def test_attenuations_rounded_first_and_not():
    rounded = blinding_effect(paper_tables.scores(), round_first=2)
    exact = blinding_effect(paper_tables.scores())
    each = rounded[rounded["term"] == "attenuation"].set_index("judge")["estimate"].round(1)
    assert each.to_dict() == {
        "GPT-5.1": 9.1,
        "Gemini 2.5 Pro": 27.3,
        "Grok 4": 15.5,
        "Claude 4.5 Sonnet": 48.4,
        "Perplexity Sonar": 28.6,
    }
    means = [t.loc[t["term"] == "mean_attenuation", "estimate"].item() for t in (rounded, exact)]
    assert [round(m, 1) for m in means] == [25.8, 26.5]


def test_deviations_sum_to_zero_over_judges():
    table = consensus_deviation(paper_tables.scores(), by="condition")
    cells = table[table["term"] == "deviation"]
    assert len(cells) == 50
    assert cells.groupby(["condition", "system"])["estimate"].sum().abs().max() < 1e-12


def test_against_people():
    table = consensus_deviation(paper_tables.scores(), reference=paper_tables.panel(), by="condition")
    pairs = table[table["term"] == "deviation"]
    mean = pairs.groupby("condition")["estimate"].mean().round(2)
    assert mean.to_dict() == {"attributed": 0.46, "anonymized": 0.43}
    attributed = pairs[pairs["condition"] == "attributed"]["estimate"]
    assert ((attributed > 0).sum(), len(attributed)) == (23, 25)


def test_self_excess_separates_severity_from_self_preference():
    table = consensus_deviation(paper_tables.scores(), by="condition")
    got = (
        table[(table["term"] == "self_excess") & (table["condition"] == "attributed")]
        .set_index("judge")["estimate"]
        .round(3)
    )
    assert got["GPT-5.1"] == -0.116
    assert got["Claude 4.5 Sonnet"] == -0.047


def test_what_of_merchant_risk_does_not_follow_is_known(merchant):
    """Four final scores differ from the mean of their criteria, and three ends of Section 7.2 from Tables 1 to 10."""
    odd = merchant[merchant["verdict"] != "follows"]
    finals = odd[odd["place"].str.startswith("Table")]
    assert sorted(finals["place"]) == ["Table 1", "Table 4", "Table 5"]
    assert set(odd["place"]) - set(finals["place"]) == {"Section 7.2"}


# ---------------------------------------------------------------- the comparison itself


@pytest.mark.parametrize(
    ("printed", "recomputed", "verdict"),
    [
        ("0.25", 0.2549, "follows"),
        ("0.25", 0.2551, "does not follow"),
        ("+0.46", 0.4636, "follows"),
        ("-0.00", 0.001, "does not follow"),
        ("< 0.05", 0.03, "follows"),
        ("< 0.05", 0.06, "does not follow"),
        ("Class A", "Class B", "does not follow"),
    ],
)
def test_a_check_can_fail(printed, recomputed, verdict):
    assert Check("T", "q", printed, recomputed).verdict == verdict


def test_papers_and_shares_that_cannot_be_reproduced():
    refused(
        AuditError,
        (lambda: paper_tables.count_of("0.2589", 120), r"0\.2589"),
        (lambda: published.reproduce("darkcurrent"), "merchant_risk, debiasing, dark_current"),
    )
