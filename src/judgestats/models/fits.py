"""The result of :func:`judgestats.fit`: a fitted model whose methods are functions in `postestimation`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, choose
from judgestats.models.bayes.replicates import Kind
from judgestats.models.engines.bayes_pymc import prior_draws
from judgestats.models.fitted_models import Fitted
from judgestats.models.formula import updated
from judgestats.models.postestimation import (
    coefficient_tables,
    crossvalidation,
    diagnosis,
    effects,
    influence,
    intervals,
    marginal_effects,
    marginal_means,
    mean_contrasts,
    prediction,
    predictive_intervals,
    rater_agreement,
    scaled_residuals,
    simulated_responses,
    summaries,
    term_deletions,
    wald_tests,
)
from judgestats.models.postestimation.mean_contrasts import Comparison
from judgestats.models.postestimation.reference_grids import GridCells
from judgestats.models.postestimation.simulated_responses import Random
from judgestats.printed_results import SetText, ShownAsSummary
from judgestats.schema.columns import By
from judgestats.typing import Seed


@dataclass(frozen=True, eq=False, repr=False)
class Fit(Fitted, ShownAsSummary):
    """A fitted model.

    The attributes are those of :class:`judgestats.models.fitted_models.Fitted`. All engines return it; what an engine
    does not know is NaN with a flag.

    Attributes
    ----------
    call : functools.partial or None
        The call of :func:`judgestats.fit` that made it, its data by reference: :meth:`update` repeats it.

    See Also
    --------
    judgestats.fit : Fit a model.
    judgestats.anova : Compare fits.
    judgestats.plot.fit_diagnostics : Residuals, random effects and calibration.

    Examples
    --------
    >>> import judgestats as js
    >>> counts = pd.DataFrame({"strategy": ["B0", "S8"] * 2, "correct": [0, 0, 1, 1], "n": [40, 20, 60, 80]})
    >>> js.fit("correct ~ strategy", counts, counts="n").tidy()[["term", "estimate", "std_error"]].round(3)
               term  estimate  std_error
    0     Intercept     0.405      0.204
    1  strategy[S8]     0.981      0.323
    """

    call: partial[Fit] | None = field(default=None)

    def __repr__(self) -> str:
        """One line, and one for the notes."""
        likelihood = f"loglik {self.loglik:.2f}" if np.isfinite(self.loglik) else "no likelihood"
        parts = (f"{self.family} ({self.link})", f"engine {self.engine}", self.method, likelihood, f"n {self.n:,.0f}")
        notes = f"\nnotes: {'; '.join(self.notes)}" if self.notes else ""
        return f"Fit of {self.formula}: {', '.join(parts)}{notes}"

    def update(self, formula: str | None = None, data: IntoFrame | None = None, **options: object) -> Fit:
        """Fit again, with changes.

        Parameters
        ----------
        formula : str, optional
            In full, or with ``.`` for what the formula has on that side of ``~``, as in R; by default the same.
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
            If an option is unknown to :func:`judgestats.fit`, or the fit was not made by it.

        Examples
        --------
        >>> import judgestats as js
        >>> counts = pd.DataFrame({"strategy": ["B0", "S8"] * 2, "correct": [0, 0, 1, 1], "n": [40, 20, 60, 80]})
        >>> fit = js.fit("correct ~ strategy", counts, counts="n")
        >>> fit.update("correct ~ 1")
        Fit of correct ~ 1: binomial (logit), engine ml, ML, loglik -122.17, n 200
        >>> fit.update(". ~ . - strategy").formula
        'correct ~ strategy - strategy'
        >>> fit.update(link="probit").coef().round(3)
        Intercept       0.253
        strategy[S8]    0.588
        Name: estimate, dtype: float64
        """
        if self.call is None:
            raise DesignError("This fit was not made by judgestats.fit(), which keeps the call. Call fit() again.")
        keywords = self.call.keywords
        for name in options:
            choose(name, tuple(keywords), "update: option")
        if options.get("family", keywords["family"]) != keywords["family"]:
            keywords = {**keywords, "link": None}
        before = self.call.args
        arguments = (before[0] if formula is None else updated(formula, before[0]), before[1] if data is None else data)
        return self.call.func(*arguments, **{**keywords, **options})

    def coef(self) -> pd.Series[float]:
        """Fixed effects, by name.

        Returns
        -------
        pandas.Series
            On the link scale, in the order of :meth:`judgestats.models.Fit.tidy`; a cumulative
            model's thresholds follow, as in R's ``coef`` of clm. A coefficient that diverges to infinity is where the
            search stopped: ``tidy()`` flags it.

        Examples
        --------
        >>> import judgestats as js
        >>> counts = pd.DataFrame({"strategy": ["B0", "S8"] * 2, "correct": [0, 0, 1, 1], "n": [40, 20, 60, 80]})
        >>> js.fit("correct ~ strategy", counts, counts="n").coef().round(4)
        Intercept       0.4055
        strategy[S8]    0.9808
        Name: estimate, dtype: float64
        """
        return coefficient_tables.coef(self)

    def vcov(self, *, full: bool = False) -> pd.DataFrame:
        """Covariance of the estimates, by name.

        Parameters
        ----------
        full : bool
            True adds the parameters of the variances: ``chol(a,b|factor)``, elements of the lower Cholesky factor of a
            random term's covariance (the standard deviation, for a term of one column), and ``sd(residual)``.

        Returns
        -------
        pandas.DataFrame
            Square; rows and columns are those of :meth:`coef`. NaN for what is not known or diverges to infinity, 0
            for a parameter on its boundary.

        Examples
        --------
        >>> import judgestats as js
        >>> counts = pd.DataFrame({"strategy": ["B0", "S8"] * 2, "correct": [0, 0, 1, 1], "n": [40, 20, 60, 80]})
        >>> js.fit("correct ~ strategy", counts, counts="n").vcov().round(4)
                      Intercept  strategy[S8]
        Intercept        0.0417       -0.0417
        strategy[S8]    -0.0417        0.1042
        """
        return coefficient_tables.vcov(self, full=full)

    def drop1(self) -> pd.DataFrame:
        """Leave out each fixed term that no other contains, and compare by likelihood ratio.

        Returns
        -------
        pandas.DataFrame
            ``term``, ``df`` (its parameters), ``loglik`` and ``aic`` of the model without it, ``statistic`` (χ²),
            ``p_value``, ``flag``. The first row, ``<none>``, is the model itself.

        Raises
        ------
        FitError
            If the engine has no likelihood, or cannot fit again.
        DesignError
            If an engine other than ``ml`` has fitted by REML.

        Notes
        -----
        Of ``a * b`` only ``a:b`` can go. The columns of a term are left out, the rest stays as it is coded; the rows
        stay the same, though a column with missing values may go. Random terms stay: see
        :meth:`judgestats.models.Fit.ranova`. A Gaussian model by REML is fitted by ML, and flagged
        so. A term that separates the response has a sound test here, where Wald's has none.

        Examples
        --------
        >>> import judgestats as js
        >>> counts = pd.DataFrame({"strategy": ["B0", "S8"] * 2, "correct": [0, 0, 1, 1], "n": [40, 20, 60, 80]})
        >>> js.fit("correct ~ strategy", counts, counts="n").drop1().round(4)
               term  df    loglik       aic  statistic  p_value flag
        0    <none>   0 -117.3414  238.6828        NaN      NaN
        1  strategy   1 -122.1729  246.3457     9.6629   0.0019
        """
        return term_deletions.drop1(self)

    def ranova(self) -> pd.DataFrame:
        """Leave out random terms, each in turn, and compare by likelihood ratio.

        Returns
        -------
        pandas.DataFrame
            The columns of :meth:`judgestats.models.Fit.drop1`. The first row, ``<none>``, is the model itself.
            ``(1|item)`` is left out; of ``(x + z|judge)`` each slope in turn: ``x in (1 + x + z|judge)``.

        Raises
        ------
        FitError
            If there is no random term, or an engine other than ``ml`` has fitted.

        See Also
        --------
        judgestats.anova : Compare fits of your own choice.

        Notes
        -----
        As in R's ``lmerTest::ranova``, for all families. Restricted likelihoods are compared where the fit is by REML,
        for fixed effects are the same. ``(0 + s|judge)`` of a factor is reduced to ``(1|judge)``; of a number it is
        left out, where lmerTest compares with ``(1|judge)``, which is not nested. A variance left out is 0, the end of
        its range: p is too large, flagged ``p conservative: variance on the boundary``.

        Examples
        --------
        >>> import judgestats as js
        >>> calls = pd.DataFrame({"k": [1, 9, 2, 8], "size": 10, "item": list("abcd")})
        >>> js.fit("cbind(k, size - k) ~ 1 + (1|item)", calls).ranova().drop(columns="flag").round(4)
               term  df   loglik      aic  statistic  p_value
        0    <none>   0  -9.4139  22.8278        NaN      NaN
        1  (1|item)   1 -15.5074  33.0148     12.187   0.0005
        """
        return term_deletions.ranova(self)

    def draws(self) -> pd.DataFrame:
        """Draws from the posterior distribution of the parameters.

        Returns
        -------
        pandas.DataFrame
            ``chain``, ``draw`` and a column for each row of :meth:`judgestats.models.Fit.tidy`.

        Raises
        ------
        FitError
            If the engine has none: only ``pymc`` samples.

        Examples
        --------
        >>> import judgestats as js
        >>> counts = pd.DataFrame({"correct": [0, 1], "n": [40, 60]})
        >>> js.fit("correct ~ 1", counts, counts="n").draws()
        Traceback (most recent call last):
            ...
        judgestats.errors.FitError: engine='ml' has no posterior draws. Use simulate(), confint(method='bootstrap'), or
        engine='pymc'.
        """
        return coefficient_tables.draws(self)

    def tidy(
        self,
        *,
        conf_level: float = CONF_LEVEL,
        exponentiate: bool = False,
        scale: Literal["link", "response"] = "link",
        effects: Literal["all", "fixed", "random"] = "all",
    ) -> pd.DataFrame:
        """Parameters of a model, a row each.

        Parameters
        ----------
        conf_level : float
            Coverage of the intervals.
        exponentiate : bool
            Fixed effects as odds ratios (logit) or rate ratios (log), with the standard error of that ratio; the
            interval is the transformed one, statistic and p-value stay. A column ``scale`` names the scale of each row.
        scale : {"link", "response"}
            ``response`` gives average marginal effects instead, in units of the response (probabilities), as
            :meth:`judgestats.models.Fit.margins` does; of fixed effects only.
        effects : {"all", "fixed", "random"}
            Thresholds go with the fixed effects.

        Returns
        -------
        pandas.DataFrame
            ``group`` (``fixed``, a grouping factor, ``residual``), ``term`` (``Intercept``, ``strategy[S8]``,
            ``loses|tie``, ``unsafe: x`` (nominal), ``sd(Intercept|item)``, ``cor(Intercept,x|item)``,
            ``sd(residual)``), ``estimate``, ``std_error``, ``statistic``, ``df``, ``p_value``, ``conf_low``,
            ``conf_high``, ``method``, ``flag``.

        Raises
        ------
        DesignError
            If ratios are asked for where the link has none.

        Notes
        -----
        Statistics are t with the degrees of freedom of the stratum in which an effect varies (``df`` of
        :func:`judgestats.models.fit`): of Gaussian mixed models Satterthwaite's (lmerTest's) or Kenward and Roger's, of
        others between-within, by clusters those of CR2, of the residual of a linear model. ``df`` is infinite where
        they are z: within all levels, without random terms and clusters, and by ``fit(..., df="normal")``. ``method``
        says which. Intervals are Wald's: of standard deviations on the logarithmic scale, of correlations on Fisher's,
        both with normal quantiles. Thresholds and variances have no p-value: that they are 0 is no hypothesis of
        interest. Where the logarithm of a standard deviation has an error above 1 that interval is uninformative, and
        is flagged so. What sits on its boundary has a NaN standard error and the flag ``singular fit``; errors of the
        rest hold given that boundary. A coefficient that diverges to infinity has the flag ``separation`` and no
        standard error: its value is where the search stopped. Cautions about the whole fit (no convergence, too few
        calls per level for Laplace's approximation, standard errors of variational Bayes) is flagged in every row.

        Of a sampled fit (``engine="pymc"``) estimates are posterior means, standard errors posterior standard
        deviations, and intervals equal-tailed quantiles of the draws; there are no statistics and no p-values. Flags
        mark chains that have not mixed, and priors that dominate (``prior-driven``, ``prior and data disagree``).

        Examples
        --------
        >>> import judgestats as js
        >>> counts = pd.DataFrame({"x": [0, 0, 1, 1], "y": [0, 1, 0, 1], "n": [30, 10, 20, 20]})
        >>> odds = js.fit("y ~ x", counts, counts="n").tidy(exponentiate=True)
        >>> odds[["term", "estimate", "conf_low", "conf_high", "scale"]].round(3)
                term  estimate  conf_low  conf_high       scale
        0  Intercept     0.333     0.163      0.682        odds
        1          x     3.000     1.164      7.732  odds ratio
        """
        return coefficient_tables.tidy(
            self, conf_level=conf_level, exponentiate=exponentiate, scale=scale, effects=effects
        )

    def glance(self) -> pd.DataFrame:
        """The whole fit in one row.

        Returns
        -------
        pandas.DataFrame
            ``loglik`` (restricted, under REML), ``aic``, ``bic``, ``n`` (rows of data, counts included; a row of
            ``cbind`` is one row), ``n_groups`` (``id: 316; item: 24``), ``converged``, ``engine``, ``method``,
            ``family``, ``link``, ``df`` (parameters), ``df_residual`` (``n`` less these; less the
            coefficients alone in a linear model without random terms), ``deviance`` (minus twice the log likelihood, as
            lme4's summary prints it), ``n_rows`` (distinct rows), ``n_missing`` (rows excluded), ``counts`` (name of
            the column of counts, or an empty string), ``flag`` (cautions; rows excluded, columns left out).
            What the engine does not have is NaN. Of a sampled fit ``elpd_loo``, ``elpd_error`` and ``elpd_unit`` come
            first: see :meth:`judgestats.models.Fit.loo`, which has other units too.

        Examples
        --------
        >>> import judgestats as js
        >>> counts = pd.DataFrame({"x": [0, 0, 1, 1], "y": [0, 1, 0, 1], "n": [30, 10, 20, 20]})
        >>> js.fit("y ~ x", counts, counts="n").glance()[["loglik", "aic", "n", "n_rows", "counts"]].round(3)
           loglik      aic     n  n_rows counts
        0 -50.219  104.439  80.0       4      n
        """
        return coefficient_tables.glance(self)

    def loo(self, unit: str = "call") -> pd.DataFrame:
        """Expected log predictive density of calls, or of levels of a factor, that were left out (PSIS-LOO).

        Parameters
        ----------
        unit : str
            ``call``: each call by itself, a trial of ``cbind`` too; equal calls are computed once and counted. Or a
            grouping factor, such as ``item``: each level with all its calls.

        Returns
        -------
        pandas.DataFrame
            One row: ``unit``, ``elpd_loo`` (summed over units), ``std_error`` (over units), ``p_loo`` (effective
            parameters), ``n`` (units), ``pareto_k`` (the worst), ``n_bad`` (units above 0.7), ``method``, ``flag``.

        Raises
        ------
        DesignError
            If the unit is neither ``call`` nor a factor of the model.
        FitError
            If the fit has no draws.

        Notes
        -----
        The two units answer different questions, and their numbers are not comparable: another call on items that were
        seen, or items that were not. Fits are compared on the same unit and the same calls. When a level is left out,
        its random effects are integrated over their distribution, by quadrature where they have one or two columns and
        the fit is not in need of more; otherwise importance sampling has to carry them, and ``pareto_k`` says whether
        it does.

        Source: Vehtari, Gelman and Gabry 2017; Vehtari et al. 2024 (Pareto smoothing); Merkle, Furr and Rabe-Hesketh
        2019 (which likelihood for which unit).
        """
        return crossvalidation.loo(self, unit)

    def to_arviz(self, unit: str = "call") -> Any:
        """Give the draws to ArviZ, for its plots, diagnostics and comparisons.

        Parameters
        ----------
        unit : str
            Of the log likelihood, as for :meth:`loo`: ``call``, or a grouping factor, whose levels are then left out
            whole with their random effects integrated.

        Returns
        -------
        arviz.InferenceData or xarray.DataTree
            What ArviZ 0.x or 1.x works with. ``posterior`` has the rows of :meth:`tidy` and the random effects,
            ``sample_stats`` statistics of the sampler, ``log_likelihood`` one variable named after the unit,
            ``observed_data`` the answers. ``az.compare`` refuses fits whose units differ in number.

        Raises
        ------
        FitError
            If the fit has no draws, or ArviZ is not installed.
        DesignError
            If the unit is unknown, or there are too many calls for one log likelihood each.

        Examples
        --------
        >>> import arviz as az  # doctest: +SKIP
        >>> fit = js.fit("correct ~ strategy + (1|item)", calls, engine="pymc")  # doctest: +SKIP
        >>> az.plot_trace(fit.to_arviz(), var_names=["strategy[S8]"])  # doctest: +SKIP
        >>> az.compare({"all": fit.to_arviz("item"), "null": null.to_arviz("item")})  # doctest: +SKIP
        """
        return crossvalidation.to_arviz(self, unit)

    def summary(self) -> str:
        """A fit as text: head, likelihood, random effects, fixed effects, thresholds, cautions.

        Returns
        -------
        str
            To be printed. Numbers are rounded for reading;
            :meth:`judgestats.models.Fit.tidy` has them in full.
            ``(n counts 5,184 in 312)`` means that column ``n`` holds the counts.

        Examples
        --------
        >>> import judgestats as js
        >>> counts = pd.DataFrame({"x": [0, 0, 1, 1], "y": [0, 1, 0, 1], "n": [30, 10, 20, 20]})
        >>> print(js.fit("y ~ x", counts, counts="n").summary())  # doctest: +ELLIPSIS
        Generalized linear model fit by maximum likelihood [engine ml]
         Family: binomial (logit)
        Formula: y ~ x
           Data: 80 rows (n counts 80 in 4)
        ...
        """
        return SetText(summaries.summary(self))

    def check(self) -> pd.DataFrame:
        """List faults of a fit and cautions about it.

        Returns
        -------
        pandas.DataFrame
            A row for each finding: ``level`` (``fault``: numbers not to be used as they are; ``caution``: to be used
            with care; ``excluded``: rows, columns or categories left out; ``counted``: for information; ``rows``: how
            many rows were used and excluded), ``column``, ``what``, ``n`` (rows, levels or calls concerned),
            ``example``, ``remedy``.

        Notes
        -----
        Faults: no convergence, a Hessian that is not positive definite, separation, and numerical integration with too
        few nodes: a refined rule moves the log likelihood by 1e-6 or more, or an estimate by 0.01 standard errors
        (where Laplace's approximation was asked for: by a quarter of one). Cautions: singular fits; what the study of
        coverage found too small (grouping factors with fewer than 30 levels, 10 by REML, with a sharper word below 5;
        under Laplace's approximation fewer than 5 calls per level, or the rarer answer less than once per level);
        grouping factors with nearly one call in each level, columns that are nearly constant or are names used as
        numbers, clusters too few for robust errors, and what is known against an engine. Of a sampled fit: R-hat above
        1.01 is a fault; fewer than 400 effective draws, divergent transitions, and parameters that are driven by their
        prior (posterior sd above 0.8 of the prior's) or lie outside its central 95 % are cautions.

        Examples
        --------
        >>> import judgestats as js
        >>> calls = pd.DataFrame({"y": [0, 1, 0, 1, 1, 1], "s": list("aaabbb"), "n": [9, 5, 2, 4, 8, 1]})
        >>> js.fit("y ~ s", calls, counts="n").check()[["level", "column", "what", "n"]]
           level column                          what     n
        0  fault      s  'b' always has 1: separation  13.0
        1   rows                            rows used  29.0
        2   rows                        rows excluded   0.0
        """
        return diagnosis.check(self)

    def predict(
        self,
        data: IntoFrame | None = None,
        *,
        kind: Literal["response", "link"] = "response",
        random: Literal["conditional", "none", "average"] = "conditional",
        interval: bool = True,
        conf_level: float = CONF_LEVEL,
    ) -> pd.DataFrame:
        """Predict from a fitted model.

        Parameters
        ----------
        data : frame, optional
            Rows with the columns of the right side, in any engine; by default the distinct rows of the data, with their
            counts in a column ``n`` (``count`` where the formula names ``n``).
        kind : {"response", "link"}
            Probability, mean or expected count, offsets included; or the linear predictor η.
        random : {"conditional", "none", "average"}
            ``conditional``: for the levels of the data, random effects at their modes; for a new level at 0, with the
            term's variance in the interval. ``none``: random effects at 0, a typical level. ``average``: the mean
            response over all levels that there might be, the random effects integrated out. On the link scale the
            average is η with random effects at 0.
        interval : bool
            False leaves standard errors and limits out (NaN), which is much faster where there are many rows.
        conf_level : float
            Coverage of the intervals.

        Returns
        -------
        pandas.DataFrame
            The columns of the data, ``category`` (cumulative and nominal models on the response scale), then
            ``estimate``, ``std_error``, ``conf_low``, ``conf_high``, ``flag``. Rows in the order of the data.

        Raises
        ------
        FormulaError
            If a column is absent, or a category was not there before.
        SchemaError
            If `data` is no table, or has a column of one of these names.

        Notes
        -----
        Limits are found on the link scale and transformed; those of ``average`` and of categories by the delta method
        on the logit scale of the probability (a mean count: on its logarithm). Quantiles are normal; a Gaussian model
        without random terms has those of t with n - p degrees of freedom, as R's ``lm``, and errors by clusters have
        theirs. Conditional errors count fixed and random effects jointly, given the variances, by the model: random
        effects have no errors by clusters. ``average`` counts the variances as well. A row with a missing value is NaN
        with a flag.

        Examples
        --------
        >>> import judgestats as js
        >>> calls = pd.DataFrame({"correct": [1, 0, 1, 1] * 10, "item": [f"q{i // 4}" for i in range(40)]})
        >>> fit = js.fit("correct ~ 1 + (1|item)", calls)
        >>> fit.predict(pd.DataFrame({"item": ["q0", "other"]}))[["item", "estimate", "flag"]].round(3)
            item  estimate       flag
        0     q0      0.75
        1  other      0.75  new level
        """
        return prediction.predict(self, data, kind, random, interval, conf_level)

    def augment(self, data: IntoFrame | None = None) -> pd.DataFrame:
        """Return the data with fitted values and residuals.

        Parameters
        ----------
        data : frame, optional
            Rows with all columns of the formula, the response included; by default the distinct rows of the data, with
            their counts in a column ``n`` (``count`` where the formula names ``n``).

        Returns
        -------
        pandas.DataFrame
            The columns of the data, then ``link`` (η, random effects at their modes), ``fixed`` (η without them),
            ``fitted`` (the response; cumulative: the probability of the category observed), ``residual``, ``pearson``
            (over the standard deviation of the response), ``leverage`` and ``std_residual`` (pearson over the root of 1
            - leverage; both NaN for cumulative models and for `data` given), ``flag``. Values are those of one call.

        Notes
        -----
        The residual is observed minus fitted, as a share of the trials for ``cbind``. For a cumulative model it is the
        probability-scale residual, P(lower category) - P(higher category), which has mean 0.

        References
        ----------
        Li & Shepherd 2012, A new residual for ordinal outcomes, Biometrika 99 (2), 473-480.

        Examples
        --------
        >>> import judgestats as js
        >>> counts = pd.DataFrame({"strategy": ["B0", "S8"] * 2, "correct": [0, 0, 1, 1], "n": [40, 20, 60, 80]})
        >>> fit = js.fit("correct ~ strategy", counts, counts="n")
        >>> fit.augment()[["strategy", "correct", "n", "fitted", "residual", "pearson"]].round(3)
          strategy  correct     n  fitted  residual  pearson
        0       B0        0  40.0     0.6      -0.6   -1.225
        1       S8        0  20.0     0.8      -0.8   -2.000
        2       B0        1  60.0     0.6       0.4    0.816
        3       S8        1  80.0     0.8       0.2    0.500
        """
        return prediction.augment(self, data)

    def margins(self, variables: By = None, *, by: By = (), conf_level: float = CONF_LEVEL) -> pd.DataFrame:
        """Average marginal effects: what a variable changes on the scale of the response.

        The random effects are integrated out, so that an effect is that in the population of items, judges and so on,
        not that at a typical one. Its standard error counts the fixed effects, the thresholds and the variances.

        Parameters
        ----------
        variables : str or sequence of str, optional
            Columns of the right side; by default all that the fixed effects use.
        by : str or sequence of str
            Columns of the formula: effects within each of their groups of rows.
        conf_level : float
            Coverage of the intervals.

        Returns
        -------
        pandas.DataFrame
            The `by` columns, ``variable``, ``term``, ``category`` (cumulative and nominal models: the effect on that of
            each), ``estimate``, ``std_error``, ``statistic``, ``df``, ``p_value``, ``conf_low``, ``conf_high``,
            ``unit`` (``percentage points``, ``count``, ``score``), ``method``, ``flag``; ``df`` as in ``tidy()``. A
            factor has a row for each level but the first, ``strategy[S8] - strategy[B0]``: all rows at the one level,
            and all at the other. A number has its mean derivative, ``x``.

        Raises
        ------
        DesignError
            If a variable is not in the model.
        SchemaError
            If `by` names a column that the formula does not.

        Notes
        -----
        The average is over the calls of the data: a row counts as often as it occurs, times its trials, so that a tally
        and its calls give the same. The rows are taken as fixed. Prior weights play no part. The derivative is a
        central difference with a step of at most 1e-4 of the range; where there is none, as for a root at 0, it is NaN
        with a flag. Engine ``lpm`` has probabilities as its scale: percentage points.

        Examples
        --------
        >>> import judgestats as js
        >>> counts = pd.DataFrame({"strategy": ["B0", "S8"] * 2, "correct": [0, 0, 1, 1], "n": [40, 20, 60, 80]})
        >>> fit = js.fit("correct ~ strategy", counts, counts="n")
        >>> fit.margins()[["term", "estimate", "std_error", "unit"]].round(3)
                                  term  estimate  std_error               unit
        0  strategy[S8] - strategy[B0]      20.0      6.325  percentage points
        """
        return marginal_effects.margins(self, variables, by=by, conf_level=conf_level)

    def means(
        self,
        specs: By,
        *,
        by: By = None,
        scale: Literal["link", "response", "mean class", "cumulative", "exceedance"] = "link",
        weights: Literal["equal", "proportional"] = "equal",
        at: Mapping[str, object] | None = None,
        random: Literal["none", "average", "fitted"] = "none",
        conf_level: float = CONF_LEVEL,
    ) -> pd.DataFrame:
        """Estimated marginal means, as R's emmeans gives them.

        Parameters
        ----------
        specs : str or sequence of str
            Columns whose levels, or combinations of levels, have a mean each.
        by : str or sequence of str, optional
            Further columns; the means are the same as with them in `specs`.
        scale : {"link", "response", "mean class", "cumulative", "exceedance"}
            η, or the response at the mean η. Of cumulative models ``link`` is emmeans' ``mode="latent"``, ``response``
            the probability of each category (``"prob"``), ``mean class`` the mean of the category's number, 1 for the
            lowest (``"mean.class"``), ``cumulative`` the probability of a category up to each threshold
            (``"cum.prob"``), ``exceedance`` of one beyond it (``"exc.prob"``).
        weights : {"equal", "proportional"}
            Of the combinations of other factors that a mean averages over: alike, or as frequent as in the data.
        at : mapping, optional
            Column -> a value, or a list of values. Numbers are at their mean otherwise, an offset's too.
        random : {"none", "average", "fitted"}
            On all scales but ``link``. ``none``: random effects at 0, as emmeans has them. ``average``: integrated
            out, the mean over all levels that there might be. ``fitted``: the mean of the fitted responses of the
            levels in the data (these items), which keep their other columns.
        conf_level : float
            Coverage of the intervals.

        Returns
        -------
        pandas.DataFrame
            The columns of `specs` and `by`, ``category`` (cumulative and nominal models; ``cut``, as ``1|2``, of
            cumulative and exceedance probabilities), ``estimate``, ``std_error``, ``df``, ``conf_low``, ``conf_high``,
            ``method``, ``flag``; ``df`` as in ``tidy()``.

        Raises
        ------
        DesignError
            If a column or level is unknown.

        Notes
        -----
        With items as the random term, ``fitted`` is the benchmark accuracy of NIST AI 800-3, with an interval given
        these items, and ``average`` its generalised accuracy, over all items like these. A fitted response is its mean
        over the effect of its item given the data, by Laplace's approximation.

        Response scale: limits are those of η transformed; with ``average`` and ``fitted``, and for categories, from the
        logit scale of the probability (a count: its logarithm; a mean class: its place between the lowest and the
        highest), so that they stay within the range that there is. emmeans takes the estimate ± 1.96 errors. The mean
        of a category is the mean of its probabilities over the grid, that of other responses the response at the mean
        η, as in emmeans. η of a cumulative model is counted from the mean threshold (emmeans: ``mode="latent"``); those
        of a nominal one are log-odds of each class against the baseline.

        Examples
        --------
        >>> import judgestats as js
        >>> counts = pd.DataFrame({"strategy": ["B0", "S8"] * 2, "correct": [0, 0, 1, 1], "n": [40, 20, 60, 80]})
        >>> fit = js.fit("correct ~ strategy", counts, counts="n")
        >>> fit.means("strategy", scale="response")[["strategy", "estimate", "conf_low", "conf_high"]].round(3)
          strategy  estimate  conf_low  conf_high
        0       B0       0.6     0.501      0.691
        1       S8       0.8     0.710      0.867
        """
        cells = GridCells(specs, by, weights, at, random)
        return marginal_means.means(self, cells, scale, conf_level)

    def contrasts(
        self,
        specs: By,
        *,
        method: Literal["pairwise", "baseline"] | Mapping[str, object] = "pairwise",
        baseline: object = None,
        adjust: Literal["holm", "tukey", "dunnett", "bonferroni", "none"] = "holm",
        scale: Literal[
            "link", "odds ratio", "rate ratio", "response", "mean class", "cumulative", "exceedance"
        ] = "link",
        by: By = None,
        weights: Literal["equal", "proportional"] = "equal",
        at: Mapping[str, object] | None = None,
        random: Literal["none", "average"] = "none",
        conf_level: float = CONF_LEVEL,
    ) -> pd.DataFrame:
        """Contrasts of marginal means.

        Parameters
        ----------
        specs : str or sequence of str
            Columns whose levels, or combinations of levels, are compared.
        method : {"pairwise", "baseline"} or mapping
            Every pair, the first minus the second; every other minus the baseline; or a name for each contrast of your
            own, with its weights: a mapping of levels (``"S8"``, ``"S8:judge a"`` for two columns), or one number for
            each cell.
        baseline : level, optional
            For ``method="baseline"``: by default the first.
        adjust : {"holm", "tukey", "dunnett", "bonferroni", "none"}
            Of the p values within each level of `by`, and of the intervals, which cover together. ``tukey`` is for
            pairs. ``dunnett`` uses the joint normal or t distribution of any contrasts none of which is a combination
            of the others. Intervals of ``holm`` are Bonferroni's.
        scale : {"link", "odds ratio", "rate ratio", "response", "mean class", "cumulative", "exceedance"}
            ``response``: differences of probabilities, counts or scores, by the delta method. ``mean class`` and the
            others as in :meth:`judgestats.models.Fit.means`.
        by : str or sequence of str, optional
            Contrasts within each of their levels.
        weights, at, random
            As in :meth:`means`.
        conf_level : float
            Coverage of the intervals.

        Returns
        -------
        pandas.DataFrame
            The columns of `by`, ``term``, ``category`` (cumulative and nominal models), ``estimate``,
            ``std_error``, ``statistic``, ``df``, ``p_value``, ``conf_low``, ``conf_high``, ``adjust``, ``method``,
            ``flag``; ``df`` as in ``tidy()``: those of each contrast, also where it is adjusted. The statistic and p
            value of a ratio are those of its logarithm.

        Raises
        ------
        DesignError
            If a column or level is unknown, or an option does not suit the model or the contrasts.

        Examples
        --------
        >>> import judgestats as js
        >>> counts = pd.DataFrame({"strategy": ["B0", "S8"] * 2, "correct": [0, 0, 1, 1], "n": [40, 20, 60, 80]})
        >>> fit = js.fit("correct ~ strategy", counts, counts="n")
        >>> fit.contrasts("strategy", method="baseline", scale="odds ratio")[["term", "estimate", "p_value"]].round(4)
                                  term  estimate  p_value
        0  strategy[S8] - strategy[B0]    2.6667   0.0024
        """
        cells, comparison = GridCells(specs, by, weights, at, random), Comparison(method, baseline, adjust)
        return mean_contrasts.contrasts(self, cells, comparison, scale, conf_level)

    def tests(self, kind: object = "II") -> pd.DataFrame:
        """Wald tests.

        Parameters
        ----------
        kind : {"II", "III", "wald"}, str, sequence, mapping or array
            ``II``: each term given all others but those that contain it (R's ``car::Anova``). ``III`` or ``wald``: the
            coefficients of each term together, given all others, which depends on the coding of factors that interact.
            Or hypotheses: ``"strategy[S1] = strategy[S8]"``, ``"2 * x + z = 1"``, ``"x"`` for 0; commas join several
            into one test; a sequence is a test each, a mapping names them, and its values may be sequences, tested
            jointly. Or an (R, P') array of rows that are 0, over the fixed effects, or over these and the thresholds.

        Returns
        -------
        pandas.DataFrame
            ``term``, ``statistic``, ``df``, ``df_error``, ``p_value``, ``method``, ``flag``. F with ``df`` and
            ``df_error`` degrees of freedom where the fit has some (Gaussian models: Satterthwaite's, by Fai and
            Cornelius, as in lmerTest, or Kenward and Roger's with their factor of F, as in pbkrtest; between-within:
            the fewest of the rows; by clusters: Hotelling's T², by Pustejovsky and Tipton); else χ², and ``df_error``
            is infinite.

        Raises
        ------
        DesignError
            If an array has other columns than the coefficients.
        FormulaError
            If a hypothesis names no coefficient.

        Examples
        --------
        >>> import judgestats as js
        >>> counts = pd.DataFrame({"strategy": ["B0", "S8"] * 2, "correct": [0, 0, 1, 1], "n": [40, 20, 60, 80]})
        >>> fit = js.fit("correct ~ strategy", counts, counts="n")
        >>> fit.tests().round(4)
               term  statistic  df  df_error  p_value method flag
        0  strategy     9.2354   1       inf   0.0024     χ²
        >>> fit.tests(["strategy[S8] = 1"]).round(4)
                       term  statistic  df  df_error  p_value method flag
        0  strategy[S8] = 1     0.0035   1       inf   0.9526     χ²
        """
        return wald_tests.tests(self, kind)

    def confint(
        self,
        *,
        method: Literal["wald", "profile", "bootstrap"] = "wald",
        terms: By = None,
        conf_level: float = CONF_LEVEL,
        n_resamples: int = N_RESAMPLES,
        seed: Seed = SEED,
    ) -> pd.DataFrame:
        """Intervals of the parameters.

        Parameters
        ----------
        method : {'wald', 'profile', 'bootstrap'}
            ``wald``: estimate ± quantile × standard error; of a standard deviation on the log scale, of a correlation
            on Fisher's z scale; of a sampled fit quantiles of its draws. ``profile``: where the likelihood, the best
            over all other parameters, falls by half the quantile squared; of a Gaussian model by maximum likelihood,
            also where the fit is by REML (as in lme4); without random terms coefficients have their t intervals, and
            the residual sd its restricted likelihood. ``bootstrap``: percentiles of refits to responses drawn from the
            fit with new random effects; a refit that fails is counted in `flag`.
        terms : str or sequence of str, optional
            Terms or groups, as in ``tidy()``: ``strategy[S8]``, ``sd(Intercept|item)``, ``item``, ``fixed``. All of
            them if None.
        conf_level : float
            Coverage of the intervals.
        n_resamples : int
            Refits of the bootstrap.
        seed : int, Generator or None
            Seed of the bootstrap.

        Returns
        -------
        pandas.DataFrame
            Columns ``group``, ``term``, ``estimate``, ``conf_low``, ``conf_high``, ``method``, ``flag``. Wald: NaN with
            ``singular fit`` for a standard deviation of zero and its correlations. Profile: ``conf_low`` of a standard
            deviation is 0, with ``0 not excluded``, where zero lies within the cut-off; the end is infinite, with
            ``likelihood does not fall off``, where the data do not bound it, as under separation.

        Raises
        ------
        DesignError
            If an option is unknown; if the engine has no likelihood to profile (only ``ml`` does), or cannot fit again.

        Notes
        -----
        Wald intervals count on many levels of each factor; with fewer than 10 take ``profile``. The profile of a
        Laplace approximation inherits its bias: with fewer than 5 binary calls a level, fit one scalar random term with
        ``n_quadrature="auto"``.

        Source: Bates, Mächler, Bolker and Walker 2015, "Fitting linear mixed-effects models using lme4", section 5.1;
        Venzon and Moolgavkar 1988.

        Examples
        --------
        >>> import judgestats as js
        >>> calls = pd.DataFrame({"k": [1, 3, 2, 5, 4, 5], "n": 6, "item": list("abcdef")})
        >>> fit = js.fit("cbind(k, n - k) ~ 1 + (1|item)", calls)
        >>> fit.confint(method="profile")[["term", "flag"]]
                         term                                          flag
        0           Intercept                  fewer than 30 levels of item
        1  sd(Intercept|item)  0 not excluded; fewer than 30 levels of item
        """
        return intervals.confint(
            self, method=method, terms=terms, conf_level=conf_level, n_resamples=n_resamples, seed=seed
        )

    def random_effects(self, *, conf_level: float = CONF_LEVEL) -> pd.DataFrame:
        """Conditional modes of the random effects, with intervals.

        Parameters
        ----------
        conf_level : float
            Coverage of the intervals.

        Returns
        -------
        pandas.DataFrame
            ``group`` (the grouping factor), ``level``, ``term`` (``Intercept``, ``x``; of a nominal model
            ``unsafe: Intercept``), ``estimate`` on the scale of the linear predictor, ``std_error``, ``conf_low``,
            ``conf_high``, ``flag``; factor by factor as in the formula, levels in their order. Where a standard
            deviation is zero so are its effects, with NaN errors and ``singular fit``.

        Raises
        ------
        DesignError
            If the model has no random terms, or its engine gives no random effects.

        Notes
        -----
        Standard errors are those of the conditional distribution given the estimates, as in lme4's ``ranef(condVar =
        TRUE)`` and in clmm; glmmTMB prints larger ones, which count the errors of all parameters. Predictions count
        those of the fixed effects (:meth:`judgestats.models.Fit.predict`). In a fit by quadrature
        they are modes too.

        Examples
        --------
        >>> import judgestats as js
        >>> calls = pd.DataFrame({"k": [1, 9, 2, 8], "size": 10, "item": list("abcd")})
        >>> js.fit("cbind(k, size - k) ~ 1 + (1|item)", calls).random_effects().iloc[:2, :5].round(2)
          group level       term  estimate  std_error
        0  item     a  Intercept     -1.71       0.79
        1  item     b  Intercept      1.71       0.79
        """
        return effects.random_effects(self, conf_level=conf_level)

    def variance_components(self, *, conf_level: float = CONF_LEVEL) -> pd.DataFrame:
        """Variances of the random terms and of the residual, their shares, and latent intraclass correlations.

        Parameters
        ----------
        conf_level : float
            Coverage of the intervals.

        Returns
        -------
        pandas.DataFrame
            A row for each column of each random term and for the residual (``term`` as in ``Intercept``, ``x``,
            ``residual``): ``variance``, ``sd`` with the Wald interval of its logarithm (``sd_low``, ``sd_high``), and
            ``share`` of the latent total, with ``share_low`` and ``share_high`` by the delta method on the logit scale.
            Then a row ``ICC(latent)`` for each factor: what all its terms add to the variance, and that over the total,
            the correlation of two calls that share a level of this factor alone. ``method`` names the residual variance
            used.

        Notes
        -----
        On the scale of the linear predictor a call has the variance π²/3 (logit), 1 (probit), π²/6 (cloglog), ln(1 +
        1/μ) (log; an approximation, with μ the mean response over the rows and over the random effects) or the residual
        variance (identity). A term with columns other than an intercept adds z'Σz, averaged over the rows, so the rows
        of a term with slopes need not add up to its factor's: covariances are in the latter alone. A variance of zero
        has no interval and ``singular fit``.

        Source: Nakagawa, Johnson and Schielzeth 2017, "The coefficient of determination R² and intra-class correlation
        coefficient from generalized linear mixed-effects models revisited and expanded", equations of table 1; Johnson
        2014 for slopes.

        Examples
        --------
        >>> import judgestats as js
        >>> calls = pd.DataFrame({"k": [1, 9, 2, 8], "size": 10, "item": list("abcd")})
        >>> fit = js.fit("cbind(k, size - k) ~ 1 + (1|item)", calls)
        >>> fit.variance_components()[["group", "term", "variance", "share"]].round(3)
              group         term  variance  share
        0      item    Intercept     3.201  0.493
        1  residual     residual     3.290  0.507
        2      item  ICC(latent)     3.201  0.493
        """
        return effects.variance_components(self, conf_level=conf_level)

    def agreement(
        self, of: str = "item", *, weights: Literal["linear", "quadratic"] | None = None, conf_level: float = CONF_LEVEL
    ) -> pd.DataFrame:
        """Agreement beyond chance of many raters by this model, which does not depend on how frequent the classes are.

        Parameters
        ----------
        of : str
            Grouping factor of what is judged. All other random effects are disagreement.
        weights : {None, "linear", "quadratic"}
            Partial agreement, by the distance of two classes or its square.
        conf_level : float
            Coverage of the intervals.

        Returns
        -------
        pandas.DataFrame
            One row: ``term`` (``kappa``), ``estimate``, ``std_error``, ``conf_low``, ``conf_high``, ``method`` (the
            link), ``flag``.

        Raises
        ------
        DesignError
            If the answers are neither binary nor ordered, no random term is ``(1|of)``, or one has slopes.

        See Also
        --------
        judgestats.kappa : Agreement of the answers as they are.

        Notes
        -----
        Two raters of one item answer by its effect, which they share, by effects and errors of their own, and by
        thresholds. With those thresholds at which each of J classes is equally frequent, agreement by chance is 1/J,
        the least there can be, and kappa depends on the variances alone; Cohen's and Fleiss's kappa fall as one class
        becomes frequent. With two classes and a probit link it is 2 arcsin(ρ)/π, ρ the share of the items' variance.
        Errors are by the delta method; limits are computed on the logit scale. By Laplace's approximation the variance
        of items is too large, and so is agreement, where answers beside the most frequent one are fewer than two per
        item; there the flag says so. Elsewhere 95 % intervals cover .95 to .98 with 6 raters and 60 items, 8 and 200.

        Source: Nelson and Edwards 2015, "Measures of agreement between many raters for ordinal classifications",
        Statistics in Medicine 34, 3116-3132 (there with a probit link).

        Examples
        --------
        >>> import judgestats as js
        >>> table = pd.DataFrame({"judge": list("abc") * 8, "item": [f"i{k // 3}" for k in range(24)],
        ...                       "score": [1, 1, 2, 3, 3, 3, 2, 1, 2, 1, 1, 1, 3, 2, 3, 2, 2, 2, 1, 2, 1, 3, 3, 2]})
        >>> fit = js.fit("score ~ 1 + (1|item) + (1|judge)", table, family="cumulative", link="probit")
        >>> fit.agreement()[["term", "estimate", "method"]].round(2)
            term  estimate  method
        0  kappa      0.41  probit
        """
        return rater_agreement.agreement(self, of, weights, conf_level)

    def r2(self, *, rate: Literal["mean", "median"] = "mean", conf_level: float = CONF_LEVEL) -> pd.DataFrame:
        """R² of Nakagawa: what the fixed effects explain of the latent variance, and what all effects do.

        Parameters
        ----------
        rate : {"mean", "median"}
            Of counts, whose variance on the log scale depends on their rate: the expected count of the model without
            fixed effects, over rows and random effects, as in the paper; or that at random effects and an offset of 0,
            as in R's performance 0.10.
        conf_level : float
            Coverage of the intervals.

        Returns
        -------
        pandas.DataFrame
            ``term`` (``marginal``: fixed effects; ``conditional``: fixed and random effects), ``estimate``,
            ``std_error``, ``conf_low``, ``conf_high``, ``method`` (the residual variance), ``flag``.

        Raises
        ------
        DesignError
            If there is no random term, or the model is nominal.

        Notes
        -----
        Variances are those of :meth:`judgestats.models.Fit.variance_components`, except the residual of counts; that of
        the fixed part is over the rows, without its offset. A random term with a level for each row of data is
        overdispersion, and part of the residual. A random slope without a fixed one counts among the random effects;
        performance leaves it out. Errors are by the delta method, the rate of counts taken as fixed; limits are
        computed on the logit scale, so that no interval has 0 in it: test the effects themselves.

        Source: Nakagawa, Johnson and Schielzeth 2017, "The coefficient of determination R² and intra-class correlation
        coefficient from generalized linear mixed-effects models revisited and expanded", table 1; Johnson 2014 for
        slopes.

        Examples
        --------
        >>> import judgestats as js
        >>> k, s = [1, 9, 2, 8, 3, 9, 5, 9], list("uuuuvvvv")
        >>> calls = pd.DataFrame({"k": k, "size": 10, "item": list("abcd") * 2, "s": s})
        >>> fit = js.fit("cbind(k, size - k) ~ s + (1|item)", calls)
        >>> fit.r2()[["term", "estimate", "std_error", "method"]].round(3)
                  term  estimate  std_error         method
        0     marginal     0.044      0.052  residual π²/3
        1  conditional     0.448      0.193  residual π²/3
        """
        return effects.r2(self, rate, conf_level)

    def simulate(self, n: int = 1, *, seed: Seed = SEED, random: Random = "new") -> pd.DataFrame:
        """Draw responses from a fitted model, at its estimates.

        Calls are independent given the random effects: a row that represents several calls is several draws.

        Parameters
        ----------
        n : int
            Responses to draw for each row.
        seed : int, Generator or None
            Seed of the draws.
        random : {'new', 'conditional'}
            New random effects in each draw, for the levels of the data, or the conditional modes of the fit.

        Returns
        -------
        pandas.DataFrame
            The columns of the design's frame, the observed response among them, then ``sim_1`` to ``sim_n``. Binomial:
            a row for each distinct row of the data, ``sim_trials`` (its trials times its count), and successes among
            them. Other families: a row for each call, so that a distinct row comes as often as its count; a cumulative
            response is an ordered category. Prior weights divide the residual variance of a Gaussian model and change
            no other. ``engine="lpm"`` is a linear model of 0 and 1: it draws real numbers.

        Raises
        ------
        DesignError
            If `random` is unknown, `n` is no positive whole number, or the engine models no whole clusters (``gee``).

        Examples
        --------
        >>> import judgestats as js
        >>> calls = pd.DataFrame({"correct": [1, 0] * 20, "item": [f"q{i // 4}" for i in range(40)]})
        >>> fit = js.fit("correct ~ 1 + (1|item)", calls)
        >>> fit.simulate(2, seed=1).columns.tolist()
        ['correct', 'item', 'sim_trials', 'sim_1', 'sim_2']
        >>> int(fit.simulate(seed=1)["sim_trials"].sum())
        40
        """
        return simulated_responses.simulate(self, n, seed=seed, random=random)

    def scaled_residuals(
        self, n_draws: int = 250, *, by: By = None, random: Random = "new", seed: Seed = SEED
    ) -> pd.DataFrame:
        """Where each response lies among those that the fitted model draws: uniform on (0, 1) where it holds.

        Parameters
        ----------
        n_draws : int
            Responses to draw, 40 or more.
        by : str or sequence of str, optional
            Columns whose combinations are cells, each with one residual: that of its sum of successes, counts or
            scores, of ordered categories the sum of their numbers. By default each call has one; in binomial and
            cumulative models each combination of the columns of the model.
        random : {'new', 'conditional'}
            New random effects in each draw, or the conditional modes of the fit: these have more power against too
            much variance within levels, and do not look at the levels themselves.
        seed : int, Generator or None
            Seed of the draws.

        Returns
        -------
        pandas.DataFrame
            The columns of the calls or cells, ``n`` (calls, trials included), ``observed``, ``expected`` (mean of the
            draws) and ``scaled_residual``: the rank of the observed response among the drawn ones, ties broken at
            random.

        Raises
        ------
        DesignError
            If a column or `random` is unknown, there are too few draws, too many for memory (100 million responses),
            the classes have no order, the cells of a binomial model have one call each, or the engine has no model of
            whole responses (``gee``).
        SchemaError
            If the model has a column with the name of one of the result.

        See Also
        --------
        residual_tests : Tests of the same.
        judgestats.plot.scaled_residuals : Their picture.

        Notes
        -----
        Pearson residuals of counts and shares are not normal, so that their pictures show patterns where there are
        none. These are uniform in every family: 0.5 is the middle, 0 and 1 the ends of what the model expects. With
        new random effects the residuals of one level are dependent.

        Source: Dunn and Smyth 1996; Hartig's R package DHARMa.

        Examples
        --------
        >>> import judgestats as js
        >>> table = pd.DataFrame({"judge": ["a", "b"] * 2, "correct": [0, 0, 1, 1], "n": [40, 20, 60, 80]})
        >>> fit = js.fit("correct ~ judge", table, counts="n")
        >>> fit.scaled_residuals(seed=1).round(2)
          judge      n  observed  expected  scaled_residual
        0     a  100.0      60.0     60.37             0.49
        1     b  100.0      80.0     80.16             0.48
        """
        return scaled_residuals.scaled_residuals(self, n_draws, by=by, random=random, seed=seed)

    def residual_tests(
        self, n_draws: int = 250, *, by: By = None, random: Random = "new", seed: Seed = SEED
    ) -> pd.DataFrame:
        """Test whether the responses look like those that the fitted model draws.

        Parameters
        ----------
        n_draws, by, random, seed
            As in :meth:`scaled_residuals`.

        Returns
        -------
        pandas.DataFrame
            One row a test: ``estimate`` (observed by expected), ``observed``, ``expected`` (mean of the draws),
            ``p_value``, ``n`` (residuals), ``n_draws``. ``uniformity``: Kolmogorov and Smirnov's distance of the
            residuals from the uniform distribution. ``dispersion``: sum of the squared distances from the mean of the
            draws; above 1 more than the model expects, below less. ``outliers``: responses at or beyond the ends of the
            draws. ``zeros``: responses of 0, but in Gaussian models.

        Raises
        ------
        DesignError, SchemaError
            As :meth:`scaled_residuals` does.

        Notes
        -----
        Each draw is compared with all others as the observed responses are: ``p_value`` is a rank, exact for a model
        with known parameters, whatever the dependence of the residuals. Parameters are estimated, so it is too large
        rather than too small: tests at .05 of true models reject in 0 to .05 of small tables (docs/coverage.md).
        ``dispersion`` and ``zeros`` are two-sided. The smallest value is 1/(n_draws + 1), twice that of two-sided
        tests.

        Source: as of :meth:`scaled_residuals`; ranks by Besag and Clifford 1989.

        Examples
        --------
        >>> import judgestats as js
        >>> table = pd.DataFrame({"item": range(40), "edits": [0, 0, 0, 9] * 10})
        >>> fit = js.fit("edits ~ 1", table, family="poisson")
        >>> fit.residual_tests().round(3)[["test", "estimate", "p_value"]]
                 test  estimate  p_value
        0  uniformity     5.022    0.004
        1  dispersion     6.788    0.008
        2    outliers    44.118    0.004
        3       zeros     7.375    0.008
        """
        return scaled_residuals.residual_tests(self, n_draws, by=by, random=random, seed=seed)

    def influence(self, group: str) -> pd.DataFrame:
        """How much the coefficients depend on each level of a factor: the model fitted without it.

        Parameters
        ----------
        group : str
            Grouping factor of a random term, or a column of the model that is no answer.

        Returns
        -------
        pandas.DataFrame
            A row for each level and coefficient, the most influential level first: ``level``, ``n`` (its calls, trials
            included), ``cooks_distance`` (of all coefficients), ``term``, ``estimate`` (without the level),
            ``dfbetas`` (what leaving it out adds to the coefficient, in standard errors of the fit without it),
            ``flag``. A level without which a coefficient is not determined has NaN and ``not fitted``.

        Raises
        ------
        DesignError
            If there is no such factor or column.
        FitError
            If it has one level, or the engine cannot fit again (``pymc``).

        Notes
        -----
        As many fits as levels. Cook's distance is d' V⁻¹ d / p, d the changes of the p coefficients and V their
        covariance with all levels, as in R's influence.ME; ``cooks.distance(influence(fit, "judge"))`` of lme4 is
        (k - p)/k of it, k the number of levels. `dfbetas` is that of lme4. Thresholds of ordinal models are
        coefficients. Above 4/k a level is looked at by custom.

        Source: Cook 1977; Belsley, Kuh and Welsch 1980; Nieuwenhuis, te Grotenhuis and Pelzer 2012.

        Examples
        --------
        >>> import judgestats as js
        >>> calls = pd.DataFrame({"k": [1, 9, 2, 8], "size": 10, "item": list("abcd")})
        >>> fit = js.fit("cbind(k, size - k) ~ 1 + (1|item)", calls)
        >>> fit.influence("item").drop(columns="flag").round(3)
          level     n  cooks_distance       term  estimate  dfbetas
        0     a  10.0           0.553  Intercept     0.740    0.762
        1     b  10.0           0.553  Intercept    -0.740   -0.762
        2     c  10.0           0.290  Intercept     0.536    0.445
        3     d  10.0           0.290  Intercept    -0.536   -0.445
        """
        return influence.influence(self, group)

    def predictive(
        self, kind: Kind = "posterior", *, by: By = None, n_draws: int = 1000, seed: Seed = SEED
    ) -> pd.DataFrame:
        """Observed counts beside the intervals that the model predicts for them.

        Parameters
        ----------
        prior : callable
            Draws from the prior.
        kind : {'posterior', 'prior', 'both'}
            Replicates from the posterior, or from the prior before any answer is seen.
        by : str or sequence of str, optional
            Columns whose combinations are the cells; by default all columns of the right side of the formula. Numbers
            of cells with one call each are uninformative: give ``by="judge"``, say.
        n_draws : int
            Replicates.
        seed : int, Generator or None
            Seed of the draws.

        Returns
        -------
        pandas.DataFrame
            A row for each cell and outcome: ``kind``, the columns of `by`, ``outcome``, ``observed``, ``estimate``
            (predictive mean), ``conf_low``, ``conf_high`` (95 % predictive interval), ``inside``, ``n`` (calls, trials
            included), ``scale``, ``method``, ``flag``. Binomial: successes. Cumulative and nominal: a row for each
            category. Poisson: the sum of the counts. Gaussian: the mean (``scale`` is ``mean``).

        Raises
        ------
        FitError
            If the fit has no draws.
        DesignError
            If `kind`, `n_draws` or a column is not known.
        SchemaError
            If a column of `by` has the name of one of the result.

        Notes
        -----
        Levels of the random terms are those of the data: from the posterior with their own effects, from the prior with
        effects drawn anew. About 95 in 100 observed values lie inside of the posterior interval of a model that fits,
        more where each cell has an effect of its own. Draw it with :func:`judgestats.plot.predictive`.

        Source: Gelman, Meng and Stern 1996; Gabry et al. 2019.
        """
        return predictive_intervals.predictive(
            self, partial(prior_draws, self), kind=kind, by=by, n_draws=n_draws, seed=seed
        )
