"""How far does a judge lean to the candidate that carries an attribute, and how far back does a strategy bring it?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError, choose
from judgestats.metrics.bias.attributes import TARGET_SLOT, Aside, Targeted, targeted, with_slot
from judgestats.metrics.bias.ties import flag_forced
from judgestats.metrics.rates import rates
from judgestats.metrics.resampled import Bootstrap, Floats, Interval, planned, resampled
from judgestats.metrics.shares import cell_mean, clustered_cell_mean, folded, leans
from judgestats.results import NO_DATA, NOT_INDEPENDENT, SMALL_N, estimates, few_clusters, flags
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import By, names
from judgestats.schema.counting import SHARED_PAIRS, tally

#: What an invalid call is to a score without a right answer: set aside, or no preference.
InvalidHere = Literal["drop", "tie"]
#: Flag of a position average whose target never stood in one of the slots.
ONE_SLOT = "target in one slot only"


def bias_score(
    calls: Any,
    *,
    target: str | None = None,
    attribute: str | None = None,
    value: str | None = None,
    family: Mapping[str, str] | None = None,
    over: str | None = None,
    average: Literal["position"] | None = None,
    invalid: InvalidHere = "drop",
    by: By = (),
    cluster: By | None = None,
    interval: Interval = "wilson",
    n_resamples: int = 2000,
    seed: int | np.random.Generator | None = 0,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Signed bias b: share that prefers the target minus share that prefers the other (debiasing paper, Section 3.5).

    Parameters
    ----------
    calls : frame
        Preferences; or a tally: ``judge, outcome, n`` with the outcomes ``target``, ``other``, ``tie``, ``invalid``,
        and ``bias``, `over` and ``target_slot`` where they are asked for. Without further arguments the column
        ``target`` names the candidate under test, and a column ``bias`` keeps several tests apart.
    target : str, optional
        ``first`` or ``second``: that slot (position bias; the order must be known). Any other text: that candidate,
        whoever judges (a model preference; calls that do not show it are set aside).
    attribute : str, optional
        The target has more of it, by the columns ``<attribute>_first`` and ``<attribute>_second`` (``length``). Equal
        or missing: set aside.
    value : str, optional
        The target has this value of `attribute` (``attribute="format", value="markdown"``). Both or neither: set aside.
    family : mapping of str to str, optional
        Self-preference: name -> family for every judge, and for the candidates, unless the columns ``family_first``
        and ``family_second`` give theirs. The target is of the judge's family and the other is not; calls with both
        or neither are set aside. A judge none of whose calls has exactly one own side gets NaN: what it prefers among
        strangers is a model preference (`target`), not self-preference.
    over : str, optional
        A column (``topic``): a score for each of its values, and their plain mean as the term ``mean``. Calls where it
        is missing are set aside.
    average : {'position'}, optional
        Mean of the scores with the target in the first and in the second slot, each half counting the same.
    invalid : {'drop', 'tie'}
        What an invalid call is: set aside, or no preference. No call can be wrong here.
    by : str or sequence of str
        Further grouping columns.
    cluster : str or sequence of str, optional
        Column of calls that are not independent (``item``); for a bootstrap by percentile also two crossed ones.
    interval : {'wilson', 'percentile', 'bca'}
        ``wilson``: Newcombe's interval of two shares of one sample, built of Wilson's; clustered with `cluster`. Else
        a bootstrap of calls, or of clusters.
    n_resamples, seed : int
        Of the bootstrap.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge (and ``bias``, where there is one): ``bias``, in [-1, 1]; ``magnitude``, its absolute value, with the
        interval of the signed score folded at 0 (its standard error is that of the signed score); ``prefers_target``,
        ``prefers_other`` and ``tie``, shares of the same calls that add up to 1; ``invalid``, a share of all calls.
        Ties and abstentions are in the denominator. With ``average="position"`` also ``target_first`` and
        ``target_second``, the two halves; ``n`` is then both halves together. With `over` also ``mean`` and
        ``mean_magnitude`` (the absolute value of the mean), whose `over` is missing. Calls set aside are counted in
        the flag.

    Raises
    ------
    DesignError
        If nothing says who the target is, no call has one, or an order is needed and not known.
    SchemaError
        If a column is missing or a target is neither candidate.

    Notes
    -----
    |b| is biased upwards where b is near 0: read it with ``bias``. The interval of a mean over cells composes the
    cells' own intervals (MOVER), so that cells at 1 or -1 do not make it too short; with `cluster` it is stretched by
    the design effect. If the halves are equal in size the position average is the pooled score; its interval treats
    the halves as independent unless ``cluster="item"`` says that they hold the same pairs.

    Examples
    --------
    >>> import pandas as pd
    >>> counts = pd.DataFrame({"judge": "g", "outcome": ["target", "other", "tie"], "n": [34, 10, 6]})
    >>> bias_score(counts)[["term", "estimate", "conf_low", "conf_high", "n"]].round(3)
                 term  estimate  conf_low  conf_high     n
    0            bias      0.48     0.230      0.666  50.0
    1       magnitude      0.48     0.230      0.666  50.0
    2  prefers_target      0.68     0.542      0.792  50.0
    3   prefers_other      0.20     0.112      0.330  50.0
    4             tie      0.12     0.056      0.238  50.0
    5         invalid      0.00     0.000      0.071  50.0
    """
    choose(average or "position", ("position",), "average")
    asked = list(dict.fromkeys([*names(by), *([over] if over else [])]))
    found = targeted(calls, target=target, attribute=attribute, value=value, family=family, by=asked)
    plan = planned(interval, cluster, None, n_resamples, seed, conf_level)
    settings = Settings(invalid, tuple(names(cluster or ())), conf_level, plan)
    table, groups = counted(found, by, settings, over, average)
    within = [*groups, over] if over else groups
    if over in groups:
        raise DesignError(f"over={over!r} splits the result already: a mean is over another column (topic, say).")
    unplaced = table[over].isna().to_numpy() if over else np.zeros(len(table), dtype=bool)
    lost = Aside.of(table, unplaced, groups, f"calls without {over}")
    here = table[~unplaced]
    here.attrs = table.attrs
    rows = _scores(here, within, settings, average) if len(here) else []
    rows = lost.flagged(found.aside.flagged(flag_forced(rows, calls, groups, ("tie",)), within), groups)
    if over:
        split = [over, TARGET_SLOT] if average else [over]
        means = [{**row, over: None} for row in averaged(table, groups, split, "mean", settings)]
        means += [folded(row, "mean_magnitude") for row in means]
        rows += lost.flagged(found.aside.flagged(means, groups), groups)
    return estimates(rows, within)


@dataclass(frozen=True)
class Settings:
    """What a call without an answer is, and how an interval comes about."""

    invalid: str
    clusters: tuple[str, ...] = ()
    conf_level: float = 0.95
    plan: Bootstrap | None = None

    def __post_init__(self) -> None:
        if self.invalid == "wrong":
            raise DesignError(
                "invalid='wrong' has no meaning where no answer is right. Allowed: 'drop' (set aside), 'tie' (no "
                "preference)."
            )
        choose(self.invalid, ("drop", "tie"), "invalid")

    @property
    def cluster(self) -> str | None:
        """The cluster of an interval without resampling."""
        return self.clusters[0] if len(self.clusters) == 1 else None

    @property
    def options(self) -> dict[str, Any]:
        """Keywords of :func:`judgestats.metrics.rates.rates`."""
        return {"conf_level": self.conf_level, "cluster": self.cluster, "bootstrap": self.plan}

    def marks(self, table: pd.DataFrame) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
        """Which rows prefer the target, which the other, and which do neither and count."""
        outcome = table["outcome"].to_numpy(dtype=object)
        tie = outcome == "tie"
        if self.invalid == "tie":
            tie |= outcome == "invalid"
        return outcome == "target", outcome == "other", tie


def counted(
    found: Targeted, by: By, settings: Settings, over: str | None = None, average: str | None = None
) -> tuple[pd.DataFrame, list[str]]:
    """Count outcomes, ``invalid`` ones settled; and return the grouping columns."""
    calls, extra = found.calls, [over] if over else []
    if average:
        calls = _slotted(calls)
        extra.append(TARGET_SLOT)
    table = tally(calls, "bias_score", [*names(by), *extra], cluster=settings.clusters or False)
    groups = list(dict.fromkeys(["judge", *(["bias"] if "bias" in table else []), *names(by)]))
    return found.aside.with_empty(table, groups), groups


def _slotted(calls: Any) -> Any:
    present = nw.from_native(calls).collect_schema().names()
    if "choice" in present:
        return with_slot(calls)
    if TARGET_SLOT not in present:
        raise DesignError(
            "average='position' needs the slot in which the target stood. Give the tally a column 'target_slot' with "
            "first and second, or give the calls."
        )
    return calls


def _scores(table: pd.DataFrame, groups: list[str], settings: Settings, average: str | None) -> list[dict[str, Any]]:
    target, other, tie = settings.marks(table)
    valid = target | other | tie
    if average:
        rows = averaged(table, groups, [TARGET_SLOT], "bias", settings)
    else:
        rows = leans(table, groups, "bias", target, other, valid, **settings.options)
    rows += [folded(row, "magnitude") for row in rows]
    if average:
        slot = table[TARGET_SLOT].to_numpy(dtype=object)
        for name in ("first", "second"):
            rows += leans(table, groups, f"target_{name}", target, other, valid & (slot == name), **settings.options)
    for term, mark in (("prefers_target", target), ("prefers_other", other), ("tie", tie)):
        rows += rates(table, groups, term, mark, valid, **settings.options)
    return rows + rates(table, groups, "invalid", table["outcome"] == "invalid", **settings.options)


def averaged(
    table: pd.DataFrame, groups: list[str], split: Sequence[str], term: str, settings: Settings
) -> list[dict[str, Any]]:
    """Plain mean of the scores of the cells of `split`, in each group; a cell that is two slots is their mean."""
    codes, alike = codes_of(table, groups), codes_of(table, [g for g in groups if g != "judge"]).code
    cell = codes_of(table, list(split)).code
    there = (table["n"] > 0).to_numpy() & table[list(split)].notna().all(axis=1).to_numpy()
    rows = []
    for g, at in enumerate(codes.first):
        key = {name: table[name].iloc[at] for name in groups}
        row = _mean_row(table[codes.code == g], split, settings, key, bool(table.attrs.get(SHARED_PAIRS)))
        has, of = (np.unique(cell[there & mask]).size for mask in (codes.code == g, alike == alike[at]))
        fewer = f"mean of {has} of {of} cells" if 0 < has < of else ""
        rows.append({**key, "term": term, **row, "flag": flags(row["flag"], fewer)})
    return rows


def _mean_row(
    table: pd.DataFrame, split: Sequence[str], settings: Settings, key: Mapping[str, Any], shared: bool
) -> dict[str, Any]:
    table = table[(table["n"] > 0) & table[list(split)].notna().all(axis=1)]
    marks = np.column_stack(settings.marks(table)) * table["n"].to_numpy(dtype=float)[:, None]
    total = float(marks.sum())
    cells = codes_of(table, list(split))
    numbers = dict.fromkeys(("estimate", "std_error", "conf_low", "conf_high"), math.nan)
    blank = {**numbers, "n": total, "method": "MOVER, independent cells"}
    if not total > 0:
        return {**blank, "flag": NO_DATA}
    weight, why = _weights(table.iloc[cells.first], split)
    counts = np.zeros((len(table), cells.size, 3))
    counts[np.arange(len(table)), cells.code] = marks
    if not why and (counts.sum(axis=(0, 2)) == 0).any():
        why = "no valid call in a cell"
    if why:
        return {**blank, "flag": why}
    doubt = NOT_INDEPENDENT if shared and not settings.clusters else ""
    row = _mean_cells(table, counts, weight, settings)
    if settings.plan is not None and not math.isnan(row["estimate"]):
        flat = counts.reshape(len(table), -1)
        row.update(resampled(table, flat, lambda t: _mean_of(t, weight), settings.plan, key))
    return {**row, "n": total, "flag": flags(doubt, row.get("flag"), SMALL_N if total < 30 else "")}


def _mean_cells(table: pd.DataFrame, counts: Floats, weight: Floats, settings: Settings) -> dict[str, Any]:
    if settings.cluster is None:
        return cell_mean(counts.sum(axis=0), weight, settings.conf_level)
    unit = codes_of(table, [settings.cluster])
    sums = np.zeros((unit.size, *counts.shape[1:]))
    np.add.at(sums, unit.code, counts)
    clusters = int((sums.sum(axis=(1, 2)) > 0).sum())
    row = clustered_cell_mean(sums, weight, settings.conf_level)
    return {**row, "method": f"MOVER, clustered by {settings.cluster} (G = {clusters})", "flag": few_clusters(clusters)}


def _mean_of(totals: Floats, weight: Floats) -> Floats:
    cells = totals.reshape(len(totals), -1, 3)
    n = cells.sum(axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = ((cells[:, :, 0] - cells[:, :, 1]) / n) @ weight
    return result


def _weights(cells: pd.DataFrame, split: Sequence[str]) -> tuple[NDArray[np.float64], str]:
    """What each cell counts for; and why there is no mean: a position average needs the target in both slots."""
    if TARGET_SLOT not in split:
        return np.full(len(cells), 1 / len(cells)), ""
    outer = [c for c in split if c != TARGET_SLOT]
    slots = cells.groupby(outer, dropna=False).size() if outer else pd.Series([len(cells)])
    return np.full(len(cells), 1 / (2 * len(slots))), "" if (slots == 2).all() else ONE_SLOT
