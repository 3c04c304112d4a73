"""judgestats: statistics for the verdicts of LLM judges.

A judge is a measuring instrument; this package measures the instrument. It never calls a model: it reads cached
verdicts (:func:`read`), checks and counts them (:func:`check`, :func:`tally`) and measures the judge
(:func:`datasheet` and the measures behind it).

Names are loaded when they are first used, so that ``import judgestats`` is light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

#: Module -> the public names that it has.
_ROOMS = {
    "judgestats.ingest": ["read", "formats", "detect_format", "suggest_mapping"],
    "judgestats.schema": ["preferences", "ratings", "check", "tally", "PATTERNS"],
    "judgestats.verdicts": ["aggregate", "composite"],
    "judgestats.metrics.consensus": [
        "score_matrix",
        "consensus_deviation",
        "blinding_effect",
        "rank_correlation",
        "ranks",
        "kendall_w",
        "calibrate",
    ],
    "judgestats.metrics.bias": [
        "accuracy",
        "answer_rates",
        "best_of_accuracy",
        "bias_change",
        "bias_score",
        "compare_strategies",
        "consistency",
        "gold_agreement",
        "verbosity_bias",
        "pareto_front",
        "preference_gap",
        "preference_rate",
        "recommend",
        "score_error",
        "position_bias",
    ],
    "judgestats.metrics.psychometrics": [
        "dark_current",
        "delta0",
        "target_sensitivity",
        "detection_threshold",
        "d_prime",
        "criterion_shift",
        "filler_preference",
        "validity_gates",
    ],
    "judgestats.metrics.agreement": [
        "ac1",
        "agreement_levels",
        "agreement_shift",
        "agreement_slope",
        "alpha",
        "correlation",
        "decision_study",
        "disagreement",
        "icc",
        "judge_against_people",
        "kappa",
        "ordering_accuracy",
        "quality_agreement",
        "score_distribution",
        "shift_tests",
        "variance_components",
    ],
    "judgestats.metrics.invariance": [
        "anchoring",
        "protocol_difference",
        "rationale_alignment",
        "rationale_check",
        "rationale_shift",
        "revision",
    ],
    "judgestats.metrics.datasheets": ["datasheet", "compare_datasheets", "profile"],
    "judgestats.metrics.measure_registry": ["available_measures", "describe"],
    "judgestats.models": ["anova", "fit"],
    "judgestats.published": ["audit"],
    "judgestats.reporting": ["report"],
    "judgestats.errors": ["JudgestatsError"],
}
#: Public name -> module that has it.
_HOMES = {name: room for room, names in _ROOMS.items() for name in names}
#: Public name -> module that it is.
_MODULES = {
    "design": "judgestats.design",
    "errors": "judgestats.errors",
    "hierarchical": "judgestats.models.hierarchical",
    "models": "judgestats.models",
    "plot": "judgestats.reporting.plots",
    "published": "judgestats.published",
}

__all__ = ["__version__", *sorted({*_HOMES, *_MODULES})]

if TYPE_CHECKING:
    from judgestats import design as design
    from judgestats import errors as errors
    from judgestats import models as models
    from judgestats import published as published
    from judgestats.errors import JudgestatsError as JudgestatsError
    from judgestats.ingest import detect_format as detect_format
    from judgestats.ingest import formats as formats
    from judgestats.ingest import read as read
    from judgestats.ingest import suggest_mapping as suggest_mapping
    from judgestats.metrics.agreement import ac1 as ac1
    from judgestats.metrics.agreement import agreement_levels as agreement_levels
    from judgestats.metrics.agreement import agreement_shift as agreement_shift
    from judgestats.metrics.agreement import agreement_slope as agreement_slope
    from judgestats.metrics.agreement import alpha as alpha
    from judgestats.metrics.agreement import correlation as correlation
    from judgestats.metrics.agreement import decision_study as decision_study
    from judgestats.metrics.agreement import disagreement as disagreement
    from judgestats.metrics.agreement import icc as icc
    from judgestats.metrics.agreement import judge_against_people as judge_against_people
    from judgestats.metrics.agreement import kappa as kappa
    from judgestats.metrics.agreement import ordering_accuracy as ordering_accuracy
    from judgestats.metrics.agreement import quality_agreement as quality_agreement
    from judgestats.metrics.agreement import score_distribution as score_distribution
    from judgestats.metrics.agreement import shift_tests as shift_tests
    from judgestats.metrics.agreement import variance_components as variance_components
    from judgestats.metrics.bias import accuracy as accuracy
    from judgestats.metrics.bias import answer_rates as answer_rates
    from judgestats.metrics.bias import best_of_accuracy as best_of_accuracy
    from judgestats.metrics.bias import bias_change as bias_change
    from judgestats.metrics.bias import bias_score as bias_score
    from judgestats.metrics.bias import compare_strategies as compare_strategies
    from judgestats.metrics.bias import consistency as consistency
    from judgestats.metrics.bias import gold_agreement as gold_agreement
    from judgestats.metrics.bias import pareto_front as pareto_front
    from judgestats.metrics.bias import position_bias as position_bias
    from judgestats.metrics.bias import preference_gap as preference_gap
    from judgestats.metrics.bias import preference_rate as preference_rate
    from judgestats.metrics.bias import recommend as recommend
    from judgestats.metrics.bias import score_error as score_error
    from judgestats.metrics.bias import verbosity_bias as verbosity_bias
    from judgestats.metrics.consensus import blinding_effect as blinding_effect
    from judgestats.metrics.consensus import calibrate as calibrate
    from judgestats.metrics.consensus import consensus_deviation as consensus_deviation
    from judgestats.metrics.consensus import kendall_w as kendall_w
    from judgestats.metrics.consensus import rank_correlation as rank_correlation
    from judgestats.metrics.consensus import ranks as ranks
    from judgestats.metrics.consensus import score_matrix as score_matrix
    from judgestats.metrics.datasheets import compare_datasheets as compare_datasheets
    from judgestats.metrics.datasheets import datasheet as datasheet
    from judgestats.metrics.datasheets import profile as profile
    from judgestats.metrics.invariance import anchoring as anchoring
    from judgestats.metrics.invariance import protocol_difference as protocol_difference
    from judgestats.metrics.invariance import rationale_alignment as rationale_alignment
    from judgestats.metrics.invariance import rationale_check as rationale_check
    from judgestats.metrics.invariance import rationale_shift as rationale_shift
    from judgestats.metrics.invariance import revision as revision
    from judgestats.metrics.measure_registry import available_measures as available_measures
    from judgestats.metrics.measure_registry import describe as describe
    from judgestats.metrics.psychometrics import criterion_shift as criterion_shift
    from judgestats.metrics.psychometrics import d_prime as d_prime
    from judgestats.metrics.psychometrics import dark_current as dark_current
    from judgestats.metrics.psychometrics import delta0 as delta0
    from judgestats.metrics.psychometrics import detection_threshold as detection_threshold
    from judgestats.metrics.psychometrics import filler_preference as filler_preference
    from judgestats.metrics.psychometrics import target_sensitivity as target_sensitivity
    from judgestats.metrics.psychometrics import validity_gates as validity_gates
    from judgestats.models import anova as anova
    from judgestats.models import fit as fit
    from judgestats.models import hierarchical as hierarchical
    from judgestats.published import audit as audit
    from judgestats.reporting import plots as plot  # noqa: F401
    from judgestats.reporting import report as report
    from judgestats.schema import PATTERNS as PATTERNS
    from judgestats.schema import check as check
    from judgestats.schema import preferences as preferences
    from judgestats.schema import ratings as ratings
    from judgestats.schema import tally as tally
    from judgestats.verdicts import aggregate as aggregate
    from judgestats.verdicts import composite as composite


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used."""
    if name in _MODULES:
        return import_module(_MODULES[name])
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'judgestats' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
