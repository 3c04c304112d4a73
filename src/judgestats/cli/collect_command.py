"""``judgestats collect`` and ``judgestats next``: answers joined to their plan, and what comes next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judgestats.cli.application import readable_errors
from judgestats.cli.common_options import LABELS, Overwrite, Trust
from judgestats.cli.plan_command import print_plan
from judgestats.cli.printing import plain_text, print_findings, print_totals, wide_console
from judgestats.errors import masked
from judgestats.terminal import as_typed

if TYPE_CHECKING:
    import pandas as pd

    from judgestats.design import Plan
    from judgestats.design.collection import Matched


#: Replies that are named in a line.
_NAMED = 5
#: What a plan of explanations says about itself, by which its answers are read.
_EXPLAINED = ("categories", "levels", "picks")


@readable_errors
def collect(
    folder: Annotated[Path, typer.Argument(metavar="PLAN", help="Folder that judgestats plan wrote.")],
    answers: Annotated[
        list[str],
        typer.Argument(metavar="ANSWERS...", help="Files, globs or folders that came back; earlier ones are known."),
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
    from judgestats import design
    from judgestats.design.collection import Reading, matched, verdicts_in
    from judgestats.design.plan_files import all_answers, note_answers, plan_files, verdict_outputs, write_verdicts
    from judgestats.design.plans import goes_on, opened
    from judgestats.design.reply_tables import parts_of
    from judgestats.design.stages import requests_after
    from judgestats.design.studies import study_of
    from judgestats.ingest import parse_labels
    from judgestats.outputs import MarkedOutputs
    from judgestats.reporting.formatting import count, noun
    from judgestats.reporting.page_data import PageArguments, measure_all
    from judgestats.reporting.pages import write_report
    from judgestats.reporting.study_tables import in_one
    from judgestats.schema import check as check_frame

    plan = opened(folder, trust)
    files = all_answers(folder, answers)
    source = answers[0] if len(files) == len(answers) == 1 else files
    inputs: list[str | Path] = [*answers, *files, *plan_files(folder)]

    def write(table: pd.DataFrame, what: str, line: str) -> None:
        """Write a table beside the verdicts, and say where it is."""
        path = out.with_name(f"{out.stem}.{what}.csv")
        write_verdicts(table, path, folder, verdict_outputs(folder, inputs, overwrite))
        _say(f"{line}: {path}")

    again = as_typed(["judgestats", "collect", masked(str(folder)), "ANSWERS"])
    said = matched(plan, source).required()
    if goes_on(plan):
        stage, rest = requests_after(plan, said)
        note_answers(folder, files)
        asks_verdicts = ~plan.calls["prompt"].map({n: p.frame == "texts" for n, p in plan.prompts.items()})
        nothing = not (asks_verdicts & ~plan.calls["call"].isin(rest.calls["call"])).any()
        if stage is not None or nothing:
            _write_rest(rest, folder, left, inputs, overwrite)
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
    tables = verdict_outputs(folder, inputs, overwrite)
    tables.check(out)
    inputs.append(out)
    pages = MarkedOutputs("report", [*inputs, *(plan_files(left) if left else ())], overwrite=overwrite)
    if page is not None:
        pages.check(page)
    verdicts = verdicts_in(plan, said, Reading(None, parse_labels(labels) if labels else None, None))
    note_answers(folder, files)
    write_verdicts(verdicts, out, folder, tables)
    if "text" in verdicts:
        complete = int((verdicts["status"] == "ok").sum())
        _say(f"Texts: {out}, {count(complete)} of {count(len(verdicts))} complete")
        if (told := plan.about.get("explanations", {})).get("categories"):
            responses, picks = design.read_explanations(verdicts, **{k: told[k] for k in _EXPLAINED})
            for item, fault in responses.loc[responses["fault"] != "", ["system", "fault"]].itertuples(index=False):
                _say(f"{item}: {fault}")
            write(responses[responses["response_text"].notna()].drop(columns="fault"), "responses", "Responses")
            write(picks, "picks", "Picks")
    else:
        findings = check_frame(verdicts)
        print_totals(wide_console(), findings)
        print_findings(wide_console(), findings)
        _say(f"Verdicts: {out}")
        by_rule = design.study_verdicts(verdicts)
        if by_rule is not verdicts:
            write(by_rule, "merged", f"By the rules of the design: {count(len(by_rule))} of {count(len(verdicts))}")
        parts = parts_of(plan, said.texts)
        if len(parts) and set(parts["part"]) != {"verdict"}:
            write(parts, "parts", "What else the replies say")
    unanswered = said.left(plan)
    _write_rest(unanswered, folder, left, inputs, overwrite)
    if page is not None:
        measured = measure_all(verdicts, PageArguments(study="text" not in verdicts and bool(study_of(verdicts))))
        if measured.tables:
            write(in_one(measured.tables), "estimates", "Estimates")
        origin = {"plan": str(folder), **{f"prompt {n}": p.digest for n, p in plan.prompts.items()}}
        _say(f"Report: {write_report(measured, page, pages, origin)}")
    if len(unanswered):
        _say(f"Send them, then: {again}")
    elif page is None and (step := _next_step(verdicts, out, [str(folder), *answers], labels)):
        _say(f"Next: {step}", soft_wrap=True)


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


def _say_stopped(plan: Plan, said: Matched) -> None:
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


def _say_excluded(said: Matched) -> None:
    """Count the records that are not used, where no table of findings says so."""
    from collections import Counter

    from judgestats.reporting.formatting import count, noun

    reasons = Counter(e.reason for e in said.excluded)
    if reasons:
        why = "; ".join(f"{reason}: {count(n)}" for reason, n in reasons.items())
        _say(f"{noun(len(said.excluded), 'record')} not used ({why})")


def stage_folder(folder: Path, stage: Plan) -> Path:
    """The folder of a stage in that of its plan; a part of the stage that comes later has its own."""
    name = f"stage{stage.calls['stage'].max()}"
    taken = len(list(folder.glob(f"{name}*")))
    return folder / (f"{name}-{taken + 1}" if taken else name)


def _write_rest(rest: Plan, folder: Path, left: Path | None, inputs: list[str | Path], overwrite: bool) -> None:
    """Write the calls without an answer, each time that they are others, into a new folder of the plan."""
    from itertools import count

    from judgestats.design import Plan
    from judgestats.reporting.formatting import noun

    for path in sorted(folder.glob("stage*/manifest.json")):  # sent, and nothing of it has come back
        sent = Plan.read(path.parent).calls["call"]
        if sent.isin(rest.calls["call"]).all():
            rest = rest.rows(~rest.calls["call"].isin(sent))
            _say(f"{noun(len(sent), 'call')} not back yet: {path.parent}")
    if not len(rest):
        return
    names = (folder / (f"rest-{i}" if i > 1 else "rest") for i in count(1))
    ids = rest.calls["call"].tolist()
    target = left or next(p for p in names if not p.exists() or Plan.read(p).calls["call"].tolist() == ids)
    written = _write_plan(rest, target, inputs, overwrite)
    what = f"{noun(len(rest), 'call')} failed or never came back"
    _say(f"{what}: {written}")


def _write_plan(plan: Plan, folder: Path, inputs: list[str | Path], overwrite: bool) -> str:
    """Write a plan and its calls, in the format of the whole plan; the files."""
    from judgestats.design.exports import write_with_calls

    form = str(plan.about.get("format", "jsonl"))
    return ", ".join(map(str, write_with_calls(plan, folder, form, overwrite=overwrite, inputs=inputs)))


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
