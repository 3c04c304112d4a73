"""What a judge is measured against, when it is not its peers: a panel of people, other judges, a table of means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError
from judgestats.schema.cells import ABOUT, CellTable, cell_table


@dataclass(frozen=True)
class Reference:
    """Means to deviate from.

    Attributes
    ----------
    used : bool
        False for the peers, who are no reference.
    row : (C,) int array
        Row of the reference for each cell, -1 for none.
    mean, variance : (R,) float arrays
        Mean of each row and the variance of that mean (NaN where unknown).
    df : (R,) float array
        Degrees of freedom of the variance.
    shared : bool
        Whether several items are measured against one row.
    """

    used: bool
    row: NDArray[np.int64]
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    df: NDArray[np.float64]
    shared: bool = False

    @property
    def of_cell(self) -> NDArray[np.float64]:
        """Reference mean of each cell, NaN for none."""
        return np.append(self.mean, np.nan)[self.row]

    @property
    def known(self) -> bool:
        """Whether the uncertainty of every mean is known."""
        return bool(self.mean.size) and not bool(np.isnan(self.variance).any())


def no_reference(n_cells: int) -> Reference:
    """Return what stands for the peers."""
    return Reference(False, np.full(n_cells, -1), np.zeros(0), np.zeros(0), np.zeros(0))


def against(frame: Any, level: str, final: str | None, identity: Mapping[str, str] | None) -> Any:
    """Return a function that lays a reference frame beside a table of cells.

    Parameters
    ----------
    frame : frame
        Ratings of a reference panel (with ``judge``: the mean over its judges; without: the rows are raters), or means
        (``mean``, and ``sd``, ``runs``) per ``system`` and, where present, per `by` column, ``item`` and ``criterion``.
    level : {'final', 'criterion'}
        Level of the comparison.
    final : str or None
        Criterion that holds the final score.
    identity : mapping, optional
        System -> judge; a system the reference does not know by its own name is looked up by this one.

    Returns
    -------
    callable
        Of a CellTable and its `by` columns.
    """
    return lambda table, by: _matched(table, _means(frame, by, level, final), identity or {})


def _means(frame: Any, by: Sequence[str], level: str, final: str | None) -> pd.DataFrame:
    """Key columns that the reference has, ``mean``, ``variance`` and its ``df``."""
    present = list(nw.from_native(frame).collect_schema().names())
    own = [c for c in by if c in present and c not in ABOUT]
    judge = "judge" if "judge" in present else None
    table = cell_table(frame, own, judge=judge)
    if level == "final" and final is not None and final in table.labels["criterion"]:
        table = table.where(np.asarray(table.label("criterion") == final))
    keys = [*own, *(k for k in ABOUT if k in present)]
    runs = np.asarray(table.runs, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        noise = np.where(runs > 1, table.sd**2 / runs, np.nan)
    scored = ~np.isnan(table.mean)
    cell = table.cell[scored]
    raters = np.bincount(cell, minlength=table.n_cells)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.bincount(cell, weights=table.mean[scored], minlength=table.n_cells) / raters
        squares = np.bincount(cell, weights=(table.mean[scored] - mean[cell]) ** 2, minlength=table.n_cells)
        between = squares / (raters - 1) / raters
    own_noise, own_df = (np.bincount(cell, weights=x[scored], minlength=table.n_cells) for x in (noise, runs - 1))
    result = pd.DataFrame({k: table.label(k) for k in keys})
    result["mean"], result["variance"] = mean, np.where(raters > 1, between, own_noise)
    result["df"] = np.where(raters > 1, raters - 1, own_df)
    return result[raters > 0]


def _matched(table: CellTable, means: pd.DataFrame, identity: Mapping[str, str]) -> Reference:
    place = pd.DataFrame({k: table.label(k) for k in table.keys if k in means.columns})
    place = place.astype(object).astype("str")
    if "system" in place:
        place["system"] = _known_as(place["system"], set(means["system"].astype(str)), identity)
    keys = [k for k in means.columns if k not in ("mean", "variance", "df")]
    if _other_criterion(table, means):
        keys.remove("criterion")
    lookup = means[keys].astype(object).astype("str").assign(_row=np.arange(len(means)))
    merged = place[keys].merge(lookup, on=keys, how="left")
    row = merged["_row"].fillna(-1).to_numpy(dtype=np.int64)
    if not len(means) or (row < 0).all():
        listed = ", ".join(f"{k} {sorted(set(lookup[k]))[:5]} against {sorted(set(place[k]))[:5]}" for k in keys)
        raise DesignError(f"The reference has no mean for any rating. Matched on {', '.join(keys)}: {listed}.")
    shared = "item" not in keys and len(table.labels["item"]) > 1
    mean, variance, df = (means[c].to_numpy() for c in ("mean", "variance", "df"))
    return Reference(True, row, mean, variance, df, shared)


def _known_as(systems: pd.Series[Any], known: set[str], identity: Mapping[str, str]) -> pd.Series[Any]:
    """Name of each system in the reference: its own, else the one of its identity."""
    names = {s: s if s in known else str(identity.get(s, s)) for s in pd.unique(systems)}
    return systems.map(names)


def _other_criterion(table: CellTable, means: pd.DataFrame) -> bool:
    """Whether the reference has a single criterion by another name, which then stands for the whole."""
    if "criterion" not in means.columns:
        return False
    theirs = set(means["criterion"].astype(str))
    ours = {str(c) for c in np.unique(np.asarray(table.label("criterion"), dtype=object))}
    return len(theirs) == 1 and not theirs & ours
