"""memgraph audit lists findings and fixes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memgraph.models import Episode, Scope
from memgraph.policy import Policy
from memgraph.storage.file import FileStorage

HOME = {"slot": "home", "confidence": 0.9, "source": "t"}
FACTS = [
    HOME | {"id": "fact_1", "content": "Lives in Oslo", "createdAt": "2025-01-01T00:00:00Z"},
    HOME | {"id": "fact_2", "content": "Lives in Rome", "createdAt": "2026-01-01T00:00:00Z"},
    {"id": "fact_3", "content": "My password is hunter22", "confidence": 0.9, "source": "t"},
    {"id": "fact_4", "content": "The AI assistant should be brief", "confidence": 0.9, "source": "manual"},
]


@pytest.fixture
def problematic_memory(document: Path) -> Path:
    """A memory of ada with several problems."""
    document.parent.mkdir(parents=True, exist_ok=True)
    document.write_text(json.dumps({"revision": 1, "facts": FACTS}))
    return document


def test_findings_are_listed_with_suggestions(problematic_memory: Path, memgraph: Any) -> None:
    """Without --fix nothing changes."""
    before = problematic_memory.read_bytes()

    result = memgraph("audit", "--user", "ada")

    assert result.code == 0, result.err
    assert "3 findings" in result.out
    assert "there can be one home only. Suggested: remove fact_1." in result.out
    assert "Suggested: review it." in result.out
    assert problematic_memory.read_bytes() == before


@pytest.mark.usefixtures("problematic_memory")
@pytest.mark.parametrize("options", [(), ("--json",), ("--fix", "--yes"), ("--fix", "--yes", "--json")])
def test_a_secret_is_never_printed(memgraph: Any, options: tuple[str, ...]) -> None:
    """Neither in findings nor in the changes of --fix."""
    result = memgraph("audit", "--user", "ada", *options)

    assert result.code == 0, result.err
    assert "hunter22" not in result.out + result.err


def test_fix_shows_changes_and_writes_a_backup(problematic_memory: Path, memgraph: Any, tmp_path: Path) -> None:
    """A fix can be undone by hand."""
    before = json.loads(problematic_memory.read_text())

    result = memgraph("audit", "--user", "ada", "--fix", "--yes")

    assert "- fact_1  Lives in Oslo" in result.out
    assert [fact["id"] for fact in json.loads(problematic_memory.read_text())["facts"]] == ["fact_2", "fact_4"]
    backup = json.loads(next((tmp_path / "data").rglob("backups/*")).read_text())
    assert [fact["id"] for fact in backup["facts"]] == [fact["id"] for fact in before["facts"]]


def test_fix_without_terminal_needs_yes(problematic_memory: Path, memgraph: Any) -> None:
    """A script has to confirm explicitly."""
    before = problematic_memory.read_bytes()

    result = memgraph("audit", "--user", "ada", "--fix")

    assert result.code == 2
    assert "--yes" in result.err
    assert problematic_memory.read_bytes() == before


def test_an_export_can_be_audited(memgraph: Any, tmp_path: Path) -> None:
    """Before it is imported."""
    (tmp_path / "mem0.json").write_text(json.dumps([{"memory": "Uploaded q3.pdf"}, {"memory": "Likes tea"}]))

    findings = memgraph("audit", "mem0.json", "--from", "mem0", "--json").json["findings"]

    assert [finding["kind"] for finding in findings] == ["upload"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "pass either --user or FILE"),
        (("x.json", "--user", "ada"), "pass either --user or FILE"),
        (("x.json", "--fix"), "--fix cannot change FILE"),
    ],
)
def test_invalid_argument_combinations_are_errors(memgraph: Any, arguments: tuple[str, ...], message: str) -> None:
    """The error names the valid alternative."""
    result = memgraph("audit", *arguments)

    assert result.code == 2
    assert message in result.err


def test_fix_removes_secrets_from_episodes(memgraph: Any, tmp_path: Path) -> None:
    """The other episodes stay as they are, and so does what an agent only sees."""
    ada, storage = Scope("ada"), FileStorage(tmp_path / "memories")
    said = [
        Episode(id="e1", at="2026-05-03T09:00:00Z", text="My key is AKIAIOSFODNN7EXAMPLE."),
        Episode(id="e2", at="2026-05-04T09:00:00Z", text="I have a dog."),
    ]
    storage.append_episodes(ada, said, Policy())

    for_agent = memgraph("audit", "-u", "ada", "--agent", "bot", "--json").json["findings"]
    result = memgraph("audit", "-u", "ada", "--fix", "--yes", "--json")

    assert (for_agent, [finding["episode"] for finding in result.json["findings"]]) == ([], ["e1"])
    assert result.json["counts"]["rewritten"] == 1
    assert "AKIAIOSFODNN7EXAMPLE" not in result.out
    assert [episode.text for episode in storage.episodes(ada)] == ["My key is [removed].", "I have a dog."]
