"""May a judge replace a person? The alternative annotator test: :func:`alternative_annotator_test`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray
from scipy.special import stdtr

from judgestats import flags, methods
from judgestats.counting.clustering import CANDIDATES, Cluster, auto_cluster, clusters
from judgestats.counting.raters import MatchedRaters, matched_calls, same_code
from judgestats.counting.selection import gathered
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError
from judgestats.estimate import clustered_share
from judgestats.kernels.cluster_robust import degrees_of_freedom
from judgestats.kernels.cluster_sums import effective_clusters
from judgestats.kernels.proportions import clustered_mean
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.metrics.references import Humans, references
from judgestats.metrics.requirements import people_named
from judgestats.metrics.scales import refuse_several_scales
from judgestats.results import estimates, in_order, with_interval
from judgestats.schema.coding import compact, first_rows, joint
from judgestats.schema.columns import By, answer_column, grouping, names
from judgestats.schema.factors import Factor, Factors
from judgestats.typing import Floats, Integers, Ints, Mask, Record

Alignment = Literal["auto", "accuracy", "rmse"]

#: Fewest items of an annotator, and fewest clusters, that are tested.
LEAST_ITEMS, LEAST_CLUSTERS = 30, 10
#: With fewer items, or fewer clusters, the test is flagged as lenient.
ENOUGH_ITEMS, ENOUGH_CLUSTERS = 100, 30
#: False discovery rate of the tests, and share of the annotators that a judge must pass.
ERROR_RATE, MAJORITY = 0.05, 0.5
_ALONE = "call(s) without the answers of two people"


@Measure(
    "May the judge replace a person?", "people", "P, R", "Wilson, clustered; difference: t, clustered",
    "Calderon et al. 2025", needs=(people_named,),
    terms=(
        Term("winning_rate", "share of people that the judge is as good as", "judge", "people tested", "lower",
             "The share of the people tested whom the judge is shown to represent as well as they do, less epsilon.",
             form="share"),
        Term("advantage_probability", "as good as the person", "item", "items", "lower",
             "How often the judge is as close to the other people as the person is. Ties count.", neutral=0.5,
             form="share"),
        Term("difference", "advantage of the person", "item", "items", "higher",
             "How often the person is as close to the other people as the judge, less how often the judge is.",
             neutral=0.0),
    ),
    classes=True,
    have=("people",),
    assumes=(
        "Each person left out is as good a judge of the items as the others; items are independent, unless they "
        "share a cluster."
    ),
)  # fmt: skip
def alternative_annotator_test(
    data: IntoFrame,
    *,
    humans: Humans,
    epsilon: float,
    alignment: Alignment = "auto",
    by: By = (),
    cluster: Cluster = "auto",
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Test whether a judge may replace a person (the alternative annotator test).

    Each person in turn is left out: is the judge as close to the other people as the one left out?

    Parameters
    ----------
    data : frame
        Preferences or ratings by models and people, all named in ``judge``.
    humans : str, sequence of str, or mapping
        Names of the people; or ``{column: value}`` (or ``"column=value"``) that identifies them:
        ``"rater_type=human"``.
    epsilon : float
        By how much the judge may be worse, because it costs less: .2 for experts, .15 for skilled annotators, .1 for a
        crowd, in the paper's words.
    alignment : {'auto', 'accuracy', 'rmse'}
        How close an answer is to those of the other people: the share of equal answers (preferences, classes), or minus
        the root of the mean squared difference (ratings). ``auto``: by the kind of the data; ``method`` and ``flag``
        then say so where the ratings are whole numbers, which may be codes of classes.
    by : str or sequence of str
        Further grouping columns. Each domain or condition has tests of its own; the p-values are adjusted over all of
        them.
    cluster : "auto", str or False
        Column that the rated things share. ``"auto"`` detects it and names it in ``method``: the test is then on
        cluster-robust standard errors with t on their degrees of freedom. False is the published test, which treats all
        things as independent; flagged where they are not.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge, with a column ``annotator``. For each person: ``advantage_probability``, how often the judge is at
        least as close to the others as the person; and ``difference``, how often the person is, less how often the
        judge is, with ``p_value`` (of a mean of `epsilon` or more), ``p_adjusted``, and ``passed``. With ``annotator``
        missing: ``winning_rate``, the share of the people tested whom the judge passes, which ``passed`` says is one
        half or more; and the mean ``advantage_probability`` over them.

    Raises
    ------
    DesignError
        If there is no person or only one, `epsilon` is not in [0, 1], or a row carries a count.

    See Also
    --------
    judge_against_people : Judges compared with people.
    corrected_rate : A rate corrected for the judge's errors.

    Notes
    -----
    On the things that the person, another person and the judge answered, W is 1 for the judge (for the person) if its
    score is at least that of the person (of the judge): ties count for both. The test is a one-sided t test of the mean
    difference against `epsilon`. P-values are adjusted by Benjamini and Yekutieli over the people, and domains, of a
    judge, at a false discovery rate of .05. People with fewer than 30 things, or 10 clusters, are not tested and are
    listed with a flag. If the differences do not vary, the hypothesis is rejected if they are below `epsilon`. A judge
    with several calls on a thing (orders, repeats) has the mean of their W. The people are fixed: these are no results
    about people in general. A judge that passes is as good as single people, not as their majority.

    References
    ----------
    Calderon, N., Reichart, R., Dror, R. (2025). The alternative annotator test for LLM-as-a-judge. ACL 2025
    (arXiv 2501.10970). Benjamini, Y., Yekutieli, D. (2001). Annals of Statistics 29, 1165-1188.

    Examples
    --------
    >>> flipped = {"Ann": (10, 0), "Bob": (8, 1), "Cyd": (5, 2), "g": (7, 3)}
    >>> rows = [(who, "s", i, (i % 2) ^ (i % every == at)) for who, (every, at) in flipped.items() for i in range(40)]
    >>> labels = pd.DataFrame(rows, columns=["judge", "system", "item", "score"])
    >>> found = alternative_annotator_test(labels, humans=["Ann", "Bob", "Cyd"], epsilon=0.2, alignment="accuracy")
    >>> found[["annotator", "term", "estimate", "p_value", "passed"]].round(3)
      annotator                   term  estimate  p_value passed
    0       NaN           winning_rate     1.000      NaN   True
    1       NaN  advantage_probability     0.900      NaN    NaN
    2       Ann  advantage_probability     0.900      NaN    NaN
    3       Ann             difference     0.000    0.004   True
    4       Bob  advantage_probability     0.900      NaN    NaN
    5       Bob             difference     0.000    0.004   True
    6       Cyd  advantage_probability     0.900      NaN    NaN
    7       Cyd             difference    -0.075    0.001   True
    """
    margin: object = epsilon
    if isinstance(margin, bool) or not isinstance(margin, Real) or not 0 <= float(margin) <= 1:
        raise DesignError(
            f"epsilon={epsilon!r} is not a margin. Allowed: 0 to 1; the paper suggests .2 against experts, .15 against "
            "skilled annotators, .1 against a crowd."
        )
    cluster_columns = clusters(cluster)
    if cluster_columns and len(cluster_columns) > 1:
        raise DesignError(f"cluster={cluster!r} names {len(cluster_columns)} columns. This test takes one.")
    columns = [*names(by), *(cluster_columns or ()), *(humans if isinstance(humans, Mapping) else ())]
    raters = references(Study.rows_of(data, gathered(data, columns)), humans)
    if len(raters.humans) < 2:
        raise DesignError(
            f"The test leaves each person out and compares with the others: it needs two people or more, and humans= "
            f"names {', '.join(raters.humans) or 'nobody'}. With one person use judge_against_people().",
            problem="needs two people",
        )
    if raters.models.empty:
        raise DesignError("No judge remains besides the people.")
    present = raters.study.names
    keys = [*(g for g in grouping(by, present) if g != "judge"), "judge"]
    for column in cluster_columns or ():
        grouping(column, present, argument="cluster")
    matched = matched_calls(raters.study, raters.people, keys[:-1])
    if any(rows.weight is not None and (rows.weight != 1).any() for rows in (matched.calls, matched.others)):
        raise DesignError("The test compares single answers, and some rows carry a count. Give one row a call.")
    labels = matched.kind == "preferences" or answer_column(present) == "answer"  # sides of a pair, or classes
    how: Alignment = "accuracy" if alignment == "accuracy" or (alignment == "auto" and labels) else "rmse"
    if how == "rmse" and labels:
        what = "preferences" if matched.kind == "preferences" else "classes"
        raise DesignError(f"alignment='rmse' is of scores, and these are {what}. Use 'accuracy'.")
    valid, answered = matched.answered
    answered &= (
        np.bincount(matched.other_thing[answered], minlength=len(answered) + len(valid))[matched.other_thing] > 1
    )
    alone = ~np.isin(matched.thing, matched.other_thing[answered])
    compared = matched.where(valid, answered)
    judges = matched.calls.columns.codes(keys)
    units = _units(compared, raters.humans, judges.code[valid], [*keys, *(cluster_columns or ())], how)
    column, dependent = _cluster(raters.study, units, [*keys, "annotator"], cluster_columns)
    # Whole numbers are the points of a scale, or codes of classes, of which there may be many.
    assumed = alignment == "auto" and not labels and all(bool((x % 1 == 0).all()) for x in compared.scores)
    tests: list[list[Record]] = []
    for g, (key, _) in enumerate(matched.calls.columns.each_group(keys)):
        of_judge = judges.code == g
        if how == "rmse":
            _refuse_several_scales(compared, of_judge[valid])
        lost = (
            flags.INVALID_EXCLUDED.of((of_judge & ~valid).sum()),
            flags.EXCLUDED.of((of_judge & alone).sum(), what=_ALONE),
        )
        at = np.flatnonzero(units.judge == g)
        group = _Replacement(units, at, float(epsilon), column, flags.join(dependent, *lost), conf_level)
        tests.append([{**key, **row} for row in group.rows(raters.humans)])
    for row in (row for rows in tests for row in rows if assumed):
        row["flag"] = flags.join(row["flag"], flags.TAKEN_AS_NUMBERS)
        row["method"] = row.get("method", methods.NONE).noting("alignment by rmse")
    _decide(tests)
    rows = [row for rows in tests for row in rows]
    table = estimates(rows, [*keys, "annotator"], ("p_value", "p_adjusted", "passed"), sort=False)
    table["passed"] = table["passed"].astype(object)
    return in_order(table, keys)


def _refuse_several_scales(compared: MatchedRaters, of_judge: Mask) -> None:
    """Raise where a judge and the people who answered the same things are on scales far apart."""
    beside = np.isin(compared.other_thing, compared.thing[of_judge])
    parts = list(zip((compared.calls, compared.others), compared.scores, (of_judge, beside), strict=True))
    raters = [study.columns.take(rows).series("judge") for study, _, rows in parts]
    refuse_several_scales(
        pd.Series(np.concatenate([x[rows] for _, x, rows in parts])), pd.concat(raters, ignore_index=True)
    )


class _Units(NamedTuple):
    """Things that a judge, a person left out and another person answered (N,): triples, so no panel."""

    study: Study  # their columns, and ``annotator``: the person left out
    judge: Integers  # number of the judge in its group
    annotator: Integers  # place of the person left out among the people
    thing: Integers
    won: Floats  # W of the judge, its mean where it has several calls
    difference: Floats  # W of the person less that of the judge


def _units(
    compared: MatchedRaters, humans: tuple[str, ...], judge: Integers, columns: list[str], how: Alignment
) -> _Units:
    """Compare each judge with each person; `judge` (N,): number of the judge of each call in its group."""
    ours, theirs = compared.answers if how == "accuracy" else compared.scores

    def loss(one: Floats | Integers, two: Floats | Integers) -> Floats:
        return (one != two).astype(float) if how == "accuracy" else np.square(one - two, dtype=float)

    one, two = same_code(compared.other_thing, compared.other_thing)
    of_people = np.bincount(one, loss(theirs[one], theirs[two]), theirs.size)  # 0 with themselves
    call, person = compared.met
    judge_loss = loss(ours[call], theirs[person])
    total = np.bincount(call, judge_loss, ours.size)[call]
    of_judge, of_person = total - judge_loss, of_people[person]  # sums over the same other people
    equal = np.abs(of_judge - of_person) <= 1e-9 * (total + of_person)
    won = ((of_judge < of_person) | equal).astype(float)
    difference = ((of_person < of_judge) | equal) - won
    code, names_of_people = compared.others.columns["judge"]
    place = np.array([humans.index(str(name)) if str(name) in humans else -1 for name in names_of_people])[code][person]
    thing = compared.thing[call]
    parts = [(x, int(x.max(initial=-1)) + 1) for x in (judge[call], thing, place)]
    unit, units = compact(*joint(parts, call.size))
    first, size = first_rows(unit, units.size), np.bincount(unit, minlength=units.size)
    calls = compared.calls.columns
    if compared.kind == "preferences":
        calls = calls.but(first=calls["_low"], second=calls["_high"])
    about = [c for c in dict.fromkeys([*columns, *CANDIDATES, "first", "second"]) if c in calls]
    factors = {c: calls[c].at(call[first]) for c in about} | {"annotator": Factor(place[first], pd.Index(humans))}
    won, difference = (np.bincount(unit, x, units.size) / size for x in (won, difference))
    study = Study(Factors(factors=factors, rows=units.size))
    return _Units(study, judge[call][first], place[first], thing[first], won, difference)


def _cluster(
    study: Study, units: _Units, groups: list[str], cluster_columns: tuple[str, ...] | None
) -> tuple[str, str]:
    """The column that things share, empty if none; and a flag where it is ignored."""
    if cluster_columns or not units.thing.size:
        return (cluster_columns or ("",))[0], ""
    clustering = auto_cluster(study, groups, units.thing.size, units=units.study)
    if cluster_columns is not None:
        return "", flags.NOT_INDEPENDENT if clustering.shared else ""
    return clustering.column, ""


@dataclass(frozen=True)
class _Replacement:
    """The people left out of one judge, in one group."""

    units: _Units
    places: Ints  # of its units
    epsilon: float
    column: str  # cluster column, empty if there is none
    flag: str  # of every row
    conf_level: float

    def rows(self, humans: tuple[str, ...]) -> Iterator[Record]:
        """Rows of the judge, then of each person; whether the judge passes is decided over all groups."""
        each = [self._person(place, name) for place, name in enumerate(humans)]
        tested = [place for place, rows in enumerate(each) if not math.isnan(rows[1]["p_value"])]
        skipped = flags.EXCLUDED.of(len(humans) - len(tested), what="annotator(s) not tested")
        rate = {"annotator": np.nan, "term": "winning_rate", "estimate": np.nan, "n": len(tested)}
        yield {**rate, "flag": flags.join(self.flag, skipped, flags.NO_INTERVAL if tested else flags.NOBODY_TESTED)}
        mean = {"annotator": np.nan, "term": "advantage_probability", **self._probability(tested)}
        yield {**mean, "flag": flags.join(self.flag, skipped, mean["flag"])}
        for rows in each:
            yield from rows

    def _probability(self, people: list[int]) -> Record:
        """Mean over people of how often the judge is as close as they are."""
        at = self.places[np.isin(self.units.annotator[self.places], people)]
        if not at.size:
            return {"estimate": np.nan, "n": 0.0, "flag": flags.NO_DATA}
        person, things = self.units.annotator[at], float(np.unique(self.units.thing[at]).size)
        weight, unit = things / np.bincount(person)[person] / len(people), self._codes(at)
        k, n = (np.bincount(unit, x).astype(np.float64) for x in (weight * self.units.won[at], weight))
        return {**clustered_share(k, n, self.column or "thing", self.conf_level).cells, "n": things}

    def _codes(self, at: Ints) -> NDArray[np.intp]:
        """Cluster of some units."""
        code = self.units.study.candidates[self.column].code if self.column else self.units.thing
        result: NDArray[np.intp] = np.unique(code[at], return_inverse=True)[1]
        return result

    def _person(self, place: int, name: str) -> tuple[Record, Record]:
        """Rows of one person."""
        at = self.places[self.units.annotator[self.places] == place]
        probability = {"annotator": name, "term": "advantage_probability", **self._probability([place])}
        cells: Record = {"annotator": name, "term": "difference", "estimate": np.nan, "n": at.size}
        cells |= {
            "p_value": np.nan,
            "flag": flags.join(self.flag, flags.NOT_TESTED.of(why=f"fewer than {LEAST_ITEMS} items")),
        }
        probability["flag"] = flags.join(self.flag, probability["flag"])
        if not at.size:
            return probability, {**cells, "flag": flags.join(self.flag, flags.NO_DATA)}
        unit, n = self._codes(at), at.size
        k, size = (np.bincount(unit, x).astype(np.float64) for x in (self.units.difference[at], np.ones(n)))
        mean, error, low, high = clustered_mean(k, size, self.conf_level)
        cells["estimate"] = mean
        caution = flags.join(self.flag, flags.few_clusters(size) if self.column else "")
        cells["flag"] = flags.join(caution, cells["flag"])
        if not math.isnan(error):
            cells["method"] = methods.clustered(methods.T, self.column, size) if self.column else methods.T
            cells |= with_interval(error, max(low, -1.0), min(high, 1.0))
        if n < LEAST_ITEMS:
            return probability, cells
        n_effective = effective_clusters(size)
        if self.column and n_effective < LEAST_CLUSTERS:
            why = (
                f"fewer than {LEAST_CLUSTERS} clusters"
                if size.size < LEAST_CLUSTERS
                else flags.UNEQUAL_CLUSTERS.of(round(n_effective))
            )
            return probability, {**cells, "flag": flags.join(caution, flags.NOT_TESTED.of(why=why))}
        lenient = flags.TEST_LENIENT if self.column and n_effective < ENOUGH_CLUSTERS else ""
        if not self.column and n < ENOUGH_ITEMS:
            lenient = flags.TEST_OF_FEW_ITEMS
        if error > 0:
            p = float(stdtr(degrees_of_freedom(size), (mean - self.epsilon) / error))
            return probability, {**cells, "p_value": p, "flag": flags.join(caution, lenient)}
        return probability, {
            **cells,
            "p_value": float(mean >= self.epsilon),
            "flag": flags.join(caution, flags.NO_SPREAD),
        }


def _decide(tests: list[list[Record]]) -> None:
    """Adjust the p-values of each judge, and say whom it passes; the first row of each group is the winning rate."""
    from statsmodels.stats.multitest import multipletests

    of_judge: dict[str, list[Record]] = {}
    for row in (row for rows in tests for row in rows if not math.isnan(row.get("p_value", math.nan))):
        of_judge.setdefault(str(row["judge"]), []).append(row)
    for rows in of_judge.values():
        rejected, adjusted, _, _ = multipletests([row["p_value"] for row in rows], ERROR_RATE, "fdr_by")
        for row, p, passed in zip(rows, adjusted, rejected, strict=True):
            row |= {"p_adjusted": p, "passed": bool(passed)}
    for rate, *rows in tests:
        if passed_people := [row["passed"] for row in rows if "passed" in row]:
            share = float(np.mean(passed_people))
            rate |= {"estimate": share, "passed": share >= MAJORITY}
            if share < MAJORITY:
                rate["flag"] = flags.join(flags.NOT_REPLACEABLE, rate["flag"])
