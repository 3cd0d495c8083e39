"""The tools with which a model creates, updates, deletes and searches memories."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, Optional, cast
from uuid import uuid4

from langchain_core.messages import HumanMessage, SystemMessage, convert_to_messages
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.tools import BaseTool, InjectedToolArg, StructuredTool
from langgraph.store.base import GetOp, PutOp, SearchItem, SearchOp
from pydantic import BaseModel, create_model

from memgraph.agents.messages import REVISION
from memgraph.agents.tool_changes import WAITS, messages_of
from memgraph.compat.langmem.namespace_store import Store, fill, open_store
from memgraph.errors import EditError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import ToolMessage

    from memgraph.settings import Settings

Action = Literal["create", "update", "delete"]
ACTIONS: tuple[Action, ...] = ("create", "update", "delete")
INSTRUCTIONS = (
    "Call it when the user states a preference or asks to remember something, when the work brings up context that "
    "later conversations need, and when a memory is wrong or outdated."
)

Runtime = Annotated[Any, InjectedToolArg]
"""A ToolRuntime, injected by an agent; None if a program calls the tool. Models do not see it."""


def create_manage_memory_tool(
    namespace: tuple[str, ...] | str,
    *,
    instructions: str = INSTRUCTIONS,
    schema: Any = str,
    actions_permitted: Sequence[Action] | None = ACTIONS,
    store: Store = None,
    name: str = "manage_memory",
    settings: Settings | None = None,
) -> BaseTool:
    """Make a tool that creates, updates and deletes memories.

    Args:
        namespace: Whose memory; `{name}` is filled from `configurable`.
        instructions: When the model should call it.
        schema: The type of a memory.
        actions_permitted: What the tool may do.
        store: A BaseStore, a storage or its URL; None is the store of the running graph.
        name: The name that the model sees.
        settings: The limits of the memory; None reads them as `load_settings` does.

    Raises:
        ConfigError: If the storage cannot be opened.
        ValueError: If no action is permitted.
    """
    if not actions_permitted:
        raise ValueError("actions_permitted is empty: permit at least one of create, update and delete")
    actions = tuple(actions_permitted)
    default = "create" if "create" in actions else actions[0]
    memories = open_store(store, settings)

    def manage_memory(
        content: Any = None, action: str = default, *, id: str | None = None, runtime: Runtime = None
    ) -> tuple[str, dict[str, int]]:
        _check(action, id, actions)
        where, key = fill(namespace), id or str(uuid4())
        messages, call_id = (None, "") if runtime is None else (messages_of(runtime.state), runtime.tool_call_id or "")
        own = memories.in_conversation(messages, call_id)
        value = content.model_dump(mode="json") if isinstance(content, BaseModel) else content
        try:
            own.batch([PutOp(where, key, None if action == "delete" else {"content": value})])
        except EditError as error:
            return f"Not {action}d: {error}", {}
        (store, facts), verb = own.open(where), "Deleted" if action == "delete" else f"{action}d"
        waits = action == "delete" and own.batch([GetOp(where, key)])[0]
        return WAITS if waits else f"{verb} memory {key}", {REVISION: store.document(facts).revision}

    tool = StructuredTool.from_function(
        manage_memory,
        name=name,
        description=f"{_verbs(actions)} a memory that is kept for later conversations. To update or delete one, pass "
        f"its id; a new one has none.\n{instructions}",
        response_format="content_and_artifact",
    )
    inferred = cast("type[BaseModel]", tool.args_schema)
    fields: dict[str, Any] = {"content": (Optional[schema], None), "action": (Literal[actions], default)}  # noqa: UP045
    tool.args_schema = create_model(inferred.__name__, __base__=inferred, **fields)
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
    memories = open_store(store, settings)

    def search_memory(query: str, *, limit: int = 10, offset: int = 0, filter: dict[str, Any] | None = None) -> Any:
        # by its operation, as above: a label may have a period, as user ids do
        items = cast("list[SearchItem]", memories.batch([SearchOp(fill(namespace), filter, limit, offset, query)])[0])
        items = [item for item in items if item.score is not None or not query.strip()]
        text = json.dumps(list(map(SearchItem.dict, items)), default=datetime.isoformat, ensure_ascii=False)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        return text if response_format == "content" else (text, items)

    return StructuredTool.from_function(
        search_memory,
        name=name,
        description=f"Search the memories of earlier conversations for what matters now. {instructions}".strip(),
        response_format=response_format,
    )


def create_memory_searcher(
    model: str | BaseChatModel,
    prompt: str = "Search for the memories that matter for the conversation, with one query for each subject.",
    *,
    namespace: tuple[str, ...] | str = ("memories", "{langgraph_user_id}"),
) -> Runnable[dict[str, Any], list[SearchItem]]:
    """Make a runnable that finds memories for `{"messages": [...]}` by queries that a model writes, the best first.

    Args:
        model: The model, or its name.
        prompt: Its system prompt.
        namespace: Whose memory; `{name}` is filled from `configurable`.
    """
    if isinstance(model, str):
        from langchain.chat_models import init_chat_model

        model = init_chat_model(model)
    tool = create_search_memory_tool(namespace, response_format="content_and_artifact")
    chat = model.bind_tools([tool], tool_choice=tool.name)

    def search(state: dict[str, Any]) -> list[SearchItem]:
        messages = convert_to_messages(state["messages"])
        asked = HumanMessage("Search for the memories that matter for this conversation.")
        reply = chat.invoke([SystemMessage(prompt), *messages, asked])
        answers = cast("list[ToolMessage]", tool.batch([dict(call) for call in reply.tool_calls]))
        found: dict[str, SearchItem] = {item.key: item for answer in answers for item in answer.artifact}
        return sorted(found.values(), key=lambda item: item.score or 0, reverse=True)

    return RunnableLambda(search)


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
