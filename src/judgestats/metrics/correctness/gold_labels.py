"""Verdicts with a gold label, scores with the right one, and the number of those without."""

from __future__ import annotations

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.counting.cells import ABOUT
from judgestats.counting.study import Calls, Study
from judgestats.errors import DesignError, SchemaError, data_rows
from judgestats.kernels.proportions import quotient
from judgestats.metrics.exclusions import ExcludedCalls
from judgestats.schema.coding import as_text, codes_of, refuse_infinite
from judgestats.schema.columns import By, answer_column, grouping, names, required
from judgestats.schema.findings import Finding, as_frame
from judgestats.schema.opening import narwhals_frame
from judgestats.typing import LazyFrame


def with_right_scores(means: pd.DataFrame, ratings: Calls, gold: str | IntoFrame, extra: list[str]) -> pd.DataFrame:
    """Add the gold score of each response to its mean score."""
    if isinstance(gold, str):
        data = Study.of(ratings).data.lazy()
        present = data.collect_schema().names()
        if gold not in present:
            raise SchemaError(f"There is no column {gold!r} of right scores. Columns: {', '.join(present)}.")
        keys = [c for c in (*ABOUT, *extra) if c in present]
        right_scores = data.select(*dict.fromkeys([*keys, gold])).unique().collect(backend="pandas").to_native()
        right_scores = right_scores.dropna(subset=[gold])
        twice = right_scores.duplicated(list(dict.fromkeys(keys)))
        if twice.any():
            one = right_scores[twice].iloc[0]
            raise SchemaError(f"Item {one['item']!r} has several right scores in {gold!r}. Give it one.")
        value = gold
    else:
        right_scores = narwhals_frame(gold).lazy().collect(backend="pandas").to_native()
        score_columns = [c for c in ("score", "mean", "value", "gold") if c in right_scores.columns]
        if "item" not in right_scores.columns or not score_columns:
            raise SchemaError(f"Right scores need 'item' and 'score'. Columns: {', '.join(right_scores.columns)}.")
        value, keys = score_columns[0], [c for c in (*ABOUT, *extra) if c in right_scores.columns]
    keys = list(dict.fromkeys(keys))
    number = pd.to_numeric(right_scores[value], errors="coerce")
    if (text := number.isna() & right_scores[value].notna()).any():
        raise SchemaError(f"A right score in {value!r} is not a number: {right_scores.loc[text, value].iloc[0]!r}.")
    refuse_infinite(value, int(np.isinf(number.to_numpy(dtype=float, na_value=np.nan)).sum()))
    there = number.notna().to_numpy()
    codes = codes_of(pd.concat([_as_text(means[keys]), _as_text(right_scores.loc[there, keys])]), keys)
    rated, right = np.split(codes.code, [len(means)])
    total, n = (np.bincount(right, x, codes.size) for x in (number[there].to_numpy(dtype=float), None))
    return means.assign(_gold=quotient(total, n, n > 0)[rated])


def _as_text(keys: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({name: as_text(values) for name, values in keys.items()})


_ALLOWED = "Give the id of the right candidate, 'tie', or nothing."


def labelled_calls(calls: Calls, by: By, measure: str = "gold_agreement") -> tuple[Study, ExcludedCalls]:
    """Calls with a gold label, and the number of calls without one, per group."""
    study = Study.of(calls)
    if not {"gold", *required("preferences")} <= {*study.names}:
        return study, ExcludedCalls()  # a tally, or a table that count() will refuse
    gold = nw.col("gold").cast(nw.String)

    def labelled() -> tuple[Study, ExcludedCalls]:
        if study.lazy and _is_labelled(study.data, gold):
            return study, ExcludedCalls()
        _refuse_unknown_gold(study, gold)
        return _with_gold(study, gold.is_null() | (gold == ""), by, "calls without gold", measure)

    return study.once(("labelled", *names(by), measure), labelled)


def labelled_verdicts(ratings: Calls, by: By, measure: str = "accuracy") -> tuple[Study, ExcludedCalls]:
    """Verdicts with a gold label, or all if there is no gold column; and the number of the others."""
    study = Study.of(ratings)
    if not {"gold", "judge", answer_column(study.names)} <= {*study.names}:
        return study, ExcludedCalls()
    gold, dtype = nw.col("gold"), study.data.collect_schema()["gold"]
    missing = gold.is_null() | (gold.is_nan() if dtype.is_float() else gold.cast(nw.String) == "")
    what = "verdicts without gold"
    return study.once(("labelled", *names(by), measure), lambda: _with_gold(study, missing, by, what, measure))


def _with_gold(study: Study, unlabelled: nw.Expr, by: By, what: str, measure: str) -> tuple[Study, ExcludedCalls]:
    """Rows with a gold label, and the number of rows without one, per group."""
    groups = list(dict.fromkeys(["judge", *grouping(by, study.names)]))
    study.refuse_undeclared(groups)
    without, labelled = (study.filtered(["gold"], rows) for rows in (unlabelled, ~unlabelled))
    excluded = ExcludedCalls.of(without, groups, what)
    if not len(excluded.table):
        return study, excluded
    if not labelled.n_rows:
        raise DesignError(f"{measure} needs the right answer, and 'gold' is empty in every row.")
    return labelled, excluded


def _is_answer(gold: nw.Expr) -> nw.Expr:
    """Whether a gold label is one of the candidates, or a tie."""
    first, second = (nw.col(c).cast(nw.String) for c in ("first", "second"))
    return ((gold == first) | (gold == second) | (gold == "tie")).fill_null(False)


def _is_labelled(data: LazyFrame, gold: nw.Expr) -> bool:
    """Whether each call of a lazy frame has a gold label that is an answer: one look at the columns that say so."""
    return len(data.filter(~_is_answer(gold)).select("gold").head(1).collect(backend="pandas")) == 0


def _refuse_unknown_gold(study: Study, gold: nw.Expr) -> None:
    """Raise where a gold label is neither candidate nor ``tie``, with row numbers where the frame has an order."""
    columns, numbers = ["item", "first", "second", "gold"], np.empty(0, dtype=int)
    if study.lazy:
        bad = (
            study.data.filter(~gold.is_null() & (gold != "") & ~_is_answer(gold))
            .select(*columns)
            .collect(backend="pandas")
            .to_native()
        )
    else:
        place, pair, none = study.named("gold"), study.shown, study.columns["gold"].among(None, "", "tie")
        numbers = np.flatnonzero((place != pair.first) & (place != pair.second) & ~none)
        bad = study.columns.take(numbers).frame(columns) if numbers.size else []
    if not len(bad):
        return
    rows = "" if study.lazy else f" ({data_rows(list(numbers))})"
    one = bad.iloc[0]
    where = tuple(map(int, numbers))
    fault = Finding("fault", "gold", "'gold' is neither candidate nor 'tie'", where, str(one["gold"]), _ALLOWED)
    faults = as_frame([fault]).assign(n=len(bad))
    raise SchemaError(
        f"'gold' is neither candidate nor 'tie' in {len(bad):,} row{'s' * (len(bad) != 1)}{rows}. The first: item "
        f"{one['item']!r} shows {one['first']!r} and {one['second']!r}, and its gold is {one['gold']!r}. {_ALLOWED}",
        faults=faults,
    )
