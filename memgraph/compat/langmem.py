"""LangMem's two tools by name, over memgraph's memory and with its rules.

The contract is that of langmem 0.0.30 (its module `langmem.knowledge.tools`): names, arguments, answers, errors, and
namespaces whose `{placeholders}` are filled from `configurable`. What is different:

- A namespace is one user's memory, the one that `MemoryMiddleware` and everything else use: the user is its parts
  except "memories", joined by "/". So `("memories", "{langgraph_user_id}")` is the memory of that user.
- A memory is a text: `schema` is `str`. Its id is that of a fact. An update supersedes the fact: what was known stays
  in the past of the memory, and the answer has the id of the new fact.
- The rules of an update apply. In an agent a memory has to rest on the user's words in the conversation; a change that
  is refused, or waits for a review, is answered by a text with the reason. A fact that a person wrote is not changed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from langchain_core.tools import BaseTool, InjectedToolArg, StructuredTool
from langgraph.store.base import BaseStore, SearchItem
from pydantic import BaseModel, create_model

from memgraph.compat.namespaced_memory import Action, NamespacedMemory
from memgraph.errors import ConfigError
from memgraph.storage import MemoryStorage

if TYPE_CHECKING:
    from memgraph.settings import Settings

ACTIONS: tuple[Action, ...] = ("create", "update", "delete")
INSTRUCTIONS = (
    "Call it when the user states a preference or asks to remember something, when the work brings up context that "
    "later conversations need, and when a memory is wrong or outdated."
)

Runtime = Annotated[Any, InjectedToolArg]
"""A ToolRuntime, injected by an agent; None if a program calls the tool. Models do not see it."""
Store = str | MemoryStorage | BaseStore | None


def create_manage_memory_tool(
    namespace: tuple[str, ...] | str,
    *,
    instructions: str = INSTRUCTIONS,
    schema: type = str,
    actions_permitted: Sequence[Action] | None = ACTIONS,
    store: Store = None,
    name: str = "manage_memory",
    settings: Settings | None = None,
) -> BaseTool:
    """Make a tool that creates, updates and deletes memories.

    Args:
        namespace: Whose memory; `{name}` is filled from `configurable`.
        instructions: When the model should call it.
        schema: The type of a memory: `str`.
        actions_permitted: What the tool may do.
        store: A BaseStore, a storage or its URL; None is the store of the running graph.
        name: The name that the model sees.
        settings: The limits of the memory; None reads them as `load_settings` does.

    Raises:
        ConfigError: If *schema* is not `str`, or the storage cannot be opened.
        ValueError: If no action is permitted.
    """
    if not actions_permitted:
        raise ValueError("actions_permitted is empty: permit at least one of create, update and delete")
    if schema is not str:
        raise ConfigError("schema: a memory of memgraph is a text: use str")
    actions = tuple(actions_permitted)
    default = "create" if "create" in actions else actions[0]
    memory = NamespacedMemory(namespace, store, settings)

    def manage_memory(
        content: str | None = None,
        action: str = default,
        *,
        id: str | None = None,  # noqa: A002 - LangMem's name
        runtime: Runtime = None,
    ) -> tuple[str, dict[str, int]]:
        _check(action, id, actions)
        return memory.change(cast("Action", action), content, id or "", runtime)

    tool = StructuredTool.from_function(
        manage_memory,
        name=name,
        description=f"{_verbs(actions)} a memory that is kept for later conversations. To update or delete one, pass "
        f"its id; a new one has none.\n{instructions}",
        response_format="content_and_artifact",
    )
    inferred = cast("type[BaseModel]", tool.args_schema)
    permitted: Any = (Literal[actions], default)
    tool.args_schema = create_model(inferred.__name__, __base__=inferred, action=permitted)
    return tool


def create_search_memory_tool(
    namespace: tuple[str, ...] | str,
    *,
    instructions: str = "",
    store: Store = None,
    response_format: Literal["content", "content_and_artifact"] = "content",
    name: str = "search_memory",
    settings: Settings | None = None,
) -> BaseTool:
    """Make a tool that searches memories. It answers with a JSON list of items, the best first.

    Args:
        namespace: Whose memory; `{name}` is filled from `configurable`.
        instructions: When the model should call it.
        store: As in `create_manage_memory_tool`.
        response_format: With `content_and_artifact`, the artifact is the list of `SearchItem`.
        name: The name that the model sees.
        settings: The limits of the memory; None reads them as `load_settings` does.

    Raises:
        ConfigError: If the storage cannot be opened.
    """
    memory = NamespacedMemory(namespace, store, settings)

    def search_memory(
        query: str,
        *,
        limit: int = 10,
        offset: int = 0,
        filter: dict[str, Any] | None = None,  # noqa: A002 - as above
    ) -> Any:  # noqa: ANN401 - a text, or a text and its artifact
        items = memory.search(query, filter or {})[offset : offset + limit]
        text = json.dumps(list(map(SearchItem.dict, items)), default=datetime.isoformat, ensure_ascii=False)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        return text if response_format == "content" else (text, items)

    return StructuredTool.from_function(
        search_memory,
        name=name,
        description=f"Search the memories of earlier conversations for what matters now. {instructions}".strip(),
        response_format=response_format,
    )


def _check(action: str, fact_id: str | None, actions: Sequence[str]) -> None:
    if action not in actions:
        raise ValueError(f"invalid action {action!r}: it is one of {', '.join(actions)}")
    if action == "create" and fact_id is not None:
        raise ValueError("a new memory has no id yet: omit it")
    if action != "create" and not fact_id:
        raise ValueError(f"to {action} a memory, pass its id")


def _verbs(actions: Sequence[str]) -> str:
    *others, last = actions
    return f"{', '.join(others)} or {last}".capitalize() if others else last.capitalize()
