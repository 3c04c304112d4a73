"""How many verdicts and labels a corrected rate needs: :func:`label_plan`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import get_args

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.arguments import checked_arguments
from judgestats.counting.clustering import Cluster
from judgestats.defaults import CONF_LEVEL, SEED
from judgestats.errors import DesignError, choose, confidence
from judgestats.kernels.cluster_sums import covariance
from judgestats.kernels.corrected_means import class_rates, corrected_interval, corrected_share, prediction_powered
from judgestats.kernels.half_widths import Sizes, cheapest_sizes, verdicts_at_random, verdicts_by_class
from judgestats.kernels.proportions import newcombe, normal_quantile
from judgestats.kernels.resampling import generator
from judgestats.metrics.correctness.corrections import Sampling
from judgestats.metrics.correctness.label_sources import Labelled, labelled_levels
from judgestats.metrics.correctness.labelled_samples import LabelReading, TiesOfWins
from judgestats.metrics.correctness.rogan_gladen import without_rate
from judgestats.schema.columns import By, names
from judgestats.schema.opening import engine_errors
from judgestats.typing import Floats, Record

#: Draws of what the pilot leaves open.
DRAWS = 1000
#: Part of the precision down to which the half-width to be expected is lowered, and how often the search halves.
_NARROWEST, _HALVINGS = 0.7, 5
_COLUMNS = (
    *("n", "m", "m0", "m1", "cost", "predicted_half_width", "simulated_half_width", "simulated_share"),
    *("labels_alone", "cost_labels_alone", "method", "flag"),
)


@checked_arguments
@engine_errors
def label_plan(
    pilot: IntoFrame,
    *,
    precision: float,
    prices: Mapping[str, float] | None = None,
    verdicts: int | None = None,
    sampling: Sampling | None = None,
    assurance: float = 0.8,
    calibration: IntoFrame | None = None,
    gold: str = "gold",
    candidate: str | None = None,
    ties: TiesOfWins = "exact",
    by: By = (),
    cluster: Cluster = "auto",
    replications: int = 500,
    seed: int | np.random.Generator = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """How many labels, or verdicts and labels, give a corrected rate the precision asked for at the smallest cost.

    Parameters
    ----------
    pilot : frame
        Verdicts, with labels beside some, as :func:`judgestats.corrected_rate` takes them: a frame, a tally, or printed
        shares.
    precision : float
        Largest half-width of the interval.
    prices : mapping, optional
        ``{"verdict": price, "label": price}``. The price of a label includes, by class, that of the verdict on its
        item. Not needed with `verdicts`: the plan then has the fewest labels, and no cost.
    verdicts : int, optional
        Number of verdicts of each judge, where it is given (they have been bought already, say). By default it is
        chosen too, which takes `prices`. With both, the cost includes that of these verdicts.
    sampling : {'random', 'by class'}
        How the labelled items are drawn, in the pilot and in the study; it must be stated.
    assurance : float
        Share of studies, simulated with what the pilot leaves open, whose half-width is at most `precision`.
    calibration, gold, candidate, ties, by, cluster
        As for :func:`judgestats.corrected_rate`.
    replications : int
        Simulated studies.
    seed : int or Generator
        Seed of the draws and of the simulated studies.
    conf_level : float
        Coverage of the interval that is planned.

    Returns
    -------
    pandas.DataFrame
        A row per judge (and level of `by`): ``n`` verdicts, ``m`` labels (by class ``m0`` negative and ``m1`` positive
        ones, on items that are not among the n; at random m of the n items), ``cost``, ``predicted_half_width`` at the
        pilot's estimates, ``simulated_half_width``, the mean of the studies simulated at them, and ``simulated_share``,
        the share of studies, simulated with what the pilot leaves open, whose half-width is at most `precision`.
        ``labels_alone`` and ``cost_labels_alone``: a random sample of labels without a judge that is as precise.

    Raises
    ------
    DesignError
        If `sampling` is not stated, neither `prices` nor `verdicts` is given, or a price, the precision, the assurance
        or the number of verdicts is out of range.

    See Also
    --------
    corrected_rate : A rate corrected for the judge's errors.

    Notes
    -----
    By class the half-width is that of the interval of Lee et al. at the numbers planned. At random the variance is
    σ²[ρ²/n + (1 - ρ²)/m] for m labels among n verdicts (PPI++ at its best λ; ρ is the correlation of verdict and
    label), and at most half of the n are labelled. The pilot's uncertainty is Jeffreys' posterior of each share, and
    for mean scores the Bayesian bootstrap of the labelled items. The cost is minimal over whole numbers such that the
    expected half-width is small enough in a share `assurance` of 1,000 draws. That of a single study varies about it:
    where fewer than this share of the simulated studies are precise enough, the plan is for the least further margin
    at which they are, within the error of so many `replications`. With `verdicts` given there may be no number of
    labels that suffices, which is flagged. Where the pilot is clustered, variances are multiplied by its design effect:
    the study then has as many items in a cluster.

    Examples
    --------
    >>> pilot = pd.DataFrame({"judge": ["g"], "p": 0.4, "q0": 0.97, "q1": 0.98, "n": 400, "m0": 60, "m1": 60})
    >>> found = label_plan(pilot, precision=0.05, prices={"verdict": 0.01, "label": 1}, sampling="by class")
    >>> found[["n", "m0", "m1", "cost"]].round(2).to_dict("records")
    [{'n': 2828.0, 'm0': 87.0, 'm1': 62.0, 'cost': 177.28}]

    There are 4,000 verdicts already. How many of their items must be labelled, drawn at random?

    >>> counts = [("yes", "yes", 45), ("yes", "no", 5), ("no", "yes", 5), ("no", "no", 65)]
    >>> pilot = pd.DataFrame(counts, columns=["verdict", "label", "n"]).assign(judge="g")
    >>> found = label_plan(pilot, precision=0.05, verdicts=4000, sampling="random")
    >>> found[["n", "m", "labels_alone"]].to_dict("records")
    [{'n': 4000.0, 'm': 171.0, 'labels_alone': 382.0}]
    >>> found[["predicted_half_width", "simulated_half_width"]].round(3).to_dict("records")
    [{'predicted_half_width': 0.043, 'simulated_half_width': 0.043}]
    """
    confidence(conf_level)
    if sampling is None:
        raise DesignError(
            "State how the labelled items are drawn: sampling='random' (from the items judged) or sampling='by class' "
            "(so many of each class of the label)."
        )
    choose(sampling, get_args(Sampling), "sampling")
    price = _prices(prices, verdicts)
    for name, value, most in (("precision", precision, math.inf), ("assurance", assurance, 1)):
        if not isinstance(value, int | float | np.integer | np.floating) or not 0 < value < most:
            what = "above 0, e.g. 0.05" if name == "precision" else "between 0 and 1, e.g. 0.8"
            raise DesignError(f"{name}={value!r} must be {what}.")
    if not isinstance(replications, int) or replications < 1:
        raise DesignError(f"replications={replications!r} is not a number of studies. Allowed: 1 or more.")
    keys = ["judge", *dict.fromkeys(names(by))]
    rows = []
    reading = LabelReading("corrected_rate", keys, keys, sampling, cluster, gold, candidate, ties)
    for part in labelled_levels(pilot, calibration, reading):
        rng = generator(seed, ("label_plan", *map(str, part.labels.values())))
        study = _ByClass(part, conf_level) if sampling == "by class" else _Random(part, conf_level)
        row: Record = {**part.labels, "flag": study.refusal}
        if not study.refusal:
            row |= _planned(study, precision, price, verdicts, assurance, replications, rng)
        if prices is None:
            row |= {"cost": math.nan, "cost_labels_alone": math.nan}
        rows.append({**row, "flag": flags.join(row["flag"], part.flag, study.caution)})
    plan = pd.DataFrame(rows).reindex(columns=[*keys, *_COLUMNS])
    plan = plan.astype(dict.fromkeys(_COLUMNS[:-2], float))
    for name in _COLUMNS[-2:]:
        plan[name] = plan[name].astype(object).where(plan[name].notna(), "")
    return plan.sort_values(keys, key=lambda v: v.astype(str), kind="stable", ignore_index=True)


def _prices(prices: Mapping[str, float] | None, verdicts: object) -> tuple[float, float]:
    """Prices of a verdict and of a label; without prices the labels are counted."""
    if verdicts is not None and (not isinstance(verdicts, int | np.integer) or verdicts < 2):
        raise DesignError(f"verdicts={verdicts!r} is not a number of verdicts. Allowed: a whole number of 2 or more.")
    if prices is None:
        if verdicts is None:
            raise DesignError(
                "label_plan needs prices={'verdict': price, 'label': price}, to choose the numbers of both, or the "
                "number of verdicts that there are, verdicts=2000, to find the number of labels."
            )
        return 0.0, 1.0
    try:
        pair = float(prices["verdict"]), float(prices["label"])
    except (KeyError, TypeError, ValueError):
        raise DesignError(f"prices={prices!r} must be {{'verdict': price, 'label': price}}.") from None
    if len(prices) != 2 or not all(0 < v < math.inf for v in pair):
        raise DesignError(f"prices={dict(prices)!r} must be {{'verdict': price, 'label': price}}, both above 0.")
    return pair


def _planned(
    study: _ByClass | _Random,
    precision: float,
    price: tuple[float, float],
    verdicts: int | None,
    assurance: float,
    replications: int,
    rng: np.random.Generator,
) -> Record:
    """Numbers of a study, and what they come to."""
    open_ = study.draws(rng, DRAWS)
    seed = int(rng.integers(2**63))

    def sizes_for(part: float) -> Sizes:
        kinds = study.kinds
        needed = partial(study.needed, open_, precision=part * precision)
        return cheapest_sizes(needed, kinds, price, assurance, within=kinds == 1, verdicts=verdicts)

    def share_within(sizes: Sizes) -> float:
        """Share of simulated studies that are precise enough; the same draws for all sizes."""
        draws = np.random.default_rng(seed)
        widths = study.half_widths(study.draws(draws, replications), sizes, replications, draws)
        return float(np.mean(widths <= precision))

    sizes = sizes_for(1.0)
    alone = np.quantile(study.label_variance(open_), assurance, method="inverted_cdf")
    labels_only = float(np.ceil(alone * (study.quantile / precision) ** 2))
    instead = {"labels_alone": labels_only, "cost_labels_alone": price[1] * labels_only}
    if not math.isfinite(sizes.cost):
        return {**instead, "flag": flags.TOO_PRECISE if verdicts is None else flags.TOO_FEW_VERDICTS.of(verdicts)}
    share, low, high = share_within(sizes), _NARROWEST, 1.0
    for _ in range(_HALVINGS if share < assurance else 0):
        middle = (low + high) / 2
        trial = sizes_for(middle)
        if not math.isfinite(trial.cost):
            low = middle
        elif (within := share_within(trial)) >= assurance:
            sizes, share, low = trial, within, middle
        else:
            high = middle
    same = study.half_widths(study.shares[None], sizes, replications, rng)
    finite = same[np.isfinite(same)]
    row: Record = {"n": sizes.n, "m": sizes.m.sum(), "cost": sizes.cost, "method": study.method, **instead}
    row |= {"m0": sizes.m[0], "m1": sizes.m[1]} if sizes.m.size == 2 else {}
    row |= {"predicted_half_width": study.predicted(sizes), "simulated_share": share}
    row["simulated_half_width"] = float(np.mean(finite)) if finite.size else math.nan
    few = flags.FEW_LABELS if sizes.m.sum() < 30 else ""
    unsure = flags.LESS_SURE.of(share=f"{100 * share:.0f} %") if share < assurance else ""
    return {**row, "flag": flags.join(few, unsure, flags.LABELS_ALONE if price[1] * labels_only <= sizes.cost else "")}


def _effect(influence: Floats, flat: Floats, part: Labelled) -> float:
    """Design effect of a clustered pilot; at least 1."""
    if part.unit is None:
        return 1.0
    wide = float(covariance(influence[:, None], part.n, part.unit)[0, 0])
    narrow = float(covariance(flat[:, None], part.n, None)[0, 0])
    return max(wide / narrow, 1.0) if narrow > 0 and math.isfinite(wide) else 1.0


class _Pilot:
    """What a pilot says of a rate: the shares it estimates, and why it cannot say more."""

    kinds: int  # of labels
    rule: str
    shares: Floats
    refusal = caution = ""
    effect = 1.0

    @property
    def method(self) -> str:
        return self.rule + (f", design effect {self.effect:.2f}" if self.effect > 1 else "")


class _ByClass(_Pilot):
    """Rogan and Gladen's rate: share of positive verdicts, specificity, sensitivity."""

    kinds, rule = 2, "Rogan-Gladen, Lee et al."

    def __init__(self, part: Labelled, conf_level: float) -> None:
        judged = np.isnan(part.y)
        rates = class_rates(part.f, part.y, part.n, judged)
        self.sizes, self.quantile = rates.sizes, normal_quantile(conf_level)
        self.shares = np.array([rates.p, rates.specificity, rates.sensitivity])
        self.refusal = without_rate(rates.sizes)
        if self.refusal:
            return
        if not set(np.unique(part.f)) | set(np.unique(part.y[~judged])) <= {0.0, 1.0}:
            raise DesignError("sampling='by class' needs verdicts and labels of 0 and 1 (yes or no).")
        value = float(corrected_share(*self.shares))
        gradient = np.array([1.0, 1 - value, -value])
        if part.unit is not None:
            wide = class_rates(part.f, part.y, part.n, judged, part.unit, ddof=1).influence
            self.effect = _effect(gradient @ wide, gradient @ rates.influence, part)
        _, m0, m1 = self.sizes / self.effect
        low, _ = newcombe(self.shares[2] * m1, m1, (1 - self.shares[1]) * m0, m0, conf_level)
        self.refusal = "" if low > 0 else flags.NOT_BETTER_THAN_CHANCE
        self.caution = flags.FEW_IN_CLASS if rates.sizes[1:].min() < 10 else ""

    def draws(self, rng: np.random.Generator, size: int) -> Floats:
        sizes = self.sizes / self.effect
        return rng.beta(self.shares * sizes + 0.5, (1 - self.shares) * sizes + 0.5, size=(size, 3))

    def needed(self, shares: Floats, m: Floats, precision: float) -> Floats:
        return verdicts_by_class(shares, m / self.effect, precision, self.quantile) * self.effect

    def label_variance(self, shares: Floats) -> Floats:
        rate = np.clip(corrected_share(*shares.T), 0.0, 1.0)
        return rate * (1 - rate) * self.effect

    def predicted(self, sizes: Sizes) -> float:
        (p, q0, q1), (n, m0, m1) = self.shares, (v / self.effect for v in (sizes.n, *sizes.m))
        return self.quantile * float(corrected_interval(p, q0, q1, n, m0, m1, self.quantile).std_error)

    def half_widths(self, shares: Floats, sizes: Sizes, size: int, rng: np.random.Generator) -> Floats:
        n, m0, m1 = (max(round(v / self.effect), 1) for v in (sizes.n, *sizes.m))
        p, q0, q1 = (rng.binomial(k, s, size) / k for k, s in zip((n, m0, m1), shares.T, strict=True))
        interval = corrected_interval(p, q0, q1, n, m0, m1, self.quantile)
        return np.where(np.isfinite(interval.std_error), (interval.high - interval.low) / 2, np.inf)


class _Random(_Pilot):
    """PPI++: what the labelled items say of verdict and label together."""

    kinds, rule = 1, "PPI++"

    def __init__(self, part: Labelled, conf_level: float) -> None:
        labelled = ~np.isnan(part.y)
        self.quantile = normal_quantile(conf_level)
        size = float(part.n[labelled].sum())
        self.refusal = flags.NO_DATA if not part.n.sum() > 0 else flags.NO_LABELS if not size > 0 else ""
        if self.refusal:
            return
        cells = pd.DataFrame({"f": part.f[labelled], "y": part.y[labelled], "n": part.n[labelled]})
        cells = cells.groupby(["f", "y"], as_index=False)["n"].sum()
        self.binary = set(np.unique(part.f)) | set(cells["y"]) <= {0.0, 1.0}
        if self.binary:
            whole = pd.DataFrame({"f": [0.0, 0.0, 1.0, 1.0], "y": [0.0, 1.0, 0.0, 1.0]})
            cells = whole.merge(cells, how="left", on=["f", "y"]).fillna({"n": 0.0})
        self.f, self.y, self.n = (cells[c].to_numpy(float) for c in ("f", "y", "n"))
        self.shares = self.n / self.n.sum()
        classes = [float(self.n[self.y == c].sum()) for c in (0.0, 1.0)]
        if not np.ptp(self.y[self.n > 0]) > 0:
            self.refusal = flags.ONE_CLASS if self.binary else flags.NO_SPREAD
            return
        few = flags.FEW_IN_CLASS if self.binary else flags.FEW_LABELS
        self.caution = few if (min(classes) < 10 if self.binary else size < 30) else ""
        if part.unit is not None:
            fit = prediction_powered(part.f[:, None], part.y, part.n, part.unit)
            flat = prediction_powered(part.f[:, None], part.y, part.n, coefficients=fit.coefficients)
            self.effect = _effect(fit.influence, flat.influence, part)

    def draws(self, rng: np.random.Generator, size: int) -> Floats:
        weights = np.maximum(self.n / self.effect + (0.5 if self.binary else 0.0), 1e-9)
        return rng.dirichlet(weights, size=size)

    def _parts(self, shares: Floats) -> tuple[Floats, Floats]:
        """Variance of the labels that the verdicts explain, and the rest."""
        f, y = (v - (shares @ v)[:, None] for v in (self.f, self.y))
        ff, fy, yy = ((shares * v).sum(axis=1) for v in (f * f, f * y, y * y))
        explained = np.divide(np.maximum(fy, 0.0) ** 2, ff, out=np.zeros_like(ff), where=ff > 0)
        explained = np.minimum(explained, yy)
        return explained * self.effect, (yy - explained) * self.effect

    def needed(self, shares: Floats, m: Floats, precision: float) -> Floats:
        explained, rest = self._parts(shares)
        return verdicts_at_random(explained, rest, m, precision, self.quantile)

    def label_variance(self, shares: Floats) -> Floats:
        explained, rest = self._parts(shares)
        return explained + rest

    def predicted(self, sizes: Sizes) -> float:
        explained, rest = self._parts(self.shares[None])
        return self.quantile * math.sqrt(float(explained[0] / sizes.n + rest[0] / sizes.m[0]))

    def half_widths(self, shares: Floats, sizes: Sizes, size: int, rng: np.random.Generator) -> Floats:
        m, n = (max(round(v / self.effect), 2) for v in (float(sizes.m[0]), sizes.n))
        widths = np.empty(size)
        for i in range(size):
            share = shares[i % len(shares)]
            inside, outside = rng.multinomial(m, share), rng.multinomial(max(n - m, 0), share)
            y = np.concatenate([self.y, np.full(self.f.size, np.nan)])
            if not np.ptp(self.y[inside > 0]) > 0:
                widths[i] = math.inf  # labels that are all alike give no interval
                continue
            counts = np.concatenate([inside, outside]).astype(float)
            fit = prediction_powered(np.concatenate([self.f, self.f])[:, None], y, counts)
            widths[i] = self.quantile * math.sqrt(float(covariance(fit.influence[:, None], counts, None)[0, 0]))
        return widths
