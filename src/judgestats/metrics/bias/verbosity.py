"""Verbosity bias: does a judge prefer length, or completeness?"""

from __future__ import annotations

import narwhals.stable.v2 as nw
import pandas as pd
from narwhals.stable.v2.typing import Frame, IntoFrame

from judgestats.counting.clustering import Cluster
from judgestats.counting.patterns import InvalidDirection
from judgestats.counting.study import Calls, Study
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, suggestion
from judgestats.metrics.bias.bias_scores import marks, outcome_counts
from judgestats.metrics.bias.targets import targeted
from judgestats.metrics.measure_registry import Measure
from judgestats.results import estimates
from judgestats.schema.columns import By
from judgestats.typing import Record


@Measure(
    "Does the judge prefer length, or completeness?",
    "bias",
    "P, counts",
    "Newcombe and Wilson, Bonferroni for the two",
    "debiasing, Sec 4.1.2 and App F; thresholds ours",
    plot="verbosity_bias",
    have=("attributes", "pairs of known difference"),
    assumes="The expansions add no content, and the cut-off answers are worse than the whole ones.",
)
def verbosity_bias(
    calls: IntoFrame,
    *,
    expansion: str = "expansion",
    truncation: str = "truncation",
    attribute: str | None = None,
    margin: float = 0.2,
    chance: float = 0.5,
    recognised: float = 0.75,
    invalid: InvalidDirection = "drop",
    by: By = (),
    cluster: Cluster = "auto",
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Expansion bias and truncation accuracy, with a joint reading (debiasing paper, Section 4.1.2, Appendix F).

    Parameters
    ----------
    calls : frame
        Preferences with ``bias``, the kind of pair (the longer response is padded, or the shorter one is cut off), and
        ``target``, the longer or complete response. Or a tally: ``judge, bias, outcome, n``.
    expansion, truncation : str
        Names of the two kinds in ``bias``; other kinds are ignored.
    attribute : str, optional
        Take the target from ``<attribute>_first`` and ``<attribute>_second`` (``length``).
    margin : float
        An expansion bias within ±margin is negligible.
    chance : float
        Truncation accuracy of a judge that guesses.
    recognised : float
        Truncation accuracy from which a judge recognises completeness; below it, it may be indifferent.
    invalid : {'drop', 'tie'}
        How an invalid call counts: excluded, or as no preference (an error on truncation pairs).
    by : str or sequence of str
        Further grouping columns. Name ``strategy``, say.
    cluster : "auto", str or False
        Column that calls share, by which intervals are clustered. ``"auto"`` detects it (``item``, say) and names it in
        ``method``. False treats all calls as independent, with a flag where they are not.
    conf_level : float
        Coverage of the intervals. It is joint: each of the two intervals is at 1 - (1 - conf_level)/2 (Bonferroni).

    Returns
    -------
    pandas.DataFrame
        Per judge ``expansion_bias`` and ``truncation_accuracy`` (a tie is an error), each with columns ``reading`` and
        ``point_reading``. ``reading`` is a class if both intervals lie inside its region, else ``undecided``;
        ``point_reading`` uses the two estimates only.

    Raises
    ------
    DesignError
        If one of the two kinds does not occur, or a threshold is out of range.

    See Also
    --------
    bias_score : Signed bias towards a target.
    filler_preference : Preference for filler.

    Notes
    -----
    The paper names the classes and assigns them by eye; the rules are ours. ``verbose``: expansion bias above 0
    (for the estimate: above `margin`) and truncation accuracy above `chance`. ``quality-sensitive``: expansion bias
    below `margin`, truncation accuracy above `chance` (for the estimate: at least `recognised`). ``indifferent``:
    expansion bias within ±`margin` and truncation accuracy below `recognised`. An interval that lies in (0, margin)
    is ``verbose``. With 50 and 25 pairs most readings are undecided.

    Examples
    --------
    >>> counts = pd.DataFrame({"judge": "g", "bias": ["expansion"] * 3 + ["truncation"],
    ...                        "outcome": ["target", "other", "tie", "target"], "n": [34, 14, 2, 25]})
    >>> verbosity_bias(counts)[["term", "estimate", "conf_low", "conf_high", "reading"]].round(3)
                      term  estimate  conf_low  conf_high  reading
    0       expansion_bias       0.4     0.092      0.637  verbose
    1  truncation_accuracy       1.0     0.833      1.000  verbose
    """
    if not 0 < margin < 1:
        raise DesignError(f"margin={margin} is not between 0 and 1. It is a negligible bias; use 0.2, say.")
    if not 0 < chance < recognised <= 1:
        raise DesignError(
            f"chance={chance} and recognised={recognised} are out of range. Allowed: 0 < chance < recognised <= 1."
        )
    data = _of_kinds(calls, expansion, truncation)
    targets = targeted(data, attribute=attribute, by=by)
    counts = outcome_counts(targets, by, cluster).inferred(1 - (1 - conf_level) / 2)
    counts = counts.grouped([g for g in counts.groups if g != "bias"])
    within, (target, other, tie) = counts.groups, marks(counts, invalid)
    valid = target | other | tie
    expanded, cut_off = (counts.among("bias", kind) for kind in (expansion, truncation))
    lost = [{"invalid call(s)": kind_rows & ~valid} for kind_rows in (expanded, cut_off)]
    rows = counts.differences("expansion_bias", target, other, valid & expanded, left_out=lost[0])
    accuracy = counts.rates("truncation_accuracy", target, valid & cut_off, left_out=lost[1])
    pairs = []
    for one, two in zip(rows, accuracy, strict=True):
        limits = (margin, chance, recognised)
        readings = {"reading": _reading(one, two, *limits), "point_reading": _point_reading(one, two, *limits)}
        pairs += [{**one, **readings}, {**two, **readings}]
    for row in pairs:
        row["method"] = row["method"].noting("Bonferroni of 2", "; ") if row["method"] else ""
    return estimates(targets.excluded.flagged(pairs, within), within, ["reading", "point_reading"])


def _of_kinds(calls: Calls, expansion: str, truncation: str) -> Frame:
    """Calls of the two kinds of pairs."""
    data, present = Study.of(calls).data, Study.of(calls).names
    if "bias" not in present:
        raise DesignError(
            f"There is no column 'bias' that identifies expansions and truncations. Columns: {', '.join(present)}."
        )
    kind = nw.col("bias").cast(nw.String)
    seen = data.lazy().select(kind.alias("_v")).unique().collect(backend="pandas").to_native()["_v"].dropna()
    kinds = sorted(seen)
    for name, argument in ((expansion, "expansion"), (truncation, "truncation")):
        if name not in kinds:
            raise DesignError(
                f"{argument}={name!r} is not in 'bias'. It has: {', '.join(kinds) or 'nothing'}."
                f"{suggestion(name, kinds)}"
            )
    pairs: Frame = data.filter(kind.is_in([expansion, truncation]))
    return pairs


def _reading(bias: Record, accuracy: Record, margin: float, chance: float, recognised: float) -> str:
    complete = accuracy["conf_low"] > chance
    if complete and bias["conf_low"] > 0:
        return "verbose"
    if complete and bias["conf_high"] < margin:
        return "quality-sensitive"
    near = -margin < bias["conf_low"] and bias["conf_high"] < margin
    return "indifferent" if near and accuracy["conf_high"] < recognised else "undecided"


def _point_reading(bias: Record, accuracy: Record, margin: float, chance: float, recognised: float) -> str:
    b, right = bias["estimate"], accuracy["estimate"]
    if b > margin and right > chance:
        return "verbose"
    if b <= margin and right >= recognised:
        return "quality-sensitive"
    return "indifferent" if abs(b) <= margin and right < recognised else "undecided"
