"""What a page says first: its title, up to four cards, and the table that compares the judges. Data in, records out."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats import flags
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import JudgestatsError, masked
from judgestats.metrics.clustered import clustered_by
from judgestats.metrics.common_items import together
from judgestats.metrics.marks import (
    distance_marks,
    error_marks,
    order_marks,
    people_marks,
    preference_marks,
    right_marks,
    score_marks,
    spread_marks,
    steady_marks,
)
from judgestats.metrics.measure_registry import Options, measures
from judgestats.metrics.scales import scales_apart
from judgestats.metrics.standings import DECIMALS, FEWEST, Standing, biased, means_of, standing, widened
from judgestats.reporting.estimate_rows import step, whose
from judgestats.reporting.formatting import count, noun, number, signed
from judgestats.schema.coding import Codes, combine, yes_or_no
from judgestats.schema.columns import CONDITIONS, COUNTS, VOCABULARY, Kind, answer_column
from judgestats.schema.factors import Factor, Factors

#: Names that a card lists.
MOST_NAMES = 3
#: Share of calls without a readable answer, or of rows excluded, from which a card says so.
MANY_LOST = 0.05
#: Fewer pairs or items than this are few.
FEW = 30
#: Judges of a page: with more, the highest and the lowest are shown, and the CSV has all.
MOST_JUDGES = 100
#: Judges of whom every two are compared, with intervals that hold for all pairs at once.
MOST_COMPARED = 200
#: More tasks than these are no columns of a table.
MOST_TASKS = 8
_LENGTH = "(?i)length|chars|words|tokens|verbos"
_PERCENT = "\u202f%"
#: The cluster column in the ``method`` of an estimate.
_CLUSTERED = re.compile(r"clustered by (.+?) \(G = ")
#: Columns by which intervals are clustered, as a sentence names their levels.
_LEVELS = {"item": "items", "pair": "pairs", "prompt": "prompts", "task": "tasks"}


@dataclass(frozen=True)
class Card:
    """One sentence of the summary: `kind` is right, steady, biased or care; `method` how it was found."""

    kind: str
    head: str
    claim: str
    detail: str
    method: str = ""


@dataclass(frozen=True)
class Column:
    """A column of the comparison: what it measures, how it is printed, and the row of estimates of each judge."""

    term: str
    label: str
    note: str
    form: str  # share, points (a difference of shares) or score
    cells: Mapping[str, Mapping[str, Any]]
    lower_is_better: bool = False
    reference: float = math.nan  # value of the dashed line, named in `line`
    line: str = ""

    @cached_property
    def ends(self) -> tuple[float, float]:
        """Ends of the axis: 0 to 1 for shares; for others as far as the intervals reach."""
        if self.form == "share":
            return 0.0, 1.0
        known = [abs(float(c[k])) for c in self.cells.values() for k in ("estimate", "conf_low", "conf_high")]
        most = max((v for v in [*known, abs(self.reference)] if math.isfinite(v)), default=1.0) or 1.0
        if self.form == "points":
            return (-1.0, 1.0) if most > 0.4 else (-most, most)
        end = "conf_low" if self.reference == 0 else "estimate"
        low = any(float(c[end]) < 0 for c in self.cells.values())
        return (-most if low else 0.0), most

    def text(self, judge: str) -> tuple[str, str]:
        """Estimate and interval as they are printed."""
        cell = self.cells.get(judge)
        if cell is None or math.isnan(float(cell["estimate"])):
            return "—", ""
        low, high = float(cell["conf_low"]), float(cell["conf_high"])
        value = printed(float(cell["estimate"]), self.form, high - low)
        if not (math.isfinite(low) and math.isfinite(high)):
            return value, ""
        bare = [printed(v, self.form, high - low).replace("\u202f%", "") for v in (low, high)]
        return value, f"{bare[0]} to {bare[1]}" + ("\u202f%" if self.form == "share" else "")


@dataclass(frozen=True)
class Group:
    """Judges that judged the same things, in the order of the first column."""

    judges: tuple[str, ...]
    about: str


@dataclass(frozen=True)
class Summary:
    """The first screen of a page, and the paired differences behind it."""

    title: str
    line: str
    cards: tuple[Card, ...]
    columns: tuple[Column, ...]
    groups: tuple[Group, ...]  # the judges that are shown
    note: str
    differences: Mapping[str, Standing] = field(default_factory=dict)
    tasks: tuple[Column, ...] = ()
    biases: tuple[tuple[str, str, Column], ...] = ()
    against: str = ""
    without_people: str = ""
    left_out: str = ""  # how many judges are not shown, and where they are

    @property
    def judges(self) -> list[str]:
        """The judges that are shown, in the order of the comparison."""
        return [j for g in self.groups for j in g.judges]


def printed(value: float, form: str, width: float = math.nan) -> str:
    """Print a share in percent, a difference of shares in points, a score as it is; decimals as the interval allows."""
    if form == "score":
        return number(value, 2)
    decimals = 1 if width < 0.02 and width > 0 else 0
    if form == "share":
        return f"{number(100 * value, decimals)}\u202f%"
    return signed(100 * value, decimals)


def listed(names: Iterable[str], most: int = MOST_NAMES) -> str:
    """Names in a sentence, the rest counted."""
    known = list(names)
    if len(known) > most + 1:
        return f"{', '.join(known[:most])} and {len(known) - most} more"
    return " and ".join([", ".join(known[:-1]), known[-1]] if len(known) > 1 else known)


# ---- What is measured, by kind of data -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Contenders:
    """Who is compared: judges, or judges in conditions. `rows`: judge and conditions, by the label of each."""

    rows: pd.DataFrame

    @classmethod
    def of(cls, study: Study, named: Sequence[str]) -> _Contenders:
        """The judges of a study, or those of each condition; a missing judge is —."""
        rows = study.columns.take(study.columns.codes(named).first).frame(named)
        return cls(rows.set_axis(whose(rows.assign(term="")).where(rows["judge"].notna(), "—")))

    def said(self, labels: Iterable[str]) -> str:
        """How many they are: 3 judges; 4 judges in 3 conditions."""
        here = self.rows.loc[list(labels)]
        judges, ways = here["judge"].nunique(), len(here.drop(columns="judge").drop_duplicates())
        if judges == len(here):
            return noun(judges, "judge")
        text = f"{noun(judges, 'judge')} in {noun(ways, 'condition')}"
        return text if judges * ways == len(here) else f"{text} ({count(len(here))} in all)"


@dataclass(frozen=True)
class _Question:
    """A card on who is best: its head, the marks, the column with the same numbers, and how differences are said."""

    head: str
    marks: pd.DataFrame
    form: str
    term: str
    units: str  # what the intervals are clustered by, as a plural
    lower_is_better: bool = False
    better: str = "above"


@dataclass(frozen=True)
class _People:
    """Agreement of the judges with people: rows of :func:`judgestats.judge_against_people`, or why there are none."""

    rows: pd.DataFrame
    why: str = ""

    def cells(self, *terms: str) -> dict[str, dict[str, Any]]:
        """Judge -> its row of one of the terms."""
        rows = self.rows[(self.rows["role"] == "judge") & self.rows["term"].isin(terms) & self.rows["estimate"].notna()]
        rows = rows.drop(columns=["role", "answer"])
        named = zip(whose(rows), rows.to_dict("records"), strict=True) if len(rows) else ()
        return {judge: {str(k): v for k, v in r.items()} for judge, r in named}

    @property
    def columns(self) -> list[Column]:
        """Raw agreement, with that of the best constant answer, and agreement beyond chance."""
        if not (cells := self.cells("agreement")):
            return []
        level = self.rows.loc[self.rows["term"] == "constant_answer", "estimate"]
        constant = float(level.iloc[0]) if len(level) == 1 else math.nan
        line = "dashed: always the people's most frequent answer" if len(level) == 1 else ""
        note = "share of people's answers that the judge gives too"
        raw = Column("agreement", "Agrees with people", note, "share", cells, False, constant, line)
        beyond = self.cells("kappa", "concordance")
        note = "agreement beyond chance"
        kappa = Column("kappa", "Kappa with people", note, "score", beyond, False, 0.0, "dashed: chance")
        return [raw, *([kappa] if beyond else [])]


def _beside_people(
    frame: pd.DataFrame, taken: Mapping[str, pd.DataFrame | str], conditions: Sequence[str], options: Options
) -> _People:
    """Agreement with people of each judge under each condition, by the measure itself."""
    none = pd.DataFrame(columns=["judge", "role", "term", "answer", "estimate"])
    if options.people is None:
        return _People(none)
    if not set(frame["item"].astype(str)) & set(options.people["item"].astype(str)):
        return _People(none, "people and judges have no item in common")
    found = taken.get("judge_against_people", "")
    if tuple(conditions) != options.by:  # the datasheets are split further
        found = measures()["judge_against_people"].attempt(frame, replace(options, by=tuple(conditions)))
    if isinstance(found, str):
        return _People(none, found)
    made = _People(found)
    return made if made.columns else _People(none, "people and judges gave no valid answer to the same thing")


def _of_contenders(study: Study, who: _Contenders, named: Sequence[str]) -> Study:
    """The calls by contender in place of judge, without how a judge was asked: it is no part of what it judged."""
    label, labels = pd.factorize(who.rows.index, sort=True)
    judge = Factor(label[study.columns.codes(named).code], labels)
    columns = study.columns.but(judge=judge)
    met = {w: columns.codes(["judge", w]).first for w in CONDITIONS if w in columns and w not in named}
    one = [w for w, first in met.items() if np.bincount(judge.code[first]).max(initial=0) <= 1]
    data = study.data.to_native().assign(judge=np.asarray(labels, dtype=object)[judge.code]).drop(columns=one)
    for w in one:
        columns = columns.without(w)
    return Study(columns, nw.from_native(data, eager_only=True))


def summarise(
    study: Study,
    kind: Kind,
    sheet: pd.DataFrame,
    taken: Mapping[str, pd.DataFrame | str],
    findings: pd.DataFrame,
    options: Options,
    title: str | None = None,
) -> Summary:
    """Choose what a page says first of canonical rows without people, their datasheet, measures and findings."""
    columns, frame = list(sheet.columns), study.data.to_native()
    named = [c for c in columns[: columns.index("section")] if c in frame.columns]
    who = _Contenders.of(study, named)
    calls = _of_contenders(study, who, named)
    conditions = [g for g in named if g != "judge"]
    people = _beside_people(frame, taken, conditions, options)
    chosen = _of_ratings if kind == "ratings" else _of_stimuli if "stimulus" in frame.columns else _of_pairs
    found = chosen(calls, sheet, people, conditions, options)
    data = calls.data.to_native()
    met, _ = calls.columns.counted(["judge", "item"])
    parts = together(met.series("judge"), met.series("item"))
    filled = [c for c in found.columns if any(math.isfinite(float(cell["estimate"])) for cell in c.cells.values())]
    shown = tuple(sorted(filled, key=lambda c: parts != [] and not c.cells.keys() & set(parts[0])))
    ranked = [_ranked(g, shown) for g in parts]
    first = set(ranked[0]) if ranked else set()
    standings: dict[str, Standing] = {}
    cards: list[Card] = []
    for name, question in found.questions.items():
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
        made = standing(
            marks, lower_is_better=question.lower_is_better, conf_level=options.conf_level, seed=options.seed
        )
        standings[name] = made
        cards.append(_best(name, question, made, found, who, options.conf_level))
    if found.bias is not None and not found.bias.empty:
        rows = found.bias[found.bias["judge"].isin(first)]
        cards += [_most_biased(found, rows, first, options)] if len(rows) else []
    care = _care(data, met, kind, sheet, shown, ranked, findings, people.why, found.apart, options)
    cards += [care] if care else []
    judges = [j for g in ranked for j in g]
    groups = _most_of(ranked, shown, calls, kind, who)
    left_out = _left_out(groups, judges, who)
    return Summary(
        masked(title) if title else _title(judges, who, bool(shown and found.against), found.against),
        _line(calls, _things(calls, kind), kind, findings, found.against, people.why or found.apart, options),
        tuple(cards),
        shown,
        groups,
        f"{left_out} {_note(shown, standings, options.conf_level)}".strip() if shown else "",
        standings,
        _by_task(data, found, options),
        _biases(shown, sheet, taken),
        found.against,
        people.why,
        left_out,
    )


def _by_task(data: pd.DataFrame, found: _Found, options: Options) -> tuple[Column, ...]:
    """A column for each task: how the judges do on its items."""
    question = found.questions.get("right")
    if question is None or "task" not in data or not 2 <= data["task"].nunique() <= MOST_TASKS:
        return ()
    parts = question.marks.groupby("task", sort=True)
    return tuple(
        Column(f"task {task}", str(task), "", question.form, _from_means(means_of(part, conf_level=options.conf_level)))
        for task, part in parts
    )


def _biases(
    columns: Sequence[Column], sheet: pd.DataFrame, taken: Mapping[str, pd.DataFrame | str]
) -> tuple[tuple[str, str, Column], ...]:
    """Position, length and self-preference, each on one axis."""
    made = []
    if position := next((c for c in columns if c.term == "position_bias"), None):
        made.append(
            ("Position", "Share of first minus share of second; left of the line: prefers the second.", position)
        )
    scores = taken.get("bias_score")
    if isinstance(scores, pd.DataFrame) and "bias" in scores:
        long = scores["bias"].astype(str).str.contains(_LENGTH)
        rows = scores[long & (scores["term"] == "bias") & scores["estimate"].notna()].drop_duplicates("judge")
        if len(rows):
            cells = {str(r["judge"]): {str(k): v for k, v in r.items()} for r in rows.to_dict("records")}
            column = Column("length", "Length bias", "", "points", cells)
            made.append(("Length", "Right of the line: prefers the longer.", column))
    if own := _cells(sheet, "self_excess"):
        column = Column(
            "self_excess", "Self-preference", "deviation on its own system beyond its leniency", "score", own
        )
        made.append(("Self-preference", "Right of the line: too kind to its own system.", column))
    return tuple(made)


@dataclass(frozen=True)
class _Found:
    """Columns of the comparison, the questions of the cards, the biases of the judges and how they are said."""

    columns: list[Column]
    questions: dict[str, _Question]
    against: str = ""
    bias: pd.DataFrame | None = None
    said: _Bias | None = None
    apart: str = ""  # which scores are on different scales, so that none of that is made of them


@dataclass(frozen=True)
class _Bias:
    """How a card says a bias: its head where there is none, heads above and below 0, and both of several judges."""

    head: str
    none: str
    heads: tuple[str, str]
    plural: tuple[str, str]
    term: str  # of the column with the same numbers
    form: str
    method: str
    units: str  # what the intervals are clustered by, as a plural


def _order_bias(units: str) -> _Bias:
    return _Bias(
        "Position bias", "No position bias found", ("Prefers what is shown first", "Prefers what is shown second"),
        ("prefer what is shown first", "prefer what is shown second"), "position_bias", "points",
        "largest |t| over shared items", units,
    )  # fmt: skip


def _leniency_bias(other: str, none: str, units: str) -> _Bias:
    return _Bias(
        "Leniency", none, (f"Scores higher than {other}", f"Scores lower than {other}"),
        (f"score higher than {other}", f"score lower than {other}"), "mean_others", "score", "Bonferroni", units,
    )  # fmt: skip


def _cells(sheet: pd.DataFrame, term: str, sections: Sequence[str] = (), at: str = "") -> dict[str, dict[str, Any]]:
    """Judge -> its row of a term: of a ladder the first or the last step."""
    rows = sheet[(sheet["term"] == term) & sheet["estimate"].notna()]
    rows = rows[rows["section"].isin(list(sections))] if sections else rows
    if term == "dark_current":
        rows = rows[rows["detail"].isin(["", "all"])]
    if at:
        rows = rows.assign(step=step(rows)).sort_values("step", ascending=at == "first", kind="stable")
        rows = rows.drop(columns="step")
    found: dict[str, dict[str, Any]] = {}
    for judge, r in zip(whose(rows), rows.to_dict("records"), strict=True) if len(rows) else ():
        found.setdefault(str(judge), {str(k): v for k, v in r.items()})
    return found


def _from_means(means: pd.DataFrame, cluster: str = "") -> dict[str, dict[str, Any]]:
    by = f", clustered by {cluster}" if cluster else ""
    return {
        str(r["judge"]): {**r, "method": f"t{by} (G = {r['clusters']})", "flag": flags.few_clusters(r["clusters"])}
        for r in means.to_dict("records")
    }


def _cluster(data: pd.DataFrame, cells: Mapping[str, Mapping[str, Any]]) -> str:
    """What the intervals of a column are clustered by, so that its card has the same unit; empty for single units."""
    methods = (_CLUSTERED.search(str(cell.get("method", ""))) for cell in cells.values())
    column = next((m[1] for m in methods if m), "")
    return column if column in ("", "pair") or column in data.columns else "item"


def _levels(cluster: str, single: str) -> str:
    """Plural of what intervals are clustered by; `single`: of the units themselves."""
    return _LEVELS.get(cluster, f"levels of {cluster}") if cluster else single


def _of_pairs(calls: Study, sheet: pd.DataFrame, people: _People, conditions: list[str], options: Options) -> _Found:
    questions: dict[str, _Question] = {}
    columns: list[Column] = []
    data, against = calls.data.to_native(), ""
    if right := _cells(sheet, "accuracy", ["gold"]):
        against = "gold"
        level, line = _constant(data)
        note = "share of valid verdicts that match gold"
        columns.append(Column("accuracy", "Accuracy", note, "share", right, False, level, line))
        cluster = _cluster(data, right)
        marks = right_marks(calls, conditions, cluster)
        questions["right"] = _Question("Most often right", marks, "share", "accuracy", _levels(cluster, "calls"))
    if people.columns:
        columns += people.columns
        if not against:
            against = "people"
            questions["right"] = _closest_to_people(data, people, conditions, options)
    if steady := _cells(sheet, "consistency", ["swap"]):
        columns.append(Column("consistency", "Same verdict in both orders", "share of pairs", "share", steady))
        cluster = _cluster(data, steady)
        marks = steady_marks(calls, conditions, cluster)
        head = "Steady when the order is swapped"
        questions["steady"] = _Question(head, marks, "share", "consistency", _levels(cluster, "pairs"))
    slots = {
        j: r for j, r in _cells(sheet, "position_bias", ["slots"]).items() if flags.ORDER_CONFOUNDED not in r["flag"]
    }
    if slots:
        columns.append(
            Column(
                "position_bias", "First-position preference", "points, first minus second", "points", slots, False, 0.0,
                "dashed: none",
            )
        )  # fmt: skip
    if again := _cells(sheet, "repeat_consistency", ["repeats"]):
        columns.append(Column("repeat_consistency", "Same verdict when asked again", "share", "share", again))
    cluster = _cluster(data, slots)
    marks = order_marks(calls, conditions, cluster or "pair") if slots else pd.DataFrame()
    bias = biased(marks, conf_level=options.conf_level, seed=options.seed) if len(marks) else None
    return _Found(columns, questions, against, bias, _order_bias(_levels(cluster, "pairs")))


def _closest_to_people(data: pd.DataFrame, people: _People, conditions: list[str], options: Options) -> _Question:
    assert options.people is not None
    cluster = _cluster(data, people.cells("agreement"))
    marks = people_marks(data, options.people, conditions, cluster)
    return _Question("Agrees most with people", marks, "share", "agreement", _levels(cluster, "items"))


def _stimuli_columns(sheet: pd.DataFrame) -> list[Column]:
    """Columns of the dark-current design: a known difference, nothing at all, and equals."""
    about = (
        ("target_sensitivity", "ladder", "Finds the smallest difference", "right choices at the first step of the "
         "ladder; a tie is a miss", False),
        ("dark_current", "dark current", "Dark current", "preferences where there is nothing to prefer", True),
        ("raw_false_preference", "Δ0", "False preference", "calls on equals that prefer one", True),
        ("stable_cross_sensitivity", "Δ0", "Holds on to one of two equals", "pairs of equals, in both orders", True),
    )  # fmt: skip
    return [
        Column(term, label, f"share of {note}", "share", cells, lower)
        for term, section, label, note, lower in about
        if (cells := _cells(sheet, term, [section], at="first" if term == "target_sensitivity" else ""))
    ]


def overview(sheet: pd.DataFrame) -> Summary:
    """The comparison of judges of whom there is only a datasheet of the dark-current design."""
    columns = tuple(_stimuli_columns(sheet))
    judges = list(dict.fromkeys(whose(sheet)))
    group = Group(tuple(_ranked(judges, columns)), noun(len(judges), "judge"))
    return Summary("", "", (), columns, (group,), _note(columns, {}, CONF_LEVEL))


def _of_stimuli(
    calls: Study,
    sheet: pd.DataFrame,
    people: _People,  # noqa: ARG001  (as for the other kinds)
    conditions: list[str],
    options: Options,
) -> _Found:
    data = calls.data.to_native()
    stimulus = data["stimulus"].astype(str)
    questions: dict[str, _Question] = {}
    columns = _stimuli_columns(sheet)
    of_term = {c.term: _cluster(data, c.cells) for c in columns}
    if (cluster := of_term.get("target_sensitivity")) is not None:
        ladder = data[(stimulus == "ladder") & data["better"].notna()]
        ladder = ladder[pd.to_numeric(ladder["delta"]) == pd.to_numeric(ladder["delta"]).min()]
        marks = right_marks(ladder, conditions, cluster, "better")
        head = "Most often finds the smallest difference"
        questions["right"] = _Question(head, marks, "share", "target_sensitivity", _levels(cluster, "calls"))
    if (cluster := of_term.get("dark_current")) is not None:
        marks = preference_marks(data[stimulus == "vacuum"], conditions, cluster)
        head = "Fewest preferences where nothing differs"
        questions["dark"] = _Question(head, marks, "share", "dark_current", _levels(cluster, "calls"), True, "below")
    bias = None
    if len(marks := order_marks(calls, conditions)):
        bias = biased(marks, conf_level=options.conf_level, seed=options.seed)
    against = "known differences" if "right" in questions else ""
    return _Found(columns, questions, against, bias, _order_bias("items"))


def _of_right_or_wrong(
    data: pd.DataFrame, sheet: pd.DataFrame, people: _People, conditions: list[str], options: Options
) -> _Found:
    """What a table of ``correct`` answers."""
    questions: dict[str, _Question] = {}
    columns: list[Column] = []
    against = ""
    if right := _cells(sheet, "accuracy"):
        against = "gold"
        said, gold = yes_or_no(data["correct"]), yes_or_no(data["gold"])
        known = data.assign(score=(said == gold).astype(float).where(said.notna() & gold.notna()))
        share = gold.dropna().astype(float).mean()
        columns.append(
            Column(
                "accuracy", "Accuracy", "share of verdicts that match gold", "share", right, False,
                max(share, 1 - share), "dashed: best constant answer",
            )
        )  # fmt: skip
        cluster = _cluster(data, right)
        marks = score_marks(known, conditions, cluster)
        questions["right"] = _Question("Most often right", marks, "share", "accuracy", _levels(cluster, "items"))
    if people.columns:
        columns += people.columns
        if not against:
            against = "people"
            questions["right"] = _closest_to_people(data, people, conditions, options)
    if says := _cells(sheet, "right"):
        note = "share of valid verdicts; no gold says whether they are right"
        columns.append(Column("right", "Verdicts “correct”", note, "share", says))
    return _Found(columns, questions, against)


def _of_ratings(calls: Study, sheet: pd.DataFrame, people: _People, conditions: list[str], options: Options) -> _Found:
    data = calls.data.to_native()
    value = answer_column(data.columns)
    if value == "correct":
        return _of_right_or_wrong(data, sheet, people, conditions, options)
    if pair := scales_apart(data[value], data["judge"]):
        return _Found([], {}, apart=f"there is {pair[0]}, and {pair[1]}; name the scale in a column, one page for each")
    questions: dict[str, _Question] = {}
    columns: list[Column] = []
    against = ""
    cluster = clustered_by(data, ["judge", *conditions], options.cluster, whole="item").column
    units = _levels(cluster, "items")
    for source, name, marks in _distances(data, people, conditions, cluster, value, options):
        means = means_of(marks, lower_is_better=True, conf_level=options.conf_level)
        reference = math.nan
        if source == "gold":
            right = pd.to_numeric(data["gold"], errors="coerce").dropna()
            reference = float((right - right.median()).abs().mean())
        columns.append(
            Column(
                "distance", f"Distance from {name}", "mean distance of a score on its scale; lower is better",
                "score", _from_means(means, cluster), True, reference,
                "dashed: always the median of gold" if source == "gold" else "",
            )
        )  # fmt: skip
        if not against:
            against = source
            questions["right"] = _Question(
                f"Closest to {name}", marks, "score", "distance", units, True, "closer than"
            )  # fmt: skip
    spread = spread_marks(data, conditions, cluster, value)
    if not spread.empty and (runs := _cells(sheet, "run_sd")):
        columns.append(
            Column("run_sd", "Spread when asked again", "standard deviation over repeats", "score", runs, True)
        )
        questions["steady"] = _Question(
            "Steadiest when asked again", spread, "score", "run_sd", units, True, "in variance below"
        )
    if leniency := _cells(sheet, "mean_others"):
        columns.append(
            Column(
                "mean_others", "Leniency", "mean deviation from people" if options.people is not None else
                "mean deviation from the other judges", "score", leniency, False, 0.0, "dashed: none",
            )
        )  # fmt: skip
    if means := _cells(sheet, "mean_score"):
        columns.append(Column("mean_score", "Mean score", "over all it scored", "score", means))
    bias = None
    if leniency:
        rows = pd.DataFrame([{**r, "judge": j} for j, r in leniency.items()])
        bias = widened(rows[rows["judge"].isin(data["judge"].unique())], data["item"].nunique(), options.conf_level)
    words = ("people", "No judge differs in leniency from people")
    words = words if options.people is not None else ("its peers", "No judge is stricter than the others")
    return _Found(columns, questions, against, bias, _leniency_bias(*words, units))


def _distances(
    data: pd.DataFrame, people: _People, conditions: list[str], cluster: str, value: str, options: Options
) -> Iterable[tuple[str, str, pd.DataFrame]]:
    """What scores are compared with, its name, and the distance of each score from it; none where there is none."""
    if "gold" in data and len(marks := error_marks(data, conditions, cluster, value)):
        yield "gold", "gold", marks
    if options.people is not None and people.columns:
        try:
            marks = distance_marks(data, options.people, conditions, cluster)
        except JudgestatsError:
            return
        if len(marks):
            yield "people", "the people's mean", marks


def _constant(data: pd.DataFrame) -> tuple[float, str]:
    """Accuracy of the best constant answer, or of chance where two answers are forced; and its name."""
    known = data[data["gold"].notna()]
    gold, n = known["gold"].astype(str), max(len(known), 1)
    shares = {
        "first": float((gold == known["first"].astype(str)).sum()) / n,
        "second": float((gold == known["second"].astype(str)).sum()) / n,
        "tie": float((gold == "tie").sum()) / n,
    }
    answer = max(shares, key=lambda k: (round(shares[k], 12), k == "first"))
    forced = shares["tie"] == 0 and not known["choice"].astype(str).isin(["tie", "abstain"]).any()
    if forced and abs(shares["first"] - 0.5) < 0.005:
        return 0.5, "dashed: chance, 50\u202f%"
    said = "a tie" if answer == "tie" else answer
    return shares[answer], f"dashed: best constant answer (always {said})"


# ---- The cards -------------------------------------------------------------------------------------------------------


def _best(name: str, q: _Question, made: Standing, found: _Found, contenders: _Contenders, conf_level: float) -> Card:
    column = next((c for c in found.columns if c.term == q.term), None)
    cells = column.cells if column is not None else {}  # the card says what the table says of a judge alone
    estimates = dict(made.means[["judge", "estimate"]].itertuples(index=False))
    means = pd.Series({j: float(cells[j]["estimate"]) if j in cells else float(v) for j, v in estimates.items()})
    shown = {j: column.text(j)[0] if column and j in cells else printed(v, q.form) for j, v in means.items()}
    method = f"{made.method}; over {q.units}"
    best = made.best
    if len(means) == 1:
        head = f"{'Distance from' if q.lower_is_better else 'Right on'} {found.against}" if name == "right" else q.head
        value, detail = column.text(best) if column and best in cells else (shown[best], "")
        detail = f"{100 * conf_level:g}\u202f% interval {detail}" if detail else "no interval"
        if column is not None and math.isfinite(column.reference) and column.line:
            line = column.line.removeprefix("dashed: ")
            detail += f"; {line}" if _PERCENT in line else f"; {line}: {printed(column.reference, q.form)}"
        return Card(name, head, f"{best}, {value}", detail)
    if made.ahead or made.uncompared:
        return Card(name, q.head, "Cannot be said", _not_compared(q, made, shown), method)
    top = [best, *made.tied]
    following = str(means.index[1])
    row = made.difference(best, following)
    if made.winner and row is not None:
        gap = _size(abs(float(row["estimate"])), q.form)
        ends = sorted(abs(float(row[k])) for k in ("conf_low", "conf_high"))
        detail = (
            f"{gap} {q.better} {following}{_where(made, row)} ({_held(conf_level, len(made.pairs))} "
            f"{_bare(ends[0], q.form)} to {_bare(ends[1], q.form)})"
        )
        return Card(name, q.head, f"{best}, {shown[best]}", detail, method)
    low, high = (shown[str(j)] for j in (means[top].idxmin(), means[top].idxmax()))
    between = low if low == high else f"{low.removesuffix(_PERCENT)} to {high}"
    worst = str(means.index[-1])
    if len(top) == len(means):
        claim = f"None of {contenders.said(means.index)} stands out"
        detail = f"{between}; no difference from {best} excludes 0{_apart_alone(cells, made)}"
        return Card(name, q.head, claim, detail, method)
    behind = [str(j) for j in means.index if j not in top]
    who = (
        listed(top)
        if len(top) <= 2
        else f"All but {listed(behind)}"
        if len(behind) <= 2
        else f"{len(top)} of {contenders.said(means.index)}"
    )
    claim = f"{who}, {between}"
    some = f"{listed(top)} are not distinguishable" if who.startswith(str(len(top))) else "not distinguishable"
    detail = f"{some} from the best, {best}{_apart_alone(cells, made)}; the last, {worst}, has {shown[worst]}"
    method += f"; not distinguishable from the best: {', '.join(top)}"
    return Card(name, q.head, claim, detail, method)


def _not_compared(q: _Question, made: Standing, shown: Mapping[str, str]) -> str:
    """Why the judge with the best value cannot be called the best: whom it was not compared with, or who is ahead."""
    means = made.means.set_index("judge")["estimate"].round(DECIMALS)
    equal = [str(j) for j in means.index[means == means.iloc[0]]]
    extreme = "lowest" if q.lower_is_better else "highest"
    parts = [f"{listed(equal)} {'has' if len(equal) == 1 else 'have'} the {extreme}, {shown[made.best]}"]
    if made.ahead:
        parts.append(f"on what both judged, {listed(made.ahead)} {'is' if len(made.ahead) == 1 else 'are'} better")
    few = [j for j in made.uncompared if made.difference(made.best, j) is None]
    if few:
        parts.append(f"fewer than {FEWEST} {q.units} on which {made.best} can be compared with {listed(few)}")
    if rest := [j for j in made.uncompared if j not in few]:
        parts.append(f"no interval for the difference from {listed(rest)}, which does not vary")
    if made.tied:
        parts.append(f"not distinguishable from it: {listed(made.tied)}")
    return "; ".join(parts)


def _apart_alone(cells: Mapping[str, Mapping[str, Any]], made: Standing) -> str:
    """Which judges, not distinguishable from the best, have an interval of their own in the table that is apart."""
    low, high = (float(cells.get(made.best, {}).get(end, math.nan)) for end in ("conf_low", "conf_high"))
    alone = [j for j in made.tied if j in cells and (cells[j]["conf_low"] > high or cells[j]["conf_high"] < low)]
    return f"; alone, the intervals of {made.best} and {listed(alone)} do not overlap" if alone else ""


def _where(made: Standing, row: Mapping[str, Any]) -> str:
    """That a difference is over a part of what was judged, if so."""
    units = made.means.set_index("judge")["n"]
    return "" if (units[[row["judge"], row["other"]]] == row["n"]).all() else " on what both judged"


def _held(conf_level: float, comparisons: int) -> str:
    """What an interval of a card is called: of several comparisons it holds for all at once."""
    return f"{'simultaneous ' if comparisons > 1 else ''}{100 * conf_level:g}\u202f% interval"


def _bare(value: float, form: str) -> str:
    """An end of an interval that leaves out 0, which no rounding makes 0."""
    if form == "score":
        return number(value, 2 if value >= 0.005 else 4)
    return number(100 * value, 0 if value >= 0.005 else 1 if value >= 0.0005 else 3)


def _size(value: float, form: str) -> str:
    return number(value, 2) if form == "score" else noun(round(100 * value), "point")


def _most_biased(found: _Found, rows: pd.DataFrame, judges: Iterable[str], options: Options) -> Card:
    """The judge farthest from 0 whose simultaneous interval excludes 0; without one, none or what cannot be said."""
    bias = found.said
    assert bias is not None
    cells = next((c.cells for c in found.columns if c.term == bias.term), {})
    if len(rows) == 1 and (cell := cells.get(rows["judge"].iloc[0])) is not None:
        ends = {k: float(cell[k]) for k in ("estimate", "conf_low", "conf_high")}  # one judge: nothing is selected
        rows = rows.assign(**ends)
    said: Callable[[float], str] = lambda v: signed(v) if bias.form == "score" else signed(100 * v, 0)  # noqa: E731
    unit = "" if bias.form == "score" else " points"
    method = f"simultaneous over the judges: {bias.method}; over {bias.units}"

    def interval_of(r: Mapping[Any, Any]) -> str:
        return f"{_held(options.conf_level, len(rows))} {said(r['conf_low'])} to {said(r['conf_high'])}"

    clear = rows[(rows["conf_low"] > 0) | (rows["conf_high"] < 0)]
    if len(clear):
        side = int(clear["estimate"].iloc[0] < 0)
        r, rest = clear.iloc[0], clear.iloc[1:]
        parts = [interval_of(r)]
        for k in (side, 1 - side):
            if others := [str(j) for j in rest.loc[(rest["estimate"] < 0) == bool(k), "judge"]]:
                parts.append(f"{bias.plural[k]}{', too' if k == side else ''}: {listed(others)}")
        return Card("biased", bias.heads[side], f"{r['judge']}, {said(r['estimate'])}{unit}", "; ".join(parts), method)
    measured = rows["conf_low"].notna() | ((rows["estimate"] == 0) & (rows["clusters"] >= FEWEST))
    known, lacking = rows[measured], [str(j) for j in rows.loc[~measured, "judge"]]
    alone = [j for j in judges if j in cells and (cells[j]["conf_low"] > 0 or cells[j]["conf_high"] < 0)]
    parts = []
    if len(known):
        r = known.iloc[0]
        parts.append(
            f"largest: {r['judge']}, {said(r['estimate'])}{unit} ({interval_of(r)})"
            if math.isfinite(r["conf_low"]) else "every estimate is 0"
        )  # fmt: skip
    if lacking:
        few = (rows.loc[~measured, "clusters"] < FEWEST).all()
        parts.append(f"fewer than {FEWEST} {bias.units}" if few else "no interval")
    if alone:
        one = len(alone) == 1
        parts.append(f"the interval{'' if one else 's'} of {listed(sorted(alone))} alone exclude{'s' if one else ''} 0")
    if not lacking:
        claim = bias.none if not alone else f"None that holds for {noun(len(rows), 'judge')} at once"
    else:
        claim = f"Cannot be said of {listed(lacking)}" if len(known) else "Cannot be said"
    return Card("biased", bias.head, claim, "; ".join(parts), method)


def _care(
    data: pd.DataFrame,
    met: Factors,
    kind: Kind,
    sheet: pd.DataFrame,
    columns: Sequence[Column],
    ranked: Sequence[Sequence[str]],
    findings: pd.DataFrame,
    without_people: str,
    apart_scales: str,
    options: Options,
) -> Card | None:
    """The first caution that applies, and how many more."""
    thing = "pairs" if kind == "preferences" else "items"
    said: list[tuple[str, str]] = []
    if apart_scales:
        said.append(("Scores on different scales are not compared", apart_scales))
    if without_people:
        said.append(("Not compared with people", without_people))
    apart = [j for judges in ranked[1:] for j in judges]
    if apart:
        why = f"It shares too few {thing} with the rest, and stands apart"
        why = why if len(apart) == 1 else f"They share too few {thing} with the rest, and stand apart"
        said.append((f"{listed(apart, 2)} judged other {thing}", why))
    lost = {j: 1 - float(r["estimate"]) for j, r in _cells(sheet, "valid", ["validity"]).items()}
    lost |= {j: float(r["estimate"]) for j, r in _cells(sheet, "missing").items()}
    many = sorted((j for j, share in lost.items() if share >= MANY_LOST), key=lambda j: (-lost[j], j))
    if many:
        why = f"{printed(lost[many[0]], 'share')} of calls gave no readable answer"
        said.append((f"{listed(many, 2)}: answers missing", why))
    top = columns[0] if columns else None
    if top is not None and math.isfinite(top.reference) and top.term in ("accuracy", "agreement", "distance"):
        end = "conf_high" if top.lower_is_better else "conf_low"
        sign = -1 if top.lower_is_better else 1
        weak = [j for j, c in top.cells.items() if sign * float(c[end]) <= sign * top.reference]
        if weak:
            line = top.line.removeprefix("dashed: ")
            said.append((f"{listed(weak, 2)}: no better than a constant answer", f"not distinguishable from {line}"))
    most = int(np.bincount(met["judge"].code).max(initial=0))
    if 0 < most < FEW:
        said.append((f"Only {noun(most, 'item')}", "intervals are wide, and rough below 10"))
    rows = findings[findings["level"] == "rows"].set_index("what")["n"]
    excluded, total = int(rows.get("rows excluded", 0)), max(int(rows.get("rows in", 1)), 1)
    if excluded / total >= MANY_LOST:
        share = printed(excluded / total, "share")
        said.append((f"{share} of the rows excluded", f"{count(excluded)} of {count(total)}; see data and method"))
    alone = len(met.labels("judge")) == 1 and options.people is None and "gold" not in data.columns
    if alone and "stimulus" not in data.columns:
        said.append(("One judge, no reference", "add right answers (gold=), people (humans=) or a second judge"))
    if not said:
        return None
    claim, detail = said[0]
    more = f"; also: {'; '.join(c[0].lower() + c[1:] if c.startswith(('Only', 'One')) else c for c, _ in said[1:3])}"
    return Card("care", "Read with care", claim, detail + (more if len(said) > 1 else ""))


# ---- Title, line, groups ---------------------------------------------------------------------------------------------


def _title(labels: Sequence[str], who: _Contenders, trusted: bool, against: str) -> str:
    here = who.rows.loc[list(labels)]
    if len(here) == 1:
        return f"Can {labels[0]} be trusted?" if trusted else f"How {labels[0]} answers"
    if here["judge"].nunique() == 1:
        judge, ways = here["judge"].iloc[0], noun(len(here), "condition")
        if against == "people":
            return f"In which of {ways} does {judge} agree with people?"
        return f"In which of {ways} can {judge} be trusted?" if trusted else f"How {judge} answers in {ways}"
    said = who.said(labels)
    if against == "people":
        return f"Which of {said} agrees with people?"
    return f"Which of {said} can be trusted?" if trusted else f"How {said} answer"


def _line(
    calls: Study,
    judged: str,
    kind: Kind,
    findings: pd.DataFrame,
    against: str,
    without_people: str,
    options: Options,
) -> str:
    data = calls.data.to_native()
    rows = findings[findings["level"] == "rows"].set_index("what")["n"]
    used, excluded = int(rows.get("rows used", len(data))), int(rows.get("rows excluded", 0))
    verdicts = kind == "preferences" or answer_column(data.columns) == "correct"
    things = "verdicts on " if verdicts else "scores of "
    things += judged
    parts = [f"{count(used)} {things}"]
    if kind == "preferences":
        lone = findings.loc[findings["what"] == "only one order of the pair", "n"].sum()
        known = "order_known" not in data.columns or data["order_known"].fillna(True).astype(bool).any()
        parts.append(
            "order not known" if not known else "each shown in both orders" if not lone and not _again(calls) else
            "some shown again in the same order" if not lone else
            "shown in one order" if lone >= len(data) else "most shown in both orders"
        )  # fmt: skip
    if options.people is not None:
        compared = "not compared with them" if without_people else "as reference"
        parts.append(f"{noun(options.people['judge'].nunique(), 'person', 'people')} {compared}")
    labelled = "gold" in data and data["gold"].notna().any()
    parts += ["gold labels"] if labelled else ["no right answers known"] if not against else []
    total = used + excluded
    share = 100 * excluded / max(total, 1)
    left_out = f"{noun(excluded, 'row')} left out ({'< 0.1' if share < 0.05 else number(share, 1)}\u202f%)"
    parts.append(left_out if excluded else "no row left out")
    unread = findings.loc[findings["level"] == "file", "n"].sum()
    parts += [f"{noun(unread, 'file')} not read"] if unread else []
    return " · ".join(parts)


def _again(calls: Study) -> bool:
    """Whether a judge saw a pair twice in one order, without a number of the repeat."""
    names = {c.name for c in VOCABULARY["preferences"] if c.key} | {"judge"}
    keys = [c for c in calls.names if c in names]
    return COUNTS not in calls.names and calls.columns.codes(keys).size < len(calls.columns)


def _units(calls: Study, kind: Kind) -> Codes:
    """What each row judged: an item, or a pair of an item, in whichever order it was shown."""
    return calls.columns.codes(["item"]) if kind != "preferences" else calls.pairs


def _things(calls: Study, kind: Kind) -> str:
    """What was judged: items, or pairs, and of how many items if an item has several."""
    items, units = len(calls.columns.labels("item")), _units(calls, kind).size
    if kind != "preferences":
        return noun(items, "item")
    return noun(units, "pair") + (f" of {noun(items, 'item')}" if units > items else "")


def _sorted_by(judges: Sequence[str], columns: Sequence[Column]) -> Column | None:
    """The first column that has a value of these judges."""
    return next((c for c in columns if any(j in c.cells for j in judges)), None)


def _ranked(judges: Sequence[str], columns: Sequence[Column]) -> list[str]:
    """Judges by the first column that has a value of theirs, the best first."""
    top = _sorted_by(judges, columns)
    if top is None:
        return sorted(judges)
    sign = 1 if top.lower_is_better else -1

    def key(judge: str) -> tuple[bool, float, str]:
        cell = top.cells.get(judge)
        value = float(cell["estimate"]) if cell is not None else math.nan
        return math.isnan(value), 0.0 if math.isnan(value) else round(sign * value, DECIMALS), judge

    return sorted(judges, key=key)


def _most_of(
    ranked: Sequence[Sequence[str]], columns: Sequence[Column], calls: Study, kind: Kind, who: _Contenders
) -> tuple[Group, ...]:
    """The groups with at most MOST_JUDGES judges in all: of a group that does not fit, its two ends."""
    judge, names = calls.columns["judge"]
    groups: list[Group] = []
    room = MOST_JUDGES
    for judges in ranked:
        if not room:
            break
        low = room // 2
        ends = judges if len(judges) <= room else [*judges[: room - low], *judges[len(judges) - low :]]
        among = np.array([name in {*judges} for name in names])[judge]
        about = _about(calls.where(among), judges, kind, who)
        top = _sorted_by(judges, columns)
        other = f"; sorted by “{top.label}”" if top and top is not columns[0] and len(judges) > 1 else ""
        groups.append(Group(tuple(ends), about + other))
        room -= len(ends)
    return tuple(groups)


def _left_out(groups: Sequence[Group], judges: Sequence[str], who: _Contenders) -> str:
    """How many judges are shown of how many, and which; empty if all are."""
    size = sum(len(g.judges) for g in groups)
    if size == len(judges):
        return ""
    which = (
        "first and last of the order" if len(groups) == 1 else "largest groups, and the two ends of the last of them"
    )
    return f"Shown are {count(size)} of {who.said(judges)}: the {which}. The CSV of the page has all."


def _about(calls: Study, judges: Sequence[str], kind: Kind, who: _Contenders) -> str:
    units, (judge, names) = _units(calls, kind), calls.columns["judge"]
    met = combine([(units.code, units.size), (judge, len(names))], len(judge))
    shared = int((np.bincount(units.code[met.first], minlength=units.size) == len(judges)).sum())
    one = "pair" if kind == "preferences" else "item"
    if len(judges) == 1:
        return f"{judges[0]}: {noun(shared, one)}"
    return f"{who.said(judges)}, {noun(shared, one)} judged by all of them"


def _note(columns: Sequence[Column], standings: Mapping[str, Standing], conf_level: float) -> str:
    if not columns:
        return ""
    best = "lowest" if columns[0].lower_is_better else "highest"
    label = columns[0].label.translate({ord("“"): "‘", ord("”"): "’"})  # quotation marks within quotation marks
    text = f"Sorted by “{label}”, {best} first. " if len(columns[0].cells) > 1 else ""
    text += f"{100 * conf_level:g}\u202f% intervals of each judge alone."
    if any(len(s.means) > 1 for s in standings.values()):
        text += " The cards use differences on shared items that hold for all pairs of judges at once."
    return text
