"""The numbers of the debiasing paper, recomputed through the public functions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from judgestats import published
from judgestats.errors import AuditError
from judgestats.metrics.bias import compare_strategies, pareto_front, recommend
from judgestats.metrics.correctness import gold_agreement
from measured import debiasing as measured
from measured import debiasing_tables as counts

#: What does not follow from the paper's other numbers: place, quantity, printed, recomputed.
DOES_NOT_FOLLOW = {
    ("Table 2", "GPT-4o, S5, agreement", "0.756", "0.754"),
    ("Section 4.4", "best strategy of GPT-4o on LLMBar", "S5", "S8"),
    ("Section 5.3", "best strategy of GPT-4o on LLMBar", "S5", "S8"),
    ("Table 3", "GPT-4o, S1, verdicts", "400", "391"),
    ("Table 3", "GPT-4o, S5, verdicts", "400", "399"),
    ("Section 4, claim 3", "survivors of Holm over 20", "2", "3"),
    ("Section 5.3", "survivors of Holm over 20", "2", "3"),
    ("Appendix D", "Gemini 2.5 Pro, S1, p of McNemar", "0.012", "0.735"),
    ("Section 4.1", "GPT-4o, B0, style", "+0.31", "+0.10"),
    ("Section 4, claim 2", "truncation accuracy, low", "0.92", "0.88"),
    ("Table 3 caption", "tie rate on MT-Bench, percent, high", "31", "33"),
    ("Section 4.2", "S1 change on LLMBar, all judges, pp, low", "-13", "-11"),
    ("Section 4.2", "S1 change on LLMBar, all judges, pp, high", "-3", "-2"),
    ("Section 5.4", "S1 change on LLMBar, pp, low", "-13", "-11"),
    ("Section 5.4", "S1 change on LLMBar, pp, high", "-3", "-2"),
    ("Section 4.4", "S1 loss on LLMBar, all judges, pp, low", "4", "2"),
    ("Section 4.4", "S1 loss on LLMBar, all judges, pp, high", "13", "11"),
    ("Appendix H", "points on the frontier", "3", "2"),
    ("Appendix H", "Claude Sonnet 4, S8, on the frontier", "yes", "no"),
    *(
        (place, f"style bias at B0{rest}, low", "0.31", "0.10")
        for place, rest in [
            ("Abstract", ", five judges"),
            ("Section 1", ""),
            ("Section 4, claim 1", ", five judges"),
            ("Figure 1 caption", ", five judges"),
            ("Section 6", ", five judges"),
            ("Broader Impact Statement", ""),
        ]
    ),
}


@pytest.fixture(scope="module")
def checks():
    rows = [(c.place, c.quantity, c.printed, c.shown, c.verdict) for c in measured.checks()]
    return pd.DataFrame(rows, columns=["place", "quantity", "printed", "shown", "verdict"])


def test_what_follows_and_what_does_not(checks):
    odd = checks[checks["verdict"] != "follows"]
    assert set(odd.drop(columns="verdict").itertuples(index=False, name=None)) == DOES_NOT_FOLLOW
    assert len(odd) == len(DOES_NOT_FOLLOW)
    assert (checks["verdict"] == "follows").sum() > 590


def test_mcnemar_of_table_4():
    printed = published.load("debiasing/table4", printed=True).set_index(["judge", "strategy"])
    got = compare_strategies(counts.discordant_counts().drop(columns="pairs"), n_tests=20, baseline="B0").set_index(
        ["judge", "strategy"]
    )
    assert len(got) == 9
    for key, r in printed.iterrows():
        row = got.loc[key]
        assert f"{row['statistic']:.2f}" == r["chi2"]
        if r["p"].startswith("<"):
            assert row["p_value"] < 0.0001
        else:
            assert f"{row['p_value']:.{len(r['p']) - 2}f}" == r["p"]
        assert row["survives"] == ("†" in r["marks"])
        assert np.isnan(row["estimate"])


@pytest.mark.slow
def test_holm_needs_the_tests_that_are_not_printed():
    table = counts.discordant_counts()
    assert compare_strategies(table, n_tests=20, pairs="pairs", baseline="B0")["survives"].sum() == 2
    assert compare_strategies(table, n_tests=9, pairs="pairs", baseline="B0")["survives"].sum() == 4
    assert compare_strategies(table, adjust="none", pairs="pairs", baseline="B0")["survives"].sum() == 5


def test_net_gains_are_the_differences_of_table_1():
    got = compare_strategies(counts.discordant_counts(), pairs="pairs", baseline="B0").set_index(["judge", "strategy"])
    for (judge, strategy), row in got.iterrows():
        ks, k0 = (counts.correct("MT-Bench", judge, s) for s in (strategy, "B0"))
        if (judge, strategy) == ("GPT-4o", "S1"):  # 391 of the 400 have both verdicts
            assert row["estimate"] == 9 / 391
        else:
            assert row["estimate"] == pytest.approx((ks - k0) / 400, abs=1e-12)


@pytest.mark.slow
def test_kappa_of_table_6_from_whole_tables():
    """Any table with the margins of Table 3 and the agreement of Table 1 has the kappa of Table 6."""
    table3 = published.load("debiasing/table3").set_index(["judge", "strategy"])[["a", "b", "tie"]].astype(int)
    kappas = published.load("debiasing/table6", printed=True).set_index(["judge", "strategy"])["kappa"]
    gold = table3.xs("Gold labels", level="judge").to_numpy()[0]
    done = 0
    for (judge, strategy), printed in kappas.items():
        margin = table3.loc[(judge, strategy)].to_numpy()
        if margin.sum() != 400:
            continue
        whole = with_margins(margin, gold, counts.correct("MT-Bench", judge, strategy))
        row = gold_agreement(whole).set_index("term")
        assert f"{row.loc['kappa', 'estimate']:.3f}" == printed
        assert row.loc["kappa", "conf_low"] < float(printed) < row.loc["kappa", "conf_high"]
        done += 1
    assert done == 23


def with_margins(judge: np.ndarray, gold: np.ndarray, agreed: int) -> pd.DataFrame:
    """A tally with these margins and so many on the diagonal."""
    slots = ["first", "second", "tie"]
    for d in np.ndindex(*(np.minimum(judge, gold) + 1)[:2]):
        diagonal = np.array([*d, agreed - sum(d)])
        rows, columns = judge - diagonal, gold - diagonal
        if (diagonal < 0).any() or (rows < 0).any() or (columns < 0).any():
            continue
        for x in range(
            min(rows[0], columns[1]) + 1
        ):  # the rest of a 3 x 3 table with an empty diagonal has one freedom
            t = np.diag(diagonal)
            t[0, 1], t[0, 2] = x, rows[0] - x
            t[2, 1], t[1, 2] = columns[1] - x, columns[2] - t[0, 2]
            t[1, 0], t[2, 0] = rows[1] - t[1, 2], rows[2] - t[2, 1]
            if (t >= 0).all() and t[:, 0].sum() == gold[0]:
                cells = [
                    ("g", "correct" if i == j else "tie" if i == 2 else "wrong", slots[i], slots[j], t[i, j])
                    for i in range(3)
                    for j in range(3)
                ]
                return pd.DataFrame(cells, columns=["judge", "outcome", "answer", "gold_answer", "n"])
    raise AssertionError("no table has these margins")


def test_frontier_of_appendix_h():
    points = published.load("debiasing/cost_frontier")
    points = points[points["place"] == "Appendix H"].assign(
        cost=lambda t: t["cost_usd"].astype(float), estimate=lambda t: t["agreement"].astype(float)
    )
    got = pareto_front(points).set_index("judge")
    assert got["on_front"].to_dict() == {"Claude Sonnet 4": False, "Gemini 2.5 Flash": True, "Llama 3.3-70B": True}
    assert got.loc["Claude Sonnet 4", "dominated_by"] == "Gemini 2.5 Flash / S8"


@pytest.mark.slow
def test_advice_from_table_4():
    """Algorithm 1's advice for Claude and Flash follows from the tests; the one for Llama does not survive Holm."""
    got = recommend(counts.discordant_counts(), n_tests=20, pairs="pairs", baseline="B0").set_index("judge")
    assert got["advice"].to_dict() == {
        "Claude Sonnet 4": "S8",
        "GPT-4o": "B0",
        "Gemini 2.5 Flash": "S8",
        "Gemini 2.5 Pro": "B0",
        "Llama 3.3-70B": "B0",
    }
    printed = {"Claude Sonnet 4": "S8", "GPT-4o": "B0", "Gemini 2.5 Flash": "S8", "Gemini 2.5 Pro": "B0"}
    assert got["other_rule"].to_dict() == {**printed, "Llama 3.3-70B": "S8"}
    assert got.loc["Gemini 2.5 Flash", "because"] == "S8 vs B0: +7.5 pp, holm p = .005, n = 400"
    alone = recommend(counts.discordant_counts(), n_tests=20, pairs="pairs", budget=1, baseline="B0").set_index("judge")
    assert alone.loc["Claude Sonnet 4", "advice"] == "B0"  # S5: p = .004, 18 times that is above .05
    assert alone.loc[["Claude Sonnet 4", "Gemini 2.5 Flash"], "other_rule"].tolist() == ["S5", "S1"]


def test_a_share_that_no_count_gives():
    with pytest.raises(AuditError, match=r"No whole number of 199 gives the printed agreement 0\.756"):
        counts.correct("LLMBar", "GPT-4o", "S5")
