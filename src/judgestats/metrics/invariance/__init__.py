"""Invariance of verdicts and explanations to irrelevant cues (rationalization paper).

May import what ``metrics`` may.
"""

from judgestats.metrics.invariance.outcomes import anchoring
from judgestats.metrics.invariance.rationales import rationale_alignment, rationale_check, rationale_shift
from judgestats.metrics.invariance.revisions import protocol_difference, revision

__all__ = [
    "anchoring",
    "protocol_difference",
    "rationale_alignment",
    "rationale_check",
    "rationale_shift",
    "revision",
]
