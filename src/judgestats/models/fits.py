"""The public result of :func:`judgestats.fit`: a fitted model with verbs. Each verb is a function of this room."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import pandas as pd

from judgestats.models.fitted import Fitted
from judgestats.models.verbs import (
    contrasting,
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


class Fit(Fitted):
    """A fitted model.

    The attributes are those of :class:`judgestats.models.fitted.Fitted`. All engines return it; what an engine does not
    know is NaN with a flag.
    """

    def tidy(
        self,
        *,
        conf_level: float = 0.95,
        exponentiate: bool = False,
        scale: Literal["link", "response"] = "link",
        effects: Literal["all", "fixed", "random"] = "all",
    ) -> pd.DataFrame:
        """See :func:`judgestats.models.verbs.tables.tidy`."""
        return tables.tidy(self, conf_level=conf_level, exponentiate=exponentiate, scale=scale, effects=effects)

    def glance(self) -> pd.DataFrame:
        """See :func:`judgestats.models.verbs.tables.glance`."""
        return tables.glance(self)

    def summary(self) -> str:
        """See :func:`judgestats.models.verbs.summaries.summary`."""
        return summaries.summary(self)

    def check(self) -> pd.DataFrame:
        """See :func:`judgestats.models.verbs.diagnosis.check`."""
        return diagnosis.check(self)

    def predict(
        self,
        data: Any = None,
        *,
        kind: Literal["response", "link"] = "response",
        random: Literal["conditional", "none", "average"] = "conditional",
        interval: bool = True,
        conf_level: float = 0.95,
    ) -> pd.DataFrame:
        """See :func:`judgestats.models.verbs.prediction.predict`."""
        return prediction.predict(self, data, kind=kind, random=random, interval=interval, conf_level=conf_level)

    def augment(self, data: Any = None) -> pd.DataFrame:
        """See :func:`judgestats.models.verbs.prediction.augment`."""
        return prediction.augment(self, data)

    def margins(self, variables: Any = None, *, by: Any = (), conf_level: float = 0.95) -> pd.DataFrame:
        """See :func:`judgestats.models.verbs.margining.margins`."""
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
        conf_level: float = 0.95,
    ) -> pd.DataFrame:
        """See :func:`judgestats.models.verbs.contrasting.means`."""
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
        conf_level: float = 0.95,
    ) -> pd.DataFrame:
        """See :func:`judgestats.models.verbs.contrasting.contrasts`."""
        return contrasting.contrasts(
            self, specs, method=method, baseline=baseline, adjust=adjust, scale=scale, by=by, weights=weights, at=at,
            random=random, conf_level=conf_level,
        )  # fmt: skip

    def tests(self, kind: Any = "II") -> pd.DataFrame:
        """See :func:`judgestats.models.verbs.testing.tests`."""
        return testing.tests(self, kind)

    def confint(
        self,
        *,
        method: Literal["wald", "profile", "bootstrap"] = "wald",
        terms: Any = None,
        conf_level: float = 0.95,
        n_resamples: int = 2000,
        seed: Any = 0,
    ) -> pd.DataFrame:
        """See :func:`judgestats.models.verbs.intervals.confint`."""
        return intervals.confint(
            self, method=method, terms=terms, conf_level=conf_level, n_resamples=n_resamples, seed=seed
        )

    def random_effects(self, *, conf_level: float = 0.95) -> pd.DataFrame:
        """See :func:`judgestats.models.verbs.effects.random_effects`."""
        return effects.random_effects(self, conf_level=conf_level)

    def variance_components(self, *, conf_level: float = 0.95) -> pd.DataFrame:
        """See :func:`judgestats.models.verbs.effects.variance_components`."""
        return effects.variance_components(self, conf_level=conf_level)

    def simulate(self, n: int = 1, *, seed: Any = 0, random: Literal["new", "conditional"] = "new") -> pd.DataFrame:
        """See :func:`judgestats.models.verbs.simulation.simulate`."""
        return simulation.simulate(self, n, seed=seed, random=random)
