"""A judge's bias for its own, measured against its tastes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from judgestats import bias_score

FAMILY = {name: name.upper() for name in "abcde"}


def compared(judges="abcd", systems="abcd", items=12, seed=0):
    """Every pair of systems on every item by every judge, with ties and invalid answers."""
    rng = np.random.default_rng(seed)
    rows = list(itertools.product(judges, range(items), itertools.combinations(systems, 2)))
    turned = rng.random(len(rows)) < 0.5
    table = pd.DataFrame([(j, f"i{i}", *(pair[::-1] if t else pair)) for (j, i, pair), t in zip(rows, turned, strict=True)],
                         columns=["judge", "item", "first", "second"])  # fmt: skip
    return table.assign(choice=rng.choice(["first", "second", "tie", "invalid"], len(table), p=[0.5, 0.3, 0.15, 0.05]))


def scores(calls):
    """Least squares of single calls on the systems, whose scores add up to 0, by judge."""
    of_judges = {}
    for judge, part in calls[calls["choice"] != "invalid"].groupby("judge"):
        systems = sorted({*part["first"], *part["second"]})
        X = np.array(
            [[(f == s) * 1.0 - (o == s) for s in systems] for f, o in zip(part["first"], part["second"], strict=True)]
        )
        net = part["choice"].map({"first": 1.0, "second": -1.0, "tie": 0.0}).to_numpy()
        of_judges[judge] = pd.Series(np.linalg.lstsq(X, net, rcond=None)[0], systems)
    return pd.DataFrame(of_judges).T


def rows_of(calls, term, **options):
    result = bias_score(calls, family=FAMILY, **options)
    return result[result["term"] == term].set_index("judge")


def test_a_self_excess_and_its_error_are_those_of_least_squares():
    calls = compared()
    table = scores(calls)
    own = np.eye(4, dtype=bool)
    judge, system = (pd.get_dummies(pd.Series(list(x)), dtype=float) for x in ("aaaabbbbccccdddd", "abcd" * 4))
    X = np.column_stack([judge, system, judge.to_numpy() * own.ravel()[:, None]])
    y = table.to_numpy().ravel()
    residuals = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
    sd = math.sqrt(residuals @ residuals / 5)  # 16 cells, 4 judges, 3 further systems, 4 effects of their own
    beside = table.to_numpy() @ (own - (1 - own) / 3)  # each judge (rows) on each system beside its others
    expected = np.diag(beside) - (beside.sum(axis=0) - np.diag(beside)) / 3
    rows = rows_of(calls, "self_excess")
    assert rows["estimate"].tolist() == pytest.approx(expected.tolist())
    weight = np.outer([1, *[-1 / 3] * 3], [1, *[-1 / 3] * 3])
    assert rows["std_error"].tolist() == pytest.approx([sd * math.sqrt((weight**2).sum())] * 4)
    half = stats.t.ppf(0.975, 5) * rows["std_error"]
    assert rows["conf_low"].tolist() == pytest.approx(np.maximum(expected - half, -2).tolist())
    assert rows["method"].eq("t over cells of judges by systems").all()
    for engine in (pl.from_pandas(calls), pl.from_pandas(calls).lazy()):
        pd.testing.assert_frame_equal(rows_of(engine, "self_excess"), rows, check_dtype=False)


def test_a_bias_for_ones_own_is_measured_against_the_judges_other_systems():
    calls = compared(systems="abcde", seed=3)
    table, rows = scores(calls), rows_of(calls, "bias")
    for judge in "abcd":
        others = table.loc[judge].drop(judge)
        mine = calls[(calls["judge"] == judge) & (calls["choice"] != "invalid")]
        share = mine[(mine["first"] == judge) | (mine["second"] == judge)]
        sizes = pd.concat([share["first"], share["second"]]).value_counts().drop(judge) / len(share)
        error = others.std() * math.sqrt(1 + (sizes**2).sum())
        half, row = stats.t.ppf(0.975, 3) * error, rows.loc[judge]
        if half > 0.4:  # else that of the calls is the wider one
            assert row["method"] == "t over systems"
            assert row["std_error"] == pytest.approx(error)
            assert row["conf_high"] == pytest.approx(min(row["estimate"] + half, 1))
    assert rows["method"].eq("t over systems").any()
    plain = bias_score(calls.assign(target=calls["judge"]).query("first == judge or second == judge"))
    plain = plain[plain["term"] == "bias"].set_index("judge")
    assert (rows["conf_high"] - rows["conf_low"] >= plain["conf_high"] - plain["conf_low"] - 1e-12).all()
    folded = rows_of(calls, "magnitude")
    assert folded["conf_high"].tolist() == pytest.approx(rows[["conf_low", "conf_high"]].abs().max(axis=1).tolist())


def test_with_two_systems_a_preference_is_not_told_from_a_taste():
    for term in ("bias", "magnitude", "self_excess"):
        rows = rows_of(compared("ab", "ab"), term)
        assert rows["estimate"].notna().all()
        assert rows[["std_error", "conf_low", "conf_high"]].isna().all(axis=None)
        assert rows["flag"].str.contains("own or taste: not separable").all()
    shares = rows_of(compared("ab", "ab"), "prefers_target")
    assert shares["conf_low"].notna().all(), "what was chosen is known all the same"


def test_one_judge_has_no_peers():
    rows = rows_of(compared("a"), "self_excess")
    assert rows["estimate"].isna().all()
    assert rows["flag"].str.contains("no other judge").all()


def test_families_of_candidates_are_the_systems_and_groups_have_tables_of_their_own():
    calls = compared()
    beside = calls.assign(family_first=calls["first"].str.upper(), family_second=calls["second"].str.upper())
    beside = beside.assign(first=beside["first"] + beside["item"], second=beside["second"] + beside["item"])
    for term in ("bias", "self_excess"):
        pd.testing.assert_frame_equal(rows_of(beside, term), rows_of(calls, term))
    both = pd.concat([calls.assign(topic="x"), compared(seed=5).assign(topic="y")], ignore_index=True)
    split = rows_of(both, "self_excess", by="topic", cluster="item").query("topic == 'x'").drop(columns="topic")
    columns = ["estimate", "std_error", "conf_low", "conf_high", "n"]
    pd.testing.assert_frame_equal(split[columns], rows_of(calls, "self_excess", cluster="item")[columns])


def test_responses_are_no_systems():
    calls = compared(items=80)
    singles = calls.assign(first=calls["first"] + calls["item"], second=calls["second"] + calls["item"])
    family = FAMILY | {name: name[0].upper() for name in {*singles["first"], *singles["second"]}}
    result = bias_score(singles, family=family)
    assert "self_excess" not in set(result["term"])
    assert (result.loc[result["term"] == "bias", "method"] != "t over systems").all()
