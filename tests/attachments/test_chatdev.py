"""The memory configuration of ChatDev is valid here; the memories it stored open, and its files stay as they are."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Any

import pytest
from attachment_fakes import FakeStore
from exchanges import exchange

from memgraph.attachments.file import FileConfig
from memgraph.attachments.manager import MemoryManager, attach
from memgraph.attachments.registry import StoreContext, StoreType
from memgraph.attachments.simple import BlackboardConfig, BlackboardMemory, SimpleConfig, SimpleMemory
from memgraph.attachments.store import MemoryStore, SearchQuery
from memgraph.config import load_settings
from memgraph.errors import ConfigError, MemoryStoreError
from memgraph.models import Scope
from memgraph.retrieval.embedding_config import EmbeddingConfig, parse_config


def build_config(memory: dict[str, Any]) -> SimpleConfig:
    """Return the configuration that the manager builds a simple memory with."""
    configs: list[SimpleConfig] = []

    def build(name: str, config: SimpleConfig, _: StoreContext) -> FakeStore:
        configs.append(config)
        return FakeStore(name)

    types = {"simple": StoreType("simple", SimpleConfig, build, "For a test.")}
    MemoryManager([{"name": "notes", "type": "simple", **memory}], types=types)
    return configs[0]


def build_embedding(**keys: Any) -> EmbeddingConfig:
    config = build_config({"config": {"embedding": keys}}).embedding
    assert isinstance(config, EmbeddingConfig)
    return config


def test_a_name_may_have_blanks(tmp_path: Path) -> None:
    """Nodes attach the memory as it is written; its file has a name that every system accepts."""
    memory = {"name": "Paper Gen Memory", "type": "simple", "config": {"memory_path": "auto"}}
    with MemoryManager([memory], {"writer": ["Paper Gen Memory"]}, folder=tmp_path) as manager:
        manager.update("Paper Gen Memory", exchange("What is the capital of France?", "Paris."))

        found = manager.retrieve("Paper Gen Memory", SearchQuery("capital of France"))

    assert "Paris" in found[0].item.content_summary
    assert all(file.name.isascii() and " " not in file.name for file in tmp_path.iterdir())


@pytest.mark.parametrize("name", [" notes", "notes ", " ", "", "a\nb", "a\tb", "../a", "a" * 65, "a" + " b" * 32])
def test_a_name_has_no_blanks_around_it_nor_other_characters(name: str) -> None:
    """It becomes part of a file name, where a trailing blank is invisible."""
    with pytest.raises(ConfigError, match=re.escape("memories[0].name is ")):
        MemoryManager([{"name": name, "type": "simple"}])


def test_the_provider_local_may_have_the_name_of_a_model(caplog: pytest.LogCaptureFixture) -> None:
    """ChatDev requires `model`, and loads the one of params.model_path."""
    with caplog.at_level(logging.WARNING):
        config = build_embedding(provider="local", model="all-MiniLM-L6-v2", params={"model_path": "models/minilm"})

    assert config.name == "local:models/minilm"
    assert not caplog.messages


def test_a_model_name_that_has_no_effect_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """The model of the extra `local` is used instead."""
    with caplog.at_level(logging.WARNING):
        config = build_embedding(provider="local", model="all-MiniLM-L6-v2")

    assert config.name == "local"
    assert "embedding.model all-MiniLM-L6-v2 is not used" in caplog.text


def test_parameters_of_other_programs_are_ignored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """ChatDev passes any keys to its models."""
    with caplog.at_level(logging.WARNING):
        config = build_embedding(provider="openai", params={"temperature": 0, "device": "cpu", "max_length": 300})

    assert config.params.max_length == 300
    assert "embedding.params: temperature, device" in caplog.text


def test_a_misspelt_parameter_is_an_error() -> None:
    """It was meant to do something."""
    with pytest.raises(ConfigError, match=re.escape("params.max_lenght is unknown; did you mean max_length?")):
        build_embedding(provider="openai", params={"max_lenght": 300})


@pytest.mark.parametrize("params", [None, {}])
def test_empty_parameters_are_the_defaults(params: Any) -> None:
    """`params:` without a value is None in YAML."""
    assert build_embedding(provider="local", params=params) == parse_config("local")


def test_an_empty_config_is_the_defaults() -> None:
    """`config:` without a value is None in YAML."""
    assert build_config({"config": None}) == SimpleConfig()


@pytest.mark.parametrize(
    ("alias", "stage"),
    [("pre_gen_thinking", "pre"), ("gen", "gen"), ("post_gen_thinking", "critique"), ("finished", "critique")],
)
def test_the_stages_have_the_names_of_chatdev_too(alias: Any, stage: Any) -> None:
    """In an attachment, and for a node."""
    manager = MemoryManager([FakeStore("notes")], {"writer": [{"name": "notes", "retrieve_stage": [alias]}]})

    node = attach(lambda state: state, manager=manager, stage=alias, name="writer")

    assert manager.attachments["writer"][0].retrieve_stage == (stage,)
    assert vars(node)["stage"] == stage


def test_a_file_memory_may_name_its_index_memory_path() -> None:
    """As ChatDev does for every type; `index_path` comes first."""
    sources = {"file_sources": [{"path": "docs", "file_types": None}]}

    assert FileConfig.model_validate({**sources, "memory_path": "i.db"}).index_path == "i.db"
    assert FileConfig.model_validate({**sources, "memory_path": "i.db", "index_path": "j.db"}).index_path == "j.db"


def test_variables_are_replaced_in_the_memories_of_a_manager(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the configuration file."""
    monkeypatch.setenv("BASE_URL", "http://localhost:1/v1")

    assert build_embedding(provider="openai", base_url="${BASE_URL}").base_url == "http://localhost:1/v1"


def test_a_variable_that_is_not_set_is_named_with_its_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The value may be several levels down."""
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    message = "memories[0].config.embedding.api_key needs the environment variable NO_SUCH_KEY, which is not set"

    with pytest.raises(ConfigError, match=re.escape(message)):
        build_embedding(provider="openai", api_key="${NO_SUCH_KEY}")


def test_the_value_of_a_variable_is_not_expanded_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A password may contain `${`; the memories of a file were expanded when it was read."""
    monkeypatch.setenv("TRICKY", "a${NO_SUCH_KEY}b")
    file = tmp_path / "memgraph.yaml"
    file.write_text("memories: [{name: notes, type: simple, config: {memory_path: '${TRICKY}.db'}}]")

    manager = MemoryManager.from_settings(load_settings(file))

    assert manager.names == ("notes",)


def test_a_graph_of_chatdev_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The `memory:` of its graph and the `memories:` of its node, unchanged."""
    monkeypatch.setenv("API_KEY", "sk-1")
    monkeypatch.setenv("BASE_URL", "http://localhost:1/v1")
    server = {"provider": "openai", "model": "m", "base_url": "${BASE_URL}", "api_key": "${API_KEY}", "params": None}
    documents = {"memory_path": "i.json", "embedding": server, "file_sources": [{"path": "docs", "recursive": False}]}
    memories: list[dict[str, Any]] = [
        {"name": "Paper Gen Memory", "type": "simple", "config": {"memory_path": "m.json", "embedding": server}},
        {"name": "mem_file", "type": "file", "config": documents},
        {"name": "Group Chat Board", "type": "blackboard", "config": None},
    ]
    attached = [
        {"name": memory["name"], "top_k": 3, "similarity_threshold": 0.2, "retrieve_stage": ["pre_gen_thinking", "gen"]}
        for memory in memories
    ]

    manager = MemoryManager(memories, {"Writer": attached}, folder=tmp_path)

    assert manager.names == ("Paper Gen Memory", "mem_file", "Group Chat Board")
    assert [one.retrieve_stage for one in manager.attachments["Writer"]] == [("pre", "gen")] * 3


# -- files ------------------------------------------------------------------------------------------

ITEMS: list[dict[str, Any]] = [
    {
        "id": "ab12cd34_1767225600",
        "content_summary": "Input: Which database? Output: The shop uses PostgreSQL.",
        "metadata": {"agent_role": "Writer", "input_preview": "Which database?", "content_length": 56},
        "embedding": [0.6, 0.8],
        "timestamp": 1767225600.5,
        "input_snapshot": {"text": "Which database?", "blocks": [{"role": "user", "block": {"type": "text"}}]},
        "output_snapshot": {"text": "The shop uses PostgreSQL.", "blocks": []},
    },
    {"id": "bb_1", "content_summary": "The logo is green.", "metadata": {}, "embedding": None, "timestamp": None},
]


def make_simple(folder: Path, **config: Any) -> MemoryStore:
    return SimpleMemory("notes", SimpleConfig(memory_path="memory.json", **config), folder=folder)


def make_blackboard(folder: Path, **config: Any) -> MemoryStore:
    return BlackboardMemory("board", BlackboardConfig(memory_path="memory.json", **config), folder=folder)


BOTH = pytest.mark.parametrize("make", [make_simple, make_blackboard])


def write(folder: Path, value: object) -> Path:
    file = folder / "memory.json"
    file.write_text(json.dumps(value, indent=2, ensure_ascii=False), encoding="utf-8")
    return file


@BOTH
def test_a_stored_memory_is_imported_and_its_file_left_unchanged(tmp_path: Path, make: Any) -> None:
    file = write(tmp_path, ITEMS)
    before = file.read_bytes()
    memory = make(tmp_path)

    memory.load()
    found = memory.retrieve(SearchQuery("the shop uses PostgreSQL, the logo is green"), top_k=5)
    memory.close()

    items = {result.item.content_summary: result.item for result in found}
    assert set(items) == {item["content_summary"] for item in ITEMS}
    stored = items[ITEMS[0]["content_summary"]]
    assert (stored.timestamp, stored.metadata["node"]) == ("2026-01-01T00:00:00.500000Z", "Writer")
    assert stored.output_snapshot is not None
    assert stored.output_snapshot.text == "The shop uses PostgreSQL."
    assert file.read_bytes() == before
    assert (tmp_path / "memory.json.db").exists()


@BOTH
def test_a_memory_is_imported_once(tmp_path: Path, make: Any) -> None:
    """What was deleted since does not return with the next start."""
    write(tmp_path, ITEMS)
    first = make(tmp_path)
    first.load()
    first.update(exchange("Which colour?", "The door is red."))
    first.delete_user("")
    first.close()
    second = make(tmp_path)

    second.load()

    assert list(second.retrieve(SearchQuery("door logo shop PostgreSQL"), top_k=5)) == []
    second.close()


@BOTH
def test_the_items_are_of_no_user_unless_the_memory_is_shared(tmp_path: Path, make: Any) -> None:
    """ChatDev has no users, so that no user's own memory has them."""
    write(tmp_path, ITEMS)
    query = SearchQuery("The logo is green.", scope=Scope("ada"))
    own = make(tmp_path)
    own.load()
    assert list(own.retrieve(query, top_k=5)) == []
    own.close()
    shared = make(tmp_path, shared=True)

    shared.load()

    assert "The logo is green." in {result.item.content_summary for result in shared.retrieve(query, top_k=5)}
    shared.close()


@BOTH
@pytest.mark.parametrize("value", [{"0": {"memory": "a card"}}, [{"content": "x"}], [1], {"contents": 3}])
def test_another_json_file_is_refused_by_a_sentence(tmp_path: Path, make: Any, value: object) -> None:
    file = write(tmp_path, value)
    before = file.read_bytes()
    memory = make(tmp_path)

    with pytest.raises(MemoryStoreError, match="is not a memory of ChatDev"):
        memory.load()

    assert file.read_bytes() == before
    memory.close()


@BOTH
def test_an_empty_memory_is_one_without_items(tmp_path: Path, make: Any) -> None:
    write(tmp_path, [])
    memory = make(tmp_path)

    memory.load()

    assert list(memory.retrieve(SearchQuery("logo"), top_k=5)) == []
    memory.close()
