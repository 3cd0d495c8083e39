"""Forks processes that kill themselves; forking saves each of them the imports.

    python killed_process.py < processes.json > exit_codes.json

Each line of input is a list of `{"folder": ..., "kill_at": ..., "turns": [...]}`. A process submits the turns that were
not acknowledged before, runs all jobs, and kills itself at *kill_at*, unless that is null. If *turns* is null, it runs
an upkeep. The processes of one line run at the same time, and the line of output has their exit codes or signals.
"""

from __future__ import annotations

import functools
import json
import os
import secrets
import signal
import sys
from io import FileIO
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage

import memgraph.update.graph
import memgraph.update.upkeep
from memgraph import (
    BackgroundInvoker,
    Context,
    Fact,
    MemoryDocument,
    Policy,
    Scope,
    Settings,
    build_graph,
    build_upkeep_graph,
)
from memgraph._sql import driver_of
from memgraph.background.sql_outbox import SqliteOutbox
from memgraph.prompts.update_prompt import read_turns
from memgraph.storage import atomic_file, json_lines
from memgraph.storage.file import FileStorage
from memgraph.testing import ScriptedModel, update_answer

ADA = Scope("ada")
SETTINGS = Settings(debounce_seconds=0, max_wait_seconds=0, lease_seconds=3)


TWICE = (Fact(id="a", content="Has 2 cats.", confidence=0.9), Fact(id="b", content="has 2  cats.", confidence=0.9))
MERGE = '{"merge": [{"ids": ["a", "b"], "content": "Has 2 cats."}], "end": []}'


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def learn(prompt: Any) -> str:
    """One fact for each new turn; a turn that is learned twice makes two facts."""
    turns = read_turns(str(prompt[-1].content))
    return update_answer(*(f"{turn.text} #{secrets.token_hex(4)}" for turn in turns if turn.is_new))


def die_before_submission(statement: str) -> None:
    """Die inside the transaction, between the changes of the job and of its submissions."""
    if statement.startswith("INSERT INTO submission"):
        die()


class FragileOutbox(SqliteOutbox):
    """An outbox whose process dies at one of its steps."""

    def __init__(self, path: str, kill_at: str | None) -> None:
        super().__init__(path)
        self.kill_at = kill_at
        self.submissions = 0

    def enqueue(self, *args: Any, **kwargs: Any) -> None:
        self.submissions += 1
        if self.kill_at == "in submit" and self.submissions == 2:
            self._database.run(lambda db: driver_of(db.connection).set_trace_callback(die_before_submission))
        super().enqueue(*args, **kwargs)
        if self.kill_at == "after submit" and self.submissions == 2:
            die()

    def complete(self, *args: Any, **kwargs: Any) -> bool:
        if self.kill_at == "between save and removal":
            die()
        removed = super().complete(*args, **kwargs)
        if self.kill_at == "after removal":
            die()
        return removed


def write_half(file: FileIO, data: bytes) -> None:
    """Leave a torn line in the file, and die."""
    file.write(data[: len(data) // 2])
    die()


class FragileStorage(FileStorage):
    """A storage whose process dies in the middle of an append or of a save."""

    kill_at: str | None = None

    def append_episodes(self, *args: Any, **kwargs: Any) -> None:
        if self.kill_at == "in the append":
            atomic_file.write_all = write_half  # type: ignore[assignment]
        super().append_episodes(*args, **kwargs)
        if self.kill_at == "between append and save":
            die()

    def save_with_episodes(self, *args: Any, **kwargs: Any) -> Any:
        if self.kill_at == "before the revision":
            json_lines.append_revision = lambda *_: die()  # type: ignore[assignment]
        if self.kill_at == "in the revision":
            atomic_file.write_all = write_half  # type: ignore[assignment]
        if self.kill_at == "before the rename":
            Path.replace = lambda *_: die()  # type: ignore[method-assign,assignment]
        return super().save_with_episodes(*args, **kwargs)


def dying(node: Any) -> Any:
    @functools.wraps(node)
    def call(*args: Any) -> Any:
        die()
        return node(*args)

    return call


def run(folder: str, kill_at: str | None, turns: list[str]) -> None:
    """Submit and learn; the file `acknowledged` lists the turns whose submission returned."""
    if hasattr(memgraph.update.graph, str(kill_at)):
        setattr(memgraph.update.graph, str(kill_at), dying(getattr(memgraph.update.graph, str(kill_at))))
    storage = FragileStorage(f"{folder}/memory")
    storage.kill_at = kill_at
    policy = Policy(max_facts=10_000, grounding="off")
    graph = build_graph(model=ScriptedModel(learn), storage=storage, policy=policy)
    outbox = FragileOutbox(f"{folder}/outbox.db", kill_at)
    acknowledged_file = Path(folder, "acknowledged")
    acknowledged = set(acknowledged_file.read_text().split()) if acknowledged_file.exists() else set[str]()
    with BackgroundInvoker(graph, outbox=outbox, settings=SETTINGS) as invoker, acknowledged_file.open("a") as log:
        for turn in turns:
            if turn not in acknowledged:
                invoker.submit([HumanMessage(turn, id=turn)], ADA, "t1")
                log.write(f"{turn}\n")
                log.flush()
        if not invoker.flush(240):
            raise SystemExit(3)


def run_upkeep(folder: str, kill_at: str | None) -> None:
    """Merge two facts, which are saved first if there is no memory."""
    storage = FragileStorage(f"{folder}/memory")
    if storage.load(ADA).is_empty:
        storage.save(ADA, MemoryDocument(facts=TWICE))
    storage.kill_at = kill_at
    for module in (memgraph.update.graph, memgraph.update.upkeep):
        if hasattr(module, str(kill_at)):
            setattr(module, str(kill_at), dying(getattr(module, str(kill_at))))
    graph = build_upkeep_graph(model=ScriptedModel(lambda _: MERGE), storage=storage)
    graph.invoke({}, context=Context(user_id=ADA.user_id))


def fork(arguments: dict[str, Any]) -> int:
    """Fork a process that calls `run`, and return its id."""
    child = os.fork()
    if child:
        return child
    code = 4
    try:
        if arguments["turns"] is None:
            run_upkeep(arguments["folder"], arguments["kill_at"])
        else:
            run(**arguments)
        code = 0
    except SystemExit as exit_:
        code = int(exit_.code or 0)
    finally:
        os._exit(code)


def main() -> None:
    # import here what the first update imports, so that the children need not
    graph = build_graph(model=ScriptedModel(learn), storage="memory:")
    graph.invoke({"messages": [HumanMessage("warm", id="w")]}, context=Context(user_id="w"))
    for line in sys.stdin:
        children = [fork(arguments) for arguments in json.loads(line)]
        exit_codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        sys.stdout.write(f"{json.dumps(exit_codes)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
