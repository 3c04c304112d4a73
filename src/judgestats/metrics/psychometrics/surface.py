"""Effects of surface at equal quality: :func:`delta0` and :func:`filler_preference`."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags, methods
from judgestats.counting.clustering import Cluster
from judgestats.counting.patterns import SLOT_ANSWERS
from judgestats.counting.tallies import count
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import choose
from judgestats.kernels.decomposition import DROPPED, NO_PREFERENCE, ONE_SIDED, POSITIONAL, STABLE, decompose
from judgestats.kernels.proportions import goodman
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.results import estimates
from judgestats.schema.columns import By

#: Terms of the four classes of a pair, in the order of the kernel.
CLASS_TERMS = {
    "stable_cross_sensitivity": STABLE,
    "positional_false_preference": POSITIONAL,
    "one_sided_commit": ONE_SIDED,
    "no_preference": NO_PREFERENCE,
}
_FOUR_CLASSES = methods.GOODMAN.on("4 classes")
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
    "What are the components of false preference between equals?", "psychometrics", "P, counts",
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
             "construct-dependent", "The judge picks the same content in both orders: it responds to surface features.",
             symbol="SCS"),
        Term("positional_false_preference", "", "pair", "equal pairs, both orders valid", "higher",
             "The judge picks the same slot in both orders: it responds to position.", symbol="PFP"),
        Term("one_sided_commit", "one-sided commit", "pair", "equal pairs, both orders valid", "higher",
             "The judge prefers one candidate in one order and calls a tie in the other.", symbol="OSC"),
        Term("other_conflict", "", "pair", "equal pairs, both orders valid", "higher",
             "False preference outside the named classes.", symbol="Other", form="share"),
        Term("no_preference", "", "pair", "equal pairs, both orders valid", "construct-dependent",
             "The judge calls a tie in both orders.", symbol="NP"),
    ),
    have=("orders", "pairs of known difference",),
    assumes="The candidates are of equal quality by design; tasks are independent of each other.",
)  # fmt: skip
def delta0(
    calls: IntoFrame,
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
        each answer ``first``, ``second`` or ``tie`` *by slot*, ``forward`` in one order and ``reverse`` in the other.
    by : str or sequence of str
        Further grouping columns.
    stimulus : {'same_subset', 'different_subset'}
        Type of equal-quality pairs; the two are never pooled.
    cluster : "auto", str or False
        Column that pairs share, by which intervals are clustered. ``"auto"`` detects it (``task``, say) and names it in
        ``method``. False treats all pairs as independent, with a flag where they are not. Without clusters of pairs,
        the two calls of a pair are still clustered.
    simultaneous : bool
        Goodman's simultaneous intervals for the four classes (clustered: clustered Wilson intervals at Goodman's
        level); False gives a Wilson interval for each class.
    conf_level : float
        Coverage of the intervals. It is joint for the four classes if they are simultaneous.

    Returns
    -------
    pandas.DataFrame
        Per judge: ``raw_false_preference`` and ``tie_rate`` (``n`` is calls), and over pairs
        ``stable_cross_sensitivity``, ``positional_false_preference``, ``one_sided_commit``, ``other_conflict``,
        ``no_preference``, with the column ``n_dropped``: pairs without two valid orders, which are excluded from every
        rate. So ``raw = stable + positional + one_sided / 2 + other`` holds exactly, and ``other_conflict`` is a
        structural zero. An abstention is a tie.

    Raises
    ------
    DesignError
        If the stimuli or the order of the candidates are not given, or a call is repeated.

    See Also
    --------
    dark_current : Preference between candidates that do not differ.
    consistency : Same verdict in both orders, or when repeated.

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
    counts = count(calls, "delta0", by, cluster=cluster, stimulus=stimulus, merged=True).inferred(conf_level)
    groups = counts.groups
    slots = [counts.columns[c].recoded(dict(zip(SLOT_ANSWERS, range(5), strict=True))) for c in ("forward", "reverse")]
    forward, reverse = (np.asarray(f.labels, dtype=np.int8)[f.code] for f in slots)
    codes = counts.columns.codes(groups)
    pairs = decompose(forward, reverse, counts.n, codes.code, codes.size)
    pair_class, classes = pairs.of_pattern, pairs.classes
    complete = pair_class != DROPPED
    commits = sum((~counts.among(c, "tie")).astype(float) for c in ("forward", "reverse"))
    terms = {
        "raw_false_preference": counts.rates("raw_false_preference", commits / 2, complete, calls_per_count=2),
        "tie_rate": counts.rates("tie_rate", 1 - commits / 2, complete, calls_per_count=2),
        **{t: counts.rates(t, pair_class == c, complete) for t, c in CLASS_TERMS.items()},
    }
    if simultaneous and counts.clusters.column is None:
        for g, of_classes in enumerate(classes[:, :DROPPED]):
            if of_classes.sum():
                low, high = goodman(of_classes, conf_level)
                for t, c in CLASS_TERMS.items():
                    terms[t][g].update(conf_low=low[c], conf_high=high[c], method=_FOUR_CLASSES)
    elif simultaneous:  # Goodman's are Wilson's at level 1 - α/4
        of_each = counts.inferred(1 - (1 - conf_level) / len(CLASS_TERMS))
        for t, c in CLASS_TERMS.items():
            joint = of_each.rates(t, pair_class == c, complete)
            terms[t] = [{**r, "method": r["method"].instead(_FOUR_CLASSES)} for r in joint]
    no_interval = dict.fromkeys(("std_error", "conf_low", "conf_high"), math.nan)
    zero = {
        **no_interval,
        "term": "other_conflict",
        "estimate": 0.0,
        "method": methods.IDENTITY,
        "flag": flags.BY_STRUCTURE,
    }
    empty = {**zero, "estimate": math.nan, "flag": flags.NO_DATA}
    terms["other_conflict"] = [{**row, **(zero if row["n"] > 0 else empty)} for row in terms["no_preference"]]
    dropped = classes[:, DROPPED]
    lacking = [flags.EXCLUDED.of(n, what="pair(s) without two valid answers") for n in dropped]
    rows = [
        {**row, "n_dropped": dropped[g], "flag": flags.join(row["flag"], lacking[g])}
        for t in _ORDER
        for g, row in enumerate(terms[t])
    ]
    return estimates(rows, groups, extra=["n_dropped"])


@Measure(
    "Does the judge reward filler?", "psychometrics", "P, counts", "Newcombe for two shares of one sample",
    "dark_current", plot="forest", frames=("preferences",), sheet=("filler",),
    terms=(
        Term("filler_preference", "", "call", "filler calls", "far from 0",
             "The judge rewards (above 0) or punishes (below 0) uninformative text.", neutral=0.0),
    ),
    have=("pairs of known difference",),
    assumes="Filler adds nothing to an answer; tasks are independent of each other.",
)  # fmt: skip
def filler_preference(
    calls: IntoFrame, *, by: By = (), cluster: Cluster = "auto", conf_level: float = CONF_LEVEL
) -> pd.DataFrame:
    """Preference for uninformative filler: share choosing the filler variant minus share choosing the clean one.

    Parameters
    ----------
    calls : frame
        Preferences with ``stimulus`` (only ``filler`` rows count) and ``target``, the candidate with the filler; or
        a tally: ``judge, outcome, n`` with outcomes ``filler``, ``clean``, ``tie``.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str or False
        Column that calls share, by which intervals are clustered. ``"auto"`` detects it (``task``, say) and names it in
        ``method``. False treats all calls as independent, with a flag where they are not.
    conf_level : float
        Coverage of the intervals. They are Newcombe's, for the difference of two shares of one sample.

    Returns
    -------
    pandas.DataFrame
        Term ``filler_preference`` per judge, in [-1, 1]; a tie counts in the denominator only.

    See Also
    --------
    verbosity_bias : Preference for length or completeness.
    target_sensitivity : Detection of known differences.

    Examples
    --------
    >>> import pandas as pd
    >>> counts = pd.DataFrame({"judge": "g", "outcome": ["filler", "clean", "tie"], "n": [30, 10, 20]})
    >>> filler_preference(counts)[["estimate", "conf_low", "conf_high", "n"]].round(3)
       estimate  conf_low  conf_high     n
    0     0.333     0.132      0.502  60.0
    """
    counts = count(calls, "filler_preference", by, cluster=cluster, merged=True).inferred(conf_level)
    filler, clean, no_answer = (counts.among("outcome", answer) for answer in ("filler", "clean", "invalid"))
    return estimates(counts.differences("filler_preference", filler, clean, ~no_answer), counts.groups)
