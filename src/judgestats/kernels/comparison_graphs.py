"""Which strengths of systems are finite, by who beat whom."""

from __future__ import annotations

import numpy as np
import scipy  # scipy.linalg and scipy.sparse are loaded by their first use

from judgestats.typing import Floats, Ints, Mask


def pieces(met: Mask) -> Ints:
    """Connected component of each system; `met` (K, K): whether two systems were compared."""
    component: Ints = scipy.sparse.csgraph.connected_components(scipy.sparse.csr_array(met), directed=False)[1]
    return component


def limits(wins: Floats, ties: Floats, reference: int | None = None, *, tied: bool = False) -> tuple[Ints, Floats]:
    """Components (K,) of systems on a common scale, and the limit of each strength: 0 if finite, ±inf, or NaN.

    A component's systems have neither lost nor won all comparisons with the rest of it (Ford 1957). Finite is that of
    the reference, or the one largest component; +inf are the systems above it, that never lost to it directly or
    through others, -inf those below, NaN those that are neither. Where no component is the largest: +inf for systems
    that never lost, -inf for those that never won, NaN for the others.

    With a parameter of ties (`tied`) and no cycle of wins, ties connect two systems only if that parameter is finite:
    it runs to infinity if some strengths differ by at least 2 for every win and by at most 2 for every tie.

    Ford, L. R. (1957). American Mathematical Monthly 64, 28-33; with ties: Davidson, R. R. (1970). Journal of the
    American Statistical Association 65, 317-328.
    """
    graph, matrix = scipy.sparse.csgraph, scipy.sparse.csr_array
    won = wins > 0
    size = len(won)
    cycles = graph.connected_components(matrix(won), connection="strong")[0]
    if cycles == 1:
        return np.zeros(size, dtype=np.int64), np.zeros(size)
    edges = won | (ties > 0)
    if tied and (ties > 0).any() and cycles == size:
        length = np.where(won, -2.0, np.where(ties > 0, 2.0, 0.0))
        try:
            graph.bellman_ford(matrix(_with_source(length)), indices=size)
            edges = won
        except graph.NegativeCycleError:
            pass
    count, component = graph.connected_components(matrix(edges), connection="strong")
    members = np.bincount(component, minlength=count)
    main = int(component[reference]) if reference is not None else int(members.argmax())
    if reference is None and (members[main] == 1 < size or (members == members[main]).sum() > 1):
        apart = edges & (component[:, None] != component)
        beaten = np.isin(component, component[apart.any(axis=0)])
        beats = np.isin(component, component[apart.any(axis=1)])
        return component, np.where(beats & ~beaten, np.inf, np.where(beaten & ~beats, -np.inf, np.nan))
    one = int(np.flatnonzero(component == main)[0])
    limit = np.full(size, np.nan)
    limit[graph.breadth_first_order(matrix(edges.T), one, return_predecessors=False)] = np.inf
    limit[graph.breadth_first_order(matrix(edges), one, return_predecessors=False)] = -np.inf
    limit[component == main] = 0.0
    return component, limit


def reached_by_wins(wins: Floats, ties: Floats) -> Mask:
    """Whether the row beat or equalled the column, itself or through others: (K, K). Arguments as in :func:`limits`."""
    lengths = scipy.sparse.csgraph.shortest_path(scipy.sparse.csr_array((wins > 0) | (ties > 0)), unweighted=True)
    reached: Mask = np.isfinite(lengths)
    return reached


def _with_source(length: Floats) -> Floats:
    """Edges from a further node to all others, so that every cycle can be reached."""
    size = len(length)
    whole = np.zeros((size + 1, size + 1))
    whole[:size, :size] = length
    whole[size, :size] = 1.0
    return whole
