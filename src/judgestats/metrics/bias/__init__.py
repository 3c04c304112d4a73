"""Position and other biases, consistency, and strategies to reduce bias (debiasing paper).

May import what ``metrics`` may.
"""

from judgestats.metrics.bias.bias_changes import bias_change
from judgestats.metrics.bias.bias_scores import bias_score
from judgestats.metrics.bias.candidate_win_rates import preference_rate
from judgestats.metrics.bias.evaluation_costs import evaluation_cost, pareto_front
from judgestats.metrics.bias.human_preferences import preference_gap
from judgestats.metrics.bias.option_positions import option_position_bias
from judgestats.metrics.bias.order_consistency import consistency
from judgestats.metrics.bias.position_shares import answer_rates, position_bias
from judgestats.metrics.bias.recommendations import recommend
from judgestats.metrics.bias.strategy_comparisons import compare_strategies
from judgestats.metrics.bias.verbosity import verbosity_bias

__all__ = [
    "answer_rates",
    "bias_change",
    "bias_score",
    "compare_strategies",
    "consistency",
    "evaluation_cost",
    "option_position_bias",
    "pareto_front",
    "position_bias",
    "preference_gap",
    "preference_rate",
    "recommend",
    "verbosity_bias",
]
