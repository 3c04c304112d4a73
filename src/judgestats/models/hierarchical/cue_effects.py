"""Quantities of anchoring from shares of outcomes, and their rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgestats.models.bayes.draws import Draws
from judgestats.models.hierarchical.doubts import FEW_JUDGES, NOT_TOLD, PRIOR_DRIVEN
from judgestats.models.hierarchical.outcomes import Outcomes
from judgestats.models.hierarchical.posteriors import row
from judgestats.results import NO_DATA, SMALL_N, flags

Floats = NDArray[np.float64]
Terms = dict[str, Floats]
Rows = Iterator[dict[str, Any]]

#: Names in the column ``judge`` of rows that are of no one judge.
MEAN, ANOTHER = "mean of judges", "another judge"
AT_ZERO = "no gain, interval at 0"
AGREE = "draws agree"
_GAINS = {"lds": "shift_favoured", "ols": "shift_opposed", "ts": "shift_tie"}
_OF_TIES = ("shift_tie", "ts", "tie", "tie_blind")


def roles(shares: Floats, data: Outcomes, side: int) -> Floats:
    """Shares of favoured, opposed and tie, (..., 3)."""
    tie = shares[..., data.outcomes.index("tie")] if "tie" in data.outcomes else np.zeros(shares.shape[:-1])
    own = shares[..., side]
    return np.stack([own, np.clip(1.0 - own - tie, 0.0, 1.0), tie], axis=-1)


def _leaning(roles: Floats) -> Floats:
    """Favoured share among answers that took a side."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = roles[..., 0] / (roles[..., 0] + roles[..., 1])
    return result


def movement(blind: Floats, probe: Floats) -> Terms:
    """Terms of anchoring from shares of favoured, opposed and tie.

    Parameters
    ----------
    blind, probe : (..., 3) float arrays

    Returns
    -------
    dict of (...) arrays
        ``lao`` is NaN where nothing moves.
    """
    shift = probe - blind
    gains = np.maximum(shift, 0.0)
    total = gains.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        lao = np.where(total > 0, gains[..., 0] / total, np.nan)
    return {
        **{name: shift[..., k] for k, name in enumerate(_GAINS.values())},
        **{name: gains[..., k] for k, name in enumerate(_GAINS)},
        "lao": lao,
        "total_variation": total,
        "shift_nontie": _leaning(probe) - _leaning(blind),
        "tie": probe[..., 2],
        "tie_blind": blind[..., 2],
    }


def parts(blind: Floats, probe: Floats, one: int, two: int) -> Terms:
    """What a scheme changes in the favoured shift by abstaining, and by choosing otherwise where a side is taken.

    Parameters
    ----------
    blind, probe : (..., S, 3) float arrays
    one, two : int
        Schemes.

    Returns
    -------
    dict of (...) arrays
        They add up to the difference of the shifts of the two schemes.
    """
    sided = [(1 - blind[..., s, 2], 1 - probe[..., s, 2]) for s in (one, two)]
    lean = [(_leaning(blind)[..., s], _leaning(probe)[..., s]) for s in (one, two)]

    def shift(t: int, q: int) -> Floats:
        result: Floats = sided[t][1] * lean[q][1] - sided[t][0] * lean[q][0]
        return result

    abstaining = (shift(0, 0) - shift(1, 0) + shift(0, 1) - shift(1, 1)) / 2
    choosing = (shift(0, 0) - shift(0, 1) + shift(1, 0) - shift(1, 1)) / 2
    return {"by_abstaining": abstaining, "by_choosing": choosing}


@dataclass(frozen=True)
class Probed:
    """Shares under one probe and blind, and what is told about them.

    Attributes
    ----------
    data : Outcomes
    probe : int
    favoured : str
    shares : (chains, draws, J or J + 1, S, P, K) float array
        Last of several judges: one more of their kind.
    conf_level : float
    draws : Draws
        Those that the shares come from.
    """

    data: Outcomes
    probe: int
    favoured: str
    shares: Floats
    conf_level: float
    draws: Draws

    def rows(self, compared: list[tuple[int, int]]) -> Rows:
        """Movement under each scheme, then one scheme against another."""
        side = self.data.outcomes.index(self.favoured)
        blind, probe = (roles(self.shares[..., p, :], self.data, side) for p in (0, self.probe))
        terms = movement(blind, probe)
        for s in range(len(self.data.schemes)):
            yield from self._moved(terms, s)
        for one, two in compared:
            yield from self._differences(terms, parts(blind, probe, one, two), one, two)

    def _judges(self, schemes: tuple[int, ...]) -> Iterator[tuple[str, list[int], float, bool, str]]:
        """Name, places, calls, whether no tie is counted, and flag, of each judge and of all."""
        data = self.data
        cells = np.ix_(range(len(data.judges)), schemes, (0, self.probe))
        n = data.counts.sum(axis=-1)[cells].min(axis=(1, 2))
        tieless = np.zeros(len(n), bool)
        if "tie" in data.outcomes:
            tieless = data.counts[..., data.outcomes.index("tie")][cells].sum(axis=(1, 2)) == 0
        for j, name in enumerate(data.judges):
            aside = [data.asides.get((j, s, p), "") for s in schemes for p in (0, self.probe)]
            small = NO_DATA if n[j] == 0 else SMALL_N if n[j] < 30 else ""
            yield name, [j] if n[j] else [], float(n[j]), bool(tieless[j]), flags(small, data.dependent, *aside)
        if len(data.judges) > 1:
            few = flags(FEW_JUDGES if len(data.judges) < 5 else "", data.dependent)
            known = [int(j) for j in np.flatnonzero(n)]
            yield MEAN, known, float(n.sum()), bool(tieless.all()), few
            yield ANOTHER, [len(data.judges)] if known else [], float(n.sum()), bool(tieless.all()), few

    def _key(self, judge: str, one: int, two: int | None = None) -> dict[str, Any]:
        named = {"judge": judge, "scheme": self.data.schemes[one], "probe": self.data.probes[self.probe]}
        return {**named, "against": "" if two is None else self.data.schemes[two], "favoured": self.favoured}

    def _row(self, term: str, values: Floats, n: float, flag: str, key: dict[str, Any]) -> dict[str, Any]:
        """One row of the mean over the places of the last axis; NaN where there are none."""
        if not values.shape[-1] or np.isnan(values).any():
            return {**key, "term": term, "estimate": math.nan, "n": n, "method": self.draws.method, "flag": flag}
        own = values.mean(axis=-1)
        more: dict[str, Any] = {"n": n, "method": self.draws.method, "flag": flag, "draws": self.draws}
        made = row(term, own, conf_level=self.conf_level, **more, **key)
        if made["conf_low"] < made["conf_high"]:
            return made
        return {**made, "conf_low": math.nan, "conf_high": math.nan, "flag": flags(flag, AGREE)}

    def _moved(self, terms: Terms, s: int) -> Rows:
        for judge, places, n, tieless, flag in self._judges((s,)):
            made = {}
            for term, values in terms.items():
                doubt = flags(flag, PRIOR_DRIVEN if tieless and term in _OF_TIES else "")
                made[term] = self._row(term, values[..., s][..., places], n, doubt, self._key(judge, s))
            if places:
                held = all(_holds_0(made[t]) for t in _GAINS.values())
                made["lao"]["flag"] = flags(made["lao"]["flag"], NOT_TOLD if held else "")
                if judge not in (MEAN, ANOTHER):
                    made |= {gain: clipped(made[gain], made[signed]) for gain, signed in _GAINS.items()}
            yield from made.values()

    def _differences(self, terms: Terms, pieces: Terms, one: int, two: int) -> Rows:
        for judge, places, n, tieless, flag in self._judges((one, two)):
            key = self._key(judge, one, two)
            for term, values in terms.items():
                doubt = flags(flag, PRIOR_DRIVEN if tieless and term in _OF_TIES else "")
                changed = (values[..., one] - values[..., two])[..., places]
                yield self._row(f"{term} difference", changed, n, doubt, key)
            for term, values in pieces.items():
                yield self._row(term, values[..., places], n, flag, key)
            lds = [terms["lds"][..., s][..., places] for s in (one, two)]
            part = [pieces[name][..., places].mean(axis=-1) for name in ("by_abstaining", "by_choosing") if places]
            sure: dict[str, Any] = dict.fromkeys(("probability_helps", "probability_bought"), np.array(math.nan))
            if places:
                sure["probability_helps"] = lds[0].mean(axis=-1) < lds[1].mean(axis=-1)
                sure["probability_bought"] = (part[0] < 0) & (part[0] < part[1])
            if judge == MEAN and places:
                sure["probability_helps_all"] = (lds[0] < lds[1]).all(axis=-1)
            for name, held in sure.items():
                value = float(held.mean())
                yield {**key, "term": name, "estimate": value, "n": n, "method": self.draws.method, "flag": flag}


def _holds_0(made: dict[str, Any]) -> bool:
    return not (made["conf_low"] > 0 or made["conf_high"] < 0)


def clipped(gain: dict[str, Any], signed: dict[str, Any]) -> dict[str, Any]:
    """The row of a gain from that of its signed shift: estimate and interval with what is below 0 put to 0.

    Parameters
    ----------
    gain, signed : dict

    Returns
    -------
    dict
        Without an interval where that would be [0, 0].
    """
    low, high = (max(0.0, signed[end]) for end in ("conf_low", "conf_high"))
    made = {
        **gain,
        "estimate": max(0.0, signed["estimate"]),
        "conf_low": low,
        "conf_high": high,
        "flag": signed["flag"],
    }
    if high > 0:
        return made
    return {**made, "conf_low": math.nan, "conf_high": math.nan, "flag": flags(made["flag"], AT_ZERO)}
