"""Models: a formula and a table -> a fit; one grammar, several engines.

:func:`fit` is the door, :class:`Fit` what comes out, :func:`anova` compares fits.

May import verdicts, schema, results, kernels and errors; never metrics, ingest, design, published or reporting.
"""

from judgestats.models.fits import Fit
from judgestats.models.fitting import fit
from judgestats.models.testing import anova

__all__ = ["Fit", "anova", "fit"]
