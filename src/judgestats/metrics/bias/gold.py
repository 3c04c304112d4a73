"""How often is a judge right, where the right answer is known?"""

from __future__ import annotations

from typing import Any, Literal

import narwhals.stable.v2 as nw
import pandas as pd

from judgestats.errors import DesignError, SchemaError, choose
from judgestats.metrics.rates import rates
from judgestats.results import estimates, flags
from judgestats.schema.columns import By, grouping
from judgestats.schema.counting import tally
from judgestats.schema.patterns import Invalid
from judgestats.schema.validation import CHECK_COLUMNS

#: What a tie is where the gold is a candidate: wrong, set aside, or half right.
Ties = Literal["exact", "drop", "half"]
_CURE = "Give the id of the right candidate, 'tie', or nothing."


def gold_agreement(
    calls: Any,
    *,
    invalid: Invalid = "drop",
    ties: Ties = "exact",
    by: By = (),
    cluster: str | None = None,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Accuracy of the verdicts against a gold label.

    Parameters
    ----------
    calls : frame
        Preferences with a column ``gold``: the right candidate, or ``tie``. Or a tally: ``judge, outcome, n`` with the
        outcomes ``correct``, ``wrong``, ``tie`` (no preference where the gold is a candidate) and ``invalid``.
        Aggregated verdicts will do: no order is needed.
    invalid : {'drop', 'wrong', 'tie'}
        What an invalid call is: set aside, a wrong answer, or a tie where the gold is a candidate.
    ties : {'exact', 'drop', 'half'}
        What a tie is where the gold is a candidate: an error (debiasing paper, Section 3.5), set aside, or half right.
        Where the gold is a tie, a tie is right and anything else is wrong.
    by : str or sequence of str
        Further grouping columns.
    cluster : str, optional
        Column of calls that are not independent (``item``): Wilson with an effective n.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge ``accuracy``, whose ``n`` is the calls scored under `invalid` and `ties`; and ``wrong``, ``tie`` and
        ``invalid``, whose ``n`` is all calls with a gold label, and which with the share of correct calls add up to 1.
        Calls without a gold label are set aside, and every row of their judge is flagged with their number.

    Raises
    ------
    DesignError
        If there is no gold label, or no column for it.
    SchemaError
        If a gold label is neither candidate nor ``tie``.

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
    scored, unlabelled = _labelled(calls, by)
    table = tally(scored, "gold_agreement", by, cluster=cluster)
    groups = list(dict.fromkeys(["judge", *grouping(by, table.columns)]))
    table = _with_unlabelled(table, unlabelled, groups)
    outcome = table["outcome"].to_numpy(dtype=object)
    as_tie = (outcome == "tie") | ((outcome == "invalid") & (invalid == "tie"))
    trial = ~(((outcome == "invalid") & (invalid == "drop")) | (as_tie & (ties == "drop")))
    hit = (outcome == "correct") + as_tie * (0.5 if ties == "half" else 0.0)
    options: dict[str, Any] = {"conf_level": conf_level, "cluster": cluster}
    rows = rates(table, groups, "accuracy", hit, trial, **options)
    for term in ("wrong", "tie", "invalid"):
        rows += rates(table, groups, term, outcome == term, **options)
    return estimates(_flagged(rows, unlabelled, groups), groups)


def _labelled(calls: Any, by: By) -> tuple[Any, pd.DataFrame | None]:
    """Return the calls that have a gold label, and the number of those that have none, per group."""
    data = nw.from_native(calls)
    present = data.collect_schema().names()
    if not {"gold", "judge", "first", "second"} <= set(present):
        return calls, None  # a tally, or a table that tally() will refuse
    gold = nw.col("gold").cast(nw.String)
    unlabelled = gold.is_null() | (gold == "")
    _refuse_unknown_gold(data, gold, unlabelled)
    groups = list(dict.fromkeys(["judge", *grouping(by, present)]))
    weight = nw.col("n").sum() if "n" in present else nw.len()
    without = data.filter(unlabelled).lazy().group_by(*groups).agg(weight.alias("_without"))
    counts = without.collect(backend="pandas").to_native()
    if not len(counts):
        return calls, None
    kept = data.filter(~unlabelled)
    if not kept.lazy().select(nw.len().alias("n")).collect(backend="pandas").to_native()["n"].iloc[0]:
        raise DesignError("gold_agreement needs the right answer, and 'gold' is empty in every row.")
    return kept.to_native(), counts


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


def _with_unlabelled(table: pd.DataFrame, unlabelled: pd.DataFrame | None, groups: list[str]) -> pd.DataFrame:
    """Keep a row, counting nothing, for a group none of whose calls has a gold label."""
    if unlabelled is None:
        return table
    empty = unlabelled[groups].merge(table[groups].drop_duplicates(), how="left", on=groups, indicator=True)
    empty = empty.loc[empty["_merge"] == "left_only", groups].assign(outcome="invalid", n=0.0)
    result = pd.concat([table, empty], ignore_index=True)
    result.attrs = dict(table.attrs)
    return result


def _flagged(rows: list[dict[str, Any]], unlabelled: pd.DataFrame | None, groups: list[str]) -> list[dict[str, Any]]:
    if unlabelled is None:
        return rows
    told = {tuple(key): int(n) for *key, n in unlabelled[[*groups, "_without"]].itertuples(index=False)}
    for row in rows:
        n = told.get(tuple(row[g] for g in groups), 0)
        row["flag"] = flags(row["flag"], f"{n:,} calls without gold" if n else "")
    return rows
