"""OpenedMemory: the storage, the queue and the rules of edits behind a memory manager of another project."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

from memgraph.agents.confirmation import ConfirmationRequiredError
from memgraph.agents.tool_changes import (
    WAITS,
    ToolCaller,
    ToolResult,
    add_tool_fact,
    delete_tool_fact,
    update_tool_fact,
)
from memgraph.background.background_invoker import BackgroundInvoker
from memgraph.config import load_settings, make_storage
from memgraph.editing import add_fact, edit_fact, remove_fact, remove_words, update_memory
from memgraph.errors import EditError
from memgraph.models import UNKNOWN_THREAD, ChangeOrigin, Fact, MemoryDocument, Scope
from memgraph.retrieval.recall import make_recall_pipeline

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from memgraph.background.execution import OnStart

EditedBy = Literal["person", "tool"]


class FactFields(TypedDict, total=False):
    """The fields of a fact that an edit changes; None keeps a field."""

    content: str | None
    category: str | None
    confidence: float | None


class OpenedMemory:
    """An open memory, and its edits by a person or by a model.

    Args:
        config: Settings by name. Without a `storage_class`, the memories are files in `memgraph` below `storage_path`,
            and so is the queue.
        make_model: Makes the model that learns if the settings name none; None is the default of the settings.
        edited_by: A person, whose facts are manual; or a tool: its facts are learned ones within the rules of an
            update, and manual facts are not changed.
        on_start: See `BackgroundInvoker`.

    Raises:
        ConfigError: If a setting is unknown or invalid.
    """

    def __init__(
        self,
        config: Mapping[str, object],
        make_model: Callable[[], BaseChatModel | None],
        edited_by: EditedBy,
        on_start: OnStart | None = None,
    ) -> None:
        values = dict(config)
        root = values.get("storage_path")
        if values.get("storage_class"):
            # a class that cannot be loaded must not open the files of the host's own memory instead
            values = {"storage_fallback": False, **values}
        elif isinstance(root, str):
            folder = Path(root) / "memgraph"
            values = {"outbox": f"sqlite:{folder / 'outbox.db'}", **values, "storage_path": str(folder)}
        self._edited_by: EditedBy = edited_by
        self.settings = load_settings(None, **values)
        self.storage = make_storage(self.settings)
        model = None if self.settings.model_name else make_model()
        self.invoker = BackgroundInvoker(settings=self.settings, storage=self.storage, model=model, on_start=on_start)
        self.recall = make_recall_pipeline(self.settings)

    def change(self, scope: Scope, change: Callable[[MemoryDocument], MemoryDocument]) -> MemoryDocument:
        """Save what *change* makes of the memory of *scope*.

        Raises:
            EditError: If it is refused.
        """
        try:
            origin = ChangeOrigin(by=self._edited_by)
            return update_memory(self.storage, scope, change, origin=origin, policy=self.settings.policy)
        except ConfirmationRequiredError as error:
            raise EditError("the user wrote this fact, and only the user may change it") from error

    def add(self, scope: Scope, content: str, category: str, confidence: float) -> tuple[MemoryDocument, str]:
        """Add a fact; return the memory, and the id of the fact, or of the known one that it confirmed."""
        before: list[MemoryDocument] = []

        def add(memory: MemoryDocument) -> MemoryDocument:
            before[:] = [memory]
            names = self.settings.policy.category_names
            return add_fact(memory, content, category=category, confidence=confidence, categories=names, by_person=True)

        def add_by_tool(memory: MemoryDocument) -> ToolResult:
            before[:] = [memory]
            return add_tool_fact(memory, self._caller, content, category=category, confidence=confidence, quote="")

        memory = self._change_by_tool(scope, add_by_tool) if self._edited_by == "tool" else self.change(scope, add)
        return memory, next(fact.id for fact in memory.facts if before[0].fact(fact.id) != fact)

    def edit(self, scope: Scope, fact_id: str, fields: FactFields) -> MemoryDocument:
        """Change a fact, which keeps its id; KeyError if there is none."""

        def edit(memory: MemoryDocument) -> MemoryDocument:
            _require(memory, fact_id)
            return edit_fact(memory, fact_id, **fields, categories=self.settings.policy.category_names, by_person=True)

        def edit_by_tool(memory: MemoryDocument) -> ToolResult:
            _require(memory, fact_id)
            result = update_tool_fact(memory, self._caller, fact_id, None, **fields)
            return result._replace(memory=_with_same_id(memory, result.memory, fact_id))

        return self._change_by_tool(scope, edit_by_tool) if self._edited_by == "tool" else self.change(scope, edit)

    def remove(self, scope: Scope, fact_id: str) -> MemoryDocument:
        """Remove a fact, and the words of the user that only it rests on; KeyError if there is none."""
        fact = _require(self.storage.load(scope), fact_id)

        def remove(memory: MemoryDocument) -> MemoryDocument:
            _require(memory, fact_id)
            return remove_fact(memory, fact_id)

        def remove_by_tool(memory: MemoryDocument) -> ToolResult:
            _require(memory, fact_id)
            return delete_tool_fact(memory, self._caller, fact_id, None)

        is_tool = self._edited_by == "tool"
        memory = self._change_by_tool(scope, remove_by_tool) if is_tool else self.change(scope, remove)
        remove_words(self.storage, scope, memory, fact)
        return memory

    def close(self) -> None:
        """Close what was opened. What still waits is learned after the next start."""
        self.invoker.close()
        self.storage.close()

    def _change_by_tool(self, scope: Scope, change: Callable[[MemoryDocument], ToolResult]) -> MemoryDocument:
        """Save a change that a model asks for.

        Raises:
            EditError: If it is refused, or is pending now: the caller must not take it for done.
        """
        results: list[ToolResult] = []

        def apply(memory: MemoryDocument) -> MemoryDocument:
            results[:] = [change(memory)]
            return results[0].memory

        memory = self.change(scope, apply)
        if results[0].text == WAITS:
            raise EditError(WAITS)
        return memory

    @property
    def _caller(self) -> ToolCaller:
        """A model whose conversation is not known here, so that its facts cannot be compared with it."""
        policy = self.settings.policy.model_copy(update={"grounding": "off"})
        return ToolCaller((), "", UNKNOWN_THREAD, (), policy, self.settings.review)


def _require(memory: MemoryDocument, fact_id: str) -> Fact:
    fact = memory.fact(fact_id)
    if fact is None:
        raise KeyError(fact_id)
    return fact


def _with_same_id(before: MemoryDocument, after: MemoryDocument, fact_id: str) -> MemoryDocument:
    """Return *after* with the id of a replaced fact at the fact that replaced it, and the new id at the past one.

    The caller only knows the id that it changed.

    Raises:
        EditError: If another fact states the new content already.
    """
    if after.fact(fact_id):
        return after
    new_id = next((fact.id for fact in after.facts if before.fact(fact.id) is None), None)
    if new_id is None:
        raise EditError("another fact states this already; delete one of them instead")
    swapped = {fact_id: new_id, new_id: fact_id}
    facts = (fact.model_copy(update={"id": swapped.get(fact.id, fact.id)}) for fact in after.facts)
    past = (
        fact.model_copy(
            update={
                "id": swapped.get(fact.id, fact.id),
                "ended_by": swapped.get(fact.ended_by, fact.ended_by),
            }
        )
        for fact in after.past
    )
    return after.model_copy(update={"facts": tuple(facts), "past": tuple(past)})
