"""A storage in which another writer interferes just before a save."""

from __future__ import annotations

from collections.abc import Callable

from memgraph import Fact, MemoryDocument, MemoryStorage, Scope, open_storage

Act = Callable[[MemoryStorage], object]


class MeddlingStorage(MemoryStorage):
    """Calls the next of *acts* before each save."""

    def __init__(self, *acts: Act) -> None:
        self.inner = open_storage("memory:")
        self.acts = list(acts)

    def load(self, scope: Scope) -> MemoryDocument:
        return self.inner.load(scope)

    def save(self, scope: Scope, memory: MemoryDocument) -> MemoryDocument:
        if self.acts:
            self.acts.pop(0)(self.inner)
        return self.inner.save(scope, memory)

    def delete(self, scope: Scope) -> MemoryDocument:
        return self.inner.delete(scope)


def adding(content: str) -> Act:
    """Return an act that adds a fact to ada's memory."""

    def act(storage: MemoryStorage) -> object:
        ada = Scope("ada")
        memory = storage.load(ada)
        return storage.save(ada, memory.with_facts((*memory.facts, Fact(content=content, confidence=0.9))))

    return act
