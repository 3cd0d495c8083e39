# Everything is set up in .venv, by pip, at first use. Nothing but make and Python 3.11 or later is needed.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet --constraint constraints.txt
MEMGRAPH := $(BIN)/memgraph
DEMO := --storage demo-memory --model offline
PORT ?= 2024
# Nothing is sent anywhere, and checkpoints hold nothing but plain data.
SERVER := LANGSMITH_TRACING=false LANGGRAPH_CLI_NO_ANALYTICS=1 LANGGRAPH_NO_VERSION_CHECK=true LANGGRAPH_STRICT_MSGPACK=true

.PHONY: demo test mutation chat dev notebook bench bench-quick draw clean

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

mutation: .venv/mutation ## Change the code of rules/, nodes/ and retrieval/ in small ways and count which changes a test notices (an hour)
	rm -rf mutants
	$(BIN)/mutmut run
	$(BIN)/mutmut export-cicd-stats
	$(BIN)/python benchmarks/mutation_score.py mutants/mutmut-cicd-stats.json

chat: .venv/package ## Talk in the terminal, and be remembered the next time
	@$(MEMGRAPH) chat --user you

dev: .venv/dev ## Run the graphs and the HTTP API on LangGraph Server, on this machine only
	@echo "The server is at http://127.0.0.1:$(PORT). It has four graphs: memory_update, memory_recall, lead_agent and research_team."
	@echo "  Learn:  curl -s http://127.0.0.1:$(PORT)/runs/wait -H 'Content-Type: application/json' -d '{\"assistant_id\": \"memory_update\", \"context\": {\"user_id\": \"ada\"}, \"input\": {\"messages\": [{\"role\": \"user\", \"content\": \"I live in Lisbon.\"}]}}'"
	@echo "  Recall: the same with memory_recall. What is remembered: $(MEMGRAPH) show --user ada"
	@echo "  Studio: open https://smith.langchain.com/studio/?baseUrl=http://127.0.0.1:$(PORT) (it wants an account; the data stays here)."
	@echo "  HTTP API: http://127.0.0.1:$(PORT)/memory/docs, once MEMGRAPH_API_TOKEN is set. Settings: copy .env.example to .env."
	@echo "Stop it with Ctrl-C. (langgraph-cli[inmem] is under the Elastic License 2.0: it is for development, and no part of memgraph.)"
	@$(SERVER) $(BIN)/langgraph dev --no-browser --no-reload --host 127.0.0.1 --port $(PORT) --n-jobs-per-worker 10

notebook: .venv/package ## Open the notebooks
	$(PIP) --editable '.[agents,notebooks]'
	$(BIN)/jupyter lab notebooks

bench: .venv/tests ## Measure all that is claimed: benchmarks/RESULTS.md (20 minutes)
	sh tests/install_servers.sh
	$(BIN)/python benchmarks/all.py

bench-quick: .venv/tests ## The same with small sizes, to see that it runs (two minutes)
	sh tests/install_servers.sh
	$(BIN)/python benchmarks/all.py --quick

draw: .venv/package ## Print the graph
	@$(BIN)/memgraph draw

clean:
	rm -rf .venv demo-memory .langgraph_api mutants

.venv/package: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit(f"memgraph needs Python 3.11 or later; this is {sys.version.split()[0]}. Say which to use: make PYTHON=python3.12 ...")'
	@echo "Setting up .venv (once) ..."
	@$(PYTHON) -m venv .venv
	@$(PIP) --upgrade pip
	@$(PIP) --editable .
	@touch $@

.venv/dev: .venv/package
	@echo "Installing what the server needs (once) ..."
	@$(PIP) --editable . --group dev
	@touch $@

.venv/tests: .venv/package
	@echo "Installing what the tests need (once) ..."
	@$(PIP) --editable . --group test
	@touch $@

.venv/mutation: .venv/tests
	@$(PIP) --editable . --group mutation
	@touch $@
