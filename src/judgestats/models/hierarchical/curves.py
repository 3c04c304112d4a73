"""Psychometric functions of judges: :func:`psychometric`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.arguments import checked_arguments
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, choose, confidence
from judgestats.models.bayes.centred_priors import CentredPrior
from judgestats.models.bayes.draws import Draws, Labels, TopParameter
from judgestats.models.bayes.replicates import predictive_table
from judgestats.models.bayes.sampling import Sampling, likely, pymc, sample_each, sampling_options
from judgestats.models.hierarchical.curve_rows import FittedCurves, consequences, curve_rows
from judgestats.models.hierarchical.ladders import Ladder, ladder, shares
from judgestats.models.hierarchical.posterior_checks import conflicts, convergence, predictive
from judgestats.models.hierarchical.posteriors import Posterior, prior_table, scales, tabled
from judgestats.typing import Floats, Mask

#: Name -> scale of the prior.
PRIORS = {"slope": 1.5, "criterion": 1.5, "bias": 1.0, "lapse": 1.0, "ratio": 1.0, "spread": 0.5, "spread_ratio": 0.5}
MEANING = {
    "slope": ("normal", "log of the slope per smallest step"),
    "criterion": ("normal", "log of the half-width of the tie interval"),
    "bias": ("normal", "first-slot preference on the latent scale; half-normal if slots are unknown"),
    "lapse": ("normal", "log-odds of twice the share of random answers, around -2.75 (3 % of answers)"),
    "ratio": ("normal", "log ratio of slope and of criterion between conditions; difference of bias"),
    "spread": ("half-normal", "sd over judges of each of the first four"),
    "spread_ratio": ("half-normal", "sd over judges of each change between conditions"),
}
#: Largest lapse rate: a judge with more random than other answers has no psychometric function.
MOST_LAPSE = 0.5
#: Prior mean of the log-odds of lapse / :data:`MOST_LAPSE`: 3 % of answers.
LAPSE_CENTRE = -2.75
#: Log slope, log criterion, bias.
NAMES = ("slope", "criterion", "bias")


#: Log slope, log criterion, bias, log-odds of a lapse.
ROWS = (*NAMES, "lapse")


@dataclass(frozen=True)
class Predictor:
    """Design of K standard normal variables, some of which are multiplied by one of M spreads (sds over judges)."""

    weights: Floats  # (4 J G, K): effect of one unit on log slope, log criterion, bias and log-odds of a lapse
    fixed: Floats  # (K,): 1 for a variable without a spread, else 0
    shared: Floats  # (K, M): 1 if a variable is multiplied by a spread
    names: tuple[str, ...] = ()  # names (K,), spreads (M,): parameter of each variable and of each spread
    spreads: tuple[str, ...] = ()


def predictor(data: Ladder, scale: Mapping[str, float]) -> Predictor:
    """Design of the model of a ladder; `scale` has the scales of the priors."""
    columns = [*_population_columns(data, scale), *(_judge_columns(data, scale) if len(data.judges) > 1 else ())]
    spreads = list(dict.fromkeys(spread for _, spread in columns if spread))
    shared = np.array([[float(spread == s) for s in spreads] for _, spread in columns]).reshape(len(columns), -1)
    names = tuple(" and ".join(r for r, w in zip(ROWS, weight, strict=True) if w.any()) for weight, _ in columns)
    weights = np.stack([w.ravel() for w, _ in columns], axis=1)
    return Predictor(weights, 1 - shared.sum(axis=1), shared, names, tuple(spreads))


def _population_columns(data: Ladder, scale: Mapping[str, float]) -> Iterator[tuple[Floats, str]]:
    """Means, and changes between conditions.

    Slope and criterion are sum and difference of two standard normal variables over the root of 2: the prior stays, and
    the sampler moves along the direction in which both increase, which data near a boundary leave undetermined.
    """
    later, root = range(1, len(data.conditions)), np.sqrt(0.5)
    for sign in (root, -root):
        yield _effect_block(data, {"slope": root * scale["slope"], "criterion": sign * scale["criterion"]}), ""
        for g in later:
            yield (
                _effect_block(data, {"slope": root * scale["ratio"], "criterion": sign * scale["ratio"]}, None, [g]),
                "",
            )
    if data.folded:  # absolute value: the sign does not change the likelihood
        for j, g in np.ndindex(len(data.judges), len(data.conditions)):
            yield _effect_block(data, {"bias": scale["bias"]}, [j], [g]), ""
    else:
        yield _effect_block(data, {"bias": scale["bias"]}), ""
        for g in later:
            yield _effect_block(data, {"bias": scale["ratio"]}, None, [g]), ""
    yield _effect_block(data, {"lapse": scale["lapse"]}), ""


def _judge_columns(data: Ladder, scale: Mapping[str, float]) -> Iterator[tuple[Floats, str]]:
    """Deviations of each judge from the mean, and of its changes from the mean change, with their spread."""
    for name in ROWS:
        if name == "bias" and data.folded:
            continue
        for j in range(len(data.judges)):
            yield _effect_block(data, {name: scale["spread"]}, [j]), name
        for g in range(1, len(data.conditions) if name in NAMES else 1):
            for j in range(len(data.judges)):
                yield _effect_block(data, {name: scale["spread_ratio"]}, [j], [g]), f"change of {name}"


def _effect_block(
    data: Ladder, sizes: Mapping[str, float], judges: Sequence[int] | None = None, groups: Sequence[int] | None = None
) -> Floats:
    effects = np.zeros((len(ROWS), len(data.judges), len(data.conditions)))
    j, g = (slice(None) if codes is None else list(codes) for codes in (judges, groups))
    for name, size in sizes.items():
        effects[ROWS.index(name), j, g] = size
    return effects


Link = Literal["logit", "probit"]
LINKS = ("logit", "probit")
#: Ratio of the scales of the second prior to those of the first.
WIDER = 2.0
#: Target acceptance: if most answers are correct or tied, slope and criterion have a narrow, correlated posterior.
ACCEPT = 0.99


@checked_arguments
def psychometric(
    data: IntoFrame,
    *,
    by: str | None = None,
    quality: str | None = None,
    links: Sequence[Link] = LINKS,  # type: ignore[assignment]
    baseline: str | None = None,
    performance: float = 0.75,
    wider: bool = True,
    priors: Mapping[str, float] | None = None,
    sampling: Sampling | None = None,
    conf_level: float = CONF_LEVEL,
) -> Posterior:
    """Psychometric function of each judge over the difference in quality, and changes of criterion and resolution.

    Parameters
    ----------
    data : frame
        Preferences with ``delta`` and ``better`` (or `quality`) in a known order. Or a tally whose slots are unknown:
        ``judge, delta, outcome, n`` with the outcomes ``correct``, ``tie``, ``wrong``, and ``preference`` where
        ``delta`` is 0 or missing (those of :func:`judgestats.target_sensitivity` and
        :func:`judgestats.criterion_shift`).
    by : str, optional
        Column of conditions that are compared, such as ``prompt``.
    quality : str, optional
        A column, or the stem of ``<quality>_first`` and ``<quality>_second``, in place of ``delta`` and ``better``.
    links : sequence of {'logit', 'probit'}
        Rao and Kupper's model, Glenn and David's; each is fitted.
    baseline : str, optional
        Condition that the others are compared with; required where `by` has several values.
    performance : float
        Share of correct answers at the threshold; a tie is not correct.
    wider : bool
        Whether each model is fitted again with priors twice as wide. False halves the time; ``prior-driven`` then
        depends on the ratio of posterior to prior sd alone.
    priors : mapping, optional
        Scales by name; see ``.priors`` of the result.
    sampling : mapping, optional
        Any of ``draws``, ``tune``, ``chains``, ``seed``, ``target_accept``, ``progress``, as for
        :func:`judgestats.fit`.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    Posterior
        Columns ``judge``, the condition, ``link``, ``prior`` (``stated`` or ``wider``). Terms: ``threshold`` (posterior
        median; NaN and ``right-censored`` above the last step; ``left-censored`` below the first), ``slope`` (per unit
        of quality), ``criterion``, ``slot_bias``, ``lapse``. If slots are unknown, ``slot_bias`` is an absolute value,
        and its sign is not identifiable: ``slot_bias_sign`` is 0.5. For each condition except the baseline also
        ``log_criterion_ratio``, ``log_resolution_ratio`` and ``probability_criterion_moved_more``, for each judge and
        for the ``mean of judges``.

    Raises
    ------
    SchemaError, DesignError
        If the table has none of these forms, or the difference in quality is never known.
    FitError
        If PyMC is missing or the sampler fails.

    See Also
    --------
    judgestats.detection_threshold : Smallest difference that is detected.
    judgestats.criterion_shift : What a stricter prompt saves and costs.
    judgestats.models.tie_model : Slot bias, criterion and resolution.

    Notes
    -----
    With probability ``lapse``, at most one half, an answer is random: each outcome has probability 1/3 (1/2 for each
    slot if the judge never ties). Otherwise ``P(first) = F(slope d + bias - criterion)``,
    ``P(second) = F(-slope d - bias - criterion)``, and the rest are ties; d is the quality of the first slot minus that
    of the second. Counts relative to the better candidate are averages over both orders. With two or more judges their
    parameters vary around a mean, as do the changes between conditions. Given the parameters, calls are independent.

    A row is ``prior-driven`` if the posterior sd is more than half of the prior sd, or a prior twice as wide changes
    the posterior mean by half an sd or the sd by half; a threshold also if it lies below the first step, where no call
    was made. On the counts of the dark_current paper this holds for lapse and slot bias of every judge. A threshold
    between two distant steps is flagged too: from calls at Δ1 and Δ5 only, the threshold of Llama8B is near 1.7 with
    the logit link, while all steps of the paper give 4.

    Source: dark_current paper, Eqs. 8 to 12; Rao and Kupper (1967); Glenn and David (1960); Wichmann and Hill (2001)
    for lapses.

    Examples
    --------
    >>> psychometric(counts, by="prompt", baseline="base").tidy()  # doctest: +SKIP
    """
    confidence(performance)
    link_names = [choose(k, LINKS, "links") for k in ([links] if isinstance(links, str) else links)]
    if not link_names:
        raise DesignError("links= is empty. Give 'logit', 'probit' or both.")
    stated = scales(PRIORS, priors)
    base = ladder(data, by, quality, baseline)
    options = sampling_options(sampling, target_accept=ACCEPT)
    seed = options["seed"]
    widths = (("stated", stated), ("wider", {k: WIDER * v for k, v in stated.items()}))[: 1 + wider]
    models = {(link, name): (replace(base, link=link), scale) for link in link_names for name, scale in widths}
    samples = sample_each(
        model(base, stated), _draw_labels(base, stated), [model_data(*each) for each in models.values()], **options
    )
    samples = [_with_top_parameters(base, draws, stated) for draws in samples]
    fits = {
        key: FittedCurves(
            linked, draws, consequences(linked, draws.values, performance), _prior_parameters(linked, scale, seed)
        )
        for (key, (linked, scale)), draws in zip(models.items(), samples, strict=True)
    }
    rows = curve_rows(fits, by, performance, conf_level)
    first = next(iter(fits.values()))
    whole = Draws(
        {f"{link}, {name}: {k}": v for (link, name), f in fits.items() for k, v in f.draws.values.items()},
        {f"{link}, {name}: {k}": v for (link, name), f in fits.items() for k, v in f.draws.labels.items()},
        sum(f.draws.divergences for f in fits.values()),
        first.draws.method,
    )
    again = {k: _replicated_answers(f, seed) for k, f in fits.items()}
    priors_ = prior_table({k: (f"{MEANING[k][0]}(0, {v:g})", MEANING[k][1]) for k, v in stated.items()})
    checks = convergence(whole, priors_)
    for key, fitted in fits.items():
        checks += conflicts(fitted.draws, ", ".join(key))
    for key in fits:
        used = _existing_counts(base)
        checks += predictive(f"counts ({', '.join(key)})", base.counts[used], again[key][:, used])
    predicted = [_predicted_answers(k, f, again[k], models[k][1], by, seed) for k, f in fits.items()]
    table = tabled(rows, ["judge", *([by] if by else []), "link", "prior"])
    question, predictions = "What does each judge resolve, and where is its criterion?", pd.concat(predicted)
    return Posterior(question, table, priors_, pd.DataFrame(checks), whole, predictions.reset_index(drop=True))


def model(data: Ladder, priors: Mapping[str, float] | None = None) -> Any:
    """The PyMC model, with the data of :func:`model_data`; every sampled variable is standard normal.

    A spread between judges, and a bias with unknown slots, is the absolute value of one, so there is no boundary at 0.
    """
    pm = pymc()
    import pytensor.tensor as pt

    J, G = len(data.judges), len(data.conditions)
    design = predictor(data, scales(PRIORS, priors))
    with pm.Model() as built:
        inputs = {name: pm.Data(name, value) for name, value in model_data(data, priors).items()}
        size = pt.as_tensor(design.fixed)
        if J > 1:
            size = size + (design.shared * pm.Normal("spread", shape=design.shared.shape[1])).sum(axis=1)
        z = size * pm.Normal("z", shape=len(design.fixed))
        eta = (inputs["design"] * z).sum(axis=1).reshape((len(ROWS), J * G))
        slope, criterion, bias = pt.exp(eta[0]), pt.exp(eta[1]), eta[2]
        lapse = MOST_LAPSE * pt.sigmoid(LAPSE_CENTRE + eta[3])
        for name, value in zip(NAMES, (slope, criterion, pt.abs(bias) if data.folded else bias), strict=True):
            pm.Deterministic(name, value.reshape((J, G)))
        pm.Deterministic("lapse", lapse.reshape((J, G))[:, 0])
        cell = np.eye(J * G)[data.judge * G + data.condition]  # sums, not dot, which needs a BLAS library
        each = ((cell * v).sum(axis=1) for v in (slope, criterion, bias, lapse))
        logs = _log_shares(data, inputs["probit"], *each)
        likely(pm, sum(pt.sum(inputs["counts"][:, k] * v) for k, v in enumerate(logs)))
    return built


def model_data(data: Ladder, priors: Mapping[str, float] | None = None) -> dict[str, Floats]:
    """Data of the model: ``counts`` (N, 4), the ``design``, which includes the scales of the priors, and the link."""
    design = predictor(data, scales(PRIORS, priors)).weights
    return {"counts": data.counts, "design": design, "probit": np.array(float(data.link == "probit"))}


def _log_shares(data: Ladder, probit: Any, s: Any, c: Any, b: Any, lapse: Any) -> list[Any]:
    """Log probabilities of first, tie, second and either slot, (N,) each."""
    import pytensor.tensor as pt

    def F(z: Any) -> Any:
        return pt.switch(probit, pt.erfc(-z / np.sqrt(2.0)) / 2, pt.sigmoid(z))

    one, two = F(s * data.x + b - c), F(-s * data.x - b - c)
    if data.folded:
        one, two = (one + F(s * data.x - b - c)) / 2, (two + F(-s * data.x + b - c)) / 2
    random = data.random[data.judge]
    p = [(1 - lapse) * v + lapse * random[:, k] for k, v in enumerate((one, 1 - one - two, two))]
    return [pt.log(pt.maximum(v, 1e-15)) for v in (*p, p[0] + p[2])]


def prior_draw(
    data: Ladder, priors: Mapping[str, float] | None, rng: np.random.Generator
) -> tuple[dict[str, Floats], Floats]:
    """Parameters drawn from the prior, and counts (N, 4) with the same totals: the model without PyMC."""
    parameters = _parameters(data, scales(PRIORS, priors), rng)
    return parameters, sampled_counts(data, shares(data, **parameters), rng)


def _parameters(data: Ladder, scale: Mapping[str, float], rng: np.random.Generator) -> dict[str, Floats]:
    J, G = len(data.judges), len(data.conditions)
    several = float(J > 1)
    parameters: dict[str, Floats] = {}
    for name in NAMES:
        judges = rng.normal(0, scale[name]) + several * abs(rng.normal(0, scale["spread"])) * rng.normal(size=J)
        value = np.repeat(judges[:, None], G, axis=1)
        spread = several * abs(rng.normal(0, scale["spread_ratio"]))
        value[:, 1:] += rng.normal(0, scale["ratio"], G - 1) + spread * rng.normal(size=(J, G - 1))
        parameters[name] = value if name == "bias" else np.exp(value)
    if data.folded:
        parameters["bias"] = np.abs(rng.normal(0, scale["bias"], (J, G)))
    centre = LAPSE_CENTRE + rng.normal(0, scale["lapse"])
    odds = centre + several * abs(rng.normal(0, scale["spread"])) * rng.normal(size=J)
    parameters["lapse"] = MOST_LAPSE / (1 + np.exp(-odds))
    return parameters


def sampled_counts(data: Ladder, p: Floats, rng: np.random.Generator) -> Floats:
    """Counts (..., N, 4) drawn from probabilities (..., N, 3), with the totals of the data."""
    n = np.rint(data.counts.sum(axis=1)).astype(np.int64)
    counts = rng.multinomial(np.broadcast_to(n, p.shape[:-1]), p / p.sum(axis=-1, keepdims=True)).astype(float)
    either = np.where(data.merged, counts[..., 0] + counts[..., 2], 0.0)
    counts[..., [0, 2]] *= ~data.merged[:, None]
    return np.concatenate([counts, either[..., None]], axis=-1)


def _draw_labels(data: Ladder, scale: Mapping[str, float]) -> Labels:
    """Variables whose draws are kept, with their labels."""
    design = predictor(data, scale)
    names: Labels = dict.fromkeys(NAMES, (data.judges, data.conditions))
    names |= {"lapse": (data.judges,), "z": (design.names,)}
    return names | ({"spread": (design.spreads,)} if len(data.judges) > 1 else {})


def _with_top_parameters(data: Ladder, draws: Draws, scale: Mapping[str, float]) -> Draws:
    """The draws with the standard normal variables as `top_parameters`; the sign of a spread has no meaning."""
    design, values = predictor(data, scale), dict(draws.values)
    z, spread = values.pop("z"), values.pop("spread", None)
    fixed = np.array(design.names)[design.fixed == 1]
    z = z[..., design.fixed == 1]
    top_parameters = [
        TopParameter(name, z[..., fixed == name], CentredPrior(1.0, None, False))
        for name in dict.fromkeys(fixed.tolist())
    ]
    if spread is not None:
        top_parameters += [
            TopParameter(f"spread of {n}", np.abs(spread[..., k]), CentredPrior(1.0, None, True))
            for k, n in enumerate(design.spreads)
        ]
    return replace(
        draws, values=values, labels={k: draws.labels[k] for k in values}, top_parameters=tuple(top_parameters)
    )


def _prior_parameters(data: Ladder, scale: Mapping[str, float], seed: int, size: int = 1000) -> dict[str, Floats]:
    """Draws of the parameters from the prior, (1, size, ...)."""
    rng = np.random.default_rng([seed, 1])
    draws = [_parameters(data, scale, rng) for _ in range(size)]
    return {name: np.stack([d[name] for d in draws])[None] for name in draws[0]}


def _replicated_answers(fitted: FittedCurves, seed: int) -> Floats:
    """Replicated counts from 400 of the draws, (400, N, 4)."""
    data, flat = fitted.data, {name: fitted.draws.flat(name) for name in (*NAMES, "lapse")}
    sampled = np.linspace(0, len(flat["lapse"]) - 1, 400).astype(int)
    p = shares(data, **{name: v[sampled] for name, v in flat.items()})
    return sampled_counts(data, p, np.random.default_rng(seed))


def _existing_counts(data: Ladder) -> Mask:
    """Which counts exist, (N, 4)."""
    return np.column_stack([~data.merged, np.ones_like(data.merged), ~data.merged, data.merged])


def _predicted_answers(
    key: tuple[str, str], fitted: FittedCurves, again: Floats, scale: Mapping[str, float], by: str | None, seed: int
) -> pd.DataFrame:
    """Every count with its predictive intervals."""
    data, used, rng = fitted.data, _existing_counts(fitted.data), np.random.default_rng([seed, 2])
    before = np.stack([prior_draw(data, scale, rng)[1] for _ in again])
    outcomes = ("correct", "tie", "wrong", "preference") if data.folded else ("first", "tie", "second", "either slot")
    labels = [(data.judges[j], data.conditions[g], *key) for j, g in zip(data.judge, data.condition, strict=True)]
    rows = [
        (*labels[i], data.x[i] * data.unit, "no preference" if k == 1 and data.merged[i] else outcomes[k])
        for i, k in np.argwhere(used)
    ]
    table = pd.DataFrame(rows, columns=["judge", by or "condition", "link", "prior", "delta", "outcome"])
    table = table if by else table.drop(columns="condition")
    n = np.repeat(data.counts.sum(axis=1)[:, None], 4, axis=1)[used]
    return predictive_table(table, data.counts[used], again[:, used], before[:, used], n, draws=fitted.draws.method)
