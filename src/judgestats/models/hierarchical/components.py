"""How much of what judges say is about the subjects, with all its uncertainty: :func:`agreement`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray

from judgestats.defaults import CONF_LEVEL, SEED
from judgestats.errors import DesignError, choose, confidence
from judgestats.models.bayes.draws import Draws, Sampling, Top, pymc, sampling_options, spread_beside, spreads
from judgestats.models.bayes.grids import integrated
from judgestats.models.bayes.scales import Prior, prior_of
from judgestats.models.designs import design
from judgestats.models.hierarchical.crossed import weight_flags
from judgestats.models.hierarchical.posteriors import (
    Posterior,
    convergence,
    finding,
    foreseen,
    predictive,
    prior_table,
    row,
    tabled,
)
from judgestats.models.ml import Model
from judgestats.results import (
    AVERAGED_OVER,
    COMPONENTS_NOT_IDENTIFIABLE,
    CONSTANT,
    FEW_RATERS,
    INCOMPLETE_DESIGN,
    N_SCORES_EXCLUDED,
    NO_RESIDUAL,
    ONE_LEVEL_OF,
    ONE_RATER,
    ONE_SUBJECT,
    PRIOR_DRIVEN,
    REPLICATES_AVERAGED,
    flags,
)
from judgestats.schema.cells import ABOUT, cells
from judgestats.schema.columns import By
from judgestats.schema.splitting import as_runs

# ---- Ratings as one mean score for each subject, judge and level of the facets ---------------------------------------

#: What each parameter is.
MEANINGS = {
    "level": "mean score, about the middle of the data",
    "subject": "sd of the subjects: what the scores are about",
    "judge": "sd of the judges: how severe they are",
    "residual": "sd of the rest, the judges' tastes included",
}


def read(ratings: Any, subjects: list[str], facets: list[str]) -> tuple[pd.DataFrame, list[str]]:
    """Mean score of each subject, judge and level of the facets, the subject as one label; and flags of all estimates.

    `subjects`, `facets`: columns.
    """
    if twice := [c for c in subjects if c in facets or c == "judge"] + [c for c in facets if c == "judge"]:
        raise DesignError(f"{twice[0]!r} has two parts to play among subjects=, facets= and the judges. Drop one.")
    if wrong := [c for c in facets if c in MEANINGS]:
        raise DesignError(f"A facet cannot be called {wrong[0]!r} here. Rename the column.")
    table = cells(ratings, [c for c in (*subjects, *facets) if c not in ABOUT])
    missing = float(table["n_missing"].sum()) if "n_missing" in table else 0.0
    known = table[table["mean"].notna()]
    keys = [*subjects, *facets, "judge"]
    doubts = [
        N_SCORES_EXCLUDED.of(missing),
        REPLICATES_AVERAGED if (known["runs"] > 1).any() else "",
        *(AVERAGED_OVER.of(what=c) for c in ABOUT if c not in keys and known[c].nunique() > 1),
    ]
    table = known.groupby(keys, as_index=False, observed=True, sort=True)["mean"].mean()
    subject = table[subjects].astype(str).agg("\x1f".join, axis=1) if len(table) else pd.Series([], dtype=str)
    return table.assign(subject=subject), doubts + [INCOMPLETE_DESIGN] * (not _complete(table, subject, facets))


def _complete(table: pd.DataFrame, subject: pd.Series[Any], facets: list[str]) -> bool:
    levels = [subject.nunique(), *(table[c].nunique() for c in (*facets, "judge"))]
    return len(table) == int(np.prod(levels))


# ---- How much of what judges say is about the subjects, with all its uncertainty: :func:`agreement` ------------------

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Scores:
    """Scores of subjects by judges. N scores.

    `y` (N,): about `centre`.
    `codes` (N,): ``subject``, ``judge`` and the facets: level of each score.
    """

    y: Floats
    codes: Mapping[str, Ints]
    centre: float = 0.0

    @property
    def sizes(self) -> dict[str, int]:
        """Levels of each factor."""
        return {k: int(c.max()) + 1 for k, c in self.codes.items()}


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

    ``score = level + subject + judge + facets + residual``, all but the level random and independent.

    Parameters
    ----------
    ratings : frame
        Ratings in any engine, raw or averaged over runs (``mean``), complete or not. Runs are averaged first, then
        whatever is neither subject, judge nor facet.
    subjects : str or sequence of str
        What is rated: a column, or several whose combinations are the subjects.
    facets : str or sequence of str
        Further columns with a variance of their own, such as ``criterion``; crossed, without interactions.
    average_over : str or sequence of str
        Columns of ratings averaged over, as in :func:`judgestats.score_matrix`.
    priors : mapping, optional
        ``level`` (scale of a normal about the mean score), ``subject``, ``judge``, ``residual`` and the facets (scale
        of a half-normal of the sd, or ``(scale, df)`` of a half-t). By default the sd of the scores; 10 of them for the
        level.
    sampling : mapping, optional
        ``draws`` (4000 in all) and ``seed`` (0) of the importance sampler.
    conf_level : float

    Returns
    -------
    Posterior
        Rows ``subject``, ``judge``, the facets and ``residual`` (variances; posterior means, and the ``median``),
        ``ICC(1,1)`` (of the one-way model, absent with facets), ``ICC(2,1)``, ``ICC(3,1)``, ``ICC(2,k)``. ``n`` counts
        levels, for the residual scores. With facets an ICC is that of scores at one level of each facet, whose
        variance counts as error in ICC(2,.).

    Raises
    ------
    SchemaError
        If a column is missing.
    DesignError
        If a column has two parts to play, or a prior is none.

    Notes
    -----
    Nothing is sampled but the few standard deviations: the random effects integrate out, exactly. A component whose
    posterior is nearly as wide as its prior is flagged ``prior-driven``; so is what hangs on it. With few judges that
    is their variance. NaN with a flag: one judge, one subject, constant scores, scores without residual.

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
    confidence(conf_level)
    facets = [facets] if isinstance(facets, str) else list(facets)
    ratings = as_runs(ratings, average_over, facets)
    table, doubts = read(ratings, [subjects] if isinstance(subjects, str) else list(subjects), facets)
    data = _coded(table, facets)
    chosen = _priors(data, priors or {})
    nothing = _nothing(data)
    if nothing:
        return _empty(data, chosen, nothing)
    options = sampling_options(sampling, draws=4000)
    for name in sampling or {}:
        choose(name, ("draws", "seed"), "sampling: option")
    draws, seed = options["draws"], options["seed"]
    found = posterior(data, chosen, draws=draws, seed=seed)
    k, sizes = data.sizes["judge"], data.sizes
    doubt = flags(*doubts, FEW_RATERS if k < 10 else "")
    own = {name: found.values[name] for name in (*data.codes, "residual")}
    driven = {name: chosen[name].decides(v) for name, v in own.items()}
    count = {**sizes, "residual": len(data.y)}
    rows = [
        _row(name, v**2, conf_level, count[name], found, flags(*doubts, PRIOR_DRIVEN if driven[name] else ""))
        for name, v in own.items()
    ]
    checks = [*convergence(found, _told(chosen)), *foreseen(found)]
    if not facets:
        alone = Scores(data.y, {"subject": data.codes["subject"]}, data.centre)
        one = posterior(alone, chosen, draws=draws, seed=seed)
        checks += convergence(one, _told(chosen), "ICC(1,1)")
        value = one.values["subject"] ** 2 / (one.values["subject"] ** 2 + one.values["residual"] ** 2)
        rows.append(_row("ICC(1,1)", value, conf_level, sizes["subject"], one, flags(*doubts)))
    for name, value in correlations(own, k).items():
        used = ("subject", "residual") if name == "ICC(3,1)" else tuple(own)
        by_prior = PRIOR_DRIVEN if any(driven[u] for u in used) else ""
        rows.append(_row(name, value, conf_level, sizes["subject"], found, flags(doubt, by_prior)))
    question = f"How much of the scores of {k} judges is about the {sizes['subject']} subjects?"
    seen, again = spreads(data.y[None]), _replicated(data, found, seed)
    checks += predictive("extremes and quartiles", seen[0], again)
    rng = np.random.default_rng(seed + 2)
    before = spreads(np.stack([prior_draw(data, chosen, rng)[1] for _ in again]))
    predicted = spread_beside(data.y + data.centre, again + data.centre, before + data.centre, draws=found.method)
    return Posterior(question, tabled(rows, [], ("median",)), _told(chosen), pd.DataFrame(checks), found, predicted)


def correlations(sds: Mapping[str, Floats], k: int) -> dict[str, Floats]:
    """ICC(2,1), ICC(3,1) and ICC(2,k) of standard deviations.

    `sds`: ``subject``, ``judge``, ``residual`` and the facets. `k`: judges.
    """
    v = {name: s**2 for name, s in sds.items()}
    other = sum((x for name, x in v.items() if name not in ("subject", "judge", "residual")), np.zeros(()))
    return {
        "ICC(2,1)": v["subject"] / (v["subject"] + v["judge"] + other + v["residual"]),
        "ICC(3,1)": v["subject"] / (v["subject"] + v["residual"]),
        "ICC(2,k)": v["subject"] / (v["subject"] + other + (v["judge"] + v["residual"]) / k),
    }


def posterior(data: Scores, priors: Mapping[str, Prior], *, draws: int = 1000, seed: int = SEED) -> Draws:
    """Draw ``level``, ``subject``, ``judge``, the facets and ``residual`` (sds), random effects integrated out.

    `priors`: of each.
    """
    columns = {f"f{i}": c for i, c in enumerate(data.codes.values())}
    frame = pd.DataFrame({"y": data.y, **{k: c.astype(str) for k, c in columns.items()}})
    coded = design("y ~ 1 + " + " + ".join(f"(1|{c})" for c in columns), frame, family="gaussian")
    names = {"Intercept": "level", "sd(residual)": "residual"}
    names |= {f"sd({c})": name for c, name in zip(columns, data.codes, strict=True)}
    own = {theirs: priors[ours] for theirs, ours in names.items()}
    asked = {name: p.scale if p.df is None else (p.scale, p.df) for name, p in own.items()}
    found = integrated(Model(coded, "gaussian", "identity"), asked, draws=draws, seed=seed)
    order = ["level", *data.codes, "residual"]
    values = {names[k]: v for k, v in found.values.items()}
    # the level integrates out of the likelihood: the sds alone stand at the top
    tops = tuple(Top(k, values[k], priors[k]) for k in order[1:])
    return replace(found, values={k: values[k] for k in order}, labels=dict.fromkeys(order, ()), tops=tops)


def model(data: Scores, priors: Mapping[str, Prior]) -> Any:
    """The same model for PyMC, random effects sampled, not centred."""
    pm = pymc()
    with pm.Model() as result:
        mean = priors["level"].pymc(pm, "level")
        for name, code in data.codes.items():
            sd = priors[name].pymc(pm, name)
            mean = mean + (sd * pm.Normal(f"{name}_raw", 0.0, 1.0, shape=data.sizes[name]))[code]
        pm.Normal("y", mean, priors["residual"].pymc(pm, "residual"), observed=data.y)
    return result


def prior_draw(data: Scores, priors: Mapping[str, Prior], rng: np.random.Generator) -> tuple[dict[str, float], Floats]:
    """Parameters drawn from the prior, and scores drawn from them.

    `data`: only its design is used. Returns `y` (N,).
    """
    own = {name: float(priors[name].draw(rng)) for name in ("level", *data.codes, "residual")}
    return own, own["level"] + _noise(data, own, rng)


def _noise(data: Scores, own: Mapping[str, float], rng: np.random.Generator) -> Floats:
    y = own["residual"] * rng.standard_normal(len(data.y))
    for name, code in data.codes.items():
        y += own[name] * rng.standard_normal(data.sizes[name])[code]
    return y


def _coded(table: pd.DataFrame, facets: list[str]) -> Scores:
    y = table["mean"].to_numpy(dtype=float)
    codes = {c: pd.factorize(table[c], sort=True)[0].astype(np.int64) for c in ("subject", "judge", *facets)}
    centre = float(y.mean()) if len(y) else 0.0
    return Scores(y - centre, codes, centre)


def _priors(data: Scores, given: Mapping[str, Any]) -> dict[str, Prior]:
    names = ("level", *data.codes, "residual")
    if unknown := [n for n in given if n not in names]:
        raise DesignError(f"priors has {unknown[0]!r}, which is no parameter. Parameters: {', '.join(names)}.")
    unit = float(data.y.std(ddof=1)) if len(data.y) > 1 and np.ptp(data.y) > 0 else 1.0
    found = {n: prior_of(given.get(n, 10 * unit if n == "level" else unit), n, half=n != "level") for n in names}
    if found["level"].df is not None:
        raise DesignError("priors['level'] is the scale of a normal. Give one number.")
    return found


def _nothing(data: Scores) -> str:
    """Why nothing can be said, or an empty string."""
    if len(data.y) < 2 or np.ptp(data.y) == 0:
        return CONSTANT
    lacking: list[tuple[int, str]] = [(data.sizes["judge"], ONE_RATER), (data.sizes["subject"], ONE_SUBJECT)]
    lacking += [(n, ONE_LEVEL_OF.of(what=k)) for k, n in data.sizes.items() if k not in ("judge", "subject")]
    if few := [told for n, told in lacking if n < 2]:
        return few[0]
    if len(data.y) <= max(data.sizes.values()):
        return COMPONENTS_NOT_IDENTIFIABLE
    rest = data.y.copy()
    for _ in range(200):  # least squares, factor by factor
        for code in data.codes.values():
            rest -= (np.bincount(code, rest) / np.bincount(code))[code]
    return NO_RESIDUAL if rest @ rest < 1e-12 * (data.y @ data.y) else ""


def _empty(data: Scores, priors: Mapping[str, Prior], why: str) -> Posterior:
    names = (*data.codes, "residual", "ICC(2,1)", "ICC(3,1)", "ICC(2,k)")
    table = tabled([{"term": n, "n": len(data.y), "flag": why} for n in names], [], ("median",))
    sizes = ", ".join(f"{n} {k}{'s' * (n != 1)}" for k, n in data.sizes.items()) if len(data.y) else "none"
    told = finding(f"scores ({sizes})", float(len(data.y)), why)
    nothing = Draws({}, {}, 0, "no posterior")
    return Posterior("What is the agreement of the judges?", table, _told(priors), pd.DataFrame([told]), nothing)


def _row(term: str, values: Floats, conf_level: float, n: float, found: Draws, flag: str) -> dict[str, Any]:
    told = flags(flag, *weight_flags(found))
    chains = np.isnan(found.pareto_k)
    made = row(term, values, conf_level=conf_level, n=n, method=found.method, flag=told, chains=chains, draws=found)
    return {**made, "median": float(np.median(values))}


def _replicated(data: Scores, found: Draws, seed: int) -> Floats:
    """Lowest, quartile and highest scores of 200 sets of scores drawn anew, subjects and judges too, (200, 5)."""
    rng = np.random.default_rng(seed + 1)
    flat = {name: found.flat(name) for name in found.values}
    which = np.linspace(0, len(flat["level"]) - 1, 200).astype(int)
    made = [flat["level"][s] + _noise(data, {k: float(v[s]) for k, v in flat.items()}, rng) for s in which]
    return spreads(np.stack(made))


def _told(priors: Mapping[str, Prior]) -> pd.DataFrame:
    return prior_table({n: (str(p), MEANINGS.get(n, f"sd of {n}")) for n, p in priors.items()})
