"""Agreement of judges: on systems, items and scores, by ICC, and against the quality of systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from judgestats.errors import DesignError
from judgestats.reporting.formatting import in_words, number, signed
from judgestats.reporting.plots import canvas
from judgestats.reporting.plots.matrices import SEQUENTIAL, heat
from judgestats.results import SCALE_MAXIMUM

# ---- Judge by judge: pairwise agreement, differences, use of the scale -----------------------------------------------

#: Bars.
BAR = "#8fb8d8"


def kappa_matrix(kappas: pd.DataFrame, *, ax: Any = None, title: str | None = None) -> Any:
    """Draw the agreement of each pair of judges.

    Parameters
    ----------
    kappas : pandas.DataFrame
        A result of :func:`kappa`, or of :func:`correlation` with ``pairs="each"``, with ``judge`` and ``other``.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on.
    title : str, optional
        Put above the axes.

    Returns
    -------
    matplotlib.axes.Axes
        Dark is high; the colours run from 0, or from the lowest value below it, to 1. A judge with itself, and a pair
        without a row, is empty.

    Raises
    ------
    DesignError
        If there are no pairs, or two rows of one.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": ["a", "a", "b"], "other": ["b", "c", "c"], "term": "kappa",
    ...                      "estimate": [0.4, 0.6, 0.2]})
    >>> sorted({t.get_text() for t in kappa_matrix(rows).texts[:-1]})
    ['0.20', '0.40', '0.60']
    """
    canvas.require(kappas, "judge", "other", "term", "estimate")
    found = canvas.distinct(kappas["term"].astype(str))
    here = canvas.chosen(kappas, found[:1], source="kappa")
    names = here.assign(judge=here["judge"].astype(str), other=here["other"].astype(str))
    canvas.one_row_each(names, ["judge", "other"])
    judges = sorted({*names["judge"], *names["other"]})
    at = {j: i for i, j in enumerate(judges)}
    values = np.full((len(judges),) * 2, np.nan)
    known = np.zeros(values.shape, dtype=bool)
    for one, two, value in zip(names["judge"], names["other"], names["estimate"], strict=True):
        for i, j in ((at[one], at[two]), (at[two], at[one])):
            values[i, j], known[i, j] = value, True
    wide = pd.DataFrame(values, index=judges, columns=judges)
    low = min(0.0, float(np.nanmin(values)))
    nowhere = pd.DataFrame(False, index=judges, columns=judges)
    ax = heat(wide, wide, SEQUENTIAL, Normalize(low, 1.0), nowhere, ax, title, number, None)
    for text in list(ax.texts):
        column, row = (int(p) for p in text.get_position())
        if not known[row, column]:
            text.remove()
    canvas.below(ax, f"{canvas.literal(in_words(found[0]))}, dark: high", -6)
    return ax


def disagreement(result: pd.DataFrame, *, ax: Any = None, title: str | None = None) -> Any:
    """Draw how far apart the judges are: wide spreads, pairwise differences, and who is highest.

    Parameters
    ----------
    result : pandas.DataFrame
        A result of :func:`disagreement`, of one group.
    ax : sequence of matplotlib.axes.Axes, optional
        Three axes to draw on.
    title : str, optional
        Put above the first panel.

    Returns
    -------
    list of matplotlib.axes.Axes
        Share of rated items whose spread is above each threshold; mean absolute difference of each pair; how often each
        judge is highest, ties shared out (bar) and alone (point with its interval).

    Raises
    ------
    DesignError
        If the terms are not there, or the result has several groups.

    Examples
    --------
    >>> rows = pd.DataFrame({"term": ["share_above", "mean_difference", "highest_alone", "highest_shared"],
    ...                      "estimate": [0.2, 0.9, 0.4, 0.5], "conf_low": [0.1, 0.8, 0.3, np.nan],
    ...                      "conf_high": [0.3, 1.0, 0.5, np.nan], "judge": [None, "a", "a", "a"],
    ...                      "other": [None, "b", None, None], "threshold": [2.0, np.nan, np.nan, np.nan]})
    >>> [axes.get_yticklabels()[0].get_text() for axes in disagreement(rows)]
    ['spread > 2', 'a – b', 'a']
    """
    columns = ("conf_low", "conf_high", "judge", "other", "threshold")
    wanted = ["share_above", "mean_difference", "highest_alone", "highest_shared"]
    here = canvas.chosen(result, wanted, *columns, source="disagreement")
    here = here.assign(_row=canvas.names_of(here))
    if here["_row"].nunique() > 1:
        raise DesignError(
            f"The result has {here['_row'].nunique()} groups ({', '.join(canvas.distinct(here['_row'])[:4])}, ...). "
            "Draw one at a time."
        )
    share = here[here["term"] == "share_above"].assign(_row=lambda t: [f"spread > {v:g}" for v in t["threshold"]])
    apart = here[here["term"] == "mean_difference"]
    # both judges of each pair, each as long as fits
    judges = sorted({*apart["judge"].astype(str), *apart["other"].astype(str)})
    short = {
        j: s.replace(r"\$", "$") for j, s in zip(judges, canvas.shortened(judges, (canvas.NAME - 3) // 2), strict=True)
    }
    apart = apart.assign(
        _row=[f"{short[str(a)]} – {short[str(b)]}" for a, b in zip(apart["judge"], apart["other"], strict=True)]
    )
    alone, shared = (here[here["term"] == t].assign(_row=lambda t: t["judge"].astype(str)) for t in wanted[2:])
    lines = [list(share["_row"]), list(apart["_row"]), canvas.distinct([*alone["_row"], *shared["_row"]])]
    one, two, three = _stacked(ax, lines)
    canvas.shares(one)
    canvas.limits(two, apart[["estimate", "conf_low", "conf_high"]], zero=True, bounds=(-np.inf, np.inf))
    two.set_xlim(left=0)
    canvas.shares(three)
    for panel, labels in zip((one, two, three), lines, strict=True):
        canvas.lanes(panel, labels)
    _bars(one, share, lines[0], BAR)
    for row in apart.to_dict("records"):
        canvas.whisker(two, row, lines[1].index(row["_row"]))
    _bars(three, shared, lines[2], BAR, ends=False)
    for row in alone.to_dict("records"):
        canvas.whisker(three, row, lines[2].index(row["_row"]), canvas.PALETTE[1])
    canvas.legend_above(three, [Patch(color=BAR, label="ties shared out"), canvas.key("alone", canvas.PALETTE[1])], 2)
    canvas.named(one, "share of rated items")
    canvas.named(two, "mean absolute difference")
    canvas.named(three, "share of rated items on which it is highest")
    canvas.headed([one, two, three], title)
    return [one, two, three]


def _stacked(ax: Any, lines: list[list[str]]) -> list[Any]:
    """Three panels under one another, as high as their rows need."""
    names = ["shares above", "pairs", "highest"]
    if ax is not None:
        return canvas.panels(ax, names, [], wide=[], sharey=False)
    high = [canvas.height_of(len(rows), 0.28) for rows in lines]
    width = 4.6 + canvas.label_width(canvas.shortened([r for rows in lines for r in rows], canvas.NAME))
    found = Figure(figsize=(width, sum(high)), layout="constrained").subplots(3, 1, height_ratios=high)
    return [canvas.new_axes(a, 0, 0) for a in found]


def _bars(ax: Any, table: pd.DataFrame, labels: list[str], color: str, *, ends: bool = True) -> None:
    """A bar a row, with its interval."""
    for row in table.to_dict("records"):
        at = labels.index(row["_row"])
        if not np.isfinite(row["estimate"]):
            canvas.point(ax, np.nan, at, canvas.MUTED)
            continue
        ax.barh(at, row["estimate"], height=0.58, color=color, zorder=2)
        if ends:
            canvas.interval(ax, at, row["conf_low"], row["conf_high"], canvas.INK, 1.1)


def score_distribution(result: pd.DataFrame, *, ax: Any = None, title: str | None = None) -> Any:
    """Draw how each judge uses the scale: mean with its interval, sd, and the share of scores at the top.

    Parameters
    ----------
    result : pandas.DataFrame
        A result of :func:`score_distribution`.
    ax : sequence of matplotlib.axes.Axes, optional
        Two axes to draw on.
    title : str, optional
        Put above the first panel.

    Returns
    -------
    list of matplotlib.axes.Axes
        Mean, with a thin line one sd to either side and a thick one for the interval; and the ceiling.

    Raises
    ------
    DesignError
        If there is no mean with a value.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": "g", "term": ["mean", "sd", "ceiling"], "estimate": [6.5, 1.4, 0.1],
    ...                      "conf_low": [6.0, 1.1, 0.05], "conf_high": [7.0, 1.6, 0.2]})
    >>> [axes.get_xlabel() for axes in score_distribution(rows)]
    ['mean score', 'share at the top']
    """
    here = canvas.chosen(
        result, ["mean", "sd", "ceiling"], "judge", "conf_low", "conf_high", source="score_distribution"
    )
    here = here.assign(_row=canvas.names_of(here, "tier" if "tier" in result and result["tier"].isna().any() else ""))
    mean = canvas.chosen(here, ["mean"], source="score_distribution").set_index("_row")
    canvas.one_row_each(here, ["_row", "term"])
    labels = list(mean.index)
    sd = here[here["term"] == "sd"].set_index("_row")["estimate"].reindex(labels).to_numpy(float)
    left, right = canvas.panels(ax, ["mean", "ceiling"], labels, wide=[3.4, 2.2])
    value = mean["estimate"].to_numpy(float)
    canvas.limits(left, value - sd, value + sd, mean[["conf_low", "conf_high"]], value, bounds=(-np.inf, np.inf))
    canvas.shares(right)
    for panel in (left, right):
        canvas.lanes(panel, labels, first=panel is left)
    for i, label in enumerate(labels):
        canvas.interval(left, i, value[i] - sd[i], value[i] + sd[i], canvas.MUTED, 1.0)
        if np.isfinite(value[i]):
            canvas.interval(left, i, mean.loc[label, "conf_low"], mean.loc[label, "conf_high"], canvas.PALETTE[0], 3.4)
        canvas.point(left, value[i], i, canvas.PALETTE[0])
    _bars(right, here[here["term"] == "ceiling"], labels, BAR)
    canvas.legend_above(
        left, [canvas.key("mean and its interval", canvas.PALETTE[0]), canvas.key("± sd", canvas.MUTED, marker="_")], 2
    )
    canvas.named(left, "mean score")
    canvas.named(right, "share at the top")
    if "flag" in here.columns and here["flag"].astype(str).str.contains(SCALE_MAXIMUM, regex=False).any():
        canvas.below(right, "top: the highest score seen")
    canvas.headed([left, right], title)
    return [left, right]


#: Quantiles of a box: ends of the thin line, of the box, and the mark.
QUANTILES = ("q05", "q25", "q50", "q75", "q95")


def score_quantiles(
    result: pd.DataFrame, *, order: Sequence[str] | None = None, ax: Any = None, title: str | None = None
) -> Any:
    """Draw the distribution of the scores that each judge gave each system: median, quartiles, and 5 to 95 percent.

    Parameters
    ----------
    result : pandas.DataFrame
        A result of :func:`score_distribution` with ``quantiles=(0.05, 0.25, 0.5, 0.75, 0.95)`` and ``by="system"``, or
        without `by`.
    order : sequence of str, optional
        Rows from the top (systems by tier, say); by default by the median over judges, highest first.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on.
    title : str, optional
        Put above the axes.

    Returns
    -------
    matplotlib.axes.Axes
        A row for each system, in it a box for each judge. These are scores, not intervals of an estimate.

    Raises
    ------
    DesignError
        If the quantiles are not there, or `order` lacks a row.

    Notes
    -----
    consensus_illusion paper, Figure 6.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": "g", "system": "s", "term": ["q05", "q25", "q50", "q75", "q95"],
    ...                      "estimate": [2.0, 4, 5, 6, 9]})
    >>> [t.get_text() for t in score_quantiles(rows).get_yticklabels()]
    ['s']
    """
    here = canvas.chosen(result, list(QUANTILES), "judge", source="score_distribution")
    absent = [q for q in QUANTILES if q not in set(here["term"])]
    if absent:
        raise DesignError(
            f"The picture needs the term {absent[0]}. Use score_distribution(quantiles=(0.05, 0.25, 0.5, 0.75, 0.95))."
        )
    here = here.assign(_row=canvas.names_of(here, "judge", "tier"), _judge=here["judge"].astype(str))
    canvas.one_row_each(here, ["_row", "_judge", "term"])
    wide = here.pivot(index=["_row", "_judge"], columns="term", values="estimate")
    middle = wide["q50"].groupby("_row").mean().sort_values(ascending=False, kind="stable")
    labels = list(middle.index) if order is None else [str(o) for o in order]
    lacking = [r for r in middle.index if r not in labels]
    if lacking:
        raise DesignError(f"order= lacks {', '.join(lacking)}. Name every row.")
    labels = [r for r in labels if r in middle.index]
    judges = canvas.distinct(here["_judge"])
    each = 0.16 * len(judges) + 0.12
    ax = canvas.new_axes(
        ax, 5.4 + canvas.label_width(canvas.shortened(labels, canvas.NAME)), canvas.height_of(len(labels), each)
    )
    canvas.limits(ax, wide.to_numpy(float), bounds=(-np.inf, np.inf))
    canvas.lanes(ax, labels)
    step = 0.8 / len(judges)
    for (label, judge), row in wide.iterrows():
        k = judges.index(judge)
        at, color = labels.index(label) + step * (k - (len(judges) - 1) / 2), canvas.style_of(k)["color"]
        ax.plot([row["q05"], row["q95"]], [at, at], color=color, linewidth=1.0, zorder=2)
        ax.barh(at, row["q75"] - row["q25"], left=row["q25"], height=0.7 * step, color=color, alpha=0.45, zorder=3)
        canvas.point(ax, row["q50"], at, color, marker="|")
    if len(judges) > 1:
        canvas.legend_above(ax, [Patch(color=canvas.style_of(k)["color"], label=j) for k, j in enumerate(judges)], 4)
    canvas.named(ax, "score: median, quartiles, 5 to 95 %", title=title, pad=24)
    return ax


# ---- Levels of agreement, ICC, and agreement against the quality of systems ------------------------------------------

#: Term -> label and colour, from the coarsest level to the finest.
LEVELS = {
    "rho_system": ("systems: Spearman ρ", canvas.PALETTE[0]),
    "r_sample": ("items: Pearson r", canvas.PALETTE[1]),
    "icc": ("scores: ICC(2,1)", canvas.PALETTE[2]),
}
GAPS = {"gap_system_sample": "ρ − r", "gap_sample_icc": "r − ICC"}
#: Points that a gap takes beside its row.
GAP_WIDTH = 112.0


def agreement_levels(levels: pd.DataFrame, *, ax: Any = None, title: str | None = None) -> Any:
    """Draw the three levels of agreement of each group under one another, with the gaps between them.

    Parameters
    ----------
    levels : pandas.DataFrame
        A result of :func:`agreement_levels`.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on.
    title : str, optional
        Put above the axes.

    Returns
    -------
    matplotlib.axes.Axes
        On the right the two gaps, with their intervals.

    Raises
    ------
    DesignError
        If there is no level with a value.

    Examples
    --------
    >>> rows = pd.DataFrame({"term": ["rho_system", "r_sample", "icc"], "estimate": [0.99, 0.72, 0.67],
    ...                      "conf_low": [0.9, 0.6, 0.5], "conf_high": [1.0, 0.8, 0.7]})
    >>> [t.get_text() for t in agreement_levels(rows).get_yticklabels()]
    ['all']
    """
    here = canvas.chosen(levels, list(LEVELS), "conf_low", "conf_high", source="agreement_levels")
    names = canvas.names_of(levels)
    here = here.assign(_row=names[here.index])
    canvas.one_row_each(here, ["_row", "term"])
    labels = canvas.distinct(here["_row"])
    ax = canvas.new_axes(
        ax, 7.7 + canvas.label_width(canvas.shortened(labels, canvas.NAME)), canvas.height_of(len(labels), 0.66)
    )
    canvas.limits(ax, here[["estimate", "conf_low", "conf_high"]], [1.0], zero=True, bounds=(-1, 1))
    canvas.lanes(ax, labels)
    for i, label in enumerate(labels):
        _three(ax, here[here["_row"] == label].set_index("term"), i)
        for j, term in enumerate(GAPS):
            found = levels[(names == label) & (levels["term"] == term)]
            if len(found):
                canvas.beside(ax, i, canvas.with_interval(found.iloc[0]), 8 + j * GAP_WIDTH)
    for j, head in enumerate(GAPS.values()):
        canvas.beside(ax, None, head, 8 + j * GAP_WIDTH)
    canvas.legend_above(ax, [canvas.key(*look) for look in LEVELS.values()], 3)
    canvas.named(ax, "agreement of the judges", title=title, pad=24)
    return ax


def _three(ax: Any, here: pd.DataFrame, row: int) -> None:
    """The levels of one group, joined where both are known."""
    last: tuple[float, float] | None = None
    for (term, (_, color)), shift in zip(LEVELS.items(), (-0.27, 0.0, 0.27), strict=True):
        if term not in here.index:
            continue
        found, height = here.loc[term], row + shift
        if last and np.isfinite([last[0], found["estimate"]]).all():
            ax.plot([last[0], found["estimate"]], [last[1], height], color=canvas.MUTED, linewidth=0.9, zorder=2)
        canvas.whisker(ax, found, height, color)
        last = (float(found["estimate"]), height)


def icc(
    result: pd.DataFrame, *, forms: str | Sequence[str] = "ICC(2,1)", ax: Any = None, title: str | None = None
) -> Any:
    """Draw intraclass correlations with their intervals, a row a group.

    Parameters
    ----------
    result : pandas.DataFrame
        A result of :func:`icc`.
    forms : str or sequence of str
        Which of the six forms.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on.
    title : str, optional
        Put above the axes.

    Returns
    -------
    matplotlib.axes.Axes
        Interval ends below -1 are cut off, with an arrow.

    Raises
    ------
    DesignError
        If a form is not there.

    Examples
    --------
    >>> rows = pd.DataFrame({"system": ["a", "b"], "term": "ICC(2,1)", "estimate": [0.4, 0.7],
    ...                      "conf_low": [0.1, 0.5], "conf_high": [0.6, 0.8]})
    >>> icc(rows).get_xlabel()
    'ICC(2,1)'
    """
    wanted = [forms] if isinstance(forms, str) else list(forms)
    here = canvas.chosen(result, wanted, "conf_low", "conf_high", source="icc")
    absent = [f for f in wanted if f not in set(here["term"])]
    if absent:
        have = ", ".join(canvas.distinct(result["term"].astype(str)))
        raise DesignError(f"forms has {', '.join(absent)}, which the result does not. It has: {have}.")
    here = here.assign(_row=canvas.names_of(here))
    canvas.one_row_each(here, ["_row", "term"])
    labels = canvas.distinct(here["_row"])
    each = 0.3 if len(wanted) == 1 else 0.17 * len(wanted) + 0.1
    ax = canvas.new_axes(
        ax, 4.6 + canvas.label_width(canvas.shortened(labels, canvas.NAME)), canvas.height_of(len(labels), each)
    )
    canvas.limits(
        ax, here["estimate"], np.clip(here[["conf_low", "conf_high"]], -1, 1), [1.0], zero=True, bounds=(-5, 1)
    )
    canvas.neutral(ax)
    canvas.lanes(ax, labels)
    shifts = np.linspace(-0.3, 0.3, len(wanted)) if len(wanted) > 1 else [0.0]
    for row in here.to_dict("records"):
        form = wanted.index(row["term"])
        canvas.whisker(ax, row, labels.index(row["_row"]) + shifts[form], **canvas.style_of(form))
    if len(wanted) > 1:
        keys = [
            canvas.key(f, canvas.style_of(i)["color"], marker=canvas.style_of(i)["marker"])
            for i, f in enumerate(wanted)
        ]
        canvas.legend_above(ax, keys, 4 if len(keys) == 4 else 3)
    canvas.named(
        ax,
        wanted[0] if len(wanted) == 1 else "intraclass correlation",
        title=title,
        pad=6 if len(wanted) == 1 else 38 if len(wanted) > 4 else 24,
    )
    return ax


def quality_agreement(
    table: pd.DataFrame,
    result: pd.DataFrame | None = None,
    *,
    score: str = "mean_score",
    agreement: str = "r",
    within: str = "tier",
    ax: Any = None,
    title: str | None = None,
) -> Any:
    """Draw the agreement of the judges on each system against its mean score.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per system, as :func:`quality_agreement` takes it, with its name in ``system`` or ``model``.
    result : pandas.DataFrame, optional
        A result of :func:`quality_agreement` of it: its ρ is written into the picture.
    score, agreement : str
        Columns of mean score and mean correlation.
    within : str
        Column that colours the systems, where it is there.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on.
    title : str, optional
        Put above the axes.

    Returns
    -------
    matplotlib.axes.Axes
        Names that do not fit are left out; a note says how many.

    Raises
    ------
    DesignError
        If a column is missing, or no system has both numbers.

    Examples
    --------
    >>> rows = pd.DataFrame({"system": ["a", "b"], "tier": "Base", "mean_score": [5.0, 7.0], "r": [0.8, 0.6]})
    >>> quality_agreement(rows).get_ylabel()
    'agreement of the judges (mean r)'
    """
    canvas.require(table, score, agreement)
    here = table[np.isfinite(table[[score, agreement]].astype(float)).all(axis=1)]
    if here.empty:
        raise DesignError(f"No system has both {score} and {agreement}. Give a table with one row per system.")
    tiers = canvas.distinct(here[within].astype(str)) if within in here.columns else []
    known = _rho(result, within)
    keys = [f"{t}{known.get(t, '')}" for t in tiers]
    ax = canvas.new_axes(ax, 6.4 + (0.4 + canvas.label_width(keys) if tiers else 0), 4.6)
    canvas.grid(ax)
    x, y = here[score].to_numpy(float), here[agreement].to_numpy(float)
    for setter, v in ((ax.set_xlim, x), (ax.set_ylim, y)):
        margin = 0.09 * float(np.ptp(v)) or 0.5
        setter(v.min() - margin, v.max() + margin)
    of = here[within].astype(str).map(tiers.index).to_numpy() if tiers else np.zeros(len(here), int)
    for i in range(max(1, len(tiers))):
        ax.scatter(x[of == i], y[of == i], s=44, zorder=3, edgecolors="white", linewidths=0.8, **canvas.style_of(i))
    if tiers:
        canvas.legend(
            ax,
            [
                canvas.key(t, canvas.style_of(i)["color"], marker=canvas.style_of(i)["marker"])
                for i, t in enumerate(keys)
            ],
            within,
        )
    left = _names(ax, here, x, y)
    overall = f"ρ{known['']}" if "" in known else ""
    if overall:
        ax.annotate(
            overall,
            (1, 1),
            (-4, 4),
            xycoords="axes fraction",
            textcoords="offset points",
            ha="right",
            va="bottom",
            fontsize=canvas.SMALL + 1,
            color=canvas.MUTED,
        )
    canvas.named(
        ax,
        canvas.literal(score.replace("_", " ")),
        f"agreement of the judges (mean {canvas.literal(agreement)})",
        title,
        pad=18 if overall else 6,
    )
    lost = len(table) - len(here)
    remarks = [f"Names that do not fit: {len(left)}."] if left else []
    remarks += [f"Systems without one of the two numbers: {lost}."] if lost else []
    if remarks:
        canvas.note(ax, " ".join(remarks))
    return ax


def _names(ax: Any, here: pd.DataFrame, x: Any, y: Any) -> list[str]:
    column = next((c for c in ("system", "model") if c in here.columns), None)
    if column is None:
        return []
    size = canvas.SMALL if len(here) <= 12 else canvas.SMALL - 1
    return canvas.label_around(ax, list(x), list(y), canvas.shortened(here[column], 26), size=size, every=False)


def _rho(result: pd.DataFrame | None, within: str) -> dict[str, str]:
    """Value of `within` -> its ρ as text; all systems under the empty name."""
    if result is None:
        return {}
    here = canvas.chosen(result, ["spearman"], "conf_low", "conf_high", source="quality_agreement")
    names = here[within].astype(object).where(here[within].notna(), "") if within in here.columns else [""] * len(here)
    texts = {}
    for name, row in zip(names, here.to_dict("records"), strict=True):
        if np.isfinite(row["estimate"]):
            p = f", p = {number(row['p_value'], 3)}" if np.isfinite(row.get("p_value", np.nan)) else ""
            texts[str(name)] = (
                f" = {signed(row['estimate'])} [{signed(row['conf_low'])}, {signed(row['conf_high'])}]{p}"
            )
        else:
            texts[str(name)] = " n/a"
    return {k: v if k == "" else f" (ρ{v.split(' [')[0]})" for k, v in texts.items()}
