# Everything is set up in .venv, by pip, at first use. Nothing but make and Python 3.11 or later is needed.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
MEMGRAPH := $(BIN)/memgraph
DEMO := --storage demo-memory --model offline

.PHONY: demo test chat notebook bench draw clean

demo: .venv/package ## Learn from two conversations with the built-in model, and show what is remembered
	@rm -rf demo-memory
	@echo "--- 1. An English conversation: memgraph update examples/english_conversation.json --user maya"
	@$(MEMGRAPH) update examples/english_conversation.json --user maya $(DEMO)
	@echo
	@echo "--- 2. A Chinese one: memgraph update examples/chinese_conversation.txt --user xiaoyu"
	@$(MEMGRAPH) update examples/chinese_conversation.txt --user xiaoyu $(DEMO)
	@echo
	@echo "--- 3. The first one again: all of it was learned before, so no model is asked"
	@$(MEMGRAPH) update examples/english_conversation.json --user maya $(DEMO)
	@echo
	@echo "--- 4. What is remembered: memgraph show"
	@$(MEMGRAPH) show --user maya --storage demo-memory
	@echo
	@$(MEMGRAPH) show --user xiaoyu --storage demo-memory
	@echo
	@echo "The memories are the two JSON files named above: open them, edit them. Your own conversation: $(MEMGRAPH) update FILE --user YOU"

test: .venv/tests ## Lint, types, layers, and every test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright
	$(BIN)/lint-imports
	sh tests/install_servers.sh
	$(BIN)/python -m pytest --numprocesses auto --dist worksteal

chat: .venv/package ## Talk in the terminal, and be remembered the next time
	@$(MEMGRAPH) chat --user you

notebook: .venv/package ## Open the notebooks
	$(PIP) --editable '.[agents,notebooks]'
	$(BIN)/jupyter lab notebooks

bench: .venv/package ## Measure what the README claims
	$(PIP) --editable '.[local]'
	$(BIN)/python benchmarks/update.py
	$(BIN)/python benchmarks/recall.py
	$(BIN)/python benchmarks/invoker.py
	$(BIN)/python benchmarks/kill.py
	$(BIN)/python benchmarks/agents.py

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
