"""Two versions of a judge on the same items: :func:`compare_versions`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray

from judgestats import flags, methods
from judgestats.counting.bootstrap import Statistic
from judgestats.counting.clustering import Cluster
from judgestats.counting.judge_answers import ABOUT, HIGH, LOW, SIDES, TIE
from judgestats.counting.raters import matched_calls
from judgestats.counting.selection import gathered
from judgestats.counting.study import Calls, Study
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, refuse_unknown
from judgestats.estimate import clustered_share, jackknifed
from judgestats.kernels.cluster_sums import sums_within
from judgestats.kernels.correlation import pearson_of_totals
from judgestats.kernels.proportions import clustered_ratios, clustered_tango
from judgestats.metrics.agreement.human_agreement import concordance_of, kappa_of
from judgestats.metrics.bias.order_consistency import rates_of_repeats, repeats
from judgestats.metrics.clustered import clustered_by
from judgestats.metrics.measure_registry import Measure, MeasureOptions, Term
from judgestats.metrics.psychometrics.operating_point import criterion_shift
from judgestats.metrics.references import Baseline, Humans, controls, references
from judgestats.metrics.requirements import with_people
from judgestats.metrics.scales import scales_apart, unmeasured
from judgestats.results import estimates
from judgestats.schema.coding import combine, compact, first_rows, joint, numbers_of
from judgestats.schema.columns import ANSWERS, By, Kind, answer_column, grouping, kind_of, names
from judgestats.schema.factors import Factor, Factors, factor_of
from judgestats.typing import Floats, Integers, Mask, Record

#: Column with the version of a call, and the two versions that are compared.
_VERSION, _OLD, _NEW, _PROMPT = "_version", "\0old", "\0new", "_prompt"
#: Columns that say what was judged, by whom, and what came of it: no two versions of a judge differ in them.
_NO_VERSIONS = {"judge", "item", "system", "criterion", "first", "second", "choice", *ANSWERS, "status", "replicate"}
_SHIFTS = ("criterion_shift", "target_signal_lost", "false_preference_saved")


def _conditions(_: IntoFrame, options: MeasureOptions) -> str:
    return "" if options.baseline else "needs two versions in a column, and the old one named in baseline="


def _from_version(data: Calls, options: MeasureOptions) -> pd.DataFrame:
    people = {}
    if options.people is not None:
        data, people["humans"] = with_people(data, options)
    parts = []
    for column, base in options.baseline.items():
        by = [c for c in options.by if c != column]
        comparison = options.call(compare_versions, data, baseline={column: base}, by=by, **people)
        parts.append(comparison.rename(columns={"version": column}))
    return pd.concat(parts, ignore_index=True)


@Measure(
    "Did the judge change between two versions?",
    "strategies",
    "P, R",
    "Tango; t; bootstrap; all clustered",
    "ours",
    plot="forest",
    frames=("preferences", "ratings"),
    needs=(_conditions,),
    take=_from_version,
    terms=(
        Term(
            "flips",
            "answers that differ between the versions",
            "call",
            "pairs of calls",
            "higher",
            "How often a call under the new version differs from the same call under the old one.",
        ),
        Term("rerun_flips_old", "answers that differ when the old version is asked again"),
        Term("rerun_flips_new", "answers that differ when the new version is asked again"),
        Term(
            "flips_above_noise",
            "flips above rerun noise",
            "call",
            "calls",
            "far from 0",
            "Flips between the versions less the mean of those within them: 0 if nothing but noise changed.",
            neutral=0.0,
        ),
        Term("agreement_old", "agreement with people, old version"),
        Term("agreement_new", "agreement with people, new version"),
        Term("agreement_change", "change of agreement with people", neutral=0.0),
        Term("kappa_change", "change of kappa with people", neutral=0.0),
        Term("concordance_change", "change of concordance with people", neutral=0.0),
        Term("correlation_change", "change of correlation with people (resolution)", neutral=0.0),
        Term("mean_old", "mean score, or share right, old version"),
        Term("mean_new", "mean score, or share right, new version"),
        Term("mean_shift", "shift of the mean score (criterion)", neutral=0.0),
    ),
    classes=True,
    have=("conditions",),
    assumes=(
        "Both versions judged the same items and differ in nothing else; items are independent, unless they share "
        "a cluster."
    ),
)
def compare_versions(
    old: IntoFrame,
    new: IntoFrame | None = None,
    *,
    baseline: Baseline | None = None,
    humans: Humans | None = None,
    by: By = (),
    cluster: Cluster = "auto",
    n_resamples: int = N_RESAMPLES,  # noqa: ARG001
    seed: int | np.random.Generator | None = SEED,  # noqa: ARG001
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Compare two versions of a judge, two prompts or two dates, on the items that both judged.

    Parameters
    ----------
    old, new : frame
        Preferences or ratings under the old and the new version. If each has one judge, their names may differ. People
        stand in either frame or in both. With ``new=None``: both versions are in `old`, distinguished by a column.
    baseline : str or mapping, optional
        With one frame: the old version, ``{column: value}``, or a value of ``prompt``, ``condition``, ``strategy``.
        Each other value is a new version.
    humans : str, sequence of str, or mapping, optional
        Judges that are people; without them there is no agreement with people.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str or False
        Column by which intervals are clustered: ``"auto"`` detects what items share, and is the item otherwise.
    n_resamples, seed
        Without effect: no interval is from a bootstrap.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge and ``version`` (the new one), with a column ``stimulus``. Terms:

        - ``flips``: share of pairs of calls, one under each version on the same thing in the same order, with different
          answers; flagged ``rerun noise unknown`` where no call was repeated;
        - ``rerun_flips_old``, ``rerun_flips_new``: the same between repeats, 1 less :func:`consistency`;
        - ``flips_above_noise``: ``flips`` less the mean of the two, on the calls that were repeated. It is half the
          squared distance of the two distributions of answers, averaged over calls: 0 if the versions answer alike;
        - with people: ``agreement_old``, ``agreement_new`` (share of answers equal to a person's) and
          ``agreement_change``; ``kappa_change``, or for ratings ``concordance_change``;
        - preferences: ``criterion_shift``, the change of the tie rate, and what it costs where people prefer one
          (``target_signal_lost``, correct answers lost) and saves where they do not (``false_preference_saved``), from
          :func:`criterion_shift`; ``stimulus`` says which: ``people decided`` or ``people tied``;
        - ratings: ``mean_old``, ``mean_new`` and ``mean_shift`` of the scores (of right and wrong: shares right), and
          ``correlation_change`` with people: a shift alone is one of the criterion, a loss of correlation one of
          resolution.

    Raises
    ------
    DesignError
        If the versions are not named, or share no judge.

    See Also
    --------
    compare_datasheets : Two datasheets, row by row.
    compare_strategies : Accuracy of strategies on the same pairs.

    Notes
    -----
    Agreement is compared on the things that both versions and a person answered, each with the mean of its calls; the
    interval of its change is Tango's with the effective n of the clusters, those of kappa, concordance and correlation
    are Student's from the jackknife of clusters, left out of both versions; others are t with the cluster-robust error.

    Examples
    --------
    >>> answers = {"v1": "112212212112", "v2": "112222222222", "people": "112212112112"}
    >>> rows = [(v, i, "x", "y", "first" if a == "1" else "second") for v in answers for i, a in enumerate(answers[v])]
    >>> calls = pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice"])
    >>> old, new = (calls[calls["judge"] != v] for v in ("v2", "v1"))
    >>> found = compare_versions(old, new, humans="people")
    >>> found.loc[found["stimulus"] == "", ["judge", "term", "estimate", "conf_low", "conf_high"]].round(2)
          judge               term  estimate  conf_low  conf_high
    0  v1 to v2              flips      0.33      0.12       0.65
    1  v1 to v2  flips_above_noise       NaN       NaN        NaN
    2  v1 to v2      agreement_old      0.92      0.59       0.99
    3  v1 to v2      agreement_new      0.58      0.28       0.83
    4  v1 to v2   agreement_change     -0.33     -0.65       0.07
    5  v1 to v2       kappa_change     -0.58     -1.05      -0.12
    """
    columns = [*names(by), *(names(cluster) if isinstance(cluster, str) and cluster != "auto" else [])]
    columns += [*(humans if isinstance(humans, Mapping) else ()), *(baseline if isinstance(baseline, Mapping) else ())]
    calls, versions = _versions(old, new, baseline, columns)
    raters = references(Study.rows_of(old, calls), humans)
    models = raters.models
    people = Study.of(raters.people.drop(columns=_VERSION, errors="ignore").drop_duplicates())
    if new is not None:
        models = _one_name(models)
    groups = [g for g in grouping(by, list(models.columns)) if g != "judge"]
    kind = kind_of(models.columns)
    rows: list[Record] = []
    for version in versions:
        both = raters.study.part(models[models[_VERSION].isin([_OLD, version])].replace({_VERSION: {version: _NEW}}))
        units = [c for c in (*ABOUT[kind], "first", "second") if c in both.names]
        column, dependent = clustered_by(both, ["judge", *groups, _VERSION], cluster, units, whole="item")
        for key, at in both.columns.each_group([*groups, "judge"]):
            row_key: Record = {**key, "version": "new" if version == _NEW else version, "stimulus": ""}
            part = both.part(both.columns.take(at))
            if len(part.columns.labels(_VERSION)) < 2:
                empty = {"term": "flips", "estimate": np.nan, "n": 0.0, "flag": flags.NOTHING_SHARED}
                rows.append({**row_key, **empty})
                continue
            for row in _Pair(part, _people_of_group(people, key, groups), kind, column, conf_level).rows():
                rows.append({**row_key, **row, "flag": flags.join(dependent, row.get("flag", ""))})
    return estimates(rows, [*groups, "judge", "version"], ("stimulus",))


def _versions(
    old: IntoFrame, new: IntoFrame | None, baseline: Baseline | None, columns: list[str]
) -> tuple[pd.DataFrame, list[str]]:
    """All calls with their version, and the names of the new versions."""
    if new is not None:
        if baseline is not None:
            raise DesignError(
                "baseline= names the old version in one frame; here it is the first of two. Leave it out."
            )
        frames = zip(Study.of(old).in_one_way(Study.of(new)), (_OLD, _NEW), strict=True)
        sides = [gathered(frame, columns).assign(**{_VERSION: version}) for frame, version in frames]
        kinds = [kind_of(side.columns) for side in sides]
        if kinds[0] != kinds[1]:
            raise DesignError(f"The old version has {kinds[0]}, the new one {kinds[1]}: they cannot be compared.")
        return pd.concat(sides, ignore_index=True), [_NEW]
    table = gathered(old, columns)
    if isinstance(baseline, Mapping):
        if len(baseline) != 1:
            raise DesignError(f"baseline= names {len(baseline)} columns. Give one: {{'version': 'v1'}}.")
        ((column, value),) = baseline.items()
        possible = [c for c in table.columns if c not in _NO_VERSIONS]
        refuse_unknown(column, possible, f"baseline={{{column!r}: ...}}: no such column of versions", "Columns")
    elif baseline is not None:
        ((column, value),) = [(c, v) for c, v in controls(table, baseline).items() if v == baseline]
    else:
        raise DesignError(
            "compare_versions needs two frames, or one frame and the old version: baseline={'version': 'v1'}.",
            advice=(("baseline", None),),
        )
    numbers = table[column]
    if pd.api.types.is_float_dtype(numbers) and (numbers.dropna() % 1 == 0).all():  # people have no version
        table = table.assign(**{column: numbers.astype("Int64")})
    about = table[table[column].notna()]
    new_versions = [v for v in pd.unique(about[column].astype(str)) if v != str(value)]
    if str(value) not in set(about[column].astype(str)) or not new_versions:
        listed = ", ".join(sorted(set(about[column].astype(str))))
        raise DesignError(
            f"baseline={{{column!r}: {value!r}}}: {column!r} has {listed or 'no values'}. Two versions are needed, "
            "one of them the baseline."
        )
    version = table[column].astype(object).where(table[column].isna(), table[column].astype(str))
    return table.drop(columns=column).assign(**{_VERSION: version.replace({str(value): _OLD})}), sorted(new_versions)


def _one_name(models: pd.DataFrame) -> pd.DataFrame:
    """Models under one name, if each version has a single judge."""
    old, new = (sorted(models.loc[models[_VERSION] == v, "judge"].astype(str).unique()) for v in (_OLD, _NEW))
    if set(old) & set(new):
        return models
    if (len(old), len(new)) != (1, 1):
        raise DesignError(
            f"The versions share no judge: {', '.join(old[:6])} in the old, {', '.join(new[:6])} in the new. "
            "Give both versions of a judge one name, or one judge in each frame."
        )
    return models.assign(judge=f"{old[0]} to {new[0]}")


def _people_of_group(people: Study, key: Record, groups: list[str]) -> Study:
    """Answers of people in a group, as far as they know its columns."""
    for name in groups:
        if name in people.columns:
            people = people.where((people.columns.series(name).astype(str) == str(key[name])).to_numpy())
    return people


@dataclass(frozen=True)
class _Pair:
    """Calls of one judge under both versions."""

    calls: Study  # with the version in ``_version``
    people: Study  # answers of people, perhaps none
    kind: Kind
    column: str  # of the clusters
    conf_level: float

    @property
    def answer(self) -> str:
        """Column of the answers."""
        return "choice" if self.kind == "preferences" else answer_column(self.calls.names)

    @property
    def numbers(self) -> bool:
        """Whether the answers are scores, not classes or sides of a pair."""
        return self.kind == "ratings" and self.answer != "answer"

    def rows(self) -> Iterator[Record]:
        """Rows of all terms."""
        apart = self._versions_apart() if self.numbers else {}
        lost = flags.INVALID_EXCLUDED.of(int(self.calls.columns[self.answer].among("invalid", None).sum()))
        for row in self._term_rows():
            row = unmeasured(row, apart.get(row["term"]))
            yield row if "excluded" in row.get("flag", "") else {**row, "flag": flags.join(row.get("flag", ""), lost)}

    def _versions_apart(self) -> dict[str, tuple[str, str] | None]:
        """Terms that compare scores, and two of the versions and the people who are on different scales."""
        score, version = self.calls.columns.series(self.answer), self.calls.columns[_VERSION]
        sides = {f"the {v} version": score[version.among(label)] for v, label in (("old", _OLD), ("new", _NEW))}
        if len(self.people.columns):
            sides["the people"] = self.people.columns.series(self.answer)

        def apart(*names: str) -> tuple[str, str] | None:
            scores = pd.concat([sides[name] for name in names], ignore_index=True)
            return scales_apart(scores, pd.Series(np.repeat(names, [len(sides[name]) for name in names])))

        old, new, *people = sides
        pairs: dict[str, tuple[str, str] | None] = dict.fromkeys(
            ("flips", "flips_above_noise", "mean_shift"), apart(old, new)
        )
        if people:
            pairs |= {"agreement_old": apart(old, *people), "agreement_new": apart(new, *people)}
            change = pairs["agreement_old"] or pairs["agreement_new"]
            pairs |= {"agreement_change": change, "concordance_change": change}
        return pairs

    def _term_rows(self) -> Iterator[Record]:
        yield from self._flips()
        if self.numbers:
            yield from self._version_means()
        if len(self.people.columns):
            yield from self._agreement()
        if self.kind == "preferences":
            yield from self._criterion()

    def _flips(self) -> Iterator[Record]:
        calls, things = self.calls.columns, [c for c in (*ABOUT[self.kind], "first", "second") if c in self.calls.names]
        if "replicate" not in calls:
            calls = calls.but(replicate=Factor(np.zeros(len(calls), dtype=np.int8), [0]))
        whole = calls.but(replicate=Factor(np.arange(len(calls)), range(len(calls)))).without(_VERSION)
        each = [repeats(Study(x), by, self.column, things)[0] for x, by in ((whole, ()), (calls, _VERSION))]
        keys = list(dict.fromkeys([self.column, *things]))
        parts = [joint([(f.code, len(f.labels)) for f in counts.columns.of(keys)], len(counts.n)) for counts in each]
        place, places = compact(np.concatenate([code for code, _ in parts]), parts[0][1])
        versions = each[1].columns[_VERSION]
        side = np.append(np.zeros(len(each[0].n), dtype=int), np.where(versions.among(_OLD), 1, 2))
        flipped, equal = (
            np.bincount(
                3 * place + side,
                np.concatenate([counts.n * counts.among("relation", relation) for counts in each]),
                3 * places.size,
            ).reshape(-1, 3)
            for relation in ("different", "equal")
        )
        total = flipped + equal
        flipped[:, 0], total[:, 0] = (x[:, 0] - x[:, 1] - x[:, 2] for x in (flipped, total))  # between, not within
        clusters = [counts.columns[self.column].code for counts in each]
        unit = compact(np.concatenate(clusters)[first_rows(place, places.size)], len(calls[self.column].labels))[0]
        noisy = [bool(total[:, side].any()) for side in (1, 2)]
        k, n = (np.bincount(unit, x[:, 0]).astype(np.float64) for x in (flipped, total))
        unknown = "" if any(noisy) else flags.NOISE_UNKNOWN
        yield {"term": "flips", **self._wilson_share(k, n), "flag": flags.join(unknown, self._size(n))}
        same_again = (
            {row[_VERSION]: row for row in rates_of_repeats(each[1].inferred(self.conf_level))} if any(noisy) else {}
        )
        for term, version, has_repeats in zip(("rerun_flips_old", "rerun_flips_new"), (_OLD, _NEW), noisy, strict=True):
            if has_repeats:
                same = same_again[version]
                flipped_share = {"estimate": 1 - same["estimate"], "conf_low": 1 - same["conf_high"]}
                flipped_share["conf_high"] = 1 - same["conf_low"]
                yield {"term": term, **{c: same[c] for c in ("std_error", "n", "method", "flag")}, **flipped_share}
        row: Record = {"term": "flips_above_noise", "estimate": np.nan, "n": 0.0, "flag": flags.NOISE_UNKNOWN}
        used = [0, *(side for side, has_repeats in zip((1, 2), noisy, strict=True) if has_repeats)]
        both = (total[:, used] > 0).all(axis=1) & (len(used) > 1)
        if both.any():
            rate = flipped[both][:, used] / total[both][:, used]
            above = rate[:, 0] - rate[:, 1:].mean(axis=1)
            k, n = (
                np.bincount(unit[both], x, int(unit.max()) + 1).astype(np.float64) for x in (above, np.ones(both.sum()))
            )
            row = {"term": "flips_above_noise", **self._clustered_mean(k, n, 1.0)}
            row["flag"] = flags.join(row["flag"], "" if all(noisy) else flags.ONE_VERSION_REPEATED)
        yield row

    def _wilson_share(self, k: Floats, n: Floats) -> Record:
        """A share with its clustered interval."""
        if not n.sum() > 0:
            return {"estimate": np.nan, "n": 0.0}
        return clustered_share(k, n, self.column, self.conf_level).cells

    def _size(self, n: Floats) -> str:
        if not n.sum() > 0:
            return flags.NOTHING_SHARED
        return flags.join(flags.few_clusters(n), flags.SMALL_N if n.sum() < 30 else "")

    def _clustered_mean(self, k: Floats, n: Floats, bound: float) -> Record:
        """A mean between -bound and bound with its clustered t interval; without a bound NaN where nothing varies."""
        value, error, low, high = clustered_ratios(k[:, None], n[:, None], np.ones(1), self.conf_level, bound)
        way = methods.T if math.isinf(bound) else methods.PSEUDO_OBSERVATIONS
        by = methods.clustered(way, self.column, n)
        row: Record = {"estimate": value, "n": float(n.sum()), "method": by}
        if error > 0:
            row["std_error"] = error
        if high > low:
            row |= {"conf_low": low, "conf_high": high}
        return {**row, "flag": flags.join(self._size(n), flags.NO_SPREAD if high == low else "")}

    def _paired_means(self, calls: Factors, thing: Integers, values: Floats) -> tuple[Floats, Integers, Mask, str]:
        """Mean values (U, 2) of the things of both versions, their clusters, their rows, a flag of others."""
        version, cluster = calls.of([_VERSION, self.column])
        levels = int(thing.max(initial=-1)) + 1
        unit, units = compact(*joint([(cluster.code, len(cluster.labels)), (thing, levels)], len(thing)))
        there, cell = ~np.isnan(values), 2 * unit + version.among(_NEW)
        sums, sizes = (
            np.bincount(cell[there], x[there], 2 * units.size).reshape(-1, 2) for x in (values, np.ones(len(values)))
        )
        both, total = np.all(sizes > 0, axis=1), int(np.any(sizes > 0, axis=1).sum())
        left = "" if both.sum() == total else flags.STIMULI_SHARED.of(both.sum(), total=f"{total:,}")
        return sums[both] / sizes[both], units[both] // max(levels, 1), both[unit], left

    def _version_means(self) -> Iterator[Record]:
        calls, things = self.calls.columns, [c for c in ABOUT[self.kind] if c in self.calls.names]
        value = numbers_of(calls.series(self.answer))
        thing = calls.codes(things).code
        means, at, _, left = self._paired_means(calls, thing, value)
        terms = ("mean_old", "mean_new", "mean_shift")
        if not at.size:
            yield from ({"term": t, "estimate": np.nan, "n": 0.0, "flag": flags.NOTHING_SHARED} for t in terms)
            return
        n = np.bincount(at).astype(np.float64)
        for term, values in zip(terms, (*means.T, means[:, 1] - means[:, 0]), strict=True):
            k = np.bincount(at, values).astype(np.float64)
            if self.answer == "correct" and term != "mean_shift":
                row = {**self._wilson_share(k, n), "flag": self._size(n)}
            else:
                row = self._clustered_mean(k, n, 1.0 if self.answer == "correct" else math.inf)
            yield {"term": term, **row, "flag": flags.join(left, row["flag"])}

    def _agreement(self) -> Iterator[Record]:
        matched = matched_calls(self.calls, self.people, [_VERSION])
        valid, answered = matched.answered
        invalid = flags.INVALID_EXCLUDED.of((~valid).sum())
        matched = matched.where(valid, answered)
        (one, two), (ours, theirs) = matched.met, matched.answers
        pairs = matched.calls.columns.take(one).but(other_answer=matched.others.columns["answer"].at(two))
        equal = (ours[one] == theirs[two]).astype(float)
        means, at, shared, left = self._paired_means(pairs, matched.thing[one], equal)
        terms = ("agreement_old", "agreement_new", "agreement_change")
        if not at.size:
            yield from ({"term": t, "estimate": np.nan, "n": 0.0, "flag": flags.NOTHING_SHARED} for t in terms)
            return
        old, new = means.T
        sums = [np.bincount(at, x).astype(np.float64) for x in (old, new, np.ones(at.size))]
        note = flags.join(invalid, left)
        for term, k in zip(terms, sums[:2], strict=False):
            flag = flags.join(note, self._size(sums[2]))
            yield {"term": term, **self._wilson_share(k, sums[2]), "flag": flag}
        gains, losses = (np.bincount(at, np.maximum(d, 0.0)).astype(np.float64) for d in (new - old, old - new))
        tango = clustered_tango(gains, losses, sums[2], self.conf_level)
        change: Record = {"estimate": float((new - old).mean()), "std_error": tango.std_error, "n": float(at.size)}
        change |= {
            "conf_low": tango.low,
            "conf_high": tango.high,
            "method": methods.clustered(methods.TANGO_PAIRED, self.column, sums[2]),
        }
        yield {"term": terms[2], **change, "flag": flags.join(note, self._size(sums[2]))}
        patterns, n = pairs.take(shared).counted([self.column, _VERSION, "answer", "other_answer"])
        cluster, is_new = patterns[self.column], patterns[_VERSION].among(_NEW)[:, None]
        unit = combine([(cluster.code, len(cluster.labels))], n.size)
        for term, (counts, statistic) in self._coefficients(patterns, n).items():
            halves = np.hstack([counts * ~is_new, counts * is_new])
            size = counts.shape[1]

            def change_of(totals: Floats, size: int = size, of: Statistic = statistic) -> Floats:
                result: Floats = of(totals[:, size:]) - of(totals[:, :size])
                return result

            value = float(change_of(halves.sum(axis=0)[None])[0])
            added = sums_within(halves, unit.code, unit.size)
            size_of_unit = np.bincount(unit.code, n, unit.size).astype(np.float64)
            without = change_of(added.sum(axis=0) - added)
            cells = jackknifed(value, without, size_of_unit, self.column, self.conf_level, coefficient=False).interval
            cells |= {c: float(np.clip(cells[c], -2.0, 2.0)) for c in ("conf_low", "conf_high")}
            alike = flags.NO_SPREAD if np.isnan(value) else ""
            cells["flag"] = flags.join(alike, invalid, left, cells["flag"], flags.SMALL_N if at.size < 30 else "")
            yield {"term": term, "estimate": value, "n": float(at.size), **cells}

    def _coefficients(self, patterns: Factors, n: Floats) -> dict[str, tuple[Floats, Statistic]]:
        one, two = (patterns.series(c).to_numpy(dtype=object) for c in ("answer", "other_answer"))
        if not self.numbers:
            return {"kappa_change": kappa_of(one, two, n)}
        counts, concordance = concordance_of(one, two, n)
        return {"concordance_change": (counts, concordance), "correlation_change": (counts, pearson_of_totals)}

    def _criterion(self) -> Iterator[Record]:
        """Rows of :func:`criterion_shift`: where people prefer one candidate, and where they do not."""
        columns = self.calls.columns  # criterion_shift compares prompts: those of the calls may still be the cluster
        column, own = (_PROMPT, {_PROMPT: columns["prompt"]}) if self.column == "prompt" else (self.column, {})
        columns = columns.but(prompt=columns[_VERSION], **own).without(_VERSION)
        if len(self.people.columns):
            better, stimulus = _majority(self.calls.part(columns), self.people)
            columns = columns.but(better=factor_of(better), stimulus=factor_of(stimulus)).without("delta")
            columns = columns.take(stimulus != "")
        elif "stimulus" not in columns:
            columns = columns.but(stimulus=Factor(np.zeros(len(columns), dtype=np.int8), pd.Index(["all"])))
        if not len(columns):
            return
        options: Record = {"cluster": column, "conf_level": self.conf_level}
        shifts = criterion_shift(Study(columns), _OLD, _NEW, **options)  # type: ignore[arg-type]
        terms = _SHIFTS if len(self.people.columns) or "better" in columns else _SHIFTS[:1]
        for row in shifts.drop(columns=["judge", "delta"]).to_dict("records"):
            if row["term"] in terms:
                by = methods.method_of(row["method"])
                if by.clusters and by.clusters.column == _PROMPT:
                    by = by.by("prompt", by.clusters.number, by.clusters.worth)
                yield {**{str(c): v for c, v in row.items()}, "method": by}


def _majority(calls: Study, people: Study) -> tuple[NDArray[np.object_], NDArray[np.str_]]:
    """Whether people prefer one of the two candidates of each call, and which; no stimulus where nobody answered."""
    matched = matched_calls(calls, people.without("prompt") if "prompt" in people.names else people, ["prompt"])
    things = len(matched.thing) + len(matched.other_thing)
    answer = matched.others.columns["answer"]
    votes = np.column_stack([np.bincount(matched.other_thing[answer.among(x)], minlength=things) for x in SIDES])
    most = votes.max(axis=1)
    single = (votes == most[:, None]).sum(axis=1) == 1
    side = np.where(single, votes.argmax(axis=1), SIDES.index(TIE))[matched.thing]
    low, high = (matched.calls.columns.series(c).to_numpy(dtype=object) for c in ("_low", "_high"))
    better = np.where(side == SIDES.index(LOW), low, np.where(side == SIDES.index(HIGH), high, None))
    decided = np.where(side == SIDES.index(TIE), "people tied", "people decided")
    return better, np.where(most[matched.thing] == 0, "", decided)
