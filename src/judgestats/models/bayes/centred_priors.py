"""Priors of single parameters: (half-)normal or (half-)t about 0, or flat."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from scipy.special import gammaln, ndtr, ndtri, stdtr, stdtrit

from judgestats.errors import DesignError
from judgestats.typing import Floats


@dataclass(frozen=True)
class CentredPrior:
    """A prior about 0."""

    scale: float  # infinite for a flat prior
    df: float | None  # degrees of freedom of a t; None for a normal
    half: bool  # whether restricted to values above 0, for a standard deviation

    def loss(self, value: float) -> tuple[float, float]:
        """Minus the log density without constants, and its derivative."""
        z = value / self.scale
        if self.df is None:
            return z * z / 2, z / self.scale
        more = (self.df + 1) / (self.df + z * z)
        return (self.df + 1) / 2 * float(np.log1p(z * z / self.df)), more * z / self.scale

    def log_density(self, values: Floats) -> Floats:
        """Log density of each value without constants."""
        z = np.asarray(values, np.float64) / self.scale
        logs = -(z**2) / 2 if self.df is None else -(self.df + 1) / 2 * np.log1p(z**2 / self.df)
        return np.asarray(logs, np.float64)

    def place(self, values: Floats) -> Floats:
        """Standard normal quantiles at the probabilities of values under the prior."""
        z = np.asarray(values, np.float64) / self.scale
        upper = ndtr(-z) if self.df is None else stdtr(self.df, -z)
        if not self.half and self.df is None:
            return np.asarray(z, np.float64)
        return np.asarray(-ndtri(np.clip(2 * upper if self.half else upper, 1e-300, 1 - 1e-16)), np.float64)

    def stretched(self, z: Floats) -> tuple[Floats, Floats]:
        """Inverse of :meth:`place` for a half-prior, and its derivative."""
        upper = ndtr(-z) / 2
        if self.df is None:
            at = -ndtri(upper)
            density = 2 * np.exp(-(at**2) / 2) / np.sqrt(2 * np.pi)
        else:
            at = -stdtrit(self.df, upper)
            constant = gammaln((self.df + 1) / 2) - gammaln(self.df / 2) - np.log(self.df * np.pi) / 2
            density = 2 * np.exp(constant - (self.df + 1) / 2 * np.log1p(at**2 / self.df))
        slope = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) / density
        return self.scale * np.maximum(at, 0.0), self.scale * slope

    def quartiles(self) -> tuple[float, float]:
        """Lower and upper quartile; infinite for a flat prior."""
        low, high = (0.625, 0.875) if self.half else (0.25, 0.75)
        at = ndtri([low, high]) if self.df is None else stdtrit(self.df, [low, high])
        return self.scale * float(at[0]), self.scale * float(at[1])

    def decides(self, values: Floats) -> bool:
        """Whether the interquartile range of posterior draws exceeds 80 % of that of the prior."""
        low, high = self.quartiles()
        return bool(np.subtract(*np.quantile(values, [0.75, 0.25])) > 0.8 * (high - low))

    def draw(self, rng: np.random.Generator, size: int | tuple[int, ...] = ()) -> Floats:
        """Random values."""
        noise = rng.standard_normal(size) if self.df is None else rng.standard_t(self.df, size)
        return np.asarray(self.scale * (np.abs(noise) if self.half else noise), np.float64)

    def pymc(self, pm: ModuleType, name: str) -> Any:
        """The prior as a variable of the current PyMC model."""
        if self.df is None:
            return pm.HalfNormal(name, self.scale) if self.half else pm.Normal(name, 0.0, self.scale)
        if self.half:
            return pm.HalfStudentT(name, nu=self.df, sigma=self.scale)
        return pm.StudentT(name, nu=self.df, mu=0.0, sigma=self.scale)

    def __str__(self) -> str:
        """The usual notation, such as ``half-normal(0.5)``."""
        if np.isinf(self.scale):
            return "flat"
        half = "half-" if self.half else ""
        return f"{half}normal({self.scale:.4g})" if self.df is None else f"{half}t({self.df:g}, {self.scale:.4g})"


def prior_of(value: object, name: str, *, half: bool) -> CentredPrior:
    """Read a prior given as the scale of a normal, infinite if flat, or ``(scale, df)`` of a t."""
    scale_df = value if isinstance(value, tuple | list) else (value,)
    numbers = all(isinstance(v, int | float | np.integer | np.floating) and not isinstance(v, bool) for v in scale_df)
    if not (numbers and 1 <= len(scale_df) <= 2 and all(v > 0 for v in scale_df)):
        raise DesignError(
            f"priors[{name!r}]={value!r} is not a prior. Give a scale above 0, or (scale, df) for a t; "
            "float('inf') is flat."
        )
    return CentredPrior(float(scale_df[0]), float(scale_df[1]) if len(scale_df) == 2 else None, half)
