"""Bands of kappa: the printed words, the limits, and bad input."""

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import DesignError, SchemaError
from refusals import refused


def test_the_printed_interpretation_of_every_kappa():
    """Table 6 of the debiasing paper."""
    table = js.published.load("debiasing/table6")
    got = js.agreement_bands(table)
    assert got["band"].str.capitalize().tolist() == table["interpretation"].tolist()
    assert set(got["band"]) == {"fair", "moderate"}
    assert set(got["bands"]) == {"Landis and Koch 1977"}


@pytest.mark.parametrize(
    ("bands", "values", "words"),
    [
        (
            "landis_koch",
            [-0.1, 0.0, 0.2, 0.204, 0.205, 0.4, 0.41, 0.61, 0.81, 1.0],
            "poor slight slight slight fair fair",
        ),
        ("altman", [-0.1, 0.2, 0.21, 0.4], "poor poor fair fair"),
        ("fleiss", [0.39, 0.4, 0.75, 0.76], "poor fair_to_good fair_to_good excellent"),
    ],
)
def test_the_limits_belong_to_the_band_below(bands, values, words):
    got = js.agreement_bands(pd.DataFrame({"kappa": values}), bands)["band"].tolist()
    want = [w.replace("_", " ") for w in words.split()]
    assert got[: len(want)] == want
    if bands == "landis_koch":
        assert got[6:] == ["moderate", "substantial", "almost perfect", "almost perfect"]


def test_an_interval_has_the_bands_of_its_ends():
    rng = np.random.default_rng(0)
    truth = rng.choice(["first", "second"], 60)
    rows = [(j, f"i{k}", "x", "y", t if rng.random() < 0.75 else "tie") for j in "gh" for k, t in enumerate(truth)]
    calls = pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice"])
    kappa = js.kappa(calls)
    got = js.agreement_bands(kappa).iloc[0]
    assert js.agreement_bands(pd.DataFrame({"kappa": [got["conf_low"], got["conf_high"]]}))["band"].tolist() == [
        got["band_low"],
        got["band_high"],
    ]
    gold = js.gold_agreement(calls.assign(gold="x"))
    words = js.agreement_bands(gold)
    assert (words.loc[words["term"] != "kappa", ["band", "bands"]] == "").all(axis=None)


def test_what_is_no_coefficient_is_refused():
    refused(
        DesignError,
        (lambda: js.agreement_bands(pd.DataFrame({"r": [0.5]})), SchemaError, "no coefficient"),
        (lambda: js.agreement_bands(pd.DataFrame({"kappa": [55.0]})), "not percentages"),
        (lambda: js.agreement_bands(pd.DataFrame({"kappa": [0.5]}), "koch"), "landis_koch"),
    )
    assert js.agreement_bands(pd.DataFrame({"kappa": [np.nan]}))["band"].tolist() == [""]
