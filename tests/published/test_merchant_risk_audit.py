"""What follows of the merchant_risk paper, and what does not: each exception with its arithmetic."""

from collections import Counter

import pytest

from findings import with_cell
from judgestats import published
from judgestats.published.grim_tests import grimmer
from judgestats.published.statements import decide
from judgestats.published.table_audits import paper_statements

FINAL = "final score, the mean of the five criteria"


@pytest.fixture(scope="module")
def found():
    return published.audit("merchant_risk")


def _rows(found, **asked):
    """Findings whose columns are as asked; of a claim, a part."""
    for column, text in asked.items():
        same = found[column].str.contains(text, regex=False) if column == "claim" else found[column] == text
        found = found[same]
    return found


def test_seven_printed_numbers_do_not_follow(found):
    odd = found[(found["verdict"] == "does not follow") & (found["printed"] != "")]
    assert sorted(zip(odd["place"], odd["printed"], odd["recomputed"].astype(float).round(2), strict=True)) == [
        ("Section 3.5", "1", 0.0),  # the scale of people and judges alike; 0 in Figure 4 and the prompt
        (
            "Section 5.1",
            "3",
            0.0,
        ),  # per evaluation criterion; Appendix B prints three per risk level, none per criterion
        ("Section 7.2", "+0.96", 1.03),  # Grok: 9.08 - 8.05 = 1.03 and 9.12 - 8.05 = 1.07; 0.96 is Gemini's
        ("Section 7.2", "+1.18", 1.14),  # Gemini: 9.34 - 8.20 = 1.14 and 9.16 - 8.20 = 0.96
        ("Table 1", "9.02", 9.22),  # (9.0 + 9.2 + 9.1 + 9.8 + 9.0) / 5
        ("Table 4", "8.80", 9.0),  # (8.7 + 8.9 + 8.8 + 10.0 + 8.6) / 5
        ("Table 5", "8.58", 8.18),  # (8.6 + 8.2 + 8.4 + 7.4 + 8.3) / 5
    ]


def test_the_first_end_of_geminis_range_is_the_attributed_one(found):
    rows = _rows(found, place="Section 7.2", printed="+1.14", claim="lower of the two")  # 1.14, then 0.96
    assert rows["verdict"].tolist() == ["depends"]
    assert rows["comment"].str.contains("the first is the attributed one").all()


def test_46_of_50_final_scores_are_the_mean_of_the_criteria(found):
    finals = _rows(found, claim=FINAL)
    assert len(finals) == 50
    assert (finals["verdict"] == "follows").sum() == 46
    # (9.0 + 9.5 + 9.2 + 10.0 + 9.0) / 5 = 9.34 is printed as 9.30: only criterion means that were rounded give that
    rounded = finals[finals["verdict"] == "depends"]
    assert list(zip(rounded["place"], rounded["printed"], strict=True)) == [("Table 7", "9.30")]
    assert "criterion means that are rounded" in rounded["comment"].item()


def test_the_ten_self_biases_follow_from_the_score_tables(found):
    rows = _rows(found, rule="formula", place="Section 4.3.1")
    assert list(rows["verdict"]) == ["follows"] * 10
    printed = rows["printed"].astype(float)
    # exact ties are printed toward zero: -0.335 as -0.33, 0.145 as 0.15 (the double is just above)
    assert (rows["recomputed"].astype(float) - printed).abs().max() <= 0.005 + 1e-9


def test_the_reductions_are_those_of_biases_rounded_first(found):
    rows = _rows(found, rule="formula", place="Section 4.3.2").set_index("printed")
    assert rows.loc["27.3", "verdict"] == "follows"  # 1 - 0.56 / 0.77, no rounding involved
    others = rows.drop(index="27.3")
    assert set(others["verdict"]) == {"depends"}
    assert others["comment"].str.contains("rounded first", regex=False).all()
    assert round(rows.loc["25.8", "recomputed"], 1) == 26.5
    assert _rows(found, rule="mean", place="Section 4.3.2")["verdict"].item() == "follows"


@pytest.mark.parametrize(
    ("table", "fits"),
    [
        ("Table 2", "16 fit the divisor n only, 0 n - 1 only, 0 both, 4 neither"),
        ("Table 3", "19 fit the divisor n only, 1 n - 1 only, 0 both, 0 neither"),
        ("Table 4", "15 fit the divisor n only, 2 n - 1 only, 0 both, 3 neither"),
        ("Table 9", "1 fit the divisor n only, 19 n - 1 only, 0 both, 0 neither"),  # 8.9 with 0.30
    ],
)
def test_sds_that_fit_whole_scores_have_a_divisor(found, table, fits):
    """Finer scores would fit either divisor, but sds of whole scores only by chance: they are no excuse here."""
    row = _rows(found, rule="sd_divisor", place=table)
    assert row["verdict"].item() == "does not follow"
    assert f"of 20 pairs {fits}, in steps of 1" in row["comment"].item()


@pytest.mark.parametrize("table", ["Table 1", "Table 5", "Table 6", "Table 7", "Table 8", "Table 10"])
def test_sds_that_fit_no_whole_scores_may_be_of_finer_ones(found, table):
    """8.7 with 0.28 in Table 1: ten whole scores with this mean have an sd of at least 0.46."""
    row = _rows(found, rule="sd_divisor", place=table)
    assert row["verdict"].item() == "depends"
    assert "depends on: scores in steps of 0.1:" in row["comment"].item()


def test_each_printed_pair_against_both_divisors():
    """Recomputed from the tables: of the 60 pairs of Tables 2 to 4, 50 fit n only, 3 n - 1 only, 7 neither."""
    fits = []
    for name in ("table2", "table3", "table4"):
        table = published.load(f"merchant_risk/{name}")
        for row in table[~table["criterion"].isin(["final", "completeness"])].itertuples():
            mean, sd = (row.mean - 0.05, row.mean + 0.05), (row.sd - 0.005, row.sd + 0.005)
            fits.append(tuple(grimmer(mean, sd, (10, 10), low=0, high=10, ddof=d) for d in (0, 1)))
    assert Counter(fits) == {(True, False): 50, (False, True): 3, (False, False): 7}


def test_no_final_sd_is_beyond_what_the_criteria_allow(found):
    rows = _rows(found, claim="the sd of the final score is at")
    assert len(rows) == 100
    assert (rows["verdict"] == "follows").all()


def test_correlations_follow_over_fifteen_categories(found):
    rows = _rows(found, rule="p_value")
    assert list(rows["verdict"]) == ["follows"] * 5
    assert rows.set_index("printed").loc["0.063", "recomputed"] == pytest.approx(0.0637, abs=5e-5)


def test_against_people(found):
    rows = _rows(found, rule="formula", place="Figure 9 caption and Section 7.2").set_index("claim")
    assert len(rows) == 10
    assert (rows["verdict"] == "follows").all()
    assert set(rows["printed"]) >= {"+0.46", "+0.43", "23", "25", "-0.01", "-0.09", "+1.14", "+1.03"}


def test_counts_of_categories(found):
    rows = _rows(found, claim="distinct categories picked", rule="number")
    assert set(rows["printed"]) == {"39"}
    assert set(rows["verdict"]) == {"follows"}


@pytest.mark.parametrize(
    ("place", "claim", "reading"),
    [
        # the judges GPT-5.1, Grok and Perplexity order the five otherwise in the second condition
        ("Section 3.4, second observation", "ranking of the five systems", "order of the mean over the judges"),
        # anonymized, mean distance: GPT-5.1 0.36, Perplexity 0.37, Gemini 0.39, Claude 0.40
        ("Section 4.4", "negative self-bias are the two closest", "attributed condition only"),
        # "across both evaluation conditions": the attributed one alone would leave the counterexample out
        ("Section 4.5", "negative self-bias are the two closest", "self-evaluations alone, in both conditions"),
        # 0.77, 0.56, 0.69, 0.61, 0.49 in the order of the ratings
        ("Section 5.4", "higher scores from peers and people", "a rank correlation above zero"),
        # -0.31, -0.33, 0.77, 0.71, 0.21 from the strongest to the weakest output
        ("Section 7.2", "weaker outputs", "a rank correlation below zero"),
    ],
)
def test_statements_that_hold_under_one_reading(found, place, claim, reading):
    row = _rows(found, rule="statement", place=place, claim=claim)
    assert row["verdict"].item() == "depends"
    assert f"depends on: {reading}:" in row["comment"].item()


def test_what_needs_the_transactions_cannot_be_decided(found):
    rows = _rows(found, rule="statement", place="Section 5.3")
    open_ = rows[rows["verdict"] == "cannot be decided"]
    assert len(open_) == 2
    assert open_["comment"].str.contains("not printed").all()


def test_another_final_score_would_be_noticed(found):
    """GPT-5.1 on itself at 9.80 in place of 8.80 breaks its bias, its distance from people and Section 3.4."""
    book, made = paper_statements("merchant_risk")
    cell = ("table1", book.rows("table1", {"system": "GPT-5.1", "criterion": "final"})[0], "mean")
    changed = with_cell(book, cell, "9.80")
    places = {s.place for s in made if "GPT-5.1" in s.expression and decide(s, changed).verdict == "does not follow"}
    assert {"Section 4.3.1", "Section 3.4", "Section 4.4"} <= places


def test_claude_gives_itself_the_same_means_in_both_conditions(found):
    """8.9, 8.8, 8.9, 10.0, 8.8 and 9.08 in Tables 4 and 9; two of the six sds differ. The other 24 pairs move."""
    rows = _rows(found, rule="check", claim="print different scores")
    assert len(rows) == 25
    same = rows[rows["verdict"] != "follows"]
    assert list(zip(same["claim"], same["verdict"], strict=True)) == [
        ("Tables 4 and 9 print different scores for Claude 4.5", "depends")
    ]


@pytest.mark.parametrize(
    ("cell", "text", "claim"),
    [
        (("figure2", 0, "mcc"), "5412", "code of the category, as in Appendix B"),
        (("human_bias", 8, "value"), "+1.16", "deviation from the human panel, as in Section 4.4"),
    ],
)
def test_what_is_printed_twice_is_compared(cell, text, claim):
    book, made = paper_statements("merchant_risk")
    (own,) = [s for s in made if s.printed == cell and claim in s.claim]
    assert decide(own, book).verdict == "follows"
    assert decide(own, with_cell(book, cell, text)).verdict == "does not follow"
