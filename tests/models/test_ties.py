"""The tie model: slot bias, criterion and resolution, and what a prompt moved."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit, ndtr
from scipy.stats import chi2

import judgestats as js
from judgestats.errors import DesignError
from judgestats.flags import NO_RATIO, WIDE
from judgestats.models.bias_models.ties import tie_model
from judgestats.published import paper_tables

REFERENCE = Path(__file__).parents[1] / "reference" / "models"
CDF = {"logit": expit, "probit": ndtr}


@pytest.fixture(scope="module")
def published():
    return tie_model(paper_tables.criterion_counts(), baseline="base")


@pytest.fixture(scope="module")
def r_calls():
    calls = pd.read_csv(REFERENCE / "verdicts_calls.csv", keep_default_na=False)
    return calls.assign(better=calls["better"].replace("", None))


@pytest.fixture(scope="module")
def r_values():
    return pd.read_csv(REFERENCE / "verdicts.csv", comment="#").set_index(["model", "term"])["value"]


def p_value(model, link, question, compared):
    t = model.tests
    row = t[(t["link"] == link) & (t["question"] == question) & (t["compared"] == compared)]
    assert len(row) == 1
    return float(row["p_value"].iloc[0])


def verdict(model, judge, link="all"):
    t = model.tests
    return t[(t["judge"] == judge) & (t["link"] == link) & (t["question"] == "what moved")]["verdict"].iloc[0]


# ---------------------------------------------------------------- the printed counts


@pytest.mark.parametrize(("link", "p"), [("logit", 0.0568527), ("probit", 0.2323404)])
def test_the_resolution_on_the_printed_counts(published, link, p):
    assert p_value(published, link, "resolution moved", "criterion by group") == pytest.approx(p, abs=2e-6)
    assert p_value(published, link, "criterion moved", "resolution by group") < 1e-11


def test_on_the_printed_counts_it_depends(published):
    assert verdict(published, "Qwen32B") == "depends"
    assert verdict(published, "Qwen32B", "logit") == "both"
    assert verdict(published, "Qwen32B", "probit") == "moved criterion"
    assert "links disagree" in set(published.tests["flag"])


def test_at_five_percent_both_links_say_what_the_paper_says():
    """The verdict hangs on alpha; and the flag says that a larger resolution is not excluded."""
    model = tie_model(paper_tables.criterion_counts(), baseline="base", alpha=0.05)
    assert verdict(model, "Qwen32B") == "moved criterion"
    last = model.tests[model.tests["link"] == "all"]
    assert last["flag"].tolist() == ["a resolution twice or half as large is not excluded"]


@pytest.mark.slow
@pytest.mark.parametrize("link", ["logit", "probit"])
def test_the_likelihood_ratio_against_brute_force(published, link):
    counts = paper_tables.criterion_counts()
    strict = (counts["prompt"] == "strict").to_numpy()
    delta, n = counts["delta"].fillna(0).to_numpy(), counts["n"].to_numpy()
    outcome = counts["outcome"].to_numpy()

    def loss(t, apart):
        k, s = np.exp(np.where(strict, t[1], t[0])), np.where(strict & apart, t[-1], t[2]) * delta
        right, wrong = CDF[link](s - k), CDF[link](-s - k)
        p = np.select(
            [outcome == "correct", outcome == "wrong", outcome == "tie"],
            [right, wrong, 1 - right - wrong],
            right + wrong,
        )
        return -float(n @ np.log(np.clip(p, 1e-300, None)))

    options = {"maxiter": 20000, "maxfev": 20000, "xatol": 1e-9, "fatol": 1e-12}
    best = [minimize(loss, start, (apart,), "Nelder-Mead", options=options).fun
            for apart, start in ((False, [0.5, 1.5, 4.0]), (True, [0.5, 1.5, 4.0, 8.0]))]  # fmt: skip
    p = chi2.sf(2 * (best[0] - best[1]), 1)
    assert p_value(published, link, "resolution moved", "criterion by group") == pytest.approx(p, abs=1e-5)


def test_the_strict_arm_has_no_estimates_of_its_own(published):
    """All 120 strict calls at Δ0 are ties: criterion and resolution grow together without end."""
    table = published.table.set_index(["link", "prompt", "term"])
    for link, criterion, resolution in (("logit", 1.91726, 4.67027), ("probit", 1.13080, 2.68618)):
        assert np.isnan(table.loc[(link, "strict", "resolution"), "estimate"])
        assert "separation" in table.loc[(link, "strict", "criterion"), "flag"]
        assert table.loc[(link, "base", "criterion"), "estimate"] == pytest.approx(criterion, abs=1e-4)
        assert table.loc[(link, "base", "resolution"), "estimate"] == pytest.approx(resolution, abs=1e-4)
        assert table.loc[(link, "base", "criterion"), "std_error"] > 0


def test_where_no_call_is_near_the_criterion_nothing_is_told_apart():
    """On Δ1 and Δ5 alone a move of either explains everything."""
    counts = paper_tables.criterion_counts()
    model = tie_model(counts[counts["delta"].notna()], baseline="base")
    assert p_value(model, "logit", "something moved", "both by group against both common") < 1e-9
    assert p_value(model, "logit", "resolution moved", "criterion by group") > 0.9
    assert verdict(model, "Qwen32B") == "depends"
    assert model.tests["flag"].str.contains("not identifiable").any()


# ---------------------------------------------------------------- against R's ordinal


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_against_ordinal(r_calls, r_values, link):
    model = tie_model(r_calls, content=False, links=link, baseline="base")
    names = {
        "criterion common, resolution common": "common, common",
        "criterion common, resolution by group": "common, by group",
        "criterion by group, resolution common": "by group, common",
        "criterion by group, resolution by group": "by group, by group",
    }
    for ours, theirs in names.items():
        assert model.fits[f"a, {link}, {ours}"].loglik == pytest.approx(r_values[link, theirs], abs=1e-6)
    table = model.table.set_index(["prompt", "term"])
    for prompt in ("base", "strict"):
        for term in ("slot bias", "criterion", "resolution"):
            assert table.loc[(prompt, term), "estimate"] == pytest.approx(r_values[link, f"{term}, {prompt}"], abs=2e-5)
        for term in ("criterion", "resolution"):
            assert table.loc[(prompt, term), "std_error"] == pytest.approx(
                r_values[link, f"{term} se, {prompt}"], rel=1e-3
            )
    ratio = table.loc[("strict", "criterion ratio")]
    assert ratio["estimate"] == pytest.approx(
        r_values[link, "criterion, strict"] / r_values[link, "criterion, base"], rel=1e-4
    )
    assert ratio["conf_low"] < ratio["estimate"] < ratio["conf_high"]
    assert (model.table["flag"].str.contains("calls not independent")).all()


# ---------------------------------------------------------------- planted judges


def plan(items=300, seed=0):
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(items):
        d = float(rng.integers(0, 4))
        for first, second in (("u", "v"), ("v", "u")):
            rows.append({"item": f"i{i}", "first": first, "second": second, "better": "u" if d else None, "delta": d})
    table = pd.DataFrame(rows)
    return pd.concat([table.assign(prompt="base"), table.assign(prompt="strict")])


PLANTED = {
    "criterion": ({"tie_criterion": 1.2}, "moved criterion"),
    "resolution": ({"sensitivity": 1.7}, "moved resolution"),
    "two": ({"tie_criterion": 1.2, "sensitivity": 1.7}, "both"),
}


@pytest.fixture(scope="module")
def planted():
    judges = [
        js.design.Judge(
            name,
            slot_bias=0.4,
            sensitivity=0.8,
            tie_criterion=0.5,
            stable_preference=1.0,
            under={"prompt": {"strict": moved}},
        )
        for name, (moved, _) in PLANTED.items()
    ]
    return tie_model(
        js.design.simulate(plan(), judges, seed=1), links="logit", alpha=0.01, baseline="base"
    )  # 10 % would find what is not there


@pytest.mark.slow
@pytest.mark.parametrize("name", list(PLANTED))
def test_planted_moves_are_found(planted, name):
    moved, said = PLANTED[name]
    assert verdict(planted, name) == said
    table = planted.table[planted.table["judge"] == name].set_index(["prompt", "term"])
    true = {"criterion": 0.5, "resolution": 0.8, "slot bias": 0.4}
    for prompt in ("base", "strict"):
        for term, value in true.items():
            key = {"criterion": "tie_criterion", "resolution": "sensitivity"}.get(term, "")
            wanted = moved.get(key, value) if prompt == "strict" else value
            row = table.loc[(prompt, term)]
            assert abs(row["estimate"] - wanted) < 3.5 * row["std_error"]
            assert row["std_error"] < 0.2


def test_two_orders_of_a_pair_are_not_two_pairs():
    """Without the content the slope shrinks, and the flag says why."""
    judge = js.design.Judge("g", sensitivity=0.8, tie_criterion=0.5, stable_preference=2.0)
    calls = js.design.simulate(plan(), judge, seed=2)
    one, two = (tie_model(calls, by=None, content=c, links="logit").table.set_index("term") for c in (True, False))
    assert abs(one.loc["resolution", "estimate"] - 0.8) < 3 * one.loc["resolution", "std_error"]
    assert two.loc["resolution", "estimate"] < 0.65
    assert "calls not independent" in two.loc["resolution", "flag"]
    assert "calls not independent" not in one.loc["resolution", "flag"]


# ---------------------------------------------------------------- data


@pytest.mark.slow
def test_invalid_calls_of_a_tally_are_counted():
    counts = paper_tables.criterion_counts()
    more = pd.concat([counts, counts.iloc[[4]].assign(outcome="invalid", n=9)])
    model, wanted = (tie_model(c, links="logit", baseline="base") for c in (more, counts))
    np.testing.assert_allclose(model.table["estimate"], wanted.table["estimate"])
    assert model.table["flag"].str.contains("9 invalid calls excluded").all()


@pytest.mark.slow
def test_the_order_of_rows_and_counts_do_not_matter(r_calls):
    counted = r_calls.drop(columns="replicate")
    counted = (
        counted.groupby(list(counted.columns), dropna=False, as_index=False)
        .size()
        .rename(columns={"size": "n_identical"})
    )
    one = tie_model(r_calls, links="probit", baseline="base")
    two = tie_model(counted.sample(frac=1, random_state=1), links="probit", baseline="base")
    pd.testing.assert_frame_equal(one.table, two.table, rtol=1e-6)


def test_quality_by_name(r_calls):
    sign = np.where(r_calls["better"] == r_calls["first"], 1, np.where(r_calls["better"].isna(), 0, -1))
    named = r_calls.assign(lead=sign * r_calls["delta"], grade_first=np.maximum(sign, 0) * r_calls["delta"])
    named["grade_second"] = np.maximum(-sign, 0) * r_calls["delta"]
    wanted = tie_model(r_calls, links="logit", content=False, baseline="base").table["estimate"]
    for quality in ("lead", "grade"):
        found = tie_model(
            named.drop(columns=["better"]), quality=quality, links="logit", content=False, baseline="base"
        )
        np.testing.assert_allclose(found.table["estimate"], wanted, rtol=1e-6)


def test_a_prompt_without_ties_is_flagged_not_fitted(r_calls):
    forced = r_calls[(r_calls["prompt"] == "base") | (r_calls["choice"] != "tie")]
    model = tie_model(forced, baseline="base")
    assert model.table["estimate"].isna().all()
    assert model.table["flag"].str.contains("no ties under strict").all()
    assert not len(model.tests)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baseline": "bass"}, "Did you mean 'base'"),
        ({"links": "cauchit"}, "Allowed: 'logit', 'probit'"),
        ({"alpha": 5}, "must be between 0 and 1"),
        ({"by": "promt"}, "Did you mean 'prompt'"),
        ({"quality": "grade"}, "grade_first"),
    ],
)
def test_bad_options(r_calls, options, message):
    with pytest.raises(DesignError, match=message):
        tie_model(r_calls, **options)


def test_without_any_quality(r_calls):
    with pytest.raises(DesignError, match="difference in quality between the slots"):
        tie_model(r_calls.drop(columns=["better"]))


def test_a_content_without_variance_is_no_flag_of_every_row():
    judge = js.design.Judge("g", sensitivity=0.8, tie_criterion=0.5)
    model = tie_model(js.design.simulate(plan(), judge, seed=5), by=None, links="logit")
    notes = [f.notes for f in model.fits.values()]
    assert notes == [("singular fit",)]
    assert not model.table["flag"].str.contains("singular").any()
    assert repr(model).splitlines()[-1].endswith("[cumulative, logit, trapezoid 28]: singular fit")


def test_a_negative_resolution_has_no_ratio_and_does_not_stop_the_verdict() -> None:
    """A judge that prefers the worse candidate under both prompts."""
    counts = pd.DataFrame({"judge": "g", "prompt": ["base"] * 6 + ["strict"] * 6, "delta": [1, 1, 1, 3, 3, 3] * 2,
                           "outcome": ["wrong", "tie", "correct"] * 4,
                           "n": [60, 25, 15, 90, 7, 3, 35, 60, 5, 77, 22, 1]})  # fmt: skip
    found = tie_model(counts, baseline="base", links="logit")
    ratio = found.table[found.table["term"] == "resolution ratio"].iloc[0]
    assert ratio[["estimate", "conf_low", "conf_high"]].isna().all()
    assert NO_RATIO in ratio["flag"]
    verdict = found.tests[found.tests["question"] == "what moved"].iloc[0]
    assert (verdict["verdict"], WIDE in verdict["flag"]) == ("moved criterion", True)
