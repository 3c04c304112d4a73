"""Same quality, other surface: the direction-stability decomposition, and what filler is worth to a judge."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.defaults import CONF_LEVEL
from judgestats.errors import choose
from judgestats.kernels.decomposition import DROPPED, NO_PREFERENCE, ONE_SIDED, POSITIONAL, STABLE, decompose
from judgestats.kernels.proportions import goodman
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.metrics.rates import leans, rates
from judgestats.results import BY_STRUCTURE, NO_DATA, estimates
from judgestats.schema.clustering import Cluster, column_of
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import By, grouping
from judgestats.schema.counting import tally
from judgestats.schema.patterns import SLOT_ANSWERS

#: Terms of the four classes of a pair, in the order of the kernel.
CLASS_TERMS = {
    "stable_cross_sensitivity": STABLE,
    "positional_false_preference": POSITIONAL,
    "one_sided_commit": ONE_SIDED,
    "no_preference": NO_PREFERENCE,
}
_ORDER = (
    "raw_false_preference",
    "tie_rate",
    "stable_cross_sensitivity",
    "positional_false_preference",
    "one_sided_commit",
    "other_conflict",
    "no_preference",
)


@Measure(
    "What is false preference between equals made of?", "psychometrics", "P, counts",
    "Goodman, simultaneous, clustered; Wilson, clustered", "dark_current, Eqs 2 to 7",
    plot="decomposition, stable_positional", frames=("preferences",),
    nothing="every pair was judged in one order only: run each pair in both orders", sheet=("Δ0",),
    terms=(
        Term("raw_false_preference", "", "call", "both-order calls on equal pairs", "higher",
             "The judge refuses to call a tie between candidates of equal quality. A mixture, not a mechanism.",
             symbol="RFP₀"),
        Term("tie_rate", "tie rate on equals", "call", "both-order calls on equal pairs", "no universal direction",
             "The judge calls equal candidates equal.", symbol="C_J"),
        Term("stable_cross_sensitivity", "stable cross-sensitivity", "pair", "equal pairs, both orders valid",
             "construct-dependent", "The judge picks the same content in both orders: it responds to surface.",
             symbol="SCS"),
        Term("positional_false_preference", "", "pair", "equal pairs, both orders valid", "higher",
             "The judge picks the same slot in both orders: the preference is the position's.", symbol="PFP"),
        Term("one_sided_commit", "one-sided commit", "pair", "equal pairs, both orders valid", "higher",
             "The judge commits in one order and calls a tie in the other.", symbol="OSC"),
        Term("other_conflict", "", "pair", "equal pairs, both orders valid", "higher",
             "What the named classes leave over.", symbol="Other"),
        Term("no_preference", "", "pair", "equal pairs, both orders valid", "construct-dependent",
             "The judge calls a tie in both orders.", symbol="NP"),
    ),
)  # fmt: skip
def delta0(
    calls: Any,
    *,
    by: By = (),
    stimulus: str = "same_subset",
    cluster: Cluster = "auto",
    simultaneous: bool = True,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Split false preference between equals into its mechanisms (dark_current paper, Eqs. 2 to 7).

    Parameters
    ----------
    calls : frame
        Preferences with a column ``stimulus`` and both orders of each pair; or a tally: ``judge, forward, reverse, n``,
        each answer ``first``, ``second`` or ``tie`` *by slot*, ``forward`` being one order and ``reverse`` the other.
    by : str or sequence of str
        Further grouping columns.
    stimulus : {'same_subset', 'different_subset'}
        Which equal-quality pairs; the two are never pooled.
    cluster : "auto", str or False
        What pairs share: by default the column that they share (``task``, say), which ``method`` names; or
        a column; False takes all pairs as independent, and is flagged where they are not. Where pairs share nothing,
        the two calls of a pair are still clustered by it.
    simultaneous : bool
        Goodman's intervals for the four classes together (clustered: Wilson's clustered ones at the level of
        Goodman's); False gives Wilson's for each alone.
    conf_level : float
        Coverage of the intervals, of the set of four where they are simultaneous.

    Returns
    -------
    pandas.DataFrame
        Per judge: ``raw_false_preference`` and ``tie_rate`` (``n`` is calls), and over pairs
        ``stable_cross_sensitivity``, ``positional_false_preference``, ``one_sided_commit``, ``other_conflict``,
        ``no_preference``, with the column ``n_dropped``: pairs without two valid orders, which leave every rate alike.
        So ``raw = stable + positional + one_sided / 2 + other`` holds exactly and ``other_conflict`` is a structural
        zero.
        An abstention is a tie.

    Raises
    ------
    DesignError
        If the frame does not say which stimuli are meant, does not know the order, or repeats a call.

    Examples
    --------
    >>> import pandas as pd
    >>> counts = pd.DataFrame({"judge": "Qwen32B", "forward": ["first", "first", "tie"],
    ...                        "reverse": ["first", "tie", "tie"], "n": [5, 21, 34]})
    >>> delta0(counts)[["term", "estimate", "n"]].round(4)
                              term  estimate      n
    0         raw_false_preference    0.2583  120.0
    1                     tie_rate    0.7417  120.0
    2     stable_cross_sensitivity    0.0000   60.0
    3  positional_false_preference    0.0833   60.0
    4             one_sided_commit    0.3500   60.0
    5               other_conflict    0.0000   60.0
    6                no_preference    0.5667   60.0
    """
    choose(stimulus, ("same_subset", "different_subset"), "stimulus")
    table = tally(calls, "delta0", by, cluster=cluster, stimulus=stimulus)
    groups = list(dict.fromkeys(["judge", *grouping(by, table.columns)]))
    options: dict[str, Any] = {"conf_level": conf_level, "cluster": column_of(table)}
    pair_class = _pair_class(table)
    kept = pair_class != DROPPED
    commits = (table["forward"] != "tie").astype(float) + (table["reverse"] != "tie").astype(float)
    classes = _classes(table, groups, pair_class)
    terms = {
        "raw_false_preference": rates(
            table, groups, "raw_false_preference", commits / 2, kept, calls_per_count=2, **options
        ),
        "tie_rate": rates(table, groups, "tie_rate", 1 - commits / 2, kept, calls_per_count=2, **options),
        **{t: rates(table, groups, t, pair_class == c, kept, **options) for t, c in CLASS_TERMS.items()},
    }
    if simultaneous and options["cluster"] is None:
        _make_simultaneous(terms, classes, conf_level)
    elif simultaneous:  # Goodman's are Wilson's at level 1 - α/4
        options["conf_level"] = 1 - (1 - conf_level) / len(CLASS_TERMS)
        for t, c in CLASS_TERMS.items():
            joint = rates(table, groups, t, pair_class == c, kept, **options)
            terms[t] = [{**r, "method": r["method"].replace("Wilson", "Goodman, 4 classes")} for r in joint]
    terms["other_conflict"] = [_by_structure(row) for row in terms["no_preference"]]
    rows = [{**row, "n_dropped": classes[g, DROPPED]} for t in _ORDER for g, row in enumerate(terms[t])]
    return estimates(rows, groups, extra=["n_dropped"])


def _by_structure(row: dict[str, Any]) -> dict[str, Any]:
    """Row of other_conflict: 0 where there is a pair, without an interval."""
    known = row["n"] > 0
    return {
        **row,
        "term": "other_conflict",
        "estimate": 0.0 if known else math.nan,
        "std_error": math.nan,
        "conf_low": math.nan,
        "conf_high": math.nan,
        "method": "identity",
        "flag": BY_STRUCTURE if known else NO_DATA,
    }


@Measure(
    "Does the judge reward filler?", "psychometrics", "P, counts", "Newcombe for two shares of one sample",
    "dark_current", plot="forest", frames=("preferences",), sheet=("filler",),
    terms=(
        Term("filler_preference", "", "call", "filler calls", "far from 0",
             "The judge rewards (above 0) or punishes (below 0) words that say nothing.", neutral=0.0),
    ),
)  # fmt: skip
def filler_preference(
    calls: Any, *, by: By = (), cluster: Cluster = "auto", conf_level: float = CONF_LEVEL
) -> pd.DataFrame:
    """Preference for uninformative filler: share choosing the filler variant minus share choosing the clean one.

    Parameters
    ----------
    calls : frame
        Preferences with ``stimulus`` (the rows that are ``filler`` count) and ``target``, the candidate with the
        filler; or a tally: ``judge, outcome, n`` with outcomes ``filler``, ``clean``, ``tie``.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str or False
        What calls share: by default the column that they share (``task``, say), which ``method`` names; or
        a column; False takes all calls as independent, and is flagged where they are not.
    conf_level : float
        Coverage of the interval (Newcombe's, for the difference of two shares of one sample).

    Returns
    -------
    pandas.DataFrame
        Term ``filler_preference`` per judge, in [-1, 1]; a tie counts in the denominator and on neither side.

    Examples
    --------
    >>> import pandas as pd
    >>> counts = pd.DataFrame({"judge": "g", "outcome": ["filler", "clean", "tie"], "n": [30, 10, 20]})
    >>> filler_preference(counts)[["estimate", "conf_low", "conf_high", "n"]].round(3)
       estimate  conf_low  conf_high     n
    0     0.333     0.132      0.502  60.0
    """
    table = tally(calls, "filler_preference", by, cluster=cluster)
    groups = list(dict.fromkeys(["judge", *grouping(by, table.columns)]))
    outcome = table["outcome"].to_numpy(dtype=object)
    options: dict[str, Any] = {"conf_level": conf_level, "cluster": column_of(table)}
    filler, clean = outcome == "filler", outcome == "clean"
    return estimates(leans(table, groups, "filler_preference", filler, clean, outcome != "invalid", **options), groups)


def _pair_class(table: pd.DataFrame) -> Any:
    """Class of each pattern, from the kernel."""
    position = {a: i for i, a in enumerate(SLOT_ANSWERS)}
    counts = np.zeros((len(table), 5, 5))
    one, two = table["forward"].map(position).to_numpy(int), table["reverse"].map(position).to_numpy(int)
    counts[np.arange(len(table)), one, two] = 1
    return decompose(counts).classes.argmax(axis=1)


def _classes(table: pd.DataFrame, groups: list[str], pair_class: Any) -> NDArray[np.float64]:
    """Pairs of each class, a row a group."""
    codes = codes_of(table, groups)
    counts = np.bincount(codes.code * 5 + pair_class, weights=table["n"].to_numpy(float), minlength=codes.size * 5)
    return counts.astype(float).reshape(-1, 5)


def _make_simultaneous(terms: dict[str, list[dict[str, Any]]], classes: NDArray[np.float64], conf_level: float) -> None:
    for g, counts in enumerate(classes[:, :DROPPED]):
        if not counts.sum():
            continue
        low, high = goodman(counts, conf_level)
        for term, column in CLASS_TERMS.items():
            terms[term][g].update(conf_low=low[column], conf_high=high[column], method="Goodman, 4 classes")
