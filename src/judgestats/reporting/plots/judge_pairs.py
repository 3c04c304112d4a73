"""Pictures of judges two by two: agreement, and where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from judgestats.errors import DesignError
from judgestats.reporting import estimate_rows
from judgestats.reporting.formatting import in_words
from judgestats.reporting.plots import canvas, short_names
from judgestats.reporting.plots.matrices import SEQUENTIAL, Shading, heat, name_sides

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
    ax: Axes | None = None,
    title: str | None = None,
) -> canvas.Picture:
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
    terms = estimate_rows.distinct(kappas["term"].astype(str))
    if len(terms) > 1:
        raise DesignError(f"The table has several terms: {', '.join(terms)}. Give the rows of one.")
    estimates = estimate_rows.chosen(kappas, terms, source="kappa")
    wide, compared = pair_matrix(estimates, judges)
    wide = _clustered(wide, 1.0 - wide) if order == "clustered" else wide
    compared = compared.reindex_like(wide)
    low = min(0.0, float(np.nanmin(wide.to_numpy())))
    bar = f"{short_names.literal(in_words(terms[0]))} (1 = perfect)"
    ax = _pair_heat(wide, compared, Normalize(low, 1.0), ax, title, bar=bar)
    lacking = int((~compared.to_numpy()).sum() - len(compared)) // 2
    if lacking:
        canvas.below(ax, f"empty: {lacking} of {len(compared) * (len(compared) - 1) // 2} pairs have no common item")
    return canvas.Picture(ax, estimates)


def _pair_heat(
    wide: pd.DataFrame,
    compared: pd.DataFrame,
    scale: Normalize,
    ax: Axes | None,
    title: str | None,
    *,
    bar: str,
    most: int = 15,
) -> Axes:
    """Heat map of pairs; what has no row is empty, not "n/a". `most`: judges up to which cells may have numbers."""
    nowhere = pd.DataFrame(False, index=wide.index, columns=wide.columns)
    shading = Shading(SEQUENTIAL, scale, bar, numbers=len(wide) <= most)
    ax = heat(wide, wide, shading, nowhere, ax, title)
    for text in list(ax.texts):
        if text.get_text() == "n/a":
            column, row = (int(p) for p in text.get_position())
            if not compared.iat[row, column]:
                text.remove()
    name_sides(ax, "judge", "judge")
    return ax


@canvas.picture("Axes to draw on, one a panel.")
def judges_and_people(
    peers: pd.DataFrame,
    people: pd.DataFrame,
    *,
    label: str = "people",
    order: estimate_rows.Order = "value",
    ax: canvas.Panels = None,
    title: str | None = None,
) -> canvas.Picture:
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
    estimate_rows.require(peers, "judge", "other", "term", "estimate")
    estimate_rows.require(people, "judge", "term", "estimate", "conf_low", "conf_high")
    terms = estimate_rows.distinct([*peers["term"].astype(str), *people["term"].astype(str)])
    if len(terms) != 1:
        raise DesignError(f"Both tables are of one measure, and these have the terms {', '.join(terms)}.")
    groups = [c for c in estimate_rows.groups_of(people, "judge", "other") if c in estimate_rows.groups_of(peers)]
    both = pd.concat([peers, peers.rename(columns={"judge": "other", "other": "judge"})], ignore_index=True)
    peer, own = (t.assign(_panel=estimate_rows.joined(t, groups), judge=t["judge"].astype(str)) for t in (both, people))
    estimate_rows.one_row_each(peer, ["_panel", "judge", "other"])
    estimate_rows.one_row_each(own, ["_panel", "judge"])
    own, panels = own[own["judge"].isin(peer["judge"]) | own["estimate"].notna()], estimate_rows.distinct(own["_panel"])
    if not set(own["judge"]) & set(peer["judge"]):
        raise DesignError("The two tables share no judge. Give results for the same judges.")
    judges = pd.concat([own, peer])
    rows = estimate_rows.ordered(judges, order, own[own["_panel"] == panels[0]], column="judge")
    axes = canvas.panels(ax, panels, rows, wide=[3.6 if len(panels) == 1 else 2.9] * len(panels))
    peer = peer[peer["_panel"].isin(panels)]
    for panel, name in zip(axes, panels, strict=True):
        left = canvas.leftmost(panel, axes)
        seen = [peer["estimate"], own[["estimate", "conf_low", "conf_high"]]]
        canvas.limits(panel, *seen, zero=True, bounds=(-1, 1))
        canvas.neutral(panel)
        canvas.lanes(panel, rows, first=left)
        for i, judge in enumerate(rows):
            near = peer.loc[(peer["_panel"] == name) & (peer["judge"] == judge), "estimate"].dropna().to_numpy(float)
            panel.plot(near, np.full(near.size, i + 0.17), "o", markersize=3.2, color=PEER, alpha=0.75, zorder=2)
            if near.size:
                panel.plot([np.median(near)] * 2, [i + 0.02, i + 0.32], color=canvas.INK, linewidth=1.6, zorder=3)
        for row in own[own["_panel"] == name].to_dict("records"):
            canvas.whisker(panel, row, rows.index(row["judge"]) - 0.17, canvas.PALETTE[1], marker="D")
        canvas.named(panel, f"{short_names.literal(in_words(terms[0]))} (1 = perfect)", "judge" if left else "")
        if name != "all":
            panel.set_title(short_names.literal(name), fontsize=canvas.TEXT, color=canvas.INK, loc="left", pad=22)
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
    sides = pd.Index(every).get_indexer(names[["judge", "other"]].to_numpy().ravel()).reshape(-1, 2)
    cells = sides.ravel(), sides[:, ::-1].ravel()
    values, compared = np.full((len(every), len(every)), np.nan), np.zeros((len(every), len(every)), dtype=bool)
    values[cells] = names["estimate"].to_numpy(float).repeat(2)
    compared[cells] = (names["n"] > 0).to_numpy(bool).repeat(2) if "n" in names else True
    return pd.DataFrame(values, every, every), pd.DataFrame(compared, every, every)


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
def disagreement(result: pd.DataFrame, *, ax: canvas.Panels = None, title: str | None = None) -> canvas.Picture:
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
    estimates = estimate_rows.chosen(result, wanted, *columns, source="disagreement")
    estimates = estimates.assign(_row=estimate_rows.names_of(estimates))
    if estimates["_row"].nunique() > 1:
        raise DesignError(
            f"The result has {estimates['_row'].nunique()} groups ({', '.join(estimates['_row'].unique()[:4])}, ...). "
            "Draw one at a time."
        )
    share = estimates[estimates["term"] == "share_above"].sort_values("threshold", kind="stable")
    none = share.loc[share["estimate"] == 0, "threshold"]
    share = share[~share["threshold"].isin(none[1:])]  # above one threshold no item: above those beyond it neither
    share = share.assign(_row=[f"spread > {v:g}" for v in share["threshold"]])
    apart = estimates[estimates["term"] == "mean_difference"].sort_values("estimate", ascending=False, kind="stable")
    judges = estimate_rows.distinct([*apart["judge"].astype(str), *apart["other"].astype(str)])
    names = short_names.shortened(judges, 15)
    short = dict(zip(judges, (name.replace(r"\$", "$") for name in names), strict=True))
    ends = zip(apart["judge"].astype(str), apart["other"].astype(str), strict=True)
    apart = apart.assign(_row=[f"{short[a]} – {short[b]}" for a, b in ends])
    alone, shared = (
        estimates[estimates["term"] == t].assign(_row=lambda t: t["judge"].astype(str)) for t in wanted[2:]
    )
    shared = shared.sort_values("estimate", ascending=False, kind="stable")
    pairs = list(apart["_row"]) if len(apart) <= MOST_PAIRS else []
    lines = [list(share["_row"]), pairs, estimate_rows.distinct([*shared["_row"], *alone["_row"]])]
    one, two, three = _stacked_axes(ax, lines, 0 if pairs else len(short))
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
        wide, compared = pair_matrix(apart)
        wide = _clustered(wide, wide)
        scale = Normalize(0, float(np.nanmax(wide.to_numpy())))
        bar = "mean absolute difference (points of the scale)"
        _pair_heat(wide, compared.reindex_like(wide), scale, two, None, bar=bar, most=12)
    seen = pd.concat([shared["estimate"], alone["estimate"], alone["conf_high"]])
    canvas.limits(three, seen, zero=True, bounds=(0, 1))
    three.set_xlim(left=0)
    canvas.in_form(three, "share")
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


def _stacked_axes(ax: canvas.Panels, lines: list[list[str]], cells: int) -> list[Axes]:
    """Three panels, as high as their rows need: under one another, or beside a matrix of `cells` rows, the second."""
    names = ["shares above", "pairs", "highest"]
    if ax is not None:
        return canvas.panels(ax, names, [], wide=[], sharey=False)
    high = [canvas.height_of(len(rows), 0.28) for rows in lines]
    width = 4.6 + short_names.label_width(short_names.shortened([r for rows in lines for r in rows], canvas.NAME))
    if cells > 12:
        wide = [2.9 + 0.22 * cells, width - 1.0]
        figure = Figure(figsize=(sum(wide), high[0] + high[2]), layout="constrained")
        places = figure.add_gridspec(2, 2, width_ratios=wide, height_ratios=high[::2])
        axes = [figure.add_subplot(places[at]) for at in ((0, 1), (slice(None), 0), (1, 1))]
        return [canvas.new_axes(a, 0, 0) for a in axes]
    if cells:
        high[1] = 1.9 + 0.32 * cells
    figure = Figure(figsize=(max(width, 2.9 + 0.22 * cells), sum(high)), layout="constrained")
    return [canvas.new_axes(a, 0, 0) for a in figure.subplots(3, 1, height_ratios=high)]


def _bars(ax: Axes, table: pd.DataFrame, labels: list[str], color: str, *, ends: bool = True) -> None:
    """A bar a row, with its interval."""
    for row in table.to_dict("records"):
        at = labels.index(row["_row"])
        if not np.isfinite(row["estimate"]):
            canvas.point(ax, np.nan, at, canvas.MUTED)
            continue
        ax.barh(at, row["estimate"], height=0.58, color=color, zorder=2)
        if ends:
            canvas.interval(ax, at, row["conf_low"], row["conf_high"], canvas.INK, 1.1)
