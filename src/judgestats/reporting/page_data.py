"""Everything that a page shows, measured once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.counting.clustering import Cluster
from judgestats.counting.split_studies import split_study
from judgestats.counting.splitting import Split
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, choose, confidence, score_range
from judgestats.metrics.agreement.human_agreement import concordances, criteria_apart
from judgestats.metrics.correctness.corrections import Sampling
from judgestats.metrics.datasheets.datasheet_sections import BEFORE, sheet_of
from judgestats.metrics.measure_registry import MeasureOptions, measures
from judgestats.metrics.references import Baseline, Humans, References, of_people, references
from judgestats.metrics.supported_measures import attempts, quiet
from judgestats.reporting.estimate_rows import whose
from judgestats.reporting.formatting import count, noun
from judgestats.reporting.page_claims import Claim
from judgestats.reporting.sheets import shown_measures
from judgestats.reporting.summary import SUMMARISED, Measured, summarise
from judgestats.reporting.summary_parts import Summary
from judgestats.reporting.unnamed_columns import empty_in_words, unnamed_in_words
from judgestats.schema import kind_of
from judgestats.schema.columns import INSTRUMENTS, By, Kind, answer_column, grouping
from judgestats.schema.opening import engine_errors
from judgestats.schema.validation import refuse
from judgestats.typing import Record
from judgestats.verdicts.native_frames import to_table

if TYPE_CHECKING:
    from judgestats.reporting.fit_sections import Models, PageModel
    from judgestats.reporting.study_tables import StudyTable


@dataclass(frozen=True)
class PageRows:
    """The rows of a data set, and what is excluded of them."""

    study: Study  # of the rows that are measured
    kind: Kind
    reference: References
    findings: pd.DataFrame
    groups: list[str]
    splits: list[Split]  # shown apart, though not named in `by`
    unnamed: list[Split]  # columns that nobody named, and that make no rows


@dataclass(frozen=True)
class PageEstimates:
    """The numbers of a page."""

    sheet: pd.DataFrame
    taken: Mapping[str, pd.DataFrame | str]  # estimates of each measure, or why there are none
    peers: pd.DataFrame | None = None  # pairs of judges, by the coefficient in which they are compared with people
    models: tuple[PageModel, ...] = ()


@dataclass(frozen=True)
class PageData:
    """Everything about a data set that a page shows, measured once."""

    rows: PageRows
    estimates: PageEstimates
    summary: Summary
    settings: MeasureOptions
    arguments: Mapping[str, Any]  # that make the page again
    tables: tuple[StudyTable, ...] = ()  # of a study, the main one first

    @property
    def measured(self) -> pd.DataFrame:
        """The rows that are measured."""
        rows: pd.DataFrame = self.rows.study.data.to_native()
        return rows

    @property
    def beyond_sheet(self) -> dict[str, pd.DataFrame]:
        """Estimates of the measures that a datasheet does not hold."""
        return {
            m: r for m, r in self.estimates.taken.items() if isinstance(r, pd.DataFrame) and not measures()[m].sheet
        }

    @property
    def flagged(self) -> list[pd.Series[str]]:
        """The flags of all estimates of the page."""
        models = (m.rows for m in self.estimates.models)
        tables = (t.rows for t in self.tables)
        return [t["flag"] for t in (self.estimates.sheet, *self.beyond_sheet.values(), *models, *tables)]

    def of_shown(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Estimates without those of judges that the page leaves out."""
        if not self.summary.left_out or "judge" not in rows.columns:
            return rows
        sheet = self.estimates.sheet
        judges = sheet.loc[whose(sheet).isin(self.summary.judges), "judge"].astype(str)
        return rows[rows["judge"].astype(str).isin(["", *judges.unique()])]


def _without_single_conditions(sheet: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """A datasheet without conditions in which each judge has one value: they are no part of its name."""
    ways = [w for w in INSTRUMENTS if w in sheet.columns and w not in columns]
    alone = [w for w in ways if (sheet.groupby("judge", dropna=False)[w].nunique(dropna=False) == 1).all()]
    return sheet.drop(columns=alone)


@dataclass(frozen=True)
class PageArguments:
    """Arguments of :func:`judgestats.report` that decide what is measured, and how."""

    by: By = ()
    cluster: Cluster = "auto"
    identity: Mapping[str, str] | None = None
    humans: Humans | None = None
    gold: str | None = None
    baseline: Baseline | None = None
    sampling: Sampling | None = None
    scale: tuple[float, float] | None = None
    smallest: float | None = None
    title: str | None = None
    models: Models | None = None
    study: bool = False
    seed: int = SEED
    conf_level: float = CONF_LEVEL
    n_resamples: int = N_RESAMPLES

    def __post_init__(self) -> None:
        confidence(self.conf_level)
        object.__setattr__(self, "scale", score_range(self.scale))
        if self.smallest is not None and not self.smallest > 0:
            raise DesignError(f"smallest={self.smallest!r} must be above 0: the smallest bias that is of interest.")
        if self.sampling is not None:
            choose(self.sampling, get_args(Sampling), "sampling")

    @property
    def of_call(self) -> Record:
        """The arguments that a call with the same result must repeat, besides groups and models."""
        names = ("cluster", "identity", "seed", "conf_level", "n_resamples")
        further = ("humans", "gold", "baseline", "sampling", "scale", "smallest", "title", "study")
        values = {name: getattr(self, name) for name in names} | {"identity": dict(self.identity or {}) or None}
        return values | {name: value for name in further if (value := getattr(self, name)) or value == ()}


@engine_errors
def measure_all(data: IntoFrame, arguments: PageArguments, say: Callable[[str], None] = quiet) -> PageData:
    """Measure everything that a page shows. `say`: called with each step."""
    say("Checking the rows")
    fitted: tuple[PageModel, ...] = ()
    if arguments.models is not None:
        from judgestats.reporting.fit_sections import described  # loads all of judgestats.models

        fitted = described(arguments.models, arguments.conf_level)
    by = arguments.by
    name, calls, frame, natural = "", pd.DataFrame(), pd.DataFrame(), pd.DataFrame()
    if arguments.study:
        from judgestats.design.studies import of_kind, study_of, study_verdicts  # loads all of judgestats.design

        frame = data if isinstance(data, pd.DataFrame) else to_table(data)
        if not (name := study_of(frame)):
            raise DesignError("These calls are of no study. Leave study= out.")
        calls, frame = frame, study_verdicts(frame)
        by = by or (("strategy",) if "strategy" in frame else ())
        natural = of_kind(frame, controlled=False)
        data = natural if len(natural) else frame  # the tables of the study have the controlled pairs apart
    whole = Study.whole(data)
    kind = kind_of(whole.names)
    refuse(whole.faults, whole.data, kind)
    groups = [g for g in grouping(by, whole.names) if g != "judge"]
    findings = whole.check()
    whole, splits, unnamed, empty = split_study(whole, kind, groups)
    groups += [s.column for s in splits] if kind == "ratings" else []
    groups += criteria_apart([whole.data.to_native()], groups)
    reference = references(whole, arguments.humans, arguments.gold, arguments.baseline)
    everybody, renamed = _groups_renamed(
        pd.concat([reference.models, reference.people]) if reference.humans else reference.models, groups
    )
    measured, people = everybody.iloc[: len(reference.models)], of_people(everybody.iloc[len(reference.models) :])
    drawing = arguments.n_resamples, arguments.seed, arguments.conf_level
    settings = MeasureOptions(
        tuple(renamed),
        arguments.identity or {},
        arguments.cluster,
        *drawing,
        people if reference.humans else None,
        reference.baseline,
        arguments.sampling or "",
        arguments.scale or _yes_or_no(reference.study, kind),
        arguments.smallest,
    )
    say("Datasheets")
    rows = reference.study if renamed == groups else reference.study.part(measured)
    sheet = _without_single_conditions(sheet_of(rows, settings), renamed)
    taken = attempts(rows, settings, shown_measures(sheet), lambda name: say(f"Measures: {name}"))
    peers: object = None
    if reference.humans:
        peers = concordances(rows, settings.by) if kind == "ratings" else taken.get("kappa")
    say("Comparing the judges")

    def anew(part: Study) -> Measured:
        numbers = {
            m: measures()[m].attempt(part, settings) for m in SUMMARISED if isinstance(taken.get(m), pd.DataFrame)
        }
        split = [w for w in INSTRUMENTS if w in sheet.columns]  # fewer levels of a condition split no more than all
        return _without_single_conditions(sheet_of(part, settings, split), renamed), numbers

    summary = summarise(rows, kind, sheet, taken, findings, settings, arguments.title, anew)
    before = unnamed_in_words(unnamed, kind)
    sentences = (*([Claim(before, "verdict")] if before else []), *summary.sentences)
    line = " · ".join(filter(None, (summary.line, empty_in_words(empty))))
    summary = replace(summary, line=line, sentences=sentences)
    tables: tuple[StudyTable, ...] = ()
    if name:
        from judgestats.reporting.study_cards import study_cards
        from judgestats.reporting.study_tables import Settings as Estimation
        from judgestats.reporting.study_tables import study_tables

        tables = tuple(study_tables(frame, Estimation(arguments.conf_level, arguments.seed, arguments.n_resamples)))
        apart = " Below the tables are the pairs with gold alone." if 0 < len(natural) < len(frame) else ""
        said = f"{_said_of_calls(calls, frame)}{apart}"
        tables = (replace(tables[0], about=f"{tables[0].about} {said}"), *tables[1:])
        if cards := study_cards(name, tables, arguments.conf_level):
            summary = replace(summary, sentences=(), cards=(*cards, *(c for c in summary.cards if c.kind == "care")))
    return PageData(
        PageRows(rows, kind, reference, findings, groups, splits if kind == "ratings" else [], unnamed),
        PageEstimates(sheet, taken, peers if isinstance(peers, pd.DataFrame) else None, fitted),
        summary,
        settings,
        {"by": groups, **arguments.of_call},
        tables,
    )


def _yes_or_no(study: Study, kind: Kind) -> tuple[float, float] | None:
    """The scale of scores that are all 0 or 1, right ones and those of people among them; None of others."""
    if kind != "ratings" or (column := answer_column(study.names)) != "score":
        return None
    scores = pd.concat(
        [pd.to_numeric(study.columns.series(c), errors="coerce") for c in (column, "gold") if c in study.names]
    )
    return (0.0, 1.0) if {*scores.dropna().unique()} == {0.0, 1.0} else None


def _said_of_calls(calls: pd.DataFrame, verdicts: pd.DataFrame) -> str:
    """Sentence on the calls: how many, how many without a readable answer, and what was counted."""
    lost = int(calls["status"].notna().sum() - (calls["status"] == "ok").sum()) if "status" in calls else 0
    text = f"{noun(len(calls), 'answer')}, {count(lost)} of them missing or not readable"
    return f"{text}." if verdicts is calls else f"{text}, by the rules of the design {count(len(verdicts))}."


def _groups_renamed(frame: pd.DataFrame, groups: list[str]) -> tuple[pd.DataFrame, list[str]]:
    """Frame and groups under names that a datasheet does not use for its own columns."""
    names = {g: f"{g} of the run" for g in groups if g in BEFORE}
    return frame.rename(columns=names), [names.get(g, g) for g in groups]
