"""Pictures of variance components and decision studies show what the measures say."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from judgestats.errors import DesignError
from judgestats.metrics import agreement
from judgestats.reporting import plots
from judgestats.reporting.plots.variance_shares import COLORS
from refusals import refused
from registry import single_scores
from reporting.drawing import drawn, legend, names, texts

# ---------------------------------------------------------------- variance


def test_variance_components_fill_the_bar():
    result = agreement.variance_components(single_scores())
    ax = drawn(plots.variance_components(result))
    bars = {to_hex(c[0].get_facecolor()): c[0].get_width() for c in ax.containers}
    assert sum(bars.values()) == pytest.approx(1)
    for term, share in zip(result["term"], result["share"], strict=True):
        assert bars.get(COLORS[term].lower(), 0.0) == pytest.approx(share)
    assert "judge × system" in legend(ax)
    assert any(t.startswith("0: judge × item") for t in texts(ax))


def test_variance_components_say_what_is_not_told():
    result = agreement.variance_components(single_scores())
    both = pd.concat([result.assign(domain="art"), result.assign(domain="law", share=np.nan)])
    ax = drawn(plots.variance_components(both[["domain", *result.columns]]))
    assert names(ax) == ["art", "law"]
    assert "n/a" in texts(ax)
    refused(
        DesignError,
        (result.assign(share=np.nan), "none is identifiable"),
        (result.drop(columns="share"), "share"),
        of=plots.variance_components,
    )


def test_decision_study_has_a_line_a_number_of_items_and_rings_what_is_enough():
    study = agreement.decision_study(single_scores(), items=[4, 16], target_reliability=0.9)
    axes = drawn(plots.decision_study(study, target_reliability=0.9, order="given"))
    for ax, term in zip(axes, ("generalizability", "dependability"), strict=True):
        curves = [m for m in ax.lines if len(m.get_xdata()) == 10]
        assert len(curves) == 2
        for curve, items in zip(curves, (4, 16), strict=True):
            wanted = study[(study["term"] == term) & (study["items"] == items)].sort_values("judges")
            np.testing.assert_allclose(curve.get_xydata(), wanted[["judges", "estimate"]])
        enough = study[study["term"] == f"judges_for_{term}"].set_index("items")["estimate"]
        rings = {(m.get_xdata()[0], m.get_ydata()[0]) for m in ax.lines if m.get_markerfacecolor() == "none"}
        reached = study[study["term"] == term].set_index(["items", "judges"])["estimate"]
        assert rings == {(k, reached[items, k]) for items, k in enough.items() if k <= 10}
        assert rings
        assert any(set(m.get_ydata()) == {0.9} for m in ax.lines)
    sets = study[study["term"].str.startswith("judges_for")].pivot(index="items", columns="term", values="estimate")
    told = sets.loc[4.0, ["judges_for_generalizability", "judges_for_dependability"]]
    assert legend(axes[-1])[0] == f"items 4: {told.iloc[0]:g} (ranking), {told.iloc[1]:g} (scores)"


def test_decision_study_goes_along_the_facet_that_varies():
    study = agreement.decision_study(single_scores(), judges=3, items=range(2, 9))
    axes = drawn(plots.decision_study(study))
    assert [a.get_xlabel() for a in axes] == ["number of items"] * 2
    assert len(axes[0].lines[1].get_xdata()) == 7
    with pytest.raises(DesignError, match="decision_study"):
        plots.decision_study(study[study["term"].str.startswith("judges")])
