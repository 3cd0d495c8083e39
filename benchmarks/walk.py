"""How far a reader has to walk: files entered, and changes of file, along the three main paths.

    python benchmarks/walk.py

Counted over calls of memgraph's own functions, in the order in which they happen: each file that a call enters, and
each call into another file than the one before. Comprehensions and lambdas are part of the function around them. Each
path runs once for another user before it is counted, so that imports do not count. With --show, the paths themselves.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from datasets import some_facts
from langchain_core.messages import AIMessage, HumanMessage

import memgraph
from memgraph import BackgroundInvoker, Context, MemoryDocument, Scope, build_graph, open_storage
from memgraph.recall_graph import build_recall_graph
from memgraph.testing import ScriptedModel, update_answer

PACKAGE = str(Path(memgraph.__file__).parent) + "/"
CONVERSATION = [HumanMessage("My name is Ada, and I prefer tea to coffee."), AIMessage("Nice to meet you, Ada.")]
MODEL = ScriptedModel(update_answer({"content": "Prefers tea to coffee.", "quote": "I prefer tea to coffee"}))


@dataclass
class Walk:
    """The files that calls entered, in order, without repetitions."""

    path: list[str] = field(default_factory=list[str])

    @property
    def files(self) -> int:
        return len(set(self.path))

    @property
    def changes(self) -> int:
        return max(0, len(self.path) - 1)

    def enter(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or code.co_name.startswith("<") or not code.co_filename.startswith(PACKAGE):
            return
        file = code.co_filename.removeprefix(PACKAGE)
        if not self.path or self.path[-1] != file:
            self.path.append(file)


@contextmanager
def watched() -> Iterator[Walk]:
    """Count the calls made inside, on this thread and on those that start meanwhile."""
    walk = Walk()
    threading.setprofile(walk.enter)
    sys.setprofile(walk.enter)
    try:
        yield walk
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # pyright: ignore[reportArgumentType] - None ends it


def messages_to_saved_document(folder: str) -> Walk:
    """The first conversation of a user through the update graph."""
    graph = build_graph(model=MODEL, storage=open_storage(f"file:{folder}"))
    graph.invoke({"messages": CONVERSATION}, context=Context(user_id="bob", thread_id="t"))
    with watched() as walk:
        graph.invoke({"messages": CONVERSATION}, context=Context(user_id="ada", thread_id="t"))
    return walk


def submit_to_learned(folder: str) -> Walk:
    """The first conversation of a user through the outbox and a background worker."""
    graph = build_graph(model=MODEL, storage=open_storage(f"file:{folder}"))
    with BackgroundInvoker(graph, outbox=f"sqlite:{folder}/outbox.db") as invoker:
        invoker.submit(CONVERSATION, Scope("bob"), "t")
        invoker.flush()
        with watched() as walk:
            invoker.submit(CONVERSATION, Scope("ada"), "t")
            invoker.flush()
    return walk


def question_to_prompt_text(folder: str) -> Walk:
    """The first question about a memory of 20 facts through the recall graph."""
    storage = open_storage(f"file:{folder}")
    for user in ("bob", "ada"):
        storage.save(Scope(user), MemoryDocument(facts=some_facts(20)))
    graph = build_recall_graph(storage=storage)
    question = [HumanMessage("Who is at the museum near the river?")]
    graph.invoke({"messages": question}, context=Context(user_id="bob"))
    with watched() as walk:
        graph.invoke({"messages": question}, context=Context(user_id="ada"))
    return walk


WALKS: dict[str, Callable[[str], Walk]] = {
    "messages -> saved document": messages_to_saved_document,
    "submit -> learned": submit_to_learned,
    "question -> prompt text": question_to_prompt_text,
}


def main() -> None:
    for name, take in WALKS.items():
        with tempfile.TemporaryDirectory() as folder:
            walk = take(folder)
        print(f"{name}: {walk.files} files entered, {walk.changes} changes of file")
        if "--show" in sys.argv:
            for file in walk.path:
                print("   ", file)


if __name__ == "__main__":
    main()
