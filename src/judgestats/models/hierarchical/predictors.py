"""The linear predictor of a psychometric model: how far each standard normal variable moves each quantity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgestats.models.hierarchical.ladders import NAMES, Ladder

Floats = NDArray[np.float64]
#: Log slope, log criterion, bias, log-odds of a lapse.
ROWS = (*NAMES, "lapse")


@dataclass(frozen=True)
class Predictor:
    """Design of K standard normal variables, of which some are multiplied by one of M spreads.

    Attributes
    ----------
    weights : (4 J G, K) float array
        What one unit of a variable adds to log slope, log criterion, bias and log-odds of a lapse.
    fixed : (K,) float array
        1 for a variable that stands alone, 0 for one that is multiplied by a spread.
    shared : (K, M) float array
        1 where a variable is multiplied by a spread.
    names : (K,) tuple of str
        What each variable moves.
    spreads : (M,) tuple of str
        What each spread is of.
    """

    weights: Floats
    fixed: Floats
    shared: Floats
    names: tuple[str, ...] = ()
    spreads: tuple[str, ...] = ()


def predictor(data: Ladder, scale: Mapping[str, float]) -> Predictor:
    """Design of the model of a ladder.

    Parameters
    ----------
    data : Ladder
    scale : mapping
        Scales of the priors.

    Returns
    -------
    Predictor
    """
    columns = [*_alone(data, scale), *(_judges(data, scale) if len(data.judges) > 1 else ())]
    spreads = list(dict.fromkeys(spread for _, spread in columns if spread))
    shared = np.array([[float(spread == s) for s in spreads] for _, spread in columns]).reshape(len(columns), -1)
    names = tuple(" and ".join(r for r, w in zip(ROWS, weight, strict=True) if w.any()) for weight, _ in columns)
    weights = np.stack([w.ravel() for w, _ in columns], axis=1)
    return Predictor(weights, 1 - shared.sum(axis=1), shared, names, tuple(spreads))


def _alone(data: Ladder, scale: Mapping[str, float]) -> Iterator[tuple[Floats, str]]:
    """Means, and changes between conditions.

    Slope and criterion are moved along and across the line on which both grow together: the sum and the difference of
    two standard normal variables, over the root of 2, are two such variables again. The prior is that of independent
    ones, while the sampler walks along what data near a border leave open.
    """
    later, root = range(1, len(data.conditions)), np.sqrt(0.5)
    for sign in (root, -root):
        yield _block(data, {"slope": root * scale["slope"], "criterion": sign * scale["criterion"]}), ""
        for g in later:
            yield _block(data, {"slope": root * scale["ratio"], "criterion": sign * scale["ratio"]}, None, [g]), ""
    if data.folded:  # a size: its sign does not change the likelihood
        for j, g in np.ndindex(len(data.judges), len(data.conditions)):
            yield _block(data, {"bias": scale["bias"]}, [j], [g]), ""
    else:
        yield _block(data, {"bias": scale["bias"]}), ""
        for g in later:
            yield _block(data, {"bias": scale["ratio"]}, None, [g]), ""
    yield _block(data, {"lapse": scale["lapse"]}), ""


def _judges(data: Ladder, scale: Mapping[str, float]) -> Iterator[tuple[Floats, str]]:
    """Each judge around the mean, each of its changes around the mean change; with the spread that they share."""
    for name in ROWS:
        if name == "bias" and data.folded:
            continue
        for j in range(len(data.judges)):
            yield _block(data, {name: scale["spread"]}, [j]), name
        for g in range(1, len(data.conditions) if name in NAMES else 1):
            for j in range(len(data.judges)):
                yield _block(data, {name: scale["spread_ratio"]}, [j], [g]), f"change of {name}"


def _block(
    data: Ladder, sizes: Mapping[str, float], judges: Sequence[int] | None = None, groups: Sequence[int] | None = None
) -> Floats:
    made = np.zeros((len(ROWS), len(data.judges), len(data.conditions)))
    j, g = (slice(None) if own is None else list(own) for own in (judges, groups))
    for name, size in sizes.items():
        made[ROWS.index(name), j, g] = size
    return made
