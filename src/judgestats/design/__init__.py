"""Planning a study: stimuli and prompts, plans of calls, their export to a runner and the answers that come back; and
simulated judges with known properties, with the effects a test can detect.

It never calls a model. May import ingest, metrics, verdicts, schema, results, kernels and errors.
"""

from judgestats.design.attacks import attacked, lost_content
from judgestats.design.checklists import Checklist, checklists
from judgestats.design.collection import collect, remaining
from judgestats.design.controlled import annotation_form, controlled
from judgestats.design.cues import cues, equal_pairs
from judgestats.design.evidence import evidence_lock
from judgestats.design.explanations import explanations, read_explanations
from judgestats.design.exports import export
from judgestats.design.extraction import extracts
from judgestats.design.judges import Judge
from judgestats.design.labels import label_plan
from judgestats.design.merg import generated_rubrics, merg
from judgestats.design.pair_files import read_controlled, write_controlled
from judgestats.design.pair_kinds import controlled_pairs
from judgestats.design.plans import Plan, build
from judgestats.design.power import detectable, minimum_detectable_effect, power
from judgestats.design.prompts import Prompt, prompt, prompts
from judgestats.design.psychometric import dark_current, ladder, vacuum
from judgestats.design.ranked_responses import rankings
from judgestats.design.reply_parts import reply_parts
from judgestats.design.rubric_dimensions import Criterion
from judgestats.design.rubric_matching import matched_dimensions, rubric_similarity
from judgestats.design.rubrics import Rubric, points_score, rubric
from judgestats.design.simulated_replies import simulate_replies
from judgestats.design.simulation import answer_probabilities, simulate
from judgestats.design.stages import next_stage, requests
from judgestats.design.strategies import STRATEGIES, Strategy, strategies, strategy_verdicts
from judgestats.design.studies import study, study_verdicts
from judgestats.design.text_changes import truncated, with_markdown, without_markdown
from judgestats.design.text_generation import generations, questions

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
    "rankings",
    "read_controlled",
    "read_explanations",
    "remaining",
    "reply_parts",
    "requests",
    "rubric",
    "rubric_similarity",
    "simulate",
    "simulate_replies",
    "strategies",
    "strategy_verdicts",
    "study",
    "study_verdicts",
    "truncated",
    "vacuum",
    "with_markdown",
    "without_markdown",
    "write_controlled",
]
