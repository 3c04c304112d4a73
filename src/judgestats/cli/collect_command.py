"""``judgestats collect`` and ``judgestats next``: answers joined to their plan, and what comes next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judgestats.cli.application import readable_errors
from judgestats.cli.common_options import LABELS, Overwrite, Trust
from judgestats.cli.plan_command import print_plan
from judgestats.cli.printing import plain_text, print_cards, print_findings, print_totals, wide_console
from judgestats.errors import masked
from judgestats.terminal import as_typed

if TYPE_CHECKING:
    import pandas as pd

    from judgestats.design import Plan
    from judgestats.design.collection import MatchedReplies
    from judgestats.reporting.page_data import PageData

#: Replies that are named in a line.
_NAMED = 5
#: What a plan of explanations says about itself, by which its answers are read.
_EXPLAINED = ("categories", "levels", "picks")


@readable_errors
def collect(
    folder: Annotated[Path, typer.Argument(metavar="PLAN", help="Folder that judgestats plan wrote.")],
    answers: Annotated[
        list[str],
        typer.Argument(
            metavar="ANSWERS...", help="Files, globs or folders that came back; earlier ones are kept in PLAN."
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="CSV file of the verdicts.")] = Path(
        "verdicts.csv"
    ),
    page: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write the page of the study to this file.")
    ] = None,
    left: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder for a plan of the calls left to ask; by default in PLAN."),
    ] = None,
    labels: Annotated[str, LABELS] = "",
    trust: Trust = False,
    overwrite: Overwrite = False,
) -> None:
    """Take what came back; write verdicts, or what is next: judgestats collect plan answers.jsonl --report page.html"""
    from judgestats.design.collection import ReplyReading, matched, verdicts_in
    from judgestats.design.earlier_answers import earlier_answers, keep_answers
    from judgestats.design.exports import files_with_calls
    from judgestats.design.plan_files import plan_files, verdict_outputs, write_tables
    from judgestats.design.plans import goes_on, opened
    from judgestats.design.stages import requests_after
    from judgestats.design.studies import study_of
    from judgestats.ingest import parse_labels
    from judgestats.ingest.sources import resolve
    from judgestats.outputs import MarkedOutputs
    from judgestats.reporting.formatting import noun
    from judgestats.reporting.page_data import PageArguments, measure_all
    from judgestats.reporting.pages import write_report
    from judgestats.schema import check as check_frame

    plan = opened(folder, trust)
    source = resolve(answers[0] if len(answers) == 1 else answers)
    files = [file.path for file in source.files]
    earlier = earlier_answers(folder, files, trust)
    inputs: list[str | Path] = [*answers, *files, *earlier, *plan_files(folder)]
    if earlier:
        _say(f"Given before, and read again: {', '.join(map(str, earlier))}")

    def keep() -> None:
        """Keep the answers with their plan."""
        if not keep_answers(folder, files):
            _say(f"{folder} cannot be written to, so these answers are not kept. Give them again the next time.")

    again = as_typed(["judgestats", "collect", masked(str(folder)), "ANSWERS"])
    said = matched(plan, source, earlier).required()
    if goes_on(plan):
        stage, rest = requests_after(plan, said)
        keep()
        asks_verdicts = ~plan.calls["prompt"].map({n: p.frame == "texts" for n, p in plan.prompts.items()})
        nothing = not (asks_verdicts & ~plan.calls["call"].isin(rest.calls["call"])).any()
        if stage is not None or nothing:
            _write_rest(*_calls_left(rest, folder, left), inputs, overwrite)
            if stage is not None:
                written = _write_plan(stage, stage_folder(folder, stage), inputs, overwrite)
                _say_without_text(stage)
                _say_stopped(plan, said)
                _say_excluded(said)
                _say(f"Next: {noun(len(stage), 'call')} of stage {stage.calls['stage'].max()}: {written}")
            _say(f"Send them, then: {again}")
            return
    _say_without_text(plan)
    _say_stopped(plan, said)
    verdicts = verdicts_in(plan, said, ReplyReading(None, parse_labels(labels) if labels else None, None))
    unanswered = said.left(plan)
    rest, target = _calls_left(unanswered, folder, left)
    others = [*inputs, *(files_with_calls(rest, target, _format(rest)) if len(rest) else ())]
    outputs = verdict_outputs(folder, others, overwrite)
    outputs.check(out)
    measured = None
    if page is not None:
        MarkedOutputs("report", [*others, out], overwrite=overwrite).check(page)
        measured = measure_all(verdicts, PageArguments(study="text" not in verdicts and bool(study_of(verdicts))))
    tables = _tables(plan, said, verdicts, measured, out)
    for path in tables:  # all before anything is written
        outputs.check(path)
    of_page = MarkedOutputs("report", [*others, *tables], overwrite=overwrite)
    if page is not None:
        of_page.check(page)
    keep()
    _write_rest(rest, target, [*inputs, *tables], overwrite)
    write_tables({path: table for path, (table, _) in tables.items()}, folder, outputs)
    if "text" not in verdicts:
        findings = check_frame(verdicts)
        print_totals(wide_console(), findings)
        print_findings(wide_console(), findings)
    for _, lines in tables.values():
        for line in lines:
            _say(line)
    if page is not None and measured is not None:
        origin = {"plan": str(folder), **{f"prompt {n}": p.digest for n, p in plan.prompts.items()}}
        report = write_report(measured, page, of_page, origin)
        print_cards(wide_console(), measured.summary)
        _say(f"Report: {report}")
    if len(unanswered):
        _say(f"Send them, then: {again}")
    elif page is None and (step := _next_step(verdicts, out, [str(folder), *answers], labels)):
        _say(f"Next: {step}", soft_wrap=True)


def _tables(
    plan: Plan, said: MatchedReplies, verdicts: pd.DataFrame, measured: PageData | None, out: Path
) -> dict[Path, tuple[pd.DataFrame, list[str]]]:
    """The tables of a collection by file, each with the lines that describe it."""
    from judgestats import design
    from judgestats.design.reply_tables import parts_of
    from judgestats.reporting.formatting import count
    from judgestats.reporting.study_tables import in_one

    def beside(what: str) -> Path:
        return out.with_name(f"{out.stem}.{what}.csv")

    if "text" in verdicts:
        complete = int((verdicts["status"] == "ok").sum())
        tables = {out: (verdicts, [f"Texts: {out}, {count(complete)} of {count(len(verdicts))} complete"])}
        if (told := plan.about.get("explanations", {})).get("categories"):
            responses, picks = design.read_explanations(verdicts, **{k: told[k] for k in _EXPLAINED})
            faults = responses.loc[responses["fault"] != "", ["system", "fault"]].itertuples(index=False)
            responses = responses[responses["response_text"].notna()].drop(columns="fault")
            path = beside("responses")
            tables[path] = responses, [*(f"{item}: {fault}" for item, fault in faults), f"Responses: {path}"]
            tables[beside("picks")] = picks, [f"Picks: {beside('picks')}"]
    else:
        tables = {out: (verdicts, [f"Verdicts: {out}"])}
        by_rule = design.study_verdicts(verdicts)
        if by_rule is not verdicts:
            of_all = f"{count(len(by_rule))} of {count(len(verdicts))}"
            tables[beside("merged")] = by_rule, [f"By the rules of the design: {of_all}: {beside('merged')}"]
        parts = parts_of(plan, said.texts)
        if len(parts) and set(parts["part"]) != {"verdict"}:
            tables[beside("parts")] = parts, [f"What else the replies say: {beside('parts')}"]
    if measured is not None and measured.tables:
        tables[beside("estimates")] = in_one(measured.tables), [f"Estimates: {beside('estimates')}"]
    return tables


def _say(text: str, soft_wrap: bool = False) -> None:
    wide_console().print(plain_text(text), soft_wrap=soft_wrap)


def _next_step(verdicts: pd.DataFrame, out: Path, inputs: list[str], labels: str) -> str:
    """The command that makes the page of the verdicts, or asks for scores of the texts."""
    from judgestats.design.studies import study_of

    if "text" not in verdicts:
        if not study_of(verdicts):
            return as_typed(["judgestats", "report", masked(str(out))])
        options = [*(["--labels", labels] if labels else []), "--out", masked(str(out)), "--report", "report.html"]
        return as_typed(["judgestats", "collect", *map(masked, inputs), *options])
    responses = out.with_name(f"{out.stem}.responses.csv")
    texts = as_typed(["judgestats", "plan", "rubric", "--responses", masked(str(responses)), "--judge", "JUDGE"])
    return texts if responses.exists() else ""


def _say_without_text(plan: Plan) -> None:
    """Name the texts without which pairs are left out."""
    from judgestats.design.plans import WITHOUT_TEXT

    if lost := plan.about.get(WITHOUT_TEXT):
        _say(f"Pairs are left out, for want of the texts {', '.join(lost)}")


def _say_stopped(plan: Plan, said: MatchedReplies) -> None:
    """Name the replies that nothing can follow, since a judge refused or gave no text: they are not asked again."""
    from judgestats.design.collection import stopping_replies
    from judgestats.reporting.formatting import count, noun

    if not (stopped := {c: s for c, (s, _) in stopping_replies(plan, said.answered).items() if s != "error"}):
        return
    calls = plan.calls[plan.calls["call"].isin(stopped)]
    texts = [f"{i} ({j}, {stopped[c]})" for c, i, j in zip(calls["call"], calls["item"], calls["judge"], strict=True)]
    more = f" and {count(len(texts) - _NAMED)} more" if len(texts) > _NAMED else ""
    listed = f"{', '.join(texts[:_NAMED])}{more}"
    _say(f"What comes after {noun(len(texts), 'reply', 'replies')} is left out: {listed}")


def _say_excluded(said: MatchedReplies) -> None:
    """Print how many records are not used, unless a table of findings says it."""
    from collections import Counter

    from judgestats.reporting.formatting import count, noun

    reasons = Counter(e.reason for e in said.excluded)
    if reasons:
        why = "; ".join(f"{reason}: {count(n)}" for reason, n in reasons.items())
        _say(f"{noun(len(said.excluded), 'record')} not used ({why})")


def stage_folder(folder: Path, stage: Plan) -> Path:
    """The folder of a stage in that of its plan; a part of the stage that comes later has its own."""
    from judgestats.design.plan_files import free_folder

    return free_folder(folder, f"stage{stage.calls['stage'].max()}")


def _calls_left(rest: Plan, folder: Path, left: Path | None) -> tuple[Plan, Path]:
    """The calls without an answer that were not sent since, and their folder: a new one if they are others."""
    from judgestats.design import Plan
    from judgestats.design.plan_files import MANIFEST, free_folder, inner_folders, stage_folders
    from judgestats.reporting.formatting import noun

    for path in stage_folders(folder):  # sent, and nothing of it has come back
        sent = Plan.read(path).calls["call"]
        if sent.isin(rest.calls["call"]).all():
            rest = rest.rows(~rest.calls["call"].isin(sent))
            _say(f"{noun(len(sent), 'call')} not back yet: {path}")
    ids = rest.calls["call"].tolist()
    before = (p for p in inner_folders(folder, "rest*") if (p / MANIFEST).exists())
    same = (p for p in before if Plan.read(p).calls["call"].tolist() == ids)
    return rest, left or next(same, None) or free_folder(folder, "rest")


def _write_rest(rest: Plan, target: Path, inputs: list[str | Path], overwrite: bool) -> None:
    """Write the calls without an answer, if there are any."""
    from judgestats.reporting.formatting import noun

    if len(rest):
        written = _write_plan(rest, target, inputs, overwrite)
        _say(f"{noun(len(rest), 'call')} failed or never came back: {written}")


def _write_plan(plan: Plan, folder: Path, inputs: list[str | Path], overwrite: bool) -> str:
    """Write a plan and its calls, in the format of the whole plan; the files."""
    from judgestats.design.exports import write_with_calls

    return ", ".join(map(str, write_with_calls(plan, folder, _format(plan), overwrite=overwrite, inputs=inputs)))


def _format(plan: Plan) -> str:
    """The format of the calls of a plan."""
    return str(plan.about.get("format", "jsonl"))


@readable_errors
def next_stage(
    folder: Annotated[Path, typer.Argument(metavar="PLAN", help="Folder that judgestats plan wrote.")],
    answers: Annotated[str, typer.Argument(metavar="ANSWERS", help="File, glob or folder with all answers so far.")],
    format: Annotated[
        str, typer.Option("--format", metavar="jsonl|csv|openai|...", help="As for judgestats plan.")
    ] = "jsonl",
    trust: Trust = False,
    overwrite: Overwrite = False,
) -> None:
    """Plan the next stage from the answers so far, into a folder in PLAN: judgestats next plan 'answers*.jsonl'"""
    from judgestats import design
    from judgestats.design.plans import opened

    stage_plan = design.next_stage(opened(folder, trust), answers)
    print_plan(stage_plan, stage_folder(folder, stage_plan), folder, format, [answers], overwrite)
