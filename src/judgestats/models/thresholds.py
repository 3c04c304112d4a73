"""Thresholds of a cumulative model: their parameters, and the thresholds of each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from judgestats.models.links import LINKS
from judgestats.typing import Floats, Ints


@dataclass(frozen=True)
class Thresholds:
    """J - 1 thresholds in each of S sets, from T parameters."""

    map: Floats  # (S, J - 1, T)
    names: tuple[str, ...]  # of the parameters
    link: str
    # whether they move against the linear predictor, so that the model has no intercept. The size of a negative
    # binomial distribution does not; it takes the place of the one threshold
    location: bool = True

    def at(self, tau: Floats) -> Floats:
        """The thresholds (S, J - 1) at `tau` (T,)."""
        result: Floats = self.map @ tau
        return result

    def around(self, tau: Floats, category: Ints, part: Ints) -> tuple[Floats, Floats, bool]:
        """Upper and lower threshold (N,) of each row's category, and whether thresholds are in order."""
        if not self.names:
            nothing = np.zeros(len(category))
            return nothing, nothing, True
        inner = self.at(tau)
        edge = np.full((len(inner), 1), np.inf)
        full = np.concatenate([-edge, inner, edge], axis=1)
        ordered = bool((np.diff(inner, axis=1) > 0).all()) if inner.shape[1] > 1 else True
        return full[part, category + 1], full[part, category], ordered

    def designs(self, category: Ints, part: Ints) -> tuple[Floats, Floats]:
        """Derivatives (N, T) of the upper and the lower threshold of each row by the parameters."""
        edge = np.zeros((len(self.map), 1, self.map.shape[2]))
        full = np.concatenate([edge, self.map, edge], axis=1)  # without thresholds all (N, 0)
        return full[part, category + 1], full[part, category]

    def gradient(self, by_hi: Floats, by_lo: Floats, category: Ints, part: Ints) -> Floats:
        """Derivatives (T,) by the parameters, from those (N,) by each row's thresholds."""
        if not self.names:
            return np.zeros(0)
        S, inner, _ = self.map.shape
        place = part * (inner + 2) + category
        sums = np.bincount(place + 1, by_hi, minlength=S * (inner + 2))
        sums += np.bincount(place, by_lo, minlength=S * (inner + 2))
        by_threshold = sums.reshape(S, inner + 2)[:, 1:-1]
        result: Floats = np.tensordot(by_threshold, self.map, axes=2)
        return result

    def start(self, category: Ints, part: Ints, weight: Floats) -> Floats:
        """Parameters (T,) that fit the margins."""
        if not self.location or not self.names:
            return np.zeros(len(self.names))
        S, inner, T = self.map.shape
        table = np.bincount(part * (inner + 1) + category, weight, minlength=S * (inner + 1)).reshape(S, inner + 1)
        share = np.cumsum(table + 0.5, axis=1)
        share = share[:, :-1] / share[:, -1:]
        wanted = LINKS[self.link].forward(share)
        tau = np.linalg.lstsq(self.map.reshape(S * inner, T), wanted.ravel(), rcond=None)[0]
        return np.asarray(tau, np.float64)


#: Of a model that is not cumulative.
NONE = Thresholds(np.zeros((1, 0, 0)), (), "logit")


def cumulative_thresholds(
    categories: Sequence[str],
    link: str,
    shape: str = "free",
    parts: Mapping[str, Sequence[str]] | None = None,
    sets: Sequence[Mapping[str, str]] = ({},),
) -> Thresholds:
    """Lay out the thresholds of a cumulative model with J categories, lowest first; none gives no thresholds.

    `parts`: parameter -> levels over which it varies: of ``midpoint`` and ``half-width`` with symmetric thresholds, of
    ``threshold`` with free ones. `sets`: for each set of thresholds the level of each parameter in `parts`.
    """
    parts = parts or {}
    if len(categories) < 2:
        return NONE
    base, rows, kinds = _shape(categories, shape)
    names = [n if k not in parts else f"{n}[{v}]" for n, k in zip(rows, kinds, strict=True) for v in parts.get(k, [""])]
    full = np.zeros((len(sets), len(categories) - 1, len(names)))
    for s, chosen in enumerate(sets):
        for c, (name, kind) in enumerate(zip(rows, kinds, strict=True)):
            own = name if kind not in parts else f"{name}[{chosen[kind]}]"
            full[s, :, names.index(own)] = base[:, c]
    return Thresholds(full, tuple(names), link)


def _shape(categories: Sequence[str], shape: str) -> tuple[Floats, list[str], list[str]]:
    """Map of one set, names of its parameters, and what kind each is."""
    inner = len(categories) - 1
    if shape == "free":
        names = [f"{a}|{b}" for a, b in pairwise(categories)]
        return np.eye(inner), names, ["threshold"] * inner
    pairs = inner // 2
    base = np.zeros((inner, 1 + pairs))
    base[:, 0] = 1.0
    for k in range(pairs):
        base[pairs - 1 - k, 1 + k], base[inner - pairs + k, 1 + k] = -1.0, 1.0
    widths = ["half-width"] if pairs == 1 else [f"half-width {k + 1}" for k in range(pairs)]
    return base, ["midpoint", *widths], ["midpoint"] + ["half-width"] * pairs
