"""Public names; written by benchmarks/measures_page.py."""

from judgestats.metrics.consensus.anonymity import blinding_effect as blinding_effect
from judgestats.metrics.consensus.calibration import calibrate as calibrate
from judgestats.metrics.consensus.concordance import kendall_w as kendall_w
from judgestats.metrics.consensus.concordance import ranks as ranks
from judgestats.metrics.consensus.correlations import rank_correlation as rank_correlation
from judgestats.metrics.consensus.deviations import consensus_deviation as consensus_deviation
from judgestats.metrics.consensus.scores import score_matrix as score_matrix
from judgestats.metrics.consensus.stability import run_sd as run_sd
from judgestats.metrics.consensus.tables_of_judges import correlate_over_judges as correlate_over_judges
from judgestats.metrics.consensus.tables_of_judges import side_by_side as side_by_side
from judgestats.metrics.consensus.validity import level_progression as level_progression
