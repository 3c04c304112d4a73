"""Public names, each with its module; ``__init__.py`` reads them here."""

from judgestats.models.hierarchical.best_strategies import strategies as strategies
from judgestats.models.hierarchical.cue_effects import susceptibility as susceptibility
from judgestats.models.hierarchical.curves import psychometric as psychometric
from judgestats.models.hierarchical.posteriors import Posterior as Posterior
from judgestats.models.hierarchical.score_components import agreement as agreement
from judgestats.models.hierarchical.severities import severity as severity
from judgestats.models.hierarchical.signed_bias import bias as bias
