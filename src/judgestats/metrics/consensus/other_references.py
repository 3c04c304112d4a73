"""References other than the peers: a panel of people, other judges, a table of means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.counting.cells import ABOUT, score_panel
from judgestats.counting.panels import ScorePanel
from judgestats.counting.study import Calls, Study
from judgestats.errors import DesignError
from judgestats.kernels.proportions import quotient
from judgestats.typing import Floats

#: The reference of a panel's things, whose groups are these columns.
Matcher: TypeAlias = "Callable[[ScorePanel, Sequence[str]], Reference]"


@dataclass(frozen=True)
class Reference:
    """Reference means of the things of a panel."""

    used: bool  # False if judges are compared with their peers
    row: NDArray[np.int64]  # (T,): row of the reference for each thing, -1 for none
    mean: Floats  # (R,)
    variance: Floats  # (R,): of that mean (NaN where unknown)
    df: Floats  # (R,): degrees of freedom of the variance
    shared: bool = False  # whether several items have the same row

    @property
    def of_thing(self) -> Floats:
        """Reference mean of each thing, NaN for none."""
        return np.append(self.mean, np.nan)[self.row]

    @property
    def known(self) -> bool:
        """Whether all variances are known."""
        return bool(self.mean.size) and not bool(np.isnan(self.variance).any())


def no_reference(things: int) -> Reference:
    """The unused reference, for comparison with peers."""
    return Reference(False, np.full(things, -1), np.zeros(0), np.zeros(0), np.zeros(0))


def reference_matcher(
    frame: Calls, per_criterion: bool, final: str | None, identity: Mapping[str, str] | None
) -> Matcher:
    """A function that matches a reference frame, of a panel or of means, to a panel and its `by` columns."""
    return lambda panel, by: _matched(panel, _means(frame, by, per_criterion, final), identity or {})


def _means(frame: Calls, by: Sequence[str], per_criterion: bool, final: str | None) -> pd.DataFrame:
    """Key columns of the reference, ``mean``, ``variance`` and its ``df``."""
    present = Study.of(frame).names
    split = [c for c in by if c in present and c not in ABOUT]
    judge = "judge" if "judge" in present else None
    panel = score_panel(frame, split, judge=judge)
    criterion = panel.things["criterion"]
    if not per_criterion and final is not None and final in criterion.labels:
        panel = panel.where(criterion.among(final))
    keys = [*split, *(k for k in ABOUT if k in present)]
    runs, things = np.asarray(panel.runs, dtype=float), len(panel.things)
    noise = quotient(panel.sd**2, runs, runs > 1)
    scored = ~np.isnan(panel.mean)
    thing, score = panel.thing[scored], panel.mean[scored]
    raters = np.bincount(thing, minlength=things)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.bincount(thing, score, things) / raters
        between = np.bincount(thing, (score - mean[thing]) ** 2, things) / (raters - 1) / raters
    run_noise, run_df = (np.bincount(thing, x[scored], things) for x in (noise, runs - 1))
    result = pd.DataFrame({k: panel.things[k].values for k in keys})
    result["mean"], result["variance"] = mean, np.where(raters > 1, between, run_noise)
    result["df"] = np.where(raters > 1, raters - 1, run_df)
    return result[raters > 0]


def _matched(panel: ScorePanel, means: pd.DataFrame, identity: Mapping[str, str]) -> Reference:
    """The reference mean of each thing; a system has its own name in the reference, else that of its identity."""
    place = pd.DataFrame({k: panel.things[k].values for k in panel.things.names if k in means.columns})
    place = place.astype(object).astype("str")
    if "system" in place:
        known = set(means["system"].astype(str))
        place["system"] = place["system"].map(lambda s: s if s in known else str(identity.get(s, s)))
    keys = [k for k in means.columns if k not in ("mean", "variance", "df")]
    if "criterion" in keys:  # a single criterion under another name stands for the whole
        theirs = set(means["criterion"].astype(str))
        ours = set(panel.things.labels("criterion"))
        if len(theirs) == 1 and not theirs & ours:
            keys.remove("criterion")
    lookup = means[keys].astype(object).astype("str").assign(_row=np.arange(len(means)))
    merged = place[keys].merge(lookup, on=keys, how="left")
    row = merged["_row"].fillna(-1).to_numpy(dtype=np.int64)
    if not len(means) or (row < 0).all():
        listed = ", ".join(f"{k} {sorted(set(lookup[k]))[:5]} against {sorted(set(place[k]))[:5]}" for k in keys)
        raise DesignError(f"The reference has no mean for any rating. Matched on {', '.join(keys)}: {listed}.")
    shared = "item" not in keys and len(panel.things["item"].labels) > 1
    mean, variance, df = (means[c].to_numpy() for c in ("mean", "variance", "df"))
    return Reference(True, row, mean, variance, df, shared)
