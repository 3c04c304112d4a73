"""Public names; written by benchmarks/measures_page.py."""

from judgestats.metrics.agreement.annotator_replacement import alternative_annotator_test as alternative_annotator_test
from judgestats.metrics.agreement.bands import agreement_bands as agreement_bands
from judgestats.metrics.agreement.chance_corrected import ac1 as ac1
from judgestats.metrics.agreement.chance_corrected import kappa as kappa
from judgestats.metrics.agreement.chance_corrected import scott_pi as scott_pi
from judgestats.metrics.agreement.disagreements import disagreement as disagreement
from judgestats.metrics.agreement.distribution import score_distribution as score_distribution
from judgestats.metrics.agreement.error_correlation import effective_judges as effective_judges
from judgestats.metrics.agreement.gtheory import variance_components as variance_components
from judgestats.metrics.agreement.gtheory_decisions import decision_study as decision_study
from judgestats.metrics.agreement.human_agreement import judge_against_people as judge_against_people
from judgestats.metrics.agreement.intraclass import icc as icc
from judgestats.metrics.agreement.judge_correlations import correlation as correlation
from judgestats.metrics.agreement.krippendorff import alpha as alpha
from judgestats.metrics.agreement.levels_of_agreement import agreement_levels as agreement_levels
from judgestats.metrics.agreement.marked_spans import unitised_alpha as unitised_alpha
from judgestats.metrics.agreement.pairs import pair_tests as pair_tests
from judgestats.metrics.agreement.quality import ordering_accuracy as ordering_accuracy
from judgestats.metrics.agreement.quality import quality_agreement as quality_agreement
from judgestats.metrics.agreement.shift_costs import gains_and_costs as gains_and_costs
from judgestats.metrics.agreement.shifts import agreement_shift as agreement_shift
from judgestats.metrics.agreement.slopes import agreement_slope as agreement_slope
from judgestats.metrics.agreement.tests_of_shifts import shift_tests as shift_tests
from judgestats.metrics.agreement.versions import compare_versions as compare_versions
