"""``judgestats plan``: the calls of a study, as files for a runner."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judgestats.cli.application import readable_errors
from judgestats.cli.common_options import Overwrite
from judgestats.cli.printing import plain_text, print_table, wide_console
from judgestats.defaults import SEED
from judgestats.errors import masked
from judgestats.terminal import as_typed

if TYPE_CHECKING:
    from judgestats.design import Plan
    from judgestats.typing import Record

#: Options with several values, separated by commas.
_SEVERAL = ("strategies", "panel", "models", "arms", "annotators", "variants", "attacks", "labels", "levels")


@readable_errors
def plan(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="One of: dark-current, vacuum, ladder, debiasing, cues, explanations, rubric, rankings, merg.",
        ),
    ],
    judge: Annotated[
        list[str], typer.Option("--judge", metavar="JUDGE", help="Who is asked; give it once for each judge.")
    ],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder to write.")] = Path("plan"),
    prompt: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE", help="dark-current, vacuum, ladder, rubric: name of a prompt, or a .toml file."
        ),
    ] = "",
    temperature: Annotated[float | None, typer.Option(metavar="NUMBER", help="Temperature of the calls.")] = None,
    format: Annotated[
        str,
        typer.Option(
            metavar="jsonl|csv|openai|...",
            help="jsonl, csv, openai, anthropic, inspect, promptfoo or form, for the runner.",
        ),
    ] = "jsonl",
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", help=f"Seed of what the study draws (by default {SEED}), and of --sample (by default 0)."
        ),
    ] = None,
    pairs: Annotated[str, typer.Option(metavar="FILE", help="debiasing, cues: file of pairs of responses.")] = "",
    responses: Annotated[str, typer.Option(metavar="FILE", help="rubric, merg: file of responses of systems.")] = "",
    categories: Annotated[
        str, typer.Option(metavar="FILE", help="explanations: file of categories with code and name.")
    ] = "",
    sample: Annotated[int | None, typer.Option(metavar="NUMBER", help="Items to draw of those in the file.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="dark-current: with the strict arm.")] = False,
    strategies: Annotated[str, typer.Option(metavar="NAME,...", help="debiasing: B0,S1,S8, say.")] = "",
    panel: Annotated[str, typer.Option(metavar="JUDGE,...", help="Judges of S3 and S7: a,b,c.")] = "",
    controlled: Annotated[str, typer.Option(metavar="FILE", help="debiasing: file of controlled pairs.")] = "",
    writer: Annotated[
        str, typer.Option(metavar="MODEL", help="debiasing: model that writes texts for controlled pairs.")
    ] = "",
    models: Annotated[
        str, typer.Option(metavar="MODEL,...", help="debiasing: models whose answers are compared: a,b,c.")
    ] = "",
    by: Annotated[str, typer.Option(metavar="NAME|FILE", help="rubric: name of a rubric, or a .toml file.")] = "",
    arms: Annotated[
        str, typer.Option(metavar="NAME,...", help="rubric: attributed,anonymized (default), style-transferred.")
    ] = "",
    runs: Annotated[
        int | None, typer.Option(metavar="NUMBER", help="rubric: runs of each call (10 by default).")
    ] = None,
    alias: Annotated[str, typer.Option(metavar="SYSTEM=ALIAS,...", help="rubric: names of the blinded arms.")] = "",
    annotators: Annotated[
        str,
        typer.Option(
            metavar="PERSON,...",
            help="People, a,b,c, each with a form. rubric: each text once, under its alias; debiasing: 30 style pairs.",
        ),
    ] = "",
    variants: Annotated[
        str, typer.Option(metavar="NAME,...", help="merg: baseline-score,original-4-stage (default), ...")
    ] = "",
    variant: Annotated[str, typer.Option(metavar="NAME", help="merg: one variant alone.")] = "",
    rubric_judge: Annotated[str, typer.Option(metavar="JUDGE", help="merg: whose rubric all score by.")] = "",
    rubrics: Annotated[
        str, typer.Option(metavar="NAME|FILE", help="merg: name or file of the rubrics to score by.")
    ] = "",
    attacks: Annotated[str, typer.Option(metavar="NAME,...", help="cues: verbosity,confidence.")] = "",
    labels: Annotated[str, typer.Option(metavar="LABEL,...", help="cues: the two labels, LLM,TradML by default.")] = "",
    levels: Annotated[str, typer.Option(metavar="LEVEL,...", help="explanations: the levels, lowest first.")] = "",
    overwrite: Overwrite = False,
) -> None:
    """Plan all arms and variants of a study: judgestats plan dark-current --judge my-model --out plan"""
    from dataclasses import replace

    from judgestats import design
    from judgestats.design.studies import STUDIES, takers
    from judgestats.errors import DesignError, suggestion
    from judgestats.ingest import parse_identity

    options: Record = {
        **{"pairs": pairs, "responses": responses, "categories": categories, "prompt": prompt, "seed": seed},
        **{"sample": sample, "temperature": temperature, "controlled": controlled, "writer": writer, "by": by},
        **{"rubric_judge": rubric_judge, "rubrics": rubrics, "runs": runs, "alias": alias, "strict": strict or None},
        **{"strategies": strategies, "panel": panel, "models": models, "arms": arms, "annotators": annotators},
        **{"variants": variants, "variant": variant, "attacks": attacks, "labels": labels, "levels": levels},
    }
    options = {name: value for name, value in options.items() if value not in ("", None)}
    if study not in STUDIES:
        raise DesignError(f"Study {study!r} is not known. Allowed: {', '.join(STUDIES)}.{suggestion(study, STUDIES)}")
    renamed = {"prompt": "prompts", "variant": "variants"}
    for name in options:
        if study not in takers(renamed.get(name, name)):
            raise DesignError(f"--{name.replace('_', '-')} is not an option of the study {study!r}. Leave it out.")
    table = STUDIES[study].table
    if table and not {table, *STUDIES[study].instead} & {*options}:
        raise DesignError(f"The study {study!r} needs --{table} FILE. docs/studies.md has an example.")
    inputs = [name for name in (pairs, responses, categories, prompt, by, rubrics, controlled) if name]
    options |= {name: options[name].split(",") for name in _SEVERAL if name in options}
    options |= {"alias": parse_identity(alias)} if alias else {}
    if variant:
        options["variants"] = [options.pop("variant")]
    if prompt:
        options["prompts"] = options.pop("prompt")
    whole = design.study(study, judge, **options)
    whole = replace(whole, about={**whole.about, "format": format})
    print_plan(whole, out, out, format, inputs, overwrite)


def print_plan(plan: Plan, folder: Path, whole: Path, format: str, inputs: Sequence[str], overwrite: bool) -> None:
    """Write a plan, or a later stage of the one in `whole`, and say what to do with it."""
    from judgestats.design.exports import write_with_calls
    from judgestats.design.plans import WRITES
    from judgestats.reporting.formatting import count, noun

    files = write_with_calls(plan, folder, format, overwrite=overwrite, inputs=inputs)
    console = wide_console()
    to_come = len(plan.later) + plan.about.get(WRITES, {}).get("to come", 0) * (folder == whole)
    later = f", and {count(to_come)} that come after them" if to_come else ""
    print_table(console, f"{noun(len(plan), 'call')}{later}", plan.summary())
    findings = plan.check()
    if len(findings):
        print_table(console, "Look at this before you ask", findings[["level", "what", "n", "example", "remedy"]])
    console.print(plain_text(f"Send: {', '.join(map(str, files))}"))
    command = "next" if len(plan.later) and folder != whole else "collect"
    console.print(plain_text(f"Then: judgestats {command} {as_typed([masked(str(whole))])} ANSWERS"))
