"""Which slot does a judge favour, whatever stands in it?"""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats.metrics.bias.ties import flag_forced
from judgestats.metrics.rates import rates
from judgestats.metrics.shares import leans
from judgestats.results import estimates
from judgestats.schema.clustering import Cluster, column_of
from judgestats.schema.columns import By, grouping
from judgestats.schema.counting import tally
from judgestats.schema.pairing import refuse_unknown_order


def slot_lean(calls: Any, *, by: By = (), cluster: Cluster = "auto", conf_level: float = 0.95) -> pd.DataFrame:
    """Shares of the answers by slot, and the lean towards the first.

    Parameters
    ----------
    calls : frame
        Preferences with a known order, or a tally: ``judge, choice, n``.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str or False
        What calls share: by default the column that they are seen to share (``item``, say), which ``method`` names; or
        a column; False takes all calls as independent, and is flagged where they are not.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge ``first``, ``second``, ``tie`` and ``invalid`` (shares of all calls; an abstention is a tie);
        ``lean``, the share of first minus the share of second among valid calls, in [-1, 1]; and
        ``first_share_nontie``, the share of first among the calls that took a side. ``n`` is the calls in question.
        Where ties are not allowed, ``tie`` is flagged ``forced choice``.

    Raises
    ------
    DesignError
        If the order shown is not known.

    Notes
    -----
    The interval of ``lean`` is Newcombe's for the difference of two shares of one sample, built of Wilson's for each:
    it stays in [-1, 1] and never has zero width. Clustered it is Tango's (1998), of the n that the clusters are worth:
    where both orders of a pair are there the pair is the unit, and a judge that is the same in both orders of all 350
    pairs gets 0 ± .011. Only pairs shown in both orders tell a lean apart from candidates
    that happened to be better where they stood.

    Examples
    --------
    >>> import pandas as pd
    >>> counts = pd.DataFrame({"judge": "g", "choice": ["first", "second", "tie", "invalid"], "n": [352, 79, 141, 4]})
    >>> slot_lean(counts)[["term", "estimate", "conf_low", "conf_high", "n"]].round(3)
                     term  estimate  conf_low  conf_high      n
    0               first     0.611     0.571      0.650  576.0
    1              second     0.137     0.111      0.168  576.0
    2                 tie     0.245     0.211      0.282  576.0
    3             invalid     0.007     0.003      0.018  576.0
    4                lean     0.477     0.415      0.534  572.0
    5  first_share_nontie     0.817     0.777      0.850  431.0
    """
    data = nw.from_native(calls)
    refuse_unknown_order(data, data.collect_schema().names())
    table = tally(calls, "slot_lean", by, cluster=cluster)
    groups = list(dict.fromkeys(["judge", *grouping(by, table.columns)]))
    choice = table["choice"].replace({"abstain": "tie"}).to_numpy(dtype=object)
    options: dict[str, Any] = {"conf_level": conf_level, "cluster": column_of(table)}
    rows = []
    for term in ("first", "second", "tie", "invalid"):
        rows += rates(table, groups, term, choice == term, **options)
    rows += leans(table, groups, "lean", choice == "first", choice == "second", choice != "invalid", **options)
    sided = np.isin(choice, ["first", "second"])
    rows += rates(table, groups, "first_share_nontie", choice == "first", sided, **options)
    return estimates(flag_forced(rows, calls, groups, ("tie",)), groups)


def answer_rates(calls: Any, *, by: By = (), cluster: Cluster = "auto", conf_level: float = 0.95) -> pd.DataFrame:
    """Tie and invalid rates, which need no order.

    Parameters
    ----------
    calls : frame
        Preferences, or a tally: ``judge, choice, n``.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str or False
        What calls share: by default the column that they are seen to share (``item``, say), which ``method`` names; or
        a column; False takes all calls as independent, and is flagged where they are not.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge ``tie`` (abstentions among them) and ``invalid``, as shares of all calls.

    Examples
    --------
    >>> counts = pd.DataFrame({"judge": "g", "choice": ["first", "tie", "abstain", "invalid"], "n": [5, 2, 1, 2]})
    >>> answer_rates(counts)[["term", "estimate", "n"]]
          term  estimate     n
    0      tie       0.3  10.0
    1  invalid       0.2  10.0
    """
    table = tally(calls, "answer_rates", by, cluster=cluster)
    groups = list(dict.fromkeys(["judge", *grouping(by, table.columns)]))
    options: dict[str, Any] = {"conf_level": conf_level, "cluster": column_of(table)}
    rows = rates(table, groups, "tie", table["choice"].isin(["tie", "abstain"]), **options)
    rows += rates(table, groups, "invalid", table["choice"] == "invalid", **options)
    return estimates(flag_forced(rows, calls, groups, ("tie",)), groups)
