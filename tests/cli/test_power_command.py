"""``judgestats power``."""

from command_line import run, words
from judgestats.cli import app


def test_power_of_a_study():
    done = run.invoke(
        app, ["power", "vacuum", "--measure", "dark_current", "--planted", "dark_current=0.9", "--replications", "3"]
    )
    assert done.exit_code == 0, done.output
    assert "share of 3 studies whose interval excludes 0" in done.output
    assert "dark_current" in done.output
    wrong = run.invoke(app, ["power", "vacuum", "--measure", "dark_current", "--planted", "dark_current=high"])
    assert "holds a value that is no number" in words(wrong)
    assert "Allowed: dark-current, vacuum, ladder" in words(
        run.invoke(app, ["power", "cues", "--measure", "anchoring"])
    )
