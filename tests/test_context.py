"""Who is remembered, and with what: what a run says, else what the graph was built with."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest
from langgraph.runtime import Runtime, ServerInfo
from pydantic import ValidationError

from memgraph import Context, ModelSetupError, Policy, WrongStorageError, open_storage
from memgraph.context import Opened, Resolver
from memgraph.testing import ScriptedModel


class Caller(dict[str, Any]):
    """Whom the server knows to be calling."""

    def __init__(self, identity: str, *, is_authenticated: bool = True) -> None:
        super().__init__(identity=identity)
        self.identity = self.display_name = identity
        self.is_authenticated = is_authenticated
        self.permissions: list[str] = []


def resolved(
    context: object = None, *, caller: Caller | None = None, defaults: Context | None = None, **ids: str
) -> Any:
    """What a node would find."""
    server = ServerInfo(assistant_id="a", graph_id="g", user=caller) if caller else None
    runtime: Any = Runtime(context=context, server_info=server)  # type: ignore[type-var]
    return Resolver(defaults or Context())(runtime, {"configurable": ids})


def test_nobody_can_claim_to_be_another_than_the_server_knows() -> None:
    """Not in the context, and not in configurable."""
    assert resolved(Context(user_id="eve"), caller=Caller("ada"), user_id="eve").user_id == "ada"


def test_a_caller_who_is_not_authenticated_is_whom_the_context_says() -> None:
    """As on a development server."""
    caller = Caller("anonymous", is_authenticated=False)

    assert resolved(Context(user_id="ada"), caller=caller).user_id == "ada"


@pytest.mark.parametrize(
    "context",
    [
        Context(user_id="ada", agent_name="coder", thread_id="t1"),
        {"user_id": "ada", "agent_name": "coder", "thread_id": "t1"},
        SimpleNamespace(user_id="ada", agent_name="coder", thread_id="t1"),
    ],
)
def test_ids_are_found_in_a_context_of_any_type(context: object) -> None:
    """An attribute or a key."""
    found = resolved(context, user_id="other", thread_id="other")

    assert (found.user_id, found.agent_name, found.thread_id) == ("ada", "coder", "t1")


@pytest.mark.parametrize("context", [None, Context(user_id=""), {"user_id": ""}, SimpleNamespace(user_id="")])
def test_an_empty_id_counts_as_absent(context: object) -> None:
    """Then configurable says who."""
    assert resolved(context, user_id="ada").user_id == "ada"


def test_what_a_run_says_goes_before_what_the_graph_was_built_with() -> None:
    """Field by field."""
    ours, defaults = ScriptedModel("run"), ScriptedModel("graph")
    found = resolved(
        Context(model=ours), defaults=Context(model=defaults, policy=Policy(max_facts=50), storage="memory:")
    )

    assert found.model is ours
    assert found.policy.max_facts == 50


def test_model_storage_and_policy_are_never_taken_from_a_foreign_context() -> None:
    """A field that happens to have the name is not ours."""
    storage = open_storage("memory:")
    foreign = SimpleNamespace(user_id="ada", model="openai:gpt", storage="sqlite:x.db", policy="strict", prompt="x")

    found = resolved(foreign, defaults=Context(storage=storage))

    assert (found.storage, found.policy, found.prompt) == (storage, Policy(), None)


def test_a_string_is_opened_once_and_only_when_it_is_needed() -> None:
    """A pool a run would be one too many; a model that is never asked needs no key."""
    found = resolved(Context(model="openai", storage="memory:"))

    assert found.storage is found.storage
    with pytest.raises(ModelSetupError):
        _ = found.model


def test_the_cache_of_opened_objects_is_bounded() -> None:
    """A client may name as many as it likes."""
    opened: list[str] = []
    cache = Opened(lambda name: opened.append(name) or name.upper(), keep=2)

    for name in ("a", "b", "a", "c", "a", "b"):
        assert cache(name) == name.upper()

    assert opened == ["a", "b", "c", "b"]


def test_many_threads_open_one_object() -> None:
    """Nodes run in threads of their own."""
    opened: list[str] = []
    cache = Opened(lambda name: opened.append(name) or object())
    threads = [threading.Thread(target=cache, args=("a",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert opened == ["a"]


def test_another_storage_than_the_one_loaded_from_is_refused() -> None:
    """Both are named."""
    found = resolved(Context(storage=open_storage("memory:")))

    with pytest.raises(WrongStorageError, match="file:/elsewhere"):
        found.storage_named("file:/elsewhere")


@pytest.mark.parametrize("fields", [{"user": "ada"}, {"policy": {"max_facts": 5}}, {"structured_output": "xml"}])
def test_a_bad_context_says_what_is_wrong(fields: dict[str, Any]) -> None:
    """Before any node runs."""
    with pytest.raises(ValidationError):
        Context(**fields)


def test_the_context_has_a_form() -> None:
    """Clients draw it from the JSON schema: every field described, choices listed, objects as strings."""
    properties = Context.model_json_schema()["properties"]

    assert all("description" in field for field in properties.values())
    assert "json_schema" in str(properties["structured_output"])
    assert "string" in str(properties["model"])
