"""Graded preferences between two candidates, against plain means of their rows."""

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.reporting.page_data import PageArguments, measure_all


def graded(shift=0.0):
    """Two judges on 60 pairs in both orders; the second judge's strength for y is lower by `shift`."""
    rng = np.random.default_rng(3)
    rows = pd.MultiIndex.from_product([["g", "h"], range(60), ["x", "y"]], names=["judge", "item", "first"])
    calls = rows.to_frame(index=False).assign(second=lambda d: d["first"].map({"x": "y", "y": "x"}))
    for_y = np.clip(rng.beta(3, 1.3, len(calls)) - shift * (calls["judge"] == "h"), 0, 1).round(1)
    strength = for_y.where(calls["second"] == "y", 1 - for_y)
    choice = np.select([strength < 0.5, strength > 0.5], ["first", "second"], "tie")
    return js.preferences(calls.assign(choice=choice, strength=strength)), for_y


def test_the_mean_strength_stands_beside_the_share_above_one_half():
    calls, for_y = graded()
    summary = measure_all(calls, PageArguments(n_resamples=20)).summary
    column = {c.term: c for c in summary.columns}
    assert column["strength"].label == "Mean strength for y"
    means = {
        "strength": for_y.groupby(calls["judge"]).mean(),
        "above_half": (for_y > 0.5).groupby(calls["judge"]).mean(),
    }
    for term, expected in means.items():
        cells = {j: cell["estimate"] for j, cell in column[term].cells.items()}
        assert cells == pytest.approx(expected.to_dict())
    low, high = (f"{100 * v:.0f}" for v in (means["strength"].min(), means["strength"].max()))
    often = [f"{100 * v:.0f}" for v in sorted(means["above_half"])]
    strong = f"{low} to {high}" if low != high else low
    card = summary.cards[0]
    assert (card.head, card.claim) == ("Preferred of two", f"y: mean strength {strong}\u202f%")
    assert card.detail == f"{' to '.join(dict.fromkeys(often))}\u202f% of calls are above one half"


def test_judges_who_prefer_the_other_are_not_hidden():
    calls, _ = graded(shift=0.35)
    assert (
        measure_all(calls, PageArguments(n_resamples=20))
        .summary.cards[0]
        .claim.startswith("y, but not of every judge: ")
    )


def test_verdicts_alone_have_no_strength():
    calls, _ = graded()
    for plain in (calls.drop(columns="strength"), calls.assign(strength=(calls["choice"] == "second").astype(float))):
        summary = measure_all(plain, PageArguments(n_resamples=20)).summary
        assert not {"strength", "above_half"} & {c.term for c in summary.columns}
