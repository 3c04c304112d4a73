"""The page of ``make reproduce``: the audit of the papers, with figures drawn again from their printed numbers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from judgestats.metrics.consensus import consensus_deviation, score_matrix
from judgestats.metrics.psychometrics import criterion_shift, dark_current, delta0, target_sensitivity
from judgestats.published import audited, paper_dark_current, paper_merchant_risk
from judgestats.reporting import plots
from judgestats.reporting.audits import audit_page
from judgestats.reporting.markup import Markup
from judgestats.reporting.pictures import drawing

#: Paper -> its title.
TITLES = {
    "merchant_risk": "Understanding LLM Evaluator Behavior (merchant_risk)",
    "debiasing": "Judging the Judges (debiasing)",
    "dark_current": "LLM Judges Have Dark Current (dark_current)",
    "consensus_illusion": "Beyond the Illusion of Consensus (consensus_illusion)",
    "rationalization": "Faithful or Fabricated? (rationalization)",
}


def reproduction_page(path: str | os.PathLike[str], paper: str | None = None) -> Path:
    """Write the page of a reproduction: each printed table beside its recomputed twin, cell by cell, and figures.

    Parameters
    ----------
    path : path
        File to write; its folder is made.
    paper : str, optional
        All papers by default.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    AuditError
        If the paper is not known.

    Examples
    --------
    >>> import tempfile
    >>> page = reproduction_page(Path(tempfile.mkdtemp()) / "index.html", "dark_current")
    >>> "Table 6" in page.read_text(encoding="utf-8")
    True
    """
    return audit_page(audited(paper), path, titles=TITLES, figures=_FIGURES)


def _dark_current_figures() -> Iterator[Markup]:
    equal, ladder = delta0(paper_dark_current.delta0_counts()), target_sensitivity(paper_dark_current.ladder_counts())
    sheet = pd.concat([dark_current(paper_dark_current.vacuum_counts()), equal, ladder], ignore_index=True)
    yield from drawing(
        "dark-current-map",
        "Figure 1, drawn again",
        "Dark current and stable cross-sensitivity from the counts behind Table 6, with Wilson "
        "and Goodman intervals; the marker grows with target sensitivity at Δ1.",
        lambda: plots.metrology_map(sheet),
    )
    yield from drawing(
        "dark-current-decomposition",
        "Figure 3, drawn again",
        "One-sided commits are not printed; they are what the identity leaves: raw = stable + "
        "positional + one-sided / 2, in whole calls.",
        lambda: plots.decomposition(equal),
    )
    shift = criterion_shift(paper_dark_current.criterion_counts(), "base", "strict")
    ends = _by_prompt(ladder)
    yield from drawing(
        "dark-current-operating",
        "Figure 4, drawn again",
        "Qwen32B under the base and the strict prompt, on Δ1 and Δ5. Two operating points, not an ROC curve.",
        lambda: plots.operating_point(shift, ends),
    )
    yield from drawing(
        "dark-current-scatter",
        "Figure 5, drawn again",
        "Positional against stable, from the same counts.",
        lambda: plots.stable_positional(equal),
    )


def _by_prompt(ladder: pd.DataFrame) -> pd.DataFrame:
    """Sensitivity of the judge whose prompt was changed, prompts told apart."""
    base = ladder[ladder["judge"] == "Qwen32B"].assign(prompt="base")
    strict = ladder[ladder["judge"] == "Qwen32B strict criterion"].assign(prompt="strict")
    return pd.concat([base, strict]).assign(judge="Qwen32B")


def _merchant_risk_figures() -> Iterator[Markup]:
    ratings, people = paper_merchant_risk.scores(), paper_merchant_risk.panel()
    scores = score_matrix(ratings, by="condition")
    peers = consensus_deviation(ratings, by="condition")
    human = consensus_deviation(ratings, reference=people, by="condition")
    limit = float(pd.concat([peers, human]).query("term == 'deviation'")["estimate"].abs().max())
    for table_, kind, title, told in (
        (scores, "scores", "Figure 6", "Mean ± sd over ten runs; colours rank the systems within each judge."),
        (peers, "peers", "Figure 8", "Deviation from the mean of the other judges."),
        (human, "people", "Figure 9", "Deviation from the mean of 26 experts."),
    ):
        for condition in ("attributed", "anonymized"):
            here = _in_paper_order(table_[table_["condition"] == condition].drop(columns="condition"))
            draw: Callable[[], Any] = _Draw(here, None if kind == "scores" else limit)
            yield from drawing(f"merchant-risk-{kind}-{condition}", f"{title}, {condition}, drawn again", told, draw)


class _Draw:
    """A matrix, to be drawn later."""

    def __init__(self, table_: pd.DataFrame, limit: float | None) -> None:
        self._table, self._limit = table_, limit

    def __call__(self) -> Any:
        return (
            plots.score_matrix(self._table)
            if self._limit is None
            else plots.deviation_matrix(self._table, limit=self._limit)
        )


def _in_paper_order(table_: pd.DataFrame) -> pd.DataFrame:
    order = {name: i for i, name in enumerate(paper_merchant_risk.MODELS)}
    return table_.sort_values(["judge", "system"], key=lambda c: c.map(order), kind="stable", ignore_index=True)


_FIGURES: dict[str, Callable[[], Iterator[Markup]]] = {
    "dark_current": _dark_current_figures,
    "merchant_risk": _merchant_risk_figures,
}
