"""The published tables: their catalogue and their content."""

from __future__ import annotations

import pandas as pd

from judgestats.arguments import checked_arguments
from judgestats.errors import AuditError, refuse_unknown
from judgestats.package_data import data_folder, resources


def tables() -> pd.DataFrame:
    """List the published tables that the package holds.

    Returns
    -------
    pandas.DataFrame
        ``name`` (to be given to :func:`load`), ``paper``, ``table`` (where it is printed), ``rows``, ``about``.

    See Also
    --------
    load : One published table.

    Examples
    --------
    >>> found = tables()
    >>> found.loc[found["name"] == "dark_current/table6", ["table", "rows"]].to_dict("records")
    [{'table': 'Table 6', 'rows': 44}]
    """
    rows = [(n, r["paper"], r["table"], len(_read(n)), r["title"]) for n, r in resources().items()]
    return pd.DataFrame(rows, columns=["name", "paper", "table", "rows", "about"])


def places(paper: str) -> dict[str, str]:
    """Name of each table of a paper -> where it is printed."""
    return {n.partition("/")[2]: r["table"] for n, r in resources().items() if r["paper"] == paper}


@checked_arguments
def load(name: str, *, printed: bool = False) -> pd.DataFrame:
    """Load a published table.

    Parameters
    ----------
    name : str
        ``<paper>/<table>``, as listed by :func:`tables`.
    printed : bool
        True keeps every value as the text that was printed, with its precision; False converts columns that hold
        only numbers.

    Returns
    -------
    pandas.DataFrame
        Tidy: one row per printed value, or per printed row where the table is a list.

    Raises
    ------
    AuditError
        If there is no such table; the message suggests similar names.

    See Also
    --------
    tables : List of published tables.

    Examples
    --------
    >>> load("merchant_risk/human_panel").head(2)
                  system  mean    sd  experts
    0  Claude-4.5 Sonnet  8.88  0.76       26
    1            GPT-5.1  8.81  0.67       26
    """
    table = _read(name)
    if printed:
        return table
    for column in table.columns:
        numbers = pd.to_numeric(table[column], errors="coerce")
        if numbers.notna().all():
            table[column] = numbers
    return table


def _read(name: str) -> pd.DataFrame:
    listed = resources()
    refuse_unknown(name, listed, f"There is no published table {name!r}", "Tables", error=AuditError)
    return pd.read_csv(data_folder() / listed[name]["path"], dtype=str, keep_default_na=False)
