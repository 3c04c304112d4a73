"""Forest plots, shifts of agreement and calibration show what the measures say."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from judgestats import published
from judgestats.errors import DesignError
from judgestats.metrics import agreement, consensus
from judgestats.metrics.bias import consistency, position_bias
from judgestats.metrics.datasheets import datasheet
from judgestats.metrics.psychometrics import dark_current, target_sensitivity
from judgestats.reporting import plots
from judgestats.reporting.plots.canvas import PALETTE
from judgestats.reporting.plots.forests import FLAGGED
from refusals import refused
from registry import noisier, scores
from reporting.designs import dark_current_design, plain_verdicts
from reporting.drawing import drawn, legend, lost, marks, names, scored, texts, texts_and_labels, whiskers

FEW = {"n_resamples": 50}


def test_a_panel_of_shares_is_in_percent_and_one_of_differences_in_points():
    rows = pd.DataFrame(
        {"judge": ["a", "b"] * 2, "term": ["x", "x", "y", "y"], "estimate": [0.25, 0.75, -0.2, 0.1],
         "conf_low": [0.1, 0.6, -0.3, 0.0], "conf_high": [0.4, 0.9, -0.1, 0.2],
         "method": ["Wilson, clustered by item (G = 9)"] * 2 + ["Newcombe"] * 2}
    )  # fmt: skip
    one, two = drawn(list(plots.forest(rows)))
    assert (one.get_xlabel(), two.get_xlabel()) == ("share", "points (0 = none)")
    assert "50\u202f%" in [t.get_text() for t in one.get_xticklabels()]
    assert "+20" in [t.get_text() for t in two.get_xticklabels()]
    scaled = plots.forest(rows.assign(scale="probability"))
    assert scaled[0].get_xlabel() == "probability"


# ---------------------------------------------------------------- shifts


def test_agreement_shift_runs_from_before_to_after_and_marks_the_flagged():
    result = agreement.agreement_shift(published.load("consensus_illusion/table3"))
    ax = drawn(plots.agreement_shift(result, order="given", title="Table 3"))
    found = marks(ax)
    hollow, filled = ([f[:2] for f in found if f[2] is side] for side in (False, True))
    assert hollow == [(v, i) for i, v in enumerate(result["before"])]
    assert filled == [(v, i) for i, v in enumerate(result["after"])]
    flagged = result["flag"].str.contains("shift")
    assert 0 < flagged.sum() < len(result)
    assert len(marks(ax, color=FLAGGED)) == 2 * flagged.sum()
    assert "|shift| > 0.15" in legend(ax)
    assert names(ax)[0] == f"{result['pair'][0]} · temperature {result['temperature'][0]:g}"


def test_agreement_shift_has_the_interval_beside_the_row():
    two = pd.concat([scores().assign(condition="a"), noisier().assign(condition="b")])
    result = agreement.agreement_shift(two, ("a", "b"), flag_at=0.9, **FEW)
    ax = drawn(plots.agreement_shift(result))
    assert names(ax) == ["all"]
    assert f"[−{abs(result['conf_low'][0]):.2f}," in texts(ax)[0]
    assert legend(ax) == ["before", "after"]
    gone = lost(
        pd.concat([result.assign(x="p"), result.assign(x="q")])[["x", *result.columns]].reset_index(drop=True), 1
    )
    gone.loc[1, ["before", "after"]] = np.nan
    ax = drawn(plots.agreement_shift(gone))
    assert texts(ax).count("n/a") == 2


def test_calibration_runs_from_before_to_after():
    result = consensus.calibrate(scores())
    axes = drawn(plots.calibration(result, title="calibration"))
    for ax, what in zip(axes, ("deviation", "rmse"), strict=True):
        for end, side in (("before", False), ("after", True)):
            wanted = result[result["term"] == f"{what}_{end}"]
            assert [m[0] for m in marks(ax) if m[2] is side] == list(wanted["estimate"])
            assert set(zip(wanted["conf_low"], wanted["conf_high"], strict=True)) <= set(whiskers(ax))
    assert names(axes[0]) == list("abc")
    assert axes[0].get_xlim()[0] == -axes[0].get_xlim()[1]
    assert axes[1].get_xlim()[0] == 0


def test_calibration_says_who_has_no_map():
    result = consensus.calibrate(scores())
    gone = lost(result, *result.index[result["judge"] == "b"])
    axes = drawn(plots.calibration(gone))
    assert texts(axes[1]) == ["n/a"]
    assert len(marks(axes[1])) == 4


def texts_of(axes):
    return [t.get_text() for t in axes.get_yticklabels()]


def dots(axes):
    return [line for line in axes.lines if line.get_marker() == "o"]


def test_a_judge_without_a_term_has_an_empty_row():
    sheet = datasheet(scored())
    rows = sheet[sheet["term"].isin(["mean_others", "self_excess"])]
    severity, excess = plots.forest(rows)
    assert len(dots(severity)) == 2
    assert [d.get_ydata()[0] for d in dots(excess)] == [0]
    assert texts_of(severity) == ["g", "h"]


# ---------------------------------------------------------------- points that are told apart


def assert_told_apart(panels):
    for panel in panels:
        heights = [round(d.get_ydata()[0], 6) for d in dots(panel)]
        assert len(heights) == len(set(heights)) > 0, panel.get_title(loc="left")
        assert all(h == int(h) for h in heights)  # one on each line


def test_a_forest_of_a_whole_datasheet_has_a_panel_for_each_section_of_a_term():
    sheet = datasheet(plain_verdicts(["a", "b"], invalid=0.2))
    assert sheet.loc[sheet["term"] == "invalid", "section"].nunique() > 1
    panels = plots.forest(sheet)
    titles = [p.get_title(loc="left") for p in panels]
    assert {"invalid: slots", "invalid: gold", "accuracy"} <= set(titles)
    assert len(titles) == len(set(titles))
    assert_told_apart(panels)


@pytest.mark.slow
def test_a_forest_of_steps_has_a_panel_a_step():
    calls = dark_current_design()
    for estimates in (target_sensitivity(calls), datasheet(calls, n_resamples=50)):
        rows = estimates[estimates["term"] == "target_sensitivity"]
        panels = plots.forest(rows)
        assert [p.get_title(loc="left") for p in panels][:2] == [
            "target sensitivity: Δ = 1",
            "target sensitivity: Δ = 2",
        ]
        assert_told_apart(panels)
    assert_told_apart(plots.forest(dark_current(calls)))
    assert_told_apart(plots.forest(datasheet(calls, n_resamples=50)))


def test_a_forest_of_deviations_has_a_line_for_each_judge_and_system():
    deviations = consensus.consensus_deviation(scored())
    rows = deviations[deviations["term"] == "deviation"]
    ax = plots.forest(rows, order="given")
    assert texts_of(ax) == [f"{j} on {s}" for j in "gh" for s in "gyz"]
    np.testing.assert_allclose([d.get_xdata()[0] for d in dots(ax)], rows["estimate"])
    panels = plots.forest(deviations)
    assert_told_apart(panels)
    assert {"g", "h", "g on y"} <= set(texts_of(panels[0]))


def test_a_label_of_the_caller_keeps_the_section():
    sheet = datasheet(plain_verdicts(["a"], invalid=0.2))
    titles = {p.get_title(loc="left") for p in plots.forest(sheet, labels={"invalid": "unreadable"})}
    assert {"unreadable: slots", "unreadable: gold"} <= titles


# ---------------------------------------------------------------- forests and bars


def test_forest_shows_each_estimate_and_its_interval():
    rows = consistency(plain_verdicts(["a", "b", "c"])).query("term == 'consistency'")
    ax = drawn(plots.forest(rows, order="given"))
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    np.testing.assert_allclose([d.get_xdata()[0] for d in dots], rows["estimate"])
    whiskers = [line for line in ax.lines if len(line.get_xdata()) == 2 and line.get_color() == PALETTE[0]]
    np.testing.assert_allclose([w.get_xdata() for w in whiskers], rows[["conf_low", "conf_high"]])
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b", "c"]


def test_forest_is_sorted_by_its_first_panel():
    rows = pd.DataFrame({"judge": ["a", "b", "c", "d"], "estimate": [0.2, np.nan, 0.9, 0.5]})
    both = pd.concat([rows.assign(term="x"), rows.assign(term="y", estimate=[0.1, 0.2, 0.3, 0.4])])
    assert texts_of(plots.forest(both)[0]) == ["c", "d", "a", "b"]
    assert texts_of(plots.forest(both, order="given")[0]) == ["a", "b", "c", "d"]
    with pytest.raises(DesignError, match="order"):
        plots.forest(both, order="name")


def test_forest_has_a_line_at_zero_where_values_are_on_both_sides():
    rows = pd.DataFrame({"judge": ["a", "b"], "term": "of my own", "estimate": [-0.2, 0.3]})
    assert zero_line(plots.forest(rows))
    assert not zero_line(plots.forest(rows.assign(estimate=[0.2, 0.3])))


def zero_line(ax):
    return any(set(line.get_xdata()) == {0.0} and line.get_linestyle() == "--" for line in ax.lines)


def test_forest_has_a_panel_a_term_and_signed_terms_around_zero():
    calls = plain_verdicts(["a", "b"])
    rows = pd.concat(
        [consistency(calls).query("term == 'consistency'"), position_bias(calls).query("term == 'position_bias'")]
    )
    left, right = plots.forest(rows)
    assert left.get_xlim() == (-0.02, 1.02)
    assert right.get_xlim()[0] == -right.get_xlim()[1]


def test_forest_says_what_is_not_available_and_clips_infinite_ends():
    rows = pd.DataFrame(
        {
            "judge": ["a", "b"],
            "term": "detection_threshold",
            "estimate": [np.nan, 2.0],
            "conf_low": [np.nan, -np.inf],
            "conf_high": [np.nan, 3.0],
        }
    )
    ax = drawn(plots.forest(rows))
    assert "n/a" in texts_and_labels(ax)
    assert any(line.get_marker() == "<" for line in ax.lines)


def test_forest_refuses_too_few_axes():
    rows = position_bias(plain_verdicts(["a"]))
    refused(
        DesignError,
        (lambda: plots.forest(rows, ax=Figure().add_subplot()), "got 1 axes"),
        (lambda: plots.forest(rows.head(0)), "no estimate"),
    )
