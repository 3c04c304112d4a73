"""Faults of a fit and cautions about it, as rows with advice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass

import numpy as np
import pandas as pd

from judgestats import flags
from judgestats.models.coding.factor_levels import labels
from judgestats.models.fitted_models import Fitted
from judgestats.models.ml import refined
from judgestats.models.postestimation import posterior_summaries
from judgestats.models.postestimation.degrees_of_freedom import CLUSTERS, OF_VARIANCES, STRATA, df_method, df_rule
from judgestats.models.postestimation.design_shortages import Shortage, few_clusters, shortages
from judgestats.models.postestimation.mean_responses import parted
from judgestats.models.postestimation.separation import constant_terms
from judgestats.models.variance_parameters import component_values, components
from judgestats.schema.columns import VOCABULARY
from judgestats.typing import Floats

#: Columns of :func:`check`; those of :func:`judgestats.check` without row numbers, which a fit does not have.
COLUMNS = ("level", "column", "what", "n", "example", "remedy")
#: With fewer levels than this a variance is hardly estimable.
FEW_LEVELS = 5
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
class FitFinding:
    """One row of :func:`check`."""

    level: str
    column: str
    what: str
    n: float
    example: str = ""
    remedy: str = ""


def check(fit: Fitted) -> pd.DataFrame:
    """List faults of a fit and cautions about it: :meth:`judgestats.models.Fit.check`."""
    findings = [finding for search in SEARCHES for finding in search(fit)]
    aside = fit.design.rows.n_missing + fit.design.rows.n_zero
    findings += [FitFinding("rows", "", "rows used", fit.n), FitFinding("rows", "", "rows excluded", aside)]
    return pd.DataFrame([astuple(d) for d in findings], columns=list(COLUMNS))


def _optimum(fit: Fitted) -> Iterator[FitFinding]:
    if not fit.converged and posterior_summaries.draws_of(fit) is None:
        remedy = f"{flags.NOT_CONVERGED.explanation} The steps are in fit.log."
        yield FitFinding("fault", "", flags.NOT_CONVERGED, 1, "", remedy)
    if flags.PERFECT_FIT in fit.notes:
        yield FitFinding("fault", "", flags.PERFECT_FIT, fit.n, "", flags.PERFECT_FIT.explanation)
    if flags.NO_HESSIAN in fit.notes and flags.SEPARATION not in fit.notes:
        yield FitFinding("fault", "", flags.NO_HESSIAN, fit.df, "", flags.NO_HESSIAN.explanation)


def _integration(fit: Fitted) -> Iterator[FitFinding]:
    """A quadrature rule whose results a finer one changes."""
    refinement, laplace = refined(fit), fit.method == "Laplace"
    if refinement is None or (refinement.estimates < LAPLACE if laplace else refinement.settled):
        return
    moves = f"the log-likelihood by {refinement.loglik:+.2g}, an estimate by {refinement.estimates:.2g} standard errors"
    what = f"{fit.method}: {'too coarse' if laplace else 'too few nodes'}, a refined rule moves {moves}"
    remedy = 'Pass n_quadrature="auto".'
    if fit.approximation == "trapezoid":
        remedy = (
            "The standard deviation is unbounded: nearly all levels have one answer only. Collect more calls per "
            "level, or use engine='pymc', whose prior bounds it."
        )
    yield FitFinding("fault", fit.design.terms[0].factor, what, 1, "", remedy)


def _separation(fit: Fitted) -> Iterator[FitFinding]:
    """Levels with one answer only; failing that, the parameters that diverge."""
    if flags.NO_OVERDISPERSION in fit.notes:
        what = f"{flags.NO_OVERDISPERSION}: log(size) is infinite"
        yield FitFinding("caution", "", what, 1, "", flags.NO_OVERDISPERSION.explanation)
    if flags.SEPARATION not in fit.notes:
        return
    names = fit.options.separated
    if constant := [fit.design.terms[t] for t in constant_terms(fit)]:
        for term in constant:
            what = f"each level of {term.factor} always has one answer: separation"
            remedy = (
                "Its standard deviation is infinite, and with it every coefficient. Leave the term out and count each "
                f"{term.factor} once, or use engine='pymc', whose prior bounds it."
            )
            yield FitFinding("fault", term.factor, what, len(term.levels), term.levels[0], remedy)
        return
    remedy = (
        "Its coefficient is infinite. Merge the level, drop the term, or make it a random effect, which is shrunk; "
        "a likelihood-ratio test (anova) still holds."
    )
    alone = [finding for column in _factors(fit) for finding in _one_answer(fit, column, remedy)]
    if alone:
        yield from alone
        return
    yield FitFinding(
        "fault", ", ".join(names), "separation: together the terms predict an answer perfectly", len(names), "", remedy
    )


def _one_answer(fit: Fitted, column: str, remedy: str) -> Iterator[FitFinding]:
    d = fit.design
    levels = labels(d.frame[column]).to_numpy(dtype=object)
    for level in sorted(set(levels)):
        own = levels == level
        calls = d.count[own] * d.trials[own]
        share = d.y[own] / d.trials[own]
        for k, answer in enumerate(d.categories if fit.distribution.per_class else ()):
            if not (share == k).any():
                yield FitFinding("fault", column, f"{level!r} never has {answer}: separation", 0, str(level), remedy)
        for value in () if fit.distribution.per_class else fit.distribution.extremes(len(d.categories)):
            if (share == value).all():
                answer = d.categories[int(value)] if d.categories else f"{value:.0f}"
                what = f"{level!r} always has {answer}: separation"
                yield FitFinding("fault", column, what, float(calls.sum()), str(level), remedy)


def _factors(fit: Fitted) -> list[str]:
    """Categorical columns of the fixed part, and columns by which thresholds vary."""
    own = [*fit.design.fixed.coder.factors, *parted(fit)]
    return [c for c in dict.fromkeys(own) if c in fit.design.frame]


def _singular(fit: Fitted) -> Iterator[FitFinding]:
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
            yield FitFinding("caution", own.group, f"singular fit: {own.term} is 0", size, "", remedy)
        elif not own.is_sd and abs(value) > 0.999:
            remedy = f"The data do not support the correlation: write {uncorrelated(fit, own.t)}."
            yield FitFinding("caution", own.group, f"singular fit: {own.term} is {value:.0f}", size, "", remedy)
    for t, (term, L) in enumerate(zip(fit.design.terms, fit.factors(), strict=True)):
        if len(L) > 2 and np.linalg.svd(L, compute_uv=False).min() < 1e-3 * scale:
            remedy = f"The data do not support all correlations: write {uncorrelated(fit, t)}."
            what = f"singular fit: {written(fit, t)} has a combination without variance"
            yield FitFinding("caution", term.factor, what, len(term.levels), "", remedy)


def _levels(fit: Fitted) -> Iterator[FitFinding]:
    d = fit.design
    calls = float(d.count @ d.trials)
    for term in {t.factor: t for t in d.terms}.values():
        size = len(term.levels)
        if fit.distribution.has_trials and size > ONE_EACH * calls:
            remedy = (
                "With one call per level the variance cannot be separated from residual variation. Leave the term out."
            )
            what = f"{size:,} levels for {calls:,.0f} calls"
            yield FitFinding("caution", term.factor, what, size, term.levels[0], remedy)


def _sizes(fit: Fitted) -> Iterator[FitFinding]:
    """Designs too small for the method, by the study of coverage."""
    terms = fit.design.terms
    scalar = len(terms) == 1 and len(terms[0].names) == 1
    nodes = 'Pass n_quadrature="auto".' if scalar else "Use confint(method='bootstrap')."
    for short in shortages(fit):
        what, example, remedy = _in_words(fit, short, nodes)
        yield FitFinding("caution", short.factor, f"{short.flag}: {what}", len(short.levels), example, remedy)


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
    own = df_rule(fit)
    if own in (short.factor, STRATA):
        return f"Intervals of {what} use t on its levels; the profile of its sd is too short."
    if own in (*OF_VARIANCES, CLUSTERS):
        if fit.method == "REML" or own == CLUSTERS:
            return f"Intervals of the fixed effects ({df_method(fit)}) hold; the profile of its sd is too short."
        return f"Intervals of {what} are somewhat too short, and so is the profile of its sd. Pass reml=True."
    within = "effects that vary within them are not affected"
    return f"Intervals of {what} are too short, and so is that of its sd; {within}. Leave out df={own!r}."


def _suspect_columns(fit: Fitted) -> Iterator[FitFinding]:
    """Columns of the fixed part that look like something else."""
    d, coder = fit.design, fit.design.fixed.coder
    for column in (c for c in coder.columns if c in d.frame):
        values = d.frame[column]
        sums = pd.Series(d.count).groupby(values.to_numpy()).sum()
        if len(sums) > 1 and sums.max() > CONSTANT * sums.sum():
            what, rest = f"nearly always {sums.idxmax()!r}", float(sums.sum() - sums.max())
            remedy = "Its effect rests on these few rows. Check whether it should be in the model."
            yield FitFinding("caution", column, what, rest, "", remedy)
        if column in coder.numerics and column not in coder.factors and not pd.api.types.is_bool_dtype(values):
            numbers = np.asarray(sums.index, float)
            yield from _as_number(column, numbers)
            yield from _far(column, numbers, sums.to_numpy())


def _as_number(column: str, numbers: Floats) -> Iterator[FitFinding]:
    """Whole numbers that may be labels."""
    if len(numbers) < 3 or (numbers % 1 != 0).any():
        return
    example = ", ".join(f"{v:.0f}" for v in numbers[:3])
    remedy = f"If these are labels, write C({column}), or make them random: (1|{column})."
    if column in NAMES or column.lower() == "id" or column.lower().endswith(("_id", ".id")):
        yield FitFinding("caution", column, "names used as numbers", len(numbers), example, remedy)
    elif len(numbers) <= LABELS:
        yield FitFinding("counted", column, "whole numbers used as numbers", len(numbers), example, remedy)


def _far(column: str, values: Floats, count: Floats) -> Iterator[FitFinding]:
    """Numbers far from 0, whose slope is nearly collinear with the intercept."""
    mean = float(np.average(values, weights=count))
    sd = float(np.sqrt(np.average((values - mean) ** 2, weights=count)))
    if abs(mean) > FAR * sd > 0:
        remedy = f"Write center({column}): the slope is the same, and the fit and its errors are more accurate."
        yield FitFinding(
            "caution", column, f"mean {mean:.4g}, spread {sd:.2g}: the origin is far away", len(values), "", remedy
        )


def _engine(fit: Fitted) -> Iterator[FitFinding]:
    if flags.TOO_SMALL in fit.notes:
        what = f"statsmodels' variational Bayes: {flags.TOO_SMALL}"
        yield FitFinding("fault", "", what, fit.n_fixed, "", flags.TOO_SMALL.explanation)
    for flag, clusters in few_clusters(fit):
        remedy = "Robust standard errors of few clusters are too small without a correction. Leave out df='normal'."
        yield FitFinding("caution", clusters.columns, f"{flag}: {clusters.n}", clusters.n, "", remedy)
    if fit.engine == "lpm":
        mean = fit.design.X @ fit.beta + fit.design.offset
        outside = float(fit.design.count[(mean < 0) | (mean > 1)].sum())
        if outside:
            remedy = "A linear probability model ignores the bounds 0 and 1. Use engine='ml'."
            yield FitFinding("caution", "", "fitted probabilities below 0 or above 1", outside, "", remedy)


def _posterior(fit: Fitted) -> Iterator[FitFinding]:
    """Mixing of the chains, and conflicts of priors with the data."""
    draws = posterior_summaries.draws_of(fit)
    if draws is not None:
        yield from (FitFinding(*row) for row in posterior_summaries.findings(fit, draws))


def _left_out(fit: Fitted) -> Iterator[FitFinding]:
    d = fit.design
    if d.rows.n_missing:
        columns = ", ".join(d.formula.variables)
        yield FitFinding("excluded", columns, "rows with a missing value, or invalid", d.rows.n_missing)
    if d.rows.n_zero:
        yield FitFinding("excluded", str(d.rows.counted), "count is zero", d.rows.n_zero)
    for name in d.fixed.aliased:
        remedy = "It is a linear combination of earlier columns, and has no coefficient. Leave it out."
        yield FitFinding("excluded", name, "aliased", 1, "", remedy)
    for note in d.response.notes:
        yield FitFinding("excluded", d.formula.response, note, 1)


SEARCHES: tuple[Callable[[Fitted], Iterator[FitFinding]], ...] = (
    _optimum,
    _integration,
    _separation,
    _engine,
    _singular,
    _sizes,
    _levels,
    _suspect_columns,
    _posterior,
    _left_out,
)


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
    term = fit.design.terms[t]
    if not _plain(fit, t):
        return " + ".join([f"(1|{term.factor})", *(f"(1|{term.factor}:{c})" for c in term.coder.factors)])
    return _spelled(list(term.names), term.factor, "||")


def _plain(fit: Fitted, t: int) -> bool:
    """Whether every column of a random term is a term of its formula by that name."""
    left = fit.design.terms[t].coder
    return not left.factors and all(place.stop - place.start == 1 for place in left.terms.values())


def _spelled(names: list[str], factor: str, bar: str = "|") -> str:
    slopes = " + ".join(n for n in names if n != "Intercept")
    if "Intercept" not in names:
        return f"(0 + {slopes}{bar}{factor})"
    return f"({slopes or '1'}{bar}{factor})"
