"""``judgestats plan``: the calls of a study, as files for a runner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from judgestats.cli.application import readable_errors
from judgestats.cli.common_options import Overwrite, switch, takes, value
from judgestats.cli.printing import plain_text, print_table, wide_console
from judgestats.defaults import SEED
from judgestats.errors import masked, refuse_unknown
from judgestats.terminal import as_typed

if TYPE_CHECKING:
    from judgestats.design import Plan
    from judgestats.typing import Record

_STUDY = typer.Argument(
    metavar="STUDY",
    help="One of: dark-current, vacuum, ladder, debiasing, cues, explanations, rubric, rankings, merg.",
)
_JUDGE = typer.Option(metavar="JUDGE", help="Who is asked; give it once for each judge.")
_OUT = typer.Option(metavar="FOLDER", help="Folder to write.")
#: Options that are not the study's.
_OF_THE_PLAN = ("study", "judge", "out", "format")
#: Option -> the argument of the study that it is, where it has another name.
_ARGUMENT = {"prompt": "prompts", "variant": "variants"}
#: Options with several values, separated by commas.
_SEVERAL = ("strategies", "panel", "models", "arms", "annotators", "variants", "attacks", "labels", "levels")
#: Options that name a file.
_FILES = ("pairs", "responses", "categories", "prompt", "by", "rubrics", "controlled")


@dataclass(frozen=True)
class PlanOptions:
    """What is planned, and the options of the studies that take them."""

    study: str = field(metadata={"option": _STUDY})
    judge: list[str] = field(metadata={"option": _JUDGE})
    out: Path = field(default=Path("plan"), metadata={"option": _OUT})
    prompt: str = value("dark-current, vacuum, ladder, rubric: name of a prompt, or a .toml file.", "NAME|FILE")
    temperature: float | None = value("Temperature of the calls.", "NUMBER", None)
    format: str = value(
        "jsonl, csv, openai, anthropic, inspect, promptfoo or form, for the runner.", "jsonl|csv|openai|...", "jsonl"
    )
    seed: int | None = value(
        f"Seed of what the study draws (by default {SEED}), and of --sample (by default 0).", "NUMBER", None
    )
    pairs: str = value("debiasing, cues: file of pairs of responses.", "FILE")
    responses: str = value("rubric, merg: file of responses of systems.", "FILE")
    categories: str = value("explanations: file of categories with code and name.", "FILE")
    sample: int | None = value("Items to draw of those in the file.", "NUMBER", None)
    strict: bool = switch("--strict", "dark-current: with the strict arm.")
    strategies: str = value("debiasing: B0,S1,S8, say.", "NAME,...")
    panel: str = value("Judges of S3 and S7: a,b,c.", "JUDGE,...")
    controlled: str = value("debiasing: file of controlled pairs.", "FILE")
    writer: str = value("debiasing: model that writes texts for controlled pairs.", "MODEL")
    models: str = value("debiasing: models whose answers are compared: a,b,c.", "MODEL,...")
    by: str = value("rubric: name of a rubric, or a .toml file.", "NAME|FILE")
    arms: str = value("rubric: attributed,anonymized (default), style-transferred.", "NAME,...")
    runs: int | None = value("rubric: runs of each call (10 by default).", "NUMBER", None)
    alias: str = value("rubric: names of the blinded arms.", "SYSTEM=ALIAS,...")
    annotators: str = value(
        "People, a,b,c, each with a form. rubric: each text once, under its alias; debiasing: 30 style pairs.",
        "PERSON,...",
    )
    variants: str = value("merg: baseline-score,original-4-stage (default), ...", "NAME,...")
    variant: str = value("merg: one variant alone.", "NAME")
    rubric_judge: str = value("merg: whose rubric all score by.", "JUDGE")
    rubrics: str = value("merg: name or file of the rubrics to score by.", "NAME|FILE")
    attacks: str = value("cues: verbosity,confidence.", "NAME,...")
    labels: str = value("cues: the two labels, LLM,TradML by default.", "LABEL,...")
    levels: str = value("explanations: the levels, lowest first.", "LEVEL,...")


@readable_errors
@takes(PlanOptions)
def plan(chosen: PlanOptions, overwrite: Overwrite = False) -> None:
    """Plan all arms and variants of a study: judgestats plan dark-current --judge my-model --out plan"""
    from dataclasses import replace

    from judgestats import design
    from judgestats.design.studies import STUDIES, takers
    from judgestats.errors import DesignError
    from judgestats.ingest import parse_identity

    study, empty = chosen.study, ("", None)
    refuse_unknown(study, STUDIES, f"Study {study!r} is not known")
    options: Record = {
        n: v for n, v in vars(chosen).items() if n not in _OF_THE_PLAN and v not in empty and v is not False
    }
    for name in options:
        if study not in takers(_ARGUMENT.get(name, name)):
            raise DesignError(f"--{name.replace('_', '-')} is not an option of the study {study!r}. Leave it out.")
    table = STUDIES[study].table
    if table and not {table, *STUDIES[study].instead} & {*options}:
        raise DesignError(f"The study {study!r} needs --{table} FILE. docs/studies.md has an example.")
    inputs = [options[name] for name in _FILES if name in options]
    options |= {name: options[name].split(",") for name in _SEVERAL if name in options}
    options |= {"alias": parse_identity(chosen.alias)} if chosen.alias else {}
    options |= {"variants": [options.pop("variant")]} if chosen.variant else {}
    options |= {"prompts": options.pop("prompt")} if chosen.prompt else {}
    whole = design.study(study, chosen.judge, **options)
    whole = replace(whole, about={**whole.about, "format": chosen.format})
    print_plan(whole, chosen.out, chosen.out, chosen.format, inputs, overwrite)


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
