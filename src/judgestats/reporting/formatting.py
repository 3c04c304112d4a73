"""Numbers and terms as they are printed. Rounding happens here, and nowhere else."""

from __future__ import annotations

import math
from collections.abc import Iterable

from judgestats.metrics.consensus.scores import ASIDE, GAP, SD_UNKNOWN, UNEQUAL_CRITERIA, UNEQUAL_RUNS
from judgestats.metrics.measure_registry import terms
from judgestats.results import (
    BIASED,
    BY_STRUCTURE,
    CEILING,
    CLUSTERING_UNKNOWN,
    CONSTANT,
    FEW_CLUSTERS,
    FEW_DISAGREEMENTS,
    FEW_DRAWN,
    FEW_RATERS,
    FORCED_CHOICE,
    INCOMPLETE_LADDER,
    LEFT_CENSORED,
    NO_DATA,
    NOT_INDEPENDENT,
    NOTHING_IN_COMMON,
    ONE_UNIT,
    PAIRS_OF_AN_ITEM,
    RESAMPLES_AGREE,
    RIGHT_CENSORED,
    SIGN_CHANGED,
    SINGLE_RUN,
    SMALL_N,
    UNBOUNDED,
    ZERO_BASE,
)

#: Between groups of three digits: a thin space that does not break.
THIN = "\u202f"
#: What stands for a number that could not be estimated, and for an interval that there is not.
NOT_AVAILABLE, NONE = "n/a", "—"
#: What a flag says, in a sentence. A flag that is not here speaks for itself.
FLAGS = {
    NOT_INDEPENDENT: "Some calls share an item or a pair, and the interval takes the calls as independent. It is too "
    "narrow where such calls agree, and too wide for a difference of slots when both orders of each pair were judged; "
    'the default, cluster="auto", allows for it.',
    CLUSTERING_UNKNOWN: "These are counts that do not say which calls share an item: the interval takes the calls as "
    "independent, and is too narrow where they are not.",
    SMALL_N: "Fewer than 30 in the denominator: the interval is wide for a reason.",
    NO_DATA: "Nothing to divide by. Not zero: unknown.",
    LEFT_CENSORED: "Reached at the first step already: the true value may be smaller. Read “at most”.",
    INCOMPLETE_LADDER: "A step of the ladder was not asked: where the level is reached cannot be told without it.",
    RIGHT_CENSORED: "Not reached at the last step: the true value is larger. Read “above”.",
    CEILING: "No call was wrong: the number depends on how many calls there were, and on nothing else.",
    FEW_CLUSTERS: "Fewer than ten clusters: an interval by cluster is rough.",
    BIASED: "Resamples lie to one side of the estimate, which is biased; the interval allows for what they show of it.",
    FEW_DRAWN: "Fewer than thirty clusters: a bootstrap of them is somewhat too narrow.",
    FEW_RATERS: "Raters are drawn too: with few of them the interval of ICC(2,.) is too narrow, the more so with many "
    "subjects.",
    ONE_UNIT: "One cluster: nothing tells how much clusters differ.",
    PAIRS_OF_AN_ITEM: "There are fewer than thirty items, so that the pairs are the clusters. Pairs of one item may be "
    'alike too, and the interval is then too narrow; cluster="item" allows for it, and is wide.',
    NOTHING_IN_COMMON: "Another judge of this table judged none of the same items: the difference between the two may "
    "be that of the items.",
    FORCED_CHOICE: "The judge could not answer tie.",
    SINGLE_RUN: "Nothing was repeated: there is no spread over runs.",
    SIGN_CHANGED: "The sign changed between the two, which a ratio of sizes hides.",
    ZERO_BASE: "A ratio to zero.",
    BY_STRUCTURE: "Zero by the way pairs are classed; not a finding.",
    RESAMPLES_AGREE: "Every resample gives the same number. There is no interval; that does not make it certain.",
    FEW_DISAGREEMENTS: "Agreement is nearly perfect: the interval rests on few disagreements and is too narrow.",
    UNBOUNDED: "The number divided by is not told from zero: the ratio has no bound.",
    "replicates averaged": "Runs were averaged first: the number is about a mean of runs, not about a single score.",
    "averaged over criterion": "Criteria were averaged first: the number is about their mean.",
    "no movement": "Nothing shifted: a share of the movement is not defined.",
    "movement not told from none": "The shares may not have moved at all: a share of the movement says little.",
    "perfect correlation": "All points lie on a line, or in one order: there is no interval.",
    "negative, set to 0": "The estimate of a variance came out negative, as it may by chance; it was set to 0.",
    "top is the highest score seen": "The scale is not known: the highest score that occurs counts as its top.",
    "sign undecided": "It is not certain which way the bias goes: the change of its size is biased upwards.",
    CONSTANT: "All scores are the same.",
    UNEQUAL_CRITERIA: "Some things were not scored on every criterion: the mean is over those that are there.",
    UNEQUAL_RUNS: "Some means are over fewer runs than others.",
    SD_UNKNOWN: "The spread of the final score needs the runs, which are not there.",
    GAP: "The final score given differs from the mean of its criteria.",
    ASIDE: "Scores that are missing were set aside.",
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


def doubts(flags: Iterable[str]) -> list[str]:
    """Flags to be explained, each once: a count of what was set aside explains itself.

    Examples
    --------
    >>> doubts(["n < 30", "3 calls without gold", "n < 30", "", "ceiling"])
    ['n < 30', 'ceiling']
    """
    return [f for f in dict.fromkeys(flags) if f in FLAGS or (f and not any(c.isdigit() for c in f))]


def in_words(term: str, measure: str = "", threshold: float = math.nan) -> str:
    """Words for a term, of a measure where it means something else there; an unknown one with spaces.

    Examples
    --------
    >>> in_words("shift"), in_words("shift", "calibrate"), in_words("share_above", threshold=0.25)
    ('shift of the mean correlation', 'constant added to the scores', 'share with a spread above 0.25')
    """
    known = terms().get((measure, term)) or terms().get(("", term))
    told = known.label if known else str(term).replace("_", " ")
    return told if math.isnan(threshold) else told.replace("the threshold", f"{threshold:g}")


def neutral_value(term: str) -> float | None:
    """Value at which a term says that nothing was found; None where it has none."""
    known = terms().get(("", term))
    return known.neutral if known else None


def is_whole(term: str) -> bool:
    """Whether a term is a whole number, and neither a share nor a mean."""
    known = terms().get(("", term))
    return known is not None and known.whole


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
