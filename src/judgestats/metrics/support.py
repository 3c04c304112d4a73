"""Which measures a data set supports today, and what is missing for the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from judgestats.errors import DesignError, JudgestatsError
from judgestats.metrics.references import Baseline, Humans, references
from judgestats.metrics.trials import Options, attempts, trials
from judgestats.schema.coding import yes_or_no
from judgestats.schema.columns import CHOICES, COUNTS, VOCABULARY, answer_column, kind_of
from judgestats.schema.counting import tally
from judgestats.schema.opening import opened
from judgestats.schema.splitting import KEYS, splits_of


def supported(
    data: Any,
    identity: Mapping[str, str] | None = None,
    *,
    humans: Humans | None = None,
    gold: str | None = None,
    baseline: Baseline | None = None,
) -> pd.DataFrame:
    """List the measures, whether the data support them, and what is missing: each is tried.

    Ratings are split by the columns that split their cells (a scale, a prompt), which every measure wants named.

    Parameters
    ----------
    data : frame
        Preferences or ratings.
    identity : mapping, optional
        For ratings: which system is which judge.
    humans : str, sequence of str, or mapping, optional
        Judges that are people: names, or ``{column: value}``. They are a reference then, and not measured.
    gold : str, optional
        Where right answers come from: a column, a judge, or a candidate.
    baseline : str or mapping, optional
        The control condition (a value of ``strategy``, ``prompt``, ``probe``, ``scheme`` or ``condition``), or
        ``{column: value}``.

    Returns
    -------
    pandas.DataFrame
        ``measure``, ``question``, ``supported`` (bool: some estimate is a number) and ``missing``: why not, empty where
        it is supported.

    Raises
    ------
    SchemaError
        If `data` is neither canonical frame.
    DesignError
        If a name in `humans`, `gold` or `baseline` does not occur.

    Examples
    --------
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "1"], "first": ["x", "y"], "second": ["y", "x"],
    ...                       "choice": ["first", "second"]})
    >>> supported(calls).set_index("measure")["supported"].to_dict()["consistency"]
    True
    """
    known = references(opened(data).to_native(), humans, gold, baseline)
    people = known.people if known.humans else None
    ratings = kind_of(known.models.columns) == "ratings"
    apart = tuple(s.column for s in splits_of(known.models, KEYS)) if ratings else ()
    options = Options(by=apart, identity=dict(identity or {}), n_resamples=1, people=people, baseline=known.baseline)
    taken = attempts(known.models, options)
    rows = []
    for measure, trial in trials(known.models).items():
        result = taken[measure]
        missing = result if isinstance(result, str) else ""
        rows.append((measure, trial.question, not missing, missing))
    return pd.DataFrame(rows, columns=["measure", "question", "supported", "missing"])


def describe(data: Any) -> pd.DataFrame:
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
    >>> describe(calls).set_index("property")["value"].to_dict()["both orders"]
    'every pair'
    """
    table = opened(data).lazy().collect(backend="pandas").to_native()
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
            ("systems", _several(table["system"]) if "system" in table else "one"),
            ("criteria", _several(table["criterion"]) if "criterion" in table else "one"),
            _answers(table),
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
            tally(data, "consistency", cluster=False)
    except DesignError as error:
        return "some, without a number in 'replicate'" if "repeat a call" in str(error) else "none"
    return "none"


def _pairwise_design(data: Any, table: pd.DataFrame) -> list[tuple[str, str]]:
    calls = _calls(table)
    answers = calls.groupby(table["choice"].astype(str)).sum()
    total = calls.sum() or 1
    told = ", ".join(f"{a} {100 * answers[a] / total:.1f} %" for a in CHOICES if a in answers)
    gold = f"{table['gold'].notna().sum():,} rows" if "gold" in table else "none"
    strength = "yes, in 'strength'" if "strength" in table else "no"
    return [("both orders", _orders(data)), ("answers", told), ("graded", strength), ("gold", gold)]


def _orders(data: Any) -> str:
    try:
        pairs = tally(data, "consistency", cluster=False)
    except JudgestatsError as error:
        return f"not usable: {str(error).partition('. ')[0]}"
    both = ~(pairs[["forward", "reverse"]] == "missing").any(axis=1)
    share = pairs.loc[both, "n"].sum() / max(pairs["n"].sum(), 1)
    return "every pair" if share == 1 else "no pair" if share == 0 else f"{100 * share:.1f} % of the pairs"


def _several(values: pd.Series[Any], most: int = 6) -> str:
    names = sorted(map(str, values.dropna().unique()))
    return f"{len(names)}: " + ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def _answers(table: pd.DataFrame) -> tuple[str, str]:
    """What the answers are: a span of scores, or shares of right and wrong."""
    name = answer_column(table.columns)
    if name != "correct":
        return "scores", _span(table[name])
    verdict = yes_or_no(table[name])
    calls = _calls(table)
    total = calls.sum() or 1
    shares = [
        (word, calls[verdict.eq(answer).fillna(False)].sum()) for word, answer in (("right", True), ("wrong", False))
    ]
    told = [f"{word} {100 * n / total:.1f} %" for word, n in shares]
    return "verdicts", f"{', '.join(told)}, {calls[verdict.isna()].sum():,.0f} missing"


def _calls(table: pd.DataFrame) -> pd.Series[Any]:
    """How many calls each row stands for."""
    counts = table[COUNTS] if COUNTS in table else pd.Series(1.0, index=table.index)
    return pd.to_numeric(counts, errors="coerce").astype(float).fillna(0.0)


def _span(values: pd.Series[Any]) -> str:
    number = pd.to_numeric(values, errors="coerce")
    return f"{number.min():g} to {number.max():g}, {number.isna().sum():,} missing"
