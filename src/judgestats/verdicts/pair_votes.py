"""Calls on a pair of candidates to one verdict on the pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from judgestats.counting.panels import AnswerPanel
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import SchemaError, choose, data_rows
from judgestats.schema.coding import column_codes
from judgestats.schema.columns import CHOICES, PREFERENCES, UNIT_COLUMNS
from judgestats.typing import Ints, Mask, Seed
from judgestats.verdicts.call_groups import PANEL, CallGroups, in_order, refuse_repeats
from judgestats.verdicts.latent_classes import DAWID_SKENE, verdicts_of
from judgestats.verdicts.voting_rules import INVALID, TIE, Custom, U, V, Votes, rule_of

#: A verdict as a choice, in canonical order; the vote of a choice, before the order is undone.
_SLOTS = np.array(["first", "second", "tie", "invalid"], dtype=object)
_VOTES = {"first": U, "second": V, "tie": TIE, "abstain": TIE, "invalid": INVALID}
_SUMMED = ("cost", "latency")
#: Columns of a call, not of its pair: recomputed, summed or dropped.
_OF_THE_CALL = ("choice", "status", "order_known", "strength", "rationale", *_SUMMED, "n", "tie_kind", "n_calls")
_OF_THE_PAIR = ("gold", "better")
_NOT_OVER = ("item", "first", "second", "pair", "target", "ties_allowed", *_OF_THE_CALL, *_OF_THE_PAIR)


@dataclass(frozen=True)
class PairVotes:
    """Calls on pairs, the lower candidate id first: `vote` (N,) of each, and `votes` (G, 4) of each pair."""

    groups: CallGroups
    vote: Ints
    votes: Votes


def pair_votes(calls: pd.DataFrame, over: Sequence[str], by: Sequence[str]) -> PairVotes:
    """Group the calls of each pair; refuse an `over` that cannot be, and calls that repeat each other."""
    for name in over:
        varying = (c for c in calls.columns if c not in _NOT_OVER and not c.endswith(("_first", "_second")))
        choose(name, ["order", *varying], "over")
    if "order" in over:
        Study.of(calls).refuse_unknown_order()
    table, reverse = _canonical(calls)
    conditions = [c for c in dict.fromkeys(["judge", *UNIT_COLUMNS, *by]) if c in table.columns and c not in over]
    columns = [c for c in over if c != "order"]
    groups = CallGroups.of(table, ["item", "first", "second", *conditions], columns, by)
    cells = [column_codes(table[c]) for c in columns] + ([(reverse.astype(np.int64), 2)] if "order" in over else [])
    refuse_repeats(calls, groups, cells, over)
    vote = _vote_of(table["choice"], reverse)
    votes = np.bincount(groups.codes.code * 4 + vote, minlength=groups.codes.size * 4).reshape(-1, 4)
    expected = groups.expected() * (2 if "order" in over else 1)
    votes[:, INVALID] = expected - votes[:, :INVALID].sum(axis=1)
    return PairVotes(groups, vote, votes.astype(np.int64))


def aggregate_pairs(
    calls: pd.DataFrame, how: str | Custom, over: list[str], by: list[str], missing: str, starts: tuple[int, Seed]
) -> pd.DataFrame:
    """Aggregate preferences; see :func:`judgestats.aggregate`."""
    rule = None if how == DAWID_SKENE else rule_of(how)
    pairs = pair_votes(calls, over, by)
    groups, votes = pairs.groups, pairs.votes
    table, codes = groups.table, groups.codes
    incomplete = votes[:, INVALID] > 0 if missing == "invalid" else votes[:, :INVALID].sum(axis=1) == 0
    if rule is None:
        panel, answers = panel_of_pairs(pairs, by)
        best, confidence = verdicts_of(panel, *starts, CONF_LEVEL)
        verdict, native = np.where(best < 0, TIE, answers[best]), best >= 0
    else:
        confidence, native = None, rule.native(votes)
        verdict = np.full(codes.size, INVALID)
        verdict[~incomplete] = rule.decide(votes[~incomplete])
    verdict = np.where(incomplete, INVALID, verdict)
    native &= ~_disagreed_before(groups)
    result = _carried(groups)
    result["choice"] = pd.Categorical(_SLOTS[verdict], categories=list(CHOICES))
    status = groups.first_status((table["choice"] == "invalid").to_numpy(dtype=bool))
    result["status"] = np.where(verdict == INVALID, status, "ok")
    result["order_known"] = False
    result["tie_kind"] = np.where(verdict == TIE, np.where(native, "native", "disagreement"), "")
    n_calls = table["n_calls"].to_numpy(dtype=float) if "n_calls" in table.columns else np.ones(len(table))
    result["n_calls"] = np.bincount(codes.code, weights=n_calls, minlength=codes.size).astype(np.int64)
    if confidence is not None:
        result["confidence"] = np.where(verdict == INVALID, np.nan, confidence)
    return in_order(result, PREFERENCES, ["tie_kind", "n_calls"], list(dict.fromkeys(["judge", *groups.unit])))


def panel_of_pairs(pairs: PairVotes, by: Sequence[str]) -> tuple[AnswerPanel, Ints]:
    """Raters by pairs, and the verdict of each class; sides that differ in the alphabet alone are alike."""
    valid = np.flatnonzero(pairs.vote != INVALID)
    sides = pairs.groups.table[["first", "second"]].drop_duplicates()
    present = np.unique(pairs.vote[valid])
    mirror = None
    class_names = ["first", "second", "tie"]
    if len(sides) == 1:
        class_names[:2] = sides.iloc[0].tolist()
    else:
        present = np.union1d([U, V], present)
        mirror = np.array([V, U, TIE], dtype=np.int64)[: present.size]
    place = np.searchsorted(present, pairs.vote[valid])
    classes = [class_names[i] for i in present]
    return pairs.groups.panel(valid, place, classes, by, mirror), present


def _canonical(calls: pd.DataFrame) -> tuple[pd.DataFrame, Mask]:
    """Put the lower candidate id of every pair first, with its attributes; return which rows were exchanged."""
    table = calls.copy(deep=False)
    for name in ("first", "second"):
        table[name] = table[name].astype("str")
    reverse = (table["first"] > table["second"]).to_numpy(dtype=bool)
    for stem in ["", *sorted(c[: -len("_first")] for c in table.columns if c.endswith("_first"))]:
        one, two = (f"{stem}_first", f"{stem}_second") if stem else ("first", "second")
        if two not in table.columns:
            continue
        low, high = (t.astype(t.cat.categories.dtype) if t.dtype == "category" else t for t in (table[one], table[two]))
        table[one], table[two] = low.where(~reverse, high), high.where(~reverse, low)
    ends = (("_first", "_second"), ("_second", "_first"))
    every = table.columns
    unpaired = [c for c in every for e, o in ends if c.endswith(e) and c.removesuffix(e) + o not in every]
    return table.drop(columns=unpaired), reverse


def _vote_of(choice: pd.Series, reverse: Mask) -> Ints:
    """(N,) vote of each call."""
    code, labels = pd.factorize(choice, use_na_sentinel=False)
    if unknown := [x for x in labels if x not in _VOTES]:
        raise SchemaError(
            f"'choice' has {unknown[0]!r}. Allowed: {', '.join(_VOTES)}. Map the table with "
            f"preferences(frame, labels={{{unknown[0]!r}: ...}}).",
            advice=(("labels", unknown[0]),),
        )
    vote: Ints = np.array([_VOTES[x] for x in labels], dtype=np.int64)[code]
    vote[reverse & (vote <= V)] = V - vote[reverse & (vote <= V)]
    return vote


def _disagreed_before(groups: CallGroups) -> Mask:
    """(G,) whether a tie among the votes is itself a disagreement from an earlier aggregation."""
    if "tie_kind" not in groups.table.columns:
        return np.zeros(groups.codes.size, dtype=bool)
    disagreement = (groups.table["tie_kind"].astype(object) == "disagreement").to_numpy(dtype=bool)
    return np.bincount(groups.codes.code, weights=disagreement, minlength=groups.codes.size) > 0


def _carried(groups: CallGroups) -> pd.DataFrame:
    """The columns that identify the pair, and those constant over its calls."""
    table, codes = groups.table, groups.codes
    for name in _OF_THE_PAIR:
        if name in table.columns and (varies := groups.varies(name)).any():
            row = int(np.flatnonzero(varies)[0])
            other = int(codes.first[codes.code[row]])
            raise SchemaError(
                f"{name!r} differs between calls of the same pair in {int(varies.sum()):,} rows (first: "
                f"{data_rows([row, other])}, have {table[name].iloc[row]!r} and {table[name].iloc[other]!r}). "
                f"A pair has one {name}."
            )
    result = groups.carried((*groups.over, *_OF_THE_CALL))
    if "judge" in groups.over:
        result["judge"] = PANEL
    for name in _SUMMED:
        if name in table.columns:
            result[name] = np.bincount(codes.code, weights=table[name].to_numpy(dtype=float), minlength=codes.size)
    return result
