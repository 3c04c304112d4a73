"""The page of ``make reproduce``: the audit of the papers, with figures drawn again from their printed numbers."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from judgestats.metrics.agreement import agreement_shift, quality_agreement
from judgestats.metrics.bias import pareto_front
from judgestats.metrics.consensus import consensus_deviation, score_matrix
from judgestats.metrics.invariance import anchoring
from judgestats.metrics.psychometrics import criterion_shift, dark_current, delta0, target_sensitivity
from judgestats.published import (
    audited,
    load,
    paper_consensus_illusion,
    paper_dark_current,
    paper_merchant_risk,
    paper_rationalization,
)
from judgestats.reporting import plots
from judgestats.reporting.audits import audit_page
from judgestats.reporting.markup import Markup, tag
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


def _debiasing_figures() -> Iterator[Markup]:
    told = load("debiasing/bias_scores")
    told = told[(told["place"].isin(["Section 4.1", "Section 4.1.1"])) & told["bias"].isin(["style", "verbosity"])]
    scores = told.rename(columns={"value": "estimate"}).assign(term="bias", conf_low=math.nan, conf_high=math.nan)
    yield from drawing(
        "debiasing-biases",
        "Figure 1, drawn again in part",
        "Style and verbosity bias at B0 of Sections 4.1 and 4.1.1; position bias is printed as a bound only.",
        lambda: plots.bias_scores(scores[["judge", "bias", "term", "estimate", "conf_low", "conf_high"]]),
    )
    points = load("debiasing/cost_frontier")
    points = points[points["place"] == "Appendix H"].astype({"agreement": float, "cost_usd": float})
    front = pareto_front(points[["judge", "strategy", "agreement", "cost_usd"]], cost="cost_usd", value="agreement")
    yield from drawing(
        "debiasing-frontier",
        "Figure 4, drawn again",
        "Cost and agreement of Appendix H. What other configurations cost is not printed.",
        lambda: plots.pareto(front),
    )


def _consensus_illusion_figures() -> Iterator[Markup]:
    shifts = agreement_shift(paper_consensus_illusion.shifts())
    yield from drawing(
        "consensus-illusion-shifts",
        "Figure 2, drawn again in part",
        "Agreement at baseline (hollow) and under MERG (filled) of Section 3.1 and Tables 3 and 7: three of the eleven "
        "temperatures of Figure 2 are printed.",
        lambda: plots.agreement_shift(shifts),
    )
    variants = load("consensus_illusion/table6", printed=True)
    variants = variants[variants["r"] != "N/A"].astype({"r": float})
    rows = variants.assign(term=variants["variant"], judge=variants["model"] + ", " + variants["pair"])
    rows = rows.rename(columns={"r": "estimate"}).assign(conf_low=math.nan, conf_high=math.nan)
    yield from drawing(
        "consensus-illusion-ablation",
        "Figure 3, drawn again",
        "Agreement of each pair of evaluators under the variants of Table 6.",
        lambda: plots.forest(rows[["judge", "term", "estimate", "conf_low", "conf_high"]]),
    )
    table, result = load("consensus_illusion/table9"), quality_agreement(paper_consensus_illusion.rankings())
    yield from drawing(
        "consensus-illusion-quality",
        "Table 9, drawn",
        "Agreement of the evaluators on each model against its mean score; the scores behind Figure 6 are not printed.",
        lambda: plots.quality_agreement(table, result),
    )


def _rationalization_figures() -> Iterator[Markup]:
    moved = anchoring(paper_rationalization.outcomes(), favoured=paper_rationalization.FAVOURED, n_resamples=1)
    yield from drawing(
        "rationalization-anchoring",
        "Figures 2 and 4, drawn again",
        "Ties under Blind, and where verdicts move under each probe, from the counts of Tables II to V. They are not "
        "the movements that Tables VI to VIII print; the findings above say where the two differ.",
        lambda: plots.anchoring(moved),
    )


#: Figures that the printed numbers do not determine, and why.
NOT_DRAWN: dict[str, dict[str, str]] = {
    "merchant_risk": {
        "Figures 1, 3 and 4": "prompts, texts and a scheme",
        "Figures 2 and 10": "lists of categories; their codes are in the tables above",
        "Figure 5": "an example of two texts; its scores are in the tables above",
        "Figure 7": "scores of people by criterion are not printed, their means are in the tables above",
    },
    "debiasing": {
        "Figure 1, position": "position bias is printed as a bound only",
        "Figure 2": "changes of bias by strategy are printed for few judges",
        "Figure 3": "agreement by category is not printed",
    },
    "dark_current": {"Figure 2": "target sensitivity at the steps 2 to 4 is not printed"},
    "consensus_illusion": {
        "Figure 1": "an example; its scores are in the tables above",
        "Figure 2, eight temperatures": "agreement at 0.1, 0.2 and from 0.4 to 0.9 is not printed",
        "Figure 4": "three of the domains are printed",
        "Figure 5": "correlations by model, pair and temperature are not printed",
        "Figure 6": "scores by evaluator are not printed",
    },
    "rationalization": {
        "Figure 1": "a scheme",
        "Figures 3 and 5": "revisions and similarities by judge are not printed",
        "Figures 6 and 7": "the parameters under attack are printed as ranges over judges",
    },
}


def _with_rest(paper: str, drawn: Callable[[], Iterator[Markup]]) -> Callable[[], Iterator[Markup]]:
    """The figures of a paper, and the list of those that cannot be drawn."""

    def figures() -> Iterator[Markup]:
        yield from drawn()
        items = [tag("li", f"{name}: {why}") for name, why in NOT_DRAWN[paper].items()]
        yield tag("div", tag("p", "Not drawn, as printed numbers do not determine them:"), tag("ul", *items))

    return figures


_FIGURES: dict[str, Callable[[], Iterator[Markup]]] = {
    paper: _with_rest(paper, drawn)
    for paper, drawn in {
        "dark_current": _dark_current_figures,
        "merchant_risk": _merchant_risk_figures,
        "debiasing": _debiasing_figures,
        "consensus_illusion": _consensus_illusion_figures,
        "rationalization": _rationalization_figures,
    }.items()
}
