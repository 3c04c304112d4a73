"""All cells of the coverage study."""

from __future__ import annotations

from collections.abc import Iterator

from coverage_agreement import agreement, clustered
from coverage_corrected import corrected, reliability
from coverage_differences import differences
from coverage_draws import Cell
from coverage_people import people, versions
from coverage_proportions import proportions
from coverage_rankings import rankings
from coverage_shared import shared


def cells() -> Iterator[Cell]:
    """All cells, in their order."""
    groups = (
        proportions,
        differences,
        agreement,
        clustered,
        shared,
        corrected,
        reliability,
        rankings,
        people,
        versions,
    )
    for group in groups:
        yield from group()
