"""Records as a table of text: nested objects become columns ``outer.inner``, where their names are no data."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from judgestats.errors import SchemaError
from judgestats.ingest.json_values import Fields, Record, Row
from judgestats.schema.opening import cell_text

#: Most columns that nested records open into if few records have them, and the share of records that is few.
MOST_SPARSE = 1000
_RARE = 0.05


def table_of(records: list[Record]) -> pd.DataFrame:
    """Records as a table of text: nested objects become ``outer.inner`` columns, lists stay JSON."""
    return pd.DataFrame(columns_of(records), index=range(len(records)))


def columns_of(records: list[Record]) -> dict[str, list[str | None]]:
    """Columns of a table of records, as text; see :func:`table_of`."""
    try:
        flat = _flattened(records)
        names = dict.fromkeys(name for record in flat for name in record)
        if len(names) > MOST_SPARSE:
            flat = _flattened(_gathered(records))
            names = dict.fromkeys(name for record in flat for name in record)
    except RecursionError:
        raise SchemaError("The records are nested too deeply to be a table. Write the verdicts out flat.") from None
    columns = {name: [record.get(name) for record in flat] for name in names}
    return {
        n: [v if type(v) is str and v else str(v) if type(v) is int else cell_text(v) for v in column]
        for n, column in columns.items()
    }


def _flattened(records: list[Record]) -> list[Row]:
    return [
        flatten(record, place) if any(type(v) is dict for v in record.values()) else record for place, record in records
    ]


@dataclass(slots=True)
class _Branch:
    """Fields of nested records below one name: `columns` that they would open into, and how many `cells` of them."""

    inner: dict[str, _Branch] = field(default_factory=dict)
    records: int = 0
    plain: bool = False
    columns: int = 0
    cells: int = 0
    whole: bool = False

    def see(self, record: Fields) -> None:
        """Count the fields of one record."""
        for name, value in record.items():
            branch = self.inner.get(name)
            if branch is None:
                branch = self.inner[name] = _Branch()
            branch.records += 1
            if isinstance(value, dict) and value:
                branch.see(value)
            else:
                branch.plain = True

    def close(self, rare: float) -> None:
        """Leave objects whole, from the innermost outwards, where too many of their columns would be rare."""
        for branch in self.inner.values():
            branch.close(rare)
        self._count()
        if self.columns > MOST_SPARSE and self.cells < rare * self.columns:
            for branch in self.inner.values():
                if branch.cells < rare * branch.columns:
                    branch.whole, branch.columns, branch.cells = True, 1, branch.records
            self._count()
            self.whole = self.columns > MOST_SPARSE and self.cells < rare * self.columns
            if self.whole:
                self.columns, self.cells = 1, self.records

    def _count(self) -> None:
        leaf = self.plain or not self.inner
        self.columns = leaf + sum(b.columns for b in self.inner.values())
        self.cells = leaf * self.records + sum(b.cells for b in self.inner.values())

    def opened(self, record: Fields) -> Row:
        """One record with the objects that stay whole as JSON."""
        flat: Row = {}
        for name, value in record.items():
            branch = self.inner[name]
            if isinstance(value, dict) and value:
                flat[name] = cell_text(value) if branch.whole else branch.opened(value)
            else:
                flat[name] = value
        return flat


def _gathered(records: list[Record]) -> list[Record]:
    """Records whose objects stay whole where their names are data: ids, say, of which each record has others."""
    root = _Branch(records=len(records))
    for _, record in records:
        root.see(record)
    rare = max(2.0, len(records) * _RARE)
    root.close(rare)
    if not root.whole:
        return [(place, root.opened(record)) for place, record in records]
    rest = "other_fields"
    while rest in root.inner:
        rest += "_"
    gathered = []
    for place, record in records:
        common = {n: v for n, v in record.items() if root.inner[n].records >= rare}
        others = {n: v for n, v in record.items() if n not in common}
        gathered.append((place, root.opened(common) | {rest: cell_text(others or None)}))
    return gathered


def flatten(record: Fields, place: str = "a record", prefix: str = "") -> Row:
    """Open nested objects: ``{"verdict": {"choice": "A"}}`` becomes ``{"verdict.choice": "A"}``."""
    flat: Row = {}
    for name, value in record.items():
        inner = isinstance(value, dict) and bool(value)
        fields = flatten(value, place, f"{prefix}{name}.") if inner else {f"{prefix}{name}": value}
        twice = next((n for n in fields if n in flat), None)
        if twice is not None:
            raise SchemaError(f"{place}: {twice!r} occurs twice, once as a nested field. Rename one of them.")
        flat.update(fields)
    return flat
