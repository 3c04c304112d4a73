"""Effects of a cue on verdicts, revised verdicts and explanations (rationalization paper)."""

from __future__ import annotations

from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from judgestats.errors import DesignError
from judgestats.reporting import estimate_rows
from judgestats.reporting.formatting import count, form_of, in_words, tick
from judgestats.reporting.plots import canvas, short_names

#: Term -> label and colour, from top to bottom.
SHIFTS = {
    "shift_favoured": ("favoured side", "#D55E00"),
    "shift_opposed": ("opposed side", "#0072B2"),
    "shift_tie": ("tie", "#9aa5b1"),
}
TOWARDS, AWAY = "#E79A6B", "#7FB2D9"


@canvas.picture("Axes to draw on, two a probe.", needs="shift")
def anchoring(
    result: pd.DataFrame, *, order: estimate_rows.Order = "value", ax: canvas.Panels = None, title: str | None = None
) -> canvas.Picture:
    """Draw how verdicts shift from blind to each probe, and the tie rates beside them.

    Parameters
    ----------
    result : pandas.DataFrame
        A result of :func:`anchoring`.

    Returns
    -------
    Picture
        For each probe the changes of the three shares, with their intervals, and the tie rate from blind (hollow) to
        the probe (filled). A judge that hardly moves because it answers tie shows at the right end.

    See Also
    --------
    judgestats.anchoring : the numbers. revision, rationale_shift : what else a cue moves.

    Examples
    --------
    >>> terms = ["shift_favoured", "shift_opposed", "shift_tie"]
    >>> rows = pd.DataFrame({"judge": "g", "probe": "flip", "term": terms,
    ...                      "estimate": [0.2, -0.1, -0.1], "conf_low": [0.1, -0.2, -0.2],
    ...                      "conf_high": [0.3, 0.0, 0.0]})
    >>> [round(float(bar.get_width()), 3) for bar in anchoring(rows)[0].patches]
    [0.2, -0.1, -0.1]
    """
    wanted = [*SHIFTS, "tie", "tie_blind"]
    estimate_rows.chosen(result, list(SHIFTS), "judge", "probe", "conf_low", "conf_high", source="anchoring")
    estimates = result[result["term"].isin(wanted)]
    estimates = estimates.assign(_row=estimate_rows.names_of(estimates, "probe"), probe=estimates["probe"].astype(str))
    estimate_rows.one_row_each(estimates, ["_row", "probe", "term"])
    moved = estimates[estimates["term"].isin(SHIFTS)]
    probes = estimate_rows.distinct(moved["probe"])
    labels = estimate_rows.ordered(estimates, order, moved[moved["probe"] == probes[0]])
    names = [f"{p}: {w}" for p in probes for w in ("shifts", "ties")]
    axes = canvas.panels(ax, names, labels, wide=[2.9, 1.5] * len(probes), each=0.5)
    for i, probe in enumerate(probes):
        left, right = axes[2 * i], axes[2 * i + 1]
        canvas.limits(left, moved[["estimate", "conf_low", "conf_high"]], zero=True, even=True, bounds=(-1, 1))
        canvas.shares(right)
        right.set_xticks([0, 0.5, 1])
        canvas.in_form(left, "points")
        canvas.neutral(left)
        table = estimates[estimates["probe"] == probe]
        for panel in (left, right):
            canvas.lanes(panel, labels, first=canvas.leftmost(panel, axes))
        for row, label in enumerate(labels):
            _shifts(left, table[table["_row"] == label].set_index("term"), row)
            _ties(right, table[table["_row"] == label].set_index("term"), row)
        canvas.named(left, f"blind → {short_names.literal(probe)}: change of the share\n(points)")
        canvas.named(right, "tie rate (share)")
    canvas.legend_above(axes[0], [Patch(color=color, label=label) for label, color in SHIFTS.values()], 3)
    canvas.legend_above(axes[1], [canvas.key("blind", canvas.INK, filled=False), canvas.key("probe", canvas.INK)], 2)
    canvas.headed(axes, title)
    return canvas.Picture(axes, estimates)


def _shifts(ax: Axes, estimates: pd.DataFrame, row: int) -> None:
    """Three bars of one group around zero."""
    if not estimates.reindex(list(SHIFTS))["estimate"].notna().any():
        canvas.point(ax, np.nan, row, canvas.MUTED)
        return
    for (term, (_, color)), shift in zip(SHIFTS.items(), (-0.25, 0.0, 0.25), strict=True):
        if term in estimates.index and np.isfinite(estimates.loc[term, "estimate"]):
            ax.barh(row + shift, estimates.loc[term, "estimate"], height=0.23, color=color, zorder=2)
            canvas.interval(
                ax, row + shift, estimates.loc[term, "conf_low"], estimates.loc[term, "conf_high"], canvas.INK, 1.0
            )


def _ties(ax: Axes, estimates: pd.DataFrame, row: int) -> None:
    """Tie rate from blind to the probe."""
    ends = [float(estimates.loc[t, "estimate"]) if t in estimates.index else np.nan for t in ("tie_blind", "tie")]
    if np.isfinite(ends).all():
        ax.plot(ends, [row, row], color=canvas.MUTED, linewidth=1.8, alpha=0.6, zorder=2)
    if not np.isfinite(ends).any():
        canvas.point(ax, np.nan, row, canvas.MUTED)
    for end, filled in zip(ends, (False, True), strict=True):
        if np.isfinite(end):
            canvas.point(ax, end, row, canvas.INK, filled=filled)


@canvas.picture(needs="share")
def revision(
    result: pd.DataFrame, *, order: estimate_rows.Order = "value", ax: Axes | None = None, title: str | None = None
) -> canvas.Picture:
    """Draw how many verdicts were revised towards the side that the shown label favours, and away from it.

    Parameters
    ----------
    result : pandas.DataFrame
        A result of :func:`revision`.

    Returns
    -------
    Picture
        Bars to the right (towards) and to the left (away), which add up to the share revised; the diamond is their
        difference with its interval. A group without a favoured side has one bar, its share revised.

    See Also
    --------
    judgestats.revision : the numbers. anchoring : first verdicts with a cue.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": "g", "term": ["revision", "towards", "away", "net"],
    ...                      "estimate": [0.5, 0.4, 0.1, 0.3], "conf_low": [0.4, 0.3, 0.05, 0.1],
    ...                      "conf_high": [0.6, 0.5, 0.2, 0.4]})
    >>> [float(bar.get_width()) for bar in revision(rows).patches]
    [0.4, -0.1]
    """
    estimates = estimate_rows.chosen(
        result, ["revision", "towards", "away", "net"], "judge", "conf_low", "conf_high", source="revision"
    )
    estimates = estimates.assign(_row=estimate_rows.names_of(estimates))
    estimate_rows.one_row_each(estimates, ["_row", "term"])
    net = estimates[estimates["term"] == "net"]
    labels = estimate_rows.ordered(estimates, order, net if net["estimate"].notna().any() else None)
    wide = estimates.set_index(["_row", "term"])
    ax = canvas.row_axes(ax, labels, 5.2)
    directed = estimates.loc[estimates["term"].isin(["towards", "away"]), "estimate"].notna().any()
    ax.set(xlim=(-1.03, 1.03) if directed else (-0.03, 1.03))
    ax.set_xticks(np.arange(-1 if directed else 0, 1.01, 0.5 if directed else 0.25))
    ax.xaxis.set_major_formatter(_share_either_way)
    canvas.lanes(ax, labels)
    ax.axvline(0, color=canvas.MUTED, linewidth=0.9, zorder=1)
    for i, label in enumerate(labels):
        _revised(ax, wide.loc[label], i)
    keys: list[Artist] = [Patch(color=TOWARDS, label="towards the label"), Patch(color=AWAY, label="away from it")]
    keys.append(canvas.key("net", canvas.INK, marker="D"))
    whole = [label for label in labels if not {"towards", "away"} & set(wide.loc[label].index)]
    keys = (keys if directed else []) + ([Patch(color="#9aa5b1", label="revised, no direction known")] if whole else [])
    canvas.legend_above(ax, keys, 4)
    canvas.named(
        ax, "← away     share of items     towards →" if directed else "share of items revised", title=title, pad=24
    )
    return canvas.Picture(ax, estimates)


def _share_either_way(value: float, _: float = 0) -> str:
    return tick(abs(value), "share")


def _revised(ax: Axes, estimates: pd.DataFrame, row: int) -> None:
    value = estimates["estimate"].astype(float)
    if not value.notna().any():
        canvas.point(ax, np.nan, row, canvas.MUTED)
    elif {"towards", "away"} & set(estimates.index):
        ax.barh(row, value.get("towards", 0.0), height=0.56, color=TOWARDS, zorder=2)
        ax.barh(row, -value.get("away", 0.0), height=0.56, color=AWAY, zorder=2)
        if np.isfinite(value.get("net", np.nan)):
            canvas.whisker(ax, estimates.loc["net"], row, canvas.INK, marker="D")
    else:
        ax.barh(row, value["revision"], height=0.56, color="#9aa5b1", zorder=2)
        canvas.interval(
            ax, row, estimates.loc["revision", "conf_low"], estimates.loc["revision", "conf_high"], canvas.INK, 1.1
        )


@canvas.picture("Axes to draw on, one a probe.", needs="drift")
def rationale_shift(
    result: pd.DataFrame, *, order: estimate_rows.Order = "value", ax: canvas.Panels = None, title: str | None = None
) -> canvas.Picture:
    """Draw how far explanations move where the verdict stays, a panel a probe.

    Parameters
    ----------
    result : pandas.DataFrame
        A result of :func:`rationale_shift`.

    Returns
    -------
    Picture
        A marker for each embedder. At the right of a row: items with the same verdict, of those with a verdict in both.

    See Also
    --------
    judgestats.rationale_shift : the numbers. anchoring : the verdicts themselves.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": "g", "probe": "flip", "term": "drift", "estimate": [0.2], "conf_low": [0.1],
    ...                      "conf_high": [0.3], "embed": "tfidf", "n_same": [13.0], "n_items": [38.0]})
    >>> [t.get_text() for t in rationale_shift(rows)[0].texts[:2]]
    ['13 / 38', 'same / all']
    """
    columns = ("judge", "probe", "conf_low", "conf_high", "embed", "n_same", "n_items")
    estimates = estimate_rows.chosen(result, ["drift"], *columns, source="rationale_shift")
    estimates = estimates.assign(
        _row=estimate_rows.names_of(estimates, "probe"),
        probe=estimates["probe"].astype(str),
        embed=estimates["embed"].astype(str),
    )
    estimate_rows.one_row_each(estimates, ["_row", "probe", "embed"])
    probes, embedders = (estimate_rows.distinct(estimates[c]) for c in ("probe", "embed"))
    labels = estimate_rows.ordered(estimates, order, estimates[estimates["probe"] == probes[0]])
    each = 0.34 if len(embedders) == 1 else 0.2 + 0.16 * len(embedders)
    axes = canvas.panels(ax, probes, labels, wide=[3.1] * len(probes), each=each)
    for panel, probe in zip(axes, probes, strict=True):
        canvas.limits(panel, estimates[["estimate", "conf_low", "conf_high"]], zero=True, bounds=(0, 2))
        panel.set_xlim(left=0)
        canvas.lanes(panel, labels, first=canvas.leftmost(panel, axes))
        table = estimates[estimates["probe"] == probe]
        canvas.series(panel, table, labels, "embed", embedders)
        for label, same in table.groupby("_row", sort=False):
            counts = estimate_rows.distinct(
                f"{count(a)} / {count(b)}" for a, b in zip(same["n_same"], same["n_items"], strict=True)
            )
            canvas.beside(panel, labels.index(str(label)), ", ".join(counts), color=canvas.MUTED)
        canvas.beside(panel, None, "same / all")
        canvas.named(panel, f"blind → {short_names.literal(probe)}: drift of the text\n(cosine distance, 0 = same)")
    if len(embedders) > 1:
        canvas.legend_above(axes[0], canvas.series_keys(embedders), 3)
    which = "" if len(embedders) > 1 else f"embedder: {embedders[0]}\n"
    canvas.below(axes[0], f"{which}same / all: items with the same verdict,\nof those with a verdict in both")
    canvas.headed(axes, title)
    return canvas.Picture(axes, estimates)


@canvas.picture("Axes to draw on, one a panel.")
def schemes(
    estimates: pd.DataFrame, *, order: estimate_rows.Order = "value", ax: canvas.Panels = None, title: str | None = None
) -> canvas.Picture:
    """Draw judges under each scheme: a panel a term and probe, a row a judge, a marker a scheme.

    Parameters
    ----------
    estimates : pandas.DataFrame
        Rows of :func:`anchoring`, :func:`revision`, :func:`rationale_shift` or :func:`rationale_alignment`, with a
        column ``scheme``; those to be drawn.

    Returns
    -------
    Picture
        The figures of the rationalization paper: ties and neutrality without labels (2), revision (3), LAO (4),
        drift and alignment (5), LAO, LDS, drift and alignment under an attack (6, 7).

    Raises
    ------
    DesignError
        If there is no scheme, or no row with a value.

    See Also
    --------
    judgestats.anchoring, judgestats.revision : the numbers. anchoring, revision : one scheme in more detail.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": "g", "scheme": ["Baseline", "PBP"], "probe": "flip", "term": "lao",
    ...                      "estimate": [0.9, 0.2], "conf_low": [0.8, 0.1], "conf_high": [1.0, 0.4]})
    >>> [ax.get_xlabel() for ax in schemes(rows)]
    ['LAO: share of movement towards\\nthe label, flip']
    """
    estimate_rows.require(estimates, "judge", "scheme", "term", "estimate", "conf_low", "conf_high")
    if not estimates["estimate"].notna().any():
        raise DesignError("The picture needs rows with a value. Give results of anchoring(), revision() or the like.")
    estimates_of_scheme = estimates.assign(scheme=estimates["scheme"].astype(str))
    probe = (
        estimates_of_scheme["probe"].astype(str)
        if "probe" in estimates_of_scheme
        else pd.Series("", index=estimates_of_scheme.index)
    )
    several = estimates_of_scheme.assign(_probe=probe).groupby("term", sort=False)["_probe"].transform("nunique") > 1
    labelled = (probe != "") & (
        several | estimates_of_scheme["term"].isin(["lao", "lds", "drift", "alignment", "cue_aligned"])
    )
    estimates_of_scheme["_panel"] = estimates_of_scheme["term"].map(in_words) + (", " + probe).where(labelled, "")
    estimates_of_scheme["_row"] = estimate_rows.names_of(estimates_of_scheme, "scheme", "probe")
    estimate_rows.one_row_each(estimates_of_scheme, ["_row", "_panel", "scheme"])
    names, shown_schemes = (estimate_rows.distinct(estimates_of_scheme[c]) for c in ("_panel", "scheme"))
    first = estimates_of_scheme[estimates_of_scheme["_panel"] == names[0]]
    labels = estimate_rows.ordered(estimates_of_scheme, order, first)
    axes = canvas.panels(ax, names, labels, wide=[2.9] * len(names), each=0.2 + 0.16 * len(shown_schemes))
    for panel, name in zip(axes, names, strict=True):
        table = estimates_of_scheme[estimates_of_scheme["_panel"] == name]
        canvas.limits(panel, table[["estimate", "conf_low", "conf_high"]], zero=True, bounds=(-2, 2))
        canvas.lanes(panel, labels, first=canvas.leftmost(panel, axes))
        canvas.series(panel, table, labels, "scheme", shown_schemes)
        if (form := form_of(table.iloc[0].to_dict())) != "score":
            canvas.in_form(panel, form)
        canvas.named(panel, fill(short_names.literal(name), 32))
    canvas.legend_above(axes[0], canvas.series_keys(shown_schemes), 3)
    canvas.headed(axes, title)
    return canvas.Picture(axes, estimates_of_scheme)
