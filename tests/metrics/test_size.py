"""What a large table costs: memory that does not grow with counts, and grows with items no faster than the table."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.metrics import measure_registry
from judgestats.metrics.agreement import levels


def panel(items, seed=0):
    """Two judges, two systems, whole scores."""
    rng = np.random.default_rng(seed)
    size = (items, 2, 2)
    score = np.clip(np.round(3 + rng.normal(size=(items, 1, 1)) + [[0.0], [0.5]] + rng.normal(size=size)), 1, 5)
    item, system, judge = (i.ravel() for i in np.indices(size))
    return pd.DataFrame(
        {
            "judge": np.array(["a", "b"])[judge],
            "system": np.array(["x", "y"])[system],
            "item": item.astype(str),
            "score": score.ravel(),
        }
    )


def peak(call):
    """Result of a call, and its peak of memory in MB."""
    tracemalloc.start()
    try:
        return call(), tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("measure", [js.agreement_levels, js.correlation, js.disagreement, js.score_distribution])
def test_resamples_are_drawn_a_block_at_a_time(measure, monkeypatch):
    data = panel(12)
    whole = measure(data, n_resamples=100)
    monkeypatch.setattr(levels, "HELD", 12 * 7)
    pd.testing.assert_frame_equal(measure(data, n_resamples=100), whole)


@pytest.mark.slow
@pytest.mark.parametrize("measure", [js.agreement_levels, js.disagreement, js.score_distribution])
def test_memory_of_a_bootstrap_is_not_resamples_times_items(measure):
    data = panel(20_000)  # 2,000 resamples at once: 320 MB
    found, used = peak(lambda: measure(data))
    assert found["estimate"].notna().any()
    assert used < 200


def test_what_is_supported_is_tried_without_a_bootstrap(monkeypatch):
    asked = []
    original = measure_registry.Options.call

    def call(self, measure, *data, **arguments):
        asked.append(self.n_resamples)
        return original(self, measure, *data, **arguments)

    monkeypatch.setattr(measure_registry.Options, "call", call)
    _, used = peak(lambda: js.supported(panel(2_000)))
    assert set(asked) == {1}
    assert used < 60


def test_counts_are_never_written_out():
    data = panel(20).assign(n=1)
    data.loc[data["item"] == "3", "n"] = 2_000_000_000
    ratings = js.ratings(data, counts="n")
    found, used = peak(lambda: js.supported(ratings).set_index("measure")["supported"])
    assert found[["agreement_levels", "icc", "alpha", "correlation", "disagreement"]].all()
    assert used < 60


def test_a_named_cluster_reaches_the_agreement_of_ratings():
    data = panel(60)
    data["topic"] = (data["item"].astype(int) % 6).astype(str)
    for measure in (js.alpha, js.disagreement, js.icc):
        found = measure_registry.Options(cluster="topic", n_resamples=50).call(measure, data)
        assert found["method"].str.contains("topic").any()


def test_a_named_cluster_reaches_the_effect_of_names():
    rng = np.random.default_rng(0)
    names = ("attributed", "anonymized")
    rows = [(c, j, s, i) for c in names for j in "abc" for s in "abc" for i in range(60)]
    data = pd.DataFrame(rows, columns=["condition", "judge", "system", "item"])
    own = (data["judge"] == data["system"]) * data["condition"].map({"attributed": 2.0, "anonymized": 1.0})
    data["score"] = 5 + own + rng.normal(size=len(data))
    data["topic"] = (data["item"] % 6).astype(str)
    record = measure_registry.measures()["attenuation"]
    named, alone = (record.attempt(data, measure_registry.Options(cluster=c)) for c in ("topic", "auto"))
    np.testing.assert_allclose(named["estimate"], alone["estimate"])
    assert named["method"].str.contains("topic").all(), named["method"]
    assert not alone["method"].str.contains("topic").any()
