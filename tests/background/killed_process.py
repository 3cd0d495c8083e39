"""A nursery of processes to be killed: it has everything imported, and forks one for each life it is asked for.

    python killed_process.py < lives.json > ends.json

A life is `{"folder": ..., "kill_at": ..., "turns": [...]}`: the process submits each turn that was not acknowledged
before, runs what waits, and kills itself at *kill_at*, if that is not null. The lives of one line run
side by side, and a line is answered by the signals or exit codes they ended with.
"""

from __future__ import annotations

import functools
import json
import os
import secrets
import signal
import sys
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage

import memgraph.graph
from memgraph import BackgroundInvoker, Context, Policy, Scope, Settings, build_graph
from memgraph.background.sqlite_outbox import SqliteOutbox
from memgraph.prompts.update_prompt import read_turns
from memgraph.storage.file import FileStorage
from memgraph.testing import ScriptedModel, update_answer

ADA = Scope("ada")
SETTINGS = Settings(debounce_seconds=0, max_wait_seconds=0, lease_seconds=3)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def learn(prompt: Any) -> str:
    """One fact for each new turn; a turn that is learned twice makes two facts."""
    turns = read_turns(str(prompt[-1].content))
    return update_answer(*(f"{turn.text} #{secrets.token_hex(4)}" for turn in turns if turn.is_new))


class FragileOutbox(SqliteOutbox):
    """An outbox whose process dies at a place of it."""

    def __init__(self, path: str, kill_at: str | None) -> None:
        super().__init__(path)
        self.kill_at = kill_at
        self.puts = 0

    def _upsert_job(self, *given: Any) -> int:
        job_id = super()._upsert_job(*given)
        self.puts += 1
        if self.kill_at == "in submit" and self.puts == 2:
            die()
        return job_id

    def enqueue(self, *given: Any, **kwargs: Any) -> None:
        super().enqueue(*given, **kwargs)
        if self.kill_at == "after submit" and self.puts == 2:
            die()

    def complete(self, *given: Any, **kwargs: Any) -> bool:
        if self.kill_at == "between save and removal":
            die()
        removed = super().complete(*given, **kwargs)
        if self.kill_at == "after removal":
            die()
        return removed


class FragileStorage(FileStorage):
    """A storage whose process dies when a save is half done."""

    kill_at: str | None = None

    def _write(self, *given: Any) -> Any:
        if self.kill_at == "before the rename":
            Path.replace = lambda *_: die()  # type: ignore[method-assign,assignment]
        return super()._write(*given)


def dying(node: Any) -> Any:
    @functools.wraps(node)
    def call(*given: Any) -> Any:
        die()
        return node(*given)

    return call


def live(folder: str, kill_at: str | None, turns: list[str]) -> None:
    """One life: what it could submit is noted in the file `acknowledged`."""
    if hasattr(memgraph.graph, str(kill_at)):
        setattr(memgraph.graph, str(kill_at), dying(getattr(memgraph.graph, str(kill_at))))
    storage = FragileStorage(f"{folder}/memory")
    storage.kill_at = kill_at
    policy = Policy(max_facts=10_000)
    graph = build_graph(model=ScriptedModel(learn), storage=storage, policy=policy)
    outbox = FragileOutbox(f"{folder}/outbox.db", kill_at)
    ledger = Path(folder, "acknowledged")
    acknowledged = set(ledger.read_text().split()) if ledger.exists() else set[str]()
    with BackgroundInvoker(graph, outbox=outbox, settings=SETTINGS) as invoker, ledger.open("a") as noted:
        for turn in turns:
            if turn not in acknowledged:
                invoker.submit([HumanMessage(turn, id=turn)], ADA, "t1")
                noted.write(f"{turn}\n")
                noted.flush()
        if not invoker.flush(60):
            raise SystemExit(3)


def born(life: dict[str, Any]) -> int:
    """Fork a process that lives *life*; return its id."""
    child = os.fork()
    if child:
        return child
    code = 4
    try:
        live(**life)
        code = 0
    except SystemExit as exit_:
        code = int(exit_.code or 0)
    finally:
        os._exit(code)


def main() -> None:
    # what a first update loads, the children need not load again
    graph = build_graph(model=ScriptedModel(learn), storage="memory:")
    graph.invoke({"messages": [HumanMessage("warm", id="w")]}, context=Context(user_id="w"))
    for line in sys.stdin:
        children = [born(life) for life in json.loads(line)]
        ends = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
        sys.stdout.write(f"{json.dumps(ends)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
