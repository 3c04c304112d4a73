"""The audit of the debiasing paper: what does not follow, by name, and key numbers that do."""

from __future__ import annotations

import pytest

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
}


@pytest.fixture(scope="module")
def findings():
    return published.audit("debiasing")


def test_what_does_not_follow_by_name(findings):
    odd = findings[findings["verdict"] == "does not follow"]
    assert set(zip(odd["place"], odd["claim"], strict=True)) == DOES_NOT_FOLLOW
    assert len(odd) == len(DOES_NOT_FOLLOW)


@pytest.mark.parametrize(
    ("claim", "places", "reading"),
    [
        ("MT-Bench: survivors", ["Section 4, claim 3", "Section 5.3"], "McNemar's p of Table 4"),  # .0009 and .004
        ("comparisons of the regression that survive Holm-Bonferroni", ["Section 5.3"], "McNemar's p of Table 4"),
        (  # GPT-4o: S8 .764 above S5 .756
            "S5 is best on LLMBar for Claude, GPT-4o and Llama",
            ["Section 4.4", "Section 5.3", "Section 5.4", "Section 6", "Algorithm 1"],
            "without the combined S8",
        ),
        (  # three of the five are marked
            "S1 lowers agreement on LLMBar significantly for every judge",
            ["Section 4.2"],
            "the sign for all five, significance for the three",
        ),
        # S1 makes two calls (Section 3.3)
        (
            "of the strategies of one call, S1 alone helps Flash significantly",
            ["Section 4.2"],
            "single means not combined",
        ),
        ("judges whose expansion bias at baseline is below zero", ["Appendix F"], "GPT-4o counts as neutral"),  # -.04
        ("the McNemar tests carry no family-wise correction", ["Appendix D"], "printed are uncorrected"),  # two daggers
        ("Flash with S8 dominates the frontier", ["Section 5.4"], "it lies on the frontier"),  # Llama S8 costs nothing
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


def test_the_seven_tests_depend_on_which_they_are(findings):
    """Table 4 has nine rows; without those of Flash, seven, and two of these survive, as Appendix D says."""
    seven = findings[findings["comment"].str.contains("without Gemini 2.5 Flash")]
    assert seven["verdict"].eq("depends").all()
    assert seven["printed"].tolist() == ["2", "7", "7", "survives: Claude S8; Claude S5"]


def test_a_cell_printed_otherwise_is_seen():
    """Each agreement of Table 1, two units of its last digit higher, changes a verdict (.667 and .668 are both .6675)."""
    audited, seen = published.audited("debiasing")[0], 0
    for (table, row, column), decisions in audited.cells().items():
        if (table, column) == ("table1", "agreement"):
            text = audited.book.text((table, row, column))
            other = audited.book.with_cell((table, row, column), f".{int(text[1:]) + 2}")
            assert any(decide(d.statement, other).verdict != d.verdict for d in decisions), (row, text)
            seen += 1
    assert seen == 25
