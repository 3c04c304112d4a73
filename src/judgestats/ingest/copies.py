"""Calls that a source holds twice: files that are copies of others, and empty repeats of calls."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import SchemaError
from judgestats.schema.account import Exclusion
from judgestats.schema.findings import Finding, as_frame
from judgestats.schema.opening import opened

REMEDY = (
    "If the files are runs of their own, or of several raters, name the run or the rater in their paths, as in "
    'path="...{replicate}..." or path="...{judge}..."'
)
_FEW = 3
#: Length from which a part of a text is taken for the text, shortened.
_LONG = 20


@dataclass
class Copies:
    """Rows of a table that repeat calls which it holds elsewhere."""

    excluded: NDArray[np.bool_]  # which rows
    why: list[Exclusion] = field(default_factory=list)  # what accounts for them

    def add(self, rows: NDArray[np.intp], places: Sequence[str], reason: str, remedy: str) -> None:
        """Exclude rows, all for one reason."""
        self.excluded[rows] = True
        examples = "; ".join(places[int(r)] for r in rows[:_FEW]) + ("; ..." if len(rows) > _FEW else "")
        self.why.append(Exclusion(examples, reason, remedy, len(rows)))


def copies(
    table: pd.DataFrame, file: NDArray[np.int32], files: Sequence[str], places: Sequence[str], answers: Collection[str]
) -> Copies:
    """Find the calls of files that agree with an earlier file in every call that both hold; one may lack a column."""
    repeats = Copies(np.zeros(len(table), dtype=bool))
    if len(files) < 2:
        return repeats
    data = opened(table).to_native()
    keys = [c for c in data.columns if c not in answers and not fractions(data[c])]
    filled = {c: _filled(data[c], file, len(files)) for c in keys}
    common = [c for c in keys if filled[c].all()]
    again = data.duplicated(common, keep=False).to_numpy() if common else np.zeros(len(data), dtype=bool)
    rows = np.flatnonzero(again)
    for one, two in _sharing(data.iloc[rows][common], file[rows]):
        both = [c for c in keys if filled[c][one] and filled[c][two]]
        first, second = (rows[(file[rows] == f) & ~repeats.excluded[rows]] for f in (one, two))
        left, right = data.iloc[first].assign(_row=first), data.iloc[second].assign(_row=second)
        if left.duplicated(both).any() or right.duplicated(both).any():
            continue  # a fault of one file, which its validation reports
        same = left[[*both, "_row"]].merge(right[[*both, "_row"]], on=both, suffixes=("", "_2"))
        if same.empty:
            continue
        rows_one, rows_two = same["_row"].to_numpy(), same["_row_2"].to_numpy()
        _refuse_contradictions(data, [c for c in data.columns if c not in both], rows_one, rows_two, places, both)
        reason = f"the same call with the same answer stands in {files[one]}"
        repeats.add(np.sort(rows_two), places, reason, REMEDY)
    return repeats


def empty_repeats(
    table: pd.DataFrame, places: Sequence[str], answers: Collection[str], answer: Collection[str]
) -> Copies:
    """Find rows without an answer that repeat a call which another row holds."""
    repeats = Copies(np.zeros(len(table), dtype=bool))
    keys = [c for c in table.columns if c not in answers and not fractions(table[c])]
    empty = table[[c for c in table.columns if c in answer]].isna().all(axis=1).to_numpy()
    if not keys or not answer or not empty.any():
        return repeats
    again = table.duplicated(keys, keep=False).to_numpy()
    if not (again & empty).any():
        return repeats
    part = table[again].assign(_empty=empty[again], _row=np.flatnonzero(again))
    part = part.sort_values(["_empty", "_row"])  # the answered row of a call first
    group = part.groupby(keys, dropna=False, sort=False)
    first = group["_row"].transform("first")
    repeat = part["_empty"] & (part["_row"] != first)
    rows = part.loc[repeat, "_row"].to_numpy()
    if len(rows):
        stands = places[int(first[repeat].iloc[0])].partition(",")[0]
        repeats.add(np.sort(rows), places, f"an empty repeat of a call that stands in {stands}", "")
    return repeats


def fractions(values: pd.Series) -> bool:
    """Whether a column holds numbers that are not whole: measurements, which name no call."""
    if not pd.api.types.is_float_dtype(values):
        return False
    numbers = values.dropna()
    return not len(numbers) or bool((numbers % 1 != 0).any())


def _filled(values: pd.Series, file: NDArray[np.int32], n: int) -> NDArray[np.bool_]:
    """Which files have a value in a column."""
    return np.bincount(file, weights=values.notna().to_numpy(), minlength=n) > 0


def _sharing(keys: pd.DataFrame, file: NDArray[np.int32]) -> Iterator[tuple[int, int]]:
    """Pairs of files that hold a call in common, the earlier one first."""
    if not len(keys):
        return
    group = keys.groupby(list(keys.columns), dropna=False, sort=False).ngroup()
    held = pd.DataFrame({"group": group.to_numpy(), "file": file}).drop_duplicates()
    pairs = held.merge(held, on="group")
    pairs = (
        pairs[pairs["file_x"] < pairs["file_y"]][["file_y", "file_x"]]
        .drop_duplicates()
        .sort_values(["file_y", "file_x"])
    )
    yield from ((int(x), int(y)) for y, x in pairs.itertuples(index=False))


def _shortened(one: object, two: object) -> bool:
    """Whether one text is a longer part of the other: files often keep the end of a reply only."""
    if not isinstance(one, str) or not isinstance(two, str):
        return False
    shorter, longer = sorted((one, two), key=len)
    return len(shorter) >= _LONG and shorter in longer


def _refuse_contradictions(
    data: pd.DataFrame,
    columns: list[str],
    rows_one: NDArray[np.intp],
    rows_two: NDArray[np.intp],
    places: Sequence[str],
    keys: list[str],
) -> None:
    """Raise where rows of one call differ in a value that both have."""
    for name in columns:
        one, two = data[name].iloc[rows_one].to_numpy(dtype=object), data[name].iloc[rows_two].to_numpy(dtype=object)
        wrong = ~(pd.isna(one) | pd.isna(two)) & (one != two)
        wrong[wrong] = [not _shortened(a, b) for a, b in zip(one[wrong], two[wrong], strict=True)]
        if not wrong.any():
            continue
        n, at = int(wrong.sum()), int(np.argmax(wrong))
        rows = tuple(int(r) for r in np.sort(np.concatenate([rows_one[wrong], rows_two[wrong]])))
        example = ", ".join(f"{k}={data[k].iloc[rows_one[at]]}" for k in keys)
        what = "the same call occurs more than once"
        raise SchemaError(
            f"{what}: {places[int(rows_one[at])]} and {places[int(rows_two[at])]} differ in {name!r} "
            f"({str(one[at])[:40]!r} and {str(two[at])[:40]!r}), as do {n} of {len(rows_one)} calls that both files "
            f"hold. {REMEDY}.",
            faults=as_frame([Finding("fault", "", what, rows, example, REMEDY)], places),
            advice=(("path", None),),
        )
