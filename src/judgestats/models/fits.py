"""The public result of :func:`judgestats.fit`: a fitted model with verbs. Each verb is a function of this room."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd

from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, choose
from judgestats.models.bayes.draws import Kind
from judgestats.models.engines.bayes_pymc import prior_draws
from judgestats.models.fitted import Fitted
from judgestats.models.postestimation import (
    contrasting,
    crossvalidation,
    diagnosis,
    effects,
    intervals,
    margining,
    prediction,
    simulation,
    summaries,
    tables,
    testing,
)


@dataclass(frozen=True, eq=False, repr=False)
class Fit(Fitted):
    """A fitted model.

    The attributes are those of :class:`judgestats.models.fitted.Fitted`. All engines return it; what an engine does not
    know is NaN with a flag.

    Attributes
    ----------
    call : functools.partial or None
        The call of :func:`judgestats.fit` that made it, its data by reference: :meth:`update` repeats it.
    """

    call: partial[Fit] | None = field(default=None)

    def __repr__(self) -> str:
        """One line, and one for the notes."""
        likelihood = f"loglik {self.loglik:.2f}" if np.isfinite(self.loglik) else "no likelihood"
        parts = (f"{self.family} ({self.link})", f"engine {self.engine}", self.method, likelihood, f"n {self.n:,.0f}")
        notes = f"\nnotes: {'; '.join(self.notes)}" if self.notes else ""
        return f"Fit of {self.formula}: {', '.join(parts)}{notes}"

    def update(self, formula: str | None = None, data: Any = None, **options: Any) -> Fit:
        """Fit again, with changes.

        Parameters
        ----------
        formula : str, optional
            In full; by default the same.
        data : frame, optional
            By default the same table, as it is now: a fit keeps a reference to it, no copy.
        **options
            Options of :func:`judgestats.fit` that change; the others stay as they were asked for. ``link`` belongs to
            the family: a new `family` has its default link where none is given.

        Returns
        -------
        Fit

        Raises
        ------
        DesignError
            If an option is none of :func:`judgestats.fit`, or the fit was not made by it.

        Examples
        --------
        >>> import judgestats as js
        >>> counts = pd.DataFrame({"strategy": ["B0", "S8"] * 2, "correct": [0, 0, 1, 1], "n": [40, 20, 60, 80]})
        >>> fit = js.fit("correct ~ strategy", counts, counts="n")
        >>> fit.update("correct ~ 1")
        Fit of correct ~ 1: binomial (logit), engine ml, ML, loglik -122.17, n 200
        >>> fit.update(link="probit").coef().round(3)
        Intercept       0.253
        strategy[S8]    0.588
        Name: estimate, dtype: float64
        """
        if self.call is None:
            raise DesignError("This fit was not made by judgestats.fit(), which keeps the call. Call fit() again.")
        known = self.call.keywords
        for name in options:
            choose(name, tuple(known), "update: option")
        if options.get("family", known["family"]) != known["family"]:
            known = {**known, "link": None}
        before = self.call.args
        given = (before[0] if formula is None else formula, before[1] if data is None else data)
        return self.call.func(*given, **{**known, **options})

    def coef(self) -> pd.Series[float]:
        """See :func:`judgestats.models.postestimation.tables.coef`."""
        return tables.coef(self)

    def vcov(self, *, full: bool = False) -> pd.DataFrame:
        """See :func:`judgestats.models.postestimation.tables.vcov`."""
        return tables.vcov(self, full=full)

    def drop1(self) -> pd.DataFrame:
        """See :func:`judgestats.models.postestimation.testing.drop1`."""
        return testing.drop1(self)

    def draws(self) -> pd.DataFrame:
        """See :func:`judgestats.models.postestimation.tables.draws`."""
        return tables.draws(self)

    def tidy(
        self,
        *,
        conf_level: float = CONF_LEVEL,
        exponentiate: bool = False,
        scale: Literal["link", "response"] = "link",
        effects: Literal["all", "fixed", "random"] = "all",
    ) -> pd.DataFrame:
        """See :func:`judgestats.models.postestimation.tables.tidy`."""
        return tables.tidy(self, conf_level=conf_level, exponentiate=exponentiate, scale=scale, effects=effects)

    def glance(self) -> pd.DataFrame:
        """See :func:`judgestats.models.postestimation.tables.glance`."""
        return tables.glance(self)

    def loo(self, unit: str = "call") -> pd.DataFrame:
        """See :func:`judgestats.models.postestimation.crossvalidation.loo`."""
        return crossvalidation.loo(self, unit)

    def summary(self) -> str:
        """See :func:`judgestats.models.postestimation.summaries.summary`."""
        return summaries.summary(self)

    def check(self) -> pd.DataFrame:
        """See :func:`judgestats.models.postestimation.diagnosis.check`."""
        return diagnosis.check(self)

    def predict(
        self,
        data: Any = None,
        *,
        kind: Literal["response", "link"] = "response",
        random: Literal["conditional", "none", "average"] = "conditional",
        interval: bool = True,
        conf_level: float = CONF_LEVEL,
    ) -> pd.DataFrame:
        """See :func:`judgestats.models.postestimation.prediction.predict`."""
        return prediction.predict(self, data, kind=kind, random=random, interval=interval, conf_level=conf_level)

    def augment(self, data: Any = None) -> pd.DataFrame:
        """See :func:`judgestats.models.postestimation.prediction.augment`."""
        return prediction.augment(self, data)

    def margins(self, variables: Any = None, *, by: Any = (), conf_level: float = CONF_LEVEL) -> pd.DataFrame:
        """See :func:`judgestats.models.postestimation.margining.margins`."""
        return margining.margins(self, variables, by=by, conf_level=conf_level)

    def means(
        self,
        specs: Any,
        *,
        by: Any = None,
        scale: Literal["link", "response"] = "link",
        weights: Literal["equal", "proportional"] = "equal",
        at: Mapping[str, Any] | None = None,
        random: Literal["none", "average"] = "none",
        conf_level: float = CONF_LEVEL,
    ) -> pd.DataFrame:
        """See :func:`judgestats.models.postestimation.contrasting.means`."""
        return contrasting.means(
            self, specs, by=by, scale=scale, weights=weights, at=at, random=random, conf_level=conf_level
        )

    def contrasts(
        self,
        specs: Any,
        *,
        method: Literal["pairwise", "baseline"] | Mapping[str, Any] = "pairwise",
        baseline: Any = None,
        adjust: Literal["holm", "tukey", "dunnett", "bonferroni", "none"] = "holm",
        scale: Literal["link", "odds ratio", "rate ratio", "response"] = "link",
        by: Any = None,
        weights: Literal["equal", "proportional"] = "equal",
        at: Mapping[str, Any] | None = None,
        random: Literal["none", "average"] = "none",
        conf_level: float = CONF_LEVEL,
    ) -> pd.DataFrame:
        """See :func:`judgestats.models.postestimation.contrasting.contrasts`."""
        return contrasting.contrasts(
            self, specs, method=method, baseline=baseline, adjust=adjust, scale=scale, by=by, weights=weights, at=at,
            random=random, conf_level=conf_level,
        )  # fmt: skip

    def tests(self, kind: Any = "II") -> pd.DataFrame:
        """See :func:`judgestats.models.postestimation.testing.tests`."""
        return testing.tests(self, kind)

    def confint(
        self,
        *,
        method: Literal["wald", "profile", "bootstrap"] = "wald",
        terms: Any = None,
        conf_level: float = CONF_LEVEL,
        n_resamples: int = N_RESAMPLES,
        seed: Any = SEED,
    ) -> pd.DataFrame:
        """See :func:`judgestats.models.postestimation.intervals.confint`."""
        return intervals.confint(
            self, method=method, terms=terms, conf_level=conf_level, n_resamples=n_resamples, seed=seed
        )

    def random_effects(self, *, conf_level: float = CONF_LEVEL) -> pd.DataFrame:
        """See :func:`judgestats.models.postestimation.effects.random_effects`."""
        return effects.random_effects(self, conf_level=conf_level)

    def variance_components(self, *, conf_level: float = CONF_LEVEL) -> pd.DataFrame:
        """See :func:`judgestats.models.postestimation.effects.variance_components`."""
        return effects.variance_components(self, conf_level=conf_level)

    def simulate(self, n: int = 1, *, seed: Any = SEED, random: Literal["new", "conditional"] = "new") -> pd.DataFrame:
        """See :func:`judgestats.models.postestimation.simulation.simulate`."""
        return simulation.simulate(self, n, seed=seed, random=random)

    def predictive(
        self, kind: Kind = "posterior", *, by: Any = None, n_draws: int = 1000, seed: Any = SEED
    ) -> pd.DataFrame:
        """See :func:`judgestats.models.postestimation.simulation.predictive`."""
        return simulation.predictive(self, partial(prior_draws, self), kind=kind, by=by, n_draws=n_draws, seed=seed)
