"""The audit of the debiasing paper: what does not follow, by name, and key numbers that do."""

from __future__ import annotations

import pytest

from findings import with_cell
from judgestats import published
from judgestats.published.statements import decide

#: Place and claim of what does not follow from the paper's other numbers.
DOES_NOT_FOLLOW = {
    # .756 is no count of 199 (150 / 199 = .754, 151 / 199 = .759), nor of 200
    ("Table 2", "GPT-4o, S5: agreement is a mean of 199 answers"),
    # 162 + 146 + 83 = 391; 181 + 176 + 42 = 399
    ("Table 3", "GPT-4o, S1: a + b + tie is 400"),
    ("Table 3", "GPT-4o, S5: a + b + tie is 400"),
    # 131 of 400 = 32.75 percent, not 31 (Claude, S1)
    ("Table 3 caption", "tie rate on MT-Bench, percent: high"),
    # (.35 - .15 + .40 + .35 - .45) / 5 = .10, not .31 (GPT-4o, Table 7); the range begins with it in six more places
    ("Section 4.1", "style, GPT-4o, B0: value"),
    ("Abstract", "style bias at B0, five judges: low"),
    ("Section 1", "style bias at B0: low"),
    ("Section 4, claim 1", "style bias at B0, five judges: low"),
    ("Figure 1 caption", "style bias at B0, five judges: low"),
    ("Section 6", "style bias at B0, five judges: low"),
    ("Broader Impact Statement", "style bias at B0: low"),
    # Llama: style .40 (Table 7) is below verbosity .44 (Table 8)
    ("Section 4.1", "style bias exceeds position and verbosity bias in magnitude for every judge"),
    # Table 8 begins at .88 (Llama at B0, Pro under S8)
    ("Section 4, claim 2", "truncation accuracy: low"),
    # Table 8: Pro +.40, Llama +.44, Flash +.24
    ("Section 4, claim 2", "expansion bias is negative for every judge"),
    # three in Sections 1 and 4.2, two in Section 4, claim 3, and in Section 5.3
    ("Section 5.3", "as many survivors of 20 on MT-Bench in Sections 1, 4 and 4.2 as here"),
    # S1 less B0 on LLMBar: -7.5, -4.0, -11.1, -6.5, -1.5
    ("Section 4.2", "S1 change on LLMBar, all judges, pp: low"),
    ("Section 4.2", "S1 change on LLMBar, all judges, pp: high"),
    ("Section 5.4", "S1 change on LLMBar, pp: low"),
    ("Section 5.4", "S1 change on LLMBar, pp: high"),
    ("Section 4.4", "S1 loss on LLMBar, all judges, pp: low"),
    ("Section 4.4", "S1 loss on LLMBar, all judges, pp: high"),
    # -3 in Section 4.2, 4 here
    ("Section 4.4", "S1 loss on LLMBar, all judges, pp: smallest loss under S1 on LLMBar, as in Section 4.2"),
    # S1 makes two calls (Section 3.3)
    ("Algorithm 1", "at budget 1 Flash can use S1"),
    # the truncation pairs expect A
    ("Section 3.5", "every controlled pair expects a tie"),
    # ties under S1 and S8: Pro 54 and 62, Flash 51 and 65
    ("Section 4.2", "Gemini 2.5 Pro has fewer ties under S8 than under S1"),
    ("Section 4.2", "Gemini 2.5 Flash has fewer ties under S8 than under S1"),
    # Table 4 has p = .735 where the text has .012
    ("Appendix D", "MT-Bench, Gemini 2.5 Pro, S1, no: the p of Table 4"),
    ("Appendix D", "Pro S1 is significant before correction"),
    # Claude, creative writing: +0.00
    ("Appendix E.2", "the other four judges prefer markdown on every topic"),
    # Claude S8 (69.5 at .015) is beaten by Flash S8 (71.0 at .001); Llama S8 costs nothing
    ("Appendix H", "configurations on the frontier"),
    ("Appendix H", "Claude with S8 is on the frontier"),
    ("Appendix H", "Flash with S8 leads on both axes"),
    ("Section 5.4", "Flash with S8 dominates the frontier"),
    # .97 - .70 is 27 points, printed as +0.27 pp
    (
        "Appendix G",
        "row 29: markdown rate of Gemini 2.5 Pro above the upper bound of the human rate, printed with pp",
    ),
    # the sentences name the regression, by whose p Claude S5 (.0009) survives as well
    ("Section 4, claim 3", "MT-Bench: survivors"),
    ("Section 5.3", "MT-Bench: survivors"),
    ("Section 5.3", "comparisons of the regression that survive Holm-Bonferroni"),
    # Table 4 has nine tests, of which four survive at m = 7; seven and two without Flash
    ("Appendix D", "mcnemar_tests_without_correction: value"),
    ("Appendix D", "holm_m: value"),
    ("Appendix D", "MT-Bench: survivors"),
    ("Appendix D", "McNemar tests that remain significant among seven"),
    # 25 truncation pairs expect A
    ("Section 3.5", "every controlled pair expects a tie"),
    # four in Sections 1, 3.2 and 6
    ("Section 4.1.1", "judge families that the round-robin pairs cover"),
    # two calls (Section 3.3)
    ("Section 4.2", "of the strategies of one call, S1 alone helps Flash significantly"),
    # three of the five are marked
    ("Section 4.2", "S1 lowers agreement on LLMBar significantly for every judge"),
    # GPT-4o: S8 .764 above S5 .756; Sections 5.3 and 6 say single strategy
    ("Section 4.4", "S5 is best on LLMBar for Claude, GPT-4o and Llama"),
    ("Section 5.4", "S5 is best on LLMBar for Claude, GPT-4o and Llama"),
    ("Algorithm 1", "S5 is best on LLMBar for Claude, GPT-4o and Llama"),
    # "consistently": GPT-4o -.15 on coding, +.35 on instruction following
    ("Appendix E.2", "style bias is larger on math, factual and coding topics than on the others, for every judge"),
    # GPT-4o: -.04
    ("Appendix F", "judges whose expansion bias at baseline is below zero"),
}

#: Faults of several findings.
FAULTS = {
    "style bias of GPT-4o": 7,
    "two survivors of Holm-Bonferroni where the regression has three": 4,
    "seven McNemar tests where Table 4 has nine": 4,
    "largest loss under S1 on LLMBar": 3,
    "smallest loss under S1 on LLMBar": 4,
    "best strategy of GPT-4o on LLMBar": 3,
    "the p of Pro under S1 in Appendix D": 2,
    "position swap as a strategy of one call": 2,
    "ties under S8 and S1 of Pro and Flash": 2,
    "Claude with S8 on the frontier": 2,
    "Flash with S8 on both axes of the frontier": 2,
}


@pytest.fixture(scope="module")
def findings():
    return published.audit("debiasing")


@pytest.mark.slow
def test_what_does_not_follow_by_name(findings):
    odd = findings[findings["verdict"] == "does not follow"]
    assert set(zip(odd["place"], odd["claim"], strict=True)) == DOES_NOT_FOLLOW
    assert len(odd) == len(DOES_NOT_FOLLOW)


def test_forty_nine_findings_are_twenty_five_faults(findings):
    odd = findings[findings["verdict"] == "does not follow"]
    assert odd.loc[odd["fault"] != "", "fault"].value_counts().to_dict() == FAULTS
    assert (len(odd), len(FAULTS) + (odd["fault"] == "").sum()) == (49, 25)


@pytest.mark.parametrize(
    ("claim", "places", "reading"),
    [
        (  # GPT-4o: S8 .764 above S5 .756
            "S5 is best on LLMBar for Claude, GPT-4o and Llama",
            ["Section 5.3", "Section 6"],
            "without the combined S8",
        ),
        ("S1 lowers agreement on LLMBar significantly", ["Section 5.4"], "for most judges"),  # three of the five
        ("Claude alone prefers the shorter response", ["Section 4.1.1"], "GPT-4o counts as neutral"),  # -.04
        ("S5 is the strongest strategy over both benchmarks for most judges", ["Section 5.4"], "without the combined"),
        ("the McNemar tests carry no family-wise correction", ["Appendix D"], "printed are uncorrected"),  # two daggers
    ],
)
def test_what_holds_under_one_reading(findings, claim, places, reading):
    rows = findings[findings["claim"].eq(claim) & findings["verdict"].eq("depends")]
    rows = rows[rows["comment"].str.contains(reading, regex=False)]
    assert rows["place"].tolist() == places


def test_most_of_it_follows(findings):
    assert (findings["verdict"] == "follows").sum() > 1000
    assert findings.loc[findings["verdict"] == "cannot be decided", "comment"].ne("").all()


@pytest.mark.parametrize(
    ("rule", "place", "n"),
    [("mcnemar", "Table 4", 18), ("holm", "Table 4", 9), ("grim", "Table 8", 30), ("share", "Table 3", 26)],
)
def test_whole_tables_follow(findings, rule, place, n):
    found = findings[(findings["rule"] == rule) & (findings["place"] == place)]
    assert found["verdict"].tolist() == ["follows"] * n


def test_every_kappa_but_one_follows_from_tables_1_and_3(findings):
    kappas = findings[(findings["place"] == "Table 6") & findings["claim"].str.endswith(": kappa")].set_index("claim")
    assert len(kappas) == 25
    left = kappas[kappas["verdict"] != "follows"]
    assert left.index.tolist() == ["GPT-4o, S1, Moderate: kappa"]  # nine gold labels are not known
    assert left["verdict"].tolist() == ["depends"]
    assert left["comment"].str.contains("gold labels of the pairs without a verdict").all()


def test_every_gain_of_the_text_follows(findings):
    gains = findings[findings["claim"].str.endswith("gain_pp")]
    assert len(gains) == 36
    assert gains["verdict"].eq("follows").all()


def test_rates_of_whole_counts_are_exact(findings):
    """A bias over 20 pair-instances, a share of 400 answers or of 30 pairs has no digits left: a unit more is seen."""
    (audited,) = published.audited("debiasing")
    for table, column, row in (("bias_scores", "value", 2), ("cost_frontier", "agreement", 0), ("ranges", "high", 0)):
        cell = (table, row, column)
        (text, own) = audited.book.text(cell), [d for d in audited.cells()[cell] if d.statement.printed == cell]
        more = f"{'+' * text.startswith('+')}{float(text) + 10.0 ** -len(text.partition('.')[2]):.{len(text.partition('.')[2])}f}"
        other = with_cell(audited.book, cell, more)
        assert {d.verdict for d in own} == {"follows"}
        assert any(decide(d.statement, other).verdict == "does not follow" for d in own), (cell, text, more)


def test_a_cell_printed_otherwise_is_seen():
    """Each agreement of Table 1, two units of its last digit higher, changes a verdict (.667 and .668 are both .6675)."""
    audited, seen = published.audited("debiasing")[0], 0
    for (table, row, column), decisions in audited.cells().items():
        if (table, column) == ("table1", "agreement"):
            text = audited.book.text((table, row, column))
            other = with_cell(audited.book, (table, row, column), f".{int(text[1:]) + 2}")
            assert any(decide(d.statement, other).verdict != d.verdict for d in decisions), (row, text)
            seen += 1
    assert seen == 25
