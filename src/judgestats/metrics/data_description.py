"""The design of a data set in words: :func:`describe`."""

from __future__ import annotations

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.counting.pairing import REPEATED
from judgestats.counting.study import Study
from judgestats.counting.tallies import count
from judgestats.errors import DesignError, JudgestatsError
from judgestats.kernels.compiling import arrays_only
from judgestats.schema.classes import is_answer
from judgestats.schema.coding import yes_or_no
from judgestats.schema.columns import CHOICES, CONDITIONS, COUNTS, VOCABULARY, answer_column, kind_of
from judgestats.schema.opening import engine_errors
from judgestats.typing import Column


@engine_errors
@arrays_only()
def describe(data: IntoFrame) -> pd.DataFrame:
    """Describe the design of a data set: judges, items, orders and conditions.

    Parameters
    ----------
    data : frame
        Preferences or ratings.

    Returns
    -------
    pandas.DataFrame
        ``property`` and ``value``, as text.

    See Also
    --------
    check : Faults, excluded rows and gaps.
    available_measures : What the data support.

    Examples
    --------
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "1"], "first": ["x", "y"], "second": ["y", "x"],
    ...                       "choice": ["first", "tie"]})
    >>> describe(calls).set_index("property")["value"].to_dict()["both orders"]
    'every pair'
    """
    study = Study.whole(data)
    table = study.data.to_pandas()
    kind = kind_of(table.columns)
    rows = [
        ("frame", kind),
        ("rows", f"{len(table):,}"),
        ("judges", _several(study, "judge")),
        ("items", f"{len(study.columns.labels('item')):,}"),
    ]
    if kind == "preferences":
        calls = number_of_calls(table)
        choice = study.columns["choice"]
        answers = dict(zip(map(str, choice.labels), np.bincount(choice.code, calls), strict=False))
        there = set(study.columns.labels("choice"))
        shares = ", ".join(f"{a} {100 * answers[a] / (calls.sum() or 1):.1f} %" for a in CHOICES if a in there)
        rows += [
            ("both orders", _orders(study)),
            ("answers", shares),
            ("graded", "yes, in 'strength'" if "strength" in table else "no"),
            ("gold", f"{table['gold'].notna().sum():,} rows" if "gold" in table else "none"),
        ]
    else:
        rows += [
            ("systems", _several(study, "system") if "system" in table else "one"),
            ("criteria", _several(study, "criterion") if "criterion" in table else "one"),
            answers_given(table),
        ]
    rows.append(("repeats", _repeats_text(study, table)))
    own_columns = {"gold", *(c.name for c in VOCABULARY[kind] if c.name not in (*CONDITIONS, "stimulus"))}
    others = [c for c in table.columns if c not in own_columns and not c.endswith(("_first", "_second"))]
    levels = {c: int((np.bincount(study.columns[c].code) > 0).sum()) for c in others}
    conditions = [f"{c} ({n})" for c, n in levels.items() if 1 < n <= len(table) / 2]
    rows.append(("conditions", ", ".join(conditions) or "none"))
    return pd.DataFrame(rows, columns=["property", "value"])


def _repeats_text(study: Study, table: pd.DataFrame) -> str:
    numbered = table["replicate"].nunique() if "replicate" in table else 1
    if numbered > 1:
        return f"{numbered} of each call"
    try:
        if "choice" in table:
            count(study, "consistency", cluster=False)
    except DesignError as error:
        return "some, without a number in 'replicate'" if error.reason == REPEATED else "none"
    return "none"


def _orders(study: Study) -> str:
    try:
        pairs = count(study, "consistency", cluster=False)
    except JudgestatsError as error:
        return f"not usable: {error.problem}"
    both = ~(pairs.among("forward", "missing") | pairs.among("reverse", "missing"))
    share = pairs.n[both].sum() / max(pairs.n.sum(), 1)
    return "every pair" if share == 1 else "no pair" if share == 0 else f"{100 * share:.1f} % of the pairs"


def _several(study: Study, column: str, most: int = 6) -> str:
    names = study.columns.labels(column)
    return f"{len(names)}: " + ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def answers_given(table: pd.DataFrame) -> tuple[str, str]:
    """What the answers are, and the range of the scores or the shares of the two verdicts."""
    name = answer_column(table.columns)
    if name == "answer":
        calls, answers = number_of_calls(table), table[name].astype(object)
        times = calls.groupby(answers.where(is_answer(answers))).sum().sort_values(ascending=False, kind="stable")
        listed = ", ".join(f"{c} {n:,.0f}" for c, n in times.head(6).items()) + (", ..." if len(times) > 6 else "")
        return "classes", f"{len(times)}: {listed}; {calls.sum() - times.sum():,.0f} missing"
    if name != "correct":
        number = pd.to_numeric(table[name], errors="coerce")
        return "scores", f"{number.min():g} to {number.max():g}, {number.isna().sum():,} missing"
    verdict = yes_or_no(table[name])
    calls = number_of_calls(table)
    total = calls.sum() or 1
    shares = [
        f"{word} {100 * calls[verdict.eq(answer).fillna(False)].sum() / total:.1f} %"
        for word, answer in (("“correct”", True), ("“incorrect”", False))
    ]
    return "verdicts", f"{', '.join(shares)}, {calls[verdict.isna()].sum():,.0f} missing"


def number_of_calls(table: pd.DataFrame) -> Column:
    """Number of calls of each row."""
    counts = table[COUNTS] if COUNTS in table else pd.Series(1.0, index=table.index)
    return pd.to_numeric(counts, errors="coerce").astype(float).fillna(0.0)
