"""The command line: thin. It reads arguments, calls the library, prints; it computes nothing."""

from judgestats.cli.application import ExitCode, app
from judgestats.cli.audit_command import audit, reproduce
from judgestats.cli.check_command import check
from judgestats.cli.collect_command import collect, next_stage
from judgestats.cli.listing_commands import formats, prompts
from judgestats.cli.plan_command import plan
from judgestats.cli.power_command import power
from judgestats.cli.report_command import report

__all__ = ["ExitCode", "app"]

# in the order in which the help lists them
for _command in (check, report, formats, reproduce, audit, plan, next_stage, collect, power, prompts):
    app.command("next" if _command is next_stage else None)(_command)
