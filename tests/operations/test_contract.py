"""Every operation gives the same result, and the same error, through every door that has it."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import typer
from pydantic import SecretStr

sys.path.append(str(Path(__file__).parent))

from operation_doors import Arguments, Doors, Outcome  # importable since the line above

from memgraph import AsyncMemoryClient, MemoryClient, Scope, Settings, open_storage
from memgraph.api.routes import ROUTES
from memgraph.cli.app import app
from memgraph.mcp.tools import TOOLS
from memgraph.models import Episode, Evidence, Fact, MemoryDocument
from memgraph.operations import OPERATIONS

ROOT = Path(__file__).parents[2]
TEA = Fact(id="fact_tea", content="Likes tea.", category="preference", source="t1", created_at="2026-05-01T00:00:00Z")
LISBON = Fact(
    id="fact_lisbon",
    content="Lives in Lisbon.",
    source="t2",
    created_at="2026-05-02T00:00:00Z",
    evidence=(Evidence(episode="e1", quote="I live in Lisbon."),),
)
SAID = Episode(id="e1", thread_id="t2", at="2026-05-02T00:00:00Z", text="I live in Lisbon.")


@pytest.fixture
def doors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Doors]:
    """The doors of a memory with two facts, learned in two threads, and one episode."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMGRAPH_OUTBOX", str(tmp_path / "outbox.db"))
    monkeypatch.setenv("MEMGRAPH_API_BACKUPS", str(tmp_path / "backups"))
    settings = Settings(
        model_name="offline",
        outbox="memory:",
        api_backups=str(tmp_path / "backups"),
        api_token=SecretStr("administrator-token"),
    )
    url = f"file:{tmp_path / 'memories'}"
    with open_storage(url) as storage:
        first = storage.save(Scope("ada"), MemoryDocument(facts=(TEA,)))
        storage.save(Scope("ada"), first.model_copy(update={"facts": (TEA, LISBON)}))
        storage.append_episodes(Scope("ada"), [SAID], settings.policy)
        yield Doors(storage, url, settings)


def outcomes(doors: Doors, name: str, given: Arguments) -> Mapping[str, Outcome]:
    """Return what each door that has an operation answers."""
    calls: Mapping[str, Callable[[str, Arguments], Outcome | None]] = {
        "python": doors.python,
        "async": doors.coroutine,
        "command line": doors.command_line,
        "http": doors.http,
        "mcp": doors.assistant,
    }
    found = {door: call(name, given) for door, call in calls.items()}
    return {door: outcome for door, outcome in found.items() if outcome is not None}


# -- what is read ----------------------------------------------------------------------------------


def texts(value: Any) -> list[str]:
    """The contents and words in an answer, in any form, without those of scores and evidence."""
    dumped = value.model_dump_json(by_alias=True) if hasattr(value, "model_dump_json") else repr(value)
    return sorted({text for text in (TEA.content, LISBON.content, SAID.text) if text in dumped})


READS: list[tuple[str, Arguments, list[str]]] = [
    ("facts", {}, [TEA.content, LISBON.content]),
    ("get", {}, [TEA.content, LISBON.content]),
    ("get", {"revision": 1}, [TEA.content]),
    ("fact", {"fact_id": "fact_tea"}, [TEA.content]),
    ("why", {"fact_id": "fact_tea"}, [TEA.content]),
    ("episodes", {}, [SAID.text]),
    ("episodes", {"since": "2027"}, []),
    ("history", {"limit": 1}, [LISBON.content]),
    ("diff", {"first": 1, "second": 2}, [LISBON.content]),
    ("recall", {"messages": "Which drinks does she like?"}, [TEA.content]),
    ("context", {"messages": "Which drinks does she like?"}, [TEA.content]),
    ("search", {"query": "tea"}, [TEA.content]),
    ("export", {}, [TEA.content, LISBON.content, SAID.text]),
    ("pending", {}, []),
    ("audit", {}, []),
    ("backups", {}, []),
    ("jobs", {}, []),
]


@pytest.mark.parametrize(("name", "given", "expected"), READS, ids=[f"{name} {given}" for name, given, _ in READS])
def test_every_door_reads_the_same(doors: Doors, name: str, given: Arguments, expected: list[str]) -> None:
    if name == "get" and "revision" in given:
        found = {"python": doors.python(name, given), "command line": doors.command_line(name, given)}
    else:
        found = outcomes(doors, name, given)

    for door, outcome in found.items():
        assert outcome
        assert set(expected) <= set(texts(outcome.value)), door
        assert bool(texts(outcome.value)) is bool(expected), door


# -- what is changed -------------------------------------------------------------------------------

DOOR_NAMES = ("python", "coroutine", "command_line", "http", "assistant")
WRITES: list[tuple[str, Arguments, set[str]]] = [
    ("remember", {"content": "Has a dog.", "category": "context"}, {TEA.content, LISBON.content, "Has a dog."}),
    ("update", {"fact_id": "fact_tea", "content": "Likes green tea."}, {"Likes green tea.", LISBON.content}),
    ("delete", {"fact_id": "fact_lisbon"}, {TEA.content}),
    ("undo", {"revision": 2}, {TEA.content}),
    ("revert", {"thread_id": "t2"}, {TEA.content}),
    ("restore", {"revision": 1}, {TEA.content}),
    ("keep_up", {"dry_run": True}, {TEA.content, LISBON.content}),
    (
        "import_document",
        {"document": b'{"facts": [{"content": "Has a dog."}]}'},
        {*(TEA.content, LISBON.content), "Has a dog."},
    ),
    ("propose_removal", {"fact_id": "fact_tea", "quote": "Forget the tea."}, {TEA.content, LISBON.content}),
    ("forget", {}, set()),
    ("erase", {}, set()),
]


@pytest.mark.parametrize("door", DOOR_NAMES)
@pytest.mark.parametrize(("name", "given", "expected"), WRITES, ids=[name for name, *_ in WRITES])
def test_every_door_changes_the_same(doors: Doors, door: str, name: str, given: Arguments, expected: set[str]) -> None:
    outcome = getattr(doors, door)(name, given)
    if outcome is None:
        return  # which doors an operation lacks is another test's promise

    memory = doors.storage.reload(Scope("ada"))
    assert outcome.sentence == ""
    assert {fact.content for fact in memory.facts} == expected
    assert bool(memory.pending) is name.startswith("propose")


# -- what is refused -------------------------------------------------------------------------------

REFUSED: list[tuple[str, Arguments, str]] = [
    ("fact", {"fact_id": "fact_x"}, "NoSuchFact"),
    ("update", {"fact_id": "fact_x", "content": "Likes figs."}, "NoSuchFact"),
    ("delete", {"fact_id": "fact_x"}, "NoSuchFact"),
    ("why", {"fact_id": "fact_x"}, "NoSuchFact"),
    ("propose_removal", {"fact_id": "fact_x", "quote": "Forget it."}, "NoSuchFact"),
    ("diff", {"first": 1, "second": 99}, "NotInHistory"),
    ("undo", {"revision": 99}, "NotInHistory"),
    ("restore", {"revision": 99}, "NotInHistory"),
    ("read_backup", {"name": "x.json"}, "NoSuchBackup"),
    ("decide", {"change_id": "change_x", "verdict": "accept"}, "AlreadyDecidedError"),
    ("decide", {"change_id": "change_x", "verdict": "always"}, "AlreadyDecidedError"),
    ("ask_again", {"category": "preference"}, "EditError"),
    ("get", {"as_of": "spring"}, "EditError"),
    ("recall", {"messages": "Tea?", "as_of": "spring"}, "EditError"),
    ("context", {"messages": "Tea?", "as_of": "spring"}, "EditError"),
    ("episodes", {"since": "yesterday"}, "EditError"),
    ("revert", {}, "EditError"),
    ("remember", {"content": "Likes figs.", "category": "gossip"}, "EditError"),
    ("remember", {"content": TEA.content}, "EditError"),
    ("import_document", {"document": b"{}"}, "EditError"),
]


@pytest.mark.parametrize(("name", "given", "code"), REFUSED, ids=[f"{name} {code}" for name, _, code in REFUSED])
def test_every_door_refuses_with_the_same_code(doors: Doors, name: str, given: Arguments, code: str) -> None:
    """And the same sentence; an assistant gets that alone."""
    before = doors.storage.reload(Scope("ada"))

    found = outcomes(doors, name, given)

    assert {outcome.code for door, outcome in found.items() if door != "mcp"} == {code}
    assert len({outcome.sentence.replace("the body", "the document") for outcome in found.values()}) == 1, found
    assert doors.storage.reload(Scope("ada")) == before


# -- the table -------------------------------------------------------------------------------------


def methods(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind, callable) if not name.startswith("_")}


def test_every_operation_is_a_method_of_both_clients() -> None:
    """And what else they have is about the client itself."""
    assert methods(MemoryClient) - set(OPERATIONS) == {"close", "flush", "profile", "upkeep"}
    assert methods(AsyncMemoryClient) == methods(MemoryClient)


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_has_a_description_and_an_example(name: str) -> None:
    operation = OPERATIONS[name]

    assert operation.description.split("\n")[0].endswith((".", ":"))
    inspect.signature(operation.function).bind(None, **operation.example)


def rows() -> Mapping[str, list[str]]:
    """The cells of the documented table, by operation."""
    page = (ROOT / "docs" / "reference" / "operations.md").read_text(encoding="utf-8")
    lines = [line.strip("|").split("|") for line in page.splitlines() if line.startswith("| `")]
    return {cells[0].strip(" `"): [cell.strip() for cell in cells[1:]] for cells in lines}


def commands(command: Any, path: str = "memgraph") -> Iterator[str]:
    for name, child in getattr(command, "commands", {}).items():
        yield f"{path} {name}"
        yield from commands(child, f"{path} {name}")


def test_the_documented_table_is_that_of_the_doors() -> None:
    """An operation that a door lacks has a reason there."""
    page = (ROOT / "docs" / "reference" / "operations.md").read_text(encoding="utf-8")
    reasons = set(re.findall(r"^(\[\^\w+\]):", page, re.MULTILINE))
    routes: Mapping[str, set[str]] = {name: set() for name in OPERATIONS}
    for route in (route for routes_of_tag in ROUTES.values() for route in routes_of_tag):
        routes[route.called].add(route.request.replace(":path", ""))
    known_commands = set(commands(typer.main.get_command(app)))
    documented = rows()

    assert set(documented) == set(OPERATIONS)
    for name, (effect, on_command_line, over_http, by_mcp) in documented.items():
        named = [set(re.findall(r"`([^`]+)`", cell)) for cell in (on_command_line, over_http, by_mcp)]
        assert effect == OPERATIONS[name].effect
        assert named[0] <= known_commands, name
        assert routes[name] <= named[1], name
        assert named[1] <= {route for found in routes.values() for route in found}, name
        assert {tool for tool in named[2] if "://" not in tool} <= set(TOOLS), name
        assert {tool for tool in TOOLS if TOOLS[tool].operation.name == name} <= named[2], name
        for cell, doors in zip((on_command_line, over_http, by_mcp), named, strict=True):
            assert doors or cell in reasons, (name, cell)
