"""Planning a study: stimuli and prompts, plans of calls, their export to a runner and the answers that come back; and
simulated judges with known properties, with the effects a test can detect.

It never calls a model. May import ingest, metrics, schema, results, kernels and errors.
"""

from judgestats.design.checklists import Checklist, checklists
from judgestats.design.collecting import collect, remaining
from judgestats.design.exports import export
from judgestats.design.judges import Judge
from judgestats.design.plans import Plan, build
from judgestats.design.power import detectable, power
from judgestats.design.prompts import Prompt, prompt, prompts
from judgestats.design.psychometric import dark_current, ladder, vacuum
from judgestats.design.rubrics import Criterion, Rubric, points_score, rubric
from judgestats.design.simulated_replies import simulate_replies
from judgestats.design.simulation import answer_probabilities, simulate
from judgestats.metrics.bias import minimum_detectable_effect

__all__ = [
    "Checklist",
    "Criterion",
    "Judge",
    "Plan",
    "Prompt",
    "Rubric",
    "answer_probabilities",
    "build",
    "checklists",
    "collect",
    "dark_current",
    "detectable",
    "export",
    "ladder",
    "minimum_detectable_effect",
    "points_score",
    "power",
    "prompt",
    "prompts",
    "remaining",
    "rubric",
    "simulate",
    "simulate_replies",
    "vacuum",
]
