"""Agreement of judges with each other and with people, over items, systems and runs.

May import what ``metrics`` may.
"""

from judgestats.metrics.agreement.annotator_replacement import alternative_annotator_test
from judgestats.metrics.agreement.bands import agreement_bands
from judgestats.metrics.agreement.chance_corrected import ac1, alpha, kappa
from judgestats.metrics.agreement.distribution import disagreement, score_distribution
from judgestats.metrics.agreement.gtheory import decision_study, variance_components
from judgestats.metrics.agreement.human_agreement import judge_against_people
from judgestats.metrics.agreement.intraclass import icc
from judgestats.metrics.agreement.levels import agreement_levels, correlation
from judgestats.metrics.agreement.pairs import pair_tests
from judgestats.metrics.agreement.quality import ordering_accuracy, quality_agreement
from judgestats.metrics.agreement.shifts import agreement_shift, agreement_slope, cohen_d, shift_tests
from judgestats.metrics.agreement.versions import compare_versions

__all__ = [
    "ac1",
    "agreement_bands",
    "agreement_levels",
    "agreement_shift",
    "agreement_slope",
    "alpha",
    "alternative_annotator_test",
    "cohen_d",
    "compare_versions",
    "correlation",
    "decision_study",
    "disagreement",
    "icc",
    "judge_against_people",
    "kappa",
    "ordering_accuracy",
    "pair_tests",
    "quality_agreement",
    "score_distribution",
    "shift_tests",
    "variance_components",
]
