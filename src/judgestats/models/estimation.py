""":func:`fit`: a model by any engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.arguments import checked_arguments
from judgestats.errors import DesignError, FitError, choose
from judgestats.models.bayes.sampling import Sampling, sampling_options
from judgestats.models.coding.column_rank import independent
from judgestats.models.coding.factor_levels import labels
from judgestats.models.coding.responses import refuse_share
from judgestats.models.designs import Design, design
from judgestats.models.engines import ENGINES, Engine
from judgestats.models.engines.clustered_errors import FAMILIES as CLUSTERED
from judgestats.models.engines.clustered_errors import clustered, refuse_clusters
from judgestats.models.families import FAMILIES, FamilyName
from judgestats.models.fits import Fit
from judgestats.models.fitted_models import Fitted
from judgestats.models.formula import parse
from judgestats.models.links import LinkName
from judgestats.models.postestimation.degrees_of_freedom import KENWARD_ROGER, NORMAL, refuse_df
from judgestats.models.postestimation.design_shortages import sparse
from judgestats.models.postestimation.separation import separated, why_endless
from judgestats.models.specifications import Model
from judgestats.models.threshold_sets import THRESHOLDS, Partition, by_kind

#: More nodes than this gain nothing.
MOST_NODES = 100


@checked_arguments
def fit(
    formula: str,
    data: IntoFrame,
    *,
    family: FamilyName = "binomial",
    link: LinkName | None = None,
    engine: str | Callable[..., Fitted] = "ml",
    reml: bool = False,
    n_quadrature: int | Literal["auto"] = "auto",
    counts: str | Literal[False] | None = None,
    weights: str | None = None,
    thresholds: Literal["free", "symmetric"] = "free",
    thresholds_by: str | Mapping[str, str] | None = None,
    categories: Sequence[object] | None = None,
    cluster: str | None = None,
    vcov: Literal["CR2"] | None = None,
    df: str | None = None,
    priors: Mapping[str, object] | None = None,
    sampling: Sampling | None = None,
) -> Fit:
    """Fit a model to verdicts, scores or counts.

    Parameters
    ----------
    formula : str
        In the grammar of R's lme4: ``correct ~ strategy * x + (1|item) + (1 + x|judge)``, ``cbind(k, n - k) ~ period``,
        ``choice[first] ~ 1 + (0 + order|pair)``. Random terms may be left out. Factors are coded by treatment, or as
        ``C(x, Sum)``, ``C(x, Helmert)``, ``C(x, Poly)`` or ``C(x, Treatment("B0"))`` say.
    data : frame
        In any engine Narwhals knows.
    family : {"binomial", "gaussian", "poisson", "negative_binomial", "cumulative", "nominal"}
        Cumulative: ordered categories, P(Y <= j) = F(θ_j - η). Negative binomial: counts with variance μ + μ²/size,
        ``log(size)`` a parameter (``ml`` only). Nominal: classes without an order, such as those of ``answer`` or
        ``choice``, by log-odds of each against the first (``ml`` without random terms, ``pymc``). There ``(1|item)`` is
        an effect of each class but the first, correlated as in mclogit and in ``(1|p|item)`` of brms. ``(1|item)`` of
        brms has them independent, which depends on which class is the first.
    link : {"logit", "probit", "cloglog", "identity", "log"}, optional
        By default logit, identity or log. ``cloglog``: P(Y = 1) = 1 - exp(-exp η), of a cumulative model P(Y <= j) =
        1 - exp(-exp(θ_j - η)), proportional hazards, as R's clm has it.
    engine : str or callable
        ``ml``: our own maximum likelihood, for any crossing and nesting. From statsmodels: ``glm``, ``gee``
        (marginal, cluster-robust), ``ordered``, ``mixedlm``, ``statsmodels`` (its Bayesian mixed GLM, with known
        errors). ``lpm``: a linear mixed model of 0 and 1 by REML, coefficients in probability units. Or a callable of
        a :class:`judgestats.models.ml.Model` that returns a Fitted.
    reml : bool
        Restricted likelihood, for Gaussian mixed models of ``ml`` and ``mixedlm``. ``lpm`` always uses it. A Gaussian
        model without random terms is R's ``lm`` either way: residual variance by n - p, t; log likelihood by ML.
    n_quadrature : int or "auto"
        How random effects are integrated out (``ml``). ``auto``: one scalar random term, such as ``(1|item)``, by the
        trapezoidal rule over each group's posterior, refined until the log likelihood stands still to 1e-6 and the
        estimates to 0.01 standard errors; other random terms by Laplace's approximation; Gaussian models are exact. A
        number: so many nodes of adaptive Gauss-Hermite quadrature for one scalar random term, 1 for Laplace's
        approximation. ``glance()`` names the rule used, ``check()`` tests whether it was fine enough.
    counts : str or False, optional
        The column with the number of identical rows that a row represents, in whole numbers; ``glance()`` names it. By
        default ``n_identical``, where there is one (:func:`judgestats.preferences` makes it). False: each row is one.
        A whole-number column ``n`` that is neither declared nor in the formula is refused.
    weights : str, optional
        A column of prior weights. Never a count: those are declared by ``counts=``. Never trials:
        ``cbind(k, n - k)`` has them.
    thresholds : {"free", "symmetric"}
        Of a cumulative model. Symmetric: a midpoint and half-widths (Rao and Kupper's tie model, Glenn and David's).
    thresholds_by : str or mapping, optional
        A column by which thresholds vary, or a column for each of ``midpoint`` and ``half-width`` (symmetric) or for
        ``threshold`` (free).
    categories : sequence, optional
        Order of a cumulative response, lowest first; of a nominal one, whose first is the baseline.
    cluster : str, optional
        The column by which errors are clustered. Engines ``ml`` and ``glm``: nominal models, Gaussian ones (mixed, too,
        if the column contains the levels of every grouping factor), and binomial and Poisson ones without random
        effects; estimates and likelihood do not change. For ``gee``, instead of ``(1|column)`` in the formula.
    vcov : {"CR2"}, optional
        What the errors by `cluster` are, and their default (Bell and McCaffrey 2002, as in R's clubSandwich): scores of
        a cluster are divided by the root of the share of information that the others have. Named, they are CR2 with
        ``df="normal"``, too.
    df : str, optional
        Degrees of freedom of tests and intervals of fixed effects, by default those of the stratum in which an effect
        varies. Gaussian mixed models (``ml``, ``lpm``): ``satterthwaite``, or by REML ``kenward-roger``, which also
        allows for the estimated variances in the covariance (Kenward and Roger 1997; up to 5,000 random effects);
        without random terms those of the residual. Clusters: Satterthwaite's of CR2. Other mixed models
        (between-within): an effect that varies between the levels of a grouping factor has as many as there are levels,
        less the rank of the effects that are constant within them, of several factors the fewest; one that can be
        estimated within the levels of all has z. ``normal``: z and χ² for all, as in lme4 and glmmTMB, and by clusters
        the sandwich without a correction, as in geepack. Or a grouping factor, as ``judge``: between-within of this one
        alone. See docs/models.md.
    priors : mapping, optional
        For ``pymc``: parameter, or term -> scale of its prior, as in ``{"strategy": 1.0, "sd(item)": 0.5}``; those not
        named are weakly informative, see :func:`judgestats.models.bayes.priors.priors`. ``summary()`` states them.
    sampling : mapping, optional
        For ``pymc``, any of: ``draws`` and ``tune`` (kept and warm-up draws of each chain, 1000 each), ``chains`` (4),
        ``seed`` (0), ``target_accept`` (0.9; higher is slower and diverges less), ``progress`` (whether to show it).

    Returns
    -------
    Fit

    Raises
    ------
    FormulaError
        If the formula does not parse, or names an unknown column.
    DesignError
        If the data or the options do not fit the model.
    SchemaError
        If counts or weights are not valid, or a column ``n`` could be taken for counts that are not declared.
    FitError
        If the engine cannot fit this model.

    See Also
    --------
    anova : Likelihood-ratio tests of nested models.
    judgestats.hierarchical.agreement : Bayesian variance components.
    judgestats.models.strategy_effects : Strategies, per judge and pooled.

    Notes
    -----
    Rows with a missing value in a column that is used are excluded, and counted in ``glance()``. Cautions are in
    ``notes`` and, as rows with advice, in ``check()``.

    Examples
    --------
    >>> import judgestats as js, pandas as pd
    >>> table = pd.DataFrame({"strategy": ["B0", "B0", "S8", "S8"], "correct": [0, 1, 0, 1], "n": [40, 60, 20, 80]})
    >>> js.fit("correct ~ strategy", table, counts="n").tidy()[["term", "estimate", "std_error"]].round(4)
               term  estimate  std_error
    0     Intercept    0.4055     0.2041
    1  strategy[S8]    0.9808     0.3227
    """
    arguments = {k: v for k, v in locals().items() if k not in ("formula", "data")}
    call = partial(fit, formula, data, **arguments)
    posterior: dict[str, object] = {"priors": priors, "sampling": sampling}
    run = _engine(engine)
    name = engine if isinstance(engine, str) else getattr(engine, "__name__", "callable")
    links = FAMILIES[choose(family, FAMILIES, "family")].links
    link = choose(link, links, f"family={family!r}: link") if link is not None else links[0]  # type: ignore[assignment]
    robust = cluster if run.robust and (FAMILIES[family].per_class or family in CLUSTERED) else None
    if vcov is not None and choose(vcov, ("CR2",), "vcov") and cluster is None and not run.clusters:
        raise DesignError(f"vcov={vcov!r} is of clustered errors: name their column, as in cluster='item'.")
    _refuse_options(run, name, family, str(link), reml, n_quadrature, weights, None if robust else cluster)
    if run.samples:
        sampling_options(sampling)
    elif extra := [key for key, value in posterior.items() if value is not None]:
        raise FitError(f"engine={name!r} samples nothing: it takes no {extra[0]}=. Use engine='pymc'.")
    if run.samples and df is not None:
        raise FitError(f"engine={name!r} has no degrees of freedom: its intervals are of draws. Leave df= out.")
    kinds = _threshold_columns(run, name, family, thresholds, thresholds_by)
    also = [*kinds.values(), *([cluster] if cluster else [])]
    if weights is not None:
        refuse_share(parse(formula), weights, has_trials=FAMILIES[family].has_trials)
    coded = design(formula, data, family=family, weights=weights, categories=categories, also=also, counts=counts)
    if df is not None:
        refuse_df(df, coded, family, name, reml=reml, cluster=robust)
    if robust is not None:
        refuse_clusters(coded, family, robust)
    partition = Partition.of(kinds, coded.frame)
    _refuse_twice(partition, coded)
    shape = FAMILIES[family].thresholds(partition, coded.categories, str(link), thresholds)
    part = partition.codes(coded.frame)
    bare = df == NORMAL and vcov is None
    model = Model(coded, family, str(link), reml, n_quadrature, shape, part, partition, robust, bare)
    own = {"cluster": cluster} if run.clusters else posterior if run.samples else {}
    fitted = run.fit(model, **own)
    if robust is not None and family in CLUSTERED:
        fitted = clustered(fitted, robust)
    if df == KENWARD_ROGER and (adjusted := fitted.kenward_roger()) is not None:
        fitted = replace(fitted, covariance=fitted.covariance.copy())
        fitted.covariance[: fitted.n_fixed, : fitted.n_fixed] = adjusted.covariance
    options = replace(fitted.options, df=df, weights=weights)
    return as_fit(_noted(replace(fitted, engine=name, options=options)), call)


def as_fit(fitted: Fitted, call: partial[Fit] | None = None) -> Fit:
    """Make a Fit of a fitted model and the call that made it."""
    return Fit(**{f.name: getattr(fitted, f.name) for f in fields(Fitted)}, call=call)


def _noted(fitted: Fitted) -> Fitted:
    """The same fit, flagged for separation and sparse levels."""
    # priors bound estimates that would diverge
    runaway = separated(fitted) if fitted.options.posterior is None else ()
    few = any(sparse(fitted))
    notes = (*fitted.notes, *(why_endless(fitted, n) for n in runaway), *([flags.FEW_CALLS] if few else []))
    return replace(fitted, notes=tuple(dict.fromkeys(notes)), options=replace(fitted.options, separated=runaway))


def _engine(engine: Any) -> Engine:
    if callable(engine):
        return Engine(engine, reml=True, quadrature=True, weights=True)
    return ENGINES[choose(engine, ENGINES, "engine")]


def _refuse_options(
    run: Engine,
    name: str,
    family: str,
    link: str,
    reml: bool,
    n_quadrature: int | Literal["auto"],
    weights: str | None,
    cluster: str | None,
) -> None:
    """Refuse options that the engine does not have; none is ignored."""
    own = FAMILIES[family]
    if name in ENGINES and name not in own.engines:
        families = " or ".join(repr(f.name) for f in FAMILIES.values() if name in f.engines)
        raise FitError(
            f"engine={name!r} fits family={families}, got {family!r}. Engines for it: {', '.join(own.engines)}."
        )
    if link not in run.links:
        raise FitError(f"engine={name!r} has link={' or '.join(map(repr, run.links))}, got {link!r}. Use engine='ml'.")
    if reml and not (run.reml and own.linear):
        raise DesignError(
            f"reml=True is for Gaussian models of the engines ml and mixedlm; got family={family!r}, engine={name!r}. "
            "Leave it out."
        )
    number = isinstance(n_quadrature, int) and not isinstance(n_quadrature, bool)
    if n_quadrature != "auto" and not (number and 1 <= n_quadrature <= MOST_NODES):
        raise DesignError(
            f'n_quadrature={n_quadrature!r} is not a number of nodes. Allowed: "auto", or 1 (Laplace) to {MOST_NODES}.'
        )
    if n_quadrature not in (1, "auto") and (not run.quadrature or own.linear):
        why = "A Gaussian likelihood is exact" if own.linear else f"engine={name!r} has no quadrature"
        raise DesignError(f"{why}: n_quadrature={n_quadrature} has no use there. Leave it out.")
    if weights is not None and not run.weights:
        raise FitError(f'engine={name!r} takes no weights=. Counts of identical rows are declared: counts="n".')
    if cluster is not None and not run.clusters:
        other = ", or use engine='ml'" if own.per_class or family in CLUSTERED else ""
        raise FitError(
            f"engine={name!r} takes no cluster= of family={family!r}. Write (1|{cluster}) in the formula{other}."
        )


def _threshold_columns(
    run: Engine, name: str, family: str, thresholds: str, thresholds_by: str | Mapping[str, str] | None
) -> dict[str, str]:
    choose(thresholds, THRESHOLDS, "thresholds")
    restricted = thresholds != "free" or thresholds_by is not None
    if restricted and not FAMILIES[family].ordered:
        raise DesignError(
            f"thresholds= and thresholds_by= are for family='cumulative', got {family!r}. Leave them out."
        )
    if restricted and not run.shapes:
        raise FitError(f"engine={name!r} has free thresholds, the same in all rows. Use engine='ml'.")
    return by_kind(thresholds_by, thresholds) if restricted else {}


def _refuse_twice(partition: Partition, design: Design) -> None:
    """Refuse fixed effects that shift all thresholds of a level, where these vary by it already."""
    for kind in ("midpoint", "threshold"):
        if kind not in partition.columns:
            continue
        names = labels(design.frame[partition.columns[kind]]).to_numpy(dtype=object)
        dummies = (names[:, None] == np.array(partition.levels[kind], dtype=object)).astype(float)
        full_rank = independent(np.hstack([dummies, design.X]))
        width = dummies.shape[1]
        lost = [n for k, n in enumerate(design.names) if k + width not in full_rank]
        if lost:
            raise DesignError(
                f"The {kind} varies by {partition.columns[kind]!r}, and {', '.join(lost)} of {design.formula.source!r} "
                "would move it too. Leave one of them out."
            )
