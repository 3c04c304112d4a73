"""Do verdicts and their reasons stay the same when only a cue changes? (rationalization paper)

May import what ``metrics`` may. ``sides`` says which candidate a cue favours, ``roles`` turns any input into counts of
favoured, opposed and tie, ``movements`` holds the arithmetic of shifts and their tests, ``embeddings`` makes texts into
vectors and matches them; ``outcomes``, ``revisions``, ``protocols``, ``rationales`` and ``texts`` are public.
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
