"""What holds for every test."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

# read when LangGraph is imported: checkpoints hold nothing but plain data, as on a careful server
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
# a model or a setting of the machine's own must not reach a test
PROVIDERS = ("OPENAI_", "ANTHROPIC_", "GOOGLE_", "GEMINI_", "MISTRAL_", "GROQ_", "DEEPSEEK_", "OLLAMA_")
for name in [name for name in os.environ if name.startswith((*PROVIDERS, "LANGSMITH_", "LANGCHAIN_"))]:
    del os.environ[name]
os.environ["MEMGRAPH_EMBEDDING"] = "none"  # a test that needs an embedding model names it

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # of a CI runner or `nohup`: a child would ignore it too
    signal.signal(signal.SIGINT, signal.default_int_handler)

import pytest  # noqa: E402 - after the environment is set
from hypothesis import settings  # noqa: E402

from memgraph import MemoryStorage, open_storage  # noqa: E402

# Timing belongs to benchmarks, and the machine may be busy. In CI the examples are the same every time, as
# Hypothesis does by default: a new one that fails is for local runs to find.
settings.register_profile("memgraph", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("memgraph")

sys.path.append(str(Path(__file__).parent))
pytest_plugins = ["postgres_server"]  # only from the topmost conftest


@pytest.fixture
def storage() -> MemoryStorage:
    return open_storage("memory:")


@pytest.fixture(autouse=True)
def _no_local_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `embedding: auto` choose words, as where the extra `local` is not installed."""
    monkeypatch.setattr("memgraph.retrieval.embedding_config.find_spec", lambda _: None)
