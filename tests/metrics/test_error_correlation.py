"""Effective number of judges: closed forms, brute force, and what is left out or refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import judgestats as js
from judgestats.errors import DesignError, SchemaError
from judgestats.flags import explain
from refusals import refused


def frame(errors, gold=5.0, **columns):
    """Ratings whose errors are the columns of a matrix; one item a row."""
    n, k = errors.shape
    judge, item = np.meshgrid([f"j{i:02d}" for i in range(k)], np.arange(n))
    table = pd.DataFrame({"judge": judge.ravel(), "system": "s", "item": item.ravel(), "gold": gold})
    return table.assign(score=gold + errors.ravel(), **columns)


def with_correlations(r, n=40, seed=0):
    """Errors whose sample correlations are exactly `r`, of unequal spread and mean."""
    rng = np.random.default_rng(seed)
    k = len(r)
    q, _ = np.linalg.qr(np.column_stack([np.ones(n), rng.normal(size=(n, k))]))
    exact = q[:, 1:] @ np.linalg.cholesky(r).T
    return exact * rng.uniform(0.5, 3, k) + rng.normal(size=k)


def equicorrelated(k, r):
    return np.full((k, k), r) + (1 - r) * np.eye(k)


def value(result, term="effective_judges"):
    return float(result.loc[result["term"] == term, "estimate"].iloc[0])


@pytest.mark.parametrize(("k", "r"), [(2, 0.3), (9, 0.5), (5, 0.0), (3, -0.3), (9, 0.9)])
def test_equal_correlations(k, r):
    found = js.effective_judges(frame(with_correlations(equicorrelated(k, r))), n_resamples=20)
    assert value(found) == pytest.approx(k / (1 + (k - 1) * r))
    assert value(found, "mean_correlation") == pytest.approx(r)
    assert (found["judges"] == k).all()
    assert (found["n"] == 40).all()


def test_unequal_correlations_by_brute_force():
    errors = np.random.default_rng(1).normal(size=(60, 4)) @ np.random.default_rng(2).normal(size=(4, 4))
    r = np.corrcoef(errors.T)
    found = js.effective_judges(frame(errors), n_resamples=20)
    assert value(found) == pytest.approx(16 / r.sum())
    assert value(found, "mean_correlation") == pytest.approx(r[np.triu_indices(4, 1)].mean())
    standard = (errors - errors.mean(axis=0)) / errors.std(axis=0)
    assert value(found) == pytest.approx(1 / standard.mean(axis=1).var())  # what the number means


def test_a_copy_adds_nothing():
    errors = np.random.default_rng(3).normal(size=(50, 3))
    copies = np.repeat(errors, 4, axis=1)
    one, many = (js.effective_judges(frame(e), n_resamples=20) for e in (errors, copies))
    assert value(many) == pytest.approx(value(one))


def test_scale_and_severity_of_a_judge_do_not_matter():
    errors = np.random.default_rng(4).normal(size=(50, 3))
    one, two = (js.effective_judges(frame(e)) for e in (errors, errors * [1, 2, 5] + [0, 3, -1]))
    np.testing.assert_allclose(
        one[["estimate", "conf_low", "conf_high"]], two[["estimate", "conf_low", "conf_high"]], rtol=1e-9
    )


def test_runs_are_averaged():
    errors = np.random.default_rng(5).normal(size=(30, 3))
    noise = np.random.default_rng(6).normal(size=(30, 3))
    both = pd.concat([frame(errors + noise, replicate=0), frame(errors - noise, replicate=1)], ignore_index=True)
    assert value(js.effective_judges(both)) == pytest.approx(value(js.effective_judges(frame(errors))))


def test_only_what_all_judges_answered():
    errors = np.random.default_rng(7).normal(size=(50, 3))
    table = frame(errors)
    table.loc[(table["item"] < 5) & (table["judge"] == "j01"), "score"] = np.nan
    found = js.effective_judges(table[~((table["item"] == 7) & (table["judge"] == "j02"))])
    kept = [i for i in range(5, 50) if i != 7]
    assert value(found) == pytest.approx(value(js.effective_judges(frame(errors[kept]))))
    assert (found["n"] == 44).all()
    assert found["flag"].str.contains("6 not answered by all judges excluded").all()


def test_constant_judges_are_left_out_and_named():
    errors = np.random.default_rng(8).normal(size=(50, 4))
    errors[:, 1] = 0.0
    errors[:, 3] = 2.0
    found = js.effective_judges(frame(errors))
    assert value(found) == pytest.approx(value(js.effective_judges(frame(errors[:, [0, 2]]))))
    assert found["flag"].str.contains("errors do not vary, left out: j01, j03").all()
    assert (found["judges"] == 2).all()
    assert "errors_constant" in explain(found)["code"].tolist()
    alone = js.effective_judges(frame(errors[:, [0, 1]]))
    assert alone["estimate"].isna().all()
    assert alone["flag"].str.contains("fewer than two judges whose errors vary").all()
    perfect = js.effective_judges(frame(np.zeros((50, 3))))
    assert perfect["estimate"].isna().all()


def test_a_judge_that_never_answers_is_no_member():
    errors = np.random.default_rng(9).normal(size=(50, 3))
    table = frame(errors)
    table.loc[table["judge"] == "j02", "score"] = np.nan
    found = js.effective_judges(table)
    assert value(found) == pytest.approx(value(js.effective_judges(frame(errors[:, :2]))))
    assert found["flag"].str.contains("1 judge without an answer excluded").all()


def test_errors_that_cancel_out():
    error = np.random.default_rng(10).normal(size=50)
    found = js.effective_judges(frame(np.column_stack([error, -error])))
    row = found.iloc[0]
    assert np.isnan(row["estimate"])
    assert "errors cancel out" in row["flag"]
    assert value(found, "mean_correlation") == pytest.approx(-1)


def calls_with_errors(wrong, **columns):
    """Preferences of judges that are wrong where the matrix says 1, and tie where it says 0.5."""
    rows = []
    for i, row in enumerate(wrong):
        good, bad = ("x", "y") if i % 3 else ("y", "x")
        for j, w in enumerate(row):
            first, second = (good, bad) if (i + j) % 2 else (bad, good)
            chosen = good if w == 0 else bad
            choice = "tie" if w == 0.5 else "first" if chosen == first else "second"
            rows.append((f"j{j}", f"i{i:03d}", first, second, choice, good))
    return pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice", "gold"]).assign(**columns)


def test_verdicts_are_wrong_or_right_whatever_the_names_and_slots():
    wrong = np.random.default_rng(11).choice([0, 0.5, 1], size=(80, 3), p=[0.6, 0.1, 0.3])
    found = js.effective_judges(calls_with_errors(wrong))
    assert value(found) == pytest.approx(9 / np.corrcoef(wrong.T).sum())
    assert (found["n"] == 80).all()
    correct = frame(-wrong).drop(columns=["score", "gold"]).assign(correct=(wrong.ravel() == 0))
    sure = js.effective_judges(correct)
    assert value(sure) == pytest.approx(9 / np.corrcoef((wrong != 0).T).sum())


def test_both_orders_are_averaged():
    rng = np.random.default_rng(12)
    one, two = (rng.choice([0.0, 1.0], size=(60, 3)) for _ in range(2))
    first = calls_with_errors(one)
    second = calls_with_errors(two)
    turned = second.rename(columns={"first": "second", "second": "first"})
    turned["choice"] = turned["choice"].map({"first": "second", "second": "first"})
    both = pd.concat([first, turned], ignore_index=True)
    assert value(js.effective_judges(both)) == pytest.approx(9 / np.corrcoef(((one + two) / 2).T).sum())


def test_responses_of_an_item_are_drawn_together():
    rng = np.random.default_rng(13)
    shared = np.repeat(rng.normal(size=(40, 1)), 5, axis=0)
    errors = shared + 0.3 * rng.normal(size=(200, 1)) + 0.5 * rng.normal(size=(200, 4))
    table = frame(errors)
    table = table.assign(system=table["item"] % 5, item=table["item"] // 5).astype({"system": str})
    by_item, loose = js.effective_judges(table), js.effective_judges(table, cluster=False)
    assert by_item["method"].str.contains("bootstrap of item").all()
    assert loose["flag"].str.contains("calls not independent").all()
    assert loose["method"].str.contains("bootstrap of units").all()
    widths = [t["conf_high"] - t["conf_low"] for t in (by_item, loose)]
    assert (widths[0] > 1.2 * widths[1]).all()


def test_groups_are_panels_of_their_own():
    errors = np.random.default_rng(14).normal(size=(40, 3))
    both = pd.concat(
        [frame(errors, domain="a"), frame(errors[:, [0, 0, 1]] + 0, domain="b").assign(item=lambda t: t["item"] + 40)]
    )
    found = js.effective_judges(both, by="domain")
    assert found["domain"].tolist() == ["a", "a", "b", "b"]
    alone = js.effective_judges(frame(errors))
    assert found["estimate"].iloc[0] == pytest.approx(value(alone))


def test_right_scores_in_a_table_of_their_own_and_polars():
    table = frame(np.random.default_rng(15).normal(size=(40, 3)))
    right = table[["item", "gold"]].drop_duplicates().rename(columns={"gold": "score"})
    want = js.effective_judges(table)
    pd.testing.assert_frame_equal(js.effective_judges(table.drop(columns="gold"), gold=right), want)
    pd.testing.assert_frame_equal(js.effective_judges(pl.from_pandas(table).lazy()), want)


def test_what_is_refused():
    table = frame(np.random.default_rng(16).normal(size=(40, 3)))
    refused(
        DesignError,
        (
            lambda: js.effective_judges(table.drop(columns="gold")),
            "needs the right answers, and there is no column 'gold'",
        ),
        (lambda: js.effective_judges(table.assign(gold=np.nan)), "no response has one"),
        (
            lambda: js.effective_judges(calls_with_errors(np.zeros((4, 2))).drop(columns="gold")),
            "needs the right answers, and there is no column",
        ),
        (lambda: js.effective_judges(table[table["judge"] == "j00"]), "there is one"),
        (lambda: js.effective_judges(table, cluster="judge"), "the judges are the panel"),
        (lambda: js.effective_judges(table, cluster="topic"), SchemaError, "cluster='topic' is not a column"),
    )


@pytest.mark.slow
def test_intervals_cover():
    """Normal errors, some of them shared: few replications here, 2,000 in benchmarks/coverage_confidence.py."""
    rng = np.random.default_rng(17)
    hits = 0
    for i in range(60):
        errors = rng.normal(size=(80, 1)) * 0.7 + rng.normal(size=(80, 4))
        row = js.effective_judges(frame(errors), n_resamples=300, seed=i).iloc[0]
        hits += row["conf_low"] <= 4 / (1 + 3 * 0.49 / 1.49) <= row["conf_high"]
    assert 51 <= hits <= 60  # 0.95, with binomial error


def test_a_few_large_errors_are_flagged():
    rng = np.random.default_rng(3)
    for df, heavy in ((3, True), (np.inf, False)):
        errors = rng.standard_t(df, (400, 5)) if heavy else rng.normal(size=(400, 5))
        result = js.effective_judges(frame(errors), n_resamples=50)
        assert result["flag"].str.contains("a few large errors decide").all() == heavy


def test_classes_are_right_or_wrong():
    """A class beside the right one is a verdict of right and wrong, in any engine; missing ones are left out."""
    rng = np.random.default_rng(2)
    table = pd.DataFrame([(j, f"i{i}") for i in range(60) for j in "abc"], columns=["judge", "item"])
    table["gold"] = np.repeat(rng.choice(["x", "y", "z"], 60), 3)
    table["answer"] = np.where(rng.random(180) < 0.7, table["gold"], rng.choice(["x", "y", "z"], 180))
    table.loc[[4, 30], "answer"] = None
    right = (table["answer"] == table["gold"]).astype(object).where(table["answer"].notna(), None)
    expected = js.effective_judges(js.ratings(table.assign(correct=right).drop(columns=["answer", "gold"])))
    assert expected["n"].tolist() == [58, 58]
    for calls in (js.ratings(table), pl.from_pandas(table).lazy()):
        pd.testing.assert_frame_equal(js.effective_judges(calls), expected)
    with pytest.raises(DesignError, match="needs the right answers"):
        js.effective_judges(js.ratings(table.drop(columns="gold")))
