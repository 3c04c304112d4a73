"""Variance components and intraclass correlations of scores, with posterior intervals: :func:`agreement`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.arguments import checked_arguments
from judgestats.counting.cells import ABOUT, cells
from judgestats.counting.splitting import as_runs
from judgestats.defaults import CONF_LEVEL, SEED
from judgestats.errors import DesignError, choose
from judgestats.models.bayes.centred_priors import CentredPrior, prior_of
from judgestats.models.bayes.draws import Draws, TopParameter
from judgestats.models.bayes.importance_sampling import integrated
from judgestats.models.bayes.replicates import spread_table, spreads
from judgestats.models.bayes.sampling import Sampling, pymc, sampling_options
from judgestats.models.designs import design
from judgestats.models.hierarchical.crossed import weight_flags
from judgestats.models.hierarchical.posterior_checks import convergence, finding, predictive
from judgestats.models.hierarchical.posteriors import Posterior, prior_table, result, row, tabled
from judgestats.models.specifications import Model
from judgestats.schema.columns import By
from judgestats.typing import Floats, Ints, Record

#: Parameter -> its meaning.
MEANINGS = {
    "level": "mean score, relative to the mean of the data",
    "subject": "sd of the subjects: differences in what is rated",
    "judge": "sd of the judges: differences in severity",
    "residual": "residual sd, judge-by-subject interaction included",
}


def read(ratings: IntoFrame, subjects: list[str], facets: list[str]) -> tuple[pd.DataFrame, list[str]]:
    """Mean score of each subject, as one label, judge and level of the facets; flags of all estimates."""
    if twice := [c for c in subjects if c in facets or c == "judge"] + [c for c in facets if c == "judge"]:
        raise DesignError(f"{twice[0]!r} is used twice among subjects=, facets= and the judges. Name it once.")
    if wrong := [c for c in facets if c in MEANINGS]:
        raise DesignError(f"A facet cannot be called {wrong[0]!r} here. Rename the column.")
    table = cells(ratings, [c for c in (*subjects, *facets) if c not in ABOUT])
    missing = float(table["n_missing"].sum()) if "n_missing" in table else 0.0
    valid = table[table["mean"].notna()]
    keys = [*subjects, *facets, "judge"]
    notes = [
        flags.N_SCORES_EXCLUDED.of(missing),
        flags.REPLICATES_AVERAGED if (valid["runs"] > 1).any() else "",
        *(flags.AVERAGED_OVER.of(what=c) for c in ABOUT if c not in keys and valid[c].nunique() > 1),
    ]
    table = valid.groupby(keys, as_index=False, observed=True, sort=True)["mean"].mean()
    subject = table[subjects].astype(str).agg("\x1f".join, axis=1) if len(table) else pd.Series([], dtype=str)
    levels = [subject.nunique(), *(table[c].nunique() for c in (*facets, "judge"))]
    return table.assign(subject=subject), notes + [flags.INCOMPLETE_DESIGN] * (len(table) != int(np.prod(levels)))


@dataclass(frozen=True)
class Scores:
    """N scores with their subjects, judges and facets, to the model factors alike: so no panel."""

    y: Floats  # (N,): minus `centre`
    codes: Mapping[str, Ints]  # (N,): level of each score in ``subject``, ``judge`` and the facets
    centre: float = 0.0

    @property
    def sizes(self) -> dict[str, int]:
        """Levels of each factor."""
        return {k: int(c.max()) + 1 for k, c in self.codes.items()}


@checked_arguments
def agreement(
    ratings: IntoFrame,
    *,
    subjects: str | Sequence[str] = ("system", "item"),
    facets: str | Sequence[str] = (),
    average_over: By = (),
    priors: Mapping[str, Any] | None = None,
    sampling: Sampling | None = None,
    conf_level: float = CONF_LEVEL,
) -> Posterior:
    """Variance components of scores and intraclass correlations, with posterior intervals.

    ``score = level + subject + judge + facets + residual``; all terms except the level are random and independent.

    Parameters
    ----------
    ratings : frame
        Ratings in any engine, raw or averaged over runs (``mean``), complete or not. Runs are averaged first, then
        everything that is neither subject, judge nor facet.
    subjects : str or sequence of str
        What is rated: a column, or several whose combinations are the subjects.
    facets : str or sequence of str
        Further columns with their own variance, such as ``criterion``; crossed, without interactions.
    average_over : str or sequence of str
        Columns of ratings averaged over, as in :func:`judgestats.score_matrix`.
    priors : mapping, optional
        ``level`` (scale of a normal about the mean score), ``subject``, ``judge``, ``residual`` and the facets (scale
        of a half-normal of the sd, or ``(scale, df)`` of a half-t). The default scale is the sd of the scores, and ten
        times that for the level.
    sampling : mapping, optional
        ``draws`` (4000 in total) and ``seed`` (0) of the importance sampler.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    Posterior
        Rows ``subject``, ``judge``, the facets and ``residual`` (variances; posterior means, and the ``median``),
        ``ICC(1,1)`` (of the one-way model, absent with facets), ``ICC(2,1)``, ``ICC(3,1)``, ``ICC(2,k)``. ``n`` is the
        number of levels, and of scores for the residual. With facets, an ICC refers to scores at one level of each
        facet, whose variance counts as error in ICC(2,.).

    Raises
    ------
    SchemaError
        If a column is missing.
    DesignError
        If a column is used twice, or a prior is not valid.

    See Also
    --------
    judgestats.icc : Intraclass correlations.
    judgestats.variance_components : Variance by judge, system and item.

    Notes
    -----
    Only the standard deviations are drawn: the random effects are integrated out exactly. A component whose posterior
    is nearly as wide as its prior is flagged ``prior-driven``, as is every coefficient that uses it. With few judges
    this holds for their variance. NaN with a flag: one judge, one subject, constant scores, scores without residual.

    References
    ----------
    Gelman, A. (2006). Prior distributions for variance parameters in hierarchical models. Bayesian Analysis, 1.
    Shrout, P. E., & Fleiss, J. L. (1979). Intraclass correlations. Psychological Bulletin, 86, 420-428.

    Examples
    --------
    >>> rows = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> scores = pd.DataFrame([{"judge": j, "system": "s", "item": i, "score": x}
    ...                        for i, row in enumerate(rows) for j, x in enumerate(row)])
    >>> found = agreement(scores)  # doctest: +SKIP
    >>> found.table.set_index("term").loc["ICC(3,1)", ["conf_low", "conf_high"]]  # doctest: +SKIP
    """
    facets = [facets] if isinstance(facets, str) else list(facets)
    ratings = as_runs(ratings, average_over, facets)
    table, notes = read(ratings, [subjects] if isinstance(subjects, str) else list(subjects), facets)
    y = table["mean"].to_numpy(dtype=float)
    codes = {c: pd.factorize(table[c], sort=True)[0].astype(np.int64) for c in ("subject", "judge", *facets)}
    centre = float(y.mean()) if len(y) else 0.0
    data = Scores(y - centre, codes, centre)
    chosen = _component_priors(data, priors or {})
    laws = {n: (str(p), MEANINGS.get(n, f"sd of {n}")) for n, p in chosen.items()}
    if reason := _not_estimable(data):
        return _empty(data, prior_table(laws), reason)
    options = sampling_options(sampling, draws=4000)
    for name in sampling or {}:
        choose(name, ("draws", "seed"), "sampling: option")
    draws, seed = options["draws"], options["seed"]
    sample = posterior(data, chosen, draws=draws, seed=seed)
    k, sizes = data.sizes["judge"], data.sizes
    few = flags.FEW_RATERS if k < 10 else ""
    sds = {name: sample.values[name] for name in (*data.codes, "residual")}
    driven = {name: flags.PRIOR_DRIVEN if chosen[name].decides(v) else "" for name, v in sds.items()}
    count = {**sizes, "residual": len(data.y)}
    rows = [
        _component_row(name, v**2, sample, conf_level, count[name], *notes, driven[name]) for name, v in sds.items()
    ]
    checks = []
    if not facets:
        one_way = Scores(data.y, {"subject": data.codes["subject"]}, data.centre)
        one = posterior(one_way, chosen, draws=draws, seed=seed)
        checks += convergence(one, prior_table(laws), "ICC(1,1)")
        value = one.values["subject"] ** 2 / (one.values["subject"] ** 2 + one.values["residual"] ** 2)
        rows.append(_component_row("ICC(1,1)", value, one, conf_level, sizes["subject"], *notes))
    for name, value in correlations(sds, k).items():
        used = ("subject", "residual") if name == "ICC(3,1)" else tuple(sds)
        rows.append(
            _component_row(name, value, sample, conf_level, sizes["subject"], *notes, few, *(driven[u] for u in used))
        )
    question = f"How much of the scores of {k} judges is about the {sizes['subject']} subjects?"
    again = _replicated_spreads(data, sample, seed)
    checks += predictive("extremes and quartiles", spreads(data.y[None])[0], again)
    rng = np.random.default_rng(seed + 2)
    before = spreads(np.stack([prior_draw(data, chosen, rng)[1] for _ in again]))
    predicted = spread_table(data.y + data.centre, again + data.centre, before + data.centre, draws=sample.method)
    return result(question, tabled(rows, [], ("median",)), sample, laws, checks, predicted)


def correlations(sds: Mapping[str, Floats], k: int) -> dict[str, Floats]:
    """ICC(2,1), ICC(3,1) and ICC(2,k) with k judges, from the sds of subject, judge, facets and residual."""
    v = {name: s**2 for name, s in sds.items()}
    other = sum((x for name, x in v.items() if name not in ("subject", "judge", "residual")), np.zeros(()))
    return {
        "ICC(2,1)": v["subject"] / (v["subject"] + v["judge"] + other + v["residual"]),
        "ICC(3,1)": v["subject"] / (v["subject"] + v["residual"]),
        "ICC(2,k)": v["subject"] / (v["subject"] + other + (v["judge"] + v["residual"]) / k),
    }


def posterior(data: Scores, priors: Mapping[str, CentredPrior], *, draws: int = 1000, seed: int = SEED) -> Draws:
    """Draw ``level`` and the sds ``subject``, ``judge``, facets and ``residual``; random effects are integrated out."""
    columns = {f"f{i}": c for i, c in enumerate(data.codes.values())}
    frame = pd.DataFrame({"y": data.y, **{k: c.astype(str) for k, c in columns.items()}})
    coded = design("y ~ 1 + " + " + ".join(f"(1|{c})" for c in columns), frame, family="gaussian")
    names = {"Intercept": "level", "sd(residual)": "residual"}
    names |= {f"sd({c})": name for c, name in zip(columns, data.codes, strict=True)}
    laws = {term: priors[name] for term, name in names.items()}
    overrides = {term: p.scale if p.df is None else (p.scale, p.df) for term, p in laws.items()}
    sample = integrated(Model(coded, "gaussian", "identity"), overrides, draws=draws, seed=seed)
    order = ["level", *data.codes, "residual"]
    values = {names[k]: v for k, v in sample.values.items()}
    # the level is integrated out of the likelihood, so only the sds have priors to check
    top_parameters = tuple(TopParameter(k, values[k], priors[k]) for k in order[1:])
    return replace(
        sample, values={k: values[k] for k in order}, labels=dict.fromkeys(order, ()), top_parameters=top_parameters
    )


def model(data: Scores, priors: Mapping[str, CentredPrior]) -> Any:
    """The same model in PyMC, with random effects sampled in the non-centred parameterization."""
    pm = pymc()
    with pm.Model() as result:
        mean = priors["level"].pymc(pm, "level")
        for name, code in data.codes.items():
            sd = priors[name].pymc(pm, name)
            mean = mean + (sd * pm.Normal(f"{name}_raw", 0.0, 1.0, shape=data.sizes[name]))[code]
        pm.Normal("y", mean, priors["residual"].pymc(pm, "residual"), observed=data.y)
    return result


def prior_draw(
    data: Scores, priors: Mapping[str, CentredPrior], rng: np.random.Generator
) -> tuple[dict[str, float], Floats]:
    """Parameters drawn from the prior, and scores (N,) of the same design drawn from them."""
    parameters = {name: float(priors[name].draw(rng)) for name in ("level", *data.codes, "residual")}
    return parameters, parameters["level"] + _noise(data, parameters, rng)


def _noise(data: Scores, parameters: Mapping[str, float], rng: np.random.Generator) -> Floats:
    y = parameters["residual"] * rng.standard_normal(len(data.y))
    for name, code in data.codes.items():
        y += parameters[name] * rng.standard_normal(data.sizes[name])[code]
    return y


def _component_priors(data: Scores, overrides: Mapping[str, object]) -> dict[str, CentredPrior]:
    names = ("level", *data.codes, "residual")
    if unknown := [n for n in overrides if n not in names]:
        raise DesignError(f"priors has {unknown[0]!r}, which is not a parameter. Parameters: {', '.join(names)}.")
    unit = float(data.y.std(ddof=1)) if len(data.y) > 1 and np.ptp(data.y) > 0 else 1.0
    priors = {n: prior_of(overrides.get(n, 10 * unit if n == "level" else unit), n, half=n != "level") for n in names}
    if priors["level"].df is not None:
        raise DesignError("priors['level'] is the scale of a normal. Give one number.")
    return priors


def _not_estimable(data: Scores) -> str:
    """Flag that says why there are no estimates, or an empty string."""
    if len(data.y) < 2 or np.ptp(data.y) == 0:
        return flags.CONSTANT
    lacking: list[tuple[int, str]] = [
        (data.sizes["judge"], flags.ONE_RATER),
        (data.sizes["subject"], flags.ONE_SUBJECT),
    ]
    lacking += [(n, flags.ONE_LEVEL_OF.of(what=k)) for k, n in data.sizes.items() if k not in ("judge", "subject")]
    if few := [flag for n, flag in lacking if n < 2]:
        return few[0]
    if len(data.y) <= max(data.sizes.values()):
        return flags.COMPONENTS_NOT_IDENTIFIABLE
    rest = data.y.copy()
    for _ in range(200):  # least squares, factor by factor
        for code in data.codes.values():
            rest -= (np.bincount(code, rest) / np.bincount(code))[code]
    return flags.NO_RESIDUAL if rest @ rest < 1e-12 * (data.y @ data.y) else ""


def _empty(data: Scores, priors: pd.DataFrame, why: str) -> Posterior:
    names = (*data.codes, "residual", "ICC(2,1)", "ICC(3,1)", "ICC(2,k)")
    table = tabled([{"term": n, "n": len(data.y), "flag": why} for n in names], [], ("median",))
    sizes = ", ".join(f"{n} {k}{'s' * (n != 1)}" for k, n in data.sizes.items()) if len(data.y) else "none"
    checks = pd.DataFrame([finding(f"scores ({sizes})", float(len(data.y)), why)])
    return Posterior("What is the agreement of the judges?", table, priors, checks, Draws({}, {}, 0, "no posterior"))


def _component_row(term: str, values: Floats, draws: Draws, conf_level: float, n: float, *notes: str) -> Record:
    estimate = row(term, values, draws, conf_level=conf_level, n=n, flag=flags.join(*notes, *weight_flags(draws)))
    return {**estimate, "median": float(np.median(values))}


def _replicated_spreads(data: Scores, draws: Draws, seed: int) -> Floats:
    """Lowest, quartile and highest score in 200 replicated data sets, with new subjects and judges, (200, 5)."""
    rng = np.random.default_rng(seed + 1)
    flat = {name: draws.flat(name) for name in draws.values}
    which = np.linspace(0, len(flat["level"]) - 1, 200).astype(int)
    scores = [flat["level"][s] + _noise(data, {k: float(v[s]) for k, v in flat.items()}, rng) for s in which]
    return spreads(np.stack(scores))
