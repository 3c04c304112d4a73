"""Lines over a condition show the rows of the result."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from judgestats import published
from judgestats.errors import DesignError
from judgestats.metrics import agreement
from judgestats.reporting import plots
from judgestats.reporting.plots.canvas import PALETTE
from judgestats.reporting.plots.conditions import SHADES
from refusals import refused
from registry import warmed
from reporting.drawing import drawn, legend, names


@pytest.fixture(scope="module")
def by_temperature():
    table = warmed().assign(tier=lambda t: np.where(t["system"].isin(["a", "d"]), "Base", "Thinking"))
    return agreement.correlation(table, level="cell", cell=["temperature", "tier"], pairs="each", n_resamples=20)


def series(ax, color):
    (line,) = (m for m in ax.lines if m.get_color() == color)
    return line


def test_agreement_by_temperature_has_a_panel_a_system_and_a_line_a_pair(by_temperature):
    """Figure 5 of the consensus_illusion paper."""
    axes = drawn(
        plots.lines(by_temperature, "temperature", term="r", panel="system", shade="tier", order="given", title="All")
    )
    systems = by_temperature.query("term == 'r'")["system"].drop_duplicates().tolist()
    assert [a.get_title(loc="left") for a in axes] == systems
    for ax, system in zip(axes, systems, strict=True):
        rows = by_temperature.query("term == 'r' and system == @system")
        for color, (_, part) in zip(PALETTE, rows.groupby(["judge", "other"]), strict=False):
            part = part.sort_values("temperature")
            line = series(ax, color)
            np.testing.assert_allclose(line.get_ydata(), part["estimate"])
            np.testing.assert_allclose(line.get_xdata(), part["temperature"], atol=0.02)
        assert to_hex(ax.get_facecolor()) == SHADES[systems_tier(system) == "Thinking"]
    assert legend(axes[-1])[:3] == ["a · b", "a · c", "b · c"]
    assert {"Base", "Thinking"} <= set(legend(axes[-1]))


def systems_tier(system):
    return "Base" if system in "ad" else "Thinking"


def test_the_variants_of_the_printed_ablation_are_lines():
    """Figure 3: Table 6 of the consensus_illusion paper, in the order of the table."""
    table = published.load("consensus_illusion/table6")
    rows = table[table["pair"] == "average"].rename(columns={"r": "estimate"})
    rows = rows[["model", "variant"]].assign(
        term="r", estimate=pd.to_numeric(rows["estimate"]), conf_low=np.nan, conf_high=np.nan
    )
    (ax,) = drawn(plots.lines(rows, "variant", order="given"))
    one, two = (series(ax, PALETTE[k]).get_ydata().tolist() for k in (0, 1))
    assert one == [0.224, 0.543, 0.606, 0.589]
    assert two == [0.254, 0.702, 0.649, 0.591]
    assert legend(ax) == ["DeepSeek-R1", "Qwen3-235B"]


def test_what_cannot_be_drawn_is_refused(by_temperature):
    mixed = by_temperature.assign(tier=by_temperature["temperature"].astype(str))
    both = pd.concat([by_temperature, by_temperature.assign(term="rho")])
    refused(
        DesignError,
        (lambda: plots.lines(by_temperature, "temprature"), "temprature"),
        (lambda: plots.lines(by_temperature.drop(columns="temperature").assign(x=1), "x", term="r"), "drawn on top"),
        (lambda: plots.lines(mixed, "temperature", term="r", panel="system", shade="tier"), "several values of 'tier'"),
        (lambda: plots.lines(both, "temperature"), "Name one in term="),
    )
    assert len(plots.lines(by_temperature.query("system == 'a'"), "temperature")) == 1


def test_many_lines_are_the_rows_of_a_matrix_in_the_order_of_their_ends():
    values = {f"j{k:02d}": [5 + 0.1 * k, 5 + 0.01 * ((7 * k) % 33)] for k in range(33)}
    rows = pd.DataFrame(
        [(j, t, "r", v, v - 0.1, v + 0.1) for j, two in values.items() for t, v in zip((0.0, 1.0), two, strict=True)],
        columns=["judge", "temperature", "term", "estimate", "conf_low", "conf_high"],
    )
    picture = drawn(plots.lines(rows))
    order = sorted(values, key=lambda j: -values[j][1])
    assert names(picture) == order
    assert [t.get_text() for t in picture[0].get_xticklabels()] == ["0", "1"]
    assert [t.get_text() for t in picture.texts[:66]] == [f"{v:.2f}" for j in order for v in values[j]]
    with pytest.raises(DesignError, match="9 lines are too many for each of 2 panels"):
        plots.lines(rows.head(18).assign(system=["a", "b"] * 9, temperature=0.0), panel="system")
