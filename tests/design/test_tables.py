"""Builders of plans name the column that a table lacks."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

from judgestats import design
from judgestats.cli import app
from judgestats.errors import JudgestatsError

TEXTS = {"task_text": ["Say hello."] * 2, "item": ["1", "1"]}
PAIRS = pd.DataFrame({
    "item": ["1"], "first": ["u"], "second": ["v"], "task_text": ["Say hello."],
    "first_text": ["Hello to you."], "second_text": ["Good day."],
})  # fmt: skip
RESPONSES = pd.DataFrame({**TEXTS, "system": ["s", "t"], "response_text": ["Hello.", "Good day."]})
ROLES = pd.DataFrame({
    "item": ["q1"], "topic": ["food"], "task_text": ["How is tea made?"], "role": ["complete"],
    "text": ["Boil water. Add the leaves. Wait for five minutes."],
})  # fmt: skip
RUBRICS = pd.DataFrame({
    "judge": ["g", "g", "h", "h"], "item": ["1"] * 4, "weight": [0.5] * 4, "criterion": ["mood", "rhythm"] * 2,
})  # fmt: skip
CALLS = pd.DataFrame({
    "judge": ["g"] * 3, "item": ["1"] * 3, "first": ["u", "u", "v"], "second": ["v", "v", "u"],
    "strategy": ["B0", "S1", "S1"], "choice": ["first"] * 3,
})  # fmt: skip
SCORED = pd.DataFrame({
    "item": ["1"], "system": ["s"], "task_text": ["t"], "response_text": ["r"], "restyled_text": ["q"],
})  # fmt: skip
CONTROLLED = design.controlled_pairs(ROLES, kinds=["length_truncated"])


def refusal(build: Callable[[Any], Any], table: pd.DataFrame) -> str:
    """What the builder says of a table; empty if it takes it."""
    try:
        build(table)
    except JudgestatsError as error:
        return str(error)
    return ""


BUILDERS: dict[str, tuple[Callable[[Any], Any], pd.DataFrame]] = {
    "build pairs": (lambda t: design.build(t, judges="g"), PAIRS),
    "build ratings": (
        lambda t: design.build(t, judges="g", prompts="rubric"),
        RESPONSES.assign(rubric_text="r", note_text="n"),
    ),
    "rubric": (lambda t: design.rubric("g", t), RESPONSES),
    "rubric, restyled": (lambda t: design.rubric("g", t, arms=["style-transferred"]), SCORED),
    "merg": (lambda t: design.merg(["g", "h"], t), RESPONSES),
    "strategies": (lambda t: design.strategies("g", t), PAIRS),
    "strategies, panel": (lambda t: design.strategies("g", t, strategies=["S3", "S7"], panel=["g", "h", "k"]), PAIRS),
    "strategy_verdicts": (design.strategy_verdicts, CALLS),
    "controlled_pairs": (lambda t: design.controlled_pairs(t, kinds=["length_truncated"]), ROLES),
    "controlled": (lambda t: design.controlled("g", t), CONTROLLED),
    "write_controlled": (lambda t: design.write_controlled(t, Path(tempfile.mkdtemp()) / "pairs.csv"), CONTROLLED),
    "annotation_form": (lambda t: design.annotation_form(["ann"], t, bias_type="length_truncated", n=1), CONTROLLED),
    "cues": (lambda t: design.cues("g", t), PAIRS),
    "equal_pairs": (design.equal_pairs, ROLES[["item", "task_text", "text"]]),
    "matched_dimensions": (design.matched_dimensions, RUBRICS),
    "rubric_similarity": (lambda t: design.rubric_similarity(t, n_resamples=20), RUBRICS),
}


@pytest.mark.parametrize("name", BUILDERS)
def test_a_table_without_a_column_is_refused_by_the_name_of_the_column(name: str) -> None:
    """Each column in turn is left out: the builder does without it, or names it."""
    build, table = BUILDERS[name]
    build(table)
    for column in table.columns:
        said = refusal(build, table.drop(columns=column))
        assert not said or f"{column!r}" in said


def test_the_command_names_the_column_too(tmp_path: Path) -> None:
    RESPONSES.drop(columns="response_text").to_csv(tmp_path / "texts.csv", index=False)
    for study in ("rubric", "merg"):
        found = CliRunner().invoke(
            app,
            ["plan", study, "--judge", "g", "--responses", str(tmp_path / "texts.csv"), "--out", str(tmp_path / "p")],
        )
        assert found.exit_code == 2
        assert "The table of responses has no column 'response_text'. It has: task_text, item, system." in found.output
