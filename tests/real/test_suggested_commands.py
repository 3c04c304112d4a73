"""Every command that `check` proposes for a public file, or for one with a fault put in, is run and not refused."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from judgestats.cli import app
from judgestats.errors import SchemaError
from judgestats.ingest import detect_format
from judgestats.ingest.sources import resolve
from judgestats.ingest.tables import plain_table
from public_files import EMPTY, FILES, LARGE, NONE, NOT_READ

pytestmark = pytest.mark.real
#: Public files of one table each, but those of minutes.
TABLES = [n for n in (*FILES, *NONE, *NOT_READ, *EMPTY) if "." in n]
#: Files for which `check` proposes a complete mapping.
PROPOSED = {
    "cross_eval_masaomi/evaluations.jsonl", "llm_rubric/human_judges_real_convs_FIXED_ANON.tsv",
    "llm_rubric/human_judges_synth_all_FIXED_ANON.tsv", "mt_bench/human_judgments.csv.gz", "pandalm/verdicts.csv",
    "pandalm/native_testset-v1.json.gz", "position_bias_mtbench/verdicts.csv.gz", "self_bias_frontier/pairwise.csv.gz",
    "self_bias_frontier/rubric_long.csv.gz",
}  # fmt: skip


def proposed(arguments: list[str]) -> list[str]:
    """Arguments of the command that `check` proposes, once it was run; empty where it proposes none."""
    told = CliRunner().invoke(app, ["check", *arguments])
    commands = re.findall(r"^Next: judgestats (.*)$", told.output, re.MULTILINE)
    if not commands:
        return []
    (words,) = map(shlex.split, commands)
    assert "would still be refused" not in told.output
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, f"{shlex.join(words)}\n{result.output[-2000:]}"
    return words


def needs_mapping(path: Path) -> bool:
    """Whether `check` proposes anything for a file."""
    try:
        return detect_format(path).proposal is not None
    except SchemaError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_a_proposed_command_is_not_refused(real_data: Path, name: str) -> None:
    words = proposed([str(real_data / name)]) if needs_mapping(real_data / name) else []
    assert bool(words) is (name in PROPOSED)


@pytest.mark.full
@pytest.mark.parametrize("name", LARGE)
def test_a_command_proposed_for_a_large_file_is_not_refused(real_data: Path, name: str) -> None:
    if needs_mapping(real_data / name):
        proposed([str(real_data / name)])


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["doubled rows", "a number too many", "another answer", "numbers with a comma"])
@pytest.mark.parametrize("name", sorted(PROPOSED))
def test_a_command_proposed_for_a_table_with_a_fault_is_not_refused(
    real_data: Path, tmp_path: Path, name: str, fault: str
) -> None:
    table = plain_table(resolve(real_data / name)).head(400)
    answers = [c for c in table if re.search("verdict|winner|^Q1|satisfied|annotator1|scores", str(c))]
    if fault == "doubled rows":
        table = table.loc[[*table.index, *table.index[:20]]]
    elif fault == "a number too many":
        table = table.assign(n=3)
    elif fault == "another answer":
        table.loc[table.index[::7], answers] = "unsure"
    else:
        table[answers] = table[answers].apply(lambda column: column + ",5")
    table.to_csv(tmp_path / "t.csv", index=False)
    proposed([str(tmp_path / "t.csv")])
