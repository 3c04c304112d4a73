"""Below which confidence should a judge not be relied on: :func:`abstention_threshold`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags, methods
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError
from judgestats.kernels.proportions import wilson
from judgestats.kernels.selective_risk import (
    joint_threshold,
    least_answers,
    risk_coverage,
    selective_threshold,
    upper_risk,
)
from judgestats.metrics.confidence.confident_answers import answers_of
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.results import estimates
from judgestats.schema.coding import each_group
from judgestats.schema.columns import By
from judgestats.schema.factors import Factors
from judgestats.typing import Floats, Record

#: What is held to alpha: the risk among the answered, or the probability of an answer that is wrong.
Target = Literal["selective", "joint"]
#: Thresholds that are tried; fixed before the data are seen.
THRESHOLDS = np.arange(101) / 100


@Measure(
    "Below which confidence should its verdict not be used?",
    "accuracy",
    "P, R and gold, counts; `confidence`",
    "exact binomial tests; conformal",
    "Trust or Escalate (2024); conformal risk control",
    plot="risk_coverage",
    terms=(
        Term("threshold", "threshold of confidence", "item", "items", "", "Verdicts below it are not used."),
        Term("coverage", "share answered", "item", "items", "lower", "Share of items with a verdict that is used."),
        Term("risk", "risk", "item", "items answered", "higher", "Share of wrong verdicts at the threshold."),
        Term("coverage_curve", "share answered at a threshold", "item", "items", ""),
        Term("risk_curve", "risk at a threshold", "item", "items answered", "higher"),
    ),
    have=("gold",),
    assumes="Future items are drawn like these; the confidence need not be calibrated.",
)
def abstention_threshold(
    data: IntoFrame,
    alpha: float,
    *,
    target: Target = "selective",
    delta: float = 0.05,
    confidence: str = "confidence",
    thresholds: Sequence[float] | None = None,
    by: By = (),
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Lowest confidence at which a verdict may be used, so that wrong verdicts stay below a limit, with a guarantee.

    Parameters
    ----------
    data : frame
        One verdict of each judge on each item, with a confidence and the right answer, as in
        :func:`confidence_calibration`; or a tally of items: ``judge``, ``outcome``, the confidence and
        ``n``.
    alpha : float
        The risk allowed, between 0 and 1.
    target : {'selective', 'joint'}
        What is held to `alpha`:

        - ``selective``: the share of wrong verdicts among those used. It holds with probability 1 - `delta` over the
          items given.
        - ``joint``: the share of all items with a verdict that is used and wrong. It holds on average over samples of
          items (conformal risk control); `delta` plays no part. It allows many more errors among the verdicts used
          where few are used.
    delta : float
        Probability that the guarantee of ``selective`` fails.
    confidence : str
        Column with the confidence; any score from 0 to 1 that is higher where the judge is surer.
    thresholds : sequence of float, optional
        Thresholds that are tried; by default 0, 0.01, ..., 1. Choose them before you look at the data: finer ones where
        confidences are close to 1.
    by : str or sequence of str
        Further grouping columns. Each group has a threshold of its own.
    conf_level : float
        Coverage of the intervals. Those are of ``coverage``, ``risk`` and the curves.

    Returns
    -------
    pandas.DataFrame
        Per judge ``threshold``; and there ``coverage``, the share of items answered, and ``risk``: wrong verdicts among
        the answered (``selective``) or among all (``joint``). Column ``bound``, the number that is compared with
        `alpha`: the exact upper limit of the risk, or (wrong + 1) / (items + 1). Then the risk-coverage curve:
        ``coverage_curve`` and ``risk_curve`` at each threshold (column ``level``) where another item is answered. NaN
        with a flag, and a coverage of 0, where no threshold holds.

    Raises
    ------
    DesignError
        If `alpha` or `delta` is not between 0 and 1, the right answers are not known, or a judge has two verdicts on an
        item.
    SchemaError
        If a confidence is not between 0 and 1, or there is no such column.

    See Also
    --------
    confidence_calibration : Right as often as it says?
    accuracy : Share of right verdicts.

    Notes
    -----
    A verdict with a confidence of at least the threshold is used. A tie where the gold is a candidate is wrong. A
    verdict that is missing or abstains, or has no confidence, is not used at any threshold; it counts as an item. The
    guarantee is for further items that are exchangeable with these: drawn alike, from the same prompt and judge. It
    does not survive a change of the prompt, the model or the mix of items, and calls that share an item are not
    exchangeable units, so that one verdict per item is required. Neither does it hold for a threshold chosen from the
    curve: intervals there are for one threshold that was fixed before.

    ``selective`` tests the thresholds from the highest down and stops at the first that fails. Thresholds with too few
    answers for any result to be enough are passed over; for that the risk must not fall where confidence falls.

    References
    ----------
    Jung, J., Brahman, F., Choi, Y. (2024). Trust or escalate: LLM judges with provable guarantees for human agreement.
    arXiv 2407.18370. Angelopoulos, A. N., et al. (2024). Conformal risk control. arXiv 2208.02814.

    Examples
    --------
    >>> counts = pd.DataFrame({"judge": "g", "confidence": [0.6, 0.6, 0.8, 0.8, 0.95, 0.95],
    ...                        "outcome": ["correct", "wrong"] * 3, "n": [22, 18, 85, 15, 190, 5]})
    >>> found = abstention_threshold(counts, alpha=0.1)
    >>> found[["term", "level", "estimate", "bound", "n"]].head(3).round(3)
            term  level  estimate  bound      n
    0  threshold   0.61     0.610  0.097  335.0
    1   coverage   0.61     0.881  0.097  335.0
    2       risk   0.61     0.068  0.097  295.0
    """
    for name, value in (("alpha", alpha), ("delta", delta)):
        if not isinstance(value, int | float | np.floating) or not 0 < value < 1:
            raise DesignError(f"{name}={value!r} is not allowed. Give a probability between 0 and 1, e.g. 0.1.")
    steps = THRESHOLDS if thresholds is None else np.unique(np.asarray(list(thresholds), dtype=float))
    if not steps.size or not ((steps >= 0) & (steps <= 1)).all():
        raise DesignError("thresholds= must be numbers from 0 to 1, e.g. [0.5, 0.8, 0.9, 0.95, 0.99].")
    answers = answers_of(data, confidence, by, False, "abstention_threshold", ("item", "choice"))
    _refuse_repeated_items(answers.table, answers.groups)
    dependent = answers.clusters.flag if "item" in answers.table else ""
    rows: list[Record] = []
    for key, part in each_group(answers.table, answers.groups):
        judge_rows = _threshold_rows(part, confidence, steps, target, alpha, delta, conf_level)
        rows += [{**key, **row, "flag": flags.join(row["flag"], dependent)} for row in judge_rows]
    return estimates(answers.excluded.flagged(rows, answers.groups), answers.groups, ["level", "bound"])


def _refuse_repeated_items(table: pd.DataFrame, groups: list[str]) -> None:
    """Raise where a judge has two verdicts on an item: they are no exchangeable units."""
    if "item" not in table:
        return
    keys = [*groups, "item"]
    items = Factors(table).ranked(keys)
    several = np.bincount(items.code, table["n"].to_numpy(dtype=float), items.size) > 1
    if several.any():
        first = table.iloc[items.first[several.argmax()]]
        where = ", ".join(f"{c}={first[c]}" for c in keys)
        raise DesignError(
            f"abstention_threshold takes one verdict of each judge on each item, and {int(several.sum()):,} items "
            f"have several (first: {where}). Keep one order, repeat or response of each item, make one verdict of them "
            "with aggregate(), or name what distinguishes them in by=."
        )


def _threshold_rows(
    part: pd.DataFrame, confidence: str, steps: Floats, target: str, alpha: float, delta: float, conf_level: float
) -> Iterator[Record]:
    """Rows of one judge."""
    outcome, n = part["outcome"].to_numpy(dtype=object), part["n"].to_numpy(dtype=float)
    stated = part[confidence].to_numpy(dtype=float)
    silent = outcome == "invalid"
    if "choice" in part:
        silent |= (part["choice"].astype(object) == "abstain").to_numpy()
    notes = flags.join(
        flags.NOT_ANSWERED.of(float(n[silent].sum()), what="item(s) without a verdict"),
        flags.NOT_ANSWERED.of(float(n[~silent & np.isnan(stated)].sum()), what="verdict(s) without a confidence"),
    )
    units = float(n.sum())
    wrong = (outcome != "correct").astype(float)
    curve = risk_coverage(np.where(silent, np.nan, stated), wrong, n, steps)
    if target == "selective":
        at = selective_threshold(curve, alpha, delta)
        bound, base = upper_risk(curve.wrong, curve.answered, delta), curve.answered
        least, method = least_answers(alpha, delta), methods.EXACT_TESTS.on(f"delta = {delta:g}")
        few = curve.answered.max() < least
    else:
        at = joint_threshold(curve, units, alpha)
        bound, base = (curve.wrong + 1) / (units + 1), np.full(steps.size, units)
        least, method = math.ceil(1 / alpha - 1 - 1e-9), methods.CONFORMAL
        few = units < least
    method = method.on(f"alpha = {alpha:g}")
    shares = ((curve.answered, np.full(steps.size, units)), (curve.wrong, base))
    of_coverage, of_risk = (wilson(x, y, conf_level) for x, y in shares)
    none = (
        ""
        if at >= 0
        else flags.NO_DATA
        if not units
        else flags.TOO_FEW_ANSWERS.of(least=least)
        if few
        else flags.NO_THRESHOLD
    )
    share = np.divide(curve.answered, units, out=np.full(steps.size, math.nan), where=units > 0)
    risk = np.divide(curve.wrong, base, out=np.full(steps.size, math.nan), where=base > 0)

    def row(term: str, i: int, value: float, ends: Sequence[Floats], count: float) -> Record:
        cells = {"term": term, "level": steps[i], "estimate": value, "n": count, "bound": bound[i], "flag": notes}
        return {**cells, "conf_low": ends[0][i], "conf_high": ends[1][i], "method": methods.WILSON}

    if at >= 0:
        about = {"level": steps[at], "bound": bound[at], "n": units, "method": method, "flag": notes}
        yield {"term": "threshold", "estimate": steps[at], **about}
        yield row("coverage", at, share[at], of_coverage, units)
        yield row("risk", at, risk[at], of_risk, base[at])
    else:
        flag = flags.join(none, notes)
        yield {"term": "threshold", "estimate": math.nan, "n": units, "method": method, "flag": flag}
        yield {"term": "coverage", "estimate": 0.0 if units else math.nan, "n": units, "method": method, "flag": flag}
        yield {"term": "risk", "estimate": math.nan, "n": 0.0, "method": method, "flag": flag}
    for i in np.flatnonzero(np.diff(curve.answered, append=0.0) < 0).tolist():
        yield row("coverage_curve", i, share[i], of_coverage, units)
        yield row("risk_curve", i, risk[i], of_risk, base[i])
