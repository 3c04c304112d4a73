"""Ratings -> cells: the runs of a judge on one thing rated, as mean, sd and runs; the reduction of unit ``cell``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import Frame
from numpy.typing import NDArray

from judgestats.counting.panels import ScorePanel
from judgestats.counting.splitting import eager_splits, lazy_splits, refuse_splits
from judgestats.counting.study import Calls, Study
from judgestats.errors import DesignError, SchemaError, data_rows, suggestion
from judgestats.kernels.deviation import cell_means
from judgestats.kernels.proportions import quotient
from judgestats.schema.coding import compact, joint, numbers_of, refuse_infinite
from judgestats.schema.columns import COUNTS, VOCABULARY, By, N, grouping, names
from judgestats.schema.declared_counts import call_counts, counted
from judgestats.schema.factors import Factor, Factors
from judgestats.schema.opening import engine_errors, frame_columns, one_if, refuse_nested
from judgestats.typing import Floats, Integers, LazyFrame

#: What a cell is about, besides the ``by`` columns, and what an absent column stands for.
ABOUT = {"system": "", "item": "", "criterion": "overall"}
#: Column of a lazy frame's averages: how many of the scores are infinite.
_INFINITE = "_infinite"
_NAMES = {c.name for c in VOCABULARY["ratings"]}
Ints = NDArray[np.int32]


def cells(frame: Calls, by: By = (), ddof: int = 1) -> pd.DataFrame:
    """Mean, sd, runs and missing scores of each judge on each thing rated, sorted by the `by` columns and the keys.

    `frame`: raw scores, perhaps with declared counts, or means (``mean``, and ``sd``, ``runs``), in any engine; a lazy
    frame is averaged where it lies. `ddof`: the sd has the divisor ``runs - ddof``.
    """
    study = Study.of(frame)
    return study.once(("frame of cells", *names(by), ddof), lambda: _frame(score_panel(study, by, ddof))).copy(
        deep=False
    )


def order_of_cells(panel: ScorePanel) -> Integers:
    """Entries of a panel in the order of its frame: by the columns that are not about the thing, judge, and those."""
    extra, about = ([panel.of_entries(k) for k in panel.things.names if (k in ABOUT) == within] for within in (0, 1))
    return np.lexsort([*reversed(about), panel.judge, *reversed(extra)])


def _frame(panel: ScorePanel) -> pd.DataFrame:
    order, columns = order_of_cells(panel), panel.things.names
    columns = [*ABOUT, *(k for k in columns if k not in ABOUT)]
    factors = {"judge": Factor(panel.judge, panel.judges).at(order)}
    factors |= {k: panel.things[k].at(panel.thing[order]) for k in columns}
    runs, missing = (np.asarray(x, dtype=float)[order] for x in (panel.runs, panel.missing))
    numbers = {"mean": panel.mean[order], "sd": panel.sd[order], "runs": runs, "n_missing": missing}
    return Factors(factors=factors, rows=order.size).frame(**numbers)


@engine_errors
def score_panel(
    frame: Calls,
    by: By = (),
    ddof: int = 1,
    *,
    judge: str | None = "judge",
    called: Mapping[str, str] = MappingProxyType({}),
) -> ScorePanel:
    """Average as :func:`cells` does, and keep the codes; `called`: column -> its name for people."""
    study = Study.of(frame).occurring
    key = ("cells", *names(by), ddof, judge, *called.items())
    return study.once(key, lambda: _score_panel(study, by, ddof, judge, called))


def _score_panel(study: Study, by: By, ddof: int, judge: str | None, called: Mapping[str, str]) -> ScorePanel:
    data = study.scores.data
    refuse_nested(data, [*_NAMES, *names(by)])
    present = frame_columns(data)
    value = _value_column(present, judge)
    keys = [*grouping(by, [c for c in present if c != value]), *(k for k in ABOUT if k in present)]
    keys = list(dict.fromkeys([*keys, *([judge] if judge else [])]))
    weight = score_counts(data, value, keys)
    whole, key_names = data, [called.get(k, k) for k in keys]
    averaged = value == "score" and isinstance(data, nw.LazyFrame) and weight is None
    if averaged:
        data, value = _lazy_averages(data, keys), "mean"
    elif value == "score" and isinstance(data, nw.LazyFrame):
        refuse_splits(lazy_splits(whole, keys) if judge else [], key_names)
        data = data.group_by(*keys, "score").agg(nw.col(COUNTS).sum())
    wanted, there = (COUNTS,) if value == "score" else ("sd", "runs", "n_missing"), frame_columns(data)
    numeric = [value, *(c for c in wanted if c in there)]
    if study.lazy:
        columns = Factors(_collect(data.select(*keys, *numeric, *([_INFINITE] if averaged else [])), keys))
    else:
        columns = study.scores.columns
    if averaged:
        table = columns.frame(["runs", "n_missing", _INFINITE])
        refuse_infinite("score", int(table[_INFINITE].sum()))
        if judge and ((table["runs"] + table["n_missing"]) > 1).any():
            refuse_splits(lazy_splits(whole, keys), key_names)
    coded = dict(zip(keys, columns.of(keys), strict=True))
    numbers = {c: (call_counts if c == COUNTS else numbers_of)(columns.series(c)) for c in numeric}
    check = _check(whole, keys, judge, key_names)
    result = _raw(coded, numbers, ddof, judge, check) if value == "score" else _summarised(coded, numbers, judge, check)
    return replace(result, sd=_rescaled(result.sd, result.runs, ddof)) if averaged else result


#: Takes the unit of each row, how many there are, and whether they may repeat; raises where a column splits them.
_Check = Callable[[Integers, int, bool], None]


def _check(data: Frame, keys: list[str], judge: str | None, key_names: list[str]) -> _Check:
    """Search for columns that split the units; rows without a judge are raters, which nothing else distinguishes."""

    def check(unit: Integers, n_units: int, may_repeat: bool) -> None:
        if not isinstance(data, nw.LazyFrame):
            if judge or not may_repeat:
                refuse_splits(eager_splits(data, unit, n_units, keys, strict=may_repeat), key_names)
        elif not may_repeat:  # scores of a lazy frame have been looked at where they lie
            refuse_splits(lazy_splits(data, keys, strict=False), key_names)

    return check


def score_counts(data: Frame, value: str, other_roles: Iterable[str] = ()) -> str | None:
    """Name of the column of declared counts of raw scores, or None; means have none."""
    if value == "score":
        return counted(data, other_roles, "ratings")
    present = frame_columns(data)
    column = next((c for c in (N, COUNTS) if c in present and c not in other_roles), None)
    if column is not None:
        raise SchemaError(
            f"A table of means has a column {column!r}, and means have no counts. Did you mean 'runs', the number of "
            f"scores behind a mean? ratings(frame, runs={column!r}). If it is something else, rename or drop it."
        )
    return None


def _value_column(present: list[str], judge: str | None) -> str:
    value = "score" if "score" in present else "mean"
    missing = [c for c in (judge, value) if c is not None and c not in present]
    if missing:
        hints = "".join(suggestion(m, present) for m in missing)
        wanted = " (or mean)" if "mean" in missing else ""
        missing = ["score" if m == "mean" else m for m in missing]
        raise SchemaError(
            f"The table lacks {', '.join(missing)}{wanted} for ratings. Columns: {', '.join(present)}.{hints} Map it "
            "with ratings(frame, judge='...', system='...', item='...', score='...')."
        )
    return value


def _collect(data: Frame, keys: list[str]) -> pd.DataFrame:
    if isinstance(data, nw.LazyFrame):
        data = data.collect(backend="pandas")
    elif data.implementation.is_polars():  # categories cross over as codes, strings one by one
        text = [k for k, dtype in data.select(*keys).schema.items() if dtype == nw.String]
        data = data.with_columns(nw.col(c).cast(nw.Categorical) for c in text) if text else data
    return data.to_pandas()


def _lazy_averages(data: LazyFrame, keys: list[str]) -> LazyFrame:
    """Average a lazy frame in its own engine."""
    score = nw.col("score").cast(nw.Float64)
    infinite = one_if(~score.is_nan() & ~score.is_finite())
    data = data.with_columns(nw.when(score.is_finite()).then(score).alias("score"), infinite.alias(_INFINITE))
    return data.group_by(*keys).agg(
        nw.col("score").mean().alias("mean"),
        nw.col("score").std(ddof=1).alias("sd"),
        nw.col("score").count().alias("runs"),
        one_if(nw.col("score").is_null()).sum().alias("n_missing"),
        nw.col(_INFINITE).sum(),
    )


def _rescaled(sd: Floats, runs: Floats | Integers, ddof: int) -> Floats:
    """Sd with the divisor ``runs - ddof``, from one with ``runs - 1``."""
    if ddof == 1:
        return sd
    runs = np.asarray(runs, dtype=float)
    return sd * np.sqrt(quotient(runs - 1, runs - ddof, (runs > 1) & (runs > ddof)))


def _units(coded: dict[str, Factor], judge: str | None) -> tuple[Ints, tuple[Factors, pd.Index, Ints, Ints]]:
    """Entry of each row, and the panel: things, judges, and the thing and judge of each entry."""
    rows = len(next(iter(coded.values())).code)
    about = [k for k in coded if k != judge]
    code, size = joint([(coded[k].code, len(coded[k].labels)) for k in about], rows)
    judges = len(coded[judge].labels) if judge else 1
    dense = size * judges <= 4 * rows + 10**6
    if not dense:
        code, cell_codes = compact(code, size)
        size = cell_codes.size
    if size * judges >= 2**31:
        code = code.astype(np.int64)
    code *= judges
    if judge:
        code += coded[judge].code
    unit, codes = compact(code, size * judges)
    del code
    number = codes // judges
    cell, cells_ = compact(number, size)
    keys = _decoded(cells_, coded, about) if dense else _looked_up(cell, cells_.size, unit, codes.size, coded, about)
    things = {k: Factor(keys[k], coded[k].labels) for k in about}
    for name, label in ABOUT.items():  # what the table lacks: one item, one criterion
        if name not in things:
            things[name] = Factor(np.zeros(cells_.size, np.int32), np.array([label], dtype=object))
    names_of_things = [*(k for k in things if k not in ABOUT), *ABOUT]
    factors = Factors(factors={k: things[k] for k in names_of_things}, rows=cells_.size)
    labels = coded[judge].labels if judge else pd.Index([""])
    return unit, (factors, labels, cell, (codes - number * judges).astype(np.int32))


def _decoded(codes: Integers, coded: dict[str, Factor], about: list[str]) -> dict[str, Ints]:
    keys: dict[str, Ints] = {}
    for name in reversed(about):
        levels = max(len(coded[name].labels), 1)
        keys[name] = (codes % levels).astype(np.int32)
        codes = codes // levels
    return {name: keys[name] for name in about}


def _looked_up(
    cell: Integers, n_cells: int, unit: Integers, n_units: int, coded: dict[str, Factor], about: list[str]
) -> dict[str, Ints]:
    row_of_unit, unit_of_cell = np.zeros(n_units, np.int64), np.zeros(n_cells, np.int64)
    row_of_unit[unit] = np.arange(len(unit))
    unit_of_cell[cell] = np.arange(n_units)
    rows = row_of_unit[unit_of_cell]
    return {name: coded[name].code[rows].astype(np.int32) for name in about}


def _raw(
    coded: dict[str, Factor], numbers: dict[str, Floats], ddof: int, judge: str | None, check: _Check
) -> ScorePanel:
    unit, panel = _units(coded, judge)
    coded.clear()
    n_units = panel[-1].size
    if n_units < len(unit):
        check(unit, n_units, True)
    weight = numbers.get(COUNTS, np.zeros(0)).astype(np.int64)
    if n_units == len(unit) and not weight.size:  # one score a unit: nothing to average
        mean = np.empty(n_units)
        mean[unit] = numbers["score"]
        missing = np.isnan(mean)
        unknown = np.broadcast_to(np.float64(np.nan), (n_units,))
        return ScorePanel(*panel, mean, unknown, (~missing).view(np.int8), missing.view(np.int8))
    means = cell_means(unit, numbers["score"], weight, n_units)
    sd = np.sqrt(quotient(means.squares, means.runs - ddof, (means.runs > 1) & (means.runs > ddof)))
    return ScorePanel(*panel, means.mean, sd, means.runs, means.missing)


def _summarised(coded: dict[str, Factor], numbers: dict[str, Floats], judge: str | None, check: _Check) -> ScorePanel:
    unit, panel = _units(coded, judge)
    n_units = panel[-1].size
    if n_units < len(unit):
        check(unit, n_units, False)
        _refuse_twice(unit, coded)
    row = np.empty(n_units, dtype=np.int64)
    row[unit] = np.arange(len(unit))
    unknown = np.full(n_units, np.nan)
    mean = numbers["mean"][row]
    sd, runs = (numbers[c][row] if c in numbers else unknown for c in ("sd", "runs"))
    missing = numbers["n_missing"][row] if "n_missing" in numbers else np.isnan(mean).astype(float)
    return ScorePanel(*panel, mean, sd, runs, missing)


def _refuse_twice(unit: Integers, coded: dict[str, Factor]) -> None:
    twice = np.bincount(unit)[unit] > 1
    row = int(np.flatnonzero(twice)[0])
    example = ", ".join(f"{k}={labels[code[row]]}" for k, (code, labels) in coded.items())
    raise DesignError(
        f"A table of means has several rows of one cell: {int(twice.sum())} rows (first: {data_rows([row])}, "
        f"{example}). Name the column that distinguishes them in by=, or give raw scores, which are averaged."
    )
