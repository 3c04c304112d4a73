"""The verdict at the head of a page: whom to use, how sure that is, and what would change it, in a few sentences.

Every sentence has a rule. Those that infer rest on intervals that hold for all pairs of judges at once.

==============================================  ====================================================================
What the data show                              What is written
==============================================  ====================================================================
the best is below a constant answer, or may be  Use none: the best is worse than a constant answer, or no better.
one judge is above all others                   Use it, if it is first under every other reading of the data, too.
another is first under some reading             Which judge to use depends on the reading, and on which.
some are not distinguishable from it            Use one of them; how many more items would separate the first two.
none is distinguishable from it                 Any may be the best; how many more items would separate the first two.
the best has no interval, or another is ahead   Who is the best cannot be said.
neither right answers nor people                Who is right cannot be said; who is steadier, by the rules above.
people agree more among themselves              No judge agrees with people as people do with each other.
the judge to use prefers a place                Ask it in both orders, or several.
items nest in 3 to 9 levels                     Use it for these.
conditions are pooled                           Which, and the option that shows each.
nobody named a column in which calls differ     First of all: which, and the option (``unnamed_columns``).
==============================================  ====================================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from judgestats.metrics.standings import Standing
from judgestats.reporting.card_questions import SMALLEST_SHARE, CardQuestion, FirstScreen
from judgestats.reporting.cards import gap_in_words
from judgestats.reporting.formatting import count, printed
from judgestats.reporting.page_claims import Claim
from judgestats.reporting.people_columns import PeopleAgreement
from judgestats.reporting.summary_parts import SummaryColumn, listed
from judgestats.reporting.verdict_readings import VerdictReadings

#: Standard errors that power of 0.8 adds to the 1.96 of an interval that excludes 0, as a part of these.
_POWER = 0.8416 / 1.96
#: Among judges that are not distinguishable another first is said if it is so far ahead: half of what is of interest.
NOTABLE = SMALLEST_SHARE / 2
#: More than so many times as many items as there are is out of reach.
_FEASIBLE = 10
#: What a column says of a judge, with its value.
_SAYS = {
    "accuracy": "right in {}",
    "agreement": "agreeing with people in {}",
    "distance": "{} away on average",
    "target_sensitivity": "finding the smallest difference in {}",
    "consistency": "the same in both orders in {}",
    "run_sd": "{} between repeats",
    "dark_current": "preferring one of two equals in {}",
}


def written_verdict(
    screen: FirstScreen,
    columns: Sequence[SummaryColumn],
    standings: Mapping[str, Standing],
    people: PeopleAgreement,
    pooled: Mapping[str, str],
    *,
    only_people: bool = False,
    readings: VerdictReadings | None = None,
    these: str = "",
) -> list[Claim]:
    """Whom to use, how sure that is, and what would change it; `pooled`: conditions and how many of each there are.

    `these`: the few tasks for which it holds, as a sentence names them.
    """
    name = next((n for n in ("right", "steady", "dark") if n in standings), "")
    if not name:
        return []
    question, ranking = screen.questions[name], standings[name]
    column = next((c for c in columns if c.term == question.term), None)
    reference = "right answers" if only_people else "right answers or people"
    unknown = Claim(f"Who is right cannot be said without {reference}.", "verdict", "right", "", (), "cannot be said")
    claims = [] if screen.against else [unknown]
    tables = ("comparison",) if column is not None else ()
    of_question = partial(
        Claim, where="verdict", question=name, term=question.term, tables=tables, units=question.units
    )
    none = _constant_is_as_good(column, ranking, of_question) if name == "right" else None
    claims += [none] if none else _whom_to_use(name, question, ranking, column, readings, these, of_question)
    claims += _below_people(people, columns, ranking)
    if any(c.relation == "best" for c in claims):
        claims += _bias_of(ranking.winner, screen, columns)
    if pooled:
        text = f"All of this pools {listed(pooled.values())}; --by {','.join(pooled)} shows each."
        claims.append(Claim(text, "verdict", relation="pooled"))
    return claims


def _whom_to_use(
    name: str,
    question: CardQuestion,
    ranking: Standing,
    column: SummaryColumn | None,
    readings: VerdictReadings | None,
    these: str,
    of_question: Callable[..., Claim],
) -> list[Claim]:
    best, judges = ranking.best, ranking.means["judge"].astype(str).tolist()
    values = {j: _value(j, ranking, column) for j in judges}
    says, scope = _says(best, question, values[best], column), tuple(judges)
    if len(judges) == 1:
        text = f"{best} is {says}." if question.form == "share" else f"{best}: {says}."
        return [of_question(text, judges=(best,), relation="alone", values=(values[best],), scope=scope)]
    better = {"right": "best", "steady": "steadiest"}.get(name, "least inclined to prefer")
    if ranking.winner:
        lead = (f"Use {best}" if name == "right" else f"The {better} is {best}") + these
        row = ranking.difference(best, judges[1])
        gap = (
            ""
            if row is None
            else f", {gap_in_words(abs(float(row['estimate'])), question.form)} {question.better} the next, {judges[1]}"
        )
        first = {"judges": (best, judges[1]), "values": (values[best], values[judges[1]]), "scope": scope}
        if readings is None:
            return [of_question(f"{lead}: {says}{gap}.", relation="best", readings=1, **first)]
        if len(unlike := readings.against(best)):
            lead = f"Which judge is {better} depends on how the data are read"
            text = f"{lead}: {best} is {says}{gap}, but {_other_first(readings, best)}."
            others = tuple(dict.fromkeys([best, *unlike["judge"].astype(str)]))
            times = readings.others + 1 - len(unlike)
            return [
                of_question(
                    text, judges=others, relation="best here", values=(values[best],), scope=scope, readings=times
                )
            ]
        each = {1: "the other reading", 2: "both other readings"}.get(
            readings.others, f"all {readings.others} other readings"
        )
        text = f"{lead}: {says}{gap}. It is first under {each} of the data, too."
        return [of_question(text, relation="best", readings=readings.others + 1, **first)]
    if ranking.ahead or ranking.uncompared:
        text = f"Which judge is {better} cannot be said: not all were compared on enough of the same {question.units}."
        return [of_question(text, relation="cannot be said", scope=scope)]
    top = [best, *ranking.tied]
    if len(top) == len(judges):
        sentence = f"No judge is shown to be the {better}: {best} is first, {says}."
    else:
        who = f"Use {_either(top)}" if name == "right" else f"The {better} are {listed(top)}"
        sentence = f"{who}{these}: they are not distinguishable."
    numbers = tuple(values[j] for j in top)
    claims = [of_question(sentence, judges=tuple(top), relation="may be best", values=numbers, scope=scope)]
    if readings is not None and len(unlike := readings.against(best, NOTABLE)):
        text = f"{best} is first as counted here, but {_other_first(readings, best, NOTABLE)}."
        others = tuple(dict.fromkeys([best, *unlike["judge"].astype(str)]))
        claims.append(of_question(text, judges=others, relation="best here", values=(values[best],), scope=scope))
    if more := _separating(best, top, ranking, question.units):
        claims.append(of_question(more, judges=(best, top[1]), relation="separated by more", scope=scope))
    return claims


def _other_first(readings: VerdictReadings, best: str, least: float = 0.0) -> str:
    """Who is first under the first reading in which the best is not, by `least`, and how many more there are."""
    unlike = readings.against(best, least)
    reading, other = unlike[["reading", "judge"]].iloc[0]
    values = f"{readings.value(reading, other)}; {best} {readings.value(reading, best)}"
    more = len(unlike) - 1
    also = f", and {best} is not under {count(more)} more of {readings.others} other readings" if more else ""
    return f"under “{reading}” {other} is first ({values}){also}"


def _separating(best: str, top: Sequence[str], ranking: Standing, units: str) -> str:
    """How many more clusters would separate the first two with power 0.8, if they differ as much as they do here.

    The interval narrows with the root of the number; the simultaneous one is wider than 1.96 standard errors, so that
    the part for the power is rather too large.
    """
    row = ranking.difference(best, top[1])
    if row is None or not math.isfinite(row["conf_low"]) or not row["estimate"]:
        return ""
    half, n = (row["conf_high"] - row["conf_low"]) / 2, float(row["clusters"])
    needed = n * ((1 + _POWER) * half / abs(float(row["estimate"]))) ** 2
    if needed > _FEASIBLE * n:
        return f"More {units} will hardly separate {best} from {top[1]}: they are too alike."
    more = math.ceil((needed - n) / 10) * 10
    return f"About {count(max(more, 10))} more {units} would separate {best} from {top[1]}."


def _constant_is_as_good(
    column: SummaryColumn | None, ranking: Standing, of_question: Callable[..., Claim]
) -> Claim | None:
    """Why nobody is to be used: the best judge is not above the best constant answer."""
    if column is None:
        return None
    (worse, alike), best = column.beside_constant(), ranking.best
    if best not in {*worse, *alike}:
        return None
    line = column.line.removeprefix("dashed: ")
    if column.term == "distance":
        far = "farther off than" if best in worse else "not shown to be nearer than"
        text = (
            f"As scores, use none: the best, {best}, is {far} a constant answer ({line}); the order of what it scores "
            "may still be of use."
        )
    elif best in worse:
        text = f"Use none: the best, {best}, is worse than a constant answer ({line})."
    else:
        text = f"Use none on this evidence: the best, {best}, is not shown to beat a constant answer ({line})."
    numbers = (_value(best, ranking, column), column.reference_of(best))
    scope = tuple(ranking.means["judge"].astype(str))
    return of_question(text, judges=(best,), relation="constant", values=numbers, scope=scope)


def _below_people(people: PeopleAgreement, columns: Sequence[SummaryColumn], ranking: Standing) -> list[Claim]:
    """That people agree more with each other than any judge with them; of scores, equal ones say little."""
    among = people.rows[(people.rows["role"] == "people") & people.rows["estimate"].notna()]
    among = among[among["term"] == "agreement"]
    less = people.cells("agreement_difference")
    judges = ranking.means["judge"].astype(str).tolist()
    if len(among) != 1 or not any(c.term == "agreement" for c in columns) or not {*judges} <= less.keys():
        return []
    if not max(float(less[j]["conf_high"]) for j in judges) < 0:
        return []
    value = float(among["estimate"].iloc[0])
    text = f"No judge agrees with people as much as people do with each other ({printed(value, 'share')})."
    return [
        Claim(
            text,
            "verdict",
            "people",
            "agreement",
            ("people",),
            "all below people",
            (value,),
            tuple(judges),
            ("people",),
        )
    ]


def _bias_of(judge: str, screen: FirstScreen, columns: Sequence[SummaryColumn]) -> list[Claim]:
    """What to do about a position bias of the recommended judge, if it is large enough to matter."""
    bias = screen.said
    if bias is None or bias.term != "position_bias" or screen.bias is None or screen.bias.empty:
        return []
    row = screen.bias[screen.bias["judge"] == judge]
    column = next((c for c in columns if c.term == bias.term), None)
    if column is None or len(row) != 1 or judge not in column.cells:
        return []
    low, high = (float(row[end].iloc[0]) for end in ("conf_low", "conf_high"))
    if not (side := bias.side(low, high)):
        return []
    head = bias.heads[int(side < 0)]
    text = f"{bias.remedy}: it {head[0].lower()}{head[1:]} ({column.text(judge)[0]} points)."
    value = float(column.cells[judge]["estimate"])
    return [
        Claim(
            text,
            "verdict",
            "biased",
            bias.term,
            (judge,),
            "beyond",
            (value,),
            (judge,),
            ("comparison",),
            bias.units,
        )
    ]


def _value(judge: str, ranking: Standing, column: SummaryColumn | None) -> float:
    """The number that the table shows of a judge, or its mean where it shows none."""
    if column is not None and judge in column.cells:
        return float(column.cells[judge]["estimate"])
    return float(ranking.means.set_index("judge")["estimate"][judge])


def _says(judge: str, question: CardQuestion, value: float, column: SummaryColumn | None) -> str:
    text = column.text(judge)[0] if column is not None and judge in column.cells else ""
    return _SAYS[question.term].format(text or printed(value, question.form))


def _either(names: Sequence[str]) -> str:
    """One of several names, as a sentence offers them."""
    text = listed(names)
    return text if "more" in text else text.replace(" and ", " or ")
