"""Log likelihood of one response and its derivatives by the linear predictor, for every family of the mixed models.

Signs are those of a loss: ``loss`` is minus the log likelihood without its constant, ``r``, ``w``, ``w1`` its first,
second and third derivative by η. For cumulative models P(Y = y) = F(hi - η) - F(lo - η), with hi and lo the thresholds
on either side of the category. For the negative binomial family hi is the logarithm of the size, lo is not used.

A term of the loss that depends on the thresholds alone stands apart, and is no part of ``loss``: it is the same at all
nodes of a quadrature rule. By the logistic F, P(Y = y) = F(hi - η) (1 - F(lo - η)) (1 - exp(lo - hi)).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba.extending import overload

from judgestats.kernels.compiling import njit
from judgestats.typing import Floats

#: What is compiled for a family by ``overload`` has a name of its own. numba tells functions of one name and the same
#: types apart by a number that each process counts anew, and links code that another process has stored by that name:
#: of two functions without names one was called in place of the other.
#:
#: A family as compiled code takes it, a tuple with one place more than the family's number: the length is part of the
#: type, so that a model compiles its own family and no other.
Family = tuple[int, ...]
Derivatives = tuple[float, float, float, float]
ByThresholds = tuple[float, float, float, float, float, float]

#: Rows that NumPy takes at once: what is between stays in the cache of the processor.
_AT_ONCE = 2**13

_ROOT_2PI = math.sqrt(2 * math.pi)
_ROOT_2 = math.sqrt(2.0)


@njit(cache=True)
def _normal_tail(x: float) -> tuple[float, float]:
    """Log of Φ(x), and φ(x) / Φ(x), good far into the lower tail."""
    if x > -5.0:
        area = 0.5 * math.erfc(-x / _ROOT_2)
        return math.log(area), math.exp(-0.5 * x * x) / _ROOT_2PI / area
    t, ratio = -x, 0.0
    for k in range(40, 0, -1):  # Laplace's continued fraction of Mills' ratio
        ratio = k / (t + ratio)
    ratio = 1.0 / (t + ratio)
    return -0.5 * t * t - math.log(_ROOT_2PI) + math.log(ratio), 1.0 / ratio


@njit(cache=True)
def _probit_loss(x: float) -> tuple[float, float, float, float]:
    """-log Φ(x) and three derivatives."""
    area, rate = _normal_tail(x)
    curvature = rate * (x + rate)
    return -area, -rate, curvature, rate - curvature * (x + 2 * rate)


@njit(cache=True)
def _normal(x: float) -> tuple[float, float, float, float]:
    """Φ at x, which may be infinite, the density and its first two derivatives."""
    if math.isinf(x):
        return (1.0 if x > 0 else 0.0), 0.0, 0.0, 0.0
    f = math.exp(-0.5 * x * x) / _ROOT_2PI
    return 0.5 * math.erfc(-x / _ROOT_2), f, -x * f, (x * x - 1) * f


@njit(cache=True)
def between(hi: float, lo: float) -> float:
    """Φ(hi) - Φ(lo), without cancellation in the upper tail; at least 1e-300."""
    if lo > 0:
        hi, lo = -lo, -hi
    share: float = _normal(hi)[0] - _normal(lo)[0]
    return max(share, 1e-300)


@njit(cache=True)
def _mills(t: float) -> float:
    """Mills' ratio for t over 30, or infinite."""
    s = 1.0 / (t * t)
    return (1 - s * (1 - 3 * s * (1 - 5 * s * (1 - 7 * s * (1 - 9 * s * (1 - 11 * s)))))) / t


@njit(cache=True)
def _rate(x: float) -> float:
    """exp(x), and a number whose powers are finite where the survival function exp(-exp(x)) is 0 or 1."""
    return math.exp(min(max(x, -700.0), 100.0))


@njit(cache=True)
def _gumbel_category(a: float, b: float) -> tuple[float, float, float, float, float, float, float]:
    """What :func:`_category` gives, for F(x) = 1 - exp(-exp(x))."""
    u, v = _rate(a), _rate(b) if b > -math.inf else 0.0
    left = max(-math.expm1(v - u), 1e-300)
    qa, qb = (u * math.exp(v - u) / left if a < math.inf else 0.0), v / left
    return math.log(left) - v, qa, (1 - u) * qa, ((1 - u) ** 2 - u) * qa, qb, (1 - v) * qb, ((1 - v) ** 2 - v) * qb


@njit(cache=True)
def _category(kind: int, a: float, b: float) -> tuple[float, float, float, float, float, float, float]:
    """Log of F(a) - F(b), and over it the density and its two derivatives at a, then at b; F is not the logistic."""
    if kind == CUMULATIVE_CLOGLOG:
        own: tuple[float, float, float, float, float, float, float] = _gumbel_category(a, b)
        return own
    P = between(a, b)
    if P > 1e-280:
        _, fa, fa1, fa2 = _normal(a)
        _, fb, fb1, fb2 = _normal(b)
        return math.log(P), fa / P, fa1 / P, fa2 / P, fb / P, fb1 / P, fb2 / P
    side = 1.0 if b > 0 else -1.0  # so far out in a tail that only exponents are left
    near, far = (b, a) if b > 0 else (-a, -b)
    drop = math.exp(0.5 * (near - far) * (near + far))
    left = max(_mills(near) - drop * _mills(far), 1e-300)
    area, q, other = math.log(left / _ROOT_2PI) - 0.5 * near * near, 1.0 / left, drop / left
    far = far if other > 0 else 0.0
    near, far = side * near, side * far
    q1, q2 = -near * q, (near * near - 1) * q
    other1, other2 = -far * other, (far * far - 1) * other
    if b > 0:
        return area, other, other1, other2, q, q1, q2
    return area, q, q1, q2, other, other1, other2


@njit(cache=True)
def _logit_row(y: float, m: float, eta: float, hi: float, lo: float) -> Derivatives:  # noqa: ARG001
    t = math.exp(-abs(eta))
    s = 1.0 / (1.0 + t)
    p = s if eta > 0 else t * s
    w = m * t * s * s
    return m * (max(eta, 0.0) + math.log(1.0 + t)) - y * eta, m * p - y, w, w * (1 - 2 * p)


@njit(cache=True)
def _probit_row(y: float, m: float, eta: float, hi: float, lo: float) -> Derivatives:  # noqa: ARG001
    up, down = _probit_loss(eta), _probit_loss(-eta)
    k = m - y
    return (y * up[0] + k * down[0], y * up[1] - k * down[1], y * up[2] + k * down[2], y * up[3] - k * down[3])


@njit(cache=True)
def _cloglog_row(y: float, m: float, eta: float, hi: float, lo: float) -> Derivatives:  # noqa: ARG001
    u = _rate(eta)
    left, k = -math.expm1(-u), (m - y) * u
    q = u * math.exp(-u) / left
    s = u / 2 + u * u / 12 - u**4 / 720 if u < 0.01 else u + q - 1.0  # u + q - 1 without cancellation
    w = q * s
    return k - y * math.log(left), k - y * q, k + y * w, k + y * (q * (u - w) - w * s)


@njit(cache=True)
def _poisson_row(y: float, m: float, eta: float, hi: float, lo: float) -> Derivatives:  # noqa: ARG001
    mean = m * math.exp(min(eta, 500.0))
    return mean - y * eta, mean - y, mean, mean


@njit(cache=True)
def _category_row(kind: int, m: float, eta: float, hi: float, lo: float) -> Derivatives:
    area, qa, qa1, qa2, qb, qb1, qb2 = _category(kind, hi - eta, lo - eta)
    rate, bend = qa - qb, qa1 - qb1
    w = rate * rate - bend
    return -m * area, m * rate, m * w, m * (2 * rate * w + (qa2 - qb2) - bend * rate)


@njit(cache=True)
def _sides(hi: float, lo: float) -> tuple[float, float, float, float, float]:
    """1 - F(hi) and F(lo), the densities there, and -log F(hi) - log(1 - F(lo)), for the logistic F."""
    s, t = math.exp(-abs(hi)), math.exp(-abs(lo))
    u, v = 1.0 / (1.0 + s), 1.0 / (1.0 + t)
    soft = max(-hi, 0.0) + max(lo, 0.0) + math.log((1.0 + s) * (1.0 + t))
    return (s * u if hi > 0 else u), (v if lo > 0 else t * v), s * u * u, t * v * v, soft


@njit(cache=True)
def _cumulative_logit_row(y: float, m: float, eta: float, hi: float, lo: float) -> Derivatives:  # noqa: ARG001
    above, below, f, g, soft = _sides(hi - eta, lo - eta)
    return m * soft, m * (above - below), m * (f + g), m * (f * (1 - 2 * above) - g * (1 - 2 * below))


@njit(cache=True)
def _cumulative_probit_row(y: float, m: float, eta: float, hi: float, lo: float) -> Derivatives:  # noqa: ARG001
    result: Derivatives = _category_row(CUMULATIVE_PROBIT, m, eta, hi, lo)
    return result


@njit(cache=True)
def _cumulative_cloglog_row(y: float, m: float, eta: float, hi: float, lo: float) -> Derivatives:  # noqa: ARG001
    result: Derivatives = _category_row(CUMULATIVE_CLOGLOG, m, eta, hi, lo)
    return result


@njit(cache=True)
def _stirling(x: float) -> tuple[float, float]:
    """What log Γ and its derivative have beside their leading terms, for x from 20."""
    s = 1.0 / (x * x)
    return (1 - s * (1 / 30 - s * (1 / 105 - s / 140))) / (12 * x), -s * (1 - s * (0.1 - s * (1 / 21 - s / 20))) / 12


@njit(cache=True)
def _rising(y: int, size: float) -> tuple[float, float]:
    """Sums over j < y of log(1 + j / size) and of j / (size + j): exact to any size, Poisson's limit included."""
    logs, shares = 0.0, 0.0
    few = y if y <= 20 else min(y, max(0, math.ceil(20 - size)))
    for j in range(few):
        logs += math.log1p(j / size)
        shares += j / (size + j)
    if few < y:
        a, b, rest = size + few, size + y, y - few
        (log_a, slope_a), (log_b, slope_b) = _stirling(a), _stirling(b)
        logs += (b - 0.5) * math.log1p(y / size) - (a - 0.5) * math.log1p(few / size) - rest + log_b - log_a
        shares += rest - size * (math.log1p(rest / a) - 0.5 / b + 0.5 / a + slope_b - slope_a)
    return logs, shares


@njit(cache=True)
def _share(x: float) -> tuple[float, float]:
    """Logistic function, and log(1 + exp x)."""
    t = math.exp(-abs(x))
    return (1.0 if x > 0 else t) / (1.0 + t), max(x, 0.0) + math.log1p(t)


@njit(cache=True)
def _negative_binomial_row(y: float, m: float, eta: float, hi: float, lo: float) -> Derivatives:  # noqa: ARG001
    size, (q, soft) = math.exp(hi), _share(eta - hi)
    total = y + m * size
    w = total * q * (1 - q)
    logs, _ = _rising(round(y / m), size)
    return total * soft - y * eta - m * logs, total * q - y, w, w * (1 - 2 * q)


def loss(family: Family, y: float, m: float, eta: float, hi: float, lo: float) -> Derivatives:
    """Loss of one row and its three derivatives by η.

    `y`: successes, or the sum of counts. `m`: trials, or rows. `hi`, `lo`: see above.
    """
    result: Derivatives = KERNELS[len(family) - 1].row(y, m, eta, hi, lo)
    return result


@overload(loss)
def _(family, y, m, eta, hi, lo):  # type: ignore[no-untyped-def]  # noqa: ARG001
    own = KERNELS[len(family) - 1].row

    def loss_of_row(family, y, m, eta, hi, lo):  # type: ignore[no-untyped-def]  # noqa: ARG001
        return own(y, m, eta, hi, lo)

    return loss_of_row


def has_thresholds(family: Family) -> bool:
    """Whether a family has parameters beside η; compiled code has the answer as a constant."""
    return KERNELS[len(family) - 1].thresholds is not None


@overload(has_thresholds)
def _(family):  # type: ignore[no-untyped-def]
    def with_thresholds(family):  # type: ignore[no-untyped-def]  # noqa: ARG001
        return True

    def without_thresholds(family):  # type: ignore[no-untyped-def]  # noqa: ARG001
        return False

    return without_thresholds if KERNELS[len(family) - 1].thresholds is None else with_thresholds


@njit(cache=True)
def _threshold_row(kind: int, m: float, eta: float, hi: float, lo: float) -> ByThresholds:
    _, qa, qa1, qa2, qb, qb1, qb2 = _category(kind, hi - eta, lo - eta)
    rate, bend = qa - qb, qa1 - qb1
    r_hi, r_lo = qa1 - rate * qa, rate * qb - qb1
    w_hi = 2 * rate * r_hi - (qa2 - bend * qa)
    w_lo = 2 * rate * r_lo + (qb2 - bend * qb)
    return -m * qa, m * r_hi, m * w_hi, m * qb, m * r_lo, m * w_lo


@njit(cache=True)
def _logit_threshold(y: float, m: float, eta: float, hi: float, lo: float) -> ByThresholds:  # noqa: ARG001
    above, below, f, g, _ = _sides(hi - eta, lo - eta)
    return -m * above, -m * f, m * f * (2 * above - 1), m * below, -m * g, m * g * (1 - 2 * below)


@njit(cache=True)
def _probit_threshold(y: float, m: float, eta: float, hi: float, lo: float) -> ByThresholds:  # noqa: ARG001
    result: ByThresholds = _threshold_row(CUMULATIVE_PROBIT, m, eta, hi, lo)
    return result


@njit(cache=True)
def _cloglog_threshold(y: float, m: float, eta: float, hi: float, lo: float) -> ByThresholds:  # noqa: ARG001
    result: ByThresholds = _threshold_row(CUMULATIVE_CLOGLOG, m, eta, hi, lo)
    return result


@njit(cache=True)
def _size(y: float, m: float, eta: float, hi: float, lo: float) -> ByThresholds:  # noqa: ARG001
    size, (q, soft) = math.exp(hi), _share(eta - hi)
    total, pull = y + m * size, m * size * q
    _, shares = _rising(round(y / m), size)
    w = total * q * (1 - q)
    return m * (size * soft + shares) - total * q, pull - w, pull * (1 - q) - w * (1 - 2 * q), 0.0, 0.0, 0.0


def threshold_loss(family: Family, y: float, m: float, eta: float, hi: float, lo: float) -> ByThresholds:
    """Derivatives of a row's loss, r and w by its upper and its lower threshold; 0 for families without."""
    own = KERNELS[len(family) - 1].thresholds
    return (0.0, 0.0, 0.0, 0.0, 0.0, 0.0) if own is None else own(y, m, eta, hi, lo)


@overload(threshold_loss)
def _(family, y, m, eta, hi, lo):  # type: ignore[no-untyped-def]  # noqa: ARG001
    own = KERNELS[len(family) - 1].thresholds
    if own is None:

        def no_threshold(family, y, m, eta, hi, lo):  # type: ignore[no-untyped-def]  # noqa: ARG001
            return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0

        return no_threshold

    def loss_by_thresholds(family, y, m, eta, hi, lo):  # type: ignore[no-untyped-def]  # noqa: ARG001
        return own(y, m, eta, hi, lo)

    return loss_by_thresholds


def apart(kind: int, m: Floats, hi: Floats, lo: Floats) -> tuple[Floats, Floats]:
    """The loss by thresholds alone of every row, and its derivative by `hi`, minus that by `lo`, (N,) each."""
    own = KERNELS[kind].apart
    return (np.zeros(len(m)), np.zeros(len(m))) if own is None else own(m, hi, lo)


def between_thresholds(kind: int, m: Floats, hi: Floats, lo: Floats, product: Floats) -> Floats:
    """Second derivative (N,) of a cumulative loss by both thresholds, what stands apart included.

    `product` (N,): of the loss's derivatives by each, over m, which it is where nothing stands apart.
    """
    slope = apart(kind, m, hi, lo)[1]
    return product if KERNELS[kind].apart is None else slope - slope**2 / m


def _logit_apart(m: Floats, hi: Floats, lo: Floats) -> tuple[Floats, Floats]:
    left = -np.expm1(lo - hi)
    return -m * np.log(left), -m * np.exp(lo - hi) / left


def losses(kind: int, y: Floats, m: Floats, eta: Floats, hi: Floats, lo: Floats) -> tuple[Floats, Floats, Floats]:
    """Loss of every row and its first two derivatives by η, (N,) each."""
    value, r, w, _ = derivatives(kind, y, m, eta, hi, lo)
    return value, r, w


def derivatives(kind: int, y: Floats, m: Floats, eta: Floats, hi: Floats, lo: Floats) -> Floats:
    """Loss of every row and three derivatives by η, (4, N): by NumPy where it is as fast, else by compiled code."""
    result, fill = np.empty((4, len(y))), KERNELS[kind].by_numpy
    if fill is None:
        _derivatives(FAMILIES[kind], y, m, eta, hi, lo, result)
        return result
    for first in range(0, len(y), _AT_ONCE):
        part = slice(first, first + _AT_ONCE)
        fill(y[part], m[part], eta[part], result[:, part])
    return result


def _logit(y: Floats, m: Floats, eta: Floats, out: Floats) -> None:
    t = np.exp(-np.abs(eta))
    s = 1.0 / (1.0 + t)
    w = t * s
    p = np.where(eta > 0, s, w)
    w *= s
    w *= m
    np.log1p(t, out=t)
    t += np.maximum(eta, 0.0)
    t *= m
    t -= y * eta
    out[0], out[2] = t, w
    np.subtract(m * p, y, out=out[1])
    np.multiply(w, 1.0 - 2.0 * p, out=out[3])


def _poisson(y: Floats, m: Floats, eta: Floats, out: Floats) -> None:
    mean = m * np.exp(np.minimum(eta, 500.0))
    out[0], out[1], out[2], out[3] = mean - y * eta, mean - y, mean, mean


@njit(cache=True)
def _derivatives(family: Family, y: Floats, m: Floats, eta: Floats, hi: Floats, lo: Floats, out: Floats) -> None:
    for i in range(len(y)):
        out[0, i], out[1, i], out[2, i], out[3, i] = loss(family, y[i], m[i], eta[i], hi[i], lo[i])


def threshold_derivatives(kind: int, y: Floats, m: Floats, eta: Floats, hi: Floats, lo: Floats) -> Floats:
    """What :func:`threshold_loss` gives for every row, (6, N)."""
    result = np.empty((6, len(m)))
    _thresholds(FAMILIES[kind], y, m, eta, hi, lo, result)
    return result


@njit(cache=True)
def _thresholds(family: Family, y: Floats, m: Floats, eta: Floats, hi: Floats, lo: Floats, out: Floats) -> None:
    for i in range(len(m)):
        own = threshold_loss(family, y[i], m[i], eta[i], hi[i], lo[i])
        for k in range(6):
            out[k, i] = own[k]


class LikelihoodKernel(NamedTuple):
    """A family with a link: what the engine needs of it."""

    row: Callable[[float, float, float, float, float], Derivatives]  # the loss of a row
    thresholds: Callable[[float, float, float, float, float], ByThresholds] | None = None  # its derivatives by them
    by_numpy: Callable[[Floats, Floats, Floats, Floats], None] | None = None  # the loss of many rows, as fast
    apart: Callable[[Floats, Floats, Floats], tuple[Floats, Floats]] | None = None  # what stands apart from the loss


#: Families and links in the order of their numbers.
KERNELS = (
    LikelihoodKernel(_logit_row, by_numpy=_logit),
    LikelihoodKernel(_probit_row),
    LikelihoodKernel(_poisson_row, by_numpy=_poisson),
    LikelihoodKernel(_cumulative_logit_row, _logit_threshold, apart=_logit_apart),
    LikelihoodKernel(_cumulative_probit_row, _probit_threshold),
    LikelihoodKernel(_negative_binomial_row, _size),
    LikelihoodKernel(_cloglog_row),
    LikelihoodKernel(_cumulative_cloglog_row, _cloglog_threshold),
)
BINOMIAL_LOGIT, BINOMIAL_PROBIT, POISSON_LOG, CUMULATIVE_LOGIT, CUMULATIVE_PROBIT, NEGATIVE_BINOMIAL_LOG = range(6)
BINOMIAL_CLOGLOG, CUMULATIVE_CLOGLOG = 6, 7
FAMILIES: tuple[Family, ...] = tuple((0,) * (kind + 1) for kind in range(len(KERNELS)))
