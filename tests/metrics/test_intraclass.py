"""Intraclass correlations: Shrout & Fleiss's table, psych, brute force, invariances and simulation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import judgestats as js
import twins_variance as twins
from judgestats.counting.tallies import tally
from judgestats.errors import DesignError, SchemaError
from judgestats.flags import FEW_RATERS, NOT_INDEPENDENT
from judgestats.kernels.cluster_robust import degrees_of_freedom, jackknife_interval
from judgestats.metrics.agreement import icc
from metrics.tables import panel_scores, whole_scores
from refusals import refused

REFERENCE = Path(__file__).parents[1] / "reference"

SHROUT = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float)

TERMS = ["ICC(1,1)", "ICC(2,1)", "ICC(3,1)", "ICC(1,k)", "ICC(2,k)", "ICC(3,k)"]

NUMBERS = ["estimate", "std_error", "conf_low", "conf_high", "n", "raters", "F", "df1", "df2", "p_value"]


def long(table, **columns):
    table = np.asarray(table, float)
    i, j = (a.ravel() for a in np.indices(table.shape))
    frame = pd.DataFrame({"judge": [f"j{x}" for x in j], "system": "s", "item": [f"i{x:03d}" for x in i]})
    return frame.assign(score=table.ravel(), **columns)


def correlated(n, k, seed, subject=1.0, rater=1.0, residual=1.0):
    rng = np.random.default_rng(seed)
    y = rng.normal(0, subject, (n, 1)) + rng.normal(0, rater, (1, k)) + rng.normal(0, residual, (n, k))
    return 5 + y


def same(one, two, **options):
    np.testing.assert_allclose(one[NUMBERS].to_numpy(float), two[NUMBERS].to_numpy(float), rtol=1e-9, **options)


def told(result):
    """Flags but that of few raters, which stands at the intervals of ICC(2,.) of fewer than 10, and nowhere else."""
    table = result.reset_index()
    drawn = table["term"].str.startswith("ICC(2") & (table["raters"] < 10) & table["conf_low"].notna()
    assert (table["flag"].str.contains(FEW_RATERS) == drawn).all()
    return table["flag"].str.replace(f"(; )?{FEW_RATERS}", "", regex=True)


def test_shrout_and_fleiss_as_psych_has_it():
    expected = pd.read_csv(REFERENCE / "icc_e1.csv", comment="#")
    got = icc(long(SHROUT))
    assert list(got["term"]) == TERMS
    columns = ["estimate", "F", "df1", "df2", "p_value", "conf_low", "conf_high"]
    np.testing.assert_allclose(got[columns].to_numpy(float), expected.iloc[:, 1:].to_numpy(float), rtol=1e-10)
    assert (got["n"] == 6).all()
    assert (got["raters"] == 4).all()
    assert (told(got) == "").all()
    assert got["std_error"].isna().all()


def test_published_values():
    assert list(icc(long(SHROUT))["estimate"].round(2)) == [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]


def test_incomplete_table_by_reml_as_lmer_has_it():
    data = long(SHROUT)
    data.loc[data["item"].eq("i001") & data["judge"].eq("j2"), "score"] = np.nan
    data = data[~(data["item"].eq("i004") & data["judge"].eq("j0"))]  # missing and absent are one thing
    got = icc(data, incomplete="reml").set_index("term")
    assert got.loc["ICC(2,1)", "estimate"] == pytest.approx(0.30073341, abs=1e-7)
    s, j, e = 2.7131164, 5.2331364, 1.0754133
    assert got.loc["ICC(3,1)", "estimate"] == pytest.approx(s / (s + e), abs=1e-6)
    assert got.loc["ICC(2,k)", "estimate"] == pytest.approx(s / (s + (j + e) / 4), abs=1e-6)
    assert (got["n"] == 6).all()
    assert (told(got) == "2 subjects incomplete; 1 score missing").all()
    dropped = icc(data)
    same(dropped, icc(long(SHROUT[[0, 2, 3, 5]])))
    assert (told(dropped) == "2 subjects dropped; 1 score missing").all()
    assert (dropped["n"] == 4).all()


def test_reml_equals_mean_squares_on_complete_tables():
    data = long(correlated(30, 4, 1, subject=2.0))
    one, two = icc(data), icc(data, incomplete="reml")
    np.testing.assert_allclose(two["estimate"], one["estimate"], rtol=1e-7)
    assert (two["conf_low"] < two["estimate"]).all()
    assert (two["estimate"] < two["conf_high"]).all()
    assert two["F"].isna().all()
    assert set(two["method"]) == {"REML, delta method on the logit"}


def test_delta_method_of_icc_3_1_is_the_derivative_of_mean_squares():
    """ICC(3,1) = (b - e)/(b + (k - 1) e), so Var logit(ICC) follows from Var(MS) = 2 MS²/df."""
    table = correlated(40, 3, 2)
    b, _, e, _ = twins.two_way(table.tolist())
    v = 2 * b**2 / 39, 2 * e**2 / 78
    logit_variance = v[0] / (b - e) ** 2 + v[1] * (1 / (b - e) + 1 / e) ** 2
    got = icc(long(table), incomplete="reml").set_index("term").loc["ICC(3,1)"]
    rho = got["estimate"]
    assert got["std_error"] == pytest.approx(rho * (1 - rho) * np.sqrt(logit_variance), rel=1e-4)
    assert np.log(got["conf_high"] / (1 - got["conf_high"])) - np.log(rho / (1 - rho)) == pytest.approx(
        1.959963985 * np.sqrt(logit_variance), rel=1e-4
    )


@given(st.integers(2, 6), st.integers(2, 4), st.integers(0, 10**6))
def test_brute_force_anova(n, k, seed):
    table = np.random.default_rng(seed).integers(1, 11, (n, k)).astype(float)
    bms, jms, ems, wms = twins.two_way(table.tolist())
    if min(bms, ems, wms) < 1e-9 or bms + (jms - ems) / n < 1e-9:
        return
    np.testing.assert_allclose(icc(long(table))["estimate"], twins.shrout_fleiss(table.tolist()), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("incomplete", ["drop", "reml"])
def test_order_of_rows_and_names_of_raters_do_not_matter(incomplete):
    table = correlated(12, 4, 3)
    table[2, 1] = np.nan
    data = long(table)
    expected = icc(data, incomplete=incomplete)
    pd.testing.assert_frame_equal(icc(data.sample(frac=1, random_state=1), incomplete=incomplete), expected)
    renamed = data.assign(judge=data["judge"].map({"j0": "z", "j1": "a", "j2": "m", "j3": "b"}))
    same(icc(renamed, incomplete=incomplete), expected, atol=1e-7)


def test_scale_and_shift():
    table = correlated(12, 4, 4)
    expected = icc(long(table))
    same(icc(long(100 - 3 * table)), expected, atol=1e-9)
    shifted = icc(long(table + np.array([[0.0, 2.0, -1.0, 1.0]])))
    consistency = expected["term"].isin(["ICC(3,1)", "ICC(3,k)"])
    same(shifted[consistency], expected[consistency], atol=1e-9)
    assert (shifted["estimate"][~consistency].to_numpy() < expected["estimate"][~consistency].to_numpy()).all()


def test_a_negative_correlation_is_not_clipped():
    table = np.array([[1.0, 5.0], [5.0, 1.0], [2.0, 4.0], [4.0, 2.5]])
    got = icc(long(table)).set_index("term")["estimate"]
    assert got["ICC(2,1)"] < 0
    assert got["ICC(3,k)"] < -1


def test_a_mean_may_have_no_lower_bound():
    """Few raters who differ less than by chance: ICC(2,1) reaches below -1/(k - 1), where Spearman-Brown ends."""
    table = np.array([[1.0, 5.0, 3.0], [5.0, 1.0, 3.1], [3.0, 3.2, 2.9]])
    got = icc(long(table)).set_index("term")
    assert got.loc["ICC(2,1)", "conf_low"] < -0.5
    assert got.loc["ICC(2,k)", "conf_low"] == -np.inf
    assert "no lower bound" in got.loc["ICC(2,k)", "flag"]
    assert "no lower bound" not in got.loc["ICC(2,1)", "flag"]


def test_groups_are_what_they_are_alone():
    """Groups of other sizes, other raters, and with gaps, at once and one by one."""
    tables = [correlated(10, 3, 5), correlated(7, 4, 6), correlated(9, 3, 7), correlated(5, 2, 8)]
    tables[2][[1, 4], [0, 2]] = np.nan
    frames = [long(t, condition=f"c{i}") for i, t in enumerate(tables)]
    frames[3]["judge"] = frames[3]["judge"].map({"j0": "j2", "j1": "j3"})
    data = pd.concat(frames).sample(frac=1, random_state=0)
    for incomplete in ("drop", "reml"):
        got = icc(data, by="condition", incomplete=incomplete)
        assert list(got.columns[:2]) == ["condition", "term"]
        for i, frame in enumerate(frames):
            alone = icc(frame, by="condition", incomplete=incomplete)
            pd.testing.assert_frame_equal(got[got["condition"] == f"c{i}"].reset_index(drop=True), alone)
    assert list(icc(data, by="condition")["raters"].iloc[::6]) == [3, 4, 3, 2]


def test_runs_are_averaged_first_and_told():
    table = correlated(8, 3, 9)
    runs = pd.concat([long(table + d, replicate=r) for r, d in enumerate([-1.0, 0.0, 1.0])])
    got = icc(runs)
    same(got, icc(long(table)), atol=1e-9)
    assert (told(got) == "replicates averaged").all()
    means = long(table).rename(columns={"score": "mean"})
    same(icc(means), icc(long(table)))


def test_a_tally_gives_the_same():
    table = correlated(8, 3, 9)
    runs = pd.concat([long(table + d, replicate=r) for r, d in enumerate([-1.0, 0.3])])
    pd.testing.assert_frame_equal(icc(tally(runs, "icc")), icc(runs))


def test_criteria_and_systems_are_averaged_and_told_unless_they_split():
    a, b = correlated(8, 3, 10), correlated(8, 3, 11)
    data = pd.concat([long(a, criterion="a"), long(b, criterion="b")])
    got = icc(data)
    same(got, icc(long((a + b) / 2)), atol=1e-9)
    assert (told(got) == "averaged over criterion").all()
    by = icc(data, by="criterion")
    same(by[by["criterion"] == "a"], icc(long(a)), atol=1e-12)
    both = icc(data, subjects=["item", "criterion"])
    free = icc(data, subjects=["item", "criterion"], cluster=False)
    same(free, icc(long(np.concatenate([a, b]))), atol=1e-9)
    assert (told(free) == "calls not independent").all()  # two criteria of one item
    assert (both["n"] == 16).all()
    assert (told(both) == "fewer than 10 clusters").all()
    systems = pd.concat([long(a), long(b).assign(system="t")])
    assert (told(icc(systems, subjects="item")) == "averaged over system").all()
    same(icc(systems), both)
    same(icc(systems, subjects=["system", "item"]), both)
    partial = data[~(data["judge"].eq("j0") & data["item"].eq("i000") & data["criterion"].eq("a"))]
    assert (told(icc(partial)) == "averaged over criterion; unequal criterion in 1 subject").all()


def test_temperatures_are_averaged_over_when_named():
    data = pd.concat([long(correlated(6, 3, s), temperature=s / 10) for s in range(2)])
    assert (told(icc(data, average_over="temperature")) == "replicates averaged").all()
    means = data.groupby(["judge", "system", "item"], as_index=False)["score"].mean()
    np.testing.assert_allclose(icc(data, average_over="temperature")["estimate"], icc(means)["estimate"])
    refused(
        DesignError,
        (lambda: icc(data), "'temperature' splits ratings: 36 rows are equal in judge, system, item"),
        (lambda: icc(data, raters="item", subjects="judge"), "36 rows are equal in judge, system, item but"),
        (
            lambda: icc(data.assign(replicate=0), raters="replicate", by="judge", average_over="temperature"),
            "raters='replicate' compares the repeats",
        ),
    )
    assert (told(icc(data, by="temperature")) == "").all()


def test_runs_as_raters_of_one_judge():
    table = correlated(9, 3, 12)
    i, r = (x.ravel() for x in np.indices(table.shape))
    data = pd.DataFrame({"judge": "g", "system": "s", "item": i.astype(str), "replicate": r, "score": table.ravel()})
    both = pd.concat([data, data.assign(judge="h", score=data["score"] * 2)])
    got = icc(both, raters="replicate", by="judge")
    for judge in "gh":
        same(got[got["judge"] == judge], icc(long(table)), atol=1e-9)
    pooled = icc(both, raters="replicate")
    assert (told(pooled) == "averaged over judge").all()


def test_systems_as_raters():
    table = correlated(9, 3, 13)
    data = long(table).rename(columns={"judge": "system", "system": "judge"})
    same(icc(data, raters="system"), icc(long(table)), atol=1e-12)


def test_exchangeable_labels_admit_icc_1_only():
    table = correlated(9, 3, 14)
    shuffled = np.array([np.random.default_rng(i).permutation(row) for i, row in enumerate(table)])
    got = icc(long(shuffled), exchangeable=True)
    assert list(got["term"]) == ["ICC(1,1)", "ICC(1,k)"]
    expected = icc(long(table))
    same(got, expected.iloc[[0, 3]], atol=1e-9)
    workers = long(table)
    workers["judge"] = [f"w{i}" for i in np.random.default_rng(0).permutation(27)]  # every score is another person's
    same(icc(workers, exchangeable=True), got, atol=1e-9)


def one_flag(data, **options):
    result = icc(data, **options)
    assert len(result) == 6
    return result, set(told(result))


@pytest.mark.parametrize("incomplete", ["drop", "reml"])
def test_what_is_not_identified_is_nan_and_told(incomplete):
    table = correlated(5, 3, 15)
    for data, flag in [
        (long(table[:, :1]), "one rater"),
        (long(table[:1]), "one subject"),
        (long(np.full((5, 3), 0.1)), "constant scores"),
        (long(np.full((5, 3), np.nan)), "no data"),
    ]:
        result, flags = one_flag(data, incomplete=incomplete)
        assert result["estimate"].isna().all(), flag
        assert all(flag in f for f in flags), flags


def test_a_silent_rater_does_not_count():
    table = np.column_stack([correlated(5, 3, 16), np.full(5, np.nan)])
    result, flags = one_flag(long(table))
    assert flags == {"1 rater without scores; 5 scores missing"}
    same(result, icc(long(table[:, :3])))


def test_no_complete_subject():
    table = correlated(4, 2, 17)
    table[[0, 1], 0] = np.nan
    table[[2, 3], 1] = np.nan
    result, flags = one_flag(long(table))
    assert flags == {"no complete subject; 4 subjects dropped; 4 scores missing"}
    assert (result["n"] == 0).all()
    apart = icc(long(table), incomplete="reml").set_index("term")
    assert "components not identifiable" in apart.loc["ICC(1,1)", "flag"]
    assert apart["estimate"].isna().all()


def test_perfect_agreement_has_a_point_and_no_interval():
    result, flags = one_flag(long(np.tile([[1.0], [2.0], [4.0]], 3)))
    assert (result["estimate"] == 1).all()
    assert result["conf_low"].isna().all()
    assert (result["p_value"] == 0).all()
    assert flags == {"no residual variance"}
    by_reml = icc(long(np.tile([[1.0], [2.0], [4.0]], 3)), incomplete="reml")
    assert by_reml["conf_low"].isna().all()
    assert by_reml["flag"].str.endswith("no residual variance").all()


def test_subjects_without_differences():
    table = np.array([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0], [2.0, 3.0, 1.0]])
    got = icc(long(table)).set_index("term")
    assert got.loc["ICC(1,1)", "estimate"] == -0.5
    assert np.isnan(got.loc["ICC(1,k)", "estimate"])
    assert got.loc["ICC(1,k)", "flag"] == "subjects do not differ"


def test_empty_table():
    got = icc(long(SHROUT).head(0), by="system")
    assert len(got) == 0
    assert list(got.columns[:3]) == ["system", "term", "estimate"]


def test_reml_boundaries_are_told():
    table = np.array([[1.0, 5.0, 2.9], [5.0, 1.2, 3.1], [3.0, 3.2, 2.9], [3.3, 2.9, 3.0]])
    got = icc(long(table), incomplete="reml").set_index("term")
    assert (got["estimate"] == 0).all()
    assert got["conf_low"].isna().all()
    assert got["flag"].str.contains("subject variance at 0").all()


def test_simulated_correlations_are_recovered_and_covered():
    s, j, e = 1.0, 0.7, 1.2
    truth = {
        "ICC(2,1)": s**2 / (s**2 + j**2 + e**2),
        "ICC(3,1)": s**2 / (s**2 + e**2),
        "ICC(3,k)": s**2 / (s**2 + e**2 / 5),
        "ICC(2,k)": s**2 / (s**2 + (j**2 + e**2) / 5),
    }
    runs = 400
    data = pd.concat([long(correlated(25, 5, seed, s, j, e), run=seed) for seed in range(runs)])
    got = icc(data, by="run").set_index("term")
    for term, value in truth.items():
        row = got.loc[term]
        inside = ((row["conf_low"] <= value) & (value <= row["conf_high"])).mean()
        assert 0.92 < inside < 0.98, term  # 0.95 ± 2.7 standard errors
        assert abs(row["estimate"].median() - value) < 0.03, term


@pytest.mark.parametrize("engine", [pl.from_pandas, lambda t: pl.from_pandas(t).lazy()], ids=["polars", "lazy"])
def test_every_engine_gives_the_same(engine):
    data = pd.concat([long(correlated(6, 3, s), temperature=s / 10) for s in range(2)])
    averaged = {"raters": "item", "subjects": "judge", "average_over": "temperature"}
    for options in ({"by": ["system", "temperature"]}, averaged):
        pd.testing.assert_frame_equal(icc(engine(data), **options), icc(data, **options), check_dtype=False)
    categories = data.astype({"judge": "category", "item": "category", "system": "category"})
    averaged = {"by": "system", "average_over": "temperature"}
    pd.testing.assert_frame_equal(icc(categories, **averaged), icc(data, **averaged))


def test_wrong_arguments_say_what_to_do():
    data = long(SHROUT)
    refused(
        DesignError,
        (lambda: icc(data, incomplete="omit"), "incomplete='omit' is not known"),
        (lambda: icc(data, subjects="itm"), SchemaError, r"subjects='itm' is not a column.*Did you mean 'item'"),
        (lambda: icc(data, raters="judg"), SchemaError, "raters='judg' is not a column"),
        (lambda: icc(data, subjects="item", by="item"), "'item' is in subjects= and in by="),
        (lambda: icc(data, by="judge"), "one rater in each group"),
        (lambda: icc(data, subjects=[]), "names no column"),
        (lambda: icc(data.drop(columns="score")), SchemaError, "lacks score"),
    )


@pytest.mark.slow
def test_intervals_by_reml_cover_with_gaps():
    """Normal on the logit: between 93 and 98 of 100 in longer runs, with 5 raters as with 12."""
    rng, runs = np.random.default_rng(1), 60
    frames = []
    for run in range(runs):
        table = correlated(25, 5, 1000 + run, 1.0, 0.7, 1.2)
        table[rng.random(table.shape) < 0.15] = np.nan
        frames.append(long(table, run=run))
    got = icc(pd.concat(frames), by="run", incomplete="reml").set_index("term")
    for term, value in {"ICC(2,1)": 1 / (1 + 0.49 + 1.44), "ICC(3,k)": 1 / (1 + 1.44 / 5)}.items():
        row = got.loc[term]
        assert 0.86 < ((row["conf_low"] <= value) & (value <= row["conf_high"])).mean() <= 1, term
        spread = (row["estimate"].quantile(0.84) - row["estimate"].quantile(0.16)) / 2
        assert 0.75 < row["std_error"].median() / spread < 1.35, term


@pytest.mark.parametrize("incomplete", ["drop", "reml"])
@pytest.mark.parametrize(("judges", "few"), [("abcdefghi", True), ("abcdefghij", False)])
def test_few_raters_are_flagged_where_raters_are_drawn(incomplete, judges, few):
    table = whole_scores(judges, items=12, systems="s")
    table["score"] += table["item"].str[1:].astype(float)  # items differ
    table["score"] += table["judge"].map({j: 0.3 * i for i, j in enumerate(judges)})  # raters differ
    got = icc(table, incomplete=incomplete).set_index("term")
    assert got["conf_low"].notna().all()
    flagged = got.index[got["flag"].str.contains(FEW_RATERS)]
    assert list(flagged) == (["ICC(2,1)", "ICC(2,k)"] if few else [])
    assert "too narrow" in FEW_RATERS.explanation


def test_no_interval_no_word_of_raters():
    table = whole_scores("ab", items=4, systems="s").assign(score=3.0)
    assert not icc(table)["flag"].str.contains(FEW_RATERS).any()
    assert not icc(whole_scores(), exchangeable=True)["flag"].str.contains(FEW_RATERS).any()


def test_the_subjects_of_icc_are_the_things_that_were_scored():
    table = panel_scores()
    default = js.icc(table).set_index("term")["estimate"]
    pd.testing.assert_series_equal(default, js.icc(table, subjects=["system", "item"]).set_index("term")["estimate"])
    averaged = js.icc(table, subjects="item")
    assert (averaged["flag"].str.contains("averaged over system")).all()
    one = js.icc(table, by="system")
    pd.testing.assert_frame_equal(one, js.icc(table, by="system", subjects="item"))


def table_of(score):
    keys = [(j, f"s{s}", f"i{i:02d}", s, i) for j in "abc" for s in range(2) for i in range(30)]
    rows = [(j, system, item, score(j, s, i)) for j, system, item, s, i in keys]
    return pd.DataFrame(rows, columns=["judge", "system", "item", "score"]).dropna()


def quality(s, i):
    return (7 * i + 3 * s) % 5 + 1.0


def test_a_constant_judge_has_the_published_interval_by_items_too():
    """Two judges, one constant: F is 1 whichever item is left out, and the ends are those of F(59, 59)."""
    table = table_of(lambda j, s, i: {"a": 3.0, "b": quality(s, i), "c": np.nan}[j])
    own = icc(table).set_index("term")
    assert own.loc["ICC(3,1)", "p_value"] == pytest.approx(0.5)
    low, high = stats.f.ppf([0.025, 0.975], 59, 59)
    assert own.loc["ICC(3,1)", "conf_low"] == pytest.approx((low - 1) / (low + 1), abs=1e-6)
    assert own.loc["ICC(3,1)", "conf_high"] == pytest.approx((high - 1) / (high + 1), abs=1e-6)
    assert own.loc["ICC(3,1)", "flag"] == NOT_INDEPENDENT
    assert own.loc["ICC(2,1)", "conf_low"] < 0 < own.loc["ICC(2,1)", "conf_high"]


@pytest.mark.parametrize("apart", [lambda s, i: s == 0 and i == 4, lambda s, i: i == 4])
def test_all_disagreement_in_one_item_leaves_no_clustered_interval(apart):
    table = table_of(lambda j, s, i: quality(s, i) + (j == "c" and apart(s, i)))
    own = icc(table)
    assert own["estimate"].between(0.9, 1).all()
    assert own[["conf_low", "conf_high", "p_value"]].isna().all(axis=None)
    assert own["flag"].str.contains("one cluster holds all disagreement").all()
    alone = icc(table, cluster=False)
    assert ((alone["conf_low"] < alone["estimate"]) & (alone["estimate"] < alone["conf_high"])).all()


def test_clusters_of_unequal_size_have_the_jackknife_with_fewer_degrees_of_freedom():
    rng = np.random.default_rng(5)
    code = np.repeat(np.arange(14), [30, 8, *[3] * 12])
    scores = rng.normal(size=14)[code, None] + rng.normal(size=(code.size, 1)) + rng.normal(size=(code.size, 3))
    table = long(scores)
    table["task"] = code[table["item"].str[1:].astype(int)]
    own = icc(table, cluster="task").set_index("term").loc["ICC(3,1)"]

    def log_of_f(y):
        rest = y - y.mean(axis=1, keepdims=True) - y.mean(axis=0) + y.mean()
        return np.log(3 * y.mean(axis=1).var(ddof=1) / ((rest**2).sum() / ((len(y) - 1) * 2)))

    without = np.array([log_of_f(scores[code != g]) for g in range(14)])
    expected = jackknife_interval(log_of_f(scores), without, np.bincount(code).astype(float), 0.95)
    ends = np.exp([expected.low, expected.high])
    assert own[["conf_low", "conf_high"]].to_numpy(float) == pytest.approx((ends - 1) / (ends + 2))
    assert own["df2"] == pytest.approx(degrees_of_freedom(np.bincount(code).astype(float)))
    assert own["df2"] < 5
    assert "(G = 14, worth 5)" in own["method"]


@pytest.mark.parametrize("k", [2, 3, 4])
def test_subjects_of_one_mean_have_no_interval(k):
    """F is 0, and an interval in proportion to it would have no width."""
    table = pd.DataFrame(
        [(f"j{j}", f"i{i}", float((i + j) % k)) for i in range(3 * k) for j in range(k)],
        columns=["judge", "item", "score"],
    )
    rows = js.icc(table).set_index("term")
    assert rows.loc["ICC(1,1)", "estimate"] == pytest.approx(-1 / (k - 1))
    assert rows[["conf_low", "conf_high"]].isna().all(axis=None)
    assert rows["flag"].str.contains("subjects do not differ").all()
    assert (rows["method"] == "").all()
    nearly = table.assign(score=table["score"] + 0.01 * (table["item"] == "i0"))
    assert (js.icc(nearly).set_index("term").loc["ICC(1,1)"].pipe(lambda r: r["conf_high"] - r["conf_low"])) > 0
