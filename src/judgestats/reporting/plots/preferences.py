"""Preferences of people and judges, their agreement, and verbosity bias (debiasing paper, Appendices G and F)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from judgestats.reporting import estimate_rows
from judgestats.reporting.plots import canvas, point_labels, short_names

#: Role -> label, colour and marker, in the order of the rows.
ROLES = {
    "people": ("people, pooled", canvas.INK, "D"),
    "person": ("a person", canvas.MUTED, "o"),
    "judge": ("judge", canvas.PALETTE[0], "o"),
}
#: Class of :func:`verbosity_bias` -> colour of its region.
CLASSES = {"verbose": "#fbe3d3", "quality-sensitive": "#d5eee4", "indifferent": "#e6e9ee"}


@canvas.picture("Two axes to draw on.", needs="rate")
def preference_gaps(
    gaps: pd.DataFrame, *, order: estimate_rows.Order = "value", ax: canvas.Panels = None, title: str | None = None
) -> canvas.Picture:
    """Draw how often people and judges prefer the target, and how far each judge is from people.

    Parameters
    ----------
    gaps : pandas.DataFrame
        A result of :func:`preference_gap`.

    Returns
    -------
    Picture
        Rates of people (pooled, and each) and of judges, with the pooled interval as a band; and the gaps of judges.

    See Also
    --------
    judgestats.preference_gap : the numbers. judges_and_people : agreement in place of preference.

    Examples
    --------
    >>> rows = pd.DataFrame({"role": ["people", "judge", "judge"], "judge": [None, "g", "g"],
    ...                      "term": ["rate", "rate", "gap"], "estimate": [0.5, 0.7, 0.2],
    ...                      "conf_low": [0.4, 0.6, 0.1], "conf_high": [0.6, 0.8, 0.3]})
    >>> [t.get_text() for t in preference_gaps(rows)[0].get_yticklabels()]
    ['people, pooled', 'g']
    """
    estimates = estimate_rows.chosen(
        gaps, ["rate", "gap"], "role", "judge", "conf_low", "conf_high", source="preference_gap"
    )
    estimates = estimates.assign(_row=_people_named(estimates))
    estimate_rows.one_row_each(estimates, ["_row", "role", "term"])
    rate, gap = estimates[estimates["term"] == "rate"], estimates[estimates["term"] == "gap"]
    rows = _people_first(estimates, order, "rate")
    left, right = canvas.panels(ax, ["rate", "gap"], [r for _, r in rows], wide=[3.4, 2.5])
    canvas.shares(left)
    canvas.limits(right, gap[["estimate", "conf_low", "conf_high"]], zero=True, even=True, bounds=(-1, 1))
    canvas.in_form(right, "points")
    for panel, table, value in ((left, rate, 0.5), (right, gap, 0.0)):
        canvas.neutral(panel, value)
        _roles(panel, table, rows, first=panel is left)
    there = [look for role, look in ROLES.items() if role in set(estimates["role"])]
    keys = [canvas.key(label, color, marker=marker) for label, color, marker in there]
    canvas.legend_above(left, keys, 3)
    canvas.named(left, "share of verdicts for the target")
    canvas.named(right, "gap: judge − people\n(difference of shares, points)")
    canvas.headed([left, right], title)
    return canvas.Picture([left, right], estimates)


def _roles(ax: Axes, table: pd.DataFrame, rows: list[tuple[str, str]], *, first: bool) -> None:
    """Estimates of people and judges, each in its row; the interval of all people is a band."""
    canvas.lanes(ax, [r for _, r in rows], first=first)
    for row in table.to_dict("records"):
        _, color, marker = ROLES[row["role"]]
        canvas.whisker(ax, row, rows.index((row["role"], row["_row"])), color, marker=marker)
    pooled = table[table["role"] == "people"]
    if len(pooled) == 1 and np.isfinite(pooled[["conf_low", "conf_high"]].to_numpy(float)).all():
        ax.axvspan(pooled["conf_low"].item(), pooled["conf_high"].item(), color=canvas.FAINT, zorder=0)


def _people_first(estimates: pd.DataFrame, order: estimate_rows.Order, *decisive: str) -> list[tuple[str, str]]:
    """Roles and labels of the rows: people, each person, then the judges."""
    first = estimates[estimates["term"].isin(decisive)]
    parts = [(r, estimates[estimates["role"] == r], first[first["role"] == r]) for r in ROLES]
    return [(role, label) for role, rows, of_role in parts for label in estimate_rows.ordered(rows, order, of_role)]


def _people_named(table: pd.DataFrame) -> list[str]:
    names = estimate_rows.names_of(table, "role")
    rest = estimate_rows.names_of(table, "role", "judge")
    pooled = ["people, pooled" if r == "all" else f"people, pooled · {r}" for r in rest]
    return [p if role == "people" else n for p, n, role in zip(pooled, names, table["role"], strict=True)]


@canvas.picture("Two axes to draw on.", needs="agreement")
def people_agreement(
    agreement: pd.DataFrame, *, order: estimate_rows.Order = "value", ax: canvas.Panels = None, title: str | None = None
) -> canvas.Picture:
    """Draw how far each judge agrees with people, beside the agreement of people with each other.

    Parameters
    ----------
    agreement : pandas.DataFrame
        A result of :func:`judge_against_people`.

    Returns
    -------
    Picture
        Kappa or concordance, and the share of equal answers: of people with each other (with its interval as a band)
        and of each judge. A dashed line is the best constant answer.

    See Also
    --------
    judgestats.judge_against_people : the numbers. judges_and_people : beside the agreement with other judges.

    Examples
    --------
    >>> rows = pd.DataFrame({"role": ["judge", "people"] * 2, "judge": ["g", None] * 2,
    ...                      "term": ["kappa"] * 2 + ["agreement"] * 2, "estimate": [0.4, 0.5, 0.7, 0.8],
    ...                      "conf_low": [0.3, 0.4, 0.6, 0.7], "conf_high": [0.5, 0.6, 0.8, 0.9]})
    >>> [t.get_text() for t in people_agreement(rows)[0].get_yticklabels()]
    ['people with each other', 'g']
    """
    wanted = ["kappa", "concordance", "agreement"]
    estimates = estimate_rows.chosen(
        agreement, wanted, "role", "judge", "conf_low", "conf_high", source="judge_against_people"
    )
    labels = [n.replace("pooled", "with each other") for n in _people_named(estimates)]
    labels = [n.replace("people, with", "people with") for n in labels]
    estimates = estimates.assign(_row=labels)
    estimate_rows.one_row_each(estimates, ["_row", "role", "term"])
    corrected = estimates[estimates["term"] != "agreement"]
    rows = _people_first(estimates, order, *wanted[: 2 if len(corrected) else 3])
    left, right = canvas.panels(ax, ["corrected", "equal"], [r for _, r in rows], wide=[2.9, 2.9])
    canvas.limits(left, corrected[["estimate", "conf_low", "conf_high"]], zero=True, bounds=(-1, 1))
    canvas.shares(right)
    for panel, table in ((left, corrected), (right, estimates[estimates["term"] == "agreement"])):
        _roles(panel, table, rows, first=panel is left)
    constant = agreement.loc[agreement["term"] == "constant_answer", "estimate"].dropna()
    canvas.neutral(left)
    if len(constant) == 1:
        canvas.neutral(right, float(constant.iloc[0]))
        canvas.below(right, "dashed: the best constant answer")
    canvas.named(
        left, "concordance (Lin, 1 = perfect)" if (corrected["term"] == "concordance").any() else "kappa (1 = perfect)"
    )
    canvas.named(right, "share of equal answers")
    canvas.headed([left, right], title)
    return canvas.Picture([left, right], estimates)


@canvas.picture()
def verbosity_bias(
    readings: pd.DataFrame,
    *,
    margin: float = 0.2,
    chance: float = 0.5,
    recognised: float = 0.75,
    ax: Axes | None = None,
    title: str | None = None,
) -> canvas.Picture:
    """Draw expansion bias against truncation accuracy, with the regions of the classes.

    Parameters
    ----------
    readings : pandas.DataFrame
        A result of :func:`verbosity_bias`.
    margin, chance, recognised : float
        As they were given to :func:`verbosity_bias`.

    Returns
    -------
    Picture
        The regions are those of ``point_reading``. Filled: the intervals decide the class too; hollow: undecided. More
        than 8 judges have numbers, with a key.

    Raises
    ------
    DesignError
        If no judge has both numbers.

    See Also
    --------
    judgestats.verbosity_bias : the numbers. bias_scores : other biases.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": "g", "term": ["expansion_bias", "truncation_accuracy"], "estimate": [0.5, 0.9],
    ...                      "conf_low": [0.3, 0.7], "conf_high": [0.7, 0.97], "reading": "verbose"})
    >>> [t.get_text() for t in verbosity_bias(rows).texts]
    ['verbose', 'quality-sensitive', 'indifferent', 'g']
    """
    wanted = ["expansion_bias", "truncation_accuracy"]
    estimates = estimate_rows.chosen(
        readings, wanted, "judge", "conf_low", "conf_high", "reading", source="verbosity_bias"
    )
    estimates = estimates.assign(_row=estimate_rows.names_of(estimates))
    estimate_rows.one_row_each(estimates, ["_row", "term"])
    bias, right = (estimates[estimates["term"] == t].set_index("_row") for t in wanted)
    both = bias["estimate"].notna() & right["estimate"].reindex(bias.index).notna()
    judges, absent = (
        list(bias.index[both]),
        [j for j in estimate_rows.distinct(estimates["_row"]) if not both.get(j, False)],
    )
    estimate_rows.chosen(estimates[estimates["_row"].isin(judges)], wanted, source="verbosity_bias")
    many = len(judges) > canvas.DIRECT
    ax = canvas.new_axes(ax, 6.0 + canvas.legend_width(short_names.shortened(judges) if many else [], 4.8), 4.8)
    ax.set(xlim=(-1.04, 1.04), ylim=(-0.03, 1.03), xticks=np.arange(-1, 1.1, 0.5), yticks=np.arange(0, 1.1, 0.25))
    canvas.in_form(ax, "points")
    canvas.in_form(ax, "share", "y")
    _regions(ax, margin, chance, recognised)
    ax.axvline(0, color=canvas.MUTED, linewidth=0.8, linestyle=(0, (4, 3)), zorder=1)
    crosses = []
    for i, judge in enumerate(judges):
        x, y, style = bias.loc[judge], right.loc[judge], canvas.style_of(0 if many else i)
        sides = (x["conf_low"], y["estimate"], x["conf_high"], y["estimate"])
        ups = (x["estimate"], y["conf_low"], x["estimate"], y["conf_high"])
        for x0, y0, x1, y1 in (sides, ups):
            ax.plot([x0, x1], [y0, y1], color=style["color"], linewidth=1.1, alpha=0.25 if many else 0.6, zorder=2)
        crosses += [c for c in (sides, ups) if np.isfinite(np.array(c, dtype=float)).all()]
        look = canvas.face(style["color"], x["reading"] != "undecided")
        ax.plot(x["estimate"], y["estimate"], marker=style["marker"], linestyle="none", zorder=4, **look)
    x, y = (list(t.loc[judges, "estimate"]) for t in (bias, right))
    canvas.named(
        ax,
        "expansion bias b, difference of shares in points (right: prefers the padded answer)",
        "truncation accuracy (share of cut answers rejected)",
        title,
    )
    undecided = (bias.loc[judges, "reading"] == "undecided").any()
    canvas.below(
        ax,
        "hollow: the intervals leave the class undecided" if undecided else "",
        f"not shown, one of the two is missing: {', '.join(short_names.shortened(absent))}" if absent else "",
    )
    point_labels.name_points(ax, x, y, judges, avoid=[] if many else crosses)
    return canvas.Picture(ax, estimates)


def _regions(ax: Axes, margin: float, chance: float, recognised: float) -> None:
    """Shade the classes of the point reading, and name them at a corner."""
    regions = (
        ("verbose", (margin, chance, 1.04 - margin, 1.03 - chance), (1.02, chance + 0.02, "right", "bottom")),
        ("quality-sensitive", (-1.04, recognised, 1.04 + margin, 1.03 - recognised), (-1.02, 1.01, "left", "top")),
        ("indifferent", (-margin, -0.03, 2 * margin, recognised + 0.03), (0.0, -0.01, "center", "bottom")),
    )
    for name, (x, y, wide, high), (across, up, ha, va) in regions:
        ax.add_patch(Rectangle((x, y), wide, high, facecolor=CLASSES[name], edgecolor="white", linewidth=1.0, zorder=0))
        canvas.small(ax, across, up, name, fontsize=canvas.SMALL + 0.5, ha=ha, va=va, style="italic")
