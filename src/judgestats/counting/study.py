"""A frame of calls or ratings, coded once and counted once for each pattern."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, TypeVar

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import Frame, FrameT, IntoFrame
from numpy.typing import NDArray

from judgestats.errors import DesignError, SchemaError
from judgestats.schema.coding import Codes, as_scores, combine
from judgestats.schema.columns import COUNTS, Kind, N, answer_column, kind_of
from judgestats.schema.declared_counts import call_counts, counted
from judgestats.schema.factors import Factor, Factors
from judgestats.schema.findings import Finding
from judgestats.schema.label_columns import in_one_way, label_columns, lazy_in_one_way
from judgestats.schema.opening import in_memory, narwhals_frame, opened
from judgestats.schema.validation import faults_of, findings, in_codes
from judgestats.typing import EagerFrame, Floats, LazyFrame, Mask

R = TypeVar("R")


class Shown(NamedTuple):
    """The candidates of each call, as places in one sorted list of `names`; -1 where one is missing."""

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    names: NDArray[np.str_]


#: A frame of any library, or what has been read of it.
Calls: TypeAlias = "IntoFrame | Frame | Study"


class Study:
    """A frame of calls, ratings or counts: in memory each column is coded, and each pattern counted, once."""

    def __init__(self, columns: Factors, frame: Any = None, origin: Study | None = None) -> None:
        self._columns = columns
        self.origin = self if origin is None else origin  # of which these are rows: it decides what clusters intervals
        self.notes: list[Finding] = []  # what check says of labels that were written in one way
        self._frame = frame
        self._cache: dict[Hashable, Any] = {}

    @classmethod
    def of(cls, frame: Any) -> Study:
        """The study of a frame of any engine; a study is its own."""
        if isinstance(frame, Study):
            return frame
        if isinstance(frame, pd.DataFrame) and frame.columns.is_unique:
            return cls(Factors(frame), frame).in_one_way()[0]
        data = narwhals_frame(frame)
        if isinstance(data, nw.LazyFrame):
            return cls(Factors(rows=0), data)
        native = data.to_native()
        data = data if isinstance(native, pd.DataFrame) else opened(data)
        return cls(Factors(native if isinstance(native, pd.DataFrame) else data), data).in_one_way()[0]

    def in_one_way(self, *others: Study) -> tuple[Study, ...]:
        """The study, and others beside it, with the labels of classes written in one way (`schema/class_labels.py`)."""
        studies = (self, *others)
        if any(study.lazy for study in studies) or not all(label_columns(study.names) for study in studies):
            return studies
        columns, notes = in_one_way(*(study.columns for study in studies))
        new = [study._with_labels(own) if own else study for study, own in zip(studies, columns, strict=True)]
        new[0].notes = [*self.notes, *notes]
        return tuple(new)

    def _with_labels(self, columns: Mapping[str, NDArray[np.object_]]) -> Study:
        """The study with columns of labels written otherwise."""
        native = self.data.to_native()
        if isinstance(native, pd.DataFrame):
            table = native.assign(**columns)
            return Study(Factors(table), table, None if self.origin is self else self.origin)
        backend = self.data.implementation
        new = (nw.new_series(name, list(labels), nw.String, backend=backend) for name, labels in columns.items())
        data = self.data.with_columns(*new)
        return Study(Factors(data), data, None if self.origin is self else self.origin)

    @classmethod
    def of_any(cls, frame: object) -> Study | None:
        """The study of a frame of any engine; None of what is no frame."""
        if not isinstance(frame, Study | pd.DataFrame | nw.DataFrame | nw.LazyFrame):
            frame = nw.from_native(frame, pass_through=True)
            if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
                return None
        return cls.of(frame)

    @classmethod
    def whole(cls, frame: Calls) -> Study:
        """The study of a frame in memory, which is opened once; a lazy frame is collected; a study is its own."""
        if isinstance(frame, Study):
            return cls.whole(frame.data) if frame.lazy else frame
        return cls.of(in_memory(frame).to_pandas())

    @cached_property
    def data(self) -> Any:
        """The frame, as Narwhals has it."""
        if isinstance(self._frame, pd.DataFrame):
            return nw.from_native(self.columns.table, eager_only=True)
        if self._frame is None:
            return nw.from_native(self.columns.frame(), eager_only=True)
        return lazy_in_one_way(self._frame) if self.lazy else self._frame

    @property
    def lazy(self) -> bool:
        """Whether the frame is counted where it lies."""
        return isinstance(self._frame, nw.LazyFrame)

    @property
    def columns(self) -> Factors:
        """The columns in memory; a lazy frame has none."""
        if self.lazy:
            raise TypeError(
                "The rows of a lazy study are not in memory. `counted(names)` counts them in their engine, "
                "`in_memory(names)` collects some columns, and `names` and `n_calls` hold of every study."
            )
        return self._columns

    def in_memory(self, names: Iterable[str], *, distinct: bool = False) -> Study:
        """A study in memory: this one, or some columns of a lazy frame, whose rows may be taken once each."""
        if not self.lazy:
            return self
        rows = self.data.select(*dict.fromkeys(names))
        return Study.of((rows.unique() if distinct else rows).collect(backend="pandas").to_native())

    @cached_property
    def names(self) -> list[str]:
        """Names of the columns."""
        return list(self._frame.collect_schema().names()) if self.lazy else self.columns.names

    def refuse_undeclared(self, other_roles: Iterable[str] = (), kind: Kind = "preferences") -> None:
        """Raise where a count is not valid, or a column ``n`` could be one that nothing declares."""
        if self.lazy or N in self.names:
            counted(self.data, other_roles, kind)
        elif COUNTS in self.names:
            _ = self.weight

    def once(self, key: Hashable, make: Callable[[], R]) -> R:
        """What `make` gives, made once for a key."""
        if key not in self._cache:
            self._cache[key] = make()
        result: R = self._cache[key]
        return result

    @classmethod
    def rows_of(cls, whole: object, frame: object) -> Study:
        """The study of rows that were read from a frame: a part of it where that is a study."""
        return whole.part(frame) if isinstance(whole, Study) else cls.of(frame)

    def part(self, frame: object) -> Study:
        """The study of some rows of this one, by their columns or as a frame."""
        if isinstance(frame, Factors):
            return Study(frame, origin=self.origin)
        part = Study.of(frame)
        part.origin = self.origin
        return part

    def without(self, column: str) -> Study:
        """The frame without a column."""
        return self.part(self.data.drop(column) if self.lazy else self.columns.without(column))

    def where(self, rows: Mask) -> Study:
        """The rows where a mask is true."""
        return self if rows.all() else self.part(self.columns.take(rows))

    def holds(self, columns: Sequence[str], condition: nw.Expr) -> Mask:
        """Rows in memory for which a condition on a few columns holds: each combination of them is looked at once."""
        codes = self.columns.codes(columns)
        some = nw.from_native(self.columns.take(codes.first).frame(columns), eager_only=True)
        held = some.select(condition.alias("held"))["held"].fill_null(value=False).to_numpy().astype(bool)
        rows: Mask = held[codes.code]
        return rows

    def filtered(self, columns: Sequence[str], condition: nw.Expr) -> Study:
        """The rows for which a condition on a few columns holds."""
        return self.part(self.data.filter(condition)) if self.lazy else self.where(self.holds(columns, condition))

    @cached_property
    def weight(self) -> Floats | None:
        """How many identical calls each row stands for; None for one each."""
        return call_counts(self.columns.series(COUNTS)) if COUNTS in self.columns else None

    @cached_property
    def counts(self) -> Floats:
        """How many calls each row stands for."""
        return np.ones(len(self.columns)) if self.weight is None else self.weight

    @cached_property
    def occurring(self) -> Study:
        """The rows that stand for a call or more; all of them where none does."""
        some = COUNTS in self.names and self.n_calls > 0
        return self.filtered([COUNTS], (nw.col(COUNTS) != 0).fill_null(True)) if some else self

    @cached_property
    def n_calls(self) -> float:
        """How many calls there are, counts included."""
        if self.lazy:
            rows = nw.col(COUNTS).sum() if COUNTS in self.names else nw.len()
            return float(self.data.select(rows.alias(N)).collect(backend="pandas").to_native()[N].iloc[0] or 0)
        return float(len(self.columns) if self.weight is None else self.weight.sum())

    def counted(self, names: Sequence[str]) -> tuple[Factors, Floats]:
        """Distinct combinations of labels, sorted, and how many calls there are of each; a lazy frame is grouped."""
        if not self.lazy:
            return self.columns.counted(names, self.weight)
        calls = nw.col(COUNTS).sum() if COUNTS in self.names else nw.len()
        table = self.data.group_by(*names).agg(calls.alias("_calls")).collect(backend="pandas").to_native()
        return Factors(table).counted(names, table["_calls"].to_numpy(dtype=float))

    def n_distinct(self, names: Sequence[str]) -> int:
        """How many combinations of labels there are."""
        return _size(self.data.select(*names).unique()) if self.lazy else self.columns.n_distinct(names)

    @cached_property
    def n_rows(self) -> int:
        """How many rows there are, each counted once."""
        return _size(self.data) if self.lazy else len(self.columns)

    @cached_property
    def scores(self) -> Study:
        """Ratings whose verdicts are right or wrong, as scores; another frame in memory as it is."""
        return self.part(as_scores(self.data)) if answer_column(self.names) == "correct" else self

    @property
    def _in_codes(self) -> EagerFrame:
        return in_codes(self.data, kind_of(self.names), self.columns)

    @cached_property
    def faults(self) -> list[Finding]:
        """What is wrong with the frame, found once."""
        return list(faults_of(self._in_codes, kind_of(self.names)))

    def check(self) -> pd.DataFrame:
        """The rows of :func:`judgestats.check`."""
        return findings(self._in_codes, [*self.faults, *self.notes], self.data.to_native())

    @cached_property
    def of_two(self) -> Study:
        """The calls that show two different candidates."""
        return self.where((self.shown.first != self.shown.second) | (self.shown.first < 0))

    def refuse_unknown_order(self) -> None:
        """Raise where the order of presentation is not recorded, or is gone by aggregation."""
        if "order_known" in self.names and self.once("order", self._order_unknown):
            raise DesignError(
                "The order in which the candidates were shown is not recorded in these data (order_known is False), or "
                "they are aggregated over orders. A measure of order needs it; gold_agreement and preference rates do "
                "not.",
                problem="the order in which the candidates were shown is not known",
            )

    def _order_unknown(self) -> bool:
        if not self.lazy:
            code, labels = self.columns["order_known"]
            return any(labels[i] is not None and not labels[i] for i in np.unique(code))
        order_known = nw.col("order_known").fill_null(True).cast(nw.Boolean)
        unknown = self.data.select((~order_known).any().alias("unknown"))
        return bool(unknown.collect(backend="pandas").to_native()["unknown"].iloc[0])

    @cached_property
    def shown(self) -> Shown:
        """The candidates, coded in one list of names."""
        factors = self.columns.of(["first", "second"])
        labels = [[None if x is None else str(x) for x in f.labels] for f in factors]
        names = sorted({label for one in labels for label in one if label is not None})
        number: dict[str | None, int] = {None: -1, **{name: i for i, name in enumerate(names)}}
        first, second = (
            np.array([number[label] for label in one], dtype=np.int32)[f.code]
            for f, one in zip(factors, labels, strict=True)
        )
        return Shown(first, second, np.array(names, dtype=str))

    def named(self, column: str) -> NDArray[np.int32]:
        """The candidate that a column names, by its place among the names; -2 for none, -3 for another label."""
        code, labels = self.columns[column]
        number = {name: i for i, name in enumerate(self.shown.names)}
        return np.array([-2 if x is None else number.get(str(x), -3) for x in labels], dtype=np.int32)[code]

    @cached_property
    def nameless(self) -> int:
        """Rows without one of the candidates."""
        return int(((self.shown.first < 0) | (self.shown.second < 0)).sum())

    @cached_property
    def ordered(self) -> tuple[Factor, Factor, Mask]:
        """The candidates with the lower and the higher name, and whether the higher was shown first."""
        if self.nameless:
            raise SchemaError(
                f"'first' or 'second' is missing in {self.nameless:,} of {len(self.columns):,} rows. Name both."
            )
        first, second, names = self.shown
        return Factor(np.minimum(first, second), names), Factor(np.maximum(first, second), names), first > second

    @cached_property
    def pairs(self) -> Codes:
        """Rows numbered by item and candidates, whatever their order."""
        low, high, _ = self.ordered
        item = self.columns["item"]
        return combine(((f.code, len(f.labels)) for f in (item, low, high)), len(self.columns))

    @cached_property
    def candidates(self) -> Factors:
        """The columns, with ``pair`` by number where it can be made: what intervals may be clustered by."""
        return self.with_pair(labels=False).columns if {"item", "first", "second"} <= {*self.names} else self.columns

    def with_pair(self, *, labels: bool = True) -> Study:
        """The study with the column ``pair``: item and candidates as one label, or without need of it by number."""
        if "pair" in self.names:
            return self
        if self.lazy:
            return self.part(with_pair(self.data))
        code, first = self.pairs.code, self.pairs.first
        if not labels:
            return self.part(self.columns.but(pair=Factor(code, range(first.size))))
        low, high, _ = self.ordered
        parts = [np.asarray(f.labels, dtype=object)[f.code[first]] for f in (self.columns["item"], low, high)]
        text = pd.Series([f"{'' if i is None else i}|{a}|{b}" for i, a, b in zip(*parts, strict=True)])
        label, names = pd.factorize(text, sort=True)
        return self.part(self.columns.but(pair=Factor(label.astype(np.int32)[code], pd.Index(names))))


def with_pair(data: FrameT) -> FrameT:
    """Add the column ``pair``: the item and the two candidates, whatever their order."""
    first, second, item = (nw.col(c).cast(nw.String).fill_null("") for c in ("first", "second", "item"))
    low, high = (nw.when(first <= second).then(a).otherwise(b) for a, b in ((first, second), (second, first)))
    return data.with_columns(pair_label(item, low, high).alias("pair"))


def pair_label(item: nw.Expr, low: nw.Expr, high: nw.Expr) -> nw.Expr:
    """The label of a pair, from its item and its candidates in the order of their names."""
    return nw.concat_str(item.cast(nw.String), low, high, separator="|")


def _size(data: LazyFrame) -> int:
    return int(data.select(nw.len().alias(N)).collect(backend="pandas").to_native()[N].iloc[0])
