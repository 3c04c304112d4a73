"""Wald tests of terms and hypotheses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import chdtrc

from judgestats import flags
from judgestats.errors import DesignError, choose
from judgestats.methods import F
from judgestats.models.fitted_models import Fitted
from judgestats.models.postestimation.degrees_of_freedom import NORMAL, degrees, denominator, df_method, df_rule
from judgestats.models.postestimation.delta_method import cautions, trusted
from judgestats.models.postestimation.design_shortages import interval_flags
from judgestats.models.postestimation.linear_hypotheses import hypothesis
from judgestats.models.postestimation.reference_distributions import f_tail
from judgestats.typing import Floats

INTERCEPT = "Intercept"
#: Term, statistic, degrees of freedom, those of the denominator, and flags of these.
Test = tuple[str, float, int, float, str]


def tests(fit: Fitted, kind: Any = "II") -> pd.DataFrame:  # noqa: PT028
    """Wald tests: :meth:`judgestats.models.Fit.tests`."""
    if isinstance(kind, str) and kind in ("II", "III", "wald"):
        rows = [_term(fit, name, second=kind == "II") for name in fit.design.fixed.coder.terms if name != INTERCEPT]
        return _frame(fit, rows)
    if isinstance(kind, np.ndarray):
        return _frame(fit, [_hypotheses(fit, "hypothesis", kind)])
    if isinstance(kind, str):
        if "=" not in kind and kind not in fit.names:
            choose(kind, ("II", "III", "wald", *fit.names[: fit.n_location]), "kind")
        kind = [kind]
    hypotheses = kind.items() if isinstance(kind, Mapping) else [(str(k), k) for k in kind]
    return _frame(fit, [_hypotheses(fit, str(name), rows_or_text) for name, rows_or_text in hypotheses])


def _term(fit: Fitted, name: str, *, second: bool) -> Test:
    """A term, given all others; of type II where those that contain it are 0."""
    terms = fit.design.fixed.coder.terms
    own = set(name.split(":"))
    containing = [t for t in terms if second and t != name and t != INTERCEPT and own < set(t.split(":"))]
    above, place = [k for t in containing for k in fit.columns(terms[t])], fit.columns(terms[name])
    rows = np.eye(len(fit.params))[place]
    V = trusted(fit)[np.ix_([*place, *above], [*place, *above])]
    if above and np.isfinite(V).all():
        size = len(place)
        rows[:, above] = -np.linalg.solve(V[size:, size:], V[size:, :size]).T
    elif above:
        rows[:, above] = np.nan
    return _test(fit, name, rows, np.zeros(len(rows)))


def _test(fit: Fitted, name: str, rows: Floats, values: Floats) -> Test:
    """F of a hypothesis, or χ² where the degrees of freedom are infinite by rule."""
    if np.isnan(rows).any():
        return name, float("nan"), len(rows), float("nan"), ""
    statistic, df = wald(fit, rows, values)
    location = rows[:, : fit.n_location]
    of_df = flags.join(*interval_flags(fit, location, degrees(fit, location)))
    if df_rule(fit) == NORMAL:
        return name, statistic, df, float("inf"), of_df
    if np.isnan(statistic):
        return name, statistic, df, float("nan"), of_df
    factor, error = denominator(fit, location)
    of_df = flags.join(of_df, flags.NO_DF if df and np.isnan(error) else None)
    return name, statistic * factor / max(df, 1), df, error, of_df


def wald(fit: Fitted, rows: Floats, values: Floats) -> tuple[float, int]:
    """Wald's χ² of rows (R, P) @ params = values, NaN where a variance that matters is not known, and its rank."""
    rank = int(np.linalg.matrix_rank(rows))
    used = np.flatnonzero((rows != 0).any(axis=0))
    V = trusted(fit)[np.ix_(used, used)]
    if not np.isfinite(V).all():
        return float("nan"), rank
    own = rows[:, used] @ V @ rows[:, used].T
    gap = rows @ fit.params - values
    scale = np.sqrt(np.maximum(np.diag(own), 1e-300))
    inner = own / np.outer(scale, scale)
    inverse = np.linalg.inv(inner) if rank == len(rows) else np.linalg.pinv(inner, rcond=1e-9, hermitian=True)
    return float((gap / scale) @ inverse @ (gap / scale)), rank


def _array(fit: Fitted, weights: ArrayLike) -> Floats:
    rows = np.atleast_2d(np.asarray(weights, float))
    allowed = sorted({fit.n_fixed, fit.n_location})
    if rows.shape[1] not in allowed:
        raise DesignError(
            f"The array has {rows.shape[1]} columns. Allowed: {' or '.join(map(str, allowed))}, one for each of "
            f"{', '.join(fit.names[: fit.n_location])}."
        )
    full = np.zeros((len(rows), len(fit.params)))
    full[:, : rows.shape[1]] = rows
    return full


def _hypotheses(fit: Fitted, name: str, parts_of: Any) -> Test:
    if isinstance(parts_of, np.ndarray):
        rows = _array(fit, parts_of)
        return _test(fit, name, rows, np.zeros(len(rows)))
    texts = [parts_of] if isinstance(parts_of, str) else list(parts_of)
    parsed = [hypothesis(part, fit.names[: fit.n_location]) for text in texts for part in str(text).split(",")]
    rows = np.zeros((len(parsed), len(fit.params)))
    rows[:, : fit.n_location] = [weights for weights, _ in parsed]
    return _test(fit, name, rows, np.array([value for _, value in parsed]))


def _frame(fit: Fitted, rows: Sequence[Test]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["term", "statistic", "df", "df_error", "flag"])
    table = table.astype({"term": "str", "statistic": float, "df": int, "df_error": float})
    statistic, df, error = (table[c].to_numpy(dtype=float) for c in ("statistic", "df", "df_error"))
    chi = _p_value(statistic, df)
    table["p_value"] = chi if df_rule(fit) == NORMAL else f_tail(statistic, df, error)
    table["method"] = df_method(fit, F)
    own = cautions(fit, statistic)
    table["flag"] = [flags.join(str(a), b) for a, b in zip(own, table.pop("flag"), strict=True)]
    return table


def _p_value(statistic: Floats, df: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.where((df > 0) & np.isfinite(statistic), chdtrc(np.maximum(df, 1), np.maximum(statistic, 0)), np.nan)
