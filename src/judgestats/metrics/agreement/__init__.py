"""Agreement of judges with each other and with people, over items, systems and runs.

May import what ``metrics`` may.
"""

from judgestats.metrics.agreement.annotator_replacement import alternative_annotator_test
from judgestats.metrics.agreement.bands import agreement_bands
from judgestats.metrics.agreement.chance_corrected import ac1, kappa
from judgestats.metrics.agreement.disagreements import disagreement
from judgestats.metrics.agreement.distribution import score_distribution
from judgestats.metrics.agreement.gtheory import variance_components
from judgestats.metrics.agreement.gtheory_decisions import decision_study
from judgestats.metrics.agreement.human_agreement import judge_against_people
from judgestats.metrics.agreement.intraclass import icc
from judgestats.metrics.agreement.judge_correlations import correlation
from judgestats.metrics.agreement.krippendorff import alpha
from judgestats.metrics.agreement.levels_of_agreement import agreement_levels
from judgestats.metrics.agreement.pairs import pair_tests
from judgestats.metrics.agreement.quality import ordering_accuracy, quality_agreement
from judgestats.metrics.agreement.shift_costs import gains_and_costs
from judgestats.metrics.agreement.shifts import agreement_shift
from judgestats.metrics.agreement.slopes import agreement_slope
from judgestats.metrics.agreement.tests_of_shifts import cohen_d, shift_tests
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
    "gains_and_costs",
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
