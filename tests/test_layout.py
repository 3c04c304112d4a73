"""Tests mirror modules: tests/<room>/test_<module>.py is about src/judgestats/<room>/.../<module>.py."""

import ast
import re
import subprocess
import sys
import tomllib
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
    "test_sweep.py": "every function and option, on small tables",
    "test_weight.py": "the table of what the package costs",
    "test_two_forms.py": "the table of kernels that have two forms",
    "test_platforms.py": "what differs on Windows and macOS",
    "test_plain_words.py": "the words of all pages, notebooks and strings",
    "test_properties.py": "one property, every measure",
    "test_public_names.py": "the names of the package",
    "test_public_surface.py": "what programs may rely on",
    "test_readme.py": "the numbers and links of the README",
    "test_same_results.py": "the comparison of all results before and after a change",
    "test_security.py": "the promises of SECURITY.md",
    "test_site.py": "the site",
    "design/test_coverage_classes.py": "the study of classes and areas under curves, as committed",
    "design/test_coverage_scores.py": "the study of scores that are not normal, as committed",
    "design/test_coverage_sizes.py": "the study of sizes that carry information, as committed",
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
    "models/test_model_sizes.py": "the study of sizes in docs/models.md",
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


def test_a_file_of_tests_is_named_after_a_module():
    """Rename a file that is listed, or say in NO_MODULE why not."""
    lost = []
    for path in FILES:
        room, below = SOURCE / path.parent, "**/" if path.parent.name else ""
        modules = {module.stem for module in room.glob(f"{below}*.py")}
        modules |= {package.parent.name for package in room.glob(f"{below}__init__.py")}
        if NO_MODULE.keys().isdisjoint((str(path), path.parts[0])) and path.stem.removeprefix("test_") not in modules:
            lost.append(path)
    assert lost == []


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


CONTRACTS = tomllib.loads((TESTS.parent / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
#: Packages that say what they do instead.
UNSAID = {"cli", "bias_models", "engines"}
#: A package, and the packages that its docstring says it may import.
MAY_IMPORT = re.compile(r"May import the packages? ([\w\s,]+?)(?: of \w+)?[.;]")


def below(contract):
    """Each package of a contract of layers -> the packages, of one folder, that lie below it."""
    folder = SOURCE.joinpath(*contract.get("containers", ["judgestats"])[0].split(".")[1:])
    layers = [re.findall(r"\w+", layer.replace("judgestats.", "")) for layer in contract["layers"]]
    layers = [[name for name in layer if (folder / name / "__init__.py").exists()] for layer in layers]
    return {
        folder / name: [one for lower in layers[i + 1 :] for one in lower]
        for i, layer in enumerate(layers)
        for name in layer
    }


@pytest.mark.parametrize(
    ("folder", "allowed"),
    [case for contract in CONTRACTS if contract["type"] == "layers" for case in below(contract).items()],
    ids=lambda value: value.relative_to(SOURCE).as_posix() if isinstance(value, Path) else "",
)
def test_a_package_says_what_it_may_import_as_the_contract_does(folder, allowed):
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))
    sentence = MAY_IMPORT.search(text)
    if sentence is None:
        assert folder.name in UNSAID or not allowed, f"{folder.name} does not say that it may import {allowed}"
        return
    assert re.split(r",\s+|\s+and\s+", sentence[1]) == allowed


def imports(source):
    """Each module below a folder -> the modules there that it imports, for types and inside functions too."""
    modules = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source.parent).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = ast.parse(path.read_text())
    found = {name: set() for name in modules}
    for name, tree in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                found[name] |= {one.name for one in node.names} & modules.keys()
            elif isinstance(node, ast.ImportFrom):
                inner = {f"{node.module}.{one.name}" for one in node.names} & modules.keys()
                found[name] |= inner or {node.module} & modules.keys()
    return found


def circles(graph):
    """Modules that can be reached from themselves."""
    reached = {name: set(graph[name]) for name in graph}
    while True:
        further = {name: near.union(*(reached[one] for one in near)) for name, near in reached.items()}
        if further == reached:
            return sorted(name for name, near in reached.items() if name in near)
        reached = further


def test_no_module_imports_itself_by_way_of_another():
    assert circles(imports(SOURCE)) == []


def test_a_planted_circle_is_found(tmp_path):
    (tmp_path / "one.py").write_text("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import x.two\n")
    (tmp_path / "two.py").write_text("def f():\n    from x import one\n")
    (tmp_path / "three.py").write_text("from x.one import *\n")
    source = tmp_path.rename(tmp_path.parent / "x")
    assert circles(imports(source)) == ["x.one", "x.two"]


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


def test_tests_that_make_test_full_alone_runs_exist():
    """Each line of full.txt names a file and a function that are there."""
    folder = Path(__file__).parent
    lines = (folder / "full.txt").read_text(encoding="utf-8").splitlines()
    ids = [line for line in lines if line[:1] != "#"]
    assert len(ids) > 50
    for line in ids:
        file, _, name = line.partition("::")
        assert f"def {name.partition('[')[0]}(" in (folder / file).read_text(encoding="utf-8"), line
