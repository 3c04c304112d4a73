"""Coordinates in which a parameter of interest, a correlation say, is held while the others move freely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from judgestats.models.fitted_models import Fitted
from judgestats.models.variance_parameters import Component
from judgestats.typing import Floats

#: A search that comes so far has lost its way.
_FAR = 1e50


class Chart(Protocol):
    """Coordinates in which a parameter of interest is one of them."""

    @property
    def place(self) -> int:
        """Which coordinate it is."""
        ...

    def at(self, coordinates: Floats) -> tuple[Floats, Floats]:
        """Parameters there, and their derivatives (parameters, coordinates); LinAlgError where there are none."""
        ...

    def of(self, params: Floats) -> Floats:
        """Coordinates of parameters."""
        ...


@dataclass(frozen=True)
class Plain:
    """The parameters themselves; where `shifted`, others are taken as distances from the one of interest."""

    place: int
    shifted: tuple[int, ...] = ()

    def at(self, coordinates: Floats) -> tuple[Floats, Floats]:
        """Parameters there, and their derivatives."""
        turn = np.eye(len(coordinates))
        turn[list(self.shifted), self.place] = 1.0
        return turn @ coordinates, turn

    def of(self, params: Floats) -> Floats:
        """Coordinates of parameters."""
        result = params.copy()
        result[list(self.shifted)] -= params[self.place]
        return result


@dataclass(frozen=True)
class Turned:
    """A term's Cholesky factor in an order of its columns in which a standard deviation or a correlation is seen."""

    place: int
    first: int
    size: int
    order: tuple[int, ...]
    is_sd: bool

    def _places(self) -> list[tuple[int, int]]:
        return [(a, b) for b in range(self.size) for a in range(b, self.size)]

    def at(self, coordinates: Floats) -> tuple[Floats, Floats]:
        """Parameters there, and their derivatives."""
        places = self._places()
        own = slice(self.first, self.first + len(places))
        if not np.abs(coordinates[own]).max() < _FAR or (
            not self.is_sd and coordinates[own][[0, self.size]].max() > 50
        ):
            raise np.linalg.LinAlgError("coordinates out of reach")
        M, moves = self._factor(coordinates[own])
        back = np.argsort(self.order)
        C = (M @ M.T)[np.ix_(back, back)]
        L = np.linalg.cholesky(C)
        inverse = np.linalg.inv(L)
        params, turn = coordinates.copy(), np.eye(len(coordinates))
        params[own] = [L[a, b] for a, b in places]
        block = np.empty((len(places), len(places)))
        for c, move in enumerate(moves):
            half = move @ M.T
            dC = (half + half.T)[np.ix_(back, back)]
            inner = inverse @ dC @ inverse.T
            dL = L @ (np.tril(inner) - np.diag(np.diag(inner)) / 2)
            block[:, c] = [dL[a, b] for a, b in places]
        turn[own, own] = block
        return params, turn

    def of(self, params: Floats) -> Floats:
        """Coordinates of parameters."""
        k, places = self.size, self._places()
        own = slice(self.first, self.first + len(places))
        L = np.zeros((k, k))
        for value, (a, b) in zip(params[own], places, strict=True):
            L[a, b] = value
        M = np.linalg.cholesky(_regular(L @ L.T)[np.ix_(self.order, self.order)])
        values = {p: M[p] for p in places}
        if not self.is_sd:
            second = float(np.hypot(M[1, 0], M[1, 1]))
            values[0, 0], values[1, 0], values[1, 1] = np.log(M[0, 0]), M[1, 0] / second, np.log(second)
        result = params.copy()
        result[own] = [values[p] for p in places]
        return result

    def _factor(self, values: Floats) -> tuple[Floats, list[Floats]]:
        """The factor in the turned order, and how it moves with each coordinate."""
        k, places = self.size, self._places()
        M, moves = np.zeros((k, k)), []
        for value, (a, b) in zip(values, places, strict=True):
            M[a, b] = value
            unit = np.zeros((k, k))
            unit[a, b] = 1.0
            moves.append(unit)
        if not self.is_sd:
            r, s = places.index((1, 0)), places.index((1, 1))
            cor, lead, sd = values[r], np.exp(values[0]), np.exp(values[s])
            rest = float(np.sqrt(max(1 - cor**2, 0.0)))
            M[0, 0], M[1, 0], M[1, 1] = lead, sd * cor, sd * rest
            moves[0], moves[r], moves[s] = lead * moves[0], np.zeros((k, k)), np.zeros((k, k))
            moves[r][1, :2] = sd, -sd * cor / max(rest, 1e-12)
            moves[s][1, :2] = sd * cor, sd * rest
        return M, moves


def _regular(C: Floats) -> Floats:
    """A covariance inside its boundary: one that is singular is moved off it by a thousandth of its scale."""
    sizes = np.linalg.eigvalsh(C)
    scale = sizes[-1] if sizes[-1] > 0 else 1.0
    return C if sizes[0] > 1e-9 * scale else np.asarray(C + 1e-6 * scale * np.eye(len(C)), float)


def chart_of(fit: Fitted, place: int) -> Plain:
    """Coordinates for a fixed effect or a threshold; other free thresholds are distances from it: all move together."""
    tau = range(fit.n_fixed, fit.n_location)
    free = place in tau and "|" in fit.names[place]
    return Plain(place, tuple(j for j in tau if j != place) if free else ())


def chart_of_component(own: Component, shift: int) -> Plain | Turned:
    """Coordinates for a standard deviation or a correlation; `shift` parameters before the variances are left out."""
    first = own.first - shift
    if own.size == 1:
        return Plain(first)
    lead = [own.i] if own.is_sd else [own.j, own.i]
    order = tuple(lead + [c for c in range(own.size) if c not in lead])
    # column by column: the first element leads, the second is the correlation
    return Turned(first if own.is_sd else first + 1, first, own.size, order, own.is_sd)
