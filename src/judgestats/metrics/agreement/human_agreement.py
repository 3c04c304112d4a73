"""Agreement of judges with people, compared with that among people: :func:`judge_against_people`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray

from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError
from judgestats.metrics.agreement.chance_corrected import is_answer
from judgestats.metrics.measure_registry import Measure, Options, Term, people_named, with_people
from judgestats.metrics.rates import Bootstrap, Statistic, resampled
from judgestats.metrics.references import Humans, references
from judgestats.results import EXCLUDED, NO_PAIRS, ONE_LABEL, ONE_PERSON, SMALL_N, estimates, flags
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import By, grouping, kind_of, names
from judgestats.schema.raters import count_raters
from judgestats.schema.selection import gathered

Floats = NDArray[np.float64]


def _with_people(data: Any, options: Options) -> pd.DataFrame:
    everyone, humans = with_people(data, options)
    return options.call(judge_against_people, everyone, humans=humans)


@Measure(
    "Do judges agree with people as people agree with each other?", "people", "P, R", "bootstrap",
    "Lin 1989; Cohen 1960; Scott 1955", frames=("preferences", "ratings"), needs=(people_named,), take=_with_people,
    terms=(
        Term("concordance", "concordance (Lin)"),
        Term("agreement", "share of equal answers"),
        Term("constant_answer", "share of equal answers of the best constant answer"),
    ),
)  # fmt: skip
def judge_against_people(
    data: IntoFrame,
    *,
    humans: Humans,
    by: By = (),
    cluster: str = "item",
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
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
    cluster : str
        Column whose levels the bootstrap draws whole.
    n_resamples, seed
        Of the bootstrap.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        With a column ``role``: ``people`` (``judge`` missing), each person with each other person; ``judge``, the judge
        with each person. ``n`` counts pairs of answers on a rated item. Terms:

        - ``kappa`` (preferences): Cohen's kappa of the pooled pairs; among people, each pair counts in both orders
          (Scott's pi);
        - ``concordance`` (ratings): Lin's concordance correlation of the pooled pairs, which is quadratically weighted
          kappa, and 1 only where the scores are equal;
        - ``agreement``: share of pairs with equal answers;
        - ``constant_answer`` (role ``people``): the ``agreement`` of a judge that always gives the people's most
          frequent answer. A judge must exceed it to show any skill.

    Raises
    ------
    DesignError
        If `humans` names nobody, or all judges.

    Notes
    -----
    A judge can exceed the agreement among people: if it is close to the mean of the people, it errs less than a single
    person. Intervals: percentile bootstrap of `cluster`.

    References
    ----------
    Lin, L. I. (1989). Biometrics 45, 255-268. Scott, W. A. (1955). Public Opinion Quarterly 19, 321-325.

    Examples
    --------
    >>> answers = {"Ann": "112212", "Bob": "112112", "g": "112222"}
    >>> rows = [(j, "s", i, float(a)) for j, given in answers.items() for i, a in enumerate(given)]
    >>> scores = pd.DataFrame(rows, columns=["judge", "system", "item", "score"])
    >>> found = judge_against_people(scores, humans=["Ann", "Bob"])
    >>> found[found["term"] == "agreement"][["role", "judge", "estimate", "n"]].round(3)
         role judge  estimate     n
    1   judge     g     0.750  12.0
    3  people   NaN     0.833   6.0
    """
    kept = [*names(by), cluster, *(humans if isinstance(humans, Mapping) else ())]
    found = references(gathered(data, kept), humans)
    if not found.humans:
        message = "humans= names nobody. Name the judges that are people, or {'column': 'value'}."
        raise DesignError(message, advice=(("humans", None),))
    kind = kind_of(found.models.columns)
    groups = [g for g in grouping(by, list(found.models.columns)) if g != "judge"]
    theirs = [g for g in groups if g in found.people.columns]  # without the conditions of the judges
    plan = Bootstrap("percentile", (cluster,), None, n_resamples, seed, conf_level)
    parts: list[tuple[str, pd.DataFrame]] = []
    if len(found.humans) > 1:
        counts = count_raters(found.people, theirs, cluster)[0]
        turned = counts.rename(columns={"answer": "other_answer", "other_answer": "answer"})
        both_ways = pd.concat([counts, turned], ignore_index=True)
        parts.append(("people", both_ways.assign(judge=np.nan, n=both_ways["n"] / 2)))
    parts.append(("judge", count_raters(found.models, groups, cluster, found.people)[0]))
    rows = []
    for role, table in parts:
        by_judge = [*(theirs if role == "people" else groups), "judge"]
        for key, part in table.groupby(by_judge, dropna=False, sort=True):
            named = dict(zip(by_judge, key, strict=True))
            rows += [{**named, "role": role, **row} for row in _rows(part, kind, role, plan, named)]
    rows += [{**key, "role": "people", **row} for key, row in _constant(found.people, theirs, kind)]
    if len(found.humans) == 1:
        alone = {"term": "concordance" if kind == "ratings" else "kappa", "estimate": np.nan, "flag": ONE_PERSON}
        keys = found.people[theirs].drop_duplicates().to_dict("records") if theirs else [{}]
        rows += [{**key, "judge": np.nan, "role": "people", **alone} for key in keys]
    result = estimates(rows, [*groups, "role", "judge"])
    return result.assign(judge=result["judge"].astype(object).where(result["judge"].notna(), np.nan))


def _rows(part: pd.DataFrame, kind: str, role: str, plan: Bootstrap, key: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Chance-corrected and raw agreement of pooled pairs of answers."""
    known = is_answer(part["answer"]) & is_answer(part["other_answer"])
    without = float(part.loc[~known, "n"].sum())
    excluded = EXCLUDED.of(without * (role == "judge"), what="unit(s) without two answers")
    part = part[known]
    n = part["n"].to_numpy(dtype=float)
    named = {**key, "role": role}
    equal = (part["answer"].astype(str) == part["other_answer"].astype(str)).to_numpy()
    corrected = _concordance(part, n) if kind == "ratings" else _kappa(part, n)
    for term, (counts, statistic) in {
        "concordance" if kind == "ratings" else "kappa": corrected,
        "agreement": (np.column_stack([n * equal, n]), _share),
    }.items():
        row = {"term": term, "estimate": np.nan, "n": n.sum(), "flag": NO_PAIRS}
        if len(part):
            value = float(statistic(counts.sum(axis=0)[None])[0])
            drawn = resampled(part, counts, statistic, plan, {**named, "term": term})
            notes = SMALL_N if n.sum() < 30 else "", ONE_LABEL if np.isnan(value) else ""
            row |= {"estimate": value, **drawn, "flag": flags(drawn["flag"], *notes)}
        yield {**row, "flag": flags(row["flag"], excluded)}


def _share(totals: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        result: Floats = totals[:, 0] / totals[:, 1]
    return result


def _kappa(part: pd.DataFrame, n: Floats) -> tuple[Floats, Statistic]:
    """Counts of the cells of the table of two answers, and Cohen's kappa of their totals."""
    both = pd.concat([part["answer"], part["other_answer"]], ignore_index=True)
    code, labels = pd.factorize(both.astype(object))
    one, two, m = code[: len(part)], code[len(part) :], len(labels)
    counts = np.zeros((len(part), m * m))
    counts[np.arange(len(part)), one * m + two] = n

    def kappa(totals: Floats) -> Floats:
        table = totals.reshape(-1, m, m)
        with np.errstate(divide="ignore", invalid="ignore"):
            table = table / table.sum(axis=(1, 2), keepdims=True)
            observed = np.einsum("bii->b", table)
            expected = np.einsum("bi,bi->b", table.sum(axis=2), table.sum(axis=1))
            result: Floats = np.where(expected < 1 - 1e-12, (observed - expected) / (1 - expected), np.nan)
        return result

    return counts, kappa


def _concordance(part: pd.DataFrame, n: Floats) -> tuple[Floats, Statistic]:
    """Sums of two scores, their squares and products, and Lin's concordance of their totals."""
    x, y = (part[c].to_numpy(dtype=float) for c in ("answer", "other_answer"))
    middle = float(np.average(np.concatenate([x, y]))) if len(part) else 0.0
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


def _constant(people: pd.DataFrame, groups: list[str], kind: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Share of the people's most frequent answer."""
    answer = "choice" if kind == "preferences" else "score" if "score" in people.columns else "mean"
    values = people[answer].astype(object)
    if kind == "preferences":
        values = values.replace({"abstain": "tie"}).where(values.ne("invalid"))
        one, two = people["first"].astype(str), people["second"].astype(str)
        lower = one.where(one <= two, two)
        chosen = one.where(values.eq("first"), two)
        values = values.where(~values.isin(["first", "second"]), np.where(chosen == lower, "low", "high"))
    table = people[groups].assign(_answer=values)[values.notna().to_numpy()]
    codes = codes_of(table, groups)
    for g, first in enumerate(codes.first):
        here = table["_answer"][codes.code == g]
        share = float(here.value_counts(normalize=True).iloc[0])
        named = {name: table[name].iloc[int(first)] for name in groups}
        yield named, {"judge": np.nan, "term": "constant_answer", "estimate": share, "n": float(len(here))}
