"""Pictures of people's preferences and of the reading of length show what the measures say."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import judgestats as js
from judgestats.errors import DesignError
from judgestats.metrics import bias
from judgestats.reporting import plots
from judgestats.reporting.plots.preferences import ROLES
from registry import lengths, people
from reporting.drawing import drawn, legend, marks, names, texts, whiskers

# ---------------------------------------------------------------- people, and length


def test_preference_gaps_show_people_then_judges():
    result = bias.preference_gap(people(), humans=["ann", "bob"])
    left, right = drawn(plots.preference_gaps(result, order="given", title="people"))
    assert names(left) == ["people, pooled", "ann", "bob", "g", "h"]
    rate, gap = (result[result["term"] == t] for t in ("rate", "gap"))
    pooled = rate[rate["role"] == "people"].iloc[0]
    assert marks(left, "D") == [(pooled["estimate"], 0.0, True)]
    others = pd.concat([rate[rate["role"] == r] for r in ("person", "judge")])["estimate"]
    assert sorted(m[:2][::-1] for m in marks(left)) == [*enumerate(others, start=1)]
    assert [m[:2] for m in marks(right)] == [(v, i) for i, v in enumerate(gap["estimate"], start=3)]
    band = left.patches[0]
    assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx((pooled["conf_low"], pooled["conf_high"]))
    assert set(ROLES) == {"people", "person", "judge"}


def test_people_agreement_has_people_as_a_band_and_the_constant_answer_as_a_line():
    result = js.judge_against_people(people(), humans=["ann", "bob"])
    left, right = drawn(plots.people_agreement(result, order="given", title="people"))
    assert names(left) == ["people with each other", "g", "h"]
    for panel, term in ((left, "kappa"), (right, "agreement")):
        rows = result[result["term"] == term]
        pooled = rows[rows["role"] == "people"].iloc[0]
        assert marks(panel, "D") == [(pytest.approx(pooled["estimate"]), 0.0, True)]
        judges = rows.loc[rows["role"] == "judge", "estimate"]
        np.testing.assert_allclose([m[:2] for m in marks(panel)], [(v, i) for i, v in enumerate(judges, start=1)])
        band = panel.patches[0]
        ends = band.get_x(), band.get_x() + band.get_width()
        assert ends == pytest.approx((pooled["conf_low"], pooled["conf_high"]))
    constant = result.loc[result["term"] == "constant_answer", "estimate"].item()
    assert any(list(line.get_xdata()) == [constant, constant] for line in right.lines)


def test_verbosity_bias_puts_each_judge_at_its_two_numbers():
    result = bias.verbosity_bias(lengths())
    ax = drawn(plots.verbosity_bias(result))
    wide = result.pivot(index="judge", columns="term", values="estimate")
    found = [*marks(ax), *marks(ax, "s")]
    np.testing.assert_allclose([f[:2] for f in found], wide[["expansion_bias", "truncation_accuracy"]])
    assert texts(ax)[:3] == ["verbose", "quality-sensitive", "indifferent"]
    assert {"g", "h"} <= set(texts(ax))
    ends = result[(result["judge"] == "g") & (result["term"] == "expansion_bias")][["conf_low", "conf_high"]]
    assert tuple(ends.iloc[0]) in whiskers(ax)


@pytest.mark.parametrize(("b", "right"), [(0.5, 0.9), (0.3, 0.6), (-0.5, 0.9), (0.1, 0.8), (0.1, 0.6), (-0.1, 0.3)])
def test_the_regions_are_those_of_the_reading_of_the_points(b, right):
    from judgestats.metrics.bias.verbosity import _point_reading

    rows = pd.DataFrame({"judge": "g", "term": ["expansion_bias", "truncation_accuracy"], "estimate": [b, right]})
    ax = plots.verbosity_bias(rows.assign(conf_low=rows["estimate"], conf_high=rows["estimate"], reading="undecided"))
    shaded = ["verbose", "quality-sensitive", "indifferent"]
    inside = [
        name
        for name, p in zip(shaded, ax.patches, strict=True)
        if p.get_x() <= b <= p.get_x() + p.get_width() and p.get_y() <= right <= p.get_y() + p.get_height()
    ]
    assert inside == [_point_reading({"estimate": b}, {"estimate": right}, 0.2, 0.5, 0.75)]


def test_verbosity_bias_is_hollow_where_undecided_and_names_who_is_absent():
    rows = pd.DataFrame(
        {"judge": ["g", "g", "h"], "term": ["expansion_bias", "truncation_accuracy", "expansion_bias"], "estimate": 0.5}
    ).assign(conf_low=0.1, conf_high=0.9, reading="undecided")
    ax = drawn(plots.verbosity_bias(rows))
    assert [m[2] for m in marks(ax)] == [False]
    assert any("not shown" in t and "h" in t for t in texts(ax))
    many = pd.concat([rows.head(2).assign(judge=f"a judge with a long name {i}") for i in range(12)])
    assert len(legend(drawn(plots.verbosity_bias(many)))) == 12


def test_too_few_axes_are_refused():
    result = bias.preference_gap(people(), humans=["ann", "bob"])
    with pytest.raises(DesignError, match="2 panels"):
        plots.preference_gaps(result, ax=Figure().add_subplot())
    given = list(Figure().subplots(1, 2))
    assert plots.preference_gaps(result, ax=given).axes == given
