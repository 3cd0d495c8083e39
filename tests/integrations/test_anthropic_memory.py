"""The commands of Anthropic's memory tool, on the files of a memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memgraph import Memory, Settings

pytest.importorskip("anthropic")
from anthropic.lib.tools import ToolError

from memgraph.integrations.anthropic_memory import AnthropicMemoryTool

NOTES = "/memories/notes.md"


@pytest.fixture
def tool() -> Iterator[AnthropicMemoryTool]:
    settings = Settings(model_name="offline", outbox="memory:")
    with Memory("memory:", model="offline", settings=settings) as memory:
        yield AnthropicMemoryTool(memory.files("ada"))


def run(tool: AnthropicMemoryTool, command: str, **fields: object) -> str:
    return str(tool.call({"command": command, **fields}))


def create(tool: AnthropicMemoryTool, text: str = "one\ntwo\nthree\n", path: str = NOTES) -> str:
    return run(tool, "create", path=path, file_text=text)


def test_it_is_declared_as_anthropics_own(tool: AnthropicMemoryTool) -> None:
    assert tool.to_dict() == {"type": "memory_20250818", "name": "memory"}


def test_a_file_is_created_once(tool: AnthropicMemoryTool) -> None:
    assert create(tool) == f"File created successfully at: {NOTES}"

    with pytest.raises(ToolError, match=f"File {NOTES} already exists"):
        create(tool)


def test_a_file_is_shown_with_the_numbers_of_its_lines(tool: AnthropicMemoryTool) -> None:
    create(tool)

    header = f"Here's the content of {NOTES} with line numbers:\n"
    assert run(tool, "view", path=NOTES) == f"{header}     1\tone\n     2\ttwo\n     3\tthree\n     4\t"
    assert run(tool, "view", path=NOTES, view_range=[2, 3]) == f"{header}     2\ttwo\n     3\tthree"


def test_a_folder_is_listed_two_levels_deep(tool: AnthropicMemoryTool) -> None:
    create(tool, "1234", "/memories/a/b/c.md")
    create(tool, "12", NOTES)

    header = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and"
    expected = ["6B\t/memories", "4B\t/memories/a/", "4B\t/memories/a/b/", f"2B\t{NOTES}"]
    assert run(tool, "view", path="/memories").splitlines() == [f"{header} node_modules:", *expected]


def test_an_empty_memory_is_an_empty_folder(tool: AnthropicMemoryTool) -> None:
    assert run(tool, "view", path="/memories").splitlines()[1:] == ["0B\t/memories"]


def test_a_text_is_replaced_where_it_is_unique(tool: AnthropicMemoryTool) -> None:
    create(tool)

    answer = run(tool, "str_replace", path=NOTES, old_str="two", new_str="zwei")

    assert answer.endswith("     1\tone\n     2\tzwei\n     3\tthree\n     4\t")
    with pytest.raises(ToolError, match=r"old_str `two` did not appear verbatim in /memories/notes\.md"):
        run(tool, "str_replace", path=NOTES, old_str="two", new_str="2")
    with pytest.raises(ToolError, match=r"Multiple occurrences of old_str `e` in lines: 1, 2, 3, 3\."):
        run(tool, "str_replace", path=NOTES, old_str="e", new_str="E")


def test_lines_are_inserted(tool: AnthropicMemoryTool) -> None:
    create(tool)

    assert run(tool, "insert", path=NOTES, insert_line=0, insert_text="zero\n") == f"The file {NOTES} has been edited."
    assert run(tool, "view", path=NOTES, view_range=[1, 2]).endswith("     1\tzero\n     2\tone")
    with pytest.raises(ToolError, match=r"\[0, 4\]"):
        run(tool, "insert", path=NOTES, insert_line=9, insert_text="x")


def test_a_file_is_renamed_and_deleted(tool: AnthropicMemoryTool) -> None:
    create(tool)
    new = "/memories/old/notes.md"

    assert run(tool, "rename", old_path=NOTES, new_path=new) == f"Successfully renamed {NOTES} to {new}"
    assert run(tool, "delete", path="/memories/old") == "Successfully deleted /memories/old"
    with pytest.raises(ToolError, match=f"The path {new} does not exist"):
        run(tool, "view", path=new)


@pytest.mark.parametrize(
    ("command", "fields", "message"),
    [
        ("delete", {"path": "/memories"}, "Cannot delete"),
        ("delete", {"path": NOTES}, "does not exist"),
        ("rename", {"old_path": NOTES, "new_path": "/memories/b"}, "does not exist"),
        ("str_replace", {"path": NOTES, "old_str": "a", "new_str": "b"}, "does not exist"),
        ("insert", {"path": NOTES, "insert_line": 0, "insert_text": "a"}, "does not exist"),
        ("view", {"path": "/memories/../etc/passwd"}, "would escape"),
        ("view", {"path": "/etc/passwd"}, "must start with /memories"),
        ("view", {"path": "/memoriesX"}, "must start with /memories"),
        ("create", {"path": "/memories/facts/context.md", "file_text": "tea"}, "a fact is a line"),
        ("create", {"path": "/memories/profile.md", "file_text": "tea"}, "read-only"),
    ],
)
def test_what_cannot_be_done_is_told_to_the_model(
    tool: AnthropicMemoryTool, command: str, fields: dict[str, object], message: str
) -> None:
    with pytest.raises(ToolError, match=message):
        run(tool, command, **fields)


def test_a_file_of_facts_is_written_line_by_line(tool: AnthropicMemoryTool) -> None:
    create(tool, "- Likes tea.\n", "/memories/facts/preference.md")

    assert "- Likes tea. [fact_" in run(tool, "view", path="/memories/facts/preference.md")


@pytest.mark.parametrize("call", [{"command": "append", "path": NOTES}, {"path": NOTES}, {}])
def test_an_unknown_command_is_answered_by_the_known_ones(tool: AnthropicMemoryTool, call: dict[str, str]) -> None:
    with pytest.raises(ToolError) as refused:
        tool.call(call)

    assert all(name in str(refused.value) for name in ("view", "create", "str_replace", "insert", "delete", "rename"))
