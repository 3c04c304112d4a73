"""Pictures of agreement show what the measures say."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from judgestats import published
from judgestats.errors import DesignError
from judgestats.metrics import agreement
from judgestats.reporting import plots
from judgestats.reporting.plots.canvas import PALETTE
from judgestats.reporting.plots.reliabilities import LEVELS
from judgestats.reporting.plots.short_names import shortened
from refusals import refused
from registry import scores, single_scores
from reporting.drawing import drawn, legend, lost, marks, names, texts, whiskers

FEW = {"n_resamples": 50}

LONG = [f"organisation/judge-{i}-with-quite-a-long-name-for-an-axis" for i in range(8)]


# ---------------------------------------------------------------- levels


@pytest.fixture(scope="module")
def levels():
    halves = scores().assign(domain=lambda t: np.where(t["item"] < "i4", "law", "art"))
    return agreement.agreement_levels(halves, by="domain", **FEW)


def test_agreement_levels_have_three_points_a_group_and_the_gaps_beside_them(levels):
    ax = drawn(plots.agreement_levels(levels))
    assert names(ax) == ["art", "law"]
    for term, (_, color) in LEVELS.items():
        wanted = levels.loc[levels["term"] == term]
        found = marks(ax, color=color)
        np.testing.assert_allclose([f[0] for f in found], wanted["estimate"])
        assert [round(f[1]) for f in found] == [0, 1]
        np.testing.assert_allclose(whiskers(ax, color), wanted[["conf_low", "conf_high"]])
    gap = levels.loc[levels["term"] == "gap_sample_icc", "estimate"].iloc[1]
    assert any(t.startswith(f"{'+' if gap > 0 else '−'}{abs(gap):.2f}  [") for t in texts(ax))
    assert {"ρ − r", "r − ICC"} <= set(texts(ax))


def test_agreement_levels_of_nothing_are_refused_and_gaps_are_not_made_up(levels):
    only = levels[~levels["term"].str.startswith("gap") & (levels["domain"] == "art")]
    assert texts(drawn(plots.agreement_levels(only))) == ["ρ − r", "r − ICC"]
    with pytest.raises(DesignError, match="agreement_levels"):
        plots.agreement_levels(lost(levels, *levels.index))


def test_icc_draws_the_forms_asked_for():
    result = agreement.icc(scores(), by="system")
    ax = drawn(plots.icc(result, order="given"))
    wanted = result[result["term"] == "ICC(2,1)"]
    assert [m[:2] for m in marks(ax)] == [(v, i) for i, v in enumerate(wanted["estimate"])]
    assert names(ax) == list("abcd")
    both = drawn(plots.icc(result, forms=["ICC(3,1)", "ICC(1,k)"]))
    assert [m[0] for m in marks(both)] == list(result.loc[result["term"] == "ICC(3,1)", "estimate"])
    assert [m[0] for m in marks(both, "s")] == list(result.loc[result["term"] == "ICC(1,k)", "estimate"])
    assert legend(both) == ["ICC(3,1)", "ICC(1,k)"]
    with pytest.raises(DesignError, match=r"ICC\(9,1\)"):
        plots.icc(result, forms=["ICC(2,1)", "ICC(9,1)"])


def test_icc_cuts_long_intervals_off_with_an_arrow():
    rows = pd.DataFrame({"term": "ICC(2,1)", "estimate": [0.4], "conf_low": [-np.inf], "conf_high": [0.8]})
    ax = drawn(plots.icc(rows))
    assert names(ax) == ["all"]
    assert any(m.get_marker() == "<" for m in ax.lines)
    assert ax.get_xlim()[0] >= -1.2


# ---------------------------------------------------------------- quality


def test_quality_agreement_puts_each_system_at_its_numbers_in_the_colour_of_its_tier():
    table = published.load("consensus_illusion/table9")
    result = agreement.quality_agreement(table, within="tier")
    ax = drawn(plots.quality_agreement(table, result))
    for i, tier in enumerate(dict.fromkeys(table["tier"])):
        here = table[table["tier"] == tier]
        np.testing.assert_allclose(ax.collections[i].get_offsets(), here[["mean_score", "r"]])
        assert to_hex(ax.collections[i].get_facecolor()[0]) == PALETTE[i].lower()
        rho = result.loc[result["tier"] == tier, "estimate"].item()
        assert f"{tier} (ρ = {'−' if rho < 0 else '+'}{abs(rho):.2f})" in legend(ax)
    assert any(t.startswith("ρ = −0.51 [") for t in texts(ax))
    entries = [t.split("  ", 1)[1] for t in legend(ax) if "  " in t]
    assert entries == shortened(table.sort_values("mean_score", kind="stable")["model"])
    assert {str(i + 1) for i in range(len(table))} <= set(texts(ax))


def test_quality_agreement_counts_what_lacks_a_number():
    table = pd.DataFrame({"system": list("abc"), "mean_score": [5.0, 6.0, np.nan], "r": [0.8, 0.7, 0.6]})
    ax = drawn(plots.quality_agreement(table))
    assert len(ax.collections[0].get_offsets()) == 2
    assert any("numbers: 1." in t for t in texts(ax))
    refused(
        DesignError,
        (lambda: plots.quality_agreement(table.tail(1)), "No system"),
        (lambda: plots.quality_agreement(table, score="nothing"), "nothing"),
    )


# ---------------------------------------------------------------- judge by judge


def test_kappa_matrix_is_symmetric_and_empty_on_the_diagonal():
    result = agreement.kappa(single_scores())
    ax = drawn(plots.kappa_matrix(result, order="given"))
    shown = ax.collections[0].get_array().filled(np.nan)
    assert np.isnan(np.diag(shown)).all()
    np.testing.assert_allclose(shown, shown.T)
    np.testing.assert_allclose(shown[np.triu_indices(3, 1)], result["estimate"])
    assert sorted(texts(ax)) == sorted(2 * [f"{v:.2f}" for v in result["estimate"]])
    assert (ax.collections[0].norm.vmin, ax.collections[0].norm.vmax) == (0, 1)


def test_kappa_matrix_leaves_pairs_without_a_common_item_empty():
    table = pd.DataFrame({"judge": [*"aabbcc"], "item": [*"121239"], "system": "s", "score": [1.0, 2, 2, 2, 1, 2]})
    assert "empty: 2 of 3 pairs" in texts(plots.kappa_matrix(agreement.kappa(table)))[-1]


def test_kappa_matrix_tells_unknown_from_absent_and_takes_correlations():
    rows = pd.DataFrame({"judge": ["a", "a"], "other": ["b", "c"], "term": "kappa", "estimate": [-0.2, np.nan]})
    ax = drawn(plots.kappa_matrix(rows))
    assert texts(ax).count("n/a") == 2  # a and c; b and c were not compared
    assert ax.collections[0].norm.vmin == -0.2
    each = agreement.correlation(single_scores(), pairs="each", by="system")
    assert "Pearson r" in plots.kappa_matrix(each[each["system"] == "a"]).figure.axes[-1].get_ylabel()
    assert "empty: 1 of 3 pairs" in texts(ax)[-1]
    assert "empty: 4 of 6 pairs" in texts(plots.kappa_matrix(rows, judges=["d", "a"]))[-1]
    refused(
        DesignError,
        (each, "one group"),
        (pd.concat([rows, rows.assign(term="r")]), "several terms"),
        (rows.drop(columns="other"), "other"),
        of=plots.kappa_matrix,
    )


def test_matrices_of_pairs_have_judges_that_agree_side_by_side():
    block = dict(zip("abcdef", "xyxyxy", strict=True))
    rows = pd.DataFrame([*itertools.combinations(block, 2)], columns=["judge", "other"]).assign(term="kappa")
    same = rows["judge"].map(block) == rows["other"].map(block)
    ax = plots.kappa_matrix(rows.assign(estimate=np.where(same, 0.8, 0.1)))
    assert [block[j] for j in names(ax)] in (list("xxxyyy"), list("yyyxxx"))


def test_disagreement_has_shares_pairs_and_who_is_highest():
    result = agreement.disagreement(scores(), **FEW)
    one, two, three = drawn(plots.disagreement(result, title="apart"))
    part = {t: result[result["term"] == t] for t in result["term"].unique()}
    assert names(one) == ["spread > 2", "spread > 3", "spread > 4"]
    np.testing.assert_allclose([p.get_width() for p in one.patches], part["share_above"]["estimate"])
    apart = part["mean_difference"].sort_values("estimate", ascending=False)
    assert names(two) == [f"{a} – {b}" for a, b in zip(apart["judge"], apart["other"], strict=True)]
    assert [m[0] for m in marks(two)] == list(apart["estimate"])
    assert whiskers(two) == list(zip(apart["conf_low"], apart["conf_high"], strict=True))
    shared = part["highest_shared"].sort_values("estimate", ascending=False)
    assert names(three) == list(shared["judge"])
    np.testing.assert_allclose([p.get_width() for p in three.patches], shared["estimate"])
    alone = part["highest_alone"].set_index("judge")["estimate"]
    assert {m[1]: m[0] for m in marks(three)} == {names(three).index(j): v for j, v in alone.items()}


def test_disagreement_leaves_out_thresholds_that_nothing_reaches():
    rows = pd.DataFrame({"term": "share_above", "estimate": [0.2, 0.0, 0.0], "threshold": [1.0, 2.0, 3.0]})
    rest = pd.DataFrame({"term": ["mean_difference", "highest_alone", "highest_shared"], "estimate": 0.5, "judge": "a"})
    rest.loc[0, "other"] = "b"
    table = pd.concat([rows, rest]).assign(conf_low=np.nan, conf_high=np.nan)
    table = table[["term", *(c for c in table.columns if c != "term")]]
    one = plots.disagreement(table)[0]
    assert names(one) == ["spread > 1", "spread > 2"]
    assert "no item has a spread above 2" in texts(one)


@pytest.mark.slow
def test_disagreement_of_many_judges_is_a_matrix_of_all_pairs():
    base = scores().query("judge == 'a'")
    many = pd.concat([base.assign(judge=j, score=base["score"] + i % 3) for i, j in enumerate(LONG)])
    result = agreement.disagreement(many, **FEW)
    axes = drawn(plots.disagreement(result))
    shown = axes[1].collections[0].get_array().filled(np.nan)
    pairs = result.loc[result["term"] == "mean_difference", "estimate"]
    np.testing.assert_allclose(np.sort(shown[np.triu_indices(len(LONG), 1)]), np.sort(pairs))
    two = agreement.disagreement(scores(), by="system", **FEW)
    with pytest.raises(DesignError, match="4 groups"):
        plots.disagreement(two)


def test_score_distribution_shows_mean_sd_and_ceiling():
    result = agreement.score_distribution(scores(), **FEW)
    left, middle, right = drawn(plots.score_distribution(result, order="given"))
    part = {t: result[result["term"] == t] for t in result["term"].unique()}
    for ax, term in ((left, "mean"), (middle, "sd")):
        assert [m[:2] for m in marks(ax)] == [(v, i) for i, v in enumerate(part[term]["estimate"])]
        assert whiskers(ax) == list(zip(part[term]["conf_low"], part[term]["conf_high"], strict=True))
    assert middle.get_xlim()[0] == 0
    np.testing.assert_allclose([p.get_width() for p in right.patches], part["ceiling"]["estimate"])
    assert texts(right) == ["top: the highest score seen"]


def test_pictures_of_rows_draw_on_the_axes_given():
    ax = Figure().add_subplot()
    assert plots.icc(agreement.icc(scores(), by="system"), ax=ax).axes == [ax]
    with pytest.raises(DesignError, match="3 panels"):
        plots.disagreement(agreement.disagreement(scores(), **FEW), ax=ax)


# ---------------------------------------------------------------- quantiles of scores


def test_score_quantiles_are_boxes_of_each_judge_and_system():
    """Figure 6 of the consensus_illusion paper."""
    result = agreement.score_distribution(
        single_scores(), by="system", quantiles=(0.05, 0.25, 0.5, 0.75, 0.95), n_resamples=10
    )
    ax = drawn(plots.score_quantiles(result, title="Scores"))
    wide = result.pivot(index=["system", "judge"], columns="term", values="estimate")
    scored = single_scores().groupby(["system", "judge"])["score"].quantile([0.25, 0.95]).unstack()
    np.testing.assert_allclose(wide[["q25", "q95"]], scored)
    rows = names(ax)
    assert sorted(rows) == list("abcd")
    middle = wide["q50"].groupby("system").mean()
    assert middle[rows].tolist() == sorted(middle, reverse=True)
    boxes = {(round(b.get_x(), 6), round(b.get_x() + b.get_width(), 6)) for b in ax.patches}
    assert boxes == {(round(r["q25"], 6), round(r["q75"], 6)) for _, r in wide.iterrows()}
    assert legend(ax) == ["a", "b", "c"]
    assert names(plots.score_quantiles(result, order=list("dcba"))) == list("dcba")
    refused(
        DesignError,
        (lambda: plots.score_quantiles(result, order=["a"]), "order= lacks"),
        (lambda: plots.score_quantiles(result[result["term"] != "q05"]), "q05"),
    )


def test_quantiles_beyond_0_and_1_are_refused():
    with pytest.raises(DesignError, match="between 0 and 1"):
        agreement.score_distribution(single_scores(), quantiles=(5, 50))
