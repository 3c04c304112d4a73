"""Faults of a fit and cautions about it, as rows with advice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import pandas as pd

from judgestats import flags
from judgestats.models.coding.frames import labels
from judgestats.models.families import LINKS
from judgestats.models.fitted import Fitted, component_values, components
from judgestats.models.ml import refined
from judgestats.models.postestimation import freedom, sampled
from judgestats.models.postestimation.sampled import drawn
from judgestats.schema.columns import VOCABULARY
from judgestats.typing import Floats, Mask

# ---- Separation, where estimates diverge to infinity, and levels with too few calls ----------


#: A gain below it, in the unit cube, is rounding error.
TINY = 1e-6
#: Calls per level that Laplace's approximation needs.
FEWEST_CALLS = 5


def separated(fit: Fitted) -> tuple[str, ...]:
    """Fixed effects and thresholds that separate the response, completely or quasi-completely, and so diverge.

    A direction separates if moving along it lowers the probability of no answer given and raises that of some. The
    search is a linear programme, run only if some fitted probabilities are nearly 0 or 1.
    """
    if fit.distribution.linear or not fit.n_location or not _suspect(fit):
        return ()
    moves = runaway(_constraints(fit))
    return tuple(name for name, moves_off in zip(fit.names, moves, strict=False) if moves_off)


def sparse(fit: Fitted) -> tuple[float, ...]:
    """Calls per level of each random term, if fewer than Laplace's approximation needs; else 0."""
    d = fit.design
    if fit.method != "Laplace" or not fit.distribution.categorical:
        return tuple(0.0 for _ in d.terms)
    calls = [float(d.count @ d.trials) / len(t.levels) for t in d.terms]
    return tuple(c if c < FEWEST_CALLS else 0.0 for c in calls)


def _suspect(fit: Fitted) -> bool:
    """Whether any answer is predicted with probability near 1: else there is no separation."""
    d = fit.design
    eta = d.X @ fit.beta + d.offset
    if not np.isfinite(eta).all():
        return True
    reach = fit.shape(fit.params) - eta[:, None] if d.categories else eta
    return fit.distribution.runs_away(reach, LINKS[fit.link].extreme)


def _constraints(fit: Fitted) -> Floats:
    """Rows a of parameters β, τ such that no answer loses probability along d where a'd >= 0 for all."""
    d = fit.design
    if not d.categories:
        up, down = fit.distribution.losing(d.y, d.trials)
        return np.unique(np.vstack([d.X[up], -d.X[down]]), axis=0)
    cuts, y, last = fit.thresholds.map, d.y.astype(np.int64), len(d.categories) - 1
    part = fit.parts
    below, above = y < last, y > 0
    upper = np.hstack([-d.X[below], cuts[part[below], y[below]]])
    lower = np.hstack([d.X[above], -cuts[part[above], y[above] - 1]])
    return np.unique(np.vstack([upper, lower]), axis=0)


def runaway(A: Floats) -> Mask:
    """Which elements of d (P,) can move while a'd >= 0 for every row a of A, of full rank, and a'd > 0 for some."""
    P = A.shape[1]
    size = np.abs(A).max(axis=0, initial=0.0)
    own = A / np.where(size > 0, size, 1.0)
    if not _raises(own, own.sum(axis=0), len(own)):
        return np.zeros(P, bool)
    return np.array([any(_raises(own, sign * unit, 1) for sign in (1, -1)) for unit in np.eye(P)], bool)


def _raises(A: Floats, along: Floats, scale: float) -> bool:
    """Whether a direction d of the unit cube with Ad >= 0 has along'd > 0."""
    from scipy.optimize import linprog

    found = linprog(-along, A_ub=-A, b_ub=np.zeros(len(A)), bounds=(-1, 1), method="highs")
    return bool(found.status == 0 and -found.fun > TINY * scale)


# ---- Designs too small for the approximations that a fit rests on ---------------------------------------------------

#: With fewer levels of a factor, Wald and profile intervals of effects between them are too short; and by REML.
LEVELS, LEVELS_REML = 30, 10


@dataclass(frozen=True)
class Shortage:
    """A factor that is small for the method of its fit."""

    flag: str  # :data:`judgestats.models.fitted.FEW_CALLS`, :data:`RARE` or ``fewer than 30 levels of judge``
    kind: str  # what there are too few of
    factor: str
    levels: tuple[str, ...]  # the levels of the factor
    seen: float  # calls per level, rarer answers in all, or levels


def shortages(fit: Fitted) -> tuple[Shortage, ...]:
    """Shortages, factor by factor; the limits are those of docs/coverage_models.csv."""
    return tuple(dict.fromkeys([*_calls(fit), *_answers(fit), *_short_of_levels(fit)]))


def scarce(fit: Fitted) -> tuple[str, ...]:
    """Flags of a design that is small for its method, as :func:`shortages` finds them."""
    return tuple(dict.fromkeys(s.flag for s in shortages(fit)))


def _calls(fit: Fitted) -> Iterator[Shortage]:
    for term, calls in zip(fit.design.terms, sparse(fit), strict=True):
        if calls:
            yield Shortage(flags.FEW_CALLS, "calls", term.factor, term.levels, calls)


def _answers(fit: Fitted) -> Iterator[Shortage]:
    """Factors with more levels than there are answers of the rarer kind."""
    d = fit.design
    if fit.method != "Laplace" or not fit.distribution.has_trials:
        return
    rarer = min(float(d.count @ d.y), float(d.count @ (d.trials - d.y)))
    for term in d.terms:
        if rarer < len(term.levels):
            yield Shortage(flags.RARE, "answers", term.factor, term.levels, rarer)


def _short_of_levels(fit: Fitted) -> Iterator[Shortage]:
    least = LEVELS_REML if fit.method == "REML" else 0 if drawn(fit) is not None else LEVELS
    for term in fit.design.terms:
        if len(term.levels) < least:
            flag = flags.FEW_GROUPS.of(least=least, factor=term.factor)
            yield Shortage(flag, "levels", term.factor, term.levels, float(len(term.levels)))


# ---- Random terms, as written in the formula -------------------------------------------------------------------------


def written(fit: Fitted, t: int) -> str:
    """Random term number t as it was written, with ``||`` and ``/`` expanded."""
    formula = fit.design.formula
    part = formula.random[t]
    short = f"({part.expression.removeprefix('1 + ')}|{part.factor})"
    return short if short.replace(" ", "") in formula.source.replace(" ", "") else str(part)


def left_out(fit: Fitted, t: int, column: int) -> str:
    """Advice on how to drop one column of a random term: ``Write (1|item) in place of (x|item)``."""
    names = fit.design.terms[t].names
    if len(names) == 1:
        return f"Leave {written(fit, t)} out"
    rest = [n for k, n in enumerate(names) if k != column]
    if not _plain(fit, t):
        return f"Leave {names[column]} of {written(fit, t)} out"
    return f"Write {_spelled(rest, fit.design.terms[t].factor)} in place of {written(fit, t)}"


def uncorrelated(fit: Fitted, t: int) -> str:
    """A random term without its correlations, ``(x||item)``; of one of categories ``(1|item) + (1|item:strategy)``."""
    term, left = fit.design.terms[t], fit.design.lefts[t]
    if not _plain(fit, t):
        return " + ".join([f"(1|{term.factor})", *(f"(1|{term.factor}:{c})" for c in left.factors)])
    return _spelled(list(term.names), term.factor, "||")


def _plain(fit: Fitted, t: int) -> bool:
    """Whether every column of a random term is a term of its formula by that name."""
    left = fit.design.lefts[t]
    return not left.factors and all(place.stop - place.start == 1 for place in left.terms.values())


def _spelled(names: list[str], factor: str, bar: str = "|") -> str:
    slopes = " + ".join(n for n in names if n != "Intercept")
    if "Intercept" not in names:
        return f"(0 + {slopes}{bar}{factor})"
    return f"({slopes or '1'}{bar}{factor})"


# ---- Faults and cautions, as rows with advice ------------------------------------------------------------------------

#: Columns of :func:`check`; those of :func:`judgestats.check` without row numbers, which a fit does not have.
COLUMNS = ("level", "column", "what", "n", "example", "remedy")
#: With fewer levels than this a variance is hardly estimable.
FEW_LEVELS = 5
#: With fewer levels than this, t in place of z is advised.
FEW_FOR_Z = 10
#: Fewer clusters than this make robust standard errors too small.
FEW_CLUSTERS = 30
#: A column that has one value in a greater share of the rows is nearly constant.
CONSTANT = 0.99
#: With more levels per call than this, a factor has nearly one level per call.
ONE_EACH = 0.9
#: At most so many distinct whole numbers may be labels.
LABELS = 12
#: A column whose mean is so many standard deviations from 0 should be centred.
FAR = 20
#: Error of Laplace's approximation that is tolerated, in standard errors: a 95 % interval still covers 94 %.
LAPLACE = 0.25
#: Columns that name things.
NAMES = tuple(c.name for kind in VOCABULARY.values() for c in kind if c.key and c.type in ("text", "category"))


@dataclass(frozen=True)
class Finding:
    """One row of :func:`check`."""

    level: str
    column: str
    what: str
    n: float
    example: str = ""
    remedy: str = ""


def check(fit: Fitted) -> pd.DataFrame:
    """List faults of a fit and cautions about it: :meth:`judgestats.models.Fit.check`."""
    found = [finding for search in SEARCHES for finding in search(fit)]
    aside = fit.design.n_missing + fit.design.n_zero
    found += [Finding("rows", "", "rows used", fit.n), Finding("rows", "", "rows excluded", aside)]
    return pd.DataFrame([astuple(d) for d in found], columns=list(COLUMNS))


def _optimum(fit: Fitted) -> Iterator[Finding]:
    if not fit.converged and sampled.drawn(fit) is None:
        remedy = f"{flags.NOT_CONVERGED.explanation} The steps are in fit.log."
        yield Finding("fault", "", flags.NOT_CONVERGED, 1, "", remedy)
    if flags.NO_HESSIAN in fit.notes and flags.SEPARATION not in fit.notes:
        yield Finding("fault", "", flags.NO_HESSIAN, fit.df, "", flags.NO_HESSIAN.explanation)


def _integration(fit: Fitted) -> Iterator[Finding]:
    """A quadrature rule whose results a finer one changes."""
    found, laplace = refined(fit), fit.method == "Laplace"
    if found is None or (found.estimates < LAPLACE if laplace else found.settled):
        return
    moves = f"the log-likelihood by {found.loglik:+.2g}, an estimate by {found.estimates:.2g} standard errors"
    what = f"{fit.method}: {'too coarse' if laplace else 'too few nodes'}, a refined rule moves {moves}"
    remedy = 'Pass n_quadrature="auto".'
    if fit.approximation == "trapezoid":
        remedy = (
            "The standard deviation is unbounded: nearly all levels have one answer only. Collect more calls per "
            "level, or use engine='pymc', whose prior bounds it."
        )
    yield Finding("fault", fit.design.terms[0].factor, what, 1, "", remedy)


def _separation(fit: Fitted) -> Iterator[Finding]:
    """Levels with one answer only; failing that, the parameters that diverge."""
    if flags.SEPARATION not in fit.notes:
        return
    names = fit.options.get("separated", ())
    remedy = (
        "Its coefficient is infinite. Merge the level, drop the term, or make it a random effect, which is shrunk; "
        "a likelihood-ratio test (anova) still holds."
    )
    alone = [finding for column in _factors(fit) for finding in _one_answer(fit, column, remedy)]
    if alone:
        yield from alone
        return
    yield Finding(
        "fault", ", ".join(names), "separation: together the terms predict an answer perfectly", len(names), "", remedy
    )


def _one_answer(fit: Fitted, column: str, remedy: str) -> Iterator[Finding]:
    d = fit.design
    levels = labels(d.frame[column]).to_numpy(dtype=object)
    for level in sorted(set(levels)):
        own = levels == level
        calls = d.count[own] * d.trials[own]
        share = d.y[own] / d.trials[own]
        for value in fit.distribution.extremes(len(d.categories)):
            if (share == value).all():
                answer = d.categories[int(value)] if d.categories else f"{value:.0f}"
                what = f"{level!r} always has {answer}: separation"
                yield Finding("fault", column, what, float(calls.sum()), str(level), remedy)


def _factors(fit: Fitted) -> list[str]:
    """Categorical columns of the fixed part, and columns by which thresholds vary."""
    partition = fit.options.get("partition")
    own = [*fit.design.fixed.factors, *(partition.columns.values() if partition is not None else ())]
    return [c for c in dict.fromkeys(own) if c in fit.design.frame]


def _singular(fit: Fitted) -> Iterator[Finding]:
    if flags.SINGULAR not in fit.notes:
        return
    scale = fit.unit
    for own, value in zip(components(fit), component_values(fit), strict=True):
        if own.t < 0:
            continue
        term = fit.design.terms[own.t]
        size = len(term.levels)
        if own.is_sd and value < 1e-3 * scale:
            remedy = f"{left_out(fit, own.t, own.i)}; the rest is unchanged. Other errors are conditional on 0."
            yield Finding("caution", own.group, f"singular fit: {own.term} is 0", size, "", remedy)
        elif not own.is_sd and abs(value) > 0.999:
            remedy = f"The data do not support the correlation: write {uncorrelated(fit, own.t)}."
            yield Finding("caution", own.group, f"singular fit: {own.term} is {value:.0f}", size, "", remedy)
    for t, (term, L) in enumerate(zip(fit.design.terms, fit.factors(), strict=True)):
        if len(L) > 2 and np.linalg.svd(L, compute_uv=False).min() < 1e-3 * scale:
            remedy = f"The data do not support all correlations: write {uncorrelated(fit, t)}."
            what = f"singular fit: {written(fit, t)} has a combination without variance"
            yield Finding("caution", term.factor, what, len(term.levels), "", remedy)


def _levels(fit: Fitted) -> Iterator[Finding]:
    d = fit.design
    calls = float(d.count @ d.trials)
    for term in {t.factor: t for t in d.terms}.values():
        size = len(term.levels)
        if fit.distribution.has_trials and size > ONE_EACH * calls:
            remedy = (
                "With one call per level the variance cannot be separated from residual variation. Leave the term out."
            )
            what = f"{size:,} levels for {calls:,.0f} calls"
            yield Finding("caution", term.factor, what, size, term.levels[0], remedy)


def _sizes(fit: Fitted) -> Iterator[Finding]:
    """Designs too small for the method, by the study of coverage."""
    terms = fit.design.terms
    scalar = len(terms) == 1 and len(terms[0].names) == 1
    nodes = 'Pass n_quadrature="auto".' if scalar else "Use confint(method='bootstrap')."
    for short in shortages(fit):
        what, example, remedy = _in_words(fit, short, nodes)
        yield Finding("caution", short.factor, f"{short.flag}: {what}", len(short.levels), example, remedy)


def _in_words(fit: Fitted, short: Shortage, nodes: str) -> tuple[str, str, str]:
    """The shortage in numbers, an example, a remedy."""
    if short.kind == "calls":
        remedy = (
            f"Laplace's approximation makes variances and effects too small, large variances far too large. {nodes}"
        )
        return f"{short.seen:.1f} under Laplace's approximation", short.levels[0], remedy
    if short.kind == "answers":
        remedy = f"Laplace's approximation makes the intercept too extreme. {nodes}"
        return f"{short.seen:,.0f} for {len(short.levels):,} levels under Laplace's approximation", "", remedy
    if short.seen < FEW_LEVELS:
        remedy = f"Its variance is hardly estimable, and its interval is too short. Make {short.factor} a fixed effect."
        return f"{short.seen:.0f} only", ", ".join(short.levels), remedy
    return f"{short.seen:.0f}", "", _few_levels(fit, short)


def _few_levels(fit: Fitted, short: Shortage) -> str:
    """What few levels do to intervals, and the remedy."""
    what = f"the intercept and of effects that vary between levels of {short.factor}"
    own = freedom.rule(fit)
    if own == short.factor:
        return f"Intervals of {what} use t, as requested; that of its sd is too short."
    if own == freedom.SATTERTHWAITE:
        if fit.method == "REML":
            return "Intervals of the fixed effects (t, Satterthwaite) hold; the profile of its sd is too short."
        return f"Intervals of {what} are somewhat too short, and so is the profile of its sd. Pass reml=True."
    within = "effects that vary within them are not affected"
    advice = f" Pass fit(..., df={short.factor!r}): t in place of z." if short.seen < FEW_FOR_Z else ""
    return f"Intervals of {what} are too short, and so is that of its sd; {within}.{advice}"


def _columns(fit: Fitted) -> Iterator[Finding]:
    """Columns of the fixed part that look like something else."""
    d = fit.design
    for column in (c for c in d.fixed.columns if c in d.frame):
        values = d.frame[column]
        sums = pd.Series(d.count).groupby(values.to_numpy()).sum()
        if len(sums) > 1 and sums.max() > CONSTANT * sums.sum():
            what, rest = f"nearly always {sums.idxmax()!r}", float(sums.sum() - sums.max())
            remedy = "Its effect rests on these few rows. Check whether it should be in the model."
            yield Finding("caution", column, what, rest, "", remedy)
        if column in d.fixed.numerics and column not in d.fixed.factors and not pd.api.types.is_bool_dtype(values):
            yield from _as_number(column, sums.index)
            yield from _far(column, np.asarray(sums.index, float), sums.to_numpy())


def _as_number(column: str, index: Any) -> Iterator[Finding]:
    """Whole numbers that may be labels."""
    numbers = np.asarray(index, float)
    if len(numbers) < 3 or (numbers % 1 != 0).any():
        return
    example = ", ".join(f"{v:.0f}" for v in numbers[:3])
    remedy = f"If these are labels, write C({column}), or make them random: (1|{column})."
    if column in NAMES or column.lower() == "id" or column.lower().endswith(("_id", ".id")):
        yield Finding("caution", column, "names used as numbers", len(numbers), example, remedy)
    elif len(numbers) <= LABELS:
        yield Finding("counted", column, "whole numbers used as numbers", len(numbers), example, remedy)


def _far(column: str, values: Floats, count: Floats) -> Iterator[Finding]:
    """Numbers far from 0, whose slope is nearly collinear with the intercept."""
    mean = float(np.average(values, weights=count))
    sd = float(np.sqrt(np.average((values - mean) ** 2, weights=count)))
    if abs(mean) > FAR * sd > 0:
        remedy = f"Write center({column}): the slope is the same, and the fit and its errors are more accurate."
        yield Finding(
            "caution", column, f"mean {mean:.4g}, spread {sd:.2g}: the origin is far away", len(values), "", remedy
        )


def _engine(fit: Fitted) -> Iterator[Finding]:
    if flags.TOO_SMALL in fit.notes:
        what = f"statsmodels' variational Bayes: {flags.TOO_SMALL}"
        yield Finding("fault", "", what, fit.n_fixed, "", flags.TOO_SMALL.explanation)
    clusters = int(fit.options.get("n_clusters", FEW_CLUSTERS))
    if clusters < FEW_CLUSTERS:
        remedy = "Robust standard errors of few clusters are too small. Use engine='ml'."
        yield Finding("caution", str(fit.options["cluster"]), f"{clusters} clusters", clusters, "", remedy)
    if fit.engine == "lpm":
        mean = fit.design.X @ fit.beta + fit.design.offset
        outside = float(fit.design.count[(mean < 0) | (mean > 1)].sum())
        if outside:
            remedy = "A linear probability model ignores the bounds 0 and 1. Use engine='ml'."
            yield Finding("caution", "", "fitted probabilities below 0 or above 1", outside, "", remedy)


def _posterior(fit: Fitted) -> Iterator[Finding]:
    """Mixing of the chains, and conflicts of priors with the data."""
    draws = sampled.drawn(fit)
    if draws is not None:
        yield from (Finding(*row) for row in sampled.findings(fit, draws))


def _left_out(fit: Fitted) -> Iterator[Finding]:
    d = fit.design
    if d.n_missing:
        columns = ", ".join(d.formula.variables)
        yield Finding("excluded", columns, "rows with a missing value, or invalid", d.n_missing)
    if d.n_zero:
        yield Finding("excluded", str(d.counted), "count is zero", d.n_zero)
    for name in d.aliased:
        remedy = "It is a linear combination of earlier columns, and has no coefficient. Leave it out."
        yield Finding("excluded", name, "aliased", 1, "", remedy)
    for note in d.notes:
        yield Finding("excluded", d.formula.response, note, 1)


SEARCHES: tuple[Callable[[Fitted], Iterator[Finding]], ...] = (
    _optimum, _integration, _separation, _engine, _singular, _sizes, _levels, _columns, _posterior, _left_out,
)  # fmt: skip
