"""The manager builds the configured memories, and names invalid configuration by its path."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from attachment_fakes import FakeStore, ReadOnlyStore
from exchanges import exchange
from langgraph.graph import START, MessagesState, StateGraph

from memgraph.attachments.file import FileMemory
from memgraph.attachments.manager import MemoryManager
from memgraph.attachments.registry import StoreContext, StoreType
from memgraph.attachments.simple import BlackboardMemory, SimpleConfig, SimpleMemory
from memgraph.attachments.store import MemoryAttachment, SearchQuery
from memgraph.config import load_settings
from memgraph.errors import ConfigError
from memgraph.retrieval.embedding_config import EmbeddingConfig
from memgraph.settings import Settings

NOTES = {"name": "notes", "type": "simple"}


def constant(texts: list[str]) -> list[list[float]]:
    """Embed every text as the same vector."""
    return [[1.0, 0.0] for _ in texts]


def test_memories_are_built_as_configured(tmp_path: Path) -> None:
    """By type, in the order of the configuration."""
    documents = {"file_sources": [{"path": str(tmp_path)}], "embedding": constant, "index_path": None}

    manager = MemoryManager(
        [NOTES, {"name": "board", "type": "blackboard"}, {"name": "papers", "type": "file", "config": documents}]
    )

    assert manager.names == ("notes", "board", "papers")
    assert [type(manager.store(name)) for name in manager.names] == [SimpleMemory, BlackboardMemory, FileMemory]


def notes(**config: Any) -> dict[str, Any]:
    return NOTES | {"config": config}


def papers(*sources: dict[str, str]) -> dict[str, Any]:
    return {"name": "papers", "type": "file", "config": {"file_sources": [*sources]}}


@pytest.mark.parametrize(
    ("memory", "message"),
    [
        ({"type": "simple"}, "].name is missing"),
        ({"name": "b"}, "].type is missing"),
        ({"name": "b", "type": "smple"}, "].type is 'smple', which is not a memory type; did you mean simple?"),
        ({"name": "b", "type": "vectors"}, "].type is 'vectors', which is not a memory type; there are: simple, file,"),
        (
            {"name": "../b", "type": "simple"},
            "].name is '../b', but must be 1 to 64 letters, digits, - and _, or blanks",
        ),
        (NOTES | {"cofnig": {}}, "].cofnig is unknown; did you mean config?"),
        (NOTES | {"config": []}, "].config is [], but must be keys and their values"),
        ("notes", "] is 'notes', but must be keys and their values"),
        (notes(max_memory=5), "].config.max_memory is unknown; did you mean max_memories?"),
        (notes(max_memories=0), "].config.max_memories is 0, but must be a whole number from 1 to"),
        (notes(max_memories="many"), "].config.max_memories is 'many', but must be a whole number from 1 to"),
        (notes(max_memories=True), "].config.max_memories: a boolean is neither a number"),
        (notes(shared="perhaps"), "].config.shared is 'perhaps', but must be true or false"),
        (notes(embedding={"provider": "opnai"}), "].config.embedding.provider is 'opnai', but must be openai or local"),
        (notes(embedding={"provider": "openai", "api_key": 5}), "].config.embedding.api_key is '***', but must be"),
        (
            notes(embedding={"provider": "openai", "params": {"max_length": 1}}),
            "].config.embedding.params.max_length is 1, but must be a whole number from 50 to",
        ),
        ({"name": "papers", "type": "file"}, "].config.file_sources is missing"),
        (papers(), "].config.file_sources is [], but must be a list with at least one entry"),
        (papers({"path": "a"}, {"pth": "b"}), "].config.file_sources[1].path is missing"),
        (papers({"path": "a"}), "].config: the file memory 'papers' needs an embedding model"),
    ],
)
def test_an_invalid_memory_is_named_by_its_path(memory: Any, message: str) -> None:
    """The error names the place in the file, and what is allowed there."""
    with pytest.raises(ConfigError, match=re.escape(f"memories[1{message}")):
        MemoryManager([{"name": "first", "type": "blackboard"}, memory])


def test_two_memories_of_one_name_are_an_error() -> None:
    """Attachments refer to memories by name."""
    with pytest.raises(ConfigError, match=re.escape("memories[1].name is 'notes', which is the name of memories[0]")):
        MemoryManager([NOTES, FakeStore("notes")])


@pytest.mark.parametrize(
    ("attached", "message"),
    [
        (["note"], "[0].name is 'note', and there is no such memory; did you mean notes?"),
        (["notes", {"name": "notes"}], "[1].name is 'notes', which is attached there already"),
        ("notes", " is 'notes', but must be a list of memories"),
        (None, " is None, but must be a list of memories"),
        ([5], "[0] is 5, but must be keys and their values"),
        ([{"top_k": 3}], "[0].name is missing"),
        ([{"name": "notes", "topk": 1}], "[0].topk is unknown; did you mean top_k?"),
        ([{"name": "notes", "top_k": 0}], "[0].top_k is 0, but must be a whole number from 1 to 100"),
        ([{"name": "notes", "similarity_threshold": 2}], "[0].similarity_threshold is 2, but must be a number from -1"),
        ([{"name": "notes", "similarity_threshold": float("nan")}], "[0].similarity_threshold is nan, but must be a"),
        (
            [{"name": "notes", "retrieve_stage": ["pre", "gne"]}],
            "[0].retrieve_stage[1] is 'gne', but must be pre, plan",
        ),
        ([{"name": "papers", "write": True}], "[0].write is true, but the memory 'papers' is read-only"),
    ],
)
def test_an_invalid_attachment_is_named_by_its_path(attached: Any, message: str) -> None:
    """The error names the place in the file, and what is allowed there."""
    with pytest.raises(ConfigError, match=re.escape(f"attachments.writer{message}")):
        MemoryManager([FakeStore("notes"), ReadOnlyStore("papers")], {"writer": attached})


def test_a_memory_is_written_unless_it_is_read_only() -> None:
    """By default."""
    manager = MemoryManager([FakeStore("notes"), ReadOnlyStore("papers")], {"writer": ["notes", "papers"]})

    assert [attachment.write for attachment in manager.attachments["writer"]] == [True, False]


def test_attachments_may_be_objects() -> None:
    """They are equivalent to the entries of the file."""
    attachment = MemoryAttachment(name="notes", top_k=7, retrieve_stage=("plan",))

    manager = MemoryManager([FakeStore("notes")], {"writer": [attachment]})

    assert manager.attachments["writer"] == (attachment.model_copy(update={"write": True}),)


def test_a_manager_is_built_from_settings(tmp_path: Path) -> None:
    """As from arguments in Python."""
    file = tmp_path / "memgraph.yaml"
    file.write_text("memories: [{name: notes, type: simple}]\nattachments: {writer: [notes, ]}")

    manager = MemoryManager.from_settings(load_settings(file))

    assert manager.attachments == MemoryManager([NOTES], {"writer": ["notes"]}).attachments


def test_a_path_that_is_auto_lies_in_the_folder(tmp_path: Path) -> None:
    """The file has the name of the memory."""
    with MemoryManager([NOTES | {"config": {"memory_path": "auto"}}], folder=tmp_path) as manager:
        manager.update("notes", exchange("What is the capital of France?", "Paris."))

        assert (tmp_path / "notes.db").is_file()


def build_embedding(config: Any) -> object:
    """Return the embedding model that a memory is built with if the settings name the local one."""
    configs: list[SimpleConfig] = []

    def build(name: str, config: SimpleConfig, _: StoreContext) -> FakeStore:
        configs.append(config)
        return FakeStore(name)

    types = {"simple": StoreType("simple", SimpleConfig, build, "For a test.")}
    MemoryManager([NOTES | {"config": config}], settings=Settings(embedding="local"), types=types)
    return configs[0].embedding


def test_the_settings_have_the_default_embedding_model() -> None:
    """It need not be repeated for each memory."""
    embedding = build_embedding({})

    assert embedding == EmbeddingConfig(provider="local")


@pytest.mark.parametrize("config", [{"embedding": None}, SimpleConfig()])
def test_an_explicit_embedding_model_is_kept(config: Any) -> None:
    """Also an explicit None."""
    embedding = build_embedding(config)

    assert embedding is None


def test_what_is_remembered_is_found() -> None:
    """The methods of a memory are called by its name."""
    with MemoryManager([NOTES]) as manager:
        manager.update("notes", exchange("What is the capital of France?", "Paris is the capital."))

        found = manager.retrieve("notes", SearchQuery("capital of France"))

    assert "Paris" in found[0].item.content_summary


def test_a_memory_is_loaded_once_and_closed_at_the_end() -> None:
    """A memory is loaded at first use; an unused one is neither loaded nor closed."""
    used, unused = FakeStore("used"), FakeStore("unused")
    manager = MemoryManager([used, unused])

    manager.retrieve("used", SearchQuery("x"))
    manager.retrieve("used", SearchQuery("x"))
    manager.close()

    assert (used.calls, unused.calls) == (["load", "save", "close"], [])


def test_an_error_on_close_leaves_no_other_memory_open() -> None:
    """The error is raised after all are closed."""

    class UnsavableStore(FakeStore):
        def save(self) -> None:
            raise OSError("disk full")

    first, stuck, last = FakeStore("first"), UnsavableStore("stuck"), FakeStore("last")
    manager = MemoryManager([first, stuck, last])
    manager.load()

    with pytest.raises(OSError, match="disk full"):
        manager.close()

    assert [memory.calls[-1] for memory in (first, stuck, last)] == ["close"] * 3


def test_a_read_only_memory_cannot_be_updated() -> None:
    """Not even directly."""
    papers = ReadOnlyStore("papers")

    with pytest.raises(ConfigError, match="read-only"):
        MemoryManager([papers]).update("papers", exchange("a", "b"))

    assert papers.updates == []


def test_an_unknown_memory_suggests_the_most_similar_name() -> None:
    with pytest.raises(ConfigError, match=r"there is no memory 'note'; did you mean notes\?"):
        MemoryManager([FakeStore("notes")]).retrieve("note", SearchQuery("x"))


def test_an_attachment_to_an_unknown_node_is_an_error() -> None:
    """A typo would otherwise attach nothing, silently."""
    builder = StateGraph(MessagesState)
    builder.add_node("writer", lambda state: state)
    builder.add_edge(START, "writer")

    with pytest.raises(
        ConfigError, match=re.escape("attachments.writr: the graph has no such node; did you mean writer?")
    ):
        MemoryManager([FakeStore("notes")], {"writr": ["notes"]}).attach_to(builder)
