"""How often is a judge right, where the right answer is known?"""

from __future__ import annotations

import math
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from judgestats.errors import DesignError, SchemaError, choose
from judgestats.kernels.contingency import cohen_kappa, kappa_influence
from judgestats.kernels.proportions import normal_quantile
from judgestats.metrics.bias.attributes import Aside
from judgestats.metrics.rates import rates
from judgestats.metrics.resampled import Bootstrap, Interval, interval_of, resampled
from judgestats.results import SMALL_N, estimates, few_clusters, flags
from judgestats.schema.clustering import Cluster, column_of, dependence
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import By, answer_column, grouping, names, required
from judgestats.schema.counting import tally
from judgestats.schema.declared_counts import counted
from judgestats.schema.findings import CHECK_COLUMNS
from judgestats.schema.patterns import Invalid

#: What a tie is where the gold is a candidate: wrong, set aside, or half right.
Ties = Literal["exact", "drop", "half"]
#: Why kappa has no value, and why it has no interval.
BY_CHANCE = "chance agreement is 1"
NO_SPREAD = "no spread to go by"
#: Classes of an answer and of a gold label; an invalid call that counts as wrong is a class of its own.
_CLASSES = ("first", "second", "tie", "invalid")
_CURE = "Give the id of the right candidate, 'tie', or nothing."


def gold_agreement(
    calls: Any,
    *,
    invalid: Invalid = "drop",
    ties: Ties = "exact",
    by: By = (),
    cluster: Cluster = "auto",
    interval: Interval = "wilson",
    strata: str | None = None,
    n_resamples: int = 2000,
    seed: int | np.random.Generator | None = 0,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Accuracy of the verdicts against a gold label, raw and corrected for chance.

    Parameters
    ----------
    calls : frame
        Preferences with a column ``gold``: the right candidate, or ``tie``. Or a tally: ``judge, outcome, n`` with the
        outcomes ``correct``, ``wrong``, ``tie`` (no preference where the gold is a candidate) and ``invalid``.
        Aggregated verdicts will do: no order is needed. A tally that is to have a kappa also tells the slots ``answer``
        and ``gold_answer`` (``first``, ``second``, ``tie``; ``invalid``).
    invalid : {'drop', 'wrong', 'tie'}
        What an invalid call is: set aside, a wrong answer, or a tie where the gold is a candidate.
    ties : {'exact', 'drop', 'half'}
        What a tie is where the gold is a candidate: an error (debiasing paper, Section 3.5), set aside, or half right.
        Where the gold is a tie, a tie is right and anything else is wrong.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str, two of them, or False
        What calls share: by default the column that they are seen to share (``item``, say), which ``method`` names; or
        a column, for a bootstrap by percentile also two crossed ones; False takes all calls as independent, and is
        flagged where they are not.
    interval : {'wilson', 'percentile', 'bca'}
        Wilson's interval, or a bootstrap one of calls or clusters.
    strata : str, optional
        Column within whose levels the bootstrap draws.
    n_resamples, seed
        Of the bootstrap. The percentile interval of a share of independent calls is in closed form and draws nothing.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge ``accuracy``, whose ``n`` is the calls scored under `invalid` and `ties`; and ``wrong``, ``tie`` and
        ``invalid``, whose ``n`` is all calls with a gold label, and which with the share of correct calls add up to 1.
        Calls without a gold label are set aside, and every row of their judge is flagged with their number.
        Where the slots are known also ``kappa``: Cohen's, unweighted, of the answers and the gold as slots (first,
        second, tie), on the calls scored. Its interval is that of the asymptotic standard error (clustered: a
        linearised one and t), or the bootstrap's. NaN, flagged, where chance agreement is 1.

    Raises
    ------
    DesignError
        If there is no gold label, or no column for it, or the options of the interval do not go together.
    SchemaError
        If a gold label is neither candidate nor ``tie``.

    Notes
    -----
    Accuracy: debiasing paper, Sections 3.1 and 3.5. Kappa: its Table 6; Cohen (1960); standard error of Fleiss, Cohen
    and Everitt (1969). Kappa knows no half credit: ``ties='half'`` leaves it as ``'exact'`` has it. An invalid call
    that is scored and never right (``invalid='wrong'``; ``'tie'`` where the gold is a tie) is a class of its own.

    Examples
    --------
    >>> import pandas as pd
    >>> counts = pd.DataFrame({"judge": "g", "outcome": ["correct", "wrong", "tie", "invalid"], "n": [60, 20, 15, 5]})
    >>> gold_agreement(counts)[["term", "estimate", "conf_low", "conf_high", "n"]].round(3)
           term  estimate  conf_low  conf_high      n
    0  accuracy     0.632     0.531      0.722   95.0
    1     wrong     0.200     0.133      0.289  100.0
    2       tie     0.150     0.093      0.233  100.0
    3   invalid     0.050     0.022      0.112  100.0
    >>> gold_agreement(counts, invalid="wrong", ties="half")[["term", "estimate", "n"]].head(1)
           term  estimate      n
    0  accuracy     0.675  100.0
    """
    choose(invalid, ("drop", "wrong", "tie"), "invalid")
    choose(ties, ("exact", "drop", "half"), "ties")
    _refuse_own_names(by)
    scored, aside = _labelled(calls, by)
    table = tally(scored, "gold_agreement", by, cluster=cluster, beside=names(strata))
    groups = list(dict.fromkeys(["judge", *grouping(by, table.columns)]))
    table = aside.with_empty(table, groups)
    outcome = table["outcome"].to_numpy(dtype=object)
    as_tie = (outcome == "tie") | ((outcome == "invalid") & (invalid == "tie"))
    trial = ~(((outcome == "invalid") & (invalid == "drop")) | (as_tie & (ties == "drop")))
    hit = (outcome == "correct") + as_tie * (0.5 if ties == "half" else 0.0)
    options = interval_of(table, interval, strata, n_resamples, seed, conf_level)
    rows = rates(table, groups, "accuracy", hit, trial, **options)
    for term in ("wrong", "tie", "invalid"):
        rows += rates(table, groups, term, outcome == term, **options)
    if {"answer", "gold_answer"} <= set(table.columns):
        rows += _kappas(table, groups, trial, invalid, **options)
    return estimates(aside.flagged(rows, groups), groups)


def accuracy(
    ratings: Any,
    *,
    invalid: Literal["drop", "wrong"] = "drop",
    by: By = (),
    cluster: Cluster = "auto",
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Share of verdicts that are right, where each is right or wrong.

    Parameters
    ----------
    ratings : frame
        With ``judge`` and ``correct`` (booleans, 0 and 1, or words for yes and no; no cast is needed), or a score of 0
        and 1. With a column ``gold`` a verdict, or a score of any scale, is right where it equals the gold. Or a tally:
        ``judge, outcome, n`` with the outcomes ``correct``, ``wrong`` and ``invalid``.
    invalid : {'drop', 'wrong'}
        What a missing verdict is: set aside, or wrong.
    by : str or sequence of str
        Further grouping columns, ``system``, say.
    cluster : "auto", str or False
        What verdicts share: by default the column that they are seen to share (``item``, say), which ``method`` names;
        or a column; False takes all verdicts as independent, and is flagged where they are not.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge ``accuracy``, whose ``n`` is the verdicts scored under `invalid`; and ``wrong`` and ``invalid``, whose
        ``n`` is all of them. Verdicts without a gold label are set aside, and every row of their judge is flagged with
        their number.

    Raises
    ------
    SchemaError
        If a verdict is neither yes nor no, or there is no column of verdicts.
    DesignError
        If scores are not 0 and 1 and there is no gold; if no verdict has a gold label.

    Notes
    -----
    Wilson's interval. A verdict is about a response here; for verdicts between two candidates see
    :func:`gold_agreement`, and for agreement beyond chance :func:`judgestats.kappa` with ``against="gold"``.

    Examples
    --------
    >>> import pandas as pd
    >>> verdicts = pd.DataFrame({"judge": "g", "system": "s", "item": list("abcde"),
    ...                          "correct": [True, True, False, True, None]})
    >>> accuracy(verdicts)[["term", "estimate", "conf_low", "conf_high", "n"]].round(3)
           term  estimate  conf_low  conf_high    n
    0  accuracy      0.75     0.301      0.954  4.0
    1     wrong      0.20     0.036      0.624  5.0
    2   invalid      0.20     0.036      0.624  5.0
    """
    choose(invalid, ("drop", "wrong"), "invalid")
    verdicts, aside = _known(ratings, by)
    table = tally(verdicts, "accuracy", by, cluster=cluster)
    groups = list(dict.fromkeys(["judge", *grouping(by, table.columns)]))
    table = aside.with_empty(table, groups)
    outcome = table["outcome"].to_numpy(dtype=object)
    options: dict[str, Any] = {"conf_level": conf_level, "cluster": column_of(table)}
    trial = (outcome != "invalid") | (invalid == "wrong")
    rows = rates(table, groups, "accuracy", outcome == "correct", trial, **options)
    for term in ("wrong", "invalid"):
        rows += rates(table, groups, term, outcome == term, **options)
    return estimates(aside.flagged(rows, groups), groups)


def _refuse_own_names(by: By) -> None:
    taken = [name for name in names(by) if name in ("answer", "gold_answer")]
    if taken:
        raise DesignError(f"by={taken[0]!r} is a column that gold_agreement makes itself. Rename yours.")


def _kappas(
    table: pd.DataFrame,
    groups: list[str],
    trial: NDArray[np.bool_],
    invalid: Invalid,
    *,
    conf_level: float,
    cluster: str | None,
    bootstrap: Bootstrap | None,
) -> list[dict[str, Any]]:
    """Rows of the term ``kappa``: answer by gold, as slots, on the calls scored."""
    number = {"abstain": 2} | {name: i for i, name in enumerate(_CLASSES)}
    answer, gold = (
        table[c].map(number).fillna(-1).to_numpy(dtype=np.int64, copy=True) for c in ("answer", "gold_answer")
    )
    n = table["n"].to_numpy(dtype=float)
    _refuse_unknown_slots(table, (answer < 0) | (gold < 0) | (gold == 3), n)
    answer[(answer == 3) & (gold != 2) & (invalid == "tie")] = 2  # never right, as for accuracy
    m = len(_CLASSES)
    cell = np.where((answer < 0) | (gold < 0), 0, answer * m + gold)
    counts = np.zeros((len(table), m * m))
    counts[np.arange(len(table)), cell] = n * trial
    codes = codes_of(table, groups)
    dependent = dependence(table)
    rows = []
    for g, first in enumerate(codes.first):
        key: dict[str, Any] = table[groups].iloc[int(first)].to_dict()
        here = (codes.code == g) & (n * trial > 0)
        if not here.any():
            continue
        row = _kappa(table[here], counts[here], cell[here], key, conf_level, cluster, bootstrap)
        size = SMALL_N if row["n"] < 30 else ""
        rows.append({**key, "term": "kappa", **row, "flag": flags(dependent, row["flag"], size)})
    return rows


def _kappa(
    table: pd.DataFrame,
    counts: NDArray[np.float64],
    cell: NDArray[np.int64],
    key: dict[str, Any],
    conf_level: float,
    cluster: str | None,
    plan: Bootstrap | None,
) -> dict[str, Any]:
    """Kappa of one group with its interval."""
    total = counts.sum(axis=0).reshape(len(_CLASSES), -1)
    kappa, error, _ = (float(x) for x in cohen_kappa(total))
    row: dict[str, Any] = {"estimate": kappa, "n": total.sum(), "method": "asymptotic (Fleiss, Cohen, Everitt)"}
    if math.isnan(kappa):
        return {**row, "flag": BY_CHANCE}
    if plan is not None:
        return {**row, **resampled(table, counts, _kappa_of, plan, key)}
    quantile, few = normal_quantile(conf_level), ""
    if cluster is not None:
        unit = codes_of(table, [cluster])
        pull = counts.sum(axis=1) * kappa_influence(total).ravel()[cell]
        sums = np.bincount(unit.code, weights=pull, minlength=unit.size)
        row["method"] = f"linearised, clustered by {cluster} (G = {unit.size})"
        few = few_clusters(unit.size)
        if unit.size < 2:
            return {**row, "flag": few}
        error = math.sqrt(unit.size / (unit.size - 1) * float((sums**2).sum())) / row["n"]
        quantile = float(stdtrit(unit.size - 1, 0.5 + conf_level / 2))
    if error < 1e-7:  # perfect agreement: the standard error knows no better
        return {**row, "flag": flags(few, NO_SPREAD)}
    low, high = max(kappa - quantile * error, -1.0), min(kappa + quantile * error, 1.0)
    return {**row, "std_error": error, "conf_low": low, "conf_high": high, "flag": few}


def _kappa_of(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    return cohen_kappa(totals.reshape(len(totals), len(_CLASSES), -1)).estimate


def _refuse_unknown_slots(table: pd.DataFrame, wrong: NDArray[np.bool_], n: NDArray[np.float64]) -> None:
    bad = table[wrong & (n > 0)]
    if len(bad):
        got = ", ".join(f"{c}={bad[c].iloc[0]!r}" for c in ("answer", "gold_answer"))
        raise SchemaError(
            f"A tally of gold_agreement tells slots: {', '.join(_CLASSES)} in 'answer', {', '.join(_CLASSES[:3])} in "
            f"'gold_answer'. Got {got}."
        )


def _labelled(calls: Any, by: By) -> tuple[Any, Aside]:
    """Return the calls that have a gold label, and the number of those that have none, per group."""
    data = nw.from_native(calls)
    present = data.collect_schema().names()
    none = Aside(pd.DataFrame({"judge": [], "_without": []}), "")
    if not {"gold", *required("preferences")} <= set(present):
        return calls, none  # a tally, or a table that tally() will refuse
    gold = nw.col("gold").cast(nw.String)
    unlabelled = gold.is_null() | (gold == "")
    _refuse_unknown_gold(data, gold, unlabelled)
    return _with_gold(data, unlabelled, by, "calls without gold", "gold_agreement")


def _known(ratings: Any, by: By) -> tuple[Any, Aside]:
    """Return the verdicts that have a gold label, or all where there is no gold; and the number of the others."""
    data = nw.from_native(ratings)
    present = data.collect_schema().names()
    if not {"gold", "judge", answer_column(present)} <= set(present):
        return ratings, Aside(pd.DataFrame({"judge": [], "_without": []}), "")
    gold = nw.col("gold")
    dtype = data.collect_schema()["gold"]
    missing = gold.is_null() | (gold.is_nan() if dtype.is_float() else gold.cast(nw.String) == "")
    return _with_gold(data, missing, by, "verdicts without gold", "accuracy")


def _with_gold(data: Any, unlabelled: Any, by: By, words: str, measure: str) -> tuple[Any, Aside]:
    """Return the rows that have a gold label, and the number of those that have none, per group."""
    present = data.collect_schema().names()
    groups = list(dict.fromkeys(["judge", *grouping(by, present)]))
    name = counted(data, groups)
    weight = nw.len() if name is None else nw.col(name).sum()
    without = data.filter(unlabelled).lazy().group_by(*groups).agg(weight.alias("_without"))
    counts = without.collect(backend="pandas").to_native()
    if not len(counts):
        return data.to_native(), Aside(counts, "")
    kept = data.filter(~unlabelled)
    if not kept.lazy().select(nw.len().alias("n")).collect(backend="pandas").to_native()["n"].iloc[0]:
        raise DesignError(f"{measure} needs the right answer, and 'gold' is empty in every row.")
    return kept.to_native(), Aside(counts, words)


def _refuse_unknown_gold(data: Any, gold: Any, unlabelled: Any) -> None:
    """Raise where a gold label names nobody; rows are numbered where the frame has an order of rows."""
    shown = [nw.col(c).cast(nw.String) for c in ("first", "second")]
    wrong = ~unlabelled & (gold != shown[0]) & (gold != shown[1]) & (gold != "tie")
    eager = isinstance(data, nw.DataFrame)
    if eager:
        data = data.with_row_index("_row")
    columns = ["item", "first", "second", "gold", *(["_row"] if eager else [])]
    bad = data.filter(wrong).lazy().select(*columns).collect(backend="pandas").to_native()
    if not len(bad):
        return
    rows = f" (rows {', '.join(f'{r:,}' for r in bad['_row'][:3])}{', ...' if len(bad) > 3 else ''})" if eager else ""
    one = bad.iloc[0]
    raise SchemaError(
        f"'gold' is neither candidate nor 'tie' in {len(bad):,} row{'s' * (len(bad) != 1)}{rows}. The first: item "
        f"{one['item']!r} shows {one['first']!r} and {one['second']!r}, and its gold is {one['gold']!r}. {_CURE}",
        faults=_as_faults(bad),
    )


def _as_faults(bad: pd.DataFrame) -> pd.DataFrame:
    rows = tuple(int(r) for r in bad["_row"]) if "_row" in bad else ()
    what = "'gold' is neither candidate nor 'tie'"
    cells = ("fault", "gold", what, len(bad), rows, str(bad["gold"].iloc[0]), _CURE)
    return pd.DataFrame([cells], columns=list(CHECK_COLUMNS))
