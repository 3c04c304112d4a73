"""Which measures a data set supports today, and what is missing for the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd

from judgestats.errors import DesignError, JudgestatsError
from judgestats.metrics import bias, consensus, psychometrics
from judgestats.schema.cells import cells
from judgestats.schema.columns import CHOICES, VOCABULARY, kind_of
from judgestats.schema.counting import tally

#: Measure -> what it answers; the order of the page.
PREFERENCE_MEASURES = {
    "consistency": "does the judge say the same in both orders?",
    "consistency, over repeats": "does the judge say the same when asked again?",
    "slot_lean": "does the judge lean to one slot; how often does it tie?",
    "gold_agreement": "how often is the judge right?",
    "dark_current": "does the judge prefer where there is nothing to prefer?",
    "delta0": "what is false preference between equals made of?",
    "target_sensitivity": "does the judge find a known difference?",
    "detection_threshold": "how large must a difference be?",
    "d_prime": "how far apart are signal and no signal?",
    "filler_preference": "does the judge reward filler?",
    "criterion_shift": "does a prompt move the border between tie and preference?",
}
RATING_MEASURES = {
    "score_matrix": "how does each judge score each system, and how steadily?",
    "consensus_deviation": "how far is each judge from its peers?",
    "self_excess": "does a judge favour itself?",
    "attenuation": "does hiding the author shrink that?",
    "rank_correlation": "do two judges rank alike?",
    "run_sd": "does the judge repeat its score?",
}


def supported(data: Any, identity: Mapping[str, str] | None = None) -> pd.DataFrame:
    """List the measures, whether the data support them, and what is missing: each is tried.

    Parameters
    ----------
    data : frame
        Preferences or ratings.
    identity : mapping, optional
        For ratings: which system is which judge.

    Returns
    -------
    pandas.DataFrame
        ``measure``, ``question``, ``supported`` (bool: some estimate is a number) and ``missing``: why not, empty where
        it is supported.

    Raises
    ------
    SchemaError
        If `data` is neither canonical frame.

    Examples
    --------
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "1"], "first": ["x", "y"], "second": ["y", "x"],
    ...                       "choice": ["first", "second"]})
    >>> supported(calls).set_index("measure")["supported"].to_dict()["consistency"]
    True
    """
    present = list(nw.from_native(data).collect_schema().names())
    ratings = kind_of(present) == "ratings"
    tried = _rating_trials(data, identity) if ratings else _preference_trials(data, present)
    questions = RATING_MEASURES if ratings else PREFERENCE_MEASURES
    missing = {measure: _missing(tried[measure]) for measure in questions}
    rows = [(measure, question, not missing[measure], missing[measure]) for measure, question in questions.items()]
    return pd.DataFrame(rows, columns=["measure", "question", "supported", "missing"])


def _missing(trial: Callable[[], pd.DataFrame | str]) -> str:
    """Why a measure gives no number; empty where it gives one."""
    try:
        result = trial()
    except JudgestatsError as error:
        return str(error).partition(" Columns: ")[0]
    if isinstance(result, str):
        return result
    if result["estimate"].notna().any():
        return ""
    doubts = "; ".join(dict.fromkeys(f for f in result["flag"] if f))
    return f"no number comes out: {doubts or 'no row is of use'}"


def _preference_trials(data: Any, present: list[str]) -> dict[str, Callable[[], pd.DataFrame | str]]:
    def both_orders(table: pd.DataFrame) -> pd.DataFrame | str:
        one = table["estimate"].isna().all()
        return "every pair was judged in one order only: run each pair in both orders" if one else table

    def repeats() -> pd.DataFrame | str:
        if len(_labels(data, "replicate") if "replicate" in present else ()) < 2:
            return "no call is repeated: there is no second value in 'replicate'"
        return bias.consistency(data, over="replicate")

    def shift() -> pd.DataFrame | str:
        prompts = sorted(_labels(data, "prompt")) if "prompt" in present else []
        if len(prompts) < 2:
            return "needs two values in a column 'prompt'"
        return psychometrics.criterion_shift(data, prompts[0], prompts[1])

    return {
        "consistency": lambda: both_orders(bias.consistency(data)),
        "consistency, over repeats": repeats,
        "slot_lean": lambda: bias.slot_lean(data),
        "gold_agreement": lambda: bias.gold_agreement(data),
        "dark_current": lambda: psychometrics.dark_current(data),
        "delta0": lambda: both_orders(psychometrics.delta0(data)),
        "target_sensitivity": lambda: psychometrics.target_sensitivity(data),
        "detection_threshold": lambda: psychometrics.detection_threshold(data, n_resamples=1),
        "d_prime": lambda: psychometrics.d_prime(data),
        "filler_preference": lambda: psychometrics.filler_preference(data),
        "criterion_shift": shift,
    }


def _rating_trials(data: Any, identity: Mapping[str, str] | None) -> dict[str, Callable[[], pd.DataFrame | str]]:
    def of_terms(table: pd.DataFrame, *terms: str) -> pd.DataFrame:
        return table[table["term"].isin(terms)]

    def excess() -> pd.DataFrame | str:
        known = dict(identity or {})
        if not _labels(data, "judge") & {known.get(s, s) for s in _labels(data, "system")}:
            return "no judge bears the name of a system: say which is which with identity={'system': 'judge'}"
        return of_terms(consensus.consensus_deviation(data, identity=identity), "self_excess")

    return {
        "score_matrix": lambda: consensus.score_matrix(data),
        "consensus_deviation": lambda: of_terms(consensus.consensus_deviation(data, identity=identity), "deviation"),
        "self_excess": excess,
        "attenuation": lambda: of_terms(consensus.attenuation(data, identity=identity), "attenuation"),
        "rank_correlation": lambda: consensus.rank_correlation(data),
        "run_sd": lambda: cells(data).rename(columns={"sd": "estimate"}).assign(flag="no rating is repeated"),
    }


def _labels(data: Any, column: str) -> set[str]:
    values = nw.from_native(data).lazy().select(nw.col(column).cast(nw.String)).unique().collect(backend="pandas")
    return {v for v in values.to_native()[column] if isinstance(v, str)}


def design(data: Any) -> pd.DataFrame:
    """Describe the design of a data set: who judged what, in which orders and conditions.

    Parameters
    ----------
    data : frame
        Preferences or ratings.

    Returns
    -------
    pandas.DataFrame
        ``property`` and ``value``, as text.

    Examples
    --------
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "1"], "first": ["x", "y"], "second": ["y", "x"],
    ...                       "choice": ["first", "tie"]})
    >>> design(calls).set_index("property")["value"].to_dict()["both orders"]
    'every pair'
    """
    table = nw.from_native(data).lazy().collect(backend="pandas").to_native()
    kind = kind_of(table.columns)
    rows = [
        ("frame", kind),
        ("rows", f"{len(table):,}"),
        ("judges", _several(table["judge"])),
        ("items", f"{table['item'].nunique():,}"),
    ]
    if kind == "preferences":
        rows += _pairwise_design(data, table)
    else:
        rows += [
            ("systems", _several(table["system"])),
            ("criteria", _several(table["criterion"]) if "criterion" in table else "one"),
            ("scores", _span(table["score" if "score" in table else "mean"])),
        ]
    rows.append(("repeats", _repeats(data, table)))
    known = {c.name for c in VOCABULARY[kind] if c.name not in _CONDITIONS}
    conditions = [
        c
        for c in table.columns
        if c not in known
        and not c.endswith(("_first", "_second"))
        and 1 < table[c].astype(str).nunique() <= len(table) / 2
    ]
    rows.append(("conditions", ", ".join(f"{c} ({table[c].astype(str).nunique()})" for c in conditions) or "none"))
    return pd.DataFrame(rows, columns=["property", "value"])


_CONDITIONS = (
    "task",
    "topic",
    "strategy",
    "scheme",
    "probe",
    "prompt",
    "temperature",
    "bias",
    "stimulus",
    "condition",
    "domain",
    "tier",
)


def _repeats(data: Any, table: pd.DataFrame) -> str:
    numbered = table["replicate"].nunique() if "replicate" in table else 1
    if numbered > 1:
        return f"{numbered} of each call"
    try:
        if "choice" in table:
            tally(data, "consistency")
    except DesignError as error:
        return "some, without a number in 'replicate'" if "repeat a call" in str(error) else "none"
    return "none"


def _pairwise_design(data: Any, table: pd.DataFrame) -> list[tuple[str, str]]:
    answers = table["choice"].astype(str).value_counts()
    total = len(table)
    told = ", ".join(f"{a} {100 * answers[a] / total:.1f} %" for a in CHOICES if a in answers)
    gold = f"{table['gold'].notna().sum():,} rows" if "gold" in table else "none"
    strength = "yes, in 'strength'" if "strength" in table else "no"
    return [("both orders", _orders(data)), ("answers", told), ("graded", strength), ("gold", gold)]


def _orders(data: Any) -> str:
    try:
        pairs = tally(data, "consistency")
    except JudgestatsError as error:
        return f"not usable: {str(error).partition('. ')[0]}"
    both = ~(pairs[["forward", "reverse"]] == "missing").any(axis=1)
    share = pairs.loc[both, "n"].sum() / pairs["n"].sum()
    return "every pair" if share == 1 else "no pair" if share == 0 else f"{100 * share:.1f} % of the pairs"


def _several(values: pd.Series[Any], most: int = 6) -> str:
    names = sorted(map(str, values.dropna().unique()))
    return f"{len(names)}: " + ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def _span(values: pd.Series[Any]) -> str:
    number = pd.to_numeric(values, errors="coerce")
    return f"{number.min():g} to {number.max():g}, {number.isna().sum():,} missing"
