"""Differences of judges in classes that both gave to the same things, beside the right ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from judgestats import flags
from judgestats.counting.counts import size_flag
from judgestats.counting.differences import clustered_difference, difference
from judgestats.kernels.cluster_sums import clusters_note
from judgestats.metrics.correctness.class_counts import ClassCounts, units_of
from judgestats.typing import Mask, Record


def difference_rows(counts: ClassCounts, classes: Sequence[int | None]) -> Iterator[Record]:
    """Shares of right answers of each judge less those of the baseline: of classes, or of all (None)."""
    assert counts.baseline is not None
    for c in classes:
        if c is None:
            right = [x == counts.reference for x in (counts.answer, counts.baseline)]
            yield from _rows(counts, "accuracy", "", np.ones(len(counts.answer), dtype=bool), *right)
            continue
        of_class, one, other = (x == c for x in (counts.reference, counts.answer, counts.baseline))
        yield from _rows(counts, "sensitivity", counts.classes[c], of_class, one, other)
        yield from _rows(counts, "specificity", counts.classes[c], ~of_class, ~one, ~other)


def _rows(counts: ClassCounts, share: str, name: str, among: Mask, one: Mask, other: Mask) -> Iterator[Record]:
    """Right answers of one judge less those of the other, among some calls: a row for each group."""
    table = counts.counts
    assert counts.baseline is not None
    trial = among & counts.valid & (counts.baseline >= 0)
    marks = np.column_stack([trial & one & ~other, trial & other & ~one, trial & (one == other)]) * table.n[:, None]
    for key, rows in table.rows_of_groups():
        sums, alike, column = units_of(table.where(rows), marks[rows])
        size = sums.sum(axis=1)
        n = float(alike @ size)
        row: Record = {**key, "class": name, "term": f"{share}_difference", "n": n}
        left_out = {what: table.n[rows][(mask & among)[rows]].sum() for what, mask in counts.without.items()}
        flag = flags.join(table.clusters.flag, *(flags.EXCLUDED.of(k, what=what) for what, k in left_out.items()))
        if not n:
            yield {**row, "estimate": np.nan, "flag": flags.join(flags.NO_DATA, flag)}
        elif column:
            method = f"Tango, paired, clustered by {column} ({clusters_note(size, alike)})"
            row |= {"method": method, **clustered_difference(sums, table.conf_level, alike)}
            yield {**row, "flag": flags.join(flags.few_clusters(size, alike=alike), size_flag(n), flag)}
        else:
            row |= {**difference(alike @ sums, table.conf_level), "method": "Newcombe, paired"}
            yield {**row, "flag": flags.join(size_flag(n), flag)}
