"""A quantity under every defensible reading of the data: :func:`specifications`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.arguments import checked_arguments
from judgestats.counting.clustering import Cluster
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL, SEED
from judgestats.errors import DesignError, choose, confidence
from judgestats.metrics.question_marks import QUESTIONS, QuestionMarks, marks_of
from judgestats.metrics.readings import COLUMNS, QuestionReading, once_each
from judgestats.metrics.references import Humans, references
from judgestats.metrics.standings import biased, means_of, standing
from judgestats.schema.columns import By

_ENDS = ("estimate", "conf_low", "conf_high")
#: Columns of the result.
SPECIFICATIONS = (
    "question",
    "reading",
    "kind",
    "choice",
    "judge",
    *_ENDS,
    "rank",
    "best_set",
    "n",
    "clusters",
    "method",
    "flag",
)
HEADLINE = QuestionReading("headline", "headline", "", lambda marks: marks)


@checked_arguments
def specifications(
    calls: IntoFrame,
    *,
    question: Literal["right", "people", "steady", "position"] = "right",
    by: By = (),
    humans: Humans | None = None,
    readings: Mapping[str, Callable[[pd.DataFrame], pd.DataFrame]] | None = None,
    cluster: Cluster = "auto",
    conf_level: float = CONF_LEVEL,
    seed: int = SEED,
) -> pd.DataFrame:
    """A quantity of judges under every defensible reading of the data, one choice at a time.

    Parameters
    ----------
    calls : DataFrame
        Verdicts on pairs, answers or scores.
    question : {'right', 'people', 'steady', 'position'}
        Which judge is right by the column ``gold`` (or, of scores, closest to it), agrees with people, gives the same
        verdict in both orders, or prefers a place.
    by : str or sequence of str
        Further grouping columns: each judge in each of their levels is compared with all others. Up to 30 strategies,
        prompts, probes, schemes, conditions or temperatures under which one judge was asked are taken so, named or not.
    humans : str, sequence of str, or mapping
        Judges that are people, for ``question="people"``: their names, or ``{"column": "value"}``.
    readings : mapping of str to callable, optional
        Readings of your own: each takes the table of marks of the headline, and returns it with other values, other
        weights or fewer rows.
    cluster : str, sequence of str, ``"auto"`` or False
        Column that calls share, by which intervals are clustered. ``"auto"`` detects it (``item``, say) and names it in
        ``method``. False treats all calls as independent, with a flag where they are not.
    conf_level : float
        Coverage of the intervals.
    seed : int
        Seed of the critical value of intervals that hold for all pairs of judges.

    Returns
    -------
    pandas.DataFrame
        A row for each reading and judge, the headline first: ``question``, ``reading``, ``kind`` (``headline``,
        ``same question``, ``another question``, ``own``), ``choice`` (what differs from the headline), ``judge``, the
        conditions if there are any, ``estimate``, ``conf_low``, ``conf_high`` (of this judge alone), ``rank`` (1 is the
        best; equal ones share it), ``best_set`` (no other judge is shown to be better, by intervals that hold for all
        pairs at once; of ``position``: no bias is shown), ``n`` (units), ``clusters``, ``method``, ``flag``. A judge
        that a reading leaves without data has NaN and ``no data``; a column that nobody named, and in which calls on
        one thing differ, is flagged.

    Raises
    ------
    DesignError
        If the data do not admit the question, or a reading of your own returns no table of marks.

    See Also
    --------
    judgestats.compare_strategies : accuracy of strategies on the same pairs.

    Notes
    -----
    All readings are listed in advance, with reason and source, in ``docs/readings.md``; those whose condition does not
    hold are left out, because they repeat the headline.

    Source: Steegen et al. 2016 (multiverse analysis); Simonsohn, Simmons and Nelson 2020 (specification curve); Del
    Giudice and Gangestad 2021 (equivalent specifications).

    Examples
    --------
    >>> import judgestats as js
    >>> rows = [("g", f"q{i}", "ab"[k], "ba"[k], "tie" if i % 4 == 0 else ("first", "second")[k], "a")
    ...         for i in range(40) for k in (0, 1)]
    >>> calls = pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice", "gold"])
    >>> js.specifications(calls)[["reading", "kind", "estimate"]]
                        reading              kind  estimate
    0                  headline          headline     0.750
    1       a tie is half right     same question     0.875
    2  only where no judge ties     same question     1.000
    3      right in both orders  another question     0.750
    """
    confidence(conf_level)
    choose(question, QUESTIONS, "question")
    study, people = Study.whole(calls), None
    if question == "people":
        raters = references(study, humans)
        study, people = raters.study, raters.people
    headline = marks_of(study, question, cluster, by, people)
    own = [QuestionReading(name, "own", "own", _checked(name, make)) for name, make in (readings or {}).items()]
    rows, place = under_readings(headline, question, own, conf_level, seed), SPECIFICATIONS.index("judge")
    who = headline.contenders.loc[rows["judge"]].reset_index(drop=True).astype({"judge": str})
    rows = pd.concat([rows.drop(columns="judge"), who], axis=1)
    return rows[[*SPECIFICATIONS[:place], *who.columns, *SPECIFICATIONS[place + 1 :]]]


def under_readings(
    headline: QuestionMarks, question: str, own: Sequence[QuestionReading], conf_level: float, seed: int
) -> pd.DataFrame:
    """The rows of :func:`specifications`, each judge by its name in the marks."""
    judges = sorted(headline.marks["judge"].unique())
    tables = []
    for reading in (HEADLINE, *headline.readings, *own):
        if (marks := reading.making(headline.marks)) is not None:
            said = {"question": question, "reading": reading.name, "kind": reading.kind, "choice": reading.choice}
            table = (
                _of_reading(once_each(marks), reading, headline, conf_level, seed).set_index("judge").reindex(judges)
            )
            table["flag"] = table["flag"].astype(object).mask(table["estimate"].isna(), flags.NO_DATA)
            tables.append(table.fillna({"n": 0, "clusters": 0, "method": "", "best_set": False}).assign(**said))
    rows = pd.concat(tables).rename_axis("judge").reset_index()
    return rows[list(SPECIFICATIONS)].astype({"clusters": int, "best_set": bool})


def _of_reading(
    marks: pd.DataFrame, reading: QuestionReading, headline: QuestionMarks, conf_level: float, seed: int
) -> pd.DataFrame:
    """Estimate of each judge, its rank, and whether no other is shown to be better."""
    lower, bounds = (False, (-1.0, 1.0)) if reading.correlation else (headline.lower_is_better, headline.bounds)
    if headline.about_zero:
        means = means_of(marks, bounds=bounds, conf_level=conf_level, cluster=headline.cluster)
        bias = biased(marks, conf_level=conf_level, seed=seed)
        worse, worth = set(bias["judge"][(bias["conf_low"] > 0) | (bias["conf_high"] < 0)]), means["estimate"].abs()
    else:
        ranking = standing(
            marks,
            lower_is_better=lower,
            bounds=bounds,
            conf_level=conf_level,
            seed=seed,
            cluster=headline.cluster,
            wider=headline.wider,
        )
        means, pairs, sign = ranking.means, ranking.pairs, -1 if lower else 1
        ends = np.sort(sign * pairs[["conf_low", "conf_high"]].to_numpy(float), axis=1)
        worse = {*pairs["judge"][ends[:, 1] < 0], *pairs["other"][ends[:, 0] > 0]}
        worth = -sign * means["estimate"]
    means["flag"] = [flags.join(flag, headline.flag) for flag in means["flag"]]
    means = means.assign(rank=worth.round(12).rank(method="min"), best_set=~means["judge"].isin(worse))
    return means.assign(**{c: np.sqrt(means[c]) for c in _ENDS}) if reading.root else means


def _checked(name: str, make: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """A reading of the user's, whose result is a table of marks."""
    if not callable(make):
        raise DesignError(f"readings[{name!r}] is {make!r}. Give a function of the table of marks.")

    def making(marks: pd.DataFrame) -> pd.DataFrame:
        table = make(marks.copy())
        lacks = [c for c in COLUMNS if c not in table.columns] if isinstance(table, pd.DataFrame) else [*COLUMNS]
        if lacks:
            got = f"lacks {', '.join(lacks)}" if isinstance(table, pd.DataFrame) else f"is {type(table).__name__}"
            raise DesignError(
                f"readings[{name!r}] must return the table of marks with other values, weights or fewer rows; what it "
                f"returns {got}."
            )
        return table

    return making
