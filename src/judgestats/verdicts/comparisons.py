"""From scores to verdicts: the system with the higher score of an item is preferred (:func:`compare_scores`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.counting.study import Study
from judgestats.errors import DesignError, SchemaError
from judgestats.schema import preferences
from judgestats.schema.columns import key_columns
from judgestats.schema.opening import engine_errors
from judgestats.verdicts.native_frames import to_native, to_table

_OF_THE_SYSTEM = ("system", "tier")


@engine_errors
def compare_scores(ratings: IntoFrame, *, margin: float = 0.0) -> Any:
    """Turn scores into verdicts: of two systems on one item, the one with the higher score is preferred.

    Parameters
    ----------
    ratings : frame
        Ratings, one score of each system and item by a judge: of one criterion, or made one by
        :func:`judgestats.composite`.
    margin : float
        Scores that differ by no more are a tie.

    Returns
    -------
    frame
        Preferences, a row for each pair of systems that a judge scored under the same conditions: ``first`` and
        ``second`` in alphabetical order with ``order_known`` false, ``score_first``, ``score_second``, and ``choice``,
        which is ``invalid`` where a score is missing.

    Raises
    ------
    SchemaError
        If there is no score or no system.
    DesignError
        If the margin is negative, a system has several scores, or no two systems share an item.

    See Also
    --------
    aggregate : Several calls to one verdict.
    composite : Several criteria to one score.

    References
    ----------
    The rationalization paper, Sec IV.D (rank by weighted scores). It has no rule for ties.

    Examples
    --------
    >>> scores = pd.DataFrame({"judge": "g", "item": ["1", "1", "2", "2"], "system": ["s", "t"] * 2,
    ...                        "criterion": "composite", "score": [4.0, 3.0, 3.1, 3.0]})
    >>> compare_scores(scores, margin=0.5)["choice"].tolist()
    ['first', 'tie']
    """
    if not (isinstance(margin, int | float) and margin >= 0):
        raise DesignError(f"margin={margin!r} is not a difference of scores. Allowed: 0 or more.")
    table = to_table(Study.of(ratings).data.to_native())
    score = next((c for c in ("score", "mean") if c in table), None)
    if score is None or not {"judge", "item", "system"} <= set(table.columns):
        raise SchemaError(f"compare_scores() needs judge, item, system and score. Columns: {', '.join(table.columns)}.")
    unit = [c for c in key_columns("ratings", table.columns) if c not in _OF_THE_SYSTEM]
    if table.duplicated([*unit, "system"]).any():
        raise DesignError(
            f"A system has several scores under the same {', '.join(unit)}. Make one of them with aggregate() first."
        )
    if "criterion" in table and table["criterion"].nunique(dropna=False) > 1:
        raise DesignError("There are scores of several criteria. Make one score of them with composite() first.")
    scores = table[[*unit, "system"]].assign(score=pd.to_numeric(table[score], errors="coerce").astype(float))
    result = scores.merge(scores, on=unit, suffixes=("_first", "_second"))
    result = result[result["system_first"] < result["system_second"]]
    result = result.rename(columns={"system_first": "first", "system_second": "second"})
    if not len(result):
        raise DesignError("No two systems have a score of the same item by the same judge, so nothing can be compared.")
    one, two = (result[c].to_numpy(dtype=float) for c in ("score_first", "score_second"))
    difference = one - two
    close = abs(difference) <= margin + 1e-9 * np.maximum(abs(one), abs(two))  # equal sums, rounded differently
    choice = np.where(close, "tie", np.where(difference > 0, "first", "second"))
    result["choice"] = np.where(np.isnan(difference), "invalid", choice)
    result["status"] = np.where(np.isnan(difference), "missing partner", "ok")
    result = result.drop(columns=["criterion"], errors="ignore")
    return to_native(preferences(result.assign(order_known=False, ties_allowed=True)), ratings)
