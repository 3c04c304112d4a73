"""Preferences of judges for a target, compared with those of people: :func:`preference_gap`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags, methods
from judgestats.counting.clustering import CANDIDATES, Cluster, auto_cluster, cluster_codes, clusters
from judgestats.counting.counts import Counts, size_flag
from judgestats.counting.patterns import Invalid, Ties
from judgestats.counting.study import Calls, Study
from judgestats.counting.tallies import count
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, SchemaError, refuse_unknown, suggestion
from judgestats.estimate import POINTS, Estimate, clustered_share, share, student_ends
from judgestats.kernels.cluster_robust import cluster_robust, linearised_error
from judgestats.kernels.cluster_sums import effective_clusters, sums_within
from judgestats.metrics.bias.targets import of_attributes, target_known, targeted
from judgestats.metrics.measure_registry import Measure, MeasureOptions, Term
from judgestats.metrics.paired import independent_difference
from judgestats.metrics.references import column_and_value, labels
from judgestats.metrics.requirements import people_named, with_people
from judgestats.results import estimates
from judgestats.schema.coding import candidates, codes_of, compact, each_group, joint
from judgestats.schema.columns import By, N, grouping, names
from judgestats.schema.declared_counts import call_counts, counted
from judgestats.schema.factors import Factors, factor_of
from judgestats.typing import Floats, Integers, Mask, Record
from judgestats.wording import Method

#: Annotators with fewer calls are not screened: a few equal answers may be chance.
LEAST = 10


def constant(table: pd.DataFrame) -> pd.Series[bool]:
    """Calls of people whose answer by slot (``_choice``) and whose confidence (``_sure``) never vary."""
    answers = table[table["_person"] & (table["outcome"] != "invalid")]
    columns, n = Factors(answers), answers["n"].to_numpy(dtype=float)
    judge = columns.codes(["judge"])
    choices, sure, slots = (
        np.bincount(judge.code[columns.codes(["judge", c]).first], minlength=judge.size)
        for c in ("_choice", "_sure", "_slot")
    )
    same = (choices == 1) & (sure == 1) & (slots == 2) & (np.bincount(judge.code, n, judge.size) >= LEAST)
    return table["_person"] & table["judge"].isin(answers["judge"].iloc[judge.first[same]])


def _gap_to_people(data: Calls, options: MeasureOptions) -> pd.DataFrame:
    everybody, people = with_people(data, options)
    if "target" in everybody.columns:
        return options.call(preference_gap, everybody, humans=people)
    return of_attributes(everybody, lambda a: options.call(preference_gap, everybody, humans=people, attribute=a))


@Measure(
    "Does the judge prefer the target (its own family, the longer answer) more often than people do on the same pairs?",
    "people",
    "P, counts",
    "t, clustered (and by annotator); counts: Newcombe; rates: Wilson, clustered",
    "debiasing, App G",
    plot="preference_gaps",
    frames=("preferences",),
    needs=(people_named, target_known),
    take=_gap_to_people,
    table=("rate", "gap"),
    terms=(Term("gap", form="points", neutral=0.0),),
    have=("people", "attributes"),
    assumes="People and the judge saw the same pairs; items are independent of each other.",
)
def preference_gap(
    calls: IntoFrame,
    *,
    humans: str | Sequence[str] | Mapping[str, str],
    target: str | None = None,
    attribute: str | None = None,
    value: str | None = None,
    annotators: Literal["random", "fixed"] = "random",
    screen: bool = True,
    confidence: str | None = None,
    ties: Ties = "exact",
    invalid: Invalid = "drop",
    by: By = (),
    cluster: Cluster = "auto",
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Preference for the target of each judge minus that of people on the same pairs (debiasing paper, Appendix G).

    Parameters
    ----------
    calls : frame
        Preferences of judges and of people (annotators are named in ``judge`` too), with a target as for
        :func:`bias_score`. Or a tally: ``judge, outcome, n``.
    humans : str, sequence of str, or mapping
        The annotators; or ``{column: value}`` (or ``"column=value"``), which identifies them:
        ``"rater_type=human"``.
    target, attribute, value
        The target, as for :func:`bias_score`.
    annotators : {'random', 'fixed'}
        Population of the interval of a gap. ``random``: people in general, of whom these are a sample; clustered by
        pair (or `cluster`) and by annotator. ``fixed``: these annotators; clustered by pair (or `cluster`).
    screen : bool
        Exclude annotators whose answer by slot and whose confidence never vary (at least 10 calls, the target in both
        slots). The flag of ``people`` and of every gap counts them.
    confidence : str, optional
        Column of the annotators' confidence; by default ``strength`` or ``confidence``.
    ties : {'exact', 'drop', 'half'}
        How a tie counts: as no choice of the target (the paper), excluded, or as half a choice.
    invalid : {'drop', 'wrong', 'tie'}
        How an invalid call counts: excluded, as no choice of the target, or as a tie.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str or False
        Column that pairs share, by which intervals are clustered. ``"auto"`` detects it (``item``, say) and names it in
        ``method``. False treats all pairs as independent, with a flag where they are not.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        With a column ``role``: ``person``, an annotator's ``rate``; ``people`` (``judge`` missing), the pooled
        ``rate``; ``judge``, its ``rate`` and ``gap`` on the pairs that people judged too. ``n`` of a gap is the judge's
        calls. For the agreement of people with each other see :func:`judge_against_people`.

    Raises
    ------
    DesignError
        If all calls are of people, or all of judges.

    See Also
    --------
    bias_score : Signed bias towards a target.
    judgestats.models.self_preference : Own responses, given their quality.

    Notes
    -----
    The variance of a gap is clustered by pair, or by `cluster`, so that effects of a pair on judge and people cancel
    (CR2, with Satterthwaite's degrees of freedom). With random annotators the variance between annotators is added and
    that of the intersections subtracted (Cameron, Gelbach and Miller), and t has the degrees of freedom of the smaller
    factor: two annotators say little about people in general. Rates have Wilson's interval, clustered where calls share
    a pair or `cluster`; the pooled rate is that of these annotators. From counts, the two samples of a gap are treated
    as independent (Newcombe), unless they name their clusters.

    References
    ----------
    Cameron, A. C., Gelbach, J. B., Miller, D. L. (2011). Journal of Business and Economic Statistics 29, 238-249.

    Examples
    --------
    >>> counts = pd.DataFrame({"judge": ["Ann", "Ann", "Bob", "Bob", "g", "g"], "outcome": ["target", "other"] * 3,
    ...                        "n": [19, 11, 15, 15, 29, 1]})
    >>> preference_gap(counts, humans=["Ann", "Bob"])[["role", "judge", "term", "estimate", "conf_low"]].round(3)
         role judge  term  estimate  conf_low
    0   judge     g  rate     0.967     0.833
    1   judge     g   gap     0.400     0.222
    2  people   NaN  rate     0.567     0.441
    3  person   Ann  rate     0.633     0.455
    4  person   Bob  rate     0.500     0.332
    """
    study = Study.of(calls)
    if isinstance(humans, str):
        humans = column_and_value(humans, labels(study, "judge"))
    if isinstance(humans, Mapping) and len(humans) != 1:
        raise DesignError(f"humans= names {len(humans)} columns. Give one: {{'rater_type': 'human'}}.")
    marker = list(humans) if isinstance(humans, Mapping) else []
    present = study.names
    for argument, columns in (("humans", marker), ("confidence", names(confidence or ()))):
        for name in columns:
            refuse_unknown(
                name, present, f"{argument}= names {name!r}, which is not a column", "Columns", error=SchemaError
            )
    targets = targeted(study, target=target, attribute=attribute, value=value, by=[*names(by), *marker])
    table, groups, shared = _outcome_table(targets.calls, by, marker, confidence, cluster)
    table = table.assign(_person=_persons(table, humans, labels(study, "judge")))
    hit, trial = Counts.of(table).hits_and_trials("target", ties, invalid)
    table = table.assign(_hit=hit, _trial=trial * table["n"].to_numpy(dtype=float))
    same = constant(table) if screen and "_choice" in table else pd.Series(False, index=table.index)
    unscreened, screened = table[~same], table[same]
    rows: list[Record] = []
    for key, group_calls in each_group(unscreened, groups):
        mask = pd.Series(True, index=screened.index)
        for name, v in key.items():
            mask &= screened[name].isna() if pd.isna(v) else screened[name] == v
        flag = flags.EXCLUDED.of(screened.loc[mask, "judge"].nunique(), what="constant annotator(s)")
        who = factor_of(group_calls["judge"])
        rows += _GapGroup(
            key, _Calls.of(group_calls, who.code), who.labels, annotators, conf_level, flag, shared
        ).rows()
    judge_rows = [r for r in rows if r["judge"] is not None]
    targets.excluded.flagged(judge_rows, [c for c in targets.excluded.table.columns if all(c in r for r in judge_rows)])
    result = estimates(rows, [*groups, "role", "judge"])
    return result.assign(judge=result["judge"].astype(object).where(result["judge"].notna(), np.nan))


@dataclass(frozen=True)
class _Shared:
    """Clusters of calls: their `column` (empty for none), and a `flag` where dependence is ignored."""

    column: str
    flag: str
    ignored: bool  # calls of a pair are taken as independent


def _outcome_table(
    calls: Study, by: By, marker: list[str], confidence: str | None, cluster: Cluster
) -> tuple[pd.DataFrame, list[str], _Shared]:
    """Calls with their outcome and cluster, or a tally; the grouping columns; and the clusters of calls."""
    data, present = calls.data, calls.names
    groups = [*grouping(by, present), *(["bias"] if "bias" in present else [])]
    groups = [g for g in dict.fromkeys(groups) if g != "judge"]
    chosen = clusters(cluster)
    if chosen and (len(chosen) > 1 or chosen[0] == "judge"):
        raise DesignError(f"cluster={cluster!r} must be one column that calls of judges and people share (item, say).")
    if "choice" not in present:
        counts = count(calls, "bias_score", [*names(by), *marker], cluster=cluster)
        column = counts.clusters.column or ""
        clustered = {"_unit": cluster_codes(counts.table, column)} if column else {}
        flag = "" if counts.clusters.shared is None else counts.clusters.flag
        return counts.table.assign(**clustered), groups, _Shared(column, flag, ignored=False)
    sure = [confidence] if confidence else [c for c in ("strength", "confidence") if c in present][:1]
    extra = [
        c
        for c in (*CANDIDATES, *grouping([c for c in chosen or () if c != "pair"], present, argument="cluster"))
        if c in present
    ]
    columns = [*groups, *marker, *sure, "judge", "item", "first", "second", "choice", "target", *extra]
    weight = counted(data, columns)
    columns = list(dict.fromkeys([*columns, *([weight] if weight else [])]))
    table = data.lazy().select(*columns).collect(backend="pandas").to_native().reset_index(drop=True)
    low, high, _ = candidates(table)
    pair = codes_of(table.assign(_low=low[0], _high=high[0]), ["item", "_low", "_high"]).code
    choice = table["choice"].astype(object).where(table["choice"].notna(), "invalid").replace({"abstain": "tie"})
    slot = np.where(table["target"].astype(str) == table["first"].astype(str), "first", "second")
    sided = choice.isin(["first", "second"])
    unknown = choice[~sided & ~choice.isin(["tie", "invalid"])]
    if len(unknown):
        raise SchemaError(f"'choice' has {unknown.iloc[0]!r}. Allowed: first, second, tie, abstain, invalid.")
    outcome = choice.where(~sided, np.where(choice == slot, "target", "other"))
    n = call_counts(table[weight]) if weight else np.ones(len(table))
    shared = _Shared(chosen[0], "", ignored=False) if chosen else _Shared("", "", ignored=chosen == ())
    if not chosen and len(table):
        keys = [*groups, "judge"]
        sharing = auto_cluster(calls, keys, float(n.sum()), units=Study.of(table))
        if chosen is None:
            shared = _Shared(sharing.column, "", ignored=False)
        else:
            shared = _Shared("", flags.NOT_INDEPENDENT if sharing.shared else "", ignored=True)
    unit = cluster_codes(table, shared.column) if shared.column else pair
    sureness = table[sure[0]].astype(str) if sure else ""
    cells = {"outcome": outcome, "_pair": pair, "_unit": unit, "_slot": slot, "_choice": choice, "_sure": sureness}
    return table.assign(**cells, n=n), groups, shared


def _persons(table: pd.DataFrame, people: Sequence[str] | Mapping[str, str], judge_names: Sequence[str]) -> Mask:
    """Which calls are of people; `judge_names` are the judges of all calls, with or without a target."""
    if table["judge"].isna().any():
        raise SchemaError("'judge' is missing in some rows. Name the judge or annotator, or drop these rows.")
    judges = table["judge"].astype(str)
    if isinstance(people, Mapping):
        [(column, meant)] = people.items()
        person = (table[column].astype(str) == str(meant)).to_numpy()
        if not person.any():
            values = sorted(table[column].astype(str).unique())
            raise DesignError(f"{column!r} is never {meant!r}. It has: {', '.join(values)}.{suggestion(meant, values)}")
    else:
        for name in names(people):
            refuse_unknown(name, judge_names, f"humans= names {name!r}, who is not in 'judge'", "Judges")
        person = judges.isin(names(people)).to_numpy()
    if not person.any() or person.all():
        who = "people" if person.any() else "judges"
        raise DesignError(f"A gap is between judges and people, and all calls are of {who}. Check humans=.")
    return np.asarray(person, dtype=bool)


class _Calls(NamedTuple):
    """Calls, or counts of them, of judges and people: (N,) each."""

    judge: Integers
    person: Mask
    invalid: Mask
    n: Floats
    hit: Floats
    trial: Floats
    pair: Integers | None
    unit: Integers | None

    @classmethod
    def of(cls, table: pd.DataFrame, judge: Integers) -> _Calls:
        """The calls of a table."""
        invalid = (table["outcome"] == "invalid").to_numpy(dtype=bool)
        n, hit, trial = (table[c].to_numpy(dtype=float) for c in (N, "_hit", "_trial"))
        pair, unit = (table[c].to_numpy() if c in table else None for c in ("_pair", "_unit"))
        return cls(judge, table["_person"].to_numpy(), invalid, n, hit, trial, pair, unit)

    def where(self, rows: Mask) -> _Calls:
        """Some of the calls."""
        return _Calls(*(None if values is None else values[rows] for values in self))  # type: ignore[arg-type]

    @property
    def totals(self) -> tuple[float, float]:
        """Choices of the target, and calls that count."""
        return float((self.hit * self.trial).sum()), float(self.trial.sum())

    @property
    def invalid_excluded(self) -> str:
        """Flag of the excluded invalid calls."""
        return flags.INVALID_EXCLUDED.of(float(self.n[self.invalid & (self.trial == 0)].sum()))

    @property
    def valid_pairs(self) -> set[int]:
        """Pairs with a call that counts; none where calls are not known by their pairs."""
        return set() if self.pair is None else {*self.pair[self.trial > 0].tolist()}


@dataclass(frozen=True)
class _GapGroup:
    """Calls of people and judges to be compared; `screened` is the flag of excluded annotators."""

    key: Record
    calls: _Calls
    names: Sequence[object]  # of the judges, by their numbers
    annotators: str
    conf_level: float
    screened: str
    shared: _Shared

    def rows(self) -> list[Record]:
        people, judges = (self.calls.where(self.calls.person == x) for x in (True, False))
        rows = [self._rate("person", who, own_calls) for who, own_calls in self._by_judge(people)]
        rows.append(self._rate("people", None, people))
        for who, own_calls in self._by_judge(judges):
            rows += self._judge(who, own_calls, people)
        return rows

    def _by_judge(self, calls: _Calls) -> list[tuple[object, _Calls]]:
        return [(self.names[i], calls.where(calls.judge == i)) for i in np.unique(calls.judge)]

    def _row(self, role: str, who: object, term: str, **cells: Any) -> Record:
        row = {**self.key, "role": role, "judge": who, "term": term, "flag": "", **cells}
        if role == "people" or term == "gap":
            row["flag"] = flags.join(row["flag"], self.screened)
        return row

    def _rate(self, role: str, who: object, calls: _Calls) -> Record:
        k, n = calls.totals
        column = self.shared.column
        several = calls.pair is not None and n > len(calls.valid_pairs)
        if several and not column and not self.shared.ignored:
            column = "pair"
        if column and n:
            [hits], [sizes] = _by_unit([calls])
            estimate = clustered_share(hits, sizes, column, self.conf_level)
        else:
            estimate = share(k, n, self.conf_level, flags.NOT_INDEPENDENT if several else "")
        flag = flags.join(self.shared.flag, estimate.flag, size_flag(n), calls.invalid_excluded)
        return self._row(
            role, who, "rate", **{**estimate.interval, "flag": flag}, estimate=k / n if n else math.nan, n=n
        )

    def _judge(self, who: object, judge: _Calls, people: _Calls) -> list[Record]:
        if judge.unit is None:
            gap = independent_difference(*judge.totals, *people.totals, self.conf_level)
            flag = flags.join(size_flag(gap["n"]), judge.invalid_excluded)
            return [self._rate("judge", who, judge), self._row("judge", who, "gap", **gap, flag=flag)]
        unmatched, excluded = "", judge.invalid_excluded
        if judge.pair is not None:
            own, of_people = judge.valid_pairs, people.valid_pairs
            both = np.array([*(own & of_people)])
            if own != of_people:
                unmatched = flags.PAIRS_SHARED.of(len(both), total=f"{len(own | of_people):,}")
            judge, people = (calls.where(np.isin(np.asarray(calls.pair), both)) for calls in (judge, people))
        flag = flags.join(unmatched, excluded)
        rate = self._rate("judge", who, judge)
        gap = self._gap(judge, people)
        return [{**r, "flag": flags.join(r["flag"], flag)} for r in (rate, self._row("judge", who, "gap", **gap))]

    def _gap(self, judge: _Calls, people: _Calls) -> Record:
        (_, n1), (k2, n2) = judge.totals, people.totals
        if not (n1 and n2):
            return {"estimate": math.nan, "n": 0.0, "flag": flags.NO_DATA}
        hits, trials = (np.column_stack(x) for x in _by_unit([judge, people]))
        value, variance, df = cluster_robust(hits, trials, np.array([1.0, -1.0]))
        sizes = trials.sum(axis=1)
        column = self.shared.column or "pair"
        method = methods.clustered(methods.T, column, sizes)
        if self.annotators == "random" and people.unit is not None:
            of_people = (people.hit - k2 / n2) * people.trial / n2
            person, persons = compact(people.judge, len(self.names))
            parts = (people.unit, int(people.unit.max(initial=0)) + 1), (person, persons.size)
            cell, _ = compact(*joint(parts, person.size))
            influence, calls = sums_within(np.column_stack([of_people, people.trial]), person, persons.size).T
            among, persons_df = linearised_error(influence, calls)
            within = float((np.bincount(cell, of_people) ** 2).sum())
            variance, df = variance + max(among**2 - within, 0.0), min(df, persons_df)
            method = methods.T.by(f"{column} x annotator", f"{_printed(method)} x {persons.size}")
            sizes = min(sizes, calls, key=effective_clusters)
        few = flags.join(self.shared.flag, flags.few_clusters(sizes), "" if variance else flags.NO_SPREAD)
        error, flag = math.sqrt(variance), flags.join(few, flags.SMALL_N if n1 < 30 else "")
        low, high = map(float, student_ends(value, error, df, self.conf_level, bounds=POINTS))
        return Estimate(value, n1, error, df, low, high, method=method, flag=flag).cells


def _printed(method: Method) -> str:
    """How many clusters, and what they are worth, before a second factor: ``30, worth 5 x 2``."""
    assert method.clusters is not None
    number, worth = method.clusters.number, method.clusters.worth
    return number if worth is None else f"{number}, worth {worth}"


def _by_unit(of: list[_Calls]) -> tuple[list[Floats], list[Floats]]:
    """Choices of the target and valid calls of each part, summed by clusters that are numbered alike in all parts."""
    unit, units = pd.factorize(np.concatenate([calls.unit for calls in of if calls.unit is not None]))
    parts = np.split(unit, np.cumsum([calls.n.size for calls in of])[:-1])
    values = [*(calls.hit * calls.trial for calls in of), *(calls.trial for calls in of)]
    sums = [np.bincount(at, x, len(units)).astype(np.float64) for at, x in zip(parts * 2, values, strict=True)]
    return sums[: len(of)], sums[len(of) :]
