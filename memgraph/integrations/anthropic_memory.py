"""AnthropicMemoryTool: a memory as the files of Anthropic's memory tool, `memory_20250818`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from anthropic.lib.tools import BetaAbstractMemoryTool, ToolError
from pydantic import ValidationError

from memgraph.analysis.normalize import places_of
from memgraph.errors import EditError, NoSuchFileError
from memgraph.integrations.files import MemoryFile, MemoryFiles, normalize_path

if TYPE_CHECKING:
    from anthropic.lib.tools import BetaFunctionToolResultType
    from anthropic.types import beta

ROOT = "/memories"
COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")
SHOWN_LEVELS = 2
"""Levels below a folder that its view lists."""
_AROUND = 2  # lines around an edit that its answer shows


class AnthropicMemoryTool(BetaAbstractMemoryTool):
    """Runs the commands of Anthropic's memory tool on the files of a memory: view, create, str_replace, insert, ...

    `call` takes a command as the model wrote it, and returns the text of its result.

    Args:
        files: Those of one user.
        cache_control: Of the tool's definition.

    Raises:
        ToolError: By `call`, if the command fails: its text is for the model.
    """

    def __init__(self, files: MemoryFiles, *, cache_control: beta.BetaCacheControlEphemeralParam | None = None) -> None:
        super().__init__(cache_control=cache_control)
        self._files = files

    def execute(self, command: beta.BetaMemoryTool20250818Command) -> BetaFunctionToolResultType:
        """Run a command.

        Raises:
            ToolError: If it fails.
        """
        if getattr(command, "command", None) not in COMMANDS:  # the SDK takes any other one for a view
            raise ToolError(f"The command is unknown: its `command` must be one of {', '.join(COMMANDS)}")
        try:
            type(command).model_validate(command.model_dump())  # the SDK takes what the model wrote as it is
            return super().execute(command)
        except ValidationError as error:
            wrong = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
            raise ToolError(f"The command is invalid: {wrong}") from error
        except NoSuchFileError as error:
            path = command.old_path if command.command == "rename" else command.path
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.") from error
        except EditError as error:
            raise ToolError(str(error)) from error

    def view(self, command: beta.BetaMemoryTool20250818ViewCommand) -> str:
        """Return the lines of a file, or the files below a folder."""
        path, known = _below_root(command.path), self._files.all()
        if file := known.get(path):
            first, last = (*(command.view_range or (1,)), -1)[:2]
            lines = file.text.split("\n")
            shown = _numbered(lines, max(first, 1), len(lines) if last == -1 else last)
            return f"Here's the content of {command.path} with line numbers:\n{shown}"
        below = [file for file in known.values() if not path or file.path.startswith(f"{path}/")]
        if path and not below:
            raise NoSuchFileError(path)
        header = f"Here're the files and directories up to {SHOWN_LEVELS} levels deep in {command.path}, excluding"
        return "\n".join([f"{header} hidden items and node_modules:", *_listed(command.path.rstrip("/"), path, below)])

    def create(self, command: beta.BetaMemoryTool20250818CreateCommand) -> str:
        """Write a new file."""
        path = _below_root(command.path)
        if path in self._files.all():
            raise ToolError(f"File {command.path} already exists")
        self._files.write(path, command.file_text)
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: beta.BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that a file has once."""
        file = self._files.read(_below_root(command.path))
        places = [file.text.count("\n", 0, at) + 1 for at in places_of(command.old_str, file.text)]
        if not places:
            raise ToolError(
                f"No replacement was performed, old_str `{command.old_str}` did not appear verbatim in {command.path}."
            )
        if len(places) > 1:
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{command.old_str}` in lines: "
                f"{', '.join(map(str, places))}. Please ensure it is unique"
            )
        text = file.text.replace(command.old_str, command.new_str)
        self._files.write(file.path, text)
        lines = text.split("\n")
        shown = _numbered(lines, max(places[0] - _AROUND, 1), min(places[0] + _AROUND, len(lines)))
        return "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n" + shown

    def insert(self, command: beta.BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines after a line of a file."""
        file = self._files.read(_below_root(command.path))
        lines = file.text.removesuffix("\n").split("\n") if file.text else []
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. It should be within the range of lines of "
                f"the file: [0, {len(lines)}]"
            )
        lines.insert(command.insert_line, command.insert_text.removesuffix("\n"))
        self._files.write(file.path, "\n".join(lines) + "\n")
        return f"The file {command.path} has been edited."

    def delete(self, command: beta.BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file, or a folder."""
        path = _below_root(command.path)
        if not path:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")
        self._files.delete(path)
        return f"Successfully deleted {command.path}"

    def rename(self, command: beta.BetaMemoryTool20250818RenameCommand) -> str:
        """Give a file, or a folder, another path."""
        new = _below_root(command.new_path)
        if any(file == new or file.startswith(f"{new}/") for file in self._files.all()):
            raise ToolError(f"The destination {command.new_path} already exists")
        self._files.rename(_below_root(command.old_path), new)
        return f"Successfully renamed {command.old_path} to {command.new_path}"


def _below_root(path: str) -> str:
    """Return *path* relative to the folder of the tool; empty for the folder itself."""
    if path.rstrip("/") == ROOT:
        return ""
    if not path.startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with {ROOT}, got: {path}")
    try:
        return normalize_path(path.removeprefix(ROOT))
    except EditError as error:
        raise ToolError(f"Path {path} would escape {ROOT} directory, or is invalid: {error}") from error


def _numbered(lines: list[str], first: int, last: int) -> str:
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(lines[first - 1 : last], first))


def _listed(shown: str, folder: str, files: list[MemoryFile]) -> Iterator[str]:
    """Yield a line for the folder *shown*, and for each file and folder below, with their sizes."""
    sizes = {shown: 0}
    for file in files:
        parts, size = file.path.removeprefix(folder).strip("/").split("/"), len(file.text.encode())
        if any(part.startswith(".") or part == "node_modules" for part in parts):
            continue
        sizes[shown] += size
        for depth in range(1, min(len(parts), SHOWN_LEVELS) + 1):
            path = f"{shown}/{'/'.join(parts[:depth])}{'/' if depth < len(parts) else ''}"
            sizes[path] = sizes.get(path, 0) + size
    yield from (f"{_size(size)}\t{path}" for path, size in sizes.items())


def _size(count: int) -> str:
    return f"{count}B" if count < 1024 else f"{count / 1024:.1f}K"  # noqa: PLR2004 - bytes of a kilobyte
