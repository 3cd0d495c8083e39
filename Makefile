# Needs make and Python 3.11 or later. Each target installs what it needs into .venv at first use.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
MEMGRAPH := $(BIN)/memgraph
PORT ?= 2024
# No telemetry or tracing, and only plain data types in checkpoints.
SERVER := LANGSMITH_TRACING=false LANGGRAPH_CLI_NO_ANALYTICS=1 LANGGRAPH_NO_VERSION_CHECK=true LANGGRAPH_STRICT_MSGPACK=true

.PHONY: demo page test peers mutation chat dev notebook notebook-outputs bench bench-quick docs release-check draw clean

demo: .venv/package ## Learn from conversations weeks apart with the built-in model: what is known, since when, from which words; what a page plants is refused
	@rm -rf demo-memory
	@$(BIN)/python examples/demo.py demo-memory

page: .venv/package ## Open the demo's memory in a browser: what is known, from which words, and what changed
	@$(PIP) --editable '.[api,local]'
	@test -d demo-memory || $(BIN)/python examples/demo.py demo-memory >/dev/null
	@$(MEMGRAPH) serve --open --storage file:demo-memory

test: .venv/tests ## Run the linters, type checker, layer check and all tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/pyright
	$(BIN)/lint-imports
	sh tests/install_servers.sh
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest --numprocesses auto --dist worksteal # the tests start many processes

peers: .venv-peers/bin/python ## Run the tests with deepagents, langgraph-supervisor and langgraph-swarm, in an environment of their own
	.venv-peers/bin/python -m pytest -p no:cacheprovider tests/peers

.venv-peers/bin/python: tests/peers/requirements.txt pyproject.toml
	@echo "Creating .venv-peers (first run only) ..."
	@$(PYTHON) -m venv .venv-peers
	@.venv-peers/bin/python -m pip --disable-pip-version-check install --quiet --requirement tests/peers/requirements.txt --editable '.[agents]'
	@touch $@

mutation: .venv/mutation ## Change the code of rules/, nodes/ and retrieval/ in small ways and count which changes a test notices (an hour)
	rm -rf mutants
	$(BIN)/mutmut run
	$(BIN)/mutmut export-cicd-stats
	$(BIN)/python benchmarks/mutation_score.py mutants/mutmut-cicd-stats.json

chat: .venv/package ## Chat in the terminal with memory of earlier chats; MODEL=NAME chooses the chat model
	@$(MEMGRAPH) chat $(if $(MODEL),--model '$(MODEL)')

dev: .venv/dev ## Run the graphs and the HTTP API on a local LangGraph Server
	@echo "Server: http://127.0.0.1:$(PORT). Graphs: memory_update, memory_recall, memory_upkeep, lead_agent, research_team."
	@echo "  Learn:  curl -s http://127.0.0.1:$(PORT)/runs/wait -H 'Content-Type: application/json' -d '{\"assistant_id\": \"memory_update\", \"context\": {\"user_id\": \"ada\"}, \"input\": {\"messages\": [{\"role\": \"user\", \"content\": \"I live in Lisbon.\"}]}}'"
	@echo "  Recall: the same request with memory_recall. Show the memory: $(MEMGRAPH) show --user ada"
	@echo "  Studio: open https://smith.langchain.com/studio/?baseUrl=http://127.0.0.1:$(PORT) (needs a LangSmith account; your data stays on this machine)."
	@echo "  HTTP API: http://127.0.0.1:$(PORT)/memory/docs (needs MEMGRAPH_API_TOKEN). Settings: copy .env.example to .env."
	@echo "Press Ctrl-C to stop. (langgraph-cli[inmem] has the Elastic License 2.0: it is for development only and not a part of memgraph.)"
	@$(SERVER) $(BIN)/langgraph dev --no-browser --no-reload --host 127.0.0.1 --port $(PORT) --n-jobs-per-worker 10

notebook: .venv/package ## Open the notebooks
	$(PIP) --editable '.[agents,local,notebooks]'
	$(BIN)/jupyter lab notebooks

notebook-outputs: .venv/tests ## Run the notebooks and save their outputs
	$(BIN)/python notebooks/save_outputs.py

bench: .venv/tests ## Run the benchmarks and write benchmarks/RESULTS.md (30 minutes)
	sh tests/install_servers.sh
	$(BIN)/python benchmarks/all.py

bench-quick: .venv/tests ## Run the benchmarks with small sizes, as a smoke test (two minutes)
	sh tests/install_servers.sh
	$(BIN)/python benchmarks/all.py --quick

docs: .venv/docs ## Build the documentation into site/: a broken link or an undocumented name is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "Open site/index.html in a browser. With search: $(BIN)/mkdocs serve"

release-check: .venv/release ## Build into dist/, and use the wheel in an empty environment of each supported Python that is installed: the README, a new project
	@$(BIN)/python deploy/release_check.py

draw: .venv/package ## Print the update graph
	@$(BIN)/memgraph draw

clean:
	rm -rf .venv .venv-peers demo-memory dist site .langgraph_api mutants

.venv/package: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit(f"memgraph needs Python 3.11 or later; this is {sys.version.split()[0]}. Choose another one: make PYTHON=python3.12 ...")'
	@echo "Creating .venv (first run only) ..."
	@$(PYTHON) -m venv .venv
	@$(PIP) --upgrade pip
	@$(PIP) --editable .
	@touch $@

.venv/dev: .venv/package
	@echo "Installing the development server (first run only) ..."
	@$(PIP) --editable . --group dev
	@touch $@

.venv/docs: .venv/package
	@echo "Installing what builds the documentation (first run only) ..."
	@$(PIP) --editable . --group docs
	@touch $@

.venv/release: .venv/package
	@echo "Installing what builds a release (first run only) ..."
	@$(PIP) --group release
	@touch $@

.venv/tests: .venv/package
	@echo "Installing the test dependencies (first run only) ..."
	@$(PIP) --editable . --group test
	@touch $@

.venv/mutation: .venv/tests
	@$(PIP) --editable . --group mutation
	@touch $@
