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

#: Public name -> module that has it.
_HOMES = {
    **dict.fromkeys(["read", "formats", "sniff", "propose"], "judgestats.ingest"),
    **dict.fromkeys(["preferences", "ratings", "check", "tally", "PATTERNS"], "judgestats.schema"),
    "aggregate": "judgestats.verdicts",
    **dict.fromkeys(
        ["score_matrix", "consensus_deviation", "attenuation", "rank_correlation", "ranks", "kendall_w"],
        "judgestats.metrics.consensus",
    ),
    **dict.fromkeys(["answer_rates", "consistency", "gold_agreement", "slot_lean"], "judgestats.metrics.bias"),
    **dict.fromkeys(
        [
            "dark_current",
            "delta0",
            "target_sensitivity",
            "detection_threshold",
            "d_prime",
            "criterion_shift",
            "filler_preference",
            "validity_gates",
        ],
        "judgestats.metrics.psychometrics",
    ),
    **dict.fromkeys(["datasheet", "compare_datasheets", "profile"], "judgestats.metrics.datasheets"),
    **dict.fromkeys(["supported", "design"], "judgestats.metrics.support"),
    "report": "judgestats.reporting",
    **dict.fromkeys(
        ["JudgestatsError", "SchemaError", "DesignError", "FormulaError", "FitError", "AuditError"], "judgestats.errors"
    ),
}
#: Public name -> module that it is.
_MODULES = {"published": "judgestats.published", "plot": "judgestats.reporting.plots"}

__all__ = ["__version__", *sorted({*_HOMES, *_MODULES})]

if TYPE_CHECKING:
    from judgestats import published as published
    from judgestats.errors import (
        AuditError as AuditError,
    )
    from judgestats.errors import (
        DesignError as DesignError,
    )
    from judgestats.errors import (
        FitError as FitError,
    )
    from judgestats.errors import (
        FormulaError as FormulaError,
    )
    from judgestats.errors import (
        JudgestatsError as JudgestatsError,
    )
    from judgestats.errors import (
        SchemaError as SchemaError,
    )
    from judgestats.ingest import formats as formats
    from judgestats.ingest import propose as propose
    from judgestats.ingest import read as read
    from judgestats.ingest import sniff as sniff
    from judgestats.metrics.bias import answer_rates as answer_rates
    from judgestats.metrics.bias import (
        consistency as consistency,
    )
    from judgestats.metrics.bias import (
        gold_agreement as gold_agreement,
    )
    from judgestats.metrics.bias import (
        slot_lean as slot_lean,
    )
    from judgestats.metrics.consensus import (
        attenuation as attenuation,
    )
    from judgestats.metrics.consensus import (
        consensus_deviation as consensus_deviation,
    )
    from judgestats.metrics.consensus import (
        kendall_w as kendall_w,
    )
    from judgestats.metrics.consensus import (
        rank_correlation as rank_correlation,
    )
    from judgestats.metrics.consensus import (
        ranks as ranks,
    )
    from judgestats.metrics.consensus import (
        score_matrix as score_matrix,
    )
    from judgestats.metrics.datasheets import compare_datasheets as compare_datasheets
    from judgestats.metrics.datasheets import datasheet as datasheet
    from judgestats.metrics.datasheets import profile as profile
    from judgestats.metrics.psychometrics import (
        criterion_shift as criterion_shift,
    )
    from judgestats.metrics.psychometrics import (
        d_prime as d_prime,
    )
    from judgestats.metrics.psychometrics import (
        dark_current as dark_current,
    )
    from judgestats.metrics.psychometrics import (
        delta0 as delta0,
    )
    from judgestats.metrics.psychometrics import (
        detection_threshold as detection_threshold,
    )
    from judgestats.metrics.psychometrics import (
        filler_preference as filler_preference,
    )
    from judgestats.metrics.psychometrics import (
        target_sensitivity as target_sensitivity,
    )
    from judgestats.metrics.psychometrics import (
        validity_gates as validity_gates,
    )
    from judgestats.metrics.support import design as design
    from judgestats.metrics.support import supported as supported
    from judgestats.reporting import plots as plot  # noqa: F401
    from judgestats.reporting import report as report
    from judgestats.schema import (
        PATTERNS as PATTERNS,
    )
    from judgestats.schema import (
        check as check,
    )
    from judgestats.schema import (
        preferences as preferences,
    )
    from judgestats.schema import (
        ratings as ratings,
    )
    from judgestats.schema import (
        tally as tally,
    )
    from judgestats.verdicts import aggregate as aggregate


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
