# Two commands: `make demo` and `make test`. Each makes the environment it needs in .venv; neither needs the other.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
WORKERS ?= 2
export OMP_NUM_THREADS ?= 1

.PHONY: demo test test-slow check lint types contracts docs examples format bench-structure clean

demo: .venv/core
	$(BIN)/sphunc demo

test: .venv/dev
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow"

test-slow: .venv/dev
	$(BIN)/python -m pytest -n $(WORKERS) -m slow

check: lint types contracts docs examples

lint: .venv/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: .venv/dev
	$(BIN)/basedpyright

contracts: .venv/dev
	$(BIN)/lint-imports --no-cache

docs: .venv/dev
	$(BIN)/zensical build --clean --strict

examples: .venv/dev
	for example in examples/*.py; do echo "$$example"; $(BIN)/python -W error "$$example" || exit 1; done
	for example in examples/*.sh; do echo "$$example"; PATH="$$PWD/$(BIN):$$PATH" sh "$$example" || exit 1; done

format: .venv/dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# bench-sphere, bench-attention, bench-tables, bench-worlds, bench-datasets, bench-golden (the figures that decide;
# ARGS="--out now.json --compare earlier.json"), bench-core, bench-effects, bench-null: each prints its table in one run.
bench-%: .venv/dev
	$(BIN)/python benchmarks/$*.py $(ARGS)

bench-structure: .venv/dev
	$(PIP) install -c constraints.txt -e ".[pcmci]"
	$(BIN)/python benchmarks/structure.py

.venv/core: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "sphunc needs Python 3.11 or newer; got " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 demo")'
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || { echo "Making the environment in .venv (a minute or two, once) ..."; $(PYTHON) -m venv --clear .venv; }
	$(PIP) install -c constraints.txt -e .
	@touch $@

.venv/dev: .venv/core
	@echo "Adding the development tools to .venv ..."
	$(PIP) install -c constraints.txt -e ".[dev]"
	@touch $@

clean:
	rm -rf .venv site demo-output .pytest_cache .ruff_cache
