"""Effect of a cue on each judge's verdicts and of schemes against it, partially pooled: :func:`susceptibility`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.counting.tallies import count
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, SchemaError, confidence, suggestion
from judgestats.models.bayes.draws import Draws, Sampling, beside, likely, pymc, sample, sampling_options
from judgestats.models.hierarchical.posteriors import (
    Posterior,
    finding,
    predictive,
    result,
    row,
    scales,
    tabled,
    with_tops,
)
from judgestats.schema.columns import required
from judgestats.schema.declared_counts import call_counts
from judgestats.typing import Floats, Ints, Mask

# ---- Counts of outcomes by judge, scheme and probe, from calls, their tally or printed tables ------------------------

#: Candidate favoured by the cue: one for all probes, one for each, or a function of the probe.
Favoured = str | Mapping[str, str] | Callable[[str], str]
_NO_SIDE = ("tie", "invalid")
#: Scheme that the others are compared with by default.
BASELINE = "Baseline"


@dataclass(frozen=True)
class Outcomes:
    """Counts of a model of outcomes."""

    # judges, schemes, probes, outcomes: labels; the blind probe and the reference outcome come first
    judges: tuple[str, ...]
    schemes: tuple[str, ...]
    probes: tuple[str, ...]
    outcomes: tuple[str, ...]
    counts: Floats  # (J, S, P, K)
    # (judge, scheme, probe) -> flag of excluded calls
    excluded: dict[tuple[int, int, int], str] = field(default_factory=dict)
    dependent: str = ""  # flag of calls that share a pair

    def compared(self, against: str | None = None) -> list[tuple[int, int]]:
        """Each scheme with the one it is compared with, by default :data:`BASELINE`."""
        if against is None and len(self.schemes) < 2:
            return []
        against = BASELINE if against is None else against
        if against not in self.schemes:
            known = [s for s in self.schemes if s]
            advice = f"It has: {', '.join(known)}." if known else "The table has no scheme: leave against= out."
            raise DesignError(f"against={against!r} is not in 'scheme'. {advice}{suggestion(against, known)}")
        base = self.schemes.index(against)
        return [(s, base) for s in range(len(self.schemes)) if s != base]


def outcomes(counts: Any, blind: str, reference: str | None = None) -> Outcomes:
    """Read counts of outcomes; `counts` as in :func:`susceptibility`."""
    if isinstance(counts, Mapping):
        table, dependent = _printed(counts), ""
    else:
        counted = count(counts, "anchoring", cluster=False)
        table, dependent = counted.table, counted.clusters.flag
    for name in ("judge", "probe", "outcome"):
        if table[name].isna().any():
            raise SchemaError(
                f"{name!r} has empty cells. Fill in every {name}; an answer outside the categories is 'invalid'."
            )
    scheme = table["scheme"].astype(object) if "scheme" in table else pd.Series("", index=table.index, dtype=object)
    table = table.assign(scheme=scheme.where(scheme.notna(), ""), n=call_counts(table["n"]))
    for name in ("judge", "scheme", "probe", "outcome"):
        table[name] = table[name].astype(str)
    probes = sorted(set(table["probe"]))
    if blind not in probes:
        raise DesignError(
            f"baseline={blind!r} is not in 'probe'. It has: {', '.join(probes)}.{suggestion(blind, probes)}"
        )
    if len(probes) < 2:
        raise DesignError(f"'probe' has only the baseline {blind!r}. Add the calls under a cue.")
    kept = table[table["outcome"] != "invalid"]
    axes = [sorted(set(table["judge"])), sorted(set(table["scheme"])), [blind, *(p for p in probes if p != blind)]]
    kinds = sorted(set(kept["outcome"]))
    if len(kinds) < 2 or not kept["n"].sum() > 0:
        raise DesignError(f"Outcomes are {', '.join(kinds) or 'none'}: a model of outcomes needs two or more.")
    cube = _cube(kept, [*axes, kinds])
    if reference is not None and reference not in kinds:
        raise DesignError(
            f"reference={reference!r} is not an outcome. Outcomes: {', '.join(kinds)}.{suggestion(reference, kinds)}"
        )
    total = cube.sum(axis=-1)
    smallest = (cube[total > 0] / total[total > 0][:, None]).min(axis=0)
    first = int(np.argmax(smallest)) if reference is None else kinds.index(reference)
    order = [first, *(k for k in range(len(kinds)) if k != first)]
    kinds, cube = [kinds[k] for k in order], cube[..., order]
    invalid = _cube(table[table["outcome"] == "invalid"], [*axes, ["invalid"]])[..., 0]
    excluded = {(int(j), int(s), int(p)): flags.in_part(axes[2][p], flags.INVALID_EXCLUDED.of(invalid[j, s, p]))
              for j, s, p in np.argwhere(invalid > 0)}  # fmt: skip
    judges, schemes, ordered = (tuple(a) for a in axes)
    return Outcomes(judges, schemes, ordered, tuple(kinds), cube, excluded, dependent)


def _printed(tables: Mapping[Any, Any]) -> pd.DataFrame:
    """Printed tables, one for each probe, as a tally."""
    parts = []
    for probe, table in tables.items():
        frame = nw.from_native(table).lazy().collect(backend="pandas").to_native()
        if "judge" not in frame:
            raise SchemaError(f"The table of probe {probe!r} has no column 'judge'. Columns: {', '.join(frame)}.")
        keys = [c for c in ("judge", "scheme") if c in frame]
        counted = [c for c in frame.columns if c not in keys]
        text = [c for c in counted if not pd.api.types.is_numeric_dtype(frame[c])]
        if text or len(counted) < 2:
            raise SchemaError(
                f"The table of probe {probe!r} has the columns {', '.join(frame)}. Besides judge and scheme it needs "
                f"counts, one column for each of two or more outcomes; {repr(text[0]) if text else 'a second column'} "
                f"{'is text' if text else 'is missing'}."
            )
        parts.append(frame.melt(keys, counted, "outcome", "n").assign(probe=str(probe)))
    if not parts:
        raise SchemaError("The mapping {probe: table} is empty.")
    return pd.concat(parts, ignore_index=True)


def _cube(table: pd.DataFrame, axes: list[list[str]]) -> Floats:
    cube = np.zeros([len(a) for a in axes])
    names = ("judge", "scheme", "probe", "outcome")
    places = [pd.Index(a).get_indexer(table[c].to_numpy(dtype=object)) for c, a in zip(names, axes, strict=True)]
    np.add.at(cube, tuple(places), table["n"].to_numpy(dtype=float))
    return cube


def favoured_sides(counts: Any, data: Outcomes, favoured: Favoured | None, label: str | None) -> dict[str, str]:
    """Candidate that the cue favours, by probe; `favoured` and `label` as in :func:`judgestats.anchoring`."""
    labelled = data.probes[1:]
    named: dict[str, set[str]]
    if favoured is None:
        named = _shown(counts, label)
    elif callable(favoured):
        named = {p: {str(favoured(p))} for p in labelled}
    elif isinstance(favoured, Mapping):
        named = {str(p): {str(c)} for p, c in favoured.items()}
    else:
        named = {p: {str(favoured)} for p in labelled}
    candidates = [o for o in data.outcomes if o not in _NO_SIDE]
    sides = {}
    for probe in labelled:
        found = sorted(named.get(probe, set()))
        if len(found) != 1:
            raise DesignError(
                f"Probe {probe!r} needs one favoured candidate, and has {', '.join(found) or 'none'}. Give favoured= "
                "{probe: candidate}; if it differs between items, relabel the candidates so that it does not."
            )
        if found[0] not in candidates:
            raise DesignError(
                f"favoured={found[0]!r} of probe {probe!r} is never chosen. Candidates chosen: {', '.join(candidates)}."
                f"{suggestion(found[0], candidates)}"
            )
        sides[probe] = found[0]
    return sides


def _shown(counts: Any, label: str | None) -> dict[str, set[str]]:
    """Favoured candidates named by the columns of a frame, by probe."""
    present = [] if isinstance(counts, Mapping) else list(nw.from_native(counts).collect_schema().names())
    if "favoured" in present:
        table = nw.from_native(counts).lazy().select("probe", "favoured").collect(backend="pandas").to_native()
        side = table["favoured"].astype(object).where(table["favoured"].notna() & (table["favoured"] != ""), None)
    elif {*required("preferences"), "label_first", "label_second"} <= set(present) and label is not None:
        columns = ("probe", "first", "second", "label_first", "label_second")
        table = nw.from_native(counts).lazy().select(*columns).collect(backend="pandas").to_native()
        one, two = (table[f"label_{slot}"].astype(object).astype(str) == label for slot in ("first", "second"))
        side = table["first"].astype(object).where(one & ~two, table["second"].astype(object).where(two & ~one, None))
    else:
        raise DesignError(
            "The candidate that the cue favours is not known. Give favoured={probe: candidate}, or one candidate for "
            "all probes; or, with columns label_first and label_second, favoured_label=."
        )
    known = side.notna()
    pairs = zip(table["probe"][known].astype(str), side[known].astype(str), strict=True)
    result: dict[str, set[str]] = {}
    for probe, name in pairs:
        result.setdefault(probe, set()).add(name)
    return result


# ---- Anchoring effects from shares of outcomes, and their rows -------------------------------------------------------

Terms = dict[str, Floats]
Rows = Iterator[dict[str, Any]]

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

    def _judges(self, schemes: tuple[int, ...]) -> Iterator[tuple[str, list[int], float, bool, str]]:
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
            known = [int(j) for j in np.flatnonzero(n)]
            yield MEAN, known, float(n.sum()), bool(tieless.all()), few
            yield ANOTHER, [len(data.judges)] if known else [], float(n.sum()), bool(tieless.all()), few

    def _key(self, judge: str, one: int, two: int | None = None) -> dict[str, Any]:
        named = {"judge": judge, "scheme": self.data.schemes[one], "probe": self.data.probes[self.probe]}
        return {**named, "against": "" if two is None else self.data.schemes[two], "favoured": self.favoured}

    def _row(self, term: str, values: Floats, n: float, flag: str, key: dict[str, Any]) -> dict[str, Any]:
        """Row of the mean over the last axis; NaN if that is empty."""
        if not values.shape[-1] or np.isnan(values).any():
            return {**key, "term": term, "estimate": math.nan, "n": n, "method": self.draws.method, "flag": flag}
        made = row(term, values.mean(axis=-1), self.draws, conf_level=self.conf_level, n=n, flag=flag, **key)
        if made["conf_low"] < made["conf_high"]:
            return made
        return {**made, "conf_low": math.nan, "conf_high": math.nan, "flag": flags.join(flag, flags.DRAWS_AGREE)}

    def _moved(self, terms: Terms, s: int) -> Rows:
        for judge, places, n, tieless, flag in self._judges((s,)):
            made = {}
            for term, values in terms.items():
                whole = flags.join(flag, flags.PRIOR_DRIVEN if tieless and term in _OF_TIES else "")
                made[term] = self._row(term, values[..., s][..., places], n, whole, self._key(judge, s))
            if places:
                include_0 = all(not (made[t]["conf_low"] > 0 or made[t]["conf_high"] < 0) for t in _GAINS.values())
                made["lao"]["flag"] = flags.join(made["lao"]["flag"], flags.NOT_SIGNIFICANT if include_0 else "")
                if judge not in (MEAN, ANOTHER):
                    made |= {gain: clipped(made[gain], made[signed]) for gain, signed in _GAINS.items()}
            yield from made.values()

    def _differences(self, terms: Terms, pieces: Terms, one: int, two: int) -> Rows:
        for judge, places, n, tieless, flag in self._judges((one, two)):
            key = self._key(judge, one, two)
            for term, values in terms.items():
                whole = flags.join(flag, flags.PRIOR_DRIVEN if tieless and term in _OF_TIES else "")
                changed = (values[..., one] - values[..., two])[..., places]
                yield self._row(f"{term} difference", changed, n, whole, key)
            for term, values in pieces.items():
                yield self._row(term, values[..., places], n, flag, key)
            lds = [terms["lds"][..., s][..., places] for s in (one, two)]
            part = [pieces[name][..., places].mean(axis=-1) for name in ("by_abstaining", "by_choosing") if places]
            events: dict[str, Any] = dict.fromkeys(("probability_helps", "probability_bought"), np.array(math.nan))
            if places:
                events["probability_helps"] = lds[0].mean(axis=-1) < lds[1].mean(axis=-1)
                events["probability_bought"] = (part[0] < 0) & (part[0] < part[1])
            if judge == MEAN and places:
                events["probability_helps_all"] = (lds[0] < lds[1]).all(axis=-1)
            for name, event in events.items():
                value = float(event.mean())
                yield {**key, "term": name, "estimate": value, "n": n, "method": self.draws.method, "flag": flag}


def clipped(gain: dict[str, Any], signed: dict[str, Any]) -> dict[str, Any]:
    """The row of a gain from the row of its signed shift, clipped at 0; without an interval if that would be [0, 0]."""
    made = {**gain, **{k: max(0.0, signed[k]) for k in ("estimate", "conf_low", "conf_high")}, "flag": signed["flag"]}
    if made["conf_high"] > 0:
        return made
    return {**made, "conf_low": math.nan, "conf_high": math.nan, "flag": flags.join(made["flag"], flags.AT_ZERO)}


# ---- The function ----------------------------------------------------------------------------------------------------

#: Name -> scale of the prior.
PRIORS: dict[str, float] = {"mean": 3.0, "probe": 2.5, "sd_blind": 1.0, "sd_probe": 2.0}
_MEANING = {
    "mean": ("normal", "log-odds of an outcome relative to the reference, blind, by scheme"),
    "probe": ("normal", "change of these log-odds under a probe, by scheme"),
    "sd_blind": ("half-normal", "sd over judges of the blind log-odds, by scheme and outcome"),
    "sd_probe": ("half-normal", "sd over judges of the change under a probe, by scheme and outcome"),
}


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
    confidence(conf_level)
    data = outcomes(counts, baseline, reference)
    sides = favoured_sides(counts, data, favoured, favoured_label)
    chosen = scales(PRIORS, priors)
    compared = data.compared(against)
    options = sampling_options(sampling)
    found = with_tops(sample(model(data, chosen), _labels(data), **options), chosen)
    rng = np.random.default_rng(options["seed"])
    shares = _with_new_judge(found, data, rng)
    rows = [
        r
        for p, probe in enumerate(data.probes[1:], 1)
        for r in Probed(data, p, sides[probe], shares, conf_level, found).rows(compared)
    ]
    seen = data.counts.sum(axis=-1) > 0
    again = _replicated(found.flat("shares"), data, seen, rng)
    laws = {name: (f"{_MEANING[name][0]}(0, {v:g})", _MEANING[name][1]) for name, v in chosen.items()}
    checks = [*predictive("counts", data.counts[seen].ravel(), again), *_data_checks(data)]
    table = tabled(rows, ["judge", "scheme", "against", "probe"], ("favoured",))
    before = np.stack([prior_draw(data, chosen, rng)[1][seen].ravel() for _ in range(len(again))])
    n = data.counts.sum(axis=-1)[seen].repeat(len(data.outcomes))
    predicted = beside(_cells(data, seen), data.counts[seen].ravel(), again, before, n, draws=found.method)
    return result("How far does the cue move each judge?", table, found, laws, checks, predicted)


# ---- The model -------------------------------------------------------------------------------------------------------


def model(data: Outcomes, priors: Mapping[str, float] | None = None) -> Any:
    """The PyMC model, with data ``counts`` (J, S, P, K).

    Variables: ``mean`` (S, K-1), ``probe`` (S, P-1, K-1), ``shares`` (J, S, P, K), and with two or more judges the sds
    ``sd_blind`` and ``sd_probe`` (S, K-1).
    """
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
    drawn: Terms = {
        "mean": rng.normal(0, scale["mean"], (S, K - 1)),
        "probe": rng.normal(0, scale["probe"], (S, P - 1, K - 1)),
    }
    blind, added = drawn["mean"], drawn["probe"]
    if J > 1:
        drawn |= {name: np.abs(rng.normal(0, scale[name], (S, K - 1))) for name in ("sd_blind", "sd_probe")}
        noise = rng.standard_normal((J, S, P, K - 1))
        blind = blind + drawn["sd_blind"] * noise[:, :, 0]
        added = added + drawn["sd_probe"][:, None] * noise[:, :, 1:]
    drawn["shares"] = np.broadcast_to(_shares(blind, added), (J, S, P, K))
    return drawn, rng.multinomial(np.rint(data.counts.sum(axis=-1)).astype(np.int64), drawn["shares"])


def _shares(blind: Floats, added: Floats) -> Floats:
    """Shares (..., P, K) from the log-odds blind (..., K - 1), and what each probe adds (..., P - 1, K - 1)."""
    blind = blind[..., None, :]
    odds = np.concatenate([blind, blind + added], axis=-2)
    odds = np.concatenate([np.zeros((*odds.shape[:-1], 1)), odds], axis=-1)
    power = np.exp(odds - odds.max(axis=-1, keepdims=True))
    shares: Floats = power / power.sum(axis=-1, keepdims=True)
    return shares


def _labels(data: Outcomes) -> dict[str, tuple[tuple[str, ...], ...]]:
    free, labelled = data.outcomes[1:], data.probes[1:]
    names: dict[str, tuple[tuple[str, ...], ...]] = {
        "mean": (data.schemes, free),
        "probe": (data.schemes, labelled, free),
        "shares": (data.judges, data.schemes, data.probes, data.outcomes),
    }
    if len(data.judges) > 1:
        names |= {"sd_blind": (data.schemes, free), "sd_probe": (data.schemes, free)}
    return names


def _with_new_judge(found: Any, data: Outcomes, rng: np.random.Generator) -> Floats:
    """Shares (chains, draws, J + 1, S, P, K), the last of a new judge; unchanged if there is only one judge."""
    shares: Floats = found.values["shares"]
    if len(data.judges) == 1:
        return shares
    v = found.values
    blind = v["mean"] + v["sd_blind"] * rng.standard_normal(v["mean"].shape)
    added = v["probe"] + v["sd_probe"][..., None, :] * rng.standard_normal(v["probe"].shape)
    return np.concatenate([shares, _shares(blind, added)[:, :, None]], axis=2)


def _replicated(shares: Floats, data: Outcomes, seen: Mask, rng: np.random.Generator) -> Floats:
    """Replicated counts from 400 of the draws, (400, cells times K)."""
    n = np.rint(data.counts.sum(axis=-1)[seen]).astype(np.int64)
    kept = shares[np.linspace(0, len(shares) - 1, 400).astype(int)][:, seen]
    kept = kept / kept.sum(axis=-1, keepdims=True)
    return rng.multinomial(n[None], kept).reshape(400, -1).astype(float)


def _cells(data: Outcomes, seen: Mask) -> pd.DataFrame:
    """Labels of each count."""
    rows = [
        (data.judges[j], data.schemes[s], data.probes[p], outcome)
        for j, s, p in np.argwhere(seen)
        for outcome in data.outcomes
    ]
    return pd.DataFrame(rows, columns=["judge", "scheme", "probe", "outcome"])


def _data_checks(data: Outcomes) -> list[dict[str, Any]]:
    """Rows of ``checks`` on the data."""
    empty = float((data.counts.sum(axis=(0, 2)) == 0).sum())
    rare = "Their shares are near 0; how near depends on the prior. Vary mean and probe in priors=."
    few = flags.FEW_JUDGES if len(data.judges) < 5 else ""
    return [
        finding("outcomes that never occur under a scheme", empty, flags.PRIOR_DRIVEN if empty else "", rare),
        finding("judges", float(len(data.judges)), few),
    ]
