"""The best of several responses: against a loop, ties, runs, refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.proportions import clustered_wilson, wilson
from judgestats.metrics.correctness import best_of_accuracy
from metrics.tables import scored_responses, terms
from refusals import refused


def responses(n: int = 40, k: int = 4, runs: int = 3, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    keys = pd.MultiIndex.from_product(
        [["g", "h"], [f"i{i}" for i in range(n)], [f"r{i}" for i in range(k)], range(runs)],
        names=["judge", "item", "system", "replicate"],
    )
    table = keys.to_frame(index=False)
    table["score"] = rng.integers(1, 6, len(table)).astype(float) + (table["system"] == "r0")
    return table.assign(topic=table["item"].str[-1])


def by_hand(table: pd.DataFrame, right: str = "r0") -> tuple[int, int, int]:
    """Items won, tied and lost by the right response."""
    won = tied = lost = 0
    for _, item in table.groupby("item"):
        means = item.groupby("system")["score"].mean()
        best = means.drop(right).max()
        won, tied, lost = won + (means[right] > best), tied + (means[right] == best), lost + (means[right] < best)
    return won, tied, lost


@pytest.mark.parametrize("runs", [None, 1, 2])
def test_best_of_against_a_loop(runs):
    table = responses()
    for judge in "gh":
        mine = table[table["judge"] == judge]
        won, tied, lost = by_hand(mine if runs is None else mine[mine["replicate"] < runs])
        assert min(won, tied, lost) > 0
        for ties, k, n in [("exact", won, 40), ("drop", won, 40 - tied), ("half", won + tied / 2, 40)]:
            got = terms(best_of_accuracy(table.drop(columns="topic"), right="r0", runs=runs, ties=ties), judge)
            assert (got.loc["accuracy", "estimate"], got.loc["accuracy", "n"]) == (pytest.approx(k / n), n)
            low, high = wilson(k, n)
            assert (got.loc["accuracy", "conf_low"], got.loc["accuracy", "conf_high"]) == (low, high)
            assert got.loc[["tie", "wrong"], "estimate"].tolist() == [tied / 40, lost / 40]


def test_the_first_runs_are_the_first_there_are():
    table = responses().assign(replicate=lambda t: t["replicate"] + 7)
    pd.testing.assert_frame_equal(
        best_of_accuracy(table, right="r0", runs=1), best_of_accuracy(responses(), right="r0", runs=1)
    )
    refused(
        DesignError,
        (lambda: best_of_accuracy(table, right="r0", runs=0), "runs=0"),
        (
            lambda: best_of_accuracy(table.drop(columns="replicate"), right="r0", runs=1),
            "'replicate', which is missing",
        ),
    )


def test_the_right_response_by_item():
    """Rename the responses item by item, tell the right one in a column: nothing changes."""
    table = responses()
    shift = table["item"].str[1:].astype(int) % 4
    renamed = table.assign(
        system="r" + ((table["system"].str[1:].astype(int) + shift) % 4).astype(str), gold="r" + shift.astype(str)
    )
    whole = best_of_accuracy(table, right="r0")
    pd.testing.assert_frame_equal(best_of_accuracy(renamed), whole)
    pd.testing.assert_frame_equal(best_of_accuracy(pl.from_pandas(renamed).lazy()), whole)
    pd.testing.assert_frame_equal(best_of_accuracy(renamed.sample(frac=1, random_state=0)), whole)
    with pytest.raises(SchemaError, match="several right responses in 'gold': r0, r1"):
        best_of_accuracy(table.assign(gold=np.where(table["system"] == "r0", "r0", "r1")))


def test_scores_of_the_responses_are_no_name_of_the_right_one():
    table = responses().assign(gold=lambda t: np.where(t["system"] == "r0", 0.6, 0.5))
    numbered = table.assign(system=table["system"].str[1:], gold=table["system"].str[1:].astype(int))
    refused(
        SchemaError,
        (table, r"0\.6, 0\.5\. 'gold' must name the right response of each item; these are scores\."),
        (numbered, r"several right responses in 'gold': 0, 1, 2, 3\.$"),
        of=best_of_accuracy,
    )


def test_rounding_is_no_victory():
    table = pd.DataFrame(
        {"judge": "g", "item": "1", "system": ["a"] * 3 + ["b"] * 3, "score": [0.1, 0.2, 0.3, 0.3, 0.2, 0.1]}
    ).assign(replicate=[0, 1, 2] * 2)
    assert best_of_accuracy(table, right="a").set_index("term")["estimate"].to_dict() == {
        "accuracy": 0,
        "tie": 1,
        "wrong": 0,
    }


def test_items_that_cannot_be_scored():
    table = responses()
    g = table["judge"] == "g"
    table.loc[g & (table["item"] == "i3") & (table["system"] == "r2"), "score"] = np.nan  # no score at all
    table.loc[g & (table["item"] == "i4") & (table["system"] == "r1") & (table["replicate"] == 0), "score"] = np.nan
    table = table[~(g & (table["item"] == "i5") & (table["system"] == "r0"))]  # the right one is absent
    table = table[~((table["judge"] == "g") & (table["item"] == "i6") & (table["system"] != "r0"))]  # nothing to beat
    got = best_of_accuracy(table, right="r0")
    assert (terms(got)["n"] == 37).all()
    assert terms(got)["flag"].str.contains("3 items not scored").all()
    assert (terms(got, "h")["n"] == 40).all()
    assert not terms(got, "h")["flag"].str.contains("not scored").any()
    won, _, _ = by_hand(table[(table["judge"] == "g") & ~table["item"].isin(["i3", "i5", "i6"])])
    assert terms(got).loc["accuracy", "estimate"] == pytest.approx(won / 37)


def test_best_of_intervals():
    table = responses(200)
    mine = table[table["judge"] == "g"]
    hits = mine.groupby(["item", "system"])["score"].mean().unstack()
    hits = (hits["r0"] > hits[["r1", "r2", "r3"]].max(axis=1)).astype(float)
    topics = hits.groupby(hits.index.str[-1])
    clustered = terms(best_of_accuracy(table, right="r0", cluster="topic")).loc["accuracy"]
    se, low, high = clustered_wilson(topics.sum().to_numpy(), topics.size().to_numpy(float))
    assert clustered[["std_error", "conf_low", "conf_high"]].tolist() == pytest.approx([se, low, high], rel=1e-12)
    drawn = terms(best_of_accuracy(table, right="r0", cluster="topic", interval="percentile")).loc["accuracy"]
    assert "bootstrap of topic" in drawn["method"]
    assert drawn["std_error"] == pytest.approx(se, rel=0.15)
    apart = best_of_accuracy(table, right="r0", by="topic")
    assert len(apart) == 2 * 10 * 3
    assert apart.loc[apart["term"] == "accuracy", "n"].sum() == 400


def test_best_of_refusals():
    table = responses(3)
    refused(
        DesignError,
        (lambda: best_of_accuracy(table), "needs the right response"),
        (lambda: best_of_accuracy(table, right="r9"), r"right='r9' is not a system. Systems: r0, r1, r2, r3"),
        (
            lambda: best_of_accuracy(pd.concat([table.assign(criterion=c) for c in "cd"]), right="r0"),
            r"several criteria \(c, d\)",
        ),
        (lambda: best_of_accuracy(pd.concat([table, table]), right="r0"), "Do two items have the same id"),
        (lambda: best_of_accuracy(table, right="r0", ties="wrong"), "ties='wrong' is not known"),
    )


def test_items_not_scored_are_told_for_a_group_without_a_name() -> None:
    table = scored_responses().assign(kind=np.where(np.arange(72) % 36 < 18, 1.0, np.nan))
    table.loc[table["kind"].isna() & (table["system"] == "b"), "score"] = np.nan
    result = best_of_accuracy(table, by="kind")
    assert result.loc[result["kind"].isna(), "flag"].str.contains("6 items not scored").all()
