"""memgraph import --from imports exports of other systems."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

MEM0 = [{"id": "1", "memory": "Likes tea", "user_id": "ada"}, {"id": "2", "memory": "Likes tea.", "user_id": "ada"}]


def test_an_export_is_imported_with_a_report(memgraph: Any, tmp_path: Path) -> None:
    """Counts of imported, changed and skipped items."""
    (tmp_path / "mem0.json").write_text(json.dumps([*MEM0, {"memory": ""}]))

    result = memgraph("import", "mem0.json", "--from", "mem0", "--user", "ada")

    assert result.code == 0, result.err
    assert "Read 2 facts and 0 summaries; 1 changed, 1 skipped." in result.out
    assert "it has no content" in result.out
    assert "2 facts added" in result.out
    assert "Likes tea" in memgraph("show", "--user", "ada").out


def test_a_repeated_import_adds_nothing(memgraph: Any, tmp_path: Path) -> None:
    """Import is idempotent."""
    (tmp_path / "mem0.json").write_text(json.dumps(MEM0))
    memgraph("import", "mem0.json", "--from", "mem0", "--user", "ada")

    again = memgraph("import", "mem0.json", "--from", "mem0", "--user", "ada", "--json").json

    assert again["counts"]["added"] == 0


def test_a_dry_run_changes_nothing(memgraph: Any, tmp_path: Path) -> None:
    """Shows the result only."""
    (tmp_path / "mem0.json").write_text(json.dumps(MEM0))

    result = memgraph("import", "mem0.json", "--from", "mem0", "--user", "ada", "--dry-run", "--replace")

    assert "Nothing was changed" in result.out
    assert "No memory for user 'ada'" in memgraph("show", "--user", "ada").err
    assert not (tmp_path / "data").exists()


def test_a_folder_is_imported(memgraph: Any, tmp_path: Path) -> None:
    """Newer versions of DeerFlow store facts as files."""
    facts = tmp_path / "flow" / "users" / "ada" / "agents" / "lead" / "facts" / "ab"
    facts.mkdir(parents=True)
    (facts / "one.md").write_text("---\nid: one\nconfidence: 0.9\n---\n\n# Tea\n\nLikes tea.\n")
    (tmp_path / "flow" / "README.md").write_text("Not a fact.")

    result = memgraph("import", "flow", "--from", "deerflow", "--user", "ada", "--json").json

    assert result["counts"]["added"] == 1
    assert result["report"]["left"] == []


def test_an_unknown_system_is_an_error_that_lists_the_known_ones(memgraph: Any, tmp_path: Path) -> None:
    """A typo is easy to fix."""
    (tmp_path / "x.json").write_text("[]")

    result = memgraph("import", "x.json", "--from", "mem", "--user", "ada")

    assert result.code == 2
    assert "chatgpt, claude, deerflow, langgraph, langmem, markdown, mem0" in result.err


def test_an_export_without_its_system_is_an_error_that_names_the_option(memgraph: Any, tmp_path: Path) -> None:
    """A newcomer from mem0 tries the file first."""
    file = tmp_path / "mem0.json"
    file.write_text(json.dumps({"results": [{"id": "a1", "memory": "Likes tea", "user_id": "ada"}]}), "utf-8")

    result = memgraph("import", str(file), "--user", "ada")

    assert (result.code, "--from SYSTEM" in " ".join(result.err.split())) == (2, True)
