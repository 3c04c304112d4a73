"""Every printed number that follows from other printed numbers, recomputed."""

from __future__ import annotations

import pandas as pd

from judgestats.errors import AuditError, suggestion
from judgestats.published.auditing import PAPERS, audited

COLUMNS = ["paper", "place", "quantity", "printed", "recomputed", "shown", "verdict", "comment"]


def reproduce(paper: str | None = None) -> pd.DataFrame:
    """Recompute the printed numbers of a paper from its other printed numbers.

    The part of :func:`judgestats.audit` that is about numbers; statements of the text are left out.

    Parameters
    ----------
    paper : str, optional
        ``merchant_risk``, ``debiasing``, ``dark_current``, ``consensus_illusion`` or ``rationalization``; all by
        default.

    Returns
    -------
    pandas.DataFrame
        ``paper``, ``place``, ``quantity``, ``printed`` (text), ``recomputed`` (number; NaN where nothing printed bears
        on it), ``shown`` (recomputed, in the printed precision), ``verdict`` (those of :func:`judgestats.audit`),
        ``comment`` (the arithmetic).

    Raises
    ------
    AuditError
        If the paper is not known.

    Examples
    --------
    >>> result = reproduce("dark_current")
    >>> row = result["quantity"].str.contains("Qwen32B, raw delta0.*wilson interval, high")
    >>> result.loc[row, ["printed", "shown", "verdict"]].head(1).to_dict("records")
    [{'printed': '0.3433', 'shown': '0.3433', 'verdict': 'follows'}]
    """
    if paper is not None and paper not in PAPERS:
        raise AuditError(f"No paper {paper!r}. Papers: {', '.join(PAPERS)}.{suggestion(paper, PAPERS)}")
    rows = [
        (a.paper, d.statement.place, d.statement.claim, d.printed, d.recomputed, d.shown, d.verdict, d.comment)
        for a in audited(paper)
        for d in a.decisions
        if d.statement.printed is not None
    ]
    return pd.DataFrame(rows, columns=COLUMNS)
