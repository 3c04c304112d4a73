"""``judgestats power``: the power of a study, by simulation."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from judgestats.cli.application import readable_errors
from judgestats.cli.printing import print_table, wide_console
from judgestats.defaults import SEED
from judgestats.errors import refuse_unknown

#: Studies whose power can be simulated without a table.
_WITH_POWER = ("dark-current", "vacuum", "ladder")


@readable_errors
def power(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="dark-current, vacuum or ladder.")],
    measure: Annotated[
        str, typer.Option("--measure", metavar="MEASURE", help="A measure, such as dark_current or consistency.")
    ],
    planted: Annotated[
        str, typer.Option(metavar="NAME=NUMBER,...", help="Properties of the judge: dark_current=0.2.")
    ] = "",
    null: Annotated[float, typer.Option(metavar="NUMBER", help="The value that an interval has to exclude.")] = 0.0,
    replications: Annotated[int, typer.Option(metavar="NUMBER", help="Simulated studies.")] = 1000,
    processes: Annotated[int, typer.Option(metavar="NUMBER", help="Processes that share the work.")] = 1,
    seed: Annotated[int, typer.Option(metavar="NUMBER", help="Seed of the random numbers.")] = SEED,
) -> None:
    """Power of a study by simulation: judgestats power vacuum --measure dark_current --planted dark_current=0.2"""
    from judgestats import design
    from judgestats.ingest import parse_planted
    from judgestats.reporting.formatting import count

    refuse_unknown(study, _WITH_POWER, f"Study {study!r} is not known")
    judge: Any = {"judge": parse_planted(planted)}
    plan = design.study(study, "judge")
    estimates = design.power(
        plan, judge, measure, null=null, replications=replications, processes=processes, seed=seed, progress=True
    )
    table = estimates.drop(columns=["judge", "method"], errors="ignore").round(3)
    print_table(
        wide_console(), f"Power: share of {count(replications)} studies whose interval excludes {null:g}", table
    )
