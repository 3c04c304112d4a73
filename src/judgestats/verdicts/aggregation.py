"""Calls to verdicts, scores to the score of a panel: :func:`aggregate` and its rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray

from judgestats.arguments import checked_arguments
from judgestats.counting.splitting import splits_here
from judgestats.counting.study import refuse_unknown_order
from judgestats.defaults import CONF_LEVEL, SEED
from judgestats.errors import DesignError, SchemaError, choose, data_rows, suggestion
from judgestats.schema.coding import Codes, as_scores, codes_of, column_codes, combine
from judgestats.schema.columns import (
    CHOICES,
    COUNTS,
    PREFERENCES,
    RATINGS,
    UNIT_COLUMNS,
    By,
    Column,
    Kind,
    grouping,
    key_columns,
    kind_of,
    names,
)
from judgestats.schema.declared_counts import call_counts, counted
from judgestats.schema.opening import engine_errors
from judgestats.typing import Floats, Ints, Mask, Seed
from judgestats.verdicts.latent_classes import DAWID_SKENE, DawidSkene, Labels, fitted, verdicts_of

# ---- Shared by both kinds of aggregation: which calls belong together, how many to expect, what is carried over -----

#: Name of the judge when judges are aggregated over.
PANEL = "panel"
#: Status of an aggregate that lacks a call it should have.
MISSING_PARTNER = "missing partner"
#: Columns that say how the judge was asked; the replicates, judges or prompts to expect are counted within these.
_ASKED_HOW = ("judge", "strategy", "scheme", "probe", "prompt", "temperature", "condition")


@dataclass(frozen=True)
class Groups:
    """The calls that one aggregate is made of: `codes` of the rows, and how each group is asked, its `scope` (G,).

    `members` (M,): scope of each panel member that occurs (a replicate, a judge, ...). `member_rows` (M,): a row of
    each.
    """

    codes: Codes
    scope: NDArray[np.integer[Any]]
    members: NDArray[np.integer[Any]]
    member_rows: Ints

    def expected(self) -> Ints:
        """(G,) how many members the panel of each group has."""
        sizes = np.bincount(self.members, minlength=int(self.scope.max(initial=-1)) + 1)
        return np.asarray(sizes[self.scope], dtype=np.int64)


def group_calls(table: pd.DataFrame, unit: Sequence[str], over: Sequence[str], by: Sequence[str]) -> Groups:
    """Group the rows of `table` by `unit`, and find the panel (the values of `over`) of each way of asking."""
    codes = codes_of(table, unit)
    asked = [c for c in dict.fromkeys([*_ASKED_HOW, *by]) if c in table.columns and c not in over]
    scope = codes_of(table, asked)
    members = combine([(scope.code, scope.size), *(column_codes(table[c]) for c in over)], len(table))
    return Groups(codes, scope.code[codes.first], scope.code[members.first], members.first)


def refuse_repeats(table: pd.DataFrame, groups: Groups, cells: Sequence[tuple[Any, int]], over: Sequence[str]) -> None:
    """Raise where a group has two calls of the same panel member."""
    cell = combine([(groups.codes.code, groups.codes.size), *cells], len(table))
    if cell.size == len(table):
        return
    again = pd.Series(cell.code).duplicated(keep=False).to_numpy()
    rows = np.flatnonzero(cell.code == cell.code[np.flatnonzero(again)[0]])[:2]
    one, two = (table.iloc[row] for row in rows)
    data, kind = nw.from_native(table, eager_only=True), kind_of(table.columns)
    differ = [s.column for s in splits_here(data, cell.code, cell.size, over, kind, strict=False)]
    if any(c in table.columns and str(one[c]) != str(two[c]) for c in ("first", "second")):
        remedy = f"They differ in the order: aggregate over='order' first, or over={[*over, 'order']} together."
    elif differ:
        together = f"over={[*over, differ[0]]} together"
        remedy = f"They differ in {differ[0]!r}: name it in by= to keep them apart, or aggregate {together}."
    else:
        remedy = "They differ only in the answer: number repeats in 'replicate'."
    raise DesignError(
        f"{int(again.sum()):,} calls share a pair and {' and '.join(map(repr, over))} with another call "
        f"(first: {data_rows(rows[:2])}). {remedy}"
    )


def row_counts(table: pd.DataFrame, codes: Codes) -> Floats | None:
    """The declared count of each group, None without such a column; all its calls must have the same count."""
    if COUNTS not in table.columns:
        return None
    n = call_counts(table[COUNTS])
    counts: Floats = n[codes.first]
    if (n != counts[codes.code]).any():
        raise DesignError(
            "Calls to be aggregated have different counts, so they cannot be matched. Give one row per call."
        )
    return counts


def constant(table: pd.DataFrame, codes: Codes, names: Sequence[str]) -> list[str]:
    """Those of `names` that have one value within every group; a missing value is a value."""
    return [name for name in names if not _varies(table[name], codes).any()]


def carried(table: pd.DataFrame, codes: Codes, unit: list[str], dropped: Sequence[str]) -> pd.DataFrame:
    """The columns of a unit, those with one value within each group, except the dropped, and the declared counts."""
    others = [c for c in table.columns if c not in unit and c not in dropped]
    result = table[[*unit, *constant(table, codes, others)]].iloc[codes.first].reset_index(drop=True)
    counts = row_counts(table, codes)
    return result if counts is None else result.assign(**{COUNTS: counts})


def _varies(values: pd.Series[Any], codes: Codes) -> Mask:
    """Rows that differ from the first of their group."""
    try:
        code, _ = column_codes(values)
    except TypeError:  # lists and dicts are not constant within a group
        return np.ones(len(values), dtype=bool)
    return np.asarray(code != code[codes.first][codes.code])


def first_status(table: pd.DataFrame, codes: Codes, failed: Mask, default: str) -> NDArray[np.object_]:
    """(G,) status of each group: the alphabetically first of its failed calls', ``missing partner`` without one."""
    status = np.full(len(table), default, dtype=object)
    if "status" in table.columns:
        said = table["status"].astype(object)
        status = np.where(said.isna() | (said == "ok"), default, said).astype(object)
    result = np.full(codes.size, MISSING_PARTNER, dtype=object)
    rows = np.flatnonzero(failed)
    rows = rows[np.argsort(status[rows].astype(str), kind="stable")[::-1]]
    result[codes.code[rows]] = status[rows]
    return result


def to_table(frame: Any) -> pd.DataFrame:
    """A pandas table of any frame, rows numbered from 0."""
    data = nw.from_native(frame)
    table = data.lazy().collect(backend="pandas").to_native() if isinstance(data, nw.LazyFrame) else data.to_pandas()
    return pd.DataFrame(table).reset_index(drop=True)


def to_native(table: pd.DataFrame, like: Any) -> Any:
    """`table` as a frame of the kind of `like`: pandas, Polars (eager or lazy) or Arrow; else pandas."""
    data = nw.from_native(like)
    kind = data.implementation
    if kind not in (nw.Implementation.POLARS, nw.Implementation.PYARROW):
        return table
    result = nw.from_arrow(pa.Table.from_pandas(table, preserve_index=False), backend=kind)
    return (result.lazy() if isinstance(data, nw.LazyFrame) else result).to_native()


# ---- Counted votes of a pair -> its verdict --------------------------------------------------------------------------

#: Verdicts of a pair: for its lower candidate id, for its higher one, no preference, none.
VERDICTS = ("u", "v", "tie", "invalid")
U, V, TIE, INVALID = range(4)

#: A custom rule: ``rule(n_u, n_v, n_tie, n_missing)`` -> ``'u'``, ``'v'``, ``'tie'`` or ``'invalid'``.
Custom = Callable[[int, int, int, int], str]
Votes = Ints
Rows = NDArray[np.intp]
Verdicts = Ints


@dataclass(frozen=True)
class Rule:
    """Votes (G, 4) for u, for v, ties, missing -> (G,) verdict, and whether a tie is the judges' own (`native`)."""

    decide: Callable[[Votes], Verdicts]
    native: Callable[[Votes], Mask]


def _unanimous(votes: Votes) -> Verdicts:
    u, v, tie, _ = votes.T
    return np.where((v == 0) & (tie == 0), U, np.where((u == 0) & (tie == 0), V, TIE))


def _plurality(votes: Votes) -> Verdicts:
    u, v, tie, _ = votes.T
    return np.where(u > np.maximum(v, tie), U, np.where(v > np.maximum(u, tie), V, TIE))


def _net(votes: Votes) -> Verdicts:
    u, v, _, _ = votes.T
    return np.where(u > v, U, np.where(v > u, V, TIE))


def _no_side_taken(votes: Votes) -> Mask:
    return np.asarray((votes[:, U] == 0) & (votes[:, V] == 0))


def _ties_lead(votes: Votes) -> Mask:
    return np.asarray(votes[:, TIE] > np.maximum(votes[:, U], votes[:, V]))


#: The built-in rules.
RULES: dict[str, Rule] = {
    "swap": Rule(_unanimous, _no_side_taken),
    "majority": Rule(_plurality, _ties_lead),
    "net": Rule(_net, _no_side_taken),
}


def rule_of(how: str | Custom) -> Rule:
    """A rule of :data:`RULES` by its name, or one of your own, asked once for each combination of counts."""
    if callable(how):
        return Rule(_asked(how), _no_side_taken)
    return RULES[choose(how, [*RULES, DAWID_SKENE], "how")]


def _asked(rule: Custom) -> Callable[[Votes], Verdicts]:
    def decide(votes: Votes) -> Verdicts:
        patterns, which = np.unique(votes, axis=0, return_inverse=True)
        answers = [_answer(rule, [int(c) for c in pattern]) for pattern in patterns]
        return np.array(answers, dtype=np.int64)[which.reshape(-1)]

    return decide


def _answer(rule: Custom, pattern: list[int]) -> int:
    answer = rule(*pattern)
    if answer not in VERDICTS:
        name = getattr(rule, "__name__", repr(rule))
        raise DesignError(
            f"how={name} answered {answer!r} to (n_u, n_v, n_tie, n_missing) = {tuple(pattern)}. "
            f"Allowed: {', '.join(map(repr, VERDICTS))}."
        )
    return VERDICTS.index(answer)


# ---- Votes of several calls on a pair -> one verdict on the pair -----------------------------------------------------

#: A verdict as a choice, in canonical order; the vote of a choice, before the order is undone.
_SLOTS = np.array(["first", "second", "tie", "invalid"], dtype=object)
_VOTES = {"first": U, "second": V, "tie": TIE, "abstain": TIE, "invalid": INVALID}
_SUMMED = ("cost", "latency")
#: Columns of a call, not of its pair: recomputed, summed or dropped.
_OF_THE_CALL = ("choice", "status", "order_known", "strength", "rationale", *_SUMMED, "n", "tie_kind", "n_calls")
_OF_THE_PAIR = ("gold", "better")
_NOT_OVER = ("item", "first", "second", "pair", "target", "ties_allowed", *_OF_THE_CALL, *_OF_THE_PAIR)


@dataclass(frozen=True)
class _Grouped:
    """Calls, grouped: the columns of a `unit`, a pair or a response, and those of `over` but the order."""

    table: pd.DataFrame
    groups: Groups
    unit: list[str]
    over: list[str]


@dataclass(frozen=True)
class _Pairs(_Grouped):
    """Calls on pairs, the lower candidate id first: `vote` (N,) of each, and `votes` (G, 4) of each pair."""

    vote: Ints
    votes: Votes


def _grouped_pairs(calls: pd.DataFrame, over: Sequence[str], by: Sequence[str]) -> _Pairs:
    """Group the calls of each pair; refuse an `over` that cannot be, and calls that repeat each other."""
    for name in over:
        varying = (c for c in calls.columns if c not in _NOT_OVER and not c.endswith(("_first", "_second")))
        choose(name, ["order", *varying], "over")
    if "order" in over:
        refuse_unknown_order(nw.from_native(calls), list(calls.columns))
    table, reverse = _canonical(calls)
    conditions = [c for c in dict.fromkeys(["judge", *UNIT_COLUMNS, *by]) if c in table.columns and c not in over]
    unit = ["item", "first", "second", *conditions]
    columns = [c for c in over if c != "order"]
    groups = group_calls(table, unit, columns, by)
    cells = [column_codes(table[c]) for c in columns] + ([(reverse.astype(np.int64), 2)] if "order" in over else [])
    refuse_repeats(calls, groups, cells, over)
    vote = _vote_of(table["choice"], reverse)
    votes = _votes(vote, groups.codes, groups.expected() * (2 if "order" in over else 1))
    return _Pairs(table, groups, unit, columns, vote, votes)


def aggregate_pairs(
    calls: pd.DataFrame, how: str | Custom, over: list[str], by: list[str], missing: str, starts: tuple[int, Seed]
) -> pd.DataFrame:
    """Aggregate preferences; see :func:`judgestats.aggregate`."""
    rule = None if how == DAWID_SKENE else rule_of(how)
    found = _grouped_pairs(calls, over, by)
    table, codes, votes = found.table, found.groups.codes, found.votes
    short = votes[:, INVALID] > 0 if missing == "invalid" else votes[:, :INVALID].sum(axis=1) == 0
    verdict = np.full(codes.size, INVALID)
    sure = None
    if rule is None:
        labels, answers = _labels_of_pairs(found, by)
        best, sure = verdicts_of(labels, *starts, CONF_LEVEL)
        verdict[~short] = np.where(best < 0, TIE, answers[best])[~short]
        native = (best >= 0) & ~_made_by_a_rule(table, codes)
    else:
        verdict[~short] = rule.decide(votes[~short])
        native = rule.native(votes) & ~_made_by_a_rule(table, codes)
    result = _carried(table, codes, found.unit, found.over)
    result["choice"] = pd.Categorical(_SLOTS[verdict], categories=list(CHOICES))
    status = first_status(table, codes, (table["choice"] == "invalid").to_numpy(dtype=bool), "parse")
    result["status"] = np.where(verdict == INVALID, status, "ok")
    result["order_known"] = False
    result["tie_kind"] = np.where(verdict == TIE, np.where(native, "native", "disagreement"), "")
    behind = table["n_calls"].to_numpy(dtype=float) if "n_calls" in table.columns else np.ones(len(table))
    result["n_calls"] = np.bincount(codes.code, weights=behind, minlength=codes.size).astype(np.int64)
    if sure is not None:
        result["confidence"] = np.where(verdict == INVALID, np.nan, sure)
    return in_order(result, PREFERENCES, ["tie_kind", "n_calls"], list(dict.fromkeys(["judge", *found.unit])))


def _labels_of_pairs(found: _Pairs, by: Sequence[str]) -> tuple[Labels, Ints]:
    """Labels of a panel on pairs, and the verdict that each class is.

    Where pairs have different candidates, the alphabet alone would tell them apart: the model treats both sides alike.
    """
    valid = np.flatnonzero(found.vote != INVALID)
    sides = found.table[["first", "second"]].drop_duplicates()
    present = np.unique(found.vote[valid])
    mirror = None
    names_of: list[Any] = ["first", "second", "tie"]
    if len(sides) == 1:
        names_of[:2] = sides.iloc[0].tolist()
    else:
        present = np.union1d([U, V], present)
        mirror = np.array([V, U, TIE], dtype=np.int64)[: present.size]
    place = np.searchsorted(present, found.vote[valid])
    classes = [names_of[i] for i in present]
    return _panel(found, valid, place, classes, by, mirror), present


def _panel(
    found: _Grouped, valid: Rows, label: Ints, classes: Sequence[Any], by: Sequence[str], mirror: Ints | None = None
) -> Labels:
    """Labels of the raters that `over` distinguishes; repeats and orders are further labels of the same rater."""
    table, codes, over = found.table, found.groups.codes, found.over
    raters = [c for c in over if c not in ("order", "replicate")]
    if not raters:
        raise DesignError(
            f"dawid_skene compares raters, and over={list(over) or 'order'!r} names none. Name what distinguishes "
            "them: over='judge', or over=['judge', 'order'] where each judge saw both orders."
        )
    asked = [c for c in dict.fromkeys([*_ASKED_HOW, "criterion", *by]) if c in table.columns and c not in over]
    scope, rater = codes_of(table, asked), codes_of(table, raters)
    counts = row_counts(table, codes)
    return Labels(
        codes.code[valid].astype(np.int64),
        rater.code[valid].astype(np.int64),
        label,
        scope.code[codes.first].astype(np.int64),
        np.ones(codes.size) if counts is None else counts,
        classes,
        table[raters].iloc[rater.first].reset_index(drop=True),
        table[asked].iloc[scope.first].reset_index(drop=True),
        mirror,
    )


def _canonical(calls: pd.DataFrame) -> tuple[pd.DataFrame, Mask]:
    """Put the lower candidate id of every pair first, with its attributes; return which rows were exchanged."""
    table = calls.copy(deep=False)
    for name in ("first", "second"):
        table[name] = table[name].astype("str")
    reverse = (table["first"] > table["second"]).to_numpy(dtype=bool)
    turned = ["", *sorted(c[: -len("_first")] for c in table.columns if c.endswith("_first"))]
    for stem in turned:
        one, two = (f"{stem}_first", f"{stem}_second") if stem else ("first", "second")
        if two not in table.columns:
            continue
        low, high = (_plain(table[c]) for c in (one, two))
        table[one], table[two] = low.where(~reverse, high), high.where(~reverse, low)
    ends = (("_first", "_second"), ("_second", "_first"))
    unpaired = [
        c for c in table.columns for e, o in ends if c.endswith(e) and c.removesuffix(e) + o not in table.columns
    ]
    return table.drop(columns=unpaired), reverse


def _plain(values: pd.Series[Any]) -> pd.Series[Any]:
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.astype(values.cat.categories.dtype)
    return values


def _vote_of(choice: pd.Series[Any], reverse: Mask) -> Ints:
    """(N,) vote of each call."""
    code, labels = pd.factorize(choice, use_na_sentinel=False)
    unknown = [x for x in labels if x not in _VOTES]
    if unknown:
        raise SchemaError(
            f"'choice' has {unknown[0]!r}. Allowed: {', '.join(_VOTES)}. Map the table with "
            f"preferences(frame, labels={{{unknown[0]!r}: ...}}).",
            advice=(("labels", unknown[0]),),
        )
    vote: Ints = np.array([_VOTES[x] for x in labels], dtype=np.int64)[code]
    vote[reverse & (vote <= V)] = V - vote[reverse & (vote <= V)]
    return vote


def _votes(vote: Ints, codes: Codes, expected: Ints) -> Votes:
    """(G, 4) votes for u, for v, ties, and the number missing of `expected`."""
    counts = np.bincount(codes.code * 4 + vote, minlength=codes.size * 4).reshape(codes.size, 4)
    counts[:, INVALID] = expected - counts[:, :INVALID].sum(axis=1)
    return counts.astype(np.int64)


def _made_by_a_rule(table: pd.DataFrame, codes: Codes) -> Mask:
    """Whether a tie among the votes of a group is itself a disagreement from an earlier aggregation."""
    if "tie_kind" not in table.columns:
        return np.zeros(codes.size, dtype=bool)
    made = (table["tie_kind"].astype(object) == "disagreement").to_numpy(dtype=bool)
    return np.bincount(codes.code, weights=made, minlength=codes.size) > 0


def _carried(table: pd.DataFrame, codes: Codes, unit: list[str], over: list[str]) -> pd.DataFrame:
    """The columns that identify the pair, and those constant over its calls."""
    for name in _OF_THE_PAIR:
        if name in table.columns:
            varies = _varies(table[name], codes)
            if varies.any():
                row = int(np.flatnonzero(varies)[0])
                other = int(codes.first[codes.code[row]])
                raise SchemaError(
                    f"{name!r} differs between calls of the same pair in {int(varies.sum()):,} rows (first: "
                    f"{data_rows([row, other])}, have {table[name].iloc[row]!r} and {table[name].iloc[other]!r}). "
                    f"A pair has one {name}."
                )
    result = carried(table, codes, unit, (*over, *_OF_THE_CALL))
    if "judge" in over:
        result["judge"] = PANEL
    for name in _SUMMED:
        if name in table.columns:
            result[name] = np.bincount(codes.code, weights=table[name].to_numpy(dtype=float), minlength=codes.size)
    return result


def in_order(result: pd.DataFrame, columns: Sequence[Column], last: list[str], keys: list[str]) -> pd.DataFrame:
    """Sort the rows by `keys`; canonical columns first, then further ones, then those in `last`."""
    canonical = [c.name for c in columns if c.name in result.columns]
    rest = [c for c in result.columns if c not in canonical and c not in last]
    return result[[*canonical, *rest, *last]].sort_values(keys, kind="stable", ignore_index=True)


# ---- Scores of several judges or runs -> one score -------------------------------------------------------------------

#: What can be done with the scores of a panel.
SUMMARIES = ("mean", "median", "trimmed")
#: Columns of a rating, not of what was rated.
_OF_THE_RATING = ("score", "mean", "sd", "runs", "status", "rationale", "n", "n_calls")
_NOT_OVER_RATINGS = ("system", "item", "criterion", *_OF_THE_RATING)


def aggregate_scores(
    ratings: pd.DataFrame,
    how: str,
    over: Sequence[str],
    by: Sequence[str],
    missing: str,
    exclude_own: bool | Mapping[str, str],
    trim: float,
    starts: tuple[int, Seed],
) -> pd.DataFrame:
    """Aggregate ratings; see :func:`judgestats.aggregate`."""
    choose(how, [*SUMMARIES, DAWID_SKENE], "how")
    if not 0 <= trim < 0.5:
        raise DesignError(f"trim={trim!r} is not a share to cut from each end. Allowed: at least 0 and below 0.5.")
    found = _grouped_ratings(ratings, over, by, exclude_own)
    unit, groups, values, own = found.unit, found.groups, found.values, found.own
    codes, counted = groups.codes, ~own & ~np.isnan(values)
    present = np.bincount(codes.code[counted], minlength=codes.size)
    expected = groups.expected() - _own_expected(ratings, groups, exclude_own)
    short = present < expected if missing == "invalid" else present == 0
    short |= expected == 0
    result = carried(ratings, codes, unit, (*over, *_OF_THE_RATING))
    if "judge" in over:
        result["judge"] = PANEL
    undecided = np.zeros(codes.size, dtype=bool)
    if how == DAWID_SKENE:
        labels = _labels_of_ratings(found, by)
        best, sure = verdicts_of(labels, *starts, CONF_LEVEL)
        undecided = (best == -1) & ~short
        summary = np.where(best < 0, np.nan, np.asarray(labels.classes, dtype=float)[best])
        result["confidence"] = np.where(short, np.nan, sure)
    else:
        summary = summarise(values[counted], codes.code[counted].astype(np.int64), codes.size, how, trim)
    result["score" if "score" in ratings.columns else "mean"] = np.where(short, np.nan, summary)
    result["status"] = np.where(short, first_status(ratings, codes, ~own & np.isnan(values), "parse"), "ok")
    result.loc[undecided, "status"] = "undecided"
    result["n_calls"] = np.bincount(codes.code[~own], minlength=codes.size).astype(np.int64)
    return in_order(result, RATINGS, ["n_calls"], key_columns("ratings", result.columns))


@dataclass(frozen=True)
class _Ratings(_Grouped):
    """Scores, grouped: `values` and `own` (a judge of its own system) of each row."""

    values: Floats
    own: Mask


def _grouped_ratings(
    ratings: pd.DataFrame, over: Sequence[str], by: Sequence[str], exclude_own: bool | Mapping[str, str]
) -> _Ratings:
    """Group the scores of each response; refuse an `over` that cannot be, and scores that repeat each other."""
    for name in over:
        choose(name, [c for c in ratings.columns if c not in _NOT_OVER_RATINGS], "over")
    unit = [c for c in dict.fromkeys([*key_columns("ratings", ratings.columns), *by]) if c not in over]
    groups = group_calls(ratings, unit, over, by)
    refuse_repeats(ratings, groups, [column_codes(ratings[c]) for c in over], over)
    values = ratings["score" if "score" in ratings.columns else "mean"].to_numpy(dtype=float)
    return _Ratings(ratings, groups, unit, list(over), values, _own(ratings, over, exclude_own))


def _labels_of_ratings(found: _Ratings, by: Sequence[str]) -> Labels:
    """Labels of a panel on responses: each different score is a class."""
    valid = np.flatnonzero(~found.own & ~np.isnan(found.values))
    classes, label = np.unique(found.values[valid], return_inverse=True)
    return _panel(found, valid, label.reshape(-1), classes.tolist(), by)


def summarise(values: Floats, code: Ints, size: int, how: str, trim: float) -> Floats:
    """(G,) mean of the middle scores of each group: all, those left after trimming, or the central one or two."""
    order = np.lexsort((values, code))
    values, code = values[order], code[order]
    count = np.bincount(code, minlength=size)
    rank = np.arange(code.size) - (np.cumsum(count) - count)[code]
    if how == "median":
        cut = np.maximum(count - 1, 0) // 2
    else:
        cut = np.floor((trim if how == "trimmed" else 0.0) * count + 1e-9).astype(np.int64)
    middle = (rank >= cut[code]) & (rank < (count - cut)[code])
    total = np.bincount(code[middle], weights=values[middle], minlength=size)
    with np.errstate(invalid="ignore"):
        return total / np.bincount(code[middle], minlength=size)


def _own(ratings: pd.DataFrame, over: Sequence[str], exclude_own: bool | Mapping[str, str]) -> Mask:
    """Rows in which a judge scored its own system."""
    if exclude_own is False:
        return np.zeros(len(ratings), dtype=bool)
    if "judge" not in over:
        raise DesignError("exclude_own= leaves a judge out of a panel: it needs over='judge'.")
    _refuse_unknown_identity(ratings, exclude_own)
    own = _author(ratings["system"], exclude_own) == ratings["judge"].astype(object)
    return np.asarray(own, dtype=bool)


def _author(systems: pd.Series[Any], exclude_own: bool | Mapping[str, str]) -> pd.Series[Any]:
    names: pd.Series[Any] = systems.astype(object)
    return names if isinstance(exclude_own, bool) else names.map(dict(exclude_own))


def _refuse_unknown_identity(ratings: pd.DataFrame, exclude_own: bool | Mapping[str, str]) -> None:
    systems, judges = (sorted(set(ratings[c].astype(str))) for c in ("system", "judge"))
    if isinstance(exclude_own, bool):
        if not set(systems) & set(judges):
            raise DesignError(
                f"exclude_own=True needs judges that are systems too. Judges: {', '.join(judges)}; systems: "
                f"{', '.join(systems)}. Pass a map of system to judge."
            )
        return
    named = [("system", s, systems) for s in exclude_own] + [("judge", j, judges) for j in exclude_own.values()]
    problems = [
        f"{what} {name!r} is not in the ratings.{suggestion(str(name), known)}"
        for what, name, known in named
        if name not in known
    ]
    if problems:
        raise DesignError(f"exclude_own maps system to judge. {' '.join(problems)}")


def _own_expected(ratings: pd.DataFrame, groups: Groups, exclude_own: bool | Mapping[str, str]) -> Ints:
    """(G,) number of panel members in each group who wrote the rated response."""
    if exclude_own is False:
        return np.zeros(groups.codes.size, dtype=np.int64)
    judges = ratings["judge"].astype(object).iloc[groups.member_rows].to_numpy()
    members = pd.DataFrame({"scope": groups.members, "judge": judges})
    sizes = members.value_counts(["scope", "judge"]).rename("size").reset_index()
    author = _author(ratings["system"].iloc[groups.codes.first], exclude_own).to_numpy()
    wanted = pd.DataFrame({"scope": groups.scope, "judge": author})
    matched = wanted.merge(sizes, how="left", on=["scope", "judge"])["size"]
    return np.asarray(matched.fillna(0), dtype=np.int64)


# ---- The public function: :func:`aggregate` --------------------------------------------------------------------------


def _opened(calls: IntoFrame, over: By | None, by: By) -> tuple[pd.DataFrame, Kind, list[str], list[str]]:
    """The calls as a table, their kind, and the columns that are aggregated over (None: the judges' answers) and by."""
    data = nw.from_native(calls)
    columns = data.collect_schema().names()
    kind = kind_of(columns)
    if over is None:
        over = ["judge", "replicate"] if "replicate" in columns else "judge"
    groups, axes = grouping(by, columns), list(dict.fromkeys(names(over)))
    counted(data, [*groups, *axes], kind)
    return to_table(calls if kind == "preferences" else as_scores(data).to_native()), kind, axes, groups


@checked_arguments
@engine_errors
def aggregate(
    calls: IntoFrame,
    how: str | Custom = "swap",
    over: By = "order",
    *,
    missing: Literal["invalid", "ignore"] = "invalid",
    by: By = (),
    exclude_own: bool | Mapping[str, str] = False,
    trim: float = 0.2,
    n_starts: int = 20,
    seed: int | np.random.Generator | None = SEED,
) -> Any:
    """Turn several calls on a pair into one verdict, or several scores into one.

    Parameters
    ----------
    calls : frame
        Preferences or ratings, in any engine Narwhals accepts.
    how : {'swap', 'majority', 'net', 'dawid_skene'} or callable
        The rule; for ratings ``'mean'``, ``'median'``, ``'trimmed'`` or ``'dawid_skene'``. Every call votes for a
        candidate, whatever slot it was shown in; an abstention is a tie.

        - ``swap``: all votes agree: that verdict; they differ: a tie.
        - ``majority``: the most frequent of *u*, *v* and *tie*; a draw is a tie.
        - ``net``: sign of the votes for minus the votes against, a tie counts 0 (JudgeBench's rule).
        - ``dawid_skene``: the likeliest answer under a model in which each judge confuses the true answers in its own
          way; two equally likely: a tie. For ratings each different score is a class. :func:`dawid_skene` returns the
          model itself, and says when it must not be used.
        - a callable ``rule(n_u, n_v, n_tie, n_missing)`` of four whole numbers that answers ``'u'``, ``'v'``, ``'tie'``
          or ``'invalid'``; *u* is the candidate whose id comes first in the alphabet. It is asked once for each
          combination of counts that occurs.
    over : str or sequence of str
        What distinguishes the calls: ``'order'`` (two calls are expected), ``'replicate'``, ``'judge'``, or any
        column that describes the call (``'prompt'``, ``'temperature'``, ...). For these, one call is expected per
        distinct value in the frame (under the same judge, strategy, scheme, probe, prompt, temperature
        and `by`). Several names vote together: ``['order', 'replicate']``. A call that shares its pair *and* its value
        of `over` with another is refused.
    missing : {'invalid', 'ignore'}
        Verdict of a pair with a missing or invalid call: invalid, or decided by the calls it has (a missing vote
        counts 0; a pair without any valid call is invalid). For ratings: a missing score, or the summary of the
        scores present.
    by : str or sequence of str
        Columns that distinguish pairs, besides judge, item, the candidates and the canonical conditions (``replicate``,
        ``task``, ``topic``, ``stimulus``, ``vacuum_kind``, ``delta``, ``bias``, ``strategy``, ``scheme``, ``probe``,
        ``prompt``, ``temperature``; for ratings the key columns).
    exclude_own : bool or mapping
        Ratings over judges: leave out a judge's scores of its own system. True where judges and systems have the same
        names, else a map of system to judge.
    trim : float
        Ratings, ``how='trimmed'``: share of the scores cut from each end, rounded down to whole scores.
    n_starts, seed
        ``how='dawid_skene'``: as in :func:`dawid_skene`. The model is fitted to all valid calls; `missing` decides
        which pairs get its verdict.

    Returns
    -------
    frame
        Of the kind given (pandas for an engine without eager frames), sorted. ``judge`` is ``panel`` where judges are
        aggregated over.

        Preferences: one row per pair, the candidates in alphabetical order and ``order_known`` False, so that measures
        of order refuse them; ``choice`` in that frame; ``status`` (``ok``; for an invalid verdict the status of its
        invalid call, or ``missing partner``); ``tie_kind`` (``native``: the judge said tie; ``disagreement``: the rule
        made it; empty: not a tie); ``n_calls``, the calls found, through every aggregation. Carried along: ``gold`` and
        ``better``; attributes ``<name>_first`` and ``<name>_second``, exchanged with the candidates; ``cost`` and
        ``latency``, summed; any other column that has one value within each pair. Dropped: ``strength``,
        ``rationale`` and columns that vary within a pair.

        Ratings: one row per rated response, with ``status`` and ``n_calls``; ``sd``, ``runs`` and ``rationale`` are
        dropped. Two equally likely classes (``dawid_skene``) give a missing score with status ``undecided``.

        ``dawid_skene`` adds ``confidence``, the posterior probability of the verdict.

    Raises
    ------
    DesignError
        If an option is not known, if the order is not known and `over` names it, if calls repeat each other.
    SchemaError
        If this is neither canonical frame, or the calls of a pair differ in ``gold`` or ``better``.

    See Also
    --------
    composite : Several criteria to one score.
    compare_scores : Scores to verdicts.

    Notes
    -----
    A tie is native if no vote took a side (``swap``, ``net``, a callable) or if the tie itself won (``majority``). A
    tie among votes that were already aggregated is native only if it was native there.

    Examples
    --------
    >>> import pandas as pd
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "1", "2", "2"], "first": ["x", "y", "x", "y"],
    ...                       "second": ["y", "x", "y", "x"], "choice": ["first", "first", "first", "second"]})
    >>> aggregate(calls)[["judge", "item", "first", "second", "choice", "tie_kind", "n_calls"]]
      judge item first second choice      tie_kind  n_calls
    0     g    1     x      y    tie  disagreement        2
    1     g    2     x      y  first                      2

    A tie only if no call took a side; a verdict if one call did and no call disagreed:

    >>> lenient = lambda n_u, n_v, n_tie, n_missing: "tie" if min(n_u, n_v) or not n_u + n_v else "u" if n_u else "v"
    >>> aggregate(calls, lenient)["choice"].tolist()
    ['tie', 'first']

    A panel that does not score itself:

    >>> scores = pd.DataFrame({"judge": ["a", "b", "c"], "system": "a", "item": "1", "criterion": "overall",
    ...                        "score": [9.0, 6.0, 7.0]})
    >>> aggregate(scores, "mean", over="judge", exclude_own=True)[["judge", "system", "score", "n_calls"]]
       judge system  score  n_calls
    0  panel      a    6.5        2
    """
    table, kind, axes, groups = _opened(calls, over, by)
    if not axes:
        raise DesignError(
            "over= is empty. Name what distinguishes the calls: 'order', 'replicate', 'judge' or a column."
        )
    repeated = "replicate" in table and "replicate" not in axes and table["replicate"].nunique() > 1
    if how == DAWID_SKENE and "judge" in axes and repeated:
        raise DesignError(
            "Repeats of a judge would count as further items. Pass over=['judge', 'replicate']: a repeat is a further "
            "answer of the same rater on the same item."
        )
    if not len(table):
        raise SchemaError(f"The {kind} frame has no rows to aggregate. Give at least one call.")
    if kind == "ratings":
        if callable(how):
            allowed = ", ".join(map(repr, SUMMARIES))
            raise DesignError(f"A callable rule is for preferences. Allowed for ratings: {allowed}.")
        starts = n_starts, seed
        return to_native(aggregate_scores(table, how, axes, groups, missing, exclude_own, trim, starts), calls)
    if exclude_own is not False:
        raise DesignError("exclude_own= is for ratings only. Leave it out for preferences.")
    return to_native(aggregate_pairs(table, how, axes, groups, missing, (n_starts, seed)), calls)


@checked_arguments
@engine_errors
def dawid_skene(
    calls: IntoFrame,
    over: By | None = None,
    *,
    by: By = (),
    exclude_own: bool | Mapping[str, str] = False,
    n_starts: int = 20,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> DawidSkene:
    """Fit the model of Dawid and Skene: the true answers, and how each judge confuses them, without gold labels.

    Parameters
    ----------
    calls : frame
        Preferences or ratings of a panel. Each different score is a class, of at most twelve.
    over : str or sequence of str, optional
        What distinguishes the answers: by default ``'judge'``, and ``'replicate'`` where there is one. Repeats are
        further answers of the same rater, and so are the two orders of a pair: ``['judge', 'order']``.
    by : str or sequence of str
        Columns that distinguish pairs, as in :func:`aggregate`. Each way of asking (strategy, prompt, temperature),
        criterion and value of `by` has a model of its own.
    exclude_own : bool or mapping
        Ratings: leave out a judge's scores of its own system, as in :func:`aggregate`.
    n_starts : int
        Random starts besides the majority vote; the likeliest fit is kept. 0: the majority vote alone.
    seed : int, Generator or None
        Of the random starts.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    DawidSkene
        With ``tidy()`` (class shares and confusion matrices, with standard errors), ``glance()`` (log-likelihood, how
        many starts reached it) and ``augment()`` (posterior probabilities). The verdicts are
        ``aggregate(calls, "dawid_skene", over="judge")``.

    Raises
    ------
    DesignError
        For fewer than two raters, more than twelve classes, an `over` that names no rater, or calls that repeat each
        other.

    See Also
    --------
    aggregate : Several calls to one verdict.
    effective_judges : What a panel is worth.

    Notes
    -----
    The model: given the true class, the answers are independent, and depend on the class and the rater only. Judges
    that err together (one family, one prompt, one misleading style) break it: it takes their common error for truth,
    and its posterior is too sure. With gold labels use :func:`judgestats.gold_agreement`, and look at
    :func:`judgestats.effective_judges` before. With two raters the parameters are not identifiable.

    Preferences: where all pairs have the same two candidates, they are the classes (and ``tie``, where it occurs).
    Otherwise a candidate's name means nothing, and the model is symmetric: each rater has one probability of choosing
    the true candidate (``candidate``), the other one, or a tie.

    Nothing ties a class to its label but that the raters are better than chance. Where they are not (they give an
    answer more often where another class is true), the rows of the class have a flag, and :func:`aggregate` refuses.

    The likelihood is that of the answers without multinomial coefficients. It has several maxima: from the
    majority vote, and from random starts near it, EM climbs to the next one. Standard errors are from the observed
    information of the probabilities inside (0, 1); intervals are symmetric in log-odds. Missing answers are allowed,
    if they are missing for reasons that have nothing to do with the true class.

    References
    ----------
    Dawid, A. P., Skene, A. M. (1979). Maximum likelihood estimation of observer error-rates using the EM algorithm.
    Applied Statistics 28, 20-28.

    Examples
    --------
    >>> answers = {"g": "1112212212", "h": "1112211212", "k": "1212212211"}
    >>> rows = [(j, "s", i, int(a)) for j, given in answers.items() for i, a in enumerate(given)]
    >>> scores = pd.DataFrame(rows, columns=["judge", "system", "item", "score"])
    >>> fitted = dawid_skene(scores)
    >>> fitted
    DawidSkene: 2 classes, 3 raters, 10 units, loglik -14.44
    >>> fitted.tidy().query("judge == 'h'")[["judge", "true", "answer", "estimate", "std_error", "flag"]].round(2)
      judge  true  answer  estimate  std_error         flag
    6     h   1.0     1.0       1.0        NaN  on boundary
    7     h   1.0     2.0       0.0        NaN  on boundary
    8     h   2.0     1.0       0.2       0.18
    9     h   2.0     2.0       0.8       0.18
    """
    table, kind, axes, groups = _opened(calls, over, by)
    if kind == "ratings":
        scores = _grouped_ratings(table, axes, groups, exclude_own)
        labels, unit, codes = _labels_of_ratings(scores, groups), scores.unit, scores.groups.codes
    else:
        pairs = _grouped_pairs(table, axes, groups)
        labels, unit, codes = _labels_of_pairs(pairs, groups)[0], pairs.unit, pairs.groups.codes
        table = pairs.table
    units = table[unit].iloc[codes.first].reset_index(drop=True)
    return fitted(labels, units, n_starts, seed, conf_level)
