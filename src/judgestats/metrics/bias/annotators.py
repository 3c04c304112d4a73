"""The people beside the judges: who of them gives no thought to it, and how far do they agree?"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.kernels.proportions import clustered_wilson, wilson
from judgestats.metrics.differences import size_flag
from judgestats.schema.coding import codes_of

#: An annotator with fewer calls is not screened: a few equal answers are no pattern.
LEAST = 10
_ANSWERS = ("target", "other", "tie")


def constant(table: pd.DataFrame) -> pd.Series[Any]:
    """Calls of people who answer by slot alone, with one confidence.

    Parameters
    ----------
    table : pandas.DataFrame
        Calls with ``_person``, ``outcome``, ``_choice`` (the answer by slot), ``_slot`` (of the target), ``_sure`` and
        ``n``.

    Returns
    -------
    (N,) bool Series
    """
    whose = table[table["_person"] & (table["outcome"] != "invalid")].groupby("judge", observed=True)
    told = whose.agg(
        choices=("_choice", "nunique"), sure=("_sure", "nunique"), slots=("_slot", "nunique"), calls=("n", "sum")
    )
    same = told[(told["choices"] == 1) & (told["sure"] == 1) & (told["slots"] == 2) & (told["calls"] >= LEAST)]
    return table["_person"] & table["judge"].isin(same.index)


def agreement(people: pd.DataFrame, conf_level: float = 0.95) -> dict[str, dict[str, Any]]:
    """Raw agreement of every two annotators on the pairs that both judged, and kappa.

    Parameters
    ----------
    people : pandas.DataFrame
        Calls with ``judge``, ``_pair``, ``outcome`` and ``n``; several of one annotator on one pair count as one call
        that is shared out between their answers.
    conf_level : float
        Coverage of the interval of the agreement.

    Returns
    -------
    dict
        Cells of ``annotator_agreement`` and ``annotator_kappa``; empty where no two judged the same pair. Kappa is
        Cohen's for two annotators; for more, agreement and chance agreement are means over the twos (Conger).
    """
    answers = people[people["outcome"].isin(_ANSWERS) & (people["n"] > 0)]
    pair, who = codes_of(answers, ["_pair"]), codes_of(answers, ["judge"])
    if not len(answers) or who.size < 2:
        return {}
    given = np.zeros((3, pair.size, who.size))
    place = answers["outcome"].map(_ANSWERS.index).to_numpy(dtype=int), pair.code, who.code
    np.add.at(given, place, answers["n"].to_numpy(dtype=float))
    given /= np.maximum(given.sum(axis=0), 1e-300)
    agree, compared = _compared(given)
    k, n = float(agree.sum()), float(compared.sum())
    if not n:
        return {}
    share, by_chance = k / n, _by_chance(given) / n
    if who.size == 2:
        low, high = (float(x) for x in wilson(k, n, conf_level))
        error, method = math.sqrt(share * (1 - share) / n), "Wilson"
    else:
        error, low, high = clustered_wilson(agree, compared, conf_level)
        method = f"Wilson, clustered by pair (G = {int((compared > 0).sum())})"
    kappa = (share - by_chance) / (1 - by_chance) if by_chance < 1 else math.nan
    span = {"estimate": share, "std_error": error, "conf_low": low, "conf_high": high, "n": n}
    named = "Cohen's kappa" if who.size == 2 else "Conger's kappa"
    return {
        "annotator_agreement": {**span, "method": method, "flag": size_flag(n)},
        "annotator_kappa": {"estimate": kappa, "n": n, "method": named, "flag": "no interval"},
    }


def _compared(given: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of each pair, the twos who agree, and all twos who answered; `given` is (answers, pairs, people)."""
    each, all_ = given.sum(axis=2), np.rint(given.sum(axis=(0, 2)))
    agree = ((each**2 - (given**2).sum(axis=2)) / 2).sum(axis=0)
    return np.asarray(agree), np.asarray(all_ * (all_ - 1) / 2)


def _by_chance(given: NDArray[np.float64]) -> float:
    """Agreement expected of the margins of each two, on the pairs that both answered; summed over the twos."""
    answered = given.sum(axis=0)
    both = answered.T @ answered
    margins = given.transpose(0, 2, 1) @ answered  # how often a gave this answer where b answered
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = (margins * margins.transpose(0, 2, 1)).sum(axis=0) / both
    return float(np.triu(np.where(both > 0, expected, 0.0), 1).sum())
