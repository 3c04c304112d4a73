"""Effect of a cue on each judge's verdicts and of schemes against it, partially pooled: :func:`susceptibility`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.arguments import checked_arguments
from judgestats.defaults import CONF_LEVEL
from judgestats.models.bayes.draws import Draws, Labels
from judgestats.models.bayes.replicates import predictive_table
from judgestats.models.bayes.sampling import Sampling, likely, pymc, sample, sampling_options
from judgestats.models.hierarchical.cue_counts import Favoured, Outcomes, favoured_sides, outcomes
from judgestats.models.hierarchical.cue_shifts import Probed, Terms
from judgestats.models.hierarchical.posterior_checks import finding, predictive
from judgestats.models.hierarchical.posteriors import Posterior, result, scales, tabled, with_top_parameters
from judgestats.typing import Floats, Ints, Mask, Record

#: Name -> scale of the prior.
PRIORS: dict[str, float] = {"mean": 3.0, "probe": 2.5, "sd_blind": 1.0, "sd_probe": 2.0}
_MEANING = {
    "mean": ("normal", "log-odds of an outcome relative to the reference, blind, by scheme"),
    "probe": ("normal", "change of these log-odds under a probe, by scheme"),
    "sd_blind": ("half-normal", "sd over judges of the blind log-odds, by scheme and outcome"),
    "sd_probe": ("half-normal", "sd over judges of the change under a probe, by scheme and outcome"),
}


@checked_arguments
def susceptibility(
    counts: IntoFrame | Mapping[str, IntoFrame],
    *,
    baseline: str = "blind",
    favoured: Favoured | None = None,
    favoured_label: str | None = None,
    against: str | None = None,
    reference: str | None = None,
    priors: Mapping[str, float] | None = None,
    sampling: Sampling | None = None,
    conf_level: float = CONF_LEVEL,
) -> Posterior:
    """Shift of verdicts under a cue, for each judge, and the effect of a judging scheme on it.

    Parameters
    ----------
    counts : frame, or mapping of str to frame
        Preferences with a column ``probe`` (and ``scheme``); or their tally ``judge, probe, outcome, n``; or
        ``{probe: table}``, each with ``judge``, ``scheme`` and one column of counts for each outcome, as printed.
    baseline : str
        The probe without a cue.
    favoured, favoured_label
        The candidate that the cue favours, as for :func:`judgestats.anchoring`; one candidate in each probe.
    against : str, optional
        The scheme that all others are compared with, by default ``Baseline``.
    reference : str, optional
        Reference outcome of the log-odds. By default the one whose smallest share is the largest.
    priors : mapping, optional
        Scales by name: ``mean``, ``probe``, ``sd_blind``, ``sd_probe``; see ``.priors`` of the result.
    sampling : mapping, optional
        Any of ``draws``, ``tune``, ``chains``, ``seed``, ``target_accept``, ``progress``, as for
        :func:`judgestats.fit`.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    Posterior
        Columns ``judge``, ``scheme``, ``against``, ``probe``, ``favoured``. For each judge, scheme and probe the terms
        of :func:`judgestats.anchoring`: ``shift_favoured``, ``shift_opposed``, ``shift_tie``; ``lds``, ``ols``, ``ts``
        (their positive parts); ``lao``; ``total_variation``; ``shift_nontie``, ``tie``, ``tie_blind``. For each
        comparison of two schemes (``against`` is not empty) the same terms as ``... difference``, and

        - ``by_abstaining`` and ``by_choosing``: the two parts of ``shift_favoured difference``. The first is due to
          how often a side is taken, the second to which side is taken;
        - ``probability_helps``: of a smaller ``lds``; for ``mean of judges`` also ``probability_helps_all``;
        - ``probability_bought``: that abstaining reduces the shift, and by more than choosing does.

        Judge ``mean of judges`` is the mean over these judges, ``another judge`` a new judge from the same population.

    Raises
    ------
    SchemaError, DesignError
        If the table has none of these forms, or the favoured candidate is not known or differs between items.
    FitError
        If PyMC is missing or the sampler fails.

    See Also
    --------
    judgestats.anchoring : Shift of verdicts by a cue.
    judgestats.protocol_difference : Anchoring under two schemes.

    Notes
    -----
    Outcomes of a judge under a scheme and a probe are multinomial. Their log-odds relative to the reference outcome are
    blind log-odds plus the effect of the probe; both vary by judge around the mean of the scheme. Counts of one item
    under two probes are treated as independent, so that intervals for paired items are too wide, rarely too narrow.

    A gain is the posterior mean of the signed shift, clipped at 0, with the clipped interval: the mean of a clipped
    quantity would exceed 0 without any shift. ``lao`` is the mean of a ratio; it is flagged if all three intervals
    include 0. Shares of ties are ``prior-driven`` if no tie was counted, blind or under the probe: the counts show only
    that the share is small. The parts by abstaining and by choosing are averages over the order in which the two are
    changed (Shapley values), and add up to the difference.

    Source: rationalization paper, Sections IV.C and V.D to V.F, which has no intervals.

    Examples
    --------
    >>> susceptibility({"blind": blind, "truth": truth}, favoured="llm").tidy()  # doctest: +SKIP
    """
    data = outcomes(counts, baseline, reference)
    sides = favoured_sides(counts, data, favoured, favoured_label)
    chosen = scales(PRIORS, priors)
    compared = data.compared(against)
    options = sampling_options(sampling)
    draws = with_top_parameters(sample(model(data, chosen), _variable_labels(data), **options), chosen)
    rng = np.random.default_rng(options["seed"])
    shares = _with_new_judge(draws, data, rng)
    rows = [
        r
        for p, probe in enumerate(data.probes[1:], 1)
        for r in Probed(data, p, sides[probe], shares, conf_level, draws).rows(compared)
    ]
    seen = data.counts.sum(axis=-1) > 0
    again = _replicated_counts(draws.flat("shares"), data, seen, rng)
    laws = {name: (f"{_MEANING[name][0]}(0, {v:g})", _MEANING[name][1]) for name, v in chosen.items()}
    checks = [*predictive("counts", data.counts[seen].ravel(), again), *_data_checks(data)]
    table = tabled(rows, ["judge", "scheme", "against", "probe"], ("favoured",))
    before = np.stack([prior_draw(data, chosen, rng)[1][seen].ravel() for _ in range(len(again))])
    n = data.counts.sum(axis=-1)[seen].repeat(len(data.outcomes))
    predicted = predictive_table(
        _cell_labels(data, seen), data.counts[seen].ravel(), again, before, n, draws=draws.method
    )
    return result("How far does the cue move each judge?", table, draws, laws, checks, predicted)


def model(data: Outcomes, priors: Mapping[str, float] | None = None) -> Any:
    """The PyMC model, with data ``counts`` (J, S, P, K) and the variables of :func:`_variable_labels`."""
    pm = pymc()
    import pytensor.tensor as pt

    scale = scales(PRIORS, priors)
    J, S, P, K = data.counts.shape
    with pm.Model() as built:
        counts = pm.Data("counts", data.counts)
        blind = pm.Normal("mean", 0.0, scale["mean"], shape=(S, K - 1))[None]
        added = pm.Normal("probe", 0.0, scale["probe"], shape=(S, P - 1, K - 1))[None]
        if J > 1:
            spread = pm.HalfNormal("sd_blind", scale["sd_blind"], shape=(S, K - 1))
            blind = blind + spread * pm.Normal("z_blind", shape=(J, S, K - 1))
            spread = pm.HalfNormal("sd_probe", scale["sd_probe"], shape=(S, K - 1))
            added = added + spread[:, None] * pm.Normal("z_probe", shape=(J, S, P - 1, K - 1))
        odds = pt.concatenate([blind[:, :, None], blind[:, :, None] + added], axis=2)
        whole = pt.concatenate([pt.zeros((J, S, P, 1)), odds], axis=3)
        logs = whole - pt.logsumexp(whole, axis=3, keepdims=True)
        pm.Deterministic("shares", pt.exp(logs))
        likely(pm, pt.sum(counts * logs))
    return built


def prior_draw(data: Outcomes, priors: Mapping[str, float] | None, rng: np.random.Generator) -> tuple[Terms, Ints]:
    """Parameters drawn from the prior, and counts (J, S, P, K) with the same totals: the model without PyMC."""
    scale = scales(PRIORS, priors)
    J, S, P, K = data.counts.shape
    parameters: Terms = {
        "mean": rng.normal(0, scale["mean"], (S, K - 1)),
        "probe": rng.normal(0, scale["probe"], (S, P - 1, K - 1)),
    }
    blind, added = parameters["mean"], parameters["probe"]
    if J > 1:
        parameters |= {name: np.abs(rng.normal(0, scale[name], (S, K - 1))) for name in ("sd_blind", "sd_probe")}
        noise = rng.standard_normal((J, S, P, K - 1))
        blind = blind + parameters["sd_blind"] * noise[:, :, 0]
        added = added + parameters["sd_probe"][:, None] * noise[:, :, 1:]
    parameters["shares"] = np.broadcast_to(_outcome_shares(blind, added), (J, S, P, K))
    return parameters, rng.multinomial(np.rint(data.counts.sum(axis=-1)).astype(np.int64), parameters["shares"])


def _outcome_shares(blind: Floats, added: Floats) -> Floats:
    """Shares (..., P, K) from the log-odds blind (..., K - 1), and what each probe adds (..., P - 1, K - 1)."""
    blind = blind[..., None, :]
    odds = np.concatenate([blind, blind + added], axis=-2)
    odds = np.concatenate([np.zeros((*odds.shape[:-1], 1)), odds], axis=-1)
    power = np.exp(odds - odds.max(axis=-1, keepdims=True))
    return np.asarray(power / power.sum(axis=-1, keepdims=True), np.float64)


def _variable_labels(data: Outcomes) -> Labels:
    free, labelled = data.outcomes[1:], data.probes[1:]
    names: Labels = {
        "mean": (data.schemes, free),
        "probe": (data.schemes, labelled, free),
        "shares": (data.judges, data.schemes, data.probes, data.outcomes),
    }
    if len(data.judges) > 1:
        names |= {"sd_blind": (data.schemes, free), "sd_probe": (data.schemes, free)}
    return names


def _with_new_judge(draws: Draws, data: Outcomes, rng: np.random.Generator) -> Floats:
    """Shares (chains, draws, J + 1, S, P, K), the last of a new judge; unchanged if there is only one judge."""
    shares: Floats = draws.values["shares"]
    if len(data.judges) == 1:
        return shares
    v = draws.values
    blind = v["mean"] + v["sd_blind"] * rng.standard_normal(v["mean"].shape)
    added = v["probe"] + v["sd_probe"][..., None, :] * rng.standard_normal(v["probe"].shape)
    return np.concatenate([shares, _outcome_shares(blind, added)[:, :, None]], axis=2)


def _replicated_counts(shares: Floats, data: Outcomes, seen: Mask, rng: np.random.Generator) -> Floats:
    """Replicated counts from 400 of the draws, (400, cells times K)."""
    n = np.rint(data.counts.sum(axis=-1)[seen]).astype(np.int64)
    sampled = shares[np.linspace(0, len(shares) - 1, 400).astype(int)][:, seen]
    sampled = sampled / sampled.sum(axis=-1, keepdims=True)
    return rng.multinomial(n[None], sampled).reshape(400, -1).astype(float)


def _cell_labels(data: Outcomes, seen: Mask) -> pd.DataFrame:
    """Labels of each count."""
    rows = [
        (data.judges[j], data.schemes[s], data.probes[p], outcome)
        for j, s, p in np.argwhere(seen)
        for outcome in data.outcomes
    ]
    return pd.DataFrame(rows, columns=["judge", "scheme", "probe", "outcome"])


def _data_checks(data: Outcomes) -> list[Record]:
    """Rows of ``checks`` on the data."""
    empty = float((data.counts.sum(axis=(0, 2)) == 0).sum())
    rare = "Their shares are near 0; how near depends on the prior. Vary mean and probe in priors=."
    few = flags.FEW_JUDGES if len(data.judges) < 5 else ""
    return [
        finding("outcomes that never occur under a scheme", empty, flags.PRIOR_DRIVEN if empty else "", rare),
        finding("judges", float(len(data.judges)), few),
    ]
