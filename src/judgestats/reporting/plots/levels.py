"""Agreement of judges: on systems, items and scores, by ICC, and against the quality of systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from judgestats import flags
from judgestats.errors import DesignError, choose
from judgestats.reporting import estimate_rows
from judgestats.reporting.formatting import in_words, number, signed
from judgestats.reporting.plots import canvas
from judgestats.reporting.plots.matrices import SEQUENTIAL, heat, name_sides

# ---- Judge by judge: pairwise agreement, differences, use of the scale -----------------------------------------------

#: More pairs of judges than these are a matrix, not rows.
MOST_PAIRS = 15
#: Agreement with another judge.
PEER = "#9aa5b1"
#: Bars.
BAR = "#8fb8d8"


@canvas.picture()
def kappa_matrix(
    kappas: pd.DataFrame,
    *,
    judges: Sequence[str] = (),
    order: Literal["clustered", "given"] = "clustered",
    ax: Any = None,
    title: str | None = None,
) -> Any:
    """Draw the agreement of each pair of judges.

    Parameters
    ----------
    kappas : pandas.DataFrame
        A result of :func:`kappa`, or of :func:`correlation` with ``pairs="each"``, with ``judge`` and ``other``.
    judges : sequence of str
        Judges that should be there: one without a row in `kappas` is drawn empty.
    order : {'clustered', 'given'}
        Judges that agree stand together (average linkage of 1 - agreement, leaves in optimal order); or as they come.

    Returns
    -------
    Picture
        The colours run from 0, or from the lowest value below it, to 1. A judge with itself is empty, and so is a pair
        without a common item, which a remark counts.

    Raises
    ------
    DesignError
        If there are no pairs, two rows of one, or several terms.

    See Also
    --------
    judgestats.kappa, judgestats.correlation : the agreement. judges_and_people : beside the agreement with people.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": ["a", "a", "b"], "other": ["b", "c", "c"], "term": "kappa",
    ...                      "estimate": [0.4, 0.6, 0.2]})
    >>> sorted({t.get_text() for t in kappa_matrix(rows).texts})
    ['0.20', '0.40', '0.60']
    """
    estimate_rows.require(kappas, "judge", "other", "term", "estimate")
    choose(order, ("clustered", "given"), "order")
    found = estimate_rows.distinct(kappas["term"].astype(str))
    if len(found) > 1:
        raise DesignError(f"The table has several terms: {', '.join(found)}. Give the rows of one.")
    here = estimate_rows.chosen(kappas, found, source="kappa")
    wide, known = pair_matrix(here, judges)
    wide = _clustered(wide, 1.0 - wide) if order == "clustered" else wide
    known = known.reindex_like(wide)
    low = min(0.0, float(np.nanmin(wide.to_numpy())))
    bar = f"{canvas.literal(in_words(found[0]))} (1 = perfect)"
    ax = _pair_heat(wide, known, Normalize(low, 1.0), ax, title, bar=bar)
    lacking = int((~known.to_numpy()).sum() - len(known)) // 2
    if lacking:
        canvas.below(ax, f"empty: {lacking} of {len(known) * (len(known) - 1) // 2} pairs have no common item")
    return canvas.Picture(ax, here)


def _pair_heat(
    wide: pd.DataFrame, known: pd.DataFrame, scale: Normalize, ax: Any, title: str | None, *, bar: str, most: int = 15
) -> Any:
    """Heat map of pairs; what has no row is empty, not "n/a". `most`: judges up to which cells may have numbers."""
    nowhere = pd.DataFrame(False, index=wide.index, columns=wide.columns)
    ax = heat(wide, wide, SEQUENTIAL, scale, nowhere, ax, title, number, None, bar=bar, numbers=len(wide) <= most)
    for text in list(ax.texts):
        if text.get_text() == "n/a":
            column, row = (int(p) for p in text.get_position())
            if not known.iat[row, column]:
                text.remove()
    name_sides(ax, "judge", "judge")
    return ax


@canvas.picture("Axes to draw on, one a panel.")
def judges_and_people(
    peers: pd.DataFrame,
    people: pd.DataFrame,
    *,
    label: str = "people",
    order: Literal["value", "given"] = "value",
    ax: Any = None,
    title: str | None = None,
) -> Any:
    """Draw the agreement of each judge with people beside its agreement with each of the other judges.

    Judges that agree with each other and not with people make the same errors.

    Parameters
    ----------
    peers : pandas.DataFrame
        A row a pair of judges, with ``judge`` and ``other``: a result of :func:`kappa`, or of :func:`correlation` with
        ``pairs="each"``.
    people : pandas.DataFrame
        A row a judge, of the same measure: ``kappa(calls, reference="gold")``, say.
    label : str
        What the judges are compared with in `people`.
    order : {'value', 'given'}
        The judge closest to people on top (in the first panel), or as they come.

    Returns
    -------
    Picture
        A panel for each combination of the further grouping columns that both tables have (``set``). Diamonds:
        agreement with people, with its interval; grey points: with each peer; bars: the median of the peers.

    Raises
    ------
    DesignError
        If the tables are of different terms or share no judge, or two rows would be in the same place.

    See Also
    --------
    judgestats.kappa, judgestats.correlation : the agreement. kappa_matrix : which peers agree.

    Examples
    --------
    >>> peers = pd.DataFrame({"judge": ["a"], "other": ["b"], "term": "kappa", "estimate": [0.7]})
    >>> people = pd.DataFrame({"judge": ["a", "b"], "term": "kappa", "estimate": [0.2, 0.4], "conf_low": [0.1, 0.3],
    ...                        "conf_high": [0.3, 0.5]})
    >>> [t.get_text() for t in judges_and_people(peers, people).get_yticklabels()]
    ['b', 'a']
    """
    choose(order, ("value", "given"), "order")
    estimate_rows.require(peers, "judge", "other", "term", "estimate")
    estimate_rows.require(people, "judge", "term", "estimate", "conf_low", "conf_high")
    found = estimate_rows.distinct([*peers["term"].astype(str), *people["term"].astype(str)])
    if len(found) != 1:
        raise DesignError(f"Both tables are of one measure, and these have the terms {', '.join(found)}.")
    groups = [c for c in estimate_rows.groups_of(people, "judge", "other") if c in estimate_rows.groups_of(peers)]
    both = pd.concat([peers, peers.rename(columns={"judge": "other", "other": "judge"})], ignore_index=True)
    peer, own = (t.assign(_panel=estimate_rows.joined(t, groups), judge=t["judge"].astype(str)) for t in (both, people))
    estimate_rows.one_row_each(peer, ["_panel", "judge", "other"])
    estimate_rows.one_row_each(own, ["_panel", "judge"])
    own, shown = own[own["judge"].isin(peer["judge"]) | own["estimate"].notna()], estimate_rows.distinct(own["_panel"])
    if not set(own["judge"]) & set(peer["judge"]):
        raise DesignError("The two tables share no judge. Give results for the same judges.")
    rows = estimate_rows.distinct([*own["judge"], *peer["judge"]])
    if order == "value":
        value = own[own["_panel"] == shown[0]].set_index("judge")["estimate"].reindex(rows)
        rows = list(value.sort_values(ascending=False, kind="stable").index)
    axes = canvas.panels(ax, shown, rows, wide=[3.6 if len(shown) == 1 else 2.9] * len(shown), across=4)
    peer = peer[peer["_panel"].isin(shown)]
    for k, (panel, name) in enumerate(zip(axes, shown, strict=True)):
        seen = [peer["estimate"], own[["estimate", "conf_low", "conf_high"]]]
        canvas.limits(panel, *seen, zero=True, bounds=(-1, 1))
        canvas.neutral(panel)
        canvas.lanes(panel, rows, first=k % 4 == 0)
        for i, judge in enumerate(rows):
            near = peer.loc[(peer["_panel"] == name) & (peer["judge"] == judge), "estimate"].dropna().to_numpy(float)
            panel.plot(near, np.full(near.size, i + 0.17), "o", markersize=3.2, color=PEER, alpha=0.75, zorder=2)
            if near.size:
                panel.plot([np.median(near)] * 2, [i + 0.02, i + 0.32], color=canvas.INK, linewidth=1.6, zorder=3)
        for row in own[own["_panel"] == name].to_dict("records"):
            canvas.whisker(panel, row, rows.index(row["judge"]) - 0.17, canvas.PALETTE[1], marker="D")
        canvas.named(panel, f"{canvas.literal(in_words(found[0]))} (1 = perfect)", "judge" if k % 4 == 0 else "")
        if name != "all":
            panel.set_title(canvas.literal(name), fontsize=canvas.TEXT, color=canvas.INK, loc="left", pad=22)
    keys = [canvas.key(label, canvas.PALETTE[1], marker="D"), canvas.key("each other judge", PEER)]
    median = Line2D(
        [], [], linestyle="none", marker="|", markersize=8, markeredgewidth=1.6, color=canvas.INK, label="their median"
    )
    canvas.legend_above(axes[0], [*keys, median], 3)
    canvas.headed(axes, title)
    return canvas.Picture(axes, pd.concat([own.assign(**{"with": label}), peers.assign(**{"with": "judge"})]))


def pair_matrix(pairs: pd.DataFrame, judges: Sequence[str] = ()) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Estimates of pairs as a symmetric matrix, and which cells have a row with a common item.

    `pairs`: a row a pair. `judges`: names that have a row and a column even without a pair.
    """
    names = pairs.assign(judge=pairs["judge"].astype(str), other=pairs["other"].astype(str))
    estimate_rows.one_row_each(names, ["judge", "other"])
    every = estimate_rows.distinct([*names["judge"], *names["other"], *map(str, judges)])
    values = pd.DataFrame(np.nan, index=every, columns=every)
    known = pd.DataFrame(False, index=every, columns=every)
    common = names["n"] > 0 if "n" in names else [True] * len(names)
    for one, two, value, some in zip(names["judge"], names["other"], names["estimate"], common, strict=True):
        for i, j in ((one, two), (two, one)):
            values.loc[i, j], known.loc[i, j] = value, some
    return values, known


def _clustered(values: pd.DataFrame, distance: pd.DataFrame) -> pd.DataFrame:
    """Rows and columns with those at a small distance as neighbours; an unknown distance is the mean of the known."""
    if len(values) < 3:
        return values
    from scipy.cluster.hierarchy import leaves_list, linkage  # a tenth of a second that only a matrix should cost
    from scipy.spatial.distance import squareform

    apart = distance.to_numpy(float).copy()
    apart[~np.isfinite(apart)] = np.nanmean(apart[np.isfinite(apart)])
    apart = np.maximum(apart - min(0.0, float(apart.min())), 0.0)
    np.fill_diagonal(apart, 0.0)
    leaves = leaves_list(linkage(squareform(apart, checks=False), "average", optimal_ordering=True))
    result: pd.DataFrame = values.iloc[leaves, leaves]
    return result


@canvas.picture("Three axes to draw on.")
def disagreement(result: pd.DataFrame, *, ax: Any = None, title: str | None = None) -> Any:
    """Draw how far apart the judges are: wide spreads, pairwise differences, and who is highest.

    Parameters
    ----------
    result : pandas.DataFrame
        A result of :func:`disagreement`, of one group.

    Returns
    -------
    Picture
        Share of rated items whose spread is above each threshold, up to the first that no item exceeds; mean absolute
        difference of each pair, widest first, as a clustered matrix for more than 15 pairs; how often each judge is
        highest, ties shared out (bar) and alone (point with its interval).

    Raises
    ------
    DesignError
        If the terms are not there, or the result has several groups.

    See Also
    --------
    judgestats.disagreement : the numbers. kappa_matrix : agreement of each pair.

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
    here = estimate_rows.chosen(result, wanted, *columns, source="disagreement")
    here = here.assign(_row=estimate_rows.names_of(here))
    if here["_row"].nunique() > 1:
        raise DesignError(
            f"The result has {here['_row'].nunique()} groups ({', '.join(here['_row'].unique()[:4])}, ...). "
            "Draw one at a time."
        )
    share = here[here["term"] == "share_above"].sort_values("threshold", kind="stable")
    none = share.loc[share["estimate"] == 0, "threshold"]
    share = share[~share["threshold"].isin(none[1:])]  # above one threshold no item: above those beyond it neither
    share = share.assign(_row=[f"spread > {v:g}" for v in share["threshold"]])
    apart = here[here["term"] == "mean_difference"].sort_values("estimate", ascending=False, kind="stable")
    judges = estimate_rows.distinct([*apart["judge"].astype(str), *apart["other"].astype(str)])
    names = canvas.shortened(judges, 15)
    short = dict(zip(judges, (name.replace(r"\$", "$") for name in names), strict=True))
    ends = zip(apart["judge"].astype(str), apart["other"].astype(str), strict=True)
    apart = apart.assign(_row=[f"{short[a]} – {short[b]}" for a, b in ends])
    alone, shared = (here[here["term"] == t].assign(_row=lambda t: t["judge"].astype(str)) for t in wanted[2:])
    shared = shared.sort_values("estimate", ascending=False, kind="stable")
    pairs = list(apart["_row"]) if len(apart) <= MOST_PAIRS else []
    lines = [list(share["_row"]), pairs, estimate_rows.distinct([*shared["_row"], *alone["_row"]])]
    one, two, three = _stacked(ax, lines, 0 if pairs else len(short))
    canvas.shares(one)
    canvas.lanes(one, lines[0])
    _bars(one, share, lines[0], BAR)
    if pairs:
        canvas.limits(two, apart[["estimate", "conf_low", "conf_high"]], zero=True, bounds=(-np.inf, np.inf))
        two.set_xlim(left=0)
        canvas.lanes(two, pairs)
        for row in apart.to_dict("records"):
            canvas.whisker(two, row, pairs.index(row["_row"]))
        canvas.named(two, "mean absolute difference (points of the scale)", "pair of judges")
        canvas.below(two, names.key)
    else:
        wide, known = pair_matrix(apart)
        wide = _clustered(wide, wide)
        scale = Normalize(0, float(np.nanmax(wide.to_numpy())))
        bar = "mean absolute difference (points of the scale)"
        _pair_heat(wide, known.reindex_like(wide), scale, two, None, bar=bar, most=12)
    seen = pd.concat([shared["estimate"], alone["estimate"], alone["conf_high"]])
    canvas.limits(three, seen, zero=True, bounds=(0, 1))
    three.set_xlim(left=0)
    canvas.lanes(three, lines[2])
    _bars(three, shared, lines[2], BAR, ends=False)
    for row in alone.to_dict("records"):
        canvas.whisker(three, row, lines[2].index(row["_row"]), canvas.PALETTE[1])
    canvas.legend_above(three, [Patch(color=BAR, label="ties shared out"), canvas.key("alone", canvas.PALETTE[1])], 2)
    canvas.named(one, "share of rated items, spread: highest score minus lowest")
    canvas.named(three, "share of rated items on which it is highest", "judge")
    if len(none) > 1:
        canvas.below(one, f"no item has a spread above {none.iloc[0]:g}")
    canvas.headed([one, two, three], title)
    return canvas.Picture([one, two, three], pd.concat([share, apart, alone, shared]))


def _stacked(ax: Any, lines: list[list[str]], cells: int) -> list[Any]:
    """Three panels under one another, as high as their rows need; the second may be a matrix of `cells` rows."""
    names = ["shares above", "pairs", "highest"]
    if ax is not None:
        return canvas.panels(ax, names, [], wide=[], sharey=False)
    high = [canvas.height_of(len(rows), 0.28) for rows in lines]
    if cells:
        high[1] = 1.9 + (0.22 if cells > 12 else 0.32) * cells
    width = 4.6 + canvas.label_width(canvas.shortened([r for rows in lines for r in rows], canvas.NAME))
    found = Figure(figsize=(max(width, 2.9 + 0.22 * cells), sum(high)), layout="constrained")
    return [canvas.new_axes(a, 0, 0) for a in found.subplots(3, 1, height_ratios=high)]


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


@canvas.picture("Two axes to draw on.", needs="mean")
def score_distribution(result: pd.DataFrame, *, ax: Any = None, title: str | None = None) -> Any:
    """Draw how each judge uses the scale: mean with its interval, sd, and the share of scores at the top.

    Parameters
    ----------
    result : pandas.DataFrame
        A result of :func:`score_distribution`.

    Returns
    -------
    Picture
        Mean, with a thin line one sd to either side and a thick one for the interval; and the ceiling, on an axis from
        0 to the largest.

    See Also
    --------
    judgestats.score_distribution : the numbers. score_matrix : means by system.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": "g", "term": ["mean", "sd", "ceiling"], "estimate": [6.5, 1.4, 0.1],
    ...                      "conf_low": [6.0, 1.1, 0.05], "conf_high": [7.0, 1.6, 0.2]})
    >>> [axes.get_xlabel() for axes in score_distribution(rows)]
    ['mean score (points of the scale)', 'share of scores at the top']
    """
    here = estimate_rows.chosen(
        result, ["mean", "sd", "ceiling"], "judge", "conf_low", "conf_high", source="score_distribution"
    )
    here = here.assign(
        _row=estimate_rows.names_of(here, "tier" if "tier" in result and result["tier"].isna().any() else "")
    )
    mean = estimate_rows.chosen(here, ["mean"], source="score_distribution").set_index("_row")
    estimate_rows.one_row_each(here, ["_row", "term"])
    labels = list(mean.index)
    sd = here[here["term"] == "sd"].set_index("_row")["estimate"].reindex(labels).to_numpy(float)
    left, right = canvas.panels(ax, ["mean", "ceiling"], labels, wide=[3.4, 2.2])
    value = mean["estimate"].to_numpy(float)
    canvas.limits(left, value - sd, value + sd, mean[["conf_low", "conf_high"]], value, bounds=(-np.inf, np.inf))
    top = here[here["term"] == "ceiling"]
    canvas.limits(right, top[["estimate", "conf_high"]], zero=True, bounds=(0, 1))
    right.set_xlim(left=0)
    for panel in (left, right):
        canvas.lanes(panel, labels, first=panel is left)
    for i, label in enumerate(labels):
        canvas.interval(left, i, value[i] - sd[i], value[i] + sd[i], canvas.MUTED, 1.0)
        if np.isfinite(value[i]):
            canvas.interval(left, i, mean.loc[label, "conf_low"], mean.loc[label, "conf_high"], canvas.PALETTE[0], 3.4)
        canvas.point(left, value[i], i, canvas.PALETTE[0])
    _bars(right, top, labels, BAR)
    canvas.legend_above(
        left, [canvas.key("mean and its interval", canvas.PALETTE[0]), canvas.key("± sd", canvas.MUTED, marker="_")], 2
    )
    canvas.named(left, "mean score (points of the scale)")
    canvas.named(right, "share of scores at the top")
    if "flag" in here.columns and here["flag"].astype(str).str.contains(flags.SCALE_MAXIMUM, regex=False).any():
        canvas.below(right, "top: the highest score seen")
    canvas.headed([left, right], title)
    return canvas.Picture([left, right], here)


#: Quantiles of a box: ends of the thin line, of the box, and the mark.
QUANTILES = ("q05", "q25", "q50", "q75", "q95")


@canvas.picture()
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

    Returns
    -------
    Picture
        A row for each system, in it a box for each judge; for more than 8 judges, a row for each judge of each system.
        These are scores, not intervals of an estimate.

    Raises
    ------
    DesignError
        If the quantiles are not there, or `order` lacks a row.

    See Also
    --------
    judgestats.score_distribution : the quantiles. score_distribution : mean, sd and ceiling of each judge.

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
    here = estimate_rows.chosen(result, list(QUANTILES), "judge", source="score_distribution")
    absent = [q for q in QUANTILES if q not in set(here["term"])]
    if absent:
        raise DesignError(
            f"The picture needs the term {absent[0]}. Use score_distribution(quantiles=(0.05, 0.25, 0.5, 0.75, 0.95))."
        )
    here = here.assign(_row=estimate_rows.names_of(here, "judge", "tier"), _judge=here["judge"].astype(str))
    estimate_rows.one_row_each(here, ["_row", "_judge", "term"])
    wide = here.pivot(index=["_row", "_judge"], columns="term", values="estimate")
    middle = wide["q50"].groupby("_row").mean().sort_values(ascending=False, kind="stable")
    labels = list(middle.index) if order is None else [str(o) for o in order]
    lacking = [r for r in middle.index if r not in labels]
    if lacking:
        raise DesignError(f"order= lacks {', '.join(lacking)}. Name every row.")
    labels = [r for r in labels if r in middle.index]
    judges = estimate_rows.distinct(here["_judge"])
    if len(judges) > canvas.DIRECT:
        by_judge = wide["q50"].sort_values(ascending=False, kind="stable").index
        labels = [_of_judge(r, j) for one in labels for r, j in by_judge if r == one]
        wide.index = pd.MultiIndex.from_tuples([(_of_judge(r, j), "") for r, j in wide.index])
        judges = [""]
    each = 0.16 * len(judges) + 0.12
    ax = canvas.row_axes(ax, labels, 5.4, each)
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
        short = canvas.shortened(judges)
        canvas.legend_above(ax, [Patch(color=canvas.style_of(k)["color"], label=j) for k, j in enumerate(short)], 3)
        canvas.below(ax, short.key)
    canvas.named(ax, "score: median, quartiles, 5 to 95 %", title=title, pad=24 + 14 * ((len(judges) - 1) // 3))
    return canvas.Picture(ax, here)


def _of_judge(row: str, judge: str) -> str:
    return judge if row == "all" else f"{row} · {judge}"


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


@canvas.picture(needs="level")
def agreement_levels(levels: pd.DataFrame, *, ax: Any = None, title: str | None = None) -> Any:
    """Draw the three levels of agreement of each group under one another, with the gaps between them.

    Parameters
    ----------
    levels : pandas.DataFrame
        A result of :func:`agreement_levels`.

    Returns
    -------
    Picture
        On the right the two gaps, with their intervals.

    See Also
    --------
    judgestats.agreement_levels : the numbers. icc : all forms of the finest level.

    Examples
    --------
    >>> rows = pd.DataFrame({"term": ["rho_system", "r_sample", "icc"], "estimate": [0.99, 0.72, 0.67],
    ...                      "conf_low": [0.9, 0.6, 0.5], "conf_high": [1.0, 0.8, 0.7]})
    >>> [t.get_text() for t in agreement_levels(rows).get_yticklabels()]
    ['all']
    """
    here = estimate_rows.chosen(levels, list(LEVELS), "conf_low", "conf_high", source="agreement_levels")
    names = estimate_rows.names_of(levels)
    here = here.assign(_row=names[here.index])
    estimate_rows.one_row_each(here, ["_row", "term"])
    labels = estimate_rows.distinct(here["_row"])
    ax = canvas.row_axes(ax, labels, 7.7, 0.66)
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
    canvas.named(ax, "agreement of the judges (correlation, 1 = perfect)", title=title, pad=24)
    return canvas.Picture(ax, pd.concat([here, levels[levels["term"].isin(GAPS)]]))


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


@canvas.picture()
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

    Returns
    -------
    Picture
        Interval ends below -1 are cut off, with an arrow.

    Raises
    ------
    DesignError
        If a form is not there.

    See Also
    --------
    judgestats.icc : the numbers. agreement_levels : beside coarser levels.

    Examples
    --------
    >>> rows = pd.DataFrame({"system": ["a", "b"], "term": "ICC(2,1)", "estimate": [0.4, 0.7],
    ...                      "conf_low": [0.1, 0.5], "conf_high": [0.6, 0.8]})
    >>> icc(rows).get_xlabel()
    'ICC(2,1), intraclass correlation (1 = perfect)'
    """
    wanted = [forms] if isinstance(forms, str) else list(forms)
    here = estimate_rows.chosen(result, wanted, "conf_low", "conf_high", source="icc")
    absent = [f for f in wanted if f not in set(here["term"])]
    if absent:
        have = ", ".join(estimate_rows.distinct(result["term"].astype(str)))
        raise DesignError(f"forms has {', '.join(absent)}, which the result does not. It has: {have}.")
    here = here.assign(_row=estimate_rows.names_of(here))
    estimate_rows.one_row_each(here, ["_row", "term"])
    labels = estimate_rows.distinct(here["_row"])
    each = 0.3 if len(wanted) == 1 else 0.17 * len(wanted) + 0.1
    ax = canvas.row_axes(ax, labels, 4.6, each)
    canvas.limits(
        ax, here["estimate"], np.clip(here[["conf_low", "conf_high"]], -1, 1), [1.0], zero=True, bounds=(-5, 1)
    )
    canvas.neutral(ax)
    canvas.lanes(ax, labels)
    canvas.series(ax, here, labels, "term", wanted, reach=0.3)
    if len(wanted) > 1:
        canvas.legend_above(ax, canvas.series_keys(wanted), 4 if len(wanted) == 4 else 3)
    canvas.named(
        ax,
        f"{wanted[0]}, intraclass correlation (1 = perfect)"
        if len(wanted) == 1
        else "intraclass correlation (1 = perfect)",
        title=title,
        pad=6 if len(wanted) == 1 else 38 if len(wanted) > 4 else 24,
    )
    return canvas.Picture(ax, here)


@canvas.picture()
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

    Returns
    -------
    Picture
        More than 8 systems have numbers, with a key. A remark counts systems that lack a number.

    Raises
    ------
    DesignError
        If a column is missing, or no system has both numbers.

    See Also
    --------
    judgestats.quality_agreement : the correlation. icc : agreement by system.

    Examples
    --------
    >>> rows = pd.DataFrame({"system": ["a", "b"], "tier": "Base", "mean_score": [5.0, 7.0], "r": [0.8, 0.6]})
    >>> quality_agreement(rows).get_ylabel()
    'agreement of the judges (mean r)'
    """
    estimate_rows.require(table, score, agreement)
    here = table[np.isfinite(table[[score, agreement]].astype(float)).all(axis=1)]
    if here.empty:
        raise DesignError(f"No system has both {score} and {agreement}. Give a table with one row per system.")
    tiers = estimate_rows.distinct(here[within].astype(str)) if within in here.columns else []
    known = _rho(result, within)
    keys = [f"{t}{known.get(t, '')}" for t in tiers]
    column = next((c for c in ("system", "model") if c in here.columns), None)
    names = list(here[column].astype(str)) if column else []
    entries = [*keys, *(canvas.shortened(names) if len(names) > canvas.DIRECT else [])]
    ax = canvas.new_axes(ax, 6.2 + canvas.legend_width(entries, 4.6), 4.6)
    canvas.grid(ax)
    x, y = here[score].to_numpy(float), here[agreement].to_numpy(float)
    for setter, v in ((ax.set_xlim, x), (ax.set_ylim, y)):
        margin = 0.09 * float(np.ptp(v)) or 0.5
        setter(v.min() - margin, v.max() + margin)
    of = here[within].astype(str).map(tiers.index).to_numpy() if tiers else np.zeros(len(here), int)
    for i in range(max(1, len(tiers))):
        ax.scatter(x[of == i], y[of == i], s=44, zorder=3, edgecolors="white", linewidths=0.8, **canvas.style_of(i))
    keyed = canvas.series_keys(keys)
    if names:
        canvas.name_points(ax, list(x), list(y), names, more=keyed)
    elif keyed:
        canvas.legend(ax, keyed, within)
    overall = f"ρ{known['']}" if "" in known else ""
    if overall:
        place: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "ha": "right"}
        ax.annotate(overall, (1, 1), (-4, 4), va="bottom", fontsize=canvas.SMALL + 1, color=canvas.MUTED, **place)
    canvas.named(
        ax,
        f"{canvas.literal(score.replace('_', ' '))} of the system (points of the scale)",
        f"agreement of the judges (mean {canvas.literal(agreement)})",
        title,
        pad=18 if overall else 6,
    )
    lost = len(table) - len(here)
    if lost:
        canvas.below(ax, f"Systems without one of the two numbers: {lost}.")
    return canvas.Picture(ax, here)


def _rho(result: pd.DataFrame | None, within: str) -> dict[str, str]:
    """Value of `within` -> its ρ as text; all systems under the empty name."""
    if result is None:
        return {}
    here = estimate_rows.chosen(result, ["spearman"], "conf_low", "conf_high", source="quality_agreement")
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
