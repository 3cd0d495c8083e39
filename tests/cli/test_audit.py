"""memgraph audit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

FACTS = [
    {"id": "fact_1", "content": "Lives in Oslo", "createdAt": "2025-01-01T00:00:00Z", "confidence": 0.9, "source": "t"},
    {"id": "fact_2", "content": "Lives in Rome", "createdAt": "2026-01-01T00:00:00Z", "confidence": 0.9, "source": "t"},
    {"id": "fact_3", "content": "My password is hunter22", "confidence": 0.9, "source": "t"},
    {"id": "fact_4", "content": "The AI assistant should be brief", "confidence": 0.9, "source": "manual"},
]


@pytest.fixture
def messy(document: Path) -> Path:
    """A memory of ada with something wrong."""
    document.parent.mkdir(parents=True, exist_ok=True)
    document.write_text(json.dumps({"revision": 1, "facts": FACTS}))
    return document


def test_what_is_wrong_is_told_with_a_suggestion(messy: Path, memgraph: Any) -> None:
    """And nothing is changed."""
    before = messy.read_bytes()

    result = memgraph("audit", "--user", "ada")

    assert result.code == 0, result.err
    assert "3 findings" in result.out
    assert "there can be one home only. Suggested: remove fact_1." in result.out
    assert "Suggested: look at it." in result.out
    assert messy.read_bytes() == before


@pytest.mark.usefixtures("messy")
@pytest.mark.parametrize("options", [(), ("--json",), ("--fix", "--yes"), ("--fix", "--yes", "--json")])
def test_a_secret_is_never_printed(memgraph: Any, options: tuple[str, ...]) -> None:
    """Not on the way out either."""
    result = memgraph("audit", "--user", "ada", *options)

    assert result.code == 0, result.err
    assert "hunter22" not in result.out + result.err


def test_a_fix_shows_what_it_does_and_keeps_what_was_there(messy: Path, memgraph: Any, tmp_path: Path) -> None:
    """Somebody may want it back."""
    before = json.loads(messy.read_text())

    result = memgraph("audit", "--user", "ada", "--fix", "--yes")

    assert "- fact_1  Lives in Oslo" in result.out
    assert [fact["id"] for fact in json.loads(messy.read_text())["facts"]] == ["fact_2", "fact_4"]
    backup = json.loads(next(tmp_path.glob("memgraph-backup-*")).read_text())
    assert [fact["id"] for fact in backup["facts"]] == [fact["id"] for fact in before["facts"]]


def test_without_anybody_to_ask_nothing_is_fixed(messy: Path, memgraph: Any) -> None:
    """A script has to say so."""
    before = messy.read_bytes()

    result = memgraph("audit", "--user", "ada", "--fix")

    assert result.code == 2
    assert "--yes" in result.err
    assert messy.read_bytes() == before


def test_another_systems_export_is_looked_at(memgraph: Any, tmp_path: Path) -> None:
    """Before it moves in."""
    (tmp_path / "mem0.json").write_text(json.dumps([{"memory": "Uploaded q3.pdf"}, {"memory": "Likes tea"}]))

    findings = memgraph("audit", "mem0.json", "--from", "mem0", "--json").json["findings"]

    assert [finding["kind"] for finding in findings] == ["upload"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "say whose memory"),
        (("x.json", "--user", "ada"), "and not both"),
        (("x.json", "--fix"), "FILE is only looked at"),
    ],
)
def test_a_command_that_makes_no_sense_is_refused(memgraph: Any, arguments: tuple[str, ...], said: str) -> None:
    """With what to say instead."""
    result = memgraph("audit", *arguments)

    assert result.code == 2
    assert said in result.err
