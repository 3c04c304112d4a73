"""Is it a bias, or do people share it? Preference of judges and of people for the same target."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from judgestats.errors import DesignError, SchemaError, choose, suggestion
from judgestats.errors import confidence as coverage
from judgestats.kernels.proportions import wilson
from judgestats.metrics.bias.annotators import agreement, constant
from judgestats.metrics.bias.attributes import Aside, targeted
from judgestats.metrics.bias.gold import Ties
from judgestats.metrics.differences import independent_difference, size_flag
from judgestats.results import CONSTANT, NO_DATA, NOT_INDEPENDENT, SMALL_N, estimates, few_clusters, flags
from judgestats.schema.coding import codes_of
from judgestats.schema.columns import By, grouping, names
from judgestats.schema.counting import tally
from judgestats.schema.declared_counts import call_counts, counted
from judgestats.schema.pairing import candidates
from judgestats.schema.patterns import Invalid


def preference_gap(
    calls: Any,
    *,
    people: Sequence[str] | Mapping[str, str],
    target: str | None = None,
    attribute: str | None = None,
    value: str | None = None,
    annotators: Literal["random", "fixed"] = "random",
    screen: bool = True,
    confidence: str | None = None,
    ties: Ties = "exact",
    invalid: Invalid = "drop",
    by: By = (),
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Preference for the target of each judge minus that of people on the same pairs (debiasing paper, Appendix G).

    Parameters
    ----------
    calls : frame
        Preferences of judges and people alike, the annotators being named in ``judge``, with a target as for
        :func:`bias_score`. Or a tally: ``judge, outcome, n``.
    people : sequence of str, or mapping
        The annotators; or ``{column: value}``, which tells people from models (``{"rater_type": "human"}``).
    target, attribute, value
        Who the target is, as for :func:`bias_score`.
    annotators : {'random', 'fixed'}
        What the interval of a gap is about. ``random``: people at large, of whom these are a sample; calls are
        clustered by pair and by annotator. ``fixed``: these annotators; clustered by pair.
    screen : bool
        Leave out annotators who give one answer by slot throughout (at least 10 calls, the target in both slots), with
        one confidence throughout. They are counted in the flag of ``people`` and of every gap.
    confidence : str, optional
        Column of the annotators' confidence; default: ``strength`` or ``confidence`` where there is one.
    ties : {'exact', 'drop', 'half'}
        What a tie is: not a choice of the target (the paper), set aside, or half of one.
    invalid : {'drop', 'wrong', 'tie'}
        What an invalid call is: set aside, not a choice of the target, or a tie.
    by : str or sequence of str
        Further grouping columns.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        With a column ``role``: ``person``, an annotator's ``rate``; ``people`` (``judge`` missing), the pooled
        ``rate``, and ``annotator_agreement`` and ``annotator_kappa`` where two people judged the same pairs; ``judge``,
        its ``rate`` and its ``gap`` on the pairs that people judged too. ``n`` of a gap is the judge's calls. A
        tally gives the rates and gaps only.

    Raises
    ------
    DesignError
        If nobody is a person, or nobody a judge.

    Notes
    -----
    The variance of a gap adds up, per pair, what the judge and the people add to it: what a pair does to both falls
    out. With random annotators the spread between their sums comes on top, and what is counted twice comes off
    (Cameron, Gelbach and Miller), and t has the degrees of freedom of the scarcer factor: two annotators say nearly
    nothing about people at large. From counts, the two samples are taken as independent (Newcombe). Kappa of more than
    two annotators takes agreement and chance agreement as means over all twos (Conger); it has no interval here.

    References
    ----------
    Cameron, A. C., Gelbach, J. B., Miller, D. L. (2011). Journal of Business and Economic Statistics 29, 238-249.

    Examples
    --------
    >>> counts = pd.DataFrame({"judge": ["Ann", "Ann", "Bob", "Bob", "g", "g"], "outcome": ["target", "other"] * 3,
    ...                        "n": [19, 11, 15, 15, 29, 1]})
    >>> preference_gap(counts, people=["Ann", "Bob"])[["role", "judge", "term", "estimate", "conf_low"]].round(3)
         role judge  term  estimate  conf_low
    0   judge     g  rate     0.967     0.833
    1   judge     g   gap     0.400     0.222
    2  people   NaN  rate     0.567     0.441
    3  person   Ann  rate     0.633     0.455
    4  person   Bob  rate     0.500     0.332
    """
    coverage(conf_level)
    choose(annotators, ("random", "fixed"), "annotators")
    choose(ties, ("exact", "drop", "half"), "ties")
    choose(invalid, ("drop", "wrong", "tie"), "invalid")
    marker = _marker(people)
    _there(calls, {"people": marker, "confidence": names(confidence or ())})
    found = targeted(calls, target=target, attribute=attribute, value=value, by=[*names(by), *marker])
    table, groups = _table(found.calls, by, marker, confidence)
    everyone = _everyone(calls)
    table = table.assign(_person=_persons(table, people, everyone))
    hit, trial = _marks(table, ties, invalid)
    table = table.assign(_hit=hit, _trial=trial * table["n"].to_numpy(dtype=float))
    same = constant(table) if screen and "item" in table else pd.Series(False, index=table.index)
    kept, left_out = table[~same], table[same]
    rows: list[dict[str, Any]] = []
    for key, here in _each(kept, groups):
        mask = pd.Series(True, index=left_out.index)
        for name, v in key.items():
            mask &= left_out[name].isna() if pd.isna(v) else left_out[name] == v
        screened = left_out.loc[mask, "judge"].nunique()
        told = f"{screened} constant annotator{'s' * (screened != 1)} left out" if screened else ""
        rows += _Group(key, here, annotators, conf_level, told).rows()
    order = [*groups, "role", "judge"]
    result = estimates(_aside(rows, found.aside), order)
    return result.assign(judge=result["judge"].astype(object).where(result["judge"].notna(), np.nan))


def _aside(rows: list[dict[str, Any]], aside: Aside) -> list[dict[str, Any]]:
    named = [r for r in rows if r["judge"] is not None]
    known = [c for c in aside.table.columns if c != "_without" and all(c in r for r in named)]
    aside.flagged(named, known)
    return rows


def _table(calls: Any, by: By, marker: list[str], confidence: str | None) -> tuple[pd.DataFrame, list[str]]:
    """Calls with their outcome, or a tally; and the grouping columns."""
    data = nw.from_native(calls)
    present = data.collect_schema().names()
    groups = [*grouping(by, present), *(["bias"] if "bias" in present else [])]
    groups = [g for g in dict.fromkeys(groups) if g != "judge"]
    if "choice" not in present:
        return tally(calls, "bias_score", [*names(by), *marker], cluster=False), groups
    sure = [confidence] if confidence else [c for c in ("strength", "confidence") if c in present][:1]
    columns = [*groups, *marker, *sure, "judge", "item", "first", "second", "choice", "target"]
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
    n = call_counts(table[weight]) if weight else 1.0
    sureness = table[sure[0]].astype(str) if sure else ""
    return table.assign(outcome=outcome, _pair=pair, _slot=slot, _choice=choice, _sure=sureness, n=n), groups


def _marker(people: Sequence[str] | Mapping[str, str]) -> list[str]:
    """The column that tells people from models, if that is how it is told."""
    if not isinstance(people, Mapping):
        return []
    if len(people) != 1:
        raise DesignError(f"people= names {len(people)} columns. Give one: {{'rater_type': 'human'}}.")
    return list(people)


def _there(calls: Any, asked: Mapping[str, list[str]]) -> None:
    present = nw.from_native(calls).collect_schema().names()
    for argument, columns in asked.items():
        for name in columns:
            if name not in present:
                raise SchemaError(
                    f"{argument}= names {name!r}, which is not a column. Columns: {', '.join(present)}."
                    f"{suggestion(name, present)}"
                )


def _everyone(calls: Any) -> list[str]:
    """Judges and annotators of all calls, those without the target among them."""
    found = nw.from_native(calls).lazy().select(nw.col("judge").cast(nw.String)).unique().collect(backend="pandas")
    return sorted(v for v in found.to_native()["judge"] if isinstance(v, str))


def _persons(table: pd.DataFrame, people: Sequence[str] | Mapping[str, str], known: Sequence[str]) -> NDArray[np.bool_]:
    if table["judge"].isna().any():
        raise SchemaError("'judge' is missing in some rows. Name the judge or annotator, or drop these rows.")
    judges = table["judge"].astype(str)
    if isinstance(people, Mapping):
        [(column, meant)] = people.items()
        person = (table[column].astype(str) == str(meant)).to_numpy()
        if not person.any():
            found = sorted(table[column].astype(str).unique())
            raise DesignError(f"{column!r} is never {meant!r}. It has: {', '.join(found)}.{suggestion(meant, found)}")
    else:
        for name in names(people):
            if name not in known:
                raise DesignError(
                    f"people= names {name!r}, who is not in 'judge'. There are: {', '.join(known)}."
                    f"{suggestion(name, known)}"
                )
        person = judges.isin(names(people)).to_numpy()
    if not person.any() or person.all():
        who = "people" if person.any() else "judges"
        raise DesignError(f"A gap is between judges and people, and all calls are of {who}. Check people=.")
    return np.asarray(person, dtype=bool)


def _marks(table: pd.DataFrame, ties: str, invalid: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Share of a call that is a choice of the target, and whether it counts."""
    outcome = table["outcome"].to_numpy(dtype=object)
    bad = outcome == "invalid"
    tie = (outcome == "tie") | (bad & (invalid == "tie"))
    trial = ~((bad & (invalid == "drop")) | (tie & (ties == "drop")))
    hit = (outcome == "target") + tie * (0.5 if ties == "half" else 0.0)
    return hit.astype(float), trial.astype(float)


def _each(table: pd.DataFrame, groups: list[str]) -> list[tuple[dict[str, Any], pd.DataFrame]]:
    if not groups:
        return [({}, table)]
    codes = codes_of(table, groups)
    return [({c: table[c].iloc[at] for c in groups}, table[codes.code == g]) for g, at in enumerate(codes.first)]


@dataclass(frozen=True)
class _Group:
    """Calls of people and judges that are compared."""

    key: dict[str, Any]
    table: pd.DataFrame
    annotators: str
    conf_level: float
    screened: str

    def rows(self) -> list[dict[str, Any]]:
        people, judges = (self.table[self.table["_person"] == x] for x in (True, False))
        rows = [self._rate("person", who, here) for who, here in _by_judge(people)]
        rows.append(self._rate("people", None, people))
        if "_pair" in self.table:
            told = agreement(people, self.conf_level)
            rows += [self._row("people", None, term, **cells) for term, cells in told.items()]
        for who, here in _by_judge(judges):
            rows += self._judge(who, here, people)
        return rows

    def _row(self, role: str, who: Any, term: str, **cells: Any) -> dict[str, Any]:
        row = {**self.key, "role": role, "judge": who, "term": term, "flag": "", **cells}
        if role == "people" or term == "gap":
            row["flag"] = flags(row["flag"], self.screened)
        return row

    def _rate(self, role: str, who: Any, table: pd.DataFrame) -> dict[str, Any]:
        k, n = _totals(table)
        low, high = wilson(k, n, self.conf_level)
        p = k / n if n else math.nan
        error = math.sqrt(p * (1 - p) / n) if n else math.nan
        span = {"estimate": p, "std_error": error, "conf_low": float(low), "conf_high": float(high), "n": n}
        shared = NOT_INDEPENDENT if "_pair" in table and n > table.loc[table["_trial"] > 0, "_pair"].nunique() else ""
        doubt = flags(shared, size_flag(n), _unanswered(table))
        return self._row(role, who, "rate", **span, method="Wilson", flag=doubt)

    def _judge(self, who: Any, judge: pd.DataFrame, people: pd.DataFrame) -> list[dict[str, Any]]:
        if "_pair" not in self.table:
            gap = independent_difference(*_totals(judge), *_totals(people), self.conf_level)
            doubt = flags(size_flag(gap["n"]), _unanswered(judge))
            return [self._rate("judge", who, judge), self._row("judge", who, "gap", **gap, flag=doubt)]
        valid = [set(t.loc[t["_trial"] > 0, "_pair"]) for t in (judge, people)]
        both = valid[0] & valid[1]
        told = "" if valid[0] == valid[1] else f"{len(both):,} of {len(valid[0] | valid[1]):,} pairs shared"
        told = flags(told, _unanswered(judge))
        judge, people = (t[t["_pair"].isin(both)] for t in (judge, people))
        rate = self._rate("judge", who, judge)
        gap = self._gap(judge, people)
        return [{**r, "flag": flags(r["flag"], told)} for r in (rate, self._row("judge", who, "gap", **gap))]

    def _gap(self, judge: pd.DataFrame, people: pd.DataFrame) -> dict[str, Any]:
        (k1, n1), (k2, n2) = _totals(judge), _totals(people)
        if not (n1 and n2):
            return {"estimate": math.nan, "n": 0.0, "flag": NO_DATA}
        value = k1 / n1 - k2 / n2
        pull = [(t["_hit"] - k / n) * t["_trial"] / n for t, k, n in ((judge, k1, n1), (people, k2, n2))]
        pairs = pd.concat([judge["_pair"], people["_pair"]])
        variance, levels = _between(np.concatenate([pull[0], -pull[1]]), pairs)
        method, fewest = f"t, clustered by pair (G = {levels})", levels
        if self.annotators == "random":
            among, persons = _between(-pull[1].to_numpy(), people["judge"])
            cells, _ = _between(-pull[1].to_numpy(), people[["_pair", "judge"]], corrected=False)
            variance = max(variance + among - cells, variance)
            method, fewest = f"t, clustered by pair x annotator (G = {levels} x {persons})", min(levels, persons)
        few = few_clusters(fewest)
        if not variance > 0:
            few = flags(few, "" if fewest < 2 else CONSTANT)
        half = math.sqrt(variance) * float(stdtrit(fewest - 1, 0.5 + self.conf_level / 2)) if fewest > 1 else math.nan
        half = half if variance > 0 else math.nan
        return {
            "estimate": value,
            "std_error": math.sqrt(variance) if fewest > 1 else math.nan,
            "conf_low": max(value - half, -1.0) if half == half else math.nan,
            "conf_high": min(value + half, 1.0) if half == half else math.nan,
            "n": n1,
            "method": method,
            "flag": flags(few, SMALL_N if n1 < 30 else ""),
        }


def _by_judge(table: pd.DataFrame) -> list[tuple[Any, pd.DataFrame]]:
    return [(who, here) for who, here in table.groupby("judge", observed=True, sort=True)]


def _unanswered(table: pd.DataFrame) -> str:
    """Flag of the invalid calls that are set aside."""
    lost = float(table.loc[(table["outcome"] == "invalid") & (table["_trial"] == 0), "n"].sum())
    return f"{lost:,.0f} invalid calls" if lost else ""


def _totals(table: pd.DataFrame) -> tuple[float, float]:
    """Choices of the target, and calls that count."""
    return float((table["_hit"] * table["_trial"]).sum()), float(table["_trial"].sum())


def _between(pull: Any, unit: Any, *, corrected: bool = True) -> tuple[float, int]:
    """Sum of squares of the sums of each unit, times G/(G - 1); and G."""
    unit = unit.to_frame("unit") if isinstance(unit, pd.Series) else unit
    codes = codes_of(unit.reset_index(drop=True), list(unit.columns))
    sums = np.bincount(codes.code, weights=pull, minlength=codes.size)
    scale = codes.size / (codes.size - 1) if corrected and codes.size > 1 else 1.0
    return scale * float((sums**2).sum()), codes.size
