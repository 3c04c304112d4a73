"""Which way does a judge lean, how steady is it, and how often is it right? (debiasing paper)

May import what ``metrics`` may.
"""

from judgestats.metrics.bias.gold import gold_agreement
from judgestats.metrics.bias.slots import answer_rates, slot_lean
from judgestats.metrics.bias.stability import consistency

__all__ = ["answer_rates", "consistency", "gold_agreement", "slot_lean"]
