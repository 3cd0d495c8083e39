"""HostSession: the operations behind a memory manager of another project, which a person or a model calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from memgraph.agents.tool_changes import WAITS, SavedChange, ToolCaller, ToolResult
from memgraph.config import load_settings
from memgraph.errors import EditError
from memgraph.models import UNKNOWN_THREAD, MemoryDocument
from memgraph.opened import OpenMemory
from memgraph.operations import Operations

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from memgraph.background.execution import OnStart


def open_memory(
    config: Mapping[str, object],
    make_model: Callable[[], BaseChatModel | None] = lambda: None,
    on_start: OnStart | None = None,
) -> OpenMemory:
    """Open the memory that the settings *config* of a host describe.

    Args:
        config: Settings by name. Without a `storage_class`, the memories are files in `memgraph` below `storage_path`,
            and so are the queue and the backups.
        make_model: Makes the model that learns if the settings name none; None is the default of the settings.
        on_start: See `BackgroundInvoker`.

    Raises:
        ConfigError: If a setting is unknown or invalid.
    """
    values = dict(config)
    root = values.get("storage_path")
    if values.get("storage_class"):
        # a class that cannot be loaded must not open the files of the host's own memory instead
        values = {"storage_fallback": False, **values}
    elif isinstance(root, str):
        folder = Path(root) / "memgraph"
        places = {"outbox": f"sqlite:{folder / 'outbox.db'}", "api_backups": str(folder / "backups")}
        values = {**places, **values, "storage_path": str(folder)}
    settings = load_settings(None, **values)
    model = None if settings.model_name else make_model()
    return OpenMemory(settings=settings, model=model, on_start=on_start)


class HostSession(Operations):
    """The operations for one call. What a model changes keeps the id that the caller knows."""

    def _caller(self, quote: str, thread_id: str | None) -> ToolCaller:
        """A model whose conversation is not known here, so that its facts cannot be compared with it."""
        del quote, thread_id
        policy = self._policy.model_copy(update={"grounding": "off"})
        return ToolCaller((), "", UNKNOWN_THREAD, (), policy, self.settings.review)

    def _made(self, before: MemoryDocument, result: ToolResult, fact_id: str | None) -> ToolResult:
        return result if fact_id is None else result._replace(memory=_with_same_id(before, result.memory, fact_id))


def require_applied(saved: SavedChange) -> SavedChange:
    """Return *saved* if it was applied: a caller must not take what is pending for done.

    Raises:
        EditError: If it is pending.
    """
    if saved.text == WAITS:
        raise EditError(WAITS)
    return saved


def _with_same_id(before: MemoryDocument, after: MemoryDocument, fact_id: str) -> MemoryDocument:
    """Return *after* with the id of a replaced fact at the fact that replaced it, and the new id at the past one.

    Raises:
        EditError: If another fact states the new content already.
    """
    if after.fact(fact_id) or not after.past_fact(fact_id):
        return after
    new_id = next((fact.id for fact in after.facts if before.fact(fact.id) is None), None)
    if new_id is None:
        raise EditError("another fact states this already; delete one of them instead")
    swapped = {fact_id: new_id, new_id: fact_id}
    facts = (fact.model_copy(update={"id": swapped.get(fact.id, fact.id)}) for fact in after.facts)
    past = (
        fact.model_copy(
            update={"id": swapped.get(fact.id, fact.id), "ended_by": swapped.get(fact.ended_by, fact.ended_by)}
        )
        for fact in after.past
    )
    return after.model_copy(update={"facts": tuple(facts), "past": tuple(past)})
