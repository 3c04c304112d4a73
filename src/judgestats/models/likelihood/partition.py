"""Which set of thresholds each row has, where thresholds vary by a column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError, choose
from judgestats.models.coding.aliases import independent
from judgestats.models.coding.frames import labels
from judgestats.models.designs import Design
from judgestats.models.likelihood.thresholds import Thresholds
from judgestats.models.likelihood.thresholds import thresholds as lay_out

Ints = NDArray[np.int64]
#: Shape of thresholds -> its parameters.
KINDS = {"free": ("threshold",), "symmetric": ("midpoint", "half-width")}


@dataclass(frozen=True)
class Partition:
    """Sets of thresholds.

    Attributes
    ----------
    columns : dict
        Parameter (``midpoint``, ``half-width``, ``threshold``) -> the column over which it varies.
    levels : dict
        Parameter -> levels of that column.
    sets : tuple of tuple of str
        For each set the level of each parameter, in the order of `columns`.
    """

    columns: dict[str, str]
    levels: dict[str, tuple[str, ...]]
    sets: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, columns: Mapping[str, str], frame: pd.DataFrame) -> Partition:
        """Find the sets that occur.

        Parameters
        ----------
        columns : mapping
            Parameter -> column.
        frame : pandas.DataFrame

        Returns
        -------
        Partition

        Raises
        ------
        DesignError
            If a column has one level.
        """
        names = {kind: labels(frame[c]).to_numpy(dtype=object) for kind, c in columns.items()}
        levels = {kind: tuple(sorted(set(own))) for kind, own in names.items()}
        for kind, own in levels.items():
            if len(own) < 2:
                raise DesignError(
                    f"thresholds_by: {columns[kind]!r} is always {own[0]!r} in the rows used, so that the {kind} "
                    "cannot vary over it. Leave it out."
                )
        sets = tuple(sorted(set(zip(*names.values(), strict=True)))) if names else ((),)
        return cls(dict(columns), levels, sets)

    def codes(self, frame: pd.DataFrame) -> Ints:
        """Set of each row.

        Parameters
        ----------
        frame : pandas.DataFrame
            With the columns over which thresholds vary.

        Returns
        -------
        (N,) int array

        Raises
        ------
        DesignError
            If a row has levels that did not occur together when the model was fitted.
        """
        if not self.columns:
            return np.zeros(len(frame), np.int64)
        for name in self.columns.values():
            if name not in frame.columns:
                raise DesignError(f"The thresholds vary by {name!r}, which is no column of the new rows. Add it.")
        keys = list(zip(*(labels(frame[c]) for c in self.columns.values()), strict=True))
        place = {own: k for k, own in enumerate(self.sets)}
        new = [k for k in keys if k not in place]
        if new:
            given = ", ".join(f"{c} {v!r}" for c, v in zip(self.columns.values(), new[0], strict=True))
            raise DesignError(f"There are no thresholds for {given}: it was not there when the model was fitted.")
        return np.array([place[k] for k in keys], np.int64)

    def thresholds(self, categories: tuple[str, ...], link: str, shape: str) -> Thresholds:
        """Thresholds of every set.

        Parameters
        ----------
        categories : tuple of str
        link, shape : str

        Returns
        -------
        Thresholds
        """
        sets = [dict(zip(self.columns, own, strict=True)) for own in self.sets]
        return lay_out(categories, link, shape, self.levels, sets)


def by_kind(thresholds_by: Any, shape: str) -> dict[str, str]:
    """Read the argument ``thresholds_by``.

    Parameters
    ----------
    thresholds_by : str, mapping or None
        A column, by which all thresholds vary, or a column for each parameter.
    shape : {"free", "symmetric"}

    Returns
    -------
    dict
        Parameter -> column.

    Raises
    ------
    DesignError
        If a parameter is none of that shape.

    Examples
    --------
    >>> by_kind("prompt", "symmetric")
    {'midpoint': 'prompt', 'half-width': 'prompt'}
    """
    known = KINDS[shape]
    if thresholds_by is None:
        return {}
    if isinstance(thresholds_by, str):
        return dict.fromkeys(known, thresholds_by)
    if not isinstance(thresholds_by, Mapping):
        raise DesignError(
            f"thresholds_by={thresholds_by!r} names no column. Give a column, or a mapping of {', '.join(known)} to "
            "columns."
        )
    return {choose(kind, known, f"thresholds={shape!r}: thresholds_by"): str(c) for kind, c in thresholds_by.items()}


def refuse_twice(partition: Partition, design: Design) -> None:
    """Refuse fixed effects that shift all thresholds of a level, where these vary by it already.

    Parameters
    ----------
    partition : Partition
    design : Design

    Raises
    ------
    DesignError
        If such a column is in the fixed part too.
    """
    for kind in ("midpoint", "threshold"):
        if kind not in partition.columns:
            continue
        names = labels(design.frame[partition.columns[kind]]).to_numpy(dtype=object)
        dummies = (names[:, None] == np.array(partition.levels[kind], dtype=object)).astype(float)
        kept = independent(np.hstack([dummies, design.X]))
        width = dummies.shape[1]
        lost = [n for k, n in enumerate(design.names) if k + width not in kept]
        if lost:
            raise DesignError(
                f"The {kind} varies by {partition.columns[kind]!r}, and {', '.join(lost)} of {design.formula.source!r} "
                "would move it too. Leave one of them out."
            )
