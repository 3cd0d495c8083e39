"""memgraph history, diff, undo, why and show --revision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memgraph.models import AsSaid, Evidence, Fact, MemoryDocument, PastFact, Scope
from memgraph.storage.file import FileStorage

ADA = Scope("ada")
TEA = Fact(id="tea", content="Likes tea.", source="t1", evidence=(Evidence(quote="I like tea."),))


@pytest.fixture
def storage(tmp_path: Path) -> FileStorage:
    """Three revisions of ada's memory: tea is learned, a dog is added, tea becomes green tea."""
    storage = FileStorage(tmp_path / "memories")
    memory = storage.save(ADA, MemoryDocument(facts=(TEA,)))
    memory = storage.save(ADA, memory.with_facts((TEA, Fact(id="dog", content="Has a dog."))))
    green = TEA.model_copy(update={"content": "Likes green tea."})
    storage.save(ADA, memory.with_facts((green, memory.facts[1])))
    return storage


def contents(storage: FileStorage) -> list[str]:
    return [fact.content for fact in storage.load(ADA).facts]


@pytest.mark.usefixtures("storage")
def test_changes_are_listed_the_newest_first(memgraph: Any) -> None:
    lines = memgraph("history", "-u", "ada", "--limit", "2").out.splitlines()

    assert [line.split("Z  ")[1] for line in lines] == ["person: 1 fact changed", "person: 1 fact added"]
    assert [line.split()[0] for line in lines] == ["3", "2"]


@pytest.mark.usefixtures("storage")
def test_the_whole_history_can_be_printed_as_json(memgraph: Any) -> None:
    revisions = memgraph("history", "-u", "ada", "--json").json["revisions"]

    assert [entry["revision"] for entry in revisions] == [3, 2, 1]
    assert revisions[2]["changes"]["facts"][0]["after"]["content"] == "Likes tea."


@pytest.mark.parametrize("command", ["history", "undo", "why"])
def test_a_user_without_a_memory_has_no_history(memgraph: Any, command: str) -> None:
    arguments = ["tea"] if command == "why" else []

    result = memgraph(command, *arguments, "-u", "eve")

    assert result.code != 0
    assert result.err.startswith("Error: ")


def test_an_edit_by_the_command_line_is_in_the_history(memgraph: Any) -> None:
    memgraph("fact", "add", "Likes tea.", "-u", "ada")

    assert memgraph("history", "-u", "ada").out.endswith("person: 1 fact added\n")


def test_what_became_past_and_what_is_kept_as_said_is_counted_as_added(memgraph: Any, storage: FileStorage) -> None:
    memory = storage.load(ADA)
    past, claim = PastFact(id="tea", content="Likes tea."), AsSaid(id="claim", content="Keeps bees.", words="Bees!")
    ended = memory.with_facts(memory.facts[1:]).model_copy(update={"past": (past,), "as_said": (claim,)})
    storage.save(ADA, ended)

    (line,) = memgraph("history", "-u", "ada", "--limit", "1").out.splitlines()

    assert line.endswith("person: 1 fact removed, 1 past fact added, 1 as-said claim added")


def test_an_import_is_in_the_history_and_can_be_undone(memgraph: Any, storage: FileStorage, tmp_path: Path) -> None:
    """Also one that replaced the memory."""
    (tmp_path / "new.json").write_text('{"facts": [{"id": "x", "content": "Likes coffee."}]}')

    memgraph("import", str(tmp_path / "new.json"), "-u", "ada", "--replace")
    assert (storage.revisions(ADA)[0].by, contents(storage)) == ("import", ["Likes coffee."])
    memgraph("undo", "-u", "ada")

    assert contents(storage) == ["Likes green tea.", "Has a dog."]


@pytest.mark.usefixtures("storage")
def test_two_revisions_are_compared(memgraph: Any) -> None:
    assert memgraph("diff", "1", "3", "-u", "ada").out.splitlines() == [
        "  - tea  [context | 0.50] Likes tea.",
        "  + tea  [context | 0.50] Likes green tea.",
        "  + dog  [context | 0.50] Has a dog.",
    ]
    assert memgraph("diff", "2", "2", "-u", "ada").out == "No differences.\n"


def test_undo_goes_back_one_change_at_a_time(memgraph: Any, storage: FileStorage) -> None:
    assert memgraph("undo", "-u", "ada").out.startswith("Undid revision 3 (1 fact changed).")
    assert contents(storage) == ["Likes tea.", "Has a dog."]

    assert memgraph("undo", "-u", "ada").out.startswith("Undid revision 2 (1 fact added).")
    assert contents(storage) == ["Likes tea."]
    assert [(entry.by, entry.undoes) for entry in storage.revisions(ADA, limit=2)] == [("undo", 2), ("undo", 3)]


def test_an_undo_with_conflicts_is_refused_without_a_terminal(memgraph: Any, storage: FileStorage) -> None:
    result = memgraph("undo", "1", "-u", "ada")

    assert result.code == 2
    assert "fact tea: it was changed since" in result.out
    assert storage.load(ADA).revision == 3


@pytest.mark.parametrize(("answer", "kept"), [("n", ["a", "b"]), ("y", ["b"])])
def test_an_undo_with_conflicts_asks(memgraph: Any, storage: FileStorage, answer: str, kept: list[str]) -> None:
    memory = storage.save(ADA, storage.load(ADA).with_facts((Fact(id="a", content="a"), Fact(id="b", content="b"))))
    storage.save(ADA, memory.with_facts((memory.facts[0], Fact(id="b", content="b2"))))

    memgraph("undo", "4", "-u", "ada", typed=[answer])

    assert [fact.id for fact in storage.load(ADA).facts if fact.id in {"a", "b"}] == kept


def test_what_has_no_conflict_is_undone_with_yes(memgraph: Any, storage: FileStorage) -> None:
    memory = storage.load(ADA)
    both = (*memory.facts, Fact(id="a", content="Sings."), Fact(id="b", content="Dances."))
    memory = storage.save(ADA, memory.with_facts(both))
    storage.save(ADA, memory.with_facts((*memory.facts[:3], Fact(id="b", content="Dances well."))))

    result = memgraph("undo", "4", "-u", "ada", "--yes", "--json").json

    assert (result["outcome"], result["undone"], result["revision"]) == ("partly_undone", 4, 6)
    assert result["conflicts"] == [{"kind": "fact", "key": "b", "reason": "it was changed since"}]
    assert contents(storage) == ["Likes green tea.", "Has a dog.", "Dances well."]


@pytest.mark.usefixtures("storage")
def test_a_fact_is_explained(memgraph: Any) -> None:
    lines = memgraph("why", "tea", "-u", "ada").out.splitlines()

    assert lines[:3] == ["tea  [context | 0.50] Likes green tea.", "  Learned in thread t1.", '  "I like tea."']
    assert [line.split()[0] for line in lines[3:]] == ["3", "1"]


def test_a_removed_fact_is_still_explained(memgraph: Any, storage: FileStorage) -> None:
    storage.save(ADA, storage.load(ADA).with_facts(()))

    assert memgraph("why", "dog", "-u", "ada").out.splitlines()[0] == "dog  [context | 0.50] Has a dog. (removed)"


def test_no_history_is_kept_if_the_settings_keep_none(
    memgraph: Any, storage: FileStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMGRAPH_MAX_REVISIONS", "0")

    memgraph("fact", "add", "Sings.", "-u", "ada")

    assert memgraph("history", "-u", "ada").out == "There is no history.\n"
    assert list(storage.revisions(ADA)) == []
