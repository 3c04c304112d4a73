"""Progress is shown unless it is asked not to be; what is asked for reaches the sampler."""

import inspect

import pandas as pd
import pytest

from refusals import refused

pytest.importorskip("pymc")
pytest.importorskip("arviz_stats")
pytest.importorskip("nutpie")

import nutpie
import pymc as pm

import judgestats as js
from judgestats.errors import DesignError, FitError
from judgestats.models import hierarchical


class Asked(Exception):
    """Raised in place of sampling."""


COUNTS = pd.DataFrame({"judge": [*"ggghhh"], "outcome": ["target", "other", "tie"] * 2, "n": [20, 10, 5, 12, 14, 9]})
CUES = pd.concat([COUNTS.assign(probe=p) for p in ("blind", "truth")])
LADDER = pd.DataFrame({"judge": "g", "delta": [1, 1, 2, 2], "outcome": ["correct", "wrong"] * 2, "n": [30, 12, 35, 4]})
RIGHT = pd.DataFrame({"judge": [*"gghh"], "strategy": ["B0", "S8"] * 2, "n": 50, "k": [30, 34, 28, 31]})
MEANS = pd.DataFrame([(j, s, len(j + s)) for j in "abc" for s in "xyz"], columns=["judge", "system", "mean"])
MEANS["mean"] = [5.0, 6.0, 5.5, 4.0, 5.2, 4.9, 6.1, 6.6, 5.0]
SAMPLED = {
    "fit": lambda **o: js.fit("k ~ strategy", RIGHT.drop(columns="n"), family="poisson", engine="pymc", **o),
    "severity": lambda **o: hierarchical.severity(MEANS, sampled=True, **o),
    "bias": lambda **o: hierarchical.bias(COUNTS, **o),
    "strategies": lambda **o: hierarchical.strategies(RIGHT, baseline="B0", **o),
    "psychometric": lambda **o: hierarchical.psychometric(LADDER, **o),
    "susceptibility": lambda **o: hierarchical.susceptibility(CUES, favoured="target", **o),
}


@pytest.mark.parametrize("name", SAMPLED)
@pytest.mark.parametrize(("options", "shown"), [({}, True), ({"sampling": {"progress": False}}, False)])
def test_progress_reaches_the_sampler(monkeypatch, name, options, shown):
    asked = []

    class Compiled:
        def with_data(self, **data):
            return self

    def by_pymc(**given):
        asked.append(given["progressbar"])
        raise Asked

    def by_nutpie(compiled, **given):
        asked.append(given["progress_bar"])
        raise Asked

    monkeypatch.setattr(pm, "sample", by_pymc)
    monkeypatch.setattr(nutpie, "compile_pymc_model", lambda *model, **given: Compiled())
    monkeypatch.setattr(nutpie, "sample", by_nutpie)
    with pytest.raises(FitError, match="Asked"):
        SAMPLED[name](**options)
    assert asked == [shown]


def test_every_function_that_samples_is_looked_at():
    has = {n for n in hierarchical.__all__ if "sampling" in inspect.signature(getattr(hierarchical, n)).parameters}
    assert has == set(SAMPLED) - {"fit"} | {"agreement"}  # which draws by importance and shows nothing


@pytest.mark.parametrize("name", SAMPLED)
def test_an_unknown_option_is_refused_and_the_right_one_suggested(name):
    refused(
        DesignError,
        ({"draw": 200}, "Did you mean 'draws'"),
        (200, "not a mapping"),
        of=lambda sampling: SAMPLED[name](sampling=sampling),
    )


def test_agreement_has_no_chains():
    ratings = MEANS.rename(columns={"mean": "score"}).assign(item="i")
    with pytest.raises(DesignError, match="'chains' is not known"):
        hierarchical.agreement(ratings, sampling={"chains": 2})


def test_an_element_is_named_by_the_labels_that_it_has():
    draws = hierarchical.severity(MEANS, sampling={"draws": 50}).draws()
    assert {"severity[a]", "quality[x]"} <= set(draws.columns)  # there is one condition, without a label
    assert not [c for c in draws.columns if "[," in c or c.endswith("[]")]


def test_a_model_without_draws_has_an_empty_table():
    exact = MEANS.rename(columns={"mean": "score"}).assign(score=lambda t: t.groupby("system").ngroup() + 1.0)
    found = hierarchical.agreement(exact, subjects="system", sampling={"draws": 50})
    assert found.draws().empty
    with pytest.raises(DesignError, match="There are no draws"):
        js.plot.posterior_intervals(found)
