"""``judgestats plan``: the calls of a study, as files for a runner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from judgestats.cli.application import readable_errors
from judgestats.cli.common_options import Overwrite
from judgestats.cli.printing import plain_text, print_table, wide_console
from judgestats.defaults import SEED
from judgestats.errors import masked
from judgestats.terminal import as_typed

if TYPE_CHECKING:
    from judgestats.design import Plan


@dataclass(frozen=True)
class Study:
    """How a study is planned: the function of judgestats.design, the option with its table, and its other options."""

    function: str
    table: str = ""
    takes: tuple[str, ...] = ()


STUDIES = {
    "dark-current": Study("dark_current", takes=("prompt", "seed")),
    "vacuum": Study("vacuum", takes=("prompt",)),
    "ladder": Study("ladder", takes=("prompt", "seed")),
    "debiasing": Study("strategies", "pairs", ("strategies", "panel")),
    "controlled": Study("controlled", "pairs", ("strategies", "panel")),
    "generations": Study("generations", takes=("models", "written")),
    "cues": Study("cues", "pairs", ("seed",)),
    "rubric": Study("rubric", "responses", ("prompt", "by")),
    "merg": Study("merg", "responses", ("variant", "rubric_judge", "rubrics")),
}


def _studies(option: str) -> str:
    """The studies that take an option."""
    return ", ".join(name for name, study in STUDIES.items() if option in (study.table, *study.takes))


@readable_errors
def plan(
    study: Annotated[str, typer.Argument(metavar="STUDY", help=f"One of: {', '.join(STUDIES)}.")],
    judge: Annotated[list[str], typer.Option("--judge", help="Who is asked; give it once for each judge.")],
    out: Annotated[Path, typer.Option(help="Folder to write.")] = Path("plan"),
    prompt: Annotated[str, typer.Option(help=f"{_studies('prompt')}: name of a prompt, or a .toml file.")] = "",
    temperature: Annotated[float | None, typer.Option(help="Temperature of the calls.")] = None,
    format: Annotated[
        str, typer.Option(help="jsonl, csv, openai, anthropic, inspect, promptfoo or form, for the runner.")
    ] = "jsonl",
    seed: Annotated[
        int | None, typer.Option(help=f"{_studies('seed')}: seed of the random numbers (by default {SEED}).")
    ] = None,
    pairs: Annotated[str, typer.Option(help=f"{_studies('pairs')}: file of pairs of responses.")] = "",
    responses: Annotated[str, typer.Option(help=f"{_studies('responses')}: file of responses of systems.")] = "",
    strategies: Annotated[str, typer.Option(help=f"{_studies('strategies')}: B0,S1,S8, say.")] = "",
    panel: Annotated[str, typer.Option(help="Judges of S3 and S7: a,b,c.")] = "",
    models: Annotated[str, typer.Option(help=f"{_studies('models')}: models whose answers are compared: a,b,c.")] = "",
    written: Annotated[
        str, typer.Option(help=f"{_studies('written')}: texts of the first step, collected; plans the second.")
    ] = "",
    by: Annotated[str, typer.Option(help=f"{_studies('by')}: name of a rubric, or a .toml file.")] = "",
    variant: Annotated[str, typer.Option(help="merg: original-4-stage (default), baseline-score, ...")] = "",
    rubric_judge: Annotated[str, typer.Option(help="merg: whose rubric all score by.")] = "",
    rubrics: Annotated[str, typer.Option(help="merg: name or file of the rubrics to score by.")] = "",
    overwrite: Overwrite = False,
) -> None:
    """Plan the calls of a study, for any runner: judgestats plan dark-current --judge my-model --out plan"""
    from judgestats import design
    from judgestats.errors import DesignError, suggestion

    if study not in STUDIES:
        raise DesignError(f"Study {study!r} is not known. Allowed: {', '.join(STUDIES)}.{suggestion(study, STUDIES)}")
    recipe = STUDIES[study]
    tables = {"pairs": pairs, "responses": responses}
    several = {"strategies": strategies, "panel": panel, "models": models}
    options: dict[str, Any] = {"prompt": prompt, "seed": seed, "written": written, "by": by}
    options |= {"variant": variant, "rubric_judge": rubric_judge, "rubrics": rubrics}
    options |= {name: text.split(",") if text else None for name, text in several.items()}
    arguments = {name: value for name, value in {**tables, **options}.items() if value not in ("", None)}
    if wrong := [name for name in arguments if name not in (recipe.table, *recipe.takes)]:
        raise DesignError(f"--{wrong[0].replace('_', '-')} is not an option of the study {study!r}. Leave it out.")
    if recipe.table and recipe.table not in arguments:
        raise DesignError(f"The study {study!r} needs --{recipe.table} FILE. docs/studies.md has an example.")
    table = [arguments.pop(recipe.table)] if recipe.table else []
    if "prompt" in arguments:
        arguments["prompts"] = arguments.pop("prompt")
    arguments |= {} if temperature is None else {"temperature": temperature}
    inputs = [name for name in (pairs, responses, prompt, by, rubrics, written) if name]
    print_plan(getattr(design, recipe.function)(judge, *table, **arguments), out, out, format, inputs, overwrite)


def print_plan(plan: Plan, folder: Path, whole: Path, format: str, inputs: Sequence[str], overwrite: bool) -> None:
    """Write a plan, or a later stage of the one in `whole`, and say what to do with it."""
    from judgestats import design

    plan.write(folder, overwrite=overwrite, inputs=inputs)
    files = design.export(plan, folder, format, overwrite=overwrite, inputs=inputs)
    console = wide_console()
    later = f", and {len(plan.later):,} that come after them" if len(plan.later) else ""
    print_table(console, f"{len(plan):,} calls{later}", plan.summary())
    findings = plan.check()
    if len(findings):
        print_table(console, "Look at this before you ask", findings[["level", "what", "n", "example", "remedy"]])
    console.print(plain_text(f"Send: {', '.join(map(str, files))}"))
    command = "next" if len(plan.later) else "collect"
    console.print(plain_text(f"Then: judgestats {command} {as_typed([masked(str(whole))])} ANSWERS"))
