"""The first screens of the public sets, recomputed with plain pandas from their rows."""

import re

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.metrics.measure_registry import measures
from judgestats.reporting import page_data
from judgestats.reporting.page_data import SUMMARISED, measure_all


@pytest.fixture(scope="module", params=js.datasets.names()["name"].tolist())
def screen(request):
    """Name, rows and first screen of a set; other measures than those of the first screen are not made."""
    rows = js.datasets.load(request.param)
    with pytest.MonkeyPatch.context() as patch:
        made = [measures()[name] for name in ("alpha", "effective_judges", *SUMMARISED)]
        patch.setattr(page_data, "attempts", lambda data, options, *_: {m.name: m.attempt(data, options) for m in made})
        return request.param, pd.DataFrame(rows), measure_all(rows, n_resamples=50).summary


def column(summary, term):
    cells = next(c.cells for c in summary.columns if c.term == term)
    return pd.Series({judge: float(cell["estimate"]) for judge, cell in cells.items()}).sort_index()


def same(estimates, expected):
    pd.testing.assert_series_equal(
        estimates, expected.sort_index(), check_names=False, atol=1e-12, check_index_type=False
    )


def pair_of(rows):
    """Item and both candidates of each row, in whichever order they were shown."""
    low = rows[["first", "second"]].astype(str).min(axis=1)
    return rows["item"].astype(str) + "|" + low + "|" + rows[["first", "second"]].astype(str).max(axis=1)


def winner(rows):
    names = rows["first"].where(rows["choice"] == "first", rows["second"]).astype(str)
    return names.where(rows["choice"].isin(["first", "second"]), "tie")


def shared_rows(rows):
    """What all judges judged, and how many further pairs each did."""
    rows = rows.assign(pair=pair_of(rows))
    judged = rows.groupby("pair")["judge"].nunique()
    common = judged.index[judged == rows["judge"].nunique()]
    further = rows[~rows["pair"].isin(common)].groupby("judge")["pair"].nunique()
    return rows[rows["pair"].isin(common)], further.reindex(rows["judge"].unique(), fill_value=0).astype(float)


def position(rows):
    valid = rows[rows["choice"] != "invalid"]
    return (valid["choice"].eq("first").astype(float) - valid["choice"].eq("second")).groupby(valid["judge"]).mean()


def test_the_numbers_of_the_table_are_those_of_the_rows(screen):
    name, rows, summary = screen
    if name == "llmbar":
        rows, further = shared_rows(rows)
        valid = rows[rows["choice"] != "invalid"]
        same(column(summary, "own"), further)
        same(column(summary, "accuracy"), (winner(valid) == valid["gold"].astype(str)).groupby(valid["judge"]).mean())
        same(column(summary, "position_bias"), position(rows))
        assert list(summary.groups[0].judges) == ["GPT-4", "PaLM2", "Falcon", "ChatGPT-0301", "LLaMA2", "ChatGPT"]
    elif name in ("mtbench_position", "frontier_self_bias"):
        same(column(summary, "position_bias"), position(rows))
    elif name == "pandalm":
        valid = rows[rows["choice"] != "invalid"].assign(answer=lambda d: winner(d))
        people = valid[valid["rater_type"] == "human"][["item", "answer"]]
        both = valid[valid["rater_type"] != "human"].merge(people, on="item", suffixes=("", "_theirs"))
        same(column(summary, "agreement"), (both["answer"] == both["answer_theirs"]).groupby(both["judge"]).mean())
    elif name == "hanna":
        rows = rows[rows["score"].notna()]
        thing, person = ["item", "system", "criterion"], rows["rater_type"] == "human"
        middle = rows[person].groupby(thing)["score"].mean().rename("middle").reset_index()
        both = rows[~person].merge(middle, on=thing)
        same(column(summary, "distance"), (both["score"] - both["middle"]).abs().groupby(both["judge"]).mean())
        constant = (middle["middle"] - middle["middle"].median()).abs().mean()
        assert summary.columns[0].reference == pytest.approx(constant, abs=1e-12)
    else:
        valid = rows[rows["correct"].notna()]
        same(column(summary, "right"), valid["correct"].astype(float).groupby(valid["judge"]).mean())


def test_both_orders_are_compared_pair_by_pair(screen):
    name, rows, summary = screen
    if "consistency" not in {c.term for c in summary.columns}:
        pytest.skip("no pair was shown in both orders")
    rows = shared_rows(rows)[0] if name == "llmbar" else rows.assign(pair=pair_of(rows))
    rows = rows[rows["choice"] != "invalid"].assign(winner=lambda d: winner(d))
    keys = ["judge", "pair", *(c for c in ("strategy", "replicate") if c in rows)]
    orders = rows.groupby(keys, observed=True).agg(orders=("first", "nunique"), winners=("winner", "nunique"))
    steady = orders[orders["orders"] == 2]["winners"].eq(1)
    same(column(summary, "consistency"), steady.groupby("judge").mean())


def test_the_first_line_counts_the_rows(screen):
    _, rows, summary = screen
    answer = next(c for c in ("choice", "score", "correct") if c in rows)
    lost = rows[answer].eq("invalid") | rows[answer].isna()
    counted = int(re.match(r"[\d\u202f]+", summary.line)[0].replace("\u202f", ""))
    assert counted == len(rows) - int(lost.sum())
    left_out = re.search(r"([\d\u202f]+) rows? left out", summary.line)
    assert (int(left_out[1].replace("\u202f", "")) if left_out else 0) == int(lost.sum())
    people = rows.loc[rows["rater_type"] == "human", "judge"].nunique() if "rater_type" in rows else 0
    assert (f"{people} people as reference" in summary.line) is bool(people)


def test_the_advice_names_who_is_first_in_the_table(screen):
    name, _, summary = screen
    if name == "frontier_self_bias/rubric":
        assert not summary.verdict  # one verdict on each criterion: who is right or steady was not asked
        return
    first = summary.groups[0].judges[0]
    assert first in summary.verdict
    expected = {
        "llmbar": "Use GPT-4: right in 81\u202f%, 15 points above the next, PaLM2.",
        "pandalm": "Use gpt_3_5_turbo: agreeing with people in 71\u202f%, 4 points above the next, pandalm_7b.",
        "hanna": "As scores, use none: the best, OrcaPlatypus, is farther off than a constant answer (always the median of",
    }
    assert summary.verdict.startswith(expected.get(name, ""))
    assert ("No judge agrees with people as much as people do with each other (92\u202f%)" in summary.verdict) is (
        name == "pandalm"
    )


def test_biases_are_counted_from_a_tenth_of_the_scale(screen):
    name, _, summary = screen
    card = next((c for c in summary.cards if c.kind == "biased"), None)
    claims = {
        "llmbar": "Falcon, +63 points",
        "mtbench_position": "gemini-pro, −25 points",
        "hanna": "Llama-13B scores higher than people by more than 0.40, ChatGPT lower",
    }
    if name in claims:
        assert card.claim == claims[name]
    assert np.isfinite([c.reference for c in summary.columns if c.term == "position_bias"]).all()
