"""Bias models, ready made: strategies, slots, self-preference, difficulty and ties, each a mixed model of verdicts."""

from judgestats.models.verdicts.difficulty import item_difficulty
from judgestats.models.verdicts.favourites import self_preference
from judgestats.models.verdicts.positions import position_bias
from judgestats.models.verdicts.reports import VerdictModel
from judgestats.models.verdicts.strategies import strategy_effects
from judgestats.models.verdicts.ties import tie_model

__all__ = [
    "VerdictModel",
    "item_difficulty",
    "position_bias",
    "self_preference",
    "strategy_effects",
    "tie_model",
]
