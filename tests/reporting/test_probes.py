"""Pictures of what a cue moves show what the measures say."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from judgestats import published
from judgestats.errors import DesignError
from judgestats.metrics import invariance
from judgestats.published.paper_tables import FAVOURED, outcomes
from judgestats.reporting import plots
from judgestats.reporting.plots.canvas import INK, PALETTE
from judgestats.reporting.plots.probes import AWAY, SHIFTS, TOWARDS
from refusals import refused
from registry import probes
from reporting.drawing import drawn, marks, names, texts


def ends(ax, color=INK):
    """Ends of the horizontal intervals of this colour."""
    lines = [m for m in ax.lines if m.get_marker() == "None" and m.get_color() == color and len(m.get_xdata()) == 2]
    return [tuple(map(float, m.get_xdata())) for m in lines]


def bars(ax, color):
    """(width, row) of the bars of this colour."""
    found = [p for p in ax.patches if to_hex(p.get_facecolor()) == color.lower()]
    return [(float(p.get_width()), round(p.get_y() + p.get_height() / 2)) for p in found]


@pytest.fixture(scope="module")
def anchored():
    return invariance.anchoring(probes(), favoured="a", n_resamples=50)


# ---------------------------------------------------------------- verdicts


def test_anchoring_draws_the_signed_shifts_with_their_intervals(anchored):
    axes = drawn(plots.anchoring(anchored, order="given", title="anchoring"))
    assert [a.get_xlabel() for a in axes[::2]] == [
        f"blind → {p}: change of the share\n(points)" for p in ("flip", "truth")
    ]
    assert names(axes[0]) == ["g · Baseline", "g · PBP", "h · Baseline", "h · PBP"]
    for ax, probe in zip(axes[::2], ("flip", "truth"), strict=True):
        here = anchored[anchored["probe"] == probe]
        for term, (_, color) in SHIFTS.items():
            wanted = here[here["term"] == term]
            np.testing.assert_allclose(bars(ax, color), list(zip(wanted["estimate"], range(4), strict=True)))
            assert set(zip(wanted["conf_low"], wanted["conf_high"], strict=True)) <= set(ends(ax))
        low, high = ax.get_xlim()
        assert low == -high


def test_anchoring_shows_the_tie_rate_from_blind_to_the_probe(anchored):
    axes = plots.anchoring(anchored, order="given")
    for ax, probe in zip(axes[1::2], ("flip", "truth"), strict=True):
        here = anchored[anchored["probe"] == probe]
        for term, filled in (("tie_blind", False), ("tie", True)):
            wanted = here.loc[here["term"] == term, "estimate"]
            assert [m[:2] for m in marks(ax) if m[2] is filled] == [(v, i) for i, v in enumerate(wanted)]


@pytest.mark.slow
def test_anchoring_takes_one_row_and_says_what_is_not_available(anchored):
    one = anchored.query("judge == 'g' and scheme == 'PBP' and probe == 'flip'")
    assert len(drawn(plots.anchoring(one))) == 2
    gone = anchored.copy()
    gone.loc[gone["judge"] == "h", ["estimate", "conf_low", "conf_high"]] = np.nan
    axes = drawn(plots.anchoring(gone))
    assert [texts(a).count("n/a") for a in axes] == [2, 2, 2, 2]
    assert len(bars(axes[0], SHIFTS["shift_tie"][1])) == 2
    refused(
        DesignError,
        (lambda: plots.anchoring(anchored[anchored["probe"] == "blind"]), "anchoring"),
        (lambda: plots.anchoring(anchored, ax=Figure().add_subplot()), "4 panels"),
    )


@pytest.mark.slow
def test_anchoring_draws_the_published_counts():
    parts = []
    for table, probe in (("table2", "blind"), ("table3", "truth"), ("table4", "flip")):
        counts = published.load(f"rationalization/{table}")
        parts.append(counts.melt(["judge", "scheme"], ["tie", "llm", "tradml"], "outcome", "n").assign(probe=probe))
    favoured = {"truth": "llm", "flip": "tradml"}
    axes = drawn(plots.anchoring(invariance.anchoring(pd.concat(parts), favoured=favoured, n_resamples=50)))
    rows = names(axes[0])
    assert len(rows) == len(published.load("rationalization/table2"))
    gemma = {row: width for width, row in bars(axes[2], SHIFTS["shift_favoured"][1])}
    assert gemma[rows.index("Gemma-2-9B · Baseline")] == pytest.approx(0.46)  # LLM: 540 of 1000 blind, 1000 under Truth
    assert (0.840, rows.index("Gemma-2-9B · SCoT"), False) in marks(axes[1])  # ties: 840 blind
    assert (0.210, rows.index("Gemma-2-9B · SCoT"), True) in marks(axes[1])  # 210 under Flip
    boxes = [t.get_window_extent() for t in axes[0].get_yticklabels()]
    assert not any(a.overlaps(b) for a, b in itertools.pairwise(boxes))


def test_revision_goes_right_towards_the_label_and_left_away_from_it():
    result = invariance.revision(probes(), before="flip", after="truth", favoured="a")
    ax = drawn(plots.revision(result, order="given", title="revision"))
    part = {t: result[result["term"] == t] for t in result["term"].unique()}
    assert bars(ax, TOWARDS) == [(v, i) for i, v in enumerate(part["towards"]["estimate"])]
    assert bars(ax, AWAY) == [(-v, i) for i, v in enumerate(part["away"]["estimate"])]
    assert [m[:2] for m in marks(ax, "D")] == [(v, i) for i, v in enumerate(part["net"]["estimate"])]
    assert ends(ax) == list(zip(part["net"]["conf_low"], part["net"]["conf_high"], strict=True))
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["towards the label", "away from it", "net"]


def test_revision_without_a_side_is_one_bar():
    result = invariance.revision(probes(), before="flip", after="truth")
    ax = drawn(plots.revision(result, order="given"))
    assert bars(ax, "#9aa5b1") == [(v, i) for i, v in enumerate(result["estimate"])]
    assert ends(ax) == list(zip(result["conf_low"], result["conf_high"], strict=True))
    assert ax.get_xlim()[0] > -0.1
    assert not marks(ax, "D")
    with pytest.raises(DesignError, match="revision"):
        plots.revision(result.assign(estimate=np.nan))


# ---------------------------------------------------------------- explanations


def test_rationale_shift_has_a_panel_a_probe_and_the_numbers_of_items():
    result = invariance.rationale_shift(probes(), n_resamples=50)
    axes = drawn(plots.rationale_shift(result, order="given"))
    assert [a.get_xlabel().partition(" of")[0] for a in axes] == ["blind → flip: drift", "blind → truth: drift"]
    for ax, probe in zip(axes, ("flip", "truth"), strict=True):
        here = result[result["probe"] == probe]
        assert [m[:2] for m in marks(ax)] == [(v, i) for i, v in enumerate(here["estimate"])]
        assert ends(ax, PALETTE[0]) == list(zip(here["conf_low"], here["conf_high"], strict=True))
        told = [f"{a:.0f} / {b:.0f}" for a, b in zip(here["n_same"], here["n_items"], strict=True)]
        assert texts(ax)[:4] == told
    assert texts(axes[0])[-1].startswith("embedder: tfidf")


def test_rationale_shift_tells_embedders_apart():
    def letters(texts):
        return np.array([[t.count(c) + 1.0 for c in "aeiost"] for t in texts])

    def lengths(texts):
        return np.array([[len(t), 20.0] for t in texts])

    both = {"letters": letters, "lengths": lengths}
    result = invariance.rationale_shift(probes(), embed=both, n_resamples=50)
    axes = drawn(plots.rationale_shift(result, title="drift"))
    assert [t.get_text() for t in axes[0].get_legend().get_texts()] == list(dict.fromkeys(result["embed"]))
    for name, shape in zip(dict.fromkeys(result["embed"]), ("o", "s"), strict=True):
        here = result[(result["probe"] == "flip") & (result["embed"] == name)]
        np.testing.assert_allclose([m[0] for m in marks(axes[0], shape)], here["estimate"])
    assert len([t for t in texts(axes[0]) if " / " in t and t[0].isdigit()]) == 4


# ---------------------------------------------------------------- judges under each scheme


def test_the_figures_of_the_paper_from_its_printed_counts():
    """Figures 2 and 4: a panel a measure or probe, a row a judge, a marker a scheme, at the values of Tables II to V."""
    result = invariance.anchoring(outcomes(), favoured=FAVOURED, n_resamples=20)
    blind = result[result["term"].isin(["equality_detection", "neutrality_deviation"])]
    lao = result[result["term"] == "lao"]
    for here, expected in ((blind, 2), (lao, 3)):
        axes = drawn(plots.schemes(here))
        assert len(axes) == expected
        assert [t.get_text() for t in axes[0].get_legend().get_texts()] == ["Baseline", "PBP", "SCoT"]
    left = drawn(plots.schemes(blind, title="Blind"))[0]
    table = blind[blind["term"] == "equality_detection"]
    judges = list(dict.fromkeys(table["judge"]))
    for shape, scheme in zip(("o", "s", "^"), ("Baseline", "PBP", "SCoT"), strict=True):
        values = table[table["scheme"] == scheme].set_index("judge").loc[judges, "estimate"]
        np.testing.assert_allclose([m[0] for m in marks(left, shape)], values)
    assert [a.get_xlabel().replace("\n", " ").rpartition(", ")[2] for a in drawn(plots.schemes(lao))] == [
        "flip", "placebo", "truth",
    ]  # fmt: skip


def test_revision_and_explanations_are_drawn_by_scheme():
    """Figures 3, 5, 6 and 7: the other measures of cues."""
    calls = probes()
    moved = invariance.revision(calls, before="flip", after="truth")
    axes = drawn(plots.schemes(moved[moved["term"] == "revision"]))
    assert len(axes) == 1
    shift = invariance.rationale_shift(calls, n_resamples=20)
    near = invariance.rationale_alignment(calls, favoured_text="fluent", opposed_text="short", n_resamples=20)
    both = pd.concat([shift, near[near["term"].isin(["alignment", "cue_aligned"])]])
    assert len(drawn(plots.schemes(both))) == 6  # three terms, two probes
    with pytest.raises(DesignError, match="rows with a value"):
        plots.schemes(both.assign(estimate=np.nan))
