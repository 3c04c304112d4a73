"""The numbers of the consensus_illusion paper, recomputed through the public functions."""

import pandas as pd
import pytest
from scipy import stats

from judgestats.errors import DesignError
from judgestats.metrics.agreement import (
    agreement_shift,
    ordering_accuracy,
    quality_agreement,
    shift_tests,
)
from judgestats.metrics.agreement.tests_of_shifts import cohen_d
from judgestats.published import load
from judgestats.published import paper_tables as paper
from measured import consensus_illusion as measured
from refusals import refused


@pytest.fixture(scope="module")
def checks():
    rows = [(c.place, c.quantity, c.printed, c.shown, c.verdict) for c in measured.checks()]
    return pd.DataFrame(rows, columns=["place", "quantity", "printed", "shown", "verdict"])


def test_quality_and_agreement_of_table_9():
    table = paper.rankings()
    row = quality_agreement(table).iloc[0]
    rho, p = stats.spearmanr(table["mean_score"], table["r"])
    assert (row["estimate"], row["p_value"]) == pytest.approx((rho, p))
    assert (round(rho, 3), round(p, 3), row["n"]) == (-0.513, 0.003, 32)
    within = quality_agreement(table, within="tier").set_index("tier")
    assert list(within.index) == ["", "Base", "Instruct", "Thinking"]
    for tier, part in table.groupby("tier"):
        assert within.loc[tier, "estimate"] == pytest.approx(stats.spearmanr(part["mean_score"], part["r"])[0])


def test_281_of_335_pairs_follow_the_tiers():
    row = ordering_accuracy(paper.rankings()).iloc[0]
    assert (row["correct"], row["n"], round(100 * row["estimate"], 1)) == (281, 335, 83.9)
    assert 0.7 < row["conf_low"] < row["estimate"] < row["conf_high"] < 0.95


def test_cohens_d_of_the_tiers_in_three_variants():
    score = paper.rankings().groupby("tier")["mean_score"].apply(list)
    found = [
        cohen_d(score["Base"], score["Thinking"], d=d, ddof=k)
        for d, k in (("average", 0), ("average", 1), ("pooled", 1))
    ]
    assert [round(v, 2) for v in found] == [2.57, 2.43, 2.42]


def test_flags_of_table_3_are_those_beyond_015():
    table = load("consensus_illusion/table3")
    got = agreement_shift(table)
    assert got["estimate"].tolist() == pytest.approx(table["delta"].tolist())
    beyond = got["flag"].eq("|shift| > 0.15")
    assert beyond.tolist() == (table["delta"].abs() > 0.15).tolist()
    assert beyond.sum() == 7
    assert agreement_shift(table, flag_at=0.22)["flag"].str.contains("0.22").sum() == 3


def test_means_of_table_3_are_not_counted_as_conditions():
    table = load("consensus_illusion/table3")
    unnamed = table.assign(pair=[f"row {i}" for i in range(9)])[table["temperature"] < 1]
    refused(
        DesignError,
        (table, "3 of 9 conditions are means of others"),
        (unnamed, "2 of 8 conditions"),
        of=shift_tests,
    )
    got = shift_tests(table, means="drop", alternative="less").set_index("term")
    assert got.loc["share_negative", "n"] == 6
    assert got.loc["share_negative", "p_value"] == 2**-6
    assert "3 means of others excluded" in got.loc["mean_shift", "flag"]


def test_share_of_the_rubric_from_table_6():
    table = measured.ablation()
    means = table.groupby(["variant", "model"])["r"].mean().groupby("variant").mean()
    before, after = [means["5-Dim Per-Dim"], 0.6225], [means["Original 4-Stage"], 0.239]
    share = -agreement_shift(pd.DataFrame({"before": before, "after": after}), relative=True)["estimate"]
    assert (100 * share).round(1).tolist() == [61.5, 61.6]  # of unrounded averages, and of the printed ones


def test_mean_spread_of_appendix_c():
    assert measured.mean_spread() == pytest.approx(2.88)


def test_what_follows_and_what_does_not(checks):
    odd = checks[checks["verdict"] != "follows"]
    assert odd["quantity"].tolist() == [
        "Thinking, best-worst gap",
        "Base, best-worst gap",
        "sign test, the 6 printed conditions that are not means",
    ]
    assert odd["shown"].tolist()[:2] == ["4.1", "3.3"]
    assert len(checks) == 173  # none of them lost


@pytest.mark.parametrize(
    ("quantity", "shown"),
    [
        ("evaluation instances", "105,600"),
        ("ICC cells", "352"),
        ("Base, mean score", "3.05"),
        ("Instruct, mean score", "5.38"),
        ("Thinking, mean score", "5.96"),
        ("share from rubric structure, %", "62"),
        ("F, df within", "93"),
        ("mean rho of the pairs", "0.989"),
    ],
)
def test_the_numbers_a_reader_looks_for(checks, quantity, shown):
    rows = checks[checks["quantity"] == quantity]
    assert len(rows) > 0
    assert (rows["shown"] == shown).all()
