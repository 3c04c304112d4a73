"""May a judge replace a person? The alternative annotator test: :func:`alternative_annotator_test`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Literal

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray
from scipy.special import stdtr

from judgestats import flags
from judgestats.counting.clustering import CANDIDATES, ENOUGH, SAMPLED, Cluster, auto_cluster, cluster_codes, clusters
from judgestats.counting.raters import matched_calls
from judgestats.counting.selection import gathered
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError
from judgestats.kernels.cluster_robust import degrees_of_freedom
from judgestats.kernels.cluster_sums import clusters_note, effective_clusters, sums_within
from judgestats.kernels.proportions import clustered_mean, clustered_wilson
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.metrics.references import Humans, references
from judgestats.metrics.requirements import people_named
from judgestats.metrics.scales import refuse_several_scales
from judgestats.results import estimates, with_interval
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import By, grouping, names
from judgestats.typing import Floats, Record

Alignment = Literal["auto", "accuracy", "rmse"]

#: Fewest items of an annotator, and fewest clusters, that are tested.
LEAST_ITEMS, LEAST_CLUSTERS = 30, 10
#: With fewer items the test is flagged as lenient.
ENOUGH_ITEMS = 100
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
        Domains or conditions, each with its own tests; the p-values are adjusted over all of them.
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
    groups = [g for g in grouping(by, list(raters.models.columns)) if g != "judge"]
    shared = [c for c in (*(cluster_columns or ()), "prompt", "task") if c in raters.models.columns and c not in groups]
    for column in cluster_columns or ():
        grouping(column, list(raters.models.columns), argument="cluster")
    calls, people, kind = matched_calls(raters.models, raters.people, groups, shared)
    if (calls["n"] != 1).any() or (people["n"] != 1).any():
        raise DesignError("The test compares single answers, and some rows carry a count. Give one row a call.")
    labels = not pd.api.types.is_numeric_dtype(calls["answer"])  # sides of a pair, or classes
    how = "accuracy" if alignment == "accuracy" or (alignment == "auto" and labels) else "rmse"
    if how == "rmse" and labels:
        what = "preferences" if kind == "preferences" else "classes"
        raise DesignError(f"alignment='rmse' is of scores, and these are {what}. Use 'accuracy'.")
    answered = [(t["answer"] != "invalid") & t["answer"].notna() for t in (calls, people)]
    people = people[answered[1]]
    people = people[people.groupby("thing")["judge"].transform("size") > 1]
    keys = [*groups, "judge"]
    invalid, without_two_people = ~answered[0].to_numpy(), ~calls["thing"].isin(people["thing"]).to_numpy()
    assumed = alignment == "auto" and not labels and _whole(calls["answer"][answered[0]], people["answer"])
    units = _advantages(calls[answered[0]], people, keys, how, cluster_columns or ())
    column, dependent = _cluster(raters.study, units, [*keys, "annotator"], cluster_columns)
    both = codes_of(pd.concat([calls[keys], units[keys]], ignore_index=True), keys)
    order = np.argsort(both.code[len(calls) :], kind="stable")
    parts = np.split(order, np.searchsorted(both.code[len(calls) :][order], np.arange(1, both.size)))
    rows: list[Record] = []
    for g, (at, part) in enumerate(zip(both.first, parts, strict=True)):
        of_judge = both.code[: len(calls)] == g
        if how == "rmse":
            judged = calls[of_judge & answered[0].to_numpy()]
            scale_people = people[people["thing"].isin(judged["thing"])]
            refuse_several_scales(
                *(pd.concat([judged[c], scale_people[c]]).reset_index(drop=True) for c in ("answer", "judge"))
            )
        lost = (
            flags.INVALID_EXCLUDED.of((of_judge & invalid).sum()),
            flags.EXCLUDED.of((of_judge & without_two_people).sum(), what=_ALONE),
        )
        test = _Group(units.iloc[part], float(epsilon), column, flags.join(dependent, *lost), conf_level)
        rows += [{**calls[keys].iloc[at].to_dict(), **row} for row in test.rows(raters.humans)]
    if assumed:
        for row in rows:
            row["flag"] = flags.join(row["flag"], flags.TAKEN_AS_NUMBERS)
            row["method"] = ", ".join(filter(None, (row.get("method", ""), "alignment by rmse")))
    table = estimates(rows, [*keys, "annotator"], ("p_value", "p_adjusted", "passed"), sort=False)
    return _decided(table, keys)


def _whole(*answers: pd.Series) -> bool:
    """Whether all answers are whole numbers: the points of a scale, or codes of classes, of which there may be many."""
    return all(bool((a.astype(float) % 1 == 0).all()) for a in answers)


def _advantages(
    calls: pd.DataFrame, people: pd.DataFrame, groups: list[str], how: str, keep: tuple[str, ...]
) -> pd.DataFrame:
    """A row per judge, thing, person left out: ``won`` (W of the judge), ``difference`` (W of the person less it)."""
    both = pd.concat([calls["answer"], people["answer"]])
    answers = pd.factorize(both)[0] if how == "accuracy" else both.to_numpy(dtype=float)
    judge_answers, people_answers = answers[: len(calls)], answers[len(calls) :]
    people = pd.DataFrame(
        {"thing": people["thing"], "annotator": people["judge"].astype(str), "_theirs": people_answers}
    )

    def loss(one: pd.Series[float], two: pd.Series[float]) -> Floats:
        losses: Floats = (one != two if how == "accuracy" else (one - two) ** 2).to_numpy(dtype=float)
        return losses

    pairs = people.merge(people, on="thing", suffixes=("", "_other"))
    pairs["_person"] = loss(pairs["_theirs"], pairs["_theirs_other"])  # 0 with themselves
    person = pairs.groupby(["thing", "annotator"], as_index=False)["_person"].sum()
    calls = calls.drop(columns=["answer", "n"]).assign(_call=np.arange(len(calls)), _given=judge_answers)
    compared = calls.merge(people, on="thing").merge(person, on=["thing", "annotator"])
    compared["_one"] = loss(compared["_given"], compared["_theirs"])
    total = compared.groupby("_call")["_one"].transform("sum").to_numpy()
    judge, one = total - compared["_one"].to_numpy(), compared["_person"].to_numpy()  # sums over the same other people
    equal = np.abs(judge - one) <= 1e-9 * (total + one)
    compared["won"] = ((judge < one) | equal).astype(float)
    compared["difference"] = ((one < judge) | equal) - compared["won"]
    if "_low" in calls:
        compared = compared.drop(columns=["first", "second"]).rename(columns={"_low": "first", "_high": "second"})
    unit_columns = [c for c in (*CANDIDATES, *keep, "first", "second") if c in compared and c not in groups]
    about = dict.fromkeys(unit_columns, "first")
    about |= {"won": "mean", "difference": "mean"}
    keys = [*groups, "thing", "annotator"]
    return compared.groupby(keys, as_index=False, dropna=False, sort=True, observed=True).agg(about)


def _cluster(
    study: Study, units: pd.DataFrame, groups: list[str], cluster_columns: tuple[str, ...] | None
) -> tuple[str, str]:
    """The column that things share, empty if none; and a flag where it is ignored."""
    if cluster_columns or units.empty:
        return (cluster_columns or ("",))[0], ""
    clustering = auto_cluster(study, groups, "item", len(units), units=Study.of(units))
    if cluster_columns is not None:
        return "", flags.NOT_INDEPENDENT if clustering.shared else ""
    return clustering.column, "" if clustering.column else _fixed(units)


def _fixed(units: pd.DataFrame) -> str:
    """Flag of things that share so few prompts or tasks that these are taken as fixed."""
    things = units["thing"].nunique()
    few = {c: units[c].nunique() for c in ("task", "prompt") if c in units.columns}
    return next((flags.TASKS_FIXED.of(n, what=c) for c, n in few.items() if 1 < n < SAMPLED and n < things), "")


@dataclass(frozen=True)
class _Group:
    """The people left out of one judge, in one group."""

    units: pd.DataFrame  # one row per thing and person, as from :func:`_advantages`
    epsilon: float
    column: str  # cluster column, empty if there is none
    flag: str  # of every row
    conf_level: float

    def rows(self, humans: tuple[str, ...]) -> Iterator[Record]:
        """Rows of the judge, then of each person; whether the judge passes is decided over all groups."""
        each = [self._person(name) for name in humans]
        tested = [name for name, rows in zip(humans, each, strict=True) if not math.isnan(rows[1]["p_value"])]
        skipped = flags.EXCLUDED.of(len(humans) - len(tested), what="annotator(s) not tested")
        rate = {"annotator": np.nan, "term": "winning_rate", "estimate": np.nan, "n": len(tested)}
        yield {**rate, "flag": flags.join(self.flag, skipped, flags.NO_INTERVAL if tested else flags.NOBODY_TESTED)}
        mean = {"annotator": np.nan, "term": "advantage_probability", **self._probability(tested)}
        yield {**mean, "flag": flags.join(self.flag, skipped, mean["flag"])}
        for rows in each:
            yield from rows

    def _probability(self, people: list[str]) -> Record:
        """Mean over people of how often the judge is as close as they are."""
        tested_units = self.units[self.units["annotator"].isin(people)]
        if tested_units.empty:
            return {"estimate": np.nan, "n": 0.0, "flag": flags.NO_DATA}
        size = tested_units.groupby("annotator")["won"].transform("size").to_numpy()
        things = float(tested_units["thing"].nunique())
        weight = things / size / len(people)
        unit = self._codes(tested_units)
        k, n = (np.bincount(unit, x).astype(np.float64) for x in (weight * tested_units["won"].to_numpy(), weight))
        error, low, high = clustered_wilson(k, n, self.conf_level)
        method = f"Wilson, clustered by {self.column or 'thing'} ({clusters_note(n)})"
        few, value = flags.few_clusters(n, hits=k), k.sum() / n.sum()
        return with_interval(error, low, high, estimate=value, n=things, method=method, flag=few)

    def _codes(self, rows: pd.DataFrame) -> NDArray[np.intp]:
        """Cluster of each row."""
        code = cluster_codes(rows, self.column) if self.column else codes_of(rows, ["thing"]).code
        result: NDArray[np.intp] = np.unique(code, return_inverse=True)[1]
        return result

    def _person(self, name: str) -> tuple[Record, Record]:
        """Rows of one person."""
        person_units = self.units[self.units["annotator"] == name]
        probability = {"annotator": name, "term": "advantage_probability", **self._probability([name])}
        cells: Record = {"annotator": name, "term": "difference", "estimate": np.nan, "n": len(person_units)}
        cells |= {
            "p_value": np.nan,
            "flag": flags.join(self.flag, flags.NOT_TESTED.of(why=f"fewer than {LEAST_ITEMS} items")),
        }
        probability["flag"] = flags.join(self.flag, probability["flag"])
        if person_units.empty:
            return probability, {**cells, "flag": flags.join(self.flag, flags.NO_DATA)}
        unit, d = self._codes(person_units), person_units["difference"].to_numpy()
        k, size = sums_within(np.column_stack([d, np.ones_like(d)]), unit, int(unit.max()) + 1).T
        n = len(d)
        mean, error, low, high = clustered_mean(k, size, self.conf_level)
        cells["estimate"] = mean
        caution = flags.join(self.flag, flags.few_clusters(size) if self.column else "")
        cells["flag"] = flags.join(caution, cells["flag"])
        if not math.isnan(error):
            cells["method"] = f"t, clustered by {self.column} ({clusters_note(size)})" if self.column else "t"
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
        lenient = flags.TEST_LENIENT if self.column and n_effective < ENOUGH else ""
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


def _decided(table: pd.DataFrame, groups: list[str]) -> pd.DataFrame:
    """Adjust the p-values of each judge, and say whom it passes."""
    from statsmodels.stats.multitest import multipletests

    passed = np.full(len(table), np.nan, dtype=object)
    adjusted = np.full(len(table), np.nan)
    tested = table["p_value"].notna().to_numpy()
    for _, at in table.groupby("judge", dropna=False).indices.items():
        at = at[tested[at]]
        if at.size:
            rejected, adjusted[at], _, _ = multipletests(table["p_value"].to_numpy()[at], ERROR_RATE, "fdr_by")
            passed[at] = rejected
    table = table.assign(p_adjusted=adjusted, passed=passed)
    for key in table.groupby(groups, dropna=False, sort=False).indices.values():
        rate, passed_people = key[0], passed[key[tested[key]]].astype(float)  # the winning rate is the first row
        if passed_people.size:
            share = float(passed_people.mean())
            table.loc[rate, ["estimate", "passed"]] = share, share >= MAJORITY
            if share < MAJORITY:
                table.loc[rate, "flag"] = flags.join(flags.NOT_REPLACEABLE, table["flag"].iat[rate])
    return table.sort_values(groups, kind="stable", ignore_index=True)
