"""Pictures of tidy estimates: each function takes a result and returns a :class:`Picture`.

They draw on a new figure, outside pyplot's state, or on the axes given as ``ax=``. A picture shows itself in a
notebook; ``picture.figure`` is the figure, ``picture.data`` the rows drawn, ``picture.save("a.svg")`` writes it. No
statistics here, except bins, ranks, quantiles of draws and an isotonic line. May import what ``reporting`` may.
"""

from judgestats.reporting.plots.bars import answers, decomposition, psychometric_curves
from judgestats.reporting.plots.canvas import Picture as Picture
from judgestats.reporting.plots.components import decision_study, variance_components
from judgestats.reporting.plots.confidence import reliability, risk_coverage
from judgestats.reporting.plots.forests import agreement_shift, calibration, forest
from judgestats.reporting.plots.gains import operating_point, pareto, strategies
from judgestats.reporting.plots.levels import (
    agreement_levels,
    disagreement,
    icc,
    judges_and_people,
    kappa_matrix,
    quality_agreement,
    score_distribution,
    score_quantiles,
)
from judgestats.reporting.plots.lines import lines
from judgestats.reporting.plots.matrices import deviation_matrix, score_matrix
from judgestats.reporting.plots.predictions import fit_diagnostics, posterior_intervals, predictive
from judgestats.reporting.plots.preferences import people_agreement, preference_gaps, verbosity_bias
from judgestats.reporting.plots.probes import anchoring, rationale_shift, revision, schemes
from judgestats.reporting.plots.rankings import rank_sets
from judgestats.reporting.plots.scatter import bias_map, bias_scores, metrology_map, stable_positional

__all__ = [
    "agreement_levels",
    "agreement_shift",
    "anchoring",
    "answers",
    "bias_map",
    "bias_scores",
    "calibration",
    "decision_study",
    "decomposition",
    "deviation_matrix",
    "disagreement",
    "fit_diagnostics",
    "forest",
    "icc",
    "judges_and_people",
    "kappa_matrix",
    "lines",
    "metrology_map",
    "operating_point",
    "pareto",
    "people_agreement",
    "posterior_intervals",
    "predictive",
    "preference_gaps",
    "psychometric_curves",
    "quality_agreement",
    "rank_sets",
    "rationale_shift",
    "reliability",
    "revision",
    "risk_coverage",
    "schemes",
    "score_distribution",
    "score_matrix",
    "score_quantiles",
    "stable_positional",
    "strategies",
    "variance_components",
    "verbosity_bias",
]
