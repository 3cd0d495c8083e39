# Everything is set up in .venv, by pip, at first use. Nothing but make and Python 3.11 or later is needed.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
DEMO := --storage file:demo-memory

.PHONY: demo test bench draw clean

demo: .venv/package ## Learn from two conversations with the built-in model, and show what is remembered
	@rm -rf demo-memory
	@$(BIN)/python examples/demo.py

test: .venv/tests ## Lint, types, layers, and every test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

bench: .venv/package ## Measure what the README claims
	$(BIN)/python benchmarks/update.py

draw: .venv/package ## Print the graph
	@$(BIN)/memgraph draw

clean:
	rm -rf .venv demo-memory

.venv/package: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit(f"memgraph needs Python 3.11 or later; this is {sys.version.split()[0]}. Say which to use: make PYTHON=python3.12 ...")'
	@echo "Setting up .venv (once) ..."
	@$(PYTHON) -m venv .venv
	@$(PIP) --upgrade pip
	@$(PIP) --editable .
	@touch $@

.venv/tests: .venv/package
	@echo "Installing what the tests need (once) ..."
	@$(PIP) --editable . --group test
	@touch $@
