"""The page of ``make reproduce``: the audit of the papers, with figures drawn again from their printed numbers."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pandas as pd

from judgestats.metrics.agreement import agreement_shift, quality_agreement
from judgestats.metrics.bias import pareto_front
from judgestats.metrics.consensus import consensus_deviation, score_matrix
from judgestats.metrics.datasheets.datasheet_sections import stacked
from judgestats.metrics.invariance import anchoring
from judgestats.metrics.psychometrics import criterion_shift, dark_current, delta0, target_sensitivity
from judgestats.published import audited, load, paper_tables
from judgestats.reporting import plots
from judgestats.reporting.audits import Figures, audit_outputs, html
from judgestats.reporting.cards_by_judge import judge_cards
from judgestats.reporting.comparison_tables import comparison
from judgestats.reporting.pictures import PagePicture, drawing
from judgestats.reporting.summary import overview
from judgestats.typing import Record

#: Paper -> its title.
TITLES = {
    "merchant_risk": "Understanding LLM Evaluator Behavior (merchant_risk)",
    "debiasing": "Judging the Judges (debiasing)",
    "dark_current": "LLM Judges Have Dark Current (dark_current)",
    "consensus_illusion": "Beyond the Illusion of Consensus (consensus_illusion)",
    "rationalization": "Faithful or Fabricated? (rationalization)",
}


def reproduction_page(path: str | os.PathLike[str], paper: str | None = None, *, overwrite: bool = False) -> Path:
    """Write the page of a reproduction: datasheets from printed counts, then the audits with figures."""
    example = _example() if paper in (None, EXAMPLE) else None
    audits = audited(paper)
    outputs = audit_outputs(audits, overwrite, "reproduction")
    outputs.check(path)
    return outputs.write(path, html(audits, TITLES, _FIGURES, example))


#: The paper whose printed counts give datasheets.
EXAMPLE = "dark_current"


def printed_datasheet() -> pd.DataFrame:
    """The datasheet of each judge of the dark_current paper, from the counts behind its Table 6."""
    counts = paper_tables
    parts = {
        "dark current": dark_current(counts.vacuum_counts()),
        "Δ0": delta0(counts.delta0_counts()),
        "ladder": target_sensitivity(counts.ladder_counts()),
    }
    return stacked(parts.items(), ["judge"])


def _example() -> Record:
    sheet = printed_datasheet()
    lead = (
        "The dark_current paper prints rates with their numbers of calls. The counts behind them are enough for a "
        "datasheet of each judge; “judgestats report FILE” writes the same for verdicts of your own. The audit of the "
        "printed tables follows below."
    )
    title = "Judges of the dark_current paper, measured from printed counts"
    return {"title": title, "lead": lead, "table": comparison(overview(sheet)), "judges": judge_cards(sheet, 0.95)}


def _dark_current_figures() -> Iterator[PagePicture]:
    sheet = printed_datasheet()
    equal, ladder = delta0(paper_tables.delta0_counts()), target_sensitivity(paper_tables.ladder_counts())
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
    shift = criterion_shift(paper_tables.criterion_counts(), "base", "strict")
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
    """Sensitivity of the judge whose prompt was changed, prompt by prompt."""
    base = ladder[ladder["judge"] == "Qwen32B"].assign(prompt="base")
    strict = ladder[ladder["judge"] == "Qwen32B strict criterion"].assign(prompt="strict")
    return pd.concat([base, strict]).assign(judge="Qwen32B")


def _merchant_risk_figures() -> Iterator[PagePicture]:
    ratings, people = paper_tables.scores(), paper_tables.panel()
    scores = score_matrix(ratings, by="condition")
    peers = consensus_deviation(ratings, by="condition")
    human = consensus_deviation(ratings, reference=people, by="condition")
    limit = float(pd.concat([peers, human]).query("term == 'deviation'")["estimate"].abs().max())
    for table_, kind, title, caption in (
        (scores, "scores", "Figure 6", "Mean ± sd over ten runs; colours rank the systems within each judge."),
        (peers, "peers", "Figure 8", "Deviation from the mean of the other judges."),
        (human, "people", "Figure 9", "Deviation from the mean of 26 experts."),
    ):
        for condition in ("attributed", "anonymized"):
            rows_of_condition = _in_paper_order(table_[table_["condition"] == condition].drop(columns="condition"))
            draw: Callable[[], object] = partial(plots.score_matrix, rows_of_condition)
            if kind != "scores":
                draw = partial(plots.deviation_matrix, rows_of_condition, limit=limit)
            yield from drawing(f"merchant-risk-{kind}-{condition}", f"{title}, {condition}, drawn again", caption, draw)


def _in_paper_order(table_: pd.DataFrame) -> pd.DataFrame:
    order = {name: i for i, name in enumerate(paper_tables.MODELS)}
    return table_.sort_values(["judge", "system"], key=lambda c: c.map(order), kind="stable", ignore_index=True)


def _debiasing_figures() -> Iterator[PagePicture]:
    printed = load("debiasing/bias_scores")
    printed = printed[
        printed["place"].isin(["Section 4.1", "Section 4.1.1"]) & printed["bias"].isin(["style", "verbosity"])
    ]
    scores = printed.rename(columns={"value": "estimate"}).assign(term="bias", conf_low=math.nan, conf_high=math.nan)
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


def _consensus_illusion_figures() -> Iterator[PagePicture]:
    shifts = agreement_shift(paper_tables.shifts())
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
    table, result = load("consensus_illusion/table9"), quality_agreement(paper_tables.rankings())
    yield from drawing(
        "consensus-illusion-quality",
        "Table 9, drawn",
        "Agreement of the evaluators on each model against its mean score; the scores behind Figure 6 are not printed.",
        lambda: plots.quality_agreement(table, result),
    )


def _rationalization_figures() -> Iterator[PagePicture]:
    moved = anchoring(paper_tables.outcomes(), favoured=paper_tables.FAVOURED, n_resamples=1)
    yield from drawing(
        "rationalization-anchoring",
        "Figures 2 and 4, drawn again",
        "Ties under Blind, and where verdicts move under each probe, from the counts of Tables II to V. They are not "
        "the movements that Tables VI to VIII print; the findings above say where the two differ.",
        lambda: plots.anchoring(moved),
    )


_FIGURES: dict[str, Figures] = {
    "dark_current": _dark_current_figures,
    "merchant_risk": _merchant_risk_figures,
    "debiasing": _debiasing_figures,
    "consensus_illusion": _consensus_illusion_figures,
    "rationalization": _rationalization_figures,
}
