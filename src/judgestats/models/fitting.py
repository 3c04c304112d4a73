"""The door to all engines: :func:`fit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, Literal

from judgestats.defaults import SEED
from judgestats.errors import DesignError, FitError, choose
from judgestats.models.coding.responses import refuse_share
from judgestats.models.designs import FAMILIES, Design, design
from judgestats.models.engines import ENGINES, Engine
from judgestats.models.fits import Fit
from judgestats.models.fitted import Fitted
from judgestats.models.formula import parse
from judgestats.models.likelihood.objectives import THRESHOLDS, Partition, by_kind, refuse_twice
from judgestats.models.ml import Model
from judgestats.models.postestimation import freedom
from judgestats.models.postestimation.diagnosis import separated, sparse
from judgestats.results import FEW_CALLS, SEPARATION

#: Family -> its links, the default one first.
LINKS = {
    "binomial": ("logit", "probit"),
    "gaussian": ("identity",),
    "poisson": ("log",),
    "cumulative": ("logit", "probit"),
}
#: Options of engines that sample.
SAMPLING: dict[str, Any] = {
    "priors": None, "draws": 1000, "tune": 1000, "chains": 4, "seed": 0, "target_accept": 0.9, "progress": True
}  # fmt: skip
#: More nodes than this gain nothing.
MOST_NODES = 100


def fit(
    formula: str,
    data: Any,
    *,
    family: Literal["binomial", "gaussian", "poisson", "cumulative"] = "binomial",
    link: Literal["logit", "probit", "identity", "log"] | None = None,
    engine: str | Callable[..., Fitted] = "ml",
    reml: bool = False,
    n_quadrature: int | Literal["auto"] = "auto",
    counts: str | Literal[False] | None = None,
    weights: str | None = None,
    thresholds: Literal["free", "symmetric"] = "free",
    thresholds_by: str | Mapping[str, str] | None = None,
    categories: Sequence[Any] | None = None,
    cluster: str | None = None,
    df: str | None = None,
    priors: Mapping[str, Any] | None = None,
    draws: int = 1000,
    tune: int = 1000,
    chains: int = 4,
    seed: int = SEED,
    target_accept: float = 0.9,
    progress: bool = True,
) -> Fit:
    """Fit a model to verdicts, scores or counts.

    Parameters
    ----------
    formula : str
        In the grammar of R's lme4: ``correct ~ strategy * x + (1|item) + (1 + x|judge)``, ``cbind(k, n - k) ~ period``,
        ``choice[first] ~ 1 + (0 + order|pair)``. Random terms may be left out.
    data : frame
        In any engine Narwhals knows.
    family : {"binomial", "gaussian", "poisson", "cumulative"}
        Cumulative: ordered categories, P(Y <= j) = F(θ_j - η).
    link : {"logit", "probit", "identity", "log"}, optional
        By default logit, identity or log.
    engine : str or callable
        ``ml``: our own maximum likelihood, for any crossing and nesting. From statsmodels: ``glm``, ``gee``
        (marginal, cluster-robust), ``ordered``, ``mixedlm``, ``statsmodels`` (its Bayesian mixed GLM, with known
        errors). ``lpm``: a linear mixed model of 0 and 1 by REML, coefficients in probability units. Or a callable of
        a :class:`judgestats.models.ml.Model` that returns a Fitted.
    reml : bool
        Restricted likelihood, for Gaussian models of ``ml`` and ``mixedlm``. ``lpm`` always uses it.
    n_quadrature : int or "auto"
        How random effects are integrated out (``ml``). ``auto``: one scalar random term, such as ``(1|item)``, by the
        trapezoidal rule over each group's posterior, refined until the log likelihood stands still to 1e-6 and the
        estimates to 0.01 standard errors; other random terms by Laplace's approximation; Gaussian models are exact. A
        number: so many nodes of adaptive Gauss-Hermite quadrature for one scalar random term, 1 for Laplace's
        approximation. ``glance()`` says what was used, ``check()`` whether it was fine enough.
    counts : str or False, optional
        The column that says how many identical rows a row stands for, in whole numbers; ``glance()`` names it. By
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
        Order of a cumulative response, lowest first.
    cluster : str, optional
        For ``gee``, the column of the clusters, instead of ``(1|column)`` in the formula.
    df : str, optional
        Degrees of freedom of tests and intervals of fixed effects. ``satterthwaite``: the default of Gaussian mixed
        models (``ml``, ``lpm``). ``normal``: z and χ², the default elsewhere. Or a grouping factor, as ``judge``, for
        few levels of it: effects that vary between its levels have t with as many degrees of freedom as it has levels,
        less the rank of the effects that are constant within them (between-within); those that can be estimated
        within levels keep z. See docs/models.md.
    priors : mapping, optional
        For ``pymc``: parameter, or term -> scale of its prior, as in ``{"strategy": 1.0, "sd(item)": 0.5}``; those not
        named are weakly informative, see :func:`judgestats.models.bayes.priors.priors`. ``summary()`` states them.
    draws, tune, chains, seed : int
        For ``pymc``: kept draws and warm-up draws of each chain, chains, seed.
    target_accept : float
        For ``pymc``: higher is slower and diverges less.
    progress : bool
        For ``pymc``: whether to show progress.

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
        If counts or weights are none, or a column ``n`` could be taken for counts that are not declared.
    FitError
        If the engine cannot fit this model.

    Notes
    -----
    Rows with a missing value in a column that is used are set aside, and counted in ``glance()``. What is doubtful in
    a fit is in its ``notes``, and as rows, with advice, in ``check()``.

    Examples
    --------
    >>> import judgestats as js, pandas as pd
    >>> table = pd.DataFrame({"strategy": ["B0", "B0", "S8", "S8"], "correct": [0, 1, 0, 1], "n": [40, 60, 20, 80]})
    >>> js.fit("correct ~ strategy", table, counts="n").tidy()[["term", "estimate", "std_error"]].round(4)
               term  estimate  std_error
    0     Intercept    0.4055     0.2041
    1  strategy[S8]    0.9808     0.3227
    """
    asked: dict[str, Any] = {
        "family": family,
        "link": link,
        "engine": engine,
        "reml": reml,
        "n_quadrature": n_quadrature,
        "counts": counts,
        "weights": weights,
        "thresholds": thresholds,
        "thresholds_by": thresholds_by,
        "categories": categories,
        "cluster": cluster,
        "df": df,
    }
    sampling: dict[str, Any] = {
        "priors": priors, "draws": draws, "tune": tune, "chains": chains, "seed": seed,
        "target_accept": target_accept, "progress": progress,
    }  # fmt: skip
    call = partial(fit, formula, data, **asked, **sampling)
    run = _engine(engine)
    name = engine if isinstance(engine, str) else getattr(engine, "__name__", "callable")
    choose(family, FAMILIES, "family")
    link = choose(link, LINKS[family], f"family={family!r}: link") if link is not None else LINKS[family][0]  # type: ignore[assignment]
    _refuse_options(run, name, family, str(link), reml, n_quadrature, weights, cluster)
    _refuse_sampling(run, name, sampling)
    if run.samples and df is not None:
        raise FitError(f"engine={name!r} has no degrees of freedom: its intervals are of draws. Leave df= out.")
    kinds = _threshold_columns(run, name, family, thresholds, thresholds_by)
    also = [*kinds.values(), *([cluster] if cluster else [])]
    if weights is not None:
        refuse_share(parse(formula), family, weights)
    coded = design(formula, data, family=family, weights=weights, categories=categories, also=also, counts=counts)
    freedom.refuse(df, coded, family, name)
    model, partition = _model(coded, family, str(link), reml, n_quadrature, thresholds, kinds)
    own = {"cluster": cluster} if run.clusters else sampling if run.samples else {}
    fitted = run.fit(model, **own)
    options = {**asked, "link": link, "partition": partition, **fitted.options}
    return as_fit(_noted(replace(fitted, engine=name, options=options)), call)


def as_fit(fitted: Fitted, call: partial[Fit] | None = None) -> Fit:
    """Give a fitted model its verbs.

    Parameters
    ----------
    fitted : Fitted
    call : functools.partial, optional
        The call that made it.
    """
    return Fit(**{f.name: getattr(fitted, f.name) for f in fields(Fitted)}, call=call)


def _noted(fitted: Fitted) -> Fitted:
    """The same, with what the data say against it."""
    runaway = () if "draws" in fitted.options else separated(fitted)  # priors hold what runs away
    few = any(sparse(fitted))
    notes = (*fitted.notes, *([SEPARATION] if runaway else []), *([FEW_CALLS] if few else []))
    return replace(fitted, notes=tuple(dict.fromkeys(notes)), options={**fitted.options, "separated": runaway})


def _engine(engine: Any) -> Engine:
    if callable(engine):
        return Engine(
            engine, FAMILIES, ("logit", "probit", "identity", "log"), reml=True, quadrature=True, weights=True
        )
    return ENGINES[choose(engine, ENGINES, "engine")]


def _refuse_options(
    run: Engine, name: str, family: str, link: str, reml: bool, n_quadrature: Any, weights: Any, cluster: Any
) -> None:
    """Refuse what the engine does not know; nothing asked for is ignored."""
    if family not in run.families:
        fitting = [n for n, e in ENGINES.items() if family in e.families]
        raise FitError(
            f"engine={name!r} fits family={' or '.join(map(repr, run.families))}, got {family!r}. Engines for it: "
            f"{', '.join(fitting)}."
        )
    if link not in run.links:
        raise FitError(f"engine={name!r} has link={' or '.join(map(repr, run.links))}, got {link!r}. Use engine='ml'.")
    if reml and not (run.reml and family == "gaussian"):
        raise DesignError(
            f"reml=True is for Gaussian models of the engines ml and mixedlm; got family={family!r}, engine={name!r}. "
            "Leave it out."
        )
    number = isinstance(n_quadrature, int) and not isinstance(n_quadrature, bool)
    if n_quadrature != "auto" and not (number and 1 <= n_quadrature <= MOST_NODES):
        raise DesignError(
            f'n_quadrature={n_quadrature!r} is no number of nodes. Allowed: "auto", or 1 (Laplace\'s approximation) to '
            f"{MOST_NODES}."
        )
    if n_quadrature not in (1, "auto") and (not run.quadrature or family == "gaussian"):
        why = "A Gaussian likelihood is exact" if family == "gaussian" else f"engine={name!r} has no quadrature"
        raise DesignError(f"{why}: n_quadrature={n_quadrature} has no use there. Leave it out.")
    if weights is not None and not run.weights:
        raise FitError(f'engine={name!r} takes no weights=. Counts of identical rows are declared: counts="n".')
    if cluster is not None and not run.clusters:
        raise FitError(f"engine={name!r} takes no cluster=. Write (1|{cluster}) in the formula, or use engine='gee'.")


def _refuse_sampling(run: Engine, name: str, sampling: dict[str, Any]) -> None:
    """Refuse options of sampling where nothing is sampled, and those that are no numbers."""
    if not run.samples:
        extra = [key for key, value in sampling.items() if value != SAMPLING[key]]
        if extra:
            raise FitError(f"engine={name!r} samples nothing: it takes no {extra[0]}=. Use engine='pymc'.")
        return
    for key, least in (("draws", 4), ("tune", 1), ("chains", 1), ("seed", 0)):
        value = sampling[key]
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise DesignError(f"{key}={value!r} is no such number. Allowed: {least}, {least + 1}, ...")
    if not 0 < sampling["target_accept"] < 1:
        raise DesignError(f"target_accept={sampling['target_accept']!r} lies outside (0, 1). Use 0.9, or 0.99.")


def _threshold_columns(run: Engine, name: str, family: str, thresholds: str, thresholds_by: Any) -> dict[str, str]:
    choose(thresholds, THRESHOLDS, "thresholds")
    asked = thresholds != "free" or thresholds_by is not None
    if asked and family != "cumulative":
        raise DesignError(
            f"thresholds= and thresholds_by= are for family='cumulative', got {family!r}. Leave them out."
        )
    if asked and not run.shapes:
        raise FitError(f"engine={name!r} has free thresholds, the same in all rows. Use engine='ml'.")
    return by_kind(thresholds_by, thresholds)


def _model(
    coded: Design,
    family: str,
    link: str,
    reml: bool,
    n_quadrature: int | Literal["auto"],
    shape: str,
    kinds: dict[str, str],
) -> tuple[Model, Partition]:
    partition = Partition.of(kinds, coded.frame)
    refuse_twice(partition, coded)
    own = partition.thresholds(coded.categories, link, shape)
    part = partition.codes(coded.frame)
    return Model(coded, family, link, reml, n_quadrature, own, part), partition
