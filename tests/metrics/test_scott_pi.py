"""Scott's pi: its published example, its closed form, Fleiss's kappa of two judges, and a jackknife of its error."""

import numpy as np
import pandas as pd
import pytest

import judgestats as js

#: Artstein and Poesio (2008), Computational Linguistics 34, Table 3: coder A by coder B.
DIALOGUE = pd.DataFrame([(46, 6, 0), (0, 32, 0), (0, 6, 10)], index=["stat", "ireq", "chck"])


def counts(table):
    names = list(table.index)
    rows = [("A", "B", a, b, table.loc[a].iloc[j]) for a in names for j, b in enumerate(names)]
    found = pd.DataFrame(rows, columns=["judge", "other", "answer", "other_answer", "n"])
    return found[found["n"] > 0]


def ratings(answers):
    items = [f"i{k}" for k in range(len(answers[0]))]
    parts = [pd.DataFrame({"judge": j, "item": items, "score": a}) for j, a in zip("gh", answers, strict=True)]
    return pd.concat(parts, ignore_index=True)


def closed_form(one, two):
    shares = np.array([((one == a).mean() + (two == a).mean()) / 2 for a in np.union1d(one, two)])
    return ((one == two).mean() - (shares**2).sum()) / (1 - (shares**2).sum())


def test_the_published_example():
    got = js.scott_pi(counts(DIALOGUE)).iloc[0]
    assert round(got["estimate"], 4) == 0.7995
    assert round(js.kappa(counts(DIALOGUE))["estimate"].iloc[0], 4) == 0.8013
    assert got["conf_low"] < got["estimate"] < got["conf_high"]


@pytest.mark.parametrize("seed", range(3))
def test_it_is_its_closed_form_and_fleiss_of_two_judges_and_never_above_cohen(seed):
    rng = np.random.default_rng(seed)
    one = rng.integers(1, 5, 60)
    two = np.where(rng.random(60) < 0.6, one, rng.integers(1, 4, 60))
    data = ratings([one, two])
    got = js.scott_pi(data, cluster=False).iloc[0]
    assert got["estimate"] == pytest.approx(closed_form(one, two), abs=1e-12)
    fleiss = js.kappa(data, pairs="fleiss", cluster=False).iloc[0]
    columns = ["estimate", "std_error", "conf_low", "conf_high", "n", "observed", "expected", "z", "p_value"]
    np.testing.assert_allclose(got[columns].astype(float), fleiss[columns].astype(float), rtol=1e-12)
    assert got["estimate"] <= js.kappa(data)["estimate"].iloc[0] + 1e-12


def test_the_standard_error_is_near_the_jackknife():
    rng = np.random.default_rng(5)
    one = rng.integers(1, 4, 400)
    two = np.where(rng.random(400) < 0.7, one, rng.integers(1, 4, 400))
    without = np.array([closed_form(np.delete(one, k), np.delete(two, k)) for k in range(400)])
    error = np.sqrt(399 / 400 * ((without - without.mean()) ** 2).sum())
    assert js.scott_pi(ratings([one, two]), cluster=False)["std_error"].iloc[0] == pytest.approx(error, rel=0.02)


def test_what_only_one_of_the_two_answered_is_flagged():
    data = ratings([[1.0, 2, 1, 2, np.nan], [1.0, 2, 2, 2, 1]])
    got = js.scott_pi(data).iloc[0]
    assert got["n"] == 4
    assert "1 unit rated once" in got["flag"]


def test_against_a_reference_there_is_a_row_for_each_judge():
    data = ratings([[1, 2, 1, 2, 1, 2], [1, 2, 2, 2, 1, 1]])
    got = js.scott_pi(data.assign(gold=[1, 2, 1, 2, 1, 2] * 2), against="gold")
    assert got["judge"].tolist() == ["g", "h"]
    assert got["estimate"].iloc[0] == 1.0
    assert js.scott_pi(data, weights="linear")["estimate"].notna().all()
