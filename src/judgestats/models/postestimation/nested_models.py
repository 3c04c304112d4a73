"""Whether one model is a special case of another: every term of it a combination of the other's, row by row."""

from __future__ import annotations

import numpy as np
import pandas as pd

from judgestats.errors import DesignError
from judgestats.models.coding.factor_levels import coded_levels
from judgestats.models.designs import RandomTerm
from judgestats.models.fitted_models import Fitted
from judgestats.models.postestimation.mean_responses import CodedRows, rows_of
from judgestats.typing import Floats

#: A column that is this near to a combination of others, relative to its length, is one.
ROUNDING = 1e-7


def refuse_unnested(small: Fitted, large: Fitted) -> None:
    """Raise a DesignError where the smaller model is no special case of the larger one."""
    why = _beyond(small, large)
    if why:
        raise DesignError(
            f"{small.formula!r} is not nested in {large.formula!r}: {why}. A likelihood ratio compares nested models; "
            "compare these by AIC (glance()), or test a model with the terms of both against each."
        )


def _beyond(small: Fitted, large: Fitted) -> str:
    """What the smaller model has and the larger one lacks; empty where it is nested."""
    if small.distribution.limit and not large.distribution.limit:
        return f"it allows counts a variance beyond that of family={large.family!r}"
    frame = large.design.frame
    absent = [c for c in _columns(small) if c not in frame]
    if absent:
        return f"the larger model has no column {absent[0]!r}"
    own, other = rows_of(small, frame), rows_of(large, frame)
    wide = _predictor(large, other)
    moved = np.tile(own.offset - other.offset, len(wide) // len(other.X))[:, None]
    if not _spanned(np.hstack([_predictor(small, own), moved]), wide):
        return "its fixed effects are no combinations of the larger model's"
    for term, values in zip(small.design.terms, own.zs, strict=True):
        terms = zip(large.design.terms, other.zs, strict=True)
        if not any(_is_in(term, values, larger, by, frame) for larger, by in terms):
            return f"the larger model has no random term that allows for ({' + '.join(term.coder.names)}|{term.factor})"
    return ""


def _columns(fit: Fitted) -> list[str]:
    """Columns behind the predictors of a model."""
    d, by = fit.design, fit.model.partition
    of_terms = [c for term in d.terms for c in term.columns]
    return [*(c for coder in d.coders for c in coder.columns), *of_terms, *(by.columns.values() if by else ())]


def _predictor(fit: Fitted, rows: CodedRows) -> Floats:
    """Derivatives (M, P) of the linear predictor by the coefficients; of an ordinal model threshold by threshold."""
    if not fit.distribution.ordered:
        return rows.X
    cuts = fit.thresholds.map[rows.part]  # (M, J - 1, T)
    return np.vstack([np.hstack([cuts[:, j], -rows.X]) for j in range(cuts.shape[1])])


def _spanned(columns: Floats, by: Floats) -> bool:
    """Whether columns (M, K) are combinations of others (M, P)."""
    own, base = (a[:, size > 0] / size[size > 0] for a in (columns, by) for size in [np.linalg.norm(a, axis=0)])
    rest = own - base @ np.linalg.lstsq(base, own, rcond=None)[0]
    return bool((np.linalg.norm(rest, axis=0) < ROUNDING).all())


def _is_in(term: RandomTerm, values: Floats, larger: RandomTerm, by: Floats, frame: pd.DataFrame) -> bool:
    """Whether a random term is one of the larger's covariances: (1|g) is one of (x|g), and (1|g:h) of (0 + h|g)."""
    if not {*larger.columns} <= {*term.columns}:
        return False
    inside = [c for c in term.columns if c not in larger.columns]
    codes, levels = coded_levels(frame, inside) if inside else (np.zeros(len(frame), np.int64), ("",))
    if len(levels) * values.shape[1] > by.shape[1]:
        return False
    each = codes[:, None] == np.arange(len(levels))
    return _spanned((each[:, :, None] * values[:, None, :]).reshape(len(values), -1), by)
