"""Scores of several judges or runs -> one score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError, choose, suggestion
from judgestats.schema.coding import Codes, column_codes
from judgestats.schema.columns import COUNTS, RATINGS, key_columns
from judgestats.verdicts.groups import (
    PANEL,
    Groups,
    constant,
    first_status,
    group_calls,
    refuse_repeats,
    row_counts,
)

#: What can be done with the scores of a panel.
SUMMARIES = ("mean", "median", "trimmed")
#: Columns of a rating, not of what was rated.
_OF_THE_CALL = ("score", "mean", "sd", "runs", "status", "rationale", "n", "n_calls")
_NOT_OVER = ("system", "item", "criterion", *_OF_THE_CALL)


def aggregate_scores(
    ratings: pd.DataFrame,
    how: str,
    over: Sequence[str],
    by: Sequence[str],
    missing: str,
    exclude_own: bool | Mapping[str, str],
    trim: float,
) -> pd.DataFrame:
    """Aggregate ratings; see :func:`judgestats.aggregate`."""
    choose(how, SUMMARIES, "how")
    for name in over:
        choose(name, [c for c in ratings.columns if c not in _NOT_OVER], "over")
    if not 0 <= trim < 0.5:
        raise DesignError(f"trim={trim!r} is no share to be cut from each end. Allowed: 0 up to, but without, 0.5.")
    unit = [c for c in dict.fromkeys([*key_columns("ratings", ratings.columns), *by]) if c not in over]
    groups = group_calls(ratings, unit, over, by)
    refuse_repeats(ratings, groups, [column_codes(ratings[c]) for c in over], over)
    codes = groups.codes
    score = "score" if "score" in ratings.columns else "mean"
    values = ratings[score].to_numpy(dtype=float)
    own = _own(ratings, over, exclude_own)
    counted = ~own & ~np.isnan(values)
    present = np.bincount(codes.code[counted], minlength=codes.size)
    expected = groups.expected() - _own_expected(ratings, groups, exclude_own)
    short = present < expected if missing == "invalid" else present == 0
    short |= expected == 0
    result = ratings[[*unit, *_kept(ratings, codes, unit, over)]].iloc[codes.first].reset_index(drop=True)
    if "judge" in over:
        result["judge"] = PANEL
    summary = summarise(values[counted], codes.code[counted], codes.size, how, trim)
    result[score] = np.where(short, np.nan, summary)
    result["status"] = np.where(short, first_status(ratings, codes, ~own & np.isnan(values), "parse"), "ok")
    result["n_calls"] = np.bincount(codes.code[~own], minlength=codes.size).astype(np.int64)
    counts = row_counts(ratings, codes)
    return _in_order(result if counts is None else result.assign(**{COUNTS: counts}))


def summarise(
    values: NDArray[np.float64], code: NDArray[np.int64], size: int, how: str, trim: float
) -> NDArray[np.float64]:
    """Mean of the middle scores of each group: all of them, those left by trimming, or the one or two in the centre.

    Parameters
    ----------
    values, code : (N,) arrays
        Scores and their groups.
    size : int
        G.
    how : {'mean', 'median', 'trimmed'}
        Which scores count.
    trim : float
        Share cut from each end, rounded down to whole scores.

    Returns
    -------
    (G,) float array
        NaN for a group without scores.

    Examples
    --------
    >>> scores = np.array([1.0, 2.0, 3.0, 4.0, 10.0])
    >>> [float(summarise(scores, np.zeros(5, dtype=int), 1, how, 0.2)[0]) for how in SUMMARIES]
    [4.0, 3.0, 3.0]
    """
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
        mean: NDArray[np.float64] = total / np.bincount(code[middle], minlength=size)
    return mean


def _own(ratings: pd.DataFrame, over: Sequence[str], exclude_own: bool | Mapping[str, str]) -> NDArray[np.bool_]:
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


def _own_expected(ratings: pd.DataFrame, groups: Groups, exclude_own: bool | Mapping[str, str]) -> NDArray[np.int64]:
    """(G,) how many members of each group's panel wrote what is rated there."""
    if exclude_own is False:
        return np.zeros(groups.codes.size, dtype=np.int64)
    judges = ratings["judge"].astype(object).iloc[groups.member_rows].to_numpy()
    members = pd.DataFrame({"scope": groups.members, "judge": judges})
    sizes = members.value_counts(["scope", "judge"]).rename("size").reset_index()
    author = _author(ratings["system"].iloc[groups.codes.first], exclude_own).to_numpy()
    wanted = pd.DataFrame({"scope": groups.scope, "judge": author})
    matched = wanted.merge(sizes, how="left", on=["scope", "judge"])["size"]
    return np.asarray(matched.fillna(0), dtype=np.int64)


def _kept(ratings: pd.DataFrame, codes: Codes, unit: Sequence[str], over: Sequence[str]) -> list[str]:
    others = [c for c in ratings.columns if c not in unit and c not in over and c not in _OF_THE_CALL]
    return constant(ratings, codes, others)


def _in_order(result: pd.DataFrame) -> pd.DataFrame:
    ours = [c.name for c in RATINGS if c.name in result.columns]
    rest = [c for c in result.columns if c not in ours and c != "n_calls"]
    keys = key_columns("ratings", result.columns)
    return result[[*ours, *rest, "n_calls"]].sort_values(keys, kind="stable", ignore_index=True)
