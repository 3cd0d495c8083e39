"""OpenedMemory: the storage, the queue and the rules of edits behind a memory manager of another project."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

from memgraph.agents.confirmation import ConfirmationRequiredError
from memgraph.agents.tool_changes import ToolCaller, add_tool_fact, delete_tool_fact, update_tool_fact
from memgraph.background.background_invoker import BackgroundInvoker
from memgraph.config import load_settings, make_storage
from memgraph.editing import add_fact, edit_fact, remove_fact, remove_words, update_memory
from memgraph.errors import EditError
from memgraph.models import UNKNOWN_THREAD, ChangeOrigin, Fact, MemoryDocument, Scope
from memgraph.retrieval.recall import make_recall_pipeline

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

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

    Raises:
        ConfigError: If a setting is unknown or invalid.
    """

    def __init__(
        self, config: Mapping[str, object], make_model: Callable[[], BaseChatModel | None], edited_by: EditedBy
    ) -> None:
        values = dict(config)
        root = values.get("storage_path")
        if "storage_class" in values:
            values.pop("storage_path", None)
        elif isinstance(root, str):
            folder = Path(root) / "memgraph"
            values = {"outbox": f"sqlite:{folder / 'outbox.db'}", **values, "storage_path": str(folder)}
        self._edited_by: EditedBy = edited_by
        self.settings = load_settings(None, **values)
        self.storage = make_storage(self.settings)
        model = None if self.settings.model_name else make_model()
        self.invoker = BackgroundInvoker(settings=self.settings, storage=self.storage, model=model)
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

    def add(self, scope: Scope, content: str, category: str, confidence: float) -> tuple[MemoryDocument, str | None]:
        """Add a fact; return the memory, and the id of the fact, None if it is not in the memory."""
        known = set[str]()

        def add(memory: MemoryDocument) -> MemoryDocument:
            known.clear()
            known.update(fact.id for fact in memory.facts)
            if self._edited_by == "tool":
                fields = {"category": category, "confidence": confidence}
                return add_tool_fact(memory, self._caller, content, **fields, quote="").memory  # pyright: ignore[reportArgumentType]
            names = self.settings.policy.category_names
            return add_fact(memory, content, category=category, confidence=confidence, categories=names, by_person=True)

        memory = self.change(scope, add)
        return memory, next((fact.id for fact in memory.facts if fact.id not in known), None)

    def edit(self, scope: Scope, fact_id: str, fields: FactFields) -> MemoryDocument:
        """Change a fact; KeyError if there is none."""

        def edit(memory: MemoryDocument) -> MemoryDocument:
            _require(memory, fact_id)
            if self._edited_by == "tool":
                return update_tool_fact(memory, self._caller, fact_id, None, **fields).memory
            return edit_fact(memory, fact_id, **fields, categories=self.settings.policy.category_names, by_person=True)

        return self.change(scope, edit)

    def remove(self, scope: Scope, fact_id: str) -> MemoryDocument:
        """Remove a fact, and the words of the user that only it rests on; KeyError if there is none."""
        fact = _require(self.storage.load(scope), fact_id)

        def remove(memory: MemoryDocument) -> MemoryDocument:
            _require(memory, fact_id)
            if self._edited_by == "tool":
                return delete_tool_fact(memory, self._caller, fact_id, None).memory
            return remove_fact(memory, fact_id)

        memory = self.change(scope, remove)
        if memory.fact(fact_id) is None:
            remove_words(self.storage, scope, memory, fact)
        return memory

    def close(self) -> None:
        """Close what was opened. What still waits is learned after the next start."""
        self.invoker.close()
        self.storage.close()

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
