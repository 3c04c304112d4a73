"""Printed tables in the layout of their papers."""

import re

import pytest

import judgestats as js
from judgestats.errors import AuditError
from judgestats.reporting import printed_layout


def test_every_number_stands_where_it_is_printed():
    page = printed_layout("debiasing/table1", rows="judge", columns="strategy", values="agreement").as_raw_html()
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", r, re.S) for r in re.findall(r"<tr>(.*?)</tr>", page, re.S)]
    texts = {r[0]: [re.sub(r"<small>.*?</small>|<[^>]+>", "", c) for c in r[1:]] for r in rows if len(r) > 1}
    printed = js.published.load("debiasing/table1", printed=True)
    assert texts == printed.groupby("judge", sort=False)["agreement"].agg(list).to_dict()


def test_what_does_not_follow_is_marked_with_what_the_others_give():
    page = printed_layout("rationalization/table8", rows=["judge", "scheme"], values=["lds", "ts", "ols"]).as_raw_html()
    cells = js.audit("rationalization").query("table == 'table8' and column in ['lds', 'ts', 'ols']")
    worst = cells.groupby(["row", "column"])["verdict"].agg(lambda v: "does not follow" in set(v))
    assert (page.count("<small> ✗"), page.count("<small> ✓")) == (worst.sum(), (~worst).sum()) == (26, 19)
    assert page.count("background: #f8d5d0") == 26
    reproduced = js.published.reproduce("rationalization").query(
        "place == 'Table VIII' and verdict == 'does not follow'"
    )
    assert [s for s in reproduced["shown"] if f"✗ {s}</small>" not in page] == []


def test_a_number_opens_to_its_arithmetic():
    html = printed_layout("debiasing/table3", rows=["judge", "strategy"], values=["a", "b", "tie", "tie_percent"])
    page = html.as_raw_html()
    comments = js.audit("debiasing").query("table == 'table3' and column == 'tie_percent'")["comment"]
    assert len(comments) > 0
    assert [
        c for c in comments if c and c not in re.sub("&#x27;", "'", page).replace("&lt;", "<").replace("&gt;", ">")
    ] == []


def test_of_many_statements_the_first_are_shown_and_those_that_do_not_follow_before_others():
    page = printed_layout("rationalization/table2", rows="judge", columns="scheme", values="llm").as_raw_html()
    opened = re.findall(r"</summary><small>(.*?)</small></details>", page, re.S)
    assert max(len(re.findall(r", (?:follows|does not follow|depends)", text)) for text in opened) == 3
    assert max(int(m[1]) for text in opened if (m := re.search(r"; (\d+) more$", text))) > 10
    wrong = [text for text in opened if "does not follow" in text]
    assert wrong
    assert all(re.match(r"[^:]*, does not follow: ", text) for text in wrong)


def test_a_number_and_its_sign_stay_on_one_line():
    page = printed_layout("debiasing/table1", rows="judge", columns="strategy", values="agreement").as_raw_html()
    summaries = re.findall(r"<summary[^>]*>", page)
    assert len(summaries) > 10
    assert all("white-space: nowrap" in s for s in summaries)


def test_values_under_each_level_have_a_head_over_them():
    page = printed_layout(
        "merchant_risk/table1", rows="system", columns="criterion", values=["mean", "sd"]
    ).as_raw_html()
    assert re.findall(r'<span class="gt_column_spanner">(.*?)</span>', page)[:2] == ["accuracy", "quality"]
    assert "Table 1" in page


def test_an_unknown_table_lists_them():
    with pytest.raises(AuditError, match=r"no table 'table99'.*table1"):
        printed_layout("debiasing/table99", rows="judge", values="agreement")


@pytest.mark.parametrize("wrong", [{"rows": "nobody"}, {"values": "nothing"}, {"columns": "nowhere"}])
def test_an_unknown_column_lists_them(wrong):
    arguments = {"rows": "judge", "columns": "metric", "values": "estimate"} | wrong
    (name,) = wrong.values()
    with pytest.raises(AuditError, match=f"'dark_current/table6' has no column '{name}'.*Columns: "):
        printed_layout("dark_current/table6", **arguments)
