# Two commands do all the set-up: `make reproduce` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The tests use all cores with processes; BLAS threads in each would only compete.
export OMP_NUM_THREADS ?= 1
# Where it is set, each of a thousand processes compiles the package again.
unexport PYTHONDONTWRITEBYTECODE
READY := $(VENV)/.ready
READY_DEV := $(VENV)/.ready-dev

.PHONY: reproduce test suite test-slow test-full test-real bench sbc mutations counts notebooks-full coverage-study coverage-models fuzz docs lint clean

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("judgestats needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Set PYTHON=python3.11") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(READY_DEV): $(READY)
	$(BIN)/python -m pip install --quiet --editable ".[bayes,pingouin]" --group dev
	@touch $@

# Datasheets from a paper's printed counts, then the audit of five papers; the page is build/report/index.html.
reproduce: $(READY)
	$(BIN)/judgestats reproduce --out build/report/index.html

# Lint, types and the import contract beside the suite. Each file of tests stays on one core, with what its tests share; the
# last lines show what was skipped and why. DuckDB's binding writes to standard error when the interpreter exits; it is
# shown only on failure.
test: $(READY_DEV)
	@$(MAKE) --no-print-directory --jobs=2 lint suite

suite: $(READY_DEV)
	@mkdir -p build
	$(BIN)/python -m pytest --quiet --numprocesses auto --dist loadfile -m "not full and not slow and not spark and not postgres" \
		--ignore tests/models/bayes/test_smoke.py 2> build/pytest.stderr || { cat build/pytest.stderr; exit 1; }

# Tests of more than a few seconds: sampled Bayesian models, notebooks (both with few draws), pages in a browser.
test-slow: $(READY_DEV)
	@mkdir -p build
	$(BIN)/python -m pytest --quiet --numprocesses auto --dist loadfile -m "slow and not full and not spark and not postgres" \
		--ignore tests/models/bayes/test_smoke.py 2> build/pytest.stderr || { cat build/pytest.stderr; exit 1; }

# All tests, with the long proofs and the smoke test that other interpreters run.
test-full: $(READY_DEV) lint
	$(BIN)/python -m pytest --quiet --numprocesses auto --dist loadfile

# Randomly altered files, tables, rules and formulas; make test tries a few. The counts go to build/fuzz.
fuzz: $(READY_DEV)
	@mkdir -p build/fuzz
	JUDGESTATS_FUZZ=$${JUDGESTATS_FUZZ:-10000} JUDGESTATS_FUZZ_OUT=build/fuzz $(BIN)/python -m pytest --quiet --numprocesses auto tests/fuzz

# The notebooks with all their draws: notebooks/NAME.ipynb, which stand in the repository, and pages in build/notebooks.
notebooks-full: $(READY_DEV)
	$(BIN)/python notebooks/run.py

# The site, in build/site: reference and gallery are made here, notebooks are taken as they stand, and every link inside is followed.
docs: $(READY_DEV)
	$(BIN)/python -m pip install --quiet --group docs
	$(BIN)/python docs/site/site_build.py

# Simulation-based calibration of every hierarchical model: 200 fits each, hours on two cores; results in docs/calibration.csv.
sbc: $(READY_DEV)
	$(BIN)/python benchmarks/calibration_study.py --fits 200

# Alters every printed number of the papers, one at a time, and counts what the audit detects: docs/audit_mutations.csv.
mutations: $(READY_DEV)
	$(BIN)/python benchmarks/audit_mutations.py

# The counts of the audit in README.md and docs/audit.md, and the table of its rules.
counts: $(READY)
	$(BIN)/python benchmarks/audit_counts.py

lint: $(READY_DEV)
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# The tests on public verdicts; fails where JUDGESTATS_REAL_DATA does not name their folder.
test-real: $(READY_DEV)
	@test -d "$(JUDGESTATS_REAL_DATA)" || { echo "make test-real: set JUDGESTATS_REAL_DATA to the folder of the public verdicts"; exit 1; }
	@mkdir -p build
	$(BIN)/python -m pytest --quiet -m real 2> build/pytest.stderr || { cat build/pytest.stderr; exit 1; }

# Times are reported, never asserted: docs/benchmarks.md names the machine of the committed ones. Mixed models are
# compared with R if Rscript finds lme4 and glmmTMB, and with GPBoost: JUDGESTATS_GPBOOST_PYTHON names the
# interpreter that has it. JUDGESTATS_REFERENCE_DATA is the folder of verbagg.csv, JUDGESTATS_OLD a worktree of an earlier
# version, with which this one is compared. Missing peers are named and skipped.
bench: $(READY_DEV)
	$(BIN)/python -m pytest --quiet --numprocesses 0 benchmarks --benchmark-only --benchmark-columns=min,median,rounds
	$(BIN)/python benchmarks/two_forms.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/peer_mixed.py --table
	$(BIN)/python benchmarks/lake.py
	@if [ -n "$(JUDGESTATS_OLD)" ]; then $(BIN)/python benchmarks/weight.py --old "$(JUDGESTATS_OLD)"; \
	else echo "make bench: set JUDGESTATS_OLD to a worktree of an earlier version to compare with it (docs/weight.csv)"; fi

# Coverage of the intervals: 2,000 simulated replications per cell, about half an hour on one core. The test
# suite runs a small version; docs/coverage.csv has the full results.
coverage-study: $(READY_DEV)
	$(BIN)/python benchmarks/coverage_study.py --replications 2000 --jobs 2
	$(BIN)/python benchmarks/coverage_unequal.py $(STUDY_OPTIONS)
	$(BIN)/python benchmarks/coverage_classes.py
	$(BIN)/python benchmarks/coverage_scores.py
	$(BIN)/python benchmarks/coverage_unequal.py --grid --replications 10000 $(STUDY_OPTIONS)

# The same for mixed models: 1,000 replications per design; results in docs/coverage_models.csv. Agreement of raters by a
# model and tests of residuals: docs/coverage_raters.csv, docs/size_of_residual_tests.csv.
coverage-models: $(READY_DEV)
	$(BIN)/python benchmarks/coverage_models.py --replications 1000
	$(BIN)/python benchmarks/coverage_raters.py
	$(BIN)/python benchmarks/size_of_residual_tests.py

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
