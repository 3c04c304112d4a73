"""The rationalization paper, recomputed from Tables II to V."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency

from judgestats.counting.tallies import tally
from judgestats.metrics.invariance import anchoring, protocol_difference
from judgestats.published import load
from judgestats.published import paper_tables as paper
from measured import rationalization as measured


@pytest.fixture(scope="module")
def checks():
    rows = [(c.place, c.quantity, c.printed, c.shown, c.verdict, c.comment) for c in measured.checks()]
    return pd.DataFrame(rows, columns=["place", "quantity", "printed", "shown", "verdict", "comment"])


@pytest.fixture(scope="module")
def estimates():
    return anchoring(paper.outcomes(), favoured=paper.FAVOURED, n_resamples=200)


def cell(table, judge, scheme, probe, term):
    keys = ["judge", "scheme", "probe", "term"]
    return table.set_index(keys).loc[(judge, scheme, probe, term)]


def test_the_counts_are_a_tally_of_sixty_rows_of_three():
    counts = paper.outcomes()
    assert len(counts) == 5 * 3 * 4 * 3
    again = tally(counts, "anchoring")
    assert again["n"].sum() == counts["n"].sum() == 60 * 1000 + 10
    sums = counts.groupby(["judge", "scheme", "probe"])["n"].sum()
    assert sums[sums != 1000].to_dict() == {
        ("Mistral-7B", "PBP", "blind"): 1005,
        ("Mistral-7B", "PBP", "placebo"): 1005,
    }


@pytest.mark.slow
def test_the_totals_that_are_not_1000_are_told(checks):
    totals = checks[checks["quantity"].str.endswith("total")]
    assert len(totals) == 60 + 5
    wrong = totals[totals["verdict"] == "does not follow"]
    assert list(wrong["place"]) == ["Table II", "Table V"]
    assert (wrong["shown"] == "1005").all()


@pytest.mark.parametrize(
    ("judge", "scheme", "term", "printed"),
    [
        ("Gemma-2-9B", "PBP", "equality_detection", "0.937"),
        ("Gemma-2-9B", "PBP", "neutrality_deviation", "0.005"),
        ("Llama-3.1-8B", "PBP", "neutrality_deviation", "0.002"),
        ("Llama-3.1-8B", "Baseline", "neutrality_deviation", "0.060"),
        ("Mistral-7B", "Baseline", "neutrality_deviation", "0.100"),
        ("Qwen2.5-7B", "Baseline", "neutrality_deviation", "0.080"),
        ("Zephyr-7B", "Baseline", "neutrality_deviation", "0.020"),
    ],
)
def test_blind_rates_of_the_text(estimates, judge, scheme, term, printed):
    assert f"{cell(estimates, judge, scheme, 'blind', term)['estimate']:.3f}" == printed


@pytest.mark.slow
def test_neutrality_of_gemma_under_baseline_is_printed_as_0018_and_is_0080(checks):
    row = checks[checks["quantity"] == "Gemma-2-9B, ND, Baseline, Blind"].iloc[0]
    assert (row["printed"], row["shown"], row["verdict"]) == ("0.018", "0.080", "does not follow")
    place = checks[checks["place"] == "Section V.D.1"]
    assert (place["verdict"] == "follows").sum() == len(place) - 1 == 17


def test_how_many_cells_of_tables_vi_to_viii_follow(checks):
    follows = checks["verdict"] == "follows"
    assert {t: int(follows[checks["place"] == f"Table {t}"].sum()) for t in ("VI", "VII", "VIII")} == {
        "VI": 39,
        "VII": 30,
        "VIII": 19,
    }
    assert all((checks["place"] == f"Table {t}").sum() == 45 for t in ("VI", "VII", "VIII"))


def test_the_side_of_the_caption_reproduces_fewer_cells_of_table_vii():
    counts = paper.outcomes()
    printed = load("rationalization/table7", printed=True)
    found = {}
    for side in ("llm", "tradml"):
        result = anchoring(counts, favoured=side, n_resamples=2)
        found[side] = sum(
            f"{cell(result, r['judge'], r['scheme'], 'flip', term)['estimate']:.3f}" == r[term]
            for r in printed.to_dict("records")
            for term in ("lds", "ts", "ols")
        )
    assert found == {"llm": 18, "tradml": 30}


def test_a_cell_by_hand(estimates):
    """Gemma under SCoT: 97 to 680, 63 to 105, 840 to 215 of 1000."""
    got = {t: cell(estimates, "Gemma-2-9B", "SCoT", "truth", t)["estimate"] for t in ("lds", "ols", "ts", "lao")}
    assert got == pytest.approx({"lds": 0.583, "ols": 0.042, "ts": 0.0, "lao": 0.583 / 0.625})
    row = cell(estimates, "Gemma-2-9B", "SCoT", "truth", "total_variation")
    test = chi2_contingency([[97, 63, 840], [680, 105, 215]], correction=False)
    assert row["p_value"] == pytest.approx(test.pvalue)


@pytest.mark.slow
def test_seven_printed_rows_move_more_than_there_is(checks):
    values = measured._estimates(paper.FAVOURED)
    over = [
        (name, r["judge"], r["scheme"])
        for name, probe in measured.MOVEMENTS.items()
        for r in load(f"rationalization/{name}", printed=True).to_dict("records")
        if measured.left_to_move(r, probe, values) < -0.0015
    ]
    assert len(over) == 7
    assert ("table6", "Gemma-2-9B", "Baseline") in over
    assert ("table8", "Mistral-7B", "Baseline") in over
    told = checks[checks["comment"].str.contains("exceed what Table II leaves")]
    assert len(told) == 2 + 5 * 2  # two rows gain on one side, five on both
    assert (told["verdict"] == "does not follow").all()


def test_the_text_repeats_its_counts_without_a_slip(checks):
    repeated = checks[checks["comment"] == "the text repeats a count"]
    assert len(repeated) > 100
    assert (repeated["verdict"] == "follows").all()
    assert (checks.loc[checks["place"] == "Ablation J", "verdict"] == "follows").sum() == 40
    assert (checks.loc[checks["place"] == "Ablation I", "verdict"] == "follows").all()


def test_the_fraction_hides_that_pbp_hardly_moves(estimates):
    """Zephyr under PBP and Truth: half of a movement of 2 in 1000 goes to the favoured side."""
    lao, lds = (cell(estimates, "Zephyr-7B", "PBP", "truth", t) for t in ("lao", "lds"))
    assert lao["estimate"] == pytest.approx(1 / 2, abs=0.01)
    assert lds["estimate"] == pytest.approx(0.001)
    assert "shift not significant" in lao["flag"]
    pbp = estimates[(estimates["scheme"] == "PBP") & (estimates["term"] == "lao")]
    assert pbp["flag"].str.contains("shift not significant|no shift").all()
    still = pbp[pbp["estimate"].isna()]
    assert still[["judge", "probe", "flag"]].to_numpy().tolist() == [
        ["Zephyr-7B", "flip", "clustering unknown; no shift"]
    ]
    others = estimates[(estimates["scheme"] == "SCoT") & (estimates["term"] == "lao")]
    assert not others["flag"].str.contains("not told").any()


def test_pbp_is_less_drawn_than_baseline_beyond_chance_for_every_judge():
    truth = paper.outcomes().query("probe in ['blind', 'truth']")
    result = protocol_difference(truth, favoured="llm", n_resamples=500)
    lds = result[result["term"] == "lds"]
    assert len(lds) == 5
    assert (lds["conf_high"] < -0.2).all()
    assert lds["method"].str.contains("independent samples").all()
    ties = result[result["term"] == "equality_detection"].set_index("judge")["estimate"]
    np.testing.assert_allclose(ties["Gemma-2-9B"], 0.937)


def test_table_x_has_a_tie_rate_and_a_lean_and_no_movement():
    result = anchoring(measured.identical())
    assert set(result["term"]) == {"equality_detection", "neutrality", "neutrality_deviation"}
    rates = result[result["term"] == "equality_detection"].set_index("judge")["estimate"]
    assert (rates.min(), rates.max()) == (0.976, 0.987)
    lean = result[result["term"] == "neutrality"]
    assert ((lean["conf_low"] < 0) & (lean["conf_high"] > 0)).all()
