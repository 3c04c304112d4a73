"""Bias models: strategies, positions, self-preference, difficulty and ties, each a mixed model of verdicts."""

from judgestats.models.bias_models.difficulty import item_difficulty
from judgestats.models.bias_models.own_systems import self_preference
from judgestats.models.bias_models.positions import position_bias_model
from judgestats.models.bias_models.reports import VerdictModel
from judgestats.models.bias_models.strategy_accuracy import strategy_effects
from judgestats.models.bias_models.ties import tie_model

__all__ = ["VerdictModel", "item_difficulty", "position_bias_model", "self_preference", "strategy_effects", "tie_model"]
