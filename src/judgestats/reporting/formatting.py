"""Numbers and terms as they are printed. Rounding happens here, and nowhere else."""

from __future__ import annotations

import math

from judgestats.results import LEFT_CENSORED, RIGHT_CENSORED

#: Between groups of three digits: a thin space that does not break.
THIN = "\u202f"
#: What stands for a number that could not be estimated, and for an interval that there is not.
NOT_AVAILABLE, NONE = "n/a", "—"

#: Term of an estimate -> words.
WORDS = {
    "answered": "answered",
    "parse": "readable",
    "schema": "in the form asked for",
    "semantic": "makes sense",
    "hidden_metadata": "no hidden information",
    "valid": "valid",
    "dark_current": "dark current",
    "raw_false_preference": "raw false preference",
    "tie_rate": "tie rate on equals",
    "stable_cross_sensitivity": "stable cross-sensitivity",
    "positional_false_preference": "positional false preference",
    "one_sided_commit": "one-sided commit",
    "other_conflict": "other conflict",
    "no_preference": "no preference",
    "target_sensitivity": "target sensitivity",
    "non_tie_accuracy": "accuracy among non-ties",
    "wrong_choice_rate": "wrong choices",
    "miss_by_tie": "miss by tie",
    "detection_threshold": "detection threshold",
    "d_prime": "sensitivity d′",
    "slot_criterion": "slot criterion",
    "filler_preference": "filler preference",
    "criterion_base": "tie rate, baseline prompt",
    "criterion_strict": "tie rate, other prompt",
    "criterion_shift": "shift of the tie rate",
    "false_preference_saved": "false preference saved",
    "target_signal_lost": "target signal lost",
    "saved_per_lost": "saved per signal lost",
    "consistency": "same verdict in both orders",
    "first_twice": "first slot twice",
    "second_twice": "second slot twice",
    "both_tie": "tie twice",
    "one_sided": "tie in one order only",
    "repeat_consistency": "same answer when repeated",
    "first": "first slot",
    "second": "second slot",
    "tie": "tie",
    "invalid": "invalid",
    "lean": "lean to the first slot",
    "first_share_nontie": "first slot among decided",
    "accuracy": "accuracy",
    "gold_tie": "tie where there is a gold answer",
    "gold_wrong": "wrong",
    "right": "right verdicts",
    "mean_score": "mean score",
    "missing": "missing scores",
    "run_sd": "spread over runs",
    "mean_own": "deviation on itself",
    "mean_others": "severity: deviation on others",
    "mean_deviation": "severity: mean deviation",
    "self_excess": "self-excess",
    "deviation": "deviation from the reference",
    "share_positive": "share above the reference",
    "score": "score",
    "attenuation": "attenuation",
    "win_rate": "win rate",
    "bias": "bias, signed",
    "magnitude": "size of the bias",
    "difference": "gain in accuracy",
    "change": "change of the signed bias",
    "magnitude_change": "change of its size",
    "mean_change": "change of its size, mean of the judges",
    "kappa": "κ (Cohen)",
    "alpha": "α (Krippendorff)",
    "ac1": "AC1 (Gwet)",
    "concordance": "concordance (Lin)",
    "agreement": "share of equal answers",
    "constant_answer": "share of equal answers of the best constant answer",
    "rho_system": "order of systems: mean Spearman ρ",
    "r_sample": "items: mean Pearson r",
    "icc": "scores: mean ICC(2,1)",
    "gap_system_sample": "gap, systems to items",
    "gap_sample_icc": "gap, items to scores",
    "r": "Pearson r",
    "rho": "Spearman ρ",
    "mean_spread": "mean spread, highest minus lowest",
    "share_above": "share with a spread above the threshold",
    "mean_difference": "mean absolute difference",
    "highest_alone": "highest alone",
    "highest_shared": "highest, ties shared out",
    "disputed": "most disputed: spread",
    "skew": "skewness",
    "ceiling": "share at the top of the scale",
    "tier_range": "range of means within the tier",
    "shift": "shift of the mean correlation",
    "slope": "slope of the mean correlation",
    "judges_for_generalizability": "judges needed, to rank the systems",
    "judges_for_dependability": "judges needed, for the scores themselves",
    "runs_for_generalizability": "runs needed, to rank the systems",
    "runs_for_dependability": "runs needed, for the scores themselves",
    "equality_detection": "ties where nothing is labelled",
    "neutrality": "lean where nothing is labelled",
    "neutrality_deviation": "its size",
    "shift_favoured": "shift to the favoured side",
    "shift_opposed": "shift to the other side",
    "shift_tie": "shift to the tie",
    "shift_nontie": "shift among decided answers",
    "lds": "LDS: drawn to the favoured side",
    "ols": "OLS: drawn to the other side",
    "ts": "TS: drawn to the tie",
    "lao": "LAO: share of movement towards the label",
    "total_variation": "total variation",
    "drift": "drift of the explanation",
    "drift_rate": "share of explanations that drift",
    "score_conflict": "verdict against its own scores",
    "statement_conflict": "verdict against its own words",
    "label_mentioned": "a source is named",
    "quote_absent": "a quotation that is in no text",
    "rmse": "root mean square error",
    "mae": "mean absolute error",
    "deviation_before": "distance from the reference, before",
    "deviation_after": "distance from the reference, after",
    "rmse_before": "root mean square, before",
    "rmse_after": "root mean square, after",
    "spearman": "Spearman ρ of score and agreement",
}
#: Terms that mean something else in one measure: (measure, term) -> words.
OWN_WORDS = {("calibrate", "shift"): "constant added to the scores"}
#: Terms that are whole numbers, not shares or means.
WHOLE = ("judges_for_", "runs_for_")
#: Value at which a term that has one says: nothing found.
NEUTRAL = {
    "lean": 0.0,
    "first_share_nontie": 0.5,
    "self_excess": 0.0,
    "mean_own": 0.0,
    "mean_others": 0.0,
    "mean_deviation": 0.0,
    "deviation": 0.0,
    "filler_preference": 0.0,
    "slot_criterion": 0.0,
    "criterion_shift": 0.0,
    "false_preference_saved": 0.0,
    "target_signal_lost": 0.0,
    "bias": 0.0,
    "difference": 0.0,
    "gap": 0.0,
    "change": 0.0,
    "magnitude_change": 0.0,
    "mean_change": 0.0,
    "win_rate": 0.5,
    "shift": 0.0,
    "slope": 0.0,
    "neutrality": 0.0,
    "shift_favoured": 0.0,
    "shift_opposed": 0.0,
    "shift_tie": 0.0,
    "shift_nontie": 0.0,
}


def number(value: float, decimals: int = 3) -> str:
    """Print a number with a fixed number of decimals.

    Parameters
    ----------
    value : float
        Infinite and missing values are ``∞`` and ``n/a``.
    decimals : int
        Decimals.

    Returns
    -------
    str
        With a true minus sign, thin spaces in thousands, and no minus before zero.

    Examples
    --------
    >>> number(0.66666), number(-0.0001), number(-1.5, 1), number(float("nan"))
    ('0.667', '0.000', '−1.5', 'n/a')
    """
    if math.isnan(value):
        return NOT_AVAILABLE
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{abs(value):,.{decimals}f}".replace(",", THIN)
    return f"−{text}" if value < 0 and any(c in "123456789" for c in text) else text


def signed(value: float, decimals: int = 2) -> str:
    """Print a number with its sign, + included.

    Examples
    --------
    >>> signed(0.459), signed(-0.331), signed(0.001)
    ('+0.46', '−0.33', '0.00')
    """
    text = number(value, decimals)
    return f"+{text}" if value > 0 and any(c in "123456789" for c in text) else text


def count(value: float) -> str:
    """Print a count: whole, with thin spaces in thousands; a broken one with a decimal.

    Examples
    --------
    >>> count(5184.0), count(12.5)
    ('5\\u202f184', '12.5')
    """
    if math.isnan(value):
        return NOT_AVAILABLE
    return number(value, 0 if float(value).is_integer() else 1)


def noun(value: float, one: str, many: str | None = None) -> str:
    """Print a count with its noun.

    Examples
    --------
    >>> noun(1, "judge"), noun(2, "judge"), noun(0, "reply", "replies")
    ('1 judge', '2 judges', '0 replies')
    """
    return f"{count(value)} {one if value == 1 else many or one + 's'}"


def interval(
    low: float, high: float, *, decimals: int = 3, first: float | None = None, last: float | None = None
) -> str:
    """Print an interval; a censored end says so.

    Parameters
    ----------
    low, high : float
        Ends; ``-inf`` is at most the first step, ``inf`` above the last.
    decimals : int
        Decimals.
    first, last : float, optional
        First and last step of the ladder, for censored ends.

    Examples
    --------
    >>> interval(0.57827, 0.74469), interval(-float("inf"), 2.7, first=1), interval(2.0, float("inf"), last=5)
    ('[0.578, 0.745]', '[≤ 1, 2.700]', '[2.000, > 5]')
    """
    if math.isnan(low) and math.isnan(high):
        return NONE
    ends = []
    for value in (low, high):
        if value == -math.inf and first is not None:
            ends.append(f"≤ {first:g}")
        elif value == math.inf and last is not None:
            ends.append(f"> {last:g}")
        else:
            ends.append(number(value, decimals))
    return f"[{', '.join(ends)}]"


def estimate(
    value: float, flag: str = "", *, decimals: int = 3, first: float | None = None, last: float | None = None
) -> str:
    """Print an estimate; a censored one as a bound.

    Examples
    --------
    >>> estimate(1.0, "left-censored"), estimate(math.nan, "right-censored", last=5), estimate(math.nan, "no data")
    ('≤ 1', '> 5', 'n/a')
    """
    if LEFT_CENSORED in flag and not math.isnan(value):
        return f"≤ {value:g}" if first is None else f"≤ {first:g}"
    if RIGHT_CENSORED in flag and last is not None:
        return f"> {last:g}"
    return number(value, decimals)


def in_words(term: str, measure: str = "", threshold: float = math.nan) -> str:
    """Words for a term, of a measure where it means something else there; an unknown one with spaces.

    Examples
    --------
    >>> in_words("shift"), in_words("shift", "calibrate"), in_words("share_above", threshold=0.25)
    ('shift of the mean correlation', 'constant added to the scores', 'share with a spread above 0.25')
    """
    told = OWN_WORDS.get((measure, term)) or WORDS.get(term, str(term).replace("_", " "))
    return told if math.isnan(threshold) else told.replace("the threshold", f"{threshold:g}")


def bad_direction(bad: str) -> str:
    """Words for the direction that should worry.

    Examples
    --------
    >>> bad_direction("higher"), bad_direction("construct-dependent"), bad_direction("far from 0")
    ('higher is worse', 'depends on the construct', 'far from 0 is worse')
    """
    told = {
        "": "",
        "construct-dependent": "depends on the construct",
        "no universal direction": "no direction is bad as such",
        "higher when the signal should be detected": "higher is worse where the signal matters",
    }
    return told.get(bad, f"{bad} is worse")
