"""What follows of the rationalization paper, and what does not: each exception with its arithmetic."""

import pytest

from findings import changed, saying
from judgestats import published
from judgestats.metrics.invariance import anchoring
from judgestats.published import paper_tables as paper

PROBES = {"Table VI": "truth", "Table VII": "flip", "Table VIII": "placebo"}


@pytest.fixture(scope="module")
def found():
    return published.audit("rationalization")


@pytest.fixture(scope="module")
def movements(found):
    """The cells of Tables VI to VIII, each against the counts."""
    rows = found[found["place"].isin(list(PROBES)) & found["rule"].eq("formula")].copy()
    parts = rows["claim"].str.extract(r"^(?P<judge>.+), (?P<scheme>.+): (?P<term>LDS|TS|OLS), gain")
    return rows.join(parts)


def test_what_does_not_follow_beside_the_movements(found, movements):
    odd = found.drop(movements.index)
    odd = odd[odd["verdict"] == "does not follow"]
    room, twin = (
        "gains are no more than the Blind share of what does not gain",
        "values unlike those of the other groups",
    )
    assert sorted(zip(odd["place"], odd["claim"], strict=True)) == sorted(
        [
            ("Ablation H", "Qwen under Baseline moves to Tie under Placebo"),  # 0 ties in Table II, 0 in Table V
            # |540 - 460| / 1000 = 0.080; printed 0.018, twice
            ("Section V.D.1", "Gemma-2-9B, Baseline, Blind, ND, point, no: |[1,2] - [2,1]| as a share, from Table II"),
            ("Section V.D.1", "ND of Gemma under Baseline, again"),
            # Qwen: 0 / 0.576 = 0; of the others 0.587 / (0.587 + 0.326) = 0.64; printed 0.68
            ("Section V.E", "all, SCoT, Placebo, LAO, low, yes: lowest LAO from Table VIII"),
            # under Flip the Baseline has 0 and PBP 0.27
            ("Section V.E", "PBP has the lowest LAO under Truth, Flip and Placebo, on average over the judges"),
            # "consistent across models": Mistral 0.122 under SCoT, 0.100 under Baseline
            ("Section V.D.1", "neutrality deviation: PBP below SCoT below Baseline, for every judge"),
            ("Section V.D.1", "the Baseline has the largest neutrality deviations"),
            ("Tables II to VIII", "the parts of Tables VI to VIII are the gains between Tables II to V, cell by cell"),
            (
                "Tables VII and VIII",
                "no LDS of SCoT is, to the last digit, the gain of another side under another probe",
            ),
            ("Table II", "Mistral-7B, PBP: tie + llm + tradml is 1000"),  # 824 + 93 + 88 = 1005
            ("Table V", "Mistral-7B, PBP: tie + llm + tradml is 1000"),  # 816 + 97 + 92 = 1005
            ("Table VI", f"Gemma-2-9B, Baseline: {room}"),  # 0.509 moves to [1,2]; [2,1] had 0.460
            ("Table VI", f"Gemma-2-9B, SCoT: {twin}, as Zephyr-7B, SCoT do"),  # 0.583, 0.000, 0.041 in both
            ("Table VI", f"Zephyr-7B, SCoT: {twin}, as Gemma-2-9B, SCoT do"),
            # Section IV.C c: [2,1]; caption: [1,2]
            ("Table VII", "the favoured side under Flip is the same in Section IV.C c and in the caption of Table VII"),
            ("Table VIII", f"Gemma-2-9B, SCoT: {room}"),  # 0.586 + 0.279 = 0.865 of 0.840 ties
            ("Table VIII", f"Llama-3.1-8B, Baseline: {room}"),  # 0.180 + 0.084, both sides gain, of no ties
            ("Table VIII", f"Llama-3.1-8B, SCoT: {room}"),  # 0.560 + 0.302 = 0.862 of 0.804
            ("Table VIII", f"Mistral-7B, Baseline: {room}"),  # 0.490 of 0.450
            ("Table VIII", f"Mistral-7B, SCoT: {room}"),  # 0.688 + 0.236 = 0.924 of 0.710
            ("Table VIII", f"Zephyr-7B, SCoT: {room}"),  # 0.587 + 0.326 = 0.913 of 0.735
            # 0.270 into Tie, where Table V prints 0 ties
            ("Table VIII", "Qwen2.5-7B, Baseline: gain of Tie is no more than the ties of Table V"),
        ]
    )


def test_near_zero_has_no_printed_bound(found):
    row = found[found["claim"] == "most LAO of PBP under Flip are near zero"]  # 0.64, 0.43, 0.00, 0.30, 0.00
    assert row["verdict"].tolist() == ["depends"]
    assert "depends on: less than what the section calls moderate under Placebo:" in row["comment"].item()


def test_how_many_movements_follow_from_the_counts(movements):
    counts = movements.groupby("place")["verdict"].value_counts().unstack(fill_value=0)
    assert counts.to_dict("index") == {
        "Table VI": {"does not follow": 6, "follows": 39},
        "Table VII": {"does not follow": 15, "follows": 30},
        "Table VIII": {"does not follow": 26, "follows": 19},
    }


@pytest.mark.parametrize(
    ("place", "judge", "scheme", "term", "printed", "value"),
    [
        ("Table VI", "Gemma-2-9B", "Baseline", "LDS", "0.509", 0.460),  # 1000 - 540
        ("Table VI", "Gemma-2-9B", "SCoT", "OLS", "0.041", 0.042),  # 105 - 63
        ("Table VI", "Zephyr-7B", "SCoT", "LDS", "0.583", 0.663),  # 805 - 142
        ("Table VI", "Zephyr-7B", "SCoT", "OLS", "0.041", 0.0),  # 67 - 123
        ("Table VII", "Mistral-7B", "Baseline", "OLS", "0.250", 0.450),  # 1000 - 550
        ("Table VII", "Llama-3.1-8B", "SCoT", "LDS", "0.081", 0.069),  # 155 - 86
        ("Table VII", "Zephyr-7B", "PBP", "TS", "0.003", 0.0),  # 897 - 897
        ("Table VIII", "Qwen2.5-7B", "SCoT", "OLS", "0.576", 0.666),  # 770 - 104
        ("Table VIII", "Qwen2.5-7B", "Baseline", "OLS", "0.000", 0.230),  # 770 - 540
        ("Table VIII", "Qwen2.5-7B", "Baseline", "TS", "0.270", 0.0),
        ("Table VIII", "Mistral-7B", "PBP", "LDS", "0.000", 97 / 1005 - 93 / 1005),
    ],
)
def test_a_movement_by_hand(movements, place, judge, scheme, term, printed, value):
    asked = [place, judge, scheme, term]
    row = movements[movements[["place", "judge", "scheme", "term"]].eq(asked).all(axis=1)].iloc[0]
    assert (row["printed"], row["verdict"]) == (printed, "does not follow")
    assert row["recomputed"] == pytest.approx(value, abs=1e-12)


def test_the_public_measure_gives_each_movement(movements):
    result = anchoring(paper.outcomes(), favoured=paper.FAVOURED, n_resamples=1)
    twins = result.set_index(["judge", "scheme", "probe", "term"])["estimate"]
    keys = zip(movements["judge"], movements["scheme"], movements["place"].map(PROBES), movements["term"], strict=True)
    want = [twins.loc[(judge, scheme, probe, term.lower())] for judge, scheme, probe, term in keys]
    assert len(want) == 3 * 45
    assert movements["recomputed"].astype(float).tolist() == pytest.approx(want, abs=1e-12)


def test_a_table_has_one_favoured_side(movements):
    """[2,1] gives seven cells of Table VII above zero, [1,2] of its caption none: it excuses no single cell."""
    cell = movements["judge"].eq("Qwen2.5-7B") & movements["scheme"].eq("SCoT") & movements["term"].eq("OLS")
    row = movements[cell & movements["place"].eq("Table VII")].iloc[0]
    assert (row["printed"], row["recomputed"], row["verdict"]) == ("0.000", pytest.approx(0.693), "does not follow")


def test_cells_that_are_gains_of_the_wrong_probe(found):
    """Printed under Flip: the gains of [2,1] under Placebo; printed under Placebo: the gain of [1,2] under Flip."""
    blind, flip, placebo = (
        published.load(f"rationalization/table{i}").set_index(["judge", "scheme"]) for i in (2, 4, 5)
    )
    seven, eight = (published.load(f"rationalization/table{i}").set_index(["judge", "scheme"])["lds"] for i in (7, 8))
    for judge in ("Llama-3.1-8B", "Qwen2.5-7B", "Zephyr-7B"):
        gain = placebo.loc[(judge, "SCoT"), "tradml"] - blind.loc[(judge, "SCoT"), "tradml"]
        assert float(seven[judge, "SCoT"]) == gain / 1000
    gain = flip.loc[("Gemma-2-9B", "SCoT"), "llm"] - blind.loc[("Gemma-2-9B", "SCoT"), "llm"]
    assert float(eight["Gemma-2-9B", "SCoT"]) == gain / 1000
    row = saying(found, "the gain of another side under another probe").iloc[0]
    assert all(part in row["comment"] for part in ("0.081 == (167 - 86)", "0.666 == (770", "0.019 ==", "0.586 == (683"))


def test_sixty_nine_findings_are_ten_faults(found):
    odd = found[found["verdict"] == "does not follow"]
    sizes = odd.loc[odd["fault"] != "", "fault"].value_counts().to_dict()
    assert sizes == {
        "Tables VI to VIII are not the gains between Tables II to V": 53,
        "Gemma's Blind share under Baseline": 4,
        "Zephyr's SCoT row of Table VI is Gemma's": 4,
        "neutrality deviation of Mistral: SCoT above Baseline": 2,
        "Gemma's OLS under SCoT is one unit off": 1,
    }
    assert (odd["fault"] == "").sum() == 5
    assert (found.loc[found["verdict"] != "does not follow", "fault"] == "").all()


def test_neutrality_of_gemma_fits_tables_iii_and_vi_and_not_table_ii(found):
    """1.000 - 0.509 = 0.491 of [1,2] under Blind, and |2 x 0.491 - 1| = 0.018; Table II prints 540."""
    from_two = saying(found, "as a share, from Table II", place="Section V.D.1")
    from_three = saying(found, "less LDS of Table VI", place="Section V.D.1")
    assert from_three["printed"].tolist() == ["0.018", "0.060", "0.100", "0.080", "0.020"]
    assert set(from_three["verdict"]) == {"follows"}
    gemma = from_two[from_two["printed"] == "0.018"].iloc[0]
    assert (gemma["recomputed"], gemma["verdict"]) == (pytest.approx(0.08), "does not follow")
    assert (from_two.drop(gemma.name)["verdict"] == "follows").all()


def test_the_text_repeats_its_tables_without_a_slip(found):
    repeated = found[found["rule"].eq("same") & found["place"].str.startswith("Ablation")]
    printed = published.load("rationalization/ablation", printed=True)
    single = printed["bound"].eq("point") & printed["judge"].ne("all") & printed["probe"].ne("all")
    single &= ~printed["quantity"].isin(["EDR", "ND"])
    assert len(repeated) == single.sum() > 100
    assert set(repeated["verdict"]) == {"follows"}
    one_of_several = found[found["place"].isin(["Ablation I", "Ablation J"])]
    assert set(one_of_several["verdict"]) == {"follows"}


@pytest.mark.parametrize(
    ("claim", "on"),
    [
        ("highest LAO from Table VIII", "the counts of Tables II and V"),  # Mistral 674 / 674; by Table VIII 0.74
        ("all, Baseline/SCoT, Reveal-After, revision, low, no", "a bound in steps of five"),  # 76, printed 75
        ("selects [1,2] almost exclusively under Truth", "on average over the judges"),  # 92.2%; Qwen 75.0%
        ("SCoT anchors less than Baseline under Truth", "on average, by the share of [1,2]"),  # Qwen 867, 750
        ("verdicts of the Baseline move to the label's side under Flip", "the favoured side is [1,2]"),
        ("both mitigations reduce the movement", "LAO, on average over the judges"),  # SCoT LDS is larger five times
        ("two candidates a decision need twice as many summaries", "1,000 documents are meant"),
    ],
)
def test_what_a_verdict_depends_on(found, claim, on):
    rows = saying(found, claim)
    rows = rows[rows["verdict"] != "follows"]
    assert len(rows) > 0
    assert set(rows["verdict"]) == {"depends"}
    assert rows["comment"].str.contains(f"depends on: {on}", regex=False).all()


@pytest.mark.parametrize(
    ("claim", "printed", "value"),
    [
        ("all, PBP, Truth, LAO, high, yes: highest LAO from Table VI", "0.77", 10 / 13),
        ("all, SCoT, Truth, LAO, low, yes: lowest LAO from Table VI", "0.91", 550 / 606),
        ("some, PBP, Placebo, LAO, high, yes: highest LAO above 0 from Table VIII", "0.63", 10 / 16),
        ("all, PBP, Blind, EDR, low, yes: lowest share of ties in Table II", "0.82", 824 / 1005),
        ("all, SCoT, Blind, ND, high, yes: highest |[1,2] - [2,1]| as a share, from Table II", "0.122", 122 / 1000),
    ],
)
def test_the_numbers_a_reader_looks_for(found, claim, printed, value):
    rows = found[found["claim"] == claim]
    assert len(rows) > 0
    assert set(rows["printed"]) == {printed}
    assert set(rows["verdict"]) == {"follows"}
    assert rows["recomputed"].astype(float).tolist() == pytest.approx([value] * len(rows), abs=1e-6)


def test_what_needs_unprinted_data_is_not_decided(found):
    open_ = found[found["verdict"] == "cannot be decided"]
    assert len(open_) == 5
    assert (open_["comment"].str.len() > 0).all()
    assert {"the reduction is significant", "the order of the schemes is statistically salient"} <= set(open_["claim"])


@pytest.mark.parametrize(
    ("cells", "claim"),
    [
        ({("table4", 1, "tie"): "211"}, "tie + llm + tradml is 1000"),
        ({("table9", 12, "tradml"): "31"}, "llm + tradml is 1000"),
        ({("table6", 3, "lds"): "0.391"}, "LDS, gain of the favoured side"),
        ({("table6", 3, "lds"): "0.533"}, "gains are no more than the Blind share"),  # [2,1] had 0.530
        ({("results", 36, "value"): "86"}, "highest of the values listed per judge"),
    ],
)
def test_a_cell_printed_otherwise_is_found(cells, claim):
    assert any(claim in c and v == "does not follow" for c, v in changed("rationalization", cells).items())
