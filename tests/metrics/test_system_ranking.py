"""Rankings against R and published numbers, by hand, by brute force and by simulated coverage."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import stdtrit
from scipy.stats import kendalltau

import judgestats as js
from judgestats.errors import DesignError, SchemaError
from judgestats.kernels import clustered_scores
from judgestats.metrics.measure_registry import MeasureOptions, measures
from judgestats.metrics.ranking import ranking_resamples, strength_covariance
from judgestats.metrics.ranking.system_ranking import rank_systems
from refusals import refused

REFERENCE = Path(__file__).parents[1] / "reference"


def cems():
    """Choices between schools by the CEMS students, as a tally (data of R's BradleyTerry2)."""
    return pd.read_csv(REFERENCE / "cems.csv").melt(["system", "opponent"], var_name="outcome", value_name="n")


def r(data, model, quantity):
    table = pd.read_csv(REFERENCE / "paired_comparisons.csv", comment="#")
    here = table[(table["data"] == data) & (table["model"] == model) & (table["quantity"] == quantity)]
    return here.set_index("name")["value"]


def of(result, term, column="estimate"):
    return result[result["term"] == term].set_index("system")[column]


def matrix(wins, names="ABCDEFGH"):
    size = len(wins)
    return pd.DataFrame(wins, index=list(names[:size]), columns=list(names[:size]))


def votes():
    return pd.read_csv(REFERENCE / "votes.csv")


def drawn(rng, worth, items, per_item, *, judges=1, spread=0.0, tie=0.0, slot=0.0):
    """Calls on items: each system's worth on an item varies by `spread`."""
    names = [f"s{k}" for k in range(len(worth))]
    worth = np.asarray(worth)
    on_item = worth + rng.normal(0, spread, (items, len(worth)))
    item = np.repeat(np.arange(items), per_item)
    one = rng.integers(0, len(worth), item.size)
    two = (one + rng.integers(1, len(worth), item.size)) % len(worth)
    eta = on_item[item, one] - on_item[item, two] + slot + rng.logistic(size=item.size)
    choice = np.where(eta > tie, "first", np.where(eta < -tie, "second", "tie"))
    judge = np.array([f"j{k:02d}" for k in rng.integers(0, judges, item.size)])
    table = {"judge": judge, "item": [f"i{k:03d}" for k in item], "first": np.take(names, one)}
    return pd.DataFrame({**table, "second": np.take(names, two), "choice": choice})


# ---- R and published numbers -----------------------------------------------------------------------------------------


def test_wikipedia_bradley_terry():
    """Wins A-B 2:3, A-D 1:4, B-C 5:3, C-D 1:3 give .640 1.043 .660 2.270 (geometric mean 1)."""
    found = rank_systems(matrix([[0, 2, 0, 1], [3, 0, 5, 0], [0, 3, 0, 1], [4, 0, 3, 0]]))
    strength = np.exp(of(found, "strength"))
    np.testing.assert_allclose(strength[list("ABCD")], [0.640, 1.043, 0.660, 2.270], atol=5e-4)
    assert of(found, "rank").to_dict() == {"D": 1, "B": 2, "C": 3, "A": 4}


@pytest.mark.parametrize(("ties", "tie"), [("davidson", "tie"), ("rao-kupper", "spacing.1"), ("drop", None)])
def test_cems_against_r(ties, tie):
    found = rank_systems(cems(), ties=ties, reference="London", interval="model")
    for column, quantity in (("estimate", "estimate"), ("std_error", "model_error")):
        wanted = r("cems", ties, quantity)
        got = of(found, "strength", column)
        schools = wanted.index.drop(tie) if tie else wanted.index
        np.testing.assert_allclose(got[schools], wanted[schools], rtol=1e-6)
        if tie:
            assert of(found, "tie", column)[""] == pytest.approx(wanted[tie], rel=1e-6)
    assert of(found, "strength")["London"] == 0
    assert of(found, "strength", "flag")["London"].startswith("reference; clustering unknown")
    assert np.isnan(of(found, "strength", "std_error")["London"])


@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_cems_against_evalica(ties):
    """Bradley-Terry with half ties, and Newman's algorithm, whose model of ties is Davidson's."""
    known = pd.read_csv(REFERENCE / "evalica.csv").query("ties == @ties").set_index("system")["score"]
    found = rank_systems(cems(), ties=ties, interval="model").query("term == 'strength'").set_index("system")
    wanted = np.log(known) - np.log(known).mean()
    np.testing.assert_allclose(found["estimate"].loc[wanted.index], wanted, atol=1e-11)


def test_baseball_with_home_advantage_against_r():
    games = pd.read_csv(REFERENCE / "baseball.csv").melt(["system", "opponent"], var_name="outcome", value_name="n")
    plain = rank_systems(games, reference="Baltimore", interval="model")
    home = rank_systems(games, reference="Baltimore", interval="model", slot=True)
    for found, model in ((plain, "bradley-terry"), (home, "slot")):
        wanted = r("baseball", model, "estimate")
        clubs = wanted.index.drop("at.home", errors="ignore")
        np.testing.assert_allclose(of(found, "strength")[clubs], wanted[clubs], rtol=1e-8)
    assert of(home, "slot")[""] == pytest.approx(0.302260655528, rel=1e-8)
    assert of(home, "slot", "std_error")[""] == pytest.approx(0.130943642532, rel=1e-6)


def of_votes(result, column="estimate"):
    """Systems but the reference, the slot and the covariate."""
    rows = result[result["term"].isin(["strength", "slot", "length"]) & result["std_error"].notna()]
    return rows.set_index(np.where(rows["system"] == "", rows["term"], rows["system"]))[column]


@pytest.mark.parametrize("ties", ["drop", "half", "rao-kupper"])
def test_clusters_slot_and_covariate_against_r(ties, monkeypatch):
    """Without the correction for leverage errors are those of vcovCL (HC0) of R's sandwich."""
    arguments = {"ties": ties, "slot": True, "covariates": "length", "reference": "a", "cluster": "item"}
    corrected = rank_systems(votes(), **arguments)
    monkeypatch.setattr(strength_covariance, "_SIZEABLE", 0.0)
    monkeypatch.setattr(clustered_scores, "middle", lambda _, score, __: score.T @ score)
    found = rank_systems(votes(), **arguments)
    names = ["b", "c", "d", "e", "slot", "length"]
    np.testing.assert_allclose(of_votes(found)[names], r("votes", ties, "estimate")[names], rtol=2e-7)
    error = r("votes", ties, "clustered_error")[names]
    np.testing.assert_allclose(of_votes(found, "std_error")[names], error, rtol=2e-5)
    assert corrected["method"].str.contains("clustered by item (G = 40)", regex=False).all()
    if ties == "rao-kupper":
        return
    # clubSandwich takes another root of a matrix whose square is the same (that of responses, not of parameters)
    wanted = r("votes", ties, "corrected_error")[names]
    np.testing.assert_allclose(of_votes(corrected, "std_error")[names], wanted, rtol=8e-4)
    half = (of_votes(corrected, "conf_high") - of_votes(corrected)) / of_votes(corrected, "std_error")
    df = r("votes", ties, "satterthwaite")[names]
    np.testing.assert_allclose(half[names], stdtrit(df, 0.975), rtol=8e-4)


@pytest.mark.parametrize("ties", ["davidson", "rao-kupper"])
def test_errors_lie_between_those_without_correction_and_of_leaving_out_each_cluster(ties, monkeypatch):
    """Scores divided by the root of I - K: half way from those undivided (HC0) to those divided (CR3)."""
    arguments = {"ties": ties, "slot": True, "covariates": "length", "reference": "a"}
    without = np.array([
        of_votes(rank_systems(votes().query("item != @left_out"), cluster=False, **arguments))[list("bcde")]
        for left_out in votes()["item"].unique()
    ])  # fmt: skip
    g = len(without)
    left_out = np.sqrt((g - 1) / g * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    ours = of_votes(rank_systems(votes(), cluster="item", **arguments), "std_error")[list("bcde")]
    monkeypatch.setattr(strength_covariance, "_SIZEABLE", 0.0)
    monkeypatch.setattr(clustered_scores, "middle", lambda _, score, __: score.T @ score)
    plain = of_votes(rank_systems(votes(), cluster="item", **arguments), "std_error")[list("bcde")]
    assert ((plain < ours) & (ours < left_out)).all()
    np.testing.assert_allclose(ours, np.sqrt(plain * left_out), rtol=0.01)


def test_two_crossed_clusters_against_r():
    found = rank_systems(
        votes(), ties="drop", slot=True, covariates=["length"], reference="a", cluster=["item", "judge"]
    )
    one, two = (
        rank_systems(votes(), ties="drop", slot=True, covariates="length", reference="a", cluster=c)
        for c in ("item", "judge")
    )
    both = votes().assign(cell=lambda t: t["item"] + t["judge"])
    cell = rank_systems(both, ties="drop", slot=True, covariates="length", reference="a", cluster="cell")
    variance = [t["std_error"].dropna() ** 2 for t in (one, two, cell)]
    np.testing.assert_allclose(found["std_error"].dropna() ** 2, variance[0] + variance[1] - variance[2], rtol=1e-9)
    assert found["method"].str.contains("item x judge").all()


# ---- Frame, tally and printed matrix ---------------------------------------------------------------------------------


def test_frame_tally_and_printed_matrix_agree():
    rng = np.random.default_rng(2)
    calls = drawn(rng, [0.5, 0.2, -0.2, -0.5], 60, 4)
    want = rank_systems(calls, cluster=False)
    counted = rank_systems(js.tally(calls, "rank_systems", cluster=False), cluster=False)
    pd.testing.assert_frame_equal(counted.drop(columns="flag"), want.drop(columns="flag"))
    winner = np.where(calls["choice"] == "first", calls["first"], calls["second"])
    loser = np.where(calls["choice"] == "first", calls["second"], calls["first"])
    wins = pd.crosstab(winner, loser)
    printed = rank_systems(wins)
    numbers = ["estimate", "std_error", "conf_low", "conf_high", "n"]
    np.testing.assert_allclose(printed[numbers], want[numbers], rtol=1e-9)
    assert printed["flag"].str.contains("clustering unknown").all()
    assert want["flag"].str.contains("calls not independent").all()  # four calls on each item


def test_judges_are_pooled_and_by_judge_ranks_for_each():
    rng = np.random.default_rng(3)
    calls = drawn(rng, [0.6, 0.0, -0.6], 40, 6, judges=2, tie=0.3)
    pooled = rank_systems(calls)
    assert len(pooled[pooled["term"] == "strength"]) == 3
    apart = rank_systems(calls, by="judge")
    for judge, here in calls.groupby("judge"):
        alone = rank_systems(here)
        got = apart[apart["judge"] == judge].drop(columns="judge").reset_index(drop=True)
        pd.testing.assert_frame_equal(
            got[["system", "term", "estimate", "n"]], alone[["system", "term", "estimate", "n"]]
        )


def test_many_judges_are_clusters_too_and_few_are_not():
    rng = np.random.default_rng(4)
    people = drawn(rng, [0.6, 0.0, -0.6], 40, 10, judges=35)
    assert rank_systems(people)["method"].str.contains("clustered by item x judge").all()
    models = drawn(rng, [0.6, 0.0, -0.6], 40, 10, judges=3)
    assert rank_systems(models)["method"].str.contains(r"clustered by item \(G = 40\)").all()
    tallied = rank_systems(js.tally(people, "rank_systems", beside="judge"))
    pd.testing.assert_frame_equal(tallied.drop(columns="flag"), rank_systems(people).drop(columns="flag"))


def test_a_covariate_is_a_difference_of_two_columns_or_one():
    calls = votes()
    one = rank_systems(calls, covariates="length")
    two = rank_systems(calls.assign(length=calls["length_first"] - calls["length_second"]), covariates="length")
    pd.testing.assert_frame_equal(one, two)
    centimetres = calls.assign(**{f"length_{s}": calls[f"length_{s}"] * 100 for s in ("first", "second")})
    scaled = rank_systems(centimetres, covariates="length")
    assert of(scaled, "length")[""] == pytest.approx(of(one, "length")[""] / 100, rel=1e-6)
    np.testing.assert_allclose(of(scaled, "strength"), of(one, "strength"), rtol=1e-6)
    counted = js.tally(
        calls.assign(length=calls["length_first"] - calls["length_second"]), "rank_systems", beside="length"
    )
    np.testing.assert_allclose(rank_systems(counted, covariates="length")["estimate"], one["estimate"], rtol=1e-9)


# ---- Ties, prior, reference ------------------------------------------------------------------------------------------


def test_half_a_win_for_each_and_dropped():
    tied = pd.DataFrame({"system": "A", "opponent": "B", "outcome": ["win", "loss", "tie"], "n": [6.0, 2.0, 4.0]})
    difference = {
        ties: of(rank_systems(tied, ties=ties), "strength").loc[["A", "B"]].diff().iloc[-1] for ties in ("half", "drop")
    }
    assert difference["half"] == pytest.approx(-np.log(8 / 4))
    assert difference["drop"] == pytest.approx(-np.log(6 / 2))
    assert rank_systems(tied, ties="drop")["flag"].str.contains("4 ties excluded").all()


def test_an_abstention_is_a_tie_and_an_invalid_call_is_excluded_or_one():
    calls = drawn(np.random.default_rng(5), [0.5, 0.0, -0.5], 40, 3, tie=0.4)
    abstained = calls.assign(choice=calls["choice"].replace({"tie": "abstain"}))
    pd.testing.assert_frame_equal(rank_systems(abstained), rank_systems(calls))
    invalid = calls.assign(choice=calls["choice"].replace({"tie": "invalid"}))
    pd.testing.assert_frame_equal(rank_systems(invalid, invalid="tie"), rank_systems(calls))
    n = (calls["choice"] == "tie").sum()
    assert rank_systems(invalid)["flag"].str.contains(f"{n} invalid calls excluded").all()


def test_a_pseudo_tie_is_half_a_win_and_half_a_loss_against_a_phantom():
    """The same as a further system of strength 0 in the data, with half a win and half a loss with each."""
    wins = np.array([[0, 4, 5], [2, 0, 3], [1, 2, 0]])
    prior = rank_systems(matrix(wins), pseudo_ties=2, interval="model")
    phantom = np.ones((4, 4)) - np.eye(4)
    phantom[:3, :3] = wins
    whole = rank_systems(matrix(phantom), reference="D", interval="model")
    got, want = (of(t, "strength")[list("ABC")] for t in (prior, whole))
    np.testing.assert_allclose(got - got.mean(), want - want.mean(), rtol=1e-7)


def test_the_reference_shifts_strengths_and_changes_no_rank():
    free, fixed = rank_systems(cems(), seed=1), rank_systems(cems(), reference="Paris", seed=1)
    shift = of(free, "strength") - of(fixed, "strength")
    np.testing.assert_allclose(shift, shift.iloc[0], rtol=1e-9)
    columns = ["system", "estimate", "conf_low", "conf_high"]
    pd.testing.assert_frame_equal(
        free.loc[free["term"] == "rank", columns], fixed.loc[fixed["term"] == "rank", columns]
    )


# ---- Infinite strengths ----------------------------------------------------------------------------------------------


def test_a_system_that_always_wins_is_infinite_and_the_prior_makes_it_finite():
    wins = matrix([[0, 9, 9], [0, 0, 6], [0, 3, 0]])
    found = rank_systems(wins)
    assert of(found, "strength")["A"] == np.inf
    assert "never lost to the others: infinite" in of(found, "strength", "flag")["A"]
    assert of(found, "rank", "conf_high")["A"] == 3
    np.testing.assert_allclose(of(found, "strength")[["B", "C"]], [np.log(2) / 2, -np.log(2) / 2])
    prior = rank_systems(wins, pseudo_ties=1)
    assert np.isfinite(of(prior, "strength")).all()
    assert "finite by the pseudo-ties only" in of(prior, "strength", "flag")["A"]
    assert (of(prior, "strength", "std_error")["A"]) > 0.7  # nine wins without a loss vary in no resample
    assert (
        of(prior, "strength", "std_error")["A"]
        < of(rank_systems(wins, pseudo_ties=1, interval="model"), "strength", "std_error")["A"] * 1.2
    )
    both = rank_systems(wins, pseudo_ties=1, interval="percentile", n_resamples=50)
    np.testing.assert_allclose(of(both, "strength", "conf_low"), of(prior, "strength", "conf_low"))


def test_a_group_that_beats_all_others_is_infinite():
    wins = np.zeros((5, 5))
    wins[0, 1] = wins[1, 0] = 3
    wins[0, 2] = wins[1, 3] = wins[0, 4] = 5
    wins[2, 3], wins[3, 4], wins[4, 2] = 2, 2, 2
    found = of(rank_systems(matrix(wins)), "strength")
    assert (found[["A", "B"]] == np.inf).all()
    np.testing.assert_allclose(found[["C", "D", "E"]], 0.0, atol=1e-9)


def test_the_worst_is_minus_infinite_and_one_linked_by_losses_only_is_not_placed():
    lost = rank_systems(matrix([[0, 3, 2], [2, 0, 2], [0, 0, 0]]))
    assert of(lost, "strength")["C"] == -np.inf
    assert of(lost, "rank")["C"] == 3
    wins = np.zeros((4, 4))
    wins[0, 1] = wins[0, 3] = 5
    wins[1, 2], wins[2, 1] = 3, 2
    found = rank_systems(matrix(wins))
    assert np.isnan(of(found, "strength")["D"])
    assert "not placed" in of(found, "rank", "flag")["D"]
    assert of(found, "rank", "conf_low")["D"] == 1
    assert of(found, "rank", "conf_high")["D"] == 4


def test_wins_and_ties_without_a_loss_have_no_finite_maximum_under_davidson():
    tied = pd.DataFrame({"system": "A", "opponent": "B", "outcome": ["win", "tie"], "n": [7.0, 3.0]})
    found = rank_systems(tied)
    assert of(found, "strength").to_dict() == {"A": np.inf, "B": -np.inf}
    assert of(rank_systems(tied, ties="half"), "strength")["A"] == pytest.approx(np.log(8.5 / 1.5) / 2)
    assert np.isfinite(of(rank_systems(tied, pseudo_ties=1), "strength")).all()


def test_ties_alone_say_nothing_of_a_tie_model():
    tied = pd.DataFrame({"system": ["A", "B"], "opponent": ["B", "C"], "outcome": "tie", "n": [7.0, 3.0]})
    found = rank_systems(tied)
    assert found["estimate"].isna().all()
    assert found["flag"].str.contains("always tie").all()
    half = rank_systems(tied, ties="half")
    assert (of(half, "strength") == 0).all()
    assert half.loc[half["term"] == "strength", "conf_low"].isna().all()  # no interval of zero width
    assert half.loc[half["term"] == "strength", "flag"].str.contains("no variation").all()


# ---- Bootstrap, stability --------------------------------------------------------------------------------------------


def test_the_bootstrap_is_near_the_sandwich_and_says_who_is_best():
    calls = drawn(np.random.default_rng(6), [0.5, 0.4, -0.2, -0.7], 80, 8, spread=0.8, tie=0.4)
    found = rank_systems(calls, interval="percentile", n_resamples=400)
    robust = rank_systems(calls)
    ratio = of(found, "strength", "std_error") / of(robust, "strength", "std_error")
    np.testing.assert_allclose(ratio, 1.0, atol=0.2)
    best = of(found, "best")
    assert best.sum() == pytest.approx(1.0)
    assert best.idxmax() == of(found, "strength").idxmax()
    assert 0.05 < best.max() < 1
    assert found.loc[found["term"] == "strength", "method"].str.contains("bootstrap of item").all()
    independent = rank_systems(calls, interval="percentile", n_resamples=50, cluster=False)
    assert (of(independent, "strength", "std_error") < of(found, "strength", "std_error")).mean() > 0.5
    crossed = drawn(np.random.default_rng(6), [0.5, -0.5], 40, 8, judges=31)
    assert rank_systems(crossed, interval="percentile", n_resamples=20)["method"].str.contains("two-way").any()


def test_the_bootstrap_counts_resamples_without_a_finite_maximum():
    wins = matrix([[0, 20, 4], [15, 0, 3], [1, 0, 0]])
    found = rank_systems(wins, interval="percentile", n_resamples=200)
    assert (of(found, "strength", "conf_low")["C"]) == -np.inf
    assert "resamples undefined" in of(found, "strength", "flag")["A"]
    assert of(found, "best").sum() == pytest.approx(1.0)


def test_stability_over_items_by_hand():
    """Two items: the only split is one against the other; the rankings of the two are reversed, or alike."""
    rows = [
        ("i1", "A", "B", "win", 8),
        ("i1", "A", "B", "loss", 2),
        ("i1", "B", "C", "win", 8),
        ("i1", "B", "C", "loss", 2),
    ]
    same = [("i2", *row[1:]) for row in rows]
    other = [("i2", one, two, {"win": "loss", "loss": "win"}[o], n) for _, one, two, o, n in rows]
    for second, tau in ((same, 1.0), (other, -1.0)):
        table = pd.DataFrame(rows + second, columns=["item", "system", "opponent", "outcome", "n"])
        found = rank_systems(table, stability="item", ties="half")
        assert of(found, "stability_item")[""] == pytest.approx(tau)


@pytest.mark.slow
def test_stability_is_that_of_rankings_of_halves():
    calls = drawn(np.random.default_rng(7), np.linspace(1, -1, 6), 60, 6, judges=4)
    found = rank_systems(calls, stability=["item", "judge"])
    assert 0.5 < of(found, "stability_item")[""] < 1
    assert of(found, "stability_item", "n")[""] == ranking_resamples.SPLITS
    rng = np.random.default_rng(8)
    taus = []
    for _ in range(25):
        half = calls["item"].isin(rng.permutation(calls["item"].unique())[:30])
        one, two = (of(rank_systems(t, pseudo_ties=1), "strength").sort_index() for t in (calls[half], calls[~half]))
        taus.append(kendalltau(one, two).statistic)
    assert of(found, "stability_item")[""] == pytest.approx(np.mean(taus), abs=0.09)
    assert "no interval" in of(found, "stability_judge", "flag")[""]
    alone = rank_systems(calls.assign(judge="g"), stability="judge")
    assert np.isnan(of(alone, "stability_judge")[""])


# ---- Coverage --------------------------------------------------------------------------------------------------------


def coverage(replications, worth, items, per_item, **how):
    """Shares of replications in which the ranks of all systems, and each strength, are covered."""
    rng = np.random.default_rng(9)
    truth = np.asarray(worth) - np.mean(worth)
    ranks = np.array([1 + (truth > w).sum() for w in truth]), np.array([(truth >= w).sum() for w in truth])
    all_ranks, strength = [], []
    for _ in range(replications):
        found = rank_systems(drawn(rng, worth, items, per_item, **how), ties="rao-kupper")  # as they are drawn
        rank = found[found["term"] == "rank"].sort_values("system")
        # with equal strengths any rank among them is true
        all_ranks.append(((rank["conf_low"] <= ranks[0]) & (rank["conf_high"] >= ranks[1])).all())
        row = found[found["term"] == "strength"].sort_values("system")
        strength.append(((row["conf_low"] <= truth) & (row["conf_high"] >= truth)).mean())
    return np.mean(all_ranks), np.mean(strength)


def test_coverage_small():
    ranks, strength = coverage(40, [0.4, 0.0, 0.0, -0.4], 40, 5, tie=0.3)
    assert ranks >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 40)
    assert abs(strength - 0.95) < 0.06


@pytest.mark.slow
@pytest.mark.parametrize("worth", [[0.0] * 5, [0.3, 0.3, 0.0, -0.3, -0.3], [0.8, 0.4, 0.0, -0.4, -0.8]])
def test_the_ranks_of_all_systems_are_covered_at_once(worth):
    ranks, strength = coverage(500, worth, 60, 6, tie=0.3)
    assert ranks >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / 500)  # .90 is noticed 99 times of 100
    assert 0.93 <= strength <= 0.97


# ---- Bad input -------------------------------------------------------------------------------------------------------


def test_systems_that_never_met_are_refused_by_name():
    wins = np.zeros((5, 5))
    wins[0, 1] = wins[1, 0] = wins[2, 3] = wins[3, 2] = wins[3, 4] = 1
    with pytest.raises(DesignError, match="2 groups that were never compared with each other: A, B; C, D, E") as error:
        rank_systems(matrix(wins))
    assert "Rank each group by itself" in str(error.value)
    with pytest.raises(DesignError, match="2 groups"):  # a prior would rank them by itself
        rank_systems(matrix(wins), pseudo_ties=1)


def test_a_system_compared_with_itself_is_excluded_and_counted():
    calls = drawn(np.random.default_rng(10), [0.5, 0.0, -0.5], 40, 3)
    itself = calls.head(7).assign(second=calls["first"].head(7))
    found = rank_systems(pd.concat([calls, itself], ignore_index=True))
    assert found["flag"].str.contains("7 calls of a system with itself excluded").all()
    np.testing.assert_allclose(found["estimate"], rank_systems(calls)["estimate"])


def test_a_judge_that_never_answers():
    calls = drawn(np.random.default_rng(11), [0.5, 0.0, -0.5], 40, 3)
    silent = calls.assign(judge="silent", choice="invalid")
    both = pd.concat([calls, silent], ignore_index=True)
    pooled = rank_systems(both)
    np.testing.assert_allclose(pooled["estimate"], rank_systems(calls)["estimate"])
    assert pooled["flag"].str.contains("120 invalid calls excluded").all()
    apart = rank_systems(both, by="judge")
    gone = apart[apart["judge"] == "silent"]
    assert set(gone["system"]) == {"s0", "s1", "s2"}
    assert gone["estimate"].isna().all()
    assert gone["flag"].str.contains("no data").all()


def test_a_system_whose_calls_are_all_invalid_is_listed_without_a_strength():
    calls = drawn(np.random.default_rng(12), [0.5, 0.0, -0.5], 40, 3)
    lost = calls.head(5).assign(second="mute", choice="invalid")
    found = rank_systems(pd.concat([calls, lost], ignore_index=True))
    assert np.isnan(of(found, "strength")["mute"])
    assert "no data" in of(found, "rank", "flag")["mute"]
    assert of(found, "rank", "conf_high").max() == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ties": "exact"}, "ties='exact' is not known"),
        ({"interval": "bca"}, "interval='bca' is not known"),
        ({"pseudo_ties": -1}, "pseudo_ties=-1 must be a number from 0"),
        ({"reference": "zz"}, "reference='zz' is not a system. Systems: a, b, c, d, e"),
        ({"covariates": "words"}, "covariates='words' is not a column"),
        ({"covariates": "judge"}, "'judge' is not a number"),
        ({"stability": "topic"}, "stability='topic' is not a column"),
        ({"cluster": ["item", "judge", "first"]}, "cluster= names 3 columns"),
        ({"conf_level": 95}, "conf_level=95 must be between 0 and 1"),
        ({"by": "choice"}, "by='choice' is the answer"),
    ],
)
def test_one_clear_error(arguments, message):
    with pytest.raises((DesignError, SchemaError)) as error:
        rank_systems(votes(), **arguments)
    assert message in str(error.value)


def test_systems_that_cannot_be_ranked_are_refused():
    calls = votes()
    cost = dict(zip("abcde", [1.0, 4.0, 2.0, 7.0, 3.0], strict=True))
    costs = calls.assign(cost_first=calls["first"].map(cost), cost_second=calls["second"].map(cost))
    longer = calls.assign(choice=np.where(calls["length_first"] > calls["length_second"], "first", "second"))
    one_order = pd.DataFrame({"judge": "g", "item": list("abcd"), "first": "A", "second": "B",
                              "choice": ["first", "second", "first", "first"]})  # fmt: skip
    refused(
        DesignError,
        (
            lambda: rank_systems(pd.DataFrame({"system": "A", "opponent": "A", "outcome": ["win"], "n": [3]})),
            "there is one only: 'A'",
        ),
        (
            lambda: rank_systems(calls.assign(length_first=5, length_second=5), covariates="length"),
            r"covariates='length' is 0 in every call.*Leave it out",
        ),
        (lambda: rank_systems(costs, covariates="cost"), "cost cannot be separated from the systems"),
        (lambda: rank_systems(one_order, slot=True), r"slot cannot be separated.*both orders"),
        (lambda: rank_systems(calls.assign(order_known=False), slot=True), "order"),
        (
            lambda: rank_systems(calls.assign(choice="first"), slot=True),
            r"slot predicts the answers without error.*slot=False",
        ),
        (lambda: rank_systems(longer, covariates="length"), "length predicts the answers without error"),
        (lambda: rank_systems(matrix([[0, -1], [2, 0]])), SchemaError, "matrix of wins has -1"),
        (lambda: rank_systems(matrix([[0, 3], [2, 0]]), slot=True), "matrix of wins has no order and no covariates"),
        (
            lambda: rank_systems(matrix([[0, 3], [2, 0]]), covariates="length"),
            "matrix of wins has no order and no covariates",
        ),
    )


def test_calls_without_a_covariate_are_counted():
    calls = votes()
    calls.loc[:4, "length_first"] = np.nan
    found = rank_systems(calls, covariates="length")
    assert found["flag"].str.contains("5 calls without length excluded").all()


def test_unbalanced_positions_are_flagged_unless_they_are_modelled():
    rng = np.random.default_rng(13)
    calls = drawn(rng, [0.5, 0.0, -0.5], 60, 6, slot=1.0)
    turned = calls["second"] == "s2"
    calls.loc[turned, ["first", "second"]] = calls.loc[turned, ["second", "first"]].to_numpy()  # s2 is always first
    calls["choice"] = np.where(turned & (rng.random(len(calls)) < 0.4), "first", calls["choice"])
    flagged = of(rank_systems(calls), "strength", "flag")
    assert "positions not balanced" in flagged["s2"]
    assert not rank_systems(calls, slot=True)["flag"].str.contains("positions not balanced").any()
    assert not rank_systems(calls.assign(order_known=False))["flag"].str.contains("positions not balanced").any()


def test_the_page_tries_three_systems_or_more():
    record = measures()["rank_systems"]
    calls = drawn(np.random.default_rng(14), [0.5, 0.0, -0.5], 30, 4, judges=2)
    found = record.attempt(calls, MeasureOptions())
    assert {"strength", "rank", "stability_item", "stability_judge"} <= set(found["term"])
    two = calls[calls["first"].isin(["s0", "s1"]) & calls["second"].isin(["s0", "s1"])]
    assert record.attempt(two, MeasureOptions()) == "needs three systems or more"
    apart = calls.assign(first=calls["item"] + calls["first"], second=calls["item"] + calls["second"])
    assert "never compared" in record.attempt(apart.head(40), MeasureOptions()) or "too many" in record.attempt(
        apart, MeasureOptions()
    )


def test_one_cluster_gives_no_interval():
    calls = drawn(np.random.default_rng(15), [0.5, 0.0, -0.5], 1, 60)
    found = rank_systems(calls, cluster="item")
    assert found["conf_low"].isna().all()
    assert found["flag"].str.contains("one unit").all()
    assert of(found, "rank").notna().all()


def test_the_same_seed_gives_the_same_numbers_and_groups_do_not_change_each_other():
    calls = drawn(np.random.default_rng(16), [0.5, 0.0, -0.5], 40, 6, judges=2, tie=0.3)
    how = {"by": "judge", "interval": "percentile", "n_resamples": 10}
    whole = rank_systems(calls, **how)
    pd.testing.assert_frame_equal(rank_systems(calls, **how), whole)
    one = rank_systems(calls[calls["judge"] == "j00"], **how)
    pd.testing.assert_frame_equal(one, whole[whole["judge"] == "j00"].reset_index(drop=True))


def test_ranks_of_systems_that_never_lost_to_the_next():
    """A beat B and C, B beat C: no strength is finite, and every rank is known; where it is not, there is none."""
    chain = pd.DataFrame([[0, 10, 10], [0, 0, 10], [0, 0, 0]], index=list("abc"), columns=list("abc"))
    found = rank_systems(chain).query("term == 'rank'").set_index("system")
    assert found["estimate"].to_dict() == {"a": 1.0, "b": 2.0, "c": 3.0}
    beat = pd.DataFrame(0, index=list("abcd"), columns=list("abcd"))
    beat.loc["a", "b"] = beat.loc["c", "d"] = beat.loc["d", "b"] = 10
    found = rank_systems(beat).query("term == 'rank'").set_index("system")
    assert found["estimate"].isna().to_dict() == {"a": True, "b": False, "c": False, "d": True}
    assert found.loc[["a", "d"], "flag"].str.contains("not placed").all()
    assert found.loc["b", "estimate"] == 4
    # two that beat each other keep their ranks beside a third and a fourth of which nothing is known
    beat = pd.DataFrame(0, index=list("abcde"), columns=list("abcde"))
    beat.loc["a", "b"], beat.loc["b", "a"], beat.loc["c", "a"], beat.loc["c", "d"], beat.loc["d", "e"] = 10, 5, 3, 3, 3
    found = rank_systems(beat).query("term == 'rank'").set_index("system")["estimate"]
    assert (found["a"], found["b"], found["c"]) == (2, 3, 1)
    assert np.isnan(found["d"])


def test_a_reference_may_be_a_number_and_a_covariate_must_be_finite():
    rng = np.random.default_rng(2)
    rows = pd.DataFrame({"judge": "g", "item": range(90), "first": [1, 2, 3] * 30, "second": [2, 3, 1] * 30})
    rows = rows.assign(choice=rng.choice(["first", "second"], 90), length=rng.normal(size=90))
    with pytest.raises(DesignError, match="reference='10' is not a system"):
        rank_systems(rows, reference=10)
    assert rank_systems(rows, reference=1).query("system == '1'")["estimate"].iloc[0] == 0
    endless = rank_systems(rows.assign(length=rows["length"].where(rows["item"] > 2, np.inf)), covariates="length")
    assert endless["flag"].str.contains("3 calls without length excluded").all()


def pairs_of(rng, systems, items, calls=4):
    """Calls on items, in each of which two of the systems are drawn."""
    shown = [rng.choice(systems, 2, replace=False) for _ in range(items * calls)]
    table = pd.DataFrame(shown, columns=["first", "second"]).assign(judge="j", item=np.arange(items * calls) // calls)
    return table.assign(choice=rng.choice(["first", "second"], len(table)))


def test_a_system_seen_on_few_items_is_flagged_and_so_are_all_ranks():
    rng = np.random.default_rng(6)
    old = pairs_of(rng, list("abcd"), 60)
    new = pd.DataFrame({"first": "new", "second": [*"abcd"] * 4, "judge": "j", "item": np.repeat(range(4), 4)})
    new["choice"] = ["first", "second", "second", "first"] * 4
    result = js.rank_systems(pd.concat([old, new]), cluster="item")
    few = result["flag"].str.contains("fewer than 10 clusters")
    assert few[result["term"] == "rank"].all()
    assert result.loc[few & (result["term"] == "strength"), "system"].tolist() == ["new"]
    assert not js.rank_systems(old, cluster="item")["flag"].str.contains("clusters").any()


def test_more_strengths_than_clusters_are_flagged():
    calls = pairs_of(np.random.default_rng(7), [f"s{i}" for i in range(20)], 13, calls=60)
    result = js.rank_systems(calls, cluster="item")
    assert result.loc[result["term"] == "strength", "flag"].str.contains("fewer than 30 clusters").all()


def test_equal_systems_are_rarely_called_different_by_two_heavy_clusters():
    """Two items of 150 calls and 28 of 8: G - 1 degrees of freedom called them different in four tables of ten."""
    rng = np.random.default_rng(8)
    item = np.repeat(np.arange(30), [150, 150, *[8] * 28])
    tables = []
    for study in range(60):
        taste = rng.normal(0, 0.84, (30, 5))[item]
        one = rng.integers(0, 5, item.size)
        two = (one + rng.integers(1, 5, item.size)) % 5
        gap = np.take_along_axis(taste, np.c_[one, two], axis=1) @ [1, -1] + rng.logistic(size=item.size)
        names, choice = np.array([*"abcde"]), np.where(gap > 0, "first", "second")
        columns = {"judge": "j", "item": item, "first": names[one], "second": names[two], "choice": choice}
        tables.append(pd.DataFrame({"study": study, **columns}))
    found = rank_systems(pd.concat(tables), by="study", cluster="item")
    rank, strength = (found[found["term"] == term] for term in ("rank", "strength"))
    wrong = ((rank["conf_low"] > 1) | (rank["conf_high"] < 5)).groupby(rank["study"]).any()
    assert wrong.mean() <= 0.1
    assert 0.9 <= ((strength["conf_low"] <= 0) & (strength["conf_high"] >= 0)).mean() <= 0.98


def test_a_system_seen_in_one_cluster_has_no_interval_and_any_rank():
    rng = np.random.default_rng(9)
    new = pd.DataFrame({"first": "new", "second": [*"abcd"] * 3, "judge": "j", "item": 0})
    new["choice"] = ["first"] * 8 + ["second"] * 4
    found = rank_systems(pd.concat([pairs_of(rng, list("abcd"), 40), new]), cluster="item")
    row = found[found["system"] == "new"].set_index("term")
    assert row.loc["strength", ["std_error", "conf_low", "conf_high"]].isna().all()
    assert "one unit" in row["flag"]["strength"]
    assert row.loc["rank", ["conf_low", "conf_high"]].tolist() == [1, 5]
    assert found.loc[(found["term"] == "strength") & (found["system"] != "new"), "std_error"].notna().all()
