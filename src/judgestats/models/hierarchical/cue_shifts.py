"""Anchoring effects from shares of outcomes, and their rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from judgestats import flags
from judgestats.models.bayes.draws import Draws
from judgestats.models.hierarchical.cue_counts import Outcomes
from judgestats.models.hierarchical.posteriors import row
from judgestats.typing import Floats, Record

Terms = dict[str, Floats]
Rows = Iterator[Record]

#: Values of the column ``judge`` in rows about all judges.
MEAN, ANOTHER = "mean of judges", "another judge"
_GAINS = {"lds": "shift_favoured", "ols": "shift_opposed", "ts": "shift_tie"}
_OF_TIES = ("shift_tie", "ts", "tie", "tie_blind")


def roles(shares: Floats, data: Outcomes, side: int) -> Floats:
    """Shares of favoured, opposed and tie, (..., 3)."""
    tie = shares[..., data.outcomes.index("tie")] if "tie" in data.outcomes else np.zeros(shares.shape[:-1])
    favoured = shares[..., side]
    return np.stack([favoured, np.clip(1.0 - favoured - tie, 0.0, 1.0), tie], axis=-1)


def _favoured_share(roles: Floats) -> Floats:
    """Share of the favoured candidate among decisive answers."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = roles[..., 0] / (roles[..., 0] + roles[..., 1])
    return result


def movement(blind: Floats, probe: Floats) -> Terms:
    """Terms of anchoring from shares of favoured, opposed and tie, (..., 3); ``lao`` is NaN if no share changes."""
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
        "shift_nontie": _favoured_share(probe) - _favoured_share(blind),
        "tie": probe[..., 2],
        "tie_blind": blind[..., 2],
    }


def parts(blind: Floats, probe: Floats, one: int, two: int) -> Terms:
    """Difference of the favoured shift between two schemes, as a sum of abstaining and choosing otherwise."""
    decisive = [(1 - blind[..., s, 2], 1 - probe[..., s, 2]) for s in (one, two)]
    favoured = [(_favoured_share(blind)[..., s], _favoured_share(probe)[..., s]) for s in (one, two)]

    def shift(t: int, q: int) -> Floats:
        result: Floats = decisive[t][1] * favoured[q][1] - decisive[t][0] * favoured[q][0]
        return result

    abstaining = (shift(0, 0) - shift(1, 0) + shift(0, 1) - shift(1, 1)) / 2
    choosing = (shift(0, 0) - shift(0, 1) + shift(1, 0) - shift(1, 1)) / 2
    return {"by_abstaining": abstaining, "by_choosing": choosing}


@dataclass(frozen=True)
class Probed:
    """Shares under one probe and blind, and the rows of estimates from them."""

    data: Outcomes
    probe: int
    favoured: str
    shares: Floats  # (chains, draws, J or J + 1, S, P, K): with several judges the last one is a new judge
    conf_level: float
    draws: Draws  # the draws behind the shares

    def rows(self, compared: list[tuple[int, int]]) -> Rows:
        """Movement under each scheme, then one scheme against another."""
        side = self.data.outcomes.index(self.favoured)
        blind, probe = (roles(self.shares[..., p, :], self.data, side) for p in (0, self.probe))
        terms = movement(blind, probe)
        for s in range(len(self.data.schemes)):
            yield from self._moved(terms, s)
        for one, two in compared:
            yield from self._differences(terms, parts(blind, probe, one, two), one, two)

    def _judge_cells(self, schemes: tuple[int, ...]) -> Iterator[tuple[str, list[int], float, bool, str]]:
        """Name, indices, calls, whether no tie was counted, and flag: of each judge, their mean, and a new judge."""
        data = self.data
        cells = np.ix_(range(len(data.judges)), schemes, (0, self.probe))
        n = data.counts.sum(axis=-1)[cells].min(axis=(1, 2))
        tieless = np.zeros(len(n), bool)
        if "tie" in data.outcomes:
            tieless = data.counts[..., data.outcomes.index("tie")][cells].sum(axis=(1, 2)) == 0
        for j, name in enumerate(data.judges):
            excluded = [data.excluded.get((j, s, p), "") for s in schemes for p in (0, self.probe)]
            small = flags.NO_DATA if n[j] == 0 else flags.SMALL_N if n[j] < 30 else ""
            yield name, [j] if n[j] else [], float(n[j]), bool(tieless[j]), flags.join(small, data.dependent, *excluded)
        if len(data.judges) > 1:
            few = flags.join(flags.FEW_JUDGES if len(data.judges) < 5 else "", data.dependent)
            counted = [int(j) for j in np.flatnonzero(n)]
            yield MEAN, counted, float(n.sum()), bool(tieless.all()), few
            yield ANOTHER, [len(data.judges)] if counted else [], float(n.sum()), bool(tieless.all()), few

    def _key(self, judge: str, one: int, two: int | None = None) -> Record:
        labels = {"judge": judge, "scheme": self.data.schemes[one], "probe": self.data.probes[self.probe]}
        return {**labels, "against": "" if two is None else self.data.schemes[two], "favoured": self.favoured}

    def _mean_row(self, term: str, values: Floats, n: float, flag: str, key: Record) -> Record:
        """Row of the mean over the last axis; NaN if that is empty."""
        if not values.shape[-1] or np.isnan(values).any():
            return {**key, "term": term, "estimate": math.nan, "n": n, "method": self.draws.method, "flag": flag}
        estimate = row(term, values.mean(axis=-1), self.draws, conf_level=self.conf_level, n=n, flag=flag, **key)
        if estimate["conf_low"] < estimate["conf_high"]:
            return estimate
        return {**estimate, "conf_low": math.nan, "conf_high": math.nan, "flag": flags.join(flag, flags.DRAWS_AGREE)}

    def _moved(self, terms: Terms, s: int) -> Rows:
        for judge, places, n, tieless, flag in self._judge_cells((s,)):
            by_term = {}
            for term, values in terms.items():
                whole = flags.join(flag, flags.PRIOR_DRIVEN if tieless and term in _OF_TIES else "")
                by_term[term] = self._mean_row(term, values[..., s][..., places], n, whole, self._key(judge, s))
            if places:
                include_0 = all(
                    not (by_term[t]["conf_low"] > 0 or by_term[t]["conf_high"] < 0) for t in _GAINS.values()
                )
                by_term["lao"]["flag"] = flags.join(by_term["lao"]["flag"], flags.NOT_SIGNIFICANT if include_0 else "")
                if judge not in (MEAN, ANOTHER):
                    by_term |= {gain: clipped(by_term[gain], by_term[signed]) for gain, signed in _GAINS.items()}
            yield from by_term.values()

    def _differences(self, terms: Terms, pieces: Terms, one: int, two: int) -> Rows:
        for judge, places, n, tieless, flag in self._judge_cells((one, two)):
            key = self._key(judge, one, two)
            for term, values in terms.items():
                whole = flags.join(flag, flags.PRIOR_DRIVEN if tieless and term in _OF_TIES else "")
                changed = (values[..., one] - values[..., two])[..., places]
                yield self._mean_row(f"{term} difference", changed, n, whole, key)
            for term, values in pieces.items():
                yield self._mean_row(term, values[..., places], n, flag, key)
            lds = [terms["lds"][..., s][..., places] for s in (one, two)]
            part = [pieces[name][..., places].mean(axis=-1) for name in ("by_abstaining", "by_choosing") if places]
            events = dict.fromkeys(("probability_helps", "probability_bought"), math.nan)
            if places:
                events["probability_helps"] = float((lds[0].mean(axis=-1) < lds[1].mean(axis=-1)).mean())
                events["probability_bought"] = float(((part[0] < 0) & (part[0] < part[1])).mean())
            if judge == MEAN and places:
                events["probability_helps_all"] = float((lds[0] < lds[1]).all(axis=-1).mean())
            for name, share in events.items():
                yield {**key, "term": name, "estimate": share, "n": n, "method": self.draws.method, "flag": flag}


def clipped(gain: Record, signed: Record) -> Record:
    """The row of a gain from the row of its signed shift, clipped at 0; without an interval if that would be [0, 0]."""
    clipped_row = {
        **gain,
        **{k: max(0.0, signed[k]) for k in ("estimate", "conf_low", "conf_high")},
        "flag": signed["flag"],
    }
    if clipped_row["conf_high"] > 0:
        return clipped_row
    return {
        **clipped_row,
        "conf_low": math.nan,
        "conf_high": math.nan,
        "flag": flags.join(clipped_row["flag"], flags.AT_ZERO),
    }
