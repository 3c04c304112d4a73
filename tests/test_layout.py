"""Tests mirror modules: tests/<room>/test_<module>.py is about src/judgestats/<room>/.../<module>.py."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "judgestats"

#: What is about no single module, and why.
NO_MODULE = {
    "real": "public verdicts, by data set",
    "studies": "the studies of the five papers, end to end through the command line",
    "fuzz": "many modules at a time, on random input",
    "test_conventions.py": "the conventions of CONTRIBUTING.md, in numbers",
    "test_docs.py": "the pages of docs",
    "test_engines.py": "every measure, on DuckDB and Spark",
    "test_first_screens.py": "the first screens of the public sets",
    "test_interruption.py": "Ctrl-C in whatever takes time",
    "test_layout.py": "this file",
    "test_nearly_degenerate.py": "one property, every measure",
    "test_notebooks.py": "the notebooks",
    "test_weight.py": "the table of what the package costs",
    "test_platforms.py": "what differs on Windows and macOS",
    "test_plain_words.py": "the words of all pages, notebooks and strings",
    "test_properties.py": "one property, every measure",
    "test_public_names.py": "the names of the package",
    "test_public_surface.py": "what programs may rely on",
    "test_readme.py": "the numbers and links of the README",
    "test_same_results.py": "the comparison of all results before and after a change",
    "test_site.py": "the site",
    "design/test_coverage_classes.py": "the study of classes and areas under curves, as committed",
    "design/test_coverage_small.py": "the study in docs/coverage.md, in a small size",
    "design/test_coverage_table.py": "the study in docs/coverage.md, as committed",
    "design/test_coverage_unequal.py": "the study of unequal clusters, as committed",
    "design/test_tables.py": "every builder of plans that takes a table",
    "design/test_round_trips.py": "the study in docs/studies.md",
    "design/test_recovery.py": "every measure of simulated judges",
    "design/test_recovery_agreement.py": "every measure of simulated judges",
    "design/test_recovery_bias.py": "every measure of simulated judges",
    "models/test_least_squares.py": "Gaussian models, by every engine",
    "models/test_coverage_models.py": "the study in docs/coverage.md",
    "models/bayes/test_arviz.py": "ArviZ on fits and posteriors",
    "models/bayes/test_simulated_calibration.py": "the study in docs/calibration.md",
    "models/bayes/test_smoke.py": "every Bayesian model once",
    "published/test_audit_can_fail.py": "every check of every paper",
    "published/test_audit_mutations.py": "every printed number of every paper",
    "published/test_consensus_illusion.py": "a paper",
    "published/test_consensus_illusion_audit.py": "a paper",
    "published/test_dark_current_audit.py": "a paper",
    "published/test_debiasing.py": "a paper",
    "published/test_debiasing_audit.py": "a paper",
    "published/test_merchant_risk_audit.py": "a paper",
    "published/test_rationalization.py": "a paper",
    "published/test_rationalization_audit.py": "a paper",
    "published/test_reproduction.py": "two papers",
    "published/test_transcription.py": "the printed tables",
    "published/test_wheel.py": "the built distribution",
}
FILES = sorted(path.relative_to(TESTS) for path in TESTS.rglob("test_*.py"))


@pytest.mark.parametrize("path", [p for p in FILES if NO_MODULE.keys().isdisjoint((str(p), p.parts[0]))], ids=str)
def test_a_file_of_tests_is_named_after_a_module(path):
    room = SOURCE / path.parent
    name = path.stem.removeprefix("test_")
    below = "**/" if path.parent.name else ""
    modules = {found.stem for found in room.glob(f"{below}*.py")}
    modules |= {found.parent.name for found in room.glob(f"{below}__init__.py")}
    assert name in modules, f"{room.relative_to(SOURCE.parents[1])} has no module {name}: rename {path}, or say why not"


def test_what_is_about_no_module_is_there():
    assert [name for name in NO_MODULE if not (TESTS / name).exists()] == []


def test_what_the_checks_of_other_environments_run_is_there():
    """``.ci/floor`` and ``.ci/interpreters`` name the tests that they run."""
    steps = TESTS.parent / ".ci"
    named = {name for step in steps.iterdir() for name in re.findall(r"tests/[\w/]+(?:\.py)?", step.read_text())}
    assert len(named) > 20
    assert [name for name in sorted(named) if not (TESTS.parent / name).exists()] == []


def test_each_package_can_be_imported_first():
    """A circle of imports shows only where one of its modules comes first."""
    packages = [
        f"judgestats.{p.parent.relative_to(SOURCE).as_posix().replace('/', '.')}" for p in SOURCE.glob("*/__init__.py")
    ]
    packages += [f"judgestats.metrics.{p.parent.name}" for p in SOURCE.glob("metrics/*/__init__.py")]
    code = (
        "import importlib, sys\n"
        "for name in sys.argv[1:]:\n"
        "    for module in [m for m in sys.modules if m.startswith('judgestats')]:\n"
        "        del sys.modules[module]\n"
        "    importlib.import_module(name)\n"
    )
    subprocess.run([sys.executable, "-c", code, *packages], check=True)


#: Libraries that are felt at the first answer: only what uses one may load it.
HEAVY = (
    "duckdb", "great_tables", "jinja2", "matplotlib", "numba", "pandas", "polars", "pyarrow.dataset", "rich",
    "scipy.linalg", "scipy.optimize", "scipy.sparse", "scipy.special", "scipy.stats", "sklearn", "statsmodels", "typer",
)  # fmt: skip
TABLE = TESTS.parent / "docs" / "verdicts.csv"
READ = f"import judgestats as js; calls = js.read({str(TABLE)!r}); "
COMMAND = "import sys; from judgestats.cli import app; app({}, standalone_mode=False)"
READS, MEASURES = {"pandas"}, {"pandas", "scipy.special"}
#: What is run in a fresh interpreter -> the heavy libraries that it may load; those that may load the same share one.
ENTRIES = {
    "import": ("import judgestats", set()),
    "version and help": (f"{COMMAND.format(['--version'])}; app(['--help'], standalone_mode=False)", {"rich", "typer"}),
    "read and check": (READ + "js.check(calls)", READS),
    "a measure and kappa": (READ + "js.consistency(calls); js.kappa(calls, n_resamples=0)", MEASURES),
    "alpha and what can be measured": (
        READ + "js.alpha(calls); js.available_measures(calls)",
        {"scipy.sparse"} | MEASURES,
    ),
    "judgestats check": (COMMAND.format(["check", str(TABLE)]), {"rich", "scipy.sparse", "typer"} | MEASURES),
    "a picture": (
        READ + "from judgestats.reporting import plots; plots.answers(js.position_bias(calls))",
        {"matplotlib"} | MEASURES,
    ),
    "judgestats report": (
        COMMAND.format(["report", str(TABLE), "--to", "md"]),
        {"jinja2", "matplotlib", "rich", "scipy.linalg", "scipy.optimize", "scipy.sparse", "typer"} | MEASURES,
    ),
    "a fitted model": (
        READ + "js.fit('correct ~ 1 + (1|item)', js.read(calls.assign(correct=1)))",
        {"numba", "scipy.linalg", "scipy.optimize", "scipy.sparse"} | MEASURES,
    ),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_what_an_entry_point_may_load(entry):
    code, allowed = ENTRIES[entry]
    code += f"\nimport sys; print('LOADED', *sorted(m for m in {HEAVY} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert set(done.stdout.splitlines()[-1].split()[1:]) <= allowed
