"""How far does a cue move each judge, and does a protocol help it? Counts of outcomes, judges partly pooled."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray

from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, SchemaError, confidence, suggestion
from judgestats.models.bayes.draws import Draws, Sampling, Top, beside, likely, pymc, sample, sampling_options
from judgestats.models.bayes.scales import Prior
from judgestats.models.hierarchical.posteriors import (
    Posterior,
    convergence,
    finding,
    foreseen,
    predictive,
    prior_table,
    row,
    scales,
    tabled,
)
from judgestats.results import (
    AT_ZERO,
    DRAWS_AGREE,
    FEW_JUDGES,
    INVALID_EXCLUDED,
    NO_DATA,
    NOT_INDEPENDENT,
    NOT_SIGNIFICANT,
    PRIOR_DRIVEN,
    SMALL_N,
    flags,
    in_part,
)
from judgestats.schema.columns import required
from judgestats.schema.counting import SHARED_PAIRS, tally
from judgestats.schema.declared_counts import call_counts

# ---- Counts of outcomes by judge, scheme and probe, from calls, their tally or printed tables ------------------------

#: Candidate favoured by the cue: one for all probes, one for each, or a function of the probe.
Favoured = str | Mapping[str, str] | Callable[[str], str]
_NO_SIDE = ("tie", "invalid")
#: Scheme that the others are compared with, where none is named.
BASELINE = "Baseline"


@dataclass(frozen=True)
class Outcomes:
    """Counts of a model of outcomes.

    `judges`, `schemes`, `probes`, `outcomes`: the blind probe first; the reference outcome first.
    `counts` (J, S, P, K).
    `asides`: (judge, scheme, probe) -> flag of what was excluded.
    `dependent`: flag of calls that share a pair.
    """

    judges: tuple[str, ...]
    schemes: tuple[str, ...]
    probes: tuple[str, ...]
    outcomes: tuple[str, ...]
    counts: NDArray[np.float64]
    asides: dict[tuple[int, int, int], str] = field(default_factory=dict)
    dependent: str = ""

    def compared(self, against: str | None = None) -> list[tuple[int, int]]:
        """Each scheme with the one it is compared with, by default :data:`BASELINE`."""
        if against is None and len(self.schemes) < 2:
            return []
        against = BASELINE if against is None else against
        if against not in self.schemes:
            known = [s for s in self.schemes if s]
            told = (
                f"It has: {', '.join(known)}. Name one of them."
                if known
                else "The table names no scheme: leave it out."
            )
            raise DesignError(f"against={against!r} is not in 'scheme'. {told}{suggestion(against, known)}")
        base = self.schemes.index(against)
        return [(s, base) for s in range(len(self.schemes)) if s != base]


def outcomes(counts: Any, blind: str, reference: str | None = None) -> Outcomes:
    """Read counts of outcomes.

    `counts`: as :func:`judgestats.models.hierarchical.cues.susceptibility` takes it.
    """
    table = _printed(counts) if isinstance(counts, Mapping) else counts
    table = table if isinstance(counts, Mapping) else tally(counts, "anchoring", cluster=False)
    shared = bool(table.attrs.get(SHARED_PAIRS, False))
    for name in ("judge", "probe", "outcome"):
        if table[name].isna().any():
            raise SchemaError(
                f"{name!r} has empty cells. Name every {name}; an answer outside the categories is 'invalid'."
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
        raise DesignError(f"There is no probe beside {blind!r}: nothing can have moved.")
    kept = table[table["outcome"] != "invalid"]
    axes = [sorted(set(table["judge"])), sorted(set(table["scheme"])), [blind, *(p for p in probes if p != blind)]]
    kinds = sorted(set(kept["outcome"]))
    if len(kinds) < 2 or not kept["n"].sum() > 0:
        raise DesignError(f"Outcomes are {', '.join(kinds) or 'none'}: a model of outcomes needs two or more.")
    cube = _cube(kept, [*axes, kinds])
    kinds, cube = _referred(kinds, cube, reference)
    invalid = _cube(table[table["outcome"] == "invalid"], [*axes, ["invalid"]])[..., 0]
    asides = {(int(j), int(s), int(p)): in_part(axes[2][p], INVALID_EXCLUDED.of(invalid[j, s, p]))
              for j, s, p in np.argwhere(invalid > 0)}  # fmt: skip
    judges, schemes, ordered = (tuple(a) for a in axes)
    return Outcomes(judges, schemes, ordered, tuple(kinds), cube, asides, NOT_INDEPENDENT if shared else "")


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
                f"The table of probe {probe!r} has the columns {', '.join(frame)}. Besides judge and scheme it holds "
                f"counts, one column for each outcome; {text[0] if text else 'a second column of them'!r} "
                f"{'is text' if text else 'is missing'}."
            )
        parts.append(frame.melt(keys, counted, "outcome", "n").assign(probe=str(probe)))
    if not parts:
        raise SchemaError("The mapping {probe: table} is empty.")
    return pd.concat(parts, ignore_index=True)


def _cube(table: pd.DataFrame, axes: list[list[str]]) -> NDArray[np.float64]:
    cube = np.zeros([len(a) for a in axes])
    names = ("judge", "scheme", "probe", "outcome")
    places = [pd.Index(a).get_indexer(table[c].to_numpy(dtype=object)) for c, a in zip(names, axes, strict=True)]
    np.add.at(cube, tuple(places), table["n"].to_numpy(dtype=float))
    return cube


def _referred(
    kinds: list[str], cube: NDArray[np.float64], reference: str | None
) -> tuple[list[str], NDArray[np.float64]]:
    """Put the reference outcome first."""
    if reference is not None and reference not in kinds:
        raise DesignError(
            f"reference={reference!r} is no outcome. Outcomes: {', '.join(kinds)}.{suggestion(reference, kinds)}"
        )
    total = cube.sum(axis=-1)
    smallest = (cube[total > 0] / total[total > 0][:, None]).min(axis=0)
    first = int(np.argmax(smallest)) if reference is None else kinds.index(reference)
    order = [first, *(k for k in range(len(kinds)) if k != first)]
    return [kinds[k] for k in order], cube[..., order]


def favoured_sides(counts: Any, data: Outcomes, favoured: Favoured | None, label: str | None) -> dict[str, str]:
    """Candidate that the cue favours, by probe.

    `favoured`, `label`: as for :func:`judgestats.anchoring`.
    """
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
                "{probe: candidate}; where the side differs from item to item, name the candidates so that it does not."
            )
        if found[0] not in candidates:
            raise DesignError(
                f"favoured={found[0]!r} of probe {probe!r} is chosen in no call. Chosen are: {', '.join(candidates)}."
                f"{suggestion(found[0], candidates)}"
            )
        sides[probe] = found[0]
    return sides


def _shown(counts: Any, label: str | None) -> dict[str, set[str]]:
    """Sides that a frame itself names, by probe."""
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
            "Which candidate does the cue favour? Give favoured={probe: candidate}, or one candidate for all probes; "
            "or, with label_first and label_second, favoured_label=."
        )
    known = side.notna()
    pairs = zip(table["probe"][known].astype(str), side[known].astype(str), strict=True)
    result: dict[str, set[str]] = {}
    for probe, name in pairs:
        result.setdefault(probe, set()).add(name)
    return result


# ---- Quantities of anchoring from shares of outcomes, and their rows -------------------------------------------------

Floats = NDArray[np.float64]
Terms = dict[str, Floats]
Rows = Iterator[dict[str, Any]]

#: Names in the column ``judge`` of rows that are of no one judge.
MEAN, ANOTHER = "mean of judges", "another judge"
_GAINS = {"lds": "shift_favoured", "ols": "shift_opposed", "ts": "shift_tie"}
_OF_TIES = ("shift_tie", "ts", "tie", "tie_blind")


def roles(shares: Floats, data: Outcomes, side: int) -> Floats:
    """Shares of favoured, opposed and tie, (..., 3)."""
    tie = shares[..., data.outcomes.index("tie")] if "tie" in data.outcomes else np.zeros(shares.shape[:-1])
    own = shares[..., side]
    return np.stack([own, np.clip(1.0 - own - tie, 0.0, 1.0), tie], axis=-1)


def _leaning(roles: Floats) -> Floats:
    """Favoured share among answers that took a side."""
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = roles[..., 0] / (roles[..., 0] + roles[..., 1])
    return result


def movement(blind: Floats, probe: Floats) -> Terms:
    """Terms of anchoring from shares of favoured, opposed and tie.

    `blind`, `probe` (..., 3). Returns (...): ``lao`` is NaN where nothing moves.
    """
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
        "shift_nontie": _leaning(probe) - _leaning(blind),
        "tie": probe[..., 2],
        "tie_blind": blind[..., 2],
    }


def parts(blind: Floats, probe: Floats, one: int, two: int) -> Terms:
    """What a scheme changes in the favoured shift by abstaining, and by choosing otherwise where a side is taken.

    `blind`, `probe` (..., S, 3). `one`, `two`: schemes. Returns (...): they add up to the difference of the shifts of
    the two schemes.
    """
    sided = [(1 - blind[..., s, 2], 1 - probe[..., s, 2]) for s in (one, two)]
    lean = [(_leaning(blind)[..., s], _leaning(probe)[..., s]) for s in (one, two)]

    def shift(t: int, q: int) -> Floats:
        result: Floats = sided[t][1] * lean[q][1] - sided[t][0] * lean[q][0]
        return result

    abstaining = (shift(0, 0) - shift(1, 0) + shift(0, 1) - shift(1, 1)) / 2
    choosing = (shift(0, 0) - shift(0, 1) + shift(1, 0) - shift(1, 1)) / 2
    return {"by_abstaining": abstaining, "by_choosing": choosing}


@dataclass(frozen=True)
class Probed:
    """Shares under one probe and blind, and what is reported about them.

    `shares` (chains, draws, J or J + 1, S, P, K): last of several judges: one more of their kind.
    `draws`: those that the shares come from.
    """

    data: Outcomes
    probe: int
    favoured: str
    shares: Floats
    conf_level: float
    draws: Draws

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
        """Name, places, calls, whether no tie is counted, and flag, of each judge and of all."""
        data = self.data
        cells = np.ix_(range(len(data.judges)), schemes, (0, self.probe))
        n = data.counts.sum(axis=-1)[cells].min(axis=(1, 2))
        tieless = np.zeros(len(n), bool)
        if "tie" in data.outcomes:
            tieless = data.counts[..., data.outcomes.index("tie")][cells].sum(axis=(1, 2)) == 0
        for j, name in enumerate(data.judges):
            aside = [data.asides.get((j, s, p), "") for s in schemes for p in (0, self.probe)]
            small = NO_DATA if n[j] == 0 else SMALL_N if n[j] < 30 else ""
            yield name, [j] if n[j] else [], float(n[j]), bool(tieless[j]), flags(small, data.dependent, *aside)
        if len(data.judges) > 1:
            few = flags(FEW_JUDGES if len(data.judges) < 5 else "", data.dependent)
            known = [int(j) for j in np.flatnonzero(n)]
            yield MEAN, known, float(n.sum()), bool(tieless.all()), few
            yield ANOTHER, [len(data.judges)] if known else [], float(n.sum()), bool(tieless.all()), few

    def _key(self, judge: str, one: int, two: int | None = None) -> dict[str, Any]:
        named = {"judge": judge, "scheme": self.data.schemes[one], "probe": self.data.probes[self.probe]}
        return {**named, "against": "" if two is None else self.data.schemes[two], "favoured": self.favoured}

    def _row(self, term: str, values: Floats, n: float, flag: str, key: dict[str, Any]) -> dict[str, Any]:
        """One row of the mean over the places of the last axis; NaN where there are none."""
        if not values.shape[-1] or np.isnan(values).any():
            return {**key, "term": term, "estimate": math.nan, "n": n, "method": self.draws.method, "flag": flag}
        own = values.mean(axis=-1)
        more: dict[str, Any] = {"n": n, "method": self.draws.method, "flag": flag, "draws": self.draws}
        made = row(term, own, conf_level=self.conf_level, **more, **key)
        if made["conf_low"] < made["conf_high"]:
            return made
        return {**made, "conf_low": math.nan, "conf_high": math.nan, "flag": flags(flag, DRAWS_AGREE)}

    def _moved(self, terms: Terms, s: int) -> Rows:
        for judge, places, n, tieless, flag in self._judges((s,)):
            made = {}
            for term, values in terms.items():
                doubt = flags(flag, PRIOR_DRIVEN if tieless and term in _OF_TIES else "")
                made[term] = self._row(term, values[..., s][..., places], n, doubt, self._key(judge, s))
            if places:
                held = all(not (made[t]["conf_low"] > 0 or made[t]["conf_high"] < 0) for t in _GAINS.values())
                made["lao"]["flag"] = flags(made["lao"]["flag"], NOT_SIGNIFICANT if held else "")
                if judge not in (MEAN, ANOTHER):
                    made |= {gain: clipped(made[gain], made[signed]) for gain, signed in _GAINS.items()}
            yield from made.values()

    def _differences(self, terms: Terms, pieces: Terms, one: int, two: int) -> Rows:
        for judge, places, n, tieless, flag in self._judges((one, two)):
            key = self._key(judge, one, two)
            for term, values in terms.items():
                doubt = flags(flag, PRIOR_DRIVEN if tieless and term in _OF_TIES else "")
                changed = (values[..., one] - values[..., two])[..., places]
                yield self._row(f"{term} difference", changed, n, doubt, key)
            for term, values in pieces.items():
                yield self._row(term, values[..., places], n, flag, key)
            lds = [terms["lds"][..., s][..., places] for s in (one, two)]
            part = [pieces[name][..., places].mean(axis=-1) for name in ("by_abstaining", "by_choosing") if places]
            sure: dict[str, Any] = dict.fromkeys(("probability_helps", "probability_bought"), np.array(math.nan))
            if places:
                sure["probability_helps"] = lds[0].mean(axis=-1) < lds[1].mean(axis=-1)
                sure["probability_bought"] = (part[0] < 0) & (part[0] < part[1])
            if judge == MEAN and places:
                sure["probability_helps_all"] = (lds[0] < lds[1]).all(axis=-1)
            for name, held in sure.items():
                value = float(held.mean())
                yield {**key, "term": name, "estimate": value, "n": n, "method": self.draws.method, "flag": flag}


def clipped(gain: dict[str, Any], signed: dict[str, Any]) -> dict[str, Any]:
    """The row of a gain from that of its signed shift: estimate and interval with what is below 0 put to 0.

    Returns without an interval where that would be [0, 0].
    """
    low, high = (max(0.0, signed[end]) for end in ("conf_low", "conf_high"))
    made = {
        **gain,
        "estimate": max(0.0, signed["estimate"]),
        "conf_low": low,
        "conf_high": high,
        "flag": signed["flag"],
    }
    if high > 0:
        return made
    return {**made, "conf_low": math.nan, "conf_high": math.nan, "flag": flags(made["flag"], AT_ZERO)}


# ---- How far does a cue move each judge, and does a protocol help it? Counts of outcomes, judges partly pooled


#: Name -> scale, and what it is the scale of.
PRIORS: dict[str, float] = {"mean": 3.0, "probe": 2.5, "sd_blind": 1.0, "sd_probe": 2.0}
_MEANING = {
    "mean": ("normal", "log-odds of an outcome against the reference, blind, by scheme"),
    "probe": ("normal", "what a probe adds to them, by scheme"),
    "sd_blind": ("half-normal", "spread of the judges around the first, by scheme and outcome"),
    "sd_probe": ("half-normal", "spread of the judges around the second, by scheme and outcome"),
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
    """Movement of verdicts under a cue, judge by judge, and what a judging scheme changes in it.

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
        Outcome that the others are set against. By default the one whose smallest share is the largest.
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
        (what is positive of them); ``lao``; ``total_variation``; ``shift_nontie``, ``tie``, ``tie_blind``. For each
        scheme against the other (``against`` is not empty) the same named ``... difference``, and

        - ``by_abstaining`` and ``by_choosing``: the two parts of ``shift_favoured difference``. The first is what the
          scheme changes in how often a side is taken, the second in which side is taken;
        - ``probability_helps``: of a smaller ``lds``; for ``mean of judges`` also ``probability_helps_all``;
        - ``probability_bought``: that abstaining reduces the shift, and by more than choosing does.

        Judge ``mean of judges`` is the mean over these judges, ``another judge`` one more of their kind.

    Raises
    ------
    SchemaError, DesignError
        If the table is none of these, nothing names the favoured side, or it differs from item to item.
    FitError
        If PyMC is missing or the sampler fails.

    Notes
    -----
    Outcomes of a judge under a scheme and a probe are multinomial: softmax of log-odds against the reference, blind
    ones and what each probe adds, both with judges drawn around the mean of the scheme. Counts of one item under two
    probes are taken as independent, which makes intervals of paired items too wide, hardly ever too narrow.

    A gain is that of the posterior mean of its signed shift, with the clipped interval: the mean of a clipped quantity
    is above 0 where nothing moves. ``lao`` is the mean of a ratio; it is flagged where all three intervals hold 0. A
    share of ties with none counted, blind and under the probe, is ``prior-driven``: the counts say only that it is
    small. The parts by abstaining and by choosing are averages over the order in which the two are changed (Shapley);
    they add up to the difference.

    Source: rationalization paper, Sections IV.C and V.D to V.F, which has no intervals.

    Examples
    --------
    >>> susceptibility({"blind": blind, "truth": truth}, favoured="llm").tidy()  # doctest: +SKIP
    """
    confidence(conf_level)
    data = outcomes(counts, baseline, reference)
    sides = favoured_sides(counts, data, favoured, favoured_label)
    wanted = scales(PRIORS, priors)
    compared = data.compared(against)
    names = _labels(data)
    options = sampling_options(sampling)
    found = sample(model(data, wanted), names, **options)
    laws = {k: Prior(scale, None, k.startswith("sd_")) for k, scale in wanted.items()}
    found = replace(found, tops=tuple(Top(k, v, laws[k]) for k, v in found.values.items() if k in laws))
    rng = np.random.default_rng(options["seed"])
    shares = _with_another(found, data, rng)
    rows = [
        r
        for p, probe in enumerate(data.probes[1:], 1)
        for r in Probed(data, p, sides[probe], shares, conf_level, found).rows(compared)
    ]
    seen = data.counts.sum(axis=-1) > 0
    again = _replicated(found.flat("shares"), data, seen, rng)
    stated = prior_table({name: (f"{_MEANING[name][0]}(0, {v:g})", _MEANING[name][1]) for name, v in wanted.items()})
    checks = [
        *convergence(found, stated),
        *foreseen(found),
        *predictive("counts", data.counts[seen].ravel(), again),
        *_doubts(data),
    ]
    table = tabled(rows, ["judge", "scheme", "against", "probe"], ("favoured",))
    before = np.stack([prior_draw(data, wanted, rng)[1][seen].ravel() for _ in range(len(again))])
    n = data.counts.sum(axis=-1)[seen].repeat(len(data.outcomes))
    predicted = beside(_cells(data, seen), data.counts[seen].ravel(), again, before, n, draws=found.method)
    return Posterior("How far does the cue move each judge?", table, stated, pd.DataFrame(checks), found, predicted)


# ---------------------------------------------------------------- model


def model(data: Outcomes, priors: Mapping[str, float] | None = None) -> Any:
    """Build the model; the counts are its data ``counts``, (J, S, P, K).

    Returns with ``mean`` (S, K-1), ``probe`` (S, P-1, K-1), the spreads ``sd_blind``, ``sd_probe`` (S, K-1) where there
    are two judges or more, and ``shares`` (J, S, P, K).
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


def prior_draw(
    data: Outcomes, priors: Mapping[str, float] | None, rng: np.random.Generator
) -> tuple[Terms, NDArray[np.int64]]:
    """Parameters from the prior, and counts from them: the model again, without PyMC.

    `data`: its totals are kept. Returns `parameters`: ``mean``, ``probe``, ``shares``; ``sd_blind``, ``sd_probe`` where
    there are two judges or more. `counts` (J, S, P, K).
    """
    scale = scales(PRIORS, priors)
    J, S, P, K = data.counts.shape
    drawn: Terms = {
        "mean": rng.normal(0, scale["mean"], (S, K - 1)),
        "probe": rng.normal(0, scale["probe"], (S, P - 1, K - 1)),
    }
    shares = np.empty((J, S, P, K))
    if J > 1:
        drawn |= {name: np.abs(rng.normal(0, scale[name], (S, K - 1))) for name in ("sd_blind", "sd_probe")}
    for j in range(J):
        for s in range(S):
            blind = drawn["mean"][s] + (rng.normal(0, drawn["sd_blind"][s]) if J > 1 else 0.0)
            for p in range(P):
                odds = np.zeros(K)
                odds[1:] = blind
                if p:
                    own = rng.normal(0, drawn["sd_probe"][s]) if J > 1 else 0.0
                    odds[1:] += drawn["probe"][s, p - 1] + own
                shares[j, s, p] = np.exp(odds - odds.max()) / np.exp(odds - odds.max()).sum()
    drawn["shares"] = shares
    return drawn, rng.multinomial(np.rint(data.counts.sum(axis=-1)).astype(np.int64), shares)


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


def _with_another(found: Any, data: Outcomes, rng: np.random.Generator) -> Floats:
    """Shares (chains, draws, J + 1, S, P, K), the last judge one more of their kind; none is added to one judge."""
    shares: Floats = found.values["shares"]
    if len(data.judges) == 1:
        return shares
    v = found.values
    blind = v["mean"] + v["sd_blind"] * rng.standard_normal(v["mean"].shape)
    added = v["probe"] + v["sd_probe"][..., None, :] * rng.standard_normal(v["probe"].shape)
    blind = blind[..., None, :]
    odds = np.concatenate([blind, blind + added], axis=-2)
    odds = np.concatenate([np.zeros((*odds.shape[:-1], 1)), odds], axis=-1)
    power = np.exp(odds - odds.max(axis=-1, keepdims=True))
    return np.concatenate([shares, (power / power.sum(axis=-1, keepdims=True))[:, :, None]], axis=2)


def _replicated(shares: Floats, data: Outcomes, seen: NDArray[np.bool_], rng: np.random.Generator) -> Floats:
    """Counts drawn anew from 400 of the draws, (400, cells times K)."""
    n = np.rint(data.counts.sum(axis=-1)[seen]).astype(np.int64)
    kept = shares[np.linspace(0, len(shares) - 1, 400).astype(int)][:, seen]
    kept = kept / kept.sum(axis=-1, keepdims=True)
    return rng.multinomial(n[None], kept).reshape(400, -1).astype(float)


def _cells(data: Outcomes, seen: NDArray[np.bool_]) -> pd.DataFrame:
    """Labels of each count."""
    rows = [
        (data.judges[j], data.schemes[s], data.probes[p], outcome)
        for j, s, p in np.argwhere(seen)
        for outcome in data.outcomes
    ]
    return pd.DataFrame(rows, columns=["judge", "scheme", "probe", "outcome"])


def _doubts(data: Outcomes) -> list[dict[str, Any]]:
    """Rows of ``checks`` on the data."""
    empty = float((data.counts.sum(axis=(0, 2)) == 0).sum())
    rare = "Their share is near 0; how near, and its log-odds, the prior says: vary mean and probe in priors=."
    few = FEW_JUDGES if len(data.judges) < 5 else ""
    return [
        finding("outcomes that never occur under a scheme", empty, PRIOR_DRIVEN if empty else "", rare),
        finding("judges", float(len(data.judges)), few),
    ]
