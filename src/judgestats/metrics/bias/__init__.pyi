"""Public names; written by benchmarks/measures_page.py."""

from judgestats.metrics.bias.bias_changes import bias_change as bias_change
from judgestats.metrics.bias.bias_scores import bias_score as bias_score
from judgestats.metrics.bias.candidate_win_rates import preference_rate as preference_rate
from judgestats.metrics.bias.evaluation_costs import evaluation_cost as evaluation_cost
from judgestats.metrics.bias.evaluation_costs import pareto_front as pareto_front
from judgestats.metrics.bias.human_preferences import preference_gap as preference_gap
from judgestats.metrics.bias.option_positions import option_position_bias as option_position_bias
from judgestats.metrics.bias.order_consistency import consistency as consistency
from judgestats.metrics.bias.position_shares import answer_rates as answer_rates
from judgestats.metrics.bias.position_shares import position_bias as position_bias
from judgestats.metrics.bias.recommendations import recommend as recommend
from judgestats.metrics.bias.strategy_comparisons import compare_strategies as compare_strategies
from judgestats.metrics.bias.verbosity import verbosity_bias as verbosity_bias
