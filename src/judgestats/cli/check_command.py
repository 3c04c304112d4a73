"""``judgestats check``: what a file holds, which rows are used, and what can be measured."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from judgestats.cli.advice import advice_in_options
from judgestats.cli.application import TYPED, ExitCode, readable_errors
from judgestats.cli.common_options import takes
from judgestats.cli.printing import (
    plain_text,
    print_findings,
    print_hanging,
    print_table,
    print_totals,
    print_unread,
    wide_console,
)
from judgestats.cli.verdict_source import VerdictSource
from judgestats.errors import JudgestatsError, SchemaError
from judgestats.terminal import as_typed, visible, working

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console

    from judgestats.ingest import DetectedFormat, Proposal

    #: Measure -> its frame, or why there is none.
    Measures = dict[str, pd.DataFrame | str]


@readable_errors
@takes(VerdictSource)
def check(
    source: VerdictSource,
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object in place of tables.")] = False,
) -> None:
    """Describe a file, count the rows used and excluded, and list what can be measured. Start here."""
    from judgestats.counting.connectedness import separate_designs
    from judgestats.counting.split_studies import split_study
    from judgestats.counting.study import Study
    from judgestats.metrics.data_description import describe
    from judgestats.metrics.references import references
    from judgestats.metrics.supported_measures import tried
    from judgestats.reporting.comparability import separate_in_words, sparse_in_words
    from judgestats.reporting.contenders import answered, sparse_judges
    from judgestats.reporting.formatting import spaced
    from judgestats.reporting.nesting import task_advice
    from judgestats.reporting.unnamed_columns import empty_in_words, unnamed_in_words
    from judgestats.schema.columns import grouping, kind_of

    console = wide_console()
    detected = source.detected()
    if detected is not None and detected.proposal is not None and not source.mapped:
        _print_proposal(console, source, detected, detected.proposal)
        raise typer.Exit(ExitCode.REFUSED)
    verdicts = source.verdicts(detected)
    detected = detected and replace(detected, opened=None)  # the table that was read, and a folder it was unpacked to
    study: Any = Study.whole(verdicts)
    judged = references(study, **source.references).study  # refuses names that do not occur before anything is measured
    if as_json:
        with working("Measuring"):
            content = _as_json(source, study)
        typer.echo(visible(content))
        return
    if detected is not None:
        why = f" ({detected.why.removesuffix(f'; {detected.unread}')})" if not source.mapped else ", mapped as given"
        console.print(plain_text(f"{source.name}: {detected.format}{why}"))
    print_unread(console, verdicts)
    kind = kind_of(study.names)
    split = split_study(study, kind, [g for g in grouping(source.groups["by"], study.names) if g != "judge"])
    sparse = sparse_judges(answered(judged), ())
    design = separate_in_words(separate_designs(judged), kind), sparse_in_words(sparse, kind)
    for said in filter(None, (*design, unnamed_in_words(split.unnamed, kind), empty_in_words(split.empty))):
        console.print(plain_text(said), soft_wrap=True)
    findings = study.check()
    print_totals(console, findings)
    print_table(console, "Design", describe(study).map(spaced))
    if advice := task_advice(study):
        console.print(plain_text(advice))
    print_findings(console, findings)
    del findings  # the number of each row
    with working("Measuring") as say:
        measures, groups = tried(study, say=say, **source.groups, **source.references)
    _print_judges(console, measures, groups, study.names)
    _print_support(console, measures, study.names)
    _print_people(console, measures)
    by = f" --by {as_typed([','.join(s.column for s in split.unnamed)])}" if split.unnamed else ""
    if "shown_at" in study.names and "n_options" not in study.names:
        console.print("How many options were shown is not known; put the number in place of NUMBER.")
        console.print(plain_text(f"Next: {context.meta[TYPED]} --map n_options==NUMBER"), soft_wrap=True)
    elif by or not all(isinstance(result, str) for result in measures.values()):  # a page without a number is not next
        console.print(plain_text(f"Next: {context.meta[TYPED].replace(' check', ' report', 1)}{by}"), soft_wrap=True)


def _as_json(source: VerdictSource, study: Any) -> str:
    """What ``check`` prints, for programs; each flag with its code, its severity and its explanation."""
    import pandas as pd

    from judgestats import flags
    from judgestats.metrics.agreement import judge_against_people
    from judgestats.metrics.data_description import describe
    from judgestats.metrics.references import references
    from judgestats.metrics.supported_measures import available_measures
    from judgestats.results import estimates

    content: dict[str, object] = {"source": source.name, "design": describe(study)}
    content["rows"] = study.check().drop(columns="rows")
    content["measures"] = available_measures(study, **source.references)
    if people := references(study, **source.references).humans:
        try:
            agreement = judge_against_people(study, humans=people, **source.groups)
        except JudgestatsError:  # the reason stands among the measures
            agreement = estimates([])
        content["agreement"] = agreement.assign(codes=agreement["flag"].map(flags.flag_codes))
        content["flags"] = flags.explain(agreement)
    tables = {k: json.loads(v.to_json(orient="records")) for k, v in content.items() if isinstance(v, pd.DataFrame)}
    return json.dumps(content | tables, ensure_ascii=False, indent=1)


def _print_proposal(console: Console, source: VerdictSource, detected: DetectedFormat, proposal: Proposal) -> None:
    """A suggested mapping and, where the table can be read by it, its first rows and the command that does so."""
    from judgestats.ingest import parse_labels
    from judgestats.ingest.sources import STREAM
    from judgestats.schema.columns import VOCABULARY

    if source.labels:
        proposal = replace(proposal, labels=parse_labels(source.labels))
    paths = ["-"] if Path(source.source[0]).name == STREAM else source.source
    console.print(plain_text(f"{source.name}: the columns are not recognised. Nothing was computed."), soft_wrap=True)
    if detected.unread:
        console.print(plain_text(detected.unread), soft_wrap=True)
    console.print(plain_text(f"{proposal}{advice_in_options(proposal.advice)}"), soft_wrap=True)
    if not proposal.complete or proposal.kind is None:
        return
    try:
        options: dict[str, Any] = {**proposal.arguments}
        verdicts = replace(source, **options).verdicts(detected)
    except SchemaError as problem:
        refusal = f"With this mapping the table would still be refused: {problem}{advice_in_options(problem.advice)}"
        console.print(plain_text(refusal), soft_wrap=True)
        return
    columns = [c.name for c in VOCABULARY[proposal.kind] if c.name in verdicts.columns]
    print_table(console, "First rows under that mapping", verdicts[columns].head(3))
    command = f"judgestats check {as_typed(paths)} {proposal.options}{source.typed()}"
    console.print(plain_text(f"\nNext: {command}"), soft_wrap=True)


def _print_people(console: Console, measures: Measures) -> None:
    """Agreement with people, beside that of people with each other."""
    import pandas as pd

    from judgestats.reporting.formatting import count, in_words, spaced, with_interval

    rows = measures.get("judge_against_people")
    if not isinstance(rows, pd.DataFrame):
        return
    answer = rows["answer"].map(lambda a: "" if pd.isna(a) else f": {a}")
    texts = [with_interval(r, "judge_against_people") for r in rows.to_dict("records")]
    table = rows[[*rows.columns[: rows.columns.get_loc("role")]]].fillna("")
    table.insert(0, "who", rows["judge"].where(rows["role"] == "judge", "people with each other"))
    table["measure"] = rows["term"].map(in_words) + answer
    table["estimate"], table["interval"] = zip(*texts, strict=True) if texts else ((), ())
    table["pairs"] = rows["n"].map(lambda n: "" if pd.isna(n) else count(n))
    print_table(console, "Agreement with people", table.assign(flag=rows["flag"].map(spaced)))


def _print_judges(console: Console, measures: Measures, groups: list[str], columns: list[str]) -> None:
    """What counting says of each judge."""
    from judgestats.reporting.first_look import by_judge
    from judgestats.reporting.formatting import PERCENT

    judges = by_judge(measures, groups, columns)
    if len(judges.table):
        print_table(console, f"Judges (95{PERCENT} intervals, of each alone)", judges.table)
        for flag, where in judges.flags:
            print_hanging(console, "- ", f"{flag} ({where})")
        if judges.flags:
            console.print()
        if judges.note:
            console.print(plain_text(f"{judges.note}\n"))


def _print_support(console: Console, measures: Measures, columns: list[str]) -> None:
    """What is supported, with its numbers; and what is not, a line each."""
    from judgestats.reporting.first_look import headlines
    from judgestats.reporting.formatting import spaced

    table = headlines(measures, columns)
    wide = sum(table[name].str.len().max() + 2 for name in table)
    columns_that_fit = table if wide <= console.width else table.drop(columns="question")
    print_table(console, "Measures available", columns_that_fit)
    missing = {name: why for name, why in measures.items() if isinstance(why, str)}
    if missing:
        console.print(plain_text("Measures not available, and what is missing"), style="bold")
        wide = max(map(len, missing))
        for name, why in missing.items():
            line = plain_text(f"{name:<{wide}}  {spaced(' '.join(why.split()))}")
            console.print(line, no_wrap=True, overflow="ellipsis")
        console.print(
            "Arguments such as humans= and baseline= are the options --humans and --baseline here. In full: --json.\n"
        )
