"""Pictures of confidences show what the measures say."""

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import DesignError
from judgestats.reporting import plots
from refusals import refused
from registry import sure
from reporting.drawing import drawn, texts


def test_the_curve_its_band_and_a_panel_for_each_judge():
    result = js.confidence_calibration(sure(), n_resamples=50)
    axes = drawn(plots.reliability(result))
    assert [ax.get_title(loc="left") for ax in axes] == ["g", "h"]
    for ax, judge in zip(axes, "gh", strict=True):
        curve = result[(result["term"] == "reliability") & (result["judge"] == judge)]
        np.testing.assert_allclose(ax.lines[1].get_xydata(), curve[["level", "estimate"]])
        band = ax.collections[0].get_paths()[0].vertices
        assert band[:, 1].min() == pytest.approx(curve["conf_low"].min())
        assert band[:, 1].max() == pytest.approx(curve["conf_high"].max())
    refused(
        DesignError,
        (lambda: plots.reliability(result, ax=axes[0]), "2 panels"),
        (lambda: plots.reliability(result[result["term"] == "brier"]), r"Give a result of confidence_calibration\(\)"),
    )


def test_risk_against_coverage_and_the_threshold():
    result = js.abstention_threshold(sure(), 0.3)
    axes = drawn(plots.risk_coverage(result, order="given", title="Risk"))
    for ax, judge in zip(axes, "gh", strict=True):
        here = result[result["judge"] == judge].set_index("term")
        np.testing.assert_allclose(ax.lines[0].get_xdata(), np.sort(here.loc["coverage_curve", "estimate"]))
        by_level = here.loc["risk_curve"].set_index("level")["estimate"].sort_index(ascending=False)
        np.testing.assert_allclose(ax.lines[0].get_ydata(), by_level)
        threshold = here.loc["threshold", "estimate"]
        marked = [t for t in texts(ax) if t.startswith("confidence")]
        assert marked == ([] if np.isnan(threshold) else [f"confidence ≥ {threshold:g}"])
    assert np.isfinite(result.loc[result["term"] == "threshold", "estimate"]).any()
    with pytest.raises(DesignError, match=r"Give a result of abstention_threshold\(\)"):
        plots.risk_coverage(pd.DataFrame(result[result["term"] == "threshold"]))
