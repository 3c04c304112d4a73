"""The command line as the tests type it."""

import re

from typer.testing import CliRunner

run = CliRunner()


def words(result):
    """What a command printed, with one space between words."""
    return re.sub(r"\s+", " ", result.output)
