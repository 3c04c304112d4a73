"""Susceptibility to a cue: recovery, the likelihood's maximum, the published counts, and bad input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import DesignError, SchemaError
from judgestats.models.hierarchical import cue_effects
from judgestats.models.hierarchical.cue_counts import Outcomes, outcomes
from judgestats.models.hierarchical.cue_shifts import ANOTHER, MEAN
from metrics.tables import cell
from models.printed_counts import outcomes_table, printed_tables

pytest.importorskip("pymc")


FEW = {"draws": 300, "tune": 400, "chains": 2, "progress": False}


FAVOURED = {"truth": "llm", "flip": "tradml", "placebo": "llm"}


@pytest.fixture(scope="module")
def published():
    return cue_effects.susceptibility(printed_tables("blind", "truth", "flip"), favoured=FAVOURED, sampling=FEW)


@pytest.mark.slow
def test_printed_counts_inside_the_predictive(published):
    share = published.checks.set_index("what").loc["counts inside the 95 % predictive", "value"]
    assert share >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("term", ["shift_favoured", "shift_opposed", "shift_tie", "lds", "ols", "ts"])
def test_a_thousand_items_leave_little_to_the_prior(published, term):
    """Posterior means lie by the shares of the counts, inside the sampling error that anchoring() gives them."""
    counts = outcomes_table(("blind", "truth", "flip"))
    plain = js.anchoring(counts, favoured=FAVOURED, n_resamples=1)
    keys = ["judge", "scheme", "probe", "term"]
    both = published.table[published.table["against"] == ""].merge(plain, on=keys, suffixes=("", "_plain"))
    both = both[both["term"] == term]
    assert len(both) == 30
    away = np.abs(both["estimate"] - both["estimate_plain"])
    inside = (both["conf_low_plain"] <= both["estimate"]) & (both["estimate"] <= both["conf_high_plain"])
    assert (inside | (away < 0.006)).all()
    assert away.max() < 0.03
    assert away.median() < 0.006
    sd = both["std_error_plain"].to_numpy()
    if term.startswith("shift"):  # pooled: no wider than the sampling error of the counts, but for Monte Carlo error
        assert np.nanmax(both["std_error"] / np.where(sd > 0.005, sd, np.nan)) < 1.2


@pytest.mark.slow
def test_pbp_helps_every_judge_under_truth_and_none_under_flip(published):
    sure = published.table[(published.table["scheme"] == "PBP") & (published.table["term"] == "probability_helps")]
    judges = ~sure["judge"].isin([MEAN, ANOTHER])
    assert (sure.loc[judges & (sure["probe"] == "truth"), "estimate"] > 0.999).all()
    assert (sure.loc[judges & (sure["probe"] == "flip"), "estimate"] < 0.01).all()  # Baseline has no LDS to reduce
    every = cell(published.table, "probability_helps_all", scheme="PBP", probe="truth")
    assert every["estimate"] > 0.999


@pytest.mark.slow
def test_the_parts_add_up_and_abstaining_is_about_half(published):
    where = {"judge": "Gemma-2-9B", "scheme": "PBP", "probe": "truth"}
    whole = cell(published.table, "shift_favoured difference", **where)["estimate"]
    abstaining, choosing = (cell(published.table, f"by_{k}", **where)["estimate"] for k in ("abstaining", "choosing"))
    assert abstaining + choosing == pytest.approx(whole, abs=1e-12)
    # by hand from the printed counts: sides taken (1, 1) and (.063, .075), favoured among them (.54, 1), (.5397, .52)
    f = lambda t, q: t[1] * q[1] - t[0] * q[0]  # noqa: E731
    t1, t2, q1, q2 = (63 / 1000, 75 / 1000), (1.0, 1.0), (34 / 63, 39 / 75), (0.54, 1.0)
    by_hand = (f(t1, q1) - f(t2, q1) + f(t1, q2) - f(t2, q2)) / 2
    assert abstaining == pytest.approx(by_hand, abs=0.04)


@pytest.mark.slow
def test_ties_that_never_occur_are_prior_driven(published):
    for term in ("ts", "shift_tie", "tie"):
        made = cell(published.table, term, judge="Gemma-2-9B", scheme="Baseline", against="", probe="truth")
        assert "prior-driven" in made["flag"]
        assert abs(made["estimate"]) < 0.001
    other = cell(published.table, "ts", judge="Gemma-2-9B", scheme="SCoT", against="", probe="truth")
    assert "prior-driven" not in other["flag"]


@pytest.mark.slow
def test_lao_is_flagged_where_nothing_moves(published):
    still = cell(published.table, "lao", judge="Zephyr-7B", scheme="PBP", against="", probe="truth")
    moved = cell(published.table, "lao", judge="Zephyr-7B", scheme="Baseline", against="", probe="truth")
    assert "shift not significant" in still["flag"]
    assert "movement" not in moved["flag"]
    assert moved["estimate"] > 0.99


@pytest.mark.slow
def test_no_gain_has_no_interval(published):
    made = cell(published.table, "lds", judge="Gemma-2-9B", scheme="Baseline", against="", probe="flip")
    assert made["estimate"] == 0
    assert np.isnan(made["conf_low"])
    assert "no gain" in made["flag"]


@pytest.fixture(scope="module")
def planted():
    """Ten judges; their shares are known; 200 items each; one has a single call, one no blind call."""
    rng = np.random.default_rng(5)
    totals = np.full((12, 1, 2, 3), 200 / 3)
    totals[10] = 1 / 3
    totals[11, 0, 0] = 0
    judges = tuple(f"j{k:02d}" for k in range(12))
    data = Outcomes(judges, ("",), ("blind", "cue"), ("a", "b", "tie"), totals)
    odds = np.zeros((12, 1, 2, 3))
    odds[..., 1:] = rng.normal([0.0, -0.5], 0.3, (12, 1, 1, 2))
    odds[:, 0, 1, 1:] += rng.normal([-0.8, 0.0], 0.7, (12, 2))
    truth = {"shares": np.exp(odds) / np.exp(odds).sum(axis=-1, keepdims=True)}
    counts = rng.multinomial(np.rint(totals.sum(axis=-1)).astype(int), truth["shares"])
    rows = [(judges[j], p, o, counts[j, 0, i, k]) for j in range(12) for i, p in enumerate(data.probes)
            for k, o in enumerate(data.outcomes)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["judge", "probe", "outcome", "n"])
    found = cue_effects.susceptibility(table, favoured="a", priors={"sd_probe": 1.0}, sampling=FEW)
    return truth, table, found


@pytest.mark.slow
def test_planted_shifts_are_found(planted):
    truth, _, found = planted
    table = found.table[(found.table["term"] == "shift_favoured") & found.table["judge"].str.startswith("j")]
    true = truth["shares"][:, 0, 1, 0] - truth["shares"][:, 0, 0, 0]
    inside = (table["conf_low"].to_numpy() <= true) & (true <= table["conf_high"].to_numpy())
    assert inside[:10].sum() >= 8
    assert np.abs(table["estimate"].to_numpy() - true)[:10].max() < 0.12


@pytest.mark.slow
def test_pooling_pulls_to_the_mean(planted):
    """The estimates of the judges spread less than their raw shifts."""
    _, table, found = planted
    kept = table[~table["judge"].isin(["j10", "j11"])]
    raw = js.anchoring(kept, favoured="a", n_resamples=1).query("term == 'shift_favoured'")["estimate"]
    own = (
        found.table.query("term == 'shift_favoured'").set_index("judge")["estimate"].reindex(sorted(set(kept["judge"])))
    )
    assert own.std() < raw.std()
    assert np.corrcoef(own, raw)[0, 1] > 0.9


@pytest.mark.slow
def test_thin_judges_are_flagged(planted):
    _, _, found = planted
    one = cell(found.table, "lds", judge="j10")
    none = cell(found.table, "lds", judge="j11")
    assert "n < 30" in one["flag"]
    others = found.table[(found.table["term"] == "shift_favoured") & (found.table["n"] == 200)]["std_error"]
    assert cell(found.table, "shift_favoured", judge="j10")["std_error"] > 1.5 * others.max()
    assert np.isnan(none["estimate"])
    assert "no data" in none["flag"]


def test_model_and_prior_draw_are_one():
    """The model's log density less its prior is the multinomial's, at shares that NumPy draws."""
    data = outcomes(printed_tables("blind", "truth"), "blind")
    built = cue_effects.model(data)
    assert {"mean", "probe", "sd_blind", "sd_probe"} <= {v.name for v in built.free_RVs}
    rng = np.random.default_rng(0)
    J, S, P, K = data.counts.shape
    values = {"mean": rng.normal(size=(S, K - 1)), "probe": rng.normal(size=(S, P - 1, K - 1)),
              "z_blind": rng.normal(size=(J, S, K - 1)), "z_probe": rng.normal(size=(J, S, P - 1, K - 1))}  # fmt: skip
    point = values | {"sd_blind_log__": np.log(np.full((S, K - 1), 0.7)),
                       "sd_probe_log__": np.log(np.full((S, K - 1), 1.3))}  # fmt: skip
    eta = np.zeros((J, S, P, K))
    eta[..., 1:] = (values["mean"] + 0.7 * values["z_blind"])[:, :, None]
    eta[:, :, 1:, 1:] += values["probe"] + 1.3 * values["z_probe"]
    logs = eta - np.log(np.exp(eta).sum(axis=-1, keepdims=True))
    (value,) = built.replace_rvs_by_values([built.potentials[0]])
    options = {"point_fn": True, "on_unused_input": "ignore", "mode": "FAST_COMPILE"}
    found = float(built.compile_fn(value, inputs=built.value_vars, **options)(point))
    assert found == pytest.approx((data.counts * logs).sum(), rel=1e-10)


def test_prior_draw_keeps_totals_and_its_priors():
    data = outcomes(printed_tables("blind", "truth"), "blind")
    rng = np.random.default_rng(0)
    drawn = [cue_effects.prior_draw(data, {"mean": 0.5, "probe": 2.0}, rng) for _ in range(300)]
    assert (drawn[0][1].sum(axis=-1) == data.counts.sum(axis=-1)).all()
    for name, sd in (("mean", 0.5), ("probe", 2.0), ("sd_blind", 1.0 * np.sqrt(1 - 2 / np.pi))):
        assert np.std([d[0][name] for d in drawn]) == pytest.approx(sd, rel=0.1)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda t: t.drop(columns="n"), Exception, "n"),
        (lambda t: t.assign(n=-1.0), SchemaError, "count of calls"),
        (lambda t: t[t["probe"] == "truth"], DesignError, "blind"),
        (lambda t: t[t["probe"] == "blind"], DesignError, "only the baseline"),
        (lambda t: t[t["outcome"] == "tie"], DesignError, "two or more"),
    ],
)
def test_bad_tables(change, error, message):
    with pytest.raises(error, match=message):
        outcomes(change(outcomes_table(("blind", "truth"))), "blind")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "candidate that the cue favours"),
        ({"favoured": "lm"}, "Did you mean 'llm'"),
        ({"favoured": {"flip": "llm"}}, "one favoured candidate"),
        ({"favoured": "llm", "against": "baseline"}, "Did you mean 'Baseline'"),
        ({"favoured": "llm", "priors": {"mena": 1}}, "Did you mean 'mean'"),
        ({"favoured": "llm", "priors": {"mean": 0}}, "positive"),
        ({"favoured": "llm", "reference": "ties"}, "Did you mean 'tie'"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(DesignError, match=message):
        cue_effects.susceptibility(outcomes_table(("blind", "truth")), **options, sampling=FEW)


def test_a_side_that_varies_is_refused():
    calls = pd.DataFrame({"judge": "g", "item": list("1234"), "first": "x", "second": "y", "choice": "first",
                          "probe": ["blind", "blind", "cue", "cue"], "favoured": [None, None, "x", "y"]})  # fmt: skip
    calls.loc[1, "choice"] = "tie"
    with pytest.raises(DesignError, match="has x, y"):
        cue_effects.susceptibility(calls, sampling=FEW)
