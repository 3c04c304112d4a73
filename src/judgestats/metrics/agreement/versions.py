"""Two versions of a judge on the same items: :func:`compare_versions`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.counting.bootstrap import Bootstrap, Statistic
from judgestats.counting.clustering import Cluster
from judgestats.counting.judge_answers import ABOUT
from judgestats.counting.raters import matched_calls
from judgestats.counting.selection import gathered
from judgestats.counting.study import Calls, Study
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, refuse_unknown
from judgestats.kernels.cluster_sums import clusters_note, sums_within
from judgestats.kernels.correlation import pearson_of_totals
from judgestats.kernels.proportions import clustered_ratios, clustered_tango, clustered_wilson
from judgestats.metrics.agreement.human_agreement import concordance_of, kappa_of
from judgestats.metrics.bias.order_consistency import consistency, repeats
from judgestats.metrics.clustered import clustered_by, jackknifed
from judgestats.metrics.measure_registry import Measure, Options, Term
from judgestats.metrics.psychometrics.operating_point import criterion_shift
from judgestats.metrics.references import Baseline, Humans, controls, references
from judgestats.metrics.requirements import with_people
from judgestats.metrics.scales import scales_apart, unmeasured
from judgestats.results import estimates
from judgestats.schema.coding import codes_of, count_rows, each_group
from judgestats.schema.columns import By, Kind, answer_column, grouping, kind_of, names
from judgestats.typing import Floats, Record

#: Column with the version of a call, and the two versions that are compared.
_VERSION, _OLD, _NEW, _PROMPT = "_version", "\0old", "\0new", "_prompt"
_SHIFTS = ("criterion_shift", "target_signal_lost", "false_preference_saved")


def _conditions(_: IntoFrame, options: Options) -> str:
    return "" if options.baseline else "needs two versions in a column, and the old one named in baseline="


def _from_version(data: Calls, options: Options) -> pd.DataFrame:
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
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
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
        - ratings: ``mean_shift`` of the scores, and ``correlation_change`` with people: a shift alone is one of the
          criterion, a loss of correlation one of resolution.

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
    models, people = raters.models, raters.people.drop(columns=_VERSION, errors="ignore").drop_duplicates()
    if new is not None:
        models = _one_name(models)
    groups = [g for g in grouping(by, list(models.columns)) if g != "judge"]
    kind = kind_of(models.columns)
    rows: list[Record] = []
    for version in versions:
        both = models[models[_VERSION].isin([_OLD, version])].replace({_VERSION: {version: _NEW}})
        units = [c for c in (*ABOUT[kind], "first", "second") if c in both.columns]
        units_of = raters.study.part(both)
        column, dependent = clustered_by(units_of, ["judge", *groups, _VERSION], cluster, units, whole="item")
        plan = Bootstrap("t", (column,), None, n_resamples, seed, conf_level)
        label = "new" if version == _NEW else version
        for key, part in each_group(both, [*groups, "judge"]):
            if part[_VERSION].nunique() < 2:
                empty = {"term": "flips", "estimate": np.nan, "n": 0.0, "flag": flags.NOTHING_SHARED}
                rows.append({**key, "version": label, "stimulus": "", **empty})
                continue
            group_people = _people_of_group(people, key, groups)
            for row in _Pair(part.reset_index(drop=True), group_people, kind, plan, key).rows():
                note = flags.join(dependent, row.get("flag", ""))
                rows.append({**key, "version": label, "stimulus": "", **row, "flag": note})
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
        sides = [gathered(frame, columns).assign(**{_VERSION: v}) for frame, v in ((old, _OLD), (new, _NEW))]
        kinds = [kind_of(side.columns) for side in sides]
        if kinds[0] != kinds[1]:
            raise DesignError(f"The old version has {kinds[0]}, the new one {kinds[1]}: they cannot be compared.")
        return pd.concat(sides, ignore_index=True), [_NEW]
    table = gathered(old, columns)
    if isinstance(baseline, Mapping):
        if len(baseline) != 1:
            raise DesignError(f"baseline= names {len(baseline)} columns. Give one: {{'version': 'v1'}}.")
        ((column, value),) = baseline.items()
        refuse_unknown(column, table.columns, f"baseline={{{column!r}: ...}}: there is no such column", "Columns")
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


def _people_of_group(people: pd.DataFrame, key: Record, groups: list[str]) -> pd.DataFrame:
    """Answers of people in a group, as far as they know its columns."""
    keep = np.ones(len(people), dtype=bool)
    for name in groups:
        if name in people.columns:
            keep &= (people[name].astype(str) == str(key[name])).to_numpy()
    return people[keep]


@dataclass(frozen=True)
class _Pair:
    """Calls of one judge under both versions."""

    calls: pd.DataFrame  # with the version in ``_version``
    people: pd.DataFrame  # answers of people, perhaps none
    kind: Kind
    plan: Bootstrap
    key: Record

    @property
    def column(self) -> str:
        """Cluster column."""
        return self.plan.cluster[0]

    @property
    def numbers(self) -> bool:
        """Whether the answers are scores, not classes or sides of a pair."""
        return self.kind == "ratings" and answer_column(self.calls.columns) != "answer"

    def rows(self) -> Iterator[Record]:
        """Rows of all terms."""
        apart = self._versions_apart() if self.numbers else {}
        answer = self.calls["choice" if self.kind == "preferences" else answer_column(self.calls.columns)]
        lost = flags.INVALID_EXCLUDED.of(int((answer.isna() | (answer.astype(str) == "invalid")).sum()))
        for row in self._term_rows():
            row = unmeasured(row, apart.get(row["term"]))
            yield row if "excluded" in row.get("flag", "") else {**row, "flag": flags.join(row.get("flag", ""), lost)}

    def _versions_apart(self) -> dict[str, tuple[str, str] | None]:
        """Terms that compare scores, and two of the versions and the people who are on different scales."""
        score = "score" if "score" in self.calls.columns else "mean"
        both = self.calls.assign(_by=self.calls[_VERSION].map({_OLD: "the old version", _NEW: "the new version"}))
        sides = [side for _, side in both.groupby("_by", sort=False)]
        if len(self.people):
            sides.append(self.people.assign(_by="the people"))

        def apart(*of: pd.DataFrame) -> tuple[str, str] | None:
            table = pd.concat([side[[score, "_by"]] for side in of], ignore_index=True)
            return scales_apart(table[score], table["_by"])

        versions = apart(*sides[:2])
        pairs: dict[str, tuple[str, str] | None] = dict.fromkeys(("flips", "flips_above_noise", "mean_shift"), versions)
        if len(self.people):
            pairs |= {f"agreement_{v}": apart(sides[i], sides[2]) for i, v in enumerate(("old", "new"))}
            change = pairs["agreement_old"] or pairs["agreement_new"]
            pairs |= {"agreement_change": change, "concordance_change": change}
        return pairs

    def _term_rows(self) -> Iterator[Record]:
        yield from self._flips()
        if self.numbers:
            yield self._mean_shift()
        if len(self.people):
            yield from self._agreement()
        if self.kind == "preferences":
            yield from self._criterion()

    def _flips(self) -> Iterator[Record]:
        sides = {v: self.calls[self.calls[_VERSION] == v].drop(columns=_VERSION) for v in (_OLD, _NEW)}
        if "replicate" not in self.calls.columns:
            sides = {v: side.assign(replicate=0) for v, side in sides.items()}
        whole = pd.concat(sides.values(), ignore_index=True).assign(replicate=np.arange(len(self.calls)))
        sides_of = (repeats(side, (), self.column, self._thing_columns(side))[0] for side in (whole, *sides.values()))
        each = [counts.table for counts in sides_of]
        keys = ["relation", *(c for c in each[0].columns if c not in {"relation", "n", "judge"})]
        code = codes_of(pd.concat([t[keys[1:]] for t in each], ignore_index=True), keys[1:])
        place = np.split(code.code, np.cumsum([len(t) for t in each])[:-1])
        counts = {
            relation: np.column_stack(
                [
                    np.bincount(p, t["n"] * (t["relation"] == relation), code.size)
                    for p, t in zip(place, each, strict=True)
                ]
            )
            for relation in ("equal", "different")
        }
        flipped = counts["different"].astype(float)
        total = flipped + counts["equal"]
        flipped[:, 0], total[:, 0] = (x[:, 0] - x[:, 1] - x[:, 2] for x in (flipped, total))  # between, not within
        label = pd.concat([t[[self.column]] for t in each], ignore_index=True).iloc[code.first]
        unit = codes_of(label, [self.column])
        noisy = [bool(total[:, side].any()) for side in (1, 2)]
        k, n = (np.bincount(unit.code, x[:, 0], unit.size).astype(np.float64) for x in (flipped, total))
        unknown = "" if any(noisy) else flags.NOISE_UNKNOWN
        yield {"term": "flips", **self._wilson_share(k, n), "flag": flags.join(unknown, self._size(n, k))}
        for term, side, has_repeats in zip(("rerun_flips_old", "rerun_flips_new"), sides.values(), noisy, strict=True):
            if has_repeats:
                same = consistency(side, over="replicate", cluster=self.column, conf_level=self.plan.conf_level).iloc[0]
                flipped_share = {"estimate": 1 - same["estimate"], "conf_low": 1 - same["conf_high"]}
                flipped_share["conf_high"] = 1 - same["conf_low"]
                yield {"term": term, **same[["std_error", "n", "method", "flag"]].to_dict(), **flipped_share}
        row: Record = {"term": "flips_above_noise", "estimate": np.nan, "n": 0.0, "flag": flags.NOISE_UNKNOWN}
        used = [0, *(side for side, has_repeats in zip((1, 2), noisy, strict=True) if has_repeats)]
        both = (total[:, used] > 0).all(axis=1) & (len(used) > 1)
        if both.any():
            rate = flipped[both][:, used] / total[both][:, used]
            above = rate[:, 0] - rate[:, 1:].mean(axis=1)
            k, n = (np.bincount(unit.code[both], x, unit.size).astype(np.float64) for x in (above, np.ones(both.sum())))
            row = {"term": "flips_above_noise", **self._clustered_mean(k, n, 1.0)}
            row["flag"] = flags.join(row["flag"], "" if all(noisy) else flags.ONE_VERSION_REPEATED)
        yield row

    def _thing_columns(self, side: pd.DataFrame) -> list[str]:
        """Columns that keep calls on different things apart."""
        return [c for c in (*ABOUT[self.kind], "first", "second") if c in side.columns]

    def _wilson_share(self, k: Floats, n: Floats) -> Record:
        """A share with its clustered interval."""
        if not n.sum() > 0:
            return {"estimate": np.nan, "n": 0.0}
        error, low, high = clustered_wilson(k, n, self.plan.conf_level)
        ends = {"std_error": error, "conf_low": low, "conf_high": high, "n": float(n.sum())}
        return {"estimate": float(k.sum() / n.sum()), **ends, "method": f"Wilson, {self._clustering_note(n)}"}

    def _clustering_note(self, n: Floats) -> str:
        return f"clustered by {self.column} ({clusters_note(n)})"

    def _size(self, n: Floats, hits: Floats | None = None) -> str:
        if not n.sum() > 0:
            return flags.NOTHING_SHARED
        return flags.join(flags.few_clusters(n, hits=hits), flags.SMALL_N if n.sum() < 30 else "")

    def _clustered_mean(self, k: Floats, n: Floats, bound: float) -> Record:
        """A mean between -bound and bound with its clustered t interval; without a bound NaN where nothing varies."""
        value, error, low, high = clustered_ratios(k[:, None], n[:, None], np.ones(1), self.plan.conf_level, bound)
        kind = "t" if math.isinf(bound) else "t with pseudo-observations"
        row = {"estimate": value, "n": float(n.sum()), "method": f"{kind}, {self._clustering_note(n)}"}
        if error > 0:
            row["std_error"] = error
        if high > low:
            row |= {"conf_low": low, "conf_high": high}
        return {**row, "flag": flags.join(self._size(n), flags.NO_SPREAD if high == low else "")}

    def _paired_means(self, table: pd.DataFrame, value: str) -> tuple[pd.DataFrame, str]:
        """Mean of a column per thing under both versions, on the things of both; and a flag if there are others."""
        wide = table.pivot_table(index=["_at", "thing"], columns=_VERSION, values=value, aggfunc="mean", sort=True)
        wide = wide.reindex(columns=[_OLD, _NEW])
        shared = wide.dropna()
        left = "" if len(shared) == len(wide) else flags.STIMULI_SHARED.of(len(shared), total=f"{len(wide):,}")
        return shared.reset_index(), left

    def _mean_shift(self) -> Record:
        value = pd.to_numeric(self.calls["score" if "score" in self.calls.columns else "mean"])
        thing = codes_of(self.calls, self._thing_columns(self.calls)).code
        table = self.calls[[_VERSION]].assign(_score=value, thing=thing, _at=codes_of(self.calls, [self.column]).code)
        wide, left = self._paired_means(table, "_score")
        if wide.empty:
            return {"term": "mean_shift", "estimate": np.nan, "n": 0.0, "flag": flags.NOTHING_SHARED}
        d = (wide[_NEW] - wide[_OLD]).to_numpy()
        k, n = (np.bincount(wide["_at"], x).astype(np.float64) for x in (d, np.ones(len(d))))
        row = self._clustered_mean(k, n, math.inf)
        return {"term": "mean_shift", **row, "flag": flags.join(left, row["flag"])}

    def _agreement(self) -> Iterator[Record]:
        keep = [self.column] if self.column not in ABOUT[self.kind] else []
        calls, people, _ = matched_calls(self.calls, self.people, [_VERSION], keep)
        answered = [(t["answer"] != "invalid") & t["answer"].notna() for t in (calls, people)]
        invalid = flags.INVALID_EXCLUDED.of((~answered[0]).sum())
        calls, people = calls[answered[0]], people[answered[1]].rename(columns={"answer": "other_answer"})
        calls = calls.assign(_at=codes_of(calls, [self.column]).code)
        matched = calls.merge(people[["thing", "other_answer"]], on="thing")
        matched["_equal"] = (matched["answer"].astype(str) == matched["other_answer"].astype(str)).astype(float)
        wide, left = self._paired_means(matched, "_equal")
        terms = ("agreement_old", "agreement_new", "agreement_change")
        if wide.empty:
            yield from ({"term": t, "estimate": np.nan, "n": 0.0, "flag": flags.NOTHING_SHARED} for t in terms)
            return
        old, new = (wide[v].to_numpy() for v in (_OLD, _NEW))
        at, one = wide["_at"].to_numpy(), np.ones(len(wide))
        sums = [np.bincount(at, x).astype(np.float64) for x in (old, new, one)]
        note = flags.join(invalid, left)
        for term, k in zip(terms, sums[:2], strict=False):
            flag = flags.join(note, self._size(sums[2], k))
            yield {"term": term, **self._wilson_share(k, sums[2]), "flag": flag}
        gains, losses = (np.bincount(at, np.maximum(d, 0.0)).astype(np.float64) for d in (new - old, old - new))
        tango = clustered_tango(gains, losses, sums[2], self.plan.conf_level)
        change: Record = {"estimate": float((new - old).mean()), "std_error": tango.std_error, "n": float(len(wide))}
        change |= {
            "conf_low": tango.low,
            "conf_high": tango.high,
            "method": f"Tango, paired, {self._clustering_note(sums[2])}",
        }
        yield {"term": terms[2], **change, "flag": flags.join(note, self._size(sums[2]))}
        both = matched[matched["thing"].isin(wide["thing"])].assign(n=1.0)
        both = count_rows(both, [self.column, _VERSION, "answer", "other_answer"], "n")
        for term, (counts, statistic) in self._coefficients(both).items():
            is_new = (both[_VERSION] == _NEW).to_numpy()[:, None]
            halves = np.hstack([counts * ~is_new, counts * is_new])
            size = counts.shape[1]

            def change_of(totals: Floats, size: int = size, of: Statistic = statistic) -> Floats:
                result: Floats = of(totals[:, size:]) - of(totals[:, :size])
                return result

            value = float(change_of(halves.sum(axis=0)[None])[0])
            unit = codes_of(both, [self.column])
            added = sums_within(halves, unit.code, unit.size)
            size_of_unit = np.bincount(unit.code, both["n"], unit.size).astype(np.float64)
            without = change_of(added.sum(axis=0) - added)
            cells = jackknifed(value, without, size_of_unit, self.column, self.plan.conf_level, coefficient=False)
            cells |= {c: float(np.clip(cells[c], -2.0, 2.0)) for c in ("conf_low", "conf_high") if c in cells}
            alike = flags.NO_SPREAD if np.isnan(value) else ""
            cells["flag"] = flags.join(alike, invalid, left, cells["flag"], flags.SMALL_N if len(wide) < 30 else "")
            yield {"term": term, "estimate": value, "n": float(len(wide)), **cells}

    def _coefficients(self, both: pd.DataFrame) -> dict[str, tuple[Floats, Statistic]]:
        n = both["n"].to_numpy(dtype=float)
        if not self.numbers:
            return {"kappa_change": kappa_of(both, n)}
        counts, concordance = concordance_of(both, n)
        return {"concordance_change": (counts, concordance), "correlation_change": (counts, pearson_of_totals)}

    def _criterion(self) -> Iterator[Record]:
        """Rows of :func:`criterion_shift`, where people prefer one and where they do not."""
        names_of = {_VERSION: "prompt"}  # criterion_shift compares prompts: those of the calls may still be the cluster
        if self.column == "prompt":
            names_of["prompt"] = _PROMPT
        table = self.calls.drop(columns={"prompt"} - {self.column}, errors="ignore").rename(columns=names_of)
        if len(self.people):
            table = table.drop(columns=["better", "stimulus", "delta"], errors="ignore")
            table = table.assign(**_majority(table, self.people.drop(columns="prompt", errors="ignore")))
            table = table[table["stimulus"] != ""]
        elif "stimulus" not in table:
            table = table.assign(stimulus="all")
        if table.empty:
            return
        shifts = criterion_shift(
            table, _OLD, _NEW, cluster=names_of.get(self.column, self.column), conf_level=self.plan.conf_level
        )
        shifts["method"] = shifts["method"].str.replace(_PROMPT, "prompt")
        terms = _SHIFTS if len(self.people) or "better" in table else _SHIFTS[:1]
        for row in shifts[shifts["term"].isin(terms)].drop(columns=["judge", "delta"]).to_dict("records"):
            yield {str(c): v for c, v in row.items()}


def _majority(calls: pd.DataFrame, people: pd.DataFrame) -> Record:
    """Whether people prefer one of the two candidates of each call, and which; no stimulus where nobody answered."""
    judge_calls, people_calls, _ = matched_calls(calls, people, ["prompt"])
    votes = people_calls[people_calls["answer"] != "invalid"].groupby(["thing", "answer"]).size().unstack(fill_value=0)
    votes = votes.reindex(columns=["low", "tie", "high"], fill_value=0)
    top = votes.max(axis=1)
    single = (votes.eq(top, axis=0)).sum(axis=1) == 1
    side = votes.idxmax(axis=1).where(single, "tie")
    preferred = judge_calls["thing"].map(side)
    better = np.where(
        preferred.eq("low"), judge_calls["_low"], np.where(preferred.eq("high"), judge_calls["_high"], None)
    )
    stimulus = np.where(preferred.isna(), "", np.where(preferred.eq("tie"), "people tied", "people decided"))
    return {"better": better, "stimulus": stimulus}
