# Everything a newcomer needs, from a machine with Python 3.11+ and make.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# One BLAS thread for each process: two processes with all cores each are slower than either alone.
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo test lint bench clean

demo: $(VENV)/plot.stamp  ## minimise a real problem, print what was found, write the pictures
	$(BIN)/python -m dale demo

test: $(VENV)/test.stamp lint  ## lint, types and all tests
	$(BIN)/python -m pytest -n auto

lint: $(VENV)/test.stamp  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/plot.stamp  ## the paper's functions: median regret of each method
	$(BIN)/python -m dale bench

$(VENV)/made.stamp:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else "dale needs Python 3.11 or newer, got %d.%d; try: make PYTHON=python3.12" % v[:2])'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/plot.stamp: $(VENV)/made.stamp pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[plot]'
	@touch $@

$(VENV)/test.stamp: $(VENV)/made.stamp pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	@touch $@

clean:
	rm -rf $(VENV) demo-output bench-output .pytest_cache .mypy_cache .ruff_cache
