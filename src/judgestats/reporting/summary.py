"""What a page says first: its title, a verdict, cards, and the table that compares the judges. Data in, records out."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from judgestats.counting.connectedness import separate_designs
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import masked
from judgestats.metrics.agreement.krippendorff import level_of
from judgestats.metrics.agreement.near_copies import near_copies
from judgestats.metrics.measure_registry import MeasureOptions
from judgestats.metrics.references import WAYS_OF_ASKING
from judgestats.metrics.standings import DECIMALS, Standing, means_of, standing
from judgestats.reporting.bias_card import bias_card
from judgestats.reporting.card_questions import FirstScreen, rows_by_judge
from judgestats.reporting.cards import best_card
from judgestats.reporting.caution_card import caution_card
from judgestats.reporting.class_panels import class_columns
from judgestats.reporting.comparability import lead_cautions, separate_in_words, sparse_in_words
from judgestats.reporting.contenders import (
    Contenders,
    SharedPart,
    answered,
    calls_by_contender,
    judged_units,
    level_names,
    shared_part,
    sparse_judges,
    together,
)
from judgestats.reporting.estimate_rows import row_of_each, whose
from judgestats.reporting.formatting import PERCENT, count, noun, number
from judgestats.reporting.graded_columns import graded_card
from judgestats.reporting.nesting import for_these
from judgestats.reporting.page_claims import Claim, Number, held
from judgestats.reporting.pairs_first import pairs_first_screen
from judgestats.reporting.panel_cards import Estimates, agreement_card, panel_numbers, ranking_card, worth_card
from judgestats.reporting.people_card import people_card
from judgestats.reporting.people_columns import PeopleAgreement, agreement_with_people
from judgestats.reporting.pooled_conditions import pooled_conditions
from judgestats.reporting.ratings_first import ratings_first_screen
from judgestats.reporting.stimuli_first import stimuli_columns, stimuli_first_screen
from judgestats.reporting.summary_parts import MOST_NAMES, Card, JudgeGroup, Summary, SummaryColumn
from judgestats.reporting.verdict_readings import VerdictReadings, verdict_readings
from judgestats.reporting.written_verdict import written_verdict
from judgestats.schema.coding import Codes, combine
from judgestats.schema.columns import COUNTS, VERDICTS, VOCABULARY, Kind, answer_column
from judgestats.typing import Record

#: A datasheet and the estimates of measures, or why there are none.
Measured = tuple[pd.DataFrame, Mapping[str, pd.DataFrame | str]]
#: Measures beside the datasheet that the first screen reads.
SUMMARISED = ("judge_against_people", "bias_score")
#: Judges of a page: with more, the highest and the lowest are shown, and the CSV has all.
MOST_JUDGES = 100
#: Judges of whom every two are compared, with intervals that hold for all pairs at once.
MOST_COMPARED = 200
#: More tasks than these are no columns of a table.
MOST_TASKS = 8
_LENGTH = "(?i)length|chars|words|tokens|verbos"


def summarise(
    study: Study,
    kind: Kind,
    sheet: pd.DataFrame,
    taken: Mapping[str, pd.DataFrame | str],
    findings: pd.DataFrame,
    options: MeasureOptions,
    title: str | None = None,
    anew: Callable[[Study], Measured] | None = None,
) -> Summary:
    """Choose what a page says first of canonical rows without people, their datasheet, measures and findings.

    `anew` measures some of the rows: where judges differ in what they judged, they are compared on what all judged.
    """
    whole_study, of_all = (study, kind, sheet, taken, findings, options, title), taken
    columns, frame = list(sheet.columns), study.data.to_native()
    columns_of_contender = [c for c in columns[: columns.index("section")] if c in frame.columns]
    who = Contenders.of(study, columns_of_contender)
    calls = calls_by_contender(study, who, columns_of_contender)
    conditions = [g for g in columns_of_contender if g != "judge"]
    whole = calls
    judged, ways = answered(calls, silent=True), [c for c in WAYS_OF_ASKING if c not in conditions]
    parts = together(judged.columns.series("judge"), pd.Series(judged_units(judged, ways).code))
    sparse = {} if "stimulus" in frame.columns else sparse_judges(answered(calls), conditions)
    apart = separate_designs(study)
    own: SummaryColumn | None = None
    levels = level_names(who, conditions, parts)
    if anew is not None and parts and len(parts[0]) > 1 and not levels:
        shared = shared_part(calls.columns["judge"], judged_units(calls, ways), parts[0])
        if shared is not None:
            own = _own_things(calls.columns["judge"].labels, shared, kind, several=bool({*ways} & {*calls.names}))
            calls, study = calls.where(shared.rows), study.where(shared.rows)
            sheet, taken = anew(study)
            frame = study.data.to_native()
    people = agreement_with_people(frame, calls, taken, conditions, options)
    chosen = (
        ratings_first_screen
        if kind == "ratings"
        else stimuli_first_screen
        if "stimulus" in frame.columns
        else pairs_first_screen
    )
    screen = chosen(calls, sheet, people, conditions, options)
    if options.cluster == "auto":
        screen = replace(screen, questions={name: q.nested_in(calls) for name, q in screen.questions.items()})
    data = calls.data.to_native()
    filled = [c for c in screen.columns if any(math.isfinite(float(cell["estimate"])) for cell in c.cells.values())]
    filled_columns = tuple(sorted(filled, key=lambda c: parts != [] and not c.cells.keys() & set(parts[0])))
    if own is not None:
        if not filled_columns:
            return summarise(*whole_study)  # what all judged shows nothing
        filled_columns += (own,)
    ranked = [_ranked_judges(g, filled_columns) for g in parts]
    first = set(ranked[0]) if ranked else set()
    numbers = _numbers(filled_columns, ranked, of_all, whole_study[2], screen, people)
    answers = [_answers(screen, {*judges}, who, options) for judges in (ranked if levels else ranked[:1])] or [({}, [])]
    standings, cards = answers[0]
    if levels:
        standings = {
            f"{name}, {at}": s
            for at, (of_level, _) in zip(levels, answers, strict=True)
            for name, s in of_level.items()
        }
        cards = _cards_of_levels(levels, [of_level for _, of_level in answers])
    if screen.bias is not None and not screen.bias.empty:
        every = {j for g in ranked for j in g}  # a bias needs no comparison: of all judges that the page shows
        rows = screen.bias[screen.bias["judge"].isin(every)]
        cards += [bias_card(screen, rows, every, options, numbers)] if len(rows) else []
    cards = [*_leading_cards(of_all, screen, calls, first, bool(filled_columns), people=who.people), *cards]
    if graded := graded_card(filled_columns):
        cards.insert(len(cards) if screen.against else 0, graded)
    if panel := worth_card(of_all, near_copies(whole, kind)):
        cards.append(panel)
    lead = lead_cautions(apart, sparse, ranked[:1] if levels else ranked, people.why, kind)
    care = caution_card(calls, sheet, filled_columns, ranked, findings, lead, screen, options)
    if people_alike := people_card(people, filled_columns, ranked):
        cards.insert(1, people_alike)
    cards += [care] if care else []
    cards = [card if all(held(c, numbers) for c in card.claims) else _withdrawn(card) for card in cards]
    judges = [j for g in ranked for j in g]
    groups = _groups_on_page(ranked, filled_columns, calls, kind, who, levels)
    of_each = [
        _verdict(screen, calls, filled_columns, of_group, people, _pooled(data, kind), who, options)
        for of_group, _ in answers
    ]
    said, readings = of_each[0]
    if levels:
        said, readings = _verdict_of_levels(levels, [of_level for of_level, _ in of_each]), None
    design = separate_in_words(apart, kind), sparse_in_words(sparse, kind)
    written = [c for c in said if held(c, numbers)]
    left_out, trusted = _judges_left_out(groups, judges, who), bool(filled_columns and screen.against)
    line = _line_of_counts(whole, kind, findings, screen.against, people.why or screen.apart, options)
    note = f"{left_out} {_comparison_note(filled_columns, standings, options.conf_level)}".strip()
    note = note if filled_columns else ""
    return Summary(
        masked(title) if title else _title_question(judges, who, trusted, screen.against, cards[:1]),
        line,
        tuple(cards),
        filled_columns,
        groups,
        note,
        standings,
        _task_columns(data, screen, options),
        class_columns(study, options),
        _bias_axes(filled_columns, sheet, taken, options.by),
        screen.against,
        people.why,
        (*(Claim(text, "verdict", relation="apart") for text in design if text), *written),
        (readings.in_words(), *readings.table()) if readings is not None else None,
        left_out,
        _captions(note or left_out, line, groups, readings),
        numbers,
    )


def _captions(
    note: str, line: str, groups: Sequence[JudgeGroup], readings: VerdictReadings | None
) -> tuple[Claim, ...]:
    """What the line of counts, the heads of the tables, the note below them and the line on readings say."""
    said = [Claim(line, "line", relation="counts")]
    said += [Claim(note, "table", relation="counts")] if note else []
    said += [Claim(f"{g.about}.", "table", judges=g.judges, relation="counts") for g in groups]
    if readings is not None:
        times = readings.others + 1 - len(readings.against(readings.headline))
        of = readings.question, readings.term, (readings.headline,)
        said.append(Claim(f"{readings.in_words()}.", "readings", *of, relation="counts", readings=times))
    return tuple(said)


def _numbers(
    columns: Sequence[SummaryColumn],
    ranked: Sequence[Sequence[str]],
    taken: Estimates,
    sheet: pd.DataFrame,
    screen: FirstScreen,
    people: PeopleAgreement,
) -> pd.DataFrame:
    """The numbers of the page of which its sentences speak: of the comparison, of its cards and of other tables."""
    group = {j: k for k, judges in enumerate(ranked) for j in judges}
    terms = {c.term: c for c in reversed(columns)}
    rows = [
        Number("comparison", c.term, j, float(cell["estimate"]), group[j], c.lower_is_better)
        for c in terms.values()
        for j, cell in c.cells.items()
        if j in group
    ]
    rows += panel_numbers(taken)
    if screen.said is not None and screen.bias is not None and len(screen.bias):
        term = screen.said.term
        biases = screen.bias[["judge", "estimate"]].itertuples(index=False)
        rows += [Number("bias", term, str(j), float(v)) for j, v in biases if j in group]
        if term == "position_bias" and "section" in sheet:
            cells = rows_by_judge(sheet, term, ["slots"])
            rows += [
                Number("datasheet", term, j, float(c["estimate"])) for j, c in cells.items() if j in terms[term].cells
            ]
    among = people.rows[people.rows["role"] == "people"]
    among = among[~among["term"].duplicated(keep=False)]
    rows += [
        Number("people", str(t), "people", float(v)) for t, v in among[["term", "estimate"]].itertuples(index=False)
    ]
    return pd.DataFrame(rows, columns=Number._fields)


def _withdrawn(card: Card) -> Card:
    """A card of which nothing is said, because the page's numbers contradict it."""
    says = (Claim("", "card", card.kind, relation="cannot be said"),)
    return Card(card.kind, card.head, "Cannot be said", "the numbers of the page contradict each other", says=says)


def _verdict(
    screen: FirstScreen,
    calls: Study,
    columns: Sequence[SummaryColumn],
    standings: Mapping[str, Standing],
    people: PeopleAgreement,
    pooled: Mapping[str, str],
    who: Contenders,
    options: MeasureOptions,
) -> tuple[list[Claim], VerdictReadings | None]:
    """The sentences at the head of the page, and the readings of the question that they answer."""
    name = next((n for n in ("right", "steady") if n in standings), "")
    readings, these = None, ""
    if name:
        question, judges = screen.questions[name], standings[name].means["judge"].tolist()
        readings = verdict_readings(calls, name, question, judges, screen.against, options)
        these = for_these(question.nests)
    written = written_verdict(
        screen, columns, standings, people, pooled, only_people=who.people, readings=readings, these=these
    )
    return written, readings


def _answers(
    screen: FirstScreen, first: set[str], who: Contenders, options: MeasureOptions
) -> tuple[dict[str, Standing], list[Card]]:
    """How the judges of the first group stand in each question, and its card."""
    standings: dict[str, Standing] = {}
    cards: list[Card] = []
    for name, question in screen.questions.items():
        marks = question.marks[question.marks["judge"].isin(first)]
        if marks.empty:
            continue
        if (judges := marks["judge"].nunique()) > MOST_COMPARED:
            pairs = (
                f"{noun(judges, 'judge')} are {count(judges * (judges - 1) // 2)} pairs, too many to compare every two"
            )
            why = f"{pairs} (at most {MOST_COMPARED} judges): choose some of them first; the table has each alone"
            cards.append(Card(name, question.head, f"Not compared: {noun(judges, 'judge')}", why))
            continue
        ranking = standing(
            marks,
            lower_is_better=question.lower_is_better,
            bounds=question.bounds,
            conf_level=options.conf_level,
            seed=options.seed,
            wider=question.wider,
        )
        standings[name] = ranking
        cards.append(best_card(name, question, ranking, screen, who, options.conf_level))
    return standings, cards


def _in_level(text: str, level: str) -> str:
    """A text on judges of one level, without the level in their names."""
    return text.replace(f" · {level}", "")


def _cards_of_levels(levels: Sequence[str], cards: Sequence[Sequence[Card]]) -> list[Card]:
    """One card for each question: what is so in each level."""
    of_question: dict[str, dict[str, Card]] = {}
    for level, of_level in zip(levels, cards, strict=True):
        for card in of_level:
            of_question.setdefault(card.kind, {})[level] = card
    return [
        Card(
            kind,
            next(iter(each.values())).head,
            "; ".join(f"{at.partition(' = ')[2]}: {_in_level(c.claim, at)}" for at, c in [*each.items()][:MOST_NAMES])
            + (f"; {len(each) - MOST_NAMES} more" if len(each) > MOST_NAMES else ""),
            f"judges are compared within each {levels[0].partition(' = ')[0]}, not between them",
            next(iter(each.values())).method,
            tuple(replace(c, sentence=_in_level(c.sentence, at)) for at, card in each.items() for c in card.claims),
        )
        for kind, each in of_question.items()
    ]


def _verdict_of_levels(levels: Sequence[str], said: Sequence[Sequence[Claim]]) -> list[Claim]:
    """The sentences of each level, which they name; what is so of all levels once."""
    sentences: dict[str, Claim] = {}
    for level, of_level in list(zip(levels, said, strict=True))[:MOST_TASKS]:
        for claim in of_level:
            text = _in_level(claim.sentence, level)
            text = f"{level.partition(' = ')[2]}: {text}" if claim.scope else text
            sentences.setdefault(text, replace(claim, sentence=text))
    more = len(levels) - MOST_TASKS
    rest = [Claim(f"{more} more levels have tables of their own.", "verdict", relation="counts")] if more > 0 else []
    return [*sorted(sentences.values(), key=lambda c: c.relation == "pooled"), *rest]


def _leading_cards(
    taken: Estimates, screen: FirstScreen, calls: Study, judges: Collection[str], compared: bool, *, people: bool
) -> list[Card]:
    """The ranking of systems, and agreement, where there is nothing to be right about, or all are people.

    Systems are ranked if they are more than their judges, or if these are not `compared`. Neither where the design
    plants what is to be seen.
    """
    if (screen.against and not people) or {"stimulus", "bias", "probe"} & set(calls.names):
        return []
    ranking = None
    if not screen.against and "first" in calls.names and (len(calls.shown[2]) > len(judges) or not compared):
        ranking = ranking_card(taken)
    return [card for card in (ranking, agreement_card(taken, level_of(calls), people=people)) if card is not None]


def _task_columns(data: pd.DataFrame, screen: FirstScreen, options: MeasureOptions) -> tuple[SummaryColumn, ...]:
    """A column for each task: how the judges do on its items."""
    question = screen.questions.get("right")
    if question is None or "task" not in data or not 2 <= data["task"].nunique() <= MOST_TASKS:
        return ()
    parts = question.marks.groupby("task", sort=True)
    return tuple(
        SummaryColumn(
            f"task {task}",
            str(task),
            "",
            question.form,
            row_of_each(means_of(part, bounds=question.bounds, conf_level=options.conf_level), ()),
        )
        for task, part in parts
    )


def _bias_axes(
    columns: Sequence[SummaryColumn],
    sheet: pd.DataFrame,
    taken: Mapping[str, pd.DataFrame | str],
    groups: Sequence[str],
) -> tuple[tuple[str, str, SummaryColumn], ...]:
    """Position, length and self-preference, each on one axis."""
    axes = []
    if position := next((c for c in columns if c.term == "position_bias"), None):
        options = "Share of the first option minus its share without a preference; left of the line: avoids it."
        slots = "Share of first minus share of second; left of the line: prefers the second."
        axes.append(("Position", options if "option" in position.label else slots, position))
    scores = taken.get("bias_score")
    if isinstance(scores, pd.DataFrame) and "bias" in scores:
        long = scores["bias"].astype(str).str.contains(_LENGTH)
        rows = scores[long & (scores["term"] == "bias") & scores["estimate"].notna()]
        if len(rows):
            rows = rows[rows["bias"] == rows["bias"].iloc[0]]
            column = SummaryColumn("length", "Length bias", "", "points", row_of_each(rows, groups))
            axes.append(("Length", "Right of the line: prefers the longer.", column))
    if own := rows_by_judge(sheet, "self_excess"):
        column = SummaryColumn(
            "self_excess", "Self-preference", "deviation on its own system beyond its leniency", "score", own
        )
        axes.append(
            (
                "Self-preference",
                "Right of the line: kinder to its own system than to others, as such or by taste.",
                column,
            )
        )
    return tuple(axes)


def overview(sheet: pd.DataFrame) -> Summary:
    """The comparison of judges of whom there is only a datasheet of the dark-current design."""
    columns = tuple(stimuli_columns(sheet))
    judges = list(dict.fromkeys(whose(sheet)))
    group = JudgeGroup(tuple(_ranked_judges(judges, columns)), noun(len(judges), "judge"))
    return Summary("", "", (), columns, (group,), _comparison_note(columns, {}, CONF_LEVEL))


def _title_question(
    labels: Sequence[str], who: Contenders, trusted: bool, against: str, leading: Sequence[Card]
) -> str:
    if leading and leading[0].kind == "ranking":
        return "Which system is preferred?"
    contenders = who.among(labels)
    if len(contenders) == 1:
        return f"Can {labels[0]} be trusted?" if trusted else f"How {labels[0]} answers"
    if contenders["judge"].nunique() == 1:
        judge, ways = contenders["judge"].iloc[0], noun(len(contenders), "condition")
        if against == "people":
            return f"In which of {ways} does {judge} agree with people?"
        return f"In which of {ways} can {judge} be trusted?" if trusted else f"How {judge} answers in {ways}"
    said = who.said(labels)
    if against == "people":
        return f"Which of {said} agrees with people?"
    return f"Which of {said} can be trusted?" if trusted else f"How {said} answer"


def _line_of_counts(
    calls: Study, kind: Kind, findings: pd.DataFrame, against: str, without_people: str, options: MeasureOptions
) -> str:
    data = calls.data.to_native()
    rows = findings[findings["level"] == "rows"].set_index("what")["n"]
    used, excluded = int(rows.get("rows used", len(data))), int(rows.get("rows excluded", 0))
    verdicts = kind == "preferences" or answer_column(data.columns) in VERDICTS
    things = ("verdicts on " if verdicts else "scores of ") + _judged_in_words(answered(calls), kind)
    parts = [f"{count(used)} {things}"]
    if kind == "preferences":
        lone = findings.loc[findings["what"] == "only one order of the pair", "n"].sum()
        in_order = len(data)
        if "order_known" in data.columns:
            in_order = int(data["order_known"].fillna(True).astype(bool).sum())
        parts.append(
            "order not known"
            if not in_order
            else "each shown in both orders"
            if not lone and not _repeats_in_one_order(calls)
            else "some shown again in the same order"
            if not lone
            else "shown in one order"
            if lone >= in_order
            else "most shown in both orders"
            if 2 * lone <= in_order
            else "some shown in both orders"
        )
    if options.people is not None:
        compared = "not compared with them" if without_people else "as reference"
        parts.append(f"{noun(options.people['judge'].nunique(), 'person', 'people')} {compared}")
    if pooled := _pooled(data, kind):
        parts.append(f"{' and '.join(pooled.values())} pooled")
    gold = next((data[c] for c in ("gold", "gold_at") if c in data), pd.Series(dtype=object))
    labelled = int((gold.notna() & (gold.astype(str) != "")).sum())
    part = f" on {count(labelled)} of {noun(len(data), 'row')}" if labelled < len(data) else ""
    parts += [f"gold labels{part}"] if labelled else ["no right answers known"] if not against else []
    total = used + excluded
    share = 100 * excluded / max(total, 1)
    left_out = f"{noun(excluded, 'row')} left out ({'< 0.1' if share < 0.05 else number(share, 1)}{PERCENT})"
    parts.append(left_out if excluded else "no row left out")
    unread = findings.loc[findings["level"] == "file", "n"].sum()
    parts += [f"{noun(unread, 'file')} not read"] if unread else []
    return " · ".join(parts)


def _own_things(names: Iterable[object], shared: SharedPart, kind: Kind, *, several: bool) -> SummaryColumn:
    """How many more things each judge judged than those on which all are compared; `several`: in several ways."""
    one = ("pairs" if kind == "preferences" else "items") + " and ways of asking" * several
    cells: dict[str, Record] = {
        str(name): {"estimate": float(n), "conf_low": math.nan, "conf_high": math.nan, "n": float(n), "method": ""}
        for name, n in zip(names, shared.further, strict=True)
    }
    return SummaryColumn("own", f"Further {one} of its own", "not in this table", "count", cells)


def _pooled(data: pd.DataFrame, kind: Kind) -> dict[str, str]:
    """Conditions over which numbers are pooled, and how many of each there are, in words."""
    return {name: noun(n, name, _plural(name)) for name, n in pooled_conditions(data, kind).items()}


def _plural(name: str) -> str:
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def _repeats_in_one_order(calls: Study) -> bool:
    """Whether a judge saw a pair twice in one order, without a number of the repeat."""
    names = {c.name for c in VOCABULARY["preferences"] if c.key} | {"judge"}
    keys = [c for c in calls.names if c in names]
    return COUNTS not in calls.names and calls.columns.n_distinct(keys) < len(calls.columns)


def _judged_units(calls: Study, kind: Kind) -> Codes:
    """What each row judged: an item, or a pair of an item, in whichever order it was shown."""
    return calls.columns.codes(["item"]) if kind != "preferences" else calls.pairs


def _judged_in_words(calls: Study, kind: Kind) -> str:
    """What was judged: items (of several systems, by several criteria), or pairs, and of how many items."""
    items, units = calls.columns.n_distinct(["item"]), _judged_units(calls, kind).size
    if kind != "preferences":
        several = {c: calls.columns.n_distinct([c]) for c in ("system", "criterion") if c in calls.names}
        systems, criteria = several.get("system", 1), several.get("criterion", 1)
        of = f"{noun(systems, 'system')} on {noun(items, 'item')}" if systems > 1 else noun(items, "item")
        return of + (f" by {noun(criteria, 'criterion', 'criteria')}" if criteria > 1 else "")
    return noun(units, "pair") + (f" of {noun(items, 'item')}" if units > items else "")


def _sorting_column(judges: Sequence[str], columns: Sequence[SummaryColumn]) -> SummaryColumn | None:
    """The first column that has a value of these judges."""
    return next((c for c in columns if any(j in c.cells for j in judges)), None)


def _ranked_judges(judges: Sequence[str], columns: Sequence[SummaryColumn]) -> list[str]:
    """Judges by the first column that has a value of theirs, the best first."""
    top = _sorting_column(judges, columns)
    if top is None:
        return sorted(judges)
    sign = 1 if top.lower_is_better else -1

    def key(judge: str) -> tuple[bool, float, str]:
        cell = top.cells.get(judge)
        value = float(cell["estimate"]) if cell is not None else math.nan
        return math.isnan(value), 0.0 if math.isnan(value) else round(sign * value, DECIMALS), judge

    return sorted(judges, key=key)


def _groups_on_page(
    ranked: Sequence[Sequence[str]],
    columns: Sequence[SummaryColumn],
    calls: Study,
    kind: Kind,
    who: Contenders,
    levels: Sequence[str],
) -> tuple[JudgeGroup, ...]:
    """The groups with at most MOST_JUDGES judges in all: of a group that does not fit, its two ends."""
    judge, names = calls.columns["judge"]
    groups: list[JudgeGroup] = []
    room = MOST_JUDGES
    for k, judges in enumerate(ranked):
        if not room:
            break
        low = room // 2
        ends = judges if len(judges) <= room else [*judges[: room - low], *judges[len(judges) - low :]]
        among = np.array([name in {*judges} for name in names])[judge]
        about = _group_in_words(answered(calls.where(among)), judges, kind, who)
        top = _sorting_column(judges, columns)
        other = f"; sorted by “{top.label}”" if top and top is not columns[0] and len(judges) > 1 else ""
        of_level = f"{levels[k]}: " if levels else ""
        groups.append(JudgeGroup(tuple(ends), of_level + about + other))
        room -= len(ends)
    return tuple(groups)


def _judges_left_out(groups: Sequence[JudgeGroup], judges: Sequence[str], who: Contenders) -> str:
    """How many judges are shown of how many, and which; empty if all are."""
    size = sum(len(g.judges) for g in groups)
    if size == len(judges):
        return ""
    which = (
        "first and last of the order" if len(groups) == 1 else "largest groups, and the two ends of the last of them"
    )
    return f"Shown are {count(size)} of {who.said(judges)}: the {which}. The CSV of the page has all."


def _group_in_words(calls: Study, judges: Sequence[str], kind: Kind, who: Contenders) -> str:
    units, (judge, names) = _judged_units(calls, kind), calls.columns["judge"]
    met = combine([(units.code, units.size), (judge, len(names))], len(judge))
    shared = int((np.bincount(units.code[met.first], minlength=units.size) == len(judges)).sum())
    one = "pair" if kind == "preferences" else "item"
    ways = "".join(
        f", {noun(n, c, _plural(c))} pooled" for c, n in pooled_conditions(calls.data.to_native(), kind).items()
    )
    if len(judges) == 1:
        return f"{judges[0]}: {noun(shared, one)}{ways}"
    return f"{who.said(judges)}, {noun(shared, one)} judged by all of them{ways}"


def _comparison_note(columns: Sequence[SummaryColumn], standings: Mapping[str, Standing], conf_level: float) -> str:
    if not columns:
        return ""
    best = "lowest" if columns[0].lower_is_better else "highest"
    label = columns[0].label.translate({ord("“"): "‘", ord("”"): "’"})  # quotation marks within quotation marks
    text = f"Sorted by “{label}”, {best} first. " if len(columns[0].cells) > 1 else ""
    text += f"{100 * conf_level:g}{PERCENT} intervals of each judge alone."
    if any(len(s.means) > 1 for s in standings.values()):
        text += " The lines above use differences on shared items that hold for all pairs of judges at once."
    return text
