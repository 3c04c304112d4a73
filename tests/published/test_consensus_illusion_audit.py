"""What follows of the consensus_illusion paper, and what does not: each exception with its arithmetic."""

import pytest

from findings import changed, saying
from judgestats import published


@pytest.fixture(scope="module")
def found():
    return published.audit("consensus_illusion")


def test_what_does_not_follow(found):
    odd = found[found["verdict"] == "does not follow"]
    assert sorted(zip(odd["place"], odd["claim"].str.rpartition(": ")[2], strict=True)) == sorted(
        [
            # +22% of a baseline r of 1.0 would be an r of 1.22; the rise is of .22 in r
            ("Abstract", "the correlation under MERG that the rise in percent leaves is no more than 1"),
            ("Abstract", "the correlation under MERG that the rise in percent leaves is no more than 1"),
            ("Appendix B", "Llama-3.1-8B-Base is the only Base model without high agreement"),  # Qwen3-4B-Base: .669
            ("Appendix D", "Llama-4-Scout-Base and Qwen2.5-7B-Base are the weakest Base models"),  # 2.04, 2.20; 1.22
            ("Appendix D", "at t = 0.0 agreement is rarely above 0.80"),  # 13 of 32 models; the Base mean is 0.81
            ("Appendix F", "highest less lowest score of the tier in Table 9"),  # Thinking: 7.77 - 3.63 = 4.14, not 1.5
            ("Appendix F", "scores of the Thinking tier have a smaller range than those of Base"),  # 4.14 and 3.26
            ("Figure 2", "at the ends both conditions agree less than in the middle"),  # .699 at 0.0, .661 at 0.3
            ("Figure 5", "agreement lies between about 0.5 and 0.8"),  # up to .894, 13 of 32 above .80
            # (8.7 + 8.7 + 7.3 + 10 + 10) / 5 = 8.94: two of five criteria are not printed
            ("Section 1", "each evaluator's baseline score of the pitch deck is above 9.0"),
            # .426 and .529 under MERG; .224 and .254 where each evaluator goes through its four stages
            *[("Section 3.1", f"agreement under MERG {_ORIGINAL}") for _ in range(2)],
            ("Section 3.1", "conditions, as rows of Table 3"),  # nine rows, ten conditions
            ("Section 3.1", "rows of Table 3 with a fall"),
            ("Table 3", "rows of Table 3"),
            ("Table 3", "rows of Table 3 with a fall"),
        ]
    )


_ORIGINAL = "is that of the variant in which each evaluator goes through all four stages, in Table 6"


def test_sixteen_findings_are_nine_faults(found):
    odd = found[found["verdict"] == "does not follow"]
    assert odd.loc[odd["fault"] != "", "fault"].value_counts().to_dict() == {
        "ten conditions in Table 3": 4,
        "MERG agrees otherwise in Section 3.1 than in Table 6": 2,
        "a shift in r printed as a rise in percent": 2,
        "range of scores in the Thinking tier": 2,
        "agreement above 0.80 is not rare": 2,
    }
    assert (odd["fault"] == "").sum() == 4


@pytest.mark.parametrize(
    ("place", "claim", "reading"),
    [
        ("Table 9 caption", "consistently have the lowest agreement", "of the tiers by their means"),  # .76, .77, .81
        ("Appendix E.3", "a little above the middle level", "the middle of a scale from 1 to 5"),  # no number is named
        ("Appendix F", "Base, score cluster low end", "scores rounded to the one decimal of the bound"),  # 2.97 to 3.0
    ],
)
def test_what_the_text_leaves_open_is_no_accusation(found, place, claim, reading):
    row = found[(found["place"] == place) & found["claim"].str.contains(claim, regex=False)]
    assert row["verdict"].tolist() == ["depends"]
    assert f"depends on: {reading}:" in row["comment"].item()


def test_a_sentence_about_a_figure_is_decided_by_a_table_of_the_same_numbers_and_no_other(found):
    """Table 9 has the temperature 0.0 of the eleven of Figure 5."""
    about = found[found["comment"].str.contains("11 temperatures", regex=False) & (found["rule"] == "statement")]
    assert about.set_index("claim")["verdict"].to_dict() == {
        "agreement lies between about 0.5 and 0.8": "does not follow",  # of every temperature, and so of this one
        "the two models of highest quality have the lowest agreement": "cannot be decided",
        "the two models of highest score have the lowest agreement": "cannot be decided",
    }
    assert saying(found, "agreement is rarely above 0.80")["verdict"].tolist() == ["does not follow"]  # at t = 0.0


def test_what_is_not_implied_is_not_checked(found):
    """Five criteria a prompt and five dimensions of a MERG rubric are two fives; so are ICCs of one t and of eleven."""
    assert not found["claim"].str.contains("as many as a MERG rubric has|average to the grand mean").any()
    criteria = saying(found, "data points of scores per criterion over")
    assert criteria["verdict"].tolist() == ["follows"]  # 500 / 100
    assert criteria["recomputed"].tolist() == [5.0]


def test_the_arithmetic_of_the_gaps_of_tiers(found):
    gaps = saying(found, "highest less lowest score").set_index("printed")
    assert gaps["recomputed"].astype(float).round(2).to_dict() == {"1.5": 4.14, "3.5": 3.26}
    assert gaps["verdict"].to_dict() == {"1.5": "does not follow", "3.5": "depends"}
    assert "nearest half point" in gaps.loc["3.5", "comment"]


@pytest.mark.parametrize(
    ("claim", "on"),
    [
        ("Cohen's d of Base and Thinking scores", "the divisor n in both variances"),  # 2.42 to 2.57, printed 2.58
        ("p of a sign test in which 10 of 10 fall", "one-sided"),  # 2 ** -10 = .00098, two-sided .00195
        ("lowest printed shift", "shifts of the two models and of the domains only"),  # -.217, else -.273
        ("the overall MERG score is a plain mean", "a weighted mean, as Appendix A asks for"),  # weights 50% and 25%
        ("Gemini scores half a point", "on average over the models of Table 4"),  # sd .07 and .09, at least .24 forced
        # families from their smallest to their largest model: .57, .66, .66, .95, 1.17; slopes of tiers .39, .62, .51
        ("scores rise by 0.3 to 0.5 per tenfold size", "slope on log10 of size over the Qwen models of a tier"),
        ("the gap between Base and Thinking is wider", "digits that are not printed"),  # .81 - .76 and .76 - .70
    ],
)
def test_what_a_verdict_depends_on(found, claim, on):
    rows = saying(found, claim)
    assert len(rows) > 0
    assert set(rows["verdict"]) == {"depends"}
    assert rows["comment"].str.contains(f"depends on:? ?{on}", regex=True).all()


@pytest.mark.parametrize(
    ("claim", "printed", "value", "times"),
    [
        ("share of agreement from rubric structure", "62", 61.6064, 9),  # (0.6225 - 0.239) / 0.6225
        ("Spearman's rho of score and agreement", "-0.513", -0.5132, 4),
        ("p of that rho", "0.003", 0.0027, 4),
        ("pairs of models of different tiers", "83.9", 83.8806, 1),  # 281 of 335
        ("sample-level r is the mean of the three pairs", "0.72", 0.7233, 12),  # (.77 + .71 + .69) / 3
        ("mean of the three pairs", "0.989", 0.9893, 6),  # (.992 + .992 + .984) / 3
        ("instances are models x evaluators x prompts", "105,600", 105600, 1),
        ("degrees of freedom within three pairs", "93", 93, 1),  # 3 x 31
        ("larger relative fall of the two models", "34", 33.7481, 2),  # .217 / .643
        ("smaller relative fall of the two models", "21", 20.6897, 2),  # .138 / .667
    ],
)
def test_the_numbers_a_reader_looks_for(found, claim, printed, value, times):
    rows = saying(found, claim, printed=printed)
    assert len(rows) == times
    assert set(rows["verdict"]) == {"follows"}
    assert rows["recomputed"].astype(float).tolist() == pytest.approx([value] * times, abs=1e-4)


def test_differences_and_means_of_table_3_and_all_ranks_follow(found):
    third = found[(found["place"] == "Table 3") & found["rule"].isin(["difference", "mean"])]
    assert len(third) == 9 + 6  # each delta, and three means at two temperatures
    ranks = found[found["rule"].eq("ranks") | found["claim"].str.contains("over all models of Table 9")]
    assert len(ranks) == 32 + 10 + 10
    assert set(third["verdict"]) | set(ranks["verdict"]) == {"follows"}


def test_what_needs_unprinted_data_is_not_decided(found):
    open_ = found[found["verdict"] == "cannot be decided"]
    assert (open_["comment"].str.len() > 0).all()
    assert {"reward models from MERG preferences resist over-optimization longer"} <= set(open_["claim"])
    assert open_["claim"].str.contains("Cohen's d of the fall").sum() == 2
    # Figure 5 is no table; in Table 9 the two are third and fifth of .595, .603, .615, .669, .673
    assert open_["claim"].str.contains("have the lowest agreement").sum() == 2


@pytest.mark.parametrize(
    ("cells", "claim"),
    [
        ({("table6", 7, "r"): "0.643"}, "share of agreement from rubric structure"),
        ({("table9", 12, "mean_score"): "7.00"}, "rank by mean_score"),
        ({("cases", 7, "gpt"): "9.40"}, "spread is the highest less the lowest score"),
        ({("validity", 79, "value"): "0.75"}, "sample-level r, as in Section 1"),
        ({("validity", 87, "value"): "61"}, "the share, as in Section 3.3"),  # 61.6 would leave 61 and 62 open
        ({("cases_baseline", 0, "score"): "9.5"}, "score is a mean of"),  # three whole scores give 9.3 or 9.7
    ],
)
def test_a_cell_printed_otherwise_is_found(cells, claim):
    assert any(claim in c and v == "does not follow" for c, v in changed("consensus_illusion", cells).items())
