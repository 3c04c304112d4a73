"""Changes of criterion and resolution between prompts: :func:`tie_model`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.arguments import checked_arguments
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, FitError, choose, confidence, suggestion
from judgestats.models.bias_models.calls import ordered_labels
from judgestats.models.bias_models.effect_rows import described, effect_row, fit_flags, linear
from judgestats.models.bias_models.model_comparisons import comparisons, likelihood_ratio
from judgestats.models.bias_models.reports import VerdictModel
from judgestats.models.bias_models.tie_answers import answers
from judgestats.models.estimation import fit
from judgestats.models.fits import Fit
from judgestats.models.postestimation.delta_method import normal_quantile, spread
from judgestats.results import estimates
from judgestats.typing import Floats, Record

Link = Literal["logit", "probit"]
LINKS = ("logit", "probit")
#: Whether criterion and resolution changed -> verdict.
VERDICTS = {(False, False): "neither", (True, False): "moved criterion"}
VERDICTS |= {(False, True): "moved resolution", (True, True): "both"}
DEPENDS = "depends"


@checked_arguments
def tie_model(
    preferences: IntoFrame,
    *,
    by: str | None = "prompt",
    quality: str | None = None,
    links: Sequence[Link] = ("logit", "probit"),
    baseline: str | None = None,
    content: bool = True,
    alpha: float = 0.10,
    conf_level: float = CONF_LEVEL,
) -> VerdictModel:
    """Tie model with slot bias, criterion and resolution, and tests which of them a prompt changed.

    Parameters
    ----------
    preferences : frame
        Calls with a known order and difference in quality. Or a tally without slots: ``judge, outcome, n``, `by` and
        ``delta``, with the outcomes ``correct``, ``tie``, ``wrong``, and ``preference`` if ``delta`` is 0 or missing
        (as for :func:`judgestats.criterion_shift`).
    by : str or None
        The column of conditions that are compared. None: one condition, no comparison.
    quality : str, optional
        A column, or ``<quality>_first`` and ``<quality>_second``: quality of the candidate in the first slot minus
        that of the second. By default ``delta``, in favour of ``better`` (0 without a better candidate).
    links : sequence of {'logit', 'probit'}
        Rao and Kupper's model, Glenn and David's.
    baseline : str, optional
        Reference condition of the ratios; required if `by` has several values.
    content : bool
        Whether pairs that were shown in both orders have an effect, ``(0 + order|pair)``. False treats all calls as
        independent given the quality.
    alpha : float
        Level of the tests behind the verdict. The default is 0.10, because "the resolution did not move" is concluded
        from a test that is not significant.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    VerdictModel
        ``table``: per judge, link and condition ``slot bias`` (towards the first slot; minus the midpoint of the
        thresholds), ``criterion`` (their half-width) and ``resolution`` (slope on the quality), from the model in which
        all vary; ``criterion ratio`` and ``resolution ratio`` against the baseline, with intervals of their logarithms.
        ``tests``: per link, likelihood ratios of criterion and resolution, each with the other common and with the
        other by condition, and of both together; column ``verdict``: ``moved criterion``, ``moved resolution``,
        ``both``, ``neither``. The last row of a judge is its verdict over all links: ``depends`` if they disagree, or
        if something changed and no link identifies it.

    Raises
    ------
    DesignError
        If the difference in quality is not known or does not vary, or the order is not known.

    See Also
    --------
    judgestats.criterion_shift : What a stricter prompt saves and costs.
    position_bias_model : Position bias per judge, and pooled.
    judgestats.hierarchical.psychometric : Bayesian psychometric functions.

    Notes
    -----
    ``second < tie < first``: P(Y <= j) = F(θ_j - resolution × quality), θ = -slot bias ∓ criterion. A criterion counts
    as moved if its likelihood ratio test, with the resolution varying too, has p below `alpha`; the resolution
    likewise. Slot bias always varies by condition. In a tally without slots it is 0: each count is split equally over
    the two orders, which does not change the likelihood ratios.
    On the counts of the dark_current paper (Qwen32B, Tables 4 and 6: Δ0, Δ1, Δ5, base and strict prompt) the criterion
    moved under both links (p < 1e-11). For the resolution p = .057 under the logit and .23 under the probit: the
    verdict is ``depends``. At alpha = .05 both links agree with the paper, "moves the criterion, not the resolution".
    But all 120 strict Δ0 calls are ties, so criterion and resolution of the strict prompt can increase together without
    bound: a larger resolution is not excluded under either link.

    Source: Rao and Kupper (1967); Glenn and David (1960).

    Examples
    --------
    >>> import pandas as pd
    >>> counts = pd.DataFrame({"judge": "g", "prompt": ["base"] * 6 + ["strict"] * 6, "delta": [1, 1, 1, 3, 3, 3] * 2,
    ...                        "outcome": ["correct", "tie", "wrong"] * 4,
    ...                        "n": [60, 25, 15, 90, 7, 3, 35, 60, 5, 77, 22, 1]})
    >>> moved = tie_model(counts, baseline="base")
    >>> moved.tests[["link", "question", "verdict"]].dropna()
          link    question          verdict
    5    logit  what moved  moved criterion
    11  probit  what moved  moved criterion
    12     all  what moved  moved criterion
    >>> ratio = moved.table[moved.table["term"] == "resolution ratio"]
    >>> ratio[["link", "estimate", "conf_low", "conf_high"]].round(2)
          link  estimate  conf_low  conf_high
    5    logit      1.02      0.76       1.37
    11  probit      1.01      0.78       1.32
    """
    confidence(1 - alpha)
    links = [choose(link, LINKS, "links") for link in ([links] if isinstance(links, str) else links)]  # type: ignore[misc]
    calls, folded = answers(preferences, by, quality)
    table = calls.table
    by = by or ""
    options = _TieOptions(by, tuple(links), content and not folded, alpha, conf_level, folded)
    result: list[Record] = []
    tests: list[Record] = []
    fits: dict[str, Fit] = {}
    for judge in sorted(set(table["judge"])):
        of_judge = table[table["judge"] == judge]
        kinds = ordered_labels(of_judge["group"])
        if baseline is None and by and len(kinds) > 1:
            raise DesignError(f"{by!r} has {len(kinds)} values ({', '.join(kinds)}). Choose one as baseline=.")
        if baseline is not None and by and baseline not in kinds:
            raise DesignError(
                f"baseline={baseline!r} is not a value of {by!r} for judge {judge!r}. Values: {', '.join(kinds)}."
                f"{suggestion(baseline, kinds)}"
            )
        rows, compared, fitted = _judge_results(
            of_judge, ordered_labels(of_judge["group"], baseline if by else None), options
        )
        note = flags.join(calls.flag(judge), flags.ORDER_UNKNOWN if folded else None)
        result += [{**r, "judge": judge, "flag": flags.join(r["flag"], note)} for r in rows]
        tests += [{**t, "judge": judge} for t in compared]
        fits |= {f"{judge}, {name}": f for name, f in fitted.items()}
    groups = ["judge", *([by] if by else []), "link"]
    frame = estimates(result, groups, sort=False)
    compared_frame = comparisons(tests, ["judge", "link"]).assign(verdict=[t.get("verdict") for t in tests])
    return VerdictModel("Criterion and resolution" + (f" by {by}" if by else ""), fits, frame, compared_frame)


@dataclass(frozen=True)
class _TieOptions:
    by: str
    links: tuple[str, ...]
    content: bool
    alpha: float
    conf_level: float
    folded: bool


def _judge_results(
    table: pd.DataFrame, kinds: Sequence[str], options: _TieOptions
) -> tuple[list[Record], list[Record], dict[str, Fit]]:
    """Table, tests and fits of one judge."""
    lacking = [k for k in kinds if not (table[table["group"] == k]["answer"] == "tie").any()]
    constant = [k for k in kinds if table[table["group"] == k]["x"].nunique() < 2]
    no_estimate = {"term": "criterion", "estimate": math.nan, "n": float(table["n"].sum())}
    if lacking or constant:
        where = f" under {(lacking or constant)[0]}" if options.by else ""
        flag = flags.join(flags.NO_DATA, (flags.NO_TIES_UNDER if lacking else flags.NO_QUALITY).of(where=where))
        return [{**no_estimate, "flag": flag, "link": link} for link in options.links], [], {}
    calls = table.copy()
    for k, kind in enumerate(kinds[1:], 1):
        calls[f"x{k}"] = calls["x"] * (calls["group"] == kind)
    paired = calls[calls["pair"] != ""]
    shared = paired["n"].sum() > paired["pair"].nunique() > 0
    rows: list[Record] = []
    tests: list[Record] = []
    fits: dict[str, Fit] = {}
    for link in options.links:
        try:
            grid = {c: _tie_fit(calls, link, len(kinds), c, options) for c in VERDICTS}
        except (DesignError, FitError) as error:
            rows.append({**no_estimate, "flag": flags.NOT_FITTED.of(reason=error), "link": link})
            continue
        whole = grid[True, True]
        fits |= {f"{link}, {_variant(c)}" if len(kinds) > 1 else link: f for c, f in grid.items()}
        note = flags.NOT_INDEPENDENT if shared and not whole.design.terms else ""
        single: dict[str, Fit] = {}
        if {flags.NO_HESSIAN, flags.SEPARATION} & {*whole.notes} and not whole.design.terms:
            # separate fits, so that infinite estimates in one condition do not affect the others
            single = {k: _tie_fit(calls[calls["group"] == k], link, 1, (False, False), options) for k in kinds}
        rows += [
            {**r, "link": link, "flag": flags.join(r["flag"], note)}
            for r in _condition_rows(whole, kinds, options, single)
        ]
        if len(kinds) > 1:
            tests += [
                {**t, "link": link, "flag": flags.join(t["flag"], note)} for t in _link_tests(grid, kinds, options)
            ]
    if tests:
        tests.append(_overall(tests))
    return rows, tests, fits


def _variant(which: tuple[bool, bool]) -> str:
    criterion, resolution = ("by group" if free else "common" for free in which)
    return f"criterion {criterion}, resolution {resolution}"


def _tie_fit(table: pd.DataFrame, link: str, groups: int, which: tuple[bool, bool], options: _TieOptions) -> Fit:
    criterion, resolution = which
    slopes = "x" + "".join(f" + x{k}" for k in range(1, groups)) * resolution
    sides = table[table["order"] != 0][["pair", "order"]].drop_duplicates()
    pairs = options.content and len(sides) > sides["pair"].nunique() > 1
    by: dict[str, str] = {}
    if groups > 1:
        by = {**({} if options.folded else {"midpoint": "group"}), **({"half-width": "group"} if criterion else {})}
    return fit(
        f"answer ~ {slopes}{' + (0 + order|pair)' if pairs else ''}",
        table,
        counts="n",
        family="cumulative",
        link=link,  # type: ignore[arg-type]
        thresholds="symmetric",
        thresholds_by=by or None,
    )


def _condition_rows(
    whole: Fit, kinds: Sequence[str], options: _TieOptions, single: Mapping[str, Fit] = MappingProxyType({})
) -> list[Record]:
    """Rows of each condition, from the fit of all conditions or from `single` fits."""
    rows = []
    for k, kind in enumerate(kinds):
        used = single.get(kind, whole)
        places = {
            "slot bias": _threshold_weights(used, "midpoint", kind, -1.0),
            "criterion": _threshold_weights(used, "half-width", kind),
        }
        places["resolution"] = {"x": 1.0, **({f"x{k}": 1.0} if k and used is whole else {})}
        if options.folded:
            places.pop("slot bias")
        group = {options.by: kind} if options.by else {}
        rows += [{**effect_row(used, linear(used, w), term, options.conf_level), **group} for term, w in places.items()]
        if k and single:
            gone = {"estimate": math.nan, "n": whole.n, "method": described(whole), "flag": fit_flags(whole)}
            rows += [{**gone, "term": f"{term} ratio", **group} for term in ("criterion", "resolution")]
        elif k:
            base = {"criterion": _threshold_weights(whole, "half-width", kinds[0]), "resolution": {"x": 1.0}}
            for term, weights in base.items():
                pair = linear(whole, places[term]), linear(whole, weights)
                rows.append({**_parameter_ratio(whole, *pair, f"{term} ratio", options.conf_level), **group})
    return rows


def _threshold_weights(whole: Fit, stem: str, kind: str, weight: float = 1.0) -> dict[str, float]:
    return {f"{stem}[{kind}]" if f"{stem}[{kind}]" in whole.names else stem: weight}


def _parameter_ratio(whole: Fit, one: Floats, two: Floats, term: str, conf_level: float) -> Record:
    """Ratio of two positive parameters, with the interval of its logarithm."""
    above, below = float(one @ whole.params), float(two @ whole.params)
    row: Record = {"term": term, "n": whole.n, "method": described(whole), "flag": fit_flags(whole)}
    if not (above > 0 and below > 0):
        ends = dict.fromkeys(("estimate", "conf_low", "conf_high"), math.nan)
        return {**row, **ends, "flag": flags.join(row["flag"], flags.NO_RATIO)}
    ratio = above / below
    se = float(spread(one / above - two / below, whole.covariance))
    z = normal_quantile(conf_level)
    ends = {"conf_low": ratio * math.exp(-z * se), "conf_high": ratio * math.exp(min(z * se, 700.0))}
    return {**row, "estimate": ratio, "std_error": ratio * se, **ends}


def _link_tests(grid: dict[tuple[bool, bool], Fit], kinds: Sequence[str], options: _TieOptions) -> list[Record]:
    """Likelihood ratio tests under one link, and the verdict."""
    steps = [
        ("criterion moved", (False, False), (True, False), "resolution common"),
        ("criterion moved", (False, True), (True, True), "resolution by group"),
        ("resolution moved", (False, False), (False, True), "criterion common"),
        ("resolution moved", (True, False), (True, True), "criterion by group"),
        ("something moved", (False, False), (True, True), "both by group against both common"),
    ]
    rows = [likelihood_ratio(grid[a], grid[b], question, compared) for question, a, b, compared in steps]
    p = {(r["question"], r["compared"]): r["p_value"] for r in rows}
    moved = (
        p["criterion moved", "resolution by group"] < options.alpha,
        p["resolution moved", "criterion by group"] < options.alpha,
    )
    flag, verdict = "", VERDICTS[moved]
    if not any(moved) and p["something moved", "both by group against both common"] < options.alpha:
        verdict, flag = DEPENDS, flags.NOT_BOTH_IDENTIFIABLE
    elif not moved[1]:
        ratios = [r for r in _condition_rows(grid[True, True], kinds, options) if r["term"] == "resolution ratio"]
        flag = flags.WIDE if any(not (r["conf_low"] > 0.5 and r["conf_high"] < 2) for r in ratios) else ""
    return [
        *rows,
        {"question": "what moved", "compared": f"at alpha = {options.alpha:g}", "flag": flag, "verdict": verdict},
    ]


def _overall(tests: Sequence[Record]) -> Record:
    """Verdict over the links, if they agree."""
    each = [t for t in tests if t["question"] == "what moved"]
    agree = len({t["verdict"] for t in each}) == 1
    compared = "; ".join(f"{t['link']}: {t['verdict']}" for t in each)
    flag = flags.join(*(t["flag"] for t in each)) if agree else flags.LINKS_DISAGREE
    verdict = each[0]["verdict"] if agree else DEPENDS
    return {"link": "all", "question": "what moved", "compared": compared, "flag": flag, "verdict": verdict}
