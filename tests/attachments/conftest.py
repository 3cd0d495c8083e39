"""Makes attachment_fakes importable, and lets no embedding model wait for another attempt."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

from embedding_fakes import Clock


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of embedding models, whose pauses take no time."""
    clock = Clock()
    monkeypatch.setattr("memgraph.retrieval.embeddings.time", clock)
    monkeypatch.setattr("tenacity.nap.time", clock)
    return clock
