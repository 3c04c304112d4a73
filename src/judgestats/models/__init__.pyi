"""Public names, each with its module; ``__init__.py`` reads them here."""

from judgestats.models.bias_models import VerdictModel as VerdictModel
from judgestats.models.bias_models import item_difficulty as item_difficulty
from judgestats.models.bias_models import position_bias_model as position_bias_model
from judgestats.models.bias_models import self_preference as self_preference
from judgestats.models.bias_models import strategy_effects as strategy_effects
from judgestats.models.bias_models import tie_model as tie_model
from judgestats.models.estimation import fit as fit
from judgestats.models.fits import Fit as Fit
from judgestats.models.postestimation.likelihood_ratios import anova as anova
