"""A wrong call from Python is answered by an error of memgraph: what is wrong, and what is meant."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from numpy import float32, int64

from memgraph import (
    BackgroundInvoker,
    ConfigError,
    Fact,
    IdentityError,
    MemgraphError,
    Memory,
    MemoryClient,
    MemoryDocument,
    MemoryMiddleware,
    Policy,
    Scope,
    Settings,
    build_graph,
    build_recall_graph,
    build_upkeep_graph,
    create_app,
    load_settings,
    make_context,
    memory_tools,
    open_storage,
    rank_facts,
    recall,
)


@pytest.fixture
def client() -> Iterator[Any]:
    """A client, without the types that would refuse the calls before they run."""
    with MemoryClient("memory:", user_id="ada", settings=Settings(model_name="offline", outbox="memory:")) as client:
        yield client


def wrong(value: object) -> Any:
    """Hide the type of *value*, as code without types does."""
    return value


CALLS: dict[str, tuple[Callable[[Any], object], str]] = {
    "user": (lambda client: client.facts(user_id=3), "user_id is 3, but must be a text"),
    "query": (lambda client: client.search(None), "query is None, but must be a text"),
    "limit": (lambda client: client.search("tea", limit="many"), "limit is 'many', but must be a whole number"),
    "negative limit": (lambda client: client.search("tea", limit=-3), "limit is -3, but must be 1 or more"),
    "question": (lambda client: client.context(None), "messages is None, but must be a text or a list of messages"),
    "budget": (lambda client: client.context("Tea?", max_tokens="few"), "max_tokens is 'few'"),
    "message": (lambda client: client.context([1]), "1 is not a message"),
    "role": (lambda client: client.context([{"role": "alien", "content": "Hi"}]), "'alien', 'content': 'Hi'} is not a"),
    "messages": (lambda client: client.add(5), "messages[0] is not a message"),
    "thread": (lambda client: client.add("I live in Rome.", thread_id=5), "thread_id is 5, but must be a text"),
    "content": (lambda client: client.remember(5), "content is 5, but must be a text"),
    "confidence": (lambda client: client.remember("Likes figs.", confidence="high"), "but must be a number"),
    "fact": (lambda client: client.delete(None), "fact_id is None, but must be a text"),
    "date": (lambda client: client.get(as_of=2026), "as_of is 2026, but must be a text"),
    "revision": (lambda client: client.undo("last"), "revision is 'last', but must be a whole number"),
    "verdict": (lambda its: its.decide("change_1", "yes"), "verdict is 'yes', but must be accept or always or reject"),
    "scope": (lambda client: client.storage.load("ada"), "scope is 'ada', but must be a Scope, such as Scope('ada')"),
    "document": (lambda client: client.import_document("tea"), "not a memory document"),
    "mapping": (lambda its: its.import_document({"a": 1}), "the document is {'a': 1}, but must be a MemoryDocument"),
    "no text": (lambda client: client.add([("user", None)]), "messages[0] is not a message: Input should be a valid"),
    "result of no call": (lambda client: client.context([{"role": "tool", "content": "x"}]), "it has no tool_call_id"),
    "no budget": (lambda client: client.context("Tea?", max_tokens=0), "max_tokens is 0, but must be 1 or more"),
    "deleted scope": (lambda client: client.storage.delete("ada"), "scope is 'ada', but must be a Scope"),
    "scope of a history": (lambda client: client.storage.revisions("ada"), "scope is 'ada', but must be a Scope"),
    "user of a scope": (lambda _: Scope(wrong(5)), "user_id is 5, but must be a text"),
    "storage of a graph": (lambda _: build_graph(storage=wrong(Path("x.db"))), "did you mean 'sqlite:x.db'?"),
    "storage of recall": (lambda _: build_recall_graph(storage=wrong(5)), "storage is 5, but must be a URL"),
    "settings of tools": (lambda _: memory_tools(settings=wrong(5)), "settings is 5, but must be Settings"),
    "invoker": (lambda _: MemoryMiddleware(invoker=wrong("x")), "invoker is 'x', but must be an invoker, such as"),
    "outbox": (lambda _: BackgroundInvoker(outbox=wrong(Path("o.db"))), "must be a URL such as sqlite:FILE, the path"),
    "graph": (lambda _: BackgroundInvoker(wrong("memory:")), "graph is 'memory:', but must be a graph that"),
    "settings of an invoker": (lambda _: BackgroundInvoker(settings=wrong({})), "settings is {}, but must be Settings"),
    "memory": (lambda _: recall(wrong(None)), "memory is None, but must be a MemoryDocument"),
    "facts": (lambda _: rank_facts(wrong("tea"), "tea"), "facts is 'tea', but must be a list"),
    "a fact": (lambda _: rank_facts(wrong(["tea"]), "tea"), "facts is ['tea'], but must be a list"),
    "ranked by": (lambda _: rank_facts([], wrong(5)), "query is 5, but must be a text or a Query"),
    "settings of a context": (lambda _: make_context(wrong(5)), "settings is 5, but must be Settings, such as"),
    "settings of an app": (lambda _: create_app(wrong(5)), "settings is 5, but must be Settings, such as"),
    "hosts": (lambda _: create_app(Settings(), hosts=wrong("localhost")), "hosts is 'localhost', but must be a list"),
    "file": (lambda _: load_settings(wrong(5)), "path is 5, but must be a text"),
    "schema": (lambda client: client.profile(5), "schema is 5, but must be a class"),
    "day": (lambda client: client.get().as_of(2026), "date is 2026, but must be a text"),
    "defaults": (lambda _: build_graph(defaults=wrong(5)), "defaults is 5, but must be a Context"),
    "output": (lambda _: build_graph(output=wrong("all")), "output is 'all', but must be result or stages"),
    "pipeline": (lambda _: build_recall_graph(pipeline=wrong("x")), "pipeline is 'x', but must be a RecallPipeline"),
    "seconds": (lambda _: MemoryMiddleware(wait_seconds=wrong("x")), "wait_seconds is 'x', but must be a number"),
    "placement": (lambda _: MemoryMiddleware(placement=wrong("middle")), "placement is 'middle', but must be split or"),
    "time": (lambda _: BackgroundInvoker(outbox="memory:").flush(wrong("soon")), "timeout is 'soon', but must be a"),
    "forgotten": (lambda _: BackgroundInvoker(outbox="memory:").forget(wrong("ada")), "scope is 'ada', but must be a"),
    "retried": (lambda _: BackgroundInvoker(outbox="memory:").retry(wrong("ada")), "scope is 'ada', but must be a"),
}


@pytest.mark.parametrize("call", CALLS)
def test_a_wrong_argument_is_named_with_what_it_must_be(client: Any, call: str) -> None:
    function, sentence = CALLS[call]

    with pytest.raises(MemgraphError) as raised:
        function(client)

    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)
    assert client.storage.load(Scope("ada")).revision == 0


def test_a_user_of_another_type_is_refused_by_every_operation() -> None:
    with MemoryClient("memory:", user_id=5, settings=Settings(outbox="memory:")) as client:  # type: ignore[arg-type]
        for operation in (client.facts, client.episodes, lambda: client.add("I like tea.")):
            with pytest.raises(IdentityError, match="user_id is 5, but must be a text"):
                operation()


def test_an_agent_of_another_type_is_refused() -> None:
    for name in (5, 0):
        options: Any = {"user_id": "ada", "agent_name": name}
        with MemoryClient("memory:", **options) as client, pytest.raises(IdentityError, match=f"agent_name is {name},"):
            client.facts()


def test_settings_of_another_type_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"settings is \{'max_facts': 5\}, but must be Settings"):
        Memory("memory:", settings={"max_facts": 5})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("path", "meant"), [(Path("memory.db"), "'sqlite:memory.db'"), (Path("memories"), "'file:memories'")]
)
def test_a_path_as_storage_is_answered_by_the_url_that_is_meant(path: Any, meant: str) -> None:
    with pytest.raises(ConfigError, match=f"did you mean {meant}"):
        open_storage(path)


@pytest.mark.parametrize("kind", [Settings, Policy])
def test_a_misspelt_setting_is_answered_by_the_nearest_one(kind: Any) -> None:
    with pytest.raises(ConfigError, match=rf"{kind.__name__}\.max_fact is unknown; did you mean max_facts\?"):
        kind(max_fact=3)


def test_a_misspelt_variable_is_logged(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Others with the prefix may be those of the Memgraph database."""
    monkeypatch.setenv("MEMGRAPH_MODLE_NAME", "offline")
    monkeypatch.setenv("MEMGRAPH_BOLT_PORT", "7687")

    load_settings()

    assert [record.getMessage() for record in caplog.records] == [
        "MEMGRAPH_MODLE_NAME is unknown; did you mean model_name?"
    ]


@pytest.mark.parametrize(("package", "extra"), [("fastapi", "api"), ("langchain", "agents")])
def test_a_missing_package_is_answered_by_the_extra_that_has_it(package: str, extra: str) -> None:
    code = f"import sys; sys.modules[{package!r}] = None; from memgraph import *"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert f"pip install 'langgraph-memgraph[{extra}]'" in done.stderr.splitlines()[-1]


def test_right_arguments_of_an_unusual_form_are_accepted() -> None:
    """Literals, numbers of NumPy, what LangGraph takes, and tuples as messages."""
    memory = MemoryDocument(facts=(Fact(content="Likes tea."),))
    with Memory("memory:", settings=Settings(model_name="offline", outbox="memory:")) as opened:
        for placement in ("split", "system"):
            opened.middleware(placement=placement)
    build_graph(storage="memory:", checkpointer=False)
    build_upkeep_graph(model="offline", storage="memory:", review_by="interrupt")

    assert "Likes tea." in recall(memory, (("user", "tea"),), max_tokens=int64(500), confidence_weight=float32(0.1))
