# make app    set up what a user needs and open the search
# make test   set up what a developer needs and run the tests
# make coverage  run the tests and tell which lines they leave out: takes half as long again
# make check  lint, formatting and types, changing nothing
# make fix    lint and formatting, mended
# make docs   write the generated pages of docs/

PYTHON ?= python3
# Two processes; a file's tests stay together, since they share what is costly to make.
PYTEST_ARGS ?= -n 2 --dist loadfile

VENV := .venv
BIN := $(VENV)/bin
USER_STAMP := $(VENV)/.installed
# Compiled once here, so that no start has to, also where Python is told to write no bytecode.
COMPILE := $(BIN)/python -m compileall -q ale_semantic app embeddings
DEV_STAMP := $(VENV)/.installed-dev
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt

.PHONY: app test coverage check fix docs
.DEFAULT_GOAL := app

app: $(USER_STAMP)
	$(BIN)/ale-semantic app

test: $(DEV_STAMP)
	$(BIN)/python -m pytest $(PYTEST_ARGS)

coverage: $(DEV_STAMP)
	$(BIN)/python -m pytest --cov --cov-report=term $(PYTEST_ARGS)

check: $(DEV_STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

fix: $(DEV_STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(DEV_STAMP)
	$(BIN)/typer ale_semantic.cli.commands utils docs --name ale-semantic --output docs/cli.md

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { \
	  echo "ale-semantic needs Python 3.11 or newer, and there is no '$(PYTHON)'; install it, or name one: make PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("ale-semantic needs Python 3.11 or newer, and $(PYTHON) is " + sys.version.split()[0] + "; name a newer one: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)

$(USER_STAMP): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing into $(VENV): some minutes and about 2 GB on first use"
	$(INSTALL) -e .
	@$(COMPILE)
	@touch $@

$(DEV_STAMP): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) -e '.[dev]'
	@$(COMPILE)
	@touch $(USER_STAMP) $@
