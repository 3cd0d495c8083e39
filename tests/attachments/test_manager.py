"""The manager builds what is configured, and says by its path what cannot be."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from attachment_fakes import Notes, Papers
from langgraph.graph import START, MessagesState, StateGraph

from memgraph.attachments.blackboard import BlackboardMemory
from memgraph.attachments.config import MemoryAttachment
from memgraph.attachments.file import FileMemory
from memgraph.attachments.item import take_snapshot
from memgraph.attachments.manager import MemoryManager
from memgraph.attachments.registry import StoreContext, StoreRegistry, StoreType
from memgraph.attachments.simple import SimpleConfig, SimpleMemory
from memgraph.attachments.store import Interaction, SearchQuery
from memgraph.config import load_settings
from memgraph.errors import ConfigError
from memgraph.retrieval.embeddings import EmbeddingConfig
from memgraph.settings import Settings

NOTES = {"name": "notes", "type": "simple"}


def constant(texts: list[str]) -> list[list[float]]:
    """Embed every text the same."""
    return [[1.0, 0.0] for _ in texts]


def test_memories_are_built_as_configured(tmp_path: Path) -> None:
    """The types of the package by their names, in the order they are named."""
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
        ({"name": "../b", "type": "simple"}, "].name is '../b', but must be 1 to 64 letters, digits, - and _"),
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
def test_a_memory_that_cannot_be_is_named_by_its_path(memory: Any, message: str) -> None:
    """Whoever wrote the file finds the line, and what to write there."""
    with pytest.raises(ConfigError, match=re.escape(f"memories[1{message}")):
        MemoryManager([{"name": "first", "type": "blackboard"}, memory])


def test_two_memories_of_one_name_are_named() -> None:
    """Attachments could not tell them apart."""
    with pytest.raises(ConfigError, match=re.escape("memories[1].name is 'notes', which is the name of memories[0]")):
        MemoryManager([NOTES, Notes("notes")])


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
def test_an_attachment_that_cannot_be_is_named_by_its_path(attached: Any, message: str) -> None:
    """An attachment to nothing is no attachment."""
    with pytest.raises(ConfigError, match=re.escape(f"attachments.writer{message}")):
        MemoryManager([Notes("notes"), Papers("papers")], {"writer": attached})


def test_a_memory_is_written_wherever_it_can_be() -> None:
    """Nobody has to say that documents are only read."""
    manager = MemoryManager(
        [Notes("notes"), Papers("papers")],
        {
            "writer": [
                "notes",
                "papers",
            ]
        },
    )

    assert [attachment.write for attachment in manager.attachments["writer"]] == [True, False]


def test_attachments_may_be_values() -> None:
    """The same in Python as in the file."""
    attachment = MemoryAttachment(name="notes", top_k=7, retrieve_stage=("plan",))

    manager = MemoryManager([Notes("notes")], {"writer": [attachment]})

    assert manager.attachments["writer"] == (attachment.model_copy(update={"write": True}),)


def test_the_file_says_the_same_as_python(tmp_path: Path) -> None:
    """`memgraph.yaml` is all that is needed."""
    file = tmp_path / "memgraph.yaml"
    file.write_text("memories: [{name: notes, type: simple}]\nattachments: {writer: [notes, ]}")

    manager = MemoryManager.from_settings(load_settings(file))

    assert manager.attachments == MemoryManager([NOTES], {"writer": ["notes"]}).attachments


def test_a_path_that_is_auto_lies_in_the_folder(tmp_path: Path) -> None:
    """Beside the run, called as the memory."""
    with MemoryManager([NOTES | {"config": {"memory_path": "auto"}}], folder=tmp_path) as manager:
        manager.update("notes", exchange("What is the capital of France?", "Paris."))

        assert (tmp_path / "notes.db").is_file()


def embedding_of(config: Any) -> object:
    """The embedding model that a memory is built with where the settings name the local one."""
    configs: list[SimpleConfig] = []

    def build(name: str, config: SimpleConfig, _: StoreContext) -> Notes:
        configs.append(config)
        return Notes(name)

    types = StoreRegistry([StoreType("simple", SimpleConfig, build, "For a test.")])
    MemoryManager([NOTES | {"config": config}], settings=Settings(embedding="local"), types=types)
    return configs[0].embedding


def test_a_memory_takes_the_embedding_model_of_the_settings() -> None:
    """One model for all is said once."""
    embedding = embedding_of({})

    assert embedding == EmbeddingConfig(provider="local")


@pytest.mark.parametrize("config", [{"embedding": None}, SimpleConfig()])
def test_a_memory_that_says_its_own_embedding_model_keeps_it(config: Any) -> None:
    """That there is none is said, too."""
    embedding = embedding_of(config)

    assert embedding is None


def test_what_is_remembered_is_found() -> None:
    """The verbs of a memory, by its name."""
    with MemoryManager([NOTES]) as manager:
        manager.update("notes", exchange("What is the capital of France?", "Paris is the capital."))

        found = manager.retrieve("notes", SearchQuery("capital of France"))

    assert "Paris" in found[0].item.content_summary


def test_a_memory_is_loaded_once_and_closed_at_the_end() -> None:
    """What is used before it is loaded is loaded then; what was never used is left alone."""
    used, unused = Notes("used"), Notes("unused")
    manager = MemoryManager([used, unused])

    manager.retrieve("used", SearchQuery("x"))
    manager.retrieve("used", SearchQuery("x"))
    manager.close()

    assert (used.done, unused.done) == (["load", "save", "close"], [])


def test_one_that_cannot_be_closed_keeps_no_other_open() -> None:
    """The error is raised when all are closed."""

    class Stuck(Notes):
        def save(self) -> None:
            raise OSError("disk full")

    first, stuck, last = Notes("first"), Stuck("stuck"), Notes("last")
    manager = MemoryManager([first, stuck, last])
    manager.load()

    with pytest.raises(OSError, match="disk full"):
        manager.close()

    assert [memory.done[-1] for memory in (first, stuck, last)] == ["close"] * 3


def test_a_memory_that_is_only_read_is_not_written() -> None:
    """By no way."""
    papers = Papers("papers")

    with pytest.raises(ConfigError, match="read-only"):
        MemoryManager([papers]).update("papers", exchange("a", "b"))

    assert papers.kept == []


def test_an_unknown_memory_names_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"there is no memory 'note'; did you mean notes\?"):
        MemoryManager([Notes("notes")]).retrieve("note", SearchQuery("x"))


def test_an_attachment_to_a_node_that_is_not_there_names_the_nearest() -> None:
    """A typo in the name of a node would attach nothing, and say nothing."""
    builder = StateGraph(MessagesState)
    builder.add_node("writer", lambda state: state)
    builder.add_edge(START, "writer")

    with pytest.raises(
        ConfigError, match=re.escape("attachments.writr: the graph has no such node; did you mean writer?")
    ):
        MemoryManager([Notes("notes")], {"writr": ["notes"]}).attach_to(builder)


def exchange(asked: str, answered: str) -> Interaction:
    return Interaction(take_snapshot(asked), take_snapshot(answered), "writer")
