"""A study through the command line: plan, answers of simulated judges as a runner writes them, collect, page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from round_trips import answered

from command_line import run
from judgestats.cli import app
from judgestats.design import Judge, Plan, simulate_replies

#: Of all replies: a reply of the judge that gives no one answer, and a refusal.
MALFORMED, REFUSED = 0.05, 0.03


def invoke(*words: str) -> str:
    """What a command prints; it must succeed."""
    done = run.invoke(app, list(words))
    assert done.exit_code == 0, done.output
    return done.output


def answer(folder: Path, judges: Sequence[Judge], form: str, seed: int, error: float = 0.0) -> list[str]:
    """Answer the calls that stand in a folder, as their runner does; the files that it writes."""
    plan = Plan.read(folder)
    asked = [j for j in judges if j.name in set(plan.calls["judge"])]
    replies = simulate_replies(plan, asked, unreadable=MALFORMED, refused=REFUSED, error=error, seed=seed)
    forms = sorted(folder.glob("form.*.csv"))
    calls = [
        p
        for p in sorted(folder.iterdir())
        if p.name.startswith(("calls.", "promptfooconfig")) and p.suffix != ".parquet"
    ]
    answers = Path("answers") / folder.name
    written = answered(calls, form, replies, answers) if calls else []
    return [*map(str, written), *(map(str, answered(forms, "form", replies, answers)) if forms else [])]


def to_the_end(asked: Sequence[str], judges: Sequence[Judge], folder: Path, form: str = "jsonl", seed: int = 1) -> str:
    """Plan a study and collect until there is a page: the last output. Each call of collect is given what is new; there
    are as many as docs/studies.md says.
    """
    os.chdir(folder)
    out = folder / "plan"
    invoke("plan", *asked, "--out", str(out), "--format", form)
    new, known = [out], set()
    for number in range(1, 9):
        files = [f for part in new for f in answer(part, judges, form, seed)]
        known |= {*new}
        said = invoke("collect", str(out), *files, "--report", "page.html")
        if "Report:" in said:
            assert number == {"debiasing": 3, "merg": 4, "cues": 4}.get(asked[0], 1)
            return said
        new = [p.parent for p in sorted(out.glob("*/manifest.json")) if p.parent not in known]
    raise AssertionError(said)
