"""What is fitted, and how: :class:`Model`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from judgestats.models.designs import Design
from judgestats.models.families import FAMILIES, Family
from judgestats.models.threshold_sets import Partition
from judgestats.models.thresholds import NONE, Thresholds
from judgestats.typing import Ints


@dataclass(frozen=True)
class Model:
    """What is fitted: a design, a family and a link, and how."""

    design: Design
    family: str
    link: str
    reml: bool = False
    # nodes of adaptive Gauss-Hermite quadrature, 1 for Laplace's approximation. ``auto``: the trapezoidal rule, refined
    # group by group, for one scalar random term; Laplace's approximation for other terms
    n_quadrature: int | Literal["auto"] = 1
    thresholds: Thresholds = NONE
    part: Ints | None = None  # (N,): set of thresholds of each row of the design
    partition: Partition | None = None  # the sets, where thresholds vary by a column
    cluster: str | None = None  # column whose levels robust errors are clustered by
    many_clusters: bool = False  # robust errors as they are with many clusters, without a correction for few

    @cached_property
    def distribution(self) -> Family:
        """The record of the family."""
        return FAMILIES[self.family]

    @cached_property
    def predictors(self) -> int:
        """Linear predictors of a row: one, or in a nominal model one of each class but the baseline."""
        return len(self.distribution.predictors(self.design.categories))

    @property
    def kernel(self) -> int:
        """Number of family and link in the kernels."""
        return self.distribution.kernels[self.link]

    @cached_property
    def parts(self) -> Ints:
        """Set of thresholds of each row, 0 where there is one set."""
        return np.zeros(len(self.design.y), np.int64) if self.part is None else self.part

    @property
    def rule(self) -> int | Literal["auto"]:
        """`n_quadrature`, with ``auto`` only where there is one scalar random term to integrate."""
        return 1 if self.n_quadrature == "auto" and not self.scalar else self.n_quadrature

    @property
    def scalar(self) -> bool:
        """Whether there is one random term, of one column."""
        terms = self.design.terms
        return len(terms) == 1 and len(terms[0].names) == 1

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Columns of each random term."""
        return tuple(len(t.names) for t in self.design.terms)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of fixed effects, thresholds, elements ``chol(a,b|factor)`` of Cholesky factors, ``sd(residual)``."""
        classes = self.distribution.predictors(self.design.categories)
        names = [*(c + name for c in classes for name in self.design.names), *self.thresholds.names]
        for t in self.design.terms:
            k = len(t.names)
            names += [f"chol({t.names[a]},{t.names[b]}|{t.factor})" for b in range(k) for a in range(b, k)]
        return (*names, "sd(residual)") if self.distribution.linear else tuple(names)
