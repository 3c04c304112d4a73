"""Strategies, the cost frontier and operating points show what the measures say."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

import judgestats as js
from judgestats import published
from judgestats.errors import DesignError
from judgestats.metrics import bias
from judgestats.metrics.datasheets import datasheet
from judgestats.metrics.psychometrics import criterion_shift, delta0, target_sensitivity
from judgestats.reporting import plots
from judgestats.reporting.plots.gains import DOMINATED
from reporting.designs import dark_current_design
from reporting.drawing import drawn, legend, marks, names, texts, whiskers

ENDS = ["estimate", "conf_low", "conf_high"]


# ---------------------------------------------------------------- strategies


@pytest.fixture
def published_gains():
    table = published.load("debiasing/table4")
    sides = [("correct", "wrong", "baseline_only"), ("wrong", "correct", "strategy_only")]
    parts = [table.assign(baseline=a, outcome=b, n=table[c]) for a, b, c in sides]
    return bias.compare_strategies(
        pd.concat(parts)[["judge", "strategy", "baseline", "outcome", "n"]], pairs=800, baseline="B0"
    )


def test_strategies_are_in_points_and_filled_where_they_survive(published_gains):
    ax = drawn(plots.strategies(published_gains, order="given"))
    found = marks(ax)
    np.testing.assert_allclose([f[0] for f in found], 100 * published_gains["estimate"])
    assert [f[1] for f in found] == list(range(len(published_gains)))
    assert [f[2] for f in found] == [bool(s) for s in published_gains["survives"]]
    assert 0 < sum(f[2] for f in found) < len(found)
    np.testing.assert_allclose(whiskers(ax), 100 * published_gains[["conf_low", "conf_high"]])
    assert "holm" in legend(ax)[0]


def test_strategies_have_the_discordant_pairs_beside_them(published_gains):
    ax = plots.strategies(published_gains, order="given")
    first = published_gains.iloc[0]
    assert names(ax)[0] == f"{first['judge']} · {first['strategy']}"
    assert texts(ax)[:2] == [f"{first['baseline_only']:.0f}", f"{first['strategy_only']:.0f}"]
    assert texts(ax)[-2:] == ["only\nB0\nright", "only\nstrategy\nright"]


def test_many_strategies_are_a_matrix_and_no_gain_is_lost(published_gains):
    judges = [published_gains.assign(judge=published_gains["judge"] + f"-{i}") for i in range(6)]
    many = pd.concat(judges, ignore_index=True)
    picture = drawn(plots.strategies(many))
    (width, height), rows = picture.figure.get_size_inches(), many["judge"].nunique()
    assert width < 8
    assert height < 12
    columns = [t.get_text() for t in picture[0].get_xticklabels()]
    cells = many.set_index(["judge", "strategy"])
    shown = {text.get_position(): text.get_text() for text in picture.texts[: rows * len(columns)]}
    frames = {(round(p.get_x()), round(p.get_y())) for p in picture.patches}
    for i, judge in enumerate(names(picture)):
        for k, strategy in enumerate(columns):
            (text,) = (t for (x, y), t in shown.items() if (int(x), int(y)) == (k, i))
            gain = cells["estimate"].get((judge, strategy))
            assert text == ("n/a" if gain is None else f"{100 * gain:+.0f}".replace("-", "−").replace("+0", "0"))
            assert ((k, i) in frames) == bool(cells["survives"].get((judge, strategy), False))


def test_strategies_that_were_not_run_are_named_below(published_gains):
    lost = published_gains.astype({"survives": object})
    lost.loc[0, [*ENDS, "survives"]] = np.nan
    ax = drawn(plots.strategies(lost))
    absent = f"{lost.loc[0, 'judge']} · {lost.loc[0, 'strategy']}"
    assert absent not in names(ax)
    assert any(t.startswith("no pair in common") and absent in " ".join(t.split()) for t in texts(ax))
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


def test_pareto_draws_the_intervals_of_the_results(costly):
    known = costly.assign(conf_low=costly["estimate"] - 0.1, conf_high=costly["estimate"] + 0.2)
    ax = drawn(plots.pareto(bias.pareto_front(known), cost="dollars", value="accuracy"))
    ends = {tuple(np.round(path.vertices[:, 1], 6)) for c in ax.collections for path in c.get_paths() if len(path) == 2}
    assert {(round(v - 0.1, 6), round(v + 0.2, 6)) for v in known["estimate"][:4]} <= ends
    assert ax.get_ylim()[1] > 0.75 + 0.2
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("dollars, log scale (lower is better)", "accuracy (higher is better)")


def test_pareto_refuses_nothing_and_takes_one(costly):
    with pytest.raises(DesignError, match="No configuration"):
        plots.pareto(bias.pareto_front(costly.tail(1)))
    assert texts(drawn(plots.pareto(bias.pareto_front(costly.head(1))))) == ["cheap"]


def test_operating_point_runs_from_the_base_to_the_strict_prompt():
    calls = dark_current_design(["Qwen32B"], prompts=("base", "strict"))
    shift, sensitivity = (
        criterion_shift(calls, "base", "strict"),
        target_sensitivity(calls, by="prompt"),
    )
    ax = drawn(plots.operating_point(shift, sensitivity))
    ends = np.array(
        [
            [line.get_xdata()[0], line.get_ydata()[0]]
            for line in ax.lines
            if line.get_marker() == "o" and len(line.get_xdata()) == 1
        ]
    )
    rate = {
        p: delta0(calls[calls["prompt"] == p]).query("term == 'raw_false_preference'")["estimate"].item()
        for p in ("base", "strict")
    }
    right = sensitivity.query("term == 'target_sensitivity' and delta == 1").set_index("prompt")["estimate"]
    np.testing.assert_allclose(ends, [[rate["base"], right["base"]], [rate["strict"], right["strict"]]])


@pytest.mark.slow
def test_operating_point_is_the_same_from_a_datasheet():
    calls = dark_current_design(["Qwen32B"], prompts=("base", "strict"))
    shift = criterion_shift(calls, "base", "strict")
    whole = datasheet(calls, n_resamples=100, baseline="base")
    rows = whole[whole["section"].str.startswith("criterion")]
    one, two = (plots.operating_point(s) for s in (shift, rows))
    assert [line.get_xydata().tolist() for line in one.lines] == [line.get_xydata().tolist() for line in two.lines]


def test_a_result_of_criterion_shift_is_drawn_as_it_is():
    """Its equal pairs have step 0, those of a datasheet none."""
    plan = js.design.dark_current("g", strict=True)
    judge = js.design.Judge(
        "g", sensitivity=2.0, tie_criterion=0.6, under={"prompt": {"pairwise_strict": {"tie_criterion": 2.0}}}
    )
    calls = js.design.collect(plan, js.design.simulate_replies(plan, judge).to_dict("records"))
    shift = js.criterion_shift(calls, "pairwise", "pairwise_strict")
    ax = plots.operating_point(shift)
    assert [label for label in legend(ax) if "Δ" in label] == ["step Δ = 1", "step Δ = 5"]
