"""Gain and cost of another way of judging by domain: planted shifts and costs come back, and no advice beyond the interval."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import DesignError
from refusals import refused

#: Domain -> correlation of two judges before and after.
PLANTED = {"law": (0.3, 0.9), "poems": (0.9, 0.2), "news": (0.6, 0.6)}


@pytest.fixture
def scores_of_domains():
    rng = np.random.default_rng(4)
    rows = []
    for domain, pair in PLANTED.items():
        for condition, r in zip(("base", "merg"), pair, strict=True):
            one = rng.normal(size=150)
            two = r * one + np.sqrt(1 - r * r) * rng.normal(size=150)
            for judge, values in (("g", one), ("h", two)):
                rows += [(judge, "s", f"{domain}{i}", domain, condition, v) for i, v in enumerate(values)]
    table = pd.DataFrame(rows, columns=["judge", "system", "item", "domain", "condition", "score"])
    return table.assign(cost=np.where(table["condition"] == "base", 1.0, 3.5))


def test_planted_shifts_and_costs_stand_side_by_side(scores_of_domains):
    shift = js.agreement_shift(scores_of_domains, ("base", "merg"), by="domain", n_resamples=400)
    cost = js.evaluation_cost(scores_of_domains, by=["domain", "condition"])
    found = js.gains_and_costs(shift, cost, ("base", "merg")).set_index("domain")
    readings = {"law": "agreement rises", "poems": "agreement falls", "news": "no shift to be seen"}
    assert found["reading"].to_dict() == readings
    for domain, (before, after) in PLANTED.items():
        assert found.loc[domain, "conf_low"] < after - before < found.loc[domain, "conf_high"]
    assert found["cost_before"].tolist() == [2.0] * 3  # of both judges
    assert found["cost_ratio"].tolist() == [3.5] * 3
    assert found["gain"].to_dict() == shift.set_index("domain")["estimate"].to_dict()


def test_without_an_interval_nothing_is_read(scores_of_domains):
    shift = pd.DataFrame({"domain": ["law"], "estimate": [0.4], "conf_low": [np.nan], "conf_high": [np.nan]})
    cost = pd.DataFrame({"domain": ["law", "law"], "condition": ["base", "merg"], "cost": [0.0, 2.0]})
    found = js.gains_and_costs(shift, cost, ("base", "merg"))
    assert found["reading"].tolist() == ["not estimable"]
    assert found["cost_ratio"].isna().all()


def test_what_has_no_cost_is_named(scores_of_domains):
    shift = pd.DataFrame({"domain": ["law", "art"], "estimate": 0.1, "conf_low": 0.0, "conf_high": 0.2})
    cost = pd.DataFrame({"domain": ["law", "law"], "condition": ["base", "merg"], "cost": [1.0, 2.0]})
    refused(
        DesignError,
        (lambda: js.gains_and_costs(shift, cost, ("base", "merg")), "no cost of 'art'"),
        (lambda: js.gains_and_costs(shift, cost, ("base", "marg")), r"'marg' has no cost.*Did you mean 'merg'"),
        (lambda: js.gains_and_costs(pd.concat([shift, shift]), cost, ("base", "merg")), "several rows for one value"),
        (lambda: js.gains_and_costs(shift.drop(columns="domain"), cost, ("base", "merg")), "has no column 'domain'"),
    )
