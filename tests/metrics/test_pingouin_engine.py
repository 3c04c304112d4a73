"""pingouin as a second opinion on intraclass correlations, and repeated measures against published and ANCOVA values."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from statsmodels.formula.api import ols

from judgestats import correlation, icc
from judgestats.errors import DesignError
from judgestats.flags import CONSTANT, NOT_INDEPENDENT

#: Bland and Altman (1995): pH and PaCO2 of eight subjects; rmcorr and pingouin print -0.507 on 38 degrees of freedom.
PH = "6.68 6.53 6.43 6.33, 6.85 7.06 7.13 7.17, 7.4 7.42 7.41 7.37 7.34 7.35 7.28 7.3 7.34, 7.36 7.33 7.29 7.3 7.35, "
PH += "7.35 7.3 7.3 7.37 7.27 7.28 7.32 7.32, 7.38 7.3 7.29 7.33 7.31 7.33, 6.86 6.94 6.92, "
PH += "7.19 7.29 7.21 7.25 7.2 7.19 6.77 6.82"
GAS = (
    "3.97 4.12 4.09 3.97, 5.27 5.37 5.41 5.44, 5.67 3.64 4.32 4.73 4.96 5.04 5.22 4.82 5.07, 5.67 5.1 5.53 4.75 5.51, "
)
GAS += "4.28 4.44 4.32 3.23 4.46 4.72 4.75 4.99, 4.78 4.73 5.12 4.93 5.03 4.93, 6.85 6.44 6.52, "
GAS += "5.28 4.56 4.34 4.32 4.41 3.69 6.09 5.58"


def published():
    rows = [
        (judge, f"s{k}", str(item), float(x))
        for judge, text in (("gas", GAS), ("ph", PH))
        for item, group in enumerate(text.split(", "))
        for k, x in enumerate(group.split())
    ]
    return pd.DataFrame(rows, columns=["judge", "system", "item", "score"])


def panel(items=30, systems="stuv", judges="abc", seed=0):
    """Items differ most, systems little; judges see both with noise."""
    rng = np.random.default_rng(seed)
    quality = 2 * rng.normal(size=(items, 1)) + rng.normal(size=(items, len(systems)))
    rows = [
        {"judge": j, "system": s, "item": f"i{i:02d}", "score": 0.5 * k + quality[i, m] + rng.normal()}
        for k, j in enumerate(judges)
        for i in range(items)
        for m, s in enumerate(systems)
    ]
    return pd.DataFrame(rows)


def test_the_second_opinion_is_the_first():
    pytest.importorskip("pingouin")
    table = panel().assign(language=lambda d: np.where(d["item"] < "i12", "en", "zh"))
    table = table[~((table["judge"] == "a") & (table["item"] == "i03"))]
    options = {"subjects": ["system", "item"], "by": "language", "cluster": False}
    ours, theirs = icc(table, **options), icc(table, **options, engine="pingouin")
    numbers = ["estimate", "conf_low", "conf_high", "n", "raters", "F", "df1", "df2", "p_value"]
    np.testing.assert_allclose(theirs[numbers].to_numpy(float), ours[numbers].to_numpy(float), rtol=1e-9)
    assert theirs["method"].str.startswith("pingouin ").all()
    pd.testing.assert_frame_equal(theirs[["term", "flag"]], ours[["term", "flag"]])


def test_pingouin_keeps_its_settings():
    pingouin = pytest.importorskip("pingouin")
    before = dict(pingouin.options)
    icc(panel(), engine="pingouin")
    assert pingouin.options == before


def test_subjects_in_clusters_are_told():
    pytest.importorskip("pingouin")
    assert icc(panel(items=40), cluster="item", engine="pingouin")["flag"].str.contains(NOT_INDEPENDENT).all()


def test_no_lower_bound_and_no_residual_are_told_by_both():
    pytest.importorskip("pingouin")
    rng = np.random.default_rng(3)
    noise = panel(items=4, systems="s").assign(score=lambda d: rng.normal(size=len(d)))
    ours, theirs = (icc(noise, engine=e).set_index("term") for e in ("judgestats", "pingouin"))
    assert np.isneginf(ours.loc["ICC(2,k)", "conf_low"])
    np.testing.assert_allclose(theirs["conf_low"], ours["conf_low"], rtol=1e-9)
    perfect = icc(panel(systems="s").assign(score=lambda d: d["item"].str[1:].astype(float)), engine="pingouin")
    assert perfect["estimate"].isna().all()
    assert perfect["flag"].str.contains("no residual").all()


@pytest.mark.parametrize("options", [{"incomplete": "reml"}, {"conf_level": 0.9}])
def test_what_pingouin_cannot_do_is_refused(options):
    with pytest.raises(DesignError, match="engine='pingouin' is for"):
        icc(panel(), engine="pingouin", **options)


def test_repeated_measures_of_bland_and_altman():
    pytest.importorskip("pingouin")
    row = correlation(published(), method="repeated").iloc[0]
    assert row["estimate"] == pytest.approx(-0.50677, abs=5e-6)
    assert row["p_value"] == pytest.approx(0.000847, abs=5e-7)
    assert (round(row["conf_low"], 2), round(row["conf_high"], 2)) == (-0.71, -0.23)
    assert row["n"] == 47
    assert "(38 df)" in row["method"]


def test_repeated_measures_are_an_analysis_of_covariance():
    pytest.importorskip("pingouin")
    table = panel(judges="abc", items=15)
    table = table[~((table["judge"] == "c") & (table["item"] == "i02") & (table["system"] == "s"))]
    got = correlation(table, method="repeated").set_index(["judge", "other"])
    assert list(got.index) == [("a", "b"), ("a", "c"), ("b", "c")]
    wide = table.pivot_table(index=["item", "system"], columns="judge", values="score").reset_index()
    for one, two in got.index:
        fit = ols(f"{two} ~ {one} + C(item)", wide).fit()
        t, row = fit.tvalues[one], got.loc[(one, two)]
        assert row["estimate"] == pytest.approx(t / np.sqrt(t**2 + fit.df_resid), rel=1e-9)
        assert row["p_value"] == pytest.approx(fit.pvalues[one], rel=1e-6)
        half = 1.959963984540054 / np.sqrt(fit.df_resid - 1)
        ends = np.tanh(np.arctanh(row["estimate"]) + np.array([-half, half]))
        np.testing.assert_allclose([row["conf_low"], row["conf_high"]], ends, rtol=1e-9)


def test_what_an_item_has_in_common_does_not_count():
    pytest.importorskip("pingouin")
    table = panel()
    shift = table["item"].map({i: 10.0 * k for k, i in enumerate(sorted(table["item"].unique()))})
    for moved in (table.assign(score=table["score"] + shift), pl.from_pandas(table.sample(frac=1, random_state=1))):
        got, plain = correlation(moved, method="repeated"), correlation(table, method="repeated")
        np.testing.assert_allclose(got["estimate"], plain["estimate"], rtol=1e-9)


def test_repeated_measures_that_cannot_be():
    pytest.importorskip("pingouin")
    alone = correlation(panel(systems="s"), method="repeated")
    assert alone["estimate"].isna().all()
    assert alone["flag"].str.contains("too few").all()
    flat = panel(judges="ab").assign(score=lambda d: d["score"].where(d["judge"] == "a", 3.0))
    assert correlation(flat, method="repeated")["flag"].tolist() == [CONSTANT]
    for options in ({"pairs": "mean"}, {"level": "system"}, {"interval": "t"}, {"cell": "system"}):
        with pytest.raises(DesignError, match="method='repeated' is for each pair"):
            correlation(panel(), method="repeated", **options)


def test_a_missing_pingouin_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "pingouin", None)
    for call in (lambda: icc(panel(), engine="pingouin"), lambda: correlation(panel(), method="repeated")):
        with pytest.raises(DesignError, match=r'pip install "judgestats\[pingouin\]"'):
            call()


def test_pingouin_is_imported_only_where_it_is_asked_for():
    code = "import sys, judgestats as js, judgestats.metrics.agreement.judge_correlations; js.icc; print('pingouin' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
