"""Mean scores with known noise: ratings with items, sds of 0, a reference."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from judgestats.errors import DesignError, SchemaError
from judgestats.models.hierarchical.crossed_means import crossed_means
from judgestats.models.hierarchical.severities import severity
from judgestats.published import load
from judgestats.published.paper_tables import MODELS, panel, scores
from refusals import refused

pytest.importorskip("arviz_stats")


def test_zero_and_unknown_sds() -> None:
    table = scores()
    zero = crossed_means(table.assign(sd=table["sd"].where(table.index != 3, 0.0)), None, None, None, "final")
    assert "sds of zero replaced by the pooled sd" in zero[1]
    changed = zero[0].noise[
        (zero[0].judge == zero[0].judges.index("GPT-5.1")) & (zero[0].system == 0) & (zero[0].condition == 1)
    ]
    pooled = np.sqrt((table["sd"].where(table.index != 3, 0.0) ** 2).mean())
    assert changed == pytest.approx(pooled**2 / 10)
    unknown, doubts = crossed_means(table.drop(columns=["sd", "runs"]), None, None, None, "final")
    assert (unknown.noise == 0).all()
    assert "noise unknown, not separable from judge-by-system interaction" in doubts
    refused(
        DesignError,
        (table.drop(columns="runs"), "no 'runs'"),
        (table.assign(sd=-0.1), SchemaError, "below 0"),
        of=severity,
    )


def test_raw_ratings_with_items() -> None:
    """What an item gives all judges alike is no noise; runs of one item give the sd."""
    rng = np.random.default_rng(0)
    keys = pd.MultiIndex.from_product(
        [list("abc"), list("abcd"), range(200)], names=["judge", "system", "item"]
    ).to_frame(index=False)
    item = rng.normal(0, 5, (4, 200))
    keys["score"] = item[keys["system"].map(dict(zip("abcd", range(4), strict=True))), keys["item"]] + rng.normal(
        0, 1, len(keys)
    )
    data, doubts = crossed_means(keys, None, None, None, "final")
    assert data.noise.mean() == pytest.approx(1 / 200, rel=0.1)
    assert not any(doubts)
    assert "judges scored different items" in crossed_means(keys.drop(index=0), None, None, None, "final")[1]


def test_identity_and_reference() -> None:
    table = scores().assign(system=lambda t: t["system"].map({m: f"Expert {i}" for i, m in enumerate(MODELS)}))
    names = {f"Expert {i}": m for i, m in enumerate(MODELS)}
    one, _ = crossed_means(table, names, panel(), None, "final")
    two, _ = crossed_means(table, {m: e for e, m in names.items()}, panel(), None, "final")
    assert (one.own == two.own).all()
    assert one.own.sum() == 10
    assert one.noise[one.judge == 5] == pytest.approx(
        np.sort(load("merchant_risk/human_panel")["sd"] ** 2 / 26)[np.argsort(np.argsort(one.noise[one.judge == 5]))]
    )
    assert "no judge scored itself" in crossed_means(table, None, None, None, "final")[1]
    refused(
        SchemaError,
        (lambda: crossed_means(table, {"Expert 9": "GPT-5.1"}, None, None, "final"), "not a pair"),
        (
            lambda: crossed_means(table, {"Expert 0": "GPT-5.1", "Expert 1": "GPT-5.1"}, None, None, "final"),
            "one-to-one",
        ),
        (
            lambda: crossed_means(scores(), None, panel().drop(columns="runs"), None, "final"),
            "lacks 'runs'",
        ),
        (lambda: crossed_means(scores(), None, panel().assign(system="x"), None, "final"), DesignError, "not a system"),
    )
