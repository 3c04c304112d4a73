"""Estimated marginal means, their grid, contrasts of them, and adjustment for several of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import chdtri, ndtr, ndtri

from judgestats import flags
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, choose, suggestion
from judgestats.kernels.clusters import effective_clusters
from judgestats.models.coding.frames import label
from judgestats.models.families import LINKS
from judgestats.models.fitted import Fitted
from judgestats.models.likelihood.compression import Posterior
from judgestats.models.postestimation import freedom
from judgestats.models.postestimation.delta import cautions, normal_quantile, spread, trusted
from judgestats.models.postestimation.freedom import t_quantile, two_sided
from judgestats.models.postestimation.margining import NUMBERS, inference, levels_of
from judgestats.models.postestimation.prediction import (
    Mean,
    Rows,
    conditional,
    estimable,
    gradient,
    limits,
    mean,
    parted,
    parts,
    rows_of,
    scale_of,
)
from judgestats.schema.columns import names
from judgestats.typing import Floats, Mask

# ---- p values and quantiles of several contrasts together, normal or t -----------------------------------------------


ADJUSTMENTS = ("holm", "tukey", "dunnett", "bonferroni", "none")
#: Points of the lattice.
POINTS = 32749
#: Nodes over χ.
CHI = 48


def adjusted(
    statistic: Floats, adjust: str, conf_level: float, means: int, covariance: Floats, df: Any = np.inf
) -> tuple[Floats, Floats]:
    """Adjusted p values of a family (K,) with degrees of freedom `df`, and the quantiles of its intervals.

    A NaN is not of the family. ``holm`` has intervals by Bonferroni, for Holm's have no simultaneous ones; `means` are
    those that ``tukey`` compares pairwise; `covariance` (K, K) is for ``dunnett``. A joint distribution of several has
    the degrees of freedom of the contrast it is asked for, as in emmeans.
    """
    from scipy.stats import studentized_range

    z, df = np.abs(statistic), np.broadcast_to(np.asarray(df, float), np.shape(statistic))
    known = np.isfinite(z)
    p, k = two_sided(z, df), int(known.sum())
    alpha, cut = 1 - conf_level, np.full(len(z), np.nan)
    if k == 0:
        return p, cut
    own_df, place = np.unique(np.where(np.isfinite(df), df.round(6), df)[known], return_inverse=True)
    if adjust == "tukey":
        p[known] = studentized_range.sf(z[known] * np.sqrt(2), means, own_df[place])
        cut[known] = (studentized_range.ppf(conf_level, means, own_df) / np.sqrt(2))[place]
        return p, cut
    if adjust == "dunnett":
        own = covariance[np.ix_(known, known)]
        sd = np.sqrt(np.diag(own))
        inside = Inside.of(own / np.outer(sd, sd))
        p[known] = [min(max(1 - inside(v, d), 0.0), 1.0) for v, d in zip(z[known], own_df[place], strict=True)]
        # Bonferroni and the single contrast bound the quantile
        ends = np.stack([-t_quantile(alpha / 2, own_df), 1e-9 - t_quantile(alpha / (2 * k), own_df)], axis=1)
        least = [
            brentq(lambda v, d=d: inside(v, d) - conf_level, low, high, xtol=1e-10) if k > 1 else low
            for d, (low, high) in zip(own_df, ends, strict=True)
        ]
        cut[known] = np.array(least)[place]
        return p, cut
    share = 1 if adjust == "none" else k
    if adjust == "bonferroni":
        p = np.minimum(p * k, 1.0)
    elif adjust == "holm":
        order = np.flatnonzero(known)[np.argsort(p[known], kind="stable")]
        p[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(k, 0, -1)), 1.0)
    return p, -t_quantile(alpha / (2 * share), df)


class Inside:
    """P(all |Z| <= v) of a multivariate normal or t Z with unit scales.

    Exact quadrature where the correlations are products λ_i λ_j (Dunnett's case), else Genz's integral over a lattice,
    good to about 1e-5. That of t is the mean over its χ: by quadrature, or as one more coordinate of the lattice. Genz
    1992, J. Comp. Graph. Stat. 1, 141-149; Genz and Bretz 2002, the same 11, 950-971.
    """

    def __init__(self, correlation: Floats, loads: Floats | None) -> None:
        self.correlation, self.loads = correlation, loads
        if loads is None:
            self.factor = np.linalg.cholesky(correlation)
            primes = _primes(len(correlation) + 1)
            points = np.arange(1, POINTS + 1)[:, None] * np.sqrt(primes)[None] % 1.0
            self.points = np.abs(2 * points - 1)

    @classmethod
    def of(cls, correlation: Floats) -> Inside:
        """Choose the way for these correlations; refuse contrasts of which one follows from the others."""
        if len(correlation) > 1 and np.linalg.eigvalsh(correlation)[0] < 1e-9:
            raise DesignError(
                "adjust='dunnett' needs contrasts none of which follows from the others, such as those of "
                "method='baseline'. Use adjust='tukey' for pairwise ones, or 'holm'."
            )
        return cls(correlation, _loads(correlation))

    def __call__(self, v: float, df: float = np.inf) -> float:
        """P(all |Z| <= v)."""
        if self.loads is not None:
            if np.isinf(df):
                return self._product(v)
            at, weights = np.polynomial.legendre.leggauss(CHI)
            return float(
                sum(w / 2 * self._product(v * _chi((1 - x) / 2, df)) for x, w in zip(at, weights, strict=True))
            )
        L, n = self.factor, len(self.factor)
        product, drawn = np.ones(POINTS), np.zeros((POINTS, n))
        ends = v if np.isinf(df) else v * _chi(self.points[:, n], df)
        for i in range(n):
            shift = drawn[:, :i] @ L[i, :i]
            low, high = ndtr((-ends - shift) / L[i, i]), ndtr((ends - shift) / L[i, i])
            product *= high - low
            drawn[:, i] = ndtri(np.clip(low + self.points[:, i] * (high - low), 1e-300, 1 - 1e-16))
        return float(product.mean())

    def _product(self, v: float) -> float:
        """P(all |Z| <= v) where the correlations are products."""
        assert self.loads is not None
        nodes = np.linspace(-8.5, 8.5, 401)
        weights = np.exp(-(nodes**2) / 2)
        scale = np.sqrt(1 - self.loads**2)
        middle = self.loads[:, None] * nodes
        inside = ndtr((v - middle) / scale[:, None]) - ndtr((-v - middle) / scale[:, None])
        return float(weights @ inside.prod(axis=0) / weights.sum())


def _chi(upper: Any, df: float) -> Any:
    """Quantile, by the upper tail, of the square root of χ² over its degrees of freedom."""
    return np.sqrt(chdtri(df, upper) / df)


def _loads(correlation: Floats) -> Floats | None:
    """λ with correlations λ_i λ_j, or None."""
    n = len(correlation)
    if n == 1:
        return np.zeros(1)
    if n == 2:
        r = correlation[0, 1]
        own = np.array([np.sqrt(abs(r)), np.sign(r) * np.sqrt(abs(r))])
    else:
        with np.errstate(all="ignore"):
            first = np.sqrt(correlation[0, 1] * correlation[0, 2] / correlation[1, 2])
            own = np.concatenate([[first], correlation[0, 1:] / first])
    fits = np.isfinite(own).all() and (np.abs(own) < 0.999).all()
    found = np.outer(own, own)
    np.fill_diagonal(found, 1.0)
    return own if fits and np.abs(found - correlation).max() < 1e-9 else None


def _primes(count: int) -> Floats:
    """Return the first primes."""
    found: list[int] = []
    number = 2
    while len(found) < count:
        if all(number % p for p in found):
            found.append(number)
        number += 1
    return np.array(found, float)


# ---- Reference grids: combinations of levels at which a fit is evaluated, and marginal means on them -----------------


#: Weights of combinations in cells, at most.
MOST = 50_000_000


@dataclass(frozen=True)
class Grid:
    """Combinations of levels, averaged into cells."""

    frame: pd.DataFrame  # R combinations
    cells: pd.DataFrame  # K combinations of the columns asked for, in the order of their levels
    pool: Floats  # (K, R): weights of the combinations in each cell


@dataclass(frozen=True)
class Means:
    """Marginal means of K cells: one number each, or J categories."""

    value: Floats  # (K, J)
    gradient: Floats  # (K, J, P)
    known: Mask  # (K,): whether they are estimable


def grid(fit: Fitted, columns: Sequence[str], at: Any, weights: str, *, random: bool) -> Grid:
    """Lay out a reference grid of `columns`; `random`: whether those that only random terms use are needed."""
    values = _values(fit, at, random)
    for name in columns:
        if name not in values:
            raise DesignError(
                f"{name!r} is not a column of the fixed effects of {fit.formula!r}. Allowed: "
                f"{', '.join(values) or 'none'}.{suggestion(name, values)}"
            )
    size = int(np.prod([len(v) for v in values.values()], dtype=int))
    if size * int(np.prod([len(values[c]) for c in columns], dtype=int)) > MOST:
        raise DesignError(
            f"The grid has {size:,} combinations of {', '.join(values)}: too many. Hold some of them with at=, or use "
            "margins()."
        )
    ordered = {c: values[c] for c in [*columns, *(c for c in values if c not in columns)]}
    frame = pd.DataFrame(
        {c: _column(fit, c, v) for c, v in zip(ordered, zip(*product(*ordered.values()), strict=True), strict=True)}
    )
    inside = int(np.prod([len(v) for c, v in ordered.items() if c not in columns], dtype=int))
    share = (
        _shares(fit, ordered, columns, frame.iloc[:inside])
        if weights == "proportional"
        else np.full(inside, 1 / inside)
    )
    cells = frame[list(columns)].iloc[::inside].reset_index(drop=True)
    return Grid(frame, cells, np.kron(np.eye(len(cells)), share))


def _values(fit: Fitted, at: Any, random: bool) -> dict[str, tuple[Any, ...]]:
    """Values of every column that is needed."""
    d = fit.design
    coders = (d.fixed, *d.lefts) if random else (d.fixed,)
    needed = list(dict.fromkeys([*(c for own in coders for c in own.columns), *parted(fit)]))
    means = {c: m for own in coders[::-1] for c, m in own.means.items()}
    values = {c: levels_of(fit, c) or (means[c],) for c in needed}
    for name, given in (at or {}).items():
        if name not in values:
            raise DesignError(
                f"at={name!r} is not a column of the fixed effects. Allowed: {', '.join(values) or 'none'}."
                f"{suggestion(name, values)}"
            )
        own = tuple(given) if isinstance(given, (list, tuple, np.ndarray, range, pd.Series)) else (given,)
        known = {label(v): v for v in levels_of(fit, name)}
        for value in own:
            if known and label(value) not in known:
                raise DesignError(
                    f"at: {name!r} has no level {value!r}. Allowed: {', '.join(known)}.{suggestion(str(value), known)}"
                )
        values[name] = tuple(known[label(v)] for v in own) if known else tuple(float(v) for v in own)
    return values


def _column(fit: Fitted, name: str, values: Sequence[Any]) -> Any:
    """A column in the type of the data."""
    dtype = fit.design.frame[name].dtype
    kept = isinstance(dtype, pd.CategoricalDtype) or levels_of(fit, name)
    return pd.Series(list(values), dtype=dtype if kept else float)


def _shares(fit: Fitted, values: Mapping[str, Any], columns: Sequence[str], inside: pd.DataFrame) -> Floats:
    """Relative frequency of the combinations that a cell averages over."""
    d = fit.design
    over = [c for c in values if c not in columns and levels_of(fit, c)]
    if not over:
        return np.ones(len(inside)) / len(inside)
    calls = (
        pd.Series(d.count * d.trials).groupby([d.frame[c].astype(object).map(label) for c in over], observed=True).sum()
    )
    keys = pd.MultiIndex.from_arrays([inside[c].astype(object).map(label) for c in over])
    seen = calls if isinstance(calls.index, pd.MultiIndex) else calls.set_axis(pd.MultiIndex.from_arrays([calls.index]))
    share = seen.reindex(keys).fillna(0.0).to_numpy(dtype=float)
    if not share.sum():
        raise DesignError("weights='proportional': no combination that is averaged over is in the data. Use 'equal'.")
    return np.asarray(share / share.sum())


def marginal(fit: Fitted, own: Grid, scale: str, *, random: bool) -> Means:
    """Marginal means on a grid, over the random effects where `random`."""
    rows = rows_of(fit, own.frame, groups=False) if random else _fixed_rows(fit, own.frame)
    known = estimable(fit.design, own.frame, own.pool)
    eta, X = own.pool @ rows.eta(fit), own.pool @ rows.X
    slope = np.zeros((len(eta), 1, len(fit.params)))
    slope[:, 0, : fit.n_fixed] = X
    if scale == "link":
        if fit.design.categories:
            eta = eta - own.pool @ fit.thresholds.at(fit.tau).mean(axis=1)[rows.part]
            slope[:, 0, fit.n_fixed : fit.n_location] = -own.pool @ fit.thresholds.map.mean(axis=1)[rows.part]
        return Means(eta[:, None], slope, known)
    variance = rows.variance(fit) if random else np.zeros(len(own.frame))
    if fit.design.categories:
        found = mean(fit, rows, rows.eta(fit), variance)
        return Means(own.pool @ found.value, gradient(fit, rows, found, own.pool), known)
    value, by_eta, by_variance = LINKS[fit.link].average(eta, own.pool @ variance)
    nothing = Mean(
        np.zeros((len(variance), 1)),
        np.zeros((len(variance), 1)),
        np.ones((len(variance), 1)),
        np.zeros((len(variance), 1, 0)),
    )
    moved = gradient(fit, rows, nothing, own.pool) if random else 0.0
    return Means(value[:, None], by_eta[:, None, None] * slope + by_variance[:, None, None] * moved, known)


def _fixed_rows(fit: Fitted, frame: pd.DataFrame) -> Rows:
    """Rows without the columns of the random terms."""
    X = fit.design.fixed.matrix(frame)
    zs = tuple(np.zeros((len(X), len(t.names))) for t in fit.design.terms)
    return Rows(X, fit.design.fixed.offset(frame), zs, tuple(np.full(len(X), -1) for _ in zs), parts(fit, frame))


def specs_of(specs: Any, by: Any) -> tuple[list[str], list[str]]:
    """Columns of the cells, and columns within whose levels they are compared."""
    own, within = list(dict.fromkeys(names(specs))), list(dict.fromkeys(names(by if by is not None else ())))
    if not own or set(own) & set(within):
        raise DesignError(f"specs={specs!r}, by={by!r}: name at least one column in specs, and none of them in by.")
    return own, within


# ---- Estimated marginal means, and contrasts of them -----------------------------------------------------------------


WEIGHTS = ("equal", "proportional")
#: Ratio -> the link that it belongs to.
RATIOS = {link.ratio: link.name for link in LINKS.values() if link.ratio}


def means(
    fit: Fitted, specs: Any, by: Any, scale: str, weights: str, at: Any, random: str, conf_level: float
) -> pd.DataFrame:
    """Estimated marginal means, as R's emmeans gives them: :meth:`judgestats.models.Fit.means`."""
    normal_quantile(conf_level)
    choose(random, ("none", "average", "fitted"), "random")
    if random == "fitted":
        choose(weights, WEIGHTS, "weights")
        return _fitted_means(fit, [*chain(*specs_of(specs, by))], scale, weights, at, conf_level)
    _check(scale, ("link", "response"), weights, random)
    own, within = specs_of(specs, by)
    averaging = random == "average" and scale == "response"
    laid = grid(fit, [*own, *within], at, weights, random=averaging)
    found = marginal(fit, laid, scale, random=averaging)
    value = np.where(found.known[:, None], found.value, np.nan)
    error = np.where(found.known[:, None], spread(found.gradient, trusted(fit)), np.nan)
    df = freedom.degrees(fit, _links(fit, laid))
    q = freedom.half_width(conf_level, df)
    numbers = limits(value, error, "score" if scale == "link" else scale_of(fit), q[:, None])
    if scale == "response" and not averaging and not fit.design.categories:
        numbers = _transformed(fit, laid, q, found.known)[:, None]
    J = value.shape[1]
    result = laid.cells.iloc[np.repeat(np.arange(len(value)), J)].reset_index(drop=True)
    if J > 1:
        result["category"] = list(fit.design.categories) * len(value)
    for k, name in enumerate(("estimate", "std_error", "conf_low", "conf_high")):
        result[name] = numbers[..., k].ravel()
    result.insert(result.columns.get_loc("std_error") + 1, "df", np.repeat(df, J))
    levels = [np.bincount(t.codes) for t in fit.design.terms] if averaging else []
    few = flags.few_clusters(min(levels, key=effective_clusters)) if levels else ""
    cautious = [flags.join(f, few) for f in _flags(fit, np.repeat(found.known, J), error.ravel())]
    return result.assign(method=_method(fit, scale, averaging), flag=cautious)


def _fitted_means(
    fit: Fitted, columns: list[str], scale: str, weights: str, at: Any, conf_level: float
) -> pd.DataFrame:
    """Means of the fitted responses of the levels in the data, each with its other columns as they are."""
    effects, d = fit.effects(), fit.design
    if scale != "response" or d.categories:
        raise DesignError(
            "random='fitted' averages fitted responses: use scale='response', and a family of one number a row."
        )
    if not isinstance(effects, Posterior):
        raise DesignError(
            "random='fitted' needs random effects with their joint errors: a model with a random term, engine='ml'."
        )
    values = _values(fit, at, True)
    if unknown := [c for c in columns if c not in values]:
        raise DesignError(
            f"{unknown[0]!r} is not a column of the fixed effects of {fit.formula!r}. Allowed: "
            f"{', '.join(values) or 'none'}.{suggestion(unknown[0], values)}"
        )
    held = {c: v for c, v in values.items() if c in columns or c in (at or {})}
    kept = dict.fromkeys([*values, *(c for t in d.terms for c in t.columns)])
    own = d.frame[[c for c in kept if c not in held]].assign(_n=d.count * d.trials)
    if by := [c for c in own.columns if c != "_n"]:
        own = own.groupby(by, observed=True, sort=True, as_index=False)["_n"].sum()
    else:
        own = own.iloc[:1]
    calls = own.pop("_n").to_numpy(dtype=float)
    order = [*columns, *(c for c in held if c not in columns)]
    laid = pd.DataFrame(list(product(*(held[c] for c in order))), columns=order)
    frame = laid.iloc[np.repeat(np.arange(len(laid)), len(own))].reset_index(drop=True)
    frame = frame.assign(**{c: _column(fit, c, frame[c].tolist()) for c in order})
    frame = frame.assign(**{c: pd.concat([own[c]] * len(laid), ignore_index=True) for c in own})
    inside = len(frame) // int(np.prod([len(held[c]) for c in columns], dtype=int))
    share = np.tile(calls if weights == "proportional" else np.ones(len(own)), inside // len(own))
    cells = frame[columns].iloc[::inside].reset_index(drop=True)
    pool = np.kron(np.eye(len(cells)), share / share.sum())
    rows = rows_of(fit, frame)
    codes, zs = list(rows.codes), list(rows.zs)
    found = mean(fit, rows, conditional(fit, rows), effects.variance(None, zs, codes))
    value, slope = pool @ found.value[:, 0], pool * found.by_eta[:, 0]
    error = np.sqrt(effects.pooled_variance(rows.X, zs, codes, slope))
    known = estimable(d, frame, pool)
    numbers = np.where(known[:, None], limits(value, error, scale_of(fit), normal_quantile(conf_level)), np.nan)
    result = cells.assign(estimate=numbers[:, 0], std_error=numbers[:, 1], df=np.inf)
    result = result.assign(conf_low=numbers[:, 2], conf_high=numbers[:, 3])
    unseen = np.atleast_1d([(pool > 0)[:, code < 0].any(axis=1) for code in codes]).max(axis=0)
    flag = [flags.join(f, flags.NEW_LEVEL if u else "") for f, u in zip(_flags(fit, known, error), unseen, strict=True)]
    return result.assign(method="response, mean of the fitted; z given these levels", flag=flag)


def _links(fit: Fitted, laid: Grid) -> Floats:
    """(K, p') weights of the coefficients in the mean η of each cell."""
    gradient: Floats = marginal(fit, laid, "link", random=False).gradient[:, 0, : fit.n_location]
    return gradient


def _transformed(fit: Fitted, laid: Grid, q: Floats, known: Mask) -> Floats:
    """(K, 4) of responses at the mean η, with the limits of η."""
    at, link = marginal(fit, laid, "link", random=False), LINKS[fit.link]
    eta, error = at.value[:, 0], spread(at.gradient[:, 0], trusted(fit))
    value, slope, _ = link.average(eta, np.zeros_like(eta))
    ends = [link.inverse(eta + side * q * error) for side in (-1, 1)]
    return np.where(known[:, None], np.column_stack([value, slope * error, *ends]), np.nan)


def contrasts(
    fit: Fitted,
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
    """Contrasts of marginal means: :meth:`judgestats.models.Fit.contrasts`."""
    normal_quantile(conf_level)
    choose(adjust, ADJUSTMENTS, "adjust")
    _check(scale, ("link", *RATIOS, "response"), weights, random)
    if scale in RATIOS and fit.link != RATIOS[scale]:
        raise DesignError(
            f"scale={scale!r} is for link={RATIOS[scale]!r}; this model has {fit.link!r}. Use scale='link'."
        )
    if adjust == "tukey" and method != "pairwise":
        raise DesignError("adjust='tukey' is for method='pairwise'. Use 'dunnett' for others, or 'holm'.")
    own, within = specs_of(specs, by)
    averaging = random == "average" and scale == "response"
    laid = grid(fit, [*within, *own], at, weights, random=averaging)
    found = marginal(fit, laid, "response" if scale == "response" else "link", random=averaging)
    size = int(np.prod([laid.cells[c].nunique() for c in own]))
    names, C = _weights(laid.cells[own].iloc[:size], method, baseline)
    tables = []
    for first in range(0, len(laid.cells), size):
        family = slice(first, first + size)
        part = _family(fit, laid, found, family, C, names, adjust, scale, conf_level)
        for name in within[::-1]:
            part.insert(0, name, [laid.cells[name].iloc[first]] * len(part))
        tables.append(part)
    return pd.concat(tables, ignore_index=True).assign(adjust=adjust, method=_method(fit, scale, averaging))[
        [*within, "term", *(["category"] if found.value.shape[1] > 1 else []), *NUMBERS, "adjust", "method", "flag"]
    ]


def _family(
    fit: Fitted, laid: Grid, found: Means, family: slice, C: Floats, names: list[str], adjust: str, scale: str,
    level: float,
) -> pd.DataFrame:  # fmt: skip
    """Contrasts that are adjusted together, for each category."""
    known = estimable(fit.design, laid.frame, C @ laid.pool[family])
    df = freedom.degrees(fit, C @ _links(fit, laid)[family])
    tables = []
    for j in range(found.value.shape[1]):
        slope = np.tensordot(C, found.gradient[family, j], axes=1)
        estimate = np.where(known, C @ found.value[family, j], np.nan)
        error = np.where(known, spread(slope, trusted(fit)), np.nan)
        numbers = inference(estimate, error, df, level)
        joint = slope @ np.where(np.isfinite(trusted(fit)), trusted(fit), 0.0) @ slope.T
        p, q = adjusted(numbers["statistic"], adjust, level, int(found.known[family].sum()), joint, df)
        numbers |= {"p_value": p, "conf_low": estimate - q * error, "conf_high": estimate + q * error}
        if scale in RATIOS:
            ratio = {k: np.exp(numbers[k]) for k in ("estimate", "conf_low", "conf_high")}
            numbers |= {**ratio, "std_error": ratio["estimate"] * error}
        part = pd.DataFrame({"term": names, **numbers, "flag": _flags(fit, known, error)})
        if fit.design.categories:
            part["category"] = fit.design.categories[j] if found.value.shape[1] > 1 else ""
        tables.append(part)
    return pd.concat(tables, ignore_index=True)


def _weights(cells: pd.DataFrame, method: Any, baseline: Any) -> tuple[list[str], Floats]:
    """Names of contrasts, and their weights of the cells, which are named ``strategy[S8]:judge[a]``."""
    columns = [[f"{c}[{(f'{v:.6g}' if isinstance(v, float) else label(v))}]" for v in cells[c]] for c in cells]
    labels, K = [":".join(several) for several in zip(*columns, strict=True)], len(cells)
    places = {":".join(label(v) for v in row): k for k, row in enumerate(cells.itertuples(index=False))}
    if not isinstance(method, str):
        if not isinstance(method, Mapping) or not method:
            raise DesignError(
                f"method={method!r} is not known. Allowed: 'pairwise', 'baseline', or a mapping of names to weights."
            )
        return [str(n) for n in method], np.array([_own_weights(n, w, places) for n, w in method.items()])
    choose(method, ("pairwise", "baseline"), "method")
    if K < 2:
        raise DesignError(
            f"There is one mean, {labels[0]}: nothing to compare it with. Name a factor in specs, or values in at."
        )
    if method == "pairwise":
        pairs = [(a, b) for a in range(K) for b in range(a + 1, K)]
    else:
        base = 0 if baseline is None else _place(baseline, places, "baseline")
        pairs = [(a, base) for a in range(K) if a != base]
    unit = np.eye(K)
    return [f"{labels[a]} - {labels[b]}" for a, b in pairs], np.array([unit[a] - unit[b] for a, b in pairs])


def _place(level: Any, places: Mapping[str, int], what: str) -> int:
    name = ":".join(label(v) for v in level) if isinstance(level, (tuple, list)) else label(level)
    if name not in places:
        raise DesignError(f"{what}={level!r} is no level. Allowed: {', '.join(places)}.{suggestion(name, places)}")
    return places[name]


def _own_weights(name: str, given: Any, places: Mapping[str, int]) -> Floats:
    result = np.zeros(len(places))
    if isinstance(given, Mapping):
        for level, weight in given.items():
            result[_place(level, places, f"method[{name!r}]")] = float(weight)
        return result
    values = np.asarray(given, float)
    if values.shape != result.shape:
        raise DesignError(f"method[{name!r}] has {values.size} weights for {len(places)} cells: {', '.join(places)}.")
    return values


def _check(scale: str, scales: Any, weights: str, random: str) -> None:
    choose(scale, scales, "scale")
    choose(weights, WEIGHTS, "weights")
    choose(random, ("none", "average"), "random")
    if random == "average" and scale != "response":
        raise DesignError("random='average' is for scale='response': the mean of η does not depend on random effects.")


def _method(fit: Fitted, scale: str, averaging: bool) -> str:
    how = scale
    if scale == "response":
        zero = ", random effects at 0" if fit.design.terms else ""
        how += ", averaged over random effects" if averaging else zero
    return f"{how}; {freedom.named(fit)}"


def _flags(fit: Fitted, known: Mask, error: Floats) -> list[str]:
    own = cautions(fit, np.where(known, error, 0.0))
    return [flags.join("" if k else flags.NOT_ESTIMABLE, str(d)) for k, d in zip(known, own, strict=True)]
