"""Every picture: no judge is lost, axes have units, the data are there, and it looks as it did."""

import importlib.util
import inspect
import re
import sys
from pathlib import Path

import gallery
import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text

from judgestats.errors import DesignError
from judgestats.reporting import plots
from refusals import refused

#: Fast ones with more judges than are named directly; all, with as many as a shared task has.
SIZES = [
    pytest.param(entry, n, id=f"{entry.name}-{n}", marks=pytest.mark.slow if n > 9 or entry.slow else ())
    for entry in gallery.ENTRIES
    for n in (9, 33)
]
ENTRIES = [pytest.param(e, id=e.name, marks=pytest.mark.slow if e.slow else ()) for e in gallery.ENTRIES]
#: What drew the images in the folder baseline. Other versions space text otherwise.
PINNED = ("3.10.9", (3, 11))
BASELINE = Path(__file__).parent / "baseline"


def written(picture):
    """All texts of the figure."""
    return [t.get_text() for t in picture.figure.findobj(Text) if t.get_text() and t.get_visible()]


def is_number(text):
    return re.fullmatch(r"[−+]?[\d.,  ]+(e[−+]?\d+)?(\u202f%)?|\$.*\$", text) is not None


def test_the_gallery_has_every_picture():
    assert [e.name for e in gallery.ENTRIES] == sorted(plots.__all__)


@pytest.mark.parametrize("name", sorted(plots.__all__))
def test_every_picture_is_documented_and_takes_axes(name):
    function = getattr(plots, name)
    sections = re.findall(r"^    ([A-Z][\w ]+)\n    -+$", function.__doc__, re.M)
    assert {"Parameters", "Returns", "See Also", "Examples"} <= set(sections)
    assert "    Picture\n" in function.__doc__
    options = inspect.signature(function).parameters
    assert options["ax"].default is options["title"].default is None


@pytest.mark.parametrize(("entry", "n"), SIZES)
def test_no_judge_is_lost_and_every_axis_has_its_unit(entry, n):
    names = gallery.judges(n)
    picture = entry.draw(names)
    texts = written(picture)
    whole = [rf"(?<![\w.-]){re.escape(j)}(?![\w-])" for j in names]
    if entry.judges:
        lost = [j for j, word in zip(names, whole, strict=True) if not any(re.search(word, t) for t in texts)]
        assert lost == []
        cells = {str(v) for c in picture.data.columns for v in picture.data[c].unique()}
        assert all(any(re.search(word, v) for v in cells) for word in whole)
    assert len(picture.data)
    assert not [c for c in picture.data.columns if str(c).startswith("_") or c in ("who", "row", "facet")]
    for ax in picture.figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            ticks = [t.get_text() for t in axis.get_ticklabels() if t.get_visible() and t.get_text()]
            if any(map(is_number, ticks)) and not shared(ax, axis):
                assert axis.get_label_text(), f"{axis} of {ax} has numbers and no label"


#: Pictures of rows or panels of judges: the term that decides their order, and whether its lowest is first.
DECIDED_BY = {
    "agreement_levels": ("rho_system", False), "agreement_shift": ("shift", False), "anchoring": ("shift_favoured", False),
    "answers": ("first", False), "bias_scores": ("bias", False), "by_condition": ("accuracy", False),
    "calibration": ("deviation_before", False), "decomposition": ("stable_cross_sensitivity", False),
    "forest": ("consistency", False), "icc": ("ICC(2,1)", False), "people_agreement": ("kappa", False),
    "preference_gaps": ("rate", False), "rank_sets": ("rank", True), "rationale_shift": ("drift", False),
    "reliability": ("reliability", False), "revision": ("net", False), "risk_coverage": ("risk_curve", True),
    "schemes": ("lao", False), "score_distribution": ("mean", False), "variance_components": ("judge", False),
}  # fmt: skip
#: Those whose order is another one: by linkage, of points or curves, or of estimates that are no rows of the table; see their own tests.
OTHERWISE_ORDERED = {
    "bias_map", "confusion", "decision_study", "deviation_matrix", "disagreement", "fit_diagnostics", "judges_and_people",
    "kappa_matrix", "lines", "metrology_map", "operating_point", "pareto", "posterior_intervals", "precision_recall", "predictive",
    "psychometric_curves", "quality_agreement", "roc", "scaled_residuals", "score_matrix", "score_quantiles", "specifications",
    "stable_positional", "strategies", "verbosity_bias",
}  # fmt: skip


def test_every_picture_has_the_rule_of_order_or_a_reason():
    assert {*DECIDED_BY, *OTHERWISE_ORDERED} == set(plots.__all__)
    assert not DECIDED_BY.keys() & OTHERWISE_ORDERED


@pytest.mark.parametrize("name", DECIDED_BY)
def test_the_best_is_first_by_the_first_estimate_that_is_drawn(name):
    judges = gallery.judges(9)
    entry = next(e for e in gallery.ENTRIES if e.name == name)
    term, lowest = DECIDED_BY[name]
    table = entry.data(judges)[0][0]
    rows = table[table["term"] == term]
    for panel in ("bias", "probe", "set"):
        rows = rows[rows[panel] == rows[panel].iloc[0]] if panel in rows else rows
    who = next(c for c in ("judge", "pair", "system", "criterion") if c in rows)
    value = "share" if name == "variance_components" else "estimate"
    best = rows[rows[who].isin(judges)].groupby(who)[value].mean().sort_values(ascending=lowest)

    def shown(**options):
        picture = entry.draw(judges, **options)
        texts = [t.get_text() for t in picture[0].get_yticklabels()]
        return [j for t in [*texts, *(ax.get_title("left") for ax in picture)] for j in judges if t == j]

    assert shown() == list(best.index)
    assert shown(order="given") == judges


@pytest.mark.parametrize("entry", [e for e in ENTRIES if not e.values[0].slow])
def test_axes_print_shares_in_percent_and_differences_in_points(entry):
    picture = entry.draw(gallery.judges(3))
    picture.figure.draw_without_rendering()
    for ax in picture.figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            label = " ".join(axis.get_label_text().split())
            ticks = [t.get_text() for t in axis.get_ticklabels() if is_number(t.get_text())]
            if re.search(r"\bpoints\b", label) and "of the scale" not in label:
                assert all(re.fullmatch(r"0|[−+]?[\d.]+", t) for t in ticks), label
                assert max(abs(float(t.replace("−", "-"))) for t in ticks) > 1, label
            elif re.search(r"\b(share|recall|positive rate)\b", label):
                assert all(t.endswith("\u202f%") for t in ticks), label


def shared(ax, axis):
    """Whether the labels of an axis are at the panel on the left."""
    place = ax.get_subplotspec()
    return axis is ax.yaxis and place is not None and not place.is_first_col()


@pytest.mark.slow
@pytest.mark.parametrize("long", [False, True], ids=["short", "long"])
@pytest.mark.parametrize("entry", ENTRIES)
def test_a_legend_of_many_judges_leaves_room_for_the_axes(entry, long):
    picture = entry.draw(gallery.judges(33, long=long))
    picture.figure.draw_without_rendering()
    page = picture.figure.bbox
    for ax in picture.axes:
        box = ax.get_window_extent()
        assert min(box.width, box.height) / picture.figure.dpi > 0.8
        legend = ax.get_legend()
        if legend is not None:
            found = legend.get_window_extent()
            assert found.x0 >= page.x0 - 1
            assert found.x1 <= page.x1 + 1
            assert found.y0 >= page.y0 - 1
            assert found.y1 <= page.y1 + 1


@pytest.mark.parametrize("entry", [e for e in ENTRIES if not e.values[0].slow])
def test_a_picture_is_drawn_on_the_axes_given(entry):
    names = gallery.judges(2)
    panels = len(entry.draw(names))
    given = np.ravel(Figure(figsize=(12, 4)).subplots(1, panels)).tolist()
    picture = entry.draw(names, ax=given[0] if panels == 1 else given, title="a title of my own")
    assert picture.axes == given
    assert any("a title of my own" in t for t in written(picture))


def test_a_picture_shows_itself_and_is_saved(tmp_path):
    rows = pd.DataFrame({"judge": ["a", "b"], "term": "consistency", "estimate": [0.8, 0.6]})
    picture = plots.forest(rows)
    image, size = picture._repr_png_()
    assert image.startswith(b"\x89PNG")
    assert size["width"] == round(96 * picture.figure.get_size_inches()[0])
    picture.save(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
    pd.testing.assert_frame_equal(picture.data, rows)
    assert isinstance(picture[0], Axes)
    assert picture.get_xlim() == picture[0].get_xlim()
    assert repr(picture) == "<Picture of 2 rows, 1 panel>"


def test_a_picture_of_several_panels_is_a_sequence_of_axes():
    rows = pd.DataFrame({"judge": "a", "term": ["consistency", "accuracy"], "estimate": [0.8, 0.6]})
    picture = plots.forest(rows)
    assert [ax.get_title("left") for ax in picture] == ["same verdict in both orders", "accuracy"]
    assert len(picture) == 2
    with pytest.raises(AttributeError, match="2 panels"):
        picture.set_xlim(0, 1)


def test_a_remark_is_below_the_label_of_the_axis():
    names = gallery.judges(4, long=True)
    picture = next(e for e in gallery.ENTRIES if e.name == "rationale_shift").draw(names)
    picture.figure.draw_without_rendering()
    ax = picture[0]
    (remark,) = [t for t in ax.texts if t.get_label() == "note"]
    assert remark.get_window_extent().y1 <= ax.xaxis.label.get_window_extent().y0 + 1


@pytest.mark.parametrize("given", [pd.DataFrame({"judge": ["a"], "estimate": [0.5]}), [1, 2], None])
@pytest.mark.parametrize("name", ["fit_diagnostics", "scaled_residuals", "posterior_intervals"])
def test_pictures_of_models_say_what_they_need(name, given):
    refused(
        DesignError,
        (lambda: getattr(plots, name)(given), r"picture needs|There are no draws"),
        (lambda: plots.judges_and_people(given, given), "needs"),
    )


def test_judges_and_people_has_people_peers_and_their_median():
    (peers, people), _ = gallery._people(gallery.judges(5))
    picture = plots.judges_and_people(peers, people)
    first = people[people["set"] == people["set"].iloc[0]].sort_values("estimate", ascending=False)
    ax = picture[0]
    assert [t.get_text() for t in ax.get_yticklabels()] == list(first["judge"])
    diamonds = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "D"]
    assert sorted(diamonds) == sorted(first["estimate"])
    here = peers[peers["set"] == people["set"].iloc[0]]
    top = here.loc[(here[["judge", "other"]] == first["judge"].iloc[0]).any(axis=1), "estimate"]
    points = next(line for line in ax.lines if line.get_marker() == "o" and round(line.get_ydata()[0], 2) == 0.17)
    assert sorted(points.get_xdata()) == sorted(top)
    medians = [line.get_xdata()[0] for line in ax.lines if list(np.round(line.get_ydata(), 2)) == [0.02, 0.32]]
    assert medians == [np.median(top)]
    refused(
        DesignError,
        (people.assign(term="r"), "one measure"),
        (people.assign(judge=people["judge"] + "?"), "share no judge"),
        of=lambda wrong: plots.judges_and_people(peers, wrong),
    )


#: Images of all pictures, as small as shows what changes.
LOOKS = [
    pytest.param(
        e,
        id=e.name,
        marks=pytest.mark.mpl_image_compare(
            filename=f"{e.name}.png", baseline_dir="baseline", style="default", tolerance=4, savefig_kwargs={"dpi": 60}
        ),
    )
    for e in gallery.ENTRIES
]


@pytest.mark.slow
@pytest.mark.skipif(
    (mpl.__version__, sys.version_info[:2]) != PINNED or importlib.util.find_spec("pytest_mpl") is None,
    reason=f"pytest-mpl compares images that matplotlib {PINNED[0]} drew on Python {PINNED[1][0]}.{PINNED[1][1]}",
)
@pytest.mark.parametrize("entry", LOOKS)
def test_a_picture_looks_as_it_did(entry):
    return entry.draw(gallery.judges(7)).figure


def test_there_is_a_small_image_of_every_picture():
    files = list(BASELINE.glob("*.png"))
    assert {f.stem for f in files} == {e.name for e in gallery.ENTRIES}
    assert sum(f.stat().st_size for f in files) < 1.5e6
