"""Which way does a judge lean, how steady is it, and how often is it right? (debiasing paper)

May import what ``metrics`` may.
"""

from judgestats.metrics.bias.changes import bias_change
from judgestats.metrics.bias.frontier import pareto_front
from judgestats.metrics.bias.gold import accuracy, gold_agreement
from judgestats.metrics.bias.leanings import bias_score
from judgestats.metrics.bias.people import preference_gap
from judgestats.metrics.bias.planning import minimum_detectable_effect
from judgestats.metrics.bias.responses import best_of_accuracy
from judgestats.metrics.bias.scoring import score_error
from judgestats.metrics.bias.selector import recommend
from judgestats.metrics.bias.slots import answer_rates, slot_lean
from judgestats.metrics.bias.stability import consistency
from judgestats.metrics.bias.strategies import compare_strategies
from judgestats.metrics.bias.verbosity import length_reading
from judgestats.metrics.bias.winning import preference_rate

__all__ = [
    "accuracy",
    "answer_rates",
    "best_of_accuracy",
    "bias_change",
    "bias_score",
    "compare_strategies",
    "consistency",
    "gold_agreement",
    "length_reading",
    "minimum_detectable_effect",
    "pareto_front",
    "preference_gap",
    "preference_rate",
    "recommend",
    "score_error",
    "slot_lean",
]
