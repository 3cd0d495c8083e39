"""Keep clients of a LangGraph Server out of the memories in the server's store."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from memgraph._validation import check_arguments
from memgraph.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langgraph_sdk import Auth
    from langgraph_sdk.auth.types import Handler

ROOT = "memgraph"
"""The first label of the namespaces of memories."""

ACTIONS = ("put", "get", "search", "delete", "list_namespaces")
BY_PREFIX = frozenset({"search", "list_namespaces"})
_API_MODULE = "langgraph_api.auth.custom"


@check_arguments
def protect_store(auth: Auth) -> None:
    """Keep clients out of the memories in the store of a LangGraph Server, for the file that `auth` names there.

    ```python
    from langgraph_sdk import Auth
    from memgraph import protect_store

    auth = Auth()
    protect_store(auth)
    ```

    Without it, every authenticated client reaches every item through the server's routes below /store. It refuses
    reading, writing, deleting, searching and listing memgraph's namespaces, also by a prefix that could contain them,
    such as the empty one. Everything else is decided as without it: by your rule `@auth.on.store` or `@auth.on`, which
    runs first and may change the namespace.

    Args:
        auth: The Auth object of that file.

    Raises:
        ValueError: If *auth* has a rule for a single action, such as `@auth.on.store.put`: make it `@auth.on.store`.
    """
    for action in ACTIONS:
        auth.on.store(actions=action)(_make_rule(auth, action))


def _make_rule(auth: Auth, action: str) -> Any:  # noqa: ANN401 - the overloads of the SDK accept no common type
    async def refuse_memories(*, ctx: Auth.types.AuthContext, value: dict[str, Any]) -> Auth.types.HandlerResult:
        from langgraph_sdk import Auth

        own = _own_rule(auth, action)
        result = await own(ctx=ctx, value=value) if own else None
        if result is not False and may_reach_memories(value.get("namespace") or (), is_prefix=action in BY_PREFIX):
            detail = f"clients have no access to the namespaces of {ROOT!r}: use the routes below /memory"
            raise Auth.exceptions.HTTPException(status_code=403, detail=detail)
        return result

    return refuse_memories


def _own_rule(auth: Auth, action: str) -> Handler | None:
    """Return the rule that the server would use without this one: it calls only the most specific."""
    handlers = auth._handlers  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - as LangGraph Server itself
    for key in (("store", "*"), ("*", action), ("*", "*")):
        if key in handlers:
            return handlers[key][-1]
    everywhere = auth._global_handlers  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    return everywhere[-1] if everywhere else None


def may_reach_memories(namespace: Sequence[str], *, is_prefix: bool) -> bool:
    """Return whether *namespace* is one of memgraph's or, as a prefix, may contain one in any store.

    Stores in SQL compare prefixes as text by LIKE, so that `m` and `mem_raph` match; namespaces may have `*`.
    """
    labels, root = ".".join(namespace).casefold(), f"{ROOT}."
    if not is_prefix:
        return f"{labels}.".startswith(root)
    for given, expected in zip(labels, root, strict=False):
        if given in "*%\\":
            return True
        if given not in ("_", expected):
            return False
    return True


def require_protection() -> None:
    """Refuse the store of a LangGraph Server with `auth` as storage if its clients reach the memories in it.

    Raises:
        ConfigError: If its auth file lacks the rule.
    """
    server = sys.modules.get(_API_MODULE)
    if server is None:  # no LangGraph Server
        return
    auth: Any = server.get_auth_instance()
    rules: dict[Any, list[Any]] = getattr(auth, "_handlers", {})
    if auth is not None and not all(_is_rule(rules.get(("store", action))) for action in ACTIONS):
        raise ConfigError(
            "every authenticated client of this server would read and write all memories in its store by the routes "
            "below /store: call memgraph.protect_store(auth) in the file that `auth` in langgraph.json names"
        )


def _is_rule(handlers: list[Any] | None) -> bool:
    return bool(handlers) and handlers[-1].__module__ == __name__
