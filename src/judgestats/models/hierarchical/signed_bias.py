"""Signed bias toward a target candidate, partially pooled over judges, biases and topics: :func:`bias`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from scipy.special import expit, gammaln

from judgestats import flags
from judgestats.arguments import checked_arguments
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError
from judgestats.models.bayes.draws import Draws, Labels
from judgestats.models.bayes.replicates import predictive_table
from judgestats.models.bayes.sampling import Sampling, likely, pymc, sample, sampling_options
from judgestats.models.hierarchical.posterior_checks import predictive
from judgestats.models.hierarchical.posteriors import (
    Posterior,
    probability_row,
    result,
    row,
    scales,
    tabled,
    with_top_parameters,
)
from judgestats.models.hierarchical.target_counts import TargetCells, read
from judgestats.schema.columns import By
from judgestats.typing import Floats, Mask, Record

#: Scales of the priors, on the log-odds scale.
PRIORS = {"mean_share": 1.0, "mean_decisive": 1.5, "sd_share": 1.0, "sd_decisive": 1.0}
#: Prior mean of the log-odds of a decisive call: four calls in five.
DECISIVE = 1.4
ALL, NEW = "all judges", "new judge"
EQUAL = flags.NET_ONLY.of(how=", taken as equal over topics")
_HALVES = ("share", "decisive")
#: Log weight of an impossible pattern.
_NEVER = -1e9


@checked_arguments
def bias(
    data: IntoFrame,
    *,
    by: By = (),
    judge: str = "judge",
    bias: str = "bias",
    topic: str = "topic",
    score: str = "score",
    digits: int = 2,
    margin: float = 0.1,
    invalid: str = "drop",
    priors: Mapping[str, float] | None = None,
    sampling: Sampling | None = None,
    conf_level: float = CONF_LEVEL,
) -> Posterior:
    """Signed bias with its tie rate, partially pooled over judges, biases and topics.

    Parameters
    ----------
    data : frame
        Preferences with a column ``target``; or a tally with ``outcome`` (``target``, ``other``, ``tie``, ``invalid``)
        and ``n``; or a printed table with scores b (column `score`) and ``n``.
    by : str or sequence of str
        Columns of further conditions (``strategy``): each has its own mean, and is pooled like biases.
    judge, bias, topic : str
        Columns; the last two may be absent.
    score : str
        Column of printed scores, share for the target minus share for the other.
    digits : int
        Number of printed decimals.
    margin : float
        Smallest absolute value of a relevant bias.
    invalid : {'drop', 'tie'}
        Whether an invalid call is excluded, or counts as no preference.
    priors : mapping of str to float, optional
        Scales on the log-odds scale: ``mean_share``, ``mean_decisive`` (normal), ``sd_share``, ``sd_decisive``
        (half-normal).
    sampling : mapping, optional
        Any of ``draws``, ``tune``, ``chains``, ``seed``, ``target_accept``, ``progress``, as for
        :func:`judgestats.fit`.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    Posterior
        For each condition and judge ``bias`` and ``tie``, unweighted means over the topics of the judge, and
        ``P(|bias| > margin)``. ``all judges`` is the mean of these judges, ``new judge`` the prediction for another
        judge from the same population (both need two judges). Then the means and sds on the log-odds scale. A
        probability has no interval; its standard error is the Monte Carlo error.

    Raises
    ------
    SchemaError
        If ``n`` is missing, a count is impossible, or no whole number of calls gives a score.
    DesignError
        If an option is not known, or there is no valid call.
    FitError
        If PyMC is missing or the sampler fails.

    See Also
    --------
    judgestats.bias_score : Signed bias towards a target.
    judgestats.bias_change : Change of a bias under a strategy.

    Notes
    -----
    A call is decisive with log-odds d; a decisive call is for the target with log-odds s. Each of d and s is a mean
    plus effects of bias, judge, judge by bias, topic and judge by topic, as far as the design has them (topics are
    nested in biases). The bias is b = P(decisive) (2 P(target | decisive) - 1). A printed score determines only target
    minus other: the likelihood sums over all splits with that difference. If no ties are printed at all, d varies only
    by bias and judge, and the tie rate is ``prior-driven``. An sd whose posterior is hardly narrower than its prior is
    ``prior-driven`` too.

    Source: debiasing paper, Section 3.5 (b), Tables 7 to 9.

    Examples
    --------
    >>> bias(calls, sampling={"draws": 2000, "seed": 1}).tidy()  # doctest: +SKIP
    """
    if not 0 <= margin < 1:
        raise DesignError(f"margin={margin!r} is not a possible bias. Allowed: 0 to below 1, for example 0.1.")
    chosen = scales(PRIORS, priors)
    counts = read(data, by=by, judge=judge, bias=bias, topic=topic, score=score, digits=digits, invalid=invalid)
    options = sampling_options(sampling)
    draws, seed = sample(model(counts, chosen), labels(counts), **options), options["seed"]
    draws = with_top_parameters(draws, _scales(counts, chosen), {"mean_decisive": DECISIVE})
    table = tabled(_estimate_rows(counts, draws, chosen, margin, conf_level, seed), [*counts.keys, "judge"])
    again = _replicated_outcomes(counts, draws, seed)
    predicted = _predicted_outcomes(counts, again, chosen, draws.method, seed)
    checks: list[Record] = []
    for what, k, mask in _counted_cells(counts):
        if mask.any():
            checks += predictive(what, counts.counts[mask, k], again[:, mask, k])
    question = "How biased is each judge toward the target, and how often does it decide?"
    return result(question, table, draws, _prior_laws(counts, chosen), checks, predicted)


def observed(cells: TargetCells) -> dict[str, Floats]:
    """Data of the model: the possible splits of each cell (N, K, 3), and their log weights (N, K)."""
    size = int(cells.n[cells.net].max()) // 2 + 1 if cells.net.any() else 1
    k = np.arange(size)[None, :]
    low = np.where(cells.net, np.maximum(-cells.counts[:, 0], 0), cells.counts[:, 1])[:, None]
    high = np.where(cells.net, np.maximum(cells.counts[:, 0], 0), cells.counts[:, 0])[:, None]
    tie = cells.n[:, None] - low - high - 2 * k
    may = (tie >= 0) & (cells.net[:, None] | (k == 0))
    split = np.where(may[..., None], np.stack([high + k, low + k, tie], axis=-1), 0.0)
    weight = gammaln(cells.n + 1)[:, None] - gammaln(split + 1).sum(axis=-1)
    return {"split": split, "weight": np.where(may, weight, _NEVER)}


def model(cells: TargetCells, priors: Mapping[str, float]) -> Any:
    """The PyMC model, with data ``split`` and ``weight`` of :func:`observed`."""
    pm = pymc()
    tensor = pm.math
    with pm.Model() as built:
        split, weight = (pm.Data(name, value) for name, value in observed(cells).items())
        log_odds = {}
        for half in _HALVES:
            centre = DECISIVE if half == "decisive" else 0.0
            log_odds[half] = pm.Normal(f"mean_{half}", centre, priors[f"mean_{half}"])
            for term, (level, size) in cells.parts(half).items():
                spread = pm.HalfNormal(f"sd_{term}_{half}", priors[f"sd_{half}"])
                raw = pm.Normal(f"raw_{term}_{half}", 0, 1, shape=size)
                effect = pm.Deterministic(f"{term}_{half}", spread * raw)
                log_odds[half] = log_odds[half] + effect[level]
        soft = pm.math.log1pexp
        s, d = (log_odds[half] + np.zeros(len(cells.n)) for half in _HALVES)
        logp = tensor.stack([-soft(-d) - soft(-s), -soft(-d) - soft(s), -soft(d)], axis=-1)
        likely(pm, tensor.logsumexp(weight + (split * logp[:, None, :]).sum(axis=-1), axis=-1).sum())
    return built


def labels(cells: TargetCells) -> Labels:
    """Variables whose draws are kept, with their labels."""
    names: Labels = {}
    for half in _HALVES:
        names[f"mean_{half}"] = ()
        for term, (_, size) in cells.parts(half).items():
            names[f"sd_{term}_{half}"] = ()
            names[f"{term}_{half}"] = (tuple(map(str, range(size))),)
    return names


def prior_draw(
    cells: TargetCells, priors: Mapping[str, float], rng: np.random.Generator
) -> tuple[dict[str, float | Floats], TargetCells]:
    """Parameters drawn from the prior, and the same design with counts drawn under them."""
    parameters: dict[str, float | Floats] = {}
    for half in _HALVES:
        parameters[f"mean_{half}"] = rng.normal(DECISIVE if half == "decisive" else 0.0, priors[f"mean_{half}"])
        for term, (_, size) in cells.parts(half).items():
            parameters[f"sd_{term}_{half}"] = abs(rng.normal(0, priors[f"sd_{half}"]))
            parameters[f"{term}_{half}"] = rng.normal(0, parameters[f"sd_{term}_{half}"], size)
    counts = rng.multinomial(cells.n.astype(int), _probabilities(cells, parameters)).astype(float)
    return parameters, replace(cells, counts=_netted(cells, counts))


def _scales(cells: TargetCells, priors: Mapping[str, float]) -> dict[str, float]:
    """Mean and sds of both halves -> scale of the prior."""
    each = {}
    for half in _HALVES:
        each[f"mean_{half}"] = priors[f"mean_{half}"]
        each |= {f"sd_{term}_{half}": priors[f"sd_{half}"] for term in cells.parts(half)}
    return each


def _netted(cells: TargetCells, counts: Floats) -> Floats:
    """Counts, reduced to target minus other in cells where only the score is printed."""
    net = np.stack([counts[..., 0] - counts[..., 1], *[np.zeros(counts.shape[:-1])] * 2], axis=-1)
    return np.asarray(np.where(cells.net[:, None], net, counts), np.float64)


def _probabilities(cells: TargetCells, values: Mapping[str, float | Floats]) -> Floats:
    """Probabilities of target, other and tie in each cell, (..., N, 3)."""
    rate = {}
    for half in _HALVES:
        total = np.asarray(values[f"mean_{half}"])[..., None]
        for term, (level, _) in cells.parts(half).items():
            total = total + np.asarray(values[f"{term}_{half}"])[..., level]
        rate[half] = expit(total + np.zeros(len(cells.n)))
    s, d = rate["share"], rate["decisive"]
    return np.stack([d * s, d * (1 - s), 1 - d], axis=-1)


def _of_new_judge(cells: TargetCells, values: Mapping[str, Floats], condition: int, rng: np.random.Generator) -> Floats:
    """Probabilities of target, other and tie for a new judge, (..., topics, 3)."""
    topics = np.array([t for t, (c, _) in enumerate(cells.topics) if c == condition])
    rate = {}
    for half in _HALVES:
        total = values[f"mean_{half}"][..., None] + np.zeros(len(topics))
        for term, level in (("bias", condition), ("topic", topics)):
            if term in cells.parts(half):
                total = total + values[f"{term}_{half}"][..., np.atleast_1d(level)]
        for term, size in (("judge", 1), ("judge_bias", 1), ("judge_topic", len(topics))):
            if term in cells.parts(half):
                spread = values[f"sd_{term}_{half}"][..., None]
                total = total + spread * rng.standard_normal((*spread.shape[:-1], size))
        rate[half] = expit(total)
    s, d = rate["share"], rate["decisive"]
    return np.stack([d * s, d * (1 - s), 1 - d], axis=-1)


def _estimate_rows(
    cells: TargetCells, draws: Draws, priors: Mapping[str, float], margin: float, conf_level: float, seed: int
) -> list[Record]:
    p, rng = _probabilities(cells, draws.values), np.random.default_rng(seed)
    rows: list[Record] = []
    shared = {"conf_level": conf_level, "draws": draws}
    no_ties = EQUAL if "topic" in cells.terms and cells.net.all() else flags.NET_ONLY.of(how="")
    for c, condition in enumerate(cells.conditions):
        key, in_condition, each = dict(zip(cells.keys, condition, strict=True)), cells.condition == c, []
        for j in np.unique(cells.judge[in_condition]):
            of_judge = in_condition & (cells.judge == j)
            each.append(p[..., of_judge, :].mean(axis=-2))
            n, lost = float(cells.n[of_judge].sum()), cells.invalid[of_judge].sum()
            flag = flags.join(
                flags.ONE_CALL if n == 1 else flags.SMALL_N if n < 30 else "", flags.INVALID_EXCLUDED.of(lost)
            )
            more = {**shared, **key, "judge": cells.judges[j], "n": n}
            rows += _bias_rows(each[-1], no_ties if cells.net[of_judge].all() else "", margin, flag, more)
        if len(cells.judges) > 1:
            more = {**shared, **key, "n": float(cells.n[in_condition].sum())}
            net = no_ties if cells.net[in_condition].all() else ""
            predicted = _of_new_judge(cells, draws.values, c, rng).mean(axis=-2)
            rows += _bias_rows(np.mean(each, axis=0), net, margin, "", {**more, "judge": ALL})
            rows += _bias_rows(predicted, net, margin, "", {**more, "judge": NEW})
    total: Record = {**shared, **dict.fromkeys(cells.keys, ""), "judge": ALL, "n": float(cells.n.sum())}
    for name, scale in _scales(cells, priors).items():
        values, prior = draws.values[name], scale * (np.sqrt(1 - 2 / np.pi) if name[0] == "s" else 1)
        rows.append(row(name, values, flag=flags.PRIOR_DRIVEN if values.std() > 0.7 * prior else "", **total))
    return rows


def _bias_rows(p: Floats, net: str, margin: float, flag: str, more: Record) -> list[Record]:
    b = p[..., 0] - p[..., 1]
    return [
        row("bias", b, flag=flag, **more),
        row("tie", p[..., 2], flag=flags.join(flag, *([net, flags.PRIOR_DRIVEN] if net else [])), **more),
        probability_row(f"P(|bias| > {margin:g})", (np.abs(b) > margin).astype(float), flag=flag, **more),
    ]


def _replicated_outcomes(cells: TargetCells, draws: Draws, seed: int) -> Floats:
    """Replicated counts, (S, N, 3)."""
    p, rng = _probabilities(cells, {k: draws.flat(k) for k in draws.values}), np.random.default_rng(seed)
    some = p[:: max(1, len(p) // 2000)]
    return _netted(cells, rng.multinomial(cells.n.astype(int), some).astype(float))


def _counted_cells(cells: TargetCells) -> list[tuple[str, int, Mask]]:
    """Name of each count, its column, and the cells that have it."""
    full = [(what, k, ~cells.net) for k, what in enumerate(("target calls", "other calls", "ties"))]
    return [*full, ("target minus other", 0, cells.net)]


def _predicted_outcomes(
    cells: TargetCells, again: Floats, priors: Mapping[str, float], draws: str, seed: int
) -> pd.DataFrame:
    """Every count with its predictive intervals."""
    rng = np.random.default_rng([seed, 1])
    before = np.stack([prior_draw(cells, priors, rng)[1].counts for _ in range(400)])
    places = [(int(at), k, what) for what, k, mask in _counted_cells(cells) for at in np.flatnonzero(mask)]
    i, k = (np.array([f[part] for f in places], np.int64) for part in (0, 1))
    rows = [
        (*cells.conditions[cells.condition[at]], cells.judges[cells.judge[at]], cells.topics[cells.topic[at]][1], what)
        for at, _, what in places
    ]
    columns = [*cells.keys, "judge", "topic", "outcome"]
    labelled, counts = pd.DataFrame(rows, columns=columns), cells.counts[i, k]
    return predictive_table(labelled, counts, again[:, i, k], before[:, i, k], cells.n[i], draws=draws)


def _prior_laws(cells: TargetCells, priors: Mapping[str, float]) -> dict[str, tuple[str, str]]:
    laws = {}
    for half, words in (("share", "for the target among decisive calls"), ("decisive", "of a decisive call")):
        centre = DECISIVE if half == "decisive" else 0
        laws[f"mean_{half}"] = (f"normal({centre:g}, {priors[f'mean_{half}']:g})", f"mean log-odds {words}")
        law = f"half-normal({priors[f'sd_{half}']:g})"
        laws |= {f"sd_{term}_{half}": (law, f"sd by {term} of the log-odds {words}") for term in cells.parts(half)}
    return laws
