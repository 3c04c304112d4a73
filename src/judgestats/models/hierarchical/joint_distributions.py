"""Joint distribution of correct calls under several strategies: model, likelihood, simulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import expit, gammaln

from judgestats.errors import DesignError
from judgestats.models.bayes.draws import Labels
from judgestats.models.bayes.sampling import likely, pymc
from judgestats.models.hierarchical.strategy_counts import Arms, crossed
from judgestats.typing import Floats, Ints

if TYPE_CHECKING:
    from pytensor.tensor import TensorVariable

#: Scales of the priors, on the log-odds scale.
PRIORS = {"baseline": 1.5, "effect": 0.5, "sd_effect": 0.5, "association": 1.5, "sd_association": 1.0}
PRIORS |= {"link": 1.0, "sd_link": 0.5}
#: Prior means other than 0.
CENTRES = {"association": 3.0, "link": -0.5}
#: Joint distributions with a fixed log odds ratio; 10 and -10 approximate the extremes.
FIXED = {"independent": 0.0, "extreme positive": 10.0, "extreme negative": -10.0}
#: Log weight of an impossible table, and the smallest probability in a logarithm.
NEVER, TINY = -1e9, 1e-12
#: Difference between consecutive two-by-two tables with the same margins.
STEP = (-1.0, 1.0, 1.0, -1.0)
_nodes, _weights = np.polynomial.legendre.leggauss(48)
#: Quadrature over quantiles of the item effect.
NODES, WEIGHTS = (_nodes + 1) / 2, _weights / 2


def observed(arms: Arms) -> dict[str, Floats | Ints]:
    """Data of the model, by name."""
    if arms.law == "items" and arms.answers is not None and arms.owner is not None and arms.count is not None:
        sign = np.where(np.isnan(arms.answers), 0.0, 2 * arms.answers - 1)
        return {"sign": sign, "owner": arms.owner, "count": arms.count}
    single = np.isfinite(arms.k)
    if arms.law != "independent":
        single &= (np.arange(arms.k.shape[1]) == 0) | ~np.isfinite(arms.k[:, :1])
        single &= ~np.isfinite(arms.b)
    k, n = (np.where(single, a, 0.0) for a in (arms.k, arms.n))
    tables = _tables(arms)
    if arms.law == "discordant":
        return {"k": k, "n": n, **tables}
    start = tables["start"] * (arms.law != "independent")
    return {"k": k, "n": n, "start": start, "has_base": tables["has_base"], "odds": np.array(FIXED[arms.law])}


def _tables(arms: Arms) -> dict[str, Floats]:
    """The first two-by-two table consistent with each comparison, and log weights of it and of the following tables.

    ``start`` is (J, S - 1, 4): correct under both, only under the baseline, only under the strategy, under neither;
    each following table has one less, one more, one more, one less. If the baseline is not known (`has_base` is 0), the
    first column has all concordant pairs, and the last is 0.
    """
    n, k, b, c, base = (a[:, 1:] for a in (arms.n, arms.k, arms.b, arms.c, arms.shared))
    paired, has_base = np.isfinite(b), np.isfinite(base)
    some = np.isfinite(n) & (has_base | paired)
    base = np.where(has_base & paired, np.clip(base, b, n - c), base)
    first = np.where(paired, b, np.maximum(base - k, 0))
    second = np.where(paired, c, k - base + first)
    start = np.stack([np.where(has_base, base, n - second) - first, first, second, n - base - second], axis=-1)
    start[..., 3] = np.where(has_base, start[..., 3], 0.0)
    start = np.where(some[..., None], start, 0.0)
    most = np.where(some & ~paired, np.minimum(start[..., 0], start[..., 3]), 0.0)
    step = np.arange(int(most.max(initial=0.0)) + 1)
    cells = start[..., None, :] + step[:, None] * np.array(STEP)
    weight = -gammaln(np.maximum(cells, 0) + 1).sum(axis=-1)
    weight = np.where(step <= most[..., None], weight, NEVER)
    return {"start": start, "weight": weight, "has_base": has_base.astype(float), "step": step.astype(float)}


def model(arms: Arms, priors: Mapping[str, float]) -> Any:
    """The PyMC model of the counts under their joint distribution."""
    pm = pymc()
    J, S = arms.n.shape
    with pm.Model() as built:
        data = {name: pm.Data(name, value) for name, value in observed(arms).items()}
        alpha = pm.Normal("baseline", 0, priors["baseline"], shape=J)[:, None]
        effect = pm.Normal("effect", 0, priors["effect"], shape=S - 1)
        beta = effect[None, :] + np.zeros((J, 1))
        if J > 1:
            spread = pm.HalfNormal("sd_effect", priors["sd_effect"], shape=S - 1)
            beta = beta + spread * pm.Normal("raw_effect", shape=(J, S - 1))
        logit = pm.Deterministic("logit", pm.math.concatenate([alpha, alpha + beta], axis=1))
        if arms.law == "items":
            likely(pm, _items_log_likelihood(pm, data, logit, _varying_parameter(pm, "link", -0.5, (J, S), priors)))
        else:
            soft = pm.math.log1pexp
            parts = [-(data["k"] * soft(-logit) + (data["n"] - data["k"]) * soft(logit)).sum()]
            odds = data.get("odds")
            if odds is None:
                odds = _varying_parameter(pm, "association", 3.0, (J, S - 1), priors)
                # all tables with the same margins, relative to the first; constant if the odds ratio is fixed
                weights = data["weight"] - pm.math.stack([odds], axis=-1) * data["step"]
                parts.append(pm.math.logsumexp(weights, axis=-1).sum())
            parts.append(_tables_log_likelihood(pm, data, pm.math.sigmoid(logit), pm.math.exp(odds)))
            likely(pm, sum(parts))
    return built


def _varying_parameter(
    pm: ModuleType, name: str, centre: float, shape: tuple[int, int], priors: Mapping[str, float]
) -> TensorVariable:
    """A parameter that varies over judges and strategies around a mean."""
    mean = pm.Normal(name, centre, priors[name])
    raw = pm.Normal(f"raw_{name}", shape=shape)
    return pm.Deterministic(f"each_{name}", mean + pm.HalfNormal(f"sd_{name}", priors[f"sd_{name}"]) * raw)


def _items_log_likelihood(
    pm: ModuleType, data: Mapping[str, TensorVariable], logit: TensorVariable, link: TensorVariable
) -> TensorVariable:
    """Log likelihood of the answer patterns, with item effects integrated out."""
    phi = pm.math.sigmoid(link)[:, :, None]
    shift = pm.math.log(pm.math.sin(phi * np.pi * NODES) / pm.math.sin(phi * np.pi * (1 - NODES)))
    at = (logit[:, :, None] + shift) / phi
    each = data["sign"][:, :, None] * at[data["owner"]]
    each = -(pm.math.log1pexp(-each) * pm.math.abs(data["sign"])[:, :, None]).sum(axis=1)
    return (data["count"] * pm.math.logsumexp(each + np.log(WEIGHTS), axis=-1).flatten()).sum()


def _tables_log_likelihood(
    pm: ModuleType, data: Mapping[str, TensorVariable], p: TensorVariable, ratio: TensorVariable
) -> TensorVariable:
    """Log likelihood of the first two-by-two tables, given the count of the baseline if that is known."""
    base, other = p[:, :1], p[:, 1:]
    both = plackett(base, other, ratio, pm.math.sqrt)
    clip = pm.math.clip
    in_both, in_first, in_second = (clip(x, TINY, 1 - TINY) for x in (both, base - both, other - both))
    neither = clip(1 - base - other + both, TINY, 1 - TINY)
    has_base = data["has_base"]
    first = has_base * pm.math.log(base)
    second = has_base * pm.math.log(1 - base)
    alike = has_base * pm.math.log(in_both) + (1 - has_base) * pm.math.log(in_both + neither)
    terms = (alike - first, pm.math.log(in_first) - first, pm.math.log(in_second) - second)
    logp = (*terms, pm.math.log(neither) - second)
    return sum((data["start"][:, :, i] * part).sum() for i, part in enumerate(logp))


def plackett(p: Any, q: Any, ratio: Any, root: Any = np.sqrt) -> Any:
    """P(both) of two events with probabilities p and q and odds ratio `ratio` (Plackett's distribution)."""
    a = 1 + (p + q) * (ratio - 1)
    return 2 * ratio * p * q / (a + root(a**2 - 4 * ratio * (ratio - 1) * p * q))


def bridge_quantile(share: Floats, phi: Floats) -> Floats:
    """Quantiles of the bridge distribution: averaged over it, a logistic curve stays logistic, `phi` times as steep."""
    return np.asarray(np.log(np.sin(phi * np.pi * share) / np.sin(phi * np.pi * (1 - share))) / phi, np.float64)


def labels(arms: Arms) -> Labels:
    """Variables whose draws are kept, with their labels."""
    J, S = arms.judges, arms.strategies
    names: Labels = {"baseline": (J,), "effect": (S[1:],), "logit": (J, S)}
    if len(J) > 1:
        names |= {"sd_effect": (S[1:],)}
    for name, law, others in (("association", "discordant", S[1:]), ("link", "items", S)):
        if arms.law == law:
            names |= {name: (), f"sd_{name}": (), f"each_{name}": (J, others)}
    return names


def joint(arms: Arms, values: Mapping[str, Floats]) -> tuple[Floats, Floats]:
    """Accuracy under each strategy, and P(correct under it and under the baseline), (..., J, S)."""
    p: Floats = expit(values["logit"])
    if arms.law == "independent":
        return p, p * p[..., :1]
    if arms.law == "items":
        phi = expit(values["each_link"])
        both, base = np.zeros(p.shape), values["logit"] / phi
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            at = expit(base + bridge_quantile(node, phi))
            both += weight * at * at[..., :1]
        return p, both
    if arms.law == "discordant":
        odds = values["each_association"]
    else:
        odds = np.full((*p.shape[:-1], p.shape[-1] - 1), FIXED[arms.law])
    both = plackett(p[..., :1], p[..., 1:], np.exp(odds))
    return p, np.concatenate([p[..., :1], both], axis=-1)


def prior_draw(arms: Arms, priors: Mapping[str, float], rng: np.random.Generator) -> tuple[dict[str, Floats], Arms]:
    """Parameters drawn from the prior, and the same design with counts drawn under them."""
    J, S = arms.n.shape
    baseline, effect = rng.normal(0, priors["baseline"], (J,)), rng.normal(0, priors["effect"], (S - 1,))
    parameters: dict[str, Floats] = {"baseline": baseline, "effect": effect}
    alpha, beta = baseline[:, None], np.tile(effect, (J, 1))
    if J > 1:
        parameters["sd_effect"] = np.abs(rng.normal(0, priors["sd_effect"], S - 1))
        beta = beta + parameters["sd_effect"] * rng.standard_normal((J, S - 1))
    parameters["logit"] = np.concatenate([alpha, alpha + beta], axis=1)
    for name, law, centre, width in (("association", "discordant", 3.0, S - 1), ("link", "items", -0.5, S)):
        if arms.law == law:
            mean, sd = rng.normal(centre, priors[name]), abs(rng.normal(0, priors[f"sd_{name}"]))
            parameters |= {name: np.array(mean), f"sd_{name}": np.array(sd)}
            parameters[f"each_{name}"] = mean + sd * rng.standard_normal((J, width))
    return parameters, simulated(arms, parameters, rng)


def simulated(arms: Arms, values: Mapping[str, Floats], rng: np.random.Generator) -> Arms:
    """The same design with counts drawn under these parameters."""
    if arms.law == "items":
        return _simulated_items(arms, values, rng)
    p, both = joint(arms, values)
    n = np.nan_to_num(arms.n, nan=0.0).astype(int)
    if arms.law == "independent":
        return replace(arms, k=np.where(np.isfinite(arms.k), rng.binomial(n, p), np.nan))
    k, b, c = (np.full(p.shape, np.nan) for _ in range(3))
    has_k = np.isfinite(arms.k[:, 0])
    k[:, 0] = np.where(has_k, rng.binomial(n[:, 0], p[:, 0]), np.nan)
    with_baseline = replace(arms, k=k)
    base = np.where(np.isfinite(with_baseline.shared), with_baseline.shared, rng.binomial(n, p[:, :1])).astype(int)
    b[:, 1:] = rng.binomial(base, np.clip(1 - both / p[:, :1], 0, 1))[:, 1:]
    c[:, 1:] = rng.binomial(n - base, np.clip((p - both) / (1 - p[:, :1]), 0, 1))[:, 1:]
    k[:, 1:] = (base - b + c)[:, 1:]
    k, b, c = (np.where(np.isfinite(a), v, np.nan) for a, v in ((arms.k, k), (arms.b, b), (arms.c, c)))
    return replace(arms, k=k, b=b, c=c)


def _simulated_items(arms: Arms, values: Mapping[str, Floats], rng: np.random.Generator) -> Arms:
    if arms.answers is None or arms.owner is None or arms.count is None:
        raise DesignError("The law 'items' needs calls with items.")
    times = arms.count.astype(int)
    owner, there = np.repeat(arms.owner, times), np.repeat(np.isfinite(arms.answers), times, axis=0)
    phi = expit(values["each_link"])[owner]
    share = rng.uniform(1e-12, 1 - 1e-12, (len(owner), 1))
    p = expit(np.asarray(values["logit"])[owner] / phi + bridge_quantile(share, phi))
    answers = np.where(there, (rng.random(p.shape) < p).astype(float), np.nan)
    grouped = pd.DataFrame(answers).assign(owner=owner)
    grouped = grouped.groupby([*grouped.columns], dropna=False).size().reset_index(name="count")
    k = np.full(arms.n.shape, np.nan)
    for j in range(len(k)):
        k[j] = np.where(np.isfinite(arms.n[j]), np.nansum(answers[owner == j], axis=0), np.nan)
    patterns = grouped[[*range(answers.shape[1])]].to_numpy(dtype=float)
    _, _, b, c = crossed(answers, owner, np.ones(len(owner)), len(k))
    owners, count = grouped["owner"].to_numpy(dtype=np.int64), grouped["count"].to_numpy(dtype=float)
    return replace(arms, answers=patterns, owner=owners, count=count, k=k, b=b, c=c)
