# Everything a newcomer needs, from a machine with Python 3.11+ and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal
# One BLAS thread per process: parallel processes share the cores already.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo test test-all storm lint bench docs clean

demo: $(VENV)/plot.stamp  ## minimise a real problem, print the result, write plots and report pages
	$(BIN)/python -m dale demo

test: lint $(VENV)/docs.stamp  ## lint, types, imports and all tests but the long ones
	$(PYTEST) -m "not slow"

test-all: $(VENV)/test.stamp $(VENV)/docs.stamp  ## the long tests: more seeds, more evaluations, storms, the documentation
	$(PYTEST) -m slow

storm: $(VENV)/test.stamp  ## random kills, power cuts, full disks, ...: make storm MINUTES=60; SEED=1 CASE=power/17 repeats one
	PYTHONPATH=tests:tests/store:tests/evaluate $(BIN)/python -m storm --minutes $(or $(MINUTES),8) \
		$(if $(SEED),--seed $(SEED)) $(if $(ONLY),--only $(ONLY)) $(if $(CASE),--case $(CASE))

lint: $(VENV)/test.stamp  ## style, types, and which package may import which
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/bench.stamp  ## some of the paper's functions: median regret of each method
	$(BIN)/python -m dale bench

docs: $(VENV)/docs.stamp  ## the documentation site, with all examples run
	$(BIN)/python -m sphinx -b html -W --keep-going -q docs docs/_build/html
	@echo "The documentation is in docs/_build/html/index.html"

$(VENV)/made.stamp:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else "dale needs Python 3.11 or newer, got %d.%d; try: make PYTHON=python3.12" % v[:2])'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/plot.stamp: $(VENV)/made.stamp pyproject.toml
	$(PIP) -e '.[plot]'
	@touch $@

$(VENV)/bench.stamp: $(VENV)/made.stamp pyproject.toml benchmarks/pyproject.toml
	$(PIP) -e '.[plot]' -e ./benchmarks
	@touch $@

$(VENV)/test.stamp: $(VENV)/made.stamp pyproject.toml benchmarks/pyproject.toml
	$(PIP) -e '.[test]' -e './benchmarks[coco]'
	@touch $@

$(VENV)/docs.stamp: $(VENV)/made.stamp pyproject.toml
	$(PIP) -e '.[docs]'
	@touch $@

clean:
	rm -rf $(VENV) docs/_build docs/auto_gallery docs/api/generated docs/api/backreferences demo-output bench-output .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
