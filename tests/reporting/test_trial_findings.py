"""What new users met: judges of whom some are systems, repeats without a number, folders for files, points without names."""

import itertools
import re

import numpy as np
import pandas as pd
import pytest

from judgestats.errors import DesignError, JudgestatsError
from judgestats.ingest import read
from judgestats.metrics import consensus
from judgestats.metrics.bias import consistency, slot_lean
from judgestats.metrics.datasheets import datasheet
from judgestats.metrics.psychometrics import criterion_shift, dark_current, target_sensitivity
from judgestats.reporting import plots, report
from judgestats.results import NOT_INDEPENDENT, UNEQUAL_CRITERIA
from judgestats.schema import preferences, ratings
from reporting.designs import dark_current_design, plain_verdicts, self_ratings
from reporting.test_pages import Page, made

NOT_SHOWN = "What this page does not show"


def scored(judges="gh", systems="gyz", n_items=8, criteria=("all",)):
    rng = np.random.default_rng(4)
    rows = [
        {"judge": j, "system": s, "item": f"item {i}", "criterion": c, "score": 7 + rng.normal()}
        for j, s, i, c in itertools.product(judges, systems, range(n_items), criteria)
    ]
    return ratings(pd.DataFrame(rows))


def texts_of(axes):
    return [t.get_text() for t in axes.get_yticklabels()]


def dots(axes):
    return [line for line in axes.lines if line.get_marker() == "o"]


def twice(column, values=("swap", "plain")):
    """Each call twice, told apart by a column of no known meaning."""
    return pd.concat([plain_verdicts(["a"], seed=i).assign(**{column: v}) for i, v in enumerate(values)])


# ---------------------------------------------------------------- judges of whom some are systems


@pytest.mark.slow
@pytest.mark.parametrize("identity", [None, {"g": "g"}, {"y": "h"}])
def test_a_page_of_judges_of_whom_some_are_systems(identity, tmp_path):
    page = made(scored(), tmp_path, identity=identity)
    assert "Severity and self-excess" in page


def test_a_judge_without_a_term_has_an_empty_row():
    sheet = datasheet(scored())
    rows = sheet[sheet["term"].isin(["mean_others", "self_excess"])]
    severity, excess = plots.forest(rows)
    assert len(dots(severity)) == 2
    assert [d.get_ydata()[0] for d in dots(excess)] == [0]
    assert texts_of(severity) == ["g", "h"]


# ---------------------------------------------------------------- points that are told apart


def assert_told_apart(panels):
    for panel in panels if isinstance(panels, list) else [panels]:
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
    ax = plots.forest(rows)
    assert texts_of(ax) == [f"{j} on {s}" for j in "gh" for s in "gyz"]
    np.testing.assert_allclose([d.get_xdata()[0] for d in dots(ax)], rows["estimate"])
    panels = plots.forest(deviations)
    assert_told_apart(panels)
    assert {"g", "h", "g on y"} <= set(texts_of(panels[0]))


def test_a_label_of_the_caller_keeps_the_section():
    sheet = datasheet(plain_verdicts(["a"], invalid=0.2))
    titles = {p.get_title(loc="left") for p in plots.forest(sheet, labels={"invalid": "unreadable"})}
    assert {"unreadable: slots", "unreadable: gold"} <= titles


# ---------------------------------------------------------------- refusals that can be read


@pytest.mark.parametrize("name", plots.__all__)
@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"judge": ["a"], "estimate": [0.5]}),
        pd.DataFrame({"judge": ["a"], "term": ["target_sensitivity"]}),
        pd.DataFrame({"term": ["lean"], "estimate": [0.5], "note": ["x"]}),
        pd.DataFrame(),
        [1, 2],
        None,
    ],
    ids=["no term", "no estimate", "no judge", "empty", "list", "none"],
)
def test_every_picture_names_the_columns_that_it_needs(name, frame):
    with pytest.raises(JudgestatsError) as caught:
        getattr(plots, name)(frame)
    if name != "score_matrix":
        assert isinstance(caught.value, DesignError)
        assert re.search(r"picture needs|draws", str(caught.value))
        assert re.search(r"\b(term|terms|cost|mean_score|outcome)\b", str(caught.value), re.IGNORECASE)


def test_curves_and_operating_points_need_intervals_and_steps():
    rows = target_sensitivity(dark_current_design())
    with pytest.raises(DesignError, match="conf_low"):
        plots.psychometric_curves(rows.drop(columns="conf_low"))
    with pytest.raises(DesignError, match="delta"):
        plots.psychometric_curves(rows.drop(columns="delta"))
    calls = dark_current_design(["Qwen32B"], prompts=("base", "strict"))
    shift = criterion_shift(calls, "base", "strict")
    with pytest.raises(DesignError, match="conf_high"):
        plots.operating_point(shift.drop(columns="conf_high"))
    with pytest.raises(DesignError, match="prompt"):
        plots.operating_point(shift, target_sensitivity(calls))


def test_a_folder_is_refused_and_so_is_what_cannot_be_written(tmp_path):
    with pytest.raises(DesignError, match="is a folder; name a file"):
        report(plain_verdicts(["a"]), tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(DesignError, match="cannot be written") as caught:
        report(plain_verdicts(["a"]), tmp_path / "file" / "report.html", n_resamples=10)
    assert caught.value.__suppress_context__


# ---------------------------------------------------------------- repeats


@pytest.mark.slow
def test_repeats_without_a_number_are_said(tmp_path):
    calls = twice("note")
    page = Page(made(calls, tmp_path)).text
    assert "Some calls repeat others without a number in replicate." in page
    assert "No call is repeated" not in page.split("At a glance")[0]
    assert "no call is repeated" not in page.split(NOT_SHOWN)[0]
    assert "No call is repeated." in Page(made(plain_verdicts(["a"]), tmp_path)).text
    assert "Up to 2 repeats of a call." in Page(made(plain_verdicts(["a"], repeats=2), tmp_path)).text


@pytest.mark.slow
def test_repeats_that_only_by_tells_apart_are_said(tmp_path):
    page = Page(made(twice("note"), tmp_path, by="note")).text
    assert "Some calls repeat others, and only note tells them apart." in page
    assert "No call is repeated" not in page


def test_rows_that_stand_for_several_calls_are_no_single_calls(tmp_path):
    page = Page(made(plain_verdicts(["a"]).assign(n_identical=2), tmp_path)).text
    assert "Some rows stand for several identical calls." in page
    assert "No call is repeated." not in page


@pytest.mark.slow
def test_what_the_page_shows_is_not_listed_as_not_shown(tmp_path):
    calls = twice("note")
    told = Page(made(calls, tmp_path, by="note")).text
    assert "same verdict in both orders" in told.split(NOT_SHOWN)[1]
    rows = told.split(NOT_SHOWN)[-1].split("Limits")[0].split("\n")
    assert "consistency" not in rows
    assert "consistency, over repeats" in rows  # what is not shown is still there
    pooled = Page(made(calls, tmp_path)).text
    assert "consistency" in pooled.split(NOT_SHOWN)[-1].split("\n")


def test_a_measure_shown_without_a_number_is_listed(tmp_path):
    calls = plain_verdicts(["a"])
    one_order = calls[calls["first"] == "x"]
    assert consistency(one_order)["estimate"].isna().all()
    rows = Page(made(one_order, tmp_path)).text.split(NOT_SHOWN)[-1].split("\n")
    assert "consistency" in rows
    assert "slot_lean" not in rows


# ---------------------------------------------------------------- doubts in words


def test_the_legend_of_dependent_calls_takes_no_side(tmp_path):
    page = Page(made(plain_verdicts(["a"]), tmp_path, cluster=False)).text
    assert "likely too narrow" not in page
    assert "wide for a difference of positions when both orders" in NOT_INDEPENDENT.explanation
    assert NOT_INDEPENDENT.explanation in page.split(NOT_SHOWN)[-1]


def test_both_orders_make_the_plain_interval_of_a_lean_too_wide():
    """The direction that the legend states: a judge that goes by content alone has no lean in any pair."""
    rows = [
        {
            "judge": "a",
            "item": str(i),
            "first": f,
            "second": s,
            "choice": "first" if (f == "x") == (i % 2 == 0) else "second",
        }
        for i in range(40)
        for f, s in ("xy", "yx")
    ]
    plain, own = (
        slot_lean(preferences(pd.DataFrame(rows)), cluster=c).query("term == 'lean'").iloc[0] for c in (False, "auto")
    )
    assert plain["estimate"] == own["estimate"] == 0
    assert plain["conf_high"] - plain["conf_low"] > 0.3  # and yet every pair gives exactly 0
    assert 0 < own["conf_high"] - own["conf_low"] < 0.2


@pytest.mark.slow
def test_flags_of_the_score_matrix_and_of_mean_scores_are_on_the_page(tmp_path):
    data = scored(criteria=("style", "sense"))
    gone = (
        (data["judge"] == "g") & (data["system"] == "y") & (data["criterion"] == "style") & (data["item"] == "item 1")
    )
    page = made(data[~gone], tmp_path)
    caption = page.split("Score matrix. </b>")[-1].split("</figcaption>")[0]
    assert "Flagged “unequal criteria” (1 of 6 cells): " + UNEQUAL_CRITERIA.explanation in caption
    mean = datasheet(data[~gone]).query("term == 'mean_score'")
    assert mean["flag"].all()
    assert all(f in page for cell in mean["flag"] for f in cell.split("; "))
    assert "unequal criteria" not in made(data, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("ratings", [scored().iloc[3:], scored(criteria=("style", "final"))], ids=["uneven", "final"])
def test_the_mean_score_is_the_mean_of_its_row_and_the_page_says_so(ratings, tmp_path):
    assert "A judge's mean score is the mean of its row." in Page(made(ratings, tmp_path)).text
    matrix = consensus.score_matrix(ratings).groupby("judge")["estimate"].mean()
    means = datasheet(ratings).query("term == 'mean_score'").set_index("judge")["estimate"]
    np.testing.assert_allclose(means, matrix.loc[means.index])


# ---------------------------------------------------------------- how the data were read


@pytest.mark.slow
def test_how_the_data_were_read_is_on_the_page(tmp_path):
    table = tmp_path / "scores.csv"
    self_ratings(n_items=2).rename(columns={"judge": "rater"}).to_csv(table, index=False)
    mapping = {"judge": "rater", "system": "system", "item": "item", "score": "score", "replicate": "replicate"}
    source = {
        "format": "csv",
        "mapping": mapping,
        "labels": {"A": "first", "<i>": "second"},
        "files": pd.DataFrame({"name": ["scores.csv"], "rows": [54]}),
        "<b>asked</b>": ["<script>", 3],
    }
    page = made(read(table, columns=mapping), tmp_path, source=source)
    read_as = Page(page)
    assert not read_as.names() & {"script", "i"}
    assert "<b>asked" not in page
    lead, made_of = page.split('class="lead"')[1].split("</p>")[0], page.split('id="how-it-was-made"')[1]
    for told in ("csv", "judge = rater", "A = first", "&lt;i&gt; = second"):
        assert told in lead
        assert told in made_of
    assert "Read as csv; mapping: judge = rater" in lead
    assert "&lt;script&gt;, 3" in made_of
    assert "scores.csv" in read_as.text


def test_a_source_without_a_format_says_nothing_of_it(tmp_path):
    page = Page(made(plain_verdicts(["a"]), tmp_path, source={"rows": 80, "labels": None})).text
    assert "Read as" not in page
    assert "mapping" not in page
