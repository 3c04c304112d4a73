"""Pairs of judges on the same things, counted by their two answers: the reduction of unit ``raters``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats.errors import DesignError, suggestion
from judgestats.schema.coding import Coded, codes_of, combine, count, tidy
from judgestats.schema.columns import COUNTS, By, Kind, names
from judgestats.schema.declared_counts import call_counts
from judgestats.schema.pairing import candidates
from judgestats.schema.raters import (
    ABOUT,
    FURTHER,
    INVALID,
    SIDES,
    SLOTS,
    Labels,
    answers_of,
    collected,
    labels_of,
    refusal,
)
from judgestats.schema.splitting import refuse_splits, splits_of

#: The right answers as a rater, by the slot in which the right candidate was shown, or by the candidate itself.
GOLD, GOLD_CANDIDATE = "gold", "gold_candidate"
#: Columns of a pair of judges.
RATERS = ("judge", "other", "answer", "other_answer")


def count_raters(frame: Any, by: By = (), cluster: By | None = None, against: Any = None) -> tuple[pd.DataFrame, bool]:
    """Count pairs of judges by their two answers on the same thing.

    Parameters
    ----------
    frame : frame
        As in :func:`labels_of`.
    by, cluster : str or sequence of str
        Columns that split the counts; the answers of two judges are matched within them.
    against : None, 'gold', 'gold_candidate', judge or frame
        None counts every pair of judges, the lower name first. Else each judge is counted beside the column ``gold``
        (of preferences by slot, or by candidate), one judge, or the judges of another frame; what the other has not
        answered is counted as an answer that is none.

    Returns
    -------
    counts : pandas.DataFrame
        The `by` columns, the cluster, ``judge``, ``other``, ``answer``, ``other_answer`` and ``n``. An answer that is
        none is ``invalid`` (ratings: NaN).
    shared : bool
        Whether two counts share a thing judged.

    Raises
    ------
    SchemaError, DesignError
        As in :func:`labels_of`; if `against` is unknown, or no thing was judged by both.
    """
    groups = list(dict.fromkeys([*names(by), *(names(cluster) if cluster else [])]))
    if against is None:
        counts, shared = _every_pair(labels_of(frame, groups), groups)
    elif isinstance(against, str) and against in (GOLD, GOLD_CANDIDATE):
        counts, shared = _beside_gold(frame, groups, against)
    else:
        counts, shared = _beside_reference(frame, groups, against)
    if not len(counts):
        raise DesignError("No thing was judged by two: there is no agreement to measure. Check the names of the items.")
    return counts, shared


def _every_pair(found: Labels, groups: list[str]) -> tuple[pd.DataFrame, bool]:
    unit = found.unit
    longest = int(np.bincount(unit).max(initial=0))
    ends = [np.flatnonzero(unit[d:] == unit[:-d]) for d in range(1, longest)]
    one = np.concatenate([np.empty(0, np.int64), *ends])
    two = np.concatenate([np.empty(0, np.int64), *(i + d for d, i in enumerate(ends, 1))])
    shown = _shown(found.answers, found.kind)
    parts: list[Coded] = [(code[unit[one]], size) for code, size in map(found.code, groups)]
    parts += [(found.judge[i], len(found.judges)) for i in (one, two)]
    parts += [(found.answer[i] % len(shown), len(shown)) for i in (one, two)]
    codes = combine(parts, one.size)
    n = np.bincount(codes.code, weights=found.weight[unit[one]], minlength=codes.size)
    one, two = one[codes.first], two[codes.first]
    columns = {g: found.label(g, unit[one]) for g in groups}
    columns |= {"judge": found.judges.take(found.judge[one]), "other": found.judges.take(found.judge[two])}
    columns |= {"answer": shown[found.answer[one]], "other_answer": shown[found.answer[two]]}
    return tidy(pd.DataFrame({**columns, "n": n.astype(float)}), [*groups, *RATERS]), found.shared


def _shown(answers: Any, kind: Kind) -> Any:
    """Labels of the answers, and last, where code -1 points, of none."""
    if kind == "ratings":
        return np.append(answers.to_numpy(dtype=float), np.nan)
    return np.array([*answers, INVALID], dtype=object)


def _canonical(frame: Any, groups: list[str], keep: Sequence[str] = ()) -> tuple[pd.DataFrame, Kind]:
    """One row per call: what it is about as text, and its answer as a label."""
    table, kind, _ = collected(frame, groups, keep)
    if kind == "ratings":
        keys = [*groups, "judge", *(c for c in ABOUT[kind] if c in table.columns)]
        refuse_splits(splits_of(frame, keys), keys)
    reverse = candidates(table)[2] if kind == "preferences" else None
    code, answers = answers_of(table, kind, reverse)
    table = table.assign(answer=_shown(answers, kind)[code], n=call_counts(table[COUNTS]) if COUNTS in table else 1.0)
    if kind == "preferences":
        one, two = (table[c].astype(str) for c in ("first", "second"))
        table = table.assign(_low=one.where(one <= two, two), _high=two.where(one <= two, one), _order=reverse)
    return table, kind


def _beside_gold(frame: Any, groups: list[str], against: str) -> tuple[pd.DataFrame, bool]:
    table, kind = _canonical(frame, groups)
    if "gold" not in table.columns:
        raise DesignError(
            f"against={against!r} needs a column 'gold'. Name a judge, or pass a frame of people's answers."
        )
    code, labels = answers_of(table, kind, table.get("_order"), "gold")
    table = table.assign(other="gold", other_answer=_shown(labels, kind)[code])
    if kind == "preferences" and against == GOLD:
        by_slot = {c: _slots(table[c], table["_order"]) for c in ("answer", "other_answer")}
        table = table.assign(**by_slot)
    return _counted(table, kind, groups)


def _slots(answers: pd.Series[Any], reverse: pd.Series[Any]) -> Any:
    """Answers for the candidate with the lower or the higher id as the slots in which these were shown."""
    code = answers.map({side: i for i, side in enumerate(SIDES)}).to_numpy(dtype=float, na_value=np.nan)
    turned = np.where(reverse, 2 - code, code)
    return np.where(
        np.isnan(turned), INVALID, np.array([*SLOTS, INVALID], object)[np.nan_to_num(turned, nan=3).astype(int)]
    )


def _counted(table: pd.DataFrame, kind: Kind, groups: list[str]) -> tuple[pd.DataFrame, bool]:
    things = [*groups, "judge", "other", *(c for c in (*ABOUT[kind], "_low", "_high") if c in table.columns)]
    shared = table.duplicated(list(dict.fromkeys(things))).any() or (table["n"] > 1).any()
    return count(table, [*groups, *RATERS], "n"), bool(shared)


def _beside_reference(frame: Any, groups: list[str], against: Any) -> tuple[pd.DataFrame, bool]:
    if isinstance(against, str):
        data = nw.from_native(frame)
        data = data.with_columns(nw.col("judge").cast(nw.String)) if "judge" in data.collect_schema().names() else data
        table, kind = _canonical(data.to_native(), groups)
        chosen = table["judge"] == against
        if not chosen.any():
            known = sorted(table["judge"].unique())
            listed = ", ".join(map(repr, ["gold", *known[:10]]))
            raise DesignError(f"against={against!r} is no judge. Allowed: {listed}.{suggestion(against, known)}")
        ours, theirs = table[~chosen], table[chosen]
    else:
        ours, kind = _canonical(frame, groups)
        try:
            data = nw.from_native(against)
        except TypeError:
            raise DesignError(
                f"against= is {type(against).__name__}. Give 'gold', the name of a judge, or a frame of answers."
            ) from None
        present = data.collect_schema().names()
        data = data if "judge" in present else data.with_columns(nw.lit("reference").alias("judge"))
        theirs, other_kind = _canonical(data.to_native(), [g for g in groups if g in present])
        if kind != other_kind:
            raise DesignError(
                f"The data are {kind}, and against= holds {other_kind}: answers of two kinds cannot agree."
            )
    return _matched(ours, theirs, kind, groups)


def _matched(ours: pd.DataFrame, theirs: pd.DataFrame, kind: Kind, groups: list[str]) -> tuple[pd.DataFrame, bool]:
    both = [c for c in ours.columns if c in theirs.columns]
    keys = [c for c in dict.fromkeys([*groups, *ABOUT[kind], "_low", "_high"]) if c in both]
    for further in [*FURTHER[kind], "_order"]:
        again = theirs.duplicated([*keys, "judge"])
        if not again.any():
            break
        if (
            further in both
            and further not in keys
            and (~theirs.duplicated([*keys, further, "judge"])).sum() > (~again).sum()
        ):
            keys.append(further)
    again = theirs.duplicated([*keys, "judge"])
    if again.any():
        raise DesignError(refusal(theirs, codes_of(theirs, ["judge", *keys]).code))
    matching = {c: f"_key_{c}" for c in keys}
    left, right = (t.assign(**{k: _text(t[c]) for c, k in matching.items()}) for t in (ours, theirs))
    left["_call"] = np.arange(len(left))
    right = right.rename(columns={"judge": "other", "answer": "other_answer"})[
        [*matching.values(), "other", "other_answer"]
    ]
    met = left.merge(right, on=list(matching.values()))
    counts, shared = _counted(met, kind, groups)
    alone = _alone(left, met, groups).assign(other_answer=np.nan if kind == "ratings" else INVALID)
    return (_counted(pd.concat([met, alone], ignore_index=True), kind, groups)[0] if len(alone) else counts), shared


def _text(values: pd.Series[Any]) -> pd.Series[Any]:
    """Values as text, a whole number without its point: a file with a gap reads whole numbers as floats."""
    if pd.api.types.is_float_dtype(values.dtype) and (values.dropna() % 1 == 0).all():
        values = values.astype("Int64")
    return values.astype(object).where(values.notna(), "").astype(str)


def _alone(left: pd.DataFrame, met: pd.DataFrame, groups: list[str]) -> pd.DataFrame:
    """Calls on what the other, whom the judge meets elsewhere, has not answered."""
    side = list(dict.fromkeys([*groups, "judge"]))
    every = left.merge(met[[*side, "other"]].drop_duplicates(), on=side)
    pair = ["_call", "other"]
    return every[~pd.MultiIndex.from_frame(every[pair]).isin(pd.MultiIndex.from_frame(met[pair]))]
