"""Pictures of biases show what the measures say."""

import itertools

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text

from judgestats import published
from judgestats.errors import DesignError
from judgestats.metrics import bias
from judgestats.reporting import plots
from judgestats.reporting.plots.canvas import PALETTE, label_around
from judgestats.reporting.plots.gains import DOMINATED
from judgestats.reporting.plots.preferences import ROLES
from registry import fit_for, lengths, people
from registry import strategies as strategy_calls

ENDS = ["estimate", "conf_low", "conf_high"]


def drawn(axes):
    """The picture can be drawn in full."""
    (axes[0] if isinstance(axes, list) else axes).figure.savefig("/dev/null", format="png", dpi=40)
    return axes


def marks(ax, shape="o"):
    """(x, y, filled) of the single markers of this shape."""
    lines = [m for m in ax.lines if m.get_marker() == shape and len(m.get_xdata()) == 1]
    return [(float(m.get_xdata()[0]), float(m.get_ydata()[0]), m.get_markerfacecolor() != "white") for m in lines]


def whiskers(ax, color=PALETTE[0]):
    """Ends of the horizontal intervals of this colour."""
    lines = [m for m in ax.lines if m.get_marker() == "None" and m.get_color() == color and len(m.get_xdata()) == 2]
    return [tuple(map(float, m.get_xdata())) for m in lines if m.get_ydata()[0] == m.get_ydata()[1]]


def names(ax):
    return [t.get_text() for t in ax.get_yticklabels()]


def texts(ax):
    return [t.get_text() for t in ax.texts]


def legend(ax):
    return [t.get_text() for t in ax.get_legend().get_texts()]


# ---------------------------------------------------------------- changes of biases


@pytest.fixture
def changes():
    rows = [
        ("length", "S1", -0.30, -0.40, -0.20),
        ("length", "S2", 0.05, -0.05, 0.15),
        ("style", "S1", np.nan, np.nan, np.nan),
        ("style", "S2", 0.20, 0.10, 0.30),
    ]
    table = pd.DataFrame(rows, columns=["bias", "strategy", *ENDS]).assign(judge=None, term="mean_change")
    return table[["judge", "bias", "strategy", "term", *ENDS]]


def test_bias_map_has_a_row_a_bias_and_a_column_a_strategy(changes):
    ax = drawn(plots.bias_map(changes))
    assert names(ax) == ["length", "style"]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["S1", "S2"]
    mesh = ax.collections[0].get_array()
    np.testing.assert_allclose(mesh.filled(np.nan), [[-0.3, 0.05], [np.nan, 0.2]])
    assert texts(ax)[:4] == ["−0.30", "+0.05", "n/a", "+0.20"]


def test_bias_map_is_blue_where_the_bias_falls_and_marks_what_is_sure(changes):
    ax = plots.bias_map(changes)
    mesh = ax.collections[0]
    assert mesh.norm.vmin == -mesh.norm.vmax == -0.3
    falls, grows = mesh.cmap(mesh.norm(-0.2)), mesh.cmap(mesh.norm(0.2))
    assert falls[2] > falls[0]
    assert grows[0] > grows[2]
    framed = {(round(p.get_y()), round(p.get_x())) for p in ax.patches}
    assert framed == {(0, 0), (1, 1)}
    assert [t.get_fontweight() for t in ax.texts[:4]] == ["bold", "normal", "normal", "bold"]


def test_bias_map_of_one_judge_is_its_magnitude_change():
    result = bias.bias_change(strategy_calls())
    for judge, shown in ((None, "mean_change"), ("h", "magnitude_change")):
        ax = drawn(plots.bias_map(result, judge=judge))
        wanted = result[
            (result["term"] == shown) & (result["judge"].isna() if judge is None else result["judge"] == judge)
        ]
        np.testing.assert_allclose(ax.collections[0].get_array().ravel(), wanted["estimate"])
    with pytest.raises(DesignError, match="judge="):
        plots.bias_map(result, judge="nobody")


def test_bias_map_refuses_two_rows_of_one_cell(changes):
    with pytest.raises(DesignError, match="one group at a time"):
        plots.bias_map(pd.concat([changes, changes]))


# ---------------------------------------------------------------- scores


def test_bias_scores_have_a_panel_a_bias_around_zero():
    result = bias.bias_score(fit_for("bias_score")())
    axes = drawn(plots.bias_scores(result, title="b"))
    wanted = result[result["term"] == "bias"]
    assert [a.get_title("left") for a in axes] == list(dict.fromkeys(wanted["bias"]))
    for ax in axes:
        here = wanted[wanted["bias"] == ax.get_title("left")]
        assert [m[:2] for m in marks(ax)] == [(v, i) for i, v in enumerate(here["estimate"])]
        assert whiskers(ax) == list(zip(here["conf_low"], here["conf_high"], strict=True))
        low, high = ax.get_xlim()
        assert low == -high
        assert any(set(m.get_xdata()) == {0.0} for m in ax.lines)
    assert names(axes[0]) == ["g", "h"]


def test_bias_scores_over_topics_end_with_their_mean():
    calls = fit_for("bias_score")().query("bias == 'style'")
    calls = calls.assign(topic=np.where(np.arange(len(calls)) % 3, "art", "law"))
    result = bias.bias_score(calls, over="topic")
    axes = drawn(plots.bias_scores(result))
    assert [a.get_title("left") for a in axes] == ["style · art", "style · law", "style · mean"]
    mean = result[result["term"] == "mean"].set_index("judge")["estimate"]
    assert [m[0] for m in marks(axes[-1])] == list(mean[names(axes[0])])


def test_bias_scores_say_what_is_not_available_and_refuse_nothing():
    rows = pd.DataFrame({"judge": ["g", "h"], "term": "bias", "estimate": [0.1, np.nan], "conf_low": [0.0, np.nan]})
    ax = drawn(plots.bias_scores(rows.assign(conf_high=rows["conf_low"] + 0.2)))
    assert texts(ax) == ["n/a"]
    assert len(marks(ax)) == 1
    with pytest.raises(DesignError, match="bias_score"):
        plots.bias_scores(rows.iloc[1:].assign(conf_high=np.nan))
    with pytest.raises(DesignError, match="columns"):
        plots.bias_scores(rows)


# ---------------------------------------------------------------- strategies


@pytest.fixture
def published_gains():
    table = published.load("debiasing/table4")
    sides = [("correct", "wrong", "baseline_only"), ("wrong", "correct", "strategy_only")]
    parts = [table.assign(baseline=a, outcome=b, n=table[c]) for a, b, c in sides]
    return bias.compare_strategies(pd.concat(parts)[["judge", "strategy", "baseline", "outcome", "n"]], pairs=800)


def test_strategies_are_in_points_and_filled_where_they_survive(published_gains):
    ax = drawn(plots.strategies(published_gains))
    found = marks(ax)
    np.testing.assert_allclose([f[0] for f in found], 100 * published_gains["estimate"])
    assert [f[1] for f in found] == list(range(len(published_gains)))
    assert [f[2] for f in found] == [bool(s) for s in published_gains["survives"]]
    assert 0 < sum(f[2] for f in found) < len(found)
    np.testing.assert_allclose(whiskers(ax), 100 * published_gains[["conf_low", "conf_high"]])
    assert "holm" in legend(ax)[0]


def test_strategies_have_the_discordant_pairs_beside_them(published_gains):
    ax = plots.strategies(published_gains)
    first = published_gains.iloc[0]
    assert names(ax)[0] == f"{first['judge']} · {first['strategy']}"
    assert texts(ax)[:2] == [f"{first['baseline_only']:.0f}", f"{first['strategy_only']:.0f}"]
    assert texts(ax)[-2:] == ["b", "c"]


def test_strategies_without_an_estimate_say_so(published_gains):
    lost = published_gains.astype({"survives": object})
    lost.loc[0, [*ENDS, "survives"]] = np.nan
    ax = drawn(plots.strategies(lost))
    assert "n/a" in texts(ax)
    assert len(marks(ax)) == len(lost) - 1


# ---------------------------------------------------------------- the front


@pytest.fixture
def costly():
    return pd.DataFrame(
        {
            "judge": ["cheap", "middle", "worse", "dear", "unpriced"],
            "cost": [1.0, 5.0, 6.0, 100.0, np.nan],
            "estimate": [0.60, 0.70, 0.65, 0.75, 0.9],
        }
    )


def test_pareto_draws_the_front_as_steps_and_the_rest_grey(costly):
    ax = drawn(plots.pareto(bias.pareto_front(costly)))
    step = next(m for m in ax.lines if m.get_drawstyle() == "steps-post")
    np.testing.assert_allclose(step.get_xydata(), [[1, 0.6], [5, 0.7], [100, 0.75]])
    grey = next(c for c in ax.collections if to_hex(c.get_facecolor()[0]) == DOMINATED)
    np.testing.assert_allclose(grey.get_offsets(), [[6, 0.65]])
    assert {"cheap", "middle", "worse", "dear"} <= set(texts(ax))
    assert any("Without cost or value: unpriced" in t for t in texts(ax))


def test_pareto_is_logarithmic_only_where_costs_are_far_apart_and_none_is_zero(costly):
    assert plots.pareto(bias.pareto_front(costly)).get_xscale() == "log"
    free = costly.assign(cost=[0.0, 5.0, 6.0, 100.0, np.nan])
    near = costly.assign(cost=[4.0, 5.0, 6.0, 100.0, np.nan])
    assert plots.pareto(bias.pareto_front(free)).get_xscale() == "linear"
    assert plots.pareto(bias.pareto_front(near)).get_xscale() == "linear"


def test_pareto_has_a_front_for_each_group(costly):
    both = pd.concat([costly.assign(task="a"), costly.assign(task="b", cost=costly["cost"] * 2)])
    ax = drawn(plots.pareto(bias.pareto_front(both, by="task"), by="task"))
    assert sum(m.get_drawstyle() == "steps-post" for m in ax.lines) == 2
    assert legend(ax)[:2] == ["front: a", "front: b"]
    assert texts(ax).count("dear") == 2


def test_pareto_labels_the_front_alone_where_there_are_many():
    many = pd.DataFrame({"judge": [f"judge {i}" for i in range(30)], "cost": np.arange(1.0, 31.0)})
    many["estimate"] = np.where(many["cost"].isin([1, 9, 20]), 0.5 + many["cost"] / 100, 0.4)
    ax = drawn(plots.pareto(bias.pareto_front(many)))
    assert {t for t in texts(ax) if t.startswith("judge")} == {"judge 0", "judge 8", "judge 19"}


def test_pareto_refuses_nothing_and_takes_one(costly):
    with pytest.raises(DesignError, match="No configuration"):
        plots.pareto(bias.pareto_front(costly.tail(1)))
    assert texts(drawn(plots.pareto(bias.pareto_front(costly.head(1))))) == ["cheap"]


def test_labels_around_points_do_not_overlap():
    ax = Figure(figsize=(6, 4)).add_subplot()
    ax.set(xlim=(0, 1), ylim=(0, 1))
    x, y = np.random.default_rng(3).uniform(0.2, 0.8, (2, 12))
    left = label_around(ax, list(x), list(y), [f"a label {i}" for i in range(12)], every=False)
    drawn(ax)
    boxes = [Text.get_window_extent(t) for t in ax.texts]  # of the words alone, without the line to the point
    assert len(boxes) == 12 - len(left) >= 10
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])


# ---------------------------------------------------------------- people, and length


def test_preference_gaps_show_people_then_judges():
    result = bias.preference_gap(people(), humans=["ann", "bob"])
    left, right = drawn(plots.preference_gaps(result, title="people"))
    assert names(left) == ["people, pooled", "ann", "bob", "g", "h"]
    rate, gap = (result[result["term"] == t] for t in ("rate", "gap"))
    pooled = rate[rate["role"] == "people"].iloc[0]
    assert marks(left, "D") == [(pooled["estimate"], 0.0, True)]
    others = pd.concat([rate[rate["role"] == r] for r in ("person", "judge")])["estimate"]
    assert [m[:2] for m in marks(left)] == [(v, i) for i, v in enumerate(others, start=1)]
    assert [m[:2] for m in marks(right)] == [(v, i) for i, v in enumerate(gap["estimate"], start=3)]
    band = left.patches[0]
    assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx((pooled["conf_low"], pooled["conf_high"]))
    agreement = result.loc[result["term"] == "annotator_agreement", "estimate"].item()
    assert any(f"{agreement:.2f}" in t for t in texts(left))
    assert set(ROLES) == {"people", "person", "judge"}


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


def test_twelve_long_names_all_have_a_label_inside_the_figure():
    judges = [f"organisation/judge-{i}-with-quite-a-long-name-for-an-axis" for i in range(12)]
    rows = pd.DataFrame({"judge": judges, "term": "bias", "estimate": 0.1, "conf_low": 0.0, "conf_high": 0.2})
    ax = drawn(plots.bias_scores(rows))
    boxes = [t.get_window_extent() for t in ax.get_yticklabels()]
    assert len(set(names(ax))) == 12
    assert min(b.x0 for b in boxes) >= 0
    assert not any(a.overlaps(b) for a, b in itertools.pairwise(boxes))


def test_too_few_axes_are_refused():
    result = bias.preference_gap(people(), humans=["ann", "bob"])
    with pytest.raises(DesignError, match="2 panels"):
        plots.preference_gaps(result, ax=Figure().add_subplot())
    given = list(Figure().subplots(1, 2))
    assert plots.preference_gaps(result, ax=given) == given
