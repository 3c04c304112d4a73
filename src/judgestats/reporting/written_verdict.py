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
from collections.abc import Mapping, Sequence

from judgestats.metrics.standings import Standing
from judgestats.reporting.card_questions import SMALLEST_SHARE, CardQuestion, FirstScreen
from judgestats.reporting.cards import gap_in_words
from judgestats.reporting.formatting import count, printed
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
) -> str:
    """Whom to use, how sure that is, and what would change it; `pooled`: conditions and how many of each there are.

    `these`: the few tasks for which it holds, as a sentence names them.
    """
    name = next((n for n in ("right", "steady", "dark") if n in standings), "")
    if not name:
        return ""
    question, ranking = screen.questions[name], standings[name]
    column = next((c for c in columns if c.term == question.term), None)
    reference = "right answers" if only_people else "right answers or people"
    sentences = [] if screen.against else [f"Who is right cannot be said without {reference}."]
    none = _constant_is_as_good(column, ranking) if name == "right" else ""
    sentences += [none] if none else _whom_to_use(name, question, ranking, column, readings, these)
    sentences += _below_people(people, columns, ranking)
    if ranking.winner and not none:
        sentences += _bias_of(ranking.winner, screen, columns)
    if pooled:
        sentences.append(f"All of this pools {listed(pooled.values())}; --by {','.join(pooled)} shows each.")
    return " ".join(sentences)


def _whom_to_use(
    name: str,
    question: CardQuestion,
    ranking: Standing,
    column: SummaryColumn | None,
    readings: VerdictReadings | None,
    these: str,
) -> list[str]:
    best, judges = ranking.best, ranking.means["judge"].astype(str).tolist()
    says = _says(best, question, ranking, column)
    if len(judges) == 1:
        return [f"{best} is {says}."] if question.form == "share" else [f"{best}: {says}."]
    better = {"right": "best", "steady": "steadiest"}.get(name, "least inclined to prefer")
    if ranking.winner:
        unlike = readings.against(best) if readings is not None else []
        lead = (f"Use {best}" if name == "right" else f"The {better} is {best}") + these
        row = ranking.difference(best, judges[1])
        gap = (
            ""
            if row is None
            else f", {gap_in_words(abs(float(row['estimate'])), question.form)} {question.better} the next, {judges[1]}"
        )
        if readings is None:
            return [f"{lead}: {says}{gap}."]
        if len(unlike):
            lead = f"Which judge is {better} depends on how the data are read"
            return [f"{lead}: {best} is {says}{gap}, but {_other_first(readings, best)}."]
        each = {1: "the other reading", 2: "both other readings"}.get(
            readings.others, f"all {readings.others} other readings"
        )
        return [f"{lead}: {says}{gap}. It is first under {each} of the data, too."]
    if ranking.ahead or ranking.uncompared:
        return [
            f"Which judge is {better} cannot be said: not all were compared on enough of the same {question.units}."
        ]
    top = [best, *ranking.tied]
    if len(top) == len(judges):
        sentence = f"No judge is shown to be the {better}: {best} is first, {says}."
    else:
        who = f"Use {_either(top)}" if name == "right" else f"The {better} are {listed(top)}"
        sentence = f"{who}{these}: they are not distinguishable."
    beyond = []
    if readings is not None and len(readings.against(best, NOTABLE)):
        beyond = [f"{best} is first as counted here, but {_other_first(readings, best, NOTABLE)}."]
    return [sentence, *beyond, *_separating(best, top, ranking, question.units)]


def _other_first(readings: VerdictReadings, best: str, least: float = 0.0) -> str:
    """Who is first under the first reading in which the best is not, by `least`, and how many more there are."""
    unlike = readings.against(best, least)
    reading, other = unlike[["reading", "judge"]].iloc[0]
    values = f"{readings.value(reading, other)}; {best} {readings.value(reading, best)}"
    more = len(unlike) - 1
    also = f", and {best} is not under {count(more)} more of {readings.others} other readings" if more else ""
    return f"under “{reading}” {other} is first ({values}){also}"


def _separating(best: str, top: Sequence[str], ranking: Standing, units: str) -> list[str]:
    """How many more clusters would separate the first two with power 0.8, if they differ as much as they do here.

    The interval narrows with the root of the number; the simultaneous one is wider than 1.96 standard errors, so that
    the part for the power is rather too large.
    """
    row = ranking.difference(best, top[1])
    if row is None or not math.isfinite(row["conf_low"]) or not row["estimate"]:
        return []
    half, n = (row["conf_high"] - row["conf_low"]) / 2, float(row["clusters"])
    needed = n * ((1 + _POWER) * half / abs(float(row["estimate"]))) ** 2
    if needed > _FEASIBLE * n:
        return [f"More {units} will hardly separate {best} from {top[1]}: they are too alike."]
    more = math.ceil((needed - n) / 10) * 10
    return [f"About {count(max(more, 10))} more {units} would separate {best} from {top[1]}."]


def _constant_is_as_good(column: SummaryColumn | None, ranking: Standing) -> str:
    """Why nobody is to be used: the best judge is not above the best constant answer."""
    if column is None:
        return ""
    worse, alike = column.beside_constant()
    line = column.line.removeprefix("dashed: ")
    if column.term == "distance" and ranking.best in {*worse, *alike}:
        far = "farther off than" if ranking.best in worse else "not shown to be nearer than"
        return (
            f"As scores, use none: the best, {ranking.best}, is {far} a constant answer ({line}); the order of what "
            "it scores may still be of use."
        )
    if ranking.best in worse:
        return f"Use none: the best, {ranking.best}, is worse than a constant answer ({line})."
    if ranking.best in alike:
        return f"Use none on this evidence: the best, {ranking.best}, is not shown to beat a constant answer ({line})."
    return ""


def _below_people(people: PeopleAgreement, columns: Sequence[SummaryColumn], ranking: Standing) -> list[str]:
    """That people agree more with each other than any judge with them; of scores, equal ones say little."""
    among = people.rows[(people.rows["role"] == "people") & people.rows["estimate"].notna()]
    among = among[among["term"] == "agreement"]
    less = people.cells("agreement_difference")
    judges = ranking.means["judge"].astype(str).tolist()
    if len(among) != 1 or not any(c.term == "agreement" for c in columns) or not {*judges} <= less.keys():
        return []
    if not max(float(less[j]["conf_high"]) for j in judges) < 0:
        return []
    value = printed(float(among["estimate"].iloc[0]), "share")
    return [f"No judge agrees with people as much as people do with each other ({value})."]


def _bias_of(judge: str, screen: FirstScreen, columns: Sequence[SummaryColumn]) -> list[str]:
    """What to do about a position bias of the recommended judge, if it is large enough to matter."""
    bias = screen.said
    if bias is None or bias.term != "position_bias" or screen.bias is None or screen.bias.empty:
        return []
    row = screen.bias[screen.bias["judge"] == judge]
    column = next((c for c in columns if c.term == bias.term), None)
    if column is None or len(row) != 1 or judge not in column.cells:
        return []
    low, high = (float(row[end].iloc[0]) for end in ("conf_low", "conf_high"))
    if not (low > bias.smallest or high < -bias.smallest):
        return []
    head = bias.heads[int(low <= 0)]
    return [f"{bias.remedy}: it {head[0].lower()}{head[1:]} ({column.text(judge)[0]} points)."]


def _says(judge: str, question: CardQuestion, ranking: Standing, column: SummaryColumn | None) -> str:
    text = column.text(judge)[0] if column is not None and judge in column.cells else ""
    if not text:
        means = ranking.means.set_index("judge")["estimate"]
        text = printed(float(means[judge]), question.form)
    return _SAYS[question.term].format(text)


def _either(names: Sequence[str]) -> str:
    """One of several names, as a sentence offers them."""
    text = listed(names)
    return text if "more" in text else text.replace(" and ", " or ")
