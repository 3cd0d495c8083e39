"""`protect_store` keeps clients of a LangGraph Server out of the memories in its store, and keeps the user's rules."""

from __future__ import annotations

import asyncio
import sys
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from langgraph_sdk import Auth

from memgraph import ConfigError, open_storage, protect_store
from memgraph.storage.langgraph_auth import ACTIONS

MEMORIES = ("memgraph", "ada", "=shared")


def ask(auth: Auth, action: str, *namespace: str, user: str = "bob") -> Any:
    """Ask *auth* as the server does: the rule of the action, with the request that it may change."""
    value: dict[str, Any] = {"namespace": namespace}
    (rule,) = auth._handlers["store", action]
    return asyncio.run(rule(ctx=SimpleNamespace(user=SimpleNamespace(identity=user)), value=value)), value["namespace"]  # type: ignore[arg-type]


@pytest.fixture
def auth() -> Auth:
    auth = Auth()
    protect_store(auth)
    return auth


@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_is_refused(auth: Auth, action: str) -> None:
    with pytest.raises(Auth.exceptions.HTTPException):
        ask(auth, action, *MEMORIES)


@pytest.mark.parametrize("action", ["search", "list_namespaces"])
@pytest.mark.parametrize(
    "prefix", [(), ("m",), ("MEMGRAPH",), ("%",), ("*", "ada"), ("me_graph", "ada"), ("memgraph_ada",), ("me\\mgraph",)]
)
def test_a_prefix_that_may_contain_memories_is_refused(auth: Auth, action: str, prefix: tuple[str, ...]) -> None:
    """SQL stores compare prefixes by LIKE, some without case, and namespaces are listed by patterns with *."""
    with pytest.raises(Auth.exceptions.HTTPException):
        ask(auth, action, *prefix)


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("namespace", [("ada",), ("user_1", "memgraph"), ("memgraph2", "x"), ("mem", "graph")])
def test_other_namespaces_stay_open(auth: Auth, action: str, namespace: tuple[str, ...]) -> None:
    assert ask(auth, action, *namespace) == (None, namespace)


@pytest.mark.parametrize("is_first", [True, False])
def test_a_rule_of_the_user_decides_about_everything_else(auth: Auth, *, is_first: bool) -> None:
    """The server calls only the most specific rule, so one that denies all would no longer count."""
    own = Auth() if is_first else auth

    @own.on
    async def deny_all(ctx: Any, value: Any) -> bool:
        return False

    if is_first:
        protect_store(own)

    assert ask(own, "get", "ada", "notes")[0] is False


def test_the_namespace_counts_that_the_users_rule_chose(auth: Auth) -> None:
    """A rule that puts the user's name first makes any namespace harmless, unless the user is called memgraph."""

    @auth.on.store
    async def own_namespace(ctx: Any, value: Any) -> None:
        value["namespace"] = (ctx.user.identity, *value["namespace"])

    assert ask(auth, "put", *MEMORIES) == (None, ("bob", *MEMORIES))
    with pytest.raises(Auth.exceptions.HTTPException):
        ask(auth, "put", "ada", "=shared", user="memgraph")


def test_a_rule_for_one_action_is_an_error(auth: Auth) -> None:
    """It would replace the protection for that action."""

    async def own(ctx: Any, value: Any) -> None: ...

    with pytest.raises(ValueError, match="already set"):
        auth.on.store.put(own)


@pytest.mark.parametrize("protects", [True, False])
def test_a_server_with_users_and_without_the_rule_does_not_start(
    monkeypatch: pytest.MonkeyPatch, *, protects: bool
) -> None:
    """The server loads the auth file, and then the graphs, each with its storage."""
    auth = Auth()
    if protects:
        protect_store(auth)
    monkeypatch.setitem(sys.modules, "langgraph_api.auth.custom", SimpleNamespace(get_auth_instance=lambda: auth))  # type: ignore[arg-type]

    with nullcontext() if protects else pytest.raises(ConfigError, match=r"call memgraph\.protect_store\(auth\)"):
        open_storage("langgraph:")
