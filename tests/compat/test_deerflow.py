"""DeerFlow finds, opens and calls MemgraphManager as its contract says; a stand-in for its base class is enough."""

from __future__ import annotations

import importlib
import json
import sys
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage
from pydantic import BaseModel, ConfigDict, Field, model_validator

from memgraph.compat import deerflow
from memgraph.errors import ConfigError, RevisionConflictError, StorageError
from memgraph.models import Scope
from memgraph.storage.file import FileStorage
from memgraph.testing import ScriptedModel

PATH = "memgraph.compat.deerflow:MemgraphManager"
TALK = [HumanMessage("I live in Lisbon and I'm vegetarian.", id="m1"), AIMessage("Noted.", id="m2")]


class MemoryManager(BaseModel):
    """What the contract requires of a manager: its fields, its abstract methods and its check of `search`."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    backend_config: dict[str, Any] = Field(default_factory=dict)
    mode: str = "middleware"
    callbacks: object = None
    supports_search: ClassVar[bool] = False

    @model_validator(mode="after")
    def _check(self) -> MemoryManager:
        assert type(self).supports_search == (type(self).search is not MemoryManager.search)
        return self

    @classmethod
    @abstractmethod
    def from_config(cls, backend_config: dict[str, Any], *, mode: str, **host_hooks: Any) -> MemoryManager: ...

    @abstractmethod
    def add(self, thread_id: str, messages: list[Any], **scope: Any) -> None: ...

    @abstractmethod
    def get_context(self, user_id: str | None, **scope: Any) -> str: ...

    def search(self, query: str, top_k: int = 5, **scope: Any) -> list[dict[str, Any]]:
        raise NotImplementedError

    def warm(self) -> bool | None:
        return None


class MemoryConflictError(RuntimeError):
    """The error that the host raises for a lost race."""


class Callbacks:
    """The host's hooks around the calls of the model, as its manager calls them."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.results: list[dict[str, Any]] = []

    def on_memory_llm_call(
        self,
        invoke_config: dict[str, Any],
        *,
        thread_id: str | None,
        user_id: str | None,
        trace_id: str | None,
        model_name: str | None,
    ) -> None:
        self.calls.append({"thread_id": thread_id, "user_id": user_id, "trace_id": trace_id, "model": model_name})
        invoke_config["metadata"] = {**invoke_config.get("metadata", {}), "trace": trace_id}

    def on_memory_llm_result(
        self,
        invoke_config: dict[str, Any],
        *,
        prompt: Any,
        response: Any,
        error: BaseException | None,
        duration_ms: float,
        model_name: str | None,
    ) -> None:
        del model_name
        self.results.append({"trace": invoke_config["metadata"]["trace"], "prompt": prompt, "response": response})
        assert error is None
        assert duration_ms >= 0


class SeenMetadata(BaseCallbackHandler):
    """The metadata of each call of the model."""

    def __init__(self) -> None:
        self.traces: list[object] = []

    def on_chat_model_start(self, serialized: object, messages: object, **kwargs: Any) -> None:
        self.traces.append(kwargs["metadata"].get("trace"))


@pytest.fixture(autouse=True)
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A DeerFlow whose package holds that class."""
    module = ModuleType("deerflow.agents.memory.manager")
    module.MemoryManager = MemoryManager  # type: ignore[attr-defined]
    module.MemoryConflictError = MemoryConflictError  # type: ignore[attr-defined]
    for name in ("deerflow", "deerflow.agents", "deerflow.agents.memory"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    deerflow.__getattr__.cache_clear()
    yield
    deerflow.__getattr__.cache_clear()


def open_manager(folder: Path, mode: str = "middleware", **config: Any) -> Any:
    """Resolve the class and open it as the host's factory does."""
    module_path, _, attribute = PATH.partition(":")
    manager_class = getattr(importlib.import_module(module_path), attribute)
    assert issubclass(manager_class, MemoryManager)
    hooks = {
        "callbacks": object(),
        "should_keep_hidden_message": lambda kwargs: False,
        "host_llm_factory": lambda: None,
        "extraction_callback": lambda payload: None,
    }
    values = {"storage_path": str(folder), "model_name": "offline", **config}
    return manager_class.from_config(values, mode=mode, **hooks)


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[Any]:
    opened = open_manager(tmp_path)
    yield opened
    opened.close()


def test_a_conversation_is_learned_and_its_facts_are_injected(manager: Any) -> None:
    """After the flush at a shutdown. The host adds its own tags around the text."""
    manager.add("t1", TALK, agent_name=None, user_id="ada", trace_id="trace")

    assert manager.shutdown_flush(30) is True

    context = manager.get_context("ada", agent_name=None, thread_id="t2")
    assert "Lives in Lisbon" in context
    assert "memory>" not in context
    assert manager.get_context("bob") == ""


def test_a_conversation_that_is_summarized_is_learned_at_once(manager: Any) -> None:
    manager.add_nowait("t1", TALK, agent_name=None, user_id="ada")
    manager.shutdown_flush(30)

    assert "Lives in Lisbon" in manager.get_context("ada", query="Where do I live?")


def test_the_memory_is_a_document_of_the_shape_that_the_page_reads(manager: Any) -> None:
    manager.create_fact("Likes tea.", "preference", 0.9, user_id="ada")

    document = manager.get_memory(user_id="ada")

    assert {"version", "lastUpdated", "user", "history", "facts"} <= set(document)
    assert {"id", "content", "category", "confidence", "createdAt", "source"} <= set(document["facts"][0])
    assert document == manager.export_memory(user_id="ada") == manager.reload_memory(user_id="ada")
    assert json.loads(json.dumps(document)) == document


def test_facts_are_searched_by_category_before_they_are_cut(manager: Any) -> None:
    for number in range(3):
        manager.create_fact(f"Drinks tea number {number}.", user_id="ada")
    manager.create_fact("Prefers green tea.", "preference", user_id="ada")

    found = manager.search("tea", top_k=1, user_id="ada", agent_name=None, category="preference")

    assert [fact["content"] for fact in found] == ["Prefers green tea."]
    assert manager.search("tea", user_id="bob") == []


def test_a_person_edits_facts(manager: Any) -> None:
    """They are manual: learning never removes them."""
    document, fact_id = manager.create_fact("Likes tea.", user_id="ada")
    assert [fact["source"] for fact in document["facts"]] == ["manual"]

    changed = manager.update_fact(fact_id, content="Likes coffee.", user_id="ada")
    assert [fact["content"] for fact in changed["facts"]] == ["Likes coffee."]

    assert manager.delete_fact(fact_id, user_id="ada")["facts"] == []


@pytest.mark.parametrize("call", ["update_fact", "delete_fact"])
@pytest.mark.parametrize("mode", ["middleware", "tool"])
def test_an_unknown_fact_is_a_key_error(tmp_path: Path, mode: str, call: str) -> None:
    """The host answers 404 to it."""
    manager = open_manager(tmp_path, mode)

    with pytest.raises(KeyError, match="fact_x"):
        getattr(manager, call)("fact_x", user_id="ada")
    manager.close()


def test_an_invalid_fact_is_a_value_error(manager: Any) -> None:
    with pytest.raises(ValueError, match="1 to 2,000 characters"):
        manager.create_fact(" ", user_id="ada")


def test_a_model_adds_learned_facts_and_changes_no_manual_ones(tmp_path: Path) -> None:
    """In the mode "tool" the host's tools call the manager."""
    by_person = open_manager(tmp_path)
    _, manual = by_person.create_fact("Allergic to nuts.", user_id="ada")
    by_person.close()
    manager = open_manager(tmp_path, "tool")

    document, learned = manager.create_fact("Likes tea.", "preference", 0.9, user_id="ada")

    assert {fact["id"]: fact["source"] == "manual" for fact in document["facts"]} == {manual: True, learned: False}
    for call, arguments in (("update_fact", {"content": "Eats nuts."}), ("delete_fact", {})):
        with pytest.raises(ValueError, match="only the user"):
            getattr(manager, call)(manual, user_id="ada", **arguments)
    assert [fact["id"] for fact in manager.delete_fact(learned, user_id="ada")["facts"]] == [manual]
    manager.close()


def test_clearing_a_user_clears_all_agents_and_clearing_an_agent_only_that(manager: Any) -> None:
    for agent in (None, "coder", "writer"):
        manager.create_fact(f"Known to {agent}.", user_id="ada", agent_name=agent)
    manager.create_fact("Likes tea.", user_id="bob")

    manager.clear_memory(user_id="ada", agent_name="coder")
    kept = [fact["content"] for fact in manager.get_memory(user_id="ada", agent_name="writer")["facts"]]
    cleared = manager.clear_memory(user_id="ada")

    assert "Known to writer." in kept
    assert cleared["facts"] == []
    assert manager.get_memory(user_id="ada", agent_name="writer")["facts"] == []
    assert len(manager.get_memory(user_id="bob")["facts"]) == 1


def test_a_document_is_merged(manager: Any) -> None:
    """Also one of DeerFlow's own memory."""
    manager.create_fact("Likes tea.", user_id="ada")
    own = {"version": "1.0", "facts": [{"id": "fact_1", "content": "Has a dog.", "category": "context"}]}

    merged = manager.import_memory(own, user_id="ada")

    assert [fact["content"] for fact in merged["facts"]] == ["Likes tea.", "Has a dog."]


def test_a_call_without_a_user_has_the_default_one(manager: Any) -> None:
    manager.create_fact("Likes tea.")

    assert manager.get_memory() == manager.get_memory(user_id="default")


def test_an_unreadable_memory_does_not_stop_the_conversation(
    manager: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise StorageError("down")

    monkeypatch.setattr(type(manager._memory.storage), "load", fail)

    assert manager.get_context("ada") == ""
    assert "the memory cannot be read" in caplog.text


def test_memories_are_stored_below_the_hosts_folder_or_where_the_settings_say(tmp_path: Path) -> None:
    """Not in the files of DeerFlow's own memory."""
    first = open_manager(tmp_path)
    first.create_fact("Likes tea.", user_id="ada")
    first.close()
    database = tmp_path / "memory.db"
    second = open_manager(tmp_path, storage_class=f"sqlite:{database}", outbox="memory:")
    second.create_fact("Likes tea.", user_id="ada")
    second.close()

    assert (tmp_path / "memgraph" / "users" / "ada" / "memory.json").exists()
    assert not (tmp_path / "users").exists()
    assert database.exists()


def test_the_model_of_the_host_learns_if_the_settings_name_none(tmp_path: Path) -> None:
    answer = {"newFacts": [{"content": "Lives in Lisbon.", "category": "context", "confidence": 0.9}]}
    model = ScriptedModel(json.dumps(answer))
    module = importlib.import_module("memgraph.compat.deerflow")
    config = {"storage_path": str(tmp_path), "grounding": "off"}
    manager: Any = module.MemgraphManager.from_config(config, mode="middleware", host_llm_factory=lambda: model)

    manager.add_nowait("t1", TALK, user_id="ada")
    manager.shutdown_flush(30)

    assert [fact["content"] for fact in manager.get_memory(user_id="ada")["facts"]] == ["Lives in Lisbon."]
    manager.close()


def test_an_unknown_setting_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="max_fact"):
        open_manager(tmp_path, max_fact=3)


def test_another_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Manager"):
        _ = deerflow.Manager


@pytest.mark.parametrize("mode", ["middleware", "tool"])
def test_a_known_fact_is_the_duplicate_that_the_host_knows(tmp_path: Path, mode: str) -> None:
    """It compares the text of the error, and answers 409."""
    manager = open_manager(tmp_path, mode)
    manager.create_fact("Likes tea.", "preference", 0.9, user_id="ada")

    with pytest.raises(ValueError, match=r"^Duplicate fact$"):
        manager.create_fact("likes tea.", "preference", 0.9, user_id="ada")
    manager.close()


@pytest.mark.parametrize("mode", ["middleware", "tool"])
def test_a_changed_fact_keeps_the_id_that_the_host_answers_with(tmp_path: Path, mode: str) -> None:
    """Its tool memory_update returns the id that it was given, which the model uses next."""
    manager = open_manager(tmp_path, mode)
    _, fact_id = manager.create_fact("Lives in Rome.", "context", 0.9, user_id="ada")

    for city in ("Lives in Oslo.", "Lives in Bergen."):
        manager.update_fact(fact_id, content=city, user_id="ada")
    document = manager.get_memory(user_id="ada")

    assert [(fact["id"], fact["content"]) for fact in document["facts"]] == [(fact_id, "Lives in Bergen.")]
    assert len({fact["id"] for fact in (*document["facts"], *document.get("past", ()))}) == (mode == "tool") * 2 + 1
    assert manager.delete_fact(fact_id, user_id="ada")["facts"] == []
    manager.close()


def test_a_change_that_waits_for_a_person_is_not_answered_as_done(tmp_path: Path) -> None:
    manager = open_manager(tmp_path, "tool", review="always")

    with pytest.raises(ValueError, match="waits until a person accepts"):
        manager.create_fact("Likes tea.", "preference", 0.9, user_id="ada")

    assert manager.get_memory(user_id="ada")["facts"] == []
    manager.close()


class PathStorage(FileStorage):
    """A storage of the user's own."""

    def __init__(self, storage_path: str) -> None:
        super().__init__(storage_path)


def test_a_storage_class_keeps_its_storage_path(tmp_path: Path) -> None:
    manager = open_manager(tmp_path / "own", storage_class=f"{__name__}.PathStorage", outbox="memory:")

    manager.create_fact("Likes tea.", user_id="ada")
    manager.close()

    assert (tmp_path / "own" / "users" / "ada" / "memory.json").exists()


def test_a_storage_class_that_cannot_be_loaded_opens_no_file_of_the_host(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot open storage"):
        open_manager(tmp_path, storage_class="missing.Storage")


def test_the_settings_of_the_hosts_own_backend_do_not_stop_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = {
        "storage_class": "deerflow.agents.memory.storage.FileMemoryStorage",
        "model_name": "the-model-of-the-host",
        "token_counting": "char",
        "staleness_age_days": 90,
        "guaranteed_categories": ["correction"],
        "model": None,
        "debounce_seconds": 30,
    }

    manager = open_manager(tmp_path, **own)
    manager.create_fact("Likes tea.", user_id="ada")
    manager.close()

    assert (tmp_path / "memgraph" / "users" / "ada" / "memory.json").exists()
    assert "staleness_age_days, storage_class, token_counting" in caplog.text
    assert "'the-model-of-the-host' names no model" in caplog.text


@pytest.mark.parametrize("call", ["create_fact", "update_fact", "delete_fact", "import_memory", "clear_memory"])
def test_a_lost_race_is_the_conflict_of_the_host(manager: Any, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    _, fact_id = manager.create_fact("Likes tea.", user_id="ada")
    arguments = {
        "create_fact": ("Likes coffee.",),
        "update_fact": (fact_id, "Likes coffee."),
        "delete_fact": (fact_id,),
        "import_memory": ({"facts": [{"content": "Has a dog."}]},),
        "clear_memory": (),
    }

    def lose(*_: object) -> None:
        raise RevisionConflictError(Scope("ada"), 1)

    for name in ("save", "delete"):
        monkeypatch.setattr(type(manager._memory.storage), name, lose)
    monkeypatch.setattr("memgraph.editing.update.MAX_ATTEMPTS", 1)

    with pytest.raises(MemoryConflictError):
        getattr(manager, call)(*arguments[call], user_id="ada")


def test_the_callbacks_of_the_host_see_the_model_with_the_trace_id(tmp_path: Path) -> None:
    seen, callbacks = SeenMetadata(), Callbacks()
    model = ScriptedModel(json.dumps({"newFacts": []}))
    model.callbacks = [seen]
    module = importlib.import_module("memgraph.compat.deerflow")
    config = {"storage_path": str(tmp_path), "verify": "off"}
    hooks = {"callbacks": callbacks, "host_llm_factory": lambda: model}
    manager: Any = module.MemgraphManager.from_config(config, mode="middleware", **hooks)

    manager.add("t1", TALK, user_id="ada", trace_id="trace-1")
    manager.shutdown_flush(30)
    manager.close()

    assert callbacks.calls == [{"thread_id": "t1", "user_id": "ada", "trace_id": "trace-1", "model": None}]
    assert seen.traces == ["trace-1"]
    assert [result["trace"] for result in callbacks.results] == ["trace-1"]
    assert "newFacts" in callbacks.results[0]["response"].text
    assert any("Lisbon" in message.text for message in callbacks.results[0]["prompt"])
