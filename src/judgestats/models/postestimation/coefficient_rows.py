"""A row of the table of coefficients."""

from __future__ import annotations

from typing import NamedTuple

NAN = float("nan")


class CoefficientRow(NamedTuple):
    """A row of ``tidy()``, its columns in order."""

    group: str
    term: str
    estimate: float
    std_error: float
    statistic: float = NAN
    df: float = NAN
    p_value: float = NAN
    conf_low: float = NAN
    conf_high: float = NAN
    method: str = ""
    flag: str = ""
