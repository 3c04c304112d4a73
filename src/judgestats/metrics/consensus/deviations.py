"""How far is each judge from its peers, or from a reference: :func:`consensus_deviation`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError
from judgestats.kernels.proportions import wilson
from judgestats.metrics.clustered import clustered_by
from judgestats.metrics.consensus.doubts import NO_REFERENCE, Doubts
from judgestats.metrics.consensus.identity import identities, own_pairs
from judgestats.metrics.consensus.panel import Panel, panel
from judgestats.metrics.consensus.reference import against
from judgestats.metrics.consensus.uncertainty import Spread, Uncertainty, interval
from judgestats.results import SMALL_N, estimates, flags
from judgestats.schema.clustering import Cluster
from judgestats.schema.columns import By, names
from judgestats.schema.splitting import as_runs, reference_as_runs

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

NO_OWN = "no own system"
NO_OTHER = "no other system"
DEPENDENT_PAIRS = "pairs not independent"
NAIVE = "naive, includes the judge"


def consensus_deviation(
    ratings: Any,
    reference: Any = "peers",
    *,
    by: By = (),
    average_over: By = (),
    identity: Mapping[str, str] | None = None,
    family: Mapping[str, str] | None = None,
    exclude_self: bool = True,
    conf_level: float = 0.95,
    cluster: Cluster = "auto",
    level: Literal["final", "criterion"] = "final",
    final: str | None = "final",
) -> pd.DataFrame:
    """Measure how far each judge scores from the consensus of the others, its own system apart.

    A deviation is taken in each cell (system, item, criterion): the judge's score, replicates averaged, minus the mean
    of the other judges that scored there. It is averaged over the criteria of an item, then over items.

    Parameters
    ----------
    ratings : frame
        Raw ratings in any engine (NaN scores are set aside), or means per cell: ``judge, system[, item, criterion],
        mean[, sd, runs]``, such as a published table or a tally.
    reference : 'peers' or frame
        What to deviate from. A frame is a reference panel: ratings of it (with ``judge``: the mean over its judges), or
        means with ``system``, ``mean`` (and ``sd``, ``runs``) and, where it has them, the `by` columns, ``item`` and
        ``criterion``. A system it does not know by name is looked up by its `identity`.
    by : str or sequence of str
        Further columns that split the result, a condition for one.
    average_over : str or sequence of str
        Columns averaged over, as in :func:`score_matrix`.
    identity : mapping of str to str, optional
        System name -> judge name, where they differ: ``{"Expert 1": "GPT-5.1"}``. A system left out keeps its name.
        Within a `by` group no two systems may be one judge.
    family : mapping of str to str, optional
        Name -> family, for every judge and system: ``own`` then means of the same family, and need not be one system.
    exclude_self : bool
        False leaves the judge in its own consensus, which shrinks every deviation by (n - 1)/n. For contrast only.
    conf_level : float
        Coverage of the intervals.
    cluster : "auto", str or False
        Column whose values are resampled by nature: intervals are t over its values, from the clusters' sums.
        ``"auto"``: ``item``, or what the items lie in (``prompt``, ``task``), the coarsest with 30 values or more.
        False takes the items as given, and the uncertainty from the runs alone.
    level : {'final', 'criterion'}
        ``criterion`` splits the result by criterion.
    final : str or None
        Name of the criterion that holds a final score. At the final level it is taken alone where there is one, else
        all criteria are; at the criterion level it is left out.

    Returns
    -------
    pandas.DataFrame
        The `by` columns, ``judge``, ``system``, the columns of every estimate, and ``own`` (whether a deviation is of
        the judge's own system). Terms:

        - ``deviation`` per judge x system, ``n`` items;
        - per judge, with an empty system and ``n`` judge x system pairs: ``mean_own``, ``mean_others`` and
          ``self_excess`` = ``mean_own - mean_others``, which frees self-preference of severity;
        - against a reference frame, with an empty judge too: ``mean_deviation`` over all pairs and ``share_positive``,
          the share of pairs strictly above 0.

    Raises
    ------
    SchemaError
        If a column is missing, or `identity` or `family` cannot be right (``faults`` lists why).
    DesignError
        If there is a single judge and no reference, or the reference fits no rating.

    Notes
    -----
    With two items or more in every pair of an estimate the interval is t on G - 1, from the influence of each cluster
    on it: for one deviation the sd of the items' deviations over the root of G, for ``self_excess`` in a complete
    design the sd of the items' self-excess. Otherwise, if the runs tell an sd, the estimate is written as a linear
    function of independent cell means, and ``method`` is ``t from mean, sd, runs (Satterthwaite)``:
    degrees of freedom of the variances added up. Otherwise it is NaN; ``flag``
    says why.

    In each cell the deviations of its judges sum to 0: the measure is relative.

    References
    ----------
    Understanding LLM Evaluator Behavior (the merchant_risk paper), Sec 4.1 to 4.4.

    Examples
    --------
    >>> means = pd.DataFrame({"judge": ["a", "a", "b", "b", "c", "c"], "system": ["a", "b"] * 3,
    ...                       "mean": [9.0, 7.0, 8.0, 8.0, 7.0, 6.0]})
    >>> consensus_deviation(means)[["judge", "system", "own", "term", "estimate", "flag"]]
       judge system    own         term  estimate           flag
    0      a      a   True    deviation       1.5     sd unknown
    1      a      b  False    deviation       0.0     sd unknown
    2      b      a  False    deviation       0.0     sd unknown
    3      b      b   True    deviation       1.5     sd unknown
    4      c      a  False    deviation      -1.5     sd unknown
    5      c      b  False    deviation      -1.5     sd unknown
    6      a         False     mean_own       1.5     sd unknown
    7      a         False  mean_others       0.0     sd unknown
    8      a         False  self_excess       1.5     sd unknown
    9      b         False     mean_own       1.5     sd unknown
    10     b         False  mean_others       0.0     sd unknown
    11     b         False  self_excess       1.5     sd unknown
    12     c         False     mean_own       NaN  no own system
    13     c         False  mean_others      -1.5     sd unknown
    14     c         False  self_excess       NaN  no own system
    """
    ratings, reference = as_runs(ratings, average_over, by), reference_as_runs(reference, average_over)
    peers = isinstance(reference, str)
    if peers and reference != "peers":
        raise DesignError(f"reference={reference!r} is not known. Allowed: 'peers', or a frame with system and mean.")
    source = None if peers else against(reference, level, final, identity)
    column = None if cluster is False else clustered_by(ratings, names(by), cluster, whole="item").column
    data = panel(ratings, by, level=level, final=final, cluster=column, exclude_self=exclude_self, reference=source)
    if peers and len(data.judges) < 2:
        raise DesignError(
            f"A consensus needs at least two judges; got {', '.join(map(str, data.judges)) or 'none'}. Give more "
            "judges, or a reference frame."
        )
    own = own_systems(data, identity, family)
    sure, doubts = Uncertainty(data), Doubts(data)
    rows = [*_pair_rows(sure, own, doubts, conf_level), *_judge_rows(sure, own, doubts, conf_level)]
    if not peers:
        rows += _overall_rows(sure, doubts, conf_level)
    result = estimates(rows, [*data.by, "judge", "system"], ["own"], sort=False)
    return result.assign(own=result["own"].astype(bool))


def own_systems(data: Panel, identity: Mapping[str, str] | None, family: Mapping[str, str] | None) -> Mask:
    """Whether the system of each pair is the judge's own.

    Parameters
    ----------
    data : Panel
    identity, family
        As in :func:`consensus_deviation`.

    Returns
    -------
    (P,) bool array
    """
    present = [np.unique(data.pair_system[data.pair_group == g]) for g in range(data.n_groups)]
    groups = [[str(s) for s in data.systems.take(codes)] for codes in present]
    mapped = identities(groups, [str(j) for j in data.judges], identity, family)
    judge, system = (np.asarray(x, dtype=object) for x in (data.judges, data.systems))
    return own_pairs(
        [str(j) for j in judge[data.pair_judge]], [str(s) for s in system[data.pair_system]], mapped, family
    )


def _method(data: Panel, method: str) -> str:
    naive = NAIVE if not data.exclude_self and not data.reference.used else ""
    return "; ".join(m for m in (naive, method) if m)


def _pair_rows(sure: Uncertainty, own: Mask, doubts: Doubts, conf_level: float) -> list[dict[str, Any]]:
    data = sure.data
    variance, df, method = sure.pair_spreads()
    se, low, high = interval(data.estimate, variance, df, conf_level)
    judge, system = (np.asarray(x, dtype=object) for x in (data.judges, data.systems))
    keys = [data.group_labels(g) for g in range(data.n_groups)]
    order = np.lexsort([data.pair_system, data.pair_judge, data.pair_group])
    said = {m: _method(data, m) for m in set(method)}
    told = doubts.of_pairs()
    columns = zip(
        order.tolist(),
        *(
            x[order].tolist()
            for x in (
                data.pair_group,
                judge[data.pair_judge],
                system[data.pair_system],
                own,
                data.estimate,
                se,
                low,
                high,
                data.items,
            )
        ),
        strict=True,
    )
    rows = []
    for p, group, j, s, mine, estimate, error, lower, upper, n in columns:
        doubt = [*told[p], *doubts.of_interval(p, variance[p], error, lower, df[p], method[p])] if n else told[p]
        rows.append(
            {
                **keys[group],
                "judge": j,
                "system": s,
                "own": mine,
                "term": "deviation",
                "estimate": estimate,
                "std_error": error,
                "conf_low": lower,
                "conf_high": upper,
                "n": n,
                "method": said[method[p]],
                "flag": flags(*doubt),
            }
        )
    return rows


def _weights_of_mean(owner: NDArray[Any], n_owners: int, taken: Mask) -> Floats:
    """1 over the number of pairs that an owner takes, on those pairs."""
    counts = np.bincount(owner[taken], minlength=n_owners)
    weights = np.zeros(owner.size)
    weights[taken] = 1 / counts[owner[taken]]
    return weights


def own_and_others(data: Panel, own: Mask) -> tuple[NDArray[Any], int, Floats, Floats]:
    """Owner (group x judge) of each pair, how many owners, and the weights of ``mean_own`` and ``mean_others``."""
    judges = len(data.judges)
    owner = (data.pair_group * judges + data.pair_judge).astype(np.int64)
    owners = data.n_groups * judges
    of_own, of_others = (_weights_of_mean(owner, owners, side & (data.items > 0)) for side in (own, ~own))
    return owner, owners, of_own, of_others


def _judge_rows(sure: Uncertainty, own: Mask, doubts: Doubts, conf_level: float) -> list[dict[str, Any]]:
    data = sure.data
    owner, owners, of_own, of_others = own_and_others(data, own)
    terms = {"mean_own": of_own, "mean_others": of_others, "self_excess": of_own - of_others}
    spreads = dict(zip(terms, sure.contrast(owner, owners, of_own, of_others), strict=True))
    rows = []
    for o in np.unique(owner):
        mine = owner == o
        key = {**data.group_labels(int(o) // len(data.judges)), "judge": data.judges[int(o) % len(data.judges)]}
        lacking = {"mean_own": NO_OWN * (not of_own[mine].any()), "mean_others": NO_OTHER * (not of_others[mine].any())}
        lacking["self_excess"] = flags(*lacking.values())
        for term, weights in terms.items():
            row = {**key, "system": "", "own": False, "term": term}
            if lacking[term]:
                rows.append({**row, "estimate": math.nan, "n": 0, "flag": lacking[term], "method": _method(data, "")})
                continue
            taken = mine & (weights != 0)
            rows.append(row | _linear(data, weights * mine, taken, spreads[term][o], doubts, conf_level))
    return rows


def _linear(
    data: Panel, weights: Floats, taken: Mask, spread: Spread, doubts: Doubts, conf_level: float
) -> dict[str, Any]:
    estimate = float(weights[taken] @ data.estimate[taken])
    se, low, high = interval(estimate, spread.variance, spread.df, conf_level)
    told = doubts.of_interval(taken, spread.variance, float(se), float(low), spread.df, spread.method)
    return {
        "estimate": estimate,
        "std_error": float(se),
        "conf_low": float(low),
        "conf_high": float(high),
        "n": int(taken.sum()),
        "method": _method(data, spread.method),
        "flag": flags(*doubts.of(taken), *told),
    }


def _overall_rows(sure: Uncertainty, doubts: Doubts, conf_level: float) -> list[dict[str, Any]]:
    """Mean deviation from the reference and the share of positive ones, over all judge x system pairs."""
    data = sure.data
    defined = data.items > 0
    weights = _weights_of_mean(data.pair_group, data.n_groups, defined)
    spreads = sure.spreads(data.pair_group.astype(np.int64), data.n_groups, weights)
    rows = []
    for g in range(data.n_groups):
        taken = (data.pair_group == g) & defined
        key = {**data.group_labels(g), "judge": "", "system": "", "own": False}
        n = int(taken.sum())
        if not n:
            empty = {**key, "estimate": math.nan, "n": 0, "flag": NO_REFERENCE}
            rows += [{**empty, "term": "mean_deviation"}, {**empty, "term": "share_positive"}]
            continue
        mean = _linear(data, weights * (data.pair_group == g), taken, spreads[g], doubts, conf_level)
        rows.append({**key, "term": "mean_deviation", **mean})
        positive = int((data.estimate[taken] > 0).sum())
        low, high = wilson(positive, n, conf_level)
        rows.append(
            {
                **key,
                "term": "share_positive",
                "estimate": positive / n,
                "n": n,
                "method": "Wilson",
                "std_error": math.sqrt(positive * (n - positive) / n**3),
                "conf_low": float(low),
                "conf_high": float(high),
                "flag": flags(DEPENDENT_PAIRS, SMALL_N if n < 30 else "", *doubts.of(taken)),
            }
        )
    return rows
