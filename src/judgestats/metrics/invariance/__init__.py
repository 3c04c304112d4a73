"""Invariance of verdicts and explanations to irrelevant cues (rationalization paper).

May import what ``metrics`` may.
"""

from judgestats.metrics.invariance.cue_anchoring import anchoring
from judgestats.metrics.invariance.rationale_faults import rationale_check
from judgestats.metrics.invariance.rationale_shifts import rationale_alignment, rationale_shift
from judgestats.metrics.invariance.relative_anchoring import protocol_difference
from judgestats.metrics.invariance.revisions import revision

__all__ = ["anchoring", "protocol_difference", "rationale_alignment", "rationale_check", "rationale_shift", "revision"]
