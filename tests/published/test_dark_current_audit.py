"""What follows of the dark_current paper: everything that other printed numbers bear on."""

import pytest

from findings import with_cell
from judgestats import published
from judgestats.published.statements import decide
from judgestats.published.table_audits import audited


@pytest.fixture(scope="module")
def whole():
    return audited("dark_current")[0]


@pytest.fixture(scope="module")
def found():
    return published.audit("dark_current")


def test_nothing_contradicts_and_what_is_open_is_known(found):
    assert set(found["verdict"]) == {"follows", "cannot be decided"}
    open_ = found[found["verdict"] == "cannot be decided"]
    # the fit and the lengths need what is not printed
    assert set(open_["claim"]) == {
        "Llama8B reaches 0.75 at step 4 of the isotonic fit",
        "ladder candidates are matched in length",
    }


def test_27_wilson_rows_of_table_6(found):
    rows = found[(found["rule"] == "interval") & (found["place"] == "Table 6")]
    assert len(rows) == 3 * 27
    assert (rows["verdict"] == "follows").all()


def test_d_prime_at_ceiling(found):
    rows = found[found["claim"].str.contains("log-linear", regex=False)]
    # twice the normal quantile of 10.5 / 11
    assert list(rows["recomputed"].astype(float).round(4)) == [3.3812] * 4


def test_one_sided_commits_of_qwen32b_in_whole_pairs(found):
    row = found[found["claim"].str.startswith("Qwen32B: one-sided")]
    # 31 non-ties of 120 calls, 0 stable and 5 positional of 60 pairs: 31 - 2 (0 + 5) = 21 one-sided, 34 without preference
    assert row["verdict"].item() == "follows"
    shown = found[found["printed"].eq("0.5667") & found["rule"].eq("formula")]
    assert float(shown["recomputed"].item()) == pytest.approx(34 / 60, abs=1e-12)


def test_what_is_not_said_is_not_checked(found):
    """Six levels of ten tasks are 60 as well as the printed pairs are; how these are spread over levels is not said."""
    assert not found["claim"].str.contains("for each level of each task").any()


@pytest.mark.parametrize(
    ("table", "where", "column", "text", "broken"),
    [
        ("table6", {"judge": "Qwen32B", "metric": "Δ0 tie rate"}, "estimate", "0.7333", "Table 6"),
        ("table6", {"judge": "Qwen14B", "metric": "Δ1 tie rate"}, "conf_high", "0.0380", "Table 6"),
        ("table3", {"judge": "Llama8B"}, "positional_false_preference", "0.957", "Table 3"),
        ("table4", {"metric": "ΔQ = 1 wrong-choice rate", "arm": "strict"}, "estimate", "0.0100", "Table 4"),
        ("table4", {"metric": "pair-level Δ0 no-preference", "arm": "baseline"}, "estimate", "0.5668", "Table 4"),
        ("table4", {"metric": "ΔQ = 1 wrong-choice rate", "arm": "baseline"}, "estimate", "0.0001", "Table 4"),
        ("design", {"step": "1"}, "calls", "101", "Section 3.3"),
    ],
)
def test_a_changed_cell_is_noticed(whole, table, where, column, text, broken):
    cell = (table, whole.book.rows(table, where)[0], column)
    changed = with_cell(whole.book, cell, text)
    verdicts = {
        d.statement.place for d in whole.cells()[cell] if decide(d.statement, changed).verdict == "does not follow"
    }
    assert any(place.startswith(broken) for place in verdicts)
