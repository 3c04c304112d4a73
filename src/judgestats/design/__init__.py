"""Planning a study: stimuli and prompts, plans of calls, their export to a runner and the answers that come back; and
simulated judges with known properties, with the effects a test can detect.

It never calls a model. May import ingest, metrics, verdicts, schema, results, kernels and errors.
"""

from judgestats.design.attacks import attacked, lost_content
from judgestats.design.checklists import Checklist, checklists
from judgestats.design.collecting import collect, remaining
from judgestats.design.controlled import (
    annotation_form,
    controlled,
    controlled_pairs,
    generations,
    questions,
    read_controlled,
    truncated,
    with_markdown,
    without_markdown,
    write_controlled,
)
from judgestats.design.cues import cues, equal_pairs
from judgestats.design.detectable_effects import minimum_detectable_effect
from judgestats.design.evidence import evidence_lock
from judgestats.design.explanations import explanations, read_explanations
from judgestats.design.exports import export
from judgestats.design.extraction import extracts
from judgestats.design.judges import Judge
from judgestats.design.labels import label_plan
from judgestats.design.merg import generated_rubrics, matched_dimensions, merg, rubric_similarity
from judgestats.design.plans import Plan, build
from judgestats.design.power import detectable, power
from judgestats.design.prompts import Prompt, prompt, prompts
from judgestats.design.psychometric import dark_current, ladder, vacuum
from judgestats.design.rubrics import Criterion, Rubric, points_score, rubric
from judgestats.design.simulated_replies import simulate_replies
from judgestats.design.simulation import answer_probabilities, simulate
from judgestats.design.stages import next_stage
from judgestats.design.strategies import STRATEGIES, Strategy, strategies, strategy_verdicts

__all__ = [
    "STRATEGIES",
    "Checklist",
    "Criterion",
    "Judge",
    "Plan",
    "Prompt",
    "Rubric",
    "Strategy",
    "annotation_form",
    "answer_probabilities",
    "attacked",
    "build",
    "checklists",
    "collect",
    "controlled",
    "controlled_pairs",
    "cues",
    "dark_current",
    "detectable",
    "equal_pairs",
    "evidence_lock",
    "explanations",
    "export",
    "extracts",
    "generated_rubrics",
    "generations",
    "label_plan",
    "ladder",
    "lost_content",
    "matched_dimensions",
    "merg",
    "minimum_detectable_effect",
    "next_stage",
    "points_score",
    "power",
    "prompt",
    "prompts",
    "questions",
    "read_controlled",
    "read_explanations",
    "remaining",
    "rubric",
    "rubric_similarity",
    "simulate",
    "simulate_replies",
    "strategies",
    "strategy_verdicts",
    "truncated",
    "vacuum",
    "with_markdown",
    "without_markdown",
    "write_controlled",
]
