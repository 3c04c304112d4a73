"""Correct calls of each judge under each strategy: from calls, tallies and printed tables."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import get_args

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.counting.patterns import CHANGED, InvalidVerdict, TiesOfVerdicts
from judgestats.counting.tallies import refuse_further
from judgestats.errors import DesignError, SchemaError, choose, suggestion
from judgestats.models.bias_models.calls import joined, scored
from judgestats.models.coding.model_frames import columns
from judgestats.models.coding.row_counts import first_row
from judgestats.schema.columns import COUNTS, By, N, names
from judgestats.typing import Floats, Ints, Mask

#: Columns of a printed table, in addition to n.
PRINTED = ("k", "baseline_only", "strategy_only")


@dataclass(frozen=True, eq=False)
class Arms:
    """Correct calls of each judge under each strategy, the baseline first."""

    judges: tuple[str, ...]
    strategies: tuple[str, ...]
    n: Floats  # (J, S): calls, or pairs scored together with the baseline; NaN if the judge was not asked
    k: Floats  # (J, S): correct calls; NaN if not known
    b: Floats  # b, c (J, S): items correct only under the baseline, and only under the strategy; NaN if not known
    c: Floats
    # (P, S): with items, patterns of correct answers (1, 0, NaN if not judged); `owner` (P,) is the judge
    answers: Floats | None = None
    owner: Ints | None = None
    count: Floats | None = None  # (P,): items with each pattern
    law: str = "independent"  # assumed joint distribution
    excluded: dict[str, str] = field(default_factory=dict)  # judge -> flag of excluded calls

    @property
    def there(self) -> Mask:
        """Strategies under which each judge was asked, (J, S); always true for the baseline."""
        used: Mask = np.isfinite(self.n)
        used[:, 0] = True
        return used

    @property
    def partial(self) -> bool:
        """Whether some judges lack comparisons that others have."""
        has_b = np.isfinite(self.b)[:, 1:]
        return bool(not self.there.all() or (has_b.any() and not has_b.all()))

    @property
    def shared(self) -> Floats:
        """Correct baseline calls among the pairs of each comparison, or the expected number."""
        with np.errstate(invalid="ignore", divide="ignore"):
            expected = np.round(self.k[:, :1] * self.n / self.n[:, :1])
        exact = self.k - self.c + self.b
        return np.asarray(np.where(np.isfinite(exact) & np.isfinite(expected), exact, expected), np.float64)


def read(data: IntoFrame, baseline: str, judge: str, strategy: str, item: By, ties: str, invalid: str) -> Arms:
    """Counts from calls, a tally or a printed table; arguments as in :func:`strategies`."""
    present = columns(data)
    for name in (judge, strategy):
        if name not in present:
            raise SchemaError(f"There is no column {name!r}. Columns: {', '.join(present)}.{suggestion(name, present)}")
    if {"baseline", "outcome", "n"} <= {*present}:
        refuse_further(present, "compare_strategies", [judge, strategy])
        return _of_changes(data, baseline, judge, strategy, ties, invalid)
    if {*PRINTED, "b", "c"} & {*present} and not {*names(item)} & {*present}:
        return _of_print(data, baseline, judge, strategy)
    if "n" in present and not {"correct", "outcome", "gold"} & {*present}:
        raise SchemaError(
            "The table has the calls 'n' and no count of correct ones. Give 'k' (correct calls), or 'baseline_only' "
            "and 'strategy_only' (discordant pairs); if you have a share, k is the share times n, rounded to a whole "
            f"number. Columns: {', '.join(present)}."
        )
    items = [] if {N, COUNTS} & {*present} and not {*names(item)} & {*present} else names(item)
    calls = scored(data, "correct", [judge, strategy, *items], judge, "strategies", ties, invalid)
    table = calls.table.assign(_judge=joined(calls.table, [judge]), _strategy=joined(calls.table, [strategy]))
    excluded = {j: calls.flag(j) for j in sorted({*table["_judge"]})}
    return replace(_of_calls(table, baseline, items), excluded=excluded)


def _judges_and_strategies(
    table: pd.DataFrame, baseline: str, *, add: bool = False
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    judges, strategies = tuple(sorted({*table["_judge"]})), sorted({*table["_strategy"]})
    if baseline not in strategies and not add:
        raise DesignError(f"baseline={baseline!r} is not a strategy. Strategies: {', '.join(strategies)}.")
    others = [s for s in strategies if s != baseline]
    if not others:
        raise DesignError(f"{baseline!r} is the only strategy. Add the calls of at least one other strategy.")
    return judges, (baseline, *others)


def _of_calls(table: pd.DataFrame, baseline: str, items: list[str]) -> Arms:
    judges, kinds = _judges_and_strategies(table, baseline)
    at = (pd.Categorical(table["_judge"], judges).codes, pd.Categorical(table["_strategy"], kinds).codes)
    n, k = np.zeros((2, len(judges), len(kinds)))
    weight = table["n"].to_numpy(dtype=float)
    np.add.at(n, at, weight)
    np.add.at(k, at, weight * table["correct"].to_numpy(dtype=float))
    n, k, none = np.where(n > 0, n, np.nan), np.where(n > 0, k, np.nan), np.full(n.shape, np.nan)
    _refuse_contradictions(n, k, none, none, judges, kinds)
    if not items:
        return Arms(judges, kinds, n, k, none, none)
    if (weight != 1).any() or table.duplicated([*items, "_judge", "_strategy"]).any():
        raise DesignError("An item was judged twice by one judge under one strategy. aggregate() it to one verdict.")
    wide = table.pivot_table(index=["_judge", *items], columns="_strategy", values="correct")[list(kinds)]
    owner = pd.Categorical(wide.index.get_level_values(0), judges).codes
    grouped = pd.DataFrame(wide.to_numpy(dtype=float)).assign(owner=owner)
    grouped = grouped.groupby([*grouped.columns], dropna=False).size().reset_index(name="count")
    patterns, counts = grouped[[*range(len(kinds))]].to_numpy(dtype=float), grouped["count"].to_numpy(dtype=float)
    owners = grouped["owner"].to_numpy(dtype=np.int64)
    _, _, b, c = crossed(patterns, owners, counts, len(judges))
    return Arms(judges, kinds, n, k, b, c, patterns, owners, counts)


def crossed(answers: Floats, owner: Ints, count: Floats, judges: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Pairs with the baseline; those correct under each strategy, only under the baseline, only under the strategy."""
    base = answers[:, :1]
    both = np.isfinite(answers) & np.isfinite(base)
    parts = (both, answers == 1, (base == 1) & (answers == 0), (base == 0) & (answers == 1))
    totals = np.zeros((4, judges, answers.shape[1]))
    for grid, mark in zip(totals, parts, strict=True):
        np.add.at(grid, owner, count[:, None] * (mark & both))
    totals[:, totals[0] == 0] = np.nan
    totals[2:, :, 0] = np.nan
    return totals[0], totals[1], totals[2], totals[3]


def paired(arms: Arms) -> Arms:
    """The same data as pairs with the baseline, without items."""
    if arms.answers is None or arms.owner is None or arms.count is None:
        return arms
    n, k, b, c = crossed(arms.answers, arms.owner, arms.count, len(arms.judges))
    return replace(arms, n=n, k=k, b=b, c=c, answers=None, owner=None, count=None)


def _of_changes(data: IntoFrame, baseline: str, judge: str, strategy: str, ties: str, invalid: str) -> Arms:
    choose(ties, get_args(TiesOfVerdicts), "ties")
    choose(invalid, get_args(InvalidVerdict), "invalid")
    table = nw.from_native(data).lazy().collect(backend="pandas").to_native()
    answers = table[["baseline", "outcome"]].astype(str).to_numpy(dtype=object)
    if unknown := sorted({*answers.ravel()} - {*CHANGED}):
        raise SchemaError(f"'baseline' or 'outcome' has {unknown[0]!r}. Allowed: {', '.join(CHANGED)}.")
    out = {"missing", *(["invalid"] if invalid == "drop" else []), *(["tie"] if ties == "drop" else [])}
    valid = ~np.isin(answers, list(out)).any(axis=1)
    right = answers == "correct"
    calls = _count_column(table["n"], "n", table[[judge, strategy]])
    weight = np.where(valid, calls, 0.0)
    if not np.isfinite(weight).all():
        raise SchemaError("'n' is missing in a row. Give the number of pairs.")
    pairs = _count_column(table["pairs"], "pairs", table[[judge, strategy]]) if "pairs" in table else np.nan
    parts = {"all": valid, "base": right[:, 0], "own": right[:, 1], "b": right[:, 0] & ~right[:, 1]}
    sums = table[[judge, strategy]].assign(**{k: weight * v for k, v in parts.items()}, pairs=pairs)
    sums = sums.groupby([judge, strategy]).agg({**dict.fromkeys(parts, "sum"), "pairs": "max"}).reset_index()
    b, c = sums["b"], sums["own"] - sums["base"] + sums["b"]
    whole = (sums["all"] > b + c) | sums["pairs"].isna()
    if (sums["all"] == b + c).all() and sums["pairs"].isna().any():
        raise SchemaError("The table has discordant pairs only. Give the number of all pairs in a column 'pairs'.")
    wide = sums[[judge, strategy]].assign(n=sums["all"].where(whole, sums["pairs"]), k=sums["own"].where(whole))
    wide = wide.assign(baseline_only=b, strategy_only=c, _base=sums["base"].where(whole))
    arms = _of_print(wide, baseline, judge, strategy, add=True)
    same = wide.groupby(judge).agg({"n": ["nunique", "first"], "_base": ["nunique", "first"]})
    for j, name in enumerate(arms.judges):  # the baseline's own count, where all comparisons have the same pairs
        r = same.loc[next(i for i in same.index if str(i) == name)]
        if r["n", "nunique"] == 1 and r["_base", "nunique"] == 1:
            arms.n[j, 0], arms.k[j, 0] = r["n", "first"], r["_base", "first"]
    lost = table.assign(_lost=np.where(valid, 0.0, calls)).groupby(judge)["_lost"].sum()
    return replace(arms, excluded={str(j): flags.EXCLUDED.of(v, what="pair(s)") for j, v in lost.items()})


def _of_print(data: IntoFrame, baseline: str, judge: str, strategy: str, *, add: bool = False) -> Arms:
    table = nw.from_native(data).lazy().collect(backend="pandas").to_native()
    table = table.rename(columns={"b": PRINTED[1], "c": PRINTED[2]})
    if "n" not in table:
        raise SchemaError("The table has no column 'n'. Give the number of calls, or of pairs, in each row.")
    table = table.assign(_judge=joined(table, [judge]), _strategy=joined(table, [strategy]))
    if table.duplicated(["_judge", "_strategy"]).any():
        raise SchemaError("A judge and a strategy have two rows. Give one row for each.")
    judges, kinds = _judges_and_strategies(table, baseline, add=add or "k" not in table)
    at = (pd.Categorical(table["_judge"], judges).codes, pd.Categorical(table["_strategy"], kinds).codes)
    grids = []
    for name in ("n", *PRINTED):
        grid = np.full((len(judges), len(kinds)), np.nan)
        grid[at] = _count_column(table[name], name, table[[judge, strategy]]) if name in table else np.nan
        grids.append(grid)
    n, k, b, c = grids
    _refuse_contradictions(n, k, b, c, judges, kinds)
    return Arms(judges, kinds, n, k, b, c)


def _count_column(values: pd.Series, name: str, keys: pd.DataFrame) -> Floats:
    """A column of counts, NaN where missing; `keys` identify the row in messages."""
    counts: Floats = pd.to_numeric(values, errors="coerce").to_numpy(dtype=float)
    wrong = values.notna().to_numpy() & ~((counts >= 0) & (counts == np.round(counts)))
    if wrong.any():
        row = first_row(keys.assign(**{name: values.to_numpy(dtype=object)}), wrong)
        raise SchemaError(
            f"{name!r} is not a count in {wrong.sum():,} of {len(wrong):,} rows (first: {row}). Give whole "
            "numbers, 0 or more; leave the cell empty where a count is not known."
        )
    return counts


def _refuse_contradictions(
    n: Floats, k: Floats, b: Floats, c: Floats, judges: tuple[str, ...], kinds: tuple[str, ...]
) -> None:
    """Raise if counts contradict each other, or are missing."""
    counted = np.isfinite(k) | (np.isfinite(b) & np.isfinite(c))
    inconsistent = k[:, :1] - b + c != k
    inconsistent &= np.isfinite(k[:, :1] - b + c + k) & (n == n[:, :1])
    for bad, words in (
        (counted & (n == 0), "has n = 0: leave the row out"),
        (counted & ~(n >= 0), "has counts and no 'n'"),
        (k > n, "has more correct calls than calls"),
        (b + c > n, "has more discordant pairs than pairs"),
        (np.isfinite(b) != np.isfinite(c), "has b without c"),
        (np.isfinite(n) & ~counted & (np.arange(n.shape[1]) > 0), "has 'n' and no counts"),
        (inconsistent, "has k, b and c that contradict k of the baseline"),
    ):
        if bad.any():
            j, s = np.argwhere(bad)[0]
            raise SchemaError(f"{judges[j]}, {kinds[s]} {words}. Correct the table.")
    lone = ~np.isfinite(n[:, 1:]).any(axis=1) | (~np.isfinite(k[:, 0]) & ~np.isfinite(b[:, 1:]).any(axis=1))
    if lone.any():
        raise DesignError(f"{judges[int(np.argmax(lone))]} has no comparison with the baseline. Leave it out.")
