"""Agreement of judges with people, compared with that among people: :func:`judge_against_people`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray

from judgestats import flags, methods
from judgestats.counting.bootstrap import Statistic
from judgestats.counting.clustering import Cluster
from judgestats.counting.judge_answers import ABOUT
from judgestats.counting.raters import count_raters
from judgestats.counting.selection import gathered
from judgestats.counting.study import Calls, Study
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, JudgestatsError
from judgestats.estimate import clustered_share, jackknifed
from judgestats.kernels.cluster_sums import sums_within
from judgestats.kernels.proportions import clustered_ratios, quotient
from judgestats.metrics.agreement.chance_corrected import kappa
from judgestats.metrics.clustered import clustered_by
from judgestats.metrics.measure_registry import Measure, MeasureOptions, Term
from judgestats.metrics.references import Humans, References, references
from judgestats.metrics.requirements import items_shared, people_named, with_people
from judgestats.metrics.scales import scales_apart
from judgestats.results import estimates, with_interval
from judgestats.schema.classes import has_answer, unlike_classes
from judgestats.schema.columns import COUNTS, By, answer_column, grouping, kind_of, names
from judgestats.schema.declared_counts import call_counts
from judgestats.schema.factors import Factors, factor_of
from judgestats.typing import Column, Floats, Mask, Record, Rows

#: Answers of any type.
Answers: TypeAlias = "NDArray[np.object_] | Floats"
#: Base rates of so many different scores are given.
MOST_LEVELS = 12


def _with_people(data: IntoFrame, options: MeasureOptions) -> pd.DataFrame:
    everyone, humans = with_people(data, options)
    return options.call(judge_against_people, everyone, humans=humans)


@Measure(
    "Do judges agree with people as people agree with each other?",
    "people",
    "P, R",
    "t, jackknife; shares: Wilson, clustered; difference: t",
    "Lin 1989; Cohen 1960; Scott 1955",
    plot="people_agreement",
    frames=("preferences", "ratings"),
    needs=(people_named, items_shared),
    take=_with_people,
    caption="Agreement of each judge with people. The band is the agreement of people with each other, the dashed line "
    "that of the best constant answer.",
    terms=(
        Term("concordance", "concordance (Lin)"),
        Term("agreement", "share of equal answers"),
        Term("agreement_difference", "share of equal answers, less that among people", neutral=0.0),
        Term("constant_answer", "share of equal answers of the best constant answer", form="share"),
        Term("base_rate", "share of people's answers"),
    ),
    classes=True,
    have=("people",),
    assumes="People and judges answered the same items; items are independent of each other.",
)
def judge_against_people(
    data: IntoFrame, *, humans: Humans, by: By = (), cluster: Cluster = "auto", conf_level: float = CONF_LEVEL
) -> pd.DataFrame:
    """Agreement of each judge with people, compared with the agreement among people.

    Parameters
    ----------
    data : frame
        Preferences or ratings by models and people, all named in ``judge``.
    humans : str, sequence of str, or mapping
        Names of the people; or ``{column: value}`` (or ``"column=value"``) that identifies them:
        ``"rater_type=human"``.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str or False
        Column by which intervals are clustered. ``"auto"`` detects what the items share (``task``, say), and is the
        item otherwise; False is the item, flagged if items share something.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        With columns ``role`` and ``answer``. Role ``people`` (``judge`` missing): each person with each other person;
        ``judge``: the judge with each person. ``n`` counts pairs of answers on a rated item. Terms:

        - ``kappa`` (preferences, classes): Cohen's kappa of the pooled pairs; among people, each pair counts in both
          orders (Scott's pi);
        - ``concordance`` (ratings): Lin's concordance correlation of the pooled pairs, which is quadratically weighted
          kappa, and 1 only where the scores are equal;
        - ``agreement``: share of pairs with equal answers;
        - ``agreement_difference`` (role ``judge``): the judge's ``agreement`` less that among people, over
          the items that have both;
        - ``base_rate`` (role ``people``): share of each ``answer`` among people's answers (``n`` counts these): a
          candidate or ``tie``, or where there are more than two candidates the slot; scores if there are 12 or fewer;
        - ``constant_answer`` (role ``people``): the ``agreement`` of a judge that always gives the people's most
          frequent ``answer``, which is its base rate. A judge must exceed it to show any skill.

        Criteria whose classes differ are not pooled: they have rows of their own, with a column ``criterion``.

        Where raters who are compared are on scales of different length (the top of one is three times that of
        another, or their names end in ranges, as ``gpt_0_5``), these are NaN with a flag.

    Raises
    ------
    DesignError
        If `humans` names nobody, or all judges.

    See Also
    --------
    alternative_annotator_test : May the judge replace a person?
    compare_versions : Two judges' agreement with people, and the interval of its difference.
    join_labels : People's labels beside verdicts.
    kappa : Agreement of two judges beyond chance.

    Notes
    -----
    A judge can exceed the agreement among people: if it is close to the mean of the people, it errs less than a single
    person. Intervals are clustered: Student's on the scale of Fisher's z, from the jackknife of clusters, for kappa and
    concordance; Wilson's for shares; t for the difference. The largest of several base rates is somewhat above the true
    one in a small sample.

    References
    ----------
    Lin, L. I. (1989). Biometrics 45, 255-268. Scott, W. A. (1955). Public Opinion Quarterly 19, 321-325.

    Examples
    --------
    Two judges and three people compare responses (PandaLM):

    >>> from judgestats import datasets
    >>> calls = datasets.load("pandalm")
    >>> found = judge_against_people(calls, humans=["annotator1", "annotator2", "annotator3"])
    >>> found = found[found["term"].isin(["agreement", "agreement_difference", "constant_answer"])]
    >>> print(found[["judge", "term", "estimate", "conf_low", "conf_high"]].round(2).to_string(index=False))
            judge                 term  estimate  conf_low  conf_high
    gpt_3_5_turbo            agreement      0.71      0.68       0.73
    gpt_3_5_turbo agreement_difference     -0.22     -0.24      -0.19
       pandalm_7b            agreement      0.66      0.63       0.69
       pandalm_7b agreement_difference     -0.26     -0.29      -0.23
              NaN            agreement      0.92      0.91       0.93
              NaN      constant_answer      0.47      0.44       0.50
    """
    columns = [*names(by), *(humans if isinstance(humans, Mapping) else ())]
    columns += names(cluster) if isinstance(cluster, str) and cluster != "auto" else []
    raters = references(Study.rows_of(data, gathered(data, columns)), humans)
    if not raters.humans:
        message = "humans= names nobody. Name the judges that are people, or {'column': 'value'}."
        raise DesignError(message, advice=(("humans", None),))
    kind: str = kind_of(raters.models.columns)
    if answer_column(raters.models.columns) == "answer":
        kind = "classes"
    groups = [g for g in grouping(by, list(raters.models.columns)) if g != "judge"]
    groups += criteria_apart([raters.models, raters.people], groups)
    people_groups = [g for g in groups if g in raters.people.columns]  # without the conditions of the judges
    column, dependent = _cluster_of(raters, ["judge", *groups], cluster)
    corrected = "concordance" if kind == "ratings" else "kappa"
    rows: list[Record] = []
    among: dict[tuple[str, ...], _Pairs] = {}
    judged = _pairs_of(count_raters(raters.models, groups, column, raters.people)[0])
    if len(raters.humans) > 1:
        counts = count_raters(raters.people, people_groups, column)[0]
        exchanged = counts.rename(columns={"answer": "other_answer", "other_answer": "answer"})
        both_ways = _pairs_of(pd.concat([counts, exchanged], ignore_index=True).assign(n=lambda t: t["n"] / 2))
        for key, part in both_ways.each_group(people_groups):
            among[tuple(map(str, key.values()))] = part
            rows += _pooled_rows(part, kind, column, conf_level, {**key, "judge": np.nan, "role": "people"})
    else:
        keys = raters.people[people_groups].drop_duplicates().to_dict("records") if people_groups else [{}]
        none = {"judge": np.nan, "role": "people", "term": corrected, "estimate": np.nan, "flag": flags.ONE_PERSON}
        rows += [{**key, **none} for key in keys]
    for key, part in judged.each_group([*groups, "judge"]):
        judge_key = {**key, "role": "judge"}
        rows += _pooled_rows(part, kind, column, conf_level, judge_key)
        if (people := among.get(tuple(str(key[g]) for g in people_groups))) is not None:
            difference = _difference_to_people(part, people, column, conf_level, scores=kind == "ratings")
            rows.append({**judge_key, "term": "agreement_difference", **difference})
    rows += _base_rates(raters.people, people_groups, kind, column, conf_level)
    result = estimates(rows, [*groups, "role", "judge"], ("answer",))
    result["flag"] = [flags.join(dependent, f) for f in result["flag"]]
    for name in ("judge", "answer"):
        result[name] = result[name].astype(object).where(result[name].notna(), np.nan)
    return result


def criteria_apart(frames: Sequence[pd.DataFrame], groups: Sequence[str]) -> list[str]:
    """The column of the criterion if classes of some raters differ by it: neither agreement nor chance is pooled."""
    if "criterion" in groups or not all({"criterion", "answer"} <= {*frame.columns} for frame in frames):
        return []
    both = pd.concat([frame[["criterion", "answer"]].astype(object) for frame in frames])
    return ["criterion"] if unlike_classes(both["criterion"], both["answer"]) else []


def _cluster_of(raters: References, groups: list[str], cluster: Cluster) -> tuple[str, str]:
    """The column that intervals are clustered by, and a flag where it does not suffice."""
    models, people = raters.models, raters.people
    both = [c for c in models.columns if c in people.columns or c in groups]
    units = [c for c in (*ABOUT[kind_of(models.columns)], "first", "second") if c in both]
    return clustered_by(raters.study.part(models[both]), groups, cluster, units, whole="item")


@dataclass(frozen=True)
class _Pairs:
    """Pairs of answers by pattern (N,)."""

    table: Factors  # their columns
    answered: Mask  # whether neither is missing
    n: Floats
    equal: Floats  # how many are equal

    def where(self, rows: Rows) -> _Pairs:
        """Some of them."""
        return _Pairs(self.table.take(rows), self.answered[rows], self.n[rows], self.equal[rows])

    def each_group(self, groups: list[str]) -> Iterator[tuple[Record, _Pairs]]:
        """Key and pairs of each group."""
        return ((key, self.where(rows)) for key, rows in self.table.each_group(groups))

    def both(self, one: str, two: str) -> tuple[Answers, Answers]:
        """Two of the columns."""
        return self.table.series(one).to_numpy(dtype=object), self.table.series(two).to_numpy(dtype=object)

    @property
    def apart(self) -> tuple[str, str] | None:
        """Two raters who are on different scales."""
        answers, raters = self.both("answer", "other_answer"), self.both("judge", "other")
        return scales_apart(pd.Series(np.concatenate(answers).astype(float)), pd.Series(np.concatenate(raters)))


def _pairs_of(counts: pd.DataFrame) -> _Pairs:
    """The pairs of :func:`count_raters`."""
    table, n = Factors(counts), counts["n"].to_numpy(dtype=float)
    answers = table.of(["answer", "other_answer"])
    one, two = (has_answer(f.labels)[f.code] for f in answers)
    first, second = (np.array([str(label) for label in f.labels], dtype=object)[f.code] for f in answers)
    return _Pairs(table, one & two, n, n * (first == second))


def _pooled_rows(pairs: _Pairs, kind: str, column: str, conf_level: float, labels: Record) -> Iterator[Record]:
    """Chance-corrected and raw agreement of pooled pairs of answers."""
    part = pairs.where(pairs.answered)
    n = part.n
    excluded = flags.EXCLUDED.of(float(pairs.n.sum()) - n.sum(), what="unit(s) without two answers")
    term = "concordance" if kind == "ratings" else "kappa"
    if not n.size:
        yield from (
            {**labels, "term": t, "estimate": np.nan, "n": 0.0, "flag": flags.NO_PAIRS} for t in (term, "agreement")
        )
        return
    if kind == "ratings" and (pair := part.apart):
        apart = flags.join(flags.OTHER_SCALE.of(high=pair[0], low=pair[1]), excluded)
        yield from ({**labels, "term": t, "estimate": np.nan, "n": n.sum(), "flag": apart} for t in (term, "agreement"))
        return
    answers, unit = part.both("answer", "other_answer"), part.table.codes([column])
    counts, statistic = (concordance_of if kind == "ratings" else kappa_of)(*answers, n)
    value = float(statistic(counts.sum(axis=0)[None])[0])
    added = sums_within(counts, unit.code, unit.size)
    equal, size = (np.bincount(unit.code, x).astype(np.float64) for x in (part.equal, n))
    without = statistic(added.sum(axis=0) - added)
    estimate = jackknifed(value, without, size, column, conf_level)
    small = flags.SMALL_N if n.sum() < 30 else ""
    note = flags.join(estimate.flag, small, flags.ONE_LABEL if np.isnan(value) else "", excluded)
    yield {**labels, "term": term, "estimate": value, "n": n.sum(), **estimate.interval, "flag": note}
    share = _clustered_share(equal, size, column, conf_level)
    yield {**labels, "term": "agreement", **share, "flag": flags.join(share["flag"], small, excluded)}


def _clustered_share(k: Floats, size: Floats, column: str, conf_level: float) -> Record:
    """A share with its clustered interval, from the hits and sizes of clusters."""
    return clustered_share(k, size, column, conf_level).cells


def _difference_to_people(judge: _Pairs, people: _Pairs, column: str, conf_level: float, *, scores: bool) -> Record:
    """Agreement of a judge with people less that among people, on clusters that they share."""
    sides = [side.where(side.answered) for side in (judge, people)]
    if scores and (pair := next(filter(None, (side.apart for side in sides)), None)):
        return {"estimate": np.nan, "n": 0.0, "flag": flags.OTHER_SCALE.of(high=pair[0], low=pair[1])}
    if not all(side.n.sum() for side in sides):
        return {"estimate": np.nan, "n": 0.0, "flag": flags.NO_PAIRS}
    clusters = [side.table[column] for side in sides]
    labels, _ = pd.factorize(np.concatenate([x.labels for x in clusters]), use_na_sentinel=False)
    places = np.split(labels, [len(clusters[0].labels)])
    parts = [place[x.code] for place, x in zip(places, clusters, strict=True)]
    k, size = (
        np.column_stack([np.bincount(at, x, labels.max() + 1) for at, x in zip(parts, sums, strict=True)]).astype(float)
        for sums in ([side.equal for side in sides], [side.n for side in sides])
    )
    shared = (size > 0).all(axis=1)
    if not shared.any():
        return {"estimate": np.nan, "n": 0.0, "flag": flags.NO_PAIRS}
    there = size.any(axis=1)
    k, size, n = k[shared], size[shared], size[shared].sum(axis=0)
    apart = flags.EXCLUDED.of(int((there & ~shared).sum()), what=f"{column}(s) without both agreements")
    things = n[0] / np.unique(sides[0].table["other"].code).size
    value, error, low, high = clustered_ratios(k, size, np.array([1.0, -1.0]), conf_level, 1.0, things=float(things))
    method = methods.clustered(methods.PSEUDO_OBSERVATIONS, column, size[:, 0])
    flag = flags.join(flags.few_clusters(size[:, 0]), flags.SMALL_N if n[0] < 30 else "", apart)
    error = error if error > 0 else np.nan
    return with_interval(error, low, high, estimate=value, n=float(n[0]), method=method, flag=flag)


def kappa_of(one: Answers, two: Answers, n: Floats) -> tuple[Floats, Statistic]:
    """Counts of the cells of the table of two answers, and Cohen's kappa of their totals."""
    code, labels = pd.factorize(np.concatenate([one, two]))
    left, right, m = code[: len(n)], code[len(n) :], len(labels)
    counts = np.zeros((len(n), m * m))
    counts[np.arange(len(n)), left * m + right] = n

    def kappa(totals: Floats) -> Floats:
        table = totals.reshape(-1, m, m)
        table = quotient(table, table.sum(axis=(1, 2), keepdims=True))
        observed = np.einsum("bii->b", table)
        expected = np.einsum("bi,bi->b", table.sum(axis=2), table.sum(axis=1))
        return quotient(observed - expected, 1 - expected, expected < 1 - 1e-12)

    return counts, kappa


def concordance_of(one: Answers, two: Answers, n: Floats) -> tuple[Floats, Statistic]:
    """Sums of two scores, their squares and products, and Lin's concordance of their totals."""
    x, y = one.astype(float), two.astype(float)
    middle = float(np.average(np.concatenate([x, y]))) if len(n) else 0.0
    x, y = x - middle, y - middle
    counts = np.column_stack([n, n * x, n * y, n * x**2, n * y**2, n * x * y])

    def concordance(totals: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            size, sx, sy, xx, yy, xy = totals.T
            mx, my = sx / size, sy / size
            below = xx / size + yy / size - 2 * mx * my  # var + var + squared distance of the means
            result: Floats = np.where(below > 1e-15, 2 * (xy / size - mx * my) / below, np.nan)
        return result

    return counts, concordance


def concordances(data: Calls, by: tuple[str, ...] = ()) -> pd.DataFrame:
    """Lin's concordance of each pair of judges on all things that both rated, pooled; of classes their kappa.

    Empty where there are none.
    """
    try:
        if answer_column(Study.of(data).names) == "answer":
            return kappa(cast("IntoFrame", data), by=by)
        counts = count_raters(data, by)[0]
    except JudgestatsError:
        return pd.DataFrame(columns=[*by, "judge", "other", "term", "estimate", "n"])
    counts = counts[counts["answer"].notna() & counts["other_answer"].notna()]
    one, two, n = (counts[c].to_numpy(dtype=float) for c in ("answer", "other_answer", "n"))
    sums, statistic = concordance_of(one, two, n)
    keys = [*by, "judge", "other"]
    totals = pd.DataFrame(sums).groupby([counts[k].to_numpy() for k in keys], sort=True).sum()
    concordance = totals.index.to_frame(index=False, name=keys)
    return concordance.assign(term="concordance", estimate=statistic(totals.to_numpy()), n=totals[0].to_numpy())


def answers_of_people(people: pd.DataFrame, kind: str) -> Column:
    """A candidate or ``tie`` (of more than two candidates the slot), a class or a score; missing if there is none."""
    if kind != "preferences":
        scores = people[answer_column(people.columns)]
        return (scores if kind == "classes" else pd.to_numeric(scores, errors="coerce")).astype(object)
    answer = people["choice"].astype(object).replace({"abstain": "tie"})
    answer = answer.where(answer.notna() & answer.ne("invalid"), None)
    candidates = pd.concat([people["first"], people["second"]]).astype(str).unique()
    if len(candidates) == 2:
        chosen = people["first"].astype(str).where(answer.eq("first"), people["second"].astype(str))
        answer = answer.where(~answer.isin(["first", "second"]), chosen)
    return answer


def _base_rates(people: pd.DataFrame, groups: list[str], kind: str, column: str, conf_level: float) -> Iterator[Record]:
    """Share of each answer of the people, and of the most frequent one."""
    answer = answers_of_people(people, kind)
    columns, n = Factors(people), call_counts(people[COUNTS]) if COUNTS in people.columns else np.ones(len(people))
    cluster, valid, of_answers = columns[column].code, answer.notna().to_numpy(), factor_of(answer)
    for key, rows in columns.each_group(groups):
        invalid = flags.INVALID_EXCLUDED.of(n[rows[~valid[rows]]].sum())
        at = rows[valid[rows]]
        totals = np.bincount(of_answers.code[at], n[at], len(of_answers.labels))
        row = {**key, "role": "people", "judge": np.nan}
        if not at.size:
            none = {
                "term": "constant_answer",
                "estimate": np.nan,
                "n": 0.0,
                "flag": flags.join(flags.NO_PAIRS, invalid),
            }
            yield {**row, **none}
            continue
        present = np.unique(of_answers.code[at])
        listed = [("base_rate", a) for a in present if kind != "ratings" or present.size <= MOST_LEVELS]
        unit, size = np.unique(cluster[at], return_inverse=True)[1], n[at]
        for term, label in [*listed, ("constant_answer", int(totals.argmax()))]:
            k, sizes = (np.bincount(unit, x).astype(np.float64) for x in (size * (of_answers.code[at] == label), size))
            share = _clustered_share(k, sizes, column, conf_level)
            cells = {"term": term, "answer": of_answers.labels[label], **share}
            yield {**row, **cells, "flag": flags.join(share["flag"], invalid)}
