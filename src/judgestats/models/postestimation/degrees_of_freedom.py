"""Degrees of freedom of t and F tests: those of the stratum in which an effect varies.

Satterthwaite's or Kenward and Roger's in linear mixed models; in others those between the levels of a grouping factor.

Source
------
Satterthwaite 1946, Biometrics Bulletin 2, 110-114; Fai and Cornelius 1996, J. Stat. Comput. Simul. 54, 363-378 (tests
of several rows); Kuznetsova, Brockhoff and Christensen 2017, J. Stat. Softw. 82(13) (lmerTest). Kenward and Roger 1997,
Biometrics 53, 983-997; Halekoh and Højsgaard 2014, J. Stat. Softw. 59(9) (pbkrtest). Between-within:
Schluchter and Elashoff 1990, J. Stat. Comput. Simul. 37, 69-87; Li and Redden 2015, BMC Med. Res. Methodol. 15, 38
(binary answers, few clusters).
"""

from __future__ import annotations

import numpy as np

from judgestats import methods
from judgestats.errors import DesignError, suggestion
from judgestats.models.coding.factor_levels import coded_levels
from judgestats.models.designs import Design
from judgestats.models.families import FAMILIES
from judgestats.models.fitted_models import Fitted
from judgestats.typing import Floats, Ints, Mask
from judgestats.wording import Method

SATTERTHWAITE, NORMAL, RESIDUAL, CLUSTERS, STRATA = "satterthwaite", "normal", "residual", "clusters", "between-within"
KENWARD_ROGER = "kenward-roger"
#: Rules that take all degrees of freedom from how well the variances of a linear mixed model are estimated.
OF_VARIANCES = (SATTERTHWAITE, KENWARD_ROGER)
#: Random effects of which matrices of the square of their number are affordable.
MOST_EFFECTS = 5000
#: A hypothesis whose part outside a space is shorter than this, by its own length, lies in it.
TOLERANCE = 1e-7


def df_rule(fit: Fitted) -> str:
    """Where degrees of freedom come from: a factor that was asked for, or one of the names above."""
    if fit.options.df is not None:
        return fit.options.df
    if fit.options.clusters is not None:
        return CLUSTERS
    if fit.distribution.linear and fit.engine in ("ml", "lpm", "glm"):
        return SATTERTHWAITE if fit.design.terms else RESIDUAL
    return STRATA if fit.design.terms and fit.options.posterior is None else NORMAL


def refuse_df(df: str, design: Design, family: str, engine: str, *, reml: bool, cluster: str | None) -> None:
    """Refuse degrees of freedom that a fit will not have."""
    if df == NORMAL:
        return
    if cluster is not None:
        raise DesignError(
            f"df={df!r} is of errors by the model; those by cluster= have their own. Leave it out, or use df='normal'."
        )
    factors = _factors(design) if engine != "gee" else []
    linear = bool(factors) and (engine == "lpm" or (engine == "ml" and FAMILIES[family].linear))
    if df in OF_VARIANCES and not linear:
        other = f"name a grouping factor, df={factors[0]!r}" if factors else "use engine='ml' and a random term"
        raise DesignError(
            f"df={df!r} is for Gaussian mixed models of the engines ml and lpm; got family={family!r}, "
            f"engine={engine!r}. Leave it out, or {other}."
        )
    if df == KENWARD_ROGER and engine == "ml" and not reml:
        raise DesignError(f"df={df!r} is of fits by REML; got reml=False. Pass reml=True, or df={SATTERTHWAITE!r}.")
    if df == KENWARD_ROGER and (effects := sum(len(t.levels) * len(t.names) for t in design.terms)) > MOST_EFFECTS:
        raise DesignError(
            f"df={df!r} takes matrices of the square of the number of random effects; got {effects:,}, allowed "
            f"{MOST_EFFECTS:,}. Use df={SATTERTHWAITE!r}, or fewer levels."
        )
    if df in OF_VARIANCES:
        return
    if df not in factors:
        allowed = [*(OF_VARIANCES if linear else ()), NORMAL, *factors]
        raise DesignError(
            f"df={df!r} is no grouping factor of {design.formula.source!r}. Allowed: "
            f"{', '.join(map(repr, allowed))}.{suggestion(str(df), allowed)}"
        )
    levels, rank = _strata(design, df)
    if levels <= rank:
        raise DesignError(
            f"df={df!r}: {levels} levels of {df!r} less {rank} effects that are constant within them leave no "
            "degrees of freedom. Use df='normal', or take the factor as a fixed effect."
        )


def df_method(fit: Fitted, of_t: Method = methods.T) -> Method:
    """Return what tests and intervals of a fit rest on: ``t, Satterthwaite``, ``t, between-within``, ``z``."""
    own = df_rule(fit)
    if own == NORMAL:
        return methods.NORMAL if of_t == methods.T else methods.CHI2
    by = fit.options.clusters.columns if fit.options.clusters else ""
    words = {
        SATTERTHWAITE: "Satterthwaite",
        KENWARD_ROGER: "Kenward-Roger",
        RESIDUAL: "residual df",
        CLUSTERS: f"clustered by {by}",
    }
    return of_t.on(words.get(own, STRATA if own == STRATA else f"{STRATA} ({own})"))


def degrees(fit: Fitted, rows: Floats) -> Floats:
    """Degrees of freedom (...) of functions (..., p) of fixed effects, or of these and thresholds.

    Infinite for z; NaN where the effects that vary between the levels of a factor are as many as these.
    """
    rows = np.asarray(rows, float)
    own = df_rule(fit)
    if own in OF_VARIANCES:
        return _satterthwaite(fit, rows[..., : fit.n_fixed])
    if own == RESIDUAL:
        return np.full(rows.shape[:-1], fit.n - fit.n_fixed)
    if own == CLUSTERS:
        return _clustered(fit, rows.reshape(-1, 1, rows.shape[-1])).reshape(rows.shape[:-1])
    if own == NORMAL:
        return np.full(rows.shape[:-1], np.inf)
    df = np.full(rows.shape[:-1], np.inf)
    for factor in _factors(fit.design) if own == STRATA else (own,):
        levels, rank = _strata(fit.design, factor)
        between = float(levels - rank) if levels > rank else np.nan
        df = np.minimum(df, np.where(within(fit, factor, rows), np.inf, between))
    return np.asarray(df, float)


def degrees_of_means(fit: Fitted, rows: Floats, gradient: Floats) -> Floats:
    """Degrees of freedom (K, J) of means whose linear predictor has weights (K, p), or a mean of each of J categories.

    `gradient` (K, J, P) of the means themselves, on which those by clusters depend.
    """
    if df_rule(fit) == CLUSTERS:
        return degrees(fit, gradient[..., : fit.n_location])
    return np.repeat(degrees(fit, rows)[:, None], gradient.shape[1], axis=1)


def _factors(design: Design) -> list[str]:
    """Grouping factors, each once."""
    return list(dict.fromkeys(t.factor for t in design.terms))


def _clustered(fit: Fitted, contrasts: Floats) -> Floats:
    """Degrees of freedom (K,) of contrasts (K, R, p) by cluster-robust errors."""
    clusters = fit.options.clusters
    assert clusters is not None
    assert clusters.shares is not None
    return clusters.shares.df(contrasts[..., : fit.n_fixed])


def denominator(fit: Fitted, rows: Floats) -> tuple[float, float]:
    """Factor of the mean Wald statistic that makes it F, and degrees of freedom, of the test that rows (R, p) are 0."""
    own, L = df_rule(fit), rows[:, : fit.n_fixed]
    if own == SATTERTHWAITE:
        return 1.0, _fai_cornelius(fit, L)
    if own not in (CLUSTERS, KENWARD_ROGER):
        return 1.0, float(np.min(degrees(fit, rows), initial=np.inf))
    _, size, axes = np.linalg.svd(L, full_matrices=False)
    axes = axes[size > TOLERANCE * size.max(initial=0.0)]
    if own == KENWARD_ROGER:
        adjusted = fit.kenward_roger()
        return adjusted.f_test(axes) if adjusted is not None and len(axes) else (np.nan, np.nan)
    of_all = float(_clustered(fit, axes[None])[0])  # Hotelling's T²
    share = (of_all - len(axes) + 1) / of_all
    return (share, of_all * share) if share > 0 else (np.nan, np.nan)


def _fai_cornelius(fit: Fitted, L: Floats) -> float:
    """Satterthwaite's degrees of freedom of several rows (R, p) together."""
    _, turn = np.linalg.eigh(L @ fit.covariance[: fit.n_fixed, : fit.n_fixed] @ L.T)
    rank = int(np.linalg.matrix_rank(L))
    dfs = _satterthwaite(fit, turn[:, ::-1][:, :rank].T @ L)
    if len(dfs) < 2 or np.ptp(dfs) < 1e-8:
        return float(dfs.mean()) if len(dfs) else float("nan")
    if (dfs <= 2).any():
        return 2.0
    expected = float((dfs / (dfs - 2)).sum())
    return 2 * expected / (expected - len(dfs))


def _satterthwaite(fit: Fitted, L: Floats) -> Floats:
    """2 v² / Var(v) of v = L C L', C depending on the estimated variances."""
    C, sensitivity = fit.covariance[: fit.n_fixed, : fit.n_fixed], None
    if df_rule(fit) == SATTERTHWAITE:
        sensitivity = fit.sensitivity()
    elif (adjusted := fit.kenward_roger()) is not None:
        C, sensitivity = adjusted.plain, (adjusted.slopes, adjusted.spread)
    if sensitivity is None:
        return np.full(L.shape[:-1], np.nan)
    slopes, spread = sensitivity
    value = ((L @ C) * L).sum(axis=-1)
    by = np.stack([((L @ J) * L).sum(axis=-1) for J in slopes], axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(2 * value**2 / ((by @ spread) * by).sum(axis=-1), float)


def within(fit: Fitted, factor: str, rows: Floats) -> Mask:
    """Whether functions (..., p) of the coefficients can be estimated with the levels of a factor as fixed effects."""
    L = _with_one(fit, rows)
    X, (codes, Z) = _with_ones(fit.design), _varying(fit.design, factor)
    rest = _outside(X, Z, codes)
    _, size, turn = np.linalg.svd(np.linalg.qr(rest, mode="r"))
    space = turn[size > TOLERANCE * max(float(np.linalg.norm(X)), 1e-300)]
    left = L - L @ space.T @ space
    return np.asarray(np.linalg.norm(left, axis=-1) <= TOLERANCE * np.linalg.norm(L, axis=-1), bool)


def _strata(design: Design, factor: str) -> tuple[int, int]:
    """Levels of a factor, and the rank of the fixed effects that vary between them only."""
    X, (codes, Z) = _with_ones(design), _varying(design, factor)
    ones = np.ones((len(X), 1))
    constant = _inside(np.hstack([X, ones]), ones, codes)
    shared = -(-_inside(X, Z, codes) // max(Z.shape[1], 1))
    return len(np.unique(codes)), max(constant, shared)


def _with_ones(design: Design) -> Floats:
    """Fixed effects, and a column of ones for the thresholds."""
    X = design.X
    return np.hstack([X, np.ones((len(X), 1))]) if design.categories else X


def _with_one(fit: Fitted, rows: Floats) -> Floats:
    """Weights of :func:`_with_ones`: any threshold stands for the column of ones."""
    rows = np.asarray(rows, float)
    if not fit.design.categories:
        return rows[..., : fit.n_fixed]
    moved = np.abs(rows[..., fit.n_fixed : fit.n_location]).sum(axis=-1, keepdims=True)
    return np.concatenate([rows[..., : fit.n_fixed], moved], axis=-1)


def _varying(d: Design, factor: str) -> tuple[Ints, Floats]:
    """Levels of a factor, and the columns whose effects vary between them, as ``(1|judge:strategy)`` has it, too."""
    first = next(t for t in d.terms if t.factor == factor)
    blocks = []
    for t in d.terms:
        other = [c for c in t.columns if c not in first.columns]
        if len(other) + len(first.columns) != len(t.columns) or not set(other) <= set(d.fixed.coder.columns):
            continue
        cells = np.ones((len(d.X), 1))
        if other:
            codes, levels = coded_levels(d.frame, other)
            cells = (codes[:, None] == np.arange(len(levels))).astype(float)
        blocks.append((cells[:, :, None] * t.values[:, None, :]).reshape(len(d.X), -1))
    Z = np.hstack(blocks)
    _, size, turn = np.linalg.svd(Z / np.maximum(np.linalg.norm(Z, axis=0), 1e-300), full_matrices=False)
    return first.codes, Z if (size > TOLERANCE).all() else Z @ turn[size > TOLERANCE].T


def _outside(X: Floats, Z: Floats, codes: Ints) -> Floats:
    """What least squares on Z within each level leave of X."""
    if Z.shape[1] == 1:
        squares = np.maximum(np.bincount(codes, Z[:, 0] ** 2), 1e-300)
        slopes = [np.bincount(codes, Z[:, 0] * x) / squares for x in X.T]
        return X - Z * np.transpose(slopes)[codes] if slopes else X
    rest = X.copy()
    order = np.argsort(codes, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
        own = Z[rows]
        rest[rows] -= own @ (np.linalg.pinv(own, rcond=1e-10) @ X[rows])
    return rest


def _inside(X: Floats, Z: Floats, codes: Ints) -> int:
    """Dimension of the intersection of the spans of X and of Z within levels."""
    scaled = X / np.maximum(np.linalg.norm(X, axis=0), 1e-300)
    whole, rest = (np.linalg.qr(x, mode="r") for x in (scaled, _outside(scaled, Z, codes)))
    return int(np.linalg.matrix_rank(whole, tol=TOLERANCE) - np.linalg.matrix_rank(rest, tol=TOLERANCE))
