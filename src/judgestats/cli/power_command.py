"""``judgestats power``: the power of a study, by simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from judgestats.cli.application import readable_errors
from judgestats.cli.printing import plain_text, print_table, wide_console
from judgestats.defaults import SEED
from judgestats.errors import refuse_unknown

if TYPE_CHECKING:
    import pandas as pd

    from judgestats.typing import Record

#: The power that studies are planned for (Cohen 1988).
ENOUGH = 0.8
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
    empty = [
        name for name in ("method", "flag") if name in estimates and (name == "method" or not estimates[name].any())
    ]
    table = estimates.drop(columns=["judge", *empty], errors="ignore").round(3).astype({"n": int})
    console = wide_console()
    print_table(console, f"Power: share of {count(replications)} studies whose interval excludes {null:g}", table)
    console.print(plain_text(_in_words(estimates.dropna(subset="estimate"))))


def _in_words(estimates: pd.DataFrame) -> str:
    """The highest and the lowest power, and where it is enough."""
    from judgestats.reporting.formatting import PERCENT, estimate, interval

    if estimates.empty:
        return "No simulated study has an interval."
    names = [*estimates.columns[: estimates.columns.get_loc("estimate")]]
    names = [name for name in names if name != "judge" and estimates[name].nunique() > 1]

    def power_of(row: Record) -> str:
        power = f"{estimate(row['estimate'], form='share')} {interval(row['conf_low'], row['conf_high'], form='share')}"
        return f"{power} for {' '.join(str(row[name]) for name in names)}" if names else power

    ends = estimates.loc[[estimates["estimate"].idxmax(), estimates["estimate"].idxmin()]].to_dict("records")
    if len(estimates) == 1:
        return f"Power: {power_of(ends[0])}."
    enough = f"{(estimates['estimate'] >= ENOUGH).sum()} of {len(estimates)} reach {ENOUGH:.0%}".replace("%", PERCENT)
    return f"Power: highest {power_of(ends[0])}, lowest {power_of(ends[1])}; {enough}."
