"""Public names; written by benchmarks/measures_page.py."""

from judgestats.metrics.invariance.cue_anchoring import anchoring as anchoring
from judgestats.metrics.invariance.rationale_faults import rationale_check as rationale_check
from judgestats.metrics.invariance.rationale_shifts import rationale_alignment as rationale_alignment
from judgestats.metrics.invariance.rationale_shifts import rationale_shift as rationale_shift
from judgestats.metrics.invariance.relative_anchoring import protocol_difference as protocol_difference
from judgestats.metrics.invariance.revisions import revision as revision
