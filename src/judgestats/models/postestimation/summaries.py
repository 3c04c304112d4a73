"""An lme4-style summary of a fit, as text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from judgestats.methods import AGQ, TRAPEZOID, method_of
from judgestats.models.fitted_models import Fitted
from judgestats.models.postestimation import effects, posterior_summaries
from judgestats.models.postestimation.coefficient_tables import glance, groups, tidy
from judgestats.models.postestimation.degrees_of_freedom import NORMAL, df_method, df_rule
from judgestats.models.postestimation.diagnosis import check

#: Ends of the levels of significance, and their signs.
STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"), (0.1, "."))
LEGEND = "Signif. codes:  0 '***' 0.001 '**' 0.01 '*' 0.05 '.' 0.1 ' ' 1"
#: How a model was fitted -> the head of its summary.
HEADS = {
    "Laplace": "fit by maximum likelihood (Laplace Approximation)",
    "ML": "fit by maximum likelihood",
    "REML": "fit by REML",
    "IRLS": "fit by iteratively reweighted least squares",
    "GEE exchangeable": "fit by generalized estimating equations (exchangeable, robust errors)",
    "variational Bayes": "fit by variational Bayes",
}


def summary(fit: Fitted) -> str:
    """See :meth:`judgestats.models.Fit.summary`."""
    parts = (_head, _likelihood, _random, _fixed, _thresholds, _icc, _priors, _notes)
    blocks = [part(fit) for part in parts]
    return "\n\n".join(b for b in blocks if b)


def _head(fit: Fitted) -> str:
    d = fit.design
    linear = fit.distribution.linear
    kind = "Cumulative link" if fit.distribution.ordered else "Linear" if linear else "Generalized linear"
    kind = "Multinomial logit" if fit.distribution.per_class else kind
    mixed = " mixed" if d.terms else ""
    rule = method_of(fit.method).parts
    rules = {
        AGQ.parts.way: f"fit by maximum likelihood (adaptive Gauss-Hermite quadrature,{rule.behind} nodes)",
        TRAPEZOID.parts.way: f"fit by maximum likelihood (trapezoidal rule,{rule.behind} nodes a group)",
    }
    how = HEADS.get(fit.method) or rules.get(rule.way, f"fit by {fit.method}")
    if linear and fit.method == "ML" and not d.terms:
        how = "fit by least squares"
    lines = [f"{kind}{mixed} model {how} [engine {fit.engine}]"]
    if fit.engine == "lpm":
        lines.append(" Linear probability model: coefficients are differences of probability")
    if not linear:
        lines.append(f" Family: {fit.family} ({fit.link})")
    if df_rule(fit) != NORMAL:
        lines.append(f" Tests: {df_method(fit)}")
    lines += [f"Formula: {fit.formula}", f"   Data: {_data(fit)}"]
    if fit.distribution.per_class:
        lines.append(f" Baseline: {d.categories[0]}")
    if d.response.labels not in ((), ("0", "1"), ("failure", "success")):
        lines.append(f" Models: probability of {d.response.labels[1]!r}")
    return "\n".join(lines)


def _data(fit: Fitted) -> str:
    d = fit.design
    text = f"{fit.n:,.0f} rows"
    if d.rows.counted:
        text += f" ({d.rows.counted} counts {fit.n:,.0f} in {len(d.y):,})"
    if (d.trials != 1).any():
        text += f", {float(d.count @ d.trials):,.0f} trials"
    return text + (f"; {d.rows.n_missing:,} excluded" if d.rows.n_missing else "")


def _likelihood(fit: Fitted) -> str:
    row = glance(fit).iloc[0]
    if "elpd_loo" in row:
        return f"elpd_loo {row['elpd_loo']:.1f} (error {row['elpd_error']:.1f}), leaving out one {row['elpd_unit']}"
    if not np.isfinite(fit.loglik):
        return ""
    if fit.method == "REML":
        return f"REML criterion at convergence: {row['deviance']:.1f}"
    names = ("AIC", "BIC", "logLik", "deviance", "df.resid")
    cells = [f"{row[c]:.1f}" for c in ("aic", "bic", "loglik", "deviance")] + [f"{row['df_residual']:.0f}"]
    widths = [max(len(a), len(b), 8) for a, b in zip(names, cells, strict=True)]
    return "\n".join([" ".join(map(str.rjust, line, widths)) for line in (names, cells)])


def _random(fit: Fitted) -> str:
    d = fit.design
    if not d.terms:
        clusters = fit.options.clusters
        within = f"; correlation within: {clusters.correlation:.4g}" if fit.engine == "gee" and clusters else ""
        return f"Clusters: {groups(fit)}{within}" if clusters else ""
    rows = [["Groups", "Name", "Variance", "Std.Dev.", "Corr"]]
    spreads = []
    for t, C in zip(d.terms, fit.covariances(), strict=True):
        sd = np.sqrt(np.diag(C))
        for a, name in enumerate(t.names):
            corr = [f"{C[a, b] / (sd[a] * sd[b]):.2f}" if sd[a] * sd[b] > 0 else "NaN" for b in range(a)]
            rows.append([t.factor if a == 0 else "", name, "", "", "  ".join(corr)])
            spreads.append(sd[a])
    if fit.distribution.linear:
        rows.append(["Residual", "", "", "", ""])
        spreads.append(fit.residual)
    for row, *cells in zip(rows[1:], _digits([s**2 for s in spreads]), _digits(spreads), strict=True):
        row[2:4] = cells
    if not any(row[4] for row in rows[1:]):
        rows = [row[:4] for row in rows]
    sizes = ";  ".join(f"{t}, {n:,}" for t, n in {t.factor: len(t.levels) for t in d.terms}.items())
    table = _aligned(rows, left=(0, 1, 4))
    return f"Random effects:\n{table}\nNumber of obs: {fit.n:,.0f}, groups:  {sizes}"


def _digits(values: Sequence[float]) -> list[str]:
    """Numbers with four significant digits of the smallest, or a few more."""
    finite = [abs(v) for v in values if np.isfinite(v) and v != 0]
    small = min(finite, default=1.0)
    places = int(np.clip(3 - np.floor(np.log10(small)), 0, 6))
    places = min(places, max(0, int(4 - np.floor(np.log10(max(finite, default=1.0))))) + 1)
    return [f"{v:.{places}f}" for v in values]


def _aligned(rows: Sequence[Sequence[str]], left: Sequence[int] = (0,)) -> str:
    columns = []
    for k, texts in enumerate(zip(*rows, strict=True)):
        width = max(map(len, texts))
        columns.append([text.ljust(width) if k in left else text.rjust(width) for text in texts])
    return "\n".join([f" {' '.join(line)}".rstrip() for line in zip(*columns, strict=True)])


def _fixed(fit: Fitted) -> str:
    table = tidy(fit, effects="fixed").iloc[: fit.n_fixed]
    if table.empty:
        return ""
    title = "Coefficients" if not fit.design.terms else "Fixed effects"
    if posterior_summaries.draws_of(fit) is not None:
        return f"{title}:\n{_sampled(fit, table)}"
    letter = "t" if np.isfinite(table["df"]).any() else "z"
    rows = [["", "Estimate", "Std. Error", "df", f"{letter} value", f"Pr(>|{letter}|)", ""]]
    numbers = zip(_digits(table["estimate"].tolist()), _digits(table["std_error"].tolist()), strict=True)
    places = 6 if table["p_value"].between(1e-4, 0.01).any() else 4
    for row, (estimate, error) in zip(table.to_dict("records"), numbers, strict=True):
        p = row["p_value"]
        df = f"{row['df']:.4g}" if row["df"] < 1000 else f"{row['df']:.0f}"
        star = next((sign for end, sign in STARS if p < end), "")
        rows.append([row["term"], estimate, error, df, f"{row['statistic']:.3f}", _p(p, places), star])
    if letter == "z":
        rows = [[*row[:3], *row[4:]] for row in rows]
    starred = any(row[-1] for row in rows)
    return f"{title}:\n{_aligned(rows, left=(0, len(rows[0]) - 1))}" + (f"\n---\n{LEGEND}" if starred else "")


def _sampled(fit: Fitted, table: pd.DataFrame) -> str:
    """Rows of a posterior."""
    draws = posterior_summaries.draws_of(fit)
    assert draws is not None
    mixing = dict(
        zip(
            (term for _, term in posterior_summaries.terms(fit)), posterior_summaries.effective(fit, draws), strict=True
        )
    )
    columns = [_digits(table[c].tolist()) for c in ("estimate", "std_error", "conf_low", "conf_high")]
    rows = [["", "Mean", "Post. SD", "2.5 %", "97.5 %", "R-hat", "ESS"]]
    rows += [[term, *own, *mixing[term]] for term, *own in zip(table["term"], *columns, strict=True)]
    return _aligned(rows)


def _priors(fit: Fitted) -> str:
    if posterior_summaries.draws_of(fit) is None:
        return ""
    lines = [f" {names} ~ {words}: {meaning}" for names, words, meaning in posterior_summaries.prior_block(fit)]
    return "Priors:\n" + "\n".join(lines)


def _p(p: float, places: int) -> str:
    if np.isnan(p):
        return "NaN"
    return "<2e-16" if p < 2e-16 else f"{p:.2e}" if p < 1e-4 else f"{p:.{places}f}"


def _thresholds(fit: Fitted) -> str:
    table = tidy(fit, effects="fixed").iloc[fit.n_fixed :]
    if table.empty:
        return ""
    if posterior_summaries.draws_of(fit) is not None:
        return f"{fit.distribution.shape_title}:\n{_sampled(fit, table)}"
    rows = [["", "Estimate", "Std. Error"]]
    for row in table.to_dict("records"):
        rows.append([row["term"], f"{row['estimate']:.4f}", f"{row['std_error']:.4f}"])
    return f"{fit.distribution.shape_title}:\n{_aligned(rows)}"


def _icc(fit: Fitted) -> str:
    if not fit.design.terms or fit.distribution.per_class:
        return ""
    table = effects.variance_components(fit)
    own = table[table["term"] == effects.ICC]
    shares = "; ".join(f"{g} {s:.3f}" for g, s in zip(own["group"], own["share"], strict=True))
    return f"Latent ICC: {shares}"


def _notes(fit: Fitted) -> str:
    findings = check(fit)
    lines = []
    for row in findings[~findings["level"].isin(["rows", "counted"])].to_dict("records"):
        where = f"{row['column']}: " if row["column"] else ""
        lines.append(f" - {where}{row['what']}. {row['remedy']}".rstrip())
    return "Notes:\n" + "\n".join(lines) if lines else ""
