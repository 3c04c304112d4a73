"""Several calls on a pair -> one verdict; several scores -> one score."""

from __future__ import annotations

from collections import Counter
from itertools import product

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgestats.errors import DesignError, SchemaError
from judgestats.schema import check, preferences
from judgestats.verdicts import aggregate
from judgestats.verdicts.voting_rules import RULES
from refusals import refused

FLIPPED = {"first": "second", "second": "first"}


def both_orders(*answers: tuple[str, str], **columns) -> pd.DataFrame:
    """One item per pair of answers: with x first, and with y first (by slot)."""
    rows = []
    for item, (forward, reverse) in enumerate(answers, start=1):
        rows.append({"judge": "g", "item": str(item), "first": "x", "second": "y", "choice": forward})
        rows.append({"judge": "g", "item": str(item), "first": "y", "second": "x", "choice": reverse})
    return pd.DataFrame(rows).assign(**columns)


def repeats(*answers: str, **columns) -> pd.DataFrame:
    """One pair, asked again and again."""
    calls = pd.DataFrame({"judge": "g", "item": "1", "first": "x", "second": "y", "choice": list(answers)})
    return calls.assign(replicate=range(len(answers)), **columns)


def verdicts(result: pd.DataFrame) -> list[tuple[str, str]]:
    return list(zip(result["choice"].astype(str), result["tie_kind"], strict=True))


# by slot: (first, second) is x twice, (second, first) is y twice
@pytest.mark.parametrize(
    ("answers", "swap", "net"),
    [
        (("first", "second"), ("first", ""), ("first", "")),
        (("second", "first"), ("second", ""), ("second", "")),
        (("first", "first"), ("tie", "disagreement"), ("tie", "disagreement")),
        (("tie", "tie"), ("tie", "native"), ("tie", "native")),
        (("tie", "abstain"), ("tie", "native"), ("tie", "native")),
        (("first", "tie"), ("tie", "disagreement"), ("first", "")),
        (("tie", "first"), ("tie", "disagreement"), ("second", "")),
    ],
)
def test_two_orders(answers, swap, net):
    calls = both_orders(answers)
    assert verdicts(aggregate(calls)) == [swap]
    assert verdicts(aggregate(calls, "net")) == [net]
    assert verdicts(aggregate(calls, "majority")) == [swap], "of two votes a plurality is unanimity"


@pytest.mark.parametrize(
    ("answers", "swap", "majority", "net"),
    [
        (("first", "first", "second"), ("tie", "disagreement"), ("first", ""), ("first", "")),
        (("first", "second", "tie"), ("tie", "disagreement"), ("tie", "disagreement"), ("tie", "disagreement")),
        (("tie", "tie", "second"), ("tie", "disagreement"), ("tie", "native"), ("second", "")),
        (("first", "first", "tie", "tie"), ("tie", "disagreement"), ("tie", "disagreement"), ("first", "")),
        (("second", "second", "second"), ("second", ""), ("second", ""), ("second", "")),
        (("tie", "abstain", "tie"), ("tie", "native"), ("tie", "native"), ("tie", "native")),
    ],
)
def test_several_replicates(answers, swap, majority, net):
    calls = repeats(*answers)
    for how, expected in (("swap", swap), ("majority", majority), ("net", net)):
        assert verdicts(aggregate(calls, how, over="replicate")) == [expected], how


def test_one_row_per_pair_in_canonical_order():
    calls = both_orders(("second", "first"), ("first", "first")).replace({"x": "zeta", "y": "alpha"})
    result = aggregate(calls)
    assert result.columns.tolist() == [
        "judge",
        "item",
        "first",
        "second",
        "choice",
        "order_known",
        "status",
        "tie_kind",
        "n_calls",
    ]
    assert result[["first", "second"]].drop_duplicates().to_numpy().tolist() == [["alpha", "zeta"]]
    # item 1: zeta first and it lost, alpha first and it won
    assert result["choice"].tolist() == ["first", "tie"]
    assert not result["order_known"].any()
    assert result["n_calls"].tolist() == [2, 2]
    assert (check(result)["level"] != "fault").all()
    with pytest.raises(DesignError, match=r"aggregated over orders"):
        aggregate(result)


def test_a_missing_or_invalid_call():
    calls = both_orders(("first", "second"), ("first", "invalid"), ("invalid", "invalid"), ("second", "tie")).iloc[:-1]
    strict = aggregate(calls)
    assert strict["choice"].tolist() == ["first", "invalid", "invalid", "invalid"]
    assert strict["status"].tolist() == ["ok", "parse", "parse", "missing partner"]
    assert strict["n_calls"].tolist() == [2, 2, 2, 1]
    assert (strict["tie_kind"] == "").all()
    for how in RULES:
        lenient = aggregate(calls, how, missing="ignore")
        assert lenient["choice"].tolist() == ["first", "first", "invalid", "second"]
        assert lenient["status"].tolist() == ["ok", "ok", "parse", "ok"]


def test_a_missing_vote_is_no_tie():
    calls = repeats("first", "tie", "invalid")
    assert aggregate(calls, "majority", over="replicate", missing="ignore")["choice"].tolist() == ["tie"]
    calls = repeats("first", "tie", "invalid", "invalid", "first")
    assert aggregate(calls, "majority", over="replicate", missing="ignore")["choice"].tolist() == ["first"]


def test_the_reason_of_an_invalid_verdict_is_its_calls():
    calls = both_orders(("invalid", "invalid"), ("first", "invalid"))
    calls["status"] = ["refused", "error", "ok", "leak"]
    assert aggregate(calls)["status"].tolist() == ["error", "leak"]
    assert aggregate(calls.iloc[::-1])["status"].tolist() == ["error", "leak"]


def test_the_panel_is_what_occurs_in_the_frame():
    three = repeats("first", "first", "first")
    two = repeats("first", "first").assign(item="2")
    strict = aggregate(pd.concat([three, two]), over="replicate")
    assert strict["choice"].tolist() == ["first", "invalid"]
    assert strict["status"].tolist() == ["ok", "missing partner"]
    other = two.assign(judge="h")  # a judge that was asked twice everywhere lacks nothing
    assert aggregate(pd.concat([three, other]), over="replicate")["choice"].tolist() == ["first", "first"]


def test_over_judges():
    calls = pd.DataFrame(
        {
            "judge": ["a", "b", "c", "a", "b"],
            "item": ["1", "1", "1", "2", "2"],
            "first": ["x", "y", "x", "x", "x"],
            "second": ["y", "x", "y", "y", "y"],
            "choice": ["first", "second", "second", "first", "first"],
        }
    )
    result = aggregate(calls, "majority", over="judge")
    assert result["judge"].tolist() == ["panel", "panel"]
    assert result["choice"].tolist() == ["first", "invalid"]
    assert aggregate(calls, "majority", over="judge", missing="ignore")["choice"].tolist() == ["first", "first"]


def test_over_any_column():
    calls = repeats("first", "first", "tie").drop(columns="replicate").assign(prompt=["p", "q", "r"])
    result = aggregate(calls, "majority", over="prompt")
    assert result["choice"].tolist() == ["first"]
    assert "prompt" not in result
    mine = calls.rename(columns={"prompt": "shots"})
    assert aggregate(mine, "majority", over="shots")["choice"].tolist() == ["first"]


def test_over_two_columns_at_once_or_one_after_the_other():
    answers = [("first", "second"), ("first", "first"), ("tie", "tie")]
    calls = pd.concat([both_orders(a).assign(replicate=r) for r, a in enumerate(answers)])
    assert verdicts(aggregate(calls, "majority", over=["order", "replicate"])) == [("first", "")]  # 3 x, 1 y, 2 ties
    swapped = aggregate(calls)
    assert verdicts(swapped) == [("first", ""), ("tie", "disagreement"), ("tie", "native")]
    chained = aggregate(swapped, "majority", over="replicate")
    assert verdicts(chained) == [("tie", "disagreement")], "a tie made by the swap is not the judge's own"
    assert chained["n_calls"].tolist() == [6]
    native = aggregate(swapped[swapped["replicate"] == 2], "majority", over="replicate")
    assert verdicts(native) == [("tie", "native")]


def test_both_orders_are_not_pooled_by_accident():
    calls = pd.concat([both_orders(("first", "second")).assign(judge=j) for j in "ab"])
    with pytest.raises(DesignError, match=r"the order: aggregate over='order' first, or over=\['judge', 'order'\]"):
        aggregate(calls, "majority", over="judge")
    assert aggregate(calls, "majority", over=["judge", "order"])["n_calls"].tolist() == [4]


def test_repeats_of_a_call_are_refused():
    calls = both_orders(("first", "second"))
    apart = pd.concat([calls.assign(shots=0), calls.assign(shots=3)])
    refused(
        DesignError,
        (pd.concat([calls, calls]), r"They differ only in the answer: number repeats in 'replicate'"),
        (apart, r"4 calls .* \(first: rows 0, 2 of the data, from 0\)\. They differ in 'shots': name"),
        of=aggregate,
    )
    result = aggregate(apart, by="shots")
    assert result["shots"].tolist() == [0, 3]
    assert aggregate(apart, "majority", over=["order", "shots"])["n_calls"].tolist() == [4]


def test_a_rule_of_ones_own():
    asked = []

    def first_to_two(n_u, n_v, n_tie, n_missing):
        asked.append((n_u, n_v, n_tie, n_missing))
        return "u" if n_u > 1 else "v" if n_v > 1 else "tie" if n_tie else "invalid"

    calls = both_orders(
        ("first", "second"),
        ("first", "second"),
        ("second", "first"),
        ("tie", "tie"),
        ("first", "first"),
        ("first", "tie"),
        ("first", "invalid"),
    )
    result = aggregate(calls, first_to_two)
    assert verdicts(result) == [
        ("first", ""),
        ("first", ""),
        ("second", ""),
        ("tie", "native"),
        ("invalid", ""),
        ("tie", "disagreement"),
        ("invalid", ""),
    ]
    assert sorted(asked) == [(0, 0, 2, 0), (0, 2, 0, 0), (1, 0, 1, 0), (1, 1, 0, 0), (2, 0, 0, 0)], "once a pattern"
    asked.clear()
    aggregate(calls, first_to_two, missing="ignore")
    assert (1, 0, 0, 1) in asked, "the rule is told what is missing"


def test_cells_of_several_types():
    calls = both_orders(("first", "second"), ("tie", "tie"))
    mixed = calls.assign(length=pd.Series([7, 7, b"x", b"x"], dtype=object))
    assert list(aggregate(mixed, by=["length"])["length"]) == ["7", "x"]
    with pytest.raises(SchemaError, match=r"""'choice' has '\["first"\]'. Allowed"""):
        aggregate(calls.assign(choice=pd.Series([["first"], "second", "tie", "tie"], dtype=object)))


def test_what_is_carried_along():
    calls = both_orders(("first", "second"), ("tie", "tie"))
    calls = calls.assign(
        gold=["x", "x", "y", "y"],
        better="x",
        length_first=[10, 25, 30, 40],
        length_second=[25, 10, 40, 30],
        family_first=pd.Categorical(["p", "q", "p", "q"]),
        family_second=pd.Categorical(["q", "p", "q", "p"]),
        task="t",
        seed=[1, 2, 3, 4],
        subset=["s", "s", "r", "r"],
        rationale="because",
        strength=0.5,
        cost=[0.5, 0.25, 1.0, 1.0],
        alone_first=[1, 2, 3, 4],
        notes=[[1], [2], [3], [4]],
    )
    result = aggregate(calls)
    assert result["gold"].tolist() == ["x", "y"]
    assert result["better"].tolist() == ["x", "x"]
    assert result[["length_first", "length_second"]].to_numpy().tolist() == [[10, 25], [30, 40]]
    assert result[["family_first", "family_second"]].to_numpy().tolist() == [["p", "q"]] * 2
    assert result["subset"].tolist() == ["s", "r"]
    assert result["task"].tolist() == ["t", "t"]
    assert result["cost"].tolist() == [0.75, 2.0]
    left = {"seed", "rationale", "strength", "alone_first", "notes"}
    assert not left & set(result.columns)


def test_attributes_follow_their_candidates():
    calls = both_orders(("first", "second")).replace({"x": "zeta", "y": "alpha"})
    result = aggregate(calls.assign(length_first=[1, 2], length_second=[2, 1]))
    row = result.iloc[0]
    assert (row["first"], row["length_first"], row["second"], row["length_second"]) == ("alpha", 2, "zeta", 1)


@pytest.mark.parametrize("name", ["gold", "better"])
def test_a_pair_has_one_truth(name):
    calls = both_orders(("first", "second"), ("first", "second")).assign(**{name: ["x", "x", "x", "y"]})
    message = f"'{name}' differs between calls of the same pair in 1 rows.*rows 3, 2 of the data, from 0, have 'y'"
    with pytest.raises(SchemaError, match=message):
        aggregate(calls)


def test_counts_are_kept_where_they_match():
    calls = both_orders(("first", "second"), ("tie", "tie")).assign(n_identical=[3, 3, 5, 5])
    assert aggregate(calls)["n_identical"].tolist() == [3.0, 5.0]
    with pytest.raises(DesignError, match=r"different counts"):
        aggregate(calls.assign(n_identical=[3, 4, 5, 5]))


def test_unknown_order():
    calls = both_orders(("first", "second")).assign(order_known=[True, False])
    with pytest.raises(DesignError, match=r"not recorded in these data"):
        aggregate(calls)
    one_each = repeats("first", "first", order_known=False)
    assert aggregate(one_each, "majority", over="replicate")["choice"].tolist() == ["first"]
    assert aggregate(calls.assign(order_known=pd.array([True, None], dtype="boolean")))["choice"].tolist() == ["first"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"how": "mojority"},
            "how='mojority' is not known. Allowed: 'swap', 'majority', 'net', 'dawid_skene'. Did you mean 'majo",
        ),
        ({"how": "mean"}, "how='mean' is not known"),
        ({"over": "replicates"}, "over='replicates' is not known. Allowed: 'order', 'judge'"),
        ({"over": "item"}, "over='item' is not known"),
        ({"over": ()}, "over= is empty"),
        ({"missing": "drop"}, "missing='drop' is not known. Allowed: 'invalid', 'ignore'"),
        ({"exclude_own": True}, "exclude_own= is for ratings"),
    ],
)
def test_unknown_options(arguments, message):
    with pytest.raises(DesignError, match=message):
        aggregate(both_orders(("first", "second")), **arguments)


def test_bad_frames_and_rules():
    calls = both_orders(("first", "second"))
    refused(
        SchemaError,
        (
            lambda: aggregate(both_orders(("first", "second")), lambda *votes: "x"),
            DesignError,
            r"answered 'x' to \(n_u, n_v, n_tie, n_missing\) = \(2, 0, 0, 0\)",
        ),
        (lambda: aggregate(calls.assign(task="t"), by="tsk"), r"by='tsk' is not a column.*Did you mean 'task'"),
        (lambda: aggregate(calls.assign(choice=["A", "first"])), r"'choice' has 'A'"),
        (lambda: aggregate(calls.drop(columns="choice")), r"neither canonical frame"),
        (lambda: aggregate(calls.iloc[:0]), r"no rows"),
    )


KINDS = {
    "polars": (pl.from_pandas, pl.DataFrame, lambda t: t.to_pandas()),
    "polars lazy": (lambda t: pl.from_pandas(t).lazy(), pl.LazyFrame, lambda t: t.collect().to_pandas()),
    "arrow": (lambda t: pa.Table.from_pandas(t, preserve_index=False), pa.Table, lambda t: t.to_pandas()),
    "duckdb": (lambda t: duckdb.from_df(t), pd.DataFrame, lambda t: t),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_frame(kind):
    make, native, back = KINDS[kind]
    calls = both_orders(("first", "second"), ("tie", "tie"), ("first", "first"), ("second", "invalid")).assign(gold="x")
    expected = aggregate(calls)
    result = aggregate(make(calls))
    assert isinstance(result, native)
    table = back(result)
    assert table.columns.tolist() == expected.columns.tolist()
    assert table.astype(object).to_numpy().tolist() == expected.astype(object).to_numpy().tolist()


def test_canonical_frames_of_polars_come_back_canonical():
    calls = preferences(pl.from_pandas(both_orders(("first", "second"), ("first", "invalid"))))
    result = preferences(aggregate(calls))
    assert result["choice"].to_list() == ["first", "invalid"]
    assert result["status"].to_list() == ["ok", "parse"]


# --- properties, over random calls of two judges on three items of three candidates, some orders missing
CELLS = [(j, i, a, b, r) for j, i, (a, b), r in product("gh", "12", ("xy", "yx", "xz", "zx"), (0, 1))]

random_answers = st.lists(
    st.sampled_from(["first", "second", "tie", "abstain", "invalid", None]), min_size=len(CELLS), max_size=len(CELLS)
).filter(lambda answers: any(answers))


def random_calls(answers: list[str | None]) -> pd.DataFrame:
    calls = pd.DataFrame(CELLS, columns=["judge", "item", "first", "second", "replicate"]).assign(choice=answers)
    return calls[calls["choice"].notna()]


def brute_force(calls: pd.DataFrame, how: str, over: list[str], missing: str) -> dict[tuple, str]:
    """The rules once more, a pair at a time."""
    judges = {(r.judge, r.replicate) for r in calls.itertuples()}
    ballots: dict[tuple, list[str]] = {}
    for r in calls.itertuples():
        pair = (r.judge, r.item, min(r.first, r.second), max(r.first, r.second))
        slot = {"first": r.first, "second": r.second, "abstain": "tie"}.get(r.choice, r.choice)
        ballots.setdefault(pair if "replicate" in over else (*pair, r.replicate), []).append(slot)
    result = {}
    for pair, ballot in ballots.items():
        expected = 2 * (len({r for j, r in judges if j == pair[0]}) if "replicate" in over else 1)
        votes = Counter(v for v in ballot if v != "invalid")
        u, v, tie = votes[pair[2]], votes[pair[3]], votes["tie"]
        if not votes or (missing == "invalid" and u + v + tie < expected):
            result[pair] = "invalid"
        elif how == "swap":
            result[pair] = next(iter(votes)) if len(votes) == 1 else "tie"
        elif how == "net":
            result[pair] = pair[2] if u > v else pair[3] if v > u else "tie"
        else:
            (best, most), *others = votes.most_common()
            result[pair] = "tie" if others and others[0][1] == most else best
    return result


@settings(max_examples=30, deadline=None)
@given(
    random_answers,
    st.sampled_from(list(RULES)),
    st.sampled_from([["order"], ["order", "replicate"]]),
    st.sampled_from(["invalid", "ignore"]),
)
def test_rules_against_brute_force(answers, how, over, missing):
    calls = random_calls(answers)
    result = aggregate(calls, how, over, missing=missing)
    winner = np.select(
        [result["choice"] == "first", result["choice"] == "second"],
        [result["first"], result["second"]],
        result["choice"].astype(str),
    )
    keys = result[["judge", "item", "first", "second", *([] if "replicate" in over else ["replicate"])]]
    found = dict(zip(keys.itertuples(index=False, name=None), winner, strict=True))
    assert found == brute_force(calls, how, over, missing)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(random_answers, st.sampled_from(list(RULES)), st.randoms(use_true_random=False))
def test_rows_slots_and_names_do_not_matter(answers, how, random):
    calls = random_calls(answers)
    expected = aggregate(calls, how)
    rows = list(range(len(calls)))
    random.shuffle(rows)
    pd.testing.assert_frame_equal(aggregate(calls.iloc[rows], how), expected)
    turned = calls.assign(first=calls["second"], second=calls["first"], choice=calls["choice"].replace(FLIPPED))
    pd.testing.assert_frame_equal(aggregate(turned, how), expected)
    names = {"g": "q", "h": "r"}
    renamed = aggregate(calls.assign(judge=calls["judge"].map(names)), how)
    pd.testing.assert_frame_equal(renamed, expected.assign(judge=expected["judge"].map(names)))


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(random_answers, st.sampled_from(list(RULES)))
def test_no_candidate_is_favoured_by_its_name(answers, how):
    calls = random_calls(answers)
    names = {"x": "c", "y": "b", "z": "a"}
    there = aggregate(calls, how)
    other = aggregate(calls.assign(first=calls["first"].map(names), second=calls["second"].map(names)), how)
    choice = other["choice"].astype(str).replace(FLIPPED)
    flipped = other.assign(first=other["second"], second=other["first"], choice=choice)
    keys = ["judge", "item", "replicate", "first", "second"]
    there = there.assign(first=there["first"].map(names), second=there["second"].map(names))
    left, right = (t.astype({"choice": "str"}).sort_values(keys, ignore_index=True) for t in (there, flipped))
    pd.testing.assert_frame_equal(left, right, check_dtype=False)


@pytest.mark.parametrize("by", ["item", "first", "second", "judge"])
def test_a_group_that_the_unit_has_already_changes_nothing(by):
    table = pd.DataFrame({"judge": "g", "item": [*"1122"], "first": [*"xyxy"], "second": [*"yxyx"], "choice": "first"})
    pd.testing.assert_frame_equal(aggregate(table, over="order", by=by), aggregate(table, over="order"))
