"""The main tables of a study, and the cards that its paper's questions make."""

from __future__ import annotations

import re
from html import unescape

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.design import Judge, collect, controlled, controlled_pairs, simulate_replies, study_verdicts
from judgestats.errors import DesignError
from judgestats.reporting.markdown_pages import as_markdown
from judgestats.reporting.page_data import PageArguments, measure_all
from judgestats.reporting.sheets import markdown_text
from judgestats.reporting.study_cards import study_cards
from judgestats.reporting.study_tables import StudyTable

#: The rows of a table of two judges under two strategies.
ROWS = "g · B0, g · S8, h · B0, h · S8"


@pytest.fixture(scope="module")
def controlled_calls():
    """Two judges under B0 and S8; only B0 likes Markdown and the first place."""
    rows = [
        {"item": f"q{i}", "topic": "food", "task_text": "How is tea made?", "role": role, "text": text}
        for i in range(40)
        for role, text in (
            ("markdown", f"**Tea {i} is simple.**\n\n- Boil water.\n- Add the leaves."),
            ("complete", f"Boil water {i} times. Add the leaves. Wait for five minutes. Pour it."),
        )
    ]
    pairs = controlled_pairs(pd.DataFrame(rows), kinds=["position", "style", "length_truncated"])
    plan = controlled(["g", "h"], pairs, strategies=["B0", "S8"])
    plain = {"strategy": {"S8": {"style": {}, "slot_bias": 0.0, "tie_criterion": 3.0}}}
    judges = [
        Judge(n, style={"format": {"markdown": 3.0}}, slot_bias=2.0, tie_criterion=0.3, under=plain) for n in "gh"
    ]
    return collect(plan, simulate_replies(plan, judges, seed=4).to_dict("records"))


def cell(estimates, column, **where):
    rows = estimates[estimates["column"] == column]
    for name, value in where.items():
        rows = rows[rows[name] == value]
    return rows.iloc[0] if len(rows) == 1 else rows


def test_strategies_are_not_pooled_and_position_is_that_of_identical_texts(controlled_calls):
    found = js.study_estimates(controlled_calls)
    single = controlled_calls[controlled_calls["strategy"] == "B0"]
    for judge in "gh":
        own = single[single["judge"] == judge]
        style = js.bias_score(own[own["bias"] == "style"]).query("term == 'bias'")["estimate"].item()
        assert cell(found, "style", judge=judge, strategy="B0")["estimate"] == style > 0.7
        assert abs(cell(found, "style", judge=judge, strategy="S8")["estimate"]) < 0.3
        same = own[own["bias"] == "position"]["choice"].astype(str)
        assert cell(found, "position", judge=judge, strategy="B0")["estimate"] == pytest.approx(
            (same == "first").mean() - (same == "second").mean()
        )
    assert cell(found, "position", strategy="S8").empty


def test_a_column_that_is_not_supported_says_why(controlled_calls):
    row = cell(js.study_estimates(controlled_calls), "own model")
    assert row["flag"].startswith("No pair tests model_origin")
    assert np.isnan(row["estimate"])


def test_the_page_has_no_first_position_preference_of_pairs_made_in_one_order(controlled_calls):
    page = measure_all(controlled_calls, PageArguments(study=True))
    assert "position_bias" not in [c.term for c in page.summary.columns]
    heads = {c.head: c for c in page.summary.cards}
    assert {"Which bias is largest?", "Is it biased by position?"} <= set(heads)
    assert "style" in heads["Which bias is largest?"].claim
    assert "B0" in heads["Is it biased by position?"].claim
    assert page.measured["n_calls"].max() == 2
    assert page.rows.groups == ["strategy"]


def test_a_gain_is_said_where_it_survives_the_correction():
    items = [str(i) for i in range(200)]
    base = pd.DataFrame({"judge": "g", "item": items, "first": "u", "second": "v", "gold": ["u", "v"] * 100})
    right = base["gold"].map({"u": "first", "v": "second"})
    flat = base.assign(strategy="B0", choice="first")
    calls = pd.concat([flat, base.assign(strategy="S4", choice=right), flat.assign(strategy="S5")], ignore_index=True)
    card = next(c for c in measure_all(calls, PageArguments(study=True)).summary.cards if "change accuracy" in c.head)
    assert card.claim == "g · S4, +50 points"
    same = pd.concat([flat, flat.assign(strategy="S5")], ignore_index=True)
    card = next(c for c in measure_all(same, PageArguments(study=True)).summary.cards if "change accuracy" in c.head)
    assert card.claim == "No change from B0 survives correction"


def test_a_card_says_the_unit_of_its_column():
    values = {"judge": ["g", "h"], "estimate": [61.93, -3.0], "conf_low": [40.2, -20.0], "conf_high": [80.4, 14.0]}
    rows = pd.DataFrame({**values, "column": "attenuation, %", "method": "delta", "n": 60.0, "flag": ""})
    (card,) = study_cards("rubric", [StudyTable("Attenuation", "", ("judge",), rows)], 0.95)
    assert card.claim == "g, +62\u202f%"
    assert card.detail.startswith("95\u202f% interval 40 to 80\u202f%; the largest of 2")


def test_calls_of_no_study_are_refused(controlled_calls, tmp_path):
    calls = controlled_calls[["judge", "item", "first", "second", "choice"]].drop_duplicates(["judge", "item"])
    for call in (lambda: js.study_estimates(calls), lambda: js.report(calls, tmp_path / "page.html", study=True)):
        with pytest.raises(DesignError, match="of no study"):
            call()


def test_the_page_as_markdown_has_the_tables_first(controlled_calls, tmp_path):
    text = js.report(controlled_calls, tmp_path / "page.md", study=True).read_text(encoding="utf-8")
    heads = [line for line in text.splitlines() if line.startswith("## ")]
    assert heads[0] == "## Bias by strategy"
    assert "| g | B0 |" in text


def test_a_flag_under_a_table_says_which_rows_and_columns_it_is_of(controlled_calls, tmp_path):
    """The lines under the first table of the page, against the flags of its estimates."""
    calls = controlled_calls[(controlled_calls["judge"] == "g") | (controlled_calls["item"].str[-3:] < "008")]
    table = js.report(calls, tmp_path / "page.html", study=True).read_text(encoding="utf-8").split("<h2>")[1]
    lines = re.findall(r'<p class="small caution-of">(.*?)</span></p>', table)
    read = set()
    for line in lines:
        flag, where = (
            unescape(x) for x in re.fullmatch(r'<span class="flag.*?>(.*?)</span> <span>(.*)', line).groups()
        )
        for part in where.split("; "):
            column, _, rows = part.partition(": ")
            read |= {(flag, column, row) for row in re.findall(r"[gh] · \w+", rows.replace("all rows", ROWS))}
    found = js.study_estimates(calls)
    first = found[found["table"] == found["table"].iloc[0]].dropna(subset=["judge"])
    want = {
        (flag, row["column"], f"{row['judge']} · {row['strategy']}")
        for row in first.to_dict("records")
        for flag in filter(None, row["flag"].split("; "))
    }
    assert read == want
    assert len({row for _, _, row in want}) > 1


def test_a_wide_table_has_every_cell_once():
    columns = ["term", "estimate", "std_error", "conf_low", "conf_high", "n", "method", "flag"]
    rows = pd.DataFrame(
        [("t", 0.5, 0.1, 0.25, 0.75, 9, "", ""), ("p_value", 0.0001, 0.1, np.nan, np.nan, 9, "", "")], columns=columns
    )
    table = StudyTable("T", "", ("judge",), rows.assign(judge=["g", "h"], column=["a", "b"]))
    assert table.wide() == (["judge", "a", "b"], [["g", "0.50 [0.25, 0.75]", "—"], ["h", "—", "< 0.001"]])


def test_a_cell_without_a_number_says_why_and_so_does_a_line():
    columns = ["term", "estimate", "std_error", "conf_low", "conf_high", "n", "method", "flag"]
    none = (np.nan, np.nan, np.nan, np.nan)
    rows = pd.DataFrame(
        [("t", 0.5, 0.1, 0.25, 0.75, 9, "", ""), ("t", *none, 0, "", "3 ties excluded; no data"), ("u", *none, 0, "", "")],
        columns=columns,
    )  # fmt: skip
    table = StudyTable("T", "", ("judge",), rows.assign(judge=["g", "h", "h"], column=["a", "a", "b"]))
    assert table.wide()[1] == [["g", "0.50 [0.25, 0.75]", "—"], ["h", "n/a", "n/a"]]
    assert table.no_numbers() == {(0, 2): "the design has none", (1, 1): "no data", (1, 2): "no data"}
    assert table.without_numbers() == [
        "No number (the design has none): b: g.",
        "No number (no data): a: h; b: h.",
    ]


def test_a_table_of_a_study_without_a_number_is_a_line(controlled_calls, tmp_path):
    calls = controlled_calls.assign(choice="invalid")
    text = js.report(calls, tmp_path / "page.html", study=True).read_text(encoding="utf-8")
    study = re.search(r'<section aria-label="Study".*?</section>', text, re.S)[0]
    assert "<h2>Bias by strategy</h2>" in study
    assert "<table" not in study
    assert re.search(r"No number \(.*\): .*(position|style)", study)


def test_verdicts_by_the_rules_are_taken_as_calls_are(controlled_calls):
    pd.testing.assert_frame_equal(
        js.study_estimates(study_verdicts(controlled_calls)), js.study_estimates(controlled_calls)
    )


def test_the_markdown_page_has_the_cautions_of_each_table_and_explains_them():
    items = [str(i) for i in range(20)]
    base = pd.DataFrame({"judge": "g", "item": items, "first": "u", "second": "v", "gold": "u"})
    said = ["first"] * 15 + ["invalid"] * 5
    calls = pd.concat([base.assign(strategy=s, choice=said) for s in ("B0", "S4")], ignore_index=True)
    page = measure_all(calls, PageArguments(study=True))
    text = as_markdown(page)
    cautions = page.tables[0].cautions()
    assert cautions["5 invalid calls excluded"].startswith("accuracy: all rows")
    for flag, where in cautions.items():
        assert f"- {markdown_text(flag)}: {markdown_text(where)}" in text
    explained = text.partition("## Cautions flagged on this page")[2]
    assert all(f"- {markdown_text(flag)}: " in explained for flag in ("5 invalid calls excluded", "n < 30"))
