"""Criteria -> one score."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import judgestats as js
from judgestats.counting.cells import cells
from judgestats.errors import DesignError, SchemaError
from judgestats.metrics.consensus import score_matrix
from judgestats.schema import check
from judgestats.verdicts import aggregate, composite
from refusals import refused

CRITERIA = ("style", "truth", "reach")
SCORES = st.lists(st.one_of(st.integers(1, 10).map(float), st.none()), min_size=24, max_size=24)


def marks(values=None, judges="ab", systems="xy", items="12", criteria=CRITERIA):
    places = list(itertools.product(judges, systems, items, criteria))
    table = pd.DataFrame(places, columns=["judge", "system", "item", "criterion"])
    return table.assign(score=np.arange(len(table), dtype=float) if values is None else np.array(values, dtype=float))


def brute_force(table, weight):
    """Weighted mean of each thing rated, of the criteria it has, and how many those are."""
    result = {}
    for key, part in table.groupby(["judge", "system", "item"]):
        have = [(weight(r), r.score) for r in part.itertuples() if weight(r) > 0 and not np.isnan(r.score)]
        total = sum(w for w, _ in have)
        result[key] = (sum(w * s for w, s in have) / total if have else np.nan, len(have))
    return result


def by_thing(table, value="score"):
    return table.set_index(["judge", "system", "item"])[value]


# ---------------------------------------------------------------- the number


@pytest.mark.slow
@settings(max_examples=40)
@given(SCORES, st.fixed_dictionaries({c: st.floats(0.01, 9) for c in CRITERIA}))
def test_mean_and_weighted_mean_equal_brute_force(values, weights):
    table = marks(values)
    if table["score"].isna().all():
        return
    for given_weights, weight in ((None, lambda r: 1.0), (weights, lambda r: weights[r.criterion])):
        result = composite(table, given_weights, missing="renormalise")
        expected = brute_force(table, weight)
        got = by_thing(result).to_dict()
        assert set(got) == set(expected)
        for key, (score, n) in expected.items():
            assert got[key] == pytest.approx(score, abs=1e-12, nan_ok=True)
            assert by_thing(result, "n_criteria")[key] == n


def test_default_is_the_plain_mean():
    # Sec 2.2 of the consensus_illusion paper: the overall score is the mean over the dimensions
    table = marks()
    want = table.groupby(["judge", "system", "item"])["score"].mean()
    pd.testing.assert_series_equal(by_thing(composite(table)), want)
    assert (composite(table)["criterion"] == "composite").all()
    assert (composite(table, name="merg")["criterion"] == "merg").all()


def test_weights_are_normalised():
    table = marks()
    one = composite(table, {"style": 0.5, "truth": 0.3, "reach": 0.2})
    pd.testing.assert_frame_equal(composite(table, {"style": 50, "truth": 30, "reach": 20}), one)
    assert by_thing(one)["a", "x", "1"] == pytest.approx(0.3 * 1 + 0.2 * 2)
    pd.testing.assert_frame_equal(composite(table, dict.fromkeys(CRITERIA, 7)), composite(table))


def test_weight_0_leaves_a_criterion_out():
    table = marks()
    table.loc[0, "score"] = np.nan
    result = composite(table, {"style": 0, "truth": 1, "reach": 1})
    assert by_thing(result)["a", "x", "1"] == 1.5
    assert (result["n_criteria"] == 2).all()
    assert (result["status"] == "ok").all()


def test_each_item_and_judge_with_its_own_rubric():
    # MERG: every evaluator writes five dimensions with weights for every item
    rng = np.random.default_rng(0)
    rows, rubric = [], []
    for judge, item in itertools.product("ab", "123"):
        for k, weight in enumerate(rng.dirichlet(np.ones(5)).tolist()):
            rubric.append({"judge": judge, "item": item, "criterion": f"{judge}{item}.{k}", "weight": weight})
            for system in "xy":
                score = float(rng.integers(2, 11))
                rows.append(
                    {"judge": judge, "system": system, "item": item, "criterion": f"{judge}{item}.{k}", "score": score}
                )
    table, rubric = pd.DataFrame(rows), pd.DataFrame(rubric)
    weight = rubric.set_index("criterion")["weight"]
    want = (table["score"] * table["criterion"].map(weight)).groupby([table[c] for c in ("judge", "system", "item")])
    result = composite(table, rubric)
    np.testing.assert_allclose(by_thing(result), want.sum())
    assert (result["n_criteria"] == 5).all()
    per_item = rubric.drop(columns="judge")
    np.testing.assert_allclose(by_thing(composite(table, pl.from_pandas(rubric))), want.sum())
    for call in (
        # the item's rubrics taken together: ten dimensions, of which a judge scores five
        lambda: composite(table, per_item),
        lambda: composite(table),
    ):
        with pytest.raises(DesignError, match="No response has all its criteria"):
            call()
    lost = composite(table.drop(index=[0, 1]), rubric)
    assert lost["status"].tolist().count("missing partner") == 2
    assert by_thing(lost, "n_criteria")["a", "x", "1"] == 4


def test_numbers_and_text_name_the_same_item():
    table = marks(items="7")
    rubric = pd.DataFrame({"item": [7, 7, 7], "criterion": list(CRITERIA), "weight": [1, 2, 3]})
    want = composite(table, dict(zip(CRITERIA, (1, 2, 3), strict=True)))
    pd.testing.assert_frame_equal(composite(table, rubric), want)
    pd.testing.assert_frame_equal(composite(table, rubric.assign(item=[7.0] * 3)), want)


def test_mean_of_composites_is_composite_of_means():
    # merchant_risk paper, Sec 3.1: the final mean is the mean of the criterion means
    rng = np.random.default_rng(1)
    runs = pd.concat([marks(rng.integers(0, 11, 24)).assign(replicate=r) for r in range(10)], ignore_index=True)
    weights = {"style": 1, "truth": 2, "reach": 2}
    of_runs = cells(composite(runs, weights)).set_index(["judge", "system", "item"])["mean"]
    of_means = composite(cells(runs), weights)
    np.testing.assert_allclose(by_thing(of_means, "mean"), of_runs)
    assert "sd" not in of_means.columns
    assert (of_means["runs"] == 10).all()
    plain = score_matrix(composite(runs))
    np.testing.assert_allclose(plain["estimate"], score_matrix(runs)["estimate"])
    np.testing.assert_allclose(plain["sd"], score_matrix(runs)["sd"])


# ---------------------------------------------------------------- what is missing


def with_holes():
    table = marks().assign(status="ok")
    table.loc[0, ["score", "status"]] = [np.nan, "refused"]
    return table.drop(index=3)  # a, x, 2 has no style


def test_missing_criteria_set_a_thing_aside():
    result = composite(with_holes()).set_index(["judge", "system", "item"])
    assert np.isnan(result.loc[("a", "x", "1"), "score"])
    assert result.loc[("a", "x", "1"), "status"] == "refused"
    assert np.isnan(result.loc[("a", "x", "2"), "score"])
    assert result.loc[("a", "x", "2"), "status"] == "missing partner"
    assert result["n_criteria"].tolist() == [2, 2, 3, 3, 3, 3, 3, 3]
    assert (result["status"] == "ok").sum() == 6
    assert len(result) == 8, "nothing rated is lost"


def test_missing_criteria_renormalised():
    result = composite(with_holes(), {"style": 2, "truth": 1, "reach": 1}, missing="renormalise")
    assert by_thing(result)["a", "x", "1"] == 1.5
    assert by_thing(result)["a", "x", "2"] == 4.5
    assert by_thing(result)["a", "y", "1"] == pytest.approx((2 * 6 + 7 + 8) / 4)
    assert (result["status"] == "ok").all()
    nothing = with_holes()
    nothing.loc[[1, 2], "score"] = np.nan
    assert composite(nothing, missing="renormalise")["status"].tolist()[0] == "parse"


def test_missing_criteria_refused():
    with pytest.raises(DesignError, match=r"2 of 8 responses lack a criterion \(first: judge=a, system=x, item=1\)"):
        composite(with_holes(), missing="refuse")
    pd.testing.assert_frame_equal(composite(marks(), missing="refuse"), composite(marks()))


def test_a_judge_that_never_scores_a_criterion_does_not_lack_it():
    table = marks()
    table = table[~((table["judge"] == "b") & (table["criterion"] == "reach"))]
    assert composite(table)["n_criteria"].tolist() == [3] * 4 + [2] * 4
    assert composite(table, criteria=CRITERIA)["score"].isna().sum() == 4
    assert composite(table, dict.fromkeys(CRITERIA, 1))["score"].isna().sum() == 4


# ---------------------------------------------------------------- parts and wholes


@pytest.mark.parametrize("whole", ["final", "overall"])
def test_a_whole_is_no_part(whole):
    table = marks(range(32), criteria=(*CRITERIA, whole))
    parts = table[table["criterion"] != whole]
    pd.testing.assert_frame_equal(composite(table), composite(parts))
    assert by_thing(composite(table, criteria=["style", whole]))["a", "x", "1"] == 1.5
    assert by_thing(composite(table, {"style": 1, "truth": 1, "reach": 1, whole: 3}))["a", "x", "1"] == 2.0
    pd.testing.assert_frame_equal(composite(table, {"style": 1, "truth": 1, "reach": 1}), composite(parts))


def test_a_whole_alone_is_itself():
    table = marks(range(8), criteria=["overall"])
    assert composite(table)["score"].tolist() == list(range(8))


def test_a_thing_with_a_whole_alone_is_not_lost():
    table = marks(range(32), criteria=(*CRITERIA, "final")).iloc[3:]
    result = composite(table)
    assert len(result) == 8
    assert result["status"].tolist() == ["missing partner", *["ok"] * 7]
    assert result["n_criteria"].tolist()[0] == 0


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("weights", "error", "message"),
    [
        (
            {"style": 1, "trth": 1, "reach": 1},
            DesignError,
            r"'trth' is not a criterion of the ratings. Did you mean 'truth'",
        ),
        ({"style": 1, "truth": 1}, DesignError, r"no weight for 8 scores \(first: criterion=reach\)"),
        ({"style": 1, "truth": -1, "reach": 1}, DesignError, r"negative or not a number \(criterion=truth\)"),
        ({"style": 1, "truth": np.nan, "reach": 1}, DesignError, r"missing, negative or not a number"),
        ({"style": 1, "truth": "much", "reach": 1}, DesignError, r"not a number \(criterion=truth\)"),
        (dict.fromkeys(CRITERIA, 0), DesignError, "are all 0"),
        ({}, DesignError, "there are none"),
        ([0.5, 0.5], SchemaError, r"weights= is a list\. Give a mapping of criterion to weight"),
        (pd.DataFrame({"criterion": ["style"], "wt": [1]}), SchemaError, "lacks weight. Columns: criterion, wt. Did"),
        (pd.DataFrame({"criterion": ["style"] * 2, "weight": 1}), DesignError, "several weights of one criterion"),
    ],
)
def test_weights_that_cannot_be(weights, error, message):
    with pytest.raises(error, match=message):
        composite(marks(), weights)


def test_by_keeps_scores_apart():
    table = pd.concat([marks(np.arange(24) + 100 * k).assign(prompt=p) for k, p in enumerate("pq")])
    result = composite(table, by="prompt")
    assert len(result) == 16
    np.testing.assert_allclose(np.diff(np.sort(result["score"].to_numpy())[[0, 8]]), 100)


# ---------------------------------------------------------------- what it owes to any input


def test_conditions_replicates_and_columns_are_kept():
    table = pd.concat(
        [marks().assign(replicate=r, condition=c, domain="law") for r, c in itertools.product((0, 1), "st")],
        ignore_index=True,
    ).assign(rationale="because", length=3)
    result = composite(table)
    assert len(result) == 8 * 4
    assert list(result.columns) == [
        *("judge", "system", "item", "criterion", "score", "replicate", "condition", "domain", "status", "length"),
        "n_criteria",
    ]
    assert (check(result)["level"] != "fault").all()


@pytest.mark.parametrize(
    "make", [pl.from_pandas, lambda t: pl.from_pandas(t).lazy(), lambda t: pl.from_pandas(t).to_arrow()]
)
def test_any_engine(make):
    table = with_holes()
    result = composite(make(table), {"style": 2, "truth": 1, "reach": 1})
    assert isinstance(result, type(make(table)))
    eager = result.collect() if isinstance(result, pl.LazyFrame) else result
    back = eager.to_pandas()
    want = composite(table, {"style": 2, "truth": 1, "reach": 1})
    pd.testing.assert_frame_equal(
        back.astype(object).where(back.notna(), None), want.astype(object).where(want.notna(), None)
    )
    assert (check(result)["level"] != "fault").all()
    assert check(result).query("level == 'excluded'")["n"].sum() == 2


@settings(max_examples=20)
@given(st.permutations(range(24)))
def test_row_order_and_categories_do_not_matter(order):
    table = marks(np.random.default_rng(0).integers(1, 11, 24))
    shuffled = table.iloc[list(order)].astype({"judge": "category", "criterion": "category"})
    got = composite(shuffled, {"style": 1, "truth": 2, "reach": 4})
    want = composite(table, {"style": 1, "truth": 2, "reach": 4})
    pd.testing.assert_frame_equal(got.astype({"judge": want["judge"].dtype}), want)


def test_counted_rows_stay_counted():
    table = marks().assign(n_identical=4)
    assert (composite(table)["n_identical"] == 4).all()
    table.loc[0, "n_identical"] = 5
    with pytest.raises(DesignError, match="different counts"):
        composite(table)


def test_a_panel_of_composites():
    table = marks()
    once = aggregate(composite(table), "mean", over="judge")
    other_way = composite(aggregate(table, "mean", over="judge"))
    np.testing.assert_allclose(once["score"], other_way["score"])


@pytest.mark.real
def test_hanna_composite_is_the_mean_of_six_criteria(real_data):
    table = pd.read_csv(real_data / "hanna" / "ratings_long.csv.gz")
    table = table[(table["rater_type"] == "llm") & (table["eval_prompt"] == 1)]
    table = table.rename(columns={"rater": "judge", "writer": "system", "prompt_index": "item"})
    table["score"] = table["score"].where(table["score"].between(1, 5))
    wide = table.pivot(index=["judge", "system", "item"], columns="criterion", values="score")
    result = by_thing(composite(table[["judge", "system", "item", "criterion", "score"]]))
    np.testing.assert_allclose(result, wide.mean(axis=1, skipna=False))
    assert len(result) == 5 * 1056
    some = composite(table[["judge", "system", "item", "criterion", "score"]], missing="renormalise")
    np.testing.assert_allclose(by_thing(some), wide.mean(axis=1))
    assert result.isna().sum() > by_thing(some).isna().sum()


# ---------------------------------------------------------------- known values of items


def indicators(n=12, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"item": [f"m{i:02}" for i in range(n)], "count": rng.random(n), "amount": 1e6 * rng.random(n)})


@pytest.mark.parametrize(
    ("scale", "by_hand"),
    [
        ("as given", lambda x: x),
        ("z", lambda x: (x - x.mean()) / x.std(ddof=1)),
        ("minmax", lambda x: (x - x.min()) / (x.max() - x.min())),
        ("rank", lambda x: x.rank() / len(x)),
    ],
)
def test_an_index_is_a_weighted_mean(scale, by_hand):
    table = indicators()
    got = js.weighted_index(table, {"count": 1, "amount": 3}, scale=scale)
    want = (by_hand(table["count"]) + 3 * by_hand(table["amount"])) / 4
    assert got.columns.tolist() == ["item", "value"]
    assert got["value"].tolist() == pytest.approx(want.tolist())
    twice = pd.concat([table.assign(year=y, amount=table["amount"] * y) for y in (1, 2)])
    each = js.weighted_index(twice, {"count": 1, "amount": 3}, scale=scale, by="year")
    if scale != "as given":
        assert each.loc[each["year"] == 2, "value"].tolist() == pytest.approx(want.tolist())


def test_an_index_is_a_truth_of_rank_correlation():
    table = indicators()
    picks = table[["item"]].assign(judge="g", score=table["amount"].rank() // 3)
    truth = js.weighted_index(table, {"count": 0, "amount": 1}, scale="as given")
    got = js.rank_correlation(picks, truth=truth, method="spearman").iloc[0]
    assert got["estimate"] == pytest.approx(picks["score"].corr(table["amount"], method="spearman"))
    assert js.level_progression(picks, truth).iloc[-1]["estimate"] == 1


def test_an_index_that_cannot_be_is_refused():
    table = indicators()
    refused(
        SchemaError,
        (lambda: js.weighted_index(table, {"count": 1}), TypeError, "scale"),
        (lambda: js.weighted_index(table, {"cnt": 1}, scale="z"), "'cnt' is no column"),
        (lambda: js.weighted_index(table, {"item": 1}, scale="z"), "holds text"),
        (lambda: js.weighted_index(table, {}, scale="z"), DesignError, "not negative"),
        (lambda: js.weighted_index(table, {"count": 0}, scale="z"), DesignError, "not negative"),
        (lambda: js.weighted_index(table, {"count": -1, "amount": 2}, scale="z"), DesignError, "not negative"),
        (lambda: js.weighted_index(table, {"count": float("nan")}, scale="z"), DesignError, "not negative"),
        (lambda: js.weighted_index(table.assign(count=1.0), {"count": 1}, scale="z"), DesignError, "constant"),
    )
    table.loc[0, "count"] = np.nan
    assert js.weighted_index(table, {"count": 1}, scale="z")["value"].isna().tolist() == [True, *[False] * 11]


def test_options_that_cannot_be():
    rubric = pd.DataFrame({"item": ["1"] * 3 + ["2"] * 3, "criterion": CRITERIA * 2, "weight": [1, 1, 1, 0, 0, 0]})
    rows = [("g", item, criterion, "good") for item in "12" for criterion in ("style", "truth")]
    table = js.ratings(pd.DataFrame(rows, columns=["judge", "item", "criterion", "answer"]))
    refused(
        DesignError,
        (lambda: composite(marks(), rubric), "The weights of item=2 are all 0"),
        (
            lambda: composite(marks(), rubric[rubric["item"] == "1"]),
            r"no weight for 12 scores \(first: item=2, criterion=style\)",
        ),
        (lambda: composite(marks(), missing="invalid"), "missing='invalid' is not known"),
        (
            lambda: composite(marks(), criteria=["stile"]),
            r"criteria=: 'stile' is not a criterion .* Did you mean 'style'",
        ),
        (lambda: composite(marks(), criteria=[]), "criteria= is empty"),
        (lambda: composite(marks().drop(columns="criterion")), SchemaError, "needs ratings with a column 'criterion'"),
        (lambda: composite(marks().iloc[:0]), SchemaError, "no rows"),
        (lambda: composite(marks(), by="criterion"), "by='criterion'"),
        (
            lambda: composite(pd.concat([marks().assign(prompt=p) for p in "pq"])),
            "They differ in 'prompt': name it in by=",
        ),
        (lambda: js.composite(table), r"have no mean\. Measure each criterion by itself"),
    )
