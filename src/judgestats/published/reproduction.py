"""Every printed number that follows from other printed numbers, recomputed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pandas as pd

from judgestats.errors import AuditError, suggestion
from judgestats.published import (
    paper_consensus_illusion,
    paper_dark_current,
    paper_debiasing,
    paper_merchant_risk,
    paper_rationalization,
)
from judgestats.published.checks import Check

PAPERS: dict[str, Callable[[], Iterator[Check]]] = {
    "merchant_risk": paper_merchant_risk.checks,
    "debiasing": paper_debiasing.checks,
    "dark_current": paper_dark_current.checks,
    "consensus_illusion": paper_consensus_illusion.checks,
    "rationalization": paper_rationalization.checks,
}


def reproduce(paper: str | None = None) -> pd.DataFrame:
    """Recompute the printed numbers of a paper from its other printed numbers.

    Parameters
    ----------
    paper : str, optional
        ``merchant_risk``, ``debiasing``, ``dark_current``, ``consensus_illusion`` or ``rationalization``; all by
        default.

    Returns
    -------
    pandas.DataFrame
        ``paper``, ``place``, ``quantity``, ``printed`` (text), ``recomputed`` (number, or text), ``shown`` (recomputed,
        in the printed precision), ``verdict`` (``follows`` or ``does not follow``), ``comment``.

    Raises
    ------
    AuditError
        If the paper is not known.

    Examples
    --------
    >>> result = reproduce("dark_current")
    >>> row = result["quantity"] == "Qwen32B, raw delta0 false preference, conf_high"
    >>> result.loc[row, ["printed", "shown", "verdict"]]
       printed   shown  verdict
    ...  0.3433  0.3433  follows
    """
    if paper is not None and paper not in PAPERS:
        raise AuditError(f"No paper {paper!r}. Papers: {', '.join(PAPERS)}.{suggestion(paper, PAPERS)}")
    rows = [
        (name, c.place, c.quantity, c.printed, c.recomputed, c.shown, c.verdict, c.comment)
        for name, checks in PAPERS.items()
        if paper in (None, name)
        for c in checks()
    ]
    columns = ["paper", "place", "quantity", "printed", "recomputed", "shown", "verdict", "comment"]
    return pd.DataFrame(rows, columns=columns)
