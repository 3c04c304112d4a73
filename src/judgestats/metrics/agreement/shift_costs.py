"""What another way of judging gains and costs in each group: :func:`gains_and_costs`."""

from __future__ import annotations

import numpy as np
import pandas as pd

from judgestats.arguments import checked_arguments
from judgestats.errors import DesignError, refuse_unknown
from judgestats.schema.columns import By, names


@checked_arguments
def gains_and_costs(
    shift: pd.DataFrame,
    cost: pd.DataFrame,
    conditions: tuple[str, str],
    *,
    by: By = "domain",
    condition: str = "condition",
) -> pd.DataFrame:
    """Set the shift of agreement in each group beside what the other way of judging costs there.

    Parameters
    ----------
    shift : pandas.DataFrame
        What :func:`agreement_shift` returned with ``by=``.
    cost : pandas.DataFrame
        What :func:`evaluation_cost` returned with ``by=`` the group and the condition; or a table with these columns
        and ``cost``. Costs of several judges are added up.
    conditions : (str, str)
        The two ways of judging, the earlier first, as in `shift`.
    by : str or sequence of str
        The groups: ``domain``, as in the paper.
    condition : str
        Column of `cost` with the two values.

    Returns
    -------
    pandas.DataFrame
        A row per group: ``gain`` (the shift), ``conf_low``, ``conf_high``, ``cost_before``, ``cost_after``,
        ``cost_ratio``, ``reading`` and ``flag``. The reading is that of the interval and no more: ``agreement rises``,
        ``agreement falls``, ``no shift to be seen`` where the interval has 0, ``not estimable`` where there is none. It
        is no advice: more agreement is not more validity, and where right answers are not known nothing says that
        depth helps.

    Raises
    ------
    DesignError
        If a column is missing, `shift` has no groups, or a group has no cost.

    See Also
    --------
    agreement_shift : The shift, with its interval.
    evaluation_cost : The cost of a verdict.

    Notes
    -----
    consensus_illusion, Sec 4, advises to match the depth of evaluation to the domain. The shift in each domain and its
    price are what the data say to it.

    Examples
    --------
    >>> shift = pd.DataFrame({"domain": ["law", "poems"], "term": "shift", "estimate": [0.2, -0.3],
    ...                       "conf_low": [0.1, -0.6], "conf_high": [0.3, 0.1], "flag": ""})
    >>> cost = pd.DataFrame({"domain": ["law", "law", "poems", "poems"], "condition": ["base", "merg"] * 2,
    ...                      "cost": [1.0, 3.0, 1.0, 4.0]})
    >>> gains_and_costs(shift, cost, ("base", "merg"))[["domain", "gain", "cost_ratio", "reading"]]
      domain  gain  cost_ratio              reading
    0    law   0.2         3.0      agreement rises
    1  poems  -0.3         4.0  no shift to be seen
    """
    groups = names(by)
    price = "estimate" if "estimate" in cost else "cost"
    for table, what, needed in ((shift, "shift", ("estimate", *groups)), (cost, "cost", (price, condition, *groups))):
        for name in needed:
            refuse_unknown(name, table, f"The table of the {what} has no column {name!r}", "It has")
    rows = shift[shift["term"] == "shift"] if "term" in shift else shift
    if rows.duplicated(groups).any():
        raise DesignError(
            f"The shift has several rows for one value of {', '.join(groups)}. Filter it to one row each."
        )
    sums = cost.groupby([*groups, condition], observed=True)[price].sum(min_count=1).unstack(condition)
    for value in conditions:
        refuse_unknown(value, sums.columns, f"{condition} {value!r} has no cost", "There are")
    keys = pd.MultiIndex.from_frame(rows[groups]) if len(groups) > 1 else pd.Index(rows[groups[0]])
    if (absent := keys[~keys.isin(sums.index)]).size:
        raise DesignError(f"There is no cost of {absent[0]!r}. Give the cost of each group of the shift.")
    before, after = (sums[value].reindex(keys).to_numpy(dtype=float) for value in conditions)
    low, high = (rows[end].to_numpy(dtype=float) for end in ("conf_low", "conf_high"))
    readings = np.select(
        [np.isnan(low) | np.isnan(high), low > 0, high < 0],
        ["not estimable", "agreement rises", "agreement falls"],
        "no shift to be seen",
    )
    result = rows[groups].assign(gain=rows["estimate"], conf_low=low, conf_high=high)
    ratio = after / np.where(before > 0, before, np.nan)
    result = result.assign(cost_before=before, cost_after=after, cost_ratio=ratio, reading=readings)
    return result.assign(flag=rows.get("flag", "")).reset_index(drop=True)
