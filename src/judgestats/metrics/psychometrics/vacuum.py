"""Preferences between identical candidates, and valid answers: :func:`dark_current` and :func:`validity_gates`."""

from __future__ import annotations

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.counting.clustering import Cluster
from judgestats.counting.counts import Counts
from judgestats.counting.patterns import Invalid
from judgestats.counting.study import Study
from judgestats.counting.tallies import clustered, count
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import SchemaError
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.results import estimates
from judgestats.schema.classes import has_answer
from judgestats.schema.columns import ANSWERS, By, answer_column, grouping
from judgestats.schema.factors import factor_of

#: Gates in their order -> statuses of the calls that fail them.
GATES = {
    "answered": ("error", "refused", "empty", "missing", "missing partner"),
    "parse": ("parse", "truncated"),
    "schema": ("schema", "off scale"),
    "semantic": ("semantic",),
    "hidden_metadata": ("leak",),
}


@Measure(
    "Does the judge state a preference between identical candidates?", "psychometrics", "P, counts",
    "Wilson, clustered", "dark_current, Eq 1", plot="metrology_map", frames=("preferences",), sheet=("dark current",),
    terms=(
        Term("dark_current", "", "call", "vacuum calls", "higher",
             "The judge prefers one of two identical candidates.", symbol="DC"),
    ),
    have=("pairs of known difference",),
    assumes="The candidates do not differ (empty or identical); tasks are independent of each other.",
)  # fmt: skip
def dark_current(
    calls: IntoFrame,
    *,
    by: By = (),
    cluster: Cluster = "auto",
    invalid: Invalid = "drop",
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Rate of preferences between candidates that do not differ (dark_current paper, Eq. 1).

    Parameters
    ----------
    calls : frame
        Preferences with a column ``stimulus`` (only ``vacuum`` rows count); or a tally: ``judge, choice, n``.
    by : str or sequence of str
        Further grouping columns. ``vacuum_kind`` always is one if it is in the data.
    cluster : "auto", str or False
        Column that calls share, by which intervals are clustered. ``"auto"`` detects it (``task``, say) and names it in
        ``method``. False treats all calls as independent, with a flag where they are not.
    invalid : {'drop', 'wrong', 'tie'}
        How invalid calls count: not at all, as a false preference, or as no preference.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Term ``dark_current`` per judge, pooled and, if ``vacuum_kind`` is known, by kind (``vacuum_kind`` is ``all`` in
        the pooled rows). ``n`` counts calls. A tie and a valid abstention are no preference.

    Raises
    ------
    DesignError
        If no row is a vacuum stimulus, or ``stimulus`` is missing.

    See Also
    --------
    delta0 : Parts of false preference between equals.
    validity_gates : Calls lost at each gate.

    Examples
    --------
    >>> import pandas as pd
    >>> counts = pd.DataFrame({"judge": "Llama8B", "choice": ["first", "tie"], "n": [80, 40]})
    >>> dark_current(counts)[["judge", "estimate", "conf_low", "conf_high", "n"]].round(4)
         judge  estimate  conf_low  conf_high      n
    0  Llama8B    0.6667    0.5783     0.7447  120.0
    """
    counts = count(calls, "dark_current", by, cluster=cluster, merged=True).inferred(conf_level)
    groups = [g for g in counts.groups if g != "vacuum_kind"]
    no_answer = counts.among("choice", "invalid")
    hit = counts.among("choice", "first", "second") | (no_answer & (invalid == "wrong"))
    trial = ~no_answer | (invalid != "drop")
    pooled = counts.grouped(groups)
    if "vacuum_kind" not in counts.columns:
        return estimates(pooled.rates("dark_current", hit, trial), groups)
    rows = pooled.rates("dark_current", hit, trial, vacuum_kind="all")
    rows += counts.grouped([*groups, "vacuum_kind"]).rates("dark_current", hit, trial)
    return estimates(rows, [*groups, "vacuum_kind"])


@Measure(
    "At which gate are calls lost?", "psychometrics", "P, R", "Wilson", "dark_current, Sec 3.2", plot="forest",
    classes=True,
    terms=(
        Term("answered", "", "call", "calls", "lower", "The judge answered at all: no error and no refusal."),
        Term("parse", "readable", "call", "calls answered", "lower", "The answer could be read."),
        Term("schema", "in the form asked for", "call", "calls parsed", "lower",
             "The answer had the form that was asked for."),
        Term("semantic", "makes sense", "call", "calls with valid form", "lower",
             "The answer made sense in its own terms."),
        Term("hidden_metadata", "no hidden information", "call", "calls that made sense", "lower",
             "No hidden information leaked into the answer."),
        Term("valid", "", "call", "calls", "lower", "The call passed all validity checks."),
    ),
    assumes="Each call passes the gates in their order; calls are independent of each other.",
)  # fmt: skip
def validity_gates(
    calls: IntoFrame, *, by: By = (), cluster: Cluster = "auto", conf_level: float = CONF_LEVEL
) -> pd.DataFrame:
    """Share of calls that pass each validity gate, among those that reach it (dark_current paper, Section 3.2).

    Parameters
    ----------
    calls : frame
        Preferences or ratings. Without a ``status``, an invalid choice or a missing score or class is not parsed.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str or False
        Column that calls share, by which intervals are clustered. ``"auto"`` detects it (``item``, say) and names it in
        ``method``. False treats all calls as independent, with a flag where they are not.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Terms ``answered`` (no error, no refusal, not empty), ``parse`` (one answer, not cut off), ``schema`` (in the
        form asked for, on the scale), ``semantic``, ``hidden_metadata``, each among the calls that passed the earlier
        gates, and ``valid``: all gates, among all calls.

    See Also
    --------
    answer_rates : Tie and invalid rates, without an order.
    check : Faults, excluded rows and gaps.

    Examples
    --------
    >>> import pandas as pd
    >>> calls = pd.DataFrame({"judge": "g", "item": list("abcd"), "first": "x", "second": "y",
    ...                       "choice": ["first", "tie", "invalid", "invalid"],
    ...                       "status": ["ok", "ok", "parse", "semantic"]})
    >>> validity_gates(calls)[["term", "estimate", "n"]].head(3)
           term  estimate    n
    0  answered      1.00  4.0
    1     parse      0.75  4.0
    2    schema      1.00  3.0
    """
    study = Study.of(calls)
    present = study.names
    if "judge" not in present or not {"choice", *ANSWERS} & set(present):
        raise SchemaError(f"validity_gates needs judge and choice, or judge and score. Columns: {', '.join(present)}.")
    groups = list(dict.fromkeys(["judge", *grouping(by, present)]))
    study.refuse_undeclared(groups)
    study, clustering = clustered(study, groups, cluster)
    keys = list(dict.fromkeys([*groups, *clustering.columns]))
    answer = "choice" if "choice" in present else answer_column(present)
    read = [*dict.fromkeys([*keys, answer, *(c for c in ("status",) if c in present)])]
    columns, weight = study.counted(read)
    answers = columns[answer]
    lost = ~has_answer(answers.labels)[answers.code]
    status = factor_of(np.where(lost, "parse", "ok"))
    if "status" in columns:
        reason = columns["status"]
        has_reason = np.array([not pd.isna(x) and str(x) not in ("ok", "") for x in reason.labels])[reason.code]
        texts = np.array([str(x) for x in reason.labels], dtype=object)[reason.code]
        status = factor_of(np.where(has_reason, texts, np.where(lost, "parse", "ok")))
    counts = Counts(*columns.but(_status=status).counted([*keys, "_status"], weight), tuple(groups), clustering)
    counts = counts.inferred(conf_level)
    rows = []
    reached = np.ones(len(counts.n), dtype=bool)
    for gate, failures in GATES.items():
        failed = counts.among("_status", *failures)
        rows += counts.rates(gate, ~failed, reached)
        reached &= ~failed
    return estimates(rows + counts.rates("valid", counts.among("_status", "ok")), groups)
