"""Which measures a frame supports, what trying them costs, and how a named cluster reaches them."""

from __future__ import annotations

from dataclasses import replace
from inspect import signature

import numpy as np
import pandas as pd
import pytest

import judgestats as js
import registry
from judgestats.counting.splitting import KEYS, splits_of
from judgestats.counting.study import Study
from judgestats.errors import DesignError
from judgestats.metrics import measure_registry, supported_measures
from judgestats.metrics.measure_registry import MeasureOptions, measures_of
from judgestats.metrics.references import controls_of
from metrics.tables import calls, panel_of_whole_scores, panel_scores, peak, whole_scores

#: Frames of the properties, each under the name of the first measure that has it.
FRAMES = {name: data for data, name in {m.data: name for name, m in reversed(registry.registry().items())}.items()}
QUICK = ("verbosity_bias", "accuracy", "gold_agreement", "validity_gates")
#: Measures that are not offered on data from which they could be computed.
BY_CHOICE = {
    "rank_systems": "two systems are one comparison, which preference_rate has",
    "classification": "a page shows classes; of right and wrong it has the accuracy, of scores their errors",
    "confusion": "the same",
    "quality_agreement": "a correlation over two or three systems says nothing",
}


def test_what_is_supported_is_tried_without_a_bootstrap(monkeypatch):
    asked = []
    original = measure_registry.MeasureOptions.call

    def call(self, measure, *data, **arguments):
        asked.append(self.n_resamples)
        return original(self, measure, *data, **arguments)

    monkeypatch.setattr(measure_registry.MeasureOptions, "call", call)
    _, used = peak(lambda: js.available_measures(panel_of_whole_scores(2_000)))
    assert set(asked) == {1}
    assert used < 80


def test_a_study_keeps_what_a_measure_gave_for_plain_arguments():
    asked = []

    def measure(data, humans=None, by=(), conf_level=0.95):
        asked.append(by)
        if by == ["item"]:
            raise DesignError("no")
        return pd.DataFrame({"estimate": [len(asked)]})

    study, options = Study.of(calls()), MeasureOptions()
    first, again = (options.call(measure, study, by=["topic"]) for _ in range(2))
    assert first["estimate"].tolist() == again["estimate"].tolist() == [1]
    assert first is not again
    for _ in range(2):
        with pytest.raises(DesignError, match="no"):
            options.call(measure, study, by=["item"])
    options.call(measure, study, by=["topic", None])
    options.call(measure, study, by=["topic"], humans={"a": "1"})
    options.call(measure, Study.of(calls()), by=["topic"])
    replace(options, conf_level=0.9).call(measure, study, by=["topic"])
    assert len(asked) == 6
    assert MeasureOptions(seed=1).call(measure, study, by=["topic"])["estimate"].tolist() == [1]  # takes no seed


def test_nothing_is_kept_by_the_identity_of_a_frame():
    """A frame may be edited in place between two calls, as the data and as an argument."""
    options, data, people = MeasureOptions(), calls(), calls()

    def measure(data, reference):
        return pd.DataFrame({"estimate": [sum((f["judge"] == "new").sum() for f in (reference, data))]})

    assert options.call(measure, data, people)["estimate"][0] == 0
    people.loc[people.index[0], "judge"] = data.loc[data.index[0], "judge"] = "new"
    assert options.call(measure, data, people)["estimate"][0] == 2


def test_counts_are_never_written_out():
    data = panel_of_whole_scores(20).assign(n=1)
    data.loc[data["item"] == "3", "n"] = 2_000_000_000
    ratings = js.ratings(data, counts="n")
    found, used = peak(lambda: js.available_measures(ratings).set_index("measure")["supported"])
    assert found[["agreement_levels", "icc", "alpha", "correlation", "disagreement"]].all()
    assert used < 80


def test_a_named_cluster_reaches_the_effect_of_names():
    rng = np.random.default_rng(0)
    names = ("attributed", "anonymized")
    rows = [(c, j, s, i) for c in names for j in "abc" for s in "abc" for i in range(60)]
    data = pd.DataFrame(rows, columns=["condition", "judge", "system", "item"])
    own = (data["judge"] == data["system"]) * data["condition"].map({"attributed": 2.0, "anonymized": 1.0})
    data["score"] = 5 + own + rng.normal(size=len(data))
    data["topic"] = (data["item"] % 6).astype(str)
    record = measure_registry.measures()["blinding_effect"]
    named, alone = (record.attempt(data, measure_registry.MeasureOptions(cluster=c)) for c in ("topic", "auto"))
    np.testing.assert_allclose(named["estimate"], alone["estimate"])
    assert named["method"].str.contains("topic").all(), named["method"]
    assert alone["method"].str.contains(r"over items \(G = 60\); holds for these 6 topics").all(), alone["method"]


def test_thousands_of_systems_are_not_looked_into_one_by_one():
    table = panel_scores(systems=[f"s{i:04d}" for i in range(501)], items=1)
    found = js.available_measures(table).set_index("measure")
    assert "501 systems are too many" in found.loc["agreement_levels", "missing"]
    assert found.loc["icc", "supported"]


def test_the_measures_that_are_tried_are_those_asked():
    assert {"consistency", "kappa", "alpha"} <= set(measures_of(calls()))
    assert {"score_matrix", "icc", "alpha"} <= set(measures_of(whole_scores()))
    assert "icc" not in measures_of(calls())
    assert "kappa" not in measures_of(whole_scores())


def test_each_measure_is_named_before_it_is_tried():
    said = []
    found = supported_measures.attempts(calls(), measure_registry.MeasureOptions(n_resamples=5), {"kappa"}, said.append)
    assert said == list(found) == [name for name in measures_of(calls()) if name != "kappa"]


def test_problems_are_those_of_the_errors_without_their_remedies():
    calls = pd.DataFrame({"judge": "g", "item": ["1. a", "1. a"], "first": "x", "second": "y", "choice": "first"})
    calls = calls.assign(order_known=False, replicate=[0, 1])
    design = js.describe(calls).set_index("property")["value"]
    assert design["both orders"] == "not usable: the order in which the candidates were shown is not known"
    missing = js.available_measures(calls).set_index("measure")["missing"]
    assert missing["gold_agreement"] == "needs a column 'gold'"


def test_many_judges_are_too_many_only_for_measures_of_pairs():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"judge": np.repeat([f"j{i}" for i in range(70)], 12), "item": np.tile(range(12), 70)})
    found = js.available_measures(js.ratings(table.assign(system="s", score=rng.integers(1, 6, len(table)))))
    missing = found.set_index("measure")["missing"]
    assert (missing[["alpha", "icc"]] == "").all()
    assert "70 judges are 2,415 pairs, too many for every pair" in missing["agreement_levels"]


def estimated(record, data, options):
    """Whether the public function gives a number, with what the page would pass; None where an argument is lacking."""
    try:
        arguments = dict(record.arguments(data, options)) if record.arguments else {}
        if "by" in signature(record.function).parameters:
            arguments["by"] = list(options.by)
        if record.function is js.compare_versions:  # with one old version of several
            arguments["baseline"] = dict([*options.baseline.items()][:1])
        signature(record.function).bind(data, **arguments)
    except (TypeError, KeyError):
        return None
    try:
        return bool(record.function(data, **arguments)["estimate"].notna().any())
    except js.errors.JudgestatsError:
        return False


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in FRAMES])
def test_what_is_available_gives_an_estimate_and_what_is_not_gives_none(name):
    data = FRAMES[name]()
    if not {"judge", "item"} <= {*data.columns}:
        return
    listed = js.available_measures(data).set_index("measure")["supported"]
    groups = [s.column for s in splits_of(data, KEYS)] if "choice" not in data else []
    options = MeasureOptions(by=tuple(groups), n_resamples=20, baseline=controls_of(data))
    study = Study.of(data)
    given = {n: isinstance(record.attempt(study, options), pd.DataFrame) for n, record in measures_of(data).items()}
    assert given == listed.to_dict()
    alone = {n: estimated(r, data, options) for n, r in measures_of(data).items() if n == r.function.__name__}
    wrong = {n for n, some in alone.items() if some is not None and some != listed[n]}
    assert wrong <= {n for n in BY_CHOICE if not listed.get(n)}
    assert any(listed[n] for n, some in alone.items() if some)
    assert any(not listed[n] for n, some in alone.items() if some is False)
