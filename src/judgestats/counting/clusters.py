"""The columns that intervals are clustered by, and what is known of the calls of a table of counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from judgestats import flags
from judgestats.counting.clustering import UNIT, Sharing, auto_cluster
from judgestats.counting.patterns import Pattern
from judgestats.counting.study import Study
from judgestats.errors import DesignError


@dataclass(frozen=True)
class Clusters:
    """How the intervals of a table of counts are clustered."""

    columns: tuple[str, ...] = ()  # empty where counts are taken as independent
    shared: bool | None = False  # whether counts share something; None where that is not known
    auto: bool = False  # whether the choice was left to the data

    @classmethod
    def of(cls, columns: Iterable[str], sharing: Sharing | None, *, auto: bool) -> Clusters:
        """Clusters by these columns; `sharing` says what the calls share, None where that is not known."""
        return cls(tuple(columns), None if sharing is None else sharing.shared, auto)

    @property
    def column(self) -> str | None:
        """The one column, or None; DesignError if there are several."""
        if len(self.columns) > 1:
            raise DesignError(
                f"This interval takes one cluster, and cluster= names {', '.join(map(repr, self.columns))}. Name one, "
                "or ask for a bootstrap where the measure has one."
            )
        return self.columns[0] if self.columns else None

    @property
    def independent(self) -> bool:
        """Whether the choice was left to the data, and the counts share nothing."""
        return self.auto and not self.columns and self.shared is False

    @property
    def flag(self) -> str:
        """Flag of an interval that takes the counts as independent though they are not."""
        if self.columns and self.columns != (UNIT,):
            return ""
        if self.shared is None:
            return flags.CLUSTERING_UNKNOWN if self.auto else ""
        return flags.NOT_INDEPENDENT if self.shared else ""


def cluster_columns(columns: Sequence[str] | None, sharing: Sharing | None) -> tuple[str, ...]:
    """Columns to cluster by: those named, else what the counts share."""
    if columns is not None:
        return tuple(columns)
    return (sharing.column,) if sharing is not None and sharing.column else ()


def cluster_of_counts(study: Study, units: Study, keys: list[str], pattern: Pattern) -> Sharing:
    """The column that counts share within a group; if none, the one shared across what the measure averages over."""
    sharing = Sharing("", False)
    for groups in (keys, [c for c in keys if c not in pattern.pooled]) if pattern.pooled else (keys,):
        if not sharing.column:
            sharing = auto_cluster(study, groups, units.n_calls, units=units)
    return sharing
