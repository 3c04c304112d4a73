"""Scores of several judges or runs to the score of a panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from judgestats.counting.panels import AnswerPanel
from judgestats.counting.repeats import modes
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, choose, suggestion
from judgestats.schema.classes import class_codes
from judgestats.schema.coding import column_codes
from judgestats.schema.columns import RATINGS, answer_column, key_columns
from judgestats.typing import Floats, Ints, Mask, Seed
from judgestats.verdicts.call_groups import PANEL, CallGroups, in_order, refuse_repeats
from judgestats.verdicts.latent_classes import DAWID_SKENE, verdicts_of

SUMMARIES = ("mean", "median", "trimmed", "mode")
#: Whether judges' scores of their own systems are left out: True where names are the same, or system -> judge.
Authors = bool | Mapping[str, str]
#: Columns of a rating, not of what was rated.
_OF_THE_RATING = ("score", "answer", "mean", "sd", "runs", "status", "rationale", "n", "n_calls")
_NOT_OVER = ("system", "item", "criterion", *_OF_THE_RATING)


def aggregate_scores(
    ratings: pd.DataFrame,
    how: str,
    over: Sequence[str],
    by: Sequence[str],
    missing: str,
    exclude_own: Authors,
    trim: float,
    starts: tuple[int, Seed],
) -> pd.DataFrame:
    """Aggregate ratings; see :func:`judgestats.aggregate`."""
    choose(how, [*SUMMARIES, DAWID_SKENE], "how")
    if not 0 <= trim < 0.5:
        raise DesignError(f"trim={trim!r} is not a share to cut from each end. Allowed: at least 0 and below 0.5.")
    scores = grouped_scores(ratings, over, by, exclude_own)
    if scores.classes is not None and how not in ("mode", DAWID_SKENE):
        raise DesignError(f"how={how!r} needs numbers, and the answers are classes. Allowed: 'mode', {DAWID_SKENE!r}.")
    groups, values, own = scores.groups, scores.values, scores.own
    codes, valid = groups.codes, ~own & ~np.isnan(values)
    present = np.bincount(codes.code[valid], minlength=codes.size)
    expected = groups.expected() - _own_expected(groups, exclude_own)
    incomplete = (present < expected if missing == "invalid" else present == 0) | (expected == 0)
    result = groups.carried((*over, *_OF_THE_RATING))
    if "judge" in over:
        result["judge"] = PANEL
    undecided = np.zeros(codes.size, dtype=bool)
    if how == DAWID_SKENE:
        panel = panel_of_scores(scores, by)
        best, confidence = verdicts_of(panel, *starts, CONF_LEVEL)
        undecided = (best == -1) & ~incomplete
        place = range(len(panel.answers)) if scores.classes is not None else panel.answers
        summary = np.where(best < 0, np.nan, np.asarray(place, dtype=float)[best])
        result["confidence"] = np.where(incomplete, np.nan, confidence)
    elif how == "mode":
        summary = modes(np.where(valid, values, np.nan), codes)[0]
        undecided = np.isnan(summary) & ~incomplete
    else:
        summary = summarise(values[valid], codes.code[valid].astype(np.int64), codes.size, how, trim)
    summary = np.where(incomplete, np.nan, summary)
    if scores.classes is None:
        result["score" if "score" in ratings.columns else "mean"] = summary
    else:
        none = np.isnan(summary)
        result["answer"] = np.where(none, None, scores.classes[np.where(none, 0, summary).astype(int)])
    result["status"] = np.where(incomplete, groups.first_status(~own & np.isnan(values)), "ok")
    result.loc[undecided, "status"] = "undecided"
    result["n_calls"] = np.bincount(codes.code[~own], minlength=codes.size).astype(np.int64)
    return in_order(result, RATINGS, ["n_calls"], key_columns("ratings", result.columns))


@dataclass(frozen=True)
class GroupedScores:
    """Scores of a table, grouped by response: `values` and `own` (a judge of its own system) of each row.

    No panel yet: what is summarised may be runs, orders or prompts in place of judges.
    """

    groups: CallGroups
    values: Floats
    own: Mask
    classes: pd.Index | None = None  # of which `values` are the codes, sorted


def grouped_scores(
    ratings: pd.DataFrame, over: Sequence[str], by: Sequence[str], exclude_own: Authors
) -> GroupedScores:
    """Group the scores of each response; refuse an `over` that cannot be, and scores that repeat each other."""
    for name in over:
        choose(name, [c for c in ratings.columns if c not in _NOT_OVER], "over")
    unit = [c for c in dict.fromkeys([*key_columns("ratings", ratings.columns), *by]) if c not in over]
    groups = CallGroups.of(ratings, unit, over, by)
    refuse_repeats(ratings, groups, [column_codes(ratings[c]) for c in over], over)
    own, column = _own(ratings, over, exclude_own), answer_column(ratings.columns)
    if column != "answer":
        return GroupedScores(groups, ratings[column].to_numpy(dtype=float), own)
    code, classes = class_codes(ratings[column])
    return GroupedScores(groups, np.where(code < 0, np.nan, code), own, classes)


def panel_of_scores(scores: GroupedScores, by: Sequence[str]) -> AnswerPanel:
    """Raters by responses: each different score is a class."""
    valid = np.flatnonzero(~scores.own & ~np.isnan(scores.values))
    classes, label = np.unique(scores.values[valid], return_inverse=True)
    names = classes.tolist() if scores.classes is None else scores.classes[classes.astype(int)].tolist()
    return scores.groups.panel(valid, label.reshape(-1), names, by)


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


def _own(ratings: pd.DataFrame, over: Sequence[str], exclude_own: Authors) -> Mask:
    """Rows in which a judge scored its own system."""
    if exclude_own is False:
        return np.zeros(len(ratings), dtype=bool)
    if "judge" not in over:
        raise DesignError("exclude_own= leaves a judge out of a panel: it needs over='judge'.")
    if "system" not in ratings.columns:
        raise DesignError(
            "exclude_own= leaves out a judge who rates its own answers, and there is no column 'system' that says "
            f"whose they are. Columns: {', '.join(ratings.columns)}. Leave exclude_own= out, or map system."
        )
    _refuse_unknown_identity(ratings, exclude_own)
    own = _author(ratings["system"], exclude_own) == ratings["judge"].astype(object)
    return np.asarray(own, dtype=bool)


def _author(systems: pd.Series, exclude_own: Authors) -> pd.Series:
    names: pd.Series = systems.astype(object)
    return names if isinstance(exclude_own, bool) else names.map(dict(exclude_own))


def _refuse_unknown_identity(ratings: pd.DataFrame, exclude_own: Authors) -> None:
    systems, judges = (sorted(set(ratings[c].astype(str))) for c in ("system", "judge"))
    if isinstance(exclude_own, bool):
        if not set(systems) & set(judges):
            raise DesignError(
                f"exclude_own=True needs judges that are systems too. Judges: {', '.join(judges)}; systems: "
                f"{', '.join(systems)}. Pass a map of system to judge."
            )
        return
    entries = [("system", s, systems) for s in exclude_own] + [("judge", j, judges) for j in exclude_own.values()]
    absent = [(what, name, present) for what, name, present in entries if name not in present]
    if problems := [f"{what} {n!r} is not in the ratings.{suggestion(str(n), present)}" for what, n, present in absent]:
        raise DesignError(f"exclude_own maps system to judge. {' '.join(problems)}")


def _own_expected(groups: CallGroups, exclude_own: Authors) -> Ints:
    """(G,) number of panel members in each group who wrote the rated response."""
    if exclude_own is False:
        return np.zeros(groups.codes.size, dtype=np.int64)
    judges = groups.table["judge"].astype(object).iloc[groups.member_rows].to_numpy()
    members = pd.DataFrame({"scope": groups.members, "judge": judges})
    sizes = members.value_counts(["scope", "judge"]).rename("size").reset_index()
    author = _author(groups.table["system"].iloc[groups.codes.first], exclude_own).to_numpy()
    authors = pd.DataFrame({"scope": groups.scope, "judge": author})
    matched = authors.merge(sizes, how="left", on=["scope", "judge"])["size"]
    return np.asarray(matched.fillna(0), dtype=np.int64)
